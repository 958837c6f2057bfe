//! Version negotiation, transport properties and control messages of version 2, in both formats. The words were written
//! by hand from the drafts. `v2_rules.rs` says which rule is tested where.

use rpcrdma::endpoint::channel::{Arrival, ChannelTerms, HostAuthentication, HostAuthenticationTooLong, Negotiation};
use rpcrdma::endpoint::requester::{self, End, Memory};
use rpcrdma::endpoint::responder::{self, CallMessage};
use rpcrdma::endpoint::{Channel, Item, Limits, RegisteredMemory, Requester, Responder, Terms, Version, Versions};
use rpcrdma::v2::{ErrorBodyV2, ErrorCode, Family, Properties, PropertyValue, ReverseDirection};

use crate::support::null::{null, octets};

const A: Version = Version::Two(Family::A);
const B: Version = Version::Two(Family::B);
const ANY: Versions = Versions::all();
/// Messages that this end can receive.
const ROOM: u32 = 8;

const OWN: Properties<'static> = Properties {
    maximum_send_size: 2048,
    receive_buffer_size: 8192,
    reverse_direction: ReverseDirection::GENL,
    ..Properties::DEFAULT
};

fn words(octets: &[u8]) -> Vec<u32> {
    octets.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

/// The next message of a channel.
fn says(channel: &mut Channel) -> Option<Vec<u32>> {
    let mut buffer = [0xa5; 256];
    let length = channel.poll(ROOM, &mut buffer).unwrap()?;
    Some(words(&buffer[..length]))
}

fn hears(channel: &mut Channel, words: &[u32]) -> Arrival {
    channel.received(&octets(words))
}

/// A message with the five numbers, two of which are these. Reverse direction: general.
fn properties_with(version: Version, credit: u32, send_size: u32, receive_size: u32) -> Vec<u32> {
    let start: &[u32] = if version == A { &[0, 2, credit, 5, 0] } else { &[0, 2, credit, 7] };
    let numbers = [5, 1, 4, send_size, 2, 4, receive_size, 3, 4, 1_048_576, 4, 4, 16, 5, 4, 3];
    [start, &numbers].concat()
}

/// Returns the message with the properties of `OWN`.
fn properties(version: Version, credit: u32) -> Vec<u32> {
    properties_with(version, credit, 2048, 8192)
}

/// The credits of a peer's first message: eight. In family A it has room for more, because it has to grant more with each
/// message.
fn credit(version: Version) -> u32 {
    if version == A { 16 << 16 | 8 } else { 9 }
}

fn client(versions: Versions) -> Channel {
    let mut client = Channel::client(versions, OWN);
    says(&mut client);
    client
}

#[test]
fn a_client_begins_with_properties_in_1024_octets() {
    for (versions, first) in [
        (ANY, Some(properties(B, 8))),
        (Versions::TWO_B, Some(properties(B, 8))),
        (Versions::TWO_A | Versions::ONE, Some(properties(A, 8 << 16 | 4))),
        (Versions::ONE, None),
    ] {
        let mut client = Channel::client(versions, OWN);
        assert_eq!(says(&mut client), first, "{versions:?}");
        assert_eq!(says(&mut client), None, "one message until the server answers: {versions:?}");
        let expected = if first.is_some() { 0 } else { u32::MAX };
        assert_eq!(client.available(ROOM), expected, "{versions:?}");
    }
}

/// Section 1.11 of version negotiation: what a server answers, or nothing, and what the client makes of it.
#[test]
fn a_client_goes_on_as_the_server_answers() {
    use Negotiation::{Agreed, Elsewhere, Impossible, Lost, Pending};
    let vers = |range: [u32; 2]| [&[0, 2, 32, 4, 1][..], &range].concat();
    let vers_of_a = |range: [u32; 2]| [&[0, 2, 32, 4, 1, 1][..], &range].concat();
    for (name, versions, answer, outcome) in [
        ("version 2, format B", ANY, properties(B, 9), Agreed(B)),
        ("version 2, format A", Versions::TWO_A, properties(A, 1 << 16 | 1), Agreed(A)),
        ("an answer without properties", ANY, vec![0, 2, 9, 5], Agreed(B)),
        ("a server of version 1", ANY, vers([1, 1]), Agreed(Version::One)),
        ("the same, to format A", Versions::TWO_A | Versions::ONE, vers([1, 1]), Agreed(Version::One)),
        ("a refusal in the layout of format A", ANY, vers_of_a([1, 1]), Agreed(Version::One)),
        ("a range that contains what it refuses", ANY, vers([1, 2]), Agreed(Version::One)),
        ("nothing in common", Versions::TWO_B, vers([1, 1]), Impossible),
        ("only later versions", ANY, vers([3, 4]), Impossible),
        ("something of another version", ANY, vec![0, 1, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], Pending),
        ("less than a prefix", ANY, vec![0, 2, 9], Pending),
    ] {
        let mut client = client(versions);
        let arrival = if name.starts_with("version 2") { Arrival::Properties } else { Arrival::Nothing };
        assert_eq!(hears(&mut client, &answer), arrival, "{name}");
        assert_eq!(client.negotiation(), outcome, "{name}");
        if outcome != Pending {
            client.lost();
            assert_eq!(client.negotiation(), outcome, "it never changes: {name}");
        }
    }
    for (versions, outcome) in [(ANY, Elsewhere(Version::One)), (Versions::TWO_A, Lost)] {
        let mut client = client(versions);
        client.lost();
        assert_eq!(client.negotiation(), outcome, "the connection ends, or nothing comes: {versions:?}");
    }
}

/// A first message, what a server makes of it, and what it answers.
#[test]
fn a_server_takes_the_first_version_or_reports_its_own() {
    use Negotiation::{Agreed, Pending};
    let null_1 = [7, 1, 32, 0, 0, 0, 0, 7, 0, 2, 400_100, 1, 0, 0, 0, 0, 0];
    let null_a = [&[7, 2, 8 << 16 | 1, 0, 0, 0, 0, 0, 0][..], &null_1[7..]].concat();
    let null_b = [&[7, 2, 8, 10, 0, 0, 0, 0][..], &null_1[7..]].concat();
    let null_3 = [7, 3, 8, 10, 0, 0, 0, 0];
    let refusal = |version: u32, low: u32, high: u32| Some(vec![7, version, 1, 4, 1, low, high]);
    let two = Versions::TWO_A | Versions::TWO_B;
    for (name, versions, first, arrival, outcome, answer) in [
        ("version 1", ANY, &null_1[..], Arrival::Version1, Agreed(Version::One), None),
        (
            "properties of format A",
            ANY,
            &properties(A, 8 << 16 | 1),
            Arrival::Properties,
            Agreed(A),
            Some(properties(A, 8 << 16 | 4)),
        ),
        ("properties of format B", ANY, &properties(B, 8), Arrival::Properties, Agreed(B), Some(properties(B, 9))),
        ("a call of format A", ANY, &null_a, Arrival::Call, Agreed(A), Some(properties(A, 8 << 16 | 4))),
        ("a call of format B", ANY, &null_b, Arrival::Call, Agreed(B), Some(properties(B, 9))),
        ("version 3", ANY, &null_3, Arrival::Nothing, Pending, refusal(3, 1, 2)),
        ("version 3, with version 2 only", two, &null_3, Arrival::Nothing, Pending, refusal(3, 2, 2)),
        ("version 1, with version 2 only", two, &null_1, Arrival::Nothing, Pending, refusal(1, 2, 2)),
        (
            "a format that is not spoken",
            Versions::ONE | Versions::TWO_A,
            &null_b,
            Arrival::Nothing,
            Pending,
            refusal(2, 1, 1),
        ),
        ("version 1 alone", Versions::ONE, &null_b, Arrival::Version1, Agreed(Version::One), None),
        ("a refusal, which is never answered", ANY, &[7, 3, 1, 4, 1, 1, 2], Arrival::Nothing, Pending, None),
        ("less than a prefix", ANY, &[7, 2, 1], Arrival::Nothing, Pending, None),
    ] {
        let mut server = Channel::server(versions, OWN);
        assert_eq!(says(&mut server), None, "{name}");
        assert_eq!(hears(&mut server, first), arrival, "{name}");
        assert_eq!(server.negotiation(), outcome, "{name}");
        assert_eq!(says(&mut server), answer, "{name}");
        assert_eq!(says(&mut server), None, "{name}");
    }
}

/// A connection of this version: the client's end, after the server's first message.
fn agreed(version: Version) -> Channel {
    let mut channel = client(Versions::from(version));
    assert_eq!(hears(&mut channel, &properties(version, credit(version))), Arrival::Properties);
    assert_eq!(channel.negotiation(), Negotiation::Agreed(version));
    channel
}

#[test]
fn thresholds_are_what_one_end_sends_and_the_other_receives() {
    for version in [A, B] {
        // Each end sends 2048 octets at most, and receives 8192.
        let terms = Terms {
            call_threshold: 2048,
            reply_threshold: 2048,
            remote_invalidation: true,
            version,
            ..Terms::default()
        };
        assert_eq!(agreed(version).terms(true), Some(ChannelTerms { calls: terms, answers: terms }), "{version}");
        let mut channel = client(Versions::from(version));
        assert_eq!(hears(&mut channel, &properties_with(version, credit(version), 16_384, 1024)), Arrival::Properties);
        let ChannelTerms { calls, answers } = channel.terms(false).unwrap();
        assert_eq!((calls.call_threshold, calls.reply_threshold), (1024, 8192), "{version}");
        assert_eq!((answers.call_threshold, answers.reply_threshold), (8192, 1024), "{version}");
        // Without properties of the peer, both are 4096 at most.
        let mut channel = client(Versions::from(version));
        let grant: &[u32] = if version == A { &[0, 2, 8 << 16 | 8, 1, 0, 0, 0, 0, 0] } else { &[0, 2, 9, 5] };
        assert_eq!(hears(&mut channel, grant), Arrival::Nothing);
        let calls = channel.terms(false).unwrap().calls;
        assert_eq!((calls.call_threshold, calls.reply_threshold), (2048, 4096), "{version}");
    }
    assert_eq!(client(ANY).terms(false), None, "nothing is agreed");
}

/// Messages with properties after the first of the server, and the error that answers the last of them.
#[test]
fn invalid_or_late_properties_are_answered_and_change_nothing() {
    for (name, a, b, error) in [
        ("a number of three octets", &[0, 2, 0, 5, 0, 1, 1, 3, 0][..], &[0, 2, 0, 7, 1, 1, 3, 0][..], 3),
        ("past the end of the message", &[0, 2, 0, 5, 0, 1, 1, 8, 0], &[0, 2, 0, 7, 1, 1, 8, 0], 3),
        ("one good, one bad", &[0, 2, 0, 5, 0, 2, 1, 4, 1024, 2, 2, 0], &[0, 2, 0, 7, 2, 1, 4, 1024, 2, 2, 0], 3),
        ("after the last ones", &[0, 2, 0, 5, 0, 1, 1, 4, 1024], &[0, 2, 0, 7, 1, 1, 4, 1024], 0),
    ] {
        for (version, message) in [(A, a), (B, b)] {
            let mut channel = agreed(version);
            let before = *channel.peer_properties().unwrap();
            let credit = if version == A { 1 << 16 | 1 } else { 10 };
            let mut message = message.to_vec();
            message[2] = credit;
            assert_eq!(hears(&mut channel, &message), Arrival::Nothing, "{name}, version {version}");
            assert_eq!(*channel.peer_properties().unwrap(), before, "{name}, version {version}");
            // Family A has INVAL_HTYPE for properties after the last, family B INVAL_CONT.
            let code = match (error, version) {
                (0, A) => 4,
                (0, _) => 5,
                (code, _) => code,
            };
            let said = says(&mut channel).unwrap();
            let expected = if version == A { vec![4, 1, code] } else { vec![4, code] };
            assert_eq!((&said[..2], &said[3..]), (&[0, 2][..], &expected[..]), "{name}, version {version}");
            assert_eq!(says(&mut channel), None, "{name}, version {version}");
        }
    }
}

#[test]
fn properties_come_in_several_messages_and_unknown_ones_are_ignored() {
    for (version, first, last) in [
        (A, &[0, 2, 8 << 16 | 8, 5, 4, 2, 1, 4, 1024, 99, 2, 0xffff_0000][..], &[0, 2, 1, 5, 0, 2, 2, 0, 5, 4, 1][..]),
        (B, &[0, 2, 9, 6, 2, 1, 4, 1024, 99, 2, 0xffff_0000], &[0, 2, 10, 7, 2, 2, 0, 5, 4, 1]),
    ] {
        let mut channel = client(Versions::from(version));
        assert_eq!(hears(&mut channel, first), Arrival::Properties);
        assert_eq!(channel.negotiation(), Negotiation::Pending, "more are to come: {version}");
        assert_eq!(hears(&mut channel, last), Arrival::Properties);
        assert_eq!(channel.negotiation(), Negotiation::Agreed(version));
        let expected =
            Properties { maximum_send_size: 1024, reverse_direction: ReverseDirection::SIMPLE, ..Properties::DEFAULT };
        assert_eq!(channel.peer_properties(), Some(&expected), "{version}");
        assert_eq!(says(&mut channel), None, "{version}");
    }
}

/// Values of each property as they are encoded, and what the peer's number is then; none for BAD_PROPVAL. What comes first
/// in the message is not heeded either if something after it is wrong.
#[test]
fn each_property_has_a_default_a_value_and_wrong_values() {
    let numbers = |channel: &Channel| channel.peer_properties().unwrap().numbers().map(|property| property.value);
    let defaults = [4096, 4096, 1_048_576, 16, 0];
    for which in 1..=5 {
        for (value, number) in [
            (&[0][..], Some(defaults[which - 1])),
            (&[4, 0], Some(0)),
            (&[4, 3], Some(3)),
            (&[4, u32::MAX], Some(u32::MAX)),
            (&[3, 0], None),
            (&[5, 0, 0], None),
            (&[8, 0, 0], None),
            (&[4], None),
            (&[u32::MAX], None),
        ] {
            for version in [A, B] {
                let name = format!("{which} {value:?}, version {version}");
                let mut channel = client(Versions::from(version));
                let start: &[u32] = if version == A { &[0, 2, 32 << 16 | 8, 5, 0, 2] } else { &[0, 2, 9, 7, 2] };
                // Another property, with a value that is right.
                let other = which % 5 + 1;
                let message = [start, &[other as u32, 4, 7, which as u32], value].concat();
                let arrival = if number.is_some() { Arrival::Properties } else { Arrival::Nothing };
                assert_eq!(hears(&mut channel, &message), arrival, "{name}");
                let mut expected = defaults;
                if let Some(number) = number {
                    (expected[other - 1], expected[which - 1]) = (7, number);
                }
                assert_eq!(numbers(&channel), expected.map(PropertyValue::Uint32), "{name}");
                // The credits of a message that cannot be read do not count, so these let the error go.
                let grant: &[u32] = if version == A { &[0, 2, 32 << 16 | 8, 1, 0, 0, 0, 0, 0] } else { &[0, 2, 9, 5] };
                assert_eq!(hears(&mut channel, grant), Arrival::Nothing, "{name}");
                let error = says(&mut channel).map(|said| *said.last().unwrap());
                assert_eq!(error, number.is_none().then_some(3), "{name}");
            }
        }
    }
}

#[test]
fn the_host_authentication_message_is_handed_on_as_it_is() {
    for version in [A, B] {
        let mut channel = Channel::client(Versions::from(version), OWN);
        assert_eq!(channel.authenticate(&[0; 513]), Err(HostAuthenticationTooLong));
        assert_eq!(channel.authenticate(&[0; 512]), Ok(()));
        channel.authenticate(b"token").unwrap();
        // The count of properties is 6 now, and this one comes last, padded.
        let mut said = says(&mut channel).unwrap();
        let mut expected = properties(version, said[2]);
        let count = expected.len() - 16;
        expected[count] = 6;
        expected.extend([6, 12, 5, u32::from_be_bytes(*b"toke"), u32::from_be_bytes([b'n', 0, 0, 0])]);
        assert_eq!(said, expected, "{version}");
        assert_eq!(channel.peer_host_authentication(), None, "nothing is agreed");
        // The same message as that of a server.
        said[2] = credit(version);
        assert_eq!(hears(&mut channel, &said), Arrival::Properties);
        assert_eq!(channel.peer_host_authentication(), Some(HostAuthentication::Message(b"token")), "{version}");
        for (count, value, expected) in [
            (0, vec![], HostAuthentication::Absent),
            (1, vec![6, 0], HostAuthentication::Absent),
            (1, vec![6, 4, 0], HostAuthentication::Absent),
            (2, vec![6, 8, 2, 0x6162_0000, 6, 8, 2, 0x6364_0000], HostAuthentication::Message(b"cd")),
            (1, [&[6, 516, 512][..], &[0x6161_6161; 128]].concat(), HostAuthentication::Message(&[b'a'; 512])),
            (1, [&[6, 520, 513][..], &[0x6161_6161; 128], &[0x6100_0000]].concat(), HostAuthentication::TooLong(513)),
        ] {
            let mut channel = client(Versions::from(version));
            let start: &[u32] = if version == A { &[0, 2, 8 << 16 | 8, 5, 0, count] } else { &[0, 2, 9, 7, count] };
            assert_eq!(hears(&mut channel, &[start, &value].concat()), Arrival::Properties);
            assert_eq!(channel.peer_host_authentication(), Some(expected), "{version} {value:?}");
        }
    }
}

/// The lengths of the segments of a call with an item of this many octets, and with room for these results, if the peer
/// takes segments of `octets_most` octets, `count_most` in a call. `None` if the call cannot be made.
fn segments_of_call(
    version: Version,
    (octets_most, count_most): (u32, u32),
    item: u32,
    results: &[u32],
) -> Option<Vec<u32>> {
    let mut channel = client(Versions::from(version));
    let start: &[u32] = if version == A { &[0, 2, 8 << 16 | 8, 5, 0] } else { &[0, 2, 9, 7] };
    let message = [start, &[4, 3, 4, octets_most, 4, 4, count_most, 2, 4, 256, 1, 4, 256]].concat();
    assert_eq!(hears(&mut channel, &message), Arrival::Properties);
    let mut requester = Requester::<4, 8>::new(channel.terms(true).unwrap().calls, 4, 0x1_0000);
    requester.limit_segments(channel.segment_limits().unwrap());
    requester.permit(1);
    let head = octets(&[7, 0, 2, 400_100, 1, 0, 0, 0, 0, 0]);
    let items = [Item { position: 44, length: item }];
    let call = requester::Call {
        head: &head,
        length: 44 + item,
        arguments: &items,
        results,
        reply_length: 28,
        largest_capacity: 0,
    };
    requester.call(&call).ok()?;
    let mut registered = Vec::new();
    while let Some(requester::Output::Register { call, region, memory }) = requester.poll(&mut [0; 1024]).unwrap() {
        let (Memory::Argument(range) | Memory::Result(_, range) | Memory::Reply(range)) = memory;
        registered.push(range.end - range.start);
        let memory = Some(RegisteredMemory { handle: 0xa0 + u32::from(region), offset: 0x1000 });
        requester.handle(requester::Input::Registered { call, region, memory }).unwrap();
    }
    Some(registered)
}

#[test]
fn calls_keep_to_the_segment_limits_of_the_peer() {
    for (octets_most, count_most, lengths) in [
        (1_048_576, 16, Some(&[700, 1000][..])),
        (1000, 2, Some(&[700, 1000])),
        (999, 16, Some(&[700, 996, 4])),
        (400, 16, Some(&[400, 300, 400, 400, 200])),
        (400, 5, Some(&[400, 300, 400, 400, 200])),
        (400, 4, None),
        (1048, 1, None),
        (1_048_576, 0, None),
        (3, 16, None),
        (0, 16, None),
    ] {
        for version in [A, B] {
            let made = segments_of_call(version, (octets_most, count_most), 1000, &[700]);
            assert_eq!(made.as_deref(), lengths, "{octets_most} {count_most}, version {version}");
        }
    }
}

/// Calls and Replies that are short enough to be sent whole: results in chunks are the caller's wish.
#[test]
fn results_are_inline_if_the_peer_takes_too_few_segments() {
    for (limits, results, lengths) in [
        ((4, 16), &[8][..], &[4, 4][..]),
        // No segment can have fewer than four octets.
        ((3, 16), &[8], &[]),
        ((1_048_576, 2), &[100, 8], &[100, 8]),
        ((1_048_576, 1), &[100, 8], &[]),
    ] {
        for version in [A, B] {
            let made = segments_of_call(version, limits, 4, results);
            assert_eq!(made.as_deref(), Some(lengths), "{limits:?}, version {version}");
        }
    }
}

/// Each message, and the error that answers it; 0 for none. A Reply that cannot be read is for the Requester, which ends the
/// call that waits for it.
#[test]
fn what_is_not_in_order_is_answered_with_its_code() {
    for (version, name, message, code) in [
        (A, "an unknown header type", &[9, 2, 1, 7, 0][..], 4),
        (B, "an unknown header type", &[9, 2, 10, 14], 4),
        (B, "one of the other format", &[9, 2, 10, 0, 0, 0, 0, 0, 0], 4),
        (B, "version 1 on a connection of version 2", &[9, 1, 10, 0, 0, 0, 0], 11),
        (A, "lists that end early", &[9, 2, 1, 0, 0, 0, 1], 2),
        (B, "lists that end early", &[9, 2, 10, 10, 0, 1], 2),
        (A, "the same in a reply", &[9, 2, 1, 0, 1, 0, 1], 0),
        (A, "an unknown header type in a reply", &[9, 2, 1, 7, 1], 4),
        (A, "another version in its answer", &[9, 1, 1, 4, 1, 2], 0),
        (B, "another version in its answer", &[9, 1, 10, 4, 2], 0),
        (B, "the same in a reply", &[9, 2, 10, 13, 1], 0),
        (A, "RDMA2_F_TPMORE without properties", &[9, 2, 1, 0, 4, 0, 0, 0, 0], 4),
        (A, "RDMA2_F_MORE with chunks that hold it all", &[9, 2, 1, 1, 2, 0, 0, 0, 1, 0], 5),
        (A, "an error that ends early", &[9, 2, 1, 4, 1], 0),
        (B, "an error that ends early", &[9, 2, 10, 4], 0),
        (B, "less than a prefix", &[9, 2, 10], 0),
    ] {
        let mut channel = agreed(version);
        let is_reply = name.ends_with("in a reply") || name == "an error that ends early";
        let arrival = if is_reply { Arrival::Reply } else { Arrival::Nothing };
        assert_eq!(hears(&mut channel, message), arrival, "{name}, version {version}");
        let said = says(&mut channel).map(|said| (said[0], said[1], said[3..].to_vec()));
        let expected = (code > 0).then(|| {
            let words = if version == A { vec![4, 1, code] } else { vec![4, code] };
            (9, message[1], words)
        });
        assert_eq!(said, expected, "{name}, version {version}");
    }
    // Family A has no code for another version: it says which it has.
    for versions in [Versions::TWO_A, Versions::TWO_A | Versions::ONE] {
        let mut channel = client(versions);
        assert_eq!(hears(&mut channel, &properties(A, credit(A))), Arrival::Properties);
        assert_eq!(hears(&mut channel, &[9, 1, 10, 0, 0, 0, 0]), Arrival::Nothing);
        assert_eq!(
            says(&mut channel).unwrap()[3..],
            [4, 1, 1, 2, 2],
            "version 1 is none of them any more: {versions:?}"
        );
    }
}

#[test]
fn no_more_errors_are_kept_than_there_is_room_for() {
    let mut channel = agreed(B);
    for xid in 1..=6 {
        assert_eq!(hears(&mut channel, &[xid, 2, 30, 14]), Arrival::Nothing);
    }
    let answered: Vec<u32> = std::iter::from_fn(|| says(&mut channel)).map(|said| said[0]).collect();
    assert_eq!(answered, [3, 4, 5, 6]);
}

#[test]
fn properties_and_errors_wait_for_credits() {
    let mut server = Channel::server(Versions::TWO_A, OWN);
    assert_eq!(hears(&mut server, &properties(A, 8 << 16)), Arrival::Properties);
    let grant = vec![0, 2, 8 << 16 | 4, 1, 0, 0, 0, 0, 0];
    assert_eq!(says(&mut server), Some(grant), "only a grant needs no credit");
    assert_eq!(says(&mut server), None);

    let mut server = Channel::server(Versions::TWO_B, OWN);
    assert_eq!(hears(&mut server, &properties(B, 0)), Arrival::Properties);
    assert_eq!(says(&mut server), Some(vec![0, 2, 9, 5]), "a grant");
    assert_eq!(says(&mut server), None);
    assert_eq!(hears(&mut server, &[0, 2, 2, 5]), Arrival::Nothing);
    assert_eq!(says(&mut server).map(|said| said[3]), Some(7), "its properties");
    // The credits of a message with an unknown header type do not count.
    assert_eq!(hears(&mut server, &[9, 2, 30, 14]), Arrival::Nothing);
    assert_eq!(says(&mut server), None);
    assert_eq!(hears(&mut server, &[0, 2, 3, 5]), Arrival::Nothing);
    assert_eq!(says(&mut server).map(|said| (said[0], said[3])), Some((9, 4)), "the error");
}

/// While a Call of several Sends is half sent, its next part grants what a grant would.
#[test]
fn a_grant_waits_for_the_next_part_with_a_credit() {
    for (credit, said) in [(30, None), (2, Some(12 + 1))] {
        let mut channel = agreed(B);
        channel.send(ROOM, &mut octets(&[7, 2, 0, 9, 100]));
        for _ in 0..4 {
            assert_eq!(says(&mut channel), None, "{credit}");
            assert_eq!(hears(&mut channel, &[9, 2, credit, 13, 0, 9, 1]), Arrival::Reply, "{credit}");
        }
        // Five messages were received, and eight more fit.
        assert_eq!(says(&mut channel), said.map(|granted| vec![0, 2, granted, 5]), "{credit}");
    }
}

/// The parts of a message after one that cannot be read are dropped without a word, since that one was answered.
#[test]
fn a_message_with_several_unreadable_parts_is_answered_once() {
    let mut channel = agreed(A);
    assert_eq!(hears(&mut channel, &[9, 2, 1, 0, 2, 0, 0, 0, 0]), Arrival::Call);
    let unreadable = [9, 2, 1, 0, 2, 0, 1];
    assert_eq!(
        hears(&mut channel, &unreadable),
        Arrival::BrokenCall { xid: 9, error: ErrorBodyV2::Void(ErrorCode::BAD_XDR) }
    );
    assert_eq!(hears(&mut channel, &unreadable), Arrival::Nothing);
    assert_eq!(says(&mut channel).map(|said| said[3]), Some(1), "a grant after half of the credits, and no error");
    assert_eq!(says(&mut channel), None);
}

#[test]
fn a_channel_of_version_1_is_silent_after_its_errors() {
    assert!(Channel::client(Versions::ONE, OWN).is_silent());
    assert!(!agreed(B).is_silent());
    let mut server = Channel::server(ANY, OWN);
    assert!(!server.is_silent(), "nothing is agreed");
    assert_eq!(hears(&mut server, &[7, 3, 8, 10, 0, 0, 0, 0]), Arrival::Nothing);
    let null = [7, 1, 32, 0, 0, 0, 0, 7, 0, 2, 400_100, 1, 0, 0, 0, 0, 0];
    assert_eq!(hears(&mut server, &null), Arrival::Version1);
    assert!(!server.is_silent(), "the refusal of version 3 has not been sent");
    assert_eq!(says(&mut server), Some(vec![7, 3, 1, 4, 1, 1, 2]));
    assert!(server.is_silent());
}

#[test]
fn a_peer_that_exceeds_its_credits_is_cut_off() {
    for version in [A, B] {
        let mut channel = agreed(version);
        let mut taken = 0;
        // Without having sent anything but its properties, the client has granted 4 of 8 (A) or 8 (B).
        while hears(&mut channel, if version == A { &[9, 2, 1, 7, 0] } else { &[9, 2, 30, 14] }) == Arrival::Nothing {
            taken += 1;
        }
        assert_eq!(taken, if version == A { 3 } else { 7 }, "the server's properties were the first: {version}");
    }
}

#[test]
fn a_grant_is_sent_when_half_is_used_up() {
    for (version, grant) in [(A, &[0, 2, 8 << 16 | 4, 1, 0, 0, 0, 0, 0][..]), (B, &[0, 2, 12, 5])] {
        let mut channel = agreed(version);
        let reply: &[u32] = if version == A { &[9, 2, 1, 0, 1, 0, 0, 0, 0, 9, 1] } else { &[9, 2, 30, 13, 0, 9, 1] };
        for _ in 0..3 {
            assert_eq!(says(&mut channel), None, "{version}");
            assert_eq!(hears(&mut channel, reply), Arrival::Reply, "{version}");
        }
        assert_eq!(says(&mut channel).as_deref(), Some(grant), "with the properties, four of eight: {version}");
        assert_eq!(says(&mut channel), None, "{version}");
    }
}

type Client = Requester<4, 8>;
type Server = Responder<4, 512, 2>;

/// Takes the next Send of a Requester: its octets, with the credits that the channel wrote.
fn call(channel: &mut Channel, requester: &mut Client, message: &[u8]) -> Option<Vec<u8>> {
    let mut buffer = [0xa5; 256];
    requester.permit(channel.available(ROOM));
    let Some(requester::Output::Send { call, header, .. }) = requester.poll(&mut buffer).unwrap() else { return None };
    channel.send(ROOM, &mut buffer);
    requester.handle(requester::Input::Sent { call }).unwrap();
    Some([&buffer[..header], message].concat())
}

/// Serves it in the same way.
fn serve(channel: &mut Channel, responder: &mut Server, send: &[u8], reply: &[u8]) -> Vec<u8> {
    let mut buffer = [0xa5; 256];
    responder.handle(responder::Input::Received { receive: 1, octets: send }).unwrap();
    loop {
        responder.permit(channel.available(ROOM - responder.occupied()));
        match responder.poll(&mut buffer).unwrap().unwrap() {
            responder::Output::Deliver { call, message: CallMessage::Inline { .. } } => {
                let answer = responder::Reply { head: reply, length: 24, results: &[], protected: false };
                responder.reply(call, &answer).unwrap();
            }
            responder::Output::Release { receive } => assert_eq!(receive, 1),
            responder::Output::Send { header, .. } => {
                channel.send(ROOM - responder.occupied(), &mut buffer);
                return [&buffer[..header], reply].concat();
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A thousand NULL calls in each version, from the setup on.
#[test]
fn calls_and_answers_have_the_agreed_version() {
    for (offered, accepted, version) in [
        (Versions::ONE, ANY, Version::One),
        (ANY, ANY, B),
        (Versions::TWO_A, ANY, A),
        (Versions::TWO_A, Versions::TWO_A, A),
    ] {
        let (mut here, mut there) = (Channel::client(offered, OWN), Channel::server(accepted, OWN));
        while let Some(said) = says(&mut here) {
            assert_eq!(hears(&mut there, &said), Arrival::Properties);
            assert_eq!(hears(&mut here, &says(&mut there).unwrap()), Arrival::Properties);
        }
        assert_eq!(here.negotiation(), Negotiation::Agreed(version));
        let mut requester = Client::new(Terms::default(), 4, 4096);
        let mut responder = Server::new(Terms::default(), Limits::new());
        if let (Some(here), Some(there)) = (here.terms(true), there.terms(true)) {
            let (calls, answers) = (here.calls, there.answers);
            requester.agree(calls);
            responder.agree(answers);
        }
        for xid in 0..1000 {
            let message = null(&mut requester, xid);
            let send = call(&mut here, &mut requester, &message).unwrap();
            let arrival = there.received(&send);
            assert_eq!(arrival, if version == Version::One { Arrival::Version1 } else { Arrival::Call });
            assert_eq!(there.negotiation(), Negotiation::Agreed(version));
            let answer = serve(&mut there, &mut responder, &send, &octets(&[xid, 1, 0, 0, 0, 0]));
            let arrival = here.received(&answer);
            assert_eq!(arrival, if version == Version::One { Arrival::Version1 } else { Arrival::Reply });
            let input = requester::Input::Received { receive: 2, octets: &answer, invalidated: None };
            requester.handle(input).unwrap();
            let done = requester.poll(&mut []).unwrap();
            assert!(matches!(done, Some(requester::Output::Done { end: End::Reply { .. }, .. })), "{version} {xid}");
            assert_eq!((says(&mut here), says(&mut there)), (None, None), "no grant is needed: {version} {xid}");
        }
    }
}

#[test]
fn calls_wait_for_credits_and_go_on_with_a_grant() {
    for (version, grant) in [(A, &[0, 2, 8 << 16 | 2, 1, 0, 0, 0, 0, 0][..]), (B, &[0, 2, 4, 5])] {
        let mut channel = client(Versions::from(version));
        let first = if version == A { 8 << 16 | 1 } else { 2 };
        assert_eq!(hears(&mut channel, &properties(version, first)), Arrival::Properties);
        let mut requester = Client::new(channel.terms(true).unwrap().calls, 4, 4096);
        for xid in 1..=4 {
            null(&mut requester, xid);
        }
        let mut sends = |channel: &mut Channel| std::iter::from_fn(|| call(channel, &mut requester, &[])).count();
        assert_eq!(sends(&mut channel), 1, "{version}");
        assert_eq!(hears(&mut channel, grant), Arrival::Nothing);
        assert_eq!(sends(&mut channel), 2, "{version}");
        assert_eq!(channel.available(ROOM), 0, "{version}");
    }
}

/// Between the parts of a message nothing comes but errors and grants: not what the other endpoint of this end has to send.
/// Each message, and whether a Call and a Reply may follow.
#[test]
fn a_message_of_several_sends_holds_up_the_other_endpoint() {
    type Row = (&'static str, &'static [u32], bool, bool);
    let rows: [(Version, &[Row]); 2] = [
        (
            A,
            &[
                ("a part of a Call", &[7, 2, 0, 0, 2, 0, 0, 0, 0], true, false),
                ("the last part of a Call", &[7, 2, 0, 0, 0, 0, 0, 0, 0], true, true),
                ("a part of a Reply", &[7, 2, 0, 0, 3, 0, 0, 0, 0], false, true),
                ("an error", &[8, 2, 0, 4, 1, 2], false, true),
                ("the last part of a Reply", &[7, 2, 0, 0, 1, 0, 0, 0, 0], true, true),
            ],
        ),
        (
            B,
            &[
                ("a part of a Call", &[7, 2, 0, 9, 100], true, false),
                ("an error", &[8, 2, 0, 4, 2], true, false),
                ("the last part of a Call", &[7, 2, 0, 10, 0, 0, 0, 0], true, true),
                ("a part of a Reply", &[7, 2, 0, 12, 100], false, true),
                ("the last part of a Reply", &[7, 2, 0, 13, 0], true, true),
            ],
        ),
    ];
    for (version, rows) in rows {
        let mut channel = agreed(version);
        let many = if version == A { 1000 << 16 | 1000 } else { 1000 };
        let reply: &[u32] =
            if version == A { &[9, 2, many, 0, 1, 0, 0, 0, 0, 9, 1] } else { &[9, 2, many, 13, 0, 9, 1] };
        assert_eq!(hears(&mut channel, reply), Arrival::Reply);
        for (name, message, calls, replies) in rows {
            channel.send(ROOM * 9, &mut octets(message));
            let may = (channel.available_for_calls(ROOM * 9, 2, 0) > 0, channel.available_for_replies(ROOM * 9) > 0);
            assert_eq!(may, (*calls, *replies), "{name}, version {version}");
        }
    }
}
