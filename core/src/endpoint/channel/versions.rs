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

impl Versions {
    /// Returns the version that a client begins with: version 2 if it can, in the format of the latest draft.
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

    /// The lowest and the highest.
    pub(super) const fn range(self) -> (u32, u32) {
        let has_2 = self.intersects(Self::TWO_A.union(Self::TWO_B));
        let low = if self.contains(Self::ONE) { v1::VERSION } else { v2::VERSION };
        (low, if has_2 { v2::VERSION } else { v1::VERSION })
    }

    /// The range to answer when `version` is refused. It never contains that version: version 2 in a format that is not
    /// spoken here is refused like one that is not known.
    pub(super) const fn refusing(self, version: u32) -> (u32, u32) {
        match (version, self.contains(Self::ONE)) {
            (v2::VERSION, _) => (v1::VERSION, v1::VERSION),
            (_, true) => self.range(),
            (_, false) => (v2::VERSION, v2::VERSION),
        }
    }

    /// The format of a first message of version 2, if that is spoken here. If both are, and nothing shows which it is, it is
    /// that of the latest draft. An end that speaks one format and nothing else has nothing to refuse the other with.
    pub(super) fn format_of(self, octets: &[u8]) -> Option<Family> {
        let families = [(Self::TWO_B, Family::B), (Self::TWO_A, Family::A)];
        let shown = Family::of(octets);
        let mut spoken = families.into_iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, family)| family);
        let only = spoken.clone().next().filter(|_| !self.contains(Self::ONE));
        spoken.find(|family| shown.is_none_or(|shown| shown == *family)).or(only)
    }
}
