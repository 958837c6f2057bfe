//! A Requester and a Responder against each other, with plain memory in place of adapters: in order, but everything takes its
//! time. `rpcrdma::rules` judges each Send; what arrives is compared with what was sent.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use rpcrdma::endpoint::requester::{self, CallRefusal, End, Memory};
use rpcrdma::endpoint::responder::{self, CallMessage};
use rpcrdma::endpoint::{CallId, Item, Limits, RegisteredMemory, Requester, Responder, Terms};
use rpcrdma::error::Role;
use rpcrdma::rpc::{self, Auth};
use rpcrdma::rules::{self, Credits, Exchange, Finding, Sent};
use rpcrdma::segment::Segment;
use rpcrdma::v1;

use crate::random_numbers::Random;
use crate::support::{self, fewer};

impl Random {
    /// A length, small ones more often.
    fn length(&mut self) -> usize {
        let most = [1, 9, 100, 1200, 5000][self.below(5)];
        self.below(most)
    }

    fn fill(&mut self, octets: &mut Vec<u8>, length: usize) {
        octets.extend((0..length).map(|_| self.number() as u8 | 1));
    }
}

/// A Payload stream, and its opaque items.
#[derive(Clone, Default)]
struct Stream {
    octets: Vec<u8>,
    items: Vec<Item>,
}

impl Stream {
    fn new(head: &[u8], random: &mut Random) -> Self {
        let mut stream = Self { octets: head.to_vec(), items: Vec::new() };
        for _ in 0..random.below(4) {
            let length = random.length();
            stream.octets.extend((length as u32).to_be_bytes());
            stream.items.push(Item { position: stream.octets.len() as u32, length: length as u32 });
            random.fill(&mut stream.octets, length);
            stream.octets.resize(stream.octets.len().next_multiple_of(4), 0);
        }
        stream
    }

    fn length(&self) -> u32 {
        self.octets.len() as u32
    }

    fn part(&self, range: Range<u32>) -> &[u8] {
        &self.octets[range.start as usize..range.end as usize]
    }

    fn item(&self, item: Item) -> &[u8] {
        self.part(item.position..item.position + item.length)
    }
}

/// A Call on the Requester's side, and what is known of its reply.
#[derive(Default)]
struct Called {
    xid: u32,
    call: Stream,
    results: Vec<Vec<u8>>,
    room: Vec<u8>,
    wire: Vec<u8>,
    /// The reply of the Responder's upper layer.
    reply: Stream,
}

/// Work that is in flight from one side, or queued in an adapter.
enum Work {
    Provided { call: CallId },
    Withdrawn { call: CallId, handle: u32 },
    Pulled { call: CallId, source: Segment, at: u32 },
    Registered { call: CallId, region: u16, memory: Memory },
    Invalidated { call: CallId, region: u16, handle: u32 },
    Sent { call: CallId },
    Completed { call: CallId },
}

enum Posted {
    Read { call: CallId, source: Segment, at: u32 },
    Write { data: Vec<u8>, target: Segment },
    Send { octets: Vec<u8>, invalidate: Option<u32> },
}

impl Posted {
    fn reads_for(&self, of: CallId) -> bool {
        matches!(self, Self::Read { call, .. } if *call == of)
    }
}

struct World {
    random: Random,
    requester: Requester<6, 24>,
    responder: Responder<6, 1024, 4>,
    /// Long replies are pulled (RFC 5666 section 3.5).
    provide: bool,
    /// Replies that can be pulled, by handle.
    provided: HashMap<u32, (CallId, Stream)>,
    /// Number of RDMA Reads that may still be posted.
    reads: u32,
    threshold: u32,
    /// The most octets of an RDMA Read or Write.
    transfer: u32,
    credits: Credits,
    calls: HashMap<CallId, Called>,
    by_xid: HashMap<u32, CallId>,
    /// Memory that each handle reaches.
    exposed: HashMap<u32, (CallId, Memory)>,
    handle: u32,
    work: Vec<Work>,
    to_responder: VecDeque<Vec<u8>>,
    to_requester: VecDeque<Posted>,
    assembled: HashMap<CallId, Vec<u8>>,
    delivered: Vec<(CallId, u32)>,
    replies: HashMap<CallId, Stream>,
    /// Receives in use, by name.
    receives: HashMap<u32, Vec<u8>>,
    receives_there: HashMap<u32, Vec<u8>>,
    receive: u32,
    failed: bool,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    short: usize,
    long: usize,
    errors: usize,
    cancelled: usize,
    lost: usize,
    assembled: usize,
    provided: usize,
    results: usize,
}

