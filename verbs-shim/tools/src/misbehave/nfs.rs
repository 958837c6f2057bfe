//! As much of NFSv3 (RFC 1813) as a client needs that mounts, lists an empty folder, and reads a file: any handle but that
//! of the file is the folder.

use rpcrdma_verbs::Stream;

use crate::echo::{Procedure, pattern};

pub(super) const PROGRAM: u32 = 100_003;
pub(super) const VERSION: u32 = 3;
/// Octets in the file.
const FILE: u32 = 0x1_0000;
/// Its handle.
const HANDLE: [u32; 3] = [8, 0x6d69_7362, 0x6568_6176];

/// What a procedure other than NULL does, if there is such a one.
pub(super) fn procedure(number: u32) -> Option<Procedure> {
    Some(match number {
        1 => attributes,
        3 => lookup,
        4 => access,
        6 => read,
        16 | 17 => list,
        18 => statistics,
        19 => information,
        20 => limits,
        _ => return None,
    })
}

fn push(results: &mut Stream, words: &[u32]) {
    words.iter().for_each(|word| results.push(&word.to_be_bytes()));
}

/// `fattr3`: type, mode, links, owner, group, size, used, device, file system, number, three times.
fn push_attributes(results: &mut Stream, is_file: bool) {
    let (kind, mode, size) = if is_file { (1, 0o644, FILE) } else { (2, 0o755, 4096) };
    push(results, &[kind, mode, 1, 0, 0, 0, size, 0, size, 0, 0, 0, 1, 0, 1 + u32::from(is_file), 1, 0, 1, 0, 1, 0]);
}

/// Takes a handle from the start of arguments: whether it is that of the file.
fn handle(arguments: &mut &[u8]) -> Option<bool> {
    let (length, rest) = arguments.split_first_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    let (handle, rest) = rest.split_at_checked(length.next_multiple_of(4))?;
    *arguments = rest;
    Some(HANDLE.iter().skip(1).flat_map(|word| word.to_be_bytes()).eq(handle.iter().copied()))
}

/// Appends `NFS3_OK` and `post_op_attr`.
fn good(mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let is_file = handle(&mut arguments)?;
    push(results, &[0, 1]);
    push_attributes(results, is_file);
    Some(())
}

fn attributes(mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let is_file = handle(&mut arguments)?;
    push(results, &[0]);
    push_attributes(results, is_file);
    Some(())
}

/// Every name is that of the file.
fn lookup(mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    handle(&mut arguments)?;
    push(results, &[0]);
    push(results, &HANDLE);
    push(results, &[1]);
    push_attributes(results, true);
    push(results, &[0]);
    Some(())
}

fn access(arguments: &[u8], results: &mut Stream) -> Option<()> {
    good(arguments, results)?;
    // READ, LOOKUP, EXECUTE.
    push(results, &[0x23]);
    Some(())
}

fn read(arguments: &[u8], results: &mut Stream) -> Option<()> {
    good(arguments, results)?;
    let (_, end) = arguments.split_last_chunk::<12>()?;
    let words: Vec<u32> = end.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    let &[offset_high, offset, count] = words.as_slice() else { return None };
    let offset = if offset_high == 0 { offset.min(FILE) } else { FILE };
    let count = count.min(FILE - offset);
    push(results, &[count, u32::from(offset + count == FILE), count]);
    results.push_copy(pattern(0, FILE)?.get(offset as usize..)?.get(..count as usize)?);
    Some(())
}

/// No entry, and no more.
fn list(arguments: &[u8], results: &mut Stream) -> Option<()> {
    good(arguments, results)?;
    push(results, &[0, 0, 0, 1]);
    Some(())
}

/// Octets and files: all, free, available; nothing of it lasts.
fn statistics(arguments: &[u8], results: &mut Stream) -> Option<()> {
    good(arguments, results)?;
    push(results, &[0, FILE, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0]);
    Some(())
}

/// READ and WRITE at most, best, multiple of; READDIR best; the largest file; the unit of time; homogeneous.
fn information(arguments: &[u8], results: &mut Stream) -> Option<()> {
    good(arguments, results)?;
    push(results, &[FILE, FILE, 4096, FILE, FILE, 4096, 4096, 0, u32::MAX, 1, 0, 0x8]);
    Some(())
}

/// Links, octets of a name; names are not cut, owners not changed, letters not folded.
fn limits(arguments: &[u8], results: &mut Stream) -> Option<()> {
    good(arguments, results)?;
    push(results, &[1, 255, 1, 1, 0, 1]);
    Some(())
}
