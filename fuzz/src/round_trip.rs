//! Decode then encode, and encode then decode.

use core::ops::Range;

use arbitrary::{Arbitrary, Unstructured};
use rpcrdma::lists::{Chunks, ReadList, WriteChunk};
use rpcrdma::private_data::PrivateData;
use rpcrdma::reader::padding;
use rpcrdma::rpc::{GssCredential, ReplyBody, RpcCall, RpcReply};
use rpcrdma::v1::{Body, ErrorBody, ErrorReply, Header, Message, ReplyError, ReplyHeader};

use crate::lists::ChosenLists;
use crate::oracle::encoded;
use crate::version_2;

/// For any octets: whatever decodes is encoded to the same octets. Then, with the octets as a source of choices: an
/// encoded header, or an encoded reply to its chunks, decodes to the same again.
///
/// # Panics
/// If the result differs, or too small a buffer is accepted.
pub fn round_trip(octets: &[u8]) {
    same_octets(octets);
    let mut choices = Unstructured::new(octets);
    if let Ok(chosen) = version_2::ChosenV2::arbitrary(&mut Unstructured::new(octets)) {
        chosen.same_header();
    }
    if let Ok(chosen) = Chosen::arbitrary(&mut choices) {
        chosen.with(|header, written| {
            same_header(header);
            if let Some(chunks) = header.chunks() {
                reply(&header, &chunks, written);
            }
        });
    }
}

fn same_octets(octets: &[u8]) {
    version_2::same_octets(octets);
    if let Ok(Message { header, header_length, payload }) = Message::decode(octets) {
        let again = encoded(header.encoded_len(), |buffer| header.encode(buffer));
        assert_eq!([&again, payload].concat(), octets, "header");
        assert_eq!(header_length, again.len());
        rpc(payload);
    }
    if let Ok((reply, rest)) = ErrorReply::decode(octets) {
        let again = encoded(reply.encoded_len(), |buffer| reply.encode(buffer));
        assert_eq!([&again, rest].concat(), octets, "RDMA_ERROR");
    }
    rpc(octets);
    if let Some(data) = PrivateData::find(octets) {
        let again = encoded(PrivateData::LEN, |buffer| data.encode(buffer));
        assert!(octets.windows(again.len()).any(|window| window == again), "private data");
    }
}

/// The octets of RPC headers are the same except for the padding, which is always written as zero.
fn rpc(octets: &[u8]) {
    if let Ok((call, rest)) = RpcCall::decode(octets) {
        let again = encoded(call.encoded_len(), |buffer| call.encode(buffer));
        let credential = padding_after(32, call.credential.body);
        let verifier = padding_after(credential.end + 8, call.verifier.body);
        assert_eq!([&again, rest].concat(), with_zeros(octets, [credential, verifier]), "Call");
    }
    if let Ok((reply, rest)) = RpcReply::decode(octets) {
        let again = encoded(reply.encoded_len(), |buffer| reply.encode(buffer));
        let zeros = match reply.body {
            ReplyBody::Accepted { verifier, .. } => padding_after(20, verifier.body),
            ReplyBody::Denied(_) => 0..0,
        };
        assert_eq!([&again, rest].concat(), with_zeros(octets, [zeros]), "Reply");
    }
    if let Ok(gss) = GssCredential::decode(octets) {
        let again = encoded(gss.encoded_len(), |buffer| gss.encode(buffer));
        assert!(with_zeros(octets, [padding_after(20, gss.handle)]).starts_with(&again), "RPCSEC_GSS");
    }
}

/// Returns the place of the padding of a body that begins at `start`.
fn padding_after(start: usize, body: &[u8]) -> Range<usize> {
    let end = start + body.len();
    end..end + padding(body.len())
}

fn with_zeros<const N: usize>(octets: &[u8], ranges: [Range<usize>; N]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    for range in ranges {
        octets.get_mut(range).unwrap_or_default().fill(0);
    }
    octets
}

/// A header, as chosen by the fuzzer. Segments are handle, length, offset.
#[derive(Arbitrary, Debug)]
struct Chosen {
    xid: u32,
    credit: u32,
    body: ChosenBody,
    lists: ChosenLists,
    /// Octets that a Responder is supposed to have written.
    written: Vec<u32>,
}

