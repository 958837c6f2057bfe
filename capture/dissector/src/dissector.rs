//! From frames to messages and transactions.

use std::collections::VecDeque;

use rpcrdma::v2::Family;

use crate::capture_end::CaptureEnd;
use crate::carrier::account::Account;
use crate::carrier::acknowledgement::{Acknowledgement, AcknowledgementOrder, Acknowledgements, late_clock};
use crate::carrier::connection::Connection;
use crate::carrier::connection::Counts;
use crate::carrier::connection::{Disconnection, service_port};
use crate::carrier::duplicates::PacketCapture;
use crate::carrier::framed::FramedOctets;
use crate::carrier::handler::{CongestionSign, Handler, Taken};
use crate::carrier::infiniband::crc;
use crate::carrier::infiniband::queue_pairs::QueuePairs;
use crate::carrier::infiniband::transport::Transport;
use crate::carrier::iwarp::connections::{Checked, Choice, Connections};
use crate::carrier::nfs_over_tcp::{self, NfsOverTcp};
use crate::carrier::operation::{Operation, Origin, Side, Sides, Stamp};
use crate::carrier::rejection::{Rejected, UnansweredRequest};
use crate::carrier::terminate::Terminate;
use crate::event::{AddressMoved, EndedConnection, Event, FramedPart, Report, Terminated};
use crate::file::{ClockSteps, Frame, LinkType, SetBacks, Time, TimeBase};
use crate::link::{self, AddressMove, Content, Neighbours, Network, ObservedFrame, Other, RecentSessions, TcpSegment};
use crate::mount::promises::Promises;
use crate::mount::slots::Slots;
use crate::mount::{Ends, Mounts, RepeatedCall};
use crate::rpc::call_content::CallContent;
use crate::rpc::capture_point::{CapturePoint, CapturePointSource};
use crate::rpc::message::Message;
use crate::rpc::steps::StepsWanted;
use crate::rpc::waiting::WaitEnd;
use crate::session::{Context, Session};
use crate::trace::{KernelTraces, TraceCounts, TraceOutput};

/// Maximum number of kinds of frames that are counted apart. The numbers in a capture have no other bound.
const OTHERS: usize = 32;
const FOREIGN_TCP: Other = Other::Named("TCP on a service port, without iWARP");

/// The port of NFS over RDMA (RFC 8267 section 9).
pub const NFS_RDMA_PORT: u16 = 20049;

/// Settings: data to look for, and limits.
///
/// ```
/// use rpcrdma_dissector::Config;
///
/// let mut config = Config::for_messages();
/// config.ports.push(20050);
/// config.verify_crc = true;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Service ports that are always treated as RPC-over-RDMA. On other ports, RPC-over-RDMA is recognised by its
    /// messages.
    pub ports: Vec<u16>,
    /// Put RPCs back together. Without this there are only messages, and the data of chunks is not kept.
    pub transactions: bool,
    /// Join the tries of an RPC: a call that the client makes again on another connection is one RPC with the call before. Without this,
    /// each try is an RPC.
    pub joins_tries: bool,
    /// Join the RPCs of kernel traces with RPCs of packets, and of other traces, by XID. The traces come before the packets; RPCs of
    /// traces are given with their packets, or at the end.
    pub joins_traces: bool,
    /// The most octets of memory for what waits: calls and their chunk data for replies, packets for earlier packets.
    pub memory: usize,
    /// Report more than is printed: which connections were recognised, what the capture missed, how memory was misused,
    /// and for each message what stepping through the message found. [`check`](crate::check) judges by this.
    pub operations: bool,
    /// Report each indication of loss: retransmitted packets, negative acknowledgements, time-outs.
    pub recovery: bool,
    /// Of which RPCs to keep what both ends did, packet by packet ([`Transaction::steps`](crate::Transaction::steps)).
    pub steps: StepsWanted,
    /// Record which frames carried each message.
    pub placements: bool,
    /// The wire format of version 2. Without this, the first message of a connection that can be of only one format
    /// decides.
    pub v2_family: Option<Family>,
    /// Place of the capture. Without this, the place is inferred for each connection, if acknowledgements show the
    /// place.
    pub captured_at: Option<CapturePoint>,
    /// Check the ICRC and VCRC of every InfiniBand packet, and leave out packets with a wrong one, as a receiver does;
    /// likewise the CRC of every iWARP FPDU, if CRCs are in force.
    pub verify_crc: bool,
}

