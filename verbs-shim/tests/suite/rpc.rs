//! Calls by program, version and procedure, and what a dispatcher answers: by the status of RFC 5531, each as the client
//! sees it, and octet by octet.

use std::error::Error;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use rpcrdma::endpoint::requester::CallRefusal;
use rpcrdma::rpc::{AcceptStatus, AuthStatus, AuthSys, Denial, Mismatch};
use rpcrdma_verbs::loopback::Adapter;
use rpcrdma_verbs::{
    Call, CallError, Client, Dispatcher, EndReason, NotRegistered, PeerFault, ProcedureCall, Progress, Refusal,
    ReplyError, Request, Settings, Stream,
};

use crate::support::service::with_service;

const PROGRAM: u32 = 400_100;

fn called(programs: &Dispatcher<'_, Adapter>, run: impl FnOnce(&Client<Adapter>)) {
    with_service(programs, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        run(&Client::connect(&here, address, &Settings::client()).unwrap());
    });
}

/// Two versions of a program, 2 and 5; procedure 1 of both returns its argument, 2 denies what it is asked.
fn programs() -> Dispatcher<'static, Adapter> {
    let echo = |call: &ProcedureCall<'_>, results: &mut Stream| {
        results.push(call.arguments);
        if call.arguments.len() == 4 { Ok(()) } else { Err(Refusal::GarbageArguments) }
    };
    Dispatcher::default()
        .with_procedure(PROGRAM, 2, 1, echo)
        .with_procedure(PROGRAM, 5, 1, echo)
        .with_procedure(PROGRAM, 5, 2, |_, _| Err(Refusal::Credentials(AuthStatus::TOOWEAK)))
        .with_procedure(PROGRAM, 5, 3, |_, _| Err(Refusal::SystemError))
        .with_program(100_003, 4)
}

#[test]
fn calls_are_answered_according_to_rfc_5531() {
    called(&programs(), |client| {
        let ask = |program, version, procedure, arguments: &[u8]| {
            let mut call = Call::rpc(program, version, procedure).with_results_length(8);
            call.message().push(arguments);
            client.call(&mut call).unwrap().results().map(<[u8]>::to_vec)
        };
        let status = |status| Err(ReplyError::NotCarriedOut(status));
        assert_eq!(ask(PROGRAM, 2, 1, b"abcd"), Ok(b"abcd".to_vec()));
        assert_eq!(ask(PROGRAM, 5, 1, b"abcd"), Ok(b"abcd".to_vec()));
        for (program, version) in [(PROGRAM, 2), (PROGRAM, 5), (100_003, 4)] {
            assert_eq!(ask(program, version, 0, b""), Ok(vec![]), "NULL");
        }
        assert_eq!(ask(PROGRAM, 5, 1, b"two word"), status(AcceptStatus::GARBAGE_ARGS));
        assert_eq!(ask(PROGRAM, 5, 3, b""), status(AcceptStatus::SYSTEM_ERR));
        assert_eq!(ask(PROGRAM, 5, 2, b""), Err(ReplyError::Denied(Denial::AuthError(AuthStatus(5)))));
        assert_eq!(ask(PROGRAM, 2, 2, b""), status(AcceptStatus::PROC_UNAVAIL));
        assert_eq!(ask(100_003, 4, 1, b""), status(AcceptStatus::PROC_UNAVAIL));
        assert_eq!(ask(PROGRAM + 1, 2, 1, b""), status(AcceptStatus::PROG_UNAVAIL));
        // 3 is between the existing versions, but is not one of them.
        for version in [1, 3, 6] {
            let range = Mismatch { low: 2, high: 5 };
            assert_eq!(ask(PROGRAM, version, 1, b""), Err(ReplyError::ProgramMismatch(range)), "{version}");
        }
    });
}

