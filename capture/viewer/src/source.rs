//! A capture that is read in steps.

use std::io;

use dissector::{Capture, Config, Dissector, Event, Files, Frame, Summary};

/// A capture, and the dissector that turns frames into events.
pub(crate) struct Source {
    capture: Capture,
    dissector: Dissector,
    errors: Vec<String>,
    has_ended: bool,
    /// Number of frames to read; `None` for all.
    left: Option<u64>,
}

/// The most errors that are kept: one for each file.
const ERRORS: usize = 100;

impl Source {
    pub(crate) fn new(capture: Capture, config: Config) -> Self {
        Self { capture, dissector: Dissector::new(config), errors: Vec::new(), has_ended: false, left: None }
    }

    /// The same, which ends after so many frames.
    pub(crate) fn ending_after(self, frames: Option<u64>) -> Self {
        Self { left: frames, ..self }
    }

    /// Ends after the frames that were read. What waits for later frames comes with the next step.
    pub(crate) const fn stop(&mut self) {
        self.left = Some(0);
    }

    /// Reads at most `frames` frames, and gives the events to `take`; `false` at the end.
    pub(crate) fn step(
        &mut self,
        frames: usize,
        take: impl FnMut(&Event, &Files) -> io::Result<()>,
    ) -> io::Result<bool> {
        self.step_frames(frames, |_| Ok(()), take)
    }

    /// The same; gives each frame to `see` before the events of the frame.
    pub(crate) fn step_frames(
        &mut self,
        frames: usize,
        mut see: impl FnMut(&Frame<'_>) -> io::Result<()>,
        mut take: impl FnMut(&Event, &Files) -> io::Result<()>,
    ) -> io::Result<bool> {
        for _ in 0..frames {
            if self.has_ended {
                return Ok(false);
            }
            let next = if self.left == Some(0) { None } else { self.capture.next() };
            match next {
                Some(Ok(frame)) => {
                    self.left = self.left.map(|left| left - 1);
                    see(&frame)?;
                    self.dissector.frame(&frame);
                }
                Some(Err(error)) if self.errors.len() < ERRORS => self.errors.push(error.to_string()),
                Some(Err(_)) => {}
                None => {
                    self.has_ended = true;
                    self.dissector.finish();
                    self.dissector.take_clock_steps(self.capture.clock_steps());
                }
            }
            while let Some(event) = self.dissector.event() {
                take(&event, self.capture.files())?;
            }
        }
        Ok(!self.has_ended)
    }

    pub(crate) const fn files(&self) -> &Files {
        self.capture.files()
    }

    pub(crate) const fn summary(&self) -> &Summary {
        self.dissector.summary()
    }

    /// Returns why files could not be read to the end.
    pub(crate) fn errors(&self) -> &[String] {
        &self.errors
    }
}
