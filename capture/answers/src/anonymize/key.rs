//! The key, and the functions that replace addresses, names and identifiers with it.
//!
//! Addresses are replaced by Crypto-PAn (Xu, Fan, Ammar, Moon: Prefix-Preserving IP Address Anonymization, 2002): two addresses
//! have as long a prefix in common afterwards as before. The 32 octets of the key are used as `traceanon` uses them: 16 for
//! AES-128, and 16 for the padding. All other values are replaced by octets of HMAC-SHA-256 under the same key.

use std::collections::HashMap;
use std::fmt;

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Octets of a key.
pub(super) const LEN: usize = 32;
/// Addresses whose replacement is remembered, to save time.
const REMEMBERED: usize = 4096;
/// Octets of text.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Stands before a LID, which is replaced like the end of an address.
const BEFORE_LID: [u8; 14] = *b"InfiniBand LID";
/// The first LID of a multicast group, and the one that every port accepts (InfiniBand Architecture section 4.1.3).
const MULTICAST_LID: u16 = 0xc000;
const PERMISSIVE_LID: u16 = 0xffff;

/// A secret from which all replacements follow. The same key makes the same replacements in every capture.
#[derive(Clone)]
pub struct Key([u8; LEN]);

impl Key {
    /// A key of these octets.
    #[must_use]
    pub const fn new(octets: [u8; LEN]) -> Self {
        Self(octets)
    }

    /// A random key.
    ///
    /// # Errors
    /// The operating system has no random numbers.
    pub fn random() -> std::io::Result<Self> {
        let mut octets = [0; LEN];
        fill(&mut octets)?;
        Ok(Self(octets))
    }
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
fn fill(octets: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(octets).map_err(std::io::Error::other)
}

/// WebAssembly outside a system has no random numbers, so a key must be given there.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
fn fill(_: &mut [u8]) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Replaces values.
pub(super) struct Replacer {
    cipher: Aes128,
    padding: [u8; 16],
    mac: Hmac<Sha256>,
    addresses: HashMap<[u8; 16], [u8; 16]>,
}

impl Replacer {
    pub(super) fn new(key: &Key) -> Self {
        let (first, second) = key.0.split_at(LEN / 2);
        let (mut cipher_key, mut block) = ([0; 16], [0; 16]);
        cipher_key.copy_from_slice(first);
        block.copy_from_slice(second);
        let cipher = Aes128::new(&cipher_key.into());
        let mut padding = block.into();
        cipher.encrypt_block(&mut padding);
        let mac = <Hmac<Sha256> as KeyInit>::new(&{
            let mut whole = [0; 64];
            whole.iter_mut().zip(key.0).for_each(|(to, from)| *to = from);
            whole.into()
        });
        Self { cipher, padding: padding.into(), mac, addresses: HashMap::new() }
    }

    /// Replaces the first `octets` octets of an address, at most 16; the others are ignored.
    fn address(&mut self, address: [u8; 16], octets: usize) -> [u8; 16] {
        // An IPv4 address has another key in this table than an IPv6 address.
        let mut known = address;
        if octets == 4 {
            known.iter_mut().skip(4).for_each(|octet| *octet = 0xa5);
        }
        if let Some(replaced) = self.addresses.get(&known) {
            return *replaced;
        }
        let mut replaced = [0; 16];
        let mut block = self.padding;
        for bit in 0..octets * 8 {
            let (at, mask) = (bit / 8, 0x80_u8 >> (bit % 8));
            let mut encrypted = block.into();
            self.cipher.encrypt_block(&mut encrypted);
            let flips = encrypted.first().is_some_and(|first| first & 0x80 != 0);
            let Some(octet) = address.get(at) else { break };
            let is_set = octet & mask != 0;
            if let Some(to) = replaced.get_mut(at).filter(|_| is_set != flips) {
                *to |= mask;
            }
            if let Some(next) = block.get_mut(at) {
                *next = if is_set { *next | mask } else { *next & !mask };
            }
        }
        if self.addresses.len() >= REMEMBERED {
            self.addresses.clear();
        }
        self.addresses.insert(known, replaced);
        replaced
    }

    /// The replacement of an IPv4 address.
    pub(super) fn ipv4(&mut self, address: [u8; 4]) -> [u8; 4] {
        let [a, b, c, d] = address;
        let [a, b, c, d, ..] = self.address([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 4);
        [a, b, c, d]
    }

    /// The replacement of an IPv6 address or a GID. One that maps an IPv4 address maps the replacement of that address.
    pub(super) fn ipv6(&mut self, address: [u8; 16]) -> [u8; 16] {
        match address {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d] => {
                let [a, b, c, d] = self.ipv4([a, b, c, d]);
                [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d]
            }
            _ if address == [0; 16] => address,
            _ => self.address(address, 16),
        }
    }

    /// The replacement of an InfiniBand local identifier: unicast for unicast, a group for a group, and each for only one. Zero
    /// and the permissive one, which name no port, stay.
    pub(super) fn lid(&mut self, lid: u16) -> u16 {
        if lid == 0 || lid == PERMISSIVE_LID {
            return lid;
        }
        let mut replaced = lid;
        // Replacing is one-to-one, so repeating it comes back to `lid` at the latest.
        loop {
            let mut address = [0; 16];
            let octets = BEFORE_LID.into_iter().chain(replaced.to_be_bytes());
            address.iter_mut().zip(octets).for_each(|(to, from)| *to = from);
            let [.., high, low] = self.address(address, 16);
            replaced = u16::from_be_bytes([high, low]);
            if is_group(replaced) == is_group(lid) && replaced != 0 && replaced != PERMISSIVE_LID {
                return replaced;
            }
        }
    }

