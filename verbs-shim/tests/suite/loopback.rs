//! Behaviour of the loopback, and requests that it refuses: each test's name is the sentence it proves.

use std::hint::spin_loop;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::{Adapter, ConnectionRequest, Domain, Fabric, Fault, Faults, Injected, QueuePair, Region};
use rpcrdma_verbs::{
    Access, Completion, Depths, Error, Kind, Local, NotRegistered, Operation, Remote, Status, Verbs, Waiter,
    WatchState, Work,
};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(20);
const ALL: Access = Access::all();

fn address() -> SocketAddr {
    "192.0.2.2:20049".parse().unwrap()
}

/// One side of a connection.
struct End {
    adapter: Adapter,
    domain: Domain,
    queue_pair: QueuePair,
}

impl End {
    fn new(adapter: Adapter, depths: Depths) -> Self {
        let domain = adapter.domain().unwrap();
        let queue_pair = adapter.queue_pair(&domain, depths).unwrap();
        Self { adapter, domain, queue_pair }
    }

    fn register(&self, octets: &[u8], access: Access) -> Region {
        self.adapter.register(&self.domain, octets.to_vec(), access).unwrap()
    }

    fn octets(&self, region: &Region) -> Vec<u8> {
        self.adapter.read(region, <[u8]>::to_vec).unwrap()
    }

    fn receive(&self, id: u64, region: &Region, length: usize) {
        self.adapter.post_receive(&self.queue_pair, id, Local::whole_region(region, length)).unwrap();
    }

    fn post(&self, id: u64, operation: Operation, region: &Region, length: usize) {
        self.adapter.post(&self.queue_pair, Work::new(id, operation, Local::whole_region(region, length))).unwrap();
    }

    fn fenced(&self, id: u64, operation: Operation, region: &Region, length: usize) {
        self.adapter
            .post(&self.queue_pair, Work::new(id, operation, Local::whole_region(region, length)).fenced())
            .unwrap();
    }

    fn completion(&self) -> Completion {
        self.adapter.completion(&self.queue_pair, NOW).unwrap().expect("a completion")
    }

    /// Number and status of the next completion.
    fn next_completion(&self) -> (u64, Status) {
        let completion = self.completion();
        (completion.id, completion.status)
    }

    fn remote(&self, region: &Region) -> Remote {
        self.adapter.segment(region).into()
    }

    fn is_over(&self) -> bool {
        self.adapter.completion(&self.queue_pair, NOW) == Err(Error::Disconnected)
    }
}

/// Two adapters.
fn adapters() -> (Fabric, Adapter, Adapter) {
    let fabric = Fabric::new();
    let (client, server) = (fabric.adapter([192, 0, 2, 1].into()), fabric.adapter([192, 0, 2, 2].into()));
    (fabric, client.unwrap(), server.unwrap())
}

fn connect(client: &End, server: &End) {
    let listener = server.adapter.listen(address(), 1).unwrap();
    client.adapter.connect(&client.queue_pair, address(), &[]).unwrap();
    let request = server.adapter.request(&listener, NOW).unwrap().unwrap();
    server.adapter.accept(request, &server.queue_pair, &[]).unwrap();
    assert!(client.adapter.connected(&client.queue_pair, NOW).unwrap().is_some());
}

/// A connection with these depths and faults on the client's side.
fn connection_with(depths: Depths, faults: Faults) -> (Fabric, End, End) {
    let (fabric, client, server) = adapters();
    let client = End::new(client.with_faults(faults), depths);
    let server = End::new(server, Depths::default());
    connect(&client, &server);
    (fabric, client, server)
}

fn connection() -> (Fabric, End, End) {
    connection_with(Depths::default(), Faults::none())
}

// Sends.

#[test]
fn a_send_fills_the_start_of_the_next_receive() {
    let (_, client, server) = connection();
    let (message, buffer) = (client.register(b"message", ALL), server.register(&[0xa5; 10], Access::LOCAL_WRITE));
    server.receive(1, &buffer, 10);
    client.post(2, Operation::Send, &message, 7);
    let received = Completion { id: 1, kind: Kind::Receive, status: Status::Success, length: 7, invalidated: None };
    assert_eq!(server.completion(), received);
    assert_eq!(client.completion(), Completion { id: 2, kind: Kind::Send, ..received });
    assert_eq!(server.octets(&buffer), b"message\xa5\xa5\xa5");
}

#[test]
fn receives_and_completions_come_in_posting_order() {
    let (_, client, server) = connection();
    let (message, buffer) = (client.register(b"0123456789", ALL), server.register(&[0; 10], ALL));
    for id in 0..10 {
        let place = Local { region: &buffer, range: id..id + 1 };
        server.adapter.post_receive(&server.queue_pair, id as u64, place).unwrap();
        let work = Work::new(100 + id as u64, Operation::Send, Local { region: &message, range: id..id + 1 });
        client.adapter.post(&client.queue_pair, work).unwrap();
    }
    for id in 0..10 {
        assert_eq!(server.next_completion(), (id, Status::Success));
        assert_eq!(client.next_completion(), (100 + id, Status::Success));
    }
    assert_eq!(server.octets(&buffer), b"0123456789");
}

#[test]
fn endless_retries_wait_for_a_receive() {
    let (_, client, server) = connection();
    let message = client.register(b"message", ALL);
    client.post(1, Operation::Send, &message, 7);
    assert_eq!(client.adapter.completion(&client.queue_pair, Duration::from_millis(20)), Ok(None));
    let buffer = server.register(&[0; 7], ALL);
    server.receive(2, &buffer, 7);
    assert_eq!(client.next_completion(), (1, Status::Success));
    assert_eq!(server.octets(&buffer), b"message");
}

