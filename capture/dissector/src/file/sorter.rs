//! Frames of a file in the order of their times, as far as a bounded number of frames allows.
//!
//! Programs that capture with several threads write frames in disorder. A frame moves to the place of its time if that
//! is within the window: every frame waits until a window of later frames has been read. A clock that was set back
//! looks like disorder at first, but stays behind:
//!
//! ```text
//! disorder         10  11  13  12  14  15
//! clock set back   10  11  12   4   5   6   7   8   9  10
//! ```

use std::collections::VecDeque;

use super::clock::{DISORDER, SET_BACK};
use super::error::FileError;
use super::frame::{Frame, LinkType, Time};
use super::reader::Reader;

/// Frames that are read ahead, and that wait in the order of their times.
const WINDOW: usize = 256;
/// The most octets of each, but for a last frame that is larger.
const OCTETS: usize = 1 << 20;

/// A frame that is earlier by more than this, an hour in nanoseconds, has a wrong time, and is not moved.
const EARLIEST: u64 = 3_600_000_000_000;

/// The frames of one file, which wait until no earlier one is expected.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// In the order of the file.
    ahead: FrameQueue,
    /// In the order of their times.
    sorted: FrameQueue,
    current: SortedFrame,
    /// Number of the current frame.
    number: u64,
    /// Latest time of the frames that were sorted, since the clock was last set back.
    latest: Time,
    /// Number of frames that were put before others.
    moved: u64,
    /// True if a frame was so early that the clock may have been set back.
    is_disordered: bool,
    /// True once all frames were read, to the end or to this error.
    has_ended: bool,
    error: Option<FileError>,
}

/// A queue of frames.
#[derive(Debug, Default)]
struct FrameQueue {
    frames: VecDeque<SortedFrame>,
    octets: usize,
}

#[derive(Debug, Default)]
struct SortedFrame {
    time: Time,
    link: LinkType,
    data: Vec<u8>,
    length: u32,
}

impl Sorter {
    /// A sorter of a whole file, behind so many frames of other files.
    pub(super) fn new(frames: u64) -> Self {
        Self { number: frames, ..Self::default() }
    }

    /// Starts sorting with this frame; the previous frame has the time `last`.
    pub(super) fn beginning_with(frame: &Frame<'_>, last: Time) -> Self {
        let current = SortedFrame { time: last, ..SortedFrame::default() };
        let mut sorter = Self { latest: last, current, ..Self::new(frame.number.saturating_sub(1)) };
        sorter.hold(frame);
        sorter
    }

    fn hold(&mut self, frame: &Frame<'_>) {
        let Frame { time, link, data, length, .. } = *frame;
        self.ahead.push(SortedFrame { time, link, data: data.to_vec(), length });
    }

    /// Goes to the next frame in the order of times; false if there is none.
    pub(super) fn advance(&mut self, reader: &mut Reader<'_>) -> Result<bool, FileError> {
        loop {
            self.fill(reader);
            let is_set_back = self.is_set_back();
            let is_settled = self.sorted.is_full() || is_set_back || self.ahead.frames.is_empty();
            if is_settled && let Some(frame) = self.sorted.pop() {
                self.current = frame;
                self.number = self.number.saturating_add(1);
                return Ok(true);
            }
            let Some(frame) = self.ahead.pop() else { return self.error.take().map_or(Ok(false), Err) };
            if is_set_back {
                self.latest = frame.time;
                self.current.time = Time::default();
            }
            self.sort(frame);
        }
    }

