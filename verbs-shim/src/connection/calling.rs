//! The Requester of a connection, and the memory of its calls.

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::task::Waker;
use std::time::{Duration, Instant};

use rpcrdma::endpoint::requester::{self, End, Input, InputError, Memory, Output};
use rpcrdma::endpoint::{CallId, Direction, Item, Requester, Terms};
use rpcrdma::rpc::MessageType;

use super::buffers::{Buffers, Sent};
use super::line::{Line, Place, Turn};
use super::{Ended, MAX_CALLS, Port, Provider, SINK, Settings, Work};
use crate::Segment;
use crate::call::{Call, CallError, Progress};
use crate::stream::Part;
use crate::verbs::{Access, Local, Verbs};

const CALLS: usize = MAX_CALLS as usize;
/// Segments of a call: data items, rooms for results, and what is around them in a long call.
const SEGMENTS: usize = 32;
/// Copies whose buffers are kept for the next call.
const MAX_COPIES: usize = 4;
/// Each buffer is one region, as long as it is; the Requester would make two of a longer one.
const SEGMENT_LENGTH: u32 = 0xffff_fffc;

/// The calls of one end.
pub(crate) struct Calling<V: Verbs> {
    requester: Box<Requester<CALLS, SEGMENTS>>,
    tickets: Vec<Ticket<V::Region>>,
    free: Vec<usize>,
    /// The ticket of the call in each place of the Requester.
    of_call: [usize; CALLS],
    /// Calls that were given up and have not come to their end, and how long each may wait for its reply: the oldest first.
    given_up: VecDeque<(Option<Instant>, CallId)>,
    grace: Duration,
    /// Calls that were given up and have come to their end, `most_returned` of them.
    returned: VecDeque<Call>,
    most_returned: usize,
    /// Who waits for a place of the Requester.
    line: Line,
    /// A thread may wait for what has come about.
    pub(super) news: bool,
    /// To be woken when the connection is not locked any more.
    pub(super) woken: Vec<Waker>,
    /// To be dropped then.
    pub(super) spent: Vec<Waker>,
    items: Vec<Item>,
    rooms: Vec<u32>,
    xid: u32,
    /// Why the connection is over.
    ended: Option<Ended>,
}

/// A call, from its beginning until its outcome was taken.
struct Ticket<R> {
    call: Call,
    xid: u32,
    id: Option<CallId>,
    progress: Progress,
    /// By their number.
    regions: Vec<Option<(R, Home)>>,
    /// The room for a reply that is pulled.
    pulled: Option<R>,
    /// Copies of calls before, to be overwritten.
    copies: Vec<Vec<u8>>,
    outcome: Option<Result<(), CallError>>,
    waker: Option<Waker>,
    /// Nobody will ask for the outcome.
    forgotten: bool,
}

/// Where the buffer of a region belongs.
#[derive(Clone, Copy)]
enum Home {
    Message(Part),
    /// Nowhere: it was put together for this.
    Copy,
    Result(usize),
    Reply,
}

impl<V: Provider> Calling<V> {
    /// `message_size`: octets that one RDMA Read brings at most.
    pub(super) fn new(terms: Terms, settings: &Settings, message_size: u32) -> Self {
        let mut requester = Box::new(Requester::new(terms, settings.calls, SEGMENT_LENGTH));
        requester.limit_transfers(message_size);
        if settings.pulls_replies {
            requester.pull_replies();
        }
        Self {
            requester,
            tickets: Vec::new(),
            free: Vec::new(),
            of_call: [0; CALLS],
            given_up: VecDeque::new(),
            grace: settings.grace,
            returned: VecDeque::new(),
            most_returned: settings.returned,
            line: Line::default(),
            news: false,
            woken: Vec::new(),
            spent: Vec::new(),
            items: Vec::new(),
            rooms: Vec::new(),
            xid: first_xid(),
            ended: None,
        }
    }

    pub(super) const fn xid(&mut self) -> u32 {
        self.xid = self.xid.wrapping_add(1);
        self.xid
    }

