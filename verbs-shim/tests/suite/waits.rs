//! Waiting threads and tasks, and the events that wake them.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::Adapter;
use rpcrdma_verbs::{CallError, Client, EndReason, Progress, Request, Settings, StartedCall, Versions};

use crate::support::echo;
use crate::support::eventually::becomes_so;
use crate::support::service::with_service;

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A pending call, and how often it was woken.
struct Waiting(StartedCall<Adapter>, Arc<Count>);

/// Maximum number of calls in flight with the default settings: the table has room for as many.
const CALLS: u32 = 32;

impl Waiting {
    fn new(client: &Client<Adapter>) -> Self {
        Self(client.start(echo::null(client)), Arc::default())
    }

    fn is_pending(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.1));
        Pin::new(&mut self.0).poll(&mut Context::from_waker(&waker)).is_pending()
    }

    fn woken(&self) -> usize {
        self.1.0.load(Ordering::Relaxed)
    }
}

/// A client of a server that passes each call to the test and answers none itself.
fn with_calls(run: impl FnOnce(&Client<Adapter>, &mpsc::Receiver<Request<Adapter>>)) {
    with_calls_of(&Settings::client(), run);
}

/// The same for a client with these settings.
fn with_calls_of(settings: &Settings, run: impl FnOnce(&Client<Adapter>, &mpsc::Receiver<Request<Adapter>>)) {
    let (sender, calls) = mpsc::channel();
    let hand_over = move |request| {
        // At the end nobody receives it.
        let _ = sender.send(request);
    };
    with_service(&hand_over, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        run(&Client::connect(&here, address, settings).unwrap(), &calls);
    });
}

/// Answers a first call: until then the client has one credit.
fn get_credits(client: &Client<Adapter>, calls: &mpsc::Receiver<Request<Adapter>>) {
    let first = client.start(echo::null(client));
    answer(calls);
    first.wait().reply().map(drop).unwrap();
}

fn answer(calls: &mpsc::Receiver<Request<Adapter>>) {
    let mut request = calls.recv_timeout(Duration::from_secs(10)).unwrap();
    request.accept();
    request.answer().unwrap();
}

/// Half of the Receives of version 2 are for messages that grant credits, so these do not limit the calls.
#[test]
fn both_ends_limit_the_calls_in_flight() {
    for versions in [Versions::TWO_A, Versions::TWO_B] {
        let settings = Settings::builder().versions(versions).build().unwrap();
        with_calls_of(&settings, |client, calls| {
            get_credits(client, calls);
            let under_way: Vec<_> = (0..CALLS).map(|_| client.start(echo::null(client))).collect();
            let requests = (0..CALLS).map(|_| calls.recv_timeout(Duration::from_secs(10)).unwrap());
            for mut request in requests.collect::<Vec<_>>() {
                request.accept();
                request.answer().unwrap();
            }
            under_way.into_iter().for_each(|call| call.wait().reply().map(drop).unwrap());
        });
    }
}

#[test]
fn a_free_slot_wakes_the_first_waiter_then_the_next() {
    with_calls(|client, calls| {
        let under_way: Vec<_> = (0..CALLS).map(|_| client.start(echo::null(client))).collect();
        let mut waiting: Vec<_> = (0..4).map(|_| Waiting::new(client)).collect();
        assert!(waiting.iter_mut().all(Waiting::is_pending));
        let woken = |waiting: &[Waiting]| waiting.iter().map(Waiting::woken).collect::<Vec<_>>();
        assert_eq!(woken(&waiting), [0; 4]);
        answer(calls);
        becomes_so(|| woken(&waiting) == [1, 0, 0, 0]);
        // It is dropped, and who comes now does not take what is the next one's.
        waiting.remove(0);
        assert_eq!(woken(&waiting), [1, 0, 0]);
        let mut late = Waiting::new(client);
        assert!(late.is_pending());
        // A call that leaves the middle of the line changes nothing for the others.
        waiting.remove(1);
        assert!(waiting[0].is_pending(), "it has begun, and waits for its reply");
        assert_eq!((woken(&waiting), late.woken()), (vec![1, 0], 0), "there is no place for the next");
        // Now the first place is taken, and each reply frees one.
        answer(calls);
        becomes_so(|| woken(&waiting) == [1, 1] && late.woken() == 0);
        assert!(waiting[1].is_pending());
        answer(calls);
        becomes_so(|| late.woken() == 1);
        drop(under_way);
    });
}

