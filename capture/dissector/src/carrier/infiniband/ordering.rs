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

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use super::checksums::RetransmittedPacket;
use super::reorder_buffer::{Arrival, BufferedPacket, Packets, RepeatedResponses};
use super::retransmission::{Lateness, RepeatedRequest};
use super::stream::{FAR, GRACE, REPETITIONS, ReadRequest, RequestStream, extend, request_span, responses};
use super::transport::{PacketKind, Syndrome, Transport};
use crate::carrier::acknowledgement::{Acknowledgement, AcknowledgementOrder, Acknowledgements, EARLY};
use crate::carrier::connection::{Counts, RefusedAccess};
use crate::carrier::duplicates::{Duplicates, Need, RecentPackets, SentPacket};
use crate::carrier::handler::Taken;
use crate::carrier::operation::{CutOctets, Operation, OperationKind, Origin, Places, Side, Sides, Stamp};
use crate::carrier::recovery::{Indication, Indications, RecoveryKind};
use crate::file::Time;

/// The code of a negative acknowledgement that refuses access to memory (InfiniBand Architecture, volume 1, section 9.7.5).
const REMOTE_ACCESS_ERROR: u8 = 2;

/// Reasons why a packet cannot be used yet.
#[derive(Clone, Copy, Debug)]
enum Early {
    /// An earlier request of this end is missing.
    Gap(Side),
    /// The packet refers to something unknown, which may be in a late packet of this end.
    Unknown(Side),
}

impl Early {
    /// The end whose next request is awaited.
    const fn side(self) -> Side {
        match self {
            Self::Gap(side) | Self::Unknown(side) => side,
        }
    }
}

/// Takes what the ends of one connection did, in order.
pub(super) trait OperationSink {
    /// An end did something; if `last`, no later packet explains the operation, which must not be returned as early.
    fn take_operation(&mut self, operation: Operation<'_>, last: bool) -> Taken;
    /// An end acknowledged what the other end sends, up to a packet sequence number.
    fn acknowledged(&mut self, by: Origin, acknowledgement: Acknowledgement);
    /// A packet of an end was captured after the acknowledgement of the packet; `order` counts such packets, and the
    /// others.
    fn acknowledged_early(&mut self, packet: Origin, order: AcknowledgementOrder);
}

/// Duplicates of packets. A repeated acknowledgement looks like a duplicate, so each kind has an order of duplicates.
#[derive(Debug, Default)]
struct DuplicatesByKind {
    acknowledgements: Sides<Duplicates>,
    refusals: Sides<Duplicates>,
    others: Sides<Duplicates>,
    /// Duplicates of the packets that set the connection up.
    set_up: Duplicates,
}

impl DuplicatesByKind {
    const fn of_kind(&mut self, packet: &Transport<'_>) -> &mut Sides<Duplicates> {
        match (packet.operation, packet.syndrome) {
            (PacketKind::Acknowledge, Some(Syndrome::Acknowledged)) => &mut self.acknowledgements,
            (PacketKind::Acknowledge, _) => &mut self.refusals,
            _ => &mut self.others,
        }
    }

    /// Returns the counts of duplicates of an end, or of the messages of connection setup.
    fn shown(&self, from: Side) -> Duplicates {
        self.others.get(from).or(*self.acknowledgements.get(from)).or(self.set_up)
    }
}

/// Place of a packet among those of the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketPlace {
    pub(super) sender: Side,
    /// Packet sequence number, extended to 64 bits.
    pub(super) number: u64,
}

/// Puts the packets of one connection in order.
#[derive(Debug, Default)]
pub(super) struct Ordering {
    streams: Sides<RequestStream>,
    /// Counts by sender.
    pub counts: Sides<Counts>,
    copies: DuplicatesByKind,
    mtu: Option<u32>,
    queue: Packets,
    /// Place and frame of the latest packet that was retransmitted before an acknowledgement came.
    unacknowledged: Option<(PacketPlace, u64)>,
    /// The buffered packet that blocks the others, and the reason.
    waits_for: Option<(u64, Early)>,
    arrivals: u64,
}

impl Ordering {
    /// Sets the number that an end will begin with, from connection setup.
    pub(super) fn begin_at(&mut self, from: Side, sequence: u32) {
        self.streams.get_mut(from).next = Some(extend(None, sequence));
    }

    /// Sets the most octets that a packet carries, from connection setup.
    pub(super) fn set_mtu(&mut self, mtu: Option<u32>) {
        self.mtu = mtu;
    }

    /// Sets the copies of the packets that set the connection up.
    pub(super) const fn set_copies(&mut self, copies: Duplicates) {
        self.copies.set_up = copies;
    }

    /// Sets for how many nanoseconds at least both ends wait for an acknowledgement, from connection setup.
    pub(super) fn set_ack_timeout(&mut self, timeout: Option<u64>) {
        for stream in [&mut self.streams.active, &mut self.streams.passive] {
            stream.ack_timeout = timeout;
        }
    }

    /// Returns true if the first request of an end that was seen has another number than the setup says.
    pub(super) fn is_joined(&self, from: Side, sequence: u32) -> bool {
        self.streams.get(from).first.is_some_and(|first| (first & 0xff_ffff) as u32 != sequence)
    }

    /// Returns the number that the next request of an end should have, if known.
    #[must_use]
    pub(super) fn next(&self, from: Side) -> Option<u32> {
        self.streams.get(from).next.map(|next| (next & 0xff_ffff) as u32)
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
        let end = self.copies.of_kind(packet).get_mut(sent.from);
        if recent.add_packet(content, sent.captured, end) {
            return None;
        }
        self.original_of(sent, packet, content, recent)
    }

