//! Judges what two peers did by the rules of RPC-over-RDMA.
//!
//! A [`Checker`] takes the events of a dissector that was asked for [`Config::operations`](crate::dissector::Config), and
//! gives findings. The rules that one Send or the counts of a connection are judged by are in [`rpcrdma::rules`]; those here
//! need the RDMA operations, the connection's set-up or NFS. Each is a row of a table, or a constant beside the function that
//! judges by it:
//!
//! - `setup`: what the ends announced; `memory`: RDMA operations; `rpc`: calls and replies with their data items;
//! - `connection`: what is kept of a connection, and the rules that need it; messages of version 2.
//!
//! A rule that needs to know what the capture does not hold is not judged, and that is counted.
//!
//! ```
//! use rpcrdma_capture::check::Checker;
//! use rpcrdma_capture::dissector::Config;
//! use rpcrdma_capture::events::Events;
//! use rpcrdma_capture::file::Capture;
//!
//! let capture = Capture::from_paths([concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/errors.pcap")]);
//! let mut events = Events::new(capture, Config { transactions: false, operations: true, ..Config::default() });
//! let mut checker = Checker::default();
//! for event in &mut events {
//!     checker.event(&event?);
//! }
//! let first = std::iter::from_fn(|| checker.finding()).find(|found| found.rule.slug == "list-flag").unwrap();
//! assert_eq!((first.stamp.frame, first.connection, first.offset), (110, 11, Some(16)));
//! # Ok::<(), rpcrdma_capture::file::FileError>(())
//! ```

mod connection;
mod empty_chunks;
mod known;
mod memory;
mod rpc;
pub mod send;
mod setup;
mod written;

use std::collections::VecDeque;

use rpcrdma::rules::{self, Finding, Report, Rule, Severity};

use crate::carrier::operation::Stamp;
use crate::carrier::table::Map;
use crate::event::Event;
use crate::link::Address;
use crate::rpc::message::Message;
use connection::Connection;
pub use known::{Deviation, Implementation, deviations};

/// Every rule, by what it is judged by.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    grouped().map(|(rule, _)| rule)
}

/// Every rule, and the group that it is judged with.
fn grouped() -> impl Iterator<Item = (&'static Rule, Option<Group>)> {
    let send = rules::send_rules().map(|rule| (rule, Some(Group::Send)));
    let exchange = rules::exchange_rules().map(|rule| (rule, Some(Group::Exchange)));
    let send_v2 = rules::send_v2_rules().map(|rule| (rule, Some(Group::SendV2)));
    let set_up = setup::rules().map(|rule| (rule, Some(Group::Setup)));
    let alone = rules::count_rules().chain(rpc::rules()).chain(memory::rules()).chain(connection::rules());
    send.chain(exchange).chain(alone.map(|rule| (rule, None))).chain(set_up).chain(send_v2)
}

/// The rule of this name.
#[must_use]
pub fn find(slug: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.slug == slug)
}

/// Who broke a rule: the frame that shows it need not be theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The end that sent the frame.
    Sender,
    /// The other end: it owed something to the frame, or made what the frame does go wrong.
    Receiver,
    /// One of the two; the capture does not tell which.
    Either,
}

impl Blame {
    /// `sender`, `receiver` or `either`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Either => "either",
        }
    }
}

/// A rule that was broken in a capture.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which one.
    pub rule: &'static Rule,
    /// How bad it is.
    pub severity: Severity,
    /// The frame that shows it.
    pub stamp: Stamp,
    /// Number of the connection.
    pub connection: u32,
    /// Who sent that frame.
    pub from: Address,
    /// Whom it was sent to.
    pub to: Address,
    /// Which of the two broke the rule.
    pub blame: Blame,
    /// `rdma_xid`, where the finding is about an RPC.
    pub xid: Option<u32>,
    /// Octets from the start of the Send to what is wrong, where it is in a Send.
    pub offset: Option<usize>,
    /// What is wrong, with its values.
    pub message: String,
}

impl Found {
    fn new(about: About, finding: &Finding<'_>, offset: Option<usize>) -> Self {
        let About { stamp, connection, from, to, xid } = about;
        let Finding { rule, severity, message, .. } = *finding;
        let (blame, message) = (Blame::Sender, message.to_string());
        Self { rule, severity, stamp, connection, from, to, blame, xid, offset, message }
    }

    fn by(self, blame: Blame) -> Self {
        Self { blame, ..self }
    }
}

/// What became of a rule.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The rule.
    pub rule: &'static Rule,
    /// Times it was broken.
    pub broken: u64,
    /// Times it could not be judged, as the capture does not hold what it needs.
    pub not_judged: u64,
}

