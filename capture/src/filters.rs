//! Filters: the options by which a command selects messages and RPCs.

use rpcrdma_answers::format::date::utc_option;
use rpcrdma_answers::selection::Selection;
use rpcrdma_dissector::Time;
use rpcrdma_dissector::values::Moment;

use crate::arguments::InputArguments;
use crate::failure::Failure;
use crate::notices::{CONNECTION, SINCE, Select, UNTIL};

/// The options by which a command selects.
#[derive(Clone)]
pub(crate) struct Filters<'a> {
    pub(crate) input: &'a InputArguments,
    pub(crate) selection: Selection,
    /// Items that the filters select.
    pub(crate) select: Select,
}

impl<'a> Filters<'a> {
    pub(crate) fn new(input: &'a InputArguments, select: Select) -> Self {
        Self { input, selection: input.selection(), select }
    }

    /// The same, however long an RPC took.
    pub(crate) fn of_any_latency(self) -> Self {
        Self { selection: self.selection.of_any_latency(), ..self }
    }

    /// Returns true if a time is selected.
    pub(crate) fn has_window(&self) -> bool {
        self.selection.window(Time::default()).is_bounded()
    }

    /// Names of the options that are given.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.list_options(Time::default()).into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the filters that are given, as on the command line; times are UTC.
    pub(crate) fn options(&self, first: Time) -> Option<String> {
        let option = |(name, values): (&'static str, Vec<String>)| {
            let is_flag = values.is_empty();
            let values = values.into_iter().map(move |value| format!("{name} {value}"));
            values.chain(is_flag.then(|| name.to_owned()))
        };
        let options: Vec<_> = self.list_options(first).into_iter().flat_map(option).collect();
        (!options.is_empty()).then(|| options.join(" "))
    }

    /// The given options, each with all values; a flag has no value.
    fn list_options(&self, first: Time) -> Vec<(&'static str, Vec<String>)> {
        fn texts<T: ToString>(values: &[T]) -> Vec<String> {
            values.iter().map(T::to_string).collect()
        }
        let time = |moment: Option<Moment>| moment.map(|moment| utc_option(moment.at(first).0)).into_iter().collect();
        let selection = &self.selection;
        let given = [
            (CONNECTION, texts(&selection.connections)),
            ("--xid", selection.xids.iter().map(|xid| format!("{xid:#010x}")).collect()),
            (SINCE, time(selection.since)),
            (UNTIL, time(selection.until)),
            ("--client", texts(&selection.clients)),
            ("--server", texts(&selection.servers)),
            ("--op", texts(&selection.operations)),
            ("--status", texts(&selection.statuses)),
            ("--file", texts(&selection.files)),
            ("--user", texts(&selection.users)),
            ("--frame", texts(&selection.frames)),
            ("--slower-than", selection.slower_than.map(|least| format!("{least}ns")).into_iter().collect()),
        ];
        let given = given.into_iter().filter(|(_, values)| !values.is_empty());
        given.chain(selection.failed.then(|| ("--failed", Vec::new()))).collect()
    }

    /// Refuses a time that cannot be meant: one without a date that is before the first frame.
    pub(crate) fn refuse_astray(&self, first: Time) -> Result<(), Failure> {
        match self.selection.astray(first) {
            None => Ok(()),
            Some((name, selected)) => Err(Failure::Said(format!(
                "--{name}: this time is before the first frame ({first}) and selects {selected}; write seconds after the \
                 first frame as +12.5, and a time on another day as 2025-11-21T10:00"
            ))),
        }
    }
}
