//! An adapter that takes as long for memory and for the end of a connection as a test wants, and knows which threads asked.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use rpcrdma_verbs::loopback::{Adapter, ConnectionRequest, Domain, Listener, QueuePair, Region, SharedReceiveQueue};
use rpcrdma_verbs::{
    Access, Completion, Depths, Error, Local, NotRegistered, Segment, Verbs, Waiter, WatchState, Work,
};

/// Acts that take an adapter long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Register,
    Deregister,
    Disconnect,
    Destroy,
}

/// A question to a connection that it can answer only if it is not locked.
type Question = Arc<dyn Fn() + Send + Sync>;

/// The act at which threads have to wait.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    closed_to: Option<Act>,
    standing: usize,
    passed: Vec<(Act, ThreadId)>,
    question: Option<Question>,
    /// Acts during which the question was not answered.
    locked: Vec<Act>,
    /// Number of regions, after the next one, that get that one's handle.
    same_handle: Option<usize>,
    handle: Option<u32>,
}

/// The longest that a thread waits here, so that a failing test ends.
const LONGEST: Duration = Duration::from_secs(10);

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// From now on, threads that ask for this have to wait.
    pub(crate) fn close_to(&self, act: Act) {
        self.lock().closed_to = Some(act);
    }

    /// Waits until a thread waits at the gate.
    pub(crate) fn wait_for_one(&self) {
        let (state, timeout) =
            self.changed.wait_timeout_while(self.lock(), Duration::from_secs(10), |state| state.standing == 0).unwrap();
        drop(state);
        assert!(!timeout.timed_out(), "nobody comes to the gate");
    }

    pub(crate) fn open(&self) {
        self.lock().closed_to = None;
        self.changed.notify_all();
    }

    /// Returns the acts since the last time, and the thread of each.
    pub(crate) fn passed(&self) -> Vec<(Act, ThreadId)> {
        std::mem::take(&mut self.lock().passed)
    }

    /// Asks this of a connection, in another thread, whenever something is asked of the adapter from now on.
    pub(crate) fn ask(&self, question: impl Fn() + Send + Sync + 'static) {
        self.lock().question = Some(Arc::new(question));
    }

    /// Stops asking. Returns what was asked of the adapter while the connection was locked.
    pub(crate) fn was_locked(&self) -> Vec<Act> {
        let mut state = self.lock();
        let question = state.question.take();
        let locked = std::mem::take(&mut state.locked);
        drop(state);
        // It may hold the last of a connection, whose end then comes to the gate.
        drop(question);
        locked
    }

    /// Gives the next region a handle of its own, and this many after it the same handle.
    pub(crate) fn give_the_same_handle_after_one(&self, regions: usize) {
        self.lock().same_handle = Some(regions);
    }

    fn pass(&self, act: Act) {
        let mut state = self.lock();
        state.passed.push((act, thread::current().id()));
        state.standing += 1;
        self.changed.notify_all();
        let question = state.question.clone();
        state = self.changed.wait_timeout_while(state, LONGEST, |state| state.closed_to == Some(act)).unwrap().0;
        state.standing -= 1;
        drop(state);
        if let Some(question) = question {
            let (answer, answered) = mpsc::channel();
            thread::spawn(move || {
                question();
                let _ = answer.send(());
            });
            if answered.recv_timeout(LONGEST / 2).is_err() {
                self.lock().locked.push(act);
            }
        }
    }

    fn handle(&self, given: u32) -> u32 {
        let mut state = self.lock();
        match (state.same_handle, state.handle) {
            (Some(1..), None) => *state.handle.insert(given),
            (Some(left @ 1..), Some(handle)) => {
                state.same_handle = Some(left - 1);
                handle
            }
            _ => {
                (state.same_handle, state.handle) = (None, None);
                given
            }
        }
    }
}

/// Opens a gate when a test is over, however it ends.
pub(crate) struct Opens<'a>(pub(crate) &'a Gate);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[derive(Clone)]
pub(crate) struct Slow {
    adapter: Adapter,
    pub(crate) gate: Arc<Gate>,
}

impl Slow {
    pub(crate) fn new(adapter: Adapter) -> Self {
        Self { adapter, gate: Arc::default() }
    }
}

/// Its end is an act.
pub(crate) struct SlowPair {
    pair: QueuePair,
    gate: Arc<Gate>,
}

impl Drop for SlowPair {
    fn drop(&mut self) {
        self.gate.pass(Act::Destroy);
    }
}

/// Dropping it deregisters it.
pub(crate) struct SlowRegion {
    region: Option<Region>,
    gate: Arc<Gate>,
}

impl SlowRegion {
    fn region(&self) -> &Region {
        self.region.as_ref().unwrap()
    }
}

impl Drop for SlowRegion {
    fn drop(&mut self) {
        if self.region.is_some() {
            self.gate.pass(Act::Deregister);
        }
    }
}

fn inner<'a>(local: &Local<'a, SlowRegion>) -> Local<'a, Region> {
    Local { region: local.region.region(), range: local.range.clone() }
}

impl Verbs for Slow {
    type Domain = Domain;
    type Region = SlowRegion;
    type QueuePair = SlowPair;
    type SharedReceiveQueue = SharedReceiveQueue;
    type Listener = Listener;
    type Request = ConnectionRequest;

    fn remote_invalidation(&self) -> bool {
        self.adapter.remote_invalidation()
    }

    fn domain(&self) -> Result<Domain, Error> {
        self.adapter.domain()
    }

