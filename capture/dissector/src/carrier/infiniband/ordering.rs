//! From the captured packets of one connection to the operations of both ends: in order, and once each.
//!
//! A queue pair numbers the requests that it sends (Send, Write, Read request). A Read request takes one number for
//! each packet of the answer, and responses and acknowledgements carry the number of the request. The numbers have 24
//! bits and are extended to 64. A number is compared with the next expected one:
//!
//! - **Below**: a repetition. A repetition is counted and changes nothing, unless the number belongs to a gap that was
//!   given up.
//! - **Equal**: the packet goes out at once.
//! - **Above**: there is a gap. The packet is late, was lost on the way, or was missed by the capture. The connection
//!   is stopped: all later packets are buffered, in order, so that no reply overtakes the data that belongs to the reply.
//!
//! Two answers explain a gap:
//!
//! - A **negative acknowledgement** says that the receiver discarded everything after the gap. Such packets are set
//!   aside, and their repetitions count. Packets that turn out to have been accepted are used after all.
//! - An **acknowledgement** of the gap says that the receiver has the packet, so the capture missed the packet. A
//!   capture may show the two directions out of order, so the gap is given up as [`OperationKind::Lost`] only 64
//!   packets later, or when the connection ends.
//!
//! Both streams of a connection are joined by the content of packets. A reply to an unknown call, or a Write to memory
//! that nobody advertised, may only be early: the handler refuses such an operation, and is asked again when more has
//! come. With the last attempt, the handler has to take the operation.
//!
//! The path MTU says how many numbers a Read's answer takes. The MTU is in the connection request, or is learnt from
//! any packet but the last of a message.
//!
//! At most 4096 packets and 8 MiB are buffered per connection; past that, a gap is given up at once. One `Account` bounds
//! all connections together.

use super::answers::AnswerMoment;
use super::backlog::{Backlog, BlockedPacket, Early};
use super::checksums::RetransmittedPacket;
use super::delivery::PacketDelivery;
use super::loss_account::PacketPosition;
use super::operation_sink::{LastOffer, OperationSink};
use super::packet_duplicates::PacketDuplicates;
use super::reorder_buffer::{Arrival, RepeatedResponses};
use super::stream::extend;
use super::transport::{PacketKind, Transport};
use crate::carrier::acknowledgement::Acknowledgements;
use crate::carrier::connection::Counts;
use crate::carrier::duplicates::{Duplicates, RecentPackets, SentPacket};
use crate::carrier::operation::{CutOctets, Origin, Side, Sides};
use crate::file::Time;

/// Puts the packets of one connection in order.
#[derive(Debug, Default)]
pub(super) struct Ordering {
    delivery: PacketDelivery,
    backlog: Backlog,
    duplicates: PacketDuplicates,
}

impl Ordering {
    /// Sets the number that an end will begin with, from connection setup.
    pub(super) fn begin_at(&mut self, from: Side, sequence: u32) {
        self.delivery.stream_mut(from).next = Some(extend(None, sequence));
    }

    /// Sets the most octets that a packet carries, from connection setup.
    pub(super) const fn set_mtu(&mut self, mtu: Option<u32>) {
        self.delivery.set_mtu(mtu);
    }

    /// Sets the duplicates of the packets that set the connection up.
    pub(super) const fn set_duplicates(&mut self, setup: Duplicates) {
        self.duplicates.set_setup(setup);
    }

    /// Sets for how many nanoseconds at least both ends wait for an acknowledgement, from connection setup.
    pub(super) const fn set_ack_timeout(&mut self, timeout: Option<u64>) {
        self.delivery.stream_mut(Side::Active).ack_timeout = timeout;
        self.delivery.stream_mut(Side::Passive).ack_timeout = timeout;
    }

    /// Returns true if no packet of an end was captured.
    pub(super) const fn is_silent(&self, from: Side) -> bool {
        self.delivery.account().counts().get(from).packets == 0
    }

    /// Returns true if the first request of an end that was seen has another number than the setup says.
    pub(super) fn is_joined(&self, from: Side, sequence: u32) -> bool {
        self.delivery.stream(from).first.is_some_and(|first| (first & 0xff_ffff) as u32 != sequence)
    }

