//! The pcap format: a file header, then records.
//!
//! ```text
//! file header, 24 octets                       record header, 16 octets
//!  0  magic number: resolution, octet order     0  seconds
//!  4  version, major and minor                  4  microseconds or nanoseconds
//!  8  two unused words                          8  octets in the file
//! 16  snaplen                                  12  octets on the wire
//! 20  FCS length, flags, link type             16  the octets
//! ```
//! <https://datatracker.ietf.org/doc/html/draft-ietf-opsawg-pcap>
//!
//! Kuznetzov's patched libpcap wrote records with a longer header, which some devices still do: 8 more octets with the
//! interface, the ethertype and the direction.

use super::buffer::Buffer;
use super::error::{FileError, Problem};
use super::frame::{LinkType, Time};
use super::record::{OctetOrder, Record, check_length};

const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
/// Further octets of a record header in Kuznetzov's format.
const MORE_HEADER_LEN: usize = 8;
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const KUZNETZOV: u32 = 0xa1b2_cd34;
/// In the word with the link type: the top four bits are valid, and count the FCS at the end of each frame in units of
/// 16 bits.
const FCS_PRESENT: u32 = 0x0400_0000;

/// Fields of the file header.
#[derive(Clone)]
pub(super) struct Pcap {
    order: OctetOrder,
    /// Nanoseconds per unit of the second word of a record.
    unit: u64,
    link: LinkType,
    fcs_length: u32,
    /// Octets of a record header after the usual fields.
    more_header_length: usize,
}

/// Octet order, time unit and further octets of a record header of a file that begins with `magic`; `None` for other
/// files.
fn recognise(magic: [u8; 4]) -> Option<(OctetOrder, u64, usize)> {
    [OctetOrder::Little, OctetOrder::Big].into_iter().find_map(|order| match order.u32(magic) {
        MICROSECONDS => Some((order, 1000, 0)),
        NANOSECONDS => Some((order, 1, 0)),
        KUZNETZOV => Some((order, 1000, MORE_HEADER_LEN)),
        _ => None,
    })
}

impl Pcap {
    /// The file header, or none if the file has another format; then nothing is used.
    pub(super) fn open(buffer: &mut Buffer<'_>) -> Result<Option<Self>, FileError> {
        let recognised = buffer.available().first_chunk().and_then(|magic| recognise(*magic));
        let Some((order, unit, more_header_length)) = recognised else { return Ok(None) };
        if !buffer.fill(FILE_HEADER_LEN)? {
            return Err(FileError::new(0, Problem::EndsInside("the file header")));
        }
        let [.., a, b, c, d] = *buffer.available().first_chunk::<FILE_HEADER_LEN>().unwrap_or(&[0; FILE_HEADER_LEN]);
        let word = order.u32([a, b, c, d]);
        buffer.consume(FILE_HEADER_LEN);
        let fcs_length = if word & FCS_PRESENT != 0 { (word >> 28) * 2 } else { 0 };
        Ok(Some(Self { order, unit, link: LinkType(word & 0xffff), fcs_length, more_header_length }))
    }

    /// The next record; none at the end of the file.
    #[inline]
    pub(super) fn next(&mut self, buffer: &mut Buffer<'_>) -> Result<Option<Record>, FileError> {
        let offset = buffer.offset();
        if !buffer.fill(RECORD_HEADER_LEN)? {
            let left = buffer.available().is_empty();
            return if left { Ok(None) } else { Err(FileError::new(offset, Problem::EndsInside("a record"))) };
        }
        let (words, _) = buffer.available().as_chunks::<4>();
        let [seconds, fraction, captured, length, ..] = *words else { return Ok(None) };
        let [seconds, fraction, captured, length] =
            [seconds, fraction, captured, length].map(|word| self.order.u32(word));
        let count = check_length(captured, offset)?;
        let count = count.saturating_add(self.more_header_length);
        if !buffer.fill(RECORD_HEADER_LEN.saturating_add(count))? {
            return Err(FileError::new(offset, Problem::EndsInside("a record")));
        }
        buffer.consume(RECORD_HEADER_LEN);
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit;
        let mut data = buffer.consume(count);
        data.start = data.start.saturating_add(self.more_header_length);
        Ok(Some(Record { time: Time(time), link: self.link, data, length }.without_fcs(self.fcs_length)))
    }
}