#[test]
fn exhausted_retries_break_the_connection() {
    for tries in [0, 2] {
        let depths = Depths { receiver_not_ready: tries, ..Depths::default() };
        let (_, client, server) = connection_with(depths, Faults::none());
        let message = client.register(b"message", ALL);
        let begin = Instant::now();
        client.post(1, Operation::Send, &message, 7);
        client.post(2, Operation::Send, &message, 7);
        let completion = client.adapter.completion(&client.queue_pair, LONG).unwrap().unwrap();
        assert_eq!((completion.id, completion.status), (1, Status::ReceiverNotReady));
        assert!(begin.elapsed() >= Duration::from_micros(640) * u32::from(tries));
        assert_eq!(client.next_completion(), (2, Status::Flushed));
        assert!(client.is_over() && server.is_over());
    }
}

#[test]
fn a_send_longer_than_its_receive_breaks_the_connection() {
    let (_, client, server) = connection();
    let (message, buffer) = (client.register(b"message", ALL), server.register(&[0xa5; 7], ALL));
    server.receive(1, &buffer, 6);
    server.receive(2, &buffer, 7);
    client.post(3, Operation::Send, &message, 7);
    assert_eq!(client.next_completion(), (3, Status::RemoteInvalidRequest));
    assert_eq!(server.next_completion(), (1, Status::LocalLength));
    assert_eq!(server.next_completion(), (2, Status::Flushed));
    assert!(client.is_over() && server.is_over());
    assert_eq!(server.octets(&buffer), [0xa5; 7]);
}

#[test]
fn a_receive_without_valid_memory_breaks_the_connection() {
    for gone in [false, true] {
        let (_, client, server) = connection();
        let message = client.register(b"message", ALL);
        let buffer = server.register(&[0; 7], if gone { ALL } else { Access::REMOTE_READ });
        server.receive(1, &buffer, 7);
        if gone {
            server.adapter.deregister(buffer).unwrap();
        }
        client.post(2, Operation::Send, &message, 7);
        assert_eq!(
            (client.next_completion(), server.next_completion()),
            ((2, Status::RemoteOperation), (1, Status::LocalProtection))
        );
        assert!(client.is_over() && server.is_over());
    }
}

#[test]
fn a_send_without_valid_memory_breaks_the_connection() {
    let (_, client, _server) = connection();
    let message = client.register(b"message", ALL);
    client.post(1, Operation::Send, &message, 7);
    drop(message);
    assert_eq!(client.next_completion(), (1, Status::LocalProtection));

    let (_, client, server) = connection();
    server.receive(1, &server.register(&[0; 7], ALL), 7);
    let domain = client.adapter.domain().unwrap();
    let message = client.adapter.register(&domain, b"message".to_vec(), ALL).unwrap();
    client.post(2, Operation::Send, &message, 7);
    assert_eq!(client.next_completion(), (2, Status::LocalProtection));
    assert!(client.is_over());
}

// Remote memory.

#[test]
fn rdma_moves_exactly_the_requested_octets() {
    let (fabric, client, server) = connection();
    let memory = client.register(b"0123456789", ALL);
    let data = server.register(b"abc", ALL);
    let Remote { handle, offset } = client.remote(&memory);
    server.post(1, Operation::Write(Remote { handle, offset: offset + 7 }), &data, 3);
    server.post(2, Operation::Read(Remote { handle, offset: offset + 4 }), &data, 2);
    assert_eq!(
        server.completion(),
        Completion { id: 1, kind: Kind::Write, status: Status::Success, length: 3, invalidated: None }
    );
    assert_eq!(
        server.completion(),
        Completion { id: 2, kind: Kind::Read, status: Status::Success, length: 2, invalidated: None }
    );
    assert_eq!(client.octets(&memory), b"0123456abc");
    assert_eq!(server.octets(&data), b"45c");
    assert_eq!((fabric.copies().moved, fabric.copies().copied), (5, 5), "one copy an octet");
}

/// Returns true for an RDMA Write, and for an RDMA Read, of `length` octets if it is done, each on a connection of its
/// own. If it is not, checks that the connection is broken and the memory is as before.
fn allowed(access: Access, aim: impl Fn(&End, &Region) -> Remote, length: usize) -> (bool, bool) {
    let try_it = |operation: fn(Remote) -> Operation| {
        let (_, client, server) = connection();
        let memory = client.register(b"0123456789", access);
        let (data, waiting) = (server.register(&[0xa5; 64], ALL), client.register(&[0; 8], ALL));
        client.receive(9, &waiting, 8);
        server.post(1, operation(aim(&client, &memory)), &data, length);
        server.post(2, Operation::Send, &data, 1);
        let (id, status) = server.next_completion();
        assert_eq!(id, 1);
        if status == Status::Success {
            return true;
        }
        assert_eq!(status, Status::RemoteAccess);
        assert_eq!((server.next_completion(), client.next_completion()), ((2, Status::Flushed), (9, Status::Flushed)));
        assert!(client.is_over() && server.is_over());
        assert_eq!((client.octets(&memory), server.octets(&data)), (b"0123456789".to_vec(), vec![0xa5; 64]));
        false
    };
    (try_it(Operation::Write), try_it(Operation::Read))
}

fn at(distance: i64) -> impl Fn(&End, &Region) -> Remote {
    move |end, region| {
        let Remote { handle, offset } = end.remote(region);
        Remote { handle, offset: offset.wrapping_add_signed(distance) }
    }
}

#[test]
fn remote_access_without_the_right_breaks_the_connection() {
    assert_eq!(allowed(ALL, at(0), 10), (true, true));
    assert_eq!(allowed(Access::LOCAL_WRITE, at(0), 10), (false, false));
    assert_eq!(allowed(Access::REMOTE_READ, at(0), 10), (false, true));
    assert_eq!(allowed(Access::REMOTE_WRITE | Access::LOCAL_WRITE, at(0), 10), (true, false));
}

