//! From the captured segments of one TCP connection to the octets of both ends: in order, and once each.
//!
//! - Octets that were seen before are a repetition: such octets are counted, and nothing else. If octets come twice,
//!   the first count.
//! - Octets ahead of the next ones mean that a segment is late, was lost on the way, or was missed by the capture. Such
//!   octets are buffered until the segment comes. If the other end has acknowledged octets that never came, the capture
//!   missed them, and they are given up as lost 64 segments later.
//! - A segment acknowledges what the sender had received. The segment is emitted after all acknowledged octets, so no
//!   reply overtakes the call, in any order of the two directions, and `session` need not be asked twice.
//!
//! At most 4096 segments and 8 MiB are buffered per connection; past that, a gap is given up at once. One `Account` bounds
//! all connections together.

use std::collections::BTreeMap;

use super::retransmission::{Again, GapReport, SenderState, TcpAcknowledgement, Waited};
use crate::carrier::acknowledgement::{
    Acknowledgement, AcknowledgementOrder, Acknowledgements, AwaitedAcknowledgements, EARLY,
};
use crate::carrier::connection::Counts;
use crate::carrier::duplicates::{Duplicates, Need, REPEATED, RecentPackets, SentPacket};
use crate::carrier::operation::{CutOctets, Origin, Places, Side, Sides, Stamp};
use crate::carrier::recovery::{Backfill, Indications, MissingPacket, RecoveryKind};
use crate::file::Time;
use crate::link::TcpSegment;

/// The most segments of a connection between an acknowledgement and the late acknowledged segment.
const GRACE: u64 = 64;
/// The most segments that are buffered for one connection.
const HELD_SEGMENTS: usize = 4096;
/// The most octets that are buffered for one connection.
const HELD_OCTETS: usize = 8 << 20;
/// A distance that no window spans (RFC 7323 section 2.3).
const FAR: u64 = 1 << 30;
/// The most octets that an end has sent before a late SYN or setup frame is captured.
const SHORTLY: u32 = 1 << 16;
/// After this many segments in a row that are far from all others, the segments must belong to another connection.
const DISTANT_SEGMENTS: u32 = 64;
/// After this many repetitions in a row, the same applies: this is more than a window of segments.
const REPETITIONS: u32 = 1 << 16;
/// The largest step of the identification from one segment of a connection to the next, if the host counts packets.
const LONGEST_STEP: u16 = 1024;
/// Bits of short steps in a row that show that a host counts packets: random identifications make these by a chance of
/// 4 in a million.
const ENOUGH_STEPS: u8 = 0b111;

/// Octets that one end sent, all from one segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) from: Side,
    pub(super) stamp: Stamp,
    /// The place of the first octet in what this end sends: the TCP sequence number, extended to 64 bits.
    pub(super) place: u64,
    /// Captured part of the octets.
    pub(super) octets: &'a [u8],
    /// Number of octets on the wire.
    pub(super) length: usize,
    /// True for the first octets of the segment.
    pub(super) begins: bool,
    /// Place up to which the sender had received the other end's data.
    pub(super) acknowledges: Option<u64>,
    /// For a retransmitted segment: the time at which the octets, or the next octets, were first sent.
    pub(super) first_sent: Option<Time>,
}

/// Output of the reassembly.
#[derive(Clone, Copy, Debug)]
pub(super) enum StreamStep<'a> {
    /// The next octets of an end.
    Octets(Piece<'a>),
    /// This many of an end's next octets are not in the capture.
    Lost(Origin, u64),
    /// A segment of an end shows a loss.
    Recovery(Origin, TcpIndication),
    /// A segment of an end brings octets in these places, from before what was captured already.
    Backfill(Origin, Places, Backfill),
    /// By a segment, an end has reported often enough that the other end's octets from this place on were lost.
    Missing(Origin, u64),
    /// A segment of an end acknowledges what the other end sends.
    Acknowledged(Origin, Acknowledgement),
    /// A segment of an end was captured after the acknowledgement of the segment; the order counts such segments, and
    /// the others.
    AcknowledgedEarly(Origin, AcknowledgementOrder),
}

/// An indication of loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpIndication {
    /// Sender of the octets concerned.
    pub(super) of: Side,
    /// Places of these octets.
    pub(super) places: Places,
    pub(super) kind: RecoveryKind,
    /// Duplicates of these octets, if the receiver reports them as missing.
    pub(super) missing: Option<MissingPacket>,
}

/// Buffered pieces, and their octets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct BufferUse {
    segments: usize,
    octets: usize,
}

/// Data that the other end has acknowledged, and the capture lacks.
struct MissedOctets {
    /// Place after the data.
    end: u64,
    /// Number of segments captured before the acknowledgement.
    since: u64,
}

/// A piece that waits; the place is the key.
#[derive(Debug)]
struct BufferedSegment {
    stamp: Stamp,
    octets: Box<[u8]>,
    length: usize,
    begins: bool,
    acknowledges: Option<u64>,
    first_sent: Option<Time>,
    /// Identification of the packet; 0 if there is none.
    identification: u16,
    arrival: u64,
}

/// Identifications of the packets with new data, in the order of sending.
#[derive(Clone, Copy, Debug, Default)]
struct SendOrder {
    last: u16,
    /// A bit for each of the last steps, the last one lowest: 1 for a short step forward.
    steps: u8,
}

impl SendOrder {
    /// A packet with new data is sent.
    #[inline]
    const fn send(&mut self, identification: u16) {
        let step = identification.wrapping_sub(self.last);
        self.steps = self.steps << 1 | (step.wrapping_sub(1) < LONGEST_STEP) as u8;
        self.last = identification;
    }

