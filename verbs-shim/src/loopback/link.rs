//! A connection: two halves with their queues, and what carries out the work in them.
//!
//! Posting only queues. Work is carried out by whichever side next waits for a completion, under the connection's lock, so
//! there is no thread of the loopback's own, and one thread can drive both sides. RDMA Reads bring their data as late as
//! the rules allow: when a fence, a full queue of reads or the end of the queue asks for it. What lacks a fence shows that
//! here, each time, while on hardware it does so once in a thousand.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::faults::Fault;
use super::memory::{self, Counters, Domain, Place, transfer};
use crate::error::Error;
use crate::verbs::{Access, Completion, Depths, Kind, Operation, Status};

/// How long a sender waits after "receiver not ready" before it tries again.
const NOT_READY_TIMER: Duration = Duration::from_micros(640);
/// As many tries mean: without end.
const ENDLESS: u8 = 7;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The one that asked for the connection.
    Active,
    /// The one that accepted.
    Passive,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Asked,
    Established,
    Over,
}

/// A connection, or a queue pair that will be one end of it.
#[derive(Debug)]
pub(super) struct Link {
    state: Mutex<State>,
    changed: Condvar,
    /// It was ended by someone who could not wait for the lock.
    ended: AtomicBool,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) phase: Phase,
    /// What came back for the request, and when the active side gets to know.
    answer: Option<(Instant, Result<Vec<u8>, Error>)>,
    active: Option<Half>,
    passive: Option<Half>,
    counters: Arc<Counters>,
}

/// What one side has posted, and what became of it.
#[derive(Debug)]
pub(super) struct Half {
    domain: Domain,
    depths: Depths,
    /// Not begun.
    queue: VecDeque<Work>,
    /// Begun and not complete: RDMA Reads whose data has not come, and what was done after them.
    begun: VecDeque<Work>,
    receives: VecDeque<Receive>,
    completions: VecDeque<Completion>,
    /// Posted, with those whose completion was not taken.
    posted: usize,
    receives_posted: usize,
    /// Since when the other side has no receive for the Send at the front.
    not_ready: Option<Instant>,
}

/// A work request in a queue.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) id: u64,
    pub(super) operation: Operation,
    pub(super) place: Place,
    pub(super) fenced: bool,
    pub(super) begins: Option<Instant>,
    pub(super) fault: Option<Fault>,
}

/// A receive in a queue.
#[derive(Debug)]
struct Receive {
    id: u64,
    place: Place,
}

/// What became of an attempt to carry something out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// There is nothing to do now.
    Idle,
    /// Something was done.
    Done,
    /// Something failed, and the connection with it.
    Broken,
}

impl Link {
    /// A queue pair that is not connected.
    pub(super) fn new(domain: Domain, depths: Depths, counters: Arc<Counters>) -> Self {
        let active = Some(Half::new(domain, depths));
        let state = State { phase: Phase::Idle, answer: None, active, passive: None, counters };
        Self { state: Mutex::new(state), changed: Condvar::new(), ended: AtomicBool::new(false) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.ended.load(Ordering::Acquire) {
            state.end();
        }
        state
    }

    /// Says that something has changed, to whoever waits.
    pub(super) fn notify(&self) {
        self.changed.notify_all();
    }

    /// Ends the connection, if it is not over.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        // Who holds memory must not wait for the lock, whose owner may wait for that memory: the next to lock it will see.
        if !memory::held() {
            drop(self.lock());
        }
        self.notify();
    }

    /// The request for this connection failed, if it was not answered yet.
    pub(super) fn refuse(&self, error: Error) {
        if memory::held() {
            // As in `end`. The reason is not told then.
            self.ended.store(true, Ordering::Release);
        } else {
            self.lock().refuse(error);
        }
        self.notify();
    }