    /// Begins a call, and takes it; none where there are as many as there can be, or others wait for that already. It has
    /// its place in the line then, where it waits.
    pub(super) fn begin(
        &mut self,
        call: &mut Call,
        place: &mut Place,
        turn: Turn<'_>,
    ) -> Result<Option<usize>, CallError> {
        let begun = if self.line.is_first(*place) { self.take(call) } else { Ok(None) };
        if begun == Ok(None) {
            self.spent.extend(self.line.wait(place, turn));
        } else {
            self.leave(place);
        }
        begun
    }

    /// Waits for no place any more: the next one's turn it is, if there is one.
    pub(crate) fn leave(&mut self, place: &mut Place) {
        self.spent.extend(self.line.leave(place));
        self.wake_next();
    }

    /// Wakes whoever is to take the next place.
    fn wake_next(&mut self) {
        if !self.requester.is_full() {
            self.news |= self.line.begins_with_thread();
            self.woken.extend(self.line.next());
        }
    }

    /// Takes a call, if there is a place.
    fn take(&mut self, call: &mut Call) -> Result<Option<usize>, CallError> {
        let refused = |error| Err(CallError::Refused(error));
        let Some(length) = call.stream.places(&mut self.items) else {
            return refused(requester::CallError::Items);
        };
        self.rooms.clear();
        for room in &call.results {
            match u32::try_from(room.len()) {
                Ok(room) if room <= SEGMENT_LENGTH => self.rooms.push(room),
                _ => return refused(requester::CallError::Items),
            }
        }
        call.begin();
        let head = call.stream.head();
        let asked = requester::Call {
            head,
            length,
            arguments: &self.items,
            results: &self.rooms,
            reply_length: call.reply_length,
        };
        let id = match self.requester.call(&asked) {
            Ok(id) => id,
            Err(requester::CallError::TooManyCalls) => return Ok(None),
            Err(error) => return refused(error),
        };
        let xid = MessageType::peek(head).map_or(0, |(xid, _)| xid);
        let number = self.free.pop().unwrap_or_else(|| {
            self.tickets.push(Ticket::default());
            self.tickets.len() - 1
        });
        if let (Some(ticket), Some(place)) = (self.tickets.get_mut(number), self.of_call.get_mut(id.index())) {
            *place = number;
            (ticket.xid, ticket.id, ticket.progress) = (xid, Some(id), Progress::NotSent);
            mem::swap(&mut ticket.call, call);
        }
        Ok(Some(number))
    }

    /// The outcome of a call, if it has come to its end; the call is given back.
    pub(crate) fn outcome(&mut self, number: usize, call: &mut Call) -> Option<Result<(), CallError>> {
        let ticket = self.tickets.get_mut(number)?;
        let outcome = ticket.outcome.take()?;
        mem::swap(&mut ticket.call, call);
        ticket.reset();
        self.free.push(number);
        Some(outcome)
    }

    /// Gives a call up, if it has not come to its end.
    pub(super) fn give_up(&mut self, number: usize) {
        if let Some(id) = self.tickets.get(number).and_then(|ticket| ticket.id)
            && self.requester.cancel(id).is_ok()
        {
            self.given_up.push_back((Instant::now().checked_add(self.grace), id));
        }
    }

    /// How far a call is that has not come to its end.
    pub(super) fn progress(&self, number: usize) -> Progress {
        self.tickets.get(number).map_or(Progress::NotSent, |ticket| ticket.progress)
    }

    /// Nobody asks for the outcome any more. Gives whom it was to wake: to be dropped when nothing is locked.
    pub(crate) fn forget(&mut self, number: usize) -> Option<Waker> {
        let ticket = self.tickets.get_mut(number)?;
        ticket.forgotten = true;
        let waker = ticket.waker.take();
        if ticket.outcome.is_some() {
            self.take_back(number);
        }
        waker
    }

    /// A call that was given up has come to its end.
    fn take_back(&mut self, number: usize) {
        let mut call = Call::default();
        self.outcome(number, &mut call);
        call.begin();
        self.keep(call);
    }

    /// Keeps the buffers of a call that nobody asks for any more, if that is wanted.
    pub(crate) fn keep(&mut self, call: Call) {
        self.returned.push_back(call);
        if self.returned.len() > self.most_returned {
            self.returned.pop_front();
        }
    }

