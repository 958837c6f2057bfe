//! One packet of the InfiniBand transport: the Base Transport Header and the further headers of the opcode.
//!
//! ```text
//!  0         1         2         3
//! | opcode  | SE M Pad TVer | P_Key              |
//! | F B rsvd | destination queue pair             |
//! | A rsvd   | packet sequence number             |
//! ```
//!
//! In XRC requests, another header of 4 octets follows. Then come, depending on the opcode, RETH (16), AETH (4),
//! immediate data (4), IETH (4), or the atomic headers.

use rpcrdma::reader::{EndOfInput, Reader};

use crate::carrier::operation::OperationType;

/// Operation of a packet of a reliable connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// Part of a Send.
    Send,
    /// Part of an RDMA Write.
    Write,
    /// An RDMA Read request.
    ReadRequest,
    /// Part of the answer to an RDMA Read request.
    ReadResponse,
    /// An acknowledgement, positive or negative.
    Acknowledge,
    /// An atomic operation's request; such a request takes one packet sequence number.
    Atomic,
    /// The answer to one.
    AtomicAcknowledge,
    /// Connection management, or anything else that no reliable connection carries: see `Transport::service_name`.
    Other,
}

/// The RDMA Extended Transport Header: the memory of an RDMA Write or Read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Offset (virtual address) of the first octet.
    pub offset: u64,
    /// The handle (R_Key).
    pub handle: u32,
    /// Total octets.
    pub length: u32,
}

/// Meaning of an AETH's syndrome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Everything up to this packet sequence number arrived.
    Acknowledged,
    /// The receiver was not ready: the packet with this number will come again, after so many nanoseconds.
    NotReady {
        /// Nanoseconds.
        wait: u64,
    },
    /// The receiver expects the packet with this number but saw a later one.
    SequenceError,
    /// The operation failed permanently: the code is InfiniBand's (1 invalid request, 2 remote access, 3 remote
    /// operational).
    Failed(u8),
}

/// A transport packet, borrowed from a frame.
#[derive(Clone, Copy, Debug)]
pub struct Transport<'a> {
    /// The opcode on the wire.
    pub opcode: u8,
    /// Operation of the packet.
    pub operation: PacketKind,
    /// True for the first packet of a message.
    pub first: bool,
    /// True for the last packet of a message.
    pub last: bool,
    /// True if the sender asks for an acknowledgement.
    pub asks: bool,
    /// The receiver's queue pair.
    pub queue_pair: u32,
    /// Packet sequence number, 24 bits.
    pub sequence: u32,
    /// From the RETH.
    pub target: Option<Target>,
    /// From the AETH.
    pub syndrome: Option<Syndrome>,
    /// The handle that Send With Invalidate names.
    pub invalidates: Option<u32>,
    /// Captured part of the data.
    pub data: &'a [u8],
    /// Octets of data in the packet, on the wire.
    pub length: usize,
}

/// Opcode of a datagram (UD SEND ONLY), which carries connection management.
pub const DATAGRAM: u8 = 0x64;
const XRC: u8 = 0xa0;

/// Octets of the Base Transport Header.
pub const LEN: usize = 12;

/// Kind of a packet, and its place in a message.
#[derive(Clone, Copy)]
struct OpcodeMeaning {
    kind: PacketKind,
    first: bool,
    last: bool,
}

/// Place of a packet in a message of one packet or several.
enum PlaceInMessage {
    First,
    Middle,
    Last,
    Only,
}

impl PlaceInMessage {
    const fn meaning(self, kind: PacketKind) -> OpcodeMeaning {
        let (first, last) = match self {
            Self::First => (true, false),
            Self::Middle => (false, false),
            Self::Last => (false, true),
            Self::Only => (true, true),
        };
        OpcodeMeaning { kind, first, last }
    }
}

/// Returns the meaning of an opcode in the table of reliable-connection opcodes.
const fn meaning(operation: u8) -> OpcodeMeaning {
    use PlaceInMessage::{First, Last, Middle, Only};
    match operation {
        0x00 => First.meaning(PacketKind::Send),
        0x01 => Middle.meaning(PacketKind::Send),
        0x02 | 0x03 | 0x16 => Last.meaning(PacketKind::Send),
        0x04 | 0x05 | 0x17 => Only.meaning(PacketKind::Send),
        0x06 => First.meaning(PacketKind::Write),
        0x07 => Middle.meaning(PacketKind::Write),
        0x08 | 0x09 => Last.meaning(PacketKind::Write),
        0x0a | 0x0b => Only.meaning(PacketKind::Write),
        0x0c => Only.meaning(PacketKind::ReadRequest),
        0x0d => First.meaning(PacketKind::ReadResponse),
        0x0e => Middle.meaning(PacketKind::ReadResponse),
        0x0f => Last.meaning(PacketKind::ReadResponse),
        0x10 => Only.meaning(PacketKind::ReadResponse),
        0x11 => Only.meaning(PacketKind::Acknowledge),
        0x12 => Only.meaning(PacketKind::AtomicAcknowledge),
        0x13 | 0x14 => Only.meaning(PacketKind::Atomic),
        _ => Only.meaning(PacketKind::Other),
    }
}

