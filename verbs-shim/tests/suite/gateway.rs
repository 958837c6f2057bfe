//! The example gateway, between a client over the loopback and a small server over TCP.

#[path = "../../examples/gateway/main.rs"]
#[allow(dead_code, reason = "it has a main of its own")]
mod example;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rpcrdma_dissector::MessageForm;
use rpcrdma_verbs::loopback::{Adapter, Fabric, PathMtu};
use rpcrdma_verbs::{Call, Client, Server, Settings};

use crate::dissected::{File, dissect};
use example::Gateway;

const ADDRESS: &str = "192.0.2.2:20049";
const NFS: u32 = 100_003;
const CALLBACK: u32 = 0x4000_0001;
const NFSACL: u32 = 100_227;
const NULL: u32 = 0;
const GETACL: u32 = 1;
const GETATTR: u32 = 9;
const READ: u32 = 6;
const WRITE: u32 = 7;
const COMPOUND: u32 = 1;
/// Maximum length of a reply in the session of the server, in octets.
const SESSION_LIMIT: u32 = 5000;

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn word(octets: &[u8], index: usize) -> u32 {
    u32::from_be_bytes(octets[4 * index..4 * index + 4].try_into().unwrap())
}

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8).collect()
}

/// Receives a record, or nothing at the end of the connection.
fn receive(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let mut message = vec![0; (u32::from_be_bytes(header) & !(1 << 31)) as usize];
    stream.read_exact(&mut message).unwrap();
    Some(message)
}

/// Sends a record in two fragments.
fn send(stream: &mut TcpStream, message: &[u8]) {
    let (first, last) = message.split_at(message.len() / 3);
    stream.write_all(&[&octets(&[first.len() as u32]), first].concat()).unwrap();
    stream.write_all(&[&octets(&[1 << 31 | last.len() as u32]), last].concat()).unwrap();
}

/// Serves a connection: READ of any file, WRITE, NULL, which calls back first, CREATE_SESSION, GETACL of NFSACL, GETATTR of an access
/// control list, and other COMPOUNDs, which fail.
fn serve(mut stream: TcpStream) {
    while let Some(call) = receive(&mut stream) {
        assert_eq!(word(&call, 1), 0);
        let accepted = [word(&call, 0), 1, 0, 0, 0, 0];
        // The arguments follow a header without credentials: a handle of four octets, offset, count.
        let results = match word(&call, 5) {
            GETACL if word(&call, 3) == NFSACL => acl_of_version_3(),
            _ if word(&call, 3) != NFS => panic!("program {}", word(&call, 3)),
            COMPOUND if word(&call, 13) == GETATTR => acl_of_version_4(),
            NULL => {
                send(&mut stream, &octets(&[77, 0, 2, CALLBACK, 1, 0, 0, 0, 0, 0]));
                let answer = receive(&mut stream).unwrap();
                assert_eq!(answer, octets(&[77, 1, 0, 0, 0, 0]));
                Vec::new()
            }
            READ => {
                let count = word(&call, 14);
                let data = data(count as usize);
                let padding = vec![0; data.len().next_multiple_of(4) - data.len()];
                [octets(&[0, 0, count, 1, count]), data, padding].concat()
            }
            WRITE => {
                let count = word(&call, 14);
                assert_eq!(call[4 * 17..][..count as usize], data(count as usize));
                octets(&[0, 0, 0, count, 2, 0, 0])
            }
            COMPOUND if word(&call, 13) == 43 => {
                let limits = [0, 9999, SESSION_LIMIT, 9, 9, 9, 0];
                octets(&[&[0, 0, 1, 43, 0, 1, 2, 3, 4, 0, 0][..], &limits, &limits].concat())
            }
            // SEQUENCE: NFS4ERR_BADSESSION.
            COMPOUND => octets(&[10_052, 0, 1, 53, 10_052]),
            procedure => panic!("procedure {procedure}"),
        };
        send(&mut stream, &[octets(&accepted), results].concat());
    }
}

/// No attributes, two access control lists of 1,024 entries each, as long as NFSACL allows.
fn acl_of_version_3() -> Vec<u8> {
    let list = [&octets(&[1024, 1024])[..], &data(1024 * 12)].concat();
    [&octets(&[0, 0, 0xf])[..], &list, &list].concat()
}

/// The attribute acl, of 60,000 octets: longer than what other replies need, shorter than what Linux has at most.
fn acl_of_version_4() -> Vec<u8> {
    [octets(&[0, 0, 1, GETATTR, 0, 1, 1 << 12, 60_000]), data(60_000)].concat()
}

/// Starts a server at a TCP address of this computer.
fn serve_tcp() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().for_each(|stream| drop(thread::spawn(|| serve(stream.unwrap())))));
    address
}

