//! How many calls wait for their replies, and whether their requesters could send more.

use std::collections::BTreeSet;

use crate::carrier::operation::{Side, Sides};
use crate::carrier::table::Map;
use crate::event::Event;
use crate::rpc::known::Direction;
use crate::rpc::message::Message;

/// The most calls of one end that are counted. There are far fewer credits.
const CALLS: usize = 4096;

/// The calls that wait, and what was granted.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    connections: Map<u32, Sides<Requester>>,
    /// Calls of all of them that wait.
    waiting: u64,
    /// Requesters with as many calls waiting as they have credits.
    at_limit: u64,
}

/// What is known about an end that calls.
#[derive(Debug, Default)]
struct Requester {
    waiting: BTreeSet<u32>,
    granted: Option<u32>,
}

impl Requester {
    fn is_at_limit(&self) -> bool {
        self.granted.is_some_and(|granted| self.waiting.len() as u64 >= u64::from(granted)) && !self.waiting.is_empty()
    }
}

impl InFlight {
    /// Takes an event; gives the credits that it grants.
    pub(super) fn event(&mut self, event: &Event) -> Option<u32> {
        match event {
            Event::Message(message) => return self.message(message),
            Event::Transaction(transaction) => {
                self.change(transaction.connection, transaction.requester, |requester| {
                    requester.waiting.remove(&transaction.xid);
                });
            }
            Event::Connection(report) => {
                for side in [Side::Active, Side::Passive] {
                    report
                        .number
                        .iter()
                        .for_each(|number| self.change(*number, side, |end| *end = Requester::default()));
                }
                report.number.iter().for_each(|number| _ = self.connections.remove(number));
            }
            _ => {}
        }
        None
    }

    fn message(&mut self, message: &Message) -> Option<u32> {
        let xid = message.prefix().filter(|_| message.is_malformed().is_none())?.xid;
        match message.direction()? {
            Direction::Call => {
                self.change(message.connection, message.sender, |end| {
                    if end.waiting.len() < CALLS {
                        end.waiting.insert(xid);
                    }
                });
                None
            }
            Direction::Reply => {
                let granted = message.credits();
                self.change(message.connection, message.sender.other(), |end| end.granted = granted.or(end.granted));
                granted
            }
        }
    }

    fn change(&mut self, connection: u32, side: Side, change: impl FnOnce(&mut Requester)) {
        let requester = self.connections.entry(connection).or_default().get_mut(side);
        self.waiting -= requester.waiting.len() as u64;
        self.at_limit -= u64::from(requester.is_at_limit());
        change(requester);
        self.waiting += requester.waiting.len() as u64;
        self.at_limit += u64::from(requester.is_at_limit());
    }

    /// Calls that wait.
    pub(super) const fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Whether a requester has as many calls waiting as it has credits.
    pub(super) const fn is_at_limit(&self) -> bool {
        self.at_limit > 0
    }
}
