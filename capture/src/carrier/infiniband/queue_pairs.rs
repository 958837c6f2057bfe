//! Which packets belong to one connection.
//!
//! A packet names only the queue pair it goes to. Connection management ties the two queue pairs together; where the
//! capture does not hold that, the numbers do: an acknowledgement that answers a request of the other flow. Until then the
//! packets of a flow wait, within bounds.

use super::management::Management;
use super::ordering::{Ordering, Sink};
use super::transport::{Operation as Does, Transport};
use crate::carrier::connection::{Announced, Connection, Consumer, Endpoint, Rejected};
use crate::carrier::handler::{Handler, Taken};
use crate::carrier::operation::{Operation, Side, Sides, Stamp};
use crate::carrier::table::Map;
use crate::link::{Address, Carrier, Packet};

/// Packets, and octets of them, that wait for a flow's counterpart.
const WAITING_PACKETS: usize = 2048;
const WAITING_OCTETS: usize = 4 << 20;
/// Flows that wait at a time.
const WAITING_FLOWS: usize = 64;
/// Connection requests that wait for their answer.
const PENDING: usize = 256;
/// Connections that are followed at a time; the one unused for longest makes place.
const CONNECTIONS: usize = 4096;

/// Packets of the capture by which a message of connection set-up is late at most.
const YOUNG: u64 = 64;
/// Packet numbers that an end may have used by then: a Read request alone may take thousands.
const YOUNG_NUMBERS: u32 = 1 << 16;

/// Packets from one address to one queue pair of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Flow {
    source: Address,
    destination: Address,
    queue_pair: u32,
}

#[derive(Debug)]
struct Entry<S> {
    connection: Connection,
    session: S,
    ordering: Ordering,
    flows: Sides<Option<Flow>>,
    /// The name that the active end gave the connection; 0 where it is not known.
    name: u32,
    /// How many of the two messages that set it up were seen.
    known: u8,
    opened: u64,
    used: u64,
    /// Octets of memory that are accounted for.
    held: usize,
}

/// A connection request or reply whose counterpart was not seen yet.
#[derive(Debug)]
struct Pending {
    active: Address,
    passive: Address,
    request: Option<Half>,
    reply: Option<Half>,
    service: Option<u64>,
    mtu: Option<u32>,
    name: u32,
}

#[derive(Clone, Copy, Debug)]
struct Half {
    queue_pair: u32,
    sequence: u32,
    announced: Announced,
}

/// A flow whose counterpart is not known yet.
#[derive(Debug)]
struct Waiting {
    flow: Flow,
    carrier: Carrier,
    packets: Vec<Kept>,
    octets: usize,
}

#[derive(Debug)]
struct Kept {
    stamp: Stamp,
    octets: Box<[u8]>,
    length: usize,
    /// Packet number, and how many numbers a request takes; 0 for an answer.
    sequence: u32,
    span: u32,
}

/// Everything known of the queue pairs in a capture.
#[derive(Debug)]
pub struct QueuePairs<S> {
    entries: Map<u64, Entry<S>>,
    flows: Map<Flow, (u64, Side)>,
    /// The flows of the last two packets: most often the next packet's is one of them.
    recent: [Option<(Flow, u64, Side)>; 2],
    waiting: Vec<Waiting>,
    pending: Vec<Pending>,
    last_key: u64,
    clock: u64,
}

impl<S> Default for QueuePairs<S> {
    fn default() -> Self {
        Self {
            entries: Map::default(),
            flows: Map::default(),
            recent: [None; 2],
            waiting: Vec::new(),
            pending: Vec::new(),
            last_key: 0,
            clock: 0,
        }
    }
}

