//! Packets of a connection: the packets of each operation, numbered as by a queue pair (InfiniBand Architecture, volume
//! 1, chapter 9).
//!
//! Each side numbers the own requests consecutively. An RDMA Read has a number for each packet of the answer; an answer
//! or acknowledgement has the number of the request.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use super::capture::Recorder;
use super::management::{self, Station};
use super::packet::{self, BaseTransportHeader, MASK, Path};
use super::side::Side;
use crate::verbs::Error;
use crate::verbs::{Operation, Remote, Status};

/// Maximum number of octets of data in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PathMtu {
    /// 256 octets.
    Octets256,
    /// 512 octets.
    Octets512,
    /// 1024 octets: the largest that fits the usual Ethernet frame.
    #[default]
    Octets1024,
    /// 2048 octets.
    Octets2048,
    /// 4096 octets.
    Octets4096,
}

impl PathMtu {
    /// The code of this reason in connection management.
    const fn code(self) -> u8 {
        match self {
            Self::Octets256 => 1,
            Self::Octets512 => 2,
            Self::Octets1024 => 3,
            Self::Octets2048 => 4,
            Self::Octets4096 => 5,
        }
    }

    const fn octets(self) -> usize {
        128 << self.code()
    }
}

/// Opcodes by the position of a packet in a message.
#[derive(Clone, Copy, Debug)]
struct Opcodes {
    first: u8,
    middle: u8,
    last: u8,
    only: u8,
}

// The reliable connection's (table 38).
const SEND: Opcodes = Opcodes { first: 0x00, middle: 0x01, last: 0x02, only: 0x04 };
const SEND_WITH_INVALIDATE: Opcodes = Opcodes { last: 0x16, only: 0x17, ..SEND };
const WRITE: Opcodes = Opcodes { first: 0x06, middle: 0x07, last: 0x08, only: 0x0a };
const READ_RESPONSE: Opcodes = Opcodes { first: 0x0d, middle: 0x0e, last: 0x0f, only: 0x10 };
const READ_REQUEST: u8 = 0x0c;
const ACKNOWLEDGE: u8 = 0x11;

// Syndromes (section 9.7.5.2): no end-to-end credits; come again in 0.64 ms; negative acknowledgements.
const ACKNOWLEDGED: u8 = 0x1f;
const NOT_READY: u8 = 0x20 | 12;
const INVALID_REQUEST: u8 = 0x61;
const REMOTE_ACCESS: u8 = 0x62;
const REMOTE_OPERATION: u8 = 0x63;

/// The numbers of a request's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    first: u32,
    last: u32,
}

/// A connection on the wire.
#[derive(Debug)]
pub(super) struct Wire {
    recorder: Arc<Recorder>,
    mtu: PathMtu,
    /// UDP port of both sides.
    port: u16,
    active: End,
    passive: End,
    datagrams: u32,
}

/// State of one side.
#[derive(Debug)]
struct End {
    station: Station,
    /// Number of the next request.
    next: u32,
    /// Number of answered requests of the other side.
    answered: u32,
}

impl Wire {
    /// Begins a connection that `active` requests.
    pub(super) fn new(recorder: Arc<Recorder>, mtu: PathMtu, active: Station, to: Ipv4Addr) -> Self {
        let unknown = Station { address: to, queue_pair: 0, name: 0, sequence: 0, ..active };
        let end = |station, next| End { station, next, answered: 0 };
        let port = 0xc000 | active.name as u16;
        // Each side tells the other one the number to begin with.
        Self { recorder, mtu, port, active: end(active, 0), passive: end(unknown, active.sequence), datagrams: 0 }
    }

    /// Writes a REQ.
    pub(super) fn request(&mut self, port: u16, from_port: u16, private_data: &[u8]) {
        let (by, to) = (self.active.station, self.passive.station.address);
        let mad = management::request(by, SocketAddrV4::new(to, port), from_port, self.mtu.code(), private_data);
        self.datagram(Side::Active, &mad);
    }

    /// Writes REP and RTU.
    pub(super) fn accept(&mut self, passive: Station, private_data: &[u8]) {
        self.passive.station = passive;
        self.active.next = passive.sequence;
        let active = self.active.station;
        self.datagram(Side::Passive, &management::reply(passive, active.name, private_data));
        self.datagram(Side::Active, &management::ready_to_use(active, passive.name));
    }

