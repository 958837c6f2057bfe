//! RPC headers (RFC 5531 section 9).

use rpcrdma::rpc::{AcceptStatus, Auth, AuthStatus, Denial, Flavor, Mismatch, ReplyBody, RpcError, RpcErrorKind};
use rpcrdma::{RpcCall, RpcReply};

use crate::argument::{Buffer, OutPointer, status, value, values};
use crate::status::rpcrdma_status::{RPCRDMA_INVALID, RPCRDMA_NOT_DECODED};
use crate::status::{RPCRDMA_OTHER_ERROR, rpcrdma_decode_error, rpcrdma_status};

/// A credential or a verifier.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_auth {
    /// Its flavor: 0 for none, 1 for AUTH_SYS, 6 for RPCSEC_GSS.
    pub flavor: u32,
    /// Its octets.
    pub body: *const u8,
    /// Number of octets: at most 400.
    pub length: usize,
}

/// The header of an RPC Call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_rpc_call {
    /// The transaction ID.
    pub xid: u32,
    /// The version of RPC: 2.
    pub rpc_version: u32,
    /// The program, such as 100003 for NFS.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// Its procedure.
    pub procedure: u32,
    /// Credentials of the caller.
    pub credential: rpcrdma_auth,
    /// Verifier of the credentials.
    pub verifier: rpcrdma_auth,
    /// Octets of the header; the arguments follow. Not used for encoding.
    pub header_length: usize,
}

/// The header of an RPC Reply.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_rpc_reply {
    /// The transaction ID.
    pub xid: u32,
    /// Kind of Reply: RPCRDMA_RPC_ACCEPTED and so on.
    pub kind: u32,
    /// RPCRDMA_RPC_ACCEPTED: accept_stat. RPCRDMA_RPC_AUTH_ERROR: auth_stat. Otherwise 0.
    pub status: u32,
    /// RPCRDMA_RPC_ACCEPTED with accept_stat 2 (PROG_MISMATCH), and RPCRDMA_RPC_MISMATCH: the lowest version that is
    /// supported. Otherwise 0.
    pub low: u32,
    /// The highest version that is supported.
    pub high: u32,
    /// RPCRDMA_RPC_ACCEPTED: the verifier.
    pub verifier: rpcrdma_auth,
    /// Octets of the header; the results follow. Not used for encoding.
    pub header_length: usize,
}

/// The Call was accepted; accept_stat 0 says that the procedure was run.
pub const RPCRDMA_RPC_ACCEPTED: u32 = 0;
/// The Call was denied: another version of RPC.
pub const RPCRDMA_RPC_MISMATCH: u32 = 1;
/// The Call was denied because of the credential or verifier.
pub const RPCRDMA_RPC_AUTH_ERROR: u32 = 2;

/// The octets end within the RPC header.
pub const RPCRDMA_RPC_TRUNCATED: u32 = 17;
/// Neither a Call nor a Reply, or not the one that was expected.
pub const RPCRDMA_RPC_MESSAGE_TYPE: u32 = 18;
/// A credential or a verifier of more than 400 octets.
pub const RPCRDMA_RPC_AUTH_LENGTH: u32 = 19;
/// reply_stat has no meaning.
pub const RPCRDMA_RPC_REPLY_STATUS: u32 = 20;
/// reject_stat has no meaning.
pub const RPCRDMA_RPC_REJECT_STATUS: u32 = 21;

impl From<RpcError> for rpcrdma_decode_error {
    fn from(error: RpcError) -> Self {
        let kind = match error.kind {
            RpcErrorKind::Truncated => RPCRDMA_RPC_TRUNCATED,
            RpcErrorKind::MessageType => RPCRDMA_RPC_MESSAGE_TYPE,
            RpcErrorKind::AuthLength => RPCRDMA_RPC_AUTH_LENGTH,
            RpcErrorKind::ReplyStatus => RPCRDMA_RPC_REPLY_STATUS,
            RpcErrorKind::RejectStatus => RPCRDMA_RPC_REJECT_STATUS,
            _ => RPCRDMA_OTHER_ERROR,
        };
        Self { kind, offset: error.offset, answer: 0 }
    }
}

impl From<Auth<'_>> for rpcrdma_auth {
    fn from(auth: Auth<'_>) -> Self {
        Self { flavor: auth.flavor.0, body: auth.body.as_ptr(), length: auth.body.len() }
    }
}

impl rpcrdma_auth {
    /// # Safety
    /// As of [`values`], for the octets.
    unsafe fn read<'a>(&self) -> Result<Auth<'a>, rpcrdma_status> {
        if self.length > Auth::MAX_BODY {
            return Err(RPCRDMA_INVALID);
        }
        // SAFETY: promised by the caller.
        let body = unsafe { values(self.body, self.length) }?;
        Ok(Auth { flavor: Flavor(self.flavor), body })
    }
}

