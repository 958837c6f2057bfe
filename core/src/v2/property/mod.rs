//! Transport properties: which, and the value (version two draft -01, "Transport Properties"; -07 section 5).
//!
//! ```text
//! which n data...
//! ```
//!
//! `rdma_data` is opaque, with the XDR encoding of the value inside: four octets for the five numbers, a count and the
//! octets for the host authentication message. No octets at all stands for the default.

mod properties;
mod property_set;
mod property_subset;

pub use properties::Properties;
pub use property_set::{PropertyIter, PropertySet};
pub use property_subset::PropertySubset;

use core::fmt;

use crate::codes::named;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::{Reader, padding};
use crate::sink::{Emit, Sink};

/// `rdma_which`; any number can be represented, with or without a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyId(pub u32);

named! {
    PropertyId of "the drafts", prefix "RDMA2_PROPID_", field "rdma_which";

    /// Maximum Send Size: the largest Send payload, octets. Default 4096.
    SBSIZ = 1,
    /// Receive Buffer Size: what each posted Receive has at least, octets. Default 4096.
    RBSIZ = 2,
    /// Maximum Segment Size: the largest segment sent or received, octets. Default 1048576.
    RSSIZ = 3,
    /// Maximum Segment Count: segments in one header of a Requester. Default 16.
    RCSIZ = 4,
    /// Reverse-Direction Support, a [`ReverseDirection`]. Default none.
    BRS = 5,
    /// Host Authentication Message: opaque octets. Without this property the sender stays unauthenticated.
    HOSTAUTH = 6,
}

/// Level of a peer's support for the reverse direction: the value of [`PropertyId::BRS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReverseDirection(pub u32);

named! {
    ReverseDirection of "the drafts", prefix "RDMA2_RVRSDIR_", field "reverse direction";

    /// Not at all.
    NONE = 0,
    /// Messages of the Simple Format, without chunks.
    SIMPLE = 1,
    /// Messages of the Simple and of the Continued Format, without chunks. The XDR of -01 to -03 has 1 here, the text
    /// of these drafts 2.
    CONT = 2,
    /// As in the forward direction.
    GENL = 3,
}

/// One property: ID and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Property<'a> {
    /// `rdma_which`.
    pub id: PropertyId,
    /// Content of `rdma_data`.
    pub value: PropertyValue<'a>,
}

/// The value of a property. A value of the wrong type is written unchanged; a receiver refuses the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyValue<'a> {
    /// No octets: the default of the property.
    Default,
    /// Of [`PropertyId::SBSIZ`] to [`PropertyId::BRS`].
    Uint32(u32),
    /// Of [`PropertyId::HOSTAUTH`]: the message, without count and padding.
    Opaque(&'a [u8]),
    /// Of a property that is not known: all of `rdma_data`.
    Unknown(&'a [u8]),
}

impl<'a> Property<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = PropertyId(reader.u32().map_err(DecodeError::truncated)?);
        let wrong = DecodeError::new(DecodeErrorKind::PropertyValue, reader.offset());
        let data = reader.opaque().map_err(|_| wrong)?;
        Ok(Self { id, value: PropertyValue::decode(id, data).ok_or(wrong)? })
    }
}

impl<'a> PropertyValue<'a> {
    fn decode(id: PropertyId, data: &'a [u8]) -> Option<Self> {
        match id {
            _ if data.is_empty() => Some(Self::Default),
            PropertyId::SBSIZ | PropertyId::RBSIZ | PropertyId::RSSIZ | PropertyId::RCSIZ | PropertyId::BRS => {
                Some(Self::Uint32(u32::from_be_bytes(data.try_into().ok()?)))
            }
            PropertyId::HOSTAUTH => {
                let mut reader = Reader::new(data);
                let message = reader.opaque().ok()?;
                reader.rest().is_empty().then_some(Self::Opaque(message))
            }
            _ => Some(Self::Unknown(data)),
        }
    }
}

impl Emit for Property<'_> {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.id.0);
        match self.value {
            PropertyValue::Default => sink.word(0),
            PropertyValue::Uint32(number) => {
                sink.word(4);
                sink.word(number);
            }
            PropertyValue::Opaque(message) => {
                sink.count(4_usize.saturating_add(message.len()).saturating_add(padding(message.len())));
                sink.opaque(message);
            }
            PropertyValue::Unknown(data) => sink.opaque(data),
        }
    }
}

impl fmt::Display for Property<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.id, self.value) {
            (id, PropertyValue::Default) => write!(f, "{id} default"),
            (id @ PropertyId::BRS, PropertyValue::Uint32(number)) => write!(f, "{id} {}", ReverseDirection(number)),
            (id, PropertyValue::Uint32(number)) => write!(f, "{id} {number}"),
            (id, PropertyValue::Opaque(octets) | PropertyValue::Unknown(octets)) => {
                write!(f, "{id} {} octets", octets.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_property_shows_what_it_is() {
        for (id, value, text) in [
            (PropertyId::BRS, PropertyValue::Uint32(2), "RDMA2_PROPID_BRS RDMA2_RVRSDIR_CONT"),
            (PropertyId::BRS, PropertyValue::Uint32(4), "RDMA2_PROPID_BRS reverse direction 4"),
            (PropertyId::RCSIZ, PropertyValue::Default, "RDMA2_PROPID_RCSIZ default"),
            (PropertyId(9), PropertyValue::Unknown(&[1, 2]), "rdma_which 9 2 octets"),
        ] {
            assert_eq!(Property { id, value }.to_string(), text);
        }
    }
}
