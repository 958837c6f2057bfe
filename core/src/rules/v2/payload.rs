//! The Payload stream of a version 2 message, and the start of the stream (version two draft -01, "Header Types"; -07
//! sections 4.5.1 and 6.3).

use super::super::Counted;
use super::super::location::{self, counted};
use super::{Lists, Rule, RuleReport, SendV2Row, SentV2, Severity};
use crate::lists::{ReadList, WriteChunk};
use crate::reader::Reader;
use crate::rpc::MessageType;
use crate::v2::family_b::{Body, CallExternal};
use crate::v2::{ErrorCode, Family, HeaderV2, MessageV2, family_a};

/// The RPC message has the XID of the transport header (version 2).
pub static V2_XID_MISMATCH: Rule = Rule::new("v2-xid-mismatch", Severity::Error, "version two -01 XDR Errors; -07 7.2")
    .summary("rdma_xid equals the XID of the RPC message")
    .reason(
        "The transport finds the waiting call by one of these words, and RPC by the other. If they \
             differ, a reply completes the wrong call.",
    )
    .correct(
        "A sender copies the XID. A responder answers RDMA2_ERR_BAD_XDR. Only the first part of a \
              Payload stream is judged.",
    );

/// The header says whether the RPC message is a call or a reply (family B).
pub static V2_DIRECTION: Rule = Rule::new("v2-direction", Severity::Error, "version two -07 6.1, 6.3.5 to 6.3.10")
    .summary("the header of a Call carries a Call, the header of a Reply a Reply (drafts -03 to -07)")
    .reason("The header type tells a receiver whose XID it is: a call would be taken for the reply to another.")
    .correct(
        "A sender chooses the header type by msg_type. Only the first part of a Payload stream is judged. A call in a \
              chunk is judged when its answer comes, because the chunk has been read by then.",
    );

pub(super) static RULES: [SendV2Row; 5] = [
    SendV2Row { rule: &V2_XID_MISMATCH, answer: Some(ErrorCode::BAD_XDR), judge: xid_mismatch },
    SendV2Row {
        rule: &Rule::new(
            "v2-no-payload",
            Severity::Error,
            "version two -01 Header Types, XDR Errors; -07 6.3.6, 6.3.7, 6.3.9, 6.3.10",
        )
        .summary(
            "a header with a Payload stream is followed by octets of it; RDMA2_NOMSG with an XID has a chunk \
                      that holds the Payload stream",
        )
        .reason("Without them there is no RPC message, or this part of it is missing.")
        .correct(
            "A sender puts at least one word of the Payload stream behind the header, or all of it into a \
                      Position Zero Read chunk or the Reply chunk. A responder answers RDMA2_ERR_BAD_XDR. RDMA2_NOMSG \
                      without an XID and without chunks grants credits (drafts -00 to -02).",
        ),
        answer: Some(ErrorCode::BAD_XDR),
        judge: no_payload,
    },
    SendV2Row {
        rule: &Rule::new("v2-external", Severity::Error, "version two -07 6.3.5, 6.3.7, 6.3.8")
            .summary(
                "RDMA2_CALL_EXTERNAL has a Call chunk, RDMA2_REPLY_EXTERNAL a Reply chunk; only the Call chunk is at \
                      Position 0 (drafts -03 to -07)",
            )
            .reason(
                "The chunk holds the Payload stream. Without it there is none, and with two the receiver cannot \
                     tell which one to use.",
            )
            .correct(
                "A requester puts a call that is not inline into rdma_call, with all segments at Position 0, and \
                      only data items into rdma_reads. A responder puts such a reply into the Reply chunk. A \
                      responder answers RDMA2_ERR_BAD_XDR.",
            ),
        answer: Some(ErrorCode::BAD_XDR),
        judge: external,
    },
    SendV2Row {
        rule: &Rule::new("v2-read-order", Severity::Error, "version two -01 Read Chunks; -07 4.5.1, 4.5.1.1")
            .summary("Positions are multiples of four and do not decrease")
            .reason(
                "XDR items begin at multiples of four. A receiver that inserts chunks as it walks the Payload \
                     stream misses a Position that comes too late.",
            )
            .correct(
                "A requester lists its Read chunks in the order of the Payload stream. A responder answers \
                      RDMA2_ERR_BAD_XDR. The order is required since draft -02; -00 and -01 share its wire format, so \
                      in that format it is a hazard.",
            ),
        answer: Some(ErrorCode::BAD_XDR),
        judge: read_order,
    },
    SendV2Row { rule: &V2_DIRECTION, answer: None, judge: direction },
];

/// Returns the message if a Payload stream begins after the header.
fn message_with_stream<'a>(sent: &SentV2<'a>) -> Option<MessageV2<'a>> {
    sent.decoded.ok().filter(|message| sent.begins && message.header.has_payload())
}

fn xid_mismatch(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Some(message) = message_with_stream(sent) else { return };
    let rdma_xid = message.header.xid();
    if let Ok(xid) = Reader::new(message.payload).u32()
        && xid != rdma_xid
    {
        let values = format_args!("the RPC message has the XID {xid:#010x}, rdma_xid is {rdma_xid:#010x}");
        report.broken(message.header_length, values);
    }
}

