//! Framing of a message (RFC 8166 sections 4.1 to 4.6).

use core::ops::RangeInclusive;

use super::{Counted, Rule, RuleReport, SendRow, Sent, SentError, Severity, location};
use crate::error::{DecodeErrorKind, Reaction, Role};
use crate::v1::{self, Body, ErrorBody};
use crate::v2::{self, Family};

/// A requester sends no RDMA_ERROR (RFC 8166 section 4.2.4).
pub static ERROR_FROM_REQUESTER: Rule = Rule::new("error-from-requester", Severity::Error, "RFC 8166 4.2.4")
    .summary("a requester never sends RDMA_ERROR")
    .reason("Two ends that answered each other's errors would never stop.")
    .correct("A requester discards a bad reply without an answer; a responder discards an RDMA_ERROR.")
    .answer(Reaction::Discard);

pub(super) static ERROR_RANGE: Rule = Rule::new("error-range", Severity::Error, "RFC 8166 4.5, 4.5.1")
    .summary("rdma_err is known; in ERR_VERS, low is not above high, and the refused version is outside the range")
    .reason("The requester chooses its next version from this range.")
    .correct(
        "A responder gives the lowest and the highest version that it supports, and does not refuse any \
              of them. A requester discards an RDMA_ERROR that it cannot read.",
    );

/// The RPC message has the XID of the transport header (RFC 8166 section 4.2.1).
pub static XID_MISMATCH: Rule = Rule::new("xid-mismatch", Severity::Error, "RFC 8166 4.2.1, 4.5.2")
    .summary("rdma_xid equals the XID of the RPC message")
    .reason(
        "The transport finds the waiting call by one of these words, and RPC by the other. If they \
             differ, a reply completes the wrong call.",
    )
    .correct(
        "A sender copies the XID. A responder either answers ERR_CHUNK (section 4.5.2), or replies and \
              ignores the XID of the RPC message (section 4.2.1). Requesters may see either.",
    );

pub(super) static RULES: [SendRow; 14] = [
    SendRow {
        rule: &Rule::new("header-short", Severity::Error, "RFC 8166 4.5")
            .summary(
                "a Send has at least 28 octets; RDMA_ERROR with ERR_CHUNK has 20, RDMA_DONE 16; in version 2, as \
                      many as its header type needs",
            )
            .reason("Not even the XID of a shorter message can be trusted, so nobody could be told about the error.")
            .correct(
                "A sender writes all three lists, each with at least the word that says it is empty. A receiver \
                      discards anything shorter without an answer.",
            )
            .answer(DecodeErrorKind::HeaderShort.answer()),
        judge: header_short,
    },
    SendRow {
        rule: &Rule::new("version", Severity::Error, "RFC 8166 4.2.2, 4.5.1")
            .summary("rdma_vers is 1 on a version 1 connection")
            .reason("Only the four fixed words have the same place in every version; nothing after them can be read.")
            .correct(
                "A requester sends version 1 unless it has learned that the responder supports another. A \
                      responder answers ERR_VERS with the versions it supports.",
            )
            .answer(DecodeErrorKind::Version.answer()),
        judge: version,
    },
    SendRow {
        rule: &Rule::new("proc-unknown", Severity::Error, "RFC 8166 4.5.2")
            .summary("rdma_proc is 0 (RDMA_MSG), 1 (RDMA_NOMSG) or 4 (RDMA_ERROR)")
            .reason("rdma_proc says what follows it. If it is unknown, nothing more can be read.")
            .correct("A sender uses one of these three. A responder answers ERR_CHUNK.")
            .answer(DecodeErrorKind::Procedure.answer()),
        judge: proc_unknown,
    },
    SendRow {
        rule: &Rule::new("msgp-sent", Severity::Error, "RFC 8166 4.6.1")
            .summary("nobody sends RDMA_MSGP")
            .reason("Its padding was never fully specified, so two implementations cannot agree on it.")
            .correct("A sender uses RDMA_MSG. A responder answers ERR_CHUNK; a requester discards the message.")
            .answer(Reaction::ErrChunk),
        judge: msgp_sent,
    },
    SendRow {
        rule: &Rule::new("done-sent", Severity::Error, "RFC 8166 4.6.2; draft reliable-reply 4.1.3")
            .summary("nobody sends RDMA_DONE, unless both ends use responder-provided Read chunks")
            .reason("It ends a kind of transfer that version 1 does not have. It uses up a credit and gets no answer.")
            .correct("A sender does not send it. A receiver discards it without an answer.")
            .answer(Reaction::Discard),
        judge: done_sent,
    },
    SendRow { rule: &ERROR_FROM_REQUESTER, judge: error_from_requester },
    SendRow {
        rule: &Rule::new("list-flag", Severity::Error, "RFC 8166 4.3; RFC 4506 4.19, 4.4")
            .summary("a word that says whether an entry follows is 0 or 1")
            .reason(
                "XDR has no other boolean. Another value suggests that sender and receiver disagree about where \
                     they are in the header.",
            )
            .correct("A sender writes 0 or 1. A responder answers ERR_CHUNK.")
            .answer(DecodeErrorKind::ListFlag.answer()),
        judge: list_flag,
    },
    SendRow {
        rule: &Rule::new("list-truncated", Severity::Error, "RFC 8166 4.5.2")
            .summary("the chunk lists end inside the Send")
            .reason("A receiver that followed a list past the end would read memory that belongs to something else.")
            .correct(
                "A sender makes its header fit the inline threshold, or uses fewer segments. A responder answers \
                      ERR_CHUNK.",
            )
            .answer(DecodeErrorKind::ListTruncated.answer()),
        judge: list_truncated,
    },
    SendRow {
        rule: &Rule::new("nomsg-empty", Severity::Error, "RFC 8166 4.2.4, 4.5.2")
            .summary(
                "RDMA_NOMSG has a chunk that can hold the Payload stream: a Position Zero Read chunk or a Reply chunk",
            )
            .reason("The Send holds no RPC message, so without such a chunk there is none at all.")
            .correct(
                "A requester puts a long call into a Position Zero Read chunk, a responder a long reply into the \
                      Reply chunk. A responder answers ERR_CHUNK.",
            )
            .answer(Reaction::ErrChunk),
        judge: nomsg_empty,
    },
    SendRow {
        rule: &Rule::new("nomsg-trailing", Severity::Warning, "RFC 8166 4.2.4")
            .summary("nothing follows the lists of RDMA_NOMSG")
            .reason(
                "The Payload stream is in a chunk. Anything after the header has no meaning, and a receiver that \
                     took it for the RPC message would act on the wrong one.",
            )
            .correct("A sender ends the Send with its lists. A responder answers ERR_CHUNK, or ignores what follows."),
        judge: nomsg_trailing,
    },
    SendRow {
        rule: &Rule::new("msg-no-payload", Severity::Error, "RFC 8166 4.2.4")
            .summary("RDMA_MSG carries a Payload stream that begins with an XID")
            .reason(
                "The RPC message begins in the Send, however much of it was moved to chunks. A stream that ends \
                     right after its XID has the right beginning but is not an RPC message: that is reported as a \
                     hazard.",
            )
            .correct(
                "A sender puts the reduced RPC message after the lists, or uses RDMA_NOMSG. A responder answers \
                      ERR_CHUNK.",
            )
            .answer(Reaction::ErrChunk),
        judge: msg_no_payload,
    },
    SendRow { rule: &XID_MISMATCH, judge: xid_mismatch },
    SendRow { rule: &ERROR_RANGE, judge: error_range },
    SendRow {
        rule: &Rule::new("error-trailing", Severity::Warning, "RFC 8166 4.1; RFC 5666 4.2")
            .summary("nothing follows the body of RDMA_ERROR")
            .reason(
                "A receiver that checks the length discards such an error, and its call waits forever. An extra \
                     32 octets, as RFC 5666 had for other errors, are a hazard.",
            )
            .correct("A responder sends 20 octets for ERR_CHUNK and 28 for ERR_VERS."),
        judge: error_trailing,
    },
];

