//! Messages of several Sends (version two draft -01, "RDMA2_F_MORE Flag"; -07 sections 6.3 and 6.6.2).
//!
//! ```text
//! family A   MSG+MORE     MSG+MORE     MSG            one XID
//! family B   CALL_MIDDLE  CALL_MIDDLE  CALL_INLINE    likewise REPLY_MIDDLE, REPLY_INLINE
//!            |----------| |----------| |---------|
//!            0            offset       offset         the Payload stream
//! ```
//!
//! [`Continuation`] keeps no octets. For each message it returns the position of the payload in the Payload stream; the
//! caller copies the payload there, into as much memory as the caller is willing to spend.

use core::fmt;

use super::outline::Outline;
use super::{ErrorCode, Family, HeaderV2, ReactionV2, family_a, family_b};
use crate::error::Role;

/// State of the messages that one side of a connection has sent so far, which decides what that side may send next.
///
/// Pass all messages of that side in order, from the start of the connection. After a gap, start over: the rest of a
/// sequence whose start was not seen looks like a message of its own.
///
/// ```
/// use rpcrdma::v2::family_b::{Body, Header};
/// use rpcrdma::v2::{self, Continuation, Credit, Part};
///
/// let of = |body| v2::HeaderV2::B(Header { xid: 7, credit: Credit::new(1, 32), body });
/// let mut sender = Continuation::new();
/// let first = sender.accept(&of(Body::CallMiddle { remaining: 40 }), 100);
/// assert_eq!(first, Ok(Part::Payload { offset: 0, is_last: false }));
/// let last = sender.accept(&of(Body::CallInline(Default::default())), 40);
/// assert_eq!(last, Ok(Part::Payload { offset: 100, is_last: true }));
/// // Another sequence, and a Reply in the middle of it.
/// sender.accept(&of(Body::CallMiddle { remaining: 40 }), 100).unwrap();
/// let error = sender.accept(&of(Body::ReplyInline { writes: Default::default() }), 40).unwrap_err();
/// assert_eq!(error.code(), v2::ErrorCode::INVAL_CONT);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Continuation {
    /// The sequence that continues with the next message.
    open: Option<Sequence>,
    /// The RPC whose messages are discarded up to the last one.
    refused: Option<Rpc>,
    properties: PropertyExchange,
}

/// Position of a message's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The Send carries no part of a Payload stream: the stream is in a chunk, or there is none.
    Nothing,
    /// The Send carries a part of the Payload stream, or the whole stream.
    Payload {
        /// Offset of this part in the Payload stream, in octets.
        offset: u64,
        /// True if this part completes the Payload stream.
        is_last: bool,
    },
    /// The message is to be dropped silently: a part of a sequence that was refused before, or an `RDMA2_ERROR` with
    /// invalid flags.
    Discard,
}

/// Effect of a message that cannot be decoded on the sequences of its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unread {
    /// The message belongs to no sequence, as far as the first words show.
    Apart,
    /// The sequence of this message has ended without a last message.
    Ends,
    /// The message is to be dropped silently, like [`Part::Discard`].
    Discard,
}

/// Reason for dropping a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContinuationError {
    /// The message does not continue the open sequence: another XID, direction or header type.
    OtherMessage,
    /// The message has chunks, but is not the last of a sequence.
    Chunks,
    /// `RDMA2_F_MORE` in a header type that cannot be continued.
    MoreNotAllowed,
    /// `rdma_remaining` contradicts what was sent, whether or not the octets of this message count.
    Remaining,
    /// `RDMA2_F_TPMORE` in a header type other than `RDMA2_CONNPROP`.
    TpmoreNotAllowed,
    /// Something other than the transport properties that had to follow.
    PropertiesInterrupted,
    /// Transport properties after the last ones.
    PropertiesAfterLast(Family),
}

/// Identity of an RPC: each side numbers its own Calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rpc {
    xid: u32,
    is_reply: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sequence {
    /// XID of the [`Rpc`], not in a structure, to leave no unused octets before the next field.
    xid: u32,
    is_reply: bool,
    /// True if the sequence may end without a last message.
    may_end: bool,
    received: u64,
    /// Length of the whole in octets according to `rdma_remaining`: with the octets of the message that carries the
    /// field, and without.
    totals: Option<[Option<u64>; 2]>,
}

