//! The number of an operation of NFSv4, and properties of operations and procedures that go beyond their XDR.

use core::fmt;

/// Number of an operation. The two programs count separately: 4 is CLOSE in one, CB_RECALL in the other. The tables
/// define a constant for each known operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationCode {
    /// An operation of a COMPOUND (`nfs_opnum4`).
    Compound(u32),
    /// An operation of a CB_COMPOUND (`nfs_cb_opnum4`).
    Callback(u32),
}

impl OperationCode {
    /// Number on the wire.
    #[must_use]
    pub const fn number(self) -> u32 {
        let (Self::Compound(number) | Self::Callback(number)) = self;
        number
    }
}

impl fmt::Display for OperationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// An operation of a COMPOUND or CB_COMPOUND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompoundOperation {
    /// Number of the operation.
    pub code: OperationCode,
    /// Name without `OP_`; `unknown` for an unknown number.
    pub name: &'static str,
    /// Final status, in a reply (`nfsstat4`).
    pub status: Option<u32>,
}

/// Properties of an operation or procedure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationTraits {
    /// Role in the COMPOUND.
    pub role: CompoundRole,
    /// Effect on the filehandles of the COMPOUND.
    pub filehandle: FilehandleStep,
    /// Conflict with a delegation of another client; `None` without one.
    pub conflict: Option<DelegationConflict>,
    /// True for an operation of NFSv4 that brings changes of a file to the server, as a client does before returning a
    /// delegation.
    pub flushes: bool,
}

impl OperationTraits {
    pub(super) const NONE: Self =
        Self { role: CompoundRole::Subject, filehandle: FilehandleStep::Keep, conflict: None, flushes: false };
}

/// Role of an operation in a COMPOUND.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompoundRole {
    /// The COMPOUND may be about the operation.
    #[default]
    Subject,
    /// The operation asks for attributes: the COMPOUND is about the operation only if no operation is a
    /// [`Subject`](Self::Subject).
    Attributes,
    /// The operation only leads up to another one.
    Leading,
}

/// Effect of an operation on the current and the saved filehandle (RFC 8881 section 16.2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilehandleStep {
    /// None: the operation is about the current filehandle.
    #[default]
    Keep,
    /// The argument becomes the current filehandle.
    Put,
    /// The current filehandle becomes one that the COMPOUND does not show.
    Forget,
    /// The file that the arguments name becomes the current filehandle.
    Name,
    /// None: the result is the current filehandle.
    Get,
    /// The current filehandle is saved.
    Save,
    /// The saved filehandle becomes the current one.
    Restore,
    /// None: the operation is about the saved filehandle.
    UseSaved,
}

/// Conflict of an operation with a delegation of another client (RFC 8881 sections 10.4 and 10.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DelegationConflict {
    /// With one for the file, whose data is read or written.
    Data,
    /// With one for the file, whose attributes are set.
    Attributes,
    /// With one for the file that is opened.
    Opened,
    /// With one for a file that is named in a directory.
    Entry,
}
