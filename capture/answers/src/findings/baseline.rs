//! Findings of an earlier run, so that only new ones count.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, Read};

use rpcrdma::rules::Severity;
use rpcrdma_dissector::{Found, check};
use serde::Deserialize;

use crate::record::SCHEMA;

/// The longest line that is read, in octets. A finding has less than a thousand.
const LINE: u64 = 1 << 16;
/// The most findings that are told apart.
const KEPT: usize = 100_000;

/// Earlier findings of `check --json`. Frames, times, XIDs and values differ from one capture to the next, so findings
/// are the same if the rule, the severity, and the end that broke the rule are.
#[derive(Debug, Default)]
pub struct Baseline(HashSet<(&'static str, Severity, String)>);

/// Reasons why a file is not a baseline.
#[derive(Debug)]
#[non_exhaustive]
pub enum BaselineError {
    /// The file could not be read.
    Io(io::Error),
    /// A line is not one that `check --json` prints.
    Line {
        /// Number of the line, from 1.
        number: usize,
        /// Description of the problem.
        reason: &'static str,
    },
}

/// The fields of a finding that matter here.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum BaselineObject {
    Finding { rule: String, severity: String, sender: String, receiver: String, blame: String },
    Rule {},
    Summary {},
}

/// Fields of every record since there is a schema.
#[derive(Deserialize)]
struct SchemaObject {
    schema: Option<u32>,
}

impl Baseline {
    /// Reads the output of `check --json`.
    ///
    /// # Errors
    /// A read error, or an error for other input.
    pub fn read(mut read: impl BufRead) -> Result<Self, BaselineError> {
        let mut baseline = Self::default();
        let (mut line, mut number, mut summary) = (Vec::new(), 0, false);
        loop {
            line.clear();
            number += 1;
            let wrong = |reason| BaselineError::Line { number, reason };
            if read.by_ref().take(LINE).read_until(b'\n', &mut line).map_err(BaselineError::Io)? == 0 {
                // Without its end it would miss findings, which then count as new ones.
                return if summary { Ok(baseline) } else { Err(wrong("the summary is missing")) };
            }
            let object = object(&line).map_err(wrong)?;
            let BaselineObject::Finding { rule, severity, sender, receiver, blame } = object else {
                summary |= matches!(object, BaselineObject::Summary {});
                continue;
            };
            // A rule that is not known any more cannot be broken any more.
            let Some(rule) = check::find(&rule) else { continue };
            let severity = [Severity::Error, Severity::Warning, Severity::Hazard]
                .into_iter()
                .find(|known| known.name() == severity)
                .ok_or_else(|| wrong("no such severity"))?;
            let by = match blame.as_str() {
                "sender" => sender,
                "receiver" => receiver,
                "either" => format!("{sender} or {receiver}"),
                _ => return Err(wrong("no such blame")),
            };
            if baseline.0.len() == KEPT {
                return Err(wrong("too many different findings"));
            }
            baseline.0.insert((rule.slug, severity, by));
        }
    }

    /// Returns true if the baseline has a finding like this one.
    #[must_use]
    pub fn contains(&self, found: &Found) -> bool {
        self.0.contains(&(found.rule.slug, found.severity, found.broken_by()))
    }
}

/// A line of a baseline, or the defect of the line.
fn object(line: &[u8]) -> Result<BaselineObject, &'static str> {
    const OTHER: &str = "not a finding, a rule or a summary";
    let SchemaObject { schema } = serde_json::from_slice(line).map_err(|_| OTHER)?;
    match schema {
        Some(SCHEMA) => serde_json::from_slice(line).map_err(|_| OTHER),
        None => Err("written by a version of this program without a schema: write it again"),
        Some(_) => Err("its schema is one that this version of the program does not know"),
    }
}

impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => f.write_str("cannot be read"),
            Self::Line { number, reason } => {
                write!(f, "line {number}: {reason}: a baseline is what 'rpcrdma check --json' prints")
            }
        }
    }
}

impl std::error::Error for BaselineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let Self::Io(error) = self else { return None };
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "{\"type\":\"summary\",\"schema\":1,\"exit_status\":1}\n";
    const RULE: &str = "{\"type\":\"rule\",\"schema\":1,\"rule\":\"answer\",\"errors\":1}\n";

    fn finding(rule: &str, severity: &str, blame: &str) -> String {
        format!(
            "{{\"type\":\"finding\",\"schema\":1,\"rule\":\"{rule}\",\"severity\":\"{severity}\",\"frame\":7,\
             \"sender\":\"a\",\"receiver\":\"b\",\"blame\":\"{blame}\"}}\n"
        )
    }

    #[test]
    fn it_knows_who_broke_which_rule() {
        let findings = finding("answer", "error", "receiver") + &finding("no-longer", "error", "sender");
        let baseline = Baseline::read((findings + RULE + SUMMARY).as_bytes()).unwrap();
        assert_eq!(baseline.0, HashSet::from([("answer", Severity::Error, "b".to_owned())]));
    }

    #[test]
    fn what_is_no_baseline_is_refused_with_its_line() {
        for (text, number) in [
            (String::new(), 1),
            ("hello\n".to_owned(), 1),
            (finding("answer", "error", "sender"), 2),
            (finding("answer", "error", "sender") + RULE, 3),
            ([finding("answer", "grave", "sender"), SUMMARY.to_owned()].concat(), 1),
            ([SUMMARY.to_owned(), finding("answer", "error", "nobody")].concat(), 2),
            ("{".repeat(1 << 20), 1),
        ] {
            let error = Baseline::read(text.as_bytes()).unwrap_err();
            assert!(matches!(error, BaselineError::Line { number: at, .. } if at == number), "{error}");
        }
    }
    #[test]
    fn a_baseline_without_a_schema_is_refused_as_such() {
        let old = r#"{"type":"finding","rule":"answer","severity":"error","from":"a","to":"b","blame":"sender"}"#;
        let error = Baseline::read(old.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("without a schema"), "{error}");
        let newer = Baseline::read(RULE.replace("\"schema\":1", "\"schema\":2").as_bytes()).unwrap_err().to_string();
        assert!(newer.contains("does not know"), "{newer}");
    }
}
