//! The parts of the time of a call that waits. Whatever happens for the call ends a stretch of time, which is added to one
//! phase: so the phases add up to the latency.

use rpcrdma::error::Role;

use super::assembly::Span;
use super::step_log::{SendPart, StepLog};
use crate::carrier::operation::{OperationType, Places, Side, Stamp};
use crate::carrier::recovery::{AgainFor, RecoveryKind};
use crate::file::Time;
use crate::rpc::data_times::{DataTimes, SenderTimes};
use crate::rpc::phases::{NotTimed, Phase, Phases};
use crate::rpc::recovery::Recovery;
use crate::rpc::steps::{PacketRun, Steps};
use crate::rpc::waiting::Step;

/// Activity at the time of the last event of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// Nothing.
    Idle,
    /// All data that RDMA Reads asked for was captured. The data may not have arrived.
    DataRead,
    /// Data that an RDMA Read asked for was on the way.
    Reading,
    /// A packet of an RDMA Write was sent. If another follows, that is where the time in between went.
    Writing,
}

/// The time of a call so far.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    phases: Phases,
    /// The frame that the call began with.
    pub(super) began: Stamp,
    /// The latest packet of the RPC.
    latest: Stamp,
    /// The latest packet that the other end takes in order.
    sent: Option<SentUntil>,
    /// Place of the latest response to an RDMA Read request over InfiniBand.
    answered: Option<u64>,
    /// The frame that completed the call.
    called: u64,
    activity: Activity,
    /// End that is to act when nothing is going on.
    turn: Role,
    not_timed: Option<NotTimed>,
    /// Number of items that the session had missed before the call. `unassigned` is the number of indications of loss
    /// without a known RPC.
    missed: u64,
    unassigned: u64,
    /// Recovery of lost packets; `None` until there is some.
    lost: Option<Box<LostPackets>>,
    /// Data of both ends. In a box, because a map with one call has room for eleven.
    data: Box<DataWatch>,
    /// Packets of both ends, if kept.
    steps: Option<Box<StepLog>>,
}

/// Data for which an RPC waits.
#[derive(Clone, Copy, Debug, Default)]
struct DataWatch {
    times: DataTimes,
    /// `true` if the RPC waits for data of the requester, which the responder reads.
    is_requester: bool,
    /// Beginning of the wait. `before` are the times of the sending end on the connection before that.
    since: Time,
    before: SenderTimes,
}

/// Sender of a packet, and the place after the packet.
#[derive(Clone, Copy, Debug)]
struct SentUntil {
    from: Side,
    end: u64,
}

/// The places of a packet that the other end takes in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPlaces {
    pub(super) from: Side,
    pub(super) places: Places,
    /// The packet that filled the last gap before this packet, if the gap was filled later.
    pub(super) filled: Option<FilledGap>,
}

/// A packet that filled a gap of the receiver. Until that packet came, the receiver could not use anything after the
/// gap.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilledGap {
    pub(super) stamp: Stamp,
    /// Reason for which the packet was retransmitted.
    pub(super) again_for: AgainFor,
}

/// Packets that their receiver takes in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InOrder {
    /// Requests of an end over InfiniBand, all octets of an end over TCP.
    SentBy(Side),
    /// Responses to the RDMA Read requests of the responder, over InfiniBand.
    Responses,
}

/// A response to an RDMA Read request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadAnswer {
    pub(super) place: u64,
    /// True for the last response to a request.
    pub(super) is_last: bool,
}

/// Times of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketTimes {
    pub(super) stamp: Stamp,
    /// Time of the packet's first copy, if this is a later copy.
    pub(super) first_sent: Option<Time>,
}

/// Read requests that were retransmitted, and not answered to the end since then.
#[derive(Clone, Copy, Debug)]
struct AskedAgain {
    /// Place of the last retransmitted request.
    last: u64,
    /// True if responses to the retransmitted requests come.
    is_answered: bool,
}

/// A packet of an RPC that waits, which was retransmitted over InfiniBand.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepeatedPacket {
    pub(super) operation: OperationType,
    pub(super) place: u64,
    /// True for the last response to a Read request.
    pub(super) is_last: bool,
    /// Some of the data that was asked for by RDMA Read was not captured yet.
    pub(super) is_outstanding: bool,
    pub(super) stamp: Stamp,
}

