//! Fields of an event, found by name: each version of the kernel has fields in other places, and more fields.

use core::net::{IpAddr, SocketAddr};
use core::str::FromStr;

use crate::file::decimal;
use crate::link::Address;

/// The text of an event after the name.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// Returns the text of the field `name`, as in `name=text`.
    pub(super) fn text(self, name: &[u8]) -> Option<&'a [u8]> {
        self.words().find_map(|word| word.strip_prefix(name)?.strip_prefix(b"="))
    }

    /// Returns the number of a field: in hexadecimal digits after `0x`, otherwise in decimal ones.
    pub(super) fn number(self, name: &[u8]) -> Option<u64> {
        let text = self.text(name)?;
        text.strip_prefix(b"0x").map_or_else(|| decimal(text), hexadecimal)
    }

    /// Returns the number of a field that may be negative.
    pub(super) fn signed(self, name: &[u8]) -> Option<i64> {
        let text = self.text(name)?;
        let (digits, sign) = text.strip_prefix(b"-").map_or((text, 1), |digits| (digits, -1));
        i64::try_from(decimal(digits)?).ok()?.checked_mul(sign)
    }

    /// Returns nanoseconds from a field in microseconds.
    pub(super) fn microseconds(self, name: &[u8]) -> Option<u64> {
        self.number(name)?.checked_mul(1000)
    }

    /// Returns the `rdma_xid`.
    pub(super) fn xid(self) -> Option<u32> {
        u32::try_from(self.number(b"xid")?).ok()
    }

    /// Returns the address of a field, as in `peer=[192.0.2.1]:20049`.
    pub(super) fn address(self, name: &[u8]) -> Option<Address> {
        address(self.text(name)?)
    }

    /// Returns the task of the client, as in `task:0000002d@00000001`: the task, and the RPC client of the task.
    pub(super) fn task(self) -> Option<u64> {
        let text = self.words().find_map(|word| word.strip_prefix(b"task:"))?;
        let at = text.iter().position(|octet| *octet == b'@')?;
        let part = |digits| hexadecimal(digits).and_then(|number| u32::try_from(number).ok());
        let (task, client) = (part(text.get(..at)?)?, part(text.get(at + 1..)?)?);
        Some(u64::from(client) << 32 | u64::from(task))
    }

    /// Returns the completion that an event names. Older kernels name the address of an entry instead of numbers.
    pub(super) fn completion(self) -> Option<u64> {
        if let Some(entry) = self.text(b"cqe") {
            return hexadecimal(entry.strip_prefix(b"0x").unwrap_or(entry));
        }
        let queue = self.number(b"cq.id").or_else(|| self.number(b"cq_id"))?;
        Some(queue << 32 | self.number(b"cid")? & u64::from(u32::MAX))
    }

    /// Returns the octets of a segment, as in `65536@0xd78c23f14e81b000:0x0000055b`.
    pub(super) fn segment_length(self) -> Option<u64> {
        self.words().find_map(|word| {
            let at = word.windows(3).position(|part| part == b"@0x")?;
            decimal(word.get(..at)?)
        })
    }

    /// Returns the words without the punctuation behind.
    pub(super) fn words(self) -> impl Iterator<Item = &'a [u8]> {
        let words = self.0.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.map(|word| word.strip_suffix(b":").or_else(|| word.strip_suffix(b",")).unwrap_or(word))
    }
}

/// Reads a hexadecimal number, and nothing else.
fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, octet| {
        let digit = (*octet as char).to_digit(16)?;
        number.checked_mul(16)?.checked_add(u64::from(digit))
    })
}

/// Reads an address, with a port or without: `192.0.2.1:20049`, `[192.0.2.1]:20049`, `[2001:db8::1]:20049`.
pub(super) fn address(text: &[u8]) -> Option<Address> {
    let text = core::str::from_utf8(text).ok()?;
    let bracketed = text.strip_prefix('[').and_then(|text| text.split_once(']')).map(|(address, _)| address);
    let with_port = || SocketAddr::from_str(text).ok().map(|address| address.ip());
    let port_cut = || text.rsplit_once(':').and_then(|(address, _)| IpAddr::from_str(address).ok());
    let ip = match bracketed {
        Some(address) => IpAddr::from_str(address).ok(),
        None => IpAddr::from_str(text).ok().or_else(with_port).or_else(port_cut),
    };
    Some(match ip? {
        IpAddr::V4(address) => Address::V4(address.octets()),
        IpAddr::V6(address) => Address::from_gid(address.octets()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let fields =
            Fields(b"task:0000002d@00000001 xid=0xd78c23f1: status=-107, cid=-1 rtt=2376067 (2 SGEs) 4096@0x1f:0x3");
        assert_eq!((fields.task(), fields.xid()), (Some(0x0000_0001_0000_002d), Some(0xd78c_23f1)));
        assert_eq!((fields.signed(b"status"), fields.microseconds(b"rtt")), (Some(-107), Some(2_376_067_000)));
        assert_eq!((fields.segment_length(), fields.text(b"tt"), fields.number(b"id")), (Some(4096), None, None));
    }

    #[test]
    fn a_completion_has_the_names_of_all_kernels() {
        let completion = |text: &str| Fields(text.as_bytes()).completion();
        assert_eq!(completion("cq.id=1 cid=150 sqecount=4"), completion("cq_id=1 cid=150 num_sge=1"));
        assert_eq!(completion("cqe=0000000012345678 status=SUCCESS (0/0x0)"), Some(0x1234_5678));
        assert_eq!(completion("cq.id=1 status=SUCCESS"), None);
    }

    #[test]
    fn addresses_have_ports_or_none() {
        let v4 = Some(Address::V4([192, 0, 2, 1]));
        for text in ["192.0.2.1", "192.0.2.1:20049", "[192.0.2.1]:20049"] {
            assert_eq!(address(text.as_bytes()), v4, "{text}");
        }
        let mut v6 = [0; 16];
        (v6[0], v6[1], v6[15]) = (0x20, 1, 1);
        for text in ["2001::1", "[2001::1]:20049"] {
            assert_eq!(address(text.as_bytes()), Some(Address::V6(v6)), "{text}");
        }
        assert_eq!(address(b"(einval)"), None);
    }
}
