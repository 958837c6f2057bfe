//! The Write list and the Reply chunk (RFC 8166 sections 3.4.6, 4.3.2 and 4.3.3).

use super::location::counted;
use super::{Exchange, ExchangeRow, Lists, Rule, RuleReport, SendRow, Sent, Severity, location};
use crate::error::Role;
use crate::lists::{Chunks, WriteChunk};
use crate::v1::{Body, Message};

/// A Write chunk without segments comes back without any (RFC 8166 section 4.3.2.3).
pub static WRITE_EMPTY_RESPECTED: Rule =
    Rule::new("write-empty-respected", Severity::Error, "RFC 8166 3.4.6, 4.3.2.3; RFC 8267 6.4.1")
        .summary("a Write chunk without segments asks for its result inline, and comes back without segments")
        .reason("There is no memory behind it.")
        .correct("A responder leaves that result in the Payload stream and returns the chunk as it is.");

pub(super) static REPLY_CHUNK_IN_MSG: Rule =
    Rule::new("reply-chunk-in-msg", Severity::Hazard, "draft rfc5666-implementation-experience 3.6")
        .summary("RDMA_MSG has no Reply chunk that was used")
        .reason(
            "The reply cannot be both in the Send and in the Reply chunk, and receivers differ in which one \
             they take.",
        )
        .correct("A responder sends RDMA_NOMSG with a used Reply chunk, or RDMA_MSG with an unused one.");

pub(super) static SEND_RULES: [SendRow; 3] = [
    SendRow { rule: &REPLY_CHUNK_IN_MSG, judge: reply_chunk_in_msg },
    SendRow {
        rule: &Rule::new("reply-chunk-unused-nomsg", Severity::Error, "RFC 8166 4.2.4")
            .summary("a reply in RDMA_NOMSG uses the Reply chunk, or a responder-provided Read chunk")
            .reason("The Send holds no reply, so without such a chunk there is none.")
            .correct("A responder writes the reply into the Reply chunk and returns its length, or sends RDMA_MSG."),
        judge: reply_chunk_unused_nomsg,
    },
    SendRow {
        rule: &Rule::new("long-reply-roundup", Severity::Error, "RFC 8166 3.5.3")
            .summary("the returned length of the Reply chunk is a multiple of four")
            .reason("It holds a whole RPC message, and RPC messages end at a multiple of four.")
            .correct("A responder also writes the padding of the last item."),
        judge: long_reply_roundup,
    },
];

pub(super) static EXCHANGE_RULES: [ExchangeRow; 6] = [
    ExchangeRow {
        rule: &Rule::new("write-list-echo", Severity::Error, "RFC 8166 3.4.6")
            .summary(
                "the reply returns the Write chunks of the call: the same number, with the same segments, \
                      handles and offsets",
            )
            .reason("That is how the requester finds out what was written, and where.")
            .correct("A responder copies the Write list and changes only the lengths."),
        judge: write_list_echo,
    },
    ExchangeRow {
        rule: &Rule::new("write-length", Severity::Error, "RFC 8166 3.4.6")
            .summary("no returned length exceeds the one that was offered")
            .reason("The requester would treat memory that is not its own as data.")
            .correct("A responder returns how many octets it wrote into each segment."),
        judge: write_length,
    },
    ExchangeRow {
        rule: &Rule::new("write-fill-order", Severity::Error, "RFC 8166 3.4.6")
            .summary("a segment is used only if the one before it is full")
            .reason("The requester joins the segments in order, so a gap shifts everything after it.")
            .correct("A responder fills the segments one after another."),
        judge: write_fill_order,
    },
    ExchangeRow {
        rule: &Rule::new(
            "write-unused-form",
            Severity::Hazard,
            "RFC 8166 4.3.2.2; RFC 8267; draft rfc5666-implementation-experience 3.9",
        )
        .summary("an unused Write chunk comes back with its segments, all of length 0")
        .reason(
            "RFC 8166 says so, but RFC 8267 says that for NFS it comes back without segments. Some receivers \
                     support only one of these.",
        )
        .correct("A responder returns the segments with length 0. A requester accepts both forms."),
        judge: write_unused_form,
    },
    ExchangeRow { rule: &WRITE_EMPTY_RESPECTED, judge: write_empty_respected },
    ExchangeRow {
        rule: &Rule::new("reply-chunk-echo", Severity::Error, "RFC 8166 4.3.3")
            .summary("the Reply chunk of a call comes back in the reply, with the same segments, handles and offsets")
            .reason("That is how the requester learns how much was written, and that the memory is its own again.")
            .correct(
                "A responder copies the Reply chunk and changes only the lengths, whether it used the chunk or not.",
            ),
        judge: reply_chunk_echo,
    },
];

