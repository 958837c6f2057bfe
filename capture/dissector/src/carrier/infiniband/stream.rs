//! The requests of one end, by their numbers, and the responses they get.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

use super::held::{Arrival, HeldPacket, Packets, RepeatedResponses};
use super::transport::{PacketKind, Target, Transport};
use crate::carrier::acknowledgement::AwaitedAcknowledgements;
use crate::carrier::operation::{OperationKind, Progress};
use crate::carrier::recovery::MissingPacket;
use crate::file::Time;

/// The most packets of a connection between an acknowledgement and the late packet that it acknowledges.
pub(super) const GRACE: u64 = 64;
/// A distance of packet numbers that no window spans.
pub(super) const FAR: u64 = 1 << 20;
/// After this many repetitions in a row, the sender must have started over with other numbers.
pub(super) const REPETITIONS: u32 = 1 << 18;
/// Holes that are remembered in case a packet comes after all.
const HOLES: usize = 32;
/// Read requests whose responses may still come, more than any adapter has outstanding.
const READS: usize = 256;
/// The most ranges of responses to one end's Read requests that are told apart; past that, a repetition counts as new.
const RANGES: usize = 1024;
/// The most ranges of requests that are sent again which are told apart.
const RUNS: usize = 64;
/// The most reports of missing packets that are remembered until their sender goes back because of them.
const REPORTS: usize = 16;
/// The possible path MTUs (IBTA), largest first.
const MTUS: [u32; 5] = [4096, 2048, 1024, 512, 256];

/// A Read request and the numbers its responses take.
#[derive(Clone, Debug)]
pub(super) struct ReadRequest {
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) length: u32,
    /// Numbers of the responses that were seen, as separate ranges in order.
    pub(super) seen: Vec<(u64, u64)>,
    pub(super) asked_again: Option<RepeatedResponses>,
    /// True if `end` rests on a guess of the path MTU, the largest that fits the request after it.
    pub(super) is_guessed: bool,
}

/// The RDMA Write that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) first: u64,
    pub(super) target: Target,
}

/// The requests that an end sends again after it went back.
#[derive(Debug, Default)]
pub(super) struct AgainRun {
    /// The first of them, and the number after the last that had been captured when it went back.
    first: u64,
    end: u64,
    /// True if the receiver had asked for the requests, and no copy of them was on its way: what the receiver refuses later is no copy from before.
    is_asked: bool,
    /// Numbers that were captured, as ranges in order; `None` if there were too many.
    captured: Option<Vec<(u64, u64)>>,
    /// The last request captured by some earlier times: the receiver's reports are not of what it has just been sent.
    passed: [(Time, u64); 2],
}

impl AgainRun {
    /// An end goes back to this number; all before `end` was captured before, or missed.
    fn begin(&mut self, first: u64, end: u64, is_asked: bool) {
        *self = Self { first, end, is_asked, captured: Some(Vec::new()), passed: [(Time(0), 0); 2] };
    }

    /// A request comes again. Its receiver takes so many nanoseconds at least to answer.
    pub(super) fn take(&mut self, number: u64, time: Time, least: u64) {
        if time.0.saturating_sub(self.passed[1].0.0) >= least {
            self.passed = [self.passed[1], (time, number)];
        }
        let Some(captured) = &mut self.captured else { return };
        if let Some((_, end)) = captured.last_mut().filter(|(_, end)| *end == number) {
            *end += 1;
        } else if captured.len() < RUNS {
            captured.push((number, number + 1));
        } else {
            self.captured = None;
        }
    }

    /// Returns true if the receiver had time to report the request of this number, after it had come again.
    fn has_passed(&self, number: u64, now: Time, least: u64) -> bool {
        self.passed.iter().any(|(time, last)| number <= *last && now.0.saturating_sub(time.0) >= least)
    }

    /// Returns true if the request was captured since the end went back, and `None` if that is not known, or if the end has not come
    /// so far.
    fn has(&self, number: u64) -> Option<bool> {
        let captured = self.captured.as_ref()?;
        captured.last().filter(|(_, end)| number < *end)?;
        Some(captured.iter().any(|(first, end)| (*first..*end).contains(&number)))
    }
}

