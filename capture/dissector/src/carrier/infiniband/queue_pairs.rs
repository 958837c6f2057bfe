//! Connections: the packets of each.
//!
//! A packet names only the queue pair of the receiver. Connection management ties the two queue pairs of a connection
//! together. If the capture lacks that, no packet names both, and flows wait, within bounds, until an acknowledgement
//! in one fits a request of exactly one other. If none comes, half a connection is followed.

use super::checksums::{CheckedEnds, RetransmittedPacket, Unverified};
use super::flow::Flow;
use super::loss_account::PacketPosition;
use super::management::Management;
use super::operation_sink::OperationSink;
use super::ordering::Ordering;
use super::setup::{PendingSetup, PendingSetups, Receipt, Seen, SetupHalf};
use super::transport::{PacketKind, Transport};
use super::waiting::{Kept, WaitingFlow, is_within, span};
use crate::carrier::acknowledgement::{Acknowledgement, AcknowledgementOrder};
use crate::carrier::connection::{Announced, Connection, Disconnection, DisconnectionKind, Endpoint};
use crate::carrier::duplicates::{Duplicates, Need, PacketCapture, REPEATED, RecentPackets, SentPacket};
use crate::carrier::handler::{CongestionSign, Handler, Taken, release_excess};
use crate::carrier::operation::{CutOctets, Operation, Origin, Side, Sides, Stamp};
use crate::carrier::rejection::{Rejected, RejectionKind};
use crate::carrier::table::Table;
use crate::file::Time;
use crate::link::{Address, Carrier, Packet};

/// The most flows that wait at a time.
const WAITING_FLOWS: usize = 64;
/// The most connections that are followed at a time.
const CONNECTIONS: usize = 4096;

/// A message of connection setup is at most this many packets late.
const YOUNG: u64 = 64;
/// Packet numbers that an end may have used by then; a single Read request may take thousands.
const YOUNG_NUMBERS: u32 = 1 << 16;

#[derive(Debug)]
struct QueuePairEntry<S> {
    connection: Connection,
    session: S,
    ordering: Ordering,
    flows: Sides<Option<Flow>>,
    /// The active end's name for the connection; 0 if unknown.
    name: u32,
    opened: u64,
    /// True if the first packets are not in the capture, as a late message of connection setup shows.
    is_joined: bool,
    /// Octets of memory that are in the account.
    held: usize,
}

/// Reports a request without a reply, when the setup is dropped.
fn give_unanswered<S>(set_up: Option<PendingSetup>, handler: &mut impl Handler<Session = S>) {
    if let Some(request) = set_up.and_then(|set_up| set_up.unanswered()) {
        handler.unanswered(request);
    }
}

/// Everything known about the queue pairs in a capture.
#[derive(Debug)]
pub(crate) struct QueuePairs<S> {
    table: Table<Flow, QueuePairEntry<S>>,
    waiting: Vec<WaitingFlow>,
    set_ups: PendingSetups,
    recent: RecentPackets,
    /// Duplicates of the messages of connection management.
    copies: Duplicates,
    checked: CheckedEnds,
    /// Last packet, if the checksum is needed.
    unverified: Option<Unverified>,
    last_key: u64,
}

impl<S> Default for QueuePairs<S> {
    fn default() -> Self {
        Self {
            table: Table::default(),
            waiting: Vec::new(),
            set_ups: PendingSetups::default(),
            recent: RecentPackets::default(),
            copies: Duplicates::default(),
            checked: CheckedEnds::default(),
            unverified: None,
            last_key: 0,
        }
    }
}

