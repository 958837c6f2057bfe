//! Version 2 in both formats over the loopback: what is agreed, and calls in each way that data can travel, captured and
//! judged.

use std::net::SocketAddr;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use rpcrdma::endpoint::Limits;
use rpcrdma::endpoint::requester::CallRefusal;
use rpcrdma::endpoint::responder::ReplyFault;
use rpcrdma::v2::{ErrorBodyV2, Family};
use rpcrdma_dissector::MessageForm;
use rpcrdma_verbs::loopback::{Adapter, Fabric, Listener, PathMtu};
use rpcrdma_verbs::{
    Call, CallError, Client, Connection, Dispatcher, Error, Local, Refusal, Request, Server, Settings, SettingsBuilder,
    Verbs, Version, Versions,
};

use crate::dissected::{File, Found, dissect};
use crate::support::stopping::Stopping;

const A: Version = Version::Two(Family::A);
const B: Version = Version::Two(Family::B);
const PROGRAM: u32 = 400_100;

fn address() -> SocketAddr {
    "192.0.2.2:20049".parse().unwrap()
}

/// Procedure 1 returns its arguments: a count, and as many octets, as a data item. Procedure 2 has no reply.
fn programs() -> Dispatcher<'static, Adapter> {
    let programs = Dispatcher::default().with_procedure(PROGRAM, 1, 1, |call, results| {
        let (count, octets) = call.arguments.split_first_chunk::<4>().ok_or(Refusal::GarbageArguments)?;
        results.push(count);
        let length = u32::from_be_bytes(*count) as usize;
        results.push_item(octets.get(..length).ok_or(Refusal::GarbageArguments)?.to_vec());
        Ok(())
    });
    programs.with_deferred(PROGRAM, 1, 2, |request| {
        let version = request.connection().version();
        let expected = if version == Some(Version::One) { Err(ReplyFault::Owed) } else { Ok(()) };
        assert_eq!(request.forget(), expected);
    })
}

fn with(builder: SettingsBuilder, versions: Versions) -> Settings {
    builder.versions(versions).build().unwrap()
}

/// Runs a server that accepts these versions, captured.
fn captured(server: SettingsBuilder, accepts: Versions, run: impl FnOnce(&Adapter)) -> Found {
    let file = File::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
    let (here, there) =
        (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
    let server = Server::bind(&there, address(), with(server, accepts)).unwrap();
    let stopping = Stopping(server.stopper());
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&programs()).unwrap());
        run(&here);
        drop(stopping);
        served.join().unwrap();
    });
    drop(server);
    fabric.end_capture().unwrap();
    dissect(&file.octets())
}

/// Path of an echo's octets.
#[derive(Clone, Copy, Debug)]
enum Way {
    Inline,
    /// In a Read chunk, and inline back.
    Read,
    /// Inline, and back in a Write chunk.
    Write,
    Both,
}

/// An echo of this many octets.
fn echo(client: &Client<Adapter>, way: Way, length: usize) {
    let octets: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
    let mut call = Call::rpc(PROGRAM, 1, 1).with_results_length(4);
    if matches!(way, Way::Write | Way::Both) {
        call = call.with_result(vec![0; length]);
    } else {
        call = call.with_results_length(4 + length.next_multiple_of(4) as u32);
    }
    call.message().push(&(length as u32).to_be_bytes());
    if matches!(way, Way::Read | Way::Both) {
        call.message().push_item(octets.clone());
    } else {
        call.message().push(&octets);
        call.message().push(&vec![0; length.next_multiple_of(4) - length]);
    }
    let reply = client.call(&mut call).unwrap();
    let results = reply.results().unwrap();
    assert_eq!(results[..4], (length as u32).to_be_bytes(), "{way:?} {length}");
    let returned = if matches!(way, Way::Write | Way::Both) { reply.result(0) } else { &results[4..4 + length] };
    assert!(returned == octets, "{way:?} {length}");
}

