//! Features of RFC 5666 that RFC 8166 dropped, of which some live on in responder-provided Read chunks
//! (draft-cel-nfsv4-reliable-reply): RDMA_MSGP, RDMA_DONE, the errors without a name.

use rpcrdma_answers::JsonRecord;
use rpcrdma_answers::format::screen::Screen;
use rpcrdma_answers::lines::Lines;
use rpcrdma_answers::messages::MessageObject;
use rpcrdma_answers::messages::tree;
use rpcrdma_dissector::{
    ChunkName, Files, Message, MessageDirection, MessageForm, NotRebuilt, Status, Time, lone_message,
};

use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{
    Lists, MSG, NOMSG, Segment, message, null, octets, padded, read3, read3_reply, reply, words,
};
use crate::synthetic::rpc::{read3_results, write3, write3_reply};
use crate::synthetic::v2::rebuilt;
use crate::synthetic::{self, Found, Packet, Wire, assert_rpc, connected, dissect, sends};

const MSGP: u32 = 2;
const ERROR: u32 = 4;

fn shown(message: &Message) -> [String; 3] {
    let mut outs = [Vec::new(), Vec::new(), Vec::new()];
    let [text, object, fields] = &mut outs;
    Lines::new(Screen::default(), Time(0)).message(text, message, &Files::default()).unwrap();
    MessageObject::new(message, &Files::default()).write_json(object).unwrap();
    tree::write(fields, message, false).unwrap();
    outs.map(|out| String::from_utf8(out).unwrap())
}

// --- Replies that the requester reads (draft-cel-nfsv4-reliable-reply section 4.1) ----------------------------------------

fn done(xid: u32) -> Vec<u8> {
    words(&[xid, 1, 32, 3])
}

/// The server's memory that holds a reply of this many octets: three segments, the last with what is left.
fn provided(length: usize) -> [Segment; 3] {
    [(0x81, 0x1000, 1500), (0x82, 0x8000, 7), (0x83, 0x9000, length as u32 - 1507)]
}

/// A call, and the reply that says where to read.
fn offer(wire: &mut Wire, trace: &mut Vec<Packet>, xid: u32, reply: &[u8]) {
    let reads: Vec<_> = provided(reply.len()).map(|segment| (0, segment)).into();
    sends(
        wire,
        trace,
        &[
            (Client, message(MSG, xid, &Lists::default(), &read3(xid, 3000))),
            (Server, message(NOMSG, xid, &Lists::reads(&reads), &[])),
        ],
    );
}

/// The client reads it.
fn pull(wire: &mut Wire, trace: &mut Vec<Packet>, reply: &[u8]) {
    let mut at = 0;
    for (handle, offset, length) in provided(reply.len()) {
        let end = at + length as usize;
        trace.extend(wire.read(Client, (handle, offset), &reply[at..end]));
        at = end;
    }
}

#[test]
fn a_provided_reply_is_what_was_read_until_done() {
    let (mut wire, mut trace) = connected();
    let reply = read3_reply(1, &octets(1, 3000));
    offer(&mut wire, &mut trace, 1, &reply);
    pull(&mut wire, &mut trace, &reply);
    sends(&mut wire, &mut trace, &[(Client, done(1))]);
    // It ends there: the next RPC of this XID is another.
    sends(
        &mut wire,
        &mut trace,
        &[
            (Client, message(MSG, 2, &Lists::default(), &null(2))),
            (Server, message(MSG, 2, &Lists::default(), &synthetic::rpc::reply(2, &[]))),
        ],
    );
    let found = dissect(&trace);
    assert_rpc(&found, 1, &read3(1, 3000), &reply);
    let transaction = found.only_rpc(1);
    assert_eq!(transaction.reply.as_ref().unwrap().form, MessageForm::Long);
    assert_eq!((transaction.read_octets, transaction.status), (reply.len() as u64, Some(Status::Success(Some(0)))));
    assert_eq!(found.transactions[0].xid, 1, "as it ended first");
    let directions: Vec<_> = found.messages.iter().map(|m| m.rpc.as_ref().map(|rpc| rpc.direction)).collect();
    assert_eq!(directions[..3], [Some(MessageDirection::Call), Some(MessageDirection::Reply), None]);
    let [text, ..] = shown(&found.messages[1]);
    assert!(text.ends_with("reply NFSv3 READ  read 3044@0\n"), "{text}");
    assert_eq!(found.messages[2].type_name(), Some("RDMA_DONE"));
}

