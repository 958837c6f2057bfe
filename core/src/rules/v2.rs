//! Version 2 (draft-ietf-nfsv4-rpcrdma-version-two).
//!
//! The rules of one family name only the drafts of that family. What depends on earlier messages is supplied by the
//! caller, from [`Continuation`](crate::v2::Continuation) and from other knowledge about the connection.

mod payload;

pub use payload::{V2_DIRECTION, V2_XID_MISMATCH};

use core::fmt;

use super::framing::ERROR_RANGE;
use super::read_list::{READ_IN_REPLY, READ_POSITION_ZERO_IN_MSG};
use super::write_list::REPLY_CHUNK_IN_MSG;
use super::{
    Counted, Exchange, Finding, Lists, Rule, RuleReport, Sent, Severity, framing, location, read_list, write_list,
};
use crate::error::{DecodeError, DecodeErrorKind, Role};
use crate::lists::Chunks;
use crate::prefix::Prefix;
use crate::rpc::MessageType;
use crate::v2::family_a::{self, Body, HeaderFlags};
use crate::v2::{
    ChunkLists, ContinuationError, ErrorBodyV2, ErrorCode, FIRST_MESSAGE, Family, HeaderV2, MessageV2, ReactionV2,
    VERSION, family_b,
};

/// A Send of version 2 to judge. [`Self::new`] decodes the octets of a complete Send; a caller that knows more sets further
/// fields.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SentV2<'a> {
    /// Its octets.
    pub octets: &'a [u8],
    /// The decoded Send, or the reason why decoding failed.
    pub decoded: Result<MessageV2<'a>, DecodeError>,
    /// First four words of the Send.
    pub prefix: Option<Prefix>,
    /// Length on the wire in octets; fewer may be available.
    pub length: usize,
    /// True for the client's first message on the connection.
    pub is_first: bool,
    /// True if a Payload stream would begin in this Send: not a later message of a sequence.
    pub begins: bool,
    /// Contradiction to earlier messages of the sender.
    pub dropped: Option<ContinuationError>,
    /// The handle that Send With Invalidate named.
    pub invalidates: Option<u32>,
    /// `rdma_inv_handle` of the answered Call, 0 for none; `None` if the Call is not known.
    pub offered: Option<u32>,
}

impl<'a> SentV2<'a> {
    /// Creates a complete Send that is not the first, with nothing to say about the messages before.
    #[must_use]
    pub fn new(family: Family, octets: &'a [u8]) -> Self {
        Self {
            octets,
            decoded: MessageV2::decode(family, octets),
            prefix: Prefix::decode(octets).ok(),
            length: octets.len(),
            is_first: false,
            begins: true,
            dropped: None,
            invalidates: None,
            offered: None,
        }
    }

    fn header(&self) -> Option<HeaderV2<'a>> {
        self.decoded.as_ref().ok().map(|message| message.header)
    }

    fn family_a(&self) -> Option<family_a::Header<'a>> {
        match self.header()? {
            HeaderV2::A(header) => Some(header),
            HeaderV2::B(_) => None,
        }
    }

    /// Returns the reaction of the receiver in this role to a broken rule of [`send_v2`]; `None` if the drafts require
    /// none.
    ///
    /// ```
    /// use rpcrdma::error::Role;
    /// use rpcrdma::rules::{self, SentV2};
    /// use rpcrdma::v2::{ErrorCode, Family, ReactionV2};
    ///
    /// // RDMA2_REPLY_EXTERNAL without the Reply chunk it is about.
    /// let octets = [0, 0, 0, 9, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0];
    /// let sent = SentV2::new(Family::B, &octets);
    /// let mut reactions = None;
    /// rules::send_v2(&sent, &mut |finding| {
    ///     reactions = Some([Role::Responder, Role::Requester].map(|role| sent.reaction(finding.rule, role)));
    /// });
    /// assert_eq!(reactions, Some([Some(ReactionV2::Answer(ErrorCode::BAD_XDR)), Some(ReactionV2::Discard)]));
    /// ```
    #[must_use]
    pub fn reaction(&self, rule: &Rule, role: Role) -> Option<ReactionV2> {
        let message = match self.decoded {
            Err(error) => return Some(ReactionV2::to(error, role)),
            Ok(message) => message,
        };
        let code = rows().find(|row| core::ptr::eq(row.rule, rule))?.answer?;
        Some(match self.dropped {
            Some(error) => error.reaction(role),
            // An error is never answered.
            None if message.header.error().is_some() => ReactionV2::Discard,
            None => ReactionV2::by(code, role),
        })
    }

    /// Returns the contradiction to earlier messages, if the Send is of this family.
    fn misplaced(&self, family: Family) -> Option<ContinuationError> {
        self.dropped.filter(|_| self.header().is_some_and(|header| header.family() == family))
    }
}

