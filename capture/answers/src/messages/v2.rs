//! The words that only a message of version 2 has.

use rpcrdma::v2::family_a::HeaderFlags;
use rpcrdma::v2::{self, Credit, Family, HeaderV2, Property, PropertySet, PropertyValue, ReverseDirection};
use rpcrdma_dissector::{Dialect, Dropped, Message};
use serde::Serialize;

use super::chunks::ReadObject;
use crate::record::values::{Hex32, HexOctets, NameObject, ShownObject};

/// Fields that only a message of version 2 has (draft-ietf-nfsv4-rpcrdma-version-two).
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct VersionTwoObject<'a> {
    /// The name of `rdma_htype`, or the number in digits.
    rdma_htype: NameObject,
    /// The wire format: `A` that of drafts -00 to -02, `B` that of -03 to -07. Null if unknown.
    family: Option<&'static str>,
    /// Content of `rdma_credit`.
    credit: Option<CreditsObject>,
    /// `rdma_flags`: names of the set flags, and unknown flags as a number. Null in family B.
    rdma_flags: Option<Vec<String>>,
    /// `rdma_remaining`: octets of the Payload stream that follow in other messages.
    rdma_remaining: Option<u32>,
    /// `rdma_inv_handle`: the handle that the responder may invalidate.
    rdma_inv_handle: Option<Hex32>,
    /// The Call chunk.
    call: Option<Vec<ReadObject>>,
    /// The transport properties.
    properties: Option<Vec<PropertyObject<'a>>>,
    /// Octets of the Payload stream in the messages before this one.
    earlier_octets: u64,
    /// Reason why the octets of the Payload stream before this message were dropped.
    dropped: Option<ShownObject<Dropped>>,
}

impl<'a> VersionTwoObject<'a> {
    /// Returns the fields of a message with this header, if the header can be read; `None` if the message is of version 1.
    pub(crate) fn new(message: &Message, header: Option<HeaderV2<'a>>) -> Option<Self> {
        let family = match message.dialect {
            Dialect::Version1 => return None,
            Dialect::Version2(family) => Some(family),
            Dialect::Version2Unknown => None,
        };
        let prefix = message.prefix();
        let (rdma_flags, rdma_remaining) = match header {
            Some(HeaderV2::A(header)) => (Some(flag_names(header.flags)), None),
            Some(HeaderV2::B(header)) => (None, header.remaining()),
            None => (None, None),
        };
        Some(Self {
            rdma_htype: NameObject { name: message.type_name(), number: prefix.map_or(0, |prefix| prefix.procedure.0) },
            family: family.map(|family| match family {
                Family::A => "A",
                Family::B => "B",
            }),
            credit: prefix.map(|prefix| CreditsObject::new(Credit(prefix.credit), family)),
            rdma_flags,
            rdma_remaining,
            rdma_inv_handle: header.and_then(|header| header.inv_handle()).map(Hex32),
            call: header.and_then(|header| header.call_chunk()).map(ReadObject::list_chunks),
            properties: header.and_then(|header| header.properties()).map(PropertyObject::list_properties),
            earlier_octets: message.earlier_length(),
            dropped: message.dropped.map(ShownObject),
        })
    }
}

/// The two halves of `rdma_credit` (draft -01, "Credits").
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CreditsObject {
    /// Credits granted.
    granted: u16,
    /// The most credits that may be asked for.
    maximum: u16,
    /// The word as drafts -06 and -07 read the word, if one of the two may be in use: nothing shows which of the two is
    /// right.
    limit: Option<u32>,
}

impl CreditsObject {
    fn new(credit: Credit, family: Option<Family>) -> Self {
        let limit = (family != Some(Family::A)).then(|| credit.limit());
        Self { granted: credit.granted(), maximum: credit.maximum(), limit }
    }
}

fn flag_names(flags: HeaderFlags) -> Vec<String> {
    let named = flags.iter_names().map(|(name, _)| name.to_owned());
    let rest = flags.difference(HeaderFlags::RESPONSE | HeaderFlags::MORE | HeaderFlags::TPMORE);
    named.chain((!rest.is_empty()).then(|| format!("{:#010x}", rest.bits()))).collect()
}

/// A transport property. If number and octets are both null, the property has the default value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PropertyObject<'a> {
    /// Number of the property.
    id: u32,
    /// Name of the property, if the number has one.
    name: Option<&'static str>,
    /// Value of the property, if the value is a number.
    number: Option<u32>,
    /// Name of the value, if the number has one.
    meaning: Option<&'static str>,
    /// Value in hexadecimal digits, if the value is not a number.
    octets: Option<HexOctets<'a>>,
}

impl<'a> PropertyObject<'a> {
    fn list_properties(properties: PropertySet<'a>) -> Vec<Self> {
        properties.iter().map(Self::new).collect()
    }

    fn new(property: Property<'a>) -> Self {
        let (number, octets) = match property.value {
            PropertyValue::Default => (None, None),
            PropertyValue::Uint32(value) => (Some(value), None),
            PropertyValue::Opaque(octets) | PropertyValue::Unknown(octets) => (None, Some(HexOctets(octets))),
        };
        let is_reverse = property.id == v2::PropertyId::BRS;
        let meaning = number.filter(|_| is_reverse).and_then(|number| ReverseDirection(number).name());
        Self { id: property.id.0, name: property.id.name(), number, meaning, octets }
    }
}
