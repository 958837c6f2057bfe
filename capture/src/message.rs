//! One RPC-over-RDMA message: a Send put together from its packets, and what is known of the RPC message in it.

use core::fmt;
use std::borrow::Cow;

use rpcrdma::error::{DecodeError, DecodeErrorKind as Kind};
use rpcrdma::prefix::Prefix;
use rpcrdma::v1;
use rpcrdma::v2::{ContinuationError, Family, family_a, family_b};

use crate::header::{Decoded, Dialect, ErrorBody, Header, Place};
use crate::link::Address;
use crate::nfs::{DataItem, Operation, Procedure, WalkError};
use crate::operation::{Side, Stamp};

/// A Send on a connection that carries RPC-over-RDMA.
#[derive(Clone, Debug)]
pub struct Message {
    /// The frame that completed it.
    pub stamp: Stamp,
    /// Number of the connection, as in [`Report`](crate::event::Report).
    pub connection: u32,
    /// Which end sent it.
    pub sender: Side,
    /// Where it came from.
    pub from: Address,
    /// Where it went.
    pub to: Address,
    /// What was sent, as far as it was captured.
    pub octets: Vec<u8>,
    /// Octets that were sent.
    pub length: usize,
    /// What of it the capture holds.
    pub captured: Captured,
    /// The handle that Send With Invalidate named.
    pub invalidates: Option<u32>,
    /// How many times it had been sent before, in vain.
    pub retransmitted: u32,
    /// In which version and wire format it is read.
    pub dialect: Dialect,
    /// Octets of the Payload stream that version 2 messages before it brought, as far as they were captured.
    pub earlier: Vec<u8>,
    /// Octets they brought.
    pub earlier_length: u64,
    /// Why its receiver drops it, where it is of version 2 and does not fit to those before it.
    pub dropped: Option<Dropped>,
    /// The RPC message, as far as it is known.
    pub rpc: Option<Rpc>,
    /// What else is known, if [`Config::operations`](crate::dissector::Config::operations) asks for it.
    pub detail: Option<Box<Detail>>,
}

/// What is known of a message beside what is shown of it.
#[derive(Clone, Debug)]
pub struct Detail {
    /// Its arguments or results; `None` where nothing is known of them yet, or ever.
    pub walked: Option<Walked>,
    /// The call that it answers.
    pub answers: Option<Answered>,
    /// XID of the RPC message of a reply that was in the Reply chunk and is there whole.
    pub long_xid: Option<u32>,
    /// Calls of the connection were given up that may still be answered, or have the same XID as another that waits.
    pub forgotten: bool,
}

/// What stepping over arguments or results has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// DDP-eligible data items; their offsets count from the start of the Payload stream.
    pub items: Vec<DataItem>,
    /// Octets of the Payload stream, as it was sent, before the arguments or results.
    pub start: usize,
    /// Whether all was stepped over.
    pub end: Result<(), WalkError>,
}

/// A call that is answered.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The call, as it was sent.
    pub call: Message,
    /// Octets that the responder asked for with RDMA Read.
    pub asked_octets: u64,
    /// XID of the RPC message, where that was in a Position Zero Read chunk and is there whole.
    pub long_xid: Option<u32>,
}

/// Why a version 2 message is dropped that by itself is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// It does not fit to the messages before it.
    Misplaced(ContinuationError),
    /// It goes on with a sequence of which a message was dropped before.
    OfDroppedSequence,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misplaced(error) => error.fmt(f),
            Self::OfDroppedSequence => f.write_str("of a sequence that was dropped"),
        }
    }
}

/// How much of a Send the capture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captured {
    /// All of it.
    Whole,
    /// Its beginning; the capture cut its frames (snaplen).
    Cut,
    /// Its beginning: the capture missed later packets, so its length is not known.
    Head,
    /// Its end: the capture missed the packet it began with, so nothing in it can be read.
    Tail,
}

/// Whether an RPC message asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It asks.
    Call,
    /// It answers.
    Reply,
}

