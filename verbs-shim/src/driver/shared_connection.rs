//! A connection as seen by its users: which threads wait, and which run the slow operations.

use std::mem;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::thread::current;
use std::time::{Duration, Instant};

use rpcrdma::endpoint::channel::{HostAuthentication, HostAuthenticationTooLong};
use rpcrdma::endpoint::responder::{ReplyFault, ReplyForm};
use rpcrdma::endpoint::{Channel, Terms, Version};

use super::buffers::Buffers;
use super::call_queue::{QueuePosition, WaitMode};
use super::incoming_calls::{DeliveredCall, IncomingCalls};
use super::resources::{Provider, Resources};
use super::settings::{ConnectionTerms, Settings};
use super::state::{ConnectionState, EndReport, Poller};
use super::thread;
use super::thread::{Driven, DroppedConnection};
use crate::message::call::{Call, CallError, Progress};
use crate::message::end_reason::EndReason;
use crate::trace;
use crate::verbs::WatchState;
use crate::verbs::waiter::Watch;

/// Shared owner of a connection: every handle, call and request has one. Dropping the last one ends the connection, or
/// leaves that to the driver.
pub(crate) struct OwnedConnection<V: Provider> {
    shared: Arc<SharedConnection<V>>,
    /// Dropped after `shared`, so that the driver drops the last reference, or finds the connection gone.
    dropped: Option<DroppedConnection>,
}

/// A connection with all of its users.
pub(crate) struct SharedConnection<V: Provider> {
    resources: Resources<V>,
    state: Mutex<ConnectionState<V>>,
    changed: Condvar,
    peer: SocketAddr,
    timeout: Option<Duration>,
    /// Takes completions even while no thread waits for anything.
    background_poller: OnceLock<BackgroundPoller>,
    /// Wakes the driver, once a job has been left to the driver.
    driver: OnceLock<Watch>,
}

/// Background poller of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BackgroundPoller {
    /// The driver's thread, for futures.
    Driver,
    /// The threads of a server.
    Server,
}

/// Time left until the deadline.
fn time_left(deadline: Option<Instant>) -> Duration {
    deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()))
}

impl<V: Provider> OwnedConnection<V> {
    /// Creates a connection that has just been set up with `peer`. `terms`: for calls in both directions, if the
    /// connection speaks version 1. `refused`: XIDs of calls that ended an earlier connection of the same peer.
    pub(crate) fn new(
        resources: Resources<V>,
        buffers: Buffers<V>,
        channel: Channel,
        terms: ConnectionTerms,
        peer: SocketAddr,
        settings: &Settings,
        refused: &[u32],
    ) -> Self {
        let state = ConnectionState::new(&resources, buffers, channel, terms, settings, refused);
        let shared = Arc::new(SharedConnection {
            resources,
            state: Mutex::new(state),
            changed: Condvar::new(),
            peer,
            timeout: settings.timeout,
            background_poller: OnceLock::new(),
            driver: OnceLock::new(),
        });
        Self { shared, dropped: None }
    }
}

impl<V: Provider> SharedConnection<V> {
    /// Returns an XID that no call of this connection has used recently.
    pub(crate) fn xid(&self) -> u32 {
        self.lock().outgoing_calls.xid()
    }

    /// Returns the next given-up call whose buffers the peer can no longer access.
    pub(crate) fn take_given_up_call(&self) -> Option<Call> {
        self.lock().outgoing_calls.take_given_up_call()
    }

    /// Returns the final reason for the end of the connection.
    pub(crate) fn ended(&self) -> Option<EndReason> {
        let state = self.lock();
        state.ended.clone().filter(|_| state.report != EndReport::Open)
    }

