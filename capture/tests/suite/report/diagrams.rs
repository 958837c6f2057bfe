//! The sequence diagrams: the drawing of each line, and the rows that lead to them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::page::{Written, many_clients};
use super::{capture, json, report, text};
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, message, null};
use crate::synthetic::trace::Trace;
use crate::transcode::Record;

/// The sequence diagrams of a page, in its order.
fn diagrams(page: &str) -> Vec<&str> {
    let diagrams = page.split("<details class=\"diagram\" open id=\"").skip(1);
    diagrams.map(|diagram| diagram.split("</details>").next().unwrap()).collect()
}

/// Returns the text from each `begin` to the next quotation mark.
fn attributes<'a>(html: &'a str, begin: &str) -> Vec<&'a str> {
    html.split(begin).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// The XID and the connection of a sequence diagram.
fn names(diagram: &str) -> (&str, &str) {
    let (xid, rest) = diagram.split_once(" on connection ").unwrap();
    (xid.rsplit(", ").next().unwrap(), rest.split(',').next().unwrap())
}

/// A line is 26 units high, the first below headings of 22. An arrow goes from the end that sent its packets to the other, and a
/// silence has none.
#[test]
fn each_line_of_a_diagram_is_below_the_one_before() {
    for name in ["nfs41_lossy", "iwarp_nfs3_lossy", "delays"] {
        let page = report(&capture(name));
        for diagram in &diagrams(&page)[..10] {
            let (xid, connection) = names(diagram);
            let explain = ["explain", "--quiet", "--json", "--xid", xid, "--connection", connection, &capture(name)];
            let explained = &json(&explain)[0];
            let steps = explained["steps"].as_array().unwrap();
            let since = |step: &Value| step["since_before_ns"].as_u64().unwrap();
            let lines = steps.len();
            assert_eq!(attributes(diagram, "viewBox=\""), [format!("0 0 724 {}", 22 + 26 * lines + 8)], "{name}");
            let texts = |column: &str| attributes(diagram, &format!("x=\"{column}\" y=\"")).split_off(1);
            let expected: Vec<_> = (0..lines).map(|line| (38 + 26 * line).to_string()).collect();
            assert_eq!([texts("112"), texts("190"), texts("268")], [&expected[..]; 3], "{name} {xid}");
            let arrows = (0..).zip(steps).filter(|(_, step)| {
                !["time-out", "implied NAK", "cause not seen"].contains(&step["recovery"].as_str().unwrap_or_default())
            });
            let arrows = arrows.map(|(line, step)| match (44 + 26 * line, step["from"] == explained["requester"]) {
                (y, true) => format!("M286 {y}H714m-7 -4l7 4l-7 4"),
                (y, false) => format!("M714 {y}H286m7 -4l-7 4l7 4"),
            });
            assert_eq!(attributes(diagram, "<path d=\""), arrows.collect::<Vec<_>>(), "{name} {xid}");
            // A tenth of the time, and not before the first.
            let latency = explained["transaction"]["latency_ns"].as_u64().unwrap();
            let long = (0..).zip(steps).skip(1).filter(|(_, step)| since(step) >= latency / 10);
            let long = long.map(|(line, _): (usize, _)| expected[line].clone());
            assert_eq!(
                attributes(diagram, "<text class=\"long\" x=\"268\" y=\""),
                long.collect::<Vec<_>>(),
                "{name} {xid}"
            );
            let longest = steps.iter().max_by_key(|step| since(step)).unwrap();
            let (longest, frame) = (since(longest), &longest["first_frame"]);
            let words = format!(
                "The longest wait, {}.{:03} ms, was before frame {frame}: ",
                longest / 1_000_000,
                longest / 1000 % 1000
            );
            let ends = [&steps[0]["first_frame"], &steps[lines - 1]["last_frame"]];
            let lines = format!(">{lines} lines of packets. First, frame {}: ", ends[0]);
            assert!(diagram.contains(&format!(". Last, frame {}: ", ends[1])), "{diagram}");
            assert!(diagram.contains(&words) && diagram.contains(&lines), "{words} {lines} {diagram}");
        }
    }
}

