//! A connection: two halves with queues of work, and the execution of that work.
//!
//! Posting only queues work. The side that next waits for a completion executes the work, under the connection's lock.
//! So the loopback needs no threads, and one thread can drive both sides. RDMA Reads bring their data as late as the
//! rules allow: when a fence, a full queue of reads or the end of the queue demands it. So a missing fence shows every
//! time, not only now and then as on hardware.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::faults::{Fault, Strike};
use super::management::Station;
use super::memory::{self, CopyFault, Counters, Domain, MemoryRange, transfer};
use super::port::{Attached, Port};
use super::receives::{Receive, SideReceives};
use super::side::Side;
use super::wakeup::{WakeCause, Wakeup};
use super::wire::{Numbers, Wire};
use crate::verbs::Error;
use crate::verbs::waiter::Watch;
use crate::verbs::{Access, Completion, Depths, Kind, Operation, Remote, Status, WatchState};

/// Pause of a sender after "receiver not ready", before the retry.
const NOT_READY_TIMER: Duration = Duration::from_micros(640);
/// Time after which work fails if the other side cannot be reached.
pub const NO_ANSWER: Duration = Duration::from_millis(250);
/// This many retries means without end.
const ENDLESS: u8 = 7;

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkPhase {
    Idle,
    Asked,
    Established,
    Over,
}

/// A connection, or a queue pair that is not connected yet.
#[derive(Debug)]
pub(super) struct Link {
    state: Mutex<LinkState>,
    /// The last lock to be taken.
    wakeup: Wakeup,
    /// The [flags](Side::flag) of the sides that have ended the connection.
    ended: AtomicU8,
    /// True if the phase is [`LinkPhase::Over`].
    over: Arc<AtomicBool>,
}

#[derive(Debug)]
pub(super) struct LinkState {
    pub(super) phase: LinkPhase,
    over: Arc<AtomicBool>,
    /// The answer to the request, and the time when the active side gets the answer.
    answer: Option<(Instant, Result<Vec<u8>, Error>)>,
    active: Option<Half>,
    passive: Option<Half>,
    counters: Arc<Counters>,
    /// `Some` if there is a capture.
    pub(super) wire: Option<Wire>,
}

/// Posted work of one side, and outcomes.
#[derive(Debug)]
pub(super) struct Half {
    domain: Domain,
    port: Arc<Port>,
    depths: Depths,
    /// Work requests that have not begun.
    queue: VecDeque<Queued>,
    /// Work requests that have begun and are not complete: RDMA Reads whose data has not come, and later work that was
    /// done.
    begun: VecDeque<Queued>,
    /// Number of RDMA Reads in the queue.
    reads: usize,
    pub(super) receives: SideReceives,
    completions: VecDeque<Completion>,
    /// Number of posted work requests, including completions that were not taken.
    posted: usize,
    /// Time since when the other side has had no receive for the Send at the front.
    not_ready: Option<Instant>,
    /// Time since when the other side cannot be reached for the work at the front.
    unanswered: Option<Instant>,
}

/// A work request in a queue.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) id: u64,
    pub(super) operation: Operation,
    pub(super) memory: MemoryRange,
    pub(super) fenced: bool,
    pub(super) begins: Option<Instant>,
    pub(super) strike: Option<Strike>,
    /// Packet numbers, if there is a capture and the packets were written.
    pub(super) numbers: Option<Numbers>,
}

/// A side that waits for a receive of the other side, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    No,
    Yes,
}

/// Outcome of an attempt to execute work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkOutcome {
    /// There is nothing to do now.
    Idle,
    /// Work was done.
    Done,
    /// Work failed, which ends the connection.
    Broken,
}

impl Link {
    /// A queue pair that is not connected.
    pub(super) fn new(half: Half, counters: Arc<Counters>) -> Self {
        let active = Some(half);
        let (phase, over) = (LinkPhase::Idle, Arc::new(AtomicBool::new(false)));
        let state =
            LinkState { phase, over: Arc::clone(&over), answer: None, active, passive: None, counters, wire: None };
        Self { state: Mutex::new(state), wakeup: Wakeup::default(), ended: AtomicU8::new(0), over }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, LinkState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.see_end(&mut state);
        state
    }

