//! Data items of messages, which RDMA moves apart from the rest.

use std::ops::Range;

use rpcrdma::rpc::RpcReply;
use rpcrdma_dissector::nfs::{self, Procedure, Reduced, Walk};
use rpcrdma_verbs::{Call, Stream};

/// The data items of a message that may be reduced (RFC 8267). Of a body that is not understood, nothing is reduced.
pub(crate) fn places(walk: &Walk, before: usize) -> Vec<Range<usize>> {
    let items = walk.items.iter().filter(|_| walk.end.is_ok());
    items.map(|item| before + item.inline_at..before + item.inline_at + item.length as usize).collect()
}

/// Puts a message into a stream. The first data item stays where it is; others, which clients hardly send, are not reduced.
pub(crate) fn put(stream: &mut Stream, message: Vec<u8>, items: &[Range<usize>]) {
    let Some(first) = items.first().cloned() else { return stream.push(&message) };
    let behind = message.get(first.start + first.len().next_multiple_of(4)..).unwrap_or_default().to_vec();
    stream.push(message.get(..first.start).unwrap_or_default());
    // `nfs` has found the item within the message.
    let _placed = stream.push_part(message, first);
    stream.push(&behind);
}

/// A reply whose data came apart from it, as parts of the whole.
pub(crate) fn whole(mut call: Call, procedure: Procedure) -> Vec<Vec<u8>> {
    let lengths: Vec<_> = (0..call.rooms().len()).map(|number| call.result(number).len()).collect();
    let chunks: Vec<_> = lengths.iter().map(|length| *length as u64).collect();
    let reply = call.reply().to_vec();
    let Ok((_, results)) = RpcReply::decode(&reply) else { return vec![reply] };
    let (mut parts, mut at) = (Vec::new(), 0);
    for item in nfs::results(procedure, false, results, Reduced::Reply(&chunks)).items {
        let Some(room) = item.chunk.and_then(|number| call.rooms().get_mut(number)) else { continue };
        let mut data = std::mem::take(room);
        data.truncate(item.length as usize);
        data.resize(data.len().next_multiple_of(4), 0);
        let place = reply.len() - results.len() + item.inline_at;
        parts.extend([reply.get(at..place).unwrap_or_default().to_vec(), data]);
        at = place;
    }
    parts.push(reply.get(at..).unwrap_or_default().to_vec());
    parts
}
