//! The clients of NFSv4.1 and their sessions (RFC 8881 sections 18.35 to 18.37, 18.46, 18.50 and 18.51).
//!
//! There is no lease: a session ends with the connection on which the session was created, and a client with the last
//! session and the connection of EXCHANGE_ID. Other connections may use the session until then. A session has one slot.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rpcrdma::rpc::AuthSys;

use super::backchannel::{Backchannel, ClientConnection, Credentials, Threads};
use super::operation::{
    Answer, BAD_HIGH_SLOT, BAD_SESSION, BAD_SLOT, BAD_XDR, CALL_TOO_LARGE, CLIENT_BUSY, COMPLETE_ALREADY,
    CompoundReply, DELAY, NO_SPACE, NOT_SAME, REPLY_NOT_KEPT, REPLY_TOO_LARGE, REPLY_TOO_LARGE_TO_KEEP,
    SEQUENCE_MISORDERED, STALE_CLIENT, TOO_MANY_OPERATIONS,
};
use super::{Failure, INVALID, NO_ENTRY, TOO_SMALL};
use crate::xdr::{hyper, opaque, word};

/// Maximum number of clients, and of all sessions.
pub(super) const MOST_CLIENTS: usize = 64;
pub(super) const MOST_SESSIONS: usize = 64;
/// Maximum number of operations in a COMPOUND, so that a short call cannot ask for unlimited results.
pub(super) const MOST_OPERATIONS: u32 = 16;
/// Maximum length of a reply that is kept for another attempt at the call.
const MOST_KEPT: u32 = 4096;
/// Maximum length of a call, and of a reply: a READ or WRITE of all of `scratch`.
const MOST_OF_MESSAGE: u32 = super::MAX_SCRATCH as u32 + 4096;
/// Maximum length of a client's owner string.
const MOST_OF_OWNER: usize = 1024;
/// Minimum for the maximum lengths of calls and replies: callbacks need no more.
const FEWEST_OF_MESSAGE: u32 = 512;

/// The flag of CREATE_SESSION for a backchannel.
const CALLS_BACK: u32 = 2;

/// All clients and sessions.
#[derive(Debug)]
pub(super) struct KnownClients {
    /// Start time of the server, to recognise numbers of another instance.
    started: u64,
    /// The last number used.
    last: u32,
    clients: Vec<KnownClient>,
    sessions: Vec<NfsSession>,
    /// Threads that call clients back.
    threads: Threads,
}

#[derive(Debug)]
struct KnownClient {
    id: u64,
    owner: Vec<u8>,
    verifier: u64,
    /// The connection of EXCHANGE_ID.
    caller: Arc<dyn ClientConnection>,
    stage: ClientStage,
    /// The sequence number of the next CREATE_SESSION.
    sequence: u32,
    /// The results of the last CREATE_SESSION.
    created: Option<Answer>,
}

/// Stage of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ClientStage {
    Unconfirmed,
    /// The client has created a session.
    Confirmed,
    /// The client has reported that no more state will be reclaimed.
    Complete,
}

#[derive(Debug)]
struct NfsSession {
    id: [u32; 4],
    client: u64,
    caller: Arc<dyn ClientConnection>,
    backchannel: Option<Arc<Backchannel>>,
    /// Maximum length of a call, number of operations, length of a reply, and length of a cached reply.
    longest_call: usize,
    operations: u32,
    room: usize,
    room_to_keep: usize,
    sequence: u32,
    slot: Slot,
}

/// The last call of a session.
#[derive(Debug)]
enum Slot {
    Unused,
    /// The call is being carried out.
    Busy,
    Kept(CompoundReply),
}

/// Outcome of a SEQUENCE.
#[derive(Debug)]
pub(super) enum Sequenced {
    /// A COMPOUND of this session.
    New(Answer, InSession),
    /// No COMPOUND: another attempt at the last call.
    Again(CompoundReply),
}

/// The session of a COMPOUND.
#[derive(Clone, Copy, Debug)]
pub(super) struct InSession {
    pub(super) id: [u32; 4],
    pub(super) client: u64,
    /// Maximum length of the reply, and true if that is because the reply is to be kept.
    pub(super) room: usize,
    pub(super) is_to_keep: bool,
}

