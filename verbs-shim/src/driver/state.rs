//! The state of a connection, under its lock.

use std::collections::VecDeque;
use std::mem;
use std::thread::ThreadId;
use std::time::Instant;

use rpcrdma::endpoint::channel::{Arrival, Negotiation};
use rpcrdma::endpoint::responder::{Form, ReplyFault};
use rpcrdma::endpoint::{Channel, Direction, Terms, Version};

use super::answering::{Answering, Asked};
use super::buffers::{Buffers, Sent};
use super::call_queue::{QueuePosition, WaitMode};
use super::calling::Calling;
use super::flow_control::FlowControl;
use super::jobs::{Done, Job, Jobs};
use super::negotiation::send_control;
use super::registration::RegistrationId;
use super::resources::{Posted, Provider, Resources};
use super::settings::Settings;
use crate::message::call::{Call, CallError, Progress};
use crate::message::ended::{Ended, PeerFault};
use crate::verbs::waiter::Watch;
use crate::verbs::{Completion, Error, Status};

/// What is known about a connection.
pub(crate) struct ConnectionState<V: Provider> {
    pub(super) buffers: Buffers<V>,
    pub(super) calling: Calling<V>,
    pub(super) answering: Option<Answering<V>>,
    pub(super) channel: Channel,
    /// The terms of the calls that this end makes; those of version 1 until something else is agreed.
    pub(super) terms: Terms,
    /// Whether this end takes part in remote invalidation, in version 2.
    remote_invalidation: bool,
    /// What the two ask for that is done when nothing is locked.
    pub(super) jobs: Jobs<V>,
    /// Filled Receives that the endpoints do not know of yet: they take one once everything that they ask for is done.
    pub(super) arrived: VecDeque<Arrived>,
    /// Calls of version 2 that wait for a place among those that are answered, with their parts; also the first message
    /// of a connection, until the Responder knows the terms.
    waiting: VecDeque<Arrived>,
    /// The most octets of them that are kept in copies.
    collected: usize,
    pub(super) poller: Poller,
    /// Number of threads that wait for the polling thread.
    pub(super) waiting_threads: usize,
    pub(super) ended: Option<Ended>,
    pub(super) report: EndReport,
    /// The XID of the call of the other side whose memory could not be used.
    pub(super) unusable: Option<u32>,
    /// Whether all completions were taken.
    pub(super) closed: bool,
    /// Completions that were taken.
    pub(super) taken: u64,
    /// Wakes the background poller, while it sleeps.
    pub(super) background_watch: Option<Watch>,
    /// Thread of a server that serves the connection.
    pub(super) server_thread: Option<ThreadId>,
}

/// Polling thread: takes completions from the adapter, and all other threads wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Poller {
    None,
    /// A thread that sleeps until a completion arrives, or until the earliest deadline that was known when it began.
    Thread {
        deadline: Option<Instant>,
    },
}

/// What subscribers of `tracing` have been told about the end of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EndReport {
    /// Nothing: it goes on, or why it ended may still turn out to be something else.
    Open,
    /// Why it ended is certain, and to be reported when nothing is locked.
    Due(Ended),
    Made,
}

/// A Receive that is filled.
pub(super) struct Arrived {
    receive: u32,
    length: usize,
    invalidated: Option<u32>,
}

/// What becomes of a message that was looked at.
enum GoesOn {
    /// An endpoint has it, and gives its Receive back.
    ToEndpoint,
    /// Its Receive is free.
    Nowhere,
    /// It waits for a place among the calls that are answered.
    Waits,
}

impl<V: Provider> ConnectionState<V> {
    /// Nothing has happened yet. `terms` are those of the calls that this end makes, and of those that it answers,
    /// unless `channel` finds that the connection speaks version 2; calls with the XIDs `refused` have had a connection
    /// of the same peer end.
    pub(super) fn new(
        resources: &Resources<V>,
        (buffers, channel): (Buffers<V>, Channel),
        terms: (Terms, Terms),
        settings: &Settings,
        refused: &[u32],
    ) -> Self {
        let message_size = resources.verbs.message_size(&resources.queue_pair);
        let answering = || Answering::new(terms.1, settings, message_size, refused);
        let mut state = Self {
            buffers,
            calling: Calling::new(terms.0, settings, message_size),
            answering: (settings.served > 0).then(answering),
            channel,
            terms: terms.0,
            remote_invalidation: settings.remote_invalidation && resources.verbs.remote_invalidation(),
            jobs: Jobs::default(),
            arrived: VecDeque::with_capacity((settings.calls + settings.served) as usize),
            waiting: VecDeque::new(),
            collected: settings.limits.collected as usize,
            poller: Poller::None,
            waiting_threads: 0,
            ended: None,
            report: EndReport::Open,
            unusable: None,
            closed: false,
            taken: 0,
            background_watch: None,
            server_thread: None,
        };
        state.agree();
        state
    }

