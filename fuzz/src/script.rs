//! Frames as described by an input: a piece of a real capture, and the changes.
//!
//! ```text
//!  0        1        2             4             6
//! +--------+--------+-------------+-------------+-----------//
//! | which  | how    | first frame | frames      | steps ...
//! +--------+--------+-------------+-------------+-----------//
//!
//! step
//!  0        1        2             4             6             8
//! +--------+--------+-------------+-------------+-------------+
//! | kind   | value  | at          | position    | word        |
//! +--------+--------+-------------+-------------+-------------+
//! ```
//!
//! "Which" is a capture; the top bit says that frames are only lost, cut, repeated and moved. "How" is a link layer in
//! the low half and [`Config`] in the high half. "Frames" is the number of frames after the first; a number from 8192
//! on stands for one of 64 short pieces. Numbers are big-endian and taken modulo what is possible, so that every input
//! is a script. The kind 0x14 puts all frames into the encapsulation that "value" names, also into several, one around
//! the other.

use rpcrdma_dissector::Config;

use crate::captures::{Known, Record};
use crate::encapsulate::{ADDED, encapsulate};
use crate::wrap::wrap;

/// The most frames that a script makes.
const FRAMES: usize = 8192;
/// Maximum number of octets of all frames together.
const OCTETS: usize = 8 << 20;
/// Number of frames of a capture that an input can name.
const MANY: usize = 1 << 13;
/// Number of frames for a script that names more.
const SHORT: usize = 64;
/// Maximum number of copies of a frame in one step, unless bit 5 of the kind allows more.
const COPIES: usize = 256;
/// Extent of the headers, where most changes go.
const HEADERS: usize = 128;
/// The index of the word that ends with the packet number in RoCEv2 over IPv4 and Ethernet.
const PACKET_NUMBER: usize = 14 + 20 + 8 + 8;
/// The kind of a step that encapsulates.
const ENCAPSULATE: u8 = 0x14;
/// The known link types, and one that is unknown.
const LINKS: [u32; 16] = [1, 12, 14, 101, 113, 197, 228, 229, 247, 276, 42, 0, 108, 192, 219, 239];

/// The result of a script.
pub(crate) struct Script {
    pub(crate) known: &'static Known,
    pub(crate) records: Vec<Record>,
    pub(crate) config: Config,
    /// True if frames were only lost, cut, repeated or moved: then every octet that is found must be right.
    pub(crate) honest: bool,
}

/// A change of the frames.
struct FrameChange<'a> {
    kind: u8,
    value: u8,
    at: usize,
    position: usize,
    word: u16,
    /// The steps that follow, as octets.
    rest: &'a [[u8; 8]],
}

impl Script {
    pub(crate) fn new(input: &[u8]) -> Self {
        let (&[which, how, f0, f1, n0, n1], steps) = input.split_first_chunk().unwrap_or((&[0; 6], &[]));
        let known = Known::get_capture(which & 0x7f);
        let first = usize::from(u16::from_be_bytes([f0, f1])) % known.records.len();
        let count = match usize::from(u16::from_be_bytes([n0, n1])) {
            count if count < MANY => count + 1,
            // Short pieces can be run far more often in the same time, so most numbers stand for one.
            other => other % SHORT + 1,
        };
        let records = known.records.iter().skip(first).take(count).map(|record| wrap(record, how & 15)).collect();
        let mut script = Self { known, records, config: config(how), honest: true };
        // The checksums are not computed again when a frame is wrapped.
        script.config.verify_crc &= how & 15 == 0;
        let (mut steps, _) = steps.as_chunks();
        while let Some((step, rest)) = steps.split_first() {
            let mut step = FrameChange::new(step, rest);
            if which & 0x80 != 0 && step.kind != ENCAPSULATE {
                step.kind %= 8;
            }
            steps = script.apply_step(&step);
        }
        script
    }