    /// The replacement of a MAC address: a locally administered one. Groups stay groups.
    pub(super) fn mac_address(&self, address: [u8; 6]) -> [u8; 6] {
        if address == [0xff; 6] || address == [0; 6] {
            return address;
        }
        let mut replaced = [0; 6];
        self.fill("MAC", &address, &mut replaced);
        let [first, ..] = address;
        if let Some(to) = replaced.first_mut() {
            *to = (*to & !0x01) | 0x02 | (first & 0x01);
        }
        replaced
    }

    /// The replacement of any other value: text becomes text. A value of nothing but zeros or ones stays, because that is how
    /// protocols say that there is none.
    pub(super) fn value(&self, value: &[u8], to: &mut [u8]) {
        let is_none = [0, 0xff].iter().any(|none| value.iter().all(|octet| octet == none));
        if is_none {
            to.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
            return;
        }
        self.fill("value", value, to);
        let is_text = core::str::from_utf8(value).is_ok_and(|text| !text.chars().any(char::is_control));
        if is_text {
            let letter = |octet: u8| LETTERS.get(usize::from(octet % 32)).copied().unwrap_or(b'x');
            to.iter_mut().for_each(|octet| *octet = letter(*octet));
        }
    }

    fn fill(&self, domain: &str, value: &[u8], to: &mut [u8]) {
        for (counter, block) in (0_u32..).zip(to.chunks_mut(32)) {
            let mut mac = self.mac.clone();
            mac.update(domain.as_bytes());
            mac.update(&counter.to_be_bytes());
            mac.update(value);
            block.iter_mut().zip(mac.finalize().into_bytes()).for_each(|(to, from)| *to = from);
        }
    }
}

const fn is_group(lid: u16) -> bool {
    lid >= MULTICAST_LID
}

impl fmt::Debug for Replacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replacer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key and the addresses of the sample that comes with Crypto-PAn 1.0.
    const SAMPLE: [u8; LEN] = [
        21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131, 121, 121, 101, 39,
        98, 87, 76, 45, 42, 132, 34, 2,
    ];

    #[test]
    fn ipv4_addresses_become_those_of_the_sample_of_crypto_pan() {
        let mut replacer = Replacer::new(&Key::new(SAMPLE));
        for (address, replaced) in [
            ([128, 11, 68, 132], [135, 242, 180, 132]),
            ([129, 118, 74, 4], [134, 136, 186, 123]),
            ([130, 132, 252, 244], [133, 68, 164, 234]),
            ([141, 223, 7, 43], [141, 167, 8, 160]),
        ] {
            assert_eq!(replacer.ipv4(address), replaced, "{address:?}");
        }
    }

    #[test]
    fn equal_prefixes_stay_equal_and_no_longer_ones_become_equal() {
        let mut replacer = Replacer::new(&Key::new([7; LEN]));
        let address = |last: u128| (0x2001_0db8_u128 << 96 | last).to_be_bytes();
        let common =
            |one: [u8; 16], other: [u8; 16]| (u128::from_be_bytes(one) ^ u128::from_be_bytes(other)).leading_zeros();
        for bit in 0..96 {
            let (one, other) = (address(0), address(1 << bit));
            let (replaced, other_replaced) = (replacer.ipv6(one), replacer.ipv6(other));
            assert_eq!(common(replaced, other_replaced), common(one, other));
        }
    }

    #[test]
    fn each_lid_has_its_own_replacement_of_the_same_kind() {
        let mut replacer = Replacer::new(&Key::new([7; LEN]));
        let mut seen = std::collections::HashSet::new();
        let mut same = 0;
        for lid in 0..=u16::MAX {
            let replaced = replacer.lid(lid);
            assert!(seen.insert(replaced), "{lid}");
            assert_eq!(is_group(replaced), is_group(lid));
            same += u32::from(replaced == lid);
        }
        assert_eq!((replacer.lid(0), replacer.lid(PERMISSIVE_LID)), (0, PERMISSIVE_LID));
        assert!(same < 20, "{same}");
    }

    #[test]
    fn a_mapped_address_maps_the_replacement() {
        let mut replacer = Replacer::new(&Key::new(SAMPLE));
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 128, 11, 68, 132];
        assert_eq!(replacer.ipv6(mapped)[10..], [0xff, 0xff, 135, 242, 180, 132]);
    }

    #[test]
    fn text_becomes_text_and_equal_values_equal_ones() {
        let replacer = Replacer::new(&Key::new([7; LEN]));
        let replace = |value: &[u8]| {
            let mut to = vec![0xa5; value.len()];
            replacer.value(value, &mut to);
            to
        };
        let name = replace("report-2026 für alle.pdf".as_bytes());
        assert!(name.iter().all(|octet| LETTERS.contains(octet)));
        assert_eq!(name, replace("report-2026 für alle.pdf".as_bytes()));
        assert_ne!(replace(&[1; 100])[..32], replace(&[1; 100])[32..64], "no octets are used twice");
        assert_eq!(replace(&[0; 16]), [0; 16]);
    }
}
