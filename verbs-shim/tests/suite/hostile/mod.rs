//! Peers that follow no rules, built on verbs alone, against a server and against a client. What they send is drawn
//! from seeds: sound messages of every form, and what becomes of them when words are changed, cut or added.

pub(crate) mod messages;
pub(crate) mod peer;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma::segment::Segment;
use rpcrdma::v2::{Family, MessageV2};
use rpcrdma_dissector::Address;
use rpcrdma_tools::echo::{Caller, Carry, programs};
use rpcrdma_verbs::loopback::{Adapter, Fabric, PathMtu};
use rpcrdma_verbs::{
    Call, CallError, Client, Dispatcher, EndReason, PeerFault, Progress, Request, Server, Service, Settings, Stream,
    Verbs, Version, Versions,
};

use crate::dissected::{File, dissect};
use crate::hostile::messages::{Credits, append_words, call, control, error, fill, first, reply, rpc_call, spoil};
use crate::hostile::peer::{ADDRESS, Peer, QUEUE, Random, SECOND, SIZE, Xids};
use crate::support::eventually::becomes_so;
use crate::support::stopping::Stopping;

const VERSIONS: [Version; 3] = [Version::One, Version::Two(Family::A), Version::Two(Family::B)];

/// Fails if `run` does not end.
fn in_time<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let running = thread::spawn(move || sender.send(run()));
    match receiver.recv_timeout(60 * SECOND) {
        Ok(done) => done,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => std::panic::resume_unwind(running.join().unwrap_err()),
    }
}

fn adapters(fabric: &Fabric) -> [Adapter; 2] {
    [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap())
}

/// Answers the echo program, and checks that no connection ends because of an internal fault.
struct Blameless(Dispatcher<'static, Adapter>);

impl Service<Adapter> for Blameless {
    fn call(&self, request: Request<Adapter>) {
        self.0.call(request);
    }

    fn ended(&self, _: SocketAddr, why: &EndReason) {
        assert!(!matches!(why, EndReason::Internal(_) | EndReason::Refused(_)), "{why}");
    }
}

/// Runs `test` beside a server of the echo program, which must still run afterwards, and hold no memory.
fn beside_a_server(fabric: &Fabric, settings: Settings, test: impl FnOnce(&Adapter)) {
    let [here, there] = adapters(fabric);
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap();
    let stopping = Stopping(server.stopper());
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&Blameless(programs())));
        test(&here);
        good_calls(&here);
        drop(stopping);
        served.join().expect("no thread of the server has panicked").unwrap();
    });
    drop(server);
    nothing_stays_registered(fabric);
}

/// A driver may still be taking memory back after the last thread of a test has gone.
fn nothing_stays_registered(fabric: &Fabric) {
    let until = Instant::now() + 10 * SECOND;
    while fabric.registered() > 0 {
        assert!(Instant::now() < until, "memory is still registered");
        thread::sleep(Duration::from_micros(50));
    }
}

/// Calls in each version that the server speaks.
fn good_calls(here: &Adapter) {
    for version in VERSIONS {
        let versions = Versions::from(version) | Versions::ONE;
        let settings = Settings::builder().versions(versions).build().unwrap();
        let client = Client::connect(here, ADDRESS.parse().unwrap(), &settings).unwrap();
        for carry in Carry::ALL {
            for length in [0, 3, 600] {
                Caller::echo(carry, length, &client.connection().terms()).unwrap().call(&client).unwrap();
            }
        }
    }
}

/// Settings for an end that speaks all versions.
fn any_version(settings: Settings) -> Settings {
    settings.to_builder().versions(Versions::all()).build().unwrap()
}

/// A message to a server, usually one that is in order.
fn next(random: &mut Random, version: Version, credit: u32, peer: &Peer) -> Vec<u8> {
    let mut message = match version.family() {
        Some(family) if peer.sent == 0 && (peer.xids == Xids::Fresh || !random.one_in(4)) => {
            return first(family, credit);
        }
        Some(family) if random.one_in(8) => control(random, family, credit, peer),
        _ => call(random, version, credit, peer),
    };
    if random.one_in(3) {
        spoil(random, usize::from(peer.xids == Xids::Fresh), &mut message);
    }
    // A Send too long for its Receive ends the connection: the adapter sees to that.
    message.truncate(if random.one_in(500) { SIZE + 1 } else { SIZE });
    message
}

