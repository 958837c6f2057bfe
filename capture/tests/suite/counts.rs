//! Counts of RPCs: all commands say the same of a capture.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::command::{run, stdout};

/// Captures with tries on several connections, promises, callbacks, losses, calls without replies and replies without calls.
const CAPTURES: [&str; 17] = [
    "client_deviations",
    "errors",
    "nfs41_callback",
    "nfs41_lossy",
    "nfsd_reverse",
    "same_xid",
    "withdrawn",
    "situations/calls_only",
    "situations/calls_unanswered",
    "situations/copy_unfinished",
    "situations/grace",
    "situations/iwarp_tries",
    "situations/recall_answered_late",
    "situations/referral",
    "situations/replies_only",
    "situations/session_status",
    "situations/tries",
];

/// RPCs of one client, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    rpcs: u64,
    without_reply: u64,
    without_call: u64,
    failed: u64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.rpcs += other.rpcs;
        self.without_reply += other.without_reply;
        self.without_call += other.without_call;
        self.failed += other.failed;
    }

    /// The RPC of a record of `transactions`.
    fn of_rpc(rpc: &Value) -> Self {
        let (has_call, has_reply) = (!rpc["call"].is_null(), !rpc["reply"].is_null());
        Self {
            rpcs: 1,
            without_reply: u64::from(has_call && !has_reply),
            without_call: u64::from(!has_call),
            failed: u64::from(has_failed(rpc)),
        }
    }

    /// A record of `top`, whose calls are those that were captured.
    fn of_group(group: &Value) -> Self {
        let [calls, without_reply, without_call, failed] =
            ["calls", "unanswered", "without_call", "failed"].map(|field| group[field].as_u64().unwrap());
        Self { rpcs: calls + without_call, without_reply, without_call, failed }
    }

    fn sum(all: impl IntoIterator<Item = Self>) -> Self {
        let mut sum = Self::default();
        all.into_iter().for_each(|counts| sum.add(counts));
        sum
    }
}

/// Returns true if an RPC failed; a referral to another server is no failure.
fn has_failed(rpc: &Value) -> bool {
    let [rpc_status, nfs_status] = ["status", "nfs_status"].map(|field| rpc[field]["name"].as_str());
    let is_error = |status: &str| !["NFS_OK", "NFS3_OK", "NFS4_OK", "NFS4ERR_MOVED", "0"].contains(&status);
    rpc_status.is_some_and(|status| status != "SUCCESS") || nfs_status.is_some_and(is_error)
}

