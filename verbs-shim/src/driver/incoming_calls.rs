//! Calls of the other side, and the memory that answering takes.

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::time::{Duration, Instant};

use rpcrdma::endpoint::responder::{self, CallMessage, Input, Output, ReplyFault, ReplyForm};
use rpcrdma::endpoint::{CallId, InputError, Item, RegisteredMemory, Terms};
use rpcrdma::rpc::MessageType;
use rpcrdma::segment::Segment;
use rpcrdma::v2::ErrorBodyV2;

use super::buffers::{Buffers, OutgoingSend, Sent};
use super::flow_control::FlowControl;
use super::jobs::Jobs;
use super::regions::{CopyBuffers, Regions};
use super::registration::{AnswerBuffer, AnswerRegistration, Source};
use super::resources::{Provider, Resources};
use super::settings::{Delays, Settings};
use super::tables::GrowingResponder;
use super::work_id::WorkId;
use crate::message::end_reason::{EndReason, InternalFault, PeerFault};
use crate::message::stream::{Part, Stream};
use crate::verbs::{Error, NotRegistered};
use crate::verbs::{Local, Verbs};

/// Maximum time for which a reply is provided, or an operation delayed: a year, so that no clock overflows.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// The calls of the other side.
pub(crate) struct IncomingCalls<V: Verbs> {
    responder: GrowingResponder,
    /// Time that the other side has to read a provided reply.
    provides: Duration,
    delays: Delays,
    /// Number of answers with a deadline: provided replies, and delayed ones.
    timed: usize,
    answers: Vec<Answer<V::Region>>,
    free: Vec<usize>,
    /// The answer to the call in each slot of the Responder.
    of_call: Vec<Option<usize>>,
    /// Calls for the application.
    delivered: VecDeque<usize>,
    /// True if a call was added to `delivered` since the last look.
    pub(super) news: bool,
    items: Vec<Item>,
}

/// A call of the other side, until the reply has been sent.
struct Answer<R> {
    call: Option<CallId>,
    stage: AnswerStage,
    xid: u32,
    /// The complete call.
    message: Vec<u8>,
    reply: Stream,
    /// Memory in which the call is assembled, and buffers of the reply.
    regions: Regions<AnswerRegistration, R>,
    /// Deadline for the other side to read the reply.
    provided: Option<Instant>,
    delay: AnswerDelay,
    copies: CopyBuffers,
}

/// Stage of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AnswerStage {
    /// No call uses this entry.
    #[default]
    Free,
    /// In use until the Send of the reply has completed, or the other side has read the reply.
    Open,
    /// Like `Open`, but memory for the Responder's last request could not be registered.
    Refused,
    /// All memory is being deregistered. If there is a Call, the Responder waits for that.
    Closing(Option<CallId>),
}

/// State of the delay before the next RDMA Read, or before the RDMA Writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AnswerDelay {
    #[default]
    Ahead,
    Until(Instant),
    Over,
}

/// Octets of a received Send, from an offset on.
struct SendOctets {
    receive: u32,
    from: usize,
}

/// A call that is passed to the application.
#[derive(Default)]
pub(crate) struct DeliveredCall {
    pub(crate) number: usize,
    pub(crate) xid: u32,
    pub(crate) message: Vec<u8>,
    /// An empty reply, with the buffers of earlier ones.
    pub(crate) reply: Stream,
}

impl<V: Provider> IncomingCalls<V> {
    /// `message_size`: maximum number of octets that one RDMA Read or Write moves. `refused`: XIDs of calls that ended
    /// the connection before (RFC 8166 section 4.5.3).
    pub(super) fn new(terms: Terms, settings: &Settings, message_size: u32, refused: &[u32]) -> Self {
        Self {
            responder: GrowingResponder::new(terms, settings, message_size, refused),
            provides: settings.provides_replies.unwrap_or_default().min(LONGEST),
            delays: settings.delays,
            timed: 0,
            answers: Vec::new(),
            free: Vec::new(),
            of_call: Vec::new(),
            delivered: VecDeque::new(),
            news: false,
            items: Vec::new(),
        }
    }

