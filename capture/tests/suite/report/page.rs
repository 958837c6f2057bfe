//! The tables and sentences of the page, and the rows that it leaves out.

use std::collections::BTreeSet;
use std::{env, fs, process};

use rpcrdma_answers::report;
use rpcrdma_dissector::{Config, Files, StepsWanted};
use serde_json::Value;

use super::{CAPTURES, capture, json, procedures, report, rows, text};
use crate::common::dissect;
use crate::diagnosis::{TIMED, labelled};
use crate::synthetic::trace::Trace;
use crate::synthetic::{End, Wire};
use crate::transcode::{self, Pcap, Record};

/// A capture file of these frames, removed afterwards.
pub(super) struct Written(pub(super) String);

impl Written {
    pub(super) fn new(name: &str, frames: &[Record]) -> Self {
        let path = env::temp_dir().join(format!("rpcrdma-report-{name}-{}.pcap", process::id()));
        fs::write(&path, transcode::write_pcap(frames, Pcap::default())).unwrap();
        Self(path.to_str().unwrap().to_owned())
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

/// The values by which each row of the table with this caption is sorted.
fn values(page: &str, caption: &str) -> Vec<Vec<u64>> {
    let Some((_, table)) = page.split_once(&format!("<caption>{caption}</caption>")) else { return Vec::new() };
    let body = table.split_once("<tbody>").unwrap().1.split("</tbody>").next().unwrap();
    let value = |cell: &str| cell.split('"').next().unwrap().parse().unwrap();
    body.split("<tr>").skip(1).map(|row| row.split("data-value=\"").skip(1).map(value).collect()).collect()
}

fn numbers(record: &Value, fields: &[&str]) -> Vec<u64> {
    fields.iter().map(|field| record[field].as_u64().unwrap()).collect()
}

fn sentences(page: &str) -> Vec<String> {
    let verdict = page.split("<ul class=\"verdict\">").nth(1).unwrap().split("</ul>").next().unwrap();
    verdict.split("<li>").skip(1).map(text).collect()
}

#[test]
fn scrolling_tables_have_names_and_keyboard_access() {
    let page = report(&capture("errors"));
    let tables: Vec<&str> = page.split("<div class=\"scroll\"").filter(|part| part.contains("<table")).collect();
    let names: Vec<_> = page.match_indices("<caption>").collect();
    assert!(names.len() > 5 && page.matches("<table").count() == names.len(), "{names:?}");
    for (place, _) in names {
        let caption = page[place..].strip_prefix("<caption>").and_then(|rest| rest.split("</caption>").next());
        let region = format!(" tabindex=\"0\" role=\"region\" aria-label=\"{}\">", caption.unwrap());
        assert!(tables.iter().any(|table| table.starts_with(&region)), "{region}");
    }
}

/// Latencies and the waits of calls without a reply, added up.
pub(super) fn time(record: &Value) -> u64 {
    ["latency_sum_ns", "unanswered_sum_ns"].iter().map(|field| record[field].as_u64().unwrap()).sum()
}

#[test]
fn numbers_of_operations_are_those_of_stats() {
    for name in CAPTURES {
        let statistics = &json(&["stats", "--quiet", "--json", &capture(name)])[0];
        let procedures = procedures(statistics);
        let all: u64 = procedures.iter().map(|procedure| time(procedure)).sum();
        let page = report(&capture(name));
        let caption = "RPCs by operation, those that took the most time first";
        let (values, rows) = (values(&page, caption), rows(&page, caption));
        assert_eq!(values.len(), procedures.len(), "{name}");
        for ((values, row), procedure) in values.iter().zip(rows).zip(procedures) {
            let sum = time(procedure);
            let mut expected = numbers(procedure, &["calls", "failed", "rdma_read_octets", "rdma_write_octets"]);
            expected.extend([sum, sum]);
            match &procedure["latency"] {
                Value::Null => {}
                // A single RPC has no percentiles.
                latency if latency["count"] == 1 => expected.extend(numbers(latency, &["max_ns"])),
                latency => expected.extend(numbers(latency, &["p50_ns", "p99_ns", "max_ns"])),
            }
            assert_eq!(*values, expected, "{name}");
            assert_eq!(row[6], format!("{:.1} %", sum as f64 / all.max(1) as f64 * 100.0), "{name}");
        }
    }
}

#[test]
fn numbers_of_clients_servers_and_files_are_those_of_top() {
    for name in ["nfs41", "nfs3_ipv6", "hangs"] {
        let page = report(&capture(name));
        for (by, caption) in [("client", "client"), ("server", "server"), ("name", "name of file")] {
            let records = json(&["top", "--by", by, "--rows", "20", "--quiet", "--json", &capture(name)]);
            let caption = format!("RPCs by {caption}, those that took the most time first");
            let (values, rows) = (values(&page, &caption), rows(&page, &caption));
            assert_eq!(values.len(), records.len(), "{name} {by}");
            for ((values, row), record) in values.iter().zip(rows).zip(records) {
                let mut expected =
                    numbers(&record, &["calls", "unanswered", "failed", "octets_read", "octets_written"]);
                expected.extend([time(&record), time(&record)]);
                // A single RPC has no 99th percentile.
                let fields: &[&str] = if record["calls"] == 1 { &["p50_ns"] } else { &["p50_ns", "p99_ns"] };
                expected.extend(fields.iter().filter_map(|field| record[field].as_u64()));
                assert_eq!(*values, expected, "{name} {by}");
                assert_eq!(row[7], format!("{:.1} %", record["share"].as_f64().unwrap() * 100.0), "{name} {by}");
            }
        }
    }
}

#[test]
fn numbers_of_connections_are_those_of_stats() {
    for name in CAPTURES.into_iter().chain(["hangs", "nfs41_callback", "situations/reply_not_ready"]) {
        let statistics = &json(&["stats", "--quiet", "--json", &capture(name)])[0];
        let page = report(&capture(name));
        let caption = "What each end of a connection sent";
        let (values, rows) = (values(&page, caption), rows(&page, caption));
        let connections = statistics["connections"].as_array().unwrap();
        let ends =
            connections.iter().flat_map(|connection| [("→", connection, "active"), ("←", connection, "passive")]);
        assert_eq!(rows.len(), connections.len() * 2, "{name}");
        for ((values, row), (arrow, connection, end)) in values.iter().zip(rows).zip(ends) {
            let counts = &connection[end];
            let mut expected = numbers(connection, &["connection"]);
            expected.extend(numbers(counts, &["packets", "retransmitted", "replaced", "timeouts", "sequence_errors"]));
            expected.extend(numbers(counts, &["not_ready", "failed", "missed"]));
            assert_eq!(*values, expected, "{name}");
            assert_eq!(row[1], format!("{arrow} {}", counts["address"].as_str().unwrap()), "{name}");
            assert_eq!(row[2], connection["carrier"].as_str().unwrap(), "{name}");
            let (credits, direction) = match end {
                "active" => (&connection["credits"], ""),
                _ => (&connection["reverse_credits"], "reverse direction: "),
            };
            let words = match ["min", "max"].map(|bound| credits["granted"][bound].as_u64()) {
                [Some(min), Some(max)] if min != max => format!("{direction}{min} to {max}"),
                [Some(min), _] => format!("{direction}{min}"),
                _ => "–".to_owned(),
            };
            assert_eq!(row[11], words, "{name}");
        }
    }
}

#[test]
fn slow_and_waiting_rpcs_have_times_and_ends() {
    const PHASES: [(&str, &str); 6] = [
        ("call", "call"),
        ("responder", "server"),
        ("rdma_read", "RDMA Read"),
        ("rdma_write", "RDMA Write"),
        ("reply", "reply"),
        ("requester", "client"),
    ];
    let ends = |record: &Value| ["requester", "responder"].map(|end| record[end].as_str().unwrap()).join(" → ");
    for name in CAPTURES.into_iter().chain(["hangs", "situations/clock_set_back_waiting"]) {
        let page = report(&capture(name));
        let caption = "The slowest RPCs, and where their time went";
        let slow = json(&["slow", "--quiet", "--json", &capture(name)]);
        for ((values, row), rpc) in values(&page, caption).iter().zip(rows(&page, caption)).zip(slow) {
            let expected = numbers(&rpc, &["latency_ns", "call_frame", "reply_frame"]);
            assert_eq!((values, &row[2]), (&expected, &ends(&rpc)), "{name}");
            if let Some(reason) = rpc["phases_missing"].as_str() {
                assert_eq!(row[6], format!("phases unknown: {reason}"), "{name}");
                continue;
            }
            // The title of the bar, and the words beside it.
            let (title, words) = row[6].split_at(row[6].len() / 2);
            let used = PHASES.into_iter().filter(|(field, _)| rpc["phases"][format!("{field}_ns")] != 0);
            let used: Vec<_> = used.map(|(_, name)| name.to_owned()).collect();
            let name_of =
                |part: &str| part.split(|character: char| character.is_ascii_digit()).next().unwrap().trim().to_owned();
            let said: Vec<_> = words.split(", ").map(name_of).collect();
            assert_eq!((title, said), (words, used), "{name}");
        }
        let caption = "Calls without a reply, the oldest first";
        let waiting = json(&["pending", "--quiet", "--json", &capture(name)]);
        for ((values, row), call) in values(&page, caption).iter().zip(rows(&page, caption)).zip(waiting) {
            let expected = numbers(&call, &["age_at_least_ns", "call_frame"]);
            assert_eq!((values, &row[2]), (&expected, &ends(&call)), "{name}");
        }
    }
}

/// A section and the words for its RPC, by the cause. Each cause is in a capture at least.
#[test]
fn each_cause_leads_to_the_section_that_shows_it() {
    let section = |cause: &str| match cause {
        "server-silent" | "server-unreachable" | "client-silent" | "client-unreachable" | "wrong-checksum"
        | "reply-refused" => "hung",
        "small-sends"
        | "server-not-listening"
        | "connection-refused"
        | "connect-unanswered"
        | "flapping"
        | "completion-error"
        | "connection-lost" => "connections",
        "loss" | "receiver-not-ready" | "credits" | "slots" => "timeline",
        "retried" | "distance" | "delegation-recall" | "server-slow" | "client-slow" | "slow-transfer"
        | "congestion" | "window" | "link-full" | "outlier" | "rdma-read-slow" | "registration" | "client-queue"
        | "server-queue" | "replies-late" => "slowest",
        "errors" | "server-grace" | "refused-for-now" | "copy-unfinished" | "lock-held" => "operations",
        "protocol" => "rules",
        "nothing-found" | "one-direction" | "capture-gaps" | "cut" | "joined-late" | "mirror-doubled"
        | "two-clocks" | "session-status" => "capture",
        _ => panic!("{cause}"),
    };
    let mut seen = BTreeSet::new();
    for (name, frames, causes) in labelled() {
        let not_seen = causes.iter().filter(|cause| seen.insert(**cause)).count();
        if not_seen == 0 {
            continue;
        }
        let page = report(&Written::new("cause", &frames).0);
        let list = page.split("<ol class=\"causes\">").nth(1).unwrap().split("</ol>").next().unwrap();
        let items: Vec<&str> = list.split("<li>").skip(1).collect();
        assert_eq!(items.len(), causes.len(), "{name}");
        for (item, cause) in items.iter().zip(causes) {
            assert!(item.contains(&format!("<a href=\"#{}\">Show it</a>", section(cause))), "{name}: {item}");
            let rpc = item.split_once("<a href=\"#diagram-");
            assert_eq!(rpc.is_some(), TIMED.contains(cause), "{name}: {item}");
            if let Some((_, rpc)) = rpc {
                let words = if *cause == "errors" { "The first of them" } else { "The RPC with most of it" };
                assert!(rpc.contains(&format!("\">{words}</a>")), "{name}: {item}");
            }
        }
    }
    assert_eq!(seen.len(), 39);
}

/// Frames of a shipped capture, without some of them.
fn without(name: &str, is_gone: impl Fn(usize) -> bool) -> Vec<Record> {
    let frames = transcode::capture(name).into_iter().enumerate();
    frames.filter(|(index, _)| !is_gone(index + 1)).map(|(_, frame)| frame).collect()
}

/// Two RPCs. The reply to the second is not acknowledged.
fn unacknowledged() -> Vec<Record> {
    let (mut trace, _) = Trace::exchange();
    trace.acknowledge(210);
    let (call, reply) = (trace.call(2), trace.reply(2));
    trace.at(300, &call).accept(310).at(400, &reply).frames()
}

#[test]
fn calls_that_were_sent_again_under_their_xid_are_counted() {
    let page = report(&capture("same_xid"));
    assert!(page.contains(">1 call left out: retransmitted under the same XID.</p>"));
}

#[test]
fn the_verdict_says_what_was_answered_sent_again_and_missed() {
    const NOTHING: &str = "As far as can be seen, nothing is missing from the capture.";
    const HIDDEN: &str = "which calls were answered, how long they took and what was lost is not known.";
    let situation = |name: &str| transcode::capture(&format!("situations/{name}"));
    for (name, frames, first, network, missing) in [
        (
            "calls_answered",
            situation("calls_answered"),
            "70 RPCs on 1 connection in 70.1 ms; every call was answered.",
            "No captured packet was retransmitted.",
            NOTHING,
        ),
        (
            "calls_unanswered",
            situation("calls_unanswered"),
            "70 RPCs on 1 connection in 70.0 ms; 30 calls have no reply.",
            "No captured packet was retransmitted.",
            NOTHING,
        ),
        (
            "calls_sent_again",
            situation("calls_sent_again"),
            "70 RPCs on 1 connection in 70.1 ms; every call was answered.",
            "70 of 420 packets were retransmitted (16.7 %); there were 70 'receiver not ready'.",
            NOTHING,
        ),
        (
            "reply_refused",
            situation("reply_refused"),
            "1 RPC on 1 connection in 500 ms; every call was answered.",
            "1 of 6 packets was retransmitted after 2 losses (1 negative acknowledgement, 1 time-out).",
            NOTHING,
        ),
        (
            "call_unacknowledged",
            situation("call_unacknowledged"),
            "1 RPC on 1 connection in 1.00 s; 1 call has no reply.",
            "2 of 3 packets were retransmitted (66.7 %) after 2 losses (2 time-outs).",
            NOTHING,
        ),
        (
            "unacknowledged",
            unacknowledged(),
            "2 RPCs on 1 connection in 400 µs; every call has a reply, 1 of them not acknowledged in the capture.",
            "No captured packet was retransmitted.",
            NOTHING,
        ),
        (
            "doubled",
            situation("doubled"),
            "1 RPC on 1 connection in 212 µs; every call was answered.",
            "No captured packet was retransmitted. Left out: nearly every packet is in the capture twice: 4 duplicates of 4 packets.",
            NOTHING,
        ),
    ] {
        let found = sentences(&report(&Written::new(name, &frames).0));
        let [answered, .., sent_again, _, lacks] = &found[..] else { panic!("{name}: {found:#?}") };
        assert_eq!((&answered[..], &sent_again[..], &lacks[..]), (first, network, missing), "{name}");
    }
    // Facts that a missing direction hides are said first.
    for (name, rpcs, host, other) in [("calls_only", "20 RPCs", 1, 2), ("replies_only", "20 RPCs", 2, 1)] {
        let found = sentences(&report(&capture(&format!("situations/{name}"))));
        let hidden = format!(
            "Connection 1: the capture holds only packets of 192.0.2.{host}, none of 192.0.2.{other}: {HIDDEN}"
        );
        assert_eq!(found[0], hidden, "{name}");
        assert!(
            found[1].starts_with(rpcs) && found[1].ends_with("; both call and reply were captured of 0."),
            "{found:#?}"
        );
        assert!(found.contains(&"Nothing captured shows that a packet was retransmitted.".to_owned()), "{found:#?}");
        let lacks = "Missing from the capture: 1 direction of a connection, 1 connection setup; what depends on them is not \
             judged.";
        assert_eq!(found.last().unwrap(), lacks, "{name}");
    }
    assert_eq!(
        sentences(&report(&capture("situations/no_rpc"))),
        ["Nothing to judge: there is no RPC-over-RDMA message."]
    );
}

#[test]
fn the_verdict_counts_what_the_capture_lacks() {
    let whole = transcode::capture("nfs41");
    // A file that ends in its last frame lacks the rest of it.
    let file = Written::new("rest", &whole);
    let octets = fs::read(&file.0).unwrap();
    fs::write(&file.0, &octets[..octets.len() - 1]).unwrap();
    let page = report(&file.0);
    let ended = sentences(&page);
    assert!(ended[0].ends_with("; every call that was captured was answered."), "{ended:#?}");
    assert_eq!(ended[4], "Missing from the capture: 1 rest of a file; what depends on them is not judged.");
    let late = sentences(&report(&Written::new("late", &whole[60..]).0));
    assert!(late[4].contains("1 connection setup"), "{late:#?}");
    let cut = sentences(&report(&Written::new("cut", &transcode::cut(&whole, 96)).0));
    let statistics =
        |frames: &[Record]| json(&["stats", "--quiet", "--json", &Written::new("lacks", frames).0]).remove(0);
    let incomplete = statistics(&transcode::cut(&whole, 96))["messages"]["incomplete"].as_u64().unwrap();
    assert!(cut[4].contains(&format!("{incomplete} parts of messages")), "{cut:#?}");
    // Every hundredth frame is gone.
    let gaps = without("nfs41", |number| number > 60 && number % 100 == 0);
    let connection = &statistics(&gaps)["connections"][0];
    let missed: u64 = ["active", "passive"].map(|end| connection[end]["missed"].as_u64().unwrap()).iter().sum();
    let found = sentences(&report(&Written::new("gaps", &gaps).0));
    assert!(missed > 1 && found[4].contains(&format!("{missed} packets")), "{found:#?}");
    // An empty table is an all-clear only if nothing is missing.
    let unread = "a file could not be read to its end.</p>";
    assert!(page.contains(&format!("<p>No call without a reply was captured, but {unread}")));
    assert!(report(&capture("nfs41")).contains("<p>Every call has its reply.</p>"));
}

/// 205 clients, each with a call without a reply; each breaks a rule by its setup without private data.
pub(super) fn many_clients() -> Vec<Record> {
    let mut all = Vec::new();
    for client in 0..205 {
        let number = u32::from(client);
        let mut trace = Trace::from_wire(Wire {
            client: End { host: 10 + client, queue_pair: 0x100 + number, next: 100 },
            server: End { host: 2, queue_pair: 0x400 + number, next: 7000 },
            name: 0x1234 + number,
            ..Wire::default()
        });
        let call = trace.call(number);
        let time = 1000 + u64::from(client);
        all.extend(trace.at(time, &call).accept(time + 10).frames());
    }
    all.sort_by_key(|frame| frame.time_ns);
    all
}

#[test]
fn a_long_table_says_how_many_rows_it_lacks() {
    let file = Written::new("many", &many_clients());
    let page = report(&file.0);
    let findings = json(&["check", "--quiet", "--json", &file.0]);
    let findings = findings.iter().filter(|record| record["type"] == "finding");
    let by = |found: &Value| ["severity", "rule", "sender", "blame"].map(|field| found[field].to_string());
    let findings = findings.map(by).collect::<BTreeSet<_>>().len();
    for (caption, rows_shown, left_out) in [
        ("Calls without a reply, the oldest first", 200, "5 more calls are not shown.".to_owned()),
        ("Broken rules, by who broke them", 200, format!("{} more findings are not shown.", findings - 200)),
        ("What each end of a connection sent", 400, "5 more connections are not shown.".to_owned()),
    ] {
        assert_eq!(rows(&page, caption).len(), rows_shown, "{caption}");
        assert!(page.contains(&format!("<p class=\"note\">{left_out}</p>")), "{left_out}");
    }
    // Twenty clients, and the rest together.
    let clients = rows(&page, "RPCs by client, those that took the most time first");
    assert_eq!((clients.len(), &clients[20][0][..], &clients[20][1][..]), (21, "(185 others)", "185"));
}

/// Other pages show the drawings of the library: those that are in this one.
#[test]
fn the_library_draws_what_the_report_shows() {
    let file = fs::read(transcode::path("nfs41")).unwrap();
    let mut config = Config::default();
    (config.operations, config.recovery, config.steps) = (true, true, StepsWanted::All);
    let found = dissect(&file, config);
    let page = report(&capture("nfs41"));
    let slowest = found.transactions.iter().max_by_key(|transaction| transaction.latency()).unwrap();
    let diagram = report::sequence_diagram(slowest, &Files::default()).unwrap();
    assert!(diagram.starts_with("<details class=\"diagram\"") && page.contains(&diagram), "{diagram}");
    let phases = slowest.phases.as_ref().unwrap();
    let recovery = slowest.recovery.as_ref().map(|recovery| recovery.phases).unwrap_or_default();
    let [bar, in_words] = [report::phase_bar(phases, &recovery), report::phases(phases, &recovery)];
    assert!(bar.starts_with("<svg class=\"phases\"") && page.contains(&bar), "{bar}");
    let (legend, words) = in_words.split_at(in_words.find("</ul>").unwrap() + "</ul>".len());
    assert!(words.starts_with(&bar) && page.contains(legend) && page.contains(words), "{in_words}");
    assert_eq!(report::escaped("a <b> & \"c\""), "a &lt;b&gt; &amp; &quot;c&quot;");
}
