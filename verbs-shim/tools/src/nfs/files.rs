//! The files that clients create: empty, with a name, and delegated to one client at a time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::operation::{BAD_CHARACTER, BAD_NAME, EXISTS, NAME_TOO_LONG, NO_SPACE};
use super::{Failure, INVALID, Node};

/// Maximum number of files that clients can create.
pub(super) const MOST_FILES: usize = 64;
/// Maximum length of their names in octets.
pub(super) const MOST_OF_NAME: usize = 255;

/// Files created by clients, in ascending order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Files {
    files: Vec<Created>,
    /// Number of files created and removed. Numbers are not used again.
    created: u32,
    removed: u32,
}

#[derive(Debug)]
struct Created {
    number: u32,
    name: Vec<u8>,
    delegation: Option<Delegation>,
}

/// A read delegation (RFC 8881 section 10.4).
#[derive(Debug)]
pub(super) struct Delegation {
    /// The client with the delegation.
    pub(super) client: u64,
    /// True once the delegation was recalled, or is about to be. The recalling thread sees if the delegation is gone.
    pub(super) is_recalled: Arc<AtomicBool>,
}

/// Checks a name of a file.
pub(super) fn check_name(name: &[u8]) -> Result<(), Failure> {
    match name {
        b"" => Err(INVALID),
        b"." | b".." => Err(BAD_NAME),
        _ if name.len() > MOST_OF_NAME => Err(NAME_TOO_LONG),
        _ if str::from_utf8(name).is_err() => Err(INVALID),
        _ if name.contains(&b'/') || name.contains(&0) => Err(BAD_CHARACTER),
        _ => Ok(()),
    }
}

impl Files {
    /// All files, with their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Node, &[u8])> {
        self.files.iter().map(|file| (Node::Created(file.number), file.name.as_slice()))
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<Node> {
        self.iter().find(|(_, other)| *other == name).map(|(node, _)| node)
    }

    /// Returns the number of changes of the root.
    pub(super) fn changes(&self) -> u64 {
        u64::from(self.created) + u64::from(self.removed)
    }

    /// Creates a file. Fails if the name exists.
    pub(super) fn create(&mut self, name: &[u8]) -> Result<Node, Failure> {
        check_name(name)?;
        if self.find(name).is_some() || Node::ALWAYS.iter().any(|(_, other)| *other == name) {
            return Err(EXISTS);
        }
        let number = self.created.checked_add(Node::FIRST_CREATED).filter(|_| self.files.len() < MOST_FILES);
        let number = number.ok_or(NO_SPACE)?;
        self.created += 1;
        self.files.push(Created { number, name: name.to_vec(), delegation: None });
        Ok(Node::Created(number))
    }

    pub(super) fn remove(&mut self, node: Node) {
        let before = self.files.len();
        self.files.retain(|file| file.number != node.number());
        self.removed = self.removed.wrapping_add((before - self.files.len()) as u32);
    }

    /// The delegation of a created file. `None` if there is no such file.
    pub(super) fn delegation(&mut self, node: Node) -> Option<&mut Option<Delegation>> {
        self.files.iter_mut().find(|file| file.number == node.number()).map(|file| &mut file.delegation)
    }

    pub(super) fn has_delegation(&self, client: u64) -> bool {
        self.files.iter().any(|file| file.delegation.as_ref().is_some_and(|delegation| delegation.client == client))
    }

    /// Takes back the delegations of clients other than these.
    pub(super) fn keep_delegations(&mut self, is_known: impl Fn(u64) -> bool) {
        for file in &mut self.files {
            file.delegation.take_if(|delegation| !is_known(delegation.client));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed expectation fails the test")]
mod tests {
    use super::*;

    #[test]
    fn file_counts_and_name_lengths_are_bounded() {
        let mut files = Files::default();
        let longest = vec![b'x'; MOST_OF_NAME];
        let first = files.create(&longest).unwrap();
        assert_eq!(files.create(&[b'x'; MOST_OF_NAME + 1]), Err(NAME_TOO_LONG));
        for number in 1..MOST_FILES {
            files.create(number.to_string().as_bytes()).unwrap();
        }
        assert_eq!(files.create(b"one more"), Err(NO_SPACE));
        files.remove(first);
        let last = files.create(b"one more").unwrap();
        assert!(last.number() > first.number() + 1, "numbers are not used again");
        assert_eq!(files.changes(), MOST_FILES as u64 + 2);
    }

    #[test]
    fn names_are_unique_and_valid_in_paths() {
        let mut files = Files::default();
        assert_eq!(files.create(b"a"), Ok(Node::Created(Node::FIRST_CREATED)));
        for (name, status) in [
            (&b"a"[..], EXISTS),
            (b"file", EXISTS),
            (b"", INVALID),
            (b"\xff", INVALID),
            (b"..", BAD_NAME),
            (b"a/b", BAD_CHARACTER),
            (b"a\0b", BAD_CHARACTER),
        ] {
            assert_eq!(files.create(name), Err(status), "{name:?}");
        }
    }
}
