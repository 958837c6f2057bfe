//! One frame with an InfiniBand packet: the understood octets, and the copy without confidential content.
//!
//! The copy begins as zeros. Only understood fields are written into the copy, so an unknown field cannot pass.

use core::ops::Range;

use rpcrdma_dissector::link::{self, Content, ICRC_LEN};
use rpcrdma_dissector::packets::{
    right_icrc, right_vcrc,
    transport::{self, PacketKind, Transport},
};
use rpcrdma_dissector::{Address, CrcVerdict, Frame, verify_crc};

use super::key::Replacer;
use super::management;
use super::network::{NetworkLayout, checksum};
use super::octets::{keep, write_octets};

const UDP: usize = 8;
const UDP_PROTOCOL: u8 = 17;

/// Offsets of the parts of a frame.
#[derive(Clone, Debug)]
pub(super) struct PacketLayout {
    network: NetworkLayout,
    transport: usize,
    /// From the beginning of the transport header to the ICRC, on the wire.
    pub(super) transport_length: usize,
    /// Data after the transport headers, as far as the data was captured.
    pub(super) data: Range<usize>,
    /// `true` if the last transport header is immediate data, which may be anything.
    has_immediate: bool,
    /// Kind of packet.
    pub(super) operation: PacketKind,
    /// `true` for a management datagram.
    pub(super) is_management: bool,
    /// Address of the sender.
    pub(super) source: Address,
    /// Address of the receiver.
    pub(super) destination: Address,
    /// The receiver's queue pair.
    pub(super) queue_pair: u32,
    /// Packet sequence number.
    pub(super) sequence: u32,
}

impl PacketLayout {
    /// Finds the parts of a frame; `None` if some header is not understood.
    pub(super) fn from_frame(frame: &Frame<'_>) -> Option<Self> {
        let Content::InfiniBand(packet) = link::decode(frame) else { return None };
        let network = NetworkLayout::from_frame(frame)?;
        let transport = network.end_offset() + if network.is_ip() { UDP } else { 0 };
        // Nothing else is in between: an encapsulation, an extension header.
        if !core::ptr::eq(frame.data.get(transport..)?.as_ptr(), packet.octets.as_ptr()) {
            return None;
        }
        let header = Transport::decode(packet.octets, packet.length).ok()?;
        let is_management = header.opcode == transport::DATAGRAM && header.queue_pair == 1;
        let is_reliable = header.opcode >> 5 == 0 && header.operation != PacketKind::Other;
        if !is_management && !is_reliable {
            return None;
        }
        let pad = usize::from(*packet.octets.get(1)? >> 4 & 3);
        let headers = packet.length.checked_sub(header.length)?.checked_sub(pad)?;
        let start = transport.checked_add(headers)?;
        let data = start..start.checked_add(header.data.len())?;
        frame.data.get(data.clone())?;
        Some(Self {
            network,
            transport,
            transport_length: packet.length,
            data,
            has_immediate: is_reliable && matches!(header.opcode & 0x1f, 0x03 | 0x05 | 0x09 | 0x0b),
            operation: header.operation,
            is_management,
            source: packet.source,
            destination: packet.destination,
            queue_pair: header.queue_pair,
            sequence: header.sequence,
        })
    }

    /// The copy of the frame. `data` takes the place of the data after the transport headers, as far as there is any. `None`
    /// if the frame is a management datagram that is not understood.
    pub(super) fn rewrite(&self, frame: &Frame<'_>, data: &[u8], replacer: &mut Replacer) -> Option<Vec<u8>> {
        let from = frame.data;
        let mut to = vec![0; from.len()];
        self.network.rewrite(from, &mut to, replacer)?;
        if self.network.is_ip() {
            // The checksums come last.
            keep(from, &mut to, self.transport - UDP..self.transport - 2);
        }
        let mut headers = self.transport..self.data.start;
        if self.has_immediate {
            headers.end -= 4;
        }
        keep(from, &mut to, headers);
        if self.is_management {
            let original = from.get(self.data.clone())?;
            management::rewrite(original, to.get_mut(self.data.clone())?, replacer)?;
        } else {
            to.get_mut(self.data.clone())?.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        }
        self.checksums(frame, &mut to);
        Some(to)
    }

    /// Writes right checksums if the original ones were right, and wrong ones otherwise.
    fn checksums(&self, frame: &Frame<'_>, to: &mut [u8]) {
        // The ICRC does not cover the checksums of IP and UDP, and these cover the ICRC.
        let icrc = self.transport + self.transport_length;
        if let Some(verdict) = verify_crc(frame) {
            crcs(verdict, frame, to, icrc);
        }
        self.network.header_checksum(frame.data, to);
        if self.network.is_ip() {
            checksum(frame.data, to, self.transport - 2, |octets| self.udp_sum(octets));
        }
    }

    fn udp_sum(&self, octets: &[u8]) -> Option<u16> {
        let length = octets.get(self.transport - UDP + 4..)?.first_chunk().map(|length| u16::from_be_bytes(*length))?;
        self.network.transport_sum(octets, UDP_PROTOCOL, usize::from(length))
    }
}

/// Writes the ICRC at `at`, and the VCRC after the ICRC if the frame has one: right if the original was right, and wrong otherwise.
fn crcs(CrcVerdict { icrc, vcrc }: CrcVerdict, frame: &Frame<'_>, to: &mut [u8], at: usize) {
    if let Some(right) = right_icrc(&Frame { data: to, ..*frame }) {
        write_octets(to, at, &(if icrc { right } else { !right }).to_le_bytes());
    }
    // It covers the ICRC.
    if let Some((is_right, right)) = vcrc.zip(right_vcrc(&Frame { data: to, ..*frame })) {
        write_octets(to, at + ICRC_LEN, &(if is_right { right } else { !right }).to_le_bytes());
    }
}
