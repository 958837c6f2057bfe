//! Real messages, from the captures in `testdata`, and hand-made ones for what the captures do not have.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::*;

/// Big-endian words, one after another.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

const COMPOUND: Procedure = Procedure { program: Procedure::NFS, version: 4, procedure: 1 };
const READ3: Procedure = Procedure { program: Procedure::NFS, version: 3, procedure: 6 };

/// What the tests need of a capture, read on its own: classic pcap, Ethernet, IPv4, RoCEv2, nothing lost.
mod capture {
    use super::*;

    pub(super) struct Message {
        pub(super) frame: usize,
        pub(super) reverse: bool,
        pub(super) procedure: Procedure,
        /// In a call: its chunks. In a reply: nothing.
        pub(super) reads: Vec<(u64, u64)>,
        /// In a reply: the data of each Write chunk.
        pub(super) writes: Vec<Vec<u8>>,
        pub(super) call: bool,
        pub(super) position: usize,
        pub(super) body: Vec<u8>,
    }

    fn be32(octets: &[u8], at: usize) -> u32 {
        u32::from_be_bytes(octets[at..at + 4].try_into().unwrap())
    }

    fn be64(octets: &[u8], at: usize) -> u64 {
        u64::from_be_bytes(octets[at..at + 8].try_into().unwrap())
    }

    fn padded(length: u32) -> usize {
        length.next_multiple_of(4) as usize
    }

    type Segment = (u32, usize, u64);

    fn segments(octets: &[u8], at: &mut usize) -> Vec<Segment> {
        let count = be32(octets, *at) as usize;
        let first = *at + 4;
        *at = first + 16 * count;
        (0..count)
            .map(|n| first + 16 * n)
            .map(|at| (be32(octets, at), be32(octets, at + 4) as usize, be64(octets, at + 8)))
            .collect()
    }

    #[derive(Default)]
    struct Peers {
        sends: HashMap<[u8; 8], Vec<u8>>,
        /// Where the next part of an RDMA Write goes.
        cursor: HashMap<[u8; 8], (u32, u64)>,
        memory: HashMap<u32, (u64, Vec<u8>)>,
        /// By direction and XID.
        calls: HashMap<(bool, u32), Procedure>,
        messages: Vec<Message>,
    }

    impl Peers {
        fn write(&mut self, (handle, address): (u32, u64), data: &[u8]) {
            let (start, octets) = self.memory.entry(handle).or_insert_with(|| (address, Vec::new()));
            assert_eq!(*start + octets.len() as u64, address, "not in order");
            octets.extend(data);
        }

        fn take(&mut self, segments: &[Segment]) -> Vec<u8> {
            let of = |&(handle, length, address): &Segment| match self.memory.get(&handle) {
                Some((start, octets)) if length > 0 => {
                    let at = (address - start) as usize;
                    octets[at..at + length].to_vec()
                }
                _ => Vec::new(),
            };
            let data = segments.iter().flat_map(of).collect();
            segments.iter().for_each(|segment| drop(self.memory.remove(&segment.0)));
            data
        }

        fn packet(&mut self, frame: usize, octets: &[u8]) {
            if octets[12..14] != [8, 0] || octets[23] != 17 || octets[36..38] != 4791_u16.to_be_bytes() {
                return;
            }
            let udp = u16::from_be_bytes([octets[38], octets[39]]) as usize;
            let (bth, end) = (&octets[42..], udp - 8 - 4);
            let end = end - usize::from(bth[1] >> 4 & 3);
            let flow = [octets[26], octets[27], octets[28], octets[29], bth[4], bth[5], bth[6], bth[7]];
            match bth[0] {
                0x00 => drop(self.sends.insert(flow, bth[12..end].to_vec())),
                0x01 => self.sends.get_mut(&flow).unwrap().extend(&bth[12..end]),
                0x02 | 0x16 => {
                    let mut send = self.sends.remove(&flow).unwrap();
                    send.extend(&bth[if bth[0] == 0x02 { 12 } else { 16 }..end]);
                    self.send(frame, octets[29] == 1, &send);
                }
                0x04 => self.send(frame, octets[29] == 1, &bth[12..end]),
                0x17 => self.send(frame, octets[29] == 1, &bth[16..end]),
                0x06 | 0x0a => {
                    let (address, handle) = (be64(bth, 12), be32(bth, 20));
                    self.write((handle, address), &bth[28..end]);
                    self.cursor.insert(flow, (handle, address + (end - 28) as u64));
                }
                0x07 | 0x08 => {
                    let cursor = self.cursor[&flow];
                    self.write(cursor, &bth[12..end]);
                    self.cursor.insert(flow, (cursor.0, cursor.1 + (end - 12) as u64));
                }
                _ => {}
            }
        }

