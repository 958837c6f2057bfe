//! Tests that every provider has to pass: one set, for the loopback within this process and for two adapters.
//!
//! Two computers with an adapter each (soft RoCE will do), with the same build of this file, run it so:
//!
//! ```sh
//! cargo test -p rpcrdma-verbs --features rdma --test provider -- --ignored --nocapture two_adapters
//! ```
//! with `RPCRDMA_LISTEN=ADDRESS:PORT` in the environment of the one, and `RPCRDMA_CONNECT=ADDRESS:PORT` in that of the
//! other. The other ignored tests are run in the same way, each by its name, the listening side first.
//! `testdata/lab/run provider` does it in two emulated machines.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a failed expectation fails the test")]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::Fabric;
use rpcrdma_verbs::{
    Access, Completion, Depths, Error, Kind, Local, Operation, Remote, Status, Verbs, Waiter, WatchState, Work,
};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);
/// More than a path MTU, and not a multiple of one.
const LARGE: usize = 100_003;

/// True if the adapters use iWARP: a Send or an RDMA Write is complete when TCP has taken it, and only the end of the
/// connection shows that the other side refused it (RFC 5040 section 5).
static IWARP: AtomicBool = AtomicBool::new(false);

/// Octets by which one in the wrong place shows.
fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|place| (place ^ place >> 8 ^ place >> 16) as u8 ^ seed).collect()
}

/// One side of a connection. Its fields are dropped in an inconvenient order: that is part of the test.
struct End<'a, V: Verbs> {
    domain: V::Domain,
    buffers: Vec<Option<V::Region>>,
    queue_pair: V::QueuePair,
    verbs: &'a V,
}

/// Receives of each end, and how large they are.
const RECEIVES: usize = 4;
const RECEIVE: usize = 4096;

impl<'a, V: Verbs> End<'a, V> {
    /// A queue pair with receives posted, as required before it is connected.
    fn new(verbs: &'a V, depths: Depths) -> Self {
        let domain = verbs.domain().unwrap();
        let queue_pair = verbs.queue_pair(&domain, depths).unwrap();
        let mut end = Self { domain, buffers: Vec::new(), queue_pair, verbs };
        for id in 0..RECEIVES.min(depths.receive) {
            let buffer = end.register(vec![0xa5; RECEIVE], Access::LOCAL_WRITE);
            end.receive(id, &buffer);
            end.buffers.push(Some(buffer));
        }
        end
    }

    fn connect(verbs: &'a V, address: SocketAddr, private_data: &[u8]) -> (Self, Vec<u8>) {
        let end = Self::new(verbs, Depths::default());
        verbs.connect(&end.queue_pair, address, private_data).unwrap();
        let answer = verbs.connected(&end.queue_pair, LONG).unwrap().expect("an answer");
        (end, answer)
    }

    fn accept(verbs: &'a V, listener: &V::Listener, private_data: &[u8]) -> (Self, Vec<u8>) {
        let request = verbs.request(listener, LONG).unwrap().expect("a request");
        let asked = verbs.private_data(&request).to_vec();
        let end = Self::new(verbs, Depths::default());
        verbs.accept(request, &end.queue_pair, private_data).unwrap();
        (end, asked)
    }

    fn register(&self, octets: Vec<u8>, access: Access) -> V::Region {
        self.verbs.register(&self.domain, octets, access).unwrap()
    }

    fn receive(&self, id: usize, buffer: &V::Region) {
        self.verbs.post_receive(&self.queue_pair, id as u64, Local::whole_region(buffer, RECEIVE)).unwrap();
    }

    /// Posts work on a region of its own, and waits for its completion.
    fn work(&self, operation: Operation, octets: Vec<u8>) -> (Completion, Vec<u8>) {
        let length = octets.len();
        let region = self.register(octets, Access::LOCAL_WRITE | Access::READ_SINK);
        self.verbs.post(&self.queue_pair, Work::new(1000, operation, Local::whole_region(&region, length))).unwrap();
        let completion = self.next(|kind| kind != Kind::Receive);
        (completion, self.verbs.deregister(region).unwrap())
    }

    fn send(&self, octets: &[u8]) {
        let (completion, _) = self.work(Operation::Send, octets.to_vec());
        assert_eq!((completion.id, completion.kind, completion.status), (1000, Kind::Send, Status::Success));
        assert_eq!(completion.length, octets.len());
    }

    /// The next completion of that kind; no other may come.
    fn next(&self, of: impl Fn(Kind) -> bool) -> Completion {
        let completion = self.verbs.completion(&self.queue_pair, LONG).unwrap().expect("a completion");
        assert!(of(completion.kind), "{completion:?}");
        completion
    }

    /// The next completion, or the end, found by a waiter. It may wake up for something already taken.
    fn watched(&self, waiter: &Waiter) -> Result<Completion, Error> {
        loop {
            if let Some(completion) = self.verbs.completion(&self.queue_pair, Duration::ZERO)? {
                return Ok(completion);
            }
            if self.verbs.watch(&self.queue_pair, waiter, 7).unwrap() == WatchState::Quiet {
                assert_eq!(waiter.wait(Some(LONG)).unwrap(), Some(7));
            }
        }
    }

    /// Returns true if a waiter sleeps while nothing comes. Setting up the connection may have woken it before.
    fn is_quiet(&self, waiter: &Waiter) -> bool {
        (0..3).any(|_| {
            let armed = self.verbs.watch(&self.queue_pair, waiter, 7).unwrap();
            armed == WatchState::Quiet && waiter.wait(Some(SHORT)).unwrap().is_none()
        })
    }

    /// Returns the next message, and posts its receive again.
    fn message(&mut self) -> Vec<u8> {
        let completion = self.next(|kind| kind == Kind::Receive);
        assert_eq!((completion.status, completion.invalidated), (Status::Success, None));
        let id = completion.id as usize;
        let buffer = self.buffers[id].take().unwrap();
        let octets = self.verbs.read(&buffer, |octets| {
            assert!(octets[completion.length..].iter().all(|octet| *octet == 0xa5), "the rest is left");
            octets[..completion.length].to_vec()
        });
        self.verbs.write(&buffer, |octets| octets.fill(0xa5)).unwrap();
        self.receive(id, &buffer);
        self.buffers[id] = Some(buffer);
        octets.unwrap()
    }

