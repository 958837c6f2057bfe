//! Arguments and results of NFS, as octets.
//!
//! ```text
//!  0       1       2         3         4          5        6       8       10
//! +-------+-------+---------+---------+----------+--------+-------+-------+---------//
//! | which | version | procedure | how  | chunks   | unused | first | second | body ...
//! +-------+-------+---------+---------+----------+--------+-------+-------+---------//
//! ```
//!
//! "Which" is a program; bits 0 and 1 of "how" say whether these are results, and of a callback. "First" and "second"
//! are lengths of chunks; chunks of a call are at the Positions 44 and 44 more than the first.

use rpcrdma_dissector::nfs::{self, Procedure, Reduced, Walk};

/// The programs that have tables, and one that has none.
const PROGRAMS: [u32; 5] = [Procedure::NFS, Procedure::MOUNT, Procedure::NFSACL, Procedure::ECHO, 7];
/// Octets of an RPC call header without credentials.
const HEADER: usize = 40;
/// Number of cuts of a body: each costs as much as the whole.
const CUTS: usize = 64;

/// For any octets: stepping over a body ends, finds no more than there is, and finds in a body that was cut nothing
/// that is not in the whole.
///
/// # Panics
/// If this does not hold.
pub fn nfs(octets: &[u8]) {
    let Some((&[which, version, procedure, how, chunks, _, f0, f1, s0, s1], body)) = octets.split_first_chunk() else {
        return;
    };
    let program = PROGRAMS.get(usize::from(which) % PROGRAMS.len()).copied().unwrap_or_default();
    let procedure = Procedure { program, version: u32::from(version % 6), procedure: u32::from(procedure) };
    let lengths = [u16::from_be_bytes([f0, f1]), u16::from_be_bytes([s0, s1])].map(u64::from);
    let chunks = usize::from(chunks % 3);
    let first = HEADER as u64 + 4;
    let reads: Vec<(u64, u64)> =
        [first, 2 * first + lengths.iter().take(1).sum::<u64>()].into_iter().zip(lengths).take(chunks).collect();
    let written = lengths.get(..chunks).unwrap_or_default();
    let (is_results, callback) = (how & 1 != 0, how & 2 != 0);
    let step = |body: &[u8]| match is_results {
        true => nfs::results(procedure, callback, body, Reduced::Reply(written)),
        false => nfs::arguments(procedure, callback, body, HEADER, Reduced::Call(&reads)),
    };
    let whole = step(body);
    possible(&whole, body.len());
    for length in (0..body.len()).step_by(body.len() / CUTS + 1) {
        let cut = step(body.get(..length).unwrap_or_default());
        possible(&cut, length);
        for (index, operation) in cut.operations.iter().enumerate() {
            let same = whole.operations.get(index).map(|operation| operation.code);
            assert_eq!(Some(operation.code), same, "operation {index} of a body cut to {length} octets");
        }
    }
}

/// No more is found than there are octets.
fn possible(walk: &Walk, length: usize) {
    assert!(walk.consumed <= length, "{} of {length} octets", walk.consumed);
    // Each operation has a number.
    assert!(walk.operations.len() <= length / 4, "{} operations in {length} octets", walk.operations.len());
    for item in &walk.items {
        assert!(item.inline_at <= length, "{item:?} in {length} octets");
        assert!(item.chunk.is_some() || item.inline_at + item.length as usize <= length, "{item:?} in {length} octets");
    }
}
