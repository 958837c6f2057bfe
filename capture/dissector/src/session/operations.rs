//! Operations of an end: Sends, and RDMA operations that move the octets of chunks.

use super::assembly::Part;
use super::call::{Call, PlacedPacket};
use super::calls::MemoryRange;
use super::memory::{Access, SegmentOffset, SegmentPlace};
use super::owners::Owner;
use super::reads::AskedRead;
use super::state::{Context, Session};
use super::timeline::{PacketTimes, ReadAnswer};
use super::unmatched::UnmatchedOperation;
use crate::carrier::connection::Connection;
use crate::carrier::handler::Taken;
use crate::carrier::operation::{CutOctets, MemoryAddress, Operation, OperationKind, ReadPlace, Side};
use crate::event::{Event, ReplyRead};
use crate::file::Time;
use crate::link::Carrier;
use crate::rpc::steps::PacketRun;
use crate::rpc::waiting::{LastStep, Step};

impl Session {
    /// Takes an operation of an end. Returns [`Taken::Early`] if the operation refers to an unknown call or unknown
    /// memory, unless the operation is given for the `last` time.
    pub(crate) fn operation(
        &mut self,
        connection: &Connection,
        operation: &Operation<'_>,
        last: bool,
        context: &mut Context<'_>,
    ) -> Taken {
        if !matches!(operation.kind, OperationKind::Lost) {
            self.coverage.speak(operation.from);
        }
        self.data_flows.note_port_pauses(context.port_pauses);
        let after = self.joined.as_mut().map_or(Time::default(), |joined| joined.note(operation));
        if let OperationKind::Backfill(_) | OperationKind::Missing | OperationKind::Indication { .. } = operation.kind {
            self.indication(connection, operation, after, context);
            return Taken::Done;
        }
        if connection.setup_captured {
            // Both ends were heard when they set it up.
            self.client = Some(Side::Active);
            self.coverage.hear_setup();
        }
        let Operation { from, places, kind, .. } = *operation;
        let taken = match kind {
            OperationKind::Send { .. } => self.send_part(connection, operation, last, context),
            OperationKind::Lost
            | OperationKind::Backfill(_)
            | OperationKind::Missing
            | OperationKind::Indication { .. } => {
                self.loss(connection, operation, context);
                return Taken::Done;
            }
            _ if self.number.is_none() => {
                self.pass_over(operation, context);
                return Taken::Done;
            }
            OperationKind::Write { .. } | OperationKind::ReadRequest { .. } => {
                self.access(connection, operation, last, context)
            }
            OperationKind::ReadResponse { request, at, data, length } => {
                let data = CutOctets { octets: data, length };
                self.response(connection, operation, ReadPlace { request, at }, data, context);
                if connection.carrier == Carrier::Iwarp {
                    self.settle(from, places, context);
                }
                // Responses are numbered by the other end, so they do not show that this end is heard.
                return Taken::Done;
            }
        };
        if taken == Taken::Done {
            self.coverage.hear(from);
            let is_part = matches!(kind, OperationKind::Send { last: false, .. });
            // Of a message in several Sends, the RPC is known with the last.
            if !is_part && !self.sends.is_open(from) {
                self.settle(from, places, context);
            }
        }
        taken
    }

    /// Takes an indication of loss.
    fn indication(
        &mut self,
        connection: &Connection,
        operation: &Operation<'_>,
        after: Time,
        context: &mut Context<'_>,
    ) {
        if context.operations {
            let is_whole = connection.setup_captured && !self.watch.passed_over && self.coverage.is_whole();
            let calls_back = || self.calls.range(..).any(|(_, call)| call.message.sender != operation.from);
            let is_caller = self.client == Some(operation.from) && !self.watch.given_up;
            self.refusals.refuse(operation, || is_whole && is_caller && !calls_back());
        }
        self.recover(operation, after, context);
    }

    /// Takes a part of a Send.
    fn send_part(
        &mut self,
        connection: &Connection,
        operation: &Operation<'_>,
        is_last_time: bool,
        context: &mut Context<'_>,
    ) -> Taken {
        let Operation { from, stamp, began, retransmitted, first_sent, places, kind } = *operation;
        let OperationKind::Send { first, last, data, length, invalidates, progress } = kind else {
            return Taken::Done;
        };
        if first {
            self.sends.refuse_sequence(from, data);
            if !is_last_time && self.is_early(from, data) {
                return Taken::Early;
            }
        }
        let part =
            Part { stamp, began, first, last, data, length, invalidates, progress, retransmitted, first_sent, places };
        self.send(connection, from, &part, context);
        Taken::Done
    }

