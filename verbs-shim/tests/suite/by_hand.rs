//! An end of a connection whose other end is played message by message, by verbs alone: what the end has sent, and when it could.

use std::thread;
use std::time::Duration;

use rpcrdma::endpoint::Limits;
use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma::segment::Segment;
use rpcrdma::v2::Family;
use rpcrdma_verbs::loopback::{Adapter, Fabric};
use rpcrdma_verbs::{
    Call, CallError, Client, Connection, EndReason, Kind, Progress, Server, Settings, SettingsBuilder, Status, Stream,
    Verbs, Version,
};

use crate::hostile::messages::{Credits, append_words, rpc_call};
use crate::hostile::peer::{ADDRESS, Peer, SECOND, SIZE};
use crate::support::header::header;

const FAMILIES: [Family; 2] = [Family::A, Family::B];

/// Transport properties of version 2: their numbers in the drafts.
const RECEIVE_BUFFER_SIZE: u32 = 2;
const REVERSE_DIRECTION: u32 = 5;
/// Calls of the server are answered, of any form.
const GENERAL: u32 = 3;

fn adapters() -> [Adapter; 2] {
    let fabric = Fabric::new();
    [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap())
}

/// Credit field that permits the other end to send `all` messages so far, the `last` of them with this message. Family A counts
/// the messages that each message permits, family B all so far.
fn credit(family: Family, last: u32, all: u32) -> u32 {
    match family {
        Family::A => 32 << 16 | last,
        Family::B => all,
    }
}

/// A message with one property of its sender.
fn property(family: Family, credit: u32, [which, value]: [u32; 2]) -> Vec<u8> {
    let mut message = Vec::new();
    let start: &[u32] = if family == Family::A { &[0, 2, credit, 5, 0] } else { &[0, 2, credit, 7] };
    append_words(&mut message, &[start, &[1, which, 4, value]].concat());
    message
}

/// A Call of NULL.
fn null(family: Family, credit: u32, xid: u32) -> Vec<u8> {
    let mut message = Vec::new();
    let start: &[u32] = if family == Family::A { &[xid, 2, credit, 0, 0] } else { &[xid, 2, credit, 10] };
    append_words(&mut message, &[start, &[0; 4]].concat());
    message.extend(rpc_call(xid, 0, 0));
    message
}

/// A part of a Call, which is the last one if nothing remains.
fn part(family: Family, credit: u32, xid: u32, (octets, remaining): (&[u8], usize)) -> Vec<u8> {
    let mut message = Vec::new();
    let is_last = remaining == 0;
    match family {
        Family::A => append_words(&mut message, &[xid, 2, credit, 0, if is_last { 0 } else { 2 }, 0, 0, 0, 0]),
        Family::B if is_last => append_words(&mut message, &[xid, 2, credit, 10, 0, 0, 0, 0]),
        Family::B => append_words(&mut message, &[xid, 2, credit, 9, remaining as u32]),
    }
    message.extend(octets);
    message
}

/// Returns true if a message is a Call of RPC.
fn is_call(octets: &[u8]) -> bool {
    octets.len() > 40 && octets[octets.len() - 40 + 4..][..8] == [0, 0, 0, 0, 0, 0, 0, 2]
}

/// A server with these settings, as it has accepted a peer that begins with this message.
fn accepted(settings: SettingsBuilder, there: &Adapter, here: &Adapter, first: &[u8]) -> (Peer, Connection<Adapter>) {
    let server = Server::bind(there, ADDRESS.parse().unwrap(), settings.build().unwrap()).unwrap();
    thread::scope(|scope| {
        let peer = scope.spawn(|| {
            let mut peer = Peer::connect(here, &[]);
            peer.send(first, None);
            peer
        });
        let connection = server.accept(10 * SECOND).unwrap().unwrap();
        (peer.join().unwrap(), connection)
    })
}

/// Takes all messages that come.
fn take_messages(peer: &mut Peer) -> Vec<Vec<u8>> {
    peer.settle();
    peer.got.drain(..).collect()
}

