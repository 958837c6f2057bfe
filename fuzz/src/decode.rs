//! The codec against the reference decoder.

use rpcrdma::error::{DecodeError, Role};
use rpcrdma::prefix::Prefix;
use rpcrdma::private_data::PrivateData;
use rpcrdma::rpc::{self, Denial, MessageType, ReplyBody, RpcError};
use rpcrdma::v1::{self, ErrorBody, ErrorReply, Message};

use crate::lists::{chunks, visit};
use crate::oracle::same;
use crate::reference::{self, Body, RefusalReason};
use crate::version_2;

/// For any octets: the codec finds the same as the reference decoder, or refuses the octets for the same reason at the
/// same place.
///
/// # Panics
/// If the two differ.
pub fn decode(octets: &[u8]) {
    header(octets);
    error_reply(octets);
    version_2::decode(octets);
    rpc(octets);
    let found = PrivateData::find(octets).map(|data| (data.flags.bits(), data.send_size, data.receive_size));
    assert_eq!(found, reference::private_data(octets), "private data");
}

fn header(octets: &[u8]) {
    let prefix = Prefix::decode(octets);
    assert_eq!(prefix.is_ok(), octets.len() >= Prefix::LEN, "the four words are there, or not");
    let expected = reference::header(octets);
    let message = match Message::decode(octets) {
        Err(error) => {
            judged(error, octets.len());
            return same("header", Err(refusal(error)), expected.map(|(header, _)| header));
        }
        Ok(message) => message,
    };
    let Message { header, header_length, payload } = message;
    assert_eq!(prefix, Ok(header.prefix()));
    assert_eq!(header_length + payload.len(), octets.len());
    assert!(octets.ends_with(payload), "the payload is the end of the Send");
    if let Some(chunks) = header.chunks() {
        visit(&chunks);
    }
    let found = reference::Header { xid: header.xid, credit: header.credit, body: body(&header.body) };
    same("header", Ok((found, payload.len())), expected);
    rpc(payload);
}

/// An error leads to the reaction that the specification requires.
fn judged(error: DecodeError, length: usize) {
    assert!(error.offset <= length, "{error}");
    for (role, is_responder) in [(Role::Requester, false), (Role::Responder, true)] {
        let reaction = error.reaction(role).to_string();
        assert_eq!(reaction, reference::reaction(error.kind.name(), is_responder), "{role}: {error}");
    }
}

fn error_reply(octets: &[u8]) {
    let found = ErrorReply::decode(octets).map_err(refusal).map(|(reply, rest)| {
        let Prefix { xid, version, credit, .. } = reply.prefix();
        (([xid, version, credit], error_body(reply.error())), rest.len())
    });
    same("RDMA_ERROR", found, reference::error_reply(octets));
}

fn rpc(payload: &[u8]) {
    let call = rpc::RpcCall::decode(payload).map_err(rpc_refusal).map(|(call, rest)| (self::call(&call), rest.len()));
    same("Call", call, reference::call(payload));
    let reply = rpc::RpcReply::decode(payload).map_err(rpc_refusal);
    let reply = reply.map(|(reply, rest)| ((reply.xid, self::reply(&reply.body)), rest.len()));
    same("Reply", reply, reference::reply(payload));
    let peeked = payload.first_chunk().map(|first: &[u8; 8]| u64::from_be_bytes(*first));
    let found = MessageType::peek(payload).map(|(xid, kind)| u64::from(xid) << 32 | u64::from(kind.0));
    assert_eq!(found, peeked, "XID and message type");
    credentials(payload);
    if let Ok((call, _)) = rpc::RpcCall::decode(payload) {
        credentials(call.credential.body);
    }
}

fn credentials(body: &[u8]) {
    let sys = rpc::AuthSys::decode(body)
        .map_err(rpc_refusal)
        .map(|sys| (sys.stamp, sys.machine_name().to_vec(), sys.uid, sys.gid, sys.gids().collect::<Vec<_>>()));
    same("AUTH_SYS", sys, reference::auth_sys(body).map(|(sys, _)| sys));
    if let Ok(sys) = rpc::AuthSys::decode(body) {
        let mut again = vec![0xa5; sys.encoded_len()];
        assert_eq!(sys.encode(&mut again), Ok(again.len()), "AUTH_SYS");
        assert_eq!(rpc::AuthSys::decode(&again), Ok(sys), "AUTH_SYS");
    }
    let gss = rpc::GssCredential::decode(body)
        .map_err(rpc_refusal)
        .map(|gss| ([gss.version, gss.procedure.0, gss.sequence, gss.service.0], gss.handle.to_vec()));
    same("RPCSEC_GSS", gss, reference::gss(body).map(|(gss, _)| gss));
}

fn refusal(error: DecodeError) -> RefusalReason {
    RefusalReason { kind: error.kind.name(), offset: error.offset }
}

fn rpc_refusal(error: RpcError) -> RefusalReason {
    RefusalReason { kind: error.kind.name(), offset: error.offset }
}

fn body(body: &v1::Body<'_>) -> Body {
    match body {
        v1::Body::Msg(lists) => Body::Msg(chunks(lists)),
        v1::Body::Nomsg(lists) => Body::Nomsg(chunks(lists)),
        v1::Body::Msgp { align, thresh, chunks: lists } => Body::Msgp(*align, *thresh, chunks(lists)),
        v1::Body::Done => Body::Done,
        v1::Body::Error(error) => error_body(*error),
    }
}

fn error_body(error: ErrorBody) -> Body {
    match error {
        ErrorBody::Vers { low, high } => Body::ErrVers(low, high),
        ErrorBody::Chunk => Body::ErrChunk,
    }
}

fn auth(auth: rpc::Auth<'_>) -> reference::Auth {
    (auth.flavor.0, auth.body.to_vec())
}

fn call(call: &rpc::RpcCall<'_>) -> reference::Call {
    reference::Call {
        words: [call.xid, call.rpc_version, call.program, call.version, call.procedure],
        credential: auth(call.credential),
        verifier: auth(call.verifier),
    }
}

fn reply(body: &ReplyBody<'_>) -> reference::Reply {
    match *body {
        ReplyBody::Accepted { verifier, status, mismatch } => {
            reference::Reply::Accepted(auth(verifier), status.0, mismatch.map(|versions| (versions.low, versions.high)))
        }
        ReplyBody::Denied(Denial::RpcMismatch(versions)) => reference::Reply::RpcMismatch(versions.low, versions.high),
        ReplyBody::Denied(Denial::AuthError(status)) => reference::Reply::AuthError(status.0),
    }
}
