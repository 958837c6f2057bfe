//! Calls of this end, and the memory of these calls.

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::task::Waker;
use std::time::{Duration, Instant};

use rpcrdma::endpoint::SegmentLimits;
use rpcrdma::endpoint::requester::{self, End, Input, Memory, Output};
use rpcrdma::endpoint::{CallId, Direction, InputError, Item, RegisteredMemory, Terms};
use rpcrdma::rpc::MessageType;
use rpcrdma::segment::Segment;

use super::alarms::{Alarm, Alarms};
use super::buffers::{Buffers, OutgoingSend, Sent};
use super::call_queue::{CallQueue, QueuePosition, WaitMode};
use super::flow_control::FlowControl;
use super::jobs::Jobs;
use super::regions::{CopyBuffers, Regions};
use super::registration::{CallBuffer, CallRegistration};
use super::resources::{Provider, Resources};
use super::settings::Settings;
use super::tables::{LazyRequester, SEGMENT_LENGTH};
use super::work_id::WorkId;
use crate::message::call::{Call, CallError, Expects, Progress};
use crate::message::end_reason::{EndReason, InternalFault, PeerFault};
use crate::message::stream::Part;
use crate::verbs::{Error, NotRegistered};
use crate::verbs::{Local, Verbs};

/// The calls of one end.
pub(crate) struct OutgoingCalls<V: Verbs> {
    requester: LazyRequester,
    tickets: Vec<Ticket<V::Region>>,
    free: Vec<usize>,
    /// Ticket of the call in each slot of the Requester.
    of_call: Vec<usize>,
    /// Calls that were given up and have not ended, with their deadlines, the oldest first.
    given_up: VecDeque<GivenUpCall>,
    grace: Duration,
    /// Calls that were given up and have ended, at most `most_returned`.
    returned: VecDeque<Call>,
    most_returned: usize,
    /// RDMA Reads of replies that wait until the buffer is registered.
    unread_parts: VecDeque<ProvidedPart>,
    /// Calls that wait for a free slot of the Requester.
    queue: CallQueue,
    /// Futures to wake at these times.
    pub(super) alarms: Alarms,
    /// True if something has happened for which a thread may be waiting.
    pub(super) news: bool,
    /// Wakers to wake when the connection is no longer locked.
    pub(super) woken: Vec<Waker>,
    /// Wakers to drop when the connection is no longer locked.
    pub(super) spent: Vec<Waker>,
    items: Vec<Item>,
    capacities: Vec<u32>,
    xid: u32,
    /// Reason for the end of the connection.
    ended: Option<EndReason>,
}

/// A call that was given up and has not ended.
struct GivenUpCall {
    id: CallId,
    /// `None` for no deadline.
    deadline: Option<Instant>,
}

/// An RDMA Read of a part of a reply.
struct ProvidedPart {
    ticket: usize,
    source: Segment,
    /// Offset of the part in the reply.
    at: u32,
}

/// A call, until its outcome was taken.
struct Ticket<R> {
    call: Call,
    xid: u32,
    stage: CallStage,
    progress: Progress,
    regions: Regions<CallRegistration, R>,
    /// Reason why a buffer could not be registered.
    refused: Option<Error>,
    /// Reply that came while the reply buffer was registered.
    inline: Vec<u8>,
    /// The parts of a continued reply.
    parts: Vec<u8>,
    copies: CopyBuffers,
    waker: Option<Waker>,
    /// True if nobody will ask for the outcome.
    forgotten: bool,
}

/// Stage of a call.
#[derive(Default)]
enum CallStage {
    /// No call uses the ticket.
    #[default]
    Free,
    /// The Requester handles the call.
    Open(CallId),
    /// The Requester has finished, but some buffers of the call are still registered.
    Closing(End),
    Ended(Result<(), CallError>),
}

impl<V: Provider> OutgoingCalls<V> {
    /// `message_size`: maximum number of octets that one RDMA Read moves.
    pub(super) fn new(terms: Terms, settings: &Settings, message_size: u32) -> Self {
        Self {
            requester: LazyRequester::new(terms, settings, message_size),
            tickets: Vec::new(),
            free: Vec::new(),
            of_call: Vec::new(),
            given_up: VecDeque::new(),
            grace: settings.grace,
            returned: VecDeque::new(),
            most_returned: settings.returned,
            unread_parts: VecDeque::new(),
            queue: CallQueue::default(),
            alarms: Alarms::default(),
            news: false,
            woken: Vec::new(),
            spent: Vec::new(),
            items: Vec::new(),
            capacities: Vec::new(),
            xid: first_xid(),
            ended: None,
        }
    }

