//! Packets of both ends that were captured, missed or retransmitted.

use super::checksums::RetransmittedPacket;
use super::operation_sink::OperationSink;
use super::reorder_buffer::Arrival;
use super::stream::RequestStream;
use crate::carrier::connection::{Counts, RefusedAccess};
use crate::carrier::operation::{Operation, OperationKind, Origin, Places, Side, Sides};
use crate::carrier::recovery::{Indication, RecoveryKind};

/// Position of a packet among those of the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketPosition {
    pub(super) sender: Side,
    /// Packet sequence number, extended to 64 bits.
    pub(super) number: u64,
}

/// A packet that was retransmitted before an acknowledgement came.
#[derive(Clone, Copy, Debug)]
struct UnacknowledgedPacket {
    position: PacketPosition,
    /// Frame of the retransmission.
    frame: u64,
}

/// Counts the packets of both ends, and tells the sink what was lost.
#[derive(Debug, Default)]
pub(super) struct LossAccount {
    /// Counts by sender.
    counts: Sides<Counts>,
    /// The latest packet that was retransmitted before an acknowledgement came.
    unacknowledged: Option<UnacknowledgedPacket>,
}

impl LossAccount {
    /// Counts of both ends until now.
    pub(super) const fn counts(&self) -> &Sides<Counts> {
        &self.counts
    }

    /// Counts a packet of an end.
    pub(super) fn count_packet(&mut self, from: Side) {
        self.counts.get_mut(from).packets += 1;
    }

    /// Counts a packet of an end that the capture holds twice.
    pub(super) fn count_duplicate(&mut self, from: Side) {
        self.counts.get_mut(from).duplicates += 1;
    }

    /// Counts a packet of an end if an earlier one was captured later.
    pub(super) fn count_early(&mut self, from: Side, is_early: bool) {
        self.counts.get_mut(from).early += u64::from(is_early);
    }

    /// Counts a packet of an end that belongs to no request.
    pub(super) fn count_unmatched(&mut self, from: Side) {
        self.counts.get_mut(from).unmatched += 1;
    }

    /// Counts a packet of an end that the capture lacks, of which the sink needs no report.
    pub(super) fn count_missed(&mut self, from: Side) {
        self.counts.get_mut(from).missed += 1;
    }

    /// Notes that an end refused the access to memory of the request with this number.
    pub(super) fn refuse_access(&mut self, by: Side, number: u64) {
        self.counts.get_mut(by).refused.get_or_insert(RefusedAccess::At(number));
    }

    /// Reports that the capture lacks packets of an end, after a frame; `places` if known.
    pub(super) fn lose<S: OperationSink>(&mut self, origin: Origin, missed: u64, places: Places, sink: &mut S) {
        let Origin { from, stamp } = origin;
        self.counts.get_mut(from).missed += missed;
        let kind = OperationKind::Lost;
        sink.take_operation(
            Operation { from, stamp, began: stamp, retransmitted: 0, first_sent: None, places, kind },
            true,
        );
    }

    /// Counts an indication that the packet at `position`, one of `stream`, was lost, and passes the indication on.
    pub(super) fn recover<S: OperationSink>(
        &mut self,
        arrival: &Arrival<'_>,
        position: PacketPosition,
        kind: RecoveryKind,
        stream: &RequestStream,
        sink: &mut S,
    ) {
        let PacketPosition { sender: of, number } = position;
        self.counts.get_mut(arrival.from).recover(kind);
        let is_again = kind.is_retransmission() && of == arrival.from;
        // After a right checksum, a wrong one is no reason of silence: not every packet of the end is spoilt.
        let is_open = self.counts.get(of).checksums.right == 0;
        if is_again && is_open && stream.acknowledged < Some(number) {
            self.unacknowledged = Some(UnacknowledgedPacket { position, frame: arrival.stamp.frame });
        }
        let operation = arrival.packet.operation_type();
        let is_report = kind == RecoveryKind::SequenceError;
        let missing = if is_report { stream.missing(number, arrival.stamp.time) } else { None };
        let sign =
            OperationKind::Indication { of, place: number, sign: Indication::Recovery(kind), operation, missing };
        sink.take_operation(arrival.operation(number, sign), true);
    }

    /// Returns the position of the packet that was retransmitted in this frame before an acknowledgement came.
    pub(super) fn take_unacknowledged(&mut self, frame: u64) -> Option<PacketPosition> {
        let packet = self.unacknowledged.take()?;
        (packet.frame == frame).then_some(packet.position)
    }

    /// Takes the verdict on the checksum of a packet that was retransmitted before an acknowledgement came.
    pub(super) fn count_checksum(&mut self, packet: &RetransmittedPacket, is_right: bool) {
        let checksums = &mut self.counts.get_mut(packet.from).checksums;
        if is_right {
            checksums.right += 1;
        } else {
            checksums.wrong += 1;
            checksums.first_wrong.get_or_insert(packet.frame);
        }
    }

    /// Counts by sender, once all has come. `are_recorded` returns true for an end whose checksums the capture holds.
    pub(super) fn finished_counts(
        &self,
        streams: &Sides<RequestStream>,
        are_recorded: impl Fn(Side) -> bool,
    ) -> Sides<Counts> {
        let mut counts = self.counts;
        for side in [Side::Active, Side::Passive] {
            let (counts, stream) = (counts.get_mut(side), streams.get(side));
            counts.acknowledgements = streams.get(side.other()).awaited.measured();
            counts.acknowledged = stream.awaited.order();
            let is_accepted = stream.wrong_checksum.is_some_and(|lowest| stream.acknowledged >= Some(lowest));
            if counts.checksums.wrong > 0 && (is_accepted || !are_recorded(side)) {
                (counts.checksums.wrong, counts.checksums.first_wrong) = (0, None);
            }
        }
        counts
    }
}
