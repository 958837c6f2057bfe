//! State of a connection, protected by a lock.

use std::collections::VecDeque;
use std::mem;
use std::task::Waker;
use std::thread::ThreadId;
use std::time::Instant;

use rpcrdma::endpoint::channel::{Arrival, ChannelTerms, Negotiation};
use rpcrdma::endpoint::responder::{ReplyFault, ReplyForm};
use rpcrdma::endpoint::{Channel, Direction, Terms, Version};

use super::buffers::{Buffers, Sent};
use super::call_queue::{QueuePosition, WaitMode};
use super::flow_control::FlowControl;
use super::incoming_calls::{DeliveredCall, IncomingCalls};
use super::jobs::{Done, Job, Jobs};
use super::keep_alive::{Check, KeepAlive};
use super::negotiation::send_control;
use super::outgoing_calls::OutgoingCalls;
use super::registration::RegistrationId;
use super::resources::{Provider, Resources};
use super::settings::{ConnectionTerms, Settings};
use super::work_id::WorkId;
use crate::message::call::{Call, CallError, Progress};
use crate::message::end_reason::{EndReason, PeerFault};
use crate::verbs::waiter::Watch;
use crate::verbs::{Completion, Error, Status};

/// Per-connection state.
pub(crate) struct ConnectionState<V: Provider> {
    pub(super) buffers: Buffers<V>,
    pub(super) outgoing_calls: OutgoingCalls<V>,
    pub(super) incoming_calls: Option<IncomingCalls<V>>,
    pub(super) channel: Channel,
    /// Terms of the calls that this end makes: for version 1, until version 2 is agreed.
    pub(super) terms: Terms,
    /// True if this end takes part in remote invalidation, in version 2.
    remote_invalidation: bool,
    /// Requests of both endpoints that are carried out when nothing is locked.
    pub(super) jobs: Jobs<V>,
    /// Filled Receives that the endpoints have not seen yet: the endpoints get one when all their requests are carried
    /// out.
    pub(super) arrived: VecDeque<Arrived>,
    /// Calls of version 2 that wait for a slot of the Responder, with their parts; also the first message of a
    /// connection, until the terms are known.
    waiting: VecDeque<Arrived>,
    /// Maximum number of octets kept in copies of `waiting` messages.
    collected: usize,
    pub(super) poller: Poller,
    /// Number of threads that wait for the polling thread.
    pub(super) waiting_threads: usize,
    pub(super) ended: Option<EndReason>,
    pub(super) report: EndReport,
    /// XID of the call of the other side whose memory could not be used.
    pub(super) unusable: Option<u32>,
    /// True if all completions were taken.
    pub(super) closed: bool,
    /// Number of completions taken so far.
    pub(super) taken: u64,
    keep_alive: Option<KeepAlive>,
    /// Wakers to wake when the connection is over.
    pub(super) end_wakers: Vec<Waker>,
    /// Wakes the sleeping background poller.
    pub(super) background_watch: Option<Watch>,
    /// Thread of a server that serves the connection.
    pub(super) server_thread: Option<ThreadId>,
}

/// Polling thread: a thread that takes completions from the adapter for all waiting threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Poller {
    None,
    /// A thread that sleeps until a completion arrives, or until the earliest deadline that was known before.
    Thread {
        deadline: Option<Instant>,
    },
}

/// Report of the connection's end to subscribers of `tracing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EndReport {
    /// Not due: the connection goes on, or the reason for the end may still change.
    Open,
    /// The reason for the end is certain, and has to be reported when nothing is locked.
    Due(EndReason),
    Made,
}

/// A filled Receive.
pub(super) struct Arrived {
    receive: u32,
    length: usize,
    invalidated: Option<u32>,
}

/// Further handling of a received message.
enum GoesOn {
    /// Passed to an endpoint, which will release the Receive.
    ToEndpoint,
    /// Not passed on: the Receive is released.
    Nowhere,
    /// Waiting for a slot of the Responder.
    Waits,
}