fn no_finding(finding: &Finding<'_>) {
    panic!("{finding}");
}

impl World {
    fn new(seed: u64, provide: bool) -> Self {
        let mut random = Random(seed);
        let threshold = [1024, 4096][random.below(2)];
        let remote_invalidation = random.below(2) == 0;
        let terms =
            Terms { call_threshold: threshold, reply_threshold: threshold, remote_invalidation, ..Terms::default() };
        let limits = Limits::new().with_chunks(4, 4).with_segments(40).with_octets(100_000);
        let segment_length = [700, 4096, 0x1_0000][random.below(3)];
        let most_reads = [1, 3, 1000][random.below(3)];
        let mut responder = Responder::new(terms, limits);
        responder.limit_reads(most_reads);
        let transfer = [1000, 5000, u32::MAX][random.below(3)];
        responder.limit_transfers(transfer);
        let mut requester = Requester::new(terms, if provide { 6 } else { 5 }, segment_length);
        if provide {
            requester.read_provided_replies();
            requester.limit_transfers(transfer);
            responder.provide_replies([2, 100][random.below(2)]);
        }
        Self {
            requester,
            provide,
            provided: HashMap::new(),
            responder,
            reads: most_reads,
            random,
            threshold,
            transfer,
            credits: Credits::new(),
            calls: HashMap::new(),
            by_xid: HashMap::new(),
            exposed: HashMap::new(),
            handle: 100,
            work: Vec::new(),
            to_responder: VecDeque::new(),
            to_requester: VecDeque::new(),
            assembled: HashMap::new(),
            delivered: Vec::new(),
            replies: HashMap::new(),
            receives: HashMap::new(),
            receives_there: HashMap::new(),
            receive: 0,
            failed: false,
            counts: Counts::default(),
        }
    }

    fn call(&mut self, xid: u32) {
        let header = rpc::RpcCall {
            xid,
            rpc_version: 2,
            program: 1,
            version: 1,
            procedure: 1,
            credential: Auth::NONE,
            verifier: Auth::NONE,
        };
        let mut head = [0; 40];
        header.encode(&mut head).unwrap();
        let call = Stream::new(&head, &mut self.random);
        let arguments: Vec<_> = call.items.iter().copied().filter(|_| self.random.below(3) > 0).collect();
        let rooms: Vec<u32> = (0..self.random.below(4)).map(|_| self.random.length() as u32).collect();
        // If it costs no registration, there is more room.
        let room = if self.provide { 5000 } else { 0 };
        let reply_length = 24 + room + 3 * self.random.length() as u32;
        let asked = requester::Call {
            head: &call.octets[..40],
            length: call.length(),
            arguments: &arguments,
            results: &rooms,
            reply_length,
            largest_capacity: 0,
        };
        match self.requester.call(&asked) {
            Ok(id) => {
                let results = rooms.iter().map(|&room| vec![0; room as usize]).collect();
                let room = vec![0; reply_length.next_multiple_of(4) as usize];
                assert!(self.by_xid.insert(xid, id).is_none());
                self.calls.insert(id, Called { xid, call, results, room, ..Called::default() });
            }
            Err(error) => {
                assert!(matches!(error, CallRefusal::TooManyCalls | CallRefusal::TooManySegments), "{error:?}")
            }
        }
    }

    fn send_judged(&mut self, octets: &[u8], from: Role) {
        assert!(octets.len() <= self.threshold as usize);
        // RFC 8166 has neither such replies nor `RDMA_DONE`.
        if !self.provide {
            rules::send(&Sent::new(octets, Some(from)), &mut no_finding);
        }
    }

