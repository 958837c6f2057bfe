//! The probability that a difference is chance: of one test, and of many together.

/// Probability up to which a difference is taken for a real one.
const SIGNIFICANT: f64 = 0.01;

/// Probability, two-sided, that a difference as large as this is chance; none if at least one side is too small to tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chance(Option<f64>);

impl Chance {
    pub(crate) const TOO_FEW: Self = Self(None);

    /// Returns the chance for a two-sided probability.
    pub(crate) const fn of_probability(probability: f64) -> Self {
        Self(Some(probability))
    }

    /// Returns the chance for so many standard deviations of a normal distribution.
    pub(super) fn of_deviation(deviation: f64) -> Self {
        Self::of_probability(beyond(deviation.abs()))
    }

    /// As a text: `p ≤ 0.01`.
    pub(super) const fn name(self) -> &'static str {
        match self.0 {
            None => "too few",
            Some(p) if p <= 0.001 => "p ≤ 0.001",
            Some(p) if p <= SIGNIFICANT => "p ≤ 0.01",
            Some(p) if p <= 0.05 => "p ≤ 0.05",
            Some(_) => "p > 0.05",
        }
    }

    pub(super) const fn is_known(self) -> bool {
        self.0.is_some()
    }

    /// Returns true if a difference is taken for a real one, if this is the only test.
    pub(super) fn is_significant(self) -> bool {
        self.is_within(Limit(SIGNIFICANT))
    }

    /// Returns true if a difference counts as real among several tests with this limit.
    pub(crate) fn is_within(self, limit: Limit) -> bool {
        self.0.is_some_and(|probability| probability <= limit.0)
    }
}

/// Probability up to which each of many differences is taken for a real one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit(f64);

impl Limit {
    /// The limit of these tests by Holm's method (1979). If nothing differs, chance takes one or more differences for real in at most 1
    /// of 100 comparisons, however the tests depend on each other. The smallest of n probabilities may be a hundredth divided by n, the
    /// next a hundredth divided by n - 1, and so on, up to the first that is larger. A test that is too small to tell counts.
    pub(crate) fn of_all(tests: &[Chance]) -> Self {
        let mut probabilities: Vec<f64> = tests.iter().filter_map(|chance| chance.0).collect();
        probabilities.sort_unstable_by(f64::total_cmp);
        let ranked = probabilities.iter().zip((1..=tests.len()).rev());
        let real = ranked.take_while(|(probability, left)| **probability <= SIGNIFICANT / *left as f64);
        // Without any, nothing is within: a probability of 0 would be one.
        Self(real.last().map_or(0.0, |(probability, _)| *probability))
    }
}

/// Probability that a number of the standard normal distribution is further from 0 than this.
fn beyond(deviation: f64) -> f64 {
    let density = (-deviation * deviation / 2.0).exp() * core::f64::consts::FRAC_2_PI.sqrt();
    if deviation > 3.0 {
        // Laplace's continued fraction, from its end: 1 / (z + 1 / (z + 2 / (z + 3 / ...))).
        return density / (1..=60).rev().fold(deviation, |below, number| deviation + f64::from(number) / below);
    }
    // The part within: z + z³/3 + z⁵/(3·5) + z⁷/(3·5·7) + ..., times the density.
    let terms = (1..=60).scan(deviation, |term, number| {
        let this = *term;
        *term *= deviation * deviation / f64::from(2 * number + 1);
        Some(this)
    });
    1.0 - density * terms.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_has_its_limit_in_it() {
        for (probability, deviation, expected) in [
            (0.001, 3.2906, "p ≤ 0.001"),
            (0.0011, 3.2905, "p ≤ 0.01"),
            (0.01, 2.5759, "p ≤ 0.01"),
            (0.011, 2.5758, "p ≤ 0.05"),
            (0.05, 1.96, "p ≤ 0.05"),
            (0.051, 1.9599, "p > 0.05"),
        ] {
            assert_eq!(Chance::of_probability(probability).name(), expected, "{probability}");
            assert_eq!(Chance::of_probability(probability).is_significant(), probability <= 0.01);
            assert_eq!([deviation, -deviation].map(|deviation| Chance::of_deviation(deviation).name()), [expected; 2]);
        }
    }

    /// From tables of the normal distribution.
    #[test]
    fn a_deviation_has_the_probability_of_the_normal_distribution() {
        for (deviation, probability) in [
            (0.0, 1.0),
            (1.0, 0.317_310_507_862_914_1),
            (2.0, 0.045_500_263_896_358_42),
            (3.0, 0.002_699_796_063_260_191),
            (3.000_001, 0.002_699_787_199_576_664),
            (4.0, 6.334_248_366_623_984e-5),
            (5.0, 5.733_031_437_583_878e-7),
            (6.0, 1.973_175_290_075_396e-9),
            (10.0, 1.523_970_604_832_105e-23),
        ] {
            let found = beyond(deviation);
            assert!((found - probability).abs() <= 1e-9 * probability, "{deviation} {found}");
        }
    }

    /// Holm's method, worked out by hand for four tests: limits are 0.0025, 0.0033, 0.005 and 0.01.
    #[test]
    fn differences_count_until_the_first_that_is_too_likely() {
        for (probabilities, real) in [
            (vec![], 0),
            (vec![0.01], 1),
            (vec![0.011], 0),
            (vec![0.5, 0.0025, 0.5, 0.5], 1),
            (vec![0.5, 0.0026, 0.5, 0.5], 0),
            // Each alone would be, without a smaller one.
            (vec![0.003, 0.004, 0.009, 0.0026], 0),
            (vec![0.009, 0.0033, 0.0025, 0.005], 4),
            // The second is not, so the others are not, either.
            (vec![0.009, 0.0034, 0.0025, 0.0045], 1),
            (vec![0.0, 0.5, 0.5, 0.5], 1),
        ] {
            let tests: Vec<Chance> = probabilities.iter().copied().map(Chance::of_probability).collect();
            let limit = Limit::of_all(&tests);
            let found = tests.iter().filter(|chance| chance.is_within(limit)).count();
            assert_eq!(found, real, "{probabilities:?}");
            assert!(!Chance::TOO_FEW.is_within(limit));
        }
        let one =
            |probability| [Chance::of_probability(probability), Chance::TOO_FEW, Chance::TOO_FEW, Chance::TOO_FEW];
        for (probability, is_real) in [(0.0025, true), (0.0026, false)] {
            let tests = one(probability);
            assert_eq!(tests[0].is_within(Limit::of_all(&tests)), is_real, "{probability}");
        }
    }
}
