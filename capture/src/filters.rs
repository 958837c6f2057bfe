//! Filters: the messages and RPCs to show.

use rpcrdma_dissector::check::Found;
use rpcrdma_dissector::link::Address;
use rpcrdma_dissector::nfs::{self, Callback, CompoundOperation, Procedure};
use rpcrdma_dissector::values::Moment;
use rpcrdma_dissector::{Connection, Direction, Event, Message, Recovered, Sides, Status, Time, Transaction};

use crate::arguments::InputArguments;
use crate::failure::Failure;
use crate::notices::{CLIENT, CONNECTION, OPERATION, SERVER, SINCE, SLOWER_THAN, STATUS, Select, UNTIL, XID};

/// Text leaves this out of the names of errors of version 2.
const PREFIX_V2: &str = "RDMA2_";

/// The options by which a command selects.
#[derive(Clone, Copy)]
pub(crate) struct Filters<'a> {
    pub(crate) input: &'a InputArguments,
    /// Nanoseconds.
    slower_than: Option<u64>,
    /// Items that the filters select.
    pub(crate) select: Select,
}

/// Decision of the filters on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Wanted,
    Unwanted,
    /// The item is wanted if its RPC is, and the RPC has not ended.
    AsItsRpc(RpcKey),
}

/// Key that tells the RPCs that wait for their replies apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RpcKey {
    pub(crate) connection: u32,
    pub(crate) xid: u32,
}

impl<'a> Filters<'a> {
    pub(crate) const fn new(input: &'a InputArguments, select: Select) -> Self {
        Self { input, slower_than: input.slower_than, select }
    }

    /// The same, however long an RPC took.
    pub(crate) const fn of_any_latency(self) -> Self {
        Self { slower_than: None, ..self }
    }

    /// The names of those that are given.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.given(Time::default()).into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the filters that are given, as on the command line; times are UTC.
    pub(crate) fn options(&self, first: Time) -> Option<String> {
        let option = |(name, values): (&'static str, Vec<String>)| {
            values.into_iter().map(move |value| format!("{name} {value}"))
        };
        let options: Vec<_> = self.given(first).into_iter().flat_map(option).collect();
        (!options.is_empty()).then(|| options.join(" "))
    }

    fn given(&self, first: Time) -> Vec<(&'static str, Vec<String>)> {
        fn texts<T: ToString>(values: &[T]) -> Vec<String> {
            values.iter().map(T::to_string).collect()
        }
        let InputArguments { connection, xid, since, until, client, server, op, status, .. } = self.input;
        let time = |moment: Option<Moment>| moment.map(|moment| moment.at(first).to_string()).into_iter().collect();
        let given = [
            (CONNECTION, texts(connection)),
            (XID, xid.iter().map(|xid| format!("{xid:#010x}")).collect()),
            (SINCE, time(*since)),
            (UNTIL, time(*until)),
            (CLIENT, texts(client)),
            (SERVER, texts(server)),
            (OPERATION, texts(op)),
            (STATUS, texts(status)),
            (SLOWER_THAN, self.slower_than.map(|least| format!("{least}ns")).into_iter().collect()),
        ];
        given.into_iter().filter(|(_, values)| !values.is_empty()).collect()
    }

    /// Returns true if it takes the end of an RPC to tell what of it is wanted.
    pub(crate) const fn ask_for_rpcs(&self) -> bool {
        self.names_rpcs() || self.slower_than.is_some()
    }

    /// Returns true if it takes the RPC of a finding to tell whether the finding is wanted.
    pub(crate) const fn select_findings_by_rpc(&self) -> bool {
        self.ask_for_rpcs() || self.input.names_ends()
    }

    /// Judges if an event is one of those that were asked for.
    pub(crate) fn judge(&self, event: &Event, first: Time) -> Verdict {
        let input = self.input;
        let is_wanted = match event {
            Event::Message(message) => return self.judge_message(message, first),
            Event::Recovery(recovered) => return self.judge_recovered(recovered, first),
            Event::Transaction(transaction) => {
                let is_slow = |least| transaction.latency().is_some_and(|latency| latency >= least);
                self.slower_than.is_none_or(is_slow) && self.wants_but_for_latency(transaction, first)
            }
            Event::Connection(report) => {
                input.wants_connection(report.number) && input.wants_ends(&Ends::of_connection(&report.connection))
            }
            Event::Rejected(rejected) => {
                input.connection.is_empty() && input.wants_ends(&Ends::Either([rejected.from, rejected.to]))
            }
            Event::Terminated(terminated) => {
                input.wants_rpc(terminated.connection, None, terminated.stamp.time, first)
                    && input.wants_ends(&Ends::Either([terminated.from, terminated.to]))
                    && !self.ask_for_rpcs()
            }
            // Gaps of the capture and uses of memory belong to no message: the checker needs all of them.
            _ => true,
        };
        if is_wanted { Verdict::Wanted } else { Verdict::Unwanted }
    }

