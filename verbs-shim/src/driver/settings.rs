//! The settings of one end of a connection.

use std::time::Duration;

use rpcrdma::endpoint::Limits;
use rpcrdma::private_data::{Flags, PrivateData};

use super::buffers::Buffers;
use super::port::{Port, Provider};
use crate::verbs::Depths;
use crate::verbs::Error;

/// Calls that a connection has under way at most, each way.
pub const MAX_CALLS: u32 = 64;

/// RDMA Reads of a connection that are under way at once.
pub(super) const READS: usize = 16;

/// How an end of a connection is set up.
///
/// ```
/// use std::time::Duration;
///
/// use rpcrdma_verbs::Settings;
///
/// let settings = Settings { timeout: Some(Duration::from_secs(5)), ..Settings::client() };
/// assert_eq!((settings.calls, settings.served), (32, 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Calls that are made at once at most: credits that are asked for, and Receives that are posted. 1 to
    /// [`MAX_CALLS`] where anything is to be called, else 0.
    pub calls: u32,
    /// Calls of the other side that are answered at once at most: credits that are granted, and Receives that are posted.
    /// At most [`MAX_CALLS`]. Of a client, 0 has it ignore all calls.
    pub served: u32,
    /// Octets that are sent inline at most (RFC 8797 section 4.2).
    pub send_size: u32,
    /// Octets that can be received inline.
    pub receive_size: u32,
    /// Whether the other side may use Send with Invalidate (RFC 8797 section 4.1), where the adapter can do it.
    pub remote_invalidation: bool,
    /// What a call of the other side may bring. [`served`](Self::served) times so many octets are what its calls under way
    /// can have this end hold, and as much again while it does not take the replies.
    pub limits: Limits,
    /// Whether replies too long for a Send are pulled by this end from memory of the other side, in place of being put into
    /// a Reply chunk (RFC 5666 section 3.5). RFC 8166 forbids it: only for a server that is known to provide replies.
    pub pulls_replies: bool,
    /// Whether a reply that fits nowhere is provided for the other side to pull, and how long it may take for that; without
    /// it such a reply is refused. RFC 8166 forbids it: only for clients that are known to pull replies.
    pub provides_replies: Option<Duration>,
    /// How long setting up a connection may take.
    pub connect_timeout: Duration,
    /// How long a call may take before it is given up; without end where there is none. What a call waits for may never
    /// come: an adapter does not notice that the other side is gone while it has nothing to send to it.
    pub timeout: Option<Duration>,
    /// How long the reply to a call that was given up may still take. The other side does not know that nobody wants it,
    /// and may use the memory of the call: so the call keeps its buffers and its place among the [`calls`](Self::calls)
    /// until the reply has come. When this time is over, the connection ends, and all its calls with it, as nothing else
    /// takes the memory away; zero ends it at once. The thread that futures have sees to that, where no server does.
    pub grace: Duration,
    /// Calls that were given up whose buffers are kept for [`Connection::returned`](crate::Connection::returned), at most:
    /// those of more, from the oldest on, are freed.
    pub returned: usize,
}

impl Settings {
    /// Those of an end that calls, and is not called.
    #[must_use]
    pub const fn client() -> Self {
        Self {
            calls: 32,
            served: 0,
            send_size: 4096,
            receive_size: 4096,
            remote_invalidation: true,
            limits: Limits::new(),
            pulls_replies: false,
            provides_replies: None,
            connect_timeout: Duration::from_secs(10),
            timeout: Some(Duration::from_secs(60)),
            grace: Duration::from_secs(60),
            returned: 0,
        }
    }

    /// Those of an end that is called, and does not call.
    #[must_use]
    pub const fn server() -> Self {
        Self { calls: 0, served: 32, ..Self::client() }
    }

    pub(crate) fn private_data<V: Provider>(&self, verbs: &V) -> PrivateData {
        let can = self.remote_invalidation && verbs.remote_invalidation();
        let flags = if can { Flags::REMOTE_INVALIDATION } else { Flags::empty() };
        PrivateData { flags, send_size: self.sizes().0, receive_size: self.sizes().1 }
    }

    /// Those of the buffers: what can be said of them (RFC 8797 section 4.2).
    fn sizes(&self) -> (u32, u32) {
        let said = |size: u32| (size & !1023).clamp(PrivateData::SMALLEST_SIZE, PrivateData::LARGEST_SIZE);
        (said(self.send_size), said(self.receive_size))
    }

    /// A queue pair with its buffers, not connected.
    pub(crate) fn prepare<V: Provider>(&self, verbs: &V) -> Result<(Port<V>, Buffers<V>), Error> {
        /// RDMA Reads and Writes that are posted apart from the Sends.
        const TRANSFERS: usize = 64;
        if self.calls > MAX_CALLS || self.served > MAX_CALLS || self.calls + self.served == 0 {
            return Err(Error::Depth);
        }
        if self.calls > 0 && self.served > 0 && (self.pulls_replies || self.provides_replies.is_some()) {
            return Err(Error::BothWays);
        }
        let messages = (self.calls + self.served) as usize;
        let depths = Depths { send: messages + TRANSFERS, receive: messages, reads: READS, ..Depths::default() };
        let domain = verbs.domain()?;
        let queue_pair = verbs.queue_pair(&domain, depths)?;
        let port = Port { verbs: verbs.clone(), domain, queue_pair };
        let buffers = Buffers::new(&port, messages, messages, self.sizes(), depths.send)?;
        Ok((port, buffers))
    }
}
