//! Why a connection is over.

use std::fmt;

use crate::verbs::{Error, Kind, Status};

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// This side has ended it.
    Here,
    /// The other side has ended it, or no longer knows of it.
    Peer,
    /// Something that was posted failed.
    Failed(Kind, Status),
    /// The other side does what RPC-over-RDMA does not allow, or memory could not be fenced otherwise.
    Protocol,
    /// The reply to a call that was given up has not come within [`SettingsBuilder::grace`](crate::SettingsBuilder::grace).
    Unanswered,
    /// The adapter refused something.
    Refused(Error),
}

impl std::error::Error for Ended {}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str("this side ended it"),
            Self::Peer => f.write_str("the other side ended it"),
            Self::Failed(kind, status) => write!(f, "{kind} failed: {status}"),
            Self::Protocol => f.write_str("the other side broke the protocol"),
            Self::Unanswered => f.write_str("a call that was given up was not answered"),
            Self::Refused(error) => write!(f, "the adapter refused: {error}"),
        }
    }
}
