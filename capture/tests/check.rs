//! The checker: for every rule a message or a capture that breaks it in just that way, and its unbroken twin; what it finds
//! in the shipped captures, and nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test falls where its input is wrong"
)]

mod synthetic;
mod transcode;

use std::collections::{BTreeMap, BTreeSet};

use By::{Client, Server};
use rpcrdma::rules::Severity;
use rpcrdma_capture::check::{self, Blame, Checker, Count, Found};
use rpcrdma_capture::dissector::{Config, Dissector};
use rpcrdma_capture::event::Event;
use rpcrdma_capture::events::Events;
use rpcrdma_capture::file::{Capture, Frame, LinkType, Time};
use rpcrdma_capture::link::Address;
use synthetic::rpc::*;
use synthetic::{By, Packet, Wire};
use transcode::Record;

/// Every rule, spelled out: one that is lost from the tables is missed here.
const SLUGS: [&str; 78] = [
    "header-short",
    "version",
    "proc-unknown",
    "msgp-sent",
    "done-sent",
    "error-from-requester",
    "list-flag",
    "list-truncated",
    "nomsg-empty",
    "nomsg-trailing",
    "msg-no-payload",
    "xid-mismatch",
    "error-echo",
    "error-range",
    "error-trailing",
    "reply-unexpected",
    "credit-zero-grant",
    "credit-zero-request",
    "credit-exceeded",
    "credit-initial",
    "inline-exceeded",
    "reply-chunk-missing",
    "read-position-align",
    "read-in-reply",
    "read-position-zero-in-msg",
    "read-position-order",
    "read-position-beyond",
    "read-overlap",
    "read-length",
    "read-roundup",
    "long-call-roundup",
    "segment-wraps",
    "segment-empty",
    "write-list-echo",
    "write-length",
    "write-fill-order",
    "write-roundup",
    "write-unwritten",
    "write-unused-form",
    "write-ignored",
    "write-empty-respected",
    "reply-chunk-echo",
    "reply-chunk-in-msg",
    "reply-chunk-unused-nomsg",
    "long-reply-roundup",
    "ddp-not-eligible",
    "gss-reduced",
    "rdma-read-bounds",
    "rdma-write-bounds",
    "rdma-write-after-reply",
    "read-not-pulled",
    "handle-shared",
    "invalidate-foreign",
    "pull-not-notified",
    "private-data-version",
    "private-data-absent",
    "reverse-credit",
    "reverse-version",
    "answer",
    "v2-reserved-flag",
    "v2-response-flag",
    "v2-more-type",
    "v2-more-sequence",
    "v2-more-chunks",
    "v2-tpmore",
    "v2-credit-zero",
    "v2-first-message",
    "v2-inv-handle",
    "v2-property",
    "v2-continuation",
    "v2-htype",
    "v2-xid-mismatch",
    "v2-no-payload",
    "v2-external",
    "v2-read-order",
    "v2-direction",
    "v2-grant-xid",
    "v2-trailing",
];

/// Both ends take 4096 octets and remote invalidation.
const PRIVATE_DATA: [u8; 8] = [0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3];
const MEMORY: (u32, u64) = (0xa94, 0x5000_1000);
const XID: u32 = 7;
const DONE: u32 = 3;

fn segment(length: u32) -> Segment {
    (MEMORY.0, MEMORY.1, length)
}

/// Judges packets that were captured two seconds apart.
fn judge(packets: &[Packet]) -> (Vec<Found>, Vec<Count>) {
    judge_at(packets, |index| index * 2_000_000_000)
}

/// Judges packets that were captured at these nanoseconds.
fn judge_at(packets: &[Packet], time: fn(u64) -> u64) -> (Vec<Found>, Vec<Count>) {
    let mut dissector = Dissector::new(Config { transactions: false, operations: true, ..Config::default() });
    let mut checker = Checker::default();
    for (index, packet) in packets.iter().enumerate() {
        let number = index as u64 + 1;
        let (time, link) = (Time(time(number)), LinkType(101));
        dissector.frame(&Frame { number, time, link, data: packet, length: packet.len() as u32 });
    }
    dissector.finish();
    while let Some(event) = dissector.event() {
        checker.event(&event);
    }
    let found = std::iter::from_fn(|| checker.finding()).collect();
    (found, checker.counts().collect())
}

/// What was broken, how badly, and by whom.
fn blamed(packets: &[Packet]) -> Vec<(&'static str, Severity, Blame)> {
    judge(packets).0.iter().map(|found| (found.rule.slug, found.severity, found.blame)).collect()
}

fn slugs(packets: &[Packet]) -> BTreeSet<&'static str> {
    judge(packets).0.iter().map(|found| found.rule.slug).collect()
}

/// In what an RPC without chunks is sent: version 1, or a wire format of version 2.
#[derive(Clone, Copy, Debug)]
enum Version {
    One,
    A,
    B,
}

// Header types of family A (version two draft -01, "Header Types"), and flags.
const A_MSG: u32 = 0;
const A_NOMSG: u32 = 1;
const A_CONNPROP: u32 = 5;
const RESPONSE: u32 = 1;
const MORE: u32 = 2;
const TPMORE: u32 = 4;
/// `rdma_inv_handle`, and three empty lists.
const A_NO_CHUNKS: [u32; 4] = [0; 4];
// Header types of family B (version two draft -07 section 6.1).
const GRANT: u32 = 5;
const CONNPROP_MIDDLE: u32 = 6;
const CONNPROP_FINAL: u32 = 7;
const CALL_EXTERNAL: u32 = 8;
const CALL_MIDDLE: u32 = 9;
const CALL_INLINE: u32 = 10;
const REPLY_EXTERNAL: u32 = 11;
const REPLY_MIDDLE: u32 = 12;
const REPLY_INLINE: u32 = 13;
/// `rdma_err`.
const BAD_XDR: u32 = 2;

/// A message of family A: the prefix of 20 octets, the words after it, the payload.
fn a(htype: u32, xid: u32, flags: u32, body: &[u32], payload: &[u8]) -> Vec<u8> {
    [words(&[xid, 2, 0x0020_0001, htype, flags]), words(body), payload.to_vec()].concat()
}

/// A message of family B: the prefix has 16 octets.
fn b(htype: u32, xid: u32, body: &[u32], payload: &[u8]) -> Vec<u8> {
    [words(&[xid, 2, 0x0020_0001, htype]), words(body), payload.to_vec()].concat()
}

/// A NULL call in two parts.
fn parts() -> (Vec<u8>, Vec<u8>) {
    let whole = null(XID);
    (whole[..20].to_vec(), whole[20..].to_vec())
}

/// Packets of a connection, as they come.
struct Trace {
    version: Version,
    wire: Wire,
    packets: Vec<Packet>,
}

impl Trace {
    /// A connection with its set-up alone.
    fn connected(client: &[u8], server: &[u8]) -> Self {
        let mut wire = Wire::default();
        let mut packets = vec![wire.request(client), wire.reply(server)];
        packets.push(wire.connect().pop().unwrap());
        Self { version: Version::One, wire, packets }
    }

    /// A connection on which a first call has got credits.
    fn new() -> Self {
        let mut trace = Self::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        trace.null(1);
        trace
    }

    /// A connection of version 2, which needs no private data, before its first message.
    fn silent(version: Version) -> Self {
        Self { version, ..Self::connected(&[], &[]) }
    }

    /// The same after a first call.
    fn version_2(version: Version) -> Self {
        let mut trace = Self::silent(version);
        trace.null(1);
        trace
    }

    fn send(&mut self, by: By, octets: &[u8]) {
        let packets = self.wire.send(by, octets);
        self.packets.extend(packets);
    }

    fn null(&mut self, xid: u32) {
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

    fn reply(&mut self, xid: u32) {
        self.send(
            Server,
            &match self.version {
                Version::One => message(MSG, xid, &Lists::default(), &reply(xid, &[])),
                Version::A => a(A_MSG, xid, RESPONSE, &A_NO_CHUNKS, &reply(xid, &[])),
                Version::B => b(REPLY_INLINE, xid, &[0], &reply(xid, &[])),
            },
        );
    }

    /// A call and its reply, with these lists.
    fn rpc(&mut self, offered: &Lists, call: &[u8], returned: &Lists, reply: &[u8]) {
        self.send(Client, &message(MSG, XID, offered, call));
        self.send(Server, &message(MSG, XID, returned, reply));
    }

    fn write(&mut self, memory: (u32, u64), data: &[u8]) {
        let packets = self.wire.write(Server, memory, data);
        self.packets.extend(packets);
    }

    fn read(&mut self, by: By, memory: (u32, u64), data: &[u8]) {
        let packets = self.wire.read(by, memory, data);
        self.packets.extend(packets);
    }

    fn disconnect(&mut self, by: By) {
        let packet = self.wire.disconnect(by);
        self.packets.push(packet);
    }

    /// An end acknowledges all that the other has sent: what it sends next, it sends after that.
    fn acknowledge(&mut self, by: By) {
        let packet = self.wire.ack_all(by);
        self.packets.push(packet);
    }

    /// `ERR_CHUNK`.
    fn refuse(&mut self, version: u32) {
        self.send(Server, &words(&[XID, version, 32, ERROR, 2]));
    }

    /// An NFSv3 WRITE of so many octets with one Read chunk, answered.
    fn write_rpc(&mut self, item: u32, reads: &[(u32, Segment)]) {
        self.send(Client, &message(MSG, XID, &Lists::reads(reads), &write3(XID, item)));
        for (_, (handle, offset, length)) in reads {
            if *length > 0 {
                self.read(Server, (*handle, *offset), &octets(1, *length as usize));
            }
        }
        self.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, item)));
    }

    /// An NFSv3 READ of so many octets into a Write chunk that comes back as `returned`: as far as that was offered, it is
    /// written.
    fn read_rpc(&mut self, item: u32, offered: &[Segment], returned: &[Segment]) {
        self.send(Client, &message(MSG, XID, &Lists::writes(&[offered]), &read3(XID, item)));
        for ((handle, offset, room), (.., length)) in offered.iter().zip(returned) {
            self.write((*handle, *offset), &octets(2, *room.min(length) as usize));
        }
        let results = reply(XID, &read3_results(item));
        self.send(Server, &message(MSG, XID, &Lists::writes(&[returned]), &results));
    }

    /// A call with a Write chunk for one of its results, which is in it or not.
    fn result_in_chunk(&mut self, call: &[u8], results: &[u8], item: &[u8], is_used: bool) {
        self.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(100)]]), call));
        if is_used {
            self.write(MEMORY, item);
        }
        let returned = segment(if is_used { item.len() as u32 } else { 0 });
        self.send(Server, &message(MSG, XID, &Lists::writes(&[&[returned]]), &reply(XID, results)));
    }

    /// A NULL call in a Position Zero Read chunk of so many octets.
    fn long_call(&mut self, length: usize, trailing: &[u8]) {
        let lists = Lists::reads(&[(0, segment(length as u32))]);
        self.send(Client, &message(NOMSG, XID, &lists, trailing));
        let mut payload = null(XID);
        payload.resize(length, 0);
        self.read(Server, MEMORY, &payload);
    }

    fn answer(&mut self) {
        self.reply(XID);
    }

    /// The client's adapter refuses what the server sent last.
    fn refuse_access(&mut self) {
        let number = self.wire.server.next - 1;
        let packet = self.wire.access_error(Client, number);
        self.packets.push(packet);
    }

    fn invalidate(&mut self, handle: u32, octets: &[u8]) {
        let packets = self.wire.send_with_invalidate(Server, handle, octets);
        self.packets.extend(packets);
    }

    /// A NULL call with a Reply chunk, answered by RDMA_NOMSG.
    fn long_reply(&mut self, length: u32) {
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
fn patched(mut message: Vec<u8>, at: usize, word: u32) -> Vec<u8> {
    message[at..at + 4].copy_from_slice(&word.to_be_bytes());
    message
}

fn null_message() -> Vec<u8> {
    message(MSG, XID, &Lists::default(), &null(XID))
}

/// A NULL call with something wrong in it, and `ERR_CHUNK`; or without, and the reply.
fn refused(trace: &mut Trace, bad: bool, broken: &[u8]) {
    if bad {
        trace.send(Client, broken);
        trace.refuse(1);
    } else {
        trace.rpc(&Lists::default(), &null(XID), &Lists::default(), &reply(XID, &[]));
    }
}

/// A call of the server's to the client: NFSv4 CB_NULL.
fn callback(xid: u32) -> Vec<u8> {
    message(MSG, xid, &Lists::default(), &call(xid, [0x4000_0000, 1, 0], &[]))
}

/// An NFSv3 READ under RPCSEC_GSS integrity: credential and verifier as RFC 2203 section 5.3 has them.
fn read3_with_integrity() -> Vec<u8> {
    let arguments = words(&[4, 0xfeed, 0, 0, 100]);
    let credential = words(&[6, 24, 1, 0, 5, 2, 4, 0xcafe]);
    let body = [words(&[arguments.len() as u32 + 4, 5]), arguments, words(&[4, 0xabcd])].concat();
    [words(&[XID, 0, 2, 100_003, 3, 6]), credential, words(&[6, 4, 0xaaaa]), body].concat()
}

/// The reply to it; the length of the body is that of the whole body, whatever of it was moved.
fn read3_reply_with_integrity(inline: &[u8]) -> Vec<u8> {
    let results = [read3_results(100), inline.to_vec()].concat();
    let body = [words(&[results.len() as u32 + 4, 5]), results, words(&[4, 0xabcd])].concat();
    [words(&[XID, 1, 0, 6, 4, 0xbbbb, 0]), body].concat()
}

struct Case {
    slug: &'static str,
    /// What both the broken one and its twin break besides.
    besides: &'static [&'static str],
    /// What the broken one does not let be judged; its twin at most that.
    not_judged: &'static [&'static str],
    make: fn(&mut Trace, bool),
}

const fn case(slug: &'static str, make: fn(&mut Trace, bool)) -> Case {
    Case { slug, besides: &[], not_judged: &[], make }
}

