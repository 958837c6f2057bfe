//! One connection between the two ends, in memory, with faults: Sends that are damaged, memory that cannot be registered,
//! calls that are cancelled, and connections that are lost.

use core::fmt;

use heapless::Vec;
use rpcrdma::endpoint::channel::{Arrival, Negotiation};
use rpcrdma::endpoint::requester::{self, Memory};
use rpcrdma::endpoint::{CallId, InputError, Version, responder};

use crate::client::{CALLS, Client, Outcome};
use crate::digest::Digest;
use crate::output_fields::{self, OutputFields};
use crate::random::Random;
use crate::receives::OCTETS;
use crate::server::Server;
use crate::stream::assemble;

/// Number of events on a connection that is not lost before.
const TURNS: u32 = 8000;

/// Number of calls with each outcome.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) calls: u32,
    answered: u32,
    errors: u32,
    cancelled: u32,
    lost: u32,
    damaged: u32,
    /// Events that must never happen.
    wrong: u32,
}

impl Counts {
    /// Returns true if nothing was wrong, and most calls were answered in spite of faults.
    pub(crate) fn is_right(&self) -> bool {
        self.wrong == 0 && self.answered > self.calls / 2
    }

    pub(crate) fn add_counts(&mut self, other: Self) {
        self.calls += other.calls;
        self.answered += other.answered;
        self.errors += other.errors;
        self.cancelled += other.cancelled;
        self.lost += other.lost;
        self.damaged += other.damaged;
        self.wrong += other.wrong;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, answered, errors, cancelled, lost, damaged, wrong } = self;
        write!(f, "{calls} calls: {answered} answered, {errors} errors, {cancelled} cancelled, {lost} lost; ")?;
        write!(f, "{damaged} Sends damaged, {wrong} wrong")
    }
}

/// Work that an adapter has begun, and not reported.
enum Work {
    Register { call: CallId, region: u16, memory: Memory },
    Invalidate { call: CallId, region: u16, handle: u32 },
    Sent { call: CallId },
    Read { call: CallId },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was changed on the way: whatever comes has to be right.
    Sound,
    /// A Send was.
    Damaged,
    Failed,
}

