//! Opens the input.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use rpcrdma_dissector::{
    Capture, FirstFrame, SamePackets, SecondFile, Time, TimeBase, first_frame, in_order, recognise,
};

use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::live::LiveStream;
use crate::reading::Batches;
use crate::spool::is_spooled;

/// The size from which a file gets a progress bar, in octets.
const LONG: u64 = 64 << 20;
/// The most files that are named when their order is reported.
const NAMED: usize = 8;

/// Files that can be read, in the order of reading.
pub(crate) struct Inputs {
    /// Each with the time of the first frame, if known.
    files: Vec<(PathBuf, Option<Time>)>,
    /// The file, if there is only one: there may be more than a process may have open.
    only: Option<File>,
    /// Octets of all files.
    length: u64,
    /// True if their order differs from the given one.
    pub(crate) reordered: bool,
    /// The second file, if that holds the same packets as the first.
    second: Option<SecondFile>,
    /// True if both files hold the same packets, and are read one after the other nevertheless.
    are_copies: bool,
    /// The first kernel trace.
    pub(crate) trace: Option<PathBuf>,
}

impl Inputs {
    /// Looks at the beginning of each of `paths`, and puts them in the order of their first frames: a shell that sorts
    /// names puts `nfs.pcap10` before `nfs.pcap2`. A stream is read only when its turn comes, and stays where it was
    /// given, as does a file without frames.
    ///
    /// # Errors
    /// If a file is unreadable; errors of all unreadable files but the last were printed.
    pub(crate) fn new(paths: &[PathBuf]) -> Result<Self, Failure> {
        let (mut files, mut length, mut failed, mut only) = (Vec::new(), 0, None, None);
        let mut trace = None;
        for path in paths {
            match look(path) {
                Ok(Looked { octets, first, file }) => {
                    length += octets;
                    if first.is_some_and(|first| first.time_base == TimeBase::Boot) {
                        trace.get_or_insert_with(|| path.clone());
                    }
                    files.push((path.clone(), first.map(|first| first.time)));
                    only = file.filter(|_| paths.len() == 1);
                }
                Err(reason) => {
                    failed.replace(format!("{}: {reason}", path.display())).iter().for_each(|text| say(text))
                }
            }
        }
        if let Some(reason) = failed {
            return Err(Failure::Said(reason));
        }
        let reordered = in_order(&mut files);
        Ok(Self { files, only, length, reordered, second: None, are_copies: false, trace })
    }

    /// Returns true if one input is a stream.
    pub(crate) fn are_live(&self) -> bool {
        self.files.iter().any(|(path, _)| is_stream(path))
    }

    /// Returns true if there are several, a kernel trace among them.
    pub(crate) fn join_traces(&self) -> bool {
        self.trace.is_some() && self.files.len() > 1
    }

    /// Time of the first frame, if that is known already.
    pub(crate) fn first(&self) -> Option<Time> {
        self.files.first().and_then(|(_, first)| *first)
    }

    /// The names of the files in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.files.iter().map(|(path, _)| name(path))
    }

    /// The files in their order, in words.
    pub(crate) fn order(&self) -> String {
        let named: Vec<String> = self.names().take(NAMED).collect();
        let more = match self.files.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("reading files in the order of their first frames: {}{more}", named.join(", "))
    }

    /// Compares two files. If both hold the same packets, captured at the two ends, the client's file comes first, and the other is
    /// read beside that file. Streams cannot be read twice, and are not compared.
    pub(crate) fn recognise(&mut self) {
        let [(first, Some(_)), (second, Some(_))] = &self.files[..] else { return };
        let opened = File::open(first).ok().zip(File::open(second).ok());
        // Faults of a file are reported when the file is read.
        let same = opened.and_then(|(first, second)| recognise(first, second).ok().flatten());
        self.second = match same {
            Some(SamePackets::ClientFirst(file)) => Some(file),
            Some(SamePackets::ClientSecond(file)) => {
                self.files.reverse();
                Some(file)
            }
            Some(SamePackets::SamePlace) => {
                self.are_copies = true;
                return;
            }
            None => return,
        };
        self.reordered = false;
    }

    /// Sentence that packets are read twice; `None` otherwise.
    pub(crate) fn copies(&self) -> Option<String> {
        let text = "both files hold the same packets, from one place or by clocks that cannot be compared: RPCs are counted twice. \
                    Give one of the files";
        self.are_copies.then(|| text.to_owned())
    }

    /// Returns the capture in the files, and the progress bar of reading.
    ///
    /// Each of several files is opened when the one before is read.
    pub(crate) fn open(&mut self, found: &Batches, interrupt: &Interrupt, bar_wanted: bool) -> OpenedFiles {
        let is_shown = bar_wanted && self.length >= LONG && io::stderr().is_terminal() && !is_spooled();
        let bar = if is_shown { bar(self.length) } else { ProgressBar::hidden() };
        let mut only = self.only.take();
        let streams = self.files.iter().map(|(path, _)| {
            let (name, path) = (name(path), path.clone());
            let opened = only.take().map(OpenedInputs::File);
            let input =
                OpenedInput { path, opened, found: found.clone(), interrupt: interrupt.clone(), bar: bar.clone() };
            (name, Box::new(input) as Box<dyn Read + Send>)
        });
        let mut streams: Vec<_> = streams.collect();
        let second = self.second.zip(streams.pop_if(|_| self.second.is_some()));
        let second = second.map(|(file, stream)| SecondInput { capture: Capture::from_streams([stream]), file });
        let capture = Capture::from_streams(streams);
        let capture = if self.are_live() { capture.with_live_streams() } else { capture };
        OpenedFiles { capture, second, bar }
    }
}

