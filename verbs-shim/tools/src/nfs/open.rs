//! OPEN, CLOSE and DELEGRETURN of NFSv4.1, and REMOVE, which recalls (RFC 8881 sections 18.16, 18.2, 18.6 and 18.25).
//!
//! Nobody can deny access to others, so an open file is kept as a stateid only.

use std::sync::Arc;

use super::clients::InSession;
use super::files::Delegation;
use super::operation::{
    ACCESS_DENIED, ATTRIBUTE_NOT_SUPPORTED, Answer, BAD_STATEID, BAD_XDR, DELAY, EXISTS, GRACE, NO_GRACE, NO_SPACE,
    NOT_SUPPORTED, OLD_STATEID, SYMBOLIC_LINK,
};
use super::{Failure, Folder, INVALID, IS_DIRECTORY, NO_DIRECTORY, NO_ENTRY, Node, State};
use crate::xdr::{hyper, opaque, word};

/// Second word of a stateid: a delegation, or the number of an open file with this bit set.
const OF_DELEGATION: u32 = 2;
const OF_OPEN: u32 = 1 << 31;
/// Maximum number of open files.
const MOST_OPENS: usize = 256;
/// Maximum length of an owner: `NFS4_OPAQUE_LIMIT`.
const MOST_OF_OWNER: usize = 1024;

const READ: u32 = 1;
const WRITE: u32 = 2;

/// A stateid: sequence number, kind, number of the file, and number of the client.
pub(super) type Stateid = [u32; 4];

/// The current stateid, set by earlier operations (RFC 8881 section 16.2.3.1.2).
const CURRENT: Stateid = [1, 0, 0, 0];

const fn stateid(of: u32, node: Node, client: u64) -> Stateid {
    [1, of, node.number(), client as u32]
}

/// Decodes a stateid at the start of arguments, which may be the current one.
fn take_stateid(arguments: &mut &[u8], current: Option<Stateid>) -> Result<Stateid, Failure> {
    let mut words = || Some([word(arguments)?, word(arguments)?, word(arguments)?, word(arguments)?]);
    match words().ok_or(BAD_XDR)? {
        CURRENT => current.ok_or(BAD_STATEID),
        given => Ok(given),
    }
}

/// Checks that a given stateid is a known one. The sequence number may be 0 for the latest (RFC 8881 section 8.2.2).
fn check([sequence, given @ ..]: Stateid, [latest, known @ ..]: Stateid) -> Result<(), Failure> {
    match sequence {
        _ if given != known => Err(BAD_STATEID),
        0 => Ok(()),
        _ if sequence == latest => Ok(()),
        _ if sequence < latest => Err(OLD_STATEID),
        _ => Err(BAD_STATEID),
    }
}

/// Open files. Each OPEN by the same owner of the same file returns the previous stateid with the next sequence number
/// (RFC 8881 section 9.9), because clients order OPENs by that number.
#[derive(Debug, Default)]
pub(super) struct Opens {
    opens: Vec<OpenFile>,
    /// Number of the last one.
    last: u32,
}

#[derive(Debug)]
struct OpenFile {
    stateid: Stateid,
    node: Node,
    client: u64,
    owner: Vec<u8>,
}

impl Opens {
    /// Returns the stateid of another OPEN.
    fn open(&mut self, node: Node, client: u64, owner: &[u8]) -> Result<Stateid, Failure> {
        let is_it = |open: &&mut OpenFile| (open.node, open.client, open.owner.as_slice()) == (node, client, owner);
        if let Some(OpenFile { stateid, .. }) = self.opens.iter_mut().find(is_it) {
            let [sequence, ..] = stateid;
            *sequence = sequence.checked_add(1).unwrap_or(1);
            return Ok(*stateid);
        }
        if self.opens.len() >= MOST_OPENS {
            return Err(NO_SPACE);
        }
        self.last = self.last.wrapping_add(1);
        let stateid = stateid(OF_OPEN | self.last, node, client);
        self.opens.push(OpenFile { stateid, node, client, owner: owner.to_vec() });
        Ok(stateid)
    }

    /// Forgets an open file.
    fn close(&mut self, given: Stateid, node: Node, client: u64) -> Result<(), Failure> {
        let [_, of, ..] = given;
        let is_it = |open: &OpenFile| (open.node, open.client, open.stateid[1]) == (node, client, of);
        let index = self.opens.iter().position(is_it).ok_or(BAD_STATEID)?;
        check(given, self.opens.get(index).ok_or(BAD_STATEID)?.stateid)?;
        self.opens.remove(index);
        Ok(())
    }

    pub(super) fn has_open_files(&self, client: u64) -> bool {
        self.opens.iter().any(|open| open.client == client)
    }

