//! The report, against what the other commands say of the same captures, and in a browser that knows nothing of this project.
//!
//! Where Chromium is not installed the test that needs it says so and passes.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

mod charts;
mod diagrams;
mod page;

const CAPTURES: [&str; 7] =
    ["errors", "iwarp_nfs3_lossy", "nfs41", "nfs41_lossy", "nfsd_deviations", "perftest", "withdrawn"];

fn capture(name: &str) -> String {
    [env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/", name, ".pcap"].concat()
}

fn run(arguments: &[&str]) -> Vec<u8> {
    Command::new(env!("CARGO_BIN_EXE_rpcrdma")).args(arguments).output().unwrap().stdout
}

fn json(arguments: &[&str]) -> Vec<Value> {
    let text = String::from_utf8(run(arguments)).unwrap();
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    records.filter(|record: &Value| record["type"] != "summary").collect()
}

fn report(path: &str) -> String {
    String::from_utf8(run(&["report", "--quiet", path, "-o", "-"])).unwrap()
}

/// The text of the cells of each row of the table with this caption.
fn rows(page: &str, caption: &str) -> Vec<Vec<String>> {
    let Some((_, table)) = page.split_once(&format!("<caption>{caption}</caption>")) else { return Vec::new() };
    let (body, _) = table.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap();
    let cells = |row: &str| {
        let cells = row.replace("<th ", "<td ");
        cells.split("<td").skip(1).map(|cell| text(cell.split_once('>').unwrap().1)).collect()
    };
    body.split("<tr>").skip(1).map(cells).collect()
}

/// A piece of the page without its tags.
fn text(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        text.push_str(piece.split_once('>').map_or(piece, |(_, rest)| rest));
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn digits(text: &str) -> u64 {
    text.replace(',', "").parse().unwrap()
}

/// The procedures that `stats` counted, those that took the most time first.
fn procedures(statistics: &Value) -> Vec<&Value> {
    let mut procedures: Vec<_> = statistics["procedures"].as_array().unwrap().iter().collect();
    procedures.sort_by_key(|procedure| std::cmp::Reverse(page::time(procedure)));
    procedures
}

#[test]
fn operations_are_those_that_stats_counts() {
    for name in CAPTURES {
        let statistics = &json(&["stats", "--quiet", "--json", &capture(name)])[0];
        let expected = procedures(statistics);
        let page = report(&capture(name));
        let rows = rows(&page, "RPCs by operation, those that took the most time first");
        assert_eq!(rows.len(), expected.len(), "{name}");
        for (row, expected) in rows.iter().zip(expected) {
            assert_eq!(row[0], expected["operation"].as_str().unwrap(), "{name}");
            assert_eq!(digits(&row[1]), expected["calls"].as_u64().unwrap(), "{name}");
            assert_eq!(digits(&row[2]), expected["failed"].as_u64().unwrap(), "{name}");
        }
        let total = statistics["rpcs"]["total"].as_u64().unwrap();
        let s = if total == 1 { "" } else { "s" };
        let said = if total == 0 { "<li>Nothing to judge".to_owned() } else { format!("<li>{total} RPC{s} on ") };
        assert!(page.contains(&said), "{name}");
    }
}

#[test]
fn the_slowest_rpcs_are_those_that_slow_finds() {
    for name in CAPTURES {
        let expected = json(&["slow", "--quiet", "--json", &capture(name)]);
        let rows = rows(&report(&capture(name)), "The slowest RPCs, and where their time went");
        assert_eq!(rows.len(), expected.len(), "{name}");
        for (row, expected) in rows.iter().zip(expected) {
            assert_eq!(row[3], expected["rdma_xid"].as_str().unwrap(), "{name}");
            assert_eq!(digits(&row[4]), expected["call_frame"].as_u64().unwrap(), "{name}");
            assert_eq!(digits(&row[5]), expected["reply_frame"].as_u64().unwrap(), "{name}");
        }
    }
}

#[test]
fn calls_without_a_reply_are_those_that_pending_finds() {
    for name in CAPTURES {
        let expected = json(&["pending", "--quiet", "--json", &capture(name)]);
        let rows = rows(&report(&capture(name)), "Calls without a reply, the oldest first");
        assert_eq!(rows.len(), expected.len(), "{name}");
        for (row, expected) in rows.iter().zip(expected) {
            assert_eq!(digits(&row[4]), expected["call_frame"].as_u64().unwrap(), "{name}");
        }
    }
}

#[test]
fn findings_are_those_of_check() {
    for name in CAPTURES {
        let findings = json(&["check", "--quiet", "--json", &capture(name)]);
        let findings: Vec<_> = findings.iter().filter(|line| line["type"] == "finding").collect();
        let rows = rows(&report(&capture(name)), "Broken rules, by who broke them");
        let times: u64 = rows.iter().map(|row| digits(&row[3])).sum();
        assert_eq!(times as usize, findings.len(), "{name}");
        for row in rows {
            let (severity, rule) = (row[0].as_str(), row[1].as_str());
            let of = findings.iter().filter(|found| found["rule"] == rule && found["severity"] == severity);
            let blamed = |found: &&&Value| {
                let (from, to) = (found["sender"].as_str().unwrap(), found["receiver"].as_str().unwrap());
                let by = match found["blame"].as_str().unwrap() {
                    "sender" => from.to_owned(),
                    "receiver" => to.to_owned(),
                    _ => format!("{from} or {to}"),
                };
                row[2].split(" (known").next() == Some(&by)
            };
            assert_eq!(digits(&row[3]) as usize, of.filter(blamed).count(), "{name} {rule}");
        }
    }
}

/// 62 RPCs, of which the README says how long they took on average. `tests/recovery.rs` counts what was retransmitted by itself.
#[test]
fn the_verdict_has_its_figures() {
    let page = report(&capture("nfs41_lossy"));
    let verdict = page.split_once("<ul class=\"verdict\">").unwrap().1.split_once("</ul>").unwrap().0;
    let sentences: Vec<String> = verdict.split("<li>").skip(1).map(text).collect();
    assert_eq!(sentences.len(), 5);
    for (sentence, begins) in sentences.iter().zip([
        "62 RPCs on 1 connection in 19.6 s; every call was answered.",
        "The median latency is 3.92 ms, the 99th percentile 2.40 s; the slowest, SEQUENCE PUTFH READ of /w.bin \
         in frame 1169, took 2.41 s (RDMA Write 2409.999 ms: 1 time-out (2383.977 ms, frame 1446), ",
        "452 of 1,569 packets were retransmitted (28.8 %) after 14 losses (9 negative acknowledgements, 2 time-outs, 3 implied \
         negative acknowledgements).",
        "No rule is broken but in ways that Linux nfsd is known for: 1 error.",
        "As far as can be seen, nothing is missing from the capture.",
    ]) {
        assert!(sentence.starts_with(begins), "{sentence}");
    }
    let statistics = &json(&["stats", "--quiet", "--json", &capture("nfs41_lossy")])[0];
    let connection = &statistics["connections"][0];
    let sum = |name: &str| connection["active"][name].as_u64().unwrap() + connection["passive"][name].as_u64().unwrap();
    assert_eq!((sum("retransmitted"), sum("replaced"), sum("packets"), sum("sequence_errors")), (432, 20, 1569, 9));
}

/// The diagnosis stands first, each cause with a link to a section that is there.
#[test]
fn the_diagnosis_comes_first() {
    for name in ["nfs41", "nfs41_lossy", "errors", "delays", "perftest"] {
        let page = report(&capture(name));
        let before_verdict = page.split_once("<ul class=\"verdict\">").unwrap().0;
        let found = &json(&["diagnose", "--quiet", "--json", &capture(name)])[0];
        let causes = found["causes"].as_array().unwrap();
        assert_eq!(before_verdict.matches(">Show it</a>").count(), causes.len(), "{name}");
        for cause in causes {
            for sentence in cause["evidence"].as_array().unwrap() {
                assert!(text(before_verdict).contains(sentence.as_str().unwrap()), "{name}: {sentence}");
            }
        }
        for link in before_verdict.split("<a href=\"#").skip(1) {
            let section = link.split('"').next().unwrap();
            let element = if section.starts_with("diagram-") { "details class=\"diagram\" open" } else { "section" };
            assert!(page.contains(&format!("<{element} id=\"{section}\"")), "{name}: {section}");
        }
        assert_eq!(before_verdict.contains("Nothing stands out"), causes.is_empty(), "{name}");
    }
}

/// The counts of `top`, by client, server and file.
#[test]
fn clients_servers_and_files_are_those_that_top_counts() {
    for name in ["nfs41", "nfs3_ipv6", "errors"] {
        let page = report(&capture(name));
        for (by, caption) in [("client", "client"), ("server", "server"), ("name", "name of file")] {
            let mut expected = json(&["top", "--by", by, "--rows", "20", "--quiet", "--json", &capture(name)]);
            expected.retain(|record| record["type"] == "top");
            let rows = rows(&page, &format!("RPCs by {caption}, those that took the most time first"));
            assert_eq!(rows.len(), expected.len(), "{name} {by}");
            for (row, expected) in rows.iter().zip(&expected) {
                for (cell, field) in [(1, "calls"), (2, "unanswered"), (3, "failed")] {
                    assert_eq!(digits(&row[cell]), expected[field].as_u64().unwrap(), "{name} {by} {field}");
                }
            }
        }
    }
}

#[test]
fn names_of_files_are_text() {
    let path = std::env::temp_dir().join("rpcrdma-report-<b>&.pcap");
    std::fs::copy(capture("nfs41_callback"), &path).unwrap();
    let page = report(path.to_str().unwrap());
    std::fs::remove_file(path).unwrap();
    assert!(page.contains("<h1>NFS over RDMA: rpcrdma-report-&lt;b&gt;&amp;.pcap</h1>"), "{}", &page[..3000]);
}

/// The name of a file that a peer put into a capture becomes text in the diagnosis and in tables, too.
#[test]
fn names_in_a_capture_are_text() {
    let mut octets = std::fs::read(capture("nfs41_lossy")).unwrap();
    let is_name = |at: &usize| octets[*at..].starts_with(b"\0\0\0\x05w.bin");
    let places: Vec<usize> = (0..octets.len()).filter(is_name).collect();
    assert!(!places.is_empty());
    for at in places {
        octets[at + 4..at + 9].copy_from_slice(b"<q>\"&");
    }
    let path = std::env::temp_dir().join(format!("rpcrdma-report-names-{}.pcap", std::process::id()));
    std::fs::write(&path, octets).unwrap();
    let page = report(path.to_str().unwrap());
    std::fs::remove_file(path).unwrap();
    let files = rows(&page, "RPCs by name of file, those that took the most time first");
    assert!(files.iter().any(|row| row[0].starts_with("/<q>")), "{files:?}");
    assert!(page.matches("&lt;q&gt;\\&quot;&amp;").count() > 2, "the diagnosis does not name the file");
    // The page has no such element of its own.
    assert!(!page.contains("<q>"));
}

/// Every retransmitted packet is in the chart once: `stats` counts 432 that the capture has from before, and 20 others.
#[test]
fn packets_sent_again_are_those_that_stats_counts() {
    let page = report(&capture("nfs41_lossy"));
    let counts = page.split(" packets retransmitted</title>").map(|piece| piece.rsplit(": ").next().unwrap());
    let counts: Vec<u64> = counts.filter_map(|count| count.replace(',', "").parse().ok()).collect();
    assert!(counts.len() > 90);
    assert_eq!(counts.iter().sum::<u64>(), 452);
    assert!(report(&capture("nfs41")).contains(">Nothing captured shows that a packet was retransmitted.</p>"));
}

/// The page of a browser after its scripts ran, and what it printed.
fn browse(page: &Path) -> Option<(String, String)> {
    let profile = std::env::temp_dir().join(format!("rpcrdma-report-profile-{}", std::process::id()));
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]);
    let user = format!("--user-data-dir={}", profile.display());
    let output = command.arg(user).arg(format!("file://{}", page.display())).output();
    _ = std::fs::remove_dir_all(profile);
    let output = output.ok()?;
    let text = |octets| String::from_utf8_lossy(octets).into_owned();
    Some((text(&output.stdout), text(&output.stderr)))
}

