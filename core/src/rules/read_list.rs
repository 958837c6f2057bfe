//! The Read list (RFC 8166 sections 3.4.5 and 4.3.1).

use super::location::counted;
use super::{Counted, Lists, Rule, RuleReport, SegmentLocation, SendRow, Sent, Severity, location, segments};
use crate::error::Role;
use crate::lists::ReadList;
use crate::rpc::RpcCall;
use crate::v1::{Body, Message};

/// A reply has no Read list (RFC 8166 section 4.3.1).
pub static READ_IN_REPLY: Rule =
    Rule::new("read-in-reply", Severity::Error, "RFC 8166 4.3.1; draft reliable-reply 4.1")
        .summary(
            "a reply has an empty Read list, unless it is RDMA_NOMSG with a Position Zero Read chunk \
              (responder-provided); that is a hazard until the requester shows that it supports such replies",
        )
        .reason("A requester does not read a responder's memory, so it could not put the reply together.")
        .correct(
            "A responder uses the Write chunks and the Reply chunk of the call. It provides a reply for the \
              requester to read only if both ends are configured for it.",
        );

pub(super) static READ_POSITION_ZERO_IN_MSG: Rule = Rule::new(
    "read-position-zero-in-msg",
    Severity::Hazard,
    "RFC 8166 3.5.3; draft rfc5666-implementation-experience 3.6",
)
.summary("no Position Zero Read chunk in RDMA_MSG")
.reason("No specification says whether the chunk or the inline part comes first, and receivers differ.")
.correct("A requester that needs a Position Zero Read chunk sends RDMA_NOMSG without a payload.");

pub(super) static RULES: [SendRow; 9] = [
    SendRow {
        rule: &Rule::new("read-position-align", Severity::Error, "RFC 8166 3.4.5")
            .summary("a Position is a multiple of four")
            .reason("Every XDR item begins at a multiple of four, so no item can begin anywhere else.")
            .correct("A requester counts the Position in the unreduced Payload stream, padding included."),
        judge: read_position_align,
    },
    SendRow { rule: &READ_IN_REPLY, judge: read_in_reply },
    SendRow { rule: &READ_POSITION_ZERO_IN_MSG, judge: read_position_zero_in_msg },
    SendRow {
        rule: &Rule::new("read-position-order", Severity::Hazard, "draft rfc5666-implementation-experience 3.2.1")
            .summary("Positions do not decrease, and the segments at one Position are adjacent in the list")
            .reason("RFC 8166 does not require any order, but many receivers walk the list only once.")
            .correct("A requester sorts its Read list by Position."),
        judge: read_position_order,
    },
    SendRow {
        rule: &Rule::new("read-overlap", Severity::Hazard, "slides on version two, open issues")
            .summary("a Read chunk ends at or before the next Position")
            .reason("Two items cannot be in the same place in the Payload stream, and receivers differ in how they \
                     put such a stream together.")
            .correct("A requester makes no chunk longer than its item with padding."),
        judge: read_overlap,
    },
    SendRow {
        rule: &Rule::new("long-call-roundup", Severity::Error, "RFC 8166 3.5.3")
            .summary("a Position Zero Read chunk includes its padding: its length is a multiple of four")
            .reason("It holds a whole RPC message, and RPC messages end at a multiple of four.")
            .correct("A requester includes the padding of the last item in the chunk."),
        judge: long_call_roundup,
    },
    SendRow {
        rule: &Rule::new("segment-wraps", Severity::Error, "RFC 8166 3.4.3")
            .summary("the offset of a segment plus its length does not exceed 2^64")
            .reason("There is no such memory. A receiver that adds the two may end up at the other end of it.")
            .correct("A requester advertises memory that it has registered."),
        judge: segment_wraps,
    },
    SendRow {
        rule: &Rule::new("segment-empty", Severity::Hazard, "RFC 8166 3.4.3")
            .summary("a Read chunk has no empty segment")
            .reason("There is nothing to read from it, and some receivers post an RDMA Read of zero octets, or refuse it.")
            .correct("A requester leaves such a segment out."),
        judge: segment_empty,
    },
    SendRow {
        rule: &Rule::new("read-position-beyond", Severity::Error, "RFC 8166 3.4.5, 4.5.2")
            .summary("a Position is inside the unreduced Payload stream, where an item of the arguments begins")
            .reason("The responder inserts the chunk when it reaches that place in the arguments, and it never does.")
            .correct("A requester counts the Position from the start of the RPC message, with every reduced item in place. A \
                      responder answers with an RPC reply whose status is GARBAGE_ARGS."),
        judge: read_position_beyond,
    },
];

