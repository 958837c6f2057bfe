//! An end of a connection whose other end is played message by message, by verbs alone: what the end has sent, and when it could.

use std::thread;
use std::time::Duration;

use rpcrdma::v2::Family;
use rpcrdma_verbs::loopback::{Adapter, Fabric};
use rpcrdma_verbs::{
    Call, CallError, Client, Connection, Ended, Kind, Progress, Server, Settings, SettingsBuilder, Status, Stream,
    Verbs, Version, Versions,
};

use crate::hostile::messages::{Credits, put, rpc_call};
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

/// What permits the other end to send so many messages in all, the `last` of them with this message. Family A counts the messages
/// that each message permits, family B all so far.
fn credit(family: Family, last: u32, all: u32) -> u32 {
    match family {
        Family::A => 32 << 16 | last,
        Family::B => all,
    }
}

/// The first message of an end, with one property.
fn property(family: Family, credit: u32, [which, value]: [u32; 2]) -> Vec<u8> {
    let mut message = Vec::new();
    let start: &[u32] = if family == Family::A { &[0, 2, credit, 5, 0] } else { &[0, 2, credit, 7] };
    put(&mut message, &[start, &[1, which, 4, value]].concat());
    message
}

/// A Call of NULL.
fn null(family: Family, credit: u32, xid: u32) -> Vec<u8> {
    let mut message = Vec::new();
    let start: &[u32] = if family == Family::A { &[xid, 2, credit, 0, 0] } else { &[xid, 2, credit, 10] };
    put(&mut message, &[start, &[0; 4]].concat());
    message.extend(rpc_call(xid, 0, 0));
    message
}

/// A part of a Call, which is the last one if nothing remains.
fn part(family: Family, credit: u32, xid: u32, (octets, remaining): (&[u8], usize)) -> Vec<u8> {
    let mut message = Vec::new();
    let is_last = remaining == 0;
    match family {
        Family::A => put(&mut message, &[xid, 2, credit, 0, if is_last { 0 } else { 2 }, 0, 0, 0, 0]),
        Family::B if is_last => put(&mut message, &[xid, 2, credit, 10, 0, 0, 0, 0]),
        Family::B => put(&mut message, &[xid, 2, credit, 9, remaining as u32]),
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
fn take(peer: &mut Peer) -> Vec<Vec<u8>> {
    peer.settle();
    peer.got.drain(..).collect()
}

/// The server owes two replies, and may send six messages, its properties among them. It calls more often than that.
#[test]
fn a_credit_is_kept_for_each_reply_that_is_owed() {
    for family in FAMILIES {
        let [here, there] = adapters();
        let settings = Settings::server().to_builder().versions(Version::Two(family).into()).served(8).calls(8);
        let first = property(family, credit(family, 2, 6), [REVERSE_DIRECTION, GENERAL]);
        let (mut peer, connection) = accepted(settings, &there, &here, &first);
        for xid in [1, 2] {
            peer.send(&null(family, credit(family, 2, 6), xid), None);
        }
        let requests: Vec<_> = (0..2).map(|_| connection.request(10 * SECOND).unwrap().expect("a call")).collect();
        assert_eq!(take(&mut peer).len(), 1, "{family:?}: its properties");
        let call = || connection.start(Call::new(Stream::from(header(connection.xid(), 0)), 24));
        let calls: Vec<_> = (0..8).map(|_| call()).collect();
        assert!(connection.request(Duration::ZERO).unwrap().is_none(), "{family:?}: it sends what it can");
        assert_eq!(take(&mut peer).iter().filter(|octets| is_call(octets)).count(), 3, "{family:?}");
        for mut request in requests {
            request.accept();
            request.answer().unwrap();
        }
        assert_eq!(take(&mut peer).len(), 2, "{family:?}: the replies");
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
            let settings = Settings::client().to_builder().versions(Version::Two(family).into());
            let settings = settings.send_size(2 * SIZE as u32).build().unwrap();
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            let mut call = Call::rpc(400_100, 1, 2).without_reply();
            call.message().push(&[7; SIZE]);
            let failed = Ended::Failed(Kind::Send, Status::RemoteInvalidRequest);
            assert_eq!(client.call(&mut call), Err(CallError::Lost(failed, Progress::Sent)), "{family:?}");
        });
    }
}

