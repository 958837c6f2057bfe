//! Requests and responses that were retransmitted, and the cause of each.
//!
//! An adapter goes back to a number and sends everything from there on again: because a negative acknowledgement asked
//! for that, because a response to a Read request is missing (an implied negative acknowledgement), or because no
//! acknowledgement came in time. The connection request announces that time; adapters wait up to four times as long
//! (InfiniBand Architecture, volume 1, section 9.7.6.1.3).

use super::reorder_buffer::{Arrival, RepeatedResponses};
use super::stream::{RequestStream, extend};
use super::transport::{PacketKind, Syndrome, Transport};
use crate::carrier::recovery::{Indications, RecoveryKind, SILENCE, TIMER};
use crate::file::Time;

/// A sender reacts to a missing packet within so many round trips.
const REACTIONS: u64 = 6;
/// Numbers of the packets with which an end goes back, and which may be lost before the capture.
const FRONT: u64 = 16;

/// A request that was captured before.
#[derive(Debug)]
pub(super) struct RepeatedRequest {
    pub(super) operation: PacketKind,
    /// Nanoseconds since the sender last sent anything.
    pub(super) silence: u64,
    /// Nanoseconds that both ends take together at least to answer, if that is known.
    pub(super) round_trip: Option<u64>,
}

/// Times that tell a late request from one that the receiver asked for.
#[derive(Debug)]
pub(super) struct Lateness {
    /// Time of the next captured request.
    pub(super) overtaken: Time,
    /// Nanoseconds that the sender takes at least to react, and that both ends take together, if known.
    pub(super) reaction: Option<u64>,
    pub(super) round_trip: Option<u64>,
}

/// Returns true if an end that goes back to a reported number may be seen from this number on.
fn may_begin_with(number: u64, reported: u64) -> bool {
    (number.saturating_sub(FRONT)..=number).contains(&reported)
}

impl RequestStream {
    /// Takes a request that was captured before.
    pub(super) fn copy(&mut self, number: u64, repeated: &RepeatedRequest) -> Indications {
        let is_read = repeated.operation == PacketKind::ReadRequest;
        let cause = self.cause(number, is_read.then_some(repeated), repeated.silence);
        if is_read {
            self.ask_again(RepeatedResponses { from: number, at: self.last_time });
        }
        self.go_back(number);
        [cause, Some(RecoveryKind::Retransmitted)]
    }

    /// Takes a request that is captured for the first time, after a later one. Such a request is a retransmission,
    /// unless it may just be late.
    pub(super) fn filling(&mut self, number: u64, silence: u64, late: &Lateness) -> Option<Indications> {
        if !self.may_answer(number, late) && silence < SILENCE {
            self.late = Some(number);
            return None;
        }
        let cause = self.cause(number, None, silence);
        self.go_back(number);
        Some([cause, Some(RecoveryKind::Replaced)])
    }

    /// Returns why a request is retransmitted, which may be an RDMA Read; `None` if something seen before says so.
    fn cause(&self, number: u64, read: Option<&RepeatedRequest>, silence: u64) -> Option<RecoveryKind> {
        // No time is too long after that.
        if self.not_ready.is_some_and(|from| number >= from) {
            return None;
        }
        let now = self.last_time;
        let since = |time: Time| now.0.saturating_sub(time.0);
        // An end that goes on sending may wait for an acknowledgement all the while, and then goes back to what was not acknowledged.
        // Without acknowledgements in the capture, nothing is known of that.
        let awaited = self.awaited.since_going_back_to(number).filter(|_| self.progress > Time(0));
        let unacknowledged = awaited.map_or(0, since);
        // Each acknowledgement of something new begins the wait anew.
        let answered = since(self.progress.max(self.refused_until));
        let timeout = self.ack_timeout.unwrap_or(TIMER);
        let is_enough = |wait: &u64| (*wait).min(answered) >= timeout;
        if let Some(silence) = [silence, unacknowledged].into_iter().find(is_enough) {
            Some(RecoveryKind::TimedOut { silence })
        } else if self.has_expired(silence) {
            Some(RecoveryKind::TimedOut { silence })
        } else if self.is_asked(number) || self.is_reported(number) && since(self.refused_until) < timeout {
            None
        } else if number == self.went_back_to && since(self.went_back) >= timeout {
            // Nothing that its sender lacks has come since the sender went back to the same number, and a response is missed once.
            Some(RecoveryKind::TimedOut { silence: since(self.went_back) })
        } else if read.is_some_and(|read| self.misses_response(number) && self.is_answer(read)) {
            Some(RecoveryKind::ImpliedNak)
        } else {
            Some(RecoveryKind::CauseNotSeen)
        }
    }

