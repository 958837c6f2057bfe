//! Prints each RPC as soon as the reply has come, from a capture or from `tcpdump -i eth0 -w - udp port 4791`:
//!
//! ```sh
//! cat capture/dissector/examples/nfs.pcap | cargo run -p rpcrdma-dissector --example watch_pipe
//! ```

use std::error::Error;
use std::io::{self, Read, Write};

use rpcrdma_dissector::{Config, Dissector, Event, Reader, Transaction};

fn main() -> Result<(), Box<dyn Error>> {
    watch(io::stdin(), &mut io::stdout().lock())
}

/// Reads a capture to its end, however long it takes to come.
///
/// # Errors
/// The errors of `input` and `out`, and the first damage of the capture.
pub fn watch(input: impl Read + Send, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut reader = Reader::new(input)?;
    let mut dissector = Dissector::new(Config::default());
    while let Some(frame) = reader.next() {
        dissector.frame(&frame?);
        print(&mut dissector, out)?;
    }
    dissector.finish();
    print(&mut dissector, out)
}

/// Prints the RPCs that have ended.
fn print(dissector: &mut Dissector, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    while let Some(event) = dissector.event() {
        if let Event::Transaction(transaction) = event {
            let Transaction { from, to, xid, ref status, .. } = *transaction;
            let name = transaction.name.unwrap_or("unknown");
            let status = status.map_or("no reply", |status| status.name());
            let milliseconds =
                transaction.latency().map_or_else(String::new, |ns| format!(", {:.1} ms", ns as f64 / 1e6));
            writeln!(out, "{from} to {to}: {name} {xid:#010x} {status}{milliseconds}")?;
        }
    }
    out.flush()?;
    Ok(())
}