/// The sequence diagrams are those that `explain` prints of the slowest RPCs: the same frames and times, line by line.
#[test]
fn the_slowest_rpcs_are_diagrams_as_explain_has_them() {
    for name in ["nfs41_lossy", "iwarp_nfs3_lossy", "delays"] {
        let page = report(&capture(name));
        let diagrams: Vec<&str> = page.split("<details class=\"diagram\"").skip(1).collect();
        let slowest = json(&["slow", "--quiet", "--json", &capture(name)]);
        let slowest: Vec<&Value> = slowest.iter().filter(|rpc| rpc["type"] == "transaction").collect();
        assert_eq!((diagrams.len() >= 10, slowest.len()), (true, 10), "{name}");
        for (diagram, rpc) in diagrams.iter().zip(slowest) {
            let xid = rpc["rdma_xid"].as_str().unwrap();
            let connection = rpc["connection"].to_string();
            let explain = ["explain", "--quiet", "--json", "--xid", xid, "--connection", &connection, &capture(name)];
            let explained = &json(&explain)[0];
            let milliseconds = |value: &Value| {
                let nanoseconds = value.as_u64().unwrap();
                format!("{}.{:03}", nanoseconds / 1_000_000, nanoseconds / 1000 % 1000)
            };
            let expected = explained["steps"].as_array().unwrap().iter().map(|step| {
                let (first, last) = (&step["first_frame"], &step["last_frame"]);
                let frames = if first == last { first.to_string() } else { format!("{first}–{last}") };
                [frames, milliseconds(&step["since_first_ns"]), milliseconds(&step["since_before_ns"])]
            });
            let column = |column: &str| {
                let begin = format!("x=\"{column}\" y=\"");
                let cells = diagram.split(&begin).skip(2);
                cells.map(|cell| text(&format!("<{}", cell.split("</text>").next().unwrap()))).collect::<Vec<_>>()
            };
            let [frames, at, since] = ["112", "190", "268"].map(column);
            let found = frames.into_iter().zip(at).zip(since).map(|((frames, at), since)| [frames, at, since]);
            assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{name} {xid}");
            assert!(diagram.contains("<desc id=") && diagram.contains("role=\"img\""), "{name}");
        }
    }
}

