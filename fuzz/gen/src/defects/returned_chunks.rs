//! Chunks that a Reply returns, out of the chunks of the Call (RFC 8166 sections 3.4.6, 4.3.2 and 4.3.3).

use std::collections::BTreeSet;

use super::some_of;
use crate::case::{Base, Case};
use crate::draft::{At, Field, Format, Label, List};
use crate::message::{Message, Segment, length};

/// A Reply with the Call.
fn exchange(base: &Base) -> Option<(&Message, &Message)> {
    Some((base.call.as_ref()?, &base.message))
}

/// The Reply with a change to a segment.
fn changed(message: &Message, at: At, change: impl Fn(&mut Segment)) -> Message {
    let mut changed = message.clone();
    let chunk = match at.list {
        List::Write => changed.writes.get_mut(at.entry),
        _ => changed.reply.as_mut(),
    };
    chunk.and_then(|chunk| chunk.get_mut(at.segment)).into_iter().for_each(change);
    changed
}

/// A chunk that a Reply returns.
struct ReturnedChunk<'a> {
    list: List,
    /// Index of the chunk in the list.
    entry: usize,
    offered: &'a [Segment],
    returned: &'a [Segment],
}

fn returned_chunks<'a>(call: &'a Message, reply: &'a Message) -> Vec<ReturnedChunk<'a>> {
    let writes = call.writes.iter().zip(&reply.writes).enumerate();
    let writes =
        writes.map(|(entry, (offered, returned))| ReturnedChunk { list: List::Write, entry, offered, returned });
    let reply = call.reply.iter().zip(&reply.reply);
    let reply = reply.map(|(offered, returned)| ReturnedChunk { list: List::Reply, entry: 0, offered, returned });
    writes.chain(reply).collect()
}

/// The rule that a list comes back unchanged; drafts of version 2 have none for the Reply chunk.
const fn echo(list: List, format: Format) -> Option<&'static str> {
    match (list, format) {
        (List::Write, _) => Some("write-list-echo"),
        (_, Format::V1) => Some("reply-chunk-echo"),
        _ => None,
    }
}

/// The Reply chunk beside an inline reply, unused by a long one, and of an odd length.
pub(super) fn reply_chunk(base: &Base, cases: &mut Vec<Case>) {
    let Some((_, message)) = exchange(base) else { return };
    let Some(chunk) = message.reply.as_ref().filter(|chunk| !chunk.is_empty()) else { return };
    let (draft, first) = (message.draft(), At { list: List::Reply, entry: 0, segment: 0 });
    let offset = draft.offset(Label::Follows(List::Reply, 0));
    let unused = length(chunk) == 0;
    if message.inline.is_some() {
        if unused {
            let used = changed(message, first, |segment| segment.length = 4);
            cases.push(base.with("reply_chunk_beside_reply", "", &used).breaks("reply-chunk-in-msg", offset));
            let long = Message { inline: None, ..message.clone() };
            let slug = if message.format == Format::V1 { "reply-chunk-unused-nomsg" } else { "v2-no-payload" };
            cases.push(base.with("long_reply_empty", "", &long).breaks(slug, offset));
        }
        return;
    }
    let mut empty = message.clone();
    empty.reply.iter_mut().flatten().for_each(|segment| segment.length = 0);
    cases.push(match message.format {
        Format::V1 => base.with("long_reply_emptied", "", &empty).breaks("reply-chunk-unused-nomsg", offset),
        Format::V2a => base.with("long_reply_emptied", "", &empty).breaks("v2-no-payload", offset),
        Format::V2b => base.with("long_reply_emptied", "", &empty).breaks("v2-external", offset),
    });
    if chunk.first().is_none_or(|segment| segment.length < 4) {
        return;
    }
    for fewer in [1, 2, 3] {
        let odd = changed(message, first, |segment| segment.length -= fewer);
        let case = base.with("long_reply_minus", fewer, &odd);
        cases.push(if message.format == Format::V1 { case.breaks("long-reply-roundup", offset) } else { case });
    }
}

/// A foreign or stale handle, and another offset, in each segment.
pub(super) fn handles(base: &Base, cases: &mut Vec<Case>) {
    let Some((call, message)) = exchange(base) else { return };
    let draft = message.draft();
    for ReturnedChunk { list, entry, returned, .. } in returned_chunks(call, message) {
        let Some(slug) = echo(list, message.format) else { continue };
        for segment in some_of(returned.len()) {
            let at = At { list, entry, segment };
            let offset = draft.offset(Label::Segment(at, Field::Handle));
            let foreign = changed(message, at, |segment| segment.handle ^= 0x0100_0000);
            let zero = changed(message, at, |segment| segment.handle = 0);
            let elsewhere = changed(message, at, |segment| segment.offset ^= 4096);
            let high = changed(message, at, |segment| segment.offset ^= 1 << 61);
            for (name, reply) in [("foreign", foreign), ("no", zero)] {
                cases.push(
                    base.with("handle", format_args!("{name}_at_{offset}"), &reply).to_call(call).breaks(slug, offset),
                );
            }
            for (name, reply) in [("low", elsewhere), ("high", high)] {
                cases.push(
                    base.with("offset", format_args!("{name}_at_{offset}"), &reply).to_call(call).breaks(slug, offset),
                );
            }
        }
    }
}

