//! COMPOUND, the main procedure of NFSv4 (RFC 7530 section 15.2): operations, and the maximum length of their results.

use std::slice;

use rpcrdma::Reader;
use rpcrdma_dissector::nfs::Procedure;
use rpcrdma_verbs::{Call, Stream};

use super::xdr::{put_opaque, put_u32, put_u64};
use super::{Error, Status};

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    code: u32,
    name: &'static str,
    /// Maximum length of the results after the status in octets, without data that has a Write chunk.
    results: u32,
}

/// Maximum length of a file handle, including the count.
const HANDLE: u32 = 4 + 128;
const STATEID: u32 = 16;
const VERIFIER: u32 = 8;
/// Change of a directory: `change_info4`.
const CHANGE: u32 = 4 + 8 + 8;
/// A bitmap of the attributes of version 4.0, including the count; one additional word is allowed.
const BITMAP: u32 = 4 + 3 * 4;
/// Strings that the protocol does not limit: a name of a user, an address.
const STRING: u32 = 4 + 1024;

pub(super) const CLOSE: Operation = Operation { code: 4, name: "CLOSE", results: STATEID };
pub(super) const COMMIT: Operation = Operation { code: 5, name: "COMMIT", results: VERIFIER };
pub(super) const DELEGRETURN: Operation = Operation { code: 8, name: "DELEGRETURN", results: 0 };
pub(super) const GETATTR: Operation = Operation { code: 9, name: "GETATTR", results: BITMAP + 4 + Attributes::OCTETS };
pub(super) const GETFH: Operation = Operation { code: 10, name: "GETFH", results: HANDLE };
pub(super) const LOOKUP: Operation = Operation { code: 15, name: "LOOKUP", results: 0 };
// Its largest arm has a write delegation: type, stateid, recall, space limit, and an access control entry.
pub(super) const OPEN: Operation =
    Operation { code: 18, name: "OPEN", results: STATEID + 20 + 4 + BITMAP + 4 + STATEID + 4 + 12 + 12 + STRING };
pub(super) const OPEN_CONFIRM: Operation = Operation { code: 20, name: "OPEN_CONFIRM", results: STATEID };
pub(super) const PUTFH: Operation = Operation { code: 22, name: "PUTFH", results: 0 };
pub(super) const PUTROOTFH: Operation = Operation { code: 24, name: "PUTROOTFH", results: 0 };
pub(super) const READ: Operation = Operation { code: 25, name: "READ", results: 4 + 4 };
pub(super) const READDIR: Operation = Operation { code: 26, name: "READDIR", results: 0 };
pub(super) const REMOVE: Operation = Operation { code: 28, name: "REMOVE", results: CHANGE };
pub(super) const RENAME: Operation = Operation { code: 29, name: "RENAME", results: 2 * CHANGE };
pub(super) const SAVEFH: Operation = Operation { code: 32, name: "SAVEFH", results: 0 };
// NFS4ERR_CLID_INUSE says in two strings who uses it.
pub(super) const SETCLIENTID: Operation = Operation { code: 35, name: "SETCLIENTID", results: 2 * STRING };
pub(super) const SETCLIENTID_CONFIRM: Operation = Operation { code: 36, name: "SETCLIENTID_CONFIRM", results: 0 };
pub(super) const WRITE: Operation = Operation { code: 38, name: "WRITE", results: 4 + 4 + VERIFIER };

/// Identifies an open file, or no file (RFC 7530 section 9.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StateId(pub(super) [u8; 16]);

impl StateId {
    /// The anonymous stateid: no file is open (RFC 7530 section 9.1.4.3).
    pub(super) const ANONYMOUS: Self = Self([0; 16]);
}

/// The attributes that are requested and received (RFC 7530 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// `nfs_ftype4`.
    pub(crate) kind: Option<u32>,
    /// Octets.
    pub(crate) size: Option<u64>,
    /// The error of an entry whose attributes could not be read.
    pub(crate) error: Option<u32>,
    /// Maximum number of octets returned by a READ.
    pub(crate) max_read: Option<u64>,
    /// Maximum number of octets written by a WRITE.
    pub(crate) max_write: Option<u64>,
    /// Permissions.
    pub(crate) mode: Option<u32>,
}

