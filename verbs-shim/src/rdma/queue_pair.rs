//! One end of a connection: a queue pair, posted work and completions.
//!
//! The adapter's queue pair is created when librdmacm knows the adapter that leads to the other side; receives that are
//! posted before that wait here. When the connection ends, on either side, the available completions are taken, the
//! adapter's queue pair is destroyed, and the rest is flushed here. So nothing waits for an adapter to flush, and all
//! memory is free at once.
//!
//! That may take an adapter long, and work may be posted by a future's poll. So if posting finds out that the
//! connection is over, posting only returns that, and wakes the waiting threads: the next wait ends the connection.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, mem, thread};

use super::completions::Completions;
use super::device::Device;
use super::errors::{of_event, was_posted};
use super::listener::ConnectionRequest;
use super::management::{Channel, Event, Identifier, Parameters, ReadDepths, wait_for};
use super::memory::{Domain, MemoryRange, PostedWork, Region};
use super::shared_receive_queue::SharedReceiveQueue;
use super::sys;
use crate::verbs::Error;
use crate::verbs::descriptors::{self, EventDescriptor};
use crate::verbs::waiter::{Waiter, Watch};
use crate::verbs::{Completion, Depths, Kind, Local, Operation, Status, WatchState, Work};

/// Number of polls before a busy-polling thread lets others post and run, and reads the clock. There is no pause
/// between polls: for that instruction, an emulated processor leaves the emulation, which delays frames that arrive.
const LOOKS: u32 = 64;

/// Time after which the other side repeats a Send that has found no receive: 0.64 ms (InfiniBand Architecture, encoding of
/// the RNR NAK timer).
const NOT_READY_TIMER: u8 = 12;

/// Time in which a stopped queue pair completes a receive of a shared queue that was being filled. The receive would be
/// lost if the queue pair were destroyed before: soft RoCE of Linux 6.1 then forgets the receive. Adapters report the
/// last one by an event (InfiniBand Architecture, "last WQE reached"), which soft RoCE of Linux 6.1 lacks.
const LAST_RECEIVE: Duration = Duration::from_millis(10);

/// A queue pair of an adapter. Dropping the queue pair ends the connection.
///
/// ```no_run
/// use std::time::Duration;
///
/// use rpcrdma_verbs::rdma::Device;
/// use rpcrdma_verbs::{Access, Depths, Local, Operation, Verbs, Work};
///
/// let server = "192.0.2.1:20049".parse().unwrap();
/// let device = Device::towards(server)?;
/// let domain = device.domain()?;
/// let queue_pair = device.queue_pair(&domain, Depths::default())?;
/// let buffer = device.register(&domain, vec![0; 1024], Access::LOCAL_WRITE)?;
/// device.post_receive(&queue_pair, 1, Local::whole_region(&buffer, 1024))?;
/// device.connect(&queue_pair, server, b"hello")?;
/// if device.connected(&queue_pair, Duration::from_secs(10))?.is_some() {
///     let message = device.register(&domain, b"an RPC".to_vec(), Access::empty())?;
///     device.post(&queue_pair, Work::new(2, Operation::Send, Local::whole_region(&message, 6)))?;
///     println!("{:?}", device.completion(&queue_pair, Duration::from_secs(10))?);
/// }
/// # Ok::<(), rpcrdma_verbs::Error>(())
/// ```
pub struct QueuePair {
    state: Mutex<PairState>,
    changed: Condvar,
    channel: Arc<Channel>,
    /// Readable when there is a completion event or a connection event, or when a thread is to wake up.
    events: OwnedFd,
    depths: Depths,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairPhase {
    Idle,
    Asked,
    Established,
    Over,
}

/// Reason for the early end of a wait for a completion.
enum EarlyWaitEnd {
    Completion(Completion),
    Interrupted,
}

/// A completion that was not taken.
struct ReadyCompletion {
    completion: Completion,
    /// Memory that returns to the shared queue if nobody takes the completion.
    shared: Option<MemoryRange>,
}

struct PairState {
    phase: PairPhase,
    /// The answer to the request.
    answer: Option<Result<Vec<u8>, Error>>,
    /// The reason for the end of the connection, from an event; the connection has not been ended yet.
    lost: Option<Error>,
    /// The reason for the end of the connection that this side knows: an event, or a function that has failed.
    end_reason: Option<Error>,
    identifier: Option<Identifier>,
    /// The adapter's queue pair, from the time the adapter is known until the connection is over.
    hardware: Option<NonNull<sys::ibv_qp>>,
    /// The longest message of the port in octets, once the adapter is known.
    message_size: u32,
    completions: Arc<Completions>,
    domain: Domain,
    /// The shared queue of receives, if used.
    shared: Option<SharedReceiveQueue>,
    /// Numbers used so far.
    numbers: u64,
    /// In the order of posting, also while the adapter does not have the queue pair yet.
    work: VecDeque<PostedWork>,
    receives: VecDeque<PostedWork>,
    /// Completions that were not taken.
    ready: VecDeque<ReadyCompletion>,
    /// Used entries of the queues: the work above, and completions that were not taken.
    send_queue_used: usize,
    receive_queue_used: usize,
    /// True while a thread sleeps for all that wait.
    asleep: bool,
    /// True if the next wait for a completion ends at once.
    interrupted: bool,
    /// Signalled to wake a sleeping thread, and at the end of the connection, which no event need report.
    wake_event: Arc<EventDescriptor>,
    /// Number of polls that cannot have waited.
    looks: u32,
    /// The waiter that waits for many connections. The queue pair notifies the waiter of things without an event:
    /// completions that a sleeping thread has taken.
    watch: Option<Watch>,
}

// SAFETY: the queue pair of the adapter may be used from any thread, and is destroyed by the state that has it.
unsafe impl Send for PairState {}

impl QueuePair {
    /// Creates a queue pair whose receives come from a shared queue.
    pub(super) fn sharing(queue: &SharedReceiveQueue, depths: Depths) -> Result<Self, Error> {
        let depths = Depths { receive: queue.depth(), ..depths };
        Self::new(queue.domain(), depths, Some(queue.clone()))
    }

