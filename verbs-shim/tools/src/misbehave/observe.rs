//! Reactions of a requester to a defect, as visible on the wire.

use std::time::{Duration, Instant};

use rpcrdma_verbs::{Error, Operation, Remote, Status, Verbs};

use super::clients::{ClientId, Clients};
use super::defect::Reaction;
use crate::probe::word;

/// `RDMA_ERROR` in `rdma_proc`.
const RDMA_ERROR: u32 = 4;

/// Waits for the requester's reaction to the reply with that XID. The requester's messages stay to be answered.
pub(super) fn reaction<V: Verbs>(
    clients: &mut Clients<'_, V>,
    id: ClientId,
    xid: u32,
    silence: Duration,
) -> Result<Reaction, Error> {
    let until = Instant::now() + silence;
    let sent = |arrived: &[u8]| match (word(arrived, 0), word(arrived, 3)) {
        (_, Some(RDMA_ERROR)) => Reaction::Error,
        (Some(first), _) if first == xid => Reaction::Retry,
        _ => Reaction::NextCall,
    };
    let first = clients.wait(until, |clients| match clients.find(id) {
        None => Some(Reaction::Disconnect),
        Some(client) => client.peer.first().map(|arrival| sent(&arrival.octets)),
    })?;
    if first != Some(Reaction::Disconnect) {
        return Ok(first.unwrap_or(Reaction::Silence));
    }
    // Checks if the same call comes again.
    let back = clients.wait(until, |clients| {
        let client = clients.with_arrival_after(id)?;
        client.peer.first().map(|arrival| word(&arrival.octets, 0) == Some(xid))
    })?;
    Ok(if back == Some(true) { Reaction::Reconnect } else { Reaction::Disconnect })
}

/// Writes into memory that the requester has offered for an earlier call.
pub(super) fn late_write<V: Verbs>(
    clients: &mut Clients<'_, V>,
    id: ClientId,
    to: Remote,
    silence: Duration,
) -> Result<Reaction, Error> {
    let Some(client) = clients.find(id) else { return Ok(Reaction::Disconnect) };
    match client.peer.post(Operation::Write(to), vec![0xee]) {
        Err(Error::Disconnected) => return Ok(Reaction::Disconnect),
        posted => posted?,
    }
    // This connection alone: the status of its work has to be seen before it is dropped.
    let until = Instant::now() + silence;
    while !client.peer.is_settled() && Instant::now() < until {
        client.peer.handle_completion(until)?;
    }
    Ok(match client.peer.failure() {
        Some(Status::RemoteAccess) => Reaction::Withdrawn,
        None if client.peer.is_settled() && !client.peer.is_over() => Reaction::Writable,
        _ => Reaction::Disconnect,
    })
}
