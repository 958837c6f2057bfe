//! The rules of version 2, and which test has which of them; then those that have no better place. The words were written by hand
//! from the drafts. Where nothing else is said, sections are of draft -07, and -01 has the same rule under another heading.
//!
//! | rule | tests |
//! |---|---|
//! | **header types** (6.1 to 6.5) | |
//! | each header in each format | `v2_vectors.rs` |
//! | flags (-01) | `v2_connection.rs`: `flags_belong_to_their_header_types`; `channel.rs`: `what_is_not_in_order_is_answered_with_its_code` |
//! | properties come first, within 1024 octets | `channel.rs`: `a_client_begins_with_properties_in_1024_octets` |
//! | an `RDMA2_NOMSG` without chunks (-01), `RDMA2_GRANT` | here: `what_grants_credits`; `endpoint_v2.rs`: `an_rdma2_nomsg_without_chunks_is_no_call` |
//! | where a Call is | here: `a_call_in_no_or_two_places_is_bad_xdr`; `endpoint_v2.rs`: `a_call_chunk_is_where_family_b_wants_it` |
//! | where a Reply is | here: `a_reply_is_where_its_header_type_says`; `endpoint_v2.rs`: `what_is_no_reply_ends_the_call_or_is_ignored` |
//! | unknown types, and those of the other format | `channel.rs`: `what_is_not_in_order_is_answered_with_its_code` |
//! | what follows a part, and a part of properties | `v2_connection.rs`; `continuation.rs`: `each_error_in_parts_of_a_call_has_its_code`, `a_reply_that_is_broken_off_ends_the_call` |
//! | order and alignment of Positions | `endpoint_v2.rs`: `what_a_responder_cannot_take_is_answered_with_its_code`, `segments_of_one_chunk_share_a_position` |
//! | no XDR padding in chunks of single items (4.5.3) | here: `chunks_of_single_items_have_no_padding` |
//! | nothing is reduced under integrity or privacy | here: `nothing_is_reduced_under_integrity` |
//! | each form of a Call and its Reply, and when a Reply chunk is used (6.6) | `endpoint_v2.rs`: `a_call_and_its_reply_in_each_form`; `continuation.rs` |
//! | one-way Call (4.7) | `one_way_calls.rs` |
//! | **credits** (4.2.1) | `endpoint/channel/credits.rs`; here: `what_grants_credits`; `channel.rs`, `both_call.rs` |
//! | **transport properties** (5) | |
//! | encoding, defaults, values that are wrong | `channel.rs`: `each_property_has_a_default_a_value_and_wrong_values` |
//! | several messages, order, late ones | `channel.rs`: `properties_come_in_several_messages_and_unknown_ones_are_ignored`, `invalid_or_late_properties_are_answered_and_change_nothing` |
//! | SBSIZ, RBSIZ | `channel.rs`: `thresholds_are_what_one_end_sends_and_the_other_receives` |
//! | RSSIZ, RCSIZ | `channel.rs`: `calls_keep_to_the_segment_limits_of_the_peer` |
//! | BRS | `reverse_direction.rs` |
//! | HOSTAUTH | `channel.rs`: `the_host_authentication_message_is_handed_on_as_it_is` |
//! | **errors** (7) | |
//! | how each is formed | here: `an_error_has_the_xid_and_version_of_the_message`; `v2_vectors.rs` |
//! | what each makes of a call | here: `each_error_ends_the_call_that_it_answers`; `endpoint_v2.rs`: `a_call_is_made_again_as_its_error_asks_for` |
//! | VERS, VERS_MISMATCH, INVAL_HTYPE | `channel.rs`: `a_server_takes_the_first_version_or_reports_its_own`, `what_is_not_in_order_is_answered_with_its_code`; `endpoint_v2.rs`: `a_header_type_that_was_refused_is_not_used_again` |
//! | BAD_XDR | `endpoint_v2.rs`: `what_a_responder_cannot_take_is_answered_with_its_code` |
//! | BAD_PROPVAL | `channel.rs`: `each_property_has_a_default_a_value_and_wrong_values` |
//! | INVAL_CONT | `continuation.rs`: `each_error_in_parts_of_a_call_has_its_code` |
//! | READ_CHUNKS, WRITE_CHUNKS, SEGMENTS | `endpoint_v2.rs`: `a_responder_says_how_many_chunks_and_segments_it_takes`; here: `a_responder_without_write_chunks_or_continuing_says_so` |
//! | WRITE_RESOURCE, REPLY_RESOURCE | `endpoint_v2.rs`: `a_responder_names_the_small_chunk_and_the_needed_length`; `reverse_direction.rs` |
//! | SYSTEM | `endpoint_v2.rs`: `a_call_that_ended_a_connection_gets_system`; `continuation.rs` |
//! | **remote invalidation** (6.5) | here: `a_call_offers_one_of_its_handles_or_none`, `only_the_last_send_invalidates_and_only_the_offered_handle`; `endpoint_v2.rs`: `only_the_handle_that_was_offered_may_be_invalidated_remotely` |
//! | **version negotiation** (4.3) | `channel.rs`: `a_client_goes_on_as_the_server_answers`, `a_server_takes_the_first_version_or_reports_its_own`; `verbs-shim/tests/suite/version_2.rs` |

