//! From a file to frames: pcap, pcapng, ERF and kernel traces, also compressed with gzip or Zstandard.
//!
//! [`Reader`] reads one file, [`Capture`] several as one capture. Both are streams: no seeking is needed, and one
//! buffer of a few hundred kilobytes is enough. A live stream yields every frame once the last octet has arrived;
//! frames of a file in disorder are sorted within a window (`sorter.rs`).
//!
//! The record headers of these formats are a few fixed words, read directly here. Existing packages were tried and
//! rejected: `pcap-file` 2.0 refuses frames that the capture cut, and `pcap-parser` leaves most of the work to its
//! caller (refilling, time resolutions, sections, the offset of damage) and builds a block for each frame.

mod buffer;
mod capture;
mod clock;
mod clock_bounds;
mod compression;
mod erf;
mod error;
mod foreign;
mod frame;
mod gzip;
mod kernel_trace;
mod order;
mod pcap;
mod pcapng;
mod reader;
mod record;
mod sorter;

pub use capture::{Capture, Files};
pub use clock::ClockSteps;
pub(crate) use clock::{SET_BACK, SetBacks};
pub use clock_bounds::ClockBounds;
pub use error::{FileError, Problem, RECORD_EVENTS};
pub use frame::{Frame, LinkType, Time, TimeBase};
pub(crate) use kernel_trace::{TraceEvent, TraceLine, decimal};
pub use order::{FirstFrame, first_frame, in_order};
pub use reader::Reader;
