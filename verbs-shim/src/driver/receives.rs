//! Receives of a connection: its own, or Receives that all connections of a server share.
//!
//! A connection with Receives of its own is limited by their number: the other side has to wait if it sends more messages
//! than it has credits for. Shared Receives are counted instead. A connection may have as many messages as it would have
//! Receives of its own, and one with more has ignored its credits, and ends. So no client can keep the queue empty.
//!
//! A shared Receive is in the queue, or in a queue pair that fills it, or complete. The provider returns it to the queue if
//! its completion is never taken. From the completion on, the connection holds it, and posts it again as soon as its
//! message was copied, or is over. The message keeps its name, and its credit, until it is released.

use std::mem;
use std::sync::Arc;

use super::posted::Posted;
use super::resources::Resources;
use super::shared_receives::SharedReceives;
use crate::verbs::{Access, Error, Local, Verbs};

/// Receives of a connection. Each message has a name, which the endpoints use.
pub(super) struct Receives<V: Verbs> {
    source: ReceiveSource<V>,
    /// Number of further Receives that only version 2 needs.
    further: usize,
    /// Length of each receive buffer, in octets.
    size: usize,
    /// Number of messages that may still come: of Receives of its own, those that are posted.
    pending: u32,
}

enum ReceiveSource<V: Verbs> {
    /// A message has the index of its Receive as its name.
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
    /// Copied, and its Receive is posted.
    Copied,
}

impl<V: Verbs> Receives<V> {
    /// Registers Receives of its own in one slab and posts them, or uses the shared ones. `further`: number of Receives
    /// that only version 2 needs.
    pub(super) fn new(resources: &Resources<V>, count: usize, further: usize, size: usize) -> Result<Self, Error> {
        let Some(shared) = &resources.shared else {
            let slab = resources.verbs.register_slab(&resources.domain, count, size, Access::LOCAL_WRITE)?;
            let mut receives = Self { source: ReceiveSource::Own(Vec::new()), further, size, pending: 0 };
            receives.add(resources, slab)?;
            return Ok(receives);
        };
        let source = ReceiveSource::Shared(SharedMessages { shared: Arc::clone(shared), messages: Vec::new() });
        Ok(Self { source, further, size, pending: count as u32 })
    }

    /// Number of messages that may still come.
    pub(super) const fn pending(&self) -> u32 {
        self.pending
    }

    /// Allows for the messages of version 2. Returns number and length of the buffers that have to be registered for that.
    pub(super) fn take_further(&mut self) -> Option<(usize, usize)> {
        let count = mem::take(&mut self.further);
        match &self.source {
            ReceiveSource::Own(_) => (count > 0).then_some((count, self.size)),
            ReceiveSource::Shared(_) => {
                self.pending += count as u32;
                None
            }
        }
    }

    /// Adds Receives of its own, and posts them.
    pub(super) fn add(&mut self, resources: &Resources<V>, slab: Vec<V::Region>) -> Result<(), Error> {
        let ReceiveSource::Own(regions) = &mut self.source else { return Ok(()) };
        let first = regions.len() as u32;
        regions.extend(slab);
        (first..regions.len() as u32).try_for_each(|receive| self.post(resources, receive))
    }

    /// Counts a completed Receive. Returns the name of the message, or `None` if the other side has sent more messages than
    /// it may.
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

    /// Returns true if they are shared with other connections.
    pub(super) const fn are_shared(&self) -> bool {
        matches!(self.source, ReceiveSource::Shared(_))
    }

    /// A message was copied: posts its Receive if that is shared. A Receive of its own would return the credit.
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
                let local = Local::all(region, self.size);
                resources.verbs.post_receive(&resources.queue_pair, Posted::Receive(name).to_id(), local)?;
            }
            ReceiveSource::Shared(messages) => messages.post(name, SharedMessage::None)?,
        }
        self.pending += 1;
        Ok(())
    }

    /// Posts all shared Receives that the connection holds, because it is over.
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

    /// Posts the Receive of a message, unless it is posted. After the end of the connection, there is no message.
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