#[test]
fn a_thread_and_futures_wait_in_one_line() {
    with_calls(|client, calls| {
        let _under_way: Vec<_> = (0..CALLS).map(|_| client.start(echo::null(client))).collect();
        let mut first = Waiting::new(client);
        assert!(first.is_pending());
        thread::scope(|scope| {
            let thread = scope.spawn(|| client.call(&mut echo::null(client)).map(drop).unwrap());
            for _ in 0..CALLS {
                answer(calls);
            }
            becomes_so(|| first.woken() == 1);
            // The thread waits behind the future, which leaves.
            assert!(!thread.is_finished());
            drop(first);
            answer(calls);
            thread.join().unwrap();
        });
    });
}

/// Returns the number of times that the threads of this process with that name have slept.
#[cfg(target_os = "linux")]
fn sleeps(name: &str) -> u64 {
    let statuses = std::fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path().join("status"));
    let statuses = statuses.map(|status| std::fs::read_to_string(status).unwrap_or_default());
    let field = |status: &str, name: &str| {
        status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned())).unwrap_or_default()
    };
    let ours = statuses.filter(|status| field(status, "Name:") == name);
    ours.map(|status| field(&status, "voluntary_ctxt_switches:").parse::<u64>().unwrap()).sum()
}

#[cfg(target_os = "linux")]
#[test]
fn a_waiting_thread_wakes_for_its_own_events_only() {
    with_calls(|client, calls| {
        get_credits(client, calls);
        thread::scope(|scope| {
            // The first takes completions, the second waits for the first.
            let [one, other] = [(); 2].map(|()| {
                let blocked = thread::Builder::new().name("blocked caller".to_owned());
                blocked.spawn_scoped(scope, || client.call(&mut echo::null(client)).map(drop).unwrap()).unwrap()
            });
            let requests = [(); 2].map(|()| calls.recv_timeout(Duration::from_secs(10)).unwrap());
            thread::sleep(Duration::from_millis(300));
            let before = sleeps("blocked caller");
            assert!(before > 0);
            thread::sleep(Duration::from_secs(3));
            assert_eq!(sleeps("blocked caller"), before);
            for mut request in requests {
                request.accept();
                request.answer().unwrap();
            }
            one.join().unwrap();
            other.join().unwrap();
        });
    });
}

#[test]
fn an_earlier_deadline_reaches_a_waiting_thread() {
    const GRACE: Duration = Duration::from_millis(300);
    let settings = Settings::builder().timeout(None).grace(GRACE).build().unwrap();
    // One that waits for the adapter, and one that waits for that one.
    let keeps = |callers: usize| {
        with_calls_of(&settings, |client, calls| {
            get_credits(client, calls);
            let (sender, outcomes) = mpsc::channel();
            thread::scope(|scope| {
                for _ in 0..callers {
                    let sender = sender.clone();
                    scope.spawn(move || sender.send(client.call(&mut echo::null(client)).map(drop)));
                }
                let given_up = client.start(echo::null(client));
                let requests: Vec<_> =
                    (0..=callers).map(|_| calls.recv_timeout(Duration::from_secs(10)).unwrap()).collect();
                thread::sleep(Duration::from_millis(200));
                let begun = Instant::now();
                // No adapter says that nobody wants it any more.
                drop(given_up);
                for _ in 0..callers {
                    let outcome = outcomes.recv_timeout(Duration::from_secs(10));
                    assert_eq!(outcome, Ok(Err(CallError::Lost(EndReason::Unanswered, Progress::Sent))));
                }
                assert!((GRACE..GRACE * 10).contains(&begun.elapsed()), "{:?}", begun.elapsed());
                drop(requests);
            });
        })
    };
    keeps(1);
    keeps(2);
}

#[test]
fn a_turn_wakes_a_thread_without_adapter_events() {
    with_calls(|client, calls| {
        let under_way: Vec<_> = (0..CALLS).map(|_| client.start(echo::null(client))).collect();
        let mut first = Waiting::new(client);
        assert!(first.is_pending());
        thread::scope(|scope| {
            let thread = scope.spawn(|| client.call(&mut echo::null(client)).map(drop));
            thread::sleep(Duration::from_millis(200));
            let mut last = Waiting::new(client);
            assert!(last.is_pending());
            answer(calls);
            answer(calls);
            becomes_so(|| first.woken() == 1);
            thread::sleep(Duration::from_millis(200));
            assert_eq!(last.woken(), 0, "two places are free, for those before it");
            drop(first);
            // The thread takes one place, and the next in line gets the other.
            becomes_so(|| last.woken() == 1);
            drop((under_way, last));
            client.connection().disconnect();
            assert!(matches!(thread.join().unwrap(), Err(CallError::Lost(EndReason::Here, _))));
        });
    });
}

