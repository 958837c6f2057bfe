//! A call whose reply is awaited later.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::driver::alarms::Alarm;
use crate::driver::call_queue::{QueuePosition, WaitMode};
use crate::driver::resources::Provider;
use crate::driver::shared_connection::OwnedConnection;
use crate::message::call::{Call, CallError, CallOutcome, Progress};
use crate::trace;

/// A call that was started: a future for any runtime, for which a thread can also [wait](Self::wait).
///
/// Dropping this value gives the call up, without harm to others. The other side does not know that: a call that was
/// sent keeps buffers and slot until the reply has come, for at most
/// [`SettingsBuilder::grace`](crate::SettingsBuilder::grace); then the buffers are freed, or
/// [returned](crate::Connection::take_given_up_call).
///
/// The future ends with [`CallError::TimedOut`] after the [timeout of the call](Call::with_timeout).
/// [`SettingsBuilder::timeout`](crate::SettingsBuilder::timeout) applies to blocking callers only: without a timeout of
/// the call or of the runtime, a future waits for as long as the connection lasts.
///
/// ```
/// # use std::thread;
/// # use rpcrdma_verbs::loopback::Fabric;
/// # use rpcrdma_verbs::{Call, Client, Request, Server, Settings};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let fabric = Fabric::new();
/// # let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
/// # let address = "192.0.2.2:20049".parse()?;
/// # let server = Server::bind(&there, address, Settings::server())?;
/// # let stop = server.stopper();
/// # let served = thread::spawn(move || {
/// #     server.serve(&|mut request: Request<_>| {
/// #         request.accept();
/// #         let _ = request.answer();
/// #     })
/// # });
/// let client = Client::connect(&here, address, &Settings::client())?;
/// // NULL of NFSv3, three times at once.
/// let calls: Vec<_> = (1..=3).map(|_| client.start(Call::rpc(100_003, 3, 0))).collect();
/// for pending in calls {
///     assert_eq!(pending.wait().reply()?.results()?, b"");
/// }
/// # stop.stop();
/// # served.join().unwrap()?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct StartedCall<V: Provider> {
    shared: Arc<OwnedConnection<V>>,
    /// Present before the beginning of the call, and after a refusal.
    call: Option<Call>,
    ticket: Option<usize>,
    /// Position in the queue of calls that wait to begin.
    position: QueuePosition,
    refused: Option<CallError>,
    /// Time at which a waiting thread gives the call up.
    deadline: Option<Instant>,
    /// Time at which a future gives the call up.
    limit: Option<Instant>,
    alarm: Option<Alarm>,
}

impl<V: Provider> StartedCall<V> {
    /// Begins the call, if a slot is free.
    pub(crate) fn new(shared: Arc<OwnedConnection<V>>, call: Call) -> Self {
        let deadline = shared.deadline(&call);
        let limit = call.timeout().and(deadline);
        let call = Some(call);
        let (ticket, position, refused, alarm) = (None, None, None, None);
        let mut pending = Self { shared, call, ticket, position, refused, deadline, limit, alarm };
        // It enters the queue only when somebody waits for it; otherwise it could be first while nobody polls it.
        pending.begin_call(WaitMode::Never);
        pending
    }

    fn begin_call(&mut self, mode: WaitMode<'_>) {
        let Some(call) = &mut self.call else { return };
        let mut state = self.shared.lock();
        match state.begin_call(self.shared.resources(), call, &mut self.position, mode) {
            Ok(ticket) => self.ticket = ticket,
            Err(refused) => self.refused = Some(refused),
        }
        self.shared.leave_work(state);
        if self.ticket.is_some() {
            trace::called(self.shared.peer(), call.xid());
        }
    }

    /// Sets the time at which a future gives the call up.
    pub(crate) fn until(mut self, limit: Option<Instant>) -> Self {
        self.limit = limit;
        self
    }

