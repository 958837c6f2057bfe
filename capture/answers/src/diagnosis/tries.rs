//! The cause about RPCs that needed several tries, with its evidence.

use rpcrdma_dissector::{Execution, RetryFailure, TryDisconnection};

use super::cause::{Cause, PART, SHARE};
use super::judgement::{Judgement, NAMED, is_part};
use super::record::DiagnosedCause;
use super::retries::{LostTry, Retries, RetryFailureKind, RetryReason};
use crate::format::line::sentence;
use crate::format::number::{Milliseconds, counted, duration, grouped, times};
use crate::small_map::SmallMap;

impl Judgement<'_> {
    /// RPCs whose calls were made again on another connection.
    pub(super) fn retried(&self) -> Option<DiagnosedCause> {
        let retries = &self.waits.retries;
        let Retries { tally, reasons, tries, .. } = retries;
        let are_several = tally.rpcs > 1 && is_part(tally.rpcs, PART, self.waits.rpcs);
        let is_enough = are_several || is_part(tally.amount, SHARE, self.sum_waits());
        if !self.stands_out(Cause::Retried, tally.rpcs, is_enough) {
            return None;
        }
        let main = reasons.dominant(*tries).copied();
        let mut evidence = vec![self.retry_reasons()];
        evidence.push(self.retried_rpcs());
        evidence.extend(retries.longest.iter().map(|longest| self.lost_try(longest)));
        evidence.push(executions(&retries.executions));
        evidence.extend(retries.failures.iter().take(NAMED).map(|(kind, count)| failed(kind, *count)));
        let cause = self.cause(Cause::Retried, main.and_then(RetryReason::owner), evidence, "transactions --tries");
        let timed = self.timed(cause, tally);
        let owner_address = main.and_then(RetryReason::end_address).map(|end| end.to_string());
        Some(DiagnosedCause { owner_address, ..timed })
    }

    /// Returns true if `others` has the cause of RPCs made again, which tells of half of the unanswered calls at least.
    pub(super) fn is_told_by_retries(&self, flapping: &DiagnosedCause, others: &[DiagnosedCause]) -> bool {
        let is_told = others.iter().any(|cause| cause.cause == Cause::Retried.name());
        is_told && 2 * self.waits.retries.tries >= flapping.rpcs.unwrap_or_default()
    }

    fn retry_reasons(&self) -> String {
        let mut reasons = self.waits.retries.reasons.iter().collect::<Vec<_>>();
        reasons.sort_by_key(|(_, count)| core::cmp::Reverse(**count));
        let words: Vec<String> = reasons.iter().take(NAMED).map(|(reason, count)| reason.words(**count)).collect();
        format!("{} The client made the call again on another connection.", sentence(&words.join("; ")))
    }

    /// The end of the connection of a try, and what followed.
    fn lost_try(&self, LostTry { began, end, client, server }: &LostTry) -> String {
        let TryDisconnection { stamp, how, .. } = end;
        let after = duration(stamp.time.0.saturating_sub(began.time.0));
        let ended = format!(
            "The connection of the longest ended {after} after the call ({} in frame {})",
            how.name(),
            stamp.frame
        );
        let attempts = self.context.map_or(self.attempts, |context| &context.attempts);
        match attempts.next_accepted(*client, *server, *stamp) {
            Some(next) => {
                let later = duration(next.time.0.saturating_sub(stamp.time.0));
                format!("{ended}; the client connected again {later} later (frame {}).", next.frame)
            }
            None => format!("{ended}."),
        }
    }

    fn retried_rpcs(&self) -> String {
        let Retries { tally, latencies, most, .. } = &self.waits.retries;
        let tries = match most {
            2 => "two tries".to_owned(),
            most => format!("two tries or more, up to {}", grouped(*most)),
        };
        let rpcs = counted(self.waits.rpcs, "RPC");
        let mut sentence = format!("{} of {rpcs} needed {tries}", grouped(tally.rpcs));
        if latencies.count > 0 {
            let up_to = if latencies.min == latencies.max { "" } else { "up to " };
            sentence.push_str(&format!(" and took {up_to}{} ms", Milliseconds(latencies.max)));
            let without = self.waits.latencies.count.saturating_sub(latencies.count);
            if without > 0 {
                sentence.push_str(&format!("; the median of all is {}", duration(self.waits.latencies.percentile(50))));
            }
        }
        format!("{sentence}.")
    }
}

/// A sentence about the execution of earlier tries.
fn executions(executions: &SmallMap<Execution, u64>) -> String {
    let words = |(execution, count): (&Execution, &u64)| {
        let (were, count) = (if *count == 1 { "was" } else { "were" }, grouped(*count));
        match execution {
            Execution::No => format!("{count} did not reach the server"),
            Execution::Possible => format!("{count} may have been executed"),
            Execution::Executed => format!("{count} {were} executed: the server sent a reply, or data of one"),
        }
    };
    let words: Vec<String> = executions.iter().map(words).collect();
    format!("Earlier tries: {}.", words.join(", "))
}

/// A sentence about failures that an earlier try explains.
fn failed(kind: &RetryFailureKind, count: u64) -> String {
    let RetryFailureKind { operation, status, is_in_session } = kind;
    let failure = if *is_in_session { RetryFailure::InSession } else { RetryFailure::OfRetry };
    format!("{operation} got {status} on a later try {}: {}.", times(count), failure.meaning())
}
