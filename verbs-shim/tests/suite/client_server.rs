//! A client and a server over the loopback: every form that a call and its reply can take, and what goes wrong.

use std::cell::OnceCell;
use std::iter;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma::endpoint::Limits;
use rpcrdma::endpoint::responder::ReplyForm;
use rpcrdma::rpc::{AcceptStatus, ReplyBody};
use rpcrdma::v1::ErrorBody;
use rpcrdma_verbs::loopback::{Adapter, Fabric, Fault, Faults};
use rpcrdma_verbs::{
    Access, Call, CallError, Client, Connection, EndReason, Error, Kind, Progress, Request, Server, Service, Settings,
    StartedCall, Status, Stream, Verbs,
};

use crate::support::eventually::becomes_so;
use crate::support::header::header;
use crate::support::stopping::Stopping;

const ADDRESS: &str = "192.0.2.2:20049";

fn adapters() -> (Fabric, Adapter, Adapter) {
    let fabric = Fabric::new();
    let (here, there) =
        (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
    (fabric, here, there)
}

/// Runs a server while `test` runs.
fn with_server<T>(
    there: &Adapter,
    settings: Settings,
    service: impl Fn(Request<Adapter>) + Sync,
    test: impl FnOnce() -> T,
) -> T {
    with_service(there, settings, &service, test)
}

fn with_service<T>(
    there: &Adapter,
    settings: Settings,
    service: &impl Service<Adapter>,
    test: impl FnOnce() -> T,
) -> T {
    let server = Server::bind(there, ADDRESS.parse().unwrap(), settings).unwrap();
    let stop = server.stopper();
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(service));
        // A test that fails stops it too.
        let stopping = Stopping(stop);
        let done = test();
        drop(stopping);
        served.join().unwrap().unwrap();
        done
    })
}

fn data(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8 ^ seed).collect()
}

/// Procedure 0 returns nothing, 1 its argument as a result that may be reduced, 2 as one that may not.
fn echo(mut request: Request<Adapter>) {
    let (call, arguments) = request.decode().unwrap();
    let (procedure, arguments) = (call.procedure, arguments.to_vec());
    let reply = request.accept();
    if procedure > 0 {
        let (count, rest) = arguments.split_first_chunk::<4>().unwrap();
        let length = u32::from_be_bytes(*count) as usize;
        assert_eq!(rest.len(), length.next_multiple_of(4));
        assert!(rest[length..].iter().all(|&octet| octet == 0), "padding");
        reply.push(count);
        if procedure == 1 {
            reply.push_item(rest[..length].to_vec());
        } else {
            reply.push(rest);
        }
    }
    request.answer().unwrap();
}

/// A call of `echo`, whose argument may be reduced or not.
fn echo_call(xid: u32, procedure: u32, argument: &[u8], reducible: bool) -> Stream {
    let mut stream = Stream::from(header(xid, procedure));
    stream.push(&(argument.len() as u32).to_be_bytes());
    if reducible {
        stream.push_item(argument.to_vec());
    } else {
        stream.push(argument);
        stream.push(&[0; 3][..argument.len().next_multiple_of(4) - argument.len()]);
    }
    stream
}

const SIZES: [usize; 12] = [0, 1, 3, 4, 900, 1023, 1024, 4000, 4096, 65_537, 262_144, 1_000_001];

#[test]
fn every_way_of_carrying_the_argument_and_the_result() {
    let (_fabric, here, there) = adapters();
    with_server(&there, Settings::server(), echo, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        for (seed, &length) in SIZES.iter().enumerate() {
            let argument = data(length, seed as u8);
            for reducible in [false, true] {
                // Into a Write chunk.
                let stream = echo_call(client.xid(), 1, &argument, reducible);
                let mut call = Call::new(stream, 28).with_result(vec![0; length]);
                client.call(&mut call).unwrap().results().unwrap();
                assert_eq!(call.reply().len(), 28, "{length}");
                assert!(call.result(0) == argument, "{length} {reducible}");
                assert_eq!(
                    call.message().items().next().is_some_and(|item| item == argument),
                    reducible,
                    "buffers come back"
                );
                // Inline or into a Reply chunk, by a server that may reduce it, and by one that may not.
                for procedure in [1, 2] {
                    let stream = echo_call(client.xid(), procedure, &argument, reducible);
                    let mut call = Call::new(stream, 28 + length.next_multiple_of(4) as u32);
                    client.call(&mut call).unwrap().results().unwrap();
                    assert!(call.reply()[28..28 + length] == argument, "{length} {procedure} {reducible}");
                    assert_eq!(call.reply().len(), 28 + length.next_multiple_of(4));
                }
            }
        }
    });
}

/// Echoes the argument, which begins at `at` in the message, from where it is.
fn echo_from_message(at: usize) -> impl Fn(Request<Adapter>) + Sync {
    move |mut request: Request<Adapter>| {
        let message = request.take_message();
        assert_eq!(request.message(), b"");
        let (count, argument) = (message[at - 4..at].to_vec(), message[at..].as_ptr());
        let length = u32::from_be_bytes(*count.first_chunk().unwrap()) as usize;
        let reply = request.accept();
        reply.push(&count);
        reply.push_part(message, at..at + length).unwrap();
        assert_eq!(reply.items().next().unwrap().as_ptr(), argument);
        request.answer().unwrap();
    }
}

#[test]
fn a_received_item_is_returned_without_copying() {
    let (fabric, here, there) = adapters();
    with_server(&there, Settings::server(), echo_from_message(44), || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        for (length, reducible) in SIZES.iter().flat_map(|length| [(*length, false), (*length, true)]) {
            let argument = data(length, 9);
            let stream = echo_call(client.xid(), 1, &argument, reducible);
            let mut call = Call::new(stream, 28).with_result(vec![0; length]);
            let before = fabric.copies();
            client.call(&mut call).unwrap().results().unwrap();
            let after = fabric.copies();
            assert!(call.result(0) == argument, "{length} {reducible}");
            assert_eq!(after.moved - before.moved, after.copied - before.copied, "one copy of each octet");
        }
    });
}

