//! Connections of the RPCs in traces. A trace names the ends of an RPC and not the connection, so all connections of two
//! ends are one.

use std::collections::{BTreeMap, VecDeque};

use super::rpc::TracedEnds;
use crate::carrier::connection::{Connection, Counts, Endpoint};
use crate::carrier::operation::{Sides, Stamp};
use crate::event::{Event, Report};
use crate::file::Time;
use crate::link::Carrier;
use crate::rpc::activity::MessageTimes;
use crate::rpc::credits::CreditTimes;
use crate::rpc::waiting::WaitEnd;

/// The most pairs of ends that are told apart.
const CONNECTIONS: usize = 10_000;
/// Bit of the keys of these connections, which no connection of packets has.
const KEY: u64 = 1 << 61;

/// The connections so far.
#[derive(Debug, Default)]
pub(super) struct TracedConnections {
    by_ends: BTreeMap<TracedEnds, TracedConnection>,
}

#[derive(Debug)]
struct TracedConnection {
    number: u32,
    activity: MessageTimes,
}

impl TracedConnections {
    /// Returns the number of the connection between two ends, and notes a message there.
    pub(super) fn note_message(&mut self, ends: TracedEnds, stamp: Option<Stamp>, last_number: &mut u32) -> u32 {
        let is_full = self.by_ends.len() >= CONNECTIONS;
        let connection = match self.by_ends.get_mut(&ends) {
            Some(connection) => connection,
            None if is_full => return 0,
            None => {
                *last_number = last_number.saturating_add(1);
                let new = TracedConnection { number: *last_number, activity: MessageTimes::default() };
                self.by_ends.entry(ends).or_insert(new)
            }
        };
        stamp.into_iter().for_each(|stamp| connection.activity.message(stamp, None));
        connection.number
    }

    /// Ends all connections.
    pub(super) fn finish(&mut self, until: Time, events: &mut VecDeque<Event>) {
        for (ends, TracedConnection { number, activity }) in core::mem::take(&mut self.by_ends) {
            let TracedEnds { client, server } = ends;
            let [active, passive] = [client, server].map(|address| Endpoint { address, queue_pair: None, port: None });
            events.push_back(Event::Connection(Box::new(Report {
                number: Some(number),
                connection: Connection::without_setup(
                    KEY | u64::from(number),
                    Carrier::Traced,
                    Sides { active, passive },
                ),
                counts: Sides { active: Counts::default(), passive: Counts::default() },
                unmatched_transfers: 0,
                until,
                end: WaitEnd::Capture,
                activity,
                captured_at: None,
                late_clock: None,
                both_ends: None,
                credit_times: Sides { active: CreditTimes::default(), passive: CreditTimes::default() },
            })));
        }
    }
}