    /// Sets the terms of the calls that come from now on.
    pub(super) fn agree(&mut self, terms: Terms) {
        self.responder.agree(terms);
    }

    /// Returns the number of unanswered calls whose Receives are posted again.
    pub(super) fn occupied(&self) -> u32 {
        self.responder.occupied()
    }

    /// Returns the number of unanswered calls.
    pub(super) fn owed(&self) -> u32 {
        self.responder.owed_replies()
    }

    /// Returns true if a slot is free for one more call.
    pub(super) fn has_free_slot(&self) -> bool {
        self.responder.has_capacity()
    }

    /// A Send has come.
    pub(super) fn received(&mut self, receive: u32, octets: &[u8]) -> Result<(), InputError> {
        self.responder.enlarge_table();
        self.responder.handle(Input::Received { receive, octets })
    }

    /// Drops a call of which the remaining parts will not come.
    pub(super) fn broken(&mut self, xid: u32, error: ErrorBodyV2) -> Result<(), InputError> {
        self.responder.handle(Input::Broken { xid, error })
    }

    /// An RDMA Read is complete.
    pub(super) fn finish_read(&mut self, number: u32) {
        if let Some(call) = self.answers.get(number as usize).and_then(|answer| answer.call) {
            let _ = self.responder.handle(Input::Completed { call });
        }
    }

    /// Frees the memory of an answer, because the Send of the reply has completed, and all earlier work of the reply.
    pub(super) fn sent(&mut self, jobs: &mut Jobs<V>, number: usize) {
        self.close(jobs, number, None);
    }

    /// Returns true if the application has calls to answer, or will get some.
    pub(super) fn is_busy(&self) -> bool {
        self.answers.iter().any(|answer| answer.call.is_some() && answer.provided.is_none())
    }

    /// Returns the XID of an unanswered call.
    pub(super) fn xid(&self, number: u32) -> Option<u32> {
        self.answers.get(number as usize).filter(|answer| answer.stage != AnswerStage::Free).map(|answer| answer.xid)
    }

    /// Ends all answers, because the connection is over.
    pub(super) fn lost(&mut self, jobs: &mut Jobs<V>) {
        let _ = self.responder.handle(Input::Disconnected);
        self.delivered.clear();
        self.timed = 0;
        self.of_call.clear();
        for number in 0..self.answers.len() {
            self.close(jobs, number, None);
        }
    }

    /// The next call for the application.
    pub(super) fn next_call(&mut self) -> Option<DeliveredCall> {
        let number = self.delivered.pop_front()?;
        let answer = self.answers.get_mut(number)?;
        let (message, reply) = (mem::take(&mut answer.message), mem::take(&mut answer.reply));
        Some(DeliveredCall { number, xid: answer.xid, message, reply })
    }

    /// Answers a call, and moves the buffers of `delivered` into the answer.
    pub(super) fn reply(&mut self, delivered: &mut DeliveredCall, protected: bool) -> Result<ReplyForm, ReplyFault> {
        let answer = self.answers.get_mut(delivered.number).ok_or(ReplyFault::NoCall)?;
        let call = answer.call.ok_or(ReplyFault::NoCall)?;
        let length = delivered.reply.positions(&mut self.items).ok_or(ReplyFault::Items)?;
        let given = responder::Reply { head: delivered.reply.head(), length, results: &self.items, protected };
        let form = self.responder.reply(call, &given)?;
        (answer.message, answer.reply) = (mem::take(&mut delivered.message), mem::take(&mut delivered.reply));
        Ok(form)
    }

    /// Ends a call that has no reply, and moves the buffers of `delivered` into the answer.
    pub(super) fn forget(&mut self, jobs: &mut Jobs<V>, delivered: &mut DeliveredCall) -> Result<(), ReplyFault> {
        let answer = self.answers.get_mut(delivered.number).ok_or(ReplyFault::NoCall)?;
        let call = answer.call.ok_or(ReplyFault::NoCall)?;
        self.responder.forget(call)?;
        (answer.message, answer.reply) = (mem::take(&mut delivered.message), mem::take(&mut delivered.reply));
        self.of_call.get_mut(call.index()).map(Option::take);
        self.close(jobs, delivered.number, None);
        Ok(())
    }

