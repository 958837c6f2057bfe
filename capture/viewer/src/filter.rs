//! Filters in the words of the command line: `op=READ client=192.0.2.2 slower=50ms status=NFS4ERR_DELAY`.
//!
//! Words are joined by "and"; the same word several times, or values with commas, by "or", as options of the command line are.

use answers::UserNames;
use answers::diagnosis::Cause;
use answers::file_names::is_file;
use answers::selection::{Ends, SelectableRpc, Selection, TimeSpan, Window};
use dissector::Time;
use dissector::link::Address;
use dissector::values::{address, duration, xid};

use crate::names::{Name, Names};
use crate::part::Part;
use crate::row::{Kind, Row};

/// Words without a value, with the RPCs that each selects.
pub(crate) const FLAGS: [(&str, &str); 3] = [
    ("failed", "RPCs with an error"),
    ("waiting", "calls without a reply"),
    ("retransmitted", "RPCs with retransmissions"),
];

/// Words with a value, and the option of the command line that each is.
pub(crate) const KEYS: [(&str, &str); 13] = [
    ("op", "--op"),
    ("client", "--client"),
    ("server", "--server"),
    ("slower", "--slower-than"),
    ("status", "--status"),
    ("connection", "--connection"),
    ("xid", "--xid"),
    ("since", "--since"),
    ("until", "--until"),
    ("file", "--file"),
    ("user", "--user"),
    ("frame", "--frame"),
    // The command line has no option for this one.
    ("cause", ""),
];

/// Condition that a row meets: a selection of the dissector, and the causes of the diagnosis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    selection: Selection,
    /// Addresses of the selection in the form of rows.
    clients: Vec<String>,
    servers: Vec<String>,
    cause: Vec<Cause>,
}

/// Verdict on a part of an RPC or of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Wanted,
    Unwanted,
    /// The filter asks for properties of RPCs, and the part belongs to none in the table.
    OfNoRpc,
}

