//! An RPC and its tries: made connections of a client and a server, each with its truth.

use std::collections::BTreeMap;

use rpcrdma_dissector::{
    Config, Dissector, Event, Execution, Frame, LinkType, RetryFailure, Status, Time, Transaction, TryEnd, WaitEnd,
};
use serde_json::Value;

use crate::command::{run, stdout};
use crate::connections::frames;
use crate::diagnosis::{causes, diagnose};
use crate::situations::mount::{Carrier, Mount, NOENT, server_ends};
use crate::situations::path;
use crate::synthetic::By::{Client, Server};

/// The RPCs in packets from this time on.
fn rpcs_since(mount: &Mount, since: u64, config: Config) -> Vec<Transaction> {
    let mut dissector = Dissector::new(config);
    let mut rpcs = Vec::new();
    let mut take = |dissector: &mut Dissector| {
        while let Some(event) = dissector.event() {
            if let Event::Transaction(transaction) = event {
                rpcs.push(*transaction);
            }
        }
    };
    let packets = mount.packets().into_iter().filter(|(time, _)| *time >= since);
    for (number, (time, data)) in (1..).zip(packets) {
        let (time, length) = (Time(1_000_000_000 + time * 1000), data.len() as u32);
        dissector.frame(&Frame { number, time, link: LinkType(101), data: &data, length });
        take(&mut dissector);
    }
    dissector.finish();
    take(&mut dissector);
    rpcs
}

fn rpcs(mount: &Mount) -> Vec<Transaction> {
    rpcs_since(mount, 0, Config::default())
}

/// Each RPC by XID: its tries, and its latency in microseconds if it was answered.
fn told(rpcs: &[Transaction]) -> Vec<(u32, u64, Option<u64>)> {
    let mut told: Vec<_> =
        rpcs.iter().map(|rpc| (rpc.xid, rpc.tries_count(), rpc.latency().map(|latency| latency / 1000))).collect();
    told.sort_unstable();
    told
}

fn ends(rpc: &Transaction) -> Vec<TryEnd> {
    rpc.tries.as_ref().unwrap().all.iter().map(|one| one.end).collect()
}

#[test]
fn calls_repeated_after_a_disconnect_are_one_rpc_each() {
    for carrier in Carrier::ALL {
        let rpcs = rpcs(&server_ends(carrier));
        let first = (1..4).map(|xid| (xid, 1, Some(100)));
        let again = (4..9).map(|xid| (xid, 2, Some(20_100)));
        let new = [(9, 1, Some(20_209 - 20_100)), (10, 1, Some(20_210 - 20_104)), (20, 1, Some(10)), (21, 1, Some(10))];
        assert_eq!(told(&rpcs), first.chain(again).chain(new).collect::<Vec<_>>(), "{carrier:?}");
        for rpc in rpcs.iter().filter(|rpc| rpc.tries.is_some()) {
            assert_eq!(ends(rpc), [TryEnd::ResponderEnded, TryEnd::Answered], "{carrier:?}");
            let tries = rpc.tries.as_ref().unwrap();
            assert_eq!(tries.all[0].execution, Execution::Possible);
            assert_eq!(tries.all.iter().map(|one| one.connection).collect::<Vec<_>>(), [1, 2]);
            let failure = (rpc.xid == 5 || rpc.xid == 7).then_some(RetryFailure::OfRetry);
            assert_eq!(rpc.retry_failure(), failure);
        }
    }
}

#[test]
fn a_reused_xid_with_other_arguments_is_another_rpc() {
    for carrier in Carrier::ALL {
        let mut mount = Mount::new(carrier);
        mount.connect(0).remove(1, 100, 1, "one").remove(1, 110, 2, "two").acknowledge(1, Server, 120);
        mount.end_connection(1, Server, 1_000).connect(2_000).remove(2, 2_100, 1, "six").remove(2, 2_110, 2, "two");
        mount.acknowledge(2, Server, 2_120).reply(2, 2_200, 1, 0).reply(2, 2_210, 2, 0).acknowledge(2, Client, 2_220);
        let rpcs = rpcs(&mount);
        assert_eq!(told(&rpcs), [(1, 1, None), (1, 1, Some(100)), (2, 2, Some(2_100))], "{carrier:?}");
    }
}