    /// Tells both endpoints what the connection speaks, if that is known and is version 2.
    fn agree(&mut self) {
        if let Some((calls, answers)) = self.channel.terms(self.remote_invalidation) {
            self.terms = calls;
            self.calling.agree(calls, self.channel.segment_limits());
            self.answering.iter_mut().for_each(|answering| answering.agree(answers));
        }
    }

    /// The version of the connection, if that is known.
    pub(super) const fn version(&self) -> Option<Version> {
        match self.channel.negotiation() {
            Negotiation::Agreed(version) => Some(version),
            Negotiation::Pending | Negotiation::Elsewhere(_) | Negotiation::Impossible | Negotiation::Lost => None,
        }
    }

    /// Takes a completion, and says whether there may be another.
    pub(super) fn completed(
        &mut self,
        resources: &Resources<V>,
        completion: Result<Option<Completion>, Error>,
    ) -> bool {
        match completion {
            Ok(None) => false,
            Ok(Some(completion)) => {
                if let Err(ended) = self.happened(&completion) {
                    self.end(ended);
                }
                true
            }
            Err(Error::Disconnected) => {
                self.close(resources);
                false
            }
            Err(error) => {
                self.end(Ended::Refused(error));
                false
            }
        }
    }

    pub(super) fn happened(&mut self, completion: &Completion) -> Result<(), Ended> {
        let Completion { id, kind, status, length, invalidated } = *completion;
        self.taken = self.taken.wrapping_add(1);
        let work = Posted::from_id(id);
        match work {
            Posted::Receive(_) => self.buffers.received(),
            _ => self.buffers.completed(),
        }
        if let Posted::Send(slot) = work {
            match self.buffers.take_sent(slot) {
                Sent::Call(call) if status == Status::Success => self.calling.sent(call),
                Sent::Reply(number) => {
                    if let Some(answering) = &mut self.answering {
                        answering.sent(&mut self.jobs, number);
                    }
                }
                _ => {}
            }
        }
        match (work, status) {
            (_, Status::Flushed) => return Err(Ended::Peer),
            (Posted::Receive(receive), Status::Success) => {
                self.arrived.push_back(Arrived { receive, length, invalidated });
            }
            (Posted::Read(number), Status::Success) => {
                self.answering.iter_mut().for_each(|answering| answering.pulled(number));
            }
            (Posted::Pull(number), Status::Success) => self.calling.pulled(number),
            (_, Status::Success) => {}
            (Posted::Read(number) | Posted::Write(number), Status::RemoteAccess) => {
                self.unusable = self.answering.as_ref().and_then(|answering| answering.xid(number));
                return Err(Ended::Failed(kind, status));
            }
            _ => return Err(Ended::Failed(kind, status)),
        }
        Ok(())
    }

    /// Does what the endpoints ask for, as long as there is room for it, and tells them what has come.
    pub(crate) fn carry_out(&mut self, resources: &Resources<V>) {
        while self.closed || self.buffers.are_ready() {
            match self.step(resources) {
                Ok(true) => {}
                Ok(false) => break,
                Err(ended) => {
                    self.end(ended);
                    break;
                }
            }
        }
    }

