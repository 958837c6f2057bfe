//! Limit of open descriptors of the process (`ulimit -n`), which limits the number of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::verbs::Error;

/// Number of descriptors of a connection: a completion channel, a channel for connection events, the event that wakes a
/// sleeping thread, and the one that waits for these three.
pub const DESCRIPTORS: u64 = 4;

/// Number of descriptors for the rest of the process.
const OTHERS: u64 = 64;

/// Raises the soft limit of open descriptors so that this process can have `connections` connections, as far as the
/// hard limit allows. Returns the number of connections that are then possible: with the usual soft limit of 1,024,
/// there would be 240. The limit is never lowered.
///
/// ```
/// let possible = rpcrdma_verbs::rdma::raise_descriptor_limit(10)?;
/// assert!(possible >= 10);
/// # Ok::<(), rpcrdma_verbs::Error>(())
/// ```
///
/// # Errors
/// [`Error::System`].
pub fn raise_descriptor_limit(connections: usize) -> Result<usize, Error> {
    let limits = getrlimit(Resource::Nofile);
    let needed = needed(connections);
    // Without a limit, the maximum is the limit of the numbers.
    let (current, maximum) = (limits.current.unwrap_or(u64::MAX), limits.maximum.unwrap_or(u64::MAX));
    let raised = current.max(needed.min(maximum));
    if raised > current {
        let raised = Rlimit { current: Some(raised), maximum: limits.maximum };
        let refused = |error: rustix::io::Errno| Error::System { function: "setrlimit", number: error.raw_os_error() };
        setrlimit(Resource::Nofile, raised).map_err(refused)?;
    }
    Ok(possible(raised))
}

/// Returns the number of descriptors that a process with this many connections needs.
fn needed(connections: usize) -> u64 {
    u64::try_from(connections).unwrap_or(u64::MAX).saturating_mul(DESCRIPTORS).saturating_add(OTHERS)
}

/// Returns the number of connections for which this many descriptors are enough.
fn possible(descriptors: u64) -> usize {
    usize::try_from(descriptors.saturating_sub(OTHERS) / DESCRIPTORS).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_limit_rises_to_the_hard_limit_at_most() {
        assert_eq!((possible(1024), needed(240)), (240, 1024));
        let limits = || getrlimit(Resource::Nofile);
        let before = limits();
        assert!(raise_descriptor_limit(1).is_ok_and(|possible| possible >= 1));
        assert_eq!(limits(), before, "never lowered");
        let most = before.maximum.map_or(usize::MAX, possible);
        assert_eq!(raise_descriptor_limit(usize::MAX), Ok(most));
        assert_eq!(limits().maximum, before.maximum);
        assert_eq!(setrlimit(Resource::Nofile, before), Ok(()));
    }
}