    pub(super) fn new(domain: &Domain, depths: Depths, shared: Option<SharedReceiveQueue>) -> Result<Self, Error> {
        domain.device().check(depths, shared.is_some())?;
        let completions = Completions::new(domain, depths.send.saturating_add(depths.receive))?;
        let state = PairState {
            phase: PairPhase::Idle,
            answer: None,
            lost: None,
            end_reason: None,
            identifier: None,
            hardware: None,
            message_size: u32::MAX,
            completions: Arc::new(completions),
            domain: domain.clone(),
            shared,
            numbers: 0,
            work: VecDeque::new(),
            receives: VecDeque::new(),
            ready: VecDeque::new(),
            send_queue_used: 0,
            receive_queue_used: 0,
            asleep: false,
            interrupted: false,
            wake_event: Arc::new(EventDescriptor::new()?),
            looks: 0,
            watch: None,
        };
        let channel = Arc::new(Channel::new()?);
        let events = descriptors::joined([state.completions.as_fd(), channel.as_fd(), state.wake_event.as_fd()])?;
        Ok(Self { state: Mutex::new(state), changed: Condvar::new(), channel, events, depths })
    }

    fn lock(&self) -> MutexGuard<'_, PairState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation that is possible only once; the queue pair then counts as used.
    fn begin_setup(&self) -> Result<MutexGuard<'_, PairState>, Error> {
        let mut state = self.lock();
        if state.phase != PairPhase::Idle {
            return Err(Error::Used);
        }
        state.phase = PairPhase::Asked;
        Ok(state)
    }

    pub(super) fn connect(&self, device: &Device, address: SocketAddr, private_data: &[u8]) -> Result<(), Error> {
        let mut state = self.begin_setup()?;
        let asked = self.ask(&mut state, device.source(), address, private_data);
        let asked = asked.map_err(|error| explained(device, error));
        if let Err(error) = &asked {
            state.answer = Some(Err(error.clone()));
            state.end_connection();
        }
        asked
    }

    fn ask(
        &self,
        state: &mut PairState,
        source: Option<IpAddr>,
        address: SocketAddr,
        private_data: &[u8],
    ) -> Result<(), Error> {
        let device = state.domain.device().clone();
        let identifier = Identifier::new(&self.channel)?;
        identifier.resolve_address(source, address)?;
        if identifier.context() != device.context() {
            return Err(Error::Unreachable);
        }
        identifier.resolve_route()?;
        let reads = device.reads(self.depths);
        state.make(identifier, self.depths)?;
        let identifier = state.identifier.as_ref().ok_or(Error::Disconnected)?;
        identifier.connect(&Parameters { private_data, reads, receiver_not_ready: self.depths.receiver_not_ready })
    }

