//! Selections: the part of a capture that an answer shows.
//!
//! A selection is a view. The whole capture is read, and everything that takes context (setup, direction, gaps, loss) is
//! judged by the whole capture. A selection only decides which RPCs, messages, events and findings are shown:
//! - an RPC is selected if the time from call to accepted reply overlaps the window;
//! - a message, an event or a finding in the window is selected;
//! - an item that belongs to an RPC is selected by a property of RPCs (latency, status, file) if the RPC is selected.

mod ends;
mod spanning_rpcs;
mod subject;
mod window;

use rpcrdma_dissector::values::Moment;
use rpcrdma_dissector::{Address, Event, Found, Message, Promise, Recovered, Status, Time};

use crate::file_names::{NamedFile, escaped};
use subject::{CalledProcedure, is_between};

pub use ends::Ends;
pub use spanning_rpcs::SpanningRpcs;
pub use subject::{NamedRpc, SelectableRpc};
pub use window::{TimeSpan, Window};

/// Conditions that a shown item meets. An empty list allows everything; of several values in a list, one has to match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selection {
    /// Numbers of connections; an RPC is selected if a try of the RPC was on one of them.
    pub connections: Vec<u32>,
    /// `rdma_xid`s.
    pub xids: Vec<u32>,
    /// First moment of the window.
    pub since: Option<Moment>,
    /// Last moment of the window.
    pub until: Option<Moment>,
    /// Addresses of clients: the ends that call, except for callbacks.
    pub clients: Vec<Address>,
    /// Addresses of servers.
    pub servers: Vec<Address>,
    /// Names of procedures, or of operations of a COMPOUND.
    pub operations: Vec<String>,
    /// Names or numbers of statuses.
    pub statuses: Vec<String>,
    /// Names of files, as in text output; `NAME in FOLDER` for one of several files of a name.
    pub files: Vec<String>,
    /// Users of calls: user IDs of AUTH_SYS, names of machines, or users as `top --by user` shows them.
    pub users: Vec<String>,
    /// Numbers of frames between call and reply.
    pub frames: Vec<u64>,
    /// Least latency in nanoseconds.
    pub slower_than: Option<u64>,
    /// `true` to select RPCs with an error.
    pub failed: bool,
    /// `true` to select calls without a reply.
    pub waiting: bool,
    /// `true` to select RPCs with retransmitted packets.
    pub retransmitted: bool,
}

/// Decision of a selection on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The item is selected.
    Wanted,
    /// The item is not selected.
    Unwanted,
    /// The item is selected if the RPC of the item is selected, and the RPC has not ended.
    AsItsRpc(RpcKey),
}

/// Key that tells the RPCs that wait for their replies apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RpcKey {
    /// Number of the connection.
    pub connection: u32,
    /// `rdma_xid`.
    pub xid: u32,
}

impl Selection {
    /// The same at any time.
    #[must_use]
    pub fn of_any_time(&self) -> Self {
        Self { since: None, until: None, ..self.clone() }
    }

    /// The same of any latency.
    #[must_use]
    pub fn of_any_latency(&self) -> Self {
        Self { slower_than: None, ..self.clone() }
    }

    /// Returns true if every item is selected.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// The selected time, in a capture whose first frame has this time.
    #[must_use]
    pub fn window(&self, first: Time) -> Window {
        Window { since: self.since.map(|since| since.at(first)), until: self.until.map(|until| until.at(first)) }
    }

    /// Returns the name of a probably mistaken bound, and the resulting selection: a time without a date that is before the first frame.
    #[must_use]
    pub fn astray(&self, first: Time) -> Option<(&'static str, &'static str)> {
        let bounds = [("since", self.since, "all"), ("until", self.until, "nothing")];
        let astray = |moment: Option<Moment>| moment.is_some_and(|moment| moment.is_astray(first));
        bounds.into_iter().find(|(_, moment, _)| astray(*moment)).map(|(name, _, what)| (name, what))
    }

    /// Returns true if only the end of an RPC shows what of the RPC is selected.
    #[must_use]
    pub const fn asks_for_rpcs(&self) -> bool {
        self.names_rpcs() || self.slower_than.is_some() || self.waiting || self.retransmitted || !self.frames.is_empty()
    }

