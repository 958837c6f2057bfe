//! Answers of a server to calls that were not carried out.

use std::fmt;

use rpcrdma::rpc::{self, AcceptStatus, Denial, Mismatch, ReplyBody, RpcError};

/// Reason for a reply without results (RFC 5531 section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// The message does not begin with the header of a reply. This also stands for a missing reply.
    Malformed(RpcError),
    /// `PROG_MISMATCH`: the server has the program in these versions only.
    ProgramMismatch(Mismatch),
    /// The call was accepted but not carried out: `PROG_UNAVAIL`, `PROC_UNAVAIL`, `GARBAGE_ARGS`, `SYSTEM_ERR`, or a
    /// status that RFC 5531 does not name.
    NotCarriedOut(AcceptStatus),
    /// The call was denied: `RPC_MISMATCH` with the versions of RPC that the server has, or `AUTH_ERROR` with the
    /// reason for refusing the credentials.
    Denied(Denial),
}

/// Returns the results of a reply with a header.
pub(super) fn results(reply: &[u8]) -> Result<&[u8], ReplyError> {
    let (reply, results) = rpc::RpcReply::decode(reply).map_err(ReplyError::Malformed)?;
    match reply.body {
        ReplyBody::Accepted { status: AcceptStatus::SUCCESS, .. } => Ok(results),
        ReplyBody::Accepted { mismatch: Some(versions), .. } => Err(ReplyError::ProgramMismatch(versions)),
        ReplyBody::Accepted { status, .. } => Err(ReplyError::NotCarriedOut(status)),
        ReplyBody::Denied(denial) => Err(ReplyError::Denied(denial)),
    }
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "no RPC reply: {error}"),
            Self::ProgramMismatch(Mismatch { low, high }) => {
                write!(f, "the server answers PROG_MISMATCH: it has versions {low} to {high}")
            }
            Self::NotCarriedOut(status) => write!(f, "the server answers {status}"),
            Self::Denied(Denial::RpcMismatch(Mismatch { low, high })) => {
                write!(f, "the server denies the call: it has RPC versions {low} to {high}")
            }
            Self::Denied(Denial::AuthError(status)) => write!(f, "the server denies the call: {status}"),
        }
    }
}

impl std::error::Error for ReplyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            _ => None,
        }
    }
}