/// Returns the rules for a header that does not parse, which are the same in version 2.
pub(super) fn malformed() -> impl Iterator<Item = &'static SendRow> {
    RULES.iter().filter(|row| matches!(row.rule.slug, "header-short" | "list-flag" | "list-truncated"))
}

fn header_short(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let Err(error) = sent.decoded
        && matches!(error.kind, DecodeErrorKind::HeaderShort | DecodeErrorKind::HeaderTruncated)
        && sent.error.is_none()
    {
        report.broken(
            error.offset,
            format_args!("the Send has {} and ends inside the header", Counted(sent.length, "octet")),
        );
    }
}

fn version(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let (Err(error), Some(prefix), None) = (sent.decoded, sent.prefix, sent.error)
        && error.kind == DecodeErrorKind::Version
    {
        report.broken(error.offset, format_args!("rdma_vers is {}", prefix.version));
    }
}

fn proc_unknown(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let (Err(error), Some(prefix)) = (sent.decoded, sent.prefix)
        && error.kind == DecodeErrorKind::Procedure
    {
        report.broken(error.offset, format_args!("rdma_proc is {}", prefix.procedure.0));
    }
}

fn msgp_sent(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let Ok(message) = sent.decoded
        && let Body::Msgp { align, thresh, .. } = message.header.body
    {
        report.broken(12, format_args!("RDMA_MSGP, rdma_align {align}, rdma_thresh {thresh}"));
    }
}

fn done_sent(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let Ok(message) = sent.decoded
        && message.header.body == Body::Done
        && !sent.reliable_reply
    {
        report.broken(12, format_args!("RDMA_DONE"));
    }
}

fn error_from_requester(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let Some(SentError { body: error, .. }) = sent.error
        && sent.is_from(Role::Requester)
    {
        report.broken(12, format_args!("RDMA_ERROR with {} from the requester", error.name()));
    }
}

fn list_flag(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let Err(error) = sent.decoded
        && error.kind == DecodeErrorKind::ListFlag
    {
        let word = sent.word(error.offset);
        report.broken(error.offset, format_args!("{word} where a list says whether it goes on"));
    }
}