/// Recovery of lost packets of a call.
#[derive(Clone, Debug, Default)]
struct LostPackets {
    recovery: Recovery,
    /// Time used by recovery since the latest packet of the RPC.
    since: u64,
    /// Up to when that is counted.
    until: Time,
    /// The latest stretch of recovery time. `explained` is the time up to which a reason for recovery is known.
    stretch: (Time, Time),
    explained: Time,
    asked_again: Option<AskedAgain>,
    /// Place of the last packet that the responder retransmitted.
    sent_again: Option<u64>,
}

impl LostPackets {
    /// Adds the time from a packet of the RPC to a retransmitted packet, except for the part counted before.
    fn spend(&mut self, from: Time, until: Time) {
        let from = from.max(self.until);
        if until > from {
            self.since += until.0 - from.0;
            self.until = until;
            self.stretch = if self.stretch.1 == from { (self.stretch.0, until) } else { (from, until) };
            self.recovery.stretch(from, until);
        }
    }

    /// Takes the reason for a retransmission at `time`, which explains the time before, back to another packet.
    fn explain(&mut self, time: Time, again_for: AgainFor) {
        let (from, until) = self.stretch;
        let (from, until) = (from.max(self.explained), until.min(time));
        self.explained = self.explained.max(until);
        if again_for == AgainFor::NotReady {
            self.recovery.not_ready += until.0.saturating_sub(from.0);
        }
    }

    /// Takes the recovery time up to `time`, at most `elapsed`. A packet may have been retransmitted after this time,
    /// and still have been captured before what the packet belongs to could be used.
    fn take_until(&mut self, time: Time, elapsed: u64) -> u64 {
        let beyond = self.until.0.saturating_sub(time.0).min(self.since);
        let taken = core::mem::replace(&mut self.since, beyond) - beyond;
        taken.min(elapsed)
    }
}

impl Timeline {
    /// A call that was sent in these packets. What both ends do is kept if there are `steps`.
    pub(super) fn new(Span { began, ended, first_sent }: Span, steps: Option<StepLog>) -> Self {
        let mut timeline = Self {
            phases: Phases::default(),
            began,
            latest: began,
            sent: None,
            answered: None,
            called: 0,
            activity: Activity::Idle,
            turn: Role::Responder,
            not_timed: None,
            missed: 0,
            unassigned: 0,
            lost: None,
            data: Box::default(),
            steps: steps.map(Box::new),
        };
        timeline.spend(Phase::Call, ended, first_sent);
        timeline.called = timeline.latest.frame;
        timeline
    }

    /// Begins the wait of the call; `missed` and `unassigned` are the session's numbers of missed items and of
    /// indications of loss without a known RPC so far.
    pub(super) const fn wait(&mut self, missed: u64, unassigned: u64) {
        self.missed = missed;
        self.unassigned = unassigned;
    }

    /// Ends the wait of the call; `missed` and `unassigned` are the session's numbers of missed items and of
    /// indications of loss without a known RPC by now. Data that was asked for by RDMA Read, of a reply that the
    /// responder provides, was missed too if the data did not come.
    pub(super) fn end_wait(&mut self, missed: u64, unassigned: u64) {
        self.unassigned = unassigned - self.unassigned;
        if missed != self.missed || self.activity == Activity::Reading {
            self.refuse(NotTimed::Missed);
        }
    }

    /// The time cannot be divided. The first reason stands, but for one that leaves not even the latency.
    pub(super) fn refuse(&mut self, reason: NotTimed) {
        if self.not_timed.is_none_or(|known| known.leaves_latency() && !reason.leaves_latency()) {
            self.not_timed = Some(reason);
        }
    }

    /// Data is asked for by RDMA Read.
    pub(super) fn ask(&mut self, stamp: Stamp, first_sent: Option<Time>) {
        self.transfer(Activity::Reading, Phase::RdmaRead, stamp, first_sent);
        self.activity = Activity::Reading;
    }

    /// Data that was asked for by RDMA Read comes. `is_outstanding` says that other data is still to come.
    pub(super) fn respond(&mut self, response: ReadAnswer, is_outstanding: bool, sent: PacketTimes) {
        self.spend(self.phase_before(Activity::Reading), sent.stamp, sent.first_sent);
        self.answer(response, is_outstanding);
    }

    fn answer(&mut self, ReadAnswer { place, is_last }: ReadAnswer, is_outstanding: bool) {
        let before = self.answered.replace(place);
        let again = self.lost.as_mut().map(|lost| &mut lost.asked_again);
        let is_asked_again = again.is_some_and(|again| {
            again.iter_mut().for_each(|again| again.is_answered |= Some(place) <= before);
            again.take_if(|again| again.is_answered && is_last && place >= again.last);
            again.is_some()
        });
        self.activity = if is_outstanding || is_asked_again { Activity::Reading } else { Activity::DataRead };
    }

