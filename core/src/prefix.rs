//! The four words with which every RPC-over-RDMA message begins, in every version (RFC 8166 section 4.2).
//!
//! ```text
//!  0        4        8        12       16
//! +--------+--------+--------+--------+
//! |  xid   |  vers  | credit |  proc  |
//! +--------+--------+--------+--------+
//! ```
//!
//! The place and meaning of these words stay the same in later versions, so a receiver can answer an unknown version.

use core::fmt;

use crate::codes::named;
use crate::error::DecodeError;
use crate::sink::{Emit, Sink};

/// The fixed header fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// `rdma_xid`: the transaction ID, the same as in the RPC message (section 4.2.1).
    pub xid: u32,
    /// `rdma_vers`: the version of the transport protocol (section 4.2.2).
    pub version: u32,
    /// `rdma_credit`: credits requested in a Call, granted in a Reply (section 4.2.3).
    pub credit: u32,
    /// `rdma_proc`: what follows (section 4.2.4).
    pub procedure: Procedure,
}

/// `rdma_proc`; any number can be represented, with or without a meaning (RFC 8166 section 4.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Procedure(pub u32);

named! {
    #[inline]
    Procedure of "RFC 8166", prefix "", field "rdma_proc";

    /// Chunk lists, then the Payload stream.
    RDMA_MSG = 0,
    /// Chunk lists only: the Payload stream is in a chunk.
    RDMA_NOMSG = 1,
    /// Like [`Self::RDMA_MSG`], with padding before large items; not to be used (section 4.6.1).
    RDMA_MSGP = 2,
    /// The Requester has read the reply's chunks; not to be used (section 4.6.2).
    RDMA_DONE = 3,
    /// The header of a Call was in error (section 4.5).
    RDMA_ERROR = 4,
}

impl Prefix {
    /// Octets on the wire.
    pub const LEN: usize = 16;

    /// Reads the four words of a Send, of any version.
    ///
    /// # Errors
    /// [`DecodeErrorKind::HeaderShort`](crate::error::DecodeErrorKind::HeaderShort) if there are fewer than 16 octets.
    #[inline]
    pub const fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        match octets.first_chunk::<{ Self::LEN }>() {
            Some(octets) => Ok(Self::from_octets(octets)),
            None => Err(DecodeError::short(octets.len())),
        }
    }

    #[inline]
    pub(crate) const fn from_octets(octets: &[u8; Self::LEN]) -> Self {
        let [x0, x1, x2, x3, v0, v1, v2, v3, c0, c1, c2, c3, p0, p1, p2, p3] = *octets;
        Self {
            xid: u32::from_be_bytes([x0, x1, x2, x3]),
            version: u32::from_be_bytes([v0, v1, v2, v3]),
            credit: u32::from_be_bytes([c0, c1, c2, c3]),
            procedure: Procedure(u32::from_be_bytes([p0, p1, p2, p3])),
        }
    }
}

impl Emit for Prefix {
    #[inline]
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.xid);
        sink.word(self.version);
        sink.word(self.credit);
        sink.word(self.procedure.0);
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} xid {:#010x} version {} credit {}", self.procedure, self.xid, self.version, self.credit)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;
    use crate::error::DecodeErrorKind;

    #[test]
    fn a_later_version_has_the_same_four_words() {
        let octets = [0xa, 0xb, 0xc, 0xd, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 9, 0xff];
        let prefix = Prefix::decode(&octets).unwrap();
        assert_eq!(prefix, Prefix { xid: 0x0a0b_0c0d, version: 2, credit: 256, procedure: Procedure(9) });
        assert_eq!(prefix.to_string(), "rdma_proc 9 xid 0x0a0b0c0d version 2 credit 256");
    }

    #[test]
    fn fifteen_octets_are_not_enough() {
        let error = Prefix::decode(&[0; 15]).unwrap_err();
        assert_eq!((error.kind, error.offset), (DecodeErrorKind::HeaderShort, 12));
    }

    #[test]
    fn names_are_those_of_the_rfc() {
        assert_eq!(Procedure(0).to_string(), "RDMA_MSG");
        assert_eq!(Procedure(4).name(), Some("RDMA_ERROR"));
        assert_eq!(Procedure(5).name(), None);
    }
}
