//! Octets of chunks, and their insertion into a Payload stream.

use rpcrdma::reader::padding;

use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::pieces::Pieces;

/// The octets of a chunk, or the reason why the octets are not known.
pub(super) type Chunk = Result<Pieces, NotRebuilt>;

/// Inserts reduced data items at their positions, each followed by the required XDR padding.
pub(super) fn insert(reduced: &[u8], chunks: impl Iterator<Item = (u32, Pieces)>) -> Chunk {
    let mut whole = Pieces::default();
    let (mut rest, mut between) = (reduced, Vec::new());
    for (position, data) in chunks {
        let reached = whole.len() + between.len();
        let before = (position as usize).checked_sub(reached).ok_or(NotRebuilt::Position(position))?;
        let (head, tail) = rest.split_at_checked(before).ok_or(NotRebuilt::Position(position))?;
        between.extend_from_slice(head);
        whole.push(between);
        // A Requester may have put the padding into the chunk (section 3.4.5.2): then the length is a multiple of four.
        between = vec![0; padding(data.len())];
        whole.append(data);
        rest = tail;
    }
    between.extend_from_slice(rest);
    whole.push(between);
    Ok(whole)
}