#[test]
fn both_ends_agree_on_the_highest_version_that_both_speak() {
    let (one, a, b) = (Versions::ONE, Versions::TWO_A, Versions::TWO_B);
    for (offers, accepts, agreed) in [
        (one, one, Ok(Version::One)),
        (one, Versions::all(), Ok(Version::One)),
        (a, Versions::all(), Ok(A)),
        (b, Versions::all(), Ok(B)),
        (Versions::all(), Versions::all(), Ok(B)),
        (Versions::all(), one, Ok(Version::One)),
        (a | one, one, Ok(Version::One)),
        (a | one, b | one, Ok(Version::One)),
        (b, one, Err(Error::Version)),
        (one, b, Ok(Version::One)),
    ] {
        let found = captured(Settings::server().to_builder(), accepts, |here| {
            let client = Client::connect(here, address(), &with(Settings::builder(), offers));
            let version = client.as_ref().map(|client| client.connection().version().unwrap()).map_err(Clone::clone);
            assert_eq!(version, agreed, "{offers:?} to {accepts:?}");
            // A server that speaks version 2 only refuses each call of version 1.
            if let Ok(client) = client
                && (offers != one || accepts.contains(one))
            {
                echo(&client, Way::Inline, 5);
                echo(&client, Way::Both, 5000);
            }
        });
        assert!(found.broken.is_empty(), "{offers:?} to {accepts:?}: {:?}", found.broken);
    }
}

#[test]
fn data_travels_in_each_way_without_findings() {
    for (versions, version) in [(Versions::TWO_A, A), (Versions::TWO_B, B)] {
        let lengths = [0, 1, 5, 300, 3900, 4000, 4096, 70_000];
        let found = captured(Settings::server().to_builder(), Versions::all(), |here| {
            let client = Client::connect(here, address(), &with(Settings::builder(), versions)).unwrap();
            for way in [Way::Inline, Way::Read, Way::Write, Way::Both] {
                lengths.iter().for_each(|&length| echo(&client, way, length));
            }
            assert_eq!(client.connection().version(), Some(version));
        });
        assert!(found.broken.is_empty(), "{version}: {:?}", found.broken);
        assert_eq!(found.transactions.len(), 4 * lengths.len(), "{version}");
    }
}

#[test]
fn many_calls_at_once_share_the_credits() {
    for versions in [Versions::TWO_A, Versions::TWO_B] {
        for calls in [1, 2, 32] {
            let found = captured(Settings::server().to_builder(), Versions::all(), |here| {
                let settings = with(Settings::builder().requested_credits(calls), versions);
                let client = Client::connect(here, address(), &settings).unwrap();
                thread::scope(|scope| {
                    for thread in 0..8 {
                        let client = &client;
                        scope.spawn(move || (0..50).for_each(|call| echo(client, Way::Both, 100 * thread + call)));
                    }
                });
            });
            assert!(found.broken.is_empty(), "{versions:?}: {:?}", found.broken);
            assert_eq!(found.transactions.len(), 400, "{versions:?}");
        }
    }
}

