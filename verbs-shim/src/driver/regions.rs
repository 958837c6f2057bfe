//! Registered buffers of a call or an answer: the only owner of a buffer from its registration until the end of its
//! deregistration. The call or answer ends after that, so the peer can no longer access any buffer that the caller gets.

use std::ops::Range;

use rpcrdma::segment::Segment;

use super::jobs::{Job, Jobs};
use super::registration::RegistrationId;
use crate::verbs::{NotRegistered, Verbs};

/// Maximum number of registrations of a buffer if the handle is in use. That happens only if the adapter has just
/// released the handle, and the release has not been reported yet.
const MAX_TRIES: u8 = 4;

/// Maximum number of copies whose buffers are kept for the next call or answer.
const MAX_COPIES: usize = 4;

/// Registered buffers of a call or an answer. `I` identifies a buffer, `R` is an adapter's region.
pub(super) struct Regions<I, R> {
    /// Buffers in the order of their registration, which is also the order of release.
    buffers: Vec<RegisteredBuffer<I, R>>,
    /// Number of times that the adapter has returned a handle in use.
    tries: u8,
}

struct RegisteredBuffer<I, R> {
    id: I,
    state: BufferState<R>,
}

enum BufferState<R> {
    /// A job registers the buffer.
    Registering,
    Registered(R),
    /// A job deregisters the buffer, which the peer may access until that job has ended.
    Deregistering,
}

/// Allocations of earlier copies, for reuse.
#[derive(Default)]
pub(super) struct CopyBuffers(Vec<Vec<u8>>);

impl<I: Copy + PartialEq + Into<RegistrationId>, R> Regions<I, R> {
    /// Requests the registration of a buffer, or of a `part` of that buffer.
    pub(super) fn register<V: Verbs<Region = R>>(
        &mut self,
        jobs: &mut Jobs<V>,
        id: I,
        buffer: Vec<u8>,
        part: Option<Range<usize>>,
    ) {
        self.buffers.push(RegisteredBuffer { id, state: BufferState::Registering });
        jobs.add_job(Job::Register(id.into(), buffer, part));
    }

    /// Requests another registration of a registered buffer whose handle is in use. Returns false after the last try.
    pub(super) fn register_again<V: Verbs<Region = R>>(
        &mut self,
        jobs: &mut Jobs<V>,
        id: I,
        part: Option<Range<usize>>,
    ) -> bool {
        if self.tries >= MAX_TRIES {
            return false;
        }
        let buffer = self.buffers.iter_mut().find(|buffer| buffer.id == id);
        let Some(region) = buffer.and_then(|buffer| buffer.state.change(BufferState::Registering)) else {
            return false;
        };
        self.tries += 1;
        jobs.add_job(Job::RegisterAgain(id.into(), region, part));
        true
    }

    /// Handles the end of a registration. Returns where the peer finds the memory, or the buffer and the error.
    pub(super) fn finish_registration<V: Verbs<Region = R>>(
        &mut self,
        verbs: &V,
        id: I,
        outcome: Result<R, NotRegistered>,
    ) -> Result<Segment, NotRegistered> {
        match outcome {
            Ok(region) => {
                let segment = verbs.segment(&region);
                if let Some(buffer) = self.buffers.iter_mut().find(|buffer| buffer.id == id) {
                    buffer.state = BufferState::Registered(region);
                }
                Ok(segment)
            }
            Err(failed) => {
                self.remove(id);
                Err(failed)
            }
        }
    }

    /// Handles the end of a deregistration: the peer can no longer access the buffer.
    pub(super) fn finish_deregistration(&mut self, id: I) {
        self.remove(id);
    }

    /// Returns the region of the first registered buffer that `matches`.
    pub(super) fn find(&self, matches: impl Fn(I) -> bool) -> Option<&R> {
        self.buffers.iter().find_map(|buffer| match &buffer.state {
            BufferState::Registered(region) if matches(buffer.id) => Some(region),
            _ => None,
        })
    }

    /// Returns true if a buffer that `matches` is registered, or is being registered or deregistered.
    pub(super) fn contains(&self, matches: impl Fn(I) -> bool) -> bool {
        self.buffers.iter().any(|buffer| matches(buffer.id))
    }

    /// Returns true if no buffer is registered, or is being registered or deregistered.
    pub(super) const fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Requests the deregistration of the registered buffers that `matches`. Returns false if there are none.
    pub(super) fn release<V: Verbs<Region = R>>(&mut self, jobs: &mut Jobs<V>, matches: impl Fn(I) -> bool) -> bool {
        let mut released = false;
        for buffer in self.buffers.iter_mut().filter(|buffer| matches(buffer.id)) {
            if let Some(region) = buffer.state.change(BufferState::Deregistering) {
                released = true;
                jobs.add_job(Job::Deregister(buffer.id.into(), region));
            }
        }
        released
    }

    /// Requests the deregistration of all registered buffers. Returns true if none is left, not even under way.
    pub(super) fn release_all<V: Verbs<Region = R>>(&mut self, jobs: &mut Jobs<V>) -> bool {
        self.release(jobs, |_| true);
        self.is_empty()
    }

