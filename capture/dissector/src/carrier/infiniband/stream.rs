//! The requests of one end by their numbers, and the responses to them.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

use super::reorder_buffer::{Arrival, BufferedPacket, Packets, RepeatedResponses};
use super::transport::{PacketKind, Target, Transport};
use crate::carrier::acknowledgement::AwaitedAcknowledgements;
use crate::carrier::operation::{OperationKind, Places, StreamProgress};
use crate::carrier::recovery::MissingPacket;
use crate::file::Time;

/// The most packets of a connection between an acknowledgement and the late acknowledged packet.
pub(super) const GRACE: u64 = 64;
/// A distance of packet numbers that no window spans.
pub(super) const FAR: u64 = 1 << 20;
/// After this many repetitions in a row, the sender must have started over with other numbers.
pub(super) const REPETITIONS: u32 = 1 << 18;
/// Gaps that are remembered in case a packet comes after all.
const GAPS: usize = 32;
/// Read requests whose responses may still come, more than any adapter has outstanding.
const READS: usize = 256;
/// The most ranges of responses to one end's Read requests that are told apart; past that, a repetition counts as new.
const RANGES: usize = 1024;
/// The most ranges of requests that are retransmitted which are told apart.
const RUNS: usize = 64;
/// The most reports of missing packets that are remembered until the sender goes back because of one.
const REPORTS: usize = 16;
/// The possible path MTUs (IBTA), largest first.
const MTUS: [u32; 5] = [4096, 2048, 1024, 512, 256];

/// A Read request, and the numbers of the responses.
#[derive(Clone, Debug)]
pub(super) struct ReadRequest {
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) length: u32,
    /// Numbers of the responses that were seen, as separate ranges in order.
    pub(super) seen: Vec<(u64, u64)>,
    pub(super) asked_again: Option<RepeatedResponses>,
    /// True if `end` rests on a guessed path MTU, the largest that fits the next request.
    pub(super) is_guessed: bool,
}

/// The RDMA Write that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) first: u64,
    pub(super) target: Target,
}

/// Requests that an end retransmits after going back to an earlier number.
#[derive(Debug, Default)]
pub(super) struct AgainRun {
    /// Number of the first request, and the number after the last request captured before the end went back.
    first: u64,
    end: u64,
    /// True if the receiver had asked for the requests, and no copy was on the way: what the receiver refuses later is
    /// no copy from before.
    is_asked: bool,
    /// Numbers that were captured, as ranges in order; `None` if there were too many.
    captured: Option<Vec<(u64, u64)>>,
    /// The last request captured by some earlier times: the receiver's reports are not about the requests of the last
    /// moment.
    passed: [(Time, u64); 2],
}

impl AgainRun {
    /// An end goes back to this number; all before `end` was captured before, or missed.
    fn begin_run(&mut self, first: u64, end: u64, is_asked: bool) {
        *self = Self { first, end, is_asked, captured: Some(Vec::new()), passed: [(Time(0), 0); 2] };
    }