/// One that leaves some rules without what they need.
const fn blind(slug: &'static str, not_judged: &'static [&'static str], make: fn(&mut Trace, bool)) -> Case {
    Case { slug, besides: &[], not_judged, make }
}

/// For each rule what breaks it where `bad`, and does not else.
const CASES: &[Case] = &[
    case("header-short", |trace, bad| {
        let whole = null_message();
        if bad {
            trace.send(Client, &whole[..24]);
        } else {
            trace.rpc(&Lists::default(), &null(XID), &Lists::default(), &reply(XID, &[]));
        }
    }),
    case("version", |trace, bad| {
        if bad {
            trace.send(Client, &patched(null_message(), 4, 2));
            trace.send(Server, &words(&[XID, 2, 32, ERROR, 1, 1, 1]));
        } else {
            trace.rpc(&Lists::default(), &null(XID), &Lists::default(), &reply(XID, &[]));
        }
    }),
    case("proc-unknown", |trace, bad| refused(trace, bad, &patched(null_message(), 12, 7))),
    case("msgp-sent", |trace, bad| {
        let message = [words(&[XID, 1, 32, 2, 64, 128, 0, 0, 0]), null(XID)].concat();
        refused(trace, bad, &message);
    }),
    case("done-sent", |trace, bad| {
        trace.null(XID);
        if bad {
            trace.send(Client, &words(&[XID, 1, 32, DONE]));
        }
    }),
    case("error-from-requester", |trace, bad| {
        trace.null(XID);
        if bad {
            trace.send(Client, &words(&[XID, 1, 32, ERROR, 2]));
        }
    }),
    case("list-flag", |trace, bad| refused(trace, bad, &patched(null_message(), 20, 255))),
    case("list-truncated", |trace, bad| {
        refused(trace, bad, &[words(&[XID, 1, 32, 0, 1, 68, 0xa94, 100, 0, 7]), words(&[1, 68])].concat());
    }),
    case("nomsg-empty", |trace, bad| {
        if bad {
            trace.send(Client, &message(NOMSG, XID, &Lists::default(), &[]));
            trace.refuse(1);
        } else {
            trace.long_call(40, &[]);
            trace.answer();
        }
    }),
    case("nomsg-empty", |trace, bad| {
        // The server's; what the client gave could not hold a reply.
        let lists = Lists::writes(&[&[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &null(XID)));
        let returned = Lists::writes(&[&[segment(0)]]);
        let (procedure, payload) = if bad { (NOMSG, Vec::new()) } else { (MSG, reply(XID, &[])) };
        trace.send(Server, &message(procedure, XID, &returned, &payload));
    }),
    case("nomsg-trailing", |trace, bad| {
        trace.long_call(40, if bad { &[0; 4] } else { &[] });
        if bad {
            trace.refuse(1);
        } else {
            trace.answer();
        }
    }),
    case("msg-no-payload", |trace, bad| refused(trace, bad, &null_message()[..28])),
    case("xid-mismatch", |trace, bad| refused(trace, bad, &patched(null_message(), 28, 8))),
    // Neither a call nor a reply: its first word is an XID all the same.
    case("xid-mismatch", |trace, bad| {
        let message = message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID));
        trace.send(Client, &patched(patched(message, 52, 9), 48, if bad { 8 } else { XID }));
        trace.refuse(1);
    }),
    case("error-echo", |trace, bad| {
        trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
        trace.refuse(if bad { 2 } else { 1 });
    }),
    case("error-range", |trace, bad| {
        trace.send(Client, &null_message());
        trace.send(Server, &words(&[XID, 1, 32, ERROR, 1, if bad { 1 } else { 2 }, 3]));
    }),
    case("error-trailing", |trace, bad| {
        trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
        trace.send(Server, &words(if bad { &[XID, 1, 32, ERROR, 2, 0] } else { &[XID, 1, 32, ERROR, 2] }));
    }),
    case("reply-unexpected", |trace, bad| {
        trace.null(XID);
        if bad {
            trace.answer();
        }
    }),
    case("credit-zero-grant", |trace, bad| {
        trace.send(Client, &null_message());
        let reply = message(MSG, XID, &Lists::default(), &reply(XID, &[]));
        trace.send(Server, &patched(reply, 8, if bad { 0 } else { 1 }));
    }),
    case("credit-zero-request", |trace, bad| {
        trace.send(Client, &patched(null_message(), 8, if bad { 0 } else { 1 }));
        trace.answer();
    }),
    blind("credit-exceeded", &["credit-exceeded"], |trace, bad| {
        for xid in 10..if bad { 43 } else { 41 } {
            trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        }
        trace.acknowledge(Server);
    }),
    blind("credit-initial", &["credit-initial"], |trace, bad| {
        *trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        trace.send(Client, &null_message());
        if !bad {
            trace.answer();
        }
        trace.send(Client, &message(MSG, 8, &Lists::default(), &null(8)));
        trace.acknowledge(Server);
    }),
    case("inline-exceeded", |trace, bad| {
        // 28 octets of header, 68 before the data: 4096 in all, or four more.
        let count = if bad { 4004 } else { 4000 };
        let payload = [write3(XID, count), octets(3, count as usize)].concat();
        trace.rpc(&Lists::default(), &payload, &Lists::default(), &write3_reply(XID, count));
    }),
    case("reply-chunk-missing", |trace, bad| {
        let lists = if bad { Lists::default() } else { Lists::reply(&[segment(100)]) };
        trace.send(Client, &message(MSG, XID, &lists, &null(XID)));
        trace.refuse(1);
    }),
    case("read-position-align", |trace, bad| {
        if bad {
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(70, segment(100))]), &write3(XID, 100)));
            trace.refuse(1);
        } else {
            trace.write_rpc(100, &[(68, segment(100))]);
        }
    }),
    case("read-in-reply", |trace, bad| {
        let lists = if bad { Lists::reads(&[(24, segment(4))]) } else { Lists::default() };
        trace.rpc(&Lists::default(), &null(XID), &lists, &reply(XID, &[]));
    }),
    case("read-in-reply", |trace, bad| {
        trace.send(Client, &null_message());
        trace.send(Server, &message(NOMSG, XID, &Lists::reads(&[(0, segment(24))]), &[]));
        if !bad {
            // Whoever reads a part of it knows what it is.
            trace.read(Client, MEMORY, &reply(XID, &[])[..12]);
        }
    }),
    case("read-position-zero-in-msg", |trace, bad| {
        if bad {
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(0, segment(40))]), &null(XID)));
            trace.read(Server, MEMORY, &null(XID));
        } else {
            trace.long_call(40, &[]);
        }
        trace.answer();
    }),
    case("read-position-order", |trace, bad| {
        let (stream, data) = ((0, (0xb00, 0x100, 68)), (68, segment(100)));
        let reads = if bad { [data, stream] } else { [stream, data] };
        trace.send(Client, &message(NOMSG, XID, &Lists::reads(&reads), &[]));
        trace.read(Server, (0xb00, 0x100), &write3(XID, 100));
        trace.read(Server, MEMORY, &octets(1, 100));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    case("read-position-beyond", |trace, bad| {
        if bad {
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(72, segment(100))]), &write3(XID, 100)));
            trace.refuse(1);
        } else {
            trace.write_rpc(100, &[(68, segment(100))]);
        }
    }),
    blind(
        "read-position-beyond",
        &["xid-mismatch", "read-length", "read-roundup", "ddp-not-eligible", "gss-reduced"],
        |trace, bad| {
            // The Payload stream of a long call is in the Position Zero chunk.
            let (stream, data) = ((0, (0xb00, 0x100, 68)), (if bad { 72 } else { 68 }, segment(100)));
            trace.send(Client, &message(NOMSG, XID, &Lists::reads(&[stream, data]), &[]));
            if bad {
                trace.refuse(1);
            } else {
                trace.read(Server, (0xb00, 0x100), &write3(XID, 100));
                trace.read(Server, MEMORY, &octets(1, 100));
                trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
            }
        },
    ),
    Case {
        slug: "read-position-beyond",
        besides: &["read-position-zero-in-msg"],
        not_judged: &[],
        // Part of the Payload stream is inline, and part in the Position Zero chunk.
        make: |trace, bad| {
            let call = write3(XID, 100);
            let (stream, data) = ((0, (0xb00, 0x100, 28)), (if bad { 72 } else { 68 }, segment(100)));
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[stream, data]), &call[..40]));
            trace.read(Server, (0xb00, 0x100), &call[40..]);
            trace.read(Server, MEMORY, &octets(1, 100));
            trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
        },
    },
    blind("read-overlap", &["read-length", "ddp-not-eligible"], |trace, bad| {
        // A program that nobody knows, so where its items are is not known either.
        let (one, two) = ((40, segment(100)), (if bad { 136 } else { 140 }, (0xb00, 0x100, 8)));
        let payload = call(XID, [99, 1, 1], &words(&[1, 2, 3]));
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[one, two]), &payload));
        trace.read(Server, MEMORY, &octets(1, 100));
        trace.read(Server, (0xb00, 0x100), &octets(2, 8));
        trace.answer();
    }),
    case("read-length", |trace, bad| {
        trace.write_rpc(100, &[(68, segment(if bad { 96 } else { 100 }))]);
    }),
    case("read-roundup", |trace, bad| {
        trace.write_rpc(101, &[(68, segment(if bad { 104 } else { 101 }))]);
    }),
    case("long-call-roundup", |trace, bad| {
        trace.long_call(if bad { 42 } else { 40 }, &[]);
        trace.answer();
    }),
    Case {
        slug: "long-call-roundup",
        besides: &["read-position-zero-in-msg"],
        not_judged: &[],
        make: |trace, bad| {
            let length = if bad { 42 } else { 40 };
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(0, segment(length))]), &null(XID)));
            trace.read(Server, MEMORY, &octets(1, length as usize));
            trace.answer();
        },
    },
    case("segment-wraps", |trace, bad| {
        // The last octet of the good one has the last address there is.
        let lists = Lists::writes(&[&[(0xa94, u64::MAX - 99, if bad { 101 } else { 100 })]]);
        let returned = Lists::writes(&[&[(0xa94, u64::MAX - 99, 0)]]);
        trace.rpc(&lists, &read3(XID, 100), &returned, &reply(XID, &words(&[5, 0])));
    }),
    case("segment-empty", |trace, bad| {
        let reads = [(68, segment(100)), (68, (0xb00, 0x100, 0))];
        trace.write_rpc(100, if bad { &reads } else { &reads[..1] });
    }),
    case("write-list-echo", |trace, bad| {
        trace.read_rpc(100, &[segment(100)], &[(if bad { 0xa95 } else { 0xa94 }, MEMORY.1, 100)]);
    }),
    case("write-length", |trace, bad| {
        let (one, two) = ((0xa94, 0x1000, 60), (0xa95, 0x2000, 40));
        let returned = if bad { [(one.0, one.1, 64), (two.0, two.1, 36)] } else { [one, two] };
        trace.read_rpc(100, &[one, two], &returned);
    }),
    case("write-fill-order", |trace, bad| {
        let (one, two) = ((0xa94, 0x1000), (0xa95, 0x2000));
        let lengths = if bad { [50, 50] } else { [60, 40] };
        let returned = [(one.0, one.1, lengths[0]), (two.0, two.1, lengths[1])];
        trace.read_rpc(100, &[(one.0, one.1, 60), (two.0, two.1, 60)], &returned);
    }),
    case("write-roundup", |trace, bad| {
        trace.read_rpc(101, &[segment(104)], &[segment(if bad { 104 } else { 101 })]);
    }),
    case("write-roundup", |trace, bad| {
        // The returned length is right, and three octets more were written.
        trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(104)]]), &read3(XID, 101)));
        trace.write(MEMORY, &octets(2, if bad { 104 } else { 101 }));
        let results = reply(XID, &read3_results(101));
        trace.send(Server, &message(MSG, XID, &Lists::writes(&[&[segment(101)]]), &results));
    }),
    case("write-fill-order", |trace, bad| {
        // What is behind the octets that are returned of the first segment pads nothing.
        let (one, two) = ((0xa94, 0x1000, 60), (0xa95, 0x2000, 60));
        trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[one, two]]), &read3(XID, 98)));
        trace.write((0xa94, 0x1000), &octets(2, 60));
        trace.write((0xa95, 0x2000), &octets(2, 40));
        let lengths = if bad { [58, 40] } else { [60, 40] };
        let returned = Lists::writes(&[&[(one.0, one.1, lengths[0]), (two.0, two.1, lengths[1])]]);
        trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &read3_results(lengths[0] + lengths[1]))));
    }),
    case("write-roundup", |trace, bad| {
        // The padding is in a segment of its own.
        let (data, rest) = ((0xa94, 0x1000, 101), (0xa95, 0x2000, 3));
        trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[data, rest]]), &read3(XID, 101)));
        trace.write((0xa94, 0x1000), &octets(2, 101));
        if bad {
            trace.write((0xa95, 0x2000), &[0; 3]);
        }
        let returned = Lists::writes(&[&[data, (0xa95, 0x2000, 0)]]);
        trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &read3_results(101))));
    }),
    case("write-unwritten", |trace, bad| {
        let lists = Lists::writes(&[&[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        // The second half comes first.
        trace.write((MEMORY.0, MEMORY.1 + 50), &octets(2, 50));
        trace.write(MEMORY, &octets(2, if bad { 49 } else { 50 }));
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
    }),
    case("write-unwritten", |trace, bad| {
        // As many octets as are returned, some of them twice.
        let (one, two) = ((0xa94, 0x1000, 60), (0xa95, 0x2000, 40));
        let lists = Lists::writes(&[&[one, two]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        trace.write((0xa94, 0x1000), &octets(2, 60));
        trace.write((0xa95, 0x2000 + if bad { 0 } else { 20 }), &octets(2, 20));
        trace.write((0xa95, 0x2000), &octets(2, 20));
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
    }),
    blind("write-unwritten", &["xid-mismatch", "write-roundup", "ddp-not-eligible"], |trace, bad| {
        // Reduced data is counted in the Reply chunk's length.
        let (data, rest) = ((0xa95, 0x2000, 100), 44);
        let lists = |length| Lists { writes: vec![vec![data]], ..Lists::reply(&[segment(length)]) };
        trace.send(Client, &message(MSG, XID, &lists(200), &read3(XID, 100)));
        trace.write((0xa95, 0x2000), &octets(2, 100));
        trace.write(MEMORY, &reply(XID, &read3_results(100)));
        trace.send(Server, &message(NOMSG, XID, &lists(if bad { rest + 100 } else { rest }), &[]));
    }),
    blind("write-unwritten", &["xid-mismatch", "read-not-pulled"], |trace, bad| {
        // The Reply chunk comes after a Read chunk in the header.
        let whole = write3_reply(XID, 100);
        let lists = Lists { reads: vec![(68, segment(100))], ..Lists::reply(&[(0xb00, 0x100, 200)]) };
        trace.send(Client, &message(MSG, XID, &lists, &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, 100));
        trace.write((0xb00, 0x100), &whole[..whole.len() - if bad { 4 } else { 0 }]);
        let returned = Lists::reply(&[(0xb00, 0x100, whole.len() as u32)]);
        trace.send(Server, &message(NOMSG, XID, &returned, &[]));
    }),
    case("write-unused-form", |trace, bad| {
        let returned = if bad { Lists::writes(&[&[]]) } else { Lists::writes(&[&[segment(0)]]) };
        let offered = Lists::writes(&[&[segment(100)]]);
        trace.rpc(&offered, &read3(XID, 100), &returned, &reply(XID, &words(&[5, 0])));
    }),
    case("write-ignored", |trace, bad| {
        if bad {
            let (offered, returned) = (Lists::writes(&[&[segment(100)]]), Lists::writes(&[&[segment(0)]]));
            trace.rpc(&offered, &read3(XID, 100), &returned, &read3_reply(XID, &octets(2, 100)));
        } else {
            trace.read_rpc(100, &[segment(100)], &[segment(100)]);
        }
    }),
    case("write-ignored", |trace, bad| {
        // Under RPCSEC_GSS integrity nothing may be reduced, and the chunk comes back unused.
        let (offered, returned) = (Lists::writes(&[&[segment(100)]]), Lists::writes(&[&[segment(0)]]));
        let data = octets(2, 100);
        let (call, reply) = if bad {
            (read3(XID, 100), read3_reply(XID, &data))
        } else {
            (read3_with_integrity(), read3_reply_with_integrity(&data))
        };
        trace.rpc(&offered, &call, &returned, &reply);
    }),
    case("write-ignored", |trace, bad| {
        // PUTFH, a READ at the end of the file and one of 100 octets that are inline: where there is one chunk, it may be
        // that of the first READ (RFC 8267 section 6.4.1).
        let read = words(&[25, 0, 0, 0, 0, 0, 0, 100]);
        let arguments = [words(&[0, 0, 3, 22, 4, 0xfeed]), read.clone(), read].concat();
        let results = [words(&[0, 0, 3, 22, 0, 25, 0, 1, 0, 25, 0, 0, 100]), octets(2, 100)].concat();
        let chunks = [vec![segment(100)], vec![(0xb00, 0x100, 100)]];
        let unused = [vec![segment(0)], vec![(0xb00, 0x100, 0)]];
        let lists =
            |chunks: &[Vec<Segment>]| Lists { writes: chunks[..if bad { 2 } else { 1 }].to_vec(), ..Lists::default() };
        let call = call(XID, [100_003, 4, 1], &arguments);
        trace.rpc(&lists(&chunks), &call, &lists(&unused), &reply(XID, &results));
    }),
    case("write-empty-respected", |trace, bad| {
        let returned = if bad { Lists::writes(&[&[segment(0)]]) } else { Lists::writes(&[&[]]) };
        trace.rpc(&Lists::writes(&[&[]]), &read3(XID, 100), &returned, &read3_reply(XID, &octets(2, 100)));
    }),
    case("write-empty-respected", |trace, bad| {
        // PUTFH and two READs, of which the first is to stay inline; or it is in the chunk of the second, which is inline.
        let read = words(&[25, 0, 0, 0, 0, 0, 0, 100]);
        let arguments = [words(&[0, 0, 3, 22, 4, 0xfeed]), read.clone(), read].concat();
        let (head, next) = (words(&[0, 0, 3, 22, 0, 25, 0, 0, 100]), words(&[25, 0, 1, 100]));
        let inline = octets(3, 100);
        let results = if bad { [head, next, inline].concat() } else { [head, inline, next].concat() };
        let lists = Lists::writes(&[&[], &[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &call(XID, [100_003, 4, 1], &arguments)));
        trace.write(MEMORY, &octets(2, 100));
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &results)));
    }),
    case("write-empty-respected", |trace, bad| {
        // The empty chunk has segments.
        let (empty, full) = ((0xb00, 0x100, 0), segment(100));
        let lists = Lists::writes(&[&[empty], &[full]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        if bad {
            trace.write(MEMORY, &octets(2, 100));
            trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
        } else {
            let unused = Lists::writes(&[&[empty], &[segment(0)]]);
            trace.send(Server, &message(MSG, XID, &unused, &read3_reply(XID, &octets(2, 100))));
        }
    }),
    case("reply-chunk-echo", |trace, bad| {
        let returned = if bad { Lists::default() } else { Lists::reply(&[segment(0)]) };
        trace.rpc(&Lists::reply(&[segment(100)]), &null(XID), &returned, &reply(XID, &[]));
    }),
    case("reply-chunk-in-msg", |trace, bad| {
        let returned = Lists::reply(&[segment(if bad { 24 } else { 0 })]);
        trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
        trace.write(MEMORY, &reply(XID, &[]));
        trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &[])));
    }),
    case("reply-chunk-unused-nomsg", |trace, bad| trace.long_reply(if bad { 0 } else { 24 })),
    case("long-reply-roundup", |trace, bad| trace.long_reply(if bad { 26 } else { 24 })),
    Case {
        slug: "long-reply-roundup",
        besides: &["reply-chunk-in-msg"],
        not_judged: &[],
        make: |trace, bad| {
            let length = if bad { 26 } else { 24 };
            trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
            trace.write(MEMORY, &octets(1, length));
            let returned = Lists::reply(&[segment(length as u32)]);
            trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &[])));
        },
    },
    case("ddp-not-eligible", |trace, bad| {
        if bad {
            // GETATTR, with the file handle moved out.
            let payload = call(XID, [100_003, 3, 1], &words(&[4]));
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(44, segment(4))]), &payload));
            trace.refuse(1);
        } else {
            trace.write_rpc(4, &[(68, segment(4))]);
        }
    }),
    case("ddp-not-eligible", |trace, bad| {
        // GETATTR, with the attributes (fattr3) in a Write chunk, and only the status inline.
        let attributes = octets(3, 84);
        let results = if bad { words(&[0]) } else { [words(&[0]), attributes.clone()].concat() };
        trace.result_in_chunk(&call(XID, [100_003, 3, 1], &words(&[4, 0xfeed])), &results, &attributes, bad);
    }),
    case("ddp-not-eligible", |trace, bad| {
        // READDIR, with the entries in a Write chunk.
        let before = words(&[0, 0, 9, 9]);
        let entries = words(&[1, 0, 1, 1, 0x6100_0000, 0, 1, 0, 1]);
        let results = if bad { before } else { [before, entries.clone()].concat() };
        trace.result_in_chunk(
            &call(XID, [100_003, 3, 16], &words(&[4, 0xfeed, 0, 0, 0, 0, 100])),
            &results,
            &entries,
            bad,
        );
    }),
    case("ddp-not-eligible", |trace, bad| {
        // PUTFH and READ in a Write chunk, GETATTR whose attributes are in another.
        let arguments = words(&[0, 0, 3, 22, 4, 0xfeed, 25, 0, 0, 0, 0, 0, 0, 100, 9, 1, 2]);
        let results = words(&[0, 0, 3, 22, 0, 25, 0, 1, 100, 9, 0, 1, 2, 8]);
        let (data, attributes) = ((0xa94, 0x1000, 100), (0xa95, 0x2000, 8));
        let offered = Lists::writes(&[&[data], &[attributes]]);
        trace.send(Client, &message(MSG, XID, &offered, &call(XID, [100_003, 4, 1], &arguments)));
        trace.write((0xa94, 0x1000), &octets(2, 100));
        trace.write((0xa95, 0x2000), &[7; 8]);
        let unused = (0xa95, 0x2000, 0);
        let returned = Lists::writes(&[&[data], &[if bad { attributes } else { unused }]]);
        let results = if bad { results } else { [results, vec![7; 8]].concat() };
        trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &results)));
    }),
    case("ddp-not-eligible", |trace, bad| {
        // A call that is refused (PROC_UNAVAIL) has no results.
        let refused = words(&[XID, 1, 0, 0, 0, 3]);
        trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(100)]]), &read3(XID, 100)));
        trace.write(MEMORY, &octets(2, 100));
        let returned = Lists::writes(&[&[segment(if bad { 100 } else { 0 })]]);
        trace.send(Server, &message(MSG, XID, &returned, &refused));
    }),
    case("gss-reduced", |trace, bad| {
        let data = octets(2, 100);
        if bad {
            let lists = Lists::writes(&[&[segment(100)]]);
            trace.send(Client, &message(MSG, XID, &lists, &read3_with_integrity()));
            trace.write(MEMORY, &data);
            trace.send(Server, &message(MSG, XID, &lists, &read3_reply_with_integrity(&[])));
        } else {
            let reply = read3_reply_with_integrity(&data);
            trace.rpc(&Lists::default(), &read3_with_integrity(), &Lists::default(), &reply);
        }
    }),
    blind("rdma-read-bounds", &["read-not-pulled"], |trace, bad| {
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, if bad { 104 } else { 100 }));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    blind("rdma-write-bounds", &["write-roundup", "write-unwritten"], |trace, bad| {
        let lists = Lists::writes(&[&[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        trace.write(MEMORY, &octets(2, 100));
        if bad {
            trace.write((MEMORY.0, MEMORY.1 + 100), &[0; 4]);
        }
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
    }),
    blind("rdma-write-bounds", &["write-roundup", "write-unwritten"], |trace, bad| {
        // One RDMA Write over two segments that are side by side in memory: what it wrote into the second is there.
        let (handle, offset) = MEMORY;
        let lists = Lists::writes(&[&[(handle, offset, 60), (handle, offset + 60, 40)]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        if bad {
            trace.write(MEMORY, &octets(2, 100));
        } else {
            trace.write(MEMORY, &octets(2, 60));
            trace.write((handle, offset + 60), &octets(2, 40));
        }
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
    }),
    case("rdma-write-after-reply", |trace, bad| {
        trace.read_rpc(100, &[segment(100)], &[segment(100)]);
        if bad {
            trace.write(MEMORY, &octets(2, 100));
        }
    }),
    case("read-not-pulled", |trace, bad| {
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, if bad { 60 } else { 100 }));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    case("read-not-pulled", |trace, bad| {
        // As many octets as there are, the first half twice.
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, 50));
        trace.read(Server, (MEMORY.0, MEMORY.1 + if bad { 0 } else { 50 }), &octets(1, 50));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    case("read-not-pulled", |trace, bad| {
        // This item has no padding.
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, if bad { 99 } else { 100 }));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    Case {
        slug: "read-not-pulled",
        besides: &["read-roundup"],
        not_judged: &[],
        // The padding of the item need not be read.
        make: |trace, bad| {
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(104))]), &write3(XID, 101)));
            trace.read(Server, MEMORY, &octets(1, if bad { 100 } else { 101 }));
            trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 101)));
        },
    },
    blind("read-not-pulled", &["xid-mismatch"], |trace, bad| {
        // Nor that of a long call: LOOKUP of "a".
        let call = call(XID, [100_003, 3, 3], &words(&[4, 0xfeed, 1, 0x6100_0000]));
        let reads = Lists::reads(&[(0, (0xa94, 0x1000, 40)), (0, (0xa95, 0x2000, 16))]);
        trace.send(Client, &message(NOMSG, XID, &reads, &[]));
        trace.read(Server, (0xa94, 0x1000), &call[..if bad { 39 } else { 40 }]);
        trace.read(Server, (0xa95, 0x2000), &call[40..53]);
        trace.answer();
    }),
    case("handle-shared", |trace, bad| {
        for xid in [XID, XID + 1] {
            let handle = if bad { 0xa94 } else { 0xa94 + xid };
            let lists = Lists::writes(&[&[(handle, u64::from(xid) << 20, 100)]]);
            trace.send(Client, &message(MSG, xid, &lists, &read3(xid, 100)));
        }
        trace.acknowledge(Server);
    }),
    case("invalidate-foreign", |trace, bad| {
        let lists = Lists::reply(&[segment(100)]);
        trace.send(Client, &message(MSG, XID, &lists, &null(XID)));
        let reply = message(MSG, XID, &Lists::reply(&[segment(0)]), &reply(XID, &[]));
        trace.invalidate(if bad { 0xa95 } else { 0xa94 }, &reply);
    }),
    case("invalidate-foreign", |trace, bad| {
        let lists = Lists::reply(&[segment(100)]);
        trace.send(Client, &message(MSG, XID, &lists, &null(XID)));
        let refusal = words(&[XID, 1, 32, ERROR, 2]);
        if bad {
            trace.invalidate(MEMORY.0, &refusal);
        } else {
            trace.send(Server, &refusal);
        }
    }),
    Case {
        slug: "invalidate-foreign",
        besides: &["handle-shared"],
        not_judged: &[],
        make: |trace, bad| {
            for xid in [XID, 8] {
                let lists = Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 100)]);
                trace.send(Client, &message(MSG, xid, &lists, &null(xid)));
            }
            trace.acknowledge(Server);
            let returned = |xid: u32| Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 0)]);
            let answer = |xid| message(MSG, xid, &returned(xid), &reply(xid, &[]));
            // Of the last one that waits it may be invalidated.
            let (first, last) = (answer(XID), answer(8));
            if bad {
                trace.invalidate(MEMORY.0, &first);
                trace.send(Server, &last);
            } else {
                trace.send(Server, &first);
                trace.invalidate(MEMORY.0, &last);
            }
        },
    },
    case("pull-not-notified", |trace, bad| {
        trace.send(Client, &null_message());
        trace.send(Server, &message(NOMSG, XID, &Lists::reads(&[(0, segment(24))]), &[]));
        trace.read(Client, MEMORY, &reply(XID, &[]));
        if !bad {
            trace.send(Client, &words(&[XID, 1, 32, DONE]));
        }
    }),
    case("private-data-version", |trace, bad| {
        let server = [0xf6, 0xab, 0x0e, 0x18, if bad { 2 } else { 1 }, 1, 3, 3];
        *trace = Trace::connected(&PRIVATE_DATA, &server);
        trace.null(XID);
    }),
    case("private-data-absent", |trace, bad| {
        *trace = Trace::connected(&PRIVATE_DATA, if bad { &[] } else { &PRIVATE_DATA });
        trace.null(XID);
    }),
    case("reverse-credit", |trace, bad| {
        trace.send(Server, &callback(50));
        if !bad {
            trace.send(Client, &message(MSG, 50, &Lists::default(), &reply(50, &[])));
        }
        trace.send(Server, &callback(51));
        trace.acknowledge(Client);
    }),
    case("reverse-version", |trace, bad| {
        if bad {
            trace.send(Server, &patched(callback(50), 4, 2));
            trace.send(Client, &words(&[50, 2, 32, ERROR, 1, 1, 1]));
        } else {
            trace.send(Server, &callback(50));
            trace.send(Client, &message(MSG, 50, &Lists::default(), &reply(50, &[])));
        }
    }),
    Case {
        slug: "answer",
        besides: &["proc-unknown"],
        not_judged: &[],
        make: |trace, bad| {
            trace.send(Client, &patched(null_message(), 12, 7));
            if !bad {
                trace.refuse(1);
            }
        },
    },
    case("v2-reserved-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, if bad { 0x10 } else { 0 }, &A_NO_CHUNKS, &null(XID)));
        trace.answer();
    }),
    case("v2-response-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, u32::from(bad), &A_NO_CHUNKS, &null(XID)));
        trace.answer();
    }),
    case("v2-response-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)));
        trace.send(Server, &a(A_MSG, XID, u32::from(!bad), &A_NO_CHUNKS, &reply(XID, &[])));
    }),
    case("v2-response-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)));
        trace.send(Server, &a(ERROR, XID, u32::from(!bad), &[BAD_XDR], &[]));
    }),
    case("v2-more-type", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Server, &a(A_NOMSG, 0, if bad { MORE } else { 0 }, &A_NO_CHUNKS, &[]));
    }),
    case("v2-more-sequence", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let (first, last) = parts();
        trace.send(Client, &a(A_MSG, XID, MORE, &A_NO_CHUNKS, &first));
        trace.send(Client, &a(A_MSG, if bad { XID + 1 } else { XID }, 0, &A_NO_CHUNKS, &last));
        if !bad {
            trace.answer();
        }
    }),
    case("v2-more-sequence", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let (first, last) = parts();
        trace.send(Client, &a(A_MSG, XID, MORE, &A_NO_CHUNKS, &first));
        if bad {
            trace.send(Client, &a(A_CONNPROP, XID, 0, &[0], &[]));
        }
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &last));
        trace.answer();
    }),
    case("v2-more-chunks", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let (first, last) = parts();
        let chunks = [0, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000];
        let lists = if bad { [&chunks[..], &A_NO_CHUNKS] } else { [&A_NO_CHUNKS[..], &chunks] };
        trace.send(Client, &a(A_MSG, XID, MORE, lists[0], &first));
        trace.send(Client, &a(A_MSG, XID, 0, lists[1], &last));
        if !bad {
            trace.answer();
        }
    }),
    case("v2-tpmore", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_CONNPROP, 70, if bad { 0 } else { TPMORE }, &[1, 1, 4, 8192], &[]));
        trace.send(Client, &a(A_CONNPROP, 71, 0, &[1, 2, 4, 8192], &[]));
    }),
    case("v2-tpmore", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, if bad { TPMORE } else { 0 }, &A_NO_CHUNKS, &null(XID)));
        if !bad {
            trace.answer();
        }
    }),
    case("v2-credit-zero", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let call = a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID));
        trace.send(Client, &patched(call, 8, if bad { 0x0020_0000 } else { 0x0000_0001 }));
        trace.answer();
    }),
    case("v2-first-message", |trace, bad| {
        *trace = Trace::silent(Version::A);
        // 36 octets of header: 1024 in all, or four more.
        let payload = call(XID, [100_003, 3, 0], &[0; 952]);
        trace.send(Client, &[a(A_MSG, XID, 0, &A_NO_CHUNKS, &payload[..988]), vec![0; usize::from(bad) * 4]].concat());
        trace.answer();
    }),
    case("v2-first-message", |trace, bad| {
        *trace = Trace::silent(Version::B);
        // 32 octets of header. What the server sends may be longer.
        let payload = call(XID, [100_003, 3, 0], &[0; 952]);
        trace.send(Client, &[b(CALL_INLINE, XID, &[0; 4], &payload), vec![0; usize::from(bad) * 4]].concat());
        trace.send(Server, &b(REPLY_INLINE, XID, &[0], &reply(XID, &[0; 2000])));
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let chunks = [if bad { 0xa95 } else { MEMORY.0 }, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000];
        trace.send(Client, &a(A_MSG, XID, 0, &chunks, &null(XID)));
        trace.answer();
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        // The Call chunk has the handle.
        let chunks = [if bad { 0xa95 } else { MEMORY.0 }, 1, 0, MEMORY.0, 40, 0, 0x1000, 0, 0, 0, 0];
        trace.send(Client, &b(CALL_EXTERNAL, XID, &chunks, &[]));
        trace.read(Server, (MEMORY.0, 0x1000), &null(XID));
        trace.answer();
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let chunks = [MEMORY.0, 0, 0, 1, 2, MEMORY.0, 100, 0, 0x1000, 0xa95, 100, 0, 0x2000];
        trace.send(Client, &a(A_MSG, XID, 0, &chunks, &null(XID)));
        trace.invalidate(if bad { 0xa95 } else { MEMORY.0 }, &a(A_MSG, XID, RESPONSE, &A_NO_CHUNKS, &reply(XID, &[])));
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let chunks = [if bad { 0 } else { MEMORY.0 }, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000];
        trace.send(Client, &b(CALL_INLINE, XID, &chunks, &null(XID)));
        trace.invalidate(MEMORY.0, &b(REPLY_INLINE, XID, &[0], &reply(XID, &[])));
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[MEMORY.0, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000], &null(XID)));
        let error = b(ERROR, XID, &[BAD_XDR], &[]);
        if bad {
            trace.invalidate(MEMORY.0, &error);
        } else {
            trace.send(Server, &error);
        }
    }),
    case("v2-property", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_CONNPROP, XID, 0, &[1, 1, if bad { 3 } else { 4 }, 0x2000], &[]));
    }),
    case("v2-property", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CONNPROP_FINAL, XID, &[2, 1, 0, 5, if bad { 2 } else { 4 }, 1], &[]));
    }),
    case("v2-continuation", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let (first, last) = parts();
        trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &first));
        trace.send(Client, &b(CALL_INLINE, if bad { XID + 1 } else { XID }, &[0; 4], &last));
        if !bad {
            trace.answer();
        }
    }),
    case("v2-continuation", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &null(XID)));
        // 24 octets in three parts; the octets of its own message count.
        let whole = reply(XID, &[]);
        trace.send(Server, &b(REPLY_MIDDLE, XID, &[24], &whole[..8]));
        trace.send(Server, &b(REPLY_MIDDLE, XID, &[if bad { 20 } else { 16 }], &whole[8..16]));
        trace.send(Server, &b(REPLY_INLINE, XID, &[0], &whole[16..]));
    }),
    case("v2-continuation", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Server, &b(if bad { CONNPROP_FINAL } else { CONNPROP_MIDDLE }, 70, &[1, 1, 4, 8192], &[]));
        trace.send(Server, &b(CONNPROP_FINAL, 71, &[1, 2, 4, 8192], &[]));
    }),
    case("write-length", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let offered = [0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000, 0, 0];
        trace.send(Client, &b(CALL_INLINE, XID, &offered, &read3(XID, 100)));
        trace.write((MEMORY.0, 0x1000), &octets(2, 100));
        let returned = [1, 1, MEMORY.0, if bad { 104 } else { 100 }, 0, 0x1000, 0];
        trace.send(Server, &b(REPLY_INLINE, XID, &returned, &reply(XID, &read3_results(100))));
    }),
    case("write-list-echo", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let lists = [0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000, 0, 0];
        trace.send(Client, &a(A_MSG, XID, 0, &lists, &read3(XID, 100)));
        trace.write((MEMORY.0, 0x1000), &octets(2, 100));
        let reply = a(A_MSG, XID, RESPONSE, &lists, &reply(XID, &read3_results(100)));
        trace.send(Server, &if bad { patched(reply, 48, 0x2000) } else { reply });
    }),
    case("v2-read-order", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let lists = [0, 1, if bad { 70 } else { 68 }, MEMORY.0, 100, 0, 0x1000, 0, 0, 0];
        trace.send(Client, &b(CALL_INLINE, XID, &lists, &write3(XID, 100)));
        trace.read(Server, (MEMORY.0, 0x1000), &octets(1, 100));
        trace.send(Server, &b(REPLY_INLINE, XID, &[0], &write3_reply(XID, 100)));
    }),
    // A header of version 2 that does not parse.
    case("header-short", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Server, &a(if bad { A_MSG } else { 6 }, 0, 0, &[], &[]));
    }),
    case("header-short", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Server, &b(if bad { REPLY_MIDDLE } else { GRANT }, 0, &[], &[]));
    }),
    case("list-flag", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[0, 0, if bad { 2 } else { 0 }, 0], &null(XID)));
        trace.answer();
    }),
    case("list-truncated", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(
            Client,
            &a(
                A_MSG,
                XID,
                0,
                if bad { &[0, 1, 68, 0xa94] } else { &A_NO_CHUNKS },
                &null(XID)[..if bad { 0 } else { 40 }],
            ),
        );
        trace.answer();
    }),
    case("v2-htype", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Server, &a(if bad { 10 } else { 6 }, 0, 0, &[], &[]));
    }),
    case("v2-htype", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Server, &b(if bad { 14 } else { GRANT }, 0, &[], &[]));
    }),
    case("v2-xid-mismatch", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(if bad { 8 } else { XID })));
        trace.answer();
    }),
    case("v2-xid-mismatch", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        // The first part of two tells.
        let whole = null(if bad { 8 } else { XID });
        trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &whole[..20]));
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &whole[20..]));
        trace.answer();
    }),
    case("v2-xid-mismatch", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        // In the Call chunk.
        trace.send(Client, &b(CALL_EXTERNAL, XID, &[0, 1, 0, MEMORY.0, 40, 0, 0x1000, 0, 0, 0, 0], &[]));
        trace.read(Server, (MEMORY.0, 0x1000), &null(if bad { 8 } else { XID }));
        trace.answer();
    }),
    case("v2-no-payload", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)[..if bad { 0 } else { 40 }]));
        trace.answer();
    }),
    case("v2-no-payload", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let (first, last) = parts();
        trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &first));
        if bad {
            trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &[]));
        }
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &last));
        trace.answer();
    }),
    case("v2-no-payload", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        // A call that asks for a long reply, and a grant of credits.
        trace.send(Server, &a(A_NOMSG, if bad { XID } else { 0 }, 0, &A_NO_CHUNKS, &[]));
    }),
    blind("v2-external", &["v2-xid-mismatch"], |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let chunk: &[u32] = if bad { &[] } else { &[1, 0, MEMORY.0, 40, 0, 0x1000] };
        trace.send(Client, &b(CALL_EXTERNAL, XID, &[&[0], chunk, &[0; 4]].concat(), &[]));
        if bad {
            trace.send(Server, &b(ERROR, XID, &[BAD_XDR], &[]));
        } else {
            trace.read(Server, (MEMORY.0, 0x1000), &null(XID));
            trace.answer();
        }
    }),
    blind("v2-external", &["v2-xid-mismatch"], |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let chunk = [1, 1, MEMORY.0, 100, 0, 0x1000];
        trace.send(Client, &b(CALL_INLINE, XID, &[&[0; 3][..], &chunk].concat(), &null(XID)));
        trace.write((MEMORY.0, 0x1000), &reply(XID, &[]));
        let returned = [0, 1, 1, MEMORY.0, 24, 0, 0x1000];
        trace.send(Server, &b(REPLY_EXTERNAL, XID, if bad { &[0, 0] } else { &returned }, &[]));
    }),
    case("v2-external", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let position = if bad { 0 } else { 68 };
        let lists = [0, 1, position, MEMORY.0, 100, 0, 0x1000, 0, 0, 0];
        trace.send(Client, &b(CALL_INLINE, XID, &lists, &write3(XID, 100)));
        trace.read(Server, (MEMORY.0, 0x1000), &octets(1, 100));
        trace.send(Server, &b(REPLY_INLINE, XID, &[0], &write3_reply(XID, 100)));
    }),
    case("v2-read-order", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let positions = if bad { [68, 64] } else { [64, 68] };
        let [one, two] =
            positions.map(|position| [1, position, MEMORY.0, 4, 0, 0x1000 + u32::from(position == 64) * 4]);
        trace.send(Client, &b(CALL_INLINE, XID, &[&[0][..], &one, &two, &[0; 3]].concat(), &null(XID)));
        trace.answer();
    }),
    case("v2-direction", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &null(XID)));
        let payload = if bad { null(XID) } else { reply(XID, &[]) };
        trace.send(Server, &b(REPLY_INLINE, XID, &[0], &payload));
    }),
    case("v2-grant-xid", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Server, &b(GRANT, if bad { XID } else { 0 }, &[], &[]));
    }),
    case("v2-trailing", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Server, &a(A_CONNPROP, 0, 0, &[0], if bad { &[0; 4] } else { &[] }));
    }),
    case("v2-trailing", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &null(XID)));
        trace.send(Server, &b(ERROR, XID, &[BAD_XDR], if bad { &[0; 4] } else { &[] }));
    }),
    // What refuses a version, as version 2 has it.
    case("error-range", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)));
        trace.send(Server, &a(ERROR, XID, RESPONSE, &[1, if bad { 4 } else { 3 }, 3], &[]));
    }),
    // As version 1 has it, on a connection of drafts -00 to -02.
    case("error-trailing", |trace, bad| {
        *trace = Trace { version: Version::A, ..Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA) };
        trace.null(1);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)));
        trace.send(Server, &[words(&[XID, 2, 32, ERROR, 1, 1, 1]), vec![0; usize::from(bad)]].concat());
    }),
];