    /// Gives the call up if the time is over; otherwise has the future woken at that time.
    fn wait_until_limit(&mut self, waker: &Waker) -> Poll<CallOutcome> {
        let Some(limit) = self.limit else { return Poll::Pending };
        let mut state = self.shared.lock();
        if Instant::now() < limit {
            state.outgoing_calls().set_alarm(&mut self.alarm, limit, waker);
            self.shared.release(state);
            return Poll::Pending;
        }
        drop(state);
        let progress = self.progress();
        // Of a call that has begun, this has the XID only.
        let call = self.call.take().unwrap_or_default();
        self.give_up();
        Poll::Ready(self.finish(call, Err(CallError::TimedOut(progress))))
    }

    /// Returns the progress of the call. A call that is dropped before it was sent is never sent.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.ticket.map_or(Progress::NotSent, |ticket| self.shared.lock().outgoing_calls().progress(ticket))
    }

    /// Waits for the reply, until [`SettingsBuilder::timeout`](crate::SettingsBuilder::timeout) has passed since the
    /// call was begun.
    pub fn wait(mut self) -> CallOutcome {
        let mut call = self.call.take().unwrap_or_default();
        let outcome = match (self.refused.take(), self.ticket.take()) {
            (Some(refused), _) => Err(refused),
            (None, Some(ticket)) => self.shared.wait(ticket, &mut call, self.deadline),
            (None, None) => self.shared.call(&mut call, self.position.take(), self.deadline),
        };
        self.shared.watch_grace(&outcome);
        self.finish(call, outcome)
    }

    /// Returns the outcome, of which subscribers of the trace learn.
    fn finish(&self, call: Call, ended: Result<(), CallError>) -> CallOutcome {
        trace::returned(self.shared.peer(), call.xid(), &ended);
        CallOutcome { call, ended }
    }
}

impl<V: Provider> Future for StartedCall<V> {
    type Output = CallOutcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if !this.shared.ensure_background_poller() {
            // There is no background poller, so each poll has to take completions.
            let state = this.shared.lock();
            drop(this.shared.progress(state, Duration::ZERO));
            context.waker().wake_by_ref();
        }
        if this.ticket.is_none() && this.refused.is_none() {
            this.begin_call(WaitMode::Future(context.waker()));
        }
        if let Some(refused) = this.refused.take() {
            let call = this.call.take().unwrap_or_default();
            return Poll::Ready(this.finish(call, Err(refused)));
        }
        let Some(ticket) = this.ticket else { return this.wait_until_limit(context.waker()) };
        let mut state = this.shared.lock();
        let mut call = this.call.take().unwrap_or_default();
        match state.outgoing_calls().outcome(ticket, &mut call) {
            Some(outcome) => {
                this.ticket = None;
                drop(state);
                Poll::Ready(this.finish(call, outcome))
            }
            None => {
                let before = state.outgoing_calls().wake_by(ticket, context.waker());
                drop(state);
                drop(before);
                this.call = Some(call);
                this.wait_until_limit(context.waker())
            }
        }
    }
}

impl<V: Provider> StartedCall<V> {
    /// Gives up a call that has not ended.
    fn give_up(&mut self) {
        if self.ticket.is_none() && self.call.is_none() && self.position.is_none() && self.alarm.is_none() {
            return;
        }
        let mut state = self.shared.lock();
        state.outgoing_calls().clear_alarm(&mut self.alarm);
        state.outgoing_calls().leave(&mut self.position);
        let (waker, has_grace) = match (self.ticket.take(), self.call.take()) {
            (Some(ticket), _) => {
                let waker = state.outgoing_calls().forget(ticket);
                state.give_up(self.shared.resources(), ticket);
                (waker, state.has_grace())
            }
            (None, call) => {
                call.into_iter().for_each(|call| state.outgoing_calls().keep_buffers(call));
                (None, false)
            }
        };
        self.shared.leave_work(state);
        drop(waker);
        if has_grace {
            self.shared.ensure_background_poller();
        }
    }
}

impl<V: Provider> Drop for StartedCall<V> {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl<V: Provider> fmt::Debug for StartedCall<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartedCall").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