/// Each link leads to one place, and each RPC is drawn once.
#[test]
fn links_lead_to_the_diagrams_of_what_a_table_names() {
    let count = |page: &str, what: &str| page.matches(what).count();
    for name in CAPTURES.into_iter().chain(["hangs", "delays"]) {
        let page = report(&capture(name));
        for link in page.split("href=\"#").skip(1) {
            let id = link.split('"').next().unwrap();
            assert_eq!(count(&page, &format!(" id=\"{id}\"")), 1, "{name}: {id}");
        }
    }
    let page = report(&capture("hangs"));
    let (unanswered, rules) = page.split_once("id=\"hung\"").unwrap().1.split_once("id=\"rules\"").unwrap();
    let (table, diagrams) = unanswered.split_once("</table>").unwrap();
    let linked = count(table, "<td><a href=\"#diagram-");
    assert_eq!((linked, count(diagrams, "<b>no reply:</b>")), (3, 3), "{table}");
    assert!(!rules.contains("details class=\"diagram\""));
    // The RPC with most recovery is among the slowest, the one with most time of the responder is not.
    let lossy = report(&capture("nfs41_lossy"));
    let cause = lossy.split("<b>Packets were lost and retransmitted").nth(1).unwrap();
    let shown_by = "<p>Since 00:41:03 UTC. Frames, 8 of 9 RPCs, longest wait first: 1169 (2.41 s), 1173 (2.40 s), ";
    assert!(cause.contains(shown_by), "{}", cause.split("</ol>").next().unwrap());
    let id = cause.split("href=\"#diagram-").nth(1).unwrap().split('"').next().unwrap();
    let diagram = lossy.split(&format!("id=\"diagram-{id}\"")).nth(1).unwrap().split("</details>").next().unwrap();
    assert!(diagram.contains("time-out"), "{diagram}");
    // READ is the slowest operation drawn, so its row leads to the slowest READ.
    let rows = lossy.split("<caption>RPCs by operation").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(count(rows, "<th scope=\"row\"><a href=\"#diagram-") > 0, "{rows}");
}

