//! An RPC in the table, made of a `Transaction`. The tests compare the row with the record that `rpcrdma transactions --json` prints.

use std::io;

use answers::diagnosis::CauseSet;
use answers::file_names::NamedFile;
use answers::selection::TimeSpan;
use answers::{OperationName, RpcUser, UnansweredWait};
use dissector::{CaptureEnd, Half, Phase, Phases, Stamp, Status, Time, Transaction, WaitEnd, Waiting, nfs};
use serde_json::value::RawValue;

use crate::names::{Name, Names};

/// Connection, XID, and the frames of call and reply.
pub(crate) type RpcKey = (u32, u32, Option<u64>, Option<u64>);

/// The [key](Row::key) of an RPC that was read again.
pub(crate) fn key(transaction: &Transaction) -> RpcKey {
    (transaction.connection, transaction.xid, frame(&transaction.call), frame(&transaction.reply))
}

fn frame(half: &Option<Half>) -> Option<u64> {
    half.as_ref().map(|half| half.stamp.frame)
}

/// The record that `write` writes, in the form of the program's output.
pub(crate) fn record(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<Box<RawValue>> {
    let mut line = Vec::new();
    write(&mut line)?;
    Ok(RawValue::from_string(String::from_utf8_lossy(&line).trim_end().to_owned())?)
}

/// An RPC in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) xid: u32,
    /// Name of the file, and the folder that tells the file from others of this name.
    pub(crate) file: Name,
    pub(crate) folder: Name,
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    pub(crate) time: u64,
    /// Nanoseconds from the first packet of the call to the last one, whose time is `time`.
    pub(crate) sending: u64,
    pub(crate) latency: Option<u64>,
    /// Time of the reply, or of the end of the wait; `None` if the wait lasts to the end of the capture.
    pub(crate) ended: Option<u64>,
    /// The phases, which add up to the latency.
    pub(crate) phases: Option<Phases>,
    /// The part of each phase that was spent on lost packets, and packets retransmitted.
    pub(crate) recovery: Phases,
    pub(crate) retransmitted: u64,
    /// Causes of the diagnosis that the RPC counts for.
    pub(crate) causes: CauseSet,
    /// Frames of call and reply.
    pub(crate) call: Option<u64>,
    pub(crate) reply: Option<u64>,
    /// Octets moved by RDMA Read and by RDMA Write.
    pub(crate) read: u64,
    pub(crate) written: u64,
}

/// Properties that many RPCs have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) connection: u32,
    /// Numbers of the connections of earlier tries, joined by spaces.
    pub(crate) earlier: Name,
    /// Number of tries.
    pub(crate) tries: u64,
    pub(crate) client: Name,
    pub(crate) server: Name,
    /// The user of the call as text, the user ID, and the name of the machine.
    pub(crate) user: Name,
    pub(crate) uid: Option<u32>,
    pub(crate) machine: Name,
    /// The name of the procedure, such as `NFSv4 COMPOUND`.
    pub(crate) procedure: Name,
    /// Name by which the RPC is counted, such as `NFSv4 READ`.
    pub(crate) operation: Name,
    /// All operations of a COMPOUND, joined by spaces.
    pub(crate) operations: Name,
    pub(crate) status: Name,
    pub(crate) status_number: Option<u32>,
    pub(crate) has_failed: bool,
    /// Outcome of a call without a reply; `status` is the outcome of the others.
    pub(crate) unanswered: &'static str,
    /// `true` for a call without a reply whose wait the capture shows.
    pub(crate) is_wait_known: bool,
}

impl Row {
    /// The row of an RPC, with the RPC's file and causes.
    pub(crate) fn new(
        transaction: &Transaction,
        file: Option<&NamedFile>,
        causes: CauseSet,
        names: &mut Names,
    ) -> Self {
        let Transaction { call, reply, phases, recovery, .. } = transaction;
        let recovery = recovery.as_ref().ok();
        Self {
            kind: Kind::new(transaction, names),
            xid: transaction.xid,
            file: file.map_or_else(Name::default, |file| names.insert(&file.shown_name())),
            folder: file.map_or_else(Name::default, |file| names.insert(&file.shown_folder())),
            time: call.as_ref().or(reply.as_ref()).map_or(0, |half| half.stamp.time.0),
            sending: call
                .as_ref()
                .zip(transaction.began)
                .map_or(0, |(call, began)| call.stamp.time.0.saturating_sub(began.time.0)),
            latency: transaction.latency(),
            ended: ended(transaction),
            phases: phases.ok(),
            recovery: recovery.map(|recovery| recovery.phases).unwrap_or_default(),
            retransmitted: recovery.map_or(0, |recovery| recovery.retransmitted_packets),
            causes,
            call: frame(call),
            reply: frame(reply),
            read: transaction.read_octets,
            written: transaction.write_octets,
        }
    }