fn list_truncated(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Err(error) = sent.decoded else { return };
    match error.kind {
        DecodeErrorKind::ListTruncated => {
            report
                .broken(error.offset, format_args!("the Send ends after {} octets, within a chunk list", sent.length));
        }
        DecodeErrorKind::SegmentCount => {
            let count = sent.word(error.offset);
            let count = Counted(count, "segment");
            let values = format_args!("a chunk counts {count} in a Send of {} octets", sent.length);
            report.broken(error.offset, values);
        }
        _ => {}
    }
}

fn nomsg_empty(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Ok(message) = sent.decoded else { return };
    let Body::Nomsg(chunks) = message.header.body else { return };
    // A Reply chunk that comes back unused is the concern of reply-chunk-unused-nomsg.
    let has_room = chunks.reply.is_some_and(|chunk| chunk.length() > 0 || sent.is_from(Role::Responder));
    let has_call = chunks.reads.iter().any(|read| read.position == 0 && read.target.length > 0);
    let at = location::read_list(&message);
    if chunks.is_empty() {
        report.broken(at, format_args!("RDMA_NOMSG without any chunk"));
    } else if sent.is_from(Role::Requester) && !has_call {
        report.broken(at, format_args!("RDMA_NOMSG of a requester without a Position Zero Read chunk"));
    } else if !has_call && !has_room {
        report.broken(at, format_args!("no Position Zero Read chunk nor Reply chunk of RDMA_NOMSG has an octet"));
    }
}

fn nomsg_trailing(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Ok(message) = sent.decoded else { return };
    let trailing = sent.after_header(&message);
    if matches!(message.header.body, Body::Nomsg(_)) && trailing > 0 {
        report.broken(
            message.header_length,
            format_args!("{} after the lists of RDMA_NOMSG", Counted(trailing, "octet")),
        );
    }
}

fn msg_no_payload(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Ok(message) = sent.decoded else { return };
    if !matches!(message.header.body, Body::Msg(_) | Body::Msgp { .. }) {
        return;
    }
    match sent.after_header(&message) {
        length @ 0..4 => {
            report.broken(
                message.header_length,
                format_args!("the Payload stream has {}, fewer than an XID", Counted(length, "octet")),
            );
        }
        length @ 4..8 => {
            let message_ends = format_args!("the Payload stream has {length} octets: an XID and no RPC message");
            report.broken_as(Severity::Hazard, message.header_length, message_ends);
        }
        _ => {}
    }
}

fn xid_mismatch(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Ok(message) = sent.decoded else { return };
    if let (Body::Msg(_) | Body::Msgp { .. }, Some(&xid)) = (message.header.body, message.payload.first_chunk())
        && let xid = u32::from_be_bytes(xid)
        && xid != message.header.xid
    {
        let values = format_args!("the RPC message has the XID {xid:#010x}, rdma_xid is {:#010x}", message.header.xid);
        report.broken(message.header_length, values);
    }
}

fn error_range(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let Err(error) = sent.decoded
        && error.kind == DecodeErrorKind::ErrorCode
    {
        let code = sent.word(error.offset);
        return report.broken(error.offset, format_args!("rdma_err is {code}, neither ERR_VERS nor ERR_CHUNK"));
    }
    let (Some(SentError { body: ErrorBody::Vers { low, high }, .. }), Some(prefix)) = (sent.error, sent.prefix) else {
        return;
    };
    version_range(low..=high, prefix.version, 20, report);
}

/// Judges the versions that an ERR_VERS gives at this offset, and the refused version.
pub(super) fn version_range(given: RangeInclusive<u32>, refused: u32, at: usize, report: &mut RuleReport<'_>) {
    let (low, high) = (given.start(), given.end());
    if low > high {
        report.broken(at, format_args!("rdma_vers_low is {low}, rdma_vers_high {high}"));
    } else if given.contains(&refused) {
        report.broken(at, format_args!("version {refused} is refused, and {low} to {high} are supported"));
    }
}

/// Returns true if this may be an `ERR_VERS` in the version 2 wire format of drafts -00 to -02, which is one word
/// longer. An error carries the refused version, so nothing shows the version of the error itself.
fn may_be_of_family_a(sent: &Sent<'_>) -> bool {
    let Ok((reply, [])) = v2::ErrorReplyV2::decode(Family::A, sent.octets) else { return false };
    let is_range = matches!(reply.error(), v2::ErrorBodyV2::Vers { low, high } if low <= high);
    is_range && reply.prefix().version != v1::VERSION
}

fn error_trailing(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    /// Octets of `rdma_extra` in RFC 5666 section 4.2.
    const EXTRA: usize = 32;
    let Some(SentError { body: error, octets_after: rest }) = sent.error else { return };
    if rest > 0 && !may_be_of_family_a(sent) {
        let at = sent.length.saturating_sub(rest);
        let severity = if rest == EXTRA { Severity::Hazard } else { report.rule.severity };
        report.broken_as(severity, at, format_args!("{} after the body of {}", Counted(rest, "octet"), error.name()));
    }
}
