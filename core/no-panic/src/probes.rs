//! One probe for each part of the crate. Input and output are opaque in length and content.

use core::fmt::{self, Display, Write};
use core::hint::black_box;

use rpcrdma::error::{DecodeError, EncodeError, Reaction, Role};
use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::prefix::{Prefix, Procedure};
use rpcrdma::private_data::{Agreement, Flags, PrivateData};
use rpcrdma::reader::{Reader, padding};
use rpcrdma::rpc::{Auth, AuthSys, Call, Flavor, GssCredential, MessageType, Reply, RpcError};
use rpcrdma::segment::{ReadSegment, Segment};
use rpcrdma::v1::{ErrorReply, Header, Message, ReplyError, ReplyHeader};

/// Runs every probe.
pub fn all(input: &[u8], output: &mut [u8]) {
    reader(input);
    prefix(input);
    segments(input);
    decode(input);
    encode(input, output);
    made_lists(input, output);
    reply(input, output);
    error_reply(input, output);
    call(input, output);
    rpc_reply(input, output);
    credentials(input, output);
    private_data(input, output);
}

/// Keeps a value from being optimised away.
fn see<T>(value: T) {
    black_box(value);
}

/// Somewhere to format to.
struct Page(u8);

impl Write for Page {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        black_box(text);
        if black_box(self.0) == 1 { Err(fmt::Error) } else { Ok(()) }
    }
}

#[inline(never)]
fn show(value: &dyn Display) {
    see(write!(Page(0), "{value}"));
}

#[inline(never)]
fn reader(input: &[u8]) {
    let mut reader = Reader::new(input);
    let length = black_box(3_usize);
    see(reader.u32());
    see(reader.u64());
    see(reader.array::<12>());
    see(reader.take(length));
    see(reader.opaque_fixed(length));
    see(reader.opaque());
    see(reader.arrays::<16>(length));
    see((reader.offset(), reader.rest(), padding(length)));
}

#[inline(never)]
fn prefix(input: &[u8]) {
    let prefix = Prefix::decode(input);
    see(prefix);
    if let Ok(prefix) = prefix {
        show(&prefix);
        show(&prefix.procedure);
    }
    see(Procedure(black_box(7)).name());
}

#[inline(never)]
fn segments(input: &[u8]) {
    if let Some(octets) = input.first_chunk() {
        let segment = Segment::from_octets(octets);
        show(&segment);
        see(segment.to_octets());
    }
    if let Some(entry) = input.first_chunk() {
        let read = ReadSegment::from_entry(entry);
        show(&read);
        see(read.to_entry());
    }
}

#[inline(never)]
fn decode(input: &[u8]) {
    match Message::decode(input) {
        Ok(message) => {
            see((message.header_length, message.payload));
            see((message.header.procedure(), message.header.prefix()));
            show(&message.header);
            if let Some(chunks) = message.header.chunks() {
                lists(&chunks);
            }
        }
        Err(error) => decode_error(error),
    }
}

#[inline(never)]
fn decode_error(error: DecodeError) {
    show(&error);
    see((error.kind.name(), error.offset));
    for role in [Role::Requester, Role::Responder] {
        show(&role);
        show(&error.reaction(role));
    }
}

#[inline(never)]
fn lists(chunks: &Chunks<'_>) {
    see(chunks.is_empty());
    reads(chunks.reads);
    let writes = chunks.writes;
    see((writes.len(), writes.is_empty(), writes.get(black_box(2)), writes.iter().len(), writes == WriteList::EMPTY));
    for chunk in writes {
        write_chunk(chunk);
    }
    if let Some(chunk) = chunks.reply {
        write_chunk(chunk);
    }
}

#[inline(never)]
fn reads(list: ReadList<'_>) {
    see((list.len(), list.is_empty(), list.length(), list.get(black_box(3)), list.iter().len()));
    for read in list {
        see(read);
    }
    for read in list.iter().rev() {
        see(read);
    }
    for chunk in list.chunks() {
        see((chunk.position, chunk.segments.length()));
    }
}

#[inline(never)]
fn write_chunk(chunk: WriteChunk<'_>) {
    see((chunk.len(), chunk.is_empty(), chunk.length(), chunk.get(black_box(3)), chunk.iter().len()));
    for segment in chunk {
        see(segment);
    }
    for segment in chunk.iter().rev() {
        see(segment);
    }
    for segment in chunk.filled(black_box(1000)) {
        see(segment);
    }
}

