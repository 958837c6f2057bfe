//! The examples, run on shipped captures.

#[path = "../../dissector/examples/read_octets_by_client.rs"]
#[allow(dead_code, unreachable_pub, reason = "its `main` is not called")]
mod read_octets_by_client;
#[path = "../../dissector/examples/watch_pipe.rs"]
#[allow(dead_code, unreachable_pub, reason = "its `main` is not called")]
mod watch_pipe;

use std::fs::{self, File};

use rpcrdma_dissector::{Address, Capture};

fn path(name: &str) -> String {
    [env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/", name, ".pcap"].concat()
}

/// READs of 64 KiB from one file; all of another, which was written before; and files of 6 octets.
#[test]
fn octets_that_were_read_are_counted_by_client() {
    for (name, whole_reads, small_files) in [("nfs3", 8, 1), ("nfs41", 6, 3)] {
        let clients = read_octets_by_client::octets_by_client(Capture::from_paths([path(name)])).unwrap();
        let octets = whole_reads * 65_536 + 197_001 + small_files * 6;
        assert_eq!(clients.into_iter().collect::<Vec<_>>(), [(Address::V4([192, 0, 2, 2]), octets)], "{name}");
    }
}

#[test]
fn rpcs_are_printed_as_they_end() {
    let mut out = Vec::new();
    watch_pipe::watch(File::open(path("withdrawn")).unwrap(), &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(),
        [
            "192.0.2.2 to 192.0.2.1: NFSv4 NULL 0x00000003 SUCCESS, 1.7 ms",
            "192.0.2.2 to 192.0.2.1: NFSv4 COMPOUND 0x00000001 no reply",
            "192.0.2.2 to 192.0.2.1: NFSv4 COMPOUND 0x00000002 no reply",
        ]
    );
}

/// The documentation of the library uses it, as only what is in its package is there for whoever reads that.
#[test]
fn the_capture_among_the_examples_is_a_shipped_one() {
    let copy = concat!(env!("CARGO_MANIFEST_DIR"), "/dissector/examples/nfs.pcap");
    assert_eq!(fs::read(copy).unwrap(), fs::read(path("reduced_reply")).unwrap());
}
