//! An adapter that takes long to register memory or to end a connection delays nobody else.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::Fabric;
use rpcrdma_verbs::{Call, CallError, Client, Progress, Request, Server, Settings, Stream};

use crate::hostile::messages::append_words;
use crate::hostile::peer::{ADDRESS, Peer};
use crate::support::header::header;
use crate::support::slow::{Act, Gate, Opens, Slow};
use crate::support::stopping::Stopping;

/// Too many octets for a Send.
const OCTETS: usize = 5000;
/// Longer than anything takes.
const LONG: Duration = Duration::from_secs(10);

fn message(client: &Client<Slow>, procedure: u32) -> Stream {
    Stream::from(header(client.xid(), procedure))
}

fn null(client: &Client<Slow>) -> Call {
    Call::new(message(client, 0), 24)
}

/// A call with a Read chunk and a Write chunk.
fn with_chunks(client: &Client<Slow>) -> Call {
    let mut message = message(client, 1);
    message.push_item(vec![3; OCTETS]);
    Call::new(message, 24).with_result(vec![0; OCTETS])
}

fn answer(mut request: Request<Slow>) {
    let procedure = request.decode().unwrap().0.procedure;
    let reply = request.accept();
    if procedure == 1 {
        reply.push_item(vec![7; OCTETS]);
    }
    // The connection may be over.
    let _ = request.answer();
}

/// A client that has been answered once, and the gates of its adapter and of the server's.
fn with_server(service: impl Fn(Request<Slow>) + Sync, run: impl FnOnce(Client<Slow>, &Gate, &Gate)) {
    let fabric = Fabric::new();
    let [here, there] = [1, 2].map(|number| Slow::new(fabric.adapter([192, 0, 2, number].into()).unwrap()));
    let address = "192.0.2.2:20049".parse().unwrap();
    let server = Server::bind(&there, address, Settings::server()).unwrap();
    let stop = server.stopper();
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&service));
        let stopping = Stopping(stop);
        let gates = (Opens(&here.gate), Opens(&there.gate));
        let client = Client::connect(&here, address, &Settings::client()).unwrap();
        // Now there is more than one credit.
        client.call(&mut null(&client)).unwrap().results().unwrap();
        run(client, &here.gate, &there.gate);
        drop((gates, stopping));
        served.join().unwrap().unwrap();
    });
    // If the driver ends the connection, it may still be doing so.
    let begun = Instant::now();
    while fabric.registered() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(5), "memory is still registered");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Checks that a call in another thread ends while the gate is closed.
fn comes_to_its_end(client: &Client<Slow>, run: impl FnOnce(&Client<Slow>) + Send + 'static) {
    let (client, (done, is_done)) = (client.clone(), mpsc::channel());
    thread::spawn(move || {
        run(&client);
        let _ = done.send(());
    });
    is_done.recv_timeout(Duration::from_secs(5)).expect("it waits for another");
}

fn calls_go_on_while_one_waits_for(act: Act) {
    with_server(answer, |client, gate, _| {
        gate.close_to(act);
        let slow = thread::spawn({
            let client = client.clone();
            move || {
                let mut call = with_chunks(&client);
                client.call(&mut call).map(drop).map(|()| call)
            }
        });
        gate.wait_for_one();
        for _ in 0..50 {
            comes_to_its_end(&client, |client| client.call(&mut null(client)).map(drop).unwrap());
        }
        gate.open();
        assert_eq!(slow.join().unwrap().unwrap().result(0), [7; OCTETS]);
    });
}

#[test]
fn calls_go_on_while_another_registers_its_memory() {
    calls_go_on_while_one_waits_for(Act::Register);
}

#[test]
fn calls_go_on_while_another_takes_its_memory_back() {
    calls_go_on_while_one_waits_for(Act::Deregister);
}

/// A thread of the server does one thing at a time for a connection, so requests are answered by others.
#[test]
fn answers_go_on_while_memory_for_another_is_registered() {
    let answer_elsewhere = |request| drop(thread::spawn(move || answer(request)));
    with_server(answer_elsewhere, |client, _, gate| {
        gate.close_to(Act::Register);
        let call = Call::new(message(&client, 1), 24).with_result(vec![0; OCTETS]);
        let slow = client.start(call);
        gate.wait_for_one();
        for _ in 0..50 {
            comes_to_its_end(&client, |client| client.call(&mut null(client)).map(drop).unwrap());
        }
        gate.open();
        let ended = slow.wait();
        let (outcome, call) = (ended.reply().map(drop), ended.into_call());
        assert_eq!((outcome, call.result(0)), (Ok(()), &[7; OCTETS][..]));
    });
}

