//! Calls of a server at each level of Reverse-Direction Support (version two draft -01, "Reverse-Direction Support"; -07 sections
//! 4.6 and 5.2.5), in both formats. The words were written by hand from the drafts.

use rpcrdma::endpoint::channel::{Arrival, ChannelTerms};
use rpcrdma::endpoint::requester::{self, CallRefusal};
use rpcrdma::endpoint::responder::{self, ReplyForm};
use rpcrdma::endpoint::{
    Channel, Item, Limits, PayloadFormats, RegisteredMemory, Requester, Responder, Terms, Version, Versions,
};
use rpcrdma::v2::{Family, Properties, ReverseDirection};

const A: Version = Version::Two(Family::A);
const B: Version = Version::Two(Family::B);
const ROOM: u32 = 40;

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn words(octets: &[u8]) -> Vec<u32> {
    octets.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

/// The properties of a client: it receives and sends 256 octets, and supports this level; it says nothing of that if there is
/// none.
fn properties(version: Version, level: Option<u32>) -> Vec<u32> {
    let start: &[u32] = if version == A { &[0, 2, 40 << 16 | 20, 5, 0] } else { &[0, 2, 40, 7] };
    let level = level.map_or(vec![], |level| vec![5, 4, level]);
    let count = if level.is_empty() { 2 } else { 3 };
    [start, &[count, 1, 4, 256, 2, 4, 256], &level].concat()
}

/// NULL of a client, which needs no properties.
fn null(version: Version) -> Vec<u32> {
    let header: &[u32] =
        if version == A { &[8, 2, 40 << 16 | 20, 0, 0, 0, 0, 0, 0] } else { &[8, 2, 40, 10, 0, 0, 0, 0] };
    [header, &[8, 0, 2, 400_100, 1, 0, 0, 0, 0, 0]].concat()
}

fn server(version: Version) -> Channel {
    Channel::server(Versions::from(version), Properties::DEFAULT)
}

/// A call of a server: its length, its argument at 44, the room for a result, and the longest reply.
type Asked = (u32, Option<u32>, Option<u32>, u32);

/// The headers of the Sends of a call with these terms, without their credits.
fn sends(terms: Terms, (length, argument, result, reply_length): Asked) -> Result<Vec<Vec<u32>>, CallRefusal> {
    let mut requester = Requester::<4, 8>::new(terms, 4, 0x1_0000);
    requester.permit(9);
    let arguments: Vec<_> = argument.into_iter().map(|length| Item { position: 44, length }).collect();
    let results: Vec<_> = result.into_iter().collect();
    let head = &octets(&[7, 0, 2, 400_100, 1, 0, 0, 0, 0, 0]);
    let call =
        requester::Call { head, length, arguments: &arguments, results: &results, reply_length, largest_capacity: 0 };
    requester.call(&call)?;
    let (mut sends, mut buffer) = (Vec::new(), [0xa5; 256]);
    while let Some(output) = requester.poll(&mut buffer).unwrap() {
        match output {
            requester::Output::Register { call, region, .. } => {
                let memory = Some(RegisteredMemory { handle: 0xa0 + u32::from(region), offset: 0x1000 });
                requester.handle(requester::Input::Registered { call, region, memory }).unwrap();
            }
            requester::Output::Send { header, .. } => sends.push(words(&buffer[..header])),
            other => panic!("{other:?}"),
        }
    }
    Ok(sends)
}

#[test]
fn a_server_calls_as_the_client_supports_it() {
    const SHORT: Asked = (40, None, None, 24);
    const ITEMS: Asked = (144, Some(100), Some(100), 28);
    const LONG_CALL: Asked = (300, Some(256), None, 24);
    const LONG_REPLY: Asked = (40, None, None, 400);
    let refused = |refusal: CallRefusal| [(); 2].map(|()| Err(refusal));
    let [whole, by_reference] = [
        [&[7, 2, 0, 0, 0, 0, 0, 0, 0][..], &[7, 2, 0, 10, 0, 0, 0, 0]],
        // A Reply chunk of 400 octets.
        [&[7, 2, 0, 0, 0, 0, 0, 0, 1, 1, 0xa0, 400, 0, 0x1000], &[7, 2, 0, 10, 0, 0, 0, 1, 1, 0xa0, 400, 0, 0x1000]],
    ]
    .map(|headers| headers.map(|header| Ok(vec![header.to_vec()])));
    // A Write chunk of 100 octets, and a Read chunk of 256.
    let written = [
        &[7, 2, 0, 0, 0, 0, 0, 1, 1, 0xa0, 100, 0, 0x1000, 0, 0][..],
        &[7, 2, 0, 10, 0, 0, 1, 1, 0xa0, 100, 0, 0x1000, 0, 0],
    ]
    .map(|header| Ok(vec![header.to_vec()]));
    let read = [
        &[7, 2, 0, 0, 0, 0, 1, 44, 0xa0, 256, 0, 0x1000, 0, 0, 0][..],
        &[7, 2, 0, 10, 0, 1, 44, 0xa0, 256, 0, 0x1000, 0, 0, 0],
    ]
    .map(|header| Ok(vec![header.to_vec()]));
    // 220 octets and 80; 236 and 64.
    let parts = [
        Ok(vec![vec![7, 2, 0, 0, 2, 0, 0, 0, 0], vec![7, 2, 0, 0, 0, 0, 0, 0, 0]]),
        Ok(vec![vec![7, 2, 0, 9, 64], vec![7, 2, 0, 10, 0, 0, 0, 0]]),
    ];
    let none = refused(CallRefusal::NotAnswered);
    for (level, asked, expected) in [
        (None, SHORT, none.clone()),
        (Some(0), SHORT, none.clone()),
        (Some(0), LONG_REPLY, none.clone()),
        (Some(4), SHORT, none.clone()),
        (Some(u32::MAX), SHORT, none.clone()),
        (Some(1), SHORT, whole.clone()),
        (Some(1), ITEMS, whole.clone()),
        (Some(1), LONG_CALL, refused(CallRefusal::TooLong)),
        (Some(1), LONG_REPLY, whole.clone()),
        (Some(2), SHORT, whole.clone()),
        (Some(2), ITEMS, whole.clone()),
        (Some(2), LONG_CALL, parts),
        (Some(2), LONG_REPLY, whole.clone()),
        (Some(3), SHORT, whole),
        (Some(3), ITEMS, written),
        (Some(3), LONG_CALL, read),
        (Some(3), LONG_REPLY, by_reference),
    ] {
        for (version, expected) in [A, B].into_iter().zip(expected) {
            let mut channel = server(version);
            assert_eq!(channel.received(&octets(&properties(version, level))), Arrival::Properties);
            let ChannelTerms { calls, answers } = channel.terms(false).unwrap();
            assert_eq!(sends(calls, asked), expected, "level {level:?}, {asked:?}, version {version}");
            assert_eq!(answers.formats, PayloadFormats::All, "it answers in any case");
        }
    }
}

#[test]
fn a_one_way_call_uses_the_clients_formats() {
    for (level, short, long) in [
        (0, Err(CallRefusal::NotAnswered), Err(CallRefusal::NotAnswered)),
        (1, Ok(()), Err(CallRefusal::TooLong)),
        (2, Ok(()), Ok(())),
        (3, Ok(()), Ok(())),
    ] {
        for version in [A, B] {
            let mut channel = server(version);
            assert_eq!(channel.received(&octets(&properties(version, Some(level)))), Arrival::Properties);
            let head = octets(&[7, 0, 2, 400_100, 1, 0, 0, 0, 0, 0]);
            for (length, expected) in [(40, short), (300, long)] {
                let mut requester = Requester::<4, 8>::new(channel.terms(false).unwrap().calls, 4, 0x1_0000);
                assert_eq!(
                    requester.call_one_way(&head, length).map(drop),
                    expected,
                    "{level} {length}, version {version}"
                );
            }
        }
    }
}

#[test]
fn a_server_calls_only_clients_that_announced_answers() {
    for version in [A, B] {
        let mut channel = server(version);
        assert_eq!(channel.received(&octets(&null(version))), Arrival::Call);
        let calls = |channel: &Channel| sends(channel.terms(false).unwrap().calls, (40, None, None, 24));
        assert_eq!(calls(&channel), Err(CallRefusal::NotAnswered), "version {version}");
        // Its own properties grant the client more messages.
        channel.poll(ROOM, &mut [0; 256]).unwrap();
        assert_eq!(channel.received(&octets(&properties(version, Some(1)))), Arrival::Properties);
        assert!(calls(&channel).is_ok(), "version {version}");
    }
}

/// Returns a client's answer to NULL with a reply of 300 octets, if it supports this level, whatever the server
/// announces.
fn answered(version: Version, level: ReverseDirection) -> (ReplyForm, Vec<Vec<u32>>) {
    let own = Properties { maximum_send_size: 256, reverse_direction: level, ..Properties::DEFAULT };
    let mut channel = Channel::client(Versions::from(version), own);
    channel.poll(ROOM, &mut [0; 256]).unwrap();
    assert_eq!(channel.received(&octets(&properties(version, None))), Arrival::Properties);
    let ChannelTerms { calls, answers } = channel.terms(false).unwrap();
    assert_eq!(calls.formats, PayloadFormats::All);
    let mut responder = Responder::<4, 512, 2>::new(answers, Limits::new());
    let call = &octets(&null(version));
    responder.handle(responder::Input::Received { receive: 5, octets: call }).unwrap();
    let mut buffer = [0xa5; 256];
    let Some(responder::Output::Deliver { call, .. }) = responder.poll(&mut buffer).unwrap() else {
        panic!("{version}")
    };
    let head = octets(&[8, 1, 0, 0, 0, 0]);
    let form = responder.reply(call, &responder::Reply { head: &head, length: 300, results: &[], protected: false });
    let mut sends = Vec::new();
    while let Some(output) = responder.poll(&mut buffer).unwrap() {
        if let responder::Output::Send { header, .. } = output {
            sends.push(words(&buffer[..header]));
        }
    }
    (form.unwrap(), sends)
}

#[test]
fn a_client_answers_as_it_says_that_it_supports_it() {
    for (level, form) in [
        (ReverseDirection::SIMPLE, ReplyForm::Refused),
        (ReverseDirection::CONT, ReplyForm::Continued),
        (ReverseDirection::GENL, ReplyForm::Continued),
    ] {
        for version in [A, B] {
            let sends: Vec<Vec<u32>> = match (form, version) {
                // REPLY_RESOURCE, and how much room it would take.
                (ReplyForm::Refused, A) => vec![vec![8, 2, 0, 4, 1, 10, 300]],
                (ReplyForm::Refused, _) => vec![vec![8, 2, 0, 4, 10, 300]],
                (_, A) => vec![vec![8, 2, 0, 0, 3, 0, 0, 0, 0], vec![8, 2, 0, 0, 1, 0, 0, 0, 0]],
                _ => vec![vec![8, 2, 0, 12, 64], vec![8, 2, 0, 13, 0]],
            };
            assert_eq!(answered(version, level), (form, sends), "{level:?}, version {version}");
        }
    }
}

/// An error that asks for a chunk asks for what there is not: the call ends, though it may be made again.
#[test]
fn an_error_makes_no_chunk_where_none_is_supported() {
    for (version, error) in [(A, &[7, 2, 9, 4, 1, 10, 400][..]), (B, &[7, 2, 9, 4, 10, 400])] {
        let mut channel = server(version);
        assert_eq!(channel.received(&octets(&properties(version, Some(2)))), Arrival::Properties);
        let mut requester = Requester::<4, 8>::new(channel.terms(false).unwrap().calls, 4, 0x1_0000);
        requester.permit(9);
        let head = &octets(&[7, 0, 2, 400_100, 1, 0, 0, 0, 0, 0]);
        let call = requester::Call {
            head,
            length: 40,
            arguments: &[],
            results: &[],
            reply_length: 24,
            largest_capacity: u32::MAX,
        };
        requester.call(&call).unwrap();
        let mut buffer = [0xa5; 256];
        let Some(requester::Output::Send { call, .. }) = requester.poll(&mut buffer).unwrap() else {
            panic!("{version}")
        };
        requester.handle(requester::Input::Sent { call }).unwrap();
        let octets = &octets(error);
        requester.handle(requester::Input::Received { receive: 9, octets, invalidated: None }).unwrap();
        assert!(matches!(requester.poll(&mut buffer), Ok(Some(requester::Output::Release { .. }))), "{version}");
        let done = requester.poll(&mut buffer).unwrap();
        assert!(matches!(done, Some(requester::Output::Done { .. })), "version {version}: {done:?}");
    }
}
