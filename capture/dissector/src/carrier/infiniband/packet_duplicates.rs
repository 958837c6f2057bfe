//! Packets of one connection that the capture holds twice.

use super::stream::RequestStream;
use super::transport::{PacketKind, Syndrome, Transport};
use crate::carrier::duplicates::{Duplicates, Need, RecentPackets, SentPacket};
use crate::carrier::operation::{Side, Sides};
use crate::file::Time;

/// Duplicates of packets. A repeated acknowledgement looks like a duplicate, so each kind has an order of duplicates.
#[derive(Debug, Default)]
pub(super) struct PacketDuplicates {
    acknowledgements: Sides<Duplicates>,
    refusals: Sides<Duplicates>,
    others: Sides<Duplicates>,
    /// Duplicates of the packets that set the connection up.
    setup: Duplicates,
}

impl PacketDuplicates {
    /// Sets the duplicates of the packets that set the connection up.
    pub(super) const fn set_setup(&mut self, setup: Duplicates) {
        self.setup = setup;
    }

    /// Returns the time of an earlier capture of a packet, if this is a duplicate that nobody retransmitted. The
    /// streams show what the ends asked for again.
    #[inline]
    pub(super) fn find_original(
        &mut self,
        sent: SentPacket,
        packet: &Transport<'_>,
        content: u64,
        recent: &mut RecentPackets,
        streams: &Sides<RequestStream>,
    ) -> Option<Time> {
        let end = self.of_kind(packet).get_mut(sent.from);
        if recent.add_packet(content, sent.captured, end) {
            return None;
        }
        self.find_repeated(sent, packet, content, recent, streams)
    }

    /// The same for a packet whose content was captured before.
    #[cold]
    fn find_repeated(
        &mut self,
        sent: SentPacket,
        packet: &Transport<'_>,
        content: u64,
        recent: &mut RecentPackets,
        streams: &Sides<RequestStream>,
    ) -> Option<Time> {
        let SentPacket { from, captured } = sent;
        let mut end = *self.of_kind(packet).get(from);
        let need = |since| match packet.operation {
            PacketKind::ReadResponse => {
                Need::from_evidence(streams.get(from.other()).is_response_asked(packet.sequence), false)
            }
            _ if packet.is_request() => {
                let stream = streams.get(from);
                Need::from_evidence(stream.is_request_asked(packet), stream.is_acknowledged(packet.sequence))
            }
            _ => {
                let is_again = streams.get(from.other()).is_acknowledged_again(packet, since, captured.stamp.time);
                Need::from_evidence(is_again, captured.observation.identification != 0)
            }
        };
        let original = recent.original(content, captured, &mut end, || self.shown(from.other()), need);
        *self.of_kind(packet).get_mut(from) = end;
        original
    }

    const fn of_kind(&mut self, packet: &Transport<'_>) -> &mut Sides<Duplicates> {
        match (packet.operation, packet.syndrome) {
            (PacketKind::Acknowledge, Some(Syndrome::Acknowledged)) => &mut self.acknowledgements,
            (PacketKind::Acknowledge, _) => &mut self.refusals,
            _ => &mut self.others,
        }
    }

    /// Returns the counts of duplicates of an end, or of the messages of connection setup.
    fn shown(&self, from: Side) -> Duplicates {
        self.others.get(from).or(*self.acknowledgements.get(from)).or(self.setup)
    }
}
