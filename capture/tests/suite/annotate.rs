//! Annotated captures: the frames octet by octet, and the comments as a small pcapng reader of our own and tshark read them.
//!
//! Where tshark is not installed the test that needs it says so and passes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use rpcrdma_answers::annotate::{Annotated, Annotator};
use rpcrdma_answers::export::Exporter;
use rpcrdma_dissector::check::Checker;
use rpcrdma_dissector::{
    Capture, Config, Dissector, Event, Events, Frame, LinkType, Recovered, RecoveryKind, StepsWanted, Time,
};

use crate::transcode::{self, ETHERNET, INFINIBAND, Record};

fn annotate(records: &[Record]) -> (Vec<u8>, Annotated) {
    let mut config = Config::default();
    (config.operations, config.recovery, config.steps) = (true, true, StepsWanted::All);
    let (mut file, mut dissector, mut checker) = (Vec::new(), Dissector::new(config), Checker::default());
    let mut annotator = Annotator::new(&mut file).unwrap();
    let take = |dissector: &mut Dissector, checker: &mut Checker, annotator: &mut Annotator<_>| {
        while let Some(event) = dissector.event() {
            if let Event::Transaction(transaction) = &event {
                annotator.transaction(transaction);
            }
            if let Event::Recovery(recovered) = &event {
                annotator.recovered(recovered);
            }
            checker.event(&event);
        }
        while let Some(found) = checker.finding() {
            annotator.finding(&found);
        }
    };
    for (number, record) in (1..).zip(records) {
        let frame = Frame {
            number,
            time: Time(record.time_ns),
            link: LinkType(record.link),
            data: &record.data,
            length: record.length,
        };
        annotator.frame(&frame).unwrap();
        dissector.frame(&frame);
        take(&mut dissector, &mut checker, &mut annotator);
    }
    dissector.finish();
    take(&mut dissector, &mut checker, &mut annotator);
    let annotated = annotator.finish().unwrap();
    (file, annotated)
}

fn u16_at(octets: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([octets[at], octets[at + 1]])
}

fn u32_at(octets: &[u8], at: usize) -> usize {
    u32::from_le_bytes(octets[at..at + 4].try_into().unwrap()) as usize
}

/// The frames of a pcapng file, each with its comments. Interface Description Blocks (type 1) have the link type, Enhanced
/// Packet Blocks (type 6) a frame and its options, of which 1 is a comment. Times are in nanoseconds.
fn read(file: &[u8]) -> Vec<(Record, Vec<String>)> {
    let (mut links, mut frames, mut rest) = (Vec::new(), Vec::new(), file);
    while !rest.is_empty() {
        let (kind, length) = (u32_at(rest, 0), u32_at(rest, 4));
        let block = &rest[..length];
        assert_eq!(u32_at(block, length - 4), length, "the length stands at both ends");
        rest = &rest[length..];
        match kind {
            1 => {
                links.push(u32::from(u16_at(block, 8)));
                assert_eq!(block[16..21], [9, 0, 1, 0, 9], "if_tsresol: nanoseconds");
            }
            6 => {
                let captured = u32_at(block, 20);
                let record = Record {
                    time_ns: (u32_at(block, 12) as u64) << 32 | u32_at(block, 16) as u64,
                    link: links[u32_at(block, 8)],
                    data: block[28..28 + captured].to_vec(),
                    length: u32_at(block, 24) as u32,
                };
                frames.push((record, comments(&block[28 + captured.next_multiple_of(4)..length - 4])));
            }
            _ => {}
        }
    }
    frames
}

/// The comments among the options of a frame.
fn comments(mut options: &[u8]) -> Vec<String> {
    let mut comments = Vec::new();
    while options.len() >= 4 {
        let [code, length] = [0, 2].map(|at| usize::from(u16_at(options, at)));
        if code == 1 {
            comments.push(String::from_utf8(options[4..4 + length].to_vec()).unwrap());
        }
        options = &options[4 + length.next_multiple_of(4)..];
    }
    comments
}

/// The comments in a file, by the number of their frame.
fn commented(file: &[u8]) -> BTreeMap<usize, Vec<String>> {
    let comments = read(file).into_iter().map(|(_, comments)| comments);
    (1..).zip(comments).filter(|(_, comments)| !comments.is_empty()).collect()
}

#[test]
fn every_frame_is_there_as_it_was() {
    for name in transcode::ROCE_CAPTURES.into_iter().chain(["iwarp_nfs3_lossy", "iwarp_nfs41"]) {
        let records = transcode::capture(name);
        let (file, annotated) = annotate(&records);
        let (frames, comments): (Vec<_>, Vec<_>) = read(&file).into_iter().unzip();
        assert!(frames == records, "{name}");
        assert_eq!((annotated.frames as usize, annotated.late), (records.len(), 0), "{name}");
        let written = comments.iter().flatten().count();
        assert_eq!(annotated.comments as usize, written, "{name}");
        assert!(written > 0 || name == "perftest", "{name}");
    }
}