    /// Sets the terms of the calls that begin from now on.
    pub(super) fn agree(&mut self, terms: Terms, segments: Option<SegmentLimits>) {
        self.requester.agree(terms, segments);
    }

    /// Waits in the queue until [`agreed`](Self::agreed).
    pub(super) fn wait(&mut self, position: &mut QueuePosition, mode: WaitMode<'_>) {
        self.spent.extend(self.queue.wait(position, mode));
    }

    /// Wakes the first call in the queue, once the version of the connection is known.
    pub(super) fn agreed(&mut self) {
        self.wake_next();
    }

    pub(super) const fn xid(&mut self) -> u32 {
        self.xid = self.xid.wrapping_add(1);
        self.xid
    }

    /// Begins a call, and takes the contents of `call`. Without a free slot, or behind other waiting calls, the call
    /// enters the queue, and `None` is returned.
    pub(super) fn begin_call(
        &mut self,
        call: &mut Call,
        position: &mut QueuePosition,
        mode: WaitMode<'_>,
    ) -> Result<Option<usize>, CallError> {
        let begun = if self.queue.is_first(*position) { self.take_call(call) } else { Ok(None) };
        if begun == Ok(None) {
            self.spent.extend(self.queue.wait(position, mode));
        } else {
            self.leave(position);
        }
        begun
    }

    /// Leaves the queue, and wakes the next one if a slot is free.
    pub(crate) fn leave(&mut self, position: &mut QueuePosition) {
        self.spent.extend(self.queue.leave(position));
        self.wake_next();
    }

    /// Wakes the call that gets the free slot.
    fn wake_next(&mut self) {
        if self.requester.existing().is_none_or(|requester| !requester.is_full()) {
            self.news |= self.queue.begins_with_thread();
            self.woken.extend(self.queue.next_waker());
        }
    }

    /// Takes a call, if a slot is free.
    fn take_call(&mut self, call: &mut Call) -> Result<Option<usize>, CallError> {
        let refused = |error| Err(CallError::Refused(error));
        let Some(length) = call.stream.positions(&mut self.items) else {
            return refused(requester::CallRefusal::Items);
        };
        self.capacities.clear();
        for room in &call.results {
            match u32::try_from(room.len()) {
                Ok(room) if room <= SEGMENT_LENGTH => self.capacities.push(room),
                _ => return refused(requester::CallRefusal::Items),
            }
        }
        call.clear_outcome();
        call.choose_xid(|| self.xid());
        let head = call.stream.head();
        let begun = match call.expects() {
            Expects::Nothing => self.requester.get_requester().call_one_way(head, length),
            Expects::Reply => self.requester.get_requester().call(&requester::Call {
                head,
                length,
                arguments: &self.items,
                results: &self.capacities,
                reply_length: call.reply_length(),
                largest_capacity: call.max_buffer_length(),
            }),
        };
        let id = match begun {
            Ok(id) => id,
            Err(requester::CallRefusal::TooManyCalls) => return Ok(None),
            Err(error) => return refused(error),
        };
        let xid = MessageType::peek(head).map_or(0, |(xid, _)| xid);
        let number = self.free.pop().unwrap_or_else(|| {
            self.tickets.push(Ticket::default());
            self.tickets.len() - 1
        });
        if self.of_call.len() <= id.index() {
            self.of_call.resize(id.index() + 1, 0);
        }
        if let (Some(ticket), Some(slot)) = (self.tickets.get_mut(number), self.of_call.get_mut(id.index())) {
            *slot = number;
            (ticket.xid, ticket.stage, ticket.progress) = (xid, CallStage::Open(id), Progress::NotSent);
            call.made_with(xid);
            mem::swap(&mut ticket.call, call);
            call.made_with(xid);
        }
        Ok(Some(number))
    }

    /// Returns the outcome of a call that has ended, and puts the call back.
    pub(crate) fn outcome(&mut self, number: usize, call: &mut Call) -> Option<Result<(), CallError>> {
        let ticket = self.tickets.get_mut(number)?;
        let outcome = ticket.stage.take_outcome()?;
        mem::swap(&mut ticket.call, call);
        ticket.reset();
        self.free.push(number);
        Some(outcome)
    }

