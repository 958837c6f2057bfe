//! One RPC-over-RDMA message: a Send put together from packets, and the known properties of the RPC message inside.

use core::fmt;
use core::ops::Range;
use std::borrow::Cow;

use rpcrdma::error::{DecodeError, DecodeErrorKind};
use rpcrdma::lists::Chunks;
use rpcrdma::prefix::{self, Prefix};
use rpcrdma::rpc::MessageType;
use rpcrdma::rules::SentV2;
use rpcrdma::v1;
use rpcrdma::v2::{self, ContinuationError, Credit, Family, family_a, family_b};

use crate::carrier::operation::{Side, Stamp, StreamProgress};
use crate::link::{Address, MirrorSession};
use crate::rpc::credits::CreditUse;
use crate::rpc::header::{AnyErrorBody, Decoded, Dialect, Header, PayloadPlace};
use crate::rpc::msgp::Msgp;
use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::placement::{FramePlacement, Placements};
use crate::rpc::properties::{MessageDirection, Rpc, Walked};
use crate::rpc::ranges::Ranges;

/// A Send on a connection that carries RPC-over-RDMA.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Message {
    /// Frame that completed the message.
    pub stamp: Stamp,
    /// Number of the connection, as in [`Report`](crate::event::Report).
    pub connection: u32,
    /// The end that sent the message.
    pub sender: Side,
    /// Address of the sender.
    pub from: Address,
    /// Address of the receiver.
    pub to: Address,
    /// Session of the mirror through which the last frame of the message was captured, if known. The session is no part
    /// of the connection: copies in several sessions are one message.
    pub mirror_session: Option<MirrorSession>,
    /// Octets of the Send that were captured.
    pub octets: Vec<u8>,
    /// Octets that were sent.
    pub length: usize,
    /// Part of the Send that the capture holds.
    pub captured: Captured,
    /// The handle that Send With Invalidate named.
    pub invalidates: Option<u32>,
    /// Requester of the message's RPC, with the calls of that end that wait after the message, and the credits for
    /// these calls. `None` if the message is neither a call nor a reply.
    pub credit_use: Option<(Side, CreditUse)>,
    /// Number of earlier copies that did not arrive.
    pub retransmitted: u32,
    /// Version and wire format in which the message is read.
    pub dialect: Dialect,
    /// Part of the message's Payload stream that earlier version 2 messages brought, if any.
    pub earlier: Option<Box<Earlier>>,
    /// Octets of an RDMA_MSGP that only align data, as ranges of the octets after the header (RFC 5666 section 3.9).
    /// `None` if there is padding at an unknown place.
    pub padding: Option<Vec<Range<usize>>>,
    /// Reason why the receiver drops the message, if the message is of version 2 and does not fit the messages before.
    pub dropped: Option<Dropped>,
    /// Known properties of the RPC message, if any.
    pub rpc: Option<Rpc>,
    /// Details, if [`Config::operations`](crate::dissector::Config::operations) is set.
    pub detail: Option<Box<Detail>>,
    /// Frames that carried the message, and octets that RDMA moved for the message, if `Config::placements` asks for
    /// placements.
    pub(crate) placements: Placements,
}

/// The parts of a Payload stream that version 2 messages brought before the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Earlier {
    /// Captured beginning of the Payload stream, up to the first gap.
    pub octets: Vec<u8>,
    /// Octets that were brought, not counting messages that the capture lacks.
    pub length: u64,
    /// Reason why `octets` lacks a part of what was brought, if a part is missing.
    pub missing: Option<NotRebuilt>,
}

/// Details of a message that are not printed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Detail {
    /// Direction: call or reply. If the RPC message is unknown (a long call whose chunk is yet to be read, or an
    /// RDMA_ERROR), the chunks and the waiting calls show the direction.
    pub direction: MessageDirection,
    /// Progress of both ends when the last part of the message was sent.
    pub progress: StreamProgress,
    /// Arguments or results of the RPC message; `None` if nothing is known yet, or ever.
    pub walked: Option<Walked>,
    /// The call that the message answers.
    pub answers: Option<Answered>,
    /// Beginning of the RPC message of a reply, if that was in the Reply chunk and is complete.
    pub long: Option<Beginning>,
    /// True if calls of the connection were given up that may still be answered.
    pub forgotten: bool,
}