    fn poll_requester(&mut self) {
        let mut buffer = [0xa5; 2048];
        loop {
            use requester::Output;
            // First take what borrows from the Requester.
            let (call, header, ranges) = match self.requester.poll(&mut buffer).unwrap() {
                None => return,
                Some(Output::Send { call, header, payload }) => (call, header, payload.collect::<Vec<_>>()),
                Some(Output::Done { call, end, results }) => {
                    let results = results.to_vec();
                    self.done(call, end, &results);
                    continue;
                }
                Some(Output::Register { call, region, memory }) => {
                    self.work.push(Work::Registered { call, region, memory });
                    continue;
                }
                Some(Output::Read { call, source, at }) => {
                    assert!(self.provide && source.length <= self.transfer);
                    self.work.push(Work::Pulled { call, source, at });
                    continue;
                }
                Some(Output::Invalidate { call, region, handle }) => {
                    self.work.push(Work::Invalidated { call, region, handle });
                    continue;
                }
                Some(Output::Place { .. }) => panic!("version 1 has no continued replies"),
                Some(Output::Release { receive }) => {
                    assert!(self.receives.remove(&receive).is_some());
                    continue;
                }
                Some(Output::Disconnect) => {
                    self.failed = true;
                    continue;
                }
            };
            let mut octets = buffer[..header].to_vec();
            if header == 16 {
                // `RDMA_DONE`
                assert!(self.provide && ranges.is_empty());
                self.work.push(Work::Sent { call });
                self.to_responder.push_back(octets);
                continue;
            }
            let called = self.calls.get_mut(&call).unwrap();
            for range in ranges {
                octets.extend(called.call.part(range));
            }
            called.wire = octets.clone();
            if !self.provide {
                self.credits.call().unwrap();
            }
            self.work.push(Work::Sent { call });
            self.send_judged(&octets, Role::Requester);
            self.to_responder.push_back(octets);
        }
    }

    /// Checks a Call that is over: nothing can reach its memory, which holds what was replied.
    fn done(&mut self, id: CallId, end: End, results: &[u32]) {
        assert!(self.exposed.values().all(|(call, _)| *call != id), "not fenced");
        let sending = |work: &Work| matches!(work, Work::Sent { call } if *call == id);
        assert!(!self.work.iter().any(sending), "the Send is not complete");
        let called = self.calls.remove(&id).unwrap();
        let paired = || called.reply.items.iter().zip(&called.results).zip(results);
        let reduced: Vec<Item> =
            paired().filter(|((_, room), _)| !room.is_empty()).map(|((item, _), _)| *item).collect();
        let mut inline = called.reply.octets.clone();
        for item in reduced.iter().rev() {
            inline.drain(item.position as usize..(item.position + item.length.next_multiple_of(4)) as usize);
        }
        let whole = match end {
            End::Reply { receive, payload } => {
                self.counts.short += 1;
                self.receives.remove(&receive).unwrap()[payload].to_vec()
            }
            End::LongReply(length) => {
                self.counts.long += 1;
                called.room[..length as usize].to_vec()
            }
            End::Error(_) => return self.counts.errors += 1,
            End::NoRoom(length) => {
                assert!(length > called.room.len() as u64 && length == inline.len() as u64);
                return self.counts.errors += 1;
            }
            End::Cancelled => return self.counts.cancelled += 1,
            End::Lost => return self.counts.lost += 1,
            End::NotRegistered => panic!("all memory can be registered"),
            End::ErrorV2(_) | End::BadReply | End::ContinuedReply(_) | End::Sent => {
                panic!("version 1 has none of these")
            }
        };
        assert!(whole == inline, "xid {}", called.xid);
        for ((item, room), &length) in paired() {
            let expected = if room.is_empty() { &[][..] } else { called.reply.item(*item) };
            assert!(room[..length as usize] == *expected, "xid {}", called.xid);
            self.counts.results += usize::from(length > 0);
        }
    }

