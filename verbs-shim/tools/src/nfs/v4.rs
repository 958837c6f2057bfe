//! COMPOUND of NFSv4.0 (RFC 7530 section 16) and NFSv4.1 (RFC 8881 section 18). A READ or WRITE may have any stateid.

use std::sync::Arc;

use rpcrdma_verbs::Stream;

use super::attributes::{Bitmap, attributes, get_attributes};
use super::backchannel::ClientConnection;
use super::clients::{InSession, MOST_OPERATIONS, Sequenced};
use super::files::check_name;
use super::open::{self, OpenOutcome, Stateid};
use super::operation::{
    Answer, BAD_COOKIE, BAD_HANDLE, BAD_XDR, CompoundReply, Done, ILLEGAL, MINOR_VERSION_MISMATCH, NO_FILE_HANDLE,
    NOT_IN_SESSION, NOT_ONLY_OPERATION, NOT_SUPPORTED, RESOURCE, SEQUENCE_POSITION, STALE, SYMBOLIC_LINK,
    TOO_MANY_OPERATIONS,
};
use super::{Failure, Folder, NO_DIRECTORY, NO_ENTRY, Node, PERMITTED};
use crate::xdr::{hyper, opaque, push, word};

pub(super) const COMPOUND: u32 = 1;

/// First operation of NFSv4.1 alone.
const FIRST_OF_V41: u32 = 40;
const BIND_CONN_TO_SESSION: u32 = 41;
const EXCHANGE_ID: u32 = 42;
const CREATE_SESSION: u32 = 43;
const DESTROY_SESSION: u32 = 44;
const SECINFO_NO_NAME: u32 = 52;
const SEQUENCE: u32 = 53;
const DESTROY_CLIENTID: u32 = 57;
const RECLAIM_COMPLETE: u32 = 58;
/// Operations of both minor versions.
const ACCESS: u32 = 3;
const CLOSE: u32 = 4;
const DELEGRETURN: u32 = 8;
const GETATTR: u32 = 9;
const OPEN: u32 = 18;
const REMOVE: u32 = 28;
const SECINFO: u32 = 33;
/// The operation by which a client of NFSv4.0 prepares to open files.
const SETCLIENTID: u32 = 35;
const WRITE: u32 = 38;

/// State shared by the operations of a COMPOUND.
struct Context<'a> {
    folder: &'a Folder,
    /// Length of the call in octets.
    length: usize,
    minor: u32,
    count: u32,
    /// Returns the connection on which the COMPOUND came.
    caller: &'a dyn Fn() -> Arc<dyn ClientConnection>,
    session: Option<InSession>,
    node: Option<Node>,
    stateid: Option<Stateid>,
}

/// Outcome of an operation.
enum OperationOutcome {
    Done(Answer),
    /// Another attempt at the last call of the session, which had this reply.
    Again(CompoundReply),
}

/// Carries out a COMPOUND, up to the operation that fails. Returns `None` for invalid arguments. `caller` returns the
/// connection of the call. `length`: length of the whole call in octets.
pub(super) fn compound(
    folder: &Folder,
    length: usize,
    mut arguments: &[u8],
    results: &mut Stream,
    caller: &dyn Fn() -> Arc<dyn ClientConnection>,
) -> Option<()> {
    let (tag, minor, count) = (opaque(&mut arguments)?, word(&mut arguments)?, word(&mut arguments)?);
    let mut context = Context { folder, length, minor, count, caller, session: None, node: None, stateid: None };
    let mut reply = CompoundReply { status: 0, tag: tag.to_vec(), done: Vec::new() };
    match minor {
        0 | 1 if count <= MOST_OPERATIONS => {
            let done = context.carry_out(arguments, &mut reply);
            if let Some(session) = context.session {
                folder.state().clients.finish(session, &reply);
            }
            done?;
        }
        0 => reply.status = RESOURCE,
        1 => reply.status = TOO_MANY_OPERATIONS,
        _ => reply.status = MINOR_VERSION_MISMATCH,
    }
    reply.push(results);
    Some(())
}