#[test]
fn done_of_an_unknown_xid_or_again_changes_nothing() {
    let (mut wire, mut trace) = connected();
    let reply = read3_reply(1, &octets(2, 3000));
    sends(&mut wire, &mut trace, &[(Client, done(77))]);
    offer(&mut wire, &mut trace, 1, &reply);
    sends(&mut wire, &mut trace, &[(Client, done(78)), (Server, done(1))]);
    pull(&mut wire, &mut trace, &reply);
    sends(&mut wire, &mut trace, &[(Client, done(1)), (Client, done(1))]);
    let found = dissect(&trace);
    assert_rpc(&found, 1, &read3(1, 3000), &reply);
    assert_eq!((found.transactions.len(), found.messages.len()), (1, 7));
}

#[test]
fn without_done_a_provided_reply_ends_with_the_capture() {
    let (mut wire, mut trace) = connected();
    let reply = read3_reply(1, &octets(3, 3000));
    offer(&mut wire, &mut trace, 1, &reply);
    pull(&mut wire, &mut trace, &reply);
    assert_rpc(&dissect(&trace), 1, &read3(1, 3000), &reply);
}

#[test]
fn done_may_be_captured_before_what_was_read() {
    let (mut wire, mut trace) = connected();
    let reply = read3_reply(1, &octets(4, 3000));
    offer(&mut wire, &mut trace, 1, &reply);
    let before = trace.len();
    pull(&mut wire, &mut trace, &reply);
    // The server's packets come last: each direction is in order.
    let pulled = trace.split_off(before);
    let (mut requests, mut responses) = (Vec::new(), Vec::new());
    for packet in pulled {
        if packet[28] == 0x0c { requests.push(packet) } else { responses.push(packet) }
    }
    let done = wire.send(Client, &done(1));
    wire.send(Server, &message(MSG, 2, &Lists::default(), &synthetic::rpc::reply(2, &[]))); // missed
    let held = wire.send(Server, &message(MSG, 3, &Lists::default(), &synthetic::rpc::reply(3, &[])));
    for rest in [
        [&requests, &done, &responses].map(Clone::clone).concat(),
        [&done, &responses, &requests].map(Clone::clone).concat(),
        [&done, &held, &responses, &requests].map(Clone::clone).concat(),
    ] {
        assert_rpc(&dissect(&[trace.clone(), rest].concat()), 1, &read3(1, 3000), &reply);
    }
}

#[test]
fn a_reply_with_uncaptured_reads_is_not_rebuilt() {
    let (mut wire, mut trace) = connected();
    let reply = read3_reply(1, &octets(5, 3000));
    offer(&mut wire, &mut trace, 1, &reply);
    let before = trace.len();
    pull(&mut wire, &mut trace, &reply);
    let after = trace.len();
    sends(&mut wire, &mut trace, &[(Client, done(1))]);
    for xid in 100..200 {
        sends(
            &mut wire,
            &mut trace,
            &[
                (Client, message(MSG, xid, &Lists::default(), &null(xid))),
                (Server, message(MSG, xid, &Lists::default(), &synthetic::rpc::reply(xid, &[]))),
            ],
        );
    }
    let mut chunks = 0;
    for place in before..after {
        let mut rest = trace.clone();
        rest.remove(place);
        let found = dissect(&rest);
        match &found.only_rpc(1).reply.as_ref().unwrap().message {
            Ok(message) => assert!(message.octets() == reply, "without {place}"),
            Err(NotRebuilt::Chunk { chunk: ChunkName::Read(0), length, .. }) => {
                assert_eq!(*length, reply.len() as u64);
                chunks += 1;
            }
            Err(error) => panic!("without {place}: {error}"),
        }
    }
    assert!(chunks >= 4, "each of the responses is needed: {chunks}");
}

