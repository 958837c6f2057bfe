//! Where the time of a call that waits goes. Whatever happens for the call ends a stretch of time, which is added to one
//! phase: so the phases add up to the latency.

use rpcrdma::error::Role;

use super::assembly::Span;
use crate::carrier::operation::Stamp;
use crate::rpc::phases::{NotTimed, Phase, Phases};

/// What was going on when something last happened for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// Nothing.
    Idle,
    /// Data that an RDMA Read asked for was on its way.
    Pulling,
    /// A packet of an RDMA Write was sent. If another follows, that is where the time in between went.
    Pushing,
}

/// The time of a call, as far as it has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    phases: Phases,
    /// The frame that the call began with.
    pub(super) began: Stamp,
    /// The latest packet of the RPC.
    latest: Stamp,
    /// The frame that completed the call.
    called: u64,
    activity: Activity,
    /// Who is to act when nothing is going on.
    turn: Role,
    not_timed: Option<NotTimed>,
    /// What the session had missed before the call.
    missed: u64,
}

impl Timeline {
    /// A call that was sent in these packets.
    pub(super) fn new(Span { began, ended }: Span) -> Self {
        let mut timeline = Self {
            phases: Phases::default(),
            began,
            latest: began,
            called: 0,
            activity: Activity::Idle,
            turn: Role::Responder,
            not_timed: None,
            missed: 0,
        };
        timeline.spend(Phase::Call, ended);
        timeline.called = timeline.latest.frame;
        timeline
    }

    /// The call begins to wait, when the session has missed so much.
    pub(super) fn wait(&mut self, missed: u64) {
        self.missed = missed;
    }

    /// The call waits no longer; the session has missed so much by now. Data that was asked for by RDMA Read was missed too
    /// if it did not come.
    pub(super) fn take(&mut self, missed: u64) {
        if missed != self.missed || self.activity == Activity::Pulling {
            self.refuse(NotTimed::Missed);
        }
    }

    /// The time cannot be divided. The first reason stands.
    pub(super) fn refuse(&mut self, reason: NotTimed) {
        self.not_timed.get_or_insert(reason);
    }

    /// Data is asked for by RDMA Read, or comes. `is_outstanding` says that some that was asked for is still to come.
    pub(super) fn read(&mut self, is_outstanding: bool, stamp: Stamp) {
        self.spend(self.phase_before(Activity::Pulling), stamp);
        self.activity = if is_outstanding { Activity::Pulling } else { Activity::Idle };
    }

    /// A packet of an RDMA Write.
    pub(super) fn write(&mut self, stamp: Stamp) {
        self.spend(self.phase_before(Activity::Pushing), stamp);
        if self.activity == Activity::Idle {
            self.activity = Activity::Pushing;
        }
    }

    /// The reply, that was sent in these packets.
    pub(super) fn reply(&mut self, Span { began, ended }: Span) {
        self.spend(self.phase_before(Activity::Idle), began);
        self.spend(Phase::Reply, ended);
        self.activity = Activity::Idle;
    }

    /// The reply is in memory that the requester is to read.
    pub(super) const fn provided(self) -> Self {
        Self { turn: Role::Requester, ..self }
    }

    /// What it has become.
    pub(super) fn phases(&self) -> Result<Phases, NotTimed> {
        self.not_timed.map_or(Ok(self.phases), Err)
    }

    /// Where the time went before something happens.
    fn phase_before(&self, next: Activity) -> Phase {
        match (self.activity, next, self.turn) {
            (Activity::Pulling, ..) => Phase::Pull,
            (Activity::Pushing, Activity::Pushing, _) => Phase::Push,
            (_, _, Role::Responder) => Phase::Responder,
            (_, _, Role::Requester) => Phase::Requester,
        }
    }

