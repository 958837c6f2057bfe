//! Requester and Responder of version 1, input by input. The expectations were written by hand from RFC 8166.

use std::collections::BTreeSet;

use rpcrdma::endpoint::requester::{self, CallRefusal, End};
use rpcrdma::endpoint::responder::{self, CallMessage, ReplyFault, ReplyForm};
use rpcrdma::endpoint::{CallId, Direction, InputError, Item, Limits, RegisteredMemory, Requester, Responder, Terms};
use rpcrdma::private_data::{Agreement, PrivateData};
use rpcrdma::rpc::{self, Auth, Flavor, GssCredential, GssProcedure, GssService};
use rpcrdma::segment::Segment;

const XID: u32 = 7;

/// A Requester that asks for 32 credits, with regions of at most 64 KiB, and a Responder that grants 4.
struct Pair {
    requester: Requester<4, 8>,
    responder: Responder<4, 512, 2>,
    call: Option<CallId>,
    answer: Option<CallId>,
    /// The header of the last Send, with zeros in place of the Payload stream.
    wire: Vec<u8>,
}

impl Pair {
    fn new() -> Self {
        Self::with(Terms::default(), 0x1_0000, Limits::default())
    }

    fn with(terms: Terms, segment_length: u32, limits: Limits) -> Self {
        let (requester, responder) = (Requester::new(terms, 32, segment_length), Responder::new(terms, limits));
        Self { requester, responder, call: None, answer: None, wire: Vec::new() }
    }

    fn call(&mut self, call: &requester::Call<'_>) -> Vec<String> {
        self.call = Some(self.requester.call(call).unwrap());
        self.requester_outputs(call.head)
    }

    /// Returns the Requester's outputs after an input; `head` is the beginning of its Payload stream.
    fn requester_outputs(&mut self, head: &[u8]) -> Vec<String> {
        let (mut shown, mut buffer) = (Vec::new(), [0xa5; 512]);
        while let Some(output) = self.requester.poll(&mut buffer).unwrap() {
            use requester::Output;
            shown.push(match output {
                Output::Register { region, memory, .. } => format!("register {region} {memory:?}"),
                Output::Send { header, payload, .. } => {
                    let ranges: Vec<_> = payload.collect();
                    self.wire = wire(&buffer[..header], head, &ranges);
                    format!("send {} + {ranges:?}", words(&buffer[..header]))
                }
                Output::Invalidate { region, handle, .. } => format!("invalidate {region} {handle:x}"),
                Output::Read { source, at, .. } => format!("read {} at {at}", segment(source)),
                Output::Place { .. } => panic!("version 1 has no continued replies"),
                Output::Release { receive } => format!("release {receive}"),
                Output::Done { end, results, .. } => format!("done {end:?} {results:?}"),
                Output::Disconnect => "disconnect".into(),
            });
        }
        shown
    }

    fn responder_outputs(&mut self, head: &[u8]) -> Vec<String> {
        let (mut shown, mut buffer) = (Vec::new(), [0xa5; 512]);
        while let Some(output) = self.responder.poll(&mut buffer).unwrap() {
            use responder::Output;
            shown.push(match output {
                Output::Release { receive } => format!("release {receive}"),
                Output::Place { from, length, at, .. } => format!("place {from} {length} at {at}"),
                Output::Read { call, source, at } => {
                    self.answer = Some(call);
                    format!("read {} at {at}", segment(source))
                }
                Output::Deliver { call, message } => {
                    self.answer = Some(call);
                    match message {
                        CallMessage::Inline { from, length, .. } => format!("deliver inline {from} {length}"),
                        CallMessage::Assembled { length } => format!("deliver assembled {length}"),
                    }
                }
                Output::Register { length, .. } => format!("register {length}"),
                Output::Invalidate { handle, .. } => format!("invalidate {handle:x}"),
                Output::Write { from, target, .. } => format!("write {from} {}", segment(target)),
                Output::Send { header, payload, invalidate, .. } => {
                    let ranges: Vec<_> = payload.collect();
                    self.wire = wire(&buffer[..header], head, &ranges);
                    let with = invalidate.map_or(String::new(), |handle| format!(" invalidate {handle:x}"));
                    format!("send {} + {ranges:?}{with}", words(&buffer[..header]))
                }
                Output::Disconnect => "disconnect".into(),
            });
        }
        shown
    }

    fn registered(&mut self, region: u16, handle: u32) -> Vec<String> {
        let memory = Some(RegisteredMemory { handle, offset: 0x1000 });
        self.requester.handle(requester::Input::Registered { call: self.call.unwrap(), region, memory }).unwrap();
        self.requester_outputs(call_head(XID, Auth::NONE))
    }

    fn invalidated(&mut self, region: u16) -> Vec<String> {
        self.requester.handle(requester::Input::Invalidated { call: self.call.unwrap(), region }).unwrap();
        self.requester_outputs(&[])
    }

    fn sent(&mut self) -> Vec<String> {
        self.requester.handle(requester::Input::Sent { call: self.call.unwrap() }).unwrap();
        self.requester_outputs(&[])
    }

    /// Passes the last Send to the Responder.
    fn received_by_responder(&mut self) -> Vec<String> {
        let wire = self.wire.clone();
        self.responder_receives(&wire)
    }

    fn responder_receives(&mut self, octets: &[u8]) -> Vec<String> {
        self.responder.handle(responder::Input::Received { receive: 5, octets }).unwrap();
        self.responder_outputs(&[])
    }

    fn completed(&mut self) -> Vec<String> {
        self.responder.handle(responder::Input::Completed { call: self.answer.unwrap() }).unwrap();
        self.responder_outputs(&[])
    }

    fn reply(&mut self, length: u32, results: &[Item]) -> Vec<String> {
        let reply = responder::Reply { head: reply_head(XID), length, results, protected: false };
        self.responder.reply(self.answer.unwrap(), &reply).unwrap();
        self.responder_outputs(reply_head(XID))
    }

    fn received_by_requester(&mut self, invalidated: Option<u32>) -> Vec<String> {
        let octets = self.wire.clone();
        self.requester.handle(requester::Input::Received { receive: 9, octets: &octets, invalidated }).unwrap();
        self.requester_outputs(&[])
    }
}

fn words(octets: &[u8]) -> String {
    let words: Vec<_> =
        octets.chunks(4).map(|word| format!("{:x}", u32::from_be_bytes(word.try_into().unwrap()))).collect();
    words.join(" ")
}

fn segment(segment: Segment) -> String {
    format!("{:x} {:x} {:x}", segment.handle, segment.length, segment.offset)
}

/// A Send: header, then the ranges of a stream that begins with `head` and goes on with zeros.
fn wire(header: &[u8], head: &[u8], ranges: &[std::ops::Range<u32>]) -> Vec<u8> {
    let at = |index| head.get(index as usize).copied().unwrap_or(0);
    header.iter().copied().chain(ranges.iter().cloned().flatten().map(at)).collect()
}

fn call_head(xid: u32, credential: Auth<'_>) -> &'static [u8] {
    let (program, version, procedure, verifier) = (100_003, 3, 0, Auth::NONE);
    let call = rpc::RpcCall { xid, rpc_version: 2, program, version, procedure, credential, verifier };
    let mut octets = vec![0; call.encoded_len()];
    call.encode(&mut octets).unwrap();
    octets.leak()
}

fn reply_head(xid: u32) -> &'static [u8] {
    let mut octets = vec![0; 24];
    octets[..4].copy_from_slice(&xid.to_be_bytes());
    octets[7] = 1;
    octets.leak()
}

/// A Call of `length` octets whose reply has at most `reply_length`.
fn plain(head: &[u8], length: u32, reply_length: u32) -> requester::Call<'_> {
    requester::Call { head, length, arguments: &[], results: &[], reply_length, largest_capacity: 0 }
}

fn null() -> &'static [u8] {
    call_head(XID, Auth::NONE)
}

#[test]
fn section_3_5_1_short_messages() {
    let mut pair = Pair::new();
    assert_eq!(pair.call(&plain(null(), 40, 24)), ["send 7 1 20 0 0 0 0 + [0..40]"]);
    assert_eq!(pair.received_by_responder(), ["deliver inline 28 40"]);
    assert_eq!(pair.reply(24, &[]), ["release 5", "send 7 1 4 0 0 0 0 + [0..24]"]);
    assert!(pair.sent().is_empty());
    assert_eq!(pair.received_by_requester(None), ["done Reply { receive: 9, payload: 28..52 } []"]);
    assert_eq!(pair.requester.in_flight(), 0);
}

#[test]
fn section_3_5_2_a_read_chunk() {
    let mut pair = Pair::new();
    // A count, an opaque of 1003 octets, an octet of padding, and another word.
    let call = requester::Call { arguments: &[Item { position: 44, length: 1003 }], ..plain(null(), 1052, 24) };
    assert_eq!(pair.call(&call), ["register 0 Argument(44..1047)"]);
    assert_eq!(pair.registered(0, 0x51), ["send 7 1 20 0 1 2c 51 3eb 0 1000 0 0 0 + [0..44, 1048..1052]"]);
    let pulled = ["place 52 44 at 0", "place 96 4 at 1048", "release 5", "read 51 3eb 1000 at 44"];
    assert_eq!(pair.received_by_responder(), pulled);
    let answer = pair.answer.unwrap();
    assert_eq!((pair.responder.length(answer), answer.index()), (Some(1052), 0));
    assert!(pair.responder.padding(answer).eq(std::iter::once(1047..1048)));
    assert_eq!(pair.completed(), ["deliver assembled 1052"]);
    assert_eq!(pair.reply(24, &[]), ["send 7 1 4 0 0 0 0 + [0..24]"]);
    assert!(pair.sent().is_empty());
    assert_eq!(pair.received_by_requester(None), ["invalidate 0 51"], "nothing is handed over before");
    assert_eq!(pair.invalidated(0), ["done Reply { receive: 9, payload: 28..52 } []"]);
}

