//! What the tests of captures share.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use rpcrdma_capture::dissector::{Config, Dissector};
use rpcrdma_capture::event::{Event, Report};
use rpcrdma_capture::file::Reader;
use rpcrdma_capture::message::Message;
use rpcrdma_capture::transaction::Transaction;

/// The captures over InfiniBand transport that carry RPC-over-RDMA.
pub fn captures() -> [&'static str; 10] {
    [
        "nfs3", "nfs3_ipv6", "nfs40", "nfs41", "nfs41_callback", "nfs42_mtu9000", "nfs41_lossy", "nfs41_krb5",
        "nfs41_krb5i", "errors",
    ]
}

/// Path of a shipped capture.
pub fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "testdata", "captures", &format!("{name}.pcap")].iter().collect()
}

/// The octets of a shipped capture.
pub fn read(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// What was found in a capture.
#[derive(Default)]
pub struct Found {
    pub messages: Vec<Message>,
    pub transactions: Vec<Transaction>,
    pub reports: Vec<Report>,
}

impl Found {
    /// Messages by the name of their procedure.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for message in &self.messages {
            let name = match message.prefix() {
                Some(prefix) => prefix.procedure.to_string(),
                None => "unreadable".to_owned(),
            };
            *counts.entry(name).or_default() += 1;
        }
        counts
    }
}

/// Dissects a capture file.
pub fn dissect(file: &[u8], config: Config) -> Found {
    let mut dissector = Dissector::new(config);
    let mut found = Found::default();
    let mut reader = Reader::new(file).unwrap();
    while let Some(frame) = reader.next() {
        dissector.frame(&frame.unwrap());
        take(&mut dissector, &mut found);
    }
    dissector.finish();
    take(&mut dissector, &mut found);
    found
}

fn take(dissector: &mut Dissector, found: &mut Found) {
    while let Some(event) = dissector.event() {
        match event {
            Event::Message(message) => found.messages.push(message),
            Event::Transaction(transaction) => found.transactions.push(*transaction),
            Event::Connection(report) => found.reports.push(*report),
            Event::Rejected(_) => {}
        }
    }
}