/// A reply with chunk lists.
struct JudgedReply<'a> {
    message: Message<'a>,
    chunks: Chunks<'a>,
}

impl<'a> JudgedReply<'a> {
    fn from_sent(sent: &Sent<'a>) -> Option<Self> {
        let message = *sent.message().filter(|_| sent.is_from(Role::Responder))?;
        Some(Self { message, chunks: message.header.chunks()? })
    }
}

fn reply_chunk_in_msg(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Some(JudgedReply { message, chunks }) = JudgedReply::from_sent(sent) else { return };
    let length = chunks.reply.map_or(0, |chunk| chunk.length());
    if matches!(message.header.body, Body::Msg(_)) && length > 0 {
        let at = location::reply_chunk(&message);
        report.broken(at, format_args!("RDMA_MSG, and the Reply chunk comes back with {length} octets"));
    }
}

fn reply_chunk_unused_nomsg(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Some(JudgedReply { message, chunks }) = JudgedReply::from_sent(sent) else { return };
    // If there is none, `nomsg-empty` reports it.
    let is_empty = chunks.reply.is_some_and(|chunk| chunk.length() == 0);
    if matches!(message.header.body, Body::Nomsg(_)) && is_empty && chunks.reads.is_empty() {
        report.broken(location::reply_chunk(&message), format_args!("RDMA_NOMSG with an empty Reply chunk"));
    }
}

fn long_reply_roundup(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    let Some(JudgedReply { message, chunks }) = JudgedReply::from_sent(sent) else { return };
    let length = chunks.reply.map_or(0, |chunk| chunk.length());
    if !length.is_multiple_of(4) {
        let at = location::reply_chunk(&message);
        report.broken(at, format_args!("the Reply chunk comes back with {length} octets, no multiple of four"));
    }
}

/// Returns the rules that are the same in version 2 (version two -01 Write Chunks; -07 4.5.2.1).
pub(super) fn of_version_2() -> impl Iterator<Item = &'static ExchangeRow> {
    EXCHANGE_RULES.iter().filter(|row| matches!(row.rule.slug, "write-list-echo" | "write-length" | "write-fill-order"))
}

/// A chunk of a Reply.
#[derive(Clone, Copy)]
enum Which {
    Write(usize),
    Reply,
}

impl core::fmt::Display for Which {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Write(index) => write!(f, "Write chunk {index}"),
            Self::Reply => f.write_str("Reply chunk"),
        }
    }
}

impl Which {
    /// Returns the offset of the chunk in the Reply.
    fn at(self, reply: Lists<'_>) -> usize {
        match self {
            Self::Write(index) => location::write_chunk(reply, index),
            Self::Reply => location::reply_chunk(reply),
        }
    }
}

/// Returns every chunk that came back with as many segments as offered: the chunk, its offered form, its returned form.
fn pairs<'a>(exchange: &Exchange<'a>) -> impl Iterator<Item = (Which, WriteChunk<'a>, WriteChunk<'a>)> + use<'a> {
    let (offered, returned) = (exchange.call.chunks, exchange.reply.chunks);
    let writes = counted(offered.writes.iter().zip(returned.writes.iter()));
    let writes = writes.map(|(index, (offered, returned))| (Which::Write(index), offered, returned));
    let reply = offered.reply.zip(returned.reply).map(|(offered, returned)| (Which::Reply, offered, returned));
    writes.chain(reply).filter(|(_, offered, returned)| offered.len() == returned.len())
}

/// Returns the first segment that differs from the one that was offered.
fn changed(offered: &WriteChunk<'_>, returned: &WriteChunk<'_>) -> Option<usize> {
    let mut pairs = counted(offered.iter().zip(returned.iter()));
    let found = pairs.find(|(_, (one, other))| (one.handle, one.offset) != (other.handle, other.offset));
    found.map(|(index, _)| index)
}

