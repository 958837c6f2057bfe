//! DDP segments, with the octet of RDMAP (RFC 5041 section 4, RFC 5040 section 4.1).
//!
//! ```text
//! tagged                            untagged
//!  0  T, L, reserved, version        0  T, L, reserved, version
//!  1  RDMAP version, opcode          1  RDMAP version, opcode
//!  2  STag                           2  STag to be invalidated
//!  6  tagged offset                  6  queue number
//! 14  data                          10  message sequence number
//!                                   14  message offset
//!                                   18  data
//! ```

use rpcrdma::reader::{EndOfInput, Reader};

const TAGGED: u8 = 0x80;
const LAST: u8 = 0x40;
const DDP_RESERVED_AND_VERSION: u8 = 0x3f;
const DDP_VERSION: u8 = 0x01;
const RDMAP_RESERVED: u8 = 0x30;
/// RFC 5040's version; the earlier version of the RDMA Consortium is 0.
const RDMAP_VERSION: u8 = 0x40;
const OPCODE: u8 = 0x0f;

/// Operation of a DDP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opcode(pub u8);

impl Opcode {
    /// RDMA Write.
    pub const WRITE: Self = Self(0x0);
    /// RDMA Read Request.
    pub const READ_REQUEST: Self = Self(0x1);
    /// RDMA Read Response.
    pub const READ_RESPONSE: Self = Self(0x2);
    /// Send.
    pub const SEND: Self = Self(0x3);
    /// Send with Invalidate.
    pub const SEND_INVALIDATE: Self = Self(0x4);
    /// Send with Solicited Event.
    pub const SEND_SOLICITED: Self = Self(0x5);
    /// Send with Solicited Event and Invalidate.
    pub const SEND_SOLICITED_INVALIDATE: Self = Self(0x6);
    /// Terminate.
    pub const TERMINATE: Self = Self(0x7);
    /// Immediate Data (RFC 7306).
    pub const IMMEDIATE: Self = Self(0x8);
    /// Immediate Data with Solicited Event (RFC 7306).
    pub const IMMEDIATE_SOLICITED: Self = Self(0x9);
    /// Atomic Request (RFC 7306).
    pub const ATOMIC_REQUEST: Self = Self(0xa);
    /// Atomic Response (RFC 7306).
    pub const ATOMIC_RESPONSE: Self = Self(0xb);

    /// Its name; `None` for an unknown opcode.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::WRITE => "RDMA Write",
            Self::READ_REQUEST => "RDMA Read Request",
            Self::READ_RESPONSE => "RDMA Read Response",
            Self::SEND => "Send",
            Self::SEND_INVALIDATE => "Send with Invalidate",
            Self::SEND_SOLICITED => "Send with Solicited Event",
            Self::SEND_SOLICITED_INVALIDATE => "Send with Solicited Event and Invalidate",
            Self::TERMINATE => "Terminate",
            Self::IMMEDIATE => "Immediate Data",
            Self::IMMEDIATE_SOLICITED => "Immediate Data with Solicited Event",
            Self::ATOMIC_REQUEST => "Atomic Request",
            Self::ATOMIC_RESPONSE => "Atomic Response",
            _ => return None,
        })
    }

    /// Returns the queue of untagged messages with this opcode; `None` for tagged messages and unknown opcodes.
    #[must_use]
    pub const fn queue(self) -> Option<u32> {
        match self.0 {
            0x3..=0x6 | 0x8 | 0x9 => Some(0),
            0x1 | 0xa => Some(1),
            0x7 => Some(2),
            0xb => Some(3),
            _ => None,
        }
    }

    /// Returns true for opcodes of tagged messages.
    #[must_use]
    pub const fn is_tagged(self) -> bool {
        matches!(self, Self::WRITE | Self::READ_RESPONSE)
    }

    const fn invalidates(self) -> bool {
        matches!(self, Self::SEND_INVALIDATE | Self::SEND_SOLICITED_INVALIDATE)
    }
}

/// Destination of a segment's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Into memory that was advertised.
    Tagged {
        /// STag: the handle.
        handle: u32,
        /// Tagged offset of the first octet.
        offset: u64,
    },
    /// Into the next buffer of a queue.
    Untagged {
        /// The STag that a Send with Invalidate names.
        invalidates: Option<u32>,
        /// Queue number.
        queue: u32,
        /// Message sequence number.
        number: u32,
        /// Octets of the message before this segment.
        offset: u32,
    },
}