    /// Closes the files of other clients.
    pub(super) fn retain_clients(&mut self, is_known: impl Fn(u64) -> bool) {
        self.opens.retain(|open| is_known(open.client));
    }
}

/// Arguments of OPEN.
struct OpenArguments<'a> {
    access: u32,
    /// Flags about the wanted delegation.
    wants: u32,
    create: Create,
    owner: &'a [u8],
    claim: Claim<'a>,
}

/// `open_claim4`.
#[derive(Clone, Copy)]
enum Claim<'a> {
    /// The file with this name in the current folder.
    Name(&'a [u8]),
    /// The current file.
    Current,
}

/// `openflag4`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Create {
    No,
    /// The file may exist.
    Unchecked,
    /// The file must not exist.
    Guarded,
}

/// Decodes the arguments of OPEN.
fn opening<'a>(arguments: &mut &'a [u8]) -> Result<OpenArguments<'a>, Failure> {
    let mut share = || {
        let (_sequence, access, deny) = (word(arguments)?, word(arguments)?, word(arguments)?);
        // The session identifies the client.
        let (_client, owner) = (hyper(arguments)?, opaque(arguments).filter(|owner| owner.len() <= MOST_OF_OWNER)?);
        Some((access, deny, owner, word(arguments)?))
    };
    let (access, deny, owner, creates) = share().ok_or(BAD_XDR)?;
    let create = match creates {
        0 => Create::No,
        1 => created(arguments)?,
        _ => return Err(BAD_XDR),
    };
    let claim = match word(arguments).ok_or(BAD_XDR)? {
        0 => Claim::Name(opaque(arguments).ok_or(BAD_XDR)?),
        // CLAIM_PREVIOUS: no state survives this server.
        1 => return Err(NO_GRACE),
        4 if create == Create::No => Claim::Current,
        4 => return Err(INVALID),
        _ => return Err(NOT_SUPPORTED),
    };
    let (access, wants) = (access & 0xff, access & !0xff);
    if !(READ..=READ | WRITE).contains(&access) || deny > READ | WRITE {
        return Err(INVALID);
    }
    if deny != 0 { Err(NOT_SUPPORTED) } else { Ok(OpenArguments { access, wants, create, owner, claim }) }
}

/// Decodes `createhow4`. Files have mode 0644, and no other attribute can be set.
fn created(arguments: &mut &[u8]) -> Result<Create, Failure> {
    const MODE: [&[u8]; 2] = [&[0, 0, 0, 0, 0, 0, 0, 2], &[0, 0, 1, 0o244]];
    let create = match word(arguments).ok_or(BAD_XDR)? {
        0 => Create::Unchecked,
        1 => Create::Guarded,
        2 | 3 => return Err(NOT_SUPPORTED),
        _ => return Err(BAD_XDR),
    };
    let mut attributes = || {
        let length = (word(arguments)? as usize).checked_mul(4)?;
        let (which, rest) = arguments.split_at_checked(length)?;
        *arguments = rest;
        Some([which, opaque(arguments)?])
    };
    match attributes().ok_or(BAD_XDR)? {
        MODE => Ok(create),
        [which, []] if which.iter().all(|&octet| octet == 0) => Ok(create),
        _ => Err(ATTRIBUTE_NOT_SUPPORTED),
    }
}

/// Outcome of OPEN.
pub(super) struct OpenOutcome {
    pub(super) file: Node,
    pub(super) stateid: Stateid,
    pub(super) results: Answer,
}

/// A file with a name.
struct FoundFile {
    node: Node,
    is_new: bool,
}

/// Carries out OPEN.
pub(super) fn open(
    folder: &Folder,
    node: Node,
    session: InSession,
    arguments: &mut &[u8],
) -> Result<OpenOutcome, Failure> {
    let opening = opening(arguments)?;
    let mut state = folder.state();
    if !state.clients.is_complete(session.client) {
        return Err(GRACE);
    }
    let before = state.files.changes();
    let FoundFile { node: file, is_new } = match opening.claim {
        Claim::Current => FoundFile { node, is_new: false },
        Claim::Name(_) if node != Node::Root => return Err(NO_DIRECTORY),
        Claim::Name(name) => find_or_create(&mut state, &opening, name)?,
    };
    match file {
        Node::Scratch => {}
        Node::Link => return Err(SYMBOLIC_LINK),
        Node::Root => return Err(IS_DIRECTORY),
        Node::File | Node::Created(_) if opening.access & WRITE != 0 => return Err(ACCESS_DENIED),
        Node::File | Node::Created(_) => {}
    }
    let stateid = state.opens.open(file, session.client, opening.owner)?;
    let changes = [before, state.files.changes()].map(|changes| [(changes >> 32) as u32, changes as u32]).concat();
    // The mode was set.
    let attributes: &[u32] = if is_new { &[2, 0, 2] } else { &[0] };
    let delegation = delegate(&mut state, file, &opening, session.client);
    let results = [&stateid[..], &[1], &changes, &[0], attributes, &delegation].concat();
    Ok(OpenOutcome { file, stateid, results: results.as_slice().into() })
}

