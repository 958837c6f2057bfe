//! The C interface, called from Rust with memory that ends where it is said to: Miri then sees every access.
//!
//! ```sh
//! cargo +nightly miri test -p rpcrdma-capi --test interface
//! ```

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call names its own arguments, which live on")]

use std::ffi::CStr;
use std::mem::{MaybeUninit, zeroed};
use std::ptr::null;

use rpcrdma_capi::rpcrdma_status::{RPCRDMA_NO_ROOM, RPCRDMA_NOT_DECODED, RPCRDMA_OK, RPCRDMA_OVERLAP};
use rpcrdma_capi::*;

/// A Call with two read segments, a Write chunk of one segment, and the XID as its Payload stream.
fn call() -> Vec<u8> {
    let words: [u32; 31] = [
        7, 1, 32, 0, // prefix
        1, 40, 8, 60, 0, 9, 1, 40, 8, 4, 0, 70, 0, // Read list
        1, 1, 0xa94, 100, 1, 0x6000, 0, // Write list
        1, 0, // Reply chunk, empty
        7, 0, 2, 100_003, 4, // the RPC header, cut
    ];
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn decoded(octets: &[u8]) -> rpcrdma_message {
    let (mut message, mut error) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let status = unsafe { rpcrdma_decode(octets.as_ptr(), octets.len(), message.as_mut_ptr(), error.as_mut_ptr()) };
    assert_eq!(status, RPCRDMA_OK);
    unsafe { message.assume_init() }
}

#[test]
fn what_was_decoded_is_encoded_again() {
    let octets = call();
    let message = decoded(&octets);
    assert_eq!((message.xid, message.chunks.reads.count, message.chunks.writes.count), (7, 2, 1));
    let (mut buffer, mut length) = (vec![0xa5; message.header_length], 0);
    assert_eq!(
        unsafe { rpcrdma_encode(&message, buffer.as_mut_ptr(), buffer.len() - 1, &mut length) },
        RPCRDMA_NO_ROOM
    );
    assert_eq!(buffer, vec![0xa5; length]);
    assert_eq!(unsafe { rpcrdma_encode(&message, buffer.as_mut_ptr(), buffer.len(), &mut length) }, RPCRDMA_OK);
    assert_eq!(buffer, octets[..length]);
}

/// RFC 8166 section 4.5.1: the lowest version comes first, on the wire and in `words`.
#[test]
fn the_versions_of_an_error_keep_their_order() {
    let octets = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let (error, mut encoded, mut length) = (octets(&[7, 1, 32, 4, 1, 2, 3]), [0; 32], 0);
    let message = decoded(&error);
    assert_eq!((message.error, message.words), (RPCRDMA_ERR_VERS, [2, 3]));
    assert_eq!(unsafe { rpcrdma_encode(&message, encoded.as_mut_ptr(), 32, &mut length) }, RPCRDMA_OK);
    assert_eq!(encoded[..length], error);
    for (family, error) in
        [(RPCRDMA_FAMILY_A, octets(&[7, 2, 32, 4, 1, 1, 3, 4])), (RPCRDMA_FAMILY_B, octets(&[7, 2, 32, 4, 1, 3, 4]))]
    {
        let (mut message, mut why) = (unsafe { zeroed::<rpcrdma_message_v2>() }, MaybeUninit::uninit());
        let status = unsafe { rpcrdma_decode_v2(family, error.as_ptr(), error.len(), &mut message, why.as_mut_ptr()) };
        assert_eq!((status, message.error, message.words), (RPCRDMA_OK, RPCRDMA_ERR_VERS, [3, 4]));
        assert_eq!(unsafe { rpcrdma_encode_v2(&message, encoded.as_mut_ptr(), 32, &mut length) }, RPCRDMA_OK);
        assert_eq!(encoded[..length], error);
    }
}

#[test]
fn a_cut_message_is_an_error_at_its_end() {
    let octets = call();
    for length in 0..decoded(&octets).header_length {
        let cut = octets[..length].to_vec();
        let (mut message, mut error) = (MaybeUninit::uninit(), rpcrdma_decode_error { kind: 0, offset: 0, answer: 0 });
        let status = unsafe { rpcrdma_decode(cut.as_ptr(), length, message.as_mut_ptr(), &mut error) };
        assert_eq!(status, RPCRDMA_NOT_DECODED);
        assert!(error.offset <= length, "{error:?}");
    }
}

#[test]
fn a_list_that_counts_more_than_there_is_is_refused() {
    let octets = call();
    let mut message = decoded(&octets);
    message.chunks.writes.count = 3;
    let mut length = 0;
    let status = unsafe { rpcrdma_encode(&message, std::ptr::null_mut(), 0, &mut length) };
    assert_eq!(status, rpcrdma_status::RPCRDMA_INVALID);
}

#[test]
fn findings_go_to_an_array_that_is_too_small() {
    let octets = call();
    let mut count = 0;
    let mut findings = [const { MaybeUninit::<rpcrdma_finding>::uninit() }; 1];
    let (start, place) = (octets.as_ptr(), findings.as_mut_ptr().cast());
    let status = unsafe { rpcrdma_judge(start, 20, RPCRDMA_RESPONDER, place, 1, &mut count) };
    assert_eq!((status, count), (RPCRDMA_OK, 1));
    let name = unsafe { CStr::from_ptr(rpcrdma_rule_string(findings[0].as_ptr())) };
    assert_eq!(name, c"header-short");
    let slug = unsafe { findings[0].assume_init() }.slug;
    let slug = unsafe { std::slice::from_raw_parts(slug.characters.cast::<u8>(), slug.length) };
    assert_eq!(slug, b"header-short");
    let inside = octets.as_ptr().cast_mut().cast();
    let status = unsafe { rpcrdma_judge(start, octets.len(), RPCRDMA_RESPONDER, place, 1, inside) };
    assert_ne!(status, RPCRDMA_OK);
}

/// A Requester in memory of its own size.
fn requester() -> Vec<u64> {
    let size = rpcrdma_requester_size(1, 1);
    let mut memory = vec![0xa5a5; size.div_ceil(8)];
    let terms = rpcrdma_terms {
        call_threshold: 1024,
        reply_threshold: 1024,
        flags: 0,
        version: 0,
        formats: RPCRDMA_FORMATS_ALL,
    };
    let status = unsafe { rpcrdma_requester_init(memory.as_mut_ptr().cast(), size, &terms, 4, 4096, RPCRDMA_BUILD) };
    assert_eq!(status, RPCRDMA_OK);
    memory
}

/// The RPC header of a NULL call.
const fn null_call(xid: u8) -> [u8; 40] {
    let mut octets = [0; 40];
    (octets[3], octets[11]) = (xid, 2);
    octets
}

/// A call without arguments and results that are reduced.
const fn plain(head: &[u8; 40], reply_length: u32) -> rpcrdma_call {
    rpcrdma_call {
        head: head.as_ptr(),
        head_length: 40,
        length: 40,
        reply_length,
        arguments: null(),
        arguments_count: 0,
        results: null(),
        results_count: 0,
        largest_capacity: 0,
    }
}

/// The next output.
fn next(requester: *mut rpcrdma_requester) -> rpcrdma_output {
    let (mut output, mut buffer) = (unsafe { zeroed::<rpcrdma_output>() }, [0; 256]);
    assert_eq!(unsafe { rpcrdma_requester_poll(requester, buffer.as_mut_ptr(), 256, &mut output) }, RPCRDMA_OK);
    output
}

#[test]
fn a_call_that_is_lost_is_done() {
    let mut memory = requester();
    let requester = memory.as_mut_ptr().cast::<rpcrdma_requester>();
    let head = null_call(7);
    let what = plain(&head, 24);
    let (mut id, mut buffer) = (0, vec![0; 28]);
    let within = unsafe { requester.cast::<u64>().add(2) };
    assert_eq!(unsafe { rpcrdma_requester_call(requester, &what, within) }, RPCRDMA_OVERLAP);
    let other = rpcrdma_call { head: requester.cast(), ..what };
    assert_eq!(unsafe { rpcrdma_requester_call(requester, &other, &mut id) }, RPCRDMA_OVERLAP);
    assert_eq!(unsafe { rpcrdma_requester_call(requester, &what, &mut id) }, RPCRDMA_OK);
    let mut output: rpcrdma_output = unsafe { zeroed() };
    assert_eq!(unsafe { rpcrdma_requester_poll(requester, buffer.as_mut_ptr(), 28, &mut output) }, RPCRDMA_OK);
    assert_eq!((output.kind, output.header_length, output.ranges_count), (RPCRDMA_DO_SEND, 28, 1));
    let mut input: rpcrdma_input = unsafe { zeroed() };
    (input.kind, input.octets, input.length) = (RPCRDMA_IN_RECEIVED, requester.cast(), 99);
    assert_eq!(unsafe { rpcrdma_requester_handle(requester, &input) }, RPCRDMA_OVERLAP);
    (input.kind, input.call) = (RPCRDMA_IN_SENT, id);
    assert_eq!(unsafe { rpcrdma_requester_handle(requester, &input) }, RPCRDMA_OK);
    input.kind = RPCRDMA_IN_DISCONNECTED;
    assert_eq!(unsafe { rpcrdma_requester_handle(requester, &input) }, RPCRDMA_OK);
    assert_eq!(unsafe { rpcrdma_requester_poll(requester, std::ptr::null_mut(), 0, &mut output) }, RPCRDMA_OK);
    assert_eq!((output.kind, output.end, output.call), (RPCRDMA_DO_DONE, RPCRDMA_END_LOST, id));
}

/// RFC 8166 section 4.5.1: the lowest version comes first.
#[test]
fn a_peer_reports_its_lowest_and_highest_version() {
    let mut memory = requester();
    let requester = memory.as_mut_ptr().cast::<rpcrdma_requester>();
    let (head, mut id) = (null_call(7), 0);
    assert_eq!(unsafe { rpcrdma_requester_call(requester, &plain(&head, 24), &mut id) }, RPCRDMA_OK);
    assert_eq!(next(requester).kind, RPCRDMA_DO_SEND);
    let mut input: rpcrdma_input = unsafe { zeroed() };
    (input.kind, input.call) = (RPCRDMA_IN_SENT, id);
    assert_eq!(unsafe { rpcrdma_requester_handle(requester, &input) }, RPCRDMA_OK);
    let error: Vec<u8> = [7_u32, 1, 32, 4, 1, 2, 3].iter().flat_map(|word| word.to_be_bytes()).collect();
    (input.kind, input.octets, input.length) = (RPCRDMA_IN_RECEIVED, error.as_ptr(), error.len());
    assert_eq!(unsafe { rpcrdma_requester_handle(requester, &input) }, RPCRDMA_OK);
    let outputs = core::iter::from_fn(|| Some(next(requester)).filter(|output| output.kind != 0));
    let done = outputs.take(8).find(|output| output.kind == RPCRDMA_DO_DONE).unwrap();
    assert_eq!((done.end, done.error, done.words), (RPCRDMA_END_ERROR, RPCRDMA_ERR_VERS, [2, 3]));
}

#[test]
fn a_region_of_more_than_16_bits_is_none() {
    let mut memory = requester();
    let requester = memory.as_mut_ptr().cast::<rpcrdma_requester>();
    let (head, mut id) = (null_call(7), 0);
    // So long a reply needs memory.
    assert_eq!(unsafe { rpcrdma_requester_call(requester, &plain(&head, 4096), &mut id) }, RPCRDMA_OK);
    let output = next(requester);
    assert_eq!(output.kind, RPCRDMA_DO_REGISTER_REPLY);
    let mut input: rpcrdma_input = unsafe { zeroed() };
    (input.kind, input.call, input.handle) = (RPCRDMA_IN_REGISTERED, id, 1);
    for region in [output.region + (1 << 16), output.region | (1 << 31)] {
        input.region = region;
        assert_eq!(unsafe { rpcrdma_requester_handle(requester, &input) }, rpcrdma_status::RPCRDMA_UNEXPECTED);
    }
    input.region = output.region;
    assert_eq!(unsafe { rpcrdma_requester_handle(requester, &input) }, RPCRDMA_OK);
}

#[test]
fn a_requester_without_room_is_full() {
    let mut memory = requester();
    let requester = memory.as_mut_ptr().cast::<rpcrdma_requester>();
    let is_full = || {
        let mut counts = rpcrdma_requester_counts { in_flight: 9, awaited: 9, is_full: 9 };
        assert_eq!(unsafe { rpcrdma_requester_count(requester, &mut counts) }, RPCRDMA_OK);
        counts.is_full
    };
    for xid in 0..RPCRDMA_CALLS {
        assert_eq!(is_full(), 0, "{xid}");
        let (head, mut id) = (null_call(xid as u8), 0);
        assert_eq!(unsafe { rpcrdma_requester_call(requester, &plain(&head, 24), &mut id) }, RPCRDMA_OK);
    }
    assert_eq!(is_full(), 1);
}

/// The channel of an end, in memory of its own size.
fn channel(side: u32, versions: u32) -> Vec<u64> {
    let mut properties: rpcrdma_properties = unsafe { zeroed() };
    assert_eq!(unsafe { rpcrdma_default_properties(&mut properties) }, RPCRDMA_OK);
    let size = rpcrdma_channel_size();
    let mut memory = vec![0xa5a5; size.div_ceil(8)];
    let place = memory.as_mut_ptr().cast();
    assert_eq!(
        unsafe { rpcrdma_channel_init(place, size - 1, side, versions, &properties, RPCRDMA_BUILD) },
        RPCRDMA_NO_ROOM
    );
    assert_eq!(unsafe { rpcrdma_channel_init(place, size, side, versions, &properties, RPCRDMA_BUILD) }, RPCRDMA_OK);
    memory
}

/// Returns the channel's next message to the other end, if there is one, in memory of its length.
fn polled(channel: *mut rpcrdma_channel) -> Option<Vec<u8>> {
    let mut length = 0;
    match unsafe { rpcrdma_channel_poll(channel, 8, std::ptr::null_mut(), 0, &mut length) } {
        rpcrdma_status::RPCRDMA_NOT_FOUND => return None,
        status => assert_eq!(status, RPCRDMA_NO_ROOM),
    }
    let mut send = vec![0xa5; length];
    assert_eq!(unsafe { rpcrdma_channel_poll(channel, 8, send.as_mut_ptr(), length, &mut length) }, RPCRDMA_OK);
    Some(send)
}

fn arrives(channel: *mut rpcrdma_channel, octets: &[u8]) -> rpcrdma_arrival {
    let mut arrival: rpcrdma_arrival = unsafe { zeroed() };
    let (start, length) = (octets.as_ptr(), octets.len());
    let inside = channel.cast();
    assert_eq!(unsafe { rpcrdma_channel_received(channel, start, length, inside) }, RPCRDMA_OVERLAP);
    assert_eq!(unsafe { rpcrdma_channel_received(channel, inside.cast(), 16, &mut arrival) }, RPCRDMA_OVERLAP);
    assert_eq!(unsafe { rpcrdma_channel_received(channel, start, length, &mut arrival) }, RPCRDMA_OK);
    arrival
}

#[test]
fn both_ends_agree_on_version_2() {
    for version in [RPCRDMA_VERSION_2A, RPCRDMA_VERSION_2B] {
        let mut memories = [channel(RPCRDMA_CLIENT, RPCRDMA_VERSION_1 | version), channel(RPCRDMA_SERVER, 7)];
        let [client, server] = memories.each_mut().map(|memory| memory.as_mut_ptr().cast::<rpcrdma_channel>());
        assert_eq!(unsafe { rpcrdma_channel_authenticate(client, client.cast(), 8) }, RPCRDMA_OVERLAP);
        assert_eq!(unsafe { rpcrdma_channel_authenticate(client, b"who".as_ptr(), 3) }, RPCRDMA_OK);
        let (mut calls, mut answers): (rpcrdma_terms, rpcrdma_terms) = unsafe { (zeroed(), zeroed()) };
        let terms = |channel, calls: &mut _, answers: &mut _| unsafe {
            rpcrdma_channel_terms(channel, RPCRDMA_REMOTE_INVALIDATION, calls, answers)
        };
        assert_eq!(terms(client, &mut calls, &mut answers), rpcrdma_status::RPCRDMA_NOT_FOUND);
        assert_eq!(arrives(server, &polled(client).unwrap()).kind, RPCRDMA_ARRIVED_PROPERTIES);
        assert_eq!(arrives(client, &polled(server).unwrap()).kind, RPCRDMA_ARRIVED_PROPERTIES);
        assert_eq!(polled(client), None);
        assert_eq!(terms(client, &mut calls, &mut answers), RPCRDMA_OK);
        assert_eq!((calls.version, calls.formats, calls.call_threshold), (version, RPCRDMA_FORMATS_ALL, 4096));
        assert_eq!((answers.formats, answers.flags), (RPCRDMA_FORMATS_NONE, RPCRDMA_REMOTE_INVALIDATION));

        let (mut message, mut length) = (null(), 0);
        let status = unsafe { rpcrdma_channel_peer_authentication(server, &mut message, &mut length) };
        assert_eq!((status, unsafe { std::slice::from_raw_parts(message, length) }), (RPCRDMA_OK, &b"who"[..]));
        let mut available: rpcrdma_available = unsafe { zeroed() };
        assert_eq!(unsafe { rpcrdma_channel_available(client, 8, 0, 0, &mut available) }, RPCRDMA_OK);
        assert!(available.messages > 0);
        // A Call whose lists end early, and a header of which the credits are written.
        let words: [u32; 5] = if version == RPCRDMA_VERSION_2A { [7, 2, 0, 0, 0] } else { [7, 2, 0, 10, 0] };
        let mut call: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(unsafe { rpcrdma_channel_send(client, 8, client.cast(), 20) }, RPCRDMA_OVERLAP);
        assert_eq!(unsafe { rpcrdma_channel_send(client, 8, call.as_mut_ptr(), call.len()) }, RPCRDMA_OK);
        assert_ne!(call[8..12], [0; 4]);
        assert_eq!(arrives(server, &call).kind, RPCRDMA_ARRIVED_NOTHING);
        assert_eq!(polled(server).unwrap()[..8], call[..8], "the error has its XID and version");
    }
}
