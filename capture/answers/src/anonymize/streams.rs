//! Streams of iWARP connections: setup frames and FPDUs by place, with the copies that replace the originals.
//!
//! A segment may hold several FPDUs, or parts of FPDUs, and again when the segment is retransmitted. So the copy of a
//! segment is made of the copies of FPDUs. The copy of an FPDU is used only if the original equals the octets of the
//! segment: a port may be used again with the same sequence numbers.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use rpcrdma_dissector::packets::{FramePlacement, FramedKind, mpa::Setup};
use rpcrdma_dissector::{Endpoint, FramedPart, Side, Sides};

use super::bounds::{HELD_OCTETS, REMEMBERED};
use super::fpdu::StreamUnit;
use super::segment::{SegmentLayout, TcpEnd};

/// Maximum length of an FPDU in octets: the length field has 16 bits.
const LONGEST_UNIT: u64 = 1 << 17;

/// Sender and receiver of a stream.
pub(super) type StreamEnds = (TcpEnd, TcpEnd);
/// Key of a connection, and the end that sends.
type StreamKey = (u64, Side);

/// Number of a connection, and the end that sends.
#[derive(Clone, Copy)]
pub(super) struct StreamName {
    pub(super) connection: u32,
    pub(super) sender: Side,
}

/// Streams whose segments are held.
#[derive(Debug, Default)]
pub(super) struct Streams {
    units: HashMap<StreamKey, BTreeMap<u64, StreamUnit>>,
    /// Streams in order of arrival.
    order: VecDeque<(StreamEnds, StreamKey, u64)>,
    /// Memory used by the segments, in octets.
    octets: usize,
    /// The streams that were found between two ends, the latest last.
    names: HashMap<StreamEnds, Vec<StreamKey>>,
    /// The connections that carry RPC-over-RDMA, by their number.
    connections: HashMap<u32, u64>,
    /// Streams that carry RPC-over-RDMA, or the refusal of a connection.
    wanted: HashSet<StreamEnds>,
}

impl Streams {
    /// A connection was found to carry RPC-over-RDMA.
    pub(super) fn open(&mut self, number: u32, key: u64, ends: Sides<Endpoint>) {
        if self.connections.len() < REMEMBERED {
            self.connections.insert(number, key);
            self.want(ends);
        }
    }

    fn want(&mut self, ends: Sides<Endpoint>) {
        for side in [Side::Active, Side::Passive] {
            if let Some(flow) = flow(ends, side).filter(|_| self.wanted.len() < REMEMBERED) {
                self.wanted.insert(flow);
            }
        }
    }

    /// Returns true if the stream carries RPC-over-RDMA, or the refusal of a connection.
    pub(super) fn carry(&self, ends: StreamEnds) -> bool {
        self.wanted.contains(&ends)
    }

    /// Takes octets of a stream that belong together.
    pub(super) fn add_part(&mut self, framed: &FramedPart) {
        let Some(flow) = flow(framed.ends, framed.from) else { return };
        let is_refusal = framed.kind == FramedKind::Setup
            && Setup::decode(&framed.octets).is_some_and(|setup| setup.is_reply && setup.rejected);
        if is_refusal {
            self.want(framed.ends);
        }
        let name = (framed.connection, framed.from);
        if self.names.len() >= REMEMBERED && !self.names.contains_key(&flow) {
            return;
        }
        let names = self.names.entry(flow).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
        let unit = StreamUnit::new(framed);
        self.octets += unit.memory_used();
        let place = unit.place;
        if let Some(before) = self.units.entry(name).or_default().insert(place, unit) {
            self.octets = self.octets.saturating_sub(before.memory_used());
        } else {
            self.order.push_back((flow, name, place));
        }
        while self.octets > HELD_OCTETS && self.order.len() > 1 {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((flow, name, place)) = self.order.pop_front() else { return };
        let Some(units) = self.units.get_mut(&name) else { return };
        if let Some(unit) = units.remove(&place) {
            self.octets = self.octets.saturating_sub(unit.memory_used());
        }
        if units.is_empty() {
            self.units.remove(&name);
            let names = self.names.remove(&flow).unwrap_or_default();
            let names: Vec<_> = names.into_iter().filter(|known| *known != name).collect();
            if !names.is_empty() {
                self.names.insert(flow, names);
            }
        }
    }

    /// The FPDU at a place in what an end of a connection sends.
    fn unit(&mut self, stream: StreamName, place: u64) -> Option<&mut StreamUnit> {
        let key = *self.connections.get(&stream.connection)?;
        self.units.get_mut(&(key, stream.sender))?.get_mut(&place)
    }

    /// The data that an FPDU carries for a message.
    pub(super) fn data(&mut self, stream: StreamName, placement: &FramePlacement) -> Option<Vec<u8>> {
        self.unit(stream, placement.place)?.data(placement.part)
    }

    /// Replaces the data that an FPDU carries for a message. Returns false if no such FPDU is known.
    pub(super) fn replace_data(&mut self, stream: StreamName, placement: &FramePlacement, octets: &[u8]) -> bool {
        let Some(unit) = self.unit(stream, placement.place) else { return false };
        let Some(mut data) = unit.data(placement.part) else { return false };
        data.fill(0);
        data.iter_mut().zip(octets).for_each(|(to, from)| *to = *from);
        unit.replace_data(data);
        true
    }

    /// The data of a segment's copy. `None` if the segment belongs to no RPC-over-RDMA connection.
    pub(super) fn copy(&mut self, layout: &SegmentLayout, original: &[u8]) -> Option<Vec<u8>> {
        let flow = (layout.source, layout.destination);
        if !self.carry(flow) {
            return None;
        }
        let mut copy = vec![0; original.len()];
        for name in self.names.get(&flow).into_iter().flatten() {
            let Some(units) = self.units.get_mut(name) else { continue };
            let Some(last) = units.last_key_value().map(|(place, _)| *place) else { continue };
            // The sequence number that is nearest to what is known.
            let distance = layout.sequence.wrapping_sub(last as u32).cast_signed();
            let start = last.saturating_add_signed(i64::from(distance));
            let end = start.saturating_add(original.len() as u64);
            for (_, unit) in units.range_mut(start.saturating_sub(LONGEST_UNIT)..end) {
                overlay(unit, start, original, &mut copy);
            }
        }
        Some(copy)
    }
}

/// Writes the part of a unit that a segment holds into the copy of the segment's data.
fn overlay(unit: &mut StreamUnit, start: u64, original: &[u8], copy: &mut [u8]) {
    let (first, end) = (unit.place.max(start), unit.end_position().min(start.saturating_add(original.len() as u64)));
    if first >= end {
        return;
    }
    let within = |origin: u64| Some(usize::try_from(first - origin).ok()?..usize::try_from(end - origin).ok()?);
    let Some((of_unit, of_segment)) = within(unit.place).zip(within(start)) else { return };
    if unit.original.get(of_unit.clone()) != original.get(of_segment.clone()) {
        return;
    }
    if let Some((to, from)) = copy.get_mut(of_segment).zip(unit.copy().get(of_unit)) {
        to.copy_from_slice(from);
    }
}

fn flow(ends: Sides<Endpoint>, from: Side) -> Option<StreamEnds> {
    let end = |side| {
        let Endpoint { address, port, .. } = *ends.get(side);
        Some((address, port?))
    };
    Some((end(from)?, end(from.other())?))
}
