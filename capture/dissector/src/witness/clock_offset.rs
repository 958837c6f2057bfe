//! Difference of the clocks of two captures, as the packets bound the difference.
//!
//! No packet arrives before being sent. So the time between the two captures of a packet that was sent at the first place is at
//! least the difference of the clocks, and that of a packet that was sent at the second place is at most the difference:
//!
//! ```text
//! sent at the first place:   time there = difference + way    → difference ≤ time
//! sent at the second place:  time back  = difference − way    → difference ≥ time
//! ```
//!
//! The bounds widen while no packets come, because clocks drift apart. A clock that was set makes bounds contradict each other:
//! after several contradictions in a row, the bounds begin anew.

use crate::file::{ClockBounds, Time};

/// Clocks drift apart by at most 1 ns in so many: 250 parts in a million.
const DRIFT: u64 = 4_000;
/// Contradictions in a row that show that a clock was set.
const CONTRADICTIONS: u32 = 8;
/// Nanoseconds from one measurement to another that show the drift.
const LONG: u64 = 1_000_000_000;

/// A packet that both captures hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenPacket {
    /// True if the sender is at the first place.
    pub(super) is_from_first: bool,
    /// Time of the packet by the clock of the first capture.
    pub(super) time: Time,
    /// Time by the clock of the second capture minus that of the first.
    pub(super) difference: i64,
}

/// The clock of the second capture minus that of the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockOffset {
    bounds: ClockBounds,
    /// Time of the bounds, by the clock of the first capture.
    at: Time,
    /// Contradictions in a row of packets of either place.
    contradictions: [u32; 2],
    /// Contradictions in all.
    pub(super) contradicted: u64,
    /// Number of times that a clock was set, and the time of the last packet that shows a step.
    pub(super) steps: u64,
    stepped_at: Option<Time>,
    /// The first bounds since the last step, with their time.
    beginning: Option<(Time, ClockBounds)>,
    /// The latest bounds before the last step.
    before_step: Option<ClockBounds>,
}

impl Default for ClockOffset {
    fn default() -> Self {
        let (bounds, at) = (ClockBounds::UNKNOWN, Time::default());
        Self {
            bounds,
            at,
            contradictions: [0; 2],
            contradicted: 0,
            steps: 0,
            stepped_at: None,
            beginning: None,
            before_step: None,
        }
    }
}

impl ClockOffset {
    /// Takes a packet.
    pub(super) fn take_packet(&mut self, packet: SeenPacket) {
        let SeenPacket { is_from_first, time, difference } = packet;
        if time > self.at {
            let drift = (time.0 - self.at.0) / DRIFT;
            self.bounds = self.bounds.widened(drift);
            // What is left of the time counts the next time.
            self.at.0 += drift * DRIFT;
        }
        let place = usize::from(!is_from_first);
        let is_contradiction =
            if is_from_first { difference < self.bounds.least } else { difference > self.bounds.most };
        if let Some(row) = self.contradictions.get_mut(place) {
            *row = if is_contradiction { *row + 1 } else { 0 };
            self.contradicted += u64::from(is_contradiction);
            if is_contradiction && *row < CONTRADICTIONS {
                return;
            }
        }
        if is_contradiction {
            self.steps += 1;
            self.before_step = self.latest().or(self.before_step);
            (self.bounds, self.contradictions, self.beginning) = (ClockBounds::UNKNOWN, [0; 2], None);
            self.stepped_at = Some(self.at);
        }
        match is_from_first {
            true => self.bounds.most = self.bounds.most.min(difference),
            false => self.bounds.least = self.bounds.least.max(difference),
        }
        if self.bounds.are_known() {
            self.beginning.get_or_insert((self.at, self.bounds));
        }
    }

    /// Returns the bounds now, whether or not the latest packets agree.
    pub(super) fn latest(&self) -> Option<ClockBounds> {
        Some(self.bounds).filter(|bounds| bounds.are_known())
    }

