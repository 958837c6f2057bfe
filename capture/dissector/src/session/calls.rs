//! Calls that wait for their replies, the memory that the calls advertise, and the data that moves through that memory.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeBounds;

use super::call::{Call, PlacedPacket};
use super::memory::{Access, Memory, SegmentOffset, SegmentPlace};
use super::reads::AskedRead;
use crate::carrier::operation::{MemoryAddress, Side, Sides};
use crate::carrier::table::Map;
use crate::rpc::message::Message;

/// The most calls of one end that wait for their replies; past that, the oldest is given up. There are far fewer
/// credits.
pub(super) const CALLS: usize = 4096;
/// The most Read requests whose data may still come.
const READS: usize = 256;

/// Calls of both ends that wait. A reply that the responder provides waits as a call does.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Calls by their numbers, which count all calls of the connection.
    calls: BTreeMap<u64, Call>,
    last: u64,
    /// Calls by XID and by the end that called.
    xids: Sides<Map<u32, u64>>,
    /// Replies in memory that the requester reads, by the sending end.
    provided: Sides<Map<u32, u64>>,
    memory: Sides<Memory>,
    reads: VecDeque<AskedRead>,
    /// Octets of memory that the calls take.
    held: usize,
    /// `true` to record which frames moved Payload streams.
    pub(super) keeps_placements: bool,
}

