//! Credits that replies return, with the copy that the requester accepted.
//!
//! The next call may be captured before the acknowledgement of the reply that let the call go, so a credit counts as
//! returned when the reply is captured. If an indication of loss shows that this copy was not accepted, or leaves open
//! which copy was accepted, the account goes back to the state before the oldest reply that is not acknowledged, and
//! repeats what followed.

use std::collections::BTreeMap;

use super::arrivals::{Acceptance, ReturnedCredit};
use super::credits::CreditAccount;
use super::state::{Context, Session};
use crate::carrier::operation::{Side, Stamp};
use crate::event::{Event, Recounted};
use crate::file::Time;
use crate::rpc::credits::CreditWaitUnknown;
use crate::rpc::message::Message;

/// A change of the account of a requester.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// A call is sent, whose first packet has this time.
    Call(Time),
    /// The reply is sent for the first time.
    Reply,
    /// The reply may have been accepted.
    Doubt,
    /// The reply has been accepted.
    Accept,
    /// The reply has been accepted, after `Doubt`.
    Settle,
}

/// A change, the call of the change, and the packet that made the change.
#[derive(Clone, Copy, Debug)]
struct Changed {
    stamp: Stamp,
    call: u64,
    change: Change,
}

impl Session {
    /// Returns the credit that a reply has just returned. `before` is the requester's account before that.
    pub(super) fn returned_credit(&mut self, message: &Message, before: CreditAccount) -> ReturnedCredit {
        self.credits.get_mut(message.sender.other()).keep_answer();
        let counted = Acceptance::At(self.sends.current.span.ended);
        ReturnedCredit { before, granted: message.credits(), last_call: self.calls.last(), counted }
    }

    /// Counts the credits of an end again if replies to that end were not accepted when the account counted the
    /// replies.
    pub(super) fn recount_credits(&mut self, requester: Side, stamp: Stamp, context: &mut Context<'_>) {
        let now = stamp.time;
        let arrivals = self.arrivals.get_mut(requester.other());
        let changed = arrivals.replies().filter(|(_, accepted, ended)| *accepted != ended.credit.counted);
        let end = |accepted: Acceptance| accepted.first().map_or(now, |first| first.time);
        let ends = changed.map(|(_, accepted, ended)| (end(ended.credit.counted), end(accepted)));
        let (mut since, mut waited_ns) = (None, 0_i64);
        for (counted, is) in ends {
            since = Some(since.unwrap_or(now).min(counted).min(is));
            waited_ns = waited_ns.saturating_add(difference(is, counted));
        }
        let Some(since) = since else { return };
        let mut before = *self.credits.get(requester);
        self.recount(requester);
        let mut after = *self.credits.get(requester);
        let credit_use = after.usage();
        let reached = [&mut after, &mut before].map(|account| Time(account.finish(now).reached));
        let at_limit_ns = difference(reached[0], reached[1]);
        if let Some(connection) = self.number {
            let recounted = Recounted { connection, requester, stamp, since, waited_ns, at_limit_ns, credit_use };
            context.events.push_back(Event::Recounted(recounted));
        }
    }

    /// Counts the credits again from the oldest reply on, if that is possible.
    fn recount(&mut self, requester: Side) {
        let arrivals = self.arrivals.get_mut(requester.other());
        let Some(oldest) = arrivals.replies().next().map(|(_, _, ended)| ended.credit) else { return };
        let account = self.credits.get_mut(requester);
        if account.can_repeat(&oldest.before) {
            self.repeat(requester, &oldest);
        } else {
            // Calls were given up, or replies missed.
            account.miss_replies(self.calls.last(), self.sends.current.span.ended.time);
        }
        let replies = self.arrivals.get_mut(requester.other()).replies();
        replies.for_each(|(_, accepted, ended)| ended.credit.counted = accepted);
    }

