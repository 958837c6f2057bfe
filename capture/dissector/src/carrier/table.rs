//! The table of connections, and of whatever else is looked up for every packet.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

use super::operation::Side;

/// A hash map for what is looked up for every packet. The hashes are seeded, because the keys come from the capture.
pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;

/// The connections that are followed, by their keys and by the flows that their packets name, one for each end. If
/// there are too many, the quarter that was unused for longest makes room.
#[derive(Debug)]
pub(super) struct Table<Flow, Entry> {
    rows: Map<u64, TableRow<Entry>>,
    flows: Map<Flow, (u64, Side)>,
    /// The flows of the last two packets: usually the next packet belongs to one of the two.
    recent: [Option<(Flow, u64, Side)>; 2],
    /// Packets of the capture so far.
    clock: u64,
}

#[derive(Debug)]
struct TableRow<Entry> {
    entry: Entry,
    /// Time of the connection's last packet.
    used: u64,
}

impl<Flow, Entry> Default for Table<Flow, Entry> {
    fn default() -> Self {
        Self { rows: Map::default(), flows: Map::default(), recent: [None, None], clock: 0 }
    }
}

impl<Flow: Copy + Eq + Hash, Entry> Table<Flow, Entry> {
    /// Counts a packet, and returns how many have come.
    #[inline]
    pub(super) const fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Packets that have come.
    pub(super) const fn clock(&self) -> u64 {
        self.clock
    }

    /// Returns true if there are no connections.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the connection of a flow, and the sender of the flow.
    #[inline]
    pub(super) fn find(&mut self, flow: &Flow) -> Option<(u64, Side)> {
        for (known, key, from) in self.recent.iter().flatten() {
            if known == flow {
                return Some((*key, *from));
            }
        }
        let &(key, from) = self.flows.get(flow)?;
        self.recent = [Some((*flow, key, from)), self.recent[0]];
        Some((key, from))
    }

    /// Returns the connection of this key, and notes that a packet came.
    #[inline]
    pub(super) fn touch(&mut self, key: u64) -> Option<&mut Entry> {
        let row = self.rows.get_mut(&key)?;
        row.used = self.clock;
        Some(&mut row.entry)
    }

    /// The connection of this key.
    pub(super) fn get(&self, key: u64) -> Option<&Entry> {
        self.rows.get(&key).map(|row| &row.entry)
    }

    /// Returns a mutable reference to the connection of this key.
    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut Entry> {
        self.rows.get_mut(&key).map(|row| &mut row.entry)
    }

    /// Adds a connection, with the known flows of both ends.
    pub(super) fn insert(&mut self, key: u64, flows: impl IntoIterator<Item = (Side, Flow)>, entry: Entry) {
        self.recent = [None, None];
        self.flows.extend(flows.into_iter().map(|(from, flow)| (flow, (key, from))));
        self.rows.insert(key, TableRow { entry, used: self.clock });
    }

    /// Stops following a connection. The flows may belong to another connection by now.
    pub(super) fn remove(&mut self, key: u64, flows: impl FnOnce(&Entry) -> [Option<Flow>; 2]) -> Option<Entry> {
        let entry = self.rows.remove(&key)?.entry;
        self.recent = [None, None];
        for flow in flows(&entry).into_iter().flatten() {
            if self.flows.get(&flow).is_some_and(|(owner, _)| *owner == key) {
                self.flows.remove(&flow);
            }
        }
        Some(entry)
    }

    /// The connections that have to go before another is followed, if `limit` are followed already.
    pub(super) fn crowd(&self, limit: usize) -> Vec<u64> {
        if self.rows.len() < limit {
            return Vec::new();
        }
        let mut used: Vec<(u64, u64)> = self.rows.iter().map(|(key, row)| (row.used, *key)).collect();
        used.sort_unstable();
        used.into_iter().take(limit / 4).map(|(_, key)| key).collect()
    }

    /// The key of a connection that meets a condition.
    pub(super) fn key_of(&self, is_meant: impl Fn(&Entry) -> bool) -> Option<u64> {
        self.rows.iter().find(|(_, row)| is_meant(&row.entry)).map(|(key, _)| *key)
    }

    /// The keys of all, in ascending order.
    pub(super) fn keys(&self) -> Vec<u64> {
        let mut keys: Vec<u64> = self.rows.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    /// The connection that holds the most; of several, always the same one.
    pub(super) fn largest(&mut self, held: impl Fn(&Entry) -> usize) -> Option<&mut Entry> {
        let largest = self.rows.iter_mut().max_by_key(|(key, row)| (held(&row.entry), **key));
        largest.map(|(_, row)| &mut row.entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quarter_unused_for_longest_makes_place() {
        let mut table: Table<u32, ()> = Table::default();
        for key in 0..8 {
            table.tick();
            table.insert(key, [(Side::Active, key as u32)], ());
        }
        table.tick();
        table.touch(0).unwrap();
        assert!(table.crowd(9).is_empty());
        assert_eq!(table.crowd(8), [1, 2]);
    }

    #[test]
    fn a_flow_goes_with_its_connection_alone() {
        let mut table: Table<u32, u8> = Table::default();
        table.insert(1, [(Side::Active, 10), (Side::Passive, 20)], 1);
        assert_eq!(table.find(&10), Some((1, Side::Active)));
        table.insert(2, [(Side::Passive, 10)], 2);
        assert_eq!(table.find(&10), Some((2, Side::Passive)), "the flow serves another connection now");
        assert_eq!(table.remove(1, |_| [Some(10), Some(20)]), Some(1));
        assert_eq!((table.find(&10), table.find(&20)), (Some((2, Side::Passive)), None));
    }
}
