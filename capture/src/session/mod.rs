//! One connection as RPC-over-RDMA sees it: its messages, the memory its calls advertise, and the calls that wait.

mod provided;
mod sequence;
mod watch;

use std::collections::{BTreeMap, VecDeque};

use rpcrdma::prefix::Prefix;
use rpcrdma::reader::Reader;
use rpcrdma::rpc::MessageType;
use rpcrdma::v1::{Body, ErrorReply};
use rpcrdma::v2::{self, Family};

use crate::assembly::{Assembled, Assembly, Part};
use crate::connection::Connection;
use crate::event::{Event, Lost, Opened};
use crate::header::{self, Decoded, Dialect, Header};
use crate::memory::{Access, Map, Memory, Place};
use crate::message::{self, Captured, Detail, Direction, Message, Rpc};
use crate::nfs::Procedure;
use crate::operation::{Operation, OperationKind, Side, Sides, Stamp};
use crate::rpc::{self, Described, Way};
use crate::transaction::{Call, Followed, Reply, Transaction, read_chunks, write_lengths};
use provided::provides;
use sequence::Sequence;
use watch::Watch;

/// Calls of one end that may wait for their replies; past that the oldest is given up. Credits are far fewer.
const CALLS: usize = 4096;
/// Read requests whose data may still come.
const READS: usize = 256;

/// What a session needs from outside.
pub(crate) struct Context<'a> {
    /// RPCs are put back together, not only messages.
    pub(crate) transactions: bool,
    /// More is told than messages and RPCs.
    pub(crate) operations: bool,
    /// The number of the last connection that was recognised.
    pub(crate) last_number: &'a mut u32,
    pub(crate) events: &'a mut VecDeque<Event>,
}

impl Context<'_> {
    /// Gives a transaction that has ended.
    fn ended(&mut self, transaction: Option<Transaction>) {
        self.events.extend(transaction.map(Box::new).map(Event::Transaction));
    }
}

/// A connection's state.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The connection's number, once it is known to carry RPC-over-RDMA.
    pub(crate) number: Option<u32>,
    /// The end that is the client, once known.
    client: Option<Side>,
    /// What the client has announced of its callbacks.
    way: Way,
    /// The wire format of version 2 on this connection, once known.
    pub(crate) family: Option<Family>,
    /// Version 2 was seen, and not in which wire format.
    undecided: bool,
    assemblies: Sides<Assembly>,
    sequences: Sides<Sequence>,
    calls: BTreeMap<u64, Call>,
    /// Octets of memory that the calls take.
    held: usize,
    last_call: u64,
    xids: Sides<Map<u32, u64>>,
    /// Replies in memory that the requester reads, by the end that sent them.
    provided: Sides<Map<u32, u64>>,
    memory: Sides<Memory>,
    /// The last call there was when the capture was last seen to have missed something of an end.
    lost: Sides<Option<u64>>,
    /// The ends of which something was seen since the capture last missed something: if it misses what they do next, that
    /// shows. Behind a loss it need not, as iWARP's frames have to be found again.
    heard: Sides<bool>,
    /// How often something was missed, or an RDMA operation could not be placed, and the last frame where that was so.
    unplaced: u64,
    last_unplaced: u64,
    reads: VecDeque<(u64, Place, u64)>,
    /// RDMA Writes and Reads that aim at no memory a call of this capture advertised.
    pub(crate) unclaimed: u64,
    watch: Watch,
}

impl Session {
    /// The connection carries RPC-over-RDMA.
    pub(crate) fn recognise(&mut self, connection: &Connection, context: &mut Context<'_>) {
        if self.number.is_none() {
            *context.last_number += 1;
            let number = *context.last_number;
            self.number = Some(number);
            if context.operations {
                let whole = connection.set_up && !self.watch.passed_over;
                let opened = Opened { number, connection: connection.clone(), whole };
                context.events.push_back(Event::Opened(Box::new(opened)));
            }
        }
    }

