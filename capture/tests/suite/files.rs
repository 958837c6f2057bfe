//! Every file format gives the same frames, every damage is named with its offset, and no frame waits for the next.

use std::io::{self, Read};
use std::sync::mpsc;

use rpcrdma_dissector::{Capture, FileError, Problem, Reader, Time};

use crate::transcode::{self, Pcap, Pcapng, Record};

/// All frames of a file, and the error it ends with.
fn frames(file: impl Read + Send) -> (Vec<Record>, Option<FileError>) {
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut records = Vec::new();
    while let Some(frame) = reader.next() {
        match frame {
            Ok(frame) => {
                assert_eq!(frame.number, records.len() as u64 + 1);
                let (link, data) = (frame.link.0, frame.data.to_vec());
                records.push(Record { time_ns: frame.time.0, link, data, length: frame.length });
            }
            Err(error) => {
                assert!(reader.next().is_none(), "nothing comes after an error");
                return (records, Some(error));
            }
        }
    }
    (records, None)
}

/// The frames of a file that has nothing wrong with it.
fn whole(file: &[u8]) -> Vec<Record> {
    let (records, error) = frames(file);
    assert!(error.is_none(), "{error:?}");
    records
}

/// A reader that gives few octets at a time, and is interrupted.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = octets.len().min(self.0.len()).min(1 + self.1 % 7);
        octets[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[test]
fn all_formats_give_the_same_frames() {
    let records = transcode::cut(&transcode::capture("nfs41"), 700);
    for big_endian in [false, true] {
        for nanoseconds in [false, true] {
            let file = transcode::write_pcap(&records, Pcap { big_endian, nanoseconds });
            assert_eq!(whole(&file), records);
        }
        let file = transcode::write_pcapng(&records, Pcapng { big_endian });
        assert_eq!(whole(&file), records);
    }
}

#[test]
fn compressed_files_give_the_same_frames() {
    let records = transcode::capture("nfs3_ipv6");
    let file = transcode::write_pcap(&records, Pcap::default());
    for packed in [transcode::gzip(&file), transcode::zstandard(&file)] {
        assert!(packed.len() < file.len());
        assert_eq!(whole(&packed), records);
    }
    // Several streams in a row are one.
    let (first, second) = file.split_at(100_001);
    for pack in [transcode::gzip, transcode::zstandard] {
        assert_eq!(whole(&[pack(first), pack(second)].concat()), records);
    }
}

/// One frame of three octets, packed by gzip 1.12, zstd 1.5.4, and by zstd after a skippable frame.
#[test]
fn files_packed_by_the_usual_programs_are_read() {
    for hex in PACKED {
        let octets: Vec<u8> = hex
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        let records = whole(&octets);
        assert_eq!(records, [Record { time_ns: 7_000_008_000, link: 1, data: vec![0xaa, 0xbb, 0xcc], length: 60 }]);
    }
}

const PACKED: [&str; 3] = [
    "1f8b0800000000000003bb7278d34226061606046061600492ec40cc01c4cc406c03c4ab769f01002c57d0452b000000",
    "28b52ffd04584501001402d4c3b2a1020004000400010000000700000008000000030000003c000000aabbcc01001be0026a06a11a",
    "502a4d1804000000736b697028b52ffd04584501001402d4c3b2a1020004000400010000000700000008000000030000003c000000aabbcc01001be0026a06a11a",
];

#[test]
fn octets_may_arrive_one_by_one() {
    let records = transcode::capture("nfs41_callback");
    let pcap = transcode::write_pcap(&records, Pcap::default());
    let pcapng = transcode::write_pcapng(&records, Pcapng::default());
    for file in [&pcap, &pcapng, &transcode::gzip(&pcap), &transcode::zstandard(&pcapng)] {
        let (trickled, error) = frames(Trickle(file, 0));
        assert!(error.is_none(), "{error:?}");
        assert_eq!(trickled, records);
    }
}

#[test]
fn a_small_buffer_gives_the_same_frames() {
    let records = transcode::capture("nfs41_callback");
    let pcap = transcode::write_pcap(&records, Pcap::default());
    for file in [&pcap, &transcode::write_pcapng(&records, Pcapng::default()), &transcode::gzip(&pcap)] {
        for capacity in [0, 5, 4096] {
            let mut reader = Reader::with_capacity(capacity, file.as_slice()).unwrap();
            for record in &records {
                let frame = reader.next().unwrap().unwrap();
                assert_eq!((frame.time, frame.data), (Time(record.time_ns), record.data.as_slice()), "{capacity}");
            }
            assert!(reader.next().is_none(), "{capacity}");
        }
    }
}

#[test]
fn frames_larger_than_the_buffer_are_whole() {
    let data: Vec<u8> = (0..1_000_003_u32).map(|n| n as u8).collect();
    let large = Record { time_ns: 1_700_000_000_000_001_000, link: 1, length: data.len() as u32, data };
    let small = Record { time_ns: 1_700_000_000_000_002_000, link: 1, length: 3, data: vec![1, 2, 3] };
    let records = [small.clone(), large.clone(), small.clone(), large, small];
    assert_eq!(whole(&transcode::write_pcap(&records, Pcap::default())), records);
    assert_eq!(whole(&transcode::write_pcapng(&records, Pcapng::default())), records);
}

#[test]
fn a_truncated_file_gives_all_frames_and_the_offset() {
    let records = transcode::capture("nfs41_callback")[..7].to_vec();
    let file = transcode::write_pcap(&records, Pcap::default());
    let mut starts = vec![24];
    for record in &records {
        starts.push(starts.last().unwrap() + 16 + record.data.len());
    }
    for length in 24..=file.len() {
        let (given, error) = frames(&file[..length]);
        let before = starts.iter().filter(|start| **start <= length).count() - 1;
        assert_eq!(given, records[..before]);
        if length == starts[before] {
            assert!(error.is_none());
            continue;
        }
        let error = error.unwrap();
        assert!(matches!(error.problem, Problem::EndsInside("a record")) && error.is_damage());
        assert_eq!(error.offset, starts[before] as u64);
    }
    for length in 4..24 {
        let error = frames(&file[..length]).1.unwrap();
        assert!(matches!(error.problem, Problem::EndsInside("the file header")) && error.is_damage());
    }
}

#[test]
fn a_pcapng_file_that_ends_early_gives_all_before() {
    let records = transcode::capture("nfs41_callback")[..7].to_vec();
    let file = transcode::write_pcapng(&records, Pcapng { big_endian: true });
    let mut most = 0;
    for length in 4..file.len() {
        let (given, error) = frames(&file[..length]);
        assert_eq!(given, records[..given.len()]);
        assert!(error.is_none_or(|error| error.is_damage() && error.offset < length as u64));
        assert!(given.len() >= most);
        most = given.len();
    }
    assert_eq!(most, records.len() - 1);
}

#[test]
fn a_truncated_compressed_file_gives_all_decoded_frames() {
    let records = transcode::capture("nfs3");
    let file = transcode::write_pcap(&records, Pcap::default());
    for packed in [transcode::gzip(&file), transcode::zstandard(&file)] {
        let (given, error) = frames(&packed[..packed.len() * 3 / 4]);
        // All but the last block of Zstandard (128 KiB).
        assert!(given.len() > records.len() * 5 / 8, "{} of {}", given.len(), records.len());
        assert_eq!(given, records[..given.len()]);
        let error = error.unwrap();
        assert!(matches!(error.problem, Problem::Compression(_)) && error.is_damage(), "{error}");
        assert!(error.offset > 0 && error.to_string().ends_with(": the compressed file ends early"), "{error}");
    }
}

#[test]
fn a_damaged_gzip_file_gives_all_before_the_damage() {
    let records = transcode::capture("nfs3");
    let packed = transcode::gzip(&transcode::write_pcap(&records, Pcap::default()));
    for place in (1000..packed.len() - 8).step_by(packed.len() / 40) {
        let mut damaged = packed.clone();
        damaged[place..place + 4].fill(0xff);
        let (given, error) = frames(&damaged[..]);
        // Nothing that comes late can be lost by taking few octets at a time.
        let (trickled, _) = frames(Trickle(&damaged, 0));
        assert_eq!(given.len(), trickled.len(), "damaged at octet {place}");
        assert_eq!(given, trickled, "damaged at octet {place}");
        assert!(error.is_some(), "damaged at octet {place}");
    }
}

#[test]
fn signals_between_compressed_streams_do_not_end_the_file() {
    let records = transcode::capture("nfs41_callback");
    let file = transcode::write_pcap(&records, Pcap::default());
    for pack in [transcode::gzip, transcode::zstandard] {
        let streams: Vec<u8> = file.chunks(500).flat_map(pack).collect();
        // Every third read is interrupted.
        let (given, error) = frames(Trickle(&streams, 0));
        assert!(error.is_none(), "{error:?}");
        assert_eq!(given, records);
    }
}

/// Errors about damaged compressed files are in our words, whichever package detects the damage.
#[test]
fn damage_of_compression_is_said_in_plain_words() {
    // Blocks of the types that are reserved (RFC 1951 section 3.2.3, RFC 8878 section 3.1.1.2).
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x07];
    let zstandard = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x07, 0, 0];
    for packed in [&gzip[..], &zstandard] {
        let error = frames(packed).1.unwrap().to_string();
        assert!(error.ends_with(": the compressed file is damaged"), "{error}");
    }
    // A Zstandard frame that asks for a window of 2 GiB.
    let error = frames(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0, 0, 0, 0][..]).1.unwrap().to_string();
    assert!(error.ends_with("needs a dictionary, or a window of more than 128 MiB"), "{error}");
}

