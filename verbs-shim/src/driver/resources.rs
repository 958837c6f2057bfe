//! RDMA resources of a connection: adapter, protection domain and queue pair.

use std::ops::Range;
use std::sync::Arc;

use super::shared_receives::SharedReceives;
use crate::verbs::{Access, Error, NotRegistered, Verbs};

/// [`Verbs`] that several threads can use. Every provider of this package implements this trait.
pub trait Provider:
    Verbs<
        Domain: Send + Sync,
        Region: Send + Sync,
        QueuePair: Send + Sync,
        SharedReceiveQueue: Send + Sync,
        Listener: Send + Sync,
    > + Clone
    + Send
    + Sync
    + 'static
{
}

impl<V> Provider for V where
    V: Verbs<
            Domain: Send + Sync,
            Region: Send + Sync,
            QueuePair: Send + Sync,
            SharedReceiveQueue: Send + Sync,
            Listener: Send + Sync,
        > + Clone
        + Send
        + Sync
        + 'static
{
}

/// Adapter, protection domain and queue pair of a connection.
pub(crate) struct Resources<V: Verbs> {
    pub(crate) verbs: V,
    pub(crate) domain: Arc<V::Domain>,
    pub(crate) queue_pair: V::QueuePair,
    /// Receives of all connections of a server, which are then in one domain.
    pub(crate) shared: Option<Arc<SharedReceives<V>>>,
}

impl<V: Verbs> Resources<V> {
    /// Registers a part of a buffer for this connection. In a shared domain, none that the other side may use: each
    /// connection there could use that memory (RFC 8166 section 8.1.1).
    pub(super) fn register_part(
        &self,
        buffer: Vec<u8>,
        part: Range<usize>,
        access: Access,
    ) -> Result<V::Region, NotRegistered> {
        if self.shared.is_some() && access.intersects(Access::REMOTE_READ | Access::REMOTE_WRITE) {
            return Err(NotRegistered { error: Error::SharedDomain, buffer });
        }
        self.verbs.register_part(&self.domain, buffer, part, access)
    }
}

/// Access rights to memory into which RDMA Reads of this end bring data.
pub(super) const SINK: Access = Access::LOCAL_WRITE.union(Access::READ_SINK);
