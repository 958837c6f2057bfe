//! Version and wire format of a connection.

use core::fmt;

use crate::v2::Family;

/// Version and wire format of a connection, which never change on one connection (version two draft -01, "Initial
/// Connection State"; -07 section 4.3).
///
/// The feature `version-2` adds a variant. [`Self::family`] tells the versions apart with and without that feature:
///
/// ```
/// use rpcrdma::endpoint::Version;
/// use rpcrdma::v2::Family;
///
/// let fixed_words = |version: Version| match version.family() {
///     None | Some(Family::B) => 4,
///     Some(Family::A) => 5,
/// };
/// assert_eq!(fixed_words(Version::One), 4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Version {
    /// Version 1 (RFC 8166).
    #[default]
    One,
    /// Version 2, in one of two formats.
    #[cfg(feature = "version-2")]
    Two(Family),
}

impl Version {
    /// Returns the format of version 2. Without the feature `version-2` this is always `None`, and the code of the
    /// endpoints for version 2 is left out of a program.
    #[inline(always)]
    #[must_use]
    pub const fn family(self) -> Option<Family> {
        match self {
            Self::One => None,
            #[cfg(feature = "version-2")]
            Self::Two(family) => Some(family),
        }
    }
}

/// Proof that a connection uses version 2. Without the feature `version-2` there is no such value, so the compiler
/// leaves out code that needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpeaksTwo {
    #[cfg(feature = "version-2")]
    Yes,
}

impl Version {
    /// Returns [`Self::family`], and the proof that there is one.
    #[inline(always)]
    pub(super) const fn two(self) -> Option<(Family, SpeaksTwo)> {
        match self {
            Self::One => None,
            #[cfg(feature = "version-2")]
            Self::Two(family) => Some((family, SpeaksTwo::Yes)),
        }
    }
}

/// The name on command lines: `1`, `2a` or `2b`.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.family() {
            None => "1",
            Some(Family::A) => "2a",
            Some(Family::B) => "2b",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn each_version_has_its_name_on_command_lines() {
        assert_eq!(Version::One.to_string(), "1");
        #[cfg(feature = "version-2")]
        assert_eq!([Family::A, Family::B].map(|family| Version::Two(family).to_string()), ["2a", "2b"]);
    }
}
