//! Progress of a copy on standard error, and interruption by signals.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Time between two updates of the bar while nothing moves.
const TICK: Duration = Duration::from_millis(250);
/// Silence that is shown.
const SILENCE: Duration = Duration::from_secs(2);

/// Watches the octets of a copy: shows the count, and stops the copy after SIGINT or SIGTERM.
pub(crate) struct Watch {
    bar: ProgressBar,
    start: Instant,
    /// Time of the last progress in milliseconds since the start.
    moved: Arc<AtomicU64>,
    interrupted: Arc<AtomicBool>,
}

impl Watch {
    /// A watch of a copy of `octets`, if their number is known. A call without a reply ends the copy after `timeout`.
    ///
    /// # Errors
    /// The signals cannot be handled.
    pub(crate) fn new(octets: Option<u64>, timeout: Duration) -> io::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The second one ends the program at once.
            flag::register_conditional_default(signal, Arc::clone(&interrupted))?;
            flag::register(signal, Arc::clone(&interrupted))?;
        }
        let (start, moved) = (Instant::now(), Arc::default());
        let bar = if io::stderr().is_terminal() { bar(octets, start, &moved, timeout) } else { ProgressBar::hidden() };
        Ok(Self { bar, start, moved, interrupted })
    }

    /// Counts octets.
    fn add_octets(&self, octets: usize) -> io::Result<()> {
        self.moved.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.bar.inc(octets as u64);
        if self.interrupted.load(Ordering::Relaxed) { Err(io::Error::other("interrupted")) } else { Ok(()) }
    }

    /// Reads from `inner` under this watch.
    pub(crate) const fn over<T>(&self, inner: T) -> Watched<'_, T> {
        Watched { watch: self, inner }
    }

    /// Returns true if a signal has stopped the copy.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn bar(octets: Option<u64>, start: Instant, moved: &Arc<AtomicU64>, timeout: Duration) -> ProgressBar {
    let bar = octets.map_or_else(ProgressBar::no_length, ProgressBar::new);
    let moved = Arc::clone(moved);
    let silence = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
        let silent = start.elapsed().saturating_sub(Duration::from_millis(moved.load(Ordering::Relaxed)));
        if silent >= SILENCE {
            // A bar cannot report errors.
            let _written = out.write_fmt(format_args!(", nothing for {} s of {timeout:?}", silent.as_secs()));
        }
    };
    let template = match octets {
        Some(_) => "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}{silence}",
        None => "{bytes}, {bytes_per_sec}{silence}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("silence", silence));
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// A reader or writer under a watch.
pub(crate) struct Watched<'a, T> {
    watch: &'a Watch,
    inner: T,
}

impl<T> Watched<'_, T> {
    /// The reader or writer.
    pub(crate) fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: Read> Read for Watched<'_, T> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(octets)?;
        self.watch.add_octets(count)?;
        Ok(count)
    }
}

impl<T: Write> Write for Watched<'_, T> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(octets)?;
        self.watch.add_octets(count)?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
