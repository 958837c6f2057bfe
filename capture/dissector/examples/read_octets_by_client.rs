//! Counts the octets that each client has read by READ of NFS, in chunks or inline:
//!
//! ```sh
//! cargo run -p rpcrdma-dissector --example read_octets_by_client -- capture/dissector/examples/nfs.pcap
//! ```

use std::collections::BTreeMap;
use std::env;

use rpcrdma_dissector::nfs::{self, OperationCode};
use rpcrdma_dissector::{Address, Capture, Config, Events, FileError, Transaction};

fn main() -> Result<(), FileError> {
    for (client, octets) in octets_by_client(Capture::from_paths(env::args_os().skip(1)))? {
        println!("{client}: {octets} octets");
    }
    Ok(())
}

/// Returns the number of octets that each requester has read.
///
/// # Errors
/// The first damage of the capture.
pub fn octets_by_client(capture: Capture) -> Result<BTreeMap<Address, u64>, FileError> {
    let mut clients = BTreeMap::new();
    for transaction in Events::new(capture, Config::default()).transactions() {
        let transaction = transaction?;
        *clients.entry(transaction.from).or_default() += octets_read(&transaction);
    }
    Ok(clients)
}

/// The data of a READ, or of each READ of an NFSv4 COMPOUND. A reply that could not be rebuilt counts for nothing.
fn octets_read(transaction: &Transaction) -> u64 {
    let Some(Ok(reply)) = transaction.reply.as_ref().map(|half| &half.message) else { return 0 };
    let is_read = |operation: usize| match transaction.operations.get(operation) {
        Some(operation) => operation.code == OperationCode::READ,
        None => matches!(transaction.procedure, Some(nfs::v2::READ | nfs::v3::READ)),
    };
    reply.items.iter().filter(|item| is_read(item.operation)).map(|item| u64::from(item.length)).sum()
}
