//! Output of captures that are read at the same time: one after the other, in the order of the captures.
//!
//! The first capture that is not finished prints directly, and what the others print is kept. Where that becomes too much,
//! they wait. A thread prints for the capture it reads: commands do not know whether they are alone, as tests do not whose
//! output is captured.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rpcrdma_answers::JsonRecord;

/// The most octets that are kept of the captures that have to wait.
const KEPT: usize = 64 << 20;

thread_local! {
    static PLACE: RefCell<Option<SpoolPlace>> = const { RefCell::new(None) };
}

/// Turn of this thread's output. Dropping this value finishes the capture.
struct SpoolPlace {
    spool: Arc<Spool>,
    label: CaptureLabel,
    turn: usize,
}

impl Drop for SpoolPlace {
    fn drop(&mut self) {
        self.spool.finish(self.turn);
    }
}

/// Form in which the output names the capture. Messages to the user have the name in either form.
pub(crate) enum CaptureLabel {
    /// A heading above the output.
    Heading(String),
    /// A field of each record.
    Field(String),
}

impl CaptureLabel {
    fn name(&self) -> &str {
        match self {
            Self::Heading(name) | Self::Field(name) => name,
        }
    }
}

/// Text for standard output or standard error.
enum Printed {
    Output(Vec<u8>),
    Said(String),
}

impl Printed {
    const fn len(&self) -> usize {
        match self {
            Self::Output(octets) => octets.len(),
            Self::Said(text) => text.len(),
        }
    }

    fn print(&self) -> io::Result<()> {
        match self {
            Self::Output(octets) => to_stdout(octets),
            Self::Said(text) => {
                to_stderr(text);
                Ok(())
            }
        }
    }
}

/// Output that waits to be printed.
#[derive(Default)]
pub(crate) struct Spool {
    state: Mutex<SpoolState>,
    changed: Condvar,
}

#[derive(Default)]
struct SpoolState {
    /// The capture that prints directly.
    turn: usize,
    /// Captures after that one that have begun.
    captures: BTreeMap<usize, SpooledCapture>,
    /// Octets of all captures.
    octets: usize,
    /// Reason why nothing can be printed any more.
    failed: Option<io::ErrorKind>,
}

#[derive(Default)]
struct SpooledCapture {
    printed: Vec<Printed>,
    is_finished: bool,
}

impl Spool {
    /// Runs `work`, whose output on this thread is that of the capture at place `turn` in the order.
    pub(crate) fn run<T>(self: &Arc<Self>, turn: usize, label: CaptureLabel, work: impl FnOnce() -> T) -> T {
        PLACE.set(Some(SpoolPlace { spool: Arc::clone(self), label, turn }));
        let done = work();
        drop(PLACE.take());
        done
    }

    /// Returns why nothing can be printed any more.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.lock().failed.map(io::Error::from)
    }

    fn lock(&self) -> MutexGuard<'_, SpoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints at the capture's turn; before that, buffers the output, as soon as there is room.
    fn print(&self, turn: usize, printed: Printed) -> io::Result<()> {
        let mut waiting = self.lock();
        loop {
            if let Some(kind) = waiting.failed {
                return Err(kind.into());
            }
            if waiting.turn == turn {
                return waiting.print(&printed);
            }
            // One that is larger than the room has to wait only for its turn.
            if waiting.octets + printed.len() <= KEPT {
                waiting.octets += printed.len();
                waiting.captures.entry(turn).or_default().printed.push(printed);
                return Ok(());
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A capture prints nothing more: the next one that is not finished prints directly from now on.
    fn finish(&self, turn: usize) {
        let mut waiting = self.lock();
        waiting.captures.entry(turn).or_default().is_finished = true;
        while waiting.captures.get(&waiting.turn).is_some_and(|kept| kept.is_finished) {
            let turn = waiting.turn;
            waiting.captures.remove(&turn);
            waiting.turn += 1;
            waiting.print_kept();
        }
        self.changed.notify_all();
    }
}

impl SpoolState {
    fn print(&mut self, printed: &Printed) -> io::Result<()> {
        let result = printed.print();
        if let Err(error) = &result {
            self.failed = Some(error.kind());
        }
        result
    }

    /// Prints the buffered output of the capture whose turn has come.
    fn print_kept(&mut self) {
        let Some(kept) = self.captures.get_mut(&self.turn) else { return };
        for printed in core::mem::take(&mut kept.printed) {
            self.octets -= printed.len();
            // The next caller of `print` gets the error.
            if self.failed.is_none() {
                _ = self.print(&printed);
            }
        }
    }
}

/// Returns true if what this thread prints may have to wait.
pub(crate) fn is_spooled() -> bool {
    PLACE.with_borrow(Option::is_some)
}

/// Writes a record, with the name of the capture if this thread reads one of several.
pub(crate) fn write_record(record: &impl JsonRecord, out: &mut impl Write) -> io::Result<()> {
    with_capture_file(|capture_file| record.write_json_of(capture_file, out))
}

/// Calls `write` with the name that records have as `capture_file`, if this thread reads one of several captures.
pub(crate) fn with_capture_file<T>(write: impl FnOnce(Option<&str>) -> T) -> T {
    PLACE.with_borrow(|place| match place {
        Some(SpoolPlace { label: CaptureLabel::Field(name), .. }) => write(Some(name)),
        _ => write(None),
    })
}

/// Prints whole lines on standard output.
pub(crate) fn print(octets: &[u8]) -> io::Result<()> {
    PLACE.with_borrow(|place| match place {
        Some(SpoolPlace { spool, turn, .. }) => spool.print(*turn, Printed::Output(octets.to_vec())),
        None => to_stdout(octets),
    })
}

/// Writes a line to standard error.
pub(crate) fn say(text: &str) {
    PLACE.with_borrow(|place| match place {
        Some(SpoolPlace { spool, label, turn }) => {
            let name = label.name();
            let is_named = text.starts_with(name);
            let line = if is_named { format!("rpcrdma: {text}\n") } else { format!("rpcrdma: {name}: {text}\n") };
            // If this fails, standard output is closed, and the program ends.
            _ = spool.print(*turn, Printed::Said(line));
        }
        None => to_stderr(&format!("rpcrdma: {text}\n")),
    });
}

fn to_stdout(octets: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(octets)?;
    stdout.flush()
}

/// Writes the line at once: others may write there too.
fn to_stderr(line: &str) {
    // If this fails, there is nobody left to tell.
    let _written = io::stderr().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is printed here: the turn of these captures never comes.
    #[test]
    fn what_has_to_wait_is_bounded() {
        let spool = Arc::new(Spool::default());
        spool.print(1, Printed::Output(vec![0; KEPT / 2])).unwrap();
        spool.print(2, Printed::Output(vec![0; KEPT / 2])).unwrap();
        let blocked = std::thread::spawn({
            let spool = Arc::clone(&spool);
            move || spool.print(1, Printed::Said("x".to_owned())).map_err(|error| error.kind())
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!blocked.is_finished());
        spool.lock().failed = Some(io::ErrorKind::BrokenPipe);
        spool.changed.notify_all();
        assert_eq!(blocked.join().unwrap(), Err(io::ErrorKind::BrokenPipe));
    }
}