    /// The same for a packet whose content was captured before.
    #[cold]
    fn original_of(
        &mut self,
        sent: SentPacket,
        packet: &Transport<'_>,
        content: u64,
        recent: &mut RecentPackets,
    ) -> Option<Time> {
        let (SentPacket { from, captured }, Self { streams, copies, counts, .. }) = (sent, self);
        let mut end = *copies.of_kind(packet).get(from);
        let need = |since| match packet.operation {
            PacketKind::ReadResponse => {
                Need::from_evidence(streams.get(from.other()).is_response_asked(packet.sequence), false)
            }
            _ if packet.is_request() => {
                let stream = streams.get(from);
                Need::from_evidence(stream.is_request_asked(packet), stream.is_acknowledged(packet.sequence))
            }
            _ => {
                let is_again = streams.get(from.other()).is_acknowledged_again(packet, since, captured.stamp.time);
                Need::from_evidence(is_again, captured.sighting.identification != 0)
            }
        };
        let original = recent.original(content, captured, &mut end, || copies.shown(from.other()), need);
        *copies.of_kind(packet).get_mut(from) = end;
        counts.get_mut(from).duplicates += u64::from(original.is_some());
        original
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
        self.arrivals += 1;
        self.counts.get_mut(from).packets += 1;
        let mtu = self.mtu;
        self.learn(from, stamp.time, packet);
        if mtu.is_none() {
            self.measure(stamp, sink);
        }
        let acknowledged = self.streams.get(from.other()).acknowledged;
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
        if !self.queue.packets.is_empty() {
            // A repetition changes nothing, and neither does an answer to a request that was already used.
            let is_free = !packet.is_request() || self.is_repetition(&arrival);
            let is_used = is_free && self.deliver(&arrival, sink).is_ok();
            if !is_used && !self.refuse(&arrival) {
                self.hold(&arrival);
            }
        } else if let Err(early) = self.deliver(&arrival, sink)
            && !self.refuse(&arrival)
        {
            self.counts.get_mut(from).early += u64::from(matches!(early, Early::Gap(_)));
            self.hold(&arrival);
        }
        if !self.queue.packets.is_empty() {
            self.drain(sink);
            while self.is_overdue() {
                self.give_up(sink);
                self.drain(sink);
            }
        }
    }

    /// Notes what a packet of the requester shows before the packet is used. Returns true if the packet is kept already.
    #[inline]
    fn note_request<S: OperationSink>(&mut self, arrival: &mut Arrival<'_>, sink: &mut S) -> bool {
        let Origin { from, stamp } = arrival.origin();
        let last = &mut self.streams.get_mut(from).last_time;
        arrival.silence = stamp.time.0.saturating_sub(last.0);
        *last = stamp.time.max(*last);
        self.await_acknowledgement(arrival, sink);
        let acknowledged_before = self.acknowledged_before(arrival);
        self.counts.get_mut(from.other()).early += u64::from(acknowledged_before);
        if self.is_kept(arrival, sink) {
            return true;
        }
        let (number, _) = self.number(arrival);
        let stream = self.streams.get_mut(from);
        let is_awaited = stream.is_awaited(number);
        stream.refused_from.take_if(|refused| *refused == number && is_awaited);
        if stream.run.is_some() && arrival.first_sent.is_none() && number >= stream.captured_end() {
            stream.run = None;
        }
        false
    }

    /// Emits everything that is still buffered, at the end of the connection or of the capture.
    pub(super) fn finish<S: OperationSink>(&mut self, sink: &mut S) {
        let unseen = [Side::Active, Side::Passive].map(|side| (side, self.streams.get(side).unseen()));
        self.give_all(sink);
        for (side, number) in unseen {
            // If it was seen among the buffered packets, it was counted above.
            if number.is_some() && self.streams.get(side).unseen() == number {
                self.counts.get_mut(side).missed += 1;
            }
        }
    }

    /// Emits everything that is buffered.
    fn give_all<S: OperationSink>(&mut self, sink: &mut S) {
        self.drain(sink);
        while !self.queue.packets.is_empty() {
            self.give_up(sink);
            self.drain(sink);
        }
        for side in [Side::Active, Side::Passive] {
            let unaccepted = self.streams.get_mut(side).take_unaccepted();
            while !self.streams.get(side).refused.packets.is_empty() {
                self.skip_gap(side, sink);
            }
            // Requests that were acknowledged but never seen.
            if self.streams.get(side).has_gap() {
                self.skip_gap(side, sink);
            }
            self.lose_responses(side, sink);
            self.give_unaccepted(unaccepted, sink);
        }
    }

    /// Gives the whole Sends that the receiver refused and that never came again: the sender did send them. Earlier
    /// operations on memory were refused too, or are in the gap.
    fn give_unaccepted<S: OperationSink>(&mut self, unaccepted: Packets, sink: &mut S) {
        for (number, held) in unaccepted.packets {
            let Ok(packet) = Transport::decode(&held.octets, held.length) else { continue };
            let arrival = held.arrival(&packet);
            let is_send = packet.operation == PacketKind::Send && packet.first && packet.last;
            let kind = self.streams.get_mut(held.from).kind(number, &arrival, self.mtu);
            if let Some(kind) = kind.filter(|_| is_send) {
                sink.take_operation(arrival.operation(number, OperationKind::Lost), true);
                sink.take_operation(arrival.operation(number, kind), true);
            }
        }
    }

    /// Octets of memory taken by what waits.
    #[must_use]
    pub(super) fn buffered_octets(&self) -> usize {
        let stream = |stream: &RequestStream| {
            stream.refused.octets
                + stream.reads.len() * size_of::<ReadRequest>()
                + stream.ranges * size_of::<(u64, u64)>()
        };
        self.queue.octets + stream(&self.streams.active) + stream(&self.streams.passive)
    }

