//! A message with chunk lists as meant by the sender.

use crate::draft::{At, Draft, Field, Format, Label, List, Role};

/// A segment (RFC 8166 section 3.4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The handle of the memory.
    pub handle: u32,
    /// Octets.
    pub length: u32,
    /// Their beginning.
    pub offset: u64,
}

/// A Read segment (RFC 8166 section 3.4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Position of the chunk in the Payload stream.
    pub position: u32,
    /// The memory.
    pub target: Segment,
}

/// A Call or a Reply of any format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The wire format.
    pub format: Format,
    /// Direction: Call or Reply.
    pub role: Role,
    /// `rdma_xid`.
    pub xid: u32,
    /// `rdma_credit`.
    pub credit: u32,
    /// `rdma_inv_handle`, where the format has one.
    pub inv_handle: u32,
    /// The chunk with the Payload stream of a Call: Position Zero segments of the Read list, or the Call chunk of
    /// drafts -03 to -07.
    pub long: Vec<Read>,
    /// The rest of the Read list.
    pub reads: Vec<Read>,
    /// The Write list.
    pub writes: Vec<Vec<Segment>>,
    /// The Reply chunk.
    pub reply: Option<Vec<Segment>>,
    /// The inline Payload stream, if any.
    pub inline: Option<Vec<u8>>,
}

/// Octets of these segments.
#[must_use]
pub(crate) fn length(chunk: &[Segment]) -> u64 {
    chunk.iter().map(|segment| u64::from(segment.length)).sum()
}

impl Message {
    /// `rdma_proc` or `rdma_htype`.
    #[must_use]
    pub const fn procedure(&self) -> u32 {
        match (self.format, self.role, &self.inline) {
            (Format::V1 | Format::V2a, _, Some(_)) => 0,
            (Format::V1 | Format::V2a, _, None) => 1,
            (Format::V2b, Role::Call, None) => 8,
            (Format::V2b, Role::Call, Some(_)) => 10,
            (Format::V2b, Role::Reply, None) => 11,
            (Format::V2b, Role::Reply, Some(_)) => 13,
        }
    }

    /// Returns the list of a segment of `long`, and the index in that list.
    #[must_use]
    pub const fn long_entry(&self, index: usize) -> (List, usize) {
        match self.format {
            Format::V1 | Format::V2a => (List::Read, index),
            Format::V2b => (List::Call, index),
        }
    }

    /// Returns the index of a segment of `reads` in the Read list.
    #[must_use]
    pub const fn read_entry(&self, index: usize) -> usize {
        match self.format {
            Format::V1 | Format::V2a => self.long.len() + index,
            Format::V2b => index,
        }
    }

    /// The header as labelled words, and the payload.
    #[must_use]
    pub fn draft(&self) -> Draft {
        let mut words = Words(vec![
            (Label::Xid, self.xid),
            (Label::Version, self.format.version()),
            (Label::Credit, self.credit),
            (Label::Procedure, self.procedure()),
        ]);
        if self.format == Format::V2a {
            words.0.push((Label::Flags, u32::from(self.role == Role::Reply)));
        }
        let is_reply_of_b = (self.format, self.role) == (Format::V2b, Role::Reply);
        if self.format != Format::V1 && !is_reply_of_b {
            words.0.push((Label::InvHandle, self.inv_handle));
        }
        match self.format {
            Format::V1 | Format::V2a => words.reads(List::Read, self.long.iter().chain(&self.reads)),
            Format::V2b => {
                if self.procedure() == 8 {
                    words.reads(List::Call, self.long.iter());
                }
                if !is_reply_of_b {
                    words.reads(List::Read, self.reads.iter());
                }
            }
        }
        words.chunks(List::Write, &self.writes);
        if !(is_reply_of_b && self.inline.is_some()) {
            words.chunks(List::Reply, self.reply.as_slice());
        }
        Draft { words: words.0, payload: self.inline.clone().unwrap_or_default() }
    }

    /// The octets of the message.
    #[must_use]
    pub fn octets(&self) -> Vec<u8> {
        self.draft().octets()
    }

    /// Octets of the RPC header of a Call (RFC 5531 section 9); of the shortest one for a Call that is not inline.
    pub(crate) fn rpc_header(&self) -> u32 {
        // Each of the credential and the verifier is a flavor, a length, and so many octets with padding.
        let inline = self.inline.as_deref().unwrap_or_default();
        let end = |start: usize| {
            let length = u32::from_be_bytes(*inline.get(start + 4..)?.first_chunk()?);
            Some(start + 8 + length.checked_next_multiple_of(4)? as usize)
        };
        let header = end(24).and_then(end).and_then(|header| u32::try_from(header).ok());
        header.filter(|header| *header as usize <= inline.len()).unwrap_or(40)
    }

    /// Octets of the unreduced Payload stream: the octets inline or in the long chunk, and each item with padding.
    #[must_use]
    pub fn unreduced(&self) -> u64 {
        let stream = match &self.inline {
            Some(inline) => inline.len() as u64,
            None => self.long.iter().map(|read| u64::from(read.target.length)).sum(),
        };
        let items = self.reads.chunk_by(|one, next| one.position == next.position);
        items.fold(stream, |sum, item| {
            let length: u64 = item.iter().map(|read| u64::from(read.target.length)).sum();
            sum + length.next_multiple_of(4)
        })
    }
}

/// The words of a header, in the order of the wire.
struct Words(Vec<(Label, u32)>);

impl Words {
    fn reads<'a>(&mut self, list: List, reads: impl Iterator<Item = &'a Read>) {
        let mut entry = 0;
        for read in reads {
            self.0.extend([(Label::Follows(list, entry), 1), (Label::Position(list, entry), read.position)]);
            self.segment(At { list, entry, segment: 0 }, read.target);
            entry += 1;
        }
        self.0.push((Label::Follows(list, entry), 0));
    }

    fn chunks(&mut self, list: List, chunks: &[Vec<Segment>]) {
        for (entry, chunk) in chunks.iter().enumerate() {
            self.0.extend([(Label::Follows(list, entry), 1), (Label::Count(list, entry), chunk.len() as u32)]);
            for (segment, target) in chunk.iter().enumerate() {
                self.segment(At { list, entry, segment }, *target);
            }
        }
        // The Reply chunk is optional, and nothing says that it was the last.
        if list != List::Reply || chunks.is_empty() {
            self.0.push((Label::Follows(list, chunks.len()), 0));
        }
    }

    fn segment(&mut self, at: At, Segment { handle, length, offset }: Segment) {
        self.0.extend([
            (Label::Segment(at, Field::Handle), handle),
            (Label::Segment(at, Field::Length), length),
            (Label::Segment(at, Field::OffsetHigh), (offset >> 32) as u32),
            (Label::Segment(at, Field::OffsetLow), offset as u32),
        ]);
    }
}