    /// The next of the calls that were given up and have come to their end.
    pub(super) fn returned(&mut self) -> Option<Call> {
        self.returned.pop_front()
    }

    /// When the first of the calls that were given up has waited for its reply for too long.
    pub(super) fn grace_ends(&self) -> Option<Instant> {
        self.given_up.front().and_then(|(until, _)| *until)
    }

    /// Gives the waker before, as [`forget`](Self::forget) does.
    pub(crate) fn wake_by(&mut self, number: usize, waker: &Waker) -> Option<Waker> {
        self.tickets.get_mut(number)?.waker.replace(waker.clone())
    }

    /// Whom of this end a Send is for, where there is a Responder too.
    pub(super) fn direction(&self, octets: &[u8]) -> Direction {
        Direction::of(octets, |xid| self.requester.awaits(xid))
    }

    /// A Send has come; whether that could be.
    pub(super) fn received(&mut self, receive: u32, octets: &[u8], invalidated: Option<u32>) -> bool {
        let taken = self.requester.handle(Input::Received { receive, octets, invalidated }).is_ok();
        // The reply to a call that was given up frees its place, and nothing else says so.
        self.wake_next();
        taken
    }

    pub(super) fn sent(&mut self, call: CallId) {
        // A call that was lost meanwhile is not there any more.
        let _ = self.requester.handle(Input::Sent { call });
    }

    pub(super) fn lost(&mut self, ended: Ended) {
        self.ended = Some(ended);
        let _ = self.requester.handle(Input::Disconnected);
        self.woken.extend(self.line.all());
    }

    /// Does the next thing the Requester asks for; whether there was one.
    pub(super) fn step(&mut self, port: &Port<V>, buffers: &mut Buffers<V>) -> Result<bool, Ended> {
        let output = match self.requester.poll(&mut buffers.header) {
            Ok(None) => return Ok(false),
            Ok(Some(output)) => output,
            // Headers are no larger than the inline threshold.
            Err(_) => return Err(Ended::Protocol),
        };
        match output {
            Output::Register { call, region, memory } => self.register(port, call, region, &memory)?,
            Output::Send { call, header, payload } => {
                let number = self.of_call.get(call.index()).copied().unwrap_or_default();
                let ticket = self.tickets.get_mut(number).ok_or(Ended::Protocol)?;
                buffers.send(port, (header, payload, &ticket.call.stream), (Sent::Call(call), None))?;
                ticket.progress = Progress::Sent;
            }
            Output::Invalidate { call, region, .. } => {
                if let Some(ticket) = self.ticket(call) {
                    ticket.deregister(port, usize::from(region))?;
                }
                self.requester.handle(Input::Invalidated { call, region }).map_err(|_| Ended::Protocol)?;
            }
            Output::Release { receive } => buffers.post_receive(port, receive)?,
            Output::Done { call, end, results } => {
                let number = self.of_call.get(call.index()).copied().unwrap_or_default();
                let ticket = self.tickets.get_mut(number).ok_or(Ended::Protocol)?;
                ticket.call.received.extend_from_slice(results);
                self.given_up.retain(|(_, id)| *id != call);
                self.done(port, buffers, number, end)?;
            }
            Output::Read { call, source, at } => self.pull(port, buffers, (call, source, at))?,
            Output::Disconnect => return Err(Ended::Protocol),
        }
        Ok(true)
    }

    /// Reads a part of a reply that the other side provides.
    fn pull(
        &mut self,
        port: &Port<V>,
        buffers: &mut Buffers<V>,
        (call, source, at): (CallId, Segment, u32),
    ) -> Result<(), Ended> {
        let number = self.of_call.get(call.index()).copied().ok_or(Ended::Protocol)?;
        let ticket = self.tickets.get_mut(number).ok_or(Ended::Protocol)?;
        let region = ticket.room_to_pull(port)?;
        let work = Work::Pull(u32::try_from(number).map_err(|_| Ended::Protocol)?);
        let local = Local { region, range: at as usize..at as usize + source.length as usize };
        Ok(buffers.transfer(port, (work, true), source, local)?)
    }