    /// Emits everything that is buffered, and no longer waits for responses.
    pub(super) fn let_go<S: OperationSink>(&mut self, sink: &mut S) {
        // They may still come again.
        for side in [Side::Active, Side::Passive] {
            _ = self.streams.get_mut(side).take_unaccepted();
        }
        self.give_all(sink);
        for stream in [&mut self.streams.active, &mut self.streams.passive] {
            stream.reads.clear();
            stream.ranges = 0;
        }
    }

    /// Reports requests that the capture lacks, if a path MTU that was unknown shows that there were any.
    fn measure<S: OperationSink>(&mut self, stamp: Stamp, sink: &mut S) {
        let Some(mtu) = self.mtu else { return };
        for side in [Side::Active, Side::Passive] {
            let missed = self.streams.get_mut(side).measure(mtu);
            if missed > 0 {
                self.lose(Origin { from: side, stamp }, missed, Places::default(), sink);
            }
        }
    }

    /// Reports that the capture lacks packets of an end, after a frame; `places` if known.
    fn lose<S: OperationSink>(&mut self, origin: Origin, missed: u64, places: Places, sink: &mut S) {
        let Origin { from, stamp } = origin;
        self.counts.get_mut(from).missed += missed;
        let kind = OperationKind::Lost;
        sink.take_operation(
            Operation { from, stamp, began: stamp, retransmitted: 0, first_sent: None, places, kind },
            true,
        );
    }

    /// Learns from a packet about the other end's stream.
    fn learn(&mut self, from: Side, time: Time, packet: &Transport<'_>) {
        if !packet.last && matches!(packet.operation, PacketKind::Send | PacketKind::Write | PacketKind::ReadResponse) {
            self.mtu = u32::try_from(packet.length).ok().filter(|length| *length > 0).or(self.mtu);
        }
        let arrivals = self.arrivals;
        let stream = self.streams.get_mut(from.other());
        let number = extend(stream.next, packet.sequence);
        if stream.next.is_none() && packet.syndrome.is_some() {
            let number = NonZeroU64::new(number);
            stream.answered = stream.answered.min(number).or(number);
        }
        let arrived = match packet.syndrome {
            None if packet.operation == PacketKind::ReadResponse => number,
            None => return,
            Some(Syndrome::Acknowledged | Syndrome::Failed(_)) => number,
            Some(Syndrome::SequenceError | Syndrome::NotReady { .. }) => number.saturating_sub(1),
        };
        stream.answered_at = time;
        let Some(next) = stream.next.filter(|next| arrived.abs_diff(*next) < FAR) else { return };
        if stream.acknowledged < Some(arrived) {
            (stream.acknowledged, stream.progress) = (Some(arrived), time);
        }
        if packet.syndrome == Some(Syndrome::Acknowledged) && packet.operation == PacketKind::Acknowledge {
            stream.awaited.acknowledge(arrived, time);
        }
        let refused_until = match packet.syndrome {
            Some(Syndrome::SequenceError) => Some(time),
            Some(Syndrome::NotReady { wait }) => Some(Time(time.0.saturating_add(wait))),
            _ => None,
        };
        if packet.syndrome == Some(Syndrome::SequenceError) {
            stream.report(number);
        }
        stream.not_ready = match packet.syndrome {
            Some(Syndrome::NotReady { .. }) => Some(number),
            _ => stream.not_ready.filter(|from| *from > arrived),
        };
        stream.asked = match refused_until {
            Some(until) => {
                stream.is_asked_surely = stream.missing(number, time).is_some();
                stream.refused_until = until;
                Some(number)
            }
            None => stream.asked.filter(|asked| *asked > arrived),
        };
        if arrived >= next {
            let known = stream.arrived.filter(|(highest, _)| *highest >= next);
            if known.is_none() {
                stream.lags_since = time;
            }
            let since = known.map_or(arrivals, |(_, since)| since);
            let highest = stream.arrived.map_or(arrived, |(highest, _)| highest.max(arrived));
            stream.arrived = Some((highest, since));
        }
        if refused_until.is_some() {
            self.set_refused(from.other(), number.max(next));
        }
    }

    /// A request may have to be acknowledged. The answer to a Read request is data, which takes time to move.
    fn await_acknowledgement<S: OperationSink>(&mut self, arrival: &Arrival<'_>, sink: &mut S) {
        let Transport { asks, operation, .. } = *arrival.packet;
        if asks && operation != PacketKind::ReadRequest {
            let (number, _) = self.number(arrival);
            let (arrivals, stream) = (self.arrivals, self.streams.get_mut(arrival.from));
            if stream.acknowledged >= Some(number) && stream.is_new(number) {
                let lag = arrival.stamp.time.0.saturating_sub(stream.lags_since.0);
                // Those behind it may be as late.
                stream.arrived.iter_mut().for_each(|(_, since)| *since = arrivals);
                if lag >= EARLY {
                    stream.awaited.send_late();
                    sink.acknowledged_early(arrival.origin(), stream.awaited.order());
                }
            } else {
                stream.awaited.send(number, arrival.stamp.time);
            }
        }
    }

    /// Returns the place of the packet that was retransmitted in this frame before an acknowledgement came.
    pub(super) fn take_unacknowledged(&mut self, frame: u64) -> Option<PacketPlace> {
        let (place, at) = self.unacknowledged.take()?;
        (at == frame).then_some(place)
    }

    /// Takes the verdict on the checksum of a packet that was retransmitted before an acknowledgement came.
    pub(super) fn verified(&mut self, packet: RetransmittedPacket, is_right: bool) {
        let RetransmittedPacket { from, number, frame, .. } = packet;
        let checksums = &mut self.counts.get_mut(from).checksums;
        if is_right {
            checksums.right += 1;
            return;
        }
        checksums.wrong += 1;
        checksums.first_wrong.get_or_insert(frame);
        let wrong = &mut self.streams.get_mut(from).wrong_checksum;
        *wrong = Some(wrong.map_or(number, |lowest| lowest.min(number)));
    }

