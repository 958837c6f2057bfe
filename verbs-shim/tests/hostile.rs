//! Peers that follow no rules, built on verbs alone, against a server and against a client. What they send is drawn
//! from seeds: sound messages of every form, and what becomes of them when words are changed, cut or added.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod dissected;
#[path = "support/stopping.rs"]
mod stopping;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma::segment::Segment;
use rpcrdma_tools::echo::{self, Caller, Carry, programs};
use rpcrdma_verbs::loopback::{Adapter, Fabric, PathMtu, QueuePair, Region};
use rpcrdma_verbs::{
    Access, Call, CallError, Client, Depths, Dispatcher, Ended, Error, Kind, Local, Operation, PeerFault, Progress,
    Request, Server, Service, Settings, Status, Stream, Verbs, Work,
};

use dissected::{File, dissect};
use stopping::Stopping;

const ADDRESS: &str = "192.0.2.2:20049";
const SECOND: Duration = Duration::from_secs(1);

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

    fn ended(&self, _: SocketAddr, why: &Ended) {
        assert!(!matches!(why, Ended::Internal(_) | Ended::Refused(_)), "{why}");
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

fn good_calls(here: &Adapter) {
    let client = Client::connect(here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
    for carry in Carry::ALL {
        for length in [0, 3, 600] {
            Caller::echo(carry, length, &client.connection().terms()).unwrap().call(&client).unwrap();
        }
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    fn below(&mut self, end: usize) -> usize {
        self.word() as usize % end
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn odd(&mut self) -> u32 {
        let words = [0, 1, 2, 3, 4, 5, 28, 44, 0x7fff_ffff, 0x8000_0000, 0xffff_fffc, u32::MAX, self.word()];
        words[self.below(words.len())]
    }
}

/// One end of a connection, by verbs alone.
struct Peer {
    verbs: Adapter,
    queue_pair: QueuePair,
    receives: Vec<Region>,
    sends: Vec<Region>,
    idle: Vec<usize>,
    /// What is advertised.
    memory: Region,
    got: VecDeque<Vec<u8>>,
    over: bool,
    sent: usize,
}

const SIZE: usize = 4096;
const QUEUE: usize = 48;

impl Peer {
    fn new(verbs: &Adapter) -> Self {
        let domain = verbs.domain().unwrap();
        let register = |octets: usize, access| verbs.register(&domain, vec![0; octets], access).unwrap();
        let peer = Self {
            verbs: verbs.clone(),
            queue_pair: verbs.queue_pair(&domain, Depths::default()).unwrap(),
            receives: (0..QUEUE).map(|_| register(SIZE, Access::LOCAL_WRITE)).collect(),
            sends: (0..QUEUE).map(|_| register(SIZE + 64, Access::empty())).collect(),
            idle: (0..QUEUE).collect(),
            memory: register(1 << 16, Access::LOCAL_WRITE | Access::REMOTE_READ | Access::REMOTE_WRITE),
            got: VecDeque::new(),
            over: false,
            sent: 0,
        };
        (0..QUEUE).for_each(|number| peer.post_receive(number).unwrap());
        peer
    }

    fn connect(verbs: &Adapter, private_data: &[u8]) -> Self {
        let peer = Self::new(verbs);
        peer.verbs.connect(&peer.queue_pair, ADDRESS.parse().unwrap(), private_data).unwrap();
        assert!(peer.verbs.connected(&peer.queue_pair, 10 * SECOND).unwrap().is_some());
        peer
    }

    fn post_receive(&self, number: usize) -> Result<(), Error> {
        let local = Local::all(&self.receives[number], SIZE);
        self.verbs.post_receive(&self.queue_pair, (1 << 32) + number as u64, local)
    }

    /// Takes a completion, if there is one.
    fn look(&mut self, timeout: Duration) -> bool {
        match self.verbs.completion(&self.queue_pair, timeout) {
            Ok(Some(done)) if done.status == Status::Success => {
                let number = done.id as u32 as usize;
                if done.kind == Kind::Receive {
                    let octets = self.verbs.read(&self.receives[number], |octets| octets[..done.length].to_vec());
                    self.got.push_back(octets.unwrap());
                    self.over |= self.post_receive(number).is_err();
                } else {
                    self.idle.push(number);
                }
                true
            }
            Ok(None) => false,
            _ => {
                self.over = true;
                false
            }
        }
    }

    fn send(&mut self, octets: &[u8], invalidate: Option<u32>) {
        while self.idle.is_empty() && !self.over {
            self.look(10 * SECOND);
        }
        let Some(number) = self.idle.pop().filter(|_| !self.over) else { return };
        let length = octets.len().min(SIZE + 64);
        self.verbs.write(&self.sends[number], |buffer| buffer[..length].copy_from_slice(&octets[..length])).unwrap();
        let operation = invalidate.map_or(Operation::Send, Operation::SendWithInvalidate);
        let work = Work::new(number as u64, operation, Local::all(&self.sends[number], length));
        self.over = self.verbs.post(&self.queue_pair, work).is_err();
        self.sent += 1;
    }

    /// Waits until all that was sent has arrived.
    fn settle(&mut self) {
        while self.idle.len() < QUEUE && !self.over {
            self.look(10 * SECOND);
        }
        while !self.over && self.look(Duration::ZERO) {}
    }

    fn segment(&self) -> Segment {
        self.verbs.segment(&self.memory)
    }
}

fn put(message: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| message.extend_from_slice(&word.to_be_bytes()));
}

/// A segment, usually of advertised memory.
fn segment(random: &mut Random, memory: Segment) -> [u32; 4] {
    let at = random.below(1000) as u32 * 4;
    let length = random.below(2000) as u32;
    let offset = memory.offset + u64::from(at);
    let mut words = [memory.handle, length, (offset >> 32) as u32, offset as u32];
    if random.one_in(60) {
        let word = random.below(4);
        words[word] = random.odd();
    }
    words
}

/// The RPC header of a call of the echo program, and arguments of GIVE, which are also those of ECHO of no octets.
fn rpc_call(xid: u32, procedure: u32, wanted: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    put(&mut octets, &[xid, 0, 2, echo::PROGRAM, echo::VERSION, procedure, 0, 0, 0, 0, 0, wanted, 0]);
    octets
}

/// A message to a server, usually a correct one.
fn call(random: &mut Random, memory: Segment) -> Vec<u8> {
    let (xid, long) = (random.below(8) as u32, random.one_in(4));
    let mut message = Vec::new();
    let procedure = if random.one_in(12) { random.odd() } else { u32::from(long) };
    put(&mut message, &[xid, 1, if random.one_in(8) { random.odd() } else { 32 }, procedure]);
    for chunk in 0..[0, 0, 1, 2][random.below(4)] + u32::from(long) {
        let position = if long && chunk == 0 { 0 } else { [44, 48, 52, 0][random.below(4)] };
        put(&mut message, &[1, position]);
        put(&mut message, &segment(random, memory));
    }
    put(&mut message, &[0]);
    for _ in 0..[0, 1, 1, 2][random.below(4)] {
        let segments = random.below(4);
        put(&mut message, &[1, segments as u32]);
        (0..segments).for_each(|_| put(&mut message, &segment(random, memory)));
    }
    put(&mut message, &[0, u32::from(random.one_in(2))]);
    if message.ends_with(&[1]) {
        let segments = random.below(4);
        put(&mut message, &[segments as u32]);
        (0..segments).for_each(|_| put(&mut message, &segment(random, memory)));
    }
    if !long {
        let wanted = random.below(4000) as u32;
        message.extend(rpc_call(xid, random.below(7) as u32, wanted));
    }
    message
}

/// Changes words, cuts the end off, or appends.
fn spoil(random: &mut Random, message: &mut Vec<u8>) {
    for _ in 0..random.below(3) {
        let word = random.below(message.len().max(4) / 4) * 4;
        let odd = random.odd();
        if let Some(place) = message.get_mut(word..word + 4) {
            place.copy_from_slice(&odd.to_be_bytes());
        }
    }
    match random.below(12) {
        0 => message.truncate(random.below(message.len() + 1)),
        1 => message.resize(message.len() + random.below(60), 0xa5),
        2 => message.resize(SIZE, 0),
        _ => {}
    }
}

/// The content of the valid memory: a Long Call for each XID in use, as many as fit.
fn fill(peer: &Peer, random: &mut Random) {
    let call = rpc_call(random.below(8) as u32, 5, 3000);
    peer.verbs
        .write(&peer.memory, |octets| {
            octets.chunks_mut(call.len()).for_each(|part| part.copy_from_slice(&call[..part.len()]))
        })
        .unwrap();
}

fn attack_server(here: &Adapter, seed: u64, sends: usize) -> (usize, usize) {
    let mut random = Random(seed);
    let (mut sent, mut connections, mut answers) = (0, 0, 0);
    while sent < sends {
        let private_data: Vec<u8> = (0..random.below(57)).map(|_| random.word() as u8).collect();
        let mut peer = Peer::connect(here, &private_data);
        connections += 1;
        fill(&peer, &mut random);
        while !peer.over && peer.sent < 1000 {
            for _ in 0..if random.one_in(20) { random.below(60) } else { 1 } {
                let mut message = call(&mut random, peer.segment());
                if random.one_in(3) {
                    spoil(&mut random, &mut message);
                }
                // A Send too long for its Receive ends the connection: the adapter sees to that.
                message.truncate(if random.one_in(500) { SIZE + 1 } else { SIZE });
                let invalidate = random.one_in(1000).then(|| random.odd());
                peer.send(&message, invalidate);
            }
            peer.settle();
        }
        sent += peer.sent;
        answers += peer.got.len();
        for answer in &peer.got {
            // An ERR_VERS has the version of the failing Call.
            let is_error = answer[12..16] == [0, 0, 0, 4];
            assert!(is_error || rpcrdma::v1::Message::decode(answer).is_ok(), "{answer:02x?}");
        }
    }
    println!("{sent} Sends on {connections} connections, {answers} answers");
    (connections, answers)
}

#[test]
fn a_server_outlasts_whatever_is_sent() {
    in_time(|| {
        let fabric = Fabric::new();
        beside_a_server(&fabric, Settings::server(), |here| {
            for seed in 1..=8 {
                let (connections, answers) = attack_server(here, seed, 4000);
                assert!(connections > 1 && answers > 1000, "{connections} {answers}");
                good_calls(here);
            }
        });
    });
}

#[test]
fn what_was_sent_to_a_server_can_be_decoded_from_its_capture() {
    in_time(|| {
        let file = File::default();
        let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
        beside_a_server(&fabric, Settings::server().to_builder().served(4).build().unwrap(), |here| {
            attack_server(here, 99, 2000);
        });
        assert!(fabric.end_capture().unwrap() > 4000);
        let found = dissect(&file.octets());
        assert!(found.transactions.len() > 500, "{}", found.transactions.len());
        let broken: Vec<_> = found.broken.iter().map(|broken| (broken.slug, broken.xid)).collect();
        assert!(broken.iter().any(|(slug, _)| *slug == "list-truncated"), "{broken:?}");
    });
}

#[test]
fn peers_that_say_nothing_do_not_keep_a_server_from_others_nor_from_stopping() {
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
                put(&mut message, &[xid, 1, 32, 0, 0, 0, 0]);
                message.extend(rpc_call(xid, 0, 0));
                deaf.send(&message, None);
            }
            deaf.look(SECOND / 10);
            good_calls(here);
            drop((memory, deaf, silent));
        });
    });
}

