//! Which requests and responses were sent again, and why.
//!
//! An adapter goes back to a number and sends everything from there on again: because a negative acknowledgement asked for
//! it, because a response to a Read request is missing, or because no acknowledgement came in time.

use super::stream::RequestStream;
use super::transport::PacketKind;
use crate::carrier::recovery::{RecoveryKind, SILENCE, Signs, timed_out};

impl RequestStream {
    /// Takes a request that was captured before. `silence`: for so many nanoseconds its sender had sent nothing.
    pub(super) fn copy(&mut self, number: u64, operation: PacketKind, silence: u64) -> Signs {
        let is_read = operation == PacketKind::ReadRequest;
        let is_asked = self.is_asked(number) || is_read && self.lacks_response();
        let is_last = match is_read {
            true => self.reads.back().is_some_and(|read| read.first == number),
            false => self.last() == Some(number),
        };
        if !is_asked && silence < SILENCE && is_last {
            return [None, Some(RecoveryKind::Duplicate)];
        }
        if is_read {
            self.ask_again(number);
        }
        self.go_back(number);
        [timed_out(is_asked, silence), Some(RecoveryKind::SentAgain)]
    }

    /// Takes a request that is captured for the first time, after one that follows it. It was sent again, unless it may
    /// just be late.
    pub(super) fn filling(&mut self, number: u64, silence: u64) -> Option<Signs> {
        let is_asked = self.is_asked(number);
        if !is_asked && silence < SILENCE {
            return None;
        }
        self.go_back(number);
        Some([timed_out(is_asked, silence), Some(RecoveryKind::Replaced)])
    }

    /// Whether the receiver asked for this request again, or for one before it that was sent again just now.
    fn is_asked(&self, number: u64) -> bool {
        [self.asked, self.run].into_iter().flatten().any(|from| number >= from)
    }

    fn go_back(&mut self, number: u64) {
        self.awaited.forget();
        self.asked.take_if(|asked| *asked <= number);
        self.run = Some(number + 1);
    }

    /// The highest number of a request that was captured, if that is not a Read request.
    fn last(&self) -> Option<u64> {
        let held = self.held.last_key_value().map(|(number, _)| *number);
        let refused = self.refused.packets.last_key_value().map(|(number, _)| *number);
        held.into_iter().chain(refused).chain(self.next.map(|next| next - 1)).max()
    }

    /// Responses from this number on are asked for again.
    fn ask_again(&mut self, number: u64) {
        for read in self.reads.iter_mut().filter(|read| read.end > number) {
            let from = read.first.max(number);
            read.asked_again = Some(read.asked_again.map_or(from, |before| before.min(from)));
        }
    }

    /// What a response shows that is captured again (`is_seen`), or after one that comes behind it.
    pub(super) fn response(&self, number: u64, is_seen: bool) -> Option<RecoveryKind> {
        let read = self.reads.iter().rev().find(|read| (read.first..read.end).contains(&number));
        let is_asked = read.and_then(|read| read.asked_again).is_some_and(|from| number >= from);
        match (is_seen, is_asked) {
            (true, true) => Some(RecoveryKind::SentAgain),
            (true, false) => Some(RecoveryKind::Duplicate),
            (false, true) => self.last_response().filter(|last| *last > number).map(|_| RecoveryKind::Replaced),
            (false, false) => None,
        }
    }

    /// Whether the capture lacks a response, and holds one behind it.
    fn lacks_response(&self) -> bool {
        let Some(last) = self.last_response() else { return false };
        let mut before = self.reads.iter().filter(|read| read.first <= last);
        before.any(|read| read.seen.as_slice() != [(read.first, read.end.min(last + 1))])
    }

    /// The highest number of a response that was captured.
    fn last_response(&self) -> Option<u64> {
        self.reads.iter().filter_map(|read| read.seen.last()).map(|(_, end)| *end - 1).max()
    }
}
