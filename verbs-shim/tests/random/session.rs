//! A client and a server, and the calls between them.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use rpcrdma::endpoint::Limits;
use rpcrdma::endpoint::responder::{ReplyFault, ReplyForm};
use rpcrdma::v1::ErrorBody;
use rpcrdma::v2::{ErrorBodyV2, ErrorCode};
use rpcrdma_verbs::loopback::{Adapter, Fabric, Fault, Faults, PathMtu};
use rpcrdma_verbs::{
    Call, CallError, Client, Connection, EndReason, Error, Progress, Request, Server, Service, Settings,
    SettingsBuilder, StartedCall, Status, Version, Versions,
};

use crate::ENDED;
use crate::dissected::{Broken, File, dissect};
use crate::shape::{Does, Places, Random, Shape};

/// XIDs of the server's calls.
const REVERSE: u32 = 0x8000_0000;
const ADDRESS: &str = "192.0.2.2:20049";

/// The shape of a session.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    seed: u64,
    captured: Option<PathMtu>,
    /// One step in this many fails on the client's adapter, and on the server's.
    faults: [u64; 2],
    /// Calls are given up: they are dropped, or they time out.
    cancels: bool,
    /// The server accepts smaller calls than the client makes, and can register few regions besides its own buffers.
    tight: bool,
    /// The client can register this many regions besides its own buffers.
    regions: Option<usize>,
    threads: usize,
    /// Calls of each thread.
    calls: u32,
    /// Calls of the server.
    reverse: u32,
    /// The most octets of an item.
    octets: u64,
    client: Settings,
    server: Settings,
}

impl Plan {
    /// A session of this version made from a seed, with this many times the usual number of calls. The server accepts other
    /// versions too.
    pub(crate) fn from_seed(version: Version, seed: u64, times: u32) -> Self {
        let mut random = Random(seed);
        let captured = random.one_in(8).then(|| {
            random.choose_one(&[PathMtu::Octets256, PathMtu::Octets1024, PathMtu::Octets1024, PathMtu::Octets4096])
        });
        let rough = !random.one_in(3);
        let faults = [random.choose_one(&[0, 30, 300, 1500]), random.choose_one(&[0, 100, 1000])]
            .map(|many| if rough { many } else { 0 });
        let cancels = rough && random.one_in(3);
        let regions = (rough && random.one_in(4)).then(|| random.below(8) as usize);
        let reverse = if regions.is_none() && random.one_in(3) { random.below(100) as u32 } else { 0 };
        let tight = random.one_in(6);
        let of_calls = |random: &mut Random| 1 + random.below(32) as u32;
        let sizes = |random: &mut Random, builder: SettingsBuilder| {
            let builder =
                builder.send_size(random.choose_one(&[1024, 4096])).receive_size(random.choose_one(&[1024, 4096]));
            builder.remote_invalidation(!random.one_in(4)).limits(Limits::new().with_chunks(16, 16))
        };
        let timeout = Some(if cancels { Duration::from_millis(3) } else { Duration::from_secs(40) });
        let client = sizes(&mut random, Settings::builder().timeout(timeout).kept_given_up_calls(usize::MAX));
        let client =
            client.requested_credits(of_calls(&mut random)).granted_credits(of_calls(&mut random).min(reverse));
        let client = client.versions(Versions::from(version));
        let server = sizes(&mut random, Settings::server().to_builder().timeout(timeout).versions(Versions::all()));
        let mut server =
            server.granted_credits(of_calls(&mut random)).requested_credits(of_calls(&mut random).min(reverse));
        if tight {
            server = server.limits(Limits::new().with_segments(3).with_octets(20_000));
        }
        let threads = 1 + random.below(3) as usize;
        let calls = if captured.is_some() { 60 } else { times * (100 + random.below(200) as u32) };
        let octets = random.choose_one(&[100_000, 20_000, 4000]);
        let client = client.continued(random.choose_one(&[0, 10_000, u32::MAX])).build().unwrap();
        let server = server.build().unwrap();
        Self { seed, captured, faults, cancels, tight, regions, threads, calls, reverse, octets, client, server }
    }