impl<V: Provider> ConnectionState<V> {
    /// Creates the state of a new connection. `terms`: for calls in both directions, unless `channel` finds that the
    /// connection speaks version 2. `refused`: XIDs of calls that ended an earlier connection of the same peer.
    pub(super) fn new(
        resources: &Resources<V>,
        buffers: Buffers<V>,
        channel: Channel,
        terms: ConnectionTerms,
        settings: &Settings,
        refused: &[u32],
    ) -> Self {
        let message_size = resources.verbs.message_size(&resources.queue_pair);
        let incoming_calls = || IncomingCalls::new(terms.answers, settings, message_size, refused);
        let mut state = Self {
            buffers,
            outgoing_calls: OutgoingCalls::new(terms.calls, settings, message_size),
            incoming_calls: (settings.granted_credits > 0).then(incoming_calls),
            channel,
            terms: terms.calls,
            remote_invalidation: settings.remote_invalidation && resources.verbs.remote_invalidation(),
            jobs: Jobs::default(),
            arrived: VecDeque::with_capacity((settings.requested_credits + settings.granted_credits) as usize),
            waiting: VecDeque::new(),
            collected: settings.limits.collected as usize,
            poller: Poller::None,
            waiting_threads: 0,
            ended: None,
            report: EndReport::Open,
            unusable: None,
            closed: false,
            taken: 0,
            end_wakers: Vec::new(),
            keep_alive: settings.keep_alive.and_then(|interval| KeepAlive::new(interval, Instant::now())),
            background_watch: None,
            server_thread: None,
        };
        state.agree();
        state
    }

    /// Passes the terms of version 2 to both endpoints, if that is the connection's version.
    fn agree(&mut self) {
        if let Some(ChannelTerms { calls, answers }) = self.channel.terms(self.remote_invalidation) {
            self.terms = calls;
            self.outgoing_calls.agree(calls, self.channel.segment_limits());
            self.incoming_calls.iter_mut().for_each(|incoming_calls| incoming_calls.agree(answers));
            if let Some(slab) = self.buffers.take_further_receives() {
                self.jobs.add_job(Job::RegisterReceives(slab));
            }
        }
    }

    /// Returns the version of the connection. `None` before the negotiation has ended.
    pub(super) const fn version(&self) -> Option<Version> {
        match self.channel.negotiation() {
            Negotiation::Agreed(version) => Some(version),
            Negotiation::Pending | Negotiation::Elsewhere(_) | Negotiation::Impossible | Negotiation::Lost => None,
        }
    }

    /// Handles a completion. Returns true if there may be another.
    pub(super) fn completed(
        &mut self,
        resources: &Resources<V>,
        completion: Result<Option<Completion>, Error>,
    ) -> bool {
        match completion {
            Ok(None) => false,
            Ok(Some(completion)) => {
                if let Err(ended) = self.happened(&completion) {
                    self.end_connection(ended);
                }
                true
            }
            Err(Error::Disconnected) => {
                self.close(resources);
                false
            }
            Err(Error::Removed) => {
                self.end_connection(EndReason::Removed);
                self.close(resources);
                false
            }
            Err(error) => {
                self.end_connection(EndReason::from(error));
                false
            }
        }
    }

    pub(super) fn happened(&mut self, completion: &Completion) -> Result<(), EndReason> {
        let Completion { id, kind, status, length, invalidated } = *completion;
        self.taken = self.taken.wrapping_add(1);
        let work = WorkId::from_id(id);
        let received = if let WorkId::Receive(receive) = work {
            self.buffers.received(receive)
        } else {
            self.buffers.completed();
            None
        };
        if let WorkId::Send(slot) = work {
            match self.buffers.take_sent(slot) {
                Sent::Call(call) if status == Status::Success => self.outgoing_calls.sent(call),
                Sent::Reply(number) => {
                    if let Some(incoming_calls) = &mut self.incoming_calls {
                        incoming_calls.sent(&mut self.jobs, number);
                    }
                }
                _ => {}
            }
        }
        match (work, status) {
            (_, Status::Flushed) => return Err(EndReason::Peer),
            (WorkId::Receive(_), Status::Success) => {
                let receive = received.ok_or(EndReason::PeerFault(PeerFault::CreditExceeded))?;
                self.arrived.push_back(Arrived { receive, length, invalidated });
            }
            (WorkId::Read(number), Status::Success) => {
                self.incoming_calls.iter_mut().for_each(|incoming_calls| incoming_calls.finish_read(number));
            }
            (WorkId::ReadReply(number), Status::Success) => self.outgoing_calls.finish_read(number),
            (_, Status::Success) => {}
            (WorkId::Read(number) | WorkId::Write(number), Status::RemoteAccess) => {
                self.unusable = self.incoming_calls.as_ref().and_then(|incoming_calls| incoming_calls.xid(number));
                return Err(EndReason::Failed(kind, status));
            }
            _ => return Err(EndReason::Failed(kind, status)),
        }
        Ok(())
    }