impl Config {
    /// For messages alone: RPCs are not put back together, and the data of chunks is not kept.
    #[must_use]
    pub fn for_messages() -> Self {
        Self { transactions: false, ..Self::default() }
    }

    /// Returns the configuration for a [`Checker`](crate::Checker): messages, and what a checker needs to judge
    /// messages.
    #[must_use]
    pub fn for_checker() -> Self {
        Self { operations: true, ..Self::for_messages() }
    }

    /// Returns true if a service ID stands for one of the service ports.
    fn serves(&self, service: Option<u64>) -> bool {
        service.and_then(service_port).is_some_and(|port| self.ports.contains(&port))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ports: vec![NFS_RDMA_PORT],
            transactions: true,
            joins_tries: true,
            joins_traces: false,
            memory: 256 << 20,
            operations: false,
            recovery: false,
            steps: StepsWanted::None,
            placements: false,
            v2_family: None,
            captured_at: None,
            verify_crc: false,
        }
    }
}

/// Counts of the frames of a capture.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Frames in all.
    pub frames: u64,
    /// Captured octets of the frames.
    pub octets: u64,
    /// Frames that the capture cut (snaplen).
    pub cut: u64,
    /// InfiniBand transport packets.
    pub packets: u64,
    /// InfiniBand packets whose own headers are cut.
    pub unreadable: u64,
    /// InfiniBand packets of no reliable connection, by their transport service, except for connection management: congestion
    /// notifications (CNP), unreliable connections (UC), reliable datagrams (RD), unreliable datagrams (UD).
    pub other_services: Vec<(&'static str, u64)>,
    /// InfiniBand packets whose ICRC, and VCRC if present, were checked.
    pub verified: u64,
    /// Packets whose ICRC is wrong.
    pub bad_icrc: u64,
    /// Packets whose VCRC is wrong.
    pub bad_vcrc: u64,
    /// TCP segments of iWARP connections.
    pub segments: u64,
    /// Their FPDUs whose CRC is in force and wrong, whether or not these are left out.
    pub bad_crc: u64,
    /// Beginning of the times: the boot of a kernel if the capture holds kernel traces and no packets.
    pub time_base: TimeBase,
    /// Time of the first frame.
    pub first: Option<Time>,
    /// Time of the last frame.
    pub last: Option<Time>,
    /// First frame after the clock was last set back, by 1 ms or more.
    pub set_back: Option<Stamp>,
    /// Frames that were left alone, by content. Numbers beyond the first 32 are counted together.
    pub others: Vec<(Other, u64)>,
    /// Servers to which the capture holds NFS over TCP, which is not read, in the order of the first segments: at most 16.
    pub nfs_over_tcp: Vec<NfsOverTcp>,
    /// Lines of kernel traces, if the capture holds any. Times of these lines are since the kernel booted.
    pub trace: Option<TraceCounts>,
    /// Steps back of the clock. Steps are counted by a [`Capture`](crate::Capture), not by the dissector, so the steps
    /// are known at the end of [`Events`](crate::Events) only.
    pub clock: ClockSteps,
    /// A second capture of the same packets, if there is one: known at the end of the captures.
    pub witness: Option<Box<WitnessSummary>>,
}