    fn poll_responder(&mut self) {
        let mut buffer = [0xa5; 2048];
        loop {
            use responder::Output;
            let (call, header, ranges, invalidate) = match self.responder.poll(&mut buffer).unwrap() {
                None => return,
                Some(Output::Send { call, header, payload, invalidate, is_last }) => {
                    assert!(is_last);
                    (call, header, payload.collect::<Vec<_>>(), invalidate)
                }
                Some(Output::Release { receive }) => {
                    assert!(self.receives_there.remove(&receive).is_some());
                    continue;
                }
                Some(Output::Place { call, receive, from, length, at }) => {
                    let octets = self.receives_there[&receive][from..from + length as usize].to_vec();
                    assert!(!self.to_requester.iter().any(|posted| posted.reads_for(call)), "copied after a Read");
                    self.place(call, at, &octets);
                    continue;
                }
                Some(Output::Read { call, source, at }) => {
                    assert!(source.length <= self.transfer);
                    self.reads = self.reads.checked_sub(1).expect("too many RDMA Reads");
                    self.to_requester.push_back(Posted::Read { call, source, at });
                    continue;
                }
                Some(Output::Deliver { call, message }) => {
                    self.deliver(call, message);
                    continue;
                }
                Some(Output::Register { call, length }) => {
                    assert!(self.provide && length == self.replies[&call].length());
                    self.work.push(Work::Provided { call });
                    continue;
                }
                Some(Output::Invalidate { call, handle }) => {
                    self.work.push(Work::Withdrawn { call, handle });
                    continue;
                }
                Some(Output::Write { call, from, target }) => {
                    assert!(target.length <= self.transfer);
                    let data = self.replies[&call].part(from..from + target.length).to_vec();
                    self.to_requester.push_back(Posted::Write { data, target });
                    continue;
                }
                Some(Output::Disconnect) => {
                    self.failed = true;
                    continue;
                }
            };
            let mut octets = buffer[..header].to_vec();
            let reply = self.replies.remove(&call).unwrap_or_default();
            for range in ranges {
                octets.extend(reply.part(range));
            }
            self.send_judged(&octets, Role::Responder);
            self.to_requester.push_back(Posted::Send { octets, invalidate });
        }
    }

    /// Memory that was used before: only the padding is zeroed.
    fn place(&mut self, call: CallId, at: u32, octets: &[u8]) {
        let memory = self.assembled.entry(call).or_insert_with(|| {
            let mut memory = vec![0xa5; self.responder.length(call).unwrap() as usize];
            for padding in self.responder.padding(call) {
                memory[padding.start as usize..padding.end as usize].fill(0);
            }
            memory
        });
        memory[at as usize..at as usize + octets.len()].copy_from_slice(octets);
    }

    fn deliver(&mut self, call: CallId, message: CallMessage) {
        let octets = match message {
            CallMessage::Inline { receive, from, length } => {
                let octets = self.receives_there[&receive][from..].to_vec();
                assert_eq!(octets.len(), length as usize);
                octets
            }
            CallMessage::Assembled { length } => {
                self.counts.assembled += 1;
                let octets = self.assembled.remove(&call).unwrap();
                assert!(octets.len() == length as usize);
                octets
            }
        };
        let xid = self.responder.xid(call).unwrap();
        if let Some(called) = self.calls.get(&self.by_xid[&xid]) {
            assert!(octets == called.call.octets, "xid {xid}");
        }
        self.delivered.push((call, xid));
    }

    fn reply(&mut self) {
        let (call, xid) = self.delivered.swap_remove(self.random.below(self.delivered.len()));
        if self.random.below(20) == 0 {
            return self.responder.refuse(call).unwrap();
        }
        if self.random.below(4) == 0 {
            let credits = 1 + self.random.below(6) as u32;
            self.responder.grant(credits).unwrap();
        }
        let mut head = [0; 24];
        head[..4].copy_from_slice(&xid.to_be_bytes());
        head[7] = 1;
        let stream = Stream::new(&head, &mut self.random);
        let reply = responder::Reply { head: &head, length: stream.length(), results: &stream.items, protected: false };
        self.responder.reply(call, &reply).unwrap();
        if let Some(called) = self.calls.get_mut(&self.by_xid[&xid]) {
            called.reply = stream.clone();
        }
        self.replies.insert(call, stream);
    }

