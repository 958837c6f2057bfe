//! Findings of an earlier run, so that only new ones count.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, Read};

use rpcrdma::rules::Severity;
use serde::Deserialize;

use crate::check::{self, Found};

/// The longest line that is read, in octets. A finding has less than a thousand.
const LINE: u64 = 1 << 16;
/// The most findings that are told apart.
const KEPT: usize = 100_000;

/// What `check --json` found before. Frames, times, XIDs and values differ from one capture to the next, so a finding is
/// the same if the rule, the severity, and who broke the rule are.
#[derive(Debug, Default)]
pub struct Baseline(HashSet<(&'static str, Severity, String)>);

/// Why a file is not a baseline.
#[derive(Debug)]
#[non_exhaustive]
pub enum BaselineError {
    /// It could not be read.
    Io(io::Error),
    /// A line is not one that `check --json` prints.
    Line {
        /// Which one, from 1.
        number: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The fields of a finding that matter here.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum BaselineObject {
    Finding { rule: String, severity: String, from: String, to: String, blame: String },
    Summary {},
}

impl Baseline {
    /// Reads the output of `check --json`.
    ///
    /// # Errors
    /// If it cannot be read, or is something else.
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
            let object = serde_json::from_slice(&line).map_err(|_| wrong("not a finding or a summary"))?;
            let BaselineObject::Finding { rule, severity, from, to, blame } = object else {
                summary = true;
                continue;
            };
            // A rule that is not known any more cannot be broken any more.
            let Some(rule) = check::find(&rule) else { continue };
            let severity = [Severity::Error, Severity::Warning, Severity::Hazard]
                .into_iter()
                .find(|known| known.name() == severity)
                .ok_or_else(|| wrong("no such severity"))?;
            let by = match blame.as_str() {
                "sender" => from,
                "receiver" => to,
                "either" => format!("{from} or {to}"),
                _ => return Err(wrong("no such blame")),
            };
            if baseline.0.len() == KEPT {
                return Err(wrong("too many different findings"));
            }
            baseline.0.insert((rule.slug, severity, by));
        }
    }

    /// Whether it has a finding like this one.
    #[must_use]
    pub fn contains(&self, found: &Found) -> bool {
        self.0.contains(&(found.rule.slug, found.severity, found.broken_by()))
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
        match self {
            Self::Io(error) => Some(error),
            Self::Line { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "{\"type\":\"summary\",\"errors\":1,\"warnings\":0,\"hazards\":0,\"rules\":[]}\n";

    fn finding(rule: &str, severity: &str, blame: &str) -> String {
        format!(
            "{{\"type\":\"finding\",\"rule\":\"{rule}\",\"severity\":\"{severity}\",\"frame\":7,\"from\":\"a\",\"to\":\"b\",\
             \"blame\":\"{blame}\"}}\n"
        )
    }

    #[test]
    fn it_knows_who_broke_which_rule() {
        let text =
            [finding("answer", "error", "receiver"), finding("no-longer", "error", "sender"), SUMMARY.to_owned()];
        let baseline = Baseline::read(text.concat().as_bytes()).unwrap();
        assert_eq!(baseline.0, HashSet::from([("answer", Severity::Error, "b".to_owned())]));
    }

    #[test]
    fn what_is_no_baseline_is_refused_with_its_line() {
        for (text, number) in [
            (String::new(), 1),
            ("hello\n".to_owned(), 1),
            (finding("answer", "error", "sender"), 2),
            ([finding("answer", "grave", "sender"), SUMMARY.to_owned()].concat(), 1),
            ([SUMMARY.to_owned(), finding("answer", "error", "nobody")].concat(), 2),
            ("{".repeat(1 << 20), 1),
        ] {
            let error = Baseline::read(text.as_bytes()).unwrap_err();
            assert!(matches!(error, BaselineError::Line { number: at, .. } if at == number), "{error}");
        }
    }
}