/// Sends to a server for as long as it listens: 1000 messages, or until it owes credits for too long.
fn attack(random: &mut Random, version: Version, peer: &mut Peer) {
    let (mut credits, mut seen, mut waited) = (Credits::client(version), 0, 0);
    while !peer.over && peer.sent < 1000 && waited < 20 {
        peer.got.iter().skip(seen).for_each(|octets| credits.hear(octets));
        seen = peer.got.len();
        if !credits.allow(1, peer) && !random.one_in(100) {
            waited += u32::from(!peer.look(SECOND / 1000));
            continue;
        }
        waited = 0;
        for _ in 0..if random.one_in(20) { random.below(60) } else { 1 } {
            let message = next(random, version, credits.granted(), peer);
            let invalidate = random.one_in(1000).then(|| random.odd());
            peer.send(&message, invalidate);
        }
        peer.settle();
    }
}

fn attack_server(here: &Adapter, version: Version, xids: Xids, seed: u64, sends: usize) -> (usize, usize) {
    let mut random = Random(seed);
    let (mut sent, mut connections, mut answers) = (0, 0, 0);
    while sent < sends {
        let private_data: Vec<u8> = (0..random.below(57)).map(|_| random.word() as u8).collect();
        let mut peer = Peer::connect(here, &private_data);
        peer.xids = xids;
        connections += 1;
        fill(&peer, &mut random);
        attack(&mut random, version, &mut peer);
        sent += peer.sent;
        answers += peer.got.len();
        for answer in &peer.got {
            // An ERR_VERS has the version of the failing Call, and the first message may be of another format.
            let is_error = answer[12..16] == [0, 0, 0, 4];
            let is_2 = [Family::A, Family::B].iter().any(|&family| MessageV2::decode(family, answer).is_ok());
            assert!(is_error || is_2 || rpcrdma::v1::Message::decode(answer).is_ok(), "{version}: {answer:02x?}");
        }
    }
    println!("version {version}: {sent} Sends on {connections} connections, {answers} answers");
    (connections, answers)
}

#[test]
fn a_server_outlasts_whatever_is_sent() {
    in_time(|| {
        let fabric = Fabric::new();
        beside_a_server(&fabric, any_version(Settings::server()), |here| {
            for seed in 1..=8 {
                for version in VERSIONS {
                    let (connections, answers) = attack_server(here, version, Xids::Reused, seed, 4000);
                    assert!(connections > 1 && answers > 200, "{version}: {connections} {answers}");
                    good_calls(here);
                }
            }
        });
    });
}

#[test]
fn a_server_with_shared_receives_outlasts_whatever_is_sent() {
    in_time(|| {
        for version in VERSIONS {
            let fabric = Fabric::new();
            let settings = any_version(Settings::server()).to_builder().shared_receives(64).build().unwrap();
            beside_a_server(&fabric, settings, |here| {
                let (connections, answers) = attack_server(here, version, Xids::Reused, 9, 4000);
                // In version 1 the peers ignore their credits, and many connections end early.
                assert!(connections > 1 && answers > 0, "{version}: {connections} {answers}");
            });
        }
    });
}

/// All calls of a peer have the same memory, so what was moved for one may be filed under another.
const NEED_OWN_MEMORY: [&str; 5] =
    ["write-unwritten", "read-not-pulled", "rdma-read-bounds", "rdma-write-bounds", "rdma-write-after-reply"];