    /// Passes over an RDMA operation of a connection that is not recognised: the operation may be for a call that was
    /// captured later, and is not looked at again.
    fn pass_over(&mut self, operation: &Operation<'_>, context: &mut Context<'_>) {
        let Operation { from, stamp, kind, .. } = *operation;
        self.watch.passed_over = true;
        self.miss(from, stamp, context);
        if let Some(MemoryAccess { access, address, begins: true }) = access_of(&kind) {
            self.unmatched.add_operation(UnmatchedOperation {
                frame: stamp.frame,
                owner: from.other(),
                access,
                address,
            });
        }
    }

    /// An RDMA Write, or an RDMA Read request.
    fn access(
        &mut self,
        connection: &Connection,
        operation: &Operation<'_>,
        last: bool,
        context: &mut Context<'_>,
    ) -> Taken {
        let Some(MemoryAccess { access, address, begins }) = access_of(&operation.kind) else { return Taken::Done };
        match self.aim(connection, operation, access, address) {
            Some(target) => {
                if context.operations {
                    self.within(connection, operation, target, context);
                }
                self.move_data(operation, target);
            }
            None if !last => return Taken::Early,
            None => {
                let Operation { from, stamp, places, .. } = *operation;
                self.unmatched.count_item(from, stamp.frame);
                if begins {
                    self.recoveries.own(from, Owner::unknown(places.first));
                    self.unmatched_transfers += 1;
                    self.unmatched.add_operation(UnmatchedOperation {
                        frame: stamp.frame,
                        owner: from.other(),
                        access,
                        address,
                    });
                }
                if context.operations && begins {
                    self.outside(connection, operation, None, context);
                }
            }
        }
        Taken::Done
    }

    /// Data is written to a place in a segment, or requested from there.
    fn move_data(&mut self, operation: &Operation<'_>, target: SegmentOffset) {
        let SegmentOffset { place, at } = target;
        let Operation { from, stamp, places, .. } = *operation;
        let sent = self.sent(from, places, stamp);
        match operation.kind {
            OperationKind::Write { data, length, first, .. } => {
                if first {
                    self.recoveries.own_for(
                        from,
                        places.first,
                        self.sends.current.earlier_parts,
                        place.call,
                        &self.calls,
                    );
                }
                self.data_flows.send(operation, place.call, length);
                self.calls.write_data(place, at, data, |call, held| {
                    call.write_octets += length as u64;
                    call.responder_last = Some(LastStep { step: Step::Write, stamp });
                    call.timeline.write(stamp, operation.first_sent());
                    call.timeline.sent(sent);
                    call.timeline.log(PacketRun::one(from, Some(Step::Write), stamp, length as u64), held);
                    call.moves(place.segment, at, length as u64, held);
                    // The reply may be in what was missed, and the memory in use by another call.
                    call.is_doubtful |= self.coverage.lacks_after(call.message.sender.other(), place.call);
                });
                self.calls.place(place, PlacedPacket { frame: stamp.frame, place: places.first }, at, length);
            }
            OperationKind::ReadRequest { request, length, .. } => {
                self.recoveries.own_for(from, places.first, self.sends.current.earlier_parts, place.call, &self.calls);
                self.read(operation, request, place, at, length);
            }
            _ => {}
        }
    }

    /// Data of a call comes that the other end requested.
    fn response(
        &mut self,
        connection: &Connection,
        operation: &Operation<'_>,
        answered: ReadPlace,
        octets: CutOctets<'_>,
        context: &mut Context<'_>,
    ) {
        let ReadPlace { request, at } = answered;
        let Operation { from, stamp, places, .. } = *operation;
        if at == 0 {
            self.watch.aims.get_mut(from.other()).answer(request);
        }
        let read = self.calls.answer_read(request, places.first, at, octets.length);
        // Over InfiniBand, responses have the numbers of their request.
        if at == 0 && connection.carrier == Carrier::Iwarp {
            match read {
                Some(AskedRead { place, .. }) => self.recoveries.own_for(
                    from,
                    places.first,
                    self.sends.current.earlier_parts,
                    place.call,
                    &self.calls,
                ),
                None => self.recoveries.own(from, Owner::unknown(places.first)),
            }
        }
        match read {
            Some(read) => self.answer_read(operation, read, at, octets, context),
            // The capture lacks the request, which the other end sent.
            None => self.unmatched.count_item(from.other(), stamp.frame),
        }
    }

