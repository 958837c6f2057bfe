//! Several capture files as one capture, such as those that `tcpdump -C` and `dumpcap -b` write.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clock::{Clock, ClockSteps};
use super::compression::Input;
use super::error::{FileError, Problem};
use super::frame::Frame;
use super::reader::Reader;
use super::sorter::Sorter;

/// An opened input.
type OpenStream = Input<'static>;

/// The frames of several files, numbered consecutively.
///
/// Frames of a file whose times are in disorder are sorted, and numbered in the new order, as far as a window of 256
/// frames allows; [`clock_steps`](Self::clock_steps) counts the others. In a file that begins in order, the first frame
/// in disorder is not moved. Standard input, and a path that names no regular file, may be a stream: frames of a stream
/// stay in the order of their capture.
///
/// A damaged file yields the frames before the damage, then one error; the next file follows.
#[derive(Default)]
pub struct Capture {
    /// In reverse order: the next one is last.
    inputs: Vec<QueuedFile>,
    current: Option<(String, Reader<'static>)>,
    /// Frames of the current file that wait for earlier ones, if the file is in disorder.
    sorter: Option<Box<Sorter>>,
    /// True if a capture may still be running that writes the current file or one of the streams: then no frame waits.
    is_live: bool,
    has_live_streams: bool,
    frames: u64,
    files: Files,
    clock: Clock,
}

/// The files of a capture, with the frames of each.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The files that were begun: the number of the first frame, and the name.
    begun: Vec<(u64, Arc<str>)>,
    /// Length in octets of the directory that all paths have in common.
    directory: usize,
    /// Columns of the longest name without that directory; 0 if there is only one file.
    widest: usize,
}

impl Files {
    /// The digits of a frame number for which [`place`](Self::place) has room.
    const DIGITS: usize = 6;

    fn new(names: &[String]) -> Self {
        let (Some(first), true) = (names.first(), names.len() > 1) else { return Self::default() };
        let common = names.iter().fold(first.as_str(), |common, name| {
            let end = common.char_indices().zip(name.chars()).find(|((_, one), other)| one != other);
            let shorter = common.get(..name.len()).unwrap_or(common);
            end.map_or(shorter, |((end, _), _)| common.get(..end).unwrap_or_default())
        });
        let directory = common.rfind('/').map_or(0, |slash| slash + 1);
        let columns = |name: &String| name.get(directory..).unwrap_or(name).chars().count();
        Self { begun: Vec::new(), directory, widest: names.iter().map(columns).max().unwrap_or_default() }
    }

    /// Returns the file that holds a frame, and the number of the frame in that file.
    #[must_use]
    pub fn locate(&self, frame: u64) -> Option<(&str, u64)> {
        let after = self.begun.partition_point(|(first, _)| *first <= frame);
        let (first, name) = self.begun.get(after.checked_sub(1)?)?;
        Some((name, frame - first + 1))
    }

    /// The same as text, `nfs.pcap1:17`: the file without the directory that all files are in. Returns nothing for a
    /// capture of one file, where both numbers are equal.
    #[must_use]
    pub fn place(&self, frame: u64) -> Option<String> {
        if self.widest == 0 {
            return None;
        }
        let (name, frame) = self.locate(frame)?;
        Some(format!("{}:{frame}", name.get(self.directory..).unwrap_or(name)))
    }

    /// Columns that a place takes; 0 if there is only one file.
    #[must_use]
    pub const fn width(&self) -> usize {
        if self.widest == 0 { 0 } else { self.widest + 1 + Self::DIGITS }
    }

    /// The files that were begun: the number of the first frame of each, and the name.
    pub fn parts(&self) -> impl Iterator<Item = (u64, &str)> {
        self.begun.iter().map(|(first, name)| (*first, &**name))
    }

    /// Number of files that were begun.
    #[must_use]
    pub const fn begun(&self) -> usize {
        self.begun.len()
    }
}

/// A file that is yet to be read.
enum QueuedFile {
    /// A file, opened when the file before has ended: a capture can have more files than a process may have open.
    Path(PathBuf),
    Stream(String, OpenStream),
}

impl QueuedFile {
    fn name(&self) -> String {
        match self {
            Self::Path(path) if path == Path::new("-") => "standard input".to_owned(),
            Self::Path(path) => path.display().to_string(),
            Self::Stream(name, _) => name.clone(),
        }
    }

    /// Returns the opened input, and true if a capture may still be writing the input.
    fn open(self, has_live_streams: bool) -> io::Result<(OpenStream, bool)> {
        Ok(match self {
            Self::Path(path) if path == Path::new("-") => (Box::new(io::stdin()), true),
            Self::Path(path) => {
                let file = File::open(path)?;
                let is_live = !file.metadata()?.is_file();
                (Box::new(file), is_live)
            }
            Self::Stream(_, read) => (read, has_live_streams),
        })
    }
}

