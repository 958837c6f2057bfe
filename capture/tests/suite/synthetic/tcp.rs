//! A connection of iWARP: TCP segments over IPv4 (RFC 9293), MPA without markers and CRC (RFC 5044), DDP and RDMAP (RFC 5041,
//! RFC 5040). Times are in microseconds.

use super::Packet;
use super::rpc::{Lists, MSG, message, null, reply, words};

const PORTS: [u16; 2] = [40_000, 20049];

/// The sender of a segment.
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const ACK: u8 = 0x10;

/// Opcodes of RDMAP (RFC 5040 section 4.1).
pub const WRITE: u8 = 0;
pub const READ_REQUEST: u8 = 1;
pub const READ_RESPONSE: u8 = 2;
pub const SEND: u8 = 3;

/// Octets that came behind a gap (RFC 2018): the number of the first, and the number after the last.
pub type SelectiveBlock = [u32; 2];

pub struct Iwarp {
    pub packets: Vec<(u64, Packet)>,
    /// The sequence number of the next octet of each end.
    pub next: [u32; 2],
    /// The identification of the next IPv4 packet: packets with the same one are copies that the capture made.
    pub identification: u16,
}

impl Default for Iwarp {
    /// A connection whose setup was captured.
    fn default() -> Self {
        let mut trace = Self { packets: Vec::new(), next: [999, 4999], identification: 1 };
        trace.segment(0, CLIENT, 0, SYN, &[]);
        trace.next[CLIENT] += 1;
        trace.segment(10, SERVER, 0, SYN | ACK, &[]);
        trace.next[SERVER] += 1;
        for (end, key) in [b"MPA ID Req Frame", b"MPA ID Rep Frame"].into_iter().enumerate() {
            trace.send(20 + 10 * end as u64, end, &[&key[..], &[0, 1, 0, 0]].concat());
        }
        trace
    }
}

impl Iwarp {
    /// A segment whose octets begin so many before the next of its end, and which acknowledges all that the other end sent.
    pub fn segment(&mut self, time: u64, from: usize, back: u32, flags: u8, octets: &[u8]) {
        let acknowledges = if flags & ACK == 0 { 0 } else { self.next[1 - from] };
        self.acknowledging(time, from, back, flags, octets, acknowledges);
    }

    fn acknowledging(&mut self, time: u64, from: usize, back: u32, flags: u8, octets: &[u8], acknowledges: u32) {
        let numbers = [self.next[from] - back, acknowledges];
        let packet = packet(from, self.identification, (numbers, flags), &[], octets);
        self.identification += 1;
        self.packets.push((time, packet));
    }

    /// The next octets of an end, in one segment.
    pub fn send(&mut self, time: u64, from: usize, octets: &[u8]) {
        self.segment(time, from, 0, ACK, octets);
        self.next[from] += octets.len() as u32;
    }

    /// The last octets of an end once more.
    pub fn again(&mut self, time: u64, from: usize, octets: &[u8]) {
        self.segment(time, from, octets.len() as u32, ACK, octets);
    }

    /// An end acknowledges all but the last `missing` octets of the other.
    pub fn acknowledge(&mut self, time: u64, from: usize, missing: u32) {
        let acknowledges = self.next[1 - from] - missing;
        self.acknowledging(time, from, 0, ACK, &[], acknowledges);
    }

    /// An end acknowledges all but the last `missing` octets of the other, of which it has these blocks.
    pub fn report(&mut self, time: u64, from: usize, missing: u32, blocks: &[SelectiveBlock]) {
        let numbers = [self.next[from], self.next[1 - from] - missing];
        self.packets.push((time, packet(from, self.identification, (numbers, ACK), blocks, &[])));
        self.identification += 1;
    }

    /// The call at 100 and the reply at 200, whose octets are returned.
    pub fn exchange() -> (Self, Vec<u8>) {
        let mut trace = Self::default();
        let reply = fpdu(1, &message(MSG, 1, &Lists::default(), &reply(1, &[])));
        trace.send(100, CLIENT, &null_call());
        trace.send(200, SERVER, &reply);
        (trace, reply)
    }
}

/// The FPDU of a NULL call.
pub fn null_call() -> Vec<u8> {
    fpdu(1, &message(MSG, 1, &Lists::default(), &null(1)))
}

/// A TCP segment over IPv4 with this sequence number and acknowledgement, these flags, and the blocks of a selective acknowledgement.
pub fn packet(
    from: usize,
    identification: u16,
    (numbers, flags): ([u32; 2], u8),
    blocks: &[SelectiveBlock],
    octets: &[u8],
) -> Packet {
    let to = 1 - from;
    let mut options = Vec::new();
    if !blocks.is_empty() {
        options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        options.extend(blocks.as_flattened().iter().flat_map(|edge| edge.to_be_bytes()));
    }
    let mut packet = vec![0x45, 0];
    packet.extend(((40 + options.len() + octets.len()) as u16).to_be_bytes());
    packet.extend(identification.to_be_bytes());
    packet.extend([0x40, 0, 64, 6, 0, 0, 192, 0, 2, from as u8 + 1, 192, 0, 2, to as u8 + 1]);
    packet.extend([PORTS[from].to_be_bytes(), PORTS[to].to_be_bytes()].concat());
    packet.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    packet.extend([0x50 + 4 * options.len() as u8, flags, 1, 0, 0, 0, 0, 0]);
    packet.extend(options);
    packet.extend(octets);
    packet
}

/// An FPDU with a whole untagged message: the Send of this number.
pub fn fpdu(number: u32, data: &[u8]) -> Vec<u8> {
    untagged((SEND, true), (0, number, 0), data)
}

/// An FPDU with an untagged segment, which may be the last: of a message of a queue, from an offset on.
pub fn untagged((opcode, is_last): (u8, bool), (queue, number, offset): (u32, u32, u32), data: &[u8]) -> Vec<u8> {
    framed(&[&header(opcode, is_last, 0), &words(&[0, queue, number, offset])[..], data].concat())
}

/// An FPDU with a tagged segment, which may be the last.
pub fn tagged((opcode, is_last): (u8, bool), (handle, offset): (u32, u64), data: &[u8]) -> Vec<u8> {
    framed(&[&header(opcode, is_last, 0x80), &words(&[handle])[..], &offset.to_be_bytes(), data].concat())
}

/// The first octets of a DDP segment: its flags and version 1 of DDP, version 1 of RDMAP and the opcode.
fn header(opcode: u8, is_last: bool, tagged: u8) -> [u8; 2] {
    [tagged | if is_last { 0x40 } else { 0 } | 1, 0x40 | opcode]
}

/// An FPDU without a CRC.
fn framed(ulpdu: &[u8]) -> Vec<u8> {
    let mut octets = [&(ulpdu.len() as u16).to_be_bytes()[..], ulpdu].concat();
    octets.resize(octets.len().next_multiple_of(4) + 4, 0);
    octets
}
