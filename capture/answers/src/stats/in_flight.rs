//! Number of calls that wait for their replies, and availability of credits to their requesters: added up over all
//! connections.

use core::num::NonZeroU32;
use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;
use rpcrdma_dissector::{CreditLimit, CreditUse, Event, Side, Sides};

/// The calls that wait, and what was granted.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    connections: HashMap<u32, Sides<CreditUse>, RandomState>,
    /// Connections that an end has ended. Messages may still come.
    ended: BTreeSet<u32>,
    /// Waiting calls of all requesters.
    pub(super) waiting: u64,
    /// Requesters with as many calls waiting as credits.
    at_limit: u64,
}

impl InFlight {
    /// Takes an event; gives the granted credits.
    pub(super) fn event(&mut self, event: &Event) -> Option<u32> {
        match event {
            Event::Message(message) => {
                let (requester, after) = message.credit_use?;
                if !self.ended.contains(&message.connection) {
                    self.change(message.connection, requester, after);
                }
                after.granted.filter(|_| requester != message.sender).map(NonZeroU32::get)
            }
            Event::Recounted(recounted) if self.knows(recounted.connection) => {
                self.change(recounted.connection, recounted.requester, recounted.credit_use);
                None
            }
            Event::Ended(ended) => {
                self.forget(ended.connection);
                self.ended.insert(ended.connection);
                None
            }
            Event::Connection(report) => {
                let number = report.number?;
                self.forget(number);
                self.ended.remove(&number);
                None
            }
            _ => None,
        }
    }

    /// Counts no call of a connection any longer.
    fn forget(&mut self, connection: u32) {
        for side in [Side::Active, Side::Passive] {
            self.change(connection, side, CreditUse::default());
        }
        self.connections.remove(&connection);
    }

    /// Returns true if messages of a connection were counted: all or none are, as they were asked for.
    pub(super) fn knows(&self, connection: u32) -> bool {
        self.connections.contains_key(&connection)
    }

    fn change(&mut self, connection: u32, requester: Side, after: CreditUse) {
        let known = self.connections.entry(connection).or_default().get_mut(requester);
        let before = core::mem::replace(known, after);
        let at_limit = |usage: CreditUse| u64::from(usage.limit == CreditLimit::Reached);
        self.waiting = self.waiting - u64::from(before.waiting) + u64::from(after.waiting);
        self.at_limit = self.at_limit - at_limit(before) + at_limit(after);
    }

    /// Returns true if a requester has as many calls waiting as credits.
    pub(super) const fn is_at_limit(&self) -> bool {
        self.at_limit > 0
    }
}