    /// Returns the times that an end takes to acknowledge, if more is known than before.
    #[inline]
    pub(super) fn take_measured(&mut self, by: Side) -> Option<Acknowledgements> {
        self.streams.get_mut(by.other()).awaited.take_changed()
    }

    /// Counts by sender, once all has come. `are_recorded` returns true for an end whose checksums the capture holds.
    pub(super) fn counted(&self, are_recorded: impl Fn(Side) -> bool) -> Sides<Counts> {
        let mut counts = self.counts;
        for side in [Side::Active, Side::Passive] {
            let (counts, stream) = (counts.get_mut(side), self.streams.get(side));
            counts.acknowledgements = self.streams.get(side.other()).awaited.measured();
            counts.acknowledged = stream.awaited.order();
            let is_accepted = stream.wrong_checksum.is_some_and(|lowest| stream.acknowledged >= Some(lowest));
            if counts.checksums.wrong > 0 && (is_accepted || !are_recorded(side)) {
                (counts.checksums.wrong, counts.checksums.first_wrong) = (0, None);
            }
        }
        counts
    }

    /// The receiver discarded what came from this number on, as far as that was not used yet.
    fn set_refused(&mut self, side: Side, number: u64) {
        let stream = self.streams.get_mut(side);
        stream.refused_from = Some(number);
        let ahead = stream.held.split_off(&number);
        for (number, arrival) in ahead {
            if let Some(held) = self.queue.remove(arrival) {
                stream.refused.insert(number, held);
            }
        }
    }

    /// Returns true if the acknowledgement of a request was captured before the request.
    fn acknowledged_before(&self, arrival: &Arrival<'_>) -> bool {
        let (number, next) = self.number(arrival);
        let highest = self.streams.get(arrival.from).arrived.map(|(highest, _)| highest);
        next.is_some_and(|next| number >= next) && highest.is_some_and(|highest| highest >= number)
    }

    /// Handles a request that was seen before. A buffered request keeps its place; of a request that the receiver
    /// refused, the new transmission counts. Returns true if the request was handled.
    fn is_kept<S: OperationSink>(&mut self, arrival: &mut Arrival<'_>, sink: &mut S) -> bool {
        let stream = self.streams.get(arrival.from);
        if stream.held.is_empty() && stream.refused.packets.is_empty() {
            return false;
        }
        let repeated = self.repeated(arrival);
        let stream = self.streams.get_mut(arrival.from);
        let (number, operation, silence) =
            (extend(stream.next, arrival.packet.sequence), arrival.packet.operation, arrival.silence);
        if let Some(held) = stream.held.get(&number).and_then(|key| self.queue.packets.get_mut(key)) {
            held.retransmitted += 1;
            RepeatedResponses::merge_into(
                &mut held.asked_again,
                RepeatedResponses { from: number, at: arrival.stamp.time },
            );
            // Of copies since the receiver refused the first, any may be the accepted one.
            held.first_sent.take_if(|_| arrival.packet.last && operation == PacketKind::Send);
            let signs = stream.copy(number, &repeated);
            self.show(arrival, number, signs, sink);
            return true;
        }
        if let Some(held) = stream.refused.remove(number) {
            arrival.retransmitted = held.retransmitted + 1;
            arrival.first_sent = Some(held.first_sent());
            arrival.began = held.began;
            let signs = stream.copy(number, &repeated);
            pass_discarded(&held, number, sink);
            self.show(arrival, number, signs, sink);
        } else if operation == PacketKind::ReadRequest && self.ask_held_read_again(arrival, number) {
            let signs = self.streams.get_mut(arrival.from).copy(number, &repeated);
            self.show(arrival, number, signs, sink);
            return true;
        } else if let Some(later) = self.first_after(arrival.from, number)
            && let Some(signs) = self.filling(arrival.from, number, silence, later)
        {
            arrival.first_sent = Some(later);
            self.show(arrival, number, signs, sink);
        }
        false
    }

    /// Takes a request that fills a gap. Returns the indications in a retransmission, and `None` for a late request.
    fn filling(&mut self, from: Side, number: u64, silence: u64, overtaken: Time) -> Option<Indications> {
        // Time that this end takes to acknowledge the other's requests.
        let reaction = self.streams.get(from.other()).awaited.least();
        let round_trip = self.round_trip();
        let stream = self.streams.get_mut(from);
        stream.filling(number, silence, &Lateness { overtaken, reaction, round_trip })
    }

    /// Returns what is known of a request that may have been captured before.
    fn repeated(&self, arrival: &Arrival<'_>) -> RepeatedRequest {
        let Arrival { silence, packet: Transport { operation, .. }, .. } = *arrival;
        RepeatedRequest { operation: *operation, silence, round_trip: self.round_trip() }
    }

    /// Returns the nanoseconds that both ends take together at least to answer, if that was measured.
    fn round_trip(&self) -> Option<u64> {
        let Sides { active, passive } = &self.streams;
        active.awaited.least().zip(passive.awaited.least()).map(|(one, other)| one.saturating_add(other))
    }

    /// If a request that was not seen fills a gap: when what is behind the gap was first sent.
    fn first_after(&self, from: Side, number: u64) -> Option<Time> {
        let stream = self.streams.get(from);
        stream.next.filter(|next| number >= *next && !self.is_within_read(from, number))?;
        let held = stream.held.range(number..).next().and_then(|(_, key)| self.queue.packets.get(key));
        let refused = stream.refused.packets.range(number..).next().map(|(_, held)| held);
        held.into_iter().chain(refused).min_by_key(|held| held.number).map(BufferedPacket::first_sent)
    }