/// A call with a Read list. Another rule is about the Read list of a reply.
struct ReadingCall<'a> {
    message: Message<'a>,
    reads: ReadList<'a>,
}

impl<'a> ReadingCall<'a> {
    fn from_sent(sent: &Sent<'a>) -> Option<Self> {
        let message = *sent.message()?;
        let reads = message.header.chunks()?.reads;
        (!reads.is_empty() && !sent.is_from(Role::Responder)).then_some(Self { message, reads })
    }
}

/// Returns the first segment of this Position.
pub(super) fn first_at(reads: ReadList<'_>, position: u32) -> Option<usize> {
    counted(reads.iter()).find(|(_, read)| read.position == position).map(|(index, _)| index)
}

/// Returns the rules that are the same in version 2, with functions that judge any header.
pub(super) fn of_lists() -> impl Iterator<Item = (&'static Rule, fn(Lists<'_>, &mut RuleReport<'_>))> {
    RULES.iter().filter_map(|&SendRow { rule, .. }| {
        let judge: fn(Lists<'_>, &mut RuleReport<'_>) = match rule.slug {
            "segment-wraps" => wraps,
            "segment-empty" => empty,
            _ => return None,
        };
        Some((rule, judge))
    })
}

fn read_position_align(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let Some(ReadingCall { message, .. }) = ReadingCall::from_sent(sent) {
        positions(Lists::from(&message), report);
    }
}

fn positions(lists: Lists<'_>, report: &mut RuleReport<'_>) {
    let mut before = None;
    for (index, read) in counted(lists.chunks.reads.iter()) {
        if read.position % 4 != 0 && before != Some(read.position) {
            let at = location::read_segment(lists, index).saturating_add(4);
            report.broken(at, format_args!("Position {} is not a multiple of four", read.position));
        }
        before = Some(read.position);
    }
}

fn read_in_reply(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Some(message) = sent.message().filter(|_| sent.is_from(Role::Responder)) else { return };
    let Some(chunks) = message.header.chunks() else { return };
    let is_pulled = matches!(message.header.body, Body::Nomsg(_)) && chunks.reads.iter().all(|read| read.position == 0);
    if !chunks.reads.is_empty() && !is_pulled {
        let at = location::read_list(message);
        let values = format_args!("a reply with {} in its Read list", Counted(chunks.reads.len(), "segment"));
        report.broken(at, values);
    }
}

fn read_position_zero_in_msg(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Some(ReadingCall { message, reads }) = ReadingCall::from_sent(sent) else { return };
    if let Body::Msg(_) = message.header.body
        && let Some(index) = first_at(reads, 0)
    {
        let at = location::read_segment(&message, index).saturating_add(4);
        report.broken(at, format_args!("Position 0 beside {} octets inline", sent.after_header(&message)));
    }
}

fn read_position_order(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Some(ReadingCall { message, reads }) = ReadingCall::from_sent(sent) else { return };
    // If segments of one Position are apart, Positions descend before or after the later one.
    for (index, (one, next)) in counted(reads.iter().zip(reads.iter().skip(1))) {
        if next.position < one.position {
            let at = location::read_segment(&message, index.saturating_add(1)).saturating_add(4);
            report.broken(at, format_args!("Position {} after Position {}", next.position, one.position));
        }
    }
}

fn read_overlap(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Some(ReadingCall { message, reads }) = ReadingCall::from_sent(sent) else { return };
    let chunks = || reads.chunks().filter(|chunk| chunk.position != 0);
    // If Positions descend, the order is reported first.
    for (chunk, next) in chunks().zip(chunks().skip(1)) {
        let end = u64::from(chunk.position).saturating_add(chunk.segments.length());
        if chunk.position < next.position && end > u64::from(next.position) && !report.is_full() {
            let index = first_at(reads, next.position).unwrap_or_default();
            let values = format_args!(
                "the chunk at Position {} has {} octets and reaches past Position {}",
                chunk.position,
                chunk.segments.length(),
                next.position
            );
            report.broken(location::read_segment(&message, index).saturating_add(4), values);
        }
    }
}

