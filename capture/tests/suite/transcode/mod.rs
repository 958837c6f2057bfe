//! Rewrites the captures in `testdata/captures` (RoCEv2 and iWARP over Ethernet, pcap) into every other carrier, link layer
//! and file format, and disturbs them.
//!
//! It stands on the other side of the tests, so it shares no code with the package: it knows just the frames of those
//! captures, and computes CRCs bit by bit.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "each test uses a part of it")]
mod acknowledged;
mod carrier;
mod crc;
mod disturb;
mod encapsulation;
mod format;
mod iwarp;
mod layer;

use std::path::PathBuf;

pub use acknowledged::unacknowledged;
pub use carrier::{icrc, roce_v2_icrc, to_infiniband, to_roce_v1, vcrc};
pub use disturb::{
    Mirror, MirrorKind, Random, cut, doubling, dropping, duplicating, reordering, shuffling, without_first,
    without_identification,
};
pub use encapsulation::{ENCAPSULATIONS, Encapsulation, wrap};
pub use format::{Pcap, Pcapng, gzip, read, write_kuznetzov, write_pcap, write_pcapng, zstandard};
pub use iwarp::{Mpa, over_ipv6, with_mpa};
pub use layer::{Erf, Padding, to_cooked, to_cooked_v2, to_erf, to_raw_ip, with_trailer, with_vlan, with_vlans};

pub const ETHERNET: u32 = 1;
pub const RAW_IP: u32 = 101;
pub const COOKED: u32 = 113;
pub const ERF: u32 = 197;
pub const INFINIBAND: u32 = 247;
pub const COOKED_V2: u32 = 276;

/// The captures whose carrier is RoCE.
pub const ROCE_CAPTURES: [&str; 19] = [
    "errors",
    "nfs3",
    "nfs3_ipv6",
    "nfs40",
    "nfs41",
    "nfs41_callback",
    "nfs41_krb5",
    "nfs41_krb5i",
    "nfs41_lossy",
    "nfs42_mtu9000",
    "perftest",
    "reduced_reply",
    "same_xid",
    "withdrawn",
    "krb5i_reduced",
    "delays",
    "nfsd_deviations",
    "client_deviations",
    "nfsd_reverse",
];

/// A frame of a capture file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub time_ns: u64,
    pub link: u32,
    pub data: Vec<u8>,
    /// Octets on the wire.
    pub length: u32,
}

impl Record {
    /// The same at another link layer, whole.
    fn with(&self, link: u32, data: Vec<u8>) -> Self {
        let length = data.len() as u32;
        Self { time_ns: self.time_ns, link, data, length }
    }
}

/// `records` of Ethernet in an encapsulation. Frames that it cannot carry stay as they are.
pub fn encapsulate(records: &[Record], how: Encapsulation) -> Vec<Record> {
    records.iter().map(|record| wrap(record, how, 5001).unwrap_or_else(|| record.clone())).collect()
}

/// The names of all captures: those of real traffic, and the situations made by hand.
pub fn shipped() -> Vec<String> {
    let mut names = Vec::new();
    for folder in ["", "situations/"] {
        let path = path(&format!("{folder}any"));
        let files = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
        let captures = files.filter(|path| path.extension().is_some_and(|extension| extension == "pcap"));
        names.extend(captures.map(|path| format!("{folder}{}", path.file_stem().unwrap().to_str().unwrap())));
    }
    names.sort();
    assert!(names.len() > 60, "{names:?}");
    names
}

/// Returns the path of the capture of that name.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures").join(name).with_extension("pcap")
}

/// The frames of the capture of that name.
pub fn capture(name: &str) -> Vec<Record> {
    read(&path(name))
}
