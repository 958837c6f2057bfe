//! The Reply to a Call whose arguments cannot be assembled: an RPC Reply with `GARBAGE_ARGS` (RFC 8166 section 4.5.2;
//! version two draft -07 section 7.2).

use super::reply::AnyReplyHeader;
use crate::error::EncodeError;
use crate::rpc::{AcceptStatus, Auth, ReplyBody, RpcReply};

/// The header, and the RPC Reply that follows.
#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) struct GarbageReply<'a> {
    header: AnyReplyHeader<'a>,
    reply: RpcReply<'static>,
}

impl<'a> GarbageReply<'a> {
    /// Creates the Reply to the Call with this XID.
    pub(in crate::endpoint) const fn new(header: AnyReplyHeader<'a>, xid: u32) -> Self {
        let (verifier, status) = (Auth::NONE, AcceptStatus::GARBAGE_ARGS);
        Self { header, reply: RpcReply { xid, body: ReplyBody::Accepted { verifier, status, mismatch: None } } }
    }

    pub(in crate::endpoint) fn encoded_len(&self) -> usize {
        self.header.encoded_len().saturating_add(self.reply.encoded_len())
    }

    #[cold]
    pub(in crate::endpoint) fn encode(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let needed = self.encoded_len();
        let missing = needed.saturating_sub(buffer.len());
        if missing > 0 {
            return Err(EncodeError { needed, missing });
        }
        let length = self.header.encode(buffer)?;
        self.reply.encode(buffer.get_mut(length..).unwrap_or_default())?;
        Ok(needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Version;
    use crate::lists::Chunks;

    /// Four words and three empty lists, and a reply of six words.
    #[test]
    fn a_short_buffer_reports_the_missing_octets() {
        let reply = GarbageReply::new(AnyReplyHeader::new(Version::One, 7, 1, &Chunks::default()), 7);
        let mut buffer = [0xa5; 52];
        for length in 0..52 {
            let error = EncodeError { needed: 52, missing: 52 - length };
            assert_eq!(reply.encode(&mut buffer[..length]), Err(error));
        }
        assert_eq!(reply.encode(&mut buffer), Ok(52));
    }
}
