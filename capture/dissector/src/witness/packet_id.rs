//! Identity of a packet wherever in the network the packet was captured.

use core::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

use crate::carrier::infiniband::transport::{PacketKind, Transport};
use crate::file::Frame;
use crate::link::{self, Address, Content};

/// Octets of a packet of connection management that tell the packet from others.
const MANAGEMENT: usize = 128;

/// Identity of a packet: equal for all transmissions and captures of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketId {
    /// Digest of the connection, and of the place of the packet in what the sender sends.
    pub(super) digest: u64,
    pub(super) from: Address,
    pub(super) to: Address,
    /// True for a packet that the sender retransmits until the packet arrives.
    pub(super) is_repeated: bool,
}

/// Returns the identity of the packet in a frame; `None` for a frame with neither InfiniBand nor TCP. No field counts that a
/// switch or an adapter may change, nor the length of the capture.
pub(super) fn packet_id(frame: &Frame<'_>) -> Option<PacketId> {
    let mut hasher = FixedState::default().build_hasher();
    match link::decode(frame) {
        Content::InfiniBand(packet) => {
            let transport = Transport::decode(packet.octets, packet.length).ok()?;
            let (from, to) = (packet.source, packet.destination);
            (from, to, transport.queue_pair, transport.operation).hash(&mut hasher);
            (transport.sequence, transport.length).hash(&mut hasher);
            match transport.operation {
                PacketKind::Acknowledge => packet.octets.get(12..16).hash(&mut hasher),
                PacketKind::Other => packet.octets.get(..MANAGEMENT.min(packet.length)).hash(&mut hasher),
                _ => {}
            }
            let is_repeated = !matches!(transport.operation, PacketKind::Acknowledge | PacketKind::Other);
            Some(PacketId { digest: hasher.finish(), from, to, is_repeated })
        }
        Content::Tcp(segment) => {
            let (from, to) = (segment.source, segment.destination);
            (from, to, segment.source_port, segment.destination_port).hash(&mut hasher);
            let [place, flags, length] = segment.words();
            let is_repeated = segment.length > 0;
            match is_repeated {
                // A retransmitted segment may acknowledge more.
                true => (segment.sequence, length).hash(&mut hasher),
                false => (place, flags, segment.options).hash(&mut hasher),
            }
            Some(PacketId { digest: hasher.finish(), from, to, is_repeated })
        }
        Content::Other(_) => None,
    }
}
