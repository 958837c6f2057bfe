//! Captures that differ by chance alone: random latencies and faults, for tests.

use super::operation::PerOperation;
use super::{Comparand, Comparison};

/// Pseudo-random numbers.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) const fn new() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (core::f64::consts::TAU * self.uniform()).cos()
    }

    /// Latencies of a log-normal distribution, in nanoseconds, whose neighbours' logarithms have this correlation.
    pub(crate) fn latencies(&mut self, count: usize, correlation: f64) -> Vec<u64> {
        let mut state = self.normal();
        let mut next = || {
            let now = state;
            state = correlation * state + (1.0 - correlation * correlation).sqrt() * self.normal();
            (1e6 * (now / 2.0).exp()) as u64
        };
        (0..count).map(|_| next()).collect()
    }
}

/// Operations of a capture, and RPCs of each.
const OPERATIONS: usize = 8;
const RPCS: usize = 200;

/// A capture of eight operations, of which one RPC in 50 fails. `slower` is the factor of the first operation's latencies.
fn capture(random: &mut Noise, correlation: f64, slower: u64) -> Comparand {
    let mut comparand = Comparand::default();
    for number in 0..OPERATIONS {
        let factor = if number == 0 { slower } else { 1 };
        let latencies = random.latencies(RPCS, correlation).into_iter().map(|latency| factor * latency);
        let rpcs: Vec<_> = latencies.map(|latency| (latency, random.uniform() < 0.02)).collect();
        comparand.operations.value_or(format!("operation {number}"), usize::MAX, || PerOperation::from_rpcs(&rpcs));
    }
    comparand
}

/// Comparisons that find a regression, and comparisons in which an operation is worse or slower by itself.
fn found(comparisons: usize, correlation: f64, slower: u64) -> [usize; 2] {
    let mut random = Noise::new();
    let mut found = [0, 0];
    for _ in 0..comparisons {
        let [before, after] = [1, slower].map(|slower| capture(&mut random, correlation, slower));
        let comparison = Comparison::new(&before, &after, 0.0);
        found[0] += usize::from(comparison.is_regression());
        let alone = |operation: &super::ComparedOperation| operation.regression || operation.may_be_chance();
        found[1] += usize::from(comparison.operations.iter().any(alone));
    }
    found
}

/// The help of `compare` and GUIDE.md state these numbers.
#[test]
fn at_most_one_comparison_in_a_hundred_is_wrong() {
    for correlation in [0.0, 0.5, 0.9] {
        let [regressions, alone] = found(1000, correlation, 1);
        assert!(regressions <= 10, "{correlation} {regressions}");
        // Without the correction, it would be wrong more often.
        assert!(alone > 10, "{correlation} {alone}");
    }
}

#[test]
fn one_operation_of_many_that_is_slower_is_found() {
    for (correlation, least) in [(0.0, 98), (0.5, 98)] {
        let [regressions, _] = found(100, correlation, 2);
        assert!(regressions >= least, "{correlation} {regressions}");
    }
}
