//! Messages and transactions as JSON objects, one on a line.
//!
//! Fields have the names from RFC 8166, if it has one. Handles, offsets and XIDs are hexadecimal strings; other numbers
//! are numbers. A key that has a meaning for only a few messages is left out of the others. If a capture consists of
//! several files, the file of a frame is named, with the frame's number in it.

mod salvaged;
mod v2;

use core::fmt;
use std::io;

use rpcrdma::error::{DecodeError, Role};
use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::prefix;
use rpcrdma::segment::Segment;
use rpcrdma::v1::{self, Body, ErrorReply};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::fields::readable;
use crate::check::send::{Finding, findings};
use crate::event::Terminated;
use crate::file::{Files, Time};
use crate::link::Address;
use crate::nfs::{Callback, CompoundOperation};
use crate::rpc::header::{AnyErrorBody, Decoded, Dialect, Header, PayloadPlace, Reaction};
use crate::rpc::known::{Direction, Rpc, Security, Status};
use crate::rpc::message::{Captured, Dropped, Message};
use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::phases::{NotTimed, Phases};
use crate::rpc::transaction::{Form, Half, Transaction};
use salvaged::Salvaged;

/// Writes a message and a line feed.
///
/// # Errors
/// Those of `out`.
pub fn message(out: &mut impl io::Write, message: &Message, files: &Files) -> io::Result<()> {
    let place = PlaceObject {
        frame: message.stamp.frame,
        file: files.locate(message.stamp.frame),
        time: Seconds(message.stamp.time),
        connection: message.connection,
        from: EndObject(message.from),
        to: EndObject(message.to),
    };
    line(out, message, Some(place))
}

/// Writes a message that is not from a capture, such as one typed in by hand: without frame, time, connection and
/// addresses.
///
/// # Errors
/// Those of `out`.
pub fn lone_message(out: &mut impl io::Write, message: &Message) -> io::Result<()> {
    line(out, message, None)
}

/// Writes a transaction and a line feed.
///
/// # Errors
/// Those of `out`.
pub fn transaction(out: &mut impl io::Write, transaction: &Transaction, files: &Files) -> io::Result<()> {
    write_line(out, &TransactionObject::new(transaction, files))
}

/// Writes a Terminate and a line feed.
///
/// # Errors
/// Those of `out`.
pub fn terminated(out: &mut impl io::Write, terminated: &Terminated, files: &Files) -> io::Result<()> {
    write_line(out, &TerminateObject::new(terminated, files))
}

/// Writes an object and a line feed.
pub(super) fn write_line(out: &mut impl io::Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, object)?;
    out.write_all(b"\n")
}

fn line(out: &mut impl io::Write, message: &Message, place: Option<PlaceObject<'_>>) -> io::Result<()> {
    if let Ok(decoded) = message.decode() {
        let mut object = MessageObject::new(message, place);
        object.take(&decoded, message);
        object.set_chunks(decoded.header.chunks().unwrap_or_default());
        return write_line(out, &object);
    }
    let octets = readable(message);
    Salvaged::from_octets(message.dialect, octets).with(|chunks| {
        let mut object = MessageObject::new(message, place);
        // An RDMA_ERROR of another version is not a version 1 header, but has the same layout.
        if let (Some(AnyErrorBody::V1(_)), Ok((error, _))) = (message.error(), ErrorReply::decode(octets)) {
            object.header_length = Some(error.encoded_len());
            object.payload_length = Some(0);
            object.trailing_length = trailing(message, error.encoded_len());
        }
        object.malformed = message.is_malformed().map(|error| Malformed::new(error, message.dialect));
        object.set_chunks(*chunks);
        object.take_v2(message, None);
        write_line(out, &object)
    })
}

/// Octets after a header without a Payload stream, if there are any and their number is known.
fn trailing(message: &Message, header_length: usize) -> Option<usize> {
    let rest = message.length.saturating_sub(header_length);
    Some(rest).filter(|rest| *rest > 0 && message.captured != Captured::Head)
}

/// Where and when a message was seen.
#[derive(Clone, Copy)]
struct PlaceObject<'a> {
    frame: u64,
    file: Option<(&'a str, u64)>,
    time: Seconds,
    connection: u32,
    from: EndObject,
    to: EndObject,
}

