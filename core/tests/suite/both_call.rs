//! Two ends of a connection of version 2 that both call: no end may wait for the other for ever. With few Receives and NULL calls;
//! and at random, with Calls and Replies of one Send or of many, and Calls without a reply, in any order of events.

use std::collections::{HashMap, VecDeque};

use rpcrdma::endpoint::channel::{Arrival, ChannelTerms, Negotiation};
use rpcrdma::endpoint::requester::{self, End};
use rpcrdma::endpoint::responder;
use rpcrdma::endpoint::{CallId, Channel, Limits, Requester, Responder, Terms, Version, Versions};
use rpcrdma::v2::{Family, Properties, ReverseDirection};

use crate::random_numbers::Random;
use crate::support::{fewer, null::octets};

const SIZE: u32 = 1024;
const OWN: Properties<'static> = Properties {
    maximum_send_size: SIZE,
    receive_buffer_size: SIZE,
    reverse_direction: ReverseDirection::GENL,
    ..Properties::DEFAULT
};

/// The names of messages that were copied out of their Receives begin here.
const COPIES: u32 = 1 << 31;

/// The length of a message of at least `least` octets: every other one is too long for a Send.
fn message_length(random: &mut Random, least: u32) -> u32 {
    least + if random.below(2) == 0 { 0 } else { random.below(10 * SIZE) / 4 * 4 }
}

/// One end, as a driver would have it: after each event it does all that it can do.
struct Peer {
    channel: Channel,
    requester: Requester<16, 8>,
    responder: Responder<16, 512, 2>,
    /// Receives that are posted.
    posted: u32,
    /// Messages that were received, or copied.
    named: u32,
    /// Messages from the other end that have not arrived.
    wire: VecDeque<Vec<u8>>,
    /// Messages that wait for a place, each with its name.
    waiting: VecDeque<(u32, Vec<u8>)>,
    calls: HashMap<CallId, Vec<u8>>,
    replies: HashMap<CallId, Vec<u8>>,
    /// Calls that the upper layer has.
    delivered: Vec<CallId>,
    begun: u32,
    done: u32,
}

impl Peer {
    fn new(channel: Channel, (calls, served): (u32, u32), receives: u32) -> Self {
        let mut responder = Responder::new(Terms::default(), Limits::new());
        responder.grant(served).unwrap();
        let mut requester = Requester::new(Terms::default(), calls, 4096);
        requester.continue_messages(u32::MAX);
        Self {
            channel,
            requester,
            responder,
            posted: receives,
            named: 0,
            wire: VecDeque::new(),
            waiting: VecDeque::new(),
            calls: HashMap::new(),
            replies: HashMap::new(),
            delivered: Vec::new(),
            begun: 0,
            done: 0,
        }
    }

    fn agree(&mut self) {
        let ChannelTerms { calls, answers } = self.channel.terms(true).unwrap();
        self.requester.agree(calls);
        self.responder.agree(answers);
    }

    /// Begins a call, if there is a place for it; one of four has no reply, and an odd XID.
    fn call(&mut self, random: &mut Random) {
        if self.requester.is_full() {
            return;
        }
        let call_only = random.below(4) == 0;
        let length = message_length(random, 40);
        self.begin_call(call_only, length);
    }

    fn begin_call(&mut self, call_only: bool, length: u32) {
        let xid = 2 * self.begun + u32::from(call_only);
        let head = octets(&[xid, 0, 2, 400_100, 1, 0, 0, 0, 0, 0]);
        let call = if call_only {
            self.requester.call_one_way(&head, length)
        } else {
            let call = requester::Call {
                head: &head,
                length,
                arguments: &[],
                results: &[],
                reply_length: 20 * SIZE,
                largest_capacity: 0,
            };
            self.requester.call(&call)
        };
        let mut stream = head;
        stream.resize(length as usize, 0);
        self.calls.insert(call.unwrap(), stream);
        self.begun += 1;
    }

    /// Answers one of the calls that were delivered, or forgets it.
    fn answer(&mut self, random: &mut Random) {
        if self.delivered.is_empty() {
            return;
        }
        let call = self.delivered.swap_remove(random.below(self.delivered.len() as u32) as usize);
        let xid = self.responder.xid(call).unwrap();
        if xid % 2 == 1 {
            return self.responder.forget(call).unwrap();
        }
        self.reply_to(call, xid, message_length(random, 24));
    }

