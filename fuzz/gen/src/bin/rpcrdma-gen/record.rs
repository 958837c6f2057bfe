//! Record of a message, in JSON.

use rpcrdma_gen::{Answer, Broken, Case};
use serde::Serialize;

/// A message. Every field is always there.
#[derive(Debug, Serialize)]
pub(crate) struct Record<'a> {
    r#type: &'static str,
    schema: u32,
    /// Name of the origin; several random messages may have the same one.
    name: &'a str,
    /// The file with the octets, beside the record.
    file: &'a str,
    /// The file with the Call of a Reply, if the verdict is about both.
    call_file: Option<&'a str>,
    version: &'static str,
    role: &'static str,
    length_octets: usize,
    /// The broken rule, or `valid`.
    rule: &'static str,
    severity: Option<&'static str>,
    /// Octets from the start to what is wrong.
    offset: Option<usize>,
    section: Option<&'static str>,
    /// Reaction due from the receiver; null if that is not specified.
    responder: Option<&'static str>,
    requester: Option<&'static str>,
    /// Other rules that the same defect breaks.
    also: Vec<AlsoBroken>,
}

/// A further rule.
#[derive(Debug, Serialize)]
struct AlsoBroken {
    rule: &'static str,
    severity: &'static str,
    offset: usize,
    section: &'static str,
}

impl<'a> Record<'a> {
    /// The record of a message in this file.
    pub(crate) fn new(case: &'a Case, file: &'a str, call_file: Option<&'a str>) -> Self {
        let (first, others) =
            case.broken.split_first().map_or((None, &[][..]), |(first, others)| (Some(first), others));
        let also = |&Broken { rule, severity, offset, .. }: &Broken| AlsoBroken {
            rule: rule.slug,
            severity: severity.name(),
            offset,
            section: rule.section,
        };
        Self {
            r#type: "message",
            schema: 1,
            name: &case.name,
            file,
            call_file,
            version: case.format.name(),
            role: case.role.name(),
            length_octets: case.octets.len(),
            rule: slug(case),
            severity: first.map(|broken| broken.severity.name()),
            offset: first.map(|broken| broken.offset),
            section: first.map(|broken| broken.rule.section),
            responder: case.responder().map(Answer::name),
            requester: case.requester().map(Answer::name),
            also: others.iter().map(also).collect(),
        }
    }
}

/// The rule that a message was made to break, or `valid`.
pub(crate) fn slug(case: &Case) -> &'static str {
    case.broken.first().map_or("valid", |broken| broken.rule.slug)
}
