//! The words that only a message of version 2 has.

use rpcrdma::v2::{
    self, Credit, ErrorBodyV2, Family, HeaderV2, PropertySet, PropertyValue, ReverseDirection, family_a,
};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::chunks::Reads;
use super::values::{Hex32, ShownObject};
use crate::rpc::message::{Dropped, Message};

/// What a header of version 2 has between `rdma_credit` and the lengths.
pub(super) struct WordsV2<'a> {
    rdma_htype: Type,
    /// Null if it is not known.
    v2_family: Option<&'static str>,
    credit: Option<CreditsObject>,
    /// `None` if it cannot be read.
    header: Option<HeaderV2<'a>>,
    earlier_length: u64,
    dropped: Option<Dropped>,
}

impl<'a> WordsV2<'a> {
    /// The words of a message of this wire format, if that is known, including its header, if that can be read.
    pub(super) fn new(message: &Message, family: Option<Family>, header: Option<HeaderV2<'a>>) -> Self {
        let prefix = message.prefix();
        let number = prefix.map_or(0, |prefix| prefix.procedure.0);
        Self {
            rdma_htype: message.type_name().map_or(Type::Number(number), Type::Name),
            v2_family: family.map(|family| match family {
                Family::A => "A",
                Family::B => "B",
            }),
            credit: prefix.map(|prefix| CreditsObject::new(Credit(prefix.credit), family)),
            header,
            earlier_length: message.earlier_length(),
            dropped: message.dropped,
        }
    }

    pub(super) fn entries<M: SerializeStruct>(&self, object: &mut M) -> Result<(), M::Error> {
        object.serialize_field("rdma_htype", &self.rdma_htype)?;
        object.serialize_field("v2_family", &self.v2_family)?;
        if let Some(credit) = &self.credit {
            object.serialize_field("credit", credit)?;
        }
        if let Some(header) = &self.header {
            header_entries(header, object)?;
        }
        if self.earlier_length > 0 {
            object.serialize_field("earlier_length", &self.earlier_length)?;
        }
        if let Some(dropped) = self.dropped {
            object.serialize_field("dropped", &ShownObject(dropped))?;
        }
        Ok(())
    }
}

fn header_entries<M: SerializeStruct>(header: &HeaderV2<'_>, object: &mut M) -> Result<(), M::Error> {
    match header {
        HeaderV2::A(header) => object.serialize_field("rdma_flags", &FlagNames(header.flags))?,
        HeaderV2::B(header) => {
            if let Some(remaining) = header.remaining() {
                object.serialize_field("rdma_remaining", &remaining)?;
            }
        }
    }
    if let Some(handle) = header.inv_handle() {
        object.serialize_field("rdma_inv_handle", &Hex32(handle))?;
    }
    if let Some(call) = header.call_chunk() {
        object.serialize_field("call", &Reads(call))?;
    }
    if let Some(properties) = header.properties() {
        object.serialize_field("properties", &Properties(properties))?;
    }
    Ok(())
}

#[derive(Serialize)]
#[serde(untagged)]
enum Type {
    Name(&'static str),
    Number(u32),
}

/// The two halves of `rdma_credit` (version two draft -01, "Credits"). If drafts -06 and -07 may be in use, also the
/// word as they read it: nothing shows which of the two is right.
#[derive(Serialize)]
struct CreditsObject {
    granted: u16,
    maximum: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
}

impl CreditsObject {
    fn new(credit: Credit, family: Option<Family>) -> Self {
        let limit = (family != Some(Family::A)).then(|| credit.limit());
        Self { granted: credit.granted(), maximum: credit.maximum(), limit }
    }
}

struct FlagNames(family_a::HeaderFlags);

impl Serialize for FlagNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = self.0.iter_names().map(|(name, _)| name.to_owned());
        let rest = self
            .0
            .difference(family_a::HeaderFlags::RESPONSE | family_a::HeaderFlags::MORE | family_a::HeaderFlags::TPMORE);
        let rest = (!rest.is_empty()).then(|| format!("{:#010x}", rest.bits()));
        serializer.collect_seq(named.chain(rest))
    }
}

struct Properties<'a>(PropertySet<'a>);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|property| Property {
            id: property.id.0,
            name: property.id.name(),
            value: match (property.id, property.value) {
                (_, PropertyValue::Default) => Value::Default(()),
                (v2::PropertyId::BRS, PropertyValue::Uint32(value)) => {
                    ReverseDirection(value).name().map_or(Value::Number(value), Value::Name)
                }
                (_, PropertyValue::Uint32(value)) => Value::Number(value),
                (_, PropertyValue::Opaque(octets) | PropertyValue::Unknown(octets)) => Value::Octets(octets.into()),
            },
        }))
    }
}

#[derive(Serialize)]
struct Property {
    id: u32,
    name: Option<&'static str>,
    value: Value,
}

/// Null is the default of the property.
#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Default(()),
    Number(u32),
    Name(&'static str),
    Octets(OctetsObject),
}

/// Octets as hexadecimal digits.
struct OctetsObject(String);

impl From<&[u8]> for OctetsObject {
    fn from(octets: &[u8]) -> Self {
        Self(octets.iter().map(|octet| format!("{octet:02x}")).collect())
    }
}

impl Serialize for OctetsObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The body of an `RDMA2_ERROR`.
#[derive(Serialize)]
pub(super) struct ErrorObjectV2 {
    code: Type,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_chunks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_segments: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk_index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length_needed: Option<u32>,
}

impl ErrorObjectV2 {
    pub(super) fn new(error: ErrorBodyV2) -> Self {
        let code = error.code();
        let mut object = Self {
            code: code.name().map_or(Type::Number(code.0), Type::Name),
            low: None,
            high: None,
            max_chunks: None,
            max_segments: None,
            chunk_index: None,
            length_needed: None,
        };
        match error {
            ErrorBodyV2::Vers { low, high } => (object.low, object.high) = (Some(low), Some(high)),
            ErrorBodyV2::ReadChunks { max_chunks } | ErrorBodyV2::WriteChunks { max_chunks } => {
                object.max_chunks = Some(max_chunks);
            }
            ErrorBodyV2::Segments { max_segments } => object.max_segments = Some(max_segments),
            ErrorBodyV2::WriteResource { chunk_index, length_needed } => {
                (object.chunk_index, object.length_needed) = (Some(chunk_index), Some(length_needed));
            }
            ErrorBodyV2::ReplyResource { length_needed } => object.length_needed = Some(length_needed),
            ErrorBodyV2::Void(_) => {}
        }
        object
    }
}
