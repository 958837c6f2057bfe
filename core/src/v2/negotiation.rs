//! Version with which a client continues (version two draft -01, "Initial Connection State"; -07 section 4.3).
//!
//! ```text
//!  0     4      8       12        16      20      24     28     32
//! +-----+------+--------+---------+-------+-------+------+------+
//! | xid | vers | credit | 4 ERROR | 1 VERS| low   | high |           version 1, and family B of version 2
//! | xid | vers | credit | 4 ERROR | flags | 1 VERS| low  | high |    family A of version 2
//! +-----+------+--------+---------+-------+-------+------+------+
//! ```
//!
//! The first word after the four is 1 in both, as the flags are `RDMA2_F_RESPONSE`. Only the length tells the two
//! layouts apart.

use super::{ErrorBodyV2, ErrorReplyV2, Family, VERSION};
use crate::v1;

/// Maximum length of a client's first message in octets, because a version 1 server may receive it.
pub const FIRST_MESSAGE: usize = 1024;

/// An `ERR_VERS`: a version is refused, and others are offered.
///
/// ```
/// use rpcrdma::v2::{Family, Outcome, VersionRefusal};
///
/// // A server of version 1 refuses version 2.
/// let send = [0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 32, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1];
/// let refusal = VersionRefusal::decode(&send).unwrap();
/// assert_eq!((refusal.xid, refusal.version, refusal.low, refusal.high), (7, 2, 1, 1));
/// assert_eq!(refusal.layout, Family::B);
/// // A client that knows versions 1 and 2 goes on with 1; one that knows 2 only cannot.
/// assert_eq!(Outcome::Refused(refusal).next_version(1, 2), Some(1));
/// assert_eq!(Outcome::Refused(refusal).next_version(2, 2), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VersionRefusal {
    /// `rdma_xid`: of the message that was refused.
    pub xid: u32,
    /// `rdma_vers`: of the message that was refused. (RFC 5666 section 4.2 let a server put any version here.)
    pub version: u32,
    /// `rdma_vers_low`: the lowest version the server supports.
    pub low: u32,
    /// `rdma_vers_high`: the highest.
    pub high: u32,
    /// Its layout; [`Family::B`] is also the layout of version 1.
    pub layout: Family,
}

impl VersionRefusal {
    /// Reads an `ERR_VERS` in either layout; `None` if the Send is something else. An `ERR_VERS` has 28 octets, or 32
    /// in the layout of family A; with any other length the meaning of the words is unknown.
    #[must_use]
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let layout = match octets.len() {
            28 => Family::B,
            32 => Family::A,
            _ => return None,
        };
        let (reply, _) = ErrorReplyV2::decode(layout, octets).ok()?;
        let ErrorBodyV2::Vers { low, high } = reply.error() else { return None };
        Some(Self { xid: reply.prefix().xid, version: reply.prefix().version, low, high, layout })
    }
}

/// The outcome of a client's first message, sent with version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The server answered with version 2.
    Accepted,
    /// The server refused the version.
    Refused(VersionRefusal),
    /// Nothing came back, or the connection was lost, even after a refusal. A widely used version 1 server drops other
    /// versions silently.
    Lost,
}

impl Outcome {
    /// Returns the version that a client continues with if the client supports versions `low` to `high`: the highest
    /// version that both support and that was not just refused; version 1 after silence. `None` if there is none.
    ///
    /// From then on the connection keeps its version.
    #[must_use]
    pub fn next_version(&self, low: u32, high: u32) -> Option<u32> {
        let next = match *self {
            Self::Accepted => VERSION,
            Self::Lost => v1::VERSION,
            Self::Refused(refusal) => {
                let highest = high.min(refusal.high);
                // A range with the refused version in it is a contradiction; even so, that version must not be sent
                // again.
                let next = if highest == VERSION { highest.saturating_sub(1) } else { highest };
                if next < refusal.low {
                    return None;
                }
                next
            }
        };
        (low..=high).contains(&next).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [u8; 32] =
        [0, 0, 0, 7, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3];

    #[test]
    fn the_length_tells_the_layout() {
        let refusal = VersionRefusal { xid: 7, version: 2, low: 1, high: 3, layout: Family::A };
        assert_eq!(VersionRefusal::decode(&A), Some(refusal));
        assert_eq!(VersionRefusal::decode(&A[..28]), Some(VersionRefusal { high: 1, layout: Family::B, ..refusal }));
        for length in (0..28).chain(29..32) {
            assert_eq!(VersionRefusal::decode(&A[..length]), None);
        }
        let mut other = A;
        other[23] = 2; // BAD_XDR
        assert_eq!(VersionRefusal::decode(&other), None);
    }

    #[test]
    fn the_highest_version_of_both_is_next() {
        let refused = |low, high| Outcome::Refused(VersionRefusal { xid: 7, version: 2, low, high, layout: Family::B });
        for (outcome, own, next) in [
            (refused(1, 1), (1, 2), Some(1)),
            (refused(1, 1), (2, 2), None),
            (refused(3, 9), (1, 4), Some(4)),
            (refused(3, 9), (1, 2), None),
            (refused(1, 2), (1, 2), Some(1)),
            (refused(2, 2), (1, 2), None),
            (refused(9, 1), (1, 4), None),
            (refused(0, u32::MAX), (0, u32::MAX), Some(u32::MAX)),
            (Outcome::Accepted, (1, 2), Some(2)),
            (Outcome::Lost, (1, 2), Some(1)),
            (Outcome::Lost, (2, 2), None),
        ] {
            assert_eq!(outcome.next_version(own.0, own.1), next, "{outcome:?} {own:?}");
        }
    }
}