impl<S> QueuePairs<S> {
    /// Takes the next packet of the capture; returns false for a packet that neither belongs to a reliable connection
    /// nor manages one.
    pub(crate) fn packet<'a>(
        &mut self,
        captured: PacketCapture,
        packet: &Packet<'a>,
        transport: &Transport<'a>,
        handler: &mut impl Handler<Session = S>,
    ) -> bool {
        let stamp = captured.stamp;
        self.table.tick();
        if transport.operation == PacketKind::Other {
            let management = Management::decode(transport);
            if management.is_some() {
                self.sample(packet);
            }
            if let Some(management) = &management
                && !self.is_managed(captured, transport)
            {
                self.manage(stamp, packet, management, handler);
            }
            if transport.is_congestion_notification() {
                self.notify(packet, transport, handler);
            }
            return management.is_some();
        }
        let flow = Flow { source: packet.source, destination: packet.destination, queue_pair: transport.queue_pair };
        let clock = self.table.clock();
        if let Some((key, from)) = self.table.find(&flow) {
            if let Some(entry) = self.table.touch(key) {
                if entry.is_young(clock) {
                    entry.ordering.set_duplicates(self.copies);
                }
                let octets = CutOctets { octets: packet.octets, length: packet.length };
                entry.packet(SentPacket { from, captured }, octets, transport, &mut self.recent, handler);
                if let Some(PacketPosition { sender, number }) = entry.ordering.take_unacknowledged(stamp.frame) {
                    let again = RetransmittedPacket { key, from: sender, number, frame: stamp.frame };
                    self.unverified = Some(Unverified::Again(again));
                }
            }
        } else {
            self.sample(packet);
            self.wait(flow, captured, packet, transport, handler);
        }
        release_excess(handler, CONNECTIONS + 1, |handler| self.release_largest(handler));
        true
    }

    /// Takes the notification of an end that packets of the other end met congestion.
    #[cold]
    fn notify(&mut self, packet: &Packet<'_>, transport: &Transport<'_>, handler: &mut impl Handler<Session = S>) {
        let flow = Flow { source: packet.source, destination: packet.destination, queue_pair: transport.queue_pair };
        if let Some((key, from)) = self.table.find(&flow)
            && let Some(entry) = self.table.get_mut(key)
        {
            handler.congested(&mut entry.session, from.other(), CongestionSign::Notification);
        }
    }

    /// Asks for the checksum of a packet, to learn whether the capture holds the checksums on the wire.
    fn sample(&mut self, packet: &Packet<'_>) {
        if self.checked.is_wanted(packet.source) {
            self.unverified = Some(Unverified::Sample(packet.source));
        }
    }

    /// Returns the last packet, if the checksum is needed.
    #[inline]
    pub(crate) const fn take_unverified(&mut self) -> Option<Unverified> {
        self.unverified.take()
    }

    /// Takes the verdict on the checksum of a packet from [`take_unverified`](Self::take_unverified).
    pub(crate) fn verified(&mut self, packet: Unverified, is_right: bool) {
        match packet {
            Unverified::Sample(end) => self.checked.take_verdict(end, is_right),
            Unverified::Again(packet) => {
                let Some(entry) = self.table.get_mut(packet.key) else { return };
                self.checked.take_verdict(entry.connection.ends.get(packet.from).address, is_right);
                entry.ordering.take_verdict(&packet, is_right);
            }
        }
    }

    /// Makes the connection, or the flow without one, that holds the most release what exceeds the limit.
    #[cold]
    fn release_largest(&mut self, handler: &mut impl Handler<Session = S>) {
        let excess = handler.account().excess();
        let largest = self.table.largest(|entry| entry.held);
        let waiting =
            (0..self.waiting.len()).max_by_key(|place| self.waiting.get(*place).map(WaitingFlow::buffered_octets));
        let waits = waiting.and_then(|place| self.waiting.get(place)).map_or(0, WaitingFlow::buffered_octets);
        match (largest, waiting) {
            (Some(entry), _) if entry.held >= waits => entry.let_go(excess, handler),
            (_, Some(place)) => _ = self.give_up(place, handler),
            _ => {}
        }
    }

    /// Emits everything that still waits, at the end of the capture.
    pub(crate) fn finish(&mut self, handler: &mut impl Handler<Session = S>) {
        while !self.waiting.is_empty() {
            self.give_up(0, handler);
        }
        for key in self.table.keys() {
            self.close(key, handler);
        }
        self.set_ups.take_all().into_iter().for_each(|set_up| give_unanswered(Some(set_up), handler));
    }

    /// Returns true if a message of connection management was captured before: a duplicate.
    fn is_managed(&mut self, captured: PacketCapture, transport: &Transport<'_>) -> bool {
        let words = [transport.queue_pair.into(), transport.length as u64, 0];
        let content = self.recent.digest(0, Side::Active, words, transport.data, captured.observation);
        let need = |since: Time| Need::from_evidence(false, captured.stamp.time.0.saturating_sub(since.0) < REPEATED);
        self.recent.original(content, captured, &mut self.copies, Duplicates::default, need).is_some()
    }

    fn manage(
        &mut self,
        stamp: Stamp,
        packet: &Packet<'_>,
        message: &Management<'_>,
        handler: &mut impl Handler<Session = S>,
    ) {
        let Packet { source, destination, carrier, .. } = *packet;
        match *message {
            Management::Request {
                local,
                service,
                queue_pair,
                sequence,
                path_mtu,
                ack_timeout,
                terms,
                private_data,
            } => {
                let announced = Announced::new(stamp, private_data);
                let half = SetupHalf { queue_pair, sequence, announced, terms };
                let set_up =
                    PendingSetup { request: Some(half), ..PendingSetup::new(source, destination, carrier, local) };
                self.request(PendingSetup { service: Some(service), mtu: path_mtu, ack_timeout, ..set_up }, handler);
            }
            Management::Reply { remote, queue_pair, sequence, terms, private_data } => {
                let announced = Announced::new(stamp, private_data);
                let half = SetupHalf { queue_pair, sequence, announced, terms };
                let set_up =
                    PendingSetup { reply: Some(half), ..PendingSetup::new(destination, source, carrier, remote) };
                self.reply(set_up, handler);
            }
            Management::Reject { remote, reason } => {
                let asked = self.set_ups.take_set_up(destination, remote, Seen::Request);
                let has_private_data = asked.as_ref().is_some_and(PendingSetup::is_for_rpc);
                handler.rejected(Rejected {
                    stamp,
                    from: source,
                    to: destination,
                    service: asked.as_ref().and_then(|asked| asked.service),
                    kind: RejectionKind::Management(reason),
                    asked: asked.as_ref().and_then(PendingSetup::asked),
                    has_private_data,
                    is_for_rpc: has_private_data,
                });
            }
            Management::DisconnectRequest { queue_pair } => {
                self.disconnect(stamp, &Flow { source, destination, queue_pair }, handler);
            }
            Management::ReadyToUse { local } => {
                self.set_ups.note_receipt(source, local, Receipt::Replied);
                self.complete(stamp, source, local);
            }
            Management::Receipt { remote } => self.set_ups.note_receipt(destination, remote, Receipt::Confirmed),
            Management::DisconnectReply | Management::Other => {}
        }
    }

    /// The active end is ready to use a connection to which it gave this name: that is usually the newest.
    fn complete(&mut self, stamp: Stamp, active: Address, name: u32) {
        let is_meant = |entry: &QueuePairEntry<S>| {
            let Connection { ends, setup_captured, established, .. } = &entry.connection;
            entry.name == name && ends.active.address == active && *setup_captured && established.is_none()
        };
        let is_newest = self.table.get(self.last_key).is_some_and(is_meant);
        let key = if is_newest { Some(self.last_key) } else { self.table.key_of(is_meant) };
        if let Some(entry) = key.and_then(|key| self.table.get_mut(key)) {
            entry.connection.established = Some(stamp);
        }
    }

    /// An end asks for a connection.
    fn request(&mut self, mut request: PendingSetup, handler: &mut impl Handler<Session = S>) {
        let (Some(half), clock) = (request.request, self.table.clock()) else { return };
        let towards = Flow { source: request.passive, destination: request.active, queue_pair: half.queue_pair };
        if self.is_repeated(&towards, |entry| entry.has_said(Side::Active, request.name) && entry.is_young(clock)) {
            return;
        }
        if let Some(entry) = self.late(&towards, Side::Passive, half, request.name) {
            let connection = &mut entry.connection;
            (connection.service, connection.asked) = (request.service, request.asked());
            (connection.path_mtu, connection.ack_timeout) = (request.mtu, request.ack_timeout);
            entry.ordering.set_mtu(request.mtu);
            entry.ordering.set_ack_timeout(request.ack_timeout);
            return;
        }
        self.close_flow(&towards, handler);
        let answer = self.set_ups.take_set_up(request.active, request.name, Seen::ReplyOnly);
        while let Some(earlier) = self.set_ups.take_set_up(request.active, request.name, Seen::Request) {
            give_unanswered(request.repeat(earlier), handler);
        }
        match answer {
            Some(answer) => {
                request.reply = answer.reply;
                self.establish(&request, handler);
            }
            None => give_unanswered(self.set_ups.add_set_up(request), handler),
        }
    }

    /// The other end agrees.
    fn reply(&mut self, reply: PendingSetup, handler: &mut impl Handler<Session = S>) {
        let Some(half) = reply.reply else { return };
        let towards = Flow { source: reply.active, destination: reply.passive, queue_pair: half.queue_pair };
        if let Some(asked) = self.set_ups.take_set_up(reply.active, reply.name, Seen::Request) {
            self.close_flow(&towards, handler);
            self.establish(&PendingSetup { reply: Some(half), ..asked }, handler);
        } else if !self.is_repeated(&towards, |entry| entry.has_said(Side::Passive, reply.name))
            && self.late(&towards, Side::Active, half, reply.name).is_none()
        {
            self.close_flow(&towards, handler);
            give_unanswered(self.set_ups.add_set_up(reply), handler);
        }
    }

    /// An end ends the connection. Packets may still be on the way, so the connection is followed until another one
    /// uses the queue pairs.
    fn disconnect(&mut self, stamp: Stamp, towards: &Flow, handler: &mut impl Handler<Session = S>) {
        if let Some((key, from)) = self.table.find(towards)
            && let Some(entry) = self.table.get_mut(key)
            && entry.connection.disconnected.is_none()
        {
            let how = DisconnectionKind::DisconnectRequest;
            entry.connection.disconnected = Some(Disconnection { by: from, stamp, how });
            handler.ended(&entry.session, stamp);
        }
    }

    /// Returns a connection that packets began, because this message of connection setup came late. `from` is the end
    /// whose packets go to the queue pair that the message names.
    fn late(&mut self, towards: &Flow, from: Side, half: SetupHalf, name: u32) -> Option<&mut QueuePairEntry<S>> {
        let ((key, owner), clock) = (self.table.find(towards)?, self.table.clock());
        let entry =
            self.table.get_mut(key).filter(|entry| entry.is_young(clock) && !entry.connection.setup_captured)?;
        if owner != from {
            return None; // the ends are known the other way round
        }
        // If its numbers do not follow from where this message says they begin, the queue pair now serves another
        // connection.
        if entry.ordering.next(from).is_some_and(|next| !is_within(next, half.sequence, YOUNG_NUMBERS)) {
            return None;
        }
        let announced = &mut entry.connection.announced;
        *announced.get_mut(from.other()) = Some(half.announced);
        *entry.connection.terms.get_mut(from.other()) = half.terms;
        // What waits for other packets may not be its first.
        if entry.ordering.next(from).is_none() {
            entry.ordering.begin_at(from, half.sequence);
        }
        entry.is_joined |= entry.ordering.is_joined(from, half.sequence);
        entry.connection.setup_captured = announced.active.is_some() && announced.passive.is_some() && !entry.is_joined;
        entry.name = name;
        Some(entry)
    }

    fn is_repeated(&mut self, flow: &Flow, same: impl Fn(&QueuePairEntry<S>) -> bool) -> bool {
        self.table.find(flow).and_then(|(key, _)| self.table.get(key)).is_some_and(same)
    }

    /// Begins a connection whose setup was seen. Some packets of the connection may have come before.
    fn establish(&mut self, set_up: &PendingSetup, handler: &mut impl Handler<Session = S>) {
        let flow = |source, destination, half: SetupHalf| Flow { source, destination, queue_pair: half.queue_pair };
        let (Some(request), Some(reply)) = (set_up.request, set_up.reply) else { return };
        let flows = Sides {
            active: flow(set_up.active, set_up.passive, reply),
            passive: flow(set_up.passive, set_up.active, request),
        };
        let mut early = Vec::new();
        for (from, half) in [(Side::Active, reply), (Side::Passive, request)] {
            let Some(place) = self.waiting.iter().position(|waiting| waiting.flow == *flows.get(from)) else {
                continue;
            };
            if self.waiting.get(place).is_some_and(|waiting| waiting.begins_at(half.sequence)) {
                early.extend(
                    self.take_waiting(place, handler).packets.into_iter().map(|kept| EarlyPacket { from, kept }),
                );
            } else {
                let old = self.give_up(place, handler);
                self.close(old, handler);
            }
        }
        let flows = Sides { active: Some(flows.active), passive: Some(flows.passive) };
        let key = self.open(Some(set_up), set_up.carrier, flows, handler);
        self.replay(key, early, handler);
    }

    /// Uses packets that waited for their connection.
    fn replay(&mut self, key: u64, mut packets: Vec<EarlyPacket>, handler: &mut impl Handler<Session = S>) {
        packets.sort_by_key(|packet| packet.kept.captured.stamp.frame);
        let Some(entry) = self.table.get_mut(key) else { return };
        for EarlyPacket { from, kept } in packets {
            if let Ok(transport) = Transport::decode(&kept.octets, kept.length) {
                let sent = SentPacket { from, captured: kept.captured };
                let octets = CutOctets { octets: &kept.octets, length: kept.length };
                entry.packet(sent, octets, &transport, &mut self.recent, handler);
            }
        }
    }

    /// Begins a connection, with the flow of each end.
    fn open(
        &mut self,
        set_up: Option<&PendingSetup>,
        carrier: Carrier,
        flows: Sides<Option<Flow>>,
        handler: &mut impl Handler<Session = S>,
    ) -> u64 {
        for key in self.table.crowd(CONNECTIONS) {
            self.close(key, handler);
        }
        self.last_key += 1;
        let key = self.last_key;
        let (request, reply) = set_up.map_or((None, None), |set_up| (set_up.request, set_up.reply));
        let Some(known) = flows.active.or(flows.passive) else { return key };
        let (active, passive) =
            if flows.active.is_some() { (known.source, known.destination) } else { (known.destination, known.source) };
        // A flow from one end names the queue pair of the other.
        let end = |address, flow: Option<Flow>| Endpoint {
            address,
            queue_pair: flow.map(|flow| flow.queue_pair),
            port: None,
        };
        let connection = Connection {
            key,
            carrier,
            ends: Sides { active: end(active, flows.passive), passive: end(passive, flows.active) },
            service: set_up.and_then(|set_up| set_up.service),
            announced: Sides { active: request.map(|half| half.announced), passive: reply.map(|half| half.announced) },
            asked: set_up.and_then(PendingSetup::asked),
            established: None,
            path_mtu: set_up.and_then(|set_up| set_up.mtu),
            ack_timeout: set_up.and_then(|set_up| set_up.ack_timeout),
            terms: Sides {
                active: request.map(|half| half.terms).unwrap_or_default(),
                passive: reply.map(|half| half.terms).unwrap_or_default(),
            },
            setup_captured: request.is_some() && reply.is_some(),
            paired: flows.active.is_some() && flows.passive.is_some(),
            disconnected: None,
        };
        let mut ordering = Ordering::default();
        ordering.set_mtu(set_up.and_then(|set_up| set_up.mtu));
        ordering.set_ack_timeout(set_up.and_then(|set_up| set_up.ack_timeout));
        // The number in a request is that of the other end's first packet, and vice versa.
        for (from, half) in [(Side::Passive, request), (Side::Active, reply)] {
            if let Some(half) = half {
                ordering.begin_at(from, half.sequence);
            }
        }
        let session = handler.opened(&connection);
        let name = set_up.map_or(0, |set_up| set_up.name);
        let by_end = [flows.active.map(|flow| (Side::Active, flow)), flows.passive.map(|flow| (Side::Passive, flow))];
        let opened = self.table.clock();
        let entry = QueuePairEntry { connection, session, ordering, flows, name, opened, is_joined: false, held: 0 };
        self.table.insert(key, by_end.into_iter().flatten(), entry);
        key
    }

    /// Lets `act` change the session of a connection, if the connection is followed. `act` returns true after a change.
    pub(crate) fn change<H: Handler<Session = S>>(
        &mut self,
        key: u64,
        handler: &mut H,
        act: impl FnOnce(&Connection, &mut S, &mut H) -> bool,
    ) {
        if let Some(entry) = self.table.get_mut(key)
            && act(&entry.connection, &mut entry.session, handler)
        {
            entry.account(handler);
        }
    }

    fn close_flow(&mut self, flow: &Flow, handler: &mut impl Handler<Session = S>) {
        if let Some((key, _)) = self.table.find(flow) {
            self.close(key, handler);
        }
    }

    fn close(&mut self, key: u64, handler: &mut impl Handler<Session = S>) {
        let removed = self.table.remove(key, |entry| [entry.flows.active, entry.flows.passive]);
        let Some(mut entry) = removed else { return };
        entry.flush(handler);
        handler.account().change(entry.held, 0);
        let are_recorded = |side| self.checked.are_recorded(entry.connection.ends.get(side).address);
        let counts = entry.ordering.finished_counts(are_recorded);
        handler.closed(&entry.connection, entry.session, &counts);
    }

    /// Keeps a packet of a flow whose connection is not known, and looks for the flow in the other direction.
    fn wait(
        &mut self,
        flow: Flow,
        captured: PacketCapture,
        packet: &Packet<'_>,
        transport: &Transport<'_>,
        handler: &mut impl Handler<Session = S>,
    ) {
        let place = self.waiting.iter().position(|waiting| waiting.flow == flow).unwrap_or_else(|| {
            self.waiting.push(WaitingFlow { flow, carrier: packet.carrier, packets: Vec::new(), octets: 0 });
            self.waiting.len() - 1
        });
        let kept = Kept {
            captured,
            octets: packet.octets.into(),
            length: packet.length,
            sequence: transport.sequence,
            span: span(transport),
        };
        // If both ends have the same address, a flow could take itself for its counterpart.
        let partners: Vec<usize> = (0..self.waiting.len())
            .filter(|other| *other != place)
            .filter(|other| self.waiting.get(*other).is_some_and(|other| other.answers(&flow, &kept)))
            .collect();
        let Some(waiting) = self.waiting.get_mut(place) else { return };
        let before = waiting.buffered_octets();
        waiting.octets += kept.octets.len();
        waiting.packets.push(kept);
        handler.account().change(before, waiting.buffered_octets());
        // If two partners fit equally well, a later packet will decide.
        if let [partner] = partners[..] {
            self.pair(place, partner, handler);
        } else if waiting.is_full() {
            self.give_up(place, handler);
        } else if self.waiting.len() > WAITING_FLOWS {
            self.give_up(0, handler);
        }
    }

    fn pair(&mut self, one: usize, other: usize, handler: &mut impl Handler<Session = S>) {
        let (high, low) = (one.max(other), one.min(other));
        let second = self.take_waiting(high, handler);
        let first = self.take_waiting(low, handler);
        self.start(first, Some(second), handler);
    }

    fn take_waiting(&mut self, place: usize, handler: &mut impl Handler<Session = S>) -> WaitingFlow {
        let waiting = self.waiting.remove(place);
        handler.account().change(waiting.buffered_octets(), 0);
        waiting
    }

    fn give_up(&mut self, place: usize, handler: &mut impl Handler<Session = S>) -> u64 {
        let waiting = self.take_waiting(place, handler);
        self.start(waiting, None, handler)
    }

    /// Begins a connection without complete setup, and uses the packets that waited.
    fn start(
        &mut self,
        first: WaitingFlow,
        second: Option<WaitingFlow>,
        handler: &mut impl Handler<Session = S>,
    ) -> u64 {
        let (one, other) = (Some(first.flow), second.as_ref().map(|second| second.flow));
        let set_up = self.set_ups.take_for([one, other]);
        let reversed = set_up.as_ref().is_some_and(|set_up| set_up.passive == first.flow.source);
        let flows =
            if reversed { Sides { active: other, passive: one } } else { Sides { active: one, passive: other } };
        let key = self.open(set_up.as_ref(), first.carrier, flows, handler);
        let mut packets: Vec<EarlyPacket> = Vec::new();
        let (of_first, of_second) =
            if reversed { (Side::Passive, Side::Active) } else { (Side::Active, Side::Passive) };
        packets.extend(first.packets.into_iter().map(|kept| EarlyPacket { from: of_first, kept }));
        let second = second.into_iter().flat_map(|second| second.packets);
        packets.extend(second.map(|kept| EarlyPacket { from: of_second, kept }));
        self.replay(key, packets, handler);
        key
    }
}

