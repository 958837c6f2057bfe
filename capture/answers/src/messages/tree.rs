//! A message as a tree: every field of the transport header with an offset, then the RPC header.

use core::ops::Range;
use std::io;

use anstyle::Style;
use rpcrdma::reader::padding;
use rpcrdma::rpc::{Auth, MessageType, ReplyBody, RpcCall, RpcError, RpcReply};
use rpcrdma::rules::Severity;
use rpcrdma::segment::{ReadSegment, Segment};
use rpcrdma::v1::ErrorBody;
use rpcrdma::v2::{Credit, Family, PropertyId, ReverseDirection};
use rpcrdma_dissector::check::send::{SendFinding, findings};
use rpcrdma_dissector::{Captured, Dialect, Message, OperationArguments, PayloadPlace, Rpc, Status, nfs};

use super::fields::{Field, readable, walk};
use crate::format::line::{CHUNK, DIM, FAULT, Line, NAME, PLAIN, WARNING, wrapped};
use crate::format::number::octets;
use crate::operation_text::{fields, hexadecimal};

/// Columns of the name of a field, and of everything before the value.
const NAMES: usize = 18;
const INDENT: usize = 8 + 6 + NAMES;
/// Columns of a line that says what is wrong.
const WIDTH: usize = 120;

/// A line of the tree of a message.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TreeLine<'a> {
    /// Offset in the Send, if the field is in the Send.
    pub offset: Option<usize>,
    /// Extent of the field; `Next` without an offset.
    pub extent: TreeExtent,
    /// Style of the name.
    pub style: Style,
    /// Name of a field, after two spaces for each enclosing field; empty if the line continues the line before.
    pub name: &'a str,
    /// Value of the field.
    pub value: &'a str,
}

/// Octets of a line of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeExtent {
    /// Up to the offset of the next field, or the end of the Send.
    Next,
    /// Number of octets that hold other fields or lie between fields.
    Octets(usize),
    /// No value: a fault at that offset.
    Fault,
}

/// Writes the fields of a message, one per line, with offsets from the start of the Send in hexadecimal. If decoding fails,
/// the output names the place, and the required reaction of the receivers (RFC 8166 section 4.5).
///
/// # Errors
/// Any error from writing to `out`.
pub fn write(out: &mut impl io::Write, message: &Message, colour: bool) -> io::Result<()> {
    lines(message, &mut |TreeLine { offset, style, name, value, .. }| {
        let mut line = Line::new(colour, usize::MAX);
        line.push(PLAIN, "        ");
        line.column(DIM, &offset.map(|offset| format!("{offset:04x}")).unwrap_or_default(), 6);
        line.column_apart(style, name, NAMES);
        line.push(PLAIN, value);
        line.write(out)
    })
}

/// Passes the lines of the tree to `take`, until `take` returns an error.
///
/// # Errors
/// Any error from `take`.
pub fn lines(message: &Message, take: &mut dyn FnMut(TreeLine<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut tree = Tree { take };
    let mut result = Ok(());
    walk(message.dialect, readable(message), &mut |offset, field| {
        if result.is_ok() {
            result = tree.field(offset, field);
        }
    });
    result?;
    tree.after_header(message)?;
    tree.faults(message)?;
    tree.missing(message)?;
    if let Some(handle) = message.invalidates {
        tree.line(None, PLAIN, "Send invalidates", &format!("{handle:#010x}"))?;
    }
    if let Some(session) = message.mirror_session {
        tree.line(None, DIM, "captured through", &session.to_string())?;
    }
    Ok(())
}

struct Tree<'a> {
    take: &'a mut dyn FnMut(TreeLine<'_>) -> io::Result<()>,
}