/// A second capture of the same packets, as compared with the first: the file at the server's end, beside that at the client's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WitnessSummary {
    /// Name of the file.
    pub file: String,
    /// Frames of the file.
    pub frames: u64,
    /// Packets that both captures hold.
    pub packets: u64,
    /// RPCs that both captures hold.
    pub rpcs: u64,
    /// Nanoseconds by which the clock of the second capture is ahead of the first, at the end of the captures.
    pub clock_ahead: Option<i64>,
    /// Nanoseconds by which that number may be wrong.
    pub clock_uncertainty: Option<u64>,
    /// Nanoseconds of each second by which the clock of the second capture is faster; less than 0 if slower.
    pub clock_drift: Option<i64>,
    /// Nanoseconds of each second by which that number may be wrong.
    pub clock_drift_uncertainty: Option<u64>,
    /// Number of times that one of the clocks was set.
    pub clock_steps: u64,
    /// Packets of RPC-over-RDMA connections that the second capture lacks.
    pub missed: u64,
    /// Packets that were lost between the two places, on the way to the server and on the way to the client.
    pub lost_copies: [u64; 2],
}

impl Summary {
    /// Returns the end of the capture, or of the part that was read.
    #[must_use]
    pub fn capture_end(&self) -> CaptureEnd {
        CaptureEnd { time: self.last.unwrap_or_default(), set_back: self.set_back }
    }
}

/// Takes frames and yields events.
///
/// ```
/// use rpcrdma_dissector::{Config, Dissector, Event, Reader};
///
/// let file = std::fs::File::open("examples/nfs.pcap")?;
/// let mut reader = Reader::new(file)?;
/// let mut dissector = Dissector::new(Config::default());
/// let mut replies = 0;
/// while let Some(frame) = reader.next() {
///     dissector.frame(&frame?);
///     while let Some(event) = dissector.event() {
///         if let Event::Transaction(transaction) = event {
///             replies += usize::from(transaction.reply.is_some());
///         }
///     }
/// }
/// assert_eq!(replies, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Dissector {
    pairs: QueuePairs<Session>,
    iwarp: Connections<Session>,
    /// Kernel traces, if the capture holds any.
    traces: Option<Box<KernelTraces>>,
    state: DissectorState,
}

#[derive(Debug, Default)]
struct DissectorState {
    config: Config,
    account: Account,
    last_number: u32,
    events: VecDeque<Event>,
    /// The sessions of mirrors that the last frames came through.
    mirrors: RecentSessions,
    set_backs: SetBacks,
    neighbours: Neighbours,
    mounts: Mounts,
    promises: Promises,
    slots: Slots,
    /// Frames of priority-based flow control that pause a port.
    port_pauses: u32,
    summary: Summary,
    /// The frame that is looked at.
    current: Stamp,
    /// The capture has ended.
    is_finished: bool,
}

