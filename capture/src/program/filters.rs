//! Which messages and RPCs are shown.

use super::arguments::{EndArguments, InputArguments, MessageArguments, RpcArguments};
use super::failure::Failure;
use super::notices::{CLIENT, CONNECTION, OPERATION, SERVER, SINCE, SLOWER_THAN, STATUS, Select, UNTIL, XID};
use crate::check::Found;
use crate::event::{Event, Recovered};
use crate::file::Time;
use crate::link::Address;
use crate::nfs::{self, Callback, CompoundOperation, Procedure};
use crate::rpc::known::{Direction, Status};
use crate::rpc::message::Message;
use crate::rpc::transaction::Transaction;

/// Text leaves this out of the names of errors of version 2.
const PREFIX_V2: &str = "RDMA2_";

/// The options by which a command selects.
#[derive(Clone, Copy)]
pub(super) struct Filters<'a> {
    pub(super) input: &'a InputArguments,
    ends: Option<&'a EndArguments>,
    messages: Option<&'a MessageArguments>,
    /// Nanoseconds.
    slower_than: Option<u64>,
    /// What they select.
    pub(super) select: Select,
}

impl<'a> Filters<'a> {
    /// For a command that shows messages.
    pub(super) const fn messages(input: &'a InputArguments, messages: &'a MessageArguments) -> Self {
        Self {
            input,
            ends: Some(&messages.ends),
            messages: Some(messages),
            slower_than: None,
            select: Select::Messages,
        }
    }

    /// For a command that shows RPCs.
    pub(super) const fn rpcs(input: &'a InputArguments, rpcs: &'a RpcArguments) -> Self {
        let RpcArguments { messages, slower_than } = rpcs;
        Self {
            input,
            ends: Some(&messages.ends),
            messages: Some(messages),
            slower_than: *slower_than,
            select: Select::Rpcs,
        }
    }

    /// For a command that shows RPCs, however long they took.
    pub(super) const fn calls(input: &'a InputArguments, messages: &'a MessageArguments) -> Self {
        Self { input, ends: Some(&messages.ends), messages: Some(messages), slower_than: None, select: Select::Rpcs }
    }

    /// For a command that shows what happens between two ends.
    pub(super) const fn ends(input: &'a InputArguments, ends: &'a EndArguments) -> Self {
        Self { input, ends: Some(ends), messages: None, slower_than: None, select: Select::Messages }
    }

    /// For a command that shows what it makes of both.
    pub(super) const fn all(input: &'a InputArguments) -> Self {
        Self { input, ends: None, messages: None, slower_than: None, select: Select::Both }
    }

    /// The same, however long an RPC took.
    pub(super) const fn of_any_latency(self) -> Self {
        Self { slower_than: None, ..self }
    }