impl Filter {
    /// Reads words; an error names the word.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        for word in words(text)? {
            filter.word(&word)?;
        }
        Ok(filter)
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        let selection = &mut self.selection;
        let Some((key, value)) = word.split_once('=') else {
            let flag = match word {
                "failed" => &mut selection.failed,
                "waiting" => &mut selection.waiting,
                "retransmitted" => &mut selection.retransmitted,
                _ => {
                    return Err(format!(
                        "'{word}' is no filter: write op=READ, slower=50ms and so on, failed, waiting or retransmitted"
                    ));
                }
            };
            *flag = true;
            return Ok(());
        };
        let wrong = |reason: &str| format!("{key}={value}: {reason}");
        match key.trim_start_matches("--") {
            "op" => selection.operations.extend(values(value)),
            "client" => add_ends(value, &mut selection.clients, &mut self.clients).map_err(wrong)?,
            "server" => add_ends(value, &mut selection.servers, &mut self.servers).map_err(wrong)?,
            "status" => selection.statuses.extend(values(value)),
            "user" => selection.users.push(value.to_owned()),
            "file" => selection.files.push(value.to_owned()),
            "connection" => {
                selection.connections.extend(numbers(value, |text| text.parse::<u32>().ok()).map_err(wrong)?);
            }
            "xid" => selection.xids.extend(numbers(value, |text| xid(text).ok()).map_err(wrong)?),
            "frame" => selection.frames.extend(numbers(value, |text| text.parse::<u64>().ok()).map_err(wrong)?),
            "cause" => {
                let causes: Result<Vec<_>, _> =
                    values(value).map(|name| Cause::of_name(&name).ok_or("no such cause")).collect();
                self.cause.extend(causes.map_err(wrong)?);
            }
            "slower" | "slower-than" => selection.slower_than = Some(duration(value).map_err(wrong)?),
            "since" => selection.since = Some(value.parse().map_err(wrong)?),
            "until" => selection.until = Some(value.parse().map_err(wrong)?),
            _ => return Err(format!("'{key}' is no filter")),
        }
        Ok(())
    }

    /// Refuses a time that cannot be meant, as the command line does: one without a date that is before the first frame.
    pub(crate) fn refuse_astray(&self, first: u64) -> Result<(), String> {
        match self.selection.astray(Time(first)) {
            None => Ok(()),
            Some((name, selected)) => Err(format!(
                "{name}: this time is before the first frame and selects {selected}; write seconds after the first frame as \
                 +12.5, and a time on another day as 2025-11-21T10:00"
            )),
        }
    }

    /// The selected time in nanoseconds since the first frame; `None` for an end that is open.
    pub(crate) fn times(&self, first: u64) -> [Option<u64>; 2] {
        let Window { since, until, .. } = self.selection.window(Time(first));
        [since, until].map(|time| time.map(|time| time.0.saturating_sub(first)))
    }

    /// The same at any time.
    pub(crate) fn of_any_time(&self) -> Self {
        Self { selection: self.selection.of_any_time(), ..self.clone() }
    }

    /// Returns true if the filter needs the RPC of a part to judge the part.
    pub(crate) fn needs_rpcs(&self) -> bool {
        self.selection.selects_parts_by_rpc() || !self.cause.is_empty()
    }

    /// Returns true if the filter asks for a property that only RPCs have.
    fn asks_for_rpcs(&self) -> bool {
        self.selection.asks_for_rpcs() || !self.cause.is_empty()
    }

    /// Judges a part. `row` is the RPC of the part, if the table has it.
    pub(crate) fn judge(&self, part: &Part, row: Option<&Row>, names: &Names, first: u64) -> Verdict {
        let is_there = self.selection.selects_part(part.connection, part.xid)
            && self.selection.window(Time(first)).contains(Time(part.time));
        let is_wanted = match row {
            _ if !is_there => false,
            _ if !self.needs_rpcs() => true,
            Some(row) => self.selects(row, names),
            None if !self.meets(&part.ends, names) => false,
            None if self.asks_for_rpcs() => return Verdict::OfNoRpc,
            None => true,
        };
        if is_wanted { Verdict::Wanted } else { Verdict::Unwanted }
    }

    /// Returns true if the ends may be a client and a server that the filter asks for.
    fn meets(&self, ends: &Ends<Name>, names: &Names) -> bool {
        let is_any =
            |wanted: &[String], end: &Name| wanted.is_empty() || wanted.iter().any(|name| name == names.text(*end));
        ends.meet(|end| is_any(&self.clients, end), |end| is_any(&self.servers, end))
    }

    /// Returns true if a row passes. `first` is the time of the first frame.
    pub(crate) fn matches(&self, row: &Row, names: &Names, first: u64) -> bool {
        self.selection.window(Time(first)).overlaps(row.span()) && self.selects(row, names)
    }

    /// Returns true if a row passes at any time.
    fn selects(&self, row: &Row, names: &Names) -> bool {
        let is_of_cause = self.cause.is_empty() || self.cause.iter().any(|cause| row.causes.contains(*cause));
        is_of_cause && self.selection.selects(&NamedRow { row, names, filter: self })
    }
}

/// A row with its names, for the selection of a filter.
struct NamedRow<'a> {
    row: &'a Row,
    names: &'a Names,
    filter: &'a Filter,
}

impl SelectableRpc for NamedRow<'_> {
    fn was_on(&self, connections: &[u32]) -> bool {
        let earlier = self.names.text(self.row.kind.earlier).split(' ').filter_map(|number| number.parse().ok());
        [self.row.kind.connection].into_iter().chain(earlier).any(|connection| connections.contains(&connection))
    }

    fn xid(&self) -> u32 {
        self.row.xid
    }

    fn span(&self) -> TimeSpan {
        self.row.span()
    }

    fn latency(&self) -> Option<u64> {
        self.row.latency
    }

    fn frames(&self) -> [Option<u64>; 2] {
        [self.row.call, self.row.reply]
    }

    /// Returns true if the ends pass: the filter has the texts of the addresses, as the row has.
    fn has_ends(&self, _: &[Address], _: &[Address]) -> bool {
        let Kind { client, server, .. } = self.row.kind;
        self.filter.meets(&Ends::Known { client, server }, self.names)
    }

    fn calls(&self, name: &str) -> bool {
        let Self { row, names, .. } = *self;
        let is_named = |own: &str| {
            own.eq_ignore_ascii_case(name) || own.rsplit(' ').next().is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        is_named(names.text(row.kind.procedure))
            || is_named(names.text(row.kind.operation))
            || names.text(row.kind.operations).split(' ').any(|own| own.eq_ignore_ascii_case(name))
    }

    fn ended_with(&self, name: &str) -> bool {
        let own = self.names.text(self.row.kind.status);
        let is_number = self.row.kind.status_number.is_some_and(|own| name.parse() == Ok(own));
        let is_success = self.row.kind.status_number == Some(0) && name.eq_ignore_ascii_case("SUCCESS");
        (!own.is_empty() && own.eq_ignore_ascii_case(name)) || is_number || is_success
    }

    fn is_about(&self, file: &str) -> bool {
        let Row { file: name, folder, .. } = self.row;
        is_file(file, self.names.text(*name), self.names.text(*folder))
    }

    fn is_by(&self, user: &str) -> bool {
        let Kind { uid, machine, user: shown, .. } = self.row.kind;
        UserNames { uid, machine: self.names.text(machine), shown: self.names.text(shown) }.include(user)
    }

    fn has_failed(&self) -> bool {
        self.row.kind.has_failed
    }

    fn is_waiting(&self) -> bool {
        self.row.is_waiting()
    }

    fn has_retransmissions(&self) -> bool {
        self.row.retransmitted > 0 || self.row.recovery.total() > 0
    }
}

