//! The distribution of durations, in bounded memory.
//!
//! A value falls into one of 64 equal parts of its power of two, so the middle of the part is wrong by less than one in
//! a hundred. The smallest and the largest value are kept exactly.

/// Parts of a power of two.
const PARTS: u64 = 64;
const PART_BITS: u32 = PARTS.ilog2();

/// Counts values, in at most 30 kilobytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    pub(crate) count: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Histogram {
    pub(crate) fn record(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        let index = index(value);
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(index) {
            *count += 1;
        }
    }

    /// Takes the values of another one too.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The value that `percent` of all values do not exceed; 0 without values.
    pub(crate) fn percentile(&self, percent: u64) -> u64 {
        let rank = self.count.saturating_mul(percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle(index).clamp(self.min, self.max);
            }
        }
        self.max
    }
}

/// The part that a value falls into: greater for greater values.
pub(crate) fn part(value: u64) -> u16 {
    index(value).try_into().unwrap_or(u16::MAX)
}

/// The value in the middle of a part.
pub(crate) fn value_of_part(part: u16) -> u64 {
    middle(part.into())
}

/// Values below `PARTS` have an index of their own; then each power of two has `PARTS` values.
const fn index(value: u64) -> usize {
    if value < PARTS {
        return value as usize;
    }
    let shift = value.ilog2() - PART_BITS;
    (shift as u64 * PARTS + (value >> shift)) as usize
}

const fn middle(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 * PARTS {
        return index;
    }
    let shift = index / PARTS - 1;
    let first = (index % PARTS + PARTS) << shift;
    first + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_near_the_middle_of_its_part() {
        for power in 0..64 {
            for value in [1_u64 << power, (1 << power) + (1 << power) / 3, u64::MAX >> (63 - power)] {
                let middle = middle(index(value));
                assert!(middle.abs_diff(value) <= value / 100, "{value} {middle}");
            }
        }
        assert!(index(u64::MAX) < 3800);
    }

    #[test]
    fn indices_grow_with_values() {
        let values = (0..10_000).chain((0..1000).map(|n| n * n * n));
        for value in values {
            assert!(index(value) <= index(value + 1) && index(value + 1) <= index(value) + 1, "{value}");
        }
    }

    #[test]
    fn percentiles_of_one_to_a_thousand() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.percentile(50), histogram.count), (0, 0));
        for value in (1..=1000).rev() {
            histogram.record(value * 1000);
        }
        assert_eq!((histogram.min, histogram.max, histogram.count), (1000, 1_000_000, 1000));
        assert!(histogram.percentile(50).abs_diff(500_000) < 5_000);
        assert!(histogram.percentile(99).abs_diff(990_000) < 9_900);
        assert_eq!(histogram.percentile(100), 1_000_000);
    }

    #[test]
    fn merged_distributions_are_that_of_all_values() {
        let of = |values: core::ops::Range<u64>| {
            let mut histogram = Histogram::default();
            values.for_each(|value| histogram.record(value * value));
            histogram
        };
        let (mut low, mut high, all) = (of(3..400), of(400..1000), of(3..1000));
        let told = |histogram: &Histogram| {
            [1, 50, 99]
                .map(|percent| histogram.percentile(percent))
                .to_vec()
                .into_iter()
                .chain([histogram.min, histogram.max, histogram.count])
                .collect::<Vec<_>>()
        };
        high.merge(&Histogram::default());
        let mut none = Histogram::default();
        none.merge(&low);
        assert_eq!(told(&none), told(&low));
        low.merge(&high);
        high.merge(&none);
        assert_eq!((told(&low), told(&high)), (told(&all), told(&all)));
    }

    #[test]
    fn one_value_is_all_of_them() {
        let mut histogram = Histogram::default();
        histogram.record(123_456_789);
        for percent in [0, 50, 99, 100] {
            assert_eq!(histogram.percentile(percent), 123_456_789);
        }
    }
}
