//! Steps through the arguments and results of the NFS protocols, to name the procedures, and to find the place of the
//! data items that a peer moved out of the Payload stream.
//!
//! A Read chunk says where the chunk's data item belongs: a Read chunk has a Position. A Write chunk does not. The
//! returned chunks hold the DDP-eligible results in order (RFC 8166 section 4.3.2.1), so these must be found by reading
//! the results. RFC 8267 says which items are DDP-eligible. The tables here say what surrounds the items, with one row
//! for each procedure and operation. An operation without a row, or a chunk that fits no item, makes the RPC "not
//! rebuilt", with the reason.

mod acl;
mod callback;
mod echo;
mod grammar;
mod limits;
mod listing;
mod mount;
mod operation;
mod procedure;
mod sequence;
mod sessions;
pub mod status;
#[cfg(test)]
mod tests;
pub mod v2;
pub mod v3;
pub mod v4;
mod walk;
mod walker;

use core::ops::{Range, RangeInclusive};

use grammar::Row;
pub use limits::ServerLimits;
pub use listing::DirectoryEntry;
pub(crate) use listing::Listing;
pub use operation::{
    CompoundOperation, CompoundRole, DelegationConflict, FilehandleStep, OperationCode, OperationTraits,
};
pub use procedure::Procedure;
pub use sequence::{SequenceArguments, SequenceFlag, SequenceFlags, SequenceResults};
pub use sessions::Sessions;
pub use walk::{
    BodyPiece, ChannelLimits, DataItem, PieceKind, Reduced, ResultRoom, RpcBody, ServerOwner, SessionCreation,
    SessionId, SessionLimits, StableHow, Walk, WalkError,
};
pub(crate) use walk::{Mark, MarkedItem, Padding};
use walker::Walker;

impl Procedure {
    /// Returns the usual name of program, version and procedure: `NFSv3 READ`, `NFSv4 COMPOUND`. `None` if unknown.
    ///
    /// A client chooses the program number of the client's callbacks (RFC 8881 section 18.36): for a `callback`, only
    /// the procedure number counts.
    #[must_use]
    pub fn name(&self, callback: bool) -> Option<&'static str> {
        self.row(callback).map(|row| row.name)
    }

    /// Returns the procedure of a program with this name, such as `READ`.
    pub(crate) fn of_name(program: u32, version: u32, name: &[u8]) -> Option<Self> {
        let any = Self { program, version, procedure: 0 };
        let is_named = |row: &&Row| row.name.rsplit(' ').next().is_some_and(|last| last.as_bytes() == name);
        any.table(false)?.iter().find(is_named).map(|row| Self { procedure: row.code, ..any })
    }

    fn row(&self, callback: bool) -> Option<&'static Row> {
        grammar::find(self.table(callback)?, self.procedure)
    }

    const fn table(&self, callback: bool) -> Option<&'static [Row]> {
        Some(match (callback, self.program, self.version) {
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
        })
    }

    /// Returns true for a procedure that consists of operations: COMPOUND and CB_COMPOUND.
    #[must_use]
    pub fn is_compound(&self, callback: bool) -> bool {
        self.row(callback).is_some_and(|row| row.results.are_of_operations())
    }

    pub(crate) fn traits(&self, callback: bool) -> OperationTraits {
        self.row(callback).map(|row| row.traits).unwrap_or_default()
    }
}

impl OperationCode {
    /// Returns the operation of a COMPOUND with this name, without `OP_`.
    pub(crate) fn of_name(name: &[u8]) -> Option<Self> {
        let row = v4::OPERATIONS.rows.iter().find(|row| row.name.as_bytes() == name);
        row.map(|row| Self::Compound(row.code))
    }

    fn row(self) -> Option<&'static Row> {
        match self {
            Self::Compound(number) => grammar::find(v4::OPERATIONS.rows, number),
            Self::Callback(number) => grammar::find(callback::OPERATIONS.rows, number),
        }
    }

    /// Name without `OP_`; `None` for an unknown number.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.name)
    }

    /// Properties of the operation: the default ones for an unknown number.
    #[must_use]
    pub fn traits(self) -> OperationTraits {
        self.row().map(|row| row.traits).unwrap_or_default()
    }

    /// Returns true if results of the operation may be reduced, or if the number is unknown.
    fn may_reduce_results(self) -> bool {
        self.row().is_none_or(|row| row.results.may_be_reduced())
    }
}

impl CompoundOperation {
    /// An operation of a call.
    pub(crate) fn of_call(code: OperationCode) -> Self {
        Self { code, name: code.name().unwrap_or("unknown"), status: None }
    }

    /// Returns true if the operation only leads up to the main operation of the COMPOUND.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.code.traits().role != CompoundRole::Subject
    }
}

