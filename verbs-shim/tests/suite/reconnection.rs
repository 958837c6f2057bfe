//! A client that connects again: what is carried out how often, and what its caller is told.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::{Adapter, Fabric, Fault, Faults, NO_ANSWER, PortState, SetupFault};
use rpcrdma_verbs::{
    Call, CallError, Client, EndReason, Error, Progress, ReconnectingClient, Request, Server, Service, Settings, Status,
};

use crate::support::eventually::becomes_so;
use crate::support::stopping::Stopping;

const ADDRESS: &str = "192.0.2.200:20049";
const THREADS: u32 = 8;
const CALLS: u32 = 150;

/// Executions of a call: their number, and the XID of the first.
type Executions = HashMap<u32, (u32, u32)>;

/// Counts how often the call with each number is carried out, and answers with the number's double.
#[derive(Default)]
struct Counting {
    executions: Mutex<Executions>,
    /// Executions with another XID than the first of the same call.
    other_xids: AtomicU64,
}

impl Counting {
    fn find_count(&self, number: u32) -> u32 {
        self.executions.lock().unwrap().get(&number).map_or(0, |(count, _)| *count)
    }
}

impl Service<Adapter> for Counting {
    fn call(&self, mut request: Request<Adapter>) {
        let (call, arguments) = request.decode().unwrap();
        let number = u32::from_be_bytes(arguments[..4].try_into().unwrap());
        match self.executions.lock().unwrap().entry(number) {
            Entry::Occupied(mut known) => {
                self.other_xids.fetch_add(u64::from(known.get().1 != call.xid), Ordering::Relaxed);
                known.get_mut().0 += 1;
            }
            Entry::Vacant(new) => {
                new.insert((1, call.xid));
            }
        }
        let data = double(number).to_vec();
        let reply = request.accept();
        reply.push(&(data.len() as u32).to_be_bytes());
        reply.push_item(data);
        let _ = request.answer();
    }
}

/// The result of the call with this number: inline, or in a Write chunk.
fn double(number: u32) -> Vec<u8> {
    (number * 2).to_be_bytes().repeat(if number.is_multiple_of(3) { 500 } else { 1 })
}

/// The call with this number, with arguments in a Read chunk now and then.
fn numbered(number: u32) -> Call {
    let mut call = Call::rpc(400_100, 1, 1).with_results_length(4).with_result(vec![0; 2000]);
    call.message().push(&number.to_be_bytes());
    if number.is_multiple_of(5) {
        call.message().push(&3000_u32.to_be_bytes());
        call.message().push_item(vec![7; 3000]);
    }
    call
}

/// A fabric with the adapters of a client and a server, and the server's service.
struct Network {
    fabric: Fabric,
    service: Arc<Counting>,
}

impl Network {
    fn new() -> Self {
        Self { fabric: Fabric::new(), service: Arc::default() }
    }

    fn adapter(&self, number: u8) -> Adapter {
        self.fabric.adapter([192, 0, 2, number].into()).unwrap()
    }

