//! Requester and Responder of version 2, in both wire formats. The words were written by hand from the drafts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use rpcrdma::endpoint::requester::{self, End};
use rpcrdma::endpoint::responder::{self, CallMessage, Form};
use rpcrdma::endpoint::{Item, Limits, Requester, Responder, Terms, Version};
use rpcrdma::v2::{ErrorBodyV2, ErrorCode, Family};

const A: Version = Version::Two(Family::A);
const B: Version = Version::Two(Family::B);

/// The XID of every call.
const XID: u32 = 7;

fn terms(version: Version) -> Terms {
    Terms { call_threshold: 256, reply_threshold: 256, remote_invalidation: true, version }
}

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn words(octets: &[u8]) -> Vec<u32> {
    assert!(octets.len().is_multiple_of(4));
    octets.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

/// NULL of program 400100, version 1, without credentials: 40 octets.
fn call_head() -> Vec<u8> {
    octets(&[XID, 0, 2, 400_100, 1, 0, 0, 0, 0, 0])
}

/// The accepted reply, without results: 24 octets.
fn reply_head() -> Vec<u8> {
    octets(&[XID, 1, 0, 0, 0, 0])
}

/// A call, the words of its header, the reply, and the words of its header.
struct Exchange {
    name: &'static str,
    version: Version,
    length: u32,
    arguments: &'static [Item],
    results: &'static [u32],
    reply_length: u32,
    call: &'static [u32],
    reply: (u32, &'static [Item]),
    /// What the Responder does before it answers, and how it answers.
    moved: &'static str,
    answer: &'static [u32],
    invalidates: Option<u32>,
    end: End,
}

/// In each call, the first region has handle 0xa0, the second 0xa1, and so on, all at offset 0x1000.
fn exchanges() -> Vec<Exchange> {
    const DATA: &[Item] = &[Item { position: 44, length: 1000 }];
    const RESULT: &[Item] = &[Item { position: 28, length: 90 }];
    let short = Exchange {
        name: "short",
        version: A,
        length: 40,
        arguments: &[],
        results: &[],
        reply_length: 24,
        call: &[7, 2, 0, 0, 0, 0, 0, 0, 0],
        reply: (24, &[]),
        moved: "",
        answer: &[7, 2, 0, 0, 1, 0, 0, 0, 0],
        invalidates: None,
        end: End::Reply { receive: 9, payload: 36..60 },
    };
    let mut all = vec![
        Exchange { ..short },
        Exchange {
            version: B,
            call: &[7, 2, 0, 10, 0, 0, 0, 0],
            answer: &[7, 2, 0, 13, 0],
            end: End::Reply { receive: 9, payload: 20..44 },
            ..exchange()
        },
    ];
    for (version, call, answer, at) in [
        (A, &[7, 2, 0, 0, 0, 0xa0, 1, 44, 0xa0, 1000, 0, 0x1000, 0, 0, 0][..], &[7, 2, 0, 0, 1, 0, 0, 0, 0][..], 36),
        (B, &[7, 2, 0, 10, 0xa0, 1, 44, 0xa0, 1000, 0, 0x1000, 0, 0, 0], &[7, 2, 0, 13, 0], 20),
    ] {
        all.push(Exchange {
            name: "Read chunk",
            version,
            length: 1044,
            arguments: DATA,
            call,
            moved: "a0 1000 -> 44",
            answer,
            invalidates: Some(0xa0),
            end: End::Reply { receive: 9, payload: at..at + 24 },
            ..exchange()
        });
    }
    for (version, call, answer, at) in [
        (
            A,
            &[7, 2, 0, 0, 0, 0xa0, 0, 1, 1, 0xa0, 100, 0, 0x1000, 0, 0][..],
            &[7, 2, 0, 0, 1, 0, 0, 1, 1, 0xa0, 90, 0, 0x1000, 0, 0][..],
            60,
        ),
        (
            B,
            &[7, 2, 0, 10, 0xa0, 0, 1, 1, 0xa0, 100, 0, 0x1000, 0, 0],
            &[7, 2, 0, 13, 1, 1, 0xa0, 90, 0, 0x1000, 0],
            44,
        ),
    ] {
        all.push(Exchange {
            name: "Write chunk",
            version,
            results: &[100],
            reply_length: 28,
            call,
            reply: (120, RESULT),
            moved: "28 -> a0 90",
            answer,
            invalidates: Some(0xa0),
            end: End::Reply { receive: 9, payload: at..at + 28 },
            ..exchange()
        });
    }
    for (version, call, answer, at) in [
        (A, &[7, 2, 0, 1, 0, 0xa0, 1, 0, 0xa0, 300, 0, 0x1000, 0, 0, 0][..], &[7, 2, 0, 0, 1, 0, 0, 0, 0][..], 36),
        (B, &[7, 2, 0, 8, 0xa0, 1, 0, 0xa0, 300, 0, 0x1000, 0, 0, 0, 0], &[7, 2, 0, 13, 0], 20),
    ] {
        all.push(Exchange {
            name: "a Call in a chunk",
            version,
            length: 300,
            call,
            moved: "a0 300 -> 0",
            answer,
            invalidates: Some(0xa0),
            end: End::Reply { receive: 9, payload: at..at + 24 },
            ..exchange()
        });
    }
    for (version, call, answer) in [
        (
            A,
            &[7, 2, 0, 0, 0, 0xa0, 0, 0, 1, 1, 0xa0, 400, 0, 0x1000][..],
            &[7, 2, 0, 1, 1, 0, 0, 0, 1, 1, 0xa0, 300, 0, 0x1000][..],
        ),
        (B, &[7, 2, 0, 10, 0xa0, 0, 0, 1, 1, 0xa0, 400, 0, 0x1000], &[7, 2, 0, 11, 0, 1, 1, 0xa0, 300, 0, 0x1000]),
    ] {
        all.push(Exchange {
            name: "a Reply in a chunk",
            version,
            reply_length: 400,
            call,
            reply: (300, &[]),
            moved: "0 -> a0 300",
            answer,
            invalidates: Some(0xa0),
            end: End::LongReply(300),
            ..exchange()
        });
    }
    // The Reply chunk of a Reply that needs none does not come back.
    for (version, call, answer, at) in [
        (A, &[7, 2, 0, 0, 0, 0xa0, 0, 0, 1, 1, 0xa0, 400, 0, 0x1000][..], &[7, 2, 0, 0, 1, 0, 0, 0, 0][..], 36),
        (B, &[7, 2, 0, 10, 0xa0, 0, 0, 1, 1, 0xa0, 400, 0, 0x1000], &[7, 2, 0, 13, 0], 20),
    ] {
        all.push(Exchange {
            name: "an unused Reply chunk",
            version,
            reply_length: 400,
            call,
            answer,
            invalidates: Some(0xa0),
            end: End::Reply { receive: 9, payload: at..at + 24 },
            ..exchange()
        });
    }
    all
}

fn exchange() -> Exchange {
    Exchange {
        name: "short",
        version: B,
        length: 40,
        arguments: &[],
        results: &[],
        reply_length: 24,
        call: &[],
        reply: (24, &[]),
        moved: "",
        answer: &[],
        invalidates: None,
        end: End::Lost,
    }
}

/// Makes the call: the Send, and the Requester that waits for the answer.
fn make(exchange: &Exchange) -> (Requester<4, 8>, Vec<u8>) {
    let mut requester = Requester::<4, 8>::new(terms(exchange.version), 4, 0x1_0000);
    let head = call_head();
    let call = requester::Call {
        head: &head,
        length: exchange.length,
        arguments: exchange.arguments,
        results: exchange.results,
        reply_length: exchange.reply_length,
    };
    requester.call(&call).unwrap();
    let mut buffer = [0xa5; 256];
    loop {
        match requester.poll(&mut buffer).unwrap().unwrap() {
            requester::Output::Register { call, region, .. } => {
                let memory = Some((0xa0 + u32::from(region), 0x1000));
                requester.handle(requester::Input::Registered { call, region, memory }).unwrap();
            }
            requester::Output::Send { call, header, payload } => {
                let mut stream = head;
                stream.resize(exchange.length as usize, 0);
                let mut send = buffer[..header].to_vec();
                payload.for_each(|range| send.extend(&stream[range.start as usize..range.end as usize]));
                requester.handle(requester::Input::Sent { call }).unwrap();
                return (requester, send);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Serves a Send: what is moved, the answer, and the handle that it invalidates.
fn serve(version: Version, send: &[u8], reply: (u32, &[Item])) -> (String, Vec<u8>, Option<u32>) {
    serve_within(Limits::new(), version, send, reply)
}

fn serve_within(
    limits: Limits,
    version: Version,
    send: &[u8],
    reply: (u32, &[Item]),
) -> (String, Vec<u8>, Option<u32>) {
    let mut responder = Responder::<4, 512, 2>::new(terms(version), limits);
    responder.handle(responder::Input::Received { receive: 5, octets: send }).unwrap();
    let (mut moved, mut buffer, head) = (Vec::new(), [0xa5; 256], reply_head());
    loop {
        match responder.poll(&mut buffer).unwrap().unwrap() {
            responder::Output::Release { .. } | responder::Output::Place { .. } => {}
            responder::Output::Read { call, source, at } => {
                moved.push(format!("{:x} {} -> {at}", source.handle, source.length));
                responder.handle(responder::Input::Completed { call }).unwrap();
            }
            responder::Output::Deliver { call, message } => {
                if let CallMessage::Inline { from, length, .. } = message {
                    assert_eq!(send[from..from + length as usize], call_head());
                }
                let (length, results) = reply;
                let reply = responder::Reply { head: &head, length, results, protected: false };
                assert_ne!(responder.reply(call, &reply), Ok(Form::Provided));
            }
            responder::Output::Write { from, target, .. } => {
                moved.push(format!("{from} -> {:x} {}", target.handle, target.length));
            }
            responder::Output::Send { header, payload, invalidate, .. } => {
                let (mut stream, mut send) = (head, buffer[..header].to_vec());
                stream.resize(reply.0 as usize, 0);
                payload.for_each(|range| send.extend(&stream[range.start as usize..range.end as usize]));
                return (moved.join(", "), send, invalidate);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// How the call ends after this answer. All memory is fenced before.
fn ends(mut requester: Requester<4, 8>, octets: &[u8], invalidated: Option<u32>) -> Option<End> {
    requester.handle(requester::Input::Received { receive: 9, octets, invalidated }).unwrap();
    let mut buffer = [0xa5; 256];
    while let Some(output) = requester.poll(&mut buffer).unwrap() {
        match output {
            requester::Output::Invalidate { call, region, handle } => {
                assert_ne!(Some(handle), invalidated, "it is fenced already");
                requester.handle(requester::Input::Invalidated { call, region }).unwrap();
            }
            requester::Output::Done { end, .. } => return Some(end),
            requester::Output::Release { receive } => assert_eq!(receive, 9),
            requester::Output::Disconnect => return Some(End::Lost),
            other => panic!("{other:?}"),
        }
    }
    None
}

#[test]
fn a_call_and_its_reply_in_each_form() {
    for exchange in exchanges() {
        let name = format!("{}, version {}", exchange.name, exchange.version);
        let (requester, send) = make(&exchange);
        assert_eq!(words(&send[..exchange.call.len() * 4]), exchange.call, "{name}");
        let (moved, answer, invalidates) = serve(exchange.version, &send, exchange.reply);
        assert_eq!((moved.as_str(), invalidates), (exchange.moved, exchange.invalidates), "{name}");
        assert_eq!(words(&answer[..exchange.answer.len() * 4]), exchange.answer, "{name}");
        assert_eq!(ends(requester, &answer, invalidates), Some(exchange.end), "{name}");
    }
}

#[test]
fn only_the_handle_that_was_offered_may_be_invalidated_remotely() {
    for version in [A, B] {
        let call = || {
            let exchange =
                Exchange { version, length: 1044, arguments: &[Item { position: 44, length: 1000 }], ..exchange() };
            make(&exchange)
        };
        let (requester, send) = call();
        let (_, answer, _) = serve(version, &send, (24, &[]));
        assert_eq!(ends(requester, &answer, Some(0xa1)), Some(End::Lost), "another handle: {version}");
        let error: &[u32] = if version == A { &[7, 2, 9, 4, 1, 100] } else { &[7, 2, 9, 4, 100] };
        let system = End::ErrorV2(ErrorBodyV2::Void(ErrorCode::SYSTEM));
        assert_eq!(ends(call().0, &octets(error), None), Some(system), "{version}");
    }
}

/// Each Call, and the error that answers it; nothing is moved, and nothing invalidated.
#[test]
fn what_a_responder_cannot_take_is_answered_with_its_code() {
    let null = words(&call_head());
    let segment = |handle: u32| [handle, 8, 0, 0x1000];
    let read = |position: u32| [&[1, position][..], &segment(0xa0)].concat();
    // No handle to invalidate, the lists, no Reply chunk.
    let lists = |reads: &[u32], writes: &[u32]| [&[0], reads, &[0], writes, &[0, 0]].concat();
    let write = |count: usize| [&[1, count as u32][..], &segment(0xa0).repeat(count)].concat();
    let cases: &[(&str, Vec<u32>, &[u32])] = &[
        ("another XID in the message", [lists(&[], &[]), vec![8], null[1..].to_vec()].concat(), &[2]),
        ("a reply in a Call", [lists(&[], &[]), vec![7, 1], null[2..].to_vec()].concat(), &[2]),
        ("no message", lists(&[], &[]), &[2]),
        ("the lists end early", vec![0, 1, 44], &[2]),
        ("Position Zero beside an inline message", [lists(&read(0), &[]), null.clone()].concat(), &[2]),
        ("Positions descend", [lists(&[read(40), read(36)].concat(), &[]), null.clone()].concat(), &[2]),
        ("a Position that is no multiple of four", [lists(&read(38), &[]), null.clone()].concat(), &[2]),
        ("two Read chunks", [lists(&[read(36), read(40)].concat(), &[]), null.clone()].concat(), &[6, 1]),
        ("two Write chunks", [lists(&[], &[write(1), write(1)].concat()), null.clone()].concat(), &[7, 1]),
        ("more segments than a reply has room for", [lists(&[], &write(20)), null.clone()].concat(), &[8, 10]),
    ];
    for (name, rest, error) in cases {
        for version in [A, B] {
            let (start, answer): (&[u32], Vec<u32>) = match version {
                A => (&[7, 2, 3, 0, 0], [&[7, 2, 0, 4, 1], *error].concat()),
                _ => (&[7, 2, 3, 10], [&[7, 2, 0, 4], *error].concat()),
            };
            let send = octets(&[start, rest].concat());
            let (moved, sent, invalidates) = serve(version, &send, (24, &[]));
            assert_eq!((moved.as_str(), words(&sent), invalidates), ("", answer, None), "{name}, version {version}");
        }
    }
}

/// Each Call that needs more than a Responder has: the limits (Read chunks, Write chunks, segments), the lists of the
/// Call, and the error.
#[test]
fn a_responder_says_how_many_chunks_and_segments_it_takes() {
    let segment = |length: u32| [0xa0, length, 0, 0x1000];
    let read = |position: u32| [&[1, position][..], &segment(4)].concat();
    let write = |count: usize| [&[1, count as u32][..], &segment(8).repeat(count)].concat();
    let none = || Vec::<u32>::new();
    for (name, limits, reads, writes, reply, error) in [
        ("two Read chunks for none", (0, 1, 9), [read(36), read(40)].concat(), none(), none(), [6, 0]),
        ("a Read chunk for none, not one segment", (0, 0, 0), read(36), none(), none(), [6, 0]),
        ("three Read chunks for two", (2, 1, 9), [read(36), read(40), read(44)].concat(), none(), none(), [6, 2]),
        ("a Write chunk for none", (1, 0, 9), none(), write(1), none(), [7, 0]),
        ("three Write chunks, whatever the limit", (9, 9, 9), none(), write(0).repeat(3), none(), [7, 2]),
        ("a Write chunk of three segments for two", (1, 1, 2), none(), write(3), none(), [8, 2]),
        (
            "a Read chunk of two segments, and a third",
            (1, 1, 2),
            [read(36), read(36)].concat(),
            write(1),
            none(),
            [8, 2],
        ),
        ("a Reply chunk for no segment", (1, 1, 0), none(), none(), write(1), [8, 0]),
    ] {
        let limits = Limits::new().with_chunks(limits.0, limits.1).with_segments(limits.2);
        let lists = [&[0][..], &reads, &[0], &writes, &[0], if reply.is_empty() { &[0] } else { &reply[..] }].concat();
        for (version, start, answer) in
            [(A, &[7, 2, 3, 0, 0][..], &[7, 2, 0, 4, 1][..]), (B, &[7, 2, 3, 10], &[7, 2, 0, 4])]
        {
            let send = octets(&[start, &lists, &words(&call_head())].concat());
            let (moved, sent, invalidates) = serve_within(limits, version, &send, (24, &[]));
            let expected = [answer, &error].concat();
            assert_eq!((moved.as_str(), words(&sent), invalidates), ("", expected, None), "{name}, version {version}");
        }
    }
}

/// Each Reply that has no room: the Write list and the Reply chunk of the Call, the length of the Reply and its results,
/// and the error. Nothing is written.
#[test]
fn a_responder_says_which_chunk_is_too_small_and_what_it_needs() {
    let segment = |length: u32| [0xa0, length, 0, 0x1000];
    let chunk = |lengths: &[u32]| {
        let segments: Vec<u32> = lengths.iter().flat_map(|&length| segment(length)).collect();
        [&[1, lengths.len() as u32][..], &segments].concat()
    };
    let result = |position, length| Item { position, length };
    let (first, second) = (result(28, 104), result(136, 12));
    for (name, writes, reply, length, results, error) in [
        ("a result that is too long", vec![chunk(&[100])], vec![0], 132, vec![first], vec![9, 1, 104]),
        ("for its segments together", vec![chunk(&[100, 3])], vec![0], 132, vec![first], vec![9, 1, 104]),
        ("the second result", vec![chunk(&[104]), chunk(&[8])], vec![0], 148, vec![first, second], vec![9, 2, 12]),
        ("the first of two", vec![chunk(&[8]), chunk(&[8])], vec![0], 148, vec![first, second], vec![9, 1, 104]),
        ("after an empty chunk", vec![chunk(&[]), chunk(&[8])], vec![0], 148, vec![first, second], vec![9, 2, 12]),
        ("a Reply that is too long", vec![], chunk(&[400]), 404, vec![], vec![10, 404]),
        ("without what was reduced", vec![chunk(&[104])], chunk(&[300]), 460, vec![first], vec![10, 356]),
    ] {
        let limits = Limits::new().with_chunks(1, 2);
        let lists = [&[0, 0][..], &writes.concat(), &[0], &reply].concat();
        for (version, start, answer) in
            [(A, &[7, 2, 3, 0, 0][..], &[7, 2, 0, 4, 1][..]), (B, &[7, 2, 3, 10], &[7, 2, 0, 4])]
        {
            let send = octets(&[start, &lists, &words(&call_head())].concat());
            let (moved, sent, invalidates) = serve_within(limits, version, &send, (length, &results));
            let expected = [answer, &error].concat();
            assert_eq!((moved.as_str(), words(&sent), invalidates), ("", expected, None), "{name}, version {version}");
        }
    }
}

#[test]
fn a_call_chunk_is_where_family_b_wants_it() {
    let read = |position: u32| vec![1, position, 0xa0, 300, 0, 0x1000];
    for (name, call, reads, answer) in [
        ("no Call chunk", vec![], vec![], Some(2)),
        ("a Call chunk not at Position Zero", read(4), vec![], Some(2)),
        ("Position Zero in the Read list", read(0), read(0), Some(2)),
        ("as it should be", read(0), vec![], None),
    ] {
        let send = octets(&[&[7, 2, 3, 8, 0][..], &call, &[0], &reads, &[0, 0, 0]].concat());
        let (moved, sent, _) = serve(B, &send, (24, &[]));
        let expected = answer.map_or_else(|| vec![7, 2, 0, 13, 0], |code| vec![7, 2, 0, 4, code]);
        assert_eq!((moved.is_empty(), &words(&sent)[..expected.len()]), (answer.is_some(), &expected[..]), "{name}");
    }
}

/// What a Requester makes of what comes while it waits: a Reply, the end of the call, or nothing.
#[test]
fn what_is_no_reply_ends_the_call_or_is_ignored() {
    let reply = words(&reply_head());
    let other = [&[7, 0][..], &reply[2..]].concat();
    let chunk = [1, 1, 0xa0, 24, 0, 0x1000];
    for (name, a, b, end) in [
        (
            "a Call in a Reply",
            [&[7, 2, 1, 0, 1, 0, 0, 0, 0][..], &other].concat(),
            [&[7, 2, 1, 13, 0][..], &other].concat(),
            Some(End::BadReply),
        ),
        (
            "a Write chunk that was not provided",
            [&[7, 2, 1, 0, 1, 0, 0][..], &chunk, &[0, 0], &reply].concat(),
            [&[7, 2, 1, 13][..], &chunk, &[0], &reply].concat(),
            Some(End::BadReply),
        ),
        (
            "a Reply chunk that was not provided",
            [&[7, 2, 1, 1, 1, 0, 0, 0][..], &chunk].concat(),
            [&[7, 2, 1, 11, 0][..], &chunk].concat(),
            Some(End::BadReply),
        ),
        ("an error with a code that has no meaning", vec![7, 2, 1, 4, 1, 77], vec![7, 2, 1, 4, 77], None),
        (
            "another XID",
            [&[8, 2, 1, 0, 1, 0, 0, 0, 0][..], &reply].concat(),
            [&[8, 2, 1, 13, 0][..], &reply].concat(),
            None,
        ),
        (
            "a Call",
            [&[7, 2, 1, 0, 0, 0, 0, 0, 0][..], &other].concat(),
            [&[7, 2, 1, 10, 0, 0, 0, 0][..], &other].concat(),
            None,
        ),
        ("what does not decode", vec![7, 2, 1, 0, 1, 0, 1], vec![7, 2, 1, 13, 1], None),
        (
            "another version",
            [&[7, 1, 1, 0, 1, 0, 0, 0, 0][..], &reply].concat(),
            [&[7, 1, 1, 13, 0][..], &reply].concat(),
            None,
        ),
    ] {
        for (version, send) in [(A, a), (B, b)] {
            let (requester, _) = make(&Exchange { version, ..exchange() });
            assert_eq!(ends(requester, &octets(&send), None), end, "{name}, version {version}");
        }
    }
}

#[test]
fn an_rdma2_nomsg_without_chunks_is_no_call() {
    let (_, answer, _) = serve(A, &octets(&[7, 2, 3, 1, 0, 0, 0, 0, 0]), (24, &[]));
    assert_eq!(words(&answer), [7, 2, 0, 4, 1, 2]);
}

#[test]
fn segments_of_one_chunk_share_a_position() {
    let read = [1, 40, 0xa0, 8, 0, 0x1000, 1, 40, 0xa1, 4, 0, 0x2000];
    for (version, start) in [(A, &[7, 2, 3, 0, 0, 0][..]), (B, &[7, 2, 3, 10, 0])] {
        let send = [octets(&[start, &read, &[0, 0, 0]].concat()), call_head()].concat();
        let mut responder = Responder::<4, 512, 2>::new(terms(version), Limits::new());
        responder.handle(responder::Input::Received { receive: 5, octets: &send }).unwrap();
        let mut pulled = Vec::new();
        while let Some(output) = responder.poll(&mut []).unwrap() {
            if let responder::Output::Read { source, at, .. } = output {
                pulled.push((source.handle, source.length, at));
            }
        }
        assert_eq!(pulled, [(0xa0, 8, 40), (0xa1, 4, 48)], "{version}");
    }
}

/// RDMA of an earlier connection failed for it: that is no fault in its header (draft -07 section 7.3).
#[test]
fn a_call_that_ended_the_connection_before_is_answered_with_system() {
    for (version, start, answer) in [
        (A, &[7, 2, 3, 0, 0, 0, 0, 0, 0][..], &[7, 2, 0, 4, 1, 100][..]),
        (B, &[7, 2, 3, 10, 0, 0, 0, 0], &[7, 2, 0, 4, 100]),
    ] {
        let mut responder = Responder::<4, 512, 2>::new(terms(version), Limits::new());
        responder.refuse_xid(XID);
        let send = [octets(start), call_head()].concat();
        responder.handle(responder::Input::Received { receive: 5, octets: &send }).unwrap();
        let mut buffer = [0xa5; 256];
        assert!(matches!(responder.poll(&mut buffer), Ok(Some(responder::Output::Release { receive: 5 }))));
        let Ok(Some(responder::Output::Send { header, .. })) = responder.poll(&mut buffer) else { panic!("{version}") };
        assert_eq!(words(&buffer[..header]), answer, "{version}");
    }
}
