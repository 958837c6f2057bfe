//! Defects that only version 2 has (drafts -00 to -02, and -03 to -07).

use crate::case::{Base, Case};
use crate::draft::{Format, Label, Role};
use crate::message::Message;

const RESPONSE: u32 = 1;
const MORE: u32 = 2;
const TPMORE: u32 = 4;

/// Every bit of `rdma_flags`.
pub(super) fn flags(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    if message.format != Format::V2a {
        return;
    }
    let draft = message.draft();
    let own = u32::from(message.role == Role::Reply);
    let has_chunks = !(message.reads.is_empty() && message.writes.is_empty() && message.reply.is_none());
    for bit in 0..32 {
        let bit = 1 << bit;
        let case = base.of_draft("flag", format_args!("{bit:x}"), &draft.with(Label::Flags, own ^ bit));
        cases.push(match bit {
            // The direction of a long message shows only when its chunk has been read, and then the lists have other
            // rules.
            RESPONSE if message.inline.is_none() || has_chunks => continue,
            RESPONSE => case.breaks("v2-response-flag", 16),
            MORE if message.inline.is_none() => case.breaks("v2-more-type", 16),
            MORE if has_chunks => case.breaks("v2-more-chunks", 16),
            MORE => case,
            TPMORE => case.breaks("v2-tpmore", 16),
            _ => case.breaks("v2-reserved-flag", 16),
        });
    }
}

/// A handle that is none of the Call's.
pub(super) fn inv_handle(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    if message.format == Format::V1 || message.role == Role::Reply {
        return;
    }
    let draft = message.draft();
    let reads = message.long.iter().chain(&message.reads).map(|read| read.target.handle);
    let own: Vec<u32> =
        reads.chain(message.writes.iter().chain(&message.reply).flatten().map(|each| each.handle)).collect();
    for handle in [1, 0x7fff_ffff, u32::MAX].into_iter().filter(|handle| !own.contains(handle)) {
        let case = base.of_draft("inv_handle", handle, &draft.with(Label::InvHandle, handle));
        cases.push(case.breaks("v2-inv-handle", draft.offset(Label::InvHandle)));
    }
    for handle in own.into_iter().chain([0]) {
        cases.push(base.of_draft("inv_handle", handle, &draft.with(Label::InvHandle, handle)));
    }
}

/// A Call in the header of a Reply, and the other way round.
pub(super) fn external(base: &Base, cases: &mut Vec<Case>) {
    let message = &base.message;
    let Some(inline) = message.inline.as_ref().filter(|_| message.format == Format::V2b) else { return };
    let other = u32::from(message.role == Role::Call);
    let (Some(xid), Some(rest)) = (inline.get(..4), inline.get(8..)) else { return };
    let turned = [xid, &other.to_be_bytes(), rest].concat();
    let offset = message.draft().header_length() + 4;
    let turned = Message { inline: Some(turned), ..message.clone() };
    cases.push(base.with("other_direction", "", &turned).breaks("v2-direction", offset));
}
