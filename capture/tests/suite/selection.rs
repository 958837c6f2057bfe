//! A selection is a view of the whole capture: whatever is selected, what is said is true of the whole capture, and nothing is said if
//! nothing is selected. Windows of the shipped captures, at random and within each hang and each loss.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::{Path, PathBuf};

use rpcrdma_answers::diagnosis::{Diagnoser, Diagnosis};
use rpcrdma_answers::selection::{NamedRpc, Selection, SpanningRpcs, Verdict};
use rpcrdma_dissector::check::Found;
use rpcrdma_dissector::values::Moment;
use rpcrdma_dissector::{Capture, Checker, Config, Event, Events, Recovered, RecoveryKind, Summary, Time, WaitEnd};

use rpcrdma_answers::file_names::FileNames;
use rpcrdma_answers::transactions::TransactionObject;
use rpcrdma_dissector::Files;
use serde_json::Value;

use crate::command::{run, stderr, stdout};
use crate::diagnosis::{SILENT, is_of_rpcs};
use crate::transcode::Random;

/// A capture that was read once.
struct ReadCapture {
    name: String,
    events: Vec<Event>,
    /// Findings, each with the number of events before it.
    findings: Vec<(usize, Found)>,
    summary: Summary,
    whole: Diagnosis,
}

/// An RPC, as the truth has it: computed from the transaction without the code under test.
struct Rpc {
    from: u64,
    until: u64,
    frame: u64,
}

fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures");
    let files = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = files(&folder).chain(files(&folder.join("situations"))).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    paths.sort();
    paths
}

impl ReadCapture {
    fn from_path(path: &Path) -> Self {
        let mut config = Config::default();
        (config.operations, config.recovery) = (true, true);
        let mut events = Events::new(Capture::from_paths([path]), config);
        let (mut checker, mut diagnoser) = (Checker::default(), Diagnoser::new("whole"));
        let (mut read, mut findings) = (Vec::new(), Vec::new());
        for event in events.by_ref() {
            let event = event.unwrap();
            checker.event(&event);
            for found in iter::from_fn(|| checker.finding()) {
                diagnoser.finding(&found);
                findings.push((read.len(), found));
            }
            diagnoser.event(&event);
            read.push(event);
        }
        let summary = events.summary().clone();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Self { name, events: read, findings, whole: diagnoser.finish(&summary), summary }
    }

    fn first(&self) -> Time {
        self.summary.first.unwrap()
    }

    /// The diagnosis of a selection that needs no end of an RPC for its messages.
    fn select(&self, selection: &Selection) -> Diagnosis {
        let (first, mut throughout) = (self.first(), SpanningRpcs::default());
        let window = selection.window(first);
        let mut diagnoser = Diagnoser::new(&self.name).of_selection();
        let mut findings = self.findings.iter().peekable();
        let mut names = FileNames::default();
        for (index, event) in self.events.iter().enumerate() {
            while let Some((_, found)) = findings.next_if(|(place, _)| *place <= index) {
                diagnoser.context_finding(found);
                if selection.judge_finding(found) == Verdict::Wanted && window.contains(found.stamp.time) {
                    diagnoser.finding(found);
                }
            }
            diagnoser.context(event);
            let file = match event {
                Event::Transaction(transaction) if !selection.files.is_empty() => {
                    let arguments = transaction.arguments();
                    names.learn(transaction, &arguments);
                    names.file_of(transaction, &arguments)
                }
                _ => None,
            };
            if selection.judge(event, file.as_ref()) == Verdict::Wanted && window.shows(event) {
                diagnoser.event(event);
                if let Event::Transaction(transaction) = event {
                    throughout.add_rpc(&NamedRpc { transaction, file: file.as_ref() }, window);
                }
            }
        }
        diagnoser.describe_selection("", &throughout);
        diagnoser.finish(&self.summary)
    }

    fn rpcs(&self) -> Vec<Rpc> {
        let rpc = |event: &Event| {
            let Event::Transaction(transaction) = event else { return None };
            let (call, reply) = (transaction.call.as_ref(), transaction.reply.as_ref());
            let half = call.or(reply).unwrap();
            let from = transaction.began.map_or(half.stamp.time.0, |began| began.time.0);
            let until = match (reply, transaction.waiting.map(|waiting| waiting.end)) {
                (Some(reply), _) => reply.stamp.time.0,
                (None, Some(WaitEnd::Disconnected { stamp, .. })) => stamp.time.0,
                (None, Some(WaitEnd::Repeated)) => from,
                (None, _) => u64::MAX,
            };
            Some(Rpc { from, until, frame: half.stamp.frame })
        };
        self.events.iter().filter_map(rpc).collect()
    }

