//! Waiting calls of one end, compared with the granted credits (RFC 8166 section 3.3.1).
//!
//! A capture may lack calls, or the replies to captured calls. So there are two numbers: the calls that certainly wait,
//! and the maximum number of further calls that may wait. A requester has room for a call when sending the call: each
//! call limits the second number. The account of a requester that has used all credits once is complete from then on.
//!
//! All of this is version 1. In version 2, an end needs a credit for each message, of whatever kind (draft -07 section
//! 4.2.1), so nothing is said about calls.

use core::num::NonZeroU32;

use crate::file::Time;
use crate::rpc::credits::{CreditLimit, CreditTimes, CreditUse, CreditWaitUnknown};

/// The credits of one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct CreditAccount {
    /// Credits that the last reply granted.
    granted: Option<NonZeroU32>,
    /// Calls that were not answered in the capture.
    seen: u32,
    /// Unanswered calls that certainly wait.
    certain: u32,
    /// Maximum number of further calls that may wait: calls that the capture lacks, and calls whose replies the capture
    /// may lack.
    hidden: u32,
    /// Calls up to this one are counted as hidden, because their replies may have been missed.
    doubtful: u64,
    /// Reason why there may be hidden calls.
    hidden_by: CreditWaitUnknown,
    /// Time since which the limit is unchanged, if anything was seen.
    since: Option<Time>,
    times: CreditTimes,
    /// Availability of credits since the last call.
    lately: Lately,
    /// Number of changes that cannot be repeated from the calls and replies that are kept.
    others: u32,
}

/// Availability of credits since the last call.
#[derive(Clone, Copy, Debug)]
enum Lately {
    /// There was always a credit.
    Below,
    /// There was none for this many nanoseconds, until that time.
    Reached(u64, Time),
    /// The capture does not show if there was one.
    Unknown(CreditWaitUnknown),
}

impl Default for CreditAccount {
    /// Returns the credits of an end whose calls may have begun before the capture.
    fn default() -> Self {
        Self {
            granted: None,
            seen: 0,
            certain: 0,
            hidden: u32::MAX,
            doubtful: 0,
            hidden_by: CreditWaitUnknown::JoinedLate,
            since: None,
            times: CreditTimes { reached: 0, unknown: 0 },
            lately: Lately::Unknown(CreditWaitUnknown::JoinedLate),
            others: 0,
        }
    }
}

impl CreditAccount {
    /// Returns the credits of an end that has not called yet: one credit (section 3.3.3).
    pub(super) fn whole() -> Self {
        Self { granted: Some(NonZeroU32::MIN), hidden: 0, lately: Lately::Below, ..Self::default() }
    }

    /// Counts a call; `time` is the time of the last packet. Returns the number of nanoseconds, up to the reply that
    /// let the call go, for which there had been no credit for the call. If there had been a credit for longer than
    /// that when the call `began`, that reply did not let the call go.
    ///
    /// A call that is sent although there is no credit shows that a reply was missed, or was captured too late.
    pub(super) fn call(&mut self, began: Time, time: Time) -> Result<u64, CreditWaitUnknown> {
        let waited = match (self.limit(), self.lately) {
            (_, Lately::Unknown(reason)) => Err(reason),
            (CreditLimit::Reached, _) => {
                self.count(CreditLimit::Unknown, began);
                Err(CreditWaitUnknown::Missed)
            }
            (_, Lately::Reached(length, ended)) if began.0.saturating_sub(ended.0) < length => Ok(length),
            (_, Lately::Reached(..) | Lately::Below) => Ok(0),
        };
        self.lately = Lately::Below;
        self.change(time, |account| {
            account.seen = account.seen.saturating_add(1);
            account.certain = account.certain.saturating_add(1);
            let room = account.granted.map(|granted| granted.get().saturating_sub(account.certain));
            account.hidden = account.hidden.min(room.unwrap_or(u32::MAX));
        });
        waited
    }

    /// Counts a call of version 2. Until a message of version 1 grants credits, the number of credits is unknown.
    pub(super) fn call_v2(&mut self, time: Time) -> Result<u64, CreditWaitUnknown> {
        self.others = self.others.wrapping_add(1);
        self.change(time, |account| {
            account.seen = account.seen.saturating_add(1);
            account.certain = account.certain.saturating_add(1);
            account.granted = None;
        });
        self.lately = Lately::Unknown(CreditWaitUnknown::Version2);
        Err(CreditWaitUnknown::Version2)
    }

