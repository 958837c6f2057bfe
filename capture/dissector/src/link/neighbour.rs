//! MAC addresses of IP addresses: the new owner of an IP address announces the address.
//!
//! - Gratuitous ARP (RFC 5227 section 3): sender and target have the same IPv4 address.
//! - Unsolicited Neighbor Advertisement (RFC 4861 section 7.2.6), with the flag Override.
//!
//! ```text
//! ARP      0  hardware type 1, protocol type 0x0800, lengths 6 and 4
//!          6  operation: 1 or 2
//!          8  sender: MAC, IPv4;  18  target: MAC, IPv4
//! ICMPv6   0  type 136, code 0, checksum
//!          4  flags: Router, Solicited, Override
//!          8  target address;  24  options: type, length in 8 octets; 2 is the target's MAC
//! ```

use core::fmt;

use super::address::Address;
use crate::file::{Frame, LinkType};

/// The most IP addresses whose MAC address is remembered.
const NEIGHBOURS: usize = 256;

const ETHERNET: LinkType = LinkType(1);
const ETHERNET_ADDRESSES: usize = 12;
const IPV6_HEADER: usize = 40;
const ICMPV6: u8 = 58;
const NEIGHBOR_ADVERTISEMENT: u8 = 136;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Move of an IP address from one MAC address to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddressMove {
    pub(crate) address: Address,
    /// MAC address that had the IP address before.
    pub(crate) from: MacAddress,
    /// MAC address that is announced.
    pub(crate) to: MacAddress,
}

/// MAC addresses of the IP addresses that set up connections or were announced.
#[derive(Debug, Default)]
pub(crate) struct Neighbours(Vec<(Address, MacAddress)>);

impl Neighbours {
    /// Takes the MAC address from which the first packet with an IP address came.
    pub(crate) fn sight(&mut self, address: Address, frame: &Frame<'_>) {
        let is_known = self.0.iter().any(|(known, _)| *known == address);
        if !is_known
            && self.0.len() < NEIGHBOURS
            && let Some(mac) = source(frame, address)
        {
            self.0.push((address, mac));
        }
    }

    /// Takes a frame that may announce an IP address. Returns the announcement if the address moved.
    #[cold]
    pub(crate) fn announce(&mut self, frame: &Frame<'_>) -> Option<AddressMove> {
        let Announcement { address, mac: to } = announced(frame)?;
        let Some((_, mac)) = self.0.iter_mut().find(|(known, _)| *known == address) else {
            if self.0.len() < NEIGHBOURS {
                self.0.push((address, to));
            }
            return None;
        };
        let from = core::mem::replace(mac, to);
        (from != to).then_some(AddressMove { address, from, to })
    }
}

/// Ethertype and payload of an Ethernet frame, behind the MAC addresses and VLAN tags.
fn payload<'a>(frame: &Frame<'a>) -> Option<&'a [u8]> {
    let mut octets = frame.data.get(ETHERNET_ADDRESSES..).filter(|_| frame.link == ETHERNET)?;
    while let [0x81, 0x00, _, _, rest @ ..] | [0x88, 0xa8, _, _, rest @ ..] = octets {
        octets = rest;
    }
    Some(octets)
}

/// The source of an Ethernet frame with a packet of this IP address, which is not inside an encapsulation.
fn source(frame: &Frame<'_>, address: Address) -> Option<MacAddress> {
    let of_packet = match payload(frame)? {
        [0x08, 0x00, ip @ ..] => ip.get(12..)?.first_chunk().copied().map(Address::V4),
        [0x86, 0xdd, ip @ ..] => ip.get(8..)?.first_chunk().copied().map(Address::from_gid),
        _ => None,
    };
    let (_, octets) = frame.data.split_first_chunk::<6>().filter(|_| of_packet == Some(address))?;
    octets.first_chunk().copied().map(MacAddress)
}

/// Announcement of the adapter of an IP address.
struct Announcement {
    address: Address,
    mac: MacAddress,
}

/// Returns the announcement in a frame.
fn announced(frame: &Frame<'_>) -> Option<Announcement> {
    match payload(frame)? {
        [0x08, 0x06, arp @ ..] => announced_by_arp(arp),
        [0x86, 0xdd, ip @ ..] => announced_by_icmp(ip),
        _ => None,
    }
}