#[test]
fn invalid_calls_get_the_exact_errors_of_rfc_5531() {
    called(&programs(), |client| {
        let xid = || client.xid();
        let reply_to = |words: &[u32]| {
            let mut call =
                Call::new(Stream::from(words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>()), 64);
            let words = client
                .call(&mut call)
                .unwrap()
                .message()
                .chunks(4)
                .map(|word| u32::from_be_bytes(word.try_into().unwrap()));
            words.skip(1).collect::<Vec<_>>()
        };
        // RPC version 3: MSG_DENIED, RPC_MISMATCH, 2, 2.
        assert_eq!(reply_to(&[xid(), 0, 3, PROGRAM, 2, 1, 0, 0, 0, 0]), [1, 1, 0, 2, 2]);
        // AUTH_SHORT; AUTH_SYS with a body of four octets; RPCSEC_GSS: MSG_DENIED, AUTH_ERROR, AUTH_BADCRED.
        assert_eq!(reply_to(&[xid(), 0, 2, PROGRAM, 2, 0, 2, 4, 9, 0, 0]), [1, 1, 1, 1]);
        assert_eq!(reply_to(&[xid(), 0, 2, PROGRAM, 2, 0, 1, 4, 9, 0, 0]), [1, 1, 1, 1]);
        assert_eq!(reply_to(&[xid(), 0, 2, PROGRAM, 2, 0, 6, 20, 1, 1, 0, 1, 0, 0, 0]), [1, 1, 1, 1]);
        // A correct AUTH_SYS: MSG_ACCEPTED, AUTH_NONE, SUCCESS.
        assert_eq!(reply_to(&[xid(), 0, 2, PROGRAM, 2, 0, 1, 20, 0, 0, 0, 0, 0, 0, 0]), [1, 0, 0, 0, 0]);
    });
}

#[test]
fn a_handler_sees_the_user_and_data_that_came_apart() {
    let seen = Mutex::new(Vec::new());
    let programs = Dispatcher::<Adapter>::default().with_procedure(PROGRAM, 1, 1, |call, results| {
        let user =
            call.user().map(|user| (user.uid, user.gid, user.gids().collect::<Vec<_>>(), user.machine_name().len()));
        seen.lock().unwrap().push((user, call.peer.to_string(), call.arguments.len()));
        results.push(&9001_u32.to_be_bytes());
        results.push_item(call.arguments[4..9005].to_vec());
        Ok(())
    });
    called(&programs, |client| {
        let user = AuthSys::new(b"host1", 1000, 100, &[4, 24]).unwrap();
        let data: Vec<u8> = (0..9001_u32).map(|octet| octet as u8).collect();
        // Arguments before and after the credentials: the header goes before both.
        let mut call = Call::rpc(PROGRAM, 1, 1).with_results_length(4).with_result(vec![0; 9001]);
        call.message().push(&9001_u32.to_be_bytes());
        call.message().push_item(data.clone());
        let mut call = call.with_credentials(&user);
        let mut xids = Vec::new();
        for _ in 0..2 {
            let reply = client.call(&mut call).unwrap();
            assert_eq!(reply.results(), Ok(&9001_u32.to_be_bytes()[..]));
            assert!(reply.result(0) == data);
            xids.push(call.xid());
        }
        assert_ne!(xids[0], xids[1], "it is another call each time");
        call.message().clear();
        call.message().push(&9001_u32.to_be_bytes());
        call.message().push(&[7; 9004]);
        client.call(&mut call).unwrap().results().unwrap();
        assert!(call.result(0) == [7; 9001], "the header is still there");
    });
    let user = Some((1000, 100, vec![4, 24], 5));
    let here = |octets| (user.clone(), "192.0.2.1".to_owned(), octets);
    let seen: Vec<_> = seen
        .lock()
        .unwrap()
        .drain(..)
        .map(|(user, peer, octets)| (user, peer.split(':').next().unwrap().to_owned(), octets))
        .collect();
    assert_eq!(seen, [here(9008), here(9008), here(9008)]);
}