#[test]
fn an_abandoned_rpc_does_not_join_a_later_call() {
    for carrier in Carrier::ALL {
        let mut mount = Mount::new(carrier);
        mount.connect(0).remove(1, 100, 1, "one").acknowledge(1, Server, 110).end_connection(1, Server, 1_000);
        mount.connect(2_000).remove(2, 2_100, 1, "six").acknowledge(2, Server, 2_110).reply(2, 2_200, 1, 0);
        mount.acknowledge(2, Client, 2_210).end_connection(2, Client, 3_000);
        mount.connect(4_000).remove(3, 4_100, 1, "one").acknowledge(3, Server, 4_110).reply(3, 4_200, 1, 0);
        mount.acknowledge(3, Client, 4_210);
        assert_eq!(told(&rpcs(&mount)), [(1, 1, None), (1, 1, Some(100)), (1, 1, Some(100))], "{carrier:?}");
    }
}

#[test]
fn three_tries_are_one_rpc() {
    for carrier in Carrier::ALL {
        let mut mount = Mount::new(carrier);
        for (connection, time) in [(1, 0), (2, 20_000), (3, 40_000)] {
            mount.connect(time).remove(connection, time + 100, 1, "one").remove(connection, time + 101, 2, "two");
            mount.acknowledge(connection, Server, time + 120);
            if connection < 3 {
                mount.end_connection(connection, if connection == 1 { Server } else { Client }, time + 1_000);
            }
        }
        mount.reply(3, 40_200, 2, NOENT).reply(3, 40_210, 1, 0).acknowledge(3, Client, 40_220);
        let rpcs = rpcs(&mount);
        assert_eq!(told(&rpcs), [(1, 3, Some(40_110)), (2, 3, Some(40_099))], "{carrier:?}");
        assert_eq!(ends(&rpcs[0]), [TryEnd::ResponderEnded, TryEnd::RequesterEnded, TryEnd::Answered], "{carrier:?}");
    }
}

#[test]
fn a_lost_reply_shows_that_the_first_try_executed() {
    for carrier in Carrier::ALL {
        let mut mount = Mount::new(carrier);
        mount.connect(0).remove(1, 100, 1, "one").remove(1, 101, 2, "two").acknowledge(1, Server, 110);
        mount.reply(1, 200, 1, 0).end_connection(1, Client, 1_000).connect(2_000);
        mount.remove(2, 2_100, 1, "one").remove(2, 2_101, 2, "two").acknowledge(2, Server, 2_110);
        mount.reply(2, 2_200, 1, NOENT).reply(2, 2_201, 2, 0).acknowledge(2, Client, 2_210);
        let rpcs = rpcs(&mount);
        assert_eq!(told(&rpcs), [(1, 2, Some(2_100)), (2, 2, Some(2_100))], "{carrier:?}");
        let executions = |rpc: &Transaction| rpc.tries.as_ref().unwrap().all[0].execution;
        assert_eq!(rpcs.iter().map(executions).collect::<Vec<_>>(), [Execution::Executed, Execution::Possible]);
        assert_eq!(ends(&rpcs[0]), [TryEnd::ReplyLost, TryEnd::Answered], "{carrier:?}");
        assert_eq!(rpcs[0].status, Some(Status::Success(Some(NOENT))));
        assert_eq!(rpcs[0].retry_failure(), Some(RetryFailure::OfRetry), "{carrier:?}");
    }
}

