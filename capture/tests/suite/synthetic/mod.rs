//! Frames of a connection that never was: what its two ends send, packet by packet, with any queue pair, any packet number
//! and anything lost, repeated or out of order on the way.
//!
//! It stands on the other side of the tests, so it shares no code with the package: every header is written here as the
//! InfiniBand Architecture (volume 1, chapters 5, 9 and 12) and RFC 8166 section 4 have it.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

pub mod nfs4;
pub mod rpc;
pub mod tcp;
pub mod trace;
pub mod v2;

use rpcrdma_dissector::Config;

pub use crate::found::Found;

/// One frame: an IPv4 packet, as a capture of raw IP has it.
pub type Packet = Vec<u8>;

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// The last octet of its address, 192.0.2.x.
    pub host: u8,
    /// Its queue pair.
    pub queue_pair: u32,
    /// The number of the next request it sends.
    pub next: u32,
}

/// A connection, as its two ends see it.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    pub client: End,
    pub server: End,
    /// Octets of data in a packet.
    pub mtu: usize,
    /// The port that is asked for.
    pub port: u16,
    /// The name the client gives the connection.
    pub name: u32,
    /// Opcodes are those of XRC.
    pub extended: bool,
    /// The local ACK timeout that the client announces: 4.096 microseconds, doubled so many times.
    pub ack_timeout: u8,
}

/// The sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    Client,
    Server,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            client: End { host: 1, queue_pair: 0x11, next: 100 },
            server: End { host: 2, queue_pair: 0x22, next: 7000 },
            mtu: 1024,
            port: 20049,
            name: 0x1234,
            extended: false,
            ack_timeout: 0,
        }
    }
}

// Opcodes of the reliable connection (table 38).
const SEND: [u8; 4] = [0x00, 0x01, 0x02, 0x04];
const SEND_WITH_INVALIDATE: [u8; 4] = [0x00, 0x01, 0x16, 0x17];
const WRITE: [u8; 4] = [0x06, 0x07, 0x08, 0x0a];
const READ_REQUEST: u8 = 0x0c;
const READ_RESPONSE: [u8; 4] = [0x0d, 0x0e, 0x0f, 0x10];
const ACKNOWLEDGE: u8 = 0x11;
const XRC: u8 = 0xa0;

impl Wire {
    fn ends(&mut self, by: By) -> (&mut End, End) {
        match by {
            By::Client => (&mut self.client, self.server),
            By::Server => (&mut self.server, self.client),
        }
    }

    /// A packet of `opcode` by an end.
    pub fn packet(&mut self, by: By, opcode: u8, number: u32, extension: &[u8], data: &[u8]) -> Packet {
        let extended = self.extended;
        let (from, to) = self.ends(by);
        let pad = data.len().wrapping_neg() & 3;
        let opcode = opcode | if extended { XRC } else { 0 };
        let mut octets = vec![opcode, (pad as u8) << 4, 0xff, 0xff, 0];
        octets.extend(&to.queue_pair.to_be_bytes()[1..]);
        octets.push(0);
        octets.extend(&number.to_be_bytes()[1..]);
        // An XRC request names the receiver's shared receive queue.
        if extended && !matches!(opcode & 0x1f, 0x0d..=0x12) {
            octets.extend(7u32.to_be_bytes());
        }
        octets.extend(extension);
        octets.extend(data);
        octets.resize(octets.len() + pad, 0);
        frame(from.host, to.host, &octets)
    }

