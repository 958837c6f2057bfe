//! Capture files: pcap read and written, pcapng written, both compressed.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::Record;

/// The records of a pcap file that is as this machine writes them: little-endian, microseconds.
pub fn read(path: &Path) -> Vec<Record> {
    let file = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xa1b2_c3d4, "{}", path.display());
    let (mut at, mut records) = (24, Vec::new());
    while at < file.len() {
        let (seconds, micros, captured, length) = (word(at), word(at + 4), word(at + 8) as usize, word(at + 12));
        records.push(Record {
            time_ns: u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1000,
            link: word(20) & 0xffff,
            data: file[at + 16..at + 16 + captured].to_vec(),
            length,
        });
        at += 16 + captured;
    }
    records
}

fn u16_in(big_endian: bool, value: u16) -> [u8; 2] {
    if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn u32_in(big_endian: bool, value: u32) -> [u8; 4] {
    if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
}

/// Format of a pcap file; the default is that of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pcap {
    pub big_endian: bool,
    pub nanoseconds: bool,
}

/// A pcap file of `records`, whose link type is that of the first.
pub fn write_pcap(records: &[Record], pcap: Pcap) -> Vec<u8> {
    let word = |value| u32_in(pcap.big_endian, value);
    let half = |value| u16_in(pcap.big_endian, value);
    let mut file = word(if pcap.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }).to_vec();
    file.extend([half(2), half(4)].concat());
    let link = records.first().map_or(1, |record| record.link);
    file.extend([0, 0, 262_144, link].map(word).concat());
    for record in records {
        let fraction = record.time_ns % 1_000_000_000 / if pcap.nanoseconds { 1 } else { 1000 };
        let seconds = record.time_ns / 1_000_000_000;
        file.extend([seconds as u32, fraction as u32, record.data.len() as u32, record.length].map(word).concat());
        file.extend(&record.data);
    }
    file
}

/// A file of `records` as Kuznetzov's libpcap wrote it: interface 2, the ethertype, a packet to another host.
pub fn write_kuznetzov(records: &[Record], big_endian: bool) -> Vec<u8> {
    let word = |value| u32_in(big_endian, value);
    let plain = write_pcap(&[], Pcap { big_endian, nanoseconds: false });
    let mut file = [&word(0xa1b2_cd34)[..], &plain[4..]].concat();
    for record in records {
        let micros = (record.time_ns % 1_000_000_000 / 1000) as u32;
        let seconds = (record.time_ns / 1_000_000_000) as u32;
        file.extend([seconds, micros, record.data.len() as u32, record.length, 2].map(word).concat());
        file.extend([&u16_in(big_endian, 0x0800)[..], &[3, 0]].concat());
        file.extend(&record.data);
    }
    file
}

/// Format of a pcapng file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pcapng {
    pub big_endian: bool,
}

/// `if_tsresol` of the two interfaces of each link type: nanoseconds, and 2^-32 seconds.
const RESOLUTIONS: [u8; 2] = [9, 0x80 | 32];
/// `if_tsoffset` of the two interfaces, in seconds.
const OFFSETS: [i64; 2] = [0, 1_000_000_000];

/// A pcapng file of `records`, with two interfaces of different time units for each link type, used in turn.
pub fn write_pcapng(records: &[Record], pcapng: Pcapng) -> Vec<u8> {
    let word = |value| u32_in(pcapng.big_endian, value);
    let half = |value| u16_in(pcapng.big_endian, value);
    let block = |kind: u32, body: &[u8]| {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let length = word((12 + body.len() + padding.len()) as u32);
        [&word(kind)[..], &length, body, &padding, &length].concat()
    };
    let option = |code: u16, value: &[u8]| {
        let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
        [&half(code)[..], &half(value.len() as u16), value, &padding].concat()
    };
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8], &option(4, b"transcode"), &[0; 4]].concat();
    let mut file = block(0x0a0d_0d0a, &section);
    let mut links: Vec<u32> = Vec::new();
    for (count, record) in records.iter().enumerate() {
        let position = links.iter().position(|link| *link == record.link).unwrap_or(links.len());
        if position == links.len() {
            links.push(record.link);
            for (resolution, offset) in RESOLUTIONS.into_iter().zip(OFFSETS) {
                let offset = if pcapng.big_endian { offset.to_be_bytes() } else { offset.to_le_bytes() };
                let options = [option(2, b"eth0"), option(9, &[resolution]), option(14, &offset), vec![0; 4]].concat();
                file.extend(block(1, &[&half(record.link as u16)[..], &[0, 0], &word(0), &options].concat()));
            }
            // Name resolution: nothing to a reader of frames.
            file.extend(block(4, &[0; 4]));
        }
        let second = count % 2;
        let time = record.time_ns - OFFSETS[second] as u64 * 1_000_000_000;
        // Rounded up, so that rounding down gives the same nanosecond again.
        let units =
            if second == 0 { time } else { ((u128::from(time) << 32).div_ceil(1_000_000_000)).try_into().unwrap() };
        let header = [
            (position * 2 + second) as u32,
            (units >> 32) as u32,
            units as u32,
            record.data.len() as u32,
            record.length,
        ];
        let padding = vec![0; record.data.len().next_multiple_of(4) - record.data.len()];
        let options = [option(2, &word(1)), vec![0; 4]].concat();
        file.extend(block(6, &[&header.map(word).concat()[..], &record.data, &padding, &options].concat()));
    }
    file
}

/// `file` as `gzip` packs it.
pub fn gzip(file: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(file).unwrap();
    encoder.finish().unwrap()
}

/// `file` as `zstd` packs it.
pub fn zstandard(file: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(file, ruzstd::encoding::CompressionLevel::Fastest)
}