/// Decodes the header of an RPC Call, with which a Payload stream begins. Credential and verifier point into the octets.
///
/// RPCRDMA_NOT_DECODED: *error says why. RPCRDMA_OVERLAP: *call or *error overlaps the octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_decode_rpc_call(
    octets: *const u8,
    length: usize,
    call: *mut rpcrdma_rpc_call,
    error: *mut rpcrdma_decode_error,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (octets, call, error) = unsafe { (values(octets, length), OutPointer::new(call), OutPointer::new(error)) };
    let decode = || {
        let octets = octets?;
        let (call, error) = (call?.apart_from(octets)?, error?.apart_from(octets)?);
        let (decoded, rest) = RpcCall::decode(octets).map_err(|why| {
            error.write(why.into());
            RPCRDMA_NOT_DECODED
        })?;
        call.write(rpcrdma_rpc_call {
            xid: decoded.xid,
            rpc_version: decoded.rpc_version,
            program: decoded.program,
            version: decoded.version,
            procedure: decoded.procedure,
            credential: decoded.credential.into(),
            verifier: decoded.verifier.into(),
            header_length: octets.len().saturating_sub(rest.len()),
        });
        Ok(())
    };
    status(decode())
}

/// Encodes the header of an RPC Call.
///
/// *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: a credential or a
/// verifier of more than 400 octets. RPCRDMA_OVERLAP: the buffer or *length overlaps the credential or the verifier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_encode_rpc_call(
    call: *const rpcrdma_rpc_call,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (call, buffer) = unsafe { (value(call).copied(), Buffer::new(buffer, capacity, length)) };
    let encode = || {
        let rpcrdma_rpc_call { xid, rpc_version, program, version, procedure, credential, verifier, .. } = call?;
        // SAFETY: and for this.
        let (credential, verifier) = unsafe { (credential.read()?, verifier.read()?) };
        let buffer = buffer?.apart_from(credential.body)?.apart_from(verifier.body)?;
        let call = RpcCall { xid, rpc_version, program, version, procedure, credential, verifier };
        buffer.fill(|buffer| call.encode(buffer))
    };
    status(encode())
}

/// Decodes the header of an RPC Reply, with which a Payload stream begins. The verifier points into the octets.
///
/// RPCRDMA_NOT_DECODED: *error says why. RPCRDMA_OVERLAP: *reply or *error overlaps the octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_decode_rpc_reply(
    octets: *const u8,
    length: usize,
    reply: *mut rpcrdma_rpc_reply,
    error: *mut rpcrdma_decode_error,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (octets, reply, error) = unsafe { (values(octets, length), OutPointer::new(reply), OutPointer::new(error)) };
    let decode = || {
        let octets = octets?;
        let (reply, error) = (reply?.apart_from(octets)?, error?.apart_from(octets)?);
        let (decoded, rest) = RpcReply::decode(octets).map_err(|why| {
            error.write(why.into());
            RPCRDMA_NOT_DECODED
        })?;
        let header_length = octets.len().saturating_sub(rest.len());
        reply.write(rpcrdma_rpc_reply { header_length, ..decoded.into() });
        Ok(())
    };
    status(decode())
}

/// Encodes the header of an RPC Reply.
///
/// *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: kind has no meaning, or the
/// verifier has more than 400 octets. RPCRDMA_OVERLAP: the buffer or *length overlaps the verifier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_encode_rpc_reply(
    reply: *const rpcrdma_rpc_reply,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (reply, buffer) = unsafe { (value(reply).copied(), Buffer::new(buffer, capacity, length)) };
    let encode = || {
        let reply = reply?;
        // SAFETY: and for this.
        let verifier = unsafe { reply.verifier.read() }?;
        let buffer = buffer?.apart_from(verifier.body)?;
        let reply = RpcReply { xid: reply.xid, body: reply.body(verifier)? };
        buffer.fill(|buffer| reply.encode(buffer))
    };
    status(encode())
}

impl From<RpcReply<'_>> for rpcrdma_rpc_reply {
    fn from(reply: RpcReply<'_>) -> Self {
        let (kind, status, mismatch, verifier) = match reply.body {
            ReplyBody::Accepted { verifier, status, mismatch } => {
                (RPCRDMA_RPC_ACCEPTED, status.0, mismatch.unwrap_or_default(), verifier)
            }
            ReplyBody::Denied(Denial::RpcMismatch(mismatch)) => (RPCRDMA_RPC_MISMATCH, 0, mismatch, Auth::NONE),
            ReplyBody::Denied(Denial::AuthError(status)) => {
                (RPCRDMA_RPC_AUTH_ERROR, status.0, Mismatch::default(), Auth::NONE)
            }
        };
        let Mismatch { low, high } = mismatch;
        Self { xid: reply.xid, kind, status, low, high, verifier: verifier.into(), header_length: 0 }
    }
}

impl rpcrdma_rpc_reply {
    const fn body<'a>(&self, verifier: Auth<'a>) -> Result<ReplyBody<'a>, rpcrdma_status> {
        let mismatch = Mismatch { low: self.low, high: self.high };
        Ok(match self.kind {
            RPCRDMA_RPC_ACCEPTED => {
                ReplyBody::Accepted { verifier, status: AcceptStatus(self.status), mismatch: Some(mismatch) }
            }
            RPCRDMA_RPC_MISMATCH => ReplyBody::Denied(Denial::RpcMismatch(mismatch)),
            RPCRDMA_RPC_AUTH_ERROR => ReplyBody::Denied(Denial::AuthError(AuthStatus(self.status))),
            _ => return Err(RPCRDMA_INVALID),
        })
    }
}
