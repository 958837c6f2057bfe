//! Values in the form that all objects share.

use core::fmt;

use rpcrdma_dissector::{Address, TimeBase};
use serde::{Serialize, Serializer};

use super::described::described;

/// Something that the protocol has a number for.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct NumberedObject {
    /// Name of the value, if the number has one.
    pub(crate) name: Option<&'static str>,
    /// Number of the value.
    pub(crate) number: u32,
}

/// Name of a value, or the number in digits if the value has no name.
#[derive(Clone, Copy, Default)]
pub(crate) struct NameObject {
    pub(crate) name: Option<&'static str>,
    pub(crate) number: u32,
}

impl Serialize for NameObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.name {
            Some(name) => serializer.serialize_str(name),
            None => serializer.collect_str(&self.number),
        }
    }
}

described!(NameObject as String);
described!(<T> ShownObject<T> as String);
described!(EndObject as String);
described!(Hex32 = "^0x[0-9a-f]{8}$");
described!(Hex64 = "^0x[0-9a-f]{16}$");
described!(HexOctets<'_> = "^([0-9a-f]{2})*$");

/// A value written in `Display` form.
#[derive(Clone, Copy)]
pub(crate) struct ShownObject<T>(pub(crate) T);

impl<T: fmt::Display> Serialize for ShownObject<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Writes the name of the beginning of times.
pub(crate) fn as_time_base<S: Serializer>(base: &TimeBase, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(base.name())
}

/// An address. Writing an IPv4 address through `fmt` takes several times as long.
#[derive(Clone, Copy)]
pub(crate) struct EndObject(pub(crate) Address);

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
pub(crate) struct Hex32(pub(crate) u32);

impl Serialize for Hex32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex(&mut [0; 10], u64::from(self.0)))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Hex64(pub(crate) u64);

impl Serialize for Hex64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex(&mut [0; 18], self.0))
    }
}

/// Octets as hexadecimal digits.
pub(crate) struct HexOctets<'a>(pub(crate) &'a [u8]);

impl Serialize for HexOctets<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let nibbles = self.0.iter().flat_map(|octet| [octet >> 4, octet & 15]);
        let text: String = nibbles.filter_map(|nibble| DIGITS.get(usize::from(nibble))).collect();
        serializer.serialize_str(&text)
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
    }

    #[test]
    fn what_has_no_name_is_its_number_in_digits() {
        assert_eq!(shown(NameObject { name: Some("RDMA_ERROR"), number: 4 }), r#""RDMA_ERROR""#);
        assert_eq!(shown(NameObject { name: None, number: 5 }), r#""5""#);
    }

    #[test]
    fn addresses_are_as_they_show_themselves() {
        for octets in [[0, 9, 10, 99], [100, 109, 200, 255], [192, 0, 2, 1]] {
            assert_eq!(shown(EndObject(Address::V4(octets))), format!("\"{}\"", Address::V4(octets)));
        }
        assert_eq!(shown(EndObject(Address::Lid(7))), r#""LID 7""#);
    }
}
