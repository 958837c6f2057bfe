//! Time, RPCs and frames of a cause, and the client, operation or file with the largest share.

use rpcrdma_dissector::Address;

use crate::small_map::SmallMap;

/// Maximum number of clients, operations or files counted separately; the time of others counts for none.
const KEYS: usize = 1000;
/// The most frames that are given as evidence.
pub(super) const FRAMES: usize = 8;

/// The properties of an RPC that a tally counts.
#[derive(Clone, Debug)]
pub(super) struct RpcSubject {
    pub(super) client: Address,
    pub(super) server: Address,
    pub(super) operation: String,
    /// `true` if the server called the client.
    pub(super) is_reverse: bool,
    /// File of the RPC, if known.
    pub(super) file: Option<String>,
    /// Beginning of the RPC, in nanoseconds since 1970.
    pub(super) began: u64,
    /// Frame of the call, or of the reply without one.
    pub(super) frame: u64,
    /// Nanoseconds from the call to the reply, if known.
    pub(super) latency: Option<u64>,
    /// Minimum wait in nanoseconds, if the call was sent before the capture.
    pub(super) joined_wait: Option<u64>,
}

impl RpcSubject {
    /// The end that called.
    pub(super) const fn requester(&self) -> Address {
        if self.is_reverse { self.server } else { self.client }
    }

    /// The end that was called.
    pub(super) const fn responder(&self) -> Address {
        if self.is_reverse { self.client } else { self.server }
    }
}

/// The RPC with most of a cause.
#[derive(Clone, Debug)]
pub(super) struct GreatestRpc {
    pub(super) amount: u64,
    pub(super) subject: RpcSubject,
    /// Words for the wait, if the tally has any.
    pub(super) waited_for: Option<String>,
}

/// Nanoseconds, or a number, by key.
#[derive(Clone, Debug)]
pub(super) struct KeyAmounts<K>(SmallMap<K, u64>);

impl<K> Default for KeyAmounts<K> {
    fn default() -> Self {
        Self(SmallMap::default())
    }
}

impl<K: Ord + Clone> KeyAmounts<K> {
    pub(super) fn add_amount(&mut self, key: &K, amount: u64) {
        match self.0.get_mut(key) {
            Some(sum) => *sum += amount,
            None => _ = self.0.add_amount(key.clone(), amount, KEYS),
        }
    }

    /// The keys with their amounts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &u64)> {
        self.0.iter()
    }

    /// The key of four fifths or more of a sum.
    pub(super) fn dominant(&self, sum: u64) -> Option<&K> {
        let (key, most) = self.0.iter().max_by_key(|(_, amount)| **amount)?;
        (sum > 0 && most.saturating_mul(5) >= sum.saturating_mul(4)).then_some(key)
    }
}

/// Share of a cause, and the affected clients, servers, operations and files.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Nanoseconds of waiting; a number of RPCs where no time is known.
    pub(super) amount: u64,
    pub(super) rpcs: u64,
    /// Beginning of the first RPC.
    pub(super) since: Option<u64>,
    /// RPCs in the reverse direction.
    pub(super) reverse: u64,
    clients: KeyAmounts<Address>,
    servers: KeyAmounts<Address>,
    requesters: KeyAmounts<Address>,
    responders: KeyAmounts<Address>,
    operations: KeyAmounts<String>,
    files: KeyAmounts<String>,
    /// The greatest amounts with their frames, the greatest first.
    pub(super) examples: Vec<(u64, u64)>,
    /// The RPC with the greatest amount, the first of several.
    pub(super) greatest_rpc: Option<GreatestRpc>,
}

impl Tally {
    /// Adds an RPC. Returns true if no earlier RPC had as great an amount.
    pub(super) fn add_rpc(&mut self, amount: u64, subject: &RpcSubject) -> bool {
        let is_greatest = self.greatest_rpc.as_ref().is_none_or(|greatest| amount > greatest.amount);
        self.amount = self.amount.saturating_add(amount);
        self.rpcs += 1;
        self.since = Some(self.since.map_or(subject.began, |since| since.min(subject.began)));
        self.reverse += u64::from(subject.is_reverse);
        self.clients.add_amount(&subject.client, amount);
        self.servers.add_amount(&subject.server, amount);
        self.requesters.add_amount(&subject.requester(), amount);
        self.responders.add_amount(&subject.responder(), amount);
        self.operations.add_amount(&subject.operation, amount);
        if let Some(file) = &subject.file {
            self.files.add_amount(file, amount);
        }
        if is_greatest {
            self.greatest_rpc = Some(GreatestRpc { amount, subject: subject.clone(), waited_for: None });
        }
        self.show(amount, subject.frame);
        is_greatest
    }