/// Each end reads what the other has sent, as it is; in version 1 there is nothing.
#[test]
fn each_end_reads_the_host_authentication_message_of_the_other() {
    for (versions, there, back) in [
        (Versions::TWO_A, Some(b"client".to_vec()), Some(b"server".to_vec())),
        (Versions::TWO_B, Some(b"client".to_vec()), Some(b"server".to_vec())),
        (Versions::ONE, None, None),
    ] {
        let fabric = Fabric::new();
        let [here, beyond] = [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
        let settings = with(Settings::server().to_builder().host_authentication(b"server"), Versions::all());
        let server = Server::bind(&beyond, address(), settings).unwrap();
        let read = Mutex::new(None);
        let service = |request: Request<Adapter>| {
            *read.lock().unwrap() = Some(request.connection().host_authentication().unwrap());
        };
        let stopping = Stopping(server.stopper());
        thread::scope(|scope| {
            let served = scope.spawn(|| server.serve(&service).unwrap());
            let settings = with(Settings::builder().host_authentication(b"client"), versions);
            let client = Client::connect(&here, address(), &settings).unwrap();
            client.call(&mut Call::rpc(PROGRAM, 1, 0)).map(drop).unwrap();
            assert_eq!(client.connection().host_authentication(), Ok(back), "{versions:?}");
            drop(stopping);
            served.join().unwrap();
        });
        assert_eq!(read.into_inner().unwrap(), Some(there), "{versions:?}");
    }
}

#[test]
fn calls_wait_if_the_server_answers_fewer_at_a_time() {
    for (versions, served) in [(Versions::TWO_A, 1), (Versions::TWO_A, 5), (Versions::TWO_B, 1), (Versions::TWO_B, 5)] {
        let found = captured(Settings::server().to_builder().granted_credits(served), Versions::all(), |here| {
            let settings = with(Settings::builder().requested_credits(64), versions);
            let client = Client::connect(here, address(), &settings).unwrap();
            let waiting: Vec<_> = (0..200).map(|_| client.start(Call::rpc(PROGRAM, 1, 0))).collect();
            waiting.into_iter().for_each(|call| call.wait().reply().map(drop).unwrap());
        });
        assert!(found.broken.is_empty(), "{versions:?} {served}: {:?}", found.broken);
        assert_eq!(found.transactions.len(), 200, "{versions:?} {served}");
    }
}

/// Accepts this many connections, and says nothing; `ends`: it ends the first one when something comes.
fn silent(there: &Adapter, listener: &Listener, (connections, ends): (usize, bool), longest: Duration) {
    let mut kept = Vec::new();
    for _ in 0..connections {
        let request = there.request(listener, Duration::from_secs(10)).unwrap().unwrap();
        let domain = there.domain().unwrap();
        let pair = there.queue_pair(&domain, rpcrdma_verbs::Depths::default()).unwrap();
        let inbox = there.register(&domain, vec![0; 4096], rpcrdma_verbs::Access::LOCAL_WRITE).unwrap();
        there.post_receive(&pair, 1, Local::whole_region(&inbox, 4096)).unwrap();
        there.accept(request, &pair, &[]).unwrap();
        if ends && kept.is_empty() {
            there.completion(&pair, Duration::from_secs(10)).unwrap();
            there.disconnect(&pair).unwrap();
        }
        kept.push((pair, inbox));
    }
    thread::sleep(3 * longest);
}

/// Calls and replies of several Sends, in both directions, and others at the same time. No memory is registered for them.
#[test]
fn long_messages_are_continued_in_further_sends() {
    let lengths = [1, 3900, 4000, 4100, 9000, 70_000, 300_000];
    for (versions, version) in [(Versions::TWO_A, A), (Versions::TWO_B, B)] {
        for calls in [1, 8] {
            let found = captured(Settings::server().to_builder(), Versions::all(), |here| {
                let builder = Settings::builder().requested_credits(calls).continued(u32::MAX);
                let client = Client::connect(here, address(), &with(builder, versions)).unwrap();
                thread::scope(|scope| {
                    for _ in 0..calls {
                        scope.spawn(|| lengths.iter().for_each(|&length| echo(&client, Way::Inline, length)));
                    }
                });
            });
            assert!(found.broken.is_empty(), "{version}, {calls}: {:?}", found.broken);
            assert_eq!(found.transactions.len(), calls as usize * lengths.len(), "{version}, {calls}");
            for transaction in &found.transactions {
                let [call, reply] = [&transaction.call, &transaction.reply].map(|half| half.as_ref().unwrap());
                let (called, replied) = (call.message.as_ref().unwrap(), reply.message.as_ref().unwrap());
                let length = called.octets().len();
                assert_eq!(length, replied.octets().len() + 16, "{version}");
                // 4096 octets without the header, and the header of a call is the longer one.
                assert_eq!(call.form == MessageForm::Continued, length > 4096 - 36, "{version} {length}");
                assert_eq!(reply.form == MessageForm::Continued, length > 4096 - 20, "{version} {length}");
                assert_eq!((transaction.read_octets, transaction.write_octets), (0, 0), "{version} {length}");
            }
        }
    }
}

/// Calls of procedure 2, with this many octets in a data item, each as a future or not; then one that is answered.
fn call_one_way(client: &Client<Adapter>, lengths: &[usize]) -> Result<(), CallError> {
    for (number, &length) in lengths.iter().enumerate() {
        let mut call = Call::rpc(PROGRAM, 1, 2).without_reply();
        call.message().push_item(vec![length as u8; length]);
        if number.is_multiple_of(2) {
            assert_eq!(client.call(&mut call)?.results(), Ok(&[][..]));
        } else {
            let ended = client.start(call).wait();
            assert_eq!(ended.reply()?.results(), Ok(&[][..]));
            call = ended.into_call();
        }
        assert_eq!(call.reply(), b"");
        assert_eq!(call.message().items().collect::<Vec<_>>(), [vec![length as u8; length]], "its buffers are back");
    }
    echo(client, Way::Inline, 5);
    Ok(())
}

/// They come to the server in order and whole, take no memory, and need no place after that.
#[test]
fn calls_without_a_reply_end_when_they_are_sent() {
    let lengths = [0, 1, 300, 4000, 5000, 70_000].repeat(20);
    for (versions, version) in [(Versions::TWO_A, A), (Versions::TWO_B, B)] {
        for calls in [1, 8] {
            let found = captured(Settings::server().to_builder().granted_credits(calls), Versions::all(), |here| {
                let settings = with(Settings::builder().requested_credits(calls), versions);
                call_one_way(&Client::connect(here, address(), &settings).unwrap(), &lengths).unwrap();
            });
            assert!(found.broken.is_empty(), "{version}: {:?}", found.broken);
            let (without, with): (Vec<_>, Vec<_>) = found.transactions.iter().partition(|rpc| rpc.reply.is_none());
            assert_eq!((without.len(), with.len()), (lengths.len(), 1), "{version}");
            let mut sizes: Vec<_> = without
                .iter()
                .map(|rpc| {
                    assert_eq!((rpc.read_octets, rpc.write_octets), (0, 0), "{version}");
                    rpc.call.as_ref().unwrap().message.as_ref().unwrap().octets().len()
                })
                .collect();
            sizes.sort_unstable();
            let mut expected: Vec<_> = lengths.iter().map(|length| 40 + length.next_multiple_of(4)).collect();
            expected.sort_unstable();
            assert_eq!(sizes, expected, "{version}");
        }
    }
}

#[test]
fn version_1_has_no_calls_without_a_reply() {
    captured(Settings::server().to_builder(), Versions::all(), |here| {
        let client = Client::connect(here, address(), &with(Settings::builder(), Versions::ONE)).unwrap();
        assert_eq!(call_one_way(&client, &[5]), Err(CallError::Refused(CallRefusal::OneWay)));
        // A request that the server forgets is answered with an error.
        let mut call = Call::rpc(PROGRAM, 1, 2);
        assert!(client.call(&mut call).unwrap().results().is_err());
    });
}

/// An old server ends the connection after a message of version 2, or says nothing.
#[test]
fn a_client_falls_back_to_version_1_after_silence() {
    for (ends, versions, outcome) in [
        (true, Versions::all(), Ok(Version::One)),
        (false, Versions::all(), Ok(Version::One)),
        (true, Versions::TWO_B, Err(Error::Disconnected)),
        (false, Versions::TWO_A, Err(Error::TimedOut)),
    ] {
        let fabric = Fabric::new();
        let (here, there) =
            (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
        let listener = there.listen(address(), 4).unwrap();
        let longest = Duration::from_millis(200);
        let settings = with(Settings::builder().connect_timeout(longest), versions);
        thread::scope(|scope| {
            scope.spawn(|| silent(&there, &listener, (if outcome.is_ok() { 2 } else { 1 }, ends), longest));
            let client = Client::connect(&here, address(), &settings);
            let version = client.as_ref().map(|client| client.connection().version().unwrap()).map_err(Clone::clone);
            assert_eq!(version, outcome, "{ends} {versions:?}");
        });
    }
}

/// Makes an echo of 300 octets with a room of so many for the result, and says where the result came.
fn echoed(client: &Client<Adapter>, room: usize, largest: u32) -> Result<&'static str, CallError> {
    let octets: Vec<u8> = (0..300).map(|at| at as u8).collect();
    let mut call =
        Call::rpc(PROGRAM, 1, 1).with_results_length(4).with_result(vec![0; room]).with_max_buffer_length(largest);
    call.message().push(&300_u32.to_be_bytes());
    call.message().push_item(octets.clone());
    call.message().push_zeros(4096);
    let reply = client.call(&mut call)?;
    let results = reply.results().unwrap();
    assert_eq!(results[..4], 300_u32.to_be_bytes());
    if reply.result(0).is_empty() {
        assert!(results[4..] == octets);
        return Ok("in the reply");
    }
    assert!(reply.result(0) == octets);
    Ok("in its room")
}

/// Calls that exceed a limit of the server, and their outcome when they are made again within it.
#[test]
fn a_call_recovers_from_what_the_server_cannot_take() {
    let limits = |reads, writes, segments| Limits::new().with_chunks(reads, writes).with_segments(segments);
    let resource = ErrorBodyV2::WriteResource { chunk_index: 1, length_needed: 300 };
    for (name, limits, room, largest, expected) in [
        ("nothing is refused", limits(1, 1, 9), 300, 0, Ok("in its room")),
        ("no Read chunk", limits(0, 1, 9), 300, 0, Ok("in its room")),
        ("no Write chunk", limits(1, 0, 9), 300, 0, Ok("in the reply")),
        ("neither", limits(0, 0, 9), 300, 0, Ok("in the reply")),
        ("one segment", limits(1, 1, 1), 300, 0, Ok("in the reply")),
        ("too little room", limits(1, 1, 9), 100, 300, Ok("in its room")),
        ("too little room, and it must not grow", limits(1, 1, 9), 100, 0, Err(CallError::ErrorV2(resource))),
        ("too little room, and it must not grow so far", limits(1, 1, 9), 100, 299, Err(CallError::ErrorV2(resource))),
    ] {
        for versions in [Versions::TWO_A, Versions::TWO_B] {
            let server = Settings::server().to_builder().limits(limits);
            let found = captured(server, Versions::all(), |here| {
                let client = Client::connect(here, address(), &with(Settings::builder(), versions)).unwrap();
                assert_eq!(echoed(&client, room, largest), expected, "{name}, {versions:?}");
                // Its memory is free, and its place, its credit and its XID.
                echo(&client, Way::Inline, 5);
            });
            assert!(found.broken.is_empty(), "{name}, {versions:?}: {:?}", found.broken);
        }
    }
}

/// Begins more calls of so many octets than there are places for, answers those of the other end, and takes the replies to its
/// own.
fn call_and_answer(connection: &Connection<Adapter>, length: usize, barrier: &Barrier) {
    const CALLS: usize = 64;
    let longest = Duration::from_secs(20);
    while connection.version().is_none() {
        assert!(connection.request(Duration::from_millis(10)).unwrap().is_none(), "nobody calls yet");
    }
    barrier.wait();
    let call = || {
        let mut call = Call::rpc(PROGRAM, 1, 0);
        call.message().push(&vec![7; length]);
        connection.start(call)
    };
    let calls: Vec<_> = (0..CALLS).map(|_| call()).collect();
    // Now neither end can send another call.
    barrier.wait();
    for answered in 0..CALLS {
        let mut request = connection.request(longest).unwrap().unwrap_or_else(|| panic!("only {answered} calls came"));
        assert!(request.decode().unwrap().1 == vec![7; length]);
        request.accept();
        request.answer().unwrap();
    }
    for (number, call) in calls.into_iter().enumerate() {
        let ended = call.wait();
        let (outcome, call) = (ended.reply().map(drop), ended.into_call());
        assert_eq!((outcome, call.accepted()), (Ok(()), Ok(&[][..])), "{number}");
    }
    // Waits until the other end has its replies, too.
    barrier.wait();
}

#[test]
fn ends_without_credits_answer_all_calls() {
    for versions in [Versions::ONE, Versions::TWO_A, Versions::TWO_B] {
        // In version 2, the long ones are continued: then nothing comes between the parts, and that may be what the other end
        // waits for.
        for (places, length) in [1, 2, 7, 64].into_iter().flat_map(|places| [(places, 0), (places, 40_000)]) {
            let both = |builder: SettingsBuilder| {
                with(builder.requested_credits(64).granted_credits(places).continued(u32::MAX), versions)
            };
            let fabric = Fabric::new();
            let (here, there) =
                (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
            let server = Server::bind(&there, address(), both(Settings::server().to_builder())).unwrap();
            let barrier = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let connection = server.accept(Duration::from_secs(10)).unwrap().unwrap();
                    call_and_answer(&connection, length, &barrier);
                });
                let client = Client::connect(&here, address(), &both(Settings::builder())).unwrap();
                call_and_answer(client.connection(), length, &barrier);
            });
        }
    }
}