/// One end's requests.
#[derive(Debug, Default)]
pub(super) struct RequestStream {
    /// The number the next request must have, extended to 64 bits; `None` before the first.
    pub(super) next: Option<u64>,
    /// The number of its first request, if connection set-up did not say it before that.
    pub(super) first: Option<u64>,
    /// The highest number that arrived without being seen, and the arrival at which that was noticed.
    pub(super) arrived: Option<(u64, u64)>,
    /// Time since which numbers have been acknowledged that were not seen then.
    pub(super) lags_since: Time,
    /// The highest number that the other end has acknowledged.
    pub(super) acknowledged: Option<u64>,
    /// The receiver throws away what comes after this number until this one comes.
    pub(super) refused_from: Option<u64>,
    /// Held requests: number to arrival.
    pub(super) held: BTreeMap<u64, u64>,
    /// Requests that the receiver refused; used if they turn out to have been accepted after all.
    pub(super) refused: Packets,
    pub(super) holes: VecDeque<(u64, u64)>,
    pub(super) reads: VecDeque<ReadRequest>,
    /// The highest number of a response that was captured, and when.
    pub(super) responded: Option<(u64, Time)>,
    /// Number of ranges in all of `reads`.
    pub(super) ranges: usize,
    pub(super) write: Option<Write>,
    pub(super) repetitions: u32,
    /// Time of its last request, or of the last response to one.
    pub(super) last_time: Time,
    /// Time of the other end's last acknowledgement of something that it had not acknowledged before.
    pub(super) progress: Time,
    /// Time of the other end's last answer of any kind.
    pub(super) answered_at: Time,
    /// Time of the other end's last refusal of a request, or the end of the pause for which it asked then.
    pub(super) refused_until: Time,
    /// Time of the last request that was sent again, and the number with which the sender began.
    pub(super) went_back: Time,
    pub(super) went_back_to: u64,
    /// The requests that it has sent again since then.
    pub(super) again: AgainRun,
    /// The last request that came after one that follows it, and was not sent again.
    pub(super) late: Option<u64>,
    /// The last request of a hole that had been given up when the request came.
    pub(super) passed: Option<u64>,
    /// For how many nanoseconds this end waits for an acknowledgement at least, if it said so.
    pub(super) ack_timeout: Option<u64>,
    /// Start of its timer, if it is one that nothing but a request starts, and only if it is not running.
    pub(super) started: Time,
    /// The receiver asked for this number and what follows it again, and it has not come yet.
    pub(super) asked: Option<u64>,
    /// True if no copy of the requests that the receiver asked for was on its way then: a later refusal is of a later copy.
    pub(super) is_asked_surely: bool,
    /// The latest numbers that the receiver reported as missing. One that a run passes which began before it may be sent again once more:
    /// the run began before its sender got the report.
    pub(super) reported: VecDeque<u64>,
    /// The receiver was not ready for this number, which has not come again. Its sender waits for a time of its own, at least as long as
    /// the receiver asked for.
    pub(super) not_ready: Option<u64>,
    /// The last request was sent again; the next one of those that are sent again has this number or a higher one.
    pub(super) run: Option<u64>,
    /// Time that the other end takes to acknowledge its requests.
    pub(super) awaited: AwaitedAcknowledgements,
    /// First number and length of a Read request whose number of responses is unknown, because the path MTU is.
    pub(super) unmeasured: Option<(u64, u32)>,
    /// The lowest number that was acknowledged or refused before its first request was captured.
    pub(super) answered: Option<NonZeroU64>,
    /// The lowest number of a packet that was retransmitted with a wrong checksum.
    pub(super) wrong_checksum: Option<u64>,
    /// True if the number of responses to a Read request was guessed, and nothing has shown the path MTU since.
    pub(super) guessed: bool,
}

impl RequestStream {
    /// The number that the receiver refused, if no packet with it was captured: its sender sent it all the same.
    pub(super) fn unseen(&self) -> Option<u64> {
        self.asked.filter(|asked| self.next == Some(*asked))
    }

    /// The end goes back to this number, or to the one before it that its receiver asked for.
    pub(super) fn begin_again(&mut self, number: u64) {
        let end = self.captured_end();
        self.went_back_to = number;
        let first = self.asked.map_or(number, |asked| asked.min(number));
        self.again.begin(first, end, self.asked.is_some() && self.is_asked_surely);
    }

    /// The receiver reports the request of this number as missing.
    pub(super) fn report(&mut self, number: u64) {
        if self.reported.len() == REPORTS {
            self.reported.pop_front();
        }
        self.reported.push_back(number);
    }

    /// Returns true unless it is certain that the receiver lacks a request before this number, and throws the request with it away.
    pub(super) fn is_awaited(&self, number: u64) -> bool {
        !self.is_asked_surely || self.asked.is_none_or(|asked| asked >= number)
    }