    /// Windows at random, and one within each wait for an RPC and each silence before a time-out.
    fn windows(&self, random: &mut Random, count: usize) -> Vec<[u64; 2]> {
        let (first, last) = (self.first().0, self.summary.last.unwrap().0);
        let length = (last - first).max(1);
        let mut windows: Vec<[u64; 2]> = (0..count)
            .map(|_| {
                let mut window = [0, 0].map(|_| first + random.below(length));
                window.sort_unstable();
                window
            })
            .collect();
        let waits = self.rpcs().into_iter().map(|rpc| [rpc.from, rpc.until.min(last)]);
        let silences = self.events.iter().filter_map(|event| match event {
            Event::Recovery(Recovered { kind: RecoveryKind::TimedOut { silence }, stamp, .. }) => {
                Some([stamp.time.0 - silence, stamp.time.0])
            }
            _ => None,
        });
        let long = waits.chain(silences).filter(|[from, until]| until.saturating_sub(*from) > 1_000_000);
        // The third quarter of each.
        windows.extend(long.map(|[from, until]| [from + (until - from) / 2, from + (until - from) / 4 * 3]));
        windows
    }
}

fn moment(time: u64) -> Moment {
    format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000).parse().unwrap()
}

fn names(diagnosis: &Diagnosis) -> BTreeSet<&'static str> {
    diagnosis.causes.iter().map(|cause| cause.cause).collect()
}

/// Compares what is said of a window with the whole capture.
fn compare(capture: &ReadCapture, rpcs: &[Rpc], window: [u64; 2], selected: &Diagnosis) {
    let said = format!("{} {window:?}", capture.name);
    let is_in = |rpc: &&Rpc| rpc.from <= window[1] && rpc.until >= window[0];
    let frames: BTreeSet<u64> = rpcs.iter().filter(is_in).map(|rpc| rpc.frame).collect();
    let selection = selected.selection.as_ref().unwrap();
    assert_eq!(selected.rpcs, rpcs.iter().filter(is_in).count() as u64, "{said}");
    assert_eq!((selection.all_rpcs, selected.frames), (capture.whole.rpcs, capture.whole.frames), "{said}");
    let throughout = rpcs.iter().filter(|rpc| rpc.from < window[0] && rpc.until > window[1]).count() as u64;
    assert_eq!(selection.spanning_rpcs, throughout, "{said}");
    if selection.is_empty {
        assert_eq!((selected.rpcs, selected.causes.len(), selected.limits.len()), (0, 0, 0), "{said}");
        return;
    }
    let (whole, part) = (names(&capture.whole), names(selected));
    for cause in &selected.causes {
        if !is_of_rpcs(cause.cause) || SILENT.contains(&cause.cause) {
            assert!(whole.contains(cause.cause), "{said}: {} is not true of the whole", cause.cause);
        }
        let of_rpcs = is_of_rpcs(cause.cause) && cause.cause != "protocol" && cause.rpcs.is_some();
        assert!(!of_rpcs || cause.frames.iter().all(|frame| frames.contains(frame)), "{said}: {cause:?}");
    }
    for cause in capture.whole.causes.iter().filter(|cause| is_of_rpcs(cause.cause) && cause.rpcs.is_some()) {
        let is_here = cause.examples.iter().any(|example| frames.contains(&example.frame));
        assert!(!is_here || part.contains(cause.cause), "{said}: {} is missing in {part:?}", cause.cause);
    }
    for cause in ["nothing-found", "one-direction", "capture-gaps", "cut", "mirror-doubled"] {
        assert_eq!(whole.contains(cause), part.contains(cause), "{said}: {cause}");
    }
}

#[test]
fn windows_say_nothing_that_is_false_of_the_whole_capture() {
    let mut random = Random(51);
    for path in captures() {
        let capture = ReadCapture::from_path(&path);
        if capture.whole.rpcs == 0 {
            continue;
        }
        let rpcs = capture.rpcs();
        for window in capture.windows(&mut random, 100) {
            let mut selection = Selection::default();
            (selection.since, selection.until) = (Some(moment(window[0])), Some(moment(window[1])));
            compare(&capture, &rpcs, window, &capture.select(&selection));
        }
    }
}

