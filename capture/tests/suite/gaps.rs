//! Gaps of a capture are reported first, and nothing is inferred from an absence: one direction, all of RPC-over-RDMA,
//! packets that no connection carries, and a clock that goes on.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::command::{program, run, stderr, stdout};
use crate::diagnosis::ahead;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, message, read3, read3_reply};
use crate::synthetic::{self, Wire};
use crate::transcode::{self, Pcap, Record, write_pcap};

/// Words that say that nothing is wrong.
pub(crate) const ALL_CLEAR: [&str; 9] = [
    "no call is without a reply",
    "nothing shows that",
    " 0 broken",
    "every call was answered",
    "Every call has its reply",
    "No rule of the protocol is broken",
    "No captured packet was retransmitted",
    "nothing is missing from the capture",
    "Nothing stands out",
];

/// The commands that read a capture, with what else they need; `OUT` is a file to write.
const COMMANDS: [&[&str]; 17] = [
    &["diagnose"],
    &["decode"],
    &["transactions"],
    &["transactions", "--csv"],
    &["slow"],
    &["explain", "--xid", "0x31d138ec"],
    &["pending"],
    &["events"],
    &["top"],
    &["stats"],
    &["stats", "--csv"],
    &["stats", "--interval", "1s"],
    &["check"],
    &["export", "-o", "OUT"],
    &["annotate", "-o", "OUT"],
    &["trace", "-o", "OUT"],
    &["report", "-o", "-"],
];

/// A file of these frames, which no other test has.
pub(crate) fn written(name: &str, frames: &[Record]) -> String {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default().replace("::", "-");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{test}-{name}", std::process::id()));
    std::fs::write(&path, write_pcap(frames, Pcap { nanoseconds: true, ..Pcap::default() })).unwrap();
    path.display().to_string()
}

/// The frames of a shipped capture whose sender has an address with this last octet.
pub(crate) fn sent_by(name: &str, end: u8) -> Vec<Record> {
    let frames = transcode::capture(name).into_iter();
    frames.filter(|frame| frame.data.get(12..14) == Some(&[8, 0]) && frame.data.get(29) == Some(&end)).collect()
}

/// Returns what a command prints about a capture, its messages on standard error, and its exit status.
fn told(command: &[&str], path: &str) -> (String, String, Option<i32>) {
    let out = format!("{path}.out");
    let mut arguments: Vec<&str> = command.to_vec();
    arguments.iter_mut().filter(|argument| **argument == "OUT").for_each(|argument| *argument = &out);
    arguments.push(path);
    let output = run(&arguments);
    (stdout(&output).to_owned(), stderr(&output).to_owned(), output.status.code())
}

#[test]
fn every_command_reports_a_missing_direction_first() {
    for (name, end, missing) in [("nfs41", 1, 2), ("nfs41", 2, 1), ("iwarp_nfs41", 1, 2), ("iwarp_nfs41", 2, 1)] {
        let path = written("one.pcap", &sent_by(name, end));
        for command in COMMANDS {
            let (printed, said, status) = told(command, &path);
            let first = format!(
                "rpcrdma: connection 1: the capture holds only packets of 192.0.2.{end}, none of 192.0.2.{missing}: which \
                 calls were answered, how long they took and what was lost is not known\n"
            );
            assert!(said.starts_with(&first), "{name} {command:?}: {said}");
            assert_eq!(status, Some(1), "{name} {command:?}");
            for words in ALL_CLEAR {
                assert!(!said.contains(words) && !printed.contains(words), "{name} {command:?}: {words}");
            }
        }
        let output = run(&["compare", &path, &path]);
        assert_eq!(
            (stderr(&output).matches("the capture holds only packets").count(), output.status.code()),
            (2, Some(1))
        );
    }
}

#[test]
fn the_records_name_the_missing_direction() {
    let path = written("one.pcap", &sent_by("nfs41", 2));
    for command in ["diagnose", "decode", "transactions", "slow", "pending", "events", "top", "stats", "check"] {
        let output = run(&[command, "-q", "--json", &path]);
        let summary: Value = serde_json::from_str(stdout(&output).lines().last().unwrap()).unwrap();
        assert_eq!(
            summary["captures"][0]["missing"]["directions"],
            json!([{ "connection": 1, "captured": "192.0.2.2", "missing": "192.0.2.1" }]),
            "{command}"
        );
        assert_eq!((&summary["exit_status"], stderr(&output)), (&json!(1), ""), "{command}");
    }
    let output = run(&["stats", "-q", "--json", &path]);
    let statistics: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
    assert_eq!(statistics["connections"][0]["missing_direction"], "passive");
}