    pub(super) fn step(&mut self, resources: &Resources<V>) -> Result<bool, Ended> {
        if self.say(resources)? {
            return Ok(true);
        }
        let Self { buffers, channel, calling, answering, jobs, waiting, .. } = self;
        let is_version_1 = channel.negotiation() == Negotiation::Agreed(Version::One);
        let occupied = answering.as_ref().filter(|_| !is_version_1).map_or(0, Answering::occupied);
        let mut flow_control = FlowControl::new(channel, buffers.receivable());
        let owed = answering.as_ref().map(|answering| {
            let calls = waiting.iter().filter(|arrived| !buffers.is_copy(arrived.receive)).count();
            answering.owed().saturating_add(calls as u32)
        });
        if calling.step(resources, buffers, jobs, &mut flow_control, (occupied, owed))? {
            return Ok(true);
        }
        if let Some(answering) = answering
            && answering.step(resources, buffers, jobs, &mut flow_control)?
        {
            return Ok(true);
        }
        if self.answer_waiting(resources)? {
            return Ok(true);
        }
        let Some(arrived) = self.arrived.pop_front() else { return Ok(false) };
        let version = self.version();
        let received = self.take(resources, &arrived)?;
        let is_agreed = self.version() != version;
        if is_agreed || received == Arrival::Properties {
            self.agree();
        }
        if is_agreed {
            self.calling.agreed();
        }
        Ok(true)
    }

    /// Gives the first call that waits for a place to the Responder, if there is one now, and says whether it did.
    fn answer_waiting(&mut self, resources: &Resources<V>) -> Result<bool, Ended> {
        let Some(answering) = self.answering.as_mut().filter(|answering| answering.has_place()) else {
            return Ok(false);
        };
        let Some(Arrived { receive, length, .. }) = self.waiting.pop_front() else { return Ok(false) };
        self.buffers.look(resources, receive, |octets| {
            answering.received(receive, octets.get(..length).unwrap_or_default())
        })??;
        Ok(true)
    }

    /// Sends the next message that belongs to no call, and says whether there was one.
    fn say(&mut self, resources: &Resources<V>) -> Result<bool, Ended> {
        if self.closed {
            return Ok(false);
        }
        let Self { buffers, channel, answering, .. } = self;
        let occupied = || answering.as_ref().map_or(0, Answering::occupied);
        send_control(resources, buffers, channel, occupied)
    }

    /// Hands a Send to whom it is for, and says who that is.
    fn take(&mut self, resources: &Resources<V>, arrived: &Arrived) -> Result<Arrival, Ended> {
        let has_terms = self.version().is_some();
        let Self { buffers, channel, calling, answering, .. } = self;
        let Arrived { receive, length, invalidated } = *arrived;
        let (received, goes_on) = buffers.look(resources, receive, |octets| {
            let octets = octets.get(..length).unwrap_or_default();
            let received = channel.received(octets);
            let arrival = match received {
                // For the Requester or for the Responder (RFC 8167 section 5).
                Arrival::Version1 if answering.is_none() => Arrival::Reply,
                Arrival::Version1 if calling.direction(octets) == Direction::Reply => Arrival::Reply,
                Arrival::Version1 => Arrival::Call,
                arrival => arrival,
            };
            match (arrival, answering) {
                (Arrival::Reply, _) => calling.received(receive, octets, invalidated)?,
                // Only a reply may invalidate memory (RFC 8797 section 4.1; version two draft -07 section 6.5).
                (Arrival::Exceeded, _) => return Err(Ended::PeerFault(PeerFault::CreditExceeded)),
                _ if invalidated.is_some() => return Err(Ended::PeerFault(PeerFault::CallInvalidated)),
                (Arrival::Call | Arrival::CallPart, Some(answering))
                    if received != Arrival::Version1 && !(has_terms && answering.has_place()) =>
                {
                    return Ok((received, GoesOn::Waits));
                }
                (Arrival::BrokenReply(xid), _) => {
                    calling.broken(xid)?;
                    return Ok((received, GoesOn::Nowhere));
                }
                (Arrival::BrokenCall(xid, error), Some(answering)) => {
                    answering.broken(xid, error)?;
                    return Ok((received, GoesOn::Nowhere));
                }
                (Arrival::Call | Arrival::CallPart, Some(answering)) => answering.received(receive, octets)?,
                (Arrival::Call | Arrival::CallPart | Arrival::BrokenCall(..) | Arrival::Version1, _)
                | (Arrival::Properties | Arrival::Nothing, _) => return Ok((received, GoesOn::Nowhere)),
            }
            Ok((received, GoesOn::ToEndpoint))
        })??;
        match goes_on {
            GoesOn::ToEndpoint => {}
            GoesOn::Nowhere => buffers.post_receive(resources, receive)?,
            GoesOn::Waits => self.wait(resources, arrived, received)?,
        }
        Ok(received)
    }

