//! The clock that frames were captured by.

use std::collections::VecDeque;

use super::frame::Time;

/// Steps back of a capture's clock: frames with an earlier time than the frame before them in the same file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockSteps {
    /// Number of steps.
    pub count: u64,
    /// Number of the first frame after a step; 0 without any.
    pub first_frame: u64,
    /// Length of the longest step in nanoseconds.
    pub longest_ns: u64,
    /// Number of the frame after the longest step.
    pub longest_frame: u64,
    /// Number of frames in disorder that were put where their times belong. No step is counted for such a frame.
    pub sorted: u64,
}

/// The clock of one file after another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// Time of the frame before; `None` at the start of a file.
    last: Option<Time>,
    steps: ClockSteps,
}

impl Clock {
    /// Another file begins, which may have been captured before.
    pub(super) const fn begin_file(&mut self) {
        self.last = None;
    }

    /// Number of frames of a file that were put where their times belong.
    pub(super) const fn sorted(&mut self, frames: u64) {
        self.steps.sorted += frames;
    }

    /// Returns true if the time of the next frame is a step back.
    #[inline]
    pub(super) fn is_step(&self, time: Time) -> bool {
        self.last.is_some_and(|last| time < last)
    }

    /// Time of the last frame; zero before the first.
    pub(super) fn last(&self) -> Time {
        self.last.unwrap_or_default()
    }

    /// Takes the time of the next frame.
    #[inline]
    pub(super) fn frame(&mut self, number: u64, time: Time) {
        if let Some(last) = self.last
            && time < last
        {
            self.steps.step(number, last.0 - time.0);
        }
        self.last = Some(time);
    }

    /// The steps so far.
    pub(super) const fn steps(&self) -> ClockSteps {
        self.steps
    }
}

impl ClockSteps {
    #[cold]
    const fn step(&mut self, frame: u64, length: u64) {
        self.count += 1;
        if self.count == 1 {
            self.first_frame = frame;
        }
        if length > self.longest_ns {
            (self.longest_ns, self.longest_frame) = (length, frame);
        }
    }
}

/// A time this much earlier than the one before is no disorder of frames that were captured at the same time.
pub(crate) const SET_BACK: u64 = 1_000_000;
/// After frames in disorder, the clock is back within this many frames.
pub(super) const DISORDER: u64 = 8;
/// The most recent places that are kept.
const PLACES: usize = 16;

/// Frames at which the clock of a capture was set back.
#[derive(Debug, Default)]
pub(crate) struct SetBacks {
    /// The latest time so far, and since the clock was last set back.
    latest: Time,
    /// The first frames after the clock was set back, and their times.
    frames: VecDeque<(u64, Time)>,
    /// Latest time before the last step back, until a later frame reaches that time.
    before: Option<Time>,
}

impl SetBacks {
    /// Takes the time of the next frame. Returns true if [`last`](Self::last) may be another by that.
    #[inline]
    pub(crate) fn frame(&mut self, number: u64, time: Time) -> bool {
        let is_usual = time >= self.latest && self.before.is_none();
        if is_usual {
            self.latest = time;
        } else {
            self.earlier(number, time);
        }
        !is_usual
    }

    /// Takes the time of a frame that is earlier than the latest, or follows one that was.
    #[cold]
    fn earlier(&mut self, number: u64, time: Time) {
        if let Some(before) = self.before.filter(|before| time >= *before) {
            self.before = None;
            self.frames.retain(|(first, _)| number - *first > DISORDER);
            self.latest = before;
        }
        if self.latest.0.saturating_sub(time.0) >= SET_BACK {
            self.before = Some(self.before.map_or(self.latest, |before| before.max(self.latest)));
            self.frames.push_back((number, time));
            if self.frames.len() > PLACES {
                self.frames.pop_front();
            }
            self.latest = time;
        }
        self.latest = self.latest.max(time);
    }

    /// Number and time of the first frame after the clock was last set back.
    pub(crate) fn last(&self) -> Option<(u64, Time)> {
        self.frames.back().copied()
    }

    /// Returns true if the clock was set back after the first of these frames, up to the second.
    #[inline]
    pub(crate) fn is_between(&self, first: u64, last: u64) -> bool {
        self.frames.iter().any(|(frame, _)| (first + 1..=last).contains(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_steps_are_counted_per_file_and_the_longest_kept() {
        let mut clock = Clock::default();
        for (number, time) in (1..).zip([50, 40, 40, 90, 30, 31]) {
            clock.frame(number, Time(time));
        }
        clock.begin_file();
        clock.frame(7, Time(1));
        assert_eq!(clock.steps(), ClockSteps { count: 2, first_frame: 2, longest_ns: 60, longest_frame: 5, sorted: 0 });
    }

    /// Frames from 1 on at these times in milliseconds: the ones after which the clock was set back.
    fn set_backs(times: &[u64]) -> Vec<u64> {
        let mut clock = SetBacks::default();
        (1..).zip(times).for_each(|(number, time)| _ = clock.frame(number, Time(time * SET_BACK)));
        clock.frames.into_iter().map(|(frame, _)| frame).collect()
    }

    #[test]
    fn frames_in_disorder_are_no_clock_that_was_set_back() {
        assert!(set_backs(&[10, 9, 11, 12]).is_empty());
        assert!(set_backs(&[10, 3, 4, 5, 6, 7, 8, 9, 10, 11]).is_empty());
        assert_eq!(set_backs(&[10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), [2], "that many are not in disorder");
        assert_eq!(set_backs(&[10, 3, 4]), [2], "not back yet");
        let mut clock = SetBacks::default();
        [(1, SET_BACK), (2, 1), (3, 2)].into_iter().for_each(|(number, time)| _ = clock.frame(number, Time(time)));
        assert!(clock.frames.is_empty(), "less than a millisecond");
    }

    #[test]
    fn the_latest_frames_with_a_clock_set_back_are_remembered() {
        assert_eq!(set_backs(&[10, 2, 3, 1, 2]), [2, 4]);
        let mut clock = SetBacks::default();
        (1..=40).for_each(|number| _ = clock.frame(number, Time((40 - number) * SET_BACK)));
        assert_eq!((clock.frames.len(), clock.frames.front().map(|(frame, _)| *frame)), (PLACES, Some(25)));
        assert!(clock.is_between(39, 40) && !clock.is_between(40, 41) && clock.is_between(24, 25));
    }
}