#[derive(Serialize)]
struct MessageObject<'a> {
    r#type: &'static str,
    // Not flattened from `Place`, because serde would then look up every key again.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_frame: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<EndObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<EndObject>,
    rdma_xid: Option<Hex32>,
    rdma_vers: Option<u32>,
    rdma_credit: Option<u32>,
    #[serde(skip_serializing_if = "Named::is_elsewhere")]
    rdma_proc: Named,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdma_htype: Option<v2::Type>,
    /// Null if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    v2_family: Option<Option<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credit: Option<v2::CreditsObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdma_flags: Option<v2::FlagNames>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdma_remaining: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdma_inv_handle: Option<Hex32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<Reads<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<v2::Properties<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<ShownObject<Dropped>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdma_align: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdma_thresh: Option<u32>,
    header_length: Option<usize>,
    payload_length: Option<usize>,
    /// Of an RDMA_MSGP; null if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    padding_length: Option<Option<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trailing_length: Option<usize>,
    reads: Reads<'a>,
    writes: Writes<'a>,
    reply: Option<Plain<'a>>,
    error: Option<ErrorObject>,
    invalidates: Option<Hex32>,
    retransmitted: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    malformed: Option<Malformed>,
    /// Only for a message that is not from a capture; `check` reports those of captures.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<SendFindingObject>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<Incomplete>,
    rpc: Option<RpcObject<'a>>,
}

impl<'a> MessageObject<'a> {
    fn new(message: &'a Message, place: Option<PlaceObject<'a>>) -> Self {
        let prefix = message.prefix();
        let file = place.and_then(|place| place.file);
        Self {
            r#type: "message",
            frame: place.map(|place| place.frame),
            file: file.map(|(file, _)| file),
            file_frame: file.map(|(_, frame)| frame),
            time: place.map(|place| place.time),
            connection: place.map(|place| place.connection),
            from: place.map(|place| place.from),
            to: place.map(|place| place.to),
            rdma_xid: prefix.map(|prefix| Hex32(prefix.xid)),
            rdma_vers: prefix.map(|prefix| prefix.version),
            rdma_credit: prefix.map(|prefix| prefix.credit),
            rdma_proc: match (message.dialect, prefix) {
                (Dialect::Version1, Some(prefix)) => Named::Known(Name(prefix.procedure)),
                (Dialect::Version1, None) => Named::Unknown,
                _ => Named::Elsewhere,
            },
            rdma_htype: None,
            v2_family: None,
            credit: None,
            rdma_flags: None,
            rdma_remaining: None,
            rdma_inv_handle: None,
            call: None,
            properties: None,
            earlier_length: None,
            dropped: None,
            rdma_align: None,
            rdma_thresh: None,
            header_length: None,
            payload_length: None,
            padding_length: None,
            trailing_length: None,
            reads: Reads(ReadList::default()),
            writes: Writes(WriteList::EMPTY),
            reply: None,
            error: message.error().map(ErrorObject::new),
            invalidates: message.invalidates.map(Hex32),
            retransmitted: message.retransmitted,
            malformed: None,
            findings: place.is_none().then(|| findings(message).into_iter().map(SendFindingObject::new).collect()),
            incomplete: Incomplete::new(message),
            rpc: message.rpc.as_ref().map(RpcObject::new),
        }
    }

    /// Takes the lengths, and what only some procedures have.
    fn take(&mut self, decoded: &Decoded<'a>, message: &Message) {
        self.header_length = Some(decoded.header_length);
        match &decoded.header {
            Header::V1(v1::Header { body: Body::Msgp { align, thresh, .. }, .. }) => {
                (self.rdma_align, self.rdma_thresh) = (Some(*align), Some(*thresh));
                let padding = message.padding.as_ref();
                self.padding_length = Some(padding.map(|padding| padding.iter().map(ExactSizeIterator::len).sum()));
            }
            Header::V1(_) => {}
            Header::V2(header) => self.take_v2(message, Some(header)),
        }
        if message.captured == Captured::Head {
            return;
        }
        let rest = message.length.saturating_sub(decoded.header_length);
        match decoded.header.place() {
            PayloadPlace::Inline | PayloadPlace::Part => self.payload_length = Some(rest),
            PayloadPlace::Chunk | PayloadPlace::Nowhere => {
                self.payload_length = Some(0);
                self.trailing_length = trailing(message, decoded.header_length);
            }
        }
    }

