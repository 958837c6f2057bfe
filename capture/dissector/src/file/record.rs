//! A record of a capture file, of any format.

use core::ops::Range;

use super::error::{FileError, Problem};
use super::frame::{LinkType, Time};

/// A record larger than this is damage. Captures normally hold at most 262,144 octets per frame, and large-send offload
/// has produced frames of 512 KiB.
const RECORD_LIMIT: u32 = 16 << 20;

/// A frame whose octets are named by their place in the buffer.
#[derive(Default)]
pub(super) struct Record {
    pub(super) time: Time,
    pub(super) link: LinkType,
    pub(super) data: Range<usize>,
    pub(super) length: u32,
}

impl Record {
    /// Leaves out the frame check sequence, which the capture may have kept at the end of the frame.
    #[inline]
    pub(super) fn without_fcs(mut self, fcs_length: u32) -> Self {
        self.length = self.length.max(self.data.len() as u32).saturating_sub(fcs_length);
        self.data.end = self.data.end.min(self.data.start.saturating_add(self.length as usize));
        self
    }
}

/// The order of the octets in the words of a file.
#[derive(Clone, Copy)]
pub(super) enum OctetOrder {
    Little,
    Big,
}

impl OctetOrder {
    #[inline]
    pub(super) fn u32(self, octets: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(octets),
            Self::Big => u32::from_be_bytes(octets),
        }
    }

    #[inline]
    pub(super) fn u16(self, octets: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(octets),
            Self::Big => u16::from_be_bytes(octets),
        }
    }
}

/// Returns the size that a record at `offset` claims, unless the size is absurd.
#[inline]
pub(super) fn check_length(length: u32, offset: u64) -> Result<usize, FileError> {
    if length > RECORD_LIMIT { Err(FileError::new(offset, Problem::RecordLength(length))) } else { Ok(length as usize) }
}