/// A reply to a Call, usually a correct one: its chunks come back.
fn reply(random: &mut Random, octets: &[u8]) -> Option<(Vec<u8>, Option<u32>)> {
    let (header, payload) = rpcrdma::v1::Header::decode(octets).ok()?;
    let chunks = header.chunks()?;
    let mut message = Vec::new();
    put(&mut message, &[header.xid, 1, if random.one_in(4) { random.odd() } else { 32 }, 0, 0]);
    let mut handle = chunks.reads.get(0).map(|read| read.target.handle);
    for chunk in chunks.writes {
        put(&mut message, &[1, chunk.len() as u32]);
        for segment in chunk.iter() {
            handle = handle.or(Some(segment.handle));
            let length = segment.length.min(random.below(200) as u32);
            put(&mut message, &[segment.handle, length, (segment.offset >> 32) as u32, segment.offset as u32]);
        }
    }
    put(&mut message, &[0, 0, header.xid, 1, 0, 0, 0, 0]);
    assert!(payload.len() >= 40 || !chunks.reads.is_empty());
    Some((message, handle))
}

/// Answers calls until the connection ends, and sends other messages in between.
fn answer_badly(random: &mut Random, peer: &mut Peer) {
    let mut before: VecDeque<Vec<u8>> = VecDeque::new();
    while !peer.over {
        peer.look(SECOND);
        while let Some(octets) = peer.got.pop_front() {
            let Some((sound, handle)) = reply(random, &octets) else { continue };
            let much = random.below(4);
            for _ in 0..much {
                // An earlier reply, an error, a Call, or the same reply damaged.
                let mut message = match random.below(5) {
                    0 if !before.is_empty() => before[random.below(before.len())].clone(),
                    1 => [&sound[..4], &[0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0, random.below(4) as u8]].concat(),
                    2 => call(random, peer.segment()),
                    _ => sound.clone(),
                };
                spoil(random, &mut message);
                let invalidate = random.one_in(200).then(|| random.odd());
                peer.send(&message, invalidate);
            }
            // If an earlier message was taken for the reply, the handle may be gone.
            peer.send(&sound, handle.filter(|_| much == 0));
            if random.one_in(20) {
                peer.send(&sound, None);
            }
            before.push_back(sound);
            before.truncate(8);
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
        let (mut call, outcome) = client.start(call).wait();
        assert!(call.message().items().eq([vec![xid as u8; item]]), "buffers come back");
        assert_eq!(call.rooms()[0], vec![xid as u8; room], "nobody has written to it");
        match outcome {
            Ok(()) => {
                assert_eq!(call.reply()[..8], [xid.to_be_bytes(), 1_u32.to_be_bytes()].concat());
                assert!(call.result(0).len() <= room);
                counts[0] += 1;
            }
            Err(CallError::Lost(ended, _)) => {
                assert!(matches!(ended, Ended::PeerFault(_) | Ended::Peer | Ended::Failed(..)), "{ended}");
                counts[1] += 1;
                return;
            }
            Err(_) => counts[2] += 1,
        }
    }
}

#[test]
fn a_client_outlasts_whatever_is_answered() {
    in_time(|| {
        let fabric = Fabric::new();
        let [here, there] = adapters(&fabric);
        let listener = there.listen(ADDRESS.parse().unwrap(), 16).unwrap();
        let (mut sent, mut counts) = (0, [0; 3]);
        for seed in 1..=200_u64 {
            // Every other client is called too.
            let settings = Settings::client().to_builder().served((seed % 2) as u32 * 4).build().unwrap();
            let (listener, there) = (&listener, &there);
            sent += thread::scope(|scope| {
                let server = scope.spawn(move || {
                    let mut random = Random(seed << 32 | 5);
                    let request = there.request(listener, 10 * SECOND).unwrap().unwrap();
                    let mut peer = Peer::new(there);
                    let sizes = (SIZE as u32, SIZE as u32);
                    let said =
                        PrivateData { flags: Flags::REMOTE_INVALIDATION, send_size: sizes.0, receive_size: sizes.1 };
                    there.accept(request, &peer.queue_pair, &said.to_octets()).unwrap();
                    answer_badly(&mut random, &mut peer);
                    peer.sent
                });
                let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
                call_badly_served(&client, &mut Random(seed), &mut counts);
                drop(client);
                server.join().unwrap()
            });
            nothing_stays_registered(&fabric);
        }
        println!("{sent} Sends; calls that were answered, were lost, and failed: {counts:?}");
        assert!(sent > 10_000 && counts.iter().all(|&count| count > 50), "{sent} {counts:?}");
    });
}

#[test]
fn a_grant_of_nothing_or_of_everything_is_taken_for_what_it_can_be() {
    in_time(|| {
        let fabric = Fabric::new();
        let [here, there] = adapters(&fabric);
        let listener = there.listen(ADDRESS.parse().unwrap(), 16).unwrap();
        thread::scope(|scope| {
            let server = scope.spawn(move || {
                let request = there.request(&listener, 10 * SECOND).unwrap().unwrap();
                let mut peer = Peer::new(&there);
                there.accept(request, &peer.queue_pair, &[]).unwrap();
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
                        put(&mut message, &[xid, 1, grant, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0]);
                        peer.send(&message, None);
                    }
                    peer.settle();
                }
                most
            });

            let client = Client::connect(
                &here,
                ADDRESS.parse().unwrap(),
                &Settings::client().to_builder().calls(3).build().unwrap(),
            );
            let client = client.unwrap();
            let pending: Vec<_> =
                (0..9).map(|_| client.start(Call::new(Stream::from(rpc_call(client.xid(), 0, 0)), 24))).collect();
            for pending in pending {
                pending.wait().1.unwrap();
            }
            assert_eq!(server.join().unwrap(), [1, 1, 3, 1, 3]);
        });
        assert_eq!(fabric.registered(), 0);
    });
}