    /// The memory of a segment, if it can be reached.
    fn reach(&mut self, segment: Segment) -> Option<&mut [u8]> {
        let (call, memory) = self.exposed.get(&segment.handle)?.clone();
        let called = self.calls.get_mut(&call)?;
        let (octets, range) = match memory {
            Memory::Argument(range) => (&mut called.call.octets, range),
            Memory::Result(chunk, range) => (&mut called.results[usize::from(chunk)], range),
            Memory::Reply(range) => (&mut called.room, range),
        };
        // The offset counts from the handle's own base.
        let start = segment.offset.checked_sub(u64::from(segment.handle) << 16)? as usize;
        octets.get_mut(range.start as usize..range.end as usize)?.get_mut(start..start + segment.length as usize)
    }

    /// The Responder's adapter carries out the next thing.
    fn carry_out(&mut self, posted: Posted) {
        match posted {
            Posted::Read { call, source, at } => match self.reach(source).map(|octets| octets.to_vec()) {
                Some(octets) => {
                    self.place(call, at, &octets);
                    self.work.push(Work::Completed { call });
                }
                None => self.failed = true,
            },
            Posted::Write { data, target } => match self.reach(target) {
                Some(octets) => octets.copy_from_slice(&data),
                None => self.failed = true,
            },
            Posted::Send { octets, invalidate } => {
                if let Some(handle) = invalidate
                    && self.exposed.remove(&handle).is_none()
                {
                    self.failed = true;
                    return;
                }
                let reply = v1::Message::decode(&octets).unwrap();
                let call = self.by_xid[&reply.header.xid];
                if let Some(called) = self.calls.get(&call)
                    && reply.header.chunks().is_some_and(|chunks| chunks.reads.is_empty())
                {
                    let call = v1::Message::decode(&called.wire).unwrap();
                    rules::exchange(&Exchange::new(&call, &reply), &mut no_finding);
                }
                self.credits.reply(reply.header.credit);
                self.receive += 1;
                self.receives.insert(self.receive, octets.clone());
                let receive = self.receive;
                let input = requester::Input::Received { receive, octets: &octets, invalidated: invalidate };
                self.requester.handle(input).unwrap();
                self.poll_requester();
            }
        }
    }

    /// The Requester's adapter pulls from a provided reply.
    fn pull(&mut self, call: CallId, source: Segment, at: u32) {
        let Some((_, reply)) = self.provided.get(&source.handle) else { return self.failed = true };
        let from = (source.offset - (u64::from(source.handle) << 16)) as u32;
        let octets = reply.part(from..from + source.length);
        let room = &mut self.calls.get_mut(&call).unwrap().room;
        room[at as usize..at as usize + octets.len()].copy_from_slice(octets);
        self.requester.handle(requester::Input::Completed { call }).unwrap();
        self.poll_requester();
    }

    fn work(&mut self) {
        let work = self.work.swap_remove(self.random.below(self.work.len()));
        let input = match work {
            Work::Pulled { call, source, at } => return self.pull(call, source, at),
            Work::Provided { call } => {
                self.counts.provided += 1;
                self.handle += 1;
                self.provided.insert(self.handle, (call, self.replies[&call].clone()));
                let memory = (self.random.below(10) > 0)
                    .then_some(RegisteredMemory { handle: self.handle, offset: u64::from(self.handle) << 16 });
                if memory.is_none() {
                    self.provided.remove(&self.handle);
                }
                self.responder.handle(responder::Input::Registered { call, memory }).unwrap();
                return self.poll_responder();
            }
            Work::Withdrawn { call, handle } => {
                assert!(self.provided.remove(&handle).is_some());
                self.responder.handle(responder::Input::Invalidated { call }).unwrap();
                return self.poll_responder();
            }
            Work::Completed { call } => {
                self.reads += 1;
                self.responder.handle(responder::Input::Completed { call }).unwrap();
                return self.poll_responder();
            }
            Work::Registered { call, region, memory } => {
                self.handle += 1;
                self.exposed.insert(self.handle, (call, memory));
                let memory = Some(RegisteredMemory { handle: self.handle, offset: u64::from(self.handle) << 16 });
                requester::Input::Registered { call, region, memory }
            }
            Work::Invalidated { call, region, handle } => {
                self.exposed.remove(&handle);
                requester::Input::Invalidated { call, region }
            }
            Work::Sent { call } => requester::Input::Sent { call },
        };
        self.requester.handle(input).unwrap();
        self.poll_requester();
    }

