//! What breaks one rule.

use crate::check::trace::*;

/// What makes a capture.
pub(crate) type Make = fn(&mut Trace);

pub(crate) struct Case {
    pub(crate) slug: &'static str,
    /// What both the broken one and its twin break besides.
    pub(crate) besides: &'static [&'static str],
    /// What the broken one does not let be judged; its twin at most that.
    pub(crate) not_judged: &'static [&'static str],
    pub(crate) make: fn(&mut Trace, bool),
}

pub(crate) const fn case(slug: &'static str, make: fn(&mut Trace, bool)) -> Case {
    Case { slug, besides: &[], not_judged: &[], make }
}

/// One that leaves some rules without what they need.
pub(crate) const fn blind(slug: &'static str, not_judged: &'static [&'static str], make: fn(&mut Trace, bool)) -> Case {
    Case { slug, besides: &[], not_judged, make }
}
