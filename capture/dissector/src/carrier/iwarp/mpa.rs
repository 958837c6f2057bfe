//! MPA: the frames that set a connection up, and FPDUs (RFC 5044, RFC 6581).
//!
//! ```text
//! setup frame                                  FPDU
//!  0  "MPA ID Req Frame" or "MPA ID Rep Frame"   0  ULPDU_Length: without pad and CRC
//! 16  M, C, R, S, reserved                       2  ULPDU
//! 17  revision                                      pad to a multiple of 4
//! 18  length of private data                        CRC, least significant octet first
//! 20  private data
//! ```
//! If markers are in use, there is one at every 512th octet of the stream, beginning with the first after the setup
//! frame: two octets of zero, then the distance from the previous ULPDU_Length, which is zero between two FPDUs.

use crc::{CRC_32_ISCSI, Crc, Table};

use crate::carrier::connection::Consumer;

/// Beginning of a request.
const REQUEST: [u8; 16] = *b"MPA ID Req Frame";
/// Beginning of a reply.
const REPLY: [u8; 16] = *b"MPA ID Rep Frame";
const SETUP_LEN: usize = 20;
const MARKERS: u8 = 0x80;
const CRC: u8 = 0x40;
const REJECTED: u8 = 0x20;
/// Private data begins with two words about RDMA Reads (RFC 6581 section 6).
const ENHANCED: u8 = 0x10;
/// The most octets of private data (RFC 5044 section 7.1.1).
const PRIVATE_DATA: usize = 512;

/// Octets from one marker to the next.
const MARKER_SPACING: u64 = 512;
const MARKER_LEN: usize = 4;
/// Octets of a ULPDU_Length.
pub const LENGTH_LEN: usize = 2;
/// Octets of a CRC.
pub const CRC_LEN: usize = 4;

static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// A frame that sets a connection up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup<'a> {
    /// True for a reply; false for a request.
    pub is_reply: bool,
    /// M: the receiver of the frame must put markers into sent data.
    pub markers: bool,
    /// C: the sender wants CRCs. CRCs are in force if either end wants them.
    pub crc: bool,
    /// R: the connection is refused.
    pub rejected: bool,
    /// The revision.
    pub revision: u8,
    /// The IRD and ORD words, with their flags, of an enhanced frame (RFC 6581 section 6).
    pub reads: Option<[u16; 2]>,
    /// The consumer's private data.
    pub private_data: Consumer<'a>,
}

impl<'a> Setup<'a> {
    /// Octets before the private data.
    pub const LEN: usize = SETUP_LEN;

    /// Returns true if a stream that begins with `octets` begins with a setup frame.
    #[inline]
    #[must_use]
    pub fn is_begun_by(octets: &[u8]) -> bool {
        octets.first_chunk().is_some_and(|key| [REQUEST, REPLY].contains(key))
    }

    /// Octets of the frame that `octets` begins with; `None` for other octets, and for an incomplete header.
    #[must_use]
    pub fn length(octets: &[u8]) -> Option<usize> {
        let [.., l0, l1] = *octets.first_chunk::<SETUP_LEN>()?;
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        (Self::is_begun_by(octets) && length <= PRIVATE_DATA).then_some(Self::LEN + length)
    }

    /// Reads the frame that `octets` begins with; `None` for other octets, and for an incomplete header.
    #[must_use]
    pub fn decode(octets: &'a [u8]) -> Option<Self> {
        let length = Self::length(octets)?;
        let is_cut = octets.len() < length;
        let (header, private_data) = octets.get(..length).unwrap_or(octets).split_first_chunk::<SETUP_LEN>()?;
        let [key @ .., flags, revision, _, _] = header;
        let enhanced = *revision >= 2 && flags & ENHANCED != 0;
        let words = private_data.split_first_chunk().filter(|_| enhanced);
        let (reads, private_data) = match words {
            Some(([i0, i1, o0, o1], rest)) => {
                (Some([u16::from_be_bytes([*i0, *i1]), u16::from_be_bytes([*o0, *o1])]), rest)
            }
            // The words themselves are cut.
            None if enhanced && is_cut => (None, &[][..]),
            None => (None, private_data),
        };
        Some(Self {
            is_reply: *key == REPLY,
            markers: flags & MARKERS != 0,
            crc: flags & CRC != 0,
            rejected: flags & REJECTED != 0,
            revision: *revision,
            reads,
            private_data: Consumer { octets: private_data, is_cut },
        })
    }
}

/// Positions of the markers of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markers {
    /// The stream has no markers.
    None,
    /// Markers begin at this place in the stream, 512 octets apart.
    At(u64),
}

