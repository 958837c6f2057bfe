//! Results of dissecting frames, whoever made them.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use rpcrdma_dissector::{
    Config, Dissector, Event, Frame, LinkType, Message, Rejected, Report, Summary, Terminated, Time, Transaction,
};

/// A capture of raw IP.
const RAW_IP: LinkType = LinkType(101);

/// All that a dissector gives, by kind, in order.
#[derive(Debug, Default)]
pub struct Found {
    pub messages: Vec<Message>,
    pub transactions: Vec<Transaction>,
    pub reports: Vec<Report>,
    pub rejected: Vec<Rejected>,
    pub terminated: Vec<Terminated>,
    pub summary: Summary,
}

impl Found {
    /// Takes what the dissector has to give now.
    pub fn take_events(&mut self, dissector: &mut Dissector) {
        while let Some(event) = dissector.event() {
            match event {
                Event::Message(message) => self.messages.push(message),
                Event::Transaction(transaction) => self.transactions.push(*transaction),
                Event::Connection(report) => self.reports.push(*report),
                Event::Rejected(rejected) => self.rejected.push(rejected),
                Event::Terminated(terminated) => self.terminated.push(terminated),
                _ => {}
            }
        }
    }

    /// The only transaction with this XID.
    pub fn only_rpc(&self, xid: u32) -> &Transaction {
        let mut all = self.transactions.iter().filter(|transaction| transaction.xid == xid);
        let one = all.next().unwrap_or_else(|| panic!("no transaction {xid}"));
        assert!(all.next().is_none(), "{xid} is there twice");
        one
    }

    /// Takes the rest, at the end of the capture.
    pub fn finish(mut self, mut dissector: Dissector) -> Self {
        dissector.finish();
        self.take_events(&mut dissector);
        self.summary = dissector.summary().clone();
        self
    }

    /// Dissects IP packets captured a microsecond apart, each with its original length.
    pub fn of_packets<'a>(packets: impl Iterator<Item = (&'a [u8], u32)>, config: Config) -> Self {
        let mut dissector = Dissector::new(config);
        let mut found = Self::default();
        for (number, (data, length)) in (1..).zip(packets) {
            dissector.frame(&Frame { number, time: Time(number * 1000), link: RAW_IP, data, length });
            found.take_events(&mut dissector);
        }
        found.finish(dissector)
    }
}