    /// Has a Call, or a part of one, wait for a place. A Call keeps its Receive, and with it a credit; the part of a
    /// continued one is copied out of it, as [`Arrival::CallPart`] asks, as long as the copies have no more octets than
    /// may be collected.
    fn wait(&mut self, resources: &Resources<V>, arrived: &Arrived, received: Arrival) -> Result<(), Ended> {
        let Arrived { mut receive, length, invalidated } = *arrived;
        if received == Arrival::CallPart && self.buffers.copied.saturating_add(length) <= self.collected {
            receive = self.buffers.copy(resources, receive, length)?;
        }
        self.waiting.push_back(Arrived { receive, length, invalidated });
        Ok(())
    }

    /// Tells the endpoints what came of a job, and does what they ask for then.
    pub(super) fn done(&mut self, resources: &Resources<V>, done: Done<V>) {
        let Self { calling, answering, jobs, .. } = self;
        jobs.end();
        let told = match (done, answering) {
            (Done::Registered(RegistrationId::Call(registration), registered), _) => {
                calling.registered(resources, jobs, registration, registered)
            }
            (Done::Deregistered(RegistrationId::Call(registration), buffer), _) => {
                calling.deregistered(jobs, registration, buffer)
            }
            (Done::Registered(RegistrationId::Answer(registration), registered), Some(answering)) => {
                answering.registered(resources, jobs, registration, registered)
            }
            (Done::Deregistered(RegistrationId::Answer(registration), buffer), Some(answering)) => {
                answering.deregistered(jobs, registration, buffer)
            }
            (Done::Disconnected(Err(_)), _) => {
                // Nothing will come that could be waited for.
                self.close(resources);
                Ok(())
            }
            (Done::Disconnected(Ok(())) | Done::Registered(..) | Done::Deregistered(..), _) => Ok(()),
        };
        if let Err(ended) = told {
            self.end(ended);
        }
        self.carry_out(resources);
    }

    /// Begins a call. Returns `None` without a free slot, or behind others that wait for one; `mode` says if the call
    /// then waits in the queue.
    pub(crate) fn begin(
        &mut self,
        resources: &Resources<V>,
        call: &mut Call,
        position: &mut QueuePosition,
        mode: WaitMode<'_>,
    ) -> Result<Option<usize>, CallError> {
        if let Some(ended) = &self.ended {
            let lost = CallError::Lost(ended.clone(), Progress::NotSent);
            self.calling.leave(position);
            return Err(lost);
        }
        if self.channel.negotiation() == Negotiation::Pending {
            self.calling.wait(position, mode);
            return Ok(None);
        }
        let ticket = self.calling.begin(call, position, mode)?;
        self.carry_out(resources);
        Ok(ticket)
    }

    /// Gives a call up, and with it the connection if no time is left for its reply.
    pub(crate) fn give_up(&mut self, resources: &Resources<V>, ticket: usize) {
        self.calling.give_up(ticket);
        self.carry_out(resources);
        self.expire(resources);
    }

    /// Whether calls that were given up still wait for their replies.
    pub(crate) fn has_grace(&self) -> bool {
        self.grace_ends().is_some()
    }

