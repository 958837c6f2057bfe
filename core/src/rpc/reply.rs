//! The header of an RPC Reply (RFC 5531 section 9).
//!
//! ```text
//!  0      4      8       12
//! +------+------+-------+------------//+--------+
//! | xid  |  1   |   0   | verifier     | status | [low, high]  results ...
//! +------+------+-------+------------//+--------+
//! | xid  |  1   |   1   | 0, low, high   or   1, auth_stat
//! +------+------+-------+------------------------------------
//! ```

use core::fmt;

use super::{Auth, MessageType, RpcError, RpcErrorKind, message};
use crate::codes::named;
use crate::reader::Reader;
use crate::sink::{Emit, Sink, encodable};

/// The header of an RPC Reply.
///
/// ```
/// use rpcrdma::rpc::{AcceptStatus, Auth, RpcReply, ReplyBody};
///
/// let body = ReplyBody::Accepted { verifier: Auth::NONE, status: AcceptStatus::SUCCESS, mismatch: None };
/// let reply = RpcReply { xid: 7, body };
/// let mut payload = [0; 24];
/// assert_eq!(reply.encode(&mut payload), Ok(24));
/// assert_eq!(RpcReply::decode(&payload), Ok((reply, &[][..])));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RpcReply<'a> {
    /// The transaction ID, that of the Call.
    pub xid: u32,
    /// Outcome of the Call.
    pub body: ReplyBody<'a>,
}

/// The part of a Reply that depends on `reply_stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplyBody<'a> {
    /// `MSG_ACCEPTED`.
    Accepted {
        /// Proof of the server's identity.
        verifier: Auth<'a>,
        /// `accept_stat`: results follow only after [`AcceptStatus::SUCCESS`].
        status: AcceptStatus,
        /// The versions that the program has; only with [`AcceptStatus::PROG_MISMATCH`].
        mismatch: Option<Mismatch>,
    },
    /// `MSG_DENIED`.
    Denied(Denial),
}

/// The lowest and the highest version a server supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mismatch {
    /// The lowest.
    pub low: u32,
    /// The highest.
    pub high: u32,
}

/// Reason of a server for denying a Call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denial {
    /// `RPC_MISMATCH`: the server does not support this version of RPC.
    RpcMismatch(Mismatch),
    /// `AUTH_ERROR`: the server does not accept this credential or verifier.
    AuthError(AuthStatus),
}

/// `accept_stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AcceptStatus(pub u32);

named! {
    AcceptStatus of "RFC 5531", prefix "", field "accept_stat";

    /// The procedure was run; the results follow.
    SUCCESS = 0,
    /// There is no such program.
    PROG_UNAVAIL = 1,
    /// The program exists in other versions.
    PROG_MISMATCH = 2,
    /// The program has no such procedure.
    PROC_UNAVAIL = 3,
    /// The arguments could not be decoded.
    GARBAGE_ARGS = 4,
    /// Something else went wrong, such as a lack of memory.
    SYSTEM_ERR = 5,
}

/// `auth_stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuthStatus(pub u32);

impl AuthStatus {
    /// The credential has a flavor that the server does not know, or cannot be decoded.
    pub const BADCRED: Self = Self(1);
    /// The client has to begin a new session.
    pub const REJECTEDCRED: Self = Self(2);
    /// The verifier is wrong.
    pub const BADVERF: Self = Self(3);
    /// The verifier has expired, or came before.
    pub const REJECTEDVERF: Self = Self(4);
    /// The server wants another flavor.
    pub const TOOWEAK: Self = Self(5);

    /// Returns the name in RFC 5531.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "AUTH_OK",
            1 => "AUTH_BADCRED",
            2 => "AUTH_REJECTEDCRED",
            3 => "AUTH_BADVERF",
            4 => "AUTH_REJECTEDVERF",
            5 => "AUTH_TOOWEAK",
            6 => "AUTH_INVALIDRESP",
            7 => "AUTH_FAILED",
            8 => "AUTH_KERB_GENERIC",
            9 => "AUTH_TIMEEXPIRE",
            10 => "AUTH_TKT_FILE",
            11 => "AUTH_DECODE",
            12 => "AUTH_NET_ADDR",
            13 => "RPCSEC_GSS_CREDPROBLEM",
            14 => "RPCSEC_GSS_CTXPROBLEM",
            _ => return None,
        })
    }
}

const ACCEPTED: u32 = 0;
const DENIED: u32 = 1;
const RPC_MISMATCH: u32 = 0;
const AUTH_ERROR: u32 = 1;

impl<'a> RpcReply<'a> {
    /// Reads the header of a Reply at the start of a Payload stream and returns the header and the results that follow.
    ///
    /// # Errors
    /// An [`RpcError`] if there is none.
    #[inline]
    pub fn decode(payload: &'a [u8]) -> Result<(Self, &'a [u8]), RpcError> {
        let mut reader = Reader::new(payload);
        let xid = message(&mut reader, MessageType::REPLY)?;
        let offset = reader.offset();
        let body = match reader.u32()? {
            ACCEPTED => ReplyBody::accepted(&mut reader)?,
            DENIED => ReplyBody::Denied(Denial::decode(&mut reader)?),
            _ => return Err(RpcError::new(RpcErrorKind::ReplyStatus, offset)),
        };
        Ok((Self { xid, body }, reader.rest()))
    }
}

