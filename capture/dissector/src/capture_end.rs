//! The end of a capture, from which the age of a waiting call is counted.

use core::time::Duration;

use crate::carrier::operation::Stamp;
use crate::file::{SET_BACK, Time};

/// The end of a capture, or of the part that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureEnd {
    /// Time of the last frame.
    pub time: Time,
    /// First frame after the clock was last set back, by 1 ms or more.
    pub set_back: Option<Stamp>,
}

impl CaptureEnd {
    /// Nanoseconds from a frame to the end. `None` if the clock was set back meanwhile.
    #[must_use]
    pub fn since(self, stamp: Stamp) -> Option<u64> {
        self.set_back_after(stamp).is_none().then(|| self.time.0.saturating_sub(stamp.time.0))
    }

    /// Returns the nanoseconds from a frame to the end, or only the nanoseconds since the clock was last set back, if
    /// that was after the frame.
    #[must_use]
    pub fn at_least_since(self, stamp: Stamp) -> u64 {
        let Stamp { time, .. } = self.set_back_after(stamp).unwrap_or(stamp);
        self.time.0.saturating_sub(time.0)
    }

    fn set_back_after(self, stamp: Stamp) -> Option<Stamp> {
        self.set_back.filter(|set_back| stamp.frame < set_back.frame)
    }

    /// The end of a wait that was over at a frame before the last one.
    #[must_use]
    pub fn earlier(self, stamp: Stamp) -> Self {
        Self { time: stamp.time, set_back: self.set_back.filter(|set_back| set_back.frame <= stamp.frame) }
    }

    /// The end after one more frame.
    #[must_use]
    pub fn later(self, stamp: Stamp) -> Self {
        let is_set_back = self.time.0.saturating_sub(stamp.time.0) >= SET_BACK;
        Self { time: stamp.time, set_back: if is_set_back { Some(stamp) } else { self.set_back } }
    }

    /// The end this much later, if no frame has come meanwhile.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self { time: Time(self.time.0.saturating_add(nanoseconds)), ..self }
    }
}