    /// Carries out the next request of the Responder. Returns false if there was none. `occupied`: unanswered calls
    /// whose Receives are posted again; only for version 2.
    pub(super) fn carry_out_next(
        &mut self,
        resources: &Resources<V>,
        buffers: &mut Buffers<V>,
        jobs: &mut Jobs<V>,
        flow_control: &mut FlowControl<'_>,
        occupied: u32,
    ) -> Result<bool, EndReason> {
        // The call that is answered gives up what it occupied.
        if let Some(permitted) = flow_control.permitted_replies(occupied.saturating_sub(1)) {
            self.responder.permit(permitted);
        }
        let output = match self.responder.poll(&mut buffers.header) {
            Ok(None) => return Ok(false),
            Ok(Some(output)) => output,
            // Headers are no larger than the inline threshold.
            Err(_) => return Err(EndReason::Internal(InternalFault::Header)),
        };
        match output {
            Output::Release { receive } => buffers.release(resources, receive)?,
            Output::Place { call, receive, from, length, at } => {
                let target = at as usize..at as usize + length as usize;
                self.place(resources, buffers, call, SendOctets { receive, from }, target)?;
            }
            Output::Read { call, source, at } => self.read(resources, buffers, jobs, call, source, at)?,
            Output::Deliver { call, message } => self.deliver(resources, buffers, jobs, call, message)?,
            Output::Write { call, from, target } => self.write(resources, buffers, jobs, call, from, target)?,
            Output::Send { call, header, payload, invalidate, is_last } => {
                let (sent, stream) = carried(&mut self.of_call, &mut self.answers, call, is_last)?;
                flow_control.write_credits(occupied.saturating_sub(u32::from(is_last)), &mut buffers.header);
                let (none, purpose) = (Stream::default(), sent);
                let stream = stream.unwrap_or(&none);
                buffers.send(resources, OutgoingSend { header, payload, stream, purpose, invalidate })?;
            }
            Output::Register { call, length } => self.provide(resources, jobs, call, length)?,
            Output::Invalidate { call, .. } => self.fence(jobs, call)?,
            // No other input that it gets would end a connection.
            Output::Disconnect => return Err(EndReason::PeerFault(PeerFault::CreditExceeded)),
        }
        Ok(true)
    }

    /// Copies a part of a call from a Send into the message.
    fn place(
        &mut self,
        resources: &Resources<V>,
        buffers: &Buffers<V>,
        call: CallId,
        source: SendOctets,
        target: Range<usize>,
    ) -> Result<(), EndReason> {
        let number = self.number_or_begin(call)?;
        let message = &mut self.answer(number)?.message;
        if message.len() < target.end {
            // A part of a continued call.
            message.resize(target.end, 0);
        }
        let target = message.get_mut(target).ok_or(EndReason::MISSING)?;
        let copied = buffers.read_message(resources, source.receive, |octets| {
            let source = octets.get(source.from..).and_then(|rest| rest.get(..target.len()));
            source.map(|source| target.copy_from_slice(source))
        })?;
        copied.ok_or(EndReason::MISSING)
    }

    /// Deregisters a reply that the other side has read, or has not read in time.
    fn fence(&mut self, jobs: &mut Jobs<V>, call: CallId) -> Result<(), EndReason> {
        let number = self.of_call.get_mut(call.index()).and_then(Option::take).ok_or(EndReason::MISSING)?;
        self.timed = self.timed.saturating_sub(1);
        self.close(jobs, number, Some(call));
        Ok(())
    }

