//! Checks at the end of a connection for items that should have come.

use rpcrdma::rules::Finding;

use super::pending::OrderProof;
use super::proof::Proofs;
use super::provided_replies::omitted;
use super::reply_reads::ReplyReads;
use super::requests::{self, ANSWER, Faulty};
use super::state::History;
use crate::carrier::connection::Disconnection;
use crate::carrier::operation::{MemoryAddress, Side, Sides};
use crate::check::access;
use crate::check::book::Book;
use crate::event::{self, MemoryUse, MemoryUseKind};
use crate::file::Time;
use crate::rpc::header::Reaction;

/// After this many nanoseconds, an answer that did not come counts as missing.
pub(super) const PATIENCE: u64 = 1_000_000_000;

/// The other possibility, unless excluded.
const OR_LACKING: &str = ", or the capture lacks both the answer and what acknowledges it";

impl History {
    /// Judges how memory was used.
    pub(crate) fn memory(&mut self, used: &MemoryUse, book: &mut Book) {
        if let MemoryUseKind::ReplyRead { xid, length } = used.kind {
            self.provided.note_read(used.owner.other(), xid, length, used.stamp.time);
            return;
        }
        // Unknown memory may belong to a call that could not be read; a call that waits may have been answered by such
        // a reply.
        let of = if matches!(used.kind, MemoryUseKind::Shared { .. }) { used.owner.other() } else { used.owner };
        let found = access::judge(used, &self.ends, used.known && !self.proofs.has_unreadable_of(of), book);
        for found in found {
            match used.kind {
                MemoryUseKind::Outside { inside: None, offset, .. } => {
                    self.proofs.wait_for_owner(found, used.owner, MemoryAddress { handle: used.handle, offset }, book);
                }
                MemoryUseKind::Outside { .. } => self.proofs.wait(found, used.owner, book),
                MemoryUseKind::Shared { sent, .. } => {
                    self.proofs.wait_for_order(found, used.owner.other(), OrderProof::Before(sent), book);
                }
                MemoryUseKind::Refused { .. } | MemoryUseKind::ReplyRead { .. } => book.keep(found),
            }
        }
    }

    /// Judges what should have come by the end of a connection.
    pub(crate) fn end_connection(mut self, report: &event::Report, book: &mut Book) {
        let Sides { active, passive } = report.counts;
        let (in_order, missed) = (active.early + passive.early == 0, active.missed + passive.missed);
        // If something is known to be missing, it may be the answer.
        let whole = self.proofs.is_whole() && missed + active.unmatched + passive.unmatched == 0;
        self.proofs.end_findings(in_order, book);
        for requester in [Side::Active, Side::Passive] {
            let stayed = stayed(&self.proofs, requester, report.connection.disconnected);
            for (faulty, due) in std::mem::take(self.requests.of_end(requester)).into_due() {
                let Faulty { rule, about, .. } = faulty;
                // Later packets of this end would show a gap in place of the answer. Without them, only the time that
                // passed counts.
                let goes_on = self.proofs.last_send(requester.other()).frame > about.stamp.frame;
                let or = if goes_on { "" } else { OR_LACKING };
                let message = format_args!("{due} should answer this ({}), but nothing does{or}", rule.slug);
                let finding = Finding::new(&ANSWER, 0, message).with_severity(requests::severity(rule));
                let is_due = whole && stayed >= Time(about.stamp.time.0.saturating_add(PATIENCE));
                omitted(is_due && self.knows(requester.other(), due), about, &finding, book);
            }
        }
        let proofs = &self.proofs;
        let is_due = |reads: &ReplyReads| {
            let stayed = stayed(proofs, reads.requester, report.connection.disconnected);
            whole && stayed >= Time(reads.last.0.saturating_add(PATIENCE))
        };
        self.provided.end_replies(is_due, book);
    }

    /// Returns true if an end is known to have the version in which a reaction is due.
    const fn knows(&self, responder: Side, due: Reaction) -> bool {
        match due {
            Reaction::V1(_) => true,
            Reaction::V2(_) => *self.version_2.speaks.get(responder),
        }
    }
}

/// Returns the time until which an end is known to have been there: of the last Send, or of the end of the connection.
fn stayed(proofs: &Proofs, end: Side, disconnected: Option<Disconnection>) -> Time {
    let left = disconnected.filter(|ended| ended.by == end).map(|ended| ended.stamp.time);
    proofs.last_send(end).time.max(left.unwrap_or_default())
}