/// A row of a table of rules that judge one Send of version 2.
#[derive(Debug)]
pub struct SendV2Row {
    /// The rule.
    pub rule: &'static Rule,
    /// `rdma_err` of a Responder's answer to a Send that breaks the rule; `None` if the drafts require no answer.
    pub answer: Option<ErrorCode>,
    /// Function that reports the findings.
    pub judge: fn(&SentV2<'_>, &mut RuleReport<'_>),
}

/// Offset of `rdma_credit`.
const CREDIT: usize = 8;
/// Offset of `rdma_htype`.
const HEADER_TYPE: usize = 12;
/// Offset of `rdma_flags` of family A.
const FLAGS: usize = 16;

/// The first message of a client has at most 1024 octets (version 2).
pub static V2_FIRST_MESSAGE: Rule =
    Rule::new("v2-first-message", Severity::Error, "version two -01 Initial Connection State; -07 4.3")
        .summary("the first message of a client has at most 1024 octets")
        .reason("It may reach a server of version 1, which must be able to receive it and refuse the version.")
        .correct("A client begins with a message that fits the inline threshold of version 1.");

/// `RDMA2_F_RESPONSE` says whether the RPC message is a reply (family A).
pub static V2_RESPONSE_FLAG: Rule = Rule::new(
    "v2-response-flag",
    Severity::Error,
    "version two -01 RDMA2_F_RESPONSE Flag",
)
.summary("RDMA2_F_RESPONSE is set in replies and errors, and not in calls (drafts -00 to -02)")
.reason(
    "It tells a receiver whose XID it is, without a look at the payload: a call would be taken for the reply to \
             another.",
)
.correct(
    "A sender sets it according to msg_type, and in every RDMA2_ERROR. For a call in a chunk, this is judged when \
              its answer comes, because the chunk has been read by then.",
);

/// A reply invalidates the handle that the call offers, and no other (version 2).
pub static V2_INV_HANDLE: Rule =
    Rule::new("v2-inv-handle", Severity::Error, "version two -01 Remote Invalidation; -07 6.5")
        .summary("rdma_inv_handle of a call is 0 or a handle in its header, and its reply invalidates no other")
        .reason("Another handle may be in use for another call; with 0, the requester invalidates everything itself.")
        .correct(
            "A responder uses Send With Invalidate with that handle, or a plain Send. It never invalidates \
              with errors, grants or transport properties; -00 and -01 do not forbid that, so in their wire \
              format it is a hazard.",
        );

