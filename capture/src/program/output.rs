//! Standard output: in large pieces, unless somebody watches.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Octets that are gathered before they are written.
const FULL: usize = 64 << 10;

/// What is written to standard output and is not there yet.
#[derive(Debug)]
pub(super) struct Output {
    buffer: Vec<u8>,
    is_watched: bool,
}

/// An output that its input can reach: before a live input is waited for, what was found in it so far is shown.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<Mutex<Output>>);

impl Shared {
    pub(super) fn new() -> Self {
        let output = Output { buffer: Vec::with_capacity(FULL * 2), is_watched: io::stdout().is_terminal() };
        Self(Arc::new(Mutex::new(output)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Output> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Output {
    /// Says that something is whole: on a terminal it is shown at once.
    pub(super) fn whole(&mut self) -> io::Result<()> {
        if self.is_watched || self.buffer.len() >= FULL { self.flush() } else { Ok(()) }
    }
}

impl Write for Output {
    #[inline]
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(octets);
        Ok(octets.len())
    }

    #[inline]
    fn write_all(&mut self, octets: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(octets);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(&self.buffer).and_then(|()| stdout.flush());
        self.buffer.clear();
        written
    }
}