/// 147 for each chunk, more than the send queue has entries. An idle server uses entries of it too, to see that its client is there.
#[test]
fn long_chunks_are_moved_by_several_adapter_messages() {
    let (_fabric, here, there) = adapters();
    let there = there.with_message_size(4096);
    let settings = Settings::server().to_builder().keep_alive(Some(Duration::from_millis(2))).build().unwrap();
    with_server(&there, settings, echo, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        for seed in [4, 5] {
            let argument = data(600_001, seed);
            let mut call = Call::new(echo_call(client.xid(), 1, &argument, true), 28).with_result(vec![0; 600_001]);
            client.call(&mut call).unwrap().results().unwrap();
            assert!(call.result(0) == argument);
            thread::sleep(Duration::from_millis(40));
        }
    });
}

/// The argument of a call is read, and its result is written.
#[test]
fn reads_and_writes_are_delayed_as_the_server_is_told() {
    let delay = Duration::from_millis(30);
    let server = || Settings::server().to_builder();
    for settings in [server().delay_reads(delay), server().delay_writes(delay)] {
        let (_fabric, here, there) = adapters();
        with_server(&there, settings.build().unwrap(), echo, || {
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
            let argument = data(10_000, 6);
            let mut call = Call::new(echo_call(client.xid(), 1, &argument, true), 28).with_result(vec![0; 10_000]);
            let began = Instant::now();
            client.call(&mut call).unwrap().results().unwrap();
            assert!(began.elapsed() >= delay, "{:?}", began.elapsed());
        });
    }
}

#[test]
fn a_call_can_be_made_again_with_its_buffers() {
    let (fabric, here, there) = adapters();
    with_server(&there, Settings::server(), echo, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        let argument = data(100_000, 7);
        let mut call = Call::new(Stream::default(), 28).with_result(vec![0; 100_000]);
        let mut buffer = argument.clone();
        let mut places = Vec::new();
        for _ in 0..3 {
            let message = call.message();
            message.clear();
            message.push(&header(client.xid(), 1));
            message.push(&100_000_u32.to_be_bytes());
            message.push_item(buffer);
            let before = fabric.copies();
            client.call(&mut call).unwrap().results().unwrap();
            let after = fabric.copies();
            assert!(call.result(0) == argument);
            assert_eq!(after.moved - before.moved, after.copied - before.copied, "one copy of each octet");
            places.push((call.result(0).as_ptr(), call.message().items().next().unwrap().as_ptr()));
            call.message().clear();
            buffer = call.message().buffer();
        }
        assert!(places.windows(2).all(|two| two[0] == two[1]), "the memory that is registered is the caller's");
    });
}

#[test]
fn many_threads_share_a_connection() {
    let (_fabric, here, there) = adapters();
    with_server(&there, Settings::server().to_builder().granted_credits(4).build().unwrap(), echo, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        thread::scope(|scope| {
            for seed in 0..8 {
                let client = client.clone();
                scope.spawn(move || {
                    for round in 0..100 {
                        let argument = data(round * 97, seed);
                        let stream = echo_call(client.xid(), 1, &argument, true);
                        let mut call = Call::new(stream, 28).with_result(vec![0; argument.len()]);
                        client.call(&mut call).unwrap().results().unwrap();
                        assert!(call.result(0) == argument);
                    }
                });
            }
        });
    });
}

#[test]
fn an_answer_can_be_given_later_and_elsewhere() {
    let (_fabric, here, there) = adapters();
    let (sender, receiver) = mpsc::channel();
    let elsewhere = thread::spawn(move || {
        // There is one credit until the first reply.
        echo(receiver.recv().unwrap());
        let mut requests: Vec<Request<Adapter>> = (0..5).map(|_| receiver.recv().unwrap()).collect();
        // In another order.
        requests.drain(..).rev().for_each(echo);
    });
    with_server(
        &there,
        Settings::server(),
        move |request| sender.send(request).unwrap(),
        || {
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
            client.call(&mut Call::new(Stream::from(header(client.xid(), 0)), 24)).unwrap().results().unwrap();
            let calls: Vec<_> = (0..5)
                .map(|seed| Call::new(echo_call(client.xid(), 2, &data(50, seed), false), 84))
                .map(|call| client.start(call))
                .collect();
            for (seed, pending) in calls.into_iter().enumerate() {
                let ended = pending.wait();
                ended.reply().map(drop).unwrap();
                let call = ended.into_call();
                assert!(call.reply()[28..78] == data(50, seed as u8));
            }
        },
    );
    elsewhere.join().unwrap();
}

fn answered_with_system_err(client: &Client<Adapter>) {
    let mut call = Call::new(Stream::from(header(client.xid(), 0)), 24);
    let reply = client.call(&mut call).unwrap();
    let (reply, _) = rpcrdma::rpc::RpcReply::decode(reply.message()).unwrap();
    assert!(matches!(reply.body, ReplyBody::Accepted { status: AcceptStatus::SYSTEM_ERR, .. }));
}

#[test]
fn a_request_that_is_dropped_is_answered_with_system_err() {
    let (_fabric, here, there) = adapters();
    with_server(&there, Settings::server(), drop, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        answered_with_system_err(&client);
    });
}

#[test]
fn a_wrong_answer_is_reported_and_ends_the_call() {
    let (_fabric, here, there) = adapters();
    let wrong = |mut request: Request<Adapter>| {
        request.accept().push(b"odd");
        assert!(request.answer().is_err());
    };
    with_server(&there, Settings::server().to_builder().granted_credits(1).build().unwrap(), wrong, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        for _ in 0..3 {
            answered_with_system_err(&client);
        }
    });
}

