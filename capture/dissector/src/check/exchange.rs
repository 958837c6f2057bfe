//! Calls and replies, with NFS data items (RFC 8166 sections 3.4, 4.3 and 8.2; RFC 8267).

use rpcrdma::error::Role;
use rpcrdma::lists::{Chunks, WriteChunk};
use rpcrdma::reader::padding;
use rpcrdma::rules::{Finding, Row, Rule, RuleReport, SegmentLocation, Severity, segments, unreduced};
use rpcrdma::v1::{self, Body, ErrorBody};

use super::book::Book;
use super::finding::{About, Blame, Found};
use super::written_chunks::{WrittenChunk, written};
use crate::carrier::operation::Sides;
use crate::nfs::{self, OperationCode, WalkError};
use crate::rpc::header;
use crate::rpc::header::write_lengths;
use crate::rpc::message::Message;
use crate::rpc::not_rebuilt::ChunkName;
use crate::rpc::properties::{Security, Status, Walked};
use crate::rpc::ranges::{self, Ranges};

/// Judges a message; false if the capture does not hold enough to tell.
type RpcRow = Row<fn(&Subject<'_>, &mut RuleReport<'_>) -> bool>;

pub(super) static INVALIDATE_FOREIGN: Rule = Rule::new("invalidate-foreign", Severity::Error, "RFC 8797 3.2, 4.1")
    .summary(
        "Send With Invalidate is used only for replies, names a handle of the call, and only if both \
              ends have announced support",
    )
    .reason(
        "Another handle may be in use. A requester that does not expect the invalidation invalidates a \
             second time, or never.",
    )
    .correct(
        "A responder checks the flags in the private data of both ends, and invalidates a handle from \
              the call's chunks, or uses a plain Send. Support that was not announced is reported once per \
              connection.",
    );

pub(super) static ERROR_ECHO: Rule = Rule::new("error-echo", Severity::Error, "RFC 8166 4.5")
    .summary("RDMA_ERROR has the xid and the version of the request that it answers")
    .reason("Otherwise the requester cannot tell which request failed, or cannot read the error.")
    .correct(
        "A responder copies both words. An error whose xid belongs to no request is reported as \
              reply-unexpected.",
    );