impl Context<'_> {
    /// Carries out the operations. Returns `None` if there are fewer than their count says.
    fn carry_out(&mut self, mut arguments: &[u8], reply: &mut CompoundReply) -> Option<()> {
        for _ in 0..self.count {
            let number = word(&mut arguments)?;
            if self.minor == 0 && number == SETCLIENTID && reply.done.is_empty() {
                reply.status = MINOR_VERSION_MISMATCH;
                return Some(());
            }
            let step = match self.has_room(number, reply) {
                Ok(()) => self.operation(number, reply.done.len(), &mut arguments),
                Err(failure) => Err(failure),
            };
            let (status, answer) = match step {
                Ok(OperationOutcome::Done(answer)) => (0, answer),
                Ok(OperationOutcome::Again(kept)) => {
                    *reply = kept;
                    return Some(());
                }
                Err(failure) => (failure, Answer::default()),
            };
            reply.status = status;
            reply.done.push(Done { number: if status == ILLEGAL { ILLEGAL } else { number }, status, answer });
            self.limit(reply);
            if reply.status != 0 {
                break;
            }
        }
        Some(())
    }

    /// Checks if the results of an operation that changes something will fit the reply.
    fn has_room(&self, number: u32, reply: &CompoundReply) -> Result<(), Failure> {
        /// Maximum length of the results of such an operation.
        const MOST: usize = 128;
        let changes = matches!(number, CLOSE | DELEGRETURN | OPEN | REMOVE | WRITE);
        match self.session {
            Some(session) if changes && reply.len() + MOST > session.room => Err(session.too_large()),
            _ => Ok(()),
        }
    }

    /// Makes the last operation fail if the reply is longer than the session permits.
    fn limit(&self, reply: &mut CompoundReply) {
        if let Some(session) = self.session.filter(|session| reply.len() > session.room)
            && let Some(last) = reply.done.last_mut()
        {
            (last.status, last.answer) = (session.too_large(), Answer::default());
            reply.status = last.status;
        }
    }

    /// Carries out an operation on the current file handle. `before`: number of earlier operations.
    fn operation(&mut self, number: u32, before: usize, arguments: &mut &[u8]) -> Result<OperationOutcome, Failure> {
        if self.minor == 0 {
            return self.of_any(number, arguments).map(OperationOutcome::Done);
        }
        let state = || self.folder.state();
        match (number, self.session) {
            (SEQUENCE, _) if before > 0 => Err(SEQUENCE_POSITION),
            (SEQUENCE, _) => match state().clients.sequence(arguments, self.count, self.length)? {
                Sequenced::Again(reply) => Ok(OperationOutcome::Again(reply)),
                Sequenced::New(answer, session) => {
                    self.session = Some(session);
                    Ok(OperationOutcome::Done(answer))
                }
            },
            // These need no session, and then stand alone.
            (EXCHANGE_ID | CREATE_SESSION | DESTROY_SESSION | DESTROY_CLIENTID, None) if self.count > 1 => {
                Err(NOT_ONLY_OPERATION)
            }
            (EXCHANGE_ID, _) => state().clients.exchange_id(arguments, self.caller).map(OperationOutcome::Done),
            (CREATE_SESSION, _) => state().clients.create_session(arguments, self.caller).map(OperationOutcome::Done),
            (DESTROY_SESSION, _) => state().clients.destroy_session(arguments).map(OperationOutcome::Done),
            (DESTROY_CLIENTID, _) => self.destroy_client(arguments).map(OperationOutcome::Done),
            (BIND_CONN_TO_SESSION, None) => Err(NOT_SUPPORTED),
            (3..=RECLAIM_COMPLETE, None) => Err(NOT_IN_SESSION),
            (_, None) => Err(ILLEGAL),
            (_, Some(session)) => self.of_session(number, session, arguments).map(OperationOutcome::Done),
        }
    }

    fn destroy_client(&self, arguments: &mut &[u8]) -> Result<Answer, Failure> {
        let mut state = self.folder.state();
        let super::State { files, opens, clients } = &mut *state;
        clients.destroy_client(arguments, |client| files.has_delegation(client) || opens.has_open_files(client))
    }

    /// An operation of NFSv4.1 in a session.
    fn of_session(&mut self, number: u32, session: InSession, arguments: &mut &[u8]) -> Result<Answer, Failure> {
        let (folder, current) = (self.folder, self.node.ok_or(NO_FILE_HANDLE));
        match number {
            CLOSE => open::close(folder, current?, session, self.stateid, arguments),
            DELEGRETURN => open::give_back(folder, current?, session, self.stateid, arguments),
            OPEN => {
                let OpenOutcome { file, stateid, results: answer } = open::open(folder, current?, session, arguments)?;
                (self.node, self.stateid) = (Some(file), Some(stateid));
                Ok(answer)
            }
            22 => {
                let handle = opaque(arguments).ok_or(BAD_XDR)?;
                let unknown = if Node::is_handle(handle) { STALE } else { BAD_HANDLE };
                self.go_to(folder.find_handle(handle).ok_or(unknown)?);
                Ok(Answer::default())
            }
            SECINFO => {
                look_up(folder, current?, arguments)?;
                Ok(self.security())
            }
            SECINFO_NO_NAME => match (word(arguments).ok_or(BAD_XDR)?, current?) {
                (0, _) => Ok(self.security()),
                // The parent.
                (1, Node::Root) => Err(NO_ENTRY),
                (1, _) => Err(NO_DIRECTORY),
                _ => Err(BAD_XDR),
            },
            RECLAIM_COMPLETE => folder.state().clients.reclaim_complete(session.client, arguments),
            FIRST_OF_V41..RECLAIM_COMPLETE => Err(NOT_SUPPORTED),
            _ => self.of_any(number, arguments),
        }
    }

    /// An operation of both minor versions.
    fn of_any(&mut self, number: u32, arguments: &mut &[u8]) -> Result<Answer, Failure> {
        let (folder, current) = (self.folder, self.node.ok_or(NO_FILE_HANDLE));
        match number {
            ACCESS => {
                let supported = meaningful_access(current?) & word(arguments).ok_or(BAD_XDR)?;
                // Supported, granted.
                Ok([supported, supported & PERMITTED].as_slice().into())
            }
            GETATTR => get_attributes(folder, current?, arguments),
            10 => Ok(current?.handle().as_slice().into()),
            15 if self.node == Some(Node::Link) => Err(SYMBOLIC_LINK),
            15 => {
                self.go_to(look_up(folder, current?, arguments)?);
                Ok(Answer::default())
            }
            22 => {
                self.go_to(folder.with_handle(opaque(arguments).ok_or(BAD_XDR)?));
                Ok(Answer::default())
            }
            // PUTPUBFH and PUTROOTFH.
            23 | 24 => {
                self.go_to(Node::Root);
                Ok(Answer::default())
            }
            25 => read(folder, current?, arguments),
            26 => read_directory(folder, current?, arguments),
            27 => {
                let path = folder.read_link(current?)?;
                let head: Answer = [folder.size(Node::Link)].as_slice().into();
                Ok(Answer { item: Some(path.into()), ..head })
            }
            REMOVE => open::remove(folder, current?, arguments),
            WRITE => write(folder, current?, arguments),
            4..FIRST_OF_V41 => Err(NOT_SUPPORTED),
            _ => Err(ILLEGAL),
        }
    }

    /// Results of SECINFO and SECINFO_NO_NAME, which leave no file handle: AUTH_SYS and AUTH_NONE.
    fn security(&mut self) -> Answer {
        (self.node, self.stateid) = (None, None);
        [2, 1, 0].as_slice().into()
    }

    /// Changes the current file handle; the new file has no stateid yet.
    const fn go_to(&mut self, node: Node) {
        (self.node, self.stateid) = (Some(node), None);
    }
}

