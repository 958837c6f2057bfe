//! Servers whose connections share their Receives.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma::v2::Family;
use rpcrdma_tools::echo::{Caller, Carry, programs};
use rpcrdma_verbs::loopback::{Adapter, Fabric, Fault, Faults};
use rpcrdma_verbs::{
    Access, Call, CallError, Client, Connection, Depths, EndReason, Error, Local, Operation, PeerFault, Request,
    Segment, Server, Service, Settings, SettingsBuilder, Stream, Verbs, Version, Versions, Work,
};

use crate::hostile::messages::{append_words, first, rpc_call};
use crate::hostile::peer::{ADDRESS, Peer, SECOND};
use crate::support::eventually::becomes_so;
use crate::support::header::header;
use crate::support::stopping::Stopping;

const VERSIONS: [Version; 3] = [Version::One, Version::Two(Family::A), Version::Two(Family::B)];

/// A client's adapter and a server.
fn pair(settings: SettingsBuilder) -> (Adapter, Server<Adapter>) {
    let fabric = Fabric::new();
    let [here, there] = [1, 2].map(|host| fabric.adapter([192, 0, 2, host].into()).unwrap());
    let settings = settings.versions(Versions::all()).build().unwrap();
    (here, Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap().with_connections(2000))
}

fn server(served: u32, shared: u32) -> (Adapter, Server<Adapter>) {
    pair(Settings::server().to_builder().granted_credits(served).shared_receives(shared))
}

/// Runs the service beside `run`. All Receives are then in their queue.
fn serving(server: &Server<Adapter>, service: &impl Service<Adapter>, run: impl FnOnce()) {
    let receives = server.free_receives().unwrap();
    thread::scope(|scope| {
        let stopping = Stopping(server.stopper());
        let served = scope.spawn(|| server.serve(service).unwrap());
        run();
        drop(stopping);
        served.join().unwrap();
    });
    becomes_so(|| server.free_receives() == Some(receives));
}

fn connect(here: &Adapter, version: Version) -> Client<Adapter> {
    let settings = Settings::builder().versions(Versions::from(version)).build().unwrap();
    Client::connect(here, ADDRESS.parse().unwrap(), &settings).unwrap()
}

/// Both ends of a connection that nobody serves.
fn accepted(here: &Adapter, server: &Server<Adapter>, settings: &Settings) -> (Client<Adapter>, Connection<Adapter>) {
    thread::scope(|scope| {
        let connecting = scope.spawn(|| Client::connect(here, ADDRESS.parse().unwrap(), settings).unwrap());
        let accepted = server.accept(10 * SECOND).unwrap().expect("a connection");
        while !connecting.is_finished() {
            assert!(accepted.request(SECOND / 100).unwrap().is_none());
        }
        (connecting.join().unwrap(), accepted)
    })
}

fn null(client: &Client<Adapter>) -> Call {
    Call::new(Stream::from(header(client.xid(), 0)), 24)
}

fn answer(mut request: Request<Adapter>) {
    request.accept();
    request.answer().unwrap();
}

#[test]
fn calls_of_each_version_and_form_are_answered() {
    let (here, server) = server(8, 4);
    serving(&server, &programs(), || {
        for version in VERSIONS {
            let client = connect(&here, version);
            for carry in Carry::ALL {
                let longest = if carry == Carry::Inline { 900 } else { 70_000 };
                for length in [0, 3, 900, longest] {
                    let Ok(mut caller) = Caller::echo(carry, length, &client.connection().terms()) else { continue };
                    caller.call(&client).unwrap();
                }
            }
            assert_eq!(client.connection().version(), Some(version));
        }
    });
}

#[test]
fn sixty_four_connections_share_sixteen_receives() {
    let (here, server) = server(8, 16);
    serving(&server, &programs(), || {
        thread::scope(|scope| {
            for number in 0..64 {
                let client = connect(&here, VERSIONS[number % 3]);
                scope.spawn(move || {
                    let terms = client.connection().terms();
                    let mut callers = [Carry::Inline, Carry::Read, Carry::Write]
                        .map(|carry| Caller::echo(carry, 700, &terms).unwrap());
                    for _ in 0..20 {
                        callers.iter_mut().for_each(|caller| caller.call(&client).unwrap());
                    }
                });
            }
        });
    });
}

#[test]
fn a_call_that_finds_no_receive_waits_for_one() {
    let (here, server) = server(4, 1);
    let [(first, served_first), (second, served_second)] =
        [(); 2].map(|()| accepted(&here, &server, &Settings::client()));
    let next = |served: &Connection<Adapter>| served.request(SECOND / 20).unwrap();
    thread::scope(|scope| {
        let one = scope.spawn(|| first.call(&mut null(&first)).map(drop));
        becomes_so(|| server.free_receives() == Some(0));
        let two = scope.spawn(|| second.call(&mut null(&second)).map(drop));
        assert!(next(&served_second).is_none(), "the other connection has the only Receive");
        let waiting = scope.spawn(|| {
            let begun = Instant::now();
            answer(served_second.request(10 * SECOND).unwrap().expect("the Receive is posted again"));
            begun.elapsed()
        });
        thread::sleep(SECOND / 10);
        answer(next(&served_first).expect("its call has come"));
        assert!(waiting.join().unwrap() < 5 * SECOND, "nobody has woken it");
        [one, two].into_iter().for_each(|call| call.join().unwrap().unwrap());
    });
    assert_eq!(server.free_receives(), Some(1));
}