/// Runs a test with a gateway to a server.
fn with_gateway(fabric: &Fabric, server: SocketAddr, test: impl FnOnce(&Adapter)) {
    let [here, there] = [1, 2].map(|last| fabric.adapter([192, 0, 2, last].into()).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let settings = Gateway::<Adapter>::settings().unwrap();
    let listening = Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap();
    let (stop, gateway) = (listening.stopper(), Gateway::new(server, runtime.handle().clone()));
    thread::scope(|scope| {
        let served = scope.spawn(|| listening.serve(&gateway));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&here)));
        stop.stop();
        served.join().unwrap().unwrap();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn client(here: &Adapter) -> Client<Adapter> {
    let settings = Settings::builder().granted_credits(2).timeout(Some(Duration::from_secs(20))).build().unwrap();
    Client::connect(here, ADDRESS.parse().unwrap(), &settings).unwrap()
}

fn read(client: &Client<Adapter>, count: u32) -> Vec<u8> {
    let mut call = Call::rpc(NFS, 3, READ).with_results_length(20).with_result(vec![0; count as usize]);
    call.message().push(&octets(&[4, 1, 0, 0, count]));
    let reply = client.call(&mut call).unwrap();
    assert_eq!(reply.results().unwrap(), octets(&[0, 0, count, 1, count]));
    reply.result(0).to_vec()
}

#[test]
fn a_gateway_passes_rdma_calls_to_tcp() {
    const COUNTS: [u32; 5] = [0, 1, 1000, 65_537, 1 << 20];
    let file = File::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
    with_gateway(&fabric, serve_tcp(), |here| {
        let client = client(here);
        for count in COUNTS {
            assert!(read(&client, count) == data(count as usize), "{count}");
            let mut call = Call::rpc(NFS, 3, WRITE).with_results_length(28);
            call.message().push(&octets(&[4, 1, 0, 0, count, 0, count]));
            call.message().push_item(data(count as usize));
            assert_eq!(client.call(&mut call).unwrap().results().unwrap(), octets(&[0, 0, 0, count, 2, 0, 0]));
        }
        let called = client.connection().clone();
        let callback = thread::spawn(move || {
            let mut request = called.request(Duration::from_secs(20)).unwrap().unwrap();
            assert_eq!(request.decode().unwrap().0.program, CALLBACK);
            request.accept();
            request.answer().unwrap();
        });
        client.call(&mut Call::rpc(NFS, 3, NULL)).unwrap().results().unwrap();
        callback.join().unwrap();
    });
    fabric.end_capture().unwrap();
    let found = dissect(&file.octets());
    assert!(found.broken.is_empty(), "{:?}", found.broken);
    let is_read =
        |called: Option<rpcrdma_dissector::nfs::Procedure>| called.is_some_and(|known| known.procedure == READ);
    let reads = found.transactions.iter().filter(|transaction| is_read(transaction.procedure));
    let forms: Vec<_> = reads.map(|read| read.reply.as_ref().unwrap().form).collect();
    assert_eq!(forms[1..], [MessageForm::Chunked; 4], "the data went by RDMA Write");
}

/// Calls over TCP, and returns the results of the reply.
fn call_over_tcp(stream: &mut TcpStream, version: u32, procedure: u32, arguments: &[u8]) -> Vec<u8> {
    call_program_over_tcp(stream, NFS, version, procedure, arguments)
}

fn call_program_over_tcp(
    stream: &mut TcpStream,
    program: u32,
    version: u32,
    procedure: u32,
    arguments: &[u8],
) -> Vec<u8> {
    let header = [procedure + 1000, 0, 2, program, version, procedure, 0, 0, 0, 0];
    send(stream, &[octets(&header), arguments.to_vec()].concat());
    let reply = receive(stream).unwrap();
    let (accepted, results) = reply.split_at(24);
    assert_eq!(accepted, octets(&[procedure + 1000, 1, 0, 0, 0, 0]));
    results.to_vec()
}

/// Runs a test with a client over TCP, from there to RDMA by one gateway, and from there to TCP by another.
fn from_tcp_to_tcp(fabric: &Fabric, test: impl FnOnce(&mut TcpStream)) {
    with_gateway(fabric, serve_tcp(), |here| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(example::to_rdma(listener, here.clone(), ADDRESS.parse().unwrap()));
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        test(&mut stream);
        drop(stream);
        runtime.shutdown_background();
    });
    fabric.end_capture().unwrap();
}

#[test]
fn long_access_control_lists_pass_through_gateways_both_ways() {
    let file = File::default();
    from_tcp_to_tcp(&Fabric::captured(file.clone(), PathMtu::default()).unwrap(), |stream| {
        assert!(call_program_over_tcp(stream, NFSACL, 3, GETACL, &octets(&[4, 1, 0xf])) == acl_of_version_3());
        let asks = octets(&[0, 0, 1, GETATTR, 1, 1 << 12]);
        assert!(call_over_tcp(stream, 4, COMPOUND, &asks) == acl_of_version_4());
    });
    let found = dissect(&file.octets());
    assert!(found.broken.is_empty(), "{:?}", found.broken);
    let forms: Vec<_> = found.transactions.iter().map(|each| each.reply.as_ref().unwrap().form).collect();
    assert_eq!(forms, [MessageForm::Long; 2], "in Reply chunks");
}