pub(crate) struct Connection<'a> {
    client: Client,
    server: Server,
    work: Vec<Work, 64>,
    version: Version,
    state: State,
    random: Random,
    first_xid: u32,
    counts: Counts,
    digest: &'a mut Digest,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(version: Version, seed: u32, first_xid: u32, digest: &'a mut Digest) -> Self {
        Self {
            client: Client::new(version),
            server: Server::new(version),
            work: Vec::new(),
            version,
            state: State::Sound,
            random: Random::new(seed),
            first_xid,
            counts: Counts::default(),
            digest,
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Runs the connection from beginning to end.
    pub(crate) fn run(&mut self) {
        self.settle();
        for _ in 0..TURNS {
            self.turn();
            self.settle();
            if self.state == State::Failed {
                break;
            }
        }
        self.disconnect();
    }

    fn turn(&mut self) {
        match self.random.below(8) {
            0 => self.call(),
            1 | 2 => self.serve(),
            3 => self.receive(),
            4 | 5 => self.complete(),
            6 => {
                if let Some(answer) = self.server.answer(&mut self.random) {
                    self.digest.word(output_fields::form(answer));
                }
            }
            _ => self.fault(),
        }
    }

    fn call(&mut self) {
        let agreed = self.client.channel.negotiation() == Negotiation::Agreed(self.version);
        if agreed && self.client.call(self.first_xid + self.counts.calls, &mut self.random) {
            self.counts.calls += 1;
        }
    }

    /// Now and then, a call is given up, or the connection is lost.
    fn fault(&mut self) {
        if self.random.once_in(20) {
            let called = &self.client.calls[self.random.below(CALLS as u32) as usize];
            if let Some(call) = called.id {
                let cancelled = self.client.requester.cancel(call);
                self.sound(cancelled);
            }
        } else if self.random.once_in(500) {
            self.state = State::Failed;
        }
    }

    /// Records that an endpoint has accepted an input: a driver that keeps the contract never gets an error.
    fn sound(&mut self, accepted: Result<(), InputError>) {
        self.digest.word(accepted.is_ok().into());
        self.counts.wrong += u32::from(accepted.is_err());
    }

    /// Whatever an undamaged connection brings is right.
    fn right(&mut self, right: bool) {
        self.counts.wrong += u32::from(!right && self.state == State::Sound);
    }

    /// Carries out whatever either end asks for.
    fn settle(&mut self) {
        while self.poll_client() | self.poll_server() {}
    }

    /// In version 2, what applies to calls is known once the other end has spoken.
    fn agree(&mut self) {
        if let Some(terms) = self.client.channel.terms(true) {
            self.client.requester.agree(terms.calls);
        }
        if let Some(terms) = self.server.channel.terms(true) {
            self.server.responder.agree(terms.answers);
        }
    }

    /// Carries out one output of the client. Returns false if there is none.
    fn poll_client(&mut self) -> bool {
        let mut send = [0xa5; OCTETS];
        let room = self.client.room();
        if let Ok(Some(length)) = self.client.channel.poll(room, &mut send) {
            self.send_to_server(&mut send, length);
            return true;
        }
        self.client.requester.permit(self.client.channel.available(room));
        let Ok(Some(output)) = self.client.requester.poll(&mut send) else { return false };
        OutputFields::by_requester(&output).add_to(self.digest);
        match output {
            requester::Output::Register { call, region, memory } => {
                self.begin_work(Work::Register { call, region, memory });
            }
            requester::Output::Send { call, header, payload } => {
                let stream = &self.client.calls[call.index()].call;
                let length = assemble(stream, payload, header, &mut send);
                self.client.channel.send(room, &mut send[..header]);
                self.begin_work(Work::Sent { call });
                self.send_to_server(&mut send, length);
            }
            requester::Output::Place { call, receive, from, length, at } => {
                self.client.place(call, receive, from..from + length as usize, at);
            }
            requester::Output::Invalidate { call, region, handle } => {
                self.begin_work(Work::Invalidate { call, region, handle });
            }
            requester::Output::Release { receive } => self.client.receives.post(receive),
            requester::Output::Done { call, end, results } => {
                let result = results.first().copied();
                let outcome = self.client.done(call, &end, result);
                self.count(outcome);
            }
            requester::Output::Read { .. } | requester::Output::Disconnect => self.state = State::Failed,
        }
        true
    }

    fn count(&mut self, outcome: Outcome) {
        self.digest.word(outcome as u32);
        match outcome {
            Outcome::Answered => self.counts.answered += 1,
            Outcome::Error => self.counts.errors += 1,
            Outcome::Cancelled => self.counts.cancelled += 1,
            Outcome::Lost => self.counts.lost += 1,
            Outcome::Wrong => self.right(false),
        }
    }

    /// Carries out one output of the server. Returns false if there is none.
    fn poll_server(&mut self) -> bool {
        let mut send = [0xa5; OCTETS];
        let room = self.server.room(0);
        if let Ok(Some(length)) = self.server.channel.poll(room, &mut send) {
            self.send_to_client(&send[..length], None);
            return true;
        }
        self.server.responder.permit(self.server.channel.available(self.server.room(1)));
        let Ok(Some(output)) = self.server.responder.poll(&mut send) else { return false };
        OutputFields::by_responder(&output).add_to(self.digest);
        match output {
            responder::Output::Release { receive } => self.server.receives.post(receive),
            responder::Output::Place { call, receive, from, length, at } => {
                let placed = self.server.place_received(call, receive, from, length, at);
                self.right(placed.is_some());
            }
            responder::Output::Read { call, source, at } => {
                let moved = self.client.reach(&source).and_then(|octets| self.server.place(call, at, octets));
                self.moved(moved);
                self.begin_work(Work::Read { call });
            }
            responder::Output::Deliver { call, message } => {
                let right = self.server.deliver(call, message);
                self.right(right);
            }
            responder::Output::Write { call, from, target } => {
                let data = self.server.replies[call.index()].part(from..from + target.length);
                let moved = self.client.reach(&target).map(|octets| octets.copy_from_slice(data));
                self.moved(moved);
            }
            responder::Output::Send { call, header, payload, invalidate, .. } => {
                let length = assemble(&self.server.replies[call.index()], payload, header, &mut send);
                let room = self.server.room(0);
                self.server.channel.send(room, &mut send[..header]);
                self.send_to_client(&send[..length], invalidate);
            }
            responder::Output::Register { .. }
            | responder::Output::Invalidate { .. }
            | responder::Output::Disconnect => {
                self.state = State::Failed;
            }
        }
        true
    }

    /// RDMA to memory that cannot be reached ends the connection.
    fn moved(&mut self, moved: Option<()>) {
        if moved.is_none() {
            self.right(false);
            self.state = State::Failed;
        }
    }

    fn begin_work(&mut self, work: Work) {
        let begun = self.work.push(work).is_ok();
        self.right(begun);
    }

    /// Passes a Send of the client to the server, sometimes damaged.
    fn send_to_server(&mut self, send: &mut [u8; OCTETS], length: usize) {
        if self.random.once_in(400) {
            let octet = self.random.below(28) as usize;
            send[octet] ^= 1 << self.random.below(8);
            self.state = State::Damaged;
            self.counts.damaged += 1;
        }
        self.digest.octets(&send[..length]);
        let arrived = self.server.receives.arrive(&send[..length], None);
        self.arrived(arrived);
    }

    fn send_to_client(&mut self, send: &[u8], invalidate: Option<u32>) {
        self.digest.octets(send);
        let hidden = invalidate.is_none_or(|handle| self.client.hide(handle));
        let arrived = hidden && self.client.receives.arrive(send, invalidate);
        self.arrived(arrived);
    }

    /// A Send for which there is no Receive ends the connection, and so does one that invalidates what is not exposed.
    fn arrived(&mut self, arrived: bool) {
        self.moved(arrived.then_some(()));
    }

    /// The server looks at the next Send.
    fn serve(&mut self) {
        // In version 1 the credits make sure of it.
        if self.version != Version::One && !self.server.responder.has_place() {
            return;
        }
        let Some(receive) = self.server.receives.next() else { return };
        let octets = self.server.receives.octets(receive);
        let arrival = self.server.channel.received(octets);
        output_fields::arrival(self.digest, arrival);
        match arrival {
            Arrival::Version1 | Arrival::Call | Arrival::CallPart => {
                let accepted = self.server.responder.handle(responder::Input::Received { receive, octets });
                return self.sound(accepted);
            }
            Arrival::BrokenCall { xid, error } => {
                let accepted = self.server.responder.handle(responder::Input::Broken { xid, error });
                self.sound(accepted);
            }
            Arrival::Exceeded => self.moved(None),
            Arrival::Properties => self.agree(),
            Arrival::Reply | Arrival::Nothing | Arrival::BrokenReply(_) => {}
        }
        self.server.receives.post(receive);
    }

    /// The client looks at the next Send.
    fn receive(&mut self) {
        let Some(receive) = self.client.receives.next() else { return };
        let (octets, invalidated) = (self.client.receives.octets(receive), self.client.receives.invalidated(receive));
        let arrival = self.client.channel.received(octets);
        output_fields::arrival(self.digest, arrival);
        match arrival {
            Arrival::Version1 | Arrival::Reply => {
                let input = requester::Input::Received { receive, octets, invalidated };
                let accepted = self.client.requester.handle(input);
                return self.sound(accepted);
            }
            Arrival::BrokenReply(xid) => {
                let accepted = self.client.requester.handle(requester::Input::Broken { xid });
                self.sound(accepted);
            }
            Arrival::Exceeded => self.moved(None),
            Arrival::Properties => self.agree(),
            Arrival::Call | Arrival::CallPart | Arrival::Nothing | Arrival::BrokenCall { .. } => {}
        }
        self.client.receives.post(receive);
    }

    /// Completes one operation of either adapter.
    fn complete(&mut self) {
        let Some(count) = u32::try_from(self.work.len()).ok().filter(|count| *count > 0) else { return };
        let input = match self.work.swap_remove(self.random.below(count) as usize) {
            Work::Read { call } => {
                let accepted = self.server.responder.handle(responder::Input::Completed { call });
                return self.sound(accepted);
            }
            Work::Register { call, region, memory } => {
                let memory = if self.random.once_in(100) { None } else { self.client.expose(call, memory) };
                requester::Input::Registered { call, region, memory }
            }
            Work::Invalidate { call, region, handle } => {
                self.client.hide(handle);
                requester::Input::Invalidated { call, region }
            }
            Work::Sent { call } => requester::Input::Sent { call },
        };
        let accepted = self.client.requester.handle(input);
        self.sound(accepted);
    }

    /// Ends it: each call that was not done is, and nothing can be reached.
    fn disconnect(&mut self) {
        self.client.hide_all();
        self.work.clear();
        for input in [requester::Input::Failed, requester::Input::Disconnected] {
            let accepted = self.client.requester.handle(input);
            self.sound(accepted);
            while self.poll_client() {}
        }
        let accepted = self.server.responder.handle(responder::Input::Disconnected);
        self.sound(accepted);
        self.right(self.client.calls.iter().all(|called| called.id.is_none()));
    }
}