static RULES: [SendV2Row; 14] = [
    SendV2Row {
        rule: &Rule::new("v2-reserved-flag", Severity::Warning, "version two -01 Transport Header Prefix")
            .summary("rdma_flags has no bits without a meaning (drafts -00 to -02)")
            .reason("A later draft may give them one, and receivers would then act on it.")
            .correct("A sender writes 0 there. A receiver ignores them."),
        answer: None,
        judge: reserved_flag,
    },
    SendV2Row { rule: &V2_RESPONSE_FLAG, answer: None, judge: response_flag },
    SendV2Row {
        rule: &Rule::new("v2-more-type", Severity::Error, "version two -01 RDMA2_F_MORE Flag")
            .summary("RDMA2_F_MORE is set only in RDMA2_MSG and RDMA2_CONNPROP (drafts -00 to -02)")
            .reason("Nothing else can be continued; a receiver would wait for the rest.")
            .correct(
                "A sender leaves it clear elsewhere. A receiver discards the message, and a responder answers \
                      RDMA2_ERR_INVAL_CONT unless it is an error.",
            ),
        answer: Some(ErrorCode::INVAL_CONT),
        judge: more_type,
    },
    SendV2Row {
        rule: &Rule::new("v2-more-sequence", Severity::Error, "version two -01 RDMA2_F_MORE Flag")
            .summary(
                "a message with RDMA2_F_MORE is followed by one with the same rdma_xid, rdma_htype and direction \
                      (drafts -00 to -02)",
            )
            .reason("The receiver joins the payloads, and cannot tell what belongs together.")
            .correct(
                "A sender finishes a sequence before it begins another; errors and grants may come between. A \
                      receiver discards what does not fit, and a responder answers RDMA2_ERR_INVAL_CONT.",
            ),
        answer: Some(ErrorCode::INVAL_CONT),
        judge: more_sequence,
    },
    SendV2Row {
        rule: &Rule::new("v2-more-chunks", Severity::Error, "version two -01 RDMA2_F_MORE Flag")
            .summary("a message with RDMA2_F_MORE has no chunks (drafts -00 to -02)")
            .reason("Positions count in the whole Payload stream, which is known only with the last message.")
            .correct(
                "A sender puts all chunks into the last message of a sequence. A receiver discards any other \
                      message with chunks, and a responder answers RDMA2_ERR_INVAL_CONT.",
            ),
        answer: Some(ErrorCode::INVAL_CONT),
        judge: more_chunks,
    },
    SendV2Row {
        rule: &Rule::new("v2-tpmore", Severity::Error, "version two -01 RDMA2_F_TPMORE Flag")
            .summary(
                "RDMA2_F_TPMORE is set in every RDMA2_CONNPROP except the last, and nowhere else (drafts -01, -02)",
            )
            .reason("When the flag is clear, the other end takes the properties as complete and acts on them.")
            .correct(
                "A sender sets it while more properties follow, and sends none after that. A receiver discards \
                      the message and answers RDMA2_ERR_INVAL_HTYPE.",
            ),
        answer: Some(ErrorCode::INVAL_HTYPE),
        judge: tpmore,
    },
    SendV2Row {
        rule: &Rule::new("v2-credit-zero", Severity::Error, "version two -01 Granting Credits")
            .summary("the low 16 bits of rdma_credit are not 0 (drafts -00 to -02)")
            .reason("The other end could not send anything any more, so it would never learn of new credits.")
            .correct(
                "A sender grants at least one credit with each message. Drafts -03 and -04 say so too, but share \
                      their wire format with -05 to -07, which allow 0: in that format 0 is not judged.",
            ),
        answer: None,
        judge: credit_zero,
    },
    SendV2Row { rule: &V2_FIRST_MESSAGE, answer: None, judge: first_message },
    SendV2Row { rule: &V2_INV_HANDLE, answer: None, judge: inv_handle },
    SendV2Row {
        rule: &Rule::new("v2-property", Severity::Error, "version two -01 Transport Properties Model; -07 5.1")
            .summary("the value of a transport property has the length of its type")
            .reason("The receiver cannot read it, and applies no property of that message.")
            .correct(
                "A sender encodes the value by its XDR type; an empty value means the default. A receiver \
                      answers RDMA2_ERR_BAD_PROPVAL.",
            ),
        answer: Some(ErrorCode::BAD_PROPVAL),
        judge: property,
    },
    SendV2Row {
        rule: &Rule::new("v2-continuation", Severity::Error, "version two -07 6.3.3, 6.3.4, 6.3.6, 6.3.9")
            .summary(
                "a _MIDDLE type is followed by the same type or by its last type, and rdma_remaining counts down \
                      (drafts -03 to -07)",
            )
            .reason("The receiver joins the payloads, and cannot tell what belongs together.")
            .correct(
                "A sender finishes a sequence before it begins another; errors and grants may come between. \
                      RDMA2_CONNPROP_FINAL is the last of all properties. The drafts do not say whether \
                      rdma_remaining counts the octets of its own message: either is accepted throughout a sequence. \
                      A responder answers RDMA2_ERR_INVAL_CONT.",
            ),
        answer: Some(ErrorCode::INVAL_CONT),
        judge: continuation,
    },
    SendV2Row {
        rule: &Rule::new("v2-htype", Severity::Error, "version two -01 Header Types; -07 6.1, 7.1.3")
            .summary("rdma_htype is a header type of the wire format in use")
            .reason("It says what follows it. If it is unknown, nothing more can be read.")
            .correct(
                "A sender uses those of the drafts: 0, 1, 4, 5 and 6 in -00 to -02, 4 to 13 in -03 to -07. A \
                      receiver discards any other, and a responder answers RDMA2_ERR_INVAL_HTYPE.",
            ),
        answer: Some(ErrorCode::INVAL_HTYPE),
        judge: htype,
    },
    SendV2Row {
        rule: &Rule::new("v2-grant-xid", Severity::Error, "version two -07 6.3.2")
            .summary("RDMA2_GRANT has rdma_xid 0 (drafts -03 to -07)")
            .reason("It belongs to no RPC; another value may be the XID of a call that waits.")
            .correct("A sender writes 0 there. A receiver ignores it."),
        answer: None,
        judge: grant_xid,
    },
    SendV2Row {
        rule: &Rule::new("v2-trailing", Severity::Warning, "version two -01 Header Types; -07 6.3")
            .summary("nothing follows a header without a Payload stream")
            .reason("What follows has no meaning: sender and receiver disagree about where the header ends.")
            .correct(
                "A sender ends the Send with the header if it is an error, a grant or transport properties, or \
                      if its RPC message is in a chunk.",
            ),
        answer: None,
        judge: trailing,
    },
];