    /// Gives a call up, unless it has ended.
    pub(super) fn give_up(&mut self, number: usize) {
        if let Some(id) = self.tickets.get(number).and_then(Ticket::id)
            && self.requester.existing_mut().is_some_and(|requester| requester.cancel(id).is_ok())
        {
            self.given_up.push_back(GivenUpCall { id, deadline: Instant::now().checked_add(self.grace) });
        }
    }

    /// Returns the progress of a call that has not ended.
    pub(crate) fn progress(&self, number: usize) -> Progress {
        self.tickets.get(number).map_or(Progress::NotSent, |ticket| ticket.progress)
    }

    /// Marks that nobody will ask for the outcome. Returns the call's waker, to be dropped when nothing is locked.
    pub(crate) fn forget(&mut self, number: usize) -> Option<Waker> {
        let ticket = self.tickets.get_mut(number)?;
        ticket.forgotten = true;
        let waker = ticket.waker.take();
        if matches!(ticket.stage, CallStage::Ended(_)) {
            self.take_back(number);
        }
        waker
    }

    /// Takes back a given-up call that has ended.
    fn take_back(&mut self, number: usize) {
        let mut call = Call::default();
        self.outcome(number, &mut call);
        call.clear_outcome();
        self.keep_buffers(call);
    }

    /// Keeps the buffers of a given-up call, if the settings allow this.
    pub(crate) fn keep_buffers(&mut self, call: Call) {
        self.returned.push_back(call);
        if self.returned.len() > self.most_returned {
            self.returned.pop_front();
        }
    }

    /// Returns the next given-up call that has ended.
    pub(super) fn take_given_up_call(&mut self) -> Option<Call> {
        self.returned.pop_front()
    }

    /// Returns the deadline of the oldest given-up call.
    pub(super) fn grace_ends(&self) -> Option<Instant> {
        self.given_up.front().and_then(|call| call.deadline)
    }

    /// Sets the time to wake a future. The previous waker is dropped when nothing is locked.
    pub(crate) fn set_alarm(&mut self, alarm: &mut Option<Alarm>, when: Instant, waker: &Waker) {
        self.spent.extend(self.alarms.set_alarm(alarm, when, waker));
    }

    /// Takes the alarm of a future away.
    pub(crate) fn clear_alarm(&mut self, alarm: &mut Option<Alarm>) {
        self.spent.extend(self.alarms.clear_alarm(alarm));
    }

    /// Wakes the futures whose time has come.
    pub(super) fn ring(&mut self, now: Instant) {
        self.woken.extend(self.alarms.due(now));
    }

    /// Sets the waker of a call. Returns the previous one, as [`forget`](Self::forget) does.
    pub(crate) fn wake_by(&mut self, number: usize, waker: &Waker) -> Option<Waker> {
        self.tickets.get_mut(number)?.waker.replace(waker.clone())
    }

    /// Passes an event to the Requester. If this end has made no calls, the event is ignored.
    fn handle(&mut self, input: Input<'_>) -> Result<(), InputError> {
        self.requester.existing_mut().map_or(Ok(()), |requester| requester.handle(input))
    }

    /// Returns the direction of a Send, if there is a Responder too.
    pub(super) fn direction(&self, octets: &[u8]) -> Direction {
        Direction::detect(octets, |xid| self.requester.existing().is_some_and(|requester| requester.awaits(xid)))
    }

    /// A Send has come.
    pub(super) fn received(&mut self, receive: u32, octets: &[u8], invalidated: Option<u32>) -> Result<(), InputError> {
        let taken = self.requester.get_requester().handle(Input::Received { receive, octets, invalidated });
        // The reply to a call that was given up frees its slot, and nothing else reports that.
        self.wake_next();
        taken
    }

    /// Ends a reply of which the remaining parts will not come.
    pub(super) fn broken(&mut self, xid: u32) -> Result<(), InputError> {
        self.handle(Input::Broken { xid })
    }

    pub(super) fn sent(&mut self, call: CallId) {
        // A call that was lost meanwhile no longer exists.
        let _ = self.handle(Input::Sent { call });
    }