/// What is known of an RPC message. A reply names no procedure: what is said here is its call's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rpc {
    /// Whether it asks or answers.
    pub direction: Direction,
    /// It is a call from the server to the client, or the reply to one (RFC 8167).
    pub reverse: bool,
    /// What is called.
    pub procedure: Option<Procedure>,
    /// The name of that.
    pub name: Option<&'static str>,
    /// The operations of an NFSv4 COMPOUND, as far as they could be read.
    pub operations: Vec<Operation>,
    /// How RPCSEC_GSS protects it.
    pub security: Option<Security>,
    /// Of a reply: how the call ended.
    pub status: Option<Status>,
}

/// The service of RPCSEC_GSS (RFC 2203 section 5.3.1), or that the message sets up or ends a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// The header is authenticated.
    Authentication,
    /// The body is protected from change.
    Integrity,
    /// The body is sealed.
    Privacy,
    /// A control message: the procedure in the header is not called.
    Control(&'static str),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The procedure was carried out; its own status where it has one (nfsstat, 0 is success).
    Success(Option<u32>),
    /// The RPC was accepted and not carried out (`accept_stat`, RFC 5531 section 9).
    Refused(&'static str),
    /// The RPC was denied.
    Denied(&'static str),
    /// RDMA_ERROR.
    Error(ErrorBody),
}

impl Message {
    /// The header and the payload.
    ///
    /// # Errors
    /// Where the header cannot be read: see [`is_malformed`](Self::is_malformed) for whose fault that is.
    pub fn decode(&self) -> Result<Decoded<'_>, DecodeError> {
        Decoded::decode(self.dialect, self.readable())
    }

    /// The same, if it is of version 1.
    #[must_use]
    pub fn decode_v1(&self) -> Option<v1::Message<'_>> {
        self.decode().ok()?.v1()
    }

    /// The Payload stream, as far as it is in Sends: what came before, and what is in this one.
    #[must_use]
    pub fn stream<'a>(&'a self, decoded: &Decoded<'a>) -> Cow<'a, [u8]> {
        match decoded.header.place() {
            Place::Inline | Place::Part if self.earlier.is_empty() => Cow::Borrowed(decoded.payload),
            Place::Inline | Place::Part => Cow::Owned([&self.earlier, decoded.payload].concat()),
            Place::Chunk | Place::Nowhere => Cow::Borrowed(&[]),
        }
    }

    /// The capture holds all of it, and of the messages before that brought parts of its Payload stream.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.captured == Captured::Whole && self.earlier.len() as u64 == self.earlier_length
    }

    /// The four fixed words, which every version has.
    #[must_use]
    pub fn prefix(&self) -> Option<Prefix> {
        Prefix::decode(self.readable()).ok()
    }

    /// The name of its `rdma_proc`, or in version 2 of its `rdma_htype`, where it has one.
    #[must_use]
    pub fn type_name(&self) -> Option<&'static str> {
        let procedure = self.prefix()?.procedure;
        match self.dialect {
            Dialect::Version1 => procedure.name(),
            Dialect::Version2(Family::A) => family_a::HeaderType(procedure.0).name(),
            Dialect::Version2(Family::B) => family_b::HeaderType(procedure.0).name(),
            Dialect::Version2Unknown => None,
        }
    }

    /// What an RDMA_ERROR says, of whatever version it is: one that refuses a version carries that version.
    #[must_use]
    pub fn error(&self) -> Option<ErrorBody> {
        if let Dialect::Version2(_) = self.dialect
            && let Ok(Decoded { header: Header::V2(header), .. }) = self.decode()
        {
            return header.error().map(ErrorBody::V2);
        }
        v1::ErrorReply::decode(self.readable()).ok().map(|(reply, _)| ErrorBody::V1(reply.error()))
    }

    fn readable(&self) -> &[u8] {
        if self.captured == Captured::Tail { &[] } else { &self.octets }
    }

    /// What is wrong with the header. What the capture cut off is not: that is said by [`captured`](Self::captured).
    #[must_use]
    pub fn is_malformed(&self) -> Option<DecodeError> {
        let error = self.decode().err().filter(|_| self.error().is_none())?;
        if self.dialect == Dialect::Version2Unknown {
            return None;
        }
        let ends = matches!(error.kind, Kind::HeaderShort | Kind::ListTruncated | Kind::SegmentCount);
        let cut = self.captured != Captured::Whole && ends;
        (!cut).then_some(error)
    }
}
