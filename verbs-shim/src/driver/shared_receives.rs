//! Receives that all connections of a server share.

use std::sync::Arc;

use super::work_id::WorkId;
use crate::verbs::{Access, Error, Local, Verbs};

/// Receives that all connections of a server share, in one protection domain.
pub(crate) struct SharedReceives<V: Verbs> {
    verbs: V,
    domain: Arc<V::Domain>,
    queue: V::SharedReceiveQueue,
    regions: Vec<V::Region>,
    /// Length of each receive buffer, in octets.
    size: usize,
}

impl<V: Verbs> SharedReceives<V> {
    /// Registers and posts the receive buffers, which are one slab.
    pub(super) fn new(verbs: V, count: usize, size: usize) -> Result<Self, Error> {
        let domain = verbs.domain()?;
        let queue = verbs.shared_receive_queue(&domain, count)?;
        let regions = verbs.register_slab(&domain, count, size, Access::LOCAL_WRITE)?;
        let shared = Self { verbs, domain: Arc::new(domain), queue, regions, size };
        (0..count as u32).try_for_each(|receive| shared.post(receive))?;
        Ok(shared)
    }

    pub(super) const fn queue(&self) -> &V::SharedReceiveQueue {
        &self.queue
    }

    pub(super) fn domain(&self) -> Arc<V::Domain> {
        Arc::clone(&self.domain)
    }

    /// Number of Receives in the queue, including Receives whose messages no connection has seen yet.
    pub(crate) fn free(&self) -> usize {
        self.verbs.shared_receives(&self.queue)
    }

    pub(super) fn region(&self, receive: u32) -> Result<&V::Region, Error> {
        self.regions.get(receive as usize).ok_or(Error::Range)
    }

    /// Posts a Receive that no connection holds any more.
    pub(super) fn post(&self, receive: u32) -> Result<(), Error> {
        let local = Local::whole_region(self.region(receive)?, self.size);
        self.verbs.post_shared_receive(&self.queue, WorkId::Receive(receive).to_id(), local)
    }
}
