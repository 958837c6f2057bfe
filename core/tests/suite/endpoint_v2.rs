//! Requester and Responder of version 2, in both wire formats. The words were written by hand from the drafts.

use rpcrdma::endpoint::requester::{self, End};
use rpcrdma::endpoint::responder::{self, CallMessage, ReplyForm};
use rpcrdma::endpoint::{Item, Limits, RegisteredMemory, Requester, Responder, Terms, Version};
use rpcrdma::v2::{ErrorBodyV2, ErrorCode, Family};

const A: Version = Version::Two(Family::A);
const B: Version = Version::Two(Family::B);

/// The XID of every call.
const XID: u32 = 7;

fn terms(version: Version) -> Terms {
    Terms { call_threshold: 256, reply_threshold: 256, remote_invalidation: true, version, ..Terms::default() }
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
    largest_capacity: u32,
    call: &'static [u32],
    reply: (u32, &'static [Item]),
    /// RDMA operations of the Responder before its answer.
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
        largest_capacity: 0,
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
        largest_capacity: 0,
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
        largest_capacity: exchange.largest_capacity,
    };
    requester.call(&call).unwrap();
    let mut buffer = [0xa5; 256];
    loop {
        match requester.poll(&mut buffer).unwrap().unwrap() {
            requester::Output::Register { call, region, .. } => {
                let memory = Some(RegisteredMemory { handle: 0xa0 + u32::from(region), offset: 0x1000 });
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
                assert_ne!(responder.reply(call, &reply), Ok(ReplyForm::Provided));
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

/// Returns the end of the call after this answer. All memory is fenced before.
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

/// Version two draft -07 section 7.2: the header is valid, and the arguments cannot be put together.
#[test]
fn a_read_chunk_beyond_the_stream_gets_garbage_args() {
    let lists = [0, 1, 100, 0xa0, 8, 0, 0x1000, 0, 0, 0];
    for (version, start, answer) in
        [(A, &[7, 2, 3, 0, 0][..], &[7, 2, 0, 0, 1, 0, 0, 0, 0][..]), (B, &[7, 2, 3, 10], &[7, 2, 0, 13, 0])]
    {
        let send = [octets(start), octets(&lists), call_head()].concat();
        let (moved, sent, invalidates) = serve(version, &send, (24, &[]));
        let answer = [answer, &[7, 1, 0, 0, 0, 4]].concat();
        assert_eq!((moved.as_str(), words(&sent), invalidates), ("", answer, None), "version {version}");
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
    // As many segments as it takes.
    let lists = [&[0][..], &read(40), &[0], &write(1), &[0, 0]].concat();
    let send = [octets(&[&[7, 2, 3, 0, 0][..], &lists].concat()), call_head()].concat();
    let (moved, _, _) = serve_within(Limits::new().with_chunks(1, 1).with_segments(2), A, &send, (24, &[]));
    assert!(!moved.is_empty(), "it is pulled");
    // The chunk at Position Zero is none of the Read chunks that are counted.
    let lists = [&[0][..], &read(0), &read(36), &[0, 0, 0]].concat();
    let send = octets(&[&[7, 2, 3, 1, 0][..], &lists].concat());
    let (_, sent, _) = serve_within(Limits::new().with_chunks(1, 1).with_segments(1), A, &send, (24, &[]));
    assert_eq!(words(&sent), [7, 2, 0, 4, 1, 8, 1]);
}

/// Each Reply that has no room: the Write list and the Reply chunk of the Call, the length of the Reply and its results,
/// and the error. Nothing is written.
#[test]
fn a_responder_names_the_small_chunk_and_the_needed_length() {
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
        ("another chunk beside the Call chunk", [read(0), read(4)].concat(), vec![], Some(2)),
        ("Position Zero in the Read list", read(0), read(0), Some(2)),
        ("Position Zero in the Read list alone", vec![], read(0), Some(2)),
        ("as it should be", read(0), vec![], None),
    ] {
        let send = octets(&[&[7, 2, 3, 8, 0][..], &call, &[0], &reads, &[0, 0, 0]].concat());
        let (moved, sent, _) = serve(B, &send, (24, &[]));
        let expected = answer.map_or_else(|| vec![7, 2, 0, 13, 0], |code| vec![7, 2, 0, 4, code]);
        assert_eq!((moved.is_empty(), &words(&sent)[..expected.len()]), (answer.is_some(), &expected[..]), "{name}");
    }
}

/// Messages that come while a Requester waits: each ends the call, or is ignored.
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
        ("what does not decode", vec![7, 2, 1, 0, 1, 0, 1], vec![7, 2, 1, 13, 1], Some(End::BadReply)),
        ("an error that ends early", vec![7, 2, 1, 4, 1, 9, 1], vec![7, 2, 1, 4, 9, 1], Some(End::BadReply)),
        ("what does not decode, with another XID", vec![8, 2, 1, 0, 1, 0, 1], vec![8, 2, 1, 13, 1], None),
        ("an error about properties", vec![7, 2, 1, 4, 1, 3], vec![7, 2, 1, 4, 3], None),
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

/// The `RDMA2_ERROR` with this body.
fn error_with(version: Version, body: &[u32]) -> Vec<u8> {
    octets(&[if version == A { &[XID, 2, 9, 4, 1][..] } else { &[XID, 2, 9, 4] }, body].concat())
}

/// Returns the Requester's reaction to this answer: the header of the Send of the Call that is made again, or the end.
/// The memory of the first Call is fenced before either. The regions of the second have the handles 0xb0, 0xb1, and so
/// on.
fn goes_on(requester: &mut Requester<4, 8>, octets: &[u8]) -> Result<Vec<u32>, End> {
    requester.handle(requester::Input::Received { receive: 9, octets, invalidated: None }).unwrap();
    let mut buffer = [0xa5; 256];
    loop {
        match requester.poll(&mut buffer).unwrap().unwrap() {
            requester::Output::Release { receive } => assert_eq!(receive, 9),
            requester::Output::Invalidate { call, region, .. } => {
                requester.handle(requester::Input::Invalidated { call, region }).unwrap();
            }
            requester::Output::Register { call, region, .. } => {
                let memory = Some(RegisteredMemory { handle: 0xb0 + u32::from(region), offset: 0x1000 });
                requester.handle(requester::Input::Registered { call, region, memory }).unwrap();
            }
            requester::Output::Send { call, header, .. } => {
                requester.handle(requester::Input::Sent { call }).unwrap();
                return Ok(words(&buffer[..header]));
            }
            requester::Output::Done { end, .. } => {
                assert_eq!(requester.in_flight(), 0);
                return Err(end);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The calls that are made again: the error, and the header of the second Call in either format, `None` if it ends with the
/// error. (Draft -07 sections 7.1 to 7.4; -01 has the same.)
#[test]
fn a_call_is_made_again_as_its_error_asks_for() {
    const ONE: &[Item] = &[Item { position: 44, length: 1000 }];
    const TWO: &[Item] = &[Item { position: 44, length: 600 }, Item { position: 648, length: 600 }];
    let segment = |handle: u32, length: u32| [handle, length, 0, 0x1000];
    let read = |position: u32, handle, length| [&[1, position][..], &segment(handle, length)].concat();
    let chunk = |handle, length| [&[1, 1][..], &segment(handle, length)].concat();
    // The handle to invalidate, the reads, the writes, the Reply chunk.
    let inline = |handle: u32, reads: Vec<u32>, writes: Vec<u32>, reply: Vec<u32>| {
        let lists =
            [&[handle][..], &reads, &[0], &writes, &[0], if reply.is_empty() { &[0] } else { &reply[..] }].concat();
        Some(([&[7, 2, 0, 0, 0][..], &lists].concat(), [&[7, 2, 0, 10][..], &lists].concat()))
    };
    let long = |handle: u32, call: Vec<u32>, reads: Vec<u32>, writes: Vec<u32>| {
        let a = [&[7, 2, 0, 1, 0, handle][..], &call, &reads, &[0], &writes, &[0, 0]].concat();
        Some((a, [&[7, 2, 0, 8, handle][..], &call, &[0], &reads, &[0], &writes, &[0, 0]].concat()))
    };
    let none = Vec::new;
    let read_one = || Exchange { length: 1044, arguments: ONE, ..exchange() };
    let read_two = || Exchange { length: 1248, arguments: TWO, ..exchange() };
    let write_one = || Exchange { results: &[100], reply_length: 28, ..exchange() };
    let both = || Exchange { results: &[100], reply_length: 28, ..read_one() };
    let growing = || Exchange { largest_capacity: 600, ..write_one() };
    let reply = |reply_length| Exchange { reply_length, largest_capacity: 600, ..exchange() };
    type Headers = Option<(Vec<u32>, Vec<u32>)>;
    let cases: Vec<(&str, Exchange, &[u32], Headers)> = vec![
        ("no Read chunk", read_one(), &[6, 0], long(0xb0, read(0, 0xb0, 1044), none(), none())),
        (
            "one Read chunk of two",
            read_two(),
            &[6, 1],
            long(0xb0, [read(0, 0xb0, 44), read(0, 0xb1, 604)].concat(), read(44, 0xb2, 600), none()),
        ),
        ("as many Read chunks as there were", read_one(), &[6, 1], None),
        ("fewer Read chunks than none", write_one(), &[6, 0], None),
        ("no Write chunk: the reply is short enough", write_one(), &[7, 0], inline(0, none(), none(), none())),
        (
            "one Write chunk of two: the reply is not",
            Exchange { results: &[100, 199], reply_length: 32, ..exchange() },
            &[7, 1],
            inline(0xb0, none(), chunk(0xb0, 100), chunk(0xb1, 232)),
        ),
        ("as many Write chunks as there were", write_one(), &[7, 1], None),
        ("one segment, and two Read chunks", read_two(), &[8, 1], long(0xb0, read(0, 0xb0, 1248), none(), none())),
        ("one segment, and chunks of either kind", both(), &[8, 1], inline(0xb0, read(44, 0xb0, 1000), none(), none())),
        ("no segment", both(), &[8, 0], None),
        ("as many segments as there were", both(), &[8, 2], None),
        ("a longer result", growing(), &[9, 1, 300], inline(0xb0, none(), chunk(0xb0, 300), none())),
        ("a result as long as may be", growing(), &[9, 1, 600], inline(0xb0, none(), chunk(0xb0, 600), none())),
        ("a result that is too long", growing(), &[9, 1, 601], None),
        ("a longer result, where the room must not grow", write_one(), &[9, 1, 101], None),
        ("a result that had room", growing(), &[9, 1, 100], None),
        ("no such Write chunk", growing(), &[9, 2, 300], None),
        ("a Write chunk that is not known", growing(), &[9, 0, 0], None),
        ("a longer reply", reply(400), &[10, 500], inline(0xb0, none(), none(), chunk(0xb0, 500))),
        (
            "a longer reply, where it was to be inline",
            reply(24),
            &[10, 402],
            inline(0xb0, none(), none(), chunk(0xb0, 404)),
        ),
        ("a reply that is too long", reply(400), &[10, 601], None),
        ("a reply of a length that is not known", reply(400), &[10, 0], None),
        ("a reply that had room", reply(400), &[10, 400], None),
        ("a version", read_one(), &[1, 2, 2], None),
        ("BAD_XDR", read_one(), &[2], None),
        ("INVAL_HTYPE", read_one(), &[4], None),
        ("INVAL_CONT", read_one(), &[5], None),
        ("VERS_MISMATCH", read_one(), &[11], None),
        ("SYSTEM", read_one(), &[100], None),
    ];
    for (name, mut exchange, error, second) in cases {
        for version in [A, B] {
            exchange.version = version;
            let (mut requester, _) = make(&exchange);
            let went_on = goes_on(&mut requester, &error_with(version, error));
            match &second {
                Some((a, b)) => {
                    assert_eq!(went_on.as_ref(), Ok(if version == A { a } else { b }), "{name}, version {version}");
                    assert!(requester.awaits(XID), "{name}, version {version}");
                    // The same error once more asks for what it has.
                    let end = goes_on(&mut requester, &error_with(version, error));
                    assert!(matches!(end, Err(End::ErrorV2(_))), "{name}, version {version}: {end:?}");
                }
                None => assert!(matches!(went_on, Err(End::ErrorV2(_))), "{name}, version {version}: {went_on:?}"),
            }
        }
    }
}

#[test]
fn an_error_for_each_try_ends_the_call() {
    for version in [A, B] {
        let arguments = &[Item { position: 44, length: 600 }, Item { position: 648, length: 600 }];
        let large = Exchange { version, length: 1248, arguments, results: &[10, 10, 10, 10], ..exchange() };
        let (mut requester, _) = make(&Exchange { largest_capacity: u32::MAX, ..large });
        let errors: [&[u32]; 6] = [&[9, 1, 20], &[10, 300], &[7, 2], &[6, 1], &[8, 3], &[9, 1, 30]];
        let mut tries = errors.iter().map(|error| goes_on(&mut requester, &error_with(version, error)));
        assert!(tries.by_ref().take(5).all(|tried| tried.is_ok()), "{version}");
        let last = End::ErrorV2(ErrorBodyV2::WriteResource { chunk_index: 1, length_needed: 30 });
        assert_eq!(tries.next(), Some(Err(last)), "{version}");
        // Nor does one error count twice that asks for more each time.
        let (mut requester, _) = make(&Exchange { version, results: &[10], largest_capacity: u32::MAX, ..exchange() });
        assert!(goes_on(&mut requester, &error_with(version, &[9, 1, 20])).is_ok(), "{version}");
        assert!(goes_on(&mut requester, &error_with(version, &[9, 1, 30])).is_err(), "{version}");
    }
}

#[test]
fn a_header_type_that_was_refused_is_not_used_again() {
    for version in [A, B] {
        let (mut requester, _) = make(&Exchange { version, length: 300, ..exchange() });
        let refused = End::ErrorV2(ErrorBodyV2::Void(ErrorCode::INVAL_HTYPE));
        assert_eq!(goes_on(&mut requester, &error_with(version, &[4])), Err(refused), "{version}");
        let head = call_head();
        let mut call = requester::Call {
            head: &head,
            length: 300,
            arguments: &[],
            results: &[],
            reply_length: 24,
            largest_capacity: 0,
        };
        assert_eq!(requester.call(&call), Err(requester::CallRefusal::Form), "{version}");
        call.length = 40;
        assert!(requester.call(&call).is_ok(), "{version}");
    }
}

#[test]
fn a_call_to_be_made_again_can_be_cancelled() {
    for version in [A, B] {
        let begun = || {
            let arguments = &[Item { position: 44, length: 1000 }];
            let (mut requester, _) = make(&Exchange { version, length: 1044, arguments, ..exchange() });
            let octets = error_with(version, &[6, 0]);
            requester.handle(requester::Input::Received { receive: 9, octets: &octets, invalidated: None }).unwrap();
            let mut buffer = [0xa5; 256];
            assert!(matches!(requester.poll(&mut buffer), Ok(Some(requester::Output::Release { .. }))));
            let Ok(Some(requester::Output::Invalidate { call, region, .. })) = requester.poll(&mut buffer) else {
                panic!("{version}")
            };
            (requester, call, requester::Input::Invalidated { call, region })
        };
        let mut buffer = [0xa5; 256];
        let (mut requester, call, invalidated) = begun();
        requester.cancel(call).unwrap();
        assert!(matches!(requester.poll(&mut buffer), Ok(None)), "it is not fenced: {version}");
        requester.handle(invalidated).unwrap();
        let end = requester.poll(&mut buffer);
        assert!(matches!(end, Ok(Some(requester::Output::Done { end: End::Cancelled, .. }))), "{version}: {end:?}");

        let (mut requester, _, _) = begun();
        requester.handle(requester::Input::Disconnected).unwrap();
        let end = requester.poll(&mut buffer);
        assert!(matches!(end, Ok(Some(requester::Output::Done { end: End::Lost, .. }))), "{version}: {end:?}");

        let (mut requester, _, invalidated) = begun();
        requester.permit(0);
        requester.handle(invalidated).unwrap();
        assert!(matches!(requester.poll(&mut buffer), Ok(None)), "no credit: {version}");
        requester.permit(1);
        assert!(matches!(requester.poll(&mut buffer), Ok(Some(requester::Output::Register { .. }))), "{version}");
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
fn a_call_that_ended_a_connection_gets_system() {
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