#[test]
fn a_call_is_sent_once_its_memory_is_registered() {
    with_server(answer, |client, gate, _| {
        gate.close_to(Act::Register);
        let pending = client.start(with_chunks(&client));
        gate.wait_for_one();
        assert_eq!(pending.progress(), Progress::NotSent);
        gate.open();
        let until = Instant::now() + Duration::from_secs(10);
        while pending.progress() == Progress::NotSent && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(pending.progress(), Progress::Sent);
        pending.wait().reply().map(drop).unwrap();
    });
}

/// Calls of each kind: from threads and from futures, dropped and lost.
#[test]
fn no_connection_is_locked_during_slow_operations() {
    let (sender, connections) = mpsc::channel();
    let sender = Mutex::new(sender);
    let service = move |request: Request<Slow>| {
        let _ = sender.lock().unwrap().send(request.connection());
        answer(request);
    };
    with_server(service, |client, here, there| {
        let (asked, connection) = (client.clone(), connections.recv().unwrap());
        here.ask(move || _ = asked.xid());
        there.ask(move || _ = connection.xid());
        for _ in 0..3 {
            client.call(&mut with_chunks(&client)).unwrap().results().unwrap();
        }
        client.start(with_chunks(&client)).wait().reply().map(drop).unwrap();
        drop(client.start(with_chunks(&client)));
        block_on(client.start(with_chunks(&client))).reply().map(drop).unwrap();
        drop(client.start(with_chunks(&client)));
        let lost: Vec<_> = (0..3).map(|_| client.start(with_chunks(&client))).collect();
        client.connection().disconnect();
        lost.into_iter().for_each(|call| drop(call.wait()));
        let passed = here.passed();
        for act in [Act::Register, Act::Deregister, Act::Disconnect] {
            assert!(passed.iter().any(|(passed, _)| *passed == act), "{act:?}");
        }
        // The server's threads see the end too.
        assert!(client.connection().request(Duration::from_secs(5)).is_err());
        drop(connections);
        assert_eq!((here.was_locked(), there.was_locked()), (vec![], vec![]));
    });
}

/// The handle of memory that is just being taken back may be given again before that is known.
#[test]
fn memory_with_a_used_handle_is_registered_again() {
    with_server(answer, |client, gate, _| {
        for (same, outcome) in
            [(1, Ok(())), (4, Ok(())), (5, Err(CallError::NotRegistered(rpcrdma_verbs::Error::Exhausted))), (0, Ok(()))]
        {
            gate.passed();
            // The first region of the call has a handle of its own, and later ones have the same handle.
            gate.give_the_same_handle_after_one(same);
            let mut call = with_chunks(&client);
            assert_eq!(client.call(&mut call).map(drop), outcome, "{same}");
            let registered = gate.passed().iter().filter(|(act, _)| *act == Act::Register).count();
            assert_eq!(registered, 2 + same.min(4), "{same}");
            assert_eq!(call.result_buffers()[0].len(), OCTETS, "its buffers are back");
        }
    });
}

