//! Messages as lines of text in columns.

use std::fmt::Write as _;
use std::io;

use rpcrdma::lists::Chunks;
use rpcrdma::v2::family_b::HeaderType;
use rpcrdma::v2::{Family, family_a};
use rpcrdma_dissector::nfs::Callback;
use rpcrdma_dissector::{
    Captured, Decoded, Dialect, Files, Header, Message, MessageDirection, PayloadPlace, Terminated,
};

use crate::called::{called, failure, without_prefix};
use crate::format::column::{CellStyle, Column, TextColumn, push, push_xid};
use crate::format::line::{CALL, CHUNK, DIM, FAULT, NAME, PLAIN, REPLY, WARNING};
use crate::lines::{AddressPair, At, Lines};

/// The place of a message.
fn at(message: &Message) -> At {
    At {
        stamp: message.stamp,
        connection: message.connection,
        ends: AddressPair { from: message.from, to: message.to },
    }
}

/// The columns of a message between the columns of the place and what is called.
const fn columns() -> [Column<Message>; 4] {
    [
        Column {
            style: CellStyle::Of(|message| if message.error().is_some() { FAULT } else { PLAIN }),
            ..Column::left("proc", &["rdma_proc"], 5, PLAIN, |message, _, text| push_procedure(text, message))
        },
        Column {
            gap: 0,
            ..Column::left("rdma_xid", &["rdma_xid"], 10, PLAIN, |message, _, text| match message.rdma_xid() {
                Some(xid) => push_xid(text, xid),
                None => text.push('?'),
            })
        },
        // The heading takes the gap before it; a number of six digits leaves it.
        Column::right("inline", &["payload_octets"], 6, PLAIN, |message, _, text| {
            inline(message).into_iter().for_each(|octets| push(text, Some(format_args!(" {octets}"))));
        }),
        Column {
            style: CellStyle::Of(
                |message| if direction(message) == Some(MessageDirection::Call) { CALL } else { REPLY },
            ),
            ..Column::left("", &["rpc.direction"], 5, PLAIN, |message, _, text| match direction(message) {
                Some(MessageDirection::Call) => text.push_str("call"),
                Some(MessageDirection::Reply) => text.push_str("reply"),
                None => {}
            })
        },
    ]
}

/// The column of what is called, before notes on chunks and whatever is unusual.
const fn called_column() -> Column<Message> {
    let fields = &["rpc.operation", "rpc.operations", "reads", "writes", "reply"];
    Column {
        gap: 0,
        ..Column::left("RPC, chunks", fields, 0, NAME, |message, _, text| {
            let Some(rpc) = &message.rpc else { return };
            // The names of operations imply NFSv4, and leave little room.
            let name = if rpc.operations.is_empty() { rpc.name } else { Some("") };
            text.push_str(called(name, rpc.procedure, &rpc.operations).trim_start());
        })
    }
}

pub(crate) fn text_columns() -> Vec<TextColumn> {
    [Lines::text_columns(&["from", "to"], &columns()), TextColumn::list_columns(&[called_column()])].concat()
}

fn push_procedure(text: &mut String, message: &Message) {
    match (short(message), message.prefix()) {
        (Some(name), _) => text.push_str(name),
        (None, Some(prefix)) => push(text, Some(prefix.procedure.0)),
        (None, None) => text.push('?'),
    }
}

/// Octets of the Payload stream in the Send; `None` for a message without the end, which may have any length.
fn inline(message: &Message) -> Option<usize> {
    let decoded = message.decode().ok().filter(|_| message.captured != Captured::Head)?;
    let has_payload = decoded.header.place() != PayloadPlace::Nowhere;
    has_payload.then(|| message.length.saturating_sub(decoded.header_length))
}

fn direction(message: &Message) -> Option<MessageDirection> {
    message.rpc.as_ref().map(|rpc| rpc.direction)
}

impl Lines {
    /// Writes the headings of the columns of [`message`](Self::message), above the `first` message.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn message_heading(&mut self, out: &mut impl io::Write, first: &Message, files: &Files) -> io::Result<()> {
        let mut line = self.heading(&at(first), files, &columns());
        line.headings(&[called_column()]);
        line.write(out)
    }

    /// Writes a message.
    ///
    /// The columns: frame, seconds, connection, sender and receiver, `rdma_proc` without the prefix `RDMA_`, `rdma_xid`, octets
    /// of the Payload stream in the Send, call or reply, and then the called procedure, the chunks, and anything unusual. If a
    /// capture consists of several files, the frame's place in the file follows the frame.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn message(&mut self, out: &mut impl io::Write, message: &Message, files: &Files) -> io::Result<()> {
        let mut line = self.begin_line(&at(message), files);
        line.cells(&columns(), message);
        line.last_cell(&called_column(), message, &notes(message));
        line.write(out)
    }

    /// Writes a Terminate in the columns of a message. The error follows the name `Terminate`.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn terminated(&mut self, out: &mut impl io::Write, terminated: &Terminated, files: &Files) -> io::Result<()> {
        let Terminated { stamp, connection, from, to, terminate, .. } = *terminated;
        let mut line = self.begin_line(&At { stamp, connection, ends: AddressPair { from, to } }, files).unlimited();
        line.push(FAULT, "Terminate");
        line.print(PLAIN, format_args!("  {terminate}"));
        line.write(out)
    }
}

/// Notes about a message.
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
        notes.push((WARNING, "version 2, wire format unknown".to_owned()));
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
        Captured::Cut => {
            notes.push((WARNING, format!("truncated: {} of {} octets", message.octets.len(), message.length)))
        }
        Captured::Head => notes.push((WARNING, "end missing".to_owned())),
        Captured::Tail => notes.push((WARNING, "start missing".to_owned())),
    }
    if message.retransmitted > 0 {
        notes.push((WARNING, format!("sent {} times", message.retransmitted.saturating_add(1))));
    }
    notes
}

/// The short name of `rdma_proc` or `rdma_htype` in a column; `None` for an unknown number.
fn short(message: &Message) -> Option<&'static str> {
    let (name, number) = (message.type_name()?, message.prefix()?.procedure.0);
    let short = match message.dialect {
        Dialect::Version2(Family::A) => (number == family_a::HeaderType::RDMA2_CONNPROP.0).then_some("PROP"),
        Dialect::Version2(Family::B) => short_of_family_b(HeaderType(number)),
        Dialect::Version1 | Dialect::Version2Unknown => None,
    };
    short.or(Some(name.trim_start_matches("RDMA_").trim_start_matches("RDMA2_")))
}

const fn short_of_family_b(header_type: HeaderType) -> Option<&'static str> {
    Some(match header_type {
        HeaderType::RDMA2_CONNPROP_FINAL => "PROP",
        HeaderType::RDMA2_CONNPROP_MIDDLE => "PROP+",
        HeaderType::RDMA2_CALL_EXTERNAL => "CEXT",
        HeaderType::RDMA2_CALL_MIDDLE => "CMID",
        HeaderType::RDMA2_CALL_INLINE => "CALL",
        HeaderType::RDMA2_REPLY_EXTERNAL => "REXT",
        HeaderType::RDMA2_REPLY_MIDDLE => "RMID",
        HeaderType::RDMA2_REPLY_INLINE => "REPLY",
        _ => return None,
    })
}

/// Returns the additions of version 2: parts of a Payload stream, transport properties, grants.
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
        PayloadPlace::Part => Some("more follows".to_owned()),
        _ if message.earlier_length() > 0 => Some(format!("after {} octets", message.earlier_length())),
        _ => None,
    }
}

/// Octets of each chunk, or the sum if there are many Read chunks or Write chunks.
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
