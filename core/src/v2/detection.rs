//! Detection of a Send's wire format.
//!
//! ```text
//! rdma_htype   family A      family B             which is it?
//!  0, 1        MSG, NOMSG                         A
//!  4           ERROR         ERROR                the flags of A move all by a word: length and content say
//!  5           CONNPROP      GRANT                A has 24 octets or more, B 16
//!  6           GRANT (-02)   CONNPROP_MIDDLE      20 octets that end in 0 are either; otherwise B
//!  7 to 13                   CONNPROP_FINAL, ...  B
//! ```

use super::{ErrorBodyV2, Family, HeaderV2, MessageV2, VERSION, family_a, family_b};
use crate::prefix::Prefix;

impl Family {
    /// Returns the wire format of the sender, if one Send shows it.
    ///
    /// A family is possible if the octets are a header of that family. For header types that both families have, the
    /// octets also have to be something that the drafts let a sender send: nothing after a header without a Payload
    /// stream, a known error code, XID 0 in a grant, and in family A no flag without a meaning, `RDMA2_F_MORE` and
    /// `RDMA2_F_TPMORE` only where allowed, and `RDMA2_F_RESPONSE` in every error. If exactly one family is possible,
    /// returns that family. Likelihood plays no part.
    ///
    /// An `ERR_VERS` in the layout of family B shows nothing: version 1 has the same.
    ///
    /// ```
    /// use rpcrdma::v2::Family;
    ///
    /// // Header type 5 is RDMA2_GRANT, or RDMA2_CONNPROP.
    /// let prefix = [0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 0, 5];
    /// assert_eq!(Family::detect(&prefix), Some(Family::B));
    /// let mut connprop = [0; 24];
    /// connprop[..16].copy_from_slice(&prefix);
    /// assert_eq!(Family::detect(&connprop), Some(Family::A));
    /// // With type 6 and 20 octets: RDMA2_GRANT of draft -02, or an empty RDMA2_CONNPROP_MIDDLE.
    /// connprop[15] = 6;
    /// assert_eq!(Family::detect(&connprop[..20]), None);
    /// ```
    #[must_use]
    pub fn detect(octets: &[u8]) -> Option<Self> {
        if Prefix::decode(octets).ok()?.version != VERSION {
            return None;
        }
        match (Self::can_be_a(octets), Self::can_be_b(octets)) {
            (true, Some(false)) => Some(Self::A),
            (false, Some(true)) => Some(Self::B),
            _ => None,
        }
    }

    fn can_be_a(octets: &[u8]) -> bool {
        use family_a::{Body, HeaderFlags};
        let Ok(MessageV2 { header: HeaderV2::A(header), payload: rest, .. }) = MessageV2::decode(Self::A, octets)
        else {
            return false;
        };
        let flags = header.flags;
        match header.body {
            Body::Msg(_) | Body::Nomsg(_) => true,
            Body::Error(error) => rest.is_empty() && flags == HeaderFlags::RESPONSE && is_known(error),
            Body::Connprop(_) => {
                rest.is_empty() && (HeaderFlags::RESPONSE | HeaderFlags::MORE | HeaderFlags::TPMORE).contains(flags)
            }
            Body::Grant => rest.is_empty() && flags.is_empty() && header.xid == 0,
        }
    }

    /// Returns true if the octets can be of family B; `None` if the octets could also be version 1.
    fn can_be_b(octets: &[u8]) -> Option<bool> {
        use family_b::Body;
        let Ok(MessageV2 { header: HeaderV2::B(header), payload: rest, .. }) = MessageV2::decode(Self::B, octets)
        else {
            return Some(false);
        };
        match header.body {
            Body::Error(ErrorBodyV2::Vers { .. }) if rest.is_empty() => None,
            Body::Error(error) => Some(rest.is_empty() && is_known(error)),
            Body::Grant => Some(rest.is_empty() && header.xid == 0),
            Body::ConnpropMiddle(_) => Some(rest.is_empty()),
            _ => Some(true),
        }
    }
}

fn is_known(error: ErrorBodyV2) -> bool {
    error.code().name().is_some()
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn family_of(htype: u32, words: &[u32]) -> Option<Family> {
        let words = [0, VERSION, 0x0001_0001, htype].into_iter().chain(words.iter().copied());
        Family::detect(&words.flat_map(u32::to_be_bytes).collect::<Vec<u8>>())
    }

    #[test]
    fn an_error_is_told_by_its_length_and_content() {
        // Family A: RESPONSE, then the code.
        assert_eq!(family_of(4, &[1, 2]), Some(Family::A));
        assert_eq!(family_of(4, &[1, 1, 1, 1]), Some(Family::A));
        assert_eq!(family_of(4, &[1, 9, 1, 4096]), Some(Family::A));
        // Family B: the code.
        assert_eq!(family_of(4, &[2]), Some(Family::B));
        assert_eq!(family_of(4, &[8, 16]), Some(Family::B));
        assert_eq!(family_of(4, &[9, 0, 0]), Some(Family::B));
        // READ_CHUNKS, at most 2, of family A; or ERR_VERS of family B and of version 1, 6 to 2.
        assert_eq!(family_of(4, &[1, 6, 2]), None);
        assert_eq!(family_of(4, &[1, 1, 1]), None);
        // Codes and flags that no sender has.
        assert_eq!(family_of(4, &[77]), None);
        assert_eq!(family_of(4, &[0x11, 2]), None);
    }

    #[test]
    fn other_types_of_both_are_told_by_their_length() {
        assert_eq!(family_of(5, &[]), Some(Family::B));
        assert_eq!(family_of(5, &[0, 0]), Some(Family::A));
        assert_eq!(family_of(5, &[8, 0]), None);
        assert_eq!(family_of(6, &[0]), None);
        assert_eq!(family_of(6, &[1, 4, 0]), Some(Family::B));
        assert_eq!(family_of(7, &[0]), Some(Family::B));
        assert_eq!(family_of(14, &[0]), None);
    }
}
