//! The names by which files were looked up, opened or created: later operations have only their handles.

#[cfg(feature = "json")]
use std::borrow::Cow;
use std::collections::VecDeque;

use crate::carrier::table::Map;
use crate::link::Address;
use crate::output::operation_name::main_operation;
use crate::rpc::arguments::OperationArguments;
use crate::rpc::transaction::Transaction;

/// The most files whose names are remembered; past that, the one that was named first is forgotten.
const FILES: usize = 16_384;
/// The longest handle of a remembered file, in octets (`NFS4_FHSIZE`), and the longest name.
const HANDLE: usize = 128;
const NAME: usize = 255;

/// A file: its server, and the octets of its handle.
type File = (Address, Box<[u8]>);

/// The names of files, by server and handle.
///
/// A file that is renamed keeps the name by which it was known until it is looked up again.
#[derive(Clone, Debug, Default)]
pub struct FileNames {
    names: Map<File, Box<[u8]>>,
    /// The order in which they were named.
    order: VecDeque<File>,
}

impl FileNames {
    /// Takes the names that an RPC shows, with its arguments.
    pub fn learn(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) {
        for arguments in arguments {
            if let (Some(handle), Some(name)) = (arguments.named_handle, arguments.file_name)
                && handle.len() <= HANDLE
                && name.len() <= NAME
                && !matches!(name, b"." | b"..")
            {
                self.insert((server(transaction), handle.into()), name.into());
            }
        }
    }

    fn insert(&mut self, file: (Address, Box<[u8]>), name: Box<[u8]>) {
        if self.names.insert(file.clone(), name).is_some() {
            return;
        }
        self.order.push_back(file);
        if self.order.len() > FILES
            && let Some(first) = self.order.pop_front()
        {
            self.names.remove(&first);
        }
    }

    /// The octets of the name of a file of a server, if it was seen.
    #[must_use]
    pub fn name(&self, server: Address, handle: &[u8]) -> Option<&[u8]> {
        self.names.get(&(server, handle.into())).map(AsRef::as_ref)
    }

    /// The name of the file that an RPC with these arguments is about, as a terminal shows it, if it was seen.
    #[must_use]
    pub fn of_transaction(&self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) -> Option<String> {
        let about = main_arguments(transaction, arguments)?;
        self.of(server(transaction), about).map(escaped)
    }

    /// The octets of the name of the file that an operation is about: the one in it, or else that of its handle, if it was seen.
    pub(super) fn of<'a>(&'a self, server: Address, about: &OperationArguments<'a>) -> Option<&'a [u8]> {
        about.file_name.or_else(|| self.name(server, about.named_handle.or(about.handle)?))
    }
}

/// The arguments of the operation that an RPC is about, among those of all its operations.
pub(super) fn main_arguments<'a, 'b>(
    transaction: &Transaction,
    arguments: &'a [OperationArguments<'b>],
) -> Option<&'a OperationArguments<'b>> {
    arguments.get(main_operation(&transaction.operations).unwrap_or_default()).or(arguments.first())
}

/// A name in which octets that are no UTF-8 are written as `\xff`, so that names that differ only there stay apart.
#[cfg(feature = "json")]
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

/// The number by which Wireshark knows a file handle: its CRC-32.
pub(super) fn hash(handle: &[u8]) -> u32 {
    crc32fast::hash(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_was_named_first_is_forgotten_past_the_bound() {
        let (mut names, server) = (FileNames::default(), Address::Lid(1));
        let file = |number: usize| (server, Box::from(number.to_be_bytes().as_slice()));
        for number in 0..=FILES {
            names.insert(file(number), format!("{number}").into_bytes().into());
            names.insert(file(number), format!("again {number}").into_bytes().into());
        }
        let name = |number: usize| names.name(server, &number.to_be_bytes());
        assert_eq!((name(0), name(1), names.order.len()), (None, Some(&b"again 1"[..]), FILES));
        assert_eq!(names.name(Address::Lid(2), &1_usize.to_be_bytes()), None);
    }

    #[test]
    fn names_that_differ_in_octets_that_are_no_utf_8_stay_apart() {
        assert_eq!(
            [&b"f\xff"[..], b"f\xfe", b"f\xc3\xbc", b"f\n"].map(readable),
            ["f\\xff", "f\\xfe", "f\u{fc}", "f\n"]
        );
        assert_eq!([&b"f\xff"[..], b"f\\xff", b"f\n"].map(escaped), ["f\\xff", "f\\\\xff", "f\\n"]);
    }

    #[test]
    fn a_handle_is_known_by_the_number_that_wireshark_has_for_it() {
        // nfs.fh.hash of tshark 4.0 for handles of nfs41.pcap
        assert_eq!(hash(&[1, 0, 1, 0, 0, 0, 0, 0]), 0x62d4_0c52);
        let handle = [1, 0, 1, 1, 0, 0, 0, 0, 0x93, 0x4c, 0x58, 0x9c, 4, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(hash(&handle), 0xc77d_7fc1);
    }
}