impl Tree<'_> {
    fn line(&mut self, offset: Option<usize>, style: Style, name: &str, value: &str) -> io::Result<()> {
        (self.take)(TreeLine { offset, extent: TreeExtent::Next, style, name, value })
    }

    fn fault(&mut self, offset: Option<usize>, style: Style, name: &str, value: &str) -> io::Result<()> {
        (self.take)(TreeLine { offset, extent: TreeExtent::Fault, style, name, value })
    }

    /// A line about so many octets from an offset on.
    fn extent(&mut self, at: usize, length: usize, style: Style, name: &str, value: &str) -> io::Result<()> {
        (self.take)(TreeLine { offset: Some(at), extent: TreeExtent::Octets(length), style, name, value })
    }

    fn field(&mut self, offset: usize, field: Field) -> io::Result<()> {
        let entry = |ReadSegment { position, target }| format!("position {position:<8} {}", segment(target));
        let (style, name, value) = match field {
            Field::Word("rdma_err", ErrorBody::ERR_VERS) => (FAULT, "rdma_err", "1 (ERR_VERS)".to_owned()),
            Field::Word("rdma_err", ErrorBody::ERR_CHUNK) => (FAULT, "rdma_err", "2 (ERR_CHUNK)".to_owned()),
            Field::Word(name, value) => (PLAIN, name, value.to_string()),
            Field::Xid(xid) => (PLAIN, "rdma_xid", format!("{xid:#010x}")),
            Field::Procedure(procedure) => {
                (NAME, "rdma_proc", format!("{} ({})", procedure.0, procedure.name().unwrap_or("unknown")))
            }
            Field::Type(number, name) => (NAME, "rdma_htype", format!("{number} ({})", name.unwrap_or("unknown"))),
            Field::Credit(credit, family) => (PLAIN, "rdma_credit", credits(credit, family)),
            Field::Flags(flags) => (PLAIN, "rdma_flags", format!("{:#010x} {flags}", flags.bits())),
            Field::InvHandle(handle) => (PLAIN, "rdma_inv_handle", format!("{handle:#010x}")),
            Field::Error(code) => (FAULT, "rdma_err", numbered(code.0, code.name())),
            Field::Property(id, length, value) => {
                let value = match value {
                    Some(value) if id == PropertyId::BRS => numbered(value, ReverseDirection(value).name()),
                    Some(value) => value.to_string(),
                    None if length == 0 => "default".to_owned(),
                    None => octets(length as u64),
                };
                (PLAIN, "  property", format!("{}: {value}", numbered(id.0, id.name())))
            }
            Field::CallSegment(read) => (CHUNK, "Call segment", entry(read)),
            Field::CallChunkEnd => (PLAIN, "Call chunk ends", String::new()),
            Field::ReadSegment(read) => (CHUNK, "Read segment", entry(read)),
            Field::ReadListEnd => (PLAIN, "Read list ends", String::new()),
            Field::WriteChunk(count) => (CHUNK, "Write chunk", segments(count)),
            Field::Segment(target) => (CHUNK, "  segment", segment(target)),
            Field::WriteListEnd => (PLAIN, "Write list ends", String::new()),
            Field::ReplyChunk(None) => (PLAIN, "Reply chunk", "none".to_owned()),
            Field::ReplyChunk(Some(count)) => (CHUNK, "Reply chunk", segments(count)),
        };
        self.line(Some(offset), style, name, &value)
    }

    /// Writes the octets after the header.
    fn after_header(&mut self, message: &Message) -> io::Result<()> {
        let Ok(decoded) = message.decode() else { return Ok(()) };
        let (place, rpc) = (decoded.header.place(), message.rpc.as_ref());
        let (at, earlier) = (decoded.header_length, message.earlier_length());
        let rest = match place {
            PayloadPlace::Chunk | PayloadPlace::Nowhere => return self.write_known_facts(rpc, message),
            PayloadPlace::Part => ", more follow".to_owned(),
            PayloadPlace::Inline if message.earlier_missing().is_some() => {
                ", after earlier parts, some of which are missing".to_owned()
            }
            PayloadPlace::Inline if earlier == 0 => String::new(),
            PayloadPlace::Inline => format!(", after {earlier} in earlier messages"),
        };
        let length = message.length.saturating_sub(at);
        let value = format!("{}{rest}", octets(length as u64));
        self.extent(at, length, NAME, "Payload stream", &value)?;
        match place {
            PayloadPlace::Part => Ok(()),
            _ if rest.is_empty() => {
                self.rpc(at, decoded.payload, message)?;
                self.padding(at, message)
            }
            _ => self.write_known_facts(rpc, message),
        }
    }

    /// The padding of an RDMA_MSGP whose payload begins at `at`.
    fn padding(&mut self, at: usize, message: &Message) -> io::Result<()> {
        let Some(padding) = &message.padding else {
            return self.line(None, WARNING, "  padding", "in an unknown place");
        };
        for range in padding {
            self.extent(at.saturating_add(range.start), range.len(), PLAIN, "  padding", &octets(range.len() as u64))?;
        }
        Ok(())
    }

    /// Writes the errors, and the required reactions of the receivers. A message that the capture cut is not at fault.
    fn faults(&mut self, message: &Message) -> io::Result<()> {
        if message.dialect == Dialect::Version2Unknown {
            let why = "no message on this connection shows which wire format of version 2 it uses";
            self.line(None, WARNING, "not decoded", why)?;
        }
        if let Some(dropped) = message.dropped {
            self.line(None, FAULT, "dropped", &dropped.to_string())?;
        }
        let is_malformed = message.is_malformed().is_some();
        for finding in findings(message) {
            let (style, name) = match finding.severity {
                Severity::Error if is_malformed => (FAULT, "malformed"),
                Severity::Error => (FAULT, "wrong"),
                Severity::Warning => (WARNING, "warning"),
                Severity::Hazard => (WARNING, "hazard"),
            };
            let SendFinding { rule, offset, message, .. } = &finding;
            let text = format!("{message} ({}, {})", rule.slug, rule.section);
            for (index, text) in wrapped(&text, WIDTH - INDENT).iter().enumerate() {
                let (offset, name) = if index == 0 { (Some(*offset), name) } else { (None, "") };
                self.fault(offset, style, name, text)?;
            }
            for reaction in finding.reactions() {
                self.line(None, PLAIN, "", &reaction)?;
            }
        }
        Ok(())
    }

    /// Writes the parts that the capture lacks.
    fn missing(&mut self, message: &Message) -> io::Result<()> {
        let captured = message.octets.len();
        let value = match message.captured {
            Captured::Whole => return Ok(()),
            Captured::Cut => {
                format!("{captured} of {} octets: the capture truncated its frames (snaplen)", message.length)
            }
            Captured::Head => format!("{captured} octets: the capture lacks the packets after them"),
            Captured::Tail => format!("{captured} octets: the capture lacks the packets before them"),
        };
        self.line(None, WARNING, "captured", &value)
    }

    /// The RPC header at the start of a Payload stream that begins at `at`.
    fn rpc(&mut self, at: usize, payload: &[u8], message: &Message) -> io::Result<()> {
        match MessageType::peek(payload) {
            Some((xid, MessageType::CALL)) => match RpcCall::decode(payload) {
                Ok((call, arguments)) => self.call(at, &call, arguments.len(), message),
                Err(error) => self.no_rpc(at, xid, "CALL", error),
            },
            Some((xid, MessageType::REPLY)) => match RpcReply::decode(payload) {
                Ok((reply, results)) => {
                    let results_at = at + payload.len() - results.len();
                    self.reply(at, &reply, results_at..at + payload.len(), message)
                }
                Err(error) => self.no_rpc(at, xid, "REPLY", error),
            },
            Some((_, other)) => self.line(Some(at + 4), FAULT, "  msg_type", &other.0.to_string()),
            None => Ok(()),
        }
    }

    fn no_rpc(&mut self, at: usize, xid: u32, kind: &str, error: RpcError) -> io::Result<()> {
        self.line(Some(at), PLAIN, "  xid", &format!("{xid:#010x}"))?;
        self.line(Some(at + 4), PLAIN, "  msg_type", kind)?;
        let offset = at.saturating_add(error.offset);
        self.fault(Some(offset), FAULT, "  RPC header", &format!("in the Payload stream at {error}"))
    }

    fn call(&mut self, at: usize, call: &RpcCall<'_>, arguments: usize, message: &Message) -> io::Result<()> {
        let rpc = message.rpc.as_ref();
        self.line(Some(at), PLAIN, "  xid", &format!("{:#010x}", call.xid))?;
        self.line(Some(at + 4), PLAIN, "  msg_type", "0 (CALL)")?;
        self.line(Some(at + 8), PLAIN, "  rpcvers", &call.rpc_version.to_string())?;
        self.line(Some(at + 12), PLAIN, "  prog", &call.program.to_string())?;
        self.line(Some(at + 16), PLAIN, "  vers", &call.version.to_string())?;
        let name = rpc.and_then(|rpc| rpc.name).map(|name| format!(" ({name})")).unwrap_or_default();
        self.line(Some(at + 20), PLAIN, "  proc", &format!("{}{name}", call.procedure))?;
        let verifier = at + 24 + auth_length(&call.credential);
        self.line(Some(at + 24), PLAIN, "  cred", &auth(&call.credential))?;
        self.line(Some(verifier), PLAIN, "  verf", &auth(&call.verifier))?;
        let end = verifier + auth_length(&call.verifier);
        self.line(Some(end), PLAIN, "  arguments", &octets(arguments as u64))?;
        self.operations(rpc, message)
    }

    fn reply(&mut self, at: usize, reply: &RpcReply<'_>, results: Range<usize>, message: &Message) -> io::Result<()> {
        self.line(Some(at), PLAIN, "  xid", &format!("{:#010x}", reply.xid))?;
        self.line(Some(at + 4), PLAIN, "  msg_type", "1 (REPLY)")?;
        match &reply.body {
            ReplyBody::Accepted { verifier, status, .. } => {
                self.line(Some(at + 8), PLAIN, "  reply_stat", "0 (MSG_ACCEPTED)")?;
                self.line(Some(at + 12), PLAIN, "  verf", &auth(verifier))?;
                let status_at = at + 12 + auth_length(verifier);
                self.line(Some(status_at), PLAIN, "  accept_stat", &format!("{} ({status})", status.0))?;
            }
            ReplyBody::Denied(_) => {
                self.line(Some(at + 8), FAULT, "  reply_stat", "1 (MSG_DENIED)")?;
                let text = reply.to_string();
                let denial = text.splitn(4, ' ').nth(3).unwrap_or_default();
                self.line(Some(at + 12), FAULT, "  reject_stat", denial)?;
            }
        }
        if !results.is_empty() {
            self.line(Some(results.start), PLAIN, "  results", &octets(results.len() as u64))?;
        }
        self.write_known_facts(message.rpc.as_ref(), message)
    }

    /// Writes facts about a message that the message itself lacks: a reply does not name the procedure.
    fn write_known_facts(&mut self, rpc: Option<&Rpc>, message: &Message) -> io::Result<()> {
        let Some(rpc) = rpc else { return Ok(()) };
        if let Some(name) = rpc.name {
            self.line(None, PLAIN, "  procedure", name)?;
        }
        if let Some(Status::Success(Some(code))) = rpc.status {
            self.line(None, PLAIN, "  status", &status(rpc, code))?;
        }
        self.operations(Some(rpc), message)
    }

    /// Writes the operations, each with the fields that the message has.
    fn operations(&mut self, rpc: Option<&Rpc>, message: &Message) -> io::Result<()> {
        let Some(rpc) = rpc else { return Ok(()) };
        if let Some(protection) = rpc.security {
            self.line(None, PLAIN, "  RPCSEC_GSS", protection.name())?;
        }
        let arguments = message.arguments();
        if rpc.operations.is_empty() {
            arguments.iter().try_for_each(|arguments| self.fields(arguments))?;
        }
        for (index, operation) in rpc.operations.iter().enumerate() {
            let failed = operation.status.filter(|status| *status != 0);
            let status = failed.map(|code| format!("  {}", status(rpc, code))).unwrap_or_default();
            let value = format!("{} ({}){status}", operation.code, operation.name);
            self.line(None, PLAIN, "    operation", &value)?;
            arguments.get(index).into_iter().try_for_each(|arguments| self.fields(arguments))?;
        }
        Ok(())
    }

    /// Writes the fields of an operation.
    fn fields(&mut self, arguments: &OperationArguments<'_>) -> io::Result<()> {
        let OperationArguments { count, stateid, .. } = *arguments;
        let count = count.map(|count| format!("count {count}"));
        let stateid = stateid.map(|stateid| format!("stateid {}", hexadecimal(stateid)));
        for text in count.into_iter().chain(stateid).chain(fields(arguments)) {
            self.line(None, DIM, "", &format!("  {text}"))?;
        }
        Ok(())
    }
}

