//! One Send, given by its octets alone: the message in it, and what a receiver finds wrong with it.

use core::fmt;

use rpcrdma::error::{DecodeError, Reaction, Role};
use rpcrdma::rpc::{Call, MessageType, Reply, RpcError};
use rpcrdma::v1::{Body, Message as DecodedV1};
use rpcrdma::v2::Family;

use crate::header::{Dialect, Place};
use crate::link::Address;
use crate::message::{Captured, Message};
use crate::operation::{Side, Stamp};
use crate::rpc::{self, Described, Way};
use crate::transaction::{read_chunks, write_lengths};

/// The message in a Send that is of no capture: frame, time, connection and addresses have no meaning.
///
/// A reply does not name the procedure that was called, so nothing is said of its results. `family` is the wire format of
/// version 2; without it, only what the octets themselves show is known.
#[must_use]
pub fn message(octets: Vec<u8>, mut family: Option<Family>) -> Message {
    let mut message = Message {
        dialect: Dialect::of(&octets, true, &mut family),
        stamp: Stamp::default(),
        connection: 0,
        sender: Side::Active,
        from: Address::Lid(0),
        to: Address::Lid(0),
        length: octets.len(),
        octets,
        captured: Captured::Whole,
        invalidates: None,
        retransmitted: 0,
        earlier: None,
        padding: Some(Vec::new()),
        dropped: None,
        rpc: None,
        detail: None,
    };
    if let Some((msgp, payload, chunks)) = message.msgp() {
        message.padding = msgp.padding_of_call(payload, Way::default(), &read_chunks(&chunks));
    }
    message.rpc = described(&message).map(|described| described.rpc);
    message
}

fn described(message: &Message) -> Option<Described> {
    let decoded = message.decode().ok().filter(|decoded| decoded.header.place() == Place::Inline)?;
    let chunks = decoded.header.chunks()?;
    let written = write_lengths(&chunks);
    match MessageType::peek(decoded.payload)?.1 {
        MessageType::CALL => {
            let mut described = rpc::call(&message.stream(&decoded), Way::default(), &read_chunks(&chunks))?.1;
            if message.padding.is_none() {
                described.forget_body();
            }
            Some(described)
        }
        MessageType::REPLY => rpc::reply(decoded.payload, None, &written),
        _ => None,
    }
}

/// What is wrong with a message, where, and what its receivers have to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Octets from the start of the Send to what is wrong.
    pub offset: usize,
    /// What it is.
    pub fault: Fault,
}

/// What can be wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The header cannot be read.
    Header(DecodeError),
    /// An RDMA_MSGP, which no one is to send (RFC 8166 section 4.6.1).
    Msgp,
    /// An RDMA_DONE, which no one is to send (section 4.6.2).
    Done,
    /// An RDMA_NOMSG without any chunk (section 4.5.2).
    NoChunks,
    /// `rdma_xid` is not the XID of the RPC message (section 4.5.2).
    Xid,
    /// A Read list in a reply (section 4.3.1).
    ReadsInReply,
    /// A reply that grants no credit (section 3.3.1).
    NoCredit,
    /// Octets after a header that has no Payload stream.
    Trailing(usize),
    /// The Payload stream does not begin with an RPC message (RFC 5531 section 9).
    NoRpc,
    /// The RPC header cannot be read.
    Rpc(RpcError),
}

impl Fault {
    /// What a receiver has to do; `None` where RFC 8166 asks for nothing and the message goes on to the RPC layer.
    #[must_use]
    pub const fn reaction(self, role: Role) -> Option<Reaction> {
        match (self, role) {
            (Self::Header(error), role) => Some(error.reaction(role)),
            (Self::Done, _) | (Self::Msgp | Self::NoChunks | Self::Xid | Self::ReadsInReply, Role::Requester) => {
                Some(Reaction::Discard)
            }
            (Self::Msgp | Self::NoChunks | Self::Xid, Role::Responder) => Some(Reaction::ErrChunk),
            (Self::ReadsInReply, Role::Responder) => None,
            (Self::NoCredit | Self::Trailing(_) | Self::NoRpc | Self::Rpc(_), _) => None,
        }
    }
}

