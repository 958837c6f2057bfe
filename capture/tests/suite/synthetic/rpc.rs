//! RPC-over-RDMA headers, RPC headers and the arguments and results of NFSv3 READ and WRITE, octet by octet.

/// A segment: handle, offset, length.
pub type Segment = (u32, u64, u32);

pub const MSG: u32 = 0;
pub const NOMSG: u32 = 1;
pub const ERROR: u32 = 4;

pub const NFS: u32 = 100_003;

/// Big-endian words.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Octets that tell where they came from: those of a `seed` are like those of no other.
pub fn octets(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|i| (i as u8).wrapping_mul(7) ^ ((i >> 8) as u8).wrapping_mul(31) ^ seed).collect()
}

/// Data with its XDR padding.
pub fn padded(data: &[u8]) -> Vec<u8> {
    let mut padded = data.to_vec();
    padded.resize(data.len().next_multiple_of(4), 0);
    padded
}

/// The chunk lists of a header.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// Position and segment.
    pub reads: Vec<(u32, Segment)>,
    pub writes: Vec<Vec<Segment>>,
    pub reply: Option<Vec<Segment>>,
}

impl Lists {
    pub fn reads(reads: &[(u32, Segment)]) -> Self {
        Self { reads: reads.to_vec(), ..Self::default() }
    }

    pub fn writes(writes: &[&[Segment]]) -> Self {
        Self { writes: writes.iter().map(|chunk| chunk.to_vec()).collect(), ..Self::default() }
    }

    pub fn reply(reply: &[Segment]) -> Self {
        Self { reply: Some(reply.to_vec()), ..Self::default() }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (position, segment) in &self.reads {
            out.extend(words(&[1, *position]));
            out.extend(encode(*segment));
        }
        out.extend(words(&[0]));
        for chunk in &self.writes {
            out.extend(words(&[1]));
            out.extend(write_chunk(chunk));
        }
        out.extend(words(&[0]));
        match &self.reply {
            Some(chunk) => {
                out.extend(words(&[1]));
                out.extend(write_chunk(chunk));
            }
            None => out.extend(words(&[0])),
        }
        out
    }
}

pub fn encode((handle, offset, length): Segment) -> Vec<u8> {
    [words(&[handle, length]), offset.to_be_bytes().to_vec()].concat()
}

pub fn write_chunk(chunk: &[Segment]) -> Vec<u8> {
    let mut out = words(&[chunk.len() as u32]);
    out.extend(chunk.iter().flat_map(|segment| encode(*segment)));
    out
}

/// A message: RFC 8166 section 4.1, with 32 credits.
pub fn message(procedure: u32, xid: u32, lists: &Lists, payload: &[u8]) -> Vec<u8> {
    [words(&[xid, 1, 32, procedure]), lists.encode(), payload.to_vec()].concat()
}

/// A call (RFC 5531 section 9) with AUTH_NONE: 40 octets before its arguments.
pub fn call(xid: u32, program: [u32; 3], arguments: &[u8]) -> Vec<u8> {
    [words(&[xid, 0, 2, program[0], program[1], program[2], 0, 0, 0, 0]), arguments.to_vec()].concat()
}

/// A reply that was accepted: 24 octets before its results.
pub fn reply(xid: u32, results: &[u8]) -> Vec<u8> {
    [words(&[xid, 1, 0, 0, 0, 0]), results.to_vec()].concat()
}

/// An NFSv3 READ.
pub fn read3(xid: u32, count: u32) -> Vec<u8> {
    call(xid, [NFS, 3, 6], &words(&[4, 0xfeed, 0, 0, count]))
}

/// Returns the words before the data in the results of an NFSv3 READ: status, no attributes, count, end of file,
/// length.
pub fn read3_results(count: u32) -> Vec<u8> {
    words(&[0, 0, count, 1, count])
}

/// The reply to an NFSv3 READ, data inline: what a reply without chunks is.
pub fn read3_reply(xid: u32, data: &[u8]) -> Vec<u8> {
    reply(xid, &[read3_results(data.len() as u32), padded(data)].concat())
}

/// The Position of the data of an NFSv3 WRITE.
pub const WRITE3_POSITION: u32 = 68;

/// An NFSv3 WRITE with its data left out.
pub fn write3(xid: u32, count: u32) -> Vec<u8> {
    call(xid, [NFS, 3, 7], &words(&[4, 0xfeed, 0, 0, count, 2, count]))
}

/// The reply to an NFSv3 WRITE: status, no attributes before and after, count, committed, verifier.
pub fn write3_reply(xid: u32, count: u32) -> Vec<u8> {
    reply(xid, &words(&[0, 0, 0, count, 2, 9, 9]))
}

/// An NFSv3 NULL.
pub fn null(xid: u32) -> Vec<u8> {
    call(xid, [NFS, 3, 0], &[])
}