#[test]
fn oversized_replies_and_calls_are_refused() {
    let (_fabric, here, there) = adapters();
    let refused = |mut request: Request<Adapter>| {
        request.accept().push(&[7; 5000]);
        assert_eq!(request.answer(), Ok(ReplyForm::Refused));
    };
    with_server(&there, Settings::server(), refused, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        let mut call = Call::new(Stream::from(header(client.xid(), 0)), 24);
        assert_eq!(client.call(&mut call).unwrap_err(), CallError::Error(ErrorBody::Chunk));
    });
    let limits = Limits::new().with_octets(10_000);
    with_server(&there, Settings::server().to_builder().limits(limits).build().unwrap(), echo, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        let mut call = Call::new(echo_call(client.xid(), 1, &data(10_001, 1), true), 28).with_result(vec![0; 10_001]);
        assert_eq!(client.call(&mut call).unwrap_err(), CallError::Error(ErrorBody::Chunk));
        let mut call = Call::new(echo_call(client.xid(), 1, &data(9000, 1), true), 28).with_result(vec![0; 9000]);
        client.call(&mut call).unwrap().results().unwrap();
    });
}

#[test]
fn a_call_that_takes_too_long_is_given_up() {
    let (_fabric, here, there) = adapters();
    let (sender, receiver) = mpsc::channel();
    with_server(
        &there,
        Settings::server(),
        move |request| sender.send(request).unwrap(),
        || {
            let settings = Settings::builder().timeout(Some(Duration::from_millis(1000))).build().unwrap();
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            let mut call = Call::new(Stream::from(header(client.xid(), 0)), 24);
            assert_eq!(client.call(&mut call).unwrap_err(), CallError::TimedOut(Progress::Sent));
            // Its reply is discarded, and the next call is answered even so.
            let late: Request<Adapter> = receiver.recv().unwrap();
            echo(late);
            let answers = thread::spawn(move || {
                echo(receiver.recv().unwrap());
                receiver
            });
            let mut call = Call::new(Stream::from(header(client.xid(), 0)), 24);
            client.call(&mut call).unwrap().results().unwrap();
            let _receiver = answers.join().unwrap();
        },
    );
}

/// A server that keeps its requests until the test answers them.
fn with_kept<T>(test: impl FnOnce(&mpsc::Receiver<Request<Adapter>>, &Adapter) -> T) -> T {
    let (_fabric, here, there) = adapters();
    let (sender, requests) = mpsc::channel();
    let keep = move |request| drop(sender.send(request));
    with_server(&there, Settings::server(), keep, || test(&requests, &here))
}

/// The argument goes by Read chunk, and the result by Write chunk.
fn chunked_call(xid: u32) -> Call {
    Call::new(echo_call(xid, 1, &data(5000, 1), true), 28).with_result(vec![1; 5000])
}

#[test]
fn a_given_up_call_keeps_its_buffers_until_the_reply() {
    with_kept(|requests, here| {
        let (timeout, grace) = (Some(Duration::from_millis(100)), Duration::from_secs(2));
        let settings = Settings::builder().timeout(timeout).grace(grace).kept_given_up_calls(1).build().unwrap();
        let client = Client::connect(here, ADDRESS.parse().unwrap(), &settings).unwrap();
        // One credit until the first reply.
        let first = client.start(chunked_call(client.xid()));
        echo(requests.recv().unwrap());
        first.wait().reply().map(drop).unwrap();
        // One times out, one is dropped, and one is waited for.
        let mut slow = chunked_call(client.xid());
        assert_eq!(client.call(&mut slow).unwrap_err(), CallError::TimedOut(Progress::Sent));
        assert!(slow.result_buffers().is_empty(), "its buffers are with the connection");
        let late = requests.recv().unwrap();
        let dropped = client.start(chunked_call(client.xid()));
        let unwanted = requests.recv().unwrap();
        drop(dropped);
        assert!(client.connection().take_given_up_call().is_none(), "neither is answered");
        let pending = client.start(chunked_call(client.xid()));
        for request in [late, unwanted, requests.recv().unwrap()] {
            echo(request);
        }
        assert_eq!(pending.wait().reply().unwrap().result(0), &data(5000, 1)[..]);
        let mut returned = client.connection().take_given_up_call().unwrap();
        assert_eq!(
            (returned.result_buffers()[0].len(), returned.reply(), returned.result(0)),
            (5000, &[][..], &[][..])
        );
        assert!(client.connection().take_given_up_call().is_none(), "one is kept, as is set");
        // Answered calls have no grace that could end.
        assert!(client.connection().request(grace + grace / 10).unwrap().is_none());
    });
}

#[test]
fn an_unsent_given_up_call_returns_its_buffers_at_once() {
    with_kept(|requests, here| {
        let hasty = Settings::builder().timeout(Some(Duration::from_millis(50))).build().unwrap();
        let client = Client::connect(here, ADDRESS.parse().unwrap(), &hasty).unwrap();
        // It uses the only credit before the first reply; that reply needs no memory.
        let first = client.start(Call::new(Stream::from(header(client.xid(), 0)), 24));
        let kept = requests.recv().unwrap();
        let mut second = chunked_call(client.xid());
        assert_eq!(client.call(&mut second).unwrap_err(), CallError::TimedOut(Progress::NotSent));
        assert_eq!(second.result_buffers()[0], vec![1; 5000]);
        echo(kept);
        // The reply is kept, however late it is asked for.
        first.wait().reply().map(drop).unwrap();
    });
}

