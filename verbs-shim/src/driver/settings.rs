//! The settings of one end of a connection.

use std::time::Duration;

use rpcrdma::endpoint::Limits;
use rpcrdma::private_data::{Flags, PrivateData};

use super::buffers::Buffers;
use super::port::{Port, Provider};
use crate::verbs::Depths;
use crate::verbs::Error;

/// The most calls that a connection has in flight, each way.
pub const MAX_CALLS: u32 = 64;

/// RDMA Reads of a connection that run at the same time.
pub(super) const READS: usize = 16;

/// The settings of one end of a connection.
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
    /// The most calls that are made at the same time: the credits that are requested, and the Receives that are posted.
    /// 1 to [`MAX_CALLS`] for an end that calls, otherwise 0.
    pub calls: u32,
    /// The most calls of the other side that are answered at the same time: the credits that are granted, and the
    /// Receives that are posted. At most [`MAX_CALLS`]. With 0, a client ignores all calls.
    pub served: u32,
    /// The most octets that are sent inline (RFC 8797 section 4.2).
    pub send_size: u32,
    /// The most octets that can be received inline.
    pub receive_size: u32,
    /// Whether the other side may use Send with Invalidate (RFC 8797 section 4.1), if the adapter supports it.
    pub remote_invalidation: bool,
    /// How large a call of the other side may be. Its calls in flight can make this end hold [`served`](Self::served)
    /// times that many octets, and as much again while it does not take the replies.
    pub limits: Limits,
    /// Whether this end pulls replies that are too long for a Send from memory of the other side, instead of having
    /// them put into a Reply chunk (RFC 5666 section 3.5). RFC 8166 forbids this, so use it only with a server that is
    /// known to provide replies.
    pub pulls_replies: bool,
    /// Whether a reply that fits nowhere is provided for the other side to pull, and how long that may take; otherwise
    /// such a reply is refused. RFC 8166 forbids this, so use it only for clients that are known to pull replies.
    pub provides_replies: Option<Duration>,
    /// How long setting up a connection may take.
    pub connect_timeout: Duration,
    /// How long a call may take before it is given up; none means without end. A reply may never come: an adapter does
    /// not notice that the other side is gone while it has nothing to send to it.
    pub timeout: Option<Duration>,
    /// How long the reply to a call that was given up may still take. The other side does not know that nobody wants
    /// it, and may use the memory of the call, so the call keeps its buffers and its place among the
    /// [`calls`](Self::calls) until the reply has come. After this time the connection ends, with all its calls,
    /// because nothing else takes the memory away; zero ends it at once. The server watches this time, or else the
    /// thread that serves futures.
    pub grace: Duration,
    /// The most given-up calls whose buffers are kept for [`Connection::returned`](crate::Connection::returned); if
    /// there are more, those of the oldest are freed.
    pub returned: usize,
}

impl Settings {
    /// Settings of an end that calls and is not called.
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

    /// Settings of an end that is called and does not call.
    #[must_use]
    pub const fn server() -> Self {
        Self { calls: 0, served: 32, ..Self::client() }
    }

    pub(crate) fn private_data<V: Provider>(&self, verbs: &V) -> PrivateData {
        let can = self.remote_invalidation && verbs.remote_invalidation();
        let flags = if can { Flags::REMOTE_INVALIDATION } else { Flags::empty() };
        PrivateData { flags, send_size: self.sizes().0, receive_size: self.sizes().1 }
    }

    /// The sizes of the buffers, as far as they can be expressed (RFC 8797 section 4.2).
    fn sizes(&self) -> (u32, u32) {
        let said = |size: u32| (size & !1023).clamp(PrivateData::SMALLEST_SIZE, PrivateData::LARGEST_SIZE);
        (said(self.send_size), said(self.receive_size))
    }

    /// A queue pair with its buffers, not connected.
    pub(crate) fn prepare<V: Provider>(&self, verbs: &V) -> Result<(Port<V>, Buffers<V>), Error> {
        /// RDMA Reads and Writes that are posted in addition to the Sends.
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
