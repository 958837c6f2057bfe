//! A server of `verbs-shim` on the loopback, and a peer that sends anything.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_gen::{Choices, Draft, Field, Format, Label, Role};
use rpcrdma_verbs::loopback::{Adapter, Domain, Fabric, QueuePair, Region};
use rpcrdma_verbs::{
    Access, Call, Client, Depths, Dispatcher, EndReason, Local, Operation, Request, Server, Service, Settings, Status,
    Stopper, Verbs, Versions, Work,
};

use super::{RECEIVE, RECEIVES, format, message};

const REQUESTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const RESPONDER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const PORT: u16 = 20049;
/// The program that messages of the generator call.
const PROGRAM: u32 = 0x2000_0166;
/// The most messages of a connection: each costs a turn of two threads.
const MESSAGES: usize = 20;
/// Octets that the peer advertises.
const MEMORY: usize = 1 << 16;
/// Anything that is due comes far sooner.
const SOON: Duration = Duration::from_secs(5);
const RESULT: [u8; 8] = *b"a result";

/// With the octets as choices: a server answers a peer that sends anything, and afterwards still answers a correct
/// client; when the server has stopped, no memory is registered, and no connection has ended for a fault of the server.
///
/// # Panics
/// If this does not hold.
pub fn loopback(octets: &[u8]) {
    let fabric = Fabric::new();
    let choices = &mut Choices::of_octets(octets);
    let format = format(choices);
    let [here, there] = [REQUESTER, RESPONDER].map(|address| must(fabric.adapter(address)));
    let settings = must(Settings::server().to_builder().versions(Versions::all()).build());
    let server = must(Server::bind(&there, SocketAddr::from((RESPONDER, PORT)), settings));
    let stopping = Stopping(server.stopper());
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&Blameless(programs())));
        if let Some(mut peer) = Peer::connect(&here) {
            peer.attack(choices, format);
        }
        good_call(&here);
        drop(stopping);
        must(serving.join().unwrap_or_else(|_| panic!("a thread of the server has panicked")));
    });
    drop(server);
    let until = Instant::now() + SOON;
    while fabric.registered() > 0 {
        assert!(Instant::now() < until, "memory is still registered");
        thread::yield_now();
    }
}

/// Unwraps a result that is an error only if this file has a mistake, or the server a fault.
fn must<T, E: core::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// Stops a server, however this ends.
struct Stopping(Stopper);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Answers, and checks that no connection ends for a fault of this end.
struct Blameless(Dispatcher<'static, Adapter>);

impl Service<Adapter> for Blameless {
    fn call(&self, request: Request<Adapter>) {
        self.0.call(request);
    }

    fn ended(&self, _: SocketAddr, why: &EndReason) {
        assert!(!matches!(why, EndReason::Internal(_) | EndReason::Refused(_)), "{why}");
    }
}

/// One procedure with an item that may be reduced, and one without.
fn programs() -> Dispatcher<'static, Adapter> {
    let with_item = Dispatcher::default().with_procedure(PROGRAM, 1, 1, |_, results| {
        results.push(&100_u32.to_be_bytes());
        results.push_item(vec![7; 100]);
        Ok(())
    });
    with_item.with_procedure(PROGRAM, 1, 2, |_, results| {
        results.push(&RESULT);
        Ok(())
    })
}

fn good_call(here: &Adapter) {
    let client = must(Client::connect(here, SocketAddr::from((RESPONDER, PORT)), &Settings::client()));
    let mut call = Call::rpc(PROGRAM, 1, 2).with_results_length(RESULT.len() as u32);
    assert_eq!(must(client.call(&mut call)).results().ok(), Some(RESULT.as_slice()), "what the server returns");
}

/// One end of a connection, by verbs alone.
struct Peer {
    adapter: Adapter,
    domain: Domain,
    queue_pair: QueuePair,
    receives: Vec<Region>,
    /// Its chunks.
    memory: Region,
}

impl Peer {
    /// `None` if the server refuses the connection.
    fn connect(adapter: &Adapter) -> Option<Self> {
        let domain = must(adapter.domain());
        let region = |length: usize, access| must(adapter.register(&domain, vec![0; length], access));
        let peer = Self {
            adapter: adapter.clone(),
            queue_pair: must(adapter.queue_pair(&domain, Depths::default())),
            receives: (0..RECEIVES).map(|_| region(RECEIVE, Access::LOCAL_WRITE)).collect(),
            memory: region(MEMORY, Access::LOCAL_WRITE | Access::REMOTE_READ | Access::REMOTE_WRITE),
            domain,
        };
        (0..RECEIVES as u64).for_each(|id| peer.post_receive(id));
        must(adapter.connect(&peer.queue_pair, SocketAddr::from((RESPONDER, PORT)), &[]));
        must(adapter.connected(&peer.queue_pair, SOON)).map(|_| peer)
    }

    /// A failure means that the connection has ended, which the next completion says.
    fn post_receive(&self, id: u64) {
        let receive = self.receives.get(id as usize).map(|region| Local::whole_region(region, RECEIVE));
        receive.map(|local| self.adapter.post_receive(&self.queue_pair, id, local));
    }

    /// Sends until the server ends the connection.
    fn attack(&mut self, choices: &mut Choices<'_>, format: Format) {
        for _ in 0..=choices.below(MESSAGES as u32) {
            let mut octets = message(choices, format, Role::Call, &[1, 2, 3]);
            if choices.below(4) > 0 {
                octets = self.with_memory(format, &octets);
            }
            let invalidated = if choices.below(16) == 0 { Some(choices.word()) } else { None };
            if self.send(octets, invalidated).is_none() {
                return;
            }
        }
    }

    /// The message with memory that is there.
    fn with_memory(&self, format: Format, octets: &[u8]) -> Vec<u8> {
        let segment = self.adapter.segment(&self.memory);
        let mut draft = Draft::read(format, octets);
        for (label, word) in &mut draft.words {
            match label {
                Label::Segment(_, Field::Handle) => *word = segment.handle,
                Label::Segment(_, Field::OffsetHigh) => *word = (segment.offset >> 32) as u32,
                Label::Segment(_, Field::OffsetLow) => *word = segment.offset as u32,
                _ => {}
            }
        }
        draft.octets()
    }

    /// Sends a message, and waits for the arrival; `None` once the connection has ended.
    fn send(&self, octets: Vec<u8>, invalidated: Option<u32>) -> Option<()> {
        let (length, id) = (octets.len(), RECEIVES as u64);
        let region = must(self.adapter.register(&self.domain, octets, Access::empty()));
        let operation = invalidated.map_or(Operation::Send, Operation::SendWithInvalidate);
        self.adapter.post(&self.queue_pair, Work::new(id, operation, Local::whole_region(&region, length))).ok()?;
        loop {
            let done = self.adapter.completion(&self.queue_pair, SOON).ok()??;
            if done.status != Status::Success {
                return None;
            } else if done.id == id {
                return Some(());
            }
            self.post_receive(done.id);
        }
    }
}
