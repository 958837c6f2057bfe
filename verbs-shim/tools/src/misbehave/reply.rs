//! Correct reply to a call: the header and Payload stream, and the octets to write into chunks.

use std::sync::LazyLock;

use rpcrdma::error::{Reaction, Role};
use rpcrdma::lists::WriteChunk;
use rpcrdma::prefix::Prefix;
use rpcrdma::private_data::PrivateData;
use rpcrdma::rpc::{AcceptStatus, Auth, ReplyBody, RpcCall, RpcReply};
use rpcrdma::v1::{Body, ErrorReply, Message, ReplyHeader};
use rpcrdma_verbs::{Remote, Stream};

use crate::echo;
use crate::nfs::{self, Folder};
use crate::raw::{RECEIVE, RECEIVES};

/// The folder that requesters of NFS read.
static FOLDER: LazyLock<Folder> = LazyLock::new(Folder::default);

/// Granted credits; there are more receives.
const CREDITS: u32 = 32;
const _: () = assert!((CREDITS as u64) < RECEIVES);

/// A reply, to be sent after the RDMA Writes.
pub(super) struct BadReply {
    pub(super) writes: Vec<(Remote, Vec<u8>)>,
    pub(super) send: Vec<u8>,
    /// Length of the header at the start, in octets.
    pub(super) header: usize,
}

/// Returns the answer to a message of the requester, if there is one. The Read chunks of a call are not read: such a
/// call is refused with `ERR_CHUNK`.
pub(super) fn answer(octets: &[u8], private_data: &[u8]) -> Option<BadReply> {
    let prefix = Prefix::decode(octets).ok()?;
    let refuse = |reaction| {
        let error = ErrorReply::new(&prefix, CREDITS, reaction)?;
        let mut send = vec![0; error.encoded_len()];
        error.encode(&mut send).ok()?;
        Some(BadReply { writes: Vec::new(), header: send.len(), send })
    };
    match Message::decode(octets) {
        Err(error) => refuse(error.reaction(Role::Responder)),
        Ok(Message { header, .. }) if matches!(header.body, Body::Done | Body::Error(_)) => None,
        Ok(message) => replied(&message, octets, private_data).or_else(|| refuse(Reaction::ErrChunk)),
    }
}

/// Returns true for a call that can be answered with a reply, so that the reply can have a defect.
pub(super) fn is_call(octets: &[u8]) -> bool {
    let Ok(message) = Message::decode(octets) else { return false };
    matches!(message.header.body, Body::Msg(chunks) if chunks.reads.is_empty())
        && octets.get(message.header_length..).is_some_and(|payload| RpcCall::decode(payload).is_ok())
}

fn replied(message: &Message<'_>, octets: &[u8], private_data: &[u8]) -> Option<BadReply> {
    let Body::Msg(chunks) = message.header.body else { return None };
    let (call, arguments) = RpcCall::decode(octets.get(message.header_length..)?).ok()?;
    let results = results(&call, arguments).filter(|_| chunks.reads.is_empty())?;
    let (mut writes, mut payload, mut written) = (Vec::new(), results.head().to_vec(), Vec::new());
    for item in results.items() {
        match chunks.writes.get(0).filter(|chunk| !chunk.is_empty()) {
            Some(chunk) => {
                written.push(item.len() as u64);
                writes.extend(fill(chunk, item)?);
            }
            None => {
                payload.extend(item);
                payload.resize(payload.len().next_multiple_of(4), 0);
            }
        }
    }
    let header = ReplyHeader::new(message.header.xid, CREDITS, &chunks).with_writes(&written).ok()?;
    let header = if header.encoded_len() + payload.len() > inline_threshold(private_data) {
        writes.extend(fill(chunks.reply?, &payload)?);
        let length = payload.len() as u64;
        payload.clear();
        header.with_reply(length).ok()?
    } else {
        header
    };
    let mut send = vec![0; header.encoded_len()];
    let header = header.encode(&mut send).ok()?;
    send.extend(payload);
    Some(BadReply { writes, send, header })
}

/// Maximum length of a reply in a Send (RFC 8797 section 4).
fn inline_threshold(private_data: &[u8]) -> usize {
    let size = PrivateData::find(private_data).map_or(PrivateData::SMALLEST_SIZE, |data| data.receive_size);
    RECEIVE.min(size as usize)
}

/// Returns the RPC Reply; data that may be reduced is the last item.
fn results(call: &RpcCall<'_>, arguments: &[u8]) -> Option<Stream> {
    let mut results = Stream::default();
    push_header(call.xid, AcceptStatus::SUCCESS, &mut results)?;
    let carried_out = match (call.program, call.version, call.procedure) {
        (_, _, 0) => Ok(Some(())),
        (echo::PROGRAM, echo::VERSION, number) => echo::procedure(number)
            .map(|procedure| procedure(arguments, &mut results))
            .ok_or(AcceptStatus::PROC_UNAVAIL),
        (nfs::PROGRAM, nfs::VERSION_3, number) => nfs::procedure(number)
            .map(|procedure| procedure(&FOLDER, arguments, &mut results))
            .ok_or(AcceptStatus::PROC_UNAVAIL),
        _ => Err(AcceptStatus::PROG_UNAVAIL),
    };
    let status = match carried_out {
        Ok(Some(())) => return Some(results),
        Ok(None) => AcceptStatus::GARBAGE_ARGS,
        Err(status) => status,
    };
    let mut refused = Stream::default();
    push_header(call.xid, status, &mut refused)?;
    Some(refused)
}

/// Appends the header of an RPC Reply.
fn push_header(xid: u32, status: AcceptStatus, results: &mut Stream) -> Option<()> {
    let reply = RpcReply { xid, body: ReplyBody::Accepted { verifier: Auth::NONE, status, mismatch: None } };
    let mut octets = vec![0; reply.encoded_len()];
    reply.encode(&mut octets).ok()?;
    results.push(&octets);
    Some(())
}

/// Returns the RDMA Writes that put octets into a chunk. `None` if the chunk is too small.
fn fill(chunk: WriteChunk<'_>, mut octets: &[u8]) -> Option<Vec<(Remote, Vec<u8>)>> {
    let mut writes = Vec::new();
    for segment in chunk.iter() {
        let (now, later) = octets.split_at(octets.len().min(segment.length as usize));
        octets = later;
        if !now.is_empty() {
            writes.push((Remote::from(segment), now.to_vec()));
        }
    }
    octets.is_empty().then_some(writes)
}