/// Files that are open to be read.
pub(crate) struct OpenedFiles {
    pub(crate) capture: Capture,
    pub(crate) second: Option<SecondInput>,
    /// The progress of reading both.
    pub(crate) bar: ProgressBar,
}

/// A second capture of the same packets.
pub(crate) struct SecondInput {
    pub(crate) capture: Capture,
    pub(crate) file: SecondFile,
}

/// Properties of an input that are known before reading.
#[derive(Default)]
struct Looked {
    octets: u64,
    first: Option<FirstFrame>,
    /// The file, open at the beginning; a stream is opened later.
    file: Option<File>,
}

/// Octets of a file and the time of the first frame; nothing for a stream; or the reason why the file is unreadable.
fn look(path: &Path) -> Result<Looked, String> {
    if is_stdin(path) {
        return match io::stdin().is_terminal() {
            true => Err("standard input is a terminal: pipe a capture into it".to_owned()),
            false => Ok(Looked::default()),
        };
    }
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if metadata.is_dir() {
        return Err("is a directory".to_owned());
    }
    // To open a pipe and close it again would end whoever writes to it.
    if !metadata.is_file() {
        return Ok(Looked::default());
    }
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let first = first_frame(&file).map_err(|error| error.to_string())?;
    file.rewind().map_err(|error| error.to_string())?;
    Ok(Looked { octets: metadata.len(), first, file: Some(file) })
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns true if more may be written during reading, as to a pipe.
fn is_stream(path: &Path) -> bool {
    let is_file = |file: File| file.metadata().is_ok_and(|metadata| metadata.is_file());
    if is_stdin(path) { !stdin().is_ok_and(is_file) } else { !path.is_file() }
}

fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// A file that is opened by the first read.
struct OpenedInput {
    path: PathBuf,
    opened: Option<OpenedInputs>,
    found: Batches,
    interrupt: Interrupt,
    bar: ProgressBar,
}

enum OpenedInputs {
    File(File),
    Live(LiveStream),
}

impl OpenedInputs {
    fn open(path: &Path) -> io::Result<Self> {
        let file = if is_stdin(path) { stdin()? } else { File::open(path)? };
        // Windows has no metadata of pipes.
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        Ok(if is_file { Self::File(file) } else { Self::Live(LiveStream::new(file)) })
    }
}

/// Standard input without a buffer in front, which would hide from a waiting thread that there is something to
/// read.
#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

#[cfg(not(any(unix, windows)))]
fn stdin() -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "standard input is not read on this system: name a file"))
}

impl Read for OpenedInput {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        let opened = match &mut self.opened {
            Some(opened) => opened,
            none => none.insert(OpenedInputs::open(&self.path)?),
        };
        if let OpenedInputs::Live(stream) = opened {
            self.found.hand_over()?;
            stream.wait(&self.interrupt)?;
        }
        if self.interrupt.is_raised() {
            return Err(io::Error::other("stopped reading"));
        }
        let count = match opened {
            OpenedInputs::File(file) => file.read(octets)?,
            OpenedInputs::Live(stream) => stream.read(octets)?,
        };
        self.bar.inc(count as u64);
        Ok(count)
    }
}