/// Takes a name from the start of arguments, and returns the node with that name.
fn look_up(folder: &Folder, node: Node, arguments: &mut &[u8]) -> Result<Node, Failure> {
    let name = opaque(arguments).ok_or(BAD_XDR)?;
    check_name(name)?;
    folder.look_up(node, name)
}

/// The bits of ACCESS that mean something for a node (RFC 8881 section 18.1.3).
const fn meaningful_access(node: Node) -> u32 {
    const READ_MODIFY_EXTEND: u32 = 0x0d;
    const LOOKUP_DELETE: u32 = 0x12;
    const EXECUTE: u32 = 0x20;
    READ_MODIFY_EXTEND | if matches!(node, Node::Root) { LOOKUP_DELETE } else { EXECUTE }
}

/// Skips a stateid at the start of arguments: no file is open.
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

/// The names of a folder with the requested attributes.
fn read_directory(folder: &Folder, node: Node, arguments: &mut &[u8]) -> Result<Answer, Failure> {
    /// Octets of the results before and after the entries.
    const AROUND: usize = 8 + 8;
    let mut what = || {
        let (from, _verifier, _names, most) =
            (hyper(arguments)?, hyper(arguments)?, word(arguments)?, word(arguments)?);
        Some((from, most))
    };
    let (from, most) = what().ok_or(BAD_XDR)?;
    if matches!(from, 1 | 2) {
        return Err(BAD_COOKIE);
    }
    let requested = Bitmap::take_readable(arguments)?;
    let room = (most as usize).saturating_sub(AROUND);
    // 1 and 2 are not used as cookies.
    let (page, is_all) = folder
        .list(node, from.saturating_sub(2), room, |entry, cookie| (cookie + 2, attributes(folder, entry, requested)))?;
    let mut results: Answer = [0, 0].as_slice().into();
    results.head.push(page.head());
    push(&mut results.head, &[0, is_all.into()]);
    Ok(results)
}