/// A row leads to the first sequence diagram of its operation, client or server: the slowest, or the oldest if none of them has a reply.
#[test]
fn a_row_leads_to_the_slowest_rpc_that_it_counts() {
    let clients = Written::new("clients", &many_clients());
    for name in [&capture("nfs41_lossy"), &capture("hangs"), &capture("errors"), &clients.0] {
        let page = report(name);
        let rpcs = json(&["transactions", "--quiet", "--json", name]);
        let drawn = diagrams(&page).into_iter().map(|diagram| {
            let (xid, connection) = names(diagram);
            let connection: u64 = connection.parse().unwrap();
            let is_it = |rpc: &&Value| rpc["rdma_xid"] == xid && rpc["connection"] == connection;
            (diagram.split('"').next().unwrap(), rpcs.iter().find(is_it).unwrap())
        });
        let drawn: Vec<_> = drawn.collect();
        for (caption, field) in
            [("RPCs by operation", "operation"), ("RPCs by client", "requester"), ("RPCs by server", "responder")]
        {
            let caption = format!("<caption>{caption}, those that took the most time first</caption>");
            let table = page.split(&caption).nth(1).unwrap().split("</table>").next().unwrap();
            for row in table.split("<th scope=\"row\">").skip(1) {
                let cell = row.split("</th>").next().unwrap();
                let expected = drawn.iter().find(|(_, rpc)| rpc[field] == text(cell)).map(|(id, _)| *id);
                assert_eq!(attributes(cell, "<a href=\"#").first().copied(), expected, "{name}: {cell}");
            }
        }
    }
}

/// An RPC is about one file.
#[test]
fn two_files_lead_to_two_rpcs() {
    let page = report(&capture("nfs41_lossy"));
    let table = page.split("<caption>RPCs by name of file,").nth(1).unwrap().split("</table>").next().unwrap();
    let linked = attributes(table, "<th scope=\"row\"><a href=\"#");
    assert!(!linked.is_empty());
    assert_eq!(linked.iter().collect::<BTreeSet<_>>().len(), linked.len(), "{linked:?}");
}

/// A call that is retransmitted under its XID and answered, and one that is not.
fn repeated() -> Vec<Record> {
    let mut trace = Trace::new();
    for (time, xid) in [(100, 1), (200, 1), (300, 2)] {
        let call = trace.call(xid);
        trace.at(time, &call).accept(time + 10);
    }
    let reply = trace.reply(1);
    trace.at(400, &reply).acknowledge(410).frames()
}

/// The oldest ten, in the order of the table.
#[test]
fn unanswered_calls_are_drawn_in_table_order() {
    let (clients, repeated) = (Written::new("oldest", &many_clients()), Written::new("repeated", &repeated()));
    for (name, expected) in [(&capture("hangs"), 3), (&clients.0, 10), (&repeated.0, 1)] {
        let page = report(name);
        let section = page.split("<section id=\"hung\"").nth(1).unwrap().split("</section>").next().unwrap();
        let drawn = attributes(section, "<details class=\"diagram\" open id=\"");
        assert_eq!((&drawn, drawn.len()), (&attributes(section, "<td><a href=\"#"), expected), "{name}");
    }
}

/// A call whose data is asked for by 30 RDMA Reads, one after the other: a sequence diagram of 62 lines, or 63 with the acknowledgement.
fn long_diagram() -> Vec<Record> {
    let mut trace = Trace::new();
    let chunks: Vec<_> = (0..30).map(|number| (40, (9, 1000 * number, 1000))).collect();
    let call = trace.wire.send(Client, &message(MSG, 1, &Lists::reads(&chunks), &null(1)));
    trace.at(100, &call);
    for number in 0..30 {
        let read = trace.wire.read(Server, (9, 1000 * number), &[7; 1000]);
        trace.at(1000 * (number + 1), &read);
    }
    let reply = trace.reply(1);
    trace.at(50_000, &reply).acknowledge(50_010).frames()
}

#[test]
fn a_long_diagram_has_its_first_and_last_lines() {
    let file = Written::new("diagram", &long_diagram());
    let page = report(&file.0);
    let explained = &json(&["explain", "--quiet", "--json", "--xid", "0x00000001", &file.0])[0];
    let steps = explained["steps"].as_array().unwrap();
    let frames = steps.iter().map(|step| step["first_frame"].as_u64().unwrap());
    let diagram = page.split("<details class=\"diagram\"").nth(1).unwrap();
    let shown: Vec<u64> = diagram
        .split("x=\"112\" y=\"")
        .skip(2)
        .map(|cell| {
            text(&format!("<{}", cell.split("</text>").next().unwrap())).split('–').next().unwrap().parse().unwrap()
        })
        .collect();
    let all: Vec<u64> = frames.collect();
    assert_eq!(shown, [&all[..24], &all[all.len() - 12..]].concat());
    let left_out = format!("⋮ {} more lines: rpcrdma explain --xid 0x00000001 ⋮", all.len() - 36);
    // 26 for each line: the left out ones are the 25th.
    assert!(diagram.contains(&format!("<text class=\"middle\" x=\"500\" y=\"662\">{left_out}</text>")), "{diagram}");
    assert!(diagram.contains("viewBox=\"0 0 724 992\""), "{diagram}");
    assert!(
        text(diagram).contains(&format!("{} lines of packets. First, frame {}: Send: call", all.len(), all[0])),
        "{diagram}"
    );
}