    /// Waits until `look` finds something, for `timeout` at most.
    fn wait<T>(
        &self,
        timeout: Duration,
        mut look: impl FnMut(&mut State, Instant) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        let mut now = Instant::now();
        let deadline = now.checked_add(timeout);
        let mut state = self.lock();
        loop {
            if state.carry_out(now) {
                self.notify();
            }
            if let Some(found) = look(&mut state, now)? {
                return Ok(Some(found));
            }
            let wake = deadline.into_iter().chain(state.next(now)).min();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(None);
            }
            state = match wake {
                Some(wake) => {
                    let wait = wake.saturating_duration_since(now);
                    self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            if self.ended.load(Ordering::Acquire) {
                state.end();
            }
            now = Instant::now();
        }
    }

    /// The next completion of one side.
    pub(super) fn completion(&self, side: Side, timeout: Duration) -> Result<Option<Completion>, Error> {
        self.wait(timeout, |state, _| {
            let over = state.phase == Phase::Over;
            let connected = over || state.phase == Phase::Established;
            match state.half(side).and_then(Half::take) {
                Some(completion) => Ok(Some(completion)),
                None if over => Err(Error::Disconnected),
                None if connected => Ok(None),
                None => Err(Error::NotConnected),
            }
        })
    }

    /// The answer to the request for this connection.
    pub(super) fn connected(&self, timeout: Duration) -> Result<Option<Vec<u8>>, Error> {
        self.wait(timeout, |state, now| match &state.answer {
            Some((when, answer)) if *when <= now => answer.clone().map(Some),
            _ if state.phase == Phase::Over => Err(Error::Disconnected),
            _ if state.phase == Phase::Idle => Err(Error::NotConnected),
            _ => Ok(None),
        })
    }
}

impl State {
    fn half(&mut self, side: Side) -> Option<&mut Half> {
        match side {
            Side::Active => self.active.as_mut(),
            Side::Passive => self.passive.as_mut(),
        }
    }

    /// The half of a queue pair that was never connected.
    pub(super) fn take_idle(&mut self) -> Option<Half> {
        if self.phase == Phase::Idle { self.active.take() } else { None }
    }

    /// Gives back what [`take_idle`](Self::take_idle) took.
    pub(super) fn put_back(&mut self, half: Half) {
        self.active = Some(half);
    }

    /// The passive side accepts; gives its half back where nobody waits for that any more.
    pub(super) fn accept(&mut self, half: Half, known: Instant, private_data: Vec<u8>) -> Option<Half> {
        if self.phase != Phase::Asked {
            return Some(half);
        }
        self.phase = Phase::Established;
        self.passive = Some(half);
        self.answer = Some((known, Ok(private_data)));
        None
    }

    /// The request failed.
    pub(super) fn refuse(&mut self, error: Error) {
        if self.phase == Phase::Asked {
            self.answer = Some((Instant::now(), Err(error)));
            self.end();
        }
    }

    /// Ends the connection: what is not complete is flushed.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Over;
        self.active.iter_mut().chain(&mut self.passive).for_each(Half::flush);
    }

    pub(super) fn post_receive(&mut self, side: Side, id: u64, place: Place) -> Result<(), Error> {
        if self.phase == Phase::Over {
            return Err(Error::Disconnected);
        }
        let half = self.half(side).ok_or(Error::Disconnected)?;
        if half.receives_posted >= half.depths.receive {
            return Err(Error::QueueFull);
        }
        half.receives_posted += 1;
        half.receives.push_back(Receive { id, place });
        Ok(())
    }

    /// Queues work. Whether there is room is asked by [`room`](Self::room).
    pub(super) fn post(&mut self, side: Side, work: Work) -> Result<(), Error> {
        let half = self.half(side).ok_or(Error::Disconnected)?;
        half.posted += 1;
        half.queue.push_back(work);
        Ok(())
    }

    /// Whether work may be posted.
    pub(super) fn room(&mut self, side: Side) -> Result<(), Error> {
        match self.phase {
            Phase::Idle | Phase::Asked => return Err(Error::NotConnected),
            Phase::Over => return Err(Error::Disconnected),
            Phase::Established => {}
        }
        let half = self.half(side).ok_or(Error::Disconnected)?;
        if half.posted >= half.depths.send { Err(Error::QueueFull) } else { Ok(()) }
    }

    /// Carries out what can be carried out now; whether that was anything. Both sides take turns.
    fn carry_out(&mut self, now: Instant) -> bool {
        let mut any = false;
        while self.turn(Side::Active, now) | self.turn(Side::Passive, now) {
            any = true;
        }
        any
    }

    fn turn(&mut self, side: Side, now: Instant) -> bool {
        let Self { phase: Phase::Established, active: Some(active), passive: Some(passive), counters, .. } = self
        else {
            return false;
        };
        let (mine, theirs) = match side {
            Side::Active => (active, passive),
            Side::Passive => (passive, active),
        };
        let step = Turn { mine, theirs, counters }.take(now);
        if step == Step::Broken {
            self.end();
        }
        step != Step::Idle
    }

    /// When there will be something to do without anything being posted.
    fn next(&self, now: Instant) -> Option<Instant> {
        let answer = self.answer.as_ref().map(|(when, _)| *when);
        let halves = self.active.iter().chain(&self.passive);
        halves.filter_map(Half::next).chain(answer).filter(|when| *when > now).min()
    }
}