    /// Takes what an end did. False, and nothing done, where it speaks of a call or of memory that is not known, unless
    /// this is the `last` time it is given.
    pub(crate) fn operation(
        &mut self,
        connection: &Connection,
        operation: &Operation<'_>,
        last: bool,
        context: &mut Context<'_>,
    ) -> bool {
        if connection.set_up {
            self.client = Some(Side::Active);
            self.heard.active |= self.lost.active.is_none();
            self.heard.passive |= self.lost.passive.is_none();
        }
        let Operation { from, stamp, retransmitted, kind } = *operation;
        match kind {
            OperationKind::Send { first, last: ends, data, length, invalidates } => {
                if !last && first && self.is_early(from, data) {
                    return false;
                }
                let part = Part { stamp, first, last: ends, data, length, invalidates, retransmitted };
                self.send(connection, from, &part, context);
            }
            _ if self.number.is_none() => self.watch.passed_over = true,
            OperationKind::Write { handle, offset, data, length, first } => {
                match self.aim(connection, operation, Access::Write, (handle, offset)) {
                    Some((place, at)) => {
                        if context.operations {
                            self.within(connection, operation, (place, at), context);
                        }
                        self.put(place, at, data, |call, held| {
                            call.write_octets += length as u64;
                            call.moves(place.segment, at, length as u64, held);
                        });
                    }
                    None if !last => return false,
                    None => {
                        self.cannot_place(stamp);
                        self.unclaimed += u64::from(first);
                        if context.operations && first {
                            self.outside(connection, operation, None, context);
                        }
                    }
                }
            }
            OperationKind::ReadRequest { request, handle, offset, length } => {
                match self.aim(connection, operation, Access::Read, (handle, offset)) {
                    Some((place, at)) => {
                        if context.operations {
                            self.within(connection, operation, (place, at), context);
                        }
                        self.read(request, place, at, length);
                    }
                    None if !last => return false,
                    None => {
                        self.cannot_place(stamp);
                        self.unclaimed += 1;
                        if context.operations {
                            self.outside(connection, operation, None, context);
                        }
                    }
                }
            }
            OperationKind::ReadResponse { request, at, data, length } => {
                self.granted(from.other());
                let read = self.reads.iter().rev().find(|(asked, ..)| *asked == request);
                if let Some(&(_, place, base)) = read {
                    self.put(place, base + at, data, |call, _| call.read_octets += length as u64);
                }
            }
            OperationKind::Lost { .. } => {
                self.miss(from, stamp, context);
                if let Some(head) = self.assemblies.get_mut(from).abandon() {
                    self.message(connection, from, head, context);
                }
                *self.sequences.get_mut(from) = Sequence::default();
                return true;
            }
        }
        // Responses are numbered by the other end.
        *self.heard.get_mut(from) |= !matches!(kind, OperationKind::ReadResponse { .. });
        true
    }

    /// Something was missed, or an RDMA operation is for no call that is known.
    fn cannot_place(&mut self, stamp: Stamp) {
        self.unplaced += 1;
        self.last_unplaced = stamp.frame.max(self.last_unplaced);
    }

    /// The capture does not hold what an end sent, or not enough of it.
    fn miss(&mut self, from: Side, stamp: Stamp, context: &mut Context<'_>) {
        *self.lost.get_mut(from) = Some(self.last_call);
        *self.heard.get_mut(from) = false;
        self.cannot_place(stamp);
        if let Some(connection) = self.number.filter(|_| context.operations) {
            context.events.push_back(Event::Lost(Lost { connection, from, stamp }));
        }
    }

    /// A reply to a call that was not seen, or whose arguments were asked for and not seen: these may be late.
    fn is_early(&self, from: Side, send: &[u8]) -> bool {
        if self.number.is_none() {
            return false;
        }
        let answers = self.client == Some(from.other());
        let mut family = self.family;
        let dialect = Dialect::of(send, false, &mut family);
        let Ok(decoded) = Decoded::decode(dialect, send) else {
            // An RDMA_ERROR of another version. What it refuses may be a version 2 message of a wire format that is not known: those are not kept as calls.
            let refuses_unknown = dialect == Dialect::Version1 && self.undecided;
            let error = ErrorReply::decode(send).is_ok() && answers && !refuses_unknown;
            return error && Prefix::decode(send).is_ok_and(|prefix| !self.waits(from.other(), prefix.xid));
        };
        let is_reply = match decoded.header {
            Header::V1(header) => match header.body {
                Body::Error(_) => answers,
                Body::Msg(_) | Body::Msgp { .. } => {
                    MessageType::peek(decoded.payload).is_some_and(|(_, kind)| kind == MessageType::REPLY)
                }
                Body::Nomsg(chunks) => chunks.reads.is_empty() && self.client != Some(from),
                // What it says to be read was asked for.
                Body::Done => {
                    let provided = self.provided.get(from.other()).get(&header.xid);
                    let provided = provided.and_then(|id| self.calls.get(id));
                    return provided.is_some_and(|provided| provided.read_octets < provided.asked_octets);
                }
            },
            Header::V2(header) => match decoded.header.place() {
                header::Place::Nowhere => header.error().is_some() && answers,
                _ => header.is_response() == Some(true),
            },
        };
        let call = self.xids.get(from.other()).get(&decoded.header.xid()).and_then(|id| self.calls.get(id));
        is_reply && call.is_none_or(|call| call.read_octets < call.asked_octets)
    }