/// On paper, what is folded on the screen is there, and a table that goes on has its headings again.
#[test]
fn paper_has_all_of_it() {
    let [html, pdf] = ["html", "pdf"]
        .map(|ending| std::env::temp_dir().join(format!("rpcrdma-report-paper-{}.{ending}", std::process::id())));
    std::fs::write(&html, report(&capture("nfs41_lossy"))).unwrap();
    let profile = std::env::temp_dir().join(format!("rpcrdma-report-paper-profile-{}", std::process::id()));
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("--print-to-pdf={}", pdf.display())).arg(format!("file://{}", html.display()));
    let printed = command.output();
    let text = Command::new("pdftotext").args(["-layout".as_ref(), pdf.as_os_str(), "-".as_ref()]).output();
    _ = std::fs::remove_dir_all(profile);
    _ = [&html, &pdf].map(std::fs::remove_file);
    let (Ok(_), Ok(text)) = (printed, text) else {
        println!("chromium or pdftotext is not installed: this test does nothing");
        return;
    };
    let text = String::from_utf8(text.stdout).unwrap();
    let pages: Vec<&str> = text.split('\u{c}').collect();
    let headed = |page: &&&str| page.contains("operation ") && page.contains("99 %") && page.contains("spread");
    let with_rows = pages
        .iter()
        .filter(|page| page.lines().any(|line| line.trim_start().starts_with("NFSv4 ") && line.contains(" ms")));
    assert_eq!(with_rows.clone().filter(headed).count(), with_rows.count(), "{text}");
    for text_of in ["Why:", "RDMA Write × 22, discarded", "time-out: had waited for 2383.977 ms", "Written by rpcrdma"]
    {
        assert!(text.contains(text_of), "{text_of} is not on paper: {text}");
    }
    // Nothing is cut off on the right.
    assert!(text.contains("server 192.0.2.1"), "{text}");
}

#[test]
fn a_browser_shows_the_report_without_other_files() {
    let path: PathBuf = std::env::temp_dir().join(format!("rpcrdma-report-{}.html", std::process::id()));
    let page = report(&capture("nfs41_lossy"));
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains(" src="));
    assert!(page.len() < 200_000, "{}", page.len());
    std::fs::write(&path, &page).unwrap();
    let shown = browse(&path);
    std::fs::remove_file(path).unwrap();
    let Some((shown, said)) = shown else {
        println!("chromium is not installed: this test does nothing");
        return;
    };
    assert!(!said.contains("CONSOLE"), "{said}");
    // The script has run: headings are buttons, and charts can be magnified.
    let headings = page.matches("<th scope=\"col\"").count() + page.matches("<th class=\"number\"").count();
    assert_eq!(shown.matches("<button type=\"button\">").count(), headings, "{shown}");
    assert_eq!(shown.matches("aria-label=\"Magnify the time\"").count(), 4);
    // Nothing was closed by the browser because the page had not: what it shows has the same rows and cells.
    for tag in ["<tr>", "<td", "<section", "<rect", "<path"] {
        assert_eq!(shown.matches(tag).count(), page.matches(tag).count(), "{tag}");
    }
}
