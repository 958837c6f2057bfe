//! Framing of a message (RFC 8166 sections 4.1 to 4.5).

use std::collections::BTreeSet;

use rpcrdma::rules::Severity;

use super::{BOUNDARIES, some_of};
use crate::case::{Answer, Base, Case};
use crate::draft::{Draft, Format, Label, List, Role};
use crate::message::Message;

/// The inline threshold before anything is agreed on (RFC 8166 section 3.3.3).
pub(super) const THRESHOLD: usize = 1024;

/// Least number of octets of a header with chunk lists, before the lists are looked at.
const fn shortest(format: Format) -> usize {
    match format {
        Format::V1 => 28,
        Format::V2a => 20,
        Format::V2b => 16,
    }
}

/// A header that ends after any number of octets.
pub(super) fn truncated(base: &Base, cases: &mut Vec<Case>) {
    let draft = base.message.draft();
    let octets = draft.octets();
    for length in 0..draft.header_length() {
        let cut = octets.iter().copied().take(length).collect();
        let (slug, offset) = end_of(&draft, length, shortest(base.message.format));
        let case = base.of_octets("truncated_to", length, cut).breaks(slug, offset);
        let is_short = slug == "header-short" && length < shortest(base.message.format);
        cases.push(if is_short { case.answered(Answer::Discard) } else { case });
    }
}

/// Rule that a header of this length breaks, and where: a receiver gives up at the entry that is not all there.
fn end_of(draft: &Draft, length: usize, shortest: usize) -> (&'static str, usize) {
    let word = length / 4;
    if length < shortest {
        return ("header-short", 4 * word);
    }
    let label = draft.words.get(word).map(|(label, _)| *label);
    match label {
        Some(Label::Follows(..)) => ("list-truncated", 4 * word),
        Some(Label::Position(list, entry)) => ("list-truncated", draft.offset(Label::Follows(list, entry))),
        Some(Label::Count(list, entry)) => ("list-truncated", draft.offset(Label::Count(list, entry))),
        Some(Label::Segment(at, _)) => match at.list {
            List::Call | List::Read => ("list-truncated", draft.offset(Label::Follows(at.list, at.entry))),
            List::Write | List::Reply => ("list-truncated", draft.offset(Label::Count(at.list, at.entry))),
        },
        _ => ("header-short", 4 * word),
    }
}

/// Any other version.
pub(super) fn version(base: &Base, cases: &mut Vec<Case>) {
    // With 1 instead of 2 it is a message of version 1, of which something else may be wrong first.
    let own = base.message.format.version();
    for version in BOUNDARIES.into_iter().filter(|&version| version != own && version != 1) {
        let draft = base.message.draft().with(Label::Version, version);
        cases.push(base.of_draft("version", version, &draft).breaks("version", 4));
    }
}

/// Any other header type that has no meaning.
pub(super) fn procedure(base: &Base, cases: &mut Vec<Case>) {
    let (slug, known): (_, &[u32]) = match base.message.format {
        Format::V1 => ("proc-unknown", &[0, 1, 2, 3, 4]),
        Format::V2a => ("v2-htype", &[0, 1, 4, 5, 6]),
        Format::V2b => ("v2-htype", &[4, 5, 6, 7, 8, 9, 10, 11, 12, 13]),
    };
    for procedure in BOUNDARIES.into_iter().chain(6..=15).filter(|procedure| !known.contains(procedure)) {
        let draft = base.message.draft().with(Label::Procedure, procedure);
        cases.push(base.of_draft("procedure", procedure, &draft).breaks(slug, 12));
    }
}

/// Every boundary of the credits: only zero is wrong, and in drafts -00 to -02 only the lower half of the word counts.
pub(super) fn credit(base: &Base, cases: &mut Vec<Case>) {
    for credit in BOUNDARIES {
        let draft = base.message.draft().with(Label::Credit, credit);
        let case = base.of_draft("credit", credit, &draft);
        cases.push(match (base.message.format, base.message.role) {
            (Format::V1, Role::Call) if credit == 0 => case.breaks("credit-zero-request", 8),
            (Format::V1, Role::Reply) if credit == 0 => case.breaks("credit-zero-grant", 8),
            (Format::V2a, _) if credit & 0xffff == 0 => case.breaks("v2-credit-zero", 8),
            _ => case,
        });
    }
}

/// A word that is neither 0 nor 1 as the flag that continues a list.
pub(super) fn list_flag(base: &Base, cases: &mut Vec<Case>) {
    let draft = base.message.draft();
    let flags = draft.words.iter().map(|(label, _)| label).filter(|label| matches!(label, Label::Follows(..)));
    let flags: Vec<&Label> = flags.collect();
    for label in some_of(flags.len()).filter_map(|index| flags.get(index).copied()) {
        let offset = draft.offset(*label);
        for value in BOUNDARIES.into_iter().filter(|&value| value > 1) {
            let case = base.of_draft("list_flag_at", format_args!("{offset}-{value}"), &draft.with(*label, value));
            cases.push(case.breaks("list-flag", offset));
        }
    }
}