    /// Whether a call of an end waits.
    fn waits(&self, requester: Side, xid: u32) -> bool {
        self.xids.get(requester).contains_key(&xid)
    }

    /// The memory that an RDMA operation aims at. It may be captured before its call; but where calls were missed, a call
    /// captured after it may be another that uses the same memory.
    fn aim(
        &self,
        connection: &Connection,
        operation: &Operation<'_>,
        access: Access,
        address: (u32, u64),
    ) -> Option<(Place, u64)> {
        let requester = operation.from.other();
        let is_whole = connection.set_up && self.lost.get(requester).is_none();
        let is_before = |call: &Call| call.message.stamp.frame < operation.stamp.frame;
        let memory = self.memory.get(requester);
        let found = memory.find(access, address, |id| self.calls.get(&id).is_some_and(is_before));
        found.or_else(|| memory.find(access, address, |_| is_whole))
    }

    fn read(&mut self, request: u64, place: Place, at: u64, length: u32) {
        if let Some(call) = self.calls.get_mut(&place.call) {
            call.asked_octets += u64::from(length);
            call.moves(place.segment, at, u64::from(length), &mut self.held);
        }
        if self.reads.len() == READS {
            self.reads.pop_front();
        }
        self.reads.push_back((request, place, at));
    }

    /// Ends the session: what waits will not be answered.
    pub(crate) fn finish(&mut self, connection: &Connection, context: &mut Context<'_>) {
        self.abandon(connection, context);
        while let Some((&id, _)) = self.calls.first_key_value() {
            self.give_up(id, context);
        }
    }

    /// Does not wait any more for the rest of what is being sent.
    fn abandon(&mut self, connection: &Connection, context: &mut Context<'_>) {
        for side in [Side::Active, Side::Passive] {
            if let Some(head) = self.assemblies.get_mut(side).abandon() {
                self.message(connection, side, head, context);
            }
        }
    }

    /// Puts data where it belongs; `count` is given its call, and the octets of memory that calls take.
    fn put(&mut self, place: Place, at: u64, data: &[u8], count: impl FnOnce(&mut Call, &mut usize)) {
        let Some(call) = self.calls.get_mut(&place.call) else { return };
        count(call, &mut self.held);
        // The reply may be in what was missed, and the memory in use by another call.
        call.is_doubtful |= self.lost.get(call.message.sender.other()).is_some_and(|last| place.call <= last);
        if call.overflowed {
            return;
        }
        if let Some(segment) = call.segments.get_mut(place.segment).filter(|segment| segment.is_kept) {
            // An RDMA operation must not leave its segment; what does is not the call's data.
            let room = u64::from(segment.length).saturating_sub(at);
            let data = data.get(..usize::try_from(room).unwrap_or(usize::MAX).min(data.len())).unwrap_or_default();
            self.held += segment.data.put(at, data);
        }
    }

    /// Octets of memory that what waits takes.
    pub(crate) fn held(&self) -> usize {
        let assemblies = self.assemblies.active.held() + self.assemblies.passive.held();
        let sequences = self.sequences.active.octets.len() + self.sequences.passive.octets.len();
        self.held + assemblies + sequences + self.reads.len() * size_of::<(u64, Place, u64)>()
    }

    /// Lets go about `excess` octets: the data of the oldest calls, and where that is not enough, the calls.
    pub(crate) fn let_go(&mut self, connection: &Connection, excess: usize, context: &mut Context<'_>) {
        let enough = self.held().saturating_sub(excess);
        let mut held = self.held();
        for call in self.calls.values_mut().filter(|call| !call.overflowed) {
            if held <= enough {
                break;
            }
            held -= call.overflow();
        }
        self.held -= self.held() - held;
        while self.held() > enough
            && let Some((&oldest, _)) = self.calls.first_key_value()
        {
            self.give_up(oldest, context);
        }
        if self.held() > enough {
            self.reads.clear();
            self.sequences = Sides::default();
            self.abandon(connection, context);
        }
    }

