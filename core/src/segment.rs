//! RDMA segments: pieces of a chunk in the Requester's memory (RFC 8166 sections 3.4.3 and 3.4.5).
//!
//! ```text
//! plain segment             Read list entry
//!  0        4        8      16       0        4        8                 24
//! +--------+--------+---//--+       +--------+--------+-----------//----+
//! | handle | length | offset|       |   1    |position| plain segment   |
//! +--------+--------+---//--+       +--------+--------+-----------//----+
//! ```
//!
//! A read segment only occurs in the Read list, after the flag of an entry. So an entry always has 24 octets.

use core::fmt;

/// A plain segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The steering tag (`STag`, `R_key`) under which the memory is registered.
    pub handle: u32,
    /// Length in octets; 0 for an empty segment.
    pub length: u32,
    /// Start of the segment: an address or an offset, as the handle was registered.
    pub offset: u64,
}

/// A read segment: a piece of an argument, and the Position of the argument in the Payload stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadSegment {
    /// Octets from the start of the unreduced Payload stream to the item that this is a part of.
    pub position: u32,
    /// Memory of the piece.
    pub target: Segment,
}

impl Segment {
    /// Octets on the wire.
    pub const LEN: usize = 16;

    /// Returns true if the segment extends past the end of the address space: offset + length is more than 2^64 (RFC
    /// 8166 section 3.4.3). The last octet of the segment may be the last of the address space.
    #[inline]
    #[must_use]
    pub const fn wraps(self) -> bool {
        self.offset.checked_add(self.length.saturating_sub(1) as u64).is_none()
    }

    /// Reads a plain segment.
    #[inline]
    #[must_use]
    pub const fn from_octets(octets: &[u8; Self::LEN]) -> Self {
        let [h0, h1, h2, h3, l0, l1, l2, l3, o0, o1, o2, o3, o4, o5, o6, o7] = *octets;
        Self {
            handle: u32::from_be_bytes([h0, h1, h2, h3]),
            length: u32::from_be_bytes([l0, l1, l2, l3]),
            offset: u64::from_be_bytes([o0, o1, o2, o3, o4, o5, o6, o7]),
        }
    }

    /// Returns the octets of a plain segment.
    #[inline]
    #[must_use]
    pub const fn to_octets(self) -> [u8; Self::LEN] {
        let [h0, h1, h2, h3] = self.handle.to_be_bytes();
        let [l0, l1, l2, l3] = self.length.to_be_bytes();
        let [o0, o1, o2, o3, o4, o5, o6, o7] = self.offset.to_be_bytes();
        [h0, h1, h2, h3, l0, l1, l2, l3, o0, o1, o2, o3, o4, o5, o6, o7]
    }
}

impl ReadSegment {
    /// Length of an entry of the Read list in octets: the flag, the Position, the segment.
    pub const LEN: usize = 24;

    /// Reads an entry of the Read list. The first word is ignored.
    #[inline]
    #[must_use]
    pub const fn from_entry(entry: &[u8; Self::LEN]) -> Self {
        let [_, _, _, _, p0, p1, p2, p3, target @ ..] = entry;
        Self { position: u32::from_be_bytes([*p0, *p1, *p2, *p3]), target: Segment::from_octets(target) }
    }

    /// Returns the octets of an entry of the Read list; the first word is 1.
    #[inline]
    #[must_use]
    pub const fn to_entry(self) -> [u8; Self::LEN] {
        let [p0, p1, p2, p3] = self.position.to_be_bytes();
        let [h0, h1, h2, h3, l0, l1, l2, l3, o0, o1, o2, o3, o4, o5, o6, o7] = self.target.to_octets();
        [0, 0, 0, 1, p0, p1, p2, p3, h0, h1, h2, h3, l0, l1, l2, l3, o0, o1, o2, o3, o4, o5, o6, o7]
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "handle {:#010x} length {} offset {:#018x}", self.handle, self.length, self.offset)
    }
}

impl fmt::Display for ReadSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "position {} {}", self.position, self.target)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_segment_may_end_with_the_address_space() {
        for (offset, length, wraps) in [
            (u64::MAX - 9, 10, false),
            (u64::MAX - 9, 11, true),
            (u64::MAX, 1, false),
            (u64::MAX, 0, false),
            (u64::MAX, 2, true),
            (0, u32::MAX, false),
        ] {
            assert_eq!(Segment { handle: 0, length, offset }.wraps(), wraps, "{offset:x} {length}");
        }
    }

    const ENTRY: [u8; 24] =
        [0, 0, 0, 1, 0, 0, 0, 180, 0, 0, 0x0a, 0x94, 0, 2, 0, 0, 0xa5, 6, 0x4b, 0xf4, 0xce, 0x8c, 0x60, 0];

    #[test]
    fn an_entry_is_flag_position_handle_length_offset() {
        let target = Segment { handle: 0xa94, length: 131_072, offset: 0xa506_4bf4_ce8c_6000 };
        let read = ReadSegment::from_entry(&ENTRY);
        assert_eq!(read, ReadSegment { position: 180, target });
        assert_eq!(read.to_entry(), ENTRY);
        assert_eq!(target.to_octets(), ENTRY[8..]);
        assert_eq!(read.to_string(), "position 180 handle 0x00000a94 length 131072 offset 0xa5064bf4ce8c6000");
    }
}
