//! Stepping over the arguments and results of the NFS protocols, to name what is called and to find where the data
//! items belong that a peer moved out of the Payload stream.
//!
//! A Read chunk says itself where its data item belongs (its Position). A Write chunk does not: the returned chunks hold
//! the DDP-eligible results in their order (RFC 8166 section 4.3.2.1), so these must be found by reading the results.
//! Which items are DDP-eligible is said by RFC 8267, what surrounds them by the tables here, one row for each procedure
//! or operation.

mod acl;
mod callback;
mod echo;
mod grammar;
mod mount;
pub mod status;
#[cfg(test)]
mod tests;
mod v2;
mod v3;
mod v4;
mod walker;

use core::fmt;
use core::ops::{Range, RangeInclusive};

use grammar::Row;
use walker::Walker;

/// What an RPC call header says is called (RFC 5531 section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Procedure {
    /// The remote program number.
    pub program: u32,
    /// The version of the program.
    pub version: u32,
    /// The procedure number.
    pub procedure: u32,
}

impl Procedure {
    /// The NFS program.
    pub const NFS: u32 = 100_003;
    /// The MOUNT program.
    pub const MOUNT: u32 = 100_005;
    /// The NFSACL program.
    pub const NFSACL: u32 = 100_227;
    /// The echo program of `rpcrdma-serve`.
    pub const ECHO: u32 = 0x2000_8166;

    /// Program, version and procedure as people write them: `NFSv3 READ`, `NFSv4 COMPOUND`. `None` where unknown.
    ///
    /// A client chooses the program number of its callbacks (RFC 8881 section 18.36): where it is said that this is a
    /// `callback`, the procedure number alone counts.
    #[must_use]
    pub fn name(&self, callback: bool) -> Option<&'static str> {
        self.row(callback).map(|row| row.name)
    }

    fn row(&self, callback: bool) -> Option<&'static Row> {
        let table = match (callback, self.program, self.version) {
            (true, ..) => callback::PROCEDURES,
            (false, Self::NFS, 2) => v2::PROCEDURES,
            (false, Self::NFS, 3) => v3::PROCEDURES,
            (false, Self::NFS, 4) => v4::PROCEDURES,
            (false, Self::MOUNT, 1) => mount::PROCEDURES_V1,
            (false, Self::MOUNT, 2) => mount::PROCEDURES_V2,
            (false, Self::MOUNT, 3) => mount::PROCEDURES_V3,
            (false, Self::NFSACL, 2) => acl::PROCEDURES_V2,
            (false, Self::NFSACL, 3) => acl::PROCEDURES_V3,
            (false, Self::ECHO, 1) => echo::PROCEDURES,
            _ => return None,
        };
        grammar::find(table, self.procedure)
    }
}

/// Whether a program is that of the callbacks of NFSv4, the number of which the client chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Callback {
    /// It is another.
    #[default]
    No,
    /// The client has announced its number on this connection, by SETCLIENTID (RFC 7530 section 16.33), CREATE_SESSION or
    /// BACKCHANNEL_CTL (RFC 8881 sections 18.36 and 18.33).
    Announced,
    /// The client has announced none that the capture shows, and the number is a transient one (RFC 5531 section 8.3): it
    /// may be any program.
    Guessed,
}

impl Callback {
    /// The transient program numbers.
    pub const TRANSIENT: RangeInclusive<u32> = 0x4000_0000..=0x5fff_ffff;

    /// Whether it is taken for it.
    #[must_use]
    pub const fn is_callback(self) -> bool {
        !matches!(self, Self::No)
    }
}

/// What was moved out of the Payload stream of a message.
#[derive(Clone, Copy, Debug)]
pub enum Reduced<'a> {
    /// The Read chunks of a call: Position and length, in octets. The chunk at Position Zero is no data item and is
    /// passed over.
    Call(&'a [(u64, u64)]),
    /// The Write chunks of a reply, in the order of the Write list: the returned length in octets, 0 for a chunk that is
    /// empty or unused (RFC 8166 section 3.4.6).
    Reply(&'a [u64]),
}

/// A DDP-eligible data item: it was reduced, or could have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataItem {
    /// Where the data begins in the rebuilt body, in octets.
    pub at: usize,
    /// Where it begins, or is to be put, in the body that was walked.
    pub inline_at: usize,
    /// Octets of data, without XDR padding.
    pub length: u32,
    /// Which chunk of [`Reduced`] holds it; `None` where it is inline.
    pub chunk: Option<usize>,
    /// Which of [`Walk::operations`] it belongs to; 0 where there are none.
    pub operation: usize,
}

/// An operation of a COMPOUND or CB_COMPOUND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its number.
    pub code: u32,
    /// Its name without `OP_`; `unknown` where the number is.
    pub name: &'static str,
    /// How it ended, in a reply (`nfsstat4`).
    pub status: Option<u32>,
}

impl Operation {
    /// Operations that only lead to the one a COMPOUND is about.
    const LEADING: [&str; 12] = [
        "SEQUENCE",
        "PUTFH",
        "PUTROOTFH",
        "PUTPUBFH",
        "SAVEFH",
        "RESTOREFH",
        "GETFH",
        "GETATTR",
        "VERIFY",
        "NVERIFY",
        "CB_SEQUENCE",
        "CB_GETATTR",
    ];

    /// It only leads to the operation that its COMPOUND is about.
    #[must_use]
    pub fn leads(&self) -> bool {
        Self::LEADING.contains(&self.name)
    }
}