#[test]
fn remote_access_out_of_bounds_breaks_the_connection() {
    assert_eq!(allowed(ALL, at(0), 11), (false, false));
    assert_eq!(allowed(ALL, at(1), 10), (false, false));
    assert_eq!(allowed(ALL, at(9), 1), (true, true));
    assert_eq!(allowed(ALL, at(10), 1), (false, false));
    assert_eq!(allowed(ALL, at(-1), 1), (false, false));
    assert_eq!(allowed(ALL, at(i64::MAX), 1), (false, false));
}

#[test]
fn remote_access_after_deregistration_breaks_the_connection() {
    let stale = |end: &End, _: &Region| {
        let region = end.register(b"0123456789", ALL);
        let remote = end.remote(&region);
        assert_eq!(end.adapter.deregister(region).unwrap(), b"0123456789");
        remote
    };
    assert_eq!(allowed(ALL, stale, 10), (false, false));
}

#[test]
fn access_across_protection_domains_breaks_the_connection() {
    let other = |end: &End, _: &Region| {
        let domain = end.adapter.domain().unwrap();
        let region = end.adapter.register(&domain, b"0123456789".to_vec(), ALL).unwrap();
        let remote = end.remote(&region);
        std::mem::forget(region);
        remote
    };
    assert_eq!(allowed(ALL, other, 10), (false, false));
}

#[test]
fn an_operation_without_octets_looks_at_no_handle() {
    assert_eq!(allowed(ALL, |_, _| Remote { handle: 1, offset: 2 }, 0), (true, true));
}

#[test]
fn a_read_into_unsuitable_memory_breaks_the_connection() {
    for access in [Access::REMOTE_READ, Access::LOCAL_WRITE] {
        let (_, client, server) = connection();
        let (memory, sink) = (client.register(b"data", ALL), server.register(&[0; 4], access));
        server.post(1, Operation::Read(client.remote(&memory)), &sink, 4);
        assert_eq!(server.next_completion(), (1, Status::LocalProtection));
        assert!(client.is_over());
    }
}

#[test]
fn overlong_work_is_refused_without_harm() {
    let (_fabric, client, server) = adapters();
    let client = End::new(client.with_message_size(4), Depths::default());
    let server = End::new(server, Depths::default());
    connect(&client, &server);
    assert_eq!(client.adapter.message_size(&client.queue_pair), 4);
    let (message, buffer) = (client.register(b"message", ALL), server.register(&[0; 10], ALL));
    server.receive(1, &buffer, 10);
    let work = |length| Work::new(2, Operation::Send, Local::whole_region(&message, length));
    assert_eq!(client.adapter.post(&client.queue_pair, work(5)), Err(Error::Range));
    client.adapter.post(&client.queue_pair, work(4)).unwrap();
    assert_eq!(server.completion().length, 4);
}

// Invalidation.

#[test]
fn send_with_invalidate_acts_before_the_receive_completes() {
    let (_, client, server) = connection();
    let (memory, buffer, reply) =
        (client.register(b"data", ALL), client.register(&[0; 8], ALL), server.register(b"reply", ALL));
    let remote = client.remote(&memory);
    client.receive(1, &buffer, 8);
    assert!(client.adapter.is_valid(&memory));
    server.post(2, Operation::SendWithInvalidate(remote.handle), &reply, 5);
    let received = client.completion();
    assert_eq!((received.status, received.invalidated), (Status::Success, Some(remote.handle)));
    assert!(!client.adapter.is_valid(&memory));
    assert_eq!(server.next_completion(), (2, Status::Success));
    // Its owner can still use it; the other side cannot.
    server.post(3, Operation::Write(remote), &reply, 4);
    assert_eq!(server.next_completion(), (3, Status::RemoteAccess));
    assert_eq!(client.octets(&memory), b"data");
    assert_eq!(client.adapter.deregister(memory).unwrap(), b"data");
}

#[test]
fn invalidating_an_unknown_handle_breaks_the_connection() {
    let handles: [fn(&End) -> u32; 2] = [
        |client| {
            let local = client.register(&[0; 4], Access::LOCAL_WRITE);
            let handle = client.remote(&local).handle;
            std::mem::forget(local);
            handle
        },
        |client| client.remote(&client.register(&[0; 4], ALL)).handle,
    ];
    for handle in handles {
        let (_, client, server) = connection();
        let (buffer, reply) = (client.register(&[0; 8], ALL), server.register(b"reply", ALL));
        client.receive(1, &buffer, 8);
        server.post(2, Operation::SendWithInvalidate(handle(&client)), &reply, 5);
        assert_eq!(
            (server.next_completion(), client.next_completion()),
            ((2, Status::RemoteAccess), (1, Status::LocalOperation))
        );
        assert!(client.is_over() && server.is_over());
    }
}

#[test]
fn handles_are_unique_and_offsets_hide_addresses() {
    let (_, client, _server) = connection();
    let mut handles = std::collections::HashSet::new();
    let mut offsets = std::collections::HashSet::new();
    let mut buffer = vec![0; 16];
    for _ in 0..10_000 {
        let region = client.adapter.register(&client.domain, buffer, ALL).unwrap();
        let segment = client.adapter.segment(&region);
        assert!(handles.insert(segment.handle) && offsets.insert(segment.offset));
        assert_eq!(segment.length, 16);
        buffer = client.adapter.deregister(region).unwrap();
        assert_ne!(segment.offset, buffer.as_ptr() as u64);
    }
}

// Order.