/// More segments counted than there are octets for.
pub(super) fn count(base: &Base, cases: &mut Vec<Case>) {
    let draft = base.message.draft();
    let length = draft.octets().len();
    for (label, _) in draft.words.iter().filter(|(label, _)| matches!(label, Label::Count(..))) {
        let offset = draft.offset(*label);
        let most = (length - offset - 4) / 16;
        // The last but four are those whose octets, counted in 32 bits, are few again.
        let beyond = BOUNDARIES.into_iter().filter(|&count| count as usize > most);
        for count in beyond.chain([most as u32 + 1, 0x1000_0000, 0x1000_0001, 0x2000_0000, 0xf000_0001]) {
            let name = format_args!("{offset}-{count}");
            let case = base.of_draft("segment_count_at", name, &draft.with(*label, count));
            if !cases.iter().any(|other| other.name == case.name) {
                cases.push(case.breaks("list-truncated", offset));
            }
        }
    }
}

/// Another XID than that of the RPC message, and any XID that is the same in both.
pub(super) fn xid(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    let Some(inline) = &message.inline else { return };
    let draft = message.draft();
    let slug = if message.format == Format::V1 { "xid-mismatch" } else { "v2-xid-mismatch" };
    for xid in BOUNDARIES.into_iter().chain([message.xid ^ 1, message.xid ^ 0x8000_0000]) {
        let same: Vec<u8> = xid.to_be_bytes().into_iter().chain(inline.iter().skip(4).copied()).collect();
        let both = Message { xid, inline: Some(same.clone()), ..message.clone() };
        cases.push(base.with("xid", xid, &both));
        if xid != message.xid {
            let of_header = base.of_draft("rdma_xid", xid, &draft.with(Label::Xid, xid));
            let of_rpc = base.with("xid_of_rpc", xid, &Message { inline: Some(same), ..message.clone() });
            cases.extend([of_header, of_rpc].map(|case| case.breaks(slug, draft.header_length())));
        }
    }
}

/// A Payload stream of fewer octets than an RPC message has at least.
pub(super) fn payload(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    // With Read chunks, their Positions would be past the end, too.
    let Some(inline) = message.inline.as_ref().filter(|_| message.reads.is_empty()) else { return };
    let draft = message.draft();
    for length in 0..=8 {
        let cut = Message { inline: Some(inline.iter().copied().take(length).collect()), ..message.clone() };
        let case = base.with("payload_of", length, &cut);
        cases.push(match (message.format, length) {
            // Even with its lists empty, such a header of drafts -03 to -07 is whole.
            (Format::V1, 0..4) => case.breaks("msg-no-payload", draft.header_length()),
            (Format::V1, 4..8) => case.breaks("msg-no-payload", draft.header_length()).as_bad_as(Severity::Hazard),
            (_, 0..4) => case.breaks("v2-no-payload", draft.header_length()),
            _ => case,
        });
    }
}

/// Octets after a header whose Payload stream is in a chunk.
pub(super) fn trailing(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    if message.inline.is_some() {
        return;
    }
    let slug = if message.format == Format::V1 { "nomsg-trailing" } else { "v2-trailing" };
    let draft = message.draft();
    for length in BTreeSet::from([1, 3, 4, 40, THRESHOLD.saturating_sub(draft.header_length()).max(1)]) {
        let draft = Draft { payload: vec![0; length], ..draft.clone() };
        cases.push(base.of_draft("followed_by", length, &draft).breaks(slug, draft.header_length()));
    }
}

/// A header that says that the Payload stream is in a chunk, and no such chunk, or an empty one.
pub(super) fn no_stream(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    if message.inline.is_none() {
        return;
    }
    match message.role {
        Role::Call => {
            // Without reads, whose Positions would be past the end.
            let without =
                Message { inline: None, long: Vec::new(), reads: Vec::new(), inv_handle: 0, ..message.clone() };
            let draft = without.draft();
            let first = if message.format == Format::V2b { List::Call } else { List::Read };
            cases
                .push(no_chunk(base.of_draft("long_without_call", "", &draft), draft.offset(Label::Follows(first, 0))));
        }
        Role::Reply => {
            let without = Message { inline: None, reply: None, ..message.clone() };
            let draft = without.draft();
            let flag = if message.format == Format::V1 {
                Label::Follows(List::Read, 0)
            } else {
                Label::Follows(List::Reply, 0)
            };
            cases.push(no_chunk(base.of_draft("long_without_reply", "", &draft), draft.offset(flag)));
        }
    }
}

fn no_chunk(case: Case, offset: usize) -> Case {
    match case.format {
        Format::V1 => case.breaks("nomsg-empty", offset),
        Format::V2a => case.breaks("v2-no-payload", offset),
        Format::V2b => case.breaks("v2-external", offset),
    }
}

/// A Send as long as the inline threshold, and longer ones.
pub(super) fn inline_threshold(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    let Some(inline) = &message.inline else { return };
    if message.format != Format::V1 || !message.reads.is_empty() || message.octets().len() > THRESHOLD {
        return;
    }
    let header = message.draft().header_length();
    for length in [THRESHOLD, THRESHOLD + 1, THRESHOLD + 4, 4 * THRESHOLD] {
        let mut longer = inline.clone();
        longer.resize(length - header, 0);
        let case =
            base.with("of", format_args!("{length}_octets"), &Message { inline: Some(longer), ..message.clone() });
        cases.push(if length > THRESHOLD { case.breaks("inline-exceeded", 0) } else { case });
    }
}
