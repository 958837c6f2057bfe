//! The Responder of a connection, and the memory of the calls it answers.

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::time::{Duration, Instant};

use rpcrdma::endpoint::responder::{self, Form, Input, InputError, Message, Output, ReplyFault};
use rpcrdma::endpoint::{CallId, Item, Responder, Terms};
use rpcrdma::rpc::MessageType;
use rpcrdma::segment::Segment;

use super::buffers::{Buffers, Sent};
use super::settings::READS;
use super::{Ended, MAX_CALLS, Port, Provider, SINK, Settings, Work};
use crate::error::Error;
use crate::stream::{Part, Stream};
use crate::verbs::{Access, Local, Verbs};

const CALLS: usize = MAX_CALLS as usize;
/// Octets of the header of a Call that has chunks.
const HEADER: usize = 2048;
/// Copies whose buffers are kept for the next reply.
const MAX_COPIES: usize = 4;
/// Read chunks of a Call, and Write chunks.
const CHUNKS: usize = 16;

/// As long a reply may be provided: a year, so that no clock runs over.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// The calls of the other side.
pub(crate) struct Answering<V: Verbs> {
    responder: Box<Responder<CALLS, HEADER, CHUNKS>>,
    /// How long the other side may take to pull a reply.
    provides: Duration,
    /// Replies that wait for that.
    provided: usize,
    answers: Vec<Answer<V::Region>>,
    free: Vec<usize>,
    /// The answer to the call in each place of the Responder.
    of_call: [Option<usize>; CALLS],
    /// Those that are to be handed to the application.
    delivered: VecDeque<usize>,
    /// One was added to them.
    pub(super) news: bool,
    items: Vec<Item>,
}

/// A call that is answered, until its reply is on its way.
struct Answer<R> {
    call: Option<CallId>,
    /// Until the Send of its reply is complete.
    is_used: bool,
    xid: u32,
    /// The call, whole.
    message: Vec<u8>,
    /// Where it is put together, while it is.
    pulled: Option<R>,
    reply: Stream,
    regions: Vec<(Option<Part>, R)>,
    /// Until when the reply waits to be pulled.
    provided: Option<Instant>,
    /// Copies of replies before, to be overwritten.
    copies: Vec<Vec<u8>>,
}

/// A call that is handed to the application.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) number: usize,
    pub(crate) xid: u32,
    pub(crate) message: Vec<u8>,
    /// An empty one, with the buffers of replies before.
    pub(crate) reply: Stream,
}

impl<V: Provider> Answering<V> {
    /// `message_size`: octets that one RDMA Read or Write moves at most. `refused` are the XIDs of calls that ended the
    /// connection before (RFC 8166 section 4.5.3).
    pub(super) fn new(terms: Terms, settings: &Settings, message_size: u32, refused: &[u32]) -> Self {
        let mut responder = Box::new(Responder::new(terms, settings.limits));
        // As many Receives are posted; `Settings` has seen that it can be.
        let _ = responder.grant(settings.served);
        responder.limit_reads(READS as u32);
        responder.limit_transfers(message_size);
        refused.iter().for_each(|&xid| responder.refuse_xid(xid));
        if settings.provides_replies.is_some() {
            responder.provide_replies(settings.served);
        }
        Self {
            responder,
            provides: settings.provides_replies.unwrap_or_default().min(LONGEST),
            provided: 0,
            answers: Vec::new(),
            free: Vec::new(),
            of_call: [None; CALLS],
            delivered: VecDeque::new(),
            news: false,
            items: Vec::new(),
        }
    }

    /// A Send has come; whether that could be.
    pub(super) fn received(&mut self, receive: u32, octets: &[u8]) -> bool {
        self.responder.handle(Input::Received { receive, octets }).is_ok()
    }

    /// An RDMA Read is complete.
    pub(super) fn pulled(&mut self, number: u32) {
        if let Some(call) = self.answers.get(number as usize).and_then(|answer| answer.call) {
            let _ = self.responder.handle(Input::Completed { call });
        }
    }

    /// The Send of a reply is complete, and so is all that it was made of: the memory of the reply is free.
    pub(super) fn sent(&mut self, port: &Port<V>, number: usize) {
        if let Some(answer) = self.answers.get_mut(number) {
            answer.release(port);
            self.free.push(number);
        }
    }

    /// Whether there are calls that the application has, or is to have.
    pub(super) fn is_busy(&self) -> bool {
        self.answers.iter().any(|answer| answer.call.is_some() && answer.provided.is_none())
    }

    /// The XID of a call that is not answered yet.
    pub(super) fn xid(&self, number: u32) -> Option<u32> {
        self.answers.get(number as usize).filter(|answer| answer.is_used).map(|answer| answer.xid)
    }

