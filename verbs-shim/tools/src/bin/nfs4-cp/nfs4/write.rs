//! Copying to the server: OPEN, WRITEs (RFC 7530 section 16.36) from Read chunks, COMMIT, CLOSE, RENAME.
//!
//! The data goes into a temporary file beside the target, so a copy that fails leaves the target unchanged.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::process;

use rpcrdma::Reader;
use rpcrdma_verbs::{Call, Provider};

use super::compound::{
    Attributes, CLOSE, COMMIT, Compound, DELEGRETURN, GETATTR, GETFH, OPEN, OPEN_CONFIRM, REMOVE, RENAME, SAVEFH,
    SETCLIENTID, SETCLIENTID_CONFIRM, StateId, WRITE,
};
use super::xdr::{put_opaque, put_u32, put_u64};
use super::{Error, MOST_DATA, Nfs4, Patience, ServerFile, Status, Transfer};

/// Permissions of a new file.
const NEW_FILE: u32 = 0o644;

/// A file that is open for writing, and empty.
struct Open {
    file: ServerFile,
    state: StateId,
    /// The next sequence number of the owner (RFC 7530 section 9.1.7).
    sequence: u32,
}

/// Results of an OPEN.
struct Opened {
    state: StateId,
    /// True if the owner is new to the server, which asks for a confirmation.
    confirm: bool,
    delegation: Option<StateId>,
}

/// Identifies an instance of the server: another instance has lost data that was not committed (RFC 7530 section
/// 16.36.4).
type Verifier = [u8; 8];

impl<V: Provider> Nfs4<V> {
    /// Creates or replaces a file with all octets of the source. A replaced file keeps the permissions.
    pub(crate) fn write(&self, path: &[String], source: &mut impl Read) -> Result<u64, Error> {
        let mode = self.replaceable(path)?;
        let client = self.identify()?;
        let (name, directory) = path.split_last().map_or(("", path), |(name, directory)| (name.as_str(), directory));
        let temporary = format!(".nfs4-cp-{:016x}", RandomState::new().hash_one(0));
        let written = self.write_file(client, &[directory, std::slice::from_ref(&temporary)].concat(), mode, source);
        let renamed = written.and_then(|octets| self.rename(directory, &temporary, name).map(|()| octets));
        renamed.map_err(|error| self.remove(directory, temporary, error))
    }

    /// Returns the permissions for the file at the path: of the file that is there, if there is one.
    fn replaceable(&self, path: &[String]) -> Result<u32, Error> {
        let mut compound = Compound::walk(path);
        compound.attributes(&Attributes::OF_TARGET);
        let call = match self.run(&compound) {
            Err(Error::Status(status)) if status.number == Status::NO_ENTRY => return Ok(NEW_FILE),
            call => call?,
        };
        let attributes = Attributes::decode(compound.results(&call)?.results_of(GETATTR)?)?;
        match attributes.kind {
            Some(1) => Ok(attributes.mode.unwrap_or(NEW_FILE)),
            _ => Err(Error::NotAFile(attributes.kind_name())),
        }
    }

    fn rename(&self, directory: &[String], from: &str, to: &str) -> Result<(), Error> {
        let mut compound = Compound::walk(directory);
        compound.add_operation(SAVEFH, "");
        let arguments = compound.add_operation(RENAME, to);
        put_opaque(arguments, from.as_bytes());
        put_opaque(arguments, to.as_bytes());
        self.run(&compound).map(drop)
    }

    /// Removes the temporary file of a copy that failed. Returns the error to report.
    fn remove(&self, directory: &[String], name: String, error: Error) -> Error {
        let mut compound = Compound::walk(directory);
        put_opaque(compound.add_operation(REMOVE, &name), name.as_bytes());
        match self.run(&compound) {
            Ok(_) => error,
            Err(Error::Status(status)) if status.number == Status::NO_ENTRY => error,
            Err(_) => Error::NotRemoved { name, error: Box::new(error) },
        }
    }

    /// Creates a file, and copies the source into the file.
    fn write_file(&self, client: u64, path: &[String], mode: u32, source: &mut impl Read) -> Result<u64, Error> {
        let mut open = self.open(client, path, mode)?;
        let mut flights = VecDeque::new();
        let written = self.write_all(&open, source, &mut flights);
        self.abandon(&written, &mut flights);
        let closed = self.close(&mut open);
        let written = written?;
        closed.map(|()| written)
    }