/// The other end replies, calls, and ends the connection, before this one looks at any of that.
#[test]
fn a_reply_that_came_before_the_end_is_good_whether_or_not_this_end_is_called_too() {
    for served in [0, 4] {
        let [here, there] = adapters();
        let listener = there.listen(ADDRESS.parse().unwrap(), 1).unwrap();
        let (client, pending) = thread::scope(|scope| {
            let peer = scope.spawn(|| Peer::accept(&there, &listener, &[]));
            let settings = Settings::client().to_builder().served(served).build().unwrap();
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            let mut peer = peer.join().unwrap();
            let pending = client.start(Call::new(Stream::from(header(client.xid(), 0)), 24));
            while peer.got.is_empty() {
                peer.look(SECOND);
            }
            let xid = u32::from_be_bytes(*peer.got[0].first_chunk().unwrap());
            let (mut reply, mut call) = (Vec::new(), Vec::new());
            put(&mut reply, &[xid, 1, 32, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0]);
            put(&mut call, &[99, 1, 32, 0, 0, 0, 0]);
            call.extend(rpc_call(99, 0, 0));
            for message in [reply, call] {
                peer.send(&message, None);
            }
            peer.settle();
            peer.verbs.disconnect(&peer.queue_pair).unwrap();
            (client, pending)
        });
        let (call, outcome) = pending.wait();
        assert_eq!((outcome, call.accepted()), (Ok(()), Ok(&[][..])), "{served}");
        assert_eq!(client.connection().ended(), Some(Ended::Peer), "{served}");
    }
}

/// A client of version 2 may have as many calls in flight as the server serves, besides its own messages.
#[test]
fn as_many_calls_come_at_a_time_as_the_server_serves() {
    for (family, served) in FAMILIES.into_iter().flat_map(|family| [1, 2, 8, 40].map(|served| (family, served))) {
        let [here, there] = adapters();
        let version = Versions::from(Version::Two(family));
        let settings = Settings::server().to_builder().versions(version).served(served).build().unwrap();
        let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let settings = Settings::client().to_builder().versions(version).calls(served).build().unwrap();
                let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
                let call = || client.start(Call::new(Stream::from(header(client.xid(), 0)), 24));
                let calls: Vec<_> = (0..served).map(|_| call()).collect();
                calls.into_iter().for_each(|call| call.wait().1.unwrap());
            });
            let connection = server.accept(10 * SECOND).unwrap().unwrap();
            let next =
                |number| connection.request(5 * SECOND).unwrap().unwrap_or_else(|| panic!("{family:?}: {number}"));
            for mut request in (0..served).map(next).collect::<Vec<_>>() {
                request.accept();
                request.answer().unwrap();
            }
            assert!(connection.request(10 * SECOND).is_err(), "the client has ended it");
        });
    }
}

/// The parts of a Call come while the server answers another, and serves no more at a time. Each part gives its credit back, so that
/// all of them can come.
#[test]
fn the_parts_of_a_call_that_waits_for_its_turn_take_no_credits() {
    const PARTS: usize = 40;
    let payload = [&header(2, 0)[..], &[7; PARTS * 100]].concat();
    for family in FAMILIES {
        let [here, there] = adapters();
        let settings = Settings::server().to_builder().versions(Version::Two(family).into()).served(1);
        let first = property(family, credit(family, 2, 200), [REVERSE_DIRECTION, 0]);
        let (mut peer, connection) = accepted(settings, &there, &here, &first);
        let mut credits = Credits::client(Version::Two(family));
        let mut send = |message: &[u8]| {
            for _ in 0..100 {
                peer.got.drain(..).for_each(|octets| credits.hear(&octets));
                if credits.allow(1, &peer) {
                    return peer.send(message, None);
                }
                assert!(connection.request(SECOND / 1000).unwrap().is_none());
                peer.settle();
            }
            panic!("{family:?}: no credit");
        };
        send(&null(family, credit(family, 2, 200), 1));
        let mut request = connection.request(10 * SECOND).unwrap().expect("the first call");
        let mut remaining = payload.len();
        for octets in payload.chunks(payload.len().div_ceil(PARTS)) {
            remaining -= octets.len();
            send(&part(family, credit(family, 2, 200), 2, (octets, remaining)));
        }
        request.accept();
        request.answer().unwrap();
        let request = connection.request(10 * SECOND).unwrap().expect("the second call");
        assert!(request.message() == payload, "{family:?}");
    }
}
