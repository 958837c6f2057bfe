//! Firmware that uses `rpcrdma`, as one function that needs nothing of the machine: decodes and judges Sends in
//! read-only memory, answers Sends, and lets a Requester and a Responder call each other. All results go into a digest,
//! which has to be the same on every machine.
#![no_std]
#![forbid(unsafe_code)]

mod client;
mod connection;
mod decode;
mod digest;
mod judge;
mod output_fields;
mod random;
mod receives;
mod recorded;
mod replies;
mod server;
mod stream;

use core::fmt::{self, Write};

use rpcrdma::endpoint::Version;
use rpcrdma::v2::Family;

use connection::Connection;
use digest::Digest;

/// Number of calls in each version, over as many connections as needed.
const CALLS: u32 = 2000;

/// Does everything, and prints the digests. The text is the same on every machine.
///
/// # Errors
/// [`fmt::Error`] if `output` cannot be written, if a call brought what the other side had not sent, and if few calls
/// were answered.
pub fn run(output: &mut dyn Write) -> fmt::Result {
    decode::run(output)?;
    judge::run(output)?;
    replies::run(output)?;
    for version in [Version::One, Version::Two(Family::A), Version::Two(Family::B)] {
        calls(version, output)?;
    }
    Ok(())
}

/// Makes calls in one version.
fn calls(version: Version, output: &mut dyn Write) -> fmt::Result {
    let mut digest = Digest::new();
    let mut counts = connection::Counts::default();
    let mut connections = 0;
    while counts.calls < CALLS {
        connections += 1;
        let mut connection = Connection::new(version, connections, counts.calls, &mut digest);
        connection.run();
        counts.add_counts(connection.counts());
    }
    writeln!(output, "endpoints of version {version}: {connections} connections, {counts}, {digest}")?;
    if counts.is_right() { Ok(()) } else { Err(fmt::Error) }
}