impl<S> QueuePairs<S> {
    /// Takes the next packet of the capture.
    pub fn packet<'a>(
        &mut self,
        stamp: Stamp,
        packet: &Packet<'a>,
        transport: &Transport<'a>,
        handler: &mut impl Handler<Session = S>,
    ) {
        self.clock += 1;
        if transport.operation == Does::Other {
            if let Some(management) = Management::decode(transport) {
                self.manage(stamp, packet, &management, handler);
            }
            return;
        }
        let flow = Flow { source: packet.source, destination: packet.destination, queue_pair: transport.queue_pair };
        if let Some((key, from)) = self.find(&flow) {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.used = self.clock;
                entry.packet((from, stamp), (packet.octets, packet.length), transport, handler);
            }
        } else {
            self.wait(flow, stamp, packet, transport, handler);
        }
        if handler.account().is_exceeded() {
            self.let_go(handler);
        }
    }

    /// Has those that hold the most let go what is more than may be held.
    fn let_go(&mut self, handler: &mut impl Handler<Session = S>) {
        for _ in 0..=CONNECTIONS {
            let excess = handler.account().excess();
            let largest = self.entries.values_mut().max_by_key(|entry| entry.held);
            let waiting = (0..self.waiting.len()).max_by_key(|place| self.waiting.get(*place).map(Waiting::held));
            let waits = waiting.and_then(|place| self.waiting.get(place)).map_or(0, Waiting::held);
            match (largest, waiting) {
                (Some(entry), _) if entry.held >= waits => entry.let_go(excess, handler),
                (_, Some(place)) => _ = self.give_up(place, handler),
                _ => return,
            }
            if !handler.account().is_exceeded() {
                return;
            }
        }
    }

    fn find(&mut self, flow: &Flow) -> Option<(u64, Side)> {
        for (known, key, from) in self.recent.iter().flatten() {
            if known == flow {
                return Some((*key, *from));
            }
        }
        let &(key, from) = self.flows.get(flow)?;
        self.recent = [Some((*flow, key, from)), self.recent[0]];
        Some((key, from))
    }

    /// Gives everything that still waits, at the end of the capture.
    pub fn finish(&mut self, handler: &mut impl Handler<Session = S>) {
        while !self.waiting.is_empty() {
            self.give_up(0, handler);
        }
        let mut keys: Vec<u64> = self.entries.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            self.close(key, handler);
        }
    }

    fn manage(
        &mut self,
        stamp: Stamp,
        packet: &Packet<'_>,
        message: &Management<'_>,
        handler: &mut impl Handler<Session = S>,
    ) {
        let (source, destination, clock) = (packet.source, packet.destination, self.clock);
        match *message {
            Management::Request { local, service, queue_pair, sequence, path_mtu, private_data } => {
                let half = Half::new(stamp, (queue_pair, sequence), private_data);
                let towards = Flow { source: destination, destination: source, queue_pair };
                if self.is_repeated(&towards, |entry| entry.name == local && entry.is_young(clock)) {
                    return;
                }
                let late = self.late(&towards, Side::Passive, half, local);
                if let Some(connection) = late {
                    connection.service = Some(service);
                    return;
                }
                self.close_flow(&towards, handler);
                let answered = self.place_of_pending(source, local, |pending| pending.request.is_none());
                let answer = answered.map(|place| self.pending.swap_remove(place));
                self.pending.retain(|pending| pending.active != source || pending.name != local);
                let pending = Pending {
                    active: source,
                    passive: destination,
                    request: Some(half),
                    reply: answer.as_ref().and_then(|answer| answer.reply),
                    service: Some(service),
                    mtu: path_mtu,
                    name: local,
                };
                match answer {
                    Some(_) => self.establish(&pending, packet.carrier, handler),
                    None => self.add_pending(pending),
                }
            }
            Management::Reply { remote, queue_pair, sequence, private_data } => {
                let half = Half::new(stamp, (queue_pair, sequence), private_data);
                let towards = Flow { source: destination, destination: source, queue_pair };
                if let Some(place) = self.place_of_pending(destination, remote, |pending| pending.request.is_some()) {
                    self.close_flow(&towards, handler);
                    let mut pending = self.pending.swap_remove(place);
                    pending.reply = Some(half);
                    self.establish(&pending, packet.carrier, handler);
                } else if !self.is_repeated(&towards, |entry| entry.connection.set_up && entry.name == remote)
                    && self.late(&towards, Side::Active, half, remote).is_none()
                {
                    self.close_flow(&towards, handler);
                    self.add_pending(Pending {
                        active: destination,
                        passive: source,
                        request: None,
                        reply: Some(half),
                        service: None,
                        mtu: None,
                        name: remote,
                    });
                }
            }
            Management::Reject { remote, reason } => {
                let asked = self.place_of_pending(destination, remote, |pending| pending.request.is_some());
                let service = asked.and_then(|place| self.pending.swap_remove(place).service);
                handler.rejected(Rejected { stamp, from: source, to: destination, service, reason: Some(reason) });
            }
            // Packets may be on their way when a connection ends; it is followed until its queue pairs serve another.
            Management::DisconnectRequest { queue_pair } => {
                let towards = Flow { source, destination, queue_pair };
                if let Some(&(key, from)) = self.flows.get(&towards)
                    && let Some(entry) = self.entries.get_mut(&key)
                {
                    entry.connection.disconnected.get_or_insert((from, stamp));
                }
            }
            Management::ReadyToUse | Management::DisconnectReply | Management::Other => {}
        }
    }

    fn place_of_pending(&self, active: Address, name: u32, is: impl Fn(&Pending) -> bool) -> Option<usize> {
        self.pending.iter().position(|pending| pending.active == active && pending.name == name && is(pending))
    }

    /// A connection that was begun by its traffic, as this message about it came late. `from` is the end whose packets go
    /// to the queue pair it names.
    fn late(&mut self, towards: &Flow, from: Side, half: Half, name: u32) -> Option<&mut Connection> {
        let (&(key, owner), clock) = (self.flows.get(towards)?, self.clock);
        let entry = self.entries.get_mut(&key).filter(|entry| entry.is_young(clock) && !entry.connection.set_up)?;
        if owner != from {
            return None; // the ends are known the other way round
        }
        // Its numbers go on where this message says they begin, or the queue pair serves another connection now.
        if entry.ordering.next(from).is_some_and(|next| !is_within(next, half.sequence, YOUNG_NUMBERS)) {
            return None;
        }
        let sender = from.other();
        *entry.connection.announced.get_mut(sender) = Some(half.announced);
        entry.known += 1;
        entry.connection.set_up = entry.known == 2;
        entry.name = name;
        Some(&mut entry.connection)
    }

    fn is_repeated(&self, flow: &Flow, same: impl Fn(&Entry<S>) -> bool) -> bool {
        self.flows.get(flow).and_then(|(key, _)| self.entries.get(key)).is_some_and(same)
    }

    fn add_pending(&mut self, pending: Pending) {
        if self.pending.len() == PENDING {
            self.pending.remove(0);
        }
        self.pending.push(pending);
    }

    /// Begins a connection whose set-up was seen. Packets of it may have come before.
    fn establish(&mut self, pending: &Pending, carrier: Carrier, handler: &mut impl Handler<Session = S>) {
        let flow = |source, destination, half: Half| Flow { source, destination, queue_pair: half.queue_pair };
        let (Some(request), Some(reply)) = (pending.request, pending.reply) else { return };
        let flows = Sides {
            active: flow(pending.active, pending.passive, reply),
            passive: flow(pending.passive, pending.active, request),
        };
        let mut early = Vec::new();
        for (from, half) in [(Side::Active, reply), (Side::Passive, request)] {
            let Some(place) = self.waiting.iter().position(|waiting| waiting.flow == *flows.get(from)) else {
                continue;
            };
            if self.waiting.get(place).is_some_and(|waiting| waiting.begins_at(half.sequence)) {
                early.extend(self.take_waiting(place, handler).packets.into_iter().map(|kept| (from, kept)));
            } else {
                let old = self.give_up(place, handler);
                self.close(old, handler);
            }
        }
        let flows = Sides { active: Some(flows.active), passive: Some(flows.passive) };
        let key = self.open(Some(pending), carrier, flows, handler);
        self.replay(key, early, handler);
    }

    /// Lets go packets that waited for their connection.
    fn replay(&mut self, key: u64, mut packets: Vec<(Side, Kept)>, handler: &mut impl Handler<Session = S>) {
        packets.sort_by_key(|(_, kept)| kept.stamp.frame);
        let Some(entry) = self.entries.get_mut(&key) else { return };
        for (from, kept) in packets {
            if let Ok(transport) = Transport::decode(&kept.octets, kept.length) {
                entry.packet((from, kept.stamp), (&kept.octets, kept.length), &transport, handler);
            }
        }
    }

    /// Begins a connection. Its flows are those by each end.
    fn open(
        &mut self,
        setup: Option<&Pending>,
        carrier: Carrier,
        flows: Sides<Option<Flow>>,
        handler: &mut impl Handler<Session = S>,
    ) -> u64 {
        self.make_place(handler);
        self.last_key += 1;
        let key = self.last_key;
        let (request, reply) = setup.map_or((None, None), |setup| (setup.request, setup.reply));
        let Some(known) = flows.active.or(flows.passive) else { return key };
        let (active, passive) =
            if flows.active.is_some() { (known.source, known.destination) } else { (known.destination, known.source) };
        // A flow by one end names the queue pair of the other.
        let end = |address, flow: Option<Flow>| Endpoint {
            address,
            queue_pair: flow.map(|flow| flow.queue_pair),
            port: None,
        };
        let connection = Connection {
            key,
            carrier,
            ends: Sides { active: end(active, flows.passive), passive: end(passive, flows.active) },
            service: setup.and_then(|setup| setup.service),
            announced: Sides { active: request.map(|half| half.announced), passive: reply.map(|half| half.announced) },
            set_up: request.is_some() && reply.is_some(),
            paired: flows.active.is_some() && flows.passive.is_some(),
            disconnected: None,
        };
        let mut ordering = Ordering::default();
        ordering.set_mtu(setup.and_then(|setup| setup.mtu));
        // The number in a request is the one the other end's first packet has, and the other way round.
        for (from, half) in [(Side::Passive, request), (Side::Active, reply)] {
            if let Some(half) = half {
                ordering.begin(from, half.sequence);
            }
        }
        for (from, flow) in [(Side::Active, flows.active), (Side::Passive, flows.passive)] {
            if let Some(flow) = flow {
                self.recent = [None; 2];
                self.flows.insert(flow, (key, from));
            }
        }
        let session = handler.opened(&connection);
        let name = setup.map_or(0, |setup| setup.name);
        let known = u8::from(request.is_some()) + u8::from(reply.is_some());
        self.entries.insert(
            key,
            Entry { connection, session, ordering, flows, name, known, opened: self.clock, used: self.clock, held: 0 },
        );
        key
    }

    fn make_place(&mut self, handler: &mut impl Handler<Session = S>) {
        if self.entries.len() < CONNECTIONS {
            return;
        }
        let mut used: Vec<(u64, u64)> = self.entries.iter().map(|(key, entry)| (entry.used, *key)).collect();
        used.sort_unstable();
        for (_, key) in used.into_iter().take(CONNECTIONS / 4) {
            self.close(key, handler);
        }
    }

    fn close_flow(&mut self, flow: &Flow, handler: &mut impl Handler<Session = S>) {
        if let Some(&(key, _)) = self.flows.get(flow) {
            self.close(key, handler);
        }
    }

    fn close(&mut self, key: u64, handler: &mut impl Handler<Session = S>) {
        let Some(mut entry) = self.entries.remove(&key) else { return };
        self.recent = [None; 2];
        for flow in [entry.flows.active, entry.flows.passive].into_iter().flatten() {
            if self.flows.get(&flow).is_some_and(|(owner, _)| *owner == key) {
                self.flows.remove(&flow);
            }
        }
        entry.flush(handler);
        handler.account().change(entry.held, 0);
        handler.closed(&entry.connection, entry.session, &entry.ordering.counts);
    }

    /// Keeps a packet of a flow whose connection is not known, and looks for the flow in the other direction.
    fn wait(
        &mut self,
        flow: Flow,
        stamp: Stamp,
        packet: &Packet<'_>,
        transport: &Transport<'_>,
        handler: &mut impl Handler<Session = S>,
    ) {
        let place = self.waiting.iter().position(|waiting| waiting.flow == flow).unwrap_or_else(|| {
            self.waiting.push(Waiting { flow, carrier: packet.carrier, packets: Vec::new(), octets: 0 });
            self.waiting.len() - 1
        });
        let kept = Kept {
            stamp,
            octets: packet.octets.into(),
            length: packet.length,
            sequence: transport.sequence,
            span: span(transport),
        };
        // Where both ends have one address, a flow could take itself for its counterpart.
        let partners: Vec<usize> = (0..self.waiting.len())
            .filter(|other| *other != place)
            .filter(|other| self.waiting.get(*other).is_some_and(|other| other.answers(&flow, &kept)))
            .collect();
        let Some(waiting) = self.waiting.get_mut(place) else { return };
        let before = waiting.held();
        waiting.octets += kept.octets.len();
        waiting.packets.push(kept);
        handler.account().change(before, waiting.held());
        // Two partners that fit equally well tell nothing: a later packet will.
        if let [partner] = partners[..] {
            self.pair(place, partner, handler);
        } else if waiting.packets.len() > WAITING_PACKETS || waiting.octets > WAITING_OCTETS {
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

    fn take_waiting(&mut self, place: usize, handler: &mut impl Handler<Session = S>) -> Waiting {
        let waiting = self.waiting.remove(place);
        handler.account().change(waiting.held(), 0);
        waiting
    }

    fn give_up(&mut self, place: usize, handler: &mut impl Handler<Session = S>) -> u64 {
        let waiting = self.take_waiting(place, handler);
        self.start(waiting, None, handler)
    }

    /// Begins a connection whose set-up was not seen whole, and lets go what waited for it.
    fn start(&mut self, first: Waiting, second: Option<Waiting>, handler: &mut impl Handler<Session = S>) -> u64 {
        let (one, other) = (Some(first.flow), second.as_ref().map(|second| second.flow));
        let setup = self.pending.iter().position(|pending| pending.concerns(one) || pending.concerns(other));
        let setup = setup.map(|place| self.pending.swap_remove(place));
        let reversed = setup.as_ref().is_some_and(|setup| setup.passive == first.flow.source);
        let flows =
            if reversed { Sides { active: other, passive: one } } else { Sides { active: one, passive: other } };
        let key = self.open(setup.as_ref(), first.carrier, flows, handler);
        let mut packets: Vec<(Side, Kept)> = Vec::new();
        let (of_first, of_second) =
            if reversed { (Side::Passive, Side::Active) } else { (Side::Active, Side::Passive) };
        packets.extend(first.packets.into_iter().map(|kept| (of_first, kept)));
        packets.extend(second.into_iter().flat_map(|second| second.packets).map(|kept| (of_second, kept)));
        self.replay(key, packets, handler);
        key
    }
}

/// Hands what the ends of a connection did to its session.
struct ToSession<'a, H: Handler> {
    handler: &'a mut H,
    connection: &'a Connection,
    session: &'a mut H::Session,
}

