//! A header of either wire format, for programs that handle both.

use core::fmt;

use super::{Credit, ErrorBodyV2, Family, PropertySet, family_a, family_b};
use crate::error::{DecodeError, EncodeError};
use crate::lists::{Chunks, ReadList};
use crate::message::DecodedSend;
use crate::prefix::Prefix;

/// The transport header of one message, of either family.
///
/// ```
/// use rpcrdma::v2::{Family, HeaderV2};
///
/// // A grant of 16 credits: RDMA2_GRANT, and an RDMA2_NOMSG without chunks.
/// let b = [0, 0, 0, 0, 0, 0, 0, 2, 0, 0x80, 0, 16, 0, 0, 0, 5];
/// let mut a = [0; 36];
/// a[..16].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 2, 0, 0x80, 0, 16, 0, 0, 0, 1]);
/// for (family, octets) in [(Family::A, &a[..]), (Family::B, &b[..])] {
///     let (header, _) = HeaderV2::decode(family, octets)?;
///     assert!(header.is_grant());
///     assert_eq!(header.credit().granted(), 16);
/// }
/// # Ok::<(), rpcrdma::error::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderV2<'a> {
    /// Of drafts -00 to -02.
    A(family_a::Header<'a>),
    /// Of drafts -03 to -07.
    B(family_b::Header<'a>),
}

impl<'a> HeaderV2<'a> {
    /// Reads the header of a Send in the wire format of `family` and returns the header and the octets that follow.
    ///
    /// # Errors
    /// A [`DecodeError`] if the octets are not a header of this format.
    pub fn decode(family: Family, octets: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        match family {
            Family::A => family_a::Header::decode(octets).map(|(header, rest)| (Self::A(header), rest)),
            Family::B => family_b::Header::decode(octets).map(|(header, rest)| (Self::B(header), rest)),
        }
    }

    /// Returns the wire format.
    #[must_use]
    pub const fn family(&self) -> Family {
        match self {
            Self::A(_) => Family::A,
            Self::B(_) => Family::B,
        }
    }

    /// Returns `rdma_xid`; 0 in a grant.
    #[must_use]
    pub const fn xid(&self) -> u32 {
        match self {
            Self::A(header) => header.xid,
            Self::B(header) => header.xid,
        }
    }

    /// Returns `rdma_credit`.
    #[must_use]
    pub const fn credit(&self) -> Credit {
        match self {
            Self::A(header) => header.credit,
            Self::B(header) => header.credit,
        }
    }

    /// Returns the name of `rdma_htype`.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        let name = match self {
            Self::A(header) => header.header_type().name(),
            Self::B(header) => header.header_type().name(),
        };
        // Whatever was decoded or built has one of the known types.
        match name {
            Some(name) => name,
            None => "",
        }
    }

    /// Returns the four words the header begins with.
    #[must_use]
    pub const fn prefix(&self) -> Prefix {
        match self {
            Self::A(header) => header.prefix(),
            Self::B(header) => header.prefix(),
        }
    }

    /// Returns the chunks; `None` for a header type without chunk lists. Lists that this header type lacks are empty.
    #[must_use]
    pub const fn chunks(&self) -> Option<Chunks<'a>> {
        match self {
            Self::A(header) => header.chunks(),
            Self::B(header) => header.chunks(),
        }
    }

    /// Returns the Call chunk of family B's `RDMA2_CALL_EXTERNAL`. Family A has the Call chunk in the Read list, at
    /// Position 0.
    #[must_use]
    pub const fn call_chunk(&self) -> Option<ReadList<'a>> {
        match self {
            Self::A(_) => None,
            Self::B(header) => header.call_chunk(),
        }
    }

    /// Returns `rdma_inv_handle`; `None` for a header type without that field.
    #[must_use]
    pub const fn inv_handle(&self) -> Option<u32> {
        match self {
            Self::A(header) => header.inv_handle(),
            Self::B(header) => header.inv_handle(),
        }
    }

    /// Returns the error of an `RDMA2_ERROR`.
    #[must_use]
    pub const fn error(&self) -> Option<ErrorBodyV2> {
        match self {
            Self::A(family_a::Header { body: family_a::Body::Error(error), .. })
            | Self::B(family_b::Header { body: family_b::Body::Error(error), .. }) => Some(*error),
            _ => None,
        }
    }

    /// Returns the transport properties; `None` for a header type without properties.
    #[must_use]
    pub const fn properties(&self) -> Option<PropertySet<'a>> {
        match self {
            Self::A(family_a::Header { body: family_a::Body::Connprop(properties), .. }) => Some(*properties),
            Self::B(family_b::Header { body, .. }) => match body {
                family_b::Body::ConnpropMiddle(properties) | family_b::Body::ConnpropFinal(properties) => {
                    Some(*properties)
                }
                _ => None,
            },
            Self::A(_) => None,
        }
    }

    /// Returns true if this header only grants credits; see [`family_a::Header::is_grant`].
    #[must_use]
    pub const fn is_grant(&self) -> bool {
        match self {
            Self::A(header) => header.is_grant(),
            Self::B(header) => matches!(header.body, family_b::Body::Grant),
        }
    }

    /// Returns true if the Payload stream, or a part of the stream, follows this header.
    #[must_use]
    pub const fn has_payload(&self) -> bool {
        match self {
            Self::A(header) => matches!(header.body, family_a::Body::Msg(_)),
            Self::B(header) => matches!(
                header.body,
                family_b::Body::CallMiddle { .. }
                    | family_b::Body::CallInline(_)
                    | family_b::Body::ReplyMiddle { .. }
                    | family_b::Body::ReplyInline { .. }
            ),
        }
    }

    /// Returns true if the XID is that of one of the receiver's own Calls, as in Replies and errors. `None` if the
    /// header does not show the direction.
    #[must_use]
    pub const fn is_response(&self) -> Option<bool> {
        match self {
            Self::A(header) => Some(header.flags.contains(family_a::HeaderFlags::RESPONSE)),
            Self::B(header) => match header.body {
                family_b::Body::CallExternal(_) | family_b::Body::CallMiddle { .. } | family_b::Body::CallInline(_) => {
                    Some(false)
                }
                family_b::Body::ReplyExternal { .. }
                | family_b::Body::ReplyMiddle { .. }
                | family_b::Body::ReplyInline { .. }
                | family_b::Body::Error(_) => Some(true),
                family_b::Body::Grant | family_b::Body::ConnpropMiddle(_) | family_b::Body::ConnpropFinal(_) => None,
            },
        }
    }

    /// Octets the header has on the wire.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        match self {
            Self::A(header) => header.encoded_len(),
            Self::B(header) => header.encoded_len(),
        }
    }

    /// Writes the header at the start of `buffer` and returns the length in octets.
    ///
    /// # Errors
    /// An [`EncodeError`] if the header does not fit; `buffer` is then unchanged.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        match self {
            Self::A(header) => header.encode(buffer),
            Self::B(header) => header.encode(buffer),
        }
    }
}

impl fmt::Display for HeaderV2<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::A(header) => header.fmt(f),
            Self::B(header) => header.fmt(f),
        }
    }
}

/// One Send of either format. The Payload stream, or a part of one, follows the header if [`HeaderV2::has_payload`].
pub type MessageV2<'a> = DecodedSend<'a, HeaderV2<'a>>;

impl<'a> MessageV2<'a> {
    /// Reads one Send in the wire format of `family`.
    ///
    /// # Errors
    /// A [`DecodeError`] if the octets do not begin with a header of this format.
    pub fn decode(family: Family, octets: &'a [u8]) -> Result<Self, DecodeError> {
        let (header, payload) = HeaderV2::decode(family, octets)?;
        Ok(Self::new(octets, header, payload))
    }
}