impl Calls {
    /// Returns the number of the last call.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// Returns the oldest call that waits.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.calls.first_key_value().map(|(id, _)| *id)
    }

    /// Returns true if more calls wait than are kept.
    pub(super) fn are_too_many(&self) -> bool {
        self.calls.len() > CALLS
    }

    pub(super) fn get(&self, id: u64) -> Option<&Call> {
        self.calls.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Call> {
        self.calls.get_mut(&id)
    }

    /// Returns the calls whose numbers are in a range, in the order of the numbers.
    pub(super) fn range(&self, range: impl RangeBounds<u64>) -> impl Iterator<Item = (u64, &Call)> {
        self.calls.range(range).map(|(id, call)| (*id, call))
    }

    /// Returns all calls that wait.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Call> {
        self.calls.values_mut()
    }

    /// Changes a call with `change`, which also gets the memory that all calls take, in octets.
    pub(super) fn change<T>(&mut self, id: u64, change: impl FnOnce(&mut Call, &mut usize) -> T) -> Option<T> {
        self.calls.get_mut(&id).map(|call| change(call, &mut self.held))
    }

    /// Returns the call of an end with this XID.
    pub(super) fn find(&self, requester: Side, xid: u32) -> Option<u64> {
        self.xids.get(requester).get(&xid).copied()
    }

    /// Returns the reply with this XID that an end provides in memory.
    pub(super) fn find_provided(&self, responder: Side, xid: u32) -> Option<u64> {
        self.provided.get(responder).get(&xid).copied()
    }

    /// Returns true if a call of an end waits.
    pub(super) fn has_any(&self, requester: Side) -> bool {
        !self.xids.get(requester).is_empty()
    }

    /// Returns a number for the next call.
    pub(super) const fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Advertises the memory of a call.
    pub(super) fn advertise(&mut self, id: u64, call: &mut Call) {
        let memory = self.memory.get_mut(call.message.sender);
        let mut others = Vec::new();
        for (index, segment) in call.segments.iter().enumerate() {
            let place = SegmentPlace { call: id, segment: index };
            let address = MemoryAddress { handle: segment.handle, offset: segment.offset };
            others.extend(memory.advertise(segment.access, address, segment.length, place));
        }
        if !others.is_empty() {
            call.shares_memory();
        }
        others.iter().for_each(|other| self.calls.get_mut(other).into_iter().for_each(Call::shares_memory));
    }

    /// Adds a call that waits under this XID.
    pub(super) fn insert(&mut self, id: u64, xid: u32, call: Call) {
        self.named(&call).insert(xid, id);
        self.held += call.memory_used();
        self.calls.insert(id, call);
    }

    /// Removes a call; the memory of the call is no longer advertised.
    pub(super) fn remove(&mut self, id: u64) -> Option<Call> {
        let call = self.calls.remove(&id)?;
        let memory = self.memory.get_mut(call.message.sender);
        let mut handles: Vec<u32> = call.segments.iter().map(|segment| segment.handle).collect();
        handles.sort_unstable();
        handles.dedup();
        for handle in handles {
            memory.withdraw(handle, id);
        }
        if let Some(xid) = call.message.rdma_xid() {
            // It is the only waiting call with its XID: the one before it was given up.
            self.named(&call).remove(&xid);
        }
        self.held -= call.memory_used();
        Some(call)
    }

    /// Returns the names of the calls of the same end and kind.
    const fn named(&mut self, call: &Call) -> &mut Map<u32, u64> {
        let named = if call.answers.is_none() { &mut self.xids } else { &mut self.provided };
        named.get_mut(call.message.sender)
    }

    /// Returns the memory of an end that an RDMA operation aims at, if the memory belongs to a call that `is_meant`, or
    /// to any other that `may_be_meant`.
    pub(super) fn find_memory(
        &self,
        owner: Side,
        memory: MemoryRange,
        is_meant: impl Fn(&Call) -> bool,
        may_be_meant: bool,
    ) -> Option<SegmentOffset> {
        let MemoryRange { access, address, length } = memory;
        let memory = self.memory.get(owner);
        let found = memory.find(access, address, length, |id| self.calls.get(&id).is_some_and(&is_meant));
        found.or_else(|| memory.find(access, address, length, |_| may_be_meant))
    }

    /// Returns the frame in which the other end invalidated a handle that a call advertises, if any.
    pub(super) fn invalidated(&self, owner: Side, handle: u32, call: u64) -> Option<u64> {
        self.memory.get(owner).invalidated(handle, call)
    }

    /// Records the handle that a message invalidates.
    pub(super) fn invalidate(&mut self, message: &Message) {
        let Some(handle) = message.invalidates else { return };
        self.memory.get_mut(message.sender.other()).invalidate(handle, message.stamp.frame);
    }

    /// Returns a handle that a new call shares with a call that waits, and that call.
    pub(super) fn shared_handle(&self, call: &Call) -> Option<SharedHandle<'_>> {
        let memory = self.memory.get(call.message.sender);
        let mut handles = call.segments.iter().map(|segment| segment.handle);
        let (handle, id) = handles.find_map(|handle| Some((handle, memory.is_shared(handle, self.last)?)))?;
        Some(SharedHandle { handle, id, call: self.calls.get(&id)? })
    }

    /// Records a Read request for data of a call.
    pub(super) fn ask(&mut self, read: AskedRead) {
        if self.reads.len() == READS {
            self.reads.pop_front();
        }
        self.reads.push_back(read);
    }

    /// Takes a response with so many octets of a Read request, from `at` on. Returns the request.
    pub(super) fn answer_read(&mut self, request: u64, place: u64, at: u64, octets: usize) -> Option<AskedRead> {
        let read = self.reads.iter_mut().rev().find(|read| read.request == request)?;
        read.note(place, at, octets);
        Some(*read)
    }

    /// Returns true if the response at this place is the last to a Read request for a call.
    pub(super) fn ends_read(&self, call: u64, place: u64) -> bool {
        self.reads.iter().rev().any(|read| read.ends_with(call, place))
    }

    /// Makes the Read requests for a call requests for the next call, which is a copy of the call.
    pub(super) fn pass_on_reads(&mut self, call: u64) {
        let places = self.reads.iter_mut().map(|read| &mut read.place);
        places.filter(|place| place.call == call).for_each(|place| place.call = self.last + 1);
    }

    /// Forgets the Read requests whose data may still come.
    pub(super) fn forget_reads(&mut self) {
        self.reads.clear();
    }

    /// Records the packet that moved octets of a Payload stream, if that is wanted.
    pub(super) fn place(&mut self, place: SegmentPlace, packet: PlacedPacket, at: u64, length: usize) {
        if self.keeps_placements
            && let Some(call) = self.calls.get_mut(&place.call)
        {
            self.held += call.place(place.segment, packet, at, length as u64);
        }
    }

    /// Puts data into the memory of a segment; `count` gets the call of the segment, and the memory used by calls in
    /// octets.
    pub(super) fn write_data(
        &mut self,
        place: SegmentPlace,
        at: u64,
        data: &[u8],
        count: impl FnOnce(&mut Call, &mut usize),
    ) {
        let Some(call) = self.calls.get_mut(&place.call) else { return };
        count(call, &mut self.held);
        if call.overflowed {
            return;
        }
        if let Some(segment) = call.segments.get_mut(place.segment).filter(|segment| segment.is_kept) {
            // An RDMA operation must stay within its segment; what does not is not the call's data.
            let room = u64::from(segment.length).saturating_sub(at);
            let data = data.get(..usize::try_from(room).unwrap_or(usize::MAX).min(data.len())).unwrap_or_default();
            self.held += segment.data.write_data(at, data);
        }
    }

    /// Releases the data of the oldest calls, at least so many octets if there are as many.
    pub(super) fn release(&mut self, excess: usize) {
        let mut freed = 0;
        for call in self.calls.values_mut().filter(|call| !call.overflowed) {
            if freed >= excess {
                break;
            }
            freed += call.overflow();
        }
        self.held -= freed;
    }

    /// Returns the octets of memory taken by what waits.
    pub(super) fn memory_used(&self) -> usize {
        self.held + self.reads.len() * size_of::<AskedRead>()
    }
}

/// Memory that an RDMA operation uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryRange {
    pub(super) access: Access,
    pub(super) address: MemoryAddress,
    pub(super) length: u64,
}

/// A handle that a call advertises, and that another call uses too.
#[derive(Debug)]
pub(super) struct SharedHandle<'a> {
    pub(super) handle: u32,
    pub(super) id: u64,
    pub(super) call: &'a Call,
}
