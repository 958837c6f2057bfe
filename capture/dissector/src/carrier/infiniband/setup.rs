//! Connection requests and replies that wait for their counterpart.

use super::flow::Flow;
use crate::carrier::connection::{Announced, CarrierTerms, RequestTimes, Shown};
use crate::carrier::rejection::UnansweredRequest;
use crate::link::{Address, Carrier};

/// The most connection requests that wait for their answer.
const PENDING: usize = 256;

/// The setups of which only one message was seen.
#[derive(Debug, Default)]
pub(super) struct PendingSetups {
    pending: Vec<PendingSetup>,
}

/// Frames that were seen of the setup of a connection: a request, a reply, or both.
#[derive(Debug)]
pub(super) struct PendingSetup {
    pub(super) active: Address,
    pub(super) passive: Address,
    pub(super) carrier: Carrier,
    pub(super) request: Option<SetupHalf>,
    pub(super) reply: Option<SetupHalf>,
    pub(super) service: Option<u64>,
    pub(super) mtu: Option<u32>,
    /// Nanoseconds that both ends wait for an acknowledgement, at least.
    pub(super) ack_timeout: Option<u64>,
    pub(super) name: u32,
    /// Earlier copies of the request.
    pub(super) repeats: Option<RequestTimes>,
    pub(super) receipt: Receipt,
}

/// Evidence that a request arrived, besides the reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Receipt {
    /// There is none.
    #[default]
    None,
    /// The passive end confirmed the receipt.
    Confirmed,
    /// The active end went on as after a reply.
    Replied,
}

/// Statements of an end about itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetupHalf {
    pub(super) queue_pair: u32,
    pub(super) sequence: u32,
    pub(super) announced: Announced,
    pub(super) terms: CarrierTerms,
}

/// The messages of a setup that were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The request.
    Request,
    /// The reply but not the request.
    ReplyOnly,
}

impl PendingSetups {
    /// Removes the setup with this name of the active end, if this part of the setup was seen.
    pub(super) fn take_set_up(&mut self, active: Address, name: u32, seen: Seen) -> Option<PendingSetup> {
        let is_seen = |set_up: &PendingSetup| set_up.request.is_some() == (seen == Seen::Request);
        let is_named = |set_up: &PendingSetup| set_up.active == active && set_up.name == name;
        let place = self.pending.iter().position(|set_up| is_named(set_up) && is_seen(set_up))?;
        Some(self.pending.swap_remove(place))
    }

    /// Takes a setup that names the queue pair of one of these flows.
    pub(super) fn take_for(&mut self, flows: [Option<Flow>; 2]) -> Option<PendingSetup> {
        let is_for = |set_up: &PendingSetup| flows.into_iter().flatten().any(|flow| set_up.concerns(flow));
        let place = self.pending.iter().position(is_for)?;
        Some(self.pending.swap_remove(place))
    }

    /// Notes evidence that the request to which the active end gave this name arrived.
    pub(super) fn note_receipt(&mut self, active: Address, name: u32, receipt: Receipt) {
        let mut named = self.pending.iter_mut().filter(|set_up| set_up.active == active && set_up.name == name);
        if let Some(set_up) = named.find(|set_up| set_up.receipt != Receipt::Replied) {
            set_up.receipt = receipt;
        }
    }

    /// Keeps a setup; if there are too many, returns the oldest.
    pub(super) fn add_set_up(&mut self, set_up: PendingSetup) -> Option<PendingSetup> {
        let oldest = (self.pending.len() == PENDING).then(|| self.pending.remove(0));
        self.pending.push(set_up);
        oldest
    }

    /// Takes all setups.
    pub(super) fn take_all(&mut self) -> Vec<PendingSetup> {
        core::mem::take(&mut self.pending)
    }
}

impl PendingSetup {
    /// Creates a setup of which nothing but the ends and the name of the active end is known.
    pub(super) const fn new(active: Address, passive: Address, carrier: Carrier, name: u32) -> Self {
        Self {
            active,
            passive,
            carrier,
            request: None,
            reply: None,
            service: None,
            mtu: None,
            ack_timeout: None,
            name,
            repeats: None,
            receipt: Receipt::None,
        }
    }

    /// Counts an earlier request as a copy of this one, if both ask for the same queue pair. Returns the earlier one
    /// otherwise.
    pub(super) fn repeat(&mut self, earlier: Self) -> Option<Self> {
        let queue_pair = |set_up: &Self| set_up.request.map(|half| half.queue_pair);
        if queue_pair(self) != queue_pair(&earlier) || self.passive != earlier.passive {
            return Some(earlier);
        }
        self.repeats = earlier.asked();
        self.receipt = earlier.receipt;
        None
    }

    /// Returns the request of a setup without a reply.
    pub(super) fn unanswered(&self) -> Option<UnansweredRequest> {
        let asked = self.asked()?;
        (self.reply.is_none() && self.receipt != Receipt::Replied).then_some(UnansweredRequest {
            from: self.active,
            to: self.passive,
            service: self.service,
            asked,
            carrier: self.carrier,
            is_received: self.receipt == Receipt::Confirmed,
            is_for_rpc: self.is_for_rpc(),
        })
    }

    /// The copies of the request.
    pub(super) fn asked(&self) -> Option<RequestTimes> {
        let stamp = self.request?.announced.stamp;
        Some(self.repeats.map_or(RequestTimes::once(stamp), |earlier| earlier.repeat(stamp)))
    }

    /// Returns true if the request has RFC 8797 private data.
    pub(super) fn is_for_rpc(&self) -> bool {
        self.request.is_some_and(|half| matches!(half.announced.private_data, Shown::Present(_)))
    }

    /// Returns true if the flow goes to a queue pair that this setup names.
    fn concerns(&self, flow: Flow) -> bool {
        let names = |half: Option<SetupHalf>, source, destination| {
            half.is_some_and(|half| flow == Flow { source, destination, queue_pair: half.queue_pair })
        };
        names(self.request, self.passive, self.active) || names(self.reply, self.active, self.passive)
    }
}