    /// Returns true if the connection is over, even if the reason is not known yet.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().ended.is_some()
    }

    /// Returns the terms for the calls that this end makes.
    pub(crate) fn terms(&self) -> Terms {
        self.lock().terms
    }

    /// Returns the version of the connection. `None` before the negotiation has ended.
    pub(crate) fn version(&self) -> Option<Version> {
        self.lock().version()
    }

    /// Returns the host authentication message of the other side.
    pub(crate) fn host_authentication(&self) -> Result<Option<Vec<u8>>, HostAuthenticationTooLong> {
        match self.lock().channel.peer_host_authentication() {
            Some(HostAuthentication::Message(message)) => Ok(Some(message.to_vec())),
            Some(HostAuthentication::TooLong(_)) => Err(HostAuthenticationTooLong),
            Some(HostAuthentication::Absent) | None => Ok(None),
        }
    }

    /// Returns true if this end has calls of the other side to answer.
    pub(crate) fn is_answering(&self) -> bool {
        self.lock().incoming_calls.as_ref().is_some_and(IncomingCalls::is_busy)
    }

    /// Returns true if there is a call of the other side that nobody has taken.
    pub(crate) fn has_request(&self) -> bool {
        self.lock().incoming_calls.as_ref().is_some_and(IncomingCalls::has_next)
    }

    /// Returns the XID of the call of the other side whose memory could not be used, which has ended the connection.
    pub(crate) fn unusable(&self) -> Option<u32> {
        self.lock().unusable
    }

    /// Returns the number of completions taken so far.
    pub(crate) fn completions_taken(&self) -> u64 {
        self.lock().taken
    }

    /// Returns the next call of the other side, or `None` after the timeout. Zero looks once.
    pub(crate) fn request(&self, timeout: Duration) -> Result<Option<DeliveredCall>, EndReason> {
        // A single look needs no clock.
        let begun = (!timeout.is_zero()).then(Instant::now);
        let (mut left, mut looked) = (timeout, false);
        let mut state = self.lock();
        loop {
            if let Some(delivered) = state.incoming_calls.as_mut().and_then(IncomingCalls::next_call) {
                return Ok(Some(delivered));
            }
            if state.closed {
                return Err(state.ended.clone().unwrap_or(EndReason::Peer));
            }
            if looked {
                left = begun.map_or(Duration::ZERO, |begun| timeout.saturating_sub(begun.elapsed()));
                if left.is_zero() {
                    return Ok(None);
                }
            }
            state = self.progress(state, left);
            looked = true;
        }
    }

    /// Declares that this thread of a server serves the connection, until [`arm`](Self::arm) is called.
    pub(crate) fn begin_serving(&self) {
        self.background_poller.get_or_init(|| BackgroundPoller::Server);
        let mut state = self.lock();
        (state.background_watch, state.server_thread) = (None, Some(current().id()));
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ConnectionState<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs all pending jobs. If there are none, waits until something has happened, at most for `longest`. One thread
    /// polls the adapter, the others wait for that thread.
    pub(crate) fn progress<'a>(
        &'a self,
        mut state: MutexGuard<'a, ConnectionState<V>>,
        longest: Duration,
    ) -> MutexGuard<'a, ConnectionState<V>> {
        if state.jobs.are_waiting() {
            return self.work(state);
        }
        let ends = state.next_end();
        let left = match ends {
            Some(ends) if !longest.is_zero() => longest.min(ends.saturating_duration_since(Instant::now())),
            _ => longest,
        };
        if state.poller == Poller::None && !state.closed {
            state = self.poll(state, left, ends);
            state.keep_alive(&self.resources);
            if !longest.is_zero()
                && let Some(background_watch) = &state.background_watch
            {
                // This thread has taken completions of which the background poller would have been notified, and some
                // may be for other calls.
                background_watch.wake();
            }
        } else {
            state.waiting_threads += 1;
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.waiting_threads -= 1;
        }
        state.expire(&self.resources);
        self.work(state)
    }

    /// Waits for the adapter, and takes all completions. Nothing is locked while the adapter is polled: a connection
    /// that is over can then be destroyed.
    fn poll<'a>(
        &'a self,
        mut state: MutexGuard<'a, ConnectionState<V>>,
        mut longest: Duration,
        ends: Option<Instant>,
    ) -> MutexGuard<'a, ConnectionState<V>> {
        state.poller = Poller::Thread { deadline: ends };
        loop {
            drop(state);
            let completion = self.resources.verbs.completion(&self.resources.queue_pair, longest);
            state = self.lock();
            if !state.completed(&self.resources, completion) {
                break;
            }
            longest = Duration::ZERO;
        }
        state.poller = Poller::None;
        state.carry_out(&self.resources);
        // This thread checks for changes by itself.
        state.take_news();
        state
    }

    /// Notifies other threads, and runs the pending jobs. Nothing is locked meanwhile.
    fn work<'a>(&'a self, mut state: MutexGuard<'a, ConnectionState<V>>) -> MutexGuard<'a, ConnectionState<V>> {
        loop {
            self.notify(&mut state);
            if let Some(ended) = state.take_report() {
                // A subscriber may do anything.
                drop(state);
                trace::ended(self.peer, &ended);
                state = self.lock();
            }
            if !state.outgoing_calls.woken.is_empty() {
                // A waker may panic; no job must be lost then.
                self.release(state);
                state = self.lock();
            }
            if !state.jobs.are_waiting() {
                return state;
            }
            let mut jobs = state.jobs.take_jobs();
            while let Some(job) = jobs.pop_front() {
                drop(state);
                let done = job.run(&self.resources);
                state = self.lock();
                state.done(&self.resources, done);
                self.notify(&mut state);
            }
            state.jobs.keep_queue(jobs);
        }
    }

    /// Does the same, and then releases the lock: for callers that have made a request, and may block.
    pub(crate) fn finish(&self, state: MutexGuard<'_, ConnectionState<V>>) {
        let state = self.work(state);
        self.release(state);
    }

    /// Makes `watch` wake the background poller when there is something to do. Returns `Ready` if there already is, and
    /// `None` if there never will be.
    pub(crate) fn arm(&self, watch: &Watch) -> Option<WatchState> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        if state.jobs.are_waiting() {
            return Some(WatchState::Ready);
        }
        (state.background_watch, state.server_thread) = (Some(watch.clone()), None);
        state.set_timer();
        drop(state);
        let armed = self.resources.verbs.watch(&self.resources.queue_pair, watch.waiter(), watch.key());
        Some(armed.unwrap_or_else(|error| {
            let mut state = self.lock();
            state.end_connection(EndReason::Refused(error));
            self.finish(state);
            WatchState::Ready
        }))
    }

    /// Makes the driver attend to the end of the connection, and to deadlines, while nobody uses the connection. A
    /// connection without a watch is attended to at the next use.
    fn attend(&self, driver: &Watch) {
        let state = self.lock();
        if state.closed {
            return;
        }
        if let Some(next) = state.next_end() {
            driver.wake_at(next);
        }
        drop(state);
        let watched = self.resources.verbs.watch_end(&self.resources.queue_pair, driver.waiter(), driver.key());
        if watched == Ok(WatchState::Ready) {
            // Goes on after the other connections had their turn.
            driver.wake();
        }
    }

    /// Notifies other threads of a change: threads that wait for the polling thread, the polling thread itself, and the
    /// background poller.
    fn notify(&self, state: &mut ConnectionState<V>) {
        if state.waiting_threads > 0 {
            self.changed.notify_all();
        }
        let news = state.take_news();
        if state.must_interrupt_poller(news) {
            self.resources.verbs.interrupt(&self.resources.queue_pair);
        }
        if news && let Some(background_watch) = &state.background_watch {
            background_watch.wake();
        }
    }

    /// Notifies other threads and futures, and releases the lock. Wakers run without a lock, because a waker may do
    /// anything.
    pub(crate) fn release(&self, mut state: MutexGuard<'_, ConnectionState<V>>) {
        self.notify(&mut state);
        state.set_timer();
        let woken = mem::take(&mut state.outgoing_calls.woken);
        let _spent = mem::take(&mut state.outgoing_calls.spent);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Returns the deadline of a call that begins now.
    pub(crate) fn deadline(&self, call: &Call) -> Option<Instant> {
        call.timeout().or(self.timeout).and_then(|timeout| Instant::now().checked_add(timeout))
    }

    /// Makes a call. The caller may already be in the queue.
    pub(crate) fn call(
        &self,
        call: &mut Call,
        position: QueuePosition,
        deadline: Option<Instant>,
    ) -> Result<(), CallError> {
        let ticket = self.begin_call(call, position, deadline)?;
        trace::called(self.peer, call.xid());
        self.wait(ticket, call, deadline)
    }

    /// Begins a call, as soon as a slot is free.
    fn begin_call(
        &self,
        call: &mut Call,
        position: QueuePosition,
        deadline: Option<Instant>,
    ) -> Result<usize, CallError> {
        let mut waits = InCallQueue { shared: self, position };
        let mut state = self.lock();
        loop {
            let begun = state.begin_call(&self.resources, call, &mut waits.position, WaitMode::Thread).transpose();
            // The end of the connection is reported once the buffers of all calls are back.
            if let Some(begun) = begun
                && (begun.is_ok() || !state.is_ending())
            {
                self.finish(state);
                return begun;
            }
            let left = time_left(deadline);
            if left.is_zero() {
                drop(state);
                return Err(CallError::TimedOut(Progress::NotSent));
            }
            state = self.progress(state, left);
        }
    }

    /// Leaves the queue.
    pub(crate) fn leave(&self, position: &mut QueuePosition) {
        if position.is_some() {
            let mut state = self.lock();
            state.outgoing_calls.leave(position);
            self.release(state);
        }
    }

    /// Waits for the end of a call that has begun.
    pub(crate) fn wait(&self, ticket: usize, call: &mut Call, deadline: Option<Instant>) -> Result<(), CallError> {
        let (mut state, mut late) = (self.lock(), false);
        loop {
            if let Some(outcome) = state.outgoing_calls.outcome(ticket, call) {
                return outcome;
            }
            if late {
                return self.give_up(state, ticket, call);
            }
            let left = time_left(deadline);
            // Even then, the reply may have come without being noticed.
            late = left.is_zero();
            state = self.progress(state, left);
        }
    }

    /// Gives a call up. If the call was not sent, its buffers come back as soon as more work can be posted.
    fn give_up<'a>(
        &'a self,
        mut state: MutexGuard<'a, ConnectionState<V>>,
        ticket: usize,
        call: &mut Call,
    ) -> Result<(), CallError> {
        state.give_up(&self.resources, ticket);
        loop {
            if let Some(outcome) = state.outgoing_calls.outcome(ticket, call) {
                self.finish(state);
                return outcome;
            }
            if state.outgoing_calls.progress(ticket) == Progress::Sent {
                let _waker = state.outgoing_calls.forget(ticket);
                self.finish(state);
                return Err(CallError::TimedOut(Progress::Sent));
            }
            state = self.progress(state, Duration::MAX);
        }
    }

    /// Wakes `waker` when the connection is over, or at once if that was before.
    pub(crate) fn wake_when_ended(&self, waker: Waker) {
        let mut state = self.lock();
        if state.closed {
            drop(state);
            waker.wake();
        } else {
            state.end_wakers.push(waker);
        }
    }

    /// Ends the connection for this reason.
    pub(crate) fn end_because(&self, ended: EndReason) {
        let mut state = self.lock();
        state.end_connection(ended);
        self.finish(state);
    }

    pub(crate) fn disconnect(&self) {
        self.end_because(EndReason::Here);
    }

    pub(crate) const fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(crate) const fn resources(&self) -> &Resources<V> {
        &self.resources
    }
}