impl Markers {
    /// Octets from `place` to the next marker; `None` if there are none.
    #[must_use]
    pub const fn next(self, place: u64) -> Option<usize> {
        match self {
            Self::None => None,
            Self::At(marker) => Some((marker.wrapping_sub(place) % MARKER_SPACING) as usize),
        }
    }

    /// Octets that `content` octets take in the stream from `place` on. A marker after the last belongs to what
    /// follows.
    const fn length(self, place: u64, content: usize) -> usize {
        match self.next(place) {
            Some(before) if before < content => {
                let between = MARKER_SPACING as usize - MARKER_LEN;
                content + MARKER_LEN * (1 + (content - before - 1) / between)
            }
            _ => content,
        }
    }

    /// Octets before the ULPDU_Length of an FPDU that begins at `place`.
    const fn before(self, place: u64) -> usize {
        match self.next(place) {
            Some(0) => MARKER_LEN,
            _ => 0,
        }
    }

    /// Octets of the stream taken by the FPDU that begins with `octets` at `place`; `None` if the length field is
    /// missing.
    #[must_use]
    pub fn fpdu_length(self, place: u64, octets: &[u8]) -> Option<usize> {
        let (length, _) = octets.get(self.before(place)..)?.split_first_chunk()?;
        let ulpdu = usize::from(u16::from_be_bytes(*length));
        Some(self.length(place, (LENGTH_LEN + ulpdu).next_multiple_of(4) + CRC_LEN))
    }

    /// The markers in `octets`, which begin at `place`: the offset and the content of each.
    pub fn iter(self, place: u64, octets: &[u8]) -> impl Iterator<Item = (usize, [u8; MARKER_LEN])> + '_ {
        let first = self.next(place).unwrap_or(usize::MAX);
        let places = core::iter::successors(Some(first), |at| at.checked_add(MARKER_SPACING as usize));
        places.map_while(|at| octets.get(at..)?.first_chunk().map(|marker| (at, *marker)))
    }

    /// Returns true if each marker in the FPDU `octets`, which begins at `place`, says where the FPDU begins.
    #[must_use]
    pub fn are_right(self, place: u64, octets: &[u8]) -> bool {
        let before = self.before(place);
        self.iter(place, octets).all(|(at, marker)| {
            let back = u16::try_from(at.saturating_sub(before)).unwrap_or_default().to_be_bytes();
            marker == [0, 0, back[0], back[1]]
        })
    }

    /// The content of `octets`, which begin at `place`, without markers; `room` is scratch space.
    #[must_use]
    pub fn without<'a>(self, place: u64, octets: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
        let Some(first) = self.next(place).filter(|first| *first < octets.len()) else { return octets };
        let (before, mut rest) = octets.split_at_checked(first).unwrap_or((octets, &[]));
        room.clear();
        room.extend_from_slice(before);
        while !rest.is_empty() {
            let end = rest.len().min(MARKER_SPACING as usize);
            room.extend_from_slice(rest.get(MARKER_LEN..end).unwrap_or_default());
            rest = rest.get(end..).unwrap_or_default();
        }
        room
    }
}

/// Returns the captured part of the ULPDU in the content of an FPDU, and the length of the ULPDU.
#[must_use]
pub fn ulpdu(content: &[u8]) -> Option<(&[u8], usize)> {
    let (length, rest) = content.split_first_chunk()?;
    let length = usize::from(u16::from_be_bytes(*length));
    Some((rest.get(..length).unwrap_or(rest), length))
}

/// Returns the CRC of an FPDU, in the octet order of the wire: a checksum of all earlier octets.
#[must_use]
pub fn crc(covered: &[u8]) -> [u8; CRC_LEN] {
    CRC32C.checksum(covered).to_le_bytes()
}