/// Returns the file with a name, which may be new.
fn find_or_create(state: &mut State, opening: &OpenArguments<'_>, name: &[u8]) -> Result<FoundFile, Failure> {
    let always = Node::ALWAYS.iter().find(|(_, other)| *other == name).map(|(node, _)| *node);
    match (always.or_else(|| state.files.find(name)), opening.create) {
        (Some(_), Create::Guarded) => Err(EXISTS),
        (Some(file), Create::No | Create::Unchecked) => Ok(FoundFile { node: file, is_new: false }),
        (None, Create::No) => Err(NO_ENTRY),
        // Nothing can be written to it.
        (None, _) if opening.access & WRITE != 0 => Err(ACCESS_DENIED),
        (None, _) => state.files.create(name).map(|node| FoundFile { node, is_new: true }),
    }
}

/// Delegates a new file, if not delegated yet and the client can be called back: `open_delegation4`.
fn delegate(state: &mut State, file: Node, opening: &OpenArguments<'_>, client: u64) -> Vec<u32> {
    const NONE: &[u32] = &[0];
    const FOR_READING: &[u32] = &[1];
    /// No delegation: none was wanted, or there is no means, and no later notification will follow.
    const NOT_WANTED: &[u32] = &[3, 0];
    const NO_MEANS: &[u32] = &[3, 2, 0];
    /// Mask of the flags about the wanted delegation.
    const WANTS: u32 = 0xff00;
    const WANTS_NONE: u32 = 0x400;
    let wants = opening.wants & WANTS;
    if wants == WANTS_NONE {
        return NOT_WANTED.to_vec();
    }
    let can_call = state.clients.backchannel(client).is_some();
    match state.files.delegation(file) {
        Some(delegation @ None) if can_call && opening.access == READ => {
            *delegation = Some(Delegation { client, is_recalled: Arc::default() });
            // It is not recalled, and its ACE permits nothing by itself.
            [FOR_READING, &stateid(OF_DELEGATION, file, client), &[0], &[0, 0, 0, 0]].concat()
        }
        _ if wants == 0 => NONE.to_vec(),
        _ => NO_MEANS.to_vec(),
    }
}

/// CLOSE: the returned stateid is invalid.
pub(super) fn close(
    folder: &Folder,
    node: Node,
    session: InSession,
    current: Option<Stateid>,
    arguments: &mut &[u8],
) -> Result<Answer, Failure> {
    let _sequence = word(arguments).ok_or(BAD_XDR)?;
    let given = take_stateid(arguments, current)?;
    folder.state().opens.close(given, node, session.client)?;
    Ok([u32::MAX, 0, 0, 0].as_slice().into())
}

/// DELEGRETURN: returns a delegation.
pub(super) fn give_back(
    folder: &Folder,
    node: Node,
    session: InSession,
    current: Option<Stateid>,
    arguments: &mut &[u8],
) -> Result<Answer, Failure> {
    let given = take_stateid(arguments, current)?;
    let mut state = folder.state();
    let delegation = state.files.delegation(node).ok_or(BAD_STATEID)?;
    let is_its = |delegation: &mut Delegation| delegation.client == session.client;
    check(given, stateid(OF_DELEGATION, node, session.client))?;
    delegation.take_if(is_its).map(|_| Answer::default()).ok_or(BAD_STATEID)
}

/// REMOVE from the root. A delegated file is recalled, and stays until the delegation is returned, or the client is
/// gone.
pub(super) fn remove(folder: &Folder, node: Node, arguments: &mut &[u8]) -> Result<Answer, Failure> {
    let name = opaque(arguments).ok_or(BAD_XDR)?;
    if folder.look_up(node, name).is_ok_and(|node| !matches!(node, Node::Created(_))) {
        return Err(ACCESS_DENIED);
    }
    let mut state = folder.state();
    let State { files, clients, .. } = &mut *state;
    let file = files.find(name).filter(|_| node == Node::Root).ok_or(NO_ENTRY)?;
    if let Some(Some(delegation)) = files.delegation(file) {
        if let Some(backchannel) = clients.backchannel(delegation.client) {
            backchannel.recall(stateid(OF_DELEGATION, file, delegation.client), file.handle(), &delegation.is_recalled);
        }
        return Err(DELAY);
    }
    let before = files.changes();
    files.remove(file);
    let changes = [before, files.changes()].map(|changes| [(changes >> 32) as u32, changes as u32]).concat();
    Ok([&[1], changes.as_slice()].concat().as_slice().into())
}
