//! Two captures of the same packets, one at either end of the network.

use std::{env, fs, process};

use serde_json::Value;

use crate::command::{run, stderr, stdout};
use crate::transcode::{Pcap, Record, capture, path, write_pcap};

/// Runs a command on two captures of the repository.
fn run_pair(command: &[&str], names: [&str; 2]) -> (String, String) {
    let paths = names.map(|name| path(name).to_str().unwrap().to_owned());
    let arguments = [command, &[paths[0].as_str(), paths[1].as_str()]].concat();
    let output = run(&arguments);
    (stdout(&output).to_owned(), stderr(&output).to_owned())
}

/// Both captures alone say how long the RPCs took at that end. The clocks of the machines were 791 ms apart (RoCE), and 47 ms (iWARP).
#[test]
fn files_of_both_ends_are_one_capture() {
    let medians = "16 RPCs, all answered; median 38.0 ms at the client, 2.61 ms at the server";
    for (carrier, medians) in
        [("", medians), ("iwarp_", "16 RPCs, all answered; median 40.6 ms at the client, 21.4 ms at the server")]
    {
        let [client, server] = ["requester", "responder"].map(|end| format!("{carrier}network_{end}"));
        for names in [[&client, &server], [&server, &client]] {
            let (text, _) = run_pair(&["diagnose"], names.map(String::as_str));
            assert!(text.contains("client 192.0.2.2, server 192.0.2.1, 1 connection, captured at both ends"), "{text}");
            assert!(text.contains(medians), "{text}");
        }
    }
}

#[test]
fn records_divide_the_latency_between_both_ends() {
    let names = ["network_requester", "network_responder"];
    let (records, notices) = run_pair(&["transactions", "--json"], names);
    assert!(notices.is_empty() || !notices.contains("start before"), "{notices}");
    let records: Vec<Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rpcs: Vec<&Value> = records.iter().filter(|record| record["type"] == "transaction").collect();
    assert_eq!(rpcs.len(), 16);
    for rpc in rpcs {
        let both = &rpc["both_ends"];
        let number = |field: &str| both[field].as_u64().unwrap_or_else(|| panic!("{field}: {rpc}"));
        assert_eq!(both["requester_latency_ns"], rpc["latency_ns"]);
        let parts = number("requester_ns") + number("network_ns") + number("responder_ns");
        assert_eq!(parts, number("requester_latency_ns"));
        // The network delayed each packet by milliseconds.
        assert!(number("network_ns") > 5_000_000, "{both}");
        assert!(number("way_there_least_ns") <= number("way_there_most_ns"), "{both}");
        assert!(number("way_back_least_ns") <= number("way_back_most_ns"), "{both}");
    }
    let capture = &records.last().unwrap()["captures"][0];
    assert_eq!(capture["second_file"]["rpcs_in_both"], 16, "{capture}");
}

#[test]
fn unrelated_files_and_separate_files_stay_apart() {
    let (text, notices) = run_pair(&["diagnose"], ["nfs3", "nfs40"]);
    assert!(text.contains("2 connections") && !text.contains("both ends"), "{text} {notices}");
    let (text, _) = run_pair(&["diagnose", "--separate"], ["network_requester", "network_responder"]);
    assert_eq!(text.matches("16 RPCs, all answered; median").count(), 2, "{text}");
    assert!(!text.contains("both ends"), "{text}");
}

#[test]
fn the_diagnosis_says_who_took_the_time() {
    let (text, _) = run_pair(&["diagnose"], ["network_requester", "network_responder"]);
    let text = text.replace('\n', " ");
    assert!(text.contains("of 16 RPCs, the network took "), "{text}");
    assert!(text.contains("No loss between the two places of capture is seen."), "{text}");
    let (text, _) = run_pair(&["slow"], ["network_requester", "network_responder"]);
    assert!(text.contains("both ends: network ") && text.contains("(there "), "{text}");
}

/// The client's file has a packet twice, and the server's once.
#[test]
fn a_packet_of_which_one_copy_arrived_was_lost_between() {
    let mut client = capture("network_requester");
    // The first packet of a Send of several, or a whole Send, by the client.
    let is_sent = |record: &&Record| record.data[26..30] == [192, 0, 2, 2] && matches!(record.data[42], 0x00 | 0x04);
    let sent = client.iter().filter(is_sent).nth(5).unwrap().clone();
    client.push(Record { time_ns: sent.time_ns - 5_000_000, ..sent });
    client.sort_by_key(|record| record.time_ns);
    let lossy = env::temp_dir().join(format!("rpcrdma-lossy-{}.pcap", process::id()));
    fs::write(&lossy, write_pcap(&client, Pcap { nanoseconds: true, ..Pcap::default() })).unwrap();
    let paths = [lossy.to_str().unwrap().to_owned(), path("network_responder").to_str().unwrap().to_owned()];
    let run = |command: &str| stdout(&run(&[command, &paths[0], &paths[1]])).replace('\n', " ");
    let text = run("diagnose");
    let lost = "1 packet lost between the two places of capture: 1 on the way to server 192.0.2.1.";
    assert!(text.contains(lost), "{text}");
    let events = run("events");
    assert!(events.contains("1 packet lost between 192.0.2.2 and 192.0.2.1: 2 copies at the client"), "{events}");
    fs::remove_file(&lossy).unwrap();
}

/// A second mirror at the client, whose clock is ahead, and whose copies come late.
#[test]
fn files_from_one_place_are_not_both_ends() {
    let mut copies = capture("network_requester");
    copies.iter_mut().zip(0..).for_each(|(record, place)| record.time_ns += 1_002_000_000 + place % 7 * 300);
    let mirror = env::temp_dir().join(format!("rpcrdma-mirror-{}.pcap", process::id()));
    fs::write(&mirror, write_pcap(&copies, Pcap { nanoseconds: true, ..Pcap::default() })).unwrap();
    let output = run(&["transactions", path("network_requester").to_str().unwrap(), mirror.to_str().unwrap()]);
    assert!(stderr(&output).contains("both files hold the same packets"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("captured at the server"), "{}", stderr(&output));
    fs::remove_file(&mirror).unwrap();
}