    /// A Read request is retransmitted, from the response at this place on.
    fn ask_again(&mut self, place: u64) {
        // Responses that are on their way may be captured before those to this request.
        let are_new = Some(place) > self.answered;
        let again = &mut self.lost.get_or_insert_default().asked_again;
        let AskedAgain { last, is_answered } = again.unwrap_or(AskedAgain { last: place, is_answered: true });
        *again = Some(AskedAgain { last: last.max(place), is_answered: is_answered && are_new });
        self.activity = Activity::Reading;
    }

    /// A packet of an RDMA Write.
    pub(super) fn write(&mut self, stamp: Stamp, first_sent: Option<Time>) {
        self.transfer(Activity::Writing, Phase::RdmaWrite, stamp, first_sent);
        if self.activity != Activity::Reading {
            self.activity = Activity::Writing;
        }
    }

    /// Takes the reply, which was sent in these packets. Data that was asked for by RDMA Read was missed if the data
    /// did not come before.
    pub(super) fn reply(&mut self, Span { began, ended, first_sent }: Span) {
        if self.activity == Activity::Reading {
            self.refuse(NotTimed::Missed);
        }
        self.spend(self.phase_before(Activity::Idle), began, first_sent);
        self.spend(Phase::Reply, ended, first_sent);
        self.activity = Activity::Idle;
    }

    /// Notes that the reply arrived with `accepted`: of several copies, the one that the requester accepted; `None` if
    /// unknown. `unassigned` is the number of indications of loss without a known RPC since the reply was sent.
    pub(super) fn arrive(&mut self, accepted: Option<Stamp>, unassigned: u64) {
        self.unassigned += unassigned;
        match accepted {
            Some(stamp) if stamp.frame > self.latest.frame => self.spend(Phase::Reply, stamp, Some(self.latest.time)),
            Some(_) => {}
            None => self.refuse(NotTimed::ArrivalUnknown),
        }
    }

    /// The latest packet of the RPC has these places.
    #[inline]
    pub(super) fn sent(&mut self, sent: SentPlaces) {
        let SentPlaces { from, places, filled } = sent;
        self.sent = Some(SentUntil { from, end: places.end });
        if let Some(filled) = filled {
            self.wait_for(filled);
        }
    }

    /// A packet filled a gap at this place.
    pub(super) fn fill(&mut self, packets: InOrder, place: u64, filled: FilledGap) {
        if self.is_behind(packets, place) {
            self.wait_for(filled);
        }
    }

    /// Notes that a packet of this end at this place was retransmitted and not acknowledged before: later data may have
    /// come with the packet.
    pub(super) fn await_data(&mut self, from: Side, place: u64, stamp: Stamp) {
        if self.activity == Activity::DataRead && self.is_behind(InOrder::SentBy(from), place) {
            self.spend_later(Phase::RdmaRead, stamp);
        }
    }

    /// Returns true if the RPC goes on with a packet at a place, or behind the place.
    fn is_behind(&self, packets: InOrder, place: u64) -> bool {
        match packets {
            InOrder::SentBy(end) => self.sent.is_some_and(|sent| sent.from == end && place < sent.end),
            InOrder::Responses => self.activity == Activity::DataRead && self.answered > Some(place),
        }
    }

    /// The receiver could not use the latest packet before this one, which filled a gap.
    fn wait_for(&mut self, filled: FilledGap) {
        let FilledGap { stamp, again_for } = filled;
        if stamp.frame > self.latest.frame {
            self.spend_on_recovery(stamp.time, Time::default());
            let lost = self.lost.get_or_insert_default();
            lost.recovery.behind = Some(stamp.frame);
            lost.explain(stamp.time, again_for);
            if self.activity == Activity::DataRead {
                self.spend_later(Phase::RdmaRead, stamp);
            }
        }
    }

    /// The reply is in memory that the requester is to read.
    pub(super) fn provided(self) -> Self {
        Self { turn: Role::Requester, ..self }
    }

    /// Returns true if packets of the RPC were retransmitted later, and before what was captured at this frame.
    pub(super) fn recovered_after(&self, stamp: Stamp) -> bool {
        self.latest.frame > stamp.frame && self.lost.as_ref().is_some_and(|lost| lost.until > stamp.time)
    }

