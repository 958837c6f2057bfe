//! Any octets as labelled words, as far as recognisable.

use crate::draft::{At, Draft, Field, Format, Label, List};

impl Format {
    /// The format that octets of an unknown sender most likely have: the formats of version 2 have no header type with
    /// chunk lists in common.
    #[must_use]
    pub fn likely(octets: &[u8]) -> Self {
        let word = |index: usize| octets.chunks_exact(4).nth(index).and_then(|word| word.try_into().ok());
        match (word(1).map(u32::from_be_bytes), word(3).map(u32::from_be_bytes)) {
            (Some(2), Some(5 | 8 | 10 | 11 | 13)) => Self::V2b,
            (Some(2), _) => Self::V2a,
            _ => Self::V1,
        }
    }

    /// The chunk lists of a header with this `rdma_proc` or `rdma_htype`, in their order.
    const fn lists(self, procedure: u32) -> &'static [List] {
        match (self, procedure) {
            (Self::V1 | Self::V2a, 0 | 1) | (Self::V2b, 10) => &[List::Read, List::Write, List::Reply],
            (Self::V2b, 8) => &[List::Call, List::Read, List::Write, List::Reply],
            (Self::V2b, 11) => &[List::Write, List::Reply],
            (Self::V2b, 13) => &[List::Write],
            _ => &[],
        }
    }
}

impl Draft {
    /// Labels the words of a header up to the first that makes no sense; what follows is the payload. No octet is lost:
    /// [`Self::octets`] returns all.
    #[must_use]
    pub fn read(format: Format, octets: &[u8]) -> Self {
        let mut reader = WordReader { words: Vec::new(), rest: octets };
        // The words that could not be read are in the payload.
        let _ = reader.header(format);
        Self { words: reader.words, payload: reader.rest.to_vec() }
    }
}

struct WordReader<'a> {
    words: Vec<(Label, u32)>,
    rest: &'a [u8],
}

/// Returned where a header ends early, or a word makes no sense.
type Next = Option<()>;

impl WordReader<'_> {
    fn word(&mut self, label: Label) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk()?;
        let word = u32::from_be_bytes(*word);
        self.rest = rest;
        self.words.push((label, word));
        Some(word)
    }

    fn header(&mut self, format: Format) -> Next {
        for label in [Label::Xid, Label::Version, Label::Credit] {
            self.word(label)?;
        }
        let procedure = self.word(Label::Procedure)?;
        if format == Format::V2a {
            self.word(Label::Flags)?;
        }
        if matches!((format, procedure), (Format::V2a, 0 | 1) | (Format::V2b, 8 | 10)) {
            self.word(Label::InvHandle)?;
        }
        for list in format.lists(procedure) {
            match list {
                List::Call | List::Read => self.reads(*list)?,
                List::Write => self.chunks(*list, usize::MAX)?,
                List::Reply => self.chunks(*list, 1)?,
            }
        }
        Some(())
    }

    fn follows(&mut self, list: List, entry: usize) -> Option<bool> {
        match self.word(Label::Follows(list, entry))? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn reads(&mut self, list: List) -> Next {
        let mut entry = 0;
        while self.follows(list, entry)? {
            self.word(Label::Position(list, entry))?;
            self.segment(At { list, entry, segment: 0 })?;
            entry += 1;
        }
        Some(())
    }

    fn chunks(&mut self, list: List, most: usize) -> Next {
        let mut entry = 0;
        while entry < most && self.follows(list, entry)? {
            let segments = self.word(Label::Count(list, entry))?;
            for segment in 0..segments as usize {
                self.segment(At { list, entry, segment })?;
            }
            entry += 1;
        }
        Some(())
    }

    fn segment(&mut self, at: At) -> Next {
        for field in [Field::Handle, Field::Length, Field::OffsetHigh, Field::OffsetLow] {
            self.word(Label::Segment(at, field))?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Role, named};

    #[test]
    fn a_valid_message_keeps_the_labels_of_its_construction() {
        for format in Format::ALL {
            for role in Role::ALL {
                for case in named(format, role).iter().filter(|case| case.name.starts_with("valid/")) {
                    let message = crate::read(format, role, &case.octets).expect("a message with lists");
                    assert_eq!(Draft::read(format, &case.octets), message.draft(), "{}", case.name);
                    assert_eq!(Format::likely(&case.octets), format, "{}", case.name);
                }
            }
        }
    }

    #[test]
    fn no_octet_of_a_broken_message_is_lost() {
        for format in Format::ALL {
            for role in Role::ALL {
                for case in named(format, role) {
                    assert_eq!(Draft::read(format, &case.octets).octets(), case.octets, "{}", case.name);
                }
            }
        }
    }
}
