//! Causes above RPC, with their evidence: grace periods, refused operations, COPYs without an end, locks of others.

use std::collections::BTreeSet;

use rpcrdma_dissector::Address;

use super::cause::{Cause, CauseOwner, SEVERAL, SHARE, VERY_SLOW};
use super::judgement::{Judgement, NAMED, is_part, longest};
use super::promises::{PromiseWaits, SetUp};
use super::record::DiagnosedCause;
use super::tally::Tally;
use crate::format::number::{counted, duration, grouped, times};

impl Judgement<'_> {
    /// Returns true if waits above RPC are enough for a cause.
    fn are_promises_slow(&self, tally: &Tally, open: u64) -> bool {
        let is_long = tally.rpcs >= SEVERAL || tally.greatest() >= Some(VERY_SLOW);
        open > 0 || is_long && is_part(tally.amount, SHARE, self.sum_waits())
    }

    /// A server that refused operations in its grace period.
    pub(super) fn server_grace(&self) -> Option<DiagnosedCause> {
        let PromiseWaits { grace, periods, .. } = &self.waits.promises;
        let open = periods.values().map(|period| period.open).sum();
        if !self.stands_out(Cause::ServerGrace, grace.rpcs, self.are_promises_slow(grace, open)) {
            return None;
        }
        let greatest = grace.greatest_rpc.as_ref()?;
        let mut evidence: Vec<String> = periods
            .iter()
            .take(NAMED)
            .map(|(server, period)| {
                let lasted = duration(period.until.saturating_sub(period.from));
                let what = match (period.operations, &greatest.subject.file) {
                    (1, Some(file)) => format!("one {} of {file}", short(&greatest.subject.operation)),
                    (1, None) => format!("one {}", short(&greatest.subject.operation)),
                    (operations, _) => counted(operations, "operation"),
                };
                let were = if period.operations == 1 { "was" } else { "were" };
                let end = match period.open {
                    0 if period.operations == 1 => "and made again after it".to_owned(),
                    0 => "and all were made again after it".to_owned(),
                    open => format!("and {} had not been made again when the capture ended", grouped(open)),
                };
                let at_least = if period.open > 0 { "at least " } else { "" };
                let refused = times(period.refusals);
                format!(
                    "{server} was in its grace period for {at_least}{lasted}: {what} {were} refused {refused}, {end}."
                )
            })
            .collect();
        evidence.extend(periods.keys().take(NAMED).filter_map(|server| self.restart(*server)));
        evidence.push(
            "A server that has restarted lets clients claim their old opens and locks first; until then, it refuses new ones."
                .to_owned(),
        );
        evidence.extend(longest("The longest wait", grace));
        Some(self.timed(self.cause(Cause::ServerGrace, Some(CauseOwner::Server), evidence, "transactions"), grace))
    }

    /// A server that had lost the state of clients, which set up the state again.
    fn restart(&self, server: Address) -> Option<String> {
        let set_up = self.waits.promises.set_up.iter().filter(|again| again.server == server);
        let again: Vec<_> = set_up.filter(|again| !again.is_expired).collect();
        let SetUp { client, lost, .. } = again.first()?;
        let clients: BTreeSet<_> = again.iter().map(|again| again.client).collect();
        let longest = duration(again.iter().map(|again| again.took).max()?);
        let who = match clients.len() {
            1 => format!("client {client} set up its state again"),
            clients => format!("{clients} clients set up their state again, each"),
        };
        Some(format!("{server} had restarted ({lost}): {who} within {longest}."))
    }

    /// Operations that the server refused for now, without a reason that the capture shows.
    pub(super) fn refused_for_now(&self) -> Option<DiagnosedCause> {
        let PromiseWaits { later, statuses, later_open, .. } = &self.waits.promises;
        if !self.stands_out(Cause::RefusedForNow, later.rpcs, self.are_promises_slow(later, *later_open)) {
            return None;
        }
        let mut evidence = self.waited(later, "because the server asked the client to make them again later")?;
        let list: Vec<_> =
            statuses.iter().take(NAMED).map(|(status, count)| format!("{status} {}", times(*count))).collect();
        let open = match later_open {
            0 => String::new(),
            open => format!("; {} not been made again when the capture ended", has(*open)),
        };
        evidence.push(format!("The server answered {}{open}. Nothing in the capture shows why.", list.join(", ")));
        let command = if *later_open > 0 { "pending" } else { "transactions" };
        Some(self.timed(self.cause(Cause::RefusedForNow, Some(CauseOwner::Server), evidence, command), later))
    }

    /// Asynchronous COPYs without an end.
    pub(super) fn copy_unfinished(&self) -> Option<DiagnosedCause> {
        let PromiseWaits { copies, copies_open, oldest_copy, has_back_channel, .. } = &self.waits.promises;
        if copies.rpcs == 0 {
            return None;
        }
        let mut evidence = vec![format!(
            "{} asynchronous {} no CB_OFFLOAD in the capture: the server accepted {}, and reports the end by that callback.",
            grouped(copies.rpcs),
            if copies.rpcs == 1 { "COPY has" } else { "COPYs have" },
            if copies.rpcs == 1 { "it" } else { "them" },
        )];
        evidence.extend(oldest_copy.as_ref().map(|(_, owed)| format!("{owed}.")));
        if !has_back_channel {
            evidence.push(
                "Linux clients wait for that callback without a limit: see whether the session has a back channel \
                 (BIND_CONN_TO_SESSION, the flags of CREATE_SESSION)."
                    .to_owned(),
            );
        }
        let command = if *copies_open > 0 { "pending" } else { "transactions" };
        Some(self.timed(self.cause(Cause::CopyUnfinished, Some(CauseOwner::Server), evidence, command), copies))
    }

    /// Locks that others held.
    pub(super) fn lock_held(&self) -> Option<DiagnosedCause> {
        let PromiseWaits { locks, locks_open, .. } = &self.waits.promises;
        if !self.stands_out(Cause::LockHeld, locks.rpcs, self.are_promises_slow(locks, *locks_open)) {
            return None;
        }
        let mut evidence = self.waited(locks, "for a lock that another owner held (NFS4ERR_DENIED)")?;
        if *locks_open > 0 {
            evidence.push(format!("{} not been granted when the capture ended.", has(*locks_open)));
        }
        let command = if *locks_open > 0 { "pending" } else { "transactions" };
        Some(self.timed(self.cause(Cause::LockHeld, None, evidence, command), locks))
    }
}

fn has(count: u64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "has" } else { "have" })
}

/// The name of an operation without that of the program.
fn short(operation: &str) -> &str {
    operation.rsplit(' ').next().unwrap_or(operation)
}