        fn send(&mut self, frame: usize, from_server: bool, send: &[u8]) {
            let (proc, mut at) = (be32(send, 12), 16);
            let mut reads: Vec<(u64, u64)> = Vec::new();
            while be32(send, at) == 1 {
                let (position, length) = (u64::from(be32(send, at + 4)), u64::from(be32(send, at + 12)));
                match reads.last_mut() {
                    Some(chunk) if chunk.0 == position => chunk.1 += length,
                    _ => reads.push((position, length)),
                }
                at += 24;
            }
            at += 4;
            let mut writes = Vec::new();
            while be32(send, at) == 1 {
                at += 4;
                writes.push(segments(send, &mut at));
            }
            at += 4;
            let reply = if be32(send, at) == 1 {
                at += 4;
                segments(send, &mut at)
            } else {
                at += 4;
                Vec::new()
            };
            let inline = send[at..].to_vec();
            // What a call offers has the lengths of the buffers, not of data.
            let is_call = proc == 0 && be32(&inline, 4) == 0;
            if proc > 1 || is_call && from_server && !writes.is_empty() {
                return;
            }
            let writes = if is_call { Vec::new() } else { writes.iter().map(|chunk| self.take(chunk)).collect() };
            let payload = if proc == 1 { self.take(&reply) } else { inline };
            self.payload(frame, from_server, payload, reads, writes);
        }

        fn payload(
            &mut self,
            frame: usize,
            from_server: bool,
            payload: Vec<u8>,
            reads: Vec<(u64, u64)>,
            writes: Vec<Vec<u8>>,
        ) {
            let (xid, call) = (be32(&payload, 0), be32(&payload, 4) == 0);
            let reverse = from_server == call;
            let position = if call {
                let procedure = Procedure {
                    program: be32(&payload, 12),
                    version: be32(&payload, 16),
                    procedure: be32(&payload, 20),
                };
                self.calls.insert((reverse, xid), procedure);
                let verifier = 32 + padded(be32(&payload, 28));
                verifier + 8 + padded(be32(&payload, verifier + 4))
            } else {
                let accepted = 20 + padded(be32(&payload, 16));
                assert_eq!((be32(&payload, 8), be32(&payload, accepted)), (0, 0), "frame {frame}: not a success");
                accepted + 4
            };
            let procedure = self.calls[&(reverse, xid)];
            let body = payload[position..].to_vec();
            self.messages.push(Message { frame, reverse, procedure, reads, writes, call, position, body });
        }
    }

    pub(super) fn messages(name: &str) -> Vec<Message> {
        let path = format!("{}/../testdata/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::read(path).unwrap();
        let mut rest = &file[24..];
        let mut peers = Peers::default();
        let mut frame = 0;
        while !rest.is_empty() {
            frame += 1;
            let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            peers.packet(frame, &rest[16..16 + length]);
            rest = &rest[16 + length..];
        }
        peers.messages
    }
}

impl capture::Message {
    fn walk(&self) -> Walk {
        if self.call {
            arguments(self.procedure, self.reverse, &self.body, self.position, Reduced::Call(&self.reads))
        } else {
            let lengths: Vec<u64> = self.writes.iter().map(|data| data.len() as u64).collect();
            results(self.procedure, self.reverse, &self.body, Reduced::Reply(&lengths))
        }
    }

    /// The body with its reduced items back in their places. Items of a call are filled with 0xa5.
    fn rebuilt(&self, walk: &Walk) -> Vec<u8> {
        let mut body = Vec::new();
        let mut from = 0;
        for item in &walk.items {
            let Some(chunk) = item.chunk else { continue };
            body.extend(&self.body[from..item.inline_at]);
            from = item.inline_at;
            assert_eq!(body.len(), item.at);
            let length = item.length as usize;
            match self.writes.get(chunk) {
                Some(data) => body.extend(&data[..length]),
                None => body.resize(body.len() + length, 0xa5),
            }
            body.resize(body.len().next_multiple_of(4), 0);
        }
        body.extend(&self.body[from..]);
        body
    }
}

#[test]
fn dump() {
    for name in ["nfs3", "nfs40", "nfs41", "nfs41_callback", "nfs42_mtu9000"] {
        println!("== {name}");
        for message in capture::messages(name) {
            let walk = message.walk();
            let mut line = format!("{} {}", message.frame, message.procedure.name(message.reverse).unwrap());
            for operation in &walk.operations {
                write!(line, " {}:{}", operation.name, operation.code).unwrap();
            }
            let items: Vec<_> = walk.items.iter().map(|item| (item.length, item.chunk)).collect();
            println!("{line} {:?} {items:?} {}", walk.end, message.body.len() - walk.consumed);
        }
    }
}
