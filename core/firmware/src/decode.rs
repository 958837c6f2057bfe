//! Decodes each recorded Send, RPC header included.

use core::fmt::{self, Write};

use rpcrdma::error::{DecodeError, DecodeErrorKind, Reaction, Role};
use rpcrdma::lists::{Chunks, ReadList, WriteChunk};
use rpcrdma::rpc::{Auth, Denial, Mismatch, ReplyBody, RpcCall, RpcError, RpcErrorKind, RpcReply};
use rpcrdma::segment::Segment;
use rpcrdma::v1::{Body, ErrorBody, Header, Message};
use rpcrdma::v2::{ErrorBodyV2, Family, HeaderV2, MessageV2, PropertySet, PropertyValue, ReactionV2};

use crate::digest::Digest;
use crate::recorded;

/// Decodes all recorded Sends, and prints a digest of the results.
pub(crate) fn run(output: &mut dyn Write) -> fmt::Result {
    let (mut digest, mut sends, mut decoded) = (Digest::new(), 0, 0);
    for (version, send) in recorded::sends() {
        digest.word(Family::detect(send).map_or(0, |family| if family == Family::A { 1 } else { 2 }));
        let is_decoded = match version.family() {
            None => version_1(&mut digest, send),
            Some(family) => version_2(&mut digest, family, send),
        };
        sends += 1;
        decoded += u32::from(is_decoded);
    }
    writeln!(output, "decode: {sends} Sends, {decoded} decoded, {digest}")
}

fn version_1(digest: &mut Digest, send: &[u8]) -> bool {
    let Message { header, header_length, payload } = match Message::decode(send) {
        Ok(message) => message,
        Err(error) => {
            failure(digest, error, answer(error.reaction(Role::Responder)));
            return false;
        }
    };
    let Header { xid, credit, body } = header;
    let (error, [first, second]) = match body {
        Body::Error(ErrorBody::Vers { low, high }) => (1, [low, high]),
        Body::Error(ErrorBody::Chunk) => (2, [0; 2]),
        Body::Msgp { align, thresh, .. } => (0, [align, thresh]),
        Body::Msg(_) | Body::Nomsg(_) | Body::Done => (0, [0; 2]),
    };
    digest.words(&[1, xid, credit, header.procedure().0, error, first, second]);
    chunks(digest, &header.chunks().unwrap_or_default());
    digest.size(header_length);
    rpc(digest, payload);
    true
}

fn version_2(digest: &mut Digest, family: Family, send: &[u8]) -> bool {
    let MessageV2 { header, header_length, payload } = match MessageV2::decode(family, send) {
        Ok(message) => message,
        Err(error) => {
            failure(digest, error, answer_v2(ReactionV2::to(error, Role::Responder)));
            return false;
        }
    };
    let prefix = header.prefix();
    let (flags, remaining) = match header {
        HeaderV2::A(header) => (header.flags.bits(), 0),
        HeaderV2::B(header) => (0, header.remaining().unwrap_or(0)),
    };
    digest.words(&[1, prefix.xid, prefix.credit, prefix.procedure.0]);
    digest.words(&[flags, header.inv_handle().unwrap_or(0), remaining]);
    error_v2(digest, header.error());
    chunks(digest, &header.chunks().unwrap_or_default());
    read_list(digest, &header.call_chunk().unwrap_or_default());
    properties(digest, &header.properties().unwrap_or_default());
    digest.size(header_length);
    rpc(digest, payload);
    true
}

fn failure(digest: &mut Digest, error: DecodeError, answer: u32) {
    let kind = match error.kind {
        DecodeErrorKind::HeaderShort => 1,
        DecodeErrorKind::Version => 2,
        DecodeErrorKind::Procedure => 3,
        DecodeErrorKind::HeaderType => 4,
        DecodeErrorKind::ErrorCode => 5,
        DecodeErrorKind::ListFlag => 6,
        DecodeErrorKind::ListTruncated => 7,
        DecodeErrorKind::SegmentCount => 8,
        DecodeErrorKind::HeaderTruncated => 9,
        DecodeErrorKind::PropertyValue => 10,
        _ => 0,
    };
    digest.words(&[0, kind]);
    digest.size(error.offset);
    digest.word(answer);
}

/// The error that a Responder answers with, or 0.
pub(crate) fn answer(reaction: Reaction) -> u32 {
    match reaction {
        Reaction::Discard => 0,
        Reaction::ErrVers => 1,
        Reaction::ErrChunk => 2,
    }
}