    /// A request comes again. The receiver takes at least `least` nanoseconds to answer.
    pub(super) fn take_request(&mut self, number: u64, time: Time, least: u64) {
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

    /// Returns true if the receiver had time to report the request of this number after the retransmission.
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
    /// Number of the first captured request, unless connection setup gave that number before.
    pub(super) first: Option<u64>,
    /// The highest number that arrived without being seen, and the arrival at which that was noticed.
    pub(super) arrived: Option<(u64, u64)>,
    /// Time since which numbers have been acknowledged that were not seen then.
    pub(super) lags_since: Time,
    /// The highest number that the other end has acknowledged.
    pub(super) acknowledged: Option<u64>,
    /// The receiver discards what comes after this number until this one comes.
    pub(super) refused_from: Option<u64>,
    /// Held requests: number to arrival.
    pub(super) held: BTreeMap<u64, u64>,
    /// Requests that the receiver refused; used if the receiver turns out to have accepted them after all.
    pub(super) refused: Packets,
    pub(super) gaps: VecDeque<(u64, u64)>,
    pub(super) reads: VecDeque<ReadRequest>,
    /// The highest number of a response that was captured, and when.
    pub(super) responded: Option<(u64, Time)>,
    /// Number of ranges in all of `reads`.
    pub(super) ranges: usize,
    pub(super) write: Option<Write>,
    pub(super) repetitions: u32,
    /// Time of the last request, or of the last response to one.
    pub(super) last_time: Time,
    /// Time of the other end's last acknowledgement of a new request.
    pub(super) progress: Time,
    /// Time of the other end's last answer of any kind.
    pub(super) answered_at: Time,
    /// Time of the other end's last refusal of a request, or the end of the requested pause.
    pub(super) refused_until: Time,
    /// Time of the last request that was retransmitted, and the number with which the sender began.
    pub(super) went_back: Time,
    pub(super) went_back_to: u64,
    /// Requests retransmitted since then.
    pub(super) again: AgainRun,
    /// Last request that came after a later one without being a retransmission.
    pub(super) late: Option<u64>,
    /// The last request of a gap that had been given up when the request came.
    pub(super) passed: Option<u64>,
    /// Least number of nanoseconds that this end waits for an acknowledgement, if announced.
    pub(super) ack_timeout: Option<u64>,
    /// Start of the timer that only a request starts, and only while no timer runs.
    pub(super) started: Time,
    /// Number that the receiver asked for again, with all later ones, and that has not come yet.
    pub(super) asked: Option<u64>,
    /// True if no copy of the requested packets was on the way: a later refusal is of a later copy.
    pub(super) is_asked_surely: bool,
    /// The latest numbers that the receiver reported as missing. One that a run passes may be retransmitted once more
    /// if the run began before the report: the sender had not got the report then.
    pub(super) reported: VecDeque<u64>,
    /// The receiver was not ready for this number, which has not come again. The sender pauses for at least as long as
    /// the receiver asked for.
    pub(super) not_ready: Option<u64>,
    /// The last request was retransmitted; the next retransmitted request has this number or a higher one.
    pub(super) run: Option<u64>,
    /// Time that the other end takes to acknowledge requests of this end.
    pub(super) awaited: AwaitedAcknowledgements,
    /// First number and length of a Read request whose number of responses is unknown, because the path MTU is.
    pub(super) unmeasured: Option<(u64, u32)>,
    /// Lowest number that was acknowledged or refused before the first request of this end was captured.
    pub(super) answered: Option<NonZeroU64>,
    /// The lowest number of a packet that was retransmitted with a wrong checksum.
    pub(super) wrong_checksum: Option<u64>,
    /// True if the number of responses to a Read request was guessed, and nothing has shown the path MTU since.
    pub(super) guessed: bool,
}

impl RequestStream {
    /// Returns the number that the receiver refused, if no packet with that number was captured: the sender did send
    /// such a packet.
    pub(super) fn unseen(&self) -> Option<u64> {
        self.asked.filter(|asked| self.next == Some(*asked))
    }

    /// Notes that the end goes back to this number, or to the number before that the receiver asked for.
    pub(super) fn begin_again(&mut self, number: u64) {
        let end = self.captured_end();
        self.went_back_to = number;
        let first = self.asked.map_or(number, |asked| asked.min(number));
        self.again.begin_run(first, end, self.asked.is_some() && self.is_asked_surely);
    }

    /// The receiver reports the request of this number as missing.
    pub(super) fn report(&mut self, number: u64) {
        if self.reported.len() == REPORTS {
            self.reported.pop_front();
        }
        self.reported.push_back(number);
    }

    /// Returns true unless the receiver certainly lacks an earlier request, and so discards this one.
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
        number >= self.captured_end() || self.is_in_gap(number)
    }

    /// Returns true if the request with this number was skipped and has not come late.
    fn is_in_gap(&self, number: u64) -> bool {
        self.gaps.iter().any(|(first, end)| (*first..*end).contains(&number))
    }