/// Progress of the sender's transport properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PropertyExchange {
    #[default]
    Open,
    /// The next message has to have properties too, in family A under the same XID.
    Continued {
        xid: Option<u32>,
    },
    Finished,
}

/// The properties of a header that matter to sequences.
enum Shape {
    /// Errors and grants: between all sequences.
    Control,
    Properties {
        family: Family,
        xid: Option<u32>,
        is_continued: bool,
        is_last: bool,
    },
    External {
        rpc: Rpc,
    },
    Inline {
        rpc: Rpc,
        more: bool,
        remaining: Option<u32>,
        has_chunks: bool,
    },
}

impl Shape {
    fn from_header(header: &HeaderV2<'_>) -> Self {
        match header {
            HeaderV2::A(header) => Self::from_a(header),
            HeaderV2::B(header) => Self::from_b(header),
        }
    }

    fn from_a(header: &family_a::Header<'_>) -> Self {
        let is = |flag| header.flags.contains(flag);
        let rpc = Rpc { xid: header.xid, is_reply: is(family_a::HeaderFlags::RESPONSE) };
        let more = is(family_a::HeaderFlags::MORE);
        match header.body {
            _ if header.is_grant() => Self::Control,
            family_a::Body::Msg(lists) => {
                Self::Inline { rpc, more, remaining: None, has_chunks: !lists.chunks.is_empty() }
            }
            family_a::Body::Nomsg(_) => Self::External { rpc },
            family_a::Body::Connprop(_) => Self::Properties {
                family: Family::A,
                xid: Some(header.xid),
                is_continued: more,
                is_last: !more && !is(family_a::HeaderFlags::TPMORE),
            },
            family_a::Body::Error(_) | family_a::Body::Grant => Self::Control,
        }
    }

    fn from_b(header: &family_b::Header<'_>) -> Self {
        use family_b::Body;
        let rpc = |is_reply| Rpc { xid: header.xid, is_reply };
        let middle = |is_reply, remaining| Self::Inline {
            rpc: rpc(is_reply),
            more: true,
            remaining: Some(remaining),
            has_chunks: false,
        };
        let last = |is_reply| Self::Inline { rpc: rpc(is_reply), more: false, remaining: None, has_chunks: false };
        let properties =
            |is_last: bool| Self::Properties { family: Family::B, xid: None, is_continued: !is_last, is_last };
        match header.body {
            Body::Error(_) | Body::Grant => Self::Control,
            Body::ConnpropMiddle(_) => properties(false),
            Body::ConnpropFinal(_) => properties(true),
            Body::CallExternal(_) => Self::External { rpc: rpc(false) },
            Body::ReplyExternal { .. } => Self::External { rpc: rpc(true) },
            Body::CallMiddle { remaining } => middle(false, remaining),
            Body::ReplyMiddle { remaining } => middle(true, remaining),
            Body::CallInline(_) => last(false),
            Body::ReplyInline { .. } => last(true),
        }
    }
}

impl Sequence {
    const fn rpc(&self) -> Rpc {
        Rpc { xid: self.xid, is_reply: self.is_reply }
    }
}

impl Shape {
    /// Returns the RPC of the message.
    const fn rpc(&self) -> Option<Rpc> {
        match *self {
            Self::External { rpc } | Self::Inline { rpc, .. } => Some(rpc),
            Self::Control | Self::Properties { .. } => None,
        }
    }
}

