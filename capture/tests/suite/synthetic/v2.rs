//! Headers of RPC-over-RDMA version 2, octet by octet: family A as version two draft -01 lays them out, family B as -07.

pub use rpcrdma::v2::Family;
use rpcrdma_dissector::{Dialect, Message, Transaction};

use super::rpc::{Lists, Segment, encode, words, write_chunk};

/// `rdma_credit` of all messages: 64 at most, 32 granted.
pub const CREDIT: u32 = 64 << 16 | 32;

pub const RESPONSE: u32 = 1;
pub const MORE: u32 = 2;
pub const TPMORE: u32 = 4;

/// The two families, for what both have.
pub const FAMILIES: [Family; 2] = [Family::A, Family::B];

/// A message of family A.
pub fn a(htype: u32, xid: u32, flags: u32, body: &[u8]) -> Vec<u8> {
    [words(&[xid, 2, CREDIT, htype, flags]), body.to_vec()].concat()
}

/// A message of family B.
pub fn b(htype: u32, xid: u32, body: &[u8]) -> Vec<u8> {
    [words(&[xid, 2, CREDIT, htype]), body.to_vec()].concat()
}

/// `rdma_inv_handle`, the lists and a payload, as several header types have them.
pub fn lists(inv_handle: u32, lists: &Lists, payload: &[u8]) -> Vec<u8> {
    [words(&[inv_handle]), lists.encode(), payload.to_vec()].concat()
}

/// A Read list alone.
fn read_list(reads: &[(u32, Segment)]) -> Vec<u8> {
    let entries = reads.iter().map(|(position, segment)| [words(&[1, *position]), encode(*segment)].concat());
    [entries.collect::<Vec<_>>().concat(), words(&[0])].concat()
}

fn write_list(writes: &[Vec<Segment>]) -> Vec<u8> {
    let chunks = writes.iter().map(|chunk| [words(&[1]), write_chunk(chunk)].concat());
    [chunks.collect::<Vec<_>>().concat(), words(&[0])].concat()
}

/// A Call, or its last part.
pub fn call(family: Family, xid: u32, inv_handle: u32, chunks: &Lists, payload: &[u8]) -> Vec<u8> {
    let body = lists(inv_handle, chunks, payload);
    match family {
        Family::A => a(0, xid, 0, &body),
        Family::B => b(10, xid, &body),
    }
}

/// A part of a Call; `remaining` counts the octets after it.
pub fn call_part(family: Family, xid: u32, remaining: usize, payload: &[u8]) -> Vec<u8> {
    match family {
        Family::A => a(0, xid, MORE, &lists(0, &Lists::default(), payload)),
        Family::B => b(9, xid, &[words(&[remaining as u32]), payload.to_vec()].concat()),
    }
}

/// A Reply, or its last part.
pub fn reply(family: Family, xid: u32, writes: &[Vec<Segment>], payload: &[u8]) -> Vec<u8> {
    match family {
        Family::A => a(0, xid, RESPONSE, &lists(0, &Lists { writes: writes.to_vec(), ..Lists::default() }, payload)),
        Family::B => b(13, xid, &[write_list(writes), payload.to_vec()].concat()),
    }
}

pub fn reply_part(family: Family, xid: u32, remaining: usize, payload: &[u8]) -> Vec<u8> {
    match family {
        Family::A => a(0, xid, RESPONSE | MORE, &lists(0, &Lists::default(), payload)),
        Family::B => b(12, xid, &[words(&[remaining as u32]), payload.to_vec()].concat()),
    }
}

/// A Call that is in the memory of `call`; in family A that is the Position Zero Read chunk.
pub fn long_call(family: Family, xid: u32, call: &[Segment], others: &Lists) -> Vec<u8> {
    let call: Vec<_> = call.iter().map(|segment| (0, *segment)).collect();
    match family {
        Family::A => {
            let reads = [&call[..], &others.reads].concat();
            a(1, xid, 0, &lists(0, &Lists { reads, ..others.clone() }, &[]))
        }
        Family::B => b(8, xid, &[words(&[0]), read_list(&call), others.encode()].concat()),
    }
}

/// A Reply that is in the Reply chunk.
pub fn long_reply(family: Family, xid: u32, chunk: &[Segment]) -> Vec<u8> {
    match family {
        Family::A => a(1, xid, RESPONSE, &lists(0, &Lists::reply(chunk), &[])),
        Family::B => b(11, xid, &[words(&[0, 1]), write_chunk(chunk)].concat()),
    }
}

/// A grant of credits.
pub fn grant(family: Family) -> Vec<u8> {
    match family {
        Family::A => a(1, 0, 0, &lists(0, &Lists::default(), &[])),
        Family::B => b(5, 0, &[]),
    }
}

/// The last transport properties of an end.
pub fn properties(family: Family, xid: u32, properties: &[u8]) -> Vec<u8> {
    match family {
        Family::A => a(5, xid, 0, properties),
        Family::B => b(7, xid, properties),
    }
}

/// An RDMA2_ERROR: the code, and what it calls for.
pub fn error(family: Family, xid: u32, body: &[u32]) -> Vec<u8> {
    match family {
        Family::A => a(4, xid, RESPONSE, &words(body)),
        Family::B => b(4, xid, &words(body)),
    }
}

/// All six properties, one that has no name, and one default.
pub fn all_properties() -> Vec<u8> {
    let numbers = [(1, 8192), (2, 16_384), (3, 65_536), (4, 8), (5, 2)];
    let mut octets = words(&[8]);
    octets.extend(numbers.iter().flat_map(|(which, value)| words(&[*which, 4, *value])));
    // The value of the host authentication message has a count of its own: 3 octets and a pad within 8.
    octets.extend([words(&[6, 8, 3]), b"abc\0".to_vec()].concat());
    octets.extend([words(&[77, 5]), b"vwxyz\0\0\0".to_vec()].concat());
    octets.extend(words(&[4, 0]));
    octets
}

/// The messages' dialects.
pub fn dialects(messages: &[Message]) -> Vec<Dialect> {
    messages.iter().map(|message| message.dialect).collect()
}

/// Returns the rebuilt messages of an RPC: the call, the reply.
pub fn rebuilt(transaction: &Transaction) -> [Option<&[u8]>; 2] {
    [&transaction.call, &transaction.reply]
        .map(|half| half.as_ref()?.message.as_ref().ok().map(|rebuilt| rebuilt.octets()))
}