#[test]
fn filters_say_nothing_that_is_false_of_the_whole_capture() {
    for path in captures() {
        let capture = ReadCapture::from_path(&path);
        for event in &capture.events {
            let Event::Transaction(transaction) = event else { continue };
            let mut selection = Selection::default();
            selection.connections = vec![transaction.connection];
            selection.xids = vec![transaction.xid];
            let selected = capture.select(&selection);
            let (whole, part) = (names(&capture.whole), names(&selected));
            let new: Vec<_> = part.difference(&whole).filter(|cause| !is_of_rpcs(cause)).collect();
            assert_eq!(new, Vec::<&&str>::new(), "{} {:#010x}", capture.name, transaction.xid);
            assert!(selected.rpcs >= 1 && !selected.selection.unwrap().is_empty);
        }
    }
}

/// Words and values by which the RPCs of a capture can be selected, one list for each word.
fn filters(records: &[Value]) -> Vec<Vec<(&'static str, String)>> {
    let mut filters = BTreeSet::new();
    for record in records {
        let text = |field: &str| record[field].as_str().unwrap_or("none").to_owned();
        let operations = record["operations"].as_array().cloned().unwrap_or_default();
        filters.extend(operations.iter().map(|operation| ("op", operation["name"].as_str().unwrap().to_owned())));
        filters.extend(["client", "server"].map(|role| (role, text("requester"))));
        filters.extend(["client", "server"].map(|role| (role, text("responder"))));
        filters.extend(
            ["call_frame", "reply_frame"].map(|field| ("frame", record[field].as_u64().unwrap_or(1).to_string())),
        );
        filters.extend(record["latency_ns"].as_u64().map(|latency| ("slower", latency.to_string())));
        let user = &record["user"];
        filters.extend(user["uid"].as_u64().map(|uid| ("user", uid.to_string())));
        let machine = user["machine"].as_str().filter(|machine| !machine.is_empty());
        filters.extend(machine.map(|machine| ("user", machine.to_owned())));
        let statuses = ["status", "nfs_status"].into_iter().filter_map(|field| record[field]["name"].as_str());
        filters.extend(statuses.map(|name| ("status", name.to_owned())));
        filters.extend(file_words(record).into_iter().map(|words| ("file", words)));
        filters.insert(("op", record["name"].as_str().unwrap_or("none").to_owned()));
    }
    let filters: Vec<_> = filters.into_iter().collect();
    filters.chunk_by(|filter, next| filter.0 == next.0).map(<[_]>::to_vec).collect()
}

/// The words by which `--file` selects an RPC: the name of the file, as a terminal shows it, and the path.
fn file_words(record: &Value) -> Vec<String> {
    let name = record["file_name"].as_str().map(|name| name.escape_debug().to_string());
    name.into_iter().chain(record["path"].as_str().map(str::to_owned)).collect()
}

fn selection(filters: &[&(&str, String)]) -> Selection {
    let mut selection = Selection::default();
    for (name, value) in filters {
        match *name {
            "op" => selection.operations = vec![value.clone()],
            "client" => selection.clients = vec![rpcrdma_dissector::values::address(value).unwrap()],
            "server" => selection.servers = vec![rpcrdma_dissector::values::address(value).unwrap()],
            "frame" => selection.frames = vec![value.parse().unwrap()],
            "status" => selection.statuses = vec![value.clone()],
            "file" => selection.files = vec![value.clone()],
            "user" => selection.users = vec![value.clone()],
            _ => selection.slower_than = Some(value.parse().unwrap()),
        }
    }
    selection
}

/// Returns true if an RPC meets a condition, by its JSON alone.
fn meets(record: &Value, (name, value): &(&str, String)) -> bool {
    let is = |field: &str| record[field] == value.as_str();
    let frame = |field: &str| record[field].as_u64();
    match *name {
        "op" => {
            let mut operations = record["operations"].as_array().into_iter().flatten();
            let last = record["name"].as_str().and_then(|name| name.rsplit(' ').next());
            is("name") || last == Some(value) || operations.any(|operation| operation["name"] == value.as_str())
        }
        // Of an RPC that is not known, either end may be the client.
        "client" | "server" if record["program"].is_null() => is("requester") || is("responder"),
        "client" => is(if record["reverse"] == true { "responder" } else { "requester" }),
        "server" => is(if record["reverse"] == true { "requester" } else { "responder" }),
        "frame" => {
            let wanted: u64 = value.parse().unwrap();
            let first = frame("call_frame").or(frame("reply_frame")).unwrap();
            (first..=frame("reply_frame").unwrap_or(first)).contains(&wanted)
        }
        "file" => file_words(record).contains(value),
        "user" => {
            let user = &record["user"];
            user["machine"] == value.as_str() || user["uid"].as_u64().is_some_and(|uid| uid.to_string() == *value)
        }
        // An NFS error is carried by an RPC that succeeded.
        "status" => {
            let has_failed = record["nfs_status"]["number"].as_u64().is_some_and(|number| number > 0);
            let of_rpc = record["status"]["name"] == value.as_str() && !has_failed;
            of_rpc || record["nfs_status"]["name"] == value.as_str()
        }
        _ => record["latency_ns"].as_u64().is_some_and(|latency| latency >= value.parse().unwrap()),
    }
}