/// Returns the part that all copies of a packet share: the headers, without the bits that switches set.
#[inline]
fn words(CutOctets { octets, length }: CutOctets<'_>) -> [u64; 3] {
    let word = |at: usize| {
        let octets = octets.get(at..).unwrap_or_default();
        u64::from(octets.first_chunk().map_or(0, |octets| u32::from_be_bytes(*octets)))
    };
    [word(0) << 32 | word(8), word(12) << 32 | word(16), length as u64]
}

/// A packet that waited for a connection, and the sender of the packet.
struct EarlyPacket {
    from: Side,
    kept: Kept,
}

/// Passes the operations of a connection to the session.
struct ToSession<'a, H: Handler> {
    handler: &'a mut H,
    connection: &'a Connection,
    session: &'a mut H::Session,
}

impl<H: Handler> OperationSink for ToSession<'_, H> {
    fn take_operation(&mut self, operation: Operation<'_>, last: bool) -> Taken {
        self.handler.operation(self.connection, self.session, operation, last)
    }

    fn acknowledged(&mut self, by: Origin, acknowledgement: Acknowledgement) {
        self.handler.acknowledged(self.session, by, acknowledgement);
    }

    fn acknowledged_early(&mut self, packet: Origin, order: AcknowledgementOrder) {
        self.handler.acknowledged_early(self.session, packet, order);
    }
}

