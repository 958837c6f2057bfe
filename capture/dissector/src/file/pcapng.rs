//! The pcapng format: blocks, each with its type and length at the start, and its length again at the end.
//!
//! ```text
//!  0  block type     Section Header      8 octet order, 12 version, 16 section length, options
//!  4  block length   Interface           8 link type, 12 snaplen, options: time resolution, time offset, FCS length
//!  8  body           Enhanced Packet     8 interface, 12 time (2 words), 20 octets in the file, 24 on the wire, 28 octets
//!  …                 Simple Packet       8 octets on the wire, 12 octets
//! -4  block length   Packet (obsolete)   8 interface, 10 drops, then as Enhanced Packet
//! ```
//! <https://datatracker.ietf.org/doc/html/draft-ietf-opsawg-pcapng>

use super::buffer::Buffer;
use super::error::{FileError, Problem};
use super::frame::{LinkType, Time};
use super::record::{OctetOrder, Record, check_length};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

const OPTION_END: u16 = 0;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_FCS_LENGTH: u16 = 13;
const OPTION_TIME_OFFSET: u16 = 14;

/// Block type and length.
const BLOCK_START_LEN: usize = 8;
/// The length at the end of a block.
const BLOCK_END_LEN: usize = 4;
/// From the start of an Enhanced Packet or Packet block to the frame.
const PACKET_HEADER_LEN: usize = 28;
const SIMPLE_PACKET_HEADER_LEN: usize = 12;
/// A section may describe more, but none does; this bounds what a hostile file makes us keep.
const INTERFACES_LIMIT: usize = 1 << 16;

const DAMAGED_BLOCK: Problem = Problem::Damaged("a block is too short for its contents");
const ENDS_INSIDE_BLOCK: Problem = Problem::EndsInside("a block");

/// The section that is being read.
#[derive(Clone)]
pub(super) struct Pcapng {
    order: OctetOrder,
    interfaces: Vec<Interface>,
}

/// Fields of an Interface Description block.
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    snaplen: u32,
    resolution: Resolution,
    /// Seconds to add to every time.
    offset: i64,
    fcs_length: u32,
}

/// Conversion of a count of time units to nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// Units of this many nanoseconds.
    Multiply(u64),
    /// This many units make a nanosecond.
    Divide(u64),
    /// Units of two to the minus this power, in seconds.
    Binary(u8),
}

impl Resolution {
    const MICROSECONDS: Self = Self::Multiply(1000);

    /// From `if_tsresol`: a negative power of ten, or of two if the top bit is set.
    fn new(octet: u8) -> Self {
        match octet {
            0x80.. => Self::Binary(octet & 0x7f),
            0..=9 => Self::Multiply(10_u64.pow(u32::from(9 - octet))),
            // Beyond 64 bits no count of units reaches a nanosecond.
            _ => Self::Divide(10_u64.checked_pow(u32::from(octet - 9)).unwrap_or(u64::MAX)),
        }
    }

    #[inline]
    fn nanoseconds(self, units: u64) -> u64 {
        match self {
            Self::Multiply(factor) => units.saturating_mul(factor),
            Self::Divide(divisor) => units / divisor,
            Self::Binary(exponent) => {
                u64::try_from((u128::from(units) * 1_000_000_000) >> exponent).unwrap_or(u64::MAX)
            }
        }
    }
}

impl Interface {
    /// From the body of an Interface Description block.
    fn decode(body: &[u8], order: OctetOrder) -> Option<Self> {
        let ([[l0, l1, _, _], snaplen], mut options) = split_words(body)?;
        let mut interface = Self {
            link: LinkType(order.u16([l0, l1]).into()),
            snaplen: order.u32(snaplen),
            resolution: Resolution::MICROSECONDS,
            offset: 0,
            fcs_length: 0,
        };
        while let Some(([c0, c1, l0, l1], rest)) = options.split_first_chunk() {
            let length = usize::from(order.u16([*l0, *l1]));
            let Some(value) = rest.get(..length) else { break };
            match (order.u16([*c0, *c1]), value) {
                (OPTION_END, _) => break,
                (OPTION_RESOLUTION, [octet, ..]) => interface.resolution = Resolution::new(*octet),
                (OPTION_FCS_LENGTH, [octets, ..]) => interface.fcs_length = u32::from(*octets),
                (OPTION_TIME_OFFSET, value) => interface.offset = time_offset(value, order),
                _ => {}
            }
            options = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Some(interface)
    }

    #[inline]
    fn time(&self, units: u64) -> Time {
        let offset = self.offset.unsigned_abs().saturating_mul(1_000_000_000);
        let time = self.resolution.nanoseconds(units);
        Time(if self.offset < 0 { time.saturating_sub(offset) } else { time.saturating_add(offset) })
    }
}

fn time_offset(value: &[u8], order: OctetOrder) -> i64 {
    match (value.first_chunk(), order) {
        (Some(octets), OctetOrder::Little) => i64::from_le_bytes(*octets),
        (Some(octets), OctetOrder::Big) => i64::from_be_bytes(*octets),
        (None, _) => 0,
    }
}

/// The first `N` words and what follows.
fn split_words<const N: usize>(octets: &[u8]) -> Option<([[u8; 4]; N], &[u8])> {
    let (words, _) = octets.as_chunks::<4>();
    Some((*words.first_chunk()?, octets.get(N * 4..)?))
}

impl Pcapng {
    /// Recognises the format, whose first block is a Section Header; nothing is used.
    pub(super) fn open(buffer: &Buffer<'_>) -> Option<Self> {
        let recognised = buffer.available().starts_with(&SECTION_HEADER.to_be_bytes());
        // The order is set by the Section Header, which is read as a block before all others.
        recognised.then(|| Self { order: OctetOrder::Little, interfaces: Vec::new() })
    }