#[test]
fn a_capture_that_begins_between_tries_holds_one() {
    for carrier in Carrier::ALL {
        let rpcs = rpcs_since(&server_ends(carrier), 15_000, Config::default());
        assert_eq!(rpcs.len(), 8, "{carrier:?}");
        assert!(rpcs.iter().all(|rpc| rpc.tries.is_none() && rpc.retry_failure().is_none()), "{carrier:?}");
    }
}

#[test]
fn an_unanswered_second_try_is_one_waiting_rpc() {
    for carrier in Carrier::ALL {
        let mut mount = Mount::new(carrier);
        mount.connect(0).remove(1, 100, 1, "one").remove(1, 101, 2, "two").acknowledge(1, Server, 110);
        mount.end_connection(1, Server, 1_000).connect(2_000).remove(2, 2_100, 1, "one").remove(2, 2_101, 2, "two");
        mount.acknowledge(2, Server, 2_110).reply(2, 2_200, 2, 0).acknowledge(2, Client, 2_210);
        let rpcs = rpcs(&mount);
        assert_eq!(told(&rpcs), [(1, 2, None), (2, 2, Some(2_099))], "{carrier:?}");
        let waits = rpcs.iter().find(|rpc| rpc.xid == 1).unwrap();
        assert_eq!(waits.waiting.map(|waiting| waiting.end), Some(WaitEnd::Capture), "{carrier:?}");
        assert_eq!(waits.began.map(|began| began.time), Some(Time(1_000_100_000)), "{carrier:?}");
        assert_eq!(ends(waits), [TryEnd::ResponderEnded, TryEnd::Waits], "{carrier:?}");
    }
}

#[test]
fn a_connection_silent_before_its_successor_is_over() {
    for carrier in Carrier::ALL {
        let mut mount = Mount::new(carrier);
        mount.connect(0).remove(1, 100, 1, "one").remove(1, 101, 2, "two").acknowledge(1, Server, 110);
        mount.connect(2_000).remove(2, 2_100, 1, "one").remove(2, 2_101, 2, "two").acknowledge(2, Server, 2_110);
        mount.reply(2, 2_200, 1, 0).reply(2, 2_201, 2, 0).acknowledge(2, Client, 2_210);
        let rpcs = rpcs(&mount);
        assert_eq!(told(&rpcs), [(1, 2, Some(2_100)), (2, 2, Some(2_100))], "{carrier:?}");
        assert_eq!(ends(&rpcs[0]), [TryEnd::Unknown, TryEnd::Answered], "{carrier:?}");
    }
}

#[test]
fn calls_on_simultaneous_connections_are_separate_rpcs() {
    for carrier in Carrier::ALL {
        let mut mount = Mount::new(carrier);
        mount.connect(0).connect(50).remove(1, 100, 1, "one").acknowledge(1, Server, 110);
        mount.remove(2, 200, 1, "one").acknowledge(2, Server, 210).reply(2, 300, 1, 0).acknowledge(2, Client, 310);
        mount.reply(1, 400, 1, 0).acknowledge(1, Client, 410);
        assert_eq!(told(&rpcs(&mount)), [(1, 1, Some(100)), (1, 1, Some(300))], "{carrier:?}");
    }
}

#[test]
fn each_try_is_an_rpc_if_tries_are_asked_for() {
    for carrier in Carrier::ALL {
        let mut config = Config::default();
        config.joins_tries = false;
        let rpcs = rpcs_since(&server_ends(carrier), 0, config);
        assert_eq!(rpcs.len(), 17, "{carrier:?}");
        assert!(rpcs.iter().all(|rpc| rpc.tries.is_none()), "{carrier:?}");
    }
}

