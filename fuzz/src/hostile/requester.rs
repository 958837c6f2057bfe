//! A Requester whose Responder may send anything.

use std::collections::{HashMap, VecDeque};

use rpcrdma::endpoint::requester::{Call, End, Input, Memory, Output};
use rpcrdma::endpoint::{CallId, Item, RegisteredMemory, Requester, Terms};
use rpcrdma_gen::{Choices, Format, Role};

use super::{EVENTS, LONGEST, OUTPUTS, RECEIVE, Receives, format, message, sent, terms};

/// With the octets as a source of choices: whatever the peer sends, each call ends once, no memory of a call that has ended is
/// exposed, every Receive and every handle is given back once, and each event has few consequences.
///
/// # Panics
/// If this does not hold.
pub fn requester(octets: &[u8]) {
    let mut choices = Choices::of_octets(octets);
    let format = format(&mut choices);
    let terms = terms(format, &mut choices);
    let mut driver = RequesterDriver::new(format, terms, &mut choices);
    for _ in 0..EVENTS.min(octets.len() / 8) {
        match choices.below(3) {
            0 => driver.receive_anything(&mut choices),
            _ => driver.event(&mut choices),
        }
        driver.poll();
        driver.sent.clear();
    }
    driver.finish();
}

/// Work that the adapter has yet to do.
enum Job {
    Register { call: CallId, region: u16, memory: Memory },
    Invalidate { call: CallId, region: u16, handle: u32 },
    Send { call: CallId },
}

pub(super) struct RequesterDriver {
    format: Format,
    requester: Requester<4, 24>,
    receives: Receives,
    jobs: Vec<Job>,
    /// Calls that have not ended, and the XID of each.
    calls: HashMap<CallId, u32>,
    /// Steps by these numbers.
    streams: HashMap<CallId, Vec<u8>>,
    /// Memory that the peer can reach: the call that owns each handle.
    pub(super) exposed: HashMap<u32, CallId>,
    /// Messages that were sent and have yet to arrive.
    pub(super) sent: VecDeque<Vec<u8>>,
    next: u32,
    /// A call was given up, so the memory may be taken away while the peer uses the memory.
    pub(super) has_cancelled: bool,
    is_over: bool,
}

impl RequesterDriver {
    pub(super) fn new(format: Format, terms: Terms, choices: &mut Choices<'_>) -> Self {
        let segment_length = 1 << (10 + choices.below(8));
        let mut requester = Requester::new(terms, 4, segment_length);
        if format != Format::V1 && choices.below(2) == 0 {
            requester.continue_messages(4);
        }
        let (receives, jobs, calls, streams, exposed, sent) = Default::default();
        Self {
            format,
            requester,
            receives,
            jobs,
            calls,
            streams,
            exposed,
            sent,
            next: 100,
            has_cancelled: false,
            is_over: false,
        }
    }

