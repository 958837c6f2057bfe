//! A message: a Send, with the frame and the time.

use rpcrdma::v1::ErrorReply;
use rpcrdma_dissector::check::send::findings;
use rpcrdma_dissector::{AnyErrorBody, Captured, Decoded, Dialect, Files, Header, Message, PayloadPlace};
use serde::Serialize;

use super::chunks::{ChunkObjects, Plain, ReadObject};
use super::error::ErrorObject;
use super::faults::{Incomplete, Malformed, SendFindingObject};
use super::fields::readable;
use super::v1::MsgpObject;
use super::v2::VersionTwoObject;
use crate::record::called::RpcObject;
use crate::record::frame::{EndsObject, FrameObject, MirrorSessionObject};
use crate::record::values::{Hex32, NameObject};

/// A Send on a connection that carries RPC-over-RDMA.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageObject<'a> {
    #[serde(flatten)]
    place: FrameObject<'a>,
    #[serde(flatten)]
    ends: EndsObject,
    /// The session of the mirror that captured the last frame of the Send; null without an encapsulation that has a
    /// number.
    mirror_session: Option<MirrorSessionObject>,
    /// Number of earlier copies that did not arrive.
    retransmitted: u32,
    #[serde(flatten)]
    send: SendObject<'a>,
}

impl<'a> MessageObject<'a> {
    /// Returns the record of a message.
    #[must_use]
    pub fn new(message: &'a Message, files: &'a Files) -> Self {
        Self {
            place: FrameObject::new(message.stamp, message.connection, files),
            ends: EndsObject::of_message(message.from, message.to, message.direction()),
            mirror_session: message.mirror_session.map(MirrorSessionObject::new),
            retransmitted: message.retransmitted,
            send: SendObject::new(message),
        }
    }
}

/// A Send that is not from a capture, such as one typed in by hand.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeaderObject<'a> {
    #[serde(flatten)]
    send: SendObject<'a>,
    /// Rules that the message breaks. For messages of a capture, `check` reports broken rules.
    findings: Vec<SendFindingObject>,
}

impl<'a> HeaderObject<'a> {
    /// Returns the record of a Send, without frame, time, connection and addresses.
    #[must_use]
    pub fn new(message: &'a Message) -> Self {
        let findings = findings(message).into_iter().map(SendFindingObject::new).collect();
        Self { send: SendObject::new(message), findings }
    }
}

/// Content of a Send.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SendObject<'a> {
    /// `rdma_xid` (RFC 8166 section 4.2.1); null if the Send, or the captured part, ends before. The next three are
    /// null if the Send ends before the last of the three.
    rdma_xid: Option<Hex32>,
    /// `rdma_vers`: the version of RPC-over-RDMA.
    rdma_vers: Option<u32>,
    /// `rdma_credit`: the credits that are requested or granted.
    rdma_credit: Option<u32>,
    /// The name of `rdma_proc`, or the number in digits. Null in version 2.
    rdma_proc: Option<NameObject>,
    /// Octets of the transport header; null if the header cannot be read.
    header_octets: Option<usize>,
    /// Octets of the Payload stream after the header; null if that is not known.
    payload_octets: Option<usize>,
    /// Octets after a message that has no Payload stream.
    trailing_octets: Option<usize>,
    /// The Read list (RFC 8166 section 3.4), with segments grouped into Read chunks.
    reads: Vec<ReadObject>,
    /// The Write list.
    writes: Vec<Plain>,
    /// The Reply chunk.
    reply: Option<Plain>,
    /// The body of an RDMA_ERROR.
    error: Option<ErrorObject>,
    /// The handle that a Send With Invalidate invalidates.
    invalidates: Option<Hex32>,
    /// Fields that only an RDMA_MSGP has.
    msgp: Option<MsgpObject>,
    /// Fields that only a message of version 2 has.
    version_2: Option<VersionTwoObject<'a>>,
    /// Error in a header that cannot be read.
    malformed: Option<Malformed>,
    /// Part of the message that the capture lacks.
    incomplete: Option<Incomplete>,
    /// The RPC message in the Send, if readable.
    rpc: Option<RpcObject>,
}

impl<'a> SendObject<'a> {
    fn new(message: &'a Message) -> Self {
        if let Ok(decoded) = message.decode() {
            let chunks = ChunkObjects::new(&decoded.header.chunks().unwrap_or_default());
            return Self::with(message, Some(decoded.header), Lengths::new(message, &decoded), chunks);
        }
        let octets = readable(message);
        let lengths = match (message.error(), ErrorReply::decode(octets)) {
            // An RDMA_ERROR of another version is not a version 1 header, but has the same layout.
            (Some(AnyErrorBody::V1(_)), Ok((error, _))) => Lengths::without_payload(message, error.encoded_len()),
            _ => Lengths::default(),
        };
        let malformed = message.is_malformed().map(|error| Malformed::new(error, message.dialect));
        let chunks = ChunkObjects::salvaged(message.dialect, octets);
        Self { malformed, ..Self::with(message, None, lengths, chunks) }
    }

    fn with(message: &'a Message, header: Option<Header<'a>>, lengths: Lengths, chunks: ChunkObjects) -> Self {
        let prefix = message.prefix();
        let is_version_1 = message.dialect == Dialect::Version1;
        let (v1, v2) = match header {
            Some(Header::V1(header)) => (Some(header), None),
            Some(Header::V2(header)) => (None, Some(header)),
            None => (None, None),
        };
        let procedure = prefix.map(|prefix| prefix.procedure).filter(|_| is_version_1);
        Self {
            rdma_xid: message.rdma_xid().map(Hex32),
            rdma_vers: prefix.map(|prefix| prefix.version),
            rdma_credit: prefix.map(|prefix| prefix.credit),
            rdma_proc: procedure.map(|procedure| NameObject { name: procedure.name(), number: procedure.0 }),
            header_octets: lengths.header,
            payload_octets: lengths.payload,
            trailing_octets: lengths.trailing,
            reads: chunks.reads,
            writes: chunks.writes,
            reply: chunks.reply,
            error: message.error().map(ErrorObject::new),
            invalidates: message.invalidates.map(Hex32),
            msgp: v1.and_then(|header| MsgpObject::new(message, &header)),
            version_2: VersionTwoObject::new(message, v2),
            malformed: None,
            incomplete: Incomplete::new(message),
            rpc: message.rpc.as_ref().map(RpcObject::new),
        }
    }
}

/// Octets of the parts of a Send, if known.
#[derive(Default)]
struct Lengths {
    header: Option<usize>,
    payload: Option<usize>,
    trailing: Option<usize>,
}

impl Lengths {
    fn new(message: &Message, decoded: &Decoded<'_>) -> Self {
        let header = Some(decoded.header_length);
        if message.captured == Captured::Head {
            return Self { header, ..Self::default() };
        }
        match decoded.header.place() {
            PayloadPlace::Inline | PayloadPlace::Part => {
                let rest = message.length.saturating_sub(decoded.header_length);
                Self { header, payload: Some(rest), trailing: None }
            }
            PayloadPlace::Chunk | PayloadPlace::Nowhere => Self::without_payload(message, decoded.header_length),
        }
    }

    /// Returns the sizes of a Send without a Payload stream after its header. `trailing` is the number of octets that
    /// follow the header anyway, if that is known.
    fn without_payload(message: &Message, header: usize) -> Self {
        let rest = message.length.saturating_sub(header);
        let trailing = Some(rest).filter(|rest| *rest > 0 && message.captured != Captured::Head);
        Self { header: Some(header), payload: Some(0), trailing }
    }
}