    /// Starts to register a whole reply, for the other side to read.
    fn provide(
        &mut self,
        resources: &Resources<V>,
        jobs: &mut Jobs<V>,
        call: CallId,
        length: u32,
    ) -> Result<(), EndReason> {
        let number = self.number(call).ok_or(EndReason::MISSING)?;
        let answer = self.answer(number)?;
        // Of a single buffer, only the range may be exposed.
        let whole = |(part, local): &(Part, Range<usize>)| *local == (0..answer.reply.part_len(*part));
        let part = answer.reply.part(&(0..length)).filter(whole);
        let source = part.map_or(Source::Copy(0), |(part, _)| Source::Part(part));
        let buffer = answer.take_reply_buffer(resources, source, length)?;
        let id = AnswerRegistration { answer: number, kind: AnswerBuffer::Provided(source) };
        answer.regions.register(jobs, id, buffer, None);
        Ok(())
    }

    /// Handles the end of a registration.
    pub(super) fn registered(
        &mut self,
        resources: &Resources<V>,
        jobs: &mut Jobs<V>,
        registration: AnswerRegistration,
        registered: Result<V::Region, NotRegistered>,
    ) -> Result<(), EndReason> {
        let answer = self.answer(registration.answer)?;
        let segment = match answer.regions.finish_registration(&resources.verbs, registration, registered) {
            Ok(segment) => Some(segment),
            Err(NotRegistered { buffer, .. }) => {
                answer.put_back(registration.kind, buffer);
                None
            }
        };
        match (answer.stage, answer.call, registration.kind) {
            (AnswerStage::Closing(_) | AnswerStage::Free, ..) | (_, None, _) => self.settle(jobs, registration.answer),
            (AnswerStage::Open | AnswerStage::Refused, Some(call), AnswerBuffer::Provided(_)) => {
                self.is_provided(jobs, registration, call, segment)?;
            }
            (AnswerStage::Open | AnswerStage::Refused, Some(call), AnswerBuffer::Call | AnswerBuffer::Reply(_)) => {
                answer.stage = if segment.is_some() { AnswerStage::Open } else { AnswerStage::Refused };
                self.responder.handle(Input::Resumed { call })?;
            }
        }
        Ok(())
    }

    /// Handles the end of a registration of memory from which the other side is to read a reply.
    fn is_provided(
        &mut self,
        jobs: &mut Jobs<V>,
        registration: AnswerRegistration,
        call: CallId,
        segment: Option<Segment>,
    ) -> Result<(), EndReason> {
        let memory = segment.map(|segment| RegisteredMemory { handle: segment.handle, offset: segment.offset });
        let mut told = self.responder.handle(Input::Registered { call, memory });
        let answer = self.answers.get_mut(registration.answer).ok_or(EndReason::MISSING)?;
        match told {
            Ok(()) if memory.is_some() => {
                answer.provided = Some(Instant::now() + self.provides);
                self.timed += 1;
            }
            Err(InputError::HandleInUse) if answer.regions.register_again(jobs, registration, None) => told = Ok(()),
            Err(InputError::HandleInUse) => told = self.responder.handle(Input::Registered { call, memory: None }),
            _ => {}
        }
        Ok(told?)
    }

    /// Handles the end of a deregistration.
    pub(super) fn deregistered(
        &mut self,
        jobs: &mut Jobs<V>,
        registration: AnswerRegistration,
        buffer: Result<Vec<u8>, Error>,
    ) -> Result<(), EndReason> {
        let answer = self.answer(registration.answer)?;
        answer.regions.finish_deregistration(registration);
        let returned = buffer.map(|buffer| answer.put_back(registration.kind, buffer));
        if let (AnswerStage::Open, Some(call), AnswerBuffer::Call) = (answer.stage, answer.call, registration.kind) {
            returned?;
            self.hand_over(registration.answer, call)
        } else {
            self.settle(jobs, registration.answer);
            Ok(())
        }
    }

    /// Nothing of an answer is in progress any more: deregisters the memory. The Responder may wait for that.
    fn close(&mut self, jobs: &mut Jobs<V>, number: usize, call: Option<CallId>) {
        if let Some(answer) = self.answers.get_mut(number)
            && answer.stage != AnswerStage::Free
        {
            answer.stage = AnswerStage::Closing(call);
            self.settle(jobs, number);
        }
    }

