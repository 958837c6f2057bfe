//! A folder in memory, served over NFSv3 (RFC 1813), NFSv4.0 (RFC 7530) and NFSv4.1 (RFC 8881): the operations that
//! [the probe](crate::probe) calls, and the part of NFSv3 that a client needs to mount and list the folder and to read
//! the files.
//!
//! The root holds the files `file` and `scratch` and the symbolic link `link`. `scratch` is empty at first; NFSv4 can
//! write to `scratch`. The file handles are the same in all versions, and an unknown handle stands for the root, except
//! in a session. Files have no owner: every caller may read all of the folder, overwrite `scratch`, and remove files
//! that others have created.
//!
//! Linux mounts, lists and reads the folder over NFSv3 and NFSv4.1. Of NFSv4.0 there are only the operations that need
//! no client ID, so SETCLIENTID is answered `NFS4ERR_MINOR_VERS_MISMATCH`, as is every COMPOUND of NFSv4.2: a client
//! then uses NFSv4.1.
//!
//! A client of NFSv4.1 can create empty files, at most 64, with names of at most 255 octets. A client that can be
//! called back is granted a read delegation of each file. When any client removes such a file, the server answers
//! `NFS4ERR_DELAY`, recalls the delegation on the connection that the client's session was created on, and removes the
//! file once the delegation has been returned. All state of a client is removed when the last connection ends: no lease
//! expires earlier. At most 64 clients, 64 sessions and 256 open files are kept, each session with one slot and a reply
//! of up to 4096 octets.
//!
//! READ data and the text of a link are DDP-eligible (RFC 8267 sections 4 and 6.1).
//!
//! ```
//! use std::sync::Arc;
//! use std::thread;
//!
//! use rpcrdma_tools::echo::programs;
//! use rpcrdma_tools::nfs::Folder;
//! use rpcrdma_verbs::loopback::Fabric;
//! use rpcrdma_verbs::{Call, Client, Server, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fabric = Fabric::new();
//! let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
//! let address = "192.0.2.2:20049".parse()?;
//! let folder = Arc::new(Folder::new(b"hello", "/a/path"));
//! let server = Server::bind(&there, address, Settings::server())?;
//! let stop = server.stopper();
//! thread::scope(|scope| {
//!     scope.spawn(|| server.serve(&folder.serve(programs())));
//!     let client = Client::connect(&here, address, &Settings::client()).unwrap();
//!     // GETATTR of the root: it is a folder.
//!     let mut call = Call::rpc(100_003, 3, 1);
//!     call.message().push(b"\0\0\0\x04root");
//!     client.call(&mut call).unwrap().results().unwrap();
//!     assert_eq!(call.accepted().unwrap().get(..8), Some(&[0, 0, 0, 0, 0, 0, 0, 2][..]));
//!     stop.stop();
//! });
//! # Ok(())
//! # }
//! ```

mod attributes;
mod backchannel;
mod clients;
mod files;
mod open;
mod operation;
#[cfg(test)]
mod session_tests;
mod v3;
mod v4;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rpcrdma::rpc::{AcceptStatus, RpcCall};
use rpcrdma_verbs::{Dispatcher, ProcedureCall, Provider, Refusal, Request, Stream};

use crate::echo::pattern;
use crate::xdr::{padding, push};
pub(crate) use v3::procedure;

/// The number of the program.
pub const PROGRAM: u32 = 100_003;
/// NFSv3.
pub(crate) const VERSION_3: u32 = 3;
/// NFSv4.
const VERSION_4: u32 = 4;
/// Maximum number of calls in flight that a server of the folder makes on one connection, for
/// [`SettingsBuilder::requested_credits`](rpcrdma_verbs::SettingsBuilder::requested_credits): recalls of delegations.
pub const CALLS: u32 = 4;
/// Maximum length of `scratch` in octets.
pub const MAX_SCRATCH: usize = 0x1_0000;

/// Status of a failed operation. The numbers are the same in both versions.
type Failure = u32;

const NO_ENTRY: Failure = 2;
const NO_DIRECTORY: Failure = 20;
const IS_DIRECTORY: Failure = 21;
const INVALID: Failure = 22;
const TOO_LARGE: Failure = 27;
const READ_ONLY: Failure = 30;
const TOO_SMALL: Failure = 10_005;
/// Access that ACCESS grants: READ, LOOKUP, EXECUTE.
const PERMITTED: u32 = 0x23;