/// The capture of a peer that follows no rules but has each XID just once shows what is the answer to what. In version 2, all
/// rules that are broken are broken by that peer.
#[test]
fn captures_of_hostile_messages_can_be_judged() {
    in_time(|| {
        for (version, seed) in VERSIONS.into_iter().flat_map(|version| (99..102).map(move |seed| (version, seed))) {
            let file = File::default();
            let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
            let settings = any_version(Settings::server()).to_builder().granted_credits(4).build().unwrap();
            beside_a_server(&fabric, settings, |here| {
                attack_server(here, version, Xids::Fresh, seed, 2000);
            });
            assert!(fabric.end_capture().unwrap() > 2000);
            let found = dissect(&file.octets());
            assert!(found.transactions.len() > 100, "{version}: {}", found.transactions.len());
            let server = Address::V4([192, 0, 2, 2]);
            let (by_server, others): (Vec<_>, Vec<_>) =
                found.broken.iter().partition(|broken| broken.by == Some(server));
            assert!(others.len() > 100, "{version}: {others:?}");
            let innocent = by_server.iter().all(|broken| NEED_OWN_MEMORY.contains(&broken.slug));
            assert!(innocent || version == Version::One, "version {version}, seed {seed}: {by_server:#?}");
        }
    });
}

#[test]
fn silent_peers_block_neither_clients_nor_stopping() {
    in_time(|| {
        let fabric = Fabric::new();
        beside_a_server(&fabric, Settings::server(), |here| {
            let silent: Vec<_> = (0..20).map(|_| Peer::connect(here, &[])).collect();
            // Peers that leave before their request is answered; no more than the backlog.
            for _ in 0..8 {
                let peer = Peer::new(here);
                let _ = peer.verbs.connect(&peer.queue_pair, ADDRESS.parse().unwrap(), &[]);
            }
            good_calls(here);
            // A peer with as many calls in flight as it was granted, which never posts a Receive for a reply.
            let mut deaf = Peer::connect(here, &[]);
            let memory = std::mem::take(&mut deaf.receives);
            for xid in 0..QUEUE as u32 {
                let mut message = Vec::new();
                append_words(&mut message, &[xid, 1, 32, 0, 0, 0, 0]);
                message.extend(rpc_call(xid, 0, 0));
                deaf.send(&message, None);
            }
            deaf.look(SECOND / 10);
            good_calls(here);
            drop((memory, deaf, silent));
        });
    });
}

/// Answers a message of a client, and sends others with the answer as long as they are permitted.
fn answer(random: &mut Random, credits: &Credits, before: &mut VecDeque<Vec<u8>>, octets: &[u8], peer: &mut Peer) {
    let (version, credit) = (credits.version, credits.granted());
    let Some((sound, handle)) = reply(random, version, credit, octets) else { return };
    let much = random.below(4);
    for sent in 0..much {
        if !credits.allow(2, peer) && !random.one_in(100) {
            break;
        }
        // An earlier reply, an error, a Call, or the same reply damaged.
        let xid = u32::from_be_bytes(sound[..4].try_into().unwrap());
        let mut message = match (random.below(6), version) {
            (0, _) if !before.is_empty() => before[random.below(before.len())].clone(),
            (1, _) => error(random, version, credit, xid),
            (2, _) => call(random, version, credit, peer),
            (3, Version::Two(family)) => control(random, family, credit + sent as u32, peer),
            _ => sound.clone(),
        };
        spoil(random, 0, &mut message);
        let invalidate = random.one_in(200).then(|| random.odd());
        peer.send(&message, invalidate);
    }
    // If an earlier message was taken for the reply, the handle may be gone.
    peer.send(&sound, handle.filter(|_| much == 0));
    if random.one_in(20) && credits.allow(1, peer) {
        peer.send(&sound, None);
    }
    before.push_back(sound);
    before.truncate(8);
}

/// Answers calls until the connection ends.
fn answer_badly(random: &mut Random, version: Version, peer: &mut Peer) {
    let (mut before, mut credits) = (VecDeque::new(), Credits::server(version));
    while !peer.over {
        peer.look(SECOND);
        while let Some(octets) = peer.got.pop_front() {
            credits.hear(&octets);
            match version.family() {
                Some(family) if peer.sent == 0 => peer.send(&first(family, credits.granted()), None),
                _ => answer(random, &credits, &mut before, &octets, peer),
            }
            peer.settle();
        }
    }
}

