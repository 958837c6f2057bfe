//! What a version 2 message has that one of version 1 does not.

use rpcrdma::v2::{
    self, Credit, ErrorBodyV2, Family, HeaderV2, PropertySet, PropertyValue, ReverseDirection, family_a,
};
use serde::{Serialize, Serializer};

use super::{Hex32, MessageObject, Reads, ShownObject};
use crate::rpc::header::Dialect;
use crate::rpc::message::Message;

impl<'a> MessageObject<'a> {
    /// Takes what a message of version 2 has, including its header, if that can be read.
    pub(super) fn take_v2(&mut self, message: &Message, header: Option<&HeaderV2<'a>>) {
        let family = match message.dialect {
            Dialect::Version1 => return,
            Dialect::Version2(family) => Some(family),
            Dialect::Version2Unknown => None,
        };
        self.v2_family = Some(family.map(|family| match family {
            Family::A => "A",
            Family::B => "B",
        }));
        self.credit = message.prefix().map(|prefix| CreditsObject::new(Credit(prefix.credit), family));
        let number = message.prefix().map_or(0, |prefix| prefix.procedure.0);
        self.rdma_htype = Some(message.type_name().map_or(Type::Number(number), Type::Name));
        self.earlier_length = Some(message.earlier_length()).filter(|length| *length > 0);
        self.dropped = message.dropped.map(ShownObject);
        let Some(header) = header else { return };
        self.rdma_inv_handle = header.inv_handle().map(Hex32);
        self.call = header.call_chunk().map(Reads);
        self.properties = header.properties().map(Properties);
        match header {
            HeaderV2::A(header) => self.rdma_flags = Some(FlagNames(header.flags)),
            HeaderV2::B(header) => self.rdma_remaining = header.remaining(),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Type {
    Name(&'static str),
    Number(u32),
}

/// The two halves of `rdma_credit` (version two draft -01, "Credits"). If drafts -06 and -07 may be in use, also the
/// word as they read it: nothing shows which of the two is right.
#[derive(Serialize)]
pub(super) struct CreditsObject {
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

pub(super) struct FlagNames(family_a::HeaderFlags);

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

pub(super) struct Properties<'a>(PropertySet<'a>);

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
