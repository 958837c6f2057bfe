//! Fault injection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::verbs::{Error, Status};

/// A fault at one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The connection is lost before the step is done.
    LoseBefore,
    /// The connection is lost after the step is done, but the side that requested the step does not learn that.
    LoseAfter,
    /// The step begins this much later, and so does all work that was posted afterwards.
    Delay(Duration),
    /// The step is not done and completes with this status, which ends the connection. [`Status::Success`] has no
    /// effect. A step of connection setup has no completion, so any status means [`LoseBefore`](Self::LoseBefore).
    Complete(Status),
    /// The connection is not set up, for this reason. Other steps are not affected.
    Setup(SetupFault),
}

/// Reason why a connection is not set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetupFault {
    /// [`Error::Unreachable`](crate::Error::Unreachable).
    NoRoute,
    /// [`Error::NoHost`](crate::Error::NoHost).
    NoHost,
    /// [`Error::PortDown`](crate::Error::PortDown).
    PortDown,
    /// [`Error::Refused`](crate::Error::Refused).
    Refused,
    /// The other side's program rejects the private data: [`Error::Rejected`](crate::Error::Rejected).
    Rejected,
    /// The other side's connection manager rejects the request: [`Error::NotAccepted`](crate::Error::NotAccepted).
    NotAccepted,
    /// Nobody answers the request: [`Error::TimedOut`](crate::Error::TimedOut) for a client. At the side that accepts,
    /// like [`Fault::LoseBefore`].
    NoAnswer,
}

impl SetupFault {
    /// Returns the error for the side that connects. `None` if that side gets no error.
    pub(super) fn error(self) -> Option<Error> {
        Some(match self {
            Self::NoRoute => Error::Unreachable,
            Self::NoHost => Error::NoHost,
            Self::PortDown => Error::PortDown,
            Self::Refused => Error::Refused,
            Self::Rejected => Error::Rejected(Vec::new()),
            // No resources.
            Self::NotAccepted => Error::NotAccepted { reason: 3 },
            Self::NoAnswer => return None,
        })
    }
}

/// Plan of the faults on a queue pair, step by step. Step 0 is setting up the connection: the request of the side that
/// connects, or the answer of the side that accepts. After that, each work request is a step, in the order of posting;
/// receives do not count. The same plan has the same effects each time, whatever the order of the threads.
///
/// ```
/// use std::time::Duration;
///
/// use rpcrdma_verbs::loopback::{Fault, Faults};
///
/// let plan = Faults::none().at(2, Fault::Delay(Duration::from_millis(1))).at(5, Fault::LoseAfter);
/// assert_eq!((plan.fault_at(1), plan.fault_at(5)), (None, Some(Fault::LoseAfter)));
///
/// // One step in ten, from a seed.
/// let struck = |seed| {
///     let random = Faults::seeded(seed, 10, &[Fault::LoseBefore, Fault::LoseAfter]);
///     (0..100).map(|step| random.fault_at(step)).collect::<Vec<_>>()
/// };
/// assert_eq!(struck(42), struck(42));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Faults {
    steps: BTreeMap<u64, Fault>,
    random: Option<Random>,
}

/// Faults that a plan has injected so far, on all queue pairs with that plan. A fault counts once it has taken effect,
/// so the fault of a step that never began does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Injected {
    /// Connections lost before a step ([`Fault::LoseBefore`]), or that [`Fault::Complete`] or [`Fault::Setup`] kept
    /// from being set up.
    pub lost_before: u64,
    /// Connections lost after a step ([`Fault::LoseAfter`]).
    pub lost_after: u64,
    /// Steps that were delayed ([`Fault::Delay`]).
    pub delayed: u64,
    /// Sum of these delays.
    pub delay: Duration,
    /// Work requests that were not done ([`Fault::Complete`], except with [`Status::Success`]).
    pub completed: u64,
}

impl Injected {
    /// Number of faults that have taken effect.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.lost_before + self.lost_after + self.delayed + self.completed
    }
}

/// A plan, with counts of the faults.
#[derive(Debug, Default)]
pub(super) struct Plan {
    faults: Faults,
    injected: Mutex<Injected>,
}

/// The fault of a step, and the counts of the plan.
#[derive(Clone, Debug)]
pub(super) struct Strike {
    pub(super) fault: Fault,
    plan: Arc<Plan>,
}

