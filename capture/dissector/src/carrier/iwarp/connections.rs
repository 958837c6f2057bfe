//! Connections: the segments of each, and the state of each.
//!
//! A TCP connection is followed if the first octets are an MPA request or reply; a connection to or from a service port
//! (`Config::ports`) is also followed from the middle. Nothing is kept of the others. A connection is over when another
//! one uses the same ports: a foreign SYN or setup frame shows that, and so does a long row of segments that do not
//! fit.

use super::framing::{CrcUse, Framed, Framing};
use super::mpa::{Markers, Setup};
use super::rdmap::{Did, Rdmap, Received};
use super::tcp::{Piece, Reassembly, StreamStep, TcpIndication};
use crate::carrier::acknowledgement::{Acknowledgement, AcknowledgementOrder};
use crate::carrier::connection::{
    Announced, CarrierTerms, Connection, Counts, Disconnection, DisconnectionKind, Endpoint, MpaTerms, RequestTimes,
    Shown, port_service,
};
use crate::carrier::duplicates::{PacketCapture, RecentPackets, SentPacket};
use crate::carrier::handler::{CongestionSign, Handler, release_excess};
use crate::carrier::operation::{Operation, OperationKind, Origin, Places, Side, Sides, Stamp};
use crate::carrier::recovery::Indication;
use crate::carrier::rejection::{Rejected, RejectionKind, UnansweredRequest};
use crate::carrier::table::Table;
use crate::link::{Address, Carrier, TcpSegment};

/// The most connections that are followed at a time; the quarter that was unused for longest makes room.
const CONNECTIONS: usize = 1024;
/// Keeps the keys of TCP connections apart from those of queue pairs.
const FIRST_KEY: u64 = 1 << 63;
/// A SYN is at most this many segments late.
const YOUNG: u64 = 64;

/// A gap of more octets may contain the end of a connection and the setup of another between the same ports.
const FAR: u64 = 1 << 24;

/// Number of RDMA Reads in an IRD or ORD word (RFC 6581 section 6).
const READS: u16 = 0x3fff;

/// The most indications of loss that are remembered on a connection before iWARP is found.
const EARLY: usize = 1024;

/// The two ends that a segment names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TcpFlow {
    source: (Address, u16),
    destination: (Address, u16),
}

/// Counts of the FPDUs of all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// FPDUs whose CRC is in force and wrong.
    pub wrong: u64,
    /// Segments wrongly taken for iWARP: no iWARP was found on the connection.
    pub foreign: u64,
}

/// The connections to follow, and the operations to leave out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// True if the segment goes to a service port: the connection is then also followed from the middle.
    pub to_service: bool,
    /// True if the segment comes from a service port.
    pub from_service: bool,
    /// True to leave out FPDUs with a wrong CRC, as a receiver does.
    pub verify_crc: bool,
}

/// Terms in a setup frame.
#[derive(Clone, Copy, Debug)]
struct SetupTerms {
    markers: bool,
    crc: bool,
    /// Offset of the end of the frame.
    end: u64,
}

#[derive(Debug)]
struct TcpEntry<S> {
    reassembly: Reassembly,
    known: IwarpConnection<S>,
    segments: u64,
    /// The ends that advertise a window of 0.
    are_closed: Sides<bool>,
    /// Octets of memory that are in the account.
    held: usize,
}

/// An indication of loss, with the sender and frame of the segment.
#[derive(Clone, Copy, Debug)]
struct EarlyIndication {
    by: Origin,
    sign: TcpIndication,
}

/// State of an MPA request to which the capture holds no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MpaRequest {
    /// Nothing shows that the request arrived.
    Sent,
    /// The passive end's TCP acknowledged the request.
    Received,
    /// The capture lacks octets of the passive end, which may be the answer.
    AnswerMissing,
}

