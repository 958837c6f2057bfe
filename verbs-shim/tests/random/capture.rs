//! The capture of a session: what this project's dissector finds in it, and what breaks a rule.

use std::io::Write;
use std::sync::{Arc, Mutex};

use rpcrdma_capture::check::Checker;
use rpcrdma_capture::dissector::{Config, Dissector};
use rpcrdma_capture::event::Event;
use rpcrdma_capture::file::Reader;
use rpcrdma_capture::transaction::Transaction;

/// A file in memory that can be looked at from outside.
#[derive(Clone, Default)]
pub(crate) struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(octets)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct Found {
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) broken: Vec<Broken>,
}

/// A rule that was broken.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) slug: &'static str,
    pub(crate) xid: Option<u32>,
    #[allow(dead_code, reason = "it is printed")]
    message: String,
}

pub(crate) fn dissect(file: &File) -> Found {
    let file = std::mem::take(&mut *file.0.lock().unwrap());
    let config = Config { verify_crc: true, operations: true, ..Config::default() };
    let (mut dissector, mut checker, mut found) = (Dissector::new(config), Checker::default(), Found::default());
    let mut take = |dissector: &mut Dissector, checker: &mut Checker| {
        while let Some(event) = dissector.event() {
            checker.event(&event);
            if let Event::Transaction(transaction) = event {
                found.transactions.push(*transaction);
            }
        }
        while let Some(finding) = checker.finding() {
            let (xid, message) = (finding.xid, format!("frame {}: {}", finding.stamp.frame, finding.message));
            found.broken.push(Broken { slug: finding.rule.slug, xid, message });
        }
    };
    let mut reader = Reader::new(&file[..]).unwrap();
    while let Some(frame) = reader.next() {
        dissector.frame(&frame.unwrap());
        take(&mut dissector, &mut checker);
    }
    dissector.finish();
    take(&mut dissector, &mut checker);
    checker.finish(dissector.summary().last);
    take(&mut dissector, &mut checker);
    let summary = dissector.summary();
    assert_eq!((summary.verified, summary.bad_icrc), (summary.frames, 0), "every ICRC is right");
    found
}
