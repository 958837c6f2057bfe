//! Several capture files in a row that are one capture, as `tcpdump -C` and `dumpcap -b` write them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::{FileError, Problem};
use super::{Frame, Reader};

/// An opened input.
type Stream = Box<dyn Read + Send>;

/// The frames of several files, numbered through.
///
/// A file that is damaged gives the frames before the damage, then one error; then the next file goes on.
#[derive(Default)]
pub struct Capture {
    /// In reverse: the next one last.
    inputs: Vec<Input>,
    current: Option<(String, Reader<Stream>)>,
    frames: u64,
}

/// A file that is still to be read.
enum Input {
    /// Opened when its turn comes: a capture can have more files than a process may have open.
    Path(PathBuf),
    Stream(String, Stream),
}

impl Input {
    fn name(&self) -> String {
        match self {
            Self::Path(path) if path == Path::new("-") => "standard input".to_owned(),
            Self::Path(path) => path.display().to_string(),
            Self::Stream(name, _) => name.clone(),
        }
    }

    fn open(self) -> io::Result<Stream> {
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
        Self::from_inputs(paths.into_iter().map(|path| Input::Path(path.into())).collect())
    }

    /// What the `streams`, each with a name for errors, give in that order.
    pub fn from_streams(streams: impl IntoIterator<Item = (String, Box<dyn Read + Send>)>) -> Self {
        Self::from_inputs(streams.into_iter().map(|(name, read)| Input::Stream(name, read)).collect())
    }

    fn from_inputs(mut inputs: Vec<Input>) -> Self {
        inputs.reverse();
        Self { inputs, current: None, frames: 0 }
    }

    /// The next frame; none after the last file. After an error the next file goes on.
    #[expect(clippy::should_implement_trait, reason = "the same thing, as far as a lending one can be")]
    #[inline]
    pub fn next(&mut self) -> Option<Result<Frame<'_>, FileError>> {
        match self.advance() {
            Ok(true) => self.current.as_ref().map(|(_, reader)| Ok(reader.frame())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Goes to the next frame; false where there is none.
    #[inline]
    fn advance(&mut self) -> Result<bool, FileError> {
        loop {
            if let Some((name, reader)) = &mut self.current {
                match reader.advance() {
                    Ok(true) => return Ok(true),
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

    fn open(&mut self, input: Input) -> Result<(), FileError> {
        let name = input.name();
        let opened = input.open().map_err(|error| FileError::new(0, Problem::Unreadable(error)));
        match opened.and_then(|read| Reader::after(read, self.frames)) {
            Ok(reader) => {
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

    /// The name of the current file; none between files.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.current.as_ref().map(|(name, _)| name.as_str())
    }
}