/// A connection above TCP.
#[derive(Debug)]
struct IwarpConnection<S> {
    connection: Connection,
    /// Session, once there is something to report.
    session: Option<S>,
    /// Indications of loss that came before the session.
    early: Vec<EarlyIndication>,
    /// For each end, the last packet before the session that was captured after an acknowledgement of the packet, and
    /// the number of such packets.
    late: Sides<Option<(Stamp, AcknowledgementOrder)>>,
    framings: Sides<Framing>,
    rdmap: Rdmap,
    said: Sides<Option<SetupTerms>>,
    request: MpaRequest,
    /// True if iWARP was found.
    is_iwarp: bool,
    /// Orphans, and Terminates.
    counts: Sides<Counts>,
}

/// Receiver of the results.
struct IwarpSink<'a, H> {
    handler: &'a mut H,
    checked: &'a mut Checked,
    verify_crc: bool,
}

/// Everything known about the TCP connections in a capture.
#[derive(Debug)]
pub(crate) struct Connections<S> {
    table: Table<TcpFlow, TcpEntry<S>>,
    recent: RecentPackets,
    last_key: u64,
    checked: Checked,
}

impl<S> Default for Connections<S> {
    fn default() -> Self {
        Self { table: Table::default(), recent: RecentPackets::default(), last_key: 0, checked: Checked::default() }
    }
}

impl<S> Connections<S> {
    /// Takes the next segment of the capture; returns false for a segment of a connection that is not followed.
    #[inline]
    pub(crate) fn segment(
        &mut self,
        captured: PacketCapture,
        segment: &TcpSegment<'_>,
        choice: Choice,
        handler: &mut impl Handler<Session = S>,
    ) -> bool {
        let PacketCapture { stamp, observation } = captured;
        let is_service = choice.to_service || choice.from_service;
        if self.table.is_empty() && !is_service && !Setup::is_begun_by(segment.octets) {
            return false;
        }
        self.table.tick();
        let Some((key, from)) = self.find(segment, choice, handler) else { return false };
        let Some(entry) = self.table.touch(key) else { return false };
        entry.segments += 1;
        let sent = SentPacket { from, captured };
        if let Some(first) = entry.reassembly.original(sent, segment, key, &mut self.recent) {
            if let Some(session) = &mut entry.known.session {
                handler.seen_again(session, from, first, stamp.time);
            }
            return true;
        }
        if let Some(session) = &mut entry.known.session {
            if observation.is_marked {
                handler.congested(session, from, CongestionSign::Mark);
            }
            let is_closed = segment.window == 0 && !segment.is_reset();
            if *entry.are_closed.get(from) != is_closed {
                *entry.are_closed.get_mut(from) = is_closed;
                handler.window(session, from, stamp.time, is_closed);
            }
        }
        if segment.is_synchronizing() && from == Side::Active {
            let asked = &mut entry.known.connection.asked;
            *asked = Some(asked.map_or(RequestTimes::once(stamp), |syns| syns.repeat(stamp)));
        }
        if (segment.is_final() || segment.is_reset()) && entry.known.connection.disconnected.is_none() {
            let how = if segment.is_reset() { DisconnectionKind::Reset } else { DisconnectionKind::Finish };
            entry.known.connection.disconnected = Some(Disconnection { by: from, stamp, how });
            entry.known.session.iter().for_each(|session| handler.ended(session, stamp));
        }
        let mut sink = IwarpSink { handler, checked: &mut self.checked, verify_crc: choice.verify_crc };
        let TcpEntry { reassembly, known, .. } = entry;
        reassembly.segment(sent.origin(), segment, &mut |step| known.step(&step, &mut sink));
        if let Some(session) = &mut known.session
            && let Some(times) = reassembly.take_measured(from)
        {
            handler.measured(session, from, times);
        }
        entry.account(handler);
        release_excess(handler, CONNECTIONS, |handler| self.release_largest(choice.verify_crc, handler));
        true
    }

