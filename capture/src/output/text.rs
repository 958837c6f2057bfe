//! Messages and transactions as lines of text in columns.

use core::fmt::Write as _;
use std::io;

use rpcrdma::lists::Chunks;
use rpcrdma::v2::Family;

use super::json::{form, status};
use super::style::{CALL, CHUNK, DIM, FAULT, Line, NAME, PLAIN, REPLY, WARNING};
use crate::event::Terminated;
use crate::file::Time;
use crate::header::{Decoded, Dialect, Header, Place};
use crate::link::Address;
use crate::message::{Captured, Direction, Message, Rpc, Status};
use crate::nfs::{self, Callback, Operation, Procedure};
use crate::operation::Stamp;
use crate::transaction::{Half, NotRebuilt, Transaction};

/// Columns a line of [`Lines::message`] has at most, with IPv4 addresses.
const WIDTH: usize = 120;
/// Columns of the widest pair of IPv4 addresses.
const IPV4_PAIR: usize = 33;

/// Writes the lines of one output, in columns that get wider where they must.
#[derive(Debug)]
pub struct Lines {
    colour: bool,
    start: Time,
    pair: usize,
}

impl Lines {
    /// Lines with or without colour; times are shown as seconds since `start`.
    #[must_use]
    pub const fn new(colour: bool, start: Time) -> Self {
        Self { colour, start, pair: 0 }
    }

    /// Writes what the columns of [`message`](Self::message) are.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn message_heading(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut line = Line::new(self.colour, WIDTH);
        line.push(DIM, " frame     seconds  C from → to               proc  rdma_xid   inline       RPC, chunks");
        line.write(out)
    }

    /// Writes a message.
    ///
    /// The columns: frame, seconds, connection, who sent it to whom, `rdma_proc` without its `RDMA_`, `rdma_xid`, octets
    /// of the Payload stream in the Send, call or reply, and then what is called, the chunks, and what is not as it should
    /// be.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn message(&mut self, out: &mut impl io::Write, message: &Message) -> io::Result<()> {
        let mut line = self.begin(WIDTH, message.stamp, message.connection, (message.from, message.to));
        self.header(&mut line, message);
        let notes = notes(message);
        let width: usize = notes.iter().map(|(_, note)| note.chars().count() + 2).sum();
        if let Some(rpc) = &message.rpc {
            let room = line.room().saturating_sub(width);
            // The names of operations tell NFSv4, and leave little room.
            let name = if rpc.operations.is_empty() { rpc.name } else { Some("") };
            line.push_within(NAME, called(name, rpc.procedure, &rpc.operations).trim_start(), room);
        }
        for (style, note) in notes {
            line.push(PLAIN, "  ");
            line.push(style, &note);
        }
        line.write(out)
    }

    /// Writes a Terminate, in the columns of a message: what it says stands behind its name.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn terminated(&mut self, out: &mut impl io::Write, terminated: &Terminated) -> io::Result<()> {
        let Terminated { stamp, connection, from, to, terminate } = terminated;
        let mut line = self.begin(usize::MAX >> 1, *stamp, *connection, (*from, *to));
        line.push(FAULT, "Terminate");
        line.push(PLAIN, &format!("  {terminate}"));
        line.write(out)
    }

    /// The columns that every line of `decode` begins with; the line has at most `width` with IPv4 addresses.
    fn begin(&mut self, width: usize, stamp: Stamp, connection: u32, (from, to): (Address, Address)) -> Line {
        let pair = format!("{from} → {to}");
        self.pair = self.pair.max(pair.chars().count());
        let mut line = Line::new(self.colour, width + self.pair.saturating_sub(IPV4_PAIR));
        line.push(DIM, &format!("{:>6} {:>11} {connection:>2} ", stamp.frame, self.seconds(stamp.time)));
        line.column(PLAIN, &pair, self.pair + 2);
        line
    }

    /// Seconds since the start, with microseconds.
    fn seconds(&self, time: Time) -> String {
        let microseconds = time.0.saturating_sub(self.start.0) / 1000;
        format!("{}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000)
    }

    fn header(&self, line: &mut Line, message: &Message) {
        let Some(prefix) = message.prefix() else {
            line.push(PLAIN, &format!("{:<5} {:<10} {:>5} {:<6}", "?", "?", "", ""));
            return;
        };
        let procedure = match message.type_name() {
            Some(name) => short(name).to_owned(),
            None => prefix.procedure.0.to_string(),
        };
        let style = if message.error().is_some() { FAULT } else { PLAIN };
        line.column(style, &procedure, 6);
        let has_payload = |decoded: &Decoded<'_>| decoded.header.place() != Place::Nowhere;
        let payload = message.decode().ok().filter(has_payload);
        // Without its end a message may be of any length.
        let payload = payload.filter(|_| message.captured != Captured::Head);
        let inline = payload.map(|decoded| message.length.saturating_sub(decoded.header_length).to_string());
        line.push(PLAIN, &format!("{:#010x} {:>5} ", prefix.xid, inline.unwrap_or_default()));
        match message.rpc.as_ref().map(|rpc| rpc.direction) {
            Some(Direction::Call) => line.column(CALL, "call", 6),
            Some(Direction::Reply) => line.column(REPLY, "reply", 6),
            None => line.column(PLAIN, "", 6),
        }
    }

    /// Writes what the columns of [`transaction`](Self::transaction) are.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn transaction_heading(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut line = Line::new(self.colour, usize::MAX);
        let frames = "conn xid          call  reply       latency    inline octets     Read    Write";
        line.push(DIM, &format!("{frames}  {:<15}  {:<14}  RPC", "sent", "status"));
        line.write(out)
    }

    /// Writes a transaction.
    ///
    /// The columns: connection, `rdma_xid`, frame of the call and of the reply, latency, octets of the Payload streams in
    /// the Send of the call and of the reply, octets moved by RDMA Read and by RDMA Write, how call and reply were sent,
    /// how the call ended, and what was called. The list of operations is never cut.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn transaction(&self, out: &mut impl io::Write, transaction: &Transaction) -> io::Result<()> {
        let Transaction { connection, xid, call, reply, .. } = transaction;
        let mut line = Line::new(self.colour, usize::MAX);
        let frame = |half: &Option<Half>| half.as_ref().map_or("-".to_owned(), |half| half.stamp.frame.to_string());
        let inline = |half: &Option<Half>| half.as_ref().map_or("-".to_owned(), |half| half.inline.to_string());
        let sent = |half: &Option<Half>| half.as_ref().map_or("-", |half| form(half.form));
        line.push(DIM, &format!("{connection:>4} "));
        line.push(PLAIN, &format!("{xid:#010x} {:>6} {:>6} ", frame(call), frame(reply)));
        line.push(PLAIN, &format!("{:>13} ", transaction.latency().map_or("-".to_owned(), milliseconds)));
        line.push(PLAIN, &format!("{:>8} {:>8} ", inline(call), inline(reply)));
        line.push(CHUNK, &format!("{:>8} {:>8}  ", transaction.read_octets, transaction.write_octets));
        line.column_apart(PLAIN, &format!("{}/{}", sent(call), sent(reply)), 17);
        let (style, ended) = ended(transaction);
        line.column_apart(style, &ended, 16);
        line.push(NAME, &called(transaction.name, transaction.procedure, &transaction.operations));
        if transaction.reverse {
            line.push(DIM, "  reverse direction");
        }
        if transaction.callback == Callback::Guessed {
            line.push(DIM, ", program guessed");
        }
        for (which, half) in [("call", call), ("reply", reply)] {
            if let Some(Half { message: Err(reason), .. }) = half
                && !matches!(reason, NotRebuilt::Error(_))
            {
                line.push(WARNING, &format!("  {which} not rebuilt: {reason}"));
            }
        }
        line.write(out)
    }
}