fn announced_by_arp(arp: &[u8]) -> Option<Announcement> {
    let [0, 1, 0x08, 0, 6, 4, 0, 1 | 2, rest @ ..] = arp else { return None };
    let (mac, rest) = rest.split_first_chunk::<6>()?;
    let (sender, rest) = rest.split_first_chunk::<4>()?;
    let target = rest.get(6..)?.first_chunk::<4>()?;
    (sender == target).then_some(Announcement { address: Address::V4(*sender), mac: MacAddress(*mac) })
}

fn announced_by_icmp(ip: &[u8]) -> Option<Announcement> {
    let icmp = ip.get(IPV6_HEADER..).filter(|_| ip.get(6) == Some(&ICMPV6))?;
    let [NEIGHBOR_ADVERTISEMENT, 0, _, _, flags, _, _, _, rest @ ..] = icmp else { return None };
    let (target, mut options) = rest.split_first_chunk::<16>()?;
    if flags & (SOLICITED | OVERRIDE) != OVERRIDE {
        return None;
    }
    while let [kind, length, value @ ..] = options {
        if (*kind, *length) == (2, 1) {
            let address = Address::V6(*target);
            return value.first_chunk().map(|mac| Announcement { address, mac: MacAddress(*mac) });
        }
        options = options.get(8 * usize::from(*length).max(1)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Time;

    fn frame(data: &[u8]) -> Frame<'_> {
        Frame { number: 1, time: Time(0), link: ETHERNET, data, length: data.len() as u32 }
    }

    const SERVER: [u8; 4] = [192, 0, 2, 10];

    /// ARP with this sender and target, in a VLAN.
    fn arp(mac: u8, target: [u8; 4]) -> Vec<u8> {
        let mut octets = [[0xff; 6], [2, 0, 0, 0, 0, mac]].concat();
        octets.extend([0x81, 0, 0, 7, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, mac]);
        octets.extend(SERVER);
        octets.extend([0; 6]);
        octets.extend(target);
        octets
    }

    /// A Neighbor Advertisement with these flags.
    fn advertisement(mac: u8, flags: u8) -> Vec<u8> {
        let mut octets = [[0x33; 6], [2, 0, 0, 0, 0, mac]].concat();
        octets.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, ICMPV6, 255]);
        octets.extend([0; 32]);
        octets.extend([NEIGHBOR_ADVERTISEMENT, 0, 0, 0, flags, 0, 0, 0]);
        octets.extend([0xfd; 16]);
        octets.extend([14, 1, 0, 0, 0, 0, 0, 0, 2, 1, 2, 0, 0, 0, 0, mac]);
        octets
    }

    #[test]
    fn an_announcement_of_another_mac_address_is_a_move() {
        for (made, address) in [
            ((|mac| arp(mac, SERVER)) as fn(u8) -> Vec<u8>, Address::V4(SERVER)),
            (|mac| advertisement(mac, OVERRIDE), Address::V6([0xfd; 16])),
        ] {
            let mut neighbours = Neighbours::default();
            let moved = [1, 1, 2, 2, 1].map(|mac| neighbours.announce(&frame(&made(mac))));
            let moved = moved.map(|moved| moved.map(|moved| (moved.address, moved.from.0[5], moved.to.0[5])));
            assert_eq!(moved, [None, None, Some((address, 1, 2)), None, Some((address, 2, 1))]);
        }
    }

    #[test]
    fn what_an_end_sent_from_before_is_where_it_was() {
        let mut neighbours = Neighbours::default();
        // The first is the frame of another packet, which encapsulates this one.
        for (mac, source) in [(6, [192, 0, 2, 11]), (7, SERVER), (8, SERVER)] {
            let ip = [&[0x08, 0x00, 0x45, 0][..], &[0; 10], &source, &[192, 0, 2, 33]].concat();
            let octets = [&[0; 6][..], &[2, 0, 0, 0, 0, mac], &ip].concat();
            neighbours.sight(Address::V4(SERVER), &frame(&octets));
        }
        let moved = neighbours.announce(&frame(&arp(9, SERVER))).unwrap();
        assert_eq!(moved.from.to_string(), "02:00:00:00:00:07");
    }

    #[test]
    fn an_answer_to_one_end_is_no_announcement() {
        let mut neighbours = Neighbours::default();
        neighbours.announce(&frame(&arp(1, SERVER)));
        neighbours.announce(&frame(&advertisement(1, OVERRIDE)));
        for octets in [arp(2, [192, 0, 2, 33]), advertisement(2, SOLICITED | OVERRIDE), advertisement(2, 0)] {
            assert!(neighbours.announce(&frame(&octets)).is_none());
            assert!((0..octets.len()).all(|end| neighbours.announce(&frame(&octets[..end])).is_none()));
        }
    }
}