    /// Makes the connection that holds the most release what exceeds the limit.
    #[cold]
    fn release_largest(&mut self, verify_crc: bool, handler: &mut impl Handler<Session = S>) {
        let excess = handler.account().excess();
        let Some(entry) = self.table.largest(|entry| entry.held) else { return };
        let enough = entry.held.saturating_sub(excess);
        let mut sink = IwarpSink { handler: &mut *handler, checked: &mut self.checked, verify_crc };
        let TcpEntry { reassembly, known, .. } = &mut *entry;
        reassembly.finish(&mut |step| known.step(&step, &mut sink));
        entry.account(handler);
        if entry.held > enough
            && let Some(session) = &mut entry.known.session
        {
            handler.let_go(&entry.known.connection, session, entry.held - enough);
            entry.account(handler);
        }
        if entry.held > enough {
            let mut sink = IwarpSink { handler: &mut *handler, checked: &mut self.checked, verify_crc };
            for side in [Side::Active, Side::Passive] {
                let origin = Origin { from: side, stamp: Stamp::default() };
                entry.known.step(&StreamStep::Lost(origin, 0), &mut sink);
            }
            entry.account(handler);
        }
    }

    /// Emits everything that still waits, at the end of the capture.
    pub(crate) fn finish(&mut self, verify_crc: bool, handler: &mut impl Handler<Session = S>) {
        for key in self.table.keys() {
            self.close(key, verify_crc, handler);
        }
    }

    /// The counts since the last call.
    pub(crate) fn take_checked(&mut self) -> Checked {
        core::mem::take(&mut self.checked)
    }

    /// Returns the connection and the sender of a segment. An unknown connection begins with the segment, if the
    /// connection is to be followed.
    fn find(
        &mut self,
        segment: &TcpSegment<'_>,
        choice: Choice,
        handler: &mut impl Handler<Session = S>,
    ) -> Option<(u64, Side)> {
        let flow = TcpFlow {
            source: (segment.source, segment.source_port),
            destination: (segment.destination, segment.destination_port),
        };
        if let Some((key, from)) = self.table.find(&flow) {
            if self.table.get(key).is_some_and(|entry| !entry.is_replaced_by(from, segment)) {
                return Some((key, from));
            }
            self.close(key, choice.verify_crc, handler);
        }
        let setup = Setup::decode(segment.octets);
        let begins = segment.length > 0 && !segment.is_reset() || segment.is_synchronizing();
        if setup.is_none() && !((choice.to_service || choice.from_service) && begins) {
            return None;
        }
        let from = match setup {
            Some(setup) if setup.is_reply => Side::Passive,
            Some(_) => Side::Active,
            None if segment.is_synchronizing() && segment.acknowledges.is_some() => Side::Passive,
            None if segment.is_synchronizing() || choice.to_service => Side::Active,
            None => Side::Passive,
        };
        Some((self.open(flow, from, choice.verify_crc, handler), from))
    }

    /// Begins a connection with a segment of `flow` from one end.
    fn open(&mut self, flow: TcpFlow, from: Side, verify_crc: bool, handler: &mut impl Handler<Session = S>) -> u64 {
        for key in self.table.crowd(CONNECTIONS) {
            self.close(key, verify_crc, handler);
        }
        self.last_key += 1;
        let key = FIRST_KEY | self.last_key;
        let back = TcpFlow { source: flow.destination, destination: flow.source };
        let end = |(address, port)| Endpoint { address, queue_pair: None, port: Some(port) };
        let (active, passive) =
            if from == Side::Active { (flow.source, flow.destination) } else { (flow.destination, flow.source) };
        let ends = Sides { active: end(active), passive: end(passive) };
        let service = Some(port_service(passive.1));
        let connection = Connection { service, ..Connection::without_setup(key, Carrier::Iwarp, ends) };
        let known = IwarpConnection {
            connection,
            session: None,
            early: Vec::new(),
            late: Sides::default(),
            framings: Sides::default(),
            rdmap: Rdmap::default(),
            said: Sides::default(),
            request: MpaRequest::Sent,
            is_iwarp: false,
            counts: Sides::default(),
        };
        let reassembly = Reassembly::default();
        let entry = TcpEntry { reassembly, known, segments: 0, are_closed: Sides::default(), held: 0 };
        self.table.insert(key, [(from.other(), back), (from, flow)], entry);
        key
    }

