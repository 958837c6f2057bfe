//! Faults found by a caller of the echo program.

use std::fmt;

use rpcrdma_verbs::ReplyError;

/// Fault of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// The reply has no results.
    Reply(ReplyError),
    /// The results end early, or too late; their length in octets.
    Results(usize),
    /// The data claims or has this length.
    Length(u32),
    /// Index of the first octet of the data that differs.
    Octet(usize),
    /// The CRC of the server shows that other octets have arrived.
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

impl std::error::Error for Wrong {
    /// The cause of the error whose text this error has.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Reply(error) => error.source(),
            _ => None,
        }
    }
}