#[test]
fn section_3_5_2_a_write_chunk() {
    let mut pair = Pair::new();
    let call = requester::Call { results: &[1003], ..plain(null(), 100, 40) };
    assert_eq!(pair.call(&call), ["register 0 Result(0, 0..1003)"]);
    assert_eq!(pair.registered(0, 0x51), ["send 7 1 20 0 0 1 1 51 3eb 0 1000 0 0 + [0..100]"]);
    assert_eq!(pair.received_by_responder(), ["deliver inline 52 100"]);
    // A count and 501 octets: the padding is not written, and does not count.
    let reply = pair.reply(28 + 504, &[Item { position: 28, length: 501 }]);
    assert_eq!(reply, ["release 5", "write 28 51 1f5 1000", "send 7 1 4 0 0 1 1 51 1f5 0 1000 0 0 + [0..28]"]);
    assert_eq!(pair.received_by_requester(None), ["invalidate 0 51"]);
    assert!(pair.invalidated(0).is_empty(), "the Send is not complete");
    assert_eq!(pair.sent(), ["done Reply { receive: 9, payload: 52..80 } [501]"]);
}

#[test]
fn section_3_5_3_a_long_call() {
    let mut pair = Pair::new();
    assert_eq!(pair.call(&plain(null(), 2000, 24)), ["register 0 Argument(0..2000)"]);
    assert_eq!(pair.registered(0, 0x51), ["send 7 1 20 1 1 0 51 7d0 0 1000 0 0 0 + []"]);
    assert_eq!(pair.received_by_responder(), ["release 5", "read 51 7d0 1000 at 0"]);
    assert_eq!(pair.completed(), ["deliver assembled 2000"]);
    assert_eq!(pair.reply(24, &[]), ["send 7 1 4 0 0 0 0 + [0..24]"]);
    assert!(pair.sent().is_empty());
    assert_eq!(pair.received_by_requester(None), ["invalidate 0 51"]);
    assert_eq!(pair.invalidated(0), ["done Reply { receive: 9, payload: 28..52 } []"]);
}

#[test]
fn section_3_5_3_a_long_reply() {
    let mut pair = Pair::new();
    assert_eq!(pair.call(&plain(null(), 40, 3000)), ["register 0 Reply(0..3000)"]);
    assert_eq!(pair.registered(0, 0x51), ["send 7 1 20 0 0 0 1 1 51 bb8 0 1000 + [0..40]"]);
    assert_eq!(pair.received_by_responder(), ["deliver inline 48 40"]);
    let long = ["release 5", "write 0 51 7d0 1000", "send 7 1 4 1 0 0 1 1 51 7d0 0 1000 + []"];
    assert_eq!(pair.reply(2000, &[]), long);
    assert!(pair.sent().is_empty());
    assert_eq!(pair.received_by_requester(None), ["release 9", "invalidate 0 51"]);
    assert_eq!(pair.invalidated(0), ["done LongReply(2000) []"]);
}

#[test]
fn a_reply_that_fits_leaves_the_reply_chunk_unused() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 3000));
    pair.registered(0, 0x51);
    pair.received_by_responder();
    assert_eq!(pair.reply(24, &[]), ["release 5", "send 7 1 4 0 0 0 1 1 51 0 0 1000 + [0..24]"]);
}

#[test]
fn a_reply_chunk_beside_a_write_chunk_stays_unused() {
    let mut pair = Pair::new();
    pair.call(&requester::Call { results: &[9], ..plain(null(), 40, 3000) });
    pair.registered(0, 0x51);
    pair.registered(1, 0x52);
    pair.received_by_responder();
    let call = pair.answer.unwrap();
    let chunks = pair.responder.chunks(call).unwrap();
    assert_eq!((chunks.writes.len(), chunks.reply.unwrap().length()), (1, 3000));
    let reply = pair.reply(28 + 8, &[Item { position: 28, length: 8 }]);
    let send = "send 7 1 4 0 0 1 1 51 8 0 1000 0 1 1 52 0 0 1000 + [0..28]";
    assert_eq!(reply, ["release 5", "write 28 51 8 1000", send]);
    assert_eq!(pair.responder.chunks(call), None, "the Call is over");
}

/// `length` and `items` are those of the Reply from then on.
#[test]
fn a_call_that_is_answered_tells_its_length_no_more() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 24));
    pair.received_by_responder();
    let call = pair.answer.unwrap();
    assert_eq!(pair.responder.length(call), Some(40));
    let reply = responder::Reply { head: reply_head(XID), length: 24, results: &[], protected: false };
    assert_eq!(pair.responder.reply(call, &reply), Ok(ReplyForm::Short));
    assert_eq!(pair.responder.length(call), None);
}

/// 976 octets of reply with a header of 48 are 1024.
#[test]
fn a_reply_chunk_is_offered_from_one_octet_too_many() {
    assert_eq!(Pair::new().call(&plain(null(), 40, 996)), ["send 7 1 20 0 0 0 0 + [0..40]"]);
    assert_eq!(Pair::new().call(&plain(null(), 40, 1000)), ["register 0 Reply(0..1000)"]);
    assert_eq!(Pair::new().call(&plain(null(), 996, 24)), ["send 7 1 20 0 0 0 0 + [0..996]"]);
    assert_eq!(Pair::new().call(&plain(null(), 1000, 24)), ["register 0 Argument(0..1000)"]);
}

#[test]
fn a_long_call_has_reduced_items_and_limited_segments() {
    let mut pair = Pair::with(Terms::default(), 1000, Limits::default());
    let call = requester::Call { arguments: &[Item { position: 1048, length: 1501 }], ..plain(null(), 3000, 24) };
    let regions = [
        "0 Argument(0..1000)",
        "1 Argument(1000..1048)",
        "2 Argument(2552..3000)",
        "3 Argument(1048..2048)",
        "4 Argument(2048..2549)",
    ]
    .map(|region| format!("register {region}"));
    assert_eq!(pair.call(&call), regions);
    for region in 0..4 {
        assert!(pair.registered(region, 0x51 + u32::from(region)).is_empty());
    }
    let send = "send 7 1 20 1 1 0 51 3e8 0 1000 1 0 52 30 0 1000 1 0 53 1c0 0 1000 \
                1 418 54 3e8 0 1000 1 418 55 1f5 0 1000 0 0 0 + []";
    assert_eq!(pair.registered(4, 0x55), [send]);
    let pulled = [
        "release 5",
        "read 54 3e8 1000 at 1048",
        "read 55 1f5 1000 at 2048",
        "read 51 3e8 1000 at 0",
        "read 52 30 1000 at 1000",
        "read 53 1c0 1000 at 2552",
    ];
    assert_eq!(pair.received_by_responder(), pulled);
    let answer = pair.answer.unwrap();
    assert!(pair.responder.padding(answer).eq(std::iter::once(2549..2552)));
    for _ in 0..4 {
        assert!(pair.completed().is_empty());
    }
    assert_eq!(pair.completed(), ["deliver assembled 3000"]);
}

/// With two entries of the Read list, a header has 76 octets: with the 948 that stay inline, it just fits.
#[test]
fn an_item_of_exactly_two_segments_takes_two() {
    for (length, first, last) in [
        (2000, "register 0 Argument(44..1044)", "register 1 Argument(1044..2044)"),
        // One more makes a third entry, and so a Long Call.
        (2001, "register 0 Argument(0..44)", "register 4 Argument(2044..2045)"),
        // An empty item has no entry, and does not split the stream.
        (0, "register 0 Argument(0..1000)", "register 0 Argument(0..1000)"),
    ] {
        let mut pair = Pair::with(Terms::default(), 1000, Limits::default());
        let (arguments, whole) = ([Item { position: 44, length }], 1000.max(948 + length.next_multiple_of(4)));
        let regions = pair.call(&requester::Call { arguments: &arguments, ..plain(null(), whole, 24) });
        assert_eq!((&*regions[0], &**regions.last().unwrap()), (first, last));
    }
}

#[test]
fn an_empty_write_chunk_keeps_its_result_inline() {
    let mut pair = Pair::with(Terms::default(), 100, Limits::new().with_chunks(1, 2));
    pair.call(&requester::Call { results: &[0, 200], ..plain(null(), 40, 80) });
    pair.registered(0, 0x51);
    assert_eq!(pair.registered(1, 0x52), ["send 7 1 20 0 0 1 0 1 2 51 64 0 1000 52 64 0 1000 0 0 + [0..40]"]);
    pair.received_by_responder();
    let results = [Item { position: 28, length: 8 }, Item { position: 40, length: 120 }];
    let reply = pair.reply(160, &results);
    let send = "send 7 1 4 0 0 1 0 1 2 51 64 0 1000 52 14 0 1000 0 0 + [0..40]";
    assert_eq!(reply, ["release 5", "write 40 51 64 1000", "write 140 52 14 1000", send]);
    pair.sent();
    pair.received_by_requester(None);
    pair.invalidated(0);
    assert_eq!(pair.invalidated(1), ["done Reply { receive: 9, payload: 76..116 } [0, 120]"]);
}