/// Adds addresses, and their texts.
fn add_ends(value: &str, addresses: &mut Vec<Address>, texts: &mut Vec<String>) -> Result<(), &'static str> {
    for value in values(value) {
        let address = address(&value)?;
        addresses.push(address);
        texts.push(address.to_string());
    }
    Ok(())
}

/// Words, which spaces separate; quotation marks keep spaces in a value. Between them, `\"` is a quotation mark and `\\` a backslash.
fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if is_quoted => word.push(letters.next_if(|next| matches!(next, '"' | '\\')).unwrap_or(letter)),
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.extend((!word.is_empty()).then(|| core::mem::take(&mut word))),
            letter => word.push(letter),
        }
    }
    if is_quoted {
        return Err("a quotation mark is missing".to_owned());
    }
    words.extend((!word.is_empty()).then_some(word));
    Ok(words)
}

fn values(text: &str) -> impl Iterator<Item = String> {
    text.split(',').filter(|value| !value.is_empty()).map(str::to_owned)
}

fn numbers<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, &'static str> {
    text.split(',').map(|text| parse(text).ok_or("not a number")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_filter_is_named() {
        assert!(Filter::parse("op=READ slower=50ms since=+1.5 xid=0xc73d34c3,7 failed cause=loss,errors").is_ok());
        for (text, named) in [
            ("colour=red", "colour"),
            ("slower=50", "slower=50"),
            ("READ", "READ"),
            ("xid=zz", "xid=zz"),
            ("cause=moon", "cause=moon"),
            ("file=\"a", "quotation"),
        ] {
            let error = Filter::parse(text).expect_err(text);
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn quotation_marks_keep_spaces_in_a_value() {
        assert_eq!(words("op=\"NFSv4 READ\"  waiting"), Ok(vec!["op=NFSv4 READ".to_owned(), "waiting".to_owned()]));
    }

    #[test]
    fn backslashes_keep_quotation_marks_in_a_quoted_value() {
        for (text, value) in [
            (r#"file="\\\"><svg/>""#, r#"file=\"><svg/>"#),
            (r#"file="a\b \" c""#, r#"file=a\b " c"#),
            (r"file=a\\b", r"file=a\\b"),
        ] {
            assert_eq!(words(text), Ok(vec![value.to_owned()]), "{text}");
        }
        assert!(words(r#"file="a\""#).is_err());
    }

    #[test]
    fn times_are_those_of_the_command_line() {
        // 2025-11-21T09:30:00Z
        let first = 1_763_717_400_000_000_000;
        let second = 1_000_000_000;
        let times = |text: &str| Filter::parse(text).map(|filter| filter.times(first));
        assert_eq!(times("since=+12.5 until=09:31"), Ok([Some(12 * second + second / 2), Some(60 * second)]));
        assert_eq!(
            times("since=2025-11-21T10:30:01+01:00 until=\"2025-11-21 09:30:02\""),
            Ok([Some(second), Some(2 * second)])
        );
        assert_eq!(times("until=1763717403.5"), Ok([None, Some(3 * second + second / 2)]));
        assert!(times("since=soon").is_err_and(|error| error.starts_with("since=soon: not a time")));
        for (text, is_refused) in
            [("since=09:29", true), ("until=5", true), ("since=2025-11-20", false), ("since=+0", false)]
        {
            assert_eq!(Filter::parse(text).unwrap().refuse_astray(first).is_err(), is_refused, "{text}");
        }
    }
}
