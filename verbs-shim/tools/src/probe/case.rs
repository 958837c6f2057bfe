//! A case: the messages to send, and the possible outcomes.

use std::fmt;

use rpcrdma::private_data::PrivateData;
use rpcrdma::rules;
use rpcrdma::v2::ErrorCode;
use rpcrdma_verbs::Version;
use serde::{Deserialize, Serialize};

use crate::raw::RECEIVE;

/// Verdict about a peer's reaction to a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The peer reacted as the specification asks.
    Conforms,
    /// The specification does not say what has to happen, or the subject of the case could not be tried.
    NotJudged,
    /// The reaction is allowed or not specified, but known to cause failures between implementations.
    Hazard,
    /// The peer broke a rule.
    Violates,
}

impl Verdict {
    /// `conforms`, `not judged`, `hazard` or `violates`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conforms => "conforms",
            Self::NotJudged => "not judged",
            Self::Hazard => "hazard",
            Self::Violates => "violates",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reaction of a peer to a Send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// With an RPC Reply.
    Reply,
    /// With an RPC Reply whose results differ from the results of a plain call.
    OtherReply,
    /// With an RPC Reply that refuses the arguments, if the case distinguishes such a reply from others.
    GarbageArgs,
    /// With `ERR_CHUNK`.
    ErrChunk,
    /// With `ERR_VERS`.
    ErrVers,
    /// With an error of version 2.
    Error(ErrorCode),
    /// No answer.
    Silence,
    /// The end of the connection.
    Disconnect,
    /// An RPC Reply, or the end of the connection: which of the two depends on timing.
    ReplyOrDisconnect,
    /// With another Call in the reverse direction.
    NextCall,
    /// With the same Call in the reverse direction again.
    Retry,
    /// The peer refuses a connection.
    Refusal,
    /// With a message that is no answer.
    Other,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply => f.write_str("reply"),
            Self::OtherReply => f.write_str("reply with other results"),
            Self::GarbageArgs => f.write_str("GARBAGE_ARGS"),
            Self::ErrChunk => f.write_str("ERR_CHUNK"),
            Self::ErrVers => f.write_str("ERR_VERS"),
            Self::Error(code) => code.fmt(f),
            Self::Silence => f.write_str("silence"),
            Self::Disconnect => f.write_str("disconnect"),
            Self::ReplyOrDisconnect => f.write_str("reply or disconnect"),
            Self::NextCall => f.write_str("next call"),
            Self::Retry => f.write_str("retry"),
            Self::Refusal => f.write_str("connection refused"),
            Self::Other => f.write_str("no answer to it"),
        }
    }
}

/// A piece of a Send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The four fixed words, with this `rdma_proc` or `rdma_htype`.
    Fixed(u32),
    /// The four fixed words with an XID that is not `rdma_xid`.
    FixedOfAnother(u32),
    /// The four fixed words with XID 0, because the message belongs to no RPC.
    FixedOfNone(u32),
    /// The four fixed words of an `RDMA_MSG` with another version.
    OfVersion(u32),
    /// The four fixed words of an `RDMA_MSG` with this `rdma_credit`.
    WithCredit(u32),
    /// These words.
    Words(&'static [u32]),
    /// These octets.
    Octets(&'static [u8]),
    /// `rdma_xid` again.
    Xid,
    /// The RPC Call of the NULL procedure.
    Null,
    /// The same, with an XID that is not `rdma_xid`.
    NullOfAnother,
    /// The RPC Reply to the last Call in the reverse direction.
    Reply,
    /// The same, with an XID that is not `rdma_xid`.
    ReplyOfAnother,
    /// A part of the RPC Call of NULL: index, and number of parts.
    PartOfNull(usize, usize),
    /// A segment of memory of this length, for one use.
    Segment(Usage, u32),
    /// A segment with a part of the RPC Call of NULL: index, and number of parts.
    NullIn(usize, usize),
    /// Ends a Send; the next piece begins another. The last Send is judged.
    Next,
}

/// Number of simultaneous NULL calls of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// As many as there are credits: the lower of the requested and the granted number.
    AllCredits,
    /// One more than was granted.
    OneTooMany,
}