    fn step(&mut self) {
        match self.random.below(4) {
            0 if !self.to_responder.is_empty() => {
                let octets = self.to_responder.pop_front().unwrap();
                self.receive += 1;
                let receive = self.receive;
                self.receives_there.insert(receive, octets.clone());
                assert!(self.receives_there.len() <= 6, "no Receive is posted");
                self.responder.handle(responder::Input::Received { receive, octets: &octets }).unwrap();
                self.poll_responder();
            }
            1 if !self.to_requester.is_empty() => {
                let posted = self.to_requester.pop_front().unwrap();
                self.carry_out(posted);
            }
            2 if !self.work.is_empty() => self.work(),
            3 if !self.delivered.is_empty() => {
                self.reply();
                self.poll_responder();
            }
            _ => {}
        }
    }

    fn is_quiet(&self) -> bool {
        self.to_responder.is_empty()
            && self.to_requester.is_empty()
            && self.work.is_empty()
            && self.delivered.is_empty()
    }

    /// Ends the connection; whatever was in flight is gone, and nothing can be reached.
    fn disconnect(&mut self) {
        self.exposed.clear();
        self.provided.clear();
        self.work.clear();
        self.requester.handle(requester::Input::Failed).unwrap();
        self.poll_requester();
        self.requester.handle(requester::Input::Disconnected).unwrap();
        self.poll_requester();
        self.responder.handle(responder::Input::Disconnected).unwrap();
        self.poll_responder();
    }
}

/// Runs a connection to its end.
fn run(seed: u64, provide: bool, cancel: bool, fail: bool) -> Counts {
    let mut world = World::new(seed, provide);
    let mut xid = 0;
    let mut open: HashSet<CallId> = HashSet::new();
    for turn in 0..3000 {
        if turn < 2000 && world.random.below(6) == 0 {
            xid += 1;
            world.call(xid);
            world.poll_requester();
            open = world.calls.keys().copied().collect();
        }
        if cancel && world.random.below(60) == 0 {
            let mut calls: Vec<_> =
                open.iter().filter_map(|id| world.calls.get(id).map(|called| (called.xid, *id))).collect();
            calls.sort_unstable_by_key(|(xid, _)| *xid);
            if let Some((_, call)) = calls.first() {
                // It may be `Done` already.
                let _ = world.requester.cancel(*call);
                world.poll_requester();
            }
        }
        world.step();
        if world.failed || (fail && world.random.below(1000) == 0) {
            world.disconnect();
            break;
        }
    }
    while !world.failed && !world.is_quiet() {
        world.step();
    }
    if world.failed {
        world.disconnect();
    }
    assert!(world.calls.is_empty(), "{} calls never ended", world.calls.len());
    assert!(world.exposed.is_empty() && world.receives.is_empty());
    assert!(world.provided.is_empty(), "{} replies are never given back", world.provided.len());
    assert!(fail || !world.failed && world.requester.in_flight() == 0);
    world.counts
}

fn sum(seeds: Range<u64>, provide: bool, cancel: bool, fail: bool) -> Counts {
    let mut sum = Counts::default();
    let count = fewer((seeds.end - seeds.start) as usize);
    for seed in seeds.take(count) {
        let counts = run(seed, provide, cancel, fail);
        sum.short += counts.short;
        sum.long += counts.long;
        sum.errors += counts.errors;
        sum.cancelled += counts.cancelled;
        sum.lost += counts.lost;
        sum.assembled += counts.assembled;
        sum.provided += counts.provided;
        sum.results += counts.results;
    }
    sum
}

#[test]
fn what_is_called_arrives_and_what_is_replied_comes_back() {
    let counts = sum(1..120, false, false, false);
    let enough = counts.short > 1000 && counts.long > 100 && counts.assembled > 1000 && counts.results > 100;
    // Replies for which there is no room, and refusals.
    assert!(cfg!(miri) || enough && counts.errors > 100, "{counts:?}");
    assert_eq!((counts.cancelled, counts.lost), (0, 0));
}

#[test]
fn cancelled_calls_are_fenced_and_harm_no_other() {
    let counts = sum(100..240, false, true, false);
    let enough = counts.cancelled > 500 && counts.short > 1000 && counts.long > 100;
    assert!((cfg!(miri) || enough) && counts.lost == 0, "{counts:?}");
}

