//! Takes events and gives findings.
//!
//! The dissector knows no rules. With [`Config::operations`](crate::dissector::Config::operations) the dissector tells
//! the checker more: recognised connections (`Opened`), missed packets (`Lost`), memory used as no waiting call allows
//! (`Memory`), and with each message the items in the body and the answered call (`Message::detail`).
//!
//! A finding names a frame and says who broke the rule: the sender of the frame, the other end, or, if the capture does
//! not tell, either.

use std::collections::VecDeque;

use super::book::{Book, Count};
use super::catalogue::grouped;
use super::finding::Found;
use super::history::History;
use crate::carrier::table::Map;
use crate::event::Event;

/// Takes events and gives findings.
#[derive(Debug)]
pub struct Checker {
    connections: Map<u32, History>,
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
                connections.insert(opened.number, History::new(opened));
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
            Event::Framed(_) => {}
            Event::Memory(used) => {
                if let Some(connection) = connections.get_mut(&used.connection) {
                    connection.memory(used, book);
                }
            }
            Event::RefusedReply(refused) => {
                if let Some(connection) = connections.get_mut(&refused.connection) {
                    connection.refused_reply(refused, book);
                }
            }
            Event::Connection(report) => {
                let Some(number) = report.number else { return };
                let Some(connection) = connections.remove(&number) else { return };
                connection.end_set_up(&report.connection.announced, number, book);
                connection.end_connection(report, book);
            }
            Event::Transaction(_)
            | Event::Promise(_)
            | Event::Rejected(_)
            | Event::AddressMoved(_)
            | Event::KernelFault(_)
            | Event::UnansweredRequest(_)
            | Event::Terminated(_)
            | Event::Recovery(_)
            | Event::LostBetween(_)
            | Event::Recounted(_)
            | Event::ReplyRead(_)
            | Event::Ended(_) => {}
        }
    }

    /// The next finding.
    pub fn finding(&mut self) -> Option<Found> {
        self.book.found.pop_front()
    }

    /// The outcome for each rule.
    pub fn counts(&self) -> impl Iterator<Item = Count> + '_ {
        self.book.counts.iter().map(|(count, group)| {
            let with_group = group.and_then(|group| self.book.groups.get(group as usize));
            Count { not_judged: count.not_judged + with_group.copied().unwrap_or_default(), ..*count }
        })
    }
}