#[test]
fn a_deferred_call_is_answered_later_by_another_thread() {
    let waiting: Mutex<Vec<Request<Adapter>>> = Mutex::new(Vec::new());
    let programs = Dispatcher::default()
        .with_deferred(PROGRAM, 1, 1, |request| waiting.lock().unwrap().push(request))
        .with_procedure(PROGRAM, 1, 2, |_, _| Ok(()));
    called(&programs, |client| {
        // The first reply grants more than one credit.
        client.call(&mut Call::rpc(PROGRAM, 1, 0)).unwrap().results().unwrap();
        let late = client.start(Call::rpc(PROGRAM, 1, 1).with_results_length(4));
        // Others are answered meanwhile.
        client.call(&mut Call::rpc(PROGRAM, 1, 2)).unwrap().results().unwrap();
        let mut request = loop {
            if let Some(request) = waiting.lock().unwrap().pop() {
                break request;
            }
            thread::sleep(Duration::from_millis(1));
        };
        assert!(request.reply().is_empty());
        request.accept().push(b"late");
        request.answer().unwrap();
        let ended = late.wait();
        ended.reply().map(drop).unwrap();
        let call = ended.into_call();
        assert_eq!(call.accepted(), Ok(&b"late"[..]));
    });
}

#[test]
fn a_refusal_takes_the_results_away_that_were_there() {
    let programs = Dispatcher::<Adapter>::default().with_procedure(PROGRAM, 1, 1, |_, results| {
        results.push(b"half a result");
        results.push_item(vec![1; 5000]);
        results.clear();
        results.push(b"none");
        results.push_item(vec![2; 5000]);
        Err(Refusal::SystemError)
    });
    called(&programs, |client| {
        let mut call = Call::rpc(PROGRAM, 1, 1).with_results_length(9000);
        let reply = client.call(&mut call).unwrap();
        assert_eq!(reply.message().len(), 24);
        assert_eq!(reply.results().unwrap_err().to_string(), "the server answers SYSTEM_ERR");
    });
}

#[test]
fn a_call_that_was_given_up_keeps_its_xid() {
    let hold = Mutex::new(Vec::new());
    let programs =
        Dispatcher::<Adapter>::default().with_deferred(PROGRAM, 1, 1, |request| hold.lock().unwrap().push(request));
    with_service(&programs, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let settings = Settings::builder().timeout(Some(Duration::from_millis(50))).build().unwrap();
        let client = Client::connect(&here, address, &settings).unwrap();
        let mut call = Call::rpc(PROGRAM, 1, 1);
        assert_eq!(client.call(&mut call).unwrap_err(), CallError::TimedOut(Progress::Sent));
        assert_eq!(hold.lock().unwrap().pop().unwrap().xid(), call.xid());
        assert!(matches!(call.accepted(), Err(ReplyError::Malformed(_))));
    });
}

#[test]
fn a_dispatcher_shows_what_it_has() {
    let shown = format!("{:?}", programs());
    assert_eq!(shown, "{(100003, 4): [], (400100, 2): [1], (400100, 5): [1, 2, 3]}");
}

/// The texts of the causes of an error, each of the one before.
fn causes(error: &(dyn Error + 'static)) -> Vec<String> {
    std::iter::successors(error.source(), |&error| error.source()).map(ToString::to_string).collect()
}

#[test]
fn errors_give_their_causes() {
    let held = rpcrdma_verbs::Error::MemoryHeld;
    let refused = EndReason::Refused(held.clone());
    let not_rpc = rpcrdma::rpc::RpcReply::decode(&[]).unwrap_err();
    let registered = NotRegistered { error: held.clone(), buffer: Vec::new() };
    assert_eq!(causes(&CallError::Lost(refused.clone(), Progress::Sent)), [refused.to_string(), held.to_string()]);
    assert_eq!(causes(&CallError::NotConnected(held.clone(), Progress::NotSent)), [held.to_string()]);
    assert_eq!(causes(&CallError::NotRegistered(held.clone())), [held.to_string()]);
    assert_eq!(
        causes(&CallError::Refused(CallRefusal::Rpc(not_rpc))),
        [CallRefusal::Rpc(not_rpc).to_string(), not_rpc.to_string()]
    );
    assert_eq!(causes(&EndReason::PeerFault(PeerFault::CreditExceeded)), [PeerFault::CreditExceeded.to_string()]);
    assert_eq!(causes(&ReplyError::Malformed(not_rpc)), [not_rpc.to_string()]);
    assert_eq!(causes(&registered), [held.to_string()]);
    assert_eq!(causes(&CallError::NoReply), [""; 0]);
}
