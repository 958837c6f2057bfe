//! The RPC message in a Send, and what all objects say of an RPC.

use rpcrdma_dissector::nfs::{Callback, CompoundOperation, Procedure, status};
use rpcrdma_dissector::{MessageDirection, Rpc, Security, Status, Transaction};
use serde::Serialize;

use super::described::described;
use super::values::NumberedObject;
use crate::operation_name::OperationName;

/// An RPC message.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RpcObject {
    /// `call` or `reply`.
    direction: &'static str,
    #[serde(flatten)]
    called: CalledObject,
    #[serde(flatten)]
    ended: EndedObject,
}

/// Procedure and operations that an RPC calls.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CalledObject {
    /// True if the server calls the client (RFC 8167).
    reverse: bool,
    /// True if the program is only taken for that of NFSv4's callbacks: the capture does not show that the client
    /// announced the program.
    program_guessed: bool,
    /// The number of the program (RFC 5531 section 9); null if the capture does not hold the call.
    program: Option<u32>,
    /// The version of the program.
    version: Option<u32>,
    /// The number of the procedure.
    procedure: Option<u32>,
    /// The name of the procedure, such as `NFSv4 COMPOUND`, if known.
    name: Option<&'static str>,
    /// Name by which the RPC is counted: the procedure, or the main operation of a COMPOUND (`NFSv4 READ`).
    operation: OperationName,
    /// The operations of an NFSv4 COMPOUND: of the reply, and of the call if not reached; null for other procedures,
    /// and under RPCSEC_GSS privacy, which seals the body.
    operations: Option<Vec<CompoundObject>>,
    /// The service of RPCSEC_GSS (RFC 2203 section 5.3.1), or the control procedure; null for other flavors.
    security: Option<&'static str>,
}

/// Outcome of an RPC.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct EndedObject {
    /// `accept_stat`, `reject_stat` or `auth_stat` (RFC 5531 section 9), or the `rdma_err` of an RDMA_ERROR (RFC 8166 section
    /// 4.5); null without a reply.
    status: Option<NumberedObject>,
    /// The status with which the results begin, if the procedure has one, such as `nfsstat4`.
    nfs_status: Option<NumberedObject>,
}

/// An operation of a COMPOUND.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CompoundObject {
    /// The name without `OP_`; `unknown` if the number is.
    name: &'static str,
    /// Number of the operation.
    number: u32,
    /// Status (`nfsstat4`); null in a call, or if the operation was not reached.
    status: Option<NumberedObject>,
}

impl RpcObject {
    pub(crate) fn new(rpc: &Rpc) -> Self {
        Self {
            direction: match rpc.direction {
                MessageDirection::Call => "call",
                MessageDirection::Reply => "reply",
            },
            called: CalledObject::of_rpc(rpc),
            ended: EndedObject::new(rpc.status, rpc.procedure, rpc.callback),
        }
    }
}

impl CalledObject {
    pub(crate) fn of_transaction(transaction: &Transaction) -> Self {
        let Transaction { reverse, callback, procedure, name, operations, security, .. } = transaction;
        Self::new(*reverse, *callback, *procedure, *name, operations, *security)
    }

    pub(crate) fn of_rpc(rpc: &Rpc) -> Self {
        let Rpc { reverse, callback, procedure, name, ref operations, security, .. } = *rpc;
        Self::new(reverse, callback, procedure, name, operations, security)
    }

    fn new(
        reverse: bool,
        callback: Callback,
        procedure: Option<Procedure>,
        name: Option<&'static str>,
        operations: &[CompoundOperation],
        security: Option<Security>,
    ) -> Self {
        let is_compound = procedure.is_some_and(|procedure| procedure.is_compound(callback.is_callback()));
        let is_hidden = matches!(security, Some(Security::Privacy | Security::Control(_)));
        let objects = || operations.iter().map(CompoundObject::new).collect();
        Self {
            reverse,
            program_guessed: callback == Callback::Guessed,
            program: procedure.map(|procedure| procedure.program),
            version: procedure.map(|procedure| procedure.version),
            procedure: procedure.map(|procedure| procedure.procedure),
            name,
            operation: OperationName::new(procedure, name, operations),
            operations: (is_compound && !is_hidden).then(objects),
            security: security.map(Security::name),
        }
    }
}

impl EndedObject {
    pub(crate) fn new(ended: Option<Status>, procedure: Option<Procedure>, callback: Callback) -> Self {
        let nfs_status = match ended {
            Some(Status::Success(number)) => number,
            _ => None,
        };
        let name = |number| procedure.and_then(|procedure| status::name(&procedure, callback.is_callback(), number));
        Self {
            status: ended.map(|status| NumberedObject { name: Some(status.name()), number: status.number() }),
            nfs_status: nfs_status.map(|number| NumberedObject { name: name(number), number }),
        }
    }
}

impl CompoundObject {
    fn new(operation: &CompoundOperation) -> Self {
        let CompoundOperation { code, name, status, .. } = *operation;
        let status = status.map(|number| NumberedObject { name: status::nfs4_name(number), number });
        Self { name, number: code.number(), status }
    }
}

described!(OperationName as String);