#[test]
fn unanswered_given_up_calls_end_the_connection_after_the_grace() {
    with_kept(|requests, here| {
        let (timeout, grace) = (Duration::from_millis(50), Duration::from_millis(400));
        let hasty = Settings::builder()
            .timeout(Some(timeout))
            .grace(grace)
            .requested_credits(1)
            .kept_given_up_calls(9)
            .build()
            .unwrap();
        let client = Client::connect(here, ADDRESS.parse().unwrap(), &hasty).unwrap();
        let start = Instant::now();
        assert_eq!(client.call(&mut chunked_call(client.xid())).unwrap_err(), CallError::TimedOut(Progress::Sent));
        let _kept = requests.recv().unwrap();
        // All places are taken, so later calls wait for one, but not for ever.
        let lost = loop {
            match client.call(&mut chunked_call(client.xid())).map(drop) {
                Err(CallError::TimedOut(Progress::NotSent)) => assert!(start.elapsed() < Duration::from_secs(20)),
                other => break other,
            }
        };
        assert_eq!(lost, Err(CallError::Lost(EndReason::Unanswered, Progress::NotSent)));
        assert!(start.elapsed() >= timeout + grace);
        // The driver may have ended the connection and still be taking the memory back.
        while client.connection().take_given_up_call().is_none() {
            assert!(start.elapsed() < Duration::from_secs(20), "then its buffers come back");
            thread::sleep(Duration::from_millis(1));
        }

        // Without grace, the first call that is given up ends the connection.
        let without = Settings::builder().grace(Duration::ZERO).build().unwrap();
        let client = Client::connect(here, ADDRESS.parse().unwrap(), &without).unwrap();
        let pending = client.start(chunked_call(client.xid()));
        let _kept = requests.recv().unwrap();
        drop(pending);
        assert_eq!(client.connection().ended(), Some(EndReason::Unanswered));
    });
}

#[test]
fn the_grace_ends_on_an_unused_connection() {
    with_kept(|requests, here| {
        let settings = Settings::client()
            .to_builder()
            .timeout(Some(Duration::from_millis(50)))
            .grace(Duration::from_millis(100))
            .build()
            .unwrap();
        /// Begins a call. If it is to be given up, it is dropped once it has arrived.
        type Begin = fn(&Client<Adapter>) -> Option<StartedCall<Adapter>>;
        let begin: [Begin; 3] = [
            |client| {
                assert!(client.call(&mut chunked_call(client.xid())).is_err());
                None
            },
            |client| {
                assert!(client.start(chunked_call(client.xid())).wait().reply().map(drop).is_err());
                None
            },
            |client| Some(client.start(chunked_call(client.xid()))),
        ];
        for begin in begin {
            let client = Client::connect(here, ADDRESS.parse().unwrap(), &settings).unwrap();
            let pending = begin(&client);
            let (kept, begun) = (requests.recv().unwrap(), Instant::now());
            drop(pending);
            while kept.connection().ended().is_none() {
                assert!(begun.elapsed() < Duration::from_secs(5), "nobody looks at the clock");
                thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(client.connection().ended(), Some(EndReason::Unanswered));
        }
    });
}

#[test]
fn calls_that_are_begun_together_are_given_up_together() {
    let (_fabric, here, there) = adapters();
    let (sender, _receiver) = mpsc::channel();
    let keep = move |request| sender.send(request).unwrap();
    with_server(&there, Settings::server(), keep, || {
        let settings = Settings::builder().timeout(Some(Duration::from_millis(500))).build().unwrap();
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
        let start = Instant::now();
        let null = || Call::new(Stream::from(header(client.xid(), 0)), 24);
        let pending: Vec<_> = (0..8).map(|_| client.start(null())).collect();
        // Before the first reply there is one credit, so the others were not sent.
        let progress = iter::once(Progress::Sent).chain(iter::repeat(Progress::NotSent));
        for (pending, progress) in pending.into_iter().zip(progress) {
            let outcome = pending.wait().reply().map(drop);
            assert_eq!(outcome, Err(CallError::TimedOut(progress)));
            let says = outcome.unwrap_err().to_string();
            assert_eq!(says.starts_with("timed out before it was sent"), progress == Progress::NotSent, "{says}");
        }
        assert!(start.elapsed() < Duration::from_secs(3), "not one after the other");
    });
}

#[test]
fn a_lost_connection_ends_all_calls() {
    let (_fabric, here, there) = adapters();
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    with_server(
        &there,
        Settings::server(),
        move |request| sender.send(request).unwrap(),
        || {
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
            let pending: Vec<_> = (0..3)
                .map(|_| Call::new(echo_call(client.xid(), 1, &data(20_000, 3), true), 28).with_result(vec![0; 20_000]))
                .map(|call| client.start(call))
                .collect();
            // The server has one of them, and does not answer.
            let _request: Request<Adapter> = receiver.recv().unwrap();
            client.connection().disconnect();
            let progress = [Progress::Sent, Progress::NotSent, Progress::NotSent];
            for (pending, progress) in pending.into_iter().zip(progress) {
                let ended = pending.wait();
                let (outcome, mut call) = (ended.reply().map(drop), ended.into_call());
                assert_eq!(outcome, Err(CallError::Lost(EndReason::Here, progress)));
                assert!(call.message().items().next().unwrap() == data(20_000, 3), "buffers come back");
                assert_eq!(call.result_buffers()[0].len(), 20_000);
            }
            let mut call = Call::new(Stream::from(header(client.xid(), 0)), 24);
            assert_eq!(client.call(&mut call).unwrap_err(), CallError::Lost(EndReason::Here, Progress::NotSent));
        },
    );
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn what_the_adapter_says_is_why_a_connection_ended() {
    let (_fabric, here, there) = adapters();
    // The first work request of the client is its Send.
    let here = here.with_faults(Faults::none().at(1, Fault::Complete(Status::NoAnswer)));
    with_server(&there, Settings::server(), echo, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        let mut call = Call::new(Stream::from(header(client.xid(), 0)), 24);
        let error = client.call(&mut call).unwrap_err();
        assert_eq!(error, CallError::Lost(EndReason::Failed(Kind::Send, Status::NoAnswer), Progress::Sent));
        assert_eq!(
            error.to_string(),
            "the connection ended before the reply: Send failed: the other side does not answer"
        );
    });
    assert_eq!(here.injected().total(), 1);
}

#[test]
fn both_ends_can_call() {
    let (_fabric, here, there) = adapters();
    let server = Server::bind(
        &there,
        ADDRESS.parse().unwrap(),
        Settings::server().to_builder().requested_credits(4).build().unwrap(),
    )
    .unwrap();
    let answer_one = |connection: &Connection<Adapter>| {
        echo(connection.request(Duration::from_secs(10)).unwrap().expect("a call"));
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let connection = server.accept(Duration::from_secs(10)).unwrap().expect("a connection");
            answer_one(&connection);
            // The same XID as the client's call, in the other direction.
            let mut call = Call::new(echo_call(77, 2, b"backwards", false), 40);
            connection.call(&mut call).unwrap().results().unwrap();
            assert_eq!(&call.reply()[28..37], b"backwards");
            answer_one(&connection);
            assert_eq!(connection.request(Duration::from_secs(10)).unwrap_err(), EndReason::Peer);
        });
        let settings = Settings::builder().granted_credits(2).build().unwrap();
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
        let mut call = Call::new(echo_call(77, 1, b"forwards", true), 28).with_result(vec![0; 8]);
        client.call(&mut call).unwrap().results().unwrap();
        assert_eq!(call.result(0), b"forwards");
        answer_one(client.connection());
        client.call(&mut Call::new(Stream::from(header(78, 0)), 24)).unwrap().results().unwrap();
    });
}