#[test]
fn what_is_no_capture_is_named_so() {
    for (file, said) in [
        (&b""[..], "the file is empty"),
        (&transcode::gzip(b""), "the file is empty"),
        (b"#!/bin/sh\nexit\n", "a text file, not a capture file (pcap, pcapng or ERF)"),
        (&transcode::gzip(b"hello"), "a text file, not a capture file (pcap, pcapng or ERF)"),
        // As `xz` and `bzip2` begin what they write.
        (
            b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46",
            "compressed with xz, which is not supported: decompress it first, with xz -d",
        ),
        (
            b"BZh91AY&SY\x17\x72\x45\x38",
            "compressed with bzip2, which is not supported: decompress it first, with bzip2 -d",
        ),
        (
            b"snoop\0\0\0\0\0\0\x02\0\0\0\x04",
            "a snoop file, which is not read: convert it first, with editcap -F pcapng IN OUT",
        ),
        (b"GMBU\0\x02\x01\0", "a NetMon file, which is not read: convert it first, with editcap -F pcapng IN OUT"),
        (b"RTSS\0\x01\x01\0", "a NetMon file, which is not read: convert it first, with editcap -F pcapng IN OUT"),
        (b"\xd4\xc3\xb2", "not a capture file (pcap, pcapng or ERF)"),
        (&[0; 100], "not a capture file (pcap, pcapng or ERF)"),
    ] {
        let error = frames(file).1.unwrap();
        assert!(!error.is_damage(), "{error}");
        assert_eq!(error.to_string(), said);
    }
    let mut missing = Capture::from_paths(["/nonexistent/x.pcap"]);
    let error = missing.next().unwrap().unwrap_err();
    assert!(matches!(error.problem, Problem::Unreadable(_)) && !error.is_damage());
    assert!(error.to_string().starts_with("/nonexistent/x.pcap: "), "{error}");
    assert!(missing.next().is_none());
}