    fn send(&mut self, connection: &Connection, from: Side, part: &Part<'_>, context: &mut Context<'_>) {
        if self.number.is_none() {
            // Only a Send of one packet that cannot be anything else tells what an unknown connection carries.
            if !(part.first && part.last && is_rpc_over_rdma(part.data)) {
                self.watch.passed_over = true;
                return;
            }
            self.recognise(connection, context);
        }
        let (unfinished, send) = self.assemblies.get_mut(from).part(part);
        for send in unfinished.into_iter().chain(send) {
            self.message(connection, from, send, context);
        }
    }

    fn message(&mut self, connection: &Connection, sender: Side, send: Assembled, context: &mut Context<'_>) {
        let Some(number) = self.number else { return };
        let mut message = Message {
            dialect: Dialect::of(
                message::readable(send.captured, &send.octets),
                send.captured == Captured::Whole,
                &mut self.family,
            ),
            stamp: send.stamp,
            connection: number,
            sender,
            from: connection.ends.get(sender).address,
            to: connection.ends.get(sender.other()).address,
            octets: send.octets,
            length: send.length,
            captured: send.captured,
            invalidates: send.invalidates,
            retransmitted: send.retransmitted,
            earlier: None,
            padding: Some(Vec::new()),
            dropped: None,
            rpc: None,
            detail: None,
        };
        if message.msgp().is_some() {
            message.padding = None;
        }
        self.undecided |= message.dialect == Dialect::Version2Unknown;
        if message.hides_direction() {
            self.miss(sender, message.stamp, context);
        }
        let direction = if self.joins(&mut message) { self.direction(&message) } else { None };
        let mut message = match direction {
            Some(Direction::Call) => self.call(message, context),
            Some(Direction::Reply) => self.reply(message, context),
            None => message,
        };
        self.invalidate(&mut message);
        let done = self.done(&message);
        if done.is_some() && context.operations {
            message.detail = Some(Box::new(Detail::new(Direction::Call, self.watch.given_up)));
        }
        context.events.push_back(Event::Message(message));
        if let Some(provided) = done.and_then(|id| self.take(id)) {
            self.conclude(provided, context);
        }
    }

    /// Whether a message asks or answers. The payload says it; without one, its chunks and the calls that wait do, and
    /// last that a client asks: so a request that cannot be read meets its answer.
    fn direction(&self, message: &Message) -> Option<Direction> {
        let sender = message.sender;
        if message.error().is_some() {
            return Some(Direction::Reply);
        }
        let xid = message.prefix()?.xid;
        let asks = (self.client == Some(sender)).then_some(Direction::Call);
        // Those that may be of either wire format carry no RPC.
        if message.dialect == Dialect::Version2Unknown && matches!(message.prefix()?.procedure.0, 4..=6) {
            return None;
        }
        let Ok(decoded) = message.decode() else { return asks };
        let waits = self.waits(sender.other(), xid);
        let answers = self.client == Some(sender.other()) || waits;
        let header = match decoded.header {
            Header::V1(header) => header,
            Header::V2(header) => return self.direction_v2(message, &decoded, &header),
        };
        match header.body {
            Body::Msg(_) | Body::Msgp { .. } => said(decoded.payload).or(asks),
            // A long call has a Position Zero Read chunk; a long reply has no Read list (RFC 8166 section 4.3.1), unless
            // the responder provides it (draft-cel-nfsv4-reliable-reply).
            Body::Nomsg(chunks) if !chunks.reads.is_empty() => {
                let is_provided = self.client == Some(sender.other()) && waits && chunks.reply.is_none();
                Some(if is_provided { Direction::Reply } else { Direction::Call })
            }
            Body::Nomsg(_) if answers => Some(Direction::Reply),
            Body::Nomsg(_) => asks,
            Body::Error(_) | Body::Done => None,
        }
    }

