//! One probe for each part of the crate. Input and output are opaque in length and content.

use core::fmt::{self, Display, Write};
use core::hint::black_box;

use rpcrdma::endpoint::{
    CallId, Channel, Direction, Item, Limits, PayloadFormats, Requester, Responder, Terms, Version, Versions,
    is_protected, requester, responder,
};
use rpcrdma::endpoint::{RegisteredMemory, SegmentLimits};
use rpcrdma::error::{DecodeError, EncodeError, Reaction, Role};
use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::prefix::{Prefix, Procedure};
use rpcrdma::private_data::{Agreement, Flags, PrivateData};
use rpcrdma::reader::{Reader, padding};
use rpcrdma::rpc::{
    AcceptStatus, Auth, AuthStatus, AuthSys, Flavor, GssCredential, MessageType, RpcCall, RpcError, RpcReply,
};
use rpcrdma::rules::{self, Credits, Exchange, Finding, RuleReport, Sent, SentV2, Severity};
use rpcrdma::segment::{ReadSegment, Segment};
use rpcrdma::v1::{ErrorReply, Header, Message, ReplyError, ReplyHeader};
use rpcrdma::v2::{self, family_a, family_b};

/// Runs every probe.
pub fn run_all(input: &[u8], output: &mut [u8]) {
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
    version_2(input, output);
    version_2_between(input);
    properties(input, output);
    version_2_errors(input, output);
    judged(input);
    judged_v2(input);
    counted(input);
    requester(input, output);
    responder(input, output);
    channel(input, output);
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
    if let Err(end) = reader.u32() {
        show(&end);
    }
    see(reader.u64());
    see(reader.array::<12>());
    see(reader.read_octets(length));
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
        see((segment.to_octets(), segment.wraps()));
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
    let answer = error.kind.answer();
    see((error.kind.name(), error.offset, answer));
    for role in [Role::Requester, Role::Responder] {
        show(&role);
        show(&error.reaction(role));
        see(answer.for_role(role));
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
    see(WriteList::from_octets(input, black_box(2)));
    see(v2::PropertySet::from_octets(input, black_box(2)).map(|set| set.octets()));
    see((chunks.reads.entries(), chunks.writes.octets(), room.first().map(WriteChunk::segments)));
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
            let reply = if black_box(false) { reply.with_reads(provided.reads) } else { reply };
            see((reply.procedure(), reply.encoded_len()));
            encoded(reply.encode(output));
        }
        Err(error) => reply_error(error),
    }
    let family = black_box(v2::Family::A);
    let made = v2::ReplyHeaderV2::new(family, call.xid, v2::Credit(call.credit), &provided)
        .with_writes(written.get(..black_box(1)).unwrap_or_default())
        .and_then(|reply| if black_box(false) { reply.with_reply(black_box(9)) } else { Ok(reply) });
    match made {
        Ok(reply) => {
            see(reply.encoded_len());
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
    if let Ok((reply, rest)) = ErrorReply::decode(input) {
        see((reply.prefix(), rest));
    }
}

#[inline(never)]
fn rpc_error(error: RpcError) {
    show(&error);
    see((error.kind.name(), error.offset));
}

#[inline(never)]
fn call(input: &[u8], output: &mut [u8]) {
    match RpcCall::decode(input) {
        Ok((call, arguments)) => {
            see(arguments);
            show(&call);
            see((call.encoded_len(), is_protected(&call)));
            encoded(call.encode(output));
        }
        Err(error) => rpc_error(error),
    }
    // If a caller builds it, the bodies may have any length.
    let auth = Auth { flavor: Flavor(black_box(1)), body: input };
    see(auth.flavor.name());
    let call = RpcCall {
        xid: 1,
        rpc_version: RpcCall::RPC_VERSION,
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
    match RpcReply::decode(input) {
        Ok((reply, results)) => {
            see(results);
            show(&reply);
            see(reply.encoded_len());
            encoded(reply.encode(output));
        }
        Err(error) => rpc_error(error),
    }
    see((AcceptStatus(black_box(1)).name(), AuthStatus(black_box(2)).name()));
}

#[inline(never)]
fn credentials(input: &[u8], output: &mut [u8]) {
    match AuthSys::decode(input) {
        Ok(sys) => {
            for gid in sys.gids() {
                see(gid);
            }
            see(sys.machine_name());
            see(sys.encoded_len());
            encoded(sys.encode(output));
            see(Ok(sys) == AuthSys::decode(output));
        }
        Err(error) => rpc_error(error),
    }
    let gids = [black_box(7); 17];
    match AuthSys::new(input, 1, 2, gids.get(..black_box(3)).unwrap_or_default()) {
        Ok(sys) => {
            see(sys.gids().next_back());
            encoded(sys.encode(output));
        }
        Err(error) => show(&error),
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
    see(PrivateData::locate(input));
    see(Agreement::new(found, black_box(None)));
    let made = PrivateData {
        flags: Flags::from_bits_retain(black_box(3)),
        send_size: black_box(5000),
        receive_size: black_box(7),
    };
    show(&made);
    see((input.first_chunk().map(PrivateData::from_octets), made.to_octets()));
    encoded(made.encode(output));
}

#[inline(never)]
fn version_2(input: &[u8], output: &mut [u8]) {
    for family in [v2::Family::A, v2::Family::B] {
        match v2::MessageV2::decode(family, input) {
            Ok(message) => {
                see((message.header_length, message.payload));
                version_2_header(&message.header);
                encoded(message.header.encode(output));
            }
            Err(error) => decode_error(error),
        }
    }
    see(v2::Family::detect(input));
    if let Ok(message) = family_a::Message::decode(input) {
        see((message.header_length, message.payload, message.header.encoded_len(), message.header.prefix()));
        show(&message.header.header_type());
        show(&message.header.flags);
        see(message.header.header_type().name());
        encoded(message.header.encode(output));
    }
    if let Ok(message) = family_b::Message::decode(input) {
        see((message.header_length, message.payload, message.header.encoded_len(), message.header.prefix()));
        show(&message.header.header_type());
        see(message.header.header_type().name());
        encoded(message.header.encode(output));
    }
    if let Ok((header, rest)) = family_a::Header::decode(input) {
        see((rest, header.chunks(), header.inv_handle(), header.is_grant()));
    }
    if let Ok((header, rest)) = family_b::Header::decode(input) {
        see((rest, header.chunks(), header.call_chunk(), header.inv_handle(), header.remaining()));
    }
}

#[inline(never)]
fn version_2_header(header: &v2::HeaderV2<'_>) {
    show(header);
    see((header.family(), header.xid(), header.type_name(), header.prefix(), header.encoded_len()));
    see((header.inv_handle(), header.error(), header.is_grant(), header.has_payload(), header.is_response()));
    let credit = header.credit();
    show(&credit);
    see((v2::Credit::new(credit.granted(), credit.maximum()), credit.limit()));
    if let Some(chunks) = header.chunks() {
        lists(&chunks);
        let inv_handle = black_box(7);
        see(v2::ChunkLists { inv_handle, chunks }.offers_foreign_handle());
    }
    if let Some(chunk) = header.call_chunk() {
        reads(chunk);
    }
    if let Some(set) = header.properties() {
        property_set(set);
    }
}

#[inline(never)]
fn version_2_between(input: &[u8]) {
    let mut continuation = black_box(v2::Continuation::new());
    for family in [v2::Family::A, v2::Family::B] {
        see(continuation.unread(family, input));
        let Ok((header, _)) = v2::HeaderV2::decode(family, input) else { continue };
        for _ in 0..black_box(3) {
            match continuation.accept(&header, black_box(9)) {
                Ok(part) => {
                    see((part, continuation.is_open(), continuation.open_xid()));
                    continuation.refused(black_box(9));
                }
                Err(error) => {
                    show(&error);
                    show(&error.code());
                    show(&error.reaction(black_box(Role::Requester)));
                }
            }
        }
    }
    let refusal = v2::VersionRefusal::decode(input);
    for outcome in [refusal.map_or(v2::Outcome::Lost, v2::Outcome::Refused), black_box(v2::Outcome::Accepted)] {
        see(outcome.next_version(black_box(1), black_box(2)));
    }
}

#[inline(never)]
fn property_set(set: v2::PropertySet<'_>) {
    see((set.len(), set.is_empty(), set.iter().len(), set == v2::PropertySet::EMPTY));
    let properties = v2::Properties::default().with(&set);
    see((properties, properties.numbers(), properties.with_numbers(&set)));
    for property in set {
        show(&property);
        show(&property.id);
        see(property.id.name());
    }
}

#[inline(never)]
fn properties(input: &[u8], output: &mut [u8]) {
    let values = [
        v2::PropertyValue::Default,
        v2::PropertyValue::Uint32(1),
        v2::PropertyValue::Opaque(input),
        v2::PropertyValue::Unknown(input),
    ];
    let own = values.map(|value| v2::Property { id: v2::PropertyId(black_box(6)), value });
    let set = v2::PropertySet::from_properties(own.get(..black_box(3)).unwrap_or_default());
    property_set(set);
    let body = family_b::Body::ConnpropFinal(set);
    encoded(family_b::Header { xid: 1, credit: v2::Credit(2), body }.encode(output));
    show(&v2::ReverseDirection(black_box(3)));
    see((v2::ReverseDirection(black_box(3)).name(), v2::PropertySubset::new(input.as_chunks().0)));
    match v2::PropertySubset::decode(input) {
        Ok((subset, rest)) => {
            see((rest, subset.contains(black_box(77)), subset.encoded_len()));
            encoded(subset.encode(output));
        }
        Err(error) => decode_error(error),
    }
}

#[inline(never)]
fn version_2_errors(input: &[u8], output: &mut [u8]) {
    for family in [v2::Family::A, v2::Family::B] {
        match v2::ErrorReplyV2::decode(family, input) {
            Ok((reply, rest)) => {
                show(&reply.error());
                see((rest, reply.family(), reply.prefix(), reply.error().code().name(), reply.encoded_len()));
                encoded(reply.encode(output));
            }
            Err(error) => {
                see(v2::ReactionV2::by(v2::ErrorCode(black_box(5)), black_box(Role::Requester)));
                let reaction = v2::ReactionV2::to(error, black_box(Role::Responder));
                show(&reaction);
                if let (Some(error), Ok(request)) = (reaction.error(1, black_box(2)), Prefix::decode(input)) {
                    encoded(v2::ErrorReplyV2::new(family, &request, v2::Credit(black_box(3)), error).encode(output));
                }
            }
        }
    }
}

#[inline(never)]
fn finding(finding: &Finding<'_>) {
    show(finding);
    show(&finding.severity);
    see((finding.rule.slug, finding.severity.name(), finding.offset));
}

/// A rule of a caller's own, and a breach of it.
#[inline(never)]
fn own_rule(input: &[u8]) {
    static RULE: rules::Rule =
        rules::Rule::new("own", Severity::Hazard, "1").summary("a").reason("b").correct("c").answer(Reaction::Discard);
    let message = format_args!("{}", input.len());
    finding(&Finding::new(&RULE, black_box(5), message).with_severity(black_box(Severity::Error)));
}

#[inline(never)]
fn judged(input: &[u8]) {
    for sender in [None, Some(Role::Requester), Some(Role::Responder)] {
        let mut sent = Sent::new(input, sender);
        sent.length = black_box(5000);
        rules::send(&sent, &mut finding);
        see(rules::find("version").and_then(|rule| sent.reaction(rule, black_box(Role::Responder))));
    }
    let (call, reply) = input.split_at_checked(black_box(100)).unwrap_or_default();
    if let (Ok(call), Ok(reply)) = (Message::decode(call), Message::decode(reply)) {
        let exchange = Exchange::new(&call, &reply);
        rules::exchange(&exchange, &mut finding);
        rules::exchange_v2(&exchange, &mut finding);
        rules::segments(&call, |place, segment, at| {
            show(&place);
            see((segment, at));
        });
        see(rules::unreduced(&call, black_box(5000)));
    }
    own_rule(input);
    see(rules::find(core::str::from_utf8(input).unwrap_or_default()));
    see((
        rules::all_rules().last(),
        rules::send_rules().last(),
        rules::exchange_rules().last(),
        rules::count_rules().last(),
    ));
}

#[inline(never)]
fn judged_v2(input: &[u8]) {
    let mut before = v2::Continuation::new();
    for family in [v2::Family::A, v2::Family::B] {
        let mut sent = SentV2::new(family, input);
        if let Ok(message) = &sent.decoded {
            sent.dropped = before.accept(&message.header, message.payload.len()).err();
            rules::segments(&message.header, |place, segment, at| {
                show(&place);
                see((segment, at));
            });
        }
        sent.length = black_box(5000);
        sent.is_first = black_box(true);
        sent.begins = black_box(true);
        sent.invalidates = black_box(Some(1));
        sent.offered = black_box(Some(2));
        rules::send_v2(&sent, &mut finding);
        if let Ok(message) = &sent.decoded {
            rules::long_direction_v2(&message.header, MessageType(black_box(1)), &mut finding);
        }
        see(rules::find("v2-htype").and_then(|rule| sent.reaction(rule, black_box(Role::Requester))));
    }
    see(rules::send_v2_rules().last());
}

#[inline(never)]
fn counted(input: &[u8]) {
    let mut credits = if black_box(true) { Credits::new() } else { Credits::unknown() };
    for octet in input {
        match octet {
            0 => credits.missed(),
            1 => credits.reply(black_box(2)),
            _ => {
                if let Err(fault) = credits.call() {
                    show(&fault);
                    let mut take = finding;
                    fault.say(&mut RuleReport::new(fault.rule(), &mut take));
                }
            }
        }
    }
    see((credits, credits.is_known()));
    let mut take = finding;
    let mut report = RuleReport::new(&rules::INLINE_EXCEEDED, &mut take);
    rules::inline(input.len(), black_box(1024), &mut report);
    report.broken(input.len(), format_args!("{}", input.len()));
    report.broken_as(black_box(Severity::Hazard), input.len(), format_args!("{}", input.len()));
    see(report.is_full());
}

fn terms() -> Terms {
    let agreement = Agreement::new(black_box(None), black_box(None));
    let terms = if black_box(true) { Terms::forward(&agreement) } else { Terms::reverse(&agreement) };
    let formats = PayloadFormats::from(v2::ReverseDirection(black_box(3)));
    Terms { version: black_box(Version::Two(v2::Family::A)), formats, ..terms }
}

fn limits() -> Limits {
    if black_box(true) {
        return Limits::default();
    }
    Limits::new()
        .with_chunks(black_box(1), black_box(2))
        .with_segments(black_box(3))
        .with_octets(black_box(4))
        .with_collected(black_box(5))
}

#[inline(never)]
fn requester(input: &[u8], output: &mut [u8]) {
    let mut requester = Requester::<4, 8>::new(terms(), black_box(3), black_box(4096));
    let items = [Item { position: black_box(44), length: black_box(9) }];
    let call = requester::Call {
        head: input,
        length: black_box(60),
        arguments: items.get(..black_box(1)).unwrap_or_default(),
        results: &[black_box(1), black_box(2)],
        reply_length: black_box(40),
        largest_capacity: 0,
    };
    see(CallId::from_number(black_box(7)).to_number());
    let mut named: Option<CallId> = None;
    for octet in input {
        match requester.call(&call) {
            Ok(call) => named = Some(call),
            Err(error) => show(&error),
        }
        if let Err(error) = requester.call_one_way(input, black_box(60)) {
            show(&error);
        }
        let Some(call) = black_box(named) else { continue };
        let region = u16::from(*octet);
        if octet & 1 == 0 {
            requester.read_provided_replies();
        }
        requester.continue_messages(black_box(5));
        see(requester.handle(requester::Input::Broken { xid: black_box(7) }));
        see(requester.handle(match octet >> 5 {
            0 => requester::Input::Received { receive: 1, octets: input, invalidated: black_box(None) },
            1 => requester::Input::Registered {
                call,
                region,
                memory: black_box(Some(RegisteredMemory { handle: 2, offset: 3 })),
            },
            2 => requester::Input::Invalidated { call, region },
            3 => requester::Input::Sent { call },
            4 => requester::Input::Failed,
            5 => requester::Input::Completed { call },
            _ => requester::Input::Disconnected,
        }));
        while let Ok(Some(done)) = requester.poll(output) {
            if let requester::Output::Send { payload, .. } = &done {
                payload.clone().for_each(see);
            }
            see(done);
        }
        if let Err(error) = requester.cancel(call) {
            show(&error);
        }
        requester.request_credits(black_box(0));
        requester.limit_transfers(black_box(0));
        requester.agree(terms());
        requester.limit_segments(SegmentLimits { octets: black_box(5000), count: black_box(3) });
        requester.permit(black_box(3));
        see((
            requester.in_flight(),
            requester.awaited_replies(),
            requester.is_full(),
            Direction::detect(input, |xid| requester.awaits(xid)),
        ));
    }
}

#[inline(never)]
fn responder(input: &[u8], output: &mut [u8]) {
    let mut responder = Responder::<4, 256, 4>::new(terms(), limits());
    let items = [Item { position: black_box(28), length: black_box(9) }];
    let (head, results) = (input, items.get(..black_box(1)).unwrap_or_default());
    let reply = responder::Reply { head, length: black_box(60), results, protected: black_box(false) };
    responder.limit_reads(black_box(3));
    responder.limit_transfers(black_box(0));
    responder.provide_replies(black_box(2));
    responder.expect(black_box(5));
    for octet in input {
        responder.agree(terms());
        responder.permit(black_box(3));
        see(responder.occupied());
        see((responder.has_place(), responder.is_short(), responder.owed_replies()));
        responder.refuse_xid(u32::from(*octet));
        if let Err(error) = responder.handle(responder::Input::Received { receive: 1, octets: input }) {
            show(&error);
        }
        let error = v2::ErrorBodyV2::Void(v2::ErrorCode(black_box(5)));
        see(responder.handle(responder::Input::Broken { xid: black_box(7), error }));
        let mut named: Option<CallId> = None;
        while let Ok(Some(next)) = responder.poll(output) {
            if let responder::Output::Deliver { call, .. } | responder::Output::Read { call, .. } = next {
                named = Some(call);
            }
            see(next);
        }
        let Some(call) = named else { continue };
        see((responder.xid(call), responder.chunks(call), responder.length(call), call.index()));
        responder.padding(call).for_each(see);
        let answered = match octet & 3 {
            0 => responder.refuse(call).map(|()| responder::ReplyForm::Refused),
            1 => responder.forget(call).map(|()| responder::ReplyForm::Short),
            _ => responder.reply(call, &reply),
        };
        match answered {
            Ok(form) => see(form),
            Err(error) => show(&error),
        }
        see(responder.handle(match octet >> 5 {
            0 => responder::Input::Failed,
            1 => responder::Input::Disconnected,
            2 => responder::Input::NotPosted { call },
            3 => responder::Input::Postponed { call },
            4 => responder::Input::Resumed { call },
            _ => responder::Input::Completed { call },
        }));
        see(responder.handle(responder::Input::Registered {
            call,
            memory: black_box(Some(RegisteredMemory { handle: 2, offset: 3 })),
        }));
        see(responder.expire(call));
        see(responder.handle(responder::Input::Invalidated { call }));
        if let Err(error) = responder.grant(black_box(2)) {
            show(&error);
        }
    }
    see(responder.enlarge::<6>().is_ok());
}

#[inline(never)]
fn channel(input: &[u8], output: &mut [u8]) {
    let own = v2::Properties { maximum_send_size: black_box(5000), ..v2::Properties::DEFAULT };
    let versions = Versions::from_bits_retain(black_box(7));
    show(&versions.offered());
    see(versions.offered().family());
    show(&Version::Two(black_box(v2::Family::A)));
    for mut channel in [Channel::client(versions, own), Channel::server(versions, own)] {
        for octet in input {
            see(channel.received(input));
            encoded(channel.poll(black_box(9), output).map(|length| length.unwrap_or(0)));
            channel.send(black_box(9), output);
            see((
                channel.is_silent(),
                channel.available(black_box(9)),
                channel.available_for_calls(black_box(9), black_box(2), black_box(1)),
                channel.available_for_replies(black_box(9)),
                channel.negotiation(),
                channel.terms(black_box(true)),
            ));
            see(channel.peer_properties());
            see(channel.peer_host_authentication());
            see(channel.segment_limits());
            see(channel.authenticate(input));
            if *octet == 0 {
                channel.lost();
            }
        }
    }
}