impl InSession {
    /// Returns the error for a longer reply.
    pub(super) const fn too_large(self) -> Failure {
        if self.is_to_keep { REPLY_TOO_LARGE_TO_KEEP } else { REPLY_TOO_LARGE }
    }
}

impl Default for KnownClients {
    fn default() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        Self { started, last: 0, clients: Vec::new(), sessions: Vec::new(), threads: Threads::default() }
    }
}

/// A hyper integer as words.
const fn halves(hyper: u64) -> [u32; 2] {
    [(hyper >> 32) as u32, hyper as u32]
}

/// Takes words from the start of arguments.
fn words<const N: usize>(arguments: &mut &[u8]) -> Option<[u32; N]> {
    let mut words = [0; N];
    for each in &mut words {
        *each = word(arguments)?;
    }
    Some(words)
}

/// Arguments of EXCHANGE_ID.
struct ExchangeId<'a> {
    verifier: u64,
    owner: &'a [u8],
    flags: u32,
    is_protected: bool,
}

/// Decodes `client_owner4` and `state_protect4_a`, and skips `nfs_impl_id4`.
fn exchange_id<'a>(arguments: &mut &'a [u8]) -> Option<ExchangeId<'a>> {
    let (verifier, owner) = (hyper(arguments)?, opaque(arguments).filter(|owner| owner.len() <= MOST_OF_OWNER)?);
    let [flags, protection] = words(arguments)?;
    if protection == 0 {
        match word(arguments)? {
            0 => {}
            1 => {
                let (_domain, _name, _date) = (opaque(arguments)?, opaque(arguments)?, words::<3>(arguments)?);
            }
            _ => return None,
        }
    }
    Some(ExchangeId { verifier, owner, flags, is_protected: protection != 0 })
}

/// `channel_attrs4` without header padding and RDMA Reads.
#[derive(Clone, Copy, Debug)]
struct ChannelLimits {
    request: u32,
    response: u32,
    kept: u32,
    operations: u32,
    requests: u32,
}

impl ChannelLimits {
    fn decode(arguments: &mut &[u8]) -> Option<Self> {
        let [_padding, request, response, kept, operations, requests, reads] = words(arguments)?;
        match reads {
            0 => {}
            1 => drop(word(arguments)?),
            _ => return None,
        }
        Some(Self { request, response, kept, operations, requests })
    }

    /// The attributes as used: one slot.
    fn used(self) -> Self {
        Self {
            request: self.request.min(MOST_OF_MESSAGE),
            response: self.response.min(MOST_OF_MESSAGE),
            kept: self.kept.min(MOST_KEPT),
            operations: self.operations.min(MOST_OPERATIONS),
            requests: self.requests.min(1),
        }
    }

    /// Returns true if calls may have this many operations.
    fn can_have(self, operations: u32) -> bool {
        self.operations >= operations && self.requests > 0 && self.request.min(self.response) >= FEWEST_OF_MESSAGE
    }

    const fn words(self) -> [u32; 7] {
        [0, self.request, self.response, self.kept, self.operations, self.requests, 0]
    }
}

/// Decodes `csa_sec_parms`: the first that can be used.
fn credentials(arguments: &mut &[u8]) -> Option<Option<Credentials>> {
    let mut usable = None;
    for _ in 0..word(arguments)? {
        let one = match word(arguments)? {
            0 => Some(Credentials::None),
            1 => {
                let before = *arguments;
                let (_stamp, _machine, _ids) = (word(arguments)?, opaque(arguments)?, words::<2>(arguments)?);
                for _ in 0..word(arguments)? {
                    word(arguments)?;
                }
                let body = before.get(..before.len() - arguments.len());
                // A body that is too long is no AUTH_SYS.
                body.filter(|body| AuthSys::decode(body).is_ok()).map(|body| Credentials::Sys(body.to_vec()))
            }
            6 => {
                let (_service, _ours, _theirs) = (word(arguments)?, opaque(arguments)?, opaque(arguments)?);
                None
            }
            _ => return None,
        };
        usable = usable.or(one);
    }
    Some(usable)
}

/// Arguments of CREATE_SESSION.
#[derive(Debug)]
struct NewSession {
    client: u64,
    sequence: u32,
    flags: u32,
    fore: ChannelLimits,
    back: ChannelLimits,
    program: u32,
    /// Credentials of callbacks. `None` without callbacks.
    credentials: Option<Credentials>,
}