    /// Returns true if a buffered request is an RDMA Read with a response of this number, which is then asked for again.
    fn ask_held_read_again(&mut self, arrival: &Arrival<'_>, number: u64) -> bool {
        // Without the path MTU, the number may be that of another request.
        if self.mtu.is_none() || !self.is_within_read(arrival.from, number) {
            return false;
        }
        let before = self.streams.get(arrival.from).held.range(..number).next_back();
        let Some(held) = before.and_then(|(_, key)| self.queue.packets.get_mut(key)) else { return false };
        RepeatedResponses::merge_into(
            &mut held.asked_again,
            RepeatedResponses { from: number, at: arrival.stamp.time },
        );
        true
    }

    /// Returns true if a request that waits is an RDMA Read with a response of this number. The rest of the responses
    /// is asked for again, which counts when the first request is used.
    fn is_within_read(&self, from: Side, number: u64) -> bool {
        let stream = self.streams.get(from);
        let held = stream.held.range(..number).next_back().and_then(|(_, key)| self.queue.packets.get(key));
        let refused = stream.refused.packets.range(..number).next_back().map(|(_, held)| held);
        let before = held.into_iter().chain(refused).max_by_key(|held| held.number);
        before.is_some_and(|held| {
            let packet = Transport::decode(&held.octets, held.length).ok();
            let read = packet.filter(|packet| packet.operation == PacketKind::ReadRequest);
            let length = read.and_then(|packet| packet.target).map_or(0, |target| target.length);
            length > 0 && number < held.number + responses(length, self.mtu.unwrap_or(256))
        })
    }

    /// Counts the indications in a request, and passes them on.
    fn show<S: OperationSink>(&mut self, arrival: &Arrival<'_>, number: u64, signs: Indications, sink: &mut S) {
        for kind in signs.into_iter().flatten() {
            self.recover(arrival, PacketPlace { sender: arrival.from, number }, kind, sink);
        }
    }

    /// Counts an indication that the packet at `place` was lost, and passes the indication on.
    fn recover<S: OperationSink>(
        &mut self,
        arrival: &Arrival<'_>,
        place: PacketPlace,
        kind: RecoveryKind,
        sink: &mut S,
    ) {
        let PacketPlace { sender: of, number } = place;
        self.counts.get_mut(arrival.from).recover(kind);
        let is_again = kind.is_retransmission() && of == arrival.from;
        // After a right checksum, a wrong one is no reason of silence: not every packet of the end is spoilt.
        let is_open = self.counts.get(of).checksums.right == 0;
        if is_again && is_open && self.streams.get(of).acknowledged < Some(number) {
            self.unacknowledged = Some((place, arrival.stamp.frame));
        }
        let operation = arrival.packet.operation_type();
        let is_report = kind == RecoveryKind::SequenceError;
        let missing = if is_report { self.streams.get(of).missing(number, arrival.stamp.time) } else { None };
        let sign =
            OperationKind::Indication { of, place: number, sign: Indication::Recovery(kind), operation, missing };
        sink.take_operation(arrival.operation(number, sign), true);
    }

    fn number(&self, arrival: &Arrival<'_>) -> (u64, Option<u64>) {
        let next = self.streams.get(arrival.from).next;
        (extend(next, arrival.packet.sequence), next)
    }

    /// Returns true if this is a request whose number has passed.
    fn is_repetition(&self, arrival: &Arrival<'_>) -> bool {
        let (number, next) = self.number(arrival);
        next.is_some_and(|next| number < next)
    }

    /// Sets aside a request that the receiver will discard because an earlier one is missing. Returns true if the
    /// request was set aside. Returns true if the request was set aside.
    fn refuse(&mut self, arrival: &Arrival<'_>) -> bool {
        let (number, _) = self.number(arrival);
        let stream = self.streams.get_mut(arrival.from);
        let first = u64::from(stream.is_awaited(number));
        if !arrival.packet.is_request() || stream.refused_from.is_none_or(|refused| number < refused + first) {
            return false;
        }
        stream.refused.insert(number, BufferedPacket::new(arrival, number));
        while stream.refused.is_full()
            && let Some((&last, _)) = stream.refused.packets.last_key_value()
        {
            stream.refused.remove(last);
            self.counts.get_mut(arrival.from).unmatched += 1;
        }
        true
    }

    fn hold(&mut self, arrival: &Arrival<'_>) {
        let (number, _) = self.number(arrival);
        if arrival.packet.is_request() {
            self.streams.get_mut(arrival.from).held.insert(number, self.arrivals);
        }
        self.queue.insert(self.arrivals, BufferedPacket::new(arrival, number));
    }

    /// Uses what is buffered, as long as nothing is missing.
    fn drain<S: OperationSink>(&mut self, sink: &mut S) {
        while let Some(key) = self.queue.first_key()
            && self.advance(key, sink)
        {}
        if self.queue.packets.is_empty() {
            self.waits_for = None;
        }
    }

    /// Uses the first buffered packet, or the packet that blocks the first. Follows at most two such dependencies.
    /// Returns false if none can be used.
    fn advance<S: OperationSink>(&mut self, first: u64, sink: &mut S) -> bool {
        let mut key = first;
        for _ in 0..3 {
            let Err(early) = self.try_held(key, false, sink) else { return true };
            self.waits_for = Some((key, early));
            match self.awaited(early) {
                Some(awaited) => key = awaited,
                None => return matches!(early, Early::Unknown(side) if self.advance_answers(side, sink)),
            }
        }
        false
    }