/// Filters at random, alone, in pairs and with a window: the RPCs are those that the test selects from the JSON of all RPCs, causes of the whole
/// whose examples are among them are found, and no other cause of the capture is. `select` leaves out findings that wait for the end of
/// their RPC, so `protocol` may be missing.
#[test]
fn filters_select_what_the_records_of_all_rpcs_show() {
    let mut random = Random(52);
    let mut selected_rpcs: BTreeMap<&str, u64> = BTreeMap::new();
    for path in captures() {
        let capture = ReadCapture::from_path(&path);
        let (mut names, files) = (FileNames::default(), Files::default());
        let record = |event: &Event| match event {
            Event::Transaction(rpc) => {
                Some(serde_json::to_value(TransactionObject::new(rpc, &files, &mut names)).unwrap())
            }
            _ => None,
        };
        let records: Vec<Value> = capture.events.iter().filter_map(record).collect();
        let (rpcs, filters) = (capture.rpcs(), filters(&records));
        for number in 0..if filters.is_empty() { 0 } else { 100 } {
            let mut pick = || {
                let values = &filters[random.below(filters.len() as u64) as usize];
                &values[random.below(values.len() as u64) as usize]
            };
            let (first, second) = (pick(), pick());
            let is_pair = number % 4 >= 2 && first.0 != second.0;
            let both = [first, second];
            let filter = if is_pair { &both[..] } else { &both[..1] };
            let mut selection = selection(filter);
            let window = capture.windows(&mut random, 1)[0];
            if number % 2 == 1 {
                (selection.since, selection.until) = (Some(moment(window[0])), Some(moment(window[1])));
            }
            let said = format!("{} {filter:?} {:?} {:?}", capture.name, selection.since, selection.until);
            let is_in = |rpc: &Rpc| number % 2 == 0 || rpc.from <= window[1] && rpc.until >= window[0];
            let meets_all = |record: &Value| filter.iter().all(|filter| meets(record, filter));
            let shown = rpcs.iter().zip(&records).filter(|(rpc, record)| is_in(rpc) && meets_all(record));
            let frames: Vec<u64> = shown.map(|(rpc, _)| rpc.frame).collect();
            let selected = capture.select(&selection);
            assert_eq!(selected.rpcs, frames.len() as u64, "{said}");
            filter.iter().for_each(|(word, _)| *selected_rpcs.entry(word).or_default() += selected.rpcs);
            if selected.selection.as_ref().unwrap().is_empty {
                assert_eq!((selected.causes.len(), selected.limits.len()), (0, 0), "{said}");
                continue;
            }
            let (whole, part) = (self::names(&capture.whole), self::names(&selected));
            let new: Vec<_> = part.difference(&whole).filter(|cause| !is_of_rpcs(cause)).collect();
            assert_eq!(new, Vec::<&&str>::new(), "{said}");
            for cause in capture
                .whole
                .causes
                .iter()
                .filter(|cause| is_of_rpcs(cause.cause) && cause.cause != "protocol" && cause.rpcs.is_some())
            {
                let is_here = cause.examples.iter().any(|example| frames.contains(&example.frame));
                assert!(!is_here || part.contains(cause.cause), "{said}: {} is missing in {part:?}", cause.cause);
            }
        }
    }
    let all_words = ["client", "file", "frame", "op", "server", "slower", "status", "user"];
    assert!(selected_rpcs.keys().eq(&all_words) && selected_rpcs.values().all(|rpcs| *rpcs > 50), "{selected_rpcs:?}");
}

