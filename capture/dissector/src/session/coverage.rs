//! Parts of both ends' work that the capture shows, and that the capture lacks.

use crate::carrier::operation::{Side, Sides};

/// Coverage of both ends by the capture.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    /// The last call at the time when the capture was last seen to have missed something of an end.
    lost: Sides<Option<u64>>,
    /// The ends of which something was seen since the last gap of the capture. If the capture misses what such an end
    /// does next, the gap shows. Right after a loss a new gap may not show, because iWARP's frames have to be found
    /// again.
    heard: Sides<bool>,
    /// The ends that did anything, acknowledgements included.
    spoke: Sides<bool>,
}

impl Coverage {
    /// Notes that an end did something.
    pub(super) const fn speak(&mut self, end: Side) {
        *self.spoke.get_mut(end) = true;
    }

    /// Returns true if an end did anything, acknowledgements included.
    pub(super) const fn has_spoken(&self, end: Side) -> bool {
        *self.spoke.get(end)
    }

    /// Notes that something of an end was seen since the last gap.
    pub(super) const fn hear(&mut self, end: Side) {
        *self.heard.get_mut(end) = true;
    }

    /// Returns true if a gap in what an end does next will show.
    pub(super) const fn is_heard(&self, end: Side) -> bool {
        *self.heard.get(end)
    }

    /// Notes that both ends were heard when they set the connection up.
    pub(super) const fn hear_setup(&mut self) {
        self.spoke = Sides { active: true, passive: true };
        self.heard.active |= self.lost.active.is_none();
        self.heard.passive |= self.lost.passive.is_none();
    }

    /// Notes that the capture lacks something of an end, after this call.
    pub(super) const fn miss(&mut self, end: Side, last_call: u64) {
        *self.lost.get_mut(end) = Some(last_call);
        *self.heard.get_mut(end) = false;
    }

    /// Returns true if the capture lacks nothing of both ends, as far as is known.
    pub(super) const fn is_whole(&self) -> bool {
        self.lost.active.is_none() && self.lost.passive.is_none()
    }

    /// Returns true if the capture lacks something of an end.
    pub(super) const fn lacks(&self, end: Side) -> bool {
        self.lost.get(end).is_some()
    }

    /// Returns true if the capture lacks something that an end did after this call.
    pub(super) fn lacks_after(&self, end: Side, call: u64) -> bool {
        self.lost.get(end).is_some_and(|last_call| last_call >= call)
    }
}