    /// Returns true if the RPC waits for data that the responder reads from the requester, or if the RPC waited for
    /// such data when [`watch`](Self::watch) was called.
    #[inline]
    pub(super) fn is_sender_changed(&self) -> bool {
        (self.activity == Activity::Reading) != self.data.is_requester
    }

    /// The call was sent at this time: the RPC waits for the responder, whose times on the connection were these before.
    pub(super) fn watch_from(&mut self, before: SenderTimes, since: Time) {
        *self.data = DataWatch { is_requester: false, since, before, ..*self.data };
    }

    /// Adds the times of the end whose data the RPC waited for, up to a packet, and begins with the times of the end
    /// that is next. `requester` and `responder` are the times of both ends on the connection.
    pub(super) fn watch(&mut self, requester: SenderTimes, responder: SenderTimes, time: Time) {
        let DataWatch { mut times, is_requester, since, before } = *self.data;
        let elapsed = time.0.saturating_sub(since.0);
        match is_requester {
            true => times.read.add_times(requester.since(before, elapsed)),
            false => times.written.add_times(responder.since(before, elapsed)),
        }
        let is_requester = self.activity == Activity::Reading;
        let before = if is_requester { requester } else { responder };
        *self.data = DataWatch { times, is_requester, since: time, before };
    }

    /// Returns the times of both ends.
    pub(super) fn data_times(&self) -> DataTimes {
        self.data.times
    }

    /// Returns the phases.
    pub(super) fn phases(&self) -> Result<Phases, NotTimed> {
        self.not_timed.map_or(Ok(self.phases), Err)
    }

    /// Returns the part of the time that was spent on lost packets, once the call no longer waits.
    pub(super) fn recovery(self) -> Result<Recovery, NotTimed> {
        match self.not_timed {
            Some(reason) => Err(reason),
            None => {
                let mut recovery = self.lost.map(|lost| lost.recovery).unwrap_or_default();
                recovery.unassigned = self.unassigned;
                recovery.end_at(self.latest.time);
                Ok(recovery)
            }
        }
    }

    /// Takes a packet that was retransmitted. That of an RDMA Read or Write shows that the transfer was not over: of a
    /// Read request, that the data that was captured did not all arrive.
    pub(super) fn repeat(&mut self, packet: &RepeatedPacket) {
        let RepeatedPacket { operation, place, is_last, is_outstanding, stamp } = *packet;
        let phase = match (operation, self.activity) {
            (OperationType::ReadRequest, _) | (OperationType::ReadResponse, Activity::Reading) => Phase::RdmaRead,
            (OperationType::Write, Activity::Writing) => Phase::RdmaWrite,
            _ => return,
        };
        self.spend_later(phase, stamp);
        match operation {
            OperationType::ReadRequest => self.ask_again(place),
            OperationType::ReadResponse => self.answer(ReadAnswer { place, is_last }, is_outstanding),
            OperationType::Write | OperationType::Send => {}
        }
    }

    /// A packet shows that one of the RPC was lost, or seemed to be.
    pub(super) fn recover(&mut self, kind: RecoveryKind, again_for: AgainFor, stamp: Stamp) {
        let lost = self.lost.get_or_insert_default();
        lost.recovery.count_indication(kind, stamp);
        if kind.is_retransmission() {
            lost.spend(self.latest.time, stamp.time);
            lost.explain(stamp.time, again_for);
            lost.recovery.not_ready_packets += u64::from(again_for == AgainFor::NotReady);
        }
    }

    /// The responder sent a packet at this place again.
    pub(super) fn note_again(&mut self, place: u64) {
        self.lost.get_or_insert_default().sent_again = Some(place);
    }

    /// Place of the last packet that the responder retransmitted.
    pub(super) fn sent_again(&self) -> Option<u64> {
        self.lost.as_ref()?.sent_again
    }

    /// Notes a packet, if packets are kept, and adds the octets of memory for the packet to `held`.
    #[inline]
    pub(super) fn log(&mut self, packet: PacketRun, held: &mut usize) {
        if let Some(steps) = &mut self.steps {
            let before = steps.memory_used();
            steps.add_packet(packet);
            *held = *held + steps.memory_used() - before;
        }
    }

    /// Notes the packets of a Send, if packets are kept, once the call does not wait any longer.
    pub(super) fn log_send(&mut self, from: Side, step: Step, parts: &[SendPart]) {
        if let Some(steps) = &mut self.steps {
            steps.add_send(from, step, parts);
        }
    }

