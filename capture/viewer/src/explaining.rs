//! A pass over the capture for one RPC, with the content of `rpcrdma explain`.

use std::io;

use answers::explain::{self, ExplainedObject, Explanations};
use answers::file_names::FileNames;
use answers::format::number::duration;
use answers::{JsonRecord, OperationName, report};
use dissector::{Checker, Event, Found, StepsWanted, Transaction};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::fields::ShownMessage;
use crate::row::{Row, key, record};
use crate::source::Source;

/// Columns of the text.
const WIDTH: usize = 110;

/// Looks for one RPC in a capture.
pub(crate) struct Explaining {
    source: Source,
    row: Row,
    explanations: Explanations,
    checker: Checker,
    names: FileNames,
}

/// An RPC with everything that the capture shows of the RPC.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Explained {
    /// The record of `rpcrdma explain --json`.
    #[cfg_attr(test, schemars(schema_with = "crate::record_schemas::explain"))]
    record: Box<RawValue>,
    /// XID, connection, operation and latency.
    title: String,
    /// The text of `rpcrdma explain`.
    text: String,
    /// The messages, field by field.
    messages: Vec<ShownMessage>,
    /// The rules that the RPC breaks, in the order of the findings.
    rules: Vec<ShownRule>,
    /// HTML of the report; null if the capture holds no packet of the RPC.
    diagram: Option<String>,
    /// HTML of the report; null without known phases.
    phases: Option<String>,
    /// The files of the capture: the number of the first frame of each, and the name.
    files: Vec<(u64, String)>,
}

/// A rule, with the explanations of `rpcrdma check --explain`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ShownRule {
    rule: &'static str,
    summary: &'static str,
    reason: &'static str,
    correct: &'static str,
}

impl Explaining {
    pub(crate) fn new(source: Source, row: Row) -> Self {
        let (explanations, checker, names) = (Explanations::default(), Checker::default(), FileNames::default());
        Self { source, row, explanations, checker, names }
    }

    pub(crate) fn wanted(row: &Row) -> StepsWanted {
        StepsWanted::Xids(vec![row.xid])
    }

    /// Reads at most `frames` frames; `false` at the end.
    pub(crate) fn step(&mut self, frames: usize) -> io::Result<bool> {
        let Self { source, row, explanations, checker, names } = self;
        source.step(frames, |event, _| {
            if let Event::Transaction(transaction) = event {
                names.learn(transaction, &transaction.arguments());
            }
            if is_of(row, event) {
                explanations.event(event);
            }
            checker.event(event);
            while let Some(found) = checker.finding() {
                if found.connection == row.kind.connection && found.xid == Some(row.xid) {
                    explanations.finding(&found);
                }
            }
            Ok(())
        })
    }

    /// The RPC, once the capture was read.
    pub(crate) fn finish(mut self) -> io::Result<Option<Explained>> {
        let rpcs = core::mem::take(&mut self.explanations).into_rpcs();
        let Some(rpc) = rpcs.iter().find(|rpc| key(&rpc.transaction) == self.row.key()) else {
            // A file that has changed since the first pass shows other RPCs, or none.
            return self.source.errors().last().map_or(Ok(None), |error| Err(io::Error::other(error.clone())));
        };
        let files = self.source.files();
        let record = record(|line| ExplainedObject::new(rpc, files, &mut self.names).write_json(line))?;
        let mut text = Vec::new();
        explain::lines(&mut text, rpc, files, &self.names, WIDTH, false)?;
        Ok(Some(Explained {
            record,
            title: title(&rpc.transaction),
            text: String::from_utf8_lossy(&text).into_owned(),
            messages: rpc.messages.iter().map(ShownMessage::new).collect::<io::Result<_>>()?,
            rules: rules(&rpc.findings),
            diagram: report::sequence_diagram(&rpc.transaction, files),
            phases: phases(&rpc.transaction),
            files: files.parts().map(|(first, name)| (first, name.to_owned())).collect(),
        }))
    }
}

/// Returns the phases of an RPC with known phases.
fn phases(transaction: &Transaction) -> Option<String> {
    let recovery = transaction.recovery.as_ref().map(|recovery| recovery.phases).unwrap_or_default();
    transaction.phases.as_ref().ok().map(|phases| report::phases(phases, &recovery))
}

fn title(transaction: &Transaction) -> String {
    let Transaction { connection, xid, .. } = transaction;
    let operation = OperationName::of_transaction(transaction);
    let took = match (&transaction.waiting, transaction.latency()) {
        (Some(waiting), _) => waiting.outcome().to_owned(),
        (None, latency) => latency.map_or_else(|| "latency unknown".to_owned(), duration),
    };
    format!("RPC {xid:#010x} on connection {connection}: {operation}, {took}")
}

/// The rules of findings, each once.
fn rules(findings: &[Found]) -> Vec<ShownRule> {
    let mut rules: Vec<ShownRule> = Vec::new();
    for Found { rule, .. } in findings {
        if !rules.iter().any(|shown| shown.rule == rule.slug) {
            let (summary, reason, correct) = (rule.summary, rule.reason, rule.correct);
            rules.push(ShownRule { rule: rule.slug, summary, reason, correct });
        }
    }
    rules
}

fn is_of(row: &Row, event: &Event) -> bool {
    match event {
        Event::Message(message) => (message.connection, message.rdma_xid()) == (row.kind.connection, Some(row.xid)),
        Event::Transaction(transaction) => (transaction.connection, transaction.xid) == (row.kind.connection, row.xid),
        Event::Recovery(recovered) => (recovered.connection, recovered.xid) == (row.kind.connection, Some(row.xid)),
        _ => false,
    }
}
