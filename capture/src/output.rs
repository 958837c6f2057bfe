//! Standard output: in large pieces, unless somebody watches.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use rpcrdma_answers::format::screen::Screen;

use crate::arguments::Color;
use crate::failure::Failure;
use crate::spool;

/// Octets to gather before one write.
const FULL: usize = 64 << 10;

/// Buffer of output that is not yet on standard output.
#[derive(Debug)]
pub(crate) struct Output {
    buffer: Vec<u8>,
    is_watched: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { buffer: Vec::with_capacity(FULL * 2), is_watched: io::stdout().is_terminal() }
    }

    /// Marks the end of an item: a terminal shows each item at once.
    pub(crate) fn whole(&mut self) -> io::Result<()> {
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
        let written = spool::print(&self.buffer);
        self.buffer.clear();
        written
    }
}

/// The terminal that standard output is, or a file.
pub(crate) fn screen(color: Color) -> Screen {
    let columns = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    Screen { colour: is_coloured(color), columns: io::stdout().is_terminal().then(columns).flatten() }
}

/// Writes a whole report, and returns the exit status.
pub(crate) fn write(octets: &[u8]) -> Result<u8, Failure> {
    spool::print(octets)?;
    Ok(0)
}

/// Returns true if what is written has colours.
pub(crate) fn is_coloured(color: Color) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    }
}