    /// Repeats what happened since the oldest reply was sent.
    fn repeat(&mut self, requester: Side, oldest: &ReturnedCredit) {
        let changes = self.changes(requester, oldest.last_call);
        let now = *self.credits.get(requester);
        let (mut account, mut last_call) = (oldest.before, oldest.last_call);
        for Changed { stamp, call, change } in changes {
            if let Change::Call(began) = change {
                last_call = call.max(last_call);
                self.wait_for_credit(requester, call, account.call(began, stamp.time));
                continue;
            }
            let mut replies = self.arrivals.get_mut(requester.other()).replies();
            let Some((_, _, ended)) = replies.find(|(id, ..)| *id == call) else { continue };
            let credit = &mut ended.credit;
            match change {
                Change::Reply => (credit.before, credit.last_call) = (account.repeatable(&now), last_call),
                Change::Doubt => account.doubt(call, credit.granted, stamp.time),
                Change::Accept => account.answer(Some(call), credit.granted, stamp.time),
                Change::Settle => account.settle(credit.granted, stamp.time),
                Change::Call(_) => {}
            }
        }
        *self.credits.get_mut(requester) = account.repeatable(&now);
    }

    /// Returns the changes since the oldest reply was sent, in the order in which the changes were made. `last` was the
    /// last call then.
    fn changes(&mut self, requester: Side, last: u64) -> Vec<Changed> {
        let mut calls = BTreeMap::new();
        for (id, call) in self.calls.range(last + 1..) {
            if call.message.sender == requester && call.answers.is_none() {
                calls.insert(id, (call.message.stamp, call.timeline.began.time));
            }
        }
        let arrivals = self.arrivals.get_mut(requester.other());
        for (id, _, ended) in arrivals.replies().filter(|(id, ..)| *id > last) {
            let stamp = ended.transaction.call.as_ref().map_or(ended.timeline.began, |call| call.stamp);
            calls.insert(id, (stamp, ended.timeline.began.time));
        }
        // Messages of one end are accepted in the order in which they were sent.
        let (mut changes, mut floor) = (Vec::new(), Stamp::default());
        for (call, (stamp, began)) in &mut calls {
            floor = later(floor, *stamp);
            *stamp = floor;
            changes.push(Changed { stamp: floor, call: *call, change: Change::Call(*began) });
        }
        let mut floor = Stamp::default();
        for (call, accepted, ended) in arrivals.replies() {
            let called = calls.get(&call).map_or(floor, |(stamp, _)| *stamp);
            let sent = ended.transaction.reply.as_ref().map_or(called, |reply| reply.stamp);
            floor = later(later(floor, called), sent);
            let mut add = |stamp, change| {
                floor = later(floor, stamp);
                changes.push(Changed { stamp: floor, call, change });
            };
            add(sent, Change::Reply);
            match accepted {
                Acceptance::None => {}
                Acceptance::At(stamp) => add(stamp, Change::Accept),
                Acceptance::Between(first, last) => {
                    add(first, Change::Doubt);
                    add(last, Change::Settle);
                }
            }
        }
        changes.sort_by_key(|changed| changed.stamp.frame);
        changes
    }

    /// Notes for how long a call had waited for a credit.
    fn wait_for_credit(&mut self, requester: Side, id: u64, waited: Result<u64, CreditWaitUnknown>) {
        if let Some(call) = self.calls.get_mut(id) {
            call.credit_wait = waited;
            return;
        }
        let mut replies = self.arrivals.get_mut(requester.other()).replies();
        if let Some((_, _, ended)) = replies.find(|(call, ..)| *call == id) {
            ended.transaction.credit_wait = waited;
        }
    }
}

/// Returns the nanoseconds from `start` to `end`, less than 0 if that is earlier.
fn difference(end: Time, start: Time) -> i64 {
    i64::try_from(i128::from(end.0) - i128::from(start.0)).unwrap_or_default()
}

/// Returns the later of two packets.
const fn later(one: Stamp, other: Stamp) -> Stamp {
    if other.frame > one.frame { other } else { one }
}