/// Rows of `../shared/cases`: what administrators typed, and what is right.
#[test]
fn a_time_within_a_hang_shows_the_calls_that_hang() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (lossy, hangs) = (path("nfs41_lossy.pcap"), path("hangs.pcap"));
    let within = ["--since", "00:41:07", "--until", "00:41:08"];
    let two = "2 RPCs in flight throughout: frames 1169 and 1173";
    for command in ["decode", "transactions", "slow", "pending", "events", "top", "stats", "check"] {
        let output = run(&[&[command, lossy.as_str()][..], &within].concat());
        let said = format!("{} {}", stdout(&output), stderr(&output));
        assert!(said.contains(two) || command == "stats", "{command}: {said}");
        assert!(
            !said.contains("capture on a mirror port") && !said.contains("no call is without"),
            "{command}: {said}"
        );
    }
    let text = |arguments: &[&str]| {
        let output = run(arguments);
        (stdout(&output).split_whitespace().collect::<Vec<_>>().join(" "), output.status.code())
    };
    let (said, status) = text(&[&[lossy.as_str()][..], &within].concat());
    assert!(said.contains(two) && said.contains("1. Packets were lost") && !said.contains("began late"), "{said}");
    assert_eq!(status, Some(1));
    let (said, _) = text(&[&lossy, "--since", "00:41:07", "--until", "00:41:10"]);
    assert!(said.contains("3 of 62 RPCs") && said.contains("frame 1169, which took 2.41 s"), "{said}");
    assert!(!said.contains("began late") && !said.contains("throughout"), "{said}");
    let (said, _) = text(&[&hangs, "--since", "14:29:58", "--until", "14:30:02"]);
    assert!(said.contains("ECHO in frame 289") && !said.contains("direction"), "{said}");
    let (said, _) = text(&[&["stats", lossy.as_str()][..], &within].concat());
    let options =
        "Selection --since 2026-11-21T00:41:07Z --until 2026-11-21T00:41:08Z: of it are messages, chunks and RPCs";
    assert!(said.starts_with(options) && said.contains("those of the whole capture Capture"), "{said}");
    let (said, _) = text(&["stats", &lossy]);
    assert!(said.starts_with("Capture"), "{said}");
    let (said, _) = text(&["pending", "--since", "14:29:57", &hangs]);
    assert!(said.contains("289 4 0xd4c510d2 echo ECHO"), "{said}");
}

#[test]
fn an_empty_selection_says_nothing_about_the_capture() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures");
    let path = folder.join("hangs.pcap").to_str().unwrap().to_owned();
    for options in [["--since", "2030-01-01"], ["--client", "10.9.9.9"], ["--file", "none"], ["--frame", "999999"]] {
        for command in ["diagnose", "decode", "transactions", "slow", "pending", "events", "top", "stats"] {
            let output = run(&[&[command, path.as_str()][..], &options].concat());
            let said = format!("{} {}", stdout(&output), stderr(&output));
            assert!(stderr(&output).contains("nothing selected"), "{command} {options:?}: {said}");
            assert_eq!(output.status.code(), Some(1), "{command} {options:?}");
            for claim in
                ["no call is without", "nothing shows", "Nothing stands out", "1. ", "mirror port", "cause found"]
            {
                assert!(!said.contains(claim), "{command} {options:?}: {said}");
            }
        }
        let output = run(&[&["report", path.as_str(), "-o", "-"][..], &options].concat());
        let page = stdout(&output);
        assert!(page.contains("No RPC matches") && !page.contains("Nothing stands out"), "{options:?}");
        assert!(!page.contains("Nothing captured shows"), "{options:?}");
        let output = run(&[&["diagnose", "--json", path.as_str()][..], &options].concat());
        let record: serde_json::Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
        assert_eq!((&record["selection"]["is_empty"], &record["rpcs"]), (&true.into(), &0.into()));
        assert_eq!(record["causes"].as_array().map(Vec::len), Some(0));
    }
}

/// Intervals of the selected time have the numbers that they have in the whole capture.
#[test]
fn intervals_of_a_time_are_those_of_the_whole_capture() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures");
    let path = folder.join("nfs41_lossy.pcap").to_str().unwrap().to_owned();
    let lines = |options: &[&str]| {
        let output = run(&[&["stats", "--interval", "500ms", &path][..], options].concat());
        stdout(&output).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (whole, part) = (lines(&[]), lines(&["--since", "+13.6", "--until", "+16.2"]));
    assert!(part.len() > 2 && part.iter().all(|line| whole.contains(line)), "{part:#?}");
    let start = |line: &String| line.split_whitespace().next().unwrap().parse::<f64>().unwrap();
    assert!(part.iter().skip(1).all(|line| (13.0..=16.2).contains(&start(line))), "{part:#?}");
}
