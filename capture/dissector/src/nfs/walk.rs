//! Input and result of stepping through arguments or results.

use core::fmt;
use core::ops::Range;

use rpcrdma::reader::Reader;

use super::operation::CompoundOperation;

/// The arguments or results of an RPC, without the data that was moved out of the Payload stream.
#[derive(Clone, Copy, Debug)]
pub struct RpcBody<'a> {
    /// Octets from the one after the verifier of a call, or after the `accept_stat` of a reply.
    pub octets: &'a [u8],
    /// Octets of the Payload stream before the body.
    pub position: usize,
}

/// Data that was moved out of the Payload stream of a message.
#[derive(Clone, Copy, Debug)]
pub enum Reduced<'a> {
    /// The Read chunks of a call: Position and length, in octets. The chunk at Position Zero is not a data item and is
    /// skipped.
    Call(&'a [(u64, u64)]),
    /// The Write chunks of a reply, in the order of the Write list: the returned length in octets, 0 for a chunk that is
    /// empty or unused (RFC 8166 section 3.4.6).
    Reply(&'a [u64]),
}

/// A DDP-eligible data item, reduced or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataItem {
    /// Offset of the data in the rebuilt body, in octets.
    pub at: usize,
    /// Offset at which the item begins, or has to be inserted, in the body that was walked.
    pub inline_at: usize,
    /// Octets of data, without XDR padding.
    pub length: u32,
    /// Index of the chunk of [`Reduced`] that holds the item; `None` for an inline item.
    pub chunk: Option<usize>,
    /// Index in [`Walk::operations`] of the item's operation; 0 if there are none.
    pub operation: usize,
}

/// Meaning of an item of arguments or results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A file handle.
    Handle,
    /// The name of a file in a directory.
    Name,
    /// An offset in a file: four octets or eight.
    Offset,
    /// A count of octets of a file: a word.
    Count,
    /// The count of octets in the results of WRITE: a word.
    Written,
    /// `stable_how`, or in the results of WRITE `committed`: a word.
    Stable,
    /// A `stateid4`.
    Stateid,
    /// Maximum length of a listing: a word.
    Listing,
    /// The attributes that are asked for: a counted `bitmap4`.
    Attributes,
    /// The attributes that GETATTR returns: a `fattr4`.
    AttributeValues,
    /// The results of FSINFO behind the attributes of the file.
    FileSystem,
    /// The path that MNT asks for.
    Path,
    /// Entries of a directory, with handles.
    Entries,
    /// A result whose length the arguments do not limit.
    Unlimited,
    /// The six words of a `channel_attrs4` that are always there.
    Channel,
    /// The `sessionid4` of the session that SEQUENCE names, or that CREATE_SESSION has created.
    Session,
    /// Part of the arguments that tells operations of one kind on one file apart: the claim of OPEN; type, reclaim, offset and
    /// length of LOCK.
    Variant,
    /// A `write_response4`.
    WriteResponse,
    /// A `copy_requirements4`.
    CopyRequirements,
    /// An `offload_info4`.
    OffloadInfo,
    /// The results of OFFLOAD_STATUS.
    OffloadStatus,
    /// A `clientid4`: eight octets.
    Client,
    /// Owner and scope of the server in the results of EXCHANGE_ID: `so_minor_id`, `so_major_id`, `eir_server_scope`.
    ServerOwner,
}

/// Room that the results of a call may need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResultRoom {
    /// Maximum length of each result that may be reduced, in octets and in their order: the count of a READ. `None` for the
    /// text of a link, which the arguments do not limit.
    pub data: Vec<Option<u32>>,
    /// Maximum length of all listings together, in octets: what each READDIR, LISTXATTRS, GETDEVICEINFO and LAYOUTGET allows, and
    /// the count of READ_PLUS, whose data may not be reduced.
    pub listings: u64,
    /// Number of results that may be long, may not be reduced, and are not limited by the arguments: access control lists,
    /// extended attributes, locations of a file system.
    pub unlimited: u32,
    /// The session of the call, whose [`SessionLimits`] hold for the whole reply; `None` if the call is in none.
    pub session: Option<SessionId>,
}

