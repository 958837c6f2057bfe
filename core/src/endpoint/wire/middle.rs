//! The header of a part of a continued message, other than the last: version two draft -01, "RDMA2_F_MORE Flag"; -07
//! sections 6.3.6 and 6.3.9. The last part has the header of a message of one Send.

use crate::rpc::MessageType;
use crate::v2::family_a::{self, HeaderFlags};
use crate::v2::{ChunkLists, Credit, Family, HeaderV2, family_b};

/// Returns the header of a part of the Call or Reply `of` this XID, after which `remaining` octets of the Payload
/// stream follow in other parts. (The drafts do not say whether the octets of the part itself count; see
/// `v2/README.md`.)
pub(in crate::endpoint) fn middle_header(
    family: Family,
    xid: u32,
    of: MessageType,
    remaining: u32,
) -> HeaderV2<'static> {
    let (credit, is_reply) = (Credit(0), of == MessageType::REPLY);
    match family {
        Family::A => {
            let flags = if is_reply { HeaderFlags::MORE | HeaderFlags::RESPONSE } else { HeaderFlags::MORE };
            HeaderV2::A(family_a::Header { xid, credit, flags, body: family_a::Body::Msg(ChunkLists::default()) })
        }
        Family::B => {
            let body = if is_reply {
                family_b::Body::ReplyMiddle { remaining }
            } else {
                family_b::Body::CallMiddle { remaining }
            };
            HeaderV2::B(family_b::Header { xid, credit, body })
        }
    }
}