/// Kuznetzov's format: one record of three octets, on interface 2, with ethertype 0x0800, to another host.
#[test]
fn a_record_may_have_a_longer_header() {
    let file = [
        0x34, 0xcd, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0, // file header
        7, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 60, 0, 0, 0, 2, 0, 0, 0, 0x00, 0x08, 3, 0, 0xaa, 0xbb, 0xcc,
    ];
    let records = [Record { time_ns: 7_000_008_000, link: 1, data: vec![0xaa, 0xbb, 0xcc], length: 60 }];
    assert_eq!(whole(&file), records);
    assert_eq!(whole(&transcode::write_kuznetzov(&records, true)), records);
    assert_eq!(whole(&transcode::write_kuznetzov(&records, false)), records);
    for length in 25..file.len() {
        assert!(matches!(frames(&file[..length]).1.unwrap().problem, Problem::EndsInside("a record")), "{length}");
    }
}

/// A record at 2023-11-14 22:13:20.5 of a frame of 64 octets with its check sequence, cut to 8 octets.
const ERF: [u8; 26] =
    [0, 0, 0, 0x80, 0x00, 0xf1, 0x53, 0x65, 2, 0x04, 0, 26, 0, 0, 0, 64, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0];

#[test]
fn records_of_erf_need_no_file_header() {
    let record = Record { time_ns: 1_700_000_000_500_000_000, link: 197, data: ERF.to_vec(), length: 16 + 2 + 60 };
    for count in 1..5 {
        let file = ERF.repeat(count);
        let records = vec![record.clone(); count];
        assert_eq!(whole(&file), records);
        let (trickled, error) = frames(Trickle(&file, 0));
        assert!(error.is_none() && trickled == records);
    }
    // An Ethernet frame that is there without its check sequence is not cut.
    let mut exact = ERF;
    exact[15] = 12;
    assert_eq!(whole(&exact)[0].length, 26);

    let file = ERF.repeat(4);
    for length in 3 * ERF.len() + 1..file.len() {
        let (given, error) = frames(&file[..length]);
        assert_eq!(given.len(), 3);
        assert_eq!(error.unwrap().offset, 3 * ERF.len() as u64);
    }
}