#[test]
fn written_data_is_visible_after_the_next_receive() {
    let (_, client, server) = connection();
    const ROUNDS: u64 = 200;
    let memory = client.register(&[0; 4096], ALL);
    let buffer = client.register(&[0; 8], ALL);
    let remote = client.remote(&memory);
    let (next, go) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let data = server.register(&[0; 4096], ALL);
            for round in 0..ROUNDS {
                go.recv().unwrap();
                server.adapter.write(&data, |octets| octets.fill(round as u8)).unwrap();
                server.post(2 * round, Operation::Write(remote), &data, 4096);
                server.post(2 * round + 1, Operation::Send, &data, 8);
                for id in [2 * round, 2 * round + 1] {
                    let completion = server.adapter.completion(&server.queue_pair, LONG).unwrap().unwrap();
                    assert_eq!((completion.id, completion.status), (id, Status::Success));
                }
            }
        });
        for round in 0..ROUNDS {
            client.receive(round, &buffer, 8);
            next.send(()).unwrap();
            let completion = client.adapter.completion(&client.queue_pair, LONG).unwrap().unwrap();
            assert_eq!((completion.id, completion.status), (round, Status::Success));
            client.adapter.read(&memory, |octets| assert!(octets.iter().all(|octet| *octet == round as u8))).unwrap();
        }
    });
}

#[test]
fn unfenced_work_does_not_wait_for_a_read() {
    for (fenced, sent) in [(false, b"old"), (true, b"new")] {
        let (_, client, server) = connection();
        let (memory, buffer) = (client.register(b"new", ALL), client.register(&[0; 3], ALL));
        let data = server.register(b"old", ALL);
        client.receive(1, &buffer, 3);
        server.post(2, Operation::Read(client.remote(&memory)), &data, 3);
        if fenced {
            server.fenced(3, Operation::Send, &data, 3);
        } else {
            server.post(3, Operation::Send, &data, 3);
        }
        assert_eq!(client.next_completion(), (1, Status::Success));
        assert_eq!(client.octets(&buffer), sent);
        assert_eq!((server.next_completion(), server.next_completion()), ((2, Status::Success), (3, Status::Success)));
        assert_eq!(server.octets(&data), b"new");
    }
}

#[test]
fn an_unfenced_invalidation_breaks_a_read() {
    for fenced in [false, true] {
        let (_, client, server) = connection();
        let (memory, buffer) = (client.register(b"data", ALL), client.register(&[0; 5], ALL));
        let (sink, reply) = (server.register(&[0; 4], ALL), server.register(b"reply", ALL));
        let remote = client.remote(&memory);
        client.receive(1, &buffer, 5);
        server.post(2, Operation::Read(remote), &sink, 4);
        let last = Operation::SendWithInvalidate(remote.handle);
        if fenced {
            server.fenced(3, last, &reply, 5);
            assert_eq!(
                (server.next_completion(), server.next_completion()),
                ((2, Status::Success), (3, Status::Success))
            );
            assert_eq!(server.octets(&sink), b"data");
        } else {
            server.post(3, last, &reply, 5);
            assert_eq!(
                (server.next_completion(), server.next_completion()),
                ((2, Status::RemoteAccess), (3, Status::Flushed))
            );
        }
    }
}

#[test]
fn no_more_reads_are_under_way_than_the_depth_allows() {
    // With a depth of one, the second Read makes the first deliver its data; the Send between them does not.
    let depths = Depths { reads: 1, ..Depths::default() };
    let (_, client, server) = connection_with(depths, Faults::none());
    let (memory, data) = (server.register(b"new", ALL), client.register(b"old", ALL));
    let (first, second) = (server.register(&[0; 3], ALL), server.register(&[0; 3], ALL));
    server.receive(1, &first, 3);
    server.receive(2, &second, 3);
    let spare = client.register(&[0; 3], ALL);
    client.post(3, Operation::Read(server.remote(&memory)), &data, 3);
    client.post(4, Operation::Send, &data, 3);
    client.post(5, Operation::Read(server.remote(&memory)), &spare, 3);
    client.post(6, Operation::Send, &data, 3);
    for id in 3..7 {
        assert_eq!(client.next_completion(), (id, Status::Success));
    }
    assert_eq!((server.octets(&first), server.octets(&second)), (b"old".to_vec(), b"new".to_vec()));
}

// Queues.

#[test]
fn a_queue_has_room_again_when_the_completion_is_taken() {
    let depths = Depths { send: 2, receive: 1, ..Depths::default() };
    let (_, client, server) = connection_with(depths, Faults::none());
    let (message, buffer) = (client.register(b"message", ALL), server.register(&[0; 7], ALL));
    let post =
        |id| client.adapter.post(&client.queue_pair, Work::new(id, Operation::Send, Local::whole_region(&message, 7)));
    assert_eq!((post(1), post(2), post(3)), (Ok(()), Ok(()), Err(Error::QueueFull)));
    server.receive(1, &buffer, 7);
    assert_eq!(server.next_completion(), (1, Status::Success));
    assert_eq!(post(3), Err(Error::QueueFull), "done, and the completion not taken");
    assert_eq!(client.next_completion(), (1, Status::Success));
    assert_eq!(post(3), Ok(()));
}

#[test]
fn what_cannot_be_is_refused_at_once() {
    let (_, client, _server) = connection();
    let region = client.register(&[0; 8], ALL);
    let reversed = std::ops::Range { start: 8, end: 2 };
    for range in [0..9, 9..9, 0..usize::MAX, reversed] {
        let work = Work::new(1, Operation::Send, Local { region: &region, range: range.clone() });
        assert_eq!(client.adapter.post(&client.queue_pair, work), Err(Error::Range));
        let receive = client.adapter.post_receive(&client.queue_pair, 1, Local { region: &region, range });
        assert_eq!(receive, Err(Error::Range));
    }
    let register = client.adapter.register(&client.domain, vec![0], Access::REMOTE_WRITE);
    assert_eq!(register.err(), Some(NotRegistered { error: Error::Access, buffer: vec![0] }));
    for depths in [
        Depths { send: 0, ..Depths::default() },
        Depths { receive: 0, ..Depths::default() },
        Depths { reads: 0, ..Depths::default() },
        Depths { send: 1 << 20, ..Depths::default() },
        Depths { receiver_not_ready: 8, ..Depths::default() },
    ] {
        assert_eq!(client.adapter.queue_pair(&client.domain, depths).err(), Some(Error::Depth));
    }
}

