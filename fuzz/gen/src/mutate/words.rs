//! Words with other values, and more or fewer of them.

use super::index;
use crate::choices::Choices;
use crate::defects::BOUNDARIES;
use crate::draft::{Draft, Field, Label};

/// Words of a header or a payload that are removed or repeated at once, at most.
const RUN: u32 = 8;

/// True if a word of the one kind makes sense as one of the other.
fn is_like(one: Label, other: Label) -> bool {
    use Label::{Count, Follows, InvHandle, Position, Segment};
    match (one, other) {
        (Follows(..), Follows(..)) | (Count(..), Count(..)) | (Position(..), Position(..)) => true,
        (Segment(_, Field::Handle), InvHandle) | (InvHandle, Segment(_, Field::Handle)) => true,
        (Segment(_, one), Segment(_, other)) => one == other,
        _ => one == other,
    }
}

/// A value that most decoders treat as they treat no other.
fn any(choices: &mut Choices<'_>, before: u32) -> u32 {
    match choices.below(6) {
        0 => choices.word(),
        1 => before ^ 1 << choices.below(32),
        2 => before.wrapping_add(choices.below(9)).wrapping_sub(4),
        3 => choices.below(16),
        _ => choices.one_of(&BOUNDARIES).copied().unwrap_or_default(),
    }
}

/// A word of the header with another value: any, that of a word of its kind, or one that fits what it means.
pub(super) fn header_word(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let index = index(choices, draft.words.len());
    let (label, before) = *draft.words.get(index)?;
    let value = match choices.below(3) {
        0 => any(choices, before),
        1 => {
            let like = draft.words.iter().filter(|(other, word)| is_like(label, *other) && *word != before);
            let like: Vec<u32> = like.map(|(_, word)| *word).collect();
            choices.one_of(&like).copied().unwrap_or_else(|| meant(choices, draft, label, before))
        }
        _ => meant(choices, draft, label, before),
    };
    let mut changed = draft.clone();
    changed.words.get_mut(index)?.1 = value;
    Some(changed)
}

/// A value at a limit of what the word means.
fn meant(choices: &mut Choices<'_>, draft: &Draft, label: Label, before: u32) -> u32 {
    let payload = draft.payload.len() as u32;
    match label {
        Label::Xid => draft.payload.first_chunk().map_or(before, |word| u32::from_be_bytes(*word)),
        Label::Version | Label::Flags => choices.below(4),
        Label::Procedure => choices.below(16),
        Label::Credit | Label::InvHandle => before ^ 1 << choices.below(32),
        Label::Follows(..) => before ^ 1,
        Label::Position(..) => {
            *choices.one_of(&[0, payload, (payload / 2) & !3, before.wrapping_add(4), before / 2]).unwrap_or(&0)
        }
        Label::Count(..) => choices.below(before.saturating_add(2)),
        Label::Segment(_, Field::Length) => {
            *choices.one_of(&[0, before ^ 3, before.wrapping_mul(2), payload]).unwrap_or(&0)
        }
        Label::Segment(_, Field::OffsetHigh) => u32::MAX,
        Label::Segment(_, Field::OffsetLow) => 0_u32.wrapping_sub(before),
        Label::Segment(_, Field::Handle) => before ^ 1,
    }
}

/// A word of the payload with another value, which may be one of the header.
pub(super) fn payload_word(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let mut draft = draft.clone();
    let index = 4 * index(choices, draft.payload.len() / 4);
    let copied = choices.one_of(&draft.words).map(|(_, word)| *word);
    let before = draft.payload.get_mut(index..)?.first_chunk_mut()?;
    let value = match copied {
        Some(word) if choices.below(8) == 0 => word,
        _ => any(choices, u32::from_be_bytes(*before)),
    };
    *before = value.to_be_bytes();
    Some(draft)
}

/// A shorter or a longer payload.
pub(super) fn payload_length(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let mut draft = draft.clone();
    if choices.below(2) == 0 && !draft.payload.is_empty() {
        draft.payload.truncate(index(choices, draft.payload.len()));
    } else {
        let more = if choices.below(4) == 0 { choices.below(4) } else { 4 * choices.below(16) } as usize + 1;
        draft.payload.resize(draft.payload.len() + more, 0);
    }
    Some(draft)
}

/// Some octets in a row: a run of whole words that begins at a word.
fn run(choices: &mut Choices<'_>, octets: &[u8]) -> core::ops::Range<usize> {
    let start = 4 * index(choices, octets.len() / 4);
    let length = 4 * (choices.below(RUN) as usize + 1);
    start..(start + length).min(octets.len())
}

fn of_payload(payload: Vec<u8>) -> Draft {
    Draft { words: Vec::new(), payload }
}

pub(super) fn words_removed(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let mut octets = draft.octets();
    octets.drain(run(choices, &octets)).next()?;
    Some(of_payload(octets))
}

pub(super) fn words_repeated(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let mut octets = draft.octets();
    let run = run(choices, &octets);
    let copy = octets.get(run.clone()).filter(|copy| !copy.is_empty())?.to_vec();
    octets.splice(run.end..run.end, copy);
    Some(of_payload(octets))
}

/// The first words of one message, and the last of the other.
pub(super) fn spliced(choices: &mut Choices<'_>, one: &Draft, other: &Draft) -> Option<Draft> {
    let (mut octets, other) = (one.octets(), other.octets());
    octets.truncate(4 * index(choices, octets.len() / 4));
    octets.extend_from_slice(other.get(4 * index(choices, other.len() / 4)..)?);
    Some(of_payload(octets))
}