fn long_call_roundup(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Some(ReadingCall { message, reads }) = ReadingCall::from_sent(sent) else { return };
    let length = position_zero(reads);
    if !length.is_multiple_of(4) {
        let at = location::read_list(&message);
        report.broken(at, format_args!("the Position Zero Read chunk has {length} octets, no multiple of four"));
    }
}

fn segment_wraps(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let Some(message) = sent.message() {
        wraps(Lists::from(message), report);
    }
}

fn wraps(lists: Lists<'_>, report: &mut RuleReport<'_>) {
    segments(lists, |which, segment, at| {
        if segment.wraps() {
            let values = format_args!("{which}: offset {:#018x} and length {}", segment.offset, segment.length);
            report.broken(at.saturating_add(8), values);
        }
    });
}

fn segment_empty(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if let Some(message) = sent.message() {
        empty(Lists::from(message), report);
    }
}

fn empty(lists: Lists<'_>, report: &mut RuleReport<'_>) {
    segments(lists, |which, segment, at| {
        if matches!(which, SegmentLocation::Read { .. }) && segment.length == 0 {
            report.broken(at.saturating_add(4), format_args!("{which} has no octets"));
        }
    });
}

/// Returns the length of the Position Zero Read chunk in octets.
fn position_zero(reads: ReadList<'_>) -> u64 {
    let zero = reads.iter().filter(|read| read.position == 0);
    zero.fold(0, |sum, read| sum.saturating_add(u64::from(read.target.length)))
}

/// Returns the length of a Call's unreduced Payload stream in octets: the inline part, the Position Zero Read chunk,
/// and each reduced item, padded. `length`: length of the whole Send.
#[must_use]
pub fn unreduced(message: &Message<'_>, length: usize) -> u64 {
    let reads = message.header.chunks().unwrap_or_default().reads;
    let inline = match message.header.body {
        Body::Nomsg(_) => 0,
        _ => length.saturating_sub(message.header_length) as u64,
    };
    let items = reads.chunks().filter(|chunk| chunk.position != 0);
    items.fold(inline.saturating_add(position_zero(reads)), |sum, item| {
        let length = item.segments.length();
        sum.saturating_add(length.checked_next_multiple_of(4).unwrap_or(length))
    })
}

/// Octets of the shortest RPC call header (RFC 5531 section 9).
const SHORTEST_CALL: usize = 40;

/// Returns the known length of a call's RPC header in octets. If the header is not in the Send, returns the shortest
/// possible length.
fn before_arguments(message: &Message<'_>) -> usize {
    match message.header.body {
        Body::Nomsg(_) => SHORTEST_CALL,
        _ => RpcCall::decode(message.payload)
            .map_or(0, |(_, arguments)| message.payload.len().saturating_sub(arguments.len())),
    }
}

/// Judges Positions. The Send alone shows where the stream ends and the RPC header does; what else is at a Position
/// depends on the program.
fn read_position_beyond(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Some(ReadingCall { message, reads }) = ReadingCall::from_sent(sent) else { return };
    let holds_stream = match message.header.body {
        Body::Msg(_) => true,
        Body::Nomsg(_) => first_at(reads, 0).is_some(),
        _ => false,
    };
    if !holds_stream {
        return;
    }
    let (header, end) = (before_arguments(&message), unreduced(&message, sent.length));
    for chunk in reads.chunks().filter(|chunk| chunk.position != 0 && chunk.position % 4 == 0) {
        if (chunk.position as usize) < header && !report.is_full() {
            let index = first_at(reads, chunk.position).unwrap_or_default();
            let values =
                format_args!("a chunk at Position {}, in the {header} octets of the RPC header", chunk.position);
            report.broken(location::read_segment(&message, index).saturating_add(4), values);
        } else if u64::from(chunk.position) > end.saturating_sub(chunk.segments.length()) && !report.is_full() {
            let index = first_at(reads, chunk.position).unwrap_or_default();
            let values = format_args!(
                "a chunk of {} octets at Position {}, and the Payload stream has {end} with all chunks",
                chunk.segments.length(),
                chunk.position
            );
            report.broken(location::read_segment(&message, index).saturating_add(4), values);
        }
    }
}