fn direction(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Some(MessageV2 { header: header @ HeaderV2::B(_), header_length, payload }) = message_with_stream(sent) else {
        return;
    };
    if let Some((_, kind)) = MessageType::peek(payload) {
        direction_of(&header, kind, header_length.saturating_add(4), report);
    }
}

/// Judges the direction of a header of family B by the RPC message; `at` shows what is wrong.
pub(super) fn direction_of(header: &HeaderV2<'_>, kind: MessageType, at: usize, report: &mut RuleReport<'_>) {
    let is = match (kind, header.is_response()) {
        (MessageType::CALL, Some(true)) => "Call",
        (MessageType::REPLY, Some(false)) => "Reply",
        _ => return,
    };
    report.broken(at, format_args!("a {is} in {}", header.type_name()));
}

fn no_payload(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Ok(message) = sent.decoded else { return };
    let MessageV2 { header, header_length, .. } = message;
    if let HeaderV2::A(nomsg) = header
        && matches!(nomsg.body, family_a::Body::Nomsg(_))
    {
        return nomsg_without_payload(&nomsg, report);
    }
    if !header.has_payload() {
        return;
    }
    match sent.length.saturating_sub(header_length) {
        0 => report.broken(header_length, format_args!("nothing follows the header of {}", header.type_name())),
        // The last part of a Payload stream may be that short.
        length @ 1..4 if sent.begins => {
            let length = Counted(length, "octet");
            report.broken(header_length, format_args!("the Payload stream has {length}, fewer than an XID"));
        }
        _ => {}
    }
}

fn nomsg_without_payload(header: &family_a::Header<'_>, report: &mut RuleReport<'_>) {
    let lists = Lists::from(&HeaderV2::A(*header));
    let chunks = lists.chunks;
    let is_reply = header.flags.contains(family_a::HeaderFlags::RESPONSE);
    let has_position_zero = chunks.reads.iter().any(|read| read.position == 0 && read.target.length > 0);
    if header.is_grant() || has_position_zero || (is_reply && !is_empty(chunks.reply)) {
        return;
    }
    let at = if is_reply { location::reply_chunk(lists) } else { location::read_list(lists) };
    if chunks.is_empty() {
        report.broken(at, format_args!("RDMA2_NOMSG without any chunk, and rdma_xid is {:#010x}", header.xid));
    } else if is_reply {
        report.broken(at, format_args!("RDMA2_NOMSG of a reply with {} Reply chunk", how(chunks.reply)));
    } else {
        let zero = chunks.reads.iter().find(|read| read.position == 0);
        report.broken(at, format_args!("RDMA2_NOMSG of a call with {} Position Zero Read chunk", how(zero)));
    }
}

/// Returns, in words, why a chunk holds nothing.
fn how<T>(chunk: Option<T>) -> &'static str {
    chunk.map_or("no", |_| "an empty")
}

/// Returns true if the Reply chunk cannot hold any octet.
fn is_empty(reply: Option<WriteChunk<'_>>) -> bool {
    reply.is_none_or(|chunk| chunk.length() == 0)
}

fn external(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Some(header @ HeaderV2::B(of_b)) = sent.header() else { return };
    let lists = Lists::from(&header);
    match of_b.body {
        Body::CallExternal(CallExternal { call, .. }) => {
            call_chunk(call, location::call_chunk(&header), report);
            position_zero(lists, report);
        }
        Body::CallInline(_) => position_zero(lists, report),
        Body::ReplyExternal { reply, .. } if is_empty(reply) => {
            let values = format_args!("RDMA2_REPLY_EXTERNAL with {} Reply chunk", how(reply));
            report.broken(location::reply_chunk(lists), values);
        }
        _ => {}
    }
}

fn call_chunk(call: ReadList<'_>, lists: Lists<'_>, report: &mut RuleReport<'_>) {
    if call.length() == 0 {
        let values = format_args!("RDMA2_CALL_EXTERNAL with {} Call chunk", how(call.iter().next()));
        report.broken(location::read_list(lists), values);
    }
    for (index, segment) in counted(call.iter()).filter(|(_, segment)| segment.position != 0) {
        let at = location::read_segment(lists, index).saturating_add(4);
        report.broken(at, format_args!("Position {} in the Call chunk", segment.position));
    }
}

/// Returns the first segment at Position 0 of a Read list that may have none.
fn position_zero(lists: Lists<'_>, report: &mut RuleReport<'_>) {
    if let Some((index, _)) = counted(lists.chunks.reads.iter()).find(|(_, read)| read.position == 0) {
        let at = location::read_segment(lists, index).saturating_add(4);
        report.broken(at, format_args!("a Position Zero Read chunk in the Read list"));
    }
}

fn read_order(sent: &SentV2<'_>, report: &mut RuleReport<'_>) {
    let Some(header) = sent.header().filter(|header| header.is_response() == Some(false)) else { return };
    let lists = Lists::from(&header);
    let mut before = None;
    for (index, read) in counted(lists.chunks.reads.iter()) {
        let (position, last) = (read.position, before.replace(read.position));
        let at = location::read_segment(lists, index).saturating_add(4);
        if position % 4 != 0 && last != Some(position) {
            report.broken(at, format_args!("Position {position} is not a multiple of four"));
        } else if let Some(last) = last.filter(|&last| position < last) {
            let severity = if header.family() == Family::A { Severity::Hazard } else { Severity::Error };
            report.broken_as(severity, at, format_args!("Position {position} after Position {last}"));
        }
    }
}