    fn set_chunks(&mut self, chunks: Chunks<'a>) {
        self.reads = Reads(chunks.reads);
        self.writes = Writes(chunks.writes);
        self.reply = chunks.reply.map(Plain);
    }
}

/// A Read list, its segments grouped into Read chunks.
struct Reads<'a>(ReadList<'a>);

impl Serialize for Reads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0
                .chunks()
                .map(|chunk| ReadObject { position: chunk.position, segments: ReadSegments(chunk.segments) }),
        )
    }
}

#[derive(Serialize)]
struct ReadObject<'a> {
    position: u32,
    segments: ReadSegments<'a>,
}

struct ReadSegments<'a>(ReadList<'a>);

impl Serialize for ReadSegments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|segment| SegmentObject::new(segment.target)))
    }
}

struct Writes<'a>(WriteList<'a>);

impl Serialize for Writes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Plain))
    }
}

/// A Write chunk or the Reply chunk.
struct Plain<'a>(WriteChunk<'a>);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("chunk", 1)?;
        object.serialize_field("segments", &PlainSegments(self.0))?;
        object.end()
    }
}

struct PlainSegments<'a>(WriteChunk<'a>);

impl Serialize for PlainSegments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(SegmentObject::new))
    }
}

#[derive(Serialize)]
struct SegmentObject {
    handle: Hex32,
    length: u32,
    offset: Hex64,
}

impl SegmentObject {
    const fn new(segment: Segment) -> Self {
        Self { handle: Hex32(segment.handle), length: segment.length, offset: Hex64(segment.offset) }
    }
}

/// `rdma_proc`, in version 1.
#[derive(Serialize)]
#[serde(untagged)]
enum Named {
    Known(Name),
    /// Null.
    Unknown,
    /// Version 2 has another field.
    Elsewhere,
}

impl Named {
    const fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Elsewhere)
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ErrorObject {
    V1(Error1),
    V2(v2::ErrorObjectV2),
}

#[derive(Serialize)]
struct Error1 {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<u32>,
}

impl ErrorObject {
    fn new(error: AnyErrorBody) -> Self {
        let error = match error {
            AnyErrorBody::V1(error) => error,
            AnyErrorBody::V2(error) => return Self::V2(v2::ErrorObjectV2::new(error)),
        };
        let (low, high) = match error {
            v1::ErrorBody::Vers { low, high } => (Some(low), Some(high)),
            v1::ErrorBody::Chunk => (None, None),
        };
        Self::V1(Error1 { code: error.name(), low, high })
    }
}

/// What is wrong with a header, where, and what its receiver has to do.
#[derive(Serialize)]
struct Malformed {
    kind: &'static str,
    offset: usize,
    reaction: Reactions,
}

#[derive(Serialize)]
struct Reactions {
    requester: ShownObject<Reaction>,
    responder: ShownObject<Reaction>,
}

/// A rule that a message breaks. If nothing is asked of its receivers, there is no reaction.
#[derive(Serialize)]
struct SendFindingObject {
    rule: &'static str,
    severity: &'static str,
    offset: usize,
    section: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reaction: Option<Reactions>,
}

impl SendFindingObject {
    fn new(finding: Finding) -> Self {
        let Finding { rule, severity, offset, message, responder, requester } = finding;
        let reaction = requester.zip(responder);
        let reaction = reaction.map(|(requester, responder)| Reactions {
            requester: ShownObject(requester),
            responder: ShownObject(responder),
        });
        Self { rule: rule.slug, severity: severity.name(), offset, section: rule.section, message, reaction }
    }
}

impl Malformed {
    const fn new(error: DecodeError, dialect: Dialect) -> Self {
        let reaction = Reactions {
            requester: ShownObject(Reaction::to(error, dialect, Role::Requester)),
            responder: ShownObject(Reaction::to(error, dialect, Role::Responder)),
        };
        Self { kind: error.kind.name(), offset: error.offset, reaction }
    }
}

