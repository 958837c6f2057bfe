//! The octets of chunks, and how they are put back where they belong in a Payload stream.

use rpcrdma::reader::padding;

use crate::rpc::not_rebuilt::NotRebuilt;

/// The octets of a chunk, or why they are not known.
pub(super) type Chunk = Result<Vec<u8>, NotRebuilt>;

/// Puts reduced data items back where they belong, each followed by the XDR padding that it needs.
pub(super) fn insert<'a>(reduced: &[u8], chunks: impl Iterator<Item = (u32, &'a [u8])>) -> Result<Vec<u8>, NotRebuilt> {
    let mut octets = Vec::new();
    let mut rest = reduced;
    for (position, data) in chunks {
        let before = (position as usize).checked_sub(octets.len()).ok_or(NotRebuilt::Position(position))?;
        let (head, tail) = rest.split_at_checked(before).ok_or(NotRebuilt::Position(position))?;
        octets.extend_from_slice(head);
        octets.extend_from_slice(data);
        // A Requester may have put the padding into the chunk (section 3.4.5.2): then the length is a multiple of four.
        octets.resize(octets.len() + padding(data.len()), 0);
        rest = tail;
    }
    octets.extend_from_slice(rest);
    Ok(octets)
}