#[derive(Clone, Debug)]
struct Random {
    seed: u64,
    one_in: u64,
    faults: Vec<Fault>,
}

impl Faults {
    /// No faults.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Makes each step fail with a chance of one in `one_in` (0: never), in one of these ways. The seed decides which
    /// steps fail, and how.
    #[must_use]
    pub fn seeded(seed: u64, one_in: u64, faults: &[Fault]) -> Self {
        Self { steps: BTreeMap::new(), random: Some(Random { seed, one_in, faults: faults.to_vec() }) }
    }

    /// Adds a fault at this step.
    #[must_use]
    pub fn at(mut self, step: u64, fault: Fault) -> Self {
        self.steps.insert(step, fault);
        self
    }

    /// The fault at a step.
    #[must_use]
    pub fn fault_at(&self, step: u64) -> Option<Fault> {
        self.steps.get(&step).copied().or_else(|| self.random.as_ref()?.fault_at(step))
    }
}

impl Plan {
    pub(super) fn new(faults: Faults) -> Self {
        Self { faults, injected: Mutex::default() }
    }

    /// Returns the fault of a step.
    pub(super) fn strike_at(self: &Arc<Self>, step: u64) -> Option<Strike> {
        self.faults.fault_at(step).map(|fault| Strike { fault, plan: Arc::clone(self) })
    }