fn milliseconds(nanoseconds: u64) -> String {
    format!("{}.{:03} ms", nanoseconds / 1_000_000, nanoseconds / 1000 % 1000)
}

/// What is called: the name, or the numbers; of a COMPOUND the operations.
fn called(name: Option<&'static str>, procedure: Option<Procedure>, operations: &[Operation]) -> String {
    let mut text = match (name, procedure) {
        // The operations say it all.
        (Some(name), _) if !operations.is_empty() => {
            name.trim_end_matches(" COMPOUND").trim_end_matches(" CB_COMPOUND").to_owned()
        }
        (Some(name), _) => name.to_owned(),
        (None, Some(Procedure { program, version, procedure })) => {
            format!("program {program} version {version} procedure {procedure}")
        }
        (None, None) => "procedure unknown".to_owned(),
    };
    for operation in operations {
        text.push(' ');
        text.push_str(operation.name);
    }
    text
}

/// What else there is to say about a message.
fn notes(message: &Message) -> Vec<(anstyle::Style, String)> {
    let mut notes = Vec::new();
    if let Some(error) = message.error() {
        notes.push((FAULT, without_prefix(&error.to_string())));
    } else if let Ok(decoded) = message.decode() {
        let call = decoded.header.call_chunk();
        let call = (!call.is_empty()).then(|| format!("call {}", call.length()));
        let chunks = decoded.header.chunks().as_ref().map(chunks).filter(|text| !text.is_empty());
        notes.extend(call.into_iter().chain(chunks).map(|text| (CHUNK, text)));
        notes.extend(continued(message, &decoded).map(|text| (CHUNK, text)));
    } else if let Some(error) = message.is_malformed() {
        notes.push((FAULT, format!("malformed at octet {}: {}", error.offset, error.kind.name())));
    }
    if message.dialect == Dialect::Version2Unknown && message.error().is_none() {
        notes.push((WARNING, "version 2, wire format not known".to_owned()));
    }
    if message.earlier_missing().is_some() {
        notes.push((WARNING, "earlier parts missing".to_owned()));
    }
    notes.extend(message.dropped.map(|dropped| (FAULT, format!("dropped: {dropped}"))));
    notes.extend(message.rpc.as_ref().and_then(failure).map(|failure| (WARNING, failure)));
    if message.rpc.as_ref().is_some_and(|rpc| rpc.reverse) {
        notes.push((DIM, "reverse".to_owned()));
    }
    if message.rpc.as_ref().is_some_and(|rpc| rpc.callback == Callback::Guessed) {
        notes.push((DIM, "program guessed".to_owned()));
    }
    match message.captured {
        Captured::Whole => {}
        Captured::Cut => notes.push((WARNING, format!("cut: {} of {} octets", message.octets.len(), message.length))),
        Captured::Head => notes.push((WARNING, "end missing".to_owned())),
        Captured::Tail => notes.push((WARNING, "start missing".to_owned())),
    }
    if message.retransmitted > 0 {
        notes.push((WARNING, format!("sent {} times", message.retransmitted.saturating_add(1))));
    }
    notes
}

