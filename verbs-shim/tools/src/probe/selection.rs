//! Selection of the cases of a suite.

use super::case::Case;
use super::cases;
use super::reverse::{self, ReverseCase};
use super::services::{self, ServiceCase};
use super::suite::{ProbeError, Suite};

/// Minimum similarity of names that are suggested; clap uses the same.
const ALIKE: f64 = 0.7;
/// Maximum number of suggestions.
const MOST_NEAR: usize = 3;

/// The cases to try, in this order.
pub(super) struct Selected {
    pub(super) cases: Vec<&'static Case>,
    pub(super) services: Vec<&'static ServiceCase>,
    pub(super) reversed: Vec<&'static ReverseCase>,
}

impl Selected {
    /// Selects the cases that the suite names, or all.
    ///
    /// # Errors
    /// [`ProbeError::NoCase`] and [`ProbeError::NoRule`].
    pub(super) fn from_suite(suite: &Suite) -> Result<Self, ProbeError> {
        let (cases, services, reversed) =
            (cases::all_cases(suite.version), services::service_cases(suite), reverse::reverse_cases(suite));
        let nfs = services.clone().map(|service| &service.case).chain(reversed.clone().map(|reversed| &reversed.case));
        let all: Vec<&Case> = cases.clone().chain(nfs).collect();
        let (names, rules) = (all.iter().map(|case| case.name), all.iter().map(|case| case.about.rule));
        if let Some((unknown, near)) = unknown(&suite.cases, names) {
            return Err(ProbeError::NoCase(unknown, near));
        }
        if let Some((unknown, near)) = unknown(&suite.rules, rules) {
            return Err(ProbeError::NoRule(unknown, near));
        }
        let has = |case: &Case| {
            suite.cases.is_empty() && suite.rules.is_empty()
                || suite.cases.iter().any(|name| name == case.name)
                || suite.rules.iter().any(|rule| rule == case.about.rule)
        };
        Ok(Self {
            cases: cases.filter(|case| has(case)).collect(),
            services: services.filter(|service| has(&service.case)).collect(),
            reversed: reversed.filter(|reversed| has(&reversed.case)).collect(),
        })
    }
}

/// Returns the first of the names that is not in `all`, with similar names from `all`, the most similar first.
fn unknown(names: &[String], all: impl Iterator<Item = &'static str> + Clone) -> Option<(String, Vec<&'static str>)> {
    let unknown = names.iter().find(|name| !all.clone().any(|other| other == name.as_str()))?;
    let mut near: Vec<_> = all.map(|other| (strsim::jaro(unknown, other), other)).collect();
    near.retain(|(alike, _)| *alike > ALIKE);
    near.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.cmp(b)));
    near.dedup();
    Some((unknown.clone(), near.into_iter().map(|(_, name)| name).take(MOST_NEAR).collect()))
}
