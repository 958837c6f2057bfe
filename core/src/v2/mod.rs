//! RPC-over-RDMA version 2 (draft-ietf-nfsv4-rpcrdma-version-two).
//!
//! The drafts have two wire formats, and both say 2 in `rdma_vers`:
//!
//! - [`family_a`]: drafts -00 to -02. A word of flags follows the four fixed words.
//! - [`family_b`]: drafts -03 to -07. No flags, other header types.
//!
//! The two sides have to know which one they speak.
//!
//! Segments, chunk lists and the Payload stream are those of version 1. New are transport properties ([`PropertySet`]),
//! error codes that say what to do ([`ErrorBody`]), messages of several Sends, invalidation of a handle the Requester
//! names ([`ChunkLists::inv_handle`]) and grants of credits at any time.

mod chunk_lists;
mod credit;
mod error;
pub mod family_a;
pub mod family_b;
mod property;

pub use chunk_lists::ChunkLists;
pub use credit::Credit;
pub use error::{ErrorBody, ErrorCode, ErrorReply, Reaction};
pub use property::{
    Properties, Property, PropertyId, PropertyIter, PropertySet, PropertySubset, PropertyValue, ReverseDirection,
};

/// `rdma_vers` of every header this module encodes and decodes.
pub const VERSION: u32 = 2;

/// A wire format of version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Drafts -00 to -02: [`family_a`].
    A,
    /// Drafts -03 to -07: [`family_b`].
    B,
}