/// Returns the rows of [`send_v2`].
pub(super) fn rows() -> impl Iterator<Item = &'static SendV2Row> {
    RULES.iter().chain(&payload::RULES)
}

/// Judges one Send of version 2. A header that ends too soon, or a list that does not parse, breaks the rules of
/// version 1 for that: `header-short`, `list-flag`, `list-truncated`. So do segments (`segment-wraps`,
/// `segment-empty`), an `ERR_VERS` (`error-range`), and, in family A, chunks where the receiver looks for none
/// (`read-in-reply`, `read-position-zero-in-msg`, `reply-chunk-in-msg`).
///
/// ```
/// use rpcrdma::rules::{self, SentV2};
/// use rpcrdma::v2::Family;
///
/// // RDMA2_GRANT of draft -02 with bit 4 of rdma_flags.
/// let octets = [0, 0, 0, 0, 0, 0, 0, 2, 0, 32, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0x10];
/// let mut found = None;
/// rules::send_v2(&SentV2::new(Family::A, &octets), &mut |finding| found = Some((finding.rule.slug, finding.offset)));
/// assert_eq!(found, Some(("v2-reserved-flag", 16)));
/// ```
pub fn send_v2(sent: &SentV2<'_>, take: &mut dyn FnMut(&Finding<'_>)) {
    for row in rows() {
        (row.judge)(sent, &mut RuleReport::new(row.rule, take));
    }
    match &sent.decoded {
        Ok(message) => as_in_version_1(&message.header, take),
        Err(error) => {
            // Octets that would be an error of version 1 are no error here.
            let malformed =
                Sent { decoded: Err(*error), error: None, length: sent.length, ..Sent::new(sent.octets, None) };
            for row in framing::malformed() {
                (row.judge)(&malformed, &mut RuleReport::new(row.rule, take));
            }
        }
    }
}