    /// The packets of a message: the opcode and the extension header of each are said by its place.
    fn message(
        &mut self,
        by: By,
        opcodes: [u8; 4],
        data: &[u8],
        extension: impl Fn(bool, bool) -> Vec<u8>,
    ) -> Vec<Packet> {
        let mtu = self.mtu;
        let parts: Vec<&[u8]> = if data.is_empty() { vec![data] } else { data.chunks(mtu).collect() };
        let mut packets = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let (first, last) = (index == 0, index + 1 == parts.len());
            let opcode = opcodes[if first && last {
                3
            } else if last {
                2
            } else {
                usize::from(!first)
            }];
            let number = self.number(by);
            packets.push(self.packet(by, opcode, number, &extension(first, last), part));
        }
        packets
    }

    fn number(&mut self, by: By) -> u32 {
        let end = self.ends(by).0;
        let number = end.next;
        end.next = (number + 1) & 0xff_ffff;
        number
    }

    /// A Send.
    pub fn send(&mut self, by: By, data: &[u8]) -> Vec<Packet> {
        self.message(by, SEND, data, |_, _| Vec::new())
    }

    /// A Send With Invalidate.
    pub fn send_with_invalidate(&mut self, by: By, handle: u32, data: &[u8]) -> Vec<Packet> {
        let extension = |_, last| if last { handle.to_be_bytes().to_vec() } else { Vec::new() };
        self.message(by, SEND_WITH_INVALIDATE, data, extension)
    }

    /// An RDMA Write.
    pub fn write(&mut self, by: By, (handle, offset): (u32, u64), data: &[u8]) -> Vec<Packet> {
        let target = target(handle, offset, data.len());
        self.message(by, WRITE, data, |first, _| if first { target.clone() } else { Vec::new() })
    }

    /// An RDMA Read request.
    pub fn read_request(&mut self, by: By, (handle, offset): (u32, u64), length: usize) -> Packet {
        let number = self.number(by);
        let end = self.ends(by).0;
        end.next = number; // it takes as many numbers as it has responses
        let span = length.div_ceil(self.mtu).max(1) as u32;
        self.ends(by).0.next = (number + span) & 0xff_ffff;
        self.read_request_again(by, number, (handle, offset), length)
    }

    /// An RDMA Read request of a number it had, or of any other.
    pub fn read_request_again(&mut self, by: By, number: u32, (handle, offset): (u32, u64), length: usize) -> Packet {
        self.packet(by, READ_REQUEST, number, &target(handle, offset, length), &[])
    }

    /// The responses to an RDMA Read request whose number is `number`.
    pub fn read_responses(&mut self, by: By, number: u32, data: &[u8]) -> Vec<Packet> {
        let (mtu, count) = (self.mtu, data.len().div_ceil(self.mtu).max(1));
        let acknowledgement = |index| if index == 0 || index + 1 == count { vec![0x1f, 0, 0, 1] } else { Vec::new() };
        (0..count)
            .map(|index| {
                let (first, last) = (index == 0, index + 1 == count);
                let opcode = READ_RESPONSE[if first && last {
                    3
                } else if last {
                    2
                } else {
                    usize::from(!first)
                }];
                let part = &data[index * mtu..data.len().min((index + 1) * mtu)];
                let number = (number + index as u32) & 0xff_ffff;
                self.packet(by, opcode, number, &acknowledgement(index), part)
            })
            .collect()
    }

    /// An RDMA Read, whole: the request of one end, the responses of the other.
    pub fn read(&mut self, by: By, memory: (u32, u64), data: &[u8]) -> Vec<Packet> {
        let number = self.ends(by).0.next;
        let mut packets = vec![self.read_request(by, memory, data.len())];
        packets.extend(self.read_responses(if by == By::Client { By::Server } else { By::Client }, number, data));
        packets
    }

    /// An acknowledgement by an end of all that the other sent up to `number`.
    pub fn ack(&mut self, by: By, number: u32) -> Packet {
        self.packet(by, ACKNOWLEDGE, number, &[0x1f, 0, 0, 1], &[])
    }

    /// An acknowledgement of all that the other end sent so far.
    pub fn ack_all(&mut self, by: By) -> Packet {
        let sent = self.ends(by).1.next.wrapping_sub(1) & 0xff_ffff;
        self.ack(by, sent)
    }

    /// So many acknowledgements of the same, each with another message number: none is a copy of another.
    pub fn acks(&mut self, by: By, number: u32, count: u32) -> Vec<Packet> {
        let acknowledgement =
            |message: u32| self.packet(by, ACKNOWLEDGE, number, &(0x1f00_0000 | message).to_be_bytes(), &[]);
        (2..count + 2).map(acknowledgement).collect()
    }

    /// A negative acknowledgement: the packet of this number is missing.
    pub fn nak(&mut self, by: By, number: u32) -> Packet {
        self.packet(by, ACKNOWLEDGE, number, &[0x60, 0, 0, 1], &[])
    }

    /// "Remote access error": the packet of this number asks for memory that it may not have.
    pub fn access_error(&mut self, by: By, number: u32) -> Packet {
        self.packet(by, ACKNOWLEDGE, number, &[0x62, 0, 0, 1], &[])
    }

    /// "Receiver not ready": the packet of this number is to come again.
    pub fn not_ready(&mut self, by: By, number: u32) -> Packet {
        self.packet(by, ACKNOWLEDGE, number, &[0x2c, 0, 0, 1], &[])
    }

    /// REQ (section 12.6.5), with the RDMA IP CM service's 36 octets before the private data.
    pub fn request(&mut self, private_data: &[u8]) -> Packet {
        let mut mad = management(0x10);
        write_octets(&mut mad, 24, &self.name.to_be_bytes());
        write_octets(&mut mad, 32, &[0, 0, 0, 0, 1, 6]);
        write_octets(&mut mad, 38, &self.port.to_be_bytes());
        write_octets(&mut mad, 56, &(self.client.queue_pair << 8).to_be_bytes());
        // The first number of the packets to the sender of this message is the server's.
        write_octets(&mut mad, 68, &(self.server.next << 8).to_be_bytes());
        mad[74] = (self.mtu.trailing_zeros() as u8 - 7) << 4;
        mad[119] = self.ack_timeout << 3;
        write_octets(&mut mad, 164 + 36, private_data);
        datagram(self.client.host, self.server.host, &mad)
    }

    /// REP (section 12.6.8).
    pub fn reply(&mut self, private_data: &[u8]) -> Packet {
        let mut mad = management(0x13);
        write_octets(&mut mad, 24, &0x9999u32.to_be_bytes());
        write_octets(&mut mad, 28, &self.name.to_be_bytes());
        write_octets(&mut mad, 36, &(self.server.queue_pair << 8).to_be_bytes());
        write_octets(&mut mad, 44, &(self.client.next << 8).to_be_bytes());
        write_octets(&mut mad, 60, private_data);
        datagram(self.server.host, self.client.host, &mad)
    }

    /// REJ (section 12.6.7).
    pub fn reject(&mut self, reason: u16) -> Packet {
        let mut mad = management(0x12);
        write_octets(&mut mad, 28, &self.name.to_be_bytes());
        write_octets(&mut mad, 34, &reason.to_be_bytes());
        datagram(self.server.host, self.client.host, &mad)
    }

    /// DREQ (section 12.6.10).
    pub fn disconnect(&mut self, by: By) -> Packet {
        let (from, to) = self.ends(by);
        let mut mad = management(0x15);
        write_octets(&mut mad, 32, &(to.queue_pair << 8).to_be_bytes());
        datagram(from.host, to.host, &mad)
    }

    /// MRA (section 12.6.6): the server needs time for its answer.
    pub fn receipt(&mut self) -> Packet {
        let mut mad = management(0x11);
        write_octets(&mut mad, 28, &self.name.to_be_bytes());
        datagram(self.server.host, self.client.host, &mad)
    }

    /// RTU (section 12.6.9).
    pub fn ready(&mut self) -> Packet {
        let mut mad = management(0x14);
        write_octets(&mut mad, 24, &self.name.to_be_bytes());
        datagram(self.client.host, self.server.host, &mad)
    }

    /// REQ, REP, RTU.
    pub fn connect(&mut self) -> Vec<Packet> {
        let ready = datagram(self.client.host, self.server.host, &management(0x14));
        vec![self.request(&[]), self.reply(&[]), ready]
    }
}

