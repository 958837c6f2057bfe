//! The file that a command writes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::failure::Failure;

/// Octets that are gathered before they are written.
const GATHERED: usize = 1 << 18;
/// Octets that become one Zstandard frame. A file may consist of several.
const ZSTANDARD_FRAME: usize = 4 << 20;

/// Destination and format of the output.
pub(crate) struct Destination<'a> {
    path: &'a Path,
    /// True if pcapng is written, and not pcap.
    pcapng: bool,
    compression: Option<WrittenCompression>,
}

/// Compression of the file, by the end of its name.
#[derive(Clone, Copy)]
enum WrittenCompression {
    Gzip,
    Zstandard,
}

impl<'a> Destination<'a> {
    /// Refuses to write where that would destroy the input or be of no use.
    pub(crate) fn new(path: &'a Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let to_stdout = path == Path::new("-");
        let refused = |reason: &str| Err(Failure::Said(format!("{}: {reason}", path.display())));
        if to_stdout && io::stdout().is_terminal() {
            return refused("not written to a terminal: name a file, or pipe it into a program");
        }
        if !to_stdout && inputs.iter().any(|input| is_same(input, path)) {
            return refused("is both input and output");
        }
        let (compression, name) = match extension(path).as_deref() {
            Some("gz") => (Some(WrittenCompression::Gzip), path.file_stem().map(Path::new)),
            Some("zst") => (Some(WrittenCompression::Zstandard), path.file_stem().map(Path::new)),
            _ => (None, Some(path)),
        };
        let pcapng = matches!(name.and_then(extension).as_deref(), Some("pcapng" | "ntar"));
        Ok(Self { path, pcapng, compression })
    }

    /// Returns true if the name is that of a pcapng file.
    pub(crate) const fn is_pcapng(&self) -> bool {
        self.pcapng
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
    pub(crate) fn create(&self) -> Result<CompressingWriter, Failure> {
        let write: Box<dyn Write> = match self.path == Path::new("-") {
            true => Box::new(io::stdout().lock()),
            false => Box::new(File::create(self.path).map_err(|error| self.failed(error))?),
        };
        let write = BufWriter::with_capacity(GATHERED, write);
        Ok(match self.compression {
            None => CompressingWriter::Plain(write),
            Some(WrittenCompression::Gzip) => {
                CompressingWriter::Gzip(GzEncoder::new(write, flate2::Compression::default()))
            }
            Some(WrittenCompression::Zstandard) => CompressingWriter::Zstandard { write, gathered: Vec::new() },
        })
    }

    /// The file could not be written.
    pub(crate) fn failed(&self, error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Output(error),
            _ => Failure::Said(format!("{}: {error}", self.path.display())),
        }
    }
}

/// A file that is written, compressed or not.
pub(crate) enum CompressingWriter {
    Plain(BufWriter<Box<dyn Write>>),
    Gzip(GzEncoder<BufWriter<Box<dyn Write>>>),
    Zstandard { write: BufWriter<Box<dyn Write>>, gathered: Vec<u8> },
}

impl CompressingWriter {
    /// Writes what was gathered, and the end of the compressed octets.
    pub(crate) fn finish(mut self) -> io::Result<()> {
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

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other && one.is_file())
}