    fn see_end(&self, state: &mut LinkState) {
        let ended = self.ended.load(Ordering::Acquire);
        if ended != 0 {
            let sides = [Side::Active, Side::Passive].into_iter().filter(|side| ended & side.flag() != 0);
            sides.for_each(|side| state.disconnect(side));
        }
    }

    /// Wakes all waiting threads, because something has changed.
    pub(super) fn notify(&self) {
        self.wakeup.notify();
        if self.is_over() {
            self.wakeup.notify_of_end();
        }
    }

    /// Returns true if the connection is over, without a lock.
    fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire) != 0 || self.over.load(Ordering::Acquire)
    }

    /// Interrupts the present or next wait of this side for a completion.
    pub(super) fn interrupt(&self, side: Side) {
        self.wakeup.interrupt(side);
    }

    /// Makes `watch` wake the waiter when there is something for this side, unless there already is.
    pub(super) fn watch(&self, side: Side, watch: Watch) -> WatchState {
        let now = Instant::now();
        let mut state = self.lock();
        if state.carry_out(now) {
            self.notify();
        }
        let over = state.phase == LinkPhase::Over;
        if over || state.half(side).is_some_and(|half| !half.completions.is_empty()) {
            return WatchState::Ready;
        }
        if let Some(next) = state.next_wakeup(now) {
            watch.wake_at(next);
        }
        self.wakeup.watch(side, watch);
        drop(state);
        // A side may end it without the lock, and may have found no thread to notify.
        if self.is_over() {
            self.notify();
        }
        WatchState::Quiet
    }

    /// Makes `watch` wake the waiter when the connection is over, unless that is so already.
    pub(super) fn watch_end(&self, side: Side, watch: Watch) -> WatchState {
        self.wakeup.watch_end(side, watch);
        if self.is_over() { WatchState::Ready } else { WatchState::Quiet }
    }

    /// Ends the connection from one side, whose queue pair is gone.
    pub(super) fn abandon(&self, by: Side) {
        self.end_connection(by);
        // As in `end`. Without the lock, Receives of a shared queue return to it when the connection is freed.
        if !memory::is_memory_held()
            && let Some(half) = self.lock().half(by)
        {
            half.receives.give_back();
        }
    }

    /// Ends the connection from one side, if open.
    pub(super) fn end_connection(&self, by: Side) {
        self.ended.fetch_or(by.flag(), Ordering::Release);
        // A thread that holds memory must not wait for the lock, whose owner may be waiting for that memory; the next
        // thread that locks it will see the end.
        if !memory::is_memory_held() {
            drop(self.lock());
        }
        self.notify();
    }

    /// Fails the request for this connection, if not answered yet.
    pub(super) fn refuse(&self, error: Error) {
        if memory::is_memory_held() {
            // As in `end`; the reason is then lost.
            self.end_connection(Side::Passive);
        } else {
            self.lock().refuse(error);
            self.notify();
        }
    }

    /// Waits until `look` finds something, `timeout` has passed, or the wait of this side is interrupted.
    fn wait<T>(
        &self,
        side: Option<Side>,
        timeout: Duration,
        mut look: impl FnMut(&mut LinkState, Instant) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        let mut now = Instant::now();
        let deadline = now.checked_add(timeout);
        loop {
            let mut state = self.lock();
            if state.carry_out(now) {
                self.notify();
            }
            let seen = self.wakeup.seen();
            // The end may come without the lock; from here on, no event is missed.
            self.see_end(&mut state);
            if let Some(found) = look(&mut state, now)? {
                return Ok(Some(found));
            }
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(None);
            }
            let wake = deadline.into_iter().chain(state.next_wakeup(now)).min();
            drop(state);
            let longest = wake.map(|wake| wake.saturating_duration_since(now));
            if self.wakeup.sleep(side, seen, longest) == WakeCause::Interrupted {
                return Ok(None);
            }
            now = Instant::now();
        }
    }

    /// Returns the next completion of one side.
    pub(super) fn completion(&self, side: Side, timeout: Duration) -> Result<Option<Completion>, Error> {
        self.wait(Some(side), timeout, |state, _| {
            let over = state.phase == LinkPhase::Over;
            let connected = over || state.phase == LinkPhase::Established;
            match state.half(side).and_then(Half::take_completion) {
                Some(completion) => Ok(Some(completion)),
                None if over => Err(state.half(side).map_or(Error::Disconnected, |half| half.end_error())),
                None if connected => Ok(None),
                None => Err(Error::NotConnected),
            }
        })
    }

    /// Returns the answer to the request for this connection.
    pub(super) fn connected(&self, timeout: Duration) -> Result<Option<Vec<u8>>, Error> {
        self.wait(None, timeout, |state, now| match &state.answer {
            Some((when, answer)) if *when <= now => answer.clone().map(Some),
            _ if state.phase == LinkPhase::Over => {
                Err(state.active.as_ref().map_or(Error::Disconnected, Half::end_error))
            }
            _ if state.phase == LinkPhase::Idle => Err(Error::NotConnected),
            _ => Ok(None),
        })
    }
}