/// What `rdma_proc` or `rdma_htype` is called in a column.
fn short(name: &'static str) -> &'static str {
    match name {
        "RDMA2_CONNPROP" | "RDMA2_CONNPROP_FINAL" => "PROP",
        "RDMA2_CONNPROP_MIDDLE" => "PROP+",
        "RDMA2_CALL_EXTERNAL" => "CEXT",
        "RDMA2_CALL_MIDDLE" => "CMID",
        "RDMA2_CALL_INLINE" => "CALL",
        "RDMA2_REPLY_EXTERNAL" => "REXT",
        "RDMA2_REPLY_MIDDLE" => "RMID",
        "RDMA2_REPLY_INLINE" => "REPLY",
        _ => name.trim_start_matches("RDMA_").trim_start_matches("RDMA2_"),
    }
}

/// Names of version 2 without what all of them begin with.
fn without_prefix(text: &str) -> String {
    ["RDMA2_PROPID_", "RDMA2_RVRSDIR_", "RDMA2_"].iter().fold(text.to_owned(), |text, prefix| text.replace(prefix, ""))
}

/// What version 2 adds: parts of a Payload stream, transport properties, grants.
fn continued(message: &Message, decoded: &Decoded<'_>) -> Option<String> {
    let Header::V2(header) = &decoded.header else { return None };
    if let Some(properties) = header.properties() {
        let properties: Vec<String> = properties.iter().map(|property| without_prefix(&property.to_string())).collect();
        return Some(properties.join(" ")).filter(|text| !text.is_empty());
    }
    match decoded.header.place() {
        _ if header.is_grant() => Some(match header.family() {
            Family::A => format!("grants {}", header.credit().granted()),
            // By -03 and -04, or by -06 and -07.
            Family::B => format!("grants {} or up to {}", header.credit().granted(), header.credit().limit()),
        }),
        Place::Part => Some("more follows".to_owned()),
        _ if message.earlier_length() > 0 => Some(format!("after {} octets", message.earlier_length())),
        _ => None,
    }
}

/// Octets of each chunk; of many Read chunks or Write chunks the sum.
fn chunks(chunks: &Chunks<'_>) -> String {
    let mut text = String::new();
    let mut add = |arguments: core::fmt::Arguments<'_>| {
        if !text.is_empty() {
            text.push(' ');
        }
        // Writing to a string cannot fail.
        let _written = text.write_fmt(arguments);
    };
    match chunks.reads.chunks().count() {
        count @ 3.. => add(format_args!("{count} reads {}", chunks.reads.length())),
        _ => chunks
            .reads
            .chunks()
            .for_each(|chunk| add(format_args!("read {}@{}", chunk.segments.length(), chunk.position))),
    }
    match chunks.writes.len() {
        count @ 3.. => {
            let length = chunks.writes.iter().fold(0_u64, |sum, chunk| sum.saturating_add(chunk.length()));
            add(format_args!("{count} writes {length}"));
        }
        _ => chunks.writes.iter().for_each(|chunk| add(format_args!("write {}", chunk.length()))),
    }
    if let Some(chunk) = chunks.reply {
        add(format_args!("reply {}", chunk.length()));
    }
    text
}

/// How a call failed, if it did.
fn failure(rpc: &Rpc) -> Option<String> {
    match rpc.status? {
        Status::Success(None | Some(0)) => None,
        Status::Success(Some(code)) => Some(nfs_status(rpc.procedure, rpc.callback, code)),
        other => Some(status(other).to_owned()),
    }
}

fn nfs_status(procedure: Option<Procedure>, callback: Callback, code: u32) -> String {
    let name = procedure.and_then(|procedure| nfs::status::name(&procedure, callback.is_callback(), code));
    name.map_or_else(|| format!("status {code}"), str::to_owned)
}

fn ended(transaction: &Transaction) -> (anstyle::Style, String) {
    match transaction.status {
        None if transaction.reply.is_none() => (WARNING, "no reply".to_owned()),
        None => (WARNING, "unknown".to_owned()),
        Some(Status::Success(None)) => (REPLY, "SUCCESS".to_owned()),
        Some(Status::Success(Some(code))) => {
            let style = if code == 0 { REPLY } else { WARNING };
            (style, nfs_status(transaction.procedure, transaction.callback, code))
        }
        Some(error @ Status::Error(_)) => (FAULT, without_prefix(status(error))),
        Some(other) => (WARNING, status(other).to_owned()),
    }
}