/// Judges a header by the version 1 rules that are the same in version 2.
fn as_in_version_1(header: &HeaderV2<'_>, take: &mut dyn FnMut(&Finding<'_>)) {
    let lists = Lists::from(header);
    for lists in [lists, location::call_chunk(header)] {
        if lists.chunks.is_empty() {
            continue;
        }
        for (rule, judge) in read_list::of_lists() {
            judge(lists, &mut RuleReport::new(rule, take));
        }
    }
    match *header {
        HeaderV2::A(header) => chunks_of_family_a(&header, lists, take),
        HeaderV2::B(_) => {}
    }
    // An `rdma_err` that no draft has may be an extension's (draft -07 appendix B.4): it is not judged.
    if let Some(ErrorBodyV2::Vers { low, high }) = header.error() {
        let at = prefix_length(header).saturating_add(4);
        framing::version_range(low..=high, VERSION, at, &mut RuleReport::new(&ERROR_RANGE, take));
    }
}

/// Chunks of family A where the receiver looks for none.
fn chunks_of_family_a(header: &family_a::Header<'_>, lists: Lists<'_>, take: &mut dyn FnMut(&Finding<'_>)) {
    let Lists { chunks: Chunks { reads, reply, .. }, .. } = lists;
    let is_reply = header.flags.contains(HeaderFlags::RESPONSE);
    let is_inline = matches!(header.body, Body::Msg(_));
    let mut broken = |rule, at, values: fmt::Arguments<'_>| RuleReport::new(rule, take).broken(at, values);
    if is_reply && !reads.is_empty() {
        let values = format_args!("a reply with {} in its Read list", Counted(reads.len(), "segment"));
        broken(&READ_IN_REPLY, location::read_list(lists), values);
    }
    if !is_reply
        && is_inline
        && let Some(index) = read_list::first_at(reads, 0)
    {
        let at = location::read_segment(lists, index).saturating_add(4);
        broken(&READ_POSITION_ZERO_IN_MSG, at, format_args!("Position 0 in the Read list of RDMA2_MSG"));
    }
    if let Some(length) = reply.map(|chunk| chunk.length()).filter(|&length| is_reply && is_inline && length > 0) {
        let values = format_args!("RDMA2_MSG, and the Reply chunk comes back with {length} octets");
        broken(&REPLY_CHUNK_IN_MSG, location::reply_chunk(lists), values);
    }
}

/// Judges a Reply of version 2 by the answered Call: `write-list-echo`, `write-length`, `write-fill-order`.
pub fn exchange_v2(exchange: &Exchange<'_>, take: &mut dyn FnMut(&Finding<'_>)) {
    for row in write_list::of_version_2() {
        (row.judge)(exchange, &mut RuleReport::new(row.rule, take));
    }
}

/// Judges a header by the `msg_type` of the RPC message, if the message begins in a chunk: `v2-response-flag` in family
/// A, `v2-direction` in family B.
///
/// ```
/// use rpcrdma::rpc::MessageType;
/// use rpcrdma::rules;
/// use rpcrdma::v2::family_b::{Body, Header};
/// use rpcrdma::v2::{Credit, HeaderV2};
///
/// let body = Body::ReplyExternal { writes: Default::default(), reply: None };
/// let header = HeaderV2::B(Header { xid: 7, credit: Credit::new(1, 32), body });
/// let mut found = None;
/// rules::long_direction_v2(&header, MessageType::CALL, &mut |finding| found = Some(finding.rule.slug));
/// assert_eq!(found, Some("v2-direction"));
/// ```
pub fn long_direction_v2(header: &HeaderV2<'_>, kind: MessageType, take: &mut dyn FnMut(&Finding<'_>)) {
    match header {
        HeaderV2::A(a) => {
            let is_set = a.flags.contains(HeaderFlags::RESPONSE);
            flag_of(kind, is_set, &mut RuleReport::new(&V2_RESPONSE_FLAG, take));
        }
        HeaderV2::B(_) => payload::direction_of(header, kind, HEADER_TYPE, &mut RuleReport::new(&V2_DIRECTION, take)),
    }
}