    /// Counts a reply to this call, or to a call that was not seen. `granted`: credits that the reply grants, if the
    /// reply shows the number.
    pub(super) fn answer(&mut self, call: Option<u64>, granted: Option<u32>, time: Time) {
        self.others = self.others.wrapping_add(1);
        self.change(time, |account| {
            // A grant of none is against the rules: a requester without any could never call again.
            account.granted = granted.map(|granted| NonZeroU32::new(granted).unwrap_or(NonZeroU32::MIN));
            match call {
                Some(call) => account.remove(call),
                None => account.hidden = account.hidden.saturating_sub(1),
            }
        });
    }

    /// Counts a reply that may have been accepted or not: the call may still wait, with the credits from before.
    pub(super) fn doubt(&mut self, call: u64, granted: Option<u32>, time: Time) {
        if self.hidden == 0 {
            self.hidden_by = CreditWaitUnknown::ReplyArrival;
        }
        self.change(time, |account| {
            if account.granted.map(NonZeroU32::get) != granted {
                account.granted = None;
            }
            if call > account.doubtful {
                account.certain = account.certain.saturating_sub(1);
                account.hidden = account.hidden.saturating_add(1);
            }
        });
    }

    /// Counts a reply that was in [`doubt`](Self::doubt) and has been accepted: the call is among the hidden calls.
    pub(super) fn settle(&mut self, granted: Option<u32>, time: Time) {
        self.seen = self.seen.saturating_sub(1);
        self.answer(None, granted, time);
    }

    /// Marks the last answer as kept: the answer can be repeated.
    pub(super) const fn keep_answer(&mut self) {
        self.others = self.others.wrapping_sub(1);
    }

    /// Returns true if only calls, and replies that are kept, changed the account since this state.
    pub(super) const fn can_repeat(&self, before: &Self) -> bool {
        self.others == before.others
    }

    /// Returns this state, with the changes until `now` among the ones that can be repeated.
    pub(super) const fn repeatable(self, now: &Self) -> Self {
        Self { others: now.others, ..self }
    }

    /// A call waits no longer, and is not answered.
    pub(super) fn end_call(&mut self, call: u64, time: Time) {
        self.others = self.others.wrapping_add(1);
        self.change(time, |account| account.remove(call));
    }

    fn remove(&mut self, call: u64) {
        self.seen = self.seen.saturating_sub(1);
        let kept = if call <= self.doubtful { &mut self.hidden } else { &mut self.certain };
        *kept = kept.saturating_sub(1);
    }

    /// A call that waited is no longer followed, and may still wait; or one is sent that is not followed.
    pub(super) fn hide(&mut self, time: Time) {
        self.others = self.others.wrapping_add(1);
        self.hidden_by = CreditWaitUnknown::Missed;
        self.change(time, |account| account.hidden = account.hidden.saturating_add(1));
    }

    /// The capture lacks something of this end: calls, perhaps.
    pub(super) fn miss_calls(&mut self, time: Time) {
        self.others = self.others.wrapping_add(1);
        self.hidden_by = CreditWaitUnknown::Missed;
        self.change(time, |account| account.hidden = u32::MAX);
    }

    /// Notes that the capture lacks something of the other end, when `last` was the last call. Replies may be missing,
    /// and so may the credits that such replies granted.
    pub(super) fn miss_replies(&mut self, last: u64, time: Time) {
        self.others = self.others.wrapping_add(1);
        self.hidden_by = CreditWaitUnknown::Missed;
        if self.limit() == CreditLimit::Reached {
            // The missed reply may have come long ago.
            self.count(CreditLimit::Unknown, time);
        }
        self.change(time, |account| {
            account.hidden = account.hidden.saturating_add(account.certain);
            (account.certain, account.doubtful, account.granted) = (0, last, None);
        });
    }

    /// The times up to the end of the connection, or of the capture.
    pub(super) fn finish(&mut self, time: Time) -> CreditTimes {
        self.count(self.limit(), time);
        self.times
    }

    /// Returns the current state.
    pub(super) fn usage(&self) -> CreditUse {
        CreditUse { waiting: self.seen, granted: self.granted, limit: self.limit() }
    }

    fn limit(&self) -> CreditLimit {
        match self.granted {
            None => CreditLimit::Unknown,
            Some(granted) if self.certain >= granted.get() => CreditLimit::Reached,
            Some(granted) if self.certain.saturating_add(self.hidden) < granted.get() => CreditLimit::Below,
            Some(_) => CreditLimit::Unknown,
        }
    }

    /// Changes the numbers, which may change the limit.
    fn change(&mut self, time: Time, change: impl FnOnce(&mut Self)) {
        let before = self.limit();
        self.since.get_or_insert(time);
        change(self);
        let after = self.limit();
        if after != before {
            let length = self.count(before, time);
            if before == CreditLimit::Reached && !matches!(self.lately, Lately::Unknown(_)) {
                self.lately = Lately::Reached(length, time);
            }
        }
        if after == CreditLimit::Unknown {
            let is_complete = self.granted.is_none() && self.hidden == 0;
            self.lately = Lately::Unknown(if is_complete { CreditWaitUnknown::NotGranted } else { self.hidden_by });
        }
    }

