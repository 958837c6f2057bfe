//! Calls without a reply (version two draft -07 section 4.7), in both formats. The words were written by hand from the drafts.

use rpcrdma::endpoint::requester::{self, CallRefusal, End};
use rpcrdma::endpoint::responder::{self, ReplyFault, ReplyForm};
use rpcrdma::endpoint::{CallId, Limits, Requester, Responder, Terms, Version};
use rpcrdma::v2::Family;

const A: Version = Version::Two(Family::A);
const B: Version = Version::Two(Family::B);

/// The XID of every call.
const XID: u32 = 7;

type Caller = Requester<4, 8>;
type Server = Responder<1, 512, 2>;

fn terms(version: Version, call_threshold: u32) -> Terms {
    Terms { call_threshold, reply_threshold: 256, remote_invalidation: true, version, ..Terms::default() }
}

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn words(octets: &[u8]) -> Vec<u32> {
    octets.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

/// NULL of program 400100, version 1, without credentials.
const NULL: [u32; 10] = [XID, 0, 2, 400_100, 1, 0, 0, 0, 0, 0];

/// The header of a Call in one Send, and that of the error `SYSTEM`, which answers it.
fn headers(version: Version) -> (&'static [u32], &'static [u32]) {
    match version {
        A => (&[7, 2, 0, 0, 0, 0, 0, 0, 0], &[7, 2, 9, 4, 1, 100]),
        _ => (&[7, 2, 0, 10, 0, 0, 0, 0], &[7, 2, 9, 4, 100]),
    }
}

/// Returns the Requester's outputs: the words of its Sends, and the ends of its calls.
fn asked(requester: &mut Caller) -> (Vec<Vec<u32>>, Vec<End>) {
    let (mut sends, mut ends, mut buffer) = (Vec::new(), Vec::new(), [0xa5; 256]);
    while let Some(output) = requester.poll(&mut buffer).unwrap() {
        match output {
            requester::Output::Send { header, payload, .. } => {
                let mut send = buffer[..header].to_vec();
                payload.for_each(|range| send.extend(&octets(&NULL)[range.start as usize..range.end as usize]));
                sends.push(words(&send));
            }
            requester::Output::Done { end, .. } => ends.push(end),
            requester::Output::Release { receive } => assert_eq!(receive, 9),
            other => panic!("{other:?}"),
        }
    }
    (sends, ends)
}

fn begin_call(requester: &mut Caller) -> CallId {
    requester.call_one_way(&octets(&NULL), 40).unwrap()
}

fn receive(requester: &mut Caller, words: &[u32]) {
    let octets = &octets(words);
    requester.handle(requester::Input::Received { receive: 9, octets, invalidated: None }).unwrap();
}

#[test]
fn a_one_way_call_is_done_when_its_send_completes() {
    for version in [A, B] {
        let (header, error) = headers(version);
        let mut requester = Caller::new(terms(version, 256), 1, 0x1_0000);
        // More of them than there are credits, one after the other.
        for _ in 0..20 {
            requester.permit(1);
            let call = begin_call(&mut requester);
            assert_eq!(asked(&mut requester), (vec![[header, &NULL].concat()], vec![]), "{version}");
            assert_eq!(requester.call_one_way(&octets(&NULL), 40), Err(CallRefusal::XidInUse), "{version}");
            // Nothing is an answer to it, and it is too late to give it up.
            assert!(!requester.awaits(XID), "{version}");
            receive(&mut requester, error);
            requester.handle(requester::Input::Broken { xid: XID }).unwrap();
            requester.cancel(call).unwrap();
            assert_eq!(asked(&mut requester), (vec![], vec![]), "{version}");
            requester.handle(requester::Input::Sent { call }).unwrap();
            assert_eq!(asked(&mut requester), (vec![], vec![End::Sent]), "{version}");
            assert_eq!((requester.in_flight(), requester.awaited_replies()), (0, 0), "{version}");
        }
    }
}

#[test]
fn a_one_way_call_without_completion_is_lost() {
    for version in [A, B] {
        for (completes, end) in [(true, End::Sent), (false, End::Lost)] {
            let mut requester = Caller::new(terms(version, 256), 4, 0x1_0000);
            let call = begin_call(&mut requester);
            asked(&mut requester);
            if completes {
                requester.handle(requester::Input::Sent { call }).unwrap();
            }
            requester.handle(requester::Input::Disconnected).unwrap();
            assert_eq!(asked(&mut requester).1, [end], "{version}");
        }
    }
}

/// An inline threshold that leaves room for five words of a Call, and the Sends that it takes then. The header of the last part
/// is longer in family B, and the last part is never empty.
fn parts(version: Version) -> (u32, Vec<Vec<u32>>) {
    if version == A {
        let [middle, last] = [2, 0].map(|more| [7, 2, 0, 0, more, 0, 0, 0, 0]);
        (56, vec![[&middle[..], &NULL[..5]].concat(), [&last[..], &NULL[5..]].concat()])
    } else {
        let first = [&[7, 2, 0, 9, 20][..], &NULL[..5]].concat();
        let middle = [&[7, 2, 0, 9, 4][..], &NULL[5..9]].concat();
        (40, vec![first, middle, [&[7, 2, 0, 10, 0, 0, 0, 0][..], &NULL[9..]].concat()])
    }
}

#[test]
fn a_long_one_way_call_is_continued() {
    for version in [A, B] {
        let (threshold, sends) = parts(version);
        for (step, end) in
            [("", End::Sent), ("cancelled", End::Cancelled), ("answered", End::Sent), ("lost", End::Lost)]
        {
            let mut requester = Caller::new(terms(version, threshold), 1, 0x1_0000);
            requester.permit(1);
            let call = begin_call(&mut requester);
            assert_eq!(asked(&mut requester), (vec![sends[0].clone()], vec![]), "{version} {step}");
            match step {
                "cancelled" => requester.cancel(call).unwrap(),
                "answered" => receive(&mut requester, headers(version).1),
                "lost" => requester.handle(requester::Input::Disconnected).unwrap(),
                _ => {}
            }
            if step != "lost" {
                requester.permit(9);
                assert_eq!(asked(&mut requester), (sends[1..].to_vec(), vec![]), "{version} {step}");
                for _ in 0..sends.len() {
                    assert_eq!(asked(&mut requester), (vec![], vec![]), "a Send is not complete: {version} {step}");
                    requester.handle(requester::Input::Sent { call }).unwrap();
                }
            }
            assert_eq!(asked(&mut requester), (vec![], vec![end]), "{version} {step}");
            assert_eq!(requester.in_flight(), u32::from(step == "lost"), "{version} {step}");
        }
    }
}

#[test]
fn it_is_refused_if_it_cannot_be_made() {
    let refused = |terms: Terms, length: u32| Caller::new(terms, 4, 0x1_0000).call_one_way(&octets(&NULL), length);
    assert_eq!(refused(Terms::default(), 40), Err(CallRefusal::OneWay), "version 1");
    for version in [A, B] {
        assert_eq!(refused(terms(version, 256), 42), Err(CallRefusal::Items), "{version}");
        assert!(refused(terms(version, 256), 1 << 20).is_ok(), "{version}");
        // Beside the header of a part there is no room for a word.
        assert_eq!(refused(terms(version, 20), 40), Err(CallRefusal::TooLong), "{version}");
        let mut requester = Caller::new(terms(version, 256), 4, 0x1_0000);
        requester.handle(requester::Input::Disconnected).unwrap();
        assert_eq!(requester.call_one_way(&octets(&NULL), 40), Err(CallRefusal::Closed), "{version}");
    }
}

/// A Call that has come and is delivered.
fn delivered(responder: &mut Server, version: Version) -> CallId {
    let header = match version {
        Version::One => &[7, 1, 3, 0, 0, 0, 0][..],
        version => headers(version).0,
    };
    let octets = &octets(&[header, &NULL].concat());
    responder.handle(responder::Input::Received { receive: 5, octets }).unwrap();
    let Some(responder::Output::Deliver { call, .. }) = responder.poll(&mut []).unwrap() else { panic!("{version}") };
    assert!(responder.poll(&mut []).unwrap().is_none(), "{version}");
    call
}

#[test]
fn a_responder_forgets_a_one_way_call_without_an_answer() {
    for version in [A, B] {
        let mut responder = Server::new(terms(version, 256), Limits::new());
        // Nothing may be sent, and nothing needs to be. They take the only place one after the other.
        responder.permit(0);
        for _ in 0..20 {
            let call = delivered(&mut responder, version);
            assert_eq!((responder.owed_replies(), responder.has_place()), (1, false), "{version}");
            responder.forget(call).unwrap();
            let released = responder.poll(&mut []).unwrap();
            assert!(matches!(released, Some(responder::Output::Release { receive: 5 })), "{version}: {released:?}");
            assert!(responder.poll(&mut []).unwrap().is_none(), "{version}");
            assert_eq!((responder.owed_replies(), responder.has_place()), (0, true), "{version}");
            assert_eq!(responder.forget(call), Err(ReplyFault::NoCall), "{version}");
        }
    }
}

#[test]
fn version_1_owes_a_reply_to_every_call() {
    let mut responder = Server::new(Terms::default(), Limits::new());
    let call = delivered(&mut responder, Version::One);
    assert_eq!(responder.forget(call), Err(ReplyFault::Owed));
    let head = octets(&[XID, 1, 0, 0, 0, 0]);
    let reply = responder::Reply { head: &head, length: 24, results: &[], protected: false };
    assert_eq!(responder.reply(call, &reply), Ok(ReplyForm::Short));
}
