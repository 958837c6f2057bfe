//! The Read list, and what all segments have in common (RFC 8166 sections 3.4.3, 3.4.5 and 4.3.1).

use rpcrdma::rules::Severity;

use super::framing::THRESHOLD;
use super::some_of;
use crate::case::{Base, Case};
use crate::draft::{At, Draft, Field, Format, Label, List, Role};
use crate::message::{Message, Read, Segment};

/// Returns the data items of a Call: for each, the index of the first segment in `reads`.
fn items(message: &Message) -> Vec<(usize, Vec<Read>)> {
    let items = message.reads.chunk_by(|one, next| one.position == next.position);
    let mut index = 0;
    let mut placed = Vec::new();
    for item in items {
        placed.push((index, item.to_vec()));
        index += item.len();
    }
    placed
}

/// The index of the Position of a segment in `reads`.
fn position(message: &Message, index: usize) -> usize {
    message.draft().offset(Label::Position(List::Read, message.read_entry(index)))
}

/// The message with one chunk at another Position.
fn moved(message: &Message, from: u32, to: u32) -> Message {
    let mut moved = message.clone();
    for read in moved.reads.iter_mut().filter(|read| read.position == from) {
        read.position = to;
    }
    moved
}

/// The last chunk at a Position that is no multiple of four.
pub(super) fn unaligned(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    let Some((index, last)) = items(message).pop() else { return };
    let Some(read) = last.first() else { return };
    let slug = if message.format == Format::V1 { "read-position-align" } else { "v2-read-order" };
    for more in [1, 2, 3] {
        let case = base.with("position_plus", more, &moved(message, read.position, read.position | more));
        cases.push(case.breaks(slug, position(message, index)));
    }
}

/// The only chunk at other Positions: in the RPC header, at the end, past the end.
pub(super) fn at_other_positions(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    let (items, is_version_1) = (items(message), message.format == Format::V1);
    let [(index, item)] = items.as_slice() else { return };
    let Some(read) = item.first() else { return };
    let offset = position(message, *index);
    // An item that ends where the stream does is the last that can be right.
    let length: u64 = item.iter().map(|read| u64::from(read.target.length)).sum();
    let last = message.unreduced() - length;
    let (first, Ok(last)) = (message.rpc_header(), u32::try_from(last)) else { return };
    let past = (last | 3).saturating_add(1);
    for to in [4, 24, first - 4, first, last & !3, past, past.saturating_add(4), 0x7fff_fffc, 0x8000_0000, 0xffff_fffc]
    {
        let case = base.with("position", to, &moved(message, read.position, to));
        let is_outside = to < first || to > last;
        if !cases.iter().any(|other| other.name == case.name) {
            cases.push(if is_version_1 && is_outside { case.breaks("read-position-beyond", offset) } else { case });
        }
    }
    if let (Some(_), true) = (&message.inline, length.is_multiple_of(4)) {
        let case = base.with("position", 0, &moved(message, read.position, 0));
        cases.push(match message.format {
            Format::V1 | Format::V2a => case.breaks("read-position-zero-in-msg", offset),
            Format::V2b => case.breaks("v2-external", offset),
        });
    }
}

fn misordered(case: Case, offset: usize) -> Case {
    match case.format {
        Format::V1 => case.breaks("read-position-order", offset),
        Format::V2a => case.breaks("v2-read-order", offset).as_bad_as(Severity::Hazard),
        Format::V2b => case.breaks("v2-read-order", offset),
    }
}

/// Chunks in descending order, and a chunk in two pieces.
pub(super) fn unordered(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    let items = items(message);
    let [.., (first, one), (_, next)] = items.as_slice() else { return };
    let before = message.reads.iter().take(*first);
    let swapped = before.clone().chain(next).chain(one).copied().collect();
    let offset = position(message, first + next.len());
    cases.push(misordered(base.with("swapped", "", &Message { reads: swapped, ..message.clone() }), offset));
    if let [start, rest @ ..] = one.as_slice()
        && !rest.is_empty()
    {
        let torn = before.chain([start]).chain(next).chain(rest).copied().collect();
        let offset = position(message, first + 1 + next.len());
        cases.push(misordered(base.with("torn", "", &Message { reads: torn, ..message.clone() }), offset));
    }
}

/// A chunk that ends exactly at the next Position, and chunks that reach further.
pub(super) fn overlapping(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    for pair in items(message).windows(2) {
        let [(first, one), (second, next)] = pair else { continue };
        let (Some(start), Some(after)) = (one.first(), next.first()) else { continue };
        let offset = position(message, *second);
        let others = one.len() as u32 - 1;
        let Some(gap) = after.position.checked_sub(start.position).filter(|gap| *gap > others) else { continue };
        for length in [gap, gap + 1, gap + 4, 0x7fff_fffc] {
            // All of it in the last segment, but for one octet in each before.
            let mut reads = message.reads.clone();
            for (index, read) in reads.iter_mut().skip(*first).take(one.len()).enumerate() {
                read.target.length = if index + 1 == one.len() { length - others } else { 1 };
            }
            let which = format_args!("{}-of_{length}", start.position);
            let case = base.with("chunk_at", which, &Message { reads, ..message.clone() });
            let overlaps = message.format == Format::V1 && length > gap;
            cases.push(if overlaps { case.breaks("read-overlap", offset) } else { case });
        }
    }
}

