//! Receive and send buffers of a connection, registered until the connection ends.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

use rpcrdma::endpoint::CallId;
use rpcrdma::segment::Segment;

use super::receives::Receives;
use super::registration::Slab;
use super::resources::Resources;
use super::work_id::WorkId;
use crate::message::end_reason::EndReason;
use crate::message::stream::Stream;
use crate::verbs::Error;
use crate::verbs::{Access, Local, Operation, Remote, Verbs, Work};

/// Number of send buffers of a new connection. Most are free again before the next one, so few connections need more.
const FIRST_SENDS: usize = 4;

/// Buffers for receiving and sending, and the posted work of a connection.
pub(crate) struct Buffers<V: Verbs> {
    receives: Receives<V>,
    /// Messages that were copied out of their Receives, by name. Messages whose credit was returned have new names,
    /// after the others.
    copies: BTreeMap<u32, Vec<u8>>,
    next_copy: u32,
    first_copy: u32,
    /// Number of octets in the copies whose credit was returned.
    pub(super) copied: usize,
    sends: Vec<V::Region>,
    /// Number of further send buffers, which are registered together once all others are in use.
    further_sends: usize,
    /// Length of each send buffer, in octets.
    send_size: usize,
    /// Purpose of each posted Send.
    pub(super) sent: Vec<Sent>,
    idle: Vec<u32>,
    /// Number of work requests that may still be posted to the send queue.
    send_queue_free: usize,
    /// Buffer into which the endpoints write headers.
    pub(super) header: Vec<u8>,
}

/// Number of buffers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferCounts {
    pub(super) receives: usize,
    /// Further Receives, which only version 2 needs.
    pub(super) further_receives: usize,
    pub(super) sends: usize,
}

/// Length of a buffer in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferSizes {
    pub(super) send: usize,
    pub(super) receive: usize,
}

/// A Send to be posted: the first octets of the header buffer, then ranges of a stream.
pub(super) struct OutgoingSend<'a, P> {
    /// Length of the header in octets.
    pub(super) header: usize,
    pub(super) payload: P,
    pub(super) stream: &'a Stream,
    pub(super) purpose: Sent,
    /// Handle that the receiver's adapter invalidates.
    pub(super) invalidate: Option<u32>,
}

/// Purpose of a Send.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent {
    Nothing,
    Call(CallId),
    /// The reply with this number. The memory of the reply is free when the Send has completed.
    Reply(usize),
}

impl<V: Verbs> Buffers<V> {
    /// Registers the buffers, in one slab for the connection's own Receives and one for the first Sends, and posts the
    /// Receives. `receives`: number of Receives in version 1, and of additional Receives for version 2. `sends`:
    /// maximum number of Sends in flight. `sizes`: of a Send and of a Receive.
    pub(super) fn new(
        resources: &Resources<V>,
        counts: BufferCounts,
        sizes: BufferSizes,
        send_queue_depth: usize,
    ) -> Result<Self, Error> {
        let BufferCounts { receives, further_receives, sends } = counts;
        let BufferSizes { send: send_size, receive: receive_size } = sizes;
        let slab = |count, octets, access| resources.verbs.register_slab(&resources.domain, count, octets, access);
        let first_sends = sends.min(FIRST_SENDS);
        let first_copy = (receives + further_receives) as u32;
        let receives = Receives::new(resources, receives, further_receives, receive_size)?;
        let mut buffers = Self {
            receives,
            copies: BTreeMap::new(),
            next_copy: first_copy,
            copied: 0,
            sends: Vec::new(),
            further_sends: sends - first_sends,
            send_size,
            sent: Vec::new(),
            idle: Vec::new(),
            send_queue_free: send_queue_depth,
            first_copy,
            header: vec![0; send_size],
        };
        buffers.add_sends(slab(first_sends, send_size, Access::empty())?);
        Ok(buffers)
    }