use rpcrdma::endpoint::channel::Arrival;
use rpcrdma::endpoint::requester::{self, End};
use rpcrdma::endpoint::responder;
use rpcrdma::endpoint::{
    Channel, Item, Limits, PayloadFormats, RegisteredMemory, Requester, Responder, Terms, Version, Versions,
};
use rpcrdma::v2::{ErrorBodyV2, ErrorCode, Family, Properties};

const A: Version = Version::Two(Family::A);
const B: Version = Version::Two(Family::B);

/// NULL of program 400100, version 1, without credentials; and its reply.
const NULL: [u32; 10] = [7, 0, 2, 400_100, 1, 0, 0, 0, 0, 0];
const REPLY: [u32; 6] = [7, 1, 0, 0, 0, 0];

type Caller = Requester<4, 8>;

fn terms(version: Version) -> Terms {
    Terms { call_threshold: 256, reply_threshold: 256, remote_invalidation: true, version, ..Terms::default() }
}

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn words(octets: &[u8]) -> Vec<u32> {
    octets.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

/// The arguments of a call (position and length), the room for its results, its length and that of its reply.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    argument: Option<(u32, u32)>,
    result: Option<u32>,
    length: u32,
    reply_length: u32,
}

const SHORT: Asked = Asked { argument: None, result: None, length: 40, reply_length: 24 };