impl NewSession {
    fn decode(arguments: &mut &[u8]) -> Option<Self> {
        let (client, [sequence, flags]) = (hyper(arguments)?, words(arguments)?);
        let (fore, back) = (ChannelLimits::decode(arguments)?.used(), ChannelLimits::decode(arguments)?.used());
        let (program, credentials) = (word(arguments)?, credentials(arguments)?);
        let credentials = credentials.filter(|_| flags & CALLS_BACK != 0);
        Some(Self { client, sequence, flags, fore, back, program, credentials })
    }

    /// Checks if such a session is possible.
    fn check(&self) -> Result<(), Failure> {
        /// All flags.
        const KNOWN: u32 = 7;
        let calls_back = self.flags & CALLS_BACK != 0;
        match self {
            _ if self.flags & !KNOWN != 0 => Err(INVALID),
            _ if !self.fore.can_have(1) => Err(TOO_SMALL),
            // CB_SEQUENCE, and another operation.
            _ if calls_back && !self.back.can_have(2) => Err(TOO_SMALL),
            _ => Ok(()),
        }
    }
}

impl KnownClients {
    /// Removes clients and sessions whose connections have ended.
    pub(super) fn forget_gone(&mut self) {
        self.sessions.retain(|session| !session.caller.is_over());
        let sessions = &self.sessions;
        self.clients
            .retain(|client| sessions.iter().any(|session| session.client == client.id) || !client.caller.is_over());
    }

    pub(super) fn is_known(&self, client: u64) -> bool {
        self.clients.iter().any(|known| known.id == client)
    }

    /// Returns true if a client may open files.
    pub(super) fn is_complete(&self, client: u64) -> bool {
        self.clients.iter().any(|known| known.id == client && known.stage == ClientStage::Complete)
    }

    /// Returns a backchannel on which a client can be called.
    pub(super) fn backchannel(&self, client: u64) -> Option<&Arc<Backchannel>> {
        self.backchannels(client).find(|backchannel| !backchannel.is_down())
    }

    fn backchannels(&self, client: u64) -> impl Iterator<Item = &Arc<Backchannel>> {
        let sessions = self.sessions.iter().filter(move |session| session.client == client);
        sessions.filter_map(|session| session.backchannel.as_ref())
    }

    /// Returns a number that was not used before, also not by an instance that started at another time.
    fn next_number(&mut self) -> u64 {
        self.last = self.last.wrapping_add(1);
        // Units of about a second.
        (self.started >> 30) << 32 | u64::from(self.last)
    }

    /// EXCHANGE_ID (RFC 8881 section 18.35.4).
    pub(super) fn exchange_id(
        &mut self,
        arguments: &mut &[u8],
        caller: &dyn Fn() -> Arc<dyn ClientConnection>,
    ) -> Result<Answer, Failure> {
        /// All flags that a client may set.
        const KNOWN: u32 = UPDATE | 0x7_0103;
        const UPDATE: u32 = 0x4000_0000;
        let ExchangeId { verifier, owner, flags, is_protected } = exchange_id(arguments).ok_or(BAD_XDR)?;
        if is_protected || flags & !KNOWN != 0 {
            return Err(INVALID);
        }
        let is_confirmed = |client: &&mut KnownClient| client.owner == owner && client.stage > ClientStage::Unconfirmed;
        match self.clients.iter_mut().find(is_confirmed) {
            Some(client) if client.verifier == verifier => {
                client.caller = caller();
                return Ok(identified(client, self.started));
            }
            Some(_) if flags & UPDATE != 0 => return Err(NOT_SAME),
            None if flags & UPDATE != 0 => return Err(NO_ENTRY),
            // It has restarted, which takes effect when the new client is confirmed.
            _ => {}
        }
        self.clients.retain(|client| client.owner != owner || client.stage > ClientStage::Unconfirmed);
        if self.clients.len() >= MOST_CLIENTS {
            let unconfirmed = self.clients.iter().position(|client| client.stage == ClientStage::Unconfirmed);
            self.clients.remove(unconfirmed.ok_or(DELAY)?);
        }
        let id = self.next_number();
        let (stage, caller) = (ClientStage::Unconfirmed, caller());
        let client = KnownClient { id, owner: owner.to_vec(), verifier, caller, stage, sequence: 1, created: None };
        let answer = identified(&client, self.started);
        self.clients.push(client);
        Ok(answer)
    }

