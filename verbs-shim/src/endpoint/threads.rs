//! Threads of a scope that are joined: a scope waits for closures only, and the destructors of thread-local variables
//! run later.

use std::any::Any;
use std::panic;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::verbs::Error;

/// The threads of a scope. Threads that have ended are joined when the next one begins, so this never keeps more
/// handles than there were threads at one time.
pub(crate) struct Threads<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    state: Mutex<ThreadsState<'scope>>,
}

#[derive(Default)]
struct ThreadsState<'scope> {
    /// Threads that were not joined yet.
    begun: Vec<ScopedJoinHandle<'scope, ()>>,
    /// The first panic.
    panic: Option<Box<dyn Any + Send>>,
}

impl<'scope, 'env> Threads<'scope, 'env> {
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self { scope, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, ThreadsState<'scope>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a thread; [`Error::Threads`] if the operating system has none.
    pub(crate) fn start_thread(&self, name: &str, run: impl FnOnce() + Send + 'scope) -> Result<(), Error> {
        let begun = thread::Builder::new().name(name.to_owned()).spawn_scoped(self.scope, run);
        self.lock().begun.push(begun.map_err(|_| Error::Threads)?);
        self.join_ended();
        Ok(())
    }

    /// Joins the threads that have ended.
    pub(crate) fn join_ended(&self) {
        let ended: Vec<_> = self.lock().begun.extract_if(.., |thread| thread.is_finished()).collect();
        ended.into_iter().for_each(|thread| self.join(thread));
    }

    /// Joins all threads, even threads that others begin meanwhile.
    ///
    /// # Panics
    /// If any thread has panicked.
    pub(crate) fn join_all(&self) {
        loop {
            // A thread that begins another one has not ended, so an empty list stays empty.
            let Some(thread) = self.lock().begun.pop() else { break };
            self.join(thread);
        }
        let panic = self.lock().panic.take();
        if let Some(panic) = panic {
            panic::resume_unwind(panic);
        }
    }

    fn join(&self, thread: ScopedJoinHandle<'_, ()>) {
        if let Err(panic) = thread.join() {
            self.lock().panic.get_or_insert(panic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_handles_are_bounded_by_simultaneous_threads() {
        thread::scope(|scope| {
            let threads = Threads::new(scope);
            for _ in 0..100 {
                threads.start_thread("short", || {}).unwrap();
                while !threads.lock().begun.iter().all(ScopedJoinHandle::is_finished) {
                    thread::yield_now();
                }
                assert!(threads.lock().begun.len() <= 1);
            }
            threads.join_all();
            assert!(threads.lock().begun.is_empty());
        });
    }
}
