//! The diagnosis in words, for the page.

use std::io;

use answers::JsonRecord;
use answers::diagnosis::{DiagnosedCause, DiagnosedMount, Diagnosis};
use answers::format::number::counted;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::row::record;

/// The diagnosis: the record, and the words of the report.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShownDiagnosis<'a> {
    /// The record of `rpcrdma diagnose --json`.
    #[cfg_attr(test, schemars(schema_with = "crate::record_schemas::unread"))]
    record: Box<RawValue>,
    summary: Vec<String>,
    /// Sentence for a diagnosis without a cause.
    sound: Option<String>,
    causes: Vec<ShownCause<'a>>,
    limits: &'a [String],
    mounts: &'a [DiagnosedMount],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ShownCause<'a> {
    cause: &'a str,
    title: &'a str,
    weight: String,
    falls_on: Option<String>,
    evidence: &'a [String],
    since: Option<String>,
    /// Words before the frames.
    examples_are: Option<String>,
    /// Frames that show the cause: numbers, and names on the page.
    examples: Vec<(u64, String)>,
    command: &'a str,
    /// The filter that selects the counted RPCs, and the number of RPCs in words; null without any.
    rpcs: Option<(String, String)>,
}

impl<'a> ShownDiagnosis<'a> {
    /// Words, of which the first are about a capture that was not read to the end.
    pub(crate) fn new(diagnosis: &'a Diagnosis, stopped: Option<String>) -> io::Result<Self> {
        Ok(Self {
            record: record(|line| diagnosis.write_json(line))?,
            summary: stopped.into_iter().chain(diagnosis.summary()).collect(),
            sound: diagnosis.causes.is_empty().then(|| diagnosis.nothing_stands_out()),
            causes: diagnosis.causes.iter().map(ShownCause::new).collect(),
            limits: &diagnosis.limits,
            mounts: &diagnosis.mounts,
        })
    }
}

impl<'a> ShownCause<'a> {
    fn new(cause: &'a DiagnosedCause) -> Self {
        Self {
            cause: cause.cause,
            title: cause.title,
            weight: cause.weight(),
            falls_on: cause.falls_on(),
            evidence: &cause.evidence,
            since: cause.since(),
            examples_are: cause.examples_are(),
            examples: cause.examples.iter().map(|example| (example.frame, example.shown())).collect(),
            command: &cause.command,
            rpcs: cause.rpcs.map(|rpcs| (format!("cause={}", cause.cause), counted(rpcs, "RPC"))),
        }
    }
}