    /// Returns true if this is the key of an iWARP connection.
    pub(crate) const fn is_key(key: u64) -> bool {
        key & FIRST_KEY != 0
    }

    /// Lets `act` change the session of a connection, if the connection is followed. `act` returns true after a change.
    pub(crate) fn change<H: Handler<Session = S>>(
        &mut self,
        key: u64,
        handler: &mut H,
        act: impl FnOnce(&Connection, &mut S, &mut H) -> bool,
    ) {
        if let Some(entry) = self.table.get_mut(key)
            && let Some(session) = &mut entry.known.session
            && act(&entry.known.connection, session, handler)
        {
            entry.account(handler);
        }
    }

    fn close(&mut self, key: u64, verify_crc: bool, handler: &mut impl Handler<Session = S>) {
        let Some(mut entry) = self.table.remove(key, |entry| entry.known.flows()) else { return };
        handler.account().change(entry.held, 0);
        let mut sink = IwarpSink { handler: &mut *handler, checked: &mut self.checked, verify_crc };
        entry.reassembly.finish(&mut |step| entry.known.step(&step, &mut sink));
        entry.known.give_unfinished(sink.handler);
        let IwarpConnection { connection, session, is_iwarp, counts: ours, request, .. } = entry.known;
        let mut counts = entry.reassembly.counted();
        if session.is_none() && !is_iwarp {
            give_refused(&connection, counts.passive.packets, handler);
        } else if session.is_none() && counts.passive.packets > 0 {
            give_unanswered(&connection, request, handler);
        }
        for side in [Side::Active, Side::Passive] {
            let Counts { unmatched, failed, refused, .. } = *ours.get(side);
            let counts = counts.get_mut(side);
            counts.unmatched += unmatched;
            counts.failed += failed;
            counts.refused = refused;
        }
        if let Some(session) = session {
            handler.closed(&connection, session, &counts);
        }
        self.checked.foreign += if is_iwarp { 0 } else { entry.segments };
    }
}

/// Reports a connection that was asked for and not set up: nothing answers the SYN, or only a RST, among these many segments.
fn give_refused<S>(connection: &Connection, answers: u64, handler: &mut impl Handler<Session = S>) {
    let Some(asked) = connection.asked else { return };
    let (from, to) = (connection.ends.active.address, connection.ends.passive.address);
    let (service, is_for_rpc) = (connection.service, false);
    let reset = connection.disconnected.filter(|end| end.by == Side::Passive && end.how == DisconnectionKind::Reset);
    match (answers, reset) {
        (0, _) => {
            let is_received = false;
            let carrier = connection.carrier;
            handler.unanswered(UnansweredRequest { from, to, service, asked, carrier, is_received, is_for_rpc });
        }
        (1, Some(Disconnection { stamp, .. })) => {
            let kind = RejectionKind::Reset;
            let (asked, has_private_data) = (Some(asked), false);
            handler.rejected(Rejected {
                stamp,
                from: to,
                to: from,
                service,
                kind,
                asked,
                has_private_data,
                is_for_rpc,
            });
        }
        _ => {}
    }
}