impl<'a> Transport<'a> {
    /// Returns true for a datagram to the queue pair of connection management.
    pub(crate) const fn is_management(&self) -> bool {
        self.opcode == DATAGRAM && self.queue_pair == 1
    }

    /// Decodes a packet from the BTH up to but not including the ICRC; `length` is the length on the wire.
    ///
    /// # Errors
    /// [`EndOfInput`] if the headers themselves are cut.
    pub fn decode(octets: &'a [u8], length: usize) -> Result<Self, EndOfInput> {
        let mut reader = Reader::new(octets);
        let &[opcode, bits, _, _, _, q0, q1, q2, asks, s0, s1, s2] = reader.array::<LEN>()?;
        let class = opcode & 0xe0;
        let is_reliable = class == 0 || class == XRC;
        let OpcodeMeaning { kind: operation, first, last } = meaning(if is_reliable { opcode & 0x1f } else { 0xff });
        let request =
            matches!(operation, PacketKind::Send | PacketKind::Write | PacketKind::ReadRequest | PacketKind::Atomic);
        if class == XRC && request {
            reader.array::<4>()?;
        }
        let mut packet = Self {
            opcode,
            operation,
            first,
            last,
            asks: asks & 0x80 != 0,
            queue_pair: u32::from_be_bytes([0, q0, q1, q2]),
            sequence: u32::from_be_bytes([0, s0, s1, s2]),
            target: None,
            syndrome: None,
            invalidates: None,
            data: &[],
            length: 0,
        };
        packet.extensions(&mut reader)?;
        let headers = reader.offset();
        packet.length = length.saturating_sub(headers + usize::from(bits >> 4 & 3));
        packet.data = reader.rest();
        if let Some((data, _)) = packet.data.split_at_checked(packet.length) {
            packet.data = data;
        }
        Ok(packet)
    }

    #[inline(always)]
    fn extensions(&mut self, reader: &mut Reader<'a>) -> Result<(), EndOfInput> {
        let low = self.opcode & 0x1f;
        match self.operation {
            PacketKind::Write | PacketKind::ReadRequest if self.first => {
                self.target = Some(Target { offset: reader.u64()?, handle: reader.u32()?, length: reader.u32()? });
            }
            PacketKind::ReadResponse if low != 0x0e => self.syndrome = Some(syndrome(reader.u32()?)),
            PacketKind::Acknowledge | PacketKind::AtomicAcknowledge => self.syndrome = Some(syndrome(reader.u32()?)),
            PacketKind::Send if low == 0x16 || low == 0x17 => self.invalidates = Some(reader.u32()?),
            _ => {}
        }
        if matches!(low, 0x03 | 0x05 | 0x09 | 0x0b) && self.operation != PacketKind::Other {
            reader.u32()?; // immediate data: no RPC-over-RDMA peer uses it
        }
        Ok(())
    }

    /// Returns true if the packet takes a number from the sender's own sequence; other packets carry the number of the
    /// request that they answer.
    #[must_use]
    pub(crate) const fn is_request(&self) -> bool {
        matches!(self.operation, PacketKind::Send | PacketKind::Write | PacketKind::ReadRequest | PacketKind::Atomic)
    }

    /// Returns the transport service in the opcode of a packet of [`PacketKind::Other`].
    pub(crate) const fn service_name(&self) -> &'static str {
        match self.opcode >> 5 {
            0b001 => "UC",
            0b010 => "RD",
            0b011 => "UD",
            // Congestion notifications of RoCEv2 (annex A17) and of InfiniBand.
            0b100 if self.is_congestion_notification() => "CNP",
            _ => "unknown opcode",
        }
    }

    /// Returns true for a congestion notification.
    pub(crate) const fn is_congestion_notification(&self) -> bool {
        matches!(self.opcode, 0x80 | 0x81)
    }

    /// Returns the type of the operation in the packet, if RPC-over-RDMA uses that type.
    pub(crate) const fn operation_type(&self) -> Option<OperationType> {
        match self.operation {
            PacketKind::Send => Some(OperationType::Send),
            PacketKind::Write => Some(OperationType::Write),
            PacketKind::ReadRequest => Some(OperationType::ReadRequest),
            PacketKind::ReadResponse => Some(OperationType::ReadResponse),
            _ => None,
        }
    }
}

const fn syndrome(extended: u32) -> Syndrome {
    let code = (extended >> 24) as u8;
    match code >> 5 & 3 {
        0 => Syndrome::Acknowledged,
        1 => Syndrome::NotReady { wait: not_ready_wait(code & 0x1f) },
        _ if code & 0x1f == 0 => Syndrome::SequenceError,
        _ => Syndrome::Failed(code & 0x1f),
    }
}

