//! The Receives of one end, with the Sends inside.

use heapless::Deque;

/// Octets of a Receive: the inline threshold.
pub(crate) const OCTETS: usize = 1024;

/// Number of Receives.
const RECEIVES: usize = 12;

struct Receive {
    octets: [u8; OCTETS],
    length: usize,
    invalidated: Option<u32>,
    is_posted: bool,
}

pub(crate) struct Receives {
    all: [Receive; RECEIVES],
    /// Receives with a Send that the end has not looked at, the oldest first.
    arrived: Deque<u32, RECEIVES>,
}

impl Receives {
    pub(crate) fn new() -> Self {
        let receive = || Receive { octets: [0xa5; OCTETS], length: 0, invalidated: None, is_posted: true };
        Self { all: core::array::from_fn(|_| receive()), arrived: Deque::new() }
    }

    /// Returns the number of posted Receives.
    pub(crate) fn posted(&self) -> u32 {
        self.all.iter().filter(|receive| receive.is_posted).count() as u32
    }

    /// Puts a Send into a Receive. Returns false if no Receive is posted.
    pub(crate) fn arrive(&mut self, send: &[u8], invalidated: Option<u32>) -> bool {
        let Some(index) = self.all.iter().position(|receive| receive.is_posted) else { return false };
        let receive = &mut self.all[index];
        receive.octets[..send.len()].copy_from_slice(send);
        (receive.length, receive.invalidated, receive.is_posted) = (send.len(), invalidated, false);
        self.arrived.push_back(index as u32).is_ok()
    }

    /// Returns the Receive with the next Send to look at.
    pub(crate) fn next(&mut self) -> Option<u32> {
        self.arrived.pop_front()
    }

    pub(crate) fn octets(&self, receive: u32) -> &[u8] {
        let receive = &self.all[receive as usize];
        &receive.octets[..receive.length]
    }

    pub(crate) fn invalidated(&self, receive: u32) -> Option<u32> {
        self.all[receive as usize].invalidated
    }

    /// Posts a Receive again.
    pub(crate) fn post(&mut self, receive: u32) {
        self.all[receive as usize].is_posted = true;
    }
}