#[test]
fn the_session_limits_the_reply_capacity() {
    let file = File::default();
    from_tcp_to_tcp(&Fabric::captured(file.clone(), PathMtu::default()).unwrap(), |stream| {
        let mut call = |operations: &[u32]| {
            let count = operations.iter().filter(|word| [25, 26, 43, 53].contains(word)).count();
            call_over_tcp(stream, 4, COMPOUND, &octets(&[&[0, 1, count as u32], operations].concat()))
        };
        let sequence = |session: [u32; 4]| [&[53][..], &session, &[5, 6, 7, 8]].concat();
        let read = [25, 0, 0, 0, 0, 0, 0, 1 << 20];
        let list = [26, 0, 0, 0, 0, 512, 60_000, 0];
        let limits = [0, 9999, 9999, 9, 9, 9, 0];
        let create = [&[43, 0, 1, 2, 0][..], &limits, &limits, &[0x4000_0000, 0]].concat();
        assert_eq!(word(&call(&create), 3), 43);
        for operations in [
            [sequence([1, 2, 3, 4]), read.to_vec()],
            [sequence([1, 2, 3, 4]), list.to_vec()],
            [sequence([1, 2, 3, 9]), read.to_vec()],
            [sequence([1, 2, 3, 9]), list.to_vec()],
        ] {
            assert_eq!(word(&call(&operations.concat()), 0), 10_052);
        }
    });
    let found = dissect(&file.octets());
    assert!(found.broken.is_empty(), "{:?}", found.broken);
    let room = |message: &rpcrdma_dissector::Message| {
        let (header, payload) = rpcrdma::v1::Header::decode(&message.octets).unwrap();
        let (chunks, is_call) = (header.chunks().unwrap(), payload.get(4..8) == Some(&[0; 4]));
        let of = |chunk: rpcrdma::lists::WriteChunk<'_>| chunk.length();
        is_call.then(|| (chunks.writes.iter().map(of).sum::<u64>(), chunks.reply.map_or(0, of)))
    };
    let rooms: Vec<_> = found.messages.iter().filter_map(room).collect();
    let limit = u64::from(SESSION_LIMIT);
    assert_eq!(rooms, [(0, 0), (limit, 0), (0, limit), (1 << 20, 0), (0, 64_000)]);
}

#[test]
fn a_gateway_passes_tcp_calls_to_rdma() {
    const COUNTS: [u32; 5] = [0, 1, 1000, 65_537, 1 << 20];
    let file = File::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
    from_tcp_to_tcp(&fabric, |stream| {
        for count in COUNTS {
            let padded = |mut data: Vec<u8>| {
                data.resize(data.len().next_multiple_of(4), 0);
                data
            };
            let results = call_over_tcp(stream, 3, READ, &octets(&[4, 1, 0, 0, count]));
            let expected = [octets(&[0, 0, count, 1, count]), padded(data(count as usize))].concat();
            assert!(results == expected, "{count}");
            let arguments = [octets(&[4, 1, 0, 0, count, 0, count]), padded(data(count as usize))].concat();
            assert_eq!(call_over_tcp(stream, 3, WRITE, &arguments), octets(&[0, 0, 0, count, 2, 0, 0]));
        }
        let null = [NULL + 1000, 0, 2, NFS, 3, NULL, 0, 0, 0, 0];
        send(stream, &octets(&null));
        let callback = receive(stream).unwrap();
        assert_eq!(word(&callback, 3), CALLBACK);
        send(stream, &octets(&[word(&callback, 0), 1, 0, 0, 0, 0]));
        assert_eq!(receive(stream).unwrap(), octets(&[NULL + 1000, 1, 0, 0, 0, 0]));
    });
    let found = dissect(&file.octets());
    assert!(found.broken.is_empty(), "{:?}", found.broken);
    let is_chunked =
        |half: &Option<rpcrdma_dissector::Half>| half.as_ref().is_some_and(|half| half.form == MessageForm::Chunked);
    let moved = |procedure| {
        let called =
            |known: Option<rpcrdma_dissector::nfs::Procedure>| known.is_some_and(|is| is.procedure == procedure);
        let calls = found.transactions.iter().filter(|transaction| called(transaction.procedure));
        calls.filter(|transaction| is_chunked(&transaction.call) || is_chunked(&transaction.reply)).count()
    };
    assert_eq!((moved(READ), moved(WRITE)), (4, 2), "the data went by RDMA");
}

#[test]
fn a_gateway_ends_the_client_connection_with_the_server_connection() {
    // A server that takes a call and closes the connection.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || drop(receive(&mut listener.accept().unwrap().0)));
    with_gateway(&Fabric::new(), address, |here| {
        let client = client(here);
        let lost = client.call(&mut Call::rpc(NFS, 3, READ)).unwrap_err();
        assert!(matches!(lost, rpcrdma_verbs::CallError::Lost(..)), "{lost}");
    });
}