    pub(super) fn accept(&self, mut request: ConnectionRequest, private_data: &[u8]) -> Result<(), Error> {
        let mut state = self.begin_setup()?;
        let accepted = self.answer(&mut state, &mut request, private_data);
        match accepted {
            Ok(()) => state.phase = PairPhase::Established,
            Err(_) => state.end_connection(),
        }
        accepted
    }

    fn answer(&self, state: &mut PairState, request: &mut ConnectionRequest, private_data: &[u8]) -> Result<(), Error> {
        let mut identifier = request.take_identifier()?;
        let own = state.domain.device().reads(self.depths);
        let reads = ReadDepths {
            answered: own.answered.min(request.reads.answered),
            asked: own.asked.min(request.reads.asked),
        };
        let parameters = Parameters { private_data, reads, receiver_not_ready: self.depths.receiver_not_ready };
        if let Err(error) = identifier.migrate(&self.channel) {
            identifier.reject(&[]);
            return Err(error);
        }
        let made = state.make(identifier, self.depths);
        let identifier = state.identifier.as_ref().ok_or(Error::Disconnected)?;
        match made {
            Ok(()) => identifier.accept(&parameters).map(|()| state.shorten_not_ready()),
            // This also fails if the requester has given up. Then there is nobody to reject.
            Err(error) => Err(if identifier.reject(&[]) { error } else { Error::Disconnected }),
        }
    }

    pub(super) fn connected(&self, timeout: Duration) -> Result<Option<Vec<u8>>, Error> {
        self.wait(timeout, |state| match &state.answer {
            Some(answer) => answer.clone().map(Some),
            None => match state.phase {
                PairPhase::Asked => Ok(None),
                PairPhase::Over => Err(Error::Disconnected),
                PairPhase::Idle | PairPhase::Established => Err(Error::NotConnected),
            },
        })
    }

    pub(super) fn completion(&self, timeout: Duration) -> Result<Option<Completion>, Error> {
        let found = self.wait(timeout, |state| match (state.take_completion(), state.phase) {
            (Some(completion), _) => Ok(Some(EarlyWaitEnd::Completion(completion))),
            (None, PairPhase::Established) if mem::take(&mut state.interrupted) => Ok(Some(EarlyWaitEnd::Interrupted)),
            (None, PairPhase::Established) => Ok(None),
            (None, PairPhase::Over) => Err(state.end_error()),
            (None, PairPhase::Idle | PairPhase::Asked) => Err(Error::NotConnected),
        })?;
        Ok(match found {
            Some(EarlyWaitEnd::Completion(completion)) => Some(completion),
            Some(EarlyWaitEnd::Interrupted) | None => None,
        })
    }

    /// Interrupts the wait for a completion.
    pub(super) fn interrupt(&self) {
        let mut state = self.lock();
        state.interrupted = true;
        if state.asleep {
            state.wake_event.signal();
        }
    }