/// Lets a server call a peer that announces these flags, and that sends this message back and invalidates the memory of
/// the call with it. Returns the outcome of the call, and why the connection has ended.
fn invalidating(flags: Flags, message: impl Fn(Segment) -> Vec<u8>) -> (Result<(), CallError>, Option<Ended>) {
    let fabric = Fabric::new();
    let [here, there] = adapters(&fabric);
    let settings = Settings::server().to_builder().calls(4).timeout(Some(10 * SECOND)).build().unwrap();
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
        let outcome = pending.wait().1;
        (peer, outcome, connection.ended())
    });
    while peer.look(SECOND) {}
    assert!(peer.over);
    (outcome, ended)
}

#[test]
fn what_may_not_invalidate_memory_ends_the_connection_and_is_named() {
    let call = |_| {
        let mut message = Vec::new();
        put(&mut message, &[9, 1, 1, 0, 0, 0, 0]);
        message.extend(rpc_call(9, 0, 0));
        message
    };
    let reply = |Segment { handle, offset, .. }| {
        let mut message = Vec::new();
        put(&mut message, &[5, 1, 1, 0, 0, 1, 1, handle, 0, (offset >> 32) as u32, offset as u32, 0, 0]);
        put(&mut message, &[5, 1, 0, 0, 0, 0]);
        message
    };
    let ended = Ended::PeerFault(PeerFault::CallInvalidated);
    let lost = Err(CallError::Lost(ended.clone(), Progress::Sent));
    assert_eq!(invalidating(Flags::REMOTE_INVALIDATION, call), (lost, Some(ended)));
    assert_eq!(invalidating(Flags::REMOTE_INVALIDATION, reply), (Ok(()), None));
    // The reply is valid even so.
    let ended = Ended::PeerFault(PeerFault::ReplyInvalidated);
    assert_eq!(invalidating(Flags::empty(), reply), (Ok(()), Some(ended)));
}

