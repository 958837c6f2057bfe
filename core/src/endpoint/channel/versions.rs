//! Versions that an end supports.

use crate::endpoint::Version;
use crate::v2::Family;
use crate::{v1, v2};

bitflags::bitflags! {
    /// The versions that a client may begin with, or that a server accepts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Versions: u8 {
        /// Version 1.
        const ONE = 1;
        /// Version 2 in the format of family A.
        const TWO_A = 2;
        /// Version 2 in the format of family B.
        const TWO_B = 4;
    }
}

/// This version and no other.
impl From<Version> for Versions {
    fn from(version: Version) -> Self {
        match version {
            Version::One => Self::ONE,
            Version::Two(Family::A) => Self::TWO_A,
            Version::Two(Family::B) => Self::TWO_B,
        }
    }
}

/// Lowest and highest version of an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct VersionRange {
    pub(super) low: u32,
    pub(super) high: u32,
}

impl Versions {
    /// Returns the version that a client begins with: version 2 if supported, in the format of the latest draft.
    #[must_use]
    pub const fn offered(self) -> Version {
        if self.contains(Self::TWO_B) {
            Version::Two(Family::B)
        } else if self.contains(Self::TWO_A) {
            Version::Two(Family::A)
        } else {
            Version::One
        }
    }

    pub(super) const fn range(self) -> VersionRange {
        let has_2 = self.intersects(Self::TWO_A.union(Self::TWO_B));
        let low = if self.contains(Self::ONE) { v1::VERSION } else { v2::VERSION };
        VersionRange { low, high: if has_2 { v2::VERSION } else { v1::VERSION } }
    }

    /// Returns the range to answer when `version` is refused, without that version: version 2 in a format that this end
    /// does not support is refused like an unknown version.
    pub(super) const fn range_without(self, version: u32) -> VersionRange {
        match (version, self.contains(Self::ONE)) {
            (v2::VERSION, _) => VersionRange { low: v1::VERSION, high: v1::VERSION },
            (_, true) => self.range(),
            (_, false) => VersionRange { low: v2::VERSION, high: v2::VERSION },
        }
    }

    /// Returns the format of a first message of version 2, if this end supports that format. If this end supports both
    /// and nothing in the message tells, returns the format of the latest draft. An end with one format and no other
    /// version returns that format: nothing could carry a refusal.
    pub(super) fn format_of(self, octets: &[u8]) -> Option<Family> {
        let families = [(Self::TWO_B, Family::B), (Self::TWO_A, Family::A)];
        let shown = Family::detect(octets);
        let mut spoken = families.into_iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, family)| family);
        let only = spoken.clone().next().filter(|_| !self.contains(Self::ONE));
        spoken.find(|family| shown.is_none_or(|shown| shown == *family)).or(only)
    }
}