    /// The same for version 2, where the header says it too.
    fn direction_v2(&self, message: &Message, decoded: &Decoded<'_>, header: &v2::Header<'_>) -> Option<Direction> {
        let announced = header.is_response().map(|is| if is { Direction::Reply } else { Direction::Call });
        match decoded.header.place() {
            header::Place::Inline => said(&message.stream(decoded)).or(announced),
            header::Place::Chunk => announced,
            header::Place::Part | header::Place::Nowhere => None,
        }
    }

    /// Takes note of a call, and gives its message back with what is known of it.
    fn call(&mut self, mut message: Message, context: &mut Context<'_>) -> Message {
        let requester = message.sender;
        let (mut called, mut described): (_, Option<Described>) = (None, None);
        let mut way = self.way;
        way.reverse = self.client == Some(requester.other());
        if let Some((msgp, payload, chunks)) = message.msgp() {
            message.padding = msgp.padding_of_call(payload, way, &read_chunks(&chunks));
        }
        if let Ok(decoded) = message.decode() {
            let reads = decoded.header.chunks().as_ref().map(read_chunks).unwrap_or_default();
            if let Some((call, mut description)) = rpc::call(&message.stream(&decoded), way, &reads) {
                if message.padding.is_none() {
                    description.forget_body();
                }
                if matches!(call.procedure.program, Procedure::NFS | Procedure::MOUNT | Procedure::NFSACL) {
                    self.client.get_or_insert(requester);
                }
                self.way.announce(&description);
                (called, described) = (Some(call), Some(description));
            }
        }
        message.rpc = described.as_ref().map(|described| described.rpc.clone());
        let detail = context.operations.then(|| {
            let walked = described.as_ref().map(Described::to_walked);
            Box::new(Detail { walked, ..Detail::new(Direction::Call, self.watch.given_up) })
        });
        let mut call = Call::new(message.clone(), (called, described), way, context.transactions);
        if self.replaces(&mut call, context) {
            self.wait(call, context);
        }
        message.detail = detail;
        message
    }

    /// Whether a call is to wait in place of one with its XID, which is given up then. One that can be carried out does not
    /// make way for one that cannot.
    fn replaces(&mut self, call: &mut Call, context: &mut Context<'_>) -> bool {
        let xids = self.xids.get(call.message.sender);
        let before = call.message.prefix().and_then(|prefix| xids.get(&prefix.xid)).copied();
        let can_wait = |id| self.calls.get(&id).is_some_and(|before| call.is_empty() && !before.is_empty());
        if before.is_some_and(can_wait) {
            return false;
        }
        call.is_repeated = before.is_some();
        before.into_iter().for_each(|before| self.give_up(before, context));
        true
    }

    fn wait(&mut self, mut call: Call, context: &mut Context<'_>) {
        let (Some(prefix), requester) = (call.message.prefix(), call.message.sender) else { return };
        self.last_call += 1;
        let id = self.last_call;
        if context.operations {
            self.shared(&call, prefix.xid, context);
        }
        let is_wanted = context.transactions || context.operations;
        // What could not be placed may be for this call, if it was captured before that and is given only now.
        let is_given_in_time = self.last_unplaced <= call.message.stamp.frame;
        if is_wanted && *self.heard.get(requester.other()) && !call.is_repeated && is_given_in_time {
            call.followed = Followed::Since(self.unplaced);
        }
        let memory = self.memory.get_mut(requester);
        for (index, segment) in call.segments.iter().enumerate() {
            let place = Place { call: id, segment: index };
            let address = (segment.handle, segment.offset);
            if let Some(other) = memory.advertise(segment.access, address, segment.length, place) {
                // Which of the two is meant is not known.
                call.followed = Followed::No;
                self.calls.get_mut(&other).into_iter().for_each(|other| other.followed = Followed::No);
            }
        }
        let named = if call.answers.is_none() { &mut self.xids } else { &mut self.provided };
        named.get_mut(requester).insert(prefix.xid, id);
        self.held += call.held();
        self.calls.insert(id, call);
        if self.calls.len() > CALLS
            && let Some((&oldest, _)) = self.calls.first_key_value()
        {
            self.give_up(oldest, context);
        }
    }