    /// Carries out the endpoints' requests, as long as work can be posted, and passes received messages to the
    /// endpoints.
    pub(crate) fn carry_out(&mut self, resources: &Resources<V>) {
        while self.closed || self.buffers.are_ready() {
            match self.carry_out_next(resources) {
                Ok(true) => {}
                Ok(false) => break,
                Err(ended) => {
                    self.end_connection(ended);
                    break;
                }
            }
        }
        if let Err(error) = self.keep_arrived(resources) {
            self.end_connection(error.into());
        }
        if !self.closed
            && let Some(slab) = self.buffers.take_further_sends()
        {
            self.jobs.add_job(Job::RegisterSends(slab));
        }
    }

    /// Copies messages that the endpoints cannot get now out of shared Receives: a peer that takes no replies must not
    /// occupy shared Receives.
    fn keep_arrived(&mut self, resources: &Resources<V>) -> Result<(), Error> {
        let Self { buffers, arrived, .. } = self;
        arrived.iter().try_for_each(|arrived| buffers.keep_message(resources, arrived.receive, arrived.length))
    }

    pub(super) fn carry_out_next(&mut self, resources: &Resources<V>) -> Result<bool, EndReason> {
        if self.say(resources)? {
            return Ok(true);
        }
        let Self { buffers, channel, outgoing_calls, incoming_calls, jobs, waiting, .. } = self;
        let mut flow_control = FlowControl::new(channel, buffers.receivable());
        // Version 1 counts calls only.
        let counted = incoming_calls.as_ref().filter(|_| !flow_control.is_version_1());
        let (occupied, owed) = counted.map_or((0, None), |incoming_calls| {
            let calls = waiting.iter().filter(|arrived| buffers.uses_credit(arrived.receive)).count();
            (incoming_calls.occupied(), Some(incoming_calls.owed().saturating_add(calls as u32)))
        });
        if outgoing_calls.carry_out_next(resources, buffers, jobs, &mut flow_control, occupied, owed)? {
            return Ok(true);
        }
        if let Some(incoming_calls) = incoming_calls
            && incoming_calls.carry_out_next(resources, buffers, jobs, &mut flow_control, occupied)?
        {
            return Ok(true);
        }
        if self.answer_waiting(resources)? {
            return Ok(true);
        }
        let Some(arrived) = self.arrived.pop_front() else { return Ok(false) };
        let version = self.version();
        let received = self.pass_message(resources, &arrived)?;
        let is_agreed = self.version() != version;
        if is_agreed || received == Arrival::Properties {
            self.agree();
        }
        if is_agreed {
            self.outgoing_calls.agreed();
        }
        Ok(true)
    }

    /// Passes the first waiting call to the Responder, if a slot is free. Returns true if a call was passed.
    fn answer_waiting(&mut self, resources: &Resources<V>) -> Result<bool, EndReason> {
        let Some(incoming_calls) = self.incoming_calls.as_mut().filter(|incoming_calls| incoming_calls.has_free_slot())
        else {
            return Ok(false);
        };
        let Some(Arrived { receive, length, .. }) = self.waiting.pop_front() else { return Ok(false) };
        self.buffers.read_message(resources, receive, |octets| {
            incoming_calls.received(receive, octets.get(..length).unwrap_or_default())
        })??;
        Ok(true)
    }

    /// Sends the next message that belongs to no call. Returns false if there was none.
    fn say(&mut self, resources: &Resources<V>) -> Result<bool, EndReason> {
        if self.closed {
            return Ok(false);
        }
        let Self { buffers, channel, incoming_calls, .. } = self;
        let occupied = || incoming_calls.as_ref().map_or(0, IncomingCalls::occupied);
        send_control(resources, buffers, channel, occupied)
    }