/// More or fewer chunks, and chunks of more or fewer segments.
pub(super) fn counts(base: &Base, cases: &mut Vec<Case>) {
    let Some((call, message)) = exchange(base) else { return };
    let extra = Segment { handle: 0x0bad_0001, length: 0, offset: 1 << 40 };
    let mut longer = message.clone();
    longer.writes.push(vec![extra]);
    let mut shorter = message.clone();
    let last = shorter.writes.pop();
    let list = message.draft().offset(Label::Follows(List::Write, 0));
    cases.push(base.with("another_write_chunk", "", &longer).to_call(call).breaks("write-list-echo", list));
    if last.is_some() {
        cases.push(base.with("one_write_chunk_less", "", &shorter).to_call(call).breaks("write-list-echo", list));
    }
    for ReturnedChunk { list, entry, returned, .. } in returned_chunks(call, message) {
        let Some(slug) = echo(list, message.format).filter(|_| !returned.is_empty()) else { continue };
        let offset = message.draft().offset(Label::Count(list, entry));
        let with = |segments: Vec<Segment>| {
            let mut reply = message.clone();
            match list {
                List::Write => reply.writes.get_mut(entry).into_iter().for_each(|chunk| chunk.clone_from(&segments)),
                _ => reply.reply = Some(segments),
            }
            reply
        };
        let more = with(returned.iter().copied().chain([extra]).collect());
        cases.push(base.with("another_segment_at", offset, &more).to_call(call).breaks(slug, offset));
        if let [first, _, ..] = returned
            && (list == List::Write || message.inline.is_some())
        {
            let one = with(vec![*first]);
            cases.push(base.with("one_segment_at", offset, &one).to_call(call).breaks(slug, offset));
        }
    }
    unasked_reply_chunk(base, cases);
}

/// A Reply chunk that was not offered, or does not come back.
fn unasked_reply_chunk(base: &Base, cases: &mut Vec<Case>) {
    let Some((call, message)) = exchange(base) else { return };
    if message.format != Format::V1 || message.inline.is_none() {
        return;
    }
    let extra = Segment { handle: 0x0bad_0001, length: 0, offset: 1 << 40 };
    let offset = message.draft().offset(Label::Follows(List::Reply, 0));
    let (name, reply) = match message.reply {
        Some(_) => ("reply_chunk_not_returned", None),
        None => ("reply_chunk_not_offered", Some(vec![extra])),
    };
    let reply = Message { reply, ..message.clone() };
    cases.push(base.with(name, "", &reply).to_call(call).breaks("reply-chunk-echo", offset));
}

/// More octets returned than offered, and segments used before the previous one is full.
pub(super) fn lengths(base: &Base, cases: &mut Vec<Case>) {
    let Some((call, message)) = exchange(base) else { return };
    let draft = message.draft();
    for ReturnedChunk { list, entry, offered, returned } in returned_chunks(call, message) {
        if returned.is_empty() || offered != returned {
            continue;
        }
        let length_offset = |segment| draft.offset(Label::Segment(At { list, entry, segment }, Field::Length));
        // A long reply stays a multiple of four.
        let (unit, most) = if list == List::Reply { (4, u32::MAX - 3) } else { (1, u32::MAX) };
        for (segment, target) in some_of(offered.len()).filter_map(|index| Some((index, offered.get(index)?))) {
            for length in BTreeSet::from([target.length.saturating_add(unit).min(most), most]) {
                let reply = changed(message, At { list, entry, segment }, |segment| segment.length = length);
                let name = format_args!("{length}-at_{}", length_offset(segment));
                cases.push(
                    base.with("returned", name, &reply).to_call(call).breaks("write-length", length_offset(segment)),
                );
            }
        }
        if let [first, _, ..] = offered {
            for length in BTreeSet::from([0, first.length.saturating_sub(4)]) {
                let reply = changed(message, At { list, entry, segment: 0 }, |segment| segment.length = length);
                let name = format_args!("{length}-at_{}", length_offset(0));
                cases.push(
                    base.with("gap_after", name, &reply).to_call(call).breaks("write-fill-order", length_offset(1)),
                );
            }
        }
    }
}

/// Write chunks that come back without segments, or with new segments.
pub(super) fn emptied(base: &Base, cases: &mut Vec<Case>) {
    let Some((call, message)) = exchange(base) else { return };
    if message.format != Format::V1 {
        return;
    }
    let extra = Segment { handle: 0x0bad_0001, length: 0, offset: 1 << 40 };
    let offset = |entry| message.draft().offset(Label::Follows(List::Write, entry));
    for (entry, offered) in call.writes.iter().enumerate() {
        let (slug, segments) =
            if offered.is_empty() { ("write-empty-respected", vec![extra]) } else { ("write-unused-form", Vec::new()) };
        let mut reply = message.clone();
        reply.writes.get_mut(entry).into_iter().for_each(|chunk| chunk.clone_from(&segments));
        let case = base.with("other_form_of_write_chunk", entry, &reply).to_call(call);
        cases.push(case.breaks(slug, offset(entry)));
    }
}
