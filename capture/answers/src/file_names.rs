//! The names by which files were looked up, opened, created or listed: later operations have only their handles. A file is known by its
//! name and the handle of its folder, which has a name and a folder in turn: the path leads to the root of the server, or as far as names
//! were seen.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use rpcrdma_dissector::nfs::{FilehandleStep, OperationCode, v2, v3};
use rpcrdma_dissector::{Address, OperationArguments, Transaction};

use crate::operation_name::main_operation;

/// The most files whose names are remembered; past that, the one that was named first is forgotten.
const FILES: usize = 16_384;
/// The longest handle of a remembered file, in octets (`NFS4_FHSIZE`), and the longest name.
const HANDLE: usize = 128;
const NAME: usize = 255;
/// The most folders of a path.
const DEPTH: usize = 64;
/// Stands for the handle of the root, which PUTROOTFH does not name. No file has a handle without octets.
const ROOT: &[u8] = &[];
/// The beginning of a path from a folder that is not known.
const UNKNOWN_ROOT: &str = "…";

/// The files of a server, by handle.
type FilesOfServer = HashMap<Box<[u8]>, FilePlace, RandomState>;

/// Name of a file, and the folder that contains the name.
#[derive(Clone, Debug)]
struct FilePlace {
    /// The handle of the folder; `None` if no RPC shows it.
    folder: Option<Box<[u8]>>,
    name: Box<[u8]>,
}

impl FilePlace {
    fn borrow(&self) -> NamedPlace<'_> {
        NamedPlace { folder: self.folder.as_deref(), name: &self.name }
    }
}

/// A [`FilePlace`] that was read from an RPC.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct NamedPlace<'a> {
    folder: Option<&'a [u8]>,
    name: &'a [u8],
}

impl<'a> NamedPlace<'a> {
    fn new(folder: Option<&'a [u8]>, name: &'a [u8]) -> Option<Self> {
        let is_kept = name.len() <= NAME && folder.is_none_or(|folder| folder.len() <= HANDLE);
        (is_kept && !matches!(name, b"." | b"..")).then_some(Self { folder, name })
    }

    /// The place of the root, or of a directory that was mounted by this path.
    const fn mounted(path: &'a [u8]) -> Self {
        Self { folder: Some(ROOT), name: path }
    }

    fn to_place(self) -> FilePlace {
        FilePlace { folder: self.folder.map(Box::from), name: self.name.into() }
    }
}

/// A name in a folder of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct NamedFile {
    /// The octets of the name.
    pub name: Vec<u8>,
    /// The address of the server.
    pub server: Address,
    /// The handle of the folder; `None` if no RPC shows it.
    pub folder: Option<Vec<u8>>,
    /// The path, if a folder is known, escaped for a terminal; `None` in a key, because a path can change.
    pub path: Option<String>,
}

impl NamedFile {
    /// The path if known, or else the name, escaped for a terminal.
    #[must_use]
    pub fn shown_name(&self) -> String {
        self.path.clone().unwrap_or_else(|| escaped(&self.name))
    }

    /// The folder in words, which distinguish files of the same name: the number of the handle, and the server.
    #[must_use]
    pub fn shown_folder(&self) -> String {
        match &self.folder {
            Some(folder) => format!("{:#010x} on {}", hash(folder), self.server),
            None => format!("an unknown folder on {}", self.server),
        }
    }
}

/// Returns true if a text selects a file: the path, the name at the end of the path, or either with the folder as `NAME in FOLDER`.
#[must_use]
pub fn is_file(text: &str, path: &str, folder: &str) -> bool {
    let is_named = |name: &str| {
        let rest = text.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(" in ") == Some(folder))
    };
    is_named(path) || path.rsplit_once('/').is_some_and(|(_, name)| !name.is_empty() && is_named(name))
}

/// Names of files, by server and handle. After RENAME, a file has the new name.
#[derive(Clone, Debug, Default)]
pub struct FileNames {
    places: HashMap<Address, FilesOfServer, RandomState>,
    /// The handle of the file that was last seen at each place of a server, by a hash of server and place: a listing names many files,
    /// and most are known, so that a key of octets would be made for nothing.
    files: HashMap<u64, Box<[u8]>, RandomState>,
    /// Files, by server and handle, in the order in which names were learned.
    order: VecDeque<(Address, Box<[u8]>)>,
}

