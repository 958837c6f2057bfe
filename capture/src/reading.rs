//! Reading and dissecting on a thread of its own, so that printing takes no time from reading.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rpcrdma_answers::annotate::KeptFrame;
use rpcrdma_dissector::{Capture, Dissector, Event, FileError, Files, Frame, SecondWitness, Summary, Time, TimeBase};

use crate::interrupt::Interrupt;

/// Maximum number of steps in a batch from one thread to the other, and of octets of frames and messages in these steps.
const STEPS: usize = 256;
const OCTETS: usize = 1 << 20;
/// Batches that may wait to be shown.
const WAITING: usize = 4;

/// Something that was found, or that could not be read.
#[expect(clippy::large_enum_variant, reason = "a batch of them is moved as a whole, and a box for each costs more")]
pub(crate) enum ReadingStep {
    /// A frame was read; the batch has the octets. Events of the frame follow.
    Frame(KeptFrame),
    /// Something was found.
    Found(Event),
    /// A file could not be read to the end.
    Unread(FileError),
    /// One of several files begins: which frames so far are in which.
    Begun(Files),
    /// The file begins before the end of the previous one.
    Overlaps,
}

/// A capture to be read, and the dissectors of the capture.
pub(crate) struct OpenedCapture {
    pub(crate) capture: Capture,
    pub(crate) dissector: Dissector,
    /// A second capture of the same packets.
    pub(crate) second: Option<Box<SecondWitness>>,
}

/// Steps that go together.
pub(crate) struct Batch {
    /// Time of the first frame of the capture.
    pub(crate) first: Time,
    pub(crate) steps: Vec<ReadingStep>,
    /// Octets of the frames in `steps`.
    pub(crate) octets: Vec<u8>,
}

/// Steps that were not handed over yet. The input shares this value: before waiting for more, the input hands all over.
#[derive(Clone)]
pub(crate) struct Batches(Arc<Mutex<Gathered>>);

struct Gathered {
    batch: Batch,
    octets: usize,
    sender: SyncSender<Batch>,
}

impl Batches {
    /// Returns the two ends: steps are gathered in one, and come out of the other.
    pub(crate) fn new() -> (Self, Receiver<Batch>) {
        let (sender, receiver) = sync_channel(WAITING);
        let batch = Batch { first: Time::default(), steps: Vec::new(), octets: Vec::new() };
        (Self(Arc::new(Mutex::new(Gathered { batch, octets: 0, sender }))), receiver)
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_step(&self, step: ReadingStep, first: Option<Time>) -> io::Result<()> {
        self.lock().add_step(step, first)
    }

    /// Hands over what was gathered.
    ///
    /// # Errors
    /// A broken pipe, where nobody wants any more.
    pub(crate) fn hand_over(&self) -> io::Result<()> {
        self.lock().hand_over()
    }

    /// Reads and dissects `capture` to its end, or until reading is to end, or nobody wants any more; gives what its frames
    /// were.
    ///
    /// `keep` is `true` to hand over the frames themselves.
    pub(crate) fn fill(
        &self,
        OpenedCapture { mut capture, mut dissector, mut second }: OpenedCapture,
        interrupt: &Interrupt,
        keep: bool,
    ) -> Summary {
        let (mut ended, mut begun) = (false, 0);
        let mut first = None;
        while !ended {
            let mut taken = Ok(());
            match capture.next() {
                Some(Ok(frame)) => {
                    // Text shows the times of a trace as the trace does. Those of packets behind it count from the first packet.
                    let is_trace = frame.time_base() == TimeBase::Boot;
                    match first {
                        None => first = Some(if is_trace { Time::default() } else { frame.time }),
                        Some(Time(0)) if !is_trace => first = Some(frame.time),
                        Some(_) => {}
                    }
                    if keep {
                        taken = self.lock().keep(&frame, first);
                    }
                    if let Some(second) = &mut second {
                        second.frame(&frame);
                    }
                    let overlaps = !is_trace && dissector.summary().last.is_some_and(|last| frame.time < last);
                    dissector.frame(&frame);
                    if capture.files().begun() > begun {
                        begun = capture.files().begun();
                        taken = taken.and_then(|()| self.add_step(ReadingStep::Begun(capture.files().clone()), first));
                        if overlaps {
                            taken = taken.and_then(|()| self.add_step(ReadingStep::Overlaps, first));
                        }
                    }
                }
                Some(Err(_)) if interrupt.is_raised() => {
                    ended = true;
                    dissector.finish();
                }
                Some(Err(error)) => taken = self.add_step(ReadingStep::Unread(error), first),
                None => {
                    ended = true;
                    if let Some(second) = &mut second {
                        second.finish();
                    }
                    dissector.finish();
                }
            }
            if taken.and_then(|()| self.gather(&mut dissector, second.as_deref_mut(), first)).is_err() {
                break;
            }
        }
        if let Some(second) = &mut second {
            dissector.take_witness(second.summary());
            // This fails only if nobody wants the rest.
            _ = second.take_error().map_or(Ok(()), |error| self.add_step(ReadingStep::Unread(error), first));
        }
        dissector.take_clock_steps(capture.clock_steps());
        // This fails only if nobody wants the rest, so nothing is lost.
        _ = self.hand_over();
        dissector.summary().clone()
    }
}

impl Batches {
    /// Takes what the dissector found. In most frames that is nothing.
    fn gather(
        &self,
        dissector: &mut Dissector,
        mut second: Option<&mut SecondWitness>,
        first: Option<Time>,
    ) -> io::Result<()> {
        while let Some(mut event) = dissector.event() {
            if let Some(second) = &mut second {
                second.relate(&mut event);
            }
            self.add_step(ReadingStep::Found(event), first)?;
        }
        while let Some(lost) = second.as_mut().and_then(|second| second.next_loss()) {
            self.add_step(ReadingStep::Found(Event::LostBetween(lost)), first)?;
        }
        Ok(())
    }
}

impl Gathered {
    fn add_step(&mut self, step: ReadingStep, first: Option<Time>) -> io::Result<()> {
        self.octets += step.octets();
        self.batch.first = first.unwrap_or_default();
        self.batch.steps.push(step);
        if self.batch.steps.len() >= STEPS || self.octets >= OCTETS { self.hand_over() } else { Ok(()) }
    }

    fn keep(&mut self, frame: &Frame<'_>, first: Option<Time>) -> io::Result<()> {
        if self.batch.octets.is_empty() {
            self.batch.octets.reserve(OCTETS);
        }
        let kept = KeptFrame::keep(frame, &mut self.batch.octets);
        self.add_step(ReadingStep::Frame(kept), first)
    }

    fn hand_over(&mut self) -> io::Result<()> {
        if self.batch.steps.is_empty() {
            return Ok(());
        }
        self.octets = 0;
        let first = self.batch.first;
        let next = Batch { first, steps: Vec::with_capacity(STEPS), octets: Vec::new() };
        let batch = core::mem::replace(&mut self.batch, next);
        self.sender.send(batch).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl ReadingStep {
    /// Octets of frames and messages in the batch.
    fn octets(&self) -> usize {
        match self {
            Self::Frame(frame) => frame.size(),
            Self::Found(event) => event.octets(),
            Self::Unread(_) | Self::Begun(_) | Self::Overlaps => 0,
        }
    }
}
