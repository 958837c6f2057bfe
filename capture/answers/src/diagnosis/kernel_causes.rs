//! Causes that only kernel traces show.

use super::cause::{Cause, CauseOwner};
use super::judgement::{Judgement, NAMED};
use super::kernel_faults::{CompletionError, KernelFaultCount, KernelFaults};
use super::record::{CauseExample, DiagnosedCause};
use super::tally::Tally;
use crate::format::number::{counted, times};

impl Judgement<'_> {
    /// The causes from kernel traces.
    pub(super) fn kernel_causes(&self) -> [Option<DiagnosedCause>; 7] {
        let waits = &self.waits.kernel;
        let (late_owner, why_late) = match waits.unserved {
            0 => (
                Some(CauseOwner::Network),
                "That is beyond the time that the server had the calls, as its trace shows: packets were lost on the way, or came late.",
            ),
            _ => (
                None,
                "A trace of the client does not show whether the server or the network took the time: record a trace of the server, or \
                 packets, at the same time.",
            ),
        };
        [
            self.completion_errors(),
            self.lost_connections(),
            self.traced(
                Cause::RdmaReadSlow,
                None,
                &waits.rdma_read,
                "for RDMA Reads of the server",
                "The client's adapter answers RDMA Reads without the processor: packets were lost and retransmitted, or this adapter or \
                 the network is slow. A capture of packets shows which.",
            ),
            self.traced(
                Cause::Registration,
                Some(CauseOwner::Client),
                &waits.registration,
                "until memory was registered",
                "The client registers the memory of each call that moves data by RDMA, and the processor or the adapter was slow at it.",
            ),
            self.traced(
                Cause::ClientQueue,
                Some(CauseOwner::Client),
                &waits.client_queue,
                "at the client before the call was sent",
                "That is no registration of memory, and no wait for a credit or slot: the calls waited for a connection, or for the \
                 processor.",
            ),
            self.traced(
                Cause::ServerQueue,
                Some(CauseOwner::Server),
                &waits.server_queue,
                "for a thread of the server",
                "All threads of nfsd were busy, or the processor was: /proc/fs/nfsd/threads sets their number.",
            ),
            self.traced(Cause::RepliesLate, late_owner, &waits.replies, "for a reply", why_late),
        ]
    }

    fn traced(
        &self,
        cause: Cause,
        owner: Option<CauseOwner>,
        tally: &Tally,
        where_to: &str,
        why: &str,
    ) -> Option<DiagnosedCause> {
        if !self.stands_out(cause, tally.rpcs, self.are_slow(tally, tally.amount)) {
            return None;
        }
        let mut evidence = self.waited(tally, &format!("20 ms or more {where_to}"))?;
        evidence.push(why.to_owned());
        Some(self.timed(self.cause(cause, owner, evidence, &self.slowest_of(tally)), tally))
    }

    fn completion_errors(&self) -> Option<DiagnosedCause> {
        let mut errors: Vec<_> = self.facts.kernel_faults.completions.iter().collect();
        errors.sort_by_key(|(_, count)| count.first);
        let (first, begun) = errors.first()?;
        let line = |(error, count): &(&CompletionError, &KernelFaultCount)| {
            format!(
                "The {}'s adapter reported an error {}, first in frame {}: {} (status {}, vendor error {:#x}).",
                error.machine(),
                times(count.count),
                count.first,
                error.status.meaning(),
                error.status.0,
                error.vendor_error,
            )
        };
        let evidence = errors.iter().take(NAMED).map(line).collect();
        let cause = self.cause(Cause::CompletionError, Some(first.owner()), evidence, "transactions");
        let cause = DiagnosedCause { since_ns: Some(begun.since), ..cause };
        let frames = errors.iter().take(NAMED).map(|(_, count)| count.first);
        Some(cause.shown_by(frames.map(|frame| CauseExample { frame, waiting_ns: None })))
    }

    fn lost_connections(&self) -> Option<DiagnosedCause> {
        let KernelFaults { ends, waiting, by_client, server, repeated, .. } = &self.facts.kernel_faults;
        if ends.count == 0 {
            return None;
        }
        let to = server.map(|server| format!(" to {server}")).unwrap_or_default();
        let (connections, calls) = (counted(ends.count, "connection"), counted(*waiting, "call"));
        let mut evidence =
            vec![format!("{connections}{to} ended while {calls} waited for a reply, first in frame {}.", ends.first)];
        let owner = match *by_client {
            0 => {
                evidence.push(
                    "The client learned of the end: the server ended the connection, or the network did.".to_owned(),
                );
                None
            }
            ended if ended == ends.count => {
                evidence.push("The client ended the connection.".to_owned());
                Some(CauseOwner::Client)
            }
            ended => {
                evidence.push(format!("The client ended {ended} of them, and learned of the end of the others."));
                None
            }
        };
        if *repeated > 0 {
            evidence.push(format!("The client transmitted {} again.", counted(*repeated, "call")));
        }
        let cause = self.cause(Cause::ConnectionLost, owner, evidence, "transactions");
        let cause = DiagnosedCause { since_ns: Some(ends.since), ..cause };
        Some(cause.shown_by(std::iter::once(CauseExample { frame: ends.first, waiting_ns: None })))
    }
}
