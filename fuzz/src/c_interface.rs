//! The C interface with any octets: the same results as from the codec.

use std::mem::{MaybeUninit, zeroed};

use rpcrdma::error::Role;
use rpcrdma::rules::{self, Sent};
use rpcrdma::v1::Message;
use rpcrdma::v2::{Family, MessageV2};
use rpcrdma_capi::rpcrdma_status::{RPCRDMA_NO_ROOM, RPCRDMA_NOT_DECODED, RPCRDMA_OK};
use rpcrdma_capi::{
    RPCRDMA_ARRIVED_CALL, RPCRDMA_ARRIVED_EXCEEDED, RPCRDMA_ARRIVED_PROPERTIES, RPCRDMA_ARRIVED_VERSION_1,
    RPCRDMA_BUILD, RPCRDMA_CALL_HEADER, RPCRDMA_CALLS, RPCRDMA_CLIENT, RPCRDMA_DO_DELIVER,
    RPCRDMA_DO_DELIVER_ASSEMBLED, RPCRDMA_DO_DISCONNECT, RPCRDMA_DO_NOTHING, RPCRDMA_DO_READ, RPCRDMA_FAMILY_A,
    RPCRDMA_FAMILY_B, RPCRDMA_IN_COMPLETED, RPCRDMA_IN_RECEIVED, RPCRDMA_RESPONDER, RPCRDMA_SERVER, RPCRDMA_VERSION_1,
    RPCRDMA_VERSION_2A, RPCRDMA_VERSION_2B, rpcrdma_arrival, rpcrdma_channel, rpcrdma_channel_init,
    rpcrdma_channel_poll, rpcrdma_channel_received, rpcrdma_channel_size, rpcrdma_decode, rpcrdma_decode_error,
    rpcrdma_decode_v2, rpcrdma_default_properties, rpcrdma_encode, rpcrdma_encode_v2, rpcrdma_finding, rpcrdma_input,
    rpcrdma_judge, rpcrdma_limits, rpcrdma_message, rpcrdma_message_v2, rpcrdma_output, rpcrdma_responder,
    rpcrdma_responder_handle, rpcrdma_responder_init, rpcrdma_responder_poll, rpcrdma_responder_refuse,
    rpcrdma_responder_size, rpcrdma_status, rpcrdma_terms,
};

/// For any octets: a Send is decoded, refused, judged and encoded again as without the C interface, and a Responder
/// that receives the Send stops asking at some time.
///
/// # Panics
/// If this does not hold.
pub fn c_interface(octets: &[u8]) {
    // Memory of the size that is said, so that a sanitiser sees what is read beyond it.
    let octets = &octets.to_vec().into_boxed_slice();
    version_1(octets);
    for (number, family) in [(RPCRDMA_FAMILY_A, Family::A), (RPCRDMA_FAMILY_B, Family::B)] {
        version_2(octets, number, family);
    }
    judged(octets);
    for version in [RPCRDMA_VERSION_1, RPCRDMA_VERSION_2A, RPCRDMA_VERSION_2B] {
        received(version, octets);
    }
}

/// Returns a structure and an error, and says which was written.
fn decode<T>(decode: impl FnOnce(*mut T, *mut rpcrdma_decode_error) -> rpcrdma_status) -> Result<T, (u32, usize)> {
    let (mut message, mut error) = (MaybeUninit::uninit(), rpcrdma_decode_error { kind: 0, offset: 0, answer: 0 });
    match decode(message.as_mut_ptr(), &mut error) {
        // SAFETY: it was written.
        RPCRDMA_OK => Ok(unsafe { message.assume_init() }),
        RPCRDMA_NOT_DECODED => Err((error.kind, error.offset)),
        other => panic!("{other:?}"),
    }
}