/// Returns true if the CRC at the end of a whole FPDU is right. The CRC covers markers too (RFC 5044 section 4.4).
#[must_use]
pub fn crc_is_right(fpdu: &[u8]) -> bool {
    fpdu.split_last_chunk().is_some_and(|(covered, last)| crc(covered) == *last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5044 figure 5: an FPDU after a marker.
    fn figure_5() -> Vec<u8> {
        let header = [0, 0, 0, 0, 0, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        [&header[..], &[0; 24], &[0x52, 0x23, 0x99, 0x83]].concat()
    }

    /// RFC 5044 figure 6: an FPDU with a marker at octet 20.
    fn figure_6() -> Vec<u8> {
        let header = [0, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x14];
        [&header[..], &[0; 24], &[0x84, 0x92, 0x58, 0x98]].concat()
    }

    #[test]
    fn every_changed_octet_makes_the_figures_of_rfc_5044_wrong() {
        for (mut fpdu, place) in [(figure_5(), 0), (figure_6(), 0x1ec)] {
            let markers = Markers::At(0);
            assert_eq!(markers.fpdu_length(place, &fpdu), Some(fpdu.len()));
            assert!(crc_is_right(&fpdu) && markers.are_right(place, &fpdu));
            let mut room = Vec::new();
            let content = markers.without(place, &fpdu, &mut room).to_vec();
            assert_eq!(content.len(), 48);
            let (ulpdu, length) = ulpdu(&content).unwrap();
            assert_eq!((ulpdu.len(), length, &ulpdu[..2]), (42, 42, &[0x41, 0x43][..]));
            for at in 0..fpdu.len() {
                fpdu[at] ^= 0x20;
                assert!(!crc_is_right(&fpdu), "octet {at}");
                fpdu[at] ^= 0x20;
            }
            for at in markers.iter(place, &fpdu.clone()).flat_map(|(at, _)| at..at + 4) {
                fpdu[at] ^= 0x20;
                assert!(!markers.are_right(place, &fpdu));
                fpdu[at] ^= 0x20;
            }
        }
    }

    #[test]
    fn markers_are_counted_as_they_are_taken_out() {
        let mut room = Vec::new();
        for place in (0..512).step_by(4) {
            for content in (24..1600).step_by(4) {
                let markers = Markers::At(0);
                // Octet by octet: whatever is at a marker's place is a marker.
                let (mut raw, mut left) = (Vec::new(), content);
                while left > 0 {
                    if (place + raw.len() as u64).is_multiple_of(512) {
                        raw.extend([0xee; 4]);
                    }
                    raw.push((content - left) as u8);
                    left -= 1;
                }
                assert_eq!(markers.length(place, content), raw.len(), "{content} octets at {place}");
                let expected: Vec<u8> = (0..content).map(|octet| octet as u8).collect();
                assert!(markers.without(place, &raw, &mut room) == expected, "{content} octets at {place}");
            }
        }
    }

    const fn whole(octets: &[u8]) -> Consumer<'_> {
        Consumer { octets, is_cut: false }
    }

    #[test]
    fn private_data_of_a_cut_setup_frame_is_not_absent() {
        let request = [&b"MPA ID Req Frame"[..], &[0x10, 2, 0, 6, 0x80, 0x20, 0x40, 0x10, 8, 9]].concat();
        for length in Setup::LEN..request.len() {
            let setup = Setup::decode(&request[..length]).unwrap();
            let octets = request.get(24..length).unwrap_or_default();
            assert_eq!(setup.private_data, Consumer { octets, is_cut: true }, "{length}");
            assert_eq!(setup.reads.is_some(), length >= 24, "{length}");
        }
        assert_eq!(Setup::decode(&request).unwrap().private_data, whole(&[8, 9]));
    }

    #[test]
    fn set_up_frames_of_both_revisions_are_read() {
        let reply = [&b"MPA ID Rep Frame"[..], &[0xe0, 1, 0, 3, 7, 8, 9]].concat();
        let setup = Setup::decode(&reply).unwrap();
        assert_eq!((setup.is_reply, setup.markers, setup.crc, setup.rejected), (true, true, true, true));
        assert_eq!((setup.revision, setup.reads, setup.private_data), (1, None, whole(&[7, 8, 9])));
        let request = [&b"MPA ID Req Frame"[..], &[0x10, 2, 0, 5, 0x80, 0x20, 0x40, 0x10, 9]].concat();
        let setup = Setup::decode(&request).unwrap();
        assert_eq!((setup.is_reply, setup.markers, setup.crc, setup.rejected), (false, false, false, false));
        assert_eq!((setup.revision, setup.reads, setup.private_data), (2, Some([0x8020, 0x4010]), whole(&[9])));
        // In revision 1 the bit means nothing.
        let old = [&request[..17], &[1], &request[18..]].concat();
        assert_eq!(Setup::decode(&old).unwrap().private_data.octets.len(), 5);
    }

    #[test]
    fn what_is_no_set_up_frame_is_refused() {
        let frame = [&b"MPA ID Req Frame"[..], &[0, 1, 0, 0]].concat();
        for length in 0..frame.len() {
            assert_eq!(Setup::decode(&frame[..length]), None);
        }
        let mut long = frame.clone();
        long[18] = 3;
        assert_eq!(Setup::decode(&long), None, "768 octets of private data");
        let mut other = frame;
        other[8] = b'r';
        assert_eq!(Setup::decode(&other), None);
    }
}