impl Attached for Link {
    fn notify(&self) {
        Self::notify(self);
    }

    fn end_connection(&self, by: Side) {
        Self::end_connection(self, by);
    }
}

impl LinkState {
    fn half(&mut self, side: Side) -> Option<&mut Half> {
        match side {
            Side::Active => self.active.as_mut(),
            Side::Passive => self.passive.as_mut(),
        }
    }

    /// The half of a queue pair that was never connected.
    pub(super) fn take_idle(&mut self) -> Option<Half> {
        if self.phase == LinkPhase::Idle { self.active.take() } else { None }
    }

    /// Puts back what [`take_idle`](Self::take_idle) took.
    pub(super) fn put_back(&mut self, half: Half) {
        self.active = Some(half);
    }

    /// Accepts on the passive side. Returns the half if the requester does not wait any more.
    pub(super) fn accept(&mut self, half: Half, by: Station, known: Instant, private_data: Vec<u8>) -> Option<Half> {
        if self.phase != LinkPhase::Asked {
            return Some(half);
        }
        if let Some(wire) = &mut self.wire {
            wire.accept(by, &private_data);
        }
        self.phase = LinkPhase::Established;
        self.passive = Some(half);
        self.answer = Some((known, Ok(private_data)));
        None
    }

    /// Fails the request.
    pub(super) fn refuse(&mut self, error: Error) {
        if self.phase == LinkPhase::Asked {
            if let Some(wire) = &mut self.wire {
                wire.refuse(&error);
            }
            self.answer = Some((Instant::now(), Err(error)));
            self.end_link();
        }
    }

    /// Ends the connection from one side.
    fn disconnect(&mut self, by: Side) {
        if let Some(wire) = self.wire.as_mut().filter(|_| self.phase == LinkPhase::Established) {
            wire.disconnect(by);
        }
        if self.phase != LinkPhase::Over {
            self.end_link();
        }
    }

    /// Ends the connection, and flushes all incomplete work.
    pub(super) fn end_link(&mut self) {
        self.phase = LinkPhase::Over;
        self.over.store(true, Ordering::Release);
        self.active.iter_mut().chain(&mut self.passive).for_each(Half::flush);
    }

    /// Queues a receive.
    pub(super) fn post_receive(&mut self, side: Side, id: u64, memory: MemoryRange) -> Result<Awaited, Error> {
        if self.phase == LinkPhase::Over {
            return Err(Error::Disconnected);
        }
        self.half(side).ok_or(Error::Disconnected)?.receives.post(id, memory)?;
        let waits = self.half(side.other()).is_some_and(|half| half.not_ready.is_some());
        Ok(if waits { Awaited::Yes } else { Awaited::No })
    }

    /// Queues work. [`check_queue`](Self::check_queue) checks if the queue has a free entry.
    pub(super) fn post(&mut self, side: Side, work: Queued) -> Result<(), Error> {
        let half = self.half(side).ok_or(Error::Disconnected)?;
        half.posted += 1;
        half.queue.push_back(work);
        Ok(())
    }

