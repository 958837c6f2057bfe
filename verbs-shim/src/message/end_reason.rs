//! Reasons for the end of a connection.

use std::fmt;

use rpcrdma::endpoint::InputError;

use crate::verbs::{Error, Kind, Status};

/// Reason for the end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// This side has ended the connection.
    Here,
    /// The other side has ended the connection, or no longer knows the connection.
    Peer,
    /// This side's adapter was removed.
    Removed,
    /// A work request or a receive failed.
    Failed(Kind, Status),
    /// The other side broke the rules of RPC-over-RDMA.
    PeerFault(PeerFault),
    /// This side failed: neither the other side nor the application is to blame.
    Internal(InternalFault),
    /// The other side has not acknowledged anything for too long
    /// ([`SettingsBuilder::keep_alive`](crate::SettingsBuilder::keep_alive)).
    Silent,
    /// The reply to a given-up call has not come within [`SettingsBuilder::grace`](crate::SettingsBuilder::grace).
    Unanswered,
    /// The adapter refused an operation.
    Refused(Error),
}

/// Violation of RPC-over-RDMA by the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerFault {
    /// The other side had more calls in flight than granted credits (RFC 8166 section 3.3.1).
    CreditExceeded,
    /// A reply invalidated memory of another call, or any memory although not both sides had announced support (RFC
    /// 8797 section 4.1).
    ReplyInvalidated,
    /// A call invalidated memory, which only a reply may do (RFC 8797 section 4.1).
    CallInvalidated,
}

/// Failure of this side: a bug of this library or of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InternalFault {
    /// A Requester or Responder got an unexpected input.
    Input(InputError),
    /// A header does not fit a Send.
    Header,
    /// An item named by a Requester or Responder does not exist.
    Missing,
}

impl EndReason {
    /// An item named by a Requester or Responder does not exist.
    pub(crate) const MISSING: Self = Self::Internal(InternalFault::Missing);

    /// Advice for a user, if there is any.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Removed => Error::Removed.advice(),
            Self::Refused(error) => error.advice(),
            Self::Failed(_, Status::PortDown) => Error::PortDown.advice(),
            Self::Silent | Self::Failed(_, Status::NoAnswer) => {
                Some("is the other host up, and does the network still lead to it?")
            }
            _ => None,
        }
    }
}

impl From<InputError> for EndReason {
    fn from(error: InputError) -> Self {
        Self::Internal(InternalFault::Input(error))
    }
}

impl std::error::Error for EndReason {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::PeerFault(fault) => Some(fault),
            Self::Internal(fault) => Some(fault),
            Self::Refused(error) => Some(error),
            _ => None,
        }
    }
}

impl std::error::Error for PeerFault {}

impl std::error::Error for InternalFault {
    /// The text of [`Self::Input`] is the text of the inner error.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Input(error) => error.source(),
            Self::Header | Self::Missing => None,
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str("this side ended it"),
            Self::Peer => f.write_str("the other side ended it"),
            Self::Removed => f.write_str("this side's RDMA adapter was removed"),
            Self::Failed(kind, status) => write!(f, "{kind} failed: {status}"),
            Self::PeerFault(fault) => write!(f, "the other side broke the protocol: {fault}"),
            Self::Internal(fault) => write!(f, "this side failed: {fault}; please report this as a bug"),
            Self::Silent => f.write_str("the other side no longer acknowledges anything"),
            Self::Unanswered => f.write_str("a given-up call was not answered in time"),
            Self::Refused(error) => write!(f, "the adapter refused: {error}"),
        }
    }
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CreditExceeded => "more calls than it has credits for (RFC 8166 section 3.3.1)",
            Self::ReplyInvalidated => "a reply that invalidates memory that it may not (RFC 8797 section 4.1)",
            Self::CallInvalidated => "a call that invalidates memory (RFC 8797 section 4.1)",
        })
    }
}

impl fmt::Display for InternalFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Header => f.write_str("a header does not fit a Send"),
            Self::Missing => f.write_str("a requested item is missing"),
        }
    }
}
