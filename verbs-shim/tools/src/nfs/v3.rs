//! NFSv3 (RFC 1813 section 3.3): the procedures that change nothing.

use rpcrdma_verbs::Stream;

use super::{Failure, Folder, Node, PERMITTED};
use crate::xdr::{hyper, opaque, push, word};

/// Appends the results. Returns `None` for invalid arguments.
pub(crate) type Nfs3Procedure = fn(&Folder, &[u8], &mut Stream) -> Option<()>;

pub(super) const PROCEDURES: [(u32, Nfs3Procedure); 10] = [
    (1, get_attributes),
    (3, look_up),
    (4, access),
    (5, read_link),
    (6, read),
    (16, read_directory),
    (17, read_directory_plus),
    (18, statistics),
    (19, information),
    (20, limits),
];

/// Returns the function of a procedure other than NULL. `None` for an unknown number.
pub(crate) fn procedure(number: u32) -> Option<Nfs3Procedure> {
    PROCEDURES.into_iter().find(|(other, _)| *other == number).map(|(_, procedure)| procedure)
}

/// Takes a handle from the start of arguments.
fn handle(folder: &Folder, arguments: &mut &[u8]) -> Option<Node> {
    opaque(arguments).map(|handle| folder.with_handle(handle))
}

/// Appends `fattr3`: type, mode, links, owner, group, size, used, device, file system, number, three times.
fn push_attributes(folder: &Folder, node: Node, results: &mut Stream) {
    let (kind, mode) = (node.kind(), node.mode());
    let size = folder.size(node);
    push(results, &[kind, mode, 1, 0, 0, 0, size, 0, size, 0, 0, 0, 1, 0, node.number(), 1, 0]);
    // A second for each change, so that clients list or read it again.
    let time = 1 + folder.changes_of(node) as u32;
    push(results, &[time, 0, time, 0]);
}

/// Appends a status and `post_op_attr`.
fn push_status(folder: &Folder, node: Node, status: Failure, results: &mut Stream) {
    push(results, &[status, 1]);
    push_attributes(folder, node, results);
}

fn get_attributes(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let node = handle(folder, &mut arguments)?;
    push(results, &[0]);
    push_attributes(folder, node, results);
    Some(())
}

fn look_up(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let node = handle(folder, &mut arguments)?;
    match folder.look_up(node, opaque(&mut arguments)?) {
        Ok(found) => {
            push(results, &[0]);
            push(results, &found.handle());
            push(results, &[1]);
            push_attributes(folder, found, results);
            push(results, &[0]);
        }
        Err(status) => push_status(folder, node, status, results),
    }
    Some(())
}

fn access(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let (node, wanted) = (handle(folder, &mut arguments)?, word(&mut arguments)?);
    push_status(folder, node, 0, results);
    push(results, &[wanted & PERMITTED]);
    Some(())
}

fn read_link(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let node = handle(folder, &mut arguments)?;
    let path = folder.read_link(node);
    push_status(folder, node, path.err().unwrap_or_default(), results);
    if let Ok(path) = path {
        push(results, &[folder.size(node)]);
        results.push_copy(path.as_bytes());
    }
    Some(())
}

fn read(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let (node, offset, count) = (handle(folder, &mut arguments)?, hyper(&mut arguments)?, word(&mut arguments)?);
    match folder.read(node, offset, count) {
        Ok((data, is_end)) => {
            let count = u32::try_from(data.len()).ok()?;
            push_status(folder, node, 0, results);
            push(results, &[count, is_end.into(), count]);
            results.push_item(data);
        }
        Err(status) => push_status(folder, node, status, results),
    }
    Some(())
}

fn read_directory(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let (node, from) = (handle(folder, &mut arguments)?, hyper(&mut arguments)?);
    // The verifier does not change.
    let (_verifier, most) = (hyper(&mut arguments)?, word(&mut arguments)?);
    list(folder, node, [from, most.into()], &[], results);
    Some(())
}

fn read_directory_plus(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let (node, from) = (handle(folder, &mut arguments)?, hyper(&mut arguments)?);
    let (_verifier, _names, most) = (hyper(&mut arguments)?, word(&mut arguments)?, word(&mut arguments)?);
    // Without attributes and handle.
    list(folder, node, [from, most.into()], &[0, 0], results);
    Some(())
}