/// Makes calls until the connection is lost, and checks that each has its own outcome and its buffers.
fn call_badly_served(client: &Client<Adapter>, random: &mut Random, counts: &mut [usize; 3]) {
    for _ in 0..200 {
        let (xid, item) = (client.xid(), random.below(6000));
        let mut message = Stream::from(rpc_call(xid, 2, 0));
        message.push_item(vec![xid as u8; item]);
        let room = random.below(300);
        let call = Call::new(message, 24 + random.below(5000) as u32).with_result(vec![xid as u8; room]);
        let ended = client.start(call).wait();
        let (outcome, mut call) = (ended.reply().map(drop), ended.into_call());
        if outcome != Err(CallError::TimedOut(Progress::Sent)) {
            assert!(call.message().items().eq([vec![xid as u8; item]]), "buffers come back");
            assert_eq!(call.result_buffers()[0], vec![xid as u8; room], "nobody has written to it");
        }
        match outcome {
            Ok(()) => {
                assert_eq!(call.reply()[..8], [xid.to_be_bytes(), 1_u32.to_be_bytes()].concat());
                assert!(call.result(0).len() <= room);
                counts[0] += 1;
            }
            Err(CallError::Lost(ended, _)) => {
                let peer = matches!(
                    ended,
                    EndReason::PeerFault(_) | EndReason::Peer | EndReason::Failed(..) | EndReason::Unanswered
                );
                assert!(peer, "{ended}");
                counts[1] += 1;
                return;
            }
            // The client may have dropped the rest because of a message before.
            Err(CallError::TimedOut(_)) => {
                counts[2] += 1;
                return;
            }
            Err(_) => counts[2] += 1,
        }
    }
}

/// A client of a peer that follows no rules; returns how many messages that peer has sent.
fn badly_served(fabric: &Fabric, version: Version, seed: u64, counts: &mut [usize; 3]) -> usize {
    let [here, there] = adapters(fabric);
    let listener = there.listen(ADDRESS.parse().unwrap(), 16).unwrap();
    // Every other client is called too.
    let settings = Settings::builder().versions(Versions::from(version)).granted_credits((seed % 2) as u32 * 4);
    let settings = settings.timeout(Some(SECOND / 10)).grace(SECOND / 10).build().unwrap();
    let sent = thread::scope(|scope| {
        let server = scope.spawn(move || {
            let mut random = Random(seed << 32 | 5);
            let size = SIZE as u32;
            let said = PrivateData { flags: Flags::REMOTE_INVALIDATION, send_size: size, receive_size: size };
            let mut peer = Peer::accept(&there, &listener, &said.to_octets());
            answer_badly(&mut random, version, &mut peer);
            peer.sent
        });
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
        call_badly_served(&client, &mut Random(seed), counts);
        drop(client);
        server.join().unwrap()
    });
    nothing_stays_registered(fabric);
    sent
}

#[test]
fn a_client_outlasts_whatever_is_answered() {
    in_time(|| {
        for version in VERSIONS {
            let (mut sent, mut counts) = (0, [0; 3]);
            for seed in 1..=60_u64 {
                sent += badly_served(&Fabric::new(), version, seed, &mut counts);
            }
            println!("version {version}: {sent} Sends; calls that were answered, were lost, and failed: {counts:?}");
            assert!(sent > 2000 && counts.iter().all(|&count| count > 10), "{version}: {sent} {counts:?}");
        }
    });
}

/// Each number that a peer can say of itself, with values that nobody can mean.
fn odd_properties() -> impl Iterator<Item = [u32; 3]> {
    let values = [0, 1, 3, 1023, 1 << 31, u32::MAX];
    (1..=5).flat_map(move |which| values.map(|value| [which, 4, value]))
}

fn properties_of(family: Family, property: &[u32; 3]) -> Vec<u8> {
    let mut message = Vec::new();
    let start = if family == Family::A { vec![0, 2, 32 << 16 | 16, 5, 0, 1] } else { vec![0, 2, 32, 7, 1] };
    append_words(&mut message, &[&start[..], property].concat());
    message
}

/// A message that a peer sends before each reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// The same reply in version 1.
    Version1,
}

