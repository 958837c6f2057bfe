//! RPCs and messages, as a selection compares them.

use rpcrdma_dissector::nfs::{self, Callback, CompoundOperation, Procedure};
use rpcrdma_dissector::{Address, Half, Message, Status, Transaction};

use super::Ends;
use super::window::TimeSpan;
use crate::file_names::{NamedFile, is_file};
use crate::operation_name::OperationName;
use crate::user::RpcUser;

/// Text leaves this out of the names of errors of version 2.
const PREFIX_V2: &str = "RDMA2_";

/// An RPC that a [`Selection`](super::Selection) judges.
pub trait SelectableRpc {
    /// Returns true if the RPC, or a try of the RPC, was on one of these connections.
    fn was_on(&self, connections: &[u32]) -> bool;
    /// `rdma_xid`.
    fn xid(&self) -> u32;
    /// Time from call to accepted reply.
    fn span(&self) -> TimeSpan;
    /// Latency in nanoseconds; `None` if the capture does not show the latency.
    fn latency(&self) -> Option<u64>;
    /// Frames of call and reply, if captured.
    fn frames(&self) -> [Option<u64>; 2];
    /// Returns true if one of the addresses is that of the client, and one that of the server; no address matches any end.
    fn has_ends(&self, clients: &[Address], servers: &[Address]) -> bool;
    /// Returns true if the RPC calls a procedure or operation of this name.
    fn calls(&self, name: &str) -> bool;
    /// Returns true if the RPC ended with the status of this name or number.
    fn ended_with(&self, name: &str) -> bool;
    /// Returns true if the RPC is about a file of this name, or of this name and folder: `NAME in FOLDER`.
    fn is_about(&self, file: &str) -> bool;
    /// Returns true if the call is of a user with this user ID, on a machine of this name, or with this text.
    fn is_by(&self, user: &str) -> bool;
    /// Returns true if the RPC ended with an error.
    fn has_failed(&self) -> bool;
    /// Returns true for a call without a reply.
    fn is_waiting(&self) -> bool;
    /// Returns true if packets of the RPC were retransmitted, or recovery from loss took part of the RPC's time.
    fn has_retransmissions(&self) -> bool;
}

/// An RPC with the name of the RPC's file.
#[derive(Clone, Copy, Debug)]
pub struct NamedRpc<'a> {
    /// The RPC.
    pub transaction: &'a Transaction,
    /// The file; `None` if the name is not known, or not asked for.
    pub file: Option<&'a NamedFile>,
}

impl SelectableRpc for NamedRpc<'_> {
    fn was_on(&self, connections: &[u32]) -> bool {
        let earlier = self.transaction.tries.iter().flat_map(|tries| tries.earlier()).map(|one| one.connection);
        [self.transaction.connection].into_iter().chain(earlier).any(|connection| connections.contains(&connection))
    }

    fn xid(&self) -> u32 {
        self.transaction.xid
    }

    fn span(&self) -> TimeSpan {
        TimeSpan::of_transaction(self.transaction)
    }

    fn latency(&self) -> Option<u64> {
        self.transaction.latency()
    }

    fn frames(&self) -> [Option<u64>; 2] {
        let frame = |half: &Option<Half>| half.as_ref().map(|half| half.stamp.frame);
        [frame(&self.transaction.call), frame(&self.transaction.reply)]
    }

    fn has_ends(&self, clients: &[Address], servers: &[Address]) -> bool {
        is_between(&Ends::of_transaction(self.transaction), clients, servers)
    }

    fn calls(&self, name: &str) -> bool {
        // The name by which RPCs are counted, such as "NFSv4 READ", has a space in it.
        let is_counted_as = || OperationName::of_transaction(self.transaction).to_string().eq_ignore_ascii_case(name);
        CalledProcedure::transaction(self.transaction).calls(name) || name.contains(' ') && is_counted_as()
    }

    fn ended_with(&self, name: &str) -> bool {
        CalledProcedure::transaction(self.transaction).ended_with(name)
    }

    fn is_about(&self, file: &str) -> bool {
        self.file.is_some_and(|named| is_file(file, &named.shown_name(), &named.shown_folder()))
    }

    fn is_by(&self, user: &str) -> bool {
        RpcUser::from_transaction(self.transaction).is_some_and(|own| own.is_named(user))
    }

    fn has_failed(&self) -> bool {
        self.transaction.status.is_some_and(Status::is_failure)
    }

    fn is_waiting(&self) -> bool {
        self.transaction.call.is_some() && self.transaction.reply.is_none()
    }

    fn has_retransmissions(&self) -> bool {
        let recovery = self.transaction.recovery.as_ref();
        recovery.is_ok_and(|recovery| recovery.retransmitted_packets > 0 || recovery.phases.total() > 0)
    }
}

/// Returns true if the ends may belong to a connection between one of the clients and one of the servers.
pub(super) fn is_between(ends: &Ends<Address>, clients: &[Address], servers: &[Address]) -> bool {
    let is_any = |wanted: &[Address], end: &Address| wanted.is_empty() || wanted.contains(end);
    ends.meet(|end| is_any(clients, end), |end| is_any(servers, end))
}

/// Procedure that an RPC or a message calls, and the outcome.
#[derive(Clone, Copy, Default)]
pub(super) struct CalledProcedure<'a> {
    procedure: Option<Procedure>,
    callback: Callback,
    name: Option<&'static str>,
    operations: &'a [CompoundOperation],
    status: Option<Status>,
}

impl<'a> CalledProcedure<'a> {
    pub(super) fn message(message: &'a Message) -> Self {
        let error = message.error().map(Status::Error);
        let Some(rpc) = &message.rpc else { return Self { status: error, ..Self::default() } };
        Self {
            procedure: rpc.procedure,
            callback: rpc.callback,
            name: rpc.name,
            operations: &rpc.operations,
            status: rpc.status.or(error),
        }
    }

    /// A procedure that ended with a status.
    pub(super) fn of_outcome(procedure: Procedure, status: Status) -> Self {
        Self { procedure: Some(procedure), status: Some(status), ..Self::default() }
    }

    fn transaction(transaction: &'a Transaction) -> Self {
        let Transaction { procedure, callback, name, ref operations, status, .. } = *transaction;
        Self { procedure, callback, name, operations, status }
    }

    /// Returns true if this calls a procedure or operation of a name, with or without the name of the program.
    pub(super) fn calls(&self, name: &str) -> bool {
        let is_named = |own: &str| own.eq_ignore_ascii_case(name);
        let procedure = self.name.is_some_and(|own| is_named(own) || own.rsplit(' ').next().is_some_and(is_named));
        procedure || self.operations.iter().any(|operation| is_named(operation.name))
    }

    /// Returns true if this ended with a status of a name or number.
    pub(super) fn ended_with(&self, name: &str) -> bool {
        let is_named = |own: &str| own.eq_ignore_ascii_case(name);
        let Some(status) = self.status else { return false };
        let code = match status {
            Status::Success(None) => return is_named(status.name()),
            Status::Success(Some(code)) => code,
            Status::Refused { name: own, .. } | Status::Denied { name: own, .. } => return is_named(own),
            Status::Error(error) => {
                let own = error.name();
                return is_named(own) || own.strip_prefix(PREFIX_V2).is_some_and(is_named);
            }
        };
        let procedure = self.procedure.as_ref();
        let known = procedure.and_then(|procedure| nfs::status::name(procedure, self.callback.is_callback(), code));
        (code == 0 && is_named(status.name())) || known.is_some_and(is_named) || name.parse() == Ok(code)
    }
}
