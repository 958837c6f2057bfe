//! Which way an RPC goes, on a connection that is used both ways (RFC 8167 section 5).

use crate::lists::Chunks;
use crate::rpc::MessageType;
use crate::v1::{Body, Header};

/// Who on this end of the connection a Send is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The Requester: a Reply, or an `RDMA_ERROR`.
    Reply,
    /// The Responder: a Call, or `RDMA_DONE`.
    Call,
    /// It cannot be told. Its credits are to be ignored (section 4.1), so it goes to the Responder, which answers what
    /// is wrong with it and takes no grant.
    Unknown,
}

impl Direction {
    /// Looks at a Send, as far as needed.
    #[must_use]
    pub fn of(octets: &[u8]) -> Self {
        let Ok((header, payload)) = Header::decode(octets) else { return Self::Unknown };
        match header.body {
            Body::Error(_) => Self::Reply,
            Body::Done => Self::Call,
            Body::Nomsg(Chunks { reads, .. }) if !reads.is_empty() => Self::Call,
            Body::Nomsg(Chunks { reply: Some(_), .. }) => Self::Reply,
            _ => match MessageType::peek(payload) {
                Some((_, MessageType::CALL)) => Self::Call,
                Some((_, MessageType::REPLY)) => Self::Reply,
                _ => Self::Unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_type_tells() {
        let mut send = [0; 36];
        send[7] = 1;
        assert_eq!(Direction::of(&send), Direction::Call);
        send[35] = 1;
        assert_eq!(Direction::of(&send), Direction::Reply);
        send[35] = 2;
        assert_eq!(Direction::of(&send), Direction::Unknown);
        assert_eq!(Direction::of(&send[..30]), Direction::Unknown);
        assert_eq!(Direction::of(&[0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 2]), Direction::Reply);
    }
}
