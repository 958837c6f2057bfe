//! Referrals: a server answers NFS4ERR_MOVED, and the client asks where the file system is (RFC 8881 section 11.3).

use super::tally::RpcSubject;
use crate::output::file_names::{client, server};
use crate::output::stats::StatusName;
use crate::rpc::arguments::OperationArguments;
use crate::rpc::known::MOVED;
use crate::rpc::transaction::Transaction;

/// The most RPCs that are held until their client asks.
const HELD: usize = 1000;
/// The attributes `fs_locations` and `fs_locations_info` (RFC 8881 sections 5.8.2.7 and 5.12).
const LOCATIONS: [usize; 2] = [24, 67];

/// An RPC that ended with NFS4ERR_MOVED.
#[derive(Clone, Debug)]
pub(super) struct MovedRpc {
    pub(super) status: StatusName,
    pub(super) subject: RpcSubject,
}

/// RPCs that ended with NFS4ERR_MOVED, and those of them that were referrals.
#[derive(Clone, Debug, Default)]
pub(super) struct Referrals {
    held: Vec<MovedRpc>,
    /// RPCs after which the client asked for locations.
    pub(super) followed: u64,
}

impl Referrals {
    /// Holds an RPC until its client asks for locations. Returns RPCs that did not end with NFS4ERR_MOVED, or have no room.
    pub(super) fn hold(&mut self, moved: MovedRpc) -> Option<MovedRpc> {
        if moved.status.number != MOVED || self.held.len() >= HELD {
            return Some(moved);
        }
        self.held.push(moved);
        None
    }

    /// Takes any RPC: if its client got the locations, the RPCs held for this client and server were referrals.
    pub(super) fn take(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) {
        let is_answer = |operation: &OperationArguments<'_>| {
            operation.status == Some(0) && LOCATIONS.iter().any(|attribute| operation.asks_for(*attribute))
        };
        if self.held.is_empty() || !arguments.iter().any(is_answer) {
            return;
        }
        let (ends, before) = ((client(transaction), server(transaction)), self.held.len());
        self.held.retain(|MovedRpc { subject, .. }| (subject.client, subject.server) != ends);
        self.followed += (before - self.held.len()) as u64;
    }

    /// Returns the RPCs after which nobody asked for locations.
    pub(super) fn unfollowed(&mut self) -> Vec<MovedRpc> {
        core::mem::take(&mut self.held)
    }
}
