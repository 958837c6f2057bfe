//! Slow operations of an adapter: registration, deregistration, and the end of a connection.
//!
//! The Requester and the Responder ask for these jobs while the connection is locked. A job runs when nothing is
//! locked, so that a call with much memory delays no other, and the outcome is passed on under the lock again.
//!
//! - Each thread runs the jobs that it has requested. Before waiting, a thread that calls, answers or waits runs all
//!   pending jobs. A thread that takes completions also runs the jobs that result, even for calls of other threads. In
//!   a server, that is the one thread that serves the connection.
//! - A future's poll must not block that long, and neither may anything else that a task does between polls. So a call
//!   that is started or dropped, and a request that is answered or dropped, leave their jobs to the driver's thread.
//!   Only a server's thread that serves the connection runs these jobs itself: that thread runs `Service::call`, not a
//!   task.
//! - `Connection::request` and `Connection::disconnect` run their jobs themselves, as their documentation says: both
//!   are not for tasks. The driver could not run the jobs of `request`, because nothing would then wake a program that
//!   waits for the descriptor.
//! - The driver's thread ends a connection that the driver polls, or that a server has let go of, whichever thread owns
//!   the connection last.
//! - When a job ends, the threads that wait for the outcome are woken, even from waiting for the adapter
//!   ([`Verbs::interrupt`]).

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;

use super::registration::{RegistrationId, Slab};
use super::resources::Resources;
use crate::verbs::{Access, Verbs};
use crate::verbs::{Error, NotRegistered};

/// A slow operation, to run while nothing is locked.
pub(super) enum Job<V: Verbs> {
    /// Register a buffer, or only a part.
    Register(RegistrationId, Vec<u8>, Option<Range<usize>>),
    /// Deregister a buffer.
    Deregister(RegistrationId, V::Region),
    /// Register a buffer or a part once more, because the handle is already in use.
    RegisterAgain(RegistrationId, V::Region, Option<Range<usize>>),
    /// Register further send buffers.
    RegisterSends(Slab),
    /// Register further receive buffers.
    RegisterReceives(Slab),
    /// End the connection.
    Disconnect,
}

/// The outcome of a job.
pub(super) enum Done<V: Verbs> {
    Registered(RegistrationId, Result<V::Region, NotRegistered>),
    Deregistered(RegistrationId, Result<Vec<u8>, Error>),
    SendsRegistered(Result<Vec<V::Region>, Error>),
    ReceivesRegistered(Result<Vec<V::Region>, Error>),
    Disconnected(Result<(), Error>),
}

/// Jobs in the order of request.
pub(super) struct Jobs<V: Verbs> {
    waiting: VecDeque<Job<V>>,
    /// Jobs that are left to the driver's thread.
    left: VecDeque<Job<V>>,
    /// Number of jobs that a thread has taken and not done yet.
    under_way: usize,
    /// Empty queues for reuse.
    spare: Vec<VecDeque<Job<V>>>,
}

impl<V: Verbs> Jobs<V> {
    pub(super) fn add_job(&mut self, job: Job<V>) {
        self.waiting.push_back(job);
    }

    /// Takes all jobs for one thread.
    pub(super) fn take_jobs(&mut self) -> VecDeque<Job<V>> {
        self.under_way += self.waiting.len();
        mem::replace(&mut self.waiting, self.spare.pop().unwrap_or_default())
    }

    /// Leaves all jobs to the driver's thread.
    pub(super) fn leave_jobs(&mut self) {
        self.left.append(&mut self.waiting);
    }

    /// Makes the jobs that were left to the driver's thread available to this one.
    pub(super) fn take_over(&mut self) {
        self.waiting.append(&mut self.left);
    }

    /// One of the taken jobs is done.
    pub(super) const fn finish_job(&mut self) {
        self.under_way -= 1;
    }

    /// Keeps the allocation of an emptied queue.
    pub(super) fn keep_queue(&mut self, empty: VecDeque<Job<V>>) {
        self.spare.push(empty);
    }

    /// Returns true if there are jobs for any thread.
    pub(super) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns true if no job is waiting or running.
    pub(super) fn are_done(&self) -> bool {
        self.waiting.is_empty() && self.left.is_empty() && self.under_way == 0
    }
}

impl<V: Verbs> Default for Jobs<V> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), left: VecDeque::new(), under_way: 0, spare: Vec::new() }
    }
}

impl<V: Verbs> Job<V> {
    /// Runs the job, which may take long. Nothing is locked meanwhile.
    pub(super) fn run(self, resources: &Resources<V>) -> Done<V> {
        let register = |registration: RegistrationId, buffer: Vec<u8>, part: Option<Range<usize>>| {
            let (part, access) = (part.unwrap_or(0..buffer.len()), registration.access());
            Done::Registered(registration, resources.register_part(buffer, part, access))
        };
        let register_slab =
            |slab: Slab, access| resources.verbs.register_slab(&resources.domain, slab.count, slab.length, access);
        match self {
            Self::Register(registration, buffer, part) => register(registration, buffer, part),
            Self::Deregister(registration, region) => {
                Done::Deregistered(registration, resources.verbs.deregister(region))
            }
            Self::RegisterAgain(registration, region, part) => match resources.verbs.deregister(region) {
                Ok(buffer) => register(registration, buffer, part),
                Err(error) => Done::Registered(registration, Err(NotRegistered { buffer: Vec::new(), error })),
            },
            Self::RegisterSends(slab) => Done::SendsRegistered(register_slab(slab, Access::empty())),
            Self::RegisterReceives(slab) => Done::ReceivesRegistered(register_slab(slab, Access::LOCAL_WRITE)),
            Self::Disconnect => Done::Disconnected(resources.verbs.disconnect(&resources.queue_pair)),
        }
    }
}
