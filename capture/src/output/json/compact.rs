//! JSON without white space, as `serde_json` writes it, in a third of the time.
//!
//! `serde_json` looks each octet of each string up in a table of what must be escaped. Here, the names of fields are taken
//! as they are, and other strings are searched eight octets at a time. What is not a string, or needs an escape, is left
//! to `serde_json`.

use serde::ser::{self, Impossible};
use serde::{Serialize, Serializer};
use serde_json::Error;

/// Appends one value.
pub(super) struct Compact<'a>(pub(super) &'a mut Vec<u8>);

/// Appends the elements of an array, or the entries of an object.
pub(super) struct Elements<'a> {
    out: &'a mut Vec<u8>,
    /// What goes in front of the next one.
    separator: u8,
    end: u8,
}

impl Compact<'_> {
    fn leave<T: Serialize>(self, value: T) -> Result<(), Error> {
        serde_json::to_writer(self.0, &value)
    }

    fn string(self, value: &str) -> Result<(), Error> {
        if needs_escape(value.as_bytes()) {
            return self.leave(value);
        }
        quote(self.0, value);
        Ok(())
    }
}

fn quote(out: &mut Vec<u8>, value: &str) {
    out.push(b'"');
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
}

/// Whether JSON escapes one of these octets. Eight are compared at once, without a branch for each.
fn needs_escape(octets: &[u8]) -> bool {
    let is_escaped = |octet: &u8| (*octet < b' ') | (*octet == b'"') | (*octet == b'\\');
    let (eights, rest) = octets.as_chunks::<8>();
    eights.iter().any(|eight| eight.iter().fold(false, |found, octet| found | is_escaped(octet)))
        || rest.iter().any(is_escaped)
}

/// No object has a value of this kind.
fn unsupported<T>() -> Result<T, Error> {
    Err(ser::Error::custom("no object has a tuple or a variant with fields"))
}

macro_rules! leave {
    ($($name:ident($type:ty)),*) => {
        $(fn $name(self, value: $type) -> Result<(), Error> {
            self.leave(value)
        })*
    };
}

impl<'a> Serializer for Compact<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Elements<'a>;
    type SerializeMap = Elements<'a>;
    type SerializeStruct = Elements<'a>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    leave!(serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64));
    leave!(serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64));
    leave!(serialize_f32(f32), serialize_f64(f64), serialize_char(char), serialize_bytes(&[u8]));

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.string(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<(), Error> {
        self.string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<(), Error> {
        unsupported()
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Elements<'a>, Error> {
        Ok(Elements { out: self.0, separator: b'[', end: b']' })
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Elements<'a>, Error> {
        Ok(Elements { out: self.0, separator: b'{', end: b'}' })
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Elements<'a>, Error> {
        self.serialize_map(None)
    }

    fn serialize_tuple(self, _length: usize) -> Result<Self::SerializeTuple, Error> {
        unsupported()
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Self::SerializeTupleStruct, Error> {
        unsupported()
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        unsupported()
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        unsupported()
    }
}

impl Elements<'_> {
    fn separate(&mut self) {
        self.out.push(self.separator);
        self.separator = b',';
    }

    fn finish(self) {
        // Without elements it has not begun yet.
        if self.separator != b',' {
            self.out.push(self.separator);
        }
        self.out.push(self.end);
    }
}

impl ser::SerializeSeq for Elements<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        value.serialize(Compact(self.out))
    }

    fn end(self) -> Result<(), Error> {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeMap for Elements<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        key.serialize(Compact(self.out))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.out.push(b':');
        value.serialize(Compact(self.out))
    }

    fn end(self) -> Result<(), Error> {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeStruct for Elements<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.separate();
        quote(self.out, key);
        self.out.push(b':');
        value.serialize(Compact(self.out))
    }

    fn end(self) -> Result<(), Error> {
        self.finish();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Serialize)]
    #[serde(untagged)]
    enum Any<'a> {
        Text(&'a str),
        Number(u64),
    }

    #[derive(Serialize)]
    struct Everything<'a> {
        texts: Vec<Any<'a>>,
        map: BTreeMap<&'a str, Option<f64>>,
        nothing: Vec<()>,
        empty: BTreeMap<&'a str, u8>,
        inner: Option<Box<Everything<'a>>>,
        flags: Vec<bool>,
        signed: i32,
    }

    fn everything<'a>(texts: &[&'a str], inner: Option<Box<Everything<'a>>>) -> Everything<'a> {
        Everything {
            texts: texts.iter().map(|text| Any::Text(text)).chain([Any::Number(u64::MAX)]).collect(),
            map: texts.iter().map(|text| (*text, Some(text.len() as f64 / 3.0))).chain([("none", None)]).collect(),
            nothing: Vec::new(),
            empty: BTreeMap::new(),
            inner,
            flags: vec![true, false],
            signed: -1,
        }
    }

    #[test]
    fn everything_is_written_as_serde_json_writes_it() {
        let escaped: Vec<String> = (0..=u8::MAX)
            .flat_map(|octet| [1, 7, 8, 9, 20].map(|at| format!("{:at$}{}", "é", octet as char)))
            .collect();
        let texts: Vec<&str> =
            escaped.iter().map(String::as_str).chain(["", "plain", "8 octets", "0x0123456789abcdef"]).collect();
        let value = everything(&texts, Some(Box::new(everything(&[], None))));
        let mut out = Vec::new();
        value.serialize(Compact(&mut out)).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&value).unwrap());
    }
}