/// `explain` has the tries one after the other, each with what ended it.
#[test]
fn explain_shows_each_try_with_its_end() {
    let file = path("tries");
    let output = run(&["explain", "--xid", "5", &file]);
    let text = stdout(&output);
    let first = text.find("try 1 of 2: 192.0.2.2 ended the connection (DREQ in frame ").unwrap();
    let second = text.find("try 2 of 2: answered").unwrap();
    assert!(first < second);
    let tries = records(&["explain", "--json", "--xid", "5", &file], "explain");
    let told: Vec<_> = tries.iter().map(|one| (&one["try_number"], &one["tries"], &one["connection"])).collect();
    assert_eq!(told, [(&1.into(), &2.into(), &1.into()), (&2.into(), &2.into(), &2.into())]);
    let alone = records(&["explain", "--json", "--xid", "20", &file], "explain");
    assert_eq!((alone.len(), &alone[0]["try_number"], &alone[0]["tries"]), (1, &Value::Null, &1.into()));
}

/// An RPC is on the connection of each of its tries.
#[test]
fn a_connection_selects_rpcs_by_any_of_their_tries() {
    let file = path("tries");
    for (connection, expected) in [("1", vec![1, 2, 3, 4, 5, 6, 7, 8, 20]), ("2", vec![4, 5, 6, 7, 8, 9, 10, 21])] {
        let rpcs = records(&["transactions", "--json", "--connection", connection, &file], "transaction");
        let mut xids: Vec<_> =
            rpcs.iter().map(|rpc| u32::from_str_radix(&rpc["rdma_xid"].as_str().unwrap()[2..], 16).unwrap()).collect();
        xids.sort_unstable();
        assert_eq!(xids, expected, "{connection}");
    }
}

/// More calls wait when their connection ends than are held.
#[test]
fn tries_past_the_bounds_are_rpcs_of_their_own() {
    let mut mount = Mount::new(Carrier::Roce);
    mount.connect(0);
    let calls = 1..=1_500;
    for (connection, time) in [(1, 100), (2, 20_000)] {
        if connection == 2 {
            mount.end_connection(1, Server, 10_000).connect(15_000);
        }
        calls.clone().for_each(|xid| _ = mount.remove(connection, time + u64::from(xid), xid, "name"));
        mount.acknowledge(connection, Server, time + 2_000);
    }
    let rpcs = rpcs(&mount);
    let joined = rpcs.iter().filter(|rpc| rpc.tries.is_some()).count();
    assert_eq!(rpcs.iter().map(Transaction::tries_count).sum::<u64>(), 3_000, "no call is lost");
    assert!((400..1_500).contains(&joined), "{joined}");
}

fn records(arguments: &[&str], of: &str) -> Vec<Value> {
    let output = run(arguments);
    let records = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap());
    records.filter(|record: &Value| record["type"] == of).collect()
}

#[test]
fn all_commands_count_rpcs_and_not_tries() {
    for name in ["tries", "iwarp_tries"] {
        let path = path(name);
        let transactions = records(&["transactions", "--json", &path], "transaction");
        assert_eq!(transactions.len(), 12, "{name}");
        assert_eq!(records(&["transactions", "--json", "--tries", &path], "transaction").len(), 17, "{name}");
        let of_several: Vec<_> = transactions.iter().filter(|record| record["tries"] != 1).collect();
        assert_eq!(of_several.len(), 5, "{name}");
        for record in &of_several {
            assert_eq!((&record["tries"], &record["latency_ns"]), (&2.into(), &20_100_000.into()), "{name}");
            let tries = record["each_try"].as_array().unwrap();
            assert_eq!(tries[0]["disconnected_by"], "192.0.2.2", "{name}");
            assert_eq!(
                (&tries[0]["call_frame"], &tries[1]["reply_frame"]),
                (&record["call_frame"], &record["reply_frame"])
            );
        }
        let statistics = records(&["stats", "--json", &path], "stats").remove(0);
        assert_eq!(statistics["rpcs"]["fit_inline"]["rpcs"], 12, "{name}: {statistics}");
        let by_operation = records(&["top", "--by", "operation", "--json", &path], "top");
        assert_eq!((&by_operation[0]["calls"], &by_operation[0]["unanswered"]), (&12.into(), &0.into()), "{name}");
        assert_eq!(records(&["pending", "--json", &path], "pending").len(), 0, "{name}");
        let slowest = records(&["slow", "--json", "--top", "100", &path], "transaction");
        assert_eq!(slowest.iter().filter(|record| record["latency_ns"] == 20_100_000).count(), 5, "{name}");
        let csv = run(&["transactions", "--csv", &path]);
        let mut lines = stdout(&csv).lines().map(|line| line.split(',').collect::<Vec<_>>());
        let at = lines.next().unwrap().iter().position(|column| *column == "tries").unwrap();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        lines.for_each(|row| *counts.entry(row[at].to_owned()).or_default() += 1);
        assert_eq!(counts, BTreeMap::from([("1".to_owned(), 7), ("2".to_owned(), 5)]), "{name}");
        let page = run(&["report", "-o", "-", &path]);
        assert!(stdout(&page).contains("12 RPCs on 2 connections"), "{name}");
    }
}

