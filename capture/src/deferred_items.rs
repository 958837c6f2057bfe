//! Items that are shown only if the RPC is, and so wait for the end of the RPC.

use std::collections::{HashMap, VecDeque};

use rpcrdma_answers::selection::RpcKey;
use rpcrdma_dissector::{Event, MessageDirection};

/// The most items that wait.
const WAITING: usize = 65_536;
/// The most octets that wait.
const OCTETS: usize = 64 << 20;
/// The RPCs that have ended, and of which something may still come: a packet that is retransmitted, say.
const ENDED: usize = 4096;

/// Items that wait for the ends of their RPCs.
#[derive(Debug)]
pub(crate) struct Undecided<T> {
    waiting: HashMap<RpcKey, Vec<T>>,
    items: usize,
    octets: usize,
    ended: HashMap<RpcKey, bool>,
    /// In the order of their ends; some may have begun again.
    order: VecDeque<RpcKey>,
    /// Items for which there was no room.
    pub(crate) left_out: u64,
}

impl<T> Default for Undecided<T> {
    fn default() -> Self {
        Self {
            waiting: HashMap::new(),
            items: 0,
            octets: 0,
            ended: HashMap::new(),
            order: VecDeque::new(),
            left_out: 0,
        }
    }
}

impl<T> Undecided<T> {
    /// Takes an item of `octets` octets, and returns the item if the RPC has ended and is wanted.
    pub(crate) fn add_item(&mut self, rpc: RpcKey, octets: usize, item: T) -> Option<T> {
        if let Some(is_wanted) = self.ended.get(&rpc) {
            return is_wanted.then_some(item);
        }
        if self.items >= WAITING || self.octets.saturating_add(octets) > OCTETS {
            self.left_out += 1;
            return None;
        }
        self.items += 1;
        self.octets += octets;
        self.waiting.entry(rpc).or_default().push(item);
        None
    }

    /// Notes what an event tells of RPCs: a call begins one, and one that has ended `is_wanted` or not. Gives what waited for
    /// that, and is wanted too; `octets` has those of an item.
    pub(crate) fn settle(&mut self, event: &Event, is_wanted: bool, octets: impl Fn(&T) -> usize) -> Vec<T> {
        match event {
            Event::Message(message) => {
                if message.rpc.as_ref().is_some_and(|rpc| rpc.direction == MessageDirection::Call)
                    && let Some(xid) = message.rdma_xid()
                {
                    self.ended.remove(&RpcKey { connection: message.connection, xid });
                }
                Vec::new()
            }
            Event::Transaction(transaction) => {
                let rpc = RpcKey { connection: transaction.connection, xid: transaction.xid };
                self.note(rpc, is_wanted);
                let items = self.waiting.remove(&rpc).unwrap_or_default();
                self.items -= items.len();
                self.octets -= items.iter().map(octets).sum::<usize>();
                if is_wanted { items } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    /// Returns the items that still wait, in no order: those of RPCs that never ended.
    pub(crate) fn take_waiting(&mut self) -> Vec<T> {
        (self.items, self.octets) = (0, 0);
        std::mem::take(&mut self.waiting).into_values().flatten().collect()
    }

    fn note(&mut self, rpc: RpcKey, is_wanted: bool) {
        self.ended.insert(rpc, is_wanted);
        self.order.push_back(rpc);
        if self.order.len() > ENDED
            && let Some(oldest) = self.order.pop_front()
            && !self.order.contains(&oldest)
        {
            self.ended.remove(&oldest);
        }
    }
}
