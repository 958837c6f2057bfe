//! Times at which futures are woken, because the time of their calls is over.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Instant;

/// An entry of [`Alarms`].
pub(crate) type Alarm = (Instant, u64);

/// Futures, and when to wake each.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    wakers: BTreeMap<Alarm, Waker>,
    last: u64,
}

impl Alarms {
    /// Sets an alarm, or only the waker if the alarm is set already. Returns the previous waker.
    pub(super) fn set_alarm(&mut self, alarm: &mut Option<Alarm>, when: Instant, waker: &Waker) -> Option<Waker> {
        let key = *alarm.get_or_insert_with(|| {
            self.last = self.last.wrapping_add(1);
            (when, self.last)
        });
        self.wakers.insert(key, waker.clone())
    }

    /// Takes an alarm away. Returns the waker.
    pub(super) fn clear_alarm(&mut self, alarm: &mut Option<Alarm>) -> Option<Waker> {
        alarm.take().and_then(|alarm| self.wakers.remove(&alarm))
    }

    /// Returns the time of the next one.
    pub(super) fn next_alarm(&self) -> Option<Instant> {
        self.wakers.first_key_value().map(|((when, _), _)| *when)
    }

    /// Takes all that are due.
    pub(super) fn due(&mut self, now: Instant) -> impl Iterator<Item = Waker> {
        let later = self.wakers.split_off(&(now, u64::MAX));
        std::mem::replace(&mut self.wakers, later).into_values()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_alarm_that_was_taken_away_rings_no_more() {
        let (mut alarms, now) = (Alarms::default(), Instant::now());
        let [mut first, mut second] = [None, None];
        assert!(alarms.set_alarm(&mut first, now, Waker::noop()).is_none());
        assert!(alarms.set_alarm(&mut second, now + Duration::from_secs(1), Waker::noop()).is_none());
        assert!(alarms.clear_alarm(&mut first).is_some() && alarms.clear_alarm(&mut first).is_none());
        assert_eq!(alarms.next_alarm(), Some(now + Duration::from_secs(1)));
        assert_eq!(alarms.due(now).count(), 0);
        assert_eq!(alarms.due(now + Duration::from_secs(1)).count(), 1);
        assert_eq!(alarms.next_alarm(), None);
    }
}