/// Evidence that a program is that of NFSv4's callbacks, whose number the client chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Callback {
    /// The program is another one.
    #[default]
    No,
    /// The client has announced the program number on this connection, by SETCLIENTID (RFC 7530 section 16.33),
    /// CREATE_SESSION or BACKCHANNEL_CTL (RFC 8881 sections 18.36 and 18.33).
    Announced,
    /// The capture shows no announcement by the client, and the number is a transient one (RFC 5531 section 8.3): the
    /// number may belong to any program.
    Guessed,
}

impl Callback {
    /// The transient program numbers.
    pub const TRANSIENT: RangeInclusive<u32> = 0x4000_0000..=0x5fff_ffff;

    /// Returns true if the program is taken for the callback program.
    #[must_use]
    pub const fn is_callback(self) -> bool {
        !matches!(self, Self::No)
    }
}

/// Steps over the arguments of a call.
///
/// `body` begins after the verifier of the call header. `body_position` is the number of octets of the Payload stream
/// before the body. Never fails as a whole: [`Walk::end`] says how far the walk came.
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

/// Returns the padding in the arguments of a call, as ranges of `body`; `None` if the body is not exactly as long as
/// the procedure and this padding require.
pub(crate) fn padding_of_arguments(
    procedure: Procedure,
    callback: bool,
    body: RpcBody<'_>,
    reduced: Reduced<'_>,
    padding: Padding,
) -> Option<Vec<Range<usize>>> {
    let mut walker = Walker::new(body.octets, body.position, reduced);
    walker.pad(padding);
    walker.padding_of_arguments(procedure.row(callback)?)
}

/// Returns the padding in the results of a call, as ranges of `body`; `None` if the body is not exactly as long as the
/// procedure and this padding require.
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
/// `body` begins after the `accept_stat` of the reply header. Never fails as a whole: [`Walk::end`] says how far the
/// walk came.
#[must_use]
pub fn results(procedure: Procedure, callback: bool, body: &[u8], reduced: Reduced<'_>) -> Walk {
    let walker = Walker::new(body, 0, reduced);
    match procedure.row(callback) {
        Some(row) => walker.results(row),
        None => walker.unknown_procedure(),
    }
}

/// Returns the room that the results of a call may need, so that a requester provides no more room. `body` begins after
/// the verifier of the call header, and is not reduced. `None` if the call is not understood.
///
/// Some results, such as an access control list, are limited by nothing in the arguments: [`ResultRoom::in_reply`] says
/// how much room these need.
///
/// ```
/// use rpcrdma_dissector::nfs::{self, Procedure};
///
/// // NFSv3 READ of 4096 octets: a handle of four octets, offset, count.
/// let read = Procedure { program: Procedure::NFS, version: 3, procedure: 6 };
/// let body: Vec<u8> = [4, 0x68616e64, 0, 0, 4096_u32].iter().flat_map(|word| word.to_be_bytes()).collect();
/// let room = nfs::result_room(read, false, &body).unwrap();
/// assert_eq!((room.data, room.listings), (vec![Some(4096)], 0));
/// ```
#[must_use]
pub fn result_room(procedure: Procedure, callback: bool, body: &[u8]) -> Option<ResultRoom> {
    let row = procedure.row(callback)?;
    arguments(procedure, callback, body, 0, Reduced::Call(&[])).end.ok()?;
    let (operations, marked) =
        marked_arguments(procedure, callback, RpcBody { octets: body, position: 0 }, Reduced::Call(&[]));
    let number = |item: &MarkedItem<'_>| item.octets.first_chunk().map(|word| u32::from_be_bytes(*word));
    let count =
        |operation| marked.iter().find(|item| (item.operation, item.mark) == (operation, Mark::Count)).and_then(number);
    let data = if row.results.are_of_operations() {
        let numbered = (0..).zip(&operations).filter(|(_, operation)| operation.code.may_reduce_results());
        numbered.map(|(index, _)| count(index)).collect()
    } else if row.results.may_be_reduced() {
        vec![count(0)]
    } else {
        Vec::new()
    };
    let listings = marked.iter().filter(|item| item.mark == Mark::Listing).filter_map(number).map(u64::from).sum();
    let is_unlimited =
        |operation: &&CompoundOperation| operation.code.row().is_some_and(|row| row.results.is_unlimited());
    let unlimited = if row.results.are_of_operations() {
        operations.iter().filter(is_unlimited).count()
    } else {
        usize::from(row.results.is_unlimited())
    };
    let unlimited = unlimited.saturating_add(marked.iter().filter(|item| asks_for_long_attributes(item)).count());
    let unlimited = u32::try_from(unlimited).unwrap_or(u32::MAX);
    Some(ResultRoom { data, listings, unlimited, session: session(&marked) })
}

