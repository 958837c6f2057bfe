//! The diagnosis with its words, for the page.

use std::io;

use dissector::output::diagnosis::{DiagnosedCause, Diagnosis};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::filter::KEYS;
use crate::row::record;

/// The diagnosis: the record, and the words of the report.
#[derive(Serialize)]
pub(crate) struct ShownDiagnosis<'a> {
    /// As `rpcrdma diagnose --json` prints it.
    record: Box<RawValue>,
    summary: Vec<String>,
    /// Sentence for a diagnosis without a cause.
    sound: Option<String>,
    causes: Vec<ShownCause<'a>>,
    limits: &'a [String],
}

#[derive(Serialize)]
struct ShownCause<'a> {
    cause: &'a str,
    title: &'a str,
    weight: String,
    falls_on: Option<String>,
    evidence: &'a [String],
    since: Option<String>,
    frames: &'a [u64],
    command: &'a str,
    /// The filter that shows the RPCs.
    filter: String,
}

impl<'a> ShownDiagnosis<'a> {
    pub(crate) fn new(diagnosis: &'a Diagnosis) -> io::Result<Self> {
        Ok(Self {
            record: record(|line| diagnosis.write_json(line))?,
            summary: diagnosis.summary(),
            sound: diagnosis.causes.is_empty().then(|| diagnosis.nothing_stands_out()),
            causes: diagnosis.causes.iter().map(ShownCause::new).collect(),
            limits: &diagnosis.limits,
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
            frames: &cause.frames,
            command: &cause.command,
            filter: filter(cause),
        }
    }
}

/// The filter for the RPCs of a cause: those of its kind, and what the options of its command select.
fn filter(cause: &DiagnosedCause) -> String {
    let kind = match cause.cause {
        "responder-silent" | "responder-unreachable" | "requester-silent" | "requester-unreachable" => {
            Some("waiting".to_owned())
        }
        "loss" | "receiver-not-ready" => Some("resent".to_owned()),
        "errors" => Some("failed".to_owned()),
        _ => None,
    };
    let words: Vec<&str> = cause.command.split(' ').collect();
    let options = words.windows(2).filter_map(|pair| match pair {
        [option, value] => {
            let (key, _) = KEYS.iter().find(|(_, name)| !name.is_empty() && name == option)?;
            Some(format!("{key}={value}"))
        }
        _ => None,
    });
    let falls_on = [("client", &cause.client), ("server", &cause.server), ("op", &cause.operation)]
        .into_iter()
        .filter_map(|(key, value)| value.as_ref().map(|value| format!("{key}={}", quoted(value))));
    let mut all: Vec<String> = Vec::new();
    for word in kind.into_iter().chain(options).chain(falls_on) {
        let is_new = !all.iter().any(|other| other.split('=').next() == word.split('=').next());
        all.extend(is_new.then_some(word));
    }
    all.join(" ")
}

fn quoted(value: &str) -> String {
    if value.contains(' ') { format!("\"{value}\"") } else { value.to_owned() }
}