#[test]
fn a_lost_connection_ends_every_call_once() {
    let counts = sum(200..300, false, true, true);
    assert!(cfg!(miri) || counts.lost > 50, "{counts:?}");
}

#[test]
fn long_replies_are_pulled_and_given_back() {
    let counts = sum(300..400, true, false, false);
    let enough = counts.short > 1000 && counts.long > 500 && counts.provided > 500 && counts.results > 100;
    assert!(cfg!(miri) || enough && counts.errors > 100, "{counts:?}");
    assert_eq!((counts.cancelled, counts.lost), (0, 0));
    let counts = sum(400..450, true, true, false);
    let enough = counts.cancelled > 50 && counts.provided > 50;
    assert!((cfg!(miri) || enough) && counts.lost == 0, "{counts:?}");
    let counts = sum(450..500, true, true, true);
    assert!(cfg!(miri) || counts.lost > 20 && counts.provided > 50, "{counts:?}");
}

/// The vectors, as Sends: where the Payload stream follows the header, with one that begins as a Call.
fn sends() -> Vec<Vec<u8>> {
    let send = |name: &String| {
        let mut octets = support::vector(name);
        let message = v1::Message::decode(&octets).unwrap();
        if let (v1::Body::Msg(_), length) = (message.header.body, message.header_length) {
            octets.truncate(length);
            octets.extend_from_within(..4);
            octets.resize(length + 600, 0);
        }
        octets
    };
    support::names("").iter().map(send).collect()
}

#[test]
fn a_responder_releases_each_receive_and_limits_its_reads() {
    let (mut random, sends) = (Random(77), sends());
    let limits = Limits::new().with_chunks(4, 4).with_segments(40).with_octets(1_000_000);
    let mut responder = Responder::<2, 1024, 4>::new(Terms::default(), limits);
    responder.provide_replies(1);
    let (mut delivered, mut refused, mut provided, mut waiting) = (0, 0, 0, None);
    for round in 0..fewer(100_000) as u32 {
        let mut octets = sends[random.below(sends.len())].clone();
        for _ in 0..random.below(4) {
            let at = random.below(octets.len());
            octets[at] = [0, 1, 4, 0xff, random.number() as u8][random.below(5)];
        }
        octets.truncate(if random.below(8) == 0 { random.below(octets.len()) } else { octets.len() });
        responder.handle(responder::Input::Received { receive: round, octets: &octets }).unwrap();
        let (mut held, mut pulled, mut outputs, mut buffer) = (true, 0, 0, [0; 1100]);
        while let Some(output) = responder.poll(&mut buffer).unwrap() {
            use responder::Output;
            outputs += 1;
            let (call, length) = match output {
                Output::Release { receive } => {
                    assert!(held && receive == round);
                    held = false;
                    continue;
                }
                Output::Place { receive, from, length, .. } => {
                    assert!(held && receive == round && octets.len() >= from + length as usize);
                    continue;
                }
                Output::Read { call, source, at } => (call, u64::from(source.length) + u64::from(at)),
                Output::Deliver { call, .. } => {
                    delivered += 1;
                    let mut head = [0; 24];
                    head[..4].copy_from_slice(&responder.xid(call).unwrap().to_be_bytes());
                    head[7] = 1;
                    let results = [Item { position: 28, length: 5 }];
                    let length = if round % 4 == 0 { 2000 } else { 100 };
                    let reply = responder::Reply { head: &head, length, results: &results, protected: false };
                    responder.reply(call, &reply).unwrap();
                    continue;
                }
                Output::Send { header, .. } => {
                    refused += usize::from(header == 20);
                    continue;
                }
                Output::Write { .. } => continue,
                Output::Register { call, .. } => {
                    provided += 1;
                    let memory = Some(RegisteredMemory { handle: round, offset: 0 });
                    responder.handle(responder::Input::Registered { call, memory }).unwrap();
                    waiting = Some(call);
                    continue;
                }
                Output::Invalidate { call, .. } => {
                    responder.handle(responder::Input::Invalidated { call }).unwrap();
                    continue;
                }
                Output::Disconnect => panic!("one Call at a time was sent"),
            };
            assert!(length <= 1_000_000);
            pulled += 1;
            responder.handle(responder::Input::Completed { call }).unwrap();
        }
        assert!(!held && pulled <= 80 && outputs <= 200, "{outputs}");
        if round % 8 == 0
            && let Some(call) = waiting.take()
        {
            // `RDMA_DONE` may have come.
            let _ = responder.expire(call);
        }
    }
    let enough = delivered > 10_000 && refused > 10_000 && provided > 100;
    assert!(cfg!(miri) || enough, "{delivered} {refused} {provided}");
}

