//! Chunk lists with other entries and segments.

use core::ops::Range;

use crate::choices::Choices;
use crate::defects::BOUNDARIES;
use crate::draft::{At, Draft, Field, Label, List};

/// Largest number of repetitions.
const TIMES: u32 = 16;

impl Label {
    /// The entry of a list that the word belongs to.
    const fn entry(self) -> Option<(List, usize)> {
        match self {
            Self::Follows(list, entry) | Self::Position(list, entry) | Self::Count(list, entry) => Some((list, entry)),
            Self::Segment(At { list, entry, .. }, _) => Some((list, entry)),
            _ => None,
        }
    }
}

impl List {
    /// True if its entries look like the entries of the other one.
    const fn is_like(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Call | Self::Read, Self::Call | Self::Read) | (Self::Write | Self::Reply, Self::Write | Self::Reply)
        )
    }
}

/// An entry: the words from the one that says that it follows.
struct Entry {
    list: List,
    words: Range<usize>,
}

/// The entries of all lists.
fn entries(draft: &Draft) -> Vec<Entry> {
    let mut end = 0;
    let entries = draft.words.chunk_by(|(one, _), (next, _)| one.entry() == next.entry()).filter_map(|words| {
        end += words.len();
        match words {
            [(Label::Follows(list, _), 1), ..] => Some(Entry { list: *list, words: end - words.len()..end }),
            _ => None,
        }
    });
    entries.collect()
}

/// The words that say whether an entry follows: one can be put before each of them, except before a Reply chunk, which is
/// alone.
fn indexes(draft: &Draft, is_wanted: impl Fn(List) -> bool) -> Vec<(usize, List)> {
    let labels = draft.words.iter().enumerate();
    labels
        .filter_map(|(index, word)| match word {
            (Label::Follows(List::Reply, _), 1) => None,
            (Label::Follows(list, _), _) if is_wanted(*list) => Some((index, *list)),
            _ => None,
        })
        .collect()
}

fn words_of(draft: &Draft, words: &Range<usize>) -> Vec<(Label, u32)> {
    draft.words.get(words.clone()).unwrap_or_default().to_vec()
}

/// The draft with these words in place of others. Their labels are those of where they come from.
fn replaced(draft: &Draft, range: Range<usize>, with: Vec<(Label, u32)>) -> Draft {
    let mut draft = draft.clone();
    let end = range.end.min(draft.words.len());
    draft.words.splice(range.start.min(end)..end, with);
    draft
}

/// The draft with an entry in front of this index of a list. A Reply chunk takes its place: nothing follows it.
fn inserted(draft: &Draft, (index, list): (usize, List), entry: Vec<(Label, u32)>) -> Draft {
    let follows = usize::from(list == List::Reply);
    replaced(draft, index..index + follows, entry)
}

/// The draft without these entries of a list. That there is no Reply chunk has to be said in its place.
fn removed(draft: &Draft, list: List, words: Range<usize>) -> Draft {
    let none = (list == List::Reply).then_some((Label::Follows(List::Reply, 0), 0));
    replaced(draft, words, none.into_iter().collect())
}

/// Number of repetitions: most often one.
fn times(choices: &mut Choices<'_>) -> usize {
    if choices.below(4) == 0 { choices.below(TIMES) as usize + 1 } else { 1 }
}

pub(super) fn entry_removed(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let entries = entries(draft);
    let Entry { list, words } = choices.one_of(&entries)?;
    Some(removed(draft, *list, words.clone()))
}

pub(super) fn list_emptied(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let entries = entries(draft);
    let list = choices.one_of(&entries)?.list;
    let mut of_list = entries.iter().filter(|entry| entry.list == list).map(|entry| &entry.words);
    let first = of_list.next()?;
    let last = of_list.next_back().unwrap_or(first);
    Some(removed(draft, list, first.start..last.end))
}

pub(super) fn entry_repeated(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let entries = entries(draft);
    let words = &choices.one_of(&entries)?.words;
    let copies = words_of(draft, words).repeat(times(choices));
    Some(replaced(draft, words.end..words.end, copies))
}

