//! The clock that frames were captured by.

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
    pub(super) const fn begin(&mut self) {
        self.last = None;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_within_each_file_and_the_longest_is_kept() {
        let mut clock = Clock::default();
        for (number, time) in (1..).zip([50, 40, 40, 90, 30, 31]) {
            clock.frame(number, Time(time));
        }
        clock.begin();
        clock.frame(7, Time(1));
        assert_eq!(clock.steps(), ClockSteps { count: 2, first_frame: 2, longest_ns: 60, longest_frame: 5 });
    }
}