/// A thread in the queue of calls. However the wait ends, the thread then leaves the queue to the next one.
struct InCallQueue<'a, V: Provider> {
    shared: &'a SharedConnection<V>,
    position: QueuePosition,
}

impl<V: Provider> Drop for InCallQueue<'_, V> {
    fn drop(&mut self) {
        self.shared.leave(&mut self.position);
    }
}

impl<V: Provider> OwnedConnection<V> {
    /// Releases the lock, for a caller that may be a future, or a task that polls one. To be fast, this leaves the jobs
    /// to the driver; a server's thread that serves the connection runs the jobs.
    pub(crate) fn leave_work(&self, mut state: MutexGuard<'_, ConnectionState<V>>) {
        if !state.jobs.are_waiting() {
            self.release(state);
        } else if state.is_served_by(current().id()) {
            self.finish(state);
        } else if let Some(driver) = self.driver(&state) {
            state.jobs.leave_jobs();
            driver.wake();
            self.release(state);
        } else {
            // There is no thread for it, and nobody else may come.
            self.finish(state);
        }
    }

    /// Answers a call of the other side.
    pub(crate) fn reply(&self, delivered: &mut DeliveredCall, protected: bool) -> Result<ReplyForm, ReplyFault> {
        let mut state = self.lock();
        let done = state.reply(&self.resources, delivered, protected);
        self.leave_work(state);
        done
    }