#[test]
fn nothing_is_reduced_under_integrity_or_privacy() {
    for (service, reduced) in [
        (GssService::NONE, true),
        (GssService::INTEGRITY, false),
        (GssService::PRIVACY, false),
        (GssService::CHANNEL_PROTECTION, true),
        (GssService(9), false),
    ] {
        let gss = GssCredential { version: 1, procedure: GssProcedure::DATA, sequence: 1, service, handle: &[1; 4] };
        let mut body = vec![0; gss.encoded_len()];
        gss.encode(&mut body).unwrap();
        let head = call_head(XID, Auth { flavor: Flavor::RPCSEC_GSS, body: &body });
        let position = head.len() as u32 + 4;
        let arguments = [Item { position, length: 2000 }];
        let call = requester::Call { arguments: &arguments, results: &[500], ..plain(head, position + 2000, 600) };
        let expected = if reduced {
            vec!["register 0 Result(0, 0..500)".into(), format!("register 1 Argument({position}..{})", position + 2000)]
        } else {
            // The data that the Write chunk would have had stays with the rest.
            vec!["register 0 Reply(0..1100)".into(), format!("register 1 Argument(0..{})", position + 2000)]
        };
        assert_eq!(Pair::new().call(&call), expected, "{service:?}");
        // In an inline Call the Responder sees the same.
        let mut send = vec![0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        send.extend([
            0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0x51, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ]);
        send.extend(head);
        let mut pair = Pair::new();
        pair.responder_receives(&send);
        assert_eq!(pair.reply(528, &[Item { position: 28, length: 500 }]).len(), if reduced { 3 } else { 2 });
    }
}

#[test]
fn results_of_a_protected_call_are_in_no_write_chunk() {
    let (procedure, service) = (GssProcedure::DATA, GssService::PRIVACY);
    let gss = GssCredential { version: 1, procedure, sequence: 1, service, handle: &[1; 4] };
    let mut body = vec![0; gss.encoded_len()];
    gss.encode(&mut body).unwrap();
    let head = call_head(XID, Auth { flavor: Flavor::RPCSEC_GSS, body: &body });
    let mut pair = Pair::new();
    pair.call(&requester::Call { results: &[8, 4], ..plain(head, head.len() as u32, 24) });
    pair.sent();
    pair.received_by_responder();
    pair.reply(36, &[]);
    assert_eq!(pair.received_by_requester(None), ["done Reply { receive: 9, payload: 28..64 } []"]);
}

#[test]
fn a_bad_header_is_answered_as_section_4_5_requires() {
    let head = null();
    let with = |header: &[u32], payload: &[u8]| -> Vec<u8> {
        header.iter().flat_map(|word| word.to_be_bytes()).chain(payload.iter().copied()).collect()
    };
    let err_chunk = ["release 5", "send 7 1 4 4 2 + []"].map(String::from).to_vec();
    let release = vec![String::from("release 5")];
    let other_xid = call_head(8, Auth::NONE);
    for (why, octets, expected) in [
        ("too short", with(&[7, 1, 1, 0, 0, 0], &[]), release.clone()),
        ("version 2", with(&[7, 2, 1, 0, 0, 0, 0], &[]), vec!["release 5".into(), "send 7 2 4 4 1 1 1 + []".into()]),
        ("unknown procedure", with(&[7, 1, 1, 9, 0, 0, 0], head), err_chunk.clone()),
        ("RDMA_MSGP", with(&[7, 1, 1, 2, 4, 4, 0, 0, 0], head), err_chunk.clone()),
        ("RDMA_DONE", with(&[7, 1, 1, 3], &[]), release.clone()),
        ("RDMA_ERROR", with(&[7, 1, 1, 4, 2], &[]), release.clone()),
        ("a list that does not end", with(&[7, 1, 1, 0, 1, 0, 0], &[]), err_chunk.clone()),
        ("another XID", with(&[7, 1, 1, 0, 0, 0, 0], other_xid), err_chunk.clone()),
        ("a Reply", with(&[7, 1, 1, 0, 0, 0, 0], reply_head(7)), err_chunk.clone()),
        ("no message", with(&[7, 1, 1, 1, 0, 0, 0], &[]), err_chunk.clone()),
        ("a message of no octets", with(&[7, 1, 1, 1, 1, 0, 5, 0, 0, 0, 0, 0, 0], &[]), err_chunk.clone()),
        ("a message twice", with(&[7, 1, 1, 1, 1, 0, 5, 40, 0, 0, 0, 0, 0], head), err_chunk.clone()),
        ("Position Zero in RDMA_MSG", with(&[7, 1, 1, 0, 1, 0, 5, 40, 0, 0, 0, 0, 0], head), err_chunk.clone()),
        (
            "Position beyond a chunk",
            with(&[7, 1, 1, 1, 1, 0, 5, 40, 0, 0, 1, 44, 5, 4, 0, 0, 0, 0, 0], &[]),
            err_chunk.clone(),
        ),
        ("Position not aligned", with(&[7, 1, 1, 0, 1, 38, 5, 40, 0, 0, 0, 0, 0], head), err_chunk.clone()),
        (
            "a Position twice",
            with(&[7, 1, 1, 0, 1, 40, 5, 0, 0, 0, 1, 44, 5, 4, 0, 0, 1, 40, 5, 4, 0, 0, 0, 0, 0], head),
            err_chunk.clone(),
        ),
        (
            "Position Zero twice",
            with(&[7, 1, 1, 1, 1, 0, 5, 40, 0, 0, 1, 40, 5, 4, 0, 0, 1, 0, 5, 4, 0, 0, 0, 0, 0], &[]),
            err_chunk.clone(),
        ),
        ("a segment that wraps", with(&[7, 1, 1, 0, 1, 40, 5, 40, !0, !0, 0, 0, 0], head), err_chunk.clone()),
        ("too many octets", with(&[7, 1, 1, 0, 1, 40, 5, 0x11_0000, 0, 0, 0, 0, 0], head), err_chunk.clone()),
        ("too many Write chunks", with(&[7, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0], head), err_chunk),
    ] {
        assert_eq!(Pair::new().responder_receives(&octets), expected, "{why}");
    }
}

/// A responder never grants 0 credits, and section 3.3.1 does not forbid to request 0.
#[test]
fn a_call_that_requests_no_credits_is_carried_out() {
    let call = [&[0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0][..], &[0; 12], null()].concat();
    let mut pair = Pair::new();
    assert_eq!(pair.responder_receives(&call), ["deliver inline 28 40"]);
    assert!(pair.reply(24, &[]).last().unwrap().starts_with("send 7 1 4 0"));
}

/// Section 4.5.2: the header is valid, and the chunk has no place among the arguments. The chunks for the reply come back unused.
#[test]
fn a_read_chunk_beyond_the_stream_gets_garbage_args() {
    let gss = GssCredential {
        version: 1,
        procedure: GssProcedure::DATA,
        sequence: 1,
        service: GssService::NONE,
        handle: &[1; 4],
    };
    let mut body = vec![0; gss.encoded_len()];
    gss.encode(&mut body).unwrap();
    let signed = call_head(7, Auth { flavor: Flavor::RPCSEC_GSS, body: &body });
    // After it the Read list ends.
    let beyond = [1, 100, 5, 40, 0, 0, 0];
    for (header, head, answer) in [
        (&[0, 0][..], null(), "send 7 1 4 0 0 0 0 7 1 0 0 0 4 + []"),
        (
            &[1, 1, 6, 64, 0, 0, 0, 1, 1, 8, 100, 0, 0],
            null(),
            "send 7 1 4 0 0 1 1 6 0 0 0 0 1 1 8 0 0 0 7 1 0 0 0 4 + []",
        ),
        // Only the upper layer can make the verifier.
        (&[0, 0], signed, "send 7 1 4 4 2 + []"),
        // No RPC Call that could be answered.
        (&[0, 0], &null()[..36], "send 7 1 4 4 2 + []"),
    ] {
        let words = [&[7, 1, 1, 0], &beyond[..], header].concat();
        let octets: Vec<u8> =
            words.iter().flat_map(|word: &u32| word.to_be_bytes()).chain(head.iter().copied()).collect();
        assert_eq!(Pair::new().responder_receives(&octets), ["release 5", answer], "{header:?}");
    }
}

/// The header is kept until the reply: 28 octets, and 24 for each segment.
#[test]
fn a_header_longer_than_the_responder_keeps_is_err_chunk() {
    type Small = Responder<4, 76, 4>;
    let read = |at: u32| [1, at, 5, 4, 0, 0];
    let ask = |reads: &[[u32; 6]]| {
        let mut responder = Small::new(Terms::default(), Limits::new().with_chunks(4, 1));
        let message = [&[7, 1, 1, 0], reads.as_flattened(), &[0, 0, 0]].concat();
        let octets: Vec<u8> =
            message.iter().flat_map(|word| word.to_be_bytes()).chain(null().iter().copied()).collect();
        responder.handle(responder::Input::Received { receive: 5, octets: &octets }).unwrap();
        let mut buffer = [0xa5; 128];
        let mut answer = None;
        while let Some(output) = responder.poll(&mut buffer).unwrap() {
            if let responder::Output::Send { header, .. } = output {
                answer = Some(words(&buffer[..header]));
            }
        }
        answer
    };
    let err_chunk = Some(String::from("7 1 4 4 2"));
    assert_eq!(ask(&[read(40), read(44)]), None, "it is pulled");
    assert_eq!(ask(&[read(40), read(44), read(48)]), err_chunk);
    // Beyond the Payload stream: GARBAGE_ARGS, if the header can be kept.
    assert_eq!(ask(&[read(40), read(100)]), Some(String::from("7 1 4 0 0 0 0 7 1 0 0 0 4")));
    assert_eq!(ask(&[read(40), read(44), read(100)]), err_chunk);
}

/// RFC 8166 demands no order.
#[test]
fn read_chunks_come_in_any_order() {
    let mut pair = Pair::with(Terms::default(), 0x1_0000, Limits::new().with_chunks(2, 1));
    let words = [7, 1, 1, 1, 1, 52, 5, 4, 0, 0, 1, 40, 6, 7, 0, 0, 1, 40, 6, 1, 0, 0x70, 1, 0, 7, 44, 0, 0, 0, 0, 0];
    let call: Vec<_> = words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
    let pulled = [
        "release 5",
        "read 6 7 0 at 40",
        "read 6 1 70 at 47",
        "read 5 4 0 at 52",
        "read 7 28 0 at 0",
        "read 7 4 28 at 48",
    ];
    assert_eq!(pair.responder_receives(&call), pulled);
}

#[test]
fn no_more_rdma_reads_than_the_adapter_takes() {
    let mut pair = Pair::with(Terms::default(), 1000, Limits::default());
    pair.responder.limit_reads(2);
    pair.call(&plain(null(), 2996, 24));
    for region in 0..3 {
        pair.registered(region, 0x51 + u32::from(region));
    }
    let first = ["release 5", "read 51 3e8 1000 at 0", "read 52 3e8 1000 at 1000"];
    assert_eq!(pair.received_by_responder(), first);
    let waiting = pair.answer;
    // Another Call waits too; one without RDMA Reads does not.
    pair.wire[3] = 8;
    assert_eq!(pair.received_by_responder(), ["release 5"]);
    let inline = [&[0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0][..], &[0; 12], call_head(9, Auth::NONE)].concat();
    assert_eq!(pair.responder_receives(&inline), ["deliver inline 28 40"]);
    pair.answer = waiting;
    assert_eq!(pair.completed(), ["read 53 3e4 1000 at 2000"]);
    assert_eq!(pair.completed(), ["read 51 3e8 1000 at 0"]);
    let other = std::mem::replace(&mut pair.answer, waiting);
    assert_eq!(pair.completed(), ["deliver assembled 2996", "read 52 3e8 1000 at 1000"]);
    pair.answer = other;
    assert_eq!(pair.completed(), ["read 53 3e4 1000 at 2000"]);
    assert!(pair.completed().is_empty());
    assert_eq!(pair.completed(), ["deliver assembled 2996"]);
}

/// The longest message of an adapter's port may be shorter than a segment.
#[test]
fn no_more_octets_in_one_transfer_than_the_adapter_moves() {
    let mut pair = Pair::with(Terms::default(), 0x1_0000, Limits::default());
    pair.responder.limit_transfers(800);
    pair.call(&plain(null(), 2000, 2000));
    pair.registered(0, 0x51);
    pair.registered(1, 0x52);
    let reads = ["release 5", "read 52 320 1000 at 0", "read 52 320 1320 at 800", "read 52 190 1640 at 1600"];
    assert_eq!(pair.received_by_responder(), reads);
    assert!(pair.completed().is_empty() && pair.completed().is_empty());
    assert_eq!(pair.completed(), ["deliver assembled 2000"]);
    let written = pair.reply(2000, &[]);
    assert_eq!(written[..3], ["write 0 51 320 1000", "write 800 51 320 1320", "write 1600 51 190 1640"], "{written:?}");
}

/// An RDMA Read has ended the connection; on a new one, the Call is sent again.
#[test]
fn a_call_whose_rdma_failed_is_err_chunk_after_reconnecting() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 2000, 24));
    pair.registered(0, 0x51);
    let call = pair.wire.clone();
    pair.responder_receives(&call);
    let xid = pair.responder.xid(pair.answer.unwrap()).unwrap();
    pair.responder.handle(responder::Input::Failed).unwrap();
    assert_eq!(pair.responder_outputs(&[]), ["disconnect"]);

    pair.responder = Responder::new(Terms::default(), Limits::default());
    for other in [1, 2, 3, xid] {
        pair.responder.refuse_xid(other);
    }
    let refused = ["release 5", "send 7 1 4 4 2 + []"];
    assert_eq!(pair.responder_receives(&call), refused);
    assert_eq!(pair.responder_receives(&call), ["release 5", "read 51 7d0 1000 at 0"], "once");
    // There is room for four.
    for other in [xid, 1, 2, 3, 4] {
        pair.responder.refuse_xid(other);
    }
    assert_eq!(pair.responder_receives(&call), ["release 5", "read 51 7d0 1000 at 0"]);
    pair.responder.refuse_xid(xid);
    assert_eq!(pair.responder_receives(&call), refused);
}

