//! Credits and packets retransmitted, which belong to no row: the charts show them with the rows.

use std::collections::{HashMap, HashSet};

use answers::format::number::{counted, grouped};
use answers::report::{TimeSeries, granted};
use answers::selection::Ends;
use dissector::{Event, Recovered};

use crate::filter::{Filter, Verdict};
use crate::names::Names;
use crate::part::Part;
use crate::parts::Parts;
use crate::table::Table;

/// Maximum number of packets that a filter can select: 5 MB.
const PACKETS: usize = 100_000;
/// Maximum number of intervals of connections whose credits a filter can select: 3 MB.
const CELLS: usize = 100_000;

/// Credits and packets retransmitted over time.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Counts for a filter that selects everything.
    series: TimeSeries,
    /// Packets retransmitted.
    packets: Parts,
    /// Packets beyond [`PACKETS`].
    packets_left_out: u64,
    /// Maximum of the credits granted on a connection in an interval.
    grants: HashMap<(u32, u64), u32>,
    /// Nanoseconds of the intervals of `grants`.
    length: u64,
    /// Replies whose credits are beyond [`CELLS`].
    grants_left_out: u64,
}

impl Traffic {
    pub(crate) fn event(&mut self, event: &Event, names: &mut Names) {
        self.series.event(event);
        match event {
            Event::Message(message) => {
                if let Some(credits) = granted(message) {
                    self.grant(message.connection, message.stamp.time.0, credits);
                }
            }
            Event::Recovery(recovered) if recovered.kind.is_retransmission() => match self.packets.len() < PACKETS {
                true => self.packets.push(part(recovered, names)),
                false => self.packets_left_out += 1,
            },
            _ => {}
        }
    }

    fn grant(&mut self, connection: u32, time: u64, credits: u32) {
        if self.length != self.series.length() {
            self.join(self.series.length());
        }
        let interval = time.saturating_sub(self.series.start()) / self.length;
        let has_room = self.grants.len() < CELLS;
        match self.grants.get_mut(&(connection, interval)) {
            Some(most) => *most = credits.max(*most),
            None if has_room => _ = self.grants.insert((connection, interval), credits),
            None => self.grants_left_out += 1,
        }
    }

    /// Makes intervals of this length, which is a multiple of the one before.
    fn join(&mut self, length: u64) {
        let factor = length / self.length.max(1);
        let mut joined = HashMap::with_capacity(self.grants.len());
        for ((connection, interval), credits) in self.grants.drain() {
            let most = joined.entry((connection, interval / factor.max(1))).or_insert(credits);
            *most = credits.max(*most);
        }
        (self.grants, self.length) = (joined, length);
    }

    /// Counts for a filter that selects everything.
    pub(crate) const fn unfiltered_series(&self) -> &TimeSeries {
        &self.series
    }

    /// Adds the selected packets, and the credits of the connections of the selected RPCs. Returns a sentence for each kind of packet and
    /// credit that cannot follow the filter.
    pub(crate) fn select(
        &mut self,
        series: &mut TimeSeries,
        filter: &Filter,
        table: &Table,
        connections: &HashSet<u32>,
    ) -> Vec<String> {
        let start = series.start();
        for ((connection, interval), credits) in &self.grants {
            if connections.contains(connection) {
                series.grant(start + interval * self.length, *credits);
            }
        }
        let mut of_no_rpc = 0;
        for (packet, verdict) in self.packets.judge(filter, table) {
            match verdict {
                Verdict::Wanted => series.sent_again(packet.time),
                Verdict::OfNoRpc => of_no_rpc += 1,
                Verdict::Unwanted => {}
            }
        }
        self.notes(of_no_rpc)
    }

    fn notes(&self, of_no_rpc: u64) -> Vec<String> {
        let packets = |count: u64| counted(count, "packet");
        let notes = [
            (of_no_rpc, format!("Without {} retransmitted for no known RPC.", packets(of_no_rpc))),
            (
                self.packets_left_out,
                format!(
                    "Without {} retransmitted: the filter knows the first {}.",
                    packets(self.packets_left_out),
                    grouped(PACKETS as u64)
                ),
            ),
            (self.grants_left_out, format!("Without the credits of {}.", counted(self.grants_left_out, "reply"))),
        ];
        notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note).collect()
    }
}

fn part(recovered: &Recovered, names: &mut Names) -> Part {
    let Recovered { stamp, connection, from, to, xid, client, .. } = *recovered;
    let [from_name, to_name] = [from, to].map(|address| names.insert(&address.to_string()));
    let ends = match client {
        Some(client) if client == from => Ends::Known { client: from_name, server: to_name },
        Some(_) => Ends::Known { client: to_name, server: from_name },
        None => Ends::Either([from_name, to_name]),
    };
    Part { connection, xid, frame: stamp.frame, time: stamp.time.0, ends }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_stay_in_their_intervals_when_intervals_are_joined() {
        let mut traffic = Traffic::default();
        let (millisecond, second) = (1_000_000, 1_000_000_000);
        // Two connections in the same interval, and one at a time that needs intervals of 32 ms.
        for (connection, time, credits) in
            [(1, 0, 5), (1, millisecond, 9), (2, millisecond, 3), (1, 40 * millisecond, 7), (2, 4 * second, 4)]
        {
            traffic.series.grant(time, credits);
            traffic.grant(connection, time, credits);
        }
        assert_eq!((traffic.length, traffic.series.length()), (32 * millisecond, 32 * millisecond));
        let mut grants: Vec<_> = traffic.grants.into_iter().collect();
        grants.sort_unstable();
        assert_eq!(grants, [((1, 0), 9), ((1, 1), 7), ((2, 0), 3), ((2, 125), 4)]);
    }
}
