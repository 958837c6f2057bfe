//! Referrals: a server answers NFS4ERR_MOVED, and the client asks where the file system is (RFC 8881 section 11.3).

use rpcrdma_dissector::{Address, NfsOverTcp, OperationArguments, Status, Time, Transaction};

use crate::file_names::{client, server};
use crate::format::number::counted;
use crate::small_map::SmallMap;

/// The most pairs of a client and a server whose RPCs wait for a question about locations.
const PAIRS: usize = 1000;
/// The attributes `fs_locations` and `fs_locations_info` (RFC 8881 sections 5.8.2.7 and 5.12).
const LOCATIONS: [usize; 2] = [24, 67];

/// Counts of RPCs that ended with NFS4ERR_MOVED. None of these RPCs is a failure: a client that does not ask for locations
/// may know the locations already, or ask on a connection that was not captured.
#[derive(Clone, Debug, Default)]
pub(super) struct Referrals {
    /// RPCs after which the client has not asked for locations, by client and server.
    waiting: SmallMap<(Address, Address), u64>,
    /// RPCs after which the client got the locations.
    pub(super) followed: u64,
    /// Time of the first reply that gave a client the locations.
    located: Option<Time>,
    /// RPCs that are not counted by client and server, because there were too many of both.
    left_out: u64,
}

impl Referrals {
    /// Takes any RPC: if the client got the locations, the RPCs before were referrals to another server.
    pub(super) fn add_rpc(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) {
        let ends = (client(transaction), server(transaction));
        if transaction.status.is_some_and(Status::is_referral) {
            self.left_out += u64::from(!self.waiting.add_amount(ends, 1, PAIRS));
            return;
        }
        let is_answer = |operation: &OperationArguments<'_>| {
            operation.status == Some(0) && LOCATIONS.iter().any(|attribute| operation.asks_for(*attribute))
        };
        if !self.waiting.is_empty() && arguments.iter().any(is_answer) {
            self.followed += self.waiting.remove(&ends).unwrap_or_default();
            self.located = self.located.or_else(|| Some(transaction.reply.as_ref()?.stamp.time));
        }
    }

    /// Words after the number of RPCs whose clients got the locations: the servers that these clients may have gone on to.
    pub(super) fn describe_followed(&self, servers: &[NfsOverTcp]) -> String {
        let after = |server: &&NfsOverTcp| self.located.is_some_and(|located| server.first.time >= located);
        let servers: Vec<String> = servers
            .iter()
            .filter(after)
            .map(|NfsOverTcp { server, segments, first, .. }| {
                format!("{server} ({} from frame {} on)", counted(*segments, "segment"), first.frame)
            })
            .collect();
        let rest = match servers.is_empty() {
            true => "the capture does not show the traffic with that server".to_owned(),
            false => format!("then NFS over TCP, which is not read, to {}", servers.join(", ")),
        };
        format!("referred to another server (NFS4ERR_MOVED, then fs_locations): no failure; {rest}.")
    }

    /// RPCs after which the capture shows no question for locations.
    pub(super) fn unfollowed(&self) -> u64 {
        self.waiting.values().sum::<u64>().saturating_add(self.left_out)
    }
}