    /// Something that does not depend on the peer.
    pub(super) fn event(&mut self, choices: &mut Choices<'_>) {
        match choices.below(8) {
            0 | 1 => self.call(choices),
            2..6 => self.work(choices),
            6 => self.requester.permit(choices.below(4)),
            _ if choices.below(8) == 0 => {
                if let Some(call) = self.calls.iter().min_by_key(|(_, xid)| **xid).map(|(call, _)| *call) {
                    // It may be about to end already.
                    _ = self.requester.cancel(call);
                    self.has_cancelled = true;
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, choices: &mut Choices<'_>) {
        self.next += 1;
        let xid = self.next;
        let head = [xid, 0, 2, 0x2000_0166, 1, 1, 0, 0, 0, 0];
        let head: Vec<u8> = head.iter().flat_map(|word| word.to_be_bytes()).collect();
        let item = choices.below(LONGEST);
        let arguments = [Item { position: 44, length: item }];
        let rooms = [choices.below(LONGEST), choices.below(LONGEST)];
        let call = Call {
            head: &head,
            length: 44 + item.next_multiple_of(4),
            arguments: arguments.get(..choices.below(2) as usize).unwrap_or_default(),
            results: rooms.get(..choices.below(3) as usize).unwrap_or_default(),
            reply_length: choices.below(LONGEST),
            largest_capacity: choices.below(2) * LONGEST,
        };
        // There may be no room for it, or it may be too long.
        if let Ok(id) = self.requester.call(&call) {
            let mut stream = head.clone();
            stream.resize(call.length as usize, 0);
            self.streams.insert(id, stream);
            assert_eq!(self.calls.insert(id, xid), None, "a call that has not ended keeps its name");
        }
    }

    fn receive_anything(&mut self, choices: &mut Choices<'_>) {
        let mut xids: Vec<u32> = self.calls.values().copied().collect();
        xids.sort_unstable();
        let role = if choices.below(8) == 0 { Role::Call } else { Role::Reply };
        let octets = message(choices, self.format, role, &xids);
        let mut handles: Vec<u32> = self.exposed.keys().copied().collect();
        handles.sort_unstable();
        let invalidated = choices.one_of(&handles).copied().filter(|_| choices.below(4) == 0);
        self.receive(&octets, invalidated);
    }

    fn receive(&mut self, octets: &[u8], invalidated: Option<u32>) {
        if self.receives.are_full() || self.is_over {
            return;
        }
        let receive = self.receives.take_receive(octets);
        // The adapter takes a handle that was invalidated from the peer.
        if let Some(handle) = invalidated {
            self.exposed.remove(&handle);
        }
        self.handle(Input::Received { receive, octets, invalidated });
    }

    pub(super) fn receive_and_poll(&mut self, octets: &[u8], invalidated: Option<u32>) {
        self.receive(octets, invalidated);
        self.poll();
    }

    fn handle(&mut self, input: Input<'_>) {
        self.requester.handle(input).unwrap_or_else(|error| panic!("{error}"));
    }

    fn work(&mut self, choices: &mut Choices<'_>) {
        if self.jobs.is_empty() {
            return;
        }
        let job = self.jobs.swap_remove(choices.below(self.jobs.len() as u32) as usize);
        let input = match job {
            Job::Register { call, region, memory } => {
                self.next += 1;
                let range = match memory {
                    Memory::Argument(range) | Memory::Result(_, range) | Memory::Reply(range) => range,
                };
                assert!(range.start <= range.end && range.end <= 4 * LONGEST, "{range:?} is memory of the call");
                let memory = (choices.below(16) > 0)
                    .then_some(RegisteredMemory { handle: self.next, offset: u64::from(self.next) << 20 });
                if memory.is_some() {
                    self.exposed.insert(self.next, call);
                }
                Input::Registered { call, region, memory }
            }
            Job::Invalidate { call, region, handle } => {
                self.exposed.remove(&handle);
                Input::Invalidated { call, region }
            }
            Job::Send { call } => Input::Sent { call },
        };
        self.handle(input);
    }

    pub(super) fn poll(&mut self) {
        let mut buffer = [0xa5; RECEIVE];
        for _ in 0..OUTPUTS {
            let output = self.requester.poll(&mut buffer).unwrap_or_else(|error| panic!("{error}"));
            match output {
                None => return,
                Some(Output::Register { call, region, memory }) => {
                    self.jobs.push(Job::Register { call, region, memory })
                }
                Some(Output::Invalidate { call, region, handle }) => {
                    self.jobs.push(Job::Invalidate { call, region, handle });
                }
                Some(Output::Send { call, header, payload }) => {
                    let stream = self.streams.get(&call).map(Vec::as_slice).unwrap_or_default();
                    self.sent.push_back(sent(buffer.get(..header), stream, payload));
                    self.jobs.push(Job::Send { call });
                }
                Some(Output::Place { receive, from, length, .. }) => _ = self.receives.part(receive, from, length),
                Some(Output::Release { receive }) => _ = self.receives.give_back(receive),
                Some(Output::Done { call, end, .. }) => {
                    let end = end.clone();
                    self.done(call, &end);
                }
                Some(Output::Disconnect) => self.is_over = true,
                Some(Output::Read { .. }) => panic!("no provided reply is read"),
            }
        }
        panic!("{OUTPUTS} outputs after one event");
    }

    fn done(&mut self, call: CallId, end: &End) {
        assert!(self.calls.remove(&call).is_some(), "a call ends once");
        self.streams.remove(&call);
        assert!(self.exposed.values().all(|owner| *owner != call), "the peer reaches memory of a call that has ended");
        if let End::Reply { receive, payload } = end {
            let octets = self.receives.give_back(*receive);
            assert!(octets.get(payload.clone()).is_some(), "the reply is in the Receive");
        }
    }

    /// The connection ends: so do all calls.
    pub(super) fn finish(mut self) {
        self.exposed.clear();
        self.jobs.clear();
        self.handle(Input::Disconnected);
        self.poll();
        assert!(self.calls.is_empty(), "{} calls did not end", self.calls.len());
        assert!(self.receives.posted.is_empty(), "{} Receives were kept", self.receives.posted.len());
    }
}