/// Echoes, and says when a connection has ended.
struct Telling(mpsc::Sender<EndReason>);

impl Service<Adapter> for Telling {
    fn call(&self, request: Request<Adapter>) {
        echo(request);
    }

    fn ended(&self, _: SocketAddr, why: &EndReason) {
        let _ = self.0.send(why.clone());
    }
}

#[test]
fn a_call_ends_one_connection_at_most() {
    let (_fabric, here, there) = adapters();
    // Each call takes an RDMA Read, an RDMA Write and a Send. The result of the third finds its memory gone.
    let there = there.with_faults(Faults::none().at(8, Fault::Complete(Status::RemoteAccess)));
    let (sender, ended) = mpsc::channel();
    with_service(&there, Settings::server(), &Telling(sender), || {
        let connect = || Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        let call = |client: &Client<Adapter>| client.call(&mut chunked_call(5)).map(drop);
        let client = connect();
        let lost = Err(CallError::Lost(EndReason::Peer, Progress::Sent));
        assert_eq!([call(&client), call(&client), call(&client)], [Ok(()), Ok(()), lost]);
        assert_eq!(ended.recv(), Ok(EndReason::Failed(Kind::Write, Status::RemoteAccess)));
        let client = connect();
        assert_eq!([call(&client), call(&client)], [Err(CallError::Error(ErrorBody::Chunk)), Ok(())]);
    });
    assert_eq!(there.injected().total(), 1);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn calls_are_futures_and_answers_can_be_given_by_tasks() {
    let (_fabric, here, there) = adapters();
    let (sender, mut requests) = tokio::sync::mpsc::unbounded_channel();
    // While this is locked for writing, nothing is answered.
    let answering = Arc::new(tokio::sync::RwLock::new(()));
    with_server(
        &there,
        Settings::server().to_builder().granted_credits(8).build().unwrap(),
        move |request| sender.send(request).unwrap(),
        || {
            let may_answer = Arc::clone(&answering);
            let answers = thread::spawn(move || {
                runtime().block_on(async move {
                    let mut tasks = tokio::task::JoinSet::new();
                    while let Some(request) = requests.recv().await {
                        let may_answer = Arc::clone(&may_answer);
                        tasks.spawn(async move {
                            tokio::time::sleep(Duration::from_millis(1)).await;
                            let _allowed = may_answer.read().await;
                            echo(request);
                        });
                    }
                    tasks.join_all().await;
                });
            });
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
            runtime().block_on(async {
                // More than the connection can have in flight.
                let mut tasks = tokio::task::JoinSet::new();
                for seed in 0..150 {
                    let client = client.clone();
                    tasks.spawn(async move {
                        let argument = data(100 * usize::from(seed), seed);
                        let stream = echo_call(client.xid(), 1, &argument, true);
                        let call = Call::new(stream, 28).with_result(vec![0; argument.len()]);
                        let ended = client.start(call).await;
                        ended.reply().map(drop).unwrap();
                        let call = ended.into_call();
                        assert!(call.result(0) == argument);
                    });
                }
                tasks.join_all().await;
                // A call that is given up, and the next one.
                let unanswered = answering.write().await;
                let pending = client.start(Call::new(Stream::from(header(client.xid(), 0)), 24));
                assert!(tokio::time::timeout(Duration::ZERO, pending).await.is_err());
                drop(unanswered);
                let outcome =
                    client.start(Call::new(Stream::from(header(client.xid(), 0)), 24)).await.reply().map(drop);
                outcome.unwrap();
                client.connection().disconnect();
                let outcome =
                    client.start(Call::new(Stream::from(header(client.xid(), 0)), 24)).await.reply().map(drop);
                assert_eq!(outcome, Err(CallError::Lost(EndReason::Here, Progress::NotSent)));
            });
            answers
        },
    )
    .join()
    .unwrap();
}

#[test]
fn failed_registrations_end_one_call_with_its_buffers() {
    let (_fabric, here, there) = adapters();
    let settings = Settings::builder().requested_credits(2).build().unwrap();
    with_server(&there, Settings::server(), echo, || {
        // The connection's own buffers take two regions.
        for (more, fails) in [(0, true), (1, true), (2, true), (3, false)] {
            let here = here.clone().with_regions(2 + more);
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            // An argument, room for a result and for a Long Reply: three regions.
            let mut call = Call::new(echo_call(client.xid(), 1, &data(5000, 1), true), 9000).with_result(vec![9; 5000]);
            let outcome = client.call(&mut call).map(drop);
            assert_eq!(outcome, if fails { Err(CallError::NotRegistered(Error::Exhausted)) } else { Ok(()) }, "{more}");
            assert!(call.message().items().next().unwrap() == data(5000, 1), "buffers come back");
            assert_eq!(call.result_buffers()[0].len(), 5000);
            assert!(!fails || call.result_buffers()[0] == vec![9; 5000]);
            let mut call = Call::new(echo_call(client.xid(), 2, b"inline", false), 40);
            client.call(&mut call).unwrap().results().unwrap();
        }
    });
}

#[test]
fn a_long_reply_includes_results_without_a_buffer() {
    let (_fabric, here, there) = adapters();
    let two = |mut request: Request<Adapter>| {
        let reply = request.accept();
        for (length, seed) in [(10_u32, 1), (5001, 2)] {
            reply.push(&length.to_be_bytes());
            reply.push_item(data(length as usize, seed));
        }
        reply.push(b"tail");
        assert_eq!(request.answer(), Ok(ReplyForm::Long));
    };
    with_server(&there, Settings::server(), two, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        let mut call = Call::new(Stream::from(header(client.xid(), 0)), 6000).with_result(vec![0; 10]);
        client.call(&mut call).unwrap().results().unwrap();
        assert!(call.result(0) == data(10, 1));
        let (counts, rest) = call.reply()[24..].split_at(8);
        assert_eq!(counts, [10_u32.to_be_bytes(), 5001_u32.to_be_bytes()].as_flattened());
        assert!(rest == [data(5001, 2), vec![0; 3], b"tail".to_vec()].concat());
    });
}