    /// Forgets a call of the other side that has no reply.
    pub(crate) fn forget(&self, delivered: &mut DeliveredCall) -> Result<(), ReplyFault> {
        let mut state = self.lock();
        let done = state.forget(&self.resources, delivered);
        self.leave_work(state);
        done
    }

    /// Returns the watch that wakes the driver, which from now on knows the connection. Returns `None` if there is no
    /// driver. The lock ensures that the connection is passed to the driver only once.
    fn driver(&self, _locked: &MutexGuard<'_, ConnectionState<V>>) -> Option<&Watch> {
        if self.driver.get().is_none() {
            let weak: Weak<SharedConnection<V>> = Arc::downgrade(&self.shared);
            let _ = self.driver.set(thread::drive(weak).ok()?);
        }
        self.driver.get()
    }

    /// Ensures that the connection has a background poller from now on, because a future cannot take completions.
    /// Returns false if no thread could be started.
    pub(crate) fn ensure_background_poller(&self) -> bool {
        if self.background_poller.get().is_some() {
            return true;
        }
        let state = self.lock();
        let Some(driver) = self.driver(&state) else { return false };
        self.background_poller.get_or_init(|| BackgroundPoller::Driver);
        driver.wake();
        true
    }

    /// Makes the driver attend to the connection, without polling for completions: a thread that waits for a reply
    /// still takes that reply without waking another.
    pub(crate) fn attend_when_idle(&self) {
        let state = self.lock();
        let driver = self.driver(&state).cloned();
        drop(state);
        driver.iter().for_each(|driver| self.attend(driver));
    }

