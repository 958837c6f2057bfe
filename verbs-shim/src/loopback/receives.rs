//! Receives of one side of a connection: an own queue, or a shared receive queue.
//!
//! Several connections take Receives from a shared queue, each under the lock of the connection, so the lock of the
//! queue is taken second. A connection whose Send finds the queue empty is woken by the next Receive. A Receive that
//! was taken and not filled returns to the queue when the connection ends, and one whose completion nobody took when
//! that side is gone.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::memory::{Domain, MemoryRange};
use super::port::Attached;
use crate::verbs::Error;

/// A receive in a queue.
#[derive(Debug)]
pub(super) struct Receive {
    pub(super) id: u64,
    pub(super) memory: MemoryRange,
}

/// A shared receive queue of the loopback.
///
/// ```
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Access, Error, Local, Verbs};
///
/// let adapter = Fabric::new().adapter([192, 0, 2, 1].into())?;
/// let domain = adapter.domain()?;
/// let queue = adapter.shared_receive_queue(&domain, 1)?;
/// let buffer = adapter.register(&domain, vec![0; 64], Access::LOCAL_WRITE)?;
/// adapter.post_shared_receive(&queue, 1, Local::whole_region(&buffer, 64))?;
/// assert_eq!(adapter.shared_receives(&queue), 1);
/// assert_eq!(adapter.post_shared_receive(&queue, 2, Local::whole_region(&buffer, 64)), Err(Error::QueueFull));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SharedReceiveQueue(Arc<SharedQueue>);

#[derive(Debug)]
struct SharedQueue {
    domain: Domain,
    depth: usize,
    state: Mutex<SharedQueueState>,
}

#[derive(Debug, Default)]
struct SharedQueueState {
    receives: VecDeque<Receive>,
    /// Connections with a Send that found no Receive.
    waiting: Vec<Weak<dyn Attached>>,
}

impl SharedReceiveQueue {
    pub(super) fn new(domain: Domain, depth: usize) -> Self {
        Self(Arc::new(SharedQueue { domain, depth, state: Mutex::default() }))
    }

    pub(super) fn domain(&self) -> &Domain {
        &self.0.domain
    }

    pub(super) fn depth(&self) -> usize {
        self.0.depth
    }

    /// Number of Receives in the queue.
    pub(super) fn len(&self) -> usize {
        self.lock().receives.len()
    }

    fn lock(&self) -> MutexGuard<'_, SharedQueueState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn post(&self, id: u64, memory: MemoryRange) -> Result<(), Error> {
        let mut state = self.lock();
        if state.receives.len() >= self.0.depth {
            return Err(Error::QueueFull);
        }
        state.receives.push_back(Receive { id, memory });
        wake(state);
        Ok(())
    }

    /// Puts Receives back that were not used, in front of the others.
    fn put_back(&self, receives: impl DoubleEndedIterator<Item = Receive>) {
        let mut state = self.lock();
        let before = state.receives.len();
        receives.rev().for_each(|receive| state.receives.push_front(receive));
        if state.receives.len() > before {
            wake(state);
        }
    }

    /// Takes the next Receive. If there is none, `link` is woken by the next one.
    fn take_receive(&self, link: &Weak<dyn Attached>) -> Option<Receive> {
        let mut state = self.lock();
        let receive = state.receives.pop_front();
        if receive.is_none() && !state.waiting.iter().any(|other| other.ptr_eq(link)) {
            state.waiting.push(Weak::clone(link));
        }
        receive
    }
}

/// Wakes the waiting connections. Connections that find no Receive go on waiting.
fn wake(mut state: MutexGuard<'_, SharedQueueState>) {
    let waiting = mem::take(&mut state.waiting);
    // The last owner of a connection would return Receives to the queue.
    drop(state);
    waiting.iter().filter_map(Weak::upgrade).for_each(|link| link.notify());
}

/// Receives of one side of a connection.
#[derive(Debug)]
pub(super) struct SideReceives {
    source: ReceiveQueue,
    /// Taken from the queue for the Send at the front of the other side's queue.
    reserved: Option<Receive>,
}

#[derive(Debug)]
enum ReceiveQueue {
    /// `used`: number of entries in use, including completions that were not taken.
    Own { queue: VecDeque<Receive>, depth: usize, used: usize },
    /// `untaken`: complete, and their completions were not taken.
    Shared { queue: SharedReceiveQueue, link: Weak<dyn Attached>, untaken: VecDeque<Receive> },
}

impl SideReceives {
    pub(super) const fn own(depth: usize) -> Self {
        Self { source: ReceiveQueue::Own { queue: VecDeque::new(), depth, used: 0 }, reserved: None }
    }

    pub(super) const fn shared(queue: SharedReceiveQueue, link: Weak<dyn Attached>) -> Self {
        Self { source: ReceiveQueue::Shared { queue, link, untaken: VecDeque::new() }, reserved: None }
    }

    /// Makes these Receives part of one side of a connection.
    pub(super) fn join(&mut self, to: Weak<dyn Attached>) {
        if let ReceiveQueue::Shared { link, .. } = &mut self.source {
            *link = to;
        }
    }

    pub(super) fn post(&mut self, id: u64, memory: MemoryRange) -> Result<(), Error> {
        match &mut self.source {
            ReceiveQueue::Own { queue, depth, used } if *used < *depth => {
                *used += 1;
                queue.push_back(Receive { id, memory });
                Ok(())
            }
            ReceiveQueue::Own { .. } | ReceiveQueue::Shared { .. } => Err(Error::QueueFull),
        }
    }

    /// Reserves the next Receive for a Send, unless one is reserved. Returns false if there is none.
    pub(super) fn reserve(&mut self) -> bool {
        if self.reserved.is_none() {
            self.reserved = match &mut self.source {
                ReceiveQueue::Own { queue, .. } => queue.pop_front(),
                ReceiveQueue::Shared { queue, link, .. } => queue.take_receive(link),
            };
        }
        self.reserved.is_some()
    }

    pub(super) fn take_reserved(&mut self) -> Option<Receive> {
        self.reserved.take()
    }

    /// A Receive is complete. A Receive of a shared queue is kept until the completion is taken.
    pub(super) fn completed(&mut self, receive: Receive) {
        if let ReceiveQueue::Shared { untaken, .. } = &mut self.source {
            untaken.push_back(receive);
        }
    }

    /// The completion of the first complete Receive was taken.
    pub(super) fn note_taken(&mut self) {
        match &mut self.source {
            ReceiveQueue::Own { used, .. } => *used = used.saturating_sub(1),
            ReceiveQueue::Shared { untaken, .. } => drop(untaken.pop_front()),
        }
    }

    /// Ends the connection: returns the IDs of the Receives that are flushed. Receives of a shared queue stay there.
    pub(super) fn flush(&mut self) -> Vec<u64> {
        let reserved = self.reserved.take().into_iter();
        match &mut self.source {
            ReceiveQueue::Own { queue, .. } => reserved.chain(mem::take(queue)).map(|receive| receive.id).collect(),
            ReceiveQueue::Shared { queue, .. } => {
                queue.put_back(reserved);
                Vec::new()
            }
        }
    }

    /// Returns the Receives whose completions nobody will take to their shared queue.
    pub(super) fn give_back(&mut self) {
        if let ReceiveQueue::Shared { queue, untaken, .. } = &mut self.source {
            queue.put_back(self.reserved.take().into_iter().chain(mem::take(untaken)));
        }
    }
}

impl Drop for SideReceives {
    fn drop(&mut self) {
        self.give_back();
    }
}
