//! Valid messages: every shape that chunk lists can have.

use crate::case::Base;
use crate::choices::Choices;
use crate::draft::{Format, Role};
use crate::message::{Message, Read, Segment, length};

/// The lengths of the segments of each chunk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// The chunk with the Call itself: as long as needed, in this many segments; none if the Call is inline.
    long: u32,
    reads: Vec<Vec<u32>>,
    writes: Vec<Vec<u32>>,
    reply: Option<Vec<u32>>,
}

/// Length that a Reply returns in each chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Used {
    Nothing,
    Part,
    All,
}

impl Used {
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::Part, Self::All];

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "unused",
            Self::Part => "partly_used",
            Self::All => "used",
        }
    }
}

/// The most segments of a Write chunk, and of a Read list, that fit a Send of 1024 octets in every format.
const MOST_WRITE: usize = 58;
const MOST_READ: usize = 38;

/// The shapes of the named cases.
pub(crate) fn named() -> Vec<(&'static str, Shape)> {
    let reads =
        |reads: &[&[u32]]| Shape { reads: reads.iter().map(|chunk| chunk.to_vec()).collect(), ..Shape::default() };
    let writes =
        |writes: &[&[u32]]| Shape { writes: writes.iter().map(|chunk| chunk.to_vec()).collect(), ..Shape::default() };
    let reply = |segments: &[u32]| Shape { reply: Some(segments.to_vec()), ..Shape::default() };
    vec![
        ("no_chunks", Shape::default()),
        ("read_chunk", reads(&[&[4096]])),
        ("read_chunk_with_padding", reads(&[&[4097]])),
        ("read_chunk_of_one_octet", reads(&[&[1]])),
        ("read_chunk_of_2_segments", reads(&[&[4096, 100]])),
        ("read_chunk_of_16_segments", reads(&[&[512; 16]])),
        ("read_chunk_of_the_most_segments", reads(&[&[4096; MOST_READ]])),
        ("2_read_chunks", reads(&[&[1024], &[513]])),
        ("3_read_chunks", reads(&[&[16, 16], &[8], &[2048, 1]])),
        ("write_chunk", writes(&[&[8192]])),
        ("write_chunk_of_no_segments", writes(&[&[]])),
        ("write_chunk_of_16_segments", writes(&[&[512; 16]])),
        ("write_chunk_of_the_most_segments", writes(&[&[4096; MOST_WRITE]])),
        ("3_write_chunks", writes(&[&[100, 200], &[], &[300]])),
        ("reply_chunk", reply(&[65_536])),
        ("reply_chunk_of_no_segments", reply(&[])),
        ("reply_chunk_of_16_segments", reply(&[512; 16])),
        ("reply_chunk_of_the_most_segments", reply(&[4096; MOST_WRITE])),
        ("long_call", Shape { long: 1, ..Shape::default() }),
        ("long_call_of_3_segments", Shape { long: 3, ..Shape::default() }),
        ("long_call_with_read_chunk", Shape { long: 1, ..reads(&[&[8192]]) }),
        ("long_call_with_reply_chunk", Shape { long: 1, ..reply(&[4096, 4096]) }),
        (
            "all_lists",
            Shape { reads: vec![vec![4096]], writes: vec![vec![4096, 4096]], reply: Some(vec![1024]), long: 0 },
        ),
        (
            "all_lists_of_a_long_call",
            Shape { reads: vec![vec![4096]], writes: vec![vec![4096]], reply: Some(vec![1024, 1024]), long: 2 },
        ),
    ]
}

