//! The RPC messages of a capture, read without the library: classic pcap, Ethernet, IPv4, RoCEv2, nothing lost.

use std::collections::HashMap;

use rpcrdma_dissector::nfs::Procedure;

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
    /// Destination of the next part of an RDMA Write.
    cursor: HashMap<[u8; 8], (u32, u64)>,
    memory: HashMap<u32, (u64, Vec<u8>)>,
    /// By direction and XID, with whether RPCSEC_GSS wraps the body (RFC 2203 section 5.3.2.2).
    calls: HashMap<(bool, u32), (Procedure, bool)>,
    messages: Vec<Message>,
}

impl Peers {
    fn write(&mut self, (handle, address): (u32, u64), data: &[u8]) {
        let (start, octets) = self.memory.entry(handle).or_insert_with(|| (address, Vec::new()));
        assert_eq!(*start + octets.len() as u64, address, "not in order");
        octets.extend(data);
    }

    fn take_segments(&mut self, segments: &[Segment]) -> Vec<u8> {
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
        // The chunks of a call have the lengths of buffers, not of data.
        let is_call = proc == 0 && be32(&inline, 4) == 0 || proc == 1 && !reads.is_empty();
        let writes = if is_call { Vec::new() } else { writes.iter().map(|chunk| self.take_segments(chunk)).collect() };
        let payload = match (proc, is_call) {
            (0, _) => inline,
            (_, true) => Vec::new(),
            (_, false) => self.take_segments(&reply),
        };
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
        // A call that came by a Position Zero Read chunk: its octets are in RDMA Read responses.
        if payload.is_empty() {
            return;
        }
        let (xid, call) = (be32(&payload, 0), be32(&payload, 4) == 0);
        let reverse = from_server == call;
        let mut position = if call {
            let procedure =
                Procedure { program: be32(&payload, 12), version: be32(&payload, 16), procedure: be32(&payload, 20) };
            let gss = be32(&payload, 24) == 6;
            // Not the making of contexts: its bodies are no arguments.
            if gss && be32(&payload, 36) != 0 {
                return;
            }
            let wrapped = gss && be32(&payload, 44) == 2;
            self.calls.insert((reverse, xid), (procedure, wrapped));
            let verifier = 32 + padded(be32(&payload, 28));
            verifier + 8 + padded(be32(&payload, verifier + 4))
        } else {
            let accepted = 20 + padded(be32(&payload, 16));
            assert_eq!((be32(&payload, 8), be32(&payload, accepted)), (0, 0), "frame {frame}: not a success");
            accepted + 4
        };
        let Some(&(procedure, wrapped)) = self.calls.get(&(reverse, xid)) else { return };
        let mut end = payload.len();
        if wrapped {
            end = position + 4 + be32(&payload, position) as usize;
            position += 8;
        }
        let body = payload[position..end].to_vec();
        self.messages.push(Message { frame, reverse, procedure, reads, writes, call, position, body });
    }
}

pub(super) fn of_capture(name: &str) -> Vec<Message> {
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
