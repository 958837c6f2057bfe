//! Connections, packet by packet.

use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::*;
use crate::synthetic::{By, Packet, Wire};

/// Both ends take 4096 octets and remote invalidation.
pub(crate) const PRIVATE_DATA: [u8; 8] = [0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3];
pub(crate) const MEMORY: (u32, u64) = (0xa94, 0x5000_1000);
pub(crate) const XID: u32 = 7;
pub(crate) const DONE: u32 = 3;

pub(crate) fn segment(length: u32) -> Segment {
    (MEMORY.0, MEMORY.1, length)
}

/// In what an RPC without chunks is sent: version 1, or a wire format of version 2.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Version {
    One,
    A,
    B,
}

// Header types of family A (version two draft -01, "Header Types"), and flags.
pub(crate) const A_MSG: u32 = 0;
pub(crate) const A_NOMSG: u32 = 1;
pub(crate) const A_CONNPROP: u32 = 5;
pub(crate) const RESPONSE: u32 = 1;
pub(crate) const MORE: u32 = 2;
pub(crate) const TPMORE: u32 = 4;
/// `rdma_inv_handle`, and three empty lists.
pub(crate) const A_NO_CHUNKS: [u32; 4] = [0; 4];
// Header types of family B (version two draft -07 section 6.1).
pub(crate) const GRANT: u32 = 5;
pub(crate) const CONNPROP_MIDDLE: u32 = 6;
pub(crate) const CONNPROP_FINAL: u32 = 7;
pub(crate) const CALL_EXTERNAL: u32 = 8;
pub(crate) const CALL_MIDDLE: u32 = 9;
pub(crate) const CALL_INLINE: u32 = 10;
pub(crate) const REPLY_EXTERNAL: u32 = 11;
pub(crate) const REPLY_MIDDLE: u32 = 12;
pub(crate) const REPLY_INLINE: u32 = 13;
// `rdma_err` (version two draft -01 and later).
pub(crate) const BAD_XDR: u32 = 2;
pub(crate) const BAD_PROPVAL: u32 = 3;
pub(crate) const INVAL_HTYPE: u32 = 4;
pub(crate) const INVAL_CONT: u32 = 5;

/// A message of family A: the prefix of 20 octets, the words after it, the payload.
pub(crate) fn a(htype: u32, xid: u32, flags: u32, body: &[u32], payload: &[u8]) -> Vec<u8> {
    [words(&[xid, 2, 0x0020_0001, htype, flags]), words(body), payload.to_vec()].concat()
}

/// A message of family B: the prefix has 16 octets.
pub(crate) fn b(htype: u32, xid: u32, body: &[u32], payload: &[u8]) -> Vec<u8> {
    [words(&[xid, 2, 0x0020_0001, htype]), words(body), payload.to_vec()].concat()
}

/// A NULL call in two parts.
pub(crate) fn parts() -> (Vec<u8>, Vec<u8>) {
    let whole = null(XID);
    (whole[..20].to_vec(), whole[20..].to_vec())
}

/// Packets of a connection, as they come.
pub(crate) struct Trace {
    pub(crate) version: Version,
    pub(crate) wire: Wire,
    pub(crate) packets: Vec<Packet>,
}

impl Trace {
    /// A connection with its setup alone.
    pub(crate) fn connected(client: &[u8], server: &[u8]) -> Self {
        let mut wire = Wire::default();
        let mut packets = vec![wire.request(client), wire.reply(server)];
        packets.push(wire.connect().pop().unwrap());
        Self { version: Version::One, wire, packets }
    }

    /// A connection on which a first call has got credits.
    pub(crate) fn new() -> Self {
        let mut trace = Self::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        trace.null(1);
        trace
    }

    /// A connection of version 2, which needs no private data, before its first message.
    pub(crate) fn silent(version: Version) -> Self {
        Self { version, ..Self::connected(&[], &[]) }
    }

    /// The same after a first call.
    pub(crate) fn version_2(version: Version) -> Self {
        let mut trace = Self::silent(version);
        trace.null(1);
        trace
    }

    pub(crate) fn send(&mut self, by: By, octets: &[u8]) {
        let packets = self.wire.send(by, octets);
        self.packets.extend(packets);
    }

    pub(crate) fn null(&mut self, xid: u32) {
        self.send(
            Client,
            &match self.version {
                Version::One => message(MSG, xid, &Lists::default(), &null(xid)),
                Version::A => a(A_MSG, xid, 0, &A_NO_CHUNKS, &null(xid)),
                Version::B => b(CALL_INLINE, xid, &[0; 4], &null(xid)),
            },
        );
        self.reply(xid);
    }

