//! The RPC header at the start of a Payload stream (RFC 5531 section 9).
//!
//! ```text
//!  0        4        8
//! +--------+--------+------------------------------------------------------------------------------+
//! |  xid   | 0 CALL | rpcvers, prog, vers, proc, credential, verifier                              | arguments ...
//! |  xid   | 1 REPLY| 0 accepted, verifier, status [, low, high of a PROG_MISMATCH]                | results ...
//! |  xid   | 1 REPLY| 1 denied, 0 RPC_MISMATCH, low, high   or  1 denied, 1 AUTH_ERROR, auth_stat  |
//! +--------+--------+------------------------------------------------------------------------------+
//! ```

mod auth;
mod call;
mod reply;

pub use auth::{Auth, AuthSys, AuthSysError, Flavor, GssCredential, GssProcedure, GssService};
pub use call::RpcCall;
pub use reply::{AcceptStatus, AuthStatus, Denial, Mismatch, ReplyBody, RpcReply};

use core::fmt;

use crate::reader::{EndOfInput, Reader};

/// `msg_type`: a Call or a Reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageType(pub u32);

impl MessageType {
    /// A request.
    pub const CALL: Self = Self(0);
    /// The answer to one.
    pub const REPLY: Self = Self(1);

    /// Returns the XID and the message type at the start of a Payload stream; `None` for fewer than 8 octets.
    ///
    /// This shows the direction of a message on a connection that is used both ways (RFC 8167 section 5).
    #[inline]
    #[must_use]
    pub const fn peek(payload: &[u8]) -> Option<(u32, Self)> {
        match payload.first_chunk::<8>() {
            Some(&[x0, x1, x2, x3, t0, t1, t2, t3]) => {
                Some((u32::from_be_bytes([x0, x1, x2, x3]), Self(u32::from_be_bytes([t0, t1, t2, t3]))))
            }
            None => None,
        }
    }
}

/// Reason why a Payload stream does not begin with a valid RPC header, and the offset of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RpcError {
    /// Kind of error.
    pub kind: RpcErrorKind,
    /// Octets from the start of the decoded octets to the invalid or incomplete item.
    pub offset: usize,
}

/// Kind of error in an RPC header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RpcErrorKind {
    /// The octets end within the header.
    Truncated,
    /// Neither a Call nor a Reply, or not the expected one.
    MessageType,
    /// A credential or verifier of more than 400 octets (RFC 5531 section 8.2).
    AuthLength,
    /// `reply_stat` is neither `MSG_ACCEPTED` nor `MSG_DENIED`.
    ReplyStatus,
    /// `reject_stat` is neither `RPC_MISMATCH` nor `AUTH_ERROR`.
    RejectStatus,
    /// An `AUTH_SYS` machine name of more than 255 octets, or more than 16 groups (RFC 5531 appendix A).
    AuthSysLength,
}

impl RpcErrorKind {
    /// Returns a name for programs, in snake case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::MessageType => "message_type",
            Self::AuthLength => "auth_length",
            Self::ReplyStatus => "reply_status",
            Self::RejectStatus => "reject_status",
            Self::AuthSysLength => "auth_sys_length",
        }
    }

    const fn explanation(self) -> &'static str {
        match self {
            Self::Truncated => "the RPC header ends early",
            Self::MessageType => "not the type of RPC message expected",
            Self::AuthLength => "a credential or verifier of more than 400 octets",
            Self::ReplyStatus => "an unknown reply_stat",
            Self::RejectStatus => "an unknown reject_stat",
            Self::AuthSysLength => "an AUTH_SYS name of more than 255 octets, or more than 16 groups",
        }
    }
}

impl RpcError {
    const fn new(kind: RpcErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }
}

impl From<EndOfInput> for RpcError {
    #[inline]
    fn from(end: EndOfInput) -> Self {
        Self::new(RpcErrorKind::Truncated, end.offset)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "octet {}: {}", self.offset, self.kind.explanation())
    }
}

impl core::error::Error for RpcError {}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::CALL => f.write_str("CALL"),
            Self::REPLY => f.write_str("REPLY"),
            Self(other) => write!(f, "msg_type {other}"),
        }
    }
}

/// Returns the XID of a message of type `expected`.
#[inline]
fn message(reader: &mut Reader<'_>, expected: MessageType) -> Result<u32, RpcError> {
    let xid = reader.u32()?;
    let offset = reader.offset();
    if reader.u32()? == expected.0 { Ok(xid) } else { Err(RpcError::new(RpcErrorKind::MessageType, offset)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_octets_tell_the_direction() {
        assert_eq!(MessageType::peek(&[0, 0, 0, 7, 0, 0, 0, 1, 9]), Some((7, MessageType::REPLY)));
        assert_eq!(MessageType::peek(&[0, 0, 0, 7, 0, 0, 0]), None);
    }
}