    pub(super) fn lost(&mut self, ended: EndReason) {
        self.ended = Some(ended);
        let _ = self.handle(Input::Disconnected);
        self.woken.extend(self.queue.all_wakers());
    }

    /// Carries out the next request of the Requester. Returns false if there was none. `occupied`: number of Receives
    /// not available for replies. `owed`: replies for which the other side waits; `None` if the other side makes no
    /// calls.
    pub(super) fn carry_out_next(
        &mut self,
        resources: &Resources<V>,
        buffers: &mut Buffers<V>,
        jobs: &mut Jobs<V>,
        flow_control: &mut FlowControl<'_>,
        occupied: u32,
        owed: Option<u32>,
    ) -> Result<bool, EndReason> {
        if self.read_next_part(resources, buffers)? {
            return Ok(true);
        }
        let Some(requester) = self.requester.existing_mut() else { return Ok(false) };
        if let Some(permitted) = flow_control.permitted_calls(occupied, owed, requester.awaited_replies()) {
            requester.permit(permitted);
        }
        let output = match requester.poll(&mut buffers.header) {
            Ok(None) => return Ok(false),
            Ok(Some(output)) => output,
            // Headers are no larger than the inline threshold.
            Err(_) => return Err(EndReason::Internal(InternalFault::Header)),
        };
        match output {
            Output::Register { call, region, memory } => self.register(jobs, call, region, &memory)?,
            Output::Send { call, header, payload } => {
                let number = self.of_call.get(call.index()).copied().unwrap_or_default();
                let ticket = self.tickets.get_mut(number).ok_or(EndReason::MISSING)?;
                flow_control.write_credits(occupied, &mut buffers.header);
                let (stream, purpose) = (&ticket.call.stream, Sent::Call(call));
                buffers.send(resources, OutgoingSend { header, payload, stream, purpose, invalidate: None })?;
                ticket.progress = Progress::Sent;
            }
            Output::Invalidate { call, region, .. } => {
                let number = self.number(call)?;
                if !self.ticket(number)?.regions.release(jobs, |id| id.region == Some(region)) {
                    self.handle(Input::Invalidated { call, region })?;
                }
            }
            Output::Place { call, receive, from, length, at } => {
                let number = self.number(call)?;
                let part = from..from.saturating_add(length as usize);
                self.ticket(number)?.place(resources, buffers, receive, part, at)?;
            }
            Output::Release { receive } => buffers.post_receive(resources, receive)?,
            Output::Done { call, end, results } => {
                let number = self.of_call.get(call.index()).copied().unwrap_or_default();
                let ticket = self.tickets.get_mut(number).ok_or(EndReason::MISSING)?;
                ticket.call.received.extend_from_slice(results);
                self.given_up.retain(|given_up| given_up.id != call);
                self.close(resources, buffers, jobs, number, end)?;
            }
            Output::Read { call, source, at } => {
                let number = self.number(call)?;
                self.ticket(number)?.register_provided_reply(jobs, number);
                self.unread_parts.push_back(ProvidedPart { ticket: number, source, at });
            }
            // No other input that it gets would end a connection.
            Output::Disconnect => return Err(EndReason::PeerFault(PeerFault::ReplyInvalidated)),
        }
        Ok(true)
    }

    fn number(&self, call: CallId) -> Result<usize, EndReason> {
        self.of_call.get(call.index()).copied().ok_or(EndReason::MISSING)
    }

    fn ticket(&mut self, number: usize) -> Result<&mut Ticket<V::Region>, EndReason> {
        self.tickets.get_mut(number).ok_or(EndReason::MISSING)
    }

    /// Reads the next part of a reply that the other side provides, if the buffer is registered. Returns false if there
    /// was none.
    fn read_next_part(&mut self, resources: &Resources<V>, buffers: &mut Buffers<V>) -> Result<bool, EndReason> {
        let region = |number: usize| {
            self.tickets.get(number).and_then(|ticket| ticket.regions.find(CallRegistration::is_provided_reply))
        };
        let Some(next) = self.unread_parts.iter().position(|part| region(part.ticket).is_some()) else {
            return Ok(false);
        };
        let ProvidedPart { ticket: number, source, at } = self.unread_parts.remove(next).ok_or(EndReason::MISSING)?;
        let region = region(number).ok_or(EndReason::MISSING)?;
        let work = WorkId::ReadReply(u32::try_from(number).map_err(|_| EndReason::MISSING)?);
        let local = Local { region, range: at as usize..at as usize + source.length as usize };
        buffers.transfer(resources, work, source, local)?;
        Ok(true)
    }