    /// Returns true if only the RPC of a part, such as a finding, shows if the part is selected.
    #[must_use]
    pub const fn selects_parts_by_rpc(&self) -> bool {
        self.asks_for_rpcs() || !self.clients.is_empty() || !self.servers.is_empty()
    }

    /// Returns true if the selection names properties or outcomes of RPCs.
    const fn names_rpcs(&self) -> bool {
        let is_named = !self.operations.is_empty() || !self.statuses.is_empty() || !self.files.is_empty();
        is_named || !self.users.is_empty() || self.failed
    }

    /// Returns true if an RPC is selected, and in the window.
    pub fn shows(&self, rpc: &impl SelectableRpc, first: Time) -> bool {
        self.window(first).overlaps(rpc.span()) && self.selects(rpc)
    }

    /// Returns true if an RPC is selected, at any time.
    pub fn selects(&self, rpc: &impl SelectableRpc) -> bool {
        self.slower_than.is_none_or(|least| rpc.latency().is_some_and(|latency| latency >= least))
            && self.selects_but_for_latency(rpc)
    }

    /// Returns true if only an unknown latency keeps an RPC out of the selection.
    pub fn lacks_latency(&self, rpc: &impl SelectableRpc) -> bool {
        self.slower_than.is_some() && rpc.latency().is_none() && self.selects_but_for_latency(rpc)
    }

    fn selects_but_for_latency(&self, rpc: &impl SelectableRpc) -> bool {
        (self.connections.is_empty() || rpc.was_on(&self.connections))
            && is_any(&self.xids, &rpc.xid())
            && rpc.has_ends(&self.clients, &self.servers)
            && (self.operations.is_empty() || self.operations.iter().any(|name| rpc.calls(name)))
            && (self.statuses.is_empty() || self.statuses.iter().any(|name| rpc.ended_with(name)))
            && (self.files.is_empty() || self.files.iter().any(|name| rpc.is_about(name)))
            && (self.users.is_empty() || self.users.iter().any(|user| rpc.is_by(user)))
            && (self.frames.is_empty() || self.frames.iter().any(|frame| spans_frame(rpc.frames(), *frame)))
            && (!self.failed || rpc.has_failed())
            && (!self.waiting || rpc.is_waiting())
            && (!self.retransmitted || rpc.has_retransmissions())
    }

    /// Judges an event at any time: a [`Window`] tells if the event is within the selected time. `file` is the file of the RPC,
    /// if a selection by [`files`](Self::files) needs the file.
    #[must_use]
    pub fn judge(&self, event: &Event, file: Option<&NamedFile>) -> Verdict {
        let is_wanted = match event {
            Event::Message(message) => return self.judge_message(message),
            Event::Recovery(recovered) => return self.judge_recovered(recovered),
            Event::Transaction(transaction) => self.selects(&NamedRpc { transaction, file }),
            Event::Connection(report) => {
                let is_numbered = |number| self.connections.contains(&number);
                (self.connections.is_empty() || report.number.is_some_and(is_numbered))
                    && self.selects_ends(&Ends::of_connection(&report.connection))
            }
            Event::Rejected(rejected) => {
                self.connections.is_empty()
                    && self.selects_ends(&Ends::Either([rejected.from, rejected.to]))
                    && !self.asks_for_rpcs()
            }
            Event::UnansweredRequest(request) => {
                self.connections.is_empty()
                    && self.selects_ends(&Ends::Either([request.from, request.to]))
                    && !self.asks_for_rpcs()
            }
            Event::Promise(promise) => self.selects_promise(promise),
            Event::Terminated(terminated) => {
                self.selects_part(terminated.connection, None)
                    && self.selects_ends(&Ends::Either([terminated.from, terminated.to]))
                    && !self.asks_for_rpcs()
            }
            // Gaps of the capture and uses of memory belong to no message: the checker needs all of them.
            _ => true,
        };
        if is_wanted { Verdict::Wanted } else { Verdict::Unwanted }
    }