impl Continuation {
    /// Creates a side that has sent nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { open: None, refused: None, properties: PropertyExchange::Open }
    }

    /// Returns true if a sequence has begun and is not complete.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the XID of the open sequence.
    #[must_use]
    pub const fn open_xid(&self) -> Option<u32> {
        match self.open {
            Some(Sequence { xid, .. }) => Some(xid),
            None => None,
        }
    }

    /// Handles the next message of the side, with `length` octets of payload. Returns their position.
    ///
    /// Errors and grants of credits change nothing, even between two messages of a sequence. (Family A calls a grant "out
    /// of band". -07 sections 6.3.3 to 6.3.9 let nothing else come between; but two peers, each in the middle of a sequence
    /// and out of credits, could then never grant any, and two errors could answer each other without end.)
    ///
    /// # Errors
    /// A [`ContinuationError`] if the message is to be dropped. The rest of the message's own sequence is then
    /// [`Part::Discard`]; an interrupted sequence goes on.
    pub fn accept(&mut self, header: &HeaderV2<'_>, length: usize) -> Result<Part, ContinuationError> {
        let shape = Shape::from_header(header);
        if let Some(open) = self.open
            && open.may_end
            && shape.rpc().is_some_and(|rpc| rpc != open.rpc())
        {
            self.open = None;
        }
        if let Some(error) = misused_flag(header) {
            // An error is dropped like anything else, but it is not answered.
            return if header.error().is_some() { Ok(Part::Discard) } else { Err(self.refuse(&shape, error)) };
        }
        match shape {
            Shape::Control => Ok(Part::Nothing),
            Shape::Properties { family, xid, is_continued, is_last } => {
                self.properties(family, xid, is_continued, is_last)
            }
            Shape::External { rpc } => {
                if self.refused == Some(rpc) {
                    return Ok(Part::Discard);
                }
                self.next_is_not_properties()?;
                if self.open.is_some() {
                    Err(self.refuse(&shape, ContinuationError::OtherMessage))
                } else {
                    Ok(Part::Nothing)
                }
            }
            Shape::Inline { rpc, more, .. } => {
                if self.refused == Some(rpc) {
                    if !more {
                        self.refused = None;
                    }
                    return Ok(Part::Discard);
                }
                self.next_is_not_properties()?;
                self.inline(&shape, length).map_err(|error| self.refuse(&shape, error))
            }
        }
    }

    /// Records that the other side has answered the Call with this XID with an error. The sender of an incomplete
    /// sequence may then continue or abandon the sequence.
    pub fn refused(&mut self, xid: u32) {
        if let Some(open) = &mut self.open
            && open.rpc() == (Rpc { xid, is_reply: false })
        {
            open.may_end = true;
        }
    }

    /// Handles a message of this side that cannot be decoded; `octets` is the whole message. The sequence of that
    /// message stays incomplete, and the rest is [`Part::Discard`].
    pub fn unread(&mut self, family: Family, octets: &[u8]) -> Unread {
        let Some(Outline { xid, is_reply, more }) = Outline::read(family, octets) else { return Unread::Apart };
        let rpc = Rpc { xid, is_reply };
        let of = if self.open.is_some_and(|open| open.rpc() == rpc) {
            self.open = None;
            Unread::Ends
        } else if self.refused == Some(rpc) {
            Unread::Discard
        } else {
            return Unread::Apart;
        };
        self.refused = more.then_some(rpc);
        of
    }

    fn next_is_not_properties(&self) -> Result<(), ContinuationError> {
        match self.properties {
            PropertyExchange::Continued { .. } => Err(ContinuationError::PropertiesInterrupted),
            PropertyExchange::Open | PropertyExchange::Finished => Ok(()),
        }
    }

    fn properties(
        &mut self,
        family: Family,
        xid: Option<u32>,
        is_continued: bool,
        is_last: bool,
    ) -> Result<Part, ContinuationError> {
        match self.properties {
            PropertyExchange::Finished => return Err(ContinuationError::PropertiesAfterLast(family)),
            PropertyExchange::Continued { xid: expected } if expected != xid => {
                return Err(ContinuationError::PropertiesInterrupted);
            }
            _ if self.open.is_some() => return Err(ContinuationError::OtherMessage),
            PropertyExchange::Continued { .. } | PropertyExchange::Open => {}
        }
        self.properties = match (is_last, is_continued) {
            (true, _) => PropertyExchange::Finished,
            (false, true) => PropertyExchange::Continued { xid },
            (false, false) => PropertyExchange::Open,
        };
        Ok(Part::Nothing)
    }

    fn inline(&mut self, shape: &Shape, length: usize) -> Result<Part, ContinuationError> {
        let &Shape::Inline { rpc, more, remaining, has_chunks } = shape else { return Ok(Part::Nothing) };
        if self.open.is_some_and(|open| open.rpc() != rpc) {
            return Err(ContinuationError::OtherMessage);
        }
        if more && has_chunks {
            return Err(ContinuationError::Chunks);
        }
        let (offset, before) = self.open.map_or((0, None), |open| (open.received, open.totals));
        let may_end = self.open.is_some_and(|open| open.may_end);
        let received = offset.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        let totals = totals(before, offset, received, more, remaining)?;
        self.open = more.then_some(Sequence { xid: rpc.xid, is_reply: rpc.is_reply, may_end, received, totals });
        Ok(Part::Payload { offset, is_last: !more })
    }

    /// Drops a message, and the rest of the RPC.
    fn refuse(&mut self, shape: &Shape, error: ContinuationError) -> ContinuationError {
        let (rpc, is_end) = match *shape {
            Shape::Inline { rpc, more, .. } => (rpc, !more),
            Shape::External { rpc } => (rpc, false),
            Shape::Control | Shape::Properties { .. } => return error,
        };
        let was_open = self.open.is_some_and(|open| open.rpc() == rpc);
        if was_open {
            self.open = None;
        }
        // After a complete message nothing more comes; after one that takes the place of a part of its own sequence,
        // something does.
        let goes_on = !is_end && (was_open || matches!(shape, Shape::Inline { .. }));
        if goes_on {
            self.refused = Some(rpc);
        }
        error
    }
}