    /// Returns the packets of both ends, if packets were kept.
    pub(super) fn steps(&mut self) -> Option<Box<Steps>> {
        self.steps.take().map(|steps| Box::new(steps.finish()))
    }

    /// Returns the memory used in addition to `Self`, in octets. Memory for lost packets counts from the start, because
    /// any packet may show a loss.
    pub(super) fn memory_used(&self) -> usize {
        let steps = self.steps.as_ref().map_or(0, |steps| steps.memory_used());
        size_of::<LostPackets>() + Recovery::HELD + size_of::<DataWatch>() + steps
    }

    /// A packet of an RDMA Read or Write. If an earlier copy was sent, the transfer has been under way since then.
    fn transfer(&mut self, next: Activity, phase: Phase, stamp: Stamp, first_sent: Option<Time>) {
        let Some(began) = first_sent else { return self.spend(self.phase_before(next), stamp, None) };
        if began > self.latest.time && began < stamp.time && stamp.frame >= self.latest.frame {
            self.spend_on_recovery(stamp.time, began);
            self.spend(self.phase_before(next), Stamp { time: began, ..self.latest }, None);
        }
        self.spend(phase, stamp, first_sent);
    }

    /// Returns the phase of the time before something happens.
    fn phase_before(&self, next: Activity) -> Phase {
        match (self.activity, next, self.turn) {
            (Activity::Reading, ..) => Phase::RdmaRead,
            (Activity::Writing, Activity::Writing, _) => Phase::RdmaWrite,
            (_, _, Role::Responder) => Phase::Responder,
            (_, _, Role::Requester) => Phase::Requester,
        }
    }

    /// Adds the time up to a packet to a phase. A packet that was captured before the latest packet and could be used
    /// only now took no time.
    fn spend(&mut self, phase: Phase, stamp: Stamp, first_sent: Option<Time>) {
        if let Some(first_sent) = first_sent {
            self.spend_on_recovery(stamp.time, first_sent);
        }
        let elapsed = stamp.time.0.checked_sub(self.latest.time.0);
        match (stamp.frame >= self.latest.frame, elapsed) {
            (true, Some(elapsed)) => {
                *self.phases.phase_time_mut(phase) += elapsed;
                if let Some(steps) = &mut self.steps {
                    steps.spend(phase, self.latest.time, stamp.time);
                }
                if let Some(lost) = &mut self.lost {
                    *lost.recovery.phases.phase_time_mut(phase) += lost.take_until(stamp.time, elapsed);
                }
                self.latest = stamp;
            }
            (false, Some(0) | None) if stamp.frame >= self.called => {}
            _ => self.refuse(NotTimed::OutOfOrder),
        }
    }

    /// Adds the time up to a packet to a phase, unless the packet came before the latest packet of the RPC.
    fn spend_later(&mut self, phase: Phase, stamp: Stamp) {
        if stamp.frame >= self.latest.frame && stamp.time >= self.latest.time {
            self.spend(phase, stamp, None);
        }
    }