/// Makes a call that begins with these words: the words of its header, and which octets of it follow. Its regions have the handles
/// `first`, `first` + 1, and so on, all at offset 0x1000.
fn made(terms: Terms, head: &[u32], asked: Asked, first: u32) -> (Caller, Vec<u32>, Vec<(u32, u32)>) {
    let mut requester = Caller::new(terms, 4, 0x1_0000);
    let arguments: Vec<_> = asked.argument.iter().map(|&(position, length)| Item { position, length }).collect();
    let results: Vec<_> = asked.result.into_iter().collect();
    let call = requester::Call {
        head: &octets(head),
        length: asked.length,
        arguments: &arguments,
        results: &results,
        reply_length: asked.reply_length,
        largest_capacity: 0,
    };
    requester.call(&call).unwrap();
    let mut buffer = [0xa5; 256];
    loop {
        match requester.poll(&mut buffer).unwrap().unwrap() {
            requester::Output::Register { call, region, .. } => {
                let memory = Some(RegisteredMemory { handle: first + u32::from(region), offset: 0x1000 });
                requester.handle(requester::Input::Registered { call, region, memory }).unwrap();
            }
            requester::Output::Send { call, header, payload } => {
                let payload = payload.map(|range| (range.start, range.end)).collect();
                requester.handle(requester::Input::Sent { call }).unwrap();
                return (requester, words(&buffer[..header]), payload);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the end of a call after these words; `None` if it goes on.
fn ends(mut requester: Caller, words: &[u32]) -> Option<End> {
    let octets = &octets(words);
    requester.handle(requester::Input::Received { receive: 9, octets, invalidated: None }).unwrap();
    while let Some(output) = requester.poll(&mut [0xa5; 256]).unwrap() {
        match output {
            requester::Output::Invalidate { call, region, .. } => {
                requester.handle(requester::Input::Invalidated { call, region }).unwrap();
            }
            requester::Output::Done { end, .. } => return Some(end),
            requester::Output::Release { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    None
}

/// The Sends that answer these words, as the words of their headers and the handles that they invalidate. The reply to a call
/// that is delivered has so many octets.
fn answers(terms: Terms, limits: Limits, call: &[u32], length: u32) -> Vec<(Vec<u32>, Option<u32>)> {
    let mut responder = Responder::<4, 512, 2>::new(terms, limits);
    let octets_of_call = &octets(call);
    responder.handle(responder::Input::Received { receive: 5, octets: octets_of_call }).unwrap();
    let (mut sends, mut buffer) = (Vec::new(), [0xa5; 256]);
    while let Some(output) = responder.poll(&mut buffer).unwrap() {
        match output {
            responder::Output::Read { call, .. } => {
                responder.handle(responder::Input::Completed { call }).unwrap();
            }
            responder::Output::Deliver { call, .. } => {
                let reply = responder::Reply { head: &octets(&REPLY), length, results: &[], protected: false };
                responder.reply(call, &reply).unwrap();
            }
            responder::Output::Send { header, invalidate, .. } => sends.push((words(&buffer[..header]), invalidate)),
            responder::Output::Place { .. } | responder::Output::Release { .. } | responder::Output::Write { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    sends
}

#[test]
fn a_call_in_no_or_two_places_is_bad_xdr() {
    let read = |position: u32, length: u32| vec![1, position, 0xa0, length, 0, 0x1000];
    for (name, version, header) in [
        ("a data item and no Call", A, [&[7, 2, 3, 1, 0, 0][..], &read(44, 8), &[0, 0, 0]].concat()),
        ("a Call chunk, and a Call", A, [&[7, 2, 3, 1, 0, 0][..], &read(0, 40), &[0, 0, 0], &NULL].concat()),
        ("a Call chunk without octets", A, [&[7, 2, 3, 1, 0, 0][..], &read(0, 0), &[0, 0, 0]].concat()),
        ("a Call chunk, and a Call", B, [&[7, 2, 3, 8, 0][..], &read(0, 40), &[0, 0, 0, 0], &NULL].concat()),
        ("a Call chunk without octets", B, [&[7, 2, 3, 8, 0][..], &read(0, 0), &[0, 0, 0, 0]].concat()),
        ("neither", B, vec![7, 2, 3, 10, 0, 0, 0, 0]),
    ] {
        let answer = if version == A { vec![7, 2, 0, 4, 1, 2] } else { vec![7, 2, 0, 4, 2] };
        assert_eq!(answers(terms(version), Limits::new(), &header, 24), [(answer, None)], "{name}, version {version}");
    }
}

/// Replies to a Call that has a Reply chunk of 400 octets.
#[test]
fn a_reply_is_where_its_header_type_says() {
    let asked = Asked { reply_length: 400, ..SHORT };
    let chunk = |length: u32| [1, 1, 0xa0, length, 0, 0x1000];
    let inline = |at: usize| Some(End::Reply { receive: 9, payload: at..at + 24 });
    for (name, version, reply, end) in [
        ("inline", A, [&[7, 2, 1, 0, 1, 0, 0, 0, 0][..], &REPLY].concat(), inline(36)),
        // -01 has it so, -02 not.
        ("inline, with the chunk", A, [&[7, 2, 1, 0, 1, 0, 0, 0][..], &chunk(0), &REPLY].concat(), inline(56)),
        ("in the chunk", A, [&[7, 2, 1, 1, 1, 0, 0, 0][..], &chunk(300)].concat(), Some(End::LongReply(300))),
        ("in an empty chunk", A, [&[7, 2, 1, 1, 1, 0, 0, 0][..], &chunk(0)].concat(), Some(End::BadReply)),
        ("in no chunk", A, vec![7, 2, 1, 1, 1, 0, 0, 0, 0], Some(End::BadReply)),
        ("in both", A, [&[7, 2, 1, 1, 1, 0, 0, 0][..], &chunk(300), &REPLY].concat(), Some(End::BadReply)),
        ("inline", B, [&[7, 2, 9, 13, 0][..], &REPLY].concat(), inline(20)),
        ("in the chunk", B, [&[7, 2, 9, 11, 0][..], &chunk(300)].concat(), Some(End::LongReply(300))),
        ("in an empty chunk", B, [&[7, 2, 9, 11, 0][..], &chunk(0)].concat(), Some(End::BadReply)),
        ("in no chunk", B, vec![7, 2, 9, 11, 0, 0], Some(End::BadReply)),
        ("in both", B, [&[7, 2, 9, 11, 0][..], &chunk(300), &REPLY].concat(), Some(End::BadReply)),
    ] {
        let (requester, ..) = made(terms(version), &NULL, asked, 0xa0);
        assert_eq!(ends(requester, &reply), end, "{name}, version {version}");
    }
}

/// An item of 998 octets, whose padding stays away; and a Call in chunks, which has all other padding.
#[test]
fn chunks_of_single_items_have_no_padding() {
    let item = Asked { argument: Some((44, 998)), length: 1044, ..SHORT };
    let long = Asked { argument: Some((44, 998)), length: 1344, ..SHORT };
    let read = |position: u32, handle: u32, length: u32| [1, position, handle, length, 0, 0x1000];
    for (version, asked, header) in [
        (A, item, [&[7, 2, 0, 0, 0, 0xa0][..], &read(44, 0xa0, 998), &[0, 0, 0]].concat()),
        (B, item, [&[7, 2, 0, 10, 0xa0][..], &read(44, 0xa0, 998), &[0, 0, 0]].concat()),
        (
            A,
            long,
            [&[7, 2, 0, 1, 0, 0xa0][..], &read(0, 0xa0, 44), &read(0, 0xa1, 300), &read(44, 0xa2, 998), &[0, 0, 0]]
                .concat(),
        ),
        (
            B,
            long,
            [&[7, 2, 0, 8, 0xa0][..], &read(0, 0xa0, 44), &read(0, 0xa1, 300), &[0], &read(44, 0xa2, 998), &[0, 0, 0]]
                .concat(),
        ),
    ] {
        let (_, sent, payload) = made(terms(version), &NULL, asked, 0xa0);
        let expected = if asked.length == 1044 { vec![(0, 44)] } else { vec![] };
        assert_eq!((sent, payload), (header, expected), "{} octets, version {version}", asked.length);
    }
}

/// RPCSEC_GSS with integrity: the whole Call is in one chunk, and the reply has room for its results.
#[test]
fn nothing_is_reduced_under_integrity() {
    let head = [7, 0, 2, 400_100, 1, 0, 6, 24, 1, 0, 9, 2, 4, 0x0707_0707, 0, 0];
    let asked = Asked { argument: Some((68, 230)), result: Some(302), length: 300, reply_length: 28 };
    for (version, header) in [
        (A, &[7, 2, 0, 1, 0, 0xa0, 1, 0, 0xa1, 300, 0, 0x1000, 0, 0, 1, 1, 0xa0, 332, 0, 0x1000][..]),
        (B, &[7, 2, 0, 8, 0xa0, 1, 0, 0xa1, 300, 0, 0x1000, 0, 0, 0, 1, 1, 0xa0, 332, 0, 0x1000]),
    ] {
        let (_, sent, payload) = made(terms(version), &head, asked, 0xa0);
        assert_eq!((sent.as_slice(), payload), (header, vec![]), "version {version}");
    }
}

/// A client that has been granted nothing since its first message, and how many messages it may send after each of these; none
/// if it is no grant.
#[test]
fn what_grants_credits() {
    for (name, version, message, permitted) in [
        ("RDMA2_NOMSG without chunks and XID", A, &[0, 2, 8 << 16 | 3, 1, 0, 0, 0, 0, 0][..], Some(3)),
        ("RDMA2_GRANT of -02", A, &[0, 2, 8 << 16 | 3, 6, 0], Some(3)),
        ("RDMA2_GRANT", B, &[0, 2, 4, 5], Some(3)),
        ("an XID, which is ignored", B, &[9, 2, 4, 5], Some(3)),
        ("an XID", A, &[9, 2, 8 << 16 | 3, 1, 0, 0, 0, 0, 0], None),
        ("nothing, which is forbidden", A, &[0, 2, 8 << 16, 1, 0, 0, 0, 0, 0], Some(0)),
        ("nothing more", B, &[0, 2, 1, 5], Some(0)),
        ("less than was sent", B, &[0, 2, 0, 5], Some(0)),
        ("a number past the last one", B, &[0, 2, 0x8000_0003, 5], Some(0)),
    ] {
        let mut channel = Channel::client(Versions::from(version), Properties::DEFAULT);
        // In family A the client keeps as many Receives as the credits that it can use, because each message grants one.
        channel.poll(20, &mut [0; 256]).unwrap();
        let arrival = if permitted.is_some() { Arrival::Nothing } else { Arrival::Call };
        assert_eq!(channel.received(&octets(message)), arrival, "{name}, version {version}");
        if let Some(permitted) = permitted {
            assert_eq!(channel.available(20), permitted, "{name}, version {version}");
        }
    }
}

/// Messages of the peer that are wrong, and the error for each. The client has sent its properties with 8 Receives, of
/// which it has granted 4 in family A; this is the second message that it has received.
#[test]
fn an_error_has_the_xid_and_version_of_the_message() {
    for (version, first, message, error) in [
        (A, &[0, 2, 20 << 16 | 10, 5, 0, 0][..], &[9, 2, 1, 7, 0][..], &[9, 2, 8 << 16 | 2, 4, 1, 4][..]),
        (A, &[0, 2, 20 << 16 | 10, 5, 0, 0], &[9, 1, 1, 0, 0], &[9, 1, 8 << 16 | 2, 4, 1, 1, 2, 2]),
        (B, &[0, 2, 9, 7, 0], &[9, 2, 10, 14], &[9, 2, 10, 4, 4]),
        (B, &[0, 2, 9, 7, 0], &[9, 1, 10, 0, 0, 0, 0], &[9, 1, 10, 4, 11]),
    ] {
        let mut channel = Channel::client(Versions::from(version), Properties::DEFAULT);
        let mut buffer = [0xa5; 256];
        channel.poll(8, &mut buffer).unwrap();
        assert_eq!(channel.received(&octets(first)), Arrival::Properties);
        assert_eq!(channel.received(&octets(message)), Arrival::Nothing);
        let length = channel.poll(8, &mut buffer).unwrap().unwrap();
        assert_eq!(words(&buffer[..length]), error, "version {version}");
    }
}

/// The body of each error that answers a Call without chunks.
#[test]
fn each_error_ends_the_call_that_it_answers() {
    let void = |code: u32| Some(ErrorBodyV2::Void(ErrorCode(code)));
    let rows: [(&[u32], Option<ErrorBodyV2>); 15] = [
        (&[1, 1, 1], Some(ErrorBodyV2::Vers { low: 1, high: 1 })),
        (&[2], void(2)),
        (&[3], None),
        (&[4], void(4)),
        (&[5], void(5)),
        (&[6, 0], Some(ErrorBodyV2::ReadChunks { max_chunks: 0 })),
        (&[7, 0], Some(ErrorBodyV2::WriteChunks { max_chunks: 0 })),
        (&[8, 0], Some(ErrorBodyV2::Segments { max_segments: 0 })),
        (&[9, 0, 0], Some(ErrorBodyV2::WriteResource { chunk_index: 0, length_needed: 0 })),
        (&[9, 1, 300], Some(ErrorBodyV2::WriteResource { chunk_index: 1, length_needed: 300 })),
        (&[10, 0], Some(ErrorBodyV2::ReplyResource { length_needed: 0 })),
        (&[10, 300], Some(ErrorBodyV2::ReplyResource { length_needed: 300 })),
        (&[11], void(11)),
        (&[100], void(100)),
        (&[12], None),
    ];
    for (body, error) in rows {
        for (version, start) in [(A, &[7, 2, 1, 4, 1][..]), (B, &[7, 2, 9, 4])] {
            let (requester, ..) = made(terms(version), &NULL, SHORT, 0xa0);
            let end = error.map(End::ErrorV2);
            assert_eq!(ends(requester, &[start, body].concat()), end, "{body:?}, version {version}");
        }
    }
}

/// A Responder of the reverse direction may be able to do neither (section 7.3.2).
#[test]
fn a_responder_without_write_chunks_or_continuing_says_so() {
    let write = [1, 1, 0xa0, 8, 0, 0x1000];
    for (formats, limits, error) in [
        (PayloadFormats::Simple, Limits::NO_CHUNKS, &[10, 0][..]),
        (PayloadFormats::Continued, Limits::NO_CHUNKS, &[7, 0]),
        (PayloadFormats::Simple, Limits::new(), &[7, 1]),
    ] {
        for (version, call, answer) in
            [(A, &[7, 2, 3, 0, 0, 0, 0][..], &[7, 2, 0, 4, 1][..]), (B, &[7, 2, 3, 10, 0, 0], &[7, 2, 0, 4])]
        {
            let call = [call, &write.repeat(2), &[0, 0], &NULL].concat();
            let expected = [answer, error].concat();
            let sends = answers(Terms { formats, ..terms(version) }, limits, &call, 24);
            assert_eq!(sends, [(expected, None)], "{formats:?}, version {version}");
        }
    }
}

/// Returns the index of `rdma_inv_handle` among the words of a Call's header.
const fn place(version: Version) -> usize {
    if matches!(version, A) { 5 } else { 4 }
}

#[test]
fn a_call_offers_one_of_its_handles_or_none() {
    let read = Asked { argument: Some((44, 1000)), length: 1044, ..SHORT };
    let reply = Asked { reply_length: 400, ..SHORT };
    let write = Asked { result: Some(100), reply_length: 28, ..SHORT };
    for (asked, is_on, first, offered) in [
        (SHORT, true, 0xa0, 0),
        (read, true, 0xa0, 0xa0),
        (read, false, 0xa0, 0),
        // 0 stands for none, so a handle of that value cannot be offered.
        (read, true, 0, 0),
        (reply, true, 0xa0, 0xa0),
        (write, true, 0xa0, 0xa0),
        (write, false, 0xa0, 0),
    ] {
        for version in [A, B] {
            let terms = Terms { remote_invalidation: is_on, ..terms(version) };
            let (mut requester, sent, _) = made(terms, &NULL, asked, first);
            assert_eq!(sent[place(version)], offered, "{asked:?} {is_on} {first}, version {version}");
            // Whatever else is invalidated ends the connection, also what is not in use.
            let invalidated = Some(if offered == 0 { first } else { offered + 9 });
            let octets = &octets(if version == A { &[7, 2, 9, 4, 1, 100] } else { &[7, 2, 9, 4, 100] });
            requester.handle(requester::Input::Received { receive: 9, octets, invalidated }).unwrap();
            let released = requester.poll(&mut []).unwrap();
            assert!(matches!(released, Some(requester::Output::Release { receive: 9 })), "{released:?}");
            let end = requester.poll(&mut []).unwrap();
            assert!(matches!(end, Some(requester::Output::Disconnect)), "{asked:?} {is_on} {first}, version {version}");
        }
    }
}

/// Calls with a Write chunk of 8 octets, that offer its handle or none; the length of the reply, and whether each Send of the
/// answer invalidates the handle.
#[test]
fn only_the_last_send_invalidates_and_only_the_offered_handle() {
    for (name, is_on, offered, chunks, length, invalidated) in [
        ("a reply", true, 0xa0, 1, 24, vec![Some(0xa0)]),
        ("nothing is offered", true, 0, 1, 24, vec![None]),
        ("this end takes no part", false, 0xa0, 1, 24, vec![None]),
        ("a reply of two Sends", true, 0xa0, 1, 300, vec![None, Some(0xa0)]),
        ("a call that is refused", true, 0xa0, 2, 24, vec![None]),
        ("a reply that is refused", true, 0xa0, 1, 300, vec![None]),
    ] {
        for (version, start) in [(A, &[7, 2, 3, 0, 0][..]), (B, &[7, 2, 3, 10])] {
            let writes = [1, 1, 0xa0, 8, 0, 0x1000].repeat(chunks);
            let call = [start, &[offered, 0], &writes, &[0, 0], &NULL].concat();
            let is_continued = name != "a reply that is refused";
            let formats = if is_continued { PayloadFormats::All } else { PayloadFormats::Simple };
            let terms = Terms { remote_invalidation: is_on, formats, ..terms(version) };
            let sends = answers(terms, Limits::new(), &call, length);
            let handles: Vec<_> = sends.iter().map(|(_, invalidated)| *invalidated).collect();
            assert_eq!(handles, invalidated, "{name}, version {version}");
            if version == A && is_continued && chunks == 1 {
                assert!(sends.iter().all(|(header, _)| header[5] == 0), "a reply offers nothing: {name}");
            }
        }
    }
}

/// In family A a reply has the field too. It means nothing there.
#[test]
fn what_a_reply_offers_is_ignored() {
    let (requester, ..) = made(terms(A), &NULL, Asked { reply_length: 400, ..SHORT }, 0xa0);
    let reply = [&[7, 2, 1, 0, 1, 0xa0, 0, 0, 0][..], &REPLY].concat();
    assert_eq!(ends(requester, &reply), Some(End::Reply { receive: 9, payload: 36..60 }));
}