    /// The next packet; none at the end of the file.
    #[inline]
    pub(super) fn next(&mut self, buffer: &mut Buffer<'_>) -> Result<Option<Record>, FileError> {
        loop {
            let offset = buffer.offset();
            let Some((kind, length)) = self.block_start(buffer)? else { return Ok(None) };
            match kind {
                ENHANCED_PACKET | PACKET | SIMPLE_PACKET => return self.packet(buffer, kind, length).map(Some),
                INTERFACE => self.interface(buffer, length)?,
                _ if buffer.skip(length.saturating_sub(BLOCK_END_LEN))? => {
                    if !buffer.fill(BLOCK_END_LEN)? {
                        return Err(FileError::new(offset, ENDS_INSIDE_BLOCK));
                    }
                    self.block_end(buffer, length, offset)?;
                }
                _ => return Err(FileError::new(offset, ENDS_INSIDE_BLOCK)),
            }
        }
    }

    /// Type and length of the next block, none of which is used yet; none at the end of the file.
    #[inline]
    fn block_start(&mut self, buffer: &mut Buffer<'_>) -> Result<Option<(u32, usize)>, FileError> {
        let offset = buffer.offset();
        if !buffer.fill(BLOCK_START_LEN)? {
            let over = buffer.available().is_empty();
            return if over { Ok(None) } else { Err(FileError::new(offset, ENDS_INSIDE_BLOCK)) };
        }
        let Some(([kind, length], _)) = split_words(buffer.available()) else { return Ok(None) };
        // It reads the same in both orders, so it is recognised before the order is known.
        if u32::from_be_bytes(kind) == SECTION_HEADER {
            self.section(buffer)?;
        }
        let length = self.order.u32(length);
        if !length.is_multiple_of(4) || (length as usize) < BLOCK_START_LEN + BLOCK_END_LEN {
            return Err(FileError::new(offset, Problem::Damaged("a block has an impossible length")));
        }
        Ok(Some((self.order.u32(kind), length as usize)))
    }

    /// The start of a section, none of which is used yet: sets the octet order, and forgets the interfaces of the
    /// previous section.
    fn section(&mut self, buffer: &mut Buffer<'_>) -> Result<(), FileError> {
        if !buffer.fill(BLOCK_START_LEN + 4)? {
            return Err(FileError::new(buffer.offset(), ENDS_INSIDE_BLOCK));
        }
        let Some(([_, _, magic], _)) = split_words(buffer.available()) else { return Ok(()) };
        let order =
            [OctetOrder::Little, OctetOrder::Big].into_iter().find(|order| order.u32(magic) == BYTE_ORDER_MAGIC);
        let damaged = || FileError::new(buffer.offset(), Problem::Damaged("a section has no octet order"));
        self.order = order.ok_or_else(damaged)?;
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, buffer: &mut Buffer<'_>, length: usize) -> Result<(), FileError> {
        let offset = buffer.offset();
        self.fill_block(buffer, length)?;
        let body = buffer.available().get(BLOCK_START_LEN..length.saturating_sub(BLOCK_END_LEN)).unwrap_or_default();
        let interface = Interface::decode(body, self.order).ok_or_else(|| FileError::new(offset, DAMAGED_BLOCK))?;
        if self.interfaces.len() >= INTERFACES_LIMIT {
            return Err(FileError::new(offset, Problem::Damaged("a section has too many interfaces")));
        }
        self.interfaces.push(interface);
        buffer.consume(length.saturating_sub(BLOCK_END_LEN));
        self.block_end(buffer, length, offset)
    }