    /// A session without faults in which calls are given up.
    pub(crate) fn dropping(version: Version, seed: u64) -> Self {
        let plan = Self::from_seed(version, seed, 1);
        let mut plan = Self { faults: [0, 0], cancels: true, tight: false, regions: None, threads: 8, ..plan };
        let timeout = Some(if seed.is_multiple_of(2) { Duration::from_millis(3) } else { Duration::from_secs(40) });
        let limits = Limits::new().with_chunks(16, 16);
        plan.client = plan.client.to_builder().timeout(timeout).build().unwrap();
        plan.server = plan.server.to_builder().timeout(timeout).limits(limits).build().unwrap();
        plan
    }

    /// Connections may be lost.
    fn is_rough(&self) -> bool {
        self.faults != [0, 0]
    }
}

/// Numbers of calls of a session, by their end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) answered: u64,
    /// Sent without expecting a reply.
    pub(crate) forgotten: u64,
    pub(crate) system_errors: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) given_up: u64,
    pub(crate) not_registered: u64,
    /// Transactions found in captures.
    pub(crate) captured: u64,
    connections: u64,
}

impl Tally {
    pub(crate) fn calls(&self) -> u64 {
        let replied = self.answered + self.system_errors + self.refused;
        replied + self.forgotten + self.lost + self.given_up + self.not_registered
    }

    pub(crate) fn add_tally(&mut self, other: &Self) {
        self.answered += other.answered;
        self.forgotten += other.forgotten;
        self.system_errors += other.system_errors;
        self.refused += other.refused;
        self.lost += other.lost;
        self.given_up += other.given_up;
        self.not_registered += other.not_registered;
        self.captured += other.captured;
        self.connections += other.connections;
    }
}

/// Time after which a future gives up its call, if calls are given up anyway.
const UNHEARD: Duration = Duration::from_secs(1);

/// State that all threads of a session share.
struct Session {
    plan: Plan,
    xid: AtomicU32,
    /// Calls that were answered with `ERR_CHUNK` because there was no room.
    refused: Mutex<HashSet<u32>>,
    tally: Mutex<Tally>,
    /// Requests that another thread answers.
    later: Mutex<Option<Sender<Request<Adapter>>>>,
    /// Addresses of the buffers of calls that the client has given up on this connection.
    given_up: Mutex<Vec<Places>>,
    /// Threads of the server that call.
    callers: Mutex<Vec<JoinHandle<()>>>,
    calling_back: AtomicUsize,
}

impl Session {
    fn shape(&self, xid: u32) -> Shape {
        let shape = Shape::from_seed(self.plan.seed, xid, self.plan.octets);
        if self.plan.client.versions() == Versions::ONE { shape.with_reply() } else { shape }
    }

    /// Checks a call octet by octet, and answers it.
    fn serve(&self, request: Request<Adapter>) {
        let shape = self.shape(request.xid());
        assert!(request.message() == shape.expected_call(), "the call {shape:?}");
        if shape.does == Does::Later {
            let unsent = match &*self.later.lock().unwrap() {
                Some(later) => later.send(request).err().map(|unsent| unsent.0),
                None => Some(request),
            };
            unsent.into_iter().for_each(|request| self.answer(&shape, request));
        } else {
            self.answer(&shape, request);
        }
    }

    fn answer(&self, shape: &Shape, mut request: Request<Adapter>) {
        match shape.does {
            Does::Drop => return,
            Does::Forget => {
                let forgotten = request.forget();
                assert!(forgotten.is_ok() || self.plan.is_rough() || self.plan.cancels, "{shape:?}: {forgotten:?}");
                return;
            }
            Does::Answer | Does::Later => {}
        }
        shape.reply(request.accept());
        match request.answer() {
            Ok(ReplyForm::Short | ReplyForm::Long | ReplyForm::Continued) => {
                assert!(self.may_have_fewer_chunks(shape) || !shape.has_to_be_refused(), "{shape:?}");
            }
            Ok(ReplyForm::Refused) => {
                assert!(shape.may_be_refused(), "there is room for the reply to {shape:?}");
                self.refused.lock().unwrap().insert(shape.xid);
            }
            Err(ReplyFault::NoCall) => assert!(self.plan.is_rough() || self.plan.cancels, "{shape:?} has gone"),
            wrong => panic!("{wrong:?} for {shape:?}"),
        }
    }