    /// Returns the bounds now, if the latest packets agree.
    pub(super) fn steady(&self) -> Option<ClockBounds> {
        self.latest().filter(|_| self.contradictions == [0; 2])
    }

    /// Returns the bounds now or, if a clock was just set, before the step.
    pub(super) fn before_step(&self) -> Option<ClockBounds> {
        self.latest().or(self.before_step)
    }

    /// Returns bounds that hold since a time by the clock of the first capture; `None` for unknown bounds, or if a clock was set
    /// meanwhile.
    pub(super) fn since(&self, time: Time) -> Option<ClockBounds> {
        let is_same_clock = self.stepped_at.is_none_or(|stepped| stepped < time);
        self.steady()
            .filter(|_| is_same_clock)
            .map(|bounds| bounds.widened(self.at.0.saturating_sub(time.0) / DRIFT + 1))
    }

    /// Returns by how many nanoseconds of a second the second clock is faster, and the uncertainty of that number.
    pub(super) fn drift(&self) -> Option<(i64, u64)> {
        let ((since, first), last) = (self.beginning?, self.latest()?);
        let elapsed = self.at.0.checked_sub(since.0).filter(|elapsed| *elapsed >= LONG)?;
        let per_second = |nanoseconds: i128| nanoseconds * 1_000_000_000 / i128::from(elapsed);
        let drift = per_second(i128::from(last.middle()) - i128::from(first.middle()));
        let uncertainty = per_second(i128::from(last.uncertainty()) + i128::from(first.uncertainty()));
        Some((i64::try_from(drift).ok()?, u64::try_from(uncertainty).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn packet(is_from_first: bool, at: u64, difference: i64) -> SeenPacket {
        SeenPacket { is_from_first, time: Time(at), difference }
    }

    #[test]
    fn packets_of_both_directions_bound_the_offset() {
        let mut offset = ClockOffset::default();
        offset.take_packet(packet(true, MS, 1_050));
        assert_eq!(offset.latest(), None, "one direction");
        offset.take_packet(packet(false, MS, 980));
        offset.take_packet(packet(true, MS, 1_020));
        assert_eq!(offset.latest(), Some(ClockBounds { least: 980, most: 1_020 }));
        assert_eq!((offset.since(Time(0)).unwrap().least, offset.drift()), (980 - 251, None));
    }

    #[test]
    fn a_clock_that_drifts_stays_in_its_bounds() {
        let mut offset = ClockOffset::default();
        let true_offset = |at: u64| 5_000_000_000 + (at / 10_000) as i64;
        for at in (0..10_000 * MS).step_by(MS as usize) {
            offset.take_packet(packet(true, at, true_offset(at) + 40_000));
            offset.take_packet(packet(false, at, true_offset(at) - 70_000));
            let ClockBounds { least, most } = offset.latest().unwrap();
            assert!((least..=most).contains(&true_offset(at)), "{at}");
        }
        let (drift, uncertainty) = offset.drift().unwrap();
        assert!(drift.abs_diff(100_000) <= uncertainty && uncertainty < 20_000, "{drift} {uncertainty}");
        assert_eq!((offset.steps, offset.contradicted), (0, 0));
    }

    #[test]
    fn a_clock_that_was_set_begins_new_bounds() {
        let mut offset = ClockOffset::default();
        for at in 0..100 {
            let step = if at < 50 { 0 } else { -3_000_000_000 };
            offset.take_packet(packet(true, at * MS, step + 40_000));
            offset.take_packet(packet(false, at * MS, step - 40_000));
            let is_known = offset.since(Time(at * MS)).is_some();
            assert_eq!(is_known, !(50..58).contains(&at), "{at}");
        }
        assert_eq!((offset.steps, offset.latest().map(ClockBounds::middle)), (1, Some(-3_000_000_000)));
        assert_eq!(offset.since(Time(50 * MS)), None, "the step is within");
    }
}
