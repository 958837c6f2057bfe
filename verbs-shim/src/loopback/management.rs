//! Connection management: the datagrams that set up and end a connection (InfiniBand Architecture, volume 1, chapter
//! 12; annex A11 for what the RDMA IP CM service adds).
//!
//! A management datagram is 256 octets, from queue pair 1 to queue pair 1. The offsets below count from the first
//! octet.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::packet::hardware;

/// Octets of a management datagram.
const LEN: usize = 256;
const REQUEST: u8 = 0x10;
const REJECT: u8 = 0x12;
const REPLY: u8 = 0x13;
const READY_TO_USE: u8 = 0x14;
const DISCONNECT_REQUEST: u8 = 0x15;
const DISCONNECT_REPLY: u8 = 0x16;
/// Opcode of a datagram that is one packet.
pub(super) const DATAGRAM: u8 = 0x64;
/// The queue pair of the general services.
pub(super) const QUEUE_PAIR: u32 = 1;
/// Q_Key, and the sender's queue pair (DETH).
pub(super) const EXTENSION: [u8; 8] = [0x80, 0x01, 0, 0, 0, 0, 0, QUEUE_PAIR as u8];
/// Rejection: no listener at that address.
pub(super) const INVALID_SERVICE: u16 = 8;
/// Rejection by the listener.
pub(super) const CONSUMER: u16 = 28;
/// 4.096 µs times 2^20: about four seconds.
const TIMEOUT: u8 = 20;
const RETRIES: u8 = 7;

/// Properties of one side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Station {
    pub(super) address: Ipv4Addr,
    pub(super) queue_pair: u32,
    /// Name of this end for the connection.
    pub(super) name: u32,
    /// Maximum number of RDMA Reads in flight.
    pub(super) reads: u8,
    pub(super) receiver_not_ready: u8,
    /// Number of the first packet that this end receives.
    pub(super) sequence: u32,
}

/// REQ: asks the host at an address for a connection to a port.
pub(super) fn request(by: Station, to: SocketAddrV4, from_port: u16, mtu_code: u8, private_data: &[u8]) -> [u8; LEN] {
    let mut mad = start_datagram(REQUEST, by.name, by.name);
    write_octets(&mut mad, 32, &[0, 0, 0, 0, 1, 6]);
    write_octets(&mut mad, 38, &to.port().to_be_bytes());
    write_octets(&mut mad, 40, &identifier(by.address));
    write_octets(&mut mad, 56, &(by.queue_pair << 8 | u32::from(by.reads)).to_be_bytes());
    // Initiator depth; then timeout and end-to-end flow control, over a reliable connection.
    write_octets(&mut mad, 63, &[by.reads, 0, 0, 0, TIMEOUT << 3 | 1]);
    write_octets(&mut mad, 68, &(by.sequence << 8 | u32::from(TIMEOUT << 3 | RETRIES)).to_be_bytes());
    write_octets(&mut mad, 72, &[0xff, 0xff, mtu_code << 4 | by.receiver_not_ready, 15 << 4]);
    // The primary path: no local identifiers, IPv4 addresses mapped to IPv6, hop limit.
    write_octets(&mut mad, 76, &[0xff; 4]);
    write_octets(&mut mad, 80, &by.address.to_ipv6_mapped().octets());
    write_octets(&mut mad, 96, &to.ip().to_ipv6_mapped().octets());
    write_octets(&mut mad, 117, &[64]);
    // The part that the RDMA IP CM service puts before the private data: version, ports, addresses.
    write_octets(&mut mad, 165, &[0x40]);
    write_octets(&mut mad, 166, &from_port.to_be_bytes());
    write_octets(&mut mad, 180, &by.address.octets());
    write_octets(&mut mad, 196, &to.ip().octets());
    write_octets(&mut mad, 200, private_data);
    mad
}

/// REP: accepts.
pub(super) fn reply(by: Station, remote: u32, private_data: &[u8]) -> [u8; LEN] {
    let mut mad = start_datagram(REPLY, remote, by.name);
    write_octets(&mut mad, 28, &remote.to_be_bytes());
    write_octets(&mut mad, 36, &(by.queue_pair << 8).to_be_bytes());
    write_octets(&mut mad, 44, &(by.sequence << 8).to_be_bytes());
    write_octets(&mut mad, 48, &[by.reads, by.reads, 1, by.receiver_not_ready << 5]);
    write_octets(&mut mad, 52, &identifier(by.address));
    write_octets(&mut mad, 60, private_data);
    mad
}

/// REJ: refuses a REQ.
pub(super) fn reject(remote: u32, reason: u16, private_data: &[u8]) -> [u8; LEN] {
    let mut mad = start_datagram(REJECT, remote, 0);
    write_octets(&mut mad, 28, &remote.to_be_bytes());
    write_octets(&mut mad, 34, &reason.to_be_bytes());
    write_octets(&mut mad, 108, private_data);
    mad
}

/// RTU: the REP has arrived.
pub(super) fn ready_to_use(by: Station, remote: u32) -> [u8; LEN] {
    names(READY_TO_USE, by.name, by.name, remote)
}

/// DREQ: ends the connection.
pub(super) fn disconnect_request(by: Station, remote: Station) -> [u8; LEN] {
    let mut mad = names(DISCONNECT_REQUEST, by.name, by.name, remote.name);
    write_octets(&mut mad, 32, &(remote.queue_pair << 8).to_be_bytes());
    mad
}

/// DREP: answers a DREQ.
pub(super) fn disconnect_reply(by: Station, remote: u32) -> [u8; LEN] {
    names(DISCONNECT_REPLY, remote, by.name, remote)
}

/// Writes the header of a management datagram, and the sender's name for the connection. All datagrams of one exchange
/// have the number of the first; here that is the sender's name for the connection.
fn start_datagram(attribute: u8, exchange: u32, name: u32) -> [u8; LEN] {
    let mut mad = [0; LEN];
    // Base version, class (communication management), its version, method (Send).
    write_octets(&mut mad, 0, &[1, 7, 2, 3]);
    write_octets(&mut mad, 12, &exchange.to_be_bytes());
    write_octets(&mut mad, 16, &[0, attribute]);
    write_octets(&mut mad, 24, &name.to_be_bytes());
    mad
}

/// A datagram with both sides' names only.
fn names(attribute: u8, exchange: u32, local: u32, remote: u32) -> [u8; LEN] {
    let mut mad = start_datagram(attribute, exchange, local);
    write_octets(&mut mad, 28, &remote.to_be_bytes());
    mad
}

/// The adapter's EUI-64, made from the Ethernet address.
fn identifier(address: Ipv4Addr) -> [u8; 8] {
    let [a, b, c, d, e, f] = hardware(address);
    [a, b, c, 0xff, 0xfe, d, e, f]
}

fn write_octets(mad: &mut [u8; LEN], at: usize, what: &[u8]) {
    for (octet, new) in mad.iter_mut().skip(at).zip(what) {
        *octet = *new;
    }
}