#[test]
fn a_peer_that_exceeds_its_credits_is_cut_off_and_that_is_named() {
    let fabric = Fabric::new();
    let [here, there] = adapters(&fabric);
    let settings = Settings::server().to_builder().served(2).build().unwrap();
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut peer = Peer::connect(&here, &[]);
            // The Receive of a call is free again once the rest of the call was pulled.
            let Segment { handle, offset, .. } = peer.segment();
            for xid in 1..=3 {
                let mut message = Vec::new();
                put(&mut message, &[xid, 1, 32, 0, 1, 52, handle, 100, (offset >> 32) as u32, offset as u32, 0, 0, 0]);
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
        assert_eq!((held.len(), ended), (2, Ended::PeerFault(PeerFault::CreditExceeded)));
    });
}

/// If both ends call, an ambiguous message is a reply if one with its XID is awaited, and otherwise a call.
#[test]
fn a_damaged_reply_is_met_with_silence_and_a_damaged_call_with_an_error() {
    in_time(|| {
        let fabric = Fabric::new();
        let [here, there] = adapters(&fabric);
        let listener = there.listen(ADDRESS.parse().unwrap(), 1).unwrap();
        thread::scope(|scope| {
            let server = scope.spawn(move || {
                let request = there.request(&listener, 10 * SECOND).unwrap().unwrap();
                let mut peer = Peer::new(&there);
                there.accept(request, &peer.queue_pair, &[]).unwrap();
                while peer.got.is_empty() {
                    peer.look(SECOND);
                }
                let xid = u32::from_be_bytes(peer.got.pop_front().unwrap()[..4].try_into().unwrap());
                for xid in [xid, 99] {
                    // A list without an end, a message that is nowhere, and one in a chunk that was not offered.
                    for rest in [&[0, 1, 0, 0][..], &[1, 0, 0, 0], &[1, 0, 0, 1, 1, 6, 9, 0, 0]] {
                        let mut message = Vec::new();
                        put(&mut message, &[xid, 1, 1]);
                        put(&mut message, rest);
                        peer.send(&message, None);
                    }
                }
                while peer.got.len() < 3 {
                    peer.look(SECOND);
                }
                let mut message = Vec::new();
                put(&mut message, &[xid, 1, 1, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0]);
                peer.send(&message, None);
                peer.settle();
                peer.got
            });
            let settings = Settings::client().to_builder().served(8).build().unwrap();
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            client.call(&mut Call::new(Stream::from(rpc_call(client.xid(), 0, 0)), 24)).unwrap();
            let answers: Vec<_> = server.join().unwrap().into();
            let mut refused = Vec::new();
            put(&mut refused, &[99, 1, 8, 4, 2]);
            assert_eq!(answers, [&refused[..]; 3]);
        });
    });
}