#[derive(Arbitrary, Debug)]
enum ChosenBody {
    Msg,
    Nomsg,
    Msgp(u32, u32),
    Done,
    ErrVers(u32, u32),
    ErrChunk,
}

impl Chosen {
    /// The header, and what the Responder is supposed to have written.
    fn with(&self, use_it: impl FnOnce(Header<'_>, &[u32])) {
        self.lists.with(|chunks| {
            let body = match self.body {
                ChosenBody::Msg => Body::Msg(chunks),
                ChosenBody::Nomsg => Body::Nomsg(chunks),
                ChosenBody::Msgp(align, thresh) => Body::Msgp { align, thresh, chunks },
                ChosenBody::Done => Body::Done,
                ChosenBody::ErrVers(low, high) => Body::Error(ErrorBody::Vers { low, high }),
                ChosenBody::ErrChunk => Body::Error(ErrorBody::Chunk),
            };
            use_it(Header { xid: self.xid, credit: self.credit, body }, &self.written);
        });
    }
}

fn same_header(header: Header<'_>) {
    let octets = encoded(header.encoded_len(), |buffer| header.encode(buffer));
    assert_eq!(Header::decode(&octets), Ok((header, &[][..])));
    for cut in (0..octets.len()).step_by(octets.len() / 256 + 1) {
        let cut = octets.get(..cut).unwrap_or_default();
        assert!(Header::decode(cut).is_err(), "{} of {} octets are no header", cut.len(), octets.len());
    }
}

/// The reply to a call with these chunks, into which as much was written as fits.
fn reply(header: &Header<'_>, chunks: &Chunks<'_>, written: &[u32]) {
    let room: Vec<u64> = chunks.writes.iter().map(|chunk| chunk.length()).collect();
    let written: Vec<u64> = written.iter().map(|length| u64::from(*length)).collect();
    let made = ReplyHeader::new(header.xid, header.credit, chunks).with_writes(&written);
    let wrong = (0..written.len()).find(|index| room.get(*index) < written.get(*index)).map(|index| {
        let (length, room) = (written.get(index).copied().unwrap_or_default(), room.get(index).copied());
        room.map_or(ReplyError::NoChunk, |capacity| ReplyError::ChunkTooSmall { length, capacity })
    });
    let made = match (made, wrong) {
        (Ok(made), None) => made,
        (made, wrong) => return assert_eq!(made.map(|_| ()).err(), wrong),
    };
    let long = chunks.reply.map(|chunk| chunk.length() / 2);
    assert_eq!(made.with_reply(0).is_err(), long.is_none());
    let made = long.and_then(|length| made.with_reply(length).ok()).unwrap_or(made);
    let octets = encoded(made.encoded_len(), |buffer| made.encode(buffer));
    let Ok((Header { xid, credit, body: Body::Msg(returned) | Body::Nomsg(returned) }, [])) = Header::decode(&octets)
    else {
        panic!("no reply: {octets:x?}");
    };
    assert_eq!((xid, credit, returned.reads), (header.xid, header.credit, ReadList::default()));
    assert_eq!(returned.writes.len(), chunks.writes.len());
    for (index, (given, back)) in chunks.writes.iter().zip(returned.writes).enumerate() {
        filled(given, back, written.get(index).copied().unwrap_or_default());
    }
    assert_eq!(returned.reply.is_some(), chunks.reply.is_some());
    if let (Some(given), Some(back)) = (chunks.reply, returned.reply) {
        filled(given, back, long.unwrap_or_default());
    }
}

/// Checks that the chunk comes back with the same handles and offsets, and filled from the front (RFC 8166 section
/// 3.4.6).
fn filled(given: WriteChunk<'_>, back: WriteChunk<'_>, length: u64) {
    assert_eq!((given.len(), back.length()), (back.len(), length));
    let mut left = length;
    for (given, back) in given.iter().zip(back) {
        assert_eq!((given.handle, given.offset), (back.handle, back.offset));
        assert_eq!(u64::from(back.length), left.min(u64::from(given.length)));
        left -= u64::from(back.length);
    }
}