    /// Waits until `look` finds something, for `timeout` at most.
    ///
    /// Connection events cost a system call, so a thread checks only when there is nothing else, before and after
    /// sleeping, and now and then without sleep. If the end of a connection matters to posted work, there are
    /// completions.
    fn wait<T>(
        &self,
        timeout: Duration,
        mut look: impl FnMut(&mut PairState) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        let mut state = self.lock();
        state.poll();
        if let Some(found) = look(&mut state).ok().flatten() {
            return Ok(Some(found));
        }
        if !state.may_pass_over_events() {
            state.take_connection_events(&self.channel);
        } else if timeout.is_zero() {
            return look(&mut state);
        }
        let (mut begin, spin) = (None, state.spin().min(timeout));
        if !spin.is_zero() {
            state = self.spin(state, &mut begin, spin);
            if let Some(found) = look(&mut state).ok().flatten() {
                return Ok(Some(found));
            }
        }
        let deadline = begin.unwrap_or_else(Instant::now).checked_add(timeout);
        loop {
            state.take_connection_events(&self.channel);
            state.poll();
            if let Some(found) = look(&mut state)? {
                return Ok(Some(found));
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(None);
            }
            let rest = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(now));
            state = self.sleep(state, rest);
        }
    }

    /// Busy-polls for at most this time, so that early completions cost no sleep. The time counts from when the first polls have
    /// found nothing: then `begin` is set.
    fn spin<'a>(
        &'a self,
        mut state: MutexGuard<'a, PairState>,
        begin: &mut Option<Instant>,
        longest: Duration,
    ) -> MutexGuard<'a, PairState> {
        loop {
            if !state.ready.is_empty() || state.interrupted || (0..LOOKS).any(|_| state.poll()) {
                return state;
            }
            // Others may post meanwhile.
            drop(state);
            thread::yield_now();
            state = self.lock();
            match begin {
                None => *begin = Some(Instant::now()),
                Some(begin) if begin.elapsed() >= longest => return state,
                Some(_) => {}
            }
        }
    }

    /// Sleeps until something has happened or this time has passed. One thread sleeps for all: of several, only one
    /// would be woken.
    fn sleep<'a>(&'a self, mut state: MutexGuard<'a, PairState>, timeout: Duration) -> MutexGuard<'a, PairState> {
        if state.asleep {
            return self.changed.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0;
        }
        let (completions, wake_event) = (Arc::clone(&state.completions), Arc::clone(&state.wake_event));
        // Earlier completions have no event, so it polls once more before going to sleep.
        if let Err(error) = completions.arm() {
            state.end_because(error);
            return state;
        }
        if state.poll() {
            return state;
        }
        state.asleep = true;
        drop(state);
        wait_for([completions.as_fd(), self.channel.as_fd(), wake_event.as_fd()], timeout);
        completions.acknowledge();
        let mut state = self.lock();
        state.asleep = false;
        if state.phase != PairPhase::Over {
            wake_event.clear();
        }
        self.changed.notify_all();
        if let Some(watch) = state.watch.take() {
            watch.wake();
        }
        state
    }

    /// Makes the descriptor readable when there is something to take; [`WatchState::Ready`] if there already is. This
    /// busy-polls first, for as long as waiting does.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn arm(&self) -> Result<WatchState, Error> {
        let mut state = self.lock();
        let spin = state.spin();
        if spin.is_zero() {
            state.poll();
        } else {
            state = self.spin(state, &mut None, spin);
        }
        if !state.ready.is_empty() {
            // Completions need no system call.
            return Ok(WatchState::Ready);
        }
        // Earlier completions have no further event.
        state.completions.acknowledge();
        state.take_connection_events(&self.channel);
        state.completions.arm()?;
        // Completions before that have no event.
        let ready = state.poll() || !state.ready.is_empty() || state.phase == PairPhase::Over;
        Ok(if ready { WatchState::Ready } else { WatchState::Quiet })
    }

    pub(super) fn watch(&self, watch: Watch) -> Result<WatchState, Error> {
        let mut state = self.lock();
        if !state.asleep {
            drop(state);
            if self.arm()? == WatchState::Ready {
                return Ok(WatchState::Ready);
            }
            watch.waiter().watch(self.events.as_fd(), watch.key())?;
            state = self.lock();
        }
        if state.phase == PairPhase::Over {
            return Ok(WatchState::Ready);
        }
        // A sleeping thread takes all completions, and notifies the others.
        state.watch = Some(watch);
        Ok(WatchState::Quiet)
    }

    /// Makes a waiter return a key when there is a connection event.
    pub(super) fn watch_end(&self, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        let mut state = self.lock();
        state.take_connection_events(&self.channel);
        if state.phase == PairPhase::Over {
            return Ok(WatchState::Ready);
        }
        drop(state);
        waiter.watch(self.channel.as_fd(), key)?;
        Ok(WatchState::Quiet)
    }

    pub(super) fn post_receive(&self, id: u64, local: &Local<'_, Region>) -> Result<(), Error> {
        let memory = MemoryRange::new(local, true)?;
        let mut state = self.lock();
        state.check_domain(&memory)?;
        if state.phase == PairPhase::Over || state.lost.is_some() {
            return Err(Error::Disconnected);
        }
        if state.shared.is_some() || state.receive_queue_used >= self.depths.receive {
            return Err(Error::QueueFull);
        }
        let mut posted = PostedWork { number: state.number(), id, kind: Kind::Receive, memory };
        if let Some(hardware) = state.hardware {
            // SAFETY: the queue pair is there, and the memory until the completion, as `posted` keeps it.
            unsafe { post_receive(hardware, &mut posted) }.map_err(|error| state.refused(&self.channel, error))?;
        }
        state.receives.push_back(posted);
        state.receive_queue_used += 1;
        Ok(())
    }

    pub(super) fn message_size(&self) -> u32 {
        self.lock().message_size
    }

    pub(super) fn post(&self, work: &Work<'_, Region>) -> Result<(), Error> {
        let memory = MemoryRange::new(&work.local, matches!(work.operation, Operation::Read(_)))?;
        let mut state = self.lock();
        state.check_domain(&memory)?;
        if state.phase == PairPhase::Asked {
            state.learn_events(&self.channel);
        }
        let hardware = match (state.phase, state.hardware) {
            _ if state.lost.is_some() => return Err(Error::Disconnected),
            (PairPhase::Idle | PairPhase::Asked, _) => return Err(Error::NotConnected),
            (PairPhase::Established, Some(hardware)) => hardware,
            (PairPhase::Established | PairPhase::Over, _) => return Err(Error::Disconnected),
        };
        if memory.len() > state.message_size as usize {
            return Err(Error::Range);
        }
        if state.send_queue_used >= self.depths.send {
            return Err(Error::QueueFull);
        }
        let kind = match work.operation {
            Operation::Send | Operation::SendWithInvalidate(_) => Kind::Send,
            Operation::Write(_) => Kind::Write,
            Operation::Read(_) => Kind::Read,
        };
        let mut posted = PostedWork { number: state.number(), id: work.id, kind, memory };
        // SAFETY: the queue pair is there, and the memory until the completion, as `posted` keeps it.
        unsafe { post(hardware, &mut posted, work.operation, work.fenced) }
            .map_err(|error| state.refused(&self.channel, error))?;
        state.work.push_back(posted);
        state.send_queue_used += 1;
        Ok(())
    }

    pub(super) fn disconnect(&self) {
        self.lock().end_connection();
    }
}