#[test]
fn a_domain_holds_a_bounded_number_of_regions() {
    let (_, client, _) = adapters();
    let domain = client.domain().unwrap();
    let mut regions: Vec<Region> = (0..rpcrdma_verbs::loopback::MAX_REGIONS)
        .map(|_| client.register(&domain, Vec::new(), Access::empty()).unwrap())
        .collect();
    let refused = client.register(&domain, b"mine".to_vec(), Access::empty()).err();
    assert_eq!(refused, Some(NotRegistered { error: Error::Exhausted, buffer: b"mine".to_vec() }));
    regions.pop();
    assert!(client.register(&domain, Vec::new(), Access::empty()).is_ok());
}

#[test]
fn who_holds_memory_is_refused_what_could_wait_for_it() {
    let (_, client, server) = connection();
    let (held, other) = (client.register(&[0; 8], ALL), client.register(&[0; 8], ALL));
    client
        .adapter
        .write(&held, |_| {
            let refused = Some(Error::MemoryHeld);
            assert_eq!(client.adapter.completion(&client.queue_pair, LONG).err(), refused);
            let work = Work::new(1, Operation::Send, Local::whole_region(&held, 8));
            assert_eq!(client.adapter.post(&client.queue_pair, work).err(), refused);
            assert_eq!(client.adapter.read(&held, |_| ()).err(), refused);
            assert_eq!(client.adapter.read(&other, |_| ()).err(), refused);
            assert_eq!(client.adapter.disconnect(&client.queue_pair).err(), refused);
            // Dropping does not block, and is noticed even so.
            drop(server);
        })
        .unwrap();
    assert!(client.adapter.read(&held, |_| ()).is_ok());
    assert!(client.is_over());
}

// Ends.

#[test]
fn disconnecting_flushes_both_sides() {
    let (_, client, server) = connection();
    let (message, buffer) = (client.register(b"message", ALL), server.register(&[0; 7], ALL));
    client.post(1, Operation::Send, &message, 7);
    client.post(2, Operation::Write(server.remote(&buffer)), &message, 7);
    client.receive(3, &message, 7);
    server.post(4, Operation::Read(client.remote(&message)), &buffer, 7);
    client.adapter.disconnect(&client.queue_pair).unwrap();
    let flushed = |id, kind| Completion { id, kind, status: Status::Flushed, length: 0, invalidated: None };
    assert_eq!(client.completion(), flushed(1, Kind::Send));
    assert_eq!(client.completion(), flushed(2, Kind::Write));
    assert_eq!(client.completion(), flushed(3, Kind::Receive));
    assert_eq!(server.completion(), flushed(4, Kind::Read));
    assert!(client.is_over() && server.is_over());
    let work = Work::new(5, Operation::Send, Local::whole_region(&message, 7));
    assert_eq!(client.adapter.post(&client.queue_pair, work), Err(Error::Disconnected));
    let receive = server.adapter.post_receive(&server.queue_pair, 6, Local::whole_region(&buffer, 7));
    assert_eq!(receive, Err(Error::Disconnected));
}

#[test]
fn completions_from_before_the_end_are_not_lost() {
    let (_, client, server) = connection();
    let (message, buffer) = (client.register(b"message", ALL), server.register(&[0; 7], ALL));
    server.receive(1, &buffer, 7);
    client.post(2, Operation::Send, &message, 7);
    assert_eq!(server.next_completion(), (1, Status::Success));
    drop(server.queue_pair);
    assert_eq!(client.next_completion(), (2, Status::Success));
    assert!(client.is_over());
}

#[test]
fn who_waits_is_woken_by_the_other_side() {
    let (_, client, server) = connection();
    let (message, buffer) = (client.register(b"message", ALL), server.register(&[0; 7], ALL));
    server.receive(1, &buffer, 7);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let first = server.adapter.completion(&server.queue_pair, LONG).unwrap().unwrap().id;
            (first, server.adapter.completion(&server.queue_pair, LONG))
        });
        thread::sleep(Duration::from_millis(20));
        let begin = Instant::now();
        client.post(2, Operation::Send, &message, 7);
        // The side that posted does not wait for its completion: the side that waits carries the work out.
        thread::sleep(Duration::from_millis(20));
        client.adapter.disconnect(&client.queue_pair).unwrap();
        assert_eq!(waiting.join().unwrap(), (1, Err(Error::Disconnected)));
        assert!(begin.elapsed() < LONG / 2);
    });
}

#[test]
fn who_watches_while_the_other_side_disconnects_is_told() {
    // Each pause below occurs four times.
    for round in 0..400 {
        let (_, client, server) = connection();
        let waiter = Waiter::new().unwrap();
        let (is_ready, begins) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                is_ready.store(true, Ordering::Release);
                while !begins.load(Ordering::Acquire) {
                    spin_loop();
                }
                server.adapter.disconnect(&server.queue_pair).unwrap();
            });
            while !is_ready.load(Ordering::Acquire) {
                thread::yield_now();
            }
            begins.store(true, Ordering::Release);
            // A little later each time, so that the two coincide at every point.
            (0..round % 100).for_each(|_| spin_loop());
            if client.adapter.watch(&client.queue_pair, &waiter, 7) == Ok(WatchState::Quiet) {
                assert_eq!(waiter.wait(Some(LONG)), Ok(Some(7)));
            }
        });
    }
}