    /// Introduces this client to the server (RFC 7530 section 9.1.1), and returns the client ID. The client accepts no
    /// callbacks.
    fn identify(&self) -> Result<u64, Error> {
        let random = RandomState::new().hash_one(0);
        let mut compound = Compound::default();
        let arguments = compound.add_operation(SETCLIENTID, "");
        put_u64(arguments, random);
        put_opaque(arguments, format!("nfs4-cp {} {random:016x}", process::id()).as_bytes());
        put_u32(arguments, 0);
        put_opaque(arguments, b"tcp");
        put_opaque(arguments, b"0.0.0.0.0.0");
        put_u32(arguments, 0);
        let call = self.run(&compound)?;
        let mut results = compound.results(&call)?;
        let reader = results.results_of(SETCLIENTID)?;
        let (client, verifier) = (reader.u64()?, reader.array::<8>()?);
        let mut compound = Compound::default();
        let arguments = compound.add_operation(SETCLIENTID_CONFIRM, "");
        put_u64(arguments, client);
        arguments.extend_from_slice(verifier);
        self.run(&compound)?;
        Ok(client)
    }

    fn open(&self, client: u64, path: &[String], mode: u32) -> Result<Open, Error> {
        let mut patience = Patience::new(self.patience);
        let mut sequence = 0;
        let (compound, call) = loop {
            let compound = open_compound(client, sequence, path, mode);
            match self.run(&compound) {
                Ok(call) => break (compound, call),
                Err(Error::Status(status)) if patience.is_left(&status) => {
                    if status.takes_sequence() {
                        sequence += 1;
                    }
                }
                Err(error) => return Err(error),
            }
        };
        let mut results = compound.results(&call)?;
        let opened = Opened::decode(results.results_of(OPEN)?)?;
        let handle = results.results_of(GETFH)?.opaque()?.to_vec();
        let attributes = Attributes::decode(results.results_of(GETATTR)?)?;
        let file = ServerFile { handle, attributes };
        let mut open = Open { file, state: opened.state, sequence: sequence + 1 };
        if opened.confirm {
            open.state = self.confirm(&mut open)?;
        }
        if let Some(delegation) = opened.delegation {
            let mut compound = Compound::from_handle(&open.file.handle);
            compound.add_operation(DELEGRETURN, "").extend_from_slice(&delegation.0);
            self.run(&compound)?;
        }
        Ok(open)
    }

    fn confirm(&self, open: &mut Open) -> Result<StateId, Error> {
        let state = open.state;
        self.in_sequence(open, |compound, sequence| {
            let arguments = compound.add_operation(OPEN_CONFIRM, "");
            arguments.extend_from_slice(&state.0);
            put_u32(arguments, sequence);
        })
        .and_then(|(compound, call)| Ok(StateId(*compound.results(&call)?.results_of(OPEN_CONFIRM)?.array()?)))
    }

    fn close(&self, open: &mut Open) -> Result<(), Error> {
        let state = open.state;
        self.in_sequence(open, |compound, sequence| {
            let arguments = compound.add_operation(CLOSE, "");
            put_u32(arguments, sequence);
            arguments.extend_from_slice(&state.0);
        })
        .map(drop)
    }

