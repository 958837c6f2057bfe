//! Callbacks of the server: CB_RECALL on the connection that a session was created on (RFC 8881 sections 2.10.3.1 and
//! 20.2).
//!
//! The backchannel of a session has one slot, so one call is in flight at a time, and the others wait. A thread makes
//! the calls, while there are any. After a call whose outcome is unknown, the slot is of no more use, and neither is
//! the backchannel.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use rpcrdma::rpc::AuthSys;
use rpcrdma_verbs::{Call, CallError, Provider, WeakConnection};

use crate::xdr::{opaque, push, word};

/// `CB_COMPOUND` of the first version of the callback program.
const CB_VERSION: u32 = 1;
const CB_COMPOUND: u32 = 1;
const CB_RECALL: u32 = 4;
const CB_SEQUENCE: u32 = 11;

/// Maximum number of threads that make calls, for all clients: some may still wait for a session that is gone.
const MOST_THREADS: usize = 64;

/// Counts the threads that make calls: each holds one reference.
#[derive(Debug, Default)]
pub(super) struct Threads(Arc<()>);

impl Threads {
    /// Returns the number of threads.
    fn count(of: &Weak<()>) -> usize {
        of.strong_count().saturating_sub(1)
    }
}

/// The connection of a client.
pub(super) trait ClientConnection: Debug + Send + Sync {
    /// Returns true if the connection has ended.
    fn is_over(&self) -> bool;

    /// Makes a call, and waits for the reply.
    fn call(&self, call: Call) -> Called;
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Called {
    /// The results.
    Answered(Vec<u8>),
    /// The client has not carried the call out.
    NotCarriedOut,
    /// The client may have carried the call out, or cannot be called at all.
    Unknown,
}

impl<V: Provider> ClientConnection for WeakConnection<V> {
    fn is_over(&self) -> bool {
        self.upgrade().is_none_or(|connection| connection.ended().is_some())
    }

    fn call(&self, mut call: Call) -> Called {
        let Some(connection) = self.upgrade() else { return Called::Unknown };
        match connection.call(&mut call) {
            Ok(reply) => reply.results().map_or(Called::NotCarriedOut, |results| Called::Answered(results.to_vec())),
            Err(CallError::Error(_) | CallError::ErrorV2(_) | CallError::NotRegistered(_)) => Called::NotCarriedOut,
            Err(_) => Called::Unknown,
        }
    }
}

/// Credentials that callbacks use for the server (RFC 8881 section 18.36, `callback_sec_parms4`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    None,
    /// `authsys_parms`.
    Sys(Vec<u8>),
}

/// The backchannel of a session.
#[derive(Debug)]
pub(super) struct Backchannel {
    session: [u32; 4],
    program: u32,
    credentials: Credentials,
    caller: Arc<dyn ClientConnection>,
    threads: Weak<()>,
    queue: Mutex<Queue>,
}

/// Waiting recalls.
#[derive(Debug, Default)]
struct Queue {
    recalls: VecDeque<Recall>,
    stage: Stage,
    /// The sequence number of the last call that was carried out.
    sequence: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Idle,
    /// A thread makes calls.
    Calling,
    /// There will be no more calls.
    Down,
}

/// A delegation to recall, unless returned meanwhile.
#[derive(Clone, Debug)]
struct Recall {
    stateid: [u32; 4],
    /// The file handle in XDR.
    handle: [u32; 3],
    is_recalled: Weak<AtomicBool>,
}

impl Recall {
    /// Allows another recall, because the client does not know of this one.
    fn fail(&self) {
        if let Some(is_recalled) = self.is_recalled.upgrade() {
            is_recalled.store(false, Ordering::Relaxed);
        }
    }
}

impl Backchannel {
    pub(super) fn new(
        session: [u32; 4],
        program: u32,
        credentials: Credentials,
        caller: Arc<dyn ClientConnection>,
        threads: &Threads,
    ) -> Self {
        Self { session, program, credentials, caller, threads: Arc::downgrade(&threads.0), queue: Mutex::default() }
    }