    /// Checks if work may be posted.
    pub(super) fn check_queue(&mut self, side: Side) -> Result<(), Error> {
        match self.phase {
            LinkPhase::Idle | LinkPhase::Asked => return Err(Error::NotConnected),
            LinkPhase::Over => return Err(Error::Disconnected),
            LinkPhase::Established => {}
        }
        let half = self.half(side).ok_or(Error::Disconnected)?;
        if half.posted >= half.depths.send { Err(Error::QueueFull) } else { Ok(()) }
    }

    /// Executes the work that can be executed now. Returns false if there was none. Both sides take turns.
    fn carry_out(&mut self, now: Instant) -> bool {
        let mut any = false;
        while self.turn(Side::Active, now) | self.turn(Side::Passive, now) {
            any = true;
        }
        any
    }

    fn turn(&mut self, side: Side, now: Instant) -> bool {
        let Self {
            phase: LinkPhase::Established, active: Some(active), passive: Some(passive), counters, wire, ..
        } = self
        else {
            return false;
        };
        let (mine, theirs) = match side {
            Side::Active => (active, passive),
            Side::Passive => (passive, active),
        };
        if mine.queue.is_empty() && mine.begun.is_empty() {
            mine.unanswered = None;
            return false;
        }
        let is_cut = !mine.port.is_up() || !theirs.port.is_up();
        let mut turn = SideTurn { side, mine, theirs, counters, wire };
        let step = if is_cut { turn.wait_for_link(now) } else { turn.execute_next(now) };
        if step == WorkOutcome::Broken {
            self.end_link();
        }
        step != WorkOutcome::Idle
    }

    /// Returns the time when there will next be something to do, if nothing is posted.
    fn next_wakeup(&self, now: Instant) -> Option<Instant> {
        let answer = self.answer.as_ref().map(|(when, _)| *when);
        let halves = self.active.iter().chain(&self.passive);
        halves.filter_map(Half::next_completion_time).chain(answer).filter(|when| *when > now).min()
    }
}

impl Half {
    pub(super) fn new(domain: Domain, port: Arc<Port>, depths: Depths, receives: SideReceives) -> Self {
        Self {
            domain,
            port,
            depths,
            queue: VecDeque::new(),
            begun: VecDeque::new(),
            reads: 0,
            receives,
            completions: VecDeque::new(),
            posted: 0,
            not_ready: None,
            unanswered: None,
        }
    }

    /// Returns the reason for the end of the connection.
    fn end_error(&self) -> Error {
        self.port.check().err().unwrap_or(Error::Disconnected)
    }

    /// Takes a completion, which frees a queue entry.
    fn take_completion(&mut self) -> Option<Completion> {
        let completion = self.completions.pop_front()?;
        if completion.kind == Kind::Receive {
            self.receives.note_taken();
        } else {
            self.posted = self.posted.saturating_sub(1);
        }
        Some(completion)
    }

    fn flush(&mut self) {
        for work in mem::take(&mut self.begun).into_iter().chain(mem::take(&mut self.queue)) {
            self.complete(&work, Status::Flushed);
        }
        for id in self.receives.flush() {
            self.received(id, Status::Flushed, 0, None);
        }
    }

    fn complete(&mut self, work: &Queued, status: Status) {
        let kind = match work.operation {
            Operation::Send | Operation::SendWithInvalidate(_) => Kind::Send,
            Operation::Write(_) => Kind::Write,
            Operation::Read(_) => Kind::Read,
        };
        let length = if status == Status::Success { work.memory.len() } else { 0 };
        self.completions.push_back(Completion { id: work.id, kind, status, length, invalidated: None });
    }

    fn received(&mut self, id: u64, status: Status, length: usize, invalidated: Option<u32>) {
        self.completions.push_back(Completion { id, kind: Kind::Receive, status, length, invalidated });
    }