#[test]
fn diagnose_says_who_ended_connections_and_whose_failure_it_is() {
    for name in ["tries", "iwarp_tries"] {
        let diagnosis = records(&["diagnose", "--json", &path(name)], "diagnosis").remove(0);
        let causes = diagnosis["causes"].as_array().unwrap();
        let names: Vec<_> = causes.iter().map(|cause| cause["cause"].as_str().unwrap()).collect();
        assert_eq!((names, &diagnosis["rpcs"]), (vec!["retried"], &12.into()), "{name}");
        let cause = &causes[0];
        assert_eq!((&cause["owner"], &cause["owner_address"]), (&"server".into(), &"192.0.2.2".into()), "{name}");
        assert_eq!(cause["rpcs"], 5, "{name}");
        let evidence: Vec<_> = cause["evidence"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let evidence = evidence.join(" ");
        for words in [
            "The server 192.0.2.2 ended the connection before it had answered (5 times).",
            "5 of 12 RPCs needed two tries and took 20.100 ms",
            "NFSv3 REMOVE got NFS3ERR_NOENT on a later try 2 times: first try probably executed; the failure is that of the retry.",
        ] {
            assert!(evidence.contains(words), "{name}: {evidence}");
        }
    }
}

/// Four connections: on each the server ends the connection with two calls in flight, which the client makes again on the next.
#[test]
fn connections_that_end_with_calls_made_again_are_one_cause() {
    for carrier in Carrier::ALL {
        let mut mount = Mount::new(carrier);
        for place in 0..4 {
            let (connection, start, xid) = (place + 1, place as u64 * 20_000, place as u32 * 2);
            mount.connect(start).remove(connection, start + 50, 100 + xid, "alone").acknowledge(
                connection,
                Server,
                start + 52,
            );
            mount.reply(connection, start + 60, 100 + xid, 0).acknowledge(connection, Client, start + 62);
            for earlier in [xid, xid + 1].into_iter().filter(|earlier| *earlier > 1) {
                mount.remove(connection, start + 70, earlier, &format!("file{earlier}"));
                mount.acknowledge(connection, Server, start + 72);
                mount.reply(connection, start + 80, earlier, NOENT).acknowledge(connection, Client, start + 82);
            }
            for new in [xid + 2, xid + 3] {
                mount.remove(connection, start + 100, new, &format!("file{new}"));
            }
            mount.acknowledge(connection, Server, start + 110).end_connection(connection, Server, start + 700);
        }
        mount.connect(90_000);
        for (time, xid) in [(90_050, 8), (90_090, 9)] {
            mount.remove(5, time, xid, &format!("file{xid}")).acknowledge(5, Server, time + 2);
            mount.reply(5, time + 10, xid, NOENT).acknowledge(5, Client, time + 12);
        }
        let diagnosis = diagnose(&frames(&mount.packets()));
        assert_eq!((causes(&diagnosis), diagnosis.rpcs), (vec!["retried"], 12), "{carrier:?}");
        assert_eq!(diagnosis.causes[0].rpcs, Some(8), "{carrier:?}");
    }
}