    /// CREATE_SESSION (RFC 8881 section 18.36.4).
    pub(super) fn create_session(
        &mut self,
        arguments: &mut &[u8],
        caller: &dyn Fn() -> Arc<dyn ClientConnection>,
    ) -> Result<Answer, Failure> {
        let wanted = NewSession::decode(arguments).ok_or(BAD_XDR)?;
        let id = wanted.client;
        let client = self.clients.iter().find(|client| client.id == id).ok_or(STALE_CLIENT)?;
        if client.sequence.wrapping_sub(1) == wanted.sequence
            && let Some(created) = &client.created
        {
            return Ok(created.clone());
        }
        if client.sequence != wanted.sequence {
            return Err(SEQUENCE_MISORDERED);
        }
        wanted.check()?;
        if self.sessions.len() >= MOST_SESSIONS {
            return Err(NO_SPACE);
        }
        let [high, low] = halves(self.next_number());
        let (session, caller) = ([high, low, 0, 0], caller());
        let NewSession { sequence, fore, back, program, .. } = wanted;
        let backchannel = wanted.credentials.map(|credentials| {
            Arc::new(Backchannel::new(session, program, credentials, Arc::clone(&caller), &self.threads))
        });
        let flags = if backchannel.is_some() { CALLS_BACK } else { 0 };
        let head = [&session[..], &[sequence, flags], &fore.words(), &back.words()].concat();
        let answer = Answer::from(head.as_slice());
        self.confirm(id, &answer);
        self.sessions.push(NfsSession {
            id: session,
            client: id,
            caller,
            backchannel,
            longest_call: fore.request as usize,
            operations: fore.operations,
            room: fore.response as usize,
            room_to_keep: fore.kept as usize,
            sequence: 0,
            slot: Slot::Unused,
        });
        Ok(answer)
    }

    /// A client has created a session: removes the client's state from before a restart.
    fn confirm(&mut self, id: u64, created: &Answer) {
        let Some(client) = self.clients.iter_mut().find(|client| client.id == id) else { return };
        client.stage = client.stage.max(ClientStage::Confirmed);
        client.sequence = client.sequence.wrapping_add(1);
        client.created = Some(created.clone());
        let owner = client.owner.clone();
        self.clients.retain(|client| client.id == id || client.owner != owner);
        let clients = &self.clients;
        self.sessions.retain(|session| clients.iter().any(|client| client.id == session.client));
    }

    /// SEQUENCE (RFC 8881 section 18.46), of a COMPOUND with `count` operations whose call has `length` octets.
    pub(super) fn sequence(&mut self, arguments: &mut &[u8], count: u32, length: usize) -> Result<Sequenced, Failure> {
        let [a, b, c, d, sequence, slot, highest, keeps] = words(arguments).ok_or(BAD_XDR)?;
        let id = [a, b, c, d];
        let index = self.sessions.iter().position(|session| session.id == id).ok_or(BAD_SESSION)?;
        let flags = self.path_flags(index);
        let session = self.sessions.get_mut(index).ok_or(BAD_SESSION)?;
        match (slot, highest) {
            (0, 0) => {}
            (0, _) => return Err(BAD_HIGH_SLOT),
            _ => return Err(BAD_SLOT),
        }
        if sequence == session.sequence {
            return match &session.slot {
                Slot::Unused => Err(SEQUENCE_MISORDERED),
                Slot::Busy => Err(DELAY),
                Slot::Kept(reply) => Ok(Sequenced::Again(reply.clone())),
            };
        }
        if sequence != session.sequence.wrapping_add(1) {
            return Err(SEQUENCE_MISORDERED);
        }
        if length > session.longest_call {
            return Err(CALL_TOO_LARGE);
        }
        if count > session.operations {
            return Err(TOO_MANY_OPERATIONS);
        }
        (session.sequence, session.slot) = (sequence, Slot::Busy);
        let is_to_keep = keeps != 0 && session.room_to_keep < session.room;
        let room = if is_to_keep { session.room_to_keep } else { session.room };
        let answer = Answer::from([a, b, c, d, sequence, 0, 0, 0, flags].as_slice());
        Ok(Sequenced::New(answer, InSession { id, client: session.client, room, is_to_keep }))
    }