#[test]
fn a_reply_without_room_is_err_chunk() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 24));
    pair.received_by_responder();
    assert_eq!(pair.reply(2000, &[]), ["release 5", "send 7 1 4 4 2 + []"]);
    pair.sent();
    assert_eq!(pair.received_by_requester(None), ["release 9", "done Error(Chunk) []"]);
}

/// All chunks come back in the header of the reply: 32 octets, and 16 for each segment.
#[test]
fn a_call_without_space_for_a_reply_is_not_delivered() {
    let with = |lists: &[u32], segments: u32, length: u32, rest: &[u32]| -> Vec<u8> {
        let segments = [0x51, length, 0, 0x1000].repeat(segments as usize);
        let words = [&[7, 1, 1, 0, 0][..], lists, &segments, rest].concat();
        words.iter().flat_map(|word: &u32| word.to_be_bytes()).chain(null().iter().copied()).collect()
    };
    for (why, call, fits) in [
        ("a Reply chunk of 62 segments", with(&[0, 1, 62], 62, 100, &[]), true),
        ("of 63", with(&[0, 1, 63], 63, 100, &[]), false),
        ("a Write chunk of 60, and 24 octets inline", with(&[1, 60], 60, 100, &[0, 0]), true),
        ("of 61", with(&[1, 61], 61, 100, &[0, 0]), false),
        ("a Reply chunk without room, and 24 octets inline", with(&[0, 1, 60], 60, 0, &[]), true),
        ("the same with a segment more", with(&[0, 1, 61], 61, 0, &[]), false),
    ] {
        let mut responder = Responder::<4, 2048, 2>::new(Terms::default(), Limits::default());
        responder.handle(responder::Input::Received { receive: 5, octets: &call }).unwrap();
        let delivered = matches!(responder.poll(&mut [0; 2048]), Ok(Some(responder::Output::Deliver { .. })));
        assert_eq!(delivered, fits, "{why}");
    }
}

#[test]
fn a_segment_may_end_with_the_address_space() {
    let words: [u32; 13] = [7, 1, 1, 1, 1, 0, 5, 40, !0, 0u32.wrapping_sub(40), 0, 0, 0];
    let call: Vec<_> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    assert_eq!(Pair::new().responder_receives(&call), ["release 5", "read 5 28 ffffffffffffffd8 at 0"]);
}

#[test]
fn an_invalid_reply_is_dropped_silently() {
    let mut pair = Pair::new();
    pair.call(&requester::Call { results: &[1000], ..plain(null(), 40, 40) });
    pair.registered(0, 0x51);
    pair.sent();
    pair.received_by_responder();
    pair.reply(28, &[]);
    let good = pair.wire.clone();
    // The words of the Write chunk: its count at 24, then handle, length, offset.
    for (why, at, value) in [
        ("another XID", 3, 9),
        ("another version", 7, 2),
        ("another XID in the message", 55, 9),
        ("a Call", 59, 0),
        ("a handle that was not given", 31, 0x52),
        ("another offset", 39, 1),
        ("more than there was room for", 34, 4),
        ("another count", 27, 2),
    ] {
        pair.wire = good.clone();
        pair.wire[at] = value;
        assert_eq!(pair.received_by_requester(None), ["release 9"], "{why}");
    }
    pair.wire = good;
    assert_eq!(pair.received_by_requester(None), ["invalidate 0 51"]);

    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 3000));
    pair.registered(0, 0x51);
    pair.received_by_responder();
    pair.reply(2000, &[]);
    pair.wire[36..40].fill(0);
    assert_eq!(pair.received_by_requester(None), ["release 9"], "a long reply of no octets");
}

#[test]
fn a_write_chunk_is_filled_in_order() {
    let mut pair = Pair::with(Terms::default(), 100, Limits::default());
    pair.call(&requester::Call { results: &[200], ..plain(null(), 40, 40) });
    pair.registered(0, 0x51);
    pair.registered(1, 0x52);
    pair.received_by_responder();
    let (call, results) = (pair.answer.unwrap(), [Item { position: 28, length: 201 }]);
    let too_long = responder::Reply { head: reply_head(XID), length: 232, results: &results, protected: false };
    assert_eq!(pair.responder.reply(call, &too_long), Ok(ReplyForm::Refused));
    pair.wire = [7, 1, 4, 0, 0, 1, 2, 0x51, 99, 0, 0x1000, 0x52, 1, 0, 0x1000, 0, 0, 7, 1, 0, 0, 0, 0]
        .iter()
        .flat_map(|word: &u32| word.to_be_bytes())
        .collect();
    assert_eq!(pair.received_by_requester(None), ["release 9"], "the first segment is not full");
    pair.wire[35] = 100;
    assert_eq!(pair.received_by_requester(None), ["invalidate 0 51", "invalidate 1 52"]);
}

#[test]
fn as_many_credits_are_asked_for_as_is_said_last() {
    let mut pair = Pair::new();
    for (credits, sent) in [(5, "send 7 1 5 0 0 0 0 + [0..40]"), (0, "send 7 1 1 0 0 0 0 + [0..40]")] {
        pair.requester.request_credits(credits);
        assert_eq!(pair.call(&plain(null(), 40, 24)), [sent]);
        pair.sent();
        pair.received_by_responder();
        pair.reply(24, &[]);
        pair.received_by_requester(None);
    }
}

#[test]
fn never_more_calls_than_granted() {
    let mut pair = Pair::new();
    let heads: Vec<_> = (7..11).map(|xid| call_head(xid, Auth::NONE)).collect();
    assert_eq!(pair.call(&plain(heads[0], 40, 24)).len(), 1);
    for head in &heads[1..] {
        assert!(!pair.requester.is_full());
        assert!(pair.requester.call(&plain(head, 40, 24)).is_ok());
    }
    assert!(pair.requester.is_full());
    assert!(pair.requester_outputs(&[]).is_empty(), "one until the first reply");
    pair.requester.permit(u32::MAX);
    assert!(pair.requester_outputs(&[]).is_empty(), "that is for version 2");
    assert_eq!(pair.requester.call(&plain(heads[0], 40, 24)), Err(CallRefusal::XidInUse));
    assert_eq!(pair.requester.call(&plain(call_head(99, Auth::NONE), 40, 24)), Err(CallRefusal::TooManyCalls));
    pair.received_by_responder();
    pair.responder.grant(2).unwrap();
    assert!(pair.responder.grant(0).is_err());
    assert!(pair.responder.grant(5).is_err());
    assert_eq!(pair.reply(24, &[]), ["release 5", "send 7 1 2 0 0 0 0 + [0..24]"]);
    assert!(pair.sent().is_empty(), "one until its Receive is back");
    let outputs = pair.received_by_requester(None);
    assert_eq!(outputs[1..], ["send 8 1 20 0 0 0 0 + [0..40]", "send 9 1 20 0 0 0 0 + [0..40]"]);
    assert!(outputs[0].starts_with("done"), "{outputs:?}");
    assert_eq!(pair.requester.in_flight(), 2);
}

/// There are as many Receives as credits, so each Receive that is not back holds back a credit.
#[test]
fn a_credit_is_reused_once_the_replys_receive_is_released() {
    let mut pair = Pair::new();
    pair.responder.grant(1).unwrap();
    pair.call(&plain(null(), 2000, 24));
    pair.registered(0, 0x51);
    assert!(pair.requester.call(&plain(call_head(8, Auth::NONE), 40, 24)).is_ok());
    pair.received_by_responder();
    pair.completed();
    pair.reply(24, &[]);
    assert!(pair.sent().is_empty());
    assert_eq!(pair.received_by_requester(None), ["invalidate 0 51"]);
    assert_eq!(pair.requester.in_flight(), 1);
    let outputs = pair.invalidated(0);
    assert!(outputs[0].starts_with("done") && outputs[1].starts_with("send 8 "), "{outputs:?}");
}

