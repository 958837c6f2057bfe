//! Version and wire format of a connection.

use core::fmt;

use crate::v2::Family;

/// The version of RPC-over-RDMA that a connection speaks, and in which format. It never changes on one connection
/// (version two draft -01, "Initial Connection State"; -07 section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Version {
    /// Version 1 (RFC 8166).
    #[default]
    One,
    /// Version 2, in one of its two formats.
    Two(Family),
}

/// As users name it: `1`, `2a` or `2b`.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "1",
            Self::Two(Family::A) => "2a",
            Self::Two(Family::B) => "2b",
        })
    }
}