    /// The connection is over.
    pub(super) fn lost(&mut self, port: &Port<V>) {
        let _ = self.responder.handle(Input::Disconnected);
        self.delivered.clear();
        self.provided = 0;
        self.of_call = [None; CALLS];
        for answer in &mut self.answers {
            answer.release(port);
        }
    }

    /// The next call for the application.
    pub(super) fn next(&mut self) -> Option<Asked> {
        let number = self.delivered.pop_front()?;
        let answer = self.answers.get_mut(number)?;
        let (message, reply) = (mem::take(&mut answer.message), mem::take(&mut answer.reply));
        Some(Asked { number, xid: answer.xid, message, reply })
    }

    /// Answers a call, and takes its buffers.
    pub(crate) fn reply(&mut self, asked: &mut Asked, protected: bool) -> Result<Form, ReplyFault> {
        let answer = self.answers.get_mut(asked.number).ok_or(ReplyFault::NoCall)?;
        let call = answer.call.ok_or(ReplyFault::NoCall)?;
        let length = asked.reply.places(&mut self.items).ok_or(ReplyFault::Items)?;
        let given = responder::Reply { head: asked.reply.head(), length, results: &self.items, protected };
        let form = self.responder.reply(call, &given)?;
        (answer.message, answer.reply) = (mem::take(&mut asked.message), mem::take(&mut asked.reply));
        Ok(form)
    }

    /// Does the next thing the Responder asks for; whether there was one.
    pub(super) fn step(&mut self, port: &Port<V>, buffers: &mut Buffers<V>) -> Result<bool, Ended> {
        let output = match self.responder.poll(&mut buffers.header) {
            Ok(None) => return Ok(false),
            Ok(Some(output)) => output,
            Err(_) => return Err(Ended::Protocol),
        };
        match output {
            Output::Release { receive } => buffers.post_receive(port, receive)?,
            Output::Place { call, receive, from, length, at } => {
                let answer = self.answer(call)?;
                let target = answer.message.get_mut(at as usize..).and_then(|rest| rest.get_mut(..length as usize));
                let target = target.ok_or(Ended::Protocol)?;
                let copied = buffers.look(port, receive, |octets| {
                    let source = octets.get(from..).and_then(|rest| rest.get(..target.len()));
                    source.map(|source| target.copy_from_slice(source))
                })?;
                copied.ok_or(Ended::Protocol)?;
            }
            Output::Read { call, source, at } => return self.read(port, buffers, call, source, at),
            Output::Deliver { call, message } => self.deliver(port, buffers, call, message)?,
            Output::Write { call, from, target } => {
                let number = self.number(call).ok_or(Ended::Protocol)?;
                let answer = self.answers.get_mut(number).ok_or(Ended::Protocol)?;
                let range = from..from.checked_add(target.length).ok_or(Ended::Protocol)?;
                let Some((region, local)) = answer.source(port, &range)? else {
                    return self.not_posted(call);
                };
                buffers.transfer(port, (Work::Write(id(number)?), false), target, Local { region, range: local })?;
            }
            Output::Send { call, header, payload, invalidate } => {
                let place = self.of_call.get_mut(call.index()).ok_or(Ended::Protocol)?;
                // A reply that is provided stays; of a call that was refused at once nothing was kept.
                let goes =
                    |number: &mut usize| self.answers.get(*number).is_some_and(|answer| answer.provided.is_none());
                let number = place.take_if(goes);
                let (sent, nothing) = (number.map_or(Sent::Nothing, Sent::Reply), Stream::default());
                let stream = match number.and_then(|number| self.answers.get_mut(number)) {
                    Some(answer) => {
                        answer.call = None;
                        &answer.reply
                    }
                    None => &nothing,
                };
                buffers.send(port, (header, payload, stream), (sent, invalidate))?;
            }
            Output::Register { call, length } => self.provide(port, call, length)?,
            Output::Invalidate { call, .. } => self.take_back(port, call)?,
            Output::Disconnect => return Err(Ended::Protocol),
        }
        Ok(true)
    }

    /// Registers a whole reply, for the other side to pull.
    fn provide(&mut self, port: &Port<V>, call: CallId, length: u32) -> Result<(), Ended> {
        /// As for the memory of calls of this end.
        const TRIES: usize = 4;
        let number = self.number(call).ok_or(Ended::Protocol)?;
        for _ in 0..TRIES {
            let answer = self.answers.get_mut(number).ok_or(Ended::Protocol)?;
            let memory = answer.provide(port, &(0..length))?.map(|segment| (segment.handle, segment.offset));
            match self.responder.handle(Input::Registered { call, memory }) {
                Ok(()) => {
                    if memory.is_some() {
                        answer.provided = Some(Instant::now() + self.provides);
                        self.provided += 1;
                    }
                    return Ok(());
                }
                Err(InputError::HandleInUse) => answer.take_back(port),
                Err(_) => return Err(Ended::Protocol),
            }
        }
        Err(Ended::Protocol)
    }

