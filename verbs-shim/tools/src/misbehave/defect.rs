//! Defects of replies, and the reactions of requesters.

use std::fmt;

use crate::probe::{About, Meanings, Verdict};

/// Fault in the words of a reply's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HeaderFault {
    /// The message ends before the shortest header does.
    Short,
    /// The version does not exist.
    Version,
    /// `rdma_proc` has no meaning.
    Procedure,
    /// The word before the Read list is neither 0 nor 1.
    ListFlag,
    /// The lists end in the middle.
    CutLists,
    /// `RDMA_NOMSG` without a Reply chunk, which the Payload stream would be in.
    NomsgEmpty,
    /// `RDMA_MSG` without a Payload stream.
    NoPayload,
    /// No fault: `ERR_CHUNK` in answer to a valid call.
    ErrChunk,
    /// `RDMA_ERROR` with an `rdma_err` that has no meaning.
    UnknownError,
}

/// Fault of a reply, or of the RDMA operations before and after the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReplyFault {
    /// The header has a fault.
    Header(HeaderFault),
    /// A returned chunk has one segment more or less than the one that was offered.
    SegmentCount,
    /// The length of a returned chunk exceeds the length that was offered.
    LengthBeyond,
    /// This many credits are granted.
    Grant(u32),
    /// Send With Invalidate of a handle that was not offered.
    InvalidateUnknown,
    /// Send With Invalidate of an offered handle, although the requester does not announce support.
    InvalidateUnannounced,
    /// The reply has a Read list.
    ReadList,
    /// No call has the XID.
    WrongXid,
    /// `rdma_xid` is the call's, but not the XID of the RPC Reply.
    XidMismatch,
    /// The reply is sent twice.
    Duplicate,
    /// An RDMA Write follows when the requester has accepted the reply.
    LateWrite,
    /// The reply is not sent.
    Silence,
    /// The connection ends instead.
    Disconnect,
}

/// Reaction of the requester, as visible on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reaction {
    /// Another call on this connection: the requester has accepted the reply, given the call up, or has more calls at
    /// once.
    NextCall,
    /// The same call again on this connection.
    Retry,
    /// The requester ends the connection, and makes the same call on another.
    Reconnect,
    /// The requester ends the connection.
    Disconnect,
    /// Nothing.
    Silence,
    /// The requester sends `RDMA_ERROR`.
    Error,
    /// The requester's memory can no longer be written.
    Withdrawn,
    /// The requester's memory can still be written.
    Writable,
}

impl fmt::Display for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NextCall => "next call",
            Self::Retry => "retry",
            Self::Reconnect => "retry on a new connection",
            Self::Disconnect => "disconnect",
            Self::Silence => "silence",
            Self::Error => "RDMA_ERROR",
            Self::Withdrawn => "memory withdrawn",
            Self::Writable => "memory still writable",
        })
    }
}

/// A defect: data, like the cases of the probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defect {
    pub(super) name: &'static str,
    /// The broken rule, or the rule that a requester would break by obeying the reply.
    pub(super) about: About,
    pub(super) fault: ReplyFault,
    pub(super) reactions: Meanings<Reaction>,
}

/// A requester discards a reply with a bad header, and does so silently (section 4.5). Ending the connection is not
/// silent, and hurts the other calls of that connection. A next call does not show if the reply was accepted.
const DISCARD: Meanings<Reaction> = &[
    (Reaction::Silence, Verdict::Conforms),
    (Reaction::Retry, Verdict::Conforms),
    (Reaction::Reconnect, Verdict::Hazard),
    (Reaction::Disconnect, Verdict::Hazard),
    (Reaction::NextCall, Verdict::NotJudged),
];
/// The first reply was accepted before the second comes, so the next call may come at once.
const DISCARD_SECOND: Meanings<Reaction> = &[
    (Reaction::NextCall, Verdict::Conforms),
    (Reaction::Silence, Verdict::Conforms),
    (Reaction::Reconnect, Verdict::Hazard),
    (Reaction::Disconnect, Verdict::Hazard),
];
/// The requester may use the lower of the requested and the granted number (section 3.3.1).
const GO_ON: Meanings<Reaction> = &[
    (Reaction::NextCall, Verdict::Conforms),
    (Reaction::Silence, Verdict::Conforms),
    (Reaction::Disconnect, Verdict::Hazard),
    (Reaction::Reconnect, Verdict::Hazard),
];
/// `RDMA_ERROR` is permanent, and completes the call (section 4.5), so there is nothing to send again. An application
/// may well leave after losing its only call.
const COMPLETE: Meanings<Reaction> = &[
    (Reaction::NextCall, Verdict::Conforms),
    (Reaction::Silence, Verdict::Conforms),
    (Reaction::Disconnect, Verdict::NotJudged),
    (Reaction::Retry, Verdict::Hazard),
    (Reaction::Reconnect, Verdict::Hazard),
];
/// Section 8.1.3 says that the memory should be invalidated.
const WITHDRAW: Meanings<Reaction> = &[
    (Reaction::Withdrawn, Verdict::Conforms),
    (Reaction::Writable, Verdict::Hazard),
    (Reaction::Disconnect, Verdict::NotJudged),
    (Reaction::Reconnect, Verdict::NotJudged),
];
const UNSPECIFIED: Meanings<Reaction> = &[];

