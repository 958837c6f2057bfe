//! Findings, and the number of times that each rule was broken.

use std::collections::VecDeque;

use rpcrdma::rules::{Finding, Rule, RuleReport};

use super::finding::{About, Found};

/// The outcome for a rule.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Count {
    /// The rule.
    pub rule: &'static Rule,
    /// Number of times that the rule was broken.
    pub broken: u64,
    /// Number of times that the rule could not be judged, because the capture lacks the necessary data.
    pub not_judged: u64,
}

/// Rules that can only be judged together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Group {
    /// The rules of one Send.
    Send,
    /// The rules about a call with the reply.
    Exchange,
    /// The rules of the setup.
    Setup,
    /// The rules of one Send of version 2.
    SendV2,
}

/// Findings, and how often each rule was broken.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) counts: Vec<(Count, Option<Group>)>,
    /// Number of times that a [`Group`] could not be judged.
    pub(super) groups: [u64; 4],
    pub(super) found: VecDeque<Found>,
}

impl Book {
    pub(super) fn count(&mut self, rule: &'static Rule) -> Option<&mut Count> {
        self.counts.iter_mut().map(|(count, _)| count).find(|count| core::ptr::eq(count.rule, rule))
    }

    /// Adds a finding.
    pub(super) fn add_finding(&mut self, about: About, finding: &Finding<'_>, offset: Option<usize>) {
        self.keep(Found::new(about, finding, offset));
    }

    pub(super) fn keep(&mut self, found: Found) {
        if let Some(count) = self.count(found.rule) {
            count.broken += 1;
        }
        self.found.push_back(found);
    }

    /// Lets `judge` judge by `rule`; offsets of findings count from the start of the Send.
    pub(super) fn judge<T>(
        &mut self,
        rule: &'static Rule,
        about: About,
        judge: impl FnOnce(&mut RuleReport<'_>) -> T,
    ) -> T {
        let mut take = |finding: &Finding<'_>| self.add_finding(about, finding, Some(finding.offset));
        judge(&mut RuleReport::new(rule, &mut take))
    }

    /// Counts that a rule could not be judged.
    pub(super) fn unknown(&mut self, rule: &'static Rule) {
        if let Some(count) = self.count(rule) {
            count.not_judged += 1;
        }
    }

    /// Counts that a rule could be judged after all.
    pub(super) fn count_judged(&mut self, rule: &'static Rule) {
        if let Some(count) = self.count(rule) {
            count.not_judged = count.not_judged.saturating_sub(1);
        }
    }

    /// Counts that a group of rules could not be judged.
    pub(super) fn unknown_group(&mut self, group: Group) {
        if let Some(count) = self.groups.get_mut(group as usize) {
            *count += 1;
        }
    }
}