    /// Deregisters the remaining memory of a closed answer. When no memory is registered any more, the answer is free.
    fn settle(&mut self, jobs: &mut Jobs<V>, number: usize) {
        let Some(answer) = self.answers.get_mut(number) else { return };
        let AnswerStage::Closing(call) = answer.stage else { return };
        if !answer.regions.release_all(jobs) {
            return;
        }
        answer.reply.start_with(&[]);
        answer.regions.reset_tries();
        (answer.call, answer.stage, answer.provided) = (None, AnswerStage::Free, None);
        answer.delay = AnswerDelay::Ahead;
        self.free.push(number);
        if let Some(call) = call {
            // A connection that is over has forgotten it.
            let _ = self.responder.handle(Input::Invalidated { call });
        }
    }

    /// Returns true if there is a call for the application.
    pub(super) fn has_next(&self) -> bool {
        !self.delivered.is_empty()
    }

    /// Returns the earliest deadline: for reading a provided reply, or the end of a delay.
    pub(super) fn next_end(&self) -> Option<Instant> {
        (self.timed > 0).then(|| self.answers.iter().filter_map(Answer::ends).min()).flatten()
    }

    /// Ends replies that were not read in time, and resumes delayed answers.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.timed == 0 {
            return;
        }
        for answer in self.answers.iter_mut().filter(|answer| answer.ends().is_some_and(|ends| ends <= now)) {
            let Some(call) = answer.call else { continue };
            if answer.provided.is_some() {
                // An end that has begun is completed as soon as the send queue has a free entry.
                let _ = self.responder.expire(call);
                answer.provided = Some(now + LONGEST);
            } else {
                answer.delay = AnswerDelay::Over;
                self.timed -= 1;
                // It was postponed, so it can be resumed.
                let _ = self.responder.handle(Input::Resumed { call });
            }
        }
    }

    /// Returns true if the Responder's request has to wait. The Responder then asks again later.
    fn is_delayed(&mut self, number: usize, call: CallId, delay: Duration) -> Result<bool, EndReason> {
        let answer = self.answer(number)?;
        if delay.is_zero() || answer.delay == AnswerDelay::Over {
            return Ok(false);
        }
        answer.delay = AnswerDelay::Until(Instant::now() + delay.min(LONGEST));
        self.timed += 1;
        self.responder.handle(Input::Postponed { call })?;
        Ok(true)
    }

    fn number(&self, call: CallId) -> Option<usize> {
        self.of_call.get(call.index()).copied().flatten()
    }

    fn answer(&mut self, number: usize) -> Result<&mut Answer<V::Region>, EndReason> {
        self.answers.get_mut(number).ok_or(EndReason::MISSING)
    }

    /// Returns the number of the answer to a call. A new answer has memory to assemble the call in.
    fn number_or_begin(&mut self, call: CallId) -> Result<usize, EndReason> {
        self.number(call).map_or_else(|| self.begin_answer(call), Ok)
    }

    fn begin_answer(&mut self, call: CallId) -> Result<usize, EndReason> {
        let number = self.free.pop().unwrap_or_else(|| {
            self.answers.push(Answer::default());
            self.answers.len() - 1
        });
        if self.of_call.len() <= call.index() {
            self.of_call.resize(call.index() + 1, None);
        }
        let slot = self.of_call.get_mut(call.index()).ok_or(EndReason::MISSING)?;
        *slot = Some(number);
        let answer = self.answers.get_mut(number).ok_or(EndReason::MISSING)?;
        (answer.call, answer.stage) = (Some(call), AnswerStage::Open);
        answer.xid = self.responder.xid(call).ok_or(EndReason::MISSING)?;
        let length = self.responder.length(call).ok_or(EndReason::MISSING)?;
        answer.message.resize(length as usize, 0);
        self.responder.padding(call, &mut |padding| {
            if let Some(octets) = answer.message.get_mut(padding.start as usize..padding.end as usize) {
                octets.fill(0);
            }
        });
        Ok(number)
    }

    /// Reads a part of a call by RDMA, after registering the memory.
    fn read(
        &mut self,
        resources: &Resources<V>,
        buffers: &mut Buffers<V>,
        jobs: &mut Jobs<V>,
        call: CallId,
        source: Segment,
        at: u32,
    ) -> Result<(), EndReason> {
        let number = self.number_or_begin(call)?;
        if self.is_delayed(number, call, self.delays.read)? {
            return Ok(());
        }
        let answer = self.answer(number)?;
        let id = AnswerRegistration { answer: number, kind: AnswerBuffer::Call };
        if let Some(region) = answer.regions.find(|registered| registered == id) {
            answer.delay = AnswerDelay::Ahead;
            let local = Local { region, range: at as usize..at as usize + source.length as usize };
            return Ok(buffers.transfer(resources, WorkId::Read(work_number(number)?), source, local)?);
        }
        let next = if answer.stage == AnswerStage::Refused {
            Input::NotPosted { call }
        } else {
            answer.regions.register(jobs, id, mem::take(&mut answer.message), None);
            Input::Postponed { call }
        };
        Ok(self.responder.handle(next)?)
    }

    /// Writes a part of a reply by RDMA, after registering the memory.
    fn write(
        &mut self,
        resources: &Resources<V>,
        buffers: &mut Buffers<V>,
        jobs: &mut Jobs<V>,
        call: CallId,
        from: u32,
        target: Segment,
    ) -> Result<(), EndReason> {
        let number = self.number(call).ok_or(EndReason::MISSING)?;
        if self.is_delayed(number, call, self.delays.write)? {
            return Ok(());
        }
        let answer = self.answer(number)?;
        let range = from..from.checked_add(target.length).ok_or(EndReason::MISSING)?;
        let (source, range) = match answer.reply.part(&range) {
            Some((part, range)) => (Source::Part(part), range),
            None => (Source::Copy(from), 0..range.len()),
        };
        if let Some(region) = answer.regions.find(|registered| registered.kind.source() == Some(source)) {
            let local = Local { region, range };
            return Ok(buffers.transfer(resources, WorkId::Write(work_number(number)?), target, local)?);
        }
        let next = if answer.stage == AnswerStage::Refused {
            Input::NotPosted { call }
        } else {
            let buffer = answer.take_reply_buffer(resources, source, target.length)?;
            let id = AnswerRegistration { answer: number, kind: AnswerBuffer::Reply(source) };
            answer.regions.register(jobs, id, buffer, None);
            Input::Postponed { call }
        };
        Ok(self.responder.handle(next)?)
    }

    /// Completes a call. A call that was read by RDMA first leaves its region.
    fn deliver(
        &mut self,
        resources: &Resources<V>,
        buffers: &mut Buffers<V>,
        jobs: &mut Jobs<V>,
        call: CallId,
        message: CallMessage,
    ) -> Result<(), EndReason> {
        let number = self.number_or_begin(call)?;
        let answer = self.answer(number)?;
        match message {
            CallMessage::Inline { receive, from, length } => {
                let copied = buffers.read_message(resources, receive, |octets| {
                    let octets = octets.get(from..).and_then(|rest| rest.get(..length as usize))?;
                    answer.message.copy_from_slice(octets);
                    Some(())
                })?;
                copied.ok_or(EndReason::MISSING)?;
                buffers.release_copied(receive)?;
            }
            CallMessage::Assembled { .. } => {
                if answer.regions.release(jobs, |id| id.kind == AnswerBuffer::Call) {
                    return Ok(());
                }
            }
        }
        self.hand_over(number, call)
    }

    /// Passes a call to the application. The octets read by RDMA may be anything.
    fn hand_over(&mut self, number: usize, call: CallId) -> Result<(), EndReason> {
        let answer = self.answer(number)?;
        if MessageType::peek(&answer.message) == Some((answer.xid, MessageType::CALL)) {
            self.delivered.push_back(number);
            self.news = true;
            Ok(())
        } else {
            self.responder.refuse(call).map_err(|_| EndReason::MISSING)
        }
    }
}