    /// A part of a reply has been read.
    pub(super) fn pulled(&mut self, number: u32) {
        if let Some(call) = self.tickets.get(number as usize).and_then(|ticket| ticket.id) {
            let _ = self.requester.handle(Input::Completed { call });
        }
    }

    fn ticket(&mut self, call: CallId) -> Option<&mut Ticket<V::Region>> {
        self.of_call.get(call.index()).and_then(|&number| self.tickets.get_mut(number))
    }

    fn register(&mut self, port: &Port<V>, call: CallId, region: u16, memory: &Memory) -> Result<(), Ended> {
        /// That a new handle is one that the Requester still has for another memory is as good as impossible.
        const TRIES: usize = 4;
        for _ in 0..TRIES {
            let ticket = self.ticket(call).ok_or(Ended::Protocol)?;
            let segment = ticket.register(port, usize::from(region), memory);
            let memory = segment.map(|segment| (segment.handle, segment.offset));
            match self.requester.handle(Input::Registered { call, region, memory }) {
                Ok(()) => return Ok(()),
                Err(InputError::HandleInUse) => {
                    let ticket = self.ticket(call).ok_or(Ended::Protocol)?;
                    ticket.deregister(port, usize::from(region))?;
                }
                Err(_) => return Err(Ended::Protocol),
            }
        }
        Err(Ended::Protocol)
    }

    fn done(&mut self, port: &Port<V>, buffers: &Buffers<V>, number: usize, end: End) -> Result<(), Ended> {
        let done = self.finish(port, buffers, number, end);
        let Some(ticket) = self.tickets.get_mut(number) else { return Err(Ended::Protocol) };
        // Who waits is told in any case.
        let outcome = done.clone().unwrap_or_else(|ended| Err(CallError::Lost(ended, ticket.progress)));
        if outcome.is_err() {
            ticket.call.begin();
        }
        ticket.outcome = Some(outcome);
        self.news = true;
        self.woken.extend(ticket.waker.take());
        if ticket.forgotten {
            self.take_back(number);
        }
        self.wake_next();
        done.map(|_| ())
    }

    /// Takes the memory of a call back, and the reply, if there is one.
    fn finish(
        &mut self,
        port: &Port<V>,
        buffers: &Buffers<V>,
        number: usize,
        end: End,
    ) -> Result<Result<(), CallError>, Ended> {
        let ticket = self.tickets.get_mut(number).ok_or(Ended::Protocol)?;
        for region in 0..ticket.regions.len() {
            ticket.deregister(port, region)?;
        }
        if let Some(region) = ticket.pulled.take() {
            ticket.call.reply = port.verbs.deregister(region)?;
        }
        Ok(match end {
            End::Reply { receive, payload } => {
                let call = &mut ticket.call;
                call.reply.clear();
                buffers.look(port, receive, |octets| {
                    call.reply.extend_from_slice(octets.get(payload).unwrap_or_default());
                })?;
                call.replied = 0..call.reply.len();
                // A connection that is over has no use for it.
                match buffers.post_receive(port, receive).map_err(Ended::from) {
                    Ok(()) | Err(Ended::Peer) => Ok(()),
                    Err(ended) => return Err(ended),
                }
            }
            End::LongReply(length) => {
                ticket.call.replied = 0..length as usize;
                match MessageType::peek(ticket.call.reply()) {
                    Some((xid, MessageType::REPLY)) if xid == ticket.xid => Ok(()),
                    _ => Err(CallError::NoReply),
                }
            }
            End::Error(error) => Err(CallError::Error(error)),
            End::NoRoom(_) => Err(CallError::NoReply),
            End::NotRegistered => Err(CallError::NotRegistered),
            End::Cancelled => Err(CallError::TimedOut(ticket.progress)),
            End::Lost => Err(CallError::Lost(self.ended.clone().unwrap_or(Ended::Peer), ticket.progress)),
        })
    }
}

impl<R> Default for Ticket<R> {
    fn default() -> Self {
        Self {
            call: Call::default(),
            xid: 0,
            id: None,
            progress: Progress::NotSent,
            regions: Vec::new(),
            pulled: None,
            copies: Vec::new(),
            outcome: None,
            waker: None,
            forgotten: false,
        }
    }
}

