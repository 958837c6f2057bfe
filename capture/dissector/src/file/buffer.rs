//! The octets of a file that were read but not yet used.

use core::ops::Range;
use std::io::{self, Read};

use super::compression::{Decompressing, Input, MAGIC_LEN};
use super::error::{FileError, Problem};

/// Small enough to stay in the cache, large enough to make the cost of read calls negligible.
pub(super) const CAPACITY: usize = 256 << 10;

/// A window onto the file that only moves forward.
pub(super) struct Buffer<'r> {
    input: Decompressing<'r>,
    octets: Vec<u8>,
    /// The part of `octets` that is read but not used.
    start: usize,
    end: usize,
    /// Offset of `start` in the file.
    offset: u64,
    /// Reason for the end of the octets, until the caller has been told.
    failed: Option<io::Error>,
}

impl<'r> Buffer<'r> {
    /// Reads and decompresses `read`, `capacity` octets at a time, or more if one item of the file needs more.
    pub(super) fn with_capacity(capacity: usize, read: Input<'r>) -> Result<Self, FileError> {
        let octets = vec![0; capacity.max(MAGIC_LEN)];
        let mut buffer = Self { input: Decompressing::Plain(read), octets, start: 0, end: 0, offset: 0, failed: None };
        buffer.fill(MAGIC_LEN)?;
        let Self { input: Decompressing::Plain(read), octets, start, end, offset, failed } = buffer else {
            return Ok(buffer);
        };
        match Decompressing::compressed(octets.get(start..end).unwrap_or_default(), read) {
            Ok(input) => Ok(Self { input, octets, start: 0, end: 0, offset, failed }),
            Err(read) => Ok(Self { input: Decompressing::Plain(read), octets, start, end, offset, failed }),
        }
    }

    /// Octets of the file before the first unused one.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The octets that are available and unused.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        self.octets.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the octets of a range that [`consume`](Self::consume) returned.
    #[inline]
    pub(super) fn at(&self, place: Range<usize>) -> &[u8] {
        self.octets.get(place).unwrap_or_default()
    }

    /// Makes `wanted` octets available; false if the file ends before that.
    #[inline]
    pub(super) fn fill(&mut self, wanted: usize) -> Result<bool, FileError> {
        if self.end.saturating_sub(self.start) >= wanted { Ok(true) } else { self.refill(wanted) }
    }

    #[cold]
    fn refill(&mut self, wanted: usize) -> Result<bool, FileError> {
        self.octets.copy_within(self.start..self.end, 0);
        self.end = self.end.saturating_sub(self.start);
        self.start = 0;
        while self.end < wanted {
            if self.end == self.octets.len() {
                // Doubles the buffer; never takes at once what a record claims to have.
                self.octets.resize(self.octets.len().saturating_mul(2), 0);
            }
            let read = match self.failed.take() {
                Some(error) => Err(error),
                None => self.input.read(self.octets.get_mut(self.end..).unwrap_or_default()),
            };
            match read {
                Ok(0) => return Ok(false),
                Ok(count) => self.end = self.octets.len().min(self.end.saturating_add(count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unreadable(error)),
            }
        }
        Ok(true)
    }

    /// Reads on until the buffer is full, and returns a buffer that holds the same octets and no more.
    pub(super) fn preview(&mut self) -> Buffer<'static> {
        if let Err(FileError { problem: Problem::Unreadable(error) | Problem::Compression(error), .. }) =
            self.refill(self.octets.len())
        {
            self.failed = Some(error);
        }
        let octets = self.available().to_vec();
        let end = octets.len();
        let input = Decompressing::Plain(Box::new(io::empty()));
        Buffer { input, octets, start: 0, end, offset: self.offset, failed: None }
    }

    fn unreadable(&self, error: io::Error) -> FileError {
        // An error of the operating system, even below a decoder, is not damage of the stream.
        let compression = self.input.is_compressed() && error.raw_os_error().is_none();
        let problem = if compression { Problem::Compression(error) } else { Problem::Unreadable(error) };
        FileError::new(self.offset, problem)
    }

    /// Consumes `count` buffered octets and returns their range, which is valid until the next `fill`.
    #[inline]
    pub(super) fn consume(&mut self, count: usize) -> Range<usize> {
        let from = self.start;
        self.start = self.end.min(from.saturating_add(count));
        self.offset = self.offset.saturating_add((self.start.saturating_sub(from)) as u64);
        from..self.start
    }

    /// Consumes `count` octets without storing any; false if the file ends before that.
    pub(super) fn skip(&mut self, mut count: usize) -> Result<bool, FileError> {
        while count > 0 {
            if !self.fill(1)? {
                return Ok(false);
            }
            let taken = self.consume(count);
            count = count.saturating_sub(taken.len());
        }
        Ok(true)
    }
}
