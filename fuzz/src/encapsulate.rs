//! Frames inside the encapsulations of mirrors, tunnels and rarer link layers.

#[path = "../../capture/tests/suite/transcode/encapsulation.rs"]
#[allow(unreachable_pub, reason = "the tests of the program share it")]
mod encapsulation;

use crate::captures::Record;

use encapsulation::{ENCAPSULATIONS, wrap};

/// The link type of Ethernet.
const ETHERNET: u32 = 1;
/// The most octets of a frame that are put into a packet.
const LARGEST: usize = 60_000;
/// The most octets that an encapsulation adds.
pub(crate) const ADDED: usize = 128;

/// Returns `record` in the encapsulation `way`, with `number` as the session; unchanged if impossible.
pub(crate) fn encapsulate(record: &Record, way: u8, number: u16) -> Record {
    let how = ENCAPSULATIONS.get(usize::from(way) % ENCAPSULATIONS.len());
    let wrapped = how.filter(|_| record.data.len() <= LARGEST).and_then(|how| wrap(record, *how, number));
    wrapped.map_or_else(|| record.clone(), |wrapped| Record { length: wrapped.length.max(record.length), ..wrapped })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use rpcrdma_dissector::link::{Content, decode};

    use super::*;
    use crate::captures::Known;

    #[test]
    fn packets_are_found_in_every_encapsulation() {
        for capture in [5, 3] {
            let record = Known::get_capture(capture).records.iter().find_map(|record| match decode(&record.frame(1)) {
                Content::InfiniBand(_) => Some(record.clone()),
                _ => None,
            });
            let bare = record.unwrap();
            let Content::InfiniBand(expected) = decode(&bare.frame(1)) else { panic!() };
            for way in 0..ENCAPSULATIONS.len() as u8 {
                for number in [0, 0x0107] {
                    let record = encapsulate(&bare, way, number);
                    assert_ne!((record.link, &record.data), (bare.link, &bare.data), "{way}");
                    assert!(record.data.len() <= bare.data.len() + ADDED, "{way}");
                    let Content::InfiniBand(found) = decode(&record.frame(1)) else { panic!("{way}") };
                    assert_eq!((found.source, found.octets), (expected.source, expected.octets), "{way}");
                }
            }
        }
    }
}