    /// Passes a received message to the endpoint for that kind of message. Returns the kind.
    fn pass_message(&mut self, resources: &Resources<V>, arrived: &Arrived) -> Result<Arrival, EndReason> {
        let has_terms = self.version().is_some();
        let Self { buffers, channel, outgoing_calls, incoming_calls, .. } = self;
        let Arrived { receive, length, invalidated } = *arrived;
        let (received, goes_on) = buffers.read_message(resources, receive, |octets| {
            let octets = octets.get(..length).unwrap_or_default();
            let received = channel.received(octets);
            let arrival = match received {
                // For the Requester or for the Responder (RFC 8167 section 5).
                Arrival::Version1 if incoming_calls.is_none() => Arrival::Reply,
                Arrival::Version1 if outgoing_calls.direction(octets) == Direction::Reply => Arrival::Reply,
                Arrival::Version1 => Arrival::Call,
                arrival => arrival,
            };
            match (arrival, incoming_calls) {
                (Arrival::Reply, _) => outgoing_calls.received(receive, octets, invalidated)?,
                // Only a reply may invalidate memory (RFC 8797 section 4.1; version two draft -07 section 6.5).
                (Arrival::Exceeded, _) => return Err(EndReason::PeerFault(PeerFault::CreditExceeded)),
                _ if invalidated.is_some() => return Err(EndReason::PeerFault(PeerFault::CallInvalidated)),
                (Arrival::Call | Arrival::CallPart, Some(incoming_calls))
                    if received != Arrival::Version1 && !(has_terms && incoming_calls.has_free_slot()) =>
                {
                    return Ok((received, GoesOn::Waits));
                }
                (Arrival::BrokenReply(xid), _) => {
                    outgoing_calls.broken(xid)?;
                    return Ok((received, GoesOn::Nowhere));
                }
                (Arrival::BrokenCall { xid, error }, Some(incoming_calls)) => {
                    incoming_calls.broken(xid, error)?;
                    return Ok((received, GoesOn::Nowhere));
                }
                (Arrival::Call | Arrival::CallPart, Some(incoming_calls)) => {
                    incoming_calls.received(receive, octets)?
                }
                (Arrival::Call | Arrival::CallPart | Arrival::BrokenCall { .. } | Arrival::Version1, _)
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

    /// Makes a Call, or a part of one, wait for a slot. A Call keeps a Receive, and so a credit; if that Receive is
    /// shared, only the credit. A part of a continued Call is copied, as [`Arrival::CallPart`] asks, up to the maximum
    /// number of octets collected.
    fn wait(&mut self, resources: &Resources<V>, arrived: &Arrived, received: Arrival) -> Result<(), EndReason> {
        let Arrived { mut receive, length, invalidated } = *arrived;
        if received == Arrival::CallPart && self.buffers.copied.saturating_add(length) <= self.collected {
            receive = self.buffers.copy(resources, receive, length)?;
        } else {
            self.buffers.keep_message(resources, receive, length)?;
        }
        self.waiting.push_back(Arrived { receive, length, invalidated });
        Ok(())
    }

    /// Passes the outcome of a job to the endpoints, and carries out their requests.
    pub(super) fn done(&mut self, resources: &Resources<V>, done: Done<V>) {
        let Self { buffers, outgoing_calls, incoming_calls, jobs, .. } = self;
        jobs.finish_job();
        let told = match (done, incoming_calls) {
            (Done::Registered(RegistrationId::Call(registration), registered), _) => {
                outgoing_calls.registered(resources, jobs, registration, registered)
            }
            (Done::Deregistered(RegistrationId::Call(registration), buffer), _) => {
                outgoing_calls.deregistered(jobs, registration, buffer)
            }
            (Done::Registered(RegistrationId::Answer(registration), registered), Some(incoming_calls)) => {
                incoming_calls.registered(resources, jobs, registration, registered)
            }
            (Done::Deregistered(RegistrationId::Answer(registration), buffer), Some(incoming_calls)) => {
                incoming_calls.deregistered(jobs, registration, buffer)
            }
            (Done::SendsRegistered(registered), _) => {
                // Without these, the connection goes on with fewer Sends in flight.
                registered.into_iter().for_each(|slab| buffers.add_sends(slab));
                Ok(())
            }
            (Done::ReceivesRegistered(Ok(slab)), _) => match buffers.add_receives(resources, slab) {
                // After the end of the connection, they are not needed.
                Ok(()) | Err(Error::Disconnected) => Ok(()),
                Err(error) => Err(error.into()),
            },
            // The connection goes on with fewer credits.
            (Done::ReceivesRegistered(Err(_)), _) => Ok(()),
            (Done::Disconnected(Err(_)), _) => {
                // No further completion will come.
                self.close(resources);
                Ok(())
            }
            (Done::Disconnected(Ok(())) | Done::Registered(..) | Done::Deregistered(..), _) => Ok(()),
        };
        if let Err(ended) = told {
            self.end_connection(ended);
        }
        self.carry_out(resources);
    }

    /// Begins a call. Returns `None` without a free slot, or behind others that wait for one; `mode` says if the call
    /// then waits in the queue.
    pub(crate) fn begin_call(
        &mut self,
        resources: &Resources<V>,
        call: &mut Call,
        position: &mut QueuePosition,
        mode: WaitMode<'_>,
    ) -> Result<Option<usize>, CallError> {
        if let Some(ended) = &self.ended {
            let lost = CallError::Lost(ended.clone(), Progress::NotSent);
            self.outgoing_calls.leave(position);
            return Err(lost);
        }
        if self.channel.negotiation() == Negotiation::Pending {
            self.outgoing_calls.wait(position, mode);
            return Ok(None);
        }
        let ticket = self.outgoing_calls.begin_call(call, position, mode)?;
        self.carry_out(resources);
        Ok(ticket)
    }

    /// Gives a call up, and ends the connection if no time is left for the reply.
    pub(crate) fn give_up(&mut self, resources: &Resources<V>, ticket: usize) {
        self.outgoing_calls.give_up(ticket);
        self.carry_out(resources);
        self.expire(resources);
    }

    /// Returns true if given-up calls still wait for their replies.
    pub(crate) fn has_grace(&self) -> bool {
        self.grace_ends().is_some()
    }

    /// Returns the earliest deadline.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let provided = self.incoming_calls.as_ref().and_then(IncomingCalls::next_end);
        let keep_alive = self.keep_alive.as_ref().filter(|_| self.ended.is_none()).map(KeepAlive::next_check);
        provided
            .into_iter()
            .chain(self.grace_ends())
            .chain(keep_alive)
            .chain(self.outgoing_calls.alarms.next_alarm())
            .min()
    }

    /// Returns the deadline of the oldest given-up call.
    pub(super) fn grace_ends(&self) -> Option<Instant> {
        self.outgoing_calls.grace_ends().filter(|_| self.ended.is_none())
    }

    /// Returns true if the polling thread has to wake up because of what another thread has done.
    pub(super) fn must_interrupt_poller(&self, news: bool) -> bool {
        let Poller::Thread { deadline } = self.poller else { return false };
        let is_sooner = |next: Instant| deadline.is_none_or(|deadline| next < deadline);
        news || self.next_end().is_some_and(is_sooner)
    }

    /// Returns true if something has happened since the last call for which threads wait.
    pub(super) fn take_news(&mut self) -> bool {
        let answered = self.incoming_calls.as_mut().is_some_and(|incoming_calls| mem::take(&mut incoming_calls.news));
        mem::take(&mut self.outgoing_calls.news) | answered
    }

    /// Makes the background poller wake up when the next deadline passes.
    pub(super) fn set_timer(&self) {
        if let Some(background_watch) = &self.background_watch
            && let Some(ends) = self.next_end()
        {
            background_watch.wake_at(ends);
        }
    }

    /// Checks if the other side is still there, after all completions were taken.
    pub(super) fn keep_alive(&mut self, resources: &Resources<V>) {
        let Some(keep_alive) = self.keep_alive.as_mut().filter(|_| self.ended.is_none()) else { return };
        match keep_alive.check(Instant::now(), self.taken) {
            Check::Alive => {}
            Check::Probe => {
                if let Err(error) = self.buffers.keep_alive(resources) {
                    self.end_connection(EndReason::from(error));
                }
            }
            Check::Silent => self.end_connection(EndReason::Silent),
        }
    }

    /// Handles expired deadlines.
    pub(super) fn expire(&mut self, resources: &Resources<V>) {
        let Some(ends) = self.next_end() else { return };
        let now = Instant::now();
        if now < ends {
            return;
        }
        if let Some(incoming_calls) = &mut self.incoming_calls {
            incoming_calls.expire(now);
        }
        self.outgoing_calls.ring(now);
        if self.grace_ends().is_some_and(|ends| ends <= now) {
            self.end_connection(EndReason::Unanswered);
        }
        self.carry_out(resources);
    }

    /// Ends the connection. The connection is over when the last completion was taken.
    pub(super) fn end_connection(&mut self, ended: EndReason) {
        let is_here = ended == EndReason::Here;
        match &self.ended {
            None => {
                self.ended = Some(ended);
                self.jobs.add_job(Job::Disconnect);
            }
            // Posting failed or work was flushed because the connection was over, before the reason was taken.
            Some(EndReason::Peer)
                if matches!(ended, EndReason::Failed(..) | EndReason::Removed | EndReason::Refused(_)) =>
            {
                self.ended = Some(ended);
            }
            Some(_) => {}
        }
        // If the other side ended it, a completion may still have the reason, as long as this side goes on polling.
        if is_here || self.ended != Some(EndReason::Peer) {
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

    /// Returns the reason for the end of the connection when the report is due.
    pub(super) fn take_report(&mut self) -> Option<EndReason> {
        if !matches!(self.report, EndReport::Due(_)) {
            return None;
        }
        if let EndReport::Due(ended) = mem::replace(&mut self.report, EndReport::Made) { Some(ended) } else { None }
    }

    /// Returns true if this is the thread of a server that serves the connection, which may block.
    pub(super) fn is_served_by(&self, thread: ThreadId) -> bool {
        self.server_thread == Some(thread)
    }

    /// Returns true if the connection is over, but some memory is still registered.
    pub(super) fn is_ending(&self) -> bool {
        self.ended.is_some() && !(self.closed && self.jobs.are_done())
    }

    /// Ends all calls, because no completion will come any more.
    pub(super) fn close(&mut self, resources: &Resources<V>) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.outgoing_calls.news = true;
        self.take_replies(resources);
        self.waiting.clear();
        let ended = self.ended.get_or_insert(EndReason::Peer).clone();
        self.report_end();
        self.outgoing_calls.lost(ended);
        self.outgoing_calls.woken.append(&mut self.end_wakers);
        if let Some(incoming_calls) = &mut self.incoming_calls {
            incoming_calls.lost(&mut self.jobs);
        }
        self.carry_out(resources);
        self.buffers.give_back_receives();
    }

    /// Handles messages that came before the end. A reply is still good; nobody would receive the answer to a call.
    pub(super) fn take_replies(&mut self, resources: &Resources<V>) {
        let Self { buffers, channel, outgoing_calls, incoming_calls, jobs, arrived, .. } = self;
        for Arrived { receive, length, invalidated } in mem::take(arrived) {
            // Its requests are no longer of use.
            let mut flow_control = FlowControl::new(channel, 0);
            while matches!(
                outgoing_calls.carry_out_next(resources, buffers, jobs, &mut flow_control, 0, None),
                Ok(true) | Err(EndReason::Peer)
            ) {}
            let _ = buffers.read_message(resources, receive, |octets| {
                let octets = octets.get(..length).unwrap_or_default();
                let is_reply = match channel.received(octets) {
                    Arrival::Version1 => {
                        incoming_calls.is_none() || outgoing_calls.direction(octets) == Direction::Reply
                    }
                    arrival => arrival == Arrival::Reply,
                };
                if is_reply {
                    let _ = outgoing_calls.received(receive, octets, invalidated);
                }
            });
        }
    }

    pub(crate) fn outgoing_calls(&mut self) -> &mut OutgoingCalls<V> {
        &mut self.outgoing_calls
    }

    /// Answers a call of the other side.
    pub(crate) fn reply(
        &mut self,
        resources: &Resources<V>,
        delivered: &mut DeliveredCall,
        protected: bool,
    ) -> Result<ReplyForm, ReplyFault> {
        let incoming_calls = self.incoming_calls.as_mut().ok_or(ReplyFault::NoCall)?;
        let done = incoming_calls.reply(delivered, protected);
        self.carry_out(resources);
        done
    }

    /// Forgets a call of the other side that has no reply.
    pub(crate) fn forget(&mut self, resources: &Resources<V>, delivered: &mut DeliveredCall) -> Result<(), ReplyFault> {
        let Self { incoming_calls, jobs, .. } = self;
        let incoming_calls = incoming_calls.as_mut().ok_or(ReplyFault::NoCall)?;
        let done = incoming_calls.forget(jobs, delivered);
        self.carry_out(resources);
        done
    }
}