    /// Returns true if a timer has just expired that had been started before the packet which is retransmitted. Soft RoCE
    /// starts the timer with a request, and does not stop the timer at the acknowledgement; a timer of Linux is late by
    /// up to an eighth.
    fn has_expired(&self, silence: u64) -> bool {
        let Some(timeout) = self.ack_timeout else { return false };
        let ran = self.last_time.0.saturating_sub(self.started.0);
        silence >= timeout / 2 && (timeout..timeout + timeout / 8).contains(&ran)
    }

    /// Goes on to the number after a request that was used.
    pub(super) fn pass(&mut self, arrival: &Arrival<'_>, number: u64, mtu: Option<u32>) {
        self.repetitions = 0;
        self.refused_from.take_if(|refused| *refused <= number);
        if arrival.first_sent.is_none() {
            // Packets that waited for a retransmission do not show that its sender goes on with new ones.
            self.run.take_if(|_| arrival.stamp.time >= self.went_back);
            self.start_timer(arrival.stamp.time);
        }
        self.next = Some(number + self.span(number, arrival.packet, mtu));
        if let Some(asked) = arrival.asked_again {
            self.ask_again(asked);
        }
    }

    /// A request is sent.
    pub(super) fn start_timer(&mut self, time: Time) {
        let Some(timeout) = self.ack_timeout else { return };
        if time.0.saturating_sub(self.started.0) >= timeout {
            self.started = time;
        }
    }

    /// Returns true if something asked for this request again.
    pub(super) fn is_request_asked(&self, packet: &Transport<'_>) -> bool {
        let number = extend(self.next, packet.sequence);
        self.is_asked(number) || packet.operation == PacketKind::ReadRequest && self.misses_response(number)
    }

    /// Returns true if the other end has acknowledged the request of this sequence number.
    pub(super) fn is_acknowledged(&self, sequence: u32) -> bool {
        self.acknowledged >= Some(extend(self.next, sequence))
    }

    /// Returns true if the response of this sequence number was asked for again.
    pub(super) fn is_response_asked(&self, sequence: u32) -> bool {
        let number = extend(self.next, sequence);
        self.asked_again(number).is_some()
    }

    /// Returns true if the other end may repeat at `now` an acknowledgement sent at `since`.
    pub(super) fn is_acknowledged_again(&self, packet: &Transport<'_>, since: Time, now: Time) -> bool {
        let number = extend(self.next, packet.sequence);
        let is_retransmission = self.went_back > since && self.went_back_to <= number;
        match packet.syndrome {
            // A receiver reports a gap once. When the packet has come, it can only be another one that is missing.
            Some(Syndrome::SequenceError | Syndrome::Failed(_)) => false,
            // No sender retransmits the packet before that.
            Some(Syndrome::NotReady { wait }) => is_retransmission && now.0 >= since.0.saturating_add(wait),
            // Packets that are retransmitted are acknowledged again, each of them, in the same words.
            _ => is_retransmission || now.0.saturating_sub(self.went_back.0) < SILENCE,
        }
    }

