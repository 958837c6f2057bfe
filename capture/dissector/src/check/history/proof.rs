//! Findings that rest on an absence, and the proof that such findings need.

use rpcrdma::segment::Segment;

use super::pending::{OrderProof, PENDING, PendingFinding};
use super::state::History;
use crate::carrier::operation::{DISORDER, MemoryAddress, Side};
use crate::check::book::Book;
use crate::check::finding::Found;
use crate::rpc::message::Message;

impl History {
    /// The capture lacks something that an end sent: calls, replies, or both.
    pub(crate) fn lost(&mut self, from: Side, book: &mut Book) {
        self.pending.retain(|pending| {
            if pending.proof == from {
                book.unknown(pending.found.rule);
            }
            pending.proof != from
        });
        *self.lost.get_mut(from) = true;
        *self.suspect.get_mut(from) = true;
        *self.version_2.goes_on.get_mut(from) = true;
        // A missed call makes the count too small, a missed reply too large.
        self.credits.get_mut(from.other()).missed();
    }

    /// Keeps a finding until a later Send of the end `proof` proves the finding.
    pub(super) fn wait(&mut self, found: Found, proof: Side, book: &mut Book) {
        self.wait_for(found, proof, OrderProof::Free, book);
    }

    /// The same for a finding that may depend on the order of the two directions.
    pub(super) fn wait_for(&mut self, found: Found, proof: Side, order: OrderProof, book: &mut Book) {
        if self.pending.len() < PENDING {
            // A message that waited may be emitted after messages that were sent later. An end that need not go on
            // may have sent everything it had.
            let is_last = matches!(found.rule.slug, "error-from-requester" | "answer");
            let proven = self.last.get(proof).frame > found.stamp.frame || is_last;
            self.pending.push(PendingFinding { found, proof, order, proven, memory: None });
        } else {
            book.unknown(found.rule);
        }
    }

    /// Keeps findings about unadvertised memory until the `owner` has gone on without advertising the memory.
    pub(super) fn wait_for_owner(&mut self, found: Found, owner: Side, memory: MemoryAddress, book: &mut Book) {
        let before = self.pending.len();
        self.wait(found, owner, book);
        self.pending.iter_mut().skip(before).for_each(|pending| pending.memory = Some(memory));
    }

    /// An end goes on, and nothing is missing, so findings that wait for that are proven.
    pub(super) fn prove(&mut self, message: &Message, book: &mut Book) {
        let (sender, frame) = (message.sender, message.stamp.frame);
        let xid = message.rdma_xid();
        let mut proven = Vec::new();
        let mut unproven = Vec::new();
        self.pending.retain_mut(|pending| {
            if pending.proof != sender {
                return true;
            }
            // The message that it answers seemed to be missing, but has come late.
            if matches!(pending.found.rule.slug, "reply-unexpected" | "error-echo") && pending.found.xid == xid {
                return false;
            }
            // The RDMA operation was captured before the call that it is for.
            if pending.memory.is_some_and(|memory| advertises(message, memory)) {
                unproven.push(pending.found.rule);
                return false;
            }
            match pending.order {
                OrderProof::Before(place) if has_received(message, place) => pending.order = OrderProof::Told,
                OrderProof::Before(_) => {
                    unproven.push(pending.found.rule);
                    return false;
                }
                OrderProof::Free | OrderProof::Told => {}
            }
            pending.proven |= frame > pending.found.stamp.frame;
            let stands = pending.order == OrderProof::Free && frame > pending.found.stamp.frame + DISORDER;
            if stands {
                proven.push(pending.found.clone());
            }
            !stands
        });
        proven.into_iter().for_each(|found| book.keep(found));
        unproven.into_iter().for_each(|rule| book.unknown(rule));
    }
}

/// Returns true if the sender of a message is known to have received what the other end sent at that `place`.
pub(super) fn has_received(message: &Message, place: u64) -> bool {
    message.detail.as_ref().is_some_and(|detail| detail.progress.has_received(place))
}

/// Returns true if a segment of the message holds the octet at this address.
fn advertises(message: &Message, address: MemoryAddress) -> bool {
    let MemoryAddress { handle, offset } = address;
    let is_in =
        |segment: Segment| segment.handle == handle && offset.wrapping_sub(segment.offset) < u64::from(segment.length);
    message.decode().is_ok_and(|decoded| decoded.header.segments().any(is_in))
}
