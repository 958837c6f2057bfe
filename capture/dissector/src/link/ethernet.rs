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
/// Used for stacked tags before 802.1ad had its own.
const OLD_PROVIDER_VLAN: [u8; 2] = [0x91, 0x00];

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
