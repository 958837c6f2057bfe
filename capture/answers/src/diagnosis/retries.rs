//! RPCs that needed several tries, because connections ended before the reply.

use rpcrdma_dissector::{Address, Execution, RetryFailure, Stamp, Transaction, Tries, Try, TryDisconnection, TryEnd};

use super::cause::CauseOwner;
use super::tally::{KeyAmounts, RpcSubject, Tally};
use crate::format::number::times;
use crate::operation_name::OperationName;
use crate::small_map::SmallMap;
use crate::stats::{Histogram, outcome};

/// The most kinds of failure that are told apart.
const KINDS: usize = 100;

/// Reason for another try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RetryReason {
    ServerEnded(Address),
    ClientEnded(Address),
    Refused(Address),
    Lost,
    ReplyLost,
    Unknown,
}

impl RetryReason {
    /// The reason for which a try of an RPC was not the last.
    const fn from_try(one: &Try, transaction: &Transaction) -> Self {
        match one.end {
            TryEnd::ResponderEnded if transaction.reverse => Self::ClientEnded(transaction.to),
            TryEnd::ResponderEnded => Self::ServerEnded(transaction.to),
            TryEnd::RequesterEnded if transaction.reverse => Self::ServerEnded(transaction.from),
            TryEnd::RequesterEnded => Self::ClientEnded(transaction.from),
            TryEnd::Refused(_) => Self::Refused(transaction.to),
            TryEnd::Lost { .. } => Self::Lost,
            TryEnd::ReplyLost => Self::ReplyLost,
            _ => Self::Unknown,
        }
    }

    pub(super) const fn owner(self) -> Option<CauseOwner> {
        match self {
            Self::ServerEnded(_) | Self::Refused(_) => Some(CauseOwner::Server),
            Self::ClientEnded(_) => Some(CauseOwner::Client),
            Self::Lost | Self::ReplyLost => Some(CauseOwner::Network),
            Self::Unknown => None,
        }
    }

    pub(super) const fn end_address(self) -> Option<Address> {
        match self {
            Self::ServerEnded(end) | Self::ClientEnded(end) | Self::Refused(end) => Some(end),
            Self::Lost | Self::ReplyLost | Self::Unknown => None,
        }
    }

    /// Words for what happened so many times.
    pub(super) fn words(self, count: u64) -> String {
        let times = times(count);
        match self {
            Self::ServerEnded(end) => {
                format!("the server {end} ended the connection before it had answered ({times})")
            }
            Self::ClientEnded(end) => {
                format!("the client {end} ended the connection before it had an answer ({times})")
            }
            Self::Refused(end) => format!("the adapter of {end} refused a call ({times})"),
            Self::Lost => format!("a call was never acknowledged ({times})"),
            Self::ReplyLost => format!("a reply did not arrive before the connection ended ({times})"),
            Self::Unknown => {
                format!("a connection was over before the reply, and the capture does not show why ({times})")
            }
        }
    }
}

/// A failure that an earlier try explains.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RetryFailureKind {
    pub(super) operation: String,
    pub(super) status: String,
    pub(super) is_in_session: bool,
}

/// RPCs that needed several tries.
#[derive(Clone, Debug, Default)]
pub(super) struct Retries {
    /// Times from the first try to the last.
    pub(super) tally: Tally,
    /// RPCs that were answered in the end, by the time that they took.
    pub(super) latencies: Histogram,
    /// The most tries of an RPC.
    pub(super) most: u64,
    /// Earlier tries by reason.
    pub(super) reasons: KeyAmounts<RetryReason>,
    pub(super) tries: u64,
    /// Earlier tries by execution.
    pub(super) executions: SmallMap<Execution, u64>,
    pub(super) failures: SmallMap<RetryFailureKind, u64>,
    /// The first try of the RPC that lost most time, if the capture shows the end of the connection.
    pub(super) longest: Option<LostTry>,
}

/// A try that the end of the connection ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostTry {
    pub(super) began: Stamp,
    pub(super) end: TryDisconnection,
    pub(super) client: Address,
    pub(super) server: Address,
}

impl Retries {
    /// Takes an RPC with all tries. Returns true if no RPC before it has lost as much time.
    pub(super) fn add_rpc(&mut self, transaction: &Transaction, tries: &Tries, subject: &RpcSubject) -> bool {
        self.most = self.most.max(tries.count);
        for one in tries.earlier() {
            self.tries += 1;
            self.reasons.add_amount(&RetryReason::from_try(one, transaction), 1);
            self.executions.add_amount(one.execution, 1, KINDS);
        }
        transaction.latency().into_iter().for_each(|latency| self.latencies.record(latency));
        if let Some((failure, status)) = transaction.retry_failure().zip(transaction.status)
            && let Some(status) = outcome(transaction, status)
        {
            let operation = OperationName::of_failure(transaction).to_string();
            let is_in_session = failure == RetryFailure::InSession;
            self.failures.add_amount(RetryFailureKind { operation, status: status.name, is_in_session }, 1, KINDS);
        }
        // The time of a call without a reply counts for the cause of that.
        let lost = tries.lost_time().filter(|_| transaction.waiting.is_none());
        let is_greatest = self.tally.add_rpc(lost.unwrap_or_default(), subject);
        if is_greatest {
            let RpcSubject { client, server, .. } = *subject;
            let lost = |one: &Try| Some(LostTry { began: one.began, end: one.disconnection?, client, server });
            self.longest = tries.all.first().and_then(lost);
        }
        is_greatest
    }
}