/// Returns the rules of [`send_v2`].
pub fn send_v2_rules() -> impl Iterator<Item = &'static Rule> {
    rows().map(|row| row.rule)
}

fn reserved_flag(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Some(header) = sent.family_a() else { return };
    let reserved = header.flags.difference(HeaderFlags::RESPONSE.union(HeaderFlags::MORE).union(HeaderFlags::TPMORE));
    if !reserved.is_empty() {
        report.broken(FLAGS, format_args!("rdma_flags has the bits {:#x}", reserved.bits()));
    }
}

fn response_flag(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let (Some(header), Ok(message)) = (sent.family_a(), &sent.decoded) else { return };
    let is_set = header.flags.contains(HeaderFlags::RESPONSE);
    match header.body {
        Body::Error(_) if !is_set => report.broken(FLAGS, format_args!("RDMA2_F_RESPONSE is clear in RDMA2_ERROR")),
        Body::Msg(_) if sent.begins => {
            if let Some((_, kind)) = MessageType::peek(message.payload) {
                flag_of(kind, is_set, report);
            }
        }
        _ => {}
    }
}

/// Judges `RDMA2_F_RESPONSE` by the RPC message.
fn flag_of(kind: MessageType, is_set: bool, report: &mut RuleReport<'_>) {
    match kind {
        MessageType::CALL if is_set => report.broken(FLAGS, format_args!("RDMA2_F_RESPONSE is set in a call")),
        MessageType::REPLY if !is_set => report.broken(FLAGS, format_args!("RDMA2_F_RESPONSE is clear in a reply")),
        _ => {}
    }
}

fn more_type(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Some(header) = sent.family_a() else { return };
    if header.flags.contains(HeaderFlags::MORE) && !matches!(header.body, Body::Msg(_) | Body::Connprop(_)) {
        report.broken(FLAGS, format_args!("RDMA2_F_MORE is set in {}", header.header_type()));
    }
}

fn more_sequence(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    if let (Some(error), Some(prefix)) = (sent.misplaced(Family::A), sent.prefix)
        && matches!(error, ContinuationError::OtherMessage | ContinuationError::PropertiesInterrupted)
    {
        report.broken(0, format_args!("{error} (xid {:#010x}, rdma_htype {})", prefix.xid, prefix.procedure.0));
    }
}

fn more_chunks(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Some(header) = sent.family_a() else { return };
    if let Body::Msg(ChunkLists { chunks, .. }) = header.body
        && header.flags.contains(HeaderFlags::MORE)
        && !chunks.is_empty()
    {
        report.broken(FLAGS, format_args!("RDMA2_F_MORE is set, and the message has chunks"));
    }
}

fn tpmore(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Some(header) = sent.family_a() else { return };
    if header.flags.contains(HeaderFlags::TPMORE) && !matches!(header.body, Body::Connprop(_)) {
        report.broken(FLAGS, format_args!("RDMA2_F_TPMORE is set in {}", header.header_type()));
    }
    if let Some(error @ ContinuationError::PropertiesAfterLast(_)) = sent.misplaced(Family::A) {
        report.broken(HEADER_TYPE, format_args!("{error}"));
    }
}

fn credit_zero(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    if let Some(header) = sent.family_a()
        && header.credit.granted() == 0
    {
        report.broken(CREDIT, format_args!("rdma_credit grants 0 credits, of {} at most", header.credit.maximum()));
    }
}