/// A server whose adapter does that provides two replies, of which the first is not read: no two are at the same handle.
#[test]
fn replies_that_are_provided_have_handles_of_their_own() {
    for (same, is_provided) in [(0, true), (1, true), (4, true), (5, false)] {
        let fabric = Fabric::new();
        let (here, there) =
            (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
        let there = Slow::new(there);
        // It sends less inline than it receives, so that a Call without chunks has such a reply.
        let settings = Settings::server().to_builder().provides_replies(Some(LONG)).send_size(1024).build().unwrap();
        let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap();
        let (mut peer, connection) = thread::scope(|scope| {
            let peer = scope.spawn(|| Peer::connect(&here, &[]));
            let connection = server.accept(LONG).unwrap().unwrap();
            (peer.join().unwrap(), connection)
        });
        there.gate.passed();
        there.gate.give_the_same_handle_after_one(same);
        let replies = [1, 2].map(|xid| {
            let mut message = Vec::new();
            append_words(&mut message, &[xid, 1, 32, 0, 0, 0, 0]);
            message.extend(header(xid, 0));
            peer.send(&message, None);
            let mut request = connection.request(LONG).unwrap().expect("a call");
            request.accept().push(&[7; 3000]);
            request.answer().unwrap();
            while peer.got.is_empty() {
                peer.look(LONG);
            }
            peer.got.pop_front().unwrap()
        });
        // RDMA_NOMSG with a Read chunk in Position 0; an RDMA_ERROR has neither.
        let [first, second] = replies.map(|reply| (reply[15] == 1).then(|| reply[24..28].to_vec()));
        assert!(first.is_some() && second.is_some() == is_provided && first != second, "{same}: {first:?} {second:?}");
        let registered = there.gate.passed().iter().filter(|(act, _)| *act == Act::Register).count();
        assert_eq!(registered, 2 + same.min(4), "{same}");
    }
}

/// The connection ends while memory of a call is being taken back.
#[test]
fn lost_calls_end_after_deregistering_their_memory() {
    with_server(answer, |client, gate, _| {
        gate.close_to(Act::Deregister);
        let calling = thread::spawn({
            let client = client.clone();
            // One data item: nothing else is to be taken back when the connection ends.
            let mut message = message(&client, 0);
            message.push_item(vec![3; OCTETS]);
            move || client.call(&mut Call::new(message, 24)).map(drop)
        });
        gate.wait_for_one();
        client.connection().disconnect();
        let (told, is_told) = mpsc::channel();
        let next = thread::spawn({
            let client = client.clone();
            move || told.send(client.call(&mut null(&client)).map(drop))
        });
        assert!(is_told.recv_timeout(Duration::from_millis(200)).is_err(), "the memory is still registered");
        gate.open();
        let lost = is_told.recv_timeout(LONG).unwrap();
        assert!(matches!(lost, Err(CallError::Lost(_, Progress::NotSent))), "{lost:?}");
        next.join().unwrap().unwrap();
        let _ = calling.join().unwrap();
    });
}

#[test]
fn a_connection_can_be_asked_while_it_is_ended() {
    with_server(answer, |client, gate, _| {
        gate.close_to(Act::Disconnect);
        let ending = thread::spawn({
            let client = client.clone();
            move || client.connection().disconnect()
        });
        gate.wait_for_one();
        comes_to_its_end(&client, |client| {
            assert!(client.connection().ended().is_some());
        });
        gate.open();
        ending.join().unwrap();
    });
}

/// Wakes a thread that has polled.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Unpark(thread::current())).into();
    let (mut future, begun) = (pin!(future), Instant::now());
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        thread::park_timeout(Duration::from_secs(5));
        assert!(begun.elapsed() < Duration::from_secs(5), "nobody wakes it");
    }
}

#[test]
fn polling_futures_run_no_slow_operations() {
    with_server(answer, |client, gate, _| {
        // From here on there are futures.
        block_on(client.start(null(&client))).reply().map(drop).unwrap();
        gate.passed();
        let ended = block_on(client.start(with_chunks(&client)));
        let (outcome, call) = (ended.reply().map(drop), ended.into_call());
        assert_eq!((outcome, call.result(0)), (Ok(()), &[7; OCTETS][..]));

        // Not even if the driver is busy with something else.
        gate.close_to(Act::Register);
        let pending: Vec<_> = (0..4).map(|_| client.start(with_chunks(&client))).collect();
        gate.wait_for_one();
        let mut given_up = client.start(with_chunks(&client));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(pin!(&mut given_up).poll(&mut context).is_pending());
        drop(given_up);
        gate.open();
        for call in pending {
            block_on(call).reply().map(drop).unwrap();
        }
        let last = client.start(with_chunks(&client));
        drop(client);
        drop(last);
        // The driver has to end the connection.
        let (begun, mut passed) = (Instant::now(), gate.passed());
        while !passed.iter().any(|(act, _)| *act == Act::Destroy) {
            assert!(begun.elapsed() < Duration::from_secs(5), "it does not end: {passed:?}");
            thread::sleep(Duration::from_millis(2));
            passed.extend(gate.passed());
        }
        let count = |act| passed.iter().filter(|(passed, _)| *passed == act).count();
        assert!(count(Act::Register) >= 10 && count(Act::Deregister) >= 10 && count(Act::Disconnect) == 1);
        assert!(passed.iter().all(|(_, thread)| *thread != thread::current().id()), "{passed:?}");
    });
}

/// Even if nothing has been polled yet: the caller may be a task.
#[test]
fn starting_a_call_registers_no_memory() {
    with_server(answer, |client, gate, _| {
        gate.passed();
        gate.close_to(Act::Register);
        let pending = client.start(with_chunks(&client));
        gate.wait_for_one();
        drop(client.start(with_chunks(&client)));
        gate.open();
        let ended = block_on(pending);
        let (outcome, call) = (ended.reply().map(drop), ended.into_call());
        assert_eq!((outcome, call.result(0)), (Ok(()), &[7; OCTETS][..]));
        let passed = gate.passed();
        assert!(passed.iter().any(|(act, _)| *act == Act::Register), "{passed:?}");
        assert!(passed.iter().all(|(_, thread)| *thread != thread::current().id()), "{passed:?}");
    });
}