    /// Returns the time when the Send at the front is given up.
    fn gives_up(&self) -> Option<Instant> {
        let tries = self.depths.receiver_not_ready;
        let since = self.not_ready.filter(|_| tries < ENDLESS)?;
        Some(since + NOT_READY_TIMER * u32::from(tries))
    }

    fn next_completion_time(&self) -> Option<Instant> {
        let begins = self.queue.front().and_then(|work| work.begins);
        let answered = begins.into_iter().chain(self.gives_up()).max();
        answered.into_iter().chain(self.unanswered.map(|since| since + NO_ANSWER)).min()
    }
}

impl Queued {
    const fn is_read(&self) -> bool {
        matches!(self.operation, Operation::Read(_))
    }

    const fn is_send(&self) -> bool {
        matches!(self.operation, Operation::Send | Operation::SendWithInvalidate(_))
    }
}

/// Reason for a Send that does not fill a receive.
#[derive(Clone, Copy, Debug)]
enum SendRefused {
    /// Longer than the receive.
    TooLong,
    /// The sender's memory cannot be read.
    Source,
    /// The receiver's memory cannot be written.
    Target,
    /// The handle to invalidate is not valid.
    Handle,
}

impl SendRefused {
    /// Returns the status of the receive, and of the Send.
    const fn statuses(self) -> (Status, Status) {
        match self {
            Self::TooLong => (Status::LocalLength, Status::RemoteInvalidRequest),
            Self::Source => (Status::Flushed, Status::LocalProtection),
            Self::Target => (Status::LocalProtection, Status::RemoteOperation),
            Self::Handle => (Status::LocalOperation, Status::RemoteAccess),
        }
    }
}

/// The turn of one side to execute a work request.
struct SideTurn<'a> {
    side: Side,
    mine: &'a mut Half,
    theirs: &'a mut Half,
    counters: &'a Counters,
    wire: &'a mut Option<Wire>,
}