    /// Adds the time up to a packet to a phase. A packet that was captured before the latest and could be used only now took
    /// no time of its own.
    fn spend(&mut self, phase: Phase, stamp: Stamp) {
        let elapsed = stamp.time.0.checked_sub(self.latest.time.0);
        match (stamp.frame >= self.latest.frame, elapsed) {
            (true, Some(elapsed)) => {
                *self.phases.of_mut(phase) += elapsed;
                self.latest = stamp;
            }
            (false, Some(0) | None) if stamp.frame >= self.called => {}
            _ => self.refuse(NotTimed::OutOfOrder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Time;

    fn at(frame: u64, time: u64) -> Stamp {
        Stamp { frame, time: Time(time) }
    }

    fn span(began: Stamp, ended: Stamp) -> Span {
        Span { began, ended }
    }

    fn called() -> Timeline {
        Timeline::new(span(at(1, 100), at(2, 101)))
    }

    #[test]
    fn each_stretch_of_time_goes_to_one_phase() {
        let mut timeline = called();
        timeline.read(true, at(3, 103));
        timeline.read(true, at(4, 107));
        timeline.read(false, at(5, 115));
        timeline.write(at(6, 131));
        timeline.write(at(7, 163));
        timeline.reply(span(at(8, 227), at(9, 355)));
        let expected = Phases { call: 1, responder: 2 + 16 + 64, pull: 4 + 8, push: 32, reply: 128, requester: 0 };
        assert_eq!(timeline.phases(), Ok(expected));
        assert_eq!(expected.total(), 355 - 100);
    }

    #[test]
    fn while_data_is_pulled_a_write_ends_nothing() {
        let mut timeline = called();
        timeline.read(true, at(3, 101));
        timeline.write(at(4, 103));
        timeline.write(at(5, 107));
        timeline.read(false, at(6, 115));
        timeline.reply(span(at(7, 131), at(7, 131)));
        assert_eq!(timeline.phases(), Ok(Phases { call: 1, pull: 14, responder: 16, ..Phases::default() }));
    }

    #[test]
    fn a_reply_that_is_provided_is_the_requesters_turn_until_it_is_pulled() {
        let mut timeline = called();
        timeline.reply(span(at(3, 103), at(4, 107)));
        timeline = timeline.provided();
        timeline.read(true, at(5, 115));
        timeline.read(false, at(6, 131));
        timeline.read(true, at(7, 163));
        timeline.read(false, at(8, 227));
        let expected = Phases { call: 1, responder: 2, reply: 4, requester: 8 + 32, pull: 16 + 64, push: 0 };
        assert_eq!(timeline.phases(), Ok(expected));
    }

    #[test]
    fn a_packet_that_could_be_used_only_late_takes_no_time() {
        let mut timeline = called();
        timeline.write(at(9, 200));
        timeline.write(at(3, 110));
        timeline.reply(span(at(4, 120), at(4, 120)));
        assert_eq!(timeline.phases(), Ok(Phases { call: 1, responder: 99, ..Phases::default() }));
    }

    #[test]
    fn time_out_of_order_is_not_divided() {
        // The clock went back, before a packet or behind it; a packet is before the call.
        for (frame, time) in [(3, 100), (1, 102), (1, 100)] {
            let mut timeline = called();
            timeline.write(at(frame, time));
            timeline.reply(span(at(9, 120), at(9, 120)));
            assert_eq!(timeline.phases(), Err(NotTimed::OutOfOrder));
        }
    }

    #[test]
    fn what_was_missed_meanwhile_is_no_phase() {
        for (before, after, expected) in [(3, 3, None), (3, 4, Some(NotTimed::Missed))] {
            let mut timeline = called();
            timeline.wait(before);
            timeline.take(after);
            timeline.refuse(NotTimed::SameXid);
            assert_eq!(timeline.phases(), Err(expected.unwrap_or(NotTimed::SameXid)));
        }
        let mut timeline = called();
        timeline.read(true, at(3, 120));
        timeline.take(0);
        assert_eq!(timeline.phases(), Err(NotTimed::Missed), "what was asked for did not come");
    }
}