impl Dissector {
    /// A dissector at the start of a capture.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let account = Account { held: 0, limit: config.memory };
        let state = DissectorState { config, account, ..DissectorState::default() };
        Self { state, ..Self::default() }
    }

    /// Takes the next frame.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        let summary = &mut self.state.summary;
        summary.frames += 1;
        summary.octets += frame.data.len() as u64;
        summary.cut += u64::from((frame.data.len() as u64) < u64::from(frame.length));
        if frame.link == LinkType::KERNEL_TRACE {
            return self.trace_line(frame);
        }
        if summary.time_base == TimeBase::Boot {
            // The times of packets count, not those of the traces before.
            (summary.first, summary.time_base) = (None, TimeBase::Utc);
        }
        summary.first.get_or_insert(frame.time);
        summary.last = Some(frame.time);
        if self.state.set_backs.frame(frame.number, frame.time) {
            summary.set_back = self.state.set_backs.last().map(|(frame, time)| Stamp { frame, time });
        }
        let known = self.state.events.len();
        let ObservedFrame { content, network, observation, session } = link::observe_frame(frame);
        if let Some(session) = session {
            self.state.mirrors.remember(frame.number, session);
        }
        let stamp = Stamp { frame: frame.number, time: frame.time };
        self.state.current = stamp;
        match content {
            Content::InfiniBand(packet) => {
                summary.packets += 1;
                if self.state.config.verify_crc && !summary.verify(network) {
                    return;
                }
                let Ok(transport) = Transport::decode(packet.octets, packet.length) else {
                    summary.unreadable += 1;
                    return;
                };
                if transport.is_management() && session.is_none() {
                    self.state.neighbours.sight(packet.source, frame);
                }
                if !self.pairs.packet(PacketCapture { stamp, observation }, &packet, &transport, &mut self.state) {
                    count(&mut self.state.summary.other_services, transport.service_name(), 1);
                }
                if let Some(unverified) = self.pairs.take_unverified()
                    && let Some(verdict) = crc::verify(network)
                {
                    self.pairs.verified(unverified, verdict.icrc);
                }
            }
            Content::Tcp(segment) => {
                if segment.is_synchronizing() && session.is_none() {
                    self.state.neighbours.sight(segment.source, frame);
                }
                self.segment(PacketCapture { stamp, observation }, &segment);
            }
            Content::Other(other) => {
                self.state.summary.leave(other, 1);
                self.state.port_pauses = self.state.port_pauses.wrapping_add(u32::from(link::is_port_pause(frame)));
                if let Some(AddressMove { address, from, to }) = self.state.neighbours.announce(frame) {
                    self.state.events.push_back(Event::AddressMoved(AddressMoved { stamp, address, from, to }));
                }
            }
        }
        self.relate_events(known);
    }

    #[inline(never)]
    fn trace_line(&mut self, frame: &Frame<'_>) {
        let summary = &mut self.state.summary;
        let has_packets = summary.first.is_some() && summary.time_base == TimeBase::Utc;
        if !has_packets {
            summary.time_base = TimeBase::Boot;
            summary.first = Some(summary.first.map_or(frame.time, |first| first.min(frame.time)));
            summary.last = summary.last.max(Some(frame.time));
        }
        let traces = self.traces.get_or_insert_default();
        traces.take_line(frame, &mut self.state.trace_output());
        self.state.summary.trace = Some(traces.counts());
    }

    /// Relates the events after the first `known` to other connections, and to the sessions of mirrors.
    #[inline]
    fn relate_events(&mut self, known: usize) {
        if self.state.events.len() > known {
            let DissectorState { slots, events, .. } = &mut self.state;
            slots.take_events(events, known);
        }
        if self.state.mounts.has_several() {
            let DissectorState { mounts, events, .. } = &mut self.state;
            // By index: most frames have one event, and an iterator over a part of the queue costs more than the question.
            if (known..events.len()).any(|index| events.get(index).is_some_and(|event| mounts.is_concerned(event))) {
                self.join_tries(known);
            }
        }
        if !self.state.mirrors.is_empty() {
            self.state.find_sessions(known);
        }
    }

    /// Takes the events after the first `known`: tries of an RPC are joined.
    #[cold]
    fn join_tries(&mut self, known: usize) {
        for event in self.state.events.split_off(known) {
            match event {
                Event::Message(message) => {
                    if let Some(call) = self.state.mounts.find_repeated(&message) {
                        self.end_earlier_tries(&call, &message);
                        let given_up = self.state.mounts.join(&message);
                        self.state.events.extend(given_up.map(Event::Transaction));
                    }
                    self.state.events.push_back(Event::Message(message));
                }
                event => self.state.take_event(event),
            }
        }
        if self.state.mounts.is_full() {
            self.state.mounts.release(&mut self.state.events);
        }
    }

    /// Ends the calls of earlier connections of which `call`, in `message`, is another try.
    fn end_earlier_tries(&mut self, call: &RepeatedCall, message: &Message) {
        for key in &call.connections {
            let known = self.state.events.len();
            let mut is_settled = true;
            let end = |connection: &Connection, session: &mut Session, state: &mut DissectorState| {
                is_settled = !session.has_open_calls();
                let Some(open) = session.open_call(call.from, call.xid) else { return false };
                let is_same =
                    CallContent::of_message(message).is_some_and(|content| open.content.is_of_same_rpc(&content));
                let is_over = is_same || connection.disconnected.is_some();
                if is_over {
                    let end = wait_end(connection).unwrap_or(WaitEnd::Connection);
                    session.end_try(open.requester, call.xid, end, &mut state.context());
                }
                is_over
            };
            match Connections::<Session>::is_key(*key) {
                true => self.iwarp.change(*key, &mut self.state, end),
                false => self.pairs.change(*key, &mut self.state, end),
            }
            if is_settled {
                self.state.mounts.settle(message, *key);
            }
            let DissectorState { slots, events, .. } = &mut self.state;
            slots.take_events(events, known);
            for event in self.state.events.split_off(known) {
                self.state.take_event(event);
            }
        }
    }

    fn segment(&mut self, captured: PacketCapture, segment: &TcpSegment<'_>) {
        let Config { ports, verify_crc, .. } = &self.state.config;
        let choice = Choice {
            to_service: ports.contains(&segment.destination_port),
            from_service: ports.contains(&segment.source_port),
            verify_crc: *verify_crc,
        };
        match self.iwarp.segment(captured, segment, choice, &mut self.state) {
            true => self.state.summary.count_segments(1, self.iwarp.take_checked()),
            false => {
                self.state.summary.leave(Other::TCP, 1);
                nfs_over_tcp::count_segment(&mut self.state.summary.nfs_over_tcp, segment, captured.stamp);
            }
        }
    }

    /// Ends the capture: everything that waits is given now, even if incomplete.
    pub fn finish(&mut self) {
        let known = self.state.events.len();
        self.state.is_finished = true;
        self.state.mounts.finish();
        self.pairs.finish(&mut self.state);
        self.iwarp.finish(self.state.config.verify_crc, &mut self.state);
        self.state.summary.count_segments(0, self.iwarp.take_checked());
        if let Some(traces) = &mut self.traces {
            traces.finish(self.state.summary.last.unwrap_or_default(), &mut self.state.trace_output());
        }
        let DissectorState { slots, events, .. } = &mut self.state;
        slots.take_events(events, known);
        if self.state.mounts.has_several() {
            self.join_tries(known);
            self.state.mounts.release(&mut self.state.events);
        }
        self.state.find_sessions(known);
    }

    /// The next event.
    pub fn event(&mut self) -> Option<Event> {
        let DissectorState { events, promises, is_finished, summary, .. } = &mut self.state;
        let mut event = events.pop_front();
        match &mut event {
            Some(Event::Transaction(transaction)) => {
                if let Some(traces) = self.traces.as_mut().filter(|_| transaction.kernel.is_none()) {
                    traces.join(transaction);
                    summary.trace = Some(traces.counts());
                }
                promises.take_rpc(transaction);
            }
            Some(Event::Connection(report)) => promises.note_gaps(report),
            None if *is_finished => return promises.release_open().map(Event::Promise),
            _ => {}
        }
        event
    }

    /// Records steps of the capture's clock in the [`Summary`]. A [`Capture`](crate::Capture) counts the steps while
    /// reading.
    pub const fn take_clock_steps(&mut self, steps: ClockSteps) {
        self.state.summary.clock = steps;
    }

    /// Records a second capture of the same packets in the [`Summary`].
    pub fn take_witness(&mut self, witness: WitnessSummary) {
        self.state.summary.witness = Some(Box::new(witness));
    }

    /// Counts of the frames so far.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.state.summary
    }
}