fn version_1(octets: &[u8]) {
    let (start, length) = (octets.as_ptr(), octets.len());
    // SAFETY: octets that are there, and memory that can be written.
    let from_c = decode::<rpcrdma_message>(|message, error| unsafe { rpcrdma_decode(start, length, message, error) });
    match (Message::decode(octets), from_c) {
        (Ok(message), Ok(from_c)) => {
            assert_eq!((from_c.xid, from_c.credit), (message.header.xid, message.header.credit));
            assert_eq!(from_c.procedure, message.header.procedure().0);
            assert_eq!((from_c.header_length, from_c.payload_length), (message.header_length, message.payload.len()));
            let chunks = message.header.chunks().unwrap_or_default();
            assert_eq!(from_c.chunks.reads.count, chunks.reads.len());
            assert_eq!(from_c.chunks.writes.count, chunks.writes.len());
            assert_eq!(from_c.chunks.reply.segments.is_null(), chunks.reply.is_none());
            // SAFETY: the structure was decoded from octets that are still there.
            encoded(octets, from_c.header_length, |buffer, capacity, length| unsafe {
                rpcrdma_encode(&from_c, buffer, capacity, length)
            });
        }
        (Err(error), Err((_, offset))) => assert_eq!(error.offset, offset),
        (message, from_c) => panic!("{message:?} is {from_c:?} from C"),
    }
}

fn version_2(octets: &[u8], number: u32, family: Family) {
    let (start, length) = (octets.as_ptr(), octets.len());
    let from_c = decode::<rpcrdma_message_v2>(|message, error| {
        // SAFETY: octets that are there, and memory that can be written.
        unsafe { rpcrdma_decode_v2(number, start, length, message, error) }
    });
    match (MessageV2::decode(family, octets), from_c) {
        (Ok(message), Ok(from_c)) => {
            assert_eq!((from_c.xid, from_c.header_length), (message.header.xid(), message.header_length));
            // SAFETY: the structure was decoded from octets that are still there.
            encoded(octets, from_c.header_length, |buffer, capacity, length| unsafe {
                rpcrdma_encode_v2(&from_c, buffer, capacity, length)
            });
        }
        (Err(error), Err((_, offset))) => assert_eq!(error.offset, offset),
        (message, from_c) => panic!("{message:?} is {from_c:?} from C"),
    }
}

/// A message decoded from the first octets becomes the same octets, in memory of their size and in no less.
fn encoded(octets: &[u8], header: usize, encode: impl Fn(*mut u8, usize, *mut usize) -> rpcrdma_status) {
    let (mut buffer, mut length) = (vec![0xa5; header], 0);
    assert_eq!(encode(buffer.as_mut_ptr(), header - 1, &mut length), RPCRDMA_NO_ROOM);
    assert_eq!((length, buffer.iter().all(|octet| *octet == 0xa5)), (header, true));
    assert_eq!(encode(buffer.as_mut_ptr(), header, &mut length), RPCRDMA_OK);
    assert_eq!(octets.get(..header), Some(&buffer[..]));
}

fn judged(octets: &[u8]) {
    const CAPACITY: usize = 4;
    let mut expected = Vec::new();
    rules::send(&Sent::new(octets, Some(Role::Requester)), &mut |finding| expected.push(finding.offset));
    let mut findings = [const { MaybeUninit::<rpcrdma_finding>::uninit() }; CAPACITY];
    let mut count = 0;
    let pointer = findings.as_mut_ptr().cast();
    // SAFETY: octets that are there, and an array of this size.
    let status =
        unsafe { rpcrdma_judge(octets.as_ptr(), octets.len(), RPCRDMA_RESPONDER, pointer, CAPACITY, &mut count) };
    assert_eq!(status, if count > CAPACITY { RPCRDMA_NO_ROOM } else { RPCRDMA_OK });
    assert_eq!(count, expected.len());
    for (finding, expected) in findings.iter().zip(&expected) {
        // SAFETY: as many were written as there are findings and elements.
        assert_eq!(unsafe { finding.assume_init_ref() }.offset, *expected);
    }
}

/// Octets of a channel, which is that of `versions`.
fn channel(side: u32, versions: u32) -> Vec<u64> {
    let mut memory = vec![0_u64; rpcrdma_channel_size().div_ceil(8)];
    let pointer = memory.as_mut_ptr().cast();
    // SAFETY: memory of this size, and memory that can be written.
    unsafe {
        let mut properties = zeroed();
        assert_eq!(rpcrdma_default_properties(&mut properties), RPCRDMA_OK);
        assert_eq!(
            rpcrdma_channel_init(pointer, memory.len() * 8, side, versions, &properties, RPCRDMA_BUILD),
            RPCRDMA_OK
        );
    }
    memory
}

