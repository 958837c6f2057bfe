//! Time stamps that Arista's switches put into mirrored frames, between the addresses and the ethertype.
//!
//! ```text
//!  0  subtype = 1                    4  seconds: 4 octets, or 2 in the short form
//!  2  version: form and time scale      nanoseconds, 4 octets
//!                                       ethertype, payload
//! ```

use super::ethernet;
use super::network::{CUT, Network};

pub(super) const ETHERTYPE: [u8; 2] = [0xd2, 0x8b];

const LONG_LEN: usize = 8;
const SHORT_LEN: usize = 6;

/// The payload behind the time stamp.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    let Some((header, rest)) = octets.split_first_chunk::<4>() else { return CUT };
    let length = match *header {
        // In TAI or UTC.
        [0, 1, 0x00 | 0x01, 0x10] => LONG_LEN,
        [0, 1, 0x00 | 0x01, 0x20] => SHORT_LEN,
        _ => return Network::named("unknown Arista header"),
    };
    rest.get(length..).map_or(CUT, ethernet::ethertype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_of_both_forms_are_skipped() {
        let stamped = |header: [u8; 4], length| [&header[..], &vec![0xee; length], &[8, 0, 0x45]].concat();
        for (header, length) in [([0, 1, 0, 0x10], 8), ([0, 1, 1, 0x10], 8), ([0, 1, 0, 0x20], 6), ([0, 1, 1, 0x20], 6)]
        {
            let octets = stamped(header, length);
            assert!(matches!(inside(&octets), Network::Ipv4([0x45])), "{header:?}");
            assert!(matches!(inside(&octets[..length]), CUT));
        }
        assert!(matches!(inside(&stamped([0, 2, 0, 0x10], 8)), Network::Other(_)));
    }
}
