//! A test of two series of latencies: does one tend to have the larger values?
//!
//! The test is the rank test of Mann, Whitney and Wilcoxon, which asks how often a value of one series is larger than a
//! value of the other. Latencies are far from a normal distribution, and a few can be a thousand times the others: the test
//! uses only the order of the values, so a few extremes do not decide the result. A second test compares only the slowest
//! values, because a tail of a few in a hundred hardly changes the ranks of all.
//!
//! Consecutive latencies resemble each other, so a series says less than as many independent values: the test counts a
//! series as fewer values. The reduction is estimated from the autocorrelation of the ranks.

use super::chance::Chance;
use super::series::Series;

/// The fewest values in each series.
const FEWEST: usize = 8;
/// The fewest independent values that a series has to be worth.
const FEWEST_INDEPENDENT: f64 = 5.0;
/// The slowest values expected of each series, if the series do not differ: at least this number ...
const TAIL: usize = 6;
/// ... and one in so many.
const TAIL_SHARE: usize = 50;
/// Minimum number of slowest values, as independent values.
const FEWEST_OF_TAIL: f64 = 2.5;

/// Chance of a difference between two series, two-sided: of all values, and of the slowest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chances {
    pub(super) all: Chance,
    pub(super) tail: Chance,
}

impl Chances {
    pub(super) const UNKNOWN: Self = Self { all: Chance::TOO_FEW, tail: Chance::TOO_FEW };

    /// Compares two series. Values that fall into the same part of a histogram count as equal.
    pub(super) fn new(one: &Series, other: &Series) -> Self {
        let [one, other] = Series::alike(one, other);
        if one.len().min(other.len()) < FEWEST {
            return Self::UNKNOWN;
        }
        let ranks = Ranks::new(&one, &other);
        let all = ranks.pair(&one, &other, 0);
        let tail = ranks
            .below_tail(one.len().min(other.len()))
            .map_or(Chance::TOO_FEW, |below| ranks.pair(&one, &other, below).compare_tail(ranks.values - below, &all));
        Self { all: all.compare(), tail }
    }
}

/// Chance of a difference between two series of small numbers, two-sided.
pub(crate) fn compare_ranks(one: &[u16], other: &[u16]) -> Chance {
    if one.len().min(other.len()) < FEWEST {
        Chance::TOO_FEW
    } else {
        Ranks::new(one, other).pair(one, other, 0).compare()
    }
}

/// Ranks of the values of two series taken together, by histogram part.
struct Ranks {
    /// For each part, the count of values below the part, and of values in the part.
    parts: Vec<(usize, usize)>,
    values: usize,
}

impl Ranks {
    fn new(one: &[u16], other: &[u16]) -> Self {
        let both = || one.iter().chain(other).map(|part| usize::from(*part));
        let mut parts = vec![(0, 0); both().max().map_or(0, |highest| highest + 1)];
        for part in both() {
            if let Some((_, inside)) = parts.get_mut(part) {
                *inside += 1;
            }
        }
        let mut values = 0;
        for (below, inside) in &mut parts {
            *below = values;
            values += *inside;
        }
        Self { parts, values }
    }

    /// The ranks of two series, less `below`: that of the lowest values is 0. Equal values have the middle of their ranks.
    fn pair(&self, one: &[u16], other: &[u16], below: usize) -> Pair {
        Pair::new(self.above(one, below), self.above(other, below))
    }

    /// Ranks above `below`.
    fn above(&self, series: &[u16], below: usize) -> Vec<f64> {
        let rank = |part: &u16| {
            let (lower, inside) = self.parts.get(usize::from(*part)).copied().unwrap_or_default();
            if lower < below { 0.0 } else { (lower - below) as f64 + (inside as f64 + 1.0) / 2.0 }
        };
        series.iter().map(rank).collect()
    }

    /// Number of values that are not among the slowest; `None` if there are too few to separate the slowest.
    fn below_tail(&self, shorter: usize) -> Option<usize> {
        let tail = (TAIL * self.values).div_ceil(shorter).max(self.values.div_ceil(TAIL_SHARE));
        let most = self.values / 8;
        if tail > most {
            return None;
        }
        let (below, inside) = *self.parts.iter().rev().find(|(below, _)| self.values - below >= tail)?;
        // So many may be equal that they are no tail.
        Some(if self.values - below <= most { below } else { below + inside })
    }
}