#[test]
fn the_tables_have_every_rule_once() {
    let rules: Vec<&str> = check::rules().map(|rule| rule.slug).collect();
    assert_eq!(rules.iter().copied().collect::<BTreeSet<_>>(), SLUGS.into_iter().collect());
    assert_eq!(rules.len(), SLUGS.len());
}

#[test]
fn every_rule_has_a_case() {
    let cases: BTreeSet<&str> = CASES.iter().map(|case| case.slug).collect();
    let without: Vec<&str> = check::rules().map(|rule| rule.slug).filter(|slug| !cases.contains(slug)).collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn what_breaks_one_rule_breaks_no_other_and_its_twin_none_and_what_can_be_judged_is() {
    let mut wrong = Vec::new();
    for case in CASES {
        let besides: BTreeSet<&str> = case.besides.iter().copied().collect();
        for bad in [true, false] {
            let mut trace = Trace::new();
            (case.make)(&mut trace, bad);
            // What comes after has to be right as well.
            trace.null(0x99);
            let mut expected = besides.clone();
            expected.extend(bad.then_some(case.slug));
            let (found, counts) = judge(&trace.packets);
            let count = |rule| found.iter().filter(|found| found.rule.slug == rule).count() as u64;
            assert!(counts.iter().all(|Count { rule, broken, .. }| *broken == count(rule.slug)), "{}", case.slug);
            let found: BTreeSet<&str> = found.iter().map(|found| found.rule.slug).collect();
            let not_judged = counts.iter().filter(|count| count.not_judged > 0).map(|count| count.rule.slug);
            let not_judged: BTreeSet<&str> = not_judged.collect();
            let hidden = case.not_judged.iter().copied().collect();
            let is_expected = if bad { not_judged == hidden } else { not_judged.is_subset(&hidden) };
            if found != expected || !is_expected {
                let which = if bad { "broken" } else { "not broken" };
                wrong.push(format!("{} {which}: {found:?}, not judged: {not_judged:?}", case.slug));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Negotiation: a client begins with version 2, and a server of version 1 refuses it in its own layout.
#[test]
fn to_begin_with_version_2_and_go_on_with_version_1_breaks_no_rule() {
    let calls = [a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)), b(CALL_INLINE, XID, &[0; 4], &null(XID))];
    // An empty RDMA2_GRANT of family A is an empty RDMA2_CONNPROP_MIDDLE of family B: it does not show which it is.
    let unknown = b(6, 0, &[0], &[]);
    for first in calls.into_iter().chain([unknown]) {
        let xid = u32::from_be_bytes(first[..4].try_into().unwrap());
        let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        trace.send(Client, &first);
        trace.send(Server, &words(&[xid, 2, 32, ERROR, 1, 1, 1]));
        trace.null(8);
        trace.null(9);
        assert_eq!(slugs(&trace.packets), BTreeSet::new(), "{first:x?}");
    }
}

/// An RDMA_ERROR says nothing of the version that its sender's calls are of, nor does a Send of no known version. So
/// private data is not missed, and version 2 goes on.
#[test]
fn what_refuses_a_version_makes_no_connection_of_version_1() {
    for version in [Version::A, Version::B] {
        for low in [1, 2] {
            let mut trace = Trace::version_2(version);
            trace.send(Client, &patched(null_message(), 4, 3));
            trace.send(Server, &words(&[XID, 3, 32, ERROR, 1, low, 2]));
            trace.null(8);
            assert_eq!(slugs(&trace.packets), BTreeSet::from(["version"]), "{version:?}: {low} to 2");
        }
        // The server knows version 1 alone, and answers the first call in its own version: that is wrong by itself.
        let mut trace = Trace::silent(version);
        let call = |xid| match version {
            Version::A => a(A_MSG, xid, 0, &A_NO_CHUNKS, &null(xid)),
            _ => b(CALL_INLINE, xid, &[0; 4], &null(xid)),
        };
        trace.send(Client, &call(1));
        trace.send(Server, &words(&[1, 1, 32, ERROR, 1, 1, 1]));
        trace.send(Client, &call(2));
        trace.send(Server, &words(&[2, 2, 32, ERROR, 1, 1, 1]));
        assert_eq!(slugs(&trace.packets), BTreeSet::from(["error-echo", "error-range"]), "{version:?}");
    }
}

#[test]
fn version_2_on_a_connection_of_version_1_is_another_version() {
    for octets in [a(A_MSG, XID, 0x10, &A_NO_CHUNKS, &null(XID)), b(CALL_INLINE, XID, &[0; 4], &null(XID))] {
        let mut trace = Trace::new();
        trace.send(Client, &octets);
        trace.send(Server, &words(&[XID, 2, 32, ERROR, 1, 1, 1]));
        trace.null(8);
        assert_eq!(slugs(&trace.packets), BTreeSet::from(["version"]));
        let mut trace = Trace::new();
        trace.send(Server, &octets);
        trace.send(Client, &words(&[XID, 2, 32, ERROR, 1, 1, 1]));
        assert_eq!(slugs(&trace.packets), BTreeSet::from(["reverse-version"]));
    }
}

#[test]
fn a_part_of_a_version_2_message_that_was_missed_makes_the_rest_of_it_no_other() {
    for version in [Version::A, Version::B] {
        let mut trace = Trace::version_2(version);
        let whole = call(XID, [100_003, 3, 0], &[0; 60]);
        for part in 0..4 {
            let octets = &whole[part * 20..part * 20 + 20];
            trace.send(
                Client,
                &match version {
                    Version::A => a(A_MSG, XID, MORE, &A_NO_CHUNKS, octets),
                    _ => b(CALL_MIDDLE, XID, &[100 - part as u32 * 20], octets),
                },
            );
        }
        trace.send(
            Client,
            &match version {
                Version::A => a(A_MSG, XID, 0, &A_NO_CHUNKS, &whole[80..]),
                _ => b(CALL_INLINE, XID, &[0; 4], &whole[80..]),
            },
        );
        trace.answer();
        trace.null(8);
        let last = trace.packets.len();
        for missed in (3..last).flat_map(|first| (first..last).map(move |end| first..end)) {
            let mut packets = trace.packets.clone();
            packets.drain(missed.clone());
            assert_eq!(slugs(&packets), BTreeSet::new(), "{missed:?}");
        }
        // Joined in the middle.
        for first in 1..last {
            assert_eq!(slugs(&trace.packets[first..]), BTreeSet::new(), "{first}");
        }
    }
}

/// Where it is not known that a Payload stream begins, its first word is no XID.
#[test]
fn a_later_part_of_a_version_2_message_has_no_xid_to_be_judged() {
    let whole = call(XID, [100_003, 3, 0], &[0; 60]);
    let part = |remaining, place: usize| b(CALL_MIDDLE, XID, &[remaining], &whole[place..place + 20]);
    // Of a connection that was joined after the first part, and whose two directions an acknowledgement shows to be one.
    let mut trace = Trace::version_2(Version::B);
    trace.send(Client, &b(CALL_INLINE, 20, &[0; 4], &null(20)));
    trace.send(Client, &part(100, 0));
    let joined = trace.packets.len();
    trace.reply(20);
    let ack = trace.wire.ack_all(Client);
    trace.packets.push(ack);
    trace.send(Client, &part(80, 20));
    let ack = trace.wire.ack_all(Server);
    trace.packets.push(ack);
    trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &whole[40..]));
    trace.answer();
    trace.null(8);
    assert_eq!(slugs(&trace.packets[joined..]), BTreeSet::new());
    // Behind a message of another RPC, which is dropped.
    let mut trace = Trace::version_2(Version::B);
    trace.send(Client, &part(100, 0));
    trace.send(Client, &b(CALL_INLINE, XID + 1, &[0; 4], &null(XID + 1)));
    trace.send(Client, &part(80, 20));
    trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &whole[40..]));
    trace.answer();
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["v2-continuation"]));
    // Behind a first part that nobody can read.
    let mut trace = Trace::version_2(Version::B);
    trace.send(Client, &b(CALL_MIDDLE, XID, &[], &[]));
    trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &whole[20..]));
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["header-short"]));
}