    /// Uses the first buffered answer of an end whose request has been used since. Returns true if there is one.
    /// Returns true if there is one.
    fn advance_answers<S: OperationSink>(&mut self, side: Side, sink: &mut S) -> bool {
        let is_answer = |(key, held): (&u64, &BufferedPacket)| (held.from == side && !held.is_request).then_some(*key);
        let answer = self.queue.packets.iter().take(GRACE as usize).find_map(is_answer);
        answer.is_some_and(|answer| self.try_held(answer, false, sink).is_ok())
    }

    /// The buffered packet that would end a wait.
    fn awaited(&self, early: Early) -> Option<u64> {
        let stream = self.streams.get(early.side());
        match stream.next {
            Some(next) => stream.held.get(&next).copied(),
            None => stream.held.first_key_value().map(|(_, key)| *key),
        }
    }

    fn try_held<S: OperationSink>(&mut self, key: u64, last: bool, sink: &mut S) -> Result<(), Early> {
        if let Some(held) = self.queue.packets.get(&key)
            && self.streams.get(held.from).has_gap_before(held)
        {
            return Err(Early::Gap(held.from));
        }
        let Some(held) = self.queue.remove(key) else { return Ok(()) };
        let Ok(packet) = Transport::decode(&held.octets, held.length) else { return Ok(()) };
        let arrival = held.arrival(&packet);
        let delivered = if last { self.deliver(&arrival, &mut Surely(sink)) } else { self.deliver(&arrival, sink) };
        match delivered {
            Ok(()) => {
                let stream = self.streams.get_mut(held.from);
                // After renumbering, another packet may be buffered under this number.
                if stream.held.get(&held.number) == Some(&key) {
                    stream.held.remove(&held.number);
                }
            }
            Err(_) => self.queue.insert(key, held),
        }
        delivered
    }

    /// Returns true if what is buffered has waited long enough, or has become too much.
    fn is_overdue(&self) -> bool {
        let waited = match self.waits_for {
            Some((_, Early::Gap(side))) => {
                let stream = self.streams.get(side);
                stream.arrived.is_some_and(|(highest, since)| {
                    stream.next.is_some_and(|next| highest >= next) && self.arrivals - since > GRACE
                })
            }
            Some((key, Early::Unknown(_))) => self.arrivals - key > GRACE,
            None => return false,
        };
        waited || self.queue.is_full()
    }

    /// Ends the wait that holds up the others.
    fn give_up<S: OperationSink>(&mut self, sink: &mut S) {
        let awaited = self.waits_for.map(|(key, _)| key).filter(|key| self.queue.packets.contains_key(key));
        let Some(key) = awaited.or(self.queue.first_key()) else { return };
        // The packet that is referred to may be in a gap of the other end.
        if let Some((_, Early::Unknown(side))) = self.waits_for
            && self.streams.get(side).has_gap()
        {
            return self.skip_gap(side, sink);
        }
        let Err(early) = self.try_held(key, true, sink) else { return };
        match self.awaited(early) {
            Some(awaited) => _ = self.try_held(awaited, true, sink),
            None => self.skip_gap(early.side(), sink),
        }
    }

    /// Goes on after the gap at `next`: with the first packet that is available, or after what is known to have
    /// arrived.
    fn skip_gap<S: OperationSink>(&mut self, side: Side, sink: &mut S) {
        self.lose_hole(side, sink);
        self.take_refused(side, sink);
    }

    fn lose_hole<S: OperationSink>(&mut self, side: Side, sink: &mut S) {
        let stream = self.streams.get_mut(side);
        let next = stream.next.unwrap_or_default();
        // Packets buffered under a lower number have been passed.
        let held = stream.held.range(next..).next().map(|(number, _)| *number);
        let refused = stream.refused.packets.range(next..).next().map(|(number, _)| *number);
        let arrived = stream.arrived.map(|(highest, _)| highest + 1).filter(|end| *end > next);
        let Some(end) = held.into_iter().chain(refused).chain(arrived).min() else {
            // Nothing is known about this end, so what waits for it is used as it is.
            stream.next = None;
            return;
        };
        stream.refused_from.take_if(|refused| *refused < end);
        if stream.next.replace(end).is_some() && end > next {
            stream.remember_hole(next, end);
            let missed = end - next - self.later_responses(side, Places { first: next, end });
            let stamp = self.queue.packets.first_key_value().map(|(_, held)| held.stamp).unwrap_or_default();
            self.lose(Origin { from: side, stamp }, missed, Places { first: next, end }, sink);
        }
    }

    /// Held responses in these places but the first of each: those take the numbers of a Read request, which is one
    /// packet.
    fn later_responses(&self, side: Side, places: Places) -> u64 {
        let is_within = |held: &&BufferedPacket| {
            held.from != side && !held.is_request && (places.first..places.end).contains(&held.number)
        };
        let is_later = |held: &&BufferedPacket| {
            let packet = Transport::decode(&held.octets, held.length).ok();
            packet.is_some_and(|packet| packet.operation == PacketKind::ReadResponse && !packet.first)
        };
        let held = self.queue.packets.values().filter(is_within).filter(is_later);
        held.map(|held| held.number).collect::<BTreeSet<_>>().len() as u64
    }

    /// Responses to this end's Read requests must have been sent, and were not seen.
    fn lose_responses<S: OperationSink>(&mut self, side: Side, sink: &mut S) {
        let missed = self.streams.get(side).missed_responses(self.mtu);
        if missed > 0 {
            self.lose(Origin { from: side.other(), stamp: Stamp::default() }, missed, Places::default(), sink);
        }
    }