/// The part of a message that the capture lacks.
#[derive(Serialize)]
struct Incomplete {
    captured: usize,
    missing: &'static str,
}

impl Incomplete {
    fn new(message: &Message) -> Option<Self> {
        let missing = match message.captured {
            Captured::Whole if message.earlier_missing().is_some() => "earlier",
            Captured::Whole => return None,
            Captured::Cut => "snaplen",
            Captured::Head => "end",
            Captured::Tail => "start",
        };
        Some(Self { captured: message.octets.len(), missing })
    }
}

#[derive(Serialize)]
struct RpcObject<'a> {
    direction: &'static str,
    #[serde(skip_serializing_if = "is_false")]
    reverse: bool,
    #[serde(skip_serializing_if = "is_false")]
    program_guessed: bool,
    program: Option<u32>,
    version: Option<u32>,
    procedure: Option<u32>,
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<OperationNames<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nfs_status: Option<u32>,
}

const fn is_false(value: &bool) -> bool {
    !*value
}

impl<'a> RpcObject<'a> {
    fn new(rpc: &'a Rpc) -> Self {
        let direction = match rpc.direction {
            Direction::Call => "call",
            Direction::Reply => "reply",
        };
        Self {
            direction,
            reverse: rpc.reverse,
            program_guessed: rpc.callback == Callback::Guessed,
            program: rpc.procedure.map(|procedure| procedure.program),
            version: rpc.procedure.map(|procedure| procedure.version),
            procedure: rpc.procedure.map(|procedure| procedure.procedure),
            name: rpc.name,
            operations: is_compound(rpc.name).then_some(OperationNames(&rpc.operations)),
            security: rpc.security.map(Security::name),
            status: rpc.status.map(Status::name),
            nfs_status: nfs_status(rpc.status),
        }
    }
}

fn is_compound(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.ends_with("COMPOUND"))
}

struct OperationNames<'a>(&'a [CompoundOperation]);

impl Serialize for OperationNames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|operation| operation.name))
    }
}

const fn nfs_status(status: Option<Status>) -> Option<u32> {
    match status {
        Some(Status::Success(status)) => status,
        _ => None,
    }
}

#[derive(Serialize)]
struct TerminateObject<'a> {
    r#type: &'static str,
    frame: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_frame: Option<u64>,
    time: Seconds,
    connection: u32,
    from: EndObject,
    to: EndObject,
    layer: u8,
    error_type: u8,
    code: u8,
    segment_length: Option<u16>,
    message: Option<&'static str>,
    text: String,
}

impl<'a> TerminateObject<'a> {
    fn new(terminated: &Terminated, files: &'a Files) -> Self {
        let Terminated { stamp, connection, from, to, terminate } = *terminated;
        let file = files.locate(stamp.frame);
        Self {
            r#type: "terminate",
            frame: stamp.frame,
            file: file.map(|(file, _)| file),
            file_frame: file.map(|(_, frame)| frame),
            time: Seconds(stamp.time),
            connection,
            from: EndObject(from),
            to: EndObject(to),
            layer: terminate.layer,
            error_type: terminate.error_type,
            code: terminate.code,
            segment_length: terminate.length,
            message: terminate.message,
            text: terminate.to_string(),
        }
    }
}

#[derive(Serialize)]
struct TransactionObject<'a> {
    r#type: &'static str,
    connection: u32,
    rdma_xid: Hex32,
    from: EndObject,
    to: EndObject,
    call_frame: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_file_frame: Option<u64>,
    reply_frame: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_file_frame: Option<u64>,
    time: Option<Seconds>,
    latency: Option<f64>,
    latency_ns: Option<u64>,
    phases: Option<PhasesObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phases_missing: Option<ShownObject<NotTimed>>,
    #[serde(skip_serializing_if = "is_false")]
    reverse: bool,
    #[serde(skip_serializing_if = "is_false")]
    program_guessed: bool,
    program: Option<u32>,
    version: Option<u32>,
    procedure: Option<u32>,
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<Operations<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<&'static str>,
    call: Option<HalfObject>,
    reply: Option<HalfObject>,
    read_octets: u64,
    write_octets: u64,
    status: Option<&'static str>,
    nfs_status: Option<u32>,
}