    /// Starts a server, which ends with the returned value.
    fn serve(&self, there: &Adapter) -> Running {
        let server = Server::bind(there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
        let (stopping, service) = (Stopping(server.stopper()), Arc::clone(&self.service));
        let thread = thread::spawn(move || {
            let _ = server.serve(&*service);
        });
        Running { stopping: Some(stopping), thread: Some(thread) }
    }
}

/// A server that runs.
struct Running {
    stopping: Option<Stopping>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stopping.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

fn quick(client: ReconnectingClient<Adapter>) -> ReconnectingClient<Adapter> {
    client.with_pauses(Duration::from_millis(1), Duration::from_millis(20))
}

fn connect(adapter: &Adapter) -> Result<Client<Adapter>, Error> {
    let settings = Settings::builder().connect_timeout(NO_ANSWER).grace(NO_ANSWER).build().unwrap();
    Client::connect(adapter, ADDRESS.parse().unwrap(), &settings)
}

/// Every way in which a step fails.
const EVERYTHING: [Fault; 7] = [
    Fault::LoseAfter,
    Fault::LoseBefore,
    Fault::LoseAfter,
    Fault::Complete(Status::RemoteAccess),
    Fault::Setup(SetupFault::Refused),
    Fault::Setup(SetupFault::NoRoute),
    Fault::Delay(Duration::from_micros(50)),
];

/// A client each of whose connections has other faults.
fn with_faults(adapter: Adapter, seed: u64) -> ReconnectingClient<Adapter> {
    let attempts = AtomicU64::new(seed);
    quick(ReconnectingClient::new(move || {
        let plan = Faults::seeded(attempts.fetch_add(1, Ordering::Relaxed), 30, &EVERYTHING);
        connect(&adapter.clone().with_faults(plan))
    }))
}

/// Outcomes of calls.
#[derive(Debug, Default)]
struct Outcomes {
    answered: u32,
    unanswered: u32,
    repeated: u32,
}

impl Outcomes {
    /// Checks the outcome of a call against its executions.
    fn judge(&mut self, number: u32, repeatable: bool, call: &Call, outcome: &Result<(), CallError>, executions: u32) {
        match outcome {
            Ok(()) => {
                assert!(executions >= 1 && call.result(0) == double(number), "{number}: {executions}");
                self.answered += 1;
            }
            Err(CallError::Lost(_, Progress::Sent)) if !repeatable => self.unanswered += 1,
            Err(error) => panic!("{number}: {error}"),
        }
        assert!(executions <= 1 || repeatable, "{number} was carried out {executions} times");
        self.repeated += u32::from(executions > 1);
    }
}

/// Makes calls from many threads, every second of which may be made again, while `disturb` does its worst.
fn under_load(network: &Network, client: &ReconnectingClient<Adapter>, disturb: impl FnOnce() + Send) -> Outcomes {
    let called = thread::scope(|scope| {
        let callers: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let numbers = (0..CALLS).map(|call| thread * CALLS + call);
                    let make = |number| {
                        let repeatable = number % 2 == 0;
                        let mut call = numbered(number);
                        if repeatable {
                            call = call.repeatable();
                        }
                        let outcome = client.call(&mut call).map(drop);
                        (number, repeatable, call, outcome)
                    };
                    numbers.map(make).collect::<Vec<_>>()
                })
            })
            .collect();
        scope.spawn(disturb);
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
    });
    let mut outcomes = Outcomes::default();
    for (number, repeatable, call, outcome) in &called {
        outcomes.judge(*number, *repeatable, call, outcome, network.service.find_count(*number));
    }
    assert_eq!(network.service.other_xids.load(Ordering::Relaxed), 0, "a call is made again with the same XID");
    outcomes
}

#[test]
fn random_faults_lose_no_result_and_repeat_no_call() {
    let (mut unanswered, mut repeated) = (0, 0);
    for seed in [1, 1000, 2000] {
        let network = Network::new();
        let plan = Faults::seeded(seed, 60, &EVERYTHING[..3]).at(0, Fault::Delay(Duration::ZERO));
        let there = network.adapter(200).with_faults(plan);
        let _server = network.serve(&there);
        let client = with_faults(network.adapter(1), seed);
        let outcomes = under_load(&network, &client, || {});
        assert!(there.injected().total() > 0, "{:?}", there.injected());
        unanswered += outcomes.unanswered;
        repeated += outcomes.repeated;
    }
    assert!(unanswered > 0 && repeated > 0, "the faults show nothing: {unanswered} unanswered, {repeated} repeated");
}

#[test]
fn restarts_and_replugged_adapters_lose_no_result() {
    let network = Network::new();
    let there = network.adapter(200);
    let mut server = Some(network.serve(&there));
    let fabric = network.fabric.clone();
    let here = Arc::new(Mutex::new(network.adapter(1)));
    let adapter = Arc::clone(&here);
    let client = quick(ReconnectingClient::new(move || connect(&adapter.lock().unwrap().clone())));
    let outcomes = under_load(&network, &client, || {
        for _ in 0..5 {
            thread::sleep(Duration::from_millis(5));
            // Restarted.
            drop(server.take());
            server = Some(network.serve(&there));
            thread::sleep(Duration::from_millis(5));
            // Removed and added.
            let mut here = here.lock().unwrap();
            here.remove();
            *here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
            drop(here);
            // Down for longer than a connection survives.
            there.set_port(PortState::Down);
            thread::sleep(NO_ANSWER + NO_ANSWER / 4);
            there.set_port(PortState::Up);
        }
    });
    assert_eq!(outcomes.answered + outcomes.unanswered, THREADS * CALLS);
    drop(client);
    drop(server);
}