/// Answers calls of the server as a client: with as many octets as the first argument says, in a data item.
fn answer_back(connection: &Connection<Adapter>) {
    while let Ok(request) = connection.request(Duration::from_secs(20)) {
        let Some(mut request) = request else { panic!("nothing comes") };
        let length = request.decode().unwrap().1.first_chunk::<4>().copied().unwrap();
        request.accept().push(&length);
        request.reply().push_item(vec![7; u32::from_be_bytes(length) as usize]);
        request.answer().unwrap();
    }
}

/// Calls a client with so many octets in a data item, for as many in the reply, which may go into a room.
fn call_back(connection: &Connection<Adapter>, there: usize, back: usize) -> Result<(), CallError> {
    let mut call = Call::rpc(PROGRAM, 1, 1).with_results_length(4).with_result(vec![0; back]);
    call.message().push(&(back as u32).to_be_bytes());
    call.message().push_item(vec![9; there]);
    let reply = connection.call(&mut call)?;
    let results = reply.results().unwrap();
    let result = if reply.result(0).is_empty() { &results[4..4 + back] } else { reply.result(0) };
    assert!(result == vec![7; back], "{there} {back}");
    Ok(())
}

/// Has a server that both ends call on call a client with these settings, and tells what is wrong in the capture.
fn called_back(client: &Settings, calls: impl FnOnce(&Connection<Adapter>) + Send) -> Found {
    let file = File::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
    let [here, beyond] = [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let settings = with(Settings::server().to_builder().requested_credits(4), Versions::all());
    let server = Server::bind(&beyond, address(), settings).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let connection = server.accept(Duration::from_secs(10)).unwrap().unwrap();
            while connection.version().is_none() {
                assert!(connection.request(Duration::from_millis(10)).unwrap().is_none(), "the client does not call");
            }
            calls(&connection);
            connection.disconnect();
        });
        answer_back(Client::connect(&here, address(), client).unwrap().connection());
    });
    drop(server);
    fabric.end_capture().unwrap();
    dissect(&file.octets())
}