impl Summary {
    /// Returns true if the complete checksums of a packet are right.
    fn verify(&mut self, network: Network<'_>) -> bool {
        let Some(verdict) = crc::verify(network) else { return true };
        self.verified += 1;
        self.bad_icrc += u64::from(!verdict.icrc);
        self.bad_vcrc += u64::from(verdict.vcrc == Some(false));
        verdict.is_right()
    }

    /// Counts segments of iWARP connections, and segments that turned out to belong to others.
    fn count_segments(&mut self, segments: u64, checked: Checked) {
        self.segments = (self.segments + segments).saturating_sub(checked.foreign);
        self.bad_crc += checked.wrong;
        if checked.foreign > 0 {
            self.leave(FOREIGN_TCP, checked.foreign);
        }
    }

    /// Counts frames that are left alone.
    #[cold]
    fn leave(&mut self, other: Other, frames: u64) {
        let is_new = !self.others.iter().any(|(known, _)| *known == other);
        let other = if is_new && self.others.len() >= OTHERS { other.unnumbered() } else { other };
        count(&mut self.others, other, frames);
    }
}

/// The end of the calls that wait on a connection, if an end ended the connection.
fn wait_end(connection: &Connection) -> Option<WaitEnd> {
    connection.disconnected.map(|Disconnection { by, stamp, how }| WaitEnd::Disconnected { by, stamp, how })
}