/// Writes to stable storage: as stable as the folder.
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
        compound(&folder, 40 + arguments.len(), &arguments, &mut stream, &|| {
            panic!("minor version 0 needs no connection")
        })?;
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
        assert_eq!(words(0, 2, &[24, 5, 0]).unwrap(), [10_004, 0, 2, 24, 0, 5, 10_004]);
        assert_eq!(words(0, 1, &[35, 0, 0]).unwrap(), [10_021, 0, 0]);
        assert_eq!(words(0, 1, &[99]).unwrap(), [10_044, 0, 1, 10_044, 10_044]);
        assert_eq!(words(0, 2, &[24, 15, 400]).unwrap(), [10_036, 0, 2, 24, 0, 15, 10_036]);
        assert_eq!(words(2, 1, &[24]).unwrap(), [10_021, 0, 0]);
    }

    #[test]
    fn a_name_is_checked_before_it_is_looked_up() {
        let link = u32::from_be_bytes(*b"link");
        assert_eq!(words(0, 2, &[24, 15, 0]).unwrap(), [22, 0, 2, 24, 0, 15, 22]);
        let long = [&[24, 15, 256][..], &[0x6161_6161; 64]].concat();
        assert_eq!(words(0, 2, &long).unwrap()[0], 63);
        assert_eq!(words(0, 2, &[24, 15, 1, 0xff00_0000]).unwrap()[0], 22, "not UTF-8");
        assert_eq!(words(0, 3, &[24, 15, 4, link, 15, 4, FILE]).unwrap(), [10_029, 0, 3, 24, 0, 15, 0, 15, 10_029]);
    }

    #[test]
    fn access_that_means_nothing_for_a_node_is_not_supported() {
        assert_eq!(words(0, 2, &[24, 3, u32::MAX]).unwrap()[5..], [3, 0, 0x1f, 0x03]);
        assert_eq!(words(0, 3, &[24, 15, 4, FILE, 3, u32::MAX]).unwrap()[7..], [3, 0, 0x2d, 0x21]);
        assert_eq!(words(0, 2, &[24, 3, 1]).unwrap()[5..], [3, 0, 1, 1], "no more than was asked for");
    }

    #[test]
    fn listings_have_valid_cookies_and_readable_attributes() {
        let list = |cookie, attributes: &[u32]| {
            let arguments = [&[24, 26, 0, cookie, 0, 0, 512, 512], attributes].concat();
            words(0, 2, &arguments).unwrap()[0]
        };
        assert_eq!([0, 1, 2, 3].map(|cookie| list(cookie, &[0])), [0, 10_003, 10_003, 0]);
        for number in [48, 54] {
            assert_eq!(list(0, &[2, 0, 1 << (number - 32)]), 22, "{number}");
        }
    }

    #[test]
    fn the_number_of_operations_is_bounded() {
        assert_eq!(words(0, 16, &[24; 16]).unwrap().len(), 3 + 2 * 16);
        assert_eq!(words(0, 17, &[24; 17]).unwrap(), [10_018, 0, 0]);
        assert_eq!(words(1, 17, &[24; 17]).unwrap(), [10_070, 0, 0]);
        assert_eq!(words(0, 3, &[24]), None);
    }
}