/// Returns the purpose and the stream of a reply's Send. The Responder then forgets the call, unless the other side is
/// to read the reply; and nothing was kept of a call that was refused at once. A part of a continued reply is copied,
/// so the Send needs no memory of the answer.
fn carried<'a, R>(
    of_call: &mut [Option<usize>],
    answers: &'a mut [Answer<R>],
    call: CallId,
    is_last: bool,
) -> Result<(Sent, Option<&'a Stream>), EndReason> {
    // Nothing was kept of a call that was refused before any other came.
    let Some(slot) = of_call.get_mut(call.index()) else { return Ok((Sent::Nothing, None)) };
    let answer = slot.and_then(|number| answers.get_mut(number)).filter(|answer| answer.provided.is_none());
    let (Some(answer), Some(number)) = (answer, *slot) else { return Ok((Sent::Nothing, None)) };
    if !is_last {
        return Ok((Sent::Nothing, Some(&answer.reply)));
    }
    (answer.call, *slot) = (None, None);
    Ok((Sent::Reply(number), Some(&answer.reply)))
}

/// Returns the number of an answer as work requests carry it.
fn work_number(number: usize) -> Result<u32, EndReason> {
    u32::try_from(number).map_err(|_| EndReason::MISSING)
}

impl<R> Default for Answer<R> {
    fn default() -> Self {
        Self {
            call: None,
            stage: AnswerStage::Free,
            xid: 0,
            message: Vec::new(),
            reply: Stream::default(),
            regions: Regions::default(),
            provided: None,
            delay: AnswerDelay::Ahead,
            copies: CopyBuffers::default(),
        }
    }
}

