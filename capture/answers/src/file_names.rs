//! The names by which files were looked up, opened or created: later operations have only their handles.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use rpcrdma_dissector::{Address, OperationArguments, Transaction};

use crate::operation_name::main_operation;

/// The most files whose names are remembered; past that, the one that was named first is forgotten.
const FILES: usize = 16_384;
/// The longest handle of a remembered file, in octets (`NFS4_FHSIZE`), and the longest name.
const HANDLE: usize = 128;
const NAME: usize = 255;

/// A file: address of the server, and octets of the handle.
type File = (Address, Box<[u8]>);

/// Name of a file, and the folder that contains the name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FilePlace {
    /// The handle of the folder; `None` if no RPC shows it.
    folder: Option<Box<[u8]>>,
    name: Box<[u8]>,
}

impl FilePlace {
    fn new(folder: Option<&[u8]>, name: &[u8]) -> Option<Self> {
        let is_kept = name.len() <= NAME && folder.is_none_or(|folder| folder.len() <= HANDLE);
        (is_kept && !matches!(name, b"." | b"..")).then(|| Self { folder: folder.map(Box::from), name: name.into() })
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
}

impl NamedFile {
    /// The name, escaped for a terminal.
    #[must_use]
    pub fn shown_name(&self) -> String {
        escaped(&self.name)
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

/// Returns true if a text selects a file: the name, or name and folder as `NAME in FOLDER`.
#[must_use]
pub fn is_file(text: &str, name: &str, folder: &str) -> bool {
    let rest = text.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(" in ") == Some(folder))
}

/// Names of files, by server and handle. After RENAME, a file has the new name.
#[derive(Clone, Debug, Default)]
pub struct FileNames {
    places: HashMap<File, FilePlace, RandomState>,
    /// The handle of the file that was last seen at each place of a server.
    files: HashMap<(Address, FilePlace), Box<[u8]>, RandomState>,
    /// Files in the order in which names were learned.
    order: VecDeque<File>,
}

impl FileNames {
    /// Takes the names in an RPC with these arguments.
    pub fn learn(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) {
        let server = server(transaction);
        for arguments in arguments {
            let OperationArguments { handle: folder, file_name: Some(name), named_handle, status, .. } = *arguments
            else {
                continue;
            };
            match named_handle.filter(|handle| handle.len() <= HANDLE) {
                Some(handle) => {
                    FilePlace::new(folder, name)
                        .into_iter()
                        .for_each(|place| self.insert((server, handle.into()), place));
                }
                None if status == Some(0) => self.rename(server, arguments),
                None => {}
            }
        }
    }

    /// Moves a file as the arguments of RENAME say.
    fn rename(&mut self, server: Address, arguments: &OperationArguments<'_>) {
        let OperationArguments { handle, file_name: Some(from), new_handle, new_file_name: Some(to), .. } = *arguments
        else {
            return;
        };
        if let Some((from, to)) = FilePlace::new(handle, from).zip(FilePlace::new(new_handle, to))
            && let Some(handle) = self.files.remove(&(server, from))
        {
            self.insert((server, handle), to);
        }
    }

    fn insert(&mut self, file: File, place: FilePlace) {
        self.files.insert((file.0, place.clone()), file.1.clone());
        match self.places.insert(file.clone(), place.clone()) {
            Some(before) if before == place => {}
            Some(before) => self.leave(&file, before),
            None => {
                self.order.push_back(file);
                if self.order.len() > FILES
                    && let Some(first) = self.order.pop_front()
                    && let Some(place) = self.places.remove(&first)
                {
                    self.leave(&first, place);
                }
            }
        }
    }

    /// Forgets that a file is at a place, unless another one is there by now.
    fn leave(&mut self, file: &File, place: FilePlace) {
        let (server, handle) = file;
        let key = (*server, place);
        if self.files.get(&key) == Some(handle) {
            self.files.remove(&key);
        }
    }

    /// Name of a file of a server in octets, if the name was seen.
    #[must_use]
    pub fn name(&self, server: Address, handle: &[u8]) -> Option<&[u8]> {
        self.places.get(&(server, handle.into())).map(|place| place.name.as_ref())
    }

    /// Name of the file of an RPC with these arguments, escaped for a terminal, if the name was seen.
    #[must_use]
    pub fn of_transaction(&self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) -> Option<String> {
        let about = main_arguments(transaction, arguments)?;
        self.find_name(server(transaction), about).map(escaped)
    }

    /// The file that an RPC with these arguments is about, if a name was seen.
    #[must_use]
    pub fn file_of(&self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) -> Option<NamedFile> {
        let about = main_arguments(transaction, arguments)?;
        self.named(server(transaction), about)
    }

    /// Name in octets of the file of an operation: the name in the arguments, or else the known name of the handle.
    pub(super) fn find_name<'a>(&'a self, server: Address, about: &OperationArguments<'a>) -> Option<&'a [u8]> {
        about.file_name.or_else(|| self.name(server, about.named_handle.or(about.handle)?))
    }

    /// Name of the file of an operation, with the folder, if the name was seen.
    pub(super) fn named(&self, server: Address, about: &OperationArguments<'_>) -> Option<NamedFile> {
        let (folder, name) = match about.file_name {
            Some(name) => (about.handle, name),
            None => {
                let place = self.places.get(&(server, about.named_handle.or(about.handle)?.into()))?;
                (place.folder.as_deref(), place.name.as_ref())
            }
        };
        Some(NamedFile { name: name.to_vec(), server, folder: folder.map(<[u8]>::to_vec) })
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
        let file = |number: usize| (server, Box::from(number.to_be_bytes().as_slice()));
        for number in 0..=FILES {
            names.insert(file(number), FilePlace::new(None, format!("{number}").as_bytes()).unwrap());
            names.insert(file(number), FilePlace::new(None, format!("again {number}").as_bytes()).unwrap());
        }
        let name = |number: usize| names.name(server, &number.to_be_bytes());
        assert_eq!((name(0), name(1), names.order.len()), (None, Some(&b"again 1"[..]), FILES));
        assert_eq!((names.places.len(), names.files.len()), (FILES, FILES));
        assert_eq!(names.name(Address::Lid(2), &1_usize.to_be_bytes()), None);
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