    pub(crate) fn reply(&mut self, xid: u32) {
        self.send(
            Server,
            &match self.version {
                Version::One => message(MSG, xid, &Lists::default(), &reply(xid, &[])),
                Version::A => a(A_MSG, xid, RESPONSE, &A_NO_CHUNKS, &reply(xid, &[])),
                Version::B => b(REPLY_INLINE, xid, &[0], &reply(xid, &[])),
            },
        );
    }

    /// An end refuses what has this XID in version 2.
    pub(crate) fn refuse_v2(&mut self, by: By, xid: u32, code: u32) {
        self.send(
            by,
            &match self.version {
                Version::One | Version::A => a(ERROR, xid, RESPONSE, &[code], &[]),
                Version::B => b(ERROR, xid, &[code], &[]),
            },
        );
    }

    /// The server refuses the call, or answers it.
    pub(crate) fn refuse_if(&mut self, is_bad: bool, code: u32) {
        if is_bad {
            self.refuse_v2(Server, XID, code);
        } else {
            self.answer();
        }
    }

    /// A call and its reply, with these lists.
    pub(crate) fn rpc(&mut self, offered: &Lists, call: &[u8], returned: &Lists, reply: &[u8]) {
        self.send(Client, &message(MSG, XID, offered, call));
        self.send(Server, &message(MSG, XID, returned, reply));
    }

    pub(crate) fn write(&mut self, memory: (u32, u64), data: &[u8]) {
        let packets = self.wire.write(Server, memory, data);
        self.packets.extend(packets);
    }

    pub(crate) fn read(&mut self, by: By, memory: (u32, u64), data: &[u8]) {
        let packets = self.wire.read(by, memory, data);
        self.packets.extend(packets);
    }

    pub(crate) fn disconnect(&mut self, by: By) {
        let packet = self.wire.disconnect(by);
        self.packets.push(packet);
    }

    /// An end acknowledges all that the other has sent: what it sends next, it sends after that.
    pub(crate) fn acknowledge(&mut self, by: By) {
        let packet = self.wire.ack_all(by);
        self.packets.push(packet);
    }

    /// `ERR_CHUNK`.
    pub(crate) fn refuse(&mut self, version: u32) {
        self.send(Server, &words(&[XID, version, 32, ERROR, 2]));
    }

    /// An NFSv3 WRITE of this many octets with one Read chunk, answered.
    pub(crate) fn write_rpc(&mut self, item: u32, reads: &[(u32, Segment)]) {
        self.send(Client, &message(MSG, XID, &Lists::reads(reads), &write3(XID, item)));
        for (_, (handle, offset, length)) in reads {
            if *length > 0 {
                self.read(Server, (*handle, *offset), &octets(1, *length as usize));
            }
        }
        self.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, item)));
    }

    /// An NFSv3 READ of this many octets into a Write chunk that comes back as `returned`: as far as that was offered,
    /// it is written.
    pub(crate) fn read_rpc(&mut self, item: u32, offered: &[Segment], returned: &[Segment]) {
        self.send(Client, &message(MSG, XID, &Lists::writes(&[offered]), &read3(XID, item)));
        for ((handle, offset, room), (.., length)) in offered.iter().zip(returned) {
            self.write((*handle, *offset), &octets(2, *room.min(length) as usize));
        }
        let results = reply(XID, &read3_results(item));
        self.send(Server, &message(MSG, XID, &Lists::writes(&[returned]), &results));
    }

    /// A call with a Write chunk for one of its results, which is in it or not.
    pub(crate) fn result_in_chunk(&mut self, call: &[u8], results: &[u8], item: &[u8], is_used: bool) {
        self.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(100)]]), call));
        if is_used {
            self.write(MEMORY, item);
        }
        let returned = segment(if is_used { item.len() as u32 } else { 0 });
        self.send(Server, &message(MSG, XID, &Lists::writes(&[&[returned]]), &reply(XID, results)));
    }

    /// A NULL call in a Position Zero Read chunk of this many octets.
    pub(crate) fn long_call(&mut self, length: usize, trailing: &[u8]) {
        let lists = Lists::reads(&[(0, segment(length as u32))]);
        self.send(Client, &message(NOMSG, XID, &lists, trailing));
        let mut payload = null(XID);
        payload.resize(length, 0);
        self.read(Server, MEMORY, &payload);
    }

    pub(crate) fn answer(&mut self) {
        self.reply(XID);
    }

    /// The client's adapter refuses what the server sent last.
    pub(crate) fn refuse_access(&mut self) {
        let number = self.wire.server.next - 1;
        let packet = self.wire.access_error(Client, number);
        self.packets.push(packet);
    }

    pub(crate) fn invalidate(&mut self, handle: u32, octets: &[u8]) {
        let packets = self.wire.send_with_invalidate(Server, handle, octets);
        self.packets.extend(packets);
    }

    /// A NULL call with a Reply chunk, answered by RDMA_NOMSG.
    pub(crate) fn long_reply(&mut self, length: u32) {
        self.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
        let mut payload = reply(XID, &[]);
        payload.resize(length as usize, 0);
        if length > 0 {
            self.write(MEMORY, &payload);
        }
        self.send(Server, &message(NOMSG, XID, &Lists::reply(&[segment(length)]), &[]));
    }
}