impl<R> Answer<R> {
    /// Returns the deadline of the answer.
    const fn ends(&self) -> Option<Instant> {
        match self.delay {
            AnswerDelay::Until(until) => Some(until),
            AnswerDelay::Ahead | AnswerDelay::Over => self.provided,
        }
    }

    /// Puts a buffer back.
    fn put_back(&mut self, kind: AnswerBuffer, buffer: Vec<u8>) {
        match kind {
            AnswerBuffer::Call => self.message = buffer,
            AnswerBuffer::Reply(Source::Part(part)) | AnswerBuffer::Provided(Source::Part(part)) => {
                self.reply.put_back(part, buffer)
            }
            AnswerBuffer::Reply(Source::Copy(_)) | AnswerBuffer::Provided(Source::Copy(_)) => {
                self.copies.keep_buffer(buffer);
            }
        }
    }

    /// Takes a buffer of the reply, or copies `length` octets of the reply.
    fn take_reply_buffer<V: Verbs<Region = R>>(
        &mut self,
        resources: &Resources<V>,
        source: Source,
        length: u32,
    ) -> Result<Vec<u8>, Error> {
        match source {
            Source::Part(part) => Ok(self.reply.take_buffer(part)),
            Source::Copy(from) => self.copy_range(resources, &(from..from.saturating_add(length))),
        }
    }

    /// Copies a range of the reply, part of which may be in registered memory.
    fn copy_range<V: Verbs<Region = R>>(
        &mut self,
        resources: &Resources<V>,
        range: &Range<u32>,
    ) -> Result<Vec<u8>, Error> {
        let (mut copy, mut done) = (self.copies.take_buffer(range.len()), Ok(()));
        self.reply.pieces(range, |part, within| {
            let take = |octets: &[u8]| copy.extend_from_slice(octets.get(within).unwrap_or_default());
            let source = part.map(Source::Part);
            match self.regions.find(|id| source.is_some() && id.kind.source() == source) {
                Some(region) => done = done.clone().and(resources.verbs.read(region, take)),
                None => take(self.reply.octets(part)),
            }
        });
        done.map(|()| copy)
    }
}
