//! Several capture files that form one capture, as `tcpdump -C` and `dumpcap -b` write them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clock::{Clock, ClockSteps};
use super::error::{FileError, Problem};
use super::frame::Frame;
use super::reader::Reader;

/// An opened input.
type OpenStream = Box<dyn Read + Send>;

/// The frames of several files, numbered consecutively.
///
/// A damaged file yields the frames before the damage, then one error; the next file follows.
#[derive(Default)]
pub struct Capture {
    /// In reverse order: the next one is last.
    inputs: Vec<QueuedFile>,
    current: Option<(String, Reader<OpenStream>)>,
    frames: u64,
    files: Files,
    clock: Clock,
}

/// The files of a capture, with the frames of each.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The files that were begun: the number of the first frame, and the name.
    begun: Vec<(u64, Arc<str>)>,
    /// Octets of the directory that they have in common.
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

    /// The file that holds the frame, and the frame's number there, as other programs count it.
    #[must_use]
    pub fn locate(&self, frame: u64) -> Option<(&str, u64)> {
        let after = self.begun.partition_point(|(first, _)| *first <= frame);
        let (first, name) = self.begun.get(after.checked_sub(1)?)?;
        Some((name, frame - first + 1))
    }

    /// The same as text, `nfs.pcap1:17`: the file without the directory that all files are in. Nothing if there is only one
    /// file, as its frames have the same numbers in it.
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
    /// Opened when its turn comes: a capture can have more files than a process may have open.
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

    fn open(self) -> io::Result<OpenStream> {
        Ok(match self {
            Self::Path(path) if path == Path::new("-") => Box::new(io::stdin()),
            Self::Path(path) => Box::new(File::open(path)?),
            Self::Stream(_, read) => read,
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

    /// The next frame; none after the last file. After an error, the next file follows.
    #[expect(clippy::should_implement_trait, reason = "the same thing, as far as a lending one can be")]
    #[inline]
    pub fn next(&mut self) -> Option<Result<Frame<'_>, FileError>> {
        match self.advance() {
            Ok(true) => self.current.as_ref().map(|(_, reader)| Ok(reader.frame())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Goes to the next frame; false if there is none.
    #[inline]
    fn advance(&mut self) -> Result<bool, FileError> {
        loop {
            if let Some((name, reader)) = &mut self.current {
                match reader.advance() {
                    Ok(true) => {
                        let frame = reader.frame();
                        self.clock.frame(frame.number, frame.time);
                        return Ok(true);
                    }
                    Ok(false) => self.frames = reader.frames(),
                    Err(error) => {
                        let file = core::mem::take(name);
                        self.frames = reader.frames();
                        self.current = None;
                        return Err(FileError { file, ..error });
                    }
                }
            }
            self.current = None;
            let Some(input) = self.inputs.pop() else { return Ok(false) };
            self.open(input)?;
        }
    }

    fn open(&mut self, input: QueuedFile) -> Result<(), FileError> {
        let name = input.name();
        let opened = input.open().map_err(|error| FileError::new(0, Problem::Unreadable(error)));
        match opened.and_then(|read| Reader::after(read, self.frames)) {
            Ok(reader) => {
                self.clock.begin();
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

    /// Steps back of the clock in the frames given so far. A file that begins before the one before it ends is none.
    #[must_use]
    pub const fn clock_steps(&self) -> ClockSteps {
        self.clock.steps()
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
    fn the_frames_of_one_file_are_in_it_and_need_no_other_number() {
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
