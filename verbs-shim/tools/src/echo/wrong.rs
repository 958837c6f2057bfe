//! What a caller of the echo program finds wrong.

use std::fmt;

use rpcrdma_verbs::ReplyError;

/// What is wrong with a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// It has no results.
    Reply(ReplyError),
    /// The results end early, or something follows them; the octets of the results.
    Results(usize),
    /// It claims or has this many octets.
    Length(u32),
    /// The first octet of the data that differs.
    Octet(usize),
    /// The server has received something else: its CRC.
    Checksum(u32),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(error) => error.fmt(f),
            Self::Results(length) => write!(f, "{length} octets of results are not what the procedure returns"),
            Self::Length(length) => write!(f, "{length} octets of data, which is not what was asked for"),
            Self::Octet(at) => write!(f, "octet {at} of the data is wrong"),
            Self::Checksum(crc) => write!(f, "the server has received other data, with the CRC {crc:#010x}"),
        }
    }
}

impl std::error::Error for Wrong {}