    /// Adds an RPC as [`add_rpc`](Self::add_rpc) does, with words for the wait if the RPC is the greatest so far.
    /// Returns true if no earlier RPC had as great an amount. Returns true if no earlier RPC had as great an amount.
    pub(super) fn add_with(&mut self, amount: u64, subject: &RpcSubject, waited_for: impl FnOnce() -> String) -> bool {
        let is_greatest = self.add_rpc(amount, subject);
        if let Some(greatest) = self.greatest_rpc.as_mut().filter(|_| is_greatest) {
            greatest.waited_for = Some(waited_for());
        }
        is_greatest
    }

    /// Adds a frame to the evidence.
    fn show(&mut self, amount: u64, frame: u64) {
        let place = self.examples.partition_point(|(shown, _)| *shown >= amount);
        if place < FRAMES && !self.examples.iter().any(|(_, shown)| *shown == frame) {
            self.examples.insert(place, (amount, frame));
            self.examples.truncate(FRAMES);
        }
    }

    /// Client with most of the tally.
    pub(super) fn client(&self) -> Option<Address> {
        self.clients.dominant(self.amount).copied()
    }

    /// Server with most of the tally.
    pub(super) fn server(&self) -> Option<Address> {
        self.servers.dominant(self.amount).copied()
    }

    /// Requester with most of the tally: for callbacks, the server.
    pub(super) fn requester(&self) -> Option<Address> {
        self.requesters.dominant(self.amount).copied()
    }

    /// Responder with most of the tally: for callbacks, the client.
    pub(super) fn responder(&self) -> Option<Address> {
        self.responders.dominant(self.amount).copied()
    }

    /// Returns true if there are RPCs, and all are callbacks.
    pub(super) const fn is_of_callbacks(&self) -> bool {
        self.rpcs > 0 && self.reverse == self.rpcs
    }

    /// Operation with most of the tally.
    pub(super) fn operation(&self) -> Option<&str> {
        self.operations.dominant(self.amount).map(String::as_str).filter(|name| *name != "unknown")
    }

    /// File with most of the tally.
    pub(super) fn file(&self) -> Option<&str> {
        self.files.dominant(self.amount).map(String::as_str)
    }

    /// The greatest amount of an RPC; `None` without any.
    pub(super) fn greatest(&self) -> Option<u64> {
        self.greatest_rpc.as_ref().map(|greatest| greatest.amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(client: u16, frame: u64) -> RpcSubject {
        let (client, server) = (Address::Lid(client), Address::Lid(99));
        let operation = "NULL".to_owned();
        RpcSubject {
            client,
            server,
            operation,
            is_reverse: false,
            file: None,
            began: frame,
            frame,
            latency: None,
            joined_wait: None,
        }
    }

    #[test]
    fn a_client_is_named_if_four_fifths_fall_on_it() {
        let mut tally = Tally::default();
        tally.add_rpc(80, &subject(1, 10));
        tally.add_rpc(20, &subject(2, 20));
        assert_eq!((tally.client(), tally.server()), (Some(Address::Lid(1)), Some(Address::Lid(99))));
        tally.add_rpc(1, &subject(2, 30));
        assert_eq!((tally.client(), tally.operation(), tally.file()), (None, Some("NULL"), None));
        assert_eq!(tally.since, Some(10));
        assert_eq!(tally.examples, [(80, 10), (20, 20), (1, 30)]);
        assert_eq!((tally.greatest(), tally.rpcs), (Some(80), 3));
        assert_eq!(tally.greatest_rpc.as_ref().map(|greatest| greatest.subject.frame), Some(10));
    }

    #[test]
    fn the_frames_of_the_greatest_amounts_are_shown() {
        let mut tally = Tally::default();
        for amount in 1..=100 {
            tally.add_rpc(amount, &subject(1, 1000 - amount));
        }
        assert_eq!(tally.examples.first(), Some(&(100, 900)));
        assert_eq!(tally.examples.iter().map(|(_, frame)| *frame).collect::<Vec<_>>(), (900..908).collect::<Vec<_>>());
        for client in 0..2 * KEYS as u16 {
            tally.add_rpc(1, &subject(client, 5));
        }
        assert_eq!(tally.clients.0.len(), KEYS);
    }
}
