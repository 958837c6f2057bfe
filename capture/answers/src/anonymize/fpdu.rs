//! One setup frame or FPDU of iWARP: the understood octets, and the copy without confidential content.
//!
//! ```text
//! setup frame   fixed (20)  RDMA Reads (4, enhanced only)  private data
//! FPDU          length (2)  DDP and RDMAP header (14 or 18)  data  pad  CRC (4); a marker (4) at every 512th octet
//! ```

use core::ops::Range;

use rpcrdma_dissector::FramedPart;
use rpcrdma_dissector::packets::{
    FramedKind, PlacedPart,
    ddp::{DdpSegment, Opcode},
    mpa::{self, CRC_LEN, LENGTH_LEN, Markers, Setup},
};

use super::octets::{keep, keep_private_data, write_octets};

/// A Read Request's body: handles, offsets and a length (RFC 5040 section 4.4).
const READ_REQUEST: usize = 28;
/// A Terminate's fixed octets, and the length of the segment that was wrong (RFC 5040 section 4.8).
const TERMINATE: usize = 6;
const HAS_READ_REQUEST: u8 = 0x20;

/// Octets of a stream that belong together, and their replacement.
#[derive(Debug)]
pub(super) struct StreamUnit {
    pub(super) place: u64,
    pub(super) original: Vec<u8>,
    kind: UnitKind,
    /// Replacement for the data of the DDP segment. `None` for zeros.
    data: Option<Vec<u8>>,
    /// The copy, once a part of the copy has been written. From then on, the copy does not change.
    copy: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
enum UnitKind {
    Setup,
    Fpdu(Markers),
}

impl StreamUnit {
    pub(super) fn new(framed: &FramedPart) -> Self {
        let kind = match framed.kind {
            FramedKind::Setup => UnitKind::Setup,
            FramedKind::Fpdu { marker: None } => UnitKind::Fpdu(Markers::None),
            FramedKind::Fpdu { marker: Some(place) } => UnitKind::Fpdu(Markers::At(place)),
        };
        Self { place: framed.place, original: framed.octets.clone(), kind, data: None, copy: None }
    }

    /// Maximum memory used, in octets: the original, the replacement of the data, and the copy.
    pub(super) const fn memory_used(&self) -> usize {
        size_of::<Self>() + 3 * self.original.len()
    }

    /// The place after the last octet.
    pub(super) const fn end_position(&self) -> u64 {
        self.place + self.original.len() as u64
    }

    /// Captured data of the DDP segment, if a segment of this kind can carry this part of an RPC.
    pub(super) fn data(&self, part: PlacedPart) -> Option<Vec<u8>> {
        let UnitKind::Fpdu(markers) = self.kind else { return None };
        let mut room = Vec::new();
        let (ulpdu, length) = mpa::ulpdu(markers.without(self.place, &self.original, &mut room))?;
        let segment = DdpSegment::decode(ulpdu, length)?;
        carries(segment.opcode, part).then(|| segment.data.to_vec())
    }

    /// Replaces the data of the DDP segment, unless a part of the copy has been written.
    pub(super) fn replace_data(&mut self, data: Vec<u8>) {
        if self.copy.is_none() {
            self.data = Some(data);
        }
    }

    /// Returns the copy, which does not change from now on.
    pub(super) fn copy(&mut self) -> &[u8] {
        let Self { place, original, kind, data, copy } = self;
        copy.get_or_insert_with(|| match *kind {
            UnitKind::Setup => set_up(original),
            UnitKind::Fpdu(markers) => fpdu(*place, original, markers, data.as_deref().unwrap_or_default()),
        })
    }
}

/// Returns true if a message of this kind can carry that part of an RPC.
const fn carries(opcode: Opcode, part: PlacedPart) -> bool {
    match part {
        PlacedPart::Send => {
            matches!(opcode.queue(), Some(0)) && !matches!(opcode, Opcode::IMMEDIATE | Opcode::IMMEDIATE_SOLICITED)
        }
        PlacedPart::Call => matches!(opcode, Opcode::READ_RESPONSE),
        PlacedPart::Reply => matches!(opcode, Opcode::WRITE),
    }
}

fn set_up(from: &[u8]) -> Vec<u8> {
    let mut to = vec![0; from.len()];
    let Some(setup) = Setup::decode(from) else { return to };
    let words = if setup.reads.is_some() { 4 } else { 0 };
    keep(from, &mut to, 0..Setup::LEN + words);
    keep_private_data(from, &mut to, Setup::LEN + words);
    to
}

fn fpdu(place: u64, from: &[u8], markers: Markers, data: &[u8]) -> Vec<u8> {
    let mut room = Vec::new();
    let content = content(markers.without(place, from, &mut room), data);
    let mut to = vec![0; from.len()];
    let marked: Vec<Range<usize>> = markers.iter(place, from).map(|(at, _)| at..at + 4).collect();
    let mut octets = content.into_iter();
    let (mut at, mut marked) = (0, marked.into_iter().peekable());
    while at < to.len() {
        if let Some(marker) = marked.next_if(|marker| marker.start == at) {
            at = marker.end;
            keep(from, &mut to, marker);
            continue;
        }
        write_octets(&mut to, at, &[octets.next().unwrap_or_default()]);
        at += 1;
    }
    let is_whole = markers.fpdu_length(place, from) == Some(from.len());
    if is_whole && let Some((covered, crc)) = from.split_last_chunk::<CRC_LEN>() {
        let right = mpa::crc(to.get(..covered.len()).unwrap_or_default());
        let written = match (*crc == mpa::crc(covered), *crc) {
            (true, _) => right,
            // The field is not used.
            (false, [0, 0, 0, 0]) => [0; CRC_LEN],
            (false, _) => right.map(|octet| !octet),
        };
        write_octets(&mut to, covered.len(), &written);
    }
    to
}

/// Copy of an FPDU without markers; the CRC is zero.
fn content(from: &[u8], data: &[u8]) -> Vec<u8> {
    let mut to = vec![0; from.len()];
    keep(from, &mut to, 0..LENGTH_LEN);
    let Some((ulpdu, length)) = mpa::ulpdu(from) else { return to };
    let Some(segment) = DdpSegment::decode(ulpdu, length) else {
        // It was cut inside its header.
        keep(from, &mut to, 0..LENGTH_LEN + DdpSegment::TAGGED_LEN.min(ulpdu.len()));
        return to;
    };
    let header = LENGTH_LEN + ulpdu.len() - segment.data.len();
    keep(from, &mut to, 0..header);
    let Some(body) = to.get_mut(header..header + segment.data.len()) else { return to };
    match segment.opcode {
        Opcode::READ_REQUEST => keep(segment.data, body, 0..READ_REQUEST),
        Opcode::TERMINATE => terminate(segment.data, body),
        _ => write_octets(body, 0, data.get(..segment.data.len()).unwrap_or(data)),
    }
    to
}

/// Keeps the reason, and the header of the segment that was wrong.
fn terminate(from: &[u8], to: &mut [u8]) {
    keep(from, to, 0..TERMINATE);
    let Some(header) = from.get(TERMINATE..) else { return };
    let Some(segment) = DdpSegment::decode(header, header.len()) else { return };
    let mut end = TERMINATE + header.len() - segment.data.len();
    if segment.opcode == Opcode::READ_REQUEST && from.get(2).is_some_and(|control| control & HAS_READ_REQUEST != 0) {
        end += READ_REQUEST;
    }
    keep(from, to, TERMINATE..end);
}
