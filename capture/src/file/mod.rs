//! From a file to frames: pcap and pcapng, also compressed with gzip or Zstandard.
//!
//! [`Reader`] reads one file, [`Capture`] several as one capture. Both are streams: they need no seeking, give every frame
//! as soon as its last octet arrived, and keep one buffer of some hundred kilobytes.
//!
//! The record headers of both formats are a few fixed words, so they are read here directly. The packages for it were
//! tried and left: `pcap-file` 2.0 refuses frames the capture cut, and `pcap-parser` leaves to its caller what is most of
//! the work (refilling, time resolutions, sections, the offset of what is damaged) and builds a block for each frame.

mod buffer;
mod capture;
mod compression;
mod error;
mod foreign;
mod pcap;
mod pcapng;
mod reader;

pub use capture::{Capture, Files};
pub use error::{FileError, Problem};
pub use reader::Reader;

use core::fmt;

/// Nanoseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A link-layer header type, as registered for pcap and pcapng files (`LINKTYPE_…`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

/// One record of a capture file: what was on the wire at one time.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// 1-based, counted through all files of the capture.
    pub number: u64,
    /// When it was captured.
    pub time: Time,
    /// What `data` begins with.
    pub link: LinkType,
    /// The octets that were captured.
    pub data: &'a [u8],
    /// Octets the frame had on the wire; more than `data` holds where the capture cut it (snaplen).
    pub length: u32,
}
