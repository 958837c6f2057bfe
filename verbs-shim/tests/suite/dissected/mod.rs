//! Results of the dissector and the checker for a capture of the loopback.
#![allow(dead_code, reason = "each test looks at something else")]

use std::io::Write;
use std::sync::{Arc, Mutex};

use rpcrdma_dissector::check::Blame;
use rpcrdma_dissector::{
    Address, Checker, Config, Dissector, Event, Message, Reader, Recovered, Rejected, Report, Summary, Transaction,
};

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

impl File {
    /// Returns the octets written.
    pub(crate) fn octets(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

/// A rule that was broken.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) slug: &'static str,
    pub(crate) xid: Option<u32>,
    /// The end that broke the rule; `None` if it may be either.
    pub(crate) by: Option<Address>,
    message: String,
}

/// The dissector's events, with the ICRC of each packet checked.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) messages: Vec<Message>,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) reports: Vec<Report>,
    pub(crate) rejected: Vec<Rejected>,
    pub(crate) recovered: Vec<Recovered>,
    pub(crate) broken: Vec<Broken>,
    pub(crate) summary: Summary,
}

impl Found {
    /// The rules that were broken.
    pub(crate) fn slugs(&self) -> Vec<&'static str> {
        self.broken.iter().map(|broken| broken.slug).collect()
    }
}

pub(crate) fn dissect(file: &[u8]) -> Found {
    let mut config = Config::default();
    config.verify_crc = true;
    config.operations = true;
    config.recovery = true;
    let (mut dissector, mut checker, mut found) = (Dissector::new(config), Checker::default(), Found::default());
    let mut take = |dissector: &mut Dissector| {
        while let Some(event) = dissector.event() {
            checker.event(&event);
            match event {
                Event::Message(message) => found.messages.push(message),
                Event::Transaction(transaction) => found.transactions.push(*transaction),
                Event::Connection(report) => found.reports.push(*report),
                Event::Rejected(rejected) => found.rejected.push(rejected),
                Event::Recovery(recovered) => found.recovered.push(recovered),
                _ => {}
            }
        }
    };
    let mut reader = Reader::new(file).unwrap();
    while let Some(frame) = reader.next() {
        dissector.frame(&frame.unwrap());
        take(&mut dissector);
    }
    dissector.finish();
    take(&mut dissector);
    while let Some(finding) = checker.finding() {
        let (xid, message) = (finding.xid, format!("frame {}: {}", finding.stamp.frame, finding.message));
        let by = match finding.blame {
            Blame::Sender => Some(finding.from),
            Blame::Receiver => Some(finding.to),
            Blame::Either => None,
        };
        found.broken.push(Broken { slug: finding.rule.slug, xid, by, message });
    }
    found.summary = dissector.summary().clone();
    assert_eq!((found.summary.verified, found.summary.bad_icrc), (found.summary.frames, 0), "every ICRC is right");
    found
}