#[test]
fn what_is_not_known_of_version_2_is_counted() {
    let mut trace = Trace::version_2(Version::B);
    let before = trace.packets.len();
    trace.send(Client, &b(CALL_INLINE, XID, &[MEMORY.0, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000], &null(XID)));
    trace.invalidate(0xa95, &b(REPLY_INLINE, XID, &[0], &reply(XID, &[])));
    // The call is missed: an acknowledgement tells that there was one.
    trace.packets.remove(before);
    let ack = trace.wire.ack_all(Server);
    trace.packets.insert(before, ack);
    trace.null(8);
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{found:?}");
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert_eq!((not_judged("v2-inv-handle"), not_judged("v2-htype")), (1, 0));
    // Without the set-up nobody knows which message is the first.
    let (_, counts) = judge(&trace.packets[3..]);
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert!(not_judged("v2-first-message") > 0);
    // An RDMA2_GRANT or an RDMA2_CONNPROP_MIDDLE.
    let mut trace = Trace::silent(Version::A);
    trace.send(Client, &b(6, 0, &[0], &[]));
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(counts.iter().find(|count| count.rule.slug == "v2-reserved-flag").unwrap().not_judged, 1);
}

/// A finding: frame, severity, slug, connection.
type Line = (u64, Severity, &'static str, u32);

/// What is found in a shipped capture, and what became of the rules.
fn shipped(name: &str) -> (Vec<Line>, Vec<Count>) {
    let path = format!("{}/../testdata/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
    let config = Config { transactions: false, operations: true, ..Config::default() };
    let mut events = Events::new(Capture::from_paths([path]), config);
    let mut checker = Checker::default();
    for event in &mut events {
        checker.event(&event.unwrap());
    }
    let found = std::iter::from_fn(|| checker.finding());
    let found = found.map(|found| (found.stamp.frame, found.severity, found.rule.slug, found.connection)).collect();
    (found, checker.counts().collect())
}

/// Linux 6.1 `nfsd` invalidates handles though its own private data does not announce that it does: README.md there has it
/// octet by octet. It is said once a connection.
const NFS: [(&str, u64); 11] = [
    ("nfs3", 138),
    ("nfs3_ipv6", 138),
    ("nfs40", 123),
    ("nfs41", 32),
    ("nfs41_callback", 29),
    ("nfs42_mtu9000", 29),
    ("nfs41_lossy", 31),
    ("nfs41_krb5", 47),
    ("nfs41_krb5i", 48),
    ("iwarp_nfs41", 32),
    ("iwarp_nfs3_lossy", 107),
];

#[test]
fn one_rule_is_broken_in_the_nfs_captures_and_all_rules_are_judged() {
    for (name, frame) in NFS {
        let (found, counts) = shipped(name);
        assert_eq!(found, [(frame, Severity::Error, "invalidate-foreign", 1)], "{name}");
        for Count { rule, not_judged, .. } in counts {
            assert_eq!(not_judged, 0, "{name}: {}", rule.slug);
        }
    }
    assert_eq!(shipped("perftest").0, []);
}

#[test]
fn remote_invalidation_without_the_set_up_of_its_connection_is_once_not_judged() {
    for (set_up, expected) in [(true, 0), (false, 1)] {
        let mut trace = Trace::new();
        // These tell that the two directions are one connection.
        trace.acknowledge(Client);
        trace.acknowledge(Server);
        for xid in [XID, 8, 9] {
            let lists = |length| Lists::reply(&[(xid, 0x1000, length)]);
            trace.send(Client, &message(MSG, xid, &lists(100), &null(xid)));
            trace.invalidate(xid, &message(MSG, xid, &lists(0), &reply(xid, &[])));
        }
        // What comes before the first call is the set-up.
        let (found, counts) = judge(&trace.packets[if set_up { 0 } else { 3 }..]);
        assert!(found.is_empty(), "{found:?}");
        let count = counts.iter().find(|count| count.rule.slug == "invalidate-foreign").unwrap();
        assert_eq!(count.not_judged, expected);
    }
}

#[test]
fn private_data_that_the_capture_cut_is_neither_absent_nor_wrong() {
    // The private data of the two ends: the octets before it, and its end in its frame; those of the other are shorter.
    for (name, request, reply) in [("nfs41", 262..270, 122..130), ("nfs3_ipv6", 282..290, 142..150)] {
        let records = transcode::capture(name);
        for length in [reply.start, reply.start + 4, reply.end - 1, reply.end, request.start + 4, request.end - 1] {
            let (found, counts) = judged(&transcode::cut(&records, length));
            let not_judged = |slug| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
            assert!(found.is_empty(), "{name} cut to {length}: {:?}", found[0].rule.slug);
            let ends = if length < reply.end { 2 } else { 1 };
            assert_eq!(
                (not_judged("private-data-absent"), not_judged("private-data-version")),
                (ends, ends),
                "{length}"
            );
            assert!(not_judged("inline-exceeded") > 0, "{name} cut to {length}");
        }
        let (found, counts) = judged(&transcode::cut(&records, request.end));
        assert!(found.iter().any(|found| found.rule.slug == "invalidate-foreign"), "what is not cut is judged");
        let all = |slug| counts.iter().all(|count| count.rule.slug != slug || count.not_judged == 0);
        assert!(all("private-data-absent") && all("inline-exceeded"), "{name}");
    }
}

#[test]
fn what_the_ends_of_an_iwarp_connection_announce_is_judged() {
    // The MPA reply is in frame 26; its private data begins at octet 90, after the words about RDMA Reads.
    let records = transcode::capture("iwarp_nfs41");
    assert_eq!(records[25].data[90..], [0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3]);
    for (at, octet, expected) in
        [(94, 2, "private-data-version"), (95, 0x80, "private-data-version"), (90, 0, "private-data-absent")]
    {
        let mut records = records.clone();
        records[25].data[at] = octet;
        let (found, _) = judged(&records);
        let found = found.iter().map(|found| (found.stamp.frame, found.rule.slug));
        let found: Vec<_> = found.filter(|(_, slug)| slug.starts_with("private-data")).collect();
        assert_eq!(found, [(26, expected)], "{at}");
    }
}

/// What is wrong with each of the 27 connections of `errors`: the frames, and what breaks which rule there.
#[rustfmt::skip]
const ERRORS: [&[(u64, &str)]; 27] = [
    &[],
    &[(31, "header-short"), (33, "answer")],
    &[(40, "header-short"), (42, "answer")],
    &[(49, "version")],
    &[(58, "version")],
    &[(67, "proc-unknown")],
    &[(76, "msgp-sent")],
    &[(85, "done-sent")],
    &[(93, "error-from-requester"), (93, "error-trailing")],
    &[(103, "answer"), (103, "nomsg-empty")],
    &[(110, "list-flag")],
    &[(119, "list-flag")],
    &[(128, "list-truncated")],
    &[(137, "list-truncated")],
    &[],
    &[(157, "reply-chunk-missing")],
    &[(166, "rdma-write-bounds")],
    &[(175, "xid-mismatch"), (177, "answer")],
    &[(184, "credit-zero-request")],
    &[(193, "ddp-not-eligible"), (195, "rdma-read-bounds")],
    &[(204, "read-position-zero-in-msg"), (206, "rdma-read-bounds")],
    &[(214, "read-position-align")],
    &[(223, "ddp-not-eligible"), (223, "read-position-beyond"), (223, "read-position-order"), (225, "rdma-read-bounds")],
    &[(235, "ddp-not-eligible"), (235, "inline-exceeded"), (237, "rdma-read-bounds")],
    &[],
    &[(258, "answer"), (258, "msg-no-payload")],
    &[(267, "msg-no-payload")],
];

#[test]
fn each_defect_of_errors_is_named_and_each_answer_judged() {
    let (found, _) = shipped("errors");
    for (expected, connection) in ERRORS.iter().zip(1..) {
        let of = found.iter().filter(|(.., number)| *number == connection);
        let (absent, mut of): (Vec<_>, Vec<_>) =
            of.map(|(frame, _, slug, _)| (*frame, *slug)).partition(|(_, slug)| *slug == "private-data-absent");
        of.sort_unstable();
        assert_eq!(&of[..], *expected, "connection {connection}");
        // The program that sent all this sends no private data, and the server does.
        assert_eq!(absent.len(), 1, "connection {connection}");
    }
}

#[test]
fn what_linux_does_wrong_with_chunks_is_found() {
    let error = |frame, slug, connection| (frame, Severity::Error, slug, connection);
    assert_eq!(shipped("reduced_reply").0, [error(25, "write-unwritten", 1), error(37, "write-roundup", 1)]);
    assert_eq!(shipped("krb5i_reduced").0, [error(40, "gss-reduced", 2)]);
}

#[test]
fn memory_that_was_withdrawn_is_not_held_against_the_responder() {
    let (found, _) = judged(&transcode::capture("withdrawn"));
    let found: Vec<_> = found
        .iter()
        .map(|found| (found.stamp.frame, found.severity, found.rule.slug, found.connection, found.blame))
        .collect();
    let hazard = |frame, slug, connection| (frame, Severity::Hazard, slug, connection, Blame::Receiver);
    assert_eq!(found, [hazard(23, "rdma-write-bounds", 1), hazard(36, "rdma-read-bounds", 2)]);
}

#[test]
fn the_xid_of_a_long_message_is_judged_too() {
    for (frame, make) in [
        // The call is in the frames 6 to 8, the reply in 9.
        (
            6,
            (|trace| {
                let lists = Lists::reads(&[(0, segment(40))]);
                trace.send(Client, &message(NOMSG, XID, &lists, &[]));
                trace.read(Server, MEMORY, &null(8));
                trace.answer();
            }) as fn(&mut Trace),
        ),
        (8, |trace| {
            trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
            trace.write(MEMORY, &reply(8, &[]));
            trace.send(Server, &message(NOMSG, XID, &Lists::reply(&[segment(24)]), &[]));
        }),
    ] {
        let mut trace = Trace::new();
        make(&mut trace);
        let (found, _) = judge(&trace.packets);
        let found: Vec<_> = found.iter().map(|found| (found.stamp.frame, found.rule.slug)).collect();
        assert_eq!(found, [(frame, "xid-mismatch")]);
    }
}

#[test]
fn what_is_missed_is_not_judged_and_counted() {
    let mut trace = Trace::new();
    let before = trace.packets.len();
    trace.read_rpc(100, &[segment(100)], &[segment(104)]);
    // The call is missed: an acknowledgement tells that there was one.
    trace.packets.remove(before);
    let ack = trace.wire.ack_all(Server);
    trace.packets.insert(before, ack);
    for xid in 100..180 {
        trace.null(xid);
        let ack = trace.wire.ack_all(Server);
        trace.packets.push(ack);
    }
    let (found, counts) = judge(&trace.packets);
    let found: Vec<&str> = found.iter().map(|found| found.rule.slug).collect();
    assert!(found.is_empty(), "{found:?}");
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    for slug in ["write-length", "write-roundup", "rdma-write-bounds", "reply-unexpected", "write-list-echo"] {
        assert_eq!(not_judged(slug), 1, "{slug}");
    }
    assert_eq!(not_judged("xid-mismatch"), 0);
}

/// What makes a capture.
type Make = fn(&mut Trace);
/// A finding's rule, offset and message.
type Said = (&'static str, Option<usize>, String);

fn said(packets: &[Packet]) -> Vec<Said> {
    judge(packets).0.into_iter().map(|found| (found.rule.slug, found.offset, found.message)).collect()
}

/// Which octets are wrong, and where the header names their chunk.
#[test]
fn a_finding_about_a_chunk_gives_its_place_and_the_octets_that_are_wrong() {
    let cases: [(Make, &str, usize, &str); 10] = [
        (
            |trace| {
                // The call has another Write chunk, which is not used.
                let (used, unused) = (segment(104), (0xb00, 0x100, 100));
                trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[used], &[unused]]), &read3(XID, 101)));
                trace.write(MEMORY, &octets(2, 104));
                let returned = Lists::writes(&[&[used], &[(0xb00, 0x100, 0)]]);
                trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &read3_results(101))));
            },
            "write-roundup",
            28,
            "Write chunk 0 returned 104 octets for an item of 101",
        ),
        (
            |trace| {
                let mut results = read3_results(96);
                results[16..20].copy_from_slice(&100u32.to_be_bytes());
                trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(104)]]), &read3(XID, 104)));
                trace.write(MEMORY, &octets(2, 96));
                trace.send(Server, &message(MSG, XID, &Lists::writes(&[&[segment(96)]]), &reply(XID, &results)));
            },
            "write-roundup",
            28,
            "Write chunk 0 returned 96 octets, and its item has 100",
        ),
        (
            |trace| {
                // The padding is in the segment of the data, and nothing is in the one behind it.
                let (data, rest) = ((0xa94, 0x1000), (0xa95, 0x2000));
                let lists = |data_length, rest_length| {
                    Lists::writes(&[&[(data.0, data.1, data_length), (rest.0, rest.1, rest_length)]])
                };
                trace.send(Client, &message(MSG, XID, &lists(104, 60), &read3(XID, 101)));
                trace.write(data, &octets(2, 104));
                trace.send(Server, &message(MSG, XID, &lists(101, 0), &reply(XID, &read3_results(101))));
            },
            "write-roundup",
            28,
            "Write chunk 0: octets 101 to 103 were written, which pad the item before them",
        ),
        (
            |trace| {
                let lists = Lists::writes(&[&[segment(100)]]);
                trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
                trace.write(MEMORY, &octets(2, 90));
                trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
            },
            "write-unwritten",
            28,
            "Write chunk 0: octets 90 to 99 of the 100 returned were not written",
        ),
        (
            |trace| {
                // Nothing is in a Reply chunk that could be counted twice.
                let lists = Lists::writes(&[&[segment(100)]]);
                trace.rpc(&lists, &read3(XID, 100), &lists, &reply(XID, &read3_results(100)));
            },
            "write-unwritten",
            28,
            "Write chunk 0: octets 0 to 99 of the 100 returned were not written",
        ),
        (
            |trace| {
                let lists =
                    |length| Lists { writes: vec![vec![(0xa95, 0x2000, 100)]], ..Lists::reply(&[segment(length)]) };
                trace.send(Client, &message(MSG, XID, &lists(200), &read3(XID, 100)));
                trace.write((0xa95, 0x2000), &octets(2, 100));
                trace.write(MEMORY, &reply(XID, &read3_results(100)));
                trace.send(Server, &message(NOMSG, XID, &lists(144), &[]));
            },
            "write-unwritten",
            56,
            "Reply chunk: octets 44 to 143 of the 144 returned were not written, as many as were reduced",
        ),
        (
            |trace| {
                trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
                trace.read(Server, MEMORY, &octets(1, 60));
                trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
            },
            "read-not-pulled",
            0,
            "octets 60 to 99 of the Read chunk at Position 68 were not read, and the call succeeded",
        ),
        (
            |trace| trace.write_rpc(100, &[(68, segment(96))]),
            "read-length",
            20,
            "the chunk at Position 68 has 96 octets, its item 100",
        ),
        (
            // The Position Zero Read chunk has two segments.
            |trace| {
                let stream = write3(XID, 101);
                let reads = [(0, (0xb00, 0x100, 40)), (0, (0xb01, 0x200, 28)), (68, segment(104))];
                trace.send(Client, &message(NOMSG, XID, &Lists::reads(&reads), &[]));
                trace.read(Server, (0xb00, 0x100), &stream[..40]);
                trace.read(Server, (0xb01, 0x200), &stream[40..]);
                trace.read(Server, MEMORY, &octets(1, 104));
                trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 101)));
            },
            "read-roundup",
            68,
            "104 octets at Position 68 for an item of 101",
        ),
        (
            // The second of two NFSv4 WRITEs: before it is an item that was reduced, with its padding.
            |trace| write_twice(trace, (101, 101), (96, 100)),
            "read-length",
            44,
            "the chunk at Position 240 has 96 octets, its item 100",
        ),
    ];
    for (make, slug, offset, message) in cases {
        let mut trace = Trace::new();
        make(&mut trace);
        trace.null(0x99);
        assert_eq!(said(&trace.packets), [(slug, Some(offset), message.to_owned())]);
    }
}

