//! A frame of a capture.

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
    /// Counted from 1, through all files of the capture.
    pub number: u64,
    /// When it was captured.
    pub time: Time,
    /// The header that `data` begins with.
    pub link: LinkType,
    /// The octets that were captured.
    pub data: &'a [u8],
    /// Octets the frame had on the wire; more than `data` holds if the capture cut the frame (snaplen).
    pub length: u32,
}

/// A [`Frame`] with octets of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedFrame {
    /// As in [`Frame`].
    pub number: u64,
    /// As in [`Frame`].
    pub time: Time,
    /// As in [`Frame`].
    pub link: LinkType,
    /// As in [`Frame`].
    pub data: Vec<u8>,
    /// As in [`Frame`].
    pub length: u32,
}

impl OwnedFrame {
    /// The same, borrowed.
    #[must_use]
    pub fn as_frame(&self) -> Frame<'_> {
        let Self { number, time, link, ref data, length } = *self;
        Frame { number, time, link, data, length }
    }
}

impl From<&Frame<'_>> for OwnedFrame {
    fn from(frame: &Frame<'_>) -> Self {
        let Frame { number, time, link, data, length } = *frame;
        Self { number, time, link, data: data.to_vec(), length }
    }
}