    /// Makes a block available that is read as a whole.
    #[inline]
    fn fill_block(&self, buffer: &mut Buffer<'_>, length: usize) -> Result<(), FileError> {
        let offset = buffer.offset();
        check_length(u32::try_from(length).unwrap_or(u32::MAX), offset)?;
        if buffer.fill(length)? { Ok(()) } else { Err(FileError::new(offset, ENDS_INSIDE_BLOCK)) }
    }

    /// Uses the length at the end of a block. If the two lengths of a block differ, one of them is damaged.
    #[inline]
    fn block_end(&self, buffer: &mut Buffer<'_>, length: usize, offset: u64) -> Result<(), FileError> {
        let end = buffer.available().first_chunk().map(|octets| self.order.u32(*octets) as usize);
        buffer.consume(BLOCK_END_LEN);
        if end == Some(length) {
            return Ok(());
        }
        Err(FileError::new(offset, Problem::Damaged("a block has two different lengths")))
    }

    #[inline]
    fn packet(&self, buffer: &mut Buffer<'_>, kind: u32, length: usize) -> Result<Record, FileError> {
        let offset = buffer.offset();
        self.fill_block(buffer, length)?;
        let header = self.packet_header(buffer.available(), kind, length);
        let BlockHeader { interface, units, captured, length: on_wire, len } =
            header.ok_or_else(|| FileError::new(offset, DAMAGED_BLOCK))?;
        let room = length.saturating_sub(len).saturating_sub(BLOCK_END_LEN);
        if captured as usize > room {
            return Err(FileError::new(offset, DAMAGED_BLOCK));
        }
        let Some(interface) = self.interfaces.get(interface) else {
            return Err(FileError::new(
                offset,
                Problem::Damaged("a packet refers to an interface that is not described"),
            ));
        };
        buffer.consume(len);
        let mut data = buffer.consume(room);
        data.end = data.start.saturating_add(captured as usize);
        self.block_end(buffer, length, offset)?;
        let time = units.map_or(Time::default(), |units| interface.time(units));
        Ok(Record { time, link: interface.link, data, length: on_wire }.without_fcs(interface.fcs_length))
    }

    /// Returns the header in front of the frame in a packet block.
    #[inline]
    fn packet_header(&self, block: &[u8], kind: u32, length: usize) -> Option<BlockHeader> {
        let block = block.get(..length)?;
        if kind == SIMPLE_PACKET {
            let ([_, _, on_wire], _) = split_words(block)?;
            let on_wire = self.order.u32(on_wire);
            let room = length.saturating_sub(SIMPLE_PACKET_HEADER_LEN + BLOCK_END_LEN) as u32;
            let snaplen = self.interfaces.first().map_or(0, |interface| interface.snaplen);
            let captured = room.min(on_wire).min(if snaplen == 0 { u32::MAX } else { snaplen });
            return Some(BlockHeader {
                interface: 0,
                units: None,
                captured,
                length: on_wire,
                len: SIMPLE_PACKET_HEADER_LEN,
            });
        }
        let ([_, _, interface, high, low, captured, on_wire], _) = split_words(block)?;
        let [a, b, _, _] = interface;
        let interface = if kind == PACKET { u32::from(self.order.u16([a, b])) } else { self.order.u32(interface) };
        Some(BlockHeader {
            interface: interface as usize,
            units: Some((u64::from(self.order.u32(high)) << 32) | u64::from(self.order.u32(low))),
            captured: self.order.u32(captured),
            length: self.order.u32(on_wire),
            len: PACKET_HEADER_LEN,
        })
    }
}

/// Header in front of the frame in a packet block.
struct BlockHeader {
    interface: usize,
    /// The time in the units of the interface; a Simple Packet has none.
    units: Option<u64>,
    captured: u32,
    length: u32,
    /// Octets from the start of the block to the frame.
    len: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_resolution_are_nanoseconds() {
        for (octet, units, nanoseconds) in [
            (0, 3, 3_000_000_000),
            (6, 1_500_000, 1_500_000_000),
            (9, 7, 7),
            (12, 7_999, 7),
            (0x80, 2, 2_000_000_000),
            (0x81, 3, 1_500_000_000),
            (0x9e, 1 << 30, 1_000_000_000),
            (127, 1 << 63, 0),
            (0xff, u64::MAX, 0),
            (0, u64::MAX, u64::MAX),
        ] {
            assert_eq!(Resolution::new(octet).nanoseconds(units), nanoseconds, "{octet:#x}");
        }
    }
}
