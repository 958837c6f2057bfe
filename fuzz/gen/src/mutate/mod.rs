//! Messages made of other messages, for a fuzzer: what can be read is changed as a header with chunk lists, the rest as
//! words and octets.

mod lists;
mod words;

use crate::case::Base;
use crate::choices::Choices;
use crate::draft::{Draft, Format, Role};
use crate::{random, random_of, read};

/// Makes a changed message; `None` if there is nothing that it could change.
type Edit = fn(&mut Choices<'_>, &Draft) -> Option<Draft>;

/// Changes to a message, each chosen as often as it is in the list.
const EDITS: [Edit; 16] = [
    words::header_word,
    words::header_word,
    words::header_word,
    words::payload_word,
    words::payload_word,
    words::payload_length,
    words::words_removed,
    words::words_repeated,
    lists::entry_removed,
    lists::entry_added,
    lists::entry_added,
    lists::entry_repeated,
    lists::entry_moved,
    lists::segment_removed,
    lists::segment_repeated,
    lists::list_emptied,
];

/// The longest message that a defect is put into: to make one, all of its kind are made.
const DEFECTIVE: usize = 1024;

/// Changes a message in one to four ways, or makes a new one of its format: at most `most` octets, and none only if `most`
/// is 0. The same choices make the same message.
///
/// The time it takes grows with the length of the message, and with nothing that is in it.
#[must_use]
pub fn mutate(choices: &mut Choices<'_>, octets: &[u8], most: usize) -> Vec<u8> {
    let format = Format::likely(octets);
    let changed = match choices.below(64) {
        0 => fresh(choices, format),
        1..=8 if octets.len() <= DEFECTIVE => defective(choices, format, octets, most),
        9..=12 => Some(cut(choices, octets)),
        _ => edited(choices, octets, most),
    };
    // What has no word yet is only good for a start.
    let changed = changed.or_else(|| fresh(choices, format)).unwrap_or_default();
    fit(changed, most)
}

/// Makes one message of two: the lists or the entries of one in the other, or the header of one before what follows the
/// header of the other. At most `most` octets, and none only if `most` is 0. The same choices make the same message.
#[must_use]
pub fn cross_over(choices: &mut Choices<'_>, one: &[u8], other: &[u8], most: usize) -> Vec<u8> {
    let (to, from) = (Draft::read(Format::likely(one), one), Draft::read(Format::likely(other), other));
    let made = match choices.below(4) {
        0 => Some(Draft { payload: from.payload, ..to }),
        1 => words::spliced(choices, &to, &from),
        2 => lists::list_of(choices, &to, &from),
        _ => lists::entry_of(choices, &to, &from),
    };
    match made {
        Some(made) => fit(made.octets(), most),
        None => mutate(choices, one, most),
    }
}

/// A new message of the same format.
fn fresh(choices: &mut Choices<'_>, format: Format) -> Option<Vec<u8>> {
    let role = *choices.one_of(&Role::ALL)?;
    Some(random(choices, format, role).octets)
}

/// The message with a defect that has a name, if it is one with chunk lists that are whole.
fn defective(choices: &mut Choices<'_>, format: Format, octets: &[u8], most: usize) -> Option<Vec<u8>> {
    let role = *choices.one_of(&Role::ALL)?;
    match read(format, role, octets) {
        Some(message) => Some(random_of(choices, &Base { name: String::new(), message, call: None }).octets),
        None => edited(choices, octets, most),
    }
}

/// The message without its end.
fn cut(choices: &mut Choices<'_>, octets: &[u8]) -> Vec<u8> {
    octets.iter().take(index(choices, octets.len())).copied().collect()
}

/// The message with one to four edits; `None` if none applies.
fn edited(choices: &mut Choices<'_>, octets: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut edited = None;
    // Two edits half as often as one, and so on.
    for _ in 0..=(choices.word() | 0x8).trailing_zeros() {
        let before = edited.as_deref().unwrap_or(octets);
        let draft = Draft::read(Format::likely(before), before);
        let first = index(choices, EDITS.len());
        // An edit that does not apply leaves its turn to the next.
        let after = EDITS.iter().cycle().skip(first).take(EDITS.len()).find_map(|edit| edit(choices, &draft))?;
        // One that repeats does so with at most this much.
        edited = Some(fit(after.octets(), most));
    }
    edited
}

/// A message of at most this many octets, and of one if there is nothing.
fn fit(mut octets: Vec<u8>, most: usize) -> Vec<u8> {
    if octets.is_empty() {
        octets.push(0);
    }
    octets.truncate(most);
    octets
}

/// An index of so many things; 0 if there are none.
fn index(choices: &mut Choices<'_>, count: usize) -> usize {
    choices.below(u32::try_from(count).unwrap_or(u32::MAX)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Label, List, named};

    fn valid(name: &str) -> Vec<u8> {
        let cases = named(Format::V1, Role::Call);
        cases.into_iter().find(|case| case.name == format!("valid/{name}")).expect("a named case").octets
    }

    fn count(draft: &Draft, counted: impl Fn(Label, u32) -> bool) -> usize {
        draft.words.iter().filter(|(label, word)| counted(*label, *word)).count()
    }

    #[test]
    fn what_is_made_is_never_empty_nor_longer_than_allowed() {
        let inputs = [Vec::new(), vec![7], vec![0xff; 37], valid("all_lists"), valid("write_chunk_of_16_segments")];
        let choices = &mut Choices::of_seed(1);
        for most in [1, 3, 28, 100, 4096] {
            for (one, other) in inputs.iter().flat_map(|one| inputs.iter().map(move |other| (one, other))) {
                for _ in 0..200 {
                    let made = [mutate(choices, one, most), cross_over(choices, one, other, most)];
                    assert!(made.iter().all(|made| (1..=most).contains(&made.len())), "of {one:x?}");
                }
            }
        }
        assert!(mutate(choices, &valid("all_lists"), 0).is_empty());
    }

    /// Of a message without chunks alone, with the longest that was made as the next input, as a fuzzer would have it.
    #[test]
    fn every_list_grows_and_stays_readable() {
        let choices = &mut Choices::of_seed(2);
        let (mut octets, mut readable, mut most) = (valid("no_chunks"), 0, [0; 4]);
        for _ in 0..2000 {
            let made = mutate(choices, &octets, 1024);
            let draft = Draft::read(Format::V1, &made);
            readable += usize::from(read(Format::V1, Role::Call, &made).is_some());
            let found = [
                count(&draft, |label, word| matches!(label, Label::Follows(List::Read, _)) && word == 1),
                count(&draft, |label, word| matches!(label, Label::Follows(List::Write, _)) && word == 1),
                count(&draft, |label, word| matches!(label, Label::Follows(List::Reply, _)) && word == 1),
                count(&draft, |label, word| matches!(label, Label::Count(..)) && word > 8),
            ];
            let grown = found.iter().zip(&most).any(|(found, most)| found > most);
            if grown && read(Format::V1, Role::Call, &made).is_some() {
                octets = made;
            }
            most.iter_mut().zip(found).for_each(|(most, found)| *most = found.max(*most));
        }
        assert!(most[0] > 8 && most[1] > 8 && most[2] == 1 && most[3] > 0, "entries and long chunks: {most:?}");
        assert!((500..1500).contains(&readable), "some are whole and some are not: {readable} of 2000");
    }

    #[test]
    fn two_messages_become_one_with_chunks_of_both() {
        let choices = &mut Choices::of_seed(3);
        let (one, other) = (valid("read_chunk"), valid("write_chunk"));
        let has_both = |octets: &Vec<u8>| {
            let message = read(Format::V1, Role::Call, octets);
            message.is_some_and(|message| message.reads.len() == 1 && message.writes.len() == 1)
        };
        let made: Vec<Vec<u8>> = (0..200).map(|_| cross_over(choices, &one, &other, 1024)).collect();
        let both = made.iter().filter(|octets| has_both(octets)).count();
        assert!(both > 20, "{both} of 200");
    }
}