/// Answers the properties of a client with this one, and then each call.
fn serve_oddly(peer: &mut Peer, family: Family, property: &[u32; 3], before: Before) {
    let (version, mut random) = (Version::Two(family), Random(5));
    let mut credits = Credits::server(version);
    while !peer.over {
        peer.look(SECOND);
        while let Some(octets) = peer.got.pop_front() {
            credits.hear(&octets);
            if peer.sent == 0 {
                peer.send(&properties_of(family, property), None);
            } else if let Some((sound, _)) = reply(&mut random, version, credits.granted(), &octets) {
                if before == Before::Version1 {
                    let mut other = Vec::new();
                    let xid = u32::from_be_bytes(sound[..4].try_into().unwrap());
                    append_words(&mut other, &[xid, 1, credits.granted(), 0, 0, 0, 0, xid, 1, 0, 0, 0, 0]);
                    peer.send(&other, None);
                }
                peer.send(&sound, None);
            }
        }
    }
}

#[test]
fn absurd_properties_stop_neither_client_nor_server() {
    in_time(|| {
        for (family, property) in
            [Family::A, Family::B].into_iter().flat_map(|one| odd_properties().map(move |of| (one, of)))
        {
            let fabric = Fabric::new();
            let [here, there] = adapters(&fabric);
            let listener = there.listen(ADDRESS.parse().unwrap(), 16).unwrap();
            thread::scope(|scope| {
                scope.spawn(move || {
                    let mut peer = Peer::accept(&there, &listener, &[]);
                    serve_oddly(&mut peer, family, &property, Before::Nothing);
                });
                let settings = Settings::builder().versions(Versions::from(Version::Two(family)));
                let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings.build().unwrap()).unwrap();
                for item in [0, 6000] {
                    let mut message = Stream::from(rpc_call(client.xid(), 2, 0));
                    message.push_item(vec![7; item]);
                    let outcome =
                        client.start(Call::new(message, 28).with_result(vec![0; item])).wait().reply().map(drop);
                    // The peer fills a chunk of several segments with holes.
                    let is_fine = matches!(outcome, Ok(()) | Err(CallError::Refused(_) | CallError::NoReply));
                    assert!(is_fine, "{family:?} {property:?} {item}: {outcome:?}");
                }
            });
            nothing_stays_registered(&fabric);
        }
        let fabric = Fabric::new();
        beside_a_server(&fabric, any_version(Settings::server()), |here| {
            for (family, property) in
                [Family::A, Family::B].into_iter().flat_map(|one| odd_properties().map(move |of| (one, of)))
            {
                let mut peer = Peer::connect(here, &[]);
                peer.send(&properties_of(family, &property), None);
                let mut random = Random(3);
                let call = call(&mut random, Version::Two(family), 32 << 16 | 16, &peer);
                peer.send(&call, None);
                while peer.got.len() < 2 && !peer.over {
                    peer.look(SECOND);
                }
                assert!(!peer.got.is_empty(), "{family:?} {property:?}");
            }
        });
    });
}

/// NULL in this version; version 2 is in this format.
fn null(version: u32, family: Family) -> Vec<u8> {
    let mut message = Vec::new();
    append_words(&mut message, &[7, version, 32 << 16 | 16]);
    match (version, family) {
        (2, Family::A) => append_words(&mut message, &[0, 0, 0, 0, 0, 0]),
        (2, Family::B) => append_words(&mut message, &[10, 0, 0, 0, 0]),
        _ => append_words(&mut message, &[0, 0, 0, 0]),
    }
    message.extend(rpc_call(7, 0, 0));
    message
}