    /// Answers requests late and in another order.
    fn answer_later(&self, requests: Receiver<Request<Adapter>>) {
        let mut random = Random(self.plan.seed ^ 1);
        let mut held = Vec::new();
        loop {
            match requests.recv_timeout(Duration::from_micros(300)) {
                Ok(request) if held.len() < 8 => held.push(request),
                Ok(request) => self.answer(&self.shape(request.xid()), request),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if self.plan.cancels && random.one_in(10) {
                        thread::sleep(Duration::from_millis(random.below(8)));
                    }
                    while !held.is_empty() {
                        let request = held.swap_remove(random.below(held.len() as u64) as usize);
                        self.answer(&self.shape(request.xid()), request);
                    }
                }
            }
        }
    }

    /// Makes this many calls, or fewer if the connection ends.
    fn call(&self, connection: &Connection<Adapter>, direction: u32, calls: &mut u32) {
        let first = self.xid.fetch_add(*calls, Ordering::Relaxed);
        let mut random = Random(self.plan.seed ^ u64::from(first) << 32);
        let mut waiting = Vec::new();
        let mut goes_on = true;
        for xid in first..first + *calls {
            *calls -= 1;
            let shape = self.shape(xid | direction);
            let mut call = shape.call();
            let places = Shape::places(&mut call);
            if random.one_in(if self.plan.cancels { 2 } else { 3 }) {
                waiting.push((shape, places, connection.start(call)));
                if waiting.len() > random.below(12) as usize {
                    goes_on = self.wait(&mut random, &mut waiting);
                }
            } else if random.one_in(8) {
                // A server that speaks several versions cannot call before its client has, and that may give up all its calls.
                let call = if self.plan.cancels { call.with_timeout(UNHEARD) } else { call };
                let ended = block_on(connection.start(call));
                let (outcome, mut call) = (ended.reply().map(drop), ended.into_call());
                goes_on = self.ended(&shape, &places, &mut call, outcome);
            } else {
                let outcome = connection.call(&mut call).map(drop);
                goes_on = self.ended(&shape, &places, &mut call, outcome);
            }
            if !goes_on {
                break;
            }
        }
        while !waiting.is_empty() {
            goes_on &= self.wait(&mut random, &mut waiting);
        }
        if !goes_on {
            connection.disconnect();
        }
    }

    /// Waits for one of the calls that were begun, or gives it up.
    fn wait(&self, random: &mut Random, waiting: &mut Vec<(Shape, Places, StartedCall<Adapter>)>) -> bool {
        let (shape, places, mut pending) = waiting.swap_remove(random.below(waiting.len() as u64) as usize);
        if self.plan.cancels && random.one_in(2) {
            // Before anyone has looked at it, or as a future that is not ready.
            let looks = random.one_in(2);
            if looks && let Poll::Ready(ended) = pin!(&mut pending).poll(&mut Context::from_waker(Waker::noop())) {
                let (outcome, mut call) = (ended.reply().map(drop), ended.into_call());
                return self.ended(&shape, &places, &mut call, outcome);
            }
            self.give_up(&shape, places);
            drop(pending);
            self.count(|tally| &mut tally.given_up);
            return true;
        }
        let ended = pending.wait();
        let (outcome, mut call) = (ended.reply().map(drop), ended.into_call());
        self.ended(&shape, &places, &mut call, outcome)
    }

    /// Judges how a call ended, and says whether the connection goes on.
    fn ended(&self, shape: &Shape, places: &Places, call: &mut Call, outcome: Result<(), CallError>) -> bool {
        if outcome == Err(CallError::TimedOut(Progress::Sent)) && Shape::places(call).is_empty() {
            // They come back once nobody can reach them.
            self.give_up(shape, places.clone());
        } else {
            assert_eq!(&Shape::places(call), places, "buffers come back after {outcome:?}: {shape:?}");
        }
        let plan = &self.plan;
        let is_too_much = self.may_be_too_much(shape);
        let may_have_fewer_chunks = self.may_have_fewer_chunks(shape);
        match outcome {
            Ok(()) if shape.does == Does::Forget => {
                assert_eq!(call.reply(), b"", "{shape:?}");
                self.count(|tally| &mut tally.forgotten);
            }
            Ok(()) => {
                shape.check(call, may_have_fewer_chunks);
                if shape.does == Does::Drop {
                    self.count(|tally| &mut tally.system_errors);
                } else {
                    assert!(may_have_fewer_chunks || !shape.has_to_be_refused(), "{shape:?}");
                    self.count(|tally| &mut tally.answered);
                }
            }
            Err(error @ (CallError::Error(_) | CallError::ErrorV2(_))) => {
                let is_explained = match &error {
                    CallError::Error(ErrorBody::Chunk) => is_too_much || self.was_refused(shape.xid),
                    CallError::ErrorV2(
                        ErrorBodyV2::ReadChunks { .. }
                        | ErrorBodyV2::WriteChunks { .. }
                        | ErrorBodyV2::Segments { .. }
                        | ErrorBodyV2::Void(ErrorCode::SYSTEM),
                    ) => is_too_much,
                    CallError::ErrorV2(ErrorBodyV2::WriteResource { .. } | ErrorBodyV2::ReplyResource { .. }) => {
                        self.was_refused(shape.xid)
                    }
                    _ => false,
                };
                assert!(is_explained, "no reason for this: {error}: {shape:?}");
                self.count(|tally| &mut tally.refused);
            }
            // In version 2, what the caller has no room for is sent to it all the same.
            Err(CallError::NoReply) => {
                assert!(plan.client.versions() != Versions::ONE && shape.may_be_refused(), "{shape:?}");
                self.count(|tally| &mut tally.refused);
            }
            Err(CallError::Lost(why, _)) => {
                assert!(plan.is_rough(), "{why} for no reason: {shape:?}");
                assert!(
                    !matches!(why, EndReason::PeerFault(_) | EndReason::Internal(_) | EndReason::Refused(_)),
                    "{why}: {shape:?}"
                );
                self.count(|tally| &mut tally.lost);
                return false;
            }
            Err(CallError::TimedOut(_)) => {
                assert!(plan.cancels, "no answer to {shape:?}");
                self.count(|tally| &mut tally.given_up);
            }
            Err(CallError::NotRegistered(_)) => {
                assert!(plan.regions.is_some(), "{shape:?}");
                self.count(|tally| &mut tally.not_registered);
            }
            Err(error) => panic!("{error}: {shape:?}"),
        }
        true
    }

    /// Returns true if the called side may have limits that the call exceeds.
    fn may_be_too_much(&self, shape: &Shape) -> bool {
        self.plan.tight && shape.xid & REVERSE == 0
    }

    /// Returns true if the call may be one that was made again: in version 2, a call that exceeds limits is made again.
    fn may_have_fewer_chunks(&self, shape: &Shape) -> bool {
        self.may_be_too_much(shape) && self.plan.client.versions() != Versions::ONE
    }

    /// Returns true if the called side reports that it refused the call, as it does shortly after answering.
    fn was_refused(&self, xid: u32) -> bool {
        let until = Instant::now() + Duration::from_secs(10);
        while !self.refused.lock().unwrap().remove(&xid) {
            if Instant::now() > until {
                return false;
            }
            thread::yield_now();
        }
        true
    }

    fn give_up(&self, shape: &Shape, places: Places) {
        // A call without buffers cannot be told from another.
        if shape.xid & REVERSE == 0 && !places.is_empty() {
            self.given_up.lock().unwrap().push(places);
        }
    }

    /// Checks that each call that was given up on this connection comes back.
    fn settle(&self, connection: &Connection<Adapter>) {
        let until = Instant::now() + Duration::from_secs(30);
        let mut given_up = std::mem::take(&mut *self.given_up.lock().unwrap());
        // All are kept until the end, so no address comes twice.
        let mut returned: Vec<(Places, Call)> = Vec::new();
        while returned.len() < given_up.len() {
            assert!(Instant::now() < until, "{} of {} come back", returned.len(), given_up.len());
            match connection.request(Duration::from_millis(1)) {
                Ok(Some(request)) => self.serve(request),
                Ok(None) => {}
                Err(why) => assert!(self.plan.is_rough(), "{why}"),
            }
            while let Some(mut call) = connection.take_given_up_call() {
                returned.extend(Some((Shape::places(&mut call), call)).filter(|(places, _)| !places.is_empty()));
            }
        }
        let mut places: Vec<Places> = returned.into_iter().map(|(places, _)| places).collect();
        places.sort_unstable();
        given_up.sort_unstable();
        assert_eq!(places, given_up);
    }

    fn count(&self, what: impl FnOnce(&mut Tally) -> &mut u64) {
        *what(&mut self.tally.lock().unwrap()) += 1;
        ENDED.fetch_add(1, Ordering::Relaxed);
    }

    /// An adapter with faults, but not in the setup if it is the server's.
    fn adapter(&self, adapter: &Adapter, end: usize, number: u64) -> Adapter {
        let many = self.plan.faults[end];
        let failures = [Status::NoAnswer, Status::LocalOperation, Status::RemoteOperation, Status::ReceiverNotReady];
        let mut faults = vec![
            Fault::LoseBefore,
            Fault::LoseAfter,
            Fault::Delay(Duration::from_micros(50)),
            Fault::Delay(Duration::from_micros(700)),
        ];
        faults.extend(failures.map(Fault::Complete));
        let faults = Faults::seeded(self.plan.seed ^ number, many, &faults);
        // All connections of the server have the same faults, and begin with a Send of its properties in version 2.
        let sound = if end == 0 { 0 } else { 2 };
        adapter
            .clone()
            .with_faults((0..sound).fold(faults, |faults, step| faults.at(step, Fault::Delay(Duration::ZERO))))
    }
}