/// Answers NULL calls, and passes all others to whoever receives them from the channel.
fn answers_elsewhere() -> (impl Fn(Request<Slow>) + Sync, mpsc::Receiver<Request<Slow>>) {
    let (sender, requests) = mpsc::channel();
    let sender = Mutex::new(sender);
    let service = move |request: Request<Slow>| match request.decode().unwrap().0.procedure {
        0 => answer(request),
        _ => sender.lock().unwrap().send(request).unwrap(),
    };
    (service, requests)
}

/// A call with only a Write chunk.
fn with_result(client: &Client<Slow>) -> Call {
    Call::new(message(client, 1), 24).with_result(vec![0; OCTETS])
}

#[test]
fn answering_elsewhere_runs_no_slow_operations() {
    let (service, requests) = answers_elsewhere();
    with_server(service, |client, _, gate| {
        let request = || requests.recv_timeout(Duration::from_secs(5)).unwrap();
        gate.passed();
        gate.close_to(Act::Register);
        let pending = client.start(with_result(&client));
        answer(request());
        gate.wait_for_one();
        gate.open();
        let ended = pending.wait();
        let (outcome, call) = (ended.reply().map(drop), ended.into_call());
        assert_eq!((outcome, call.result(0)), (Ok(()), &[7; OCTETS][..]));

        // Nor is a connection that the server has dropped destroyed by the thread that drops its last request.
        let _lost = client.start(with_result(&client));
        let last = request();
        client.connection().disconnect();
        let begun = Instant::now();
        while last.connection().ended().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(5), "it does not end");
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(Duration::from_millis(50));
        drop(last);
        let mut passed = gate.passed();
        while !passed.iter().any(|(act, _)| *act == Act::Destroy) {
            assert!(begun.elapsed() < Duration::from_secs(5), "it is not destroyed: {passed:?}");
            thread::sleep(Duration::from_millis(2));
            passed.extend(gate.passed());
        }
        assert!(passed.iter().any(|(act, _)| *act == Act::Register), "{passed:?}");
        assert!(passed.iter().all(|(_, thread)| *thread != thread::current().id()), "{passed:?}");
    });
}

/// A call that a server answers at once causes no thread switch.
#[test]
fn a_thread_of_a_server_registers_what_it_answers_with() {
    let threads = Arc::new(Mutex::new(Vec::new()));
    let served_by = Arc::clone(&threads);
    let service = move |request| {
        served_by.lock().unwrap().push(thread::current().id());
        answer(request);
        // If another thread were to do it, it would have done it by then.
        thread::sleep(Duration::from_millis(50));
    };
    with_server(service, |client, _, gate| {
        gate.passed();
        client.call(&mut with_chunks(&client)).unwrap().results().unwrap();
        let passed = gate.passed();
        // The memory into which the call is pulled, and the memory of the result.
        let registered: Vec<_> = passed.iter().filter(|(act, _)| *act == Act::Register).collect();
        assert_eq!(registered.len(), 2, "{passed:?}");
        assert_eq!(registered[1].1, *threads.lock().unwrap().last().unwrap());
    });
}

#[test]
fn a_busy_service_delays_no_answer_from_elsewhere() {
    let (busy, is_busy) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let (busy, ends) = (Mutex::new(busy), Mutex::new(ends));
    let (elsewhere, requests) = answers_elsewhere();
    let service = move |request: Request<Slow>| {
        if request.decode().unwrap().0.procedure == 2 {
            busy.lock().unwrap().send(()).unwrap();
            let _ = ends.lock().unwrap().recv();
            answer(request);
        } else {
            elsewhere(request);
        }
    };
    with_server(service, |client, _, _| {
        let pending = client.start(with_result(&client));
        let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
        let held_up = client.start(Call::new(message(&client, 2), 24));
        // It takes completions, so that the call arrives.
        let answered = thread::spawn(move || pending.wait());
        is_busy.recv_timeout(Duration::from_secs(5)).unwrap();
        answer(request);
        let begun = Instant::now();
        while !answered.is_finished() && begun.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(2));
        }
        let in_time = answered.is_finished();
        drop(end);
        assert!(in_time, "it waits for the service");
        assert_eq!(answered.join().unwrap().reply().unwrap().result(0), [7; OCTETS]);
        held_up.wait().reply().map(drop).unwrap();
    });
}