impl Capture {
    /// The files at `paths` in that order; `-` is standard input. None is opened yet.
    pub fn from_paths<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self::from_inputs(paths.into_iter().map(|path| QueuedFile::Path(path.into())).collect())
    }

    /// The content of `streams`, each with a name for errors, in that order.
    pub fn from_streams(streams: impl IntoIterator<Item = (String, Box<dyn Read + Send>)>) -> Self {
        Self::from_inputs(streams.into_iter().map(|(name, read)| QueuedFile::Stream(name, read)).collect())
    }

    fn from_inputs(mut inputs: Vec<QueuedFile>) -> Self {
        let files = Files::new(&inputs.iter().map(QueuedFile::name).collect::<Vec<_>>());
        inputs.reverse();
        Self { inputs, files, ..Self::default() }
    }

    /// Returns the same capture for streams that may be read while they are captured: no frame of a stream waits for
    /// earlier ones.
    #[must_use]
    pub fn with_live_streams(self) -> Self {
        Self { has_live_streams: true, ..self }
    }

    /// The next frame; none after the last file. After an error, the next file follows.
    #[expect(clippy::should_implement_trait, reason = "the same thing, as far as a lending one can be")]
    #[inline]
    pub fn next(&mut self) -> Option<Result<Frame<'_>, FileError>> {
        match self.advance() {
            Ok(true) => match &self.sorter {
                Some(sorter) => Some(Ok(sorter.frame())),
                None => self.current.as_ref().map(|(_, reader)| Ok(reader.frame())),
            },
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Goes to the next frame; false if there is none.
    #[inline]
    fn advance(&mut self) -> Result<bool, FileError> {
        loop {
            if let Some((name, reader)) = &mut self.current {
                let next = match &mut self.sorter {
                    Some(sorter) => sorter.advance(reader),
                    None => reader.advance(),
                };
                match next {
                    Ok(true) => {
                        let frame = self.sorter.as_ref().map_or_else(|| reader.frame(), |sorter| sorter.frame());
                        if self.sorter.is_some() || self.is_live || !self.clock.is_step(frame.time) {
                            self.clock.frame(frame.number, frame.time);
                            return Ok(true);
                        }
                        self.sorter = Some(Box::new(Sorter::beginning_with(&frame, self.clock.last())));
                        continue;
                    }
                    Ok(false) => self.frames = reader.frames(),
                    Err(error) => {
                        let file = core::mem::take(name);
                        self.frames = reader.frames();
                        self.current = None;
                        self.stop_sorting();
                        return Err(FileError { file, ..error });
                    }
                }
            }
            self.current = None;
            self.stop_sorting();
            let Some(input) = self.inputs.pop() else { return Ok(false) };
            self.open(input)?;
        }
    }

    fn open(&mut self, input: QueuedFile) -> Result<(), FileError> {
        let name = input.name();
        let opened = input.open(self.has_live_streams).map_err(|error| FileError::new(0, Problem::Unreadable(error)));
        match opened.and_then(|(read, is_live)| Ok((Reader::after(read, self.frames)?, is_live))) {
            Ok((mut reader, is_live)) => {
                self.is_live = is_live;
                let is_disordered = !is_live && !reader.begins_in_order();
                self.sorter = is_disordered.then(|| Box::new(Sorter::new(self.frames)));
                self.clock.begin_file();
                self.files.begun.push((self.frames.saturating_add(1), name.as_str().into()));
                self.current = Some((name, reader));
                Ok(())
            }
            Err(error) => Err(FileError { file: name, ..error }),
        }
    }

    /// Octets of the current file, uncompressed, that were used for the frames given so far; 0 between files.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.current.as_ref().map_or(0, |(_, reader)| reader.offset())
    }

    /// Returns the files so far, with the frames of each.
    #[must_use]
    #[inline]
    pub const fn files(&self) -> &Files {
        &self.files
    }

    /// Steps back of the clock in the frames given so far. A file that begins before the end of the previous file is no
    /// step back.
    #[must_use]
    pub fn clock_steps(&self) -> ClockSteps {
        let sorted = self.sorter.as_ref().map_or(0, |sorter| sorter.moved());
        let steps = self.clock.steps();
        ClockSteps { sorted: steps.sorted + sorted, ..steps }
    }

    /// No more frames of the current file come.
    fn stop_sorting(&mut self) {
        if let Some(sorter) = self.sorter.take() {
            self.clock.sorted(sorter.moved());
        }
    }

    /// The name of the current file; none between files.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.current.as_ref().map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_placed_in_its_file() {
        let mut files = Files::new(&["/var/a/nfs.pcap".to_owned(), "/var/a/nfs.pcap10".to_owned()]);
        assert_eq!((files.place(1), files.width()), (None, "nfs.pcap10:".len() + 6));
        files.begun = vec![(1, "/var/a/nfs.pcap".into()), (501, "/var/a/nfs.pcap10".into())];
        assert_eq!(files.locate(500), Some(("/var/a/nfs.pcap", 500)));
        assert_eq!(files.place(501).as_deref(), Some("nfs.pcap10:1"));
        assert_eq!(files.place(0), None);
    }

    #[test]
    fn frames_of_a_single_file_need_no_second_number() {
        let mut files = Files::new(&["nfs.pcap".to_owned()]);
        files.begun = vec![(1, "nfs.pcap".into())];
        assert_eq!((files.locate(7), files.place(7), files.width()), (Some(("nfs.pcap", 7)), None, 0));
    }

    #[test]
    fn the_directory_that_all_files_are_in_is_left_out() {
        let directory =
            |names: &[&str]| Files::new(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).directory;
        assert_eq!(directory(&["a/b/x", "a/b/xy", "a/c/x"]), 2);
        assert_eq!(directory(&["a/b", "a/b/c"]), 2);
        assert_eq!(directory(&["x", "/x"]), 0);
        assert_eq!(directory(&["é/x", "è/x"]), 0);
        assert_eq!(Files::new(&["one".to_owned()]).width(), 0);
    }
}