#[test]
fn when_the_connection_ends_all_who_wait_are_woken() {
    with_calls(|client, _| {
        let _under_way: Vec<_> = (0..CALLS).map(|_| client.start(echo::null(client))).collect();
        let mut waiting: Vec<_> = (0..100).map(|_| Waiting::new(client)).collect();
        assert!(waiting.iter_mut().all(Waiting::is_pending));
        client.connection().disconnect();
        becomes_so(|| waiting.iter().all(|waiting| waiting.woken() == 1));
        assert!(!waiting.iter_mut().any(Waiting::is_pending));
    });
}

#[test]
fn a_waker_that_panics_has_no_other_wait_for_ever() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("on purpose");
        }
    }
    with_calls(|client, calls| {
        let mut one = client.start(echo::null(client));
        assert!(Pin::new(&mut one).poll(&mut Context::from_waker(&Arc::new(Panics).into())).is_pending());
        answer(calls);
        let mut other = Waiting::new(client);
        assert!(other.is_pending());
        answer(calls);
        becomes_so(|| other.woken() == 1);
        assert!(!other.is_pending());
    });
}

#[test]
fn however_many_wait_each_is_woken_a_few_times() {
    const FUTURES: usize = 2000;
    echo::with_server(|_, client| {
        let polls = Arc::new(AtomicUsize::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..FUTURES {
                let (client, polls) = (client.clone(), Arc::clone(&polls));
                tasks.spawn(async move {
                    let mut pending = pin!(client.start(echo::null(&client)));
                    let counted = poll_fn(|context| {
                        polls.fetch_add(1, Ordering::Relaxed);
                        pending.as_mut().poll(context)
                    });
                    counted.await.reply().map(drop).unwrap();
                });
            }
            tasks.join_all().await;
        });
        // At the start, when there is a place, and when there is a reply.
        assert!(polls.load(Ordering::Relaxed) <= 3 * FUTURES, "{polls:?}");
    });
}

#[test]
fn a_future_whose_time_is_over_gives_its_call_up() {
    const SHORT: Duration = Duration::from_millis(50);
    with_calls(|client, calls| {
        get_credits(client, calls);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let wait = |pending| {
            let in_time = async { tokio::time::timeout(Duration::from_secs(10), pending).await };
            runtime.block_on(in_time).expect("nobody wakes the future")
        };
        let begun = Instant::now();
        let ended = wait(client.start(echo::null(client).with_timeout(SHORT)));
        let (outcome, call) = (ended.reply().map(drop), ended.into_call());
        assert_eq!(outcome, Err(CallError::TimedOut(Progress::Sent)));
        assert!(call.xid() != 0 && begun.elapsed() >= SHORT && begun.elapsed() < Duration::from_secs(5));
        // It is answered late, before the next call is, and nobody is harmed.
        answer(calls);
        let next = client.start(echo::null(client));
        answer(calls);
        wait(next).reply().map(drop).unwrap();
        // Then there is no slot for one more call.
        let under_way: Vec<_> =
            (0..Settings::client().requested_credits()).map(|_| client.start(echo::null(client))).collect();
        let outcome = wait(client.start(echo::null(client).with_timeout(SHORT))).reply().map(drop);
        assert_eq!(outcome, Err(CallError::TimedOut(Progress::NotSent)));
        under_way.iter().for_each(|_| answer(calls));
        for pending in under_way {
            pending.wait().reply().map(drop).unwrap();
        }
    });
}

#[test]
fn the_timeout_of_a_call_limits_the_wait() {
    with_calls(|client, calls| {
        let begun = Instant::now();
        let outcome = client.call(&mut echo::null(client).with_timeout(Duration::from_millis(50))).map(drop);
        assert_eq!(outcome, Err(CallError::TimedOut(Progress::Sent)));
        assert!(begun.elapsed() < Duration::from_secs(5));
        answer(calls);
    });
}

#[test]
fn connections_are_set_up_for_futures() {
    let hand_over = |mut request: Request<Adapter>| {
        request.accept();
        request.answer().unwrap();
    };
    with_service(&hand_over, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            // More at once than there are threads.
            let connecting: Vec<_> = (0..20).map(|_| Client::connecting(&here, address, &Settings::client())).collect();
            for client in connecting {
                let client = client.await.unwrap();
                client.start(echo::null(&client)).await.reply().map(drop).unwrap();
            }
            // Connections that nobody waits for end.
            drop((0..20).map(|_| Client::connecting(&here, address, &Settings::client())).collect::<Vec<_>>());
            Client::connecting(&here, address, &Settings::client()).await.unwrap();
        });
        becomes_so(|| fabric.registered() == 0);
    });
}