    /// Checks that everything posted is flushed, and that the connection is then over.
    fn is_flushed(&self, receives: usize) {
        let mut flushed = 0;
        loop {
            match self.verbs.completion(&self.queue_pair, LONG) {
                Ok(Some(completion)) => {
                    assert_eq!((completion.kind, completion.status), (Kind::Receive, Status::Flushed));
                    flushed += 1;
                }
                Ok(None) => panic!("neither a completion nor the end"),
                Err(error) => {
                    assert_eq!((error, flushed), (Error::Disconnected, receives));
                    break;
                }
            }
        }
        let region = self.register(vec![0; 8], Access::LOCAL_WRITE);
        let local = || Local::whole_region(&region, 8);
        assert_eq!(self.verbs.post_receive(&self.queue_pair, 1, local()), Err(Error::Disconnected));
        let work = Work::new(1, Operation::Send, local());
        assert_eq!(self.verbs.post(&self.queue_pair, work), Err(Error::Disconnected));
    }
}

/// Returns true if this is the private data that was given; all carriers except iWARP append zeros.
fn is_private_data(octets: &[u8], given: &[u8]) -> bool {
    let padding = octets.strip_prefix(given);
    padding.is_some_and(|padding| padding.iter().all(|octet| *octet == 0) && padding.is_empty() == IWARP.load(Relaxed))
}

/// Checks that a request that the other side refused failed in one of these ways, if its sender is told at all.
fn has_failed(completion: &Completion, expected: &[Status]) {
    let untold = IWARP.load(Relaxed) && completion.kind != Kind::Read && completion.status == Status::Success;
    assert!(untold || expected.contains(&completion.status) && completion.length == 0, "{completion:?}");
}

/// Handle, length and offset of a region, to be sent to the other side.
fn advertise(segment: rpcrdma_verbs::Segment) -> Vec<u8> {
    let words = [segment.handle.to_be_bytes(), segment.length.to_be_bytes()];
    [&words.concat()[..], &segment.offset.to_be_bytes()].concat()
}

fn advertised(octets: &[u8]) -> (Remote, usize) {
    let (handle, length) = (octets[..4].try_into().unwrap(), octets[4..8].try_into().unwrap());
    let offset = u64::from_be_bytes(octets[8..16].try_into().unwrap());
    (Remote { handle: u32::from_be_bytes(handle), offset }, u32::from_be_bytes(length) as usize)
}

const READ_OF_SINK: &str = "a Read of what may only be written breaks the connection";