impl ResultRoom {
    /// Maximum length of a result that neither the call nor a session limits, in octets. The Linux client provides this
    /// for an access control list. Entries of NFSACL are 12 octets each, and at most 1,024 of each of two kinds.
    pub const UNLIMITED: u32 = 1 << 16;

    /// Returns the maximum length of the results that the reply itself carries, without the short ones: the listings,
    /// and the unlimited results. `reply` is the maximum length of a reply in the session of the call
    /// ([`ChannelLimits::reply`]). In a session, `reply` is the only limit of an unlimited result; without a session,
    /// as in NFSv4.0 and NFSACL, the limit is [`UNLIMITED`](Self::UNLIMITED).
    ///
    /// A responder needs no such estimate: the reply fits or not into the memory that the call provides.
    #[must_use]
    pub fn in_reply(&self, reply: Option<u32>) -> u32 {
        let unlimited = match reply {
            Some(reply) if self.unlimited > 0 => reply,
            _ => self.unlimited.saturating_mul(Self::UNLIMITED),
        };
        u32::try_from(self.listings).unwrap_or(u32::MAX).saturating_add(unlimited)
    }
}

/// Stability of written data (`stable_how`, RFC 1813 section 3.3.7, RFC 8881 section 18.32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StableHow(pub u32);

impl StableHow {
    /// Name of the value in RFC 8881, which RFC 1813 has without the 4; `None` for an unknown value.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self.0 {
            0 => Some("UNSTABLE4"),
            1 => Some("DATA_SYNC4"),
            2 => Some("FILE_SYNC4"),
            _ => None,
        }
    }
}

/// Limits of a session in CREATE_SESSION (RFC 8881 section 18.36): the limits that the client asked for, and those that the server
/// granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionCreation {
    /// Limits that the client asked for: those of calls, and those of callbacks.
    pub asked: Option<[ChannelLimits; 2]>,
    /// The session; `None` if the server created none.
    pub created: Option<SessionLimits>,
}

/// Identity of a server (RFC 8881 section 18.35): addresses whose servers have the same major ID and scope are one server
/// (section 2.10.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerOwner<'a> {
    /// `so_minor_id`.
    pub minor_id: u64,
    /// `so_major_id`.
    pub major_id: &'a [u8],
    /// `eir_server_scope`.
    pub scope: &'a [u8],
}

impl<'a> ServerOwner<'a> {
    /// Reads the fields from the results of EXCHANGE_ID.
    pub(crate) fn decode(octets: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(octets);
        Some(Self { minor_id: reader.u64().ok()?, major_id: reader.opaque().ok()?, scope: reader.opaque().ok()? })
    }
}

/// Name of a session (`sessionid4`, RFC 8881 section 3.2).
pub type SessionId = [u8; 16];

/// Limits of one direction of a session (`channel_attrs4`, RFC 8881 section 18.36).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelLimits {
    /// Maximum length of a call in octets, including the RPC header.
    pub call: u32,
    /// Maximum length of a reply in octets, including the RPC header and all data.
    pub reply: u32,
    /// Maximum number of operations in a call.
    pub operations: u32,
    /// Maximum number of calls in flight.
    pub calls: u32,
}

impl ChannelLimits {
    /// Reads the limits of both directions in the arguments or results of CREATE_SESSION: the calls of the client first.
    pub(crate) fn both<'a, 'b: 'a>(items: impl Iterator<Item = &'a MarkedItem<'b>>) -> Option<[Self; 2]> {
        let mut channels = items.filter(|item| item.mark == Mark::Channel).filter_map(Self::from_item);
        Some([channels.next()?, channels.next()?])
    }

    /// Reads headerpadsize, maxrequestsize, maxresponsesize, maxresponsesize_cached, maxoperations, maxrequests.
    fn from_item(item: &MarkedItem<'_>) -> Option<Self> {
        let words = item.octets.as_chunks::<4>().0;
        let [_, call, reply, _, operations, calls] = *words.first_chunk::<6>()?;
        let [call, reply, operations, calls] = [call, reply, operations, calls].map(u32::from_be_bytes);
        Some(Self { call, reply, operations, calls })
    }
}

/// Limits of a session: a requester never needs more room for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLimits {
    /// The session.
    pub session: SessionId,
    /// Limits of the calls of the client.
    pub fore: ChannelLimits,
    /// Limits of the callbacks.
    pub back: ChannelLimits,
}