#[test]
fn one_thread_can_drive_both_ends() {
    let (_fabric, here, there) = adapters();
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
    let connecting =
        thread::spawn(move || Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap());
    let connection = server.accept(Duration::from_secs(10)).unwrap().expect("a connection");
    let client = connecting.join().unwrap();
    assert!(connection.request(Duration::ZERO).unwrap().is_none(), "nobody has called");
    // No memory is registered for so little.
    let pending = client.start(Call::new(echo_call(client.xid(), 1, &data(12, 1), true), 40));
    echo(connection.request(Duration::ZERO).unwrap().expect("a call"));
    let ended = pending.wait();
    let (outcome, call) = (ended.reply().map(drop), ended.into_call());
    assert_eq!((outcome, &call.reply()[28..]), (Ok(()), &data(12, 1)[..]));
}

/// Fails if `run` does not end.
fn in_time<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let running = thread::spawn(move || sender.send(run()));
    match receiver.recv_timeout(Duration::from_secs(20)) {
        Ok(done) => done,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => std::panic::resume_unwind(running.join().unwrap_err()),
    }
}

#[test]
fn a_server_stops_though_it_is_called_again_and_again() {
    in_time(|| {
        let (_fabric, here, there) = adapters();
        let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
        let stop = server.stopper();
        thread::scope(|scope| {
            let served = scope.spawn(|| server.serve(&echo));
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
            let stopping = scope.spawn(|| {
                thread::sleep(Duration::from_millis(100));
                stop.stop();
            });
            while client.call(&mut Call::new(Stream::from(header(client.xid(), 0)), 24)).is_ok() {}
            stopping.join().unwrap();
            served.join().unwrap().unwrap();
        });
    });
}

#[test]
fn a_panicking_service_ends_one_connection() {
    let (fabric, here, there) = adapters();
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap().with_connections(2);
    let stop = server.stopper();
    let service = |request: Request<Adapter>| match request.decode().unwrap().0.procedure {
        9 => panic!("on purpose"),
        _ => echo(request),
    };
    let served = in_time(move || {
        let calling = thread::spawn(move || {
            let stopping = Stopping(stop);
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
            for _ in 0..3 {
                let other = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
                let _ = other.call(&mut Call::new(Stream::from(header(other.xid(), 9)), 24));
                assert_eq!(other.connection().request(Duration::from_secs(10)).unwrap_err(), EndReason::Peer);
                client.call(&mut Call::new(Stream::from(header(client.xid(), 0)), 24)).unwrap().results().unwrap();
                // Its thread ends shortly afterwards.
                thread::sleep(Duration::from_millis(20));
            }
            drop((client, stopping));
        });
        let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.serve(&service)));
        calling.join().unwrap();
        served
    });
    assert!(served.is_err(), "told at the end");
    becomes_so(|| fabric.registered() == 0);
}

/// Counts that the thread whose variable it is has gone, which takes a while.
struct Gone(Arc<AtomicUsize>);

impl Drop for Gone {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(100));
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_stopped_server_drops_the_thread_locals_of_its_threads() {
    thread_local!(static KEPT: OnceCell<Gone> = const { OnceCell::new() });
    let (_fabric, here, there) = adapters();
    let [begun, gone] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let service = |request| {
        KEPT.with(|kept| {
            kept.get_or_init(|| {
                begun.fetch_add(1, Ordering::Relaxed);
                Gone(Arc::clone(&gone))
            });
        });
        echo(request);
    };
    with_server(&there, Settings::server(), service, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        client.call(&mut Call::new(Stream::from(header(client.xid(), 0)), 24)).unwrap().results().unwrap();
    });
    assert_ne!(begun.load(Ordering::Relaxed), 0);
    assert_eq!(gone.load(Ordering::Relaxed), begun.load(Ordering::Relaxed));
}

/// A waker that uses the connection, and reports each wake-up.
struct Nosy(Client<Adapter>, mpsc::Sender<()>);

impl std::task::Wake for Nosy {
    fn wake(self: std::sync::Arc<Self>) {
        let _ = self.0.xid();
        let _ = self.1.send(());
    }
}

/// Polls a future until it is done; it has to wake up in time before each poll.
fn poll_all<F: Future>(client: &Client<Adapter>, future: F) -> F::Output {
    let (sender, woken) = mpsc::channel();
    let waker = std::sync::Arc::new(Nosy(client.clone(), sender)).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(done) => return done,
            std::task::Poll::Pending => woken.recv_timeout(Duration::from_secs(10)).expect("nobody wakes it"),
        }
    }
}