impl Shape {
    /// Any shape that fits a Send of 1024 octets.
    pub(crate) fn chosen(choices: &mut Choices<'_>) -> Self {
        let mut room = 24;
        let mut chunk = |choices: &mut Choices<'_>| {
            let segments = choices.below(room.min(6) + 1);
            room -= segments;
            (0..segments).map(|_| length_chosen(choices)).collect::<Vec<u32>>()
        };
        let reads = (0..choices.below(4)).map(|_| chunk(choices)).filter(|chunk| !chunk.is_empty()).collect();
        let writes = (0..choices.below(4)).map(|_| chunk(choices)).collect();
        let reply = (choices.below(3) == 0)
            .then(|| chunk(choices).into_iter().map(|length| length.next_multiple_of(4)).collect());
        let long = if choices.below(4) == 0 { choices.below(3) + 1 } else { 0 };
        Self { long, reads, writes, reply }
    }

    /// Returns true if a Reply can have this shape: nothing concerns the Call alone.
    pub(crate) const fn is_of_reply(&self) -> bool {
        self.long == 0 && self.reads.is_empty()
    }

    /// The Call with these chunks.
    pub(crate) fn call(&self, name: &str, format: Format, choices: &mut Choices<'_>) -> Base {
        let mut memory = Memory { choices, registered: 0 };
        let items: Vec<Vec<Segment>> = self.reads.iter().map(|chunk| memory.chunk(chunk)).collect();
        let xid = memory.choices.word().max(1);
        let (inline, reads) = call(xid, &items);
        let long = split(inline.len() as u32, self.long);
        let long: Vec<Read> = memory.chunk(&long).into_iter().map(|target| Read { position: 0, target }).collect();
        let writes: Vec<_> = self.writes.iter().map(|chunk| memory.chunk(chunk)).collect();
        let reply = self.reply.as_ref().map(|chunk| memory.chunk(chunk));
        let first =
            long.iter().chain(&reads).map(|read| read.target).chain(writes.iter().chain(&reply).flatten().copied());
        let offered = first.map(|segment| segment.handle).next().filter(|_| choices.below(2) == 0);
        let message = Message {
            format,
            role: Role::Call,
            xid,
            credit: credit(format, choices),
            inv_handle: offered.unwrap_or_default(),
            inline: long.is_empty().then_some(inline),
            long,
            reads,
            writes,
            reply,
        };
        Base { name: name.to_owned(), message, call: None }
    }

    /// The Reply to a Call with these chunks.
    pub(crate) fn reply(&self, name: &str, format: Format, used: Used, choices: &mut Choices<'_>) -> Base {
        let call = self.call(name, format, choices).message;
        let writes = call.writes.iter().map(|chunk| returned(chunk, used, 1)).collect();
        let reply = call.reply.as_ref().map(|chunk| returned(chunk, used, 4));
        let is_long = reply.as_ref().is_some_and(|chunk| length(chunk) > 0);
        let message = Message {
            format,
            role: Role::Reply,
            xid: call.xid,
            credit: credit(format, choices),
            inv_handle: 0,
            long: Vec::new(),
            reads: Vec::new(),
            writes,
            // An inline reply of drafts -03 to -07 has no place for it.
            reply: reply.filter(|_| is_long || format != Format::V2b),
            inline: (!is_long).then(|| octets(&[call.xid, 1, 0, 0, 0, 0, 0])),
        };
        Base { name: format!("{name}_{}", used.name()), message, call: Some(call) }
    }
}

/// From one octet to half a mebioctet; short ones are as likely as long ones.
fn length_chosen(choices: &mut Choices<'_>) -> u32 {
    let most = 4 << choices.below(18);
    choices.below(most) + 1
}

/// Credits: a few, and in drafts -00 to -02 twice as many at most.
fn credit(format: Format, choices: &mut Choices<'_>) -> u32 {
    let granted = choices.below(32) + 1;
    match format {
        Format::V1 | Format::V2b => granted,
        Format::V2a => granted << 17 | granted,
    }
}

/// Memory that is advertised: no two handles are the same.
struct Memory<'a, 'b> {
    choices: &'a mut Choices<'b>,
    registered: u32,
}

impl Memory<'_, '_> {
    fn chunk(&mut self, lengths: &[u32]) -> Vec<Segment> {
        lengths.iter().map(|length| self.segment(*length)).collect()
    }

    /// Far from both ends of the memory, so that a defect of the length is no other defect.
    fn segment(&mut self, length: u32) -> Segment {
        self.registered += 1;
        let handle = (self.choices.word() & 0xffff_ff00) | self.registered;
        Segment { handle, length, offset: self.choices.number() >> 2 | 1 << 40 }
    }
}

/// The program that is called: procedure 1 takes data items, of which each may be reduced, and then a word.
const PROGRAM: u32 = 0x2000_0166;

/// The inline part of a Call with these items reduced, and the Read list.
fn call(xid: u32, items: &[Vec<Segment>]) -> (Vec<u8>, Vec<Read>) {
    let mut words = vec![xid, 0, 2, PROGRAM, 1, 1, 0, 0, 0, 0];
    let mut reads = Vec::new();
    let mut position = 4 * words.len() as u32;
    for item in items {
        let length = length(item) as u32;
        words.push(length);
        position += 4;
        reads.extend(item.iter().map(|&target| Read { position, target }));
        position += length.next_multiple_of(4);
    }
    words.push(items.len() as u32);
    (octets(&words), reads)
}

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A length in this many parts.
fn split(length: u32, parts: u32) -> Vec<u32> {
    let each = length.checked_div(parts).unwrap_or_default();
    (1..=parts).map(|part| if part == parts { length - each * (parts - 1) } else { each }).collect()
}

/// Returns the chunk in a Reply: filled from the front with a multiple of `unit`.
fn returned(chunk: &[Segment], used: Used, unit: u64) -> Vec<Segment> {
    let mut left = match used {
        Used::Nothing => 0,
        Used::Part => (length(chunk) / 2).next_multiple_of(unit),
        Used::All => length(chunk),
    };
    chunk
        .iter()
        .map(|segment| {
            let length = left.min(u64::from(segment.length));
            left -= length;
            // No more than that of the segment.
            Segment { length: length as u32, ..*segment }
        })
        .collect()
}
