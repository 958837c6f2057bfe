//! Connection requests and replies that wait for their counterpart.

use super::flow::Flow;
use crate::carrier::connection::{Announced, Consumer};
use crate::carrier::operation::Stamp;
use crate::link::Address;

/// The most connection requests that wait for their answer.
const PENDING: usize = 256;

/// The set-ups of which only one message was seen.
#[derive(Debug, Default)]
pub(super) struct SetUps {
    pending: Vec<SetUp>,
}

/// Frames that were seen of the set-up of a connection: a request, a reply, or both.
#[derive(Debug)]
pub(super) struct SetUp {
    pub(super) active: Address,
    pub(super) passive: Address,
    pub(super) request: Option<SetUpHalf>,
    pub(super) reply: Option<SetUpHalf>,
    pub(super) service: Option<u64>,
    pub(super) mtu: Option<u32>,
    /// Nanoseconds that both ends wait for an acknowledgement, at least.
    pub(super) ack_timeout: Option<u64>,
    pub(super) name: u32,
}

/// Statements of an end about itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetUpHalf {
    pub(super) queue_pair: u32,
    pub(super) sequence: u32,
    pub(super) announced: Announced,
}

/// The messages of a set-up that were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The request.
    Request,
    /// The reply but not the request.
    ReplyOnly,
}

impl SetUps {
    /// Takes the set-up to which the active end gave this name, if this part of it was seen.
    pub(super) fn take(&mut self, active: Address, name: u32, seen: Seen) -> Option<SetUp> {
        let is_seen = |set_up: &SetUp| set_up.request.is_some() == (seen == Seen::Request);
        let is_named = |set_up: &SetUp| set_up.active == active && set_up.name == name;
        let place = self.pending.iter().position(|set_up| is_named(set_up) && is_seen(set_up))?;
        Some(self.pending.swap_remove(place))
    }

    /// Takes a set-up that names the queue pair of one of these flows.
    pub(super) fn take_for(&mut self, flows: [Option<Flow>; 2]) -> Option<SetUp> {
        let is_for = |set_up: &SetUp| flows.into_iter().flatten().any(|flow| set_up.concerns(flow));
        let place = self.pending.iter().position(is_for)?;
        Some(self.pending.swap_remove(place))
    }

    /// Forgets those to which the active end gave this name.
    pub(super) fn forget(&mut self, active: Address, name: u32) {
        self.pending.retain(|set_up| set_up.active != active || set_up.name != name);
    }

    /// Keeps a set-up; if there are too many, drops the oldest.
    pub(super) fn add(&mut self, set_up: SetUp) {
        if self.pending.len() == PENDING {
            self.pending.remove(0);
        }
        self.pending.push(set_up);
    }
}

impl SetUpHalf {
    pub(super) fn new(stamp: Stamp, (queue_pair, sequence): (u32, u32), private_data: Consumer<'_>) -> Self {
        Self { queue_pair, sequence, announced: Announced::new(stamp, private_data) }
    }
}

impl SetUp {
    /// Returns true if the flow goes to a queue pair that this set-up names.
    fn concerns(&self, flow: Flow) -> bool {
        let names = |half: Option<SetUpHalf>, source, destination| {
            half.is_some_and(|half| flow == Flow { source, destination, queue_pair: half.queue_pair })
        };
        names(self.request, self.passive, self.active) || names(self.reply, self.active, self.passive)
    }
}