    /// Data of a call comes that `read` requested, from the octet `at` of the request on.
    fn answer_read(
        &mut self,
        operation: &Operation<'_>,
        read: AskedRead,
        at: u64,
        octets: CutOctets<'_>,
        context: &mut Context<'_>,
    ) {
        let Operation { from, stamp, first_sent, places, .. } = *operation;
        let AskedRead { request, place, at: base, before, last, .. } = read;
        let CutOctets { octets: data, length } = octets;
        let answer = ReadAnswer { place: places.first, is_last: last == Some(places.first) };
        // Over InfiniBand, it has the numbers of the other end.
        let sent = self.keeps.then(|| self.sent(from, places, stamp));
        self.data_flows.send(operation, place.call, length);
        let mut read_reply = None;
        self.calls.write_data(place, base + at, data, |call, held| {
            // Responses come in the order of the requests, so what they skip was missed.
            call.lacks_response |= call.read_octets != before + at;
            call.read_octets += length as u64;
            call.requester_last = LastStep { step: Step::ReadResponse, stamp };
            call.timeline.log(PacketRun::one(from, Some(Step::ReadResponse), stamp, length as u64), held);
            call.timeline.respond(answer, call.is_pulled(), PacketTimes { stamp, first_sent });
            sent.into_iter().for_each(|sent| call.timeline.sent(sent));
            let is_reply_read = call.answers.is_some() && call.is_read();
            call.is_doubtful |= self.coverage.lacks_after(call.message.sender.other(), place.call);
            read_reply = is_reply_read.then(|| (call.requester(), call.message.xid()));
        });
        let packet = PlacedPacket { frame: stamp.frame, place: places.first };
        self.calls.place(place, packet, base + at, length);
        if answer.is_last {
            self.data_flows.complete(from, request);
            let call = self.calls.get_mut(place.call);
            call.into_iter().for_each(|call| call.watch_sender(&self.data_flows, stamp.time));
        }
        if let Some(((requester, xid), connection)) = read_reply.zip(self.number)
            && context.recovery
        {
            context.events.push_back(Event::ReplyRead(ReplyRead { connection, requester, xid, stamp }));
        }
    }

    /// Notes that the capture lacks the next operations of an end, so the Send in progress has no end.
    fn loss(&mut self, connection: &Connection, operation: &Operation<'_>, context: &mut Context<'_>) {
        let Operation { from, stamp, .. } = *operation;
        self.watch.passed_over |= self.number.is_none();
        self.recoveries.own_unknown(from);
        self.miss(from, stamp, context);
        if let Some(head) = self.sends.abandon(from) {
            self.message(connection, from, head, context);
        }
        self.sends.forget_sequence(from);
    }

    /// Returns the memory that an RDMA operation aims at. The operation may be captured before the call; but if calls
    /// were missed, a call captured after the operation may be another one that uses the same memory.
    pub(super) fn aim(
        &self,
        connection: &Connection,
        operation: &Operation<'_>,
        access: Access,
        address: MemoryAddress,
    ) -> Option<SegmentOffset> {
        let length = length_of(&operation.kind);
        let requester = operation.from.other();
        let is_whole = connection.setup_captured && !self.coverage.lacks(requester);
        // They come from different ends, so never in one frame.
        let is_before = |call: &Call| call.message.stamp.frame < operation.stamp.frame;
        self.calls.find_memory(requester, MemoryRange { access, address, length }, is_before, is_whole)
    }

    fn read(&mut self, operation: &Operation<'_>, request: u64, place: SegmentPlace, at: u64, length: u32) {
        let Operation { from, stamp, places, .. } = *operation;
        let sent = self.sent(from, places, stamp);
        let before = self.calls.change(place.call, |call, held| {
            let before = call.asked_octets;
            call.asked_octets += u64::from(length);
            call.responder_last = Some(LastStep { step: Step::ReadRequest, stamp });
            let packet = PacketRun::one(from, Some(Step::ReadRequest), stamp, u64::from(length));
            call.timeline.log(packet, held);
            call.timeline.ask(stamp, operation.first_sent());
            call.timeline.sent(sent);
            call.watch_sender(&self.data_flows, stamp.time);
            call.moves(place.segment, at, u64::from(length), held);
            before
        });
        self.data_flows.request(from.other(), request, stamp.time);
        self.calls.ask(AskedRead { request, place, at, before: before.unwrap_or_default(), length, last: None });
    }
}

/// Octets that an RDMA Write carries, or that an RDMA Read requests.
const fn length_of(kind: &OperationKind<'_>) -> u64 {
    match *kind {
        OperationKind::Write { length, .. } => length as u64,
        OperationKind::ReadRequest { length, .. } => length as u64,
        _ => 0,
    }
}

/// Memory that an RDMA operation uses.
struct MemoryAccess {
    access: Access,
    address: MemoryAddress,
    /// True if the operation begins at the address.
    begins: bool,
}

/// Returns the memory that an RDMA operation uses.
const fn access_of(kind: &OperationKind<'_>) -> Option<MemoryAccess> {
    match *kind {
        OperationKind::Write { handle, offset, first, .. } => {
            Some(MemoryAccess { access: Access::Write, address: MemoryAddress { handle, offset }, begins: first })
        }
        OperationKind::ReadRequest { handle, offset, .. } => {
            Some(MemoryAccess { access: Access::Read, address: MemoryAddress { handle, offset }, begins: true })
        }
        _ => None,
    }
}