#[test]
fn a_peer_beyond_its_grant_is_disconnected() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 24));
    for _ in 0..4 {
        assert_eq!(pair.received_by_responder(), ["deliver inline 28 40"]);
    }
    assert_eq!(pair.received_by_responder(), ["release 5", "disconnect"]);

    let mut pair = Pair::new();
    pair.responder.grant(2).unwrap();
    for expected in [&["deliver inline 28 40"][..], &["deliver inline 28 40"], &["release 5", "disconnect"]] {
        assert_eq!(pair.responder_receives(&null_call(8)), expected, "though there is room for more");
    }
}

/// Its Receives come back before the Call is assembled, so Receives alone do not limit the peer to its grant.
#[test]
fn a_peer_with_more_reads_than_granted_is_disconnected() {
    let mut pair = Pair::new();
    pair.responder.grant(2).unwrap();
    pair.call(&plain(null(), 2000, 24));
    pair.registered(0, 0x51);
    for _ in 0..2 {
        assert_eq!(pair.received_by_responder(), ["release 5", "read 51 7d0 1000 at 0"]);
    }
    // A smaller grant holds from when it is sent.
    pair.responder.grant(1).unwrap();
    assert_eq!(pair.completed(), ["deliver assembled 2000"]);
    assert_eq!(pair.received_by_responder(), ["release 5", "disconnect"]);

    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 24));
    pair.received_by_responder();
    assert_eq!(pair.reply(24, &[]), ["release 5", "send 7 1 4 0 0 0 0 + [0..24]"]);
    pair.responder.grant(1).unwrap();
    for _ in 0..4 {
        assert_eq!(pair.responder_receives(&null_call(8)), ["deliver inline 28 40"], "it may not know yet");
    }
}

/// The driver of this Responder has memory for more calls when they come.
#[test]
fn a_larger_responder_goes_on_where_the_small_one_was() {
    let mut small = Responder::<2, 512, 2>::new(Terms::default(), Limits::default());
    assert!(small.grant(4).is_err());
    small.expect(4);
    small.grant(4).unwrap();
    let calls = [7, 8].map(|xid| {
        assert!(small.has_place() && !small.is_short());
        delivered(&mut small, xid).unwrap()
    });
    assert!(!small.has_place() && small.is_short());
    let reply = responder::Reply { head: &[0, 0, 0, 8, 0, 0, 0, 1], length: 24, results: &[], protected: false };
    small.reply(calls[1], &reply).unwrap();

    let small = small.enlarge::<1>().unwrap_err();
    let mut larger = small.enlarge::<4>().unwrap();
    let mut header = [0; 512];
    assert!(matches!(larger.poll(&mut header), Ok(Some(responder::Output::Release { receive: 5 }))));
    assert!(matches!(larger.poll(&mut header), Ok(Some(responder::Output::Send { .. }))));
    assert_eq!(header[8..12], [0, 0, 0, 4], "the grant");
    assert_eq!((larger.xid(calls[0]), larger.xid(calls[1])), (Some(7), None));
    for xid in 9..12 {
        assert!(larger.has_place() && !larger.is_short());
        assert!(delivered(&mut larger, xid).is_some());
    }
    assert!(!larger.is_short(), "the peer may have no more calls");
    assert_eq!(delivered(&mut larger, 12), None);
}

/// The Call of a Send; `None` if it ends the connection.
fn delivered<const CALLS: usize>(responder: &mut Responder<CALLS, 512, 2>, xid: u8) -> Option<CallId> {
    responder.handle(responder::Input::Received { receive: 5, octets: &null_call(xid) }).unwrap();
    loop {
        match responder.poll(&mut [0; 512]).unwrap()? {
            responder::Output::Deliver { call, .. } => return Some(call),
            responder::Output::Disconnect => return None,
            _ => {}
        }
    }
}

/// An RDMA_MSG without chunks.
fn null_call(xid: u8) -> Vec<u8> {
    let header = [0, 0, 0, xid, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0];
    [&header[..], &[0; 12], call_head(u32::from(xid), Auth::NONE)].concat()
}

#[test]
fn a_call_that_cannot_be_posted_is_err_chunk() {
    use responder::{Input, Output};
    let mut pair = Pair::new();
    pair.responder.limit_reads(1);
    let refused = "send 7 1 4 4 2 + []";
    // There is no memory to pull into.
    pair.call(&plain(null(), 2000, 24));
    pair.registered(0, 0x51);
    let sent = pair.wire.clone();
    pair.responder.handle(Input::Received { receive: 5, octets: &sent }).unwrap();
    let mut buffer = [0; 512];
    assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Release { .. }))));
    let Ok(Some(Output::Read { call, .. })) = pair.responder.poll(&mut buffer) else { panic!("a Read") };
    pair.responder.handle(Input::NotPosted { call }).unwrap();
    assert_eq!(pair.responder.handle(Input::NotPosted { call }), Err(InputError::Unexpected));
    assert_eq!(pair.responder_outputs(&[]), [refused]);
    // The only RDMA Read allowed is free again.
    assert_eq!(pair.responder_receives(&sent), ["release 5", "read 51 7d0 1000 at 0"]);
    // Nor to push from: nothing is written, or only a part.
    let mut pair = Pair::with(Terms::default(), 1000, Limits::default());
    pair.call(&plain(null(), 40, 3000));
    (0..3).for_each(|region| drop(pair.registered(region, 0x51 + u32::from(region))));
    let sent = pair.wire.clone();
    for written in 0..3 {
        assert_eq!(pair.responder_receives(&sent).len(), 1);
        let reply = responder::Reply { head: reply_head(XID), length: 3000, results: &[], protected: false };
        let call = pair.answer.unwrap();
        pair.responder.reply(call, &reply).unwrap();
        assert_eq!(pair.responder.handle(Input::NotPosted { call }), Err(InputError::Unexpected));
        assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Release { .. }))));
        for _ in 0..=written {
            assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Write { .. }))));
        }
        pair.responder.handle(Input::NotPosted { call }).unwrap();
        assert_eq!(pair.responder_outputs(&[]), [refused]);
    }
}

#[test]
fn err_chunk_waits_for_all_rdma_reads_of_the_call() {
    use responder::{Input, Output};
    for posted in 0..3_usize {
        for reads in [3, u32::MAX] {
            let mut pair = Pair::new();
            pair.responder.limit_reads(reads);
            pair.responder.limit_transfers(500);
            pair.call(&plain(null(), 2000, 24));
            pair.registered(0, 0x51);
            let (sent, mut buffer) = (pair.wire.clone(), [0; 512]);
            pair.responder.handle(Input::Received { receive: 5, octets: &sent }).unwrap();
            assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Release { .. }))));
            for _ in 0..posted {
                assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Read { .. }))));
            }
            let Ok(Some(Output::Read { call, .. })) = pair.responder.poll(&mut buffer) else { panic!("a Read") };
            pair.answer = Some(call);
            pair.responder.handle(Input::NotPosted { call }).unwrap();
            assert_eq!(pair.responder.handle(Input::NotPosted { call }), Err(InputError::Unexpected));
            let mut outputs = pair.responder_outputs(&[]);
            for _ in 0..posted {
                assert!(outputs.is_empty(), "{posted}: {outputs:?}");
                outputs = pair.completed();
            }
            assert_eq!(outputs, ["send 7 1 4 4 2 + []"]);
            assert_eq!(pair.responder.handle(Input::Completed { call }), Err(InputError::Unexpected));
            // As many RDMA Reads are allowed as before.
            let again = pair.responder_receives(&sent);
            assert_eq!(again.len(), if reads == 3 { 4 } else { 5 }, "{again:?}");
        }
    }
}

#[test]
fn a_complete_read_cannot_be_postponed() {
    use responder::{Input, Output};
    let mut pair = Pair::new();
    pair.responder.limit_reads(1);
    pair.responder.limit_transfers(1000);
    pair.call(&plain(null(), 2000, 24));
    pair.registered(0, 0x51);
    assert_eq!(pair.received_by_responder(), ["release 5", "read 51 3e8 1000 at 0"]);
    let call = pair.answer.unwrap();
    pair.responder.handle(Input::Completed { call }).unwrap();
    for input in [Input::Postponed { call }, Input::NotPosted { call }] {
        assert_eq!(pair.responder.handle(input), Err(InputError::Unexpected));
    }
    let Ok(Some(Output::Read { source, at, .. })) = pair.responder.poll(&mut []) else { panic!("a Read") };
    assert_eq!((source.length, at), (1000, 1000));
}

#[test]
fn a_postponed_transfer_is_requested_again_without_delaying_others() {
    use responder::{Input, Output};
    let mut pair = Pair::new();
    pair.responder.limit_reads(1);
    pair.call(&plain(null(), 2000, 24));
    pair.registered(0, 0x51);
    let (sent, mut buffer) = (pair.wire.clone(), [0; 512]);
    pair.responder.handle(Input::Received { receive: 5, octets: &sent }).unwrap();
    assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Release { .. }))));
    let Ok(Some(Output::Read { call, .. })) = pair.responder.poll(&mut buffer) else { panic!("a Read") };
    assert_eq!(pair.responder.handle(Input::Resumed { call }), Err(InputError::Unexpected), "it is not postponed");
    pair.responder.handle(Input::Postponed { call }).unwrap();
    for input in [Input::Postponed { call }, Input::NotPosted { call }, Input::Completed { call }] {
        assert_eq!(pair.responder.handle(input), Err(InputError::Unexpected));
    }
    assert!(pair.responder_outputs(&[]).is_empty());
    // Another Call has the only RDMA Read allowed.
    assert_eq!(pair.responder_receives(&null_call(8)), ["deliver inline 28 40"]);
    assert_eq!(pair.responder_receives(&sent), ["release 5", "read 51 7d0 1000 at 0"]);
    pair.responder.handle(Input::Resumed { call }).unwrap();
    assert!(pair.responder_outputs(&[]).is_empty(), "it waits for the other");
    assert_eq!(pair.completed(), ["deliver assembled 2000", "read 51 7d0 1000 at 0"]);

    // An RDMA Write between others.
    let mut pair = Pair::with(Terms::default(), 1000, Limits::default());
    pair.call(&plain(null(), 40, 3000));
    (0..3).for_each(|region| drop(pair.registered(region, 0x51 + u32::from(region))));
    pair.received_by_responder();
    let reply = responder::Reply { head: reply_head(XID), length: 3000, results: &[], protected: false };
    let call = pair.answer.unwrap();
    pair.responder.reply(call, &reply).unwrap();
    assert_eq!(pair.responder.handle(Input::Postponed { call }), Err(InputError::Unexpected), "nothing is asked for");
    assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Release { .. }))));
    assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Write { from: 0, .. }))));
    assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Write { from: 1000, .. }))));
    pair.responder.handle(Input::Postponed { call }).unwrap();
    assert!(pair.responder_outputs(&[]).is_empty());
    pair.responder.handle(Input::Resumed { call }).unwrap();
    let outputs = pair.responder_outputs(reply_head(XID));
    assert_eq!(outputs[..2], ["write 1000 52 3e8 1000", "write 2000 53 3e8 1000"]);
    assert!(outputs[2].starts_with("send 7 "), "{outputs:?}");
}