    /// Returns true if one packet was sent after another; `None` if identifications do not show that.
    const fn is_after(&self, identification: u16, other: u16) -> Option<bool> {
        match identification.wrapping_sub(other).cast_signed() {
            0 => None,
            _ if identification == 0 || other == 0 || self.steps & ENOUGH_STEPS != ENOUGH_STEPS => None,
            distance => Some(distance > 0),
        }
    }
}

/// Data that one end sends.
#[derive(Debug, Default)]
struct TcpStream {
    /// The place of the next octet; `None` before the first segment.
    next: Option<u64>,
    /// Beginning of the stream, or of the capture.
    first: u64,
    /// The place of the FIN, which is acknowledged like an octet.
    end: Option<u64>,
    /// Place up to which the other end has received data that was not seen, and the arrival at which that was noticed.
    acknowledged: Option<(u64, u64)>,
    /// Time since which data has been acknowledged that was not seen then.
    lags_since: Time,
    held: BTreeMap<u64, BufferedSegment>,
    distant_segments: u32,
    repetitions: u32,
    order: SendOrder,
    again: Again,
    /// Time that the other end takes to acknowledge data of this end.
    awaited: AwaitedAcknowledgements,
}

/// Puts the octets of one connection in order.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    streams: Sides<TcpStream>,
    /// Counts by sender.
    pub(super) counts: Sides<Counts>,
    copies: Sides<Duplicates>,
    /// Number of buffered pieces, and of their octets.
    held: BufferUse,
    arrivals: u64,
}

impl Reassembly {
    /// Segments that came so far.
    pub(super) const fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Returns true if a stream of this end that begins at `sequence` may be the known one.
    pub(super) fn begins_at(&self, from: Side, sequence: u32) -> bool {
        let stream = self.streams.get(from);
        stream.next.is_none() || stream.first as u32 == sequence
    }

    /// Returns true if `sequence` is shortly before the first octet that is known of this end.
    pub(super) fn is_before(&self, from: Side, sequence: u32) -> bool {
        (self.streams.get(from).first as u32).wrapping_sub(sequence) < SHORTLY
    }

    /// Returns true if `sequence` is that of the next octet of an end.
    pub(super) fn is_next(&self, from: Side, sequence: u32) -> bool {
        self.streams.get(from).next.is_some_and(|next| next as u32 == sequence)
    }

    /// Returns true if the segments of an end have belonged to another connection for some time.
    pub(super) fn is_outlived(&self, from: Side) -> bool {
        let stream = self.streams.get(from);
        stream.distant_segments >= DISTANT_SEGMENTS || stream.repetitions >= REPETITIONS
    }

    /// Octets of memory taken by what waits.
    pub(super) const fn buffered_octets(&self) -> usize {
        self.held.octets + self.held.segments * 2 * size_of::<BufferedSegment>()
    }

    /// Counts by sender, once all has come.
    pub(super) fn counted(&self) -> Sides<Counts> {
        let mut counts = self.counts;
        for side in [Side::Active, Side::Passive] {
            counts.get_mut(side).acknowledgements = self.streams.get(side.other()).awaited.measured();
            counts.get_mut(side).acknowledged = self.streams.get(side).awaited.order();
        }
        counts
    }

    /// Returns the times that an end takes to acknowledge, if more is known than before.
    #[inline]
    pub(super) fn take_measured(&mut self, by: Side) -> Option<Acknowledgements> {
        self.streams.get_mut(by.other()).awaited.take_changed()
    }

    /// Returns the time of an earlier capture of a segment, if this is a duplicate that nobody retransmitted. Duplicates
    /// are counted, and then left out.
    pub(super) fn original(
        &mut self,
        sent: SentPacket,
        segment: &TcpSegment<'_>,
        key: u64,
        recent: &mut RecentPackets,
    ) -> Option<Time> {
        let SentPacket { from, captured } = sent;
        let Self { streams, copies, counts, .. } = self;
        let stream = streams.get(from);
        let content = recent.digest(key, from, segment.words(), segment.options, captured.observation);
        let other = streams.get(from.other());
        let place = || extend(stream.next, segment.sequence);
        let need = |since: Time| match segment.length {
            // No end repeats a SYN sooner.
            0 if segment.is_synchronizing() => {
                Need::from_evidence(false, captured.stamp.time.0.saturating_sub(since.0) < REPEATED)
            }
            // An acknowledgement is repeated for each segment that comes behind a gap, but never after a later one.
            0 => {
                let acknowledges = segment.acknowledges.map(|number| extend(other.next, number));
                let is_passed = acknowledges.is_some_and(|place| other.again.is_acknowledged(place + 1));
                Need::from_evidence(!is_passed && other.again.has_sent_since(since), is_passed)
            }
            length => Need::from_evidence(
                stream.again.is_asked(place()),
                stream.again.is_acknowledged(place() + length as u64),
            ),
        };
        let others = *copies.get(from.other());
        let original = recent.original(content, captured, copies.get_mut(from), || others, need);
        counts.get_mut(from).duplicates += u64::from(original.is_some());
        original
    }

