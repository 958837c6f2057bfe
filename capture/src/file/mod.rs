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
mod frame;
mod pcap;
mod pcapng;
mod reader;
mod record;

pub use capture::{Capture, Files};
pub use error::{FileError, Problem};
pub use frame::{Frame, LinkType, Time};
pub use reader::Reader;