impl SessionLimits {
    /// Reads the results of CREATE_SESSION.
    pub(crate) fn from_items<'a, 'b: 'a>(items: impl Iterator<Item = &'a MarkedItem<'b>> + Clone) -> Option<Self> {
        let session = items.clone().find(|item| item.mark == Mark::Session)?.octets.try_into().ok()?;
        let [fore, back] = ChannelLimits::both(items)?;
        Some(Self { session, fore, back })
    }
}

/// An item that means something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarkedItem<'a> {
    /// Index in [`Walk::operations`] of the item's operation; 0 if there are none.
    pub(crate) operation: usize,
    /// Meaning of the item.
    pub(crate) mark: Mark,
    /// Octets of the item; for a name or handle of variable length, without count and padding.
    pub(crate) octets: &'a [u8],
}

/// A piece of a body, and the piece's confidentiality. Octets that are in no piece are not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyPiece {
    /// Octets of the piece in the body.
    pub octets: Range<usize>,
    /// Kind of the piece.
    pub kind: PieceKind,
}

/// Confidentiality of a piece of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A count, discriminant, status or operation number, which shows the structure only.
    Structure,
    /// A `stateid4`: a sequence number, and 12 octets that name a state.
    Stateid,
    /// Names, identifiers and all other values.
    Value,
    /// The text of a link.
    Text,
    /// File data.
    Data,
}

/// Result of stepping through arguments or results.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Walk {
    /// The operations of a COMPOUND or CB_COMPOUND, including the one that could not be stepped over.
    pub operations: Vec<CompoundOperation>,
    /// Every DDP-eligible data item that was met, in order.
    pub items: Vec<DataItem>,
    /// The status of the whole reply, if the procedure has one.
    pub status: Option<u32>,
    /// Program number that the client announces for callbacks.
    pub callback_program: Option<u32>,
    /// Reason why stepping ended: `Ok` if everything was stepped over and every chunk was placed.
    pub end: Result<(), WalkError>,
    /// Octets of the body that were stepped over. If `end` is `Ok` and this is not all, the procedure does not define
    /// the octets that follow.
    pub consumed: usize,
}

/// Reason why a body could not be stepped over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkError {
    /// Octets from the start of the body to what could not be stepped over.
    pub at: usize,
    /// The operation or procedure that was being stepped over.
    pub operation: Option<&'static str>,
    /// Description of the problem.
    pub reason: &'static str,
}

impl WalkError {
    /// The body ends before the item does: the body was cut, or differs from the procedure's definition.
    pub const ENDS_INSIDE: &'static str = "ends inside";
    /// No table has this program, version and procedure.
    pub const UNKNOWN_PROCEDURE: &'static str = "unknown procedure";
    /// The call was cut inside the credential, so RPCSEC_GSS may have changed the body.
    pub const UNKNOWN_CREDENTIAL: &'static str = "the call's credential is not in the capture";
    /// No table has this operation number.
    pub const UNKNOWN_OPERATION: &'static str = "unknown operation";
    /// A discriminant for which the union has no arm.
    pub const UNKNOWN_ARM: &'static str = "unknown arm of a union";
    /// A word that must be 0 or 1 is neither.
    pub const NOT_A_BOOL: &'static str = "neither 0 nor 1 where optional data begins";
    /// A Read chunk is at the item's Position but has another length.
    pub const READ_CHUNK_LENGTH: &'static str = "Read chunk length differs from the item's count";
    /// The next Write chunk has a different length from the item.
    pub const WRITE_CHUNK_LENGTH: &'static str = "Write chunk length differs from the item's count";
    /// No DDP-eligible item is at the Position of a Read chunk.
    pub const READ_CHUNK_LEFT: &'static str = "a Read chunk was not claimed";
    /// A Write chunk has data, but no result is left for the chunk.
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

/// Padding of an RDMA_MSGP (RFC 5666 section 3.9): the data of a DDP-eligible item that is inline begins at a multiple
/// of `align`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Padding {
    /// Octets before the body, from the start of the Send.
    pub(crate) before: usize,
    /// `rdma_align`.
    pub(crate) align: u32,
    /// The size from which items are padded, in octets.
    pub(crate) least: u32,
}