    /// The names of those that are given.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let InputArguments { connection, xid, since, until, .. } = self.input;
        let given = [
            (CONNECTION, !connection.is_empty()),
            (XID, !xid.is_empty()),
            (SINCE, since.is_some()),
            (UNTIL, until.is_some()),
            (CLIENT, self.ends.is_some_and(|ends| !ends.client.is_empty())),
            (SERVER, self.ends.is_some_and(|ends| !ends.server.is_empty())),
            (OPERATION, self.messages.is_some_and(|messages| !messages.op.is_empty())),
            (STATUS, self.messages.is_some_and(|messages| !messages.status.is_empty())),
            (SLOWER_THAN, self.slower_than.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    /// Whether an event is one of those that were asked for.
    pub(super) fn wants(&self, event: &Event, first: Time) -> bool {
        let input = self.input;
        match event {
            Event::Message(message) => {
                input.wants_rpc(message.connection, message.rdma_xid(), message.stamp.time, first)
                    && self.wants_filtered(&Filtered::message(message))
            }
            Event::Transaction(transaction) => {
                let is_slow = |least| transaction.latency().is_some_and(|latency| latency >= least);
                self.slower_than.is_none_or(is_slow) && self.wants_but_for_latency(transaction, first)
            }
            Event::Connection(report) => {
                input.connection.is_empty() || report.number.is_some_and(|number| input.connection.contains(&number))
            }
            Event::Rejected(_) => input.connection.is_empty(),
            Event::Opened(_) | Event::Lost(_) | Event::Memory(_) => true,
            Event::Recovery(recovered) => {
                let Recovered { from, to, client, .. } = *recovered;
                let ends = client.map(|client| Ends::of(client, if client == from { to } else { from }, false));
                let subject = Filtered { ends: ends.unwrap_or(Ends::Either([from, to])), ..Filtered::default() };
                input.wants_rpc(recovered.connection, recovered.xid, recovered.stamp.time, first)
                    && self.wants_filtered(&subject)
            }
            Event::Terminated(terminated) => {
                let subject = Filtered { ends: Ends::Either([terminated.from, terminated.to]), ..Filtered::default() };
                input.wants_rpc(terminated.connection, None, terminated.stamp.time, first)
                    && self.wants_filtered(&subject)
            }
        }
    }

    /// An RPC would be wanted if it were known how long it took.
    pub(super) fn cannot_tell(&self, event: &Event, first: Time) -> bool {
        match event {
            Event::Transaction(transaction) if self.slower_than.is_some() => {
                transaction.latency().is_none() && self.wants_but_for_latency(transaction, first)
            }
            _ => false,
        }
    }

    fn wants_filtered(&self, subject: &Filtered<'_>) -> bool {
        self.ends.is_none_or(|wanted| wanted.wants(&subject.ends))
            && self.messages.is_none_or(|wanted| wanted.wants(subject))
    }

    fn wants_but_for_latency(&self, transaction: &Transaction, first: Time) -> bool {
        let Transaction { connection, xid, call, reply, .. } = transaction;
        let time = call.as_ref().or(reply.as_ref()).map(|half| half.stamp.time).unwrap_or_default();
        self.input.wants_rpc(*connection, Some(*xid), time, first)
            && self.wants_filtered(&Filtered::transaction(transaction))
    }
}

impl InputArguments {
    /// Refuses a time that cannot be meant: one without a date that is before the first frame.
    pub(super) fn refuse_astray(&self, first: Time) -> Result<(), Failure> {
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

    pub(super) fn wants_rpc(&self, connection: u32, xid: Option<u32>, time: Time, first: Time) -> bool {
        (self.connection.is_empty() || self.connection.contains(&connection))
            && (self.xid.is_empty() || xid.is_some_and(|xid| self.xid.contains(&xid)))
            && self.is_between(time, first)
    }

    /// Whether a finding is one of those that were asked for.
    pub(super) fn wants_finding(&self, found: &Found, first: Time) -> bool {
        self.wants_rpc(found.connection, found.xid, found.stamp.time, first)
    }

    pub(super) fn is_between(&self, time: Time, first: Time) -> bool {
        self.since.is_none_or(|since| time >= since.at(first)) && self.until.is_none_or(|until| time <= until.at(first))
    }
}

impl EndArguments {
    fn wants(&self, ends: &Ends) -> bool {
        let is_any = |wanted: &[Address], ends: &[Address]| {
            wanted.is_empty() || wanted.iter().any(|address| ends.contains(address))
        };
        is_any(&self.client, ends.clients()) && is_any(&self.server, ends.servers())
    }
}

impl MessageArguments {
    fn wants(&self, subject: &Filtered<'_>) -> bool {
        (self.op.is_empty() || self.op.iter().any(|name| subject.calls(name)))
            && (self.status.is_empty()
                || subject.status.is_some_and(|status| self.status.iter().any(|name| subject.ended_with(status, name))))
    }
}

/// What the filters look at.
#[derive(Default)]
struct Filtered<'a> {
    ends: Ends,
    procedure: Option<Procedure>,
    callback: Callback,
    name: Option<&'static str>,
    operations: &'a [CompoundOperation],
    status: Option<Status>,
}

/// Which end is the client, and which the server.
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
    /// Those of an RPC: callbacks are called by the server.
    const fn of(requester: Address, responder: Address, is_reverse: bool) -> Self {
        match is_reverse {
            false => Self::Known { client: [requester], server: [responder] },
            true => Self::Known { client: [responder], server: [requester] },
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
        // Which way a call went is not known of a reply alone, nor where nothing is known of what was called.
        let ends = if procedure.is_some() { Ends::of(from, to, reverse) } else { Ends::Either([from, to]) };
        Self { ends, procedure, callback, name, operations, status }
    }

    /// Whether it calls a procedure or operation of this name.
    fn calls(&self, name: &str) -> bool {
        let is_named = |own: &str| own.eq_ignore_ascii_case(name);
        let procedure = self.name.is_some_and(|own| is_named(own) || own.rsplit(' ').next().is_some_and(is_named));
        procedure || self.operations.iter().any(|operation| is_named(operation.name))
    }

    /// Whether this is what it ended with, by name or number.
    fn ended_with(&self, status: Status, name: &str) -> bool {
        let is_named = |own: &str| own.eq_ignore_ascii_case(name);
        let code = match status {
            Status::Success(None) => return is_named(status.name()),
            Status::Success(Some(code)) => code,
            Status::Refused(own) | Status::Denied(own) => return is_named(own),
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