    /// Takes a step, and returns the octets of the next ones.
    fn apply_step<'a>(&mut self, step: &FrameChange<'a>) -> &'a [[u8; 8]] {
        if step.kind % 16 >= 8 {
            self.honest = false;
        }
        if self.records.is_empty() {
            return step.rest;
        }
        if step.kind == ENCAPSULATE {
            self.encapsulate(step);
            return step.rest;
        }
        let at = step.at % self.records.len();
        match step.kind % 16 {
            0 => _ = self.records.remove(at),
            1 => _ = self.records.drain(at..self.records.len().min(at + usize::from(step.value) + 1)),
            2 => self.repeat(at, step.position),
            3 | 4 => self.exchange(at, step.position % (usize::from(step.value) + 2)),
            5 => self.records.iter_mut().skip(at).take(usize::from(step.value) + 1).for_each(|record| {
                record.data.truncate(step.position);
            }),
            6 => self.records.rotate_left(at),
            7 => self.records.iter_mut().skip(at).for_each(|record| record.time = time(step)),
            8 => return self.insert(at, step),
            9 => self.flood(at, step),
            10 => self.splice(at, step),
            11 => self.lie(at, step),
            12 => self.set_octet(at, step, |_| step.value),
            13 => self.set_octet(at, step, |octet| octet ^ step.value),
            14 => self.set_word(at, step.position, |word| word.wrapping_add(u32::from(step.word))),
            _ => self.set_word(at, step.position, |_| one_of(&[0, 1, 0x7fff_ffff, u32::MAX], step.value.into())),
        }
        step.rest
    }

    fn has_room(&self, more: usize) -> bool {
        let octets: usize = self.records.iter().map(|record| record.data.len()).sum();
        self.records.len() < FRAMES && octets + more < OCTETS
    }

    /// Puts all frames into an encapsulation: a mirror does that with each.
    fn encapsulate(&mut self, step: &FrameChange<'_>) {
        if self.has_room(self.records.len() * ADDED) {
            self.records.iter_mut().for_each(|record| *record = encapsulate(record, step.value, step.word));
        }
    }

    /// Repeats the frame some positions later.
    fn repeat(&mut self, at: usize, later: usize) {
        let Some(record) = self.records.get(at).cloned() else { return };
        if self.has_room(record.data.len()) {
            self.records.insert((at + 1).saturating_add(later).min(self.records.len()), record);
        }
    }

    fn exchange(&mut self, at: usize, distance: usize) {
        let other = (at + distance).min(self.records.len() - 1);
        self.records.swap(at, other);
    }

    /// Inserts a frame of the script's own octets.
    fn insert<'a>(&mut self, at: usize, step: &FrameChange<'a>) -> &'a [[u8; 8]] {
        let (data, rest) = step.rest.split_at(usize::from(step.value).min(step.rest.len()));
        let link = one_of(&LINKS, step.word.into());
        let data = data.as_flattened().to_vec();
        self.records.insert(
            at,
            Record { origin: 0, time: time(step), link, length: (data.len() + step.position) as u32, data },
        );
        rest
    }

    /// Repeats the frame many times, with a word counting up, and the packet number too if bit 4 of the kind says so.
    fn flood(&mut self, at: usize, step: &FrameChange<'_>) {
        let Some(mut record) = self.records.get(at).cloned() else { return };
        let mut copies = Vec::new();
        let room = FRAMES.saturating_sub(self.records.len()).min(OCTETS / 2 / (record.data.len() + 64));
        let most = if step.kind & 0x20 == 0 { COPIES } else { FRAMES };
        for _ in 0..step.position.min(most).min(room) {
            change(&mut record, usize::from(step.value), |word| word.wrapping_add(u32::from(step.word)));
            change(&mut record, PACKET_NUMBER, |word| word.wrapping_add(u32::from(step.kind >> 4 & 1)));
            copies.push(record.clone());
        }
        if self.has_room(copies.iter().map(|record| record.data.len()).sum()) {
            self.records.splice(at..at, copies);
        }
    }

    /// Joins the beginning of one frame and the end of another.
    fn splice(&mut self, at: usize, step: &FrameChange<'_>) {
        let other = self.known.records.get(step.position % self.known.records.len());
        let end = other.and_then(|other| other.data.get(usize::from(step.word)..)).unwrap_or_default().to_vec();
        if let Some(record) = self.records.get_mut(at) {
            record.data.truncate(usize::from(step.value));
            record.data.extend(end);
            record.length = record.data.len() as u32;
        }
    }

    /// Gives the frame a wrong link type, or a wrong length on the wire.
    fn lie(&mut self, at: usize, step: &FrameChange<'_>) {
        let Some(record) = self.records.get_mut(at) else { return };
        match step.value & 3 {
            0 => record.link = one_of(&LINKS, step.word.into()),
            1 => record.length = u32::from(step.word),
            2 => record.length = u32::MAX - u32::from(step.word),
            _ => record.time = time(step),
        }
    }

    fn set_octet(&mut self, at: usize, step: &FrameChange<'_>, change: impl Fn(u8) -> u8) {
        let Some(record) = self.records.get_mut(at) else { return };
        let position = position(record, step.position);
        if let Some(octet) = record.data.get_mut(position) {
            *octet = change(*octet);
        }
    }

    fn set_word(&mut self, at: usize, position: usize, with: impl Fn(u32) -> u32) {
        if let Some(record) = self.records.get_mut(at) {
            change(record, position, with);
        }
    }
}

impl<'a> FrameChange<'a> {
    fn new(step: &[u8; 8], rest: &'a [[u8; 8]]) -> Self {
        let [kind, value, a0, a1, p0, p1, w0, w1] = *step;
        let number = |high, low| usize::from(u16::from_be_bytes([high, low]));
        let word = u16::from_be_bytes([w0, w1]);
        Self { kind, value, at: number(a0, a1), position: number(p0, p1), word, rest }
    }
}

/// The dissector's settings: the usual ones, or each limit as small as possible.
fn config(how: u8) -> Config {
    let mut config = Config::default();
    config.verify_crc = how & 0x10 != 0;
    config.transactions = how & 0x20 == 0;
    if how & 0x40 != 0 {
        config.memory = 8192;
    }
    if how & 0x80 != 0 {
        config.ports.clear();
    }
    config
}

fn one_of<T: Copy + Default>(all: &[T], which: usize) -> T {
    all.get(which % all.len()).copied().unwrap_or_default()
}

fn time(step: &FrameChange<'_>) -> u64 {
    u64::from(step.word) << (step.value & 63)
}

/// A position among the headers, or anywhere if the top bit says so.
fn position(record: &Record, position: usize) -> usize {
    let among = if position & 0x8000 == 0 { HEADERS } else { usize::MAX };
    position % record.data.len().clamp(1, among)
}

fn change(record: &mut Record, at: usize, with: impl Fn(u32) -> u32) {
    let position = position(record, at);
    if let Some(word) = record.data.get_mut(position..).and_then(|rest| rest.first_chunk_mut()) {
        *word = with(u32::from_be_bytes(*word)).to_be_bytes();
    }
}