/// Adds to the count of a name.
fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, name: T, more: u64) {
    match counts.iter_mut().find(|(other, _)| *other == name) {
        Some((_, count)) => *count += more,
        None => counts.push((name, more)),
    }
}

impl DissectorState {
    /// Adds the mirror session to each message after the first `known` events.
    #[cold]
    fn find_sessions(&mut self, known: usize) {
        for event in self.events.iter_mut().skip(known) {
            if let Event::Message(message) = event {
                message.mirror_session = self.mirrors.find_session(message.stamp.frame);
            }
        }
    }

    /// Queues an event, unless the event is a try of an RPC that another may follow.
    fn take_event(&mut self, event: Event) {
        let event = match event {
            Event::Transaction(transaction) => {
                self.mounts.join_tries(transaction, &self.set_backs).map(Event::Transaction)
            }
            event => Some(event),
        };
        self.events.extend(event);
    }

    /// Notes a connection that was recognised since the number of connections was `before`.
    #[inline]
    fn note_connection(&mut self, connection: &Connection, before: u32) {
        if self.last_number != before && self.config.joins_tries && self.config.transactions {
            let Sides { active, passive } = connection.ends;
            let ends = Ends::new(active.address, passive.address);
            self.mounts.open(ends, self.last_number, connection.key, self.current.frame);
        }
    }

    const fn trace_output(&mut self) -> TraceOutput<'_> {
        let is_joined = self.config.joins_traces;
        TraceOutput { is_joined, last_number: &mut self.last_number, events: &mut self.events }
    }

    fn context(&mut self) -> Context<'_> {
        Context {
            transactions: self.config.transactions,
            operations: self.config.operations,
            recovery: self.config.recovery,
            steps: &self.config.steps,
            placements: self.config.placements,
            set_backs: &self.set_backs,
            port_pauses: self.port_pauses,
            last_number: &mut self.last_number,
            events: &mut self.events,
        }
    }
}

impl Handler for DissectorState {
    type Session = Session;

    fn opened(&mut self, connection: &Connection) -> Session {
        let mut session = Session::default();
        let before = self.last_number;
        session.family = self.config.v2_family;
        if connection.is_announced() || connection.port().is_some_and(|port| self.config.ports.contains(&port)) {
            session.recognise(connection, &mut self.context());
            self.note_connection(connection, before);
        }
        if !connection.setup_captured {
            session.join(self.current);
        }
        session
    }

    #[inline]
    fn operation(
        &mut self,
        connection: &Connection,
        session: &mut Session,
        operation: Operation<'_>,
        last: bool,
    ) -> Taken {
        let before = self.last_number;
        let taken = session.operation(connection, &operation, last, &mut self.context());
        self.note_connection(connection, before);
        taken
    }

    fn framed(&mut self, connection: &Connection, from: Side, framed: FramedOctets<'_>) {
        if self.config.placements {
            let FramedOctets { place, octets, kind } = framed;
            let (ends, octets) = (connection.ends, octets.to_vec());
            let framed = FramedPart { connection: connection.key, ends, from, place, octets, kind };
            self.events.push_back(Event::Framed(Box::new(framed)));
        }
    }