    /// Counts the time during which `limit` was in force. Returns that time.
    fn count(&mut self, limit: CreditLimit, time: Time) -> u64 {
        let Some(since) = self.since.replace(time) else { return 0 };
        let elapsed = time.0.saturating_sub(since.0);
        match limit {
            CreditLimit::Below => {}
            // Times in a file may be anything, and in any order, so that their sum may be more than there is.
            CreditLimit::Reached => self.times.reached = self.times.reached.saturating_add(elapsed),
            CreditLimit::Unknown => self.times.unknown = self.times.unknown.saturating_add(elapsed),
        }
        elapsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls at these times, each of one packet.
    fn call(account: &mut CreditAccount, time: u64) -> Result<u64, CreditWaitUnknown> {
        account.call(Time(time), Time(time))
    }

    /// The reply to a call.
    fn reply(account: &mut CreditAccount, call: u64, granted: u32, time: u64) {
        account.answer(Some(call), Some(granted), Time(time));
    }

    /// An account whose first call was answered at 10, with so many credits.
    fn granted(credits: u32) -> CreditAccount {
        let mut account = CreditAccount::whole();
        assert_eq!(call(&mut account, 0), Ok(0));
        reply(&mut account, 1, credits, 10);
        account
    }

    fn times(reached: u64, unknown: u64) -> CreditTimes {
        CreditTimes { reached, unknown }
    }

    #[test]
    fn there_is_one_credit_before_the_first_reply() {
        let mut account = granted(8);
        assert_eq!(call(&mut account, 12), Ok(10));
        assert_eq!(call(&mut account, 13), Ok(0));
        assert_eq!(account.finish(Time(50)), times(10, 0));
    }

    #[test]
    fn a_call_waits_while_no_credit_is_free() {
        let mut account = granted(2);
        assert_eq!([30, 40].map(|time| call(&mut account, time)), [Ok(0), Ok(0)]);
        reply(&mut account, 2, 2, 140);
        assert_eq!(call(&mut account, 141), Ok(100));
        reply(&mut account, 3, 2, 150);
        reply(&mut account, 4, 2, 160);
        // There was one for longer than there was none.
        assert_eq!(call(&mut account, 170), Ok(0));
        assert_eq!(account.finish(Time(200)), times(10 + 100 + 9, 0));
    }

    #[test]
    fn an_unfollowed_call_may_have_used_a_credit() {
        let mut account = granted(2);
        let before = account;
        call(&mut account, 30).unwrap();
        assert_eq!((account.usage().limit, account.can_repeat(&before)), (CreditLimit::Below, true));
        account.hide(Time(40));
        assert_eq!((account.usage().limit, account.can_repeat(&before)), (CreditLimit::Unknown, false));
    }

    #[test]
    fn a_missed_reply_makes_earlier_credit_waits_unknown() {
        for (credits, unknown) in [(1, 70 + 100), (2, 100)] {
            let mut account = granted(credits);
            call(&mut account, 30).unwrap();
            account.miss_replies(2, Time(100));
            assert_eq!(account.finish(Time(200)), times(10, unknown), "{credits}");
        }
    }

    /// Replies were missed, so if a later reply shows that there is no credit, the beginning of that state is not
    /// known.
    #[test]
    fn a_credit_wait_without_a_known_beginning_is_unknown() {
        let mut account = granted(2);
        call(&mut account, 30).unwrap();
        account.miss_replies(2, Time(40));
        assert_eq!(call(&mut account, 50), Err(CreditWaitUnknown::Missed));
        reply(&mut account, 2, 1, 60);
        assert_eq!(account.usage().limit, CreditLimit::Reached);
        reply(&mut account, 3, 1, 90);
        assert_eq!(call(&mut account, 91), Err(CreditWaitUnknown::Missed));
    }

    /// The reply may have been missed, so the call does not certainly wait: the call is already among the hidden calls.
    #[test]
    fn a_call_that_may_have_been_answered_is_hidden_once() {
        let mut account = granted(2);
        call(&mut account, 30).unwrap();
        account.miss_replies(2, Time(40));
        account.doubt(2, Some(1), Time(50));
        account.settle(Some(1), Time(60));
        assert_eq!(account.usage(), CreditUse { waiting: 0, granted: NonZeroU32::new(1), limit: CreditLimit::Below });
    }

    #[test]
    fn a_credit_wait_continues_if_the_reply_withdraws_the_credit() {
        let mut account = granted(2);
        call(&mut account, 30).unwrap();
        call(&mut account, 40).unwrap();
        reply(&mut account, 2, 1, 100);
        assert_eq!(account.usage(), CreditUse { waiting: 1, granted: NonZeroU32::new(1), limit: CreditLimit::Reached });
        reply(&mut account, 3, 1, 140);
        assert_eq!(call(&mut account, 141), Ok(100));
    }

    #[test]
    fn a_credit_wait_lasts_until_the_end_of_the_capture() {
        let mut account = granted(1);
        call(&mut account, 30).unwrap();
        assert_eq!(account.finish(Time(1000)), times(10 + 970, 0));
    }

    #[test]
    fn credit_waits_become_known_once_all_credits_are_used() {
        let mut account = CreditAccount::default();
        assert_eq!(call(&mut account, 0), Err(CreditWaitUnknown::JoinedLate));
        reply(&mut account, 1, 3, 10);
        // There may be two more.
        assert_eq!(call(&mut account, 20), Err(CreditWaitUnknown::JoinedLate));
        assert_eq!(call(&mut account, 21), Err(CreditWaitUnknown::JoinedLate));
        assert_eq!(call(&mut account, 22), Err(CreditWaitUnknown::JoinedLate));
        assert_eq!(account.usage().limit, CreditLimit::Reached);
        reply(&mut account, 2, 3, 62);
        assert_eq!(call(&mut account, 63), Ok(40));
        assert_eq!(account.finish(Time(63)), times(40, 22));
    }

    #[test]
    fn a_reply_to_an_earlier_call_makes_the_limit_known() {
        let mut account = CreditAccount::default();
        account.answer(None, Some(2), Time(0));
        assert_eq!(call(&mut account, 5), Err(CreditWaitUnknown::JoinedLate));
        // One from before may wait, until its reply comes.
        assert_eq!(account.usage().limit, CreditLimit::Unknown);
        account.answer(None, Some(2), Time(7));
        assert_eq!(account.usage().limit, CreditLimit::Below);
        assert_eq!(account.finish(Time(9)), times(0, 7));
    }

    #[test]
    fn after_a_loss_calls_may_wait_or_have_been_answered() {
        let mut account = granted(2);
        call(&mut account, 30).unwrap();
        call(&mut account, 40).unwrap();
        // One of them may be answered in what was missed.
        account.miss_replies(3, Time(100));
        assert_eq!(account.usage(), CreditUse { waiting: 2, granted: None, limit: CreditLimit::Unknown });
        reply(&mut account, 2, 2, 140);
        assert_eq!(account.usage(), CreditUse { waiting: 1, granted: NonZeroU32::new(2), limit: CreditLimit::Below });
        assert_eq!(call(&mut account, 150), Err(CreditWaitUnknown::Missed));
        reply(&mut account, 3, 2, 160);
        assert_eq!(call(&mut account, 170), Err(CreditWaitUnknown::Missed));
        assert_eq!(account.usage().limit, CreditLimit::Reached);
        account.miss_calls(Time(180));
        assert_eq!(account.usage().limit, CreditLimit::Reached, "whatever was missed");
        reply(&mut account, 4, 2, 190);
        assert_eq!(call(&mut account, 191), Err(CreditWaitUnknown::Missed), "a call that was missed may wait");
    }

    #[test]
    fn what_is_granted_in_another_form_is_not_known() {
        let mut account = CreditAccount::whole();
        call(&mut account, 0).unwrap();
        account.answer(Some(1), None, Time(5));
        assert_eq!(call(&mut account, 6), Err(CreditWaitUnknown::NotGranted));
        assert_eq!(account.finish(Time(8)), times(5, 3));
    }

    #[test]
    fn a_version_2_call_uses_no_version_1_credit() {
        let mut account = CreditAccount::whole();
        assert_eq!([0, 2].map(|time| account.call_v2(Time(time))), [Err(CreditWaitUnknown::Version2); 2]);
        assert_eq!(account.usage(), CreditUse { waiting: 2, granted: None, limit: CreditLimit::Unknown });
        account.answer(Some(1), None, Time(5));
        assert_eq!(account.call_v2(Time(6)), Err(CreditWaitUnknown::Version2));
        assert_eq!(account.finish(Time(8)), times(0, 8));
    }

    #[test]
    fn a_refusal_of_version_2_grants_credits_of_version_1() {
        let mut account = CreditAccount::whole();
        account.call_v2(Time(0)).unwrap_err();
        reply(&mut account, 1, 2, 10);
        assert_eq!(call(&mut account, 11), Err(CreditWaitUnknown::Version2));
        assert_eq!(call(&mut account, 12), Ok(0));
        reply(&mut account, 2, 2, 30);
        assert_eq!(call(&mut account, 31), Ok(18));
        assert_eq!(account.finish(Time(31)), times(18, 10));
    }
}
