//! One end of a connection without an endpoint, and random numbers for what it does.

use std::collections::VecDeque;
use std::time::Duration;

use rpcrdma::segment::Segment;
use rpcrdma_verbs::loopback::{Adapter, Listener, QueuePair, Region};
use rpcrdma_verbs::{Access, Depths, Error, Kind, Local, Operation, Status, Verbs, Work};

pub(crate) const ADDRESS: &str = "192.0.2.2:20049";
pub(crate) const SECOND: Duration = Duration::from_secs(1);

#[path = "../../../../testdata/random.rs"]
mod random;

pub(crate) use random::Random;

impl Random {
    pub(crate) fn odd(&mut self) -> u32 {
        let words = [0, 1, 2, 3, 4, 5, 28, 44, 0x7fff_ffff, 0x8000_0000, 0xffff_fffc, u32::MAX, self.word()];
        words[self.below(words.len())]
    }
}

/// One end of a connection, by verbs alone.
pub(crate) struct Peer {
    pub(crate) verbs: Adapter,
    pub(crate) queue_pair: QueuePair,
    pub(crate) receives: Vec<Region>,
    sends: Vec<Region>,
    idle: Vec<usize>,
    /// The memory that is advertised.
    pub(crate) memory: Region,
    pub(crate) got: VecDeque<Vec<u8>>,
    pub(crate) over: bool,
    pub(crate) sent: usize,
    pub(crate) xids: Xids,
}

/// The XIDs of what a peer sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Xids {
    /// A few, again and again.
    Reused,
    /// Each but once, so that a capture shows what is the answer to what.
    Fresh,
}

pub(crate) const SIZE: usize = 4096;
pub(crate) const QUEUE: usize = 48;

impl Peer {
    pub(crate) fn new(verbs: &Adapter) -> Self {
        let domain = verbs.domain().unwrap();
        let register = |octets: usize, access| verbs.register(&domain, vec![0; octets], access).unwrap();
        let peer = Self {
            verbs: verbs.clone(),
            queue_pair: verbs.queue_pair(&domain, Depths::default()).unwrap(),
            receives: (0..QUEUE).map(|_| register(SIZE, Access::LOCAL_WRITE)).collect(),
            sends: (0..QUEUE).map(|_| register(SIZE + 64, Access::empty())).collect(),
            idle: (0..QUEUE).collect(),
            memory: register(1 << 16, Access::LOCAL_WRITE | Access::REMOTE_READ | Access::REMOTE_WRITE),
            got: VecDeque::new(),
            over: false,
            sent: 0,
            xids: Xids::Reused,
        };
        (0..QUEUE).for_each(|number| peer.post_receive(number).unwrap());
        peer
    }

    pub(crate) fn connect(verbs: &Adapter, private_data: &[u8]) -> Self {
        let peer = Self::new(verbs);
        peer.verbs.connect(&peer.queue_pair, ADDRESS.parse().unwrap(), private_data).unwrap();
        assert!(peer.verbs.connected(&peer.queue_pair, 10 * SECOND).unwrap().is_some());
        peer
    }

    /// Takes the next connection to a listener.
    pub(crate) fn accept(verbs: &Adapter, listener: &Listener, private_data: &[u8]) -> Self {
        let request = verbs.request(listener, 10 * SECOND).unwrap().unwrap();
        let peer = Self::new(verbs);
        verbs.accept(request, &peer.queue_pair, private_data).unwrap();
        peer
    }

    pub(crate) fn post_receive(&self, number: usize) -> Result<(), Error> {
        let local = Local::whole_region(&self.receives[number], SIZE);
        self.verbs.post_receive(&self.queue_pair, (1 << 32) + number as u64, local)
    }

    /// Takes a completion, if there is one.
    pub(crate) fn look(&mut self, timeout: Duration) -> bool {
        match self.verbs.completion(&self.queue_pair, timeout) {
            Ok(Some(done)) if done.status == Status::Success => {
                let number = done.id as u32 as usize;
                if done.kind == Kind::Receive {
                    let octets = self.verbs.read(&self.receives[number], |octets| octets[..done.length].to_vec());
                    self.got.push_back(octets.unwrap());
                    self.over |= self.post_receive(number).is_err();
                } else {
                    self.idle.push(number);
                }
                true
            }
            Ok(None) => false,
            _ => {
                self.over = true;
                false
            }
        }
    }

    pub(crate) fn send(&mut self, octets: &[u8], invalidate: Option<u32>) {
        while self.idle.is_empty() && !self.over {
            self.look(10 * SECOND);
        }
        let Some(number) = self.idle.pop().filter(|_| !self.over) else { return };
        let length = octets.len().min(SIZE + 64);
        self.verbs.write(&self.sends[number], |buffer| buffer[..length].copy_from_slice(&octets[..length])).unwrap();
        let operation = invalidate.map_or(Operation::Send, Operation::SendWithInvalidate);
        let work = Work::new(number as u64, operation, Local::whole_region(&self.sends[number], length));
        self.over = self.verbs.post(&self.queue_pair, work).is_err();
        self.sent += 1;
    }

    /// Waits until all that was sent has arrived.
    pub(crate) fn settle(&mut self) {
        while self.idle.len() < QUEUE && !self.over {
            self.look(10 * SECOND);
        }
        while !self.over && self.look(Duration::ZERO) {}
    }

    /// The XID of the next message.
    pub(crate) fn xid(&self, random: &mut Random) -> u32 {
        match self.xids {
            Xids::Reused => random.below(8) as u32,
            Xids::Fresh => self.sent as u32 + 1000,
        }
    }

    /// The XID of the next message that belongs to no RPC.
    pub(crate) fn xid_of_none(&self, random: &mut Random) -> u32 {
        if self.xids == Xids::Fresh { self.xid(random) } else { 0 }
    }

    pub(crate) fn segment(&self) -> Segment {
        self.verbs.segment(&self.memory)
    }
}