#[test]
fn exceeding_the_credits_harms_no_other_client() {
    for version in VERSIONS {
        let (here, server) = server(2, 40);
        let mut peer = thread::scope(|scope| {
            let connecting = scope.spawn(|| Peer::connect(&here, &[]));
            let served = server.accept(10 * SECOND).unwrap().expect("a connection");
            let mut peer = connecting.join().unwrap();
            if let Version::Two(family) = version {
                peer.send(&first(family, 32), None);
                assert!(served.request(SECOND / 10).unwrap().is_none(), "a message without a call");
            }
            let before = server.free_receives().unwrap();
            for xid in 0..45 {
                let mut message = Vec::new();
                match version.family() {
                    None => append_words(&mut message, &[xid, 1, 32, 0, 0, 0, 0]),
                    Some(Family::A) => append_words(&mut message, &[xid, 2, 32, 5, 0, 0]),
                    Some(Family::B) => append_words(&mut message, &[xid, 2, 32, 7, 0]),
                }
                message.extend(rpc_call(xid, 0, 0));
                peer.send(&message, None);
            }
            peer.look(SECOND / 10);
            assert_eq!((before, server.free_receives()), (40, Some(0)), "it has filled all Receives");
            let ended = loop {
                match served.request(10 * SECOND) {
                    Ok(request) => drop(request.expect("a call")),
                    Err(ended) => break ended,
                }
            };
            assert_eq!(ended, EndReason::PeerFault(PeerFault::CreditExceeded), "{version}");
            assert_eq!(server.free_receives(), Some(40), "although the server still has the connection");
            peer
        });
        serving(&server, &answer, || {
            let client = connect(&here, version);
            client.call(&mut null(&client)).unwrap().results().unwrap();
        });
        while peer.look(Duration::ZERO) {}
        assert!(peer.over);
    }
}

#[test]
fn all_receives_return_from_a_thousand_connections() {
    let (here, server) = server(4, 8);
    serving(&server, &programs(), || {
        for number in 0..1000_u32 {
            let version = VERSIONS[number as usize % 3];
            match number / 3 % 5 {
                // It makes a call.
                0 => {
                    let client = connect(&here, version);
                    Caller::echo(Carry::Read, 100, &client.connection().terms()).unwrap().call(&client).unwrap();
                }
                // It is gone before the answer.
                1 => {
                    let client = connect(&here, version);
                    drop([(); 3].map(|()| client.start(null(&client))));
                }
                // It is gone within a message of several Sends, or of a Call that is to be read from it.
                2 => {
                    let mut peer = Peer::connect(&here, &[]);
                    let mut message = Vec::new();
                    match version.family() {
                        None => {
                            let Segment { handle, offset, .. } = peer.segment();
                            let read = [handle, 4000, (offset >> 32) as u32, offset as u32];
                            append_words(&mut message, &[&[7, 1, 32, 1, 1, 0][..], &read, &[0, 0, 0]].concat());
                        }
                        Some(family) => {
                            peer.send(&first(family, 32), None);
                            let more: &[u32] = if family == Family::A { &[0, 2, 0, 0, 0, 0] } else { &[9, 4000] };
                            append_words(&mut message, &[&[7, 2, 32], more].concat());
                            message.extend(rpc_call(7, 0, 0));
                        }
                    }
                    peer.send(&message, None);
                }
                // It is gone within a Send, for which a Receive was taken.
                3 => {
                    let lossy = here.clone().with_faults(Faults::none().at(1, Fault::LoseBefore));
                    let mut peer = Peer::connect(&lossy, &[]);
                    peer.send(&rpc_call(7, 0, 0), None);
                    while peer.look(10 * SECOND) {}
                    assert!(peer.over);
                    assert_eq!(lossy.injected().total(), 1);
                }
                // It only connects.
                _ => drop(Peer::connect(&here, &[])),
            }
        }
    });
}