    /// Returns true if the backchannel cannot be used.
    pub(super) fn is_down(&self) -> bool {
        self.caller.is_over() || self.queue().stage == Stage::Down
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls no more.
    pub(super) fn end_backchannel(&self) {
        let mut queue = self.queue();
        queue.stage = Stage::Down;
        queue.recalls.drain(..).for_each(|recall| recall.fail());
    }

    /// Recalls a delegation, unless that has been begun.
    pub(super) fn recall(self: &Arc<Self>, stateid: [u32; 4], handle: [u32; 3], is_recalled: &Arc<AtomicBool>) {
        let mut queue = self.queue();
        if queue.stage == Stage::Down || is_recalled.swap(true, Ordering::Relaxed) {
            return;
        }
        // So there are never more than there are delegations.
        queue.recalls.retain(|recall| recall.is_recalled.strong_count() > 0);
        queue.recalls.push_back(Recall { stateid, handle, is_recalled: Arc::downgrade(is_recalled) });
        if queue.stage == Stage::Idle {
            if self.hire() {
                queue.stage = Stage::Calling;
            } else {
                queue.recalls.drain(..).for_each(|recall| recall.fail());
            }
        }
    }

    /// Begins a thread that makes the calls. Returns false if there are too many threads.
    fn hire(self: &Arc<Self>) -> bool {
        let Some(one_more) = self.threads.upgrade().filter(|_| Threads::count(&self.threads) <= MOST_THREADS) else {
            return false;
        };
        let this = Arc::clone(self);
        let run = move || {
            this.run();
            drop(one_more);
        };
        thread::Builder::new().name("nfs callback".to_owned()).spawn(run).is_ok()
    }

    /// Makes the calls that wait.
    fn run(&self) {
        while let Some((recall, sequence)) = self.next_call() {
            let called = self.caller.call(self.compound(&recall, sequence));
            let RecallOutcome { is_sequenced, is_recalled } = match &called {
                Called::Answered(results) => recall_outcome(results),
                Called::NotCarriedOut | Called::Unknown => RecallOutcome::default(),
            };
            if !is_recalled {
                recall.fail();
            }
            if is_sequenced {
                self.queue().sequence = sequence;
            }
            if called == Called::Unknown {
                self.end_backchannel();
            }
        }
    }

    /// The next call, with the sequence number.
    fn next_call(&self) -> Option<(Recall, u32)> {
        let mut queue = self.queue();
        while let Some(recall) = queue.recalls.pop_front() {
            if recall.is_recalled.strong_count() > 0 {
                return Some((recall, queue.sequence.wrapping_add(1)));
            }
        }
        if queue.stage == Stage::Calling {
            queue.stage = Stage::Idle;
        }
        None
    }

    /// `CB_COMPOUND` with `CB_SEQUENCE` and `CB_RECALL` (RFC 8881 sections 20.9 and 20.2).
    fn compound(&self, recall: &Recall, sequence: u32) -> Call {
        /// Octets of results, with a tag that nobody has asked for.
        const RESULTS: u32 = 512;
        let call = Call::rpc(self.program, CB_VERSION, CB_COMPOUND).with_results_length(RESULTS);
        let user = match &self.credentials {
            Credentials::None => None,
            Credentials::Sys(body) => AuthSys::decode(body).ok(),
        };
        let mut call = user.map_or(call.clone(), |user| call.with_credentials(&user));
        // No tag; minor version 1; no identifier; two operations.
        push(call.message(), &[0, 1, 0, 2, CB_SEQUENCE]);
        push(call.message(), &self.session);
        // Slot 0, the highest; the reply need not be kept; no calls that this refers to.
        push(call.message(), &[sequence, 0, 0, 0, 0, CB_RECALL]);
        push(call.message(), &recall.stateid);
        // The file is not about to be truncated.
        push(call.message(), &[0]);
        push(call.message(), &recall.handle);
        call
    }
}

/// Operations of a `CB_COMPOUND` that a client has carried out.
#[derive(Clone, Copy, Debug, Default)]
struct RecallOutcome {
    /// True for `CB_SEQUENCE`.
    is_sequenced: bool,
    /// True for `CB_RECALL`.
    is_recalled: bool,
}

fn recall_outcome(mut results: &[u8]) -> RecallOutcome {
    let results = &mut results;
    let mut sequence = || {
        let (_status, _tag, _count) = (word(results)?, opaque(results)?, word(results)?);
        Some([word(results)?, word(results)?])
    };
    if sequence() != Some([CB_SEQUENCE, 0]) {
        return RecallOutcome::default();
    }
    // After the session and four numbers.
    let recall = results.get(16 + 16..).and_then(|mut rest| Some([word(&mut rest)?, word(&mut rest)?]));
    RecallOutcome { is_sequenced: true, is_recalled: recall == Some([CB_RECALL, 0]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that never answers.
    #[derive(Debug)]
    struct Silent(Mutex<()>);

    impl ClientConnection for Silent {
        fn is_over(&self) -> bool {
            false
        }

        fn call(&self, _: Call) -> Called {
            drop(self.0.lock());
            Called::Unknown
        }
    }

    #[test]
    fn what_waits_does_not_grow_with_what_is_given_back() {
        let (silent, threads) = (Arc::new(Silent(Mutex::default())), Threads::default());
        let silence = silent.0.lock().unwrap_or_else(PoisonError::into_inner);
        let caller = Arc::clone(&silent) as Arc<dyn ClientConnection>;
        let backchannel = Arc::new(Backchannel::new([1; 4], 1, Credentials::None, caller, &threads));
        for number in 0..100 {
            let is_recalled = Arc::default();
            backchannel.recall([1, 2, number, 4], [8, 0, number], &is_recalled);
            assert!(backchannel.queue().recalls.len() <= 2, "{number}");
        }
        drop(silence);
    }

    #[test]
    fn threads_do_not_grow_with_the_sessions_that_are_gone() {
        let (silent, threads) = (Arc::new(Silent(Mutex::default())), Threads::default());
        let silence = silent.0.lock().unwrap_or_else(PoisonError::into_inner);
        let delegations: Vec<Arc<AtomicBool>> = (0..=MOST_THREADS).map(|_| Arc::default()).collect();
        for is_recalled in &delegations {
            let caller = Arc::clone(&silent) as Arc<dyn ClientConnection>;
            let backchannel = Arc::new(Backchannel::new([1; 4], 1, Credentials::None, caller, &threads));
            backchannel.recall([1, 2, 3, 4], [8, 0, 3], is_recalled);
        }
        assert_eq!(Threads::count(&Arc::downgrade(&threads.0)), MOST_THREADS);
        let recalled = delegations.iter().filter(|is_recalled| is_recalled.load(Ordering::Relaxed));
        assert_eq!(recalled.count(), MOST_THREADS, "the last can be recalled later");
        drop(silence);
    }

    #[test]
    fn only_a_whole_reply_counts_as_carried_out() {
        let words = [0, 0, 2, CB_SEQUENCE, 0, 1, 2, 3, 4, 1, 0, 0, 0, CB_RECALL, 0];
        let whole: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
        let outcome = |results: &[u8]| {
            let RecallOutcome { is_sequenced, is_recalled } = recall_outcome(results);
            (is_sequenced, is_recalled)
        };
        assert_eq!(outcome(&whole), (true, true));
        for cut in 0..whole.len() {
            assert_eq!(outcome(&whole[..cut]), (cut >= 20, false), "{cut}");
        }
        let with = |index: usize, value: u8| {
            let mut other = whole.clone();
            other[index] = value;
            outcome(&other)
        };
        assert_eq!(
            [with(15, 4), with(19, 1), with(55, 11), with(59, 1)],
            [(false, false), (false, false), (true, false), (true, false)]
        );
    }
}