    /// The number after the last request that was captured, or 0.
    pub(super) fn captured_end(&self) -> u64 {
        let held = self.held.last_key_value().map(|(last, _)| last + 1);
        let refused = self.refused.packets.last_key_value().map(|(last, _)| last + 1);
        held.max(refused).max(self.next).unwrap_or(0)
    }

    /// Returns true if no request with this number was captured yet.
    pub(super) fn is_new(&self, number: u64) -> bool {
        number >= self.captured_end() || self.is_in_hole(number)
    }

    /// Returns true if the request with this number is among those that were skipped and have not come late.
    fn is_in_hole(&self, number: u64) -> bool {
        self.holes.iter().any(|(first, end)| (*first..*end).contains(&number))
    }

    /// Returns what the capture holds of a request that its receiver reports as missing, if that is known.
    pub(super) fn missing(&self, number: u64, now: Time) -> Option<MissingPacket> {
        let least = self.awaited.least().unwrap_or(0);
        let is_captured = self.next.is_some_and(|next| number < next) && !self.is_in_hole(number)
            || self.held.contains_key(&number)
            || self.refused.packets.contains_key(&number);
        let is_of_run = (self.again.first..self.again.end).contains(&number);
        Some(match is_captured {
            false => MissingPacket::NotCaptured,
            true if is_of_run && !self.again.has(number)? => MissingPacket::ThrownAway,
            true if is_of_run && !(self.again.is_asked && self.again.has_passed(number, now, least)) => return None,
            true if self.late == Some(number) => MissingPacket::Late,
            true => MissingPacket::Captured,
        })
    }

    /// Responses to Read requests before the last number that was acknowledged or refused, which were sent before that,
    /// and that were not seen. 0 if that is not known.
    pub(super) fn missed_responses(&self, mtu: Option<u32>) -> u64 {
        let Some(acknowledged) = self.acknowledged.filter(|_| mtu.is_some() && self.ranges < RANGES) else { return 0 };
        let reads = self.reads.iter().filter(|read| read.end(mtu) <= acknowledged);
        reads.map(|read| read.missing(mtu)).sum()
    }

    /// The path MTU is known, so what was guessed before is right or wrong. Returns how many numbers were taken for those of
    /// responses and are not: with a larger path MTU, the capture lacks the requests with these numbers.
    pub(super) fn measure(&mut self, mtu: u32) -> u64 {
        // The responses to the last Read request are counted before the request that follows them: they are no hole.
        if let Some(next) = self.next {
            self.expected(next, Some(mtu));
        }
        self.guessed = false;
        let wrong = |read: &mut ReadRequest| match std::mem::take(&mut read.is_guessed) {
            true => read.end.saturating_sub(read.first + responses(read.length, mtu)),
            false => 0,
        };
        self.reads.iter_mut().map(wrong).sum()
    }

    /// Returns true if something was sent at `next` or after it, while `next` itself is missing.
    pub(super) fn has_hole(&self) -> bool {
        self.next.is_some_and(|next| {
            let there = self.held.keys().chain(self.refused.packets.keys());
            !self.held.contains_key(&next)
                && (self.arrived.is_some_and(|(highest, _)| highest >= next) || there.into_iter().any(|n| *n > next))
        })
    }

    /// Takes what the receiver refused, except what it is known to have taken after all: the rest never arrived.
    pub(super) fn take_unaccepted(&mut self) -> Packets {
        self.refused.forget_before(self.next.unwrap_or_default());
        self.refused.take_from(self.arrived.map_or(0, |(highest, _)| highest + 1))
    }

    /// The number that the next request should have. If the responses to a Read request could not be counted, `number`
    /// itself shows it, provided that it fits one of the possible path MTUs. That MTU is a guess, so it is used for
    /// nothing else.
    pub(super) fn expected(&mut self, number: u64, mtu: Option<u32>) -> u64 {
        if self.next.is_none() {
            // If the capture begins in the middle, packets shortly before its first may come late.
            self.remember_hole(number - GRACE, number);
            self.first.get_or_insert(number);
        }
        let next = *self.next.get_or_insert(number);
        let Some((first, length)) = self.unmeasured.take() else { return next };
        let fitting = MTUS.into_iter().find(|mtu| first + responses(length, *mtu) == number);
        let mtu_is_unknown = mtu.is_none();
        match mtu.or(fitting) {
            Some(mtu) => {
                let end = first + responses(length, mtu);
                if let Some(read) = self.reads.iter_mut().rev().find(|read| read.first == first) {
                    read.end = end;
                    read.is_guessed = mtu_is_unknown;
                    self.guessed |= mtu_is_unknown;
                }
                self.next = Some(end);
                // With a larger MTU there are fewer responses, and a request between them and this one is late.
                let least = first + responses(length, MTUS[0]);
                if mtu_is_unknown && least < end {
                    self.remember_hole(least, end);
                }
                end
            }
            None => {
                self.unmeasured = Some((first, length));
                next
            }
        }
    }