    /// Handles the completion of an RDMA Read of a reply.
    pub(super) fn finish_read(&mut self, number: u32) {
        if let Some(call) = self.tickets.get(number as usize).and_then(Ticket::id) {
            let _ = self.handle(Input::Completed { call });
        }
    }

    fn register(&mut self, jobs: &mut Jobs<V>, call: CallId, region: u16, memory: &Memory) -> Result<(), EndReason> {
        let ticket = self.number(call)?;
        match self.ticket(ticket)?.take_buffer(memory) {
            Some((buffer, kind)) => {
                let registration = CallRegistration { ticket, region: Some(region), kind };
                let ticket = self.ticket(ticket)?;
                let part = ticket.part(kind);
                ticket.regions.register(jobs, registration, buffer, part);
                Ok(())
            }
            None => Ok(self.tell_registered(call, region, None)?),
        }
    }

    fn tell_registered(&mut self, call: CallId, region: u16, segment: Option<Segment>) -> Result<(), InputError> {
        let memory = segment.map(|segment| RegisteredMemory { handle: segment.handle, offset: segment.offset });
        self.handle(Input::Registered { call, region, memory })
    }

    /// Passes registered memory to the Requester. If the handle is in use, registers the memory once more.
    fn offer(
        &mut self,
        jobs: &mut Jobs<V>,
        registration: CallRegistration,
        call: CallId,
        region: u16,
        segment: Option<Segment>,
    ) -> Result<(), EndReason> {
        match self.tell_registered(call, region, segment) {
            Err(InputError::HandleInUse) => {
                let ticket = self.ticket(registration.ticket)?;
                let part = ticket.part(registration.kind);
                if ticket.regions.register_again(jobs, registration, part) {
                    return Ok(());
                }
                Ok(self.tell_registered(call, region, None)?)
            }
            told => Ok(told?),
        }
    }

    /// Handles the end of a registration.
    pub(super) fn registered(
        &mut self,
        resources: &Resources<V>,
        jobs: &mut Jobs<V>,
        registration: CallRegistration,
        registered: Result<V::Region, NotRegistered>,
    ) -> Result<(), EndReason> {
        let ticket = self.ticket(registration.ticket)?;
        let segment = match ticket.regions.finish_registration(&resources.verbs, registration, registered) {
            Ok(segment) => Ok(segment),
            Err(NotRegistered { buffer, error }) => {
                ticket.put_back(registration, buffer);
                ticket.refused = Some(error.clone());
                Err(error)
            }
        };
        match (&ticket.stage, registration.region) {
            (CallStage::Open(call), Some(region)) => {
                let call = *call;
                self.offer(jobs, registration, call, region, segment.ok())
            }
            // A provided reply cannot come in another way.
            (CallStage::Open(_), None) => segment.map(drop).map_err(EndReason::from),
            _ => {
                self.settle(jobs, registration.ticket);
                Ok(())
            }
        }
    }

    /// Handles the end of a deregistration.
    pub(super) fn deregistered(
        &mut self,
        jobs: &mut Jobs<V>,
        registration: CallRegistration,
        buffer: Result<Vec<u8>, Error>,
    ) -> Result<(), EndReason> {
        let ticket = self.ticket(registration.ticket)?;
        ticket.regions.finish_deregistration(registration);
        let returned = buffer.map(|buffer| ticket.put_back(registration, buffer)).map_err(EndReason::from);
        match (&ticket.stage, registration.region) {
            (CallStage::Open(call), Some(region)) => {
                let call = *call;
                returned?;
                Ok(self.handle(Input::Invalidated { call, region })?)
            }
            _ => {
                self.settle(jobs, registration.ticket);
                returned
            }
        }
    }