    /// Adds send buffers.
    pub(super) fn add_sends(&mut self, slab: Vec<V::Region>) {
        let first = self.sends.len() as u32;
        self.sends.extend(slab);
        self.idle.extend((first..self.sends.len() as u32).rev());
        self.sent.resize(self.sends.len(), Sent::Nothing);
    }

    /// Returns the receive buffers to register for version 2, once.
    pub(super) fn take_further_receives(&mut self) -> Option<Slab> {
        self.receives.take_further()
    }

    /// Adds and posts receive buffers.
    pub(super) fn add_receives(&mut self, resources: &Resources<V>, slab: Vec<V::Region>) -> Result<(), Error> {
        self.receives.add_receives(resources, slab)
    }

    /// Returns the send buffers to register now, once: if all others are in use.
    pub(super) fn take_further_sends(&mut self) -> Option<Slab> {
        let is_short = self.idle.is_empty() && self.further_sends > 0;
        is_short.then(|| Slab { count: mem::take(&mut self.further_sends), length: self.send_size })
    }

    /// Returns true if one more work request of any kind can be posted.
    pub(super) fn are_ready(&self) -> bool {
        self.send_queue_free > 0 && !self.idle.is_empty()
    }

    /// Counts a completed work request.
    pub(super) fn completed(&mut self) {
        self.send_queue_free += 1;
    }

    pub(super) fn post_receive(&mut self, resources: &Resources<V>, receive: u32) -> Result<(), Error> {
        self.receives.post(resources, receive)
    }

    /// Counts a completed Receive. Returns the name of the message, or `None` if the other side has exceeded its
    /// credits.
    #[must_use = "a peer that sends too much must be disconnected"]
    pub(super) fn received(&mut self, receive: u32) -> Option<u32> {
        self.receives.received(receive)
    }

    /// Number of messages that can be received in version 2: one Receive is kept for an asynchronous grant.
    pub(super) const fn receivable(&self) -> u32 {
        self.receives.pending().saturating_sub(1)
    }

    /// Returns the connection's shared Receives to their queue at the end of the connection.
    pub(super) fn give_back_receives(&mut self) {
        self.receives.give_back();
    }

    fn octets(&self, resources: &Resources<V>, receive: u32, length: usize) -> Result<Vec<u8>, Error> {
        self.read_message(resources, receive, |octets| octets.get(..length).unwrap_or_default().to_vec())
    }

    /// Copies a message of this length, and posts the Receive again. Returns the name of the copy.
    pub(super) fn copy(&mut self, resources: &Resources<V>, receive: u32, length: usize) -> Result<u32, Error> {
        let octets = self.octets(resources, receive, length)?;
        let name = self.next_copy;
        // After the last number, the first ones are free again.
        self.next_copy = name.checked_add(1).unwrap_or(self.first_copy);
        self.copied += octets.len();
        self.copies.insert(name, octets);
        self.post_receive(resources, receive)?;
        Ok(name)
    }

    /// Copies a message of this length that has to wait, if the Receive is shared. The message keeps its name and
    /// credit.
    pub(super) fn keep_message(&mut self, resources: &Resources<V>, receive: u32, length: usize) -> Result<(), Error> {
        if self.receives.are_shared() && !self.copies.contains_key(&receive) {
            let octets = self.octets(resources, receive, length)?;
            self.receives.copied(receive)?;
            self.copies.insert(receive, octets);
        }
        Ok(())
    }

    /// Posts the shared Receive of a message that was copied to where the octets are used. posts a shared Receive. The
    /// message keeps its name and credit.
    pub(super) fn release_copied(&mut self, receive: u32) -> Result<(), Error> {
        self.receives.copied(receive)
    }

    /// Returns true if this message uses a credit: in a Receive, or in a copy that counts as one.
    pub(super) const fn uses_credit(&self, receive: u32) -> bool {
        receive < self.first_copy
    }

