//! Use of memory, and details of a reply: reported if more than messages and RPCs is asked for
//! ([`Config::operations`](crate::dissector::Config::operations)).

use super::call::Call;
use super::calls::SharedHandle;
use super::memory::{Access, SegmentOffset, SegmentPlace};
use super::replies::UNMATCHED;
use super::reply::Reply;
use super::state::{Context, Session};
use super::watch::{Aim, Aimed, FormerMemory};
use crate::carrier::connection::{Connection, Counts};
use crate::carrier::operation::{MemoryAddress, Operation, OperationKind, Side, Sides, Stamp};
use crate::event::{Event, MemoryUse, MemoryUseKind};
use crate::rpc::describe::Described;
use crate::rpc::message::{Beginning, Detail};
use crate::rpc::properties::MessageDirection;

impl Session {
    /// The connection ends with these counts, which may show that an RDMA operation was refused.
    pub(crate) fn refused(&mut self, connection: &Connection, counts: &Sides<Counts>, context: &mut Context<'_>) {
        // The refused operation may have been missed, or may have come before the capture began.
        let known = connection.setup_captured && self.coverage.is_whole();
        let both = [Side::Active, Side::Passive];
        for (owner, refused) in both.into_iter().filter_map(|owner| Some((owner, counts.get(owner).refused?))) {
            if let Some((aimed, other)) = self.watch.aims.get(owner.other()).refused(refused) {
                let Aimed { stamp, request, address: MemoryAddress { handle, offset }, xid, invalidated, .. } = aimed;
                let write = request.is_none();
                let other = other.map(|other| other.address);
                let kind = MemoryUseKind::Refused { write, offset, xid, invalidated, other };
                self.tell(owner, stamp, handle, kind, known, context);
            }
            let calls = self.calls.iter_mut().filter(|call| known && call.message.sender == owner);
            calls.for_each(|call| call.refuse(self.unmatched.counts()));
        }
    }

    /// Reports a use of an end's memory.
    fn tell(
        &self,
        owner: Side,
        stamp: Stamp,
        handle: u32,
        kind: MemoryUseKind,
        known: bool,
        context: &mut Context<'_>,
    ) {
        if let Some(connection) = self.number {
            let told = MemoryUse { connection, stamp, owner, handle, kind, known };
            context.events.push_back(Event::Memory(Box::new(told)));
        }
    }

    /// Reports an RDMA operation that does not stay within a segment; `inside` is the segment in which the operation
    /// began, if any.
    pub(super) fn outside(
        &mut self,
        connection: &Connection,
        operation: &Operation<'_>,
        inside: Option<SegmentPlace>,
        context: &mut Context<'_>,
    ) {
        let (write, handle, offset, length) = match operation.kind {
            OperationKind::Write { handle, offset, length, .. } => (true, handle, offset, length as u64),
            OperationKind::ReadRequest { handle, offset, length, .. } => (false, handle, offset, u64::from(length)),
            _ => return,
        };
        if length == 0 {
            // It moves nothing, and no adapter checks its handle (InfiniBand Architecture, C9-88): a keep-alive.
            return;
        }
        let owner = operation.from.other();
        self.watch.aims.get_mut(operation.from).push(operation.places.first, Aim::Outside);
        let access = if write { Access::Write } else { Access::Read };
        let inside = inside.and_then(|place| {
            let call = self.calls.get(place.call)?;
            let segment = call.segments.get(place.segment)?;
            Some((call.message.prefix()?.xid, segment.offset, segment.length))
        });
        let memory = FormerMemory { requester: owner, access, address: MemoryAddress { handle, offset } };
        let answered = self.watch.answered_at(memory);
        // A call may have been missed, or the queue pairs may serve another connection by now.
        let known = connection.setup_captured && !self.watch.may_serve(memory) && self.coverage.is_whole();
        let kind = MemoryUseKind::Outside { write, offset, length, inside, answered };
        self.tell(owner, operation.stamp, handle, kind, known, context);
    }

    /// Reports an RDMA operation that begins within a segment but does not end there, and remembers the operation,
    /// because the adapter may refuse such an operation.
    pub(super) fn within(
        &mut self,
        connection: &Connection,
        operation: &Operation<'_>,
        target: SegmentOffset,
        context: &mut Context<'_>,
    ) {
        let SegmentOffset { place, at } = target;
        let (address, length, begins, request) = match operation.kind {
            OperationKind::Write { handle, offset, length, first, .. } => {
                (MemoryAddress { handle, offset }, length as u64, first, None)
            }
            OperationKind::ReadRequest { handle, offset, length, request } => {
                (MemoryAddress { handle, offset }, u64::from(length), true, Some(request))
            }
            _ => return,
        };
        let Some(call) = self.calls.get(place.call) else { return };
        let xid = call.message.xid();
        if begins {
            let invalidated = self.calls.invalidated(operation.from.other(), address.handle, place.call);
            let aimed = Aimed { stamp: operation.stamp, request, address, xid, invalidated, is_answered: false };
            self.watch.aims.get_mut(operation.from).push(operation.places.first, Aim::Segment(aimed));
        }
        let pulled = call.answers.is_some() && request.is_some();
        let room = call.segments.get(place.segment);
        if room.is_some_and(|segment| at + length > u64::from(segment.length)) {
            self.outside(connection, operation, Some(place), context);
        }
        if pulled {
            let kind = MemoryUseKind::ReplyRead { xid, length };
            self.tell(operation.from.other(), operation.stamp, address.handle, kind, true, context);
        }
    }

    /// Reports a handle that the call shares with one that waits.
    pub(super) fn shared(&self, call: &Call, xid: u32, context: &mut Context<'_>) {
        let owner = call.message.sender;
        if let Some(SharedHandle { handle, id, call: waiting }) = self.calls.shared_handle(call)
            && let Some(other) = waiting.message.prefix()
        {
            // If its reply was missed, or captured before the call, the other call no longer waits.
            let known = waiting.shows_reply
                && !self.coverage.lacks_after(Side::Active, id)
                && !self.coverage.lacks_after(Side::Passive, id)
                && !self.may_be_preceded(id, waiting);
            let kind = MemoryUseKind::Shared { xid, with: other.xid, sent: call.sent };
            self.tell(owner, call.message.stamp, handle, kind, known, context);
        }
    }

    /// Returns true if the reply to a call may have been captured before the call: among the last replies without a call, or
    /// before the connection was recognised.
    fn may_be_preceded(&self, id: u64, call: &Call) -> bool {
        self.refusals.is_unmatched(call.message.sender.other(), call.message.xid())
            || self.watch.passed_over && id <= UNMATCHED as u64
    }

    /// Returns the details of a reply. The memory of the call must not be used any more.
    pub(super) fn answered(&mut self, call: Option<&Call>, long: Option<Beginning>, reply: &Reply) -> Detail {
        let walked = reply.described.as_ref().map(Described::to_walked);
        let detail = Detail { walked, long: reply.beginning(), ..self.watch.detail(MessageDirection::Reply) };
        let Some(call) = call else { return detail };
        self.watch.answer(call);
        Detail { answers: Some(call.answered(long)), ..detail }
    }
}
