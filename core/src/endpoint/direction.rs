//! Direction of an RPC, on a connection that is used both ways (RFC 8167 section 5).

use crate::prefix::Prefix;
use crate::rpc::MessageType;
use crate::v1::{Body, Header};

/// The endpoint that a Send is for, on this end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The Requester: a Reply, or an `RDMA_ERROR`.
    Reply,
    /// The Responder: a Call, or `RDMA_DONE`.
    Call,
}

impl Direction {
    /// Returns the direction of a Send, reading no further than needed.
    ///
    /// A damaged Send may not show the direction. Then `is_awaited` has to return true if this end has sent a Call with
    /// that XID that has no reply yet: [`Requester::awaits`](super::Requester::awaits). If so, the Send is taken for
    /// the Reply and dropped: answering a Reply with `RDMA_ERROR` could be mistaken for the answer to a Call of the
    /// other end with the same XID. Anything else is a Call, and is owed `ERR_CHUNK` (RFC 8166 section 4.5). Neither
    /// endpoint takes credits from a damaged Send (RFC 8167 section 4.1).
    #[must_use]
    pub fn detect(octets: &[u8], is_awaited: impl FnOnce(u32) -> bool) -> Self {
        Self::told(octets).unwrap_or_else(|| {
            let awaited = Prefix::decode(octets).is_ok_and(|prefix| is_awaited(prefix.xid));
            if awaited { Self::Reply } else { Self::Call }
        })
    }

    /// Returns the direction that the Send itself shows.
    fn told(octets: &[u8]) -> Option<Self> {
        let (header, payload) = Header::decode(octets).ok()?;
        match header.body {
            Body::Error(_) => Some(Self::Reply),
            Body::Done => Some(Self::Call),
            // A Long Call is in a Position Zero chunk. A Long Reply is in the Reply chunk, which a Call may have too.
            Body::Nomsg(chunks) => chunks.reads.iter().any(|read| read.position == 0).then_some(Self::Call),
            Body::Msg(_) | Body::Msgp { .. } => match MessageType::peek(payload)? {
                (_, MessageType::CALL) => Some(Self::Call),
                (_, MessageType::REPLY) => Some(Self::Reply),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// The direction if a reply to XID 7 is awaited, and if none is.
    fn both(words: &[u32]) -> [Direction; 2] {
        let octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        [Direction::detect(&octets, |xid| xid == 7), Direction::detect(&octets, |_| false)]
    }

    #[test]
    fn an_undamaged_send_shows_its_direction_whatever_is_awaited() {
        use Direction::{Call, Reply};
        for (why, words, expected) in [
            ("a Call", &[7, 1, 1, 0, 0, 0, 0, 7, 0][..], Call),
            ("a Reply", &[7, 1, 1, 0, 0, 0, 0, 7, 1], Reply),
            ("a Call with padding", &[7, 1, 1, 2, 4, 4, 0, 0, 0, 7, 0], Call),
            ("a Reply with another XID", &[7, 1, 1, 0, 0, 0, 0, 8, 1], Reply),
            ("an RDMA_ERROR", &[7, 1, 1, 4, 2], Reply),
            ("an RDMA_DONE", &[7, 1, 1, 3], Call),
            ("a Long Call", &[7, 1, 1, 1, 1, 0, 5, 40, 0, 0, 0, 0, 0], Call),
            ("a Long Call with room", &[7, 1, 1, 1, 1, 0, 5, 40, 0, 0, 0, 0, 1, 1, 6, 9, 0, 0], Call),
        ] {
            assert_eq!(both(words), [expected; 2], "{why}");
        }
    }

    #[test]
    fn an_ambiguous_send_is_a_reply_if_one_is_awaited() {
        for (why, words) in [
            ("a Long Reply, or a Call that is nowhere", &[7, 1, 1, 1, 0, 0, 1, 1, 6, 9, 0, 0][..]),
            ("no chunk at all", &[7, 1, 1, 1, 0, 0, 0]),
            ("a Read chunk, but not at Position Zero", &[7, 1, 1, 1, 1, 44, 5, 40, 0, 0, 0, 0, 0]),
            ("another version", &[7, 2, 1, 0, 0, 0, 0, 7, 0]),
            ("another procedure", &[7, 1, 1, 9, 0, 0, 0, 7, 1]),
            ("another message type", &[7, 1, 1, 0, 0, 0, 0, 7, 2]),
            ("no message", &[7, 1, 1, 0, 0, 0, 0]),
            ("a list that does not end", &[7, 1, 1, 0, 1, 0, 0]),
        ] {
            assert_eq!(both(words), [Direction::Reply, Direction::Call], "{why}");
        }
        assert_eq!(both(&[7, 1, 1]), [Direction::Call; 2], "the Responder drops what is that short");
    }
}
