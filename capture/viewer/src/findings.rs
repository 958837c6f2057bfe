//! The findings, and those that are selected.

use std::io;

use dissector::Files;
use dissector::check::Found;
use dissector::output::findings;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::query::{self, Query, Value};
use crate::row::record;

/// The most findings that are kept.
const KEPT: usize = 10_000;

/// Findings in the order of the capture.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Kept>,
    /// Findings beyond [`KEPT`].
    pub(crate) left_out: u64,
}

#[derive(Debug)]
struct Kept {
    found: Found,
    /// As `rpcrdma check --json` prints it.
    record: Box<RawValue>,
    sender: String,
}

/// Column to sort findings by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingColumn {
    Rule,
    Severity,
    Sender,
    Section,
    Message,
    Rpc,
    #[default]
    Frame,
}

impl Findings {
    pub(crate) fn push(&mut self, found: Found, files: &Files) -> io::Result<()> {
        if self.kept.len() >= KEPT {
            self.left_out += 1;
            return Ok(());
        }
        let record = record(|line| findings::Findings::json().finding(line, &found, files))?;
        let sender = found.from.to_string();
        self.kept.push(Kept { found, record, sender });
        Ok(())
    }

    /// Records of the findings in the order of a query.
    pub(crate) fn records(&self, query: &Query<FindingColumn>) -> Vec<&RawValue> {
        let mut sorted: Vec<&Kept> = self.kept.iter().collect();
        query::sort(&mut sorted, query.descending, |kept| kept.value(query.sort));
        sorted.into_iter().map(|kept| kept.record.as_ref()).collect()
    }
}

impl Kept {
    /// The value in a column, if it has one.
    fn value(&self, column: FindingColumn) -> Option<Value<'_>> {
        let Self { found, sender, .. } = self;
        Some(match column {
            FindingColumn::Rule => Value::Text(found.rule.slug),
            // The severest is the first of the type, and the highest here.
            FindingColumn::Severity => Value::Number(u64::MAX - found.severity as u64),
            FindingColumn::Sender => Value::Text(sender),
            FindingColumn::Section => Value::Text(found.rule.section),
            FindingColumn::Message => Value::Text(&found.message),
            FindingColumn::Rpc => Value::Number(found.xid?.into()),
            FindingColumn::Frame => Value::Number(found.stamp.frame),
        })
    }
}