/// Unparks a thread that waits for a future.
struct Waking(Thread);

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let (mut future, waker) = (pin!(future), Arc::new(Waking(thread::current())).into());
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => break done,
            Poll::Pending => thread::park(),
        }
    }
}

/// The server's side of a session.
struct Serving(Arc<Session>);

impl Service<Adapter> for Serving {
    fn call(&self, request: Request<Adapter>) {
        self.0.serve(request);
    }

    fn connected(&self, connection: &Connection<Adapter>) {
        if self.0.plan.reverse == 0 {
            return;
        }
        let (session, connection) = (Arc::clone(&self.0), connection.clone());
        session.calling_back.fetch_add(1, Ordering::AcqRel);
        let caller = thread::spawn(move || {
            let mut calls = session.plan.reverse;
            session.call(&connection, REVERSE, &mut calls);
            session.calling_back.fetch_sub(1, Ordering::AcqRel);
        });
        self.0.callers.lock().unwrap().push(caller);
    }

    fn ended(&self, _: SocketAddr, why: &EndReason) {
        let fine = matches!(why, EndReason::Peer | EndReason::Here)
            || self.0.plan.is_rough() && !matches!(why, EndReason::PeerFault(_) | EndReason::Internal(_));
        assert!(fine, "the server's connection: {why}");
    }

