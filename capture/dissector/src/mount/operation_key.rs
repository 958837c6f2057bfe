//! The identity of an operation that a client makes again.

use crate::nfs::{CompoundOperation, CompoundRole, FilehandleStep, OperationCode, Procedure};
use crate::rpc::arguments::OperationArguments;

/// The longest handle or name that is kept, in octets.
const NAME: usize = 255;

/// Types of LOCK with which a client is willing to wait: READW_LT and WRITEW_LT (RFC 8881 section 18.10.1).
const WAITING_LOCKS: [u32; 2] = [3, 4];

/// An operation on a file. A retry has the same key; its stateid may be another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperationKey {
    procedure: Procedure,
    operation: Option<OperationCode>,
    handle: Option<Box<[u8]>>,
    name: Option<Box<[u8]>>,
    offset: Option<u64>,
    /// Claim of OPEN; type, reclaim, offset and length of LOCK.
    variant: Option<Box<[u8]>>,
}

/// The operation of an RPC that ended with a status. If that one only leads to others, the operation that the RPC is about.
pub(super) fn refused_operation<'a, 'b>(
    arguments: &'a [OperationArguments<'b>],
    status: u32,
) -> Option<&'a OperationArguments<'b>> {
    let refused = arguments.iter().find(|about| about.status == Some(status))?;
    if refused.traits.role != CompoundRole::Leading {
        return Some(refused);
    }
    let of_role = |role| arguments.iter().find(|about| about.traits.role == role);
    of_role(CompoundRole::Subject).or_else(|| of_role(CompoundRole::Attributes)).or(Some(refused))
}

impl OperationKey {
    /// The key of an operation; `None` if the RPC does not show the file that the operation is about.
    pub(super) fn from_arguments(
        procedure: Procedure,
        about: &OperationArguments<'_>,
        all: &[OperationArguments<'_>],
    ) -> Option<Self> {
        let OperationArguments { operation, handle, file_name, offset, .. } = *about;
        let sets_file = |about: &OperationArguments<'_>| {
            matches!(about.traits.filehandle, FilehandleStep::Put | FilehandleStep::Forget)
        };
        let has_file = handle.is_some() || file_name.is_some() || operation.is_some() && !all.iter().any(sets_file);
        let is_short = [handle, file_name].iter().flatten().all(|octets| octets.len() <= NAME);
        (has_file && is_short).then(|| Self {
            procedure,
            operation,
            handle: handle.map(Box::from),
            name: file_name.map(Box::from),
            offset,
            variant: about.variant().map(Box::from),
        })
    }

    /// Returns true if an RPC calls the operation.
    pub(super) fn is_called(&self, procedure: Procedure, operations: &[CompoundOperation]) -> bool {
        match self.operation {
            Some(code) => operations.iter().any(|operation| operation.code == code),
            None => self.procedure == procedure,
        }
    }

    /// Returns true if the operation is about the file with this handle.
    pub(super) fn is_of_file(&self, handle: Option<&[u8]>) -> bool {
        handle.is_some() && self.handle.as_deref() == handle
    }

    /// Returns true if this is a LOCK of a client that is willing to wait.
    pub(super) fn waits_for_lock(&self) -> bool {
        let kind =
            self.variant.as_ref().and_then(|variant| variant.first_chunk()).map(|word| u32::from_be_bytes(*word));
        self.operation == Some(OperationCode::LOCK) && kind.is_some_and(|kind| WAITING_LOCKS.contains(&kind))
    }
}