#[test]
fn interrupts_work_while_holding_memory() {
    for round in 0..2000 {
        let (_, client, server) = connection();
        let held = client.register(&[0; 8], ALL);
        let mut mine = Some(client.queue_pair);
        let begins = AtomicBool::new(false);
        let ended = thread::scope(|scope| {
            let waits = scope.spawn(|| {
                while !begins.load(Ordering::Acquire) {
                    spin_loop();
                }
                server.adapter.completion(&server.queue_pair, Duration::MAX)
            });
            let wake = |_: &[u8]| {
                begins.store(true, Ordering::Release);
                (0..round % 200).for_each(|_| spin_loop());
                if round % 2 == 0 {
                    // Dropping it ends the connection.
                    mine = None;
                } else {
                    server.adapter.interrupt(&server.queue_pair);
                }
            };
            client.adapter.read(&held, wake).unwrap();
            waits.join().unwrap()
        });
        drop(mine);
        assert_eq!(ended, if round % 2 == 0 { Err(Error::Disconnected) } else { Ok(None) });
    }
}

#[test]
fn waiting_ends_at_its_time() {
    let (_, client, server) = connection();
    let listener = server.adapter.listen(address(), 1).unwrap();
    let wait = Duration::from_millis(30);
    for waits in [&|| assert_eq!(client.adapter.completion(&client.queue_pair, wait), Ok(None)) as _, &|| {
        assert!(server.adapter.request(&listener, wait).unwrap().is_none()) as _
    }] as [&dyn Fn(); 2]
    {
        let begin = Instant::now();
        waits();
        assert!((wait..LONG).contains(&begin.elapsed()));
    }
}

// Setting up.

fn asked(private_data: &[u8]) -> (End, End, ConnectionRequest) {
    let (_, client, server) = adapters();
    let (client, server) = (End::new(client, Depths::default()), End::new(server, Depths::default()));
    let listener = server.adapter.listen(address(), 1).unwrap();
    client.adapter.connect(&client.queue_pair, address(), private_data).unwrap();
    let request = server.adapter.request(&listener, NOW).unwrap().unwrap();
    (client, server, request)
}

#[test]
fn private_data_is_padded_to_the_field() {
    let (client, server, request) = asked(b"from the client");
    assert_eq!(server.adapter.private_data(&request), [&b"from the client"[..], &[0; 41]].concat());
    assert_eq!(server.adapter.peer(&request).ip(), std::net::IpAddr::from([192, 0, 2, 1]));
    assert_eq!(client.adapter.connected(&client.queue_pair, NOW), Ok(None));
    server.adapter.accept(request, &server.queue_pair, b"from the server").unwrap();
    let answer = client.adapter.connected(&client.queue_pair, NOW).unwrap().unwrap();
    assert_eq!(answer, [&b"from the server"[..], &[0; 181]].concat());
}

#[test]
fn private_data_goes_with_a_rejection() {
    let (client, server, request) = asked(&[]);
    server.adapter.reject(request, b"no").unwrap();
    let why = [&b"no"[..], &[0; 146]].concat();
    assert_eq!(client.adapter.connected(&client.queue_pair, NOW), Err(Error::Rejected(why)));
    assert!(client.is_over());
}

#[test]
fn private_data_that_does_not_fit_is_refused() {
    let (client, server, request) = asked(&[1; 56]);
    assert_eq!(server.adapter.private_data(&request), [1; 56]);
    let long = client.adapter.queue_pair(&client.domain, Depths::default()).unwrap();
    assert_eq!(client.adapter.connect(&long, address(), &[1; 57]), Err(Error::PrivateData));
    assert_eq!(server.adapter.accept(request, &server.queue_pair, &[1; 197]), Err(Error::PrivateData));
    assert_eq!(client.adapter.connected(&client.queue_pair, NOW), Err(Error::Rejected(Vec::new())));
}

#[test]
fn connecting_without_a_free_listener_is_refused() {
    let (_, client, server) = adapters();
    let domain = client.domain().unwrap();
    let connect = || {
        let queue_pair = client.queue_pair(&domain, Depths::default()).unwrap();
        client.connect(&queue_pair, address(), &[]).map(|()| queue_pair)
    };
    assert_eq!(connect().err(), Some(Error::Refused));
    let listener = server.listen(address(), 2).unwrap();
    let waiting = [connect().unwrap(), connect().unwrap()];
    assert_eq!(connect().err(), Some(Error::Refused), "the backlog is full");
    let request = server.request(&listener, NOW).unwrap().unwrap();
    let third = connect().unwrap();
    drop(request);
    assert_eq!(client.connected(&waiting[0], NOW), Err(Error::Rejected(Vec::new())), "a request that is dropped");
    drop(listener);
    for queue_pair in [&waiting[1], &third] {
        assert_eq!(client.connected(queue_pair, NOW), Err(Error::Refused), "the listener is gone");
    }
    assert_eq!(connect().err(), Some(Error::Refused));
}

#[test]
fn an_address_has_one_listener_and_must_be_the_adapters() {
    let (_, client, server) = adapters();
    let listener = server.listen(address(), 1).unwrap();
    assert_eq!(server.listen(address(), 1).err(), Some(Error::Address));
    assert_eq!(client.listen(address(), 1).err(), Some(Error::Address));
    for other in ["192.0.2.2:0", "[2001:db8::2]:20049"] {
        assert_eq!(server.listen(other.parse().unwrap(), 1).err(), Some(Error::Address));
    }
    assert_eq!(server.listen("192.0.2.2:2050".parse().unwrap(), 0).err(), Some(Error::Depth));
    drop(listener);
    assert!(server.listen(address(), 1).is_ok());
}