/// What is found is about this.
#[derive(Clone, Copy, Debug)]
struct About {
    stamp: Stamp,
    connection: u32,
    from: Address,
    to: Address,
    xid: Option<u32>,
}

impl About {
    fn message(message: &Message) -> Self {
        let Message { stamp, connection, from, to, .. } = *message;
        Self { stamp, connection, from, to, xid: message.rdma_xid() }
    }
}

/// Rules that can all be judged, or none of them.
#[derive(Clone, Copy, Debug)]
enum Group {
    /// Those of one Send.
    Send,
    /// Those of a call and its reply.
    Exchange,
    /// Those of the set-up.
    Setup,
    /// Those of one Send of version 2.
    SendV2,
}

/// Findings, and how often each rule was broken.
#[derive(Debug)]
struct Book {
    counts: Vec<(Count, Option<Group>)>,
    /// Times a [`Group`] could not be judged.
    groups: [u64; 4],
    found: VecDeque<Found>,
}

impl Book {
    fn count(&mut self, rule: &'static Rule) -> Option<&mut Count> {
        self.counts.iter_mut().map(|(count, _)| count).find(|count| core::ptr::eq(count.rule, rule))
    }

    /// A rule was broken.
    fn add(&mut self, about: About, finding: &Finding<'_>, offset: Option<usize>) {
        self.keep(Found::new(about, finding, offset));
    }

    fn keep(&mut self, found: Found) {
        if let Some(count) = self.count(found.rule) {
            count.broken += 1;
        }
        self.found.push_back(found);
    }

    /// Has `judge` judge by `rule`; the offsets it gives are those in a Send.
    fn judge<T>(&mut self, rule: &'static Rule, about: About, judge: impl FnOnce(&mut Report<'_>) -> T) -> T {
        let mut take = |finding: &Finding<'_>| self.add(about, finding, Some(finding.offset));
        judge(&mut Report::new(rule, &mut take))
    }

    /// A rule could not be judged.
    fn unknown(&mut self, rule: &'static Rule) {
        if let Some(count) = self.count(rule) {
            count.not_judged += 1;
        }
    }

    /// A rule could be judged after all.
    fn known(&mut self, rule: &'static Rule) {
        if let Some(count) = self.count(rule) {
            count.not_judged = count.not_judged.saturating_sub(1);
        }
    }

    /// A group of rules could not be judged.
    fn unknown_group(&mut self, group: Group) {
        if let Some(count) = self.groups.get_mut(group as usize) {
            *count += 1;
        }
    }
}

/// Takes events, gives findings.
#[derive(Debug)]
pub struct Checker {
    connections: Map<u32, Connection>,
    book: Book,
}

impl Default for Checker {
    fn default() -> Self {
        let counts = grouped().map(|(rule, group)| (Count { rule, broken: 0, not_judged: 0 }, group)).collect();
        let book = Book { counts, groups: [0; 4], found: VecDeque::new() };
        Self { connections: Map::default(), book }
    }
}

impl Checker {
    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        let Self { connections, book } = self;
        match event {
            Event::Opened(opened) => {
                connections.insert(opened.number, Connection::new(opened));
            }
            Event::Message(message) => {
                if let Some(connection) = connections.get_mut(&message.connection) {
                    connection.message(message, book);
                }
            }
            Event::Lost(lost) => {
                if let Some(connection) = connections.get_mut(&lost.connection) {
                    connection.lost(lost.from, book);
                }
            }
            Event::Memory(used) => {
                if let Some(connection) = connections.get_mut(&used.connection) {
                    connection.memory(used, book);
                }
            }
            Event::Connection(report) => {
                let Some(number) = report.number else { return };
                let Some(connection) = connections.remove(&number) else { return };
                if connection.owes_set_up() {
                    setup::judge(&report.connection.announced, &connection.ends, number, book);
                }
                connection.end(report, book);
            }
            Event::Transaction(_) | Event::Rejected(_) | Event::Terminated(_) => {}
        }
    }

    /// The next finding.
    pub fn finding(&mut self) -> Option<Found> {
        self.book.found.pop_front()
    }

    /// What became of each rule.
    pub fn counts(&self) -> impl Iterator<Item = Count> + '_ {
        self.book.counts.iter().map(|(count, group)| {
            let with_group = group.and_then(|group| self.book.groups.get(group as usize));
            Count { not_judged: count.not_judged + with_group.copied().unwrap_or_default(), ..*count }
        })
    }
}