    /// Uses requests that the receiver seemed to have refused but accepted.
    fn take_refused<S: OperationSink>(&mut self, side: Side, sink: &mut S) {
        loop {
            let stream = self.streams.get_mut(side);
            let Some(next) = stream.next else {
                stream.refused = Packets::default();
                return;
            };
            stream.refused.forget_before(next);
            let Some(held) = stream.refused.remove(next) else { return };
            if let Ok(packet) = Transport::decode(&held.octets, held.length) {
                _ = self.deliver(&held.arrival(&packet), &mut Surely(sink));
            }
        }
    }

    fn deliver<S: OperationSink>(&mut self, arrival: &Arrival<'_>, sink: &mut S) -> Result<(), Early> {
        match arrival.packet.operation {
            PacketKind::Send | PacketKind::Write | PacketKind::ReadRequest | PacketKind::Atomic => {
                self.request(arrival, sink)
            }
            PacketKind::ReadResponse => self.response(arrival, sink),
            PacketKind::Acknowledge => {
                self.acknowledgement(arrival, sink);
                Ok(())
            }
            PacketKind::AtomicAcknowledge | PacketKind::Other => Ok(()),
        }
    }

    /// Handles an acknowledgement.
    fn acknowledgement<S: OperationSink>(&mut self, arrival: &Arrival<'_>, sink: &mut S) {
        let of = arrival.from.other();
        let number = extend(self.streams.get(of).next, arrival.packet.sequence);
        let kind = match arrival.packet.syndrome {
            Some(Syndrome::SequenceError) => RecoveryKind::SequenceError,
            Some(Syndrome::NotReady { wait }) => RecoveryKind::NotReady { wait },
            Some(Syndrome::Failed(code)) => {
                if code == REMOTE_ACCESS_ERROR {
                    self.counts.get_mut(arrival.from).refused.get_or_insert(RefusedAccess::At(number));
                }
                RecoveryKind::Failed
            }
            Some(Syndrome::Acknowledged) => {
                return sink.acknowledged(arrival.origin(), Acknowledgement { place: number, is_bare: true });
            }
            None => return,
        };
        // The packets before the refused one have arrived.
        let place = number.saturating_sub(1);
        sink.acknowledged(arrival.origin(), Acknowledgement { place, is_bare: false });
        self.recover(arrival, PacketPlace { sender: of, number }, kind, sink);
    }

    fn request<S: OperationSink>(&mut self, arrival: &Arrival<'_>, sink: &mut S) -> Result<(), Early> {
        let (mut number, _) = self.number(arrival);
        let stream = self.streams.get_mut(arrival.from);
        let mtu = self.mtu;
        let next = stream.expected(number, mtu);
        // Requests before the first were answered, so the capture lacks them.
        let is_after_others = stream.answered.take().is_some_and(|answered| answered.get() < number);
        // No response was captured that would show the path MTU, so requests among them may be missing.
        let is_guessed = arrival.packet.operation != PacketKind::ReadRequest && std::mem::take(&mut stream.guessed);
        if is_after_others || is_guessed {
            self.lose(arrival.origin(), 0, Places::default(), sink);
        }
        let stream = self.streams.get_mut(arrival.from);
        let distance = (number as i64).wrapping_sub(next as i64);
        if distance < 0 && stream.is_late(number) {
            self.emit_late_request(arrival, number, sink);
            return Ok(());
        }
        if distance.unsigned_abs() > FAR || stream.repetitions > REPETITIONS {
            // The numbers start over, in the middle of what 64 bits hold.
            *stream = RequestStream::default();
            number = extend(None, arrival.packet.sequence);
            sink.take_operation(arrival.operation(number, OperationKind::Lost), true);
        } else if distance < 0 {
            stream.repetitions += 1;
            let repeated = self.repeated(arrival);
            let signs = self.streams.get_mut(arrival.from).copy(number, &repeated);
            self.show(arrival, number, signs, sink);
            return Ok(());
        } else if distance > 0 {
            return Err(Early::Gap(arrival.from));
        }
        let under_way = stream.write;
        match stream.kind(number, arrival, mtu) {
            Some(kind) => {
                let places = Places { first: number, end: number + request_span(arrival.packet, mtu) };
                if sink.take_operation(Operation { places, ..arrival.operation(number, kind) }, false) == Taken::Early {
                    stream.write = under_way;
                    return Err(Early::Unknown(arrival.from.other()));
                }
            }
            None => self.counts.get_mut(arrival.from).unmatched += 1,
        }
        stream.repetitions = 0;
        stream.refused_from.take_if(|refused| *refused <= number);
        if arrival.first_sent.is_none() {
            // Packets that waited for a retransmission do not show that its sender goes on with new ones.
            stream.run.take_if(|_| arrival.stamp.time >= stream.went_back);
            stream.start_timer(arrival.stamp.time);
        }
        stream.next = Some(number + stream.span(number, arrival.packet, mtu));
        if let Some(asked) = arrival.asked_again {
            stream.ask_again(asked);
        }
        Ok(())
    }

    /// Emits a request that was captured behind later ones and that the capture was said to lack. Operations on memory
    /// come too late, because the memory may serve another call by now, and so do parts of a Send. Other packets of the
    /// same gap may be missing. If the gap is before the capture's first packet, the gap was not reported yet, and a
    /// packet that was asked for comes again.
    fn emit_late_request<S: OperationSink>(&mut self, arrival: &Arrival<'_>, number: u64, sink: &mut S) {
        let lost = arrival.operation(number, OperationKind::Lost);
        sink.take_operation(lost, true);
        if self.streams.get(arrival.from).asked == Some(number) {
            let repeated = self.repeated(arrival);
            let signs = self.streams.get_mut(arrival.from).copy(number, &repeated);
            self.show(arrival, number, signs, sink);
        }
        let mtu = self.mtu;
        let stream = self.streams.get_mut(arrival.from);
        stream.passed = Some(number);
        let is_send = arrival.packet.operation == PacketKind::Send && arrival.packet.first && arrival.packet.last;
        let kind = if is_send { stream.kind(number, arrival, mtu) } else { None };
        match kind {
            Some(kind) => {
                sink.take_operation(arrival.operation(number, kind), true);
                // It does not show that what comes next is in order.
                sink.take_operation(lost, true);
            }
            None => self.counts.get_mut(arrival.from).unmatched += 1,
        }
    }

