//! The packets of both ends whose turn has come, and the operations that they make.

use super::answers::AnswerMoment;
use super::backlog::Early;
use super::checksums::RetransmittedPacket;
use super::loss_account::{LossAccount, PacketPosition};
use super::operation_sink::{LastOffer, OperationSink};
use super::reorder_buffer::{Arrival, BufferedPacket, Packets};
use super::retransmission::{Lateness, RepeatedRequest};
use super::stream::{FAR, REPETITIONS, ReadRequest, RequestStream, extend, request_span};
use super::transport::{PacketKind, Syndrome, Transport};
use crate::carrier::acknowledgement::{Acknowledgement, Acknowledgements, EARLY};
use crate::carrier::connection::Counts;
use crate::carrier::handler::Taken;
use crate::carrier::operation::{Operation, OperationKind, Origin, Places, Side, Sides, Stamp};
use crate::carrier::recovery::{Indication, Indications, RecoveryKind};
use crate::file::Time;

/// The code of a negative acknowledgement that refuses access to memory (InfiniBand Architecture, volume 1, section 9.7.5).
const REMOTE_ACCESS_ERROR: u8 = 2;

/// Turns packets in order into operations. Early packets are returned as such.
#[derive(Debug, Default)]
pub(super) struct PacketDelivery {
    streams: Sides<RequestStream>,
    mtu: Option<u32>,
    account: LossAccount,
}

impl PacketDelivery {
    /// The requests of both ends.
    pub(super) const fn streams(&self) -> &Sides<RequestStream> {
        &self.streams
    }

    /// The requests of an end.
    pub(super) const fn stream(&self, side: Side) -> &RequestStream {
        self.streams.get(side)
    }

    /// The requests of an end, to change.
    pub(super) const fn stream_mut(&mut self, side: Side) -> &mut RequestStream {
        self.streams.get_mut(side)
    }

    /// The path MTU, if known.
    pub(super) const fn mtu(&self) -> Option<u32> {
        self.mtu
    }

    /// Sets the most octets that a packet carries, from connection setup.
    pub(super) const fn set_mtu(&mut self, mtu: Option<u32>) {
        self.mtu = mtu;
    }

    /// The counts of packets.
    pub(super) const fn account(&self) -> &LossAccount {
        &self.account
    }

    /// The counts of packets, to change.
    pub(super) const fn account_mut(&mut self) -> &mut LossAccount {
        &mut self.account
    }

    /// Octets of memory taken by requests.
    pub(super) fn octets(&self) -> usize {
        let stream = |stream: &RequestStream| {
            stream.refused.octets
                + stream.reads.len() * size_of::<ReadRequest>()
                + stream.ranges * size_of::<(u64, u64)>()
        };
        stream(&self.streams.active) + stream(&self.streams.passive)
    }

    /// Returns the number of a request, or of the request that an answer of the sender would have, extended to 64 bits.
    pub(super) fn number(&self, arrival: &Arrival<'_>) -> u64 {
        extend(self.streams.get(arrival.from).next, arrival.packet.sequence)
    }

    /// Returns true if this is a request whose number has passed.
    pub(super) fn is_repetition(&self, arrival: &Arrival<'_>) -> bool {
        let number = self.number(arrival);
        self.streams.get(arrival.from).next.is_some_and(|next| number < next)
    }

    /// Returns true if the acknowledgement of a request was captured before the request.
    pub(super) fn is_acknowledged_before(&self, arrival: &Arrival<'_>) -> bool {
        let (number, stream) = (self.number(arrival), self.streams.get(arrival.from));
        let highest = stream.arrived.map(|(highest, _)| highest);
        stream.next.is_some_and(|next| number >= next) && highest.is_some_and(|highest| highest >= number)
    }

    /// Learns from a packet about the other end's stream. Returns the number from which on the sender of the packet
    /// discarded requests.
    pub(super) fn learn(&mut self, from: Side, packet: &Transport<'_>, moment: AnswerMoment) -> Option<u64> {
        if !packet.last && matches!(packet.operation, PacketKind::Send | PacketKind::Write | PacketKind::ReadResponse) {
            self.mtu = u32::try_from(packet.length).ok().filter(|length| *length > 0).or(self.mtu);
        }
        self.streams.get_mut(from.other()).take_answer(packet, moment)
    }

