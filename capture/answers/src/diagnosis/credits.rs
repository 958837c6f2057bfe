//! Credits at the time of each wait for one: what the server had granted, and what the client asked for.
//!
//! Both can change during a connection, so the range over a capture says nothing about a wait.

use std::collections::BTreeMap;

use rpcrdma_dissector::{Message, MessageDirection, Transaction};

use super::cause::CauseOwner;
use crate::format::number::{duration, grouped};
use crate::small_map::SmallMap;

/// The most connections, and calls that wait for their replies, of which the credits are kept.
const CONNECTIONS: usize = 1000;
const CALLS: usize = 10_000;

/// Grants of a connection: the last one, and the one before that changed.
#[derive(Clone, Copy, Debug)]
struct Grants {
    before: u32,
    last: u32,
}

/// Credits that were in force while a call waited for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terms {
    granted: u32,
    requested: u32,
}

/// The least and the greatest of several numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent(Option<(u32, u32)>);

/// Waits for credits, by the end that granted or asked for too little.
#[derive(Clone, Debug, Default)]
pub(super) struct CreditTerms {
    grants: SmallMap<u32, Grants>,
    calls: BTreeMap<(u32, u32), Terms>,
    /// Nanoseconds of waits in which the server had granted less than the client asked for.
    of_responder: u64,
    /// Nanoseconds of waits in which the server had granted all that the client asked for.
    of_requester: u64,
    granted: Extent,
    requested: Extent,
}

impl CreditTerms {
    /// Takes the credits of a message of version 1. The credits of the reverse direction are separate (RFC 8167 section 4.1).
    pub(super) fn message(&mut self, message: &Message) {
        let Some(credits) = message.credits().filter(|_| !message.is_reverse() && message.is_malformed().is_none())
        else {
            return;
        };
        match message.direction() {
            Some(MessageDirection::Reply) => self.grant(message.connection, credits),
            Some(MessageDirection::Call) => self.call(message, credits),
            None => {}
        }
    }

    fn grant(&mut self, connection: u32, credits: u32) {
        let first = || Grants { before: credits, last: credits };
        match self.grants.value_or(connection, CONNECTIONS, first) {
            Some(grants) if grants.last != credits => *grants = Grants { before: grants.last, last: credits },
            _ => {}
        }
    }

    /// Notes the credits that were in force before a call. The reply that let the call go may have changed the grant: a call that
    /// waited had the smaller one.
    fn call(&mut self, message: &Message, requested: u32) {
        let (Some(xid), Some(grants)) = (message.rdma_xid(), self.grants.get(&message.connection)) else { return };
        if self.calls.len() < CALLS {
            let granted = grants.before.min(grants.last);
            self.calls.insert((message.connection, xid), Terms { granted, requested });
        }
    }

    /// Takes an RPC that has ended, and the nanoseconds for which the call waited for a credit, if that is a cause.
    pub(super) fn transaction(&mut self, transaction: &Transaction, wait: Option<u64>) {
        let terms = self.calls.remove(&(transaction.connection, transaction.xid));
        let (Some(Terms { granted, requested }), Some(wait)) = (terms, wait) else { return };
        let sum = if granted < requested { &mut self.of_responder } else { &mut self.of_requester };
        *sum = sum.saturating_add(wait);
        self.granted.include_number(granted);
        self.requested.include_number(requested);
    }

    /// The end that granted or asked for too little; `None` if both did at some time, or if that is not known.
    pub(super) const fn owner(&self) -> Option<CauseOwner> {
        match (self.of_responder, self.of_requester) {
            (1.., 0) => Some(CauseOwner::Server),
            (0, 1..) => Some(CauseOwner::Client),
            _ => None,
        }
    }

    /// The credits at the time of the waits, as a sentence.
    pub(super) fn sentence(&self) -> Option<String> {
        let (granted, requested) = (self.granted.text()?, self.requested.text()?);
        let terms = format!(
            "At the time of these waits the server had granted {granted}, and the client asked for {requested}"
        );
        Some(match (self.of_responder, self.of_requester) {
            (_, 0) => format!("{terms}: the server has to grant more. How many calls were ready is not visible."),
            (0, _) => format!("{terms}: the client has to ask for more."),
            (responder, requester) => format!(
                "{terms}. For {} of the waits the server granted too little, for {} the client asked for too little.",
                duration(responder),
                duration(requester)
            ),
        })
    }
}

impl Extent {
    fn include_number(&mut self, number: u32) {
        let (least, most) = self.0.unwrap_or((number, number));
        self.0 = Some((least.min(number), most.max(number)));
    }

    fn text(self) -> Option<String> {
        let (least, most) = self.0?;
        let [least, most] = [least, most].map(|number| grouped(number.into()));
        Some(if least == most { most } else { format!("{least} to {most}") })
    }
}