#[test]
fn a_waker_may_use_the_connection() {
    in_time(|| {
        let (_fabric, here, there) = adapters();
        with_server(&there, Settings::server(), echo, || {
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
            for _ in 0..100 {
                let pending = client.start(Call::new(Stream::from(header(client.xid(), 0)), 24));
                poll_all(&client, pending).reply().map(drop).unwrap();
            }
        });
    });
}

#[test]
fn a_late_reply_frees_the_slot_of_its_call() {
    let (_fabric, here, there) = adapters();
    let (sender, requests) = mpsc::channel();
    let keep = move |request| sender.send(request).unwrap();
    let most = rpcrdma_verbs::MAX_CALLS;
    with_server(&there, Settings::server().to_builder().granted_credits(most).build().unwrap(), keep, || {
        let settings = Settings::builder().requested_credits(most).build().unwrap();
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
        let null = || client.start(Call::new(Stream::from(header(client.xid(), 0)), 24));
        let first = null();
        echo(requests.recv().unwrap());
        first.wait().reply().map(drop).unwrap();
        // As many as possible. The server has all of them when they are given up, so each keeps its place.
        let all: Vec<_> = (0..most).map(|_| null()).collect();
        let kept: Vec<Request<Adapter>> = (0..most).map(|_| requests.recv().unwrap()).collect();
        drop(all);
        let (here, answers) = (
            &client,
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(200));
                kept.into_iter().for_each(echo);
                echo(requests.recv().unwrap());
                requests
            }),
        );
        poll_all(here, null()).reply().map(drop).unwrap();
        answers.join().unwrap();
    });
}

#[test]
fn dropping_a_polled_connection_ends_it() {
    let (fabric, here, there) = adapters();
    with_server(&there, Settings::server(), echo, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        runtime()
            .block_on(client.start(Call::new(Stream::from(header(client.xid(), 0)), 24)))
            .reply()
            .map(drop)
            .unwrap();
        // By now a thread is waiting.
        thread::sleep(Duration::from_millis(50));
        let start = Instant::now();
        drop(client);
        while fabric.registered() > 0 && start.elapsed() < Duration::from_millis(700) {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(fabric.registered(), 0);
    });
}

/// The reply to a call comes, and the client, which answers up to `served` calls, does not look until the connection is over: true if
/// it gets the reply.
fn gets_reply_from_before_the_end(served: u32, until_end: Duration) -> bool {
    with_kept(|requests, here| {
        let settings = Settings::builder().granted_credits(served).build().unwrap();
        let client = Client::connect(here, ADDRESS.parse().unwrap(), &settings).unwrap();
        let pending = client.start(Call::new(Stream::from(header(client.xid(), 0)), 24));
        let mut request = requests.recv().unwrap();
        let connection = request.connection();
        request.accept();
        request.answer().unwrap();
        thread::sleep(until_end);
        connection.disconnect();
        pending.wait().reply().map(drop).is_ok()
    })
}

#[test]
fn a_reply_before_the_end_of_the_connection_counts() {
    for served in [0, 1] {
        // On a busy machine, it may take longer to come.
        let mut waits = (0..6).map(|doubled| Duration::from_millis(20 << doubled));
        assert!(waits.any(|wait| gets_reply_from_before_the_end(served, wait)), "{served}");
    }
}

#[test]
fn the_smaller_announced_sizes_apply() {
    let (_fabric, here, there) = adapters();
    with_server(&there, Settings::server().to_builder().receive_size(8192).build().unwrap(), echo, || {
        for (size, threshold) in [(2048, 2048), (8192, 8192), (16_384, 8192)] {
            let settings = Settings::builder().send_size(size).build().unwrap();
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            assert_eq!(client.connection().terms().call_threshold, threshold, "{size}");
        }
    });
}

#[test]
fn a_request_says_who_calls_and_by_which_connection() {
    let (_fabric, here, there) = adapters();
    let (sender, receiver) = mpsc::channel();
    let keep = move |request| sender.send(request).unwrap();
    with_server(&there, Settings::server(), keep, || {
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        let pending = client.start(Call::new(Stream::from(header(client.xid(), 0)), 24));
        let request: Request<Adapter> = receiver.recv().unwrap();
        assert_eq!(request.peer().ip(), "192.0.2.1".parse::<std::net::IpAddr>().unwrap());
        assert_eq!(request.connection().peer(), request.peer());
        // The request came by this connection: if it ends, the caller loses its call.
        request.connection().disconnect();
        assert_eq!(pending.wait().reply().map(drop), Err(CallError::Lost(EndReason::Peer, Progress::Sent)));
    });
}

#[test]
fn a_call_while_holding_memory_fails_at_once() {
    in_time(|| {
        let (_fabric, here, there) = adapters();
        with_server(&there, Settings::server(), echo, || {
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
            let domain = here.domain().unwrap();
            let region = here.register(&domain, vec![0; 4], Access::empty()).unwrap();
            let mut call = Call::new(echo_call(5, 1, &data(5000, 1), true), 28).with_result(vec![0; 5000]);
            let outcome = here.read(&region, |_| client.call(&mut call).map(drop)).unwrap();
            assert_eq!(outcome, Err(CallError::Lost(EndReason::Refused(Error::MemoryHeld), Progress::NotSent)));
        });
    });
}

#[test]
fn a_server_without_memory_refuses_one_call() {
    let (_fabric, here, there) = adapters();
    // Data that fits in a Call is too long for a reply.
    let settings = Settings::builder().receive_size(1024).build().unwrap();
    // The connection's own buffers take two regions.
    for (more, fits) in [(0, false), (1, true)] {
        let there = there.clone().with_regions(2 + more);
        with_server(&there, Settings::server().to_builder().granted_credits(1).build().unwrap(), echo, || {
            let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
            let call = |procedure, octets: usize, reply: u32, room: Option<usize>, fits: bool| {
                let mut call = Call::new(echo_call(client.xid(), procedure, &data(octets, 3), true), reply);
                if let Some(room) = room {
                    call.result_buffers().push(vec![0; room]);
                }
                let refused = Err(CallError::Error(ErrorBody::Chunk));
                assert_eq!(client.call(&mut call).map(drop), if fits { Ok(()) } else { refused }, "{more} {octets}");
            };
            for _ in 0..3 {
                call(2, 100, 200, None, true);
                call(0, 5000, 24, None, fits);
                call(2, 3000, 3100, None, fits);
                call(1, 3000, 28, Some(3000), fits);
            }
        });
    }
}

