//! The part of a client of NFSv4.1 that is needed to be called back: a session, and files with a read delegation (RFC
//! 8881). When a client of NFSv4.0 removes such a file, the server recalls the delegation.

use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rpcrdma::rpc::RpcCall;
use rpcrdma_verbs::{Error, Verbs};

use crate::probe::services::calls::{DELAY, GRACE, NfsCall, PAUSE};
use crate::probe::session::{Session, octets, opaque, word};

/// The program of the callbacks, which the client chooses (RFC 8881 section 18.36).
const CALLBACK_PROGRAM: u32 = 0x4000_0b0b;
/// Number of words of a reply before the first operation: `msg_type`, the verifier and the status of the RPC; status,
/// tag, count.
const BEFORE_RESULTS: usize = 5 + 3;
/// Results of SEQUENCE and PUTROOTFH.
const OF_SEQUENCE: usize = 2 + 9;
const OF_PUTROOTFH: usize = 2;

/// A client with a session.
pub(super) struct Nfs41 {
    owner: Vec<u8>,
    id: Vec<u8>,
    session: Vec<u8>,
    sequence: u32,
}

/// Returns octets that no other run has, and no other case of this run.
pub(super) fn unique() -> [u8; 8] {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).to_be_bytes()
}

/// Returns `length` octets of a reply, from this word on.
fn part(reply: &[u8], from: usize, length: usize) -> Option<Vec<u8>> {
    reply.get(4 * from..)?.get(..length).map(<[u8]>::to_vec)
}

/// Returns the status of a COMPOUND.
fn status(reply: &[u8]) -> Option<u32> {
    word(reply, 5)
}

impl Nfs41 {
    /// Creates a client with a session on this connection. The inner error is the reason why there is none.
    pub(super) fn new<V: Verbs>(
        session: &mut Session<'_, V>,
        has_backchannel: bool,
    ) -> Result<Result<Self, &'static str>, Error> {
        let owner = [&b"rpcrdma-probe "[..], &unique()].concat();
        // EXCHANGE_ID without flags, protection of state, and an implementation.
        let exchange = [octets(&[42]), unique().to_vec(), opaque(&owner), octets(&[0, 0, 0])].concat();
        let Ok(reply) = NfsCall::compound(1, 1, &exchange).make(session)? else {
            return Ok(Err("EXCHANGE_ID of NFSv4.1 fails"));
        };
        let (id, first) = (part(&reply, BEFORE_RESULTS + 2, 8), part(&reply, BEFORE_RESULTS + 4, 4));
        let Some((id, first)) = id.zip(first) else { return Ok(Err("EXCHANGE_ID of NFSv4.1 fails")) };
        // Octets of a call, a reply, and a reply to keep; operations; calls.
        let limits = octets(&[0, 2048, 2048, 1024, 16, 4, 0]);
        let flags = octets(&[if has_backchannel { 2 } else { 0 }]);
        let callbacks = octets(&[CALLBACK_PROGRAM, 1, 0]);
        let create = [octets(&[43]), id.clone(), first, flags, limits.clone(), limits, callbacks].concat();
        let Ok(reply) = NfsCall::compound(1, 1, &create).make(session)? else {
            return Ok(Err("CREATE_SESSION fails"));
        };
        let flags = word(&reply, BEFORE_RESULTS + 2 + 5).unwrap_or_default();
        if has_backchannel && flags & 2 == 0 {
            return Ok(Err("the session has no backchannel"));
        }
        let session_id = part(&reply, BEFORE_RESULTS + 2, 16).unwrap_or_default();
        let mut client = Self { owner, id, session: session_id, sequence: 0 };
        let reclaimed = client.compound(session, 1, &octets(&[58, 0]))?.and_then(|reply| status(&reply));
        Ok(if reclaimed == Some(0) { Ok(client) } else { Err("RECLAIM_COMPLETE fails") })
    }

    /// Makes a COMPOUND of the session, on any connection. Returns the reply from the second word on.
    fn compound<V: Verbs>(
        &mut self,
        session: &mut Session<'_, V>,
        count: u32,
        operations: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = [octets(&[53]), self.session.clone(), octets(&[self.sequence, 0, 0, 0])].concat();
        NfsCall::compound(1, 1 + count, &[&sequence, operations].concat()).reply(session)
    }

    /// Creates a file in the root. Returns the stateid of the read delegation, if the server grants one. An inner error
    /// means that there is no such file now.
    pub(super) fn delegated<V: Verbs>(
        &mut self,
        session: &mut Session<'_, V>,
        name: &str,
        until: Instant,
    ) -> Result<Result<Option<Vec<u8>>, &'static str>, Error> {
        /// `createhow4` GUARDED4 with mode 0644.
        const CREATE: &[u32] = &[1, 1, 2, 0, 2, 4, 0o644];
        const NO_CREATE: &[u32] = &[0];
        let created = loop {
            let reply = self.open(session, name, CREATE)?;
            match reply.as_deref().and_then(status) {
                Some(0) => break reply,
                Some(DELAY | GRACE) if Instant::now() < until => thread::sleep(PAUSE),
                _ => return Ok(Err("no file can be created")),
            }
        };
        // Some servers do not delegate a file that was just created.
        Ok(Ok(match created.as_deref().and_then(read_delegation) {
            None => self.open(session, name, NO_CREATE)?.as_deref().and_then(read_delegation),
            delegation => delegation,
        }))
    }

    /// OPEN for reading, and CLOSE.
    fn open<V: Verbs>(
        &mut self,
        session: &mut Session<'_, V>,
        name: &str,
        how: &[u32],
    ) -> Result<Option<Vec<u8>>, Error> {
        /// CLOSE of the current stateid.
        const CLOSE: &[u32] = &[4, 0, 1, 0, 0, 0];
        let owner = [self.id.clone(), opaque(&self.owner)].concat();
        let open = [octets(&[24, 18, 0, 1, 0]), owner, octets(how), octets(&[0]), opaque(name.as_bytes())].concat();
        self.compound(session, 3, &[open, octets(CLOSE)].concat())
    }

    /// Returns a delegation.
    pub(super) fn give_back<V: Verbs>(
        &mut self,
        session: &mut Session<'_, V>,
        name: &str,
        stateid: &[u8],
    ) -> Result<(), Error> {
        let lookup = [octets(&[24, 15]), opaque(name.as_bytes())].concat();
        self.compound(session, 3, &[&lookup, &octets(&[8]), stateid].concat())?;
        Ok(())
    }
}