#[test]
fn what_is_read_after_a_loss_may_be_another_reply() {
    let (mut wire, mut trace) = connected();
    let (reply, other) = (read3_reply(1, &octets(11, 3000)), octets(12, 3044));
    offer(&mut wire, &mut trace, 1, &reply);
    // The capture misses this, and a new use of the memory with it.
    let missed = wire.send(Client, &done(1));
    pull(&mut wire, &mut trace, &other);
    let found = dissect(&trace);
    assert_eq!(missed.len(), 1);
    let error = found.only_rpc(1).reply.as_ref().unwrap().message.as_ref().unwrap_err();
    assert!(matches!(error, NotRebuilt::Chunk { chunk: ChunkName::Read(0), .. }), "{error}");
}

#[test]
fn a_provided_reply_whose_call_was_missed_is_no_call() {
    for ends in [true, false] {
        let (mut wire, mut trace) = connected();
        let set_up = trace.len();
        let reply = read3_reply(1, &octets(13, 3000));
        offer(&mut wire, &mut trace, 1, &reply);
        // The capture begins behind the call and its acknowledgement.
        trace.drain(..set_up + 2);
        pull(&mut wire, &mut trace, &reply);
        if ends {
            sends(&mut wire, &mut trace, &[(Client, done(1))]);
        }
        let found = dissect(&trace);
        let [transaction] = &found.transactions[..] else { panic!("one") };
        assert!(rebuilt(transaction) == [None, Some(&reply[..])]);
        assert!(transaction.call.is_none() && !transaction.reverse);
        assert_eq!(
            (transaction.from.to_string(), transaction.read_octets),
            ("192.0.2.1".to_owned(), reply.len() as u64)
        );
    }
}

#[test]
fn the_same_xid_again_ends_what_was_provided_before() {
    let (mut wire, mut trace) = connected();
    let replies = [read3_reply(1, &octets(6, 3000)), read3_reply(1, &octets(7, 3000))];
    for reply in &replies {
        offer(&mut wire, &mut trace, 1, reply);
        pull(&mut wire, &mut trace, reply);
    }
    sends(&mut wire, &mut trace, &[(Client, done(1)), (Client, done(1))]);
    let found = dissect(&trace);
    let found: Vec<_> = found.transactions.iter().map(|transaction| rebuilt(transaction)[1]).collect();
    assert_eq!(found, [Some(&replies[0][..]), Some(&replies[1][..])]);
}

#[test]
fn a_late_done_never_makes_a_wrong_reply() {
    let (mut wire, mut trace) = connected();
    let replies = [read3_reply(1, &octets(8, 3000)), read3_reply(1, &octets(9, 3000))];
    offer(&mut wire, &mut trace, 1, &replies[0]);
    pull(&mut wire, &mut trace, &replies[0]);
    offer(&mut wire, &mut trace, 1, &replies[1]);
    sends(&mut wire, &mut trace, &[(Client, done(1))]);
    pull(&mut wire, &mut trace, &replies[1]);
    sends(&mut wire, &mut trace, &[(Client, done(1))]);
    let found = dissect(&trace);
    let [first, second] = &found.transactions[..] else { panic!("two") };
    assert_eq!(rebuilt(first)[1], Some(&replies[0][..]));
    // RDMA_DONE may have ended either of the two.
    let error = second.reply.as_ref().unwrap().message.as_ref().unwrap_err();
    assert!(matches!(error, NotRebuilt::Chunk { captured: 0, .. }), "{error}");
}

#[test]
fn a_provided_reply_beside_a_write_chunk() {
    let (mut wire, mut trace) = connected();
    let data = octets(10, 3000);
    let room = (0x91, 0x5000, 3000);
    sends(&mut wire, &mut trace, &[(Client, message(MSG, 1, &Lists::writes(&[&[room]]), &read3(1, 3000)))]);
    trace.extend(wire.write(Server, (0x91, 0x5000), &data));
    let stream = reply(1, &read3_results(3000));
    let lists = Lists { reads: vec![(0, (0x81, 0, stream.len() as u32))], ..Lists::writes(&[&[room]]) };
    sends(&mut wire, &mut trace, &[(Server, message(NOMSG, 1, &lists, &[]))]);
    trace.extend(wire.read(Client, (0x81, 0), &stream));
    sends(&mut wire, &mut trace, &[(Client, done(1))]);
    assert_rpc(&dissect(&trace), 1, &read3(1, 3000), &read3_reply(1, &data));
}

