//! A Requester and a Responder of `core`, each with a driver that makes no mistakes and a peer that may send anything; and a
//! server on the loopback with such a peer.

mod loopback;
mod pair;
mod requester;
mod responder;

pub use loopback::loopback;
pub use pair::pair;
pub use requester::requester;
pub use responder::responder;

use core::ops::Range;

use rpcrdma::endpoint::{PayloadFormats, Terms, Version};
use rpcrdma::v2::Family;
use rpcrdma_gen::{Choices, Format, Role, random};

/// The most events of a connection: each costs the fuzzer time, and few are needed to reach any state.
const EVENTS: usize = 200;
/// The most outputs that follow from one event: far more than all calls together can have parts.
const OUTPUTS: usize = 4096;
/// Receives that the driver posts.
const RECEIVES: usize = 8;
/// Octets of a Receive.
const RECEIVE: usize = 4096;
/// The most octets of what is called and replied.
const LONGEST: u32 = 10_000;

/// The version of a connection, as chosen by the octets.
fn format(choices: &mut Choices<'_>) -> Format {
    *choices.one_of(&Format::ALL).unwrap_or(&Format::V1)
}

fn terms(format: Format, choices: &mut Choices<'_>) -> Terms {
    let threshold = if choices.below(2) == 0 { 1024 } else { 4096 };
    let version = match format {
        Format::V1 => Version::One,
        Format::V2a => Version::Two(Family::A),
        Format::V2b => Version::Two(Family::B),
    };
    Terms {
        call_threshold: threshold,
        reply_threshold: threshold,
        remote_invalidation: choices.below(2) == 0,
        version,
        formats: PayloadFormats::All,
    }
}

/// Messages of the peer: a message with at most one defect, often with one of these XIDs, and sometimes with a word that is
/// anything else.
fn message(choices: &mut Choices<'_>, format: Format, role: Role, xids: &[u32]) -> Vec<u8> {
    let mut octets = random(choices, format, role).octets;
    if let (true, Some(xid)) = (choices.below(4) > 0, choices.one_of(xids)) {
        // Also at the start of the RPC message, if it is inline.
        let old = octets.first_chunk::<4>().copied();
        for word in octets.chunks_exact_mut(4).filter(|word| old.is_some_and(|old| **word == old)) {
            word.copy_from_slice(&xid.to_be_bytes());
        }
    }
    if choices.below(4) == 0 {
        mutate(choices, &mut octets);
    }
    octets.truncate(RECEIVE);
    octets
}

/// Gives a word another value.
fn mutate(choices: &mut Choices<'_>, octets: &mut [u8]) {
    let index = choices.below(1 + octets.len() as u32 / 4) as usize;
    let value = if choices.below(2) == 0 { choices.word() } else { choices.below(9) };
    octets.chunks_exact_mut(4).skip(index).take(1).for_each(|word| word.copy_from_slice(&value.to_be_bytes()));
}

/// A Send: a header, and these parts of a Payload stream.
fn sent(header: Option<&[u8]>, stream: &[u8], payload: impl Iterator<Item = Range<u32>>) -> Vec<u8> {
    let mut octets = header.unwrap_or_else(|| panic!("the header is longer than the buffer")).to_vec();
    for range in payload {
        let part = stream.get(range.start as usize..range.end as usize);
        octets.extend(part.unwrap_or_else(|| panic!("{range:?} of {} octets is sent", stream.len())));
    }
    octets
}

/// Names for Receives, each of which comes back once.
#[derive(Debug, Default)]
struct Receives {
    next: u32,
    posted: std::collections::HashMap<u32, Vec<u8>>,
}

impl Receives {
    fn are_full(&self) -> bool {
        self.posted.len() >= RECEIVES
    }

    fn take_receive(&mut self, octets: &[u8]) -> u32 {
        self.next += 1;
        self.posted.insert(self.next, octets.to_vec());
        self.next
    }

    fn give_back(&mut self, receive: u32) -> Vec<u8> {
        let octets = self.posted.remove(&receive);
        octets.unwrap_or_else(|| panic!("Receive {receive} is given back, and is not in use"))
    }

    /// Octets of a Receive that is in use.
    fn part(&self, receive: u32, from: usize, length: u32) -> &[u8] {
        let octets = self.posted.get(&receive).and_then(|octets| octets.get(from..)?.get(..length as usize));
        octets.unwrap_or_else(|| panic!("{length} octets at {from} are not in Receive {receive}"))
    }
}