    /// Returns the number that the next request of an end should have, if known.
    #[must_use]
    pub(super) fn next(&self, from: Side) -> Option<u32> {
        self.delivery.stream(from).next.map(|next| (next & 0xff_ffff) as u32)
    }

    /// Returns the time of an earlier capture of a packet, if this is a duplicate that nobody retransmitted. Duplicates are
    /// counted, and then left out.
    #[inline]
    pub(super) fn original(
        &mut self,
        sent: SentPacket,
        packet: &Transport<'_>,
        content: u64,
        recent: &mut RecentPackets,
    ) -> Option<Time> {
        let original = self.duplicates.find_original(sent, packet, content, recent, self.delivery.streams())?;
        self.delivery.account_mut().count_duplicate(sent.from);
        Some(original)
    }

    /// Takes the next packet of the capture (`octets` from the BTH on; `length` on the wire) and passes the operations
    /// that are complete to `sink`. An operation that is too early for `sink` is offered again later.
    pub(super) fn packet<'a, S: OperationSink>(
        &mut self,
        origin: Origin,
        octets: CutOctets<'a>,
        packet: &'a Transport<'a>,
        sink: &mut S,
    ) {
        let (Origin { from, stamp }, CutOctets { octets, length }) = (origin, octets);
        self.learn(origin, packet, sink);
        let acknowledged = self.delivery.stream(from.other()).acknowledged;
        let mut arrival = Arrival {
            from,
            stamp,
            began: stamp,
            octets,
            length,
            retransmitted: 0,
            first_sent: None,
            silence: 0,
            acknowledged,
            asked_again: None,
            packet,
        };
        if packet.is_request() && self.note_request(&mut arrival, sink) {
            return;
        }
        if !self.backlog.is_empty() {
            // A repetition changes nothing, and neither does an answer to a request that was already used.
            let is_free = !packet.is_request() || self.delivery.is_repetition(&arrival);
            let is_used = is_free && self.delivery.deliver(&arrival, sink).is_ok();
            if !is_used && !self.delivery.refuse(&arrival) {
                self.hold(&arrival);
            }
        } else if let Err(early) = self.delivery.deliver(&arrival, sink)
            && !self.delivery.refuse(&arrival)
        {
            self.delivery.account_mut().count_early(from, matches!(early, Early::Gap(_)));
            self.hold(&arrival);
        }
        if !self.backlog.is_empty() {
            self.drain(sink);
            while self.backlog.is_overdue(self.delivery.streams()) {
                self.give_up(sink);
                self.drain(sink);
            }
        }
    }

    /// Counts a packet, and learns from the packet about the other end's requests.
    #[inline]
    fn learn<S: OperationSink>(&mut self, origin: Origin, packet: &Transport<'_>, sink: &mut S) {
        let Origin { from, stamp } = origin;
        let moment = AnswerMoment { time: stamp.time, arrivals: self.backlog.count_arrival() };
        self.delivery.account_mut().count_packet(from);
        let mtu = self.delivery.mtu();
        if let Some(refused) = self.delivery.learn(from, packet, moment) {
            self.backlog.move_refused(refused, self.delivery.stream_mut(from.other()));
        }
        if mtu.is_none() {
            self.delivery.measure(stamp, sink);
        }
    }

    /// Notes what a packet of the requester shows before the packet is used. Returns true if the packet is kept already.
    #[inline]
    fn note_request<S: OperationSink>(&mut self, arrival: &mut Arrival<'_>, sink: &mut S) -> bool {
        let Origin { from, stamp } = arrival.origin();
        let last = &mut self.delivery.stream_mut(from).last_time;
        arrival.silence = stamp.time.0.saturating_sub(last.0);
        *last = stamp.time.max(*last);
        self.delivery.await_acknowledgement(arrival, self.backlog.arrivals(), sink);
        let is_early = self.delivery.is_acknowledged_before(arrival);
        self.delivery.account_mut().count_early(from.other(), is_early);
        if self.is_kept(arrival, sink) {
            return true;
        }
        let number = self.delivery.number(arrival);
        let stream = self.delivery.stream_mut(from);
        let is_awaited = stream.is_awaited(number);
        stream.refused_from.take_if(|refused| *refused == number && is_awaited);
        if stream.run.is_some() && arrival.first_sent.is_none() && number >= stream.captured_end() {
            stream.run = None;
        }
        false
    }

    /// Handles a request that was seen before. A buffered request keeps its place; of a request that the receiver
    /// refused, the new transmission counts. Returns true if the request was handled.
    fn is_kept<S: OperationSink>(&mut self, arrival: &mut Arrival<'_>, sink: &mut S) -> bool {
        let Self { delivery, backlog, .. } = self;
        let stream = delivery.stream(arrival.from);
        if stream.held.is_empty() && stream.refused.packets.is_empty() {
            return false;
        }
        let (number, mtu) = (delivery.number(arrival), delivery.mtu());
        if backlog.repeat_request(arrival, number, stream) {
            delivery.repeat(arrival, number, sink);
            return true;
        }
        if let Some(held) = delivery.stream_mut(arrival.from).refused.remove(number) {
            arrival.retransmitted = held.retransmitted + 1;
            arrival.first_sent = Some(held.first_sent());
            arrival.began = held.began;
            delivery.repeat_discarded(arrival, &held, number, sink);
            return false;
        }
        let stream = delivery.stream(arrival.from);
        let asked = RepeatedResponses { from: number, at: arrival.stamp.time };
        if arrival.packet.operation == PacketKind::ReadRequest && backlog.ask_read_again(asked, stream, mtu) {
            delivery.repeat(arrival, number, sink);
            return true;
        }
        if let Some(later) = backlog.first_after(number, stream, mtu)
            && let Some(signs) = delivery.fill_gap(arrival, number, later)
        {
            arrival.first_sent = Some(later);
            delivery.show(arrival, number, signs, sink);
        }
        false
    }

    /// Emits everything that is still buffered, at the end of the connection or of the capture.
    pub(super) fn finish<S: OperationSink>(&mut self, sink: &mut S) {
        let unseen = [Side::Active, Side::Passive].map(|side| (side, self.delivery.stream(side).unseen()));
        self.give_all(sink);
        for (side, number) in unseen {
            // If it was seen among the buffered packets, it was counted above.
            if number.is_some() && self.delivery.stream(side).unseen() == number {
                self.delivery.account_mut().count_missed(side);
            }
        }
    }

    /// Emits everything that is buffered.
    fn give_all<S: OperationSink>(&mut self, sink: &mut S) {
        self.drain(sink);
        while !self.backlog.is_empty() {
            self.give_up(sink);
            self.drain(sink);
        }
        for side in [Side::Active, Side::Passive] {
            let unaccepted = self.delivery.stream_mut(side).take_unaccepted();
            while !self.delivery.stream(side).refused.packets.is_empty() {
                self.skip_gap(side, sink);
            }
            // Requests that were acknowledged but never seen.
            if self.delivery.stream(side).has_gap() {
                self.skip_gap(side, sink);
            }
            self.delivery.lose_responses(side, sink);
            self.delivery.give_unaccepted(unaccepted, sink);
        }
    }

    /// Octets of memory taken by what waits.
    #[must_use]
    pub(super) fn buffered_octets(&self) -> usize {
        self.backlog.octets() + self.delivery.octets()
    }

    /// Emits everything that is buffered, and no longer waits for responses.
    pub(super) fn let_go<S: OperationSink>(&mut self, sink: &mut S) {
        // They may still come again.
        for side in [Side::Active, Side::Passive] {
            _ = self.delivery.stream_mut(side).take_unaccepted();
        }
        self.give_all(sink);
        for side in [Side::Active, Side::Passive] {
            let stream = self.delivery.stream_mut(side);
            stream.reads.clear();
            stream.ranges = 0;
        }
    }

    /// Returns the position of the packet that was retransmitted in this frame before an acknowledgement came.
    pub(super) fn take_unacknowledged(&mut self, frame: u64) -> Option<PacketPosition> {
        self.delivery.account_mut().take_unacknowledged(frame)
    }

    /// Takes the verdict on the checksum of a packet that was retransmitted before an acknowledgement came.
    pub(super) fn take_verdict(&mut self, packet: &RetransmittedPacket, is_right: bool) {
        self.delivery.take_verdict(packet, is_right);
    }

    /// Returns the times that an end takes to acknowledge, if more is known than before.
    #[inline]
    pub(super) fn take_measured(&mut self, by: Side) -> Option<Acknowledgements> {
        self.delivery.take_measured(by)
    }

    /// Counts by sender, once all has come. `are_recorded` returns true for an end whose checksums the capture holds.
    pub(super) fn finished_counts(&self, are_recorded: impl Fn(Side) -> bool) -> Sides<Counts> {
        self.delivery.finished_counts(are_recorded)
    }

    fn hold(&mut self, arrival: &Arrival<'_>) {
        let number = self.delivery.number(arrival);
        self.backlog.hold(arrival, number, self.delivery.stream_mut(arrival.from));
    }

    /// Uses what is buffered, as long as nothing is missing.
    fn drain<S: OperationSink>(&mut self, sink: &mut S) {
        while let Some(key) = self.backlog.first_key()
            && self.advance(key, sink)
        {}
        if self.backlog.is_empty() {
            self.backlog.unblock();
        }
    }

    /// Uses the first buffered packet, or the packet that blocks the first. Follows at most two such dependencies.
    /// Returns false if none can be used.
    fn advance<S: OperationSink>(&mut self, first: u64, sink: &mut S) -> bool {
        let mut key = first;
        for _ in 0..3 {
            let Err(early) = self.try_held(key, false, sink) else { return true };
            self.backlog.block(key, early);
            match self.delivery.stream(early.side()).awaited_key() {
                Some(awaited) => key = awaited,
                None => return matches!(early, Early::Unknown(side) if self.advance_answers(side, sink)),
            }
        }
        false
    }

    /// Uses the first buffered answer of an end whose request has been used since. Returns true if there is one.
    fn advance_answers<S: OperationSink>(&mut self, side: Side, sink: &mut S) -> bool {
        self.backlog.first_answer(side).is_some_and(|answer| self.try_held(answer, false, sink).is_ok())
    }

    fn try_held<S: OperationSink>(&mut self, key: u64, last: bool, sink: &mut S) -> Result<(), Early> {
        if let Some(held) = self.backlog.get(key)
            && self.delivery.stream(held.from).has_gap_before(held)
        {
            return Err(Early::Gap(held.from));
        }
        let Some(held) = self.backlog.remove(key) else { return Ok(()) };
        let Ok(packet) = Transport::decode(&held.octets, held.length) else { return Ok(()) };
        let (arrival, delivery) = (held.arrival(&packet), &mut self.delivery);
        let delivered =
            if last { delivery.deliver(&arrival, &mut LastOffer(sink)) } else { delivery.deliver(&arrival, sink) };
        match delivered {
            Ok(()) => {
                let stream = delivery.stream_mut(held.from);
                // After renumbering, another packet may be buffered under this number.
                if stream.held.get(&held.number) == Some(&key) {
                    stream.held.remove(&held.number);
                }
            }
            Err(_) => self.backlog.put_back(key, held),
        }
        delivered
    }

    /// Ends the wait that holds up the others.
    fn give_up<S: OperationSink>(&mut self, sink: &mut S) {
        let blocked = self.backlog.blocked();
        let awaited = blocked.map(|blocked| blocked.key).filter(|key| self.backlog.get(*key).is_some());
        let Some(key) = awaited.or(self.backlog.first_key()) else { return };
        // The packet that is referred to may be in a gap of the other end.
        if let Some(BlockedPacket { reason: Early::Unknown(side), .. }) = blocked
            && self.delivery.stream(side).has_gap()
        {
            return self.skip_gap(side, sink);
        }
        let Err(early) = self.try_held(key, true, sink) else { return };
        match self.delivery.stream(early.side()).awaited_key() {
            Some(awaited) => _ = self.try_held(awaited, true, sink),
            None => self.skip_gap(early.side(), sink),
        }
    }

    /// Goes on after the gap at the next number: with the first packet that is available, or after what is known to
    /// have arrived.
    fn skip_gap<S: OperationSink>(&mut self, side: Side, sink: &mut S) {
        if let Some(gap) = self.delivery.stream_mut(side).skip_gap() {
            let missed = gap.end - gap.first - self.backlog.later_responses(side, gap);
            let stamp = self.backlog.first_stamp().unwrap_or_default();
            self.delivery.account_mut().lose(Origin { from: side, stamp }, missed, gap, sink);
        }
        self.delivery.take_refused(side, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::{REPETITIONS, ReadRequest};
    use super::super::transport::LEN;
    use super::*;
    use crate::carrier::acknowledgement::{Acknowledgement, AcknowledgementOrder};
    use crate::carrier::handler::Taken;
    use crate::carrier::operation::{Operation, OperationKind, Stamp};

    /// A sink that accepts everything, and counts losses.
    #[derive(Default)]
    struct All(u64);

    impl OperationSink for All {
        fn take_operation(&mut self, operation: Operation<'_>, _last: bool) -> Taken {
            self.0 += u64::from(matches!(operation.kind, OperationKind::Lost));
            Taken::Done
        }

        fn acknowledged(&mut self, _by: Origin, _acknowledgement: Acknowledgement) {}

        fn acknowledged_early(&mut self, _packet: Origin, _order: AcknowledgementOrder) {}
    }

    const SEND: u8 = 0x04;
    const READ_REQUEST: u8 = 0x0c;
    const READ_MIDDLE: u8 = 0x0e;
    const READ_ONLY: u8 = 0x10;
    const ACKNOWLEDGE: u8 = 0x11;

    impl Ordering {
        /// Returns the losses that the packet shows.
        fn give(&mut self, from: Side, opcode: u8, sequence: u32, rest: &[u8]) -> u64 {
            self.give_at(0, from, (opcode, sequence), rest)
        }

        /// The same at this time in milliseconds.
        fn give_at(&mut self, time: u64, from: Side, (opcode, sequence): (u8, u32), rest: &[u8]) -> u64 {
            let mut octets = vec![0; LEN];
            octets[0] = opcode;
            octets[9..12].copy_from_slice(&sequence.to_be_bytes()[1..]);
            octets.extend(rest);
            let packet = Transport::decode(&octets, octets.len()).unwrap();
            let mut sink = All::default();
            let stamp = Stamp { frame: 0, time: Time(time * 1_000_000) };
            let octets = CutOctets { octets: &octets, length: octets.len() };
            self.packet(Origin { from, stamp }, octets, &packet, &mut sink);
            sink.0
        }

        /// A Read request for this many octets.
        fn ask(&mut self, from: Side, sequence: u32, length: u32) {
            self.ask_at(0, from, sequence, length);
        }

        fn ask_at(&mut self, time: u64, from: Side, sequence: u32, length: u32) {
            self.give_at(time, from, (READ_REQUEST, sequence), &[&[0; 12][..], &length.to_be_bytes()].concat());
        }
    }

    fn begun() -> Ordering {
        let mut ordering = Ordering::default();
        ordering.set_mtu(Some(256));
        for side in [Side::Active, Side::Passive] {
            ordering.begin_at(side, 0);
        }
        ordering
    }

    #[test]
    fn packets_that_wait_are_accounted_for_until_they_are_used() {
        for refused in [false, true] {
            let mut both = begun();
            for side in [Side::Active, Side::Passive] {
                if refused {
                    both.give(side.other(), ACKNOWLEDGE, 0, &[0x60, 0, 0, 0]);
                }
                let mut one = 0;
                for (sequence, length) in [(1, 100), (2, 5100)] {
                    let before = both.buffered_octets();
                    both.give(side, SEND, sequence, &vec![0; length]);
                    let held = both.buffered_octets() - before;
                    assert!(held > length, "{held} for {length} octets");
                    assert!(one == 0 || held == one + 5000, "{held} after {one}");
                    one = held;
                }
            }
            for side in [Side::Active, Side::Passive] {
                both.give(side, SEND, 0, &[]);
                // The refused packets come again.
                for sequence in [1, 2] {
                    both.give(side, SEND, sequence, &[]);
                }
                assert!(both.delivery.stream(side).held.is_empty());
            }
            assert_eq!(both.buffered_octets(), 0);
        }
    }

    #[test]
    fn what_was_refused_is_accounted_for_until_it_was_passed() {
        let mut ordering = begun();
        ordering.give(Side::Passive, ACKNOWLEDGE, 0, &[0x60, 0, 0, 0]);
        for sequence in [2, 6] {
            ordering.give(Side::Active, SEND, sequence, &[0; 100]);
        }
        // It takes the numbers of four packets.
        ordering.ask(Side::Active, 0, 1024);
        ordering.let_go(&mut All::default());
        assert_eq!(ordering.buffered_octets(), 0);
        assert_eq!(
            ordering.delivery.account().counts().active.missed,
            0,
            "nothing says that the receiver took the last one"
        );
        assert_eq!(ordering.next(Side::Active), Some(4));
    }

    /// The responses show that one packet took the numbers 1 to 4.
    #[test]
    fn a_read_request_that_the_capture_lacks_is_one_packet() {
        let mut ordering = begun();
        ordering.give(Side::Active, SEND, 0, &[]);
        for (number, opcode) in (1..).zip([0x0d, READ_MIDDLE, READ_MIDDLE, 0x0f]) {
            ordering.give(Side::Passive, opcode, number, &[0; 260]);
        }
        ordering.give(Side::Active, SEND, 5, &[]);
        ordering.give(Side::Passive, ACKNOWLEDGE, 5, &[0x1f, 0, 0, 0]);
        ordering.let_go(&mut All::default());
        assert_eq!(ordering.delivery.account().counts().active.missed, 1);
    }

    #[test]
    fn read_requests_and_what_came_of_them_are_accounted_for() {
        let mut ordering = begun();
        for side in [Side::Active, Side::Passive] {
            let mut sequence = 0;
            for _ in 0..256 {
                let before = ordering.buffered_octets();
                ordering.ask(side, sequence, 1024);
                assert_eq!(ordering.buffered_octets() - before, size_of::<ReadRequest>());
                // Two ranges, because the response between them is missing; then they become one.
                for (response, ranges) in [(0, 1), (2, 2), (1, 1)] {
                    ordering.give(side.other(), READ_MIDDLE, sequence + response, &[0; 256]);
                    assert_eq!(
                        ordering.buffered_octets() - before,
                        size_of::<ReadRequest>() + ranges * size_of::<(u64, u64)>()
                    );
                }
                sequence += 4;
            }
            // No more are remembered.
            let before = ordering.buffered_octets();
            for _ in 0..10 {
                ordering.ask(side, sequence, 1024);
                ordering.give(side.other(), READ_MIDDLE, sequence, &[0; 256]);
                sequence += 4;
            }
            assert_eq!(ordering.buffered_octets(), before);
        }
        ordering.let_go(&mut All::default());
        assert_eq!(ordering.buffered_octets(), 0);
    }

    /// The requests wait for an earlier packet. The sender goes back once, to the second response of the first RDMA
    /// Read.
    #[test]
    fn rdma_reads_repeated_while_waiting_are_one_implied_nak() {
        let mut ordering = begun();
        ordering.ask(Side::Active, 1, 768);
        ordering.ask(Side::Active, 4, 256);
        ordering.give(Side::Passive, ACKNOWLEDGE, 4, &[0x1f, 0, 0, 0]);
        ordering.ask(Side::Active, 2, 512);
        ordering.ask(Side::Active, 4, 256);
        ordering.give(Side::Active, SEND, 0, &[]);
        let Counts { retransmitted, implied_naks, causes_not_seen, .. } = ordering.delivery.account().counts().active;
        assert_eq!((retransmitted, implied_naks, causes_not_seen), (2, 1, 0));
        assert_eq!(ordering.buffered_octets(), size_of::<ReadRequest>() * 2);
    }

    /// The first response is missing all the while. Others come, which the requester cannot take.
    #[test]
    fn a_response_may_be_requested_again_after_a_time_out() {
        let mut ordering = begun();
        ordering.set_ack_timeout(Some(67_000_000));
        for (time, request) in [(1, 0), (1, 1), (3, 0), (3, 1), (150, 2), (152, 0)] {
            ordering.ask_at(time, Side::Active, request, 256);
            if request > 0 {
                ordering.give_at(time + 1, Side::Passive, (READ_ONLY, request), &[0; 256]);
            }
        }
        let Counts { timeouts, implied_naks, causes_not_seen, .. } = ordering.delivery.account().counts().active;
        assert_eq!((timeouts, implied_naks, causes_not_seen), (1, 1, 0));
    }

    /// The requests are retransmitted once before the sender has got the refusal, and then because of the refusal.
    #[test]
    fn a_refused_packet_lost_again_is_no_missing_response() {
        for (refused, implied_naks) in [(Some(1), 0), (None, 1)] {
            let mut ordering = begun();
            for sequence in [0, 1] {
                ordering.give(Side::Active, SEND, sequence, &[]);
            }
            ordering.ask(Side::Active, 2, 256);
            if let Some(refused) = refused {
                ordering.give(Side::Passive, ACKNOWLEDGE, refused, &[0x60, 0, 0, 0]);
            }
            for sequence in [0, 1] {
                ordering.give(Side::Active, SEND, sequence, &[]);
            }
            ordering.ask(Side::Active, 2, 256);
            ordering.give(Side::Active, SEND, 3, &[]);
            ordering.give(Side::Passive, ACKNOWLEDGE, 3, &[0x1f, 0, 0, 0]);
            ordering.ask(Side::Active, 2, 256);
            assert_eq!(ordering.delivery.account().counts().active.implied_naks, implied_naks, "{refused:?}");
        }
    }

    /// The sender goes back to a request, and to the next one before the refusal of that arrives: the refusal may be of
    /// the copies from before, and so may the next refusal.
    #[test]
    fn a_late_refusal_does_not_show_where_packets_were_lost() {
        use crate::carrier::recovery::MissingPacket;
        let runs = [(0, None), (1, Some(2)), (2, Some(4))];
        let at_once = [(0, Some(2)), (2, Some(4))];
        for (runs, missing) in [(&at_once[..], Some(MissingPacket::Captured)), (&runs, None)] {
            let mut ordering = begun();
            for (first, refused) in runs {
                (*first..6).for_each(|sequence| _ = ordering.give(Side::Active, SEND, sequence, &[]));
                let refuse = |number: u32| _ = ordering.give(Side::Passive, ACKNOWLEDGE, number, &[0x60, 0, 0, 0]);
                refused.map(refuse);
            }
            let stream = ordering.delivery.stream(Side::Active);
            assert_eq!(stream.missing(stream.next.unwrap() - 2, Time(0)), missing, "{runs:?}");
        }
    }

    #[test]
    fn a_request_hidden_by_a_guessed_mtu_is_late() {
        let mut ordering = Ordering::default();
        ordering.begin_at(Side::Active, 0);
        // Each has five responses of 4,096 octets, or ten of 2,048: the request with the number 5 comes last.
        for sequence in [0, 10, 5] {
            ordering.ask(Side::Active, sequence, 20_480);
        }
        let counts = ordering.delivery.account().counts().active;
        assert_eq!((counts.retransmitted, counts.causes_not_seen, counts.unmatched), (0, 0, 1));
    }

    #[test]
    fn a_request_hidden_by_a_guessed_mtu_is_missed() {
        // Each has ten responses of 2,048 octets. The capture lacks the request with the number 10.
        for (length, missed) in [(4096, 15), (2048, 10), (1024, 0)] {
            let mut ordering = Ordering::default();
            ordering.begin_at(Side::Active, 0);
            for sequence in [0, 20, 40] {
                ordering.ask(Side::Active, sequence, 20_480);
            }
            ordering.give(Side::Passive, READ_MIDDLE, 1, &vec![0; length]);
            let expected = if missed == 0 { 0 } else { 2 * missed };
            assert_eq!(ordering.delivery.account().counts().active.missed, expected, "{length}");
        }
    }

    /// No response shows the path MTU, and then the requests end: there may have been one among the responses.
    #[test]
    fn an_unconfirmed_mtu_leaves_missed_requests_open() {
        for is_shown in [false, true] {
            let mut ordering = Ordering::default();
            ordering.begin_at(Side::Active, 0);
            for sequence in [0, 20] {
                ordering.ask(Side::Active, sequence, 20_480);
            }
            if is_shown {
                assert_eq!(ordering.give(Side::Passive, READ_MIDDLE, 1, &[0; 1024]), 0);
            }
            assert_eq!(ordering.give(Side::Active, SEND, 40, &[]), u64::from(!is_shown));
        }
    }

    /// A capture that begins late and ends with the responses to a Read request, which show the path MTU.
    #[test]
    fn nothing_is_missed_after_responses_that_show_the_mtu() {
        let mut ordering = Ordering::default();
        ordering.begin_at(Side::Active, 0);
        ordering.ask(Side::Active, 0, 4096);
        for response in 0..4 {
            ordering.give(Side::Passive, READ_MIDDLE, response, &[0; 1024]);
        }
        // The second response was lost behind the capture.
        ordering.ask(Side::Active, 1, 3072);
        ordering.finish(&mut All::default());
        let counts = ordering.delivery.account().counts().active;
        assert_eq!((counts.missed, counts.retransmitted, counts.implied_naks), (0, 1, 1));
    }

    #[test]
    fn an_acknowledgement_before_the_first_request_shows_a_missed_one() {
        for (first, lacks) in [(8, 1), (7, 0)] {
            let mut ordering = Ordering::default();
            assert_eq!(ordering.give(Side::Active, ACKNOWLEDGE, 7, &[0x1f, 0, 0, 0]), 0);
            assert_eq!(ordering.give(Side::Passive, SEND, first, &[]), lacks);
            assert_eq!(ordering.give(Side::Passive, SEND, first + 1, &[]), 0);
        }
    }

    /// Four responses, of which some are there, and a later acknowledgement by the other end.
    #[test]
    fn unseen_responses_before_an_acknowledgement_were_missed() {
        for (seen, last, missed) in [
            (0..4, None, 0),
            (0..3, None, 0),
            (0..3, Some(0x1f), 1),
            (0..3, Some(0x62), 1),
            (2..4, Some(0x1f), 2),
            (0..4, Some(0x62), 0),
        ] {
            let mut ordering = begun();
            ordering.ask(Side::Active, 0, 1024);
            for response in seen.clone() {
                ordering.give(Side::Passive, READ_MIDDLE, response, &[0; 256]);
            }
            ordering.give(Side::Active, SEND, 4, &[]);
            if let Some(syndrome) = last {
                ordering.give(Side::Passive, ACKNOWLEDGE, 4, &[syndrome, 0, 0, 0]);
            }
            ordering.finish(&mut All::default());
            assert_eq!(ordering.delivery.account().counts().passive.missed, missed, "{seen:?} {last:?}");
        }
    }

    #[test]
    fn after_too_many_repetitions_packet_numbers_begin_anew() {
        let mut ordering = begun();
        for sequence in 0..1000 {
            ordering.give(Side::Active, SEND, sequence, &[]);
        }
        for _ in 0..=REPETITIONS {
            ordering.give(Side::Active, SEND, 500, &[]);
        }
        assert_eq!(ordering.delivery.account().counts().active.retransmitted, u64::from(REPETITIONS) + 1);
        for sequence in [500, 501] {
            ordering.give(Side::Active, SEND, sequence, &[]);
        }
        assert_eq!(ordering.delivery.account().counts().active.retransmitted, u64::from(REPETITIONS) + 1);
        assert_eq!(ordering.next(Side::Active), Some(502));
    }

    #[test]
    fn a_response_beyond_every_window_matches_no_request() {
        for (number, unmatched) in [((1 << 20) - 1, 0), (1 << 20, 1), (1 << 22, 1)] {
            let mut ordering = begun();
            ordering.give(Side::Passive, READ_MIDDLE, number, &[0; 256]);
            assert_eq!(ordering.delivery.account().counts().passive.unmatched, unmatched);
            assert_eq!(ordering.buffered_octets() == 0, unmatched == 1);
        }
    }

    #[test]
    fn a_response_longer_than_its_request_is_unmatched() {
        let mut ordering = begun();
        ordering.ask(Side::Active, 0, 100);
        ordering.give(Side::Passive, READ_MIDDLE, 0, &[0; 256]);
        assert_eq!(ordering.delivery.account().counts().passive.unmatched, 1);
    }
}
