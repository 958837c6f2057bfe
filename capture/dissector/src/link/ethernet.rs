//! Ethernet, with any number of VLAN tags (IEEE 802.1Q and 802.1ad).
//!
//! ```text
//!  0  destination
//!  6  source
//! 12  ethertype; where it is a tag's, two octets of tag and the next ethertype follow
//! 14  payload
//! ```

use super::network::{CUT, Network};

const ADDRESSES_LEN: usize = 12;

const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
const VLAN: [u8; 2] = [0x81, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const PROVIDER_VLAN: [u8; 2] = [0x88, 0xa8];
const SLOW_PROTOCOLS: [u8; 2] = [0x88, 0x09];
const PPPOE_DISCOVERY: [u8; 2] = [0x88, 0x63];
const LLDP: [u8; 2] = [0x88, 0xcc];
const ROCE: [u8; 2] = [0x89, 0x15];
/// Used for stacked tags before 802.1ad.
const OLD_PROVIDER_VLAN: [u8; 2] = [0x91, 0x00];

/// MAC control (IEEE 802.3 clause 31): the opcodes of PAUSE and of priority-based flow control.
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];
const PAUSE: [u8; 2] = [0x00, 0x01];
const PRIORITY_PAUSE: [u8; 2] = [0x01, 0x01];

/// Returns true if a frame pauses a port, or one priority of a port (IEEE 802.3 annex 31B, 802.1Qbb). A time of 0 lets
/// the port go on.
pub(super) fn is_port_pause(octets: &[u8]) -> bool {
    let control = octets.get(ADDRESSES_LEN..).and_then(|octets| octets.strip_prefix(&MAC_CONTROL));
    match control.unwrap_or_default().split_first_chunk::<2>() {
        Some((&PAUSE, [high, low, ..])) => (*high, *low) != (0, 0),
        Some((&PRIORITY_PAUSE, [_, priorities, times @ ..])) => {
            let times = times.as_chunks::<2>().0.iter().take(8).enumerate();
            times.into_iter().any(|(priority, time)| priorities >> priority & 1 != 0 && *time != [0, 0])
        }
        _ => false,
    }
}

/// Finds the network layer in a frame. Nearly all frames pass here, so this is part of the caller.
#[inline(always)]
pub(super) fn decode(octets: &[u8]) -> Network<'_> {
    match octets.get(ADDRESSES_LEN..).and_then(<[u8]>::split_first_chunk) {
        Some((ethertype, payload)) => untagged(*ethertype, payload),
        None => CUT,
    }
}

/// The same for a frame inside an encapsulation.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    decode(octets)
}

/// Finds the network layer after the ethertype that `octets` begins with.
pub(super) fn ethertype(octets: &[u8]) -> Network<'_> {
    octets.split_first_chunk().map_or(CUT, |(ethertype, payload)| tagged(*ethertype, payload))
}

/// Finds the network layer in the payload after `ethertype`, which may be that of a tag.
pub(super) fn tagged(ethertype: [u8; 2], payload: &[u8]) -> Network<'_> {
    untagged(ethertype, payload)
}

#[inline(always)]
fn untagged(mut ethertype: [u8; 2], mut payload: &[u8]) -> Network<'_> {
    while let VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN = ethertype {
        let Some(([_, _, next @ ..], rest)) = payload.split_first_chunk::<4>() else { return CUT };
        (ethertype, payload) = (*next, rest);
    }
    match ethertype {
        IPV4 => Network::Ipv4(payload),
        IPV6 => Network::Ipv6(payload),
        ROCE => Network::Grh(payload),
        ARP => Network::named("ARP"),
        LLDP => Network::named("LLDP"),
        SLOW_PROTOCOLS => Network::named("Ethernet slow protocols"),
        PPPOE_DISCOVERY => Network::named("PPPoE discovery"),
        _ => Network::Ethertype(ethertype, payload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_with_a_time_stops_a_port() {
        let stops = |ethertype: [u8; 2], control: &[u8]| is_port_pause(&[&[0; 12][..], &ethertype, control].concat());
        assert!(stops(MAC_CONTROL, &[0, 1, 0, 9, 0, 0]));
        assert!(!stops(MAC_CONTROL, &[0, 1, 0, 0, 0, 0]), "a time of 0");
        // Of priorities 0 to 7, the second octet of the mask says which are meant.
        let times = |priority: usize| (0..8).flat_map(move |other| [0, u8::from(other == priority)]);
        let control =
            |mask: u8, priority: usize| [0x01, 0x01, 0, mask].into_iter().chain(times(priority)).collect::<Vec<_>>();
        assert!(stops(MAC_CONTROL, &control(0x08, 3)) && stops(MAC_CONTROL, &control(0xff, 7)));
        assert!(!stops(MAC_CONTROL, &control(0x08, 4)), "a time of another priority");
        assert!(!stops(MAC_CONTROL, &[0, 2, 0, 9]), "another opcode");
        assert!(!stops(SLOW_PROTOCOLS, &[0, 1, 0, 9]), "another ethertype");
        assert!(!stops(MAC_CONTROL, &[]) && !is_port_pause(&[0; 13]), "cut");
    }
}