/// Replaces a word of a message.
pub(crate) fn patched(mut message: Vec<u8>, at: usize, word: u32) -> Vec<u8> {
    message[at..at + 4].copy_from_slice(&word.to_be_bytes());
    message
}

pub(crate) fn null_message() -> Vec<u8> {
    message(MSG, XID, &Lists::default(), &null(XID))
}

/// A NULL call with something wrong in it, and `ERR_CHUNK`; or without, and the reply.
pub(crate) fn refused(trace: &mut Trace, bad: bool, broken: &[u8]) {
    if bad {
        trace.send(Client, broken);
        trace.refuse(1);
    } else {
        trace.rpc(&Lists::default(), &null(XID), &Lists::default(), &reply(XID, &[]));
    }
}

/// A call of the server's to the client: NFSv4 CB_NULL.
pub(crate) fn callback(xid: u32) -> Vec<u8> {
    message(MSG, xid, &Lists::default(), &call(xid, [0x4000_0000, 1, 0], &[]))
}

/// An NFSv3 READ under RPCSEC_GSS integrity: credential and verifier as RFC 2203 section 5.3 has them.
pub(crate) fn read3_with_integrity() -> Vec<u8> {
    let arguments = words(&[4, 0xfeed, 0, 0, 100]);
    let credential = words(&[6, 24, 1, 0, 5, 2, 4, 0xcafe]);
    let body = [words(&[arguments.len() as u32 + 4, 5]), arguments, words(&[4, 0xabcd])].concat();
    [words(&[XID, 0, 2, 100_003, 3, 6]), credential, words(&[6, 4, 0xaaaa]), body].concat()
}

/// The reply to it; the length of the body is that of the whole body, whichever part of it was moved.
pub(crate) fn read3_reply_with_integrity(inline: &[u8]) -> Vec<u8> {
    let results = [read3_results(100), inline.to_vec()].concat();
    let body = [words(&[results.len() as u32 + 4, 5]), results, words(&[4, 0xabcd])].concat();
    [words(&[XID, 1, 0, 6, 4, 0xbbbb, 0]), body].concat()
}

/// A call and its reply in a responder-provided Read chunk.
pub(crate) fn provided(trace: &mut Trace, xid: u32) {
    trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
    trace.send(Server, &message(NOMSG, xid, &Lists::reads(&[(0, (xid, 0, 24))]), &[]));
}

/// A call with an unknown procedure; `ERR_CHUNK` is its answer.
pub(crate) fn faulty(xid: u32) -> Vec<u8> {
    patched(message(MSG, xid, &Lists::default(), &null(xid)), 12, 7)
}

pub(crate) fn refusal(xid: u32) -> Vec<u8> {
    words(&[xid, 1, 32, ERROR, 2])
}

/// Sends of the client that are dropped, with what they break. None carries a Payload stream.
pub(crate) fn dropped() -> [(&'static str, Vec<u8>); 5] {
    [
        ("done-sent", words(&[XID, 1, 32, DONE])),
        ("error-from-requester", words(&[XID, 1, 32, ERROR, 2])),
        ("header-short", null_message()[..24].to_vec()),
        ("header-short", null_message()[..16].to_vec()),
        ("header-short", null_message()[..12].to_vec()),
    ]
}

/// Calls the client may have in flight; each reply of these tests grants as many.
pub(crate) const GRANTED: u32 = 32;