/// A peer begins with one version, which is the server's from then on, and changes to the other for one call.
#[test]
fn a_call_of_another_version_is_refused_alone() {
    in_time(|| {
        let fabric = Fabric::new();
        beside_a_server(&fabric, any_version(Settings::server()), |here| {
            for (family, versions, refusal) in [
                (Family::A, [2, 1, 2], &[4, 1, 1, 2, 2][..]),
                (Family::B, [2, 1, 2], &[4, 11]),
                (Family::A, [1, 2, 1], &[4, 1, 1, 1]),
                (Family::B, [1, 2, 1], &[4, 1, 1, 1]),
            ] {
                let mut peer = Peer::connect(here, &[]);
                let mut replies = 0;
                for version in versions {
                    let expected = if version == versions[0] { None } else { Some(refusal.to_vec()) };
                    peer.send(&null(version, family), None);
                    // The server's properties, and grants, have XID 0.
                    while peer.got.back().is_none_or(|octets| octets[3] != 7) {
                        assert!(peer.look(SECOND), "{family:?} {versions:?}: no answer to version {version}");
                    }
                    let answer: Vec<u32> =
                        peer.got.pop_back().unwrap()[12..].chunks(4).map(|word| word[3].into()).collect();
                    let error = (answer[0] == 4).then_some(answer);
                    assert_eq!(error, expected, "{family:?} {versions:?}");
                    replies += u32::from(error.is_none());
                }
                assert_eq!(replies, 2, "{family:?} {versions:?}");
            }
        });
    });
}

/// A peer agrees to version 2, and answers each call in version 1 first: that is no reply.
#[test]
fn a_reply_of_another_version_is_none() {
    for family in [Family::A, Family::B] {
        let fabric = Fabric::new();
        let [here, there] = adapters(&fabric);
        let listener = there.listen(ADDRESS.parse().unwrap(), 16).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut peer = Peer::accept(&there, &listener, &[]);
                serve_oddly(&mut peer, family, &[99, 4, 0], Before::Version1);
            });
            let settings = Settings::builder().timeout(Some(5 * SECOND));
            let settings = settings.versions(Versions::from(Version::Two(family)) | Versions::ONE).build().unwrap();
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            for _ in 0..20 {
                client.call(&mut Call::new(Stream::from(rpc_call(client.xid(), 0, 0)), 24)).unwrap().results().unwrap();
            }
            assert_eq!(client.connection().version(), Some(Version::Two(family)));
        });
    }
}

#[test]
fn absurd_credit_grants_are_clamped() {
    in_time(|| {
        let fabric = Fabric::new();
        let [here, there] = adapters(&fabric);
        let listener = there.listen(ADDRESS.parse().unwrap(), 16).unwrap();
        thread::scope(|scope| {
            let server = scope.spawn(move || {
                let mut peer = Peer::accept(&there, &listener, &[]);
                let mut most = Vec::new();
                for grant in [0, u32::MAX, 0, u32::MAX, 1] {
                    // Long enough for everything to arrive.
                    let start = Instant::now();
                    while peer.got.is_empty() || start.elapsed() < SECOND / 10 {
                        peer.look(SECOND / 50);
                    }
                    most.push(peer.got.len());
                    for call in std::mem::take(&mut peer.got) {
                        let xid = u32::from_be_bytes(call[..4].try_into().unwrap());
                        let mut message = Vec::new();
                        append_words(&mut message, &[xid, 1, grant, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0]);
                        peer.send(&message, None);
                    }
                    peer.settle();
                }
                most
            });

            let client = Client::connect(
                &here,
                ADDRESS.parse().unwrap(),
                &Settings::builder().requested_credits(2).build().unwrap(),
            );
            let client = client.unwrap();
            let pending: Vec<_> =
                (0..7).map(|_| client.start(Call::new(Stream::from(rpc_call(client.xid(), 0, 0)), 24))).collect();
            for pending in pending {
                pending.wait().reply().map(drop).unwrap();
            }
            assert_eq!(server.join().unwrap(), [1, 1, 2, 1, 2]);
        });
        becomes_so(|| fabric.registered() == 0);
    });
}

