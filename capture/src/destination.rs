//! The file that a command writes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use same_file::Handle;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::replacement::Replacement;

/// Octets to gather before one write.
const GATHERED: usize = 1 << 18;
/// Octets that become one Zstandard frame. A file may consist of several.
const ZSTANDARD_FRAME: usize = 4 << 20;

/// Destination and format of the output.
pub(crate) struct Destination<'a> {
    path: &'a Path,
    kind: DestinationKind,
    /// True if pcapng is written, and not pcap.
    pcapng: bool,
    compression: Option<WrittenCompression>,
}

/// Way in which output reaches the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DestinationKind {
    /// To standard output.
    Stdout,
    /// Into a pipe, a device, or a file that this process has open already, such as `/dev/stdout`: written at once.
    Direct,
    /// To a file that gets the final name when all is written.
    File,
}

impl DestinationKind {
    fn from_path(path: &Path) -> Self {
        if path == Path::new("-") {
            Self::Stdout
        } else if is_descriptor(path) || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            Self::Direct
        } else {
            Self::File
        }
    }
}

/// Compression of the file, by the end of the name.
#[derive(Clone, Copy)]
enum WrittenCompression {
    Gzip,
    Zstandard,
}

impl<'a> Destination<'a> {
    /// Refuses to write where that would destroy the input or be of no use.
    pub(crate) fn new(path: &'a Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let kind = DestinationKind::from_path(path);
        let refused = |reason: &str| Err(Failure::Said(format!("{}: {reason}", path.display())));
        if kind == DestinationKind::Stdout && io::stdout().is_terminal() {
            return refused("not written to a terminal: name a file, or pipe it into a program");
        }
        if let Some(input) = inputs.iter().find(|input| is_same(input, path)) {
            let input = input.display();
            return refused(&format!("the same file as the input {input}: name another file for the output"));
        }
        let (compression, name) = match extension(path).as_deref() {
            Some("gz") => (Some(WrittenCompression::Gzip), path.file_stem().map(Path::new)),
            Some("zst") => (Some(WrittenCompression::Zstandard), path.file_stem().map(Path::new)),
            _ => (None, Some(path)),
        };
        let pcapng = matches!(name.and_then(extension).as_deref(), Some("pcapng" | "ntar"));
        Ok(Self { path, kind, pcapng, compression })
    }

    /// Returns true if the name is that of a pcapng file.
    pub(crate) const fn is_pcapng(&self) -> bool {
        self.pcapng
    }

    /// Returns true if the file gets the final name when all is written.
    pub(crate) fn is_file(&self) -> bool {
        self.kind == DestinationKind::File
    }

    /// Refuses the name of a pcap file, which has no room for comments.
    pub(crate) fn refuse_pcap(&self) -> Result<(), Failure> {
        match extension(self.path).as_deref() {
            Some("pcap" | "cap" | "dmp") => {
                Err(Failure::Said(format!("{}: comments need pcapng: use another name", self.path.display())))
            }
            _ => Ok(()),
        }
    }

    /// Creates the file.
    pub(crate) fn create(&self) -> Result<OutputFile, Failure> {
        let (octets, replacement): (Box<dyn Write>, _) = match self.kind {
            DestinationKind::Stdout => (Box::new(io::stdout().lock()), None),
            DestinationKind::Direct => (Box::new(File::create(self.path).map_err(|error| self.failed(error))?), None),
            DestinationKind::File => {
                // From now on, a signal ends reading, and not the program: that would leave the temporary file.
                Interrupt::new().map_err(|error| Failure::of_signals(&error))?;
                let (file, replacement) = Replacement::create(self.path).map_err(|error| self.failed(error))?;
                (Box::new(file), Some(replacement))
            }
        };
        let octets = BufWriter::with_capacity(GATHERED, octets);
        let writer = match self.compression {
            None => CompressingWriter::Plain(octets),
            Some(WrittenCompression::Gzip) => {
                CompressingWriter::Gzip(GzEncoder::new(octets, flate2::Compression::default()))
            }
            Some(WrittenCompression::Zstandard) => CompressingWriter::Zstandard { write: octets, gathered: Vec::new() },
        };
        Ok(OutputFile { writer, replacement })
    }

    /// Names the file that could not be written.
    pub(crate) fn named(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Output(error) => self.failed(error),
            other => other,
        }
    }

    /// The file could not be written.
    pub(crate) fn failed(&self, error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Output(error),
            _ => Failure::Said(format!("{}: {error}", self.path.display())),
        }
    }
}

/// A file that is written. Without [`finish`](Self::finish), nothing takes the place of what was there.
pub(crate) struct OutputFile {
    writer: CompressingWriter,
    replacement: Option<Replacement>,
}

impl OutputFile {
    /// Writes the gathered octets, and gives the file the final name.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.writer.finish()?;
        self.replacement.map_or(Ok(()), Replacement::take_place)
    }
}

impl Write for OutputFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.writer.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Octets that are compressed or not.
enum CompressingWriter {
    Plain(BufWriter<Box<dyn Write>>),
    Gzip(GzEncoder<BufWriter<Box<dyn Write>>>),
    Zstandard { write: BufWriter<Box<dyn Write>>, gathered: Vec<u8> },
}

impl CompressingWriter {
    /// Writes what was gathered, and the end of the compressed octets.
    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Self::Gzip(encoder) => encoder.finish()?.flush(),
            Self::Plain(_) | Self::Zstandard { .. } => Ok(()),
        }
    }
}

impl Write for CompressingWriter {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(write) => write.write(octets),
            Self::Gzip(encoder) => encoder.write(octets),
            Self::Zstandard { gathered, .. } => {
                gathered.extend_from_slice(octets);
                if gathered.len() >= ZSTANDARD_FRAME {
                    self.flush()?;
                }
                Ok(octets.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(write) => write.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstandard { write, gathered } => {
                if !gathered.is_empty() {
                    write.write_all(&compress_to_vec(gathered.as_slice(), CompressionLevel::Fastest))?;
                    gathered.clear();
                }
                write.flush()
            }
        }
    }
}

fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
}

/// Returns true if this is a name for an open file of this process, such as `/dev/stdout` or `/proc/self/fd/3`.
fn is_descriptor(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.is_some_and(|folder| {
        folder == Path::new("/dev") || folder == Path::new("/dev/fd") || folder.starts_with("/proc")
    })
}

/// Returns true if both names lead to the same regular file: two links to one file, for example. `-` is the standard stream.
fn is_same(input: &Path, output: &Path) -> bool {
    let (Some(input), Some(output)) = (regular(input, Handle::stdin), regular(output, Handle::stdout)) else {
        return false;
    };
    input == output
}

/// Opens a regular file, for a comparison with another one.
fn regular(path: &Path, stream: impl FnOnce() -> io::Result<Handle>) -> Option<Handle> {
    let handle = if path == Path::new("-") {
        stream()
    } else if path.is_file() {
        Handle::from_path(path)
    } else {
        // To open a pipe could take forever.
        return None;
    };
    handle.ok().filter(|handle| handle.as_file().metadata().is_ok_and(|metadata| metadata.is_file()))
}