/// A capture can have several link types, and frames that snaplen cut.
#[test]
fn link_types_and_cut_frames_stay_as_they_are() {
    let record = |link, octets: usize, length| Record { time_ns: 7, link, data: vec![3; octets], length };
    let records = [record(ETHERNET, 61, 61), record(INFINIBAND, 5, 5), record(ETHERNET, 0, 1500)];
    let frames: Vec<_> = read(&annotate(&records).0).into_iter().map(|(frame, _)| frame).collect();
    assert_eq!(frames, records);
}

/// Frame numbers, latencies and lengths are those of `testdata/captures/nfs41.truth`, and of tshark on the original.
#[test]
fn comments_say_what_a_frame_is_for() {
    let comments = commented(&annotate(&transcode::capture("nfs41")).0);
    assert_eq!(
        comments[&693],
        ["call 0x53d138ec: SEQUENCE PUTFH WRITE; reply in frame 763, latency 8.690 ms; RDMA Read of 65536 bytes"]
    );
    assert_eq!(
        comments[&763],
        ["reply 0x53d138ec: SEQUENCE PUTFH WRITE; call in frame 693, latency 8.690 ms; ms by phase: server 5.077, \
          RDMA Read 3.613"]
    );
    let [rpc, finding] = &comments[&32][..] else { panic!("{:?}", comments[&32]) };
    assert!(rpc.starts_with("reply 0x32d138ec: EXCHANGE_ID; call in frame 28,"), "{rpc}");
    assert!(
        finding.starts_with("error invalidate-foreign, by 192.0.2.1: handle 0x00000c93 is invalidated"),
        "{finding}"
    );
}

#[test]
fn a_late_comment_is_on_a_later_frame() {
    let mut file = Vec::new();
    let mut annotator = Annotator::new(&mut file).unwrap();
    let transactions: Vec<_> = {
        let capture = Capture::from_paths([transcode::path("nfs41")]);
        Events::new(capture, Config::default()).transactions().map(Result::unwrap).collect()
    };
    let first = &transactions[0];
    let call = first.call.as_ref().unwrap().stamp.frame;
    // A frame of 16 MiB each time: four of them are held.
    let data = vec![0; 16 << 20];
    for number in call..call + 6 {
        let frame = Frame { number, time: Time(0), link: LinkType(ETHERNET), data: &data, length: 16 << 20 };
        annotator.frame(&frame).unwrap();
    }
    annotator.transaction(first);
    let annotated = annotator.finish().unwrap();
    assert_eq!((annotated.frames, annotated.comments, annotated.late), (6, 2, 1));
    let comments = commented(&file);
    let [reply, late] = &comments[&3][..] else { panic!("{comments:?}") };
    assert!(reply.starts_with("reply 0x31d138ec: "), "{reply}");
    assert!(late.starts_with("frame 24: call 0x31d138ec: NFSv4 NULL; reply in frame 26"), "{late}");
}

#[test]
fn exported_messages_name_the_frame_they_are_from() {
    let capture = Capture::from_paths([transcode::path("nfs41")]);
    let mut file = Vec::new();
    let mut exporter = Exporter::pcapng(&mut file).unwrap();
    for transaction in Events::new(capture, Config::default()).transactions() {
        exporter.transaction(&transaction.unwrap()).unwrap();
    }
    exporter.finish().unwrap();
    let comments: Vec<_> = commented(&file).into_values().flatten().collect();
    assert_eq!(comments.len(), 138);
    for comment in [
        "from frame 28 of the capture: rdma_xid 0x32d138ec, in one Send",
        "from frame 207 of the capture: rdma_xid 0x48d138ec, in a chunk",
        "from frame 693 of the capture: rdma_xid 0x53d138ec, in a Send and chunks",
    ] {
        assert!(comments.iter().any(|found| found == comment), "{comment}");
    }
}

/// The signs of loss in a capture.
fn events(name: &str) -> Vec<Recovered> {
    let mut config = Config::default();
    config.recovery = true;
    let events = Events::new(Capture::from_paths([transcode::path(name)]), config);
    events
        .filter_map(|event| if let Event::Recovery(recovered) = event.unwrap() { Some(recovered) } else { None })
        .collect()
}

