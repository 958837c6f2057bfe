//! RPCs that something went wrong with, before and after.

use serde::Serialize;

use super::chance::{Chance, Limit};

/// Number of RPCs with a fault, and of RPCs known to have or to lack the fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FaultCount {
    pub(super) known: u64,
    pub(super) faulty: u64,
    /// Number of runs of consecutive RPCs with the fault.
    runs: u64,
    is_last_faulty: bool,
}

impl FaultCount {
    /// Takes the next RPC.
    pub(super) fn add_rpc(&mut self, is_faulty: bool) {
        self.known += 1;
        self.faulty += u64::from(is_faulty);
        self.runs += u64::from(is_faulty && !self.is_last_faulty);
        self.is_last_faulty = is_faulty;
    }

    /// Adds the counts of another operation. A total has no runs: a total is judged only if one side has no fault, and then runs do not count.
    pub(super) const fn add_counts(&mut self, other: Self) {
        self.known += other.known;
        self.faulty += other.faulty;
    }

    fn share(self) -> f64 {
        self.faulty as f64 / self.known.max(1) as f64
    }

    /// The same count, if so many RPCs that follow each other are worth one.
    fn worth(self, time: f64) -> Self {
        let worth = |count: u64| (count as f64 / time).round() as u64;
        Self { known: worth(self.known), faulty: worth(self.faulty), ..self }
    }
}

/// Change of the share of RPCs with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum FaultOutcome {
    /// The share grew by more than is tolerated, and the difference is significant.
    Worse,
    /// The share fell by more than is tolerated, and the difference is significant.
    Better,
    /// The difference may be chance, or is tolerated.
    Same,
    /// Not known: one side has no such RPC, or the total does not tell. An operation's share of the RPCs may have changed instead,
    /// so a total is judged only if one side has no RPC with the fault.
    Unknown,
}

/// A fault before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct FaultChange {
    /// Probability that a difference as large as this is chance, by Fisher's exact test. If both sides have the fault, RPCs that follow
    /// each other with it count as fewer.
    #[serde(serialize_with = "super::as_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub(super) significance: Chance,
    /// Change of the share of RPCs with the fault.
    pub(super) outcome: FaultOutcome,
}

impl FaultChange {
    pub(super) const UNKNOWN: Self = Self { significance: Chance::TOO_FEW, outcome: FaultOutcome::Unknown };

    /// Compares the share of an operation's RPCs with the fault. The share may change by `tolerance`, a fraction of the earlier share.
    pub(super) fn new(before: FaultCount, after: FaultCount, tolerance: f64) -> Self {
        if before.known == 0 || after.known == 0 {
            return Self::UNKNOWN;
        }
        let time = run_time(before, after);
        let significance = Chance::of_probability(probability(before.worth(time), after.worth(time)));
        let (share, share_after) = (before.share(), after.share());
        let outcome = match significance.is_significant() {
            true if share_after > share * (1.0 + tolerance) => FaultOutcome::Worse,
            true if share_after < share * (1.0 - tolerance) => FaultOutcome::Better,
            _ => FaultOutcome::Same,
        };
        Self { significance, outcome }
    }

    /// Returns true if the share grew by more than is tolerated, and the difference is within this limit.
    pub(super) fn is_worse(self, limit: Limit) -> bool {
        self.outcome == FaultOutcome::Worse && self.significance.is_within(limit)
    }

    /// Compares the share of all RPCs.
    pub(super) fn of_total(before: FaultCount, after: FaultCount, tolerance: f64) -> Self {
        if before.faulty > 0 && after.faulty > 0 { Self::UNKNOWN } else { Self::new(before, after, tolerance) }
    }
}