/// PUTFH and two WRITEs, each with its data in a Read chunk: the length of the chunk, and of the item.
fn write_twice(trace: &mut Trace, first: (u32, u32), second: (u32, u32)) {
    let write = |(_, item)| words(&[38, 0, 0, 0, 0, 0, 0, 2, item]);
    let arguments = [words(&[0, 0, 3, 22, 4, 0xfeed]), write(first), write(second)].concat();
    // The first item has its padding behind it.
    let place = 100 + first.1.next_multiple_of(4) + 36;
    let reads = Lists::reads(&[(100, segment(first.0)), (place, (0xb00, 0x100, second.0))]);
    trace.send(Client, &message(MSG, XID, &reads, &call(XID, [100_003, 4, 1], &arguments)));
    trace.read(Server, MEMORY, &octets(1, first.0 as usize));
    trace.read(Server, (0xb00, 0x100), &octets(2, second.0 as usize));
    let written = |(_, item)| words(&[38, 0, item, 2, 9, 9]);
    let results = [words(&[0, 0, 3, 22, 0]), written(first), written(second)].concat();
    trace.send(Server, &message(MSG, XID, &Lists::default(), &reply(XID, &results)));
}

/// PUTFH and two READs of 100 octets: which of them are in their Write chunk.
fn read_twice(trace: &mut Trace, in_chunk: [bool; 2]) {
    let read = words(&[25, 0, 0, 0, 0, 0, 0, 100]);
    let arguments = [words(&[0, 0, 3, 22, 4, 0xfeed]), read.clone(), read].concat();
    let chunks = [(0xa94, 0x1000), (0xb00, 0x2000)];
    let lists = |lengths: [u32; 2]| {
        let writes = chunks.iter().zip(lengths).map(|((handle, offset), length)| vec![(*handle, *offset, length)]);
        Lists { writes: writes.collect(), ..Lists::default() }
    };
    trace.send(Client, &message(MSG, XID, &lists([100; 2]), &call(XID, [100_003, 4, 1], &arguments)));
    let mut results = words(&[0, 0, 3, 22, 0]);
    for (memory, is_in_chunk) in chunks.into_iter().zip(in_chunk) {
        results.extend(words(&[25, 0, 1, 100]));
        if is_in_chunk {
            trace.write(memory, &octets(2, 100));
        } else {
            results.extend(octets(3, 100));
        }
    }
    let returned = lists(in_chunk.map(|is_in_chunk| if is_in_chunk { 100 } else { 0 }));
    trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &results)));
}

#[test]
fn each_result_that_is_inline_ignores_the_write_chunk_that_was_next() {
    for (in_chunk, expected) in [
        ([true, true], &[][..]),
        ([true, false], &[(1, 52)]),
        ([false, true], &[(0, 28)]),
        ([false; 2], &[(0, 28), (1, 52)]),
    ] {
        let mut trace = Trace::new();
        read_twice(&mut trace, in_chunk);
        trace.null(0x99);
        let expected = expected.iter().map(|(chunk, offset)| {
            ("write-ignored", Some(*offset), format!("100 octets inline, and Write chunk {chunk} was given for them"))
        });
        assert_eq!(said(&trace.packets), Vec::from_iter(expected), "{in_chunk:?}");
    }
}

/// A segment behind the data that was not written is no padding, wherever it begins.
#[test]
fn a_segment_in_which_nothing_was_written_has_no_padding() {
    let lists = |lengths: [u32; 2]| Lists::writes(&[&[(0xa94, 0x1000, lengths[0]), (0xa95, 0x2000, lengths[1])]]);
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &lists([104, 60]), &read3(XID, 101)));
    trace.write((0xa94, 0x1000), &octets(2, 101));
    trace.send(Server, &message(MSG, XID, &lists([101, 0]), &reply(XID, &read3_results(101))));
    trace.null(0x99);
    assert_eq!(said(&trace.packets), []);
}

#[test]
fn private_data_that_is_too_short_or_of_another_version_is_told_apart() {
    // The octets before it, what there is of it, and what is said. A connection request is answered with 196 octets.
    let all = [0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3];
    for (before, length, expected) in [
        (0, 8, "private data of version 2"),
        (188, 8, "private data of version 2"),
        (189, 7, "private data of 7 octets"),
        (192, 4, "private data of 4 octets"),
    ] {
        let mut trace = Trace::connected(&PRIVATE_DATA, &[&vec![0; before], &all[..length]].concat());
        trace.null(XID);
        assert_eq!(said(&trace.packets), [("private-data-version", None, expected.to_owned())]);
    }
}

#[test]
fn private_data_is_judged_where_no_message_of_its_connection_is_read() {
    let mut trace = Trace::connected(&[], &PRIVATE_DATA);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["private-data-absent"]));
    // Nothing in this says which version it is of.
    trace.send(Client, &null_message()[..12]);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["private-data-absent", "header-short"]));
}

/// A reply that answers nothing is proven by what the client sends after it.
#[test]
fn what_waits_for_its_proof_is_given_up_where_that_is_missed_and_not_where_the_other_end_is() {
    for (missed, expected) in [(None, 1), (Some(Server), 1), (Some(Client), 0)] {
        let mut trace = Trace::new();
        trace.null(XID);
        trace.answer();
        for xid in [8, 9] {
            let first = trace.packets.len();
            trace.null(xid);
            let by = if let (8, Some(by)) = (xid, missed) { by } else { continue };
            // One Send is not in the capture, and its receiver acknowledges it.
            trace.packets.remove(if by == Client { first } else { first + 1 });
            trace.acknowledge(if by == Client { Server } else { Client });
        }
        let (found, counts) = judge(&trace.packets);
        assert!(found.iter().all(|found| found.rule.slug == "reply-unexpected"), "{missed:?}: {found:?}");
        let count = counts.iter().find(|count| count.rule.slug == "reply-unexpected").unwrap();
        assert_eq!((count.broken, count.not_judged > 0), (expected, missed == Some(Client)), "{missed:?}");
    }
}

/// A call and its reply in a responder-provided Read chunk.
fn provided(trace: &mut Trace, xid: u32) {
    trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
    trace.send(Server, &message(NOMSG, xid, &Lists::reads(&[(0, (xid, 0, 24))]), &[]));
}

fn broken_by_xid(packets: &[Packet]) -> Vec<(&'static str, Option<u32>)> {
    judge(packets).0.iter().map(|found| (found.rule.slug, found.xid)).collect()
}

#[test]
fn each_provided_reply_is_read_and_notified_by_its_own_xid() {
    // What is read of one is not read of the other.
    let mut trace = Trace::new();
    provided(&mut trace, XID);
    provided(&mut trace, 8);
    trace.read(Client, (8, 0), &reply(8, &[]));
    trace.null(0x99);
    assert_eq!(broken_by_xid(&trace.packets), [("pull-not-notified", Some(8))]);
    // RDMA_DONE for one says nothing of the other.
    trace.read(Client, (XID, 0), &reply(XID, &[]));
    trace.send(Client, &words(&[8, 1, 32, DONE]));
    trace.null(0x9a);
    assert_eq!(broken_by_xid(&trace.packets), [("pull-not-notified", Some(XID))]);
    // Who sends RDMA_DONE knows such replies, and need not read a later one.
    let mut trace = Trace::new();
    provided(&mut trace, XID);
    trace.send(Client, &words(&[XID, 1, 32, DONE]));
    provided(&mut trace, 8);
    trace.null(0x99);
    assert_eq!(broken_by_xid(&trace.packets), []);
}

#[test]
fn what_an_end_sends_that_may_be_a_call_excuses_no_error_of_another_xid() {
    for (damaged, is_accused) in [(50, false), (51, true)] {
        let mut trace = Trace::new();
        // What it answers may come late.
        trace.send(Client, &words(&[50, 1, 32, ERROR, 2]));
        trace.send(Server, &callback(damaged)[..28]);
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets).contains("error-from-requester"), is_accused, "{damaged}");
    }
    // Nor a handle that the calls of the other end share.
    for damaged in [XID, 8] {
        let mut trace = Trace::new();
        for xid in [XID, 8] {
            let lists = Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 100)]);
            trace.send(Client, &message(MSG, xid, &lists, &null(xid)));
        }
        trace.acknowledge(Server);
        trace.null(9);
        trace.send(Server, &message(MSG, damaged, &Lists::default(), &[]));
        trace.null(0x99);
        assert!(slugs(&trace.packets).contains("handle-shared"), "{damaged}");
    }
}

/// The queue pair may serve another connection by then, until something can be read again.
#[test]
fn what_cannot_be_read_after_a_loss_breaks_no_rule_until_something_can() {
    let malformed = |version| match version {
        Version::One => patched(null_message(), 20, 255),
        Version::A => a(A_MSG, XID, 0, &[0, 2], &[]),
        Version::B => b(CALL_INLINE, XID, &[0, 0, 2, 0], &null(XID)),
    };
    for version in [Version::One, Version::A, Version::B] {
        for is_read in [false, true] {
            let mut trace = Trace { version, ..Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA) };
            trace.null(1);
            let missed = trace.packets.len();
            trace.null(2);
            trace.packets.remove(missed);
            trace.acknowledge(Server);
            if is_read {
                trace.null(3);
            }
            trace.send(Client, &malformed(version));
            trace.acknowledge(Server);
            assert_eq!(slugs(&trace.packets).contains("list-flag"), is_read, "{version:?}");
        }
    }
}

#[test]
fn a_call_that_nobody_can_read_may_have_advertised_what_is_used_and_be_what_is_answered() {
    let unreadable = message(MSG, XID, &Lists::reads(&[(68, (0xb00, 0, 100))]), &write3(XID, 100));
    for (is_readable, expected) in [(true, &["rdma-read-bounds", "reply-unexpected"][..]), (false, &["list-flag"])] {
        let mut trace = Trace::new();
        // The flag behind the first Read segment.
        trace.send(Client, &if is_readable { null_message() } else { patched(unreadable.clone(), 40, 255) });
        trace.read(Server, (0xb00, 0), &octets(1, 100));
        trace.reply(8);
        trace.refuse(1);
        trace.null(0x99);
        let mut found = slugs(&trace.packets);
        found.remove("reply-chunk-missing");
        assert_eq!(found, expected.iter().copied().collect(), "{is_readable}");
    }
}

/// The session keeps so many calls; one that it gave up may be answered all the same.
#[test]
fn the_reply_to_a_call_that_was_given_up_is_not_unexpected() {
    let mut trace = Trace::new();
    for xid in 0x1000..0x1000 + 4200 {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
    }
    trace.reply(0x1000);
    trace.null(0x99);
    assert!(!slugs(&trace.packets).contains("reply-unexpected"));
    assert!(not_judged(&trace.packets, "reply-unexpected") > 0);
}

/// Of a connection that was joined later, whoever calls a program that is known is the client.
#[test]
fn an_error_that_answers_nothing_is_judged_where_the_client_is_known() {
    let joined = |callback_only: bool, by| {
        let mut trace = Trace::new();
        if callback_only {
            // Nobody knows this program: the client announces it.
            trace.send(Server, &callback(50));
            trace.send(Client, &message(MSG, 50, &Lists::default(), &reply(50, &[])));
            trace.packets.drain(..5);
        } else {
            trace.null(8);
            trace.packets.drain(..3);
        }
        trace.acknowledge(Client);
        trace.acknowledge(Server);
        trace.send(by, &words(&[77, 1, 32, ERROR, 2]));
        if callback_only {
            trace.send(Server, &callback(51));
            trace.send(Client, &message(MSG, 51, &Lists::default(), &reply(51, &[])));
        } else {
            trace.null(9);
        }
        trace.acknowledge(Client);
        slugs(&trace.packets)
    };
    assert_eq!(joined(false, Client), BTreeSet::from(["error-from-requester"]));
    assert_eq!(joined(false, Server), BTreeSet::new());
    assert_eq!(joined(true, Client), BTreeSet::new());
    assert_eq!(joined(true, Server), BTreeSet::new());
}