impl<S> QueuePairEntry<S> {
    fn packet<'a>(
        &mut self,
        sent: SentPacket,
        octets: CutOctets<'a>,
        transport: &Transport<'a>,
        recent: &mut RecentPackets,
        handler: &mut impl Handler<Session = S>,
    ) {
        let SentPacket { from, captured: PacketCapture { stamp, observation } } = sent;
        let Self { connection, session, ordering, .. } = self;
        if observation.is_marked {
            handler.congested(session, from, CongestionSign::Mark);
        }
        let content = recent.digest(connection.key, from, words(octets), &[], observation);
        match ordering.original(sent, transport, content, recent) {
            Some(first) => handler.seen_again(session, from, first, stamp.time),
            None => {
                ordering.packet(sent.origin(), octets, transport, &mut ToSession { handler, connection, session });
                if let Some(times) = ordering.take_measured(from) {
                    handler.measured(session, from, times);
                }
            }
        }
        self.account(handler);
    }

    /// Updates the account.
    fn account(&mut self, handler: &mut impl Handler<Session = S>) {
        let now = self.ordering.buffered_octets() + handler.session_octets(&self.session);
        if now != self.held {
            handler.account().update(&mut self.held, now);
        }
    }

    /// Releases about this many octets: first packets that wait for an earlier one, then what the session keeps.
    fn let_go(&mut self, excess: usize, handler: &mut impl Handler<Session = S>) {
        let enough = self.held.saturating_sub(excess);
        let Self { connection, session, ordering, .. } = self;
        ordering.let_go(&mut ToSession { handler, connection, session });
        self.account(handler);
        if self.held > enough {
            handler.let_go(&self.connection, &mut self.session, self.held - enough);
            self.account(handler);
        }
    }

    fn flush(&mut self, handler: &mut impl Handler<Session = S>) {
        let Self { connection, session, ordering, .. } = self;
        ordering.finish(&mut ToSession { handler, connection, session });
    }

    /// Returns true if this end's message of connection setup was seen, under this name.
    const fn has_said(&self, end: Side, name: u32) -> bool {
        self.name == name && self.connection.announced.get(end).is_some()
    }

    /// Returns true if the connection has only just begun, so that a request with the same names is the same request,
    /// retransmitted or captured again.
    const fn is_young(&self, clock: u64) -> bool {
        self.ordering.is_silent(Side::Active) || clock - self.opened < YOUNG
    }
}
