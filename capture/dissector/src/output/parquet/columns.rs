//! The columns of each table: the fields of the JSON records, in their order. A field that has no column is an error when the
//! first row is written, and a test compares every row with JSON.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

/// Subject of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// `transactions`: RPCs, by the time of the call.
    Transactions,
    /// `messages`: Sends.
    Messages,
    /// `findings`: rules that were broken.
    Findings,
}

impl TableKind {
    /// The name of the table, and of its directory.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Messages => "messages",
            Self::Findings => "findings",
        }
    }
}

pub(super) fn of(kind: TableKind) -> SchemaRef {
    let columns = match kind {
        TableKind::Transactions => transactions(),
        TableKind::Messages => messages(),
        TableKind::Findings => findings(),
    };
    Arc::new(Schema::new(columns))
}

fn column(name: &str, of: DataType) -> Field {
    Field::new(name, of, true)
}

fn text(name: &str) -> Field {
    column(name, DataType::Utf8)
}

/// Protocols, octets, frames and times need no more than 63 bits.
fn number(name: &str) -> Field {
    column(name, DataType::Int64)
}

fn flag(name: &str) -> Field {
    column(name, DataType::Boolean)
}

fn object(name: &str, fields: impl Into<Fields>) -> Field {
    column(name, DataType::Struct(fields.into()))
}

/// Objects of this form, or single values.
fn list(name: &str, of: DataType) -> Field {
    column(name, DataType::List(Arc::new(column("element", of))))
}

fn objects(name: &str, fields: impl Into<Fields>) -> Field {
    list(name, DataType::Struct(fields.into()))
}

fn join(parts: impl IntoIterator<Item = Vec<Field>>) -> Vec<Field> {
    parts.into_iter().flatten().collect()
}

fn transactions() -> Vec<Field> {
    let place = ["call", "reply"].map(|half| {
        vec![number(&format!("{half}_frame")), text(&format!("{half}_file")), number(&format!("{half}_file_frame"))]
    });
    join([
        vec![number("connection"), text("rdma_xid"), text("requester"), text("responder")],
        join(place),
        vec![
            number("time_ns"),
            number("latency_ns"),
            object("phases", phases()),
            text("phases_missing"),
            object("recovery", recovery()),
            text("recovery_missing"),
            number("credit_wait_ns"),
            text("credit_wait_missing"),
        ],
        called(),
        vec![
            objects("arguments", arguments()),
            object("call", half()),
            object("reply", half()),
            number("rdma_read_octets"),
            number("rdma_write_octets"),
        ],
        ended(),
    ])
}

fn messages() -> Vec<Field> {
    join([
        place(),
        vec![text("from"), text("to"), text("requester"), text("responder")],
        vec![object("mirror_session", vec![text("encapsulation"), number("id")]), number("retransmitted")],
        vec![text("rdma_xid"), number("rdma_vers"), number("rdma_credit"), text("rdma_proc")],
        vec![number("header_octets"), number("payload_octets"), number("trailing_octets")],
        vec![reads("reads"), objects("writes", vec![segments()]), object("reply", vec![segments()])],
        vec![object("error", error()), text("invalidates"), object("msgp", msgp()), object("version_2", version_2())],
        vec![object("malformed", malformed())],
        vec![object("incomplete", vec![number("captured_octets"), text("missing")])],
        vec![object("rpc", join([vec![text("direction")], called(), ended()]))],
    ])
}

fn findings() -> Vec<Field> {
    join([
        vec![text("rule"), text("severity")],
        place(),
        vec![text("sender"), text("receiver"), text("blame"), text("rdma_xid"), number("offset_octets")],
        vec![text("section"), text("message"), text("known"), flag("in_baseline")],
    ])
}

fn place() -> Vec<Field> {
    vec![number("frame"), text("file"), number("file_frame"), number("time_ns"), number("connection")]
}

fn phases() -> Vec<Field> {
    ["call_ns", "responder_ns", "pull_ns", "push_ns", "reply_ns", "requester_ns"].map(number).to_vec()
}

fn recovery() -> Vec<Field> {
    let counts =
        ["ns", "timeouts", "implied_naks", "causes_not_seen", "resent_packets", "naks", "rnr_naks", "rnr_wait_ns"]
            .map(number);
    join([counts.to_vec(), vec![list("frames", DataType::Int64), number("frames_left_out")]])
}

fn called() -> Vec<Field> {
    vec![
        flag("reverse"),
        flag("program_guessed"),
        number("program"),
        number("version"),
        number("procedure"),
        text("name"),
        text("operation"),
        objects("operations", vec![text("name"), number("number"), object("status", numbered())]),
        text("security"),
    ]
}

fn ended() -> Vec<Field> {
    vec![object("status", numbered()), object("nfs_status", numbered())]
}

fn numbered() -> Vec<Field> {
    vec![text("name"), number("number")]
}

fn arguments() -> Vec<Field> {
    let handle = || vec![text("hash"), text("octets"), text("file_name")];
    vec![
        text("name"),
        object("handle", handle()),
        text("file_name"),
        text("new_file_name"),
        // A file may be addressed up to its last octet.
        column("offset", DataType::UInt64),
        number("count"),
        text("stateid"),
        object("named_handle", handle()),
    ]
}

fn half() -> Vec<Field> {
    vec![text("form"), number("inline_octets"), flag("rebuilt"), number("length_octets"), text("reason")]
}

fn segments() -> Field {
    objects("segments", vec![text("handle"), number("length"), text("offset")])
}

fn reads(name: &str) -> Field {
    objects(name, vec![number("position"), segments()])
}

fn error() -> Vec<Field> {
    let numbers = ["low", "high", "max_chunks", "max_segments", "chunk_index", "length_needed"].map(number);
    join([vec![text("code")], numbers.to_vec()])
}

fn msgp() -> Vec<Field> {
    ["rdma_align", "rdma_thresh", "padding_octets"].map(number).to_vec()
}

fn version_2() -> Vec<Field> {
    vec![
        text("rdma_htype"),
        text("family"),
        object("credit", ["granted", "maximum", "limit"].map(number).to_vec()),
        list("rdma_flags", DataType::Utf8),
        number("rdma_remaining"),
        text("rdma_inv_handle"),
        reads("call"),
        objects("properties", vec![number("id"), text("name"), number("number"), text("meaning"), text("octets")]),
        number("earlier_octets"),
        text("dropped"),
    ]
}

fn malformed() -> Vec<Field> {
    let reaction = vec![text("requester"), text("responder")];
    vec![text("kind"), number("offset_octets"), object("reaction", reaction)]
}
