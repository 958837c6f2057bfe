//! Known deviations of implementations from the rules.
//!
//! A capture does not say which implementation an end is, so a finding is only marked as known of one. The finding is
//! kept.

use super::finding::{Blame, Found};

/// An implementation whose deviations are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Implementation {
    /// The NFS server of the Linux kernel.
    LinuxNfsd,
}

impl Implementation {
    /// Name of the implementation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LinuxNfsd => "Linux nfsd",
        }
    }
}

/// A rule that an implementation is known to break, in one form.
#[derive(Debug)]
#[non_exhaustive]
pub struct Deviation {
    /// The implementation.
    pub implementation: Implementation,
    /// Versions of the implementation with the deviation.
    pub versions: &'static str,
    /// The rule.
    pub rule: &'static str,
    /// Behaviour of the implementation.
    pub what: &'static str,
    /// End that breaks the rule, relative to the frame of the finding.
    blame: Blame,
    /// A text that findings of this form contain, and others do not.
    says: &'static str,
}

/// Deviations seen in captures; `testdata/captures/README.md` has frames and octets of each.
static DEVIATIONS: [Deviation; 7] = [
    Deviation {
        implementation: Implementation::LinuxNfsd,
        versions: "6.1, 7.2",
        rule: "invalidate-foreign",
        what: "it invalidates remotely where the client has announced that, though it does not announce it itself",
        blame: Blame::Sender,
        says: "and the responder has not announced remote invalidation",
    },
    Deviation {
        implementation: Implementation::LinuxNfsd,
        versions: "6.1, 7.2",
        rule: "answer",
        what: "it answers Sends of less than 28 octets by ERR_CHUNK",
        blame: Blame::Sender,
        says: "octets (header-short), which has to be dropped",
    },
    Deviation {
        implementation: Implementation::LinuxNfsd,
        versions: "6.1, 7.2",
        rule: "answer",
        what: "it does not answer RDMA_NOMSG without chunks",
        blame: Blame::Receiver,
        says: "ERR_CHUNK should answer this (nomsg-empty), but nothing does",
    },
    Deviation {
        implementation: Implementation::LinuxNfsd,
        versions: "6.1, 7.2",
        rule: "answer",
        what: "it does not answer RDMA_MSG without a Payload stream",
        blame: Blame::Receiver,
        says: "ERR_CHUNK should answer this (msg-no-payload), but nothing does",
    },
    Deviation {
        implementation: Implementation::LinuxNfsd,
        versions: "6.1, 7.2",
        rule: "write-unwritten",
        what: "it counts reduced results in the length of the Reply chunk",
        blame: Blame::Sender,
        says: "returned were not written, as many as were reduced",
    },
    Deviation {
        implementation: Implementation::LinuxNfsd,
        versions: "6.1, 7.2",
        rule: "write-roundup",
        what: "the Write chunk of a READLINK begins with the length of the link",
        blame: Blame::Sender,
        says: "is in place of the link's length, as if the chunk began with that",
    },
    Deviation {
        implementation: Implementation::LinuxNfsd,
        versions: "6.1",
        rule: "gss-reduced",
        what: "it reduces results under integrity",
        blame: Blame::Sender,
        says: "octets under integrity",
    },
];

/// All known deviations.
pub fn deviations() -> impl Iterator<Item = &'static Deviation> {
    DEVIATIONS.iter()
}

impl Found {
    /// Returns the accepted deviation of which the finding is a case, if there is one.
    #[must_use]
    pub fn accepted_deviation(&self) -> Option<&'static Deviation> {
        deviations().find(|deviation| {
            self.rule.slug == deviation.rule && self.blame == deviation.blame && self.message.contains(deviation.says)
        })
    }
}

#[cfg(test)]
mod tests {
    use rpcrdma::rules::Rule;

    use super::*;
    use crate::carrier::operation::Stamp;
    use crate::link::Address;

    #[test]
    fn deviations_match_findings_by_rule_blame_and_message() {
        for deviation in deviations() {
            let is_its = |rule: &Rule| rule.slug == deviation.rule;
            let (mut its, mut others): (Vec<_>, Vec<_>) = crate::check::rules().partition(|rule| is_its(rule));
            let (Some(rule), Some(other_rule)) = (its.pop(), others.pop()) else { panic!("{}", deviation.rule) };
            let (stamp, address) = (Stamp::default(), Address::V4([0; 4]));
            let found = Found {
                rule,
                severity: rule.severity,
                stamp,
                connection: 1,
                from: address,
                to: address,
                blame: deviation.blame,
                xid: None,
                offset: None,
                message: format!("before, {} behind", deviation.says),
            };
            assert!(
                found.accepted_deviation().is_some_and(|known| core::ptr::eq(known, deviation)),
                "{}",
                deviation.says
            );
            assert!(Found { rule: other_rule, ..found.clone() }.accepted_deviation().is_none());
            assert!(Found { blame: Blame::Either, ..found.clone() }.accepted_deviation().is_none());
            assert!(Found { message: "something else".into(), ..found }.accepted_deviation().is_none());
        }
    }

    #[test]
    fn every_deviation_is_from_a_rule() {
        for deviation in deviations() {
            assert!(crate::check::find(deviation.rule).is_some(), "{}", deviation.rule);
        }
    }
}
