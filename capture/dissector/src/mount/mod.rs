//! Tries of an RPC over all connections of a client and a server.
//!
//! If a connection ends before a reply, the client makes the call again on another, with the same XID. Both tries are one RPC. The
//! [`Mounts`] take the events of the connections: a call with the XID of a call that waits on an earlier connection of the same two ends
//! ends that wait, and the earlier try is held until the later one has ended.
//!
//! - An earlier connection is one that an end ended, or that was silent since before the later connection began.
//! - Two calls with different content are two RPCs: the client has given up the earlier one.
//! - `slots`: waits for slots of sessions.
//! - All is bounded: past the bounds, what is held is given as RPCs of their own.

mod operation_key;
pub(crate) mod promises;
pub(crate) mod slots;

use std::collections::VecDeque;

use crate::carrier::operation::Side;
use crate::carrier::table::Map;
use crate::event::Event;
use crate::file::SetBacks;
use crate::link::Address;
use crate::rpc::call_content::CallContent;
use crate::rpc::message::Message;
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::WaitEnd;

/// The most connections of two ends that are known, the latest ones.
const CONNECTIONS: usize = 32;
/// The most pairs of ends whose connections are known.
const PAIRS: usize = 16_384;
/// The most earlier tries that are held.
const HELD: usize = 1024;
/// The most octets of the messages of these.
const HELD_OCTETS: usize = 8 << 20;

/// Two ends, the lesser address first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ends {
    least: Address,
    greatest: Address,
}

impl Ends {
    pub(crate) fn new(one: Address, other: Address) -> Self {
        Self { least: one.min(other), greatest: one.max(other) }
    }
}

/// Requester, responder and XID of an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RpcName {
    from: Address,
    to: Address,
    xid: u32,
}

/// Connection, requester and XID of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CallPlace {
    connection: u32,
    requester: Side,
    xid: u32,
}

impl CallPlace {
    /// Place of a call in a message.
    fn from_message(message: &Message) -> Self {
        Self { connection: message.connection, requester: message.sender, xid: message.xid() }
    }

    const fn from_transaction(transaction: &Transaction) -> Self {
        let Transaction { connection, requester, xid, .. } = *transaction;
        Self { connection, requester, xid }
    }
}

/// A connection of two ends.
#[derive(Clone, Copy, Debug)]
struct MountConnection {
    number: u32,
    /// Key of the connection in the carrier.
    key: u64,
    /// The frame in which the connection was recognised.
    opened: u64,
    /// The frame of the last message.
    last: u64,
    /// True if an end ended the connection.
    is_over: bool,
    /// True if no call of the connection waited after the last message.
    is_settled: bool,
}

impl MountConnection {
    /// Returns true if a call on the later connection can be another try of a call on this one.
    const fn is_before(&self, later: &Self) -> bool {
        !self.is_settled && self.number != later.number && (self.is_over || self.last < later.opened)
    }
}

/// A call that may be another try of one on an earlier connection.
#[derive(Debug)]
pub(crate) struct RepeatedCall {
    /// Keys of the earlier connections, the first first.
    pub(crate) connections: Vec<u64>,
    pub(crate) from: Address,
    pub(crate) xid: u32,
}

/// Connections by client and server, and the earlier tries of RPCs that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    connections: Map<Ends, Vec<MountConnection>>,
    /// True if two ends have had more than one connection.
    has_several: bool,
    /// Tries that the end of the connection ended.
    ended: Map<RpcName, Box<Transaction>>,
    /// Tries that were made again, by the call of the later try.
    repeated: Map<CallPlace, Box<Transaction>>,
    /// Octets of the messages of both.
    octets: usize,
    /// Nothing more is held.
    is_finished: bool,
}

impl Mounts {
    /// Records a connection that was recognised in this frame.
    #[cold]
    pub(crate) fn open(&mut self, ends: Ends, number: u32, key: u64, frame: u64) {
        if self.connections.len() >= PAIRS {
            self.connections.clear();
        }
        let known = self.connections.entry(ends).or_default();
        if known.len() == CONNECTIONS {
            known.remove(0);
        }
        known.push(MountConnection { number, key, opened: frame, last: frame, is_over: false, is_settled: false });
        self.has_several |= known.len() > 1;
    }

    /// Records that an end ended a connection.
    pub(crate) fn end_connection(&mut self, ends: Ends, number: u32) {
        let known = self.connections.get_mut(&ends).into_iter().flatten();
        known.filter(|connection| connection.number == number).for_each(|connection| connection.is_over = true);
    }

    /// Records that no call waits on the connection with this key of the two ends of a message.
    pub(crate) fn settle(&mut self, message: &Message, key: u64) {
        let known = self.connections.get_mut(&Ends::new(message.from, message.to)).into_iter().flatten();
        known.filter(|connection| connection.key == key).for_each(|connection| connection.is_settled = true);
    }

    /// Returns true if events need to pass [`join_tries`](Self::join_tries), because two ends have had more than one connection.
    #[inline]
    pub(crate) const fn has_several(&self) -> bool {
        self.has_several
    }