/// What was found in arguments or results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The operations of a COMPOUND or CB_COMPOUND, the one that could not be stepped over included.
    pub operations: Vec<Operation>,
    /// Every DDP-eligible data item that was met, in order.
    pub items: Vec<DataItem>,
    /// The status of the whole reply, where the procedure has one.
    pub status: Option<u32>,
    /// The program number that the client announces for its callbacks.
    pub callback_program: Option<u32>,
    /// Why stepping ended: `Ok` where all was stepped over and every chunk found its place.
    pub end: Result<(), WalkError>,
    /// Octets of the body that were stepped over. Where `end` is `Ok` and this is not all, octets follow that the
    /// procedure does not know.
    pub consumed: usize,
}

/// Why a body could not be stepped over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkError {
    /// Octets from the start of the body to what could not be stepped over.
    pub at: usize,
    /// The operation or procedure that was being stepped over.
    pub operation: Option<&'static str>,
    /// What is wrong.
    pub reason: &'static str,
}

impl WalkError {
    /// The body ends before the item does: it was cut, or it is not what its procedure says.
    pub const ENDS_INSIDE: &'static str = "ends inside";
    /// No table has this program, version and procedure.
    pub const UNKNOWN_PROCEDURE: &'static str = "unknown procedure";
    /// The call was cut inside its credential, so RPCSEC_GSS may have changed the body.
    pub const UNKNOWN_CREDENTIAL: &'static str = "the call's credential is not in the capture";
    /// No table has this operation number.
    pub const UNKNOWN_OPERATION: &'static str = "unknown operation";
    /// A discriminant for which the union has no arm.
    pub const UNKNOWN_ARM: &'static str = "unknown arm of a union";
    /// What must be 0 or 1 is neither.
    pub const NOT_A_BOOL: &'static str = "neither 0 nor 1 where optional data begins";
    /// A Read chunk is at the item's Position but has another length.
    pub const READ_CHUNK_LENGTH: &'static str = "Read chunk length differs from the item's count";
    /// The Write chunk whose turn it is has another length than the item.
    pub const WRITE_CHUNK_LENGTH: &'static str = "Write chunk length differs from the item's count";
    /// No DDP-eligible item is at the Position of a Read chunk.
    pub const READ_CHUNK_LEFT: &'static str = "a Read chunk was not claimed";
    /// A Write chunk has data, and no result is left for it.
    pub const WRITE_CHUNK_LEFT: &'static str = "a Write chunk was not claimed";
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.operation {
            write!(f, "{operation}: ")?;
        }
        write!(f, "{} (octet {})", self.reason, self.at)
    }
}

impl core::error::Error for WalkError {}

/// Steps over the arguments of a call.
///
/// `body` begins after the verifier of the call header, and `body_position` is how many octets of the Payload stream
/// come before it. Never fails as a whole: [`Walk::end`] says how far it came.
#[must_use]
pub fn arguments(
    procedure: Procedure,
    callback: bool,
    body: &[u8],
    body_position: usize,
    reduced: Reduced<'_>,
) -> Walk {
    let walker = Walker::new(body, body_position, reduced);
    match procedure.row(callback) {
        Some(row) => walker.arguments(row),
        None => walker.unknown_procedure(),
    }
}

/// How an RDMA_MSGP pads (RFC 5666 section 3.9): the data of a DDP-eligible item that is inline begins at a multiple of
/// `align`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Padding {
    /// Octets before the body, from the start of the Send.
    pub(crate) before: usize,
    /// `rdma_align`.
    pub(crate) align: u32,
    /// Octets of the least item that is padded.
    pub(crate) least: u32,
}

/// Where the padding is in the arguments of a call, as ranges of `body`; `None` where the body is not exactly what its
/// procedure and this padding make of it.
pub(crate) fn padding_of_arguments(
    procedure: Procedure,
    callback: bool,
    (body, body_position): (&[u8], usize),
    reduced: Reduced<'_>,
    padding: Padding,
) -> Option<Vec<Range<usize>>> {
    let mut walker = Walker::new(body, body_position, reduced);
    walker.pad(padding);
    walker.padding_of_arguments(procedure.row(callback)?)
}

/// The same of results.
pub(crate) fn padding_of_results(
    procedure: Procedure,
    callback: bool,
    body: &[u8],
    reduced: Reduced<'_>,
    padding: Padding,
) -> Option<Vec<Range<usize>>> {
    let mut walker = Walker::new(body, 0, reduced);
    walker.pad(padding);
    walker.padding_of_results(procedure.row(callback)?)
}

/// Steps over the results of a call that was accepted with SUCCESS.
///
/// `body` begins after the `accept_stat` of the reply header. Never fails as a whole: [`Walk::end`] says how far it came.
#[must_use]
pub fn results(procedure: Procedure, callback: bool, body: &[u8], reduced: Reduced<'_>) -> Walk {
    let walker = Walker::new(body, 0, reduced);
    match procedure.row(callback) {
        Some(row) => walker.results(row),
        None => walker.unknown_procedure(),
    }
}

/// Whether a result of a procedure may be reduced, as far as its table tells; of a COMPOUND, one of these operations.
pub(crate) fn may_reduce_results(
    procedure: Procedure,
    callback: bool,
    mut operations: impl Iterator<Item = u32>,
) -> bool {
    let Some(row) = procedure.row(callback) else { return true };
    match row.results.operations() {
        Some(table) => operations.any(|code| grammar::find(table, code).is_none_or(|row| row.results.may_be_reduced())),
        None => row.results.may_be_reduced(),
    }
}

#[cfg(test)]
const TABLES: [&[Row]; 10] = [
    v2::PROCEDURES,
    v3::PROCEDURES,
    v4::PROCEDURES,
    callback::PROCEDURES,
    mount::PROCEDURES_V1,
    mount::PROCEDURES_V2,
    mount::PROCEDURES_V3,
    acl::PROCEDURES_V2,
    acl::PROCEDURES_V3,
    echo::PROCEDURES,
];