    /// Returns the copies in the capture of a request that the receiver reports as missing, if known.
    pub(super) fn missing(&self, number: u64, now: Time) -> Option<MissingPacket> {
        let least = self.awaited.least().unwrap_or(0);
        let is_captured = self.next.is_some_and(|next| number < next) && !self.is_in_gap(number)
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
        let reads = self.reads.iter().filter(|read| read.answer_end(mtu) <= acknowledged);
        reads.map(|read| read.missing(mtu)).sum()
    }

    /// The path MTU is known, so what was guessed before is right or wrong. Returns the count of numbers that were
    /// wrongly taken for responses: with a larger path MTU, the capture lacks the requests with these numbers.
    pub(super) fn measure(&mut self, mtu: u32) -> u64 {
        // The responses to the last Read request are counted before the request that follows them: they are no gap.
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

    /// Goes on after the gap at the next number: with the first packet that is available, or after what is known to
    /// have arrived. Returns the numbers that are skipped, if the next number was known.
    pub(super) fn skip_gap(&mut self) -> Option<Places> {
        let next = self.next.unwrap_or_default();
        // Packets buffered under a lower number have been passed.
        let held = self.held.range(next..).next().map(|(number, _)| *number);
        let refused = self.refused.packets.range(next..).next().map(|(number, _)| *number);
        let arrived = self.arrived.map(|(highest, _)| highest + 1).filter(|end| *end > next);
        let Some(end) = held.into_iter().chain(refused).chain(arrived).min() else {
            // Nothing is known about this end, so what waits for it is used as it is.
            self.next = None;
            return None;
        };
        self.refused_from.take_if(|refused| *refused < end);
        let is_known = self.next.replace(end).is_some();
        if is_known && end > next {
            self.remember_gap(next, end);
            return Some(Places { first: next, end });
        }
        None
    }

    /// Returns the key of the buffered request that would end a wait for this end.
    pub(super) fn awaited_key(&self) -> Option<u64> {
        match self.next {
            Some(next) => self.held.get(&next).copied(),
            None => self.held.first_key_value().map(|(_, key)| *key),
        }
    }

    /// Returns true if a packet at or after `next` was seen but `next` was not.
    pub(super) fn has_gap(&self) -> bool {
        self.next.is_some_and(|next| {
            let there = self.held.keys().chain(self.refused.packets.keys());
            !self.held.contains_key(&next)
                && (self.arrived.is_some_and(|(highest, _)| highest >= next) || there.into_iter().any(|n| *n > next))
        })
    }

    /// Removes the requests that the receiver refused, except those known to have been accepted: the rest never
    /// arrived.
    pub(super) fn take_unaccepted(&mut self) -> Packets {
        self.refused.forget_before(self.next.unwrap_or_default());
        self.refused.take_from(self.arrived.map_or(0, |(highest, _)| highest + 1))
    }

    /// The number that the next request should have. If the responses to a Read request could not be counted, `number`
    /// itself is the next number, provided that one of the possible path MTUs fits. That MTU is a guess, and has no
    /// other use.
    pub(super) fn expected(&mut self, number: u64, mtu: Option<u32>) -> u64 {
        if self.next.is_none() {
            // If the capture begins in the middle, packets shortly before its first may come late.
            self.remember_gap(number - GRACE, number);
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
                    self.remember_gap(least, end);
                }
                end
            }
            None => {
                self.unmeasured = Some((first, length));
                next
            }
        }
    }

    /// Returns true if a buffered request has to wait because an earlier request is missing. With false, the request
    /// may have to wait for another reason.
    pub(super) fn has_gap_before(&self, held: &BufferedPacket) -> bool {
        let ahead = |next: u64| extend(Some(next), (held.number & 0xff_ffff) as u32).wrapping_sub(next);
        let is_numbered = self.unmeasured.is_none() && self.answered.is_none() && !self.guessed;
        held.is_request
            && is_numbered
            && self.repetitions <= REPETITIONS
            && self.next.is_some_and(|next| (1..=FAR).contains(&ahead(next)))
    }

    /// Records that packets from `first` up to `end` are skipped, and may come late. If there are too many gaps, the
    /// oldest is forgotten.
    pub(super) fn remember_gap(&mut self, first: u64, end: u64) {
        if let Some((_, last)) = self.gaps.back_mut().filter(|(_, last)| *last == first) {
            *last = end;
            return;
        }
        if self.gaps.len() == GAPS {
            self.gaps.pop_front();
        }
        self.gaps.push_back((first, end));
    }

    /// Returns true if this is a packet of a gap that was given up; the number is then removed from the gap.
    pub(super) fn is_late(&mut self, number: u64) -> bool {
        let Some(place) = self.gaps.iter().position(|(first, end)| (*first..*end).contains(&number)) else {
            return false;
        };
        if let Some((first, end)) = self.gaps.remove(place) {
            for (first, end) in [(first, number), (number + 1, end)] {
                if first < end {
                    self.remember_gap(first, end);
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

    /// Returns the operation of a request; `None` for a later part of an operation whose beginning is not in the
    /// capture.
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
                progress: StreamProgress { sent: number, received: arrival.acknowledged },
            }),
            _ => None,
        }
    }

    /// Returns the place of a part of the current RDMA Write. Packet numbers show the place, so a gap in the middle is
    /// only a gap in the data.
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
    /// Returns the number after the last response. The number that was recorded with the request is only a bound if the
    /// path MTU was unknown then.
    pub(super) fn answer_end(&self, mtu: Option<u32>) -> u64 {
        mtu.map_or(self.end, |mtu| self.end.min(self.first + responses(self.length, mtu)))
    }

    /// Responses that were not seen.
    pub(super) fn missing(&self, mtu: Option<u32>) -> u64 {
        let seen: u64 = self.seen.iter().map(|(first, end)| end - first).sum();
        (self.answer_end(mtu) - self.first).saturating_sub(seen)
    }

    /// Octets of the answer before this response. Every part but the last holds a path MTU of octets; the last one ends
    /// the answer. Returns `None` if the response may answer another request that was not seen.
    pub(super) fn place(&self, number: u64, packet: &Transport<'_>, mtu: Option<u32>) -> Option<u64> {
        let (length, whole) = (packet.length as u64, u64::from(self.length));
        let at = match packet.last {
            false => (number - self.first) * length,
            true if mtu.is_some() && number + 1 != self.answer_end(mtu) => return None,
            true if mtu.is_none() && length != whole => return None,
            true => whole.checked_sub(length)?,
        };
        (at + length <= whole).then_some(at)
    }

    /// Records a response. Returns false if the response was seen before. `ranges` is the number of ranges of all Read
    /// requests.
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

/// Returns the count of numbers that a request takes, as far as known: of an RDMA Read request, one for each response.
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
    fn of_more_than_32_gaps_the_oldest_is_forgotten() {
        let mut stream = RequestStream::default();
        for gap in 0..33 {
            stream.remember_gap(gap * 10, gap * 10 + 3);
        }
        assert!(!stream.is_late(0));
        assert!(stream.is_late(10));
    }

    #[test]
    fn late_packets_divide_a_gap_into_at_most_32() {
        let mut stream = RequestStream::default();
        stream.remember_gap(0, 1 << 20);
        for number in (1..20_000).step_by(2) {
            stream.is_late(number);
            assert!(stream.gaps.len() <= GAPS);
        }
        assert!(stream.is_late(30_000), "the rest of the gap is remembered");
    }

    #[test]
    fn a_gap_whose_packets_have_all_come_late_is_forgotten() {
        let mut stream = RequestStream::default();
        stream.remember_gap(7, 10);
        assert!([8, 7, 9].into_iter().all(|number| stream.is_late(number)));
        assert!(stream.gaps.is_empty());
    }
}