    /// Writes a REJ, if the other side is to know the reason.
    pub(super) fn refuse(&mut self, error: &Error) {
        let (reason, private_data) = match error {
            Error::Rejected(private_data) => (management::CONSUMER, private_data.as_slice()),
            Error::Refused => (management::INVALID_SERVICE, &[][..]),
            _ => return,
        };
        self.datagram(Side::Passive, &management::reject(self.active.station.name, reason, private_data));
    }

    /// Writes DREQ and DREP.
    pub(super) fn disconnect(&mut self, by: Side) {
        let (mine, theirs) = (self.sender_end(by).station, self.sender_end(by.other()).station);
        self.datagram(by, &management::disconnect_request(mine, theirs));
        self.datagram(by.other(), &management::disconnect_reply(theirs, mine.name));
    }

    /// Writes a complete Send or RDMA Write.
    pub(super) fn message(&mut self, from: Side, operation: Operation, data: &[u8]) -> Numbers {
        let count = self.count(data.len());
        let numbers = self.take_numbers(from, count);
        for index in 0..count {
            self.part(from, operation, data, numbers.first, index);
        }
        numbers
    }

    /// Writes the first packet of a Send, and "receiver not ready". This uses no numbers, because the Send is repeated
    /// as a whole.
    pub(super) fn not_ready(&mut self, from: Side, operation: Operation, data: &[u8]) {
        let number = self.sender_end(from).next;
        self.part(from, operation, data, number, 0);
        self.answer(from, number, NOT_READY);
    }

    fn part(&self, from: Side, operation: Operation, data: &[u8], first: u32, index: usize) {
        let (opcodes, length) = match operation {
            Operation::Send => (SEND, data.len()),
            Operation::SendWithInvalidate(_) => (SEND_WITH_INVALIDATE, data.len()),
            Operation::Write(_) => (WRITE, data.len()),
            Operation::Read(_) => return,
        };
        let part = self.packet_part(index, length);
        let extension = match operation {
            Operation::SendWithInvalidate(handle) if part.is_last => handle.to_be_bytes().to_vec(),
            Operation::Write(remote) if part.is_first => target(remote, length),
            _ => Vec::new(),
        };
        let data = self.piece(data, index);
        self.packet(from, opcodes.opcode_for(part), number(first, index), part.is_last, &extension, data);
    }

    /// Writes the request of an RDMA Read.
    pub(super) fn read_request(&mut self, from: Side, remote: Remote, length: usize) -> Numbers {
        let numbers = self.take_numbers(from, self.count(length));
        self.packet(from, READ_REQUEST, numbers.first, true, &target(remote, length), &[]);
        numbers
    }

    /// Writes the answer to an RDMA Read of `from`.
    pub(super) fn read_response(&mut self, from: Side, numbers: Numbers, data: &[u8]) {
        let acknowledgement = self.answered(from, ACKNOWLEDGED);
        for index in 0..self.count(data.len()) {
            let part = self.packet_part(index, data.len());
            let extension = if part.is_first || part.is_last { &acknowledgement[..] } else { &[] };
            let (opcode, data) = (READ_RESPONSE.opcode_for(part), self.piece(data, index));
            self.packet(from.other(), opcode, number(numbers.first, index), false, extension, data);
        }
    }

    /// Writes the acknowledgement of a request of `from`.
    pub(super) fn acknowledge(&mut self, from: Side, numbers: Numbers) {
        let acknowledgement = self.answered(from, ACKNOWLEDGED);
        self.packet(from.other(), ACKNOWLEDGE, numbers.last, false, &acknowledgement, &[]);
    }

    /// Writes the end of a request of `from` with this status. For some statuses the other side refuses a packet: the
    /// one that names the memory, or, for a Send that does not fit, the last, which is beyond the receive in any case.
    pub(super) fn refuse_request(&mut self, from: Side, operation: Operation, numbers: Numbers, status: Status) {
        let syndrome = match status {
            Status::RemoteInvalidRequest => INVALID_REQUEST,
            Status::RemoteAccess => REMOTE_ACCESS,
            Status::RemoteOperation => REMOTE_OPERATION,
            _ => return,
        };
        let number = match operation {
            Operation::Send | Operation::SendWithInvalidate(_) => numbers.last,
            Operation::Write(_) | Operation::Read(_) => numbers.first,
        };
        self.answer(from, number, syndrome);
    }