/// Lets a server call a peer that announces these flags, and that sends this message back and invalidates the memory of
/// the call with it. Returns the outcome of the call, and why the connection has ended.
fn invalidating(flags: Flags, message: impl Fn(Segment) -> Vec<u8>) -> (Result<(), CallError>, Option<EndReason>) {
    let fabric = Fabric::new();
    let [here, there] = adapters(&fabric);
    let settings = Settings::server().to_builder().requested_credits(4).timeout(Some(10 * SECOND)).build().unwrap();
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap();
    let (mut peer, outcome, ended) = thread::scope(|scope| {
        let peer = scope.spawn(|| {
            let said = PrivateData { flags, send_size: 4096, receive_size: 4096 };
            Peer::connect(&here, &said.to_octets())
        });
        let connection = server.accept(10 * SECOND).unwrap().unwrap();
        let mut peer = peer.join().unwrap();
        let pending = connection.start(Call::new(Stream::from(rpc_call(5, 1, 0)), 28).with_result(vec![0; 100]));
        while !peer.look(SECOND) {}
        let (header, _) = rpcrdma::v1::Header::decode(&peer.got[0]).unwrap();
        let result = header.chunks().unwrap().writes.iter().next().unwrap().iter().next().unwrap();
        peer.send(&message(result), Some(result.handle));
        let outcome = pending.wait().reply().map(drop);
        (peer, outcome, connection.ended())
    });
    while peer.look(SECOND) {}
    assert!(peer.over);
    (outcome, ended)
}

#[test]
fn a_wrong_invalidation_ends_the_connection_with_a_reason() {
    let call = |_| {
        let mut message = Vec::new();
        append_words(&mut message, &[9, 1, 1, 0, 0, 0, 0]);
        message.extend(rpc_call(9, 0, 0));
        message
    };
    let reply = |Segment { handle, offset, .. }| {
        let mut message = Vec::new();
        append_words(&mut message, &[5, 1, 1, 0, 0, 1, 1, handle, 0, (offset >> 32) as u32, offset as u32, 0, 0]);
        append_words(&mut message, &[5, 1, 0, 0, 0, 0]);
        message
    };
    let ended = EndReason::PeerFault(PeerFault::CallInvalidated);
    let lost = Err(CallError::Lost(ended.clone(), Progress::Sent));
    assert_eq!(invalidating(Flags::REMOTE_INVALIDATION, call), (lost, Some(ended)));
    assert_eq!(invalidating(Flags::REMOTE_INVALIDATION, reply), (Ok(()), None));
    // The reply is valid even so.
    let ended = EndReason::PeerFault(PeerFault::ReplyInvalidated);
    assert_eq!(invalidating(Flags::empty(), reply), (Ok(()), Some(ended)));
}

#[test]
fn exceeding_the_credits_ends_the_connection_with_a_reason() {
    let fabric = Fabric::new();
    let [here, there] = adapters(&fabric);
    let settings = Settings::server().to_builder().granted_credits(2).build().unwrap();
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut peer = Peer::connect(&here, &[]);
            // The Receive of a call is free again once the rest of the call was pulled.
            let Segment { handle, offset, .. } = peer.segment();
            for xid in 1..=3 {
                let mut message = Vec::new();
                append_words(
                    &mut message,
                    &[xid, 1, 32, 0, 1, 52, handle, 100, (offset >> 32) as u32, offset as u32, 0, 0, 0],
                );
                message.extend(rpc_call(xid, 1, 0));
                peer.send(&message, None);
            }
            while !peer.over {
                peer.look(SECOND);
            }
        });
        let connection = server.accept(10 * SECOND).unwrap().unwrap();
        let mut held = Vec::new();
        let ended = loop {
            match connection.request(10 * SECOND) {
                Ok(request) => held.push(request.expect("a call")),
                Err(ended) => break ended,
            }
        };
        // Calls before the third may not have been handed over when it came.
        assert!(held.len() <= 2, "{}", held.len());
        assert_eq!(ended, EndReason::PeerFault(PeerFault::CreditExceeded));
    });
}