/// The same in version 2.
pub(crate) fn answer_v2(reaction: ReactionV2) -> u32 {
    match reaction {
        ReactionV2::Discard => 0,
        ReactionV2::Answer(code) => code.0,
    }
}

/// `rdma_err` and two words.
pub(crate) fn error_v2(digest: &mut Digest, error: Option<ErrorBodyV2>) {
    let words = match error {
        Some(ErrorBodyV2::Vers { low, high }) => [low, high],
        Some(ErrorBodyV2::ReadChunks { max_chunks } | ErrorBodyV2::WriteChunks { max_chunks }) => [max_chunks, 0],
        Some(ErrorBodyV2::Segments { max_segments }) => [max_segments, 0],
        Some(ErrorBodyV2::WriteResource { chunk_index, length_needed }) => [chunk_index, length_needed],
        Some(ErrorBodyV2::ReplyResource { length_needed }) => [length_needed, 0],
        Some(ErrorBodyV2::Void(_)) | None => [0; 2],
    };
    digest.word(error.map_or(0, |error| error.code().0));
    digest.words(&words);
}

fn chunks(digest: &mut Digest, chunks: &Chunks<'_>) {
    read_list(digest, &chunks.reads);
    for chunk in chunks.writes.iter() {
        digest.word(1);
        segments(digest, &chunk);
    }
    digest.words(&[0, chunks.reply.is_some().into()]);
    if let Some(chunk) = &chunks.reply {
        segments(digest, chunk);
    }
}

fn read_list(digest: &mut Digest, list: &ReadList<'_>) {
    for entry in list.iter() {
        digest.words(&[1, entry.position]);
        segment(digest, &entry.target);
    }
    digest.word(0);
}

fn segments(digest: &mut Digest, chunk: &WriteChunk<'_>) {
    digest.size(chunk.len());
    for each in chunk.iter() {
        segment(digest, &each);
    }
}

pub(crate) fn segment(digest: &mut Digest, segment: &Segment) {
    digest.words(&[segment.handle, segment.length]);
    digest.long(segment.offset);
}

fn properties(digest: &mut Digest, set: &PropertySet<'_>) {
    digest.size(set.len());
    for property in set.iter() {
        let (kind, number, octets): (_, _, &[u8]) = match property.value {
            PropertyValue::Default => (0, 0, &[]),
            PropertyValue::Uint32(number) => (1, number, &[]),
            PropertyValue::Opaque(octets) => (2, 0, octets),
            PropertyValue::Unknown(octets) => (3, 0, octets),
        };
        digest.words(&[property.id.0, kind, number]);
        digest.octets(octets);
    }
}

/// Decodes the RPC message behind a header.
fn rpc(digest: &mut Digest, payload: &[u8]) {
    digest.size(payload.len());
    match RpcCall::decode(payload) {
        Ok((call, arguments)) => {
            let RpcCall { xid, rpc_version, program, version, procedure, credential, verifier } = call;
            digest.words(&[1, xid, rpc_version, program, version, procedure]);
            auth(digest, &credential);
            auth(digest, &verifier);
            digest.size(payload.len() - arguments.len());
        }
        Err(error) => rpc_failure(digest, error),
    }
    match RpcReply::decode(payload) {
        Ok((reply, results)) => {
            digest.words(&[1, reply.xid]);
            rpc_reply(digest, &reply.body);
            digest.size(payload.len() - results.len());
        }
        Err(error) => rpc_failure(digest, error),
    }
}

fn rpc_reply(digest: &mut Digest, body: &ReplyBody<'_>) {
    let (kind, status, versions, verifier) = match *body {
        ReplyBody::Accepted { verifier, status, mismatch } => (0, status.0, mismatch, verifier),
        ReplyBody::Denied(Denial::RpcMismatch(versions)) => (1, 0, Some(versions), Auth::NONE),
        ReplyBody::Denied(Denial::AuthError(status)) => (2, status.0, None, Auth::NONE),
    };
    let Mismatch { low, high } = versions.unwrap_or_default();
    digest.words(&[kind, status, low, high]);
    auth(digest, &verifier);
}

fn rpc_failure(digest: &mut Digest, error: RpcError) {
    let kind = match error.kind {
        RpcErrorKind::Truncated => 17,
        RpcErrorKind::MessageType => 18,
        RpcErrorKind::AuthLength => 19,
        RpcErrorKind::ReplyStatus => 20,
        RpcErrorKind::RejectStatus => 21,
        _ => 0,
    };
    digest.words(&[0, kind]);
    digest.size(error.offset);
}

fn auth(digest: &mut Digest, auth: &Auth<'_>) {
    digest.word(auth.flavor.0);
    digest.octets(auth.body);
}