impl<H: Handler> Sink for ToSession<'_, H> {
    fn take(&mut self, operation: Operation<'_>, last: bool) -> Taken {
        self.handler.operation(self.connection, self.session, operation, last)
    }
}

impl<S> Entry<S> {
    fn packet<'a>(
        &mut self,
        sender: (Side, Stamp),
        octets: (&'a [u8], usize),
        transport: &Transport<'a>,
        handler: &mut impl Handler<Session = S>,
    ) {
        let Self { connection, session, ordering, .. } = self;
        ordering.packet(sender, octets, transport, &mut ToSession { handler, connection, session });
        self.account(handler);
    }

    /// Brings what is accounted for up to date.
    fn account(&mut self, handler: &mut impl Handler<Session = S>) {
        let now = self.ordering.held() + handler.held(&self.session);
        if now != self.held {
            handler.account().update(&mut self.held, now);
        }
    }

    /// Lets go about so many octets: packets that wait for one before them, then what the session keeps.
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

    /// The connection has hardly begun, so a request with the same names is the same request, sent or captured again.
    const fn is_young(&self, clock: u64) -> bool {
        self.ordering.counts.active.packets == 0 || clock - self.opened < YOUNG
    }
}

impl Half {
    fn new(stamp: Stamp, (queue_pair, sequence): (u32, u32), private_data: Consumer<'_>) -> Self {
        Self { queue_pair, sequence, announced: Announced::new(stamp, private_data) }
    }
}

