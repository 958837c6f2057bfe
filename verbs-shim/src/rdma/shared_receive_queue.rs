//! Shared receive queues.
//!
//! An adapter reports a receive of a shared queue to the completion queue of the queue pair that has filled the
//! receive, so only this place knows the memory. A queue pair that stops may have begun to fill one. The queue pair
//! completes that receive, as flushed, if there is enough time before the queue pair is destroyed (`queue_pair.rs`).
//! This was tried with soft RoCE of Linux 6.1, but not with an adapter.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, mem};

use super::errors::{last_error, was_posted};
use super::memory::{Domain, MemoryRange, PostedWork, Region};
use super::sys;
use crate::verbs::Error;
use crate::verbs::{Kind, Local};

/// First number of receives of shared queues, beyond the numbers of all other work.
const FIRST: u64 = 1 << 63;

/// A shared receive queue of an adapter. Each queue pair of a shared queue keeps the queue.
#[derive(Clone)]
pub struct SharedReceiveQueue(Arc<SharedQueue>);

struct SharedQueue {
    srq: NonNull<sys::ibv_srq>,
    domain: Domain,
    depth: usize,
    posted: Mutex<PostedReceives>,
}

#[derive(Default)]
struct PostedReceives {
    /// Number of receives posted so far.
    numbers: u64,
    /// By number: posted, and not known to be complete.
    receives: BTreeMap<u64, PostedWork>,
}

// SAFETY: all functions of libibverbs may be called from any thread, and the queue is destroyed by its last owner.
unsafe impl Send for SharedQueue {}
// SAFETY: as above.
unsafe impl Sync for SharedQueue {}

impl SharedReceiveQueue {
    pub(super) fn new(domain: &Domain, depth: usize) -> Result<Self, Error> {
        domain.device().check_shared(depth)?;
        let max_wr = u32::try_from(depth).map_err(|_| Error::Depth)?;
        let attr = sys::ibv_srq_attr { max_wr, max_sge: 1, srq_limit: 0 };
        let mut init = sys::ibv_srq_init_attr { srq_context: ptr::null_mut(), attr };
        // SAFETY: the domain exists as long as `SharedQueue`, and `init` can be written.
        let srq = unsafe { sys::ibv_create_srq(domain.pd(), &raw mut init) };
        let srq = NonNull::new(srq).ok_or_else(|| last_error("ibv_create_srq"))?;
        Ok(Self(Arc::new(SharedQueue { srq, domain: domain.clone(), depth, posted: Mutex::default() })))
    }

    pub(super) fn srq(&self) -> *mut sys::ibv_srq {
        self.0.srq.as_ptr()
    }

    pub(super) fn domain(&self) -> &Domain {
        &self.0.domain
    }

    pub(super) fn depth(&self) -> usize {
        self.0.depth
    }

    /// Number of receives that are not known to be complete.
    pub(super) fn len(&self) -> usize {
        self.lock().receives.len()
    }

    fn lock(&self) -> MutexGuard<'_, PostedReceives> {
        self.0.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn post(&self, id: u64, local: &Local<'_, Region>) -> Result<(), Error> {
        let memory = MemoryRange::new(local, true)?;
        if memory.domain().device().context() != self.0.domain.device().context() {
            return Err(Error::Deregistered);
        }
        self.post_range(id, memory)
    }

    /// Posts memory that was posted before, and not filled.
    pub(super) fn post_range(&self, id: u64, memory: MemoryRange) -> Result<(), Error> {
        let mut posted = self.lock();
        if posted.receives.len() >= self.0.depth {
            return Err(Error::QueueFull);
        }
        let number = FIRST | posted.numbers;
        posted.numbers = posted.numbers.wrapping_add(1) & !FIRST;
        let mut receive = PostedWork { number, id, kind: Kind::Receive, memory };
        // SAFETY: the queue is there, and the memory until the completion, as `receive` keeps it.
        unsafe { post(self.0.srq, &mut receive) }?;
        // Nobody takes its completion before, because that needs the lock.
        posted.receives.insert(number, receive);
        Ok(())
    }

    /// Returns the receive with this number, which is complete.
    pub(super) fn complete(&self, number: u64) -> Option<PostedWork> {
        self.lock().receives.remove(&number)
    }
}

/// Gives a receive to the adapter.
///
/// # Safety
/// The queue exists, and so does everything that the memory needs until the receive has ended.
unsafe fn post(srq: NonNull<sys::ibv_srq>, receive: &mut PostedWork) -> Result<(), Error> {
    let (sg_list, num_sge) = receive.memory.parts();
    let mut request = sys::ibv_recv_wr { wr_id: receive.number, next: ptr::null_mut(), sg_list, num_sge };
    let mut bad = ptr::null_mut();
    // SAFETY: the function is the driver's for this queue; request and list are copied before it returns.
    let number: c_int = unsafe {
        match (*srq.as_ref().context).ops.post_srq_recv {
            Some(post_srq_recv) => post_srq_recv(srq.as_ptr(), &raw mut request, &raw mut bad),
            None => libc::ENOSYS,
        }
    };
    was_posted("ibv_post_srq_recv", number)
}

impl Drop for SharedQueue {
    fn drop(&mut self) {
        // SAFETY: made by ibv_create_srq, and destroyed once. Its queue pairs are gone, as each keeps it alive.
        let number = unsafe { sys::ibv_destroy_srq(self.srq.as_ptr()) };
        if number != 0 {
            // A queue pair had to be leaked, and the adapter may still use the memory, so it is never freed.
            let posted = self.posted.get_mut().unwrap_or_else(PoisonError::into_inner);
            mem::take(&mut posted.receives).into_values().for_each(mem::forget);
        }
    }
}

impl fmt::Debug for SharedReceiveQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedReceiveQueue").field("depth", &self.0.depth).finish_non_exhaustive()
    }
}
