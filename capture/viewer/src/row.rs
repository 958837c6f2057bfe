//! An RPC in the table. Its numbers are read from the record that `rpcrdma transactions --json` prints.

use std::borrow::Cow;
use std::io;
use std::num::NonZeroU64;

use dissector::{Half, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::names::{Name, Names};

/// Fields of the record of an RPC that the table shows.
#[derive(Debug, Deserialize)]
pub(crate) struct TransactionRecord<'a> {
    connection: u32,
    #[serde(borrow)]
    rdma_xid: Cow<'a, str>,
    #[serde(borrow)]
    requester: Cow<'a, str>,
    #[serde(borrow)]
    responder: Cow<'a, str>,
    call_frame: Option<NonZeroU64>,
    reply_frame: Option<NonZeroU64>,
    time_ns: Option<u64>,
    latency_ns: Option<u64>,
    phases: Option<Phases>,
    recovery: Option<RecoveryRecord>,
    reverse: bool,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    operation: Cow<'a, str>,
    #[serde(borrow)]
    operations: Option<Vec<OperationRecord<'a>>>,
    rdma_read_octets: u64,
    rdma_write_octets: u64,
    #[serde(borrow)]
    status: Option<StatusRecord<'a>>,
    #[serde(borrow)]
    nfs_status: Option<StatusRecord<'a>>,
}

/// Where the time of an RPC went.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Phases {
    call_ns: u64,
    responder_ns: u64,
    pull_ns: u64,
    push_ns: u64,
    reply_ns: u64,
    requester_ns: u64,
}

#[derive(Debug, Deserialize)]
struct RecoveryRecord {
    ns: u64,
    resent_packets: u64,
}

#[derive(Debug, Deserialize)]
struct OperationRecord<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
struct StatusRecord<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    number: Option<u32>,
}

/// Connection, XID, and the frames of call and reply.
pub(crate) type RpcKey = (u32, u32, Option<u64>, Option<u64>);

/// The [key](Row::key) of an RPC that was read again.
pub(crate) fn key(transaction: &Transaction) -> RpcKey {
    let frame = |half: &Option<Half>| half.as_ref().map(|half| half.stamp.frame);
    (transaction.connection, transaction.xid, frame(&transaction.call), frame(&transaction.reply))
}

/// The record that `write` writes, as the program prints it.
pub(crate) fn record(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<Box<RawValue>> {
    let mut line = Vec::new();
    write(&mut line)?;
    Ok(RawValue::from_string(String::from_utf8_lossy(&line).trim_end().to_owned())?)
}

/// An RPC in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) connection: u32,
    pub(crate) xid: u32,
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    pub(crate) time: u64,
    pub(crate) latency: Option<u64>,
    pub(crate) phases: Option<Phases>,
    /// Nanoseconds of the latency that were spent on lost packets, and packets sent again.
    pub(crate) recovery: u64,
    pub(crate) resent: u64,
    pub(crate) call: Option<NonZeroU64>,
    pub(crate) reply: Option<NonZeroU64>,
    pub(crate) client: Name,
    pub(crate) server: Name,
    /// The name of the procedure, such as `NFSv4 COMPOUND`.
    pub(crate) procedure: Name,
    /// Name by which the RPC is counted, such as `NFSv4 READ`.
    pub(crate) operation: Name,
    /// All operations of a COMPOUND, joined by spaces.
    pub(crate) operations: Name,
    pub(crate) file: Name,
    pub(crate) status: Name,
    pub(crate) status_number: Option<u32>,
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) has_failed: bool,
}

impl Row {
    /// Takes the record of an RPC, and the name of its file.
    pub(crate) fn new(record: &TransactionRecord<'_>, file: &str, names: &mut Names) -> Self {
        let operations: Vec<&str> = record.operations.iter().flatten().map(|operation| &*operation.name).collect();
        let (client, server) = match record.reverse {
            false => (&record.requester, &record.responder),
            true => (&record.responder, &record.requester),
        };
        let (status, status_number, has_failed) = record.outcome();
        let recovery = record.recovery.as_ref();
        Self {
            connection: record.connection,
            xid: dissector::values::xid(&record.rdma_xid).unwrap_or_default(),
            time: record.time_ns.unwrap_or_default(),
            latency: record.latency_ns,
            phases: record.phases,
            recovery: recovery.map_or(0, |recovery| recovery.ns),
            resent: recovery.map_or(0, |recovery| recovery.resent_packets),
            call: record.call_frame,
            reply: record.reply_frame,
            client: names.insert(client),
            server: names.insert(server),
            procedure: names.insert(record.name.as_deref().unwrap_or_default()),
            operation: names.insert(&record.operation),
            operations: names.insert(&operations.join(" ")),
            file: names.insert(file),
            status: names.insert(status),
            status_number,
            read: record.rdma_read_octets,
            written: record.rdma_write_octets,
            has_failed,
        }
    }

    /// Properties that tell the RPC from all others of the capture.
    pub(crate) fn key(&self) -> RpcKey {
        (self.connection, self.xid, self.call.map(u64::from), self.reply.map(u64::from))
    }

    /// `true` for a call without a reply.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.call.is_some() && self.reply.is_none()
    }

    /// When the RPC was over, or `last` if it was not.
    pub(crate) fn end(&self, last: u64) -> u64 {
        match self.latency {
            Some(latency) => self.time.saturating_add(latency),
            None if self.is_waiting() => last,
            None => self.time,
        }
    }
}

impl TransactionRecord<'_> {
    /// Name and number of the status, and `true` if it is a failure. The status of NFS says more than that of RPC.
    fn outcome(&self) -> (&str, Option<u32>, bool) {
        let is_success = |status: &StatusRecord<'_>| status.name.as_deref() == Some("SUCCESS");
        match (&self.status, &self.nfs_status) {
            (Some(status), Some(nfs)) if is_success(status) => {
                (nfs.name.as_deref().unwrap_or("unknown"), nfs.number, nfs.number.is_some_and(|number| number != 0))
            }
            (Some(status), _) => (status.name.as_deref().unwrap_or("unknown"), None, !is_success(status)),
            (None, _) => ("", None, false),
        }
    }
}
