//! A Requester whose Responder may send anything.

use std::collections::HashMap;

use rpcrdma::endpoint::requester::{Call, End, Input, Memory, Output};
use rpcrdma::endpoint::{CallId, Item, Requester};
use rpcrdma_gen::{Choices, Format, Role};

use super::{EVENTS, LONGEST, OUTPUTS, RECEIVE, Receives, format, message, terms};

/// With the octets as a source of choices: whatever the peer sends, each call ends once, no memory of a call that has ended is
/// exposed, every Receive and every handle is given back once, and each event has few consequences.
///
/// # Panics
/// If this does not hold.
pub fn requester(octets: &[u8]) {
    let mut choices = Choices::of_octets(octets);
    let mut driver = RequesterDriver::new(&mut choices);
    for _ in 0..EVENTS.min(octets.len() / 8) {
        driver.event(&mut choices);
        driver.poll();
    }
    driver.finish();
}

/// What the adapter has yet to do.
enum Job {
    Register { call: CallId, region: u16, memory: Memory },
    Invalidate { call: CallId, region: u16, handle: u32 },
    Send { call: CallId },
}

struct RequesterDriver {
    format: Format,
    requester: Requester<4, 24>,
    receives: Receives,
    jobs: Vec<Job>,
    /// Calls that have not ended, and the XID of each.
    calls: HashMap<CallId, u32>,
    /// Memory that the peer can reach: whose it is.
    exposed: HashMap<u32, CallId>,
    next: u32,
    is_over: bool,
}

impl RequesterDriver {
    fn new(choices: &mut Choices<'_>) -> Self {
        let format = format(choices);
        let segment_length = 1 << (10 + choices.below(8));
        let mut requester = Requester::new(terms(format, choices), 4, segment_length);
        if format != Format::V1 && choices.below(2) == 0 {
            requester.continue_messages(4);
        }
        let (receives, jobs, calls, exposed) = Default::default();
        Self { format, requester, receives, jobs, calls, exposed, next: 100, is_over: false }
    }

    fn event(&mut self, choices: &mut Choices<'_>) {
        match choices.below(8) {
            0 | 1 => self.call(choices),
            2..4 => self.receive(choices),
            4..6 => self.work(choices),
            6 => self.requester.permit(choices.below(4)),
            _ => {
                let call = self.calls.iter().min_by_key(|(_, xid)| **xid).map(|(call, _)| *call);
                if let (true, Some(call)) = (choices.below(8) == 0, call) {
                    // It may be about to end already.
                    _ = self.requester.cancel(call);
                }
            }
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
            largest_room: choices.below(2) * LONGEST,
        };
        // There may be no room for it, or it may be too long.
        if let Ok(id) = self.requester.call(&call) {
            assert_eq!(self.calls.insert(id, xid), None, "a call that has not ended keeps its name");
        }
    }

    fn receive(&mut self, choices: &mut Choices<'_>) {
        if self.receives.are_full() || self.is_over {
            return;
        }
        let mut xids: Vec<u32> = self.calls.values().copied().collect();
        xids.sort_unstable();
        let role = if choices.below(8) == 0 { Role::Call } else { Role::Reply };
        let octets = message(choices, self.format, role, &xids);
        let receive = self.receives.take(&octets);
        // The adapter takes a handle that was invalidated from the peer.
        let mut handles: Vec<u32> = self.exposed.keys().copied().collect();
        handles.sort_unstable();
        let invalidated = choices.one_of(&handles).copied().filter(|_| choices.below(4) == 0);
        let input = Input::Received { receive, octets: &octets, invalidated };
        invalidated.map(|handle| self.exposed.remove(&handle));
        self.handle(input);
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
                let memory = (choices.below(16) > 0).then_some((self.next, u64::from(self.next) << 20));
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

    fn poll(&mut self) {
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
                    assert!(header <= RECEIVE && payload.clone().all(|range| range.end <= 2 * LONGEST));
                    self.jobs.push(Job::Send { call });
                }
                Some(Output::Place { receive, from, length, .. }) => _ = self.receives.part(receive, from, length),
                Some(Output::Release { receive }) => _ = self.receives.give_back(receive),
                Some(Output::Done { call, end, .. }) => {
                    let end = end.clone();
                    self.done(call, &end);
                }
                Some(Output::Disconnect) => self.is_over = true,
                Some(Output::Read { .. }) => panic!("no reply is pulled"),
            }
        }
        panic!("{OUTPUTS} outputs after one event");
    }

    fn done(&mut self, call: CallId, end: &End) {
        assert!(self.calls.remove(&call).is_some(), "a call ends once");
        assert!(self.exposed.values().all(|owner| *owner != call), "the peer reaches memory of a call that has ended");
        if let End::Reply { receive, payload } = end {
            let octets = self.receives.give_back(*receive);
            assert!(octets.get(payload.clone()).is_some(), "the reply is in the Receive");
        }
    }

    /// The connection ends: so do all calls.
    fn finish(mut self) {
        self.exposed.clear();
        self.jobs.clear();
        self.handle(Input::Disconnected);
        self.poll();
        assert!(self.calls.is_empty(), "{} calls did not end", self.calls.len());
        assert!(self.receives.posted.is_empty(), "{} Receives were kept", self.receives.posted.len());
    }
}
