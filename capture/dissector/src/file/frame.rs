//! A frame of a capture.

use core::fmt;

/// Nanoseconds since 1970-01-01 00:00 UTC, or in a kernel trace since the kernel booted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// Beginning of the times of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeBase {
    /// 1970-01-01 00:00 UTC.
    #[default]
    Utc,
    /// Boot of the kernel, as in kernel traces.
    Boot,
}

impl TimeBase {
    /// Name of the base.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Utc => "utc",
            Self::Boot => "boot",
        }
    }
}

impl Time {
    /// Returns the nanoseconds from another time to this one: less than 0 if this one is earlier.
    pub(crate) const fn nanoseconds_after(self, other: Self) -> i64 {
        self.0.cast_signed().wrapping_sub(other.0.cast_signed())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A link-layer header type, as registered for pcap and pcapng files (`LINKTYPE_…`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinkType(pub u32);

impl LinkType {
    /// Link type of a line of a kernel trace: a number beyond the 16 bits that capture files have.
    pub const KERNEL_TRACE: Self = Self(u32::MAX);
}

/// One record of a capture file: what was on the wire at one time.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Counted from 1, through all files of the capture.
    pub number: u64,
    /// Time of capture.
    pub time: Time,
    /// The header that `data` begins with.
    pub link: LinkType,
    /// The octets that were captured.
    pub data: &'a [u8],
    /// Octets the frame had on the wire; more than `data` holds if the capture cut the frame (snaplen).
    pub length: u32,
}

impl Frame<'_> {
    /// Returns the beginning of the times of the capture.
    #[must_use]
    pub fn time_base(&self) -> TimeBase {
        if self.link == LinkType::KERNEL_TRACE { TimeBase::Boot } else { TimeBase::Utc }
    }
}