    /// Makes a call with the next sequence number of the file's owner, and repeats the call if the server asks for
    /// that.
    fn in_sequence(&self, open: &mut Open, add: impl Fn(&mut Compound, u32)) -> Result<(Compound, Call), Error> {
        let mut patience = Patience::new(self.patience);
        loop {
            let mut compound = Compound::from_handle(&open.file.handle);
            add(&mut compound, open.sequence);
            let outcome = self.run(&compound);
            match &outcome {
                Err(Error::Status(status)) if !status.takes_sequence() => {}
                _ => open.sequence += 1,
            }
            match outcome {
                Ok(call) => return Ok((compound, call)),
                Err(Error::Status(status)) if patience.is_left(&status) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write_all(
        &self,
        open: &Open,
        source: &mut impl Read,
        flights: &mut VecDeque<Transfer<V>>,
    ) -> Result<u64, Error> {
        let most = open.file.attributes.max_write.unwrap_or(MOST_DATA).clamp(1, MOST_DATA);
        let (mut at, mut more) = (0, true);
        let mut spare: Vec<Call> = Vec::new();
        let mut verifier = None;
        loop {
            while more && flights.len() < self.depth {
                let mut call = spare.pop().unwrap_or_else(|| self.call());
                call.message().clear();
                let mut data = call.message().buffer();
                data.clear();
                source.by_ref().take(most).read_to_end(&mut data)?;
                more = data.len() as u64 == most;
                if !data.is_empty() {
                    let transfer = self.start_write(open, at, call, data)?;
                    at += u64::from(transfer.count);
                    flights.push_back(transfer);
                }
            }
            let Some(transfer) = flights.pop_front() else { break };
            spare.push(self.end_write(open, transfer, &mut verifier)?);
        }
        if verifier.is_some() {
            let mut compound = Compound::from_handle(&open.file.handle);
            let arguments = compound.add_operation(COMMIT, "");
            // Commits the whole file.
            put_u64(arguments, 0);
            put_u32(arguments, 0);
            let call = self.run(&compound)?;
            same(&mut verifier, *compound.results(&call)?.results_of(COMMIT)?.array()?)?;
        }
        Ok(at)
    }

    fn start_write(&self, open: &Open, offset: u64, call: Call, data: Vec<u8>) -> Result<Transfer<V>, Error> {
        let count = data.len() as u32;
        let mut compound = Compound::from_handle(&open.file.handle);
        compound.write(open.state, offset, count);
        Ok(Transfer { flight: self.start_with(compound, call, data), offset, count })
    }

    /// Waits until all data is written; the server may write a part at a time.
    fn end_write(
        &self,
        open: &Open,
        mut transfer: Transfer<V>,
        verifier: &mut Option<Verifier>,
    ) -> Result<Call, Error> {
        loop {
            let compound = transfer.flight.compound.clone();
            let mut call = self.land(transfer.flight)?;
            let mut results = compound.results(&call)?;
            let reader = results.results_of(WRITE)?;
            let (at, count, _committed) = (reader.offset(), reader.u32()?, reader.u32()?);
            same(verifier, *reader.array()?)?;
            if count > transfer.count {
                return Err(Error::Results(at));
            }
            if count == transfer.count {
                return Ok(call);
            }
            if count == 0 {
                return Err(Error::NoProgress("WRITE"));
            }
            call.message().clear();
            let mut data = call.message().buffer();
            data.drain(..count as usize);
            transfer = self.start_write(open, transfer.offset + u64::from(count), call, data)?;
        }
    }
}

/// Checks that the server has not restarted.
fn same(verifier: &mut Option<Verifier>, other: Verifier) -> Result<(), Error> {
    if *verifier.get_or_insert(other) == other { Ok(()) } else { Err(Error::Restarted) }
}

/// COMPOUND that creates and opens the file at the path.
fn open_compound(client: u64, sequence: u32, path: &[String], mode: u32) -> Compound {
    const WRITE_ONLY: u32 = 2;
    const DENY_NOTHING: u32 = 0;
    const CREATE: u32 = 1;
    const GUARDED: u32 = 1;
    const CLAIM_NULL: u32 = 0;
    let (name, directory) = path.split_last().map_or(("", path), |(name, directory)| (name.as_str(), directory));
    let mut compound = Compound::walk(directory);
    let arguments = compound.add_operation(OPEN, name);
    for word in [sequence, WRITE_ONLY, DENY_NOTHING] {
        put_u32(arguments, word);
    }
    put_u64(arguments, client);
    put_opaque(arguments, b"nfs4-cp");
    put_u32(arguments, CREATE);
    put_u32(arguments, GUARDED);
    // The attributes size, 0, and mode.
    for word in [2, 1 << 4, 1 << (33 - 32), 12] {
        put_u32(arguments, word);
    }
    put_u64(arguments, 0);
    put_u32(arguments, mode & 0o777);
    put_u32(arguments, CLAIM_NULL);
    put_opaque(arguments, name.as_bytes());
    compound.add_operation(GETFH, "");
    compound.attributes(&[Attributes::OF_FILE]);
    compound
}

impl Opened {
    /// Decodes the results of OPEN (RFC 7530 section 16.16.3).
    fn decode(reader: &mut Reader<'_>) -> Result<Self, Error> {
        const CONFIRM: u32 = 2;
        const NO_DELEGATION: u32 = 0;
        const READ_DELEGATION: u32 = 1;
        const WRITE_DELEGATION: u32 = 2;
        let state = StateId(*reader.array()?);
        let _change = reader.array::<20>()?;
        let confirm = reader.u32()? & CONFIRM != 0;
        for _ in 0..reader.u32()? {
            reader.u32()?;
        }
        let at = reader.offset();
        let delegation = match reader.u32()? {
            NO_DELEGATION => None,
            kind @ (READ_DELEGATION | WRITE_DELEGATION) => {
                let (delegation, _recall) = (StateId(*reader.array()?), reader.u32()?);
                if kind == WRITE_DELEGATION {
                    let _limit = reader.array::<12>()?;
                }
                let (_entry, _who) = (reader.array::<12>()?, reader.opaque()?);
                Some(delegation)
            }
            _ => return Err(Error::Results(at)),
        };
        Ok(Self { state, confirm, delegation })
    }
}