/// Calls of the server end as the client's settings say: a short one, a long one, and one with a long reply. Only some
/// settings let data go by RDMA.
#[test]
fn a_server_calls_a_client_as_that_announces_it() {
    let refused = |why: CallRefusal| Err(CallError::Refused(why));
    let resource = |length_needed| Err(CallError::ErrorV2(ErrorBodyV2::ReplyResource { length_needed }));
    let nothing = [(); 3].map(|()| refused(CallRefusal::NotAnswered));
    for (served, limits, outcomes, goes_by_rdma) in [
        (0, Limits::new(), nothing, false),
        (4, Limits::NO_CHUNKS, [Ok(()), refused(CallRefusal::TooLong), resource(9028)], false),
        (4, Limits::NO_CHUNKS.with_collected(100_000), [Ok(()), Ok(()), Ok(())], false),
        (4, Limits::new(), [Ok(()), Ok(()), Ok(())], true),
    ] {
        for versions in [Versions::TWO_A, Versions::TWO_B] {
            let client = Settings::builder().requested_credits(4).granted_credits(served).limits(limits);
            let found = called_back(&with(client, versions), |connection| {
                let lengths = [(100, 100), (9000, 100), (100, 9000)];
                for ((there, back), outcome) in lengths.into_iter().zip(outcomes.clone()) {
                    assert_eq!(call_back(connection, there, back), outcome, "{limits:?} {versions:?} {there} {back}");
                }
            });
            assert!(found.broken.is_empty(), "{limits:?} {versions:?}: {:?}", found.broken);
            let moved: u64 = found.transactions.iter().map(|rpc| rpc.read_octets + rpc.write_octets).sum();
            assert_eq!(moved > 0, goes_by_rdma, "{limits:?} {versions:?}");
        }
    }
}