/// Reports an MPA request without an answer, or to which the passive end answered by closing the TCP connection.
fn give_unanswered<S>(connection: &Connection, request: MpaRequest, handler: &mut impl Handler<Session = S>) {
    let (Some(announced), None) = (connection.announced.active, connection.announced.passive) else { return };
    let (from, to) = (connection.ends.active.address, connection.ends.passive.address);
    let has_private_data = matches!(announced.private_data, Shown::Present(_));
    let (asked, service, is_for_rpc) = (RequestTimes::once(announced.stamp), connection.service, has_private_data);
    let closed = connection.disconnected.filter(|end| end.by == Side::Passive);
    match (request, closed) {
        (MpaRequest::AnswerMissing, _) => {}
        (_, Some(Disconnection { stamp, .. })) => {
            let (kind, asked) = (RejectionKind::Closed, Some(asked));
            let (from, to) = (to, from);
            handler.rejected(Rejected { stamp, from, to, service, kind, asked, has_private_data, is_for_rpc });
        }
        (_, None) => {
            let (carrier, is_received) = (connection.carrier, request == MpaRequest::Received);
            handler.unanswered(UnansweredRequest { from, to, service, asked, carrier, is_received, is_for_rpc });
        }
    }
}

impl<S> TcpEntry<S> {
    /// Updates the account.
    fn account(&mut self, handler: &mut impl Handler<Session = S>) {
        let IwarpConnection { session, early, framings, .. } = &self.known;
        let session = session.as_ref().map_or(0, |session| handler.session_octets(session));
        let signs = early.len() * size_of::<EarlyIndication>();
        let now = self.reassembly.buffered_octets()
            + framings.active.buffered_octets()
            + framings.passive.buffered_octets()
            + session
            + signs;
        if now != self.held {
            handler.account().update(&mut self.held, now);
        }
    }

    /// Returns true if a segment begins another connection between the same ports, or belongs to one that began unseen.
    /// A SYN may be captured late. A setup frame fills a whole segment, and octets of this connection are not expected
    /// there.
    fn is_replaced_by(&self, from: Side, segment: &TcpSegment<'_>) -> bool {
        let reassembly = &self.reassembly;
        let is_setup = Setup::length(segment.octets) == Some(segment.length);
        let sequence = segment.sequence.wrapping_add(u32::from(segment.is_synchronizing()));
        let is_late = reassembly.arrivals() < YOUNG && reassembly.is_before(from, sequence);
        let is_known = reassembly.begins_at(from, sequence) || reassembly.is_next(from, sequence) || is_late;
        (segment.is_synchronizing() || is_setup) && !is_known || reassembly.is_outlived(from)
    }
}

impl<S> IwarpConnection<S> {
    fn flows(&self) -> [Option<TcpFlow>; 2] {
        let Sides { active, passive } = self.connection.ends;
        let [active, passive] = [active, passive].map(|end| (end.address, end.port.unwrap_or_default()));
        [(active, passive), (passive, active)].map(|(source, destination)| Some(TcpFlow { source, destination }))
    }

    /// Gives the FPDUs that will not be complete.
    fn give_unfinished(&self, handler: &mut impl Handler<Session = S>) {
        for side in [Side::Active, Side::Passive] {
            if let Some(octets) = self.framings.get(side).unfinished() {
                handler.framed(&self.connection, side, octets);
            }
        }
    }