    /// A packet was retransmitted that was first sent at that time, or before the latest packet of the RPC.
    fn spend_on_recovery(&mut self, time: Time, first_sent: Time) {
        self.lost.get_or_insert_default().spend(first_sent.max(self.latest.time), time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(frame: u64, time: u64) -> Stamp {
        Stamp { frame, time: Time(time) }
    }

    fn span(began: Stamp, ended: Stamp) -> Span {
        Span { began, ended, first_sent: None }
    }

    fn called() -> Timeline {
        Timeline::new(span(at(1, 100), at(2, 101)), None)
    }

    #[test]
    fn lost_packets_are_held_from_the_start() {
        assert!(called().memory_used() >= size_of::<LostPackets>());
    }

    fn once(stamp: Stamp) -> PacketTimes {
        PacketTimes { stamp, first_sent: None }
    }

    #[test]
    fn each_stretch_of_time_goes_to_one_phase() {
        let mut timeline = called();
        timeline.ask(at(3, 103), None);
        timeline.respond(ReadAnswer { place: 0, is_last: true }, true, once(at(4, 107)));
        timeline.respond(ReadAnswer { place: 0, is_last: true }, false, once(at(5, 115)));
        timeline.write(at(6, 131), None);
        timeline.write(at(7, 163), None);
        timeline.reply(span(at(8, 227), at(9, 355)));
        let expected =
            Phases { call: 1, responder: 2 + 16 + 64, rdma_read: 4 + 8, rdma_write: 32, reply: 128, requester: 0 };
        assert_eq!(timeline.phases(), Ok(expected));
        assert_eq!(expected.total(), 355 - 100);
    }

    #[test]
    fn while_data_is_pulled_a_write_ends_nothing() {
        let mut timeline = called();
        timeline.ask(at(3, 101), None);
        timeline.write(at(4, 103), None);
        timeline.write(at(5, 107), None);
        timeline.respond(ReadAnswer { place: 0, is_last: true }, false, once(at(6, 115)));
        timeline.reply(span(at(7, 131), at(7, 131)));
        assert_eq!(timeline.phases(), Ok(Phases { call: 1, rdma_read: 14, responder: 16, ..Phases::default() }));
    }

    #[test]
    fn a_provided_reply_is_requester_time_until_read() {
        let mut timeline = called();
        timeline.reply(span(at(3, 103), at(4, 107)));
        timeline = timeline.provided();
        timeline.ask(at(5, 115), None);
        timeline.respond(ReadAnswer { place: 0, is_last: true }, false, once(at(6, 131)));
        timeline.ask(at(7, 163), None);
        timeline.respond(ReadAnswer { place: 0, is_last: true }, false, once(at(8, 227)));
        let expected = Phases { call: 1, responder: 2, reply: 4, requester: 8 + 32, rdma_read: 16 + 64, rdma_write: 0 };
        assert_eq!(timeline.phases(), Ok(expected));
    }

    #[test]
    fn a_packet_usable_only_late_takes_no_time() {
        let mut timeline = called();
        timeline.write(at(9, 200), None);
        timeline.write(at(3, 110), None);
        timeline.reply(span(at(4, 120), at(4, 120)));
        assert_eq!(timeline.phases(), Ok(Phases { call: 1, responder: 99, ..Phases::default() }));
    }

    #[test]
    fn time_out_of_order_is_not_divided() {
        // The clock went back, before a packet or behind it; a packet is before the call.
        for (frame, time) in [(3, 100), (1, 102), (1, 100)] {
            let mut timeline = called();
            timeline.write(at(frame, time), None);
            timeline.reply(span(at(9, 120), at(9, 120)));
            assert_eq!(timeline.phases(), Err(NotTimed::OutOfOrder));
        }
    }

    /// Packets of the RPC came later than the copy of the reply that was accepted.
    #[test]
    fn a_reply_accepted_before_later_packets_adds_no_time() {
        let mut timeline = called();
        timeline.reply(span(at(3, 103), at(4, 107)));
        timeline.write(at(6, 115), None);
        let before = timeline.phases().unwrap();
        timeline.arrive(Some(at(5, 110)), 0);
        assert_eq!(timeline.phases(), Ok(before));
        timeline.arrive(Some(at(7, 131)), 0);
        assert_eq!(timeline.phases().unwrap().reply, before.reply + 131 - 115);
    }

    /// A packet that was retransmitted later than the Send that completes the RPC.
    #[test]
    fn only_packets_retransmitted_after_the_reply_are_recovered_later() {
        let is_recovered = |resent: Option<u64>, frame| {
            let mut timeline = called();
            resent
                .into_iter()
                .for_each(|time| timeline.recover(RecoveryKind::Retransmitted, AgainFor::Loss, at(5, time)));
            timeline.write(at(6, 115), None);
            timeline.recovered_after(at(frame, 110))
        };
        assert!(is_recovered(Some(111), 5));
        assert!(!is_recovered(Some(110), 5), "it was sent again with the reply");
        assert!(!is_recovered(Some(109), 5), "it was sent again before the reply");
        assert!(!is_recovered(Some(111), 6), "nothing came later");
        assert!(!is_recovered(None, 5), "nothing was sent again");
    }

    #[test]
    fn what_was_missed_meanwhile_is_no_phase() {
        for (before, after, expected) in [(3, 3, None), (3, 4, Some(NotTimed::Missed))] {
            let mut timeline = called();
            timeline.wait(before, 0);
            timeline.end_wait(after, 0);
            timeline.refuse(NotTimed::SameXid);
            assert_eq!(timeline.phases(), Err(expected.unwrap_or(NotTimed::SameXid)));
        }
        let mut timeline = called();
        timeline.ask(at(3, 120), None);
        timeline.end_wait(0, 0);
        assert_eq!(timeline.phases(), Err(NotTimed::Missed), "what was asked for did not come");
    }
}
