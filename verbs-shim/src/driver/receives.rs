//! Receives of a connection: the connection's own, or Receives that all connections of a server share.
//!
//! Own Receives limit a connection by their number: the other side has to wait if it exceeds its credits. Shared
//! Receives are counted instead. A connection may have as many messages as it would have own Receives; one with more
//! has ignored the credits, and ends. So no client can keep the queue empty.
//!
//! A shared Receive is in the queue, or in a queue pair that fills it, or complete. The provider returns a Receive to
//! the queue if the completion is never taken. From the completion on, the Receive belongs to the connection, which
//! posts the Receive again as soon as the message was copied, or the connection is over. The message keeps its name and
//! credit until the release.

use std::mem;
use std::sync::Arc;

use super::registration::Slab;
use super::resources::Resources;
use super::shared_receives::SharedReceives;
use super::work_id::WorkId;
use crate::verbs::{Access, Error, Local, Verbs};

/// Receives of a connection. Each message has a name, which the endpoints use.
pub(super) struct Receives<V: Verbs> {
    source: ReceiveSource<V>,
    /// Number of further Receives that only version 2 needs.
    further: usize,
    /// Length of each receive buffer, in octets.
    size: usize,
    /// Number of messages that may still come: for own Receives, the number of posted ones.
    pending: u32,
}

enum ReceiveSource<V: Verbs> {
    /// Own Receives. The name of a message is the index of the Receive.
    Own(Vec<V::Region>),
    Shared(SharedMessages<V>),
}

/// Messages of a connection in shared Receives.
struct SharedMessages<V: Verbs> {
    shared: Arc<SharedReceives<V>>,
    /// By name. Messages beyond the permitted number have names too, so that their Receives are not lost.
    messages: Vec<SharedMessage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SharedMessage {
    /// No message has this name.
    None,
    /// In this Receive, which the connection holds.
    Held(u32),
    /// Copied, with the Receive posted again.
    Copied,
}

impl<V: Verbs> Receives<V> {
    /// Registers own Receives in one slab and posts them, or uses the shared ones. `further`: number of Receives that
    /// only version 2 needs.
    pub(super) fn new(resources: &Resources<V>, count: usize, further: usize, size: usize) -> Result<Self, Error> {
        let Some(shared) = &resources.shared else {
            let slab = resources.verbs.register_slab(&resources.domain, count, size, Access::LOCAL_WRITE)?;
            let mut receives = Self { source: ReceiveSource::Own(Vec::new()), further, size, pending: 0 };
            receives.add_receives(resources, slab)?;
            return Ok(receives);
        };
        let source = ReceiveSource::Shared(SharedMessages { shared: Arc::clone(shared), messages: Vec::new() });
        Ok(Self { source, further, size, pending: count as u32 })
    }

    /// Number of messages that may still come.
    pub(super) const fn pending(&self) -> u32 {
        self.pending
    }

    /// Allows for the messages of version 2. Returns the buffers to register for that.
    pub(super) fn take_further(&mut self) -> Option<Slab> {
        let count = mem::take(&mut self.further);
        match &self.source {
            ReceiveSource::Own(_) => (count > 0).then_some(Slab { count, length: self.size }),
            ReceiveSource::Shared(_) => {
                self.pending += count as u32;
                None
            }
        }
    }

    /// Adds and posts own Receives.
    pub(super) fn add_receives(&mut self, resources: &Resources<V>, slab: Vec<V::Region>) -> Result<(), Error> {
        let ReceiveSource::Own(regions) = &mut self.source else { return Ok(()) };
        let first = regions.len() as u32;
        regions.extend(slab);
        (first..regions.len() as u32).try_for_each(|receive| self.post(resources, receive))
    }

    /// Counts a completed Receive. Returns the name of the message, or `None` if the other side has exceeded its
    /// credits.
    #[must_use = "a peer that sends too much must be disconnected"]
    pub(super) fn received(&mut self, receive: u32) -> Option<u32> {
        let name = match &mut self.source {
            ReceiveSource::Own(_) => receive,
            ReceiveSource::Shared(messages) => messages.received(receive),
        };
        let pending = self.pending.checked_sub(1)?;
        self.pending = pending;
        Some(name)
    }

    /// Returns the memory of a message.
    pub(super) fn region(&self, name: u32) -> Result<&V::Region, Error> {
        match &self.source {
            ReceiveSource::Own(regions) => regions.get(name as usize).ok_or(Error::Range),
            ReceiveSource::Shared(messages) => messages.region(name),
        }
    }

    /// Returns true if the Receives are shared with other connections.
    pub(super) const fn are_shared(&self) -> bool {
        matches!(self.source, ReceiveSource::Shared(_))
    }

    /// A message was copied: posts a shared Receive. Posting an own Receive would return the credit.
    pub(super) fn copied(&mut self, name: u32) -> Result<(), Error> {
        match &mut self.source {
            ReceiveSource::Own(_) => Ok(()),
            ReceiveSource::Shared(messages) => messages.post(name, SharedMessage::Copied),
        }
    }

    /// Posts the Receive of a message that is not needed any more.
    pub(super) fn post(&mut self, resources: &Resources<V>, name: u32) -> Result<(), Error> {
        match &mut self.source {
            ReceiveSource::Own(regions) => {
                let region = regions.get(name as usize).ok_or(Error::Range)?;
                let local = Local::whole_region(region, self.size);
                resources.verbs.post_receive(&resources.queue_pair, WorkId::Receive(name).to_id(), local)?;
            }
            ReceiveSource::Shared(messages) => messages.post(name, SharedMessage::None)?,
        }
        self.pending += 1;
        Ok(())
    }

    /// Posts all shared Receives of a connection that is over.
    pub(super) fn give_back(&mut self) {
        if let ReceiveSource::Shared(messages) = &mut self.source {
            messages.give_back();
        }
    }
}

impl<V: Verbs> SharedMessages<V> {
    /// Names a message that has come.
    fn received(&mut self, receive: u32) -> u32 {
        let held = SharedMessage::Held(receive);
        let free = self.messages.iter().position(|message| *message == SharedMessage::None);
        let name = free.unwrap_or(self.messages.len());
        match self.messages.get_mut(name) {
            Some(message) => *message = held,
            None => self.messages.push(held),
        }
        name as u32
    }

    /// Returns the memory of a message. A Receive that is posted may get a message of another connection.
    fn region(&self, name: u32) -> Result<&V::Region, Error> {
        match self.messages.get(name as usize) {
            Some(SharedMessage::Held(receive)) => self.shared.region(*receive),
            Some(SharedMessage::None | SharedMessage::Copied) | None => Err(Error::Disconnected),
        }
    }

    /// Posts the Receive of a message, if that was not done before. After the end of the connection, there is no
    /// message.
    fn post(&mut self, name: u32, then: SharedMessage) -> Result<(), Error> {
        let message = self.messages.get_mut(name as usize).filter(|message| **message != SharedMessage::None);
        let message = message.ok_or(Error::Disconnected)?;
        match mem::replace(message, then) {
            SharedMessage::Held(receive) => self.shared.post(receive),
            SharedMessage::None | SharedMessage::Copied => Ok(()),
        }
    }

    fn give_back(&mut self) {
        for message in mem::take(&mut self.messages) {
            if let SharedMessage::Held(receive) = message {
                // This fails only if the adapter is gone, and then nobody needs it.
                let _ = self.shared.post(receive);
            }
        }
    }
}

impl<V: Verbs> Drop for SharedMessages<V> {
    fn drop(&mut self) {
        self.give_back();
    }
}
