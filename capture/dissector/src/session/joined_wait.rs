//! RPCs of which the capture holds the reply and not the call, because the call was sent before the capture began.

use super::assembly::Span;
use crate::carrier::operation::{Operation, OperationKind, Places, Side, Sides, Stamp};
use crate::carrier::recovery::{Indication, RecoveryKind};
use crate::file::Time;
use crate::rpc::joined_wait::JoinedWait;
use crate::rpc::recovery::Recovery;

/// State of a connection whose setup was not captured.
#[derive(Debug)]
pub(super) struct Joined {
    /// The first frame of the connection.
    since: Stamp,
    /// Time of the latest packet of each end that carries data, if the capture holds one.
    latest: Sides<Option<Time>>,
    /// `true` if the capture may lack a call of this end.
    lacks_call: Sides<bool>,
    /// The latest packet of each end that fills a gap of the capture, with the place of the packet: until then, the
    /// other end lacked that packet too.
    filled: Sides<Option<(u64, Stamp)>>,
    /// Recovery of what each end sent for no known call.
    recovery: Sides<Option<Box<Recovery>>>,
}

impl Joined {
    /// The first frame of the connection was `since`.
    pub(super) const fn new(since: Stamp) -> Self {
        Self {
            since,
            latest: Sides { active: None, passive: None },
            lacks_call: Sides { active: false, passive: false },
            filled: Sides { active: None, passive: None },
            recovery: Sides { active: None, passive: None },
        }
    }

    /// Notes the time of an operation. For a retransmitted packet, returns the time when the packet was first sent, or
    /// the time of the sender's packet before that.
    #[inline]
    pub(super) fn note(&mut self, operation: &Operation<'_>) -> Time {
        let Operation { from, stamp, first_sent, kind, .. } = *operation;
        // Packets that waited for one of the other end are given after that.
        if stamp.frame < self.since.frame {
            self.since = stamp;
        }
        let latest = self.latest.get_mut(from);
        match kind {
            // Of what an end sends first, the carrier lacks the packets before the capture.
            OperationKind::Lost => *self.lacks_call.get_mut(from) |= latest.is_some(),
            OperationKind::Indication { of, place, sign: Indication::Recovery(kind), .. }
                if kind.is_retransmission() =>
            {
                if of == from && kind == RecoveryKind::Replaced {
                    *self.filled.get_mut(from) = Some((place, stamp));
                }
                let before = latest.replace(stamp.time).unwrap_or(self.since.time);
                return first_sent.unwrap_or(before);
            }
            OperationKind::Indication { .. } => {}
            _ => *latest = Some(stamp.time),
        }
        Time::default()
    }

    /// A Send of this end may be a call, and does not show which.
    pub(super) const fn lack_call(&mut self, from: Side) {
        *self.lacks_call.get_mut(from) = true;
    }

    /// Counts an indication of loss in what an end sent for no known call. The packet before that came at the time `after`.
    pub(super) fn recover(&mut self, of: Side, kind: RecoveryKind, after: Time, stamp: Stamp) {
        let recovery = self.recovery.get_mut(of).get_or_insert_default();
        recovery.count_indication(kind, stamp);
        let until = recovery.stretches.last().map_or(after, |(_, until)| after.max(*until));
        if kind.is_retransmission() && stamp.time > until {
            recovery.stretch(until, stamp.time);
        }
    }

    /// Returns the minimum wait of an RPC whose reply this end sent in these frames and places, if the call was sent
    /// before the capture.
    pub(super) fn wait(&self, responder: Side, span: Span, places: Places) -> Option<Box<JoinedWait>> {
        if *self.lacks_call.get(responder.other()) {
            return None;
        }
        let filled = self.filled.get(responder).filter(|(place, _)| *place < places.first);
        let filled = filled.map(|(_, stamp)| stamp).filter(|stamp| stamp.frame > span.ended.frame);
        Some(Box::new(self.wait_until(responder, filled.unwrap_or(span.ended))))
    }

    /// Returns the wait of an RPC whose reply arrived with a later packet.
    pub(super) fn wait_until(&self, responder: Side, until: Stamp) -> JoinedWait {
        let recovery = self.recovery.get(responder).as_deref().cloned().unwrap_or_default();
        JoinedWait { since: self.since, until, recovery }.cut()
    }

    /// Octets of memory that the state takes at most.
    pub(super) const fn memory_used() -> usize {
        size_of::<Self>() + 2 * Recovery::HELD
    }
}