/// The server owes two replies, and may send six messages, its properties among them. It calls more often than that.
#[test]
fn a_credit_is_kept_for_each_reply_that_is_owed() {
    for family in FAMILIES {
        let [here, there] = adapters();
        let settings = Settings::server()
            .to_builder()
            .versions(Version::Two(family).into())
            .granted_credits(8)
            .requested_credits(8);
        let first = property(family, credit(family, 2, 6), [REVERSE_DIRECTION, GENERAL]);
        let (mut peer, connection) = accepted(settings, &there, &here, &first);
        for xid in [1, 2] {
            peer.send(&null(family, credit(family, 2, 6), xid), None);
        }
        let requests: Vec<_> = (0..2).map(|_| connection.request(10 * SECOND).unwrap().expect("a call")).collect();
        assert_eq!(take_messages(&mut peer).len(), 1, "{family:?}: its properties");
        let call = || connection.start(Call::new(Stream::from(header(connection.xid(), 0)), 24));
        let calls: Vec<_> = (0..8).map(|_| call()).collect();
        assert!(connection.request(Duration::ZERO).unwrap().is_none(), "{family:?}: it sends what it can");
        assert_eq!(take_messages(&mut peer).iter().filter(|octets| is_call(octets)).count(), 3, "{family:?}");
        for mut request in requests {
            request.accept();
            request.answer().unwrap();
        }
        assert_eq!(take_messages(&mut peer).len(), 2, "{family:?}: the replies");
        drop(calls);
    }
}

/// A call without a reply is over when it is sent, but not if that failed: the peer has a shorter Receive than it announces.
#[test]
fn a_call_without_a_reply_whose_send_fails_is_lost() {
    for family in FAMILIES {
        let [here, there] = adapters();
        let listener = there.listen(ADDRESS.parse().unwrap(), 1).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut peer = Peer::accept(&there, &listener, &[]);
                while peer.got.is_empty() {
                    peer.look(SECOND);
                }
                peer.send(&property(family, credit(family, 16, 16), [RECEIVE_BUFFER_SIZE, 2 * SIZE as u32]), None);
                while !peer.over {
                    peer.look(SECOND);
                }
            });
            let settings = Settings::builder().versions(Version::Two(family).into());
            let settings = settings.send_size(2 * SIZE as u32).build().unwrap();
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            let mut call = Call::rpc(400_100, 1, 2).without_reply();
            call.message().push(&[7; SIZE]);
            let failed = EndReason::Failed(Kind::Send, Status::RemoteInvalidRequest);
            assert_eq!(client.call(&mut call).unwrap_err(), CallError::Lost(failed, Progress::Sent), "{family:?}");
        });
    }
}

/// Sends messages as the other end permits it.
struct Sender {
    peer: Peer,
    credits: Credits,
}

impl Sender {
    fn new(peer: Peer, family: Family) -> Self {
        Self { peer, credits: Credits::client(Version::Two(family)) }
    }

    /// Sends a message as soon as there is a credit for it; `connection` is the other end.
    fn send(&mut self, message: &[u8], connection: &Connection<Adapter>) {
        for _ in 0..100 {
            self.peer.got.drain(..).for_each(|octets| self.credits.hear(&octets));
            if self.credits.allow(1, &self.peer) {
                return self.peer.send(message, None);
            }
            assert!(connection.request(SECOND / 1000).unwrap().is_none());
            self.peer.settle();
        }
        panic!("no credit");
    }
}

/// The parts of a Call come while the server answers another, and serves no more at a time. Each part gives its credit back, so that
/// all of them can come, as often as that happens.
#[test]
fn waiting_call_parts_take_no_credits() {
    const PARTS: usize = 40;
    let payload = [&header(2, 0)[..], &[7; PARTS * 100]].concat();
    for family in FAMILIES {
        let [here, there] = adapters();
        // As much as the parts have once, with their headers.
        let limits = Limits::new().with_collected((payload.len() + PARTS * 40) as u32);
        let settings =
            Settings::server().to_builder().versions(Version::Two(family).into()).granted_credits(1).limits(limits);
        let permit = credit(family, 2, 1000);
        let (peer, connection) = accepted(settings, &there, &here, &property(family, permit, [REVERSE_DIRECTION, 0]));
        let mut sender = Sender::new(peer, family);
        for _ in 0..3 {
            sender.send(&null(family, permit, 1), &connection);
            let mut request = connection.request(10 * SECOND).unwrap().expect("the first call");
            let mut remaining = payload.len();
            for octets in payload.chunks(payload.len().div_ceil(PARTS)) {
                remaining -= octets.len();
                sender.send(&part(family, permit, 2, (octets, remaining)), &connection);
            }
            request.accept();
            request.answer().unwrap();
            let mut request = connection.request(10 * SECOND).unwrap().expect("the second call");
            assert!(request.message() == payload, "{family:?}");
            request.accept();
            request.answer().unwrap();
        }
    }
}