    /// Prepares for the next call or answer.
    pub(super) const fn reset_tries(&mut self) {
        self.tries = 0;
    }

    fn remove(&mut self, id: I) {
        self.buffers.retain(|buffer| buffer.id != id);
    }
}

impl<R> BufferState<R> {
    /// Changes the state of a registered buffer, and returns the region.
    fn change(&mut self, next: Self) -> Option<R> {
        if !matches!(self, Self::Registered(_)) {
            return None;
        }
        if let Self::Registered(region) = std::mem::replace(self, next) { Some(region) } else { None }
    }
}

impl<I, R> Default for Regions<I, R> {
    fn default() -> Self {
        Self { buffers: Vec::new(), tries: 0 }
    }
}

impl CopyBuffers {
    /// Returns an empty buffer with room for `length` octets.
    pub(super) fn take_buffer(&mut self, length: usize) -> Vec<u8> {
        let mut buffer = self.0.pop().unwrap_or_default();
        buffer.clear();
        buffer.reserve(length);
        buffer
    }

    /// Keeps a buffer for the next copy, unless there are enough.
    pub(super) fn keep_buffer(&mut self, buffer: Vec<u8>) {
        if self.0.len() < MAX_COPIES {
            self.0.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::registration::{CallBuffer, CallRegistration};
    use super::*;
    use crate::loopback::{Adapter, Fabric};
    use crate::verbs::Access;

    const FIRST: CallRegistration = CallRegistration { ticket: 0, region: Some(0), kind: CallBuffer::Result(0) };
    const SECOND: CallRegistration = CallRegistration { ticket: 0, region: Some(1), kind: CallBuffer::Reply };

    struct Fixture {
        adapter: Adapter,
        jobs: Jobs<Adapter>,
        regions: Regions<CallRegistration, <Adapter as Verbs>::Region>,
    }

    impl Fixture {
        fn new() -> Self {
            let adapter = Fabric::new().adapter([192, 0, 2, 1].into()).unwrap();
            Self { adapter, jobs: Jobs::default(), regions: Regions::default() }
        }

        /// Runs the registrations and deregistrations that were requested, and returns their number.
        fn run_jobs(&mut self) -> usize {
            let domain = self.adapter.domain().unwrap();
            let jobs = self.jobs.take_jobs();
            let count = jobs.len();
            for job in jobs {
                match job {
                    Job::Register(RegistrationId::Call(id), buffer, _) => {
                        let outcome =
                            self.adapter.register(&domain, buffer, Access::REMOTE_WRITE | Access::LOCAL_WRITE);
                        self.regions.finish_registration(&self.adapter, id, outcome).unwrap();
                    }
                    Job::Deregister(RegistrationId::Call(id), region) => {
                        self.adapter.deregister(region).unwrap();
                        self.regions.finish_deregistration(id);
                    }
                    _ => panic!("no other job was requested"),
                }
                self.jobs.finish_job();
            }
            count
        }
    }

    #[test]
    fn a_buffer_is_owned_until_its_deregistration_has_ended() {
        let mut fixture = Fixture::new();
        fixture.regions.register(&mut fixture.jobs, FIRST, vec![0; 8], None);
        assert!(!fixture.regions.release_all(&mut fixture.jobs), "the registration has not ended");
        assert_eq!(fixture.run_jobs(), 1);
        assert!(!fixture.regions.release_all(&mut fixture.jobs), "the peer may still write");
        assert!(!fixture.regions.release_all(&mut fixture.jobs), "the deregistration has not ended");
        assert_eq!(fixture.run_jobs(), 1, "a buffer is deregistered once");
        assert!(fixture.regions.release_all(&mut fixture.jobs));
    }

    #[test]
    fn releasing_one_buffer_keeps_the_others_registered() {
        let mut fixture = Fixture::new();
        fixture.regions.register(&mut fixture.jobs, FIRST, vec![0; 8], None);
        fixture.regions.register(&mut fixture.jobs, SECOND, vec![0; 8], None);
        fixture.run_jobs();
        assert!(fixture.regions.release(&mut fixture.jobs, |id| id == FIRST));
        assert!(!fixture.regions.release(&mut fixture.jobs, |id| id == FIRST), "released already");
        assert!(fixture.regions.find(|id| id == FIRST).is_none(), "no work request may use a released buffer");
        assert!(fixture.regions.contains(|id| id == FIRST), "the peer may still access the buffer");
        fixture.run_jobs();
        assert!(!fixture.regions.contains(|id| id == FIRST));
        assert!(fixture.regions.find(|id| id == SECOND).is_some());
    }

    #[test]
    fn a_few_buffers_of_copies_are_kept() {
        let mut copies = CopyBuffers::default();
        for _ in 0..MAX_COPIES + 2 {
            copies.keep_buffer(Vec::new());
        }
        assert_eq!(copies.0.len(), MAX_COPIES);
    }
}