#[test]
fn the_last_rdma_write_may_fail_to_be_posted() {
    use responder::{Input, Output};
    let mut pair = Pair::new();
    pair.call(&requester::Call { results: &[200], ..plain(null(), 40, 40) });
    pair.registered(0, 0x51);
    pair.received_by_responder();
    let results = [Item { position: 28, length: 200 }];
    let reply = responder::Reply { head: reply_head(XID), length: 228, results: &results, protected: false };
    let (call, mut buffer) = (pair.answer.unwrap(), [0; 512]);
    pair.responder.reply(call, &reply).unwrap();
    assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Release { .. }))));
    assert!(matches!(pair.responder.poll(&mut buffer), Ok(Some(Output::Write { .. }))));
    // All of the result was asked for. There is no room for the header yet, so the reply is still to come.
    assert!(pair.responder.poll(&mut [0; 8]).is_err());
    pair.responder.handle(Input::NotPosted { call }).unwrap();
    assert_eq!(pair.responder_outputs(&[]), ["send 7 1 4 4 2 + []"]);
}

#[test]
fn remote_invalidation_needs_both_announcements_and_that_calls_handle() {
    let terms = Terms { remote_invalidation: true, ..Terms::default() };
    for (terms, handle, expected) in [
        (terms, Some(0x51), "done Reply { receive: 9, payload: 48..72 } []"),
        (terms, None, "invalidate 0 51"),
        (terms, Some(0x99), "disconnect"),
        (Terms::default(), Some(0x51), "disconnect"),
    ] {
        let mut pair = Pair::with(terms, 0x1_0000, Limits::default());
        pair.call(&plain(null(), 40, 3000));
        pair.registered(0, 0x51);
        pair.sent();
        pair.received_by_responder();
        let invalidates = if terms.remote_invalidation { " invalidate 51" } else { "" };
        let send = format!("send 7 1 4 0 0 0 1 1 51 0 0 1000 + [0..24]{invalidates}");
        assert_eq!(pair.reply(24, &[]), ["release 5".into(), send]);
        assert_eq!(pair.received_by_requester(handle), [expected]);
    }
}

/// An empty segment has no memory, and 0 is not a handle.
#[test]
fn what_is_invalidated_remotely_is_a_handle_of_memory() {
    let terms = Terms { remote_invalidation: true, ..Terms::default() };
    for (segments, invalidate) in [
        ([[0, 0, 0, 0], [0x51, 100, 0, 0]], " invalidate 51"),
        ([[0x50, 0, 0, 0], [0x51, 100, 0, 0]], " invalidate 51"),
        ([[0, 100, 0, 0], [0x51, 100, 0, 0]], " invalidate 51"),
        ([[0x50, 100, 0, 0], [0x51, 100, 0, 0]], " invalidate 50"),
        ([[0x50, 0, 0, 0], [0, 100, 0, 0]], ""),
    ] {
        let mut pair = Pair::with(terms, 0x1_0000, Limits::default());
        let words = [&[7, 1, 1, 0, 0, 0, 1, 2][..], segments.as_flattened()].concat();
        let call: Vec<_> =
            words.iter().flat_map(|word: &u32| word.to_be_bytes()).chain(null().iter().copied()).collect();
        pair.responder_receives(&call);
        let sent = pair.reply(24, &[]).pop().unwrap();
        assert!(sent.ends_with(&format!("[0..24]{invalidate}")), "{sent}");
    }
}

/// The Responder does not know, and may still write: nothing is fenced before it has replied.
#[test]
fn a_cancelled_call_keeps_memory_and_credit_until_its_reply() {
    for remote_invalidation in [false, true] {
        let terms = Terms { remote_invalidation, ..Terms::default() };
        let mut pair = Pair::with(terms, 0x1_0000, Limits::default());
        pair.call(&plain(null(), 40, 3000));
        pair.registered(0, 0x51);
        pair.sent();
        let call = pair.call.unwrap();
        for _ in 0..2 {
            pair.requester.cancel(call).unwrap();
            assert!(pair.requester_outputs(&[]).is_empty());
        }
        assert_eq!(pair.requester.in_flight(), 1);
        assert!(pair.requester.awaits(XID));
        assert_eq!(pair.requester.call(&plain(null(), 40, 24)), Err(CallRefusal::XidInUse));
        pair.received_by_responder();
        assert_eq!(pair.reply(2000, &[])[1], "write 0 51 7d0 1000");
        if remote_invalidation {
            assert_eq!(pair.received_by_requester(Some(0x51)), ["release 9", "done Cancelled []"]);
        } else {
            assert_eq!(pair.received_by_requester(None), ["release 9", "invalidate 0 51"]);
            assert!(!pair.requester.awaits(XID));
            assert_eq!(pair.invalidated(0), ["done Cancelled []"]);
        }
        assert_eq!(pair.requester.cancel(call), Err(InputError::Unexpected));
        assert_eq!(pair.requester.in_flight(), 0);
        assert!(pair.requester.call(&plain(null(), 40, 24)).is_ok());
    }
}

#[test]
fn a_cancelled_call_without_a_reply_ends_with_the_connection() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 3000));
    pair.registered(0, 0x51);
    pair.requester.cancel(pair.call.unwrap()).unwrap();
    assert!(pair.sent().is_empty());
    pair.requester.handle(requester::Input::Disconnected).unwrap();
    assert_eq!(pair.requester_outputs(&[]), ["done Cancelled []"]);
}

#[test]
fn an_error_is_an_answer_to_a_cancelled_call_too() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 24));
    pair.sent();
    pair.requester.cancel(pair.call.unwrap()).unwrap();
    pair.received_by_responder();
    assert_eq!(pair.reply(2000, &[]), ["release 5", "send 7 1 4 4 2 + []"]);
    assert_eq!(pair.received_by_requester(None), ["release 9", "done Cancelled []"]);
}

#[test]
fn a_call_cancelled_while_waiting_takes_no_credit() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 24));
    let first = pair.call;
    assert!(pair.call(&plain(call_head(8, Auth::NONE), 40, 3000)).is_empty());
    pair.requester.cancel(pair.call.unwrap()).unwrap();
    assert_eq!(pair.requester_outputs(&[]), ["done Cancelled []"]);
    pair.received_by_responder();
    pair.reply(24, &[]);
    pair.call = first;
    pair.sent();
    pair.received_by_requester(None);
    assert_eq!(pair.requester.in_flight(), 0);
}

#[test]
fn a_call_cancelled_while_it_is_registered_is_never_sent() {
    let mut pair = Pair::with(Terms::default(), 1500, Limits::default());
    let registers = pair.call(&plain(null(), 40, 3000));
    assert_eq!(registers.len(), 2);
    pair.registered(0, 0x51);
    pair.requester.cancel(pair.call.unwrap()).unwrap();
    assert_eq!(pair.requester_outputs(&[]), ["invalidate 0 51"]);
    assert!(pair.invalidated(0).is_empty(), "the other registration is under way");
    assert_eq!(pair.registered(1, 0x52), ["invalidate 1 52"]);
    assert_eq!(pair.invalidated(1), ["done Cancelled []"]);
    assert_eq!(pair.requester.in_flight(), 0);
}

#[test]
fn a_handle_is_given_once() {
    let mut pair = Pair::with(Terms::default(), 1500, Limits::default());
    pair.call(&plain(null(), 40, 3000));
    pair.registered(0, 0x51);
    let call = pair.call.unwrap();
    let again =
        requester::Input::Registered { call, region: 1, memory: Some(RegisteredMemory { handle: 0x51, offset: 0 }) };
    assert_eq!(pair.requester.handle(again), Err(InputError::HandleInUse));
    let twice =
        requester::Input::Registered { call, region: 0, memory: Some(RegisteredMemory { handle: 0x53, offset: 0 }) };
    assert_eq!(pair.requester.handle(twice), Err(InputError::Unexpected));
    assert_eq!(pair.registered(1, 0x52).len(), 1);
    let early = requester::Input::Invalidated { call, region: 0 };
    assert_eq!(pair.requester.handle(early), Err(InputError::Unexpected), "it is still the Responder's");
}

/// Until an invalidation is complete the adapter still has the handle, and the peer may use it.
#[test]
fn a_handle_with_a_pending_invalidation_is_not_reused() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 3000));
    pair.registered(0, 0x51);
    pair.sent();
    pair.received_by_responder();
    pair.reply(24, &[]);
    let first = pair.call;
    assert_eq!(pair.received_by_requester(None), ["invalidate 0 51"]);
    assert_eq!(pair.call(&plain(call_head(8, Auth::NONE), 40, 3000)), ["register 0 Reply(0..3000)"]);
    let again = requester::Input::Registered {
        call: pair.call.unwrap(),
        region: 0,
        memory: Some(RegisteredMemory { handle: 0x51, offset: 0 }),
    };
    assert_eq!(pair.requester.handle(again), Err(InputError::HandleInUse));
    let second = std::mem::replace(&mut pair.call, first);
    assert_eq!(pair.invalidated(0), ["done Reply { receive: 9, payload: 48..72 } []"]);
    pair.requester.handle(again).unwrap();
    // The fenced handle now belongs to another Call, which has not been answered.
    pair.call = second;
    assert_eq!(pair.requester_outputs(&[]).len(), 1);
}

