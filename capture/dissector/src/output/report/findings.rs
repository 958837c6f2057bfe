//! Broken rules, and the ends that broke them.

use std::collections::BTreeMap;

use rpcrdma::rules::Severity;

use crate::check::Found;

/// The most findings that are told apart.
const KEPT: usize = 1000;

/// Findings, counted by rule and by who broke it.
#[derive(Debug, Default)]
pub(super) struct FindingsByPeer {
    /// By severity, slug and who broke it.
    counts: BTreeMap<(Severity, &'static str, String), PeerFinding>,
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
    pub(super) fn known(&self) -> Option<&'static str> {
        self.first.known().map(|known| known.implementation.name())
    }
}

impl FindingsByPeer {
    pub(super) fn take(&mut self, found: &Found) {
        let key = (found.severity, found.rule.slug, found.broken_by());
        if let Some(finding) = self.counts.get_mut(&key) {
            finding.count += 1;
        } else if self.counts.len() < KEPT {
            let finding = PeerFinding { first: found.clone(), by: key.2.clone(), count: 1 };
            self.counts.insert(key, finding);
        } else {
            self.left_out += 1;
        }
    }

    /// The worst first, and of those the most frequent.
    pub(super) fn sorted(&self) -> Vec<&PeerFinding> {
        let mut findings: Vec<_> = self.counts.values().collect();
        findings.sort_by(|a, b| a.first.severity.cmp(&b.first.severity).then(b.count.cmp(&a.count)));
        findings
    }

    /// Number of findings of this severity.
    pub(super) fn of(&self, severity: Severity) -> u64 {
        self.counts.values().filter(|finding| finding.first.severity == severity).map(|finding| finding.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use rpcrdma::rules::CREDIT_EXCEEDED;

    use super::*;
    use crate::carrier::operation::Stamp;
    use crate::check::Blame;
    use crate::link::Address;

    fn found(peer: u32) -> Found {
        let (from, to) = (Address::V4(peer.to_be_bytes()), Address::V4([192, 0, 2, 1]));
        let (rule, severity, message) = (&CREDIT_EXCEEDED, CREDIT_EXCEEDED.severity, String::new());
        let stamp = Stamp { frame: u64::from(peer), ..Stamp::default() };
        Found { rule, severity, stamp, connection: 1, from, to, blame: Blame::Sender, xid: None, offset: None, message }
    }

    #[test]
    fn a_thousand_are_told_apart_and_the_others_counted() {
        let mut findings = FindingsByPeer::default();
        (1..=1002).for_each(|peer| findings.take(&found(peer)));
        // The last that is told apart, twice more, and one that is not.
        [1000, 1000, 1001].into_iter().for_each(|peer| findings.take(&found(peer)));
        let sorted = findings.sorted();
        assert_eq!((sorted.len(), findings.left_out, findings.of(CREDIT_EXCEEDED.severity)), (1000, 3, 1002));
        assert_eq!((sorted[0].first.stamp.frame, sorted[0].count, sorted[1].count), (1000, 3, 1));
    }
}