#[inline(never)]
fn encode(input: &[u8], output: &mut [u8]) {
    if let Ok((header, _)) = Header::decode(input) {
        see(header.encoded_len());
        encoded(header.encode(output));
    }
}

#[inline(never)]
fn encoded(result: Result<usize, EncodeError>) {
    match result {
        Ok(length) => see(length),
        Err(error) => show(&error),
    }
}

#[inline(never)]
fn made_lists(input: &[u8], output: &mut [u8]) {
    let room = [WriteChunk::new(input.as_chunks().0), WriteChunk::default()];
    let room = room.get(..black_box(1)).unwrap_or_default();
    let chunks = Chunks {
        reads: ReadList::new(input.as_chunks().0),
        writes: WriteList::from_chunks(room),
        reply: room.first().copied(),
    };
    lists(&chunks);
    let header = Header { xid: 1, credit: 2, body: rpcrdma::v1::Body::Msg(chunks) };
    see(header.encoded_len());
    encoded(header.encode(output));
}

#[inline(never)]
fn reply(input: &[u8], output: &mut [u8]) {
    let Ok((call, _)) = Header::decode(input) else { return };
    let Some(provided) = call.chunks() else { return };
    let written = [black_box(5_u64), black_box(6)];
    let made = ReplyHeader::new(call.xid, call.credit, &provided)
        .with_writes(written.get(..black_box(1)).unwrap_or_default())
        .and_then(|reply| if black_box(false) { reply.with_reply(black_box(9)) } else { Ok(reply) });
    match made {
        Ok(reply) => {
            see((reply.procedure(), reply.encoded_len()));
            encoded(reply.encode(output));
        }
        Err(error) => reply_error(error),
    }
}

#[inline(never)]
fn reply_error(error: ReplyError) {
    show(&error);
}

#[inline(never)]
fn error_reply(input: &[u8], output: &mut [u8]) {
    let Ok(request) = Prefix::decode(input) else { return };
    for reaction in [Reaction::Discard, Reaction::ErrChunk, Reaction::ErrVers] {
        if let Some(reply) = ErrorReply::new(&request, black_box(4), reaction) {
            show(&reply.error());
            see((reply.encoded_len(), reply.error().name()));
            encoded(reply.encode(output));
        }
    }
}

#[inline(never)]
fn rpc_error(error: RpcError) {
    show(&error);
    see((error.kind.name(), error.offset));
}

#[inline(never)]
fn call(input: &[u8], output: &mut [u8]) {
    match Call::decode(input) {
        Ok((call, arguments)) => {
            see(arguments);
            show(&call);
            see(call.encoded_len());
            encoded(call.encode(output));
        }
        Err(error) => rpc_error(error),
    }
    // Made by hand, the bodies may have any length.
    let auth = Auth { flavor: Flavor(black_box(1)), body: input };
    let call = Call {
        xid: 1,
        rpc_version: Call::RPC_VERSION,
        program: 2,
        version: 3,
        procedure: 4,
        credential: auth,
        verifier: auth,
    };
    encoded(call.encode(output));
}

#[inline(never)]
fn rpc_reply(input: &[u8], output: &mut [u8]) {
    if let Some((xid, kind)) = MessageType::peek(input) {
        see(xid);
        show(&kind);
    }
    match Reply::decode(input) {
        Ok((reply, results)) => {
            see(results);
            show(&reply);
            see(reply.encoded_len());
            encoded(reply.encode(output));
        }
        Err(error) => rpc_error(error),
    }
}

#[inline(never)]
fn credentials(input: &[u8], output: &mut [u8]) {
    match AuthSys::decode(input) {
        Ok(sys) => {
            for gid in sys.gids() {
                see(gid);
            }
            see(sys);
        }
        Err(error) => rpc_error(error),
    }
    match GssCredential::decode(input) {
        Ok(gss) => {
            see(gss.encoded_len());
            encoded(gss.encode(output));
        }
        Err(error) => rpc_error(error),
    }
}

#[inline(never)]
fn private_data(input: &[u8], output: &mut [u8]) {
    let found = PrivateData::find(input);
    see(Agreement::new(found, black_box(None)));
    let made = PrivateData {
        flags: Flags::from_bits_retain(black_box(3)),
        send_size: black_box(5000),
        receive_size: black_box(7),
    };
    show(&made);
    encoded(made.encode(output));
}