    #[inline]
    fn acknowledged(&mut self, session: &mut Session, by: Origin, acknowledgement: Acknowledgement) {
        session.acknowledged(by, acknowledgement, &mut self.context());
    }

    fn acknowledged_early(&mut self, session: &mut Session, packet: Origin, order: AcknowledgementOrder) {
        session.acknowledged_early(packet, order);
    }

    fn measured(&mut self, session: &mut Session, by: Side, times: Acknowledgements) {
        session.measured(by, times);
    }

    fn congested(&mut self, session: &mut Session, sender: Side, sign: CongestionSign) {
        session.congested(sender, sign);
    }

    fn window(&mut self, session: &mut Session, by: Side, time: Time, is_closed: bool) {
        session.set_window(by.other(), is_closed, time);
    }

    fn seen_again(&mut self, session: &mut Session, from: Side, first: Time, again: Time) {
        session.seen_again(from, first, again);
    }

    fn account(&mut self) -> &mut Account {
        &mut self.account
    }

    fn session_octets(&self, session: &Session) -> usize {
        session.memory_used()
    }

    fn let_go(&mut self, connection: &Connection, session: &mut Session, excess: usize) {
        session.let_go(connection, excess, &mut self.context());
    }

    fn ended(&mut self, session: &Session, stamp: Stamp) {
        if let Some(connection) = session.number {
            if let Some(Sides { active, passive }) = session.addresses {
                self.mounts.end_connection(Ends::new(active, passive), connection);
            }
            self.events.push_back(Event::Ended(EndedConnection { connection, stamp }));
        }
    }

    fn closed(&mut self, connection: &Connection, mut session: Session, counts: &Sides<Counts>) {
        let until = connection.disconnected.map(|ended| ended.stamp.time).or(self.summary.last).unwrap_or_default();
        let mut counts = *counts;
        let Sides { active, passive } = &mut counts;
        let orders = Sides { active: active.acknowledged, passive: passive.acknowledged };
        let late_clock = late_clock(&orders);
        if late_clock.is_some() {
            active.forget_order();
            passive.forget_order();
        }
        let given = self.config.captured_at.map(|place| (place, CapturePointSource::Given));
        let captured_at =
            given.or_else(|| session.infer_place(&counts).map(|place| (place, CapturePointSource::Inferred)));
        let credit_times = session.credit_times(until);
        session.refused(connection, &counts, &mut self.context());
        for side in [Side::Active, Side::Passive] {
            if counts.get(side).packets > 0 {
                session.speak(side);
            }
        }
        let end = match wait_end(connection) {
            Some(end) => end,
            // An operation that is refused for good ends the connection.
            None if self.is_finished && counts.active.failed + counts.passive.failed == 0 => WaitEnd::Capture,
            None => WaitEnd::Connection,
        };
        session.finish(connection, end, &mut self.context());
        let both_ends = session.both_ends(&counts).map(Box::new);
        self.events.push_back(Event::Connection(Box::new(Report {
            number: session.number,
            connection: connection.clone(),
            counts,
            unmatched_transfers: session.unmatched_transfers,
            until,
            end,
            activity: session.activity,
            captured_at,
            late_clock,
            both_ends,
            credit_times,
        })));
    }

    fn rejected(&mut self, mut rejected: Rejected) {
        rejected.is_for_rpc |= self.config.serves(rejected.service);
        self.events.push_back(Event::Rejected(rejected));
    }

    fn unanswered(&mut self, mut request: UnansweredRequest) {
        request.is_for_rpc |= self.config.serves(request.service);
        self.events.push_back(Event::UnansweredRequest(request));
    }

    fn terminated(&mut self, connection: &Connection, session: &Session, by: Origin, terminate: Terminate) {
        let Some(number) = session.number else { return };
        let (Origin { from, stamp }, ends) = (by, connection.ends);
        let (from, to) = (ends.get(from).address, ends.get(from.other()).address);
        self.events.push_back(Event::Terminated(Terminated { stamp, connection: number, from, to, terminate }));
    }
}