    fn failed(&self, _: SocketAddr, why: &Error) {
        assert!(self.0.plan.is_rough() && *why == Error::Disconnected, "{why}");
    }
}

/// Regions that an end takes for its Receives and Sends. If many calls are in flight, a third may take one more.
const OWN_BUFFERS: usize = 2;

/// Makes all calls of the client, over as many connections as that takes.
fn client(session: &Session, adapter: &Adapter) {
    let plan = &session.plan;
    let mut left = vec![plan.calls; plan.threads];
    let mut number = 0;
    while left.iter().any(|&calls| calls > 0) {
        number += 1;
        let mut adapter = session.adapter(adapter, 0, number);
        if let Some(more) = plan.regions {
            adapter = adapter.with_regions(OWN_BUFFERS + more);
        }
        let client = match Client::connect(&adapter, ADDRESS.parse().unwrap(), &plan.client) {
            Ok(client) => client,
            Err(error) => {
                assert!(plan.is_rough() && error == Error::Disconnected, "{error}");
                continue;
            }
        };
        session.tally.lock().unwrap().connections += 1;
        let connection = client.connection();
        thread::scope(|scope| {
            let callers: Vec<_> =
                left.iter_mut().map(|calls| scope.spawn(move || session.call(connection, 0, calls))).collect();
            if plan.reverse > 0 {
                scope.spawn(move || answer_back(session, connection));
            }
            callers.into_iter().for_each(|caller| caller.join().unwrap());
            // The server starts calling back before it is called.
            while session.calling_back.load(Ordering::Acquire) > 0 && connection.ended().is_none() {
                thread::sleep(Duration::from_micros(100));
            }
            if !plan.is_rough() {
                session.settle(connection);
            }
            connection.disconnect();
        });
        session.settle(connection);
    }
}