/// Reaction of a server's channel to the octets, after the first message of a client, if there is one.
fn arrived(version: u32, octets: &[u8]) -> u32 {
    let mut memory = channel(RPCRDMA_SERVER, version);
    let server = memory.as_mut_ptr().cast::<rpcrdma_channel>();
    let (mut first, mut length) = (vec![0; 1024], 0);
    // SAFETY: memory of this size, and octets that are there.
    unsafe {
        let mut arrival = zeroed::<rpcrdma_arrival>();
        let mut client = channel(RPCRDMA_CLIENT, version);
        let client = client.as_mut_ptr().cast();
        if rpcrdma_channel_poll(client, 8, first.as_mut_ptr(), first.len(), &mut length) == RPCRDMA_OK {
            assert_eq!(rpcrdma_channel_received(server, first.as_ptr(), length, &mut arrival), RPCRDMA_OK);
            assert_eq!(arrival.kind, RPCRDMA_ARRIVED_PROPERTIES);
        }
        let status = rpcrdma_channel_received(server, octets.as_ptr(), octets.len(), &mut arrival);
        assert_eq!(status, RPCRDMA_OK);
        let mut sends = 0;
        while rpcrdma_channel_poll(server, 8, first.as_mut_ptr(), first.len(), &mut length) == RPCRDMA_OK {
            sends += 1;
            assert!(length <= first.len() && sends <= 3, "its properties, an error and a grant");
        }
        arrival.kind
    }
}

/// A Responder receives suitable octets, and refuses delivered calls.
fn received(version: u32, octets: &[u8]) {
    match arrived(version, octets) {
        RPCRDMA_ARRIVED_VERSION_1 | RPCRDMA_ARRIVED_CALL => {}
        kind => return assert!(kind > RPCRDMA_ARRIVED_VERSION_1 && kind <= RPCRDMA_ARRIVED_EXCEEDED),
    }
    let mut memory = vec![0_u64; rpcrdma_responder_size(RPCRDMA_CALLS).div_ceil(8)];
    let responder = memory.as_mut_ptr().cast::<rpcrdma_responder>();
    let terms = rpcrdma_terms { call_threshold: 4096, reply_threshold: 4096, flags: 0, version, formats: 0 };
    let limits = rpcrdma_limits { read_chunks: 2, write_chunks: 2, segments: 64, octets: 1 << 20, collected: 1 << 20 };
    // SAFETY: memory of this size, here and below; the octets are there.
    unsafe {
        let status = rpcrdma_responder_init(responder, memory.len() * 8, &terms, &limits, 4, RPCRDMA_BUILD);
        assert_eq!(status, RPCRDMA_OK);
        let mut input: rpcrdma_input = zeroed();
        (input.kind, input.octets, input.length) = (RPCRDMA_IN_RECEIVED, octets.as_ptr(), octets.len());
        assert_eq!(rpcrdma_responder_handle(responder, &input), RPCRDMA_OK);
        let (mut header, mut output) = (vec![0; RPCRDMA_CALL_HEADER + 64], zeroed::<rpcrdma_output>());
        for _ in 0..1000 {
            let status = rpcrdma_responder_poll(responder, header.as_mut_ptr(), header.len(), &mut output);
            assert_eq!(status, RPCRDMA_OK);
            (input.kind, input.call) = (RPCRDMA_IN_COMPLETED, output.call);
            match output.kind {
                RPCRDMA_DO_NOTHING | RPCRDMA_DO_DISCONNECT => return,
                RPCRDMA_DO_READ => assert_eq!(rpcrdma_responder_handle(responder, &input), RPCRDMA_OK),
                RPCRDMA_DO_DELIVER | RPCRDMA_DO_DELIVER_ASSEMBLED => {
                    assert_eq!(rpcrdma_responder_refuse(responder, output.call), RPCRDMA_OK);
                }
                _ => {}
            }
        }
    }
    panic!("it asks for more than a thousand things");
}