#[test]
fn waiting_for_a_connection_ends_with_a_reason() {
    let network = Network::new();
    let adapter = network.adapter(1);
    let there = network.adapter(200);
    let client = quick(ReconnectingClient::new(move || connect(&adapter)));
    let begun = Instant::now();
    let mut call = numbered(1).with_timeout(Duration::from_millis(100));
    let outcome = client.call(&mut call).map(drop);
    assert_eq!(outcome, Err(CallError::NotConnected(Error::Refused, Progress::NotSent)));
    assert!(begun.elapsed() >= Duration::from_millis(100) && begun.elapsed() < Duration::from_secs(5));
    assert_eq!(client.error(), Some(Error::Refused));
    // A task does so too, even in a long pause.
    let slow = client.clone().with_pauses(Duration::from_secs(60), Duration::from_secs(60));
    let begun = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let started = slow.start(numbered(3).with_timeout(Duration::from_millis(100)));
    let in_time = async { tokio::time::timeout(Duration::from_secs(10), started).await };
    let outcome = runtime.block_on(in_time).expect("nobody wakes the future").reply().map(drop);
    assert_eq!(outcome, Err(CallError::NotConnected(Error::Refused, Progress::NotSent)));
    assert!(begun.elapsed() >= Duration::from_millis(100));
    // A call that waits is made when there is a server.
    thread::scope(|scope| {
        let called = scope.spawn(|| client.call(&mut numbered(2)).map(drop));
        thread::sleep(Duration::from_millis(20));
        let _server = network.serve(&there);
        assert_eq!(called.join().unwrap(), Ok(()));
        assert_eq!((client.error(), network.service.find_count(1), network.service.find_count(2)), (None, 0, 1));
    });
}

#[test]
fn a_lost_call_reports_an_earlier_attempt() {
    let network = Network::new();
    let (here, there) = (network.adapter(1), network.adapter(200));
    let server = network.serve(&there);
    // The call arrives, and then the connection is lost; there is no other.
    let here = here.with_faults(Faults::none().at(1, Fault::LoseAfter));
    let faulty = here.clone();
    let attempts = AtomicU64::new(0);
    let client = quick(ReconnectingClient::new(move || {
        if attempts.fetch_add(1, Ordering::Relaxed) == 0 { connect(&faulty) } else { Err(Error::NoHost) }
    }));
    let mut call = numbered(1).repeatable().with_timeout(Duration::from_millis(300));
    let outcome = client.call(&mut call).map(drop);
    assert_eq!(outcome, Err(CallError::NotConnected(Error::NoHost, Progress::Sent)));
    drop(server);
    assert_eq!(here.injected().total(), 1);
    assert!(network.service.find_count(1) <= 1);
}

#[test]
fn calls_of_tasks_are_made_again_too() {
    let network = Network::new();
    let there = network.adapter(200);
    let _server = network.serve(&there);
    let client = with_faults(network.adapter(1), 77);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut outcomes = Outcomes::default();
    runtime.block_on(async {
        for number in 0..CALLS {
            let repeatable = number % 2 == 0;
            let call = if repeatable { numbered(number).repeatable() } else { numbered(number) };
            let ended = tokio::time::timeout(Duration::from_secs(10), client.start(call)).await.unwrap();
            let (outcome, call) = (ended.reply().map(drop), ended.into_call());
            outcomes.judge(number, repeatable, &call, &outcome, network.service.find_count(number));
        }
    });
    assert!(outcomes.unanswered > 0, "the faults show nothing: {outcomes:?}");
}

/// The thread that connects may have done so before the caller waits for it.
#[test]
fn a_caller_sees_a_connection_that_is_made_at_once() {
    let network = Network::new();
    let (here, there) = (network.adapter(1), network.adapter(200));
    let _running = network.serve(&there);
    let connected = connect(&here).unwrap();
    for number in 0..3000 {
        let ready = connected.clone();
        let client = ReconnectingClient::new(move || Ok(ready.clone())).with_timeout(Some(Duration::from_secs(5)));
        client.call(&mut numbered(number)).unwrap().results().unwrap();
    }
}

#[test]
fn an_idle_client_releases_a_removed_adapter() {
    let network = Network::new();
    let _server = network.serve(&network.adapter(200));
    let here = network.adapter(1);
    let adapter = here.clone();
    let client = quick(ReconnectingClient::new(move || connect(&adapter)));
    client.call(&mut numbered(1)).unwrap().results().unwrap();
    let weak = client.current().unwrap().connection().downgrade();
    here.remove();
    becomes_so(|| weak.upgrade().is_none());
    let lost = client.call(&mut numbered(2).with_timeout(Duration::from_millis(50))).map(drop);
    assert_eq!(lost, Err(CallError::NotConnected(Error::Removed, Progress::NotSent)));
    assert_eq!(EndReason::Removed.advice(), Error::Removed.advice());
}

#[test]
fn nobody_connects_any_more_once_the_client_is_dropped() {
    let attempts = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&attempts);
    let client = quick(ReconnectingClient::<Adapter>::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
        Err(Error::NoHost)
    }));
    client.call(&mut numbered(1).with_timeout(Duration::from_millis(20))).unwrap_err();
    drop(client);
    // The closure is dropped with the thread that calls it.
    becomes_so(|| Arc::strong_count(&attempts) == 1);
}