encodable! {
    #[inline]
    RpcReply<'_>, "header"
}

impl<'a> ReplyBody<'a> {
    #[inline]
    fn accepted(reader: &mut Reader<'a>) -> Result<Self, RpcError> {
        let verifier = Auth::decode(reader)?;
        let status = AcceptStatus(reader.u32()?);
        let mismatch = if status == AcceptStatus::PROG_MISMATCH { Some(Mismatch::decode(reader)?) } else { None };
        Ok(Self::Accepted { verifier, status, mismatch })
    }
}

impl Denial {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, RpcError> {
        let offset = reader.offset();
        match reader.u32()? {
            RPC_MISMATCH => Ok(Self::RpcMismatch(Mismatch::decode(reader)?)),
            AUTH_ERROR => Ok(Self::AuthError(AuthStatus(reader.u32()?))),
            _ => Err(RpcError::new(RpcErrorKind::RejectStatus, offset)),
        }
    }
}

impl Mismatch {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, RpcError> {
        Ok(Self { low: reader.u32()?, high: reader.u32()? })
    }
}

impl Emit for Mismatch {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.low);
        sink.word(self.high);
    }
}

impl Emit for RpcReply<'_> {
    #[inline]
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.xid);
        sink.word(MessageType::REPLY.0);
        match self.body {
            ReplyBody::Accepted { verifier, status, mismatch } => {
                sink.word(ACCEPTED);
                verifier.emit(sink);
                sink.word(status.0);
                // The status decides what is on the wire, so whatever is written can be read again.
                if status == AcceptStatus::PROG_MISMATCH {
                    mismatch.unwrap_or_default().emit(sink);
                }
            }
            ReplyBody::Denied(Denial::RpcMismatch(mismatch)) => {
                sink.word(DENIED);
                sink.word(RPC_MISMATCH);
                mismatch.emit(sink);
            }
            ReplyBody::Denied(Denial::AuthError(status)) => {
                sink.word(DENIED);
                sink.word(AUTH_ERROR);
                sink.word(status.0);
            }
        }
    }
}

impl fmt::Display for AuthStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "auth_stat {}", self.0),
        }
    }
}

impl fmt::Display for RpcReply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "REPLY xid {:#010x} ", self.xid)?;
        match self.body {
            ReplyBody::Accepted { status, mismatch: Some(Mismatch { low, high }), .. } => {
                write!(f, "{status} {low} to {high}")
            }
            ReplyBody::Accepted { status, .. } => write!(f, "{status}"),
            ReplyBody::Denied(Denial::RpcMismatch(Mismatch { low, high })) => write!(f, "RPC_MISMATCH {low} to {high}"),
            ReplyBody::Denied(Denial::AuthError(status)) => write!(f, "AUTH_ERROR {status}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::Flavor;

    fn there_and_back(octets: &[u8], body: ReplyBody<'_>) {
        let reply = RpcReply { xid: 0x0102_0304, body };
        assert_eq!(RpcReply::decode(octets), Ok((reply, &[][..])));
        let mut again = [0xa5; 64];
        let length = reply.encode(&mut again).unwrap();
        assert_eq!(&again[..length], octets);
        for length in 0..octets.len() {
            assert_eq!(RpcReply::decode(&octets[..length]).unwrap_err().kind, RpcErrorKind::Truncated);
        }
    }

    #[test]
    fn every_arm_of_a_reply() {
        let verifier = Auth { flavor: Flavor::RPCSEC_GSS, body: &[9] };
        there_and_back(
            &[1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1, 9, 0, 0, 0, 0, 0, 0, 4],
            ReplyBody::Accepted { verifier, status: AcceptStatus::GARBAGE_ARGS, mismatch: None },
        );
        let mismatch = Mismatch { low: 2, high: 4 };
        there_and_back(
            &[1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 4],
            ReplyBody::Accepted { verifier: Auth::NONE, status: AcceptStatus(2), mismatch: Some(mismatch) },
        );
        there_and_back(
            &[1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4],
            ReplyBody::Denied(Denial::RpcMismatch(mismatch)),
        );
        there_and_back(
            &[1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 13],
            ReplyBody::Denied(Denial::AuthError(AuthStatus(13))),
        );
    }

    #[test]
    fn unknown_arms_are_named() {
        let error = RpcReply::decode(&[1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap_err();
        assert_eq!(error, RpcError { kind: RpcErrorKind::ReplyStatus, offset: 8 });
        let error = RpcReply::decode(&[1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap_err();
        assert_eq!(error, RpcError { kind: RpcErrorKind::RejectStatus, offset: 12 });
    }
}
