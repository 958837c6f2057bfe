//! Captures that break one rule.

use crate::check::trace::*;

/// Makes a capture.
pub(crate) type Make = fn(&mut Trace);

pub(crate) struct Case {
    pub(crate) slug: &'static str,
    /// Rules that both the broken capture and its twin break besides.
    pub(crate) besides: &'static [&'static str],
    /// Rules that cannot be judged in the broken capture; its twin has no others.
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