/// Returns tshark's values of these fields, for the frames of an annotated file that a filter selects; `None` if tshark
/// is not installed.
fn tshark(file: &[u8], test: &str, filter: &str, fields: &[&str]) -> Option<String> {
    let path = std::env::temp_dir().join(format!("rpcrdma-annotate-{test}-{}.pcapng", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-Y", filter, "-T", "fields", "-E", "aggregator=/s", "-e", "frame.number"]);
    let output = command.args(fields.iter().flat_map(|field| ["-e", field])).output();
    std::fs::remove_file(path).unwrap();
    let Ok(output) = output else {
        println!("tshark is not installed: this test does nothing");
        return None;
    };
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The filters of a file of the profile: each text between these marks.
fn filters(file: &str, between: &str, place: usize) -> Vec<String> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(between).nth(place).unwrap().replace("\\x22", "\"").replace("\\x5c", "\\")).collect()
}

/// tshark starts with the profile and complains of nothing; each filter selects what it says.
#[test]
fn the_wireshark_profile_shows_comments_and_its_filters_select_frames() {
    let folder = std::env::temp_dir().join(format!("rpcrdma-profile-{}", std::process::id()));
    let (profiles, annotated) = (folder.join("wireshark/profiles"), folder.join("lossy.pcapng"));
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rpcrdma"));
        command.args(["annotate", "--quiet"]).arg(transcode::path("nfs41_lossy")).arg("-o").arg(&annotated);
        assert!(command.arg("--profile").arg(&profiles).status().unwrap().success());
    };
    run();
    let read = |name: &str| std::fs::read_to_string(profiles.join("rpcrdma").join(name)).unwrap();
    let counts: Vec<(String, Option<usize>)> = filters(&read("colorfilters"), "@", 2)
        .into_iter()
        .chain(filters(&read("dfilter_buttons"), "\",\"", 2))
        .map(|filter| {
            let output = Command::new("tshark").arg("-r").arg(&annotated).args(["-Y", &filter]).output();
            let frames = output.ok().filter(|output| output.status.success());
            (filter, frames.map(|output| output.stdout.split(|octet| *octet == b'\n').count() - 1))
        })
        .collect();
    // A file that the user changed stays.
    std::fs::write(profiles.join("rpcrdma/colorfilters"), "# mine\n").unwrap();
    run();
    assert_eq!(read("colorfilters"), "# mine\n");
    let mut command = Command::new("tshark");
    let shown = command.env("XDG_CONFIG_HOME", &folder).args(["-C", "rpcrdma", "-r"]).arg(&annotated).output();
    std::fs::remove_dir_all(&folder).unwrap();
    let Ok(shown) = shown else {
        println!("tshark is not installed: this test does less");
        return;
    };
    let counts: Vec<_> = counts.iter().map(|(filter, count)| (filter.as_str(), count.unwrap())).collect();
    let loss = "frame.comment contains \"NAK\" || frame.comment contains \"time-out\"";
    let count = |begins: &str| counts.iter().find(|(filter, _)| filter.starts_with(begins)).unwrap().1;
    assert_eq!(count("frame.comment contains \"retransmitted\""), 452);
    assert_eq!(count("frame.comment matches \"^reply .*latency [0-9]{3,}"), 5);
    assert_eq!(count("frame.comment matches \"^error "), 1);
    // 9 NAKs, 3 implied NAKs and 2 time-outs
    assert_eq!(count(loss), 14);
    assert_eq!(counts.len(), 15);
    assert_eq!(count("frame.comment matches \"^(call|reply) "), 124);
    let (text, said) = (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
    assert!(!said.contains("rpcrdma") && !said.contains("filter"), "{said}");
    let line = text.lines().find(|line| line.trim_start().starts_with("406 ")).unwrap();
    assert!(line.contains("reply 0xc73d34c3: SEQUENCE PUTFH READ; call in frame 246"), "{line}");
}

#[test]
fn what_was_lost_is_in_the_comments_that_tshark_shows() {
    for name in ["nfs41_lossy", "iwarp_nfs3_lossy"] {
        let (file, _) = annotate(&transcode::capture(name));
        let events = events(name);
        for (text, is_of) in [
            ("retransmitted", (|kind| kind.is_retransmission()) as fn(RecoveryKind) -> bool),
            ("NAK: a packet", |kind| kind == RecoveryKind::SequenceError),
            ("time-out: ", |kind| matches!(kind, RecoveryKind::TimedOut { .. })),
        ] {
            let Some(lines) = tshark(&file, "lost", &format!("frame.comment contains \"{text}\""), &[]) else { return };
            let expected: BTreeSet<u64> =
                events.iter().filter(|event| is_of(event.kind)).map(|event| event.stamp.frame).collect();
            let found: BTreeSet<u64> = lines.lines().map(|line| line.trim().parse().unwrap()).collect();
            assert!(!expected.is_empty() && found == expected, "{name} {text}");
        }
        let comments = commented(&file);
        for event in &events {
            let xid = format!("XID {:#010x}", event.xid.unwrap());
            let of = &comments[&(event.stamp.frame as usize)];
            assert!(of.iter().any(|comment| comment.ends_with(&xid)), "{name} {event:?}: {of:?}");
        }
    }
}

/// The number in front of a packet's number says how often it was there before, counted by that number alone.
#[test]
fn comments_count_transmissions_by_packet_number() {
    let records = transcode::capture("nfs41_lossy");
    let comments = commented(&annotate(&records).0);
    let (mut times, mut most) = (BTreeMap::<_, u32>::new(), 0);
    for (frame, Record { data, .. }) in (1..).zip(&records) {
        let is_packet = data[12..14] == [8, 0] && data[23] == 17 && data[36..38] == 4791_u16.to_be_bytes();
        if !is_packet || !matches!(data[42], 0..=0x0c | 0x16 | 0x17) {
            continue;
        }
        // A Read request has as many numbers as its answer has packets of 1024 octets, and may be retransmitted for the last of them.
        let number = u32::from_be_bytes([0, data[51], data[52], data[53]]);
        let numbers =
            if data[42] == 0x0c { u32::from_be_bytes(data[66..70].try_into().unwrap()).div_ceil(1024) } else { 1 };
        for asked in number + 1..number + numbers {
            times.entry((data[29], asked)).or_insert(1);
        }
        let times = times.entry((data[29], number)).or_default();
        *times += 1;
        let of = comments.get(&frame).into_iter().flatten().find(|comment| comment.contains("retransmitted"));
        let Some(comment) = of else {
            assert_eq!(*times, 1, "frame {frame}");
            continue;
        };
        // The capture lacks one more transmission.
        *times += u32::from(comment.contains("lacks the first"));
        let ending = ["th", "st", "nd", "rd"].get(*times as usize).unwrap_or(&"th");
        assert!(comment.contains(&format!("retransmitted, {times}{ending} time")), "frame {frame}, {times}: {comment}");
        most = most.max(*times);
    }
    assert!(most >= 3, "{most}");
}

/// The RDMA operations in the comments are those of tshark, and are counted through for each RPC.
#[test]
fn packets_of_rdma_are_counted_through() {
    let (file, annotated) = annotate(&transcode::capture("nfs41_lossy"));
    assert_eq!(annotated.left_out, 0);
    let filter = "frame.comment matches \"^RDMA (Read|Write)[a-z ]* [0-9]+ of\"";
    let Some(lines) = tshark(&file, "rdma", filter, &["infiniband.bth.opcode"]) else { return };
    let comments = commented(&file);
    let mut counts = BTreeMap::<_, Vec<(u64, u64)>>::new();
    for line in lines.lines() {
        let (frame, opcode) = line.split_once('\t').unwrap();
        let expected = match opcode.parse::<u32>().unwrap() {
            6..=11 => "RDMA Write ",
            12 => "RDMA Read request ",
            13..=16 => "RDMA Read response ",
            other => panic!("{other}"),
        };
        let of = &comments[&frame.parse().unwrap()];
        let counted = of.iter().filter(|comment| comment.starts_with("RDMA ") && !comment.contains("retransmitted"));
        assert_eq!(counted.count(), 1, "{of:?}");
        let rest = of.iter().find_map(|comment| comment.strip_prefix(expected)?.split_once(" of ")).unwrap();
        let (total, rpc) = rest.1.split_once(" of ").unwrap();
        counts.entry((expected, rpc)).or_default().push((rest.0.parse().unwrap(), total.parse().unwrap()));
    }
    assert!(counts.keys().any(|(_, rpc)| *rpc == "NFSv4 READ, XID 0xc73d34c3"), "{:?}", counts.keys());
    let kinds: BTreeSet<_> = counts.keys().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, BTreeSet::from(["RDMA Read request ", "RDMA Read response ", "RDMA Write "]));
    for (rpc, numbers) in counts {
        let total = numbers.len() as u64;
        assert_eq!(numbers, (1..=total).map(|number| (number, total)).collect::<Vec<_>>(), "{rpc:?}");
    }
}

#[test]
fn tshark_reads_the_comments() {
    let (file, annotated) = annotate(&transcode::capture("nfs41_lossy"));
    let Some(lines) = tshark(&file, "all", "frame.comment", &["frame.comment"]) else { return };
    let found = commented(&file);
    assert_eq!(found.values().map(Vec::len).sum::<usize>(), annotated.comments as usize);
    assert_eq!(lines.lines().count(), found.len());
    for (line, (frame, comments)) in lines.lines().zip(found) {
        assert_eq!(line, format!("{frame}\t{}", comments.join(" ")));
    }
}
