//! NFSv4.0 (RFC 7530 section 16): COMPOUND, without state: a READ or WRITE may have any stateid.

use rpcrdma_verbs::Stream;

use super::{Failure, Folder, Node, list};
use crate::xdr::{hyper, opaque, padding, push, word};

pub(super) const COMPOUND: u32 = 1;

/// The most operations of a COMPOUND, so that a short call cannot ask for results without bound.
const MOST_OPERATIONS: usize = 16;

const NOT_SUPPORTED: Failure = 10_004;
const RESOURCE: Failure = 10_018;
const NO_FILE_HANDLE: Failure = 10_020;
const MINOR_VERSION_MISMATCH: Failure = 10_021;
const BAD_XDR: Failure = 10_036;
const ILLEGAL: Failure = 10_044;

/// What an operation gives: what stands before its data item, and that, which may be reduced.
#[derive(Default)]
struct Answer {
    head: Stream,
    item: Option<Vec<u8>>,
}

impl From<&[u32]> for Answer {
    fn from(words: &[u32]) -> Self {
        let mut results = Self::default();
        push(&mut results.head, words);
        results
    }
}

/// Carries out a COMPOUND, up to the operation that fails. None where these are no arguments of it.
pub(super) fn compound(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let (tag, minor, count) = (opaque(&mut arguments)?, word(&mut arguments)?, word(&mut arguments)? as usize);
    let (mut node, mut done, mut status) = (None, Vec::new(), 0);
    if minor != 0 {
        status = MINOR_VERSION_MISMATCH;
    } else if count > MOST_OPERATIONS {
        status = RESOURCE;
    } else {
        for _ in 0..count {
            let number = word(&mut arguments)?;
            let result = operation(folder, number, &mut node, &mut arguments);
            status = result.as_ref().err().copied().unwrap_or_default();
            done.push((if status == ILLEGAL { ILLEGAL } else { number }, status, result.unwrap_or_default()));
            if status != 0 {
                break;
            }
        }
    }
    push(results, &[status, u32::try_from(tag.len()).ok()?]);
    results.push(tag);
    results.push(padding(tag.len()));
    push(results, &[u32::try_from(done.len()).ok()?]);
    for (number, status, of_operation) in done {
        push(results, &[number, status]);
        results.push(of_operation.head.head());
        if let Some(item) = of_operation.item {
            results.push_item(item);
        }
    }
    Some(())
}

/// Carries out an operation on the current file handle.
fn operation(folder: &Folder, number: u32, node: &mut Option<Node>, arguments: &mut &[u8]) -> Result<Answer, Failure> {
    let current = node.ok_or(NO_FILE_HANDLE);
    match number {
        10 => Ok(current?.handle().as_slice().into()),
        15 => {
            *node = Some(current?.look_up(opaque(arguments).ok_or(BAD_XDR)?)?);
            Ok(Answer::default())
        }
        22 => {
            *node = Some(Node::with_handle(opaque(arguments).ok_or(BAD_XDR)?));
            Ok(Answer::default())
        }
        24 => {
            *node = Some(Node::Root);
            Ok(Answer::default())
        }
        25 => read(folder, current?, arguments),
        26 => read_directory(current?, arguments),
        27 => {
            let path = folder.read_link(current?)?;
            let head: Answer = [folder.size(Node::Link)].as_slice().into();
            Ok(Answer { item: Some(path.into()), ..head })
        }
        38 => write(folder, current?, arguments),
        3..=39 => Err(NOT_SUPPORTED),
        _ => Err(ILLEGAL),
    }
}

/// Takes a stateid from the start of arguments: nothing is open here.
fn state(arguments: &mut &[u8]) -> Option<()> {
    hyper(arguments).and(hyper(arguments)).map(drop)
}

fn read(folder: &Folder, node: Node, arguments: &mut &[u8]) -> Result<Answer, Failure> {
    let mut what = || state(arguments).and_then(|()| Some((hyper(arguments)?, word(arguments)?)));
    let (offset, count) = what().ok_or(BAD_XDR)?;
    let (data, is_end) = folder.read(node, offset, count)?;
    let head: Answer = [is_end.into(), data.len() as u32].as_slice().into();
    Ok(Answer { item: Some(data), ..head })
}

