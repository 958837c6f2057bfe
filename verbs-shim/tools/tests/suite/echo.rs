//! The echo program over the loopback: carried in each way, in many sizes, with a capture that shows that it was
//! that way; and what a server answers that does not have the program.

use std::sync::{Arc, Mutex};
use std::thread;

use rpcrdma::rpc::{self, AcceptStatus, Auth, Denial, Mismatch, ReplyBody};
use rpcrdma_dissector::nfs::Procedure;
use rpcrdma_dissector::{MessageForm, Transaction};
use rpcrdma_tools::echo::{Caller, Carry, PROGRAM, VERSION, Wrong, pattern, programs};
use rpcrdma_verbs::loopback::{Adapter, Fabric, PathMtu};
use rpcrdma_verbs::{Call, Client, Dispatcher, Server, Settings, Stream, Versions};

use crate::dissected::{File, dissect};
use crate::support::stopping::Stopping;

const ADDRESS: &str = "192.0.2.2:20049";
const SIZES: [u32; 11] = [0, 1, 3, 4, 24, 25, 1023, 1024, 4096, 65_537, 1_048_576];

/// Runs a test with a client of a server of these programs.
fn with_server(
    fabric: &Fabric,
    programs: &Dispatcher<'_, Adapter>,
    settings: &Settings,
    test: impl FnOnce(Client<Adapter>),
) {
    let (here, there) =
        (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings.clone()).unwrap();
    thread::scope(|scope| {
        let stopping = Stopping(server.stopper());
        let served = scope.spawn(|| server.serve(programs));
        test(Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap());
        drop(stopping);
        served.join().unwrap().unwrap();
    });
}

/// The RPCs of a capture of these calls, in which no rule is broken.
fn captured(calls: impl FnOnce(Client<Adapter>)) -> Vec<Transaction> {
    let file = File::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::Octets4096).unwrap();
    with_server(&fabric, &programs(), &Settings::server(), calls);
    fabric.end_capture().unwrap();
    let found = dissect(&file.octets());
    assert_eq!(found.slugs(), [""; 0]);
    found.transactions
}

/// Returns the forms in which a call and its reply are to be sent.
fn expected(carry: Carry, length: u32) -> (MessageForm, MessageForm) {
    use MessageForm::{Chunked, Long, Short};
    match (carry, length) {
        (Carry::Inline | Carry::Continued, _) | (Carry::Read | Carry::Write, 0) => (Short, Short),
        // The rest of the Call does not fit a Send either: with so little data, all of it would fit.
        (Carry::Read, 1..=24) => (Long, Short),
        (Carry::Read, _) => (Chunked, Short),
        (Carry::Write, _) => (Short, Chunked),
        (Carry::PositionZero, _) => (Long, Short),
        (Carry::Reply, _) => (Short, Long),
    }
}

#[test]
fn a_caller_whose_call_was_given_up_calls_again() {
    with_server(&Fabric::new(), &programs(), &Settings::server(), |client| {
        for carry in Carry::ALL {
            let mut caller = Caller::echo(carry, 500, &client.connection().terms()).unwrap();
            drop(client.start(std::mem::take(caller.prepare())));
            caller.call(&client).unwrap();
        }
    });
}

#[test]
fn every_way_and_size_breaks_no_rule() {
    assert_eq!((PROGRAM, VERSION), (Procedure::ECHO, 1), "the dissector knows it");
    for carry in Carry::ALL {
        let is_inline = matches!(carry, Carry::Inline | Carry::Continued);
        let sizes = SIZES.iter().copied().filter(|&length| !is_inline || length < 4000);
        let transactions = captured(|client| {
            for length in sizes.clone() {
                Caller::echo(carry, length, &client.connection().terms()).unwrap().call(&client).unwrap();
            }
        });
        assert_eq!(transactions.len(), sizes.clone().count());
        for (seen, length) in transactions.iter().zip(sizes) {
            let (call, reply) = (seen.call.as_ref().unwrap(), seen.reply.as_ref().unwrap());
            assert_eq!((call.form, reply.form), expected(carry, length), "{carry} {length}");
            let data = pattern(1, length).unwrap();
            let contains = |octets: &[u8]| {
                octets.len() >= data.len() && octets.windows(data.len().max(1)).any(|part| part == data)
            };
            let (call, reply) = (call.message.as_ref().unwrap(), reply.message.as_ref().unwrap());
            let argument = is_inline || matches!(carry, Carry::Read | Carry::PositionZero);
            let result = is_inline || matches!(carry, Carry::Write | Carry::Reply);
            if length > 3 {
                assert_eq!((contains(call.octets()), contains(reply.octets())), (argument, result), "{carry} {length}");
            }
            let octets = u64::from(length);
            match carry {
                Carry::Inline | Carry::Continued => assert_eq!((seen.read_octets, seen.write_octets), (0, 0)),
                Carry::Read if length > 24 => assert_eq!((seen.read_octets, seen.write_octets), (octets, 0)),
                Carry::Write => assert_eq!((seen.read_octets, seen.write_octets), (0, octets)),
                Carry::Read if length == 0 => assert_eq!((seen.read_octets, seen.write_octets), (0, 0)),
                Carry::Read | Carry::PositionZero => {
                    assert!(seen.read_octets > octets.max(4000) && seen.write_octets == 0, "{carry} {length}");
                }
                Carry::Reply => assert!(seen.write_octets > octets.max(4000) && seen.read_octets == 0, "{length}"),
            }
        }
    }
}