    /// The other side has pulled a reply, or its time is over.
    fn take_back(&mut self, port: &Port<V>, call: CallId) -> Result<(), Ended> {
        let number = self.of_call.get_mut(call.index()).and_then(Option::take).ok_or(Ended::Protocol)?;
        self.sent(port, number);
        self.provided = self.provided.saturating_sub(1);
        self.responder.handle(Input::Invalidated { call }).map_err(|_| Ended::Protocol)
    }

    /// Whether there is a call for the application.
    pub(super) fn has_next(&self) -> bool {
        !self.delivered.is_empty()
    }

    /// When the time of the first reply that was not pulled is over.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let waits = self.provided > 0;
        waits.then(|| self.answers.iter().filter_map(|answer| answer.provided).min()).flatten()
    }

    /// Ends the time of replies that were not pulled.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.provided == 0 {
            return;
        }
        for answer in &mut self.answers {
            if let (Some(call), Some(until)) = (answer.call, answer.provided)
                && until <= now
            {
                // Where its end has begun it goes on by itself, as soon as there is room for it.
                let _ = self.responder.expire(call);
                answer.provided = Some(now + LONGEST);
            }
        }
    }

    /// There is no memory for what the Responder asked for last: this call is refused, and the others go on.
    fn not_posted(&mut self, call: CallId) -> Result<bool, Ended> {
        self.responder.handle(Input::NotPosted { call }).map(|()| true).map_err(|_| Ended::Protocol)
    }

    fn number(&self, call: CallId) -> Option<usize> {
        self.of_call.get(call.index()).copied().flatten()
    }

    /// What is kept of a call; memory to put it together in where it is new.
    fn answer(&mut self, call: CallId) -> Result<&mut Answer<V::Region>, Ended> {
        let number = match self.number(call) {
            Some(number) => number,
            None => self.begin(call)?,
        };
        self.answers.get_mut(number).ok_or(Ended::Protocol)
    }

    fn begin(&mut self, call: CallId) -> Result<usize, Ended> {
        let number = self.free.pop().unwrap_or_else(|| {
            self.answers.push(Answer::default());
            self.answers.len() - 1
        });
        let place = self.of_call.get_mut(call.index()).ok_or(Ended::Protocol)?;
        *place = Some(number);
        let answer = self.answers.get_mut(number).ok_or(Ended::Protocol)?;
        (answer.call, answer.is_used) = (Some(call), true);
        answer.xid = self.responder.xid(call).ok_or(Ended::Protocol)?;
        let length = self.responder.length(call).ok_or(Ended::Protocol)?;
        answer.message.resize(length as usize, 0);
        for padding in self.responder.padding(call) {
            if let Some(octets) = answer.message.get_mut(padding.start as usize..padding.end as usize) {
                octets.fill(0);
            }
        }
        Ok(number)
    }

    fn read(
        &mut self,
        port: &Port<V>,
        buffers: &mut Buffers<V>,
        call: CallId,
        source: Segment,
        at: u32,
    ) -> Result<bool, Ended> {
        let answer = self.answer(call)?;
        if answer.pulled.is_none() {
            match port.verbs.register(&port.domain, mem::take(&mut answer.message), SINK) {
                Ok(region) => answer.pulled = Some(region),
                Err(refused) => {
                    answer.message = refused.buffer;
                    return self.not_posted(call);
                }
            }
        }
        let number = self.number(call).ok_or(Ended::Protocol)?;
        let answer = self.answers.get(number).ok_or(Ended::Protocol)?;
        let region = answer.pulled.as_ref().ok_or(Ended::Protocol)?;
        let start = at as usize;
        let local = Local { region, range: start..start + source.length as usize };
        buffers.transfer(port, (Work::Read(id(number)?), true), source, local)?;
        Ok(true)
    }

    fn deliver(&mut self, port: &Port<V>, buffers: &Buffers<V>, call: CallId, message: Message) -> Result<(), Ended> {
        let answer = self.answer(call)?;
        match message {
            Message::Inline { receive, from, length } => {
                let copied = buffers.look(port, receive, |octets| {
                    let octets = octets.get(from..).and_then(|rest| rest.get(..length as usize))?;
                    answer.message.copy_from_slice(octets);
                    Some(())
                })?;
                copied.ok_or(Ended::Protocol)?;
            }
            Message::Assembled { .. } => {
                if let Some(region) = answer.pulled.take() {
                    answer.message = port.verbs.deregister(region)?;
                }
            }
        }
        // What was pulled may be anything.
        if MessageType::peek(&answer.message) == Some((answer.xid, MessageType::CALL)) {
            self.delivered.extend(self.number(call));
            self.news = true;
        } else {
            self.responder.refuse(call).map_err(|_| Ended::Protocol)?;
        }
        Ok(())
    }
}

