//! Values in the form in which all objects have them, and a line of an object.

use core::fmt;
use std::io;

use serde::{Serialize, Serializer};

use crate::file::Time;
use crate::link::Address;

/// Writes an object and a line feed.
pub(crate) fn write_line(out: &mut impl io::Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, object)?;
    out.write_all(b"\n")
}

pub(in crate::output) const fn is_false(value: &bool) -> bool {
    !*value
}

/// A value written in its `Display` form.
#[derive(Clone, Copy)]
pub(super) struct ShownObject<T>(pub(super) T);

impl<T: fmt::Display> Serialize for ShownObject<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// An address. Writing an IPv4 address through `fmt` takes several times as long.
#[derive(Clone, Copy)]
pub(in crate::output) struct EndObject(pub(in crate::output) Address);

impl Serialize for EndObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Address::V4(octets) = self.0 else { return serializer.collect_str(&self.0) };
        let mut text = [0; 15];
        let mut length = 0;
        let mut put = |digit| {
            if let Some(place) = text.get_mut(length) {
                *place = digit;
                length += 1;
            }
        };
        for (index, octet) in octets.into_iter().enumerate() {
            if index > 0 {
                put(b'.');
            }
            if octet >= 100 {
                put(b'0' + octet / 100);
            }
            if octet >= 10 {
                put(b'0' + octet / 10 % 10);
            }
            put(b'0' + octet % 10);
        }
        serializer.serialize_str(ascii(text.get(..length).unwrap_or_default()))
    }
}

#[derive(Clone, Copy)]
pub(in crate::output) struct Hex32(pub(in crate::output) u32);

impl Serialize for Hex32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex(&mut [0; 10], u64::from(self.0)))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Hex64(pub(super) u64);

impl Serialize for Hex64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex(&mut [0; 18], self.0))
    }
}

/// Nanoseconds as seconds with all nine decimals; a number would lose the last ones.
#[derive(Clone, Copy)]
pub(in crate::output) struct Seconds(pub(in crate::output) Time);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; 21];
        let mut rest = self.0.0;
        let mut start = text.len();
        for (index, digit) in text.iter_mut().enumerate().rev() {
            // The point is before the last nine digits, and at least one digit is before it.
            if index == 11 {
                *digit = b'.';
                continue;
            }
            if index < 10 && rest == 0 {
                break;
            }
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            start = index;
        }
        serializer.serialize_str(ascii(text.get(start..).unwrap_or_default()))
    }
}

/// Fills `text` with `0x` and the digits of `value`. Writing through `fmt` takes several times as long.
fn hex(text: &mut [u8], value: u64) -> &str {
    let mut rest = value;
    for digit in text.iter_mut().rev() {
        *digit = match rest & 15 {
            nibble @ 0..10 => b'0' + nibble as u8,
            nibble => b'a' - 10 + nibble as u8,
        };
        rest >>= 4;
    }
    if let [_, x, ..] = text {
        *x = b'x';
    }
    ascii(text)
}

fn ascii(text: &[u8]) -> &str {
    core::str::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: impl Serialize) -> String {
        serde_json::to_string(&value).unwrap()
    }

    #[test]
    fn numbers_are_as_long_as_they_must_be() {
        assert_eq!(shown(Hex32(0xa94)), r#""0x00000a94""#);
        assert_eq!(shown(Hex64(0xa506_4bf4_ce8c_6000)), r#""0xa5064bf4ce8c6000""#);
        assert_eq!(shown(Hex64(7)), r#""0x0000000000000007""#);
        for nanoseconds in [0, 1, 999_999_999, 1_000_000_000, 1_763_683_200_123_456_789, u64::MAX] {
            assert_eq!(shown(Seconds(Time(nanoseconds))), format!("\"{}\"", Time(nanoseconds)));
        }
    }

    #[test]
    fn addresses_are_as_they_show_themselves() {
        for octets in [[0, 9, 10, 99], [100, 109, 200, 255], [192, 0, 2, 1]] {
            assert_eq!(shown(EndObject(Address::V4(octets))), format!("\"{}\"", Address::V4(octets)));
        }
        assert_eq!(shown(EndObject(Address::Lid(7))), r#""LID 7""#);
    }
}
