//! What parses and is still not to be processed (version two draft -02, "Basic Transport Stream Parsing Errors"; -07
//! sections 6.3 and 6.6).
//!
//! Each is found in one header alone. What is wrong between messages is found by [`Continuation`](super::Continuation).

use core::fmt;

use super::{ErrorCode, Header, Reaction, family_a, family_b};
use crate::error::Role;
use crate::lists::{Chunks, ReadList};

/// Why a header that parses is not to be processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A Position that is no multiple of 4, or smaller than the one before it. (Segments of one chunk share theirs.)
    Positions,
    /// A chunk at Position 0 in a message whose Payload stream is somewhere else.
    PositionZero,
    /// A Call whose Payload stream is to be in a chunk, without that chunk: no Position 0 in family A, no Call chunk, or one
    /// with other Positions, in family B.
    NoCallChunk,
    /// A Reply whose Payload stream is to be in the Reply chunk, without one.
    NoReplyChunk,
    /// A Reply whose Payload stream is inline, with a Reply chunk.
    ReplyChunk,
    /// A Reply with a Read list.
    ReadList,
    /// An `RDMA2_NOMSG` without chunks that has an XID, and so is no grant of credits.
    NoChunks,
}

impl Header<'_> {
    /// What is wrong with this header, if anything. Where more than one thing is, the first in the order of [`Fault`].
    ///
    /// Family A is judged by the rules of draft -02; -00 and -01 have fewer.
    ///
    /// ```
    /// use rpcrdma::error::Role;
    /// use rpcrdma::v2::{ErrorCode, Family, Fault, Header, Reaction};
    ///
    /// // RDMA2_REPLY_EXTERNAL without the Reply chunk it is about.
    /// let send = [0, 0, 0, 9, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0];
    /// let (header, _) = Header::decode(Family::B, &send)?;
    /// assert_eq!(header.fault(), Some(Fault::NoReplyChunk));
    /// assert_eq!(Fault::NoReplyChunk.reaction(Role::Requester), Reaction::Discard);
    /// # Ok::<(), rpcrdma::error::DecodeError>(())
    /// ```
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        let chunks = self.chunks()?;
        if !are_in_order(chunks.reads) {
            return Some(Fault::Positions);
        }
        match self {
            Self::A(header) => fault_a(header, &chunks),
            Self::B(header) => fault_b(header, &chunks),
        }
    }
}

fn fault_a(header: &family_a::Header<'_>, chunks: &Chunks<'_>) -> Option<Fault> {
    let is_reply = header.flags.contains(family_a::Flags::RESPONSE);
    let is_inline = matches!(header.body, family_a::Body::Msg(_));
    if header.is_grant() {
        None
    } else if !is_inline && chunks.is_empty() {
        Some(Fault::NoChunks)
    } else if is_reply {
        match (is_inline, chunks.reply) {
            (false, None) => Some(Fault::NoReplyChunk),
            (true, Some(_)) => Some(Fault::ReplyChunk),
            _ => (!chunks.reads.is_empty()).then_some(Fault::ReadList),
        }
    } else {
        match (is_inline, chunks.reads.is_empty(), has_position_zero(chunks.reads)) {
            (true, _, true) => Some(Fault::PositionZero),
            (false, false, false) => Some(Fault::NoCallChunk),
            _ => None,
        }
    }
}

fn fault_b(header: &family_b::Header<'_>, chunks: &Chunks<'_>) -> Option<Fault> {
    if has_position_zero(chunks.reads) {
        return Some(Fault::PositionZero);
    }
    match header.body {
        family_b::Body::CallExternal(family_b::CallExternal { call, .. })
            if call.is_empty() || call.iter().any(|read| read.position != 0) =>
        {
            Some(Fault::NoCallChunk)
        }
        family_b::Body::ReplyExternal { reply: None, .. } => Some(Fault::NoReplyChunk),
        _ => None,
    }
}

fn has_position_zero(reads: ReadList<'_>) -> bool {
    reads.iter().any(|read| read.position == 0)
}

fn are_in_order(reads: ReadList<'_>) -> bool {
    let positions = || reads.iter().map(|read| read.position);
    positions().all(|position| position.is_multiple_of(4)) && positions().is_sorted()
}