#[test]
fn a_call_of_a_missing_direction_may_have_been_answered() {
    let path = written("calls.pcap", &sent_by("nfs41", 2));
    let output = run(&["pending", "--json", "-q", &path]);
    let calls: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (summary, calls) = calls.split_last().unwrap();
    assert_eq!((summary["type"].as_str(), calls.len()), (Some("summary"), 69));
    for call in calls {
        assert_eq!((&call["owed"], &call["owed_by"]), (&json!("unknown"), &Value::Null));
        assert_eq!(call["owed_unknown"], "the capture holds no packet of the end that was called");
    }
    let text = stdout(&run(&["pending", "-q", &path])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("not known whether it was answered: the capture holds no packet of 192.0.2.1"), "{text}");
    let output = run(&["transactions", "-q", &path]);
    assert_eq!(stdout(&output).matches("reply unknown").count(), 69);
    assert!(!stdout(&output).contains("no reply"));
    let page = run(&["report", "-q", &path, "-o", "-"]);
    let page = stdout(&page);
    assert!(page.contains("both call and reply were captured of 0."), "{}", &page[..3000]);
    assert!(page.contains("No broken rule was found, but one direction of a connection is missing from the capture."));
    assert!(!page.contains("have no reply"));
}

/// Nothing ties two flows together if each holds what the other cannot acknowledge.
#[test]
fn two_halves_that_nothing_ties_together_may_be_one_connection() {
    let mut wire = Wire::default();
    let mut frames = wire.send(Client, &message(MSG, 1, &Lists::default(), &read3(1, 512)));
    let mut other =
        Wire { client: wire.client, server: synthetic::End { queue_pair: 0x99, next: 9000, ..wire.server }, ..wire };
    frames.extend(other.send(Server, &message(MSG, 1, &Lists::default(), &read3_reply(1, &[7; 512]))));
    let path = written("halves.pcap", &synthetic_records(&frames));
    let output = run(&["transactions", &path]);
    let said = stderr(&output);
    assert!(said.contains("may be the two directions of one connection"), "{said}\n{}", stdout(&output));
}

fn synthetic_records(packets: &[synthetic::Packet]) -> Vec<Record> {
    let record = |(index, data): (usize, &Vec<u8>)| Record {
        time_ns: 1_000_000_000 + 1000 * index as u64,
        link: transcode::RAW_IP,
        data: data.clone(),
        length: data.len() as u32,
    };
    packets.iter().enumerate().map(record).collect()
}

#[test]
fn without_rpc_over_rdma_there_is_nothing_to_judge() {
    let other: Vec<Record> = transcode::capture("perftest");
    for (name, frames) in [("perftest.pcap", &other[..]), ("nothing.pcap", &[])] {
        let path = written(name, frames);
        for command in COMMANDS {
            let (printed, said, status) = told(command, &path);
            assert!(said.contains("rpcrdma: no RPC-over-RDMA message found: "), "{command:?}: {said}");
            assert_eq!(status, Some(1), "{name} {command:?}");
            for words in ALL_CLEAR {
                assert!(!said.contains(words) && !printed.contains(words), "{name} {command:?}: {words}");
            }
        }
    }
    let path = written("perftest.pcap", &other);
    assert!(stdout(&run(&["check", &path])).contains("nothing to judge"));
    assert!(
        stdout(&run(&["report", &path, "-o", "-"])).contains("Nothing to judge: there is no RPC-over-RDMA message.")
    );
}

/// Frames of 64 octets end within the headers of RPC-over-RDMA, and a port would not help.
#[test]
fn frames_cut_before_the_headers_blame_the_snaplen() {
    let cut = transcode::capture("nfs41").into_iter().map(|mut frame| {
        frame.data.truncate(64);
        frame
    });
    let path = written("cut.pcap", &cut.collect::<Vec<_>>());
    for command in ["diagnose", "pending"] {
        let (printed, said, _) = told(&[command], &path);
        let all = printed.split_whitespace().collect::<Vec<_>>().join(" ") + &said;
        assert!(all.contains("1061 of 1265 frames were cut") && all.contains("tcpdump -s 256"), "{command}: {all}");
        assert!(!all.contains("--port"), "{command}: {all}");
    }
}

