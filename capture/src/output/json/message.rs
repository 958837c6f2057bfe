//! A message: what all versions have, with the words of its version in between.

use rpcrdma::error::DecodeError;
use rpcrdma::lists::Chunks;
use rpcrdma::v1::ErrorReply;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::chunks::{Plain, Reads, Writes};
use super::faults::{Incomplete, Malformed, SendFindingObject};
use super::place::{FIELDS, PlaceObject};
use super::rpc::RpcObject;
use super::v1::{ErrorObjectV1, WordsV1};
use super::v2::{ErrorObjectV2, WordsV2};
use super::values::Hex32;
use crate::check::send::findings;
use crate::rpc::header::{AnyErrorBody, Decoded, Dialect, Header, PayloadPlace};
use crate::rpc::message::{Captured, Message};

/// A message.
pub(super) struct MessageObject<'a> {
    message: &'a Message,
    /// `None` if the message is not from a capture.
    place: Option<PlaceObject<'a>>,
    words: Words<'a>,
    lengths: Lengths,
    chunks: Chunks<'a>,
    malformed: Option<DecodeError>,
}

/// The words of one version.
enum Words<'a> {
    V1(WordsV1),
    V2(WordsV2<'a>),
}

/// Octets of the parts of a Send, if they are known.
#[derive(Default)]
struct Lengths {
    header: Option<usize>,
    payload: Option<usize>,
    trailing: Option<usize>,
}

impl<'a> MessageObject<'a> {
    /// A message whose header can be read.
    pub(super) fn new(message: &'a Message, place: Option<PlaceObject<'a>>, decoded: &Decoded<'a>) -> Self {
        let chunks = decoded.header.chunks().unwrap_or_default();
        let (words, lengths) = (Words::new(message, Some(decoded.header)), Lengths::new(message, decoded));
        Self { message, place, words, lengths, chunks, malformed: None }
    }

    /// A message whose header cannot be read. `octets` are those that can be, and `chunks` are in them.
    pub(super) fn unreadable(
        message: &'a Message,
        place: Option<PlaceObject<'a>>,
        octets: &[u8],
        chunks: Chunks<'a>,
    ) -> Self {
        let lengths = match (message.error(), ErrorReply::decode(octets)) {
            // An RDMA_ERROR of another version is not a version 1 header, but has the same layout.
            (Some(AnyErrorBody::V1(_)), Ok((error, _))) => Lengths::without_payload(message, error.encoded_len()),
            _ => Lengths::default(),
        };
        let words = Words::new(message, None);
        Self { message, place, words, lengths, chunks, malformed: message.is_malformed() }
    }
}

impl Serialize for MessageObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { message, place, words, lengths, chunks, malformed } = self;
        let prefix = message.prefix();
        let mut object = serializer.serialize_struct("message", FIELDS)?;
        object.serialize_field("type", "message")?;
        if let Some(place) = place {
            place.entries(&mut object)?;
        }
        object.serialize_field("rdma_xid", &prefix.map(|prefix| Hex32(prefix.xid)))?;
        object.serialize_field("rdma_vers", &prefix.map(|prefix| prefix.version))?;
        object.serialize_field("rdma_credit", &prefix.map(|prefix| prefix.credit))?;
        words.entries(&mut object)?;
        object.serialize_field("header_length", &lengths.header)?;
        object.serialize_field("payload_length", &lengths.payload)?;
        if words.is_msgp() {
            let padding = message.padding.as_ref();
            let length: Option<usize> = padding.map(|padding| padding.iter().map(ExactSizeIterator::len).sum());
            object.serialize_field("padding_length", &length)?;
        }
        if let Some(trailing) = lengths.trailing {
            object.serialize_field("trailing_length", &trailing)?;
        }
        object.serialize_field("reads", &Reads(chunks.reads))?;
        object.serialize_field("writes", &Writes(chunks.writes))?;
        object.serialize_field("reply", &chunks.reply.map(Plain))?;
        object.serialize_field("error", &message.error().map(ErrorObject::new))?;
        object.serialize_field("invalidates", &message.invalidates.map(Hex32))?;
        object.serialize_field("retransmitted", &message.retransmitted)?;
        if let Some(error) = *malformed {
            object.serialize_field("malformed", &Malformed::new(error, message.dialect))?;
        }
        // `check` reports those of captures.
        if place.is_none() {
            let findings: Vec<_> = findings(message).into_iter().map(SendFindingObject::new).collect();
            object.serialize_field("findings", &findings)?;
        }
        if let Some(incomplete) = Incomplete::new(message) {
            object.serialize_field("incomplete", &incomplete)?;
        }
        object.serialize_field("rpc", &message.rpc.as_ref().map(RpcObject::new))?;
        object.end()
    }
}

impl<'a> Words<'a> {
    fn new(message: &Message, header: Option<Header<'a>>) -> Self {
        let (v1, v2) = match header {
            Some(Header::V1(header)) => (Some(header), None),
            Some(Header::V2(header)) => (None, Some(header)),
            None => (None, None),
        };
        match message.dialect {
            Dialect::Version1 => Self::V1(WordsV1::new(message, v1.as_ref())),
            Dialect::Version2(family) => Self::V2(WordsV2::new(message, Some(family), v2)),
            Dialect::Version2Unknown => Self::V2(WordsV2::new(message, None, v2)),
        }
    }

    const fn is_msgp(&self) -> bool {
        matches!(self, Self::V1(words) if words.is_msgp())
    }

    fn entries<M: SerializeStruct>(&self, object: &mut M) -> Result<(), M::Error> {
        match self {
            Self::V1(words) => words.entries(object),
            Self::V2(words) => words.entries(object),
        }
    }
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

    /// Those of a Send without a Payload stream after its header. `trailing` is what follows the header anyway, if that is
    /// known.
    fn without_payload(message: &Message, header: usize) -> Self {
        let rest = message.length.saturating_sub(header);
        let trailing = Some(rest).filter(|rest| *rest > 0 && message.captured != Captured::Head);
        Self { header: Some(header), payload: Some(0), trailing }
    }
}

/// The body of an RDMA_ERROR.
#[derive(Serialize)]
#[serde(untagged)]
enum ErrorObject {
    V1(ErrorObjectV1),
    V2(ErrorObjectV2),
}

impl ErrorObject {
    fn new(error: AnyErrorBody) -> Self {
        match error {
            AnyErrorBody::V1(error) => Self::V1(ErrorObjectV1::new(error)),
            AnyErrorBody::V2(error) => Self::V2(ErrorObjectV2::new(error)),
        }
    }
}
