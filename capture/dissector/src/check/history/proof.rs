//! Findings that rest on an absence, the proof that such findings need, and what the capture is known to lack.

use rpcrdma::segment::Segment;

use super::pending::{OrderProof, PENDING, PendingFinding};
use crate::carrier::operation::{DISORDER, MemoryAddress, Side, Sides, Stamp};
use crate::check::book::Book;
use crate::check::finding::Found;
use crate::rpc::message::Message;

/// Findings of a connection that wait for proof, and what the capture proves.
#[derive(Debug)]
pub(super) struct Proofs {
    pending: Vec<PendingFinding>,
    /// The frame of the last Send of each end.
    last: Sides<Stamp>,
    /// True if a Send was emitted after one that was captured later, so the order of the two ends is not known.
    is_disordered: bool,
    /// True if the connection was captured from the start.
    from_start: bool,
    /// True if the capture missed something that an end sent.
    lost: Sides<bool>,
    /// True if nothing that the end sent could be read since the capture missed something: the queue pair may serve
    /// another connection.
    suspect: Sides<bool>,
    /// True if an end sent something that was not completely readable, so there may be unknown advertised memory.
    unreadable: Sides<bool>,
    /// True if the dissector gave up a call that may still be answered.
    forgotten: bool,
}

impl Proofs {
    /// Creates the state of a connection that was captured from the start, or later.
    pub(super) fn new(from_start: bool) -> Self {
        Self {
            pending: Vec::new(),
            last: Sides::default(),
            is_disordered: false,
            from_start,
            lost: Sides::default(),
            suspect: Sides::default(),
            unreadable: Sides::default(),
            forgotten: false,
        }
    }

    /// Returns true if nothing of the connection was missed, and the dissector has given nothing up.
    pub(super) fn is_whole(&self) -> bool {
        self.from_start && self.misses_nothing() && !self.forgotten
    }

    /// Returns true if nothing of the connection was missed since the first captured packet.
    pub(super) fn misses_nothing(&self) -> bool {
        self.lost == Sides::default()
    }

    /// Returns true if the capture has everything that this end has sent so far.
    pub(super) const fn has_all_of(&self, sender: Side) -> bool {
        self.from_start && !*self.lost.get(sender)
    }

    /// Returns true if the end has sent something that was not completely readable.
    pub(super) const fn has_unreadable_of(&self, sender: Side) -> bool {
        *self.unreadable.get(sender)
    }

    /// Returns true if nothing that the end sent could be read since the capture missed something.
    pub(super) const fn is_suspect(&self, sender: Side) -> bool {
        *self.suspect.get(sender)
    }

    /// Returns the last Send of an end.
    pub(super) const fn last_send(&self, sender: Side) -> Stamp {
        *self.last.get(sender)
    }

    /// Records whether a message could be read.
    pub(super) const fn note_readable(&mut self, sender: Side, is_readable: bool) {
        if is_readable {
            *self.suspect.get_mut(sender) = false;
        } else {
            *self.unreadable.get_mut(sender) = true;
        }
    }

    /// Records that the dissector gave up a call.
    pub(super) const fn note_forgotten_call(&mut self) {
        self.forgotten = true;
    }

    /// Records that the capture lacks something that an end sent: calls, replies, or both.
    pub(super) fn note_loss(&mut self, from: Side, book: &mut Book) {
        self.pending.retain(|pending| {
            if pending.proof == from {
                book.unknown(pending.found.rule);
            }
            pending.proof != from
        });
        *self.lost.get_mut(from) = true;
        *self.suspect.get_mut(from) = true;
    }

    /// Records a Send. Returns true if the end had sent something before.
    pub(super) fn note_send(&mut self, message: &Message) -> bool {
        let last = self.last.get_mut(message.sender);
        let began = last.frame > 0;
        if message.stamp.frame > last.frame {
            *last = message.stamp;
        }
        self.is_disordered |= message.stamp.frame < self.last.get(message.sender.other()).frame;
        began
    }

    /// Keeps a finding until a later Send of the end `proof` proves the finding.
    pub(super) fn wait(&mut self, found: Found, proof: Side, book: &mut Book) {
        self.wait_for_order(found, proof, OrderProof::Free, book);
    }

    /// Keeps a finding in an answer to a requester, unless a request was missed.
    pub(super) fn wait_if_whole(&mut self, found: Option<Found>, requester: Side, book: &mut Book) {
        match found {
            Some(found) if self.is_whole() => self.wait(found, requester, book),
            Some(found) => book.unknown(found.rule),
            None => {}
        }
    }

    /// Keeps a finding that may depend on the order of the two directions.
    pub(super) fn wait_for_order(&mut self, found: Found, proof: Side, order: OrderProof, book: &mut Book) {
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
    pub(super) fn prove_findings(&mut self, message: &Message, book: &mut Book) {
        if self.pending.is_empty() {
            return;
        }
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

    /// Drops the finding that an RDMA_ERROR with this XID answers nothing: the error may answer an unclear message of
    /// this end, which waited.
    pub(super) fn explain_error(&mut self, sender: Side, xid: u32, book: &mut Book) {
        self.pending.retain(|PendingFinding { found, proof, .. }| {
            let is_explained = *proof == sender && found.xid == Some(xid) && found.rule.slug == "error-from-requester";
            if is_explained {
                book.unknown(found.rule);
            }
            !is_explained
        });
    }

    /// Judges the findings that still wait at the end of a connection, whose packets of each direction were in order or
    /// not.
    pub(super) fn end_findings(&mut self, in_order: bool, book: &mut Book) {
        for PendingFinding { found, order, proven, .. } in std::mem::take(&mut self.pending) {
            let is_in_order = match order {
                OrderProof::Free => in_order,
                OrderProof::Told => in_order && !self.is_disordered,
                OrderProof::Before(_) => false,
            };
            if proven && is_in_order { book.keep(found) } else { book.unknown(found.rule) }
        }
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