/// RFC 8167 section 5.1: the server calls in the version that the client uses, once it has used one.
#[test]
fn a_call_of_the_server_in_another_version_breaks_the_rule_of_its_direction() {
    // As soon as the client has called, and owed an answer.
    let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
    trace.send(Client, &null_message());
    trace.send(Server, &patched(callback(50), 4, 3));
    trace.answer();
    trace.null(8);
    let owed = ("answer", Severity::Error, Blame::Receiver);
    assert_eq!(blamed(&trace.packets), [("reverse-version", Severity::Error, Blame::Sender), owed]);
    // Before that, and what is no call of the server, breaks the rule of any Send.
    let mut before = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
    before.send(Server, &patched(callback(50), 4, 3));
    let mut reply_in_3 = Trace::new();
    reply_in_3.send(Client, &null_message());
    reply_in_3.send(Server, &patched(message(MSG, XID, &Lists::default(), &reply(XID, &[])), 4, 3));
    for mut trace in [before, reply_in_3] {
        trace.null(8);
        let found = slugs(&trace.packets);
        assert!(found.contains("version") && !found.contains("reverse-version"), "{found:?}");
    }
}

#[test]
fn without_its_set_up_what_is_longer_than_the_least_threshold_is_not_judged() {
    for (length, expected) in [(1024, 0), (1028, 1)] {
        let mut trace = Trace::new();
        trace.acknowledge(Client);
        trace.acknowledge(Server);
        trace.packets.drain(..3);
        trace.send(Client, &message(MSG, XID, &Lists::default(), &[null(XID), vec![0; length - 68]].concat()));
        trace.answer();
        assert_eq!(not_judged(&trace.packets, "inline-exceeded"), expected, "{length}");
    }
}

#[test]
fn a_reply_may_repeat_the_wrong_xid_of_its_call_and_no_other() {
    let call = patched(message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)), 48, 8);
    let inline = |xid| message(MSG, XID, &Lists::reply(&[segment(0)]), &reply(xid, &[]));
    for (in_chunk, xid, of_reply) in [(false, 8, 0), (false, 9, 1), (true, 8, 0), (true, 9, 1)] {
        let mut trace = Trace::new();
        trace.send(Client, &call);
        if in_chunk {
            trace.write(MEMORY, &reply(xid, &[]));
            trace.send(Server, &message(NOMSG, XID, &Lists::reply(&[segment(24)]), &[]));
        } else {
            trace.send(Server, &inline(xid));
        }
        trace.null(0x99);
        let found = judge(&trace.packets).0;
        let mismatches = found.iter().filter(|found| found.rule.slug == "xid-mismatch");
        assert_eq!(mismatches.count(), 1 + of_reply, "in a chunk: {in_chunk}, {xid}: {found:?}");
    }
}

#[test]
fn a_read_after_the_reply_is_outside_what_is_advertised() {
    let mut trace = Trace::new();
    trace.write_rpc(100, &[(68, segment(100))]);
    trace.read(Server, MEMORY, &octets(1, 100));
    trace.null(0x99);
    let message = format!(
        "100 octets at handle {:#010x} offset {:#018x}, after the reply to {XID:#010x}, which had advertised them",
        MEMORY.0, MEMORY.1
    );
    assert_eq!(said(&trace.packets), [("rdma-read-bounds", None, message)]);
}

/// What is known of an implementation is one form of a finding, and not all findings of its rule.
#[test]
fn a_finding_in_another_form_than_the_known_one_is_not_known() {
    let mut trace = Trace::new();
    trace.send(Client, &patched(null_message(), 12, 7));
    trace.null(0x99);
    let found = judge(&trace.packets).0;
    let answer = found.iter().find(|found| found.rule.slug == "answer").unwrap();
    assert!(answer.known().is_none(), "{answer:?}");
}

/// `ERR_CHUNK` may be for want of a Reply chunk; a call that breaks a rule got it for that.
#[test]
fn a_long_call_that_is_wrong_itself_is_not_refused_for_want_of_a_reply_chunk() {
    for (length, expected) in
        [(5, &["reply-chunk-missing"][..]), (8, &["read-roundup", "reply-chunk-missing"]), (12, &["read-length"])]
    {
        let mut trace = Trace::new();
        let arguments = write3(XID, 5);
        let reads = [(0, (0xb00, 0, arguments.len() as u32)), (WRITE3_POSITION, segment(length))];
        trace.send(Client, &message(NOMSG, XID, &Lists::reads(&reads), &[]));
        trace.read(Server, (0xb00, 0), &arguments);
        trace.read(Server, MEMORY, &octets(1, length as usize));
        trace.refuse(1);
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets), expected.iter().copied().collect(), "{length}");
    }
}

#[test]
fn a_read_chunk_outside_the_arguments_is_not_said_to_be_no_item_too() {
    // GETATTR: 44 octets before the handle, which are the last four.
    let getattr = call(XID, [100_003, 3, 1], &words(&[4, 0xfeed]));
    for (position, expected) in [(20, &[][..]), (44, &["ddp-not-eligible"]), (52, &["read-position-beyond"])] {
        let mut inline = Trace::new();
        inline.send(Client, &message(MSG, XID, &Lists::reads(&[(position, segment(4))]), &getattr));
        inline.refuse(1);
        inline.null(0x99);
        let mut found = slugs(&inline.packets);
        found.remove("reply-chunk-missing");
        assert_eq!(found, expected.iter().copied().collect(), "{position}");
    }
    // The same of a long call, by its own length.
    let mut long = Trace::new();
    let reads = [(0, (0xb00, 0, getattr.len() as u32)), (52, segment(4))];
    long.send(Client, &message(NOMSG, XID, &Lists::reads(&reads), &[]));
    long.read(Server, (0xb00, 0), &getattr);
    long.send(Server, &message(MSG, XID, &Lists::default(), &reply(XID, &[words(&[0]), octets(3, 84)].concat())));
    long.null(0x99);
    let mut found = slugs(&long.packets);
    found.remove("read-not-pulled");
    assert_eq!(found, BTreeSet::from(["read-position-beyond"]));
}

#[test]
fn a_write_chunk_that_met_an_item_of_another_length_is_judged_by_that_alone() {
    let mut trace = Trace::new();
    let mut results = read3_results(96);
    results[16..20].copy_from_slice(&100u32.to_be_bytes());
    trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(104)]]), &read3(XID, 104)));
    trace.write(MEMORY, &octets(2, 96));
    trace.send(Server, &message(MSG, XID, &Lists::writes(&[&[segment(96)]]), &reply(XID, &results)));
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["write-roundup"]));
    assert_eq!(not_judged(&trace.packets, "ddp-not-eligible"), 0);
}

#[test]
fn read_chunks_in_a_reply_are_no_items_of_a_call() {
    let mut trace = Trace::new();
    let reply = read3_reply_with_integrity(&octets(2, 100));
    trace.rpc(&Lists::default(), &read3_with_integrity(), &Lists::reads(&[(24, segment(4))]), &reply);
    trace.null(0x99);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["read-in-reply"]));
}

/// Cuts a packet after so many octets, and judges.
fn judge_cut(packets: &[Packet], cut: impl Fn(usize) -> Option<usize>) -> (Vec<Found>, Vec<Count>) {
    let record = |(index, packet): (usize, &Packet)| {
        let data = packet[..cut(index).unwrap_or(packet.len())].to_vec();
        Record { time_ns: index as u64 * 2_000_000_000, link: 101, data, length: packet.len() as u32 }
    };
    judged(&packets.iter().enumerate().map(record).collect::<Vec<_>>())
}

/// Octets of a packet before a Send: IPv4, UDP, BTH.
const BEFORE_SEND: usize = 20 + 8 + 12;

#[test]
fn a_reply_whose_call_was_cut_in_its_credential_is_not_judged_by_that() {
    // Two Write chunk words more than none; then the six words of the RPC call up to its procedure.
    let header = 28 + 24;
    for (credential, expected) in [(4, 1), (24, 0)] {
        let mut trace = Trace::new();
        let call = trace.packets.len();
        let lists = Lists::writes(&[&[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3_with_integrity()));
        trace.write(MEMORY, &octets(2, 100));
        trace.send(Server, &message(MSG, XID, &lists, &read3_reply_with_integrity(&[])));
        trace.null(0x99);
        let cut = BEFORE_SEND + header + 24 + credential;
        let (found, counts) = judge_cut(&trace.packets, |index| (index == call).then_some(cut));
        let of = counts.iter().find(|count| count.rule.slug == "gss-reduced").unwrap();
        assert_eq!((of.not_judged, of.broken), (expected, 1 - expected), "{found:?}");
    }
}

#[test]
fn replies_of_the_client_that_were_cut_before_they_show_that_they_are_take_no_credits() {
    let mut trace = Trace::new();
    let first = trace.packets.len();
    for xid in 100..100 + 2 * GRANTED {
        trace.send(Server, &callback(xid));
        trace.send(Client, &message(MSG, xid, &Lists::default(), &reply(xid, &[])));
        trace.acknowledge(Server);
    }
    trace.null(8);
    let last = trace.packets.len() - 2;
    // The XID of the RPC message is the last word that is there.
    let is_reply = |index| (first..last).contains(&index) && (index - first) % 3 == 1;
    let (found, _) = judge_cut(&trace.packets, |index| is_reply(index).then_some(BEFORE_SEND + 28 + 4));
    assert!(found.is_empty(), "{:?}", found[0]);
}

#[test]
fn the_chunks_of_a_reply_whose_call_was_cut_are_counted_as_not_judged() {
    for (cut, expected) in [(None, 0), (Some(BEFORE_SEND + 28 + 24 + 40), 1)] {
        let mut trace = Trace::new();
        let call = trace.packets.len();
        trace.read_rpc(100, &[segment(100)], &[segment(100)]);
        let (found, counts) = judge_cut(&trace.packets, |index| cut.filter(|_| index == call));
        assert!(found.is_empty(), "{found:?}");
        let echo = counts.iter().find(|count| count.rule.slug == "write-list-echo").unwrap();
        assert_eq!(echo.not_judged, expected, "{cut:?}");
    }
}

#[test]
fn an_error_for_a_call_that_was_missed_has_no_chunks_to_be_judged() {
    let mut trace = Trace::new();
    let call = trace.packets.len();
    trace.send(Client, &null_message());
    trace.packets.remove(call);
    trace.acknowledge(Server);
    trace.refuse(1);
    trace.null(0x99);
    assert_eq!(not_judged(&trace.packets, "write-list-echo"), 0);
    assert_eq!(slugs(&trace.packets), BTreeSet::new());
}

/// What may be the answer is missing from the capture, though no Send is.
#[test]
fn where_packets_are_missing_or_stray_nobody_is_said_not_to_have_answered() {
    let spoils: [(Make, bool); 5] = [
        (|_| {}, true),
        (
            |trace| {
                let first = trace.packets.len();
                trace.write(MEMORY, &octets(2, 3000));
                trace.packets.remove(first + 1);
            },
            false,
        ),
        (
            |trace| {
                let first = trace.packets.len();
                let call = [write3(51, 2000), octets(3, 2000)].concat();
                trace.send(Client, &message(MSG, 51, &Lists::default(), &call));
                trace.packets.remove(first + 1);
            },
            false,
        ),
        // Responses to what was no RDMA Read.
        (
            |trace| {
                let number = trace.wire.server.next - 1;
                let packets = trace.wire.read_responses(Client, number, &[1; 4]);
                trace.packets.extend(packets);
            },
            false,
        ),
        (
            |trace| {
                let number = trace.wire.client.next - 1;
                let packets = trace.wire.read_responses(Server, number, &[1; 4]);
                trace.packets.extend(packets);
            },
            false,
        ),
    ];
    for (index, (spoil, is_due)) in spoils.into_iter().enumerate() {
        let mut trace = Trace::new();
        trace.send(Client, &message(MSG, 50, &Lists::writes(&[&[segment(3000)]]), &read3(50, 3000)));
        trace.send(Client, &patched(null_message(), 12, 7));
        spoil(&mut trace);
        trace.null(0x99);
        let (found, counts) = judge(&trace.packets);
        let count = counts.iter().find(|count| count.rule.slug == "answer").unwrap();
        assert_eq!((count.broken, count.not_judged), (u64::from(is_due), u64::from(!is_due)), "{index}: {found:?}");
    }
}

#[test]
fn an_error_of_the_client_for_a_long_reply_is_that_of_a_requester() {
    let in_reply_chunk: Make = |trace| trace.long_reply(24);
    let in_read_chunk: Make = |trace| {
        provided(trace, XID);
        trace.read(Client, (XID, 0), &reply(XID, &[]));
        trace.send(Client, &words(&[XID, 1, 32, DONE]));
    };
    for answer in [in_reply_chunk, in_read_chunk] {
        let mut trace = Trace::new();
        answer(&mut trace);
        trace.send(Client, &words(&[XID, 1, 32, ERROR, 2]));
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets), BTreeSet::from(["error-from-requester"]));
    }
}

/// The READ has an empty Write chunk and another one, and neither is used.
#[test]
fn results_that_end_early_take_no_chunk_in_place_of_an_empty_one() {
    let lists = |length| Lists::writes(&[&[], &[segment(length)]]);
    let mut trace = Trace::new();
    trace.rpc(&lists(100), &read3(XID, 100), &lists(0), &reply(XID, &words(&[0, 0, 100])));
    trace.null(0x99);
    assert_eq!(not_judged(&trace.packets, "write-empty-respected"), 0);
}

/// 4096 frames after a finding nothing can be out of order with it any more.
#[test]
fn what_was_proven_long_before_anything_was_out_of_order_stands() {
    for (later, expected) in [(4096, 0), (4097, 1)] {
        let mut trace = Trace::new();
        trace.null(XID);
        trace.answer();
        let frame = trace.packets.len();
        while trace.packets.len() + 1 < frame + later {
            trace.acknowledge(Client);
        }
        trace.null(8);
        let last = trace.packets.len() - 1;
        trace.send(Server, &callback(50));
        trace.packets.swap(last, last + 1);
        let (found, counts) = judge(&trace.packets);
        assert!(found.iter().all(|found| found.rule.slug == "reply-unexpected"), "{found:?}");
        let count = counts.iter().find(|count| count.rule.slug == "reply-unexpected").unwrap();
        assert_eq!((count.broken, count.not_judged), (expected, 1 - expected), "{later}");
    }
}

/// A call with an unknown procedure; `ERR_CHUNK` is its answer.
fn faulty(xid: u32) -> Vec<u8> {
    patched(message(MSG, xid, &Lists::default(), &null(xid)), 12, 7)
}

fn refusal(xid: u32) -> Vec<u8> {
    words(&[xid, 1, 32, ERROR, 2])
}

#[test]
fn a_refused_request_gives_its_credit_back_once() {
    // As many as were granted, one after another.
    let version_3 = |xid| patched(message(MSG, xid, &Lists::default(), &null(xid)), 4, 3);
    let versions = |xid| words(&[xid, 3, 32, ERROR, 1, 1, 1]);
    for (slug, request, refusal) in [
        ("proc-unknown", faulty as fn(u32) -> Vec<u8>, refusal as fn(u32) -> Vec<u8>),
        ("version", version_3, versions),
    ] {
        let mut trace = Trace::new();
        for xid in 100..100 + 2 * GRANTED {
            trace.send(Client, &request(xid));
            trace.send(Server, &refusal(xid));
        }
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets), BTreeSet::from([slug]));
    }
    // All that were granted wait. A call and a damaged copy of it hold one of the credits, and have two answers; what is
    // dropped holds none, and has one though it should not.
    let answer = message(MSG, XID, &Lists::default(), &reply(XID, &[]));
    let dropped = words(&[8, 1, 32, DONE]);
    for (sends, answers) in [
        ([null_message(), faulty(XID)], [answer.clone(), refusal(XID)]),
        ([null_message(), dropped], [answer, refusal(8)]),
    ] {
        for more in [1, 2] {
            let mut trace = Trace::new();
            sends.iter().for_each(|octets| trace.send(Client, octets));
            (100..99 + GRANTED).for_each(|xid| trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))));
            trace.acknowledge(Server);
            answers.iter().for_each(|octets| trace.send(Server, octets));
            trace.acknowledge(Client);
            for xid in 200..200 + more {
                trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
            }
            trace.acknowledge(Server);
            trace.reply(200);
            // An answer that may be out of order leaves open whether there are too many.
            let (_, counts) = judge(&trace.packets);
            let count = counts.iter().find(|count| count.rule.slug == "credit-exceeded").unwrap();
            assert_eq!(count.broken + count.not_judged, u64::from(more) - 1, "{sends:x?}");
        }
    }
}

#[test]
fn two_damaged_calls_of_the_server_may_both_be_refused() {
    let mut trace = Trace::new();
    for xid in [50, 51] {
        trace.send(Server, &callback(xid)[..28]);
    }
    for xid in [50, 51] {
        trace.send(Client, &refusal(xid));
    }
    trace.null(0x99);
    assert!(!slugs(&trace.packets).contains("error-from-requester"));
}

#[test]
fn a_request_that_is_to_be_refused_is_not_to_be_replied_to_or_refused_otherwise() {
    let version = words(&[XID, 1, 32, ERROR, 1, 1, 1]);
    let reply = message(MSG, XID, &Lists::default(), &reply(XID, &[]));
    for (answer, expected) in [
        (refusal(XID), None),
        (version, Some("ERR_VERS answers frame 6 (proc-unknown); ERR_CHUNK should")),
        (reply, Some("a reply answers frame 6 (proc-unknown); ERR_CHUNK should")),
    ] {
        let mut trace = Trace::new();
        trace.send(Client, &faulty(XID));
        trace.send(Server, &answer);
        trace.null(0x99);
        let found = judge(&trace.packets).0;
        let answers = found.iter().filter(|found| found.rule.slug == "answer" && found.blame == Blame::Sender);
        assert_eq!(answers.map(|found| found.message.as_str()).collect::<Vec<_>>(), Vec::from_iter(expected));
    }
}

/// Which of several Sends of one XID is answered is not known.
#[test]
fn an_answer_that_may_be_for_one_send_or_another_is_not_judged() {
    let answer = || message(MSG, XID, &Lists::default(), &reply(XID, &[]));
    let mismatch = patched(null_message(), 28, 8);
    for (sends, answers) in [
        // The call was replied to, and its reply comes once more.
        (vec![null_message(), faulty(XID)], vec![answer(), answer()]),
        // The reply may be for the call whose RPC message has another XID, or for the right one.
        (vec![mismatch, null_message()], vec![answer()]),
    ] {
        let mut trace = Trace::new();
        sends.iter().for_each(|octets| trace.send(Client, octets));
        answers.iter().for_each(|octets| trace.send(Server, octets));
        trace.null(0x99);
        let accused = judge(&trace.packets).0.into_iter().find(|found| found.from == Address::V4([192, 0, 2, 2]));
        assert!(accused.is_none(), "{accused:?}");
        assert!(not_judged(&trace.packets, "answer") > 0, "{sends:x?}");
    }
}

