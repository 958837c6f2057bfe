//! Replies of one end, if the other end has to have a Receive posted for each reply.

use std::collections::VecDeque;

use crate::carrier::operation::{Places, Stamp};

/// The most replies of one end that are remembered: more than are under way at a time.
const REPLIES: usize = 128;
/// The most refused replies of one end that wait to be accepted.
pub(super) const REFUSED: usize = 64;

/// The most replies without a call that are remembered: frames out of order are a few apart.
pub(super) const UNMATCHED: usize = 4;

/// A reply that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentReply {
    pub(super) places: Places,
    pub(super) xid: u32,
}

/// A reply that was refused and not accepted since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused {
    pub(super) reply: SentReply,
    pub(super) first: Stamp,
    pub(super) times: u32,
    pub(super) is_expected: bool,
}

/// Replies of one end, as far as their Receives are concerned.
#[derive(Debug, Default)]
pub(super) struct Replies {
    sent: VecDeque<SentReply>,
    pub(super) refused: Vec<Refused>,
    /// `true` if the end sent something that no call of the other end provides a Receive for, or that may be such.
    pub(super) has_sent_others: bool,
    /// XIDs of the last replies without a call.
    unmatched: [Option<u32>; UNMATCHED],
}

impl Replies {
    /// Notes that this end sent something other than a reply to a call that waits.
    pub(super) const fn note_other(&mut self) {
        self.has_sent_others = true;
    }

    /// Notes a reply without a call, or a message that may be such a reply.
    pub(super) fn note_unmatched(&mut self, xid: u32) {
        self.note_other();
        self.unmatched.rotate_right(1);
        self.unmatched[0] = Some(xid);
    }

    /// Returns true if a reply with this XID was captured before any call with the XID.
    pub(super) fn is_unmatched(&self, xid: u32) -> bool {
        self.unmatched.contains(&Some(xid))
    }

    /// Notes a reply to a call that waited.
    pub(super) fn note(&mut self, reply: SentReply) {
        if self.sent.len() == REPLIES {
            self.sent.pop_front();
        }
        self.sent.push_back(reply);
    }

    /// Returns the reply whose Send begins at this place, if any.
    pub(super) fn find(&self, place: u64) -> Option<SentReply> {
        self.sent.iter().rev().find(|reply| reply.places.first == place).copied()
    }
}