    /// Judges if a finding is one of those that were asked for.
    pub(crate) fn judge_finding(&self, found: &Found, first: Time) -> Verdict {
        let Found { connection, xid, stamp, from, to, .. } = *found;
        let is_wanted = self.input.wants_rpc(connection, xid, stamp.time, first)
            && self.input.wants_ends(&Ends::Either([from, to]));
        self.judge_part(is_wanted, connection, xid, self.select_findings_by_rpc())
    }

    fn judge_message(&self, message: &Message, first: Time) -> Verdict {
        let (connection, xid) = (message.connection, message.rdma_xid());
        let is_wanted = self.input.wants_rpc(connection, xid, message.stamp.time, first)
            && self.input.wants(&Filtered::message(message));
        self.judge_part(is_wanted, connection, xid, self.slower_than.is_some())
    }

    fn judge_recovered(&self, recovered: &Recovered, first: Time) -> Verdict {
        let Recovered { connection, xid, stamp, from, to, client, .. } = *recovered;
        let ends = client.map(|client| Ends::of(client, if client == from { to } else { from }, false));
        let is_wanted = self.input.wants_rpc(connection, xid, stamp.time, first)
            && self.input.wants_ends(&ends.unwrap_or(Ends::Either([from, to])));
        self.judge_part(is_wanted, connection, xid, self.ask_for_rpcs())
    }

    /// Judges a part of an RPC, which may have to wait for the end of the RPC. A part of no RPC is unwanted if RPCs are
    /// asked for.
    const fn judge_part(&self, is_wanted: bool, connection: u32, xid: Option<u32>, by_rpc: bool) -> Verdict {
        match (is_wanted, xid) {
            (false, _) => Verdict::Unwanted,
            (true, Some(xid)) if by_rpc => Verdict::AsItsRpc(RpcKey { connection, xid }),
            (true, None) if by_rpc && self.ask_for_rpcs() => Verdict::Unwanted,
            (true, _) => Verdict::Wanted,
        }
    }

    /// Returns true if RPCs are asked for by what they are, and how they ended.
    const fn names_rpcs(&self) -> bool {
        !self.input.op.is_empty() || !self.input.status.is_empty()
    }

    /// An RPC would be wanted if it were known how long it took.
    pub(crate) fn cannot_tell(&self, event: &Event, first: Time) -> bool {
        match event {
            Event::Transaction(transaction) if self.slower_than.is_some() => {
                transaction.latency().is_none() && self.wants_but_for_latency(transaction, first)
            }
            _ => false,
        }
    }

    fn wants_but_for_latency(&self, transaction: &Transaction, first: Time) -> bool {
        let Transaction { connection, xid, call, reply, .. } = transaction;
        let time = call.as_ref().or(reply.as_ref()).map(|half| half.stamp.time).unwrap_or_default();
        self.input.wants_rpc(*connection, Some(*xid), time, first)
            && self.input.wants(&Filtered::transaction(transaction))
    }
}