    /// Properties that tell the RPC from all others of the capture.
    pub(crate) const fn key(&self) -> RpcKey {
        (self.kind.connection, self.xid, self.call, self.reply)
    }

    /// Nanoseconds for which a call without a reply waited in a capture with this end, as far as its clock shows that; 0 for others.
    pub(crate) fn waited(&self, end: CaptureEnd) -> u64 {
        match self.ended {
            _ if !self.kind.is_wait_known => 0,
            Some(ended) => ended.saturating_sub(self.began()),
            None => end.at_least_since(Stamp { frame: self.call.unwrap_or_default(), time: Time(self.began()) }),
        }
    }

    /// Time from the call to the accepted reply, or to the end of the wait.
    pub(crate) fn span(&self) -> TimeSpan {
        TimeSpan { from: Time(self.began()), until: self.ended.map(Time) }
    }

    /// Time of the first packet of the call.
    const fn began(&self) -> u64 {
        self.time.saturating_sub(self.sending)
    }

    /// Returns true for a call without a reply.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.call.is_some() && self.reply.is_none()
    }
}

impl Kind {
    fn new(transaction: &Transaction, names: &mut Names) -> Self {
        let (client, server) = match transaction.reverse {
            false => (transaction.from, transaction.to),
            true => (transaction.to, transaction.from),
        };
        let operations: Vec<&str> = transaction.operations.iter().map(|operation| operation.name).collect();
        let (status, status_number) = outcome(transaction);
        let earlier = transaction.tries.iter().flat_map(|tries| tries.earlier());
        let earlier: Vec<_> = earlier.map(|one| one.connection.to_string()).collect();
        let user = RpcUser::from_transaction(transaction);
        Self {
            connection: transaction.connection,
            earlier: names.insert(&earlier.join(" ")),
            tries: transaction.tries_count(),
            client: names.insert(&client.to_string()),
            server: names.insert(&server.to_string()),
            user: names.insert(&user.as_ref().map(ToString::to_string).unwrap_or_default()),
            uid: user.as_ref().and_then(|user| user.uid),
            machine: names.insert(user.and_then(|user| user.machine).as_deref().unwrap_or_default()),
            procedure: names.insert(transaction.name.unwrap_or_default()),
            operation: names.insert(&OperationName::of_transaction(transaction).to_string()),
            operations: names.insert(&operations.join(" ")),
            status: names.insert(status),
            status_number,
            has_failed: transaction.status.is_some_and(Status::is_failure),
            unanswered: unanswered(transaction),
            is_wait_known: UnansweredWait::from_transaction(transaction).is_some(),
        }
    }
}

/// Outcome of a call without a reply, in the words of `transactions`, shortened for the column.
fn unanswered(transaction: &Transaction) -> &'static str {
    let outcome = transaction.waiting.as_ref().map_or("no reply", Waiting::outcome);
    match outcome.strip_prefix("reply ") {
        Some("not acknowledged") => "in doubt",
        Some(short) => short,
        None => outcome,
    }
}

/// Time of the reply, or of the end of the wait.
fn ended(transaction: &Transaction) -> Option<u64> {
    let reply = transaction.reply.as_ref().map(|reply| reply.stamp);
    let wait = transaction.waiting.and_then(|waiting| match waiting.end {
        WaitEnd::Disconnected { stamp, .. } => Some(stamp),
        // Another call took its place, so it is no longer waited for.
        WaitEnd::Repeated => transaction.call.as_ref().map(|call| call.stamp),
        _ => None,
    });
    reply.or(wait).map(|stamp| stamp.time.0)
}

/// Name and number of the status. The status of NFS says more than that of RPC.
fn outcome(transaction: &Transaction) -> (&'static str, Option<u32>) {
    match transaction.status {
        Some(Status::Success(Some(number))) => {
            let is_callback = transaction.callback.is_callback();
            let name = transaction.procedure.and_then(|called| nfs::status::name(&called, is_callback, number));
            (name.unwrap_or("unknown"), Some(number))
        }
        Some(status) => (status.name(), None),
        None => ("", None),
    }
}

/// Bits of a time in a [rank]: 73 years of nanoseconds.
const TIME_BITS: u32 = 61;

/// A number that orders RPCs by the phase that took longest, the first one of the legend highest, and then by the time in that phase.
/// Of phases that took the same time, the first counts.
pub(crate) fn rank(phases: Phases) -> u64 {
    let longest =
        (0..).zip(Phase::ALL.into_iter().rev().map(|phase| phases.phase_time(phase))).max_by_key(|(_, time)| *time);
    longest.map_or(0, |(place, time): (u64, u64)| place << TIME_BITS | time.min((1 << TIME_BITS) - 1))
}