// --- RDMA_MSGP (RFC 5666 section 3.9) ------------------------------------------------------------------------------------

/// A message with these octets before the data, so that it begins at a multiple of `align`.
fn padded_message(xid: u32, (align, thresh): (u32, u32), lists: &Lists, head: &[u8], data: &[u8]) -> Vec<u8> {
    let mut octets = [words(&[xid, 1, 32, MSGP, align, thresh]), lists.encode(), head.to_vec()].concat();
    octets.resize(octets.len().next_multiple_of(align as usize), 0xee);
    [octets, padded(data)].concat()
}

fn written(xid: u32, data: &[u8]) -> Vec<u8> {
    [write3(xid, data.len() as u32), padded(data)].concat()
}

/// A WRITE of `data` in an RDMA_MSGP with these words, and its reply.
fn write_padded(words: (u32, u32), data: &[u8]) -> Found {
    let (mut wire, mut trace) = connected();
    let call = padded_message(1, words, &Lists::default(), &write3(1, data.len() as u32), data);
    sends(
        &mut wire,
        &mut trace,
        &[(Client, call), (Server, message(MSG, 1, &Lists::default(), &write3_reply(1, data.len() as u32)))],
    );
    dissect(&trace)
}

#[test]
fn the_padding_of_a_call_is_left_out() {
    for align in [64, 108, 128, 512, 4096] {
        for length in [1200, 1201, 1300] {
            // Data as long as rdma_thresh is padded (section 3.9).
            let data = octets(20, length);
            let found = write_padded((align, 1200), &data);
            assert_rpc(&found, 1, &written(1, &data), &write3_reply(1, length as u32));
            let transaction = found.only_rpc(1);
            assert_eq!((transaction.name, transaction.read_octets), (Some("NFSv3 WRITE"), 0));
            let padding = found.messages[0].padding.as_ref().unwrap();
            let expected = 104_usize.next_multiple_of(align as usize) - 104;
            assert_eq!(padding.iter().map(ExactSizeIterator::len).sum::<usize>(), expected);
            let item = &transaction.call.as_ref().unwrap().message.as_ref().unwrap().items[0];
            assert_eq!((item.at, item.length as usize), (68, length));
        }
    }
}

#[test]
fn what_is_shorter_than_the_threshold_is_not_padded() {
    let (mut wire, mut trace) = connected();
    let data = octets(21, 1000);
    let head = words(&[1, 1, 32, MSGP, 4096, 1001, 0, 0, 0]);
    sends(&mut wire, &mut trace, &[(Client, [head, written(1, &data)].concat())]);
    assert_eq!(rebuilt(dissect(&trace).only_rpc(1))[0], Some(&written(1, &data)[..]));
}

#[test]
fn padding_only_above_the_threshold_is_decoded() {
    let (mut wire, mut trace) = connected();
    let data = octets(22, 1000);
    let head = words(&[1, 1, 32, MSGP, 512, 1000, 0, 0, 0]);
    sends(&mut wire, &mut trace, &[(Client, [head, written(1, &data)].concat())]);
    assert_eq!(rebuilt(dissect(&trace).only_rpc(1))[0], Some(&written(1, &data)[..]));
}

#[test]
fn the_padding_of_a_reply_is_left_out() {
    let (mut wire, mut trace) = connected();
    let data = octets(23, 999);
    let results = reply(1, &read3_results(999));
    sends(
        &mut wire,
        &mut trace,
        &[
            (Client, message(MSG, 1, &Lists::default(), &read3(1, 999))),
            (Server, padded_message(1, (256, 512), &Lists::default(), &results, &data)),
        ],
    );
    assert_rpc(&dissect(&trace), 1, &read3(1, 999), &read3_reply(1, &data));
}