/// Appends a page of a listing, with `more` after each entry.
fn list(folder: &Folder, node: Node, [from, most]: [u64; 2], more: &[u32], results: &mut Stream) {
    /// Octets of the results before and after the entries.
    const AROUND: u64 = 4 * (2 + 21 + 2) + 8;
    let shape = |entry: Node, next| (entry.number(), [&[0, next], more].concat());
    match folder.list(node, from, most.saturating_sub(AROUND) as usize, shape) {
        Ok((page, is_all)) => {
            push_status(folder, node, 0, results);
            push(results, &[0, 0]);
            results.push(page.head());
            push(results, &[0, is_all.into()]);
        }
        Err(status) => push_status(folder, node, status, results),
    }
}

/// Octets and files: all, free, available; nothing is stored permanently.
fn statistics(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    push_status(folder, handle(folder, &mut arguments)?, 0, results);
    let nodes = 1 + folder.entries().len() as u32;
    push(results, &[0, folder.size(Node::File), 0, 0, 0, 0, 0, nodes, 0, 0, 0, 0, 0]);
    Some(())
}

/// READ and WRITE at most, best, multiple of; READDIR best; the largest file; the unit of time; homogeneous.
fn information(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    const MOST: u32 = super::MAX_SCRATCH as u32;
    push_status(folder, handle(folder, &mut arguments)?, 0, results);
    push(results, &[MOST, MOST, 4096, MOST, MOST, 4096, 4096, 0, u32::MAX, 1, 0, 0x8]);
    Some(())
}

/// Links, octets of a name; names are not cut, owners not changed, letters not folded.
fn limits(folder: &Folder, mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    push_status(folder, handle(folder, &mut arguments)?, 0, results);
    push(results, &[1, 255, 1, 1, 0, 1]);
    Some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed expectation fails the test")]
mod tests {
    use super::*;

    /// The results of a procedure, with these words as arguments behind a handle.
    fn results(number: u32, node: Node, arguments: &[u32]) -> Vec<u8> {
        let folder = Folder::new(*b"12345", "/a/path");
        let mut octets: Vec<u8> = node.handle().iter().chain(arguments).flat_map(|word| word.to_be_bytes()).collect();
        let mut stream = Stream::default();
        let procedure = procedure(number).unwrap();
        procedure(&folder, &octets, &mut stream).unwrap();
        octets.truncate(11);
        assert!(procedure(&folder, &octets, &mut Stream::default()).is_none(), "{number} without a whole handle");
        let items: Vec<u8> = stream.items().flatten().copied().collect();
        [stream.head(), &items].concat()
    }

    /// Returns the octets after status and attributes.
    fn behind(results: &[u8]) -> &[u8] {
        assert_eq!(results.get(..8), Some(&[0, 0, 0, 0, 0, 0, 0, 1][..]));
        results.get(4 * 23..).unwrap()
    }

    #[test]
    fn read_gives_what_there_is() {
        assert_eq!(behind(&results(6, Node::File, &[0, 1, 3])), b"\0\0\0\x03\0\0\0\0\0\0\0\x03234");
        assert_eq!(behind(&results(6, Node::File, &[0, 1, 9])), b"\0\0\0\x04\0\0\0\x01\0\0\0\x042345");
        assert_eq!(behind(&results(6, Node::File, &[1, 1, 9])), b"\0\0\0\0\0\0\0\x01\0\0\0\0");
        assert_eq!(results(6, Node::Root, &[0, 1, 9]).get(..4), Some(&[0, 0, 0, 21][..]));
    }

    #[test]
    fn a_link_is_read() {
        assert_eq!(behind(&results(5, Node::Link, &[])), b"\0\0\0\x07/a/path");
        assert_eq!(results(5, Node::File, &[]).get(..4), Some(&[0, 0, 0, 22][..]));
    }

    #[test]
    fn a_page_of_a_listing_fits_its_count() {
        for count in (108..512).step_by(4) {
            let results = results(16, Node::Root, &[0, 0, 0, 0, count]);
            assert!(results.len() <= count as usize, "{count}: {}", results.len());
        }
        let whole = results(16, Node::Root, &[0, 0, 0, 0, 512]);
        let second = b"\0\0\0\x01\0\0\0\0\0\0\0\x03\0\0\0\x04link\0\0\0\0\0\0\0\x02";
        assert!(whole.windows(second.len()).any(|part| part == second));
        assert!(whole.ends_with(b"\0\0\0\0\0\0\0\x01"));
        assert_eq!(results(16, Node::Root, &[0, 0, 0, 0, 100]).get(..4), Some(&[0, 0, 0x27, 0x15][..]));
    }
}