#[test]
fn memory_that_cannot_be_registered_ends_the_call() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 3000));
    let refused = requester::Input::Registered { call: pair.call.unwrap(), region: 0, memory: None };
    pair.requester.handle(refused).unwrap();
    assert_eq!(pair.requester_outputs(&[]), ["done NotRegistered []"]);
    assert_eq!(pair.requester.in_flight(), 0);
}

#[test]
fn a_failed_completion_ends_the_connection_and_all_calls() {
    let mut pair = Pair::new();
    pair.call(&plain(null(), 40, 3000));
    pair.registered(0, 0x51);
    pair.requester.call(&plain(call_head(8, Auth::NONE), 40, 24)).unwrap();
    pair.requester.handle(requester::Input::Failed).unwrap();
    assert_eq!(pair.requester_outputs(&[]), ["disconnect"]);
    pair.requester.handle(requester::Input::Disconnected).unwrap();
    assert_eq!(pair.requester_outputs(&[]), ["done Lost []", "done Lost []"]);
    assert_eq!(pair.requester.call(&plain(null(), 40, 24)), Err(CallRefusal::Closed));

    pair.received_by_responder();
    pair.responder.handle(responder::Input::Failed).unwrap();
    assert_eq!(pair.responder_outputs(&[]), ["disconnect"]);
    pair.responder.handle(responder::Input::Disconnected).unwrap();
    let reply = responder::Reply { head: reply_head(XID), length: 24, results: &[], protected: false };
    assert_eq!(pair.responder.reply(pair.answer.unwrap(), &reply), Err(ReplyFault::NoCall));
}

#[test]
fn a_buffer_that_is_too_small_changes_nothing() {
    let mut pair = Pair::new();
    pair.requester.call(&plain(null(), 40, 24)).unwrap();
    assert_eq!(pair.requester.poll(&mut [0; 27]).unwrap_err().missing, 1);
    assert_eq!(pair.requester_outputs(null()), ["send 7 1 20 0 0 0 0 + [0..40]"]);
    pair.received_by_responder();
    let reply = responder::Reply { head: reply_head(XID), length: 24, results: &[], protected: false };
    assert_eq!(pair.responder.reply(pair.answer.unwrap(), &reply), Ok(ReplyForm::Short));
    assert!(pair.responder.poll(&mut []).is_ok(), "a Release needs no buffer");
    assert!(pair.responder.poll(&mut [0; 27]).is_err());
    assert_eq!(pair.responder_outputs(&[]), ["send 7 1 4 0 0 0 0 + [0..24]"]);
}

#[test]
fn what_cannot_be_called_or_replied_is_refused() {
    let mut pair = Pair::new();
    let head = null();
    for (length, arguments, error) in [
        (36, &[][..], CallRefusal::Items),
        (42, &[], CallRefusal::Items),
        (2000, &[Item { position: 44, length: 1957 }], CallRefusal::Items),
    ] {
        let call = requester::Call { arguments, ..plain(head, length, 24) };
        assert_eq!(pair.requester.call(&call), Err(error), "{length}");
    }
    assert!(matches!(pair.requester.call(&plain(&head[..39], 40, 24)), Err(CallRefusal::Rpc(_))));
    assert_eq!(pair.requester.call(&plain(head, 40, 9 * 0x1_0000)), Err(CallRefusal::TooManySegments));
    // The header of a Long Call has 100 octets with three segments, and 124 with four.
    for (length, fits) in [(120, true), (124, false)] {
        let mut requester = Requester::<1, 8>::new(Terms { call_threshold: 100, ..Terms::default() }, 1, 40);
        assert_eq!(requester.call(&plain(head, length, 24)).is_ok(), fits, "{length}");
    }
    // With a Reply chunk of 62 segments, the header of the reply has 1024 octets; with 63, 1040.
    for (reply_length, fits) in [(1240, true), (1260, false)] {
        let mut requester = Requester::<1, 64>::new(Terms { call_threshold: 4096, ..Terms::default() }, 1, 20);
        assert_eq!(requester.call(&plain(head, 40, reply_length)).is_ok(), fits);
    }
    pair.call(&plain(head, 40, 24));
    pair.received_by_responder();
    let call = pair.answer.unwrap();
    let reply = |head, length| responder::Reply { head, length, results: &[], protected: false };
    assert_eq!(pair.responder.reply(call, &reply(reply_head(8), 24)), Err(ReplyFault::Xid));
    assert_eq!(pair.responder.reply(call, &reply(head, 40)), Err(ReplyFault::Xid));
    assert_eq!(pair.responder.reply(call, &reply(reply_head(7), 20)), Err(ReplyFault::Items));
    assert_eq!(pair.responder.xid(call), Some(7));
    pair.responder.refuse(call).unwrap();
    assert_eq!(pair.responder.refuse(call), Err(ReplyFault::NoCall));
    assert_eq!(pair.responder_outputs(&[]), ["release 5", "send 7 1 4 4 2 + []"]);
    assert_ne!(End::Lost, End::Cancelled);
}

/// The client calls the server and the server calls the client, with the same XID on the same connection.
#[test]
fn both_directions_have_their_own_credits_and_xids() {
    let announced = |send_size, receive_size| Some(PrivateData { send_size, receive_size, ..PrivateData::default() });
    let agreement = Agreement::new(announced(4096, 2048), announced(8192, 8192));
    let (forward, reverse) = (Terms::forward(&agreement), Terms::reverse(&agreement));
    assert_eq!((forward.call_threshold, forward.reply_threshold), (4096, 2048));
    assert_eq!((reverse.call_threshold, reverse.reply_threshold), (2048, 4096));

    let mut there = Pair::with(forward, 0x1_0000, Limits::default());
    let mut back = Pair::with(reverse, 0x1_0000, Limits::NO_CHUNKS);
    there.call(&plain(null(), 40, 24));
    back.call(&plain(null(), 40, 24));
    for pair in [&mut there, &mut back] {
        assert_eq!(Direction::detect(&pair.wire, |xid| pair.requester.awaits(xid)), Direction::Call);
        assert_eq!(pair.received_by_responder(), ["deliver inline 28 40"]);
    }
    back.responder.grant(1).unwrap();
    for (pair, granted) in [(&mut there, 4), (&mut back, 1)] {
        pair.reply(24, &[]);
        pair.sent();
        assert_eq!(Direction::detect(&pair.wire, |xid| pair.requester.awaits(xid)), Direction::Reply);
        pair.received_by_requester(None);
        let free = (100..104).filter(|&xid| {
            pair.requester.call(&plain(call_head(xid, Auth::NONE), 40, 24)).unwrap();
            pair.requester_outputs(null()).len() == 1
        });
        assert_eq!(free.count(), granted);
    }
}

#[test]
fn a_reverse_responder_without_chunks_answers_err_chunk_to_any() {
    for call in [
        plain(null(), 2000, 24),
        plain(null(), 40, 3000),
        requester::Call { arguments: &[Item { position: 44, length: 2000 }], ..plain(null(), 2044, 24) },
        requester::Call { results: &[9], ..plain(null(), 40, 24) },
    ] {
        let mut pair = Pair::with(Terms::default(), 0x1_0000, Limits::NO_CHUNKS);
        assert_eq!(pair.call(&call).len(), 1);
        pair.registered(0, 0x51);
        assert_eq!(Direction::detect(&pair.wire, |_| false), Direction::Call);
        assert_eq!(pair.received_by_responder(), ["release 5", "send 7 1 4 4 2 + []"]);
    }
}

/// A Requester that pulls long replies, and a Responder that provides them, with the Call it was given.
fn read_read(call: &requester::Call<'_>) -> Pair {
    let mut pair = Pair::new();
    pair.requester.read_provided_replies();
    pair.responder.provide_replies(u32::MAX);
    pair.call(call);
    pair
}

impl Pair {
    fn provided(&mut self, handle: u32) -> Vec<String> {
        let (call, memory) = (self.answer.unwrap(), Some(RegisteredMemory { handle, offset: 0x9000 }));
        self.responder.handle(responder::Input::Registered { call, memory }).unwrap();
        self.responder_outputs(reply_head(XID))
    }

    fn pulled(&mut self) -> Vec<String> {
        self.requester.handle(requester::Input::Completed { call: self.call.unwrap() }).unwrap();
        self.requester_outputs(&[])
    }

    fn forgotten(&mut self) -> Vec<String> {
        self.responder.handle(responder::Input::Invalidated { call: self.answer.unwrap() }).unwrap();
        self.responder_outputs(&[])
    }
}

#[test]
fn a_provided_reply_is_read_and_answered_with_done() {
    let mut pair = read_read(&plain(null(), 40, 3000));
    assert_eq!(pair.received_by_responder(), ["deliver inline 28 40"], "nothing is registered");
    assert_eq!(pair.reply(2000, &[]), ["release 5", "register 2000"]);
    assert_eq!(pair.provided(0x61), ["send 7 1 3 1 1 0 61 7d0 0 9000 0 0 0 + []"], "a credit less");
    assert!(pair.sent().is_empty());
    assert_eq!(pair.received_by_requester(None), ["release 9", "read 61 7d0 9000 at 0"]);
    assert_eq!(pair.pulled(), ["send 7 1 20 3 + []"]);
    assert_eq!(pair.requester.in_flight(), 1, "RDMA_DONE has no answer");
    assert_eq!(pair.received_by_responder(), ["release 5", "invalidate 61"]);
    assert!(pair.forgotten().is_empty());
    assert_eq!(pair.sent(), ["done LongReply(2000) []"]);
    assert_eq!(pair.requester.in_flight(), 0);
    // The credit is granted again.
    pair.call(&plain(null(), 40, 3000));
    pair.received_by_responder();
    assert_eq!(pair.reply(24, &[]), ["release 5", "send 7 1 4 0 0 0 0 + [0..24]"]);
}

/// The Send of the Call may complete after the reply has come.
#[test]
fn done_is_said_only_after_the_call_is_sent() {
    let mut pair = read_read(&plain(null(), 40, 3000));
    pair.received_by_responder();
    pair.reply(2000, &[]);
    pair.provided(0x61);
    assert_eq!(pair.received_by_requester(None), ["release 9", "read 61 7d0 9000 at 0"]);
    assert!(pair.pulled().is_empty());
    assert_eq!(pair.sent(), ["send 7 1 20 3 + []"]);
}