/// A DDP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DdpSegment<'a> {
    /// Operation that the message is part of.
    pub opcode: Opcode,
    /// True for the last segment of a message.
    pub last: bool,
    /// Destination of the data.
    pub placement: Placement,
    /// Captured part of the data.
    pub data: &'a [u8],
    /// Octets the data had on the wire.
    pub length: usize,
}

impl<'a> DdpSegment<'a> {
    /// Octets of a tagged header.
    pub const TAGGED_LEN: usize = 14;
    /// Octets of an untagged header.
    pub const UNTAGGED_LEN: usize = 18;

    /// Reads the segment in a ULPDU of `length` octets. `None` if RFC 5040, RFC 7306 and the RDMA Consortium do not
    /// define such a segment, or the header is incomplete.
    #[must_use]
    pub fn decode(ulpdu: &'a [u8], length: usize) -> Option<Self> {
        let [ddp, rdmap, ..] = *ulpdu else { return None };
        let opcode = Opcode(rdmap & OPCODE);
        let is_tagged = ddp & TAGGED != 0;
        let known = opcode.is_tagged() || opcode.queue().is_some();
        let versions = ddp & DDP_RESERVED_AND_VERSION == DDP_VERSION && matches!(rdmap & !OPCODE, 0 | RDMAP_VERSION);
        if !known || !versions || rdmap & RDMAP_RESERVED != 0 || is_tagged != opcode.is_tagged() {
            return None;
        }
        let header = if is_tagged { Self::TAGGED_LEN } else { Self::UNTAGGED_LEN };
        let placement = Self::placement(opcode, &mut Reader::new(ulpdu.get(2..)?)).ok()?;
        if let Placement::Untagged { queue, .. } = placement
            && opcode.queue() != Some(queue)
        {
            return None;
        }
        let data = ulpdu.get(header..)?;
        Some(Self { opcode, last: ddp & LAST != 0, placement, data, length: length.checked_sub(header)? })
    }

    fn placement(opcode: Opcode, reader: &mut Reader<'_>) -> Result<Placement, EndOfInput> {
        let handle = reader.u32()?;
        if opcode.is_tagged() {
            return Ok(Placement::Tagged { handle, offset: reader.u64()? });
        }
        Ok(Placement::Untagged {
            invalidates: opcode.invalidates().then_some(handle),
            queue: reader.u32()?,
            number: reader.u32()?,
            offset: reader.u32()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tagged_and_untagged_headers_are_told_apart() {
        let write = [0xc1, 0x40, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 16, 0, 9, 9];
        let segment = DdpSegment::decode(&write, 20).unwrap();
        assert_eq!((segment.opcode, segment.last), (Opcode::WRITE, true));
        assert_eq!(segment.placement, Placement::Tagged { handle: 0x0102_0304, offset: 0x1000 });
        assert_eq!((segment.data, segment.length), (&[9, 9][..], 6));
        let send = [0x01, 0x44, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 1, 0, 5];
        let segment = DdpSegment::decode(&send, 19).unwrap();
        assert_eq!((segment.opcode, segment.last, segment.data), (Opcode::SEND_INVALIDATE, false, &[5][..]));
        let invalidates = Some(0x0102_0304);
        assert_eq!(segment.placement, Placement::Untagged { invalidates, queue: 0, number: 7, offset: 256 });
        let mut plain = send;
        plain[1] = 0x43;
        let placement = DdpSegment::decode(&plain, 19).unwrap().placement;
        assert_eq!(placement, Placement::Untagged { invalidates: None, queue: 0, number: 7, offset: 256 });
    }

    #[test]
    fn what_no_specification_has_is_refused() {
        let send = [0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        assert!(DdpSegment::decode(&send, 18).is_some());
        for length in 0..send.len() {
            assert_eq!(DdpSegment::decode(&send[..length], 18), None, "{length} octets");
        }
        assert_eq!(DdpSegment::decode(&send, 17), None, "shorter than its header");
        for (at, value) in [(0, 0xc1), (0, 0x42), (0, 0x45), (1, 0x53), (1, 0x83), (1, 0x4c), (1, 0x40), (9, 1)] {
            let mut other = send;
            other[at] = value;
            assert_eq!(DdpSegment::decode(&other, 18), None, "{value:#04x} in octet {at}");
        }
    }

    #[test]
    fn each_opcode_has_a_name_and_one_kind_of_header() {
        for opcode in (0..16).map(Opcode) {
            assert_eq!(opcode.name().is_some(), opcode.is_tagged() || opcode.queue().is_some(), "{opcode:?}");
            assert!(!(opcode.is_tagged() && opcode.queue().is_some()));
        }
    }
}
