//! Credits of both ends, which replies return with the copy that the requester accepted.
//!
//! The next call may be captured before the acknowledgement of the reply that let the call go, so a credit counts as
//! returned when the reply is captured. If an indication of loss shows that this copy was not accepted, or leaves open
//! which copy was accepted, the account goes back to the state before the oldest reply that is not acknowledged, and
//! repeats what followed.

use std::collections::BTreeMap;

use super::arrivals::{Arrivals, ReturnedCredit};
use super::call::Call;
use super::calls::Calls;
use super::credit_account::CreditAccount;
use super::sent_copies::Acceptance;
use crate::carrier::operation::{Side, Sides, Stamp};
use crate::file::{SetBacks, Time};
use crate::rpc::credits::{CreditTimes, CreditUse, CreditWaitUnknown};
use crate::rpc::header::Dialect;
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

/// Difference that the counting of credits again made.
#[derive(Clone, Copy, Debug)]
pub(super) struct CreditRecount {
    /// Time from which the state of the credits may differ from what was said before.
    pub(super) since: Time,
    pub(super) waited_ns: i64,
    pub(super) at_limit_ns: i64,
    pub(super) credit_use: CreditUse,
}

/// Credits of both ends.
#[derive(Debug, Default)]
pub(super) struct Credits {
    accounts: Sides<CreditAccount>,
    /// The frame that completed the last call of each end.
    last_call_frame: Sides<u64>,
    /// Time of the last packet of the current message.
    now: Time,
}

impl Credits {
    /// Notes that neither end has called yet.
    pub(super) fn begin_connection(&mut self) {
        self.accounts = Sides { active: CreditAccount::whole(), passive: CreditAccount::whole() };
    }

    /// Notes the time of the last packet of the current message.
    pub(super) const fn set_time(&mut self, now: Time) {
        self.now = now;
    }

    /// Counts a call, and notes for how long the call had waited for a credit.
    pub(super) fn call(&mut self, call: &mut Call, set_backs: &SetBacks) {
        let requester = call.message.sender;
        let (began, sent) = (call.timeline.began.time, call.message.stamp.time);
        let account = self.accounts.get_mut(requester);
        call.credit_wait = match call.message.dialect {
            Dialect::Version1 => account.call(began, sent),
            Dialect::Version2(_) | Dialect::Version2Unknown => account.call_v2(sent),
        };
        // The reply or grant that a call waited for came after the call before it.
        let frame = call.message.stamp.frame;
        let before = core::mem::replace(self.last_call_frame.get_mut(requester), frame);
        if call.credit_wait.is_ok() && set_backs.is_between(before, frame) {
            call.credit_wait = Err(CreditWaitUnknown::ClockSetBack);
        }
    }

    /// Counts a reply to this call, or to a call that was not seen. Returns the requester's account before the reply.
    pub(super) fn answer(&mut self, message: &Message, call: Option<u64>) -> CreditAccount {
        let account = self.accounts.get_mut(message.sender.other());
        let before = *account;
        account.answer(call, message.credits(), message.stamp.time);
        before
    }

    /// Counts a call of an end that is not followed.
    pub(super) fn hide(&mut self, requester: Side, time: Time) {
        self.accounts.get_mut(requester).hide(time);
    }

    /// Counts a call that is not followed any more as hidden: the call may still wait.
    pub(super) fn forget(&mut self, id: u64, call: &Call) {
        if call.answers.is_none() {
            let account = self.accounts.get_mut(call.message.sender);
            account.end_call(id, self.now);
            account.hide(self.now);
        }
    }

    /// Notes that the capture lacks something of an end, after this call.
    pub(super) fn miss(&mut self, from: Side, last_call: u64, time: Time) {
        self.accounts.get_mut(from).miss_calls(time);
        self.accounts.get_mut(from.other()).miss_replies(last_call, time);
    }

    /// Returns the current state of an end's credits.
    pub(super) fn usage(&self, requester: Side) -> CreditUse {
        self.accounts.get(requester).usage()
    }

    /// Returns for how long each end had no credit for another call, up to the end of the connection or of the capture.
    pub(super) fn finish(&mut self, until: Time) -> Sides<CreditTimes> {
        let Sides { active, passive } = &mut self.accounts;
        Sides { active: active.finish(until), passive: passive.finish(until) }
    }