impl FileNames {
    /// Takes the names in an RPC with these arguments.
    pub fn learn(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) {
        let server = server(transaction);
        // True while the current filehandle is that of the root.
        let mut is_root = false;
        for arguments in arguments {
            let step = arguments.traits.filehandle;
            let folder = arguments.handle.or(is_root.then_some(ROOT));
            match arguments.file_name {
                Some(name) if step != FilehandleStep::Get => {
                    self.learn_name(server, arguments, folder, name);
                    if is_removal(transaction, arguments) && arguments.status == Some(0) {
                        self.remove(server, folder, name);
                    }
                }
                _ => self.learn_mount(server, arguments, is_root),
            }
            for entry in arguments.entries() {
                let has_room = self.order.len() < FILES && entry.handle.len() <= HANDLE;
                if let Some(place) = NamedPlace::new(folder, entry.name).filter(|_| has_room) {
                    self.insert(server, entry.handle, place);
                }
            }
            is_root = match step {
                FilehandleStep::Forget => arguments.operation == Some(OperationCode::PUTROOTFH),
                FilehandleStep::Put | FilehandleStep::Name | FilehandleStep::Restore => false,
                _ => is_root,
            };
        }
    }

    /// Takes the name of a file in a folder, and the handle if the reply shows that.
    fn learn_name(&mut self, server: Address, arguments: &OperationArguments<'_>, folder: Option<&[u8]>, name: &[u8]) {
        match arguments.named_handle.filter(|handle| handle.len() <= HANDLE) {
            Some(handle) => {
                NamedPlace::new(folder, name).into_iter().for_each(|place| self.insert(server, handle, place));
            }
            None if arguments.status == Some(0) => self.rename(server, arguments),
            None => {}
        }
    }

    /// Takes the handle of the root, or of the directory that MNT asked for.
    fn learn_mount(&mut self, server: Address, arguments: &OperationArguments<'_>, is_root: bool) {
        let OperationArguments { path, named_handle, handle, .. } = *arguments;
        let is_got = arguments.operation == Some(OperationCode::GETFH);
        let mounted = match (path, named_handle) {
            (Some(path), Some(handle)) if path.len() <= NAME => Some((handle, path)),
            _ if is_root && is_got => handle.map(|handle| (handle, &b"/"[..])),
            _ => None,
        };
        if let Some((handle, path)) = mounted.filter(|(handle, _)| handle.len() <= HANDLE) {
            self.insert(server, handle, NamedPlace::mounted(path));
        }
    }

    /// Forgets that a file has a name in a folder. A handle that is still used keeps the name, by which it was known.
    fn remove(&mut self, server: Address, folder: Option<&[u8]>, name: &[u8]) {
        if let Some(place) = NamedPlace::new(folder, name) {
            let key = self.key(server, place);
            self.files.remove(&key);
        }
    }

    /// Moves a file as the arguments of RENAME say.
    fn rename(&mut self, server: Address, arguments: &OperationArguments<'_>) {
        let OperationArguments { handle, file_name: Some(from), new_handle, new_file_name: Some(to), .. } = *arguments
        else {
            return;
        };
        if let Some((from, to)) = NamedPlace::new(handle, from).zip(NamedPlace::new(new_handle, to))
            && let Some(handle) = self.files.remove(&self.key(server, from))
        {
            self.insert(server, &handle, to);
        }
    }

    /// Returns the key of a place in `files`.
    fn key(&self, server: Address, place: NamedPlace<'_>) -> u64 {
        self.files.hasher().hash_one((server, place))
    }

    /// Sets the place of a file. A listing names most files once more.
    fn insert(&mut self, server: Address, handle: &[u8], place: NamedPlace<'_>) {
        let key = self.key(server, place);
        let before = self.place(server, handle);
        let is_before = before.is_some_and(|before| before.borrow() == place);
        if is_before && self.files.get(&key).is_some_and(|last| **last == *handle) {
            return;
        }
        let left = before.filter(|_| !is_before).map(|before| self.key(server, before.borrow()));
        if before.is_none() {
            self.order.push_back((server, handle.into()));
        }
        self.places.entry(server).or_default().insert(handle.into(), place.to_place());
        self.files.insert(key, handle.into());
        left.into_iter().for_each(|key| self.leave(key, handle));
        if self.order.len() > FILES {
            self.forget_first();
        }
    }

