//! One capture file, of any of the formats.

use std::io::Read;

use super::buffer::{Buffer, CAPACITY};
use super::compression::Input;
use super::erf;
use super::error::{FileError, Problem};
use super::foreign;
use super::frame::{Frame, Time};
use super::kernel_trace::{self, KernelTrace};
use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::record::Record;

/// The frames of one capture file.
///
/// ```
/// use rpcrdma_dissector::Reader;
///
/// let file: &[u8] = &[
///     0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0, // file header
///     7, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 60, 0, 0, 0, 0xaa, 0xbb, 0xcc, // one record, cut to 3 octets
/// ];
/// let mut reader = Reader::new(file)?;
/// while let Some(frame) = reader.next() {
///     let frame = frame?;
///     assert_eq!(frame.time.to_string(), "7.000008000");
///     assert_eq!((frame.data, frame.length), (&[0xaa, 0xbb, 0xcc][..], 60));
/// }
/// # Ok::<(), rpcrdma_dissector::FileError>(())
/// ```
pub struct Reader<'r> {
    buffer: Buffer<'r>,
    format: Option<Format>,
    record: Record,
    number: u64,
}

#[derive(Clone)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Erf,
    KernelTrace(KernelTrace),
}

impl Format {
    #[inline]
    fn next(&mut self, buffer: &mut Buffer<'_>) -> Result<Option<Record>, FileError> {
        match self {
            Self::Pcap(pcap) => pcap.next(buffer),
            Self::Pcapng(pcapng) => pcapng.next(buffer),
            Self::Erf => erf::next(buffer),
            Self::KernelTrace(trace) => trace.next(buffer),
        }
    }
}

impl<'r> Reader<'r> {
    /// Starts reading a file: waits for the header.
    ///
    /// # Errors
    /// [`FileError`] if the file cannot be read, is not a capture file, or ends inside the header.
    pub fn new(read: impl Read + Send + 'r) -> Result<Self, FileError> {
        Self::with_capacity(CAPACITY, read)
    }

    /// The same with a buffer of this many octets, for programs that read only the first frames. The buffer grows if a
    /// frame needs more.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_capacity(capacity: usize, read: impl Read + Send + 'r) -> Result<Self, FileError> {
        Self::open(capacity, Box::new(read))
    }

    fn open(capacity: usize, read: Input<'r>) -> Result<Self, FileError> {
        let mut buffer = Buffer::with_capacity(capacity, read)?;
        buffer.fill(4)?;
        let format = if let Some(pcap) = Pcap::open(&mut buffer)? {
            Format::Pcap(pcap)
        } else if let Some(pcapng) = Pcapng::open(&buffer) {
            Format::Pcapng(pcapng)
        } else if erf::is_erf(&mut buffer)? {
            Format::Erf
        } else if let Some(trace) = KernelTrace::open(&mut buffer)? {
            Format::KernelTrace(trace)
        } else if kernel_trace::is_heading(buffer.available()) {
            return Err(FileError::new(0, Problem::NoEvents));
        } else {
            return Err(FileError::new(0, foreign::name(buffer.available())));
        };
        Ok(Self { buffer, format: Some(format), record: Record::default(), number: 0 })
    }

    /// The same, if `frames` frames of the same capture came before this file.
    pub(super) fn after(read: Input<'r>, frames: u64) -> Result<Self, FileError> {
        Ok(Self { number: frames, ..Self::open(CAPACITY, read)? })
    }

    /// The next frame; none at the end of the file, and after an error.
    ///
    /// Not an [`Iterator`], since a frame borrows the reader's buffer.
    #[expect(clippy::should_implement_trait, reason = "the same thing, as far as a lending one can be")]
    #[inline]
    pub fn next(&mut self) -> Option<Result<Frame<'_>, FileError>> {
        match self.advance() {
            Ok(true) => Some(Ok(self.frame())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Goes to the next frame; false if there is none.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool, FileError> {
        let next = self.format.as_mut().map_or(Ok(None), |format| format.next(&mut self.buffer));
        if let Ok(Some(record)) = next {
            self.record = record;
            self.number = self.number.saturating_add(1);
            if let Some(Format::KernelTrace(trace)) = &mut self.format {
                self.number = self.number.saturating_add(trace.take_skipped());
            }
            return Ok(true);
        }
        self.format = None;
        next.map(|_| false)
    }

    /// Returns true if the times of the frames in the first part of the file are in order. Call this before the first frame.
    pub(super) fn begins_in_order(&mut self) -> bool {
        let Some(mut format) = self.format.clone() else { return true };
        let mut preview = self.buffer.preview();
        let mut last = Time::default();
        while let Ok(Some(record)) = format.next(&mut preview) {
            if record.time < last {
                return false;
            }
            last = record.time;
        }
        true
    }

    /// The current frame.
    #[inline]
    pub(super) fn frame(&self) -> Frame<'_> {
        let Record { time, link, ref data, length } = self.record;
        Frame { number: self.number, time, link, data: self.buffer.at(data.clone()), length }
    }

    /// Number of frames emitted so far, including those of earlier files.
    pub(super) fn frames(&self) -> u64 {
        self.number
    }

    /// Octets of the file, uncompressed, that were used for the frames given so far.
    pub fn offset(&self) -> u64 {
        self.buffer.offset()
    }
}
