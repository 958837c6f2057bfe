//! A Requester and a Responder, and between the two somebody who changes messages.

use rpcrdma_gen::Choices;

use super::requester::RequesterDriver;
use super::responder::ResponderDriver;
use super::{EVENTS, RECEIVES, format, mutate, terms};

/// With the octets as a source of choices: the duties of [`requester`](super::requester) and
/// [`responder`](super::responder) hold even if some messages are changed, dropped or repeated on the way; and as long
/// as none is, the Responder only touches memory that the Requester exposes.
///
/// # Panics
/// If this does not hold.
pub fn pair(octets: &[u8]) {
    let mut choices = Choices::of_octets(octets);
    let mut pair = Pair::new(&mut choices);
    for _ in 0..EVENTS.min(octets.len() / 8) {
        pair.event(&mut choices);
    }
    pair.requester.finish();
    pair.responder.finish();
}

struct Pair {
    requester: RequesterDriver,
    responder: ResponderDriver,
    /// One in so many messages is changed; none if 0.
    one_in: u32,
}

impl Pair {
    fn new(choices: &mut Choices<'_>) -> Self {
        let format = format(choices);
        let terms = terms(format, choices);
        let one_in = choices.below(8);
        let requester = RequesterDriver::new(format, terms, choices);
        Self { requester, responder: ResponderDriver::new(format, terms, choices), one_in }
    }

    fn event(&mut self, choices: &mut Choices<'_>) {
        match choices.below(4) {
            0 => self.requester.event(choices),
            1 => self.responder.event(choices),
            2 => {
                if let Some(octets) = self.requester.sent.pop_front() {
                    self.disturbed(octets, choices).iter().for_each(|octets| self.responder.receive_and_poll(octets));
                }
            }
            _ => self.answer(choices),
        }
        self.requester.poll();
        self.responder.poll();
        self.check_accesses();
        // Nobody sends more than what credits allow, and the other's copies of it.
        self.requester.sent.truncate(RECEIVES);
        self.responder.sent.truncate(RECEIVES);
    }

    /// The next message of the Responder arrives.
    fn answer(&mut self, choices: &mut Choices<'_>) {
        let Some((octets, invalidate)) = self.responder.sent.pop_front() else { return };
        let is_exposed = invalidate.is_none_or(|handle| self.requester.exposed.contains_key(&handle));
        assert!(self.is_disturbed() || is_exposed, "a handle is invalidated that is not exposed: {invalidate:?}");
        let invalidate = invalidate.filter(|_| is_exposed);
        for octets in self.disturbed(octets, choices) {
            self.requester
                .receive_and_poll(&octets, invalidate.filter(|handle| self.requester.exposed.contains_key(handle)));
        }
    }

    /// The form in which a message arrives: unchanged, usually.
    fn disturbed(&self, mut octets: Vec<u8>, choices: &mut Choices<'_>) -> Vec<Vec<u8>> {
        if self.one_in == 0 || choices.below(self.one_in) > 0 {
            return vec![octets];
        }
        match choices.below(8) {
            0 => Vec::new(),
            1 => vec![octets.clone(), octets],
            2 => {
                octets.truncate(choices.below(octets.len() as u32) as usize);
                vec![octets]
            }
            _ => {
                mutate(choices, &mut octets);
                vec![octets]
            }
        }
    }

    /// Returns true if messages are changed, or a call was given up.
    const fn is_disturbed(&self) -> bool {
        self.one_in > 0 || self.requester.has_cancelled
    }

    /// The Responder touched exposed memory only, unless somebody changed the segments.
    fn check_accesses(&mut self) {
        let is_disturbed = self.is_disturbed();
        for handle in self.responder.touched.drain(..) {
            assert!(is_disturbed || self.requester.exposed.contains_key(&handle), "handle {handle} is not exposed");
        }
    }
}