fn capture(name: &str) -> String {
    [env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/", name, ".pcap"].concat()
}

/// The records of a command.
fn records(arguments: &[&str], name: &str) -> Vec<Value> {
    let path = capture(name);
    let output = run(&[arguments, &["--json", "--quiet", &path]].concat());
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_type<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}

fn number(record: &Value, field: &str) -> u64 {
    record[field].as_u64().unwrap_or_else(|| panic!("{field}: {record}"))
}

fn sum_of(records: &[&Value], field: &str) -> u64 {
    records.iter().map(|record| number(record, field)).sum()
}

/// Counts by client, as `transactions` lists the RPCs.
fn count_clients(rpcs: &[&Value]) -> BTreeMap<String, Counts> {
    let mut clients: BTreeMap<_, Counts> = BTreeMap::new();
    for rpc in rpcs {
        let client = &rpc[if rpc["reverse"] == true { "responder" } else { "requester" }];
        clients.entry(client.as_str().unwrap().to_owned()).or_default().add(Counts::of_rpc(rpc));
    }
    clients
}

#[test]
fn all_commands_count_the_same_rpcs() {
    for name in CAPTURES {
        let listed = records(&["transactions"], name);
        let rpcs = of_type(&listed, "transaction");
        let all = Counts::sum(rpcs.iter().map(|rpc| Counts::of_rpc(rpc)));
        assert!(all.rpcs > 0, "{name}");
        compare_groups(name, &rpcs, all);
        compare_totals(name, all);
        let repeated = compare_lists(name, &rpcs, all);
        compare_tries(name, &rpcs, repeated);
        compare_report(name, all);
    }
}

/// `top` by everything that each RPC has one of.
fn compare_groups(name: &str, rpcs: &[&Value], all: Counts) {
    for by in ["client", "server", "connection", "operation", "user"] {
        let groups = records(&["top", "--by", by], name);
        let groups = of_type(&groups, "top");
        assert_eq!(Counts::sum(groups.iter().map(|group| Counts::of_group(group))), all, "{name}: top --by {by}");
        if by == "client" {
            let own = groups.iter().map(|group| (group["key"].as_str().unwrap().to_owned(), Counts::of_group(group)));
            assert_eq!(own.collect::<BTreeMap<_, _>>(), count_clients(rpcs), "{name}: clients");
        }
    }
}

/// `stats` and `diagnose`.
fn compare_totals(name: &str, all: Counts) {
    let stats = records(&["stats"], name);
    let (total, failures) = (&stats[0]["rpcs"], stats[0]["failures"].as_array().unwrap());
    let procedures = stats[0]["procedures"].as_array().unwrap();
    let own = Counts {
        rpcs: number(total, "total"),
        without_reply: number(total, "without_reply"),
        without_call: number(total, "without_call"),
        failed: sum_of(&failures.iter().collect::<Vec<_>>(), "count"),
    };
    assert_eq!(own, all, "{name}: stats");
    let procedures: Vec<_> = procedures.iter().collect();
    let calls = (sum_of(&procedures, "calls"), sum_of(&procedures, "failed"));
    assert_eq!(calls, (all.rpcs - all.without_call, all.failed), "{name}: procedures of stats");
    let diagnosis = records(&["diagnose"], name);
    let own = ["rpcs", "without_reply", "without_call"].map(|field| number(&diagnosis[0], field));
    assert_eq!(own, [all.rpcs, all.without_reply, all.without_call], "{name}: diagnose");
    for (command, records) in [("stats", &stats), ("diagnose", &diagnosis)] {
        let summary = &records.last().unwrap()["captures"][0];
        assert_eq!(number(summary, "rpcs"), all.rpcs, "{name}: summary of {command}");
    }
}

/// Lists: `pending`, `slow`, CSV, and a selection. Returns the number of calls that a later call with the same XID replaced.
fn compare_lists(name: &str, rpcs: &[&Value], all: Counts) -> u64 {
    let pending = records(&["pending"], name);
    let of_rpcs = of_type(&pending, "pending").into_iter().filter(|record| record["promise"].is_null()).count() as u64;
    let repeated = number(&pending.last().unwrap()["left_out"], "repeated_calls");
    assert_eq!(of_rpcs + repeated, all.without_reply, "{name}: pending");
    let timed = rpcs.iter().filter(|rpc| !rpc["latency_ns"].is_null()).count();
    let slow = records(&["slow", "--top", "1000"], name);
    assert_eq!(of_type(&slow, "transaction").len(), timed, "{name}: slow");
    let csv = run(&["transactions", "--csv", "--quiet", &capture(name)]);
    assert_eq!(stdout(&csv).lines().count() as u64, all.rpcs + 1, "{name}: lines of CSV");
    let selected = records(&["transactions", "--failed"], name);
    assert_eq!(of_type(&selected, "transaction").len() as u64, all.failed, "{name}: --failed");
    repeated
}

/// Tries: a connection counts each try of an RPC on the connection.
fn compare_tries(name: &str, rpcs: &[&Value], repeated: u64) {
    let lives = records(&["connections"], name);
    let mut lives = of_type(&lives, "connection");
    // Requests without an answer have no RPCs.
    lives.retain(|life| !life["rpcs"].is_null());
    let open: Vec<_> = lives.iter().filter(|life| life["end"].is_null()).map(|life| &life["connection"]).collect();
    let (mut tries, mut ended) = (0, 0);
    for rpc in rpcs {
        let each = rpc["each_try"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert!(each.is_empty() || each.len() as u64 == number(rpc, "tries"), "{name}: {rpc}");
        tries += rpc["tries"].as_u64().unwrap_or(1);
        let connections: Vec<_> = match each.is_empty() {
            true => Vec::from_iter((Counts::of_rpc(rpc).without_reply == 1).then_some(&rpc["connection"])),
            false => each.iter().filter(|each| each["reply_frame"].is_null()).map(|each| &each["connection"]).collect(),
        };
        ended += connections.iter().filter(|connection| !open.contains(connection)).count() as u64;
    }
    assert_eq!(sum_of(&lives, "rpcs"), tries, "{name}: tries on connections");
    assert_eq!(sum_of(&lives, "unanswered") + repeated, ended, "{name}: calls that ended with connections");
}

fn compare_report(name: &str, all: Counts) {
    let page = run(&["report", "--quiet", &capture(name), "-o", "-"]);
    let page = stdout(&page);
    let number = |rest: &str| -> u64 {
        let digits: String = rest.chars().take_while(|digit| digit.is_ascii_digit() || *digit == ',').collect();
        digits.replace(',', "").parse().unwrap_or_default()
    };
    let verdict = page.split("<li>").find(|item| item.contains(" RPCs on ") || item.contains(" RPC on ")).unwrap();
    assert_eq!(number(verdict), all.rpcs, "{name}: report");
    let has_every = verdict.contains("every call was answered");
    assert_eq!(has_every, all.without_reply == 0 && all.without_call == 0, "{name}: {verdict}");
}