    /// Deregisters all memory of a call that the Requester has finished with.
    fn close(
        &mut self,
        resources: &Resources<V>,
        buffers: &mut Buffers<V>,
        jobs: &mut Jobs<V>,
        number: usize,
        end: End,
    ) -> Result<(), EndReason> {
        self.unread_parts.retain(|part| part.ticket != number);
        let ticket = self.tickets.get_mut(number).ok_or(EndReason::MISSING)?;
        let taken = match &end {
            End::Reply { receive, payload } => {
                // The Receive is needed for the reply to the next call.
                let reply = if !ticket.regions.is_empty() { &mut ticket.inline } else { &mut ticket.call.reply };
                let taken = take_reply(resources, buffers, *receive, payload, reply);
                ticket.call.replied = 0..reply.len();
                taken
            }
            _ => Ok(()),
        };
        ticket.stage = match taken.clone() {
            Ok(()) => CallStage::Closing(end),
            // The thread or future that waits is woken in any case.
            Err(ended) => {
                self.ended.get_or_insert(ended);
                CallStage::Closing(End::Lost)
            }
        };
        self.settle(jobs, number);
        taken
    }

    /// Deregisters the remaining memory of a call that the Requester has finished with. When no memory is registered
    /// any more, the call has ended.
    fn settle(&mut self, jobs: &mut Jobs<V>, number: usize) {
        let Some(ticket) = self.tickets.get_mut(number) else { return };
        if !ticket.regions.release_all(jobs) {
            return;
        }
        let CallStage::Closing(end) = mem::take(&mut ticket.stage) else { return };
        let outcome = ticket.finish_call(end, self.ended.as_ref());
        if outcome.is_err() {
            ticket.call.clear_outcome();
        }
        ticket.stage = CallStage::Ended(outcome);
        self.news = true;
        self.woken.extend(ticket.waker.take());
        if ticket.forgotten {
            self.take_back(number);
        }
        self.wake_next();
    }
}

/// Copies a reply out of the Receive, and posts the Receive again.
fn take_reply<V: Provider>(
    resources: &Resources<V>,
    buffers: &mut Buffers<V>,
    receive: u32,
    payload: &Range<usize>,
    reply: &mut Vec<u8>,
) -> Result<(), EndReason> {
    reply.clear();
    buffers.read_message(resources, receive, |octets| {
        reply.extend_from_slice(octets.get(payload.clone()).unwrap_or_default());
    })?;
    match buffers.post_receive(resources, receive).map_err(EndReason::from) {
        // After the end of the connection, it is not needed.
        Ok(()) | Err(EndReason::Peer) => Ok(()),
        Err(ended) => Err(ended),
    }
}

impl CallStage {
    /// Takes the outcome of a call that has ended.
    fn take_outcome(&mut self) -> Option<Result<(), CallError>> {
        if !matches!(self, Self::Ended(_)) {
            return None;
        }
        if let Self::Ended(outcome) = mem::take(self) { Some(outcome) } else { None }
    }
}

impl<R> Default for Ticket<R> {
    fn default() -> Self {
        Self {
            call: Call::default(),
            xid: 0,
            stage: CallStage::Free,
            progress: Progress::NotSent,
            regions: Regions::default(),
            refused: None,
            inline: Vec::new(),
            parts: Vec::new(),
            copies: CopyBuffers::default(),
            waker: None,
            forgotten: false,
        }
    }
}

impl<R> Ticket<R> {
    /// Prepares the ticket for another call. Keeps the allocations.
    fn reset(&mut self) {
        self.regions.reset_tries();
        (self.stage, self.waker, self.forgotten) = (CallStage::Free, None, false);
        self.refused = None;
    }

    /// Returns the Requester's ID of an open call.
    const fn id(&self) -> Option<CallId> {
        if let CallStage::Open(id) = self.stage { Some(id) } else { None }
    }

    /// Registers a buffer for a provided reply, as long as the Requester may use.
    fn register_provided_reply<V: Verbs<Region = R>>(&mut self, jobs: &mut Jobs<V>, ticket: usize) {
        if self.regions.contains(CallRegistration::is_provided_reply) {
            return;
        }
        // Results that come with the rest, because RPCSEC_GSS covers them, need that much more.
        let results = self.call.results.iter().map(|result| result.len().next_multiple_of(4));
        let length = results.fold((self.call.reply_length() as usize).next_multiple_of(4), usize::saturating_add);
        let mut reply = mem::take(&mut self.call.reply);
        reply.resize(length, 0);
        self.regions.register(jobs, CallRegistration { ticket, region: None, kind: CallBuffer::Reply }, reply, None);
    }