impl SideTurn<'_> {
    /// Takes the turn while a port is down: work fails after waiting for too long.
    fn wait_for_link(&mut self, now: Instant) -> WorkOutcome {
        let Some(front) = self.mine.begun.front().or_else(|| self.mine.queue.front()) else { return WorkOutcome::Idle };
        let begins = front.begins.filter(|begins| *begins > now).unwrap_or(now);
        if now < *self.mine.unanswered.get_or_insert(begins) + NO_ANSWER {
            return WorkOutcome::Idle;
        }
        let Some(work) = self.mine.begun.pop_front().or_else(|| self.mine.queue.pop_front()) else {
            return WorkOutcome::Idle;
        };
        let status = if self.mine.port.is_up() { Status::NoAnswer } else { Status::PortDown };
        self.mine.complete(&work, status);
        WorkOutcome::Broken
    }

    fn execute_next(&mut self, now: Instant) -> WorkOutcome {
        self.mine.unanswered = None;
        let Some(work) = self.mine.queue.front().filter(|work| work.begins.is_none_or(|begins| begins <= now)) else {
            return self.settle();
        };
        let (fenced, is_read, is_send) = (work.fenced, work.is_read(), work.is_send());
        let reads = self.mine.reads;
        if reads > 0 && (fenced || is_read && reads >= self.mine.depths.reads) {
            return self.settle();
        }
        if is_send && self.mine.domain.holds(&work.memory) && !self.theirs.receives.reserve() {
            return match self.settle() {
                WorkOutcome::Idle => self.not_ready(now),
                step => step,
            };
        }
        self.mine.not_ready = None;
        match self.mine.queue.pop_front() {
            Some(work) => self.execute_work(work),
            None => WorkOutcome::Idle,
        }
    }

    /// Handles a Send for which the other side has no receive.
    fn not_ready(&mut self, now: Instant) -> WorkOutcome {
        if self.mine.not_ready.is_none() {
            self.mine.not_ready = Some(now);
            if let (Some(work), Some(wire)) = (self.mine.queue.front(), &mut *self.wire) {
                work.memory.read_octets(|octets| wire.not_ready(self.side, work.operation, octets));
            }
        }
        if self.mine.gives_up().is_none_or(|when| now < when) {
            return WorkOutcome::Idle;
        }
        match self.mine.queue.pop_front() {
            Some(work) => {
                if let Some(strike) = work.strike.as_ref().filter(|strike| matches!(strike.fault, Fault::Delay(_))) {
                    strike.begin_work();
                }
                self.fail(&work, Status::ReceiverNotReady)
            }
            None => WorkOutcome::Idle,
        }
    }

    fn execute_work(&mut self, mut work: Queued) -> WorkOutcome {
        self.counters.count_operation(work.operation);
        let fault = work.strike.as_ref().and_then(Strike::begin_work);
        let is_held = self.mine.domain.holds(&work.memory);
        let wrong = fault.or_else(|| (!is_held).then_some(Status::LocalProtection));
        let done = match (wrong, work.operation) {
            (Some(status), _) => Err(status),
            (None, Operation::Send) => self.send(&mut work, None),
            (None, Operation::SendWithInvalidate(handle)) => self.send(&mut work, Some(handle)),
            (None, Operation::Write(remote)) => self.write(&mut work, remote),
            (None, Operation::Read(remote)) => self.ask(&mut work, remote),
        };
        match done {
            Err(status) => self.fail(&work, status),
            Ok(()) => {
                self.mine.reads += usize::from(work.is_read());
                self.mine.begun.push_back(work);
                if self.mine.reads == 0 { self.settle() } else { WorkOutcome::Done }
            }
        }
    }

    /// Fails work. Completions come in order, so work that began before is finished first.
    fn fail(&mut self, work: &Queued, status: Status) -> WorkOutcome {
        let end = if self.settle() == WorkOutcome::Broken { Status::Flushed } else { status };
        // Parts of a failed Read are flushed before this.
        for begun in mem::take(&mut self.mine.begun) {
            self.mine.complete(&begun, Status::Flushed);
        }
        if let (Some(wire), Some(numbers)) = (&mut *self.wire, work.numbers) {
            wire.refuse_request(self.side, work.operation, numbers, end);
        }
        self.mine.complete(work, end);
        WorkOutcome::Broken
    }

    /// Waits for outstanding RDMA Reads, then completes all outstanding work requests.
    fn settle(&mut self) -> WorkOutcome {
        let mut step = WorkOutcome::Idle;
        while let Some(work) = self.mine.begun.pop_front() {
            let done = match work.operation {
                Operation::Read(remote) => {
                    self.mine.reads = self.mine.reads.saturating_sub(1);
                    self.read(&work, remote)
                }
                _ => Ok(()),
            };
            let status = match done {
                Ok(()) if work.strike.as_ref().is_some_and(Strike::lose_after) => Status::NoAnswer,
                Ok(()) => Status::Success,
                Err(status) => status,
            };
            if let (Some(wire), Some(numbers)) = (&mut *self.wire, work.numbers) {
                match status {
                    Status::Success if !work.is_read() => wire.acknowledge(self.side, numbers),
                    _ => wire.refuse_request(self.side, work.operation, numbers, status),
                }
            }
            self.mine.complete(&work, status);
            if status != Status::Success {
                return WorkOutcome::Broken;
            }
            step = WorkOutcome::Done;
        }
        step
    }

    fn send(&mut self, work: &mut Queued, invalidates: Option<u32>) -> Result<(), Status> {
        let Some(receive) = self.theirs.receives.take_reserved() else { return Err(Status::ReceiverNotReady) };
        let Receive { id, memory } = &receive;
        let (id, filled) = (*id, self.fill(work, memory, invalidates));
        self.theirs.receives.completed(receive);
        if let Err(refused) = filled {
            let (receive, send) = refused.statuses();
            self.sent_in_vain(work);
            self.theirs.received(id, receive, 0, None);
            return Err(send);
        }
        self.theirs.received(id, Status::Success, work.memory.len(), invalidates);
        Ok(())
    }

    /// Copies the octets of a Send into a receive.
    fn fill(&mut self, work: &mut Queued, memory: &MemoryRange, invalidates: Option<u32>) -> Result<(), SendRefused> {
        let length = work.memory.len();
        if length > memory.len() {
            return Err(SendRefused::TooLong);
        }
        if !memory.is_writable() || !self.theirs.domain.holds(memory) {
            return Err(SendRefused::Target);
        }
        self.transfer_message(work, &memory.first(length)).map_err(|fault| match fault {
            CopyFault::Source => SendRefused::Source,
            CopyFault::Target => SendRefused::Target,
        })?;
        let invalidated = invalidates.is_none_or(|handle| self.theirs.domain.invalidate(handle));
        if invalidated { Ok(()) } else { Err(SendRefused::Handle) }
    }

    fn write(&mut self, work: &mut Queued, remote: Remote) -> Result<(), Status> {
        let length = work.memory.len();
        // The handle of an operation without octets is never checked.
        if length == 0 {
            self.sent_in_vain(work);
            return Ok(());
        }
        let target = self.theirs.domain.find(remote, length, Access::REMOTE_WRITE);
        let done = match target.map(|target| self.transfer_message(work, &target)) {
            Some(Ok(())) => return Ok(()),
            Some(Err(CopyFault::Source)) => Err(Status::LocalProtection),
            Some(Err(CopyFault::Target)) | None => Err(Status::RemoteAccess),
        };
        self.sent_in_vain(work);
        done
    }

    /// Moves the data of a Send or RDMA Write.
    fn transfer_message(&mut self, work: &mut Queued, target: &MemoryRange) -> Result<(), CopyFault> {
        let (operation, side) = (work.operation, self.side);
        let numbers = &mut work.numbers;
        transfer(&work.memory, target, self.counters, |octets| {
            if let Some(wire) = self.wire {
                *numbers = Some(wire.message(side, operation, octets));
            }
        })?;
        self.moved(work.memory.len());
        Ok(())
    }

    /// Writes a message that moves no data to the capture, once.
    fn sent_in_vain(&mut self, work: &mut Queued) {
        if let Some(wire) = self.wire.as_mut().filter(|_| work.numbers.is_none()) {
            let (operation, numbers) = (work.operation, &mut work.numbers);
            work.memory.read_octets(|octets| *numbers = Some(wire.message(self.side, operation, octets)));
        }
    }

    /// Requests an RDMA Read; the data comes later.
    fn ask(&mut self, work: &mut Queued, remote: Remote) -> Result<(), Status> {
        if !work.memory.is_read_sink() {
            return Err(Status::LocalProtection);
        }
        if let Some(wire) = self.wire {
            work.numbers = Some(wire.read_request(self.side, remote, work.memory.len()));
        }
        self.source(remote, work.memory.len()).map(drop)
    }

    /// Returns the memory with the data of an RDMA Read. `None` for a Read of no octets.
    fn source(&self, remote: Remote, length: usize) -> Result<Option<MemoryRange>, Status> {
        if length == 0 {
            return Ok(None);
        }
        self.theirs.domain.find(remote, length, Access::REMOTE_READ).map(Some).ok_or(Status::RemoteAccess)
    }

    /// Moves the data of an RDMA Read. The memory may have gone since the request.
    fn read(&mut self, work: &Queued, remote: Remote) -> Result<(), Status> {
        let length = work.memory.len();
        let Some(source) = self.source(remote, length)? else {
            if let (Some(wire), Some(numbers)) = (&mut *self.wire, work.numbers) {
                wire.read_response(self.side, numbers, &[]);
            }
            return Ok(());
        };
        if !self.mine.domain.holds(&work.memory) {
            return Err(Status::LocalProtection);
        }
        let done = transfer(&source, &work.memory, self.counters, |octets| {
            if let (Some(wire), Some(numbers)) = (&mut *self.wire, work.numbers) {
                wire.read_response(self.side, numbers, octets);
            }
        });
        match done {
            Ok(()) => self.moved(length),
            Err(CopyFault::Source) => return Err(Status::RemoteAccess),
            Err(CopyFault::Target) => return Err(Status::LocalProtection),
        }
        Ok(())
    }

    fn moved(&self, length: usize) {
        self.counters.moved.fetch_add(length as u64, Ordering::Relaxed);
    }
}