    /// Returns true if the RPC that opened a promise is selected, as far as the promise shows that.
    fn selects_promise(&self, promise: &Promise) -> bool {
        let status = Status::Success(Some(promise.status.unwrap_or_default()));
        let outcome = CalledProcedure::of_outcome(promise.procedure, status);
        let is_named = |name: &String| {
            let own = name.rsplit(' ').next().unwrap_or(name);
            let procedure = promise.procedure.name(promise.is_recall());
            let names = promise.operations.iter().copied().chain([promise.operation]).chain(procedure);
            let mut names = names.filter_map(|name| name.rsplit(' ').next());
            names.any(|name| name.eq_ignore_ascii_case(own))
        };
        let is_about = |file: &String| {
            let name = promise.file_name.as_deref().map(escaped);
            name.is_some_and(|name| {
                file.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" in "))
            })
        };
        let frames = [Some(promise.call.frame), Some(promise.opened.frame)];
        self.connections.is_empty()
            && self.xids.is_empty()
            && self.users.is_empty()
            && !(self.waiting || self.retransmitted)
            && (!self.failed || promise.refusals > 0)
            && (self.operations.is_empty() || self.operations.iter().any(is_named))
            && (self.statuses.is_empty() || self.statuses.iter().any(|name| outcome.ended_with(name)))
            && (self.files.is_empty() || self.files.iter().any(is_about))
            && (self.frames.is_empty() || self.frames.iter().any(|frame| spans_frame(frames, *frame)))
            && self.selects_ends(&Ends::Known { client: promise.client, server: promise.server })
    }

    /// Judges a finding at any time.
    #[must_use]
    pub fn judge_finding(&self, found: &Found) -> Verdict {
        let Found { connection, xid, from, to, .. } = *found;
        let is_wanted = self.selects_part(connection, xid) && self.selects_ends(&Ends::Either([from, to]));
        self.judge_part(is_wanted, connection, xid, self.selects_parts_by_rpc())
    }

    fn judge_message(&self, message: &Message) -> Verdict {
        let (connection, xid, called) = (message.connection, message.rdma_xid(), CalledProcedure::message(message));
        let is_wanted = self.selects_part(connection, xid)
            && self.selects_ends(&Ends::of_message(message))
            && (self.operations.is_empty() || self.operations.iter().any(|name| called.calls(name)))
            && (self.statuses.is_empty() || self.statuses.iter().any(|name| called.ended_with(name)));
        self.judge_part(is_wanted, connection, xid, self.needs_end_of_rpc())
    }

    /// Returns true if the selection of a message depends on the end of the RPC.
    const fn needs_end_of_rpc(&self) -> bool {
        let has_state = self.failed || self.waiting || self.retransmitted;
        let is_named = !self.files.is_empty() || !self.users.is_empty() || !self.frames.is_empty();
        has_state || self.slower_than.is_some() || is_named
    }

    fn judge_recovered(&self, recovered: &Recovered) -> Verdict {
        let Recovered { connection, xid, .. } = *recovered;
        let is_wanted = self.selects_part(connection, xid) && self.selects_ends(&Ends::of_recovered(recovered));
        self.judge_part(is_wanted, connection, xid, self.asks_for_rpcs())
    }

    /// Judges a part of an RPC, which may have to wait for the end of the RPC. A part of no RPC is unwanted if RPCs are
    /// asked for.
    const fn judge_part(&self, is_wanted: bool, connection: u32, xid: Option<u32>, by_rpc: bool) -> Verdict {
        match (is_wanted, xid) {
            (false, _) => Verdict::Unwanted,
            (true, Some(xid)) if by_rpc => Verdict::AsItsRpc(RpcKey { connection, xid }),
            (true, None) if by_rpc && self.asks_for_rpcs() => Verdict::Unwanted,
            (true, _) => Verdict::Wanted,
        }
    }

    /// Returns true if the connection and XID of a part of an RPC are selected.
    #[must_use]
    pub fn selects_part(&self, connection: u32, xid: Option<u32>) -> bool {
        is_any(&self.connections, &connection)
            && (self.xids.is_empty() || xid.is_some_and(|xid| self.xids.contains(&xid)))
    }

    fn selects_ends(&self, ends: &Ends<Address>) -> bool {
        is_between(ends, &self.clients, &self.servers)
    }
}

fn is_any<T: PartialEq>(wanted: &[T], own: &T) -> bool {
    wanted.is_empty() || wanted.contains(own)
}

/// Returns true if a frame is between the frames of call and reply.
#[must_use]
pub fn spans_frame([call, reply]: [Option<u64>; 2], frame: u64) -> bool {
    let first = call.or(reply).unwrap_or(u64::MAX);
    (first..=reply.unwrap_or(first)).contains(&frame)
}
