//! Procedure and outcome of an RPC, in words.

use rpcrdma_dissector::nfs::{self, Callback, CompoundOperation, Procedure};
use rpcrdma_dissector::{NotTimed, PromiseKind, Rpc, Status, Transaction, Waiting};

use crate::format::line::{DIM, FAULT, WARNING};
use crate::{promises, tries};

/// Returns the name of a transaction's call. If the operations of a COMPOUND are wider than `room`, the operations before the main one are left out.
pub(super) fn called_within(room: usize, transaction: &Transaction) -> String {
    let Transaction { name, procedure, operations, .. } = transaction;
    operations_within(room, *name, *procedure, operations)
}

/// Returns the name of a call from the call's parts.
pub(super) fn operations_within(
    room: usize,
    name: Option<&'static str>,
    procedure: Option<Procedure>,
    operations: &[CompoundOperation],
) -> String {
    let name = if operations.is_empty() { name } else { Some("") };
    let text = called(name, procedure, operations);
    let about = operations.iter().position(|operation| !operation.leads()).unwrap_or_default();
    let rest = operations.get(about..).unwrap_or_default();
    if about == 0 || text.chars().count() <= room {
        return text;
    }
    format!("… {}", called(Some(""), procedure, rest))
}

/// Returns the name of a call, the numbers of an unknown call, or the operations of a COMPOUND.
pub(super) fn called(
    name: Option<&'static str>,
    procedure: Option<Procedure>,
    operations: &[CompoundOperation],
) -> String {
    let mut text = match (name, procedure) {
        // The operations say it all.
        (Some(name), _) if !operations.is_empty() => name.split(' ').next().unwrap_or_default().to_owned(),
        (Some(name), _) => name.to_owned(),
        (None, Some(Procedure { program, version, procedure })) => {
            format!("program {program} version {version} procedure {procedure}")
        }
        (None, None) => "procedure unknown".to_owned(),
    };
    for operation in operations {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(operation.name);
    }
    text
}

/// Returns the failure of a call; `None` for success.
pub(super) fn failure(rpc: &Rpc) -> Option<String> {
    match rpc.status? {
        Status::Success(None | Some(0)) => None,
        Status::Success(Some(code)) => Some(nfs_status(rpc.procedure, rpc.callback, code)),
        other => Some(other.name().to_owned()),
    }
}

/// Name of a status, or the status as a number.
pub(super) fn nfs_status(procedure: Option<Procedure>, callback: Callback, code: u32) -> String {
    let name = procedure.and_then(|procedure| nfs::status::name(&procedure, callback.is_callback(), code));
    name.map_or_else(|| format!("status {code}"), str::to_owned)
}

/// Returns the outcome of an RPC without a reply, in a few words.
pub(super) fn outcome(transaction: &Transaction) -> &'static str {
    transaction.waiting.as_ref().map_or("no reply", Waiting::outcome)
}

/// Returns the outcome of a transaction, unless the outcome is success, and notes about the transaction.
pub(super) fn ended(transaction: &Transaction) -> Vec<(anstyle::Style, String)> {
    let mut notes = Vec::new();
    match transaction.status {
        None if transaction.reply.is_none() => notes.push((WARNING, outcome(transaction).to_owned())),
        None => notes.push((WARNING, "status unknown".to_owned())),
        Some(Status::Success(None | Some(0))) => {}
        Some(Status::Success(Some(code))) => {
            notes.push((WARNING, nfs_status(transaction.procedure, transaction.callback, code)));
        }
        Some(error @ Status::Error(_)) => notes.push((FAULT, without_prefix(error.name()))),
        Some(other) => notes.push((WARNING, other.name().to_owned())),
    }
    notes.extend(tries::note(transaction).map(|note| (WARNING, note)));
    notes.extend(transaction.keeps.iter().map(|promise| (WARNING, promises::kept(promise))));
    let is_copy = transaction.opens == Some(PromiseKind::Copy);
    let more = [
        (is_copy, DIM, "asynchronous"),
        (transaction.phases == Err(NotTimed::ArrivalUnknown), WARNING, "end unknown"),
        (transaction.reverse, DIM, "reverse"),
        (transaction.callback == Callback::Guessed, DIM, "program guessed"),
    ];
    notes.extend(more.into_iter().filter(|(is_so, ..)| *is_so).map(|(_, style, note)| (style, note.to_owned())));
    notes
}

/// Names of version 2 without their common prefix.
pub(super) fn without_prefix(text: &str) -> String {
    ["RDMA2_PROPID_", "RDMA2_RVRSDIR_", "RDMA2_"].iter().fold(text.to_owned(), |text, prefix| text.replace(prefix, ""))
}
