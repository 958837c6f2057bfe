//! State for reporting the use of memory.

use std::collections::VecDeque;

use super::call::{Call, CallSegment};
use super::memory::Access;
use crate::carrier::connection::RefusedAccess;
use crate::carrier::operation::{MemoryAddress, Side, Sides, Stamp, StreamProgress};
use crate::rpc::message::Detail;
use crate::rpc::properties::MessageDirection;

/// The most segments of ended calls that are remembered, of answered ones and of others, and the most operations of an end.
const FORMERS: usize = 64;

/// State for reporting the use of memory (`Context::operations`).
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// True if something came that was not examined, because the connection was not recognised.
    pub(super) passed_over: bool,
    /// True if a call was given up that the responder may still serve, and nothing else is known of that call.
    pub(super) given_up: bool,
    /// Segments of calls that were given up for another of their XID, and may still be served.
    superseded: VecDeque<Former>,
    /// Progress of both ends when the current Send was sent.
    pub(super) progress: StreamProgress,
    /// Segments of calls that were answered.
    answered: VecDeque<Former>,
    /// Latest operations of each end that the other end's adapter may refuse.
    pub(super) aims: Sides<Aims>,
}

impl Watch {
    /// Returns the details of the current Send, if only the direction is known.
    pub(super) const fn detail(&self, direction: MessageDirection) -> Detail {
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

    /// Notes that a call was given up for another call with the same XID.
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

    /// Returns true if a call that was given up may have advertised this memory: the call may still be served.
    pub(super) fn may_serve(&self, memory: FormerMemory) -> bool {
        self.given_up || self.superseded.iter().any(|former| former.holds(memory))
    }
}

/// Memory of a requester that the other end accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormerMemory {
    pub(super) requester: Side,
    pub(super) access: Access,
    pub(super) address: MemoryAddress,
}

/// The last operations of an end, by place in everything that the end sends.
#[derive(Debug, Default)]
pub(super) struct Aims(VecDeque<(u64, Aim)>);

/// An operation of an end that may be refused.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aim {
    /// A Send.
    Send,
    /// An RDMA operation within a segment.
    Segment(Aimed),
    /// An RDMA operation that left a segment, or aimed at no segment.
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
    fn holds(&self, memory: FormerMemory) -> bool {
        let FormerMemory { requester, access, address: MemoryAddress { handle, offset } } = memory;
        (self.requester, self.access, self.handle) == (requester, access, handle)
            && offset.wrapping_sub(self.offset) < u64::from(self.length)
    }
}

/// An RDMA operation within a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aimed {
    pub(super) stamp: Stamp,
    /// For a Read: the request, as named by the responses.
    pub(super) request: Option<u64>,
    pub(super) address: MemoryAddress,
    /// XID of the call.
    pub(super) xid: u32,
    /// The frame in which this end had invalidated the handle.
    pub(super) invalidated: Option<u64>,
    /// Some of what a Read asked for came.
    pub(super) is_answered: bool,
}

impl Aims {
    pub(super) fn push(&mut self, place: u64, aim: Aim) {
        if self.0.len() == FORMERS {
            self.0.pop_front();
        }
        self.0.push_back((place, aim));
    }

    /// Notes that data came for this Read request, so the request was not refused.
    pub(super) fn answer(&mut self, request: u64) {
        for (_, aim) in self.0.iter_mut().rev() {
            if let Aim::Segment(aimed) = aim
                && aimed.request == Some(request)
            {
                aimed.is_answered = true;
                return;
            }
        }
    }

    /// Returns the operation that was refused, and if that is not certain, the other operation that may have been
    /// refused. Requests are carried out in order: without a place, the last Write was refused, or the first Read
    /// without an answer, unless an operation that was not within a segment may have been refused instead.
    pub(super) fn refused(&self, which: RefusedAccess) -> Option<(Aimed, Option<Aimed>)> {
        if let RefusedAccess::At(refused) = which {
            let at = self.0.iter().rev().find(|(place, _)| *place <= refused);
            return at.and_then(|(_, aim)| if let Aim::Segment(aimed) = aim { Some((*aimed, None)) } else { None });
        }
        if self.0.iter().any(|(_, aim)| matches!(aim, Aim::Outside)) {
            return None;
        }
        let within =
            || self.0.iter().filter_map(|(_, aim)| if let Aim::Segment(aimed) = aim { Some(*aimed) } else { None });
        let write = within().rfind(|aimed| aimed.request.is_none() && which != RefusedAccess::Read);
        let read =
            within().find(|aimed| aimed.request.is_some() && !aimed.is_answered && which != RefusedAccess::Write);
        read.map(|read| (read, write)).or(write.map(|write| (write, None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aimed(request: Option<u64>, handle: u32) -> Aim {
        let (stamp, address) = (Stamp::default(), MemoryAddress { handle, offset: 0 });
        Aim::Segment(Aimed { stamp, request, address, xid: 7, invalidated: None, is_answered: false })
    }

    /// Handles of what was refused, and of what else that may have been.
    fn handles(aims: &Aims, which: RefusedAccess) -> Option<(u32, Option<u32>)> {
        let (aimed, other) = aims.refused(which)?;
        Some((aimed.address.handle, other.map(|other| other.address.handle)))
    }

    #[test]
    fn the_last_write_or_first_unanswered_read_was_refused() {
        let mut aims = Aims::default();
        aims.push(1, aimed(Some(1), 1));
        aims.push(2, aimed(None, 2));
        aims.push(3, aimed(Some(3), 3));
        aims.push(4, aimed(Some(4), 4));
        aims.push(5, aimed(None, 5));
        aims.answer(1);
        assert_eq!(handles(&aims, RefusedAccess::Write), Some((5, None)));
        assert_eq!(handles(&aims, RefusedAccess::Read), Some((3, None)));
        assert_eq!(handles(&aims, RefusedAccess::Unknown), Some((3, Some(5))));
        aims.answer(3);
        aims.answer(4);
        assert_eq!(handles(&aims, RefusedAccess::Read), None);
        assert_eq!(handles(&aims, RefusedAccess::Unknown), Some((5, None)));
        aims.push(6, Aim::Outside);
        assert_eq!(handles(&aims, RefusedAccess::Unknown), None, "it may be that one");
        assert_eq!(handles(&aims, RefusedAccess::At(5)), Some((5, None)));
        assert_eq!(handles(&aims, RefusedAccess::At(6)), None);
    }

    #[test]
    fn a_send_that_was_refused_is_no_access_to_memory() {
        let mut aims = Aims::default();
        aims.push(10, aimed(None, 1));
        aims.push(12, Aim::Send);
        assert_eq!(handles(&aims, RefusedAccess::At(11)), Some((1, None)), "its second packet");
        assert_eq!(handles(&aims, RefusedAccess::At(12)), None);
        assert_eq!(handles(&aims, RefusedAccess::At(9)), None, "before what is known");
    }
}