#[test]
fn a_queue_pair_that_is_dropped_returns_what_nobody_took() {
    let fabric = Fabric::new();
    let [here, there] = [1, 2].map(|host| fabric.adapter([192, 0, 2, host].into()).unwrap());
    let listener = there.listen(ADDRESS.parse().unwrap(), 4).unwrap();
    let domain = there.domain().unwrap();
    let queue = there.shared_receive_queue(&domain, 4).unwrap();
    let memory = there.register_slab(&domain, 4, 4096, Access::LOCAL_WRITE).unwrap();
    for (id, region) in memory.iter().enumerate() {
        there.post_shared_receive(&queue, id as u64, Local::whole_region(region, 4096)).unwrap();
    }
    for round in 0..3 {
        let mut peer = thread::scope(|scope| {
            let connecting = scope.spawn(|| Peer::connect(&here, &[]));
            let request = there.request(&listener, 10 * SECOND).unwrap().expect("a request");
            let queue_pair = there.sharing_queue_pair(&queue, Depths::default()).unwrap();
            there.accept(request, &queue_pair, &[]).unwrap();
            let mut peer = connecting.join().unwrap();
            (0..3).for_each(|_| peer.send(b"a message", None));
            // Longer than a Receive: this completes with an error, and ends the connection.
            peer.send(&[0; 4100], None);
            peer.look(SECOND / 10);
            assert_eq!(there.shared_receives(&queue), 0);
            let taken = there.completion(&queue_pair, SECOND).unwrap().expect("a completion");
            drop(queue_pair);
            assert_eq!(there.shared_receives(&queue), 3, "round {round}: all but the one that was taken");
            let region = &memory[taken.id as usize];
            assert_eq!(there.read(region, |octets| octets[..9].to_vec()).unwrap(), b"a message");
            there.post_shared_receive(&queue, taken.id, Local::whole_region(region, 4096)).unwrap();
            peer
        });
        while peer.look(Duration::ZERO) {}
    }
}

#[test]
fn calls_that_wait_for_a_slot_hold_no_receive() {
    for family in [Family::A, Family::B] {
        let (here, server) = server(1, 8);
        let settings = Settings::builder().requested_credits(8).versions(Versions::from(Version::Two(family))).build();
        let kept = Mutex::new(Vec::new());
        let keep = |request: Request<Adapter>| kept.lock().unwrap().push(request);
        serving(&server, &keep, || {
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings.unwrap()).unwrap();
            let calls = [(); 4].map(|()| client.start(null(&client)));
            becomes_so(|| !kept.lock().unwrap().is_empty());

            becomes_so(|| server.free_receives() == Some(8));

            thread::sleep(SECOND / 20);
            assert_eq!((server.free_receives(), kept.lock().unwrap().len()), (Some(8), 1), "{family:?}");
            for pending in calls {
                becomes_so(|| !kept.lock().unwrap().is_empty());
                let request = kept.lock().unwrap().remove(0);
                answer(request);
                pending.wait().reply().map(drop).unwrap();
            }
        });
    }
}

#[test]
fn a_client_that_takes_no_replies_holds_no_receive() {
    let (here, server) = server(8, 12);
    serving(&server, &answer, || {
        let domain = here.domain().unwrap();
        let deaf = here.queue_pair(&domain, Depths::default()).unwrap();
        here.connect(&deaf, ADDRESS.parse().unwrap(), &[]).unwrap();
        here.connected(&deaf, 10 * SECOND).unwrap().expect("accepted");
        for xid in 0..24 {
            let mut message = Vec::new();
            append_words(&mut message, &[xid, 1, 8, 0, 0, 0, 0]);
            message.extend(rpc_call(xid, 0, 0));
            let length = message.len();
            let region = here.register(&domain, message, Access::empty()).unwrap();
            here.post(&deaf, Work::new(0, Operation::Send, Local::whole_region(&region, length))).unwrap();
            assert!(here.completion(&deaf, 10 * SECOND).unwrap().is_some(), "the Send is complete");
            // The last eight calls wait: all Sends of the server, eight for calls and eight for others, wait for a Receive.
            becomes_so(|| server.free_receives() == Some(12));
        }
        let client = connect(&here, Version::One);
        client.call(&mut null(&client)).unwrap().results().unwrap();
    });
}

#[test]
fn a_server_exposes_no_memory_in_its_own_calls() {
    let settings = Settings::server().to_builder().requested_credits(2).shared_receives(8);
    let (here, server) = pair(settings);
    for version in VERSIONS {
        let of_client = Settings::builder().granted_credits(2).versions(Versions::from(version)).build().unwrap();
        let (client, accepted) = accepted(&here, &server, &of_client);
        thread::scope(|scope| {
            let called = scope.spawn(|| client.call(&mut null(&client)).map(drop));
            answer(accepted.request(10 * SECOND).unwrap().expect("a call"));
            called.join().unwrap().unwrap();
            let answered = scope.spawn(|| {
                let request = client.connection().request(10 * SECOND).unwrap().expect("a call");
                answer(request);
            });
            let mut message = Stream::from(header(accepted.xid(), 1));
            message.push_item(vec![0x5a; 5000]);
            let ended = accepted.start(Call::new(message, 24)).wait();
            let (outcome, mut call) = (ended.reply().map(drop), ended.into_call());
            assert_eq!(outcome, Err(CallError::NotRegistered(Error::SharedDomain)), "{version}");
            assert!(call.message().items().eq([vec![0x5a; 5000]]), "its buffers are back");
            accepted.call(&mut Call::new(Stream::from(header(accepted.xid(), 0)), 24)).unwrap().results().unwrap();
            answered.join().unwrap();
        });
    }
}
