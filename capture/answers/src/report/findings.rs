//! Broken rules, and the ends that broke the rules.

use rpcrdma::rules::Severity;
use rpcrdma_dissector::Found;

use crate::small_map::SmallMap;

/// The most findings that are told apart.
const KEPT: usize = 1000;

/// Findings, counted by rule and by the end that broke the rule.
#[derive(Debug, Default)]
pub(super) struct FindingsByPeer {
    /// By severity, slug and end.
    counts: SmallMap<(Severity, &'static str, String), PeerFinding>,
    /// Findings beyond the bound.
    pub(super) left_out: u64,
}

/// Violations of one rule by one peer.
#[derive(Clone, Debug)]
pub(super) struct PeerFinding {
    /// The first violation.
    pub(super) first: Found,
    pub(super) by: String,
    pub(super) count: u64,
}

impl PeerFinding {
    /// The implementation that is known to do this.
    pub(super) fn accepted_deviation(&self) -> Option<&'static str> {
        self.first.accepted_deviation().map(|known| known.implementation.name())
    }
}

impl FindingsByPeer {
    pub(super) fn add_finding(&mut self, found: &Found) {
        let key = (found.severity, found.rule.slug, found.broken_by());
        let by = key.2.clone();
        match self.counts.value_or(key, KEPT, || PeerFinding { first: found.clone(), by, count: 0 }) {
            Some(finding) => finding.count += 1,
            None => self.left_out += 1,
        }
    }

    /// Returns the worst findings first, and within a severity the most frequent.
    pub(super) fn sorted(&self) -> Vec<&PeerFinding> {
        let mut findings: Vec<_> = self.counts.values().collect();
        findings.sort_by(|a, b| a.first.severity.cmp(&b.first.severity).then(b.count.cmp(&a.count)));
        findings
    }

    /// Number of findings of this severity.
    pub(super) fn count_severity(&self, severity: Severity) -> u64 {
        self.counts.values().filter(|finding| finding.first.severity == severity).map(|finding| finding.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use rpcrdma::rules::CREDIT_EXCEEDED;
    use rpcrdma_dissector::check::Blame;
    use rpcrdma_dissector::{Address, Capture, Checker, Config, Events};

    use super::*;

    /// A finding of a capture.
    fn any() -> Found {
        let capture = Capture::from_paths(["../../testdata/captures/withdrawn.pcap"]);
        let (mut checker, mut config) = (Checker::default(), Config::default());
        config.operations = true;
        Events::new(capture, config).for_each(|event| checker.event(&event.unwrap()));
        checker.finding().unwrap()
    }

    /// The same of another peer, and against another rule.
    fn found(peer: u32, any: &Found) -> Found {
        let mut found = any.clone();
        (found.rule, found.severity, found.blame) = (&CREDIT_EXCEEDED, CREDIT_EXCEEDED.severity, Blame::Sender);
        (found.from, found.stamp.frame) = (Address::V4(peer.to_be_bytes()), u64::from(peer));
        found
    }

    #[test]
    fn a_thousand_are_told_apart_and_the_others_counted() {
        let mut findings = FindingsByPeer::default();
        let any = any();
        (1..=1002).for_each(|peer| findings.add_finding(&found(peer, &any)));
        // The last that is told apart, twice more, and one that is not.
        [1000, 1000, 1001].into_iter().for_each(|peer| findings.add_finding(&found(peer, &any)));
        let sorted = findings.sorted();
        assert_eq!(
            (sorted.len(), findings.left_out, findings.count_severity(CREDIT_EXCEEDED.severity)),
            (1000, 3, 1002)
        );
        assert_eq!((sorted[0].first.stamp.frame, sorted[0].count, sorted[1].count), (1000, 3, 1));
    }
}
