//! Findings as JSON objects, one on a line.

use rpcrdma_dissector::{Files, Found};
use serde::Serialize;

use crate::record::frame::FrameObject;
use crate::record::values::{EndObject, Hex32};

/// A rule that was broken.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FindingObject<'a> {
    /// The name of the rule: `check --explain` explains the rule.
    rule: &'static str,
    /// `error`, `warning` or `hazard`.
    severity: &'static str,
    #[serde(flatten)]
    place: FrameObject<'a>,
    /// The address of the end that sent the frame.
    sender: EndObject,
    /// The address of the receiver.
    receiver: EndObject,
    /// The end that broke the rule: `sender`, `receiver`, or `either` if the capture does not show that.
    blame: &'static str,
    /// `rdma_xid` (RFC 8166 section 4.2.1), if the finding is about an RPC.
    rdma_xid: Option<Hex32>,
    /// Octets from the start of the Send to the error, if the error is in a Send.
    offset_octets: Option<usize>,
    /// The section that states the rule.
    section: &'static str,
    /// Description of the problem, with the values.
    message: &'a str,
    /// The implementation that is known to do this; null if none is.
    deviation_of: Option<&'static str>,
    /// True if the baseline (`--baseline`) has the finding.
    in_baseline: bool,
}

impl<'a> FindingObject<'a> {
    pub(crate) fn new(found: &'a Found, files: &'a Files, in_baseline: bool) -> Self {
        Self {
            rule: found.rule.slug,
            severity: found.severity.name(),
            place: FrameObject::new(found.stamp, found.connection, files),
            sender: EndObject(found.from),
            receiver: EndObject(found.to),
            blame: found.blame.name(),
            rdma_xid: found.xid.map(Hex32),
            offset_octets: found.offset,
            section: found.rule.section,
            message: &found.message,
            deviation_of: found.accepted_deviation().map(|known| known.implementation.name()),
            in_baseline,
        }
    }
}

/// Number of findings there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FindingTotals {
    /// Findings of severity error, except for excused ones.
    pub errors: u64,
    /// Findings of severity warning, with the same exceptions.
    pub warnings: u64,
    /// Findings of severity hazard, with the same exceptions.
    pub hazards: u64,
    /// Findings that are known deviations of an implementation; the other counts include the ones that are not excused.
    pub known_deviations: u64,
    /// Findings that the baseline has, and that are not among the others; null without a baseline.
    pub baseline: Option<u64>,
}
