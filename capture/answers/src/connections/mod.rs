//! The life of connections: when they were asked for, how the request was answered, and how they ended.
//!
//! - `life`: one request or connection; `faults`: the signs of loss before the end of a connection;
//! - `flapping`: pairs of ends whose connections end again and again;
//! - `record`, `text`: for programs, and for people.

mod faults;
mod flapping;
mod life;
mod record;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};

use rpcrdma_dissector::{AddressMoved, Event, Message, Report, Terminate, Time, Transaction};

use crate::operation_name::OperationName;
use crate::selection::{TimeSpan, Window};
use crate::stats::ConnectionCredits;

pub use faults::FaultRun;
pub use flapping::{FLAPS, Flapping};
pub use life::{ConnectionLife, LifeEnd, RequestAnswer};
pub use record::{AddressMoveObject, ConnectionObject};

/// The most requests and connections that are kept.
const KEPT: usize = 10_000;
/// The most moves of addresses that are kept.
const MOVES: usize = 1000;

/// Requests for connections, connections, and moves of addresses.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    lives: Vec<ConnectionLife>,
    open: BTreeMap<u32, OpenConnection>,
    /// Places in `lives` of the connections that are over.
    ended: BTreeMap<u32, usize>,
    moves: Vec<AddressMoved>,
    /// Requests and connections that were left out because there were too many.
    pub left_out: u64,
}

/// Calls of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallCounts {
    /// Number of RPCs, or of the tries on this connection.
    pub all: u64,
    /// Number of calls that ended with the connection.
    pub unanswered: u64,
    /// Operation of the last of the unanswered calls.
    pub unanswered_operation: Option<OperationName>,
}

impl CallCounts {
    fn count(&mut self, unanswered: Option<OperationName>) {
        self.all += 1;
        self.unanswered += u64::from(unanswered.is_some());
        self.unanswered_operation = unanswered.or(self.unanswered_operation);
    }
}

/// Counts of a connection that is not over.
#[derive(Clone, Debug, Default)]
struct OpenConnection {
    calls: CallCounts,
    credits: ConnectionCredits,
    faults: Option<FaultRun>,
    terminate: Option<Terminate>,
}

impl Connections {
    /// Takes an event. Only a caller that shows credits needs to give messages.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Message(message) => self.message(message),
            Event::Transaction(transaction) => self.transaction(transaction),
            Event::Recovery(recovered) if FaultRun::is_fault(recovered.kind) => {
                let open = self.open.entry(recovered.connection).or_default();
                open.faults = Some(FaultRun::next(open.faults, recovered));
            }
            Event::Terminated(terminated) => {
                self.open.entry(terminated.connection).or_default().terminate = Some(terminated.terminate);
            }
            Event::Connection(report) => self.connection(report),
            Event::Rejected(rejected) => self.keep(ConnectionLife::of_rejected(rejected)),
            Event::UnansweredRequest(request) => self.keep(ConnectionLife::of_unanswered(request)),
            Event::AddressMoved(moved) if self.moves.len() < MOVES => self.moves.push(*moved),
            _ => {}
        }
    }

    fn message(&mut self, message: &Message) {
        self.open.entry(message.connection).or_default().credits.message(message);
    }

    /// Takes an RPC: each try counts for the connection of the try.
    pub fn transaction(&mut self, transaction: &Transaction) {
        for earlier in transaction.tries.iter().flat_map(|tries| tries.earlier()) {
            self.count_call(earlier.connection, Some(OperationName::of_transaction(transaction)));
        }
        let is_over = transaction.waiting.is_some_and(|waiting| waiting.end.is_of_connection());
        let is_unanswered = transaction.call.is_some() && transaction.reply.is_none() && is_over;
        self.count_call(transaction.connection, is_unanswered.then(|| OperationName::of_transaction(transaction)));
    }

    /// Counts a call of a connection, with the operation if the end of the connection left the call `unanswered`. An RPC can end after
    /// its connection: then another try might have followed.
    fn count_call(&mut self, connection: u32, unanswered: Option<OperationName>) {
        if let Some(open) = self.open.get_mut(&connection) {
            return open.calls.count(unanswered);
        }
        let is_full = self.lives.len() >= KEPT;
        match self.ended.get(&connection).and_then(|place| self.lives.get_mut(*place)) {
            Some(life) => life.calls.count(unanswered),
            None if !is_full => self.open.entry(connection).or_default().calls.count(unanswered),
            None => {}
        }
    }

    fn connection(&mut self, report: &Report) {
        let Some(number) = report.number else { return };
        let open = self.open.remove(&number).unwrap_or_default();
        self.keep(ConnectionLife::of_connection(number, report, open));
    }

    fn keep(&mut self, life: ConnectionLife) {
        if self.lives.len() < KEPT {
            life.number.into_iter().for_each(|number| _ = self.ended.insert(number, self.lives.len()));
            self.lives.push(life);
        } else {
            self.left_out += 1;
        }
    }

    /// Keeps the requests for RPC-over-RDMA: those to a server and service with such a connection count too.
    fn keep_rpc(&mut self) {
        let connections = self.lives.iter().filter(|life| life.number.is_some() && life.service.is_some());
        let services: BTreeSet<_> = connections.map(|life| (life.server, life.service)).collect();
        self.lives.retain(|life| life.is_for_rpc || services.contains(&(life.server, life.service)));
    }

    /// The requests and connections of a window, in the order of their beginnings.
    #[must_use]
    pub fn finish(mut self, window: Window) -> ConnectionLives {
        self.keep_rpc();
        self.lives.sort_by_key(|life| (life.began.time, life.began.frame));
        life::find_refused_private_data(&mut self.lives);
        let flapping = Flapping::find(&self.lives);
        self.lives.retain(|life| window.overlaps(life.span()));
        self.moves.retain(|moved| window.overlaps(TimeSpan::at(moved.stamp.time)));
        ConnectionLives { lives: self.lives, moves: self.moves, flapping }
    }

    /// Pairs of ends whose connections end again and again.
    #[must_use]
    pub fn flapping(&self) -> Vec<Flapping> {
        Flapping::find(&self.lives)
    }
}

/// Requests and connections in time order, with what happened beside them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectionLives {
    /// Requests and connections, in the order of their beginnings.
    pub lives: Vec<ConnectionLife>,
    /// IP addresses that moved to another MAC address.
    pub moves: Vec<AddressMoved>,
    /// Pairs of ends whose connections end again and again.
    pub flapping: Vec<Flapping>,
}

/// A line of the list.
#[derive(Clone, Copy, Debug)]
pub enum ConnectionItem<'a> {
    /// A request or a connection.
    Life(&'a ConnectionLife),
    /// A move of an address.
    Move(&'a AddressMoved),
}

impl ConnectionLives {
    /// Requests, connections and moves in time order.
    #[must_use]
    pub fn items(&self) -> Vec<ConnectionItem<'_>> {
        let lives = self.lives.iter().map(ConnectionItem::Life);
        let mut items: Vec<_> = lives.chain(self.moves.iter().map(ConnectionItem::Move)).collect();
        items.sort_by_key(ConnectionItem::time);
        items
    }
}

impl ConnectionItem<'_> {
    fn time(&self) -> (Time, u64) {
        let stamp = match self {
            Self::Life(life) => life.began,
            Self::Move(moved) => moved.stamp,
        };
        (stamp.time, stamp.frame)
    }
}