#[test]
fn no_exit_status_is_without_a_reason() {
    let lost = transcode::dropping(&transcode::capture("nfs41_lossy"), 7, 30);
    let cut = transcode::capture("nfs41").into_iter().map(|mut frame| {
        frame.data.truncate(200);
        frame
    });
    for frames in [lost, cut.collect(), transcode::capture("lost"), transcode::capture("errors"), sent_by("nfs3", 1)] {
        let path = written("status.pcap", &frames);
        for command in COMMANDS {
            let (_, said, status) = told(command, &path);
            let reasons = ["incomplete", "not rebuilt", "missing", "none of", "found", "no RPC", "nothing", "Nothing"];
            let has_reason = reasons.iter().any(|reason| said.contains(reason));
            assert!(status == Some(0) || has_reason, "{command:?} {status:?}: {said}");
        }
    }
}

#[test]
fn packets_of_other_services_are_counted() {
    let mut wire = Wire::default();
    let mut packets = wire.connect();
    packets.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &read3(1, 512))));
    packets.push(wire.ack_all(Server));
    for (opcode, times) in [(0x81, 3), (0x24, 2), (0x44, 1), (0x64, 4)] {
        (0..times).for_each(|_| packets.push(wire.packet(Server, opcode, 0, &[0; 16], &[])));
    }
    packets.extend(wire.send(Server, &message(MSG, 1, &Lists::default(), &read3_reply(1, &[7; 512]))));
    packets.push(wire.ack_all(Client));
    let path = written("services.pcap", &synthetic_records(&packets));
    let expected = json!([
        { "name": "CNP", "count": 3 },
        { "name": "UC", "count": 2 },
        { "name": "RD", "count": 1 },
        { "name": "UD", "count": 4 },
    ]);
    let output = run(&["stats", "--json", &path]);
    let records: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records[0]["capture"]["other_services"], expected);
    assert_eq!(records[1]["captures"][0]["ignored"]["other_services"], expected);
    assert!(stdout(&run(&["stats", &path])).contains("3 InfiniBand packets: CNP\n"));
    let said = "not followed: InfiniBand packets of other services: CNP (3), UC (2), RD (1), UD (4)\n";
    let output = run(&["transactions", &path]);
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_clock_that_steps_back_is_told() {
    let mut frames = transcode::capture("nfs41");
    for (first, step) in [(99, 1_500_000_000), (400, 2_000_000_000)] {
        frames[first..].iter_mut().for_each(|frame| frame.time_ns -= step);
    }
    let longest = frames[399].time_ns - frames[400].time_ns;
    let path = written("clock.pcap", &frames);
    let output = run(&["transactions", &path]);
    let said = format!(
        "rpcrdma: the clock steps back 2 times, first in frame 100, most in frame 401, by {}.{:09} s: times across that are \
         wrong; if frames are out of order, sort them first: reordercap IN OUT\n",
        longest / 1_000_000_000,
        longest % 1_000_000_000
    );
    assert!(stderr(&output).contains(&said), "{}", stderr(&output));
    let output = run(&["stats", "--json", &path]);
    let records: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps =
        json!({ "count": 2, "first_frame": 100, "longest_ns": longest, "longest_frame": 401, "sorted_frames": 0 });
    assert_eq!(records[0]["capture"]["clock_steps"], steps);
    assert_eq!(records[1]["captures"][0]["damaged"]["clock_steps"], steps);
    assert!(stdout(&run(&["stats", &path])).contains("the clock steps back 2 times"));
    // A file that begins before the one that is read before it ends is no step.
    let whole = transcode::capture("nfs41");
    let (early, late) = (written("early.pcap", &whole[..500]), written("late.pcap", &whole[300..]));
    let said = run(&["decode", &early, &late]);
    assert!(
        stderr(&said).contains("1 file starts before") && !stderr(&said).contains("the clock"),
        "{}",
        stderr(&said)
    );
}

fn words(output: &str) -> String {
    output.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words of an output, without the notice that frames were sorted.
fn words_without_notice(output: &str) -> String {
    let words = words(output);
    let notice = "frames were out of order and sorted by time: frames are numbered as after reordercap";
    let mut parts: Vec<&str> = words.split(notice).collect();
    let rest = parts.pop().unwrap();
    let before = parts.into_iter().map(|part| {
        let before = part.trim_end().trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ',');
        before.trim_end_matches("rpcrdma: ").trim_end_matches("What the capture cannot show: ")
    });
    before.chain([rest]).map(|part| part.trim_start_matches('.').trim()).collect::<Vec<_>>().join(" ").trim().to_owned()
}