#[test]
fn data_of_any_length_is_continued_in_version_2_only() {
    let fabric = Fabric::new();
    let (here, there) =
        (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
    let address = "192.0.2.2:20049".parse().unwrap();
    let settings = Settings::server().to_builder().versions(Versions::all()).build().unwrap();
    let server = Server::bind(&there, address, settings).unwrap();
    let stopping = Stopping(server.stopper());
    thread::scope(|scope| {
        scope.spawn(|| server.serve(&programs()).unwrap());
        for versions in [Versions::ONE, Versions::TWO_A, Versions::TWO_B] {
            let settings = Settings::builder().versions(versions).continued(u32::MAX).build().unwrap();
            let client = Client::connect(&here, address, &settings).unwrap();
            for length in [0, 4000, 4096, 1_048_576] {
                match Caller::echo(Carry::Continued, length, &client.connection().terms()) {
                    Ok(mut caller) => caller.call(&client).unwrap(),
                    Err(error) => assert_eq!((versions, error.most, length > 4000), (Versions::ONE, 4024, true)),
                }
            }
        }
        drop(stopping);
    });
}

#[test]
fn fillers_without_private_data_assume_1024_octets() {
    let fabric = Fabric::new();
    let settings = Settings::server().to_builder().send_size(1024).receive_size(1024).build().unwrap();
    with_server(&fabric, &programs(), &settings, |client| {
        let terms = client.connection().terms();
        assert_eq!((terms.call_threshold, terms.reply_threshold), (1024, 1024));
        for carry in Carry::ALL {
            for length in [0, 1, 24, 25, 900, 952] {
                Caller::echo(carry, length, &terms).unwrap().call(&client).unwrap();
            }
        }
        let error = Caller::echo(Carry::Inline, 953, &terms).unwrap_err();
        assert_eq!(error.to_string(), "at most 952 octets can be carried by `inline` on this connection");
        assert!(Caller::echo(Carry::Read, 1_048_577, &terms).is_err());
    });
}

#[test]
fn the_buffers_of_a_caller_stay() {
    let fabric = Fabric::new();
    with_server(&fabric, &programs(), &Settings::server(), |client| {
        for carry in [Carry::Read, Carry::Write] {
            let mut caller = Caller::echo(carry, 100_000, &client.connection().terms()).unwrap();
            let mut places = Vec::new();
            for _ in 0..4 {
                caller.call(&client).unwrap();
                let item = caller.prepare().message().items().next().map(<[u8]>::as_ptr);
                places.push((item, caller.prepare().result_buffers().first().map(|room| room.as_ptr())));
            }
            assert!(places.windows(2).all(|two| two[0] == two[1]), "{carry}");
        }
    });
}

/// Returns the answer to a call with this header and these arguments.
fn answer(client: &Client<Adapter>, header: &rpc::RpcCall<'_>, arguments: &[u8]) -> (AcceptStatus, Option<Mismatch>) {
    let mut octets = vec![0; 40];
    header.encode(&mut octets).unwrap();
    let mut stream = Stream::from(octets);
    stream.push(arguments);
    let mut call = Call::new(stream, 100);
    match rpc::RpcReply::decode(client.call(&mut call).unwrap().message()).unwrap().0.body {
        ReplyBody::Accepted { status, mismatch, .. } => (status, mismatch),
        ReplyBody::Denied(denial) => {
            let versions = Mismatch { low: 2, high: 2 };
            assert_eq!(denial, Denial::RpcMismatch(versions));
            (AcceptStatus(u32::MAX), None)
        }
    }
}

#[test]
fn unknown_programs_are_refused_according_to_rfc_5531() {
    let programs = programs().with_program(100_003, 3).with_program(100_003, 4);
    let fabric = Fabric::new();
    with_server(&fabric, &programs, &Settings::server(), |client| {
        let call = |rpc_version, program, version, procedure| rpc::RpcCall {
            xid: client.xid(),
            rpc_version,
            program,
            version,
            procedure,
            credential: Auth::NONE,
            verifier: Auth::NONE,
        };
        let ask = |header: rpc::RpcCall<'_>, arguments: &[u8]| answer(&client, &header, arguments);
        let (ok, garbage) = ((AcceptStatus::SUCCESS, None), (AcceptStatus::GARBAGE_ARGS, None));
        assert_eq!(ask(call(2, 100_003, 4, 0), &[]), ok);
        assert_eq!(ask(call(2, 100_003, 3, 0), &[]), ok);
        assert_eq!(ask(call(2, PROGRAM, VERSION, 0), &[]), ok);
        assert_eq!(ask(call(2, 100_003, 4, 1), &[]), (AcceptStatus::PROC_UNAVAIL, None));
        assert_eq!(ask(call(2, PROGRAM, VERSION, 6), &[]), (AcceptStatus::PROC_UNAVAIL, None));
        assert_eq!(ask(call(2, 100_005, 3, 0), &[]), (AcceptStatus::PROG_UNAVAIL, None));
        let has = |low, high| (AcceptStatus::PROG_MISMATCH, Some(Mismatch { low, high }));
        assert_eq!(ask(call(2, 100_003, 2, 0), &[]), has(3, 4));
        assert_eq!(ask(call(2, PROGRAM, 2, 0), &[]), has(1, 1));
        assert_eq!(ask(call(3, PROGRAM, VERSION, 0), &[]), (AcceptStatus(u32::MAX), None), "denied");
        // Too short; too long; an impossible length; an impossible seed and length.
        assert_eq!(ask(call(2, PROGRAM, VERSION, 1), &[]), garbage);
        assert_eq!(ask(call(2, PROGRAM, VERSION, 1), &[0; 8]), garbage);
        assert_eq!(ask(call(2, PROGRAM, VERSION, 1), &[0xff; 8]), garbage);
        assert_eq!(ask(call(2, PROGRAM, VERSION, 2), &[0; 4]), garbage);
        assert_eq!(ask(call(2, PROGRAM, VERSION, 3), &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), garbage);
        assert_eq!(ask(call(2, PROGRAM, VERSION, 3), &[0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0]), garbage);
        assert_eq!(ask(call(2, PROGRAM, VERSION, 5), &[0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0]), garbage);
        let mut caller = Caller::null(100_003, 2);
        let error = caller.call(&client).unwrap_err();
        assert_eq!(error.to_string(), "the server answers PROG_MISMATCH: it has versions 3 to 4");
    });
}

#[test]
fn a_reply_with_one_wrong_octet_is_not_taken() {
    let (fabric, spoilt) = (Fabric::new(), Arc::new(Mutex::new(0_usize)));
    let (here, there) =
        (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
    let stop = server.stopper();
    let which = Arc::clone(&spoilt);
    // Echoes, with one octet wrong.
    let service = move |mut request: rpcrdma_verbs::Request<Adapter>| {
        let mut results = request.decode().unwrap().1.to_vec();
        results[*which.lock().unwrap()] ^= 1;
        request.accept().push(&results);
        request.answer().unwrap();
    };
    let served = thread::spawn(move || server.serve(&service));
    let client = Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap();
    let mut caller = Caller::echo(Carry::Inline, 100, &client.connection().terms()).unwrap();
    for at in [4, 57, 103] {
        *spoilt.lock().unwrap() = at;
        let call = caller.prepare();
        client.call(call).map(drop).unwrap();
        assert_eq!(caller.check(), Err(Wrong::Octet(at - 4)));
    }
    *spoilt.lock().unwrap() = 3;
    client.call(caller.prepare()).map(drop).unwrap();
    assert_eq!(caller.check(), Err(Wrong::Results(104)));
    stop.stop();
    served.join().unwrap().unwrap();
}
