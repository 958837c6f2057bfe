//! What is remembered to tell how memory is used.

use std::collections::VecDeque;

use super::memory::Access;
use crate::carrier::operation::{Progress, Side, Sides, Stamp};
use crate::rpc::known::Direction;
use crate::rpc::message::Detail;

/// Segments of calls that were answered which are remembered.
pub(super) const ANSWERED: usize = 64;

/// What is remembered to tell how memory is used ([`Context::operations`]).
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Something came that was not looked at, as the connection was not recognised.
    pub(super) passed_over: bool,
    /// A call was given up that its responder may still serve.
    pub(super) given_up: bool,
    /// How far both ends were when the Send was sent that is looked at.
    pub(super) progress: Progress,
    pub(super) answered: VecDeque<Former>,
    /// What the other end's adapter refuses, if it refuses something that each end did.
    pub(super) aimed: Sides<Aim>,
}

impl Watch {
    /// What is known of the Send that is looked at, if it asks or answers and that is all.
    pub(super) const fn detail(&self, direction: Direction) -> Detail {
        Detail::new(direction, self.progress, self.given_up)
    }
}

/// What an end has done that may be refused.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Aim {
    /// Nothing.
    #[default]
    None,
    /// An RDMA operation within a segment: the last, of Reads the first that is not answered.
    Segment(Aimed),
    /// An RDMA operation that left its segment, or aimed at none: it or any other.
    Outside,
}

/// A segment of a call that was answered.
#[derive(Debug)]
pub(super) struct Former {
    pub(super) requester: Side,
    pub(super) xid: u32,
    pub(super) access: Access,
    pub(super) handle: u32,
    pub(super) offset: u64,
    pub(super) length: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Aimed {
    pub(super) stamp: Stamp,
    pub(super) write: bool,
    pub(super) address: (u32, u64),
    /// XID of the call.
    pub(super) xid: u32,
    /// The frame in which this end had invalidated the handle.
    pub(super) invalidated: Option<u64>,
}
