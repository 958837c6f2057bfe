//! Signs of loss before the end of a connection.

use rpcrdma_dissector::{Address, Recovered, RecoveryKind, Stamp};

use crate::format::number::counted;

/// Signs of loss of one kind by one end, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultRun {
    /// End that shows the signs.
    pub by: Address,
    /// Kind of the signs.
    pub kind: RecoveryKind,
    /// The first sign.
    pub first: Stamp,
    /// The last sign.
    pub last: Stamp,
    /// Number of signs.
    pub times: u64,
}

impl FaultRun {
    /// Returns true for a sign after which a connection may end.
    pub(super) const fn is_fault(kind: RecoveryKind) -> bool {
        matches!(kind, RecoveryKind::TimedOut { .. } | RecoveryKind::NotReady { .. } | RecoveryKind::Failed)
    }

    /// The run after one more fault.
    pub(super) fn next(run: Option<Self>, recovered: &Recovered) -> Self {
        let Recovered { stamp, from: by, kind, .. } = *recovered;
        let is_same = |run: &Self| run.by == by && run.kind.name() == kind.name();
        match run.filter(is_same) {
            Some(run) => Self { last: stamp, times: run.times + 1, ..run },
            None => Self { by, kind, first: stamp, last: stamp, times: 1 },
        }
    }

    /// The signs in words, after "after".
    pub(super) fn words(&self) -> String {
        let Self { by, first, times, .. } = self;
        match self.kind {
            RecoveryKind::Failed => format!("{by} refused an operation for good (NAK in frame {})", first.frame),
            RecoveryKind::NotReady { .. } => {
                let naks = counted(*times, "RNR NAK");
                format!("{naks} of {by} since frame {}: it had no Receive posted", first.frame)
            }
            _ => {
                let timeouts = counted(*times, "time-out");
                format!("{timeouts} of {by} since frame {}: it got no acknowledgement", first.frame)
            }
        }
    }
}
