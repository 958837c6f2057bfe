//! Each recorded Send, encoded again, and answered.

use core::fmt::{self, Write};

use rpcrdma::EncodeError;
use rpcrdma::error::Role;
use rpcrdma::lists::{Chunks, ReplyError};
use rpcrdma::prefix::Prefix;
use rpcrdma::rpc::{RpcCall, RpcReply};
use rpcrdma::v1::{ErrorReply, Message, ReplyHeader};
use rpcrdma::v2::{Credit, ErrorReplyV2, Family, MessageV2, ReactionV2, ReplyHeaderV2};

use crate::digest::Digest;
use crate::recorded;

/// Longer than any header that is recorded.
const HEADER: usize = 4096;

/// Credits that are granted; in version 2 also the most that this end can have outstanding.
const CREDIT: u32 = 32;
const CREDIT_V2: Credit = Credit::new(32, 64);

/// Octets that are in a chunk.
const IN_CHUNK: u64 = 4;

struct Replies {
    digest: Digest,
    encoded: u32,
}

/// Encodes the replies to all recorded Sends, and prints a digest of the results.
pub(crate) fn run(output: &mut dyn Write) -> fmt::Result {
    let mut replies = Replies { digest: Digest::new(), encoded: 0 };
    for (version, send) in recorded::sends() {
        match version.family() {
            None => replies.version_1(send),
            Some(family) => replies.version_2(family, send),
        }
    }
    let Replies { digest, encoded } = replies;
    writeln!(output, "replies: {encoded} headers encoded, {digest}")
}

impl Replies {
    fn version_1(&mut self, send: &[u8]) {
        match Message::decode(send) {
            Ok(message) => {
                self.encoded(|buffer| message.header.encode(buffer));
                if let Some(chunks) = message.header.chunks() {
                    self.replies(ReplyHeader::new(message.header.xid, CREDIT, &chunks));
                }
                self.rpc(message.payload);
            }
            Err(error) => {
                let reaction = error.reaction(Role::Responder);
                let request = Prefix::decode(send).ok();
                if let Some(reply) = request.and_then(|request| ErrorReply::new(&request, CREDIT, reaction)) {
                    self.encoded(|buffer| reply.encode(buffer));
                }
            }
        }
    }

    fn version_2(&mut self, family: Family, send: &[u8]) {
        match MessageV2::decode(family, send) {
            Ok(message) => {
                self.encoded(|buffer| message.header.encode(buffer));
                if let Some(chunks) = message.header.chunks() {
                    self.replies_v2(family, message.header.xid(), &chunks);
                }
                self.rpc(message.payload);
            }
            Err(error) => {
                let error = ReactionV2::to(error, Role::Responder).error(1, 2);
                if let (Ok(request), Some(error)) = (Prefix::decode(send), error) {
                    let reply = ErrorReplyV2::new(family, &request, CREDIT_V2, error);
                    self.encoded(|buffer| reply.encode(buffer));
                }
            }
        }
    }

    fn replies(&mut self, reply: ReplyHeader<'_>) {
        self.encoded(|buffer| reply.encode(buffer));
        self.reply(reply.with_writes(&[IN_CHUNK]), |reply, buffer| reply.encode(buffer));
        self.reply(reply.with_reply(IN_CHUNK), |reply, buffer| reply.encode(buffer));
    }

    fn replies_v2(&mut self, family: Family, xid: u32, chunks: &Chunks<'_>) {
        let reply = ReplyHeaderV2::new(family, xid, CREDIT_V2, chunks);
        self.encoded(|buffer| reply.encode(buffer));
        self.reply(reply.with_writes(&[IN_CHUNK]), |reply, buffer| reply.encode(buffer));
        self.reply(reply.with_reply(IN_CHUNK), |reply, buffer| reply.encode(buffer));
    }

    /// A Reply with something in a chunk, if there is room for that.
    fn reply<T>(
        &mut self,
        reply: Result<T, ReplyError>,
        encode: impl FnOnce(&T, &mut [u8]) -> Result<usize, EncodeError>,
    ) {
        match reply {
            Ok(reply) => self.encoded(|buffer| encode(&reply, buffer)),
            Err(ReplyError::NoChunk) => self.digest.word(1),
            Err(ReplyError::ChunkTooSmall { .. }) => self.digest.word(2),
            Err(_) => self.digest.word(3),
        }
    }

    fn rpc(&mut self, payload: &[u8]) {
        if let Ok((call, _)) = RpcCall::decode(payload) {
            self.encoded(|buffer| call.encode(buffer));
        }
        if let Ok((reply, _)) = RpcReply::decode(payload) {
            self.encoded(|buffer| reply.encode(buffer));
        }
    }

    fn encoded(&mut self, encode: impl FnOnce(&mut [u8]) -> Result<usize, EncodeError>) {
        let mut buffer = [0xa5; HEADER];
        let Ok(length) = encode(&mut buffer) else { return self.digest.word(3) };
        self.digest.word(0);
        self.digest.octets(&buffer[..length]);
        self.encoded += 1;
    }
}