    /// Returns true if the receiver asked again for this request, or for an earlier one that was just retransmitted.
    fn is_asked(&self, number: u64) -> bool {
        [self.asked, self.run].into_iter().flatten().any(|from| number >= from)
    }

    /// Returns true if an end may go back to this request because of a report that came after the end went back last.
    fn is_reported(&self, number: u64) -> bool {
        self.reported.iter().any(|reported| may_begin_with(number, *reported))
    }

    /// Returns true if this request may be a requested retransmission: a sender takes some time to react to a refusal.
    fn may_answer(&self, number: u64, late: &Lateness) -> bool {
        let since = |time: Time| self.last_time.0.saturating_sub(time.0);
        let is_less = |time: u64, least: Option<u64>| least.is_some_and(|least| time < least / 4);
        let is_soon =
            is_less(since(self.refused_until), late.reaction) && is_less(since(late.overtaken), late.round_trip);
        self.is_asked(number) && !(self.run.is_none() && self.not_ready.is_none() && is_soon)
    }

    /// Returns true if an RDMA Read is retransmitted because a response is missing: a requester reacts at once.
    fn is_answer(&self, read: &RepeatedRequest) -> bool {
        let since = self.last_time.0.saturating_sub(self.answered_at.0);
        read.round_trip.is_none_or(|least| since <= least.saturating_mul(REACTIONS))
    }

    fn go_back(&mut self, number: u64) {
        self.start_timer(self.last_time);
        self.awaited.forget();
        // A run may have begun with packets from before the capture, which may just be late.
        let begins = self.run.is_none_or(|run| number < run) && self.passed.is_none_or(|passed| number != passed + 1);
        if begins {
            self.begin_again(number);
            self.reported.retain(|reported| !may_begin_with(number, *reported));
        }
        // What its sender goes on with was on its way when the receiver refused a packet before it.
        let is_answer = |refused: &mut u64| *refused == number || begins && *refused < number;
        self.asked.take_if(is_answer);
        self.not_ready.take_if(is_answer);
        self.again.take_request(number, self.last_time, self.awaited.least().unwrap_or(0));
        self.run = Some(number + 1);
        self.went_back = self.last_time;
    }

    /// Responses are asked for again.
    pub(super) fn ask_again(&mut self, asked: RepeatedResponses) {
        for read in self.reads.iter_mut().filter(|read| read.end > asked.from) {
            RepeatedResponses::merge_into(
                &mut read.asked_again,
                RepeatedResponses { from: read.first.max(asked.from), ..asked },
            );
        }
    }

    /// Returns when the response of this number was asked for again.
    fn asked_again(&self, number: u64) -> Option<Time> {
        let read = self.reads.iter().rev().find(|read| (read.first..read.end).contains(&number))?;
        read.asked_again.filter(|asked| number >= asked.from).map(|asked| asked.at)
    }

    /// Returns the indications in a response that is captured again (`is_seen`), or after a later one.
    pub(super) fn response(&mut self, number: u64, is_seen: bool, time: Time) -> Indications {
        let is_asked = self.asked_again(number).is_some_and(|at| time >= at);
        match (is_seen, is_asked) {
            (true, true) => [None, Some(RecoveryKind::Retransmitted)],
            (true, false) => {
                // The capture lacks the request that asked for it.
                self.ask_again(RepeatedResponses { from: number, at: time });
                [Some(RecoveryKind::CauseNotSeen), Some(RecoveryKind::Retransmitted)]
            }
            (false, true) => {
                let is_replaced = self.responded.is_some_and(|(last, at)| last > number && at <= time);
                [None, is_replaced.then_some(RecoveryKind::Replaced)]
            }
            (false, false) => [None; 2],
        }
    }

    /// Returns true if a later response, or another acknowledgement of a later request, may have reached the receiver
    /// before the response of this number: an implied negative acknowledgement.
    fn misses_response(&self, number: u64) -> bool {
        self.acknowledged.is_some_and(|acknowledged| acknowledged > number)
    }
}