    /// `sr_status_flags`: set if the client asked for callbacks and cannot be called back.
    fn path_flags(&self, index: usize) -> u32 {
        const OF_CLIENT: u32 = 0x1;
        const OF_SESSION: u32 = 0x200;
        let Some(session) = self.sessions.get(index) else { return 0 };
        if !session.backchannel.as_ref().is_some_and(|backchannel| backchannel.is_down()) {
            return 0;
        }
        if self.backchannel(session.client).is_some() { OF_SESSION } else { OF_SESSION | OF_CLIENT }
    }

    /// Records that a COMPOUND of a session was carried out.
    pub(super) fn finish(&mut self, session: InSession, reply: &CompoundReply) {
        let Some(session) = self.sessions.iter_mut().find(|other| other.id == session.id) else { return };
        session.slot = Slot::Kept(if reply.len() <= MOST_KEPT as usize { reply.clone() } else { not_kept(reply) });
    }

    /// DESTROY_SESSION.
    pub(super) fn destroy_session(&mut self, arguments: &mut &[u8]) -> Result<Answer, Failure> {
        let id: [u32; 4] = words(arguments).ok_or(BAD_XDR)?;
        let index = self.sessions.iter().position(|session| session.id == id).ok_or(BAD_SESSION)?;
        let session = self.sessions.remove(index);
        session.backchannel.iter().for_each(|backchannel| backchannel.end_backchannel());
        Ok(Answer::default())
    }

    /// DESTROY_CLIENTID, which is valid only for a client without sessions and delegations.
    pub(super) fn destroy_client(
        &mut self,
        arguments: &mut &[u8],
        has_delegations: impl Fn(u64) -> bool,
    ) -> Result<Answer, Failure> {
        let id = hyper(arguments).ok_or(BAD_XDR)?;
        let index = self.clients.iter().position(|client| client.id == id).ok_or(STALE_CLIENT)?;
        if has_delegations(id) || self.sessions.iter().any(|session| session.client == id) {
            return Err(CLIENT_BUSY);
        }
        self.clients.remove(index);
        Ok(Answer::default())
    }

    /// RECLAIM_COMPLETE: there is nothing to reclaim.
    pub(super) fn reclaim_complete(&mut self, client: u64, arguments: &mut &[u8]) -> Result<Answer, Failure> {
        let is_one_file_system = word(arguments).ok_or(BAD_XDR)? != 0;
        let client = self.clients.iter_mut().find(|known| known.id == client).ok_or(STALE_CLIENT)?;
        match (is_one_file_system, client.stage) {
            (true, _) => {}
            (false, ClientStage::Complete) => return Err(COMPLETE_ALREADY),
            (false, _) => client.stage = ClientStage::Complete,
        }
        Ok(Answer::default())
    }
}

/// The results of EXCHANGE_ID.
fn identified(client: &KnownClient, started: u64) -> Answer {
    const NOT_PNFS: u32 = 0x1_0000;
    const CONFIRMED: u32 = 0x8000_0000;
    let flags = if client.stage > ClientStage::Unconfirmed { NOT_PNFS | CONFIRMED } else { NOT_PNFS };
    let ([id, low], [started, of_it]) = (halves(client.id), halves(started));
    // Without protection; the owner with its minor number, the scope, no implementation.
    let owner = [0, 0, 8, started, of_it];
    let scope = [8, started, of_it, 0];
    [&[id, low, client.sequence, flags, 0], &owner[..], &scope].concat().as_slice().into()
}

/// The answer to another attempt if the reply is too long to be kept (RFC 8881 section 2.10.6.1.3).
fn not_kept(reply: &CompoundReply) -> CompoundReply {
    let mut done: Vec<_> = reply.done.iter().take(2).cloned().collect();
    if let [_, second] = done.as_mut_slice() {
        (second.status, second.answer) = (REPLY_NOT_KEPT, Answer::default());
    }
    CompoundReply { status: REPLY_NOT_KEPT, tag: Vec::new(), done }
}