    /// Takes a call from those that wait; its memory is no longer advertised.
    fn take(&mut self, id: u64) -> Option<Call> {
        let mut call = self.calls.remove(&id)?;
        let requester = call.message.sender;
        let memory = self.memory.get_mut(requester);
        let mut handles: Vec<u32> = call.segments.iter().map(|segment| segment.handle).collect();
        handles.sort_unstable();
        handles.dedup();
        for handle in handles {
            memory.withdraw(handle, id);
        }
        if let Some(prefix) = call.message.prefix() {
            let named = if call.answers.is_none() { &mut self.xids } else { &mut self.provided };
            let xids = named.get_mut(requester);
            if xids.get(&prefix.xid) == Some(&id) {
                xids.remove(&prefix.xid);
            }
        }
        self.held -= call.held();
        if call.followed != Followed::Since(self.unplaced) {
            call.followed = Followed::No;
        }
        Some(call)
    }

    fn give_up(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(mut call) = self.take(id) else { return };
        // What was not moved may still be.
        call.followed = Followed::No;
        let is_reply = call.answers.is_some() || call.is_reply();
        if call.is_doubtful {
            call.forget();
        }
        if is_reply {
            return self.conclude(call, context);
        }
        self.watch.given_up |= !call.is_empty();
        let xid = call.message.xid();
        if context.transactions {
            context.ended(Transaction::new(Some(call), None, xid));
        }
    }

    /// Takes a reply to its call, and gives its message back with what is known of it.
    fn reply(&mut self, mut message: Message, context: &mut Context<'_>) -> Message {
        let xid = message.xid();
        let id = self.xids.get(message.sender.other()).get(&xid).copied();
        let mut call = id.and_then(|id| self.take(id));
        let mut long_xid = None;
        if let Some(call) = &mut call
            && call.described.is_none()
        {
            long_xid = call.describe_long();
            call.described.iter().for_each(|described| self.way.announce(described));
        }
        if let Some(call) = call.take_if(|_| provides(&message)) {
            return self.provide(message, (call, long_xid), context);
        }
        if let Some((msgp, payload, chunks)) = message.msgp() {
            let written = write_lengths(&chunks);
            let called = call.as_ref().and_then(|call| call.called.as_ref());
            message.padding = called.and_then(|called| msgp.padding_of_reply(payload, called, &written));
        }
        let reply = Reply::new(&message, call.as_ref());
        let rpc = reply.rpc().or_else(|| call.as_ref().and_then(reply_of));
        message.rpc = rpc;
        if context.operations {
            message.detail = Some(Box::new(self.answered(xid, (call.as_ref(), long_xid), &reply)));
        }
        let is_stray = call.is_none() && message.error().is_some();
        if context.transactions && !is_stray {
            context.ended(Transaction::new(call, Some((&message, reply)), xid));
        }
        message
    }
}

/// Whether a Payload stream asks or answers.
fn said(stream: &[u8]) -> Option<Direction> {
    match MessageType::peek(stream)?.1 {
        MessageType::CALL => Some(Direction::Call),
        MessageType::REPLY => Some(Direction::Reply),
        _ => None,
    }
}

/// What is known of a reply that cannot be read: what its call said.
fn reply_of(call: &Call) -> Option<Rpc> {
    let rpc = &call.described.as_ref()?.rpc;
    Some(Rpc { direction: Direction::Reply, operations: Vec::new(), status: None, ..rpc.clone() })
}

/// Whether a Send can be nothing but RPC-over-RDMA: a header that is right in every word, and the beginning of an RPC
/// message whose XID is the header's, or exactly the chunks of a long message.
fn is_rpc_over_rdma(octets: &[u8]) -> bool {
    let Ok(decoded) = Decoded::decode(Dialect::of(octets, true, &mut None), octets) else { return false };
    let Ok(prefix) = Prefix::decode(octets) else { return false };
    match decoded.header.place() {
        header::Place::Inline => {
            let mut payload = Reader::new(decoded.payload);
            let words = [payload.u32(), payload.u32(), payload.u32()];
            let [Ok(xid), Ok(kind), Ok(third)] = words else { return false };
            xid == prefix.xid
                && match MessageType(kind) {
                    MessageType::CALL => third == rpcrdma::rpc::Call::RPC_VERSION,
                    MessageType::REPLY => third <= 1,
                    _ => false,
                }
        }
        header::Place::Chunk => {
            let chunks = decoded.header.chunks().unwrap_or_default();
            let has_chunks = !chunks.is_empty() || !decoded.header.call_chunk().is_empty();
            prefix.credit > 0 && has_chunks && decoded.payload.is_empty()
        }
        _ => false,
    }
}
