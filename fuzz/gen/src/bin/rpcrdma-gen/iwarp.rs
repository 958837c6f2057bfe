//! An iWARP capture, with a connection around each message: TCP, MPA (RFC 5044), DDP (RFC 5041), RDMAP (RFC 5040).

use std::io::{self, BufWriter, Write};
use std::path::Path;

use crc::{CRC_32_ISCSI, Crc};
use rpcrdma_gen::{Case, Role};

use super::connections::{PORT, REQUESTER, RESPONDER};

const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
/// The first port of the requester; each connection has the next one.
const FIRST_PORT: u16 = 32768;
/// Connections after which the ports begin anew.
const PORTS: usize = 32768;
/// Octets of a message in one FPDU: with all headers, no segment has more than 1460.
const SEGMENT: usize = 1424;
/// Nanoseconds between two frames.
const STEP: u64 = 1000;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// Writes the capture: each message has a connection, on which a Reply may follow a Call.
pub(crate) fn capture(path: &Path, cases: &[Case]) -> io::Result<()> {
    let mut file = Pcap::new(BufWriter::new(std::fs::File::create(path)?))?;
    for (number, case) in cases.iter().enumerate() {
        let port = FIRST_PORT + u16::try_from(number % PORTS).unwrap_or_default();
        let mut connection = Connection::new(port, &mut file)?;
        if let Some(call) = &case.call {
            connection.message(Role::Call, call)?;
        } else if case.role == Role::Reply {
            // The responder has to wait for the first FPDU of the initiator (RFC 5044 section 7.1).
            connection.fpdu(Role::Call, &EMPTY_WRITE)?;
        }
        connection.message(case.role, &case.octets)?;
        connection.finish_file()?;
    }
    file.0.flush()
}

/// A tagged DDP segment, the last of the message: an RDMA Write without octets.
const EMPTY_WRITE: [u8; 14] = [0xc1, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A capture file, and the time of the next frame.
struct Pcap<W>(W, u64);

impl<W: Write> Pcap<W> {
    fn new(mut file: W) -> io::Result<Self> {
        // Nanoseconds, version 2.4, frames of up to 256 KiB, Ethernet.
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 0x4_0000, 1] {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Self(file, 0))
    }

    fn frame(&mut self, octets: &[u8]) -> io::Result<()> {
        self.1 += STEP;
        let length = octets.len() as u64;
        for number in [self.1 / 1_000_000_000, self.1 % 1_000_000_000, length, length] {
            self.0.write_all(&u32::try_from(number).map_err(io::Error::other)?.to_le_bytes())?;
        }
        self.0.write_all(octets)
    }
}

/// A TCP connection that has become an RDMA one.
struct Connection<'a, W> {
    file: &'a mut Pcap<W>,
    port: u16,
    requester: Stream,
    responder: Stream,
}

/// Position of an end in the stream.
struct Stream {
    /// The number of the next octet.
    next: u32,
    /// Number of Sends so far.
    sent: u32,
}

impl<'a, W: Write> Connection<'a, W> {
    fn new(port: u16, file: &'a mut Pcap<W>) -> io::Result<Self> {
        let mut connection =
            Self { file, port, requester: Stream { next: 1000, sent: 0 }, responder: Stream { next: 2000, sent: 0 } };
        connection.tcp(Role::Call, SYN, &[])?;
        connection.tcp(Role::Reply, SYN | ACK, &[])?;
        connection.tcp(Role::Call, ACK, &[])?;
        // Without markers, with CRCs, revision 1, no private data.
        for (from, key) in [(Role::Call, b"MPA ID Req Frame"), (Role::Reply, b"MPA ID Rep Frame")] {
            connection.tcp(from, PSH | ACK, &[&key[..], &[0x40, 1, 0, 0]].concat())?;
        }
        Ok(connection)
    }

    /// An RDMAP Send, in as many DDP segments as needed.
    fn message(&mut self, from: Role, octets: &[u8]) -> io::Result<()> {
        let (own, _) = self.streams(from);
        own.sent += 1;
        let number = own.sent.to_be_bytes();
        let mut parts = octets.chunks(SEGMENT).peekable();
        let mut offset = 0_u32;
        while let Some(part) = parts.next() {
            let control = [if parts.peek().is_none() { 0x41 } else { 0x01 }, 0x43];
            // No handle to invalidate, queue 0.
            let header = [&control[..], &[0; 8], &number, &offset.to_be_bytes()].concat();
            self.fpdu(from, &[&header, part].concat())?;
            offset += u32::try_from(part.len()).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// An FPDU: a length, the DDP segment, padding, and the CRC.
    fn fpdu(&mut self, from: Role, segment: &[u8]) -> io::Result<()> {
        let length = u16::try_from(segment.len()).map_err(io::Error::other)?;
        let mut octets = [&length.to_be_bytes(), segment].concat();
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets.extend(CRC.checksum(&octets).to_le_bytes());
        self.tcp(from, PSH | ACK, &octets)
    }

    fn finish_file(mut self) -> io::Result<()> {
        self.tcp(Role::Call, FIN | ACK, &[])?;
        self.tcp(Role::Reply, FIN | ACK, &[])?;
        self.tcp(Role::Call, ACK, &[])
    }

    /// The stream of an end, and that of the other.
    const fn streams(&mut self, from: Role) -> (&mut Stream, &mut Stream) {
        match from {
            Role::Call => (&mut self.requester, &mut self.responder),
            Role::Reply => (&mut self.responder, &mut self.requester),
        }
    }

    /// A TCP segment, over IPv4 and Ethernet.
    fn tcp(&mut self, from: Role, flags: u8, payload: &[u8]) -> io::Result<()> {
        let requester = (REQUESTER.octets(), self.port.to_be_bytes(), [2, 0, 0, 0, 0, 1]);
        let responder = (RESPONDER.octets(), PORT.to_be_bytes(), [2, 0, 0, 0, 0, 2]);
        let (own, other) = if from == Role::Call { (requester, responder) } else { (responder, requester) };
        let (stream, peer) = self.streams(from);
        let numbers = [stream.next, if flags & ACK == 0 { 0 } else { peer.next }].map(u32::to_be_bytes).concat();
        let taken = u32::try_from(payload.len()).map_err(io::Error::other)? + u32::from(flags & (SYN | FIN) != 0);
        stream.next += taken;
        let length = u16::try_from(20 + payload.len()).map_err(io::Error::other)?;
        let start = [&own.1[..], &other.1, &numbers, &[0x50, flags, 0xff, 0xff]].concat();
        let pseudo = [&own.0[..], &other.0, &[0, 6], &length.to_be_bytes(), &start, payload].concat();
        let tcp = [&start[..], &checksum(&pseudo), &[0, 0], payload].concat();
        let start = [&[0x45, 0][..], &(20 + length).to_be_bytes(), &[0, 0, 0x40, 0, 64, 6]].concat();
        let addresses = [own.0, other.0].concat();
        let sum = checksum(&[&start[..], &addresses].concat());
        let ip = [&start[..], &sum, &addresses].concat();
        self.file.frame(&[&other.2[..], &own.2, &[0x08, 0], &ip, &tcp].concat())
    }
}

/// The Internet checksum (RFC 1071).
fn checksum(octets: &[u8]) -> [u8; 2] {
    // Octets at even places are the high ones.
    let sum: u32 = octets.iter().zip([8, 0].iter().cycle()).map(|(octet, shift)| u32::from(*octet) << shift).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}