    /// Returns true if an event has something to do with a try that is held, or may be.
    #[inline]
    pub(crate) fn is_concerned(&mut self, event: &Event) -> bool {
        match event {
            Event::Message(message) => self.note_message(message),
            Event::Transaction(transaction) => {
                may_be_repeated(transaction) || self.repeated.contains_key(&CallPlace::from_transaction(transaction))
            }
            _ => false,
        }
    }

    /// Notes the time of a message on the message's connection. Returns true if the message is a call that may be
    /// another try.
    fn note_message(&mut self, message: &Message) -> bool {
        let ends = Ends::new(message.from, message.to);
        let known = self.connections.get_mut(&ends).map(Vec::as_mut_slice).unwrap_or_default();
        let Some(later) = known.iter_mut().find(|connection| connection.number == message.connection) else {
            return false;
        };
        (later.last, later.is_settled) = (message.stamp.frame, false);
        let later = *later;
        repeated_xid(message).is_some_and(|xid| {
            known.iter().any(|earlier| earlier.is_before(&later))
                || self.ended.contains_key(&RpcName { from: message.from, to: message.to, xid })
        })
    }

    /// Returns the call in a message that was [noted](Self::is_concerned), if that may be another try.
    pub(crate) fn find_repeated(&self, message: &Message) -> Option<RepeatedCall> {
        let known = self.connections.get(&Ends::new(message.from, message.to))?;
        let later = known.iter().find(|connection| connection.number == message.connection)?;
        let xid = repeated_xid(message)?;
        let earlier = known.iter().filter(|earlier| earlier.is_before(later));
        Some(RepeatedCall { connections: earlier.map(|earlier| earlier.key).collect(), from: message.from, xid })
    }

    /// Takes an RPC that has ended. Returns the RPC with the earlier tries, unless the end of the connection ended the RPC, so that another try may
    /// follow: then the RPC is held.
    pub(crate) fn join_tries(
        &mut self,
        transaction: Box<Transaction>,
        set_backs: &SetBacks,
    ) -> Option<Box<Transaction>> {
        let mut transaction = transaction;
        if let Some(earlier) = self.repeated.remove(&CallPlace::from_transaction(&transaction)) {
            self.octets = self.octets.saturating_sub(octets(&earlier));
            let is_set_back = |first, last| set_backs.is_between(first, last);
            *transaction = Transaction::join(*earlier, *transaction, is_set_back);
        }
        if self.is_finished || !may_be_repeated(&transaction) {
            return Some(transaction);
        }
        let Transaction { from, to, xid, .. } = *transaction;
        self.octets += octets(&transaction);
        let before = self.ended.insert(RpcName { from, to, xid }, transaction);
        before.inspect(|before| self.octets = self.octets.saturating_sub(octets(before)))
    }

    /// Joins a call with the earlier try that is held for the call. Returns the earlier try if that belongs to another
    /// RPC, which the client has given up.
    pub(crate) fn join(&mut self, call: &Message) -> Option<Box<Transaction>> {
        let name = RpcName { from: call.from, to: call.to, xid: call.xid() };
        let earlier = self.ended.remove(&name)?;
        let is_same = CallContent::of_transaction(&earlier)
            .zip(CallContent::of_message(call))
            .is_some_and(|(earlier, later)| earlier.is_of_same_rpc(&later));
        if !is_same {
            self.octets = self.octets.saturating_sub(octets(&earlier));
            return Some(earlier);
        }
        let place = CallPlace::from_message(call);
        self.repeated.insert(place, earlier)
    }

    /// Returns true if more is held than allowed.
    pub(crate) fn is_full(&self) -> bool {
        self.ended.len() + self.repeated.len() > HELD || self.octets > HELD_OCTETS
    }

    /// Gives everything that is held, in the order of the calls.
    #[cold]
    pub(crate) fn release(&mut self, events: &mut VecDeque<Event>) {
        let held = self.ended.drain().map(|(_, held)| held).chain(self.repeated.drain().map(|(_, held)| held));
        let mut held: Vec<_> = held.collect();
        held.sort_by_key(|transaction| (transaction.began.map(|began| began.frame), transaction.xid));
        events.extend(held.into_iter().map(Event::Transaction));
        self.octets = 0;
    }

    /// The capture has ended: nothing more is held.
    pub(crate) const fn finish(&mut self) {
        self.is_finished = true;
    }
}

/// Returns the XID of a call; `None` for other messages.
fn repeated_xid(message: &Message) -> Option<u32> {
    message.credit_use.filter(|(requester, _)| *requester == message.sender)?;
    message.rdma_xid()
}

/// Returns true if an RPC was not answered on the connection, and may be on another. A call that was retransmitted on the same connection
/// may be a later try of an RPC.
fn may_be_repeated(transaction: &Transaction) -> bool {
    let end = transaction.waiting.map(|waiting| waiting.end);
    match end {
        Some(WaitEnd::Disconnected { .. } | WaitEnd::Connection) => transaction.call.is_some(),
        Some(WaitEnd::Repeated) => transaction.tries.is_some(),
        Some(_) | None => false,
    }
}

fn octets(transaction: &Transaction) -> usize {
    let message = transaction.call.as_ref().and_then(|call| call.message.as_ref().ok());
    size_of::<Transaction>() + message.map_or(0, |message| message.len())
}