/// Numbers of two series, less the mean of each, and the difference of the means.
struct Pair {
    one: Vec<f64>,
    other: Vec<f64>,
    /// By how many standard deviations the second mean is above the first, if the numbers are independent and the series do not differ.
    deviation: f64,
}

impl Pair {
    fn new(mut one: Vec<f64>, mut other: Vec<f64>) -> Self {
        let deviation = deviation(&one, &other);
        for series in [&mut one, &mut other] {
            let mean = mean(series);
            series.iter_mut().for_each(|number| *number -= mean);
        }
        Self { one, other, deviation }
    }

    fn compare(&self) -> Chance {
        let time = self.correlation_time();
        if self.shorter() as f64 / time < FEWEST_INDEPENDENT { Chance::TOO_FEW } else { self.chance(time) }
    }

    /// Compares only the `slowest` values of the series in `all`. Slow values may come in stretches that contain mostly other
    /// values, so any dependence of all values counts too.
    fn compare_tail(&self, slowest: usize, all: &Self) -> Chance {
        let time = self.correlation_time_of_few().max(all.correlation_time_of_few());
        let expected = slowest as f64 * self.shorter() as f64 / self.count_values();
        if slowest > 0 && expected / time < FEWEST_OF_TAIL { Chance::TOO_FEW } else { self.chance(time) }
    }

    fn shorter(&self) -> usize {
        self.one.len().min(self.other.len())
    }

    fn count_values(&self) -> f64 {
        (self.one.len() + self.other.len()) as f64
    }

    /// Chance of the difference, if `time` consecutive numbers are worth one. The variance is that of few numbers, so the
    /// distribution is Student's, turned into a normal one (Wallace, 1959).
    fn chance(&self, time: f64) -> Chance {
        let (t, freedom) = (self.deviation / time.sqrt(), (self.count_values() / time - 2.0).max(1.0));
        let normal = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0) * (freedom * (t * t / freedom).ln_1p()).sqrt();
        Chance::of_deviation(normal)
    }

    /// Sum of the products of numbers at this distance.
    fn covariance(&self, lag: usize) -> f64 {
        let of = |series: &[f64]| -> f64 {
            let later = series.get(lag..).unwrap_or_default();
            series.iter().zip(later).map(|(number, later)| number * later).sum()
        };
        of(&self.one) + of(&self.other)
    }

    /// Count of consecutive numbers that together are worth one independent number: 1 if the numbers are independent.
    ///
    /// The autocorrelations are added up in pairs, as long as the pairs decrease and are positive (Geyer's initial monotone
    /// sequence, 1992). In a short series the autocorrelations come out too low, so the result is at least that of a process of
    /// first order with the same correlation of neighbours, corrected for that bias (Kendall, 1954).
    fn correlation_time(&self) -> f64 {
        let (variance, shorter) = (self.covariance(0), self.shorter());
        if variance <= 0.0 {
            return 1.0;
        }
        let (mut time, mut last, mut lag) = (-1.0, f64::INFINITY, 0);
        while lag <= shorter / 2 && time * FEWEST_OF_TAIL < shorter as f64 {
            last = ((self.covariance(lag) + self.covariance(lag + 1)) / variance).min(last);
            if last <= 0.0 {
                break;
            }
            time += 2.0 * last;
            lag += 2;
        }
        let neighbours = self.covariance(1) / variance;
        let neighbours = (neighbours + 2.0 * (1.0 + 3.0 * neighbours) / self.count_values()).clamp(0.0, 0.99);
        let time = time.max((1.0 + neighbours) / (1.0 - neighbours));
        time * (1.0 + 2.0 * time / shorter as f64)
    }

    /// The same where nearly all numbers are 0: two others that happen to be neighbours are no indication of dependence, unless the
    /// correlation of neighbours is one that chance gives in fewer than 5 of 100 independent series.
    fn correlation_time_of_few(&self) -> f64 {
        let chance = 1.645 / (self.shorter() as f64).sqrt();
        if self.covariance(1) <= chance * self.covariance(0) { 1.0 } else { self.correlation_time() }
    }
}