    /// The earliest deadline.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let provided = self.answering.as_ref().and_then(Answering::next_end);
        provided.into_iter().chain(self.grace_ends()).min()
    }

    /// When a call that was given up will have waited too long for its reply.
    pub(super) fn grace_ends(&self) -> Option<Instant> {
        self.calling.grace_ends().filter(|_| self.ended.is_none())
    }

    /// Returns true if the polling thread has to wake up because of what another thread has done.
    pub(super) fn must_interrupt_poller(&self, news: bool) -> bool {
        let Poller::Thread { deadline } = self.poller else { return false };
        let is_sooner = |next: Instant| deadline.is_none_or(|deadline| next < deadline);
        news || self.next_end().is_some_and(is_sooner)
    }

    /// Whether something that threads wait for has happened since the last call.
    pub(super) fn take_news(&mut self) -> bool {
        let answered = self.answering.as_mut().is_some_and(|answering| mem::take(&mut answering.news));
        mem::take(&mut self.calling.news) | answered
    }

    /// Makes the background poller wake up when the next deadline passes.
    pub(super) fn set_timer(&self) {
        if let (Some(background_watch), Some(ends)) = (&self.background_watch, self.next_end()) {
            background_watch.wake_at(ends);
        }
    }

    /// Ends whatever has passed its deadline.
    pub(super) fn expire(&mut self, resources: &Resources<V>) {
        let Some(ends) = self.next_end() else { return };
        let now = Instant::now();
        if now < ends {
            return;
        }
        if let Some(answering) = &mut self.answering {
            answering.expire(now);
        }
        if self.grace_ends().is_some_and(|ends| ends <= now) {
            self.end(Ended::Unanswered);
        }
        self.carry_out(resources);
    }

    /// Ends the connection. That it is over is known when its last completion was taken.
    pub(super) fn end(&mut self, ended: Ended) {
        let is_here = ended == Ended::Here;
        match &self.ended {
            None => {
                self.ended = Some(ended);
                self.jobs.add(Job::Disconnect);
            }
            // Posting was refused because the connection is over, before the completion that says why was taken.
            Some(Ended::Peer) if matches!(ended, Ended::Failed(..)) => self.ended = Some(ended),
            Some(_) => {}
        }
        // If the other side is gone, a completion may still say why, as long as this side goes on looking.
        if is_here || self.ended != Some(Ended::Peer) {
            self.report_end();
        }
    }

    /// Marks the end to be reported, once.
    fn report_end(&mut self) {
        if self.report == EndReport::Open
            && let Some(ended) = &self.ended
        {
            self.report = EndReport::Due(ended.clone());
        }
    }

    /// Why the connection is over, if that is to be reported now.
    pub(super) fn take_report(&mut self) -> Option<Ended> {
        if !matches!(self.report, EndReport::Due(_)) {
            return None;
        }
        if let EndReport::Due(ended) = mem::replace(&mut self.report, EndReport::Made) { Some(ended) } else { None }
    }

    /// Returns true if this is the thread of a server that serves the connection, which may block.
    pub(super) fn is_served_by(&self, thread: ThreadId) -> bool {
        self.server_thread == Some(thread)
    }

    /// Whether the connection is over, and something of it still to be taken back.
    pub(super) fn is_ending(&self) -> bool {
        self.ended.is_some() && !(self.closed && self.jobs.are_done())
    }

    /// No completion will come any more: all calls come to their end.
    pub(super) fn close(&mut self, resources: &Resources<V>) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.calling.news = true;
        self.take_replies(resources);
        self.waiting.clear();
        let ended = self.ended.get_or_insert(Ended::Peer).clone();
        self.report_end();
        self.calling.lost(ended);
        if let Some(answering) = &mut self.answering {
            answering.lost(&mut self.jobs);
        }
        self.carry_out(resources);
    }

    /// Takes what came before the end. A reply is still good; nobody would receive the answer to a call.
    pub(super) fn take_replies(&mut self, resources: &Resources<V>) {
        let Self { buffers, channel, calling, answering, jobs, arrived, .. } = self;
        for Arrived { receive, length, invalidated } in mem::take(arrived) {
            // What is asked for is no longer of use.
            let mut flow_control = FlowControl::new(channel, 0);
            while matches!(
                calling.step(resources, buffers, jobs, &mut flow_control, (0, None)),
                Ok(true) | Err(Ended::Peer)
            ) {}
            let _ = buffers.look(resources, receive, |octets| {
                let octets = octets.get(..length).unwrap_or_default();
                let is_reply = match channel.received(octets) {
                    Arrival::Version1 => answering.is_none() || calling.direction(octets) == Direction::Reply,
                    arrival => arrival == Arrival::Reply,
                };
                if is_reply {
                    let _ = calling.received(receive, octets, invalidated);
                }
            });
        }
    }

    pub(crate) fn calling(&mut self) -> &mut Calling<V> {
        &mut self.calling
    }

    /// Answers a call of the other side.
    pub(crate) fn reply(
        &mut self,
        resources: &Resources<V>,
        asked: &mut Asked,
        protected: bool,
    ) -> Result<Form, ReplyFault> {
        let answering = self.answering.as_mut().ok_or(ReplyFault::NoCall)?;
        let done = answering.reply(asked, protected);
        self.carry_out(resources);
        done
    }

    /// Forgets a call of the other side that has no reply.
    pub(crate) fn forget(&mut self, resources: &Resources<V>, asked: &mut Asked) -> Result<(), ReplyFault> {
        let Self { answering, jobs, .. } = self;
        let answering = answering.as_mut().ok_or(ReplyFault::NoCall)?;
        let done = answering.forget(jobs, asked);
        self.carry_out(resources);
        done
    }
}
