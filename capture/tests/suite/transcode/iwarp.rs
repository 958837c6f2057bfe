//! From iWARP as Linux's siw sends it, without markers and CRCs, to iWARP with them, in other segments.
//!
//! Each end's octets are put together, its setup frame and FPDUs are written anew, and each frame of the capture is given
//! the octets that stand for its own: so what was lost, late or retransmitted still is.

use std::collections::BTreeMap;

use super::Record;
use super::crc::crc32c;

/// Options of MPA (RFC 5044).
#[derive(Clone, Copy, Debug)]
pub struct Mpa {
    /// True for each end that wants markers, the client first. The other end sends them.
    pub markers: [bool; 2],
    /// CRCs are in force.
    pub crc: bool,
    /// Revision 1: without the words about RDMA Reads.
    pub old: bool,
    /// Octets of a segment, at most.
    pub segment: usize,
    /// The CRC of this FPDU of the server's is wrong.
    pub wrong: Option<usize>,
}

const SERVICE: [u8; 2] = 20049_u16.to_be_bytes();
const IP: usize = 14;
const TCP: usize = IP + 20;

/// A frame of the connection: 0 from the client, 1 from the server.
struct Segment {
    from: usize,
    sequence: u32,
    acknowledges: u32,
    header: usize,
    payload: usize,
}

fn u32_at(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at..at + 4].try_into().unwrap())
}

/// The frame as a segment of the connection to port 20049, over IPv4 without options.
fn segment(frame: &[u8]) -> Option<Segment> {
    if frame[12..14] != [0x08, 0x00] || frame[IP + 9] != 6 {
        return None;
    }
    let from = [&frame[TCP + 2..TCP + 4], &frame[TCP..TCP + 2]].iter().position(|port| *port == SERVICE);
    let header = TCP + usize::from(frame[TCP + 12] >> 4) * 4;
    let end = IP + usize::from(u16::from_be_bytes([frame[IP + 2], frame[IP + 3]]));
    Some(Segment {
        from: from?,
        sequence: u32_at(frame, TCP + 4),
        acknowledges: u32_at(frame, TCP + 8),
        header,
        payload: end - header,
    })
}

/// The octets that one end sent, before and after the change. Places count from the number of the SYN.
#[derive(Default)]
struct Stream {
    start: u32,
    old: Vec<u8>,
    new: Vec<u8>,
    /// Places of the frames, new by old.
    places: BTreeMap<usize, usize>,
}

impl Stream {
    /// The new place of an old one. What is inside a frame stays as far from its beginning.
    fn place(&self, old: usize) -> usize {
        let (start, new) = self.places.range(..=old).next_back().unwrap();
        let end = self.places.range(old + 1..).next().map_or(usize::MAX, |(_, end)| *end);
        (new + (old - start)).min(end)
    }

    fn number(&self, number: u32) -> u32 {
        self.start.wrapping_add(self.place(number.wrapping_sub(self.start) as usize) as u32)
    }

    /// Writes the setup frame and the FPDUs anew.
    fn rewrite(&mut self, mpa: Mpa, from: usize) {
        let old = &self.old;
        let mut new = vec![0]; // the SYN
        self.places.extend([(0, 0), (1, 1)]);
        let private_data = usize::from(u16::from_be_bytes([old[19], old[20]]));
        let flags = if mpa.markers[from] { 0x80 } else { 0 } | if mpa.crc { 0x40 } else { 0 };
        let (flags, revision, skipped) = if mpa.old { (flags, 1, 4) } else { (flags | 0x10, 2, 0) };
        new.extend(&old[1..17]);
        new.extend([flags, revision]);
        new.extend(((private_data - skipped) as u16).to_be_bytes());
        new.extend(&old[21 + skipped..21 + private_data]);
        let (begin, mut at) = (new.len(), 21 + private_data);
        let is_marked = mpa.markers[1 - from];
        let mut count = 0;
        while at < old.len() {
            self.places.insert(at, new.len());
            let length = usize::from(u16::from_be_bytes([old[at], old[at + 1]]));
            let content = (2 + length).next_multiple_of(4);
            let (start, mut header) = (new.len(), None);
            let mut crc = Vec::new();
            for octet in 0..content + 4 {
                if is_marked && (new.len() - begin) % 512 == 0 {
                    let back = header.map_or(0, |header| new.len() - header) as u16;
                    new.extend([0, 0]);
                    new.extend(back.to_be_bytes());
                }
                header.get_or_insert(new.len());
                if octet == content {
                    let sum = if mpa.crc { crc32c(&new[start..]) } else { 0 };
                    let is_wrong = from == 1 && mpa.wrong == Some(count);
                    crc = (sum ^ if is_wrong { 0x100 } else { 0 }).to_le_bytes().to_vec();
                }
                new.push(if octet < content { old[at + octet] } else { crc[octet - content] });
            }
            at += content + 4;
            count += 1;
        }
        self.places.insert(at, new.len());
        self.new = new;
    }
}

