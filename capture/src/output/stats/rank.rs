//! Whether one of two samples tends to have the larger values: the rank test of Mann, Whitney and Wilcoxon.
//!
//! It asks how often a value of one sample is larger than a value of the other. Latencies are far from a normal distribution,
//! and a few of them can be a thousand times the others: the test uses only which is larger, so those do not decide it.

use super::histogram::Histogram;

/// The fewest values in each sample for which the normal distribution approximates that of the sum of ranks well enough.
pub const FEWEST: u64 = 8;

/// How likely it is that a difference as large as this is chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chance {
    /// Not known: at least one sample is too small.
    TooFew,
    /// More than 5 in 100.
    Likely,
    /// 5 in 100 or less.
    FivePercent,
    /// 1 in 100 or less.
    OnePercent,
    /// 1 in 1000 or less.
    OnePerMille,
}

impl Chance {
    /// As a text: `p ≤ 0.01`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooFew => "too few",
            Self::Likely => "p > 0.05",
            Self::FivePercent => "p ≤ 0.05",
            Self::OnePercent => "p ≤ 0.01",
            Self::OnePerMille => "p ≤ 0.001",
        }
    }

    /// Whether a difference is taken for a real one.
    #[must_use]
    pub fn is_significant(self) -> bool {
        self >= Self::OnePercent
    }
}

/// Compares two samples, two-sided. Values that fall into the same part of a histogram count as equal.
pub(in crate::output) fn compare(one: &Histogram, other: &Histogram) -> Chance {
    let (n, m) = (one.count(), other.count());
    if n < FEWEST || m < FEWEST {
        return Chance::TooFew;
    }
    let z = deviation(one, other).abs();
    // The two-sided quantiles of the standard normal distribution.
    if z >= 3.2905 {
        Chance::OnePerMille
    } else if z >= 2.5758 {
        Chance::OnePercent
    } else if z >= 1.9600 {
        Chance::FivePercent
    } else {
        Chance::Likely
    }
}

/// By how many standard deviations the second sample's ranks are above what chance would give; 0 if all values are equal.
fn deviation(one: &Histogram, other: &Histogram) -> f64 {
    let (n, m) = (one.count() as f64, other.count() as f64);
    let (mut larger, mut below, mut ties) = (0.0, 0.0, 0.0);
    for (ours, theirs) in one.pairs(other) {
        let (ours, theirs) = (ours as f64, theirs as f64);
        // An equal pair counts half.
        larger += theirs * (below + ours / 2.0);
        below += ours;
        let tied = ours + theirs;
        ties += tied.powi(3) - tied;
    }
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 { 0.0 } else { (larger - n * m / 2.0) / variance.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    /// Worked out by hand. Values below 64 have a part of their own.
    #[test]
    fn it_is_as_many_deviations_as_the_ranks_say() {
        // Without ties: how many of the first are below each of the second.
        let (one, other) = (sample([1, 3, 5, 7, 9, 11, 13, 15]), sample([2, 8, 10, 12, 14, 16, 17, 18]));
        let u = 1.0 + 4.0 + 5.0 + 6.0 + 7.0 + 8.0 + 8.0 + 8.0;
        let expected = (u - 32.0) / (64.0_f64 * 17.0 / 12.0).sqrt();
        assert!((deviation(&one, &other) - expected).abs() < 1e-9);
        assert!((deviation(&other, &one) + expected).abs() < 1e-9);
        // With ties of 2, 3 and 2, which make the variance smaller.
        let (one, other) = (sample([1, 2, 2, 3]), sample([1, 2, 3, 4]));
        let variance = 16.0 / 12.0 * (9.0 - (6.0 + 24.0 + 6.0) / 56.0);
        let expected: f64 = (10.0 - 8.0) / f64::sqrt(variance);
        assert!((deviation(&one, &other) - expected).abs() < 1e-9);
    }

    #[test]
    fn equal_samples_differ_by_chance_and_shifted_ones_do_not() {
        let (one, same) = (sample(0..50), sample(0..50));
        assert_eq!(compare(&one, &same), Chance::Likely);
        assert_eq!(compare(&one, &sample(30..80)), Chance::OnePerMille);
        assert_eq!(compare(&sample([7; 20]), &sample([7; 20])), Chance::Likely);
        assert_eq!(compare(&one, &sample(0..7)), Chance::TooFew);
    }

    /// Of 1000 pairs of samples from one distribution, about 10 differ at one in a hundred.
    #[test]
    fn it_is_wrong_as_often_as_it_says() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 10_000_000
        };
        let wrong = (0..1000).filter(|_| {
            let (one, other) = (sample((0..30).map(|_| random())), sample((0..30).map(|_| random())));
            compare(&one, &other).is_significant()
        });
        let wrong = wrong.count();
        assert!((2..=22).contains(&wrong), "{wrong}");
    }
}
