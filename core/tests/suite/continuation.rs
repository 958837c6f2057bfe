//! Calls and Replies of version 2 in several Sends, in both formats. The words were written by hand from the drafts.

use rpcrdma::endpoint::channel::Arrival;
use rpcrdma::endpoint::requester::{self, End};
use rpcrdma::endpoint::responder::{self, CallMessage, ReplyForm};
use rpcrdma::endpoint::{
    CallId, Channel, InputError, Item, Limits, RegisteredMemory, Requester, Responder, Terms, Version, Versions,
};
use rpcrdma::v2::{ErrorBodyV2, ErrorCode, Family, Properties};

const A: Version = Version::Two(Family::A);
const B: Version = Version::Two(Family::B);

/// The inline threshold, so that a part has few words: in family A 12, or 9 after the last header; in family B 16, and 13
/// in the last part of a Call.
const THRESHOLD: u32 = 84;

type Caller = Requester<4, 8>;
type Server = Responder<4, 512, 2>;

fn terms(version: Version) -> Terms {
    Terms {
        call_threshold: THRESHOLD,
        reply_threshold: THRESHOLD,
        remote_invalidation: true,
        version,
        ..Terms::default()
    }
}

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn words(octets: &[u8]) -> Vec<u32> {
    assert!(octets.len().is_multiple_of(4));
    octets.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

/// NULL of program 400100, and after its header this many words: 100, 101 and so on.
fn call_of(arguments: u32) -> Vec<u32> {
    [7, 0, 2, 400_100, 1, 0, 0, 0, 0, 0].into_iter().chain((100..).take(arguments as usize)).collect()
}

/// The accepted reply, and likewise.
fn reply_of(results: u32) -> Vec<u32> {
    [7, 1, 0, 0, 0, 0].into_iter().chain((100..).take(results as usize)).collect()
}

/// A Requester that continues everything, with a call of this many words that may have a reply of as many words.
fn calling(version: Version, message: &[u32], reply: u32) -> (Caller, CallId) {
    let mut requester = Caller::new(terms(version), 4, 0x1_0000);
    requester.continue_messages(u32::MAX);
    requester.permit(100);
    let id = make(&mut requester, message, reply);
    (requester, id)
}

fn make(requester: &mut Caller, message: &[u32], reply: u32) -> CallId {
    let head = octets(message);
    let (length, reply_length) = (head.len() as u32, reply * 4);
    let call = requester::Call { head: &head, length, arguments: &[], results: &[], reply_length, largest_capacity: 0 };
    requester.call(&call).unwrap()
}

/// Returns the Requester's outputs: its Sends as words, everything else as text.
fn asked(requester: &mut Caller, message: &[u32]) -> (Vec<Vec<u32>>, Vec<String>) {
    let (mut sends, mut others, mut buffer, stream) = (Vec::new(), Vec::new(), [0xa5; 256], octets(message));
    while let Some(output) = requester.poll(&mut buffer).unwrap() {
        match output {
            requester::Output::Send { call, header, payload } => {
                let mut send = buffer[..header].to_vec();
                payload.for_each(|range| send.extend(&stream[range.start as usize..range.end as usize]));
                assert!(send.len() <= THRESHOLD as usize);
                sends.push(words(&send));
                requester.handle(requester::Input::Sent { call }).unwrap();
            }
            requester::Output::Place { receive, from, length, at, .. } => {
                others.push(format!("place {receive} {from}+{length} at {at}"));
            }
            requester::Output::Release { receive } => others.push(format!("release {receive}")),
            requester::Output::Done { end, .. } => others.push(format!("{end:?}")),
            other => others.push(format!("{other:?}")),
        }
    }
    (sends, others)
}

fn hear(requester: &mut Caller, receive: u32, words: &[u32]) {
    let octets = octets(words);
    requester.handle(requester::Input::Received { receive, octets: &octets, invalidated: None }).unwrap();
}

/// The same for a Responder.
fn answered(responder: &mut Server, message: &[u32]) -> (Vec<Vec<u32>>, Vec<String>, Option<CallId>) {
    let (mut sends, mut others, mut buffer, stream) = (Vec::new(), Vec::new(), [0xa5; 256], octets(message));
    let mut delivered = None;
    while let Some(output) = responder.poll(&mut buffer).unwrap() {
        match output {
            responder::Output::Send { header, payload, invalidate, is_last, .. } => {
                let mut send = buffer[..header].to_vec();
                payload.for_each(|range| send.extend(&stream[range.start as usize..range.end as usize]));
                assert!(send.len() <= THRESHOLD as usize);
                assert!(is_last || invalidate.is_none(), "only the last Send of a reply may invalidate");
                sends.push(words(&send));
            }
            responder::Output::Place { receive, from, length, at, .. } => {
                others.push(format!("place {receive} {from}+{length} at {at}"));
            }
            responder::Output::Release { receive } => others.push(format!("release {receive}")),
            responder::Output::Deliver { call, message } => {
                delivered = Some(call);
                others.push(format!("{message:?}"));
            }
            other => others.push(format!("{other:?}")),
        }
    }
    (sends, others, delivered)
}

/// A Responder that has this call, and the call.
fn asked_by(version: Version, call: &[u32]) -> (Server, CallId) {
    let mut responder = Server::new(terms(version), Limits::new());
    responder.permit(100);
    responder.handle(responder::Input::Received { receive: 5, octets: &octets(call) }).unwrap();
    let (_, _, delivered) = answered(&mut responder, &[]);
    (responder, delivered.unwrap())
}

/// NULL, inline.
fn null(version: Version) -> Vec<u32> {
    let header: &[u32] = if version == A { &[7, 2, 3, 0, 0, 0, 0, 0, 0] } else { &[7, 2, 3, 10, 0, 0, 0, 0] };
    [header, &call_of(0)].concat()
}

fn reply(responder: &mut Server, call: CallId, reply: &[u32]) -> ReplyForm {
    let head = octets(reply);
    let length = head.len() as u32;
    responder.reply(call, &responder::Reply { head: &head, length, results: &[], protected: false }).unwrap()
}

/// The Sends of a message whose words are these: of family A (its flags, the parts before the last, the last), and of family B.
fn parts(starts: &[&[u32]], message: &[u32], lengths: &[usize]) -> Vec<Vec<u32>> {
    let mut rest = message;
    let sends = starts.iter().zip(lengths).map(|(start, &length)| {
        let (part, others) = rest.split_at(length);
        rest = others;
        [*start, part].concat()
    });
    let sends = sends.collect();
    assert_eq!(rest, []);
    sends
}

/// A call of 30 words.
fn sends_of_call(version: Version) -> Vec<Vec<u32>> {
    let message = call_of(20);
    match version {
        A => parts(
            &[&[7, 2, 0, 0, 2, 0, 0, 0, 0], &[7, 2, 0, 0, 2, 0, 0, 0, 0], &[7, 2, 0, 0, 0, 0, 0, 0, 0]],
            &message,
            &[12, 12, 6],
        ),
        // Each header but the last ends with the octets that remain after the part. The last part has room for 13
        // words, and is not empty.
        _ => parts(&[&[7, 2, 0, 9, 56], &[7, 2, 0, 9, 4], &[7, 2, 0, 10, 0, 0, 0, 0]], &message, &[16, 13, 1]),
    }
}

/// A reply of 40 words.
fn sends_of_reply(version: Version) -> Vec<Vec<u32>> {
    let message = reply_of(34);
    let (middle, last) = (&[7, 2, 0, 0, 3, 0, 0, 0, 0][..], &[7, 2, 0, 0, 1, 0, 0, 0, 0][..]);
    match version {
        A => parts(&[middle, middle, middle, last], &message, &[12, 12, 12, 4]),
        _ => parts(&[&[7, 2, 0, 12, 96], &[7, 2, 0, 12, 32], &[7, 2, 0, 13, 0]], &message, &[16, 16, 8]),
    }
}

#[test]
fn a_call_is_sent_in_parts_and_put_together() {
    for version in [A, B] {
        let message = call_of(20);
        let (mut requester, _) = calling(version, &message, 6);
        let (sends, others) = asked(&mut requester, &message);
        assert_eq!(sends, sends_of_call(version), "{version}");
        assert_eq!(others, [""; 0], "no memory is registered: {version}");
        let mut responder = Server::new(terms(version), Limits::new());
        let mut placed = 0;
        for (number, send) in sends.iter().enumerate() {
            let octets = octets(send);
            responder.handle(responder::Input::Received { receive: 5, octets: &octets }).unwrap();
            let input = responder::Input::Received { receive: 6, octets: &octets };
            assert_eq!(responder.handle(input), Err(InputError::NotPolled), "{version}");
            let (_, others, delivered) = answered(&mut responder, &[]);
            let is_last = number + 1 == sends.len();
            let header = if version == A { 36 } else { 20 + 12 * usize::from(is_last) };
            let length = octets.len() - header;
            let mut expected = vec![format!("place 5 {header}+{length} at {placed}"), "release 5".into()];
            placed += length;
            if is_last {
                expected.push(format!("{:?}", CallMessage::Assembled { length: 120 }));
            }
            assert_eq!((others, delivered.is_some()), (expected, is_last), "{version} {number}");
        }
    }
}

/// A Reply of 40 words fits in no Send.
#[test]
fn a_reply_within_the_continued_length_needs_no_reply_chunk() {
    for version in [A, B] {
        for (most, expected) in [(160, 0), (159, 1)] {
            let mut requester = Caller::new(terms(version), 4, 0x1_0000);
            requester.continue_messages(most);
            requester.permit(100);
            make(&mut requester, &call_of(0), 40);
            let (sends, others) = asked(&mut requester, &call_of(0));
            let registered = others.iter().filter(|other| other.starts_with("Register")).count();
            assert_eq!((registered, sends.len()), (expected, 1 - expected), "{most}, version {version}");
        }
    }
}

#[test]
fn a_reply_that_fits_nowhere_is_sent_in_parts() {
    for version in [A, B] {
        let (mut responder, call) = asked_by(version, &null(version));
        let message = reply_of(34);
        assert_eq!(reply(&mut responder, call, &message), ReplyForm::Continued);
        let (sends, others, _) = answered(&mut responder, &message);
        assert_eq!(sends, sends_of_reply(version), "{version}");
        assert_eq!(others, ["release 5"], "{version}");
        let (mut requester, _) = calling(version, &call_of(0), 40);
        asked(&mut requester, &call_of(0));
        let header = if version == A { 36 } else { 20 };
        let mut placed = 0;
        for (number, send) in sends.iter().enumerate() {
            hear(&mut requester, 9, send);
            let (_, others) = asked(&mut requester, &[]);
            let length = send.len() * 4 - header;
            let mut expected = vec![format!("place 9 {header}+{length} at {placed}"), "release 9".into()];
            placed += length;
            if number + 1 == sends.len() {
                expected.push(format!("{:?}", End::ContinuedReply(160)));
            }
            assert_eq!(others, expected, "{version} {number}");
        }
        assert_eq!(requester.in_flight(), 0, "{version}");
    }
}

/// The Write list comes with the last part, after the RDMA Writes; so does the invalidation.
#[test]
fn an_unreduced_reply_is_continued_beside_a_small_reply_chunk() {
    for version in [A, B] {
        let chunks = [0xa0, 0, 1, 1, 0xa0, 8, 0, 0x1000, 0, 0];
        let start: &[u32] = if version == A { &[7, 2, 3, 0, 0] } else { &[7, 2, 3, 10] };
        let (mut responder, call) = asked_by(version, &[start, &chunks, &call_of(0)].concat());
        // The data are the words 108 and 109.
        let message = reply_of(20);
        let (head, results) = (octets(&message), [Item { position: 56, length: 8 }]);
        let answer = responder::Reply { head: &head, length: 104, results: &results, protected: false };
        assert_eq!(responder.reply(call, &answer), Ok(ReplyForm::Continued));
        let (sends, others, _) = answered(&mut responder, &message);
        let reduced = [&message[..14], &message[16..]].concat();
        let back = [1, 1, 0xa0, 8, 0, 0x1000, 0];
        let expected = match version {
            A => parts(
                &[
                    &[7, 2, 0, 0, 3, 0, 0, 0, 0],
                    &[7, 2, 0, 0, 3, 0, 0, 0, 0],
                    &[&[7, 2, 0, 0, 1, 0, 0][..], &back, &[0]].concat(),
                ],
                &reduced,
                &[12, 11, 1],
            ),
            _ => parts(&[&[7, 2, 0, 12, 32], &[&[7, 2, 0, 13][..], &back].concat()], &reduced, &[16, 8]),
        };
        assert_eq!(sends, expected, "{version}");
        assert!(others.len() == 2 && others[0] == "release 5" && others[1].starts_with("Write"), "{others:?}");
    }
}

/// Neither a call nor a reply of another XID comes into a sequence; credits may run out anywhere.
#[test]
fn parts_wait_for_credits_and_others_for_the_last_part() {
    for version in [A, B] {
        let (long, short) = (call_of(20), [&[8][..], &call_of(0)[1..]].concat());
        let (mut requester, _) = calling(version, &long, 6);
        make(&mut requester, &short, 6);
        let mut sends = Vec::new();
        for _ in 0..8 {
            requester.permit(0);
            assert_eq!(asked(&mut requester, &long).0.len(), 0, "{version}");
            requester.permit(1);
            let (sent, _) = asked(&mut requester, &long);
            sends.extend(sent.iter().map(|send| send[0]));
        }
        let expected = [7, 7, 7, 8];
        assert_eq!(sends, expected, "{version}");

        let (mut responder, first) = asked_by(version, &null(version));
        let other = [&[8][..], &null(version)[1..]].concat();
        let at = other.len() - 10;
        let other = [&other[..at], &[8], &other[at + 1..]].concat();
        responder.handle(responder::Input::Received { receive: 6, octets: &octets(&other) }).unwrap();
        let (_, _, second) = answered(&mut responder, &[]);
        reply(&mut responder, first, &reply_of(34));
        let mut sends = Vec::new();
        for round in 0..8 {
            responder.permit(0);
            assert_eq!(answered(&mut responder, &reply_of(34)).0.len(), 0, "{version}");
            if round == 1 {
                reply(&mut responder, second.unwrap(), &[&[8][..], &reply_of(0)[1..]].concat());
            }
            responder.permit(1);
            let mut buffer = [0xa5; 256];
            while let Some(output) = responder.poll(&mut buffer).unwrap() {
                if let responder::Output::Send { header, .. } = output {
                    sends.push(words(&buffer[..header])[0]);
                    break;
                }
            }
        }
        let expected = if version == A { vec![7, 7, 7, 7, 8] } else { vec![7, 7, 7, 8] };
        assert_eq!(sends, expected, "{version}");
    }
}

/// A server with the channel of its connection, on which the client has spoken first.
struct Answering {
    version: Version,
    channel: Channel,
    responder: Server,
}

impl Answering {
    fn new(version: Version, limits: Limits) -> Self {
        let versions = if version == A { Versions::TWO_A } else { Versions::TWO_B };
        let mut channel = Channel::server(versions, Properties::DEFAULT);
        let first: &[u32] = if version == A { &[0, 2, 0x40_0040, 5, 0, 0] } else { &[0, 2, 0x40, 7, 0] };
        assert_eq!(channel.received(&octets(first)), Arrival::Properties);
        let mut end = Self { version, channel, responder: Server::new(terms(version), limits) };
        assert_eq!(end.said(), [[0; 0]; 0]);
        end
    }

    /// A Send has come: to whom it goes, and what is answered, by the Responder or by the channel: the XID and the code of an
    /// error, or the XID alone.
    fn hear(&mut self, send: &[u32]) -> (Arrival, Vec<Vec<u32>>) {
        let octets = octets(send);
        let arrival = self.channel.received(&octets);
        match arrival {
            Arrival::Call | Arrival::CallPart => {
                self.responder.handle(responder::Input::Received { receive: 5, octets: &octets }).unwrap();
            }
            Arrival::BrokenCall { xid, error } => {
                self.responder.handle(responder::Input::Broken { xid, error }).unwrap();
            }
            _ => {}
        }
        (arrival, self.said())
    }

    fn said(&mut self) -> Vec<Vec<u32>> {
        let (mut said, mut buffer, room) = (Vec::new(), [0xa5; 256], 64);
        loop {
            self.responder.permit(self.channel.available(room));
            match self.responder.poll(&mut buffer).unwrap() {
                Some(responder::Output::Send { header, .. }) => {
                    self.channel.send(room, &mut buffer);
                    said.push(buffer[..header].to_vec());
                }
                Some(_) => {}
                None => break,
            }
        }
        while let Some(length) = self.channel.poll(room, &mut buffer).unwrap() {
            said.push(buffer[..length].to_vec());
        }
        let errors = said.into_iter().map(|send| words(&send)).filter(|words| words[3] == 4);
        errors.map(|words| [&words[..1], &words[if self.version == A { 5 } else { 4 }..]].concat()).collect()
    }
}

/// A part of a call that is not the last, with `remaining` words behind it.
fn middle(version: Version, xid: u32, words: &[u32], remaining: u32) -> Vec<u32> {
    match version {
        A => [&[xid, 2, 0x40_0001, 0, 2, 0, 0, 0, 0], words].concat(),
        _ => [&[xid, 2, 0x40, 9, remaining * 4], words].concat(),
    }
}

/// The last part of a call, with this Read list.
fn last(version: Version, xid: u32, reads: &[u32], words: &[u32]) -> Vec<u32> {
    let start: &[u32] = if version == A { &[2, 0x40_0001, 0, 0, 0] } else { &[2, 0x40, 10, 0] };
    [&[xid], start, reads, &[0, 0, 0], words].concat()
}

/// Two words less are collected than in the next test.
#[test]
fn a_call_of_the_greatest_length_is_collected() {
    for version in [A, B] {
        let mut end = Answering::new(version, Limits::new().with_octets(80));
        let call = call_of(10);
        assert_eq!(end.hear(&middle(version, 7, &call[..10], 10)), (Arrival::Call, vec![]));
        assert_eq!(end.hear(&last(version, 7, &[], &call[10..])), (Arrival::CallPart, vec![]));
        assert_eq!(end.responder.owed_replies(), 1, "{version}");
    }
}

/// The channel of a connection passes no such Send on; a driver may have none.
#[test]
fn a_responder_without_a_channel_keeps_calls_apart() {
    for version in [A, B] {
        let mut responder = Server::new(terms(version), Limits::new());
        responder.permit(100);
        let mut hear = |send: &[u32]| {
            responder.handle(responder::Input::Received { receive: 5, octets: &octets(send) }).unwrap();
            let (sends, others, _) = answered(&mut responder, &[]);
            (sends, others)
        };
        let call = call_of(2);
        let placed = |at: u32| format!("place 5 {}+20 at {at}", if version == A { 36 } else { 20 });
        let release = || String::from("release 5");
        assert_eq!(hear(&middle(version, 7, &call[..5], 7)), (vec![], vec![placed(0), release()]), "{version}");
        // RDMA2_ERR_INVAL_CONT for Call 7, of which nothing else comes.
        let error = if version == A { vec![7, 2, 0, 4, 1, 5] } else { vec![7, 2, 0, 4, 5] };
        let other = [&[8][..], &call[1..5]].concat();
        assert_eq!(hear(&middle(version, 8, &other, 7)), (vec![error], vec![placed(0), release()]), "{version}");
        let another_version: &[u32] = if version == A { &[8, 1, 1, 4, 1, 2] } else { &[8, 1, 1, 4, 2] };
        assert_eq!(hear(another_version), (vec![], vec![release()]), "an error: {version}");
        assert_eq!(hear(&middle(version, 8, &[], 7)), (vec![], vec![release()]), "a part of no octets: {version}");
        let (_, others) = hear(&last(version, 8, &[], &call[5..]));
        assert_eq!(others.last().unwrap(), "Assembled { length: 48 }", "{version}: {others:?}");
    }
    let mut responder = Server::new(terms(A), Limits::new());
    responder.permit(100);
    for (name, send) in [
        ("a grant", [0, 2, 0x40_0001, 1, 0, 0, 0, 0, 0].to_vec()),
        ("a Reply", [&[7, 2, 0x40_0001, 0, 1, 0, 0, 0, 0][..], &call_of(0)].concat()),
    ] {
        responder.handle(responder::Input::Received { receive: 5, octets: &octets(&send) }).unwrap();
        let (sends, others, delivered) = answered(&mut responder, &[]);
        assert_eq!((sends, others, delivered), (vec![], vec![String::from("release 5")], None), "{name}");
    }
}

#[test]
fn a_call_too_large_is_answered_and_the_rest_discarded() {
    for version in [A, B] {
        for goes_on in [true, false] {
            let mut end = Answering::new(version, Limits::new().with_octets(80));
            let call = call_of(12);
            assert_eq!(end.hear(&middle(version, 7, &call[..10], 12)), (Arrival::Call, vec![]));
            assert_eq!(end.hear(&middle(version, 7, &call[10..20], 2)), (Arrival::CallPart, vec![]));
            assert_eq!(end.hear(&middle(version, 7, &call[20..21], 1)), (Arrival::CallPart, vec![vec![7, 100]]));
            assert!(end.responder.has_place(), "for the rest of it");
            if goes_on {
                assert_eq!(end.hear(&last(version, 7, &[], &call[21..])), (Arrival::CallPart, vec![]));
                assert_eq!(end.responder.occupied(), 0);
            }
            // The server is free for another.
            let other = [&[8][..], &call_of(0)[1..]].concat();
            assert_eq!(end.hear(&last(version, 8, &[], &other)), (Arrival::Call, vec![]), "{version} {goes_on}");
            assert_eq!(end.responder.occupied(), 0, "it is in its Receive");
        }
    }
}

#[test]
fn what_one_peer_can_have_collected_is_bounded() {
    for version in [A, B] {
        let mut end = Answering::new(version, Limits::new().with_collected(100));
        let whole = |end: &mut Answering, xid: u32| {
            let call = [&[xid][..], &call_of(0)[1..]].concat();
            let (_, said) = end.hear(&middle(version, xid, &call[..5], 5));
            (said, end.hear(&last(version, xid, &[], &call[5..])).1)
        };
        assert_eq!(whole(&mut end, 7), (vec![], vec![]));
        assert_eq!(whole(&mut end, 8), (vec![], vec![]));
        assert_eq!(whole(&mut end, 9), (vec![], vec![vec![9, 100]]), "100 octets of 120: {version}");
        assert_eq!(whole(&mut end, 10), (vec![], vec![vec![10, 100]]), "what was refused is free again: {version}");
        let mut end = Answering::new(version, Limits::NO_CHUNKS);
        let (_, said) = end.hear(&middle(version, 7, &call_of(0)[..5], 5));
        assert_eq!(said, [[7, 100]], "{version}");
    }
}

/// The last part or another message after a part of a call, what the error is for, and its code.
#[test]
fn each_error_in_parts_of_a_call_has_its_code() {
    for version in [A, B] {
        let call = call_of(0);
        let read = [1, 40, 0xa0, 8, 0, 0x1000];
        let (is_7, is_8) = (Arrival::BrokenCall { xid: 7, error: INVAL_CONT }, Arrival::Nothing);
        let mut cases = vec![
            ("another call", last(version, 8, &[], &call), is_8, vec![8, 5]),
            ("a part of another call", middle(version, 8, &call, 5), is_8, vec![8, 5]),
            ("a Read chunk", last(version, 7, &read, &call[5..]), Arrival::CallPart, vec![7, 6, 0]),
            (
                "lists that are not sound",
                last(version, 7, &[1, 38, 0xa0, 8, 0, 0x1000], &call[5..]),
                Arrival::CallPart,
                vec![7, 2],
            ),
            (
                "lists that end early",
                last(version, 7, &[1], &[])[..7 + usize::from(version == A)].to_vec(),
                Arrival::BrokenCall { xid: 7, error: ErrorBodyV2::Void(ErrorCode::BAD_XDR) },
                vec![7, 2],
            ),
        ];
        if version == A {
            let chunks = [&[7, 2, 0x40_0001, 0, 2, 0][..], &read, &[0, 0, 0], &call[5..]].concat();
            cases.push(("chunks that are not in the last part", chunks, is_7, vec![7, 5]));
            cases.push(("no part", vec![7, 2, 0x40_0001, 1, 0, 0, 0, 0, 1, 0], is_7, vec![7, 5]));
        } else {
            cases.push(("more than was said", last(B, 7, &[], &[0; 11]), is_7, vec![7, 5]));
            cases.push(("less than was said", last(B, 7, &[], &[0; 4]), is_7, vec![7, 5]));
            cases.push(("another count", middle(B, 7, &call[5..7], 9), is_7, vec![7, 5]));
        }
        for (name, send, arrival, error) in cases {
            let mut end = Answering::new(version, Limits::new());
            assert_eq!(end.hear(&middle(version, 7, &call[..5], 5)), (Arrival::Call, vec![]), "{name}");
            assert_eq!(end.hear(&send), (arrival, vec![error.clone()]), "{name}, version {version}");
            let is_over = error[0] == 7;
            assert_eq!(end.responder.occupied(), u32::from(!is_over), "{name}, version {version}");
            if is_over {
                // The requester leaves it at that.
                let other = [&[9][..], &call_of(0)[1..]].concat();
                assert_eq!(
                    end.hear(&last(version, 9, &[], &other)),
                    (Arrival::Call, vec![]),
                    "{name}, version {version}"
                );
            }
        }
    }
}

const INVAL_CONT: ErrorBodyV2 = ErrorBodyV2::Void(ErrorCode::INVAL_CONT);

/// A Call with a Reply chunk, and what ends it if a Reply in that chunk comes: after half of the Call, and after a part of another
/// Reply. A Responder may continue any Reply.
#[test]
fn a_reply_in_the_reply_chunk_answers_the_whole_call() {
    for version in [A, B] {
        for (credits, reply_begins, end) in
            [(100, false, End::LongReply(24)), (100, true, End::BadReply), (1, false, End::BadReply)]
        {
            let message = call_of(20);
            let mut requester = Caller::new(terms(version), 4, 0x1_0000);
            requester.continue_messages(120);
            requester.permit(credits);
            let call = make(&mut requester, &message, 40);
            assert_eq!(asked(&mut requester, &message).1.len(), 1, "it has a Reply chunk");
            let memory = Some(RegisteredMemory { handle: 0xa0, offset: 0x1000 });
            requester.handle(requester::Input::Registered { call, region: 0, memory }).unwrap();
            assert_eq!(asked(&mut requester, &message).0.len() > 1, credits > 1, "it has several Sends");
            if reply_begins {
                hear(&mut requester, 9, &sends_of_reply(version)[0]);
                asked(&mut requester, &[]);
            }
            let start: &[u32] = if version == A { &[7, 2, 1, 1, 1, 0, 0, 0] } else { &[7, 2, 9, 11, 0] };
            hear(&mut requester, 8, &[start, &[1, 1, 0xa0, 24, 0, 0x1000]].concat());
            let (_, mut others) = asked(&mut requester, &[]);
            // The rest of the Call.
            requester.permit(100);
            others.extend(asked(&mut requester, &message).1);
            if others.iter().any(|other| other.starts_with("Invalidate")) {
                requester.handle(requester::Input::Invalidated { call, region: 0 }).unwrap();
                others.extend(asked(&mut requester, &[]).1);
            }
            let done = others.into_iter().filter(|other| !other.contains("e ") && !other.starts_with("Inv"));
            assert_eq!(done.collect::<Vec<_>>(), [format!("{end:?}")], "{version} {credits} {reply_begins}");
        }
    }
}

/// Both would have the Call made again, if it were not cancelled.
#[test]
fn a_cancelled_call_ends_with_an_error_too() {
    for version in [A, B] {
        let (mut requester, call) = calling(version, &call_of(0), 6);
        asked(&mut requester, &call_of(0));
        requester.cancel(call).unwrap();
        hear(&mut requester, 8, if version == A { &[7, 2, 1, 4, 1, 8, 1] } else { &[7, 2, 9, 4, 8, 1] });
        assert_eq!(asked(&mut requester, &[]).1, ["release 8", "Cancelled"], "{version}");
    }
}

/// Family B has no Read list in a Reply.
#[test]
fn a_continued_reply_has_no_read_chunk() {
    let (mut requester, _) = calling(A, &call_of(0), 40);
    asked(&mut requester, &call_of(0));
    hear(&mut requester, 9, &sends_of_reply(A)[0]);
    asked(&mut requester, &[]);
    hear(&mut requester, 8, &[7, 2, 1, 0, 1, 0, 1, 40, 0xa0, 4, 0, 0x1000, 0, 0, 0, 100]);
    assert_eq!(asked(&mut requester, &[]).1.last(), Some(&format!("{:?}", End::BadReply)));
}

/// There is room for 4 GiB, rounded down to a multiple of four.
#[test]
fn a_continued_reply_may_have_any_length() {
    for version in [A, B] {
        let mut requester = Caller::new(terms(version), 4, 0x1_0000);
        requester.continue_messages(u32::MAX);
        requester.permit(1);
        let head = octets(&call_of(0));
        let call = requester::Call {
            head: &head,
            length: 40,
            arguments: &[],
            results: &[],
            reply_length: u32::MAX,
            largest_capacity: 0,
        };
        requester.call(&call).unwrap();
        asked(&mut requester, &call_of(0));
        hear(&mut requester, 9, &sends_of_reply(version)[0]);
        let (_, others) = asked(&mut requester, &[]);
        assert!(others[0].starts_with("place 9 "), "{version}: {others:?}");
    }
}

/// The Responder could not tell where the next message begins.
#[test]
fn a_begun_call_is_sent_to_its_end() {
    let system = End::ErrorV2(ErrorBodyV2::Void(ErrorCode::SYSTEM));
    for version in [A, B] {
        let error: &[u32] = if version == A { &[7, 2, 1, 4, 1, 100] } else { &[7, 2, 9, 4, 100] };
        let start: &[u32] = if version == A { &[7, 2, 1, 0, 1, 0, 0, 0, 0] } else { &[7, 2, 9, 13, 0] };
        let early = [start, &reply_of(0)].concat();
        for (name, happens, end) in [
            ("it is cancelled", None, None),
            ("it is answered with an error", Some(error), Some(system.clone())),
            ("it is answered too early", Some(&early), Some(End::BadReply)),
        ] {
            let message = call_of(20);
            let (mut requester, id) = calling(version, &message, 6);
            requester.permit(1);
            let (mut sends, _) = asked(&mut requester, &message);
            match happens {
                None => requester.cancel(id).unwrap(),
                Some(send) => hear(&mut requester, 9, send),
            }
            let (none, released) = asked(&mut requester, &message);
            assert_eq!((none.len(), released.len()), (0, usize::from(happens.is_some())), "{name}, version {version}");
            requester.permit(100);
            let (rest, done) = asked(&mut requester, &message);
            sends.extend(rest);
            assert_eq!(sends, sends_of_call(version), "{name}, version {version}");
            let done = match end {
                Some(end) => {
                    assert_eq!(done, [format!("{end:?}")], "{name}, version {version}");
                    continue;
                }
                None => done,
            };
            assert_eq!(done, [""; 0], "the reply may still come: {version}");
            hear(&mut requester, 9, &early);
            assert_eq!(asked(&mut requester, &[]).1, ["release 9".into(), format!("{:?}", End::Cancelled)]);
        }
    }
}

/// After the first part of a reply: what happens, and how the call ends. Whatever else comes of the reply is discarded.
#[test]
fn a_reply_that_is_broken_off_ends_the_call() {
    type Happens = fn(&mut Caller, CallId, Version);
    let cases: [(&str, u32, Happens, End); 6] = [
        ("there is no room", 20, |_, _, _| {}, End::NoRoom(0)),
        ("it is cancelled", 40, |requester, id, _| requester.cancel(id).unwrap(), End::Cancelled),
        (
            "the channel says that a part was out of order",
            40,
            |requester, _, _| requester.handle(requester::Input::Broken { xid: 7 }).unwrap(),
            End::BadReply,
        ),
        (
            "an error comes",
            40,
            |requester, _, version| {
                hear(requester, 8, if version == A { &[7, 2, 1, 4, 1, 100] } else { &[7, 2, 9, 4, 100] });
            },
            End::ErrorV2(ErrorBodyV2::Void(ErrorCode::SYSTEM)),
        ),
        (
            "a reply in a chunk comes",
            40,
            |requester, _, version| {
                let chunk = [1, 1, 0xa0, 24, 0, 0x1000];
                let start: &[u32] = if version == A { &[7, 2, 1, 1, 1, 0, 0, 0] } else { &[7, 2, 9, 11, 0] };
                hear(requester, 8, &[start, &chunk].concat());
            },
            End::BadReply,
        ),
        (
            "the connection ends",
            40,
            |requester, _, _| requester.handle(requester::Input::Disconnected).unwrap(),
            End::Lost,
        ),
    ];
    for version in [A, B] {
        for (name, room, happens, end) in &cases {
            let (mut requester, id) = calling(version, &call_of(0), *room);
            asked(&mut requester, &call_of(0));
            let sends = sends_of_reply(version);
            let mut others = Vec::new();
            for (number, send) in sends.iter().enumerate() {
                hear(&mut requester, 9, send);
                others.extend(asked(&mut requester, &[]).1);
                if number == 0 {
                    happens(&mut requester, id, version);
                    others.extend(asked(&mut requester, &[]).1);
                }
            }
            // The second part does not fit behind the first.
            let placed = if version == A { 48 } else { 64 };
            let end = match end {
                End::NoRoom(_) => End::NoRoom(placed * 2),
                end => end.clone(),
            };
            let done: Vec<_> = others.iter().filter(|other| !other.contains("e ")).collect();
            assert_eq!(done, [&format!("{end:?}")], "{name}, version {version}");
            let parts = others.iter().filter(|other| other.starts_with("place")).count();
            assert_eq!(parts, 1, "{name}, version {version}: {others:?}");
            assert_eq!(requester.in_flight(), u32::from(end == End::Lost), "{name}, version {version}");
        }
    }
}