/// Reports the segments of a chunk that differ from the offered ones.
fn echo(
    which: Which,
    offered: &WriteChunk<'_>,
    returned: &WriteChunk<'_>,
    reply: Lists<'_>,
    report: &mut RuleReport<'_>,
) {
    let at = which.at(reply);
    if offered.len() != returned.len() {
        let values =
            format_args!("{which} comes back with {} segments, {} were offered", returned.len(), offered.len());
        report.broken(at.saturating_add(4), values);
    } else if let Some(index) = changed(offered, returned)
        && let (Some(one), Some(other)) = (offered.get(index), returned.get(index))
    {
        let values = format_args!(
            "{which} segment {index} comes back as handle {:#010x} offset {:#018x}, offered was {:#010x}, {:#018x}",
            other.handle, other.offset, one.handle, one.offset
        );
        report.broken(location::segment(at, index), values);
    }
}

fn write_list_echo(exchange: &Exchange<'_>, report: &mut RuleReport<'_>) {
    let (offered, returned) = (exchange.call.chunks, exchange.reply.chunks);
    if offered.writes.len() != returned.writes.len() {
        let values =
            format_args!("{} Write chunks come back, {} were offered", returned.writes.len(), offered.writes.len());
        return report.broken(location::write_list(exchange.reply), values);
    }
    for (index, (offered, returned)) in counted(offered.writes.iter().zip(returned.writes.iter())) {
        // It may be without segments: `write-unused-form`, `write-empty-respected`.
        if !offered.is_empty() && !returned.is_empty() && !report.is_full() {
            echo(Which::Write(index), &offered, &returned, exchange.reply, report);
        }
    }
}

fn write_length(exchange: &Exchange<'_>, report: &mut RuleReport<'_>) {
    for (which, offered, returned) in pairs(exchange) {
        for (index, (offered, returned)) in counted(offered.iter().zip(returned.iter())) {
            if returned.length > offered.length && !report.is_full() {
                let at = location::segment(which.at(exchange.reply), index).saturating_add(4);
                let values = format_args!(
                    "{which} segment {index} returned {} octets, {} were offered",
                    returned.length, offered.length
                );
                report.broken(at, values);
            }
        }
    }
}

fn write_fill_order(exchange: &Exchange<'_>, report: &mut RuleReport<'_>) {
    for (which, offered, returned) in pairs(exchange) {
        let mut not_full = None;
        for (index, (offered, returned)) in counted(offered.iter().zip(returned.iter())) {
            if let Some(before) = not_full.filter(|_| returned.length > 0 && !report.is_full()) {
                let at = location::segment(which.at(exchange.reply), index).saturating_add(4);
                let values = format_args!(
                    "{which} segment {index} returned {} octets, and segment {before} is not full",
                    returned.length
                );
                report.broken(at, values);
                break;
            }
            if returned.length < offered.length && not_full.is_none() {
                not_full = Some(index);
            }
        }
    }
}

fn write_unused_form(exchange: &Exchange<'_>, report: &mut RuleReport<'_>) {
    let (offered, returned) = (exchange.call.chunks, exchange.reply.chunks);
    for (index, (offered, returned)) in counted(offered.writes.iter().zip(returned.writes.iter())) {
        if !offered.is_empty() && returned.is_empty() && !report.is_full() {
            let at = location::write_chunk(exchange.reply, index);
            report.broken(at, format_args!("Write chunk {index} of {} segments comes back with none", offered.len()));
        }
    }
}

fn write_empty_respected(exchange: &Exchange<'_>, report: &mut RuleReport<'_>) {
    let (offered, returned) = (exchange.call.chunks, exchange.reply.chunks);
    for (index, (offered, returned)) in counted(offered.writes.iter().zip(returned.writes.iter())) {
        if offered.is_empty() && !returned.is_empty() && !report.is_full() {
            let at = location::write_chunk(exchange.reply, index);
            report.broken(at, format_args!("Write chunk {index} without segments comes back with {}", returned.len()));
        }
    }
}

fn reply_chunk_echo(exchange: &Exchange<'_>, report: &mut RuleReport<'_>) {
    let (offered, returned) = (exchange.call.chunks, exchange.reply.chunks);
    let at = location::reply_chunk(exchange.reply);
    match (offered.reply, returned.reply) {
        (Some(offered), Some(returned)) => echo(Which::Reply, &offered, &returned, exchange.reply, report),
        (Some(_), None) => report.broken(at, format_args!("the Reply chunk does not come back")),
        (None, Some(_)) => report.broken(at, format_args!("a Reply chunk comes back, and none was offered")),
        (None, None) => {}
    }
}