    /// Takes the next segment of the capture and emits the octets that are complete.
    pub(super) fn segment(&mut self, origin: Origin, segment: &TcpSegment<'_>, out: &mut impl FnMut(StreamStep<'_>)) {
        let Origin { from, stamp } = origin;
        self.arrivals += 1;
        self.counts.get_mut(from).packets += 1;
        if segment.is_reset() {
            return self.advance(stamp, out); // its numbers need not be those of the stream
        }
        let acknowledges = segment.acknowledges.and_then(|number| self.learn(from, stamp.time, number));
        let sequence = segment.sequence.wrapping_add(u32::from(segment.is_synchronizing()));
        let Some(place) = self.place(from, sequence) else { return };
        if segment.is_final() {
            self.streams.get_mut(from).end = Some(place + segment.length as u64);
        }
        if let Some(received) = acknowledges {
            self.acknowledge(origin, received, segment, out);
        }
        let end = place + segment.length as u64;
        let before = self.streams.get_mut(from).again.take_segment(stamp.time, end, segment.length > 0);
        if segment.is_synchronizing() && self.streams.get(from).again.is_acknowledged(place) {
            self.note_early(origin, out);
        }
        if segment.length > 0 {
            self.await_acknowledgement(origin, Places { first: place, end }, before.sent, out);
            let TcpSegment { octets, length, .. } = *segment;
            let piece = Piece { from, stamp, place, octets, length, begins: true, acknowledges, first_sent: None };
            self.take_piece(piece, before, out);
        }
        self.advance(stamp, out);
    }

    /// A segment may have to be acknowledged; the sender had sent everything up to the place `sent` before.
    fn await_acknowledgement(
        &mut self,
        origin: Origin,
        segment: Places,
        sent: u64,
        out: &mut impl FnMut(StreamStep<'_>),
    ) {
        let Origin { from, stamp } = origin;
        let (arrivals, stream) = (self.arrivals, self.streams.get_mut(from));
        if segment.first < sent || !stream.again.is_acknowledged(segment.end) {
            stream.awaited.send_segment(segment.end, stamp.time);
            return;
        }
        // Those behind it may be as late.
        stream.acknowledged.iter_mut().for_each(|(_, since)| *since = arrivals);
        self.note_early(origin, out);
    }

    /// Takes a segment that was captured after its acknowledgement.
    fn note_early(&mut self, origin: Origin, out: &mut impl FnMut(StreamStep<'_>)) {
        let Origin { from, stamp } = origin;
        let stream = self.streams.get_mut(from);
        if stamp.time.0.saturating_sub(stream.lags_since.0) >= EARLY {
            stream.awaited.send_late();
            out(StreamStep::AcknowledgedEarly(origin, stream.awaited.order()));
        }
    }

    /// Emits everything that is still buffered, and gives up what was acknowledged and never seen, at the end of the connection or of the
    /// capture.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(StreamStep<'_>)) {
        self.drain(out);
        while self.lose(Stamp::default(), out) {
            self.drain(out);
        }
    }

    /// Learns from an acknowledgement about the other end's stream.
    fn learn(&mut self, from: Side, time: Time, number: u32) -> Option<u64> {
        let arrivals = self.arrivals;
        let stream = self.streams.get_mut(from.other());
        let Some(next) = stream.next else {
            // The octets before it arrived, but were not captured.
            stream.begin_at(extend(None, number));
            stream.lags_since = time;
            return stream.next;
        };
        let place = extend(Some(next), number);
        if place > next {
            if place - next >= FAR {
                return None;
            }
            let known = stream.acknowledged.filter(|(highest, _)| *highest > next);
            if known.is_none() {
                stream.lags_since = time;
            }
            let (highest, since) = known.unwrap_or((place, arrivals));
            stream.acknowledged = Some((highest.max(place), since));
        }
        Some(place)
    }

    /// Returns the place of a segment in the stream; `None` if the sequence number is too far away.
    fn place(&mut self, from: Side, sequence: u32) -> Option<u64> {
        let stream = self.streams.get_mut(from);
        let place = extend(stream.next, sequence);
        let Some(next) = stream.next else {
            stream.begin_at(place);
            return Some(place);
        };
        if place.abs_diff(next) < FAR {
            stream.distant_segments = 0;
            return Some(place);
        }
        stream.distant_segments += 1;
        self.counts.get_mut(from).unmatched += 1;
        None
    }

    /// Takes the octets of a segment. `before` is the state of their sender before the segment.
    fn take_piece(&mut self, mut piece: Piece<'_>, before: SenderState, out: &mut impl FnMut(StreamStep<'_>)) {
        let SenderState { silence, sent } = before;
        let is_due = self.is_due(piece.from, piece.acknowledges);
        let identification = self.copies.get(piece.from).identification();
        let stream = self.streams.get_mut(piece.from);
        let Some(next) = stream.next else { return };
        let end = piece.place + piece.length as u64;
        if end <= next {
            stream.repetitions += 1;
            if piece.place >= sent {
                self.counts.get_mut(piece.from).early += 1;
                return;
            }
            // Of what was sent before the capture, the rest may just be late.
            if end > stream.first {
                self.copy(&piece, silence, out);
            }
            return;
        }
        stream.repetitions = 0;
        let is_copy = piece.place < sent && stream.holds(piece.place, end);
        if piece.place >= sent {
            stream.again.go_on();
            stream.order.send(identification);
        } else if !is_copy {
            self.fill(&mut piece, identification, silence, out);
        }
        let (stream, counts) = (self.streams.get_mut(piece.from), self.counts.get_mut(piece.from));
        if stream.held.is_empty() && piece.place <= next && is_due {
            self.give(&piece, out);
            return;
        }
        counts.early += u64::from(piece.place > next);
        if self.held.segments > HELD_SEGMENTS || self.held.octets > HELD_OCTETS {
            counts.unmatched += 1;
            return;
        }
        let fresh = stream.hold(&piece, identification, self.arrivals);
        self.held.segments += fresh.segments;
        self.held.octets += fresh.octets;
        if is_copy {
            self.copy(&piece, silence, out);
        }
    }

    /// Takes octets that were captured before.
    fn copy(&mut self, piece: &Piece<'_>, silence: u64, out: &mut impl FnMut(StreamStep<'_>)) {
        let stream = self.streams.get_mut(piece.from);
        let waited = Waited { silence, unacknowledged: stream.awaited.since(), reaction: None };
        let is_missing = stream.again.is_missing(piece.place);
        let signs = stream.again.copy(piece.places(), waited);
        let backfill = Backfill { is_again: true, is_filling: false, is_missing, is_timed_out: is_timed_out(&signs) };
        self.show(piece, signs, out);
        self.backfill(piece, backfill, out);
    }

    /// Takes octets that were captured after later octets of the stream.
    fn fill(&mut self, piece: &mut Piece<'_>, identification: u16, silence: u64, out: &mut impl FnMut(StreamStep<'_>)) {
        // Time that this end takes to acknowledge the other's octets.
        let reaction = self.streams.get(piece.from.other()).awaited.least();
        let stream = self.streams.get_mut(piece.from);
        let waited = Waited { silence, unacknowledged: stream.awaited.since(), reaction };
        let (is_missing, is_again) = (stream.again.is_missing(piece.place), stream.is_again(piece, identification));
        let signs = stream.again.filling(piece.places(), waited, is_again);
        let later = stream.held.range(piece.place..).next().map(|(_, held)| held.first_sent.unwrap_or(held.stamp.time));
        if let Some(signs) = signs {
            piece.first_sent = Some(later.unwrap_or(Time(piece.stamp.time.0.saturating_sub(silence))));
            self.show(piece, signs, out);
        }
        let (is_again, is_timed_out) = (signs.is_some(), signs.is_some_and(|signs| is_timed_out(&signs)));
        self.backfill(piece, Backfill { is_again, is_filling: true, is_missing, is_timed_out }, out);
    }

    /// Passes on that a segment brings octets from before what was captured already.
    fn backfill(&self, piece: &Piece<'_>, backfill: Backfill, out: &mut impl FnMut(StreamStep<'_>)) {
        out(StreamStep::Backfill(piece.origin(), piece.places(), backfill));
    }

    /// Counts the indications in a segment, and passes them on.
    fn show(&mut self, piece: &Piece<'_>, signs: Indications, out: &mut impl FnMut(StreamStep<'_>)) {
        self.streams.get_mut(piece.from).awaited.forget();
        for kind in signs.into_iter().flatten() {
            self.counts.get_mut(piece.from).recover(kind);
            let sign = TcpIndication { of: piece.from, places: piece.places(), kind, missing: None };
            out(StreamStep::Recovery(piece.origin(), sign));
        }
    }

    /// An end acknowledges what the other sends up to the place `received`.
    fn acknowledge(
        &mut self,
        origin: Origin,
        received: u64,
        segment: &TcpSegment<'_>,
        out: &mut impl FnMut(StreamStep<'_>),
    ) {
        let Origin { from, stamp } = origin;
        let of = from.other();
        self.streams.get_mut(of).awaited.acknowledge(received, stamp.time);
        let last_gap = segment.last_gap().map(|gap| gap.map(|edge| extend(Some(received), edge)));
        let (gap, beyond) = last_gap.map_or((received, None), |[first, beyond]| (first, Some(beyond)));
        let is_bare = segment.length == 0 && !segment.is_final() && !segment.is_synchronizing();
        let TcpStream { again, awaited, .. } = self.streams.get_mut(of);
        let (window, time, least) = (segment.window, stamp.time, awaited.least());
        let report = again.acknowledge(TcpAcknowledgement { place: received, beyond, window, is_bare, time, least });
        let is_new = report.is_some_and(|report| report.is_new);
        let acknowledgement = Acknowledgement { place: received, is_bare: is_bare && !is_new };
        out(StreamStep::Acknowledged(origin, acknowledgement));
        let Some(GapReport { is_lost, .. }) = report else { return };
        if is_new {
            let kind = RecoveryKind::SequenceError;
            self.counts.get_mut(from).recover(kind);
            let missing = Some(self.streams.get(of).missing_octet(gap));
            let places = Places { first: gap, end: beyond.unwrap_or(gap + 1) };
            out(StreamStep::Recovery(origin, TcpIndication { of, places, kind, missing }));
        }
        if is_lost {
            out(StreamStep::Missing(origin, received));
        }
    }

    /// Returns true if everything that the sender of a segment had received has been given.
    fn is_due(&self, from: Side, acknowledges: Option<u64>) -> bool {
        let stream = self.streams.get(from.other());
        let received = acknowledges.map(|place| place.min(stream.end.unwrap_or(u64::MAX)));
        received.is_none_or(|received| stream.next.is_none_or(|next| received <= next))
    }

    /// Gives what a piece adds to what was given.
    fn give(&mut self, piece: &Piece<'_>, out: &mut impl FnMut(StreamStep<'_>)) {
        let stream = self.streams.get_mut(piece.from);
        let known = stream.next.map_or(0, |next| next.saturating_sub(piece.place));
        stream.next = Some((piece.place + piece.length as u64).max(piece.place + known));
        if let Some(piece) = piece.behind(known) {
            out(StreamStep::Octets(piece));
        }
    }

    /// Gives what is available, and gives up what will not come.
    fn advance(&mut self, stamp: Stamp, out: &mut impl FnMut(StreamStep<'_>)) {
        if self.held.segments == 0 && !self.is_overdue() {
            return;
        }
        self.drain(out);
        while self.is_overdue() && self.lose(stamp, out) {
            self.drain(out);
        }
    }

    fn drain(&mut self, out: &mut impl FnMut(StreamStep<'_>)) {
        while let Some((from, place)) = self.due() {
            let Some(held) = self.streams.get_mut(from).held.remove(&place) else { return };
            self.held.segments -= 1;
            self.held.octets -= held.octets.len();
            let BufferedSegment { stamp, ref octets, length, begins, acknowledges, first_sent, .. } = held;
            self.give(&Piece { from, stamp, place, octets, length, begins, acknowledges, first_sent }, out);
        }
    }

    /// The buffered piece that comes next. If each end waits for the other, which happens only with retransmissions, the
    /// oldest piece comes first.
    fn due(&self) -> Option<(Side, u64)> {
        let head = |from: Side| {
            let stream = self.streams.get(from);
            let (place, held) = stream.held.first_key_value()?;
            (Some(*place) <= stream.next).then_some((from, *place, held))
        };
        let heads = [head(Side::Active), head(Side::Passive)];
        let are_stuck = heads.iter().all(Option::is_some);
        let due = heads.iter().flatten().filter(|(from, _, held)| self.is_due(*from, held.acknowledges));
        let stuck = heads.iter().flatten().filter(|_| are_stuck);
        let first = due.min_by_key(|(.., held)| held.arrival).or_else(|| stuck.min_by_key(|(.., held)| held.arrival));
        first.map(|(from, place, _)| (*from, *place))
    }

    /// Returns true if a gap has waited long enough, or too much is buffered.
    fn is_overdue(&self) -> bool {
        let is_overdue = |from: Side| {
            let stream = self.streams.get(from);
            stream.missing().is_some_and(|missed| self.arrivals - missed.since > GRACE)
        };
        self.held.segments > HELD_SEGMENTS
            || self.held.octets > HELD_OCTETS
            || is_overdue(Side::Active)
            || is_overdue(Side::Passive)
    }

    /// Goes on after the gap that has waited longest: with the first octets that are available, or after what is known
    /// to have arrived. Returns false if there is no gap.
    fn lose(&mut self, stamp: Stamp, out: &mut impl FnMut(StreamStep<'_>)) -> bool {
        let since = |side: Side| {
            let stream = self.streams.get(side);
            let held = stream.held.first_key_value().map(|(_, held)| held.arrival);
            let missing = stream.missing().map(|missed| missed.since);
            missing.or(held.filter(|_| !stream.is_there())).map(|since| (since, side))
        };
        let Some((_, side)) = [since(Side::Active), since(Side::Passive)].into_iter().flatten().min() else {
            return false;
        };
        let stream = self.streams.get_mut(side);
        let held = stream.held.first_key_value().map(|(place, _)| *place);
        let Some(end) = stream.missing().map(|missed| missed.end).into_iter().chain(held).min() else { return false };
        let octets = end.saturating_sub(stream.next.replace(end).unwrap_or(end));
        self.counts.get_mut(side).missed += 1;
        out(StreamStep::Lost(Origin { from: side, stamp }, octets));
        true
    }
}

impl TcpStream {
    fn begin_at(&mut self, place: u64) {
        self.next = Some(place);
        self.first = place;
    }

    /// Returns true if the next data is buffered.
    fn is_there(&self) -> bool {
        self.held.first_key_value().is_some_and(|(place, _)| Some(*place) <= self.next)
    }

    /// Returns the data that the other end has received and the capture lacks.
    fn missing(&self) -> Option<MissedOctets> {
        let (highest, since) = self.acknowledged?;
        let highest = highest.min(self.end.unwrap_or(u64::MAX));
        (Some(highest) > self.next && !self.is_there()).then_some(MissedOctets { end: highest, since })
    }

    /// Returns true if all octets from a place up to `end` are buffered.
    fn holds(&self, mut place: u64, end: u64) -> bool {
        while place < end {
            let before = self.held.range(..=place).next_back().map(|(first, held)| first + held.length as u64);
            let Some(known) = before.filter(|known| *known > place) else { return false };
            place = known;
        }
        true
    }

    /// Returns the copies in the capture of an octet that the receiver reports as missing.
    fn missing_octet(&self, place: u64) -> MissingPacket {
        let is_captured = self.next > Some(place) || self.holds(place, place + 1);
        match (is_captured, self.again.is_late(place)) {
            (false, _) => MissingPacket::NotCaptured,
            (true, true) => MissingPacket::Late,
            (true, false) => MissingPacket::Captured,
        }
    }

    /// Returns true if a piece that fills a gap was sent after what follows the gap, and false if before; `None` if
    /// unknown. An end counts packets, never acknowledges less than before, and sends an octet twice only as a
    /// retransmission.
    fn is_again(&self, piece: &Piece<'_>, identification: u16) -> Option<bool> {
        let later = self.held.range(piece.place..).map(|(_, held)| held).find(|held| held.first_sent.is_none());
        let shown = later.and_then(|later| {
            let acknowledged = piece.acknowledges.zip(later.acknowledges).filter(|(this, later)| this != later);
            let by_number = || acknowledged.map(|(this, later)| this > later);
            self.order.is_after(identification, later.identification).or_else(by_number)
        });
        shown.or_else(|| self.overlaps(piece).then_some(true))
    }

    /// Returns true if an octet of a piece was captured before.
    fn overlaps(&self, piece: &Piece<'_>) -> bool {
        let end = piece.place + piece.length as u64;
        let last = self.held.range(..end).next_back().map(|(first, held)| first + held.length as u64);
        self.next.max(last) > Some(piece.place)
    }

    /// Buffers the octets that are not buffered yet, and returns the capacity that they take.
    fn hold(&mut self, piece: &Piece<'_>, identification: u16, arrival: u64) -> BufferUse {
        let end = piece.place + piece.length as u64;
        let (mut at, mut fresh) = (piece.place, BufferUse::default());
        while at < end {
            let before = self.held.range(..=at).next_back().map(|(start, held)| start + held.length as u64);
            if let Some(known) = before.filter(|known| *known > at) {
                at = known;
                continue;
            }
            let stop = self.held.range(at..).next().map_or(end, |(start, _)| end.min(*start));
            let Some(rest) = piece.behind(at - piece.place) else { break };
            let length = (stop - at) as usize;
            let held: Box<[u8]> = rest.octets.get(..length).unwrap_or(rest.octets).into();
            fresh.segments += 1;
            fresh.octets += held.len();
            let Piece { stamp, begins, acknowledges, first_sent, .. } = rest;
            let octets = held;
            let held =
                BufferedSegment { stamp, octets, length, begins, acknowledges, first_sent, identification, arrival };
            self.held.insert(at, held);
            at = stop;
        }
        fresh
    }
}

impl<'a> Piece<'a> {
    /// Sender and frame of the octets.
    pub(super) const fn origin(&self) -> Origin {
        Origin { from: self.from, stamp: self.stamp }
    }

    /// Places of the octets.
    const fn places(&self) -> Places {
        Places { first: self.place, end: self.place + self.length as u64 }
    }

    /// Returns the octets from this offset on.
    pub(super) fn after(&self, offset: usize) -> CutOctets<'a> {
        CutOctets { octets: self.octets.get(offset..).unwrap_or_default(), length: self.length - offset }
    }

    /// Returns the piece without the first octets; `None` if nothing is left.
    fn behind(&self, octets: u64) -> Option<Self> {
        let known = usize::try_from(octets).ok().filter(|known| *known < self.length)?;
        Some(Self {
            place: self.place + octets,
            octets: self.octets.get(known..).unwrap_or_default(),
            length: self.length - known,
            begins: self.begins && known == 0,
            ..*self
        })
    }
}

/// Returns true if a time-out is the cause that a segment shows.
fn is_timed_out(signs: &Indications) -> bool {
    matches!(signs, [Some(RecoveryKind::TimedOut { .. }), _])
}

/// Extends a 32-bit number to the 64-bit number closest to `reference`.
fn extend(reference: Option<u64>, number: u32) -> u64 {
    // Far enough from zero to leave room for what comes before it.
    let Some(reference) = reference else { return (1 << 33) | u64::from(number) };
    let distance = number.wrapping_sub(reference as u32).cast_signed();
    reference.wrapping_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Frame, LinkType, Time};
    use crate::link::{Content, decode};

    /// An IPv4 packet with a TCP segment.
    fn packet(sequence: u32, acknowledges: u32, flags: u8, data: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend((40 + data.len() as u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 2]);
        packet.extend([sequence.to_be_bytes(), acknowledges.to_be_bytes()].concat());
        packet.extend([0x50, flags, 0, 0, 0, 0, 0, 0]);
        packet.extend(data);
        packet
    }

    #[derive(Default)]
    struct Taken {
        reassembly: Reassembly,
        /// Output of each end: octets, or `!` for lost data.
        out: Sides<String>,
    }

    impl Taken {
        fn take_segment(&mut self, from: Side, sequence: u32, acknowledges: u32, data: &str) -> &mut Self {
            self.flagged(from, sequence, acknowledges, 0x10, data)
        }

        fn flagged(&mut self, from: Side, sequence: u32, acknowledges: u32, flags: u8, data: &str) -> &mut Self {
            let packet = packet(sequence, acknowledges, flags, data.as_bytes());
            let length = packet.len() as u32;
            let frame = Frame { number: 1, time: Time(0), link: LinkType(101), data: &packet, length };
            let Content::Tcp(segment) = decode(&frame) else { panic!("TCP") };
            let Self { reassembly, out } = self;
            reassembly.segment(Origin { from, stamp: Stamp::default() }, &segment, &mut |step| append_step(out, step));
            self
        }

        fn active(&self) -> &str {
            &self.out.active
        }
    }

    fn append_step(out: &mut Sides<String>, step: StreamStep<'_>) {
        match step {
            StreamStep::Octets(piece) => *out.get_mut(piece.from) += core::str::from_utf8(piece.octets).unwrap(),
            StreamStep::Lost(origin, _) => out.get_mut(origin.from).push('!'),
            StreamStep::Recovery(..)
            | StreamStep::Backfill(..)
            | StreamStep::Missing(..)
            | StreamStep::Acknowledged(..)
            | StreamStep::AcknowledgedEarly(..) => {}
        }
    }

    use Side::{Active, Passive};

    #[test]
    fn octets_come_once_and_in_order_across_number_wraparound() {
        let mut taken = Taken::default();
        let begin = 0xffff_fffc;
        taken.flagged(Active, begin - 1, 0, 0x02, "");
        taken.take_segment(Active, begin.wrapping_add(6), 0, "ghi").take_segment(
            Active,
            begin.wrapping_add(3),
            0,
            "def",
        );
        assert_eq!(taken.active(), "");
        taken.take_segment(Active, begin, 0, "abc");
        assert_eq!(taken.active(), "abcdefghi");
        taken.take_segment(Active, begin.wrapping_add(3), 0, "def").take_segment(
            Active,
            begin.wrapping_add(7),
            0,
            "hij",
        );
        assert_eq!(taken.active(), "abcdefghij");
        let counts = taken.reassembly.counts.active;
        assert_eq!((counts.packets, counts.early, counts.retransmitted, counts.missed), (6, 2, 1, 0));
        // So is the last segment, octet by octet.
        taken.take_segment(Active, begin.wrapping_add(7), 0, "hij");
        assert_eq!((taken.active(), taken.reassembly.counts.active.retransmitted), ("abcdefghij", 2));
    }

    #[test]
    fn of_octets_that_come_twice_the_first_count() {
        let mut taken = Taken::default();
        taken.flagged(Active, 99, 0, 0x02, "");
        taken
            .take_segment(Active, 104, 0, "EF")
            .take_segment(Active, 102, 0, "cdefgh")
            .take_segment(Active, 101, 0, "XYZ");
        taken.take_segment(Active, 100, 0, "a");
        assert_eq!(taken.active(), "aXcdEFgh");
    }

    #[test]
    fn a_segment_waits_for_what_it_acknowledges() {
        let mut taken = Taken::default();
        taken.flagged(Active, 99, 0, 0x02, "").flagged(Passive, 499, 100, 0x12, "");
        taken.take_segment(Passive, 500, 104, "answer");
        assert_eq!(taken.out.passive, "");
        taken.take_segment(Active, 100, 500, "ask.");
        assert_eq!((taken.active(), &*taken.out.passive), ("ask.", "answer"));
        // A FIN is acknowledged like an octet.
        taken.flagged(Active, 104, 506, 0x11, "").take_segment(Passive, 506, 105, "bye");
        assert_eq!(taken.out.passive, "answerbye");
    }

    #[test]
    fn only_acknowledged_octets_that_never_came_are_given_up() {
        let mut taken = Taken::default();
        taken.flagged(Active, 99, 0, 0x02, "").flagged(Passive, 499, 100, 0x12, "");
        taken.take_segment(Active, 104, 500, "efgh");
        for _ in 0..200 {
            taken.take_segment(Passive, 500, 100, "");
        }
        assert_eq!(taken.active(), "", "it may be sent again");
        for waited in 0..=GRACE {
            assert_eq!(taken.active(), "", "after {waited}");
            taken.take_segment(Passive, 500, 108, "");
        }
        taken.take_segment(Passive, 500, 108, "");
        assert_eq!((taken.active(), taken.reassembly.counts.active.missed), ("!efgh", 1));
        // Octets that come at last come too late.
        taken.take_segment(Active, 100, 500, "abcd");
        assert_eq!(taken.active(), "!efgh");
    }

    /// A segment: milliseconds, sender, number and acknowledgement, the blocks of a selective acknowledgement, data.
    type Sent<'a> = (u64, Side, [u32; 2], &'a [[u32; 2]], &'a str);

    /// Returns the indications of loss that segments show.
    fn shown(segments: &[Sent<'_>]) -> Vec<RecoveryKind> {
        let (mut reassembly, mut kinds) = (Reassembly::default(), Vec::new());
        for (time, from, [sequence, acknowledges], blocks, data) in segments {
            let mut octets = packet(*sequence, *acknowledges, 0x10, &[]);
            if !blocks.is_empty() {
                octets.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
                octets.extend(blocks.as_flattened().iter().flat_map(|edge| edge.to_be_bytes()));
            }
            octets[32] = ((octets.len() - 20) as u8 / 4) << 4;
            octets.extend(data.as_bytes());
            let length = octets.len() as u32;
            octets[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            let time = Time(time * 1_000_000);
            let frame = Frame { number: 1, time, link: LinkType(101), data: &octets, length };
            let Content::Tcp(segment) = decode(&frame) else { panic!("TCP") };
            let origin = Origin { from: *from, stamp: Stamp { frame: 1, time } };
            reassembly.segment(origin, &segment, &mut |step| {
                if let StreamStep::Recovery(_, TcpIndication { kind, .. }) = step {
                    kinds.push(kind);
                }
            });
        }
        kinds
    }

    #[test]
    fn filling_a_gap_that_sack_names_is_a_fast_retransmission() {
        let data = |time, sequence| (time, Active, [sequence, 500], &[][..], "data");
        let shown = shown(&[
            data(1000, 100),
            data(1000, 104),
            data(1000, 108),
            data(1000, 112),
            data(1000, 116),
            (1001, Passive, [500, 104], &[[108, 112], [116, 120]], ""),
            data(1004, 104),
            // It goes on, and comes back to the second gap.
            data(1004, 120),
            data(1009, 112),
        ]);
        use RecoveryKind::{Retransmitted, SequenceError};
        assert_eq!(shown, [SequenceError, Retransmitted, Retransmitted]);
    }

    #[test]
    fn without_sack_only_a_long_silence_is_a_time_out() {
        let data = |time, sequence| (time, Active, [sequence, 500], &[][..], "data");
        for (silence, cause) in [
            (5, RecoveryKind::CauseNotSeen),
            (29, RecoveryKind::CauseNotSeen),
            (210, RecoveryKind::TimedOut { silence: 210_000_000 }),
        ] {
            let shown = shown(&[data(1000, 100), data(1000 + silence, 100)]);
            assert_eq!(shown, [cause, RecoveryKind::Retransmitted]);
        }
        // The requested octets are lost again. Then those behind them are retransmitted, some with each acknowledgement.
        let shown = shown(&[
            data(1000, 100),
            data(1000, 104),
            data(1000, 108),
            (1050, Passive, [500, 100], &[[104, 108]], ""),
            data(1051, 100),
            data(1300, 100),
            (1350, Passive, [500, 108], &[], ""),
            data(1351, 108),
        ]);
        let timed_out = RecoveryKind::TimedOut { silence: 249_000_000 };
        use RecoveryKind::{Retransmitted, SequenceError};
        assert_eq!(shown, [SequenceError, Retransmitted, timed_out, Retransmitted, Retransmitted]);
    }

    /// RFC 5681 section 2, and RFC 6582 section 3.2.
    #[test]
    fn duplicate_and_partial_acknowledgements_ask_for_what_is_missing() {
        let data = |time, sequence| (time, Active, [sequence, 500], &[][..], "data");
        let acknowledges = |sequence, number, octets| (1001, Passive, [sequence, number], &[][..], octets);
        let shown = shown(&[
            data(1000, 100),
            data(1000, 104),
            data(1000, 108),
            // A segment with data neither counts nor ends the row.
            acknowledges(500, 100, "answer"),
            acknowledges(506, 100, ""),
            acknowledges(506, 100, ""),
            acknowledges(506, 100, "answer"),
            acknowledges(512, 100, ""),
            data(1002, 100),
            data(1002, 112),
            acknowledges(512, 104, ""),
            data(1003, 104),
        ]);
        use RecoveryKind::{Retransmitted, SequenceError};
        assert_eq!(shown, [SequenceError, Retransmitted, Retransmitted]);
    }

    /// A receiver that uses selective acknowledgements has no gap where none is reported: such a duplicate answers
    /// octets that had arrived before.
    #[test]
    fn duplicates_without_what_arrived_behind_a_gap_name_none() {
        let data = |time, sequence| (time, Active, [sequence, 500], &[][..], "data");
        let lacks = (1001, Passive, [500, 100], &[[108, 112]][..], "");
        let again = (1004, Passive, [500, 112], &[][..], "");
        use RecoveryKind::{Retransmitted, SequenceError};
        let found = shown(&[
            data(1000, 100),
            data(1000, 104),
            data(1000, 108),
            lacks,
            data(1002, 100),
            data(1002, 104),
            data(1003, 112),
            again,
            again,
            again,
            again,
            data(1005, 112),
        ]);
        assert_eq!(found, [SequenceError, Retransmitted, Retransmitted, Retransmitted]);
    }

    /// The sender had not yet got the acknowledgement.
    #[test]
    fn retransmitting_acknowledged_octets_shows_no_loss() {
        let data = |time, sequence| (time, Active, [sequence, 500], &[][..], "data");
        for (acknowledged, expected) in [(100, vec![RecoveryKind::CauseNotSeen]), (104, vec![])] {
            let acknowledgement = (1001, Passive, [500, acknowledged], &[][..], "");
            let found = shown(&[data(1000, 100), data(1000, 104), acknowledgement, data(1002, 100)]);
            assert_eq!(found, [expected, vec![RecoveryKind::Retransmitted]].concat());
        }
    }

    /// The capture lacks the acknowledgement of the first segment, which came late.
    #[test]
    fn a_sender_that_goes_on_before_its_timer_was_acknowledged() {
        let data = |time, sequence| (time, Active, [sequence, 500], &[][..], "data");
        let timed_out = |silence: u64| RecoveryKind::TimedOut { silence: silence * 1_000_000 };
        use RecoveryKind::Retransmitted;
        for (time, sequence, expected) in [
            (1240, 104, vec![Retransmitted]),
            (1240, 100, vec![timed_out(40), Retransmitted]),
            (1600, 104, vec![timed_out(400), Retransmitted]),
        ] {
            let found = shown(&[data(1000, 100), data(1000, 104), data(1200, 100), data(time, sequence)]);
            assert_eq!(found, [vec![timed_out(200), Retransmitted], expected].concat(), "{time}");
        }
    }

    #[test]
    fn numbers_far_away_are_strays_until_there_are_many() {
        let mut taken = Taken::default();
        taken.flagged(Active, 99, 0, 0x02, "").take_segment(Active, 100, 0, "abc");
        taken.take_segment(Active, 0x8000_0000, 0, "stray").take_segment(Active, 103, 0, "def");
        assert_eq!((taken.active(), taken.reassembly.counts.active.unmatched), ("abcdef", 1));
        for index in 0..DISTANT_SEGMENTS {
            assert!(!taken.reassembly.is_outlived(Active));
            taken.take_segment(Active, 0x8000_0000 + index, 0, "x");
        }
        assert!(taken.reassembly.is_outlived(Active));
        assert_eq!(taken.active(), "abcdef");
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut taken = Taken::default();
        taken.flagged(Active, 99, 0, 0x02, "");
        for index in 0..=HELD_SEGMENTS as u32 {
            taken.take_segment(Active, 200 + 2 * index, 0, "x");
            assert!(taken.reassembly.held.segments <= HELD_SEGMENTS);
        }
        assert_eq!(taken.active(), "!x", "the first gap is given up");
        taken.reassembly.finish(&mut |step| append_step(&mut taken.out, step));
        assert_eq!(taken.active(), "!x".repeat(HELD_SEGMENTS + 1));
        assert_eq!(taken.reassembly.held, BufferUse::default());
    }
}