impl InputArguments {
    /// Refuses a time that cannot be meant: one without a date that is before the first frame.
    pub(crate) fn refuse_astray(&self, first: Time) -> Result<(), Failure> {
        for (name, moment, what) in [(SINCE, self.since, "all"), (UNTIL, self.until, "nothing")] {
            if moment.is_some_and(|moment| moment.is_astray(first)) {
                return Err(Failure::Said(format!(
                    "{name}: this time is before the first frame ({first}) and selects {what}; write seconds after the \
                     first frame as +12.5, and a time on another day as 2025-11-21T10:00"
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn wants_rpc(&self, connection: u32, xid: Option<u32>, time: Time, first: Time) -> bool {
        (self.connection.is_empty() || self.connection.contains(&connection))
            && (self.xid.is_empty() || xid.is_some_and(|xid| self.xid.contains(&xid)))
            && self.is_between(time, first)
    }

    pub(crate) fn is_between(&self, time: Time, first: Time) -> bool {
        self.since.is_none_or(|since| time >= since.at(first)) && self.until.is_none_or(|until| time <= until.at(first))
    }

    fn wants_connection(&self, number: Option<u32>) -> bool {
        self.connection.is_empty() || number.is_some_and(|number| self.connection.contains(&number))
    }

    /// Returns true if it is asked for by its ends.
    const fn names_ends(&self) -> bool {
        !self.client.is_empty() || !self.server.is_empty()
    }

    fn wants_ends(&self, ends: &Ends) -> bool {
        let is_any = |wanted: &[Address], ends: &[Address]| {
            wanted.is_empty() || wanted.iter().any(|address| ends.contains(address))
        };
        is_any(&self.client, ends.clients()) && is_any(&self.server, ends.servers())
    }

    fn wants(&self, subject: &Filtered<'_>) -> bool {
        self.wants_ends(&subject.ends)
            && (self.op.is_empty() || self.op.iter().any(|name| subject.calls(name)))
            && (self.status.is_empty()
                || subject.status.is_some_and(|status| self.status.iter().any(|name| subject.ended_with(status, name))))
    }
}

/// Fields that the filters look at.
#[derive(Default)]
struct Filtered<'a> {
    ends: Ends,
    procedure: Option<Procedure>,
    callback: Callback,
    name: Option<&'static str>,
    operations: &'a [CompoundOperation],
    status: Option<Status>,
}

/// The client and the server of a connection.
enum Ends {
    Known { client: [Address; 1], server: [Address; 1] },
    Either([Address; 2]),
}

impl Default for Ends {
    fn default() -> Self {
        Self::Either([Address::Lid(0); 2])
    }
}

impl Ends {
    /// Returns the ends of an RPC: callbacks are called by the server.
    const fn of(requester: Address, responder: Address, is_reverse: bool) -> Self {
        match is_reverse {
            false => Self::Known { client: [requester], server: [responder] },
            true => Self::Known { client: [responder], server: [requester] },
        }
    }

    /// Returns the ends of a connection: the client asks for it.
    const fn of_connection(connection: &Connection) -> Self {
        let Sides { active, passive } = &connection.ends;
        match connection.set_up {
            true => Self::of(active.address, passive.address, false),
            false => Self::Either([active.address, passive.address]),
        }
    }

    const fn clients(&self) -> &[Address] {
        match self {
            Self::Known { client, .. } => client,
            Self::Either(ends) => ends,
        }
    }

    const fn servers(&self) -> &[Address] {
        match self {
            Self::Known { server, .. } => server,
            Self::Either(ends) => ends,
        }
    }
}

impl<'a> Filtered<'a> {
    fn message(message: &'a Message) -> Self {
        let Message { from, to, .. } = *message;
        let error = message.error().map(Status::Error);
        let Some(rpc) = &message.rpc else {
            return Self { ends: Ends::Either([from, to]), status: error, ..Self::default() };
        };
        let (requester, responder) = match rpc.direction {
            Direction::Call => (from, to),
            Direction::Reply => (to, from),
        };
        Self {
            ends: Ends::of(requester, responder, rpc.reverse),
            procedure: rpc.procedure,
            callback: rpc.callback,
            name: rpc.name,
            operations: &rpc.operations,
            status: rpc.status.or(error),
        }
    }

    fn transaction(transaction: &'a Transaction) -> Self {
        let Transaction { from, to, reverse, procedure, callback, name, ref operations, status, .. } = *transaction;
        // A reply alone does not show the direction of its call, and neither does a call whose procedure is unknown.
        let ends = if procedure.is_some() { Ends::of(from, to, reverse) } else { Ends::Either([from, to]) };
        Self { ends, procedure, callback, name, operations, status }
    }

    /// Returns true if it calls a procedure or operation of this name.
    fn calls(&self, name: &str) -> bool {
        let is_named = |own: &str| own.eq_ignore_ascii_case(name);
        let procedure = self.name.is_some_and(|own| is_named(own) || own.rsplit(' ').next().is_some_and(is_named));
        procedure || self.operations.iter().any(|operation| is_named(operation.name))
    }

    /// Returns true if this is what it ended with, by name or number.
    fn ended_with(&self, status: Status, name: &str) -> bool {
        let is_named = |own: &str| own.eq_ignore_ascii_case(name);
        let code = match status {
            Status::Success(None) => return is_named(status.name()),
            Status::Success(Some(code)) => code,
            Status::Refused { name: own, .. } | Status::Denied { name: own, .. } => return is_named(own),
            Status::Error(error) => {
                let own = error.name();
                return is_named(own) || own.strip_prefix(PREFIX_V2).is_some_and(is_named);
            }
        };
        let procedure = self.procedure.as_ref();
        let known = procedure.and_then(|procedure| nfs::status::name(procedure, self.callback.is_callback(), code));
        (code == 0 && is_named(status.name())) || known.is_some_and(is_named) || name.parse() == Ok(code)
    }
}