/// The names of a folder: whatever attributes are asked for, none are given.
fn read_directory(node: Node, arguments: &mut &[u8]) -> Result<Answer, Failure> {
    /// Octets of the results before the entries, and behind them.
    const AROUND: usize = 8 + 8;
    let mut what = || {
        let (from, _verifier, _names, most) =
            (hyper(arguments)?, hyper(arguments)?, word(arguments)?, word(arguments)?);
        let words = word(arguments)?;
        *arguments = arguments.get((words as usize).checked_mul(4)?..)?;
        Some((from, most))
    };
    let (from, most) = what().ok_or(BAD_XDR)?;
    let room = (most as usize).saturating_sub(AROUND);
    // 1 and 2 are not used as cookies.
    let (page, is_all) = list(node, from.saturating_sub(2), room, |_, next| (next + 2, vec![0, 0]))?;
    let mut results: Answer = [0, 0].as_slice().into();
    results.head.push(page.head());
    push(&mut results.head, &[0, is_all.into()]);
    Ok(results)
}

/// To stable storage: it is as stable as the folder.
fn write(folder: &Folder, node: Node, arguments: &mut &[u8]) -> Result<Answer, Failure> {
    let mut what = || {
        state(arguments)?;
        let (offset, _stable) = (hyper(arguments)?, word(arguments)?);
        Some((offset, opaque(arguments)?))
    };
    let (offset, data) = what().ok_or(BAD_XDR)?;
    folder.write(node, offset, data)?;
    Ok([data.len() as u32, 2, 0, 0].as_slice().into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed expectation fails the test")]
mod tests {
    use super::*;

    /// The words of the results of operations, with an empty tag.
    fn words(minor: u32, count: u32, operations: &[u32]) -> Option<Vec<u32>> {
        let folder = Folder::new(*b"1234", "/a/path");
        let arguments = [&[0, minor, count], operations].concat();
        let arguments: Vec<u8> = arguments.into_iter().flat_map(u32::to_be_bytes).collect();
        let mut stream = Stream::default();
        compound(&folder, &arguments, &mut stream)?;
        let items: Vec<u8> = stream.items().flatten().copied().collect();
        let octets = [stream.head(), &items].concat();
        Some(octets.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect())
    }

    const FILE: u32 = u32::from_be_bytes(*b"file");

    #[test]
    fn operations_are_carried_out_up_to_the_one_that_fails() {
        let read = [24, 15, 4, FILE, 25, 0, 0, 0, 0, 0, 0, 4];
        assert_eq!(words(0, 3, &read).unwrap(), [0, 0, 3, 24, 0, 15, 0, 25, 0, 1, 4, 0x3132_3334]);
        // LOOKUP in a file.
        let twice = [24, 15, 4, FILE, 15, 4, FILE, 24];
        assert_eq!(words(0, 4, &twice).unwrap(), [20, 0, 3, 24, 0, 15, 0, 15, 20]);
        assert_eq!(words(0, 1, &[10]).unwrap(), [10_020, 0, 1, 10, 10_020]);
        assert_eq!(words(0, 2, &[24, 3, 0]).unwrap(), [10_004, 0, 2, 24, 0, 3, 10_004]);
        assert_eq!(words(0, 1, &[99]).unwrap(), [10_044, 0, 1, 10_044, 10_044]);
        assert_eq!(words(0, 2, &[24, 15, 400]).unwrap(), [10_036, 0, 2, 24, 0, 15, 10_036]);
        assert_eq!(words(1, 1, &[24]).unwrap(), [10_021, 0, 0]);
    }

    #[test]
    fn the_number_of_operations_is_bounded() {
        assert_eq!(words(0, 16, &[24; 16]).unwrap().len(), 3 + 2 * 16);
        assert_eq!(words(0, 17, &[24; 17]).unwrap(), [10_018, 0, 0]);
        assert_eq!(words(0, 3, &[24]), None);
    }
}