    /// Answers the call that was delivered first with a short reply.
    fn answer_first(&mut self) {
        if !self.delivered.is_empty() {
            let call = self.delivered.remove(0);
            self.reply_to(call, self.responder.xid(call).unwrap(), 24);
        }
    }

    fn reply_to(&mut self, call: CallId, xid: u32, length: u32) {
        let head = octets(&[xid, 1, 0, 0, 0, 0]);
        self.responder.reply(call, &responder::Reply { head: &head, length, results: &[], protected: false }).unwrap();
        let mut stream = head;
        stream.resize(length as usize, 0);
        self.replies.insert(call, stream);
    }

    /// The next message arrives, if there is one.
    fn receive(&mut self) {
        let Some(octets) = self.wire.pop_front() else { return };
        self.posted = self.posted.checked_sub(1).expect("a Receive is posted for it");
        self.named += 1;
        let receive = self.named;
        match self.channel.received(&octets) {
            Arrival::Nothing | Arrival::Properties => self.posted += 1,
            Arrival::Call | Arrival::CallPart if self.responder.has_place() => self.handle_receive(receive, &octets),
            Arrival::Call => self.waiting.push_back((receive, octets)),
            Arrival::CallPart => {
                self.posted += 1;
                self.waiting.push_back((receive + COPIES, octets));
            }
            Arrival::Reply => {
                let input = requester::Input::Received { receive, octets: &octets, invalidated: None };
                self.requester.handle(input).unwrap();
            }
            wrong => panic!("{wrong:?}"),
        }
    }

    fn handle_receive(&mut self, receive: u32, octets: &[u8]) {
        self.responder.handle(responder::Input::Received { receive, octets }).unwrap();
    }

    fn release(&mut self, receive: u32) {
        self.posted += u32::from(receive < COPIES);
    }

    /// Returns the number of messages that can be received besides one asynchronous grant.
    fn room(&self) -> u32 {
        self.posted.saturating_sub(1 + self.responder.occupied())
    }

    /// Does all that can be done.
    fn work(&mut self, to: &mut VecDeque<Vec<u8>>) {
        loop {
            while self.control(to) || self.ask(to) || self.reply(to) {}
            if self.waiting.is_empty() || !self.responder.has_place() {
                return;
            }
            let (receive, octets) = self.waiting.pop_front().unwrap();
            self.handle_receive(receive, &octets);
        }
    }

    fn control(&mut self, to: &mut VecDeque<Vec<u8>>) -> bool {
        let mut buffer = [0; 256];
        let length = self.channel.poll(self.room(), &mut buffer).unwrap();
        length.inspect(|&length| to.push_back(buffer[..length].to_vec())).is_some()
    }

    fn ask(&mut self, to: &mut VecDeque<Vec<u8>>) -> bool {
        let mut buffer = [0; 256];
        let waiting = self.waiting.iter().filter(|(receive, _)| *receive < COPIES).count();
        let (owed, awaited) = (self.responder.owed_replies() + waiting as u32, self.requester.awaited_replies());
        self.requester.permit(self.channel.available_for_calls(self.room(), owed, awaited));
        match self.requester.poll(&mut buffer).unwrap() {
            None => return false,
            Some(requester::Output::Send { call, header, payload }) => {
                let message = payload.map(|range| &self.calls[&call][range.start as usize..range.end as usize]);
                let message = message.collect::<Vec<_>>().concat();
                self.channel.send(self.room(), &mut buffer);
                self.requester.handle(requester::Input::Sent { call }).unwrap();
                to.push_back([&buffer[..header], &message].concat());
            }
            Some(requester::Output::Done { end, .. }) => {
                self.done += 1;
                match end {
                    End::Reply { receive, .. } => self.release(receive),
                    End::ContinuedReply(_) | End::Sent => {}
                    end => panic!("{end:?}"),
                }
            }
            Some(requester::Output::Release { receive } | requester::Output::Place { receive, .. }) => {
                self.release(receive)
            }
            other => panic!("{other:?}"),
        }
        true
    }

