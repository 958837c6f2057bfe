//! Messages and transactions as JSON objects, one on a line.
//!
//! Fields have the names from RFC 8166, if it has one. Handles, offsets and XIDs are hexadecimal strings; other numbers
//! are numbers. A key that has a meaning for only a few messages is left out of the others. If a capture consists of
//! several files, the file of a frame is named, with the frame's number in it.

mod arguments;
mod chunks;
#[cfg(feature = "text")]
mod explained;
mod faults;
mod message;
#[cfg(feature = "text")]
mod pending;
mod place;
mod recovered;
mod rpc;
mod salvaged;
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
#[cfg(feature = "text")]
use explained::ExplainedParts;
use message::MessageObject;
pub(super) use place::PlaceObject;
use recovered::RecoveredObject;
use salvaged::Salvaged;
use terminate::TerminateObject;
use transaction::TransactionObject;
pub(crate) use values::write_line;
pub(super) use values::{Hex32, is_false};

/// Writes a message and a line feed.
///
/// # Errors
/// Those of `out`.
pub fn message(out: &mut impl io::Write, message: &Message, files: &Files) -> io::Result<()> {
    line(out, message, Some(PlaceObject::new(message.stamp, message.connection, (message.from, message.to), files)))
}

/// Writes a message that is not from a capture, such as one typed in by hand: without frame, time, connection and
/// addresses.
///
/// # Errors
/// Those of `out`.
pub fn lone_message(out: &mut impl io::Write, message: &Message) -> io::Result<()> {
    line(out, message, None)
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
    let arguments = transaction.arguments();
    names.learn(transaction, &arguments);
    let arguments = ArgumentsObject::all(&arguments, server(transaction), names);
    write_line(out, &TransactionObject::new(transaction, arguments, files))
}

/// Writes a call without a reply and a line feed; `last` is the time of the last frame.
///
/// # Errors
/// Those of `out`.
#[cfg(feature = "text")]
pub fn pending(out: &mut impl io::Write, call: &PendingCall, last: Time, files: &Files) -> io::Result<()> {
    write_line(out, &pending::PendingObject::new(call, last, files))
}

/// Writes RPCs that are counted together, a line for each key.
///
/// # Errors
/// Those of `out`.
#[cfg(feature = "text")]
pub fn top(out: &mut impl io::Write, report: &TopReport) -> io::Result<()> {
    top::TopObject::all(report).try_for_each(|object| write_line(out, &object))
}

/// Writes a sign that something was lost, and a line feed.
///
/// # Errors
/// Those of `out`.
pub fn recovered(out: &mut impl io::Write, recovered: &Recovered, files: &Files) -> io::Result<()> {
    write_line(out, &RecoveredObject::new(recovered, files))
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
    write_line(out, &explained::ExplainedObject::new(rpc, parts))
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
    write_line(out, &TerminateObject::new(terminated, files))
}

fn line(out: &mut impl io::Write, message: &Message, place: Option<PlaceObject<'_>>) -> io::Result<()> {
    if let Ok(decoded) = message.decode() {
        return write_line(out, &MessageObject::new(message, place, &decoded));
    }
    let octets = readable(message);
    Salvaged::from_octets(message.dialect, octets)
        .with(|chunks| write_line(out, &MessageObject::unreadable(message, place, octets, *chunks)))
}