impl<R> Ticket<R> {
    /// Makes it ready for another call, with the memory it has.
    fn reset(&mut self) {
        self.regions.clear();
        (self.id, self.outcome, self.waker, self.forgotten) = (None, None, None, false);
    }

    /// The room for a reply that is pulled: all that the Requester may take.
    fn room_to_pull<V: Verbs<Region = R>>(&mut self, port: &Port<V>) -> Result<&R, Ended> {
        if self.pulled.is_none() {
            // Results that have come with the rest, as RPCSEC_GSS covers them, take as much more.
            let results = self.call.results.iter().map(|room| room.len().next_multiple_of(4));
            let room = results.fold((self.call.reply_length as usize).next_multiple_of(4), usize::saturating_add);
            let mut reply = mem::take(&mut self.call.reply);
            reply.resize(room, 0);
            match port.verbs.register(&port.domain, reply, SINK) {
                Ok(region) => self.pulled = Some(region),
                Err(refused) => {
                    self.call.reply = refused.buffer;
                    return Err(Ended::from(refused.error));
                }
            }
        }
        self.pulled.as_ref().ok_or(Ended::Protocol)
    }

    /// Registers memory of the call; none where that is not possible, and the buffer is where it was.
    fn register<V: Verbs<Region = R>>(&mut self, port: &Port<V>, region: usize, memory: &Memory) -> Option<Segment> {
        let (buffer, home, access) = self.take(memory)?;
        let registered = match port.verbs.register(&port.domain, buffer, access) {
            Ok(registered) => registered,
            Err(refused) => {
                self.put_back(home, refused.buffer);
                return None;
            }
        };
        let segment = port.verbs.segment(&registered);
        if self.regions.len() <= region {
            self.regions.resize_with(region + 1, || None);
        }
        *self.regions.get_mut(region)? = Some((registered, home));
        Some(segment)
    }

    /// The buffer that is memory of the call, and no more than that.
    fn take(&mut self, memory: &Memory) -> Option<(Vec<u8>, Home, Access)> {
        let writable = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
        match memory {
            Memory::Argument(range) => {
                let all = |(part, within): &(Part, Range<usize>)| {
                    within.start == 0 && within.end == self.call.stream.part_len(*part)
                };
                if let Some((part, _)) = self.call.stream.part(range).filter(all) {
                    return Some((self.call.stream.take(part), Home::Message(part), Access::REMOTE_READ));
                }
                let mut copy = self.copies.pop().unwrap_or_default();
                copy.clear();
                copy.reserve(range.len());
                self.call.stream.gather(range, |octets| copy.extend_from_slice(octets));
                Some((copy, Home::Copy, Access::REMOTE_READ))
            }
            Memory::Result(number, _) => {
                let number = usize::from(*number);
                let room = mem::take(self.call.results.get_mut(number)?);
                Some((room, Home::Result(number), writable))
            }
            Memory::Reply(range) => {
                let mut room = mem::take(&mut self.call.reply);
                room.resize(range.end as usize, 0);
                Some((room, Home::Reply, writable))
            }
        }
    }

    /// Ends a registration, if it has not ended, and puts the buffer where it belongs.
    fn deregister<V: Verbs<Region = R>>(&mut self, port: &Port<V>, region: usize) -> Result<(), Ended> {
        let Some((region, home)) = self.regions.get_mut(region).and_then(Option::take) else { return Ok(()) };
        let buffer = port.verbs.deregister(region)?;
        self.put_back(home, buffer);
        Ok(())
    }

    fn put_back(&mut self, home: Home, buffer: Vec<u8>) {
        match home {
            Home::Message(part) => self.call.stream.put_back(part, buffer),
            Home::Result(number) => {
                if let Some(room) = self.call.results.get_mut(number) {
                    *room = buffer;
                }
            }
            Home::Reply => self.call.reply = buffer,
            Home::Copy if self.copies.len() < MAX_COPIES => self.copies.push(buffer),
            Home::Copy => {}
        }
    }
}

/// An XID that cannot be foretold, so that a connection does not have those of the one before.
fn first_xid() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as u32
}