/// If both ends call, an ambiguous message is a reply if one with its XID is awaited, and otherwise a call.
#[test]
fn damaged_replies_are_ignored_and_damaged_calls_refused() {
    in_time(|| {
        let fabric = Fabric::new();
        let [here, there] = adapters(&fabric);
        let listener = there.listen(ADDRESS.parse().unwrap(), 1).unwrap();
        thread::scope(|scope| {
            let server = scope.spawn(move || {
                let mut peer = Peer::accept(&there, &listener, &[]);
                while peer.got.is_empty() {
                    peer.look(SECOND);
                }
                let xid = u32::from_be_bytes(peer.got.pop_front().unwrap()[..4].try_into().unwrap());
                for xid in [xid, 99] {
                    // A list without an end, a message that is nowhere, and one in a chunk that was not offered.
                    for rest in [&[0, 1, 0, 0][..], &[1, 0, 0, 0], &[1, 0, 0, 1, 1, 6, 9, 0, 0]] {
                        let mut message = Vec::new();
                        append_words(&mut message, &[xid, 1, 1]);
                        append_words(&mut message, rest);
                        peer.send(&message, None);
                    }
                }
                while peer.got.len() < 3 {
                    peer.look(SECOND);
                }
                let mut message = Vec::new();
                append_words(&mut message, &[xid, 1, 1, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0]);
                peer.send(&message, None);
                peer.settle();
                peer.got
            });
            let settings = Settings::builder().granted_credits(8).build().unwrap();
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            client.call(&mut Call::new(Stream::from(rpc_call(client.xid(), 0, 0)), 24)).unwrap().results().unwrap();
            let answers: Vec<_> = server.join().unwrap().into();
            let mut refused = Vec::new();
            append_words(&mut refused, &[99, 1, 8, 4, 2]);
            assert_eq!(answers, [&refused[..]; 3]);
        });
    });
}

/// Calls with RPCSEC_GSS of this service and a Write chunk, and returns the octets of the result that came by RDMA Write and in the
/// Send. The call is a long one, so that the Responder does not see its credential. `service` as of RFC 2203 section 5.3.1.
fn result_of_gss(peer: &mut Peer, service: u32) -> (u32, usize) {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
    // Version 1, DATA, sequence number, service, no context; no verifier; the arguments are of no interest.
    let rpc = words(&[9, 0, 2, 400_100, 1, 1, 6, 20, 1, 0, 7, service, 0, 0, 0]);
    peer.verbs.write(&peer.memory, |memory| memory[..rpc.len()].copy_from_slice(&rpc)).unwrap();
    let Segment { handle, offset, .. } = peer.segment();
    let segment = |offset: u64, length| [handle, length, (offset >> 32) as u32, offset as u32];
    let (call, room) = (segment(offset, rpc.len() as u32), segment(offset + 4096, 4096));
    let header = [&[9, 1, 1, 1, 1, 0][..], &call, &[0, 1, 1], &room, &[0, 0]].concat();
    peer.send(&words(&header), None);
    while peer.got.is_empty() && !peer.over {
        peer.look(10 * SECOND);
    }
    let reply = peer.got.pop_front().unwrap();
    (u32::from_be_bytes(*reply[32..].first_chunk().unwrap()), reply.len() - 4 * (13 + 6 + 1))
}

/// RFC 8166 section 8.2.2.3: results that RPCSEC_GSS covers are not reduced.
#[test]
fn protected_results_are_never_reduced() {
    const INTEGRITY: u32 = 2;
    for takes in [false, true] {
        let fabric = Fabric::new();
        let [here, there] = adapters(&fabric);
        let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
        let stopping = Stopping(server.stopper());
        thread::scope(|scope| {
            scope.spawn(|| {
                server.serve(&|mut request: Request<Adapter>| {
                    let message = if takes { request.take_message() } else { Vec::new() };
                    assert_eq!((message.is_empty(), request.message().is_empty()), (!takes, takes));
                    let reply = request.accept();
                    reply.push(&600_u32.to_be_bytes());
                    reply.push_item(vec![7; 600]);
                    request.answer().unwrap();
                })
            });
            let stopping = stopping;
            let mut peer = Peer::connect(&here, &[]);
            assert_eq!(result_of_gss(&mut peer, 1), (600, 0), "not protected, taken: {takes}");
            assert_eq!(result_of_gss(&mut peer, INTEGRITY), (0, 600), "protected, taken: {takes}");
            drop(stopping);
        });
    }
}