/// Returns the reason for an error of a connection, if that is that no port has a link. A removed adapter is let go of
/// after the last use.
fn explained(device: &Device, error: Error) -> Error {
    match error {
        Error::Removed => {
            device.removed();
            error
        }
        Error::Unreachable | Error::NoHost | Error::TimedOut if device.ports_are_down() => Error::PortDown,
        error => error,
    }
}

/// Gives a receive to the adapter.
///
/// # Safety
/// The queue pair exists, and so does everything that the memory needs until the receive has ended.
unsafe fn post_receive(hardware: NonNull<sys::ibv_qp>, posted: &mut PostedWork) -> Result<(), Error> {
    let (sg_list, num_sge) = posted.memory.parts();
    let mut request = sys::ibv_recv_wr { wr_id: posted.number, next: ptr::null_mut(), sg_list, num_sge };
    let mut bad = ptr::null_mut();
    // SAFETY: the function is the driver's for this queue pair; request and list are copied before it returns.
    let number = unsafe {
        match (*hardware.as_ref().context).ops.post_recv {
            Some(post_recv) => post_recv(hardware.as_ptr(), &raw mut request, &raw mut bad),
            None => libc::ENOSYS,
        }
    };
    was_posted("ibv_post_recv", number)
}

/// Gives work to the adapter.
///
/// # Safety
/// The queue pair exists, and so does everything that the memory needs until the work has ended.
unsafe fn post(
    hardware: NonNull<sys::ibv_qp>,
    posted: &mut PostedWork,
    operation: Operation,
    fenced: bool,
) -> Result<(), Error> {
    let mut request = send_request(posted, operation, fenced);
    let mut bad = ptr::null_mut();
    // SAFETY: the function is the driver's for this queue pair; request and list are copied before it returns.
    let number = unsafe {
        match (*hardware.as_ref().context).ops.post_send {
            Some(post_send) => post_send(hardware.as_ptr(), &raw mut request, &raw mut bad),
            None => libc::ENOSYS,
        }
    };
    was_posted("ibv_post_send", number)
}