impl Pending {
    /// The flow goes to a queue pair that this message names.
    fn concerns(&self, flow: Option<Flow>) -> bool {
        let names = |half: Option<Half>, source, destination| {
            half.zip(flow).is_some_and(|(half, flow)| flow == Flow { source, destination, queue_pair: half.queue_pair })
        };
        names(self.request, self.passive, self.active) || names(self.reply, self.active, self.passive)
    }
}

impl Waiting {
    /// Octets of memory it takes.
    const fn held(&self) -> usize {
        self.octets + self.packets.len() * size_of::<Kept>()
    }

    /// The requests that wait here are the first of a connection that begins with this number.
    fn begins_at(&self, sequence: u32) -> bool {
        let mut requests = self.packets.iter().filter(|kept| kept.span > 0);
        requests.all(|kept| is_within(kept.sequence, sequence, WAITING_PACKETS as u32))
    }

    /// A packet of `flow` answers a request that waits here, or is a request that an answer here is for.
    fn answers(&self, flow: &Flow, packet: &Kept) -> bool {
        self.flow.source == flow.destination
            && self.flow.destination == flow.source
            && self.packets.iter().any(|kept| match (kept.span, packet.span) {
                (0, 0) => false,
                (0, span) => is_within(kept.sequence, packet.sequence, span),
                (span, 0) => is_within(packet.sequence, kept.sequence, span),
                _ => false,
            })
    }
}

fn is_within(answer: u32, request: u32, span: u32) -> bool {
    (answer.wrapping_sub(request) & 0xff_ffff) < span
}

/// How many numbers a request may take; 0 for an answer.
fn span(transport: &Transport<'_>) -> u32 {
    match (transport.is_request(), transport.operation, transport.target) {
        (false, ..) => 0,
        // As many as the smallest path MTU would need.
        (true, Does::ReadRequest, Some(target)) => target.length.div_ceil(256).max(1),
        _ => 1,
    }
}
