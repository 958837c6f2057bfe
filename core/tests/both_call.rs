//! Two ends of a connection of version 2 that both call, with few Receives: no end may wait for the other for ever.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod support;

use std::collections::VecDeque;

use rpcrdma::endpoint::channel::{Arrival, Negotiation};
use rpcrdma::endpoint::requester::{self, End};
use rpcrdma::endpoint::responder;
use rpcrdma::endpoint::{CallId, Channel, Limits, Requester, Responder, Terms, Version, Versions};
use rpcrdma::v2::{Family, Properties, ReverseDirection};
use support::null::{null, octets};

const CALLS: u32 = 16;
const OWN: Properties<'static> = Properties { reverse_direction: ReverseDirection::GENL, ..Properties::DEFAULT };

/// One end, as a driver would have it. A Receive goes by the number of the message in it.
struct Peer {
    channel: Channel,
    requester: Requester<16, 8>,
    responder: Responder<16, 512, 2>,
    /// Receives that are posted.
    posted: u32,
    received: u32,
    /// Calls that the upper layer has.
    delivered: VecDeque<CallId>,
    done: u32,
}

impl Peer {
    fn new(channel: Channel, receives: u32) -> Self {
        Self {
            channel,
            requester: Requester::new(Terms::default(), CALLS, 4096),
            responder: Responder::new(Terms::default(), Limits::new()),
            posted: receives,
            received: 0,
            delivered: VecDeque::new(),
            done: 0,
        }
    }

    fn begin_calls(&mut self) {
        let (calls, answers) = self.channel.terms(true).unwrap();
        self.requester.agree(calls);
        self.responder.agree(answers);
        for xid in 0..CALLS {
            null(&mut self.requester, xid);
        }
    }

    /// How many messages can be received besides one asynchronous grant.
    fn room(&self) -> u32 {
        self.posted.saturating_sub(1 + self.responder.occupied())
    }

    /// The next message that may be sent.
    fn send(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 256];
        if let Some(length) = self.channel.poll(self.room(), &mut buffer).unwrap() {
            return Some(buffer[..length].to_vec());
        }
        loop {
            let (owed, awaited) = (self.responder.owed_replies(), self.requester.awaited_replies());
            self.requester.permit(self.channel.available_for_calls(self.room(), owed, awaited));
            match self.requester.poll(&mut buffer).unwrap() {
                Some(requester::Output::Send { call, header, .. }) => {
                    self.channel.send(self.room(), &mut buffer);
                    self.requester.handle(requester::Input::Sent { call }).unwrap();
                    let message = octets(&[0, 2, 400_100, 1, 0, 0, 0, 0, 0]);
                    return Some([&buffer[..header], &buffer[..4], &message].concat());
                }
                Some(requester::Output::Done { end: End::Reply { .. }, .. }) => {
                    self.posted += 1;
                    self.done += 1;
                }
                None => break,
                other => panic!("{other:?}"),
            }
        }
        loop {
            // An answer gives up what its call occupies.
            let room = (self.posted + 1).saturating_sub(1 + self.responder.occupied().max(1));
            self.responder.permit(self.channel.available(room));
            match self.responder.poll(&mut buffer).unwrap()? {
                responder::Output::Release { .. } => self.posted += 1,
                responder::Output::Deliver { call, .. } => self.delivered.push_back(call),
                responder::Output::Send { header, .. } => {
                    self.channel.send(self.room(), &mut buffer);
                    return Some([&buffer[..header], &buffer[..4], &octets(&[1, 0, 0, 0, 0])].concat());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn receive(&mut self, octets: &[u8]) {
        self.posted = self.posted.checked_sub(1).expect("a Receive is posted for it");
        self.received += 1;
        let receive = self.received;
        match self.channel.received(octets) {
            Arrival::Nothing | Arrival::Properties => self.posted += 1,
            Arrival::Call => self.responder.handle(responder::Input::Received { receive, octets }).unwrap(),
            Arrival::Reply => {
                self.requester.handle(requester::Input::Received { receive, octets, invalidated: None }).unwrap();
            }
            wrong => panic!("{wrong:?}"),
        }
    }

    /// Answers one of the calls that were delivered, if there is one.
    fn answer_one(&mut self) {
        if let Some(call) = self.delivered.pop_front() {
            let head = octets(&[self.responder.xid(call).unwrap(), 1, 0, 0, 0, 0]);
            let reply = responder::Reply { head: &head, length: 24, results: &[], protected: false };
            self.responder.reply(call, &reply).unwrap();
        }
    }
}

/// Lets both ends send whatever they may, before either sees what the other has sent.
fn exchange(here: &mut Peer, there: &mut Peer) {
    loop {
        let ours: Vec<_> = std::iter::from_fn(|| here.send()).collect();
        let theirs: Vec<_> = std::iter::from_fn(|| there.send()).collect();
        ours.iter().for_each(|octets| there.receive(octets));
        theirs.iter().for_each(|octets| here.receive(octets));
        if ours.is_empty() && theirs.is_empty() {
            return;
        }
    }
}

#[test]
fn ends_that_use_up_their_credits_with_calls_answer_them_all() {
    for family in [Family::A, Family::B] {
        let versions = Versions::from(Version::Two(family));
        // Family A keeps half of them for grants.
        let fewest = if family == Family::A { 5 } else { 3 };
        for receives in [(fewest, fewest), (fewest, 40), (6, 7), (9, 9), (16, 12), (40, 40)] {
            let mut here = Peer::new(Channel::client(versions, OWN), receives.0);
            let mut there = Peer::new(Channel::server(versions, OWN), receives.1);
            exchange(&mut here, &mut there);
            assert_eq!(there.channel.negotiation(), Negotiation::Agreed(Version::Two(family)));
            here.begin_calls();
            there.begin_calls();
            // One end may be served after the other.
            for _ in 0..=2 * CALLS {
                // Nobody answers before nothing else can be sent.
                exchange(&mut here, &mut there);
                here.answer_one();
                there.answer_one();
            }
            assert_eq!((here.done, there.done), (CALLS, CALLS), "{family:?}, {receives:?}");
        }
    }
}