fn target(handle: u32, offset: u64, length: usize) -> Vec<u8> {
    [&offset.to_be_bytes()[..], &handle.to_be_bytes(), &(length as u32).to_be_bytes()].concat()
}

fn write_octets(octets: &mut [u8], at: usize, what: &[u8]) {
    octets[at..at + what.len()].copy_from_slice(what);
}

/// A communication management datagram (section 13.4.3) with this attribute.
fn management(attribute: u8) -> Vec<u8> {
    let mut mad = vec![0; 256];
    write_octets(&mut mad, 0, &[1, 7, 2, 3]);
    mad[17] = attribute;
    mad
}

fn datagram(source: u8, destination: u8, mad: &[u8]) -> Packet {
    let mut octets = vec![0x64, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 1];
    octets.extend([0x80, 1, 0, 0, 0, 0, 0, 1]);
    octets.extend(mad);
    frame(source, destination, &octets)
}

/// IPv4 and UDP around an InfiniBand packet, and room for its ICRC.
fn frame(source: u8, destination: u8, packet: &[u8]) -> Packet {
    let length = packet.len() as u16 + 4;
    let mut octets = vec![0x45, 0];
    octets.extend((length + 28).to_be_bytes());
    octets.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, source, 192, 0, 2, destination]);
    let sum: u32 = octets.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    write_octets(&mut octets, 10, &sum.to_be_bytes());
    octets.extend([0xc0, 0, 0x12, 0xb7]);
    octets.extend((length + 8).to_be_bytes());
    octets.extend([0, 0]);
    octets.extend(packet);
    octets.extend([0; 4]);
    octets
}

/// A connection of which the setup was captured, and its first packets.
pub fn connected() -> (Wire, Vec<Packet>) {
    let mut wire = Wire::default();
    let trace = wire.connect();
    (wire, trace)
}

/// Sends, each acknowledged.
pub fn sends(wire: &mut Wire, trace: &mut Vec<Packet>, messages: &[(By, Vec<u8>)]) {
    for (by, octets) in messages {
        trace.extend(wire.send(*by, octets));
        trace.push(wire.ack_all(if *by == By::Client { By::Server } else { By::Client }));
    }
}

/// An RPC is whole, and its call and its reply are these.
pub fn assert_rpc(found: &Found, xid: u32, call: &[u8], reply: &[u8]) {
    let transaction = found.only_rpc(xid);
    assert!(v2::rebuilt(transaction) == [Some(call), Some(reply)], "{transaction:?}");
}

/// Dissects packets that were captured a microsecond apart.
pub fn dissect(packets: &[Packet]) -> Found {
    dissect_with(packets, Config::default())
}

/// Dissects with another configuration.
pub fn dissect_with(packets: &[Packet], config: Config) -> Found {
    Found::of_packets(packets.iter().map(|packet| (packet.as_slice(), packet.len() as u32)), config)
}

/// Dissects packets of which the capture holds the beginning, with their lengths.
pub fn dissect_cut(packets: &[(Packet, u32)], config: Config) -> Found {
    Found::of_packets(packets.iter().map(|(packet, length)| (packet.as_slice(), *length)), config)
}

/// The packets as a pcap file, for another dissector to look at.
pub fn pcap(packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4u32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0]);
    for (index, packet) in packets.iter().enumerate() {
        for word in [1, index as u32, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}