    /// Returns the part of a buffer of the call that is registered; the rest is not exposed. `None` for the whole
    /// buffer.
    fn part(&self, kind: CallBuffer) -> Option<Range<usize>> {
        match kind {
            CallBuffer::Message(part) => Some(self.call.stream.place(part)),
            CallBuffer::Copy | CallBuffer::Result(_) | CallBuffer::Reply => None,
        }
    }

    /// Takes the buffer that holds exactly this memory of the call, or makes a copy.
    fn take_buffer(&mut self, memory: &Memory) -> Option<(Vec<u8>, CallBuffer)> {
        match memory {
            Memory::Argument(range) => {
                let all = |(part, within): &(Part, Range<usize>)| *within == self.call.stream.place(*part);
                if let Some((part, _)) = self.call.stream.part(range).filter(all) {
                    return Some((self.call.stream.take_buffer(part), CallBuffer::Message(part)));
                }
                let mut copy = self.copies.take_buffer(range.len());
                self.call.stream.gather(range, |octets| copy.extend_from_slice(octets));
                Some((copy, CallBuffer::Copy))
            }
            Memory::Result(number, range) => {
                let number = usize::from(*number);
                let mut result = mem::take(self.call.results.get_mut(number)?);
                // The other side may have asked for a longer buffer than before.
                result.resize(range.end as usize, 0);
                Some((result, CallBuffer::Result(number)))
            }
            Memory::Reply(range) => {
                let mut reply = mem::take(&mut self.call.reply);
                reply.resize(range.end as usize, 0);
                Some((reply, CallBuffer::Reply))
            }
        }
    }

    /// Appends a part of a reply.
    fn place<V: Provider<Region = R>>(
        &mut self,
        resources: &Resources<V>,
        buffers: &Buffers<V>,
        receive: u32,
        part: Range<usize>,
        at: u32,
    ) -> Result<(), EndReason> {
        let parts = &mut self.parts;
        // Removes what is left of an earlier call.
        parts.truncate(at as usize);
        buffers
            .read_message(resources, receive, |octets| parts.extend_from_slice(octets.get(part).unwrap_or_default()))?;
        Ok(())
    }

    fn put_back(&mut self, registration: CallRegistration, buffer: Vec<u8>) {
        match registration.kind {
            CallBuffer::Message(part) => self.call.stream.put_back(part, buffer),
            CallBuffer::Result(number) => {
                if let Some(result) = self.call.results.get_mut(number) {
                    *result = buffer;
                }
            }
            CallBuffer::Reply => self.call.reply = buffer,
            CallBuffer::Copy => self.copies.keep_buffer(buffer),
        }
    }

    /// Returns the outcome of a call whose buffers are all back.
    fn finish_call(&mut self, end: End, ended: Option<&EndReason>) -> Result<(), CallError> {
        match end {
            End::Reply { .. } => {
                if !self.inline.is_empty() {
                    mem::swap(&mut self.inline, &mut self.call.reply);
                    self.inline.clear();
                }
                Ok(())
            }
            End::LongReply(length) | End::ContinuedReply(length) => {
                if matches!(end, End::ContinuedReply(_)) {
                    mem::swap(&mut self.parts, &mut self.call.reply);
                }
                self.call.replied = 0..length as usize;
                match MessageType::peek(self.call.reply()) {
                    Some((xid, MessageType::REPLY)) if xid == self.xid => Ok(()),
                    _ => Err(CallError::NoReply),
                }
            }
            End::Sent => Ok(()),
            End::Error(error) => Err(CallError::Error(error)),
            End::ErrorV2(error) => Err(CallError::ErrorV2(error)),
            End::NoRoom(_) | End::BadReply => Err(CallError::NoReply),
            End::NotRegistered => Err(match self.refused.take() {
                Some(Error::Removed) => CallError::Lost(EndReason::Removed, self.progress),
                // The adapter has given the same handle too often.
                refused => CallError::NotRegistered(refused.unwrap_or(Error::Exhausted)),
            }),
            End::Cancelled => Err(CallError::TimedOut(self.progress)),
            End::Lost => Err(CallError::Lost(ended.cloned().unwrap_or(EndReason::Peer), self.progress)),
        }
    }
}

/// Returns an unpredictable XID, so that a connection does not reuse the XIDs of the one before.
fn first_xid() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_connections_begin_with_different_xids() {
        assert_ne!(first_xid(), first_xid());
    }
}