    /// Forgets the file that was named first.
    fn forget_first(&mut self) {
        let Some((server, handle)) = self.order.pop_front() else { return };
        let Some(files) = self.places.get_mut(&server) else { return };
        let place = files.remove(&handle);
        if files.is_empty() {
            self.places.remove(&server);
        }
        if let Some(place) = place {
            self.leave(self.key(server, place.borrow()), &handle);
        }
    }

    /// Forgets that a file is at the place with this key, unless another one is there by now.
    fn leave(&mut self, key: u64, handle: &[u8]) {
        if self.files.get(&key).is_some_and(|last| **last == *handle) {
            self.files.remove(&key);
        }
    }

    /// Place of a file of a server, if the name was seen.
    fn place(&self, server: Address, handle: &[u8]) -> Option<&FilePlace> {
        self.places.get(&server)?.get(handle)
    }

    /// Name of a file of a server in octets, if the name was seen.
    #[must_use]
    pub fn name(&self, server: Address, handle: &[u8]) -> Option<&[u8]> {
        self.place(server, handle).map(|place| place.name.as_ref())
    }

    /// Path of a file of a server, escaped for a terminal, if the name of a folder was seen: from the root, or behind `…` from the first
    /// folder that has a name.
    #[must_use]
    pub fn path(&self, server: Address, handle: &[u8]) -> Option<String> {
        let place = self.place(server, handle)?;
        self.path_of(server, place.folder.as_deref(), &place.name)
    }

    /// Path of a name in a folder.
    #[must_use]
    pub fn path_of(&self, server: Address, folder: Option<&[u8]>, name: &[u8]) -> Option<String> {
        let mut names = vec![name];
        let mut folder = folder;
        while let Some(handle) = folder.filter(|handle| *handle != ROOT && names.len() < DEPTH) {
            let Some(place) = self.place(server, handle) else { break };
            names.push(&place.name);
            folder = place.folder.as_deref();
        }
        let is_from_root = folder == Some(ROOT);
        if !is_from_root && names.len() < 2 {
            return None;
        }
        // The first name may be the path of a mount.
        let mut path = String::from(if is_from_root { "" } else { UNKNOWN_ROOT });
        for name in names.iter().rev() {
            let shown = escaped(name);
            let shown = shown.trim_start_matches('/');
            if !shown.is_empty() {
                path.push('/');
                path.push_str(shown);
            }
        }
        Some(if path.is_empty() { "/".to_owned() } else { path })
    }

    /// Path, or else name, of a file of a server, escaped for a terminal.
    #[must_use]
    pub fn shown(&self, server: Address, handle: &[u8]) -> Option<String> {
        self.path(server, handle).or_else(|| self.name(server, handle).map(escaped))
    }

    /// Path of the file of an RPC with these arguments, or the name without a known folder, escaped for a terminal, if the name was seen.
    #[must_use]
    pub fn of_transaction(&self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) -> Option<String> {
        self.file_of(transaction, arguments).map(|file| file.shown_name())
    }

    /// The file that an RPC with these arguments is about, with the path, if a name was seen.
    #[must_use]
    pub fn file_of(&self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) -> Option<NamedFile> {
        let about = main_arguments(transaction, arguments)?;
        let file = self.named(server(transaction), about)?;
        let path = self.path_of(file.server, file.folder.as_deref(), &file.name);
        Some(NamedFile { path, ..file })
    }

    /// Name of the file of an operation, with the folder, if the name was seen.
    pub(super) fn named(&self, server: Address, about: &OperationArguments<'_>) -> Option<NamedFile> {
        let (folder, name) = match about.file_name {
            Some(name) => (about.handle, name),
            None => {
                let place = self.place(server, about.named_handle.or(about.handle)?)?;
                (place.folder.as_deref(), place.name.as_ref())
            }
        };
        Some(NamedFile { name: name.to_vec(), server, folder: folder.map(<[u8]>::to_vec), path: None })
    }
}