impl<'a> TransactionObject<'a> {
    fn new(transaction: &'a Transaction, files: &'a Files) -> Self {
        let Transaction { call, reply, procedure, .. } = transaction;
        let locate = |half: &Option<Half>| half.as_ref().and_then(|half| files.locate(half.stamp.frame));
        let (call_file, reply_file) = (locate(call), locate(reply));
        Self {
            r#type: "transaction",
            connection: transaction.connection,
            rdma_xid: Hex32(transaction.xid),
            from: EndObject(transaction.from),
            to: EndObject(transaction.to),
            call_frame: call.as_ref().map(|half| half.stamp.frame),
            call_file: call_file.map(|(file, _)| file),
            call_file_frame: call_file.map(|(_, frame)| frame),
            reply_frame: reply.as_ref().map(|half| half.stamp.frame),
            reply_file: reply_file.map(|(file, _)| file),
            reply_file_frame: reply_file.map(|(_, frame)| frame),
            time: call.as_ref().or(reply.as_ref()).map(|half| Seconds(half.stamp.time)),
            latency: transaction.latency().map(|latency| latency as f64 / 1e9),
            latency_ns: transaction.latency(),
            phases: transaction.phases.ok().map(PhasesObject::new),
            phases_missing: transaction.phases.err().map(ShownObject),
            reverse: transaction.reverse,
            program_guessed: transaction.callback == Callback::Guessed,
            program: procedure.map(|procedure| procedure.program),
            version: procedure.map(|procedure| procedure.version),
            procedure: procedure.map(|procedure| procedure.procedure),
            name: transaction.name,
            operations: is_compound(transaction.name).then_some(Operations(&transaction.operations)),
            security: transaction.security.map(Security::name),
            call: call.as_ref().map(HalfObject::new),
            reply: reply.as_ref().map(HalfObject::new),
            read_octets: transaction.read_octets,
            write_octets: transaction.write_octets,
            status: transaction.status.map(Status::name),
            nfs_status: nfs_status(transaction.status),
        }
    }
}

/// Where the time of an RPC went, in nanoseconds.
#[derive(Serialize)]
struct PhasesObject {
    call_ns: u64,
    responder_ns: u64,
    pull_ns: u64,
    push_ns: u64,
    reply_ns: u64,
    requester_ns: u64,
}

impl PhasesObject {
    const fn new(phases: Phases) -> Self {
        let Phases { call, responder, pull, push, reply, requester } = phases;
        Self {
            call_ns: call,
            responder_ns: responder,
            pull_ns: pull,
            push_ns: push,
            reply_ns: reply,
            requester_ns: requester,
        }
    }
}

struct Operations<'a>(&'a [CompoundOperation]);

impl Serialize for Operations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0.iter().map(|operation| OperationObject { name: operation.name, status: operation.status }),
        )
    }
}

#[derive(Serialize)]
struct OperationObject {
    name: &'static str,
    status: Option<u32>,
}

/// A call or a reply within a transaction.
#[derive(Serialize)]
struct HalfObject {
    form: &'static str,
    inline: usize,
    rebuilt: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<ShownObject<NotRebuilt>>,
}

impl HalfObject {
    fn new(half: &Half) -> Self {
        let (length, reason) = match &half.message {
            Ok(rebuilt) => (Some(rebuilt.octets.len()), None),
            Err(reason) => (None, Some(ShownObject(*reason))),
        };
        Self { form: form(half.form), inline: half.inline, rebuilt: length.is_some(), length, reason }
    }
}

/// How an RPC message was sent, as RFC 8166 section 3.5 names it.
const fn form(form: Form) -> &'static str {
    match form {
        Form::Short => "short",
        Form::Chunked => "chunked",
        Form::Long => "long",
        Form::Continued => "continued",
    }
}

/// `rdma_proc`: its name, or the number if it has none.
struct Name(prefix::Procedure);

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.name() {
            Some(name) => serializer.serialize_str(name),
            None => serializer.serialize_u32(self.0.0),
        }
    }
}

/// A value written in its `Display` form.
#[derive(Clone, Copy)]
struct ShownObject<T>(T);

impl<T: fmt::Display> Serialize for ShownObject<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// An address. Writing an IPv4 address through `fmt` takes several times as long.
#[derive(Clone, Copy)]
pub(super) struct EndObject(pub(super) Address);