    /// Takes what TCP gives.
    fn step<H: Handler<Session = S>>(&mut self, step: &StreamStep<'_>, sink: &mut IwarpSink<'_, H>) {
        match step {
            StreamStep::Octets(piece) => {
                let before = self.said.get(piece.from).is_some();
                let mut framing = core::mem::take(self.framings.get_mut(piece.from));
                framing.piece(piece, &mut |found| self.found(piece, &found, sink));
                *self.framings.get_mut(piece.from) = framing;
                if self.said.get(piece.from).is_some() != before {
                    self.agree();
                }
            }
            StreamStep::Lost(origin, octets) => {
                let framing = self.framings.get_mut(origin.from);
                if let Some(octets) = framing.unfinished() {
                    sink.handler.framed(&self.connection, origin.from, octets);
                }
                framing.lose();
                if *octets > FAR {
                    framing.forget();
                }
                if origin.from == Side::Passive {
                    self.request = MpaRequest::AnswerMissing;
                }
                self.lose(*origin, sink);
            }
            StreamStep::Recovery(by, sign) if self.session.is_none() => {
                if self.early.len() < EARLY {
                    self.early.push(EarlyIndication { by: *by, sign: *sign });
                }
            }
            StreamStep::Recovery(by, sign) => self.sign(*by, *sign, sink),
            StreamStep::Backfill(by, places, backfill) => {
                self.report(*by, *places, OperationKind::Backfill(*backfill), sink);
            }
            StreamStep::Missing(by, place) => {
                self.report(*by, Places::one(*place), OperationKind::Missing, sink);
            }
            StreamStep::Acknowledged(by, Acknowledgement { place, is_bare }) => {
                let is_of_request = self.said.active.is_some_and(|said| *place >= said.end);
                if by.from == Side::Passive && is_of_request && self.request == MpaRequest::Sent {
                    self.request = MpaRequest::Received;
                }
                if let Some(session) = &mut self.session {
                    // The last octet that arrived is before this place.
                    let acknowledgement = Acknowledgement { place: place.saturating_sub(1), is_bare: *is_bare };
                    sink.handler.acknowledged(session, *by, acknowledgement);
                }
            }
            StreamStep::AcknowledgedEarly(packet, order) => match &mut self.session {
                Some(session) => sink.handler.acknowledged_early(session, *packet, *order),
                None => *self.late.get_mut(packet.from) = Some((packet.stamp, *order)),
            },
        }
    }

    /// Takes what was found in a piece of an end's stream.
    fn found<H: Handler<Session = S>>(&mut self, piece: &Piece<'_>, found: &Framed<'_>, sink: &mut IwarpSink<'_, H>) {
        let (Piece { from, stamp, acknowledges, first_sent, .. }, origin) = (*piece, piece.origin());
        match *found {
            Framed::Octets(octets) => sink.handler.framed(&self.connection, from, octets),
            Framed::Setup(setup, end) => self.set_up(origin, &setup, end, sink),
            Framed::Segment { is_wrong: true, .. } if sink.verify_crc => {
                sink.checked.wrong += 1;
                self.lose(origin, sink);
            }
            Framed::Segment { segment, began, places, is_wrong } => {
                sink.checked.wrong += u64::from(is_wrong);
                self.is_iwarp = true;
                let received = Received { from, stamp, began, segment, places, first_sent, acknowledges };
                self.begin_session(sink);
                let Self { connection, session: Some(session), rdmap, counts, .. } = self else { return };
                let (counts, mut is_terminated) = (counts.get_mut(from), false);
                rdmap.segment(&received, &mut |did| match did {
                    // Nothing later could explain what it refers to: TCP gave that before.
                    Did::Operation(operation) => _ = sink.handler.operation(connection, session, operation, true),
                    Did::Terminate(terminate) => {
                        is_terminated = true;
                        counts.failed += 1;
                        counts.refused = counts.refused.or(terminate.refused());
                        sink.handler.terminated(connection, session, origin, terminate);
                    }
                    Did::Orphan => counts.unmatched += 1,
                });
                if is_terminated && connection.disconnected.is_none() {
                    let how = DisconnectionKind::Terminate;
                    connection.disconnected = Some(Disconnection { by: from, stamp, how });
                    sink.handler.ended(session, stamp);
                }
            }
            Framed::Lost => {
                self.counts.get_mut(from).unmatched += 1;
                self.lose(origin, sink);
            }
        }
    }

    fn lose<H: Handler<Session = S>>(&mut self, origin: Origin, sink: &mut IwarpSink<'_, H>) {
        self.rdmap.lose(origin.from);
        self.report(origin, Places::default(), OperationKind::Lost, sink);
    }

    /// Passes on a indication of loss.
    fn sign<H: Handler<Session = S>>(&mut self, by: Origin, sign: TcpIndication, sink: &mut IwarpSink<'_, H>) {
        let TcpIndication { of, places, kind, missing } = sign;
        let kind = OperationKind::Indication {
            of,
            place: places.first,
            sign: Indication::Recovery(kind),
            operation: None,
            missing,
        };
        self.report(by, places, kind, sink);
    }