/// Distance of the two means in standard deviations, positive if the second mean is larger; 0 if all numbers are equal.
/// Over all ways to divide the same numbers among two series of these lengths, the distance has mean 0 and variance 1.
fn deviation(one: &[f64], other: &[f64]) -> f64 {
    let (n, m) = (one.len() as f64, other.len() as f64);
    let mean_of_all = (mean(one) * n + mean(other) * m) / (n + m);
    let squares: f64 = one.iter().chain(other).map(|number| (number - mean_of_all).powi(2)).sum();
    let variance = squares / (n + m - 1.0) * (1.0 / n + 1.0 / m);
    if variance <= 0.0 { 0.0 } else { (mean(other) - mean(one)) / variance.sqrt() }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::simulation::Noise;

    fn series(values: impl IntoIterator<Item = u64>) -> Series {
        let mut series = Series::default();
        values.into_iter().for_each(|value| series.record(value));
        series
    }

    fn compare(one: impl IntoIterator<Item = u64>, other: impl IntoIterator<Item = u64>) -> Chances {
        Chances::new(&series(one), &series(other))
    }

    fn deviation_of_ranks(one: &[u16], other: &[u16]) -> f64 {
        let ranks = Ranks::new(one, other);
        deviation(&ranks.above(one, 0), &ranks.above(other, 0))
    }

    /// Worked out by hand. Values below 64 have a part of their own.
    #[test]
    fn it_is_as_many_deviations_as_the_ranks_say() {
        // Without ties: how many of the first are below each of the second.
        let (one, other) = ([1, 3, 5, 7, 9, 11, 13, 15], [2, 8, 10, 12, 14, 16, 17, 18]);
        let u = 1.0 + 4.0 + 5.0 + 6.0 + 7.0 + 8.0 + 8.0 + 8.0;
        let expected = (u - 32.0) / (64.0_f64 * 17.0 / 12.0).sqrt();
        assert!((deviation_of_ranks(&one, &other) - expected).abs() < 1e-9);
        assert!((deviation_of_ranks(&other, &one) + expected).abs() < 1e-9);
        // With ties of 2, 3 and 2, which make the variance smaller.
        let variance = 16.0 / 12.0 * (9.0 - (6.0 + 24.0 + 6.0) / 56.0);
        let expected: f64 = (10.0 - 8.0) / f64::sqrt(variance);
        assert!((deviation_of_ranks(&[1, 2, 2, 3], &[1, 2, 3, 4]) - expected).abs() < 1e-9);
    }

    /// Of twelve independent numbers, by Student's distribution with ten degrees of freedom: 1 in 20 is beyond 2.228.
    #[test]
    fn few_numbers_have_to_differ_by_more_than_many() {
        let few = |deviation| Pair { one: vec![0.0; 6], other: vec![0.0; 6], deviation }.chance(1.0);
        assert_eq!([few(2.21), few(2.24)].map(Chance::name), ["p > 0.05", "p ≤ 0.05"]);
    }

    #[test]
    fn equal_values_share_ranks_and_only_tail_values_have_any() {
        let ranks = Ranks::new(&[1, 2], &[2, 3]);
        assert_eq!(ranks.above(&[1, 2, 3], 0), [1.0, 2.5, 4.0]);
        assert_eq!(ranks.above(&[1, 2, 3], 1), [0.0, 1.5, 3.0]);
    }

    /// Six are expected on each side, of at most one value in eight.
    #[test]
    fn a_tail_needs_enough_values_that_are_not_equal() {
        let half = |count: u16, odd: u16| (0..count).map(|place| 2 * place + odd).collect::<Vec<_>>();
        let below = |one: &[u16], other: &[u16]| Ranks::new(one, other).below_tail(one.len());
        assert_eq!(below(&half(48, 0), &half(48, 1)), Some(84));
        assert_eq!(below(&half(47, 0), &half(47, 1)), None);
        let with_equal = |odd| half(48, odd).into_iter().map(|part| part.min(76)).collect::<Vec<_>>();
        assert_eq!(below(&with_equal(0), &with_equal(1)), Some(96), "the 20 slowest are equal");
    }

    /// Worked out by hand, for two equal series each.
    #[test]
    fn numbers_that_resemble_those_before_them_are_worth_fewer() {
        let time = |series: Vec<f64>| Pair { one: series.clone(), other: series, deviation: 0.0 }.correlation_time();
        // No number resembles the next, and the one after that does: the autocorrelations at distances 0, 2, 4 and so on, up to
        // 12, are 1, 0.85, 0.7, 0.55, 0.4, 0.25 and 0.1, the next is below 0, and those between are 0. Twice their sum, less 1,
        // is 6.7; corrected for 40 numbers, 6.7 * (1 + 2 * 6.7 / 40).
        let half = |number: f64| [number, 0.0].repeat(10);
        assert!((time([half(2.0), half(-2.0)].concat()) - 8.9445).abs() < 1e-9);
        // Neighbours have the correlation 10/16. Without the bias of 2 (1 + 30/16) / 16 it is 63/64, and 127/64 divided by 1/64
        // is 127; corrected for 8 numbers, 127 * (1 + 2 * 127 / 8).
        assert!((time([[1.0; 4], [-1.0; 4]].concat()) - 4159.25).abs() < 1e-9);
    }

    #[test]
    fn equal_samples_differ_by_chance_and_shifted_ones_do_not() {
        // In an order in which no two neighbours resemble each other.
        let mixed = |from: u64| (0..50).map(move |place| from + place * 21 % 50);
        let names = |chances: Chances| [chances.all, chances.tail].map(Chance::name);
        assert_eq!(names(compare(mixed(0), mixed(0)))[0], "p > 0.05");
        assert_eq!(names(compare(mixed(0), mixed(30)))[0], "p ≤ 0.001");
        assert_eq!(names(compare([7; 20], [7; 20])), ["p > 0.05", "too few"]);
        assert_eq!(names(compare([7; 200], [7; 200])), ["p > 0.05"; 2]);
        assert_eq!(compare(mixed(0), 0..7), Chances::UNKNOWN);
        // Each is like the one before it, so that they are worth too few.
        assert_eq!(names(compare(0..50, 30..80))[0], "too few");
    }

    /// Pairs of series, of which the second has been changed.
    fn simulate(
        pairs: usize,
        (count, correlation): (usize, f64),
        change: impl Fn(&mut Noise, &mut Vec<u64>),
    ) -> Vec<Chances> {
        let mut random = Noise::new();
        let pair = |_| {
            let (one, mut other) = (random.latencies(count, correlation), random.latencies(count, correlation));
            change(&mut random, &mut other);
            compare(one, other)
        };
        (0..pairs).map(pair).collect()
    }

    fn significant(chances: &[Chances]) -> [usize; 2] {
        [|chances: &&Chances| chances.all.is_significant(), |chances: &&Chances| chances.tail.is_significant()]
            .map(|is| chances.iter().filter(is).count())
    }

    /// The help of `compare` and GUIDE.md state these numbers.
    #[test]
    fn the_error_rate_holds_however_correlated_neighbours_are() {
        for correlation in [0.0, 0.5, 0.9] {
            for count in [30, 200, 1000] {
                let wrong = significant(&simulate(1000, (count, correlation), |_, _| {}));
                assert!(wrong.iter().all(|wrong| *wrong <= 10), "{correlation} {count} {wrong:?}");
            }
        }
    }

    #[test]
    fn what_is_slower_is_found() {
        for (correlation, count, least) in [(0.0, 60, 190), (0.5, 200, 190), (0.9, 2000, 190)] {
            let double =
                |_: &mut Noise, latencies: &mut Vec<u64>| latencies.iter_mut().for_each(|latency| *latency *= 2);
            let [found, _] = significant(&simulate(200, (count, correlation), double));
            assert!(found >= least, "{correlation} {count} {found}");
        }
    }

    #[test]
    fn a_tail_alone_is_found() {
        // Ten of 200, anywhere.
        let slow = |random: &mut Noise, latencies: &mut Vec<u64>| {
            let count = latencies.len();
            let mut left = count / 20;
            let mut is_slow = vec![false; count];
            while left > 0 {
                let place = (random.uniform() * count as f64) as usize;
                if !is_slow[place] {
                    (is_slow[place], left) = (true, left - 1);
                    latencies[place] *= 20;
                }
            }
        };
        let [all, found] = significant(&simulate(200, (200, 0.0), slow));
        assert!(all <= 20 && found >= 184, "{all} {found}");
        // A few large values in a row, as one stall makes them, are not more than chance makes.
        let stall = |_: &mut Noise, latencies: &mut Vec<u64>| {
            latencies.iter_mut().skip(90).take(10).for_each(|latency| *latency *= 20);
        };
        let [_, found] = significant(&simulate(200, (200, 0.0), stall));
        assert!(found <= 2, "{found}");
    }
}