impl Half {
    fn new(domain: Domain, depths: Depths) -> Self {
        Self {
            domain,
            depths,
            queue: VecDeque::new(),
            begun: VecDeque::new(),
            receives: VecDeque::new(),
            completions: VecDeque::new(),
            posted: 0,
            receives_posted: 0,
            not_ready: None,
        }
    }

    /// Takes a completion, and with it makes room in its queue.
    fn take(&mut self) -> Option<Completion> {
        let completion = self.completions.pop_front()?;
        let posted = if completion.kind == Kind::Receive { &mut self.receives_posted } else { &mut self.posted };
        *posted = posted.saturating_sub(1);
        Some(completion)
    }

    fn flush(&mut self) {
        for work in mem::take(&mut self.begun).into_iter().chain(mem::take(&mut self.queue)) {
            self.complete(&work, Status::Flushed);
        }
        for receive in mem::take(&mut self.receives) {
            self.received(receive.id, Status::Flushed, 0, None);
        }
    }

    fn complete(&mut self, work: &Work, status: Status) {
        let kind = match work.operation {
            Operation::Send | Operation::SendWithInvalidate(_) => Kind::Send,
            Operation::Write(_) => Kind::Write,
            Operation::Read(_) => Kind::Read,
        };
        let length = if status == Status::Success { work.place.len() } else { 0 };
        self.completions.push_back(Completion { id: work.id, kind, status, length, invalidated: None });
    }

    fn received(&mut self, id: u64, status: Status, length: usize, invalidated: Option<u32>) {
        self.completions.push_back(Completion { id, kind: Kind::Receive, status, length, invalidated });
    }

    fn reads(&self) -> usize {
        self.begun.iter().filter(|work| work.is_read()).count()
    }

    /// When the Send at the front is given up.
    fn gives_up(&self) -> Option<Instant> {
        let tries = self.depths.receiver_not_ready;
        let since = self.not_ready.filter(|_| tries < ENDLESS)?;
        Some(since + NOT_READY_TIMER * u32::from(tries))
    }

    fn next(&self) -> Option<Instant> {
        let begins = self.queue.front().and_then(|work| work.begins);
        begins.into_iter().chain(self.gives_up()).max()
    }
}

impl Work {
    const fn is_read(&self) -> bool {
        matches!(self.operation, Operation::Read(_))
    }

    const fn is_send(&self) -> bool {
        matches!(self.operation, Operation::Send | Operation::SendWithInvalidate(_))
    }
}

/// One side's turn to carry out one of its work requests.
struct Turn<'a> {
    mine: &'a mut Half,
    theirs: &'a mut Half,
    counters: &'a Counters,
}