impl Fault {
    /// What the receiver has to do besides dropping the message: a Responder answers `BAD_XDR`, a Requester ends the RPC.
    #[must_use]
    pub const fn reaction(self, role: Role) -> Reaction {
        match role {
            Role::Responder => Reaction::Answer(ErrorCode::BAD_XDR),
            Role::Requester => Reaction::Discard,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Positions => "Positions that are no multiples of 4, or not in order",
            Self::PositionZero => "a chunk at Position 0 where the Payload stream is somewhere else",
            Self::NoCallChunk => "no chunk that holds the Call",
            Self::NoReplyChunk => "no chunk that holds the Reply",
            Self::ReplyChunk => "a Reply chunk where the Reply is inline",
            Self::ReadList => "a Read list in a Reply",
            Self::NoChunks => "no chunks at all, and not a grant of credits",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::{WriteChunk, WriteList};
    use crate::segment::{ReadSegment, Segment};
    use crate::v2::{ChunkLists, Credit};
    use std::vec::Vec;

    const ROOM: [[u8; 16]; 1] = [[0; 16]];

    fn with<T>(positions: &[u32], reply: bool, use_it: impl FnOnce(Chunks<'_>) -> T) -> T {
        let entry = |&position| ReadSegment { position, target: Segment::default() }.to_entry();
        let entries: Vec<_> = positions.iter().map(entry).collect();
        let reply = reply.then_some(WriteChunk::new(&ROOM));
        use_it(Chunks { reads: ReadList::new(&entries), writes: WriteList::EMPTY, reply })
    }

    fn a(flags: u32, is_inline: bool, xid: u32, positions: &[u32], reply: bool) -> Option<Fault> {
        with(positions, reply, |chunks| {
            let lists = ChunkLists { inv_handle: 0, chunks };
            let body = if is_inline { family_a::Body::Msg(lists) } else { family_a::Body::Nomsg(lists) };
            let flags = family_a::Flags::from_bits_retain(flags);
            Header::A(family_a::Header { xid, credit: Credit(1), flags, body }).fault()
        })
    }

    #[test]
    fn faults_of_family_a() {
        let (call, reply, msg, nomsg) = (0, 1, true, false);
        for (flags, is_inline, xid, positions, chunk, fault) in [
            (call, msg, 1, &[][..], true, None),
            (call, msg, 1, &[4, 4, 64], true, None),
            (call, msg, 1, &[4, 64, 8], false, Some(Fault::Positions)),
            (call, msg, 1, &[6], false, Some(Fault::Positions)),
            (call, msg, 1, &[0, 64], false, Some(Fault::PositionZero)),
            (call, nomsg, 1, &[0, 64], true, None),
            (call, nomsg, 1, &[64], true, Some(Fault::NoCallChunk)),
            (call, nomsg, 1, &[], false, Some(Fault::NoChunks)),
            (call, nomsg, 0, &[], false, None),
            (reply, nomsg, 1, &[], true, None),
            (reply, msg, 1, &[], false, None),
            (reply, msg, 1, &[], true, Some(Fault::ReplyChunk)),
            (reply, nomsg, 1, &[0], false, Some(Fault::NoReplyChunk)),
            (reply, msg, 1, &[64], false, Some(Fault::ReadList)),
        ] {
            assert_eq!(a(flags, is_inline, xid, positions, chunk), fault, "{flags} {is_inline} {positions:?} {chunk}");
        }
    }

    fn of(body: family_b::Body<'_>) -> Option<Fault> {
        Header::B(family_b::Header { xid: 1, credit: Credit(1), body }).fault()
    }

    fn b(call: Option<&[u32]>, positions: &[u32]) -> Option<Fault> {
        with(positions, false, |chunks| {
            let lists = ChunkLists { inv_handle: 0, chunks };
            match call {
                None => of(family_b::Body::CallInline(lists)),
                Some(call) => with(call, false, |call| {
                    let external = family_b::CallExternal { lists, call: call.reads };
                    of(family_b::Body::CallExternal(external))
                }),
            }
        })
    }

    #[test]
    fn faults_of_family_b() {
        assert_eq!(b(None, &[4, 8, 8]), None);
        assert_eq!(b(None, &[8, 4]), Some(Fault::Positions));
        assert_eq!(b(None, &[0]), Some(Fault::PositionZero));
        assert_eq!(b(Some(&[0, 0]), &[4]), None);
        assert_eq!(b(Some(&[]), &[4]), Some(Fault::NoCallChunk));
        assert_eq!(b(Some(&[0, 4]), &[]), Some(Fault::NoCallChunk));
        assert_eq!(b(Some(&[0]), &[0]), Some(Fault::PositionZero));
        let reply = |reply| of(family_b::Body::ReplyExternal { writes: WriteList::EMPTY, reply });
        assert_eq!(reply(None), Some(Fault::NoReplyChunk));
        assert_eq!(reply(Some(WriteChunk::new(&ROOM))), None);
    }

    #[test]
    fn only_a_responder_answers() {
        assert_eq!(Fault::Positions.reaction(Role::Responder), Reaction::Answer(ErrorCode::BAD_XDR));
        assert_eq!(Fault::Positions.reaction(Role::Requester), Reaction::Discard);
    }
}