#[test]
fn where_padding_may_be_anywhere_nothing_is_guessed() {
    // In one message, the words give another place than that of the data; in the other, the procedure is unknown.
    let mut wrong = padded_message(1, (512, 64), &Lists::default(), &write3(1, 1300), &octets(24, 1300));
    wrong[16..20].copy_from_slice(&384_u32.to_be_bytes());
    let unknown = synthetic::rpc::call(1, [400_000, 1, 1], &octets(25, 200));
    let unknown = [words(&[1, 1, 32, MSGP, 64, 128, 0, 0, 0]), unknown].concat();
    for call in [wrong, unknown] {
        let (mut wire, mut trace) = connected();
        sends(&mut wire, &mut trace, &[(Client, call)]);
        let found = dissect(&trace);
        let error = found.only_rpc(1).call.as_ref().unwrap().message.as_ref().unwrap_err();
        assert_eq!((*error, &found.messages[0].padding), (NotRebuilt::Padding, &None));
        let [_, object, tree] = shown(&found.messages[0]);
        assert!(object.contains(r#""padding_octets":null}"#), "{object}");
        assert!(tree.contains("  padding         in an unknown place"), "{tree}");
    }
}

#[test]
fn padding_is_shown() {
    let found = write_padded((256, 64), &octets(27, 900));
    let [_, object, tree] = shown(&found.messages[0]);
    let lengths = r#""msgp":{"rdma_align":256,"rdma_thresh":64,"padding_octets":152},"#;
    assert!(object.contains(lengths), "{object}");
    assert!(tree.contains("        0068    padding         152 octets\n"), "{tree}");
    // The same Send without its connection.
    let alone = lone_message(found.messages[0].octets.clone(), None);
    assert_eq!(alone.padding, found.messages[0].padding);
    let head = lone_message(found.messages[0].octets[..28].to_vec(), None);
    assert!(shown(&head)[1].contains(r#""rdma_proc":"RDMA_MSGP","#));
}

#[test]
fn octets_cut_from_a_padded_call_are_never_wrong() {
    let (mut wire, mut trace) = connected();
    let data = octets(26, 900);
    let call = padded_message(1, (256, 64), &Lists::default(), &write3(1, 900), &data);
    let setup = trace.len();
    sends(&mut wire, &mut trace, &[(Client, call)]);
    for length in 40..trace[setup].len() {
        let packets: Vec<_> = trace.iter().map(|packet| (packet.clone(), packet.len() as u32)).collect();
        let mut packets = packets;
        packets[setup].0.truncate(length);
        let found = synthetic::dissect_cut(&packets, Default::default());
        for octets in found.transactions.iter().filter_map(|transaction| rebuilt(transaction)[0]) {
            assert!(octets == written(1, &data), "cut to {length}");
        }
    }
}

// --- Errors --------------------------------------------------------------------------------------------------------------

#[test]
fn octets_after_an_error_are_shown_as_such() {
    let (mut wire, mut trace) = connected();
    // RFC 5666 section 4.2: errors without an arm of their own have eight words more.
    let extra = words(&[7; 8]);
    sends(
        &mut wire,
        &mut trace,
        &[
            (Client, message(MSG, 1, &Lists::default(), &null(1))),
            (Server, [words(&[1, 1, 32, ERROR, 2]), extra.clone()].concat()),
            (Client, message(MSG, 2, &Lists::default(), &null(2))),
            (Server, [words(&[2, 1, 32, ERROR, 3]), extra].concat()),
        ],
    );
    let found = dissect(&trace);
    assert!(matches!(found.only_rpc(1).status, Some(Status::Error(_))));
    let [text, object, tree] = shown(&found.messages[1]);
    assert!(text.ends_with("ERR_CHUNK\n"), "{text}");
    assert!(object.contains(r#""header_octets":20,"payload_octets":0,"trailing_octets":32,"#), "{object}");
    assert!(tree.contains("0014  hazard            32 octets after the body of ERR_CHUNK (error-trailing, "), "{tree}");
    // A requester discards what it does not know (RFC 8166 section 4.5), so the call waits.
    let [text, object, tree] = shown(&found.messages[3]);
    assert!(text.ends_with("malformed at octet 16: error_code\n"), "{text}");
    assert!(
        object.contains(r#""malformed":{"kind":"error_code","offset_octets":16,"reaction":{"requester":"discard""#),
        "{object}"
    );
    assert!(tree.contains("0010  rdma_err          3"), "{tree}");
    assert!(found.only_rpc(2).reply.is_none());
}
