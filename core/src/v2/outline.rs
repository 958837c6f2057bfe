//! Meaning of the first words of a header, if the rest cannot be read or does not matter.

use super::{Family, family_a, family_b};
use crate::prefix::Prefix;

#[derive(Clone, Copy)]
pub(crate) struct Outline {
    pub(crate) xid: u32,
    /// True for a message to a Requester: a Reply, or in family B an error.
    pub(crate) is_reply: bool,
    /// True if more messages follow for the same RPC.
    pub(crate) more: bool,
}

impl Outline {
    /// Reads the first words of a header. `None` if `octets` is shorter. The version is not checked.
    pub(crate) fn read(family: Family, octets: &[u8]) -> Option<Self> {
        let prefix = Prefix::decode(octets).ok()?;
        let (is_reply, more) = match family {
            Family::A => {
                let flags = octets.get(Prefix::LEN..)?.first_chunk()?;
                let flags = family_a::HeaderFlags::from_bits_retain(u32::from_be_bytes(*flags));
                (flags.contains(family_a::HeaderFlags::RESPONSE), flags.contains(family_a::HeaderFlags::MORE))
            }
            Family::B => {
                use family_b::HeaderType;
                let of = HeaderType(prefix.procedure.0);
                let is_reply = of == HeaderType::RDMA2_ERROR
                    || (HeaderType::RDMA2_REPLY_EXTERNAL..=HeaderType::RDMA2_REPLY_INLINE).contains(&of);
                (is_reply, matches!(of, HeaderType::RDMA2_CALL_MIDDLE | HeaderType::RDMA2_REPLY_MIDDLE))
            }
        };
        Some(Self { xid: prefix.xid, is_reply, more })
    }
}
