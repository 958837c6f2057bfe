//! Each recorded Send, decoded, judged by either role, encoded again and answered.

use core::fmt::{self, Write};

use rpcrdma::endpoint::Version;
use rpcrdma::error::Role;
use rpcrdma::lists::Chunks;
use rpcrdma::prefix::Prefix;
use rpcrdma::rpc::{RpcCall, RpcReply};
use rpcrdma::rules::{self, Finding, Sent, SentV2};
use rpcrdma::v1::{ErrorReply, Message, ReplyHeader};
use rpcrdma::v2::{Credit, Family, MessageV2, ReplyHeaderV2};

use crate::digest::Digest;
use crate::recorded;

/// Longer than any header that is recorded.
const HEADER: usize = 4096;

/// What was made of the recorded Sends.
struct Codec {
    digest: Digest,
    sends: u32,
    decoded: u32,
    findings: u32,
    /// Headers that were encoded, or answered.
    encoded: u32,
}

/// Does that, and says what came of it.
pub(crate) fn run(output: &mut dyn Write) -> fmt::Result {
    let mut codec = Codec { digest: Digest::new(), sends: 0, decoded: 0, findings: 0, encoded: 0 };
    for (version, send) in recorded::sends() {
        codec.sends += 1;
        match version {
            Version::One => codec.version_1(send),
            Version::Two(family) => codec.version_2(family, send),
        }
    }
    let Codec { digest, sends, decoded, findings, encoded } = codec;
    writeln!(output, "{sends} Sends: {decoded} decoded, {findings} findings, {encoded} headers encoded, {digest}")
}

impl Codec {
    fn version_1(&mut self, send: &[u8]) {
        match Message::decode(send) {
            Ok(message) => {
                self.decoded += 1;
                self.digest.value(&message.header);
                self.payload(message.payload);
                self.encode(|buffer| message.header.encode(buffer));
                if let Some(chunks) = message.header.chunks() {
                    self.encode(|buffer| ReplyHeader::new(message.header.xid, 32, &chunks).encode(buffer));
                }
            }
            Err(error) => {
                let reaction = error.reaction(Role::Responder);
                self.digest.value(&(error, reaction));
                let request = Prefix::decode(send).ok();
                if let Some(reply) = request.and_then(|request| ErrorReply::new(&request, 32, reaction)) {
                    self.encode(|buffer| reply.encode(buffer));
                }
            }
        }
        for sender in [None, Some(Role::Requester), Some(Role::Responder)] {
            rules::send(&Sent::new(send, sender), &mut |finding| self.finding(finding));
        }
    }

    fn version_2(&mut self, family: Family, send: &[u8]) {
        match MessageV2::decode(family, send) {
            Ok(message) => {
                self.decoded += 1;
                self.digest.value(&message.header);
                self.payload(message.payload);
                self.encode(|buffer| message.header.encode(buffer));
                if let Some(chunks) = message.header.chunks() {
                    self.reply_v2(family, message.header.xid(), &chunks);
                }
            }
            Err(error) => self.digest.value(&error),
        }
        rules::send_v2(&SentV2::new(family, send), &mut |finding| self.finding(finding));
    }

    fn reply_v2(&mut self, family: Family, xid: u32, chunks: &Chunks<'_>) {
        self.encode(|buffer| ReplyHeaderV2::new(family, xid, Credit::new(32, 64), chunks).encode(buffer));
    }

    fn payload(&mut self, payload: &[u8]) {
        self.digest.octets(payload);
        self.digest.value(&RpcCall::decode(payload));
        self.digest.value(&RpcReply::decode(payload));
    }

    fn encode<E: fmt::Debug>(&mut self, encode: impl FnOnce(&mut [u8]) -> Result<usize, E>) {
        let mut buffer = [0xa5; HEADER];
        let length = encode(&mut buffer);
        self.digest.value(&length);
        self.digest.octets(buffer.get(..length.unwrap_or(0)).unwrap_or_default());
        self.encoded += 1;
    }

    fn finding(&mut self, finding: &Finding<'_>) {
        self.findings += 1;
        self.digest.value(&(finding.rule.slug, finding.severity, finding.offset, finding.message));
    }
}