    /// Reports requests that the capture lacks, if a path MTU that was unknown shows that there were any.
    pub(super) fn measure<S: OperationSink>(&mut self, stamp: Stamp, sink: &mut S) {
        let Some(mtu) = self.mtu else { return };
        for side in [Side::Active, Side::Passive] {
            let missed = self.streams.get_mut(side).measure(mtu);
            if missed > 0 {
                self.account.lose(Origin { from: side, stamp }, missed, Places::default(), sink);
            }
        }
    }

    /// A request may have to be acknowledged. The answer to a Read request is data, which takes time to move.
    pub(super) fn await_acknowledgement<S: OperationSink>(
        &mut self,
        arrival: &Arrival<'_>,
        arrivals: u64,
        sink: &mut S,
    ) {
        let Transport { asks, operation, .. } = *arrival.packet;
        if asks && operation != PacketKind::ReadRequest {
            let number = self.number(arrival);
            let stream = self.streams.get_mut(arrival.from);
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

    /// Returns the times that an end takes to acknowledge, if more is known than before.
    #[inline]
    pub(super) fn take_measured(&mut self, by: Side) -> Option<Acknowledgements> {
        self.streams.get_mut(by.other()).awaited.take_changed()
    }

    /// Takes the verdict on the checksum of a packet that was retransmitted before an acknowledgement came.
    pub(super) fn take_verdict(&mut self, packet: &RetransmittedPacket, is_right: bool) {
        self.account.count_checksum(packet, is_right);
        if !is_right {
            let wrong = &mut self.streams.get_mut(packet.from).wrong_checksum;
            *wrong = Some(wrong.map_or(packet.number, |lowest| lowest.min(packet.number)));
        }
    }

    /// Counts by sender, once all has come. `are_recorded` returns true for an end whose checksums the capture holds.
    pub(super) fn finished_counts(&self, are_recorded: impl Fn(Side) -> bool) -> Sides<Counts> {
        self.account.finished_counts(&self.streams, are_recorded)
    }

    /// Notes that a request was captured before.
    pub(super) fn repeat<S: OperationSink>(&mut self, arrival: &Arrival<'_>, number: u64, sink: &mut S) {
        let signs = self.copy(arrival, number);
        self.show(arrival, number, signs, sink);
    }

    /// Notes that a request came again which the receiver had discarded.
    pub(super) fn repeat_discarded<S: OperationSink>(
        &mut self,
        arrival: &Arrival<'_>,
        discarded: &BufferedPacket,
        number: u64,
        sink: &mut S,
    ) {
        let signs = self.copy(arrival, number);
        pass_discarded(discarded, number, sink);
        self.show(arrival, number, signs, sink);
    }

    /// Takes a request that fills a gap; what is behind the gap was first sent at `overtaken`. Returns the indications
    /// in a retransmission, and `None` for a late request.
    pub(super) fn fill_gap(&mut self, arrival: &Arrival<'_>, number: u64, overtaken: Time) -> Option<Indications> {
        // Time that this end takes to acknowledge the other's requests.
        let reaction = self.streams.get(arrival.from.other()).awaited.least();
        let late = Lateness { overtaken, reaction, round_trip: self.round_trip() };
        self.streams.get_mut(arrival.from).filling(number, arrival.silence, &late)
    }

    /// Sets aside a request that the receiver will discard because an earlier one is missing. Returns true if the
    /// request was set aside.
    pub(super) fn refuse(&mut self, arrival: &Arrival<'_>) -> bool {
        let number = self.number(arrival);
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
            self.account.count_unmatched(arrival.from);
        }
        true
    }

    /// Uses requests that the receiver seemed to have refused but accepted.
    pub(super) fn take_refused<S: OperationSink>(&mut self, side: Side, sink: &mut S) {
        loop {
            let stream = self.streams.get_mut(side);
            let Some(next) = stream.next else {
                stream.refused = Packets::default();
                return;
            };
            stream.refused.forget_before(next);
            let Some(held) = stream.refused.remove(next) else { return };
            if let Ok(packet) = Transport::decode(&held.octets, held.length) {
                _ = self.deliver(&held.arrival(&packet), &mut LastOffer(sink));
            }
        }
    }

    /// Gives the whole Sends that the receiver refused and that never came again: the sender did send them. Earlier
    /// operations on memory were refused too, or are in the gap.
    pub(super) fn give_unaccepted<S: OperationSink>(&mut self, unaccepted: Packets, sink: &mut S) {
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

    /// Responses to this end's Read requests must have been sent, and were not seen.
    pub(super) fn lose_responses<S: OperationSink>(&mut self, side: Side, sink: &mut S) {
        let missed = self.streams.get(side).missed_responses(self.mtu);
        if missed > 0 {
            self.account.lose(Origin { from: side.other(), stamp: Stamp::default() }, missed, Places::default(), sink);
        }
    }

    /// Uses a packet, or returns why the packet is early.
    pub(super) fn deliver<S: OperationSink>(&mut self, arrival: &Arrival<'_>, sink: &mut S) -> Result<(), Early> {
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

    /// Returns the nanoseconds that both ends take together at least to answer, if that was measured.
    fn round_trip(&self) -> Option<u64> {
        let Sides { active, passive } = &self.streams;
        active.awaited.least().zip(passive.awaited.least()).map(|(one, other)| one.saturating_add(other))
    }

    /// Returns the indications in a request that was captured before.
    fn copy(&mut self, arrival: &Arrival<'_>, number: u64) -> Indications {
        let Arrival { silence, packet: Transport { operation, .. }, .. } = *arrival;
        let repeated = RepeatedRequest { operation: *operation, silence, round_trip: self.round_trip() };
        self.streams.get_mut(arrival.from).copy(number, &repeated)
    }

    /// Counts the indications in a request, and passes them on.
    pub(super) fn show<S: OperationSink>(
        &mut self,
        arrival: &Arrival<'_>,
        number: u64,
        signs: Indications,
        sink: &mut S,
    ) {
        let position = PacketPosition { sender: arrival.from, number };
        for kind in signs.into_iter().flatten() {
            self.account.recover(arrival, position, kind, self.streams.get(arrival.from), sink);
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
                    self.account.refuse_access(arrival.from, number);
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
        self.account.recover(arrival, PacketPosition { sender: of, number }, kind, self.streams.get(of), sink);
    }

    fn request<S: OperationSink>(&mut self, arrival: &Arrival<'_>, sink: &mut S) -> Result<(), Early> {
        let mut number = self.number(arrival);
        let stream = self.streams.get_mut(arrival.from);
        let mtu = self.mtu;
        let next = stream.expected(number, mtu);
        // Requests before the first were answered, so the capture lacks them.
        let is_after_others = stream.answered.take().is_some_and(|answered| answered.get() < number);
        // No response was captured that would show the path MTU, so requests among them may be missing.
        let is_guessed = arrival.packet.operation != PacketKind::ReadRequest && std::mem::take(&mut stream.guessed);
        if is_after_others || is_guessed {
            self.account.lose(arrival.origin(), 0, Places::default(), sink);
        }
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
            self.repeat(arrival, number, sink);
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
            None => self.account.count_unmatched(arrival.from),
        }
        stream.pass(arrival, number, mtu);
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
            self.repeat(arrival, number, sink);
        }
        let stream = self.streams.get_mut(arrival.from);
        stream.passed = Some(number);
        let is_send = arrival.packet.operation == PacketKind::Send && arrival.packet.first && arrival.packet.last;
        let kind = if is_send { stream.kind(number, arrival, self.mtu) } else { None };
        match kind {
            Some(kind) => {
                sink.take_operation(arrival.operation(number, kind), true);
                // It does not show that what comes next is in order.
                sink.take_operation(lost, true);
            }
            None => self.account.count_unmatched(arrival.from),
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
            self.account.count_unmatched(arrival.from);
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
            self.account.recover(arrival, PacketPosition { sender: side, number }, kind, stream, sink);
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
            None => self.account.count_unmatched(arrival.from),
        }
        Ok(())
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
