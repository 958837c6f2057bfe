//! Text on terminals of different widths.

use rpcrdma_answers::file_names::FileNames;
use rpcrdma_answers::format::screen::Screen;
use rpcrdma_answers::format::time::{ShownTimes, TimeForm};
use rpcrdma_answers::lines::Lines;
use rpcrdma_answers::slow;
use rpcrdma_answers::stats::{Intervals, Stats, interval_heading};
use rpcrdma_answers::top::{Top, TopBy};
use rpcrdma_dissector::{Capture, CaptureEnd, Config, Event, Events, Files, Time, Transaction};

fn events(name: &str) -> Events {
    let path = [env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/", name].concat();
    Events::new(Capture::from_paths([path]), Config::default())
}

fn transactions(name: &str) -> Vec<Transaction> {
    let is_transaction = |event| match event {
        Event::Transaction(transaction) => Some(*transaction),
        _ => None,
    };
    events(name).filter_map(|event| is_transaction(event.unwrap())).collect()
}

fn on(columns: usize) -> Screen {
    Screen { colour: false, columns: Some(columns) }
}

/// The RPCs as `slow` shows them.
fn slow_lines(transactions: &[Transaction], screen: Screen, names: &mut FileNames, out: &mut Vec<u8>) {
    let times = ShownTimes::new(TimeForm::Clock, 0).starting_at(Time(1_795_221_559_525_968_000));
    slow::heading(out, screen, times).unwrap();
    for transaction in transactions {
        names.learn(transaction, &transaction.arguments());
        slow::lines(out, transaction, &Files::default(), names, screen, times).unwrap();
    }
}

/// All that `stats`, `transactions`, `top` and `slow` print.
fn print_all(name: &str, screen: Screen) -> String {
    let transactions = transactions(name);
    let mut out = Vec::new();
    let mut lines = Lines::new(screen, Time(0));
    for (index, transaction) in transactions.iter().enumerate() {
        if index == 0 {
            lines.transaction_heading(&mut out, transaction, &Files::default()).unwrap();
        }
        lines.transaction(&mut out, transaction, &Files::default()).unwrap();
    }
    slow_lines(&transactions, screen, &mut FileNames::default(), &mut out);
    for by in TopBy::ALL {
        let mut top = Top::new(by);
        transactions.iter().for_each(|transaction| top.add_rpc(transaction));
        top.finish(20, CaptureEnd::default()).write_text(&mut out, screen).unwrap();
    }
    let mut events = events(name);
    let (mut stats, mut intervals) = (Stats::default(), Intervals::new(1_000_000_000));
    interval_heading(&mut out, screen).unwrap();
    for event in events.by_ref() {
        let event = event.unwrap();
        stats.event(&event);
        intervals.event(Time(0), &event, |interval| interval.write_text(&mut out, screen)).unwrap();
    }
    stats.finish(events.summary()).write_text(&mut out, screen).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for name in ["errors.pcap", "lost.pcap", "nfs3_ipv6.pcap", "nfs41.pcap", "nfsd_deviations.pcap"] {
        for columns in [80, 100, 120, 150] {
            let text = print_all(name, on(columns));
            let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(widest.chars().count() <= columns, "{name} on {columns} columns: {widest}");
        }
    }
}

#[test]
fn a_table_that_is_turned_holds_the_same_numbers() {
    let cells = |columns| {
        let text = print_all("lost.pcap", Screen { colour: false, columns });
        let table = text.split("sent by").nth(1).unwrap();
        let mut cells: Vec<String> =
            table.split("Messages").next().unwrap().split_whitespace().map(str::to_owned).collect();
        cells.retain(|cell| !["sent", "by", "→", "←"].contains(&cell.as_str()));
        cells.sort_unstable();
        cells.dedup();
        cells
    };
    assert_eq!(cells(Some(80)), cells(None));
}

#[test]
fn wider_terminals_show_more_columns_of_slow_rpcs() {
    let transactions = transactions("nfs41.pcap");
    for (columns, shown) in [
        (80, &["READ"][..]),
        (100, &["READ", "00:39:39."]),
        (120, &["READ", "00:39:39.", "w.bin"]),
        (150, &["READ", "00:39:39.", "w.bin", "192.0.2.2 → 192.0.2.1"]),
    ] {
        let mut out = Vec::new();
        slow_lines(&transactions, on(columns), &mut FileNames::default(), &mut out);
        let text = String::from_utf8(out).unwrap();
        let line = text.lines().find(|line| line.contains("0x5bd138ec")).unwrap();
        for part in ["READ", "00:39:39.", "w.bin", "192.0.2.2 → 192.0.2.1"] {
            assert_eq!(line.contains(part), shown.contains(&part), "{columns} columns, {part}: {line}");
        }
    }
}
