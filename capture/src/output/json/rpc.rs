//! The RPC message in a Send.

use serde::{Serialize, Serializer};

use super::values::is_false;
use crate::nfs::{Callback, CompoundOperation};
use crate::rpc::known::{Direction, Rpc, Security, Status};

#[derive(Serialize)]
pub(super) struct RpcObject<'a> {
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

impl<'a> RpcObject<'a> {
    pub(super) fn new(rpc: &'a Rpc) -> Self {
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

pub(super) fn is_compound(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.ends_with("COMPOUND"))
}

struct OperationNames<'a>(&'a [CompoundOperation]);

impl Serialize for OperationNames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|operation| operation.name))
    }
}

pub(super) const fn nfs_status(status: Option<Status>) -> Option<u32> {
    match status {
        Some(Status::Success(status)) => status,
        _ => None,
    }
}