    fn register_part(
        &self,
        domain: &Domain,
        buffer: Vec<u8>,
        part: Range<usize>,
        access: Access,
    ) -> Result<SlowRegion, NotRegistered> {
        self.gate.pass(Act::Register);
        let region = Some(self.adapter.register_part(domain, buffer, part, access)?);
        Ok(SlowRegion { region, gate: Arc::clone(&self.gate) })
    }

    fn register_slab(
        &self,
        domain: &Domain,
        count: usize,
        length: usize,
        access: Access,
    ) -> Result<Vec<SlowRegion>, Error> {
        self.gate.pass(Act::Register);
        let slab = self.adapter.register_slab(domain, count, length, access)?;
        Ok(slab.into_iter().map(|region| SlowRegion { region: Some(region), gate: Arc::clone(&self.gate) }).collect())
    }

    fn deregister(&self, mut region: SlowRegion) -> Result<Vec<u8>, Error> {
        self.gate.pass(Act::Deregister);
        self.adapter.deregister(region.region.take().unwrap())
    }

    fn segment(&self, region: &SlowRegion) -> Segment {
        let segment = self.adapter.segment(region.region());
        Segment { handle: self.gate.handle(segment.handle), ..segment }
    }

    fn is_valid(&self, region: &SlowRegion) -> bool {
        self.adapter.is_valid(region.region())
    }

    fn read<T>(&self, region: &SlowRegion, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        self.adapter.read(region.region(), look)
    }

    fn write<T>(&self, region: &SlowRegion, change: impl FnOnce(&mut [u8]) -> T) -> Result<T, Error> {
        self.adapter.write(region.region(), change)
    }

    fn queue_pair(&self, domain: &Domain, depths: Depths) -> Result<SlowPair, Error> {
        Ok(SlowPair { pair: self.adapter.queue_pair(domain, depths)?, gate: Arc::clone(&self.gate) })
    }

    fn shared_receive_queue(&self, domain: &Domain, depth: usize) -> Result<SharedReceiveQueue, Error> {
        self.adapter.shared_receive_queue(domain, depth)
    }

    fn sharing_queue_pair(&self, queue: &SharedReceiveQueue, depths: Depths) -> Result<SlowPair, Error> {
        Ok(SlowPair { pair: self.adapter.sharing_queue_pair(queue, depths)?, gate: Arc::clone(&self.gate) })
    }

    fn post_shared_receive(
        &self,
        queue: &SharedReceiveQueue,
        id: u64,
        local: Local<'_, SlowRegion>,
    ) -> Result<(), Error> {
        self.adapter.post_shared_receive(queue, id, inner(&local))
    }

    fn shared_receives(&self, queue: &SharedReceiveQueue) -> usize {
        self.adapter.shared_receives(queue)
    }

    fn message_size(&self, queue_pair: &SlowPair) -> u32 {
        self.adapter.message_size(&queue_pair.pair)
    }

    fn post_receive(&self, queue_pair: &SlowPair, id: u64, local: Local<'_, SlowRegion>) -> Result<(), Error> {
        self.adapter.post_receive(&queue_pair.pair, id, inner(&local))
    }

    fn post(&self, queue_pair: &SlowPair, work: Work<'_, SlowRegion>) -> Result<(), Error> {
        let Work { id, operation, local, fenced } = work;
        self.adapter.post(&queue_pair.pair, Work { id, operation, local: inner(&local), fenced })
    }

    fn completion(&self, queue_pair: &SlowPair, timeout: Duration) -> Result<Option<Completion>, Error> {
        self.adapter.completion(&queue_pair.pair, timeout)
    }

    fn interrupt(&self, queue_pair: &SlowPair) {
        self.adapter.interrupt(&queue_pair.pair);
    }

    fn watch(&self, queue_pair: &SlowPair, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        self.adapter.watch(&queue_pair.pair, waiter, key)
    }

    fn watch_end(&self, queue_pair: &SlowPair, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        self.adapter.watch_end(&queue_pair.pair, waiter, key)
    }

    fn watch_requests(&self, listener: &Listener, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        self.adapter.watch_requests(listener, waiter, key)
    }

    fn listen(&self, address: SocketAddr, backlog: usize) -> Result<Listener, Error> {
        self.adapter.listen(address, backlog)
    }

    fn request(&self, listener: &Listener, timeout: Duration) -> Result<Option<ConnectionRequest>, Error> {
        self.adapter.request(listener, timeout)
    }

    fn private_data<'a>(&self, request: &'a ConnectionRequest) -> &'a [u8] {
        self.adapter.private_data(request)
    }

    fn peer(&self, request: &ConnectionRequest) -> SocketAddr {
        self.adapter.peer(request)
    }

    fn accept(&self, request: ConnectionRequest, queue_pair: &SlowPair, private_data: &[u8]) -> Result<(), Error> {
        self.adapter.accept(request, &queue_pair.pair, private_data)
    }

    fn reject(&self, request: ConnectionRequest, private_data: &[u8]) -> Result<(), Error> {
        self.adapter.reject(request, private_data)
    }

    fn connect(&self, queue_pair: &SlowPair, address: SocketAddr, private_data: &[u8]) -> Result<(), Error> {
        self.adapter.connect(&queue_pair.pair, address, private_data)
    }

    fn connected(&self, queue_pair: &SlowPair, timeout: Duration) -> Result<Option<Vec<u8>>, Error> {
        self.adapter.connected(&queue_pair.pair, timeout)
    }

    fn disconnect(&self, queue_pair: &SlowPair) -> Result<(), Error> {
        self.gate.pass(Act::Disconnect);
        self.adapter.disconnect(&queue_pair.pair)
    }
}