#[test]
fn a_file_in_disorder_gives_sorted_results() {
    let mut random = transcode::Random(7);
    let mut frames = transcode::capture("nfs41_lossy");
    for block in frames.chunks_mut(100) {
        (1..block.len()).for_each(|last| block.swap(last, random.below(last as u64 + 1) as usize));
    }
    let mut sorted = frames.clone();
    sorted.sort_by_key(|frame| frame.time_ns);
    let results = |frames: &[Record]| {
        let path = written("disorder.pcap", frames);
        let to = format!("{path}.out");
        COMMANDS.map(|command| {
            let arguments: Vec<&str> = command.iter().map(|word| if *word == "OUT" { &*to } else { word }).collect();
            let output = run(&[&arguments[..], &[&*path]].concat());
            let written = if arguments.contains(&&*to) { std::fs::read(&to).unwrap() } else { Vec::new() };
            let said = [stdout(&output), stderr(&output)].map(str::to_owned);
            (command, output.status.code(), said, written)
        })
    };
    for (disordered, sorted) in results(&frames).into_iter().zip(results(&sorted)) {
        let (command, status, said, written) = disordered;
        let is_told = said.iter().any(|said| words_without_notice(said) != words(said));
        assert!(is_told, "{command:?}: {said:?}");
        // The page has tags around the notice.
        let said = if command[0] == "report" { sorted.2.clone() } else { said.map(|said| words_without_notice(&said)) };
        let said = said.map(|said| words(&said));
        assert_eq!((command, status, said), (sorted.0, sorted.1, sorted.2.map(|said| words(&said))));
        assert!(written == sorted.3, "{command:?}");
    }
}

#[test]
fn a_file_in_disorder_beyond_the_window_names_reordercap() {
    let frames = transcode::capture("nfs41_lossy");
    let (early, late) = frames.split_at(frames.len() / 2);
    let path = written("appended.pcap", &[late, early].concat());
    for command in COMMANDS.iter().filter(|command| !command.contains(&"OUT")) {
        let output = run(&[command, &[&*path][..]].concat());
        let said = [stdout(&output), stderr(&output)].concat();
        assert!(words(&said).contains("sort them first: reordercap IN OUT"), "{command:?}: {said}");
    }
    // A stream cannot wait for later frames.
    let mut swapped = frames.clone();
    swapped.swap(100, 101);
    let path = written("swapped.pcap", &swapped);
    let (file, cat) = (run(&["events", &path]), Command::new("cat").arg(&path).stdout(Stdio::piped()).spawn());
    let stream = program(&["events", "-"]).stdin(cat.unwrap().stdout.take().unwrap()).output().unwrap();
    assert!(stderr(&file).contains("1 frame was out of order and sorted by time"), "{}", stderr(&file));
    assert!(stderr(&stream).contains("reordercap IN OUT"), "{}", stderr(&stream));
    // Later in a file, the first frame in disorder has gone by when it shows.
    let mut late = frames;
    [1000, 1100, 1200].into_iter().for_each(|place| late.swap(place, place + 1));
    let late = run(&["events", &written("late.pcap", &late)]);
    assert!(stderr(&late).contains("the clock steps back by 0.000004000 s in frame 1002"), "{}", stderr(&late));
    assert!(stderr(&late).contains("2 frames were out of order and sorted by time"), "{}", stderr(&late));
}

#[test]
fn every_command_reports_two_clocks_and_no_median() {
    let path = written("two_clocks.pcap", &ahead("iwarp_nfs41", 2, 2_000_000));
    for command in COMMANDS.iter().filter(|command| !command.contains(&"OUT")) {
        let output = run(&[command, &[&*path][..]].concat());
        let said = [stdout(&output), stderr(&output)].concat();
        assert!(words(&said).contains("captured by two clocks"), "{command:?}: {said}");
        let is_clear = ALL_CLEAR.iter().any(|clear| words(&said).contains(clear));
        assert!(!is_clear && !said.contains("packets missing from the capture"), "{command:?}: {said}");
    }
    let records = |command: &str| -> Vec<Value> {
        stdout(&run(&[command, "--json", &path])).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let statistics = &records("stats")[0];
    assert_eq!(statistics["connections"][0]["late_clock"], "active");
    assert!(statistics["procedures"].as_array().unwrap().iter().all(|procedure| procedure["latency"].is_null()));
    let diagnosis = &records("diagnose")[0];
    assert_eq!((&diagnosis["latency"], &diagnosis["causes"][0]["cause"]), (&Value::Null, &json!("two-clocks")));
    let rpcs = records("transactions");
    let why = "the capture holds packets after their acknowledgements: its two directions are by two clocks";
    let untimed = rpcs.iter().filter(|rpc| rpc["latency_ns"].is_null() && rpc["phases_missing"] == why).count();
    assert!(untimed * 4 > 3 * 63, "{untimed} of {}", rpcs.len() - 1);
}