/// Returns true if an item asks for attributes whose length nothing limits. Labels (RFC 7862 section 12.2.4) do not
/// count: Linux often asks for labels, and has none above 2,048 octets.
fn asks_for_long_attributes(item: &MarkedItem<'_>) -> bool {
    /// acl, `fs_locations`, dacl, sacl, `fs_locations_info` (RFC 8881 sections 5.7 and 5.8).
    const LONG: [usize; 5] = [12, 24, 58, 59, 67];
    item.mark == Mark::Attributes && LONG.iter().any(|attribute| has_attribute(item.octets, *attribute))
}

/// Returns true if an attribute, by number, is in a counted `bitmap4`.
pub(crate) fn has_attribute(bitmap: &[u8], attribute: usize) -> bool {
    let word = bitmap.as_chunks::<4>().0.get(attribute / 32 + 1).map_or(0, |word| u32::from_be_bytes(*word));
    word & (1 << (attribute % 32)) != 0
}

/// Returns the limits of the session that a call has created, from the call's results: the maximum length of the reply
/// to each later call whose [`ResultRoom::session`] this is. `None` unless the results are from a successful
/// CREATE_SESSION of NFSv4.1.
///
/// ```
/// use rpcrdma_dissector::nfs::{self, Procedure};
///
/// let compound = Procedure { program: Procedure::NFS, version: 4, procedure: 1 };
/// // NFS4_OK, no tag, one operation: CREATE_SESSION, NFS4_OK, session, sequence and flags; then both directions.
/// let words = [&[0, 0, 1, 43, 0][..], &[9; 6], &[0, 1_049_620, 1_049_480, 4096, 8, 64, 0], &[0, 4096, 4096, 0, 2, 16, 0]];
/// let body: Vec<u8> = words.concat().iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
/// let limits = nfs::session_limits(compound, &body).unwrap();
/// assert_eq!(limits.session, [0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 9]);
/// assert_eq!((limits.fore.reply, limits.fore.calls, limits.back.reply), (1_049_480, 64, 4096));
/// ```
#[must_use]
pub fn session_limits(procedure: Procedure, body: &[u8]) -> Option<SessionLimits> {
    results(procedure, false, body, Reduced::Reply(&[])).end.ok()?;
    let (_, marked) = marked_results(procedure, false, body, Reduced::Reply(&[]));
    SessionLimits::from_items(marked.iter())
}

/// The session that is named, if there is one.
fn session(marked: &[MarkedItem<'_>]) -> Option<SessionId> {
    marked.iter().find(|item| item.mark == Mark::Session)?.octets.try_into().ok()
}

/// Returns the readable operations and marked items of the arguments of a call.
pub(crate) fn marked_arguments<'a>(
    procedure: Procedure,
    callback: bool,
    body: RpcBody<'a>,
    reduced: Reduced<'_>,
) -> (Vec<CompoundOperation>, Vec<MarkedItem<'a>>) {
    let mut walker = Walker::new(body.octets, body.position, reduced);
    walker.mark();
    procedure.row(callback).map(|row| walker.marked_arguments(row)).unwrap_or_default()
}

/// Returns the readable operations and marked items of the results of a call.
pub(crate) fn marked_results<'a>(
    procedure: Procedure,
    callback: bool,
    body: &'a [u8],
    reduced: Reduced<'_>,
) -> (Vec<CompoundOperation>, Vec<MarkedItem<'a>>) {
    let mut walker = Walker::new(body, 0, reduced);
    walker.mark();
    procedure.row(callback).map(|row| walker.marked_results(row)).unwrap_or_default()
}

/// Returns the readable pieces of the arguments of a call, as ranges of `body`, and the result of the walk.
#[must_use]
pub fn pieces_of_arguments(
    procedure: Procedure,
    callback: bool,
    body: RpcBody<'_>,
    reduced: Reduced<'_>,
) -> Option<(Vec<BodyPiece>, Walk)> {
    let walker = Walker::new(body.octets, body.position, reduced);
    Some(walker.pieces_of_arguments(procedure.row(callback)?))
}

/// Returns the readable pieces of the results of a call, as ranges of `body`, and the result of the walk.
#[must_use]
pub fn pieces_of_results(
    procedure: Procedure,
    callback: bool,
    body: &[u8],
    reduced: Reduced<'_>,
) -> Option<(Vec<BodyPiece>, Walk)> {
    let walker = Walker::new(body, 0, reduced);
    Some(walker.pieces_of_results(procedure.row(callback)?))
}

/// Returns true if a result of a procedure may be reduced, according to the procedure's table; for a COMPOUND, a result
/// of one of these operations.
pub(crate) fn may_reduce_results(
    procedure: Procedure,
    callback: bool,
    mut operations: impl Iterator<Item = OperationCode>,
) -> bool {
    let Some(row) = procedure.row(callback) else { return true };
    if row.results.are_of_operations() {
        operations.any(OperationCode::may_reduce_results)
    } else {
        row.results.may_be_reduced()
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
