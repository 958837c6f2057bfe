//! The headers in captures of Linux 6.1, client and server: counted as another dissector counts them, and the same
//! octets when encoded again.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod support;

use rpcrdma::v1::{Header, Message};

/// The first packet of every Send to or from port 20049 in a classic little-endian pcap file of RoCEv2 over Ethernet.
fn sends(file: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &file[24..];
    let mut sends = Vec::new();
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let frame = &rest[16..16 + length];
        rest = &rest[16 + length..];
        let udp = match frame[12..14] {
            [8, 0] if frame[23] == 17 => &frame[34..],
            [0x86, 0xdd] if frame[20] == 17 => &frame[54..],
            _ => continue,
        };
        let end = usize::from(u16::from_be_bytes(udp[4..6].try_into().unwrap()));
        let transport = &udp[8..end];
        // SEND First, SEND Only, SEND Only with Invalidate (which has a handle before the payload).
        let header = match transport[0] {
            0x00 | 0x04 => 12,
            0x17 => 16,
            _ => continue,
        };
        let padding = usize::from(transport[1] >> 4 & 3);
        sends.push(transport[header..transport.len() - 4 - padding].to_vec());
    }
    sends
}

fn check(name: &str, expected: [usize; 2]) {
    let file = std::fs::read(support::testdata(&format!("captures/{name}.pcap"))).unwrap();
    let mut counts = [0; 2];
    for send in sends(&file) {
        let message = Message::decode(&send).unwrap_or_else(|error| panic!("{name}: {error}"));
        counts[message.header.procedure().0 as usize] += 1;
        let mut buffer = vec![0xa5; message.header_length];
        assert_eq!(message.header.encode(&mut buffer), Ok(message.header_length));
        assert_eq!(Header::decode(&buffer).unwrap().0, message.header);
        assert_eq!([&buffer, message.payload].concat(), send, "{name}");
    }
    assert_eq!(counts, expected, "{name}: RDMA_MSG, RDMA_NOMSG");
}

#[test]
fn headers_of_linux() {
    check("nfs3", [112, 8]);
    check("nfs3_ipv6", [124, 8]);
    check("nfs40", [124, 10]);
    check("nfs41", [123, 15]);
    check("nfs41_callback", [48, 4]);
    check("nfs42_mtu9000", [112, 12]);
    check("nfs41_krb5", [110, 12]);
    check("nfs41_krb5i", [99, 23]);
}