/// Returns the stateid of the read delegation granted by OPEN.
fn read_delegation(reply: &[u8]) -> Option<Vec<u8>> {
    const OPEN_DELEGATE_READ: u32 = 1;
    // After the stateid and change_info: rflags, the attributes that were set, and the delegation.
    let rflags = BEFORE_RESULTS + OF_SEQUENCE + OF_PUTROOTFH + 2 + 4 + 5;
    let delegation = rflags + 1 + 1 + word(reply, rflags + 1)? as usize;
    let is_granted = status(reply) == Some(0) && word(reply, delegation) == Some(OPEN_DELEGATE_READ);
    is_granted.then(|| part(reply, delegation + 1, 16)).flatten()
}

/// Removes a file in the root, as another client. Returns true if the file is gone.
pub(super) fn remove<V: Verbs>(session: &mut Session<'_, V>, name: &str) -> Result<bool, Error> {
    let remove = [octets(&[24, 28]), opaque(name.as_bytes())].concat();
    let status = NfsCall::compound(0, 2, &remove).reply(session)?.and_then(|reply| word(&reply, 5));
    Ok(status == Some(0))
}

/// Returns the RPC Reply to NULL or a recall from the second word on.
pub(super) fn reply_to(call: &RpcCall<'_>, arguments: &[u8]) -> Option<Vec<u8>> {
    const CB_SEQUENCE: u32 = 11;
    const CB_RECALL: u32 = 4;
    let accepted = octets(&[1, 0, 0, 0, 0]);
    if call.procedure == 0 {
        return Some(accepted);
    }
    let tag = part(arguments, 0, 4 + word(arguments, 0)?.next_multiple_of(4) as usize)?;
    // After the minor version and the callback's number.
    let operations = arguments.get(tag.len() + 8..)?;
    // After the session's ID, three numbers, whether to keep the reply, and no referring calls.
    let [count, first, second] = [word(operations, 0)?, word(operations, 1)?, word(operations, 11)?];
    if [count, first, second] != [2, CB_SEQUENCE, CB_RECALL] {
        return None;
    }
    let [sequence, highest] = [part(operations, 2, 16 + 12)?, part(operations, 8, 4)?];
    let results = [octets(&[2, CB_SEQUENCE, 0]), sequence, highest, octets(&[CB_RECALL, 0])];
    Some([accepted, octets(&[0]), tag, results.concat()].concat())
}

/// Returns true if a Call is for the requested program.
pub(super) const fn is_asked_for(call: &RpcCall<'_>) -> bool {
    call.program == CALLBACK_PROGRAM
}