    /// Releases a message: posts the Receive again, or drops the copy.
    pub(super) fn release(&mut self, resources: &Resources<V>, receive: u32) -> Result<(), Error> {
        let octets = self.copies.remove(&receive);
        if self.uses_credit(receive) {
            return self.post_receive(resources, receive);
        }
        self.copied -= octets.map_or(0, |octets| octets.len());
        Ok(())
    }

    /// Calls `look` with a received message.
    pub(super) fn read_message<T>(
        &self,
        resources: &Resources<V>,
        receive: u32,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Error> {
        if let Some(octets) = self.copies.get(&receive) {
            return Ok(look(octets));
        }
        resources.verbs.read(self.receives.region(receive)?, look)
    }

    /// Posts a Send.
    pub(super) fn send(
        &mut self,
        resources: &Resources<V>,
        send: OutgoingSend<'_, impl Iterator<Item = Range<u32>>>,
    ) -> Result<(), Error> {
        let OutgoingSend { header, payload, stream, purpose, invalidate } = send;
        let slot = self.idle.pop().ok_or(Error::QueueFull)?;
        let region = self.sends.get(slot as usize).ok_or(Error::Range)?;
        let mut filled = 0;
        let fits = resources.verbs.write(region, |buffer| {
            let mut put = |octets: &[u8]| {
                if let Some(free) = buffer.get_mut(filled..filled + octets.len()) {
                    free.copy_from_slice(octets);
                }
                filled += octets.len();
            };
            put(self.header.get(..header).unwrap_or_default());
            for range in payload {
                stream.gather(&range, &mut put);
            }
            filled <= buffer.len()
        })?;
        if !fits {
            return Err(Error::Range);
        }
        let operation = invalidate.map_or(Operation::Send, Operation::SendWithInvalidate);
        let work = Work::new(WorkId::Send(slot).to_id(), operation, Local::whole_region(region, filled));
        if let Some(entry) = self.sent.get_mut(slot as usize) {
            *entry = purpose;
        }
        resources.verbs.post(&resources.queue_pair, work)?;
        self.send_queue_free -= 1;
        Ok(())
    }

    /// Posts an RDMA Write of no octets, of which the other side's program learns nothing. If the send queue is full,
    /// the queued work does the same.
    pub(super) fn keep_alive(&mut self, resources: &Resources<V>) -> Result<(), Error> {
        let Some(region) = self.sends.first().filter(|_| self.are_ready()) else { return Ok(()) };
        let (handle, offset) = (0, 0);
        let local = Local { region, range: 0..0 };
        let work = Work::new(WorkId::KeepAlive.to_id(), Operation::Write(Remote { handle, offset }), local);
        resources.verbs.post(&resources.queue_pair, work)?;
        self.send_queue_free -= 1;
        Ok(())
    }

    /// Returns the purpose of a completed Send.
    pub(super) fn take_sent(&mut self, slot: u32) -> Sent {
        let Some(sent) = self.sent.get_mut(slot as usize) else { return Sent::Nothing };
        self.idle.push(slot);
        mem::replace(sent, Sent::Nothing)
    }

    /// Posts an RDMA Read or Write for a range of a region of this end.
    pub(super) fn transfer(
        &mut self,
        resources: &Resources<V>,
        id: WorkId,
        remote: Segment,
        local: Local<'_, V::Region>,
    ) -> Result<(), Error> {
        let remote = Remote::from(remote);
        let operation = match id {
            WorkId::Read(_) | WorkId::ReadReply(_) => Operation::Read(remote),
            _ => Operation::Write(remote),
        };
        resources.verbs.post(&resources.queue_pair, Work::new(id.to_id(), operation, local))?;
        self.send_queue_free -= 1;
        Ok(())
    }
}

impl From<Error> for EndReason {
    fn from(error: Error) -> Self {
        match error {
            Error::Disconnected => Self::Peer,
            Error::Removed => Self::Removed,
            error => Self::Refused(error),
        }
    }
}
