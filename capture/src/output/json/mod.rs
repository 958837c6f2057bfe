//! What was found as JSON objects, one on a line: records.
//!
//! Every record has a `type` and the version of its `schema`. All records of a type have the same fields; a field is null where
//! there is nothing. Fields have the names from RFC 8166, if it has one; otherwise a name ends with the unit, such as `_ns` or
//! `_octets`. Handles, offsets and XIDs are hexadecimal strings; other numbers are numbers.

mod arguments;
mod chunks;
#[cfg(feature = "schema")]
mod described;
mod error;
#[cfg(feature = "text")]
mod explained;
mod faults;
mod message;
#[cfg(feature = "text")]
mod pending;
mod place;
mod record;
mod recovered;
mod rpc;
mod salvaged;
mod summary;
mod terminate;
#[cfg(feature = "text")]
mod top;
mod transaction;
mod v1;
mod v2;
mod values;

use std::io;

#[cfg(feature = "text")]
use serde_json::value::RawValue;

use super::fields::readable;
use super::file_names::{FileNames, server};
#[cfg(feature = "text")]
use super::findings::Findings;
use crate::event::{Recovered, Terminated};
use crate::file::Files;
#[cfg(feature = "text")]
use crate::file::Time;
#[cfg(feature = "text")]
use crate::output::explain::ExplainedRpc;
#[cfg(feature = "text")]
use crate::output::pending::PendingCall;
#[cfg(feature = "text")]
use crate::output::top::TopReport;
use crate::rpc::message::Message;
use crate::rpc::transaction::Transaction;
use arguments::ArgumentsObject;
#[cfg(feature = "schema")]
pub(super) use described::described;
#[cfg(feature = "text")]
use explained::ExplainedParts;
use message::{HeaderObject, MessageObject, SendObject};
pub(super) use place::PlaceObject;
#[cfg(feature = "schema")]
pub(super) use record::RecordObject;
pub(super) use record::{Record, SCHEMA, write_record};
use recovered::RecoveredObject;
use salvaged::Salvaged;
pub use summary::{
    CaptureSummary, CapturesSummary, CommandSummary, Damage, Ignored, LeftOut, Missing, MissingDirectionObject,
    PlaceCount, UnreadFile,
};
use terminate::TerminateObject;
use transaction::TransactionObject;
pub(super) use values::{EndObject, Hex32};

/// The types of records, for their schemas.
#[cfg(feature = "schema")]
pub(super) mod records {
    pub(in crate::output) use super::explained::ExplainedObject;
    pub(in crate::output) use super::message::{HeaderObject, MessageObject};
    pub(in crate::output) use super::pending::PendingObject;
    pub(in crate::output) use super::recovered::RecoveredObject;
    pub(in crate::output) use super::terminate::TerminateObject;
    pub(in crate::output) use super::top::TopObject;
    pub(in crate::output) use super::transaction::TransactionObject;
}

/// Writes a message and a line feed.
///
/// # Errors
/// Those of `out`.
pub fn message(out: &mut impl io::Write, message: &Message, files: &Files) -> io::Result<()> {
    with_message(message, files, |record| write_record(out, record))
}

/// Calls `act` with the record of a message.
pub(super) fn with_message<T>(message: &Message, files: &Files, act: impl FnOnce(&MessageObject<'_>) -> T) -> T {
    with_send(message, |send| act(&MessageObject::new(message, files, send)))
}

/// Writes a message that is not from a capture, such as one typed in by hand: without frame, time, connection and
/// addresses.
///
/// # Errors
/// Those of `out`.
pub fn lone_message(out: &mut impl io::Write, message: &Message) -> io::Result<()> {
    with_send(message, |send| write_record(out, &HeaderObject::new(message, send)))
}

/// Writes a transaction and a line feed. `names` learns the names of files from it, and has those of earlier ones.
///
/// # Errors
/// Those of `out`.
pub fn transaction(
    out: &mut impl io::Write,
    transaction: &Transaction,
    files: &Files,
    names: &mut FileNames,
) -> io::Result<()> {
    with_transaction(transaction, files, names, |record| write_record(out, record))
}

/// Calls `act` with the record of a transaction, once `names` has learnt from it.
pub(super) fn with_transaction<T>(
    transaction: &Transaction,
    files: &Files,
    names: &mut FileNames,
    act: impl FnOnce(&TransactionObject<'_>) -> T,
) -> T {
    let arguments = transaction.arguments();
    names.learn(transaction, &arguments);
    let arguments = ArgumentsObject::all(&arguments, server(transaction), names);
    act(&TransactionObject::new(transaction, arguments, files))
}

/// Writes a call without a reply and a line feed; `last` is the time of the last frame.
///
/// # Errors
/// Those of `out`.
#[cfg(feature = "text")]
pub fn pending(out: &mut impl io::Write, call: &PendingCall, last: Time, files: &Files) -> io::Result<()> {
    write_record(out, &pending::PendingObject::new(call, last, files))
}

/// Writes RPCs that are counted together, a line for each key.
///
/// # Errors
/// Those of `out`.
#[cfg(feature = "text")]
pub fn top(out: &mut impl io::Write, report: &TopReport) -> io::Result<()> {
    top::TopObject::all(report).try_for_each(|object| write_record(out, &object))
}

/// Writes a sign that something was lost, and a line feed.
///
/// # Errors
/// Those of `out`.
pub fn recovered(out: &mut impl io::Write, recovered: &Recovered, files: &Files) -> io::Result<()> {
    write_record(out, &RecoveredObject::new(recovered, files))
}

/// Writes an RPC with all that is known of it, and a line feed. `names` are those of files.
///
/// # Errors
/// Those of `out`.
#[cfg(feature = "text")]
pub fn explained(out: &mut impl io::Write, rpc: &ExplainedRpc, files: &Files, names: &mut FileNames) -> io::Result<()> {
    let mut findings = Findings::json();
    let parts = ExplainedParts {
        transaction: raw(|out| transaction(out, &rpc.transaction, files, names))?,
        messages: rpc.messages.iter().map(|one| raw(|out| message(out, one, files))).collect::<io::Result<_>>()?,
        findings: rpc
            .findings
            .iter()
            .map(|found| raw(|out| findings.finding(out, found, files)))
            .collect::<io::Result<_>>()?,
        events_after: rpc.after.iter().map(|one| raw(|out| recovered(out, one, files))).collect::<io::Result<_>>()?,
    };
    write_record(out, &explained::ExplainedObject::new(rpc, parts))
}

/// An object as it is written on a line of its own.
#[cfg(feature = "text")]
fn raw(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<Box<RawValue>> {
    let mut line = Vec::new();
    write(&mut line)?;
    Ok(serde_json::from_slice(&line)?)
}

/// Writes a Terminate and a line feed.
///
/// # Errors
/// Those of `out`.
pub fn terminated(out: &mut impl io::Write, terminated: &Terminated, files: &Files) -> io::Result<()> {
    write_record(out, &TerminateObject::new(terminated, files))
}

/// Calls `act` with what is in a Send.
fn with_send<T>(message: &Message, act: impl FnOnce(SendObject<'_>) -> T) -> T {
    if let Ok(decoded) = message.decode() {
        return act(SendObject::new(message, &decoded));
    }
    let octets = readable(message);
    Salvaged::from_octets(message.dialect, octets).with(|chunks| act(SendObject::unreadable(message, octets, *chunks)))
}