impl Attributes {
    const KIND: u32 = 1;
    const SIZE: u32 = 4;
    const ERROR: u32 = 11;
    const MAX_READ: u32 = 30;
    const MAX_WRITE: u32 = 31;
    const MODE: u32 = 33;
    /// Length of all values together, in octets.
    const OCTETS: u32 = 4 + 8 + 4 + 8 + 8 + 4;
    /// Attributes of a file or directory.
    pub(super) const OF_FILE: u32 = 1 << Self::KIND | 1 << Self::SIZE | 1 << Self::MAX_READ | 1 << Self::MAX_WRITE;
    /// Attributes of a file that is to be replaced.
    pub(super) const OF_TARGET: [u32; 2] = [1 << Self::KIND, 1 << (Self::MODE - 32)];
    /// Attributes of a directory entry.
    pub(super) const OF_ENTRY: u32 = 1 << Self::KIND | 1 << Self::SIZE | 1 << Self::ERROR;

    pub(super) fn decode(results: &mut Reader<'_>) -> Result<Self, Error> {
        let at = results.offset();
        let mut masks = [0; 3];
        let count = results.u32()? as usize;
        for mask in masks.get_mut(..count).ok_or(Error::Results(at))? {
            *mask = results.u32()?;
        }
        let mut values = Reader::new(results.opaque()?);
        let [first, second, third] = masks;
        let wanted = u128::from(third) << 64 | u128::from(second) << 32 | u128::from(first);
        let mut attributes = Self::default();
        for number in (0..96).filter(|number| wanted & 1 << number != 0) {
            match number {
                Self::KIND => attributes.kind = Some(values.u32()?),
                Self::SIZE => attributes.size = Some(values.u64()?),
                Self::ERROR => attributes.error = Some(values.u32()?),
                Self::MAX_READ => attributes.max_read = Some(values.u64()?),
                Self::MAX_WRITE => attributes.max_write = Some(values.u64()?),
                Self::MODE => attributes.mode = Some(values.u32()?),
                // Never requested.
                _ => return Err(Error::Results(at)),
            }
        }
        Ok(attributes)
    }

    /// Returns the kind of file in words.
    pub(crate) const fn kind_name(&self) -> &'static str {
        match self.kind {
            Some(1) => "a file",
            Some(2) => "a directory",
            Some(3) => "a block device",
            Some(4) => "a character device",
            Some(5) => "a symbolic link",
            Some(6) => "a socket",
            Some(7) => "a FIFO",
            Some(8 | 9) => "a named attribute",
            _ => "of no known kind",
        }
    }
}

/// A call of COMPOUND.
pub(super) fn call() -> Call {
    Call::rpc(Procedure::NFS, 4, 1)
}

/// A COMPOUND under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Compound {
    octets: Vec<u8>,
    operations: Vec<(Operation, String)>,
    /// Maximum length of the results of all operations, with number and status of each.
    results: u32,
}

impl Compound {
    /// Walks from the root to each name in turn.
    pub(super) fn walk(path: &[String]) -> Self {
        let mut compound = Self::default();
        compound.add_operation(PUTROOTFH, "");
        for name in path {
            put_opaque(compound.add_operation(LOOKUP, name), name.as_bytes());
        }
        compound
    }

    /// Starts at the file with this handle.
    pub(super) fn from_handle(handle: &[u8]) -> Self {
        let mut compound = Self::default();
        put_opaque(compound.add_operation(PUTFH, ""), handle);
        compound
    }

    /// Adds an operation; the caller appends the arguments to the returned stream.
    pub(super) fn add_operation(&mut self, operation: Operation, subject: &str) -> &mut Vec<u8> {
        self.operations.push((operation, subject.to_owned()));
        self.results = self.results.saturating_add(8).saturating_add(operation.results);
        put_u32(&mut self.octets, operation.code);
        &mut self.octets
    }

    /// Adds GETATTR for the attributes of a bitmap.
    pub(super) fn attributes(&mut self, bitmap: &[u32]) {
        let arguments = self.add_operation(GETATTR, "");
        put_u32(arguments, bitmap.len() as u32);
        bitmap.iter().for_each(|word| put_u32(arguments, *word));
    }

