//! Shared by the tests of captures: dissecting, and the truth about the shipped captures.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rpcrdma_dissector::{Captured, Config, Dissector, Reader, Rebuilt};
use sha2::{Digest, Sha256};

pub use crate::found::Found;

impl Found {
    /// Messages that can be read, by the name of their procedure.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for message in &self.messages {
            if message.decode().is_ok() {
                *counts.entry(message.type_name().unwrap()).or_default() += 1;
            }
        }
        counts
    }

    /// The data of all READ (`read`) or WRITE operations of the file, by their place in it, found by their content.
    pub fn file_data(&self, read: bool) -> Vec<u8> {
        let (whole, name) = if read { (big(), "READ") } else { (up(), "WRITE") };
        let mut parts = BTreeMap::new();
        for transaction in &self.transactions {
            let half = if read { &transaction.reply } else { &transaction.call };
            let Some(Ok(rebuilt)) = half.as_ref().map(|half| &half.message) else { continue };
            for item in &rebuilt.items {
                let operation = transaction.operations.get(item.operation).map(|operation| operation.name);
                let operation = operation.or(transaction.name.and_then(|name| name.split(' ').nth(1)));
                let data = rebuilt.data(item);
                // Files of some words, and that what was written is read back, are not counted.
                if operation != Some(name) || data.len() < 100 || read && place_in(up(), data).is_some() {
                    continue;
                }
                let place = place_in(whole, data).expect("every block is one of the file");
                let part: &mut Vec<u8> = parts.entry(place).or_default();
                if part.len() < data.len() {
                    *part = data.to_vec(); // the beginning alone was read before
                }
            }
        }
        let mut out = Vec::new();
        for (place, data) in parts {
            assert_eq!(place, out.len(), "a block is missing, or there twice");
            out.extend(data);
        }
        out
    }
}

fn place_in(whole: &[u8], data: &[u8]) -> Option<usize> {
    (0..whole.len()).step_by(512).find(|place| whole[*place..].starts_with(data))
}

/// The octets that were read in the captures: SHA-256 digests of "rpcrdma-big:0", "rpcrdma-big:1" and so on.
pub fn big() -> &'static [u8] {
    static BIG: OnceLock<Vec<u8>> = OnceLock::new();
    BIG.get_or_init(|| digests("rpcrdma-big", 3_000_000))
}

/// The octets that were written.
pub fn up() -> &'static [u8] {
    static UP: OnceLock<Vec<u8>> = OnceLock::new();
    UP.get_or_init(|| digests("rpcrdma-up", 197_001))
}

fn digests(name: &str, length: usize) -> Vec<u8> {
    let mut octets: Vec<u8> = (0..length.div_ceil(32)).flat_map(|i| Sha256::digest(format!("{name}:{i}"))).collect();
    octets.truncate(length);
    octets
}

/// SHA-256 in hexadecimal.
pub fn sha256(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Dissects a capture file.
pub fn dissect(file: &[u8], config: Config) -> Found {
    let mut dissector = Dissector::new(config);
    let mut found = Found::default();
    let mut reader = Reader::new(file).unwrap();
    while let Some(frame) = reader.next() {
        dissector.frame(&frame.unwrap());
        found.take_events(&mut dissector);
    }
    found.finish(dissector)
}

/// Name of an RPC message in a capture: connection, XID, and true for a reply.
type Name = (u32, u32, bool);

/// The RPC messages that were rebuilt, by name.
pub fn rebuilt(found: &Found) -> BTreeMap<Name, Rebuilt> {
    let mut all = BTreeMap::new();
    for transaction in &found.transactions {
        for (is_reply, half) in [(false, &transaction.call), (true, &transaction.reply)] {
            if let Some(Ok(message)) = half.as_ref().map(|half| &half.message) {
                let name = (0, transaction.xid, is_reply);
                let other = all.insert(name, message.clone());
                assert!(other.is_none(), "{name:?} is there twice");
            }
        }
    }
    all
}

/// The Sends that are whole, by XID and sender's first octets: what a disturbed capture may show.
pub fn sends(found: &Found) -> Vec<&[u8]> {
    let mut sends: Vec<&[u8]> =
        found.messages.iter().filter(|m| m.captured == Captured::Whole).map(|m| m.octets.as_slice()).collect();
    sends.sort_unstable();
    sends
}
