//! Puts a defect into a reply.

use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma::segment::{ReadSegment, Segment};
use rpcrdma::v1::{Body, Header, Message};
use rpcrdma_verbs::Operation;

use super::defect::{HeaderFault, ReplyFault};
use super::reply::BadReply;
use crate::probe::octets;

/// A handle that is invalid, as far as anybody can know.
const FOREIGN: Segment = Segment { handle: 0x0bad_0001, length: 64, offset: 0x1000 };

/// Returns true if this call can have a reply with that fault.
pub(super) fn fits(fault: ReplyFault, call: &[u8], private_data: &[u8]) -> bool {
    match fault {
        ReplyFault::SegmentCount | ReplyFault::LengthBeyond | ReplyFault::LateWrite => offered(call).is_some(),
        ReplyFault::InvalidateUnannounced => {
            let announced = PrivateData::find(private_data);
            let announces = announced.is_some_and(|data| data.flags.contains(Flags::REMOTE_INVALIDATION));
            !announces && offered(call).is_some()
        }
        _ => true,
    }
}

/// The first segment that a call offers for results.
pub(super) fn offered(call: &[u8]) -> Option<Segment> {
    let chunks = Message::decode(call).ok()?.header.chunks()?;
    let mut all = chunks.writes.iter().chain(chunks.reply);
    all.find_map(|chunk| chunk.iter().find(|segment| segment.length > 0))
}

/// Returns the octets of the reply with the fault. `None` if this reply cannot have the fault.
pub(super) fn spoil(fault: ReplyFault, reply: &BadReply) -> Option<Vec<u8>> {
    let mut send = reply.send.clone();
    match fault {
        ReplyFault::Grant(credits) => send.get_mut(8..12)?.copy_from_slice(&credits.to_be_bytes()),
        ReplyFault::Header(fault) => header(fault, reply.header, &mut send)?,
        ReplyFault::WrongXid => {
            let other = other_xid(&send)?;
            write_word(&mut send, 0, other)?;
            if send.len() > reply.header {
                write_word(&mut send, reply.header, other)?;
            }
        }
        ReplyFault::XidMismatch => {
            let other = other_xid(&send)?;
            write_word(&mut send, reply.header, other)?;
        }
        ReplyFault::ReadList => {
            let entry = [ReadSegment { position: 4, target: FOREIGN }.to_entry()];
            return with_chunks(reply, |chunks| Chunks { reads: ReadList::new(&entry), ..chunks });
        }
        ReplyFault::SegmentCount => {
            return with_segments(reply, |segments| {
                if segments.len() > 1 {
                    segments.pop();
                } else {
                    segments.push(FOREIGN.to_octets());
                }
            });
        }
        ReplyFault::LengthBeyond => {
            return with_segments(reply, |segments| {
                if let Some(last) = segments.last_mut() {
                    let Segment { handle, offset, .. } = Segment::from_octets(last);
                    *last = Segment { handle, length: 0x7fff_fffc, offset }.to_octets();
                }
            });
        }
        _ => {}
    }
    Some(send)
}

/// Puts the fault into a header of this length, which begins with `rdma_xid`, `rdma_vers` and `rdma_credit`.
fn header(fault: HeaderFault, length: usize, send: &mut Vec<u8>) -> Option<()> {
    let rest: &[u32] = match fault {
        HeaderFault::Version => return write_word(send, 4, 3),
        HeaderFault::Procedure => return write_word(send, 12, 9),
        HeaderFault::ListFlag => return write_word(send, 16, 2),
        HeaderFault::NoPayload => return cut(send, length),
        HeaderFault::NomsgEmpty => return cut(send, length).and_then(|()| write_word(send, 12, 1)),
        HeaderFault::Short => &[0, 0, 0],
        // No Read list, and a Write chunk of one segment, which is missing: 28 octets, so that the XID counts.
        HeaderFault::CutLists => &[0, 0, 1, 1],
        HeaderFault::ErrChunk => &[4, 2],
        // 28 octets, as above.
        HeaderFault::UnknownError => &[4, 9, 0, 0],
    };
    send.truncate(12);
    send.extend(octets(rest));
    Some(())
}

/// Leaves the header alone; `None` if nothing follows the header.
fn cut(send: &mut Vec<u8>, header: usize) -> Option<()> {
    (send.len() > header).then(|| send.truncate(header))
}

fn other_xid(send: &[u8]) -> Option<u32> {
    send.first_chunk().map(|xid| !u32::from_be_bytes(*xid))
}

/// Writes a word; `None` if the octets end before that word.
fn write_word(send: &mut [u8], at: usize, word: u32) -> Option<()> {
    *send.get_mut(at..)?.first_chunk_mut()? = word.to_be_bytes();
    Some(())
}

/// Returns the operation that sends the reply.
pub(super) fn operation(fault: ReplyFault, call: &[u8]) -> Operation {
    match (fault, offered(call)) {
        (ReplyFault::InvalidateUnknown, _) => Operation::SendWithInvalidate(FOREIGN.handle),
        (ReplyFault::InvalidateUnannounced, Some(segment)) => Operation::SendWithInvalidate(segment.handle),
        _ => Operation::Send,
    }
}

/// The reply with other chunk lists.
fn with_chunks<'a>(reply: &'a BadReply, change: impl FnOnce(Chunks<'a>) -> Chunks<'a>) -> Option<Vec<u8>> {
    let message = Message::decode(&reply.send).ok()?;
    let body = match message.header.body {
        Body::Msg(chunks) => Body::Msg(change(chunks)),
        Body::Nomsg(chunks) => Body::Nomsg(change(chunks)),
        _ => return None,
    };
    let header = Header { body, ..message.header };
    let mut send = vec![0; header.encoded_len()];
    header.encode(&mut send).ok()?;
    send.extend(reply.send.get(reply.header..)?);
    Some(send)
}

/// Returns the reply with other segments in the first Write chunk, or else in the Reply chunk.
fn with_segments(reply: &BadReply, change: impl FnOnce(&mut Vec<[u8; Segment::LEN]>)) -> Option<Vec<u8>> {
    let message = Message::decode(&reply.send).ok()?;
    let chunks = message.header.chunks()?;
    let mut writes: Vec<WriteChunk<'_>> = chunks.writes.iter().collect();
    let first = writes.iter().position(|chunk| !chunk.is_empty());
    let chunk = first.and_then(|first| writes.get(first).copied()).or(chunks.reply)?;
    let mut segments = chunk.segments().to_vec();
    change(&mut segments);
    let changed = WriteChunk::new(&segments);
    let long = match first.and_then(|first| writes.get_mut(first)) {
        Some(place) => {
            *place = changed;
            chunks.reply
        }
        None => Some(changed),
    };
    with_chunks(reply, |chunks| Chunks { writes: WriteList::from_chunks(&writes), reply: long, reads: chunks.reads })
}