fn answer_back(session: &Session, connection: &Connection<Adapter>) {
    loop {
        match connection.request(Duration::from_millis(20)) {
            Ok(Some(request)) => session.serve(request),
            Ok(None) => {}
            Err(_) => break,
        }
    }
}

pub(crate) fn run(plan: &Plan) -> Tally {
    let file = File::default();
    let fabric = match plan.captured {
        Some(mtu) => Fabric::captured(file.clone(), mtu).unwrap(),
        None => Fabric::new(),
    };
    let [here, there] = [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let (sender, later) = mpsc::channel();
    let session = Arc::new(Session {
        plan: plan.clone(),
        xid: AtomicU32::new(plan.seed as u32 & 0xff_ffff),
        refused: Mutex::default(),
        tally: Mutex::default(),
        later: Mutex::new(Some(sender)),
        given_up: Mutex::default(),
        callers: Mutex::default(),
        calling_back: AtomicUsize::new(0),
    });
    let mut there = session.adapter(&there, 1, 0);
    if plan.tight && plan.reverse == 0 {
        there = there.with_regions(OWN_BUFFERS + (plan.seed % 7) as usize);
    }
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), plan.server.clone()).unwrap();
    let (stop, service) = (server.stopper(), Serving(Arc::clone(&session)));
    thread::scope(|scope| {
        let served = scope.spawn(move || server.serve(&service));
        let answers = scope.spawn(|| session.answer_later(later));
        client(&session, &here);
        stop.stop();
        served.join().unwrap().unwrap();
        session.later.lock().unwrap().take();
        answers.join().unwrap();
    });
    let callers = std::mem::take(&mut *session.callers.lock().unwrap());
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    // The driver lets go once it sees that the connection is over.
    let until = Instant::now() + Duration::from_secs(10);
    while fabric.registered() > 0 {
        assert!(Instant::now() < until, "no region is left");
        thread::sleep(Duration::from_micros(100));
    }
    let untold = session.refused.lock().unwrap().len();
    let told = !(plan.is_rough() || plan.cancels || plan.tight);
    assert!(!told || untold == 0, "who has no room for the reply is told");
    let mut tally = session.tally.lock().unwrap().clone();
    if plan.captured.is_some() {
        fabric.end_capture().unwrap();
        tally.captured = judge(&session, &file, &tally);
    }
    tally
}

/// Checks the capture, and returns the number of transactions in it.
fn judge(session: &Session, file: &File, tally: &Tally) -> u64 {
    let found = dissect(&file.octets());
    for transaction in &found.transactions {
        let shape = session.shape(transaction.xid);
        let rebuilt = |half: &Option<rpcrdma_dissector::Half>| {
            half.as_ref().and_then(|half| half.message.as_ref().ok()).map(|message| message.octets().to_vec())
        };
        let call = rebuilt(&transaction.call);
        assert!(call.is_none_or(|call| call == shape.expected_call()), "the call of {shape:?} in the capture");
        let reply = rebuilt(&transaction.reply).filter(|reply| !reply.is_empty());
        assert!(reply.is_none_or(|reply| reply == shape.whole_reply()), "the reply of {shape:?} in the capture");
    }
    if !session.plan.is_rough() && !session.plan.cancels {
        let made = tally.calls() - tally.not_registered;
        // One that was made again has the same XID.
        let xids: HashSet<u32> = found.transactions.iter().map(|transaction| transaction.xid).collect();
        assert_eq!(xids.len() as u64, made, "each call is in the capture");
    }
    let explained = |broken: &Broken| {
        let shape = broken.xid.map(|xid| session.shape(xid));
        shape.is_some_and(|shape| match broken.slug {
            // There is no room, or the call is too large for the server.
            "reply-chunk-missing" => session.plan.tight || shape.may_be_refused(),
            _ => false,
        })
    };
    let broken: Vec<_> = found.broken.iter().filter(|broken| !explained(broken)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    found.transactions.len() as u64
}