/// The entry of one list, where another entry of the same list or of one like it stands.
pub(super) fn entry_moved(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let all = entries(draft);
    let Entry { list, words } = choices.one_of(&all)?;
    let without = removed(draft, *list, words.clone());
    let indexes = indexes(&without, |other| other.is_like(*list));
    Some(inserted(&without, *choices.one_of(&indexes)?, words_of(draft, words)))
}

/// A new entry, with memory of its own, in any list.
pub(super) fn entry_added(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let indexes = indexes(draft, |_| true);
    let index = *choices.one_of(&indexes)?;
    let list = index.1;
    let mut entry = vec![(Label::Follows(list, 0), 1)];
    let segments = match list {
        List::Call | List::Read => {
            let position = if choices.below(2) == 0 { 0 } else { 4 * choices.below(32) };
            entry.push((Label::Position(list, 0), position));
            1
        }
        List::Write | List::Reply => {
            let segments = choices.below(4);
            entry.push((Label::Count(list, 0), segments));
            segments as usize
        }
    };
    for segment in 0..segments {
        let at = At { list, entry: 0, segment };
        let length = *choices.one_of(&BOUNDARIES)?;
        let length = if choices.below(4) == 0 { length } else { 4 << choices.below(15) };
        entry.extend([
            (Label::Segment(at, Field::Handle), choices.word()),
            (Label::Segment(at, Field::Length), length),
            (Label::Segment(at, Field::OffsetHigh), 0),
            (Label::Segment(at, Field::OffsetLow), choices.word()),
        ]);
    }
    Some(inserted(draft, index, entry))
}

/// The segments of chunks, each with the number of the word that counts them.
fn segments(draft: &Draft) -> Vec<(usize, Range<usize>)> {
    let mut found = Vec::new();
    let mut count = 0;
    for (index, (label, _)) in draft.words.iter().enumerate() {
        match label {
            Label::Count(..) => count = index,
            Label::Segment(At { list: List::Write | List::Reply, .. }, Field::OffsetLow) => {
                found.push((count, (index + 1).saturating_sub(4)..index + 1));
            }
            _ => {}
        }
    }
    found
}

fn counted(draft: &mut Draft, count: usize, change: impl Fn(u32) -> u32) {
    draft.words.get_mut(count).into_iter().for_each(|(_, word)| *word = change(*word));
}

pub(super) fn segment_removed(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let segments = segments(draft);
    let (count, words) = choices.one_of(&segments)?;
    let mut draft = replaced(draft, words.clone(), Vec::new());
    counted(&mut draft, *count, |segments| segments.saturating_sub(1));
    Some(draft)
}

pub(super) fn segment_repeated(choices: &mut Choices<'_>, draft: &Draft) -> Option<Draft> {
    let segments = segments(draft);
    let (count, words) = choices.one_of(&segments)?;
    let times = times(choices);
    let mut draft = replaced(draft, words.end..words.end, words_of(draft, words).repeat(times));
    counted(&mut draft, *count, |segments| segments.saturating_add(times as u32));
    Some(draft)
}

/// An entry of the other message in a list like its own.
pub(super) fn entry_of(choices: &mut Choices<'_>, to: &Draft, from: &Draft) -> Option<Draft> {
    let entries = entries(from);
    let Entry { list, words } = choices.one_of(&entries)?;
    let indexes = indexes(to, |other| other.is_like(*list));
    Some(inserted(to, *choices.one_of(&indexes)?, words_of(from, words)))
}

/// A list of the other message in place of the same list.
pub(super) fn list_of(choices: &mut Choices<'_>, to: &Draft, from: &Draft) -> Option<Draft> {
    let range = |draft: &Draft, list: List| {
        let is_of_it = |(label, _): &(Label, u32)| label.entry().is_some_and(|(each, _)| each == list);
        let first = draft.words.iter().position(is_of_it)?;
        Some(first..draft.words.iter().rposition(is_of_it)? + 1)
    };
    let list = *choices.one_of(&[List::Call, List::Read, List::Write, List::Reply])?;
    Some(replaced(to, range(to, list)?, words_of(from, &range(from, list)?)))
}