    fn answer(&mut self, from: Side, number: u32, syndrome: u8) {
        let count = self.sender_end(from.other()).answered;
        self.packet(from.other(), ACKNOWLEDGE, number, false, &(u32::from(syndrome) << 24 | count).to_be_bytes(), &[]);
    }

    /// Returns the AETH for one more request of `from`.
    fn answered(&mut self, from: Side, syndrome: u8) -> [u8; 4] {
        let end = self.end_mut(from.other());
        end.answered = (end.answered + 1) & MASK;
        (u32::from(syndrome) << 24 | end.answered).to_be_bytes()
    }

    fn take_numbers(&mut self, from: Side, count: usize) -> Numbers {
        let end = self.end_mut(from);
        let first = end.next;
        end.next = number(first, count);
        Numbers { first, last: number(first, count.saturating_sub(1)) }
    }

    /// Returns the number of packets of a message; a message without data has one too.
    fn count(&self, length: usize) -> usize {
        length.div_ceil(self.mtu.octets()).max(1)
    }

    fn packet_part(&self, index: usize, length: usize) -> PacketPart {
        PacketPart { is_first: index == 0, is_last: index + 1 == self.count(length) }
    }

    fn piece<'a>(&self, data: &'a [u8], index: usize) -> &'a [u8] {
        data.chunks(self.mtu.octets()).nth(index).unwrap_or_default()
    }

    fn packet(&self, from: Side, opcode: u8, sequence: u32, acknowledge: bool, extension: &[u8], data: &[u8]) {
        let queue_pair = self.sender_end(from.other()).station.queue_pair;
        let header = BaseTransportHeader { opcode, queue_pair, acknowledge, sequence };
        self.recorder.record(&packet::frame(self.path(from), header, extension, data));
    }

    fn datagram(&mut self, from: Side, mad: &[u8]) {
        let (opcode, queue_pair, sequence) = (management::DATAGRAM, management::QUEUE_PAIR, self.datagrams & MASK);
        self.datagrams = self.datagrams.wrapping_add(1);
        let header = BaseTransportHeader { opcode, queue_pair, acknowledge: false, sequence };
        self.recorder.record(&packet::frame(self.path(from), header, &management::EXTENSION, mad));
    }

    fn path(&self, from: Side) -> Path {
        let (mine, theirs) = (self.sender_end(from).station.address, self.sender_end(from.other()).station.address);
        Path { from: mine, to: theirs, port: self.port }
    }

    const fn sender_end(&self, side: Side) -> &End {
        match side {
            Side::Active => &self.active,
            Side::Passive => &self.passive,
        }
    }

    const fn end_mut(&mut self, side: Side) -> &mut End {
        match side {
            Side::Active => &mut self.active,
            Side::Passive => &mut self.passive,
        }
    }
}

/// Position of a packet in a message.
#[derive(Clone, Copy, Debug)]
struct PacketPart {
    is_first: bool,
    is_last: bool,
}

impl Opcodes {
    const fn opcode_for(self, part: PacketPart) -> u8 {
        match part {
            PacketPart { is_first: true, is_last: true } => self.only,
            PacketPart { is_first: true, .. } => self.first,
            PacketPart { is_last: true, .. } => self.last,
            PacketPart { .. } => self.middle,
        }
    }
}

/// Returns the number of the packet that is `packets` after `first`.
const fn number(first: u32, packets: usize) -> u32 {
    first.wrapping_add(packets as u32) & MASK
}

/// RETH. A region has less than 4 GiB.
fn target(remote: Remote, length: usize) -> Vec<u8> {
    let (offset, handle) = (remote.offset.to_be_bytes(), remote.handle.to_be_bytes());
    [&offset[..], &handle, &(length as u32).to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_24_bits() {
        assert_eq!((number(0xff_ffff, 0), number(0xff_ffff, 1), number(0xff_fffe, 5)), (0xff_ffff, 0, 3));
    }

    #[test]
    fn path_mtus_are_what_their_codes_say() {
        use PathMtu::*;
        let found = [Octets256, Octets512, Octets1024, Octets2048, Octets4096].map(|mtu| (mtu.code(), mtu.octets()));
        assert_eq!(found, [(1, 256), (2, 512), (3, 1024), (4, 2048), (5, 4096)]);
    }
}
