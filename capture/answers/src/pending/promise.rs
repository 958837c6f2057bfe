//! Promises above RPC that are open at the end of a capture.

use std::io;

use rpcrdma_dissector::{CaptureEnd, Files, Promise, Time};
use serde::Serialize;

use super::{INDENT, WIDTH};
use crate::format::line::{DIM, Line, NAME, PLAIN, WARNING, wrapped};
use crate::format::time::ShownTimes;
use crate::promises::{OpenState, owed, owed_since, owed_step, status_name, subject};
use crate::record::values::EndObject;

/// A promise above RPC that is open at the end of the capture: what one RPC opens, and a later one keeps.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromiseObject<'a> {
    /// Kind: `retry` (the server refused an operation for now), `lock` (a lock that the client waits for), `copy` (COPY whose
    /// results come later), `delegation` or `layout` (the server recalled one), `state` (the server no longer knows the client).
    kind: &'static str,
    /// State: `open`, `given up` (the client has not made the operation again for 30 s) or `unknown`.
    state: &'static str,
    /// Address of the client.
    client: EndObject,
    /// Address of the server.
    server: EndObject,
    /// Name of the operation or procedure that opened the promise.
    operation: &'static str,
    /// Name of the file in the arguments of that operation, escaped.
    file_name: Option<String>,
    /// The number of the frame that completed the call of the first RPC.
    call_frame: u64,
    /// The file that holds that frame.
    call_file: Option<&'a str>,
    /// The number of the frame in that file.
    call_file_frame: Option<u64>,
    /// Time at which that call was complete, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// Nanoseconds from the first frame of that call to the last frame of the capture. Null if the clock was set back meanwhile, if the
    /// client has given up, or if the end may be missing.
    age_ns: Option<u64>,
    /// Number of replies that refused the operation.
    refusals: u64,
    /// Last status that refused the operation.
    status: Option<String>,
    /// The number of the frame of the last refusal, or of the last progress of a COPY.
    latest_frame: u64,
    /// Octets that a COPY has copied, if the capture shows that.
    copied_octets: Option<u64>,
    /// Step that is owed: `retry`, `lock`, `CB_OFFLOAD`, `DELEGRETURN`, `LAYOUTRETURN` or `state`.
    owed: &'static str,
    /// The address of the end that owes the step. Null if the capture does not show which end, or if the end of the promise may be missing.
    owed_by: Option<EndObject>,
    /// The number of the frame since which the step is owed.
    owed_since_frame: u64,
    /// The number of the frame of the last call from the server to the client; null if the capture holds none.
    callback_frame: Option<u64>,
    /// Reason why the end of the promise may be missing from the capture.
    unknown: Option<String>,
}

impl<'a> PromiseObject<'a> {
    /// Returns the record of a promise; `end` is that of the capture.
    #[must_use]
    pub fn new(promise: &Promise, end: CaptureEnd, files: &'a Files) -> Self {
        let (call_file, call_file_frame) = files.locate(promise.call.frame).unzip();
        let state = OpenState::from_promise(promise, end);
        let is_open = state == OpenState::Open;
        Self {
            kind: promise.kind.name(),
            state: match state {
                OpenState::Open => "open",
                OpenState::GivenUp => "given up",
                OpenState::Unknown(_) => "unknown",
            },
            client: EndObject(promise.client),
            server: EndObject(promise.server),
            operation: promise.operation,
            file_name: promise.file_name.as_deref().map(crate::file_names::escaped),
            call_frame: promise.call.frame,
            call_file,
            call_file_frame,
            time_ns: promise.call.time.0,
            age_ns: end.since(promise.began).filter(|_| is_open),
            refusals: promise.refusals,
            status: status_name(promise),
            latest_frame: promise.latest.frame,
            copied_octets: promise.copied,
            owed: owed_step(promise),
            owed_by: promise.debtor().filter(|_| is_open).map(EndObject),
            owed_since_frame: owed_since(promise),
            callback_frame: promise.callback.map(|callback| callback.frame),
            unknown: match state {
                OpenState::Unknown(reason) => Some(reason.to_string()),
                _ => None,
            },
        }
    }
}

/// Seconds, to the microsecond.
fn age_in_seconds(age: u64) -> String {
    let mut seconds = Time(age).to_string();
    seconds.truncate(seconds.len().saturating_sub(3));
    seconds
}

/// Writes a promise in lines of at most 80 columns, below those of calls.
///
/// # Errors
/// Any error from writing to `out`.
pub fn promise_lines(
    out: &mut impl io::Write,
    promise: &Promise,
    end: CaptureEnd,
    files: &Files,
    colour: bool,
    times: ShownTimes,
) -> io::Result<()> {
    let is_open = OpenState::from_promise(promise, end) == OpenState::Open;
    let age = end.since(promise.began).filter(|_| is_open).map(age_in_seconds).unwrap_or_default();
    let place = files.place(promise.call.frame).map(|place| format!(" ({place})")).unwrap_or_default();
    Line::new(colour, WIDTH)
        .with(PLAIN, &format!("{age:>14}"))
        .with(DIM, &format!(" {:>6}", promise.call.frame))
        .with(NAME, &format!("  {}{place}", subject(promise)))
        .write(out)?;
    let called = times.clock_if_shown(promise.call.time).map(|time| (PLAIN, format!("called at {time}")));
    let style = if is_open { PLAIN } else { WARNING };
    for (style, text) in called.into_iter().chain([(style, owed(promise, end))]) {
        for text in wrapped(&text, WIDTH - INDENT) {
            Line::new(colour, usize::MAX).with(PLAIN, &" ".repeat(INDENT)).with(style, &text).write(out)?;
        }
    }
    Ok(())
}