#[test]
fn a_queue_pair_is_good_for_one_connection() {
    let (client, server, request) = asked(&[]);
    let refused = client.adapter.queue_pair(&client.domain, Depths::default()).unwrap();
    assert_eq!(client.adapter.connect(&refused, address(), &[]), Err(Error::Refused));
    assert_eq!(client.adapter.connect(&refused, address(), &[]), Err(Error::Used));
    let listener = server.adapter.listen(address(), 1).unwrap();
    assert_eq!(client.adapter.connect(&client.queue_pair, address(), &[]).err(), Some(Error::Used));
    server.adapter.accept(request, &server.queue_pair, &[]).unwrap();
    let second = client.adapter.queue_pair(&client.domain, Depths::default()).unwrap();
    client.adapter.connect(&second, address(), &[]).unwrap();
    let request = server.adapter.request(&listener, NOW).unwrap().unwrap();
    assert_eq!(server.adapter.accept(request, &server.queue_pair, &[]), Err(Error::Used));
}

#[test]
fn who_has_given_up_is_not_accepted() {
    let (client, server, request) = asked(&[]);
    drop(client);
    let queue_pair = &server.queue_pair;
    assert_eq!(server.adapter.accept(request, queue_pair, &[]), Err(Error::Disconnected));
    // Nothing came of it, so the queue pair is still unused.
    let listener = server.adapter.listen(address(), 1).unwrap();
    server.adapter.connect(queue_pair, address(), &[]).unwrap();
    assert!(server.adapter.request(&listener, NOW).unwrap().is_some());
}

#[test]
fn only_receives_can_be_posted_before_the_connection() {
    let (client, server, request) = asked(&[]);
    let message = client.register(b"message", ALL);
    let work = || Work::new(1, Operation::Send, Local::whole_region(&message, 7));
    assert_eq!(client.adapter.post(&client.queue_pair, work()), Err(Error::NotConnected));
    assert_eq!(client.adapter.completion(&client.queue_pair, LONG), Err(Error::NotConnected));
    let buffer = server.register(&[0; 7], ALL);
    server.receive(1, &buffer, 7);
    server.adapter.accept(request, &server.queue_pair, &[]).unwrap();
    client.adapter.post(&client.queue_pair, work()).unwrap();
    assert_eq!(server.next_completion(), (1, Status::Success));
}

// Faults.

/// A Write and a Send; the Send, which is step 2, fails on the client's side.
fn disturbed(fault: Fault) -> (End, End, [Region; 3]) {
    let (_, client, server) = connection_with(Depths::default(), Faults::none().at(2, fault));
    let message = client.register(b"message", ALL);
    let (memory, buffer) = (server.register(&[0; 7], ALL), server.register(&[0; 7], ALL));
    server.receive(1, &buffer, 7);
    client.post(2, Operation::Write(server.remote(&memory)), &message, 7);
    client.post(3, Operation::Send, &message, 7);
    (client, server, [memory, buffer, message])
}

#[test]
fn planned_losses_strike_before_or_after_their_step() {
    let (client, server, [memory, buffer, _message]) = disturbed(Fault::LoseBefore);
    assert_eq!((client.next_completion(), client.next_completion()), ((2, Status::Success), (3, Status::NoAnswer)));
    assert_eq!(server.next_completion(), (1, Status::Flushed));
    assert!(client.is_over() && server.is_over());
    assert_eq!((server.octets(&memory), server.octets(&buffer)), (b"message".to_vec(), vec![0; 7]));
    assert_eq!(client.adapter.injected().total(), 1);

    let (client, server, [_memory, buffer, _message]) = disturbed(Fault::LoseAfter);
    assert_eq!((client.next_completion(), client.next_completion()), ((2, Status::Success), (3, Status::NoAnswer)));
    assert_eq!(server.next_completion(), (1, Status::Success));
    assert!(client.is_over() && server.is_over());
    assert_eq!(server.octets(&buffer), b"message");
    assert_eq!(client.adapter.injected().total(), 1);
}

#[test]
fn a_step_completes_with_the_status_that_the_plan_names() {
    let (client, server, _regions) = disturbed(Fault::Complete(Status::LocalOperation));
    assert_eq!(
        (client.next_completion(), client.next_completion()),
        ((2, Status::Success), (3, Status::LocalOperation))
    );
    assert_eq!(server.next_completion(), (1, Status::Flushed));
    assert_eq!(client.adapter.injected().total(), 1);
    let (client, server, _regions) = disturbed(Fault::Complete(Status::Success));
    assert_eq!(
        (client.next_completion(), client.next_completion(), server.next_completion()),
        ((2, Status::Success), (3, Status::Success), (1, Status::Success))
    );
}

#[test]
fn planned_delays_last_as_long_as_planned() {
    let delay = Duration::from_millis(40);
    let begin = Instant::now();
    let (client, server, _regions) = disturbed(Fault::Delay(delay));
    assert_eq!(client.next_completion(), (2, Status::Success));
    assert_eq!(server.adapter.completion(&server.queue_pair, NOW), Ok(None));
    let received = server.adapter.completion(&server.queue_pair, LONG).unwrap().unwrap();
    assert_eq!((received.id, received.status), (1, Status::Success));
    assert!((delay..LONG / 2).contains(&begin.elapsed()));
    assert_eq!(client.next_completion(), (3, Status::Success));
    assert_eq!(client.adapter.injected().total(), 1);
}