static RULES: [RpcRow; 11] = [
    RpcRow {
        rule: &Rule::new("read-length", Severity::Error, "RFC 8166 3.4.5.2")
            .summary("a Read chunk is as long as its item, with or without the padding")
            .reason("Otherwise, every later item is in a different place from where the responder looks for it.")
            .correct("A requester advertises the octets of the item, and no others."),
        judge: read_length,
    },
    RpcRow {
        rule: &Rule::new("read-roundup", Severity::Warning, "RFC 8166 3.4.5.2")
            .summary("a Read chunk leaves out the padding of its item")
            .reason("Padding carries no data, and a separate segment for it costs an RDMA Read.")
            .correct("A requester makes the chunk as long as the item."),
        judge: read_roundup,
    },
    RpcRow {
        rule: &Rule::new("write-roundup", Severity::Error, "RFC 8166 3.4.6.2")
            .summary(
                "the returned length of a Write chunk is that of its item, without padding, and no padding is written",
            )
            .reason(
                "The requester takes the length for that of the data, and passes on octets that are not in the \
                     file. The memory behind the data may be in use.",
            )
            .correct("A responder neither writes nor counts padding."),
        judge: write_roundup,
    },
    RpcRow {
        rule: &Rule::new("write-unwritten", Severity::Error, "RFC 8166 3.4.6, 4.4.1")
            .summary(
                "every octet of the length returned for a Write chunk or the Reply chunk was written before the reply",
            )
            .reason("The requester takes whatever happens to be in its memory for data.")
            .correct("A responder returns the length that it wrote, and does not count what it sent in another way."),
        judge: write_unwritten,
    },
    RpcRow {
        rule: &Rule::new("write-ignored", Severity::Error, "RFC 8166 4.3.2, 4.3.2.1, 8.2.2.3")
            .summary("a DDP-eligible result goes into the Write chunk that was provided for it")
            .reason("The requester expects the data there, and has no room for it inline.")
            .correct(
                "A responder writes each such result into the next Write chunk. Under RPCSEC_GSS integrity or \
                      privacy none is eligible, and the chunk comes back unused.",
            ),
        judge: write_ignored,
    },
    RpcRow {
        rule: &Rule::new("ddp-not-eligible", Severity::Error, "RFC 8166 6.1; RFC 8267")
            .summary("only items that the upper-layer binding names are reduced")
            .reason("The other end expects every other item in the Payload stream.")
            .correct("NFS reduces the data of READ and WRITE, and the paths of READLINK, SYMLINK and CREATE."),
        judge: ddp_not_eligible,
    },
    RpcRow {
        rule: &Rule::new("gss-reduced", Severity::Error, "RFC 8166 8.2.2.3")
            .summary("nothing is reduced under RPCSEC_GSS integrity or privacy")
            .reason("The checksum or cipher covers the whole body, so it must stay in one piece.")
            .correct("A peer sends a body that does not fit inline as a long call or a long reply."),
        judge: gss_reduced,
    },
    RpcRow {
        rule: &Rule::new("read-not-pulled", Severity::Hazard, "RFC 8166 3.4.5.1")
            .summary("if a call succeeds, its responder has read every octet of its Read chunks, except padding")
            .reason("It cannot have acted on arguments that it has not seen.")
            .correct("A responder reads all chunks before it passes the call on."),
        judge: read_not_pulled,
    },
    RpcRow { rule: &INVALIDATE_FOREIGN, judge: invalidate_foreign },
    RpcRow {
        rule: &Rule::new(
            "reply-chunk-missing",
            Severity::Hazard,
            "RFC 8166 4.3.3; draft rfc5666-implementation-experience 4.3",
        )
        .summary("a call that may have a long reply has a Reply chunk; without one, ERR_CHUNK may be the only answer")
        .reason("The responder has carried out the call, and cannot say so.")
        .correct("A requester provides a Reply chunk for the longest possible reply."),
        judge: reply_chunk_missing,
    },
    RpcRow { rule: &ERROR_ECHO, judge: error_echo },
];

pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().map(|row| row.rule)
}

/// A message to judge, and the known facts about the message.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) message: &'a Message,
    /// Header of the message, if readable.
    pub(super) decoded: Option<v1::Message<'a>>,
    pub(super) role: Role,
    /// The answered call, and the header of that call.
    pub(super) call: Option<&'a Message>,
    pub(super) called: Option<v1::Message<'a>>,
    /// The arguments of that call.
    pub(super) arguments: Option<&'a Walked>,
    /// For each segment of the call, what the responder read or wrote; `None` if that is not known.
    pub(super) moved: Option<&'a [Ranges]>,
    pub(super) walked: Option<&'a Walked>,
    /// The ends that announced remote invalidation; `None` if that is not known, or was reported before.
    pub(super) may_invalidate: Option<Sides<bool>>,
    /// True if the answered call is itself wrong, or may be another one.
    pub(super) faulty: bool,
}

impl<'a> Subject<'a> {
    fn is_call(&self) -> bool {
        self.role == Role::Requester
    }

    fn chunks(&self) -> Option<Chunks<'a>> {
        self.decoded.as_ref()?.header.chunks()
    }

    pub(super) fn offered(&self) -> Option<Chunks<'a>> {
        self.called.as_ref()?.header.chunks()
    }

    /// Returns the chunks of a reply, with the octets written to each; `None` if that is not known.
    fn written(&self) -> Option<Vec<WrittenChunk<'a>>> {
        Some(written(&self.offered()?, &self.chunks()?, self.moved?))
    }

    /// The service of RPCSEC_GSS under which nothing may be reduced (RFC 8166 section 8.2.2.3).
    fn protection(&self) -> Option<&'static str> {
        match self.message.rpc.as_ref()?.security? {
            Security::Integrity => Some("integrity"),
            Security::Privacy => Some("privacy"),
            Security::Authentication | Security::Control(_) => None,
        }
    }
}