#[test]
fn each_read_of_a_reply_keeps_to_the_adapters_limit() {
    for (most, first) in [(800, "read 61 320 9000 at 0"), (0, "read 61 1 9000 at 0")] {
        let mut pair = read_read(&plain(null(), 40, 3000));
        pair.requester.limit_transfers(most);
        pair.received_by_responder();
        pair.reply(2000, &[]);
        pair.provided(0x61);
        assert_eq!(pair.received_by_requester(None)[1], first);
    }
}

#[test]
fn what_is_provided_is_what_write_chunks_leave() {
    let mut pair = read_read(&requester::Call { results: &[1003], ..plain(null(), 40, 3000) });
    pair.registered(0, 0x51);
    pair.received_by_responder();
    let reply = pair.reply(28 + 504 + 1000, &[Item { position: 28, length: 501 }]);
    assert_eq!(reply, ["release 5", "register 1532"]);
    let send = "send 7 1 3 1 1 0 61 1c 0 9000 1 0 61 3e8 0 9214 0 1 1 51 1f5 0 1000 0 0 + []";
    assert_eq!(pair.provided(0x61), ["write 28 51 1f5 1000", send]);
    pair.sent();
    let pulled = ["release 9", "invalidate 0 51", "read 61 1c 9000 at 0", "read 61 3e8 9214 at 28"];
    assert_eq!(pair.received_by_requester(None), pulled);
    assert!(pair.invalidated(0).is_empty());
    assert!(pair.pulled().is_empty());
    assert_eq!(pair.pulled(), ["send 7 1 20 3 + []"]);
    assert_eq!(pair.sent(), ["done LongReply(1028) [501]"]);
}

/// A peer that never sends `RDMA_DONE` gets three replies to four calls, and in the end has one credit.
#[test]
fn provided_replies_are_bounded_and_expire() {
    let mut pair = Pair::new();
    pair.responder.provide_replies(u32::MAX);
    pair.call(&plain(null(), 40, 24));
    let call = pair.wire.clone();
    let mut provided = Vec::new();
    for (handle, grant) in [(0x61, 3), (0x62, 2), (0x63, 1)] {
        pair.responder_receives(&call);
        pair.reply(2000, &[]);
        provided.push(pair.answer.unwrap());
        if handle == 0x62 {
            let again = responder::Input::Registered {
                call: provided[1],
                memory: Some(RegisteredMemory { handle: 0x61, offset: 0 }),
            };
            assert_eq!(pair.responder.handle(again), Err(InputError::HandleInUse));
        }
        let send = format!("send 7 1 {grant:x} 1 1 0 {handle:x} 7d0 0 9000 0 0 0 + []");
        assert_eq!(pair.provided(handle), [send]);
    }
    pair.responder_receives(&call);
    assert_eq!(pair.reply(2000, &[]), ["release 5", "send 7 1 1 4 2 + []"]);

    pair.responder.expire(provided[1]).unwrap();
    assert_eq!(pair.responder_outputs(&[]), ["invalidate 62"]);
    assert_eq!(pair.responder.expire(provided[1]), Err(InputError::Unexpected));
    pair.answer = Some(provided[1]);
    pair.forgotten();
    let forgotten = responder::Input::Invalidated { call: provided[1] };
    assert_eq!(pair.responder.handle(forgotten), Err(InputError::Unexpected));
    // If memory cannot be registered, no place is taken.
    for _ in 0..2 {
        pair.responder_receives(&call);
        assert_eq!(pair.reply(2000, &[]), ["release 5", "register 2000"]);
        let refused = responder::Input::Registered { call: pair.answer.unwrap(), memory: None };
        pair.responder.handle(refused).unwrap();
        assert_eq!(pair.responder_outputs(&[]), ["send 7 1 2 4 2 + []"]);
    }
    // `RDMA_DONE` with another XID, then for each of the two that are left.
    let done = |xid| [0, 0, 0, xid, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3];
    assert_eq!(pair.responder_receives(&done(8)), ["release 5"]);
    assert_eq!(pair.responder_receives(&done(7)), ["release 5", "invalidate 61"]);
    assert_eq!(pair.responder_receives(&done(7)), ["release 5", "invalidate 63"]);
    assert_eq!(pair.responder_receives(&done(7)), ["release 5"]);
}

#[test]
fn a_provided_reply_to_a_cancelled_call_is_not_read() {
    for fenced_first in [false, true] {
        let mut pair = read_read(&requester::Call { results: &[9], ..plain(null(), 40, 3000) });
        pair.registered(0, 0x51);
        pair.sent();
        pair.received_by_responder();
        pair.reply(2000, &[]);
        pair.provided(0x61);
        pair.requester.cancel(pair.call.unwrap()).unwrap();
        assert!(pair.requester_outputs(&[]).is_empty());
        let given_back = ["release 9", "invalidate 0 51", "send 7 1 20 3 + []"];
        assert_eq!(pair.received_by_requester(None), given_back);
        assert_eq!(pair.requester.in_flight(), 1);
        if fenced_first {
            assert!(pair.invalidated(0).is_empty());
            assert_eq!(pair.sent(), ["done Cancelled [0]"]);
        } else {
            assert!(pair.sent().is_empty());
            assert_eq!(pair.invalidated(0), ["done Cancelled [0]"]);
        }
        assert_eq!(pair.requester.in_flight(), 0);
        assert!(pair.requester.call(&plain(null(), 40, 24)).is_ok(), "the XID is free");
    }
}

#[test]
fn a_partly_read_provided_reply_is_lost_with_the_connection() {
    let good = "done LongReply(2000) []";
    // Neither pulled nor followed by `RDMA_DONE`; only pulled; both.
    for (pulled, done, end) in [(false, false, "done Lost []"), (true, false, good), (true, true, good)] {
        let mut pair = read_read(&plain(null(), 40, 3000));
        pair.sent();
        pair.received_by_responder();
        pair.reply(2000, &[]);
        pair.provided(0x61);
        pair.received_by_requester(None);
        if pulled {
            pair.requester.handle(requester::Input::Completed { call: pair.call.unwrap() }).unwrap();
        }
        if done {
            assert_eq!(pair.requester_outputs(&[]), ["send 7 1 20 3 + []"]);
        }
        pair.requester.handle(requester::Input::Disconnected).unwrap();
        assert_eq!(pair.requester_outputs(&[]), [end]);
    }
}

#[test]
fn an_unwanted_or_invalid_provided_reply_is_dropped() {
    let good = [7, 1, 3, 1, 1, 0, 0x61, 2000, 0, 0x9000, 0, 0, 0];
    let with = |at: usize, value: u32| {
        let mut words = good;
        words[at] = value;
        words.to_vec()
    };
    let entries = |count: usize| [&good[..4], &[1, 0, 0x61, 8, 0, 0x9000].repeat(count), &[0; 3]].concat();
    let dropped = ["release 9"].map(String::from).to_vec();
    let taken = |reads: &[&str]| ["release 9"].iter().chain(reads).map(|output| output.to_string()).collect::<Vec<_>>();
    let given_back = |end: &str| taken(&["send 7 1 20 3 + []", &format!("done {end} []")]);
    for (why, words, pull, expected) in [
        ("sound", good.to_vec(), true, taken(&["read 61 7d0 9000 at 0"])),
        ("it was not asked for", good.to_vec(), false, dropped.clone()),
        ("a Position", with(5, 4), true, dropped.clone()),
        ("no octets", with(7, 0), true, dropped.clone()),
        ("all there is room for", with(7, 3000), true, taken(&["read 61 bb8 9000 at 0"])),
        ("too many octets", with(7, 3001), true, given_back("NoRoom(3001)")),
        (
            "a segment that wraps",
            with(8, !0).iter().map(|&word| if word == 0x9000 { !0 } else { word }).collect(),
            true,
            dropped.clone(),
        ),
        (
            "a segment that ends with the address space",
            with(8, !0).iter().map(|&word| if word == 0x9000 { 0u32.wrapping_sub(2000) } else { word }).collect(),
            true,
            taken(&["read 61 7d0 fffffffffffff830 at 0"]),
        ),
        ("a Write chunk that was not given", [&good[..11], &[1, 0, 0, 0]].concat(), true, dropped.clone()),
        ("a Reply chunk that was not given", [&good[..12], &[1, 0]].concat(), true, dropped.clone()),
        ("a Payload stream", [&good[..], &[7, 1]].concat(), true, dropped.clone()),
        ("too many segments", entries(9), true, given_back("NoRoom(72)")),
    ] {
        let mut pair = Pair::new();
        if pull {
            pair.requester.read_provided_replies();
        }
        pair.call(&plain(null(), 40, if pull { 3000 } else { 900 }));
        pair.sent();
        pair.wire = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut outputs = pair.received_by_requester(None);
        if outputs.last().is_some_and(|last| last.starts_with("send")) {
            outputs.extend(pair.sent());
        }
        assert_eq!(outputs, expected, "{why}");
    }
}

#[test]
fn each_error_has_a_text_of_its_own() {
    let not_a_call = Pair::new().requester.call(&plain(&[], 40, 24)).unwrap_err();
    let texts = [
        CallRefusal::Closed.to_string(),
        not_a_call.to_string(),
        CallRefusal::Items.to_string(),
        CallRefusal::XidInUse.to_string(),
        CallRefusal::TooManyCalls.to_string(),
        CallRefusal::TooManySegments.to_string(),
        CallRefusal::TooLong.to_string(),
        CallRefusal::OneWay.to_string(),
        CallRefusal::NotAnswered.to_string(),
        InputError::NotPolled.to_string(),
        InputError::Unexpected.to_string(),
        InputError::HandleInUse.to_string(),
        ReplyFault::NoCall.to_string(),
        ReplyFault::Xid.to_string(),
        ReplyFault::Owed.to_string(),
        ReplyFault::Items.to_string(),
        responder::GrantError.to_string(),
    ];
    assert!(texts.iter().all(|text| !text.is_empty()));
    assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), texts.len(), "{texts:?}");
}
