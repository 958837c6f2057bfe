//! Octets of frames that are held and released in the same order, in reused memory: an allocation for each frame costs more than copying the frame.

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;

use rpcrdma_dissector::{Frame, LinkType, Time};

/// Octets of a buffer, unless one frame has more.
const SIZE: usize = 1 << 20;

/// A [`Frame`] whose octets are kept in a buffer that several frames share.
#[derive(Clone, Debug)]
pub struct KeptFrame {
    pub(super) number: u64,
    time: Time,
    link: LinkType,
    octets: Range<usize>,
    length: u32,
}

impl KeptFrame {
    /// Appends the octets of `frame` to `buffer`.
    #[must_use]
    pub fn keep(frame: &Frame<'_>, buffer: &mut Vec<u8>) -> Self {
        let Frame { number, time, link, data, length } = *frame;
        let start = buffer.len();
        buffer.extend_from_slice(data);
        Self { number, time, link, octets: start..buffer.len(), length }
    }

    /// Returns the frame. `buffer` is the buffer passed to [`KeptFrame::keep`].
    #[must_use]
    pub fn frame<'a>(&self, buffer: &'a [u8]) -> Frame<'a> {
        let Self { number, time, link, ref octets, length } = *self;
        Frame { number, time, link, data: buffer.get(octets.clone()).unwrap_or_default(), length }
    }

    /// Number of octets that were kept.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.octets.end - self.octets.start
    }
}

/// Frames that are released in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct FrameBuffers {
    /// The oldest frame is in the first one. No frame is in two.
    buffers: VecDeque<FrameBuffer>,
    /// Memory of a buffer that was let go.
    spare: Vec<u8>,
}

#[derive(Debug, Default)]
struct FrameBuffer {
    octets: Vec<u8>,
    /// Number of held frames with octets in this buffer.
    frames: usize,
}

impl FrameBuffers {
    /// Copies the octets of a frame.
    pub(crate) fn keep(&mut self, frame: &Frame<'_>) -> KeptFrame {
        let length = frame.data.len();
        let has_room = |last: &FrameBuffer| last.octets.len() + length <= SIZE;
        let mut buffer = match self.buffers.pop_back() {
            Some(last) if has_room(&last) => last,
            full => {
                self.buffers.extend(full);
                FrameBuffer { octets: mem::take(&mut self.spare), frames: 0 }
            }
        };
        buffer.octets.reserve(if buffer.frames == 0 { SIZE.max(length) } else { 0 });
        buffer.frames += 1;
        let kept = KeptFrame::keep(frame, &mut buffer.octets);
        self.buffers.push_back(buffer);
        kept
    }

    /// Returns the buffer that holds the oldest frame.
    pub(crate) fn oldest(&self) -> &[u8] {
        self.buffers.front().map_or(&[], |first| &first.octets)
    }

    /// Lets go of the oldest frame.
    pub(crate) fn let_go(&mut self) {
        let Some(first) = self.buffers.front_mut() else { return };
        first.frames -= 1;
        if first.frames == 0 {
            let FrameBuffer { mut octets, .. } = self.buffers.pop_front().unwrap_or_default();
            octets.clear();
            self.spare = octets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let lengths = [0, 1, SIZE / 3, SIZE, SIZE * 2, 60, SIZE / 2];
        let data: Vec<Vec<u8>> = (0..40).map(|index| vec![index as u8; lengths[index % lengths.len()]]).collect();
        // As many as these are held at the same time.
        for most in [1, 2, 5, 40] {
            let mut buffers = FrameBuffers::default();
            let mut held = VecDeque::new();
            let check = |buffers: &mut FrameBuffers, held: &mut VecDeque<(KeptFrame, &Vec<u8>)>| {
                let (kept, expected) = held.pop_front().unwrap();
                assert!(kept.frame(buffers.oldest()).data == expected, "{most}, frame {}", kept.number);
                buffers.let_go();
            };
            for (number, data) in (1..).zip(&data) {
                let frame = Frame { number, time: Time(0), link: LinkType(1), data, length: 0 };
                held.push_back((buffers.keep(&frame), data));
                if held.len() >= most {
                    check(&mut buffers, &mut held);
                }
            }
            while !held.is_empty() {
                check(&mut buffers, &mut held);
            }
            assert!(buffers.buffers.is_empty());
        }
    }
}