/// Text of `rdma_credit` of version 2. Nothing shows which draft of family B the sender follows, so both readings are given.
fn credits(credit: Credit, family: Option<Family>) -> String {
    let (word, limit, granted, maximum) = (credit.0, credit.limit(), credit.granted(), credit.maximum());
    match family {
        Some(Family::A) => format!("{word} ({granted} granted, {maximum} at most)"),
        Some(Family::B) | None => {
            format!("{word} (-03, -04: {granted} granted, {maximum} at most; -06, -07: limit {limit})")
        }
    }
}

fn numbered(code: u32, name: Option<&str>) -> String {
    name.map_or_else(|| code.to_string(), |name| format!("{code} ({name})"))
}

fn status(rpc: &Rpc, code: u32) -> String {
    let callback = rpc.callback.is_callback();
    numbered(code, rpc.procedure.and_then(|procedure| nfs::status::name(&procedure, callback, code)))
}

fn segment(segment: Segment) -> String {
    format!("handle {:#010x}  length {:<8}  offset {:#018x}", segment.handle, segment.length, segment.offset)
}

fn segments(count: u32) -> String {
    if count == 1 { "1 segment".to_owned() } else { format!("{count} segments") }
}

fn auth(auth: &Auth<'_>) -> String {
    format!("{} ({}), {}", auth.flavor.0, auth.flavor, octets(auth.body.len() as u64))
}

/// Octets of a credential or verifier on the wire: flavor, length, body, padding.
fn auth_length(auth: &Auth<'_>) -> usize {
    8 + auth.body.len() + padding(auth.body.len())
}