/// The nanoseconds that a code in "receiver not ready" stands for (InfiniBand Architecture, volume 1, section 9.7.5.2.8).
const fn not_ready_wait(code: u8) -> u64 {
    const STEP: u64 = 10_000;
    match code as u32 {
        0 => 65_536 * STEP,
        code @ 1..=3 => code as u64 * STEP,
        // Two codes for each power of two: 4 and 6, 8 and 12, and so on.
        code => ((4 + 2 * (code as u64 & 1)) << (code / 2 - 2)) * STEP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// The RDMA Write of one octet, captured on real hardware, that the ICRC vectors also use: Pad is 3.
    #[test]
    fn write_only_with_padding() {
        let octets = octets("0a70ffff0000010a80a788bc 000055d4c0726000 000047b3 00000005 0000000001");
        let packet = Transport::decode(&octets, octets.len());
        assert!(packet.is_err() || octets.len() != 32);
        let octets = self::octets("0a70ffff0000010a80a788bc 000055d4c0726000 000047b3 00000001 00000000");
        let packet = Transport::decode(&octets, octets.len()).unwrap();
        assert_eq!(packet.target, Some(Target { offset: 0x55d4_c072_6000, handle: 0x47b3, length: 1 }));
        assert_eq!((packet.operation, packet.first, packet.last), (PacketKind::Write, true, true));
        assert_eq!((packet.queue_pair, packet.sequence), (0x10a, 0xa788bc));
        assert_eq!(packet.data, &[0]);
    }

    #[test]
    fn acknowledgements_are_told_apart() {
        for (syndrome, meaning) in [
            (0x1f, Syndrome::Acknowledged),
            (0x05, Syndrome::Acknowledged),
            (0x2c, Syndrome::NotReady { wait: 640_000 }),
            (0x20, Syndrome::NotReady { wait: 655_360_000 }),
            (0x23, Syndrome::NotReady { wait: 30_000 }),
            (0x25, Syndrome::NotReady { wait: 60_000 }),
            (0x3f, Syndrome::NotReady { wait: 491_520_000 }),
            (0x60, Syndrome::SequenceError),
            (0x62, Syndrome::Failed(2)),
        ] {
            let mut ack = octets("1140ffff0000010900a788c000000005");
            ack[12] = syndrome;
            let packet = Transport::decode(&ack, ack.len()).unwrap();
            assert_eq!(packet.syndrome, Some(meaning));
            assert!(!packet.is_request());
        }
    }

    #[test]
    fn what_the_capture_cut_is_not_there_but_counted() {
        let octets = octets("0400ffff 00000011 00000001 0102");
        let packet = Transport::decode(&octets, 100).unwrap();
        assert_eq!((packet.data, packet.length), (&[1, 2][..], 88));
    }

    #[test]
    fn extended_reliable_connections_have_a_header_more() {
        let octets = octets("b700ffff 00000011 00000001 00000007 0000beef 01020304");
        let packet = Transport::decode(&octets, octets.len()).unwrap();
        assert_eq!((packet.invalidates, packet.data), (Some(0xbeef), &[1, 2, 3, 4][..]));
    }

    /// The headers of an atomic operation count as data, which nobody reads.
    #[test]
    fn atomic_operations_take_a_number_and_are_acknowledged() {
        for opcode in [0x13, 0x14] {
            let mut octets = octets("0000ffff 00000011 00000001");
            octets[0] = opcode;
            let packet = Transport::decode(&octets, octets.len()).unwrap();
            assert_eq!((packet.operation, packet.is_request()), (PacketKind::Atomic, true));
        }
        let octets = octets("1200ffff 00000011 00000001 1f000005 0102030405060708");
        let packet = Transport::decode(&octets, octets.len()).unwrap();
        assert_eq!((packet.operation, packet.is_request()), (PacketKind::AtomicAcknowledge, false));
        assert_eq!((packet.syndrome, packet.data.len()), (Some(Syndrome::Acknowledged), 8));
    }

    #[test]
    fn other_services_are_told_apart() {
        for (opcode, name) in [
            (0x20, "UC"),
            (0x4b, "RD"),
            (0x64, "UD"),
            (0x65, "UD"),
            (0x80, "CNP"),
            (0x81, "CNP"),
            (0x82, "unknown opcode"),
            (0x1f, "unknown opcode"),
            (0xc0, "unknown opcode"),
        ] {
            let mut octets = octets("0000ffff 00000011 00000001");
            octets[0] = opcode;
            let packet = Transport::decode(&octets, octets.len()).unwrap();
            assert_eq!((packet.operation, packet.service_name()), (PacketKind::Other, name), "{opcode:#x}");
        }
    }

    #[test]
    fn immediate_data_is_none_of_the_data() {
        for (opcode, data) in [(0x05, &[5, 6][..]), (0x04, &[1, 2, 3, 4, 5, 6]), (0x65, &[1, 2, 3, 4, 5, 6])] {
            let mut octets = octets("0000ffff 00000011 00000001 01020304 0506");
            octets[0] = opcode;
            assert_eq!(Transport::decode(&octets, octets.len()).unwrap().data, data, "{opcode:#x}");
        }
    }

    #[test]
    fn every_truncation_of_the_headers_is_an_error() {
        let octets = octets("0a00ffff 00000011 00000001 0000000000000000 00000001 00000000");
        for cut in 0..octets.len() {
            assert!(Transport::decode(&octets[..cut], octets.len()).is_err(), "{cut}");
        }
    }
}