    /// Returns true if a held request cannot be used yet because a request before it is missing. False does not say that it can.
    pub(super) fn has_hole_before(&self, held: &HeldPacket) -> bool {
        let ahead = |next: u64| extend(Some(next), (held.number & 0xff_ffff) as u32).wrapping_sub(next);
        let is_numbered = self.unmeasured.is_none() && self.answered.is_none() && !self.guessed;
        held.is_request
            && is_numbered
            && self.repetitions <= REPETITIONS
            && self.next.is_some_and(|next| (1..=FAR).contains(&ahead(next)))
    }

    /// Records that packets from `first` up to `end` are skipped, and may come late. If there are too many holes, the
    /// oldest is forgotten.
    pub(super) fn remember_hole(&mut self, first: u64, end: u64) {
        if let Some((_, last)) = self.holes.back_mut().filter(|(_, last)| *last == first) {
            *last = end;
            return;
        }
        if self.holes.len() == HOLES {
            self.holes.pop_front();
        }
        self.holes.push_back((first, end));
    }

    /// Returns true if this is a packet of a hole that was given up; it is then taken out of the hole.
    pub(super) fn is_late(&mut self, number: u64) -> bool {
        let Some(place) = self.holes.iter().position(|(first, end)| (*first..*end).contains(&number)) else {
            return false;
        };
        if let Some((first, end)) = self.holes.remove(place) {
            for (first, end) in [(first, number), (number + 1, end)] {
                if first < end {
                    self.remember_hole(first, end);
                }
            }
        }
        true
    }

    /// Packet numbers of a request: one for each packet of the answer to a Read request.
    pub(super) fn span(&mut self, number: u64, packet: &Transport<'_>, mtu: Option<u32>) -> u64 {
        let (PacketKind::ReadRequest, Some(target)) = (packet.operation, packet.target) else { return 1 };
        // Without a path MTU, the answer takes at most as many as with the smallest one.
        let span = responses(target.length, mtu.unwrap_or(256));
        let read = ReadRequest {
            first: number,
            end: number + span,
            length: target.length,
            seen: Vec::new(),
            asked_again: None,
            is_guessed: false,
        };
        if self.reads.len() == READS {
            self.ranges -= self.reads.pop_front().map_or(0, |read| read.seen.len());
        }
        self.reads.push_back(read);
        if mtu.is_some() || span == 1 {
            return span;
        }
        self.unmeasured = Some((number, target.length));
        1
    }

    /// Returns the operation of a request; `None` if it is part of something whose beginning is not in the capture.
    pub(super) fn kind<'a>(
        &mut self,
        number: u64,
        arrival: &Arrival<'a>,
        mtu: Option<u32>,
    ) -> Option<OperationKind<'a>> {
        let packet = &arrival.packet;
        match (packet.operation, packet.target) {
            (PacketKind::ReadRequest, Some(target)) => Some(OperationKind::ReadRequest {
                request: number,
                handle: target.handle,
                offset: target.offset,
                length: target.length,
            }),
            (PacketKind::Write, target) => {
                if let Some(target) = target {
                    self.write = Some(Write { first: number, target });
                }
                self.place(number, packet, mtu)
            }
            (PacketKind::Send, _) => Some(OperationKind::Send {
                first: packet.first,
                last: packet.last,
                data: packet.data,
                length: packet.length,
                invalidates: packet.invalidates,
                progress: Progress { sent: number, received: arrival.acknowledged },
            }),
            _ => None,
        }
    }

    /// Returns the place of a part of the current RDMA Write. Packet numbers show it, so a hole in the middle leaves just a
    /// hole in the data.
    pub(super) fn place<'a>(&self, number: u64, packet: &Transport<'a>, mtu: Option<u32>) -> Option<OperationKind<'a>> {
        let Write { first: beginning, target } = self.write?;
        let (length, whole) = (packet.length as u64, u64::from(target.length));
        let before = number.checked_sub(beginning)?;
        let at = match (packet.first, packet.last) {
            (true, _) => 0,
            (false, true) if before + 1 == responses(target.length, mtu?) => whole.checked_sub(length)?,
            (false, true) => return None,
            (false, false) => before * length,
        };
        if at + length > whole {
            return None;
        }
        let offset = target.offset.wrapping_add(at);
        let Transport { data, length, first, .. } = *packet;
        Some(OperationKind::Write { handle: target.handle, offset, data, length, first })
    }
}