impl Detail {
    /// If nothing more is known.
    pub(crate) const fn new(direction: MessageDirection, progress: StreamProgress, forgotten: bool) -> Self {
        Self { direction, progress, walked: None, answers: None, long: None, forgotten }
    }
}

/// A call that is answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answered {
    /// Call as sent, with what is known about the RPC by now.
    pub call: Message,
    /// Arguments of the call; `None` if nothing is known.
    pub walked: Option<Walked>,
    /// True if the arguments became known only after the call was sent: for a long call, whose chunk was read later.
    pub walked_late: bool,
    /// Octets that the responder had read or written when answering, for each segment in the call's header: Read list,
    /// Write list and Reply chunk. `None` if this is not known of all segments.
    pub moved: Option<Vec<Ranges>>,
    /// Beginning of the RPC message, if that was in a Position Zero Read chunk and is complete.
    pub long: Option<Beginning>,
}

/// Beginning of an RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Beginning {
    /// XID of the message.
    pub xid: u32,
    /// `msg_type`, if the message is long enough to have one.
    pub kind: Option<MessageType>,
}

impl Beginning {
    /// Reads the first words of a Payload stream, if there is at least an XID.
    pub(crate) fn from_payload(payload: &[u8]) -> Option<Self> {
        let xid = payload.first_chunk().map(|word| u32::from_be_bytes(*word))?;
        Some(Self { xid, kind: MessageType::peek(payload).map(|(_, kind)| kind) })
    }
}

/// Reasons why a version 2 message is dropped although the message is correct by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dropped {
    /// The message does not fit the messages before.
    Misplaced(ContinuationError),
    /// The message continues a sequence of which a message was dropped before.
    OfDroppedSequence,
    /// The message is an RDMA_ERROR with a flag that errors cannot have.
    ErrorWithFlags,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misplaced(error) => error.fmt(f),
            Self::OfDroppedSequence => f.write_str("of a sequence that was dropped"),
            Self::ErrorWithFlags => f.write_str("an error with a flag that no error has"),
        }
    }
}

/// Part of a Send that the capture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captured {
    /// The whole Send.
    Whole,
    /// Beginning of the Send; the capture cut the frames (snaplen).
    Cut,
    /// Beginning of the Send: the capture missed later packets, so the Send's length is unknown.
    Head,
    /// End of the Send: the capture missed the first packet, so nothing in the Send can be read.
    Tail,
}

/// Returns the readable part of a Send: nothing, if the beginning is missing.
pub(crate) fn readable(captured: Captured, octets: &[u8]) -> &[u8] {
    if captured == Captured::Tail { &[] } else { octets }
}

/// Messages that an end permits the other to send in version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permitted {
    /// So many more (drafts -00 to -04, "Granting Credits").
    More(u32),
    /// So many since the connection began, modulo 2^32 (draft -07 section 4.2.1).
    InAll(u32),
}

