//! The findings, and the selected ones.

use std::io;

use answers::findings;
use answers::format::number::{counted, grouped};
use answers::selection::Ends;
use dissector::Files;
use dissector::check::Found;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::filter::Verdict;
use crate::heading::{self, Column, Heading};
use crate::names::Names;
use crate::part::Part;
use crate::parts::Parts;
use crate::query::{self, Query, Value};
use crate::row::record;
use crate::table::Table;

/// The most findings that are kept.
const KEPT: usize = 10_000;

/// Findings in the order of the capture.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Kept>,
    parts: Parts,
    /// Findings beyond [`KEPT`].
    pub(crate) left_out: u64,
}

/// Findings for the page.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShownFindings<'a> {
    /// Number of selected findings in words, and of findings that the filter cannot judge.
    count: String,
    #[cfg_attr(test, schemars(schema_with = "crate::record_schemas::findings"))]
    records: Vec<&'a RawValue>,
}

#[derive(Debug)]
pub(crate) struct Kept {
    found: Found,
    /// The record of `rpcrdma check --json`.
    record: Box<RawValue>,
    sender: String,
}

/// A column of the table of findings, whose cells the page makes of the records.
pub(crate) struct FindingColumn {
    heading: Heading,
    /// Value to sort by, if the finding has one.
    value: fn(&Kept) -> Option<Value<'_>>,
}

impl Column for FindingColumn {
    fn heading(&self) -> &Heading {
        &self.heading
    }
}

impl FindingColumn {
    const fn new(heading: Heading, value: fn(&Kept) -> Option<Value<'_>>) -> Self {
        Self { heading, value }
    }
}

/// The columns of the table of findings, from left to right.
pub(crate) const COLUMNS: [FindingColumn; 7] = [
    FindingColumn::new(Heading::text("rule", "rule"), |kept| Some(Value::Text(kept.found.rule.slug))),
    // The severest is the first of the type, and the highest here.
    FindingColumn::new(Heading::ranked("severity", "severity").meaning("Errors, warnings, hazards"), |kept| {
        Some(Value::Number(u64::MAX - kept.found.severity as u64))
    }),
    FindingColumn::new(Heading::text("sender", "sender"), |kept| Some(Value::Text(&kept.sender))),
    FindingColumn::new(Heading::text("section", "section"), |kept| Some(Value::Text(kept.found.rule.section))),
    FindingColumn::new(Heading::text("message", "finding"), |kept| Some(Value::Text(&kept.found.message))),
    FindingColumn::new(Heading::text("rpc", "RPC"), |kept| kept.found.xid.map(|xid| Value::Number(xid.into()))),
    FindingColumn::new(Heading::number("frame", "frame"), |kept| Some(Value::Number(kept.found.stamp.frame))),
];

impl Findings {
    pub(crate) fn push(&mut self, found: Found, files: &Files, names: &mut Names) -> io::Result<()> {
        if self.kept.len() >= KEPT {
            self.left_out += 1;
            return Ok(());
        }
        let record = record(|line| findings::Findings::json().finding(line, &found, files))?;
        let sender = found.from.to_string();
        let Found { connection, xid, stamp, from, to, .. } = found;
        let ends = Ends::Either([from, to].map(|address| names.insert(&address.to_string())));
        self.parts.push(Part { connection, xid, frame: stamp.frame, time: stamp.time.0, ends });
        self.kept.push(Kept { found, record, sender });
        Ok(())
    }

    /// The findings that a query selects, in its order.
    pub(crate) fn selected(&mut self, query: &Query, table: &Table) -> Result<ShownFindings<'_>, String> {
        let (filter, column) = (table.filter(&query.filter)?, heading::find(&COLUMNS, &query.sort)?);
        let (mut selected, mut of_no_rpc) = (Vec::new(), 0);
        for (kept, (_, verdict)) in self.kept.iter().zip(self.parts.judge(&filter, table)) {
            match verdict {
                Verdict::Wanted => selected.push(kept),
                Verdict::OfNoRpc => of_no_rpc += 1,
                Verdict::Unwanted => {}
            }
        }
        query::sort(&mut selected, query.descending, |kept| (column.value)(kept));
        let [count, all] = [selected.len(), self.kept.len()].map(|count| grouped(count as u64));
        let of_no_rpc = (of_no_rpc > 0).then(|| format!("; without {} of no known RPC", counted(of_no_rpc, "finding")));
        Ok(ShownFindings {
            count: format!("{count} of {all} findings{}", of_no_rpc.unwrap_or_default()),
            records: selected.into_iter().map(|kept| kept.record.as_ref()).collect(),
        })
    }
}