/// Returns the length of the whole by each reading of `rdma_remaining`, if that agrees with what was sent.
fn totals(
    before: Option<[Option<u64>; 2]>,
    offset: u64,
    received: u64,
    more: bool,
    remaining: Option<u32>,
) -> Result<Option<[Option<u64>; 2]>, ContinuationError> {
    let now = match (remaining, before) {
        (Some(remaining), _) => {
            let total =
                |start: u64| Some(start.saturating_add(u64::from(remaining))).filter(|total| *total >= received);
            [total(offset), total(received)]
        }
        (None, Some(_)) if !more => [Some(received), Some(received)],
        (None, before) => return Ok(before),
    };
    let [with, without] = now;
    let agreed = match before {
        Some([with_before, without_before]) => {
            [with.filter(|_| with == with_before), without.filter(|_| without == without_before)]
        }
        None => now,
    };
    if agreed == [None, None] { Err(ContinuationError::Remaining) } else { Ok(Some(agreed)) }
}

fn misused_flag(header: &HeaderV2<'_>) -> Option<ContinuationError> {
    use family_a::{Body, HeaderFlags};
    let HeaderV2::A(header) = header else { return None };
    let (msg, connprop) = (matches!(header.body, Body::Msg(_)), matches!(header.body, Body::Connprop(_)));
    if header.flags.contains(HeaderFlags::TPMORE) && !connprop {
        Some(ContinuationError::TpmoreNotAllowed)
    } else if header.flags.contains(HeaderFlags::MORE) && !msg && !connprop {
        Some(ContinuationError::MoreNotAllowed)
    } else {
        None
    }
}

impl ContinuationError {
    /// Returns `rdma_err` of the answer.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::OtherMessage
            | Self::Chunks
            | Self::MoreNotAllowed
            | Self::Remaining
            | Self::PropertiesInterrupted
            | Self::PropertiesAfterLast(Family::B) => ErrorCode::INVAL_CONT,
            Self::TpmoreNotAllowed | Self::PropertiesAfterLast(Family::A) => ErrorCode::INVAL_HTYPE,
        }
    }

    /// Returns the answer of the receiver, besides dropping the message. A Requester answers only errors in the
    /// exchange of transport properties.
    #[must_use]
    pub const fn reaction(self, role: Role) -> ReactionV2 {
        match (self, role) {
            (Self::TpmoreNotAllowed | Self::PropertiesInterrupted | Self::PropertiesAfterLast(_), _)
            | (_, Role::Responder) => ReactionV2::Answer(self.code()),
            (_, Role::Requester) => ReactionV2::Discard,
        }
    }
}

impl fmt::Display for ContinuationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherMessage => "not the next message of the sequence that was begun",
            Self::Chunks => "chunks before the last message of a sequence",
            Self::MoreNotAllowed => "RDMA2_F_MORE in a header type that cannot be continued",
            Self::Remaining => "an rdma_remaining that contradicts what was sent",
            Self::TpmoreNotAllowed => "RDMA2_F_TPMORE without transport properties",
            Self::PropertiesInterrupted => "not the transport properties that were to follow",
            Self::PropertiesAfterLast(_) => "transport properties after the last ones",
        })
    }
}

impl core::error::Error for ContinuationError {}