/// Beginning of a case's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// With the transport properties in version 2, and a call of NULL, which gives the requester credits.
    Usual,
    /// With this Send alone, after which the peer grants credits.
    Send(&'static [Piece]),
    /// With the message of the case.
    Nothing,
}

/// Permitted access of the peer to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Usage {
    /// RDMA Read.
    Read,
    /// RDMA Write.
    Write,
}

/// Possible outcomes of a case, and their verdicts. Any other outcome violates the rule. For an empty table, the
/// specification says nothing, and only the duties of all peers are judged: memory, the form of a reply, and an answer
/// afterwards.
pub(super) type Outcomes = Meanings<Outcome>;
/// Possible observations, and their verdicts.
pub(crate) type Meanings<O> = &'static [(O, Verdict)];

/// Returns the verdict about an observation.
pub(crate) fn meaning<O: PartialEq>(meanings: Meanings<O>, observed: O) -> Verdict {
    if meanings.is_empty() {
        return Verdict::NotJudged;
    }
    meanings.iter().find(|(other, _)| *other == observed).map_or(Verdict::Violates, |&(_, verdict)| verdict)
}

/// Returns the conforming observations in words.
pub(crate) fn expected<O: ToString>(meanings: Meanings<O>) -> String {
    let right = meanings.iter().filter(|(_, verdict)| *verdict == Verdict::Conforms);
    let names: Vec<String> = right.map(|(observed, _)| observed.to_string()).collect();
    if names.is_empty() { "not specified".to_owned() } else { names.join(" or ") }
}

/// A rule, and the source of a case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// The slug of the rule; `none` if there is none.
    pub(crate) rule: &'static str,
    /// A section that is not that of the rule, or of a rule that needs more than one Send.
    section: Option<&'static str>,
}

impl About {
    /// A rule of [`rules`], with the section of that rule.
    pub(crate) const fn rule(rule: &'static str) -> Self {
        Self { rule, section: None }
    }

    /// A rule, with the section that matters for the case.
    pub(crate) const fn section(rule: &'static str, section: &'static str) -> Self {
        Self { rule, section: Some(section) }
    }

    /// Returns the section.
    pub(crate) fn source(self) -> &'static str {
        self.section.or_else(|| rules::find(self.rule).map(|rule| rule.section)).unwrap_or_default()
    }
}

/// A case: data, so that a table shows all that is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// Unique within a version.
    pub(super) name: &'static str,
    pub(super) about: About,
    pub(super) version: Version,
    pub(super) private_data: &'static [u8],
    pub(super) opening: Opening,
    pub(super) send: &'static [Piece],
    /// Simultaneous calls instead of a message, if the case is about their number.
    pub(super) calls: Option<Calls>,
    pub(super) outcomes: Outcomes,
}

/// The format identifier, version 1, no flags, and the size of the receives in both directions (RFC 8797 section 4).
pub(crate) const USUAL: [u8; PrivateData::LEN] = {
    let [a, b, c, d] = PrivateData::IDENTIFIER;
    let size = (RECEIVE / 1024 - 1) as u8;
    [a, b, c, d, PrivateData::VERSION, 0, size, size]
};

impl Case {
    /// A case of version 1, on a connection set up with the usual private data.
    pub(super) const fn new(name: &'static str, about: About, send: &'static [Piece], outcomes: Outcomes) -> Self {
        let (version, opening) = (Version::One, Opening::Usual);
        Self { name, about, version, private_data: &USUAL, opening, send, calls: None, outcomes }
    }

    /// Changes the private data.
    pub(super) const fn announcing(self, private_data: &'static [u8]) -> Self {
        Self { private_data, ..self }
    }

    /// Sends simultaneous NULL calls.
    pub(super) const fn calling(self, calls: Calls) -> Self {
        Self { calls: Some(calls), ..self }
    }

    /// Changes the beginning of the connection.
    pub(super) const fn after(self, opening: Opening) -> Self {
        Self { opening, ..self }
    }