    /// Begins the session, if there is none, with the indications of loss so far.
    fn begin_session<H: Handler<Session = S>>(&mut self, sink: &mut IwarpSink<'_, H>) {
        if self.session.is_none() {
            let session = self.session.insert(sink.handler.opened(&self.connection));
            for from in [Side::Active, Side::Passive] {
                if let Some((stamp, order)) = self.late.get(from) {
                    sink.handler.acknowledged_early(session, Origin { from, stamp: *stamp }, *order);
                }
            }
            for EarlyIndication { by, sign } in core::mem::take(&mut self.early) {
                self.sign(by, sign, sink);
            }
        }
    }

    /// Passes on what is no operation of RDMA.
    fn report<H: Handler<Session = S>>(
        &mut self,
        origin: Origin,
        places: Places,
        kind: OperationKind<'_>,
        sink: &mut IwarpSink<'_, H>,
    ) {
        let Origin { from, stamp } = origin;
        if let Some(session) = &mut self.session {
            let operation = Operation { from, stamp, began: stamp, retransmitted: 0, first_sent: None, places, kind };
            sink.handler.operation(&self.connection, session, operation, true);
        }
    }

    fn set_up<H: Handler<Session = S>>(
        &mut self,
        origin: Origin,
        setup: &Setup<'_>,
        end: u64,
        sink: &mut IwarpSink<'_, H>,
    ) {
        let Origin { from, stamp } = origin;
        self.is_iwarp = true;
        *self.said.get_mut(from) = Some(SetupTerms { markers: setup.markers, crc: setup.crc, end });
        let connection = &mut self.connection;
        *connection.announced.get_mut(from) = Some(Announced::new(stamp, setup.private_data));
        let [responder_resources, initiator_depth] =
            setup.reads.map_or([None, None], |words| words.map(|word| Some(word & READS)));
        let Setup { revision, markers, crc, .. } = *setup;
        let mpa = Some(MpaTerms { revision, markers, crc });
        *connection.terms.get_mut(from) =
            CarrierTerms { responder_resources, initiator_depth, mpa, ..CarrierTerms::default() };
        if setup.is_reply && setup.rejected {
            let address = |side| connection.ends.get(side).address;
            let (from, to, service) = (address(from), address(from.other()), connection.service);
            let asked = connection.announced.active.map(|announced| announced.private_data);
            let (kind, has_private_data) = (RejectionKind::Mpa, matches!(asked, Some(Shown::Present(_))));
            let (asked, is_for_rpc) = (connection.asked, has_private_data);
            sink.handler.rejected(Rejected { stamp, from, to, service, kind, asked, has_private_data, is_for_rpc });
        } else if self.said.active.is_some() && self.said.passive.is_some() {
            (connection.setup_captured, connection.established) = (true, setup.is_reply.then_some(stamp));
            self.begin_session(sink);
        }
    }

    /// Tells each stream what the two ends agreed on: an end sends markers if the other end asked for markers, and CRCs
    /// are in force if either end asked (RFC 5044 section 7.1.1).
    fn agree(&mut self) {
        let crcs = [self.said.active, self.said.passive].map(|said| said.map(|said| said.crc));
        let crc = match crcs {
            [Some(true), _] | [_, Some(true)] => CrcUse::InForce,
            [Some(false), Some(false)] => CrcUse::Ignored,
            _ => CrcUse::Unknown,
        };
        for side in [Side::Active, Side::Passive] {
            let begin = self.said.get(side).map(|said| said.end);
            let markers = self.said.get(side.other()).and_then(|said| match said.markers {
                true => begin.map(Markers::At),
                false => Some(Markers::None),
            });
            self.framings.get_mut(side).agree(markers, crc);
        }
    }
}