    /// Adds READ; the data comes into a Write chunk.
    pub(super) fn read(&mut self, state: StateId, offset: u64, count: u32) {
        let arguments = self.add_operation(READ, "");
        arguments.extend_from_slice(&state.0);
        put_u64(arguments, offset);
        put_u32(arguments, count);
    }

    /// Adds WRITE, which the server need not commit. No operation may follow: the data follows.
    pub(super) fn write(&mut self, state: StateId, offset: u64, count: u32) {
        const UNSTABLE: u32 = 0;
        let arguments = self.add_operation(WRITE, "");
        arguments.extend_from_slice(&state.0);
        put_u64(arguments, offset);
        put_u32(arguments, UNSTABLE);
        put_u32(arguments, count);
    }

    /// Adds READDIR after a cookie. `octets`: maximum length of the results, whatever is in the directory.
    pub(super) fn entries(&mut self, cookie: u64, verifier: [u8; 8], octets: u32) {
        let arguments = self.add_operation(READDIR, "");
        put_u64(arguments, cookie);
        arguments.extend_from_slice(&verifier);
        put_u32(arguments, octets);
        put_u32(arguments, octets);
        put_u32(arguments, 1);
        put_u32(arguments, Attributes::OF_ENTRY);
        self.results = self.results.saturating_add(octets);
    }

    /// Returns true if an operation has a sequence number, which must not be sent twice.
    pub(super) fn has_sequence(&self) -> bool {
        self.operations.iter().any(|(operation, _)| [OPEN, OPEN_CONFIRM, CLOSE].contains(operation))
    }

    /// Returns true if data follows the last operation.
    fn has_data(&self) -> bool {
        self.operations.last().is_some_and(|(operation, _)| *operation == WRITE)
    }

    /// Returns the maximum length of the results in octets.
    pub(super) fn results_length(&self) -> u32 {
        /// Status, the tag, which is that of the call, and the number of results.
        const COMPOUND: u32 = 12;
        self.results.saturating_add(COMPOUND)
    }

    /// Appends the arguments to a call, with the data of a WRITE.
    pub(super) fn append_arguments(&self, message: &mut Stream, data: Vec<u8>) {
        // Tag, minor version, number of operations.
        [0, 0, self.operations.len() as u32].iter().for_each(|word| message.push(&word.to_be_bytes()));
        message.push(&self.octets);
        if self.has_data() {
            message.push_item(data);
        }
    }

    /// Returns the results of a call, if all operations succeeded.
    pub(super) fn results<'a>(&'a self, call: &'a Call) -> Result<Results<'a>, Error> {
        let results = call.accepted().map_err(Error::Reply)?;
        // This shows a wrong maximum even if the results happen to fit the buffer.
        let most = self.results_length() as usize;
        if results.len() > most {
            return Err(Error::Results(most));
        }
        let mut reader = Reader::new(results);
        let (number, _tag, at, count) = (reader.u32()?, reader.opaque()?, reader.offset(), reader.u32()? as usize);
        if number != 0 {
            // The last operation that was carried out has failed.
            let failed = self.operations.get(count.saturating_sub(1)).ok_or(Error::Results(at))?;
            let (operation, subject) = (failed.0.name, failed.1.clone());
            return Err(Error::Status(Status { operation, subject, number }));
        }
        if count != self.operations.len() {
            return Err(Error::Results(at));
        }
        Ok(Results { reader, operations: self.operations.iter() })
    }
}

/// The results of a COMPOUND that succeeded.
pub(super) struct Results<'a> {
    reader: Reader<'a>,
    operations: slice::Iter<'a, (Operation, String)>,
}

impl<'a> Results<'a> {
    /// Moves to the results of the next such operation; operations in between have none.
    pub(super) fn results_of(&mut self, wanted: Operation) -> Result<&mut Reader<'a>, Error> {
        loop {
            let at = self.reader.offset();
            let (operation, _) = self.operations.next().ok_or(Error::Results(at))?;
            if (self.reader.u32()?, self.reader.u32()?) != (operation.code, 0) {
                return Err(Error::Results(at));
            }
            if *operation == wanted {
                return Ok(&mut self.reader);
            }
        }
    }
}