#[test]
fn setting_up_goes_wrong_as_the_plan_names() {
    let attempt = |asking: Option<Fault>, answering: Option<Fault>| {
        let plan = |fault: Option<Fault>| fault.map_or(Faults::none(), |fault| Faults::none().at(0, fault));
        let (_, client, server) = adapters();
        let client = End::new(client.with_faults(plan(asking)), Depths::default());
        let server = End::new(server.with_faults(plan(answering)), Depths::default());
        let listener = server.adapter.listen(address(), 1).unwrap();
        client.adapter.connect(&client.queue_pair, address(), &[]).unwrap();
        let request = server.adapter.request(&listener, Duration::from_millis(100)).unwrap();
        let accepted = request.map(|request| server.adapter.accept(request, &server.queue_pair, &[]));
        let connected = client.adapter.connected(&client.queue_pair, LONG).map(|answer| answer.is_some());
        let applied = [&client, &server].map(|end| end.adapter.injected().total());
        assert_eq!(applied, [asking, answering].map(|fault| u64::from(fault.is_some())), "{asking:?} {answering:?}");
        (accepted, connected, client.is_over())
    };
    assert_eq!(attempt(None, None), (Some(Ok(())), Ok(true), false));
    assert_eq!(attempt(Some(Fault::LoseBefore), None), (None, Err(Error::Disconnected), true));
    assert_eq!(attempt(Some(Fault::LoseAfter), None), (None, Err(Error::Disconnected), true));
    let lost = Some(Err(Error::Disconnected));
    assert_eq!(attempt(None, Some(Fault::LoseBefore)), (lost, Err(Error::Disconnected), true));
    assert_eq!(attempt(None, Some(Fault::LoseAfter)), (Some(Ok(())), Ok(true), true));
    for (asking, answering) in [(Duration::from_millis(30), NOW), (NOW, Duration::from_millis(30))] {
        let begin = Instant::now();
        let found = attempt(Some(Fault::Delay(asking)), Some(Fault::Delay(answering)));
        assert_eq!(found, (Some(Ok(())), Ok(true), false));
        assert!(begin.elapsed() >= Duration::from_millis(30));
    }
}

#[test]
fn a_plan_knows_what_it_has_done() {
    let begin = Duration::from_millis(1);
    let plan = Faults::none()
        .at(1, Fault::Delay(begin))
        .at(2, Fault::Delay(2 * begin))
        .at(3, Fault::Complete(Status::Success));
    for (last, expected) in [
        (Fault::LoseBefore, [1, 0, 0]),
        (Fault::LoseAfter, [0, 1, 0]),
        (Fault::Complete(Status::RemoteAccess), [0, 0, 1]),
    ] {
        // The last step never begins.
        let plan = plan.clone().at(4, last).at(5, Fault::LoseAfter);
        let (_fabric, client, server) = connection_with(Depths::default(), plan);
        let (message, memory) = (client.register(b"m", ALL), server.register(&[0; 1], ALL));
        assert_eq!(client.adapter.injected(), Injected::default());
        for id in 1..=5 {
            client.post(id, Operation::Write(server.remote(&memory)), &message, 1);
        }
        let end = || client.adapter.completion(&client.queue_pair, LONG).unwrap().unwrap().status;
        let succeeded = [1, 2, 3, 4, 5].map(|_| end() == Status::Success);
        assert_eq!(succeeded, [true, true, true, false, false], "{last:?}");
        let Injected { lost_before, lost_after, delayed, delay, completed, .. } = client.adapter.injected();
        assert_eq!([lost_before, lost_after, completed], expected, "{last:?}");
        assert_eq!((delayed, delay), (2, 3 * begin), "{last:?}");
        assert_eq!(server.adapter.injected(), Injected::default());
    }
}

#[test]
fn a_plan_knows_what_it_has_done_to_setting_up() {
    for (fault, asking) in
        [(Fault::LoseBefore, true), (Fault::Complete(Status::NoAnswer), true), (Fault::LoseBefore, false)]
    {
        let (_, client, server) = adapters();
        let plan = Faults::none().at(0, fault);
        let (client, server) =
            if asking { (client.with_faults(plan), server) } else { (client, server.with_faults(plan)) };
        let (client, server) = (End::new(client, Depths::default()), End::new(server, Depths::default()));
        let listener = server.adapter.listen(address(), 1).unwrap();
        client.adapter.connect(&client.queue_pair, address(), &[]).unwrap();
        if let Some(request) = server.adapter.request(&listener, Duration::ZERO).unwrap() {
            server.adapter.accept(request, &server.queue_pair, &[]).unwrap_err();
        }
        let injected = [&client, &server].map(|end| end.adapter.injected().lost_before);
        assert_eq!(injected, [u64::from(asking), u64::from(!asking)], "{fault:?}");
    }
}

#[test]
fn the_same_seed_does_the_same_each_time() {
    let run = |seed| {
        let plan =
            Faults::seeded(seed, 20, &[Fault::LoseBefore, Fault::LoseAfter, Fault::Complete(Status::RemoteAccess)]);
        // Step 0 has no fault, so that there is a connection.
        let (_, client, server) = connection_with(Depths::default(), plan.at(0, Fault::Delay(NOW)));
        let (message, buffer) = (client.register(b"m", ALL), server.register(&[0; 1], ALL));
        for id in 0..100 {
            server.receive(id, &buffer, 1);
            client.post(id, Operation::Send, &message, 1);
        }
        let ends = |end: &End| (0..100).map(|_| end.next_completion().1).collect::<Vec<_>>();
        (ends(&client), ends(&server))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    assert!(run(1).0.contains(&Status::Flushed));
}

#[test]
fn many_threads_move_each_octet_once() {
    let (fabric, client, server) = connection();
    let (fabric, ends) = (&fabric, [&client, &server]);
    const ROUNDS: u64 = 500;
    let memory = ends.map(|end| end.register(&[0; 256], ALL));
    let remotes = [ends[1].remote(&memory[1]), ends[0].remote(&memory[0])];
    thread::scope(|scope| {
        for side in 0..2 {
            let (end, own, remote) = (ends[side], &memory[side], remotes[side]);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let operation = if round % 2 == 0 { Operation::Write(remote) } else { Operation::Read(remote) };
                    end.post(round, operation, own, 256);
                    let completion = end.adapter.completion(&end.queue_pair, LONG).unwrap().unwrap();
                    assert_eq!((completion.id, completion.status), (round, Status::Success));
                }
            });
        }
    });
    let octets = 2 * ROUNDS * 256;
    assert_eq!((fabric.copies().moved, fabric.copies().copied), (octets, octets));
}
