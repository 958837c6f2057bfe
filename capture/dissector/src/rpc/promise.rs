//! Promises above RPC: one RPC opens a promise, and a later RPC keeps the promise.

use crate::carrier::operation::Stamp;
use crate::link::Address;
use crate::nfs::Procedure;

/// Kind of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PromiseKind {
    /// The server refuses an operation for now: the client makes the operation again.
    Retry,
    /// The server denies a lock that the client is willing to wait for.
    Lock,
    /// The server carries out a COPY after the reply.
    Copy,
    /// The server recalls a delegation.
    Delegation,
    /// The server recalls layouts.
    Layout,
    /// The server no longer knows the state of the client: the client sets up the state again.
    ClientState,
}

impl PromiseKind {
    /// Name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Lock => "lock",
            Self::Copy => "copy",
            Self::Delegation => "delegation",
            Self::Layout => "layout",
            Self::ClientState => "state",
        }
    }
}

/// End of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromiseEnd {
    /// The capture shows no end.
    Open,
    /// An RPC kept the promise: the first frame of the call, or of CB_OFFLOAD the last.
    Kept(Stamp),
    /// The client cancelled the COPY.
    Cancelled(Stamp),
    /// The server no longer knows the state.
    Revoked(Stamp),
}

impl PromiseEnd {
    /// The frame of the end, if the capture shows one.
    #[must_use]
    pub const fn stamp(self) -> Option<Stamp> {
        match self {
            Self::Open => None,
            Self::Kept(stamp) | Self::Cancelled(stamp) | Self::Revoked(stamp) => Some(stamp),
        }
    }
}

/// Reason why the end of an open promise may be missing from the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PromiseUnknown {
    /// The capture lacks packets of the client and the server.
    PacketsMissing,
    /// The capture holds RPCs of both that cannot be read.
    Unreadable,
    /// The server revoked state of the client, and the capture does not show which.
    Revoked,
    /// Too many promises were open.
    LeftOut,
}

impl core::fmt::Display for PromiseUnknown {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::PacketsMissing => "the capture lacks packets of both ends",
            Self::Unreadable => "the capture holds RPCs of both ends that cannot be read",
            Self::Revoked => "the server revoked state of the client, and does not say which",
            Self::LeftOut => "too many others were open",
        })
    }
}

/// A client whose delegation an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DelegationHolder {
    /// The client.
    pub client: Address,
    /// The frame of CB_RECALL.
    pub recalled: Stamp,
    /// The first frame of DELEGRETURN, if the capture holds that.
    pub returned: Option<Stamp>,
}

/// A promise that one RPC opens, and a later RPC keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Promise {
    /// Kind of the promise.
    pub kind: PromiseKind,
    /// Address of the client.
    pub client: Address,
    /// Address of the server.
    pub server: Address,
    /// Procedure of the RPC that opened the promise.
    pub procedure: Procedure,
    /// Name of the operation, or of a procedure without operations.
    pub operation: &'static str,
    /// Names of all operations of the RPC that opened the promise.
    pub operations: Vec<&'static str>,
    /// Handle of the file, if the RPC shows the handle.
    pub handle: Option<Box<[u8]>>,
    /// Name of the file in the arguments.
    pub file_name: Option<Box<[u8]>>,
    /// The frame that completed the call of the first RPC.
    pub call: Stamp,
    /// The first frame of that call.
    pub began: Stamp,
    /// The frame that opened the promise: the reply, or a recall's call.
    pub opened: Stamp,
    /// The last reply that refused the operation, showed the progress of a COPY, or showed that the state is gone.
    pub latest: Stamp,
    /// Number of replies that refused the operation, or showed that the state is gone.
    pub refusals: u64,
    /// Nanoseconds that these RPCs took.
    pub refused_ns: u64,
    /// Last status that refused the operation, or that CB_OFFLOAD reports (`nfsstat`).
    pub status: Option<u32>,
    /// Octets that a COPY has copied, if the capture shows that.
    pub copied: Option<u64>,
    /// True if a recall was answered.
    pub is_answered: bool,
    /// The client whose delegation the operation waits for.
    pub holder: Option<DelegationHolder>,
    /// The last call from the server to the client, on any connection.
    pub callback: Option<Stamp>,
    /// End of the promise.
    pub end: PromiseEnd,
    /// Name of the operation that shows the end.
    pub ended_by: Option<&'static str>,
    /// Reason why the end may be missing from the capture.
    pub unknown: Option<PromiseUnknown>,
}

impl Promise {
    /// NFS4ERR_GRACE (RFC 8881 section 15.1.9.2).
    const GRACE: u32 = 10_013;

    /// Adds a reply that refused the operation after so many nanoseconds, or that showed that the state is gone.
    pub(crate) const fn refuse_again(&mut self, reply: Stamp, took: u64, status: Option<u32>) {
        (self.latest, self.status) = (reply, status);
        self.refusals += 1;
        self.refused_ns = self.refused_ns.saturating_add(took);
    }

    /// Nanoseconds from the first call to the end. `None` without an end, or if the clock was set back.
    #[must_use]
    pub fn waited(&self) -> Option<u64> {
        self.end.stamp()?.time.0.checked_sub(self.began.time.0)
    }

    /// The end that owes what keeps the promise; `None` if the capture does not show which: the holder of a lock.
    #[must_use]
    pub fn debtor(&self) -> Option<Address> {
        match (self.kind, self.holder) {
            (PromiseKind::Lock, _) => None,
            (PromiseKind::Copy, _) => Some(self.server),
            (PromiseKind::Retry, Some(DelegationHolder { client, returned: None, .. })) => Some(client),
            _ => Some(self.client),
        }
    }

    /// Returns true if a client has to return something.
    #[must_use]
    pub const fn is_recall(&self) -> bool {
        matches!(self.kind, PromiseKind::Delegation | PromiseKind::Layout)
    }

    /// Returns true if the server refused the operation because of its grace period.
    #[must_use]
    pub fn is_in_grace(&self) -> bool {
        self.status == Some(Self::GRACE)
    }
}
