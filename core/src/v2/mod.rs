//! RPC-over-RDMA version 2 (draft-ietf-nfsv4-rpcrdma-version-two).
//!
//! The drafts have two wire formats, and both say 2 in `rdma_vers`:
//!
//! - [`family_a`]: drafts -00 to -02. A word of flags follows the four fixed words.
//! - [`family_b`]: drafts -03 to -07. No flags, other header types.
//!
//! The two sides have to know which format is in use; [`Family::detect`] returns what a single Send shows. Two modules,
//! not one with a switch, so that nobody can make a header with flags and family B's types; anything that is the same
//! on the wire is the same type. [`HeaderV2`] and [`MessageV2`] are either, for programs that handle both.
//!
//! Segments, chunk lists and the Payload stream are as in version 1. New are transport properties ([`PropertySet`]),
//! error codes with an advice ([`ErrorBodyV2`]), messages of several Sends ([`Continuation`]), invalidation of a handle
//! that the Requester names ([`ChunkLists::inv_handle`]) and grants of credits at any time. [`Outcome`] determines the
//! version to use after a refusal.
//!
//! A receiver asks three questions about a message, each with a reaction of its own: does the message decode
//! ([`ReactionV2::to`]), may the message come now ([`Continuation::accept`]), and is anything else wrong
//! ([`rules::send_v2`](crate::rules::send_v2)).

mod chunk_lists;
mod continuation;
mod credit;
mod detection;
mod error;
mod family;
pub mod family_a;
pub mod family_b;
mod flags;
mod message;
mod negotiation;
pub(crate) mod outline;
mod property;
mod reply;

pub use chunk_lists::ChunkLists;
pub use continuation::{Continuation, ContinuationError, Part, Unread};
pub use credit::Credit;
pub use error::{ErrorBodyV2, ErrorCode, ErrorReplyV2, ReactionV2};
pub use family::Family;
pub use message::{HeaderV2, MessageV2};
pub use negotiation::{FIRST_MESSAGE, Outcome, VersionRefusal};
pub use property::{
    Properties, Property, PropertyId, PropertyIter, PropertySet, PropertySubset, PropertyValue, ReverseDirection,
};
pub use reply::ReplyHeaderV2;

/// `rdma_vers` of every header this module encodes and decodes.
pub const VERSION: u32 = 2;
