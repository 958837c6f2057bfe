//! Files of bare ERF records, written by Endace's tools and ibdump: no file header.
//!
//! ```text
//!  0  time: seconds since 1970, with a fraction of 32 bits, little-endian
//!  8  type: the top bit says that extension headers follow
//!  9  flags
//! 10  length of the record
//! 12  losses or colour
//! 14  length of the frame on the wire
//! 16  extension headers, and the frame
//! ```
//! Records are emitted whole, like those of a pcap file of this link type: `link/erf.rs` knows the rest. Nothing but
//! the records themselves shows that a file is one, so several in a row have to be plausible.

use super::buffer::Buffer;
use super::error::{FileError, Problem};
use super::frame::{LinkType, Time};
use super::record::Record;

const LINK_TYPE: LinkType = LinkType(197);
const HEADER_LEN: usize = 16;
const MORE: u8 = 0x80;

/// Types of Ethernet frames, which have 2 octets in front of the frame, and a check sequence of 4 octets.
const ETHERNET: [u8; 4] = [2, 11, 16, 20];
const ETHERNET_PAD_LEN: usize = 2;
const FCS_LEN: usize = 4;
/// Types that files with RDMA begin with: Ethernet, InfiniBand (also its link packets), IP, and descriptions of the
/// capture.
const TYPES: [u8; 9] = [2, 11, 16, 20, 21, 22, 23, 25, 27];

/// The number of records that have to be plausible, or all of the file.
const RECORDS: usize = 3;
/// 2000-01-01 and 2100-01-01 in seconds since 1970.
const SECONDS: core::ops::Range<u32> = 946_684_800..4_102_444_800;
/// The first records are no further apart than this many seconds.
const APART: u32 = 86_400;

/// The header of a record.
struct RecordHeader {
    seconds: u32,
    fraction: u32,
    kind: u8,
    length: usize,
    on_wire: usize,
}

impl RecordHeader {
    fn decode(octets: &[u8]) -> Option<Self> {
        let [f0, f1, f2, f3, s0, s1, s2, s3, kind, _, l0, l1, _, _, w0, w1] = *octets.first_chunk::<HEADER_LEN>()?;
        Some(Self {
            seconds: u32::from_le_bytes([s0, s1, s2, s3]),
            fraction: u32::from_le_bytes([f0, f1, f2, f3]),
            kind,
            length: usize::from(u16::from_be_bytes([l0, l1])),
            on_wire: usize::from(u16::from_be_bytes([w0, w1])),
        })
    }

    fn is_plausible(&self) -> bool {
        TYPES.contains(&(self.kind & !MORE)) && SECONDS.contains(&self.seconds) && self.length > HEADER_LEN
    }

    fn time(&self) -> Time {
        let fraction = (u64::from(self.fraction) * 1_000_000_000) >> 32;
        Time(u64::from(self.seconds) * 1_000_000_000 + fraction)
    }

    /// Returns the length in octets of the record with its whole frame; `record` is the captured part.
    fn whole_length(&self, record: &[u8]) -> usize {
        let mut headers = HEADER_LEN;
        let mut more = self.kind & MORE != 0;
        while more && headers < record.len() {
            more = record.get(headers).is_some_and(|first| first & MORE != 0);
            headers += 8;
        }
        let is_ethernet = ETHERNET.contains(&(self.kind & !MORE));
        // Some writers leave the check sequence out.
        let (pad, fcs) = if is_ethernet { (ETHERNET_PAD_LEN, FCS_LEN) } else { (0, 0) };
        record.len().max((headers + pad + self.on_wire).saturating_sub(fcs))
    }
}

/// Recognises the format; nothing is used.
#[cold]
pub(super) fn is_erf(buffer: &mut Buffer<'_>) -> Result<bool, FileError> {
    let (mut at, mut first) = (0, None);
    for _ in 0..RECORDS {
        if !buffer.fill(at + HEADER_LEN)? {
            // One record is plausible by chance, unless the file ends with it.
            return Ok(first.is_some() && buffer.available().len() == at);
        }
        let Some(header) = buffer.available().get(at..).and_then(RecordHeader::decode) else { return Ok(false) };
        let first = *first.get_or_insert(header.seconds);
        if !header.is_plausible() || header.seconds.abs_diff(first) > APART {
            return Ok(false);
        }
        at += header.length;
    }
    Ok(true)
}

/// The next record; none at the end of the file.
#[cold]
#[inline(never)]
pub(super) fn next(buffer: &mut Buffer<'_>) -> Result<Option<Record>, FileError> {
    let offset = buffer.offset();
    let ends_inside = || FileError::new(offset, Problem::EndsInside("a record"));
    buffer.fill(HEADER_LEN)?;
    if buffer.available().is_empty() {
        return Ok(None);
    }
    let header = RecordHeader::decode(buffer.available()).ok_or_else(ends_inside)?;
    if header.length < HEADER_LEN {
        return Err(FileError::new(offset, Problem::Damaged("a record is shorter than its header")));
    }
    if !buffer.fill(header.length)? {
        return Err(ends_inside());
    }
    let place = buffer.consume(header.length);
    let length = header.whole_length(buffer.at(place.clone())) as u32;
    Ok(Some(Record { time: header.time(), link: LINK_TYPE, data: place, length }))
}