/// A node of the folder, or the folder itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Root,
    File,
    Link,
    Scratch,
    /// A file created by a client, with the number in the file system. Such a file is empty.
    Created(u32),
}

impl Node {
    /// The nodes that are always in the root.
    const ALWAYS: [(Self, &'static [u8]); 3] =
        [(Self::File, b"file"), (Self::Link, b"link"), (Self::Scratch, b"scratch")];
    /// The number of the first file that a client creates.
    const FIRST_CREATED: u32 = 5;

    /// The number of the node in the file system.
    const fn number(self) -> u32 {
        match self {
            Self::Root => 1,
            Self::File => 2,
            Self::Link => 3,
            Self::Scratch => 4,
            Self::Created(number) => number,
        }
    }

    /// Type of file, the same number in all versions.
    const fn kind(self) -> u32 {
        match self {
            Self::Root => 2,
            Self::Link => 5,
            Self::File | Self::Scratch | Self::Created(_) => 1,
        }
    }

    /// Its permissions.
    const fn mode(self) -> u32 {
        match self {
            Self::Root => 0o755,
            Self::File => 0o444,
            Self::Link => 0o777,
            Self::Scratch => 0o666,
            Self::Created(_) => 0o644,
        }
    }

    /// Beginning of each handle.
    const HANDLE: [u8; 4] = *b"rpcr";

    /// The file handle in XDR.
    const fn handle(self) -> [u32; 3] {
        [8, u32::from_be_bytes(Self::HANDLE), self.number()]
    }

    /// Returns true if a handle, without the length, has the form of a handle of this server.
    fn is_handle(handle: &[u8]) -> bool {
        handle.len() == 8 && handle.starts_with(&Self::HANDLE)
    }
}

/// State created by clients.
#[derive(Debug, Default)]
struct State {
    files: files::Files,
    opens: open::Opens,
    clients: clients::KnownClients,
}

/// The folder.
#[derive(Debug)]
pub struct Folder {
    file: Vec<u8>,
    link: String,
    scratch: Mutex<Vec<u8>>,
    /// Number of writes to `scratch`.
    writes: AtomicU64,
    state: Mutex<State>,
}

/// 64 KiB of the [pattern] in `file`, and a link to `/a/path/of/27/octets/in/all`.
impl Default for Folder {
    fn default() -> Self {
        Self::new(pattern(0, 0x1_0000).unwrap_or_default(), "/a/path/of/27/octets/in/all")
    }
}

impl Folder {
    /// A folder with these octets in `file`, and a link to this path.
    pub fn new(file: impl Into<Vec<u8>>, link: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            link: link.into(),
            scratch: Mutex::default(),
            writes: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// Adds the folder to the programs of a server, which makes [`CALLS`] too.
    pub fn serve<'a, V: Provider>(self: &Arc<Self>, programs: Dispatcher<'a, V>) -> Dispatcher<'a, V> {
        let programs = v3::PROCEDURES.into_iter().fold(programs, |programs, (number, procedure)| {
            let folder = Arc::clone(self);
            programs.with_procedure(
                PROGRAM,
                VERSION_3,
                number,
                move |call: &ProcedureCall<'_>, results: &mut Stream| {
                    procedure(&folder, call.arguments, results).ok_or(Refusal::GarbageArguments)
                },
            )
        });
        let folder = Arc::clone(self);
        programs.with_deferred(PROGRAM, VERSION_4, v4::COMPOUND, move |request| folder.compound(request))
    }

    /// Answers a COMPOUND.
    fn compound<V: Provider>(&self, mut request: Request<V>) {
        let connection = request.connection().downgrade();
        request.accept();
        let (message, results) = request.message_and_reply();
        let done = RpcCall::decode(message).ok().and_then(|(_, arguments)| {
            v4::compound(self, message.len(), arguments, results, &|| Arc::new(connection.clone()))
        });
        // If this fails, the client has been answered with `SYSTEM_ERR`, or is gone.
        let _ = match done {
            Some(()) => request.answer(),
            None => request.refuse(AcceptStatus::GARBAGE_ARGS),
        };
    }

