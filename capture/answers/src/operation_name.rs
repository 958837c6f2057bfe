//! Name for counting and filtering an RPC: the procedure, or the main operation of a COMPOUND.

use core::fmt;

use rpcrdma_dissector::Transaction;
use rpcrdma_dissector::nfs::{CompoundOperation, CompoundRole, Procedure};
use serde::{Serialize, Serializer};

/// Name of an RPC: `NFSv3 READ`, or for a COMPOUND the name of the main operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperationName {
    /// The called procedure is unknown.
    Unknown,
    /// An operation of NFSv4.
    Nfs4(&'static str),
    /// One without a name.
    Nfs4Number(u32),
    /// A procedure.
    Procedure(&'static str),
    /// One without a name.
    ProcedureNumber(Procedure),
}

impl OperationName {
    /// The name of what an RPC does.
    #[must_use]
    pub fn of_transaction(transaction: &Transaction) -> Self {
        Self::new(transaction.procedure, transaction.name, &transaction.operations)
    }

    /// Name of the failed part of an RPC: for a COMPOUND, the operation that ended the COMPOUND. The name of the RPC if no operation failed.
    pub(super) fn of_failure(transaction: &Transaction) -> Self {
        let failed = transaction.operations.iter().find(|operation| operation.status.is_some_and(|status| status != 0));
        failed.map_or_else(|| Self::of_transaction(transaction), Self::of_operation)
    }

    fn of_operation(operation: &CompoundOperation) -> Self {
        operation.code.name().map_or(Self::Nfs4Number(operation.code.number()), Self::Nfs4)
    }

    pub(super) fn new(
        procedure: Option<Procedure>,
        name: Option<&'static str>,
        operations: &[CompoundOperation],
    ) -> Self {
        let Some(procedure) = procedure else { return Self::Unknown };
        match main_operation(operations).and_then(|main| operations.get(main)) {
            Some(operation) => Self::of_operation(operation),
            None => name.map_or(Self::ProcedureNumber(procedure), Self::Procedure),
        }
    }
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::Nfs4(name) => write!(f, "NFSv4 {name}"),
            Self::Nfs4Number(code) => write!(f, "NFSv4 operation {code}"),
            Self::Procedure(name) => f.write_str(name),
            Self::ProcedureNumber(Procedure { program, version, procedure }) => {
                write!(f, "program {program} v{version} proc {procedure}")
            }
        }
    }
}

impl Serialize for OperationName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nfs4(name) => serialize_joined(["NFSv4 ", name], serializer),
            Self::Procedure(name) => serializer.serialize_str(name),
            _ => serializer.collect_str(self),
        }
    }
}

/// Writes two strings as one. Joining strings through `fmt` takes several times as long.
fn serialize_joined<S: Serializer>(texts: [&str; 2], serializer: S) -> Result<S::Ok, S::Error> {
    let mut joined = [0; 64];
    let mut rest = joined.as_mut_slice();
    for text in texts {
        let Some((place, after)) = rest.split_at_mut_checked(text.len()) else {
            return serializer.collect_str(&texts.concat());
        };
        place.copy_from_slice(text.as_bytes());
        rest = after;
    }
    let free = rest.len();
    let joined = joined.get(..joined.len() - free).and_then(|joined| core::str::from_utf8(joined).ok());
    serializer.serialize_str(joined.unwrap_or_default())
}

/// Returns the main operation of a COMPOUND: the first that does not merely prepare another (OPEN, even before an ACCESS).
/// Without such an operation, the main operation is GETATTR if present, and otherwise the last operation.
pub(super) fn main_operation(operations: &[CompoundOperation]) -> Option<usize> {
    let is_of_attributes = |operation: &CompoundOperation| operation.code.traits().role == CompoundRole::Attributes;
    let main = operations.iter().position(|operation| !operation.leads());
    let attributes = || operations.iter().position(is_of_attributes);
    main.or_else(attributes).or(operations.len().checked_sub(1))
}