    /// The current frame.
    pub(super) fn frame(&self) -> Frame<'_> {
        let number = self.number;
        let SortedFrame { time, link, ref data, length, .. } = self.current;
        Frame { number, time, link, data, length }
    }

    /// Number of frames that were put before others.
    pub(super) const fn moved(&self) -> u64 {
        self.moved
    }

    fn fill(&mut self, reader: &mut Reader<'_>) {
        while !self.has_ended && !self.ahead.is_full() {
            match reader.advance() {
                Ok(true) => self.hold(&reader.frame()),
                Ok(false) => self.has_ended = true,
                Err(error) => (self.has_ended, self.error) = (true, Some(error)),
            }
        }
    }

    /// Inserts a frame by its time. A frame older than the last emitted frame is not moved.
    fn sort(&mut self, frame: SortedFrame) {
        let is_near = self.latest.0.saturating_sub(frame.time.0) <= EARLIEST;
        let is_late = is_near && frame.time < self.latest && frame.time >= self.current.time;
        self.moved += u64::from(is_late);
        self.is_disordered |= is_late && self.latest.0 - frame.time.0 >= SET_BACK;
        self.latest = self.latest.max(frame.time);
        self.sorted.insert(frame, is_late);
    }

    /// Returns true if the clock was set back before the first frame that is read ahead.
    fn is_set_back(&self) -> bool {
        let mut ahead = self.ahead.frames.iter().map(|frame| frame.time);
        let Some(first) = ahead.next() else { return false };
        if self.latest.0.saturating_sub(first.0) < SET_BACK {
            return false;
        }
        let (mut last, mut is_disordered) = (first, self.is_disordered);
        for (frames, time) in (1..).zip(ahead) {
            if time >= self.latest {
                return frames > DISORDER && !is_disordered;
            }
            is_disordered |= last.0.saturating_sub(time.0) >= SET_BACK;
            last = time;
        }
        // Time has not come back to where it was.
        !self.has_ended || !self.is_disordered
    }
}

impl FrameQueue {
    fn is_full(&self) -> bool {
        self.frames.len() >= WINDOW || self.octets >= OCTETS
    }

    fn push(&mut self, frame: SortedFrame) {
        self.octets += frame.data.len();
        self.frames.push_back(frame);
    }

    fn pop(&mut self) -> Option<SortedFrame> {
        let frame = self.frames.pop_front()?;
        self.octets -= frame.data.len();
        Some(frame)
    }

    /// Inserts a frame behind all others, or, if it `is_late`, behind all frames that are not later.
    fn insert(&mut self, frame: SortedFrame, is_late: bool) {
        let later = self.frames.iter().rev().take_while(|other| is_late && other.time > frame.time).count();
        self.octets += frame.data.len();
        self.frames.insert(self.frames.len() - later, frame);
    }
}

#[cfg(test)]
mod tests {
    use super::super::capture::Capture;

    const MILLISECOND: u64 = 1_000_000;

    /// Times of the frames of a file with these times, in milliseconds, and the number of frames that were moved.
    fn sorted(times: &[u64]) -> (Vec<u64>, u64) {
        let mut file = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
        for time in times {
            let words = [(time / 1000) as u32, (time % 1000 * MILLISECOND) as u32, 0, 0];
            file.extend(words.into_iter().flat_map(u32::to_le_bytes));
        }
        let mut capture = Capture::from_streams([("file".to_owned(), Box::new(std::io::Cursor::new(file)) as Box<_>)]);
        let mut given = Vec::new();
        while let Some(frame) = capture.next() {
            let frame = frame.unwrap();
            assert_eq!(frame.number, given.len() as u64 + 1);
            given.push(frame.time.0 / MILLISECOND);
        }
        (given, capture.clock_steps().sorted)
    }

    #[test]
    fn frames_in_disorder_are_sorted() {
        assert_eq!(sorted(&[5, 4, 3, 2, 1, 6]), (vec![1, 2, 3, 4, 5, 6], 4));
        let disordered: Vec<u64> = (0..100).map(|place| 1 + place * 37 % 100).collect();
        assert_eq!(sorted(&disordered).0, (1..=100).collect::<Vec<_>>());
    }

    #[test]
    fn a_clock_that_was_set_back_stays_as_it_is() {
        let times: Vec<u64> = (10..40).chain(20..60).collect();
        assert_eq!(sorted(&times), (times, 0));
        assert_eq!(sorted(&[10, 20, 3, 4]), (vec![10, 20, 3, 4], 0));
    }

    #[test]
    fn a_frame_without_a_time_stays_in_its_place() {
        let given = vec![5_000_000, 0, 5_000_001, 5_000_002, 5_000_003, 5_000_004];
        assert_eq!(sorted(&[5_000_000, 0, 5_000_001, 5_000_003, 5_000_002, 5_000_004]), (given, 1));
    }

    #[test]
    fn a_frame_beyond_the_window_stays_in_its_place() {
        let times: Vec<u64> = (10..310).chain([1]).chain(310..320).collect();
        let (given, moved) = sorted(&times);
        assert_eq!((given, moved), (times, 0));
    }
}
