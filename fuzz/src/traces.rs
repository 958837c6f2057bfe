//! Text of kernel traces.

use std::io::Cursor;

use rpcrdma_answers::JsonRecord;
use rpcrdma_answers::diagnosis::Diagnoser;
use rpcrdma_answers::file_names::FileNames;
use rpcrdma_answers::stats::Stats;
use rpcrdma_answers::transactions::TransactionObject;
use rpcrdma_dissector::{Config, Event, Events, Files, Transaction};

/// Makes a trace of any text.
const FIRST_LINE: &[u8] =
    b"nfsd-1 [000] ..... 1.000000: svc_process: addr=192.0.2.2 xid=0x1 service=nfsd vers=4 proc=NULL\n";

/// For any text after the first line of a trace: no more RPCs come out than lines went in, each with times that agree, and the
/// answers can be written. The lines before the last one show no RPC more than all lines.
///
/// # Panics
/// If this does not hold.
pub fn traces(octets: &[u8]) {
    let whole = [FIRST_LINE, octets].concat();
    let lines = whole.iter().filter(|octet| **octet == b'\n').count();
    let found = read(whole.clone());
    assert!(found <= lines, "{found} RPCs in {lines} lines");
    let before = whole.strip_suffix(b"\n").unwrap_or(&whole);
    let cut = before.iter().rposition(|octet| *octet == b'\n').map_or(0, |last| last + 1);
    if cut > 0 {
        let earlier = read(whole.get(..cut).unwrap_or_default().to_vec());
        assert!(earlier <= found + 1, "{earlier} RPCs without the last line, {found} with it");
    }
}

/// Returns the number of RPCs in a trace.
fn read(trace: Vec<u8>) -> usize {
    let mut config = Config::default();
    (config.operations, config.recovery) = (true, true);
    let mut events = Events::from_stream(Cursor::new(trace), config);
    let (mut stats, mut diagnoser) = (Stats::default(), Diagnoser::new("the trace"));
    let (mut names, files, mut written, mut rpcs) = (FileNames::default(), Files::default(), Vec::new(), 0);
    for event in events.by_ref().flatten() {
        if let Event::Transaction(transaction) = &event {
            check(transaction);
            rpcs += 1;
            written.clear();
            let record = TransactionObject::new(transaction, &files, &mut names);
            assert!(record.write_json(&mut written).is_ok());
        }
        stats.event(&event);
        diagnoser.event(&event);
    }
    let summary = events.summary();
    let counts = summary.trace.unwrap_or_default();
    assert!(counts.unused <= counts.events && counts.events <= summary.frames);
    let (mut text, mut statistics) = (Vec::new(), Vec::new());
    assert!(diagnoser.finish(summary).write_text(&mut text, false).is_ok());
    assert!(stats.finish(summary).write_json(&mut statistics).is_ok());
    rpcs
}

/// Checks that the times of an RPC agree.
fn check(transaction: &Transaction) {
    assert!(transaction.is_traced_only());
    if let (Ok(phases), Some(latency)) = (transaction.phases, transaction.latency()) {
        assert_eq!(phases.total(), latency);
    }
    if let (Some(call), Some(reply)) = (&transaction.call, &transaction.reply) {
        assert!(call.stamp.frame <= reply.stamp.frame);
    }
}