    /// Ensures that a given-up call does not wait too long for a reply.
    pub(crate) fn watch_grace(&self, outcome: &Result<(), CallError>) {
        if matches!(outcome, Err(CallError::TimedOut(Progress::Sent))) {
            // If there is no thread for that, every thread that waits checks the time too.
            self.ensure_background_poller();
        }
    }
}

impl<V: Provider> Driven for SharedConnection<V> {
    fn drive(&self, watch: &Watch) {
        let mut state = self.lock();
        state.jobs.take_over();
        match self.background_poller.get() {
            Some(BackgroundPoller::Server) => self.finish(state),
            Some(BackgroundPoller::Driver) => {
                state.background_watch = None;
                drop(self.progress(state, Duration::ZERO));
                if self.arm(watch) == Some(WatchState::Ready) {
                    // Goes on after the other connections had their turn.
                    watch.wake();
                }
            }
            None => {
                drop(self.progress(state, Duration::ZERO));
                self.attend(watch);
            }
        }
    }

    fn end_connection(&self) {
        let mut state = self.lock();
        state.jobs.take_over();
        state.end_connection(EndReason::Here);
        drop(self.progress(state, Duration::ZERO));
    }
}

impl<V: Provider> Deref for OwnedConnection<V> {
    type Target = SharedConnection<V>;

    fn deref(&self) -> &SharedConnection<V> {
        &self.shared
    }
}

impl<V: Provider> Drop for OwnedConnection<V> {
    /// Ends the connection and destroys the rest, which may take an adapter long. The driver does both if a task may be
    /// the last owner: if futures were polled, or a server has let go of the connection before. A program that only
    /// waits does both in its own thread, so as not to exit before the other side is notified.
    fn drop(&mut self) {
        let state = self.lock();
        let driver = match self.background_poller.get() {
            None => None,
            Some(BackgroundPoller::Server) if state.is_served_by(current().id()) => None,
            Some(_) => self.driver(&state),
        };
        drop(state);
        match driver {
            Some(driver) => {
                let connection: Arc<SharedConnection<V>> = Arc::clone(&self.shared);
                self.dropped = Some(DroppedConnection::to_be_ended(connection, driver));
            }
            None => {
                self.lock().jobs.take_over();
                self.disconnect();
                self.dropped = self.driver.get().map(DroppedConnection::ended);
            }
        }
    }
}