#[test]
fn each_reply_to_a_call_that_was_sent_many_times_answers_one_of_them() {
    let mut trace = Trace::new();
    (0..20).for_each(|_| trace.send(Client, &null_message()));
    (0..20).for_each(|_| trace.answer());
    trace.null(0x99);
    assert_eq!(slugs(&trace.packets), BTreeSet::new());
}

#[test]
fn a_reply_of_the_client_to_no_call_is_an_answer_all_the_same() {
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, 50, &Lists::default(), &reply(50, &[])));
    trace.null(0x99);
    let found = judge(&trace.packets).0;
    let found: Vec<_> = found.iter().map(|found| (found.rule.slug, found.stamp.frame)).collect();
    assert_eq!(found, [("reply-unexpected", 6)]);
}

/// The first message of the client is short; later ones, and those of the server, need not be.
#[test]
fn what_is_not_the_first_message_of_version_2_may_be_long() {
    for version in [Version::A, Version::B] {
        let mut trace = Trace::version_2(version);
        let payload = call(XID, [100_003, 3, 0], &[0; 2000]);
        trace.send(
            Client,
            &match version {
                Version::A => a(A_MSG, XID, 0, &A_NO_CHUNKS, &payload),
                _ => b(CALL_INLINE, XID, &[0; 4], &payload),
            },
        );
        trace.answer();
        trace.null(8);
        assert_eq!(slugs(&trace.packets), BTreeSet::new());
    }
}

#[test]
fn which_message_of_version_2_is_the_first_is_once_not_known() {
    for version in [Version::A, Version::B] {
        let mut trace = Trace::version_2(version);
        trace.null(8);
        trace.null(9);
        let first_call = 3;
        assert_eq!(not_judged(&trace.packets, "v2-first-message"), 0);
        // Joined in the middle: what comes after the first call is not the first.
        for calls in 1..3 {
            let mut joined = trace.packets[first_call..].to_vec();
            joined.retain(|packet| packet[15] == 1);
            assert_eq!(not_judged(&joined[..calls], "v2-first-message"), 1, "{version:?}");
        }
    }
}

#[test]
fn an_error_or_a_call_of_version_2_returns_no_chunks() {
    let offered = [0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000, 0, 0];
    for version in [Version::A, Version::B] {
        let mut trace = Trace::version_2(version);
        match version {
            Version::A => {
                trace.send(Client, &a(A_MSG, XID, 0, &offered, &read3(XID, 100)));
                trace.send(Server, &a(ERROR, XID, RESPONSE, &[BAD_XDR], &[]));
            }
            _ => {
                trace.send(Client, &b(CALL_INLINE, XID, &offered, &read3(XID, 100)));
                trace.send(Server, &b(ERROR, XID, &[BAD_XDR], &[]));
            }
        }
        trace.null(8);
        assert_eq!(slugs(&trace.packets), BTreeSet::new(), "{version:?}");
    }
}

/// The session keeps 4096 calls of both ends, the checker as many of each.
#[test]
fn the_reply_to_a_call_that_was_given_up_frees_its_credit() {
    for (granted, calls, callbacks) in [(5000, 4600, 0), (4100, 4000, 300)] {
        let mut trace = Trace::new();
        let granting = |xid| patched(message(MSG, xid, &Lists::default(), &reply(xid, &[])), 8, granted);
        trace.send(Client, &null_message());
        trace.send(Server, &granting(XID));
        for first in [0x1_0000, 0x2_0000] {
            (first..first + calls)
                .for_each(|xid| trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))));
            (first..first + callbacks).for_each(|xid| trace.send(Server, &callback(xid)));
            trace.acknowledge(Server);
            (first..first + calls).for_each(|xid| trace.send(Server, &granting(xid)));
            trace.acknowledge(Client);
        }
        trace.null(0x99);
        assert!(!slugs(&trace.packets).contains("credit-exceeded"), "{granted}");
    }
}

/// An implementation lets the Write chunk begin with the length of the link, so that the end of the link, with its padding,
/// stays in place of that.
#[test]
fn only_what_can_be_no_length_of_a_link_is_taken_for_its_end() {
    // PUTFH and READLINK or READ.
    let compound =
        |arguments: &[u32]| call(XID, [100_003, 4, 1], &words(&[&[0, 0, 2, 22, 4, 0xfeed], arguments].concat()));
    let readlink = compound(&[27]);
    let link = |word| words(&[0, 0, 2, 22, 0, 27, 0, word]);
    let read = |word| words(&[0, 0, 2, 22, 0, 25, 0, 1, word]);
    // Octets that are returned of a chunk of 100, and the word in place of their number.
    for (call, results, length, word, is_end) in [
        // "ij" and two octets of padding.
        (&readlink, link(0x696a_0000), 10, 0x696a_0000, true),
        (&readlink, link(0x696a_6000), 10, 0x696a_6000, false),
        (&readlink, link(101), 12, 101, true),
        (&readlink, link(100), 12, 100, false),
        (&readlink, link(99), 12, 99, false),
        (&compound(&[25, 0, 0, 0, 0, 0, 0, 100]), read(0x696a_0000), 12, 0x696a_0000, false),
    ] {
        let mut trace = Trace::new();
        trace.result_in_chunk(call, &results, &octets(2, length), true);
        trace.null(0x99);
        let message = if is_end {
            format!(
                "Write chunk 0 returned {length} octets, and {word:#010x} is in place of the link's length, as if the \
                 chunk began with that"
            )
        } else {
            format!("Write chunk 0 returned {length} octets, and its item has {word}")
        };
        assert_eq!(said(&trace.packets), [("write-roundup", Some(28), message)]);
    }
}

/// Two calls share a handle, as far as the order of the two directions is known.
#[test]
fn where_packets_came_out_of_order_what_rests_on_their_order_is_not_judged() {
    for is_swapped in [false, true] {
        let mut trace = Trace::new();
        for xid in [XID, 8] {
            let lists = Lists::writes(&[&[(MEMORY.0, u64::from(xid) << 20, 3000)]]);
            trace.send(Client, &message(MSG, xid, &lists, &read3(xid, 3000)));
        }
        trace.acknowledge(Server);
        trace.null(0x99);
        let first = trace.packets.len();
        trace.write((MEMORY.0, u64::from(XID) << 20), &octets(2, 3000));
        if is_swapped {
            trace.packets.swap(first, first + 1);
        }
        trace.null(0x9a);
        let count = judge(&trace.packets).1.into_iter().find(|count| count.rule.slug == "handle-shared").unwrap();
        assert_eq!((count.broken, count.not_judged), (u64::from(!is_swapped), u64::from(is_swapped)));
    }
}

#[test]
fn what_more_waits_for_its_proof_than_is_kept_is_counted() {
    let mut trace = Trace::new();
    trace.null(XID);
    (0..300).for_each(|_| trace.answer());
    trace.null(0x99);
    let (_, counts) = judge(&trace.packets);
    let count = counts.iter().find(|count| count.rule.slug == "reply-unexpected").unwrap();
    assert_eq!((count.broken, count.not_judged), (256, 44));
}

/// What is wrong with a Send by itself, where the capture does not hold all of it.
#[test]
fn what_a_capture_lacks_of_a_send_is_not_wrong_with_it() {
    let call = message(NOMSG, XID, &Lists::reads(&[(0, segment(40))]), &[0; 3000]);
    let found = |cut: usize, missed: Option<usize>| {
        let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        let first = trace.packets.len();
        trace.send(Client, &call);
        let lengths: Vec<_> = trace.packets.iter().map(Vec::len).collect();
        trace.packets[first].truncate(BEFORE_SEND + cut);
        let mut dissector = Dissector::new(Config::default());
        for (index, (data, length)) in trace.packets.iter().zip(lengths).enumerate() {
            let (number, link) = (index as u64 + 1, LinkType(101));
            if missed.map(|missed| first + missed) != Some(index) {
                dissector.frame(&Frame { number, time: Time(number), link, data, length: length as u32 });
            }
        }
        dissector.finish();
        let message = std::iter::from_fn(|| dissector.event()).find_map(|event| match event {
            Event::Message(message) => Some(message),
            _ => None,
        });
        let found = check::send::findings(&message.unwrap());
        found.iter().map(|found| (found.rule.slug, found.message.clone())).collect::<Vec<_>>()
    };
    let trailing = ("nomsg-trailing", "3000 octets after the lists of RDMA_NOMSG".to_owned());
    // All of it, no more than the header, a part of that; and without the second packet.
    for cut in [1024, 52] {
        assert_eq!(found(cut, None), std::slice::from_ref(&trailing));
    }
    assert_eq!(found(24, None), []);
    assert_eq!(found(1024, Some(1)), []);
}

/// Results that end early, of a COMPOUND in which a READ follows: the Write chunk may be for that.
#[test]
fn where_a_write_chunk_may_have_an_item_that_was_not_reached_is_counted() {
    let arguments = words(&[0, 0, 3, 22, 4, 0xfeed, 9, 1, 2, 25, 0, 0, 0, 0, 0, 0, 100]);
    let before = &[0, 0, 3, 22, 0, 9, 0, 1, 2, 8];
    // Within GETATTR, and within READ, before its item.
    for results in [words(before), [words(before), words(&[7, 7, 25, 0, 1])].concat()] {
        let mut trace = Trace::new();
        trace.result_in_chunk(&call(XID, [100_003, 4, 1], &arguments), &results, &octets(2, 100), true);
        let (found, counts) = judge(&trace.packets);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(counts.iter().find(|count| count.rule.slug == "ddp-not-eligible").unwrap().not_judged, 1);
    }
}

/// Two calls advertise the same memory, so for which of them it was written is not known.
#[test]
fn data_in_memory_that_two_calls_share_is_not_judged() {
    for lengths in [[100, 100], [104, 101]] {
        let mut trace = Trace::new();
        for xid in [XID, XID + 1] {
            trace.send(Client, &message(MSG, xid, &Lists::writes(&[&[segment(104)]]), &read3(xid, 104)));
        }
        for (xid, length) in (XID..).zip(lengths) {
            trace.write(MEMORY, &octets(2, length as usize));
            let lists = Lists::writes(&[&[segment(length)]]);
            trace.send(Server, &message(MSG, xid, &lists, &reply(xid, &read3_results(length))));
        }
        let (found, counts) = judge(&trace.packets);
        assert!(found.iter().all(|found| found.rule.slug == "handle-shared"), "{found:?}");
        let unjudged = counts.iter().find(|count| count.rule.slug == "write-unwritten").unwrap().not_judged;
        assert_eq!(unjudged, 2);
    }
}

/// An RDMA Write that a capture without the set-up has before the call that it is for.
#[test]
fn data_that_was_captured_too_early_is_not_said_to_be_unwritten() {
    let mut trace = Trace::new();
    trace.packets.drain(..3);
    let call = trace.packets.len();
    trace.read_rpc(100, &[segment(100)], &[segment(100)]);
    trace.packets.swap(call, call + 1);
    trace.null(70);
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(counts.iter().find(|count| count.rule.slug == "write-unwritten").unwrap().not_judged, 1);
}

/// Of what the responder moves, packets are missing, or the capture begins later.
#[test]
fn data_that_was_missed_is_not_said_to_be_unmoved() {
    let of_data = ["write-roundup", "write-unwritten", "read-not-pulled"];
    for case in CASES.iter().filter(|case| of_data.contains(&case.slug)) {
        let mut trace = Trace::new();
        let first = trace.packets.len();
        (case.make)(&mut trace, false);
        let last = trace.packets.len();
        for by in [Client, Server] {
            trace.null(if by == Client { 70 } else { 71 });
            let ack = trace.wire.ack_all(by);
            trace.packets.push(ack);
        }
        let found = |packets: &[Packet]| slugs(packets).into_iter().find(|slug| of_data.contains(slug));
        for missed in (first..last).flat_map(|from| (from..last).map(move |to| from..=to)) {
            let mut packets = trace.packets.clone();
            packets.drain(missed.clone());
            assert_eq!(found(&packets), None, "{} without {missed:?}", case.slug);
            for begin in 1..=first {
                assert_eq!(found(&packets[begin..]), None, "{} from {begin} on without {missed:?}", case.slug);
            }
        }
        for begin in 1..last {
            assert_eq!(found(&trace.packets[begin..]), None, "{} from {begin} on", case.slug);
        }
    }
}

#[test]
fn a_reply_that_was_missed_makes_no_call_one_too_many() {
    let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
    trace.null(XID);
    // The first reply is missed; the client goes on, and acknowledges it.
    trace.packets.pop();
    for xid in 100..200 {
        trace.null(xid);
        let ack = trace.wire.ack_all(Client);
        trace.packets.push(ack);
    }
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{:?}", found[0]);
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert!(not_judged("credit-initial") > 0);
}

#[test]
fn calls_whose_replies_were_cut_before_they_show_that_they_are_hold_no_credits() {
    // IPv4, UDP, BTH, the RPC-over-RDMA header, and the XID of the RPC message.
    const CUT: usize = 20 + 8 + 12 + 28 + 4;
    for (calls, expected) in [(4, None), (5, Some("credit-exceeded"))] {
        let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        let call = |xid| message(MSG, xid, &Lists::default(), &null(xid));
        // Each reply grants 4.
        let reply = |xid| patched(message(MSG, xid, &Lists::default(), &reply(xid, &[])), 8, 4);
        trace.send(Client, &call(1));
        trace.send(Server, &reply(1));
        (2..5).for_each(|xid| trace.send(Client, &call(xid)));
        let replies = trace.packets.len()..trace.packets.len() + 3;
        (2..5).for_each(|xid| trace.send(Server, &reply(xid)));
        trace.send(Client, &call(5));
        trace.send(Server, &reply(5));
        (10..10 + calls).for_each(|xid| trace.send(Client, &call(xid)));
        trace.acknowledge(Server);
        (10..10 + calls).for_each(|xid| trace.send(Server, &reply(xid)));
        let record = |(number, packet): (usize, &Packet)| {
            let data = packet[..if replies.contains(&number) { CUT } else { packet.len() }].to_vec();
            Record { time_ns: number as u64 * 1_000_000, link: 101, data, length: packet.len() as u32 }
        };
        let records: Vec<_> = trace.packets.iter().enumerate().map(record).collect();
        let slugs: Vec<_> = judged(&records).0.iter().map(|found| found.rule.slug).collect();
        assert_eq!(slugs, Vec::from_iter(expected), "{calls} calls");
    }
}

#[test]
fn a_connection_joined_in_the_middle_breaks_no_rule_that_needs_its_beginning() {
    let mut trace = Trace::new();
    trace.packets.clear();
    for xid in 10..60 {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        if xid == 10 {
            let ack = trace.wire.ack_all(Server);
            trace.packets.push(ack);
        }
    }
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{:?}", found[0]);
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert!(not_judged("credit-exceeded") > 0 && not_judged("private-data-absent") > 0);
}

/// The server calls by RDMA_NOMSG: NFSv4 CB_COMPOUND without operations.
fn long_callback(trace: &mut Trace, xid: u32) {
    let arguments = call(xid, [0x4000_0000, 1, 1], &words(&[0, 1, 0, 0]));
    let lists = Lists::reads(&[(0, segment(arguments.len() as u32))]);
    trace.send(Server, &message(NOMSG, xid, &lists, &[]));
    trace.read(Client, MEMORY, &arguments);
}

fn callback_reply(xid: u32) -> Vec<u8> {
    message(MSG, xid, &Lists::default(), &reply(xid, &words(&[0, 0, 0])))
}

#[test]
fn a_long_call_of_the_server_is_no_reply() {
    let mut trace = Trace::new();
    for xid in [50, 51] {
        long_callback(&mut trace, xid);
        trace.send(Client, &callback_reply(xid));
    }
    trace.null(XID);
    assert_eq!(slugs(&trace.packets), BTreeSet::new());
    // It is counted as a call of its direction, and its memory is the server's.
    let mut trace = Trace::new();
    for xid in [50, 51] {
        long_callback(&mut trace, xid);
    }
    trace.acknowledge(Client);
    trace.null(XID);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["handle-shared", "reverse-credit"]));
    // What breaks a rule is answered as the rule says.
    let mut trace = Trace::new();
    trace.send(Server, &message(NOMSG, 50, &Lists::reads(&[(0, segment(56)), (2, (0xb00, 0, 4))]), &[]));
    trace.send(Client, &words(&[50, 1, 32, ERROR, 2]));
    trace.null(XID);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["read-position-align"]));
}

#[test]
fn who_sent_the_frame_that_breaks_a_rule_is_named() {
    let by = [
        ("rdma-read-bounds", Server),
        ("rdma-write-bounds", Server),
        ("handle-shared", Client),
        ("private-data-absent", Server),
        ("read-overlap", Client),
        ("invalidate-foreign", Server),
        ("reverse-credit", Server),
        ("pull-not-notified", Server),
        ("answer", Client),
    ];
    for (slug, by) in by {
        let Case { make, .. } = CASES.iter().find(|case| case.slug == slug).unwrap();
        let mut trace = Trace::new();
        make(&mut trace, true);
        trace.null(70);
        let found = judge(&trace.packets).0;
        let found = found.iter().find(|found| found.rule.slug == slug).unwrap();
        let (client, server) = (Address::V4([192, 0, 2, 1]), Address::V4([192, 0, 2, 2]));
        let ends = if by == Client { (client, server) } else { (server, client) };
        assert_eq!((found.from, found.to), ends, "{slug}");
    }
}

#[test]
fn memory_that_a_requester_withdrew_is_not_the_responders_fault() {
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(100)]]), &read3(XID, 100)));
    trace.write(MEMORY, &octets(2, 100));
    trace.refuse_access();
    assert_eq!(blamed(&trace.packets), [("rdma-write-bounds", Severity::Hazard, Blame::Receiver)]);
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
    let request = trace.wire.read_request(Server, MEMORY, 100);
    trace.packets.push(request);
    trace.refuse_access();
    assert_eq!(blamed(&trace.packets), [("rdma-read-bounds", Severity::Hazard, Blame::Receiver)]);
}

