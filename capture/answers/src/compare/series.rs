//! Latencies of an operation, in the order in which the RPCs ended, in bounded memory.

use crate::stats::part;

/// The most latencies that are kept.
const KEPT: usize = 32_768;

/// Items in their order, in bounded memory. Of more than fit, one of every two is kept, chosen at random, then one of every four, and so on.
#[derive(Clone, Debug)]
pub(crate) struct Sample<T> {
    kept: Vec<T>,
    capacity: usize,
    /// Consecutive items of which one is kept: a power of two.
    group: usize,
    /// Items of the last group so far.
    seen: usize,
    /// Place in the last group of the one that is kept.
    chosen: usize,
    random: Random,
}

impl<T: Copy> Sample<T> {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { kept: Vec::new(), capacity, group: 1, seen: 0, chosen: 0, random: Random(0) }
    }

    pub(crate) fn record(&mut self, item: T) {
        if self.seen == self.chosen {
            self.kept.push(item);
        }
        self.seen += 1;
        if self.seen < self.group {
            return;
        }
        if self.kept.len() >= self.capacity {
            self.kept = self.thinned(2 * self.group);
            self.group *= 2;
        }
        (self.seen, self.chosen) = (0, self.random.below(self.group));
    }

    /// The items that were kept.
    pub(crate) fn kept(&self) -> &[T] {
        &self.kept
    }

    /// One item of every `group`, which is a multiple of the group of the sample.
    fn thinned(&self, group: usize) -> Vec<T> {
        let mut random = self.random;
        let groups = self.kept.chunks_exact((group / self.group).max(1));
        groups.filter_map(|items| items.get(random.below(items.len())).copied()).collect()
    }
}

/// Latencies as indexes of histogram parts.
#[derive(Clone, Debug)]
pub(super) struct Series(Sample<u16>);

impl Default for Series {
    fn default() -> Self {
        Self(Sample::new(KEPT))
    }
}

impl Series {
    pub(super) fn record(&mut self, latency: u64) {
        self.0.record(part(latency));
    }

    /// Both with the same number of latencies left out between two that are kept.
    pub(super) fn alike(one: &Self, other: &Self) -> [Vec<u16>; 2] {
        let group = one.0.group.max(other.0.group);
        [one.0.thinned(group), other.0.thinned(group)]
    }
}

/// Pseudo-random numbers, the same each time (SplitMix64). A fixed distance between the latencies that are kept could fall in with
/// a pattern of the workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_thinned_evenly() {
        let mut series = Series::default();
        // The part of a small value is the value: here, the tenth of the series that it is in, and whether its place is even.
        let all = 10 * KEPT;
        for place in 0..all {
            series.record((place * 10 / all * 2 + place % 2) as u64);
        }
        assert_eq!(series.0.group, 16);
        assert_eq!(series.0.kept.len(), all / 16);
        for tenth in 0..10 {
            let of = |value: usize| series.0.kept.iter().filter(|part| usize::from(**part) == value).count();
            let (even, odd) = (of(2 * tenth), of(2 * tenth + 1));
            assert!((KEPT / 16 - 1..=KEPT / 16 + 1).contains(&(even + odd)), "{even} {odd}");
            // Neither is preferred.
            assert!(even.abs_diff(odd) < KEPT / 100, "{even} {odd}");
        }
    }

    /// The expected numbers are the first numbers of SplitMix64 with the seed 0, as the author's program prints the numbers.
    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut random = Random(0);
        let numbers = [(); 3].map(|()| random.below(usize::MAX));
        assert_eq!(numbers, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn the_finer_of_two_is_thinned_too() {
        let (mut short, mut long) = (Series::default(), Series::default());
        (0..1000).for_each(|value| short.record(value % 60));
        (0..2 * KEPT as u64).for_each(|value| long.record(value % 60));
        assert_eq!((short.0.group, long.0.group), (1, 4));
        let [short, long] = Series::alike(&short, &long);
        assert_eq!((short.len(), long.len()), (250, KEPT / 2));
    }
}