/// Returns true for REMOVE and RMDIR.
fn is_removal(transaction: &Transaction, arguments: &OperationArguments<'_>) -> bool {
    match arguments.operation {
        Some(operation) => operation == OperationCode::REMOVE,
        None => matches!(transaction.procedure, Some(v2::REMOVE | v2::RMDIR | v3::REMOVE | v3::RMDIR)),
    }
}

/// Selects the arguments of the main operation of an RPC.
pub(super) fn main_arguments<'a, 'b>(
    transaction: &Transaction,
    arguments: &'a [OperationArguments<'b>],
) -> Option<&'a OperationArguments<'b>> {
    arguments.get(main_operation(&transaction.operations).unwrap_or_default()).or(arguments.first())
}

/// A name in which octets that are no UTF-8 are written as `\xff`, so that names that differ only there stay apart.
pub(super) fn readable(name: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(name) {
        Ok(name) => name.into(),
        Err(_) => with_octets(name, str::to_owned).into(),
    }
}

/// The same on a terminal: without control characters, and with a backslash doubled.
pub(super) fn escaped(name: &[u8]) -> String {
    with_octets(name, |valid| valid.escape_debug().to_string())
}

fn with_octets(name: &[u8], valid: impl Fn(&str) -> String) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        text.push_str(&valid(chunk.valid()));
        text.extend(chunk.invalid().iter().map(|octet| format!("\\x{octet:02x}")));
    }
    text
}

/// The address of the server: the end that is called, except for callbacks.
pub(super) const fn server(transaction: &Transaction) -> Address {
    if transaction.reverse { transaction.from } else { transaction.to }
}

/// The address of the client.
pub(super) const fn client(transaction: &Transaction) -> Address {
    if transaction.reverse { transaction.to } else { transaction.from }
}

/// Number that Wireshark shows for a file handle: the CRC-32 of the handle.
pub(super) fn hash(handle: &[u8]) -> u32 {
    crc32fast::hash(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_bound_the_oldest_file_name_is_forgotten() {
        let (mut names, server) = (FileNames::default(), Address::Lid(1));
        for number in 0..=FILES {
            let handle = number.to_be_bytes();
            names.insert(server, &handle, NamedPlace::new(None, format!("{number}").as_bytes()).unwrap());
            names.insert(server, &handle, NamedPlace::new(None, format!("again {number}").as_bytes()).unwrap());
        }
        let name = |number: usize| names.name(server, &number.to_be_bytes());
        assert_eq!((name(0), name(1), names.order.len()), (None, Some(&b"again 1"[..]), FILES));
        assert_eq!((names.places[&server].len(), names.files.len()), (FILES, FILES));
        assert_eq!(names.name(Address::Lid(2), &1_usize.to_be_bytes()), None);
        // A server whose files are all forgotten takes no memory.
        for number in 0..FILES {
            names.insert(Address::Lid(2), &number.to_be_bytes(), NamedPlace::new(None, b"other").unwrap());
        }
        assert_eq!((names.places.len(), names.order.len(), names.files.len()), (1, FILES, 1));
    }

    #[test]
    fn file_names_that_are_no_utf_8_stay_distinct() {
        assert_eq!(
            [&b"f\xff"[..], b"f\xfe", b"f\xc3\xbc", b"f\n"].map(readable),
            ["f\\xff", "f\\xfe", "f\u{fc}", "f\n"]
        );
        assert_eq!([&b"f\xff"[..], b"f\\xff", b"f\n"].map(escaped), ["f\\xff", "f\\\\xff", "f\\n"]);
    }

    #[test]
    fn file_handles_hash_to_the_number_that_wireshark_shows() {
        // nfs.fh.hash of tshark 4.0 for handles of nfs41.pcap
        assert_eq!(hash(&[1, 0, 1, 0, 0, 0, 0, 0]), 0x62d4_0c52);
        let handle = [1, 0, 1, 1, 0, 0, 0, 0, 0x93, 0x4c, 0x58, 0x9c, 4, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(hash(&handle), 0xc77d_7fc1);
    }
}