/// Returns the request for the adapter.
fn send_request(posted: &mut PostedWork, operation: Operation, fenced: bool) -> sys::ibv_send_wr {
    let (opcode, remote, invalidate_rkey) = match operation {
        Operation::Send => (sys::IBV_WR_SEND, None, 0),
        Operation::SendWithInvalidate(handle) => (sys::IBV_WR_SEND_WITH_INV, None, handle),
        Operation::Write(remote) => (sys::IBV_WR_RDMA_WRITE, Some(remote), 0),
        Operation::Read(remote) => (sys::IBV_WR_RDMA_READ, Some(remote), 0),
    };
    let (sg_list, num_sge) = posted.memory.parts();
    let fence = if fenced { sys::IBV_SEND_FENCE } else { 0 };
    sys::ibv_send_wr {
        wr_id: posted.number,
        next: ptr::null_mut(),
        sg_list,
        num_sge,
        opcode,
        send_flags: sys::IBV_SEND_SIGNALED | fence,
        invalidate_rkey,
        rdma: remote.map(|remote| sys::ibv_send_wr_rdma::new(remote.offset, remote.handle)).unwrap_or_default(),
        remote_srqn: 0,
        bind_mw: sys::ibv_send_wr_bind::NONE,
    }
}

impl PairState {
    /// An adapter checks that memory belongs to the queue pair's domain, but knows nothing of another adapter's memory,
    /// and could confuse the two.
    fn check_domain(&self, memory: &MemoryRange) -> Result<(), Error> {
        if memory.domain().device().context() == self.domain.device().context() {
            Ok(())
        } else {
            Err(Error::Deregistered)
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers = self.numbers.wrapping_add(1);
        self.numbers
    }

    /// Makes the adapter create a queue pair, and posts the receives that wait.
    fn make(&mut self, identifier: Identifier, depths: Depths) -> Result<(), Error> {
        let identifier = self.identifier.insert(identifier);
        self.message_size = identifier.message_size()?;
        let cq = self.completions.cq();
        let most = |depth: usize| u32::try_from(depth).map_err(|_| Error::Depth);
        let mut attr = sys::ibv_qp_init_attr {
            qp_context: ptr::null_mut(),
            send_cq: cq,
            recv_cq: cq,
            srq: self.shared.as_ref().map_or(ptr::null_mut(), SharedReceiveQueue::srq),
            cap: sys::ibv_qp_cap {
                max_send_wr: most(depths.send)?,
                max_recv_wr: if self.shared.is_some() { 0 } else { most(depths.receive)? },
                max_send_sge: 1,
                max_recv_sge: u32::from(self.shared.is_none()),
                max_inline_data: 0,
            },
            qp_type: sys::IBV_QPT_RC,
            sq_sig_all: 1,
        };
        // SAFETY: domain, completion queue and shared receive queue belong to this state, which destroys the queue pair
        // before it releases them.
        let hardware = unsafe { identifier.create_queue_pair(self.domain.pd(), &mut attr) }?;
        self.hardware = Some(hardware);
        for posted in &mut self.receives {
            // SAFETY: the queue pair is there, and the memory until the completion, as `posted` keeps it.
            unsafe { post_receive(hardware, posted) }?;
        }
        Ok(())
    }

    /// Lets the other side wait for a receive of a shared queue for a short time before the next try. The default of
    /// librdmacm is 655 ms. An adapter that refuses the change keeps that time.
    fn shorten_not_ready(&self) {
        if let Some(hardware) = self.hardware.filter(|_| self.shared.is_some()) {
            let mut attr = sys::ibv_qp_attr::default();
            attr.min_rnr_timer = NOT_READY_TIMER;
            // SAFETY: the queue pair is there, and `attr` as long as this call.
            unsafe { sys::ibv_modify_qp(hardware.as_ptr(), &raw mut attr, sys::IBV_QP_MIN_RNR_TIMER) };
        }
    }

    /// Returns the time for which a wait busy-polls: that finds completions, but no connection events.
    fn spin(&self) -> Duration {
        if self.phase == PairPhase::Established { self.domain.device().spin() } else { Duration::ZERO }
    }

    /// Takes the adapter's completions, if none is ready. Returns false if there was none.
    fn poll(&mut self) -> bool {
        if self.hardware.is_none() || !self.ready.is_empty() {
            return false;
        }
        match self.completions.poll() {
            Ok(None) => false,
            Ok(Some(completion)) => {
                self.complete(&completion);
                if completion.status != sys::IBV_WC_SUCCESS {
                    self.end_connection();
                }
                true
            }
            Err(error) => {
                self.end_because(error);
                true
            }
        }
    }

    /// Records a completion. A completion of work that was not posted has no effect.
    fn complete(&mut self, completion: &sys::ibv_wc) {
        let posted = self.take_posted(completion.wr_id);
        let is_shared = posted.is_none();
        let of_shared = || self.shared.as_ref().and_then(|queue| queue.complete(completion.wr_id));
        let Some(PostedWork { id, kind, memory, .. }) = posted.or_else(of_shared) else { return };
        let status = match status(completion.status) {
            Status::NoAnswer if self.domain.device().ports_are_down() => Status::PortDown,
            status => status,
        };
        let length = match (status, kind) {
            (Status::Success, Kind::Receive) => completion.byte_len as usize,
            (Status::Success, _) => memory.len(),
            _ => 0,
        };
        let invalidates = status == Status::Success && completion.wc_flags & sys::IBV_WC_WITH_INV != 0;
        let invalidated = (invalidates && kind == Kind::Receive).then_some(completion.invalidated_rkey);
        let shared = is_shared.then_some(memory);
        self.ready
            .push_back(ReadyCompletion { completion: Completion { id, kind, status, length, invalidated }, shared });
    }

    /// Takes the work with this number. Completions come in order, so that work is the first of one of the two queues.
    fn take_posted(&mut self, number: u64) -> Option<PostedWork> {
        let is_it = |posted: &PostedWork| posted.number == number;
        let mut queues = [&mut self.work, &mut self.receives];
        if let Some(queue) = queues.iter_mut().find(|queue| queue.front().is_some_and(is_it)) {
            return queue.pop_front();
        }
        queues.into_iter().find_map(|queue| queue.iter().position(is_it).and_then(|index| queue.remove(index)))
    }

    fn take_completion(&mut self) -> Option<Completion> {
        let completion = self.ready.pop_front()?.completion;
        let used =
            if completion.kind == Kind::Receive { &mut self.receive_queue_used } else { &mut self.send_queue_used };
        *used = used.saturating_sub(1);
        Some(completion)
    }

    /// Returns true if a poll can skip the system call for connection events: on an established connection, fifteen of
    /// sixteen polls do.
    fn may_pass_over_events(&mut self) -> bool {
        self.looks = self.looks.wrapping_add(1);
        self.phase == PairPhase::Established && self.lost.is_none() && !self.looks.is_multiple_of(16)
    }

    /// Takes the connection events, and ends a connection that is over.
    fn take_connection_events(&mut self, channel: &Channel) {
        self.take_events(channel);
        if let Some(error) = self.lost.take() {
            self.end_because(error);
        }
    }

    /// Takes the connection events without ending the connection, which may take long: the next wait ends the
    /// connection.
    fn learn_events(&mut self, channel: &Channel) {
        if self.lost.is_some() {
            return;
        }
        self.take_events(channel);
        if self.lost.is_some() {
            // The event that would have woken them is taken.
            self.wake();
        }
    }

    /// Returns the reason why the adapter refused work; an adapter does not report that the connection is over.
    fn refused(&mut self, channel: &Channel, error: Error) -> Error {
        self.learn_events(channel);
        if self.lost.is_some() { Error::Disconnected } else { error }
    }

    fn take_events(&mut self, channel: &Channel) {
        while self.identifier.is_some() && self.phase != PairPhase::Over && self.lost.is_none() {
            match channel.next_event() {
                Ok(Some(event)) => self.happened(event),
                Ok(None) => return,
                Err(error) => self.lost = Some(error),
            }
        }
    }

    fn happened(&mut self, event: Event) {
        if event.kind != sys::RDMA_CM_EVENT_ESTABLISHED {
            let error = of_event(event.kind, event.status, event.private_data);
            self.lost = error.map(|error| explained(self.domain.device(), error));
        } else if self.phase == PairPhase::Asked {
            self.phase = PairPhase::Established;
            self.answer = Some(Ok(event.private_data));
        }
    }

    /// Wakes all waiting threads and the waiter.
    fn wake(&mut self) {
        self.wake_event.signal();
        if let Some(watch) = self.watch.take() {
            watch.wake();
        }
    }

    /// Ends the connection for this reason.
    fn end_because(&mut self, error: Error) {
        self.answer.get_or_insert_with(|| Err(error.clone()));
        if self.phase == PairPhase::Established {
            self.end_reason = Some(error);
        }
        self.end_connection();
    }

    /// Returns the reason for the end of the connection, when all completions were taken. One that is not certain to
    /// be true for ever is returned once.
    fn end_error(&mut self) -> Error {
        match self.end_reason {
            Some(Error::Removed) => Error::Removed,
            _ => self.end_reason.take().unwrap_or(Error::Disconnected),
        }
    }

    /// Ends the connection: the adapter stops, and all incomplete work is flushed.
    fn end_connection(&mut self) {
        if self.phase == PairPhase::Over {
            return;
        }
        let asked = mem::replace(&mut self.phase, PairPhase::Over) == PairPhase::Asked;
        self.wake();
        if self.hardware.is_some()
            && let Some(identifier) = &self.identifier
        {
            identifier.disconnect();
        }
        // Completed work keeps its status.
        self.drain();
        if self.shared.is_some() && self.hardware.is_some() {
            thread::sleep(LAST_RECEIVE);
            self.drain();
        }
        let destroyed = self.destroy();
        if self.shared.is_some() {
            // Some adapters keep completions of a queue pair that is gone.
            self.drain();
        }
        // The other side need not answer any more.
        if asked && destroyed.is_ok() {
            self.identifier = None;
        }
    }

    /// Takes the adapter's completions: no more than posted items.
    fn drain(&mut self) {
        let shared = self.shared.as_ref().map_or(0, SharedReceiveQueue::depth);
        for _ in 0..self.work.len() + self.receives.len() + shared {
            match self.completions.poll() {
                Ok(Some(completion)) => self.complete(&completion),
                _ => break,
            }
        }
    }

    /// Destroys the adapter's queue pair, and flushes the rest of the work.
    fn destroy(&mut self) -> Result<(), Error> {
        self.hardware = None;
        let destroyed = self.identifier.as_mut().map_or(Ok(()), Identifier::destroy_queue_pair);
        for PostedWork { id, kind, memory, .. } in self.work.drain(..).chain(self.receives.drain(..)) {
            let completion = Completion { id, kind, status: Status::Flushed, length: 0, invalidated: None };
            self.ready.push_back(ReadyCompletion { completion, shared: None });
            if destroyed.is_err() {
                // The adapter may still use the memory, so it is never freed.
                mem::forget(memory);
            }
        }
        destroyed
    }
}

/// Readable when there may be a completion, or the connection is over, once [`QueuePair::arm`] has found nothing: for
/// programs that wait for descriptors, as asynchronous runtimes do.
impl AsFd for QueuePair {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl Drop for PairState {
    fn drop(&mut self) {
        self.end_connection();
        let Some(queue) = &self.shared else { return };
        for ReadyCompletion { completion, shared } in self.ready.drain(..) {
            if let Some(memory) = shared {
                // This fails only if the adapter is gone, and then nobody needs it.
                let _ = queue.post_range(completion.id, memory);
            }
        }
    }
}

fn status(of: c_int) -> Status {
    match of {
        sys::IBV_WC_SUCCESS => Status::Success,
        sys::IBV_WC_WR_FLUSH_ERR => Status::Flushed,
        sys::IBV_WC_LOC_LEN_ERR => Status::LocalLength,
        sys::IBV_WC_LOC_PROT_ERR | sys::IBV_WC_LOC_ACCESS_ERR => Status::LocalProtection,
        sys::IBV_WC_REM_INV_REQ_ERR => Status::RemoteInvalidRequest,
        sys::IBV_WC_REM_ACCESS_ERR => Status::RemoteAccess,
        sys::IBV_WC_REM_OP_ERR => Status::RemoteOperation,
        sys::IBV_WC_RNR_RETRY_EXC_ERR => Status::ReceiverNotReady,
        sys::IBV_WC_RETRY_EXC_ERR | sys::IBV_WC_RESP_TIMEOUT_ERR => Status::NoAnswer,
        _ => Status::LocalOperation,
    }
}

impl fmt::Debug for QueuePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuePair").field("depths", &self.depths).finish_non_exhaustive()
    }
}