/// Judges a message; returns the first broken rule of severity Error.
pub(super) fn judge(subject: &Subject<'_>, about: About, book: &mut Book) -> Option<&'static Rule> {
    let mut first = None;
    for row in &RULES {
        let mut take = |finding: &Finding<'_>| {
            if finding.severity == Severity::Error {
                first.get_or_insert(finding.rule);
            }
            let found = Found::new(about, finding, Some(finding.offset));
            // The requester provided no room, or the responder refuses what needs none.
            let is_either = finding.rule.slug == "reply-chunk-missing";
            book.keep(if is_either { found.by(Blame::Either) } else { found });
        };
        if !(row.judge)(subject, &mut RuleReport::new(row.rule, &mut take)) {
            book.unknown(row.rule);
        }
    }
    first
}

/// Judges a Long Call by the rules that need the arguments, once the Read chunks have been rebuilt. Returns true if a
/// rule of severity Error is broken.
pub(super) fn judge_late(subject: &Subject<'_>, about: About, book: &mut Book) -> bool {
    let mut faulty = false;
    if read_items(subject).is_empty() {
        return faulty;
    }
    let message = Message { rpc: None, ..subject.message.clone() };
    let before = Subject { message: &message, walked: None, ..*subject };
    for row in &RULES {
        let mut take = |finding: &Finding<'_>| {
            faulty |= finding.severity == Severity::Error;
            book.add_finding(about, finding, Some(finding.offset));
        };
        if !(row.judge)(&before, &mut RuleReport::new(row.rule, &mut |_: &Finding<'_>| {}))
            && (row.judge)(subject, &mut RuleReport::new(row.rule, &mut take))
        {
            book.count_judged(row.rule);
        }
    }
    faulty
}

/// A Read chunk of a call that is a data item.
struct ReadItem {
    /// Index of the chunk among all Read chunks.
    index: usize,
    position: u32,
    length: u64,
    /// Offset of the Position field in the Send.
    at: usize,
}

/// The Read chunks of a call that are data items at a possible place.
fn read_items(subject: &Subject<'_>) -> Vec<ReadItem> {
    let mut items = Vec::new();
    let (Some(decoded), Some(chunks)) = (&subject.decoded, subject.chunks()) else { return items };
    if !subject.is_call() || chunks.reads.is_empty() {
        return items;
    }
    let mut at = if matches!(decoded.header.body, Body::Msgp { .. }) { 28 } else { 20 };
    for (index, chunk) in chunks.reads.chunks().enumerate() {
        if chunk.position != 0 && chunk.position % 4 == 0 {
            items.push(ReadItem { index, position: chunk.position, length: chunk.segments.length(), at });
        }
        at += 24 * chunk.segments.len();
    }
    items
}

/// Returns the octets of the unreduced Payload stream that the walk covered.
fn reached(walked: &Walked) -> usize {
    let reduced = walked.items.iter().filter(|item| item.chunk.is_some()).map(|item| item.length as usize);
    let reduced: usize = reduced.map(|length| length + padding(length)).sum();
    walked.end.map_or_else(|error| walked.start + error.at + reduced, |()| usize::MAX)
}

fn is_unknown(walked: &Walked) -> bool {
    matches!(walked.end, Err(error) if error.reason == WalkError::UNKNOWN_PROCEDURE) || is_credential_unknown(walked)
}

fn is_credential_unknown(walked: &Walked) -> bool {
    matches!(walked.end, Err(error) if error.reason == WalkError::UNKNOWN_CREDENTIAL)
}

/// Returns the index of the item whose length differs from that of the Read chunk.
fn other_length(walked: &Walked) -> Option<usize> {
    let error = walked.end.err().filter(|error| error.reason == WalkError::READ_CHUNK_LENGTH);
    error.map(|_| reached(walked))
}

fn read_length(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let items = read_items(subject);
    if items.is_empty() {
        return true;
    }
    let (Some(walked), Some(decoded)) = (subject.walked.filter(|walked| !is_unknown(walked)), &subject.decoded) else {
        return false;
    };
    let (Some(position), Err(error)) = (other_length(walked), walked.end) else { return true };
    let Some(item) = items.iter().find(|item| item.position as usize == position) else { return true };
    let length = item.length;
    match count_before(decoded, walked.start + error.at) {
        Some(count) => report
            .broken(item.at, format_args!("the chunk at Position {position} has {length} octets, its item {count}")),
        None => report.broken(
            item.at,
            format_args!("the chunk at Position {position} has {length} octets, and its item has another length"),
        ),
    }
    true
}

/// The length of an item whose data would be at this place of the Payload stream: the previous word, if that is in the
/// Send.
fn count_before(message: &v1::Message<'_>, at: usize) -> Option<u32> {
    let word = message.payload.get(at.checked_sub(4)?..)?.first_chunk()?;
    Some(u32::from_be_bytes(*word))
}

fn read_roundup(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let items = read_items(subject);
    let Some(walked) = subject.walked else { return items.is_empty() };
    for read in items {
        let item = walked.items.iter().find(|item| item.chunk == Some(read.index));
        if let Some(item) = item.filter(|item| u64::from(item.length) < read.length) {
            let values =
                format_args!("{} octets at Position {} for an item of {}", read.length, read.position, item.length);
            report.broken(read.at, values);
        }
    }
    true
}

/// The lengths of the Write chunks of a reply.
pub(super) fn returned(subject: &Subject<'_>) -> Vec<u64> {
    match subject.chunks() {
        Some(chunks) if !subject.is_call() => write_lengths(&chunks),
        _ => Vec::new(),
    }
}

/// Returns the offset of the first segment of a chunk of the reply.
fn chunk_at(subject: &Subject<'_>, name: ChunkName) -> usize {
    let mut found = 0;
    if let Some(decoded) = &subject.decoded {
        segments(decoded, |place, _, at| match (place, name) {
            (SegmentLocation::Write { chunk, segment: 0 }, ChunkName::Write(index)) if chunk == index => found = at,
            (SegmentLocation::Reply { segment: 0 }, ChunkName::Reply) => found = at,
            _ => {}
        });
    }
    found
}

pub(super) fn write_chunk_at(subject: &Subject<'_>, index: usize) -> usize {
    chunk_at(subject, ChunkName::Write(index))
}

fn write_roundup(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let lengths = returned(subject);
    if lengths.iter().all(|&length| length == 0) {
        return true;
    }
    let Some(walked) = subject.walked.filter(|walked| !is_unknown(walked)) else { return false };
    for item in &walked.items {
        if let Some((index, &length)) = item.chunk.and_then(|index| Some((index, lengths.get(index)?)))
            && length != u64::from(item.length)
        {
            let values = format_args!("Write chunk {index} returned {length} octets for an item of {}", item.length);
            report.broken(write_chunk_at(subject, index), values);
        }
    }
    if let Err(error) = walked.end
        && error.reason == WalkError::WRITE_CHUNK_LENGTH
        && let Some((index, length)) = unclaimed(&lengths, walked)
    {
        let at = write_chunk_at(subject, index);
        match subject.decoded.and_then(|decoded| count_before(&decoded, walked.start + error.at)) {
            Some(word) if is_end_of_link(subject, index, length, word) => {
                let values = format_args!(
                    "Write chunk {index} returned {length} octets, and {word:#010x} is in place of the link's length, as if \
                     the chunk began with that"
                );
                report.broken(at, values);
            }
            Some(count) => {
                report
                    .broken(at, format_args!("Write chunk {index} returned {length} octets, and its item has {count}"));
            }
            None => report.broken(
                at,
                format_args!("Write chunk {index} returned {length} octets, and its item has another length"),
            ),
        }
    }
    padding_written(subject, walked, report)
}

/// Returns true if the word in place of a READLINK's length is the end of the link with padding, and thus larger than
/// the Write chunk. Then the Write chunk begins at the length of the link, not after the length.
fn is_end_of_link(subject: &Subject<'_>, index: usize, length: u64, word: u32) -> bool {
    let operation = subject.message.rpc.as_ref().and_then(|rpc| rpc.operations.last());
    let room = subject.offered().and_then(|offered| offered.writes.iter().nth(index)).map(|chunk| chunk.length());
    let octets_of_padding = (length.next_multiple_of(4) - length) as u32;
    operation.is_some_and(|operation| operation.code == OperationCode::READLINK)
        && room.is_some_and(|room| u64::from(word) > room)
        && word.trailing_zeros() >= 8 * octets_of_padding
}

/// Judges the octets written after the data of Write chunks that return the right length. Returns false if the capture
/// does not show these octets.
fn padding_written(subject: &Subject<'_>, walked: &Walked, report: &mut RuleReport<'_>) -> bool {
    let Some(chunks) = subject.written() else { return false };
    for chunk in chunks {
        let ChunkName::Write(index) = chunk.name else { continue };
        let item = walked.items.iter().find(|item| item.chunk == Some(index));
        if item.is_some_and(|item| u64::from(item.length) == chunk.returned())
            && let Some(padding) = chunk.padding()
        {
            let (first, last, name) = (padding.start, padding.end - 1, chunk.name);
            let values = format_args!("{name}: octets {first} to {last} were written, which pad the item before them");
            report.broken(chunk_at(subject, name), values);
        }
    }
    true
}

fn write_unwritten(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let Some(returned) = subject.chunks().filter(|_| !subject.is_call()) else { return true };
    let reply = returned.reply.map_or(0, |chunk| chunk.length());
    // With their padding, because that is what the Payload stream lacks of the results.
    let reduced: u64 = write_lengths(&returned).iter().map(|length| length.next_multiple_of(4)).sum();
    if reply == 0 && reduced == 0 {
        return true;
    }
    let Some(chunks) = subject.written() else { return false };
    for chunk in chunks {
        if let Some(gap) = chunk.gap() {
            let (first, last, length, name) = (gap.start, gap.end - 1, chunk.returned(), chunk.name);
            let counts_reduced = name == ChunkName::Reply && gap.end == length && gap.end - gap.start == reduced;
            let also = if counts_reduced { ", as many as were reduced" } else { "" };
            let values =
                format_args!("{name}: octets {first} to {last} of the {length} returned were not written{also}");
            report.broken(chunk_at(subject, name), values);
        }
    }
    true
}

/// The first Write chunk with data for which no result was found.
fn unclaimed(lengths: &[u64], walked: &Walked) -> Option<(usize, u64)> {
    let is_claimed = |index| walked.items.iter().any(|item| item.chunk == Some(index));
    let mut all = lengths.iter().copied().enumerate();
    all.find(|(index, length)| *length > 0 && !is_claimed(*index))
}

fn write_ignored(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let (false, Some(returned)) = (subject.is_call(), subject.chunks()) else { return true };
    let Some(offered) = subject.offered() else { return subject.call.is_some() || returned.writes.is_empty() };
    if offered.writes.is_empty() || subject.protection().is_some() || !matches!(succeeded(subject), Some(true)) {
        return true;
    }
    let Some(walked) = subject.walked.filter(|walked| !is_unknown(walked)) else { return false };
    let chunks: Vec<_> = offered.writes.iter().zip(returned.writes.iter()).collect();
    // The next chunk, and how many results without data may have taken one: RFC 8166 section 4.3.2.2 leaves their
    // chunks to later results, but RFC 8267 section 6.4.1 does not.
    let (mut next, mut without_data) = (0, 0);
    for item in &walked.items {
        if let Some(used) = item.chunk {
            (next, without_data) = (used + 1, 0);
        } else if item.length == 0 {
            without_data += 1;
        } else {
            let mut meant = chunks.get(next..=next + without_data).into_iter().flatten().peekable();
            let is_ignored = |(offered, returned): &(WriteChunk<'_>, WriteChunk<'_>)| {
                returned.length() == 0 && offered.length() >= u64::from(item.length)
            };
            if meant.peek().is_some() && meant.all(is_ignored) {
                let values =
                    format_args!("{} octets inline, although Write chunk {next} was provided for them", item.length);
                report.broken(write_chunk_at(subject, next), values);
            }
            next += 1;
        }
    }
    true
}

/// Returns true if the call that a reply answers was carried out; `None` if that is not known.
fn succeeded(subject: &Subject<'_>) -> Option<bool> {
    let status = subject.message.rpc.as_ref()?.status?;
    Some(matches!(status, Status::Success(_)))
}

fn ddp_not_eligible(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    if subject.is_call() { read_not_eligible(subject, report) } else { write_not_eligible(subject, report) }
}

fn read_not_eligible(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let reads = read_items(subject);
    if reads.is_empty() {
        return true;
    }
    let Some(walked) = subject.walked.filter(|walked| !is_unknown(walked)) else { return false };
    let reached = reached(walked);
    let start = walked.start;
    let other = other_length(walked);
    let end = subject.decoded.map_or(0, |decoded| unreduced(&decoded, subject.message.length));
    for read in reads {
        let position = read.position as usize;
        let is_claimed = walked.items.iter().any(|item| item.chunk == Some(read.index));
        // A Position before the arguments or past their end is the concern of read-position-beyond.
        let is_inside = position >= start && read.position as u64 + read.length <= end;
        if !is_claimed && is_inside && other != Some(position) && position <= reached {
            let message = format_args!("no item that may be reduced is at Position {position}");
            report.broken(read.at, message);
        }
    }
    true
}

/// Returns true if the rule could be judged. A result that is not eligible is missing from the Payload stream, so
/// decoding the results ends early or fails, and a Write chunk with data has no item. A chunk without an item is proof
/// enough if no item was left to be found.
fn write_not_eligible(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let lengths = returned(subject);
    if lengths.iter().all(|&length| length == 0) {
        return true;
    }
    let Some(walked) = subject.walked.filter(|walked| !is_unknown(walked)) else { return false };
    let Some((index, length)) = unclaimed(&lengths, walked) else { return true };
    match walked.end {
        // The chunk met an item of another length: write-roundup.
        Err(error) if error.reason == WalkError::WRITE_CHUNK_LENGTH => return true,
        Err(error) if error.reason != WalkError::WRITE_CHUNK_LEFT && may_be_left(subject) => return false,
        _ => {}
    }
    let values = format_args!("Write chunk {index} returned {length} octets, and no result may be reduced to it");
    report.broken(write_chunk_at(subject, index), values);
    true
}

/// Returns true if, as far as is known, results that may be reduced follow the place at which the walk over the results
/// of a reply ended.
fn may_be_left(subject: &Subject<'_>) -> bool {
    let (Some(call), Some(reply)) = (subject.call.and_then(|call| call.rpc.as_ref()), subject.message.rpc.as_ref())
    else {
        return true;
    };
    let Some(procedure) = call.procedure.filter(|_| subject.arguments.is_some_and(|walked| walked.end.is_ok())) else {
        return true;
    };
    // The last operation that was met is the one in which it ended.
    let left = call.operations.iter().skip(reply.operations.len().saturating_sub(1));
    nfs::may_reduce_results(procedure, call.callback.is_callback(), left.map(|operation| operation.code))
}

fn gss_reduced(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let reads = read_items(subject);
    let used = returned(subject).into_iter().enumerate().find(|(_, length)| *length > 0);
    if reads.is_empty() && used.is_none() {
        return true;
    }
    if subject.message.rpc.is_none() || subject.walked.is_some_and(is_credential_unknown) {
        return false;
    }
    let Some(service) = subject.protection() else { return true };
    if let Some(read) = reads.first() {
        report.broken(read.at, format_args!("a Read chunk at Position {} under {service}", read.position));
    }
    if let Some((index, length)) = used {
        let at = write_chunk_at(subject, index);
        report.broken(at, format_args!("Write chunk {index} returned {length} octets under {service}"));
    }
    true
}

fn read_not_pulled(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let Some(offered) = subject.offered().filter(|chunks| !subject.is_call() && !chunks.reads.is_empty()) else {
        return true;
    };
    if subject.message.error().is_some() {
        return true;
    }
    let done = match subject.message.rpc.as_ref().and_then(|rpc| rpc.status) {
        Some(Status::Success(status)) => status.unwrap_or_default() == 0,
        Some(_) => false,
        None => return false,
    };
    if !done {
        return true;
    }
    let Some(mut moved) = subject.moved.map(<[Ranges]>::iter) else { return false };
    for (index, chunk) in offered.reads.chunks().enumerate() {
        let mut items = subject.arguments.iter().flat_map(|walked| &walked.items);
        let item = items.find(|item| item.chunk == Some(index));
        let mut left = item.map_or_else(|| without_padding(chunk.segments.length()), |item| u64::from(item.length));
        let lengths = chunk.segments.iter().map(|segment| {
            let length = left.min(u64::from(segment.target.length));
            left -= length;
            length
        });
        if let Some(gap) = ranges::gap(moved.by_ref().take(chunk.segments.len()).zip(lengths)) {
            let (first, last, position) = (gap.start, gap.end - 1, chunk.position);
            let values = format_args!(
                "octets {first} to {last} of the Read chunk at Position {position} were not read, and the call succeeded"
            );
            report.broken(0, values);
        }
    }
    true
}

/// Octets of a Read chunk that are certainly not padding: if the length of the chunk is a multiple of four, the last
/// three octets may be padding.
const fn without_padding(length: u64) -> u64 {
    if length.is_multiple_of(4) { length.saturating_sub(3) } else { length }
}

fn invalidate_foreign(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let Some(handle) = subject.message.invalidates else { return true };
    if subject.is_call() {
        report.broken(0, format_args!("a call invalidates handle {handle:#010x}"));
        return true;
    }
    let sender = subject.message.sender;
    let announced = subject.may_invalidate.map(|announced| (*announced.get(sender.other()), *announced.get(sender)));
    let silent = match announced {
        None | Some((true, true)) => None,
        Some((true, false)) => Some("the responder has not"),
        Some((false, true)) => Some("the requester has not"),
        Some((false, false)) => Some("neither end has"),
    };
    if let Some(silent) = silent {
        report.broken(
            0,
            format_args!("handle {handle:#010x} is invalidated, and {silent} announced remote invalidation"),
        );
    }
    if subject.message.error().is_some() {
        report.broken(0, format_args!("RDMA_ERROR invalidates handle {handle:#010x}"));
    }
    let Some(called) = &subject.called else { return false };
    let mut is_there = false;
    segments(called, |_, segment, _| is_there |= segment.handle == handle);
    if !is_there {
        report.broken(0, format_args!("handle {handle:#010x} is invalidated, which the call did not advertise"));
    }
    true
}

fn reply_chunk_missing(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let error = subject.message.error();
    let (Some(header::AnyErrorBody::V1(ErrorBody::Chunk)), Some(offered), false) =
        (error, subject.offered(), subject.faulty)
    else {
        return true;
    };
    match offered.reply {
        None => report.broken(16, format_args!("ERR_CHUNK answers a call without a Reply chunk")),
        Some(chunk) if chunk.length() == 0 => {
            report.broken(16, format_args!("ERR_CHUNK answers a call whose Reply chunk has no room"));
        }
        Some(_) => {}
    }
    true
}

fn error_echo(subject: &Subject<'_>, report: &mut RuleReport<'_>) -> bool {
    let (Some(_), Some(call), Some(prefix)) = (subject.message.error(), subject.call, subject.message.prefix()) else {
        return true;
    };
    if let Some(asked) = call.prefix()
        && asked.version != prefix.version
    {
        let values = format_args!("rdma_vers is {} in the error, and {} in the request", prefix.version, asked.version);
        report.broken(4, values);
    }
    true
}