fn id(number: usize) -> Result<u32, Ended> {
    u32::try_from(number).map_err(|_| Ended::Protocol)
}

impl<R> Default for Answer<R> {
    fn default() -> Self {
        Self {
            call: None,
            is_used: false,
            xid: 0,
            message: Vec::new(),
            pulled: None,
            reply: Stream::default(),
            regions: Vec::new(),
            provided: None,
            copies: Vec::new(),
        }
    }
}

impl<R> Answer<R> {
    /// Where a range of the reply is in memory that is registered; none where it cannot be.
    fn source<V: Verbs<Region = R>>(
        &mut self,
        port: &Port<V>,
        range: &Range<u32>,
    ) -> Result<Option<(&R, Range<usize>)>, Ended> {
        let (part, local) = match self.reply.part(range) {
            Some((part, local)) => (Some(part), local),
            // Items among it that the other side has no Write chunk for.
            None => (None, 0..range.len()),
        };
        let known = part.and_then(|part| self.regions.iter().position(|(of, _)| *of == Some(part)));
        let known = match known {
            Some(known) => known,
            None => {
                let buffer = match part {
                    Some(part) => self.reply.take(part),
                    None => self.copy(port, range)?,
                };
                match port.verbs.register(&port.domain, buffer, Access::empty()) {
                    Ok(region) => self.regions.push((part, region)),
                    Err(refused) => {
                        self.put_back(part, refused.buffer);
                        return Ok(None);
                    }
                }
                self.regions.len() - 1
            }
        };
        Ok(self.regions.get(known).map(|(_, region)| (region, local)))
    }

    /// Puts the buffer of a part of the reply, or of a copy, where it belongs.
    fn put_back(&mut self, part: Option<Part>, buffer: Vec<u8>) {
        match part {
            Some(part) => self.reply.put_back(part, buffer),
            None if self.copies.len() < MAX_COPIES => self.copies.push(buffer),
            None => {}
        }
    }

    /// Copies a range of the reply, of which a part may be in memory that is registered.
    fn copy<V: Verbs<Region = R>>(&mut self, port: &Port<V>, range: &Range<u32>) -> Result<Vec<u8>, Error> {
        let (mut copy, mut done) = (self.copies.pop().unwrap_or_default(), Ok(()));
        copy.clear();
        copy.reserve(range.len());
        self.reply.pieces(range, |part, within| {
            let take = |octets: &[u8]| copy.extend_from_slice(octets.get(within).unwrap_or_default());
            match self.regions.iter().find(|(of, _)| part.is_some() && *of == part) {
                Some((_, region)) => done = done.clone().and(port.verbs.read(region, take)),
                None => take(self.reply.octets(part)),
            }
        });
        done.map(|()| copy)
    }

    /// Registers a range of the reply for the other side to read; none where it cannot be.
    fn provide<V: Verbs<Region = R>>(&mut self, port: &Port<V>, range: &Range<u32>) -> Result<Option<Segment>, Ended> {
        // Of one buffer no more than the range may be shown.
        let whole = |(part, local): &(Part, Range<usize>)| *local == (0..self.reply.part_len(*part));
        let part = self.reply.part(range).filter(whole).map(|(part, _)| part);
        let buffer = match part {
            Some(part) => self.reply.take(part),
            None => self.copy(port, range)?,
        };
        match port.verbs.register(&port.domain, buffer, Access::REMOTE_READ) {
            Ok(region) => {
                let segment = port.verbs.segment(&region);
                self.regions.push((part, region));
                Ok(Some(segment))
            }
            Err(refused) => {
                self.put_back(part, refused.buffer);
                Ok(None)
            }
        }
    }

    /// Takes the memory of the reply back.
    fn take_back<V: Verbs<Region = R>>(&mut self, port: &Port<V>) {
        while let Some((part, region)) = self.regions.pop() {
            if let Ok(buffer) = port.verbs.deregister(region) {
                self.put_back(part, buffer);
            }
        }
    }

    /// Makes it ready for another call.
    fn release<V: Verbs<Region = R>>(&mut self, port: &Port<V>) {
        self.take_back(port);
        self.reply.clear();
        (self.call, self.is_used, self.pulled, self.provided) = (None, false, None, None);
    }
}