    /// Returns the clients' state, after removing the state of clients that are gone.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { files, opens, clients } = &mut *state;
        clients.forget_gone();
        files.keep_delegations(|client| clients.is_known(client));
        opens.retain_clients(|client| clients.is_known(client));
        state
    }

    /// Returns the node with this handle, without the length; the root if there is none.
    fn with_handle(&self, handle: &[u8]) -> Node {
        self.find_handle(handle).unwrap_or(Node::Root)
    }

    /// Returns the node with this handle, without the length.
    fn find_handle(&self, handle: &[u8]) -> Option<Node> {
        let is = |node: &Node| node.handle().into_iter().skip(1).flat_map(u32::to_be_bytes).eq(handle.iter().copied());
        let always = Node::ALWAYS.into_iter().map(|(node, _)| node).chain([Node::Root]).find(is);
        let created = || self.state().files.iter().map(|(node, _)| node).find(is);
        always.or_else(created)
    }

    /// Returns the node with this name in a node.
    fn look_up(&self, node: Node, name: &[u8]) -> Result<Node, Failure> {
        if node != Node::Root {
            return Err(NO_DIRECTORY);
        }
        let always = Node::ALWAYS.into_iter().find(|(_, other)| *other == name).map(|(node, _)| node);
        always.or_else(|| self.state().files.find(name)).ok_or(NO_ENTRY)
    }

    /// Returns the entries of the root, in the order of their numbers.
    fn entries(&self) -> Vec<(Node, Vec<u8>)> {
        let always = Node::ALWAYS.map(|(node, name)| (node, name.to_vec()));
        let state = self.state();
        always.into_iter().chain(state.files.iter().map(|(node, name)| (node, name.to_vec()))).collect()
    }

    /// Returns the number of changes of a node.
    fn changes_of(&self, node: Node) -> u64 {
        match node {
            Node::Root => self.state().files.changes(),
            Node::Scratch => self.writes.load(Ordering::Relaxed),
            Node::File | Node::Link | Node::Created(_) => 0,
        }
    }

    /// Returns the length of a file or link in octets.
    fn size(&self, node: Node) -> u32 {
        let size = match node {
            Node::Root => 4096,
            Node::File => self.file.len(),
            Node::Link => self.link.len(),
            Node::Scratch => self.scratch.lock().unwrap_or_else(PoisonError::into_inner).len(),
            Node::Created(_) => 0,
        };
        u32::try_from(size).unwrap_or(u32::MAX)
    }

    /// Reads at most `count` octets of a file from an offset. Returns true with the last octet.
    fn read(&self, node: Node, offset: u64, count: u32) -> Result<(Vec<u8>, bool), Failure> {
        let scratch;
        let octets = match node {
            Node::Root => return Err(IS_DIRECTORY),
            Node::Link => return Err(INVALID),
            Node::File => self.file.as_slice(),
            Node::Created(_) => &[],
            Node::Scratch => {
                scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
                scratch.as_slice()
            }
        };
        let rest = usize::try_from(offset).ok().and_then(|offset| octets.get(offset..)).unwrap_or_default();
        let data = rest.get(..count as usize).unwrap_or(rest);
        Ok((data.to_vec(), data.len() == rest.len()))
    }

    /// Writes octets to a file.
    fn write(&self, node: Node, offset: u64, data: &[u8]) -> Result<(), Failure> {
        match node {
            Node::Root => return Err(IS_DIRECTORY),
            Node::Link => return Err(INVALID),
            Node::File | Node::Created(_) => return Err(READ_ONLY),
            Node::Scratch => {}
        }
        let end = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(data.len()));
        let end = end.filter(|end| *end <= MAX_SCRATCH).ok_or(TOO_LARGE)?;
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let length = scratch.len().max(end);
        scratch.resize(length, 0);
        scratch.get_mut(end - data.len()..end).ok_or(TOO_LARGE)?.copy_from_slice(data);
        self.writes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the path in a link.
    fn read_link(&self, node: Node) -> Result<&str, Failure> {
        if node == Node::Link { Ok(&self.link) } else { Err(INVALID) }
    }

    /// Appends a page of the listing of a folder, at most `room` octets: the entries after the one with this cookie.
    /// Returns true with the last entry. Each entry has a number before the name, which `shape` returns for an entry
    /// with a cookie, together with the words after the name.
    fn list(
        &self,
        node: Node,
        from: u64,
        room: usize,
        shape: impl Fn(Node, u32) -> (u32, Vec<u32>),
    ) -> Result<(Stream, bool), Failure> {
        if node != Node::Root {
            return Err(NO_DIRECTORY);
        }
        let mut page = Stream::default();
        for (entry, name) in self.entries() {
            let cookie = entry.number() - 1;
            if u64::from(cookie) <= from {
                continue;
            }
            let (number, behind) = shape(entry, cookie);
            if page.len() + 4 * (4 + behind.len()) + name.len().next_multiple_of(4) > room {
                return if page.is_empty() { Err(TOO_SMALL) } else { Ok((page, false)) };
            }
            push(&mut page, &[1, 0, number, name.len() as u32]);
            page.push(&name);
            page.push(padding(name.len()));
            push(&mut page, &behind);
        }
        Ok((page, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_scratch_is_read_from_it() {
        let folder = Folder::new(*b"file", "/path");
        assert_eq!(folder.write(Node::Scratch, 2, b"ab"), Ok(()));
        assert_eq!(folder.read(Node::Scratch, 0, 9), Ok((b"\0\0ab".to_vec(), true)));
        assert_eq!(folder.read(Node::Scratch, 1, 2), Ok((b"\0a".to_vec(), false)));
        assert_eq!(folder.read(Node::Scratch, u64::MAX, 2), Ok((vec![], true)));
        assert_eq!(folder.write(Node::File, 0, b"ab"), Err(READ_ONLY));
        assert_eq!(folder.size(Node::Scratch), 4);
    }

    #[test]
    fn scratch_does_not_grow_without_bound() {
        let folder = Folder::new(*b"file", "/path");
        for offset in [MAX_SCRATCH as u64 - 1, u64::MAX, u64::MAX - 1] {
            assert_eq!(folder.write(Node::Scratch, offset, b"ab"), Err(TOO_LARGE), "{offset}");
        }
        assert_eq!(folder.write(Node::Scratch, MAX_SCRATCH as u64 - 2, b"ab"), Ok(()));
    }

    #[test]
    fn a_listing_fills_the_available_space() {
        let folder = Folder::default();
        let list = |from, room| folder.list(Node::Root, from, room, |node, cookie| (node.number(), vec![cookie]));
        let pages = [(0, 23), (0, 24), (0, 48), (0, 75), (0, 76), (2, 28), (3, 0), (u64::MAX, 0)]
            .map(|(from, room)| list(from, room).map(|(page, is_all)| (page.len(), is_all)));
        let none = Ok((0, true));
        let right = [
            Err(TOO_SMALL),
            Ok((24, false)),
            Ok((48, false)),
            Ok((48, false)),
            Ok((76, true)),
            Ok((28, true)),
            none,
            none,
        ];
        assert_eq!(pages, right);
    }

    #[test]
    fn nodes_are_found_by_handle_and_name() {
        let folder = Folder::default();
        let created = folder.state().files.create(b"mine").unwrap();
        for (node, name) in Node::ALWAYS.into_iter().chain([(created, &b"mine"[..])]) {
            let handle: Vec<u8> = node.handle().into_iter().skip(1).flat_map(u32::to_be_bytes).collect();
            assert_eq!(folder.with_handle(&handle), node);
            assert_eq!(folder.look_up(Node::Root, name), Ok(node));
            assert_eq!(folder.look_up(node, b"file"), Err(NO_DIRECTORY));
        }
        assert_eq!(folder.with_handle(b"of another server"), Node::Root);
        assert_eq!(folder.look_up(Node::Root, b""), Err(NO_ENTRY));
    }

    #[test]
    fn created_files_are_listed_last_until_removed() {
        let folder = Folder::default();
        let names = |from| {
            let mut cookies = Vec::new();
            let (page, is_all) = folder.list(Node::Root, from, 512, |_, cookie| (cookie, vec![])).unwrap();
            let mut rest = page.head();
            while let [_, _, _, _, 0, 0, 0, 0, 0, 0, 0, cookie, 0, 0, 0, length, others @ ..] = rest {
                cookies.push((*cookie, others[..usize::from(*length)].to_vec()));
                rest = &others[usize::from(*length).next_multiple_of(4)..];
            }
            assert!(is_all && rest.is_empty());
            cookies
        };
        let [first, second] = [&b"one"[..], b"other"].map(|name| folder.state().files.create(name).unwrap());
        assert_eq!(names(2), [(3, b"scratch".to_vec()), (4, b"one".to_vec()), (5, b"other".to_vec())]);
        // After listing up to the first, the second is next, although the first is gone.
        folder.state().files.remove(first);
        assert_eq!(names(4), [(5, b"other".to_vec())]);
        folder.state().files.remove(second);
        assert_eq!(names(2), [(3, b"scratch".to_vec())]);
    }
}