impl Message {
    /// The header and the payload.
    ///
    /// # Errors
    /// If the header cannot be read; [`is_malformed`](Self::is_malformed) says whose fault that is.
    pub fn decode(&self) -> Result<Decoded<'_>, DecodeError> {
        Decoded::decode(self.dialect, self.readable())
    }

    /// Decodes the message, if the message is of version 1.
    #[must_use]
    pub fn decode_v1(&self) -> Option<v1::Message<'_>> {
        self.decode().ok()?.v1()
    }

    /// Returns the Payload stream in Sends, without padding: the earlier octets, and the octets of this message. If a
    /// part is missing, returns the octets before the missing part.
    #[must_use]
    pub fn stream<'a>(&'a self, decoded: &Decoded<'a>) -> Cow<'a, [u8]> {
        match decoded.header.place() {
            PayloadPlace::Inline if self.padding.as_ref().is_some_and(|padding| !padding.is_empty()) => {
                Cow::Owned(self.without_padding(decoded.payload))
            }
            PayloadPlace::Inline | PayloadPlace::Part => match &self.earlier {
                None => Cow::Borrowed(decoded.payload),
                Some(earlier) if earlier.missing.is_some() => Cow::Borrowed(&earlier.octets),
                Some(earlier) => Cow::Owned([&earlier.octets, decoded.payload].concat()),
            },
            PayloadPlace::Chunk | PayloadPlace::Nowhere => Cow::Borrowed(&[]),
        }
    }

    /// Octets of the Payload stream in messages before this one.
    #[must_use]
    pub fn earlier_length(&self) -> u64 {
        self.earlier.as_ref().map_or(0, |earlier| earlier.length)
    }

    /// Returns the reason why the Payload stream in messages before this one is not completely known, if a part is
    /// unknown.
    #[must_use]
    pub fn earlier_missing(&self) -> Option<NotRebuilt> {
        self.earlier.as_ref()?.missing
    }

    /// Returns true if the beginning or end of the message may be unknown: the capture lacks packets of the message, or
    /// messages with earlier parts.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self.captured, Captured::Head | Captured::Tail) || self.earlier_missing().is_some()
    }

    /// Returns true if the payload is in Position Zero Read chunks of the sender: a long call, or a reply that the
    /// responder provides.
    #[must_use]
    pub fn provides_payload(&self) -> bool {
        let decoded = self.decode_v1();
        decoded
            .is_some_and(|decoded| matches!(decoded.header.body, v1::Body::Nomsg(chunks) if !chunks.reads.is_empty()))
    }

    /// Returns the parts of an RDMA_MSGP: the padding fields, the payload and the chunks.
    pub(crate) fn msgp(&self) -> Option<(Msgp, &[u8], Chunks<'_>)> {
        self.prefix().filter(|prefix| prefix.procedure == prefix::Procedure::RDMA_MSGP)?;
        let v1::Message { header, header_length, payload } = self.decode_v1()?;
        match header.body {
            v1::Body::Msgp { align, thresh, chunks } => Some((Msgp { header_length, align, thresh }, payload, chunks)),
            _ => None,
        }
    }

    fn without_padding(&self, payload: &[u8]) -> Vec<u8> {
        let mut octets = Vec::with_capacity(payload.len());
        let mut from = 0;
        for padding in self.padding.iter().flatten() {
            octets.extend_from_slice(payload.get(from..padding.start).unwrap_or_default());
            from = padding.end;
        }
        octets.extend_from_slice(payload.get(from..).unwrap_or_default());
        octets
    }

    /// The four fixed words, which every version has.
    #[must_use]
    pub fn prefix(&self) -> Option<Prefix> {
        Prefix::decode(self.readable()).ok()
    }

    /// The credits that a call of version 1 requests, or a reply grants. In version 2 a credit is not for a call:
    /// [`permitted`](Self::permitted).
    #[must_use]
    pub fn credits(&self) -> Option<u32> {
        self.prefix().filter(|_| self.dialect == Dialect::Version1).map(|prefix| prefix.credit)
    }

    /// Returns true if the message belongs to a call from the server to the client. Credits of the two directions are apart (RFC 8167
    /// section 4.1).
    #[must_use]
    pub fn is_reverse(&self) -> bool {
        self.rpc.as_ref().is_some_and(|rpc| rpc.reverse)
    }

    /// Returns the messages of any kind that a message of version 2 permits the receiver to send.
    #[must_use]
    pub fn permitted(&self) -> Option<Permitted> {
        let credit = self.prefix()?.credit;
        match self.dialect {
            Dialect::Version2(Family::A) => Some(Permitted::More(Credit(credit).granted().into())),
            Dialect::Version2(Family::B) => Some(Permitted::InAll(credit)),
            Dialect::Version1 | Dialect::Version2Unknown => None,
        }
    }

    /// Returns `rdma_xid`. The XID is the first word, so even a Send too short for the other three may have an XID.
    #[must_use]
    pub fn rdma_xid(&self) -> Option<u32> {
        self.readable().first_chunk().map(|word| u32::from_be_bytes(*word))
    }

    /// `rdma_xid`; 0 where that cannot be read.
    #[must_use]
    pub fn xid(&self) -> u32 {
        self.rdma_xid().unwrap_or(0)
    }

    /// Returns the name of the message's `rdma_proc`, or in version 2 of `rdma_htype`, if there is a name.
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

    /// Returns the content of an RDMA_ERROR of any version; one that refuses a version carries that version.
    #[must_use]
    pub fn error(&self) -> Option<AnyErrorBody> {
        if let Dialect::Version2(family) = self.dialect {
            let decoded = v2::MessageV2::decode(family, self.readable()).ok()?;
            return decoded.header.error().map(AnyErrorBody::V2);
        }
        v1::ErrorReply::decode(self.readable()).ok().map(|(reply, _)| AnyErrorBody::V1(reply.error()))
    }

    /// Returns the direction (call or reply), if known. A long call does not show the procedure until the call's chunk
    /// is read, but a reply has no Read list (RFC 8166 section 4.3.1).
    #[must_use]
    pub fn direction(&self) -> Option<MessageDirection> {
        let pulls = || self.decode().is_ok_and(|decoded| decoded.header.chunks().is_some_and(|c| !c.reads.is_empty()));
        match &self.rpc {
            Some(rpc) => Some(rpc.direction),
            None if self.error().is_some() => Some(MessageDirection::Reply),
            None => pulls().then_some(MessageDirection::Call),
        }
    }

    /// Returns true if the capture lacks the part of the Send that shows the direction (call or reply).
    pub(crate) fn hides_direction(&self) -> bool {
        if self.captured == Captured::Whole || self.error().is_some() {
            return false;
        }
        let Ok(decoded) = self.decode() else { return self.is_malformed().is_none() };
        let says = match decoded.header {
            Header::V1(_) => false,
            Header::V2(header) => header.is_response().is_some(),
        };
        decoded.header.place() == PayloadPlace::Inline && !says && MessageType::peek(&self.stream(&decoded)).is_none()
    }

    /// Returns true if the capture lacks so much of the Send that the RPC is unknown.
    #[must_use]
    pub fn hides_rpc(&self) -> bool {
        let is_inline = || self.decode().is_ok_and(|decoded| decoded.header.place() == PayloadPlace::Inline);
        self.hides_direction() || self.rpc.is_none() && self.error().is_none() && is_inline()
    }

    /// Returns true if the message is about the connection and belongs to no RPC. Version 2 has such messages: credits
    /// and transport properties.
    pub(crate) fn belongs_to_no_rpc(&self) -> bool {
        self.decode().is_ok_and(|decoded| match decoded.header {
            Header::V1(_) => false,
            Header::V2(header) => decoded.header.place() == PayloadPlace::Nowhere && header.error().is_none(),
        })
    }

    /// Returns the message in the form that the rules of version 2 take: the message's own statements, and the reason
    /// why the receiver drops the message.
    pub(crate) fn sent_v2(&self, family: Family) -> SentV2<'_> {
        let mut sent = SentV2::new(family, self.readable());
        sent.length = self.length;
        sent.invalidates = self.invalidates;
        sent.dropped = self.dropped.and_then(|dropped| match dropped {
            Dropped::Misplaced(error) => Some(error),
            Dropped::OfDroppedSequence | Dropped::ErrorWithFlags => None,
        });
        sent
    }

    /// Returns the frames that carried the message, and the placements of octets that RDMA moved for the message, if
    /// [`Config::placements`](crate::Config::placements) asks for placements.
    #[must_use]
    pub fn placements(&self) -> &[FramePlacement] {
        self.placements.as_slice()
    }

    /// The readable part of the Send.
    #[must_use]
    pub fn readable(&self) -> &[u8] {
        readable(self.captured, &self.octets)
    }

    /// Returns the error in the header. A header that the capture cut is not wrong; [`captured`](Self::captured)
    /// reports that.
    #[must_use]
    pub fn is_malformed(&self) -> Option<DecodeError> {
        let error = self.decode().err().filter(|_| self.error().is_none())?;
        if self.dialect == Dialect::Version2Unknown {
            return None;
        }
        let ends = matches!(
            error.kind,
            DecodeErrorKind::HeaderShort
                | DecodeErrorKind::HeaderTruncated
                | DecodeErrorKind::ListTruncated
                | DecodeErrorKind::SegmentCount
                | DecodeErrorKind::PropertyValue
        );
        let cut = self.captured != Captured::Whole && ends;
        (!cut).then_some(error)
    }
}