/// The capture of one iWARP connection with other MPA, in segments of no more than this many octets.
pub fn with_mpa(records: &[Record], mpa: Mpa) -> Vec<Record> {
    let mut streams = [Stream::default(), Stream::default()];
    for record in records {
        let Some(segment) = segment(&record.data) else { continue };
        let stream = &mut streams[segment.from];
        if record.data[TCP + 13] & 0x02 != 0 {
            stream.start = segment.sequence;
        }
        let at = segment.sequence.wrapping_sub(stream.start) as usize;
        let end = at + segment.payload;
        if segment.payload > 0 {
            stream.old.resize(stream.old.len().max(end), 0);
            stream.old[at..end].copy_from_slice(&record.data[segment.header..segment.header + segment.payload]);
        }
    }
    for (from, stream) in streams.iter_mut().enumerate() {
        stream.rewrite(mpa, from);
    }
    records.iter().flat_map(|record| rewrite(record, &streams, mpa.segment)).collect()
}

fn rewrite(record: &Record, streams: &[Stream; 2], most: usize) -> Vec<Record> {
    let frame = &record.data;
    let Some(segment) = segment(frame) else { return vec![record.clone()] };
    let (own, other) = (&streams[segment.from], &streams[1 - segment.from]);
    let at = segment.sequence.wrapping_sub(own.start) as usize;
    let (first, last) = (own.place(at), own.place(at + segment.payload));
    let payload = if segment.payload > 0 { &own.new[first..last] } else { &[] };
    let pieces: Vec<&[u8]> = if payload.is_empty() { vec![payload] } else { payload.chunks(most).collect() };
    let mut place = first;
    let write = |piece: &[u8]| {
        let mut data = [&frame[..segment.header], piece].concat();
        let length = (data.len() - IP) as u16;
        data[IP + 2..IP + 4].copy_from_slice(&length.to_be_bytes());
        data[TCP + 4..TCP + 8].copy_from_slice(&own.start.wrapping_add(place as u32).to_be_bytes());
        if frame[TCP + 13] & 0x10 != 0 {
            data[TCP + 8..TCP + 12].copy_from_slice(&other.number(segment.acknowledges).to_be_bytes());
        }
        place += piece.len();
        record.with(record.link, data)
    };
    pieces.into_iter().map(write).collect()
}

/// The TCP segments over IPv6, with addresses of the same last octets; the other frames as they are.
pub fn over_ipv6(records: &[Record]) -> Vec<Record> {
    let rewrite = |record: &Record| {
        let frame = &record.data;
        if segment(frame).is_none() {
            return record.clone();
        }
        let end = IP + usize::from(u16::from_be_bytes([frame[IP + 2], frame[IP + 3]]));
        let tcp = &frame[TCP..end];
        let address = |at: usize| [&[0x20, 0x01, 0x0d, 0xb8][..], &[0; 8], &frame[at..at + 4]].concat();
        let mut data = [&frame[..12], &[0x86, 0xdd, 0x60, 0, 0, 0]].concat();
        data.extend((tcp.len() as u16).to_be_bytes());
        data.extend([6, 64]);
        data.extend([address(IP + 12), address(IP + 16), tcp.to_vec()].concat());
        record.with(record.link, data)
    };
    records.iter().map(rewrite).collect()
}