/// Does not report failed connections.
struct Panicking;

impl Service<Adapter> for Panicking {
    fn call(&self, request: Request<Adapter>) {
        echo(request);
    }

    fn failed(&self, _: std::net::SocketAddr, _: &Error) {
        panic!("on purpose");
    }
}

#[test]
fn a_panic_about_a_failed_connection_stops_the_server() {
    in_time(|| {
        let (_fabric, here, there) = adapters();
        let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap().with_connections(1);
        let served = thread::spawn(move || server.serve(&Panicking).is_ok());
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
        assert!(Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).is_err());
        assert!(served.join().is_err());
        assert_eq!(client.connection().request(Duration::from_secs(10)).unwrap_err(), EndReason::Peer);
    });
}

/// Passes on the reasons why clients could not connect.
struct Failures(mpsc::Sender<Error>);

impl Service<Adapter> for Failures {
    fn call(&self, request: Request<Adapter>) {
        echo(request);
    }

    fn failed(&self, _: std::net::SocketAddr, why: &Error) {
        self.0.send(why.clone()).unwrap();
    }
}

#[test]
fn one_client_too_many_is_rejected_with_a_reason() {
    in_time(|| {
        let (_fabric, here, there) = adapters();
        let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap().with_connections(1);
        let (stop, (failures, reasons)) = (server.stopper(), mpsc::channel());
        let served = thread::spawn(move || server.serve(&Failures(failures)));
        let connect = || Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client());
        let client = connect().unwrap();
        assert_eq!(
            connect().err().map(|error| error.to_string()).as_deref(),
            Some(r#"the other side rejected the connection: "the server has as many connections as it allows""#)
        );
        assert_eq!(reasons.recv_timeout(Duration::from_secs(10)), Ok(Error::Connections));
        assert!(Error::Connections.advice().unwrap().contains("--connections"));
        stop.stop();
        drop(client);
        served.join().unwrap().unwrap();
    });
}

#[test]
fn who_asks_nothing_for_too_long_makes_room_for_others() {
    let (_fabric, here, there) = adapters();
    let address = ADDRESS.parse().unwrap();
    let server = Server::bind(&there, address, Settings::server()).unwrap();
    let server = server.with_connections(1).with_idle_limit(Duration::from_secs(1));
    // The answer takes longer than the idle limit, which is not the client's fault.
    let slow = |request: Request<Adapter>| {
        thread::spawn(|| {
            thread::sleep(Duration::from_millis(1500));
            echo(request);
        });
    };
    thread::scope(|scope| {
        let stopping = Stopping(server.stopper());
        scope.spawn(|| server.serve(&slow).unwrap());
        let connect = || Client::connect(&here, address, &Settings::client());
        let silent = connect().unwrap();
        assert!(connect().is_err(), "there is room for one");
        silent.call(&mut Call::new(Stream::from(header(silent.xid(), 0)), 24)).unwrap().results().unwrap();
        assert_eq!(silent.connection().request(Duration::from_secs(10)).unwrap_err(), EndReason::Peer);
        let begun = Instant::now();
        while connect().is_err() {
            assert!(begun.elapsed() < Duration::from_secs(10), "its place is free");
            thread::sleep(Duration::from_millis(10));
        }
        drop(stopping);
    });
}

#[test]
fn provided_replies_are_read_between_ends_that_agree() {
    let (fabric, here, there) = adapters();
    let provides = Settings::server().to_builder().provides_replies(Some(Duration::from_secs(30))).build().unwrap();
    with_server(&there, provides, echo, || {
        let settings = Settings::builder().reads_provided_replies(true).build().unwrap();
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
        let before = fabric.registered();
        for length in [0, 100, 5000, 5001, 65_537, 300_000] {
            // Data that may be reduced, and data that may not.
            for procedure in [1, 2] {
                let argument = data(length, procedure as u8);
                let stream = echo_call(client.xid(), procedure, &argument, true);
                let mut call = Call::new(stream, 28 + length.next_multiple_of(4) as u32);
                client.call(&mut call).unwrap().results().unwrap();
                assert_eq!(call.reply().len(), 28 + length.next_multiple_of(4));
                assert!(call.reply()[28..28 + length] == argument, "{length} {procedure}");
            }
        }
        // More than the call has announced room for.
        let mut call = Call::new(echo_call(client.xid(), 2, &data(6000, 1), true), 5000);
        assert_eq!(client.call(&mut call).unwrap_err(), CallError::NoReply);
        client.call(&mut Call::new(Stream::from(header(client.xid(), 0)), 24)).unwrap().results().unwrap();
        becomes_so(|| fabric.registered() == before);
    });
}

#[test]
fn an_unread_provided_reply_is_withdrawn_after_its_time() {
    let (fabric, here, there) = adapters();
    // It sends less inline than it receives, so that a Call without chunks has such a reply.
    let half_second = Some(Duration::from_millis(500));
    let provides = Settings::server().to_builder().provides_replies(half_second).send_size(1024).build().unwrap();
    with_server(&there, provides, echo, || {
        // A client that cannot pull replies, and provides less room than needed.
        let settings = Settings::builder().timeout(Some(Duration::from_secs(2))).build().unwrap();
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
        let before = fabric.registered();
        let mut call = Call::new(echo_call(client.xid(), 2, &data(3000, 1), true), 24);
        assert_eq!(client.call(&mut call).unwrap_err(), CallError::TimedOut(Progress::Sent));
        becomes_so(|| fabric.registered() == before);
    });
}