#[test]
fn whatever_comes_a_requester_ends_its_call_once_or_waits() {
    let (mut random, mut ended, mut pulled) = (Random(78), 0, 0);
    let mut head = [0; 40];
    (head[3], head[11]) = (7, 2);
    // Replies to a Call with a Write chunk and a Reply chunk: short, long, and an error.
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let chunks = [1, 1, 50, 20, 0, 0x1000, 0, 1, 1, 51, 200, 0, 0x1000];
    let replies = [
        words(&[&[7, 1, 4, 0, 0][..], &chunks, &[7, 1, 0, 0, 0, 0]].concat()),
        words(&[&[7, 1, 4, 1, 0][..], &chunks].concat()),
        words(&[7, 1, 4, 4, 2]),
        words(&[&[7, 1, 4, 1, 1, 0, 60, 200, 0, 0x1000, 1, 0, 61, 9, 0, 0x1000, 0], &chunks[..7], &[0]].concat()),
    ];
    for round in 0..fewer(100_000) {
        let mut requester = Requester::<2, 4>::new(Terms::default(), 2, 4096);
        let asked = requester::Call {
            head: &head,
            length: 40,
            arguments: &[],
            results: &[30],
            reply_length: 2000,
            largest_capacity: 0,
        };
        let provided = round % 4 == 3;
        if provided {
            requester.read_provided_replies();
        }
        let call = requester.call(&asked).unwrap();
        let mut buffer = [0; 200];
        while requester.poll(&mut buffer).unwrap().is_some() {}
        let regions: u16 = if provided { 1 } else { 2 };
        for region in 0..regions {
            let memory = Some(RegisteredMemory { handle: 50 + u32::from(region), offset: 0x1000 });
            requester.handle(requester::Input::Registered { call, region, memory }).unwrap();
        }
        while requester.poll(&mut buffer).unwrap().is_some() {}
        requester.handle(requester::Input::Sent { call }).unwrap();
        let mut octets = replies[round % 4].clone();
        for _ in 0..random.below(3) {
            let at = random.below(octets.len());
            octets[at] = [0, 1, 4, 0xff, random.number() as u8][random.below(5)];
        }
        requester.handle(requester::Input::Received { receive: 1, octets: &octets, invalidated: None }).unwrap();
        let (mut done, mut fenced, mut released) = (0, 0, 0);
        while let Some(output) = requester.poll(&mut buffer).unwrap() {
            use requester::Output;
            match output {
                Output::Invalidate { call, region, .. } => {
                    fenced += 1;
                    requester.handle(requester::Input::Invalidated { call, region }).unwrap();
                }
                Output::Release { .. } => released += 1,
                Output::Read { call, source, at } => {
                    assert!(provided && at + source.length <= 2000);
                    pulled += 1;
                    requester.handle(requester::Input::Completed { call }).unwrap();
                }
                Output::Send { call, header, .. } => {
                    assert!(provided && header == 16);
                    requester.handle(requester::Input::Sent { call }).unwrap();
                }
                Output::Done { end, results, .. } => {
                    assert!(results[0] <= 30);
                    released += i32::from(matches!(end, End::Reply { .. }));
                    assert!(!matches!(end, End::LongReply(length) if length > 2000));
                    done += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(released, 1);
        assert_eq!(fenced, u32::from(regions) * done);
        assert_eq!(requester.in_flight(), 1 - done);
        ended += done;
    }
    let enough = ended > 30_000 && ended < 99_000 && pulled > 10_000;
    assert!(cfg!(miri) || enough, "{ended} {pulled}");
}