const fn defect(name: &'static str, about: About, fault: ReplyFault, reactions: Meanings<Reaction>) -> Defect {
    Defect { name, about, fault, reactions }
}

const fn header(name: &'static str, about: About, fault: HeaderFault, reactions: Meanings<Reaction>) -> Defect {
    defect(name, about, ReplyFault::Header(fault), reactions)
}

/// All defects, in the order of `all`: defects that may end the requester's connection come last.
pub(super) static DEFECTS: [Defect; 22] = [
    defect("grant-huge", About::rule("credit-exceeded"), ReplyFault::Grant(u32::MAX), GO_ON),
    defect("grant-zero", About::rule("credit-zero-grant"), ReplyFault::Grant(0), UNSPECIFIED),
    defect("duplicate", About::section("reply-unexpected", "RFC 8166 4.2.1"), ReplyFault::Duplicate, DISCARD_SECOND),
    defect(
        "segment-count",
        About::section("write-list-echo", "RFC 8166 3.4.6, 4.5"),
        ReplyFault::SegmentCount,
        DISCARD,
    ),
    defect("length-beyond", About::section("write-length", "RFC 8166 3.4.6, 4.5"), ReplyFault::LengthBeyond, DISCARD),
    defect("read-list", About::section("read-in-reply", "RFC 8166 4.3.1, 4.5"), ReplyFault::ReadList, DISCARD),
    header("cut-lists", About::section("list-truncated", "RFC 8166 4.5"), HeaderFault::CutLists, DISCARD),
    header("short", About::rule("header-short"), HeaderFault::Short, DISCARD),
    header("procedure-9", About::section("proc-unknown", "RFC 8166 4.5.2, 4.5"), HeaderFault::Procedure, DISCARD),
    header("flag-2", About::section("list-flag", "RFC 8166 4.3, 4.5"), HeaderFault::ListFlag, DISCARD),
    header("nomsg-empty", About::section("nomsg-empty", "RFC 8166 4.5.2, 4.5"), HeaderFault::NomsgEmpty, DISCARD),
    header("no-payload", About::section("msg-no-payload", "RFC 8166 4.2.4, 4.5"), HeaderFault::NoPayload, DISCARD),
    header("error-unknown", About::section("error-range", "RFC 8166 4.5"), HeaderFault::UnknownError, DISCARD),
    header("error-chunk", About::section("answer", "RFC 8166 4.5"), HeaderFault::ErrChunk, COMPLETE),
    // Section 4.5.2 calls it an error, but by section 4.2.1 a reply is matched by rdma_xid alone.
    defect("xid-mismatch", About::rule("xid-mismatch"), ReplyFault::XidMismatch, UNSPECIFIED),
    header("version-3", About::section("version", "RFC 8166 4.2.2, 4.5"), HeaderFault::Version, DISCARD),
    defect("wrong-xid", About::section("reply-unexpected", "RFC 8166 4.2.1"), ReplyFault::WrongXid, DISCARD),
    defect("silence", About::section("none", "RFC 8166 4.5.5"), ReplyFault::Silence, UNSPECIFIED),
    defect("late-write", About::section("rdma-write-bounds", "RFC 8166 8.1.3"), ReplyFault::LateWrite, WITHDRAW),
    defect(
        "invalidate-unannounced",
        About::section("invalidate-foreign", "RFC 8797 4.1"),
        ReplyFault::InvalidateUnannounced,
        UNSPECIFIED,
    ),
    defect(
        "invalidate-unknown",
        About::section("invalidate-foreign", "RFC 8797 4.1"),
        ReplyFault::InvalidateUnknown,
        UNSPECIFIED,
    ),
    defect("disconnect", About::section("none", "RFC 8166 4.5.4"), ReplyFault::Disconnect, UNSPECIFIED),
];
