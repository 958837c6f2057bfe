//! What is remembered to report how memory is used.

use std::collections::VecDeque;

use super::call::{Call, CallSegment};
use super::memory::Access;
use crate::carrier::operation::{Progress, Side, Sides, Stamp};
use crate::rpc::known::Direction;
use crate::rpc::message::Detail;

/// The most segments of ended calls that are remembered, of answered ones and of others.
const FORMERS: usize = 64;

/// What is remembered to report how memory is used (`Context::operations`).
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Whether something came that was not examined, because the connection was not recognised.
    pub(super) passed_over: bool,
    /// A call was given up that its responder may still serve, and nothing else is known of it.
    pub(super) given_up: bool,
    /// Segments of calls that were given up for another of their XID, and may still be served.
    superseded: VecDeque<Former>,
    /// How far both ends had got when the current Send was sent.
    pub(super) progress: Progress,
    /// Segments of calls that were answered.
    answered: VecDeque<Former>,
    /// What the other end's adapter refused, if it refused anything that each end did.
    pub(super) aimed: Sides<Aim>,
}

impl Watch {
    /// What is known about the current Send, if only its direction is known.
    pub(super) const fn detail(&self, direction: Direction) -> Detail {
        Detail::new(direction, self.progress, self.given_up)
    }

    /// A call was answered.
    pub(super) fn answer(&mut self, call: &Call) {
        for former in formers(call).take(FORMERS) {
            if self.answered.len() == FORMERS {
                self.answered.pop_front();
            }
            self.answered.push_back(former);
        }
    }

    /// A call was given up for another of its XID.
    pub(super) fn supersede(&mut self, call: &Call) {
        if !call.may_be_served() {
            return;
        }
        for former in formers(call) {
            if self.superseded.len() == FORMERS {
                self.given_up = true;
                return;
            }
            self.superseded.push_back(former);
        }
    }

    /// XID of the last call that was answered and had advertised this memory.
    pub(super) fn answered_at(&self, memory: FormerMemory) -> Option<u32> {
        self.answered.iter().rev().find(|former| former.holds(memory)).map(|former| former.xid)
    }

    /// A call that was given up may still be served, and have advertised this memory.
    pub(super) fn may_serve(&self, memory: FormerMemory) -> bool {
        self.given_up || self.superseded.iter().any(|former| former.holds(memory))
    }
}

/// Memory of an end that the other accesses: whose, how, handle and offset.
pub(super) type FormerMemory = (Side, Access, (u32, u64));

/// An operation of an end that may be refused.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Aim {
    /// Nothing.
    #[default]
    None,
    /// An RDMA operation within a segment: the last Write, or the first unanswered Read.
    Segment(Aimed),
    /// An RDMA operation left its segment, or aimed at none: it may be that one or any other.
    Outside,
}

/// A segment of a call that is over.
#[derive(Debug)]
struct Former {
    requester: Side,
    xid: u32,
    access: Access,
    handle: u32,
    offset: u64,
    length: u32,
}

/// The segments of a call that is over.
fn formers(call: &Call) -> impl Iterator<Item = Former> + '_ {
    let (requester, xid) = (call.message.sender, call.message.xid());
    call.segments.iter().map(move |segment| {
        let CallSegment { access, handle, offset, length, .. } = *segment;
        Former { requester, xid, access, handle, offset, length }
    })
}

impl Former {
    fn holds(&self, (requester, access, (handle, offset)): FormerMemory) -> bool {
        (self.requester, self.access, self.handle) == (requester, access, handle)
            && offset.wrapping_sub(self.offset) < u64::from(self.length)
    }
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