impl Turn<'_> {
    fn take(&mut self, now: Instant) -> Step {
        let Some(work) = self.mine.queue.front().filter(|work| work.begins.is_none_or(|begins| begins <= now)) else {
            return self.settle();
        };
        let (fenced, is_read, is_send) = (work.fenced, work.is_read(), work.is_send());
        let reads = self.mine.reads();
        if reads > 0 && (fenced || is_read && reads >= self.mine.depths.reads) {
            return self.settle();
        }
        if is_send && self.theirs.receives.is_empty() && self.mine.domain.holds(&work.place) {
            return match self.settle() {
                Step::Idle => self.not_ready(now),
                step => step,
            };
        }
        self.mine.not_ready = None;
        match self.mine.queue.pop_front() {
            Some(work) => self.begin(work),
            None => Step::Idle,
        }
    }

    /// The Send at the front has nowhere to go.
    fn not_ready(&mut self, now: Instant) -> Step {
        self.mine.not_ready.get_or_insert(now);
        if self.mine.gives_up().is_none_or(|when| now < when) {
            return Step::Idle;
        }
        match self.mine.queue.pop_front() {
            Some(work) => self.fail(&work, Status::ReceiverNotReady),
            None => Step::Idle,
        }
    }

    fn begin(&mut self, work: Work) -> Step {
        let wrong = match work.fault {
            Some(Fault::LoseBefore) => Some(Status::NoAnswer),
            Some(Fault::Complete(status)) if status != Status::Success => Some(status),
            _ if !self.mine.domain.holds(&work.place) => Some(Status::LocalProtection),
            _ => None,
        };
        let done = match (wrong, work.operation) {
            (Some(status), _) => Err(status),
            (None, Operation::Send) => self.send(&work, None),
            (None, Operation::SendWithInvalidate(handle)) => self.send(&work, Some(handle)),
            (None, Operation::Write(_)) => self.write(&work),
            (None, Operation::Read(_)) => self.source(&work).map(drop),
        };
        match done {
            Err(status) => self.fail(&work, status),
            Ok(()) => {
                self.mine.begun.push_back(work);
                if self.mine.reads() == 0 { self.settle() } else { Step::Done }
            }
        }
    }

    /// Completions come in order: what was begun before is brought to its end first.
    fn fail(&mut self, work: &Work, status: Status) -> Step {
        let end = if self.settle() == Step::Broken { Status::Flushed } else { status };
        // What a failed Read left is flushed before this.
        for begun in mem::take(&mut self.mine.begun) {
            self.mine.complete(&begun, Status::Flushed);
        }
        self.mine.complete(work, end);
        Step::Broken
    }

    /// Lets the RDMA Reads that were begun bring their data, and completes all that was begun.
    fn settle(&mut self) -> Step {
        let mut step = Step::Idle;
        while let Some(work) = self.mine.begun.pop_front() {
            let done = if work.is_read() { self.read(&work) } else { Ok(()) };
            let status = match done {
                Ok(()) if work.fault == Some(Fault::LoseAfter) => Status::NoAnswer,
                Ok(()) => Status::Success,
                Err(status) => status,
            };
            self.mine.complete(&work, status);
            if status != Status::Success {
                return Step::Broken;
            }
            step = Step::Done;
        }
        step
    }

    fn send(&mut self, work: &Work, invalidates: Option<u32>) -> Result<(), Status> {
        let Some(Receive { id, place }) = self.theirs.receives.pop_front() else {
            return Err(Status::ReceiverNotReady);
        };
        let length = work.place.len();
        if length > place.len() {
            return self.refuse_send(id, Status::LocalLength, Status::RemoteInvalidRequest);
        }
        if !place.is_writable() || !self.theirs.domain.holds(&place) {
            return self.refuse_send(id, Status::LocalProtection, Status::RemoteOperation);
        }
        match transfer(&work.place, &place.first(length), self.counters, |_| ()) {
            Ok(()) => self.moved(length),
            Err(memory::Fault::Source) => return self.refuse_send(id, Status::Flushed, Status::LocalProtection),
            Err(memory::Fault::Target) => {
                return self.refuse_send(id, Status::LocalProtection, Status::RemoteOperation);
            }
        }
        if invalidates.is_some_and(|handle| !self.theirs.domain.invalidate(handle)) {
            return self.refuse_send(id, Status::LocalOperation, Status::RemoteAccess);
        }
        self.theirs.received(id, Status::Success, length, invalidates);
        Ok(())
    }

    /// The receive ends in one way, the Send in another.
    fn refuse_send(&mut self, id: u64, receive: Status, send: Status) -> Result<(), Status> {
        self.theirs.received(id, receive, 0, None);
        Err(send)
    }

    fn write(&mut self, work: &Work) -> Result<(), Status> {
        let Operation::Write(remote) = work.operation else { return Ok(()) };
        let length = work.place.len();
        // Of an operation without octets nobody looks at the handle.
        if length == 0 {
            return Ok(());
        }
        let target = self.theirs.domain.find(remote, length, Access::REMOTE_WRITE).ok_or(Status::RemoteAccess)?;
        match transfer(&work.place, &target, self.counters, |_| ()) {
            Ok(()) => self.moved(length),
            Err(memory::Fault::Source) => return Err(Status::LocalProtection),
            Err(memory::Fault::Target) => return Err(Status::RemoteAccess),
        }
        Ok(())
    }

    /// What an RDMA Read asks for; none where it asks for no octets.
    fn source(&self, work: &Work) -> Result<Option<Place>, Status> {
        let Operation::Read(remote) = work.operation else { return Ok(None) };
        if !work.place.is_writable() {
            return Err(Status::LocalProtection);
        }
        match work.place.len() {
            0 => Ok(None),
            length => {
                self.theirs.domain.find(remote, length, Access::REMOTE_READ).map(Some).ok_or(Status::RemoteAccess)
            }
        }
    }

    /// The data of an RDMA Read arrives. The memory may have gone since it was begun.
    fn read(&mut self, work: &Work) -> Result<(), Status> {
        let Some(source) = self.source(work)? else { return Ok(()) };
        if !self.mine.domain.holds(&work.place) {
            return Err(Status::LocalProtection);
        }
        match transfer(&source, &work.place, self.counters, |_| ()) {
            Ok(()) => self.moved(work.place.len()),
            Err(memory::Fault::Source) => return Err(Status::RemoteAccess),
            Err(memory::Fault::Target) => return Err(Status::LocalProtection),
        }
        Ok(())
    }

    fn moved(&self, length: usize) {
        self.counters.moved.fetch_add(length as u64, Ordering::Relaxed);
    }
}
