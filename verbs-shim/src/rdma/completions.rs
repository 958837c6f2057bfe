//! The completion queue of a queue pair.

use std::ffi::c_int;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{self, NonNull};

use super::errors::{last_error, returned};
use super::management::nonblocking;
use super::memory::Domain;
use super::sys;
use crate::verbs::Error;

/// A completion queue with a completion channel.
#[derive(Debug)]
pub(super) struct Completions {
    channel: NonNull<sys::ibv_comp_channel>,
    cq: NonNull<sys::ibv_cq>,
    _domain: Domain,
}

// SAFETY: all functions of libibverbs may be called from any thread.
unsafe impl Send for Completions {}
// SAFETY: as above.
unsafe impl Sync for Completions {}

impl Completions {
    /// Creates a queue for this many completions.
    pub(super) fn new(domain: &Domain, depth: usize) -> Result<Self, Error> {
        let context = domain.device().context();
        let depth = c_int::try_from(depth).map_err(|_| Error::Depth)?;
        // SAFETY: the adapter is open as long as the domain is there.
        let channel = unsafe { sys::ibv_create_comp_channel(context) };
        let channel = NonNull::new(channel).ok_or_else(|| last_error("ibv_create_comp_channel"))?;
        // SAFETY: as above; no context of ours is needed, and completion vector 0 is always there.
        let cq = unsafe { sys::ibv_create_cq(context, depth, ptr::null_mut(), channel.as_ptr(), 0) };
        let Some(cq) = NonNull::new(cq) else {
            let error = last_error("ibv_create_cq");
            // SAFETY: made above, and nothing uses it.
            unsafe { sys::ibv_destroy_comp_channel(channel.as_ptr()) };
            return Err(error);
        };
        let completions = Self { channel, cq, _domain: domain.clone() };
        nonblocking(completions.descriptor())?;
        Ok(completions)
    }

    pub(super) fn cq(&self) -> *mut sys::ibv_cq {
        self.cq.as_ptr()
    }

    /// Readable when there was a completion since [`arm`](Self::arm).
    pub(super) fn descriptor(&self) -> c_int {
        // SAFETY: it is there until this is dropped.
        unsafe { self.channel.as_ref().fd }
    }

    /// The next completion, if there is one.
    pub(super) fn poll(&self) -> Result<Option<sys::ibv_wc>, Error> {
        let mut completion = sys::ibv_wc::default();
        // SAFETY: the queue is there, its context open, the function the driver's for it, and there is room for one.
        let count = unsafe {
            match (*self.cq.as_ref().context).ops.poll_cq {
                Some(poll_cq) => poll_cq(self.cq.as_ptr(), 1, &raw mut completion),
                None => -libc::ENOSYS,
            }
        };
        match count {
            0 => Ok(None),
            1 => Ok(Some(completion)),
            number => Err(returned("ibv_poll_cq", number)),
        }
    }

    /// Requests an event for the next completion. Earlier completions may have none, so poll after this.
    pub(super) fn arm(&self) -> Result<(), Error> {
        // SAFETY: as in `poll`.
        let number = unsafe {
            match (*self.cq.as_ref().context).ops.req_notify_cq {
                Some(req_notify_cq) => req_notify_cq(self.cq.as_ptr(), 0),
                None => libc::ENOSYS,
            }
        };
        if number == 0 { Ok(()) } else { Err(returned("ibv_req_notify_cq", number)) }
    }

    /// Acknowledges all completion events, so that the descriptor is no longer readable.
    pub(super) fn acknowledge(&self) {
        let (mut cq, mut context) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the channel is there, both can be written, and each event is given back before the queue is
        // destroyed.
        unsafe {
            while sys::ibv_get_cq_event(self.channel.as_ptr(), &raw mut cq, &raw mut context) == 0 {
                sys::ibv_ack_cq_events(cq, 1);
            }
        }
    }
}

impl AsFd for Completions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open until this is dropped.
        unsafe { BorrowedFd::borrow_raw(self.descriptor()) }
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        // SAFETY: both were made in `new`, and are destroyed once. If a queue pair had to be leaked, the adapter
        // refuses the first, and the second stays with it.
        unsafe {
            if sys::ibv_destroy_cq(self.cq.as_ptr()) == 0 {
                sys::ibv_destroy_comp_channel(self.channel.as_ptr());
            }
        }
    }
}