    fn reply(&mut self, to: &mut VecDeque<Vec<u8>>) -> bool {
        let mut buffer = [0; 256];
        let occupied = self.responder.occupied();
        // An answer gives up what its call occupies.
        let room = self.posted.saturating_sub(1 + occupied.saturating_sub(1));
        self.responder.permit(self.channel.available_for_replies(room));
        match self.responder.poll(&mut buffer).unwrap() {
            None => return false,
            Some(responder::Output::Send { call, header, payload, is_last, .. }) => {
                let message = payload.map(|range| &self.replies[&call][range.start as usize..range.end as usize]);
                let message = message.collect::<Vec<_>>().concat();
                let room = self.posted.saturating_sub(1 + occupied.saturating_sub(u32::from(is_last)));
                self.channel.send(room, &mut buffer);
                to.push_back([&buffer[..header], &message].concat());
            }
            Some(responder::Output::Deliver { call, .. }) => self.delivered.push(call),
            Some(responder::Output::Release { receive }) => self.release(receive),
            Some(responder::Output::Place { .. }) => {}
            other => panic!("{other:?}"),
        }
        true
    }
}

/// Lets both ends work until neither has anything to do. Fails if they exchange grants forever.
fn settle(here: &mut Peer, there: &mut Peer) {
    for _ in 0..10_000 {
        here.work(&mut there.wire);
        there.work(&mut here.wire);
        if here.wire.is_empty() && there.wire.is_empty() {
            return;
        }
        here.receive();
        there.receive();
    }
    panic!("they go on for ever: {:?}\n{:?}", here.channel, there.channel);
}

#[test]
fn ends_that_spend_all_credits_on_calls_still_answer() {
    const CALLS: u32 = 16;
    for family in [Family::A, Family::B] {
        let versions = Versions::from(Version::Two(family));
        // Family A keeps half of them for grants.
        let fewest = if family == Family::A { 5 } else { 3 };
        let receives = [(fewest, fewest), (fewest, 40), (6, 7), (9, 9), (16, 12), (40, 40)];
        for receives in receives.into_iter().take(fewer(receives.len())) {
            let mut here = Peer::new(Channel::client(versions, OWN), (CALLS, CALLS), receives.0);
            let mut there = Peer::new(Channel::server(versions, OWN), (CALLS, CALLS), receives.1);
            settle(&mut here, &mut there);
            assert_eq!(there.channel.negotiation(), Negotiation::Agreed(Version::Two(family)));
            here.agree();
            there.agree();
            for _ in 0..CALLS {
                here.begin_call(false, 40);
                there.begin_call(false, 40);
            }
            // One end may be served after the other.
            for _ in 0..=2 * CALLS {
                // Nobody answers before nothing else can be sent.
                settle(&mut here, &mut there);
                here.answer_first();
                there.answer_first();
            }
            assert_eq!((here.done, there.done), (CALLS, CALLS), "{family:?}, {receives:?}");
        }
    }
}

/// Number of seeds, unless the environment sets it: a connection takes minutes under Miri.
const SEEDS: u64 = if cfg!(miri) { 1 } else { 1000 };

#[test]
fn nobody_waits_for_ever() {
    let seeds = std::env::var("RPCRDMA_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    for (family, seed) in (0..seeds).flat_map(|seed| [(Family::A, seed), (Family::B, seed)]) {
        let mut random = Random(seed);
        let versions = Versions::from(Version::Two(family));
        let [ours, theirs] = [(); 2].map(|()| (1 + random.below(16), 1 + random.below(6)));
        let receives = |(calls, served): (u32, u32)| (2 * (calls + served)).max(4) + 1;
        let mut here = Peer::new(Channel::client(versions, OWN), ours, receives(ours));
        let mut there = Peer::new(Channel::server(versions, OWN), theirs, receives(theirs));
        settle(&mut here, &mut there);
        assert_eq!(there.channel.negotiation(), Negotiation::Agreed(Version::Two(family)));
        here.agree();
        there.agree();
        // Mean number of chances to answer a call until one is taken.
        let patience = 1 + random.below(30);
        for _ in 0..600 {
            let (end, other) = if random.below(2) == 0 { (&mut here, &mut there) } else { (&mut there, &mut here) };
            match random.below(3) {
                0 => end.call(&mut random),
                1 => end.receive(),
                _ if random.below(patience) == 0 => end.answer(&mut random),
                _ => {}
            }
            end.work(&mut other.wire);
        }
        while {
            settle(&mut here, &mut there);
            !here.delivered.is_empty() || !there.delivered.is_empty()
        } {
            here.answer(&mut random);
            there.answer(&mut random);
        }
        let done = (here.done, there.done);
        assert_eq!(done, (here.begun, there.begun), "{family:?}, seed {seed}\n{:?}\n{:?}", here.channel, there.channel);
    }
}
