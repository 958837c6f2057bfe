//! Times that a connection's acknowledgements and repeated packets show: round trips, packets out of order, and clocks.

use super::seen_twice::SeenTwice;
use crate::carrier::acknowledgement::{AcknowledgementOrder, Acknowledgements, likely_late_clock};
use crate::carrier::connection::Counts;
use crate::carrier::operation::{Origin, Side, Sides};
use crate::file::Time;
use crate::rpc::both_ends::BothEnds;
use crate::rpc::capture_point::CapturePoint;
use crate::rpc::transaction::{RoundTrips, Transaction};

/// Clocks and round trips of a connection.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Times in which the adapter of each end acknowledges, if some were seen.
    acknowledgements: Sides<Option<Acknowledgements>>,
    /// Acknowledgements of what each end sent, by the order of their capture.
    orders: Sides<AcknowledgementOrder>,
    /// The last frame that was captured after being acknowledged.
    late_frame: u64,
    /// Packets that were captured at both ends.
    seen_twice: SeenTwice,
}

impl Clocks {
    /// Takes the times that an end takes to acknowledge. Returns the round-trip time to both ends in nanoseconds, as
    /// far as known.
    pub(super) fn measure(&mut self, by: Side, times: Acknowledgements) -> u64 {
        *self.acknowledgements.get_mut(by) = Some(times);
        let order = self.orders.get_mut(by.other());
        order.after = order.after.max(times.count);
        let usual = |end| self.round_trip(end).unwrap_or_default();
        u64::saturating_add(usual(Side::Active), usual(Side::Passive))
    }

    /// Notes a packet that was captured after being acknowledged. `order` counts the packets of its sender that were
    /// captured after their acknowledgements, and before.
    pub(super) fn note_early(&mut self, packet: Origin, order: AcknowledgementOrder) {
        *self.orders.get_mut(packet.from) = order;
        self.late_frame = packet.stamp.frame;
    }

    /// Returns true if, as far as acknowledgements have shown until now, the directions were captured by two clocks.
    pub(super) fn are_two(&self) -> bool {
        likely_late_clock(&self.orders).is_some()
    }

    /// Returns true if this is the last frame that was captured after being acknowledged.
    pub(super) const fn is_late(&self, frame: u64) -> bool {
        frame == self.late_frame
    }

    /// Returns the usual time in which an end acknowledges, in nanoseconds.
    fn round_trip(&self, end: Side) -> Option<u64> {
        self.acknowledgements.get(end).map(|times| times.median)
    }

    /// Returns the usual round trips to both ends of an RPC.
    pub(super) fn round_trips(&self, requester: Side) -> RoundTrips {
        RoundTrips { requester: self.round_trip(requester), responder: self.round_trip(requester.other()) }
    }

    /// Returns the shortest time in which an end acknowledges, in nanoseconds.
    pub(super) fn least_round_trip(&self, end: Side) -> Option<u64> {
        self.acknowledgements.get(end).map(|times| times.least)
    }

    /// Notes that a packet of an end was captured first at one time, and again at another.
    pub(super) fn see_again(&mut self, from: Side, first: Time, again: Time) {
        self.seen_twice.see(from, first, again);
    }

    /// Notes the end of an RPC, if the RPC is one of the client: the packets of the RPC may be captured again at the
    /// other end.
    pub(super) fn see_end(&mut self, client: Side, transaction: &Transaction) {
        let Transaction { requester, began, reply, .. } = transaction;
        let (Some(began), Some(reply)) = (began, reply) else { return };
        if *requester == client && transaction.latency().is_some() {
            self.seen_twice.note_answer(*requester, began.time, reply.stamp.time);
        }
    }

    /// Returns the RPCs of the client as both ends saw the RPCs, if the file holds the packets of both ends.
    pub(super) fn both_ends(&self, client: Side, counts: &Sides<Counts>) -> Option<BothEnds> {
        let Sides { active, passive } = counts;
        let times = Sides { active: active.acknowledgements, passive: passive.acknowledgements };
        self.seen_twice.both_ends(client, times, infer_place(client, counts))
    }

    /// Forgets the packets that were captured at both ends.
    pub(super) fn forget_packets(&mut self) {
        self.seen_twice = SeenTwice::default();
    }

    /// Returns the octets of memory beyond what every connection takes.
    pub(super) fn memory_used(&self) -> usize {
        self.seen_twice.memory_used()
    }
}

/// Returns the place of the capture, if the acknowledgements show the place.
pub(super) fn infer_place(client: Side, counts: &Sides<Counts>) -> Option<CapturePoint> {
    let Sides { active, passive } = counts;
    let acknowledgements = Sides { active: active.acknowledgements, passive: passive.acknowledgements };
    CapturePoint::infer(acknowledgements, client)
}