/// The chunk with the Call: no multiple of four, or empty.
pub(super) fn long_call(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    let Some(last) = message.long.last() else { return };
    let with = |length: u32| {
        let mut long = message.long.clone();
        long.iter_mut().rev().take(1).for_each(|read| read.target.length = length);
        Message { long, ..message.clone() }
    };
    for more in [1, 2, 3, 4] {
        let Some(length) = last.target.length.checked_add(more) else { continue };
        let case = base.with("long_call_plus", more, &with(length));
        let is_odd = message.format == Format::V1 && more < 4;
        cases.push(if is_odd { case.breaks("long-call-roundup", 16) } else { case });
    }
    if message.long.len() == 1 && message.reads.is_empty() {
        let empty = with(0);
        let (list, entry) = message.long_entry(0);
        let draft = empty.draft();
        let at = At { list, entry, segment: 0 };
        let length = draft.offset(Label::Segment(at, Field::Length));
        let flag = draft.offset(Label::Follows(list, 0));
        let slug = match message.format {
            Format::V1 => "nomsg-empty",
            Format::V2a => "v2-no-payload",
            Format::V2b => "v2-external",
        };
        cases.push(base.of_draft("long_call_empty", "", &draft).breaks(slug, flag).breaks("segment-empty", length));
    }
    if message.format == Format::V2b {
        let draft = message.draft();
        for to in [4, 40, 0xffff_fffc] {
            let label = Label::Position(List::Call, 0);
            let case = base.of_draft("position_of_call_chunk", to, &draft.with(label, to));
            cases.push(case.breaks("v2-external", draft.offset(label)));
        }
    }
}

/// A Read list in a Reply.
pub(super) fn in_reply(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    if message.role == Role::Call || message.format == Format::V2b {
        return;
    }
    let target = Segment { handle: 0x0bad_0001, length: 4096, offset: 1 << 40 };
    for count in [1, 2, 16] {
        let reads = vec![Read { position: 40, target }; count];
        let reply = Message { reads, ..message.clone() };
        // Otherwise it would be too long, too.
        if reply.octets().len() > THRESHOLD {
            continue;
        }
        let offset = reply.draft().offset(Label::Follows(List::Read, 0));
        cases.push(base.with("read_list_of", count, &reply).breaks("read-in-reply", offset));
    }
}

/// Segments of the message: the index and length of each.
fn segments(draft: &Draft) -> Vec<(At, u32)> {
    let all = draft.words.iter().filter_map(|(label, word)| match label {
        Label::Segment(at, Field::Length) => Some((*at, *word)),
        _ => None,
    });
    let all: Vec<_> = all.collect();
    some_of(all.len()).filter_map(|index| all.get(index).copied()).collect()
}

/// An empty segment after segments of the Read list and of the chunk with the Call.
pub(super) fn empty_segments(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    let after = |reads: &[Read], index: usize| {
        let (before, rest) = reads.split_at(index + 1);
        let position = before.last().map_or(0, |read| read.position);
        let empty = Read { position, target: Segment { handle: 0x0bad_0001, length: 0, offset: 1 << 40 } };
        before.iter().copied().chain([empty]).chain(rest.iter().copied()).collect()
    };
    let long = some_of(message.long.len()).map(|index| {
        let with = Message { long: after(&message.long, index), ..message.clone() };
        (with, message.long_entry(index + 1))
    });
    let reads = some_of(message.reads.len()).map(|index| {
        let with = Message { reads: after(&message.reads, index), ..message.clone() };
        (with, (List::Read, message.read_entry(index + 1)))
    });
    for (with, (list, entry)) in long.chain(reads) {
        let draft = with.draft();
        let offset = draft.offset(Label::Segment(At { list, entry, segment: 0 }, Field::Length));
        cases.push(base.of_draft("empty_segment_at", offset, &draft).breaks("segment-empty", offset));
    }
}

/// Segments that end at the end of the memory, and segments that go on further.
pub(super) fn offsets(base: &Base, cases: &mut Vec<Case>) {
    let draft = base.message.draft();
    for (at, length) in segments(&draft) {
        let high_offset = draft.offset(Label::Segment(at, Field::OffsetHigh));
        let last = u64::MAX - u64::from(length.saturating_sub(1));
        for (offset, wraps) in [(0, false), (last, false), (last.saturating_add(1), length > 1), (u64::MAX, length > 1)]
        {
            let high = draft.with(Label::Segment(at, Field::OffsetHigh), (offset >> 32) as u32);
            let both = high.with(Label::Segment(at, Field::OffsetLow), offset as u32);
            let case = base.of_draft("offset_at", format_args!("{high_offset}-{offset:x}"), &both);
            if !cases.iter().any(|other| other.name == case.name) {
                cases.push(if wraps { case.breaks("segment-wraps", high_offset) } else { case });
            }
        }
    }
}