/// A test: what the side that connects does, and what the side that listens.
type Test<V> = (&'static str, fn(&V, SocketAddr), fn(&V, &<V as Verbs>::Listener));

fn tests<V>() -> Vec<Test<V>>
where
    V: Verbs<Domain: Sync, Region: Send + Sync, QueuePair: Sync> + Sync,
{
    vec![
        (
            "private data and Sends go both ways",
            |verbs, address| {
                let (mut end, answer) = End::connect(verbs, address, b"who I am");
                assert!(is_private_data(&answer, b"welcome"), "{answer:?}");
                for length in [1, 1024, RECEIVE] {
                    end.send(&pattern(length, 1));
                    assert_eq!(end.message(), pattern(length, 2));
                }
                verbs.disconnect(&end.queue_pair).unwrap();
                end.is_flushed(RECEIVES);
            },
            |verbs, listener| {
                let (mut end, asked) = End::accept(verbs, listener, b"welcome");
                assert!(is_private_data(&asked, b"who I am"), "{asked:?}");
                for length in [1, 1024, RECEIVE] {
                    assert_eq!(end.message(), pattern(length, 1));
                    end.send(&pattern(length, 2));
                }
                end.is_flushed(RECEIVES);
            },
        ),
        (
            "a region of a slab is used while another of the same slab is in use",
            |verbs, address| {
                let (mut end, _) = End::connect(verbs, address, &[]);
                let slab = |length, access| verbs.register_slab(&end.domain, 3, length, access);
                assert!(slab(64, Access::REMOTE_READ).is_err_and(|error| error == Error::Access));
                assert!(slab(0, Access::empty()).is_err_and(|error| error == Error::Range));
                let mut slab = slab(RECEIVE, Access::LOCAL_WRITE).unwrap();
                end.receive(100, &slab[0]);
                verbs.write(&slab[1], |octets| octets.copy_from_slice(&pattern(RECEIVE, 1))).unwrap();
                let send = Work::new(1000, Operation::Send, Local::whole_region(&slab[1], RECEIVE));
                verbs.post(&end.queue_pair, send).unwrap();
                assert_eq!(end.next(|kind| kind == Kind::Send).status, Status::Success);
                // The other receives come first.
                (0..RECEIVES).for_each(|_| assert_eq!(end.message(), b"other"));
                assert_eq!(end.next(|kind| kind == Kind::Receive).id, 100);
                for (region, expected) in slab.iter().zip([pattern(RECEIVE, 2), pattern(RECEIVE, 1), vec![0; RECEIVE]])
                {
                    assert!(verbs.read(region, |octets| *octets == expected).unwrap());
                }
                assert!(verbs.deregister(slab.remove(0)).is_err_and(|error| error == Error::Access));
                end.send(b"done");
            },
            |verbs, listener| {
                let (mut end, _) = End::accept(verbs, listener, &[]);
                assert_eq!(end.message(), pattern(RECEIVE, 1));
                (0..RECEIVES).for_each(|_| end.send(b"other"));
                end.send(&pattern(RECEIVE, 2));
                // The other side ends then, so no Receive can be posted again.
                let done = end.next(|kind| kind == Kind::Receive);
                assert_eq!((done.status, done.length), (Status::Success, b"done".len()));
            },
        ),
        ("queue pairs take the receives of a shared queue", fill_shared, share_receives),
        (
            "of a buffer of which a part is registered, the other side has this part alone",
            |verbs, address| {
                let (mut end, _) = End::connect(verbs, address, &[]);
                let register = |part: Range<usize>| {
                    let access = Access::LOCAL_WRITE | Access::REMOTE_READ;
                    verbs.register_part(&end.domain, pattern(100, 1), part, access)
                };
                for part in [0..101, 101..101, 7..7] {
                    let refused = register(part).err().unwrap();
                    assert_eq!((refused.error, refused.buffer), (Error::Range, pattern(100, 1)));
                }
                let region = register(37..61).unwrap();
                assert_eq!(verbs.segment(&region).length, 24);
                assert!(verbs.read(&region, |octets| *octets == pattern(100, 1)[37..61]).unwrap());
                verbs.write(&region, |octets| octets[0] = 0xa5).unwrap();
                end.send(&advertise(verbs.segment(&region)));
                assert_eq!(end.message(), b"read");
                let mut expected = pattern(100, 1);
                expected[37] = 0xa5;
                assert_eq!(verbs.deregister(region).unwrap(), expected);
                end.send(b"next");
            },
            |verbs, listener| {
                let (mut end, _) = End::accept(verbs, listener, &[]);
                let (remote, length) = advertised(&end.message());
                assert_eq!(length, 24);
                let mut expected = pattern(100, 1)[37..61].to_vec();
                expected[0] = 0xa5;
                let (completion, octets) = end.work(Operation::Read(remote), vec![0; 24]);
                assert_eq!((completion.status, octets), (Status::Success, expected));
                end.send(b"read");
                // The other side ends then, so no Receive can be posted again.
                let done = end.next(|kind| kind == Kind::Receive);
                assert_eq!((done.status, done.length), (Status::Success, b"next".len()));
            },
        ),
        (
            "an interrupted wait ends, and no other",
            |verbs, address| {
                let (mut end, _) = End::connect(verbs, address, &[]);
                let wait = |longest| verbs.completion(&end.queue_pair, longest).unwrap();
                // Before the wait begins, and while a thread sleeps.
                verbs.interrupt(&end.queue_pair);
                assert_eq!(wait(LONG), None);
                let begun = Instant::now();
                assert_eq!(wait(SHORT), None);
                assert!(begun.elapsed() >= SHORT, "once");
                thread::scope(|scope| {
                    let waits = scope.spawn(|| wait(LONG));
                    thread::sleep(SHORT);
                    verbs.interrupt(&end.queue_pair);
                    assert_eq!(waits.join().unwrap(), None);
                });
                // A completion that is there already is taken first.
                end.send(b"go");
                assert_eq!(end.message(), b"reply");
                thread::scope(|scope| {
                    let waits = scope.spawn(|| verbs.completion(&end.queue_pair, LONG));
                    thread::sleep(SHORT);
                    // An end that shows nowhere on the wire is reported too.
                    verbs.disconnect(&end.queue_pair).unwrap();
                    assert_eq!(waits.join().unwrap().unwrap().unwrap().status, Status::Flushed);
                });
                end.is_flushed(RECEIVES - 1);
                assert!(begun.elapsed() < LONG / 2);
            },
            |verbs, listener| {
                let (mut end, _) = End::accept(verbs, listener, &[]);
                assert_eq!(end.message(), b"go");
                end.send(b"reply");
                end.is_flushed(RECEIVES);
            },
        ),
        (
            "a waiter is told what comes, and of the end",
            |verbs, address| {
                let (end, _) = End::connect(verbs, address, &[]);
                let waiter = Waiter::new().unwrap();
                assert!(end.is_quiet(&waiter));
                end.send(b"go");
                assert_eq!(end.watched(&waiter).unwrap().length, 5);
                end.send(b"bye");
                let end = std::iter::repeat_with(|| end.watched(&waiter)).find(Result::is_err);
                assert_eq!(end.unwrap(), Err(Error::Disconnected));
            },
            |verbs, listener| {
                let waiter = Waiter::new().unwrap();
                if verbs.watch_requests(listener, &waiter, 9).unwrap() == WatchState::Quiet {
                    assert_eq!(waiter.wait(Some(LONG)).unwrap(), Some(9), "somebody asks");
                }
                let (mut end, _) = End::accept(verbs, listener, &[]);
                assert_eq!(end.message(), b"go");
                end.send(b"reply");
                assert_eq!(end.message(), b"bye");
                // The listener's own end is reported too.
                assert!(end.is_quiet(&waiter));
                verbs.disconnect(&end.queue_pair).unwrap();
                assert_eq!(waiter.wait(Some(LONG)).unwrap(), Some(7));
                end.is_flushed(RECEIVES);
            },
        ),
        (
            "RDMA Writes and Reads move exactly what is asked for",
            |verbs, address| {
                let (mut end, _) = End::connect(verbs, address, &[]);
                let (source, sink) = (Access::REMOTE_READ, Access::LOCAL_WRITE | Access::REMOTE_WRITE);
                let source = end.register(pattern(LARGE, 3), source);
                let sink = end.register(vec![0xa5; LARGE + 20], sink);
                end.send(&advertise(verbs.segment(&source)));
                end.send(&advertise(verbs.segment(&sink)));
                assert_eq!(end.message(), b"done");
                // Once the Send after it has come, the written data is there: no other wait is needed.
                let octets = verbs.deregister(sink).unwrap();
                assert_eq!((&octets[..10], &octets[LARGE + 10..]), (&[0xa5; 10][..], &[0xa5; 10][..]));
                assert!(octets[10..LARGE + 10] == pattern(LARGE, 4), "what was written is not what was sent");
                assert!(verbs.deregister(source).unwrap() == pattern(LARGE, 3), "what is read stays");
                end.send(b"seen");
                end.is_flushed(RECEIVES);
            },
            |verbs, listener| {
                let (mut end, _) = End::accept(verbs, listener, &[]);
                let (source, length) = advertised(&end.message());
                let (sink, room) = advertised(&end.message());
                assert_eq!((length, room), (LARGE, LARGE + 20));
                let (read, octets) = end.work(Operation::Read(source), vec![0; LARGE]);
                assert_eq!((read.status, read.kind, read.length), (Status::Success, Kind::Read, LARGE));
                assert!(octets == pattern(LARGE, 3), "what was read is not what is there");
                let part = Remote { offset: source.offset + 77, ..source };
                assert_eq!(end.work(Operation::Read(part), vec![0; 3]).1, pattern(LARGE, 3)[77..80]);
                let part = Remote { offset: sink.offset + 10, ..sink };
                let (written, _) = end.work(Operation::Write(part), pattern(LARGE, 4));
                assert_eq!((written.status, written.kind, written.length), (Status::Success, Kind::Write, LARGE));
                end.send(b"done");
                assert_eq!(end.message(), b"seen");
                verbs.disconnect(&end.queue_pair).unwrap();
                end.is_flushed(RECEIVES);
            },
        ),
        (
            "a Send longer than the receive breaks the connection",
            |verbs, address| {
                let (end, _) = End::connect(verbs, address, &[]);
                let (completion, _) = end.work(Operation::Send, vec![1; RECEIVE + 1]);
                // The second is what soft RoCE reports.
                has_failed(&completion, &[Status::RemoteInvalidRequest, Status::RemoteOperation]);
                end.is_flushed(RECEIVES);
            },
            |verbs, listener| {
                let (end, _) = End::accept(verbs, listener, &[]);
                let completion = end.next(|kind| kind == Kind::Receive);
                let expected = [Status::LocalLength, Status::LocalOperation];
                assert!(expected.contains(&completion.status) && completion.length == 0, "{completion:?}");
                end.is_flushed(RECEIVES - 1);
            },
        ),
        ("a Write with a handle that nobody has breaks the connection", waits, |verbs, listener| {
            refused(verbs, listener, |remote| {
                Operation::Write(Remote { handle: remote.handle ^ 0x0055_5500, ..remote })
            });
        }),
        ("a Write past the end of a region breaks the connection", waits, |verbs, listener| {
            refused(verbs, listener, |remote| Operation::Write(Remote { offset: remote.offset + 1, ..remote }));
        }),
        (READ_OF_SINK, waits, |verbs, listener| {
            refused(verbs, listener, Operation::Read);
        }),
        (
            "a Write after deregistration breaks the connection",
            |verbs, address| {
                let (mut end, _) = End::connect(verbs, address, &[]);
                let region = end.register(vec![0xa5; 64], Access::all());
                let segment = advertise(verbs.segment(&region));
                let octets = verbs.deregister(region).unwrap();
                end.send(&segment);
                end.is_flushed(RECEIVES);
                assert_eq!(octets, [0xa5; 64]);
                end.buffers.clear();
            },
            |verbs, listener| refused(verbs, listener, Operation::Write),
        ),
        (
            "a region without octets, and work without octets",
            |verbs, address| {
                let (mut end, _) = End::connect(verbs, address, &[]);
                let region = end.register(Vec::new(), Access::all());
                assert_eq!(verbs.segment(&region).length, 0);
                assert_eq!(verbs.deregister(region).unwrap(), []);
                end.send(&[]);
                assert_eq!(end.message(), []);
                verbs.disconnect(&end.queue_pair).unwrap();
            },
            |verbs, listener| {
                let (mut end, _) = End::accept(verbs, listener, &[]);
                assert_eq!(end.message(), []);
                end.send(&[]);
                end.is_flushed(RECEIVES);
            },
        ),
        (
            "a rejection brings its private data, and one that is dropped none",
            |verbs, address| {
                for reason in [&b"no room"[..], &[]] {
                    let end = End::new(verbs, Depths::default());
                    verbs.connect(&end.queue_pair, address, &[]).unwrap();
                    let Err(Error::Rejected(why)) = verbs.connected(&end.queue_pair, LONG) else { panic!("rejected") };
                    assert!(why.starts_with(reason) && why[reason.len()..].iter().all(|octet| *octet == 0), "{why:?}");
                    assert!(verbs.connected(&end.queue_pair, LONG).is_err(), "it stays so");
                    assert_eq!(verbs.connect(&end.queue_pair, address, &[]), Err(Error::Used));
                    end.is_flushed(RECEIVES);
                }
            },
            |verbs, listener| {
                let request = verbs.request(listener, LONG).unwrap().expect("a request");
                verbs.reject(request, b"no room").unwrap();
                drop(verbs.request(listener, LONG).unwrap().expect("a request"));
            },
        ),
        ("where nobody listens it is refused", nobody_listens, |_, _| ()),
        (
            "who asked and has gone is not accepted",
            |verbs, address| {
                let end = End::new(verbs, Depths::default());
                verbs.connect(&end.queue_pair, address, b"gone").unwrap();
                drop(end);
                let (end, _) = End::connect(verbs, address, b"here");
                end.send(b"in");
                end.is_flushed(RECEIVES);
            },
            |verbs, listener| {
                let mut asked = vec![verbs.request(listener, LONG).unwrap().expect("a request")];
                while !verbs.private_data(asked.last().unwrap()).starts_with(b"here") {
                    asked.push(verbs.request(listener, LONG).unwrap().expect("another request"));
                }
                let here = asked.pop().unwrap();
                for gone in asked {
                    let end = End::new(verbs, Depths::default());
                    match verbs.accept(gone, &end.queue_pair, &[]) {
                        Ok(()) => end.is_flushed(RECEIVES),
                        Err(error) => assert_eq!(error, Error::Disconnected),
                    }
                }
                let mut end = End::new(verbs, Depths::default());
                verbs.accept(here, &end.queue_pair, &[]).unwrap();
                assert_eq!(end.message(), b"in");
                verbs.disconnect(&end.queue_pair).unwrap();
            },
        ),
        (
            "a queue holds its depth until completions are taken, and waits no longer than told",
            |verbs, address| {
                let mut end = End::new(verbs, Depths { send: 2, receive: 1, ..Depths::default() });
                let region = end.register(vec![7; RECEIVE], Access::LOCAL_WRITE);
                let all = || Local::whole_region(&region, 1);
                assert_eq!(verbs.post_receive(&end.queue_pair, 9, all()), Err(Error::QueueFull));
                let send = || Work::new(5, Operation::Send, all());
                assert_eq!(verbs.post(&end.queue_pair, send()), Err(Error::NotConnected));
                assert_eq!(verbs.completion(&end.queue_pair, SHORT), Err(Error::NotConnected));
                verbs.connect(&end.queue_pair, address, &[]).unwrap();
                assert!(verbs.connected(&end.queue_pair, LONG).unwrap().is_some());
                let begin = Instant::now();
                assert_eq!(verbs.completion(&end.queue_pair, SHORT), Ok(None));
                assert!(begin.elapsed() >= SHORT && begin.elapsed() < LONG / 2, "{:?}", begin.elapsed());
                for _ in 0..2 {
                    verbs.post(&end.queue_pair, send()).unwrap();
                }
                assert_eq!(verbs.post(&end.queue_pair, send()), Err(Error::QueueFull));
                assert_eq!(end.next(|kind| kind == Kind::Send).id, 5);
                verbs.post(&end.queue_pair, send()).unwrap();
                let outside = Local { region: &region, range: 1..RECEIVE + 1 };
                assert_eq!(verbs.post_receive(&end.queue_pair, 9, outside), Err(Error::Range));
                for _ in 0..2 {
                    assert_eq!(end.next(|kind| kind == Kind::Send).status, Status::Success);
                }
                assert_eq!(end.message(), b"enough");
                verbs.disconnect(&end.queue_pair).unwrap();
                end.is_flushed(1);
            },
            |verbs, listener| {
                let (mut end, _) = End::accept(verbs, listener, &[]);
                for _ in 0..3 {
                    assert_eq!(end.message(), [7]);
                }
                end.send(b"enough");
                end.is_flushed(RECEIVES);
            },
        ),
        ("several threads post and wait on one queue pair", share, share_too),
        (
            "Send With Invalidate takes a handle away, or breaks the connection where a provider says that it cannot",
            |verbs, address| {
                let (end, answer) = End::connect(verbs, address, &[u8::from(verbs.remote_invalidation())]);
                assert!(!answer.is_empty());
                let region = end.register(vec![0; 64], Access::all());
                let handle = verbs.segment(&region).handle;
                end.send(&advertise(verbs.segment(&region)));
                let completion = end.next(|kind| kind == Kind::Receive);
                if verbs.remote_invalidation() {
                    assert_eq!((completion.status, completion.invalidated), (Status::Success, Some(handle)));
                } else {
                    assert_ne!(completion.status, Status::Success);
                    end.is_flushed(RECEIVES - 1);
                }
                assert_eq!(verbs.is_valid(&region), !verbs.remote_invalidation());
            },
            |verbs, listener| {
                let (mut end, asked) = End::accept(verbs, listener, b"?");
                let (Remote { handle, .. }, _) = advertised(&end.message());
                let (completion, _) = end.work(Operation::SendWithInvalidate(handle), vec![1]);
                // If it cannot be taken away, the sender may learn that or not.
                assert!(completion.status == Status::Success || asked[0] == 0, "{completion:?}");
            },
        ),
    ]
}

/// Sends on two connections whose other ends share their receives.
fn fill_shared<V: Verbs>(verbs: &V, address: SocketAddr) {
    let (one, answer) = End::connect(verbs, address, &[]);
    if is_private_data(&answer, b"none") {
        return;
    }
    let (two, _) = End::connect(verbs, address, &[]);
    one.send(&pattern(1000, 1));
    two.send(&pattern(RECEIVE, 2));
    one.send(&pattern(1, 3));
    two.send(&pattern(2000, 4));
    // The queue is empty now: this waits.
    one.send(&pattern(RECEIVE, 5));
    two.send(b"nobody takes this");
    verbs.disconnect(&two.queue_pair).unwrap();
    one.send(b"done");
    one.is_flushed(RECEIVES);
}

fn share_receives<V: Verbs>(verbs: &V, listener: &V::Listener) {
    let domain = verbs.domain().unwrap();
    let queue = match verbs.shared_receive_queue(&domain, RECEIVES) {
        Ok(queue) => queue,
        Err(error) => {
            assert_eq!((error, IWARP.load(Relaxed)), (Error::NotShared, true));
            return drop(End::accept(verbs, listener, b"none"));
        }
    };
    let slab = verbs.register_slab(&domain, RECEIVES, RECEIVE, Access::LOCAL_WRITE).unwrap();
    let post = |id: usize| verbs.post_shared_receive(&queue, id as u64, Local::whole_region(&slab[id], RECEIVE));
    (0..RECEIVES).for_each(|id| post(id).unwrap());
    assert_eq!(post(0), Err(Error::QueueFull));
    let accept = || {
        let request = verbs.request(listener, LONG).unwrap().expect("a request");
        let queue_pair = verbs.sharing_queue_pair(&queue, Depths::default()).unwrap();
        verbs.accept(request, &queue_pair, b"shared").unwrap();
        queue_pair
    };
    let next = |queue_pair: &V::QueuePair, expected: &[u8]| {
        let completion = verbs.completion(queue_pair, LONG).unwrap().expect("a completion");
        assert_eq!((completion.kind, completion.status), (Kind::Receive, Status::Success));
        let (id, length) = (completion.id as usize, completion.length);
        assert_eq!(verbs.read(&slab[id], |octets| octets[..length].to_vec()).unwrap(), expected);
        id
    };
    let (one, two) = (accept(), accept());
    assert_eq!(verbs.post_receive(&one, 9, Local::whole_region(&slab[0], RECEIVE)), Err(Error::QueueFull));
    let held = [
        next(&one, &pattern(1000, 1)),
        next(&one, &pattern(1, 3)),
        next(&two, &pattern(RECEIVE, 2)),
        next(&two, &pattern(2000, 4)),
    ];
    assert_eq!(verbs.shared_receives(&queue), 0);
    assert!(verbs.completion(&one, SHORT).unwrap().is_none(), "there is no receive for it");
    held.into_iter().for_each(|id| post(id).unwrap());
    post(next(&one, &pattern(RECEIVE, 5))).unwrap();
    post(next(&one, b"done")).unwrap();
    drop(two);
    assert_eq!(verbs.shared_receives(&queue), RECEIVES, "one was filled, and its completion not taken");
    drop(slab);
    drop(one);
    assert_eq!(verbs.shared_receives(&queue), RECEIVES);
}

/// Sends per thread, threads that send, and threads that wait.
const SHARED: (usize, usize, usize) = (50, 2, 3);

/// Two threads send, three take completions of both directions.
fn share<V>(verbs: &V, address: SocketAddr)
where
    V: Verbs<Domain: Sync, Region: Send + Sync, QueuePair: Sync> + Sync,
{
    let (mut end, _) = End::connect(verbs, address, &[]);
    let buffer = receives(&end);
    end.send(b"go");
    assert_eq!(end.message(), b"go");
    exchange(&end);
    assert_eq!(end.next(|kind| kind == Kind::Receive).status, Status::Success);
    verbs.disconnect(&end.queue_pair).unwrap();
    end.is_flushed(RECEIVES - 1);
    assert_eq!(verbs.deregister(buffer).unwrap(), *b"all\x01\x01\x01\x01\x01");
}

fn share_too<V>(verbs: &V, listener: &V::Listener)
where
    V: Verbs<Domain: Sync, Region: Send + Sync, QueuePair: Sync> + Sync,
{
    let (mut end, _) = End::accept(verbs, listener, &[]);
    let buffer = receives(&end);
    assert_eq!(end.message(), b"go");
    end.send(b"go");
    exchange(&end);
    end.send(b"all");
    end.is_flushed(RECEIVES);
    assert_eq!(verbs.deregister(buffer).unwrap(), [1; 8]);
}

/// Receives for everything that the other side's threads send, so that nothing comes too early.
fn receives<V: Verbs>(end: &End<'_, V>) -> V::Region {
    let buffer = end.register(vec![0; 8], Access::LOCAL_WRITE);
    for _ in 0..SHARED.0 * SHARED.1 {
        end.verbs.post_receive(&end.queue_pair, 9, Local::whole_region(&buffer, 8)).unwrap();
    }
    buffer
}

/// Both ends send and receive everything, and each completion is taken exactly once.
fn exchange<V>(end: &End<'_, V>)
where
    V: Verbs<Domain: Sync, Region: Send + Sync, QueuePair: Sync> + Sync,
{
    let (each, senders, takers) = SHARED;
    let all = each * senders;
    let seen: Mutex<HashMap<u64, usize>> = Mutex::default();
    let taken = AtomicUsize::new(0);
    let region = end.register(vec![1; 8], Access::empty());
    thread::scope(|scope| {
        for sender in 0..senders {
            let region = &region;
            scope.spawn(move || {
                for id in (0..each).map(|count| 1000 + sender * each + count) {
                    let work = Work::new(id as u64, Operation::Send, Local::whole_region(region, 8));
                    end.verbs.post(&end.queue_pair, work).unwrap();
                }
            });
        }
        for _ in 0..takers {
            scope.spawn(|| {
                while taken.fetch_add(1, Relaxed) < 2 * all {
                    let completion = end.verbs.completion(&end.queue_pair, LONG).unwrap().expect("a completion");
                    assert_eq!(completion.status, Status::Success);
                    if completion.kind == Kind::Send {
                        *seen.lock().unwrap().entry(completion.id).or_default() += 1;
                    }
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() == all && seen.values().all(|times| *times == 1), "{seen:?}");
}

/// Advertises memory that may be written, and waits for the connection to end.
fn waits<V: Verbs>(verbs: &V, address: SocketAddr) {
    let (end, _) = End::connect(verbs, address, &[]);
    let region = end.register(vec![0xa5; 64], Access::LOCAL_WRITE | Access::REMOTE_WRITE);
    end.send(&advertise(verbs.segment(&region)));
    end.is_flushed(RECEIVES);
    assert_eq!(verbs.deregister(region).unwrap(), [0xa5; 64]);
}

/// Uses memory of the other side in a way that it does not allow.
fn refused<V: Verbs>(verbs: &V, listener: &V::Listener, what: impl Fn(Remote) -> Operation) {
    let (mut end, _) = End::accept(verbs, listener, &[]);
    let (remote, length) = advertised(&end.message());
    let (completion, _) = end.work(what(remote), vec![1; length]);
    has_failed(&completion, &[Status::RemoteAccess]);
    end.is_flushed(RECEIVES);
}

fn nobody_listens<V: Verbs>(verbs: &V, mut address: SocketAddr) {
    address.set_port(address.port() + 1);
    let end = End::new(verbs, Depths::default());
    // This is refused before the queue pair counts as used.
    assert_eq!(verbs.connect(&end.queue_pair, address, &[1; 57]), Err(Error::PrivateData));
    let answer = verbs.connect(&end.queue_pair, address, &[]).and_then(|()| verbs.connected(&end.queue_pair, LONG));
    assert_eq!(answer, Err(Error::Refused));
}

#[test]
fn loopback() {
    let fabric = Fabric::new();
    let client = fabric.adapter([192, 0, 2, 2].into()).unwrap();
    let server = fabric.adapter([192, 0, 2, 1].into()).unwrap();
    let address = "192.0.2.1:20049".parse().unwrap();
    let listener = server.listen(address, 4).unwrap();
    let accepts = thread::spawn(move || {
        for (name, _, accept) in tests() {
            accept(&server, &listener);
            eprintln!("accepted: {name}");
        }
    });
    for (name, connect, _) in tests() {
        connect(&client, address);
        eprintln!("asked: {name}");
    }
    accepts.join().unwrap();
}

#[cfg(feature = "rdma")]
mod rdma {
    use std::os::fd::AsFd;

    use rpcrdma_verbs::rdma::{Device, Listener};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use tokio::time::timeout;

    use super::*;

    fn variable(name: &str) -> Option<SocketAddr> {
        std::env::var(name).ok().map(|address| address.parse().expect("ADDRESS:PORT"))
    }

    /// Reports that the other end may connect now.
    fn say_listening() {
        println!("listening");
    }

    #[test]
    #[ignore = "needs two computers with adapters: see the beginning of this file"]
    fn two_adapters() {
        if let Some(address) = variable("RPCRDMA_LISTEN") {
            let device = Device::with_address(address.ip()).unwrap();
            let listener = device.listen(address, 4).unwrap();
            let unspecified = listen_anywhere(&device, address);
            say_listening();
            for (name, _, accept) in tests_of(&device) {
                accept(&device, &listener);
                eprintln!("accepted: {name}");
            }
            let taken = device.listen(address, 4).err();
            let foreign = device.listen("192.0.2.77:4000".parse().unwrap(), 4).err();
            let no_port = device.listen(SocketAddr::new(address.ip(), 0), 4).err();
            assert_eq!([taken, foreign, no_port], [const { Some(Error::Address) }; 3]);
            anywhere(&device, unspecified);
        } else if let Some(address) = variable("RPCRDMA_CONNECT") {
            let device = Device::towards(address).unwrap();
            eprintln!("{device:?}");
            for (name, connect, _) in tests_of(&device) {
                connect(&device, address);
                eprintln!("asked: {name}");
            }
            let (end, _) = End::connect(&device, beside(address), &[]);
            end.send(b"in");
            end.is_flushed(RECEIVES);
            let nowhere = device.queue_pair(&end.domain, Depths::default()).unwrap();
            let refused = device.connect(&nowhere, "198.51.100.1:4000".parse().unwrap(), &[]);
            assert_eq!(refused, Err(Error::Unreachable));
            assert_eq!(device.connected(&nowhere, Duration::ZERO), Err(Error::Unreachable));
        } else {
            panic!("neither RPCRDMA_LISTEN nor RPCRDMA_CONNECT is set");
        }
    }

    /// Soft iWARP lets the other side read any memory that it may write.
    fn tests_of(device: &Device) -> Vec<Test<Device>> {
        IWARP.store(device.is_iwarp(), Relaxed);
        let mut tests = tests();
        if device.name().starts_with("siw") {
            tests.retain(|(name, ..)| *name != READ_OF_SINK);
        }
        tests
    }

    fn beside(address: SocketAddr) -> SocketAddr {
        SocketAddr::new(address.ip(), address.port() + 2)
    }

    /// Listens at the unspecified address.
    fn listen_anywhere(device: &Device, address: SocketAddr) -> Listener {
        let unspecified = if address.is_ipv4() { "0.0.0.0" } else { "::" };
        let address = SocketAddr::new(unspecified.parse().unwrap(), beside(address).port());
        device.listen(address, 1).unwrap()
    }

    /// Checks that a request, once taken, outlives its listener.
    fn anywhere(device: &Device, listener: Listener) {
        let request = device.request(&listener, LONG).unwrap().expect("a request");
        drop(listener);
        assert_ne!(device.peer(&request).port(), 0);
        let mut end = End::new(device, Depths::default());
        device.accept(request, &end.queue_pair, &[]).unwrap();
        assert_eq!(end.message(), b"in");
        device.disconnect(&end.queue_pair).unwrap();
        end.is_flushed(RECEIVES);
    }

    /// Requests to be refused, so that there is never a slice of memory that an adapter may write.
    #[test]
    #[ignore = "needs an adapter: RPCRDMA_LISTEN or RPCRDMA_CONNECT says which"]
    fn memory_that_the_adapter_may_write_is_not_shown() {
        let device = match (variable("RPCRDMA_LISTEN"), variable("RPCRDMA_CONNECT")) {
            (Some(address), _) => Device::with_address(address.ip()).unwrap(),
            (None, Some(address)) => Device::towards(address).unwrap(),
            (None, None) => panic!("neither RPCRDMA_LISTEN nor RPCRDMA_CONNECT is set"),
        };
        let domain = device.domain().unwrap();
        let queue_pair = device.queue_pair(&domain, Depths::default()).unwrap();

        let region = device.register(&domain, vec![1; 64], Access::all()).unwrap();
        assert_eq!(device.read(&region, |_| ()), Err(Error::InUse));
        assert_eq!(device.write(&region, |_| ()), Err(Error::InUse));
        assert_eq!(device.deregister(region).unwrap(), [1; 64]);

        let region = device.register(&domain, vec![2; 64], Access::LOCAL_WRITE | Access::REMOTE_READ).unwrap();
        device.write(&region, |octets| octets[0] = 3).unwrap();
        let posting = || device.post_receive(&queue_pair, 1, Local::whole_region(&region, 64));
        assert_eq!(device.read(&region, |_| posting()).unwrap(), Err(Error::InUse));
        assert_eq!(device.write(&region, |_| posting()).unwrap(), Err(Error::InUse));
        assert_eq!(device.write(&region, |_| device.read(&region, |_| ())).unwrap(), Err(Error::InUse));
        assert_eq!(device.read(&region, |_| device.write(&region, |_| ())).unwrap(), Err(Error::InUse));
        posting().unwrap();
        assert_eq!(device.read(&region, |_| ()), Err(Error::InUse));
        assert_eq!(device.write(&region, |_| ()), Err(Error::InUse));
        device.disconnect(&queue_pair).unwrap();
        assert_eq!(device.read(&region, |octets| octets[..2].to_vec()).unwrap(), [3, 2]);

        let queue_pair = device.queue_pair(&domain, Depths::default()).unwrap();
        device.post_receive(&queue_pair, 1, Local::whole_region(&region, 64)).unwrap();
        assert_eq!(device.deregister(region), Err(Error::InUse));
        drop(domain);
        drop(device);
        drop(queue_pair);
    }

    /// An asynchronous runtime waits for the descriptor, once the queue pair is armed and there was nothing to take.
    #[test]
    #[ignore = "needs two computers with adapters: see the beginning of this file"]
    fn a_runtime_waits_for_the_descriptor() {
        const ROUNDS: usize = RECEIVES - 1;
        if let Some(address) = variable("RPCRDMA_LISTEN") {
            let device = Device::with_address(address.ip()).unwrap();
            let listener = device.listen(address, 4).unwrap();
            say_listening();
            let (mut end, _) = End::accept(&device, &listener, &[]);
            for _ in 0..ROUNDS {
                assert_eq!(end.message(), b"go");
                thread::sleep(SHORT);
                end.send(b"reply");
            }
            end.is_flushed(RECEIVES);
        } else if let Some(address) = variable("RPCRDMA_CONNECT") {
            let device = Device::towards(address).unwrap();
            let (end, _) = End::connect(&device, address, &[]);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(in_a_runtime(&device, &end, ROUNDS));
        } else {
            panic!("neither RPCRDMA_LISTEN nor RPCRDMA_CONNECT is set");
        }
    }

    #[allow(
        deprecated,
        reason = "`AsyncFd::register` is unsafe, for owners that close their descriptor; this one does not"
    )]
    async fn in_a_runtime(device: &Device, end: &End<'_, Device>, rounds: usize) {
        let descriptor = AsyncFd::with_interest(end.queue_pair.as_fd(), Interest::READABLE).unwrap();
        let next = async || {
            loop {
                if let Some(completion) = device.completion(&end.queue_pair, Duration::ZERO)? {
                    return Ok(completion);
                }
                if end.queue_pair.arm()? == WatchState::Quiet {
                    descriptor.readable().await.unwrap().clear_ready();
                }
            }
        };
        let message = end.register(b"go".to_vec(), Access::empty());
        for _ in 0..rounds {
            assert!(timeout(SHORT, next()).await.is_err(), "nothing comes");
            device.post(&end.queue_pair, Work::new(1, Operation::Send, Local::whole_region(&message, 2))).unwrap();
            for _ in 0..2 {
                let completion = timeout(LONG, next()).await.unwrap().unwrap();
                assert_eq!(completion.status, Status::Success, "{completion:?}");
            }
        }
        // If this side ends the connection, that shows at the descriptor too.
        assert!(timeout(SHORT, next()).await.is_err());
        device.disconnect(&end.queue_pair).unwrap();
        timeout(LONG, descriptor.readable()).await.unwrap().unwrap().clear_ready();
        for _ in 0..RECEIVES - rounds {
            assert_eq!(timeout(LONG, next()).await.unwrap().unwrap().status, Status::Flushed);
        }
        assert_eq!(timeout(LONG, next()).await.unwrap(), Err(Error::Disconnected));
    }

    /// Destroying a queue pair takes an adapter long, and work is posted where nothing may take long. That memory is in
    /// use shows that the queue pair exists.
    #[test]
    #[ignore = "needs two computers with adapters: see the beginning of this file"]
    fn waiting_destroys_a_queue_pair_and_posting_does_not() {
        if let Some(address) = variable("RPCRDMA_LISTEN") {
            let device = Device::with_address(address.ip()).unwrap();
            let listener = device.listen(address, 4).unwrap();
            say_listening();
            let request = device.request(&listener, LONG).unwrap().expect("a request");
            // The other end begins to watch first.
            thread::sleep(SHORT);
            device.reject(request, b"no").unwrap();
        } else if let Some(address) = variable("RPCRDMA_CONNECT") {
            let device = Device::towards(address).unwrap();
            let mut end = End::new(&device, Depths::default());
            device.connect(&end.queue_pair, address, &[]).unwrap();
            let waiter = Waiter::new().unwrap();
            let watched = device.watch(&end.queue_pair, &waiter, 7).unwrap();
            finds_the_end_by_posting(&end);
            let receive = end.buffers[1].take().unwrap();
            assert_eq!(device.deregister(receive).map(drop), Err(Error::InUse), "its queue pair is destroyed");
            assert!(
                watched == WatchState::Ready || waiter.wait(Some(LONG)).unwrap() == Some(7),
                "nobody is told to wait"
            );
            for _ in 0..RECEIVES {
                let completion = device.completion(&end.queue_pair, Duration::ZERO).unwrap().expect("a completion");
                assert_eq!((completion.kind, completion.status), (Kind::Receive, Status::Flushed));
            }
            let receive = end.buffers[0].take().unwrap();
            assert_eq!(device.deregister(receive).map(|buffer| buffer.len()), Ok(RECEIVE));
            let rejected = device.connected(&end.queue_pair, Duration::ZERO).unwrap_err();
            assert!(matches!(&rejected, Error::Rejected(why) if why.starts_with(b"no")), "{rejected}");
        } else {
            panic!("neither RPCRDMA_LISTEN nor RPCRDMA_CONNECT is set");
        }
    }

    fn finds_the_end_by_posting(end: &End<'_, Device>) {
        let region = end.register(vec![0; 8], Access::empty());
        let begun = Instant::now();
        loop {
            let work = Work::new(1, Operation::Send, Local::whole_region(&region, 8));
            match end.verbs.post(&end.queue_pair, work).unwrap_err() {
                Error::Disconnected => break,
                error => assert_eq!(error, Error::NotConnected),
            }
            assert!(begun.elapsed() < LONG, "posting does not find out that the connection is over");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Effect of the end of a process on the other side: one of the two is killed while it waits.
    #[test]
    #[ignore = "needs two computers with adapters: see the beginning of this file"]
    fn the_end_of_the_other_process_ends_the_connection() {
        if let Some(address) = variable("RPCRDMA_LISTEN") {
            let device = Device::with_address(address.ip()).unwrap();
            let listener = device.listen(address, 4).unwrap();
            say_listening();
            let (mut end, _) = End::accept(&device, &listener, &[]);
            assert_eq!(end.message(), b"kill me");
            std::process::Command::new("kill").args(["-9", &std::process::id().to_string()]).status().unwrap();
            thread::sleep(LONG);
        } else if let Some(address) = variable("RPCRDMA_CONNECT") {
            let device = Device::towards(address).unwrap();
            let (end, _) = End::connect(&device, address, &[]);
            end.send(b"kill me");
            end.is_flushed(RECEIVES);
        } else {
            panic!("neither RPCRDMA_LISTEN nor RPCRDMA_CONNECT is set");
        }
    }
}