impl ReadRequest {
    /// The number after its last response. The number that was recorded with the request is only a bound if the path
    /// MTU was unknown then.
    pub(super) fn end(&self, mtu: Option<u32>) -> u64 {
        mtu.map_or(self.end, |mtu| self.end.min(self.first + responses(self.length, mtu)))
    }

    /// Responses that were not seen.
    pub(super) fn missing(&self, mtu: Option<u32>) -> u64 {
        let seen: u64 = self.seen.iter().map(|(first, end)| end - first).sum();
        (self.end(mtu) - self.first).saturating_sub(seen)
    }

    /// Octets of the answer before this response. Every part but the last holds a path MTU of octets; the last one ends
    /// the answer. `None` if it may be the response to another request that was not seen.
    pub(super) fn place(&self, number: u64, packet: &Transport<'_>, mtu: Option<u32>) -> Option<u64> {
        let (length, whole) = (packet.length as u64, u64::from(self.length));
        let at = match packet.last {
            false => (number - self.first) * length,
            true if mtu.is_some() && number + 1 != self.end(mtu) => return None,
            true if mtu.is_none() && length != whole => return None,
            true => whole.checked_sub(length)?,
        };
        (at + length <= whole).then_some(at)
    }

    /// Records a response. False if it was seen before. `ranges` counts those of all Read requests.
    pub(super) fn note(&mut self, number: u64, ranges: &mut usize) -> bool {
        // Responses nearly always come in order.
        if let Some((_, end)) = self.seen.last_mut()
            && *end == number
        {
            *end += 1;
            return true;
        }
        if self.seen.iter().any(|(first, end)| (*first..*end).contains(&number)) {
            return false;
        }
        if *ranges < RANGES {
            *ranges -= self.seen.len();
            let place = self.seen.partition_point(|(first, _)| *first < number);
            self.seen.insert(place, (number, number + 1));
            self.seen.dedup_by(|later, earlier| {
                let meet = earlier.1 == later.0;
                if meet {
                    earlier.1 = later.1;
                }
                meet
            });
            *ranges += self.seen.len();
        }
        true
    }
}

/// The 64-bit number with these low 24 bits that is nearest to `near`.
pub(super) fn extend(near: Option<u64>, sequence: u32) -> u64 {
    const HALF: u64 = 1 << 23;
    // Numbers start well above zero, so that one before the first can be told from one far ahead.
    let near = near.unwrap_or(1 << 32 | u64::from(sequence));
    let base = near.wrapping_sub(HALF);
    base.wrapping_add(u64::from(sequence).wrapping_sub(base) & 0xff_ffff)
}

/// Packets that carry `length` octets: at least one.
pub(super) fn responses(length: u32, mtu: u32) -> u64 {
    u64::from(length.div_ceil(mtu.max(1)).max(1))
}

/// Numbers that a request takes, as far as they are known: of an RDMA Read request, one for each response.
pub(super) fn request_span(packet: &Transport<'_>, mtu: Option<u32>) -> u64 {
    match (packet.operation, packet.target, mtu) {
        (PacketKind::ReadRequest, Some(target), Some(mtu)) => responses(target.length, mtu),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_more_than_32_holes_the_oldest_is_forgotten() {
        let mut stream = RequestStream::default();
        for hole in 0..33 {
            stream.remember_hole(hole * 10, hole * 10 + 3);
        }
        assert!(!stream.is_late(0));
        assert!(stream.is_late(10));
    }

    #[test]
    fn late_packets_that_divide_a_hole_again_and_again_leave_32() {
        let mut stream = RequestStream::default();
        stream.remember_hole(0, 1 << 20);
        for number in (1..20_000).step_by(2) {
            stream.is_late(number);
            assert!(stream.holes.len() <= HOLES);
        }
        assert!(stream.is_late(30_000), "the rest of the hole is remembered");
    }

    #[test]
    fn a_hole_whose_packets_have_all_come_late_is_forgotten() {
        let mut stream = RequestStream::default();
        stream.remember_hole(7, 10);
        assert!([8, 7, 9].into_iter().all(|number| stream.is_late(number)));
        assert!(stream.holes.is_empty());
    }
}