/// No field of ERF is constant, so garbage must not be taken for it.
#[test]
fn only_plausible_records_are_erf() {
    let is_erf = |file: &[u8]| frames(file).1.is_none_or(|error| error.is_damage());
    assert!(is_erf(&ERF));
    let changed = |at: usize, value: u8| {
        let mut records = [ERF, ERF];
        records[1][at] = value;
        records.concat()
    };
    assert!(is_erf(&changed(3, 0x81)));
    for (at, value) in [(7, 0x10), (7, 0xff), (6, 0x40), (8, 0), (8, 0x7f), (11, 16), (11, 27), (11, 25)] {
        assert!(!is_erf(&changed(at, value)), "octet {at}: {value:#x}");
    }
    let mut random = transcode::Random(1);
    for _ in 0..20_000 {
        let octets: Vec<u8> = (0..16).flat_map(|_| random.number().to_le_bytes()).collect();
        assert!(!is_erf(&octets));
        // Nor with a time that is right by chance.
        let mut timely = octets;
        timely[..8].copy_from_slice(&ERF[..8]);
        assert!(!is_erf(&timely));
    }
}

#[test]
fn absurd_lengths_are_damage() {
    let file = transcode::write_pcap(&transcode::capture("nfs41_callback")[..2], Pcap::default());
    let at = 24 + 16 + 90;
    for claimed in [u32::MAX, 0x7fff_ffff, (16 << 20) + 1] {
        let mut damaged = file.clone();
        damaged[at + 8..at + 12].copy_from_slice(&claimed.to_le_bytes());
        let (given, error) = frames(&damaged[..]);
        let error = error.unwrap();
        assert_eq!(given.len(), 1);
        assert!(matches!(error.problem, Problem::RecordLength(length) if length == claimed));
        assert_eq!(error.offset, at as u64);
    }
}

#[test]
fn every_changed_octet_of_a_pcapng_file_is_survived() {
    let records = transcode::cut(&transcode::capture("nfs41_callback")[..5], 60);
    let file = transcode::write_pcapng(&records, Pcapng::default());
    for at in 0..file.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[at] = value;
            assert!(frames(&damaged[..]).0.len() <= records.len());
        }
    }
}

#[test]
fn a_block_whose_lengths_differ_is_damage() {
    let records = transcode::capture("nfs41_callback")[..3].to_vec();
    let mut file = transcode::write_pcapng(&records, Pcapng::default());
    let last = file.len() - 4;
    file[last] += 4;
    let (given, error) = frames(&file[..]);
    assert_eq!(given, records[..2]);
    assert!(matches!(error.unwrap().problem, Problem::Damaged("a block has two different lengths")));
}

#[test]
fn the_frame_check_sequence_is_left_out() {
    let records = transcode::capture("nfs41_callback")[..3].to_vec();
    let mut file = transcode::write_pcap(&transcode::with_trailer(&records, 4), Pcap::default());
    file[23] = 0x24; // valid, two units of 16 bits
    assert_eq!(whole(&file), records);
}

/// Written by hand from the format's description: a section of one order after a section of the other, a Simple Packet
/// (no time, cut by the interface's snaplen), and the obsolete Packet.
#[test]
fn old_and_simple_packets_and_sections_of_both_orders() {
    let big: &[u8] = &[
        0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255,
        255, 0, 0, 0, 28, // section
        0, 0, 0, 1, 0, 0, 0, 20, 0, 1, 0, 0, 0, 0, 0, 5, 0, 0, 0, 20, // Ethernet, snaplen 5
        0, 0, 0, 3, 0, 0, 0, 24, 0, 0, 0, 60, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 24, // Simple Packet
    ];
    let little: &[u8] = &[
        0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255,
        255, 28, 0, 0, 0, // section
        1, 0, 0, 0, 20, 0, 0, 0, 247, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, // InfiniBand, no snaplen
        2, 0, 0, 0, 36, 0, 0, 0, 0, 0, 9, 9, 0, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 8, 9, 0, 0, 36, 0, 0, 0,
    ];
    let simple = Record { time_ns: 0, link: 1, data: vec![1, 2, 3, 4, 5], length: 60 };
    let old = Record { time_ns: 7000, link: 247, data: vec![8, 9], length: 2 };
    assert_eq!(whole(&[big, little].concat()), [simple.clone(), old.clone()]);
    assert_eq!(whole(&[little, big].concat()), [old, simple]);
}