    fn response<S: OperationSink>(&mut self, arrival: &Arrival<'_>, sink: &mut S) -> Result<(), Early> {
        let (side, mtu) = (arrival.from.other(), self.mtu);
        let stream = self.streams.get_mut(side);
        stream.last_time = arrival.stamp.time.max(stream.last_time);
        let number = extend(stream.next, arrival.packet.sequence);
        let Some(read) =
            stream.reads.iter_mut().rev().find(|read| (read.first..read.answer_end(mtu)).contains(&number))
        else {
            if stream.next.is_some_and(|next| number >= next && number - next < FAR) {
                return Err(Early::Gap(side));
            }
            self.counts.get_mut(arrival.from).unmatched += 1;
            return Ok(());
        };
        let is_seen = !read.note(number, &mut stream.ranges);
        let (request, place) = (read.first, read.place(number, arrival.packet, mtu));
        // Requests are carried out in order, so those before this one have arrived.
        sink.acknowledged(arrival.origin(), Acknowledgement { place: request, is_bare: false });
        let is_again = is_seen || read.asked_again.is_some();
        let signs = if is_again { stream.response(number, is_seen, arrival.stamp.time) } else { [None; 2] };
        if stream.responded.is_none_or(|(last, _)| last < number) {
            stream.responded = Some((number, arrival.stamp.time));
        }
        for kind in signs.into_iter().flatten() {
            self.recover(arrival, PacketPlace { sender: side, number }, kind, sink);
        }
        let Transport { data, length, .. } = *arrival.packet;
        match place {
            _ if is_seen => {}
            Some(at) => {
                let kind = OperationKind::ReadResponse { request, at, data, length };
                // The packets behind it came before, and were used.
                let first_sent = signs.contains(&Some(RecoveryKind::Replaced)).then_some(Time::default());
                sink.take_operation(Arrival { first_sent, ..*arrival }.operation(number, kind), true);
            }
            None => self.counts.get_mut(arrival.from).unmatched += 1,
        }
        Ok(())
    }
}

/// Takes operations that will not be offered again.
struct Surely<'a, S>(&'a mut S);

impl<S: OperationSink> OperationSink for Surely<'_, S> {
    fn take_operation(&mut self, operation: Operation<'_>, _last: bool) -> Taken {
        self.0.take_operation(operation, true);
        Taken::Done
    }

    fn acknowledged(&mut self, by: Origin, acknowledgement: Acknowledgement) {
        self.0.acknowledged(by, acknowledgement);
    }

    fn acknowledged_early(&mut self, packet: Origin, order: AcknowledgementOrder) {
        self.0.acknowledged_early(packet, order);
    }
}

/// Reports that the receiver discarded a packet, which was refused and retransmitted.
fn pass_discarded<S: OperationSink>(held: &BufferedPacket, number: u64, sink: &mut S) {
    let Ok(packet) = Transport::decode(&held.octets, held.length) else { return };
    let operation = packet.operation_type();
    let kind = OperationKind::Indication {
        of: held.from,
        place: number,
        sign: Indication::Discarded,
        operation,
        missing: None,
    };
    sink.take_operation(held.arrival(&packet).operation(number, kind), true);
}

#[cfg(test)]
mod tests {
    use super::super::transport::LEN;
    use super::*;

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
                assert!(both.streams.get(side).held.is_empty());
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
        assert_eq!(ordering.counts.active.missed, 0, "nothing says that the receiver took the last one");
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
        assert_eq!(ordering.counts.active.missed, 1);
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
        let Counts { retransmitted, implied_naks, causes_not_seen, .. } = ordering.counts.active;
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
        let Counts { timeouts, implied_naks, causes_not_seen, .. } = ordering.counts.active;
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
            assert_eq!(ordering.counts.active.implied_naks, implied_naks, "{refused:?}");
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
            let stream = &ordering.streams.active;
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
        let counts = ordering.counts.active;
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
            assert_eq!(ordering.counts.active.missed, expected, "{length}");
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
        let counts = ordering.counts.active;
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
            assert_eq!(ordering.counts.passive.missed, missed, "{seen:?} {last:?}");
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
        assert_eq!(ordering.counts.active.retransmitted, u64::from(REPETITIONS) + 1);
        for sequence in [500, 501] {
            ordering.give(Side::Active, SEND, sequence, &[]);
        }
        assert_eq!(ordering.counts.active.retransmitted, u64::from(REPETITIONS) + 1);
        assert_eq!(ordering.next(Side::Active), Some(502));
    }

    #[test]
    fn a_response_beyond_every_window_matches_no_request() {
        for (number, unmatched) in [((1 << 20) - 1, 0), (1 << 20, 1), (1 << 22, 1)] {
            let mut ordering = begun();
            ordering.give(Side::Passive, READ_MIDDLE, number, &[0; 256]);
            assert_eq!(ordering.counts.passive.unmatched, unmatched);
            assert_eq!(ordering.buffered_octets() == 0, unmatched == 1);
        }
    }

    #[test]
    fn a_response_longer_than_its_request_is_unmatched() {
        let mut ordering = begun();
        ordering.ask(Side::Active, 0, 100);
        ordering.give(Side::Passive, READ_MIDDLE, 0, &[0; 256]);
        assert_eq!(ordering.counts.passive.unmatched, 1);
    }
}
