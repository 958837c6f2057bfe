//! Makes 1000 NULL calls from a Requester to a Responder and back, so that instructions can be counted.
//!
//! ```sh
//! counting='valgrind --tool=callgrind --callgrind-out-file=/tmp/callgrind.out'
//! CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$counting cargo bench -p rpcrdma --bench endpoint_instructions
//! callgrind_annotate --inclusive=yes --threshold=100 /tmp/callgrind.out | grep measured_
//! ```
//!
//! The first number of each line, divided by 1000, is the number of instructions of one call. `measured_both` is all of
//! it, with two copies of what a driver hands to its adapter; the others are the parts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::hint::black_box;

use rpcrdma::endpoint::{CallId, Limits, Requester, Responder, Terms, requester, responder};

type Client = Requester<32, 16>;
type Server = Responder<32, 1024, 4>;

#[inline(never)]
fn measured_call(client: &mut Client, message: &[u8; 40], send: &mut [u8]) -> (CallId, usize) {
    let call = requester::Call {
        head: message,
        length: 40,
        arguments: &[],
        results: &[],
        reply_length: 24,
        largest_capacity: 0,
    };
    client.call(&call).unwrap();
    let Some(requester::Output::Send { call, header, .. }) = client.poll(send).unwrap() else { panic!("a Send") };
    send[header..header + 40].copy_from_slice(message);
    assert!(client.poll(send).unwrap().is_none());
    (call, header + 40)
}

#[inline(never)]
fn measured_serve(server: &mut Server, received: &[u8], reply: &[u8; 24], send: &mut [u8]) -> usize {
    server.handle(responder::Input::Received { receive: 1, octets: received }).unwrap();
    let Some(responder::Output::Deliver { call, .. }) = server.poll(send).unwrap() else { panic!("a Call") };
    assert!(server.poll(send).unwrap().is_none());
    let answer = responder::Reply { head: reply, length: 24, results: &[], protected: false };
    server.reply(call, &answer).unwrap();
    let Some(responder::Output::Release { .. }) = server.poll(send).unwrap() else { panic!("a Release") };
    let Some(responder::Output::Send { header, .. }) = server.poll(send).unwrap() else { panic!("a Send") };
    send[header..header + 24].copy_from_slice(reply);
    assert!(server.poll(send).unwrap().is_none());
    header + 24
}

#[inline(never)]
fn measured_done(client: &mut Client, call: CallId, received: &[u8], send: &mut [u8]) {
    client.handle(requester::Input::Sent { call }).unwrap();
    client.handle(requester::Input::Received { receive: 2, octets: received, invalidated: None }).unwrap();
    let Some(requester::Output::Done { .. }) = client.poll(send).unwrap() else { panic!("a reply") };
    assert!(client.poll(send).unwrap().is_none());
}

#[inline(never)]
fn measured_both(
    client: &mut Client,
    server: &mut Server,
    messages: (&[u8; 40], &[u8; 24]),
    sends: &mut [[u8; 1024]; 2],
) {
    let [there, back] = sends;
    let (call, length) = measured_call(client, messages.0, there);
    let length = measured_serve(server, &there[..length], messages.1, back);
    measured_done(client, call, &back[..length], there);
}

fn main() {
    let (mut client, mut server) =
        (Client::new(Terms::default(), 32, 65_536), Server::new(Terms::default(), Limits::default()));
    // RPC version 2, program 100003, version 3, procedure 0, two times AUTH_NONE.
    let mut call = [0; 40];
    (call[11], call[19], call[13], call[14], call[15]) = (2, 3, 1, 0x86, 0xa3);
    let mut reply = [0; 24];
    reply[7] = 1;
    let mut sends = [[0; 1024]; 2];
    for xid in 0..1000_u32 {
        call[..4].copy_from_slice(&xid.to_be_bytes());
        reply[..4].copy_from_slice(&xid.to_be_bytes());
        measured_both(&mut client, &mut server, (black_box(&call), black_box(&reply)), black_box(&mut sends));
    }
}