#[test]
fn a_handle_that_the_responder_had_invalidated_may_be_gone_by_either() {
    let mut trace = Trace::new();
    for (xid, offset) in [(XID, 0), (8, 0x1000)] {
        let lists = Lists::reply(&[(MEMORY.0, offset, 100)]);
        trace.send(Client, &message(MSG, xid, &lists, &null(xid)));
    }
    let returned = Lists::reply(&[(MEMORY.0, 0, 0)]);
    trace.invalidate(MEMORY.0, &message(MSG, XID, &returned, &reply(XID, &[])));
    trace.write((MEMORY.0, 0x1000), &reply(8, &[]));
    trace.refuse_access();
    let found = blamed(&trace.packets);
    assert!(found.contains(&("rdma-write-bounds", Severity::Hazard, Blame::Either)), "{found:?}");
}

#[test]
fn a_call_that_is_refused_without_a_reply_chunk_may_have_needed_none() {
    let mut trace = Trace::new();
    trace.send(Client, &null_message());
    trace.refuse(1);
    trace.null(0x99);
    assert_eq!(blamed(&trace.packets), [("reply-chunk-missing", Severity::Hazard, Blame::Either)]);
}

#[test]
fn a_handle_of_two_calls_is_invalidated_by_whoever_knew_of_both() {
    for (first, second, blame) in [(XID, 8, Blame::Either), (8, XID, Blame::Sender)] {
        let mut trace = Trace::new();
        for xid in [first, second] {
            let lists = Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 100)]);
            trace.send(Client, &message(MSG, xid, &lists, &null(xid)));
        }
        trace.acknowledge(Server);
        let returned = Lists::reply(&[(MEMORY.0, u64::from(XID) << 20, 0)]);
        trace.invalidate(MEMORY.0, &message(MSG, XID, &returned, &reply(XID, &[])));
        trace.null(0x99);
        let found = blamed(&trace.packets);
        assert!(found.contains(&("invalidate-foreign", Severity::Error, blame)), "{found:?}");
    }
}

#[test]
fn a_reply_that_nobody_reads_is_a_hazard_until_one_is_read() {
    let provided = |trace: &mut Trace, xid| {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        trace.send(Server, &message(NOMSG, xid, &Lists::reads(&[(0, (xid, 0, 24))]), &[]));
    };
    let mut trace = Trace::new();
    provided(&mut trace, XID);
    provided(&mut trace, 8);
    trace.null(0x99);
    let hazard = ("read-in-reply", Severity::Hazard, Blame::Sender);
    assert_eq!(blamed(&trace.packets), [hazard; 2]);
    // It was not left time enough for that.
    assert_eq!(judge_at(&trace.packets, |index| index * 1_000_000).0.len(), 0);
    // The other end says that it has read one, or reads.
    let length = trace.packets.len();
    trace.send(Client, &words(&[8, 1, 32, DONE]));
    assert_eq!(blamed(&trace.packets), []);
    trace.packets.truncate(length);
    trace.read(Client, (8, 0), &reply(8, &[])[..12]);
    trace.null(0x9a);
    assert_eq!(blamed(&trace.packets), []);
}

#[test]
fn what_may_have_been_refused_instead_of_a_write_outside_is_not_judged() {
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(100)]]), &read3(XID, 100)));
    trace.write((MEMORY.0, MEMORY.1 + 100), &[0; 4]);
    trace.write(MEMORY, &octets(2, 100));
    trace.refuse_access();
    // The client acknowledges nothing after what it refused, and says no more.
    assert_eq!(blamed(&trace.packets), []);
    trace.null(8);
    assert_eq!(blamed(&trace.packets), [("rdma-write-bounds", Severity::Error, Blame::Sender)]);
}

/// A rule that is broken, the octet, the frame.
type Broken = (&'static str, Option<usize>, u64);

/// An NFSv3 WRITE of 5 octets in a Position Zero Read chunk, its data in a chunk of so many octets at `position`; how often
/// the rules about it were not judged, and what is broken.
fn long_write(position: u32, length: u32, answered: bool) -> (u64, Vec<Broken>) {
    let mut trace = Trace::new();
    let arguments = write3(XID, 5);
    let (rest, data) = ((0xb00, 0, arguments.len() as u32), segment(length));
    trace.send(Client, &message(NOMSG, XID, &Lists::reads(&[(0, rest), (position, data)]), &[]));
    trace.read(Server, (0xb00, 0), &arguments);
    trace.read(Server, MEMORY, &octets(1, length as usize));
    if answered {
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 5)));
    }
    let (found, counts) = judge(&trace.packets);
    let of_arguments = ["read-length", "read-roundup", "ddp-not-eligible", "gss-reduced", "xid-mismatch"];
    let not_judged =
        counts.iter().filter(|count| of_arguments.contains(&count.rule.slug)).map(|count| count.not_judged);
    (not_judged.sum(), found.iter().map(|found| (found.rule.slug, found.offset, found.stamp.frame)).collect())
}

#[test]
fn a_data_item_beside_a_long_call_is_judged_when_it_is_answered() {
    // The second entry of the Read list; the call is the sixth packet.
    let (at, call) = (Some(44), 6);
    assert_eq!(long_write(WRITE3_POSITION, 5, true), (0, vec![]));
    assert_eq!(long_write(WRITE3_POSITION, 8, true), (0, vec![("read-roundup", at, call)]));
    assert_eq!(long_write(WRITE3_POSITION, 12, true), (0, vec![("read-length", at, call)]));
    assert_eq!(long_write(WRITE3_POSITION - 4, 5, true), (0, vec![("ddp-not-eligible", at, call)]));
    assert_eq!(long_write(WRITE3_POSITION, 5, false), (4, vec![]));
}

#[test]
fn a_provided_reply_whose_call_was_missed_breaks_no_rule() {
    let mut trace = Trace::new();
    for xid in 2..50 {
        let call = trace.packets.len();
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        trace.packets.drain(call..);
        trace.send(Server, &message(NOMSG, xid, &Lists::reads(&[(0, segment(24))]), &[]));
        trace.read(Client, MEMORY, &reply(xid, &[]));
        trace.send(Client, &words(&[xid, 1, 32, DONE]));
        let acknowledged = trace.wire.ack_all(Server);
        trace.packets.push(acknowledged);
    }
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{found:?}");
    let not_judged = |slug| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert!(not_judged("credit-exceeded") > 0);
}

#[test]
fn a_rule_reports_one_send_a_few_times_only() {
    let reads: Vec<(u32, Segment)> = (0..1000).map(|_| (40, (1, u64::MAX, 2))).collect();
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &Lists::reads(&reads), &null(XID)));
    let (found, _) = judge(&trace.packets);
    assert_eq!(found.iter().filter(|found| found.rule.slug == "segment-wraps").count(), 8);
}

/// How often a rule was not judged.
fn not_judged(packets: &[Packet], slug: &str) -> u64 {
    judge(packets).1.iter().find(|count| count.rule.slug == slug).unwrap().not_judged
}

/// Sends of the client that are dropped, with what they break. None carries a Payload stream.
fn dropped() -> [(&'static str, Vec<u8>); 5] {
    [
        ("done-sent", words(&[XID, 1, 32, DONE])),
        ("error-from-requester", words(&[XID, 1, 32, ERROR, 2])),
        ("header-short", null_message()[..24].to_vec()),
        ("header-short", null_message()[..16].to_vec()),
        ("header-short", null_message()[..12].to_vec()),
    ]
}

#[test]
fn of_what_linux_answered_beside_bad_sends_one_answer_is_wrong() {
    let (found, counts) = judged(&transcode::capture("same_xid"));
    let (of_client, of_server): (Vec<_>, Vec<_>) =
        found.iter().partition(|found| found.from == Address::V4([192, 0, 2, 2]));
    let of_server: Vec<_> = of_server.iter().map(|found| (found.stamp.frame, found.rule.slug, found.blame)).collect();
    // It refuses a Send of 24 octets.
    assert_eq!(of_server, [(62, "answer", Blame::Sender)]);
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for found in of_client {
        assert_eq!(found.blame, Blame::Sender);
        *times.entry(found.rule.slug).or_default() += 1;
    }
    let expected =
        [("done-sent", 66), ("error-from-requester", 1), ("header-short", 1), ("nomsg-empty", 1), ("proc-unknown", 1)];
    assert_eq!(times, BTreeMap::from(expected));
    // Who left at once was owed nothing.
    assert_eq!(counts.iter().find(|count| count.rule.slug == "answer").unwrap().not_judged, 1);
}

#[test]
fn a_reply_is_for_the_call_and_not_for_a_bad_send_of_the_same_xid() {
    for (slug, bad) in dropped() {
        for both in [[&bad, &null_message()], [&null_message(), &bad]] {
            let mut trace = Trace::new();
            both.iter().for_each(|octets| trace.send(Client, octets));
            trace.answer();
            trace.null(0x99);
            assert_eq!(slugs(&trace.packets), BTreeSet::from([slug]), "{bad:x?}");
            // The call may be refused as well.
            trace.packets.truncate(7);
            trace.refuse(1);
            trace.null(0x99);
            let found = slugs(&trace.packets);
            assert!(!found.contains("answer"), "{bad:x?}: {found:?}");
            assert_eq!(not_judged(&trace.packets, "answer"), 1, "{both:x?}");
            // Then its reply comes all the same.
            trace.answer();
            trace.null(0x9a);
            assert!(!slugs(&trace.packets).contains("answer"), "{bad:x?}");
        }
        // Alone it is answered by nothing.
        for answer in [message(MSG, XID, &Lists::default(), &reply(XID, &[])), words(&[XID, 1, 32, ERROR, 2])] {
            let mut trace = Trace::new();
            trace.send(Client, &bad);
            trace.send(Server, &answer);
            trace.null(0x99);
            assert_eq!(slugs(&trace.packets), BTreeSet::from([slug, "answer"]), "{bad:x?}");
        }
    }
}

#[test]
fn a_damaged_copy_of_a_call_has_an_answer_of_its_own() {
    let refusal = words(&[XID, 1, 32, ERROR, 2]);
    let reply = message(MSG, XID, &Lists::default(), &reply(XID, &[]));
    for (slug, damaged) in [
        ("list-flag", patched(null_message(), 20, 255)),
        ("proc-unknown", patched(null_message(), 12, 7)),
        ("msg-no-payload", null_message()[..28].to_vec()),
        ("nomsg-empty", message(NOMSG, XID, &Lists::default(), &[])),
    ] {
        for both in [[&damaged, &null_message()], [&null_message(), &damaged]] {
            for answers in [&[&refusal, &reply][..], &[&reply, &refusal], &[&reply]] {
                let mut trace = Trace::new();
                both.iter().for_each(|octets| trace.send(Client, octets));
                answers.iter().for_each(|octets| trace.send(Server, octets));
                trace.null(0x99);
                let mut expected = BTreeSet::from([slug]);
                expected.extend((answers.len() == 1).then_some("answer"));
                assert_eq!(slugs(&trace.packets), expected, "{both:x?} {answers:x?}");
            }
        }
    }
}

#[test]
fn a_requester_that_leaves_at_once_is_owed_nothing() {
    let left = |by, time: fn(u64) -> u64| {
        let mut trace = Trace::new();
        trace.send(Client, &patched(null_message(), 12, 7));
        trace.disconnect(by);
        // The capture goes on with another connection.
        let (mut other, _) = synthetic::connected();
        (other.client.host, other.server.host) = (7, 8);
        trace.packets.extend(other.connect());
        let (found, counts) = judge_at(&trace.packets, time);
        let not_judged = counts.iter().find(|count| count.rule.slug == "answer").unwrap().not_judged;
        (found.iter().any(|found| found.rule.slug == "answer"), not_judged)
    };
    // A millisecond between packets, and a minute after the end of the connection.
    let soon = |index| if index < 8 { index * 1_000_000 } else { 60_000_000_000 };
    assert_eq!(left(Client, soon), (false, 1));
    assert_eq!(left(Client, |index| index * 2_000_000_000), (true, 0));
    // A responder that cannot answer ends the connection (RFC 8166 section 4.5.4).
    assert_eq!(left(Server, |index| index * 2_000_000_000), (false, 1));
}

#[test]
fn an_xid_mismatch_and_octets_after_a_long_call_are_answered_either_way() {
    let mut trace = Trace::new();
    trace.send(Client, &patched(null_message(), 28, 8));
    trace.answer();
    trace.null(0x99);
    let found = blamed(&trace.packets);
    let (mismatch, answer) = (("xid-mismatch", Severity::Error), ("answer", Severity::Hazard));
    assert_eq!(found, [mismatch, answer].map(|(slug, severity)| (slug, severity, Blame::Sender)));
    for refused in [true, false] {
        let mut trace = Trace::new();
        trace.long_call(40, &[0; 4]);
        if refused {
            trace.refuse(1);
        } else {
            trace.answer();
        }
        trace.null(0x99);
        assert_eq!(blamed(&trace.packets), [("nomsg-trailing", Severity::Warning, Blame::Sender)]);
    }
}

#[test]
fn an_error_of_another_xid_than_its_request_is_no_echo() {
    let mut trace = Trace::new();
    trace.send(Client, &patched(null_message(), 20, 255));
    trace.send(Server, &words(&[XID + 1, 1, 32, ERROR, 2]));
    trace.null(0x99);
    let found = judge(&trace.packets).0;
    let found: Vec<_> = found.iter().map(|found| (found.rule.slug, found.offset, found.stamp.frame)).collect();
    assert_eq!(found, [("list-flag", Some(20), 6), ("error-echo", Some(0), 7)]);
    // The call of that XID comes late.
    let call = message(MSG, XID + 1, &Lists::default(), &null(XID + 1));
    trace.send(Client, &call);
    let late = trace.packets.pop().unwrap();
    trace.packets.insert(7, late);
    assert!(!slugs(&trace.packets).contains("error-echo"));
}

/// Where the reply to the first of two calls does not follow an acknowledgement of the second, the second may have been sent
/// when that reply was there, and captured before it: so much is said, and no more.
#[test]
fn calls_are_in_flight_together_where_the_server_says_so() {
    let rules = ["credit-initial", "handle-shared", "invalidate-foreign"];
    for (acknowledged, expected) in [(true, &rules[..]), (false, &[])] {
        let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        for xid in [XID, 8] {
            let lists = Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 100)]);
            trace.send(Client, &message(MSG, xid, &lists, &null(xid)));
        }
        if acknowledged {
            trace.acknowledge(Server);
        }
        let returned = |xid: u32| Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 0)]);
        trace.invalidate(MEMORY.0, &message(MSG, XID, &returned(XID), &reply(XID, &[])));
        trace.acknowledge(Server);
        trace.send(Server, &message(MSG, 8, &returned(8), &reply(8, &[])));
        trace.null(0x99);
        let (found, counts) = judge(&trace.packets);
        let found: BTreeSet<&str> = found.iter().map(|found| found.rule.slug).collect();
        assert_eq!(found, expected.iter().copied().collect(), "acknowledged: {acknowledged}");
        for slug in rules {
            let count = counts.iter().find(|count| count.rule.slug == slug).unwrap();
            assert_eq!(count.not_judged, u64::from(!acknowledged), "{slug}");
        }
    }
}

/// Calls the client may have in flight; each reply of these tests grants as many.
const GRANTED: u32 = 32;

#[test]
fn what_is_not_answered_holds_no_credit() {
    let mut all = dropped().map(|(_, octets)| octets).to_vec();
    // A call that is sent again is one call.
    all.push(null_message());
    for octets in all {
        let mut trace = Trace::new();
        trace.send(Client, &null_message());
        let is_again = octets == null_message();
        for other in 1000..=1000 + GRANTED {
            trace.send(Client, &patched(octets.clone(), 0, if is_again { XID } else { other }));
        }
        for xid in 100..100 + GRANTED - 1 {
            trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        }
        trace.answer();
        assert!(!slugs(&trace.packets).contains("credit-exceeded"), "{octets:x?}");
        // One more than was granted, before any is answered.
        let last = trace.packets.pop().unwrap();
        trace.send(Client, &message(MSG, 99, &Lists::default(), &null(99)));
        trace.acknowledge(Server);
        trace.packets.push(last);
        trace.reply(99);
        assert!(slugs(&trace.packets).contains("credit-exceeded"), "{octets:x?}");
    }
}

#[test]
fn the_reply_to_a_call_that_was_sent_twice_frees_its_credit() {
    let mut trace = Trace::new();
    for xid in 100..100 + 3 * GRANTED {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        trace.null(xid);
    }
    assert_eq!(slugs(&trace.packets), BTreeSet::new());
}

#[test]
fn replies_that_are_pulled_hold_no_credit_of_their_own() {
    let mut trace = Trace::new();
    for xid in 100..100 + 3 * GRANTED {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        trace.send(Server, &message(NOMSG, xid, &Lists::reads(&[(0, segment(24))]), &[]));
        trace.read(Client, MEMORY, &reply(xid, &[]));
        trace.send(Client, &words(&[xid, 1, 32, DONE]));
    }
    assert_eq!(slugs(&trace.packets), BTreeSet::new());
}

#[test]
fn a_client_that_refuses_a_damaged_call_of_the_server_is_no_requester() {
    let refusal = words(&[50, 1, 32, ERROR, 2]);
    let damaged = [
        patched(callback(50), 20, 255),
        patched(callback(50), 12, 7),
        callback(50)[..28].to_vec(),
        callback(50)[..24].to_vec(),
        callback(50)[..12].to_vec(),
        message(NOMSG, 50, &Lists::default(), &[]),
    ];
    for damaged in damaged {
        for waits in [false, true] {
            let mut trace = Trace::new();
            if waits {
                // It may be a damaged reply to this call.
                trace.send(Client, &message(MSG, 50, &Lists::default(), &null(50)));
            }
            trace.send(Server, &damaged);
            trace.send(Client, &refusal);
            trace.null(0x99);
            let found = slugs(&trace.packets);
            let accused = ["error-from-requester", "answer", "reply-unexpected"].map(|slug| found.contains(slug));
            assert_eq!(accused, [false; 3], "{damaged:x?} {waits}: {found:?}");
        }
    }
}

/// Judges the frames of a capture.
fn judged(records: &[Record]) -> (Vec<Found>, Vec<Count>) {
    let mut dissector = Dissector::new(Config { transactions: false, operations: true, ..Config::default() });
    let mut checker = Checker::default();
    for (record, number) in records.iter().zip(1..) {
        let (time, link, length) = (Time(record.time_ns), LinkType(record.link), record.length);
        dissector.frame(&Frame { number, time, link, data: &record.data, length });
    }
    dissector.finish();
    while let Some(event) = dissector.event() {
        checker.event(&event);
    }
    (std::iter::from_fn(|| checker.finding()).collect(), checker.counts().collect())
}