/// Number of consecutive RPCs that together are worth one independent RPC: faults come in bursts. The runs show the
/// probability that a run begins or ends, in a process in which each RPC depends on the RPC before. If one side has no
/// fault at all, the other shows something new, and each RPC counts.
fn run_time(before: FaultCount, after: FaultCount) -> f64 {
    if before.faulty == 0 || after.faulty == 0 {
        return 1.0;
    }
    let faulty = before.faulty + after.faulty;
    let without = (before.known + after.known).saturating_sub(faulty).max(1);
    let runs = (before.runs + after.runs) as f64;
    let correlation = (1.0 - runs / faulty as f64 - runs / without as f64).clamp(0.0, 0.999);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Probability, two-sided, that two sides differ by as much as this, if each RPC with the fault may be on either side (Fisher's
/// exact test).
fn probability(before: FaultCount, after: FaultCount) -> f64 {
    (2.0 * at_least(after, before).min(at_least(before, after))).min(1.0)
}

/// Probability that at least so many of the RPCs with the fault are on the side that is `counted` (the hypergeometric
/// distribution).
fn at_least(counted: FaultCount, other: FaultCount) -> f64 {
    let (part, rest) = (counted.known, other.known);
    let faulty = counted.faulty + other.faulty;
    let chosen = |of: u64, count: u64| ln_factorial(of) - ln_factorial(count) - ln_factorial(of.saturating_sub(count));
    let first = chosen(part, counted.faulty) + chosen(rest, other.faulty) - chosen(part + rest, faulty);
    let (mut term, mut sum) = (first.exp(), 0.0);
    for count in counted.faulty..=part.min(faulty) {
        sum += term;
        // The terms before the largest grow, so what follows one that is as small as this falls faster and faster.
        if term < 1e-12 * sum {
            break;
        }
        let (inside, outside) = ((part - count) as f64, (faulty - count) as f64);
        let without = rest.saturating_sub(faulty - count) as f64;
        term *= inside * outside / ((count as f64 + 1.0) * (without + 1.0));
    }
    sum.min(1.0)
}

/// Natural logarithm of n!, by Stirling's series.
fn ln_factorial(n: u64) -> f64 {
    if n < 16 {
        return (2..=n).map(|factor| (factor as f64).ln()).sum();
    }
    let n = n as f64;
    n * n.ln() - n + (core::f64::consts::TAU * n).ln() / 2.0 + 1.0 / (12.0 * n) - 1.0 / (360.0 * n * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of RPCs with faults in runs of this length, one after the other, then without.
    fn count(known: u64, faulty: u64, run: u64) -> FaultCount {
        let mut count = FaultCount::default();
        let (mut left, mut rest) = (faulty, known - faulty);
        while left + rest > 0 {
            for _ in 0..run.min(left) {
                count.add_rpc(true);
            }
            left -= run.min(left);
            if rest > 0 {
                count.add_rpc(false);
                rest -= 1;
            }
        }
        assert_eq!((count.known, count.faulty), (known, faulty));
        count
    }

    /// Worked out by hand.
    #[test]
    fn its_probability_is_that_of_the_hypergeometric_distribution() {
        let is = |(faulty, known): (u64, u64), (faulty_after, known_after): (u64, u64), expected: f64| {
            let found = probability(count(known, faulty, 1), count(known_after, faulty_after, 1));
            assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
        };
        // All eight among one half of 16: one way of 12870.
        is((0, 8), (8, 8), 2.0 / 12870.0);
        is((8, 8), (0, 8), 2.0 / 12870.0);
        // Three of nine, none of eleven: 84 ways of 1140.
        is((0, 11), (3, 9), 2.0 * 84.0 / 1140.0);
        // Three or four of four among four of eight: 4 * 4 + 1 ways of 70.
        is((1, 4), (3, 4), 2.0 * 17.0 / 70.0);
        is((2, 4), (2, 4), 1.0);
        // Two of 20, 18 of 20: C(20, 18) C(20, 2) + C(20, 19) C(20, 1) + 1 ways of C(40, 20).
        is((2, 20), (18, 20), 2.0 * (190.0 * 190.0 + 20.0 * 20.0 + 1.0) / 137_846_528_820.0);
        // One of ten, none of 990.
        is((0, 990), (1, 10), 2.0 * 0.01);
        // C(1000, 500) squared, of C(2000, 1000), is the middle term: half of what is left is on either side.
        let chosen = |of: u64| ln_factorial(of) - 2.0 * ln_factorial(of / 2);
        let middle = (2.0 * chosen(1000) - chosen(2000)).exp();
        let found = at_least(count(1000, 501, 1), count(1000, 499, 1));
        assert!((found - (1.0 - middle) / 2.0).abs() < 1e-9, "{found} {middle}");
    }

    #[test]
    fn a_factorial_is_the_product() {
        let exact: f64 = (2..=30).map(|factor| f64::from(factor).ln()).sum();
        assert!((ln_factorial(30) - exact).abs() < 1e-9);
        assert!((ln_factorial(16) - ln_factorial(15) - 16_f64.ln()).abs() < 1e-8);
        assert_eq!(ln_factorial(0), 0.0);
    }

    #[test]
    fn a_share_that_grew_beyond_chance_and_tolerance_is_worse() {
        let outcome = |before, after, tolerance| FaultChange::new(before, after, tolerance).outcome;
        assert_eq!(outcome(count(70, 0, 1), count(70, 30, 30), 0.1), FaultOutcome::Worse);
        assert_eq!(outcome(count(70, 30, 30), count(70, 0, 1), 0.1), FaultOutcome::Better);
        assert_eq!(outcome(count(70, 0, 1), count(70, 3, 1), 0.1), FaultOutcome::Same);
        assert_eq!(outcome(count(40, 0, 1), count(40, 40, 40), 0.1), FaultOutcome::Worse);
        assert_eq!(outcome(FaultCount::default(), count(70, 30, 1), 0.1), FaultOutcome::Unknown);
        // A larger share of fewer.
        assert_eq!(outcome(count(1000, 300, 1), count(100, 60, 1), 0.1), FaultOutcome::Worse);
        // A fifth more, of many.
        let (before, after) = (count(20_000, 4000, 1), count(20_000, 4800, 1));
        assert_eq!(outcome(before, after, 0.1), FaultOutcome::Worse);
        assert_eq!(outcome(before, after, 0.3), FaultOutcome::Same);
        assert_eq!(outcome(after, before, 0.1), FaultOutcome::Better);
        assert_eq!(outcome(after, before, 0.3), FaultOutcome::Same);
    }

    #[test]
    fn bursts_count_as_fewer_if_both_sides_have_them() {
        let outcome = |before, after| FaultChange::new(before, after, 0.1);
        assert_eq!(outcome(count(1000, 20, 1), count(1000, 60, 1)).significance.name(), "p ≤ 0.001");
        // The same in runs of 20: one stall, and three.
        assert_eq!(outcome(count(1000, 20, 20), count(1000, 60, 20)).significance.name(), "p > 0.05");
    }

    /// One run on each side: of 60 RPCs with the fault one in 30 begins a run, of 20 without it one in 10 precedes one. So the
    /// correlation of neighbours is 1 - 2/60 - 2/20 = 13/15, and 28/15 divided by 2/15 is 14.
    #[test]
    fn correlated_neighbours_count_as_fewer_rpcs() {
        let (before, after) = (count(40, 20, 20), count(40, 40, 40));
        assert!((run_time(before, after) - 14.0).abs() < 1e-9);
        let worth = count(280, 140, 1).worth(14.0);
        assert_eq!((worth.known, worth.faulty), (20, 10));
    }

    #[test]
    fn totals_are_judged_only_if_one_side_has_no_fault() {
        let outcome = |before, after| FaultChange::of_total(before, after, 0.1).outcome;
        assert_eq!(outcome(count(1000, 0, 1), count(1000, 60, 1)), FaultOutcome::Worse);
        assert_eq!(outcome(count(1000, 60, 1), count(1000, 0, 1)), FaultOutcome::Better);
        assert_eq!(outcome(count(1000, 1, 1), count(1000, 60, 1)), FaultOutcome::Unknown);
    }
}