/// Everything that is wrong with a message, first things first. A header that cannot be read hides what comes after it.
#[must_use]
pub fn findings(message: &Message) -> Vec<Finding> {
    let decoded = match message.decode() {
        Ok(decoded) => decoded,
        // An RDMA_ERROR of another version says which versions its sender knows: that is no fault.
        Err(_) if message.error().is_some() => return Vec::new(),
        Err(_) if message.dialect == Dialect::Version2Unknown => return Vec::new(),
        Err(error) => return vec![Finding { offset: error.offset, fault: Fault::Header(error) }],
    };
    // What may be wrong with a version 2 message that can be read is for `check` to say.
    let Some(decoded) = decoded.v1() else { return Vec::new() };
    let mut findings = Vec::new();
    let mut find = |offset, fault| findings.push(Finding { offset, fault });
    let end = decoded.header_length;
    match decoded.header.body {
        Body::Msgp { .. } => find(PROCEDURE, Fault::Msgp),
        Body::Done => find(PROCEDURE, Fault::Done),
        Body::Nomsg(chunks) if chunks.is_empty() => find(LISTS, Fault::NoChunks),
        _ => {}
    }
    match decoded.header.body {
        Body::Msg(chunks) | Body::Msgp { chunks, .. } => {
            let is_reply = matches!(MessageType::peek(decoded.payload), Some((_, MessageType::REPLY)));
            if is_reply && decoded.header.credit == 0 {
                find(CREDIT, Fault::NoCredit);
            }
            if is_reply && !chunks.reads.is_empty() {
                find(LISTS, Fault::ReadsInReply);
            }
            payload(&decoded, end, &mut find);
        }
        _ if !decoded.payload.is_empty() => find(end, Fault::Trailing(decoded.payload.len())),
        _ => {}
    }
    findings
}

/// Offsets of `rdma_credit`, `rdma_proc` and the Read list.
const CREDIT: usize = 8;
const PROCEDURE: usize = 12;
const LISTS: usize = 16;

fn payload(decoded: &DecodedV1<'_>, at: usize, find: &mut impl FnMut(usize, Fault)) {
    let Some((xid, kind)) = MessageType::peek(decoded.payload) else { return find(at, Fault::NoRpc) };
    if xid != decoded.header.xid {
        find(at, Fault::Xid);
    }
    let error = match kind {
        MessageType::CALL => Call::decode(decoded.payload).err(),
        MessageType::REPLY => Reply::decode(decoded.payload).err(),
        _ => return find(at + 4, Fault::NoRpc),
    };
    if let Some(error) = error {
        find(at + error.offset, Fault::Rpc(error));
    }
}

/// The text of an error that begins with its offset: a finding says that itself.
fn without_offset(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    text.split_once(": ").map_or(text.clone(), |(_, text)| text.to_owned())
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(error) => f.write_str(&without_offset(error)),
            Self::Msgp => f.write_str("RDMA_MSGP, which no one is to send (RFC 8166 section 4.6.1)"),
            Self::Done => f.write_str("RDMA_DONE, which no one is to send (RFC 8166 section 4.6.2)"),
            Self::NoChunks => f.write_str("RDMA_NOMSG without any chunk (RFC 8166 section 4.5.2)"),
            Self::Xid => f.write_str("the RPC message has another XID than rdma_xid (RFC 8166 section 4.5.2)"),
            Self::ReadsInReply => f.write_str("a Read list in a reply (RFC 8166 section 4.3.1)"),
            Self::NoCredit => f.write_str("a reply that grants no credit (RFC 8166 section 3.3.1)"),
            Self::Trailing(1) => f.write_str("1 octet after the header, without a meaning"),
            Self::Trailing(count) => write!(f, "{count} octets after the header, without a meaning"),
            Self::NoRpc => f.write_str("the Payload stream does not begin with an RPC message (RFC 5531 section 9)"),
            Self::Rpc(error) => f.write_str(&without_offset(error)),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "octet {}: {}", self.offset, self.fault)?;
        for role in [Role::Responder, Role::Requester] {
            match self.fault.reaction(role) {
                Some(Reaction::Discard) => write!(f, "; a {role} discards it")?,
                Some(reaction) => write!(f, "; a {role} answers with {reaction}")?,
                None => {}
            }
        }
        Ok(())
    }
}
