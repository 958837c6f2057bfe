//! Opening what is to be read.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use rpcrdma_capture::file::Capture;

use super::Failure;
use super::reading::Batches;

/// Octets from which on a file is long enough for a progress bar.
const LONG: u64 = 64 << 20;

/// The capture in `files`, and the bar that shows how far it is read.
///
/// That a file cannot be opened is said before anything is read. Files are opened for good when their turn comes: a capture
/// may have more of them than a process may have open.
pub(super) fn open(files: &[PathBuf], found: &Batches, bar_wanted: bool) -> Result<(Capture, ProgressBar), Failure> {
    let mut length = 0;
    for path in files.iter().filter(|path| !is_stdin(path)) {
        let unreadable = |error: io::Error| Failure::Said(format!("{}: {error}", path.display()));
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(Failure::Said(format!("{}: is a directory", path.display())));
        }
        // To open a pipe and close it again would end whoever writes to it.
        if metadata.is_file() {
            File::open(path).map_err(unreadable)?;
            length += metadata.len();
        }
    }
    let bar =
        if bar_wanted && length >= LONG && io::stderr().is_terminal() { bar(length) } else { ProgressBar::hidden() };
    let streams = files.iter().map(|path| {
        let name = if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() };
        (name, Box::new(Input::new(path, found, &bar)) as Box<dyn Read + Send>)
    });
    Ok((Capture::from_streams(streams.collect::<Vec<_>>()), bar))
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// A file that is opened when it is first read.
struct Input {
    path: PathBuf,
    opened: Option<Opened>,
    found: Batches,
    bar: ProgressBar,
}

struct Opened {
    read: Box<dyn Read + Send>,
    /// It may make its reader wait: a pipe.
    is_live: bool,
}

impl Input {
    fn new(path: &Path, found: &Batches, bar: &ProgressBar) -> Self {
        Self { path: path.to_owned(), opened: None, found: found.clone(), bar: bar.clone() }
    }
}

impl Opened {
    fn open(path: &Path) -> io::Result<Self> {
        if is_stdin(path) {
            return Ok(Self { read: Box::new(io::stdin()), is_live: true });
        }
        let file = File::open(path)?;
        let is_live = !file.metadata()?.is_file();
        Ok(Self { read: Box::new(file), is_live })
    }
}

impl Read for Input {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        let opened = match &mut self.opened {
            Some(opened) => opened,
            none => none.insert(Opened::open(&self.path)?),
        };
        if opened.is_live {
            self.found.hand_over()?;
        }
        let count = opened.read.read(octets)?;
        self.bar.inc(count as u64);
        Ok(count)
    }
}