    /// Changes the version.
    pub(super) const fn for_version(self, version: Version) -> Self {
        Self { version, ..self }
    }

    /// Returns the verdict about this outcome.
    pub(super) fn verdict(&self, outcome: Outcome) -> Verdict {
        meaning(self.outcomes, outcome)
    }

    /// Returns the conforming outcomes in words.
    pub(super) fn expected(&self) -> String {
        expected(self.outcomes)
    }

    /// Returns true if the case distinguishes `GARBAGE_ARGS` from other RPC Replies.
    pub(super) fn tells_garbage(&self) -> bool {
        self.outcomes.iter().any(|(outcome, _)| *outcome == Outcome::GarbageArgs)
    }

    /// Returns true if silence is allowed.
    pub(super) fn may_be_silent(&self) -> bool {
        matches!(self.verdict(Outcome::Silence), Verdict::Conforms | Verdict::NotJudged)
    }
}

/// A reply has to come.
pub(super) const REPLY: Outcomes = &[(Outcome::Reply, Verdict::Conforms)];
/// `ERR_CHUNK` has to come.
pub(super) const ERR_CHUNK: Outcomes = &[(Outcome::ErrChunk, Verdict::Conforms)];
/// `ERR_VERS` has to come.
pub(super) const ERR_VERS: Outcomes = &[(Outcome::ErrVers, Verdict::Conforms)];
/// Silence is required. A peer that ends the connection sends nothing either, but hurts the other calls of that
/// connection.
pub(super) const SILENCE: Outcomes = &[(Outcome::Silence, Verdict::Conforms), (Outcome::Disconnect, Verdict::Hazard)];
/// A reply or `ERR_CHUNK` has to come.
pub(super) const REPLY_OR_ERR_CHUNK: Outcomes =
    &[(Outcome::Reply, Verdict::Conforms), (Outcome::ErrChunk, Verdict::Conforms)];
/// A Write chunk or Reply chunk of no segments is valid, but has no specified meaning. A responder that answers such a
/// chunk with an RPC Reply returns the chunk (RFC 8166 sections 3.4.6 and 4.3.3); an error is not forbidden.
pub(super) const OF_NO_SEGMENTS: Outcomes =
    &[(Outcome::Reply, Verdict::Conforms), (Outcome::ErrChunk, Verdict::Hazard)];
/// `RDMA2_ERR_BAD_XDR` has to come.
pub(super) const BAD_XDR: Outcomes = &[(Outcome::Error(ErrorCode::BAD_XDR), Verdict::Conforms)];
/// `RDMA2_ERR_BAD_PROPVAL` has to come.
pub(super) const BAD_PROPVAL: Outcomes = &[(Outcome::Error(ErrorCode::BAD_PROPVAL), Verdict::Conforms)];
/// `RDMA2_ERR_INVAL_HTYPE` has to come.
pub(super) const INVAL_HTYPE: Outcomes = &[(Outcome::Error(ErrorCode::INVAL_HTYPE), Verdict::Conforms)];
/// `RDMA2_ERR_INVAL_CONT` has to come.
pub(super) const INVAL_CONT: Outcomes = &[(Outcome::Error(ErrorCode::INVAL_CONT), Verdict::Conforms)];
/// A responder of version 2 may return less than a requester offers.
pub(super) const REPLY_OR_WRITE_CHUNKS: Outcomes =
    &[(Outcome::Reply, Verdict::Conforms), (Outcome::Error(ErrorCode::WRITE_CHUNKS), Verdict::Conforms)];
/// In version 2, a Write chunk or Reply chunk of no segments is not forbidden, but has no specified meaning.
pub(super) const OF_NO_SEGMENTS_V2: Outcomes =
    &[(Outcome::Reply, Verdict::Conforms), (Outcome::Error(ErrorCode::BAD_XDR), Verdict::Hazard)];
/// Nothing is specified.
pub(super) const UNSPECIFIED: Outcomes = &[];

/// A segment that the responder may write.
pub(super) const WRITABLE: Piece = Piece::Segment(Usage::Write, 64);