/// `if_tsoffset` is a number with a sign (section 4.2 of the format's description).
#[test]
fn times_are_shifted_by_an_offset_of_either_sign() {
    for (offset, expected) in [(3_i64, 10), (-3, 4), (-7, 0), (-8, 0), (i64::MIN, 0)] {
        let mut file = vec![
            0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255,
            255, 28, 0, 0, 0, // section
            1, 0, 0, 0, 36, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 14, 0, 8, 0, // Ethernet, an option of 8 octets
        ];
        file.extend(offset.to_le_bytes());
        file.extend([0, 0, 0, 0, 36, 0, 0, 0]);
        file.extend([6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        file.extend(7_000_000_u32.to_le_bytes());
        file.extend([2, 0, 0, 0, 2, 0, 0, 0, 8, 9, 0, 0, 36, 0, 0, 0]);
        let record = Record { time_ns: expected * 1_000_000_000, link: 1, data: vec![8, 9], length: 2 };
        assert_eq!(whole(&file), [record], "{offset}");
    }
}

#[test]
fn several_files_are_one_capture_despite_damage_in_one() {
    let records = transcode::capture("nfs41_callback");
    let (first, second) = records.split_at(50);
    let first = transcode::write_pcap(first, Pcap::default());
    let stream = |name: &str, octets: &[u8]| {
        (name.to_owned(), Box::new(io::Cursor::new(octets.to_vec())) as Box<dyn Read + Send>)
    };
    let mut capture = Capture::from_streams([
        stream("first", &first[..first.len() - 1]),
        stream("bad", b"nothing"),
        stream("second", &transcode::gzip(&transcode::write_pcapng(second, Pcapng::default()))),
    ]);
    let (mut numbers, mut errors) = (Vec::new(), Vec::new());
    while let Some(frame) = capture.next() {
        match frame {
            Ok(frame) => numbers.push(frame.number),
            Err(error) => errors.push(error.to_string()),
        }
    }
    assert_eq!(numbers, (1..=records.len() as u64 - 1).collect::<Vec<_>>());
    let at = first.len() - 16 - records[49].data.len();
    assert_eq!(
        errors,
        [
            format!("first: at octet {at}: the file ends in the middle of a record"),
            "bad: a text file, not a capture file (pcap, pcapng or ERF)".to_owned()
        ]
    );
}

/// A pipe with the output of a live capture, which may never get any more.
struct Pipe(mpsc::Receiver<Vec<u8>>);

impl Read for Pipe {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        let chunk = self.0.try_recv().map_err(|_| io::Error::other("would wait"))?;
        octets[..chunk.len()].copy_from_slice(&chunk);
        Ok(chunk.len())
    }
}

#[test]
fn a_frame_is_given_before_the_next_arrives() {
    let records = transcode::capture("nfs41_callback")[..5].to_vec();
    let pcap = transcode::write_pcap(&records, Pcap::default());
    let pcapng = transcode::write_pcapng(&records, Pcapng::default());
    for (file, header) in [(pcap, 24), (pcapng, 52)] {
        let (sender, receiver) = mpsc::channel();
        sender.send(file[..header].to_vec()).unwrap();
        let mut reader = Reader::new(Pipe(receiver)).unwrap();
        let mut sent = header;
        for record in &records {
            // As many octets as the frame needs are sent, and it is there.
            let end = sent + file[sent..].windows(record.data.len()).position(|part| part == record.data).unwrap();
            let rest = file[end + record.data.len()..].to_vec();
            let end = if header == 24 { end + record.data.len() } else { file.len() - after_block(&rest) };
            sender.send(file[sent..end].to_vec()).unwrap();
            sent = end;
            assert_eq!(reader.next().unwrap().unwrap().data, record.data);
        }
    }
}

/// Returns the length of `rest`, which follows the octets of a packet, after the end of its block: padding, options and
/// length.
fn after_block(rest: &[u8]) -> usize {
    let padding = rest.iter().position(|octet| *octet != 0).unwrap();
    rest.len() - padding - 8 - 4 - 4
}
