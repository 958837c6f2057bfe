//! Values in options and filters.

use std::net::IpAddr;

use crate::link::Address;

pub use super::moment::{Moment, zone_alone};

/// Parses a duration with a unit, such as `50ms` or `1.5s`, into nanoseconds.
///
/// # Errors
/// A text that says what is expected.
pub fn duration(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "not a time such as 50ms or 1.5s";
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit).ok_or(WRONG)?;
    let nanoseconds = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return Err(WRONG),
    };
    let number: f64 = number.parse().map_err(|_| WRONG)?;
    if number.is_finite() && number >= 0.0 { Ok((number * nanoseconds).round() as u64) } else { Err(WRONG) }
}

/// An XID: hexadecimal after `0x`, otherwise decimal.
///
/// # Errors
/// A text that says what is expected.
pub fn xid(text: &str) -> Result<u32, &'static str> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "not a number of 32 bits: 0x5a7a4583, or decimal")
}

/// An IPv4 address, an IPv6 address or GID, or a LID.
///
/// # Errors
/// A text that says what is expected.
pub fn address(text: &str) -> Result<Address, &'static str> {
    let lid = text.strip_prefix("LID ").and_then(|lid| lid.parse().ok());
    if let Some(lid) = lid {
        return Ok(Address::Lid(lid));
    }
    match text.parse() {
        Ok(IpAddr::V4(address)) => Ok(Address::V4(address.octets())),
        Ok(IpAddr::V6(address)) => Ok(Address::from_gid(address.octets())),
        Err(_) => Err("not an address: 192.0.2.1, 2001:db8::1 (or a GID), or 'LID 3'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_printed_as_it_is_read() {
        for text in ["192.0.2.1", "2001:db8::1", "fe80::1", "LID 3"] {
            assert_eq!(address(text).unwrap().to_string(), text);
        }
        assert_eq!(address("::ffff:192.0.2.1"), Ok(Address::V4([192, 0, 2, 1])));
        for text in ["", "192.0.2", "LID", "LID 65536", "host"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_duration_is_a_number_with_its_unit() {
        for (text, expected) in [
            ("50ms", Some(50_000_000)),
            ("1.5s", Some(1_500_000_000)),
            ("7us", Some(7000)),
            ("3ns", Some(3)),
            ("0s", Some(0)),
            ("5m", Some(300_000_000_000)),
            ("1.5min", Some(90_000_000_000)),
            ("2h", Some(7_200_000_000_000)),
            ("50", None),
            ("ms", None),
            ("-1s", None),
            ("1e3s", None),
            ("1 h", None),
            ("infs", None),
            ("", None),
        ] {
            assert_eq!(duration(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn an_xid_is_hexadecimal_or_decimal() {
        assert_eq!(xid("0x5a7a4583"), Ok(0x5a7a_4583));
        assert_eq!(xid("1518028163"), Ok(0x5a7b_4583));
        assert!(xid("5a7a4583").is_err() && xid("0x100000000").is_err() && xid("").is_err());
    }
}
