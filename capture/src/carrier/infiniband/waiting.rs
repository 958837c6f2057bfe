//! Packets of a flow whose counterpart is not known yet.

use super::flow::Flow;
use super::transport::{Operation as Does, Transport};
use crate::carrier::operation::Stamp;
use crate::link::Carrier;

/// Packets, and octets of them, that wait for a flow's counterpart.
const PACKETS: usize = 2048;
const OCTETS: usize = 4 << 20;

/// A flow whose counterpart is not known yet.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) flow: Flow,
    pub(super) carrier: Carrier,
    pub(super) packets: Vec<Kept>,
    pub(super) octets: usize,
}

/// A packet that waits.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) stamp: Stamp,
    pub(super) octets: Box<[u8]>,
    pub(super) length: usize,
    /// Packet number, and how many numbers a request takes; 0 for an answer.
    pub(super) sequence: u32,
    pub(super) span: u32,
}

impl Waiting {
    /// Octets of memory it takes.
    pub(super) const fn held(&self) -> usize {
        self.octets + self.packets.len() * size_of::<Kept>()
    }

    /// More waits than may.
    pub(super) const fn is_full(&self) -> bool {
        self.packets.len() > PACKETS || self.octets > OCTETS
    }

    /// The requests that wait here are the first of a connection that begins with this number.
    pub(super) fn begins_at(&self, sequence: u32) -> bool {
        let mut requests = self.packets.iter().filter(|kept| kept.span > 0);
        requests.all(|kept| is_within(kept.sequence, sequence, PACKETS as u32))
    }

    /// A packet of `flow` answers a request that waits here, or is a request that an answer here is for.
    pub(super) fn answers(&self, flow: &Flow, packet: &Kept) -> bool {
        self.flow.source == flow.destination
            && self.flow.destination == flow.source
            && self.packets.iter().any(|kept| match (kept.span, packet.span) {
                (0, 0) => false,
                (0, span) => is_within(kept.sequence, packet.sequence, span),
                (span, 0) => is_within(packet.sequence, kept.sequence, span),
                _ => false,
            })
    }
}

/// The number `answer` is one of the `span` numbers from `request` on.
pub(super) fn is_within(answer: u32, request: u32, span: u32) -> bool {
    (answer.wrapping_sub(request) & 0xff_ffff) < span
}

/// How many numbers a request may take; 0 for an answer.
pub(super) fn span(transport: &Transport<'_>) -> u32 {
    match (transport.is_request(), transport.operation, transport.target) {
        (false, ..) => 0,
        // As many as the smallest path MTU would need.
        (true, Does::ReadRequest, Some(target)) => target.length.div_ceil(256).max(1),
        _ => 1,
    }
}