fn first_message(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    if sent.is_first && sent.length > FIRST_MESSAGE {
        report.broken(0, format_args!("the first message has {} octets", sent.length));
    }
}

fn inv_handle(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Some(header) = sent.header() else { return };
    let is_call = header.is_response() == Some(false);
    if let (Some(inv_handle), Some(chunks), true) = (header.inv_handle(), header.chunks(), is_call) {
        let mut call = header.call_chunk().unwrap_or_default().iter();
        if (ChunkLists { inv_handle, chunks }).offers_foreign_handle()
            && !call.any(|read| read.target.handle == inv_handle)
        {
            let at = prefix_length(&header);
            report.broken(at, format_args!("rdma_inv_handle is {inv_handle:#010x}, which is not in the chunks"));
        }
    }
    if let Some(handle) = sent.invalidates {
        invalidated(&header, handle, sent.offered, report);
    }
}

/// Octets that every header of this wire format begins with.
const fn prefix_length(header: &HeaderV2<'_>) -> usize {
    match header {
        HeaderV2::A(_) => family_a::Header::PREFIX_LEN,
        HeaderV2::B(_) => family_b::Header::PREFIX_LEN,
    }
}

/// Judges a Send With Invalidate.
fn invalidated(header: &HeaderV2<'_>, handle: u32, offered: Option<u32>, report: &mut RuleReport<'_>) {
    let carries_rpc = header.has_payload() || (header.chunks().is_some() && !header.is_grant());
    if !carries_rpc {
        let severity = if header.family() == Family::A { Severity::Hazard } else { Severity::Error };
        let values = format_args!("{} invalidates handle {handle:#010x}", header.type_name());
        return report.broken_as(severity, HEADER_TYPE, values);
    }
    match (header.is_response(), offered) {
        (Some(false), _) => report.broken(0, format_args!("a call invalidates handle {handle:#010x}")),
        (_, Some(0)) => {
            report
                .broken(0, format_args!("handle {handle:#010x} is invalidated, and rdma_inv_handle of the call is 0"));
        }
        (_, Some(offered)) if offered != handle => {
            let values = format_args!(
                "handle {handle:#010x} is invalidated, and rdma_inv_handle of the call is {offered:#010x}"
            );
            report.broken(0, values);
        }
        _ => {}
    }
}

fn property(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    if let Err(DecodeError { kind: DecodeErrorKind::PropertyValue, offset }) = sent.decoded {
        report.broken(offset, format_args!("the value of a property is not of its type, or goes on past the end"));
    }
}

fn continuation(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    if let (Some(error), Some(prefix)) = (sent.misplaced(Family::B), sent.prefix) {
        let remaining = match sent.header() {
            Some(HeaderV2::B(header)) => header.remaining(),
            _ => None,
        };
        let at = if error == ContinuationError::Remaining && remaining.is_some() { Prefix::LEN } else { 0 };
        report.broken(at, format_args!("{error} (xid {:#010x}, rdma_htype {})", prefix.xid, prefix.procedure.0));
    }
}

fn htype(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    if let (Err(DecodeError { kind: DecodeErrorKind::HeaderType, offset }), Some(prefix)) = (sent.decoded, sent.prefix)
    {
        report.broken(offset, format_args!("rdma_htype is {}", prefix.procedure.0));
    }
}

fn grant_xid(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    if let Some(HeaderV2::B(family_b::Header { xid: xid @ 1.., body: family_b::Body::Grant, .. })) = sent.header() {
        report.broken(0, format_args!("RDMA2_GRANT has the XID {xid:#010x}"));
    }
}

fn trailing(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Ok(MessageV2 { header, header_length, .. }) = sent.decoded else { return };
    let trailing = sent.length.saturating_sub(header_length);
    if trailing > 0 && !header.has_payload() {
        report.broken(
            header_length,
            format_args!("{} after the header of {}", Counted(trailing, "octet"), header.type_name()),
        );
    }
}
