//! The smallest message that still fails.

use crate::draft::{Format, Role};
use crate::message::Message;
use crate::read::read;

/// Makes a message smaller as long as `fails` returns true: without list entries and segments, without octets at the
/// end, with zeros instead of other words. The result fails, and no single step makes a smaller failing message.
///
/// `fails` is asked at most as often as the message has octets, squared.
#[must_use]
pub fn shrink(format: Format, role: Role, octets: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut smallest = octets.to_vec();
    // Each step takes octets away or turns them into zeros, so this ends.
    while let Some(smaller) = steps(format, role, &smallest).into_iter().find(|smaller| fails(smaller)) {
        smallest = smaller;
    }
    smallest
}

/// Returns each single way to make a message smaller, the greatest reductions first.
fn steps(format: Format, role: Role, octets: &[u8]) -> Vec<Vec<u8>> {
    let mut steps: Vec<Vec<u8>> = Vec::new();
    if let Some(message) = read(format, role, octets) {
        steps.extend(without_entries(&message).iter().map(Message::octets));
    }
    let shorter = [octets.len() / 2, octets.len().saturating_sub(4), octets.len().saturating_sub(1)];
    let cut = shorter.into_iter().filter(|length| *length < octets.len());
    steps.extend(cut.filter_map(|length| octets.get(..length)).map(<[u8]>::to_vec));
    for (index, word) in octets.chunks(4).enumerate().filter(|(_, word)| word.iter().any(|octet| *octet != 0)) {
        let mut zeroed = octets.to_vec();
        zeroed.iter_mut().skip(4 * index).take(word.len()).for_each(|octet| *octet = 0);
        steps.push(zeroed);
    }
    steps
}

/// Returns the message without one entry or one segment, for each one in each list.
fn without_entries(message: &Message) -> Vec<Message> {
    let mut without = Vec::new();
    if message.reply.is_some() {
        without.push(Message { reply: None, ..message.clone() });
    }
    for entry in 0..message.writes.len() {
        let mut writes = message.writes.clone();
        writes.remove(entry);
        without.push(Message { writes, ..message.clone() });
    }
    for entry in 0..message.reads.len() {
        let mut reads = message.reads.clone();
        reads.remove(entry);
        without.push(Message { reads, ..message.clone() });
    }
    for entry in 0..message.long.len() {
        let mut long = message.long.clone();
        long.remove(entry);
        without.push(Message { long, ..message.clone() });
    }
    let chunks = message.writes.len() + usize::from(message.reply.is_some());
    for chunk in 0..chunks {
        let mut fewer = message.clone();
        let segments = fewer.writes.iter_mut().chain(&mut fewer.reply).nth(chunk);
        if segments.and_then(Vec::pop).is_some() {
            without.push(fewer);
        }
    }
    without
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Label, List, named};

    #[test]
    fn a_failing_message_becomes_as_small_as_its_fault() {
        let cases = named(Format::V1, Role::Call);
        let name = "all_lists_of_a_long_call";
        let base = cases.iter().find(|case| case.name == format!("valid/{name}")).expect("a named case");
        // The failure: a decoder that does not like Write chunks with handles above this one.
        let fails = |octets: &[u8]| {
            let message = read(Format::V1, Role::Call, octets);
            message.is_some_and(|message| message.writes.iter().flatten().any(|segment| segment.handle > 9))
        };
        let smallest = shrink(Format::V1, Role::Call, &base.octets, fails);
        let message = read(Format::V1, Role::Call, &smallest).expect("it still fails, so it can be read");
        assert!(fails(&smallest));
        assert_eq!((message.reads.len(), message.writes.len(), message.reply), (0, 1, None));
        // The four words, three lists, one chunk of one segment; all that is not zero is needed.
        assert_eq!(smallest.len(), 16 + 4 + 4 + 4 + 16 + 4 + 4);
        assert_eq!(smallest.chunks(4).filter(|word| *word != [0; 4]).count(), 4, "{smallest:x?}");
    }

    #[test]
    fn what_was_written_is_read_again() {
        for format in Format::ALL {
            for role in Role::ALL {
                let cases = named(format, role);
                let valid: Vec<_> = cases.iter().filter(|case| case.name.starts_with("valid/")).collect();
                assert!(valid.len() > 20);
                for case in valid {
                    let message = read(format, role, &case.octets).expect("a message with lists");
                    assert_eq!(message.octets(), case.octets, "{}", case.name);
                    let reads = message
                        .draft()
                        .words
                        .iter()
                        .filter(|(label, _)| matches!(label, Label::Position(List::Read, _)))
                        .count();
                    let long = if format == Format::V2b { 0 } else { message.long.len() };
                    assert_eq!(reads, message.reads.len() + long, "{}", case.name);
                }
            }
        }
    }
}