impl Serialize for EndObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Address::V4(octets) = self.0 else { return serializer.collect_str(&self.0) };
        let mut text = [0; 15];
        let mut length = 0;
        let mut put = |digit| {
            if let Some(place) = text.get_mut(length) {
                *place = digit;
                length += 1;
            }
        };
        for (index, octet) in octets.into_iter().enumerate() {
            if index > 0 {
                put(b'.');
            }
            if octet >= 100 {
                put(b'0' + octet / 100);
            }
            if octet >= 10 {
                put(b'0' + octet / 10 % 10);
            }
            put(b'0' + octet % 10);
        }
        serializer.serialize_str(ascii(text.get(..length).unwrap_or_default()))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Hex32(pub(super) u32);

impl Serialize for Hex32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex(&mut [0; 10], u64::from(self.0)))
    }
}

#[derive(Clone, Copy)]
struct Hex64(u64);

impl Serialize for Hex64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex(&mut [0; 18], self.0))
    }
}

/// Nanoseconds as seconds with all nine decimals; a number would lose the last ones.
#[derive(Clone, Copy)]
pub(super) struct Seconds(pub(super) Time);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; 21];
        let mut rest = self.0.0;
        let mut start = text.len();
        for (index, digit) in text.iter_mut().enumerate().rev() {
            // The point is before the last nine digits, and at least one digit is before it.
            if index == 11 {
                *digit = b'.';
                continue;
            }
            if index < 10 && rest == 0 {
                break;
            }
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            start = index;
        }
        serializer.serialize_str(ascii(text.get(start..).unwrap_or_default()))
    }
}

/// Fills `text` with `0x` and the digits of `value`. Writing through `fmt` takes several times as long.
fn hex(text: &mut [u8], value: u64) -> &str {
    let mut rest = value;
    for digit in text.iter_mut().rev() {
        *digit = match rest & 15 {
            nibble @ 0..10 => b'0' + nibble as u8,
            nibble => b'a' - 10 + nibble as u8,
        };
        rest >>= 4;
    }
    if let [_, x, ..] = text {
        *x = b'x';
    }
    ascii(text)
}

fn ascii(text: &[u8]) -> &str {
    core::str::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: impl Serialize) -> String {
        serde_json::to_string(&value).unwrap()
    }

    #[test]
    fn numbers_are_as_long_as_they_must_be() {
        assert_eq!(shown(Hex32(0xa94)), r#""0x00000a94""#);
        assert_eq!(shown(Hex64(0xa506_4bf4_ce8c_6000)), r#""0xa5064bf4ce8c6000""#);
        assert_eq!(shown(Hex64(7)), r#""0x0000000000000007""#);
        for nanoseconds in [0, 1, 999_999_999, 1_000_000_000, 1_763_683_200_123_456_789, u64::MAX] {
            assert_eq!(shown(Seconds(Time(nanoseconds))), format!("\"{}\"", Time(nanoseconds)));
        }
    }

    #[test]
    fn addresses_are_as_they_show_themselves() {
        for octets in [[0, 9, 10, 99], [100, 109, 200, 255], [192, 0, 2, 1]] {
            assert_eq!(shown(EndObject(Address::V4(octets))), format!("\"{}\"", Address::V4(octets)));
        }
        assert_eq!(shown(EndObject(Address::Lid(7))), r#""LID 7""#);
    }

    #[test]
    fn what_has_no_name_is_a_number() {
        assert_eq!(shown(Name(prefix::Procedure(4))), r#""RDMA_ERROR""#);
        assert_eq!(shown(Name(prefix::Procedure(5))), "5");
    }

    #[test]
    fn an_error_has_the_versions_only_where_it_is_about_versions() {
        assert_eq!(
            shown(ErrorObject::new(AnyErrorBody::V1(v1::ErrorBody::Vers { low: 1, high: 2 }))),
            r#"{"code":"ERR_VERS","low":1,"high":2}"#
        );
        assert_eq!(shown(ErrorObject::new(AnyErrorBody::V1(v1::ErrorBody::Chunk))), r#"{"code":"ERR_CHUNK"}"#);
    }
}