/// A client of version 2 whose server has begun with this property, and that server.
fn served_by_hand(family: Family, settings: SettingsBuilder, first: [u32; 2]) -> (Client<Adapter>, Peer) {
    let [here, there] = adapters();
    let listener = there.listen(ADDRESS.parse().unwrap(), 1).unwrap();
    thread::scope(|scope| {
        let peer = scope.spawn(|| {
            let mut peer = Peer::accept(&there, &listener, &[]);
            while peer.got.is_empty() {
                peer.look(SECOND);
            }
            peer.got.clear();
            peer.send(&property(family, credit(family, 16, 16), first), None);
            peer
        });
        let settings = settings.versions(Version::Two(family).into()).timeout(Some(10 * SECOND)).build().unwrap();
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
        (client, peer.join().unwrap())
    })
}

/// Waits for the next message.
fn next(peer: &mut Peer) -> Vec<u8> {
    while peer.got.is_empty() && !peer.over {
        peer.look(SECOND);
    }
    peer.got.pop_front().expect("a message")
}

/// Waits for the next call, or the first part of one: grants have no XID.
fn next_call(peer: &mut Peer) -> Vec<u8> {
    loop {
        let message = next(peer);
        if xid_of(&message) != 0 {
            return message;
        }
    }
}

/// A Reply of NULL, or a part of it, of which so many octets remain.
fn replied(family: Family, xid: u32, remaining: usize) -> Vec<u8> {
    let (mut message, permit) = (Vec::new(), credit(family, 2, 32));
    match family {
        Family::A => append_words(&mut message, &[xid, 2, permit, 0, if remaining == 0 { 1 } else { 3 }, 0, 0, 0, 0]),
        Family::B if remaining == 0 => append_words(&mut message, &[xid, 2, permit, 13, 0]),
        Family::B => append_words(&mut message, &[xid, 2, permit, 12, remaining as u32]),
    }
    append_words(&mut message, &[xid, 1, 0, 0, 0, 0]);
    message
}

fn xid_of(message: &[u8]) -> u32 {
    u32::from_be_bytes(*message.first_chunk().unwrap())
}

/// A call with so many octets in its message.
fn call_of(client: &Client<Adapter>, length: usize) -> Call {
    let mut message = Stream::from(header(client.xid(), 0));
    message.push(&vec![7; length]);
    Call::new(message, 24)
}

/// Version 2: between the parts of a message comes another, so the rest of it does not come.
#[test]
fn a_reply_with_wrong_parts_is_dropped() {
    for family in FAMILIES {
        let (client, mut peer) = served_by_hand(family, Settings::builder(), [RECEIVE_BUFFER_SIZE, 4096]);
        let calls = [(); 2].map(|()| client.start(call_of(&client, 0)));
        let xids = [(); 2].map(|()| xid_of(&next_call(&mut peer)));
        peer.send(&replied(family, xids[0], 100), None);
        peer.send(&replied(family, xids[1], 0), None);
        peer.send(&replied(family, xids[0], 0), None);
        let outcomes = calls.map(|call| call.wait().reply().map(drop));
        assert!(outcomes.contains(&Err(CallError::NoReply)), "{family:?}: {outcomes:?}");
    }
}

/// Version 2: the first part is there, and the server says that it waits for nothing more.
#[test]
fn a_call_whose_last_part_cannot_be_read_is_refused() {
    const READ_LIST_A: usize = 24;
    const READ_LIST_B: usize = 20;
    for (family, at) in [(Family::A, READ_LIST_A), (Family::B, READ_LIST_B)] {
        let [here, there] = adapters();
        let settings = Settings::server().to_builder().versions(Version::Two(family).into());
        let permit = credit(family, 2, 1000);
        let (peer, connection) = accepted(settings, &there, &here, &property(family, permit, [REVERSE_DIRECTION, 0]));
        let mut sender = Sender::new(peer, family);
        sender.send(&part(family, permit, 1, (&header(1, 0), 100)), &connection);
        let mut last = part(family, permit, 1, (&[7; 100], 0));
        // Neither the end of the list nor another entry.
        last[at..at + 4].copy_from_slice(&7_u32.to_be_bytes());
        sender.send(&last, &connection);
        assert!(connection.request(SECOND / 10).unwrap().is_none());
        let answers = take_messages(&mut sender.peer);
        let errors: Vec<_> = answers.iter().filter(|octets| octets[15] == 4).map(|octets| xid_of(octets)).collect();
        assert_eq!(errors, [1], "{family:?}: {answers:02x?}");
    }
}