    /// Marks the last answer to a requester as kept: the answer can be repeated.
    pub(super) const fn keep_answer(&mut self, requester: Side) {
        self.accounts.get_mut(requester).keep_answer();
    }

    /// Counts the credits of an end again if replies to that end were not accepted when the account counted the
    /// replies. `arrivals` has the replies.
    pub(super) fn recount(
        &mut self,
        requester: Side,
        now: Time,
        arrivals: &mut Arrivals,
        calls: &mut Calls,
    ) -> Option<CreditRecount> {
        let changed = arrivals.replies().filter(|(_, accepted, ended)| *accepted != ended.credit.counted);
        let end = |accepted: Acceptance| accepted.first().map_or(now, |first| first.time);
        let ends = changed.map(|(_, accepted, ended)| (end(ended.credit.counted), end(accepted)));
        let (mut since, mut waited_ns) = (None, 0_i64);
        for (counted, is) in ends {
            since = Some(since.unwrap_or(now).min(counted).min(is));
            waited_ns = waited_ns.saturating_add(difference(is, counted));
        }
        let since = since?;
        let mut before = *self.accounts.get(requester);
        self.count_again(requester, arrivals, calls);
        let mut after = *self.accounts.get(requester);
        let credit_use = after.usage();
        let reached = [&mut after, &mut before].map(|account| Time(account.finish(now).reached));
        Some(CreditRecount { since, waited_ns, at_limit_ns: difference(reached[0], reached[1]), credit_use })
    }

    /// Counts the credits again from the oldest reply on, if that is possible.
    fn count_again(&mut self, requester: Side, arrivals: &mut Arrivals, calls: &mut Calls) {
        let Some(oldest) = arrivals.replies().next().map(|(_, _, ended)| ended.credit) else { return };
        let account = self.accounts.get_mut(requester);
        if account.can_repeat(&oldest.before) {
            *account = repeat(account, requester, &oldest, arrivals, calls);
        } else {
            // Calls were given up, or replies missed.
            account.miss_replies(calls.last(), self.now);
        }
        arrivals.replies().for_each(|(_, accepted, ended)| ended.credit.counted = accepted);
    }
}

/// Repeats what happened since the oldest reply was sent. Returns the account after that; `now` is the account so far.
fn repeat(
    now: &CreditAccount,
    requester: Side,
    oldest: &ReturnedCredit,
    arrivals: &mut Arrivals,
    calls: &mut Calls,
) -> CreditAccount {
    let changes = changes(requester, oldest.last_call, arrivals, calls);
    let (mut account, mut last_call) = (oldest.before, oldest.last_call);
    for Changed { stamp, call, change } in changes {
        if let Change::Call(began) = change {
            last_call = call.max(last_call);
            note_wait(call, account.call(began, stamp.time), arrivals, calls);
            continue;
        }
        let Some((_, _, ended)) = arrivals.replies().find(|(id, ..)| *id == call) else { continue };
        let credit = &mut ended.credit;
        match change {
            Change::Reply => (credit.before, credit.last_call) = (account.repeatable(now), last_call),
            Change::Doubt => account.doubt(call, credit.granted, stamp.time),
            Change::Accept => account.answer(Some(call), credit.granted, stamp.time),
            Change::Settle => account.settle(credit.granted, stamp.time),
            Change::Call(_) => {}
        }
    }
    account.repeatable(now)
}

/// Returns the changes since the oldest reply was sent, in the order in which the changes were made. `last` was the
/// last call then.
fn changes(requester: Side, last: u64, arrivals: &mut Arrivals, waiting: &Calls) -> Vec<Changed> {
    let mut calls = BTreeMap::new();
    for (id, call) in waiting.range(last + 1..) {
        if call.message.sender == requester && call.answers.is_none() {
            calls.insert(id, (call.message.stamp, call.timeline.began.time));
        }
    }
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
fn note_wait(id: u64, waited: Result<u64, CreditWaitUnknown>, arrivals: &mut Arrivals, calls: &mut Calls) {
    if let Some(call) = calls.get_mut(id) {
        call.credit_wait = waited;
        return;
    }
    if let Some((_, _, ended)) = arrivals.replies().find(|(call, ..)| *call == id) {
        ended.transaction.credit_wait = waited;
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