    pub(super) fn injected(&self) -> Injected {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Injected> {
        self.injected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Strike {
    /// Applies the fault to a work request that begins. Returns the status of work that is not done. A fault is counted
    /// here or in [`lose_after`](Self::lose_after), where it takes effect, and nowhere else.
    pub(super) fn begin_work(&self) -> Option<Status> {
        let mut injected = self.plan.lock();
        match self.fault {
            Fault::LoseBefore => {
                injected.lost_before += 1;
                Some(Status::NoAnswer)
            }
            Fault::Complete(status) if status != Status::Success => {
                injected.completed += 1;
                Some(status)
            }
            Fault::Delay(delay) => {
                injected.delayed += 1;
                injected.delay = injected.delay.saturating_add(delay);
                None
            }
            Fault::LoseAfter | Fault::Complete(_) | Fault::Setup(_) => None,
        }
    }

    /// Applies the fault to a step that is done. Returns true if the connection is lost.
    pub(super) fn lose_after(&self) -> bool {
        let is_lost = self.fault == Fault::LoseAfter;
        self.plan.lock().lost_after += u64::from(is_lost);
        is_lost
    }

    /// Returns true if the fault prevents a connection from being set up: that has no completion, so a status means the
    /// same.
    pub(super) const fn prevents_setup(&self) -> bool {
        matches!(self.fault, Fault::LoseBefore | Fault::Complete(_) | Fault::Setup(_))
    }

    /// Returns the error for the side that connects, if the fault [prevents](Self::prevents_setup) that. `None` if that
    /// side gets no error.
    pub(super) fn setup_error(&self) -> Option<Error> {
        match self.fault {
            Fault::Setup(fault) => fault.error(),
            _ => Some(Error::Disconnected),
        }
    }

    /// Counts a lost connection.
    pub(super) fn count_lost(&self) {
        self.plan.lock().lost_before += 1;
    }
}

impl Random {
    fn fault_at(&self, step: u64) -> Option<Fault> {
        let number = mixed(self.seed ^ mixed(step));
        let which = (number >> 32).checked_rem(self.faults.len() as u64)?;
        let strikes = (number & 0xffff_ffff).checked_rem(self.one_in)? == 0;
        self.faults.get(which as usize).copied().filter(|_| strikes)
    }
}

/// The finalizer of SplitMix64: every bit of the input changes half the bits of the output.
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::loopback::Fabric;
    use crate::verbs::{Access, Depths, Local, Operation, Verbs, Work};

    const TIMEOUT: Duration = Duration::from_secs(10);
    const DELAY: Duration = Duration::from_millis(20);

    /// Returns the next kind of fault. A new kind does not compile before it has a place here.
    fn next_kind(fault: Fault) -> Option<Fault> {
        match fault {
            Fault::LoseBefore => Some(Fault::LoseAfter),
            Fault::LoseAfter => Some(Fault::Delay(DELAY)),
            Fault::Delay(_) => Some(Fault::Complete(Status::RemoteAccess)),
            Fault::Complete(_) => Some(Fault::Setup(SetupFault::Refused)),
            Fault::Setup(_) => None,
        }
    }

    /// Observations of a client about a connection and an RDMA Write.
    #[derive(Debug, PartialEq)]
    struct Observed {
        is_connected: bool,
        is_delayed: bool,
        status: Option<Status>,
        injected: u64,
    }

    /// Connects, and writes by RDMA, which is step 1.
    fn observe(plan: Faults) -> Observed {
        let begun = Instant::now();
        let fabric = Fabric::new();
        let client = fabric.adapter([192, 0, 2, 1].into()).unwrap().with_faults(plan);
        let server = fabric.adapter([192, 0, 2, 2].into()).unwrap();
        let address = "192.0.2.2:20049".parse().unwrap();
        let [(ours, local), (theirs, remote)] = [&client, &server].map(|adapter| {
            let domain = adapter.domain().unwrap();
            let region = adapter.register(&domain, vec![0; 8], Access::LOCAL_WRITE | Access::REMOTE_WRITE).unwrap();
            (adapter.queue_pair(&domain, Depths::default()).unwrap(), region)
        });
        let listener = server.listen(address, 1).unwrap();
        client.connect(&ours, address, &[]).unwrap();
        if let Some(request) = server.request(&listener, Duration::ZERO).unwrap() {
            let _ = server.accept(request, &theirs, &[]);
        }
        let is_connected = client.connected(&ours, TIMEOUT).is_ok();
        let status = is_connected.then(|| {
            let write = Operation::Write(server.segment(&remote).into());
            client.post(&ours, Work::new(1, write, Local::whole_region(&local, 8))).unwrap();
            client.completion(&ours, TIMEOUT).unwrap().unwrap().status
        });
        Observed { is_connected, is_delayed: begun.elapsed() >= DELAY, status, injected: client.injected().total() }
    }

    #[test]
    fn every_fault_takes_effect_and_is_counted() {
        let undisturbed = observe(Faults::none());
        assert_eq!((undisturbed.status, undisturbed.injected), (Some(Status::Success), 0));
        let mut kinds = std::iter::successors(Some(Fault::LoseBefore), |fault| next_kind(*fault));
        kinds.by_ref().for_each(|fault| {
            let step = if matches!(fault, Fault::Setup(_)) { 0 } else { 1 };
            let found = observe(Faults::none().at(step, fault));
            assert_eq!(found.injected, 1, "{fault:?}: {found:?}");
            let undisturbed = Observed { is_delayed: found.is_delayed, status: Some(Status::Success), ..undisturbed };
            let has_effect = found.is_connected != undisturbed.is_connected || found.status != undisturbed.status;
            assert_eq!(has_effect, !matches!(fault, Fault::Delay(_)), "{fault:?}: {found:?}");
            assert!(found.is_delayed || !matches!(fault, Fault::Delay(_)), "{fault:?}: {found:?}");
        });
    }

    /// Faults without effect: a fault of connection setup at a later step, and a successful completion.
    #[test]
    fn a_fault_without_effect_is_not_counted() {
        for fault in [Fault::Setup(SetupFault::Refused), Fault::Complete(Status::Success)] {
            let found = observe(Faults::none().at(1, fault));
            assert_eq!((found.status, found.injected), (Some(Status::Success), 0), "{fault:?}");
        }
    }

    #[test]
    fn seeded_faults_strike_at_the_rate_and_differ_by_seed() {
        let struck = |seed| {
            let plan = Faults::seeded(seed, 8, &[Fault::LoseBefore, Fault::LoseAfter]);
            (0..8000).map(move |step| plan.fault_at(step)).collect::<Vec<_>>()
        };
        let count = |fault| struck(1).into_iter().filter(|found| *found == Some(fault)).count();
        assert!((400..600).contains(&count(Fault::LoseBefore)), "{}", count(Fault::LoseBefore));
        assert!((400..600).contains(&count(Fault::LoseAfter)), "{}", count(Fault::LoseAfter));
        assert_ne!(struck(1), struck(2));
        assert_eq!(Faults::seeded(1, 0, &[Fault::LoseBefore]).fault_at(1), None);
        assert_eq!(Faults::seeded(1, 1, &[]).fault_at(1), None);
    }
}