/// A long call whose memory holds no Call.
#[test]
fn what_is_pulled_and_is_no_call_is_refused() {
    let [here, there] = adapters();
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
    thread::scope(|scope| {
        let peer = scope.spawn(|| Peer::connect(&here, &[]));
        let connection = server.accept(10 * SECOND).unwrap().unwrap();
        let mut peer = peer.join().unwrap();
        let Segment { handle, offset, .. } = peer.segment();
        let mut message = Vec::new();
        let segment = [handle, 100, (offset >> 32) as u32, offset as u32];
        append_words(&mut message, &[&[5, 1, 32, 1, 1, 0][..], &segment, &[0, 0, 0]].concat());
        peer.send(&message, None);
        assert!(connection.request(SECOND / 5).unwrap().is_none());
        let answers = take_messages(&mut peer);
        assert_eq!(answers.iter().map(|octets| octets[15]).collect::<Vec<_>>(), [4], "{answers:02x?}");
    });
}

#[test]
fn an_end_announces_remote_invalidation_if_it_may_be_used() {
    for (allowed, flags) in [(true, Flags::REMOTE_INVALIDATION), (false, Flags::empty())] {
        let [here, there] = adapters();
        let listener = there.listen(ADDRESS.parse().unwrap(), 1).unwrap();
        let settings = Settings::builder().remote_invalidation(allowed).connect_timeout(10 * SECOND);
        thread::scope(|scope| {
            scope.spawn(|| Client::connect(&here, ADDRESS.parse().unwrap(), &settings.build().unwrap()).map(drop));
            let request = there.request(&listener, 10 * SECOND).unwrap().unwrap();
            let said = PrivateData::find(there.private_data(&request)).unwrap();
            assert_eq!(said.flags, flags, "{allowed}");
            there.reject(request, &[]).unwrap();
        });
    }
}

#[test]
fn an_end_announces_how_many_segments_a_call_may_have() {
    const SEGMENT_COUNT: u32 = 4;
    for family in FAMILIES {
        let [here, there] = adapters();
        let limits = Limits::new().with_segments(5);
        let settings = Settings::server().to_builder().versions(Version::Two(family).into()).limits(limits);
        let permit = credit(family, 2, 10);
        let (mut peer, connection) =
            accepted(settings, &there, &here, &property(family, permit, [REVERSE_DIRECTION, 0]));
        assert!(connection.request(SECOND / 10).unwrap().is_none());
        let mut announced = Vec::new();
        append_words(&mut announced, &[SEGMENT_COUNT, 4, 5]);
        let properties = next(&mut peer);
        assert!(properties.windows(12).any(|words| words == announced), "{family:?}: {properties:02x?}");
    }
}

/// The reply to a call that was given up comes in time, so that its connection has no reason to end.
#[test]
fn an_answer_within_the_grace_keeps_the_connection() {
    let grace = SECOND / 2;
    let [here, there] = adapters();
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
    let settings = Settings::builder().timeout(Some(SECOND / 20)).grace(grace).build().unwrap();
    thread::scope(|scope| {
        let connecting = scope.spawn(|| Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap());
        let connection = server.accept(10 * SECOND).unwrap().unwrap();
        let client = connecting.join().unwrap();
        let pending = client.start(call_of(&client, 0));
        let mut request = connection.request(10 * SECOND).unwrap().expect("a call");
        assert_eq!(pending.wait().reply().map(drop), Err(CallError::TimedOut(Progress::Sent)));
        request.accept();
        request.answer().unwrap();
        assert!(client.connection().request(grace + SECOND / 5).unwrap().is_none());
        assert_eq!(client.connection().ended(), None);
    });
}
