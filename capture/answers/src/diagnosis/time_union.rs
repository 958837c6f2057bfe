//! Time that at least one of many intervals covers.

use std::collections::BTreeMap;

/// The most intervals that are told apart.
const INTERVALS: usize = 1000;

/// Time that at least one of the intervals covers.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeUnion {
    /// Ends of intervals without overlap, by their beginnings.
    intervals: BTreeMap<u64, u64>,
    /// Nanoseconds of intervals that made room for later ones.
    settled: u64,
    /// Latest end of the settled intervals. Earlier time may be counted already, and is not counted again.
    settled_until: u64,
    /// `true` if some intervals were not added: the union may be longer.
    pub(super) is_least: bool,
}

impl TimeUnion {
    /// Adds an interval.
    pub(super) fn add_interval(&mut self, from: u64, until: u64) {
        self.is_least |= from < self.settled_until;
        let (mut from, mut until) = (from.max(self.settled_until), until);
        if from >= until {
            return;
        }
        while let Some((start, end)) = self.intervals.range(..=until).next_back().map(|(start, end)| (*start, *end))
            && end >= from
        {
            self.intervals.remove(&start);
            (from, until) = (from.min(start), until.max(end));
        }
        self.intervals.insert(from, until);
        if self.intervals.len() > INTERVALS
            && let Some((from, until)) = self.intervals.pop_first()
        {
            self.settled += until - from;
            self.settled_until = until;
        }
    }

    /// Length of the union, in nanoseconds.
    pub(super) fn nanoseconds(&self) -> u64 {
        self.settled + self.intervals.iter().map(|(from, until)| until - from).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_several_intervals_cover_counts_once() {
        let of = |intervals: &[(u64, u64)]| {
            let mut union = TimeUnion::default();
            intervals.iter().for_each(|(from, until)| union.add_interval(*from, *until));
            assert!(!union.is_least);
            union.nanoseconds()
        };
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[(10, 20), (30, 40)]), 20);
        assert_eq!(of(&[(10, 20), (15, 25)]), 15);
        assert_eq!(of(&[(15, 25), (10, 20)]), 15);
        assert_eq!(of(&[(10, 40), (20, 30)]), 30);
        assert_eq!(of(&[(20, 30), (10, 40)]), 30);
        assert_eq!(of(&[(10, 20), (20, 30)]), 20);
        assert_eq!(of(&[(50, 50), (60, 40)]), 0);
        // The last one covers three and touches a fourth.
        assert_eq!(of(&[(0, 5), (10, 12), (14, 16), (18, 25), (30, 31), (5, 20)]), 26);
    }

    #[test]
    fn past_the_bound_only_later_intervals_are_counted() {
        let mut union = TimeUnion::default();
        let many = 2 * INTERVALS as u64;
        (0..many).for_each(|place| union.add_interval(10 * place, 10 * place + 3));
        assert_eq!((union.nanoseconds(), union.is_least, union.intervals.len()), (3 * many, false, INTERVALS));
        union.add_interval(1, 3);
        assert_eq!((union.nanoseconds(), union.is_least), (3 * many, true));
    }
}
