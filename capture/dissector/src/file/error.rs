//! Errors of a capture file, and their places.

use core::{error, fmt};
use std::io;

/// A file that could not be read to the end.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileError {
    /// Name of the file; empty if a [`Reader`](super::Reader) was used directly.
    pub file: String,
    /// Octets of the file, uncompressed, before the record that could not be read.
    pub offset: u64,
    /// Description of the problem.
    pub problem: Problem,
}

/// Error of a capture file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system could not open or read the file.
    Unreadable(io::Error),
    /// The file is empty.
    Empty,
    /// The file is the text of a tracer that recorded no events.
    NoEvents,
    /// The file does not begin like a capture file. Names the actual file type, if recognised.
    NotACapture(Option<&'static str>),
    /// Capture file of another format, which is named here.
    OtherCapture(&'static str),
    /// File compressed in an unsupported format, by the program named here.
    CompressedBy(&'static str),
    /// The file ends inside the named item.
    EndsInside(&'static str),
    /// The gzip or Zstandard stream ends early (`UnexpectedEof`), needs an unsupported feature (`Unsupported`), or is
    /// damaged (any other kind).
    Compression(io::Error),
    /// A record claims this many octets, which is more than any capture holds.
    RecordLength(u32),
    /// The named item contradicts the format of the file.
    Damaged(&'static str),
}

/// How to record the events that RPCs need, as advice.
pub const RECORD_EVENTS: &str = "record those of RPCs, on a client with trace-cmd record -e sunrpc -e rpcrdma -e nfs -e nfs4, on a server with \
                                 trace-cmd record -e sunrpc -e rpcrdma -e nfsd; then trace-cmd report > FILE";

impl FileError {
    pub(super) fn new(offset: u64, problem: Problem) -> Self {
        Self { file: String::new(), offset, problem }
    }

    /// Returns true if this is a damaged capture file that was read up to the damage; otherwise nothing of the file can
    /// be read.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        !matches!(
            self.problem,
            Problem::Unreadable(_)
                | Problem::Empty
                | Problem::NoEvents
                | Problem::NotACapture(_)
                | Problem::OtherCapture(_)
                | Problem::CompressedBy(_)
        )
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        if self.is_damage() {
            write!(f, "at octet {}: ", self.offset)?;
        }
        fmt::Display::fmt(&self.problem, f)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => fmt::Display::fmt(error, f),
            Self::Empty => f.write_str("the file is empty"),
            Self::NoEvents => write!(f, "a kernel trace without events: {RECORD_EVENTS}"),
            Self::NotACapture(None) => f.write_str("not a capture file (pcap, pcapng or ERF)"),
            Self::NotACapture(Some(what)) => write!(f, "{what}, not a capture file (pcap, pcapng or ERF)"),
            Self::OtherCapture(what) => {
                write!(f, "{what}, which is not read: convert it first, with editcap -F pcapng IN OUT")
            }
            Self::CompressedBy(program) => {
                write!(f, "compressed with {program}, which is not supported: decompress it first, with {program} -d")
            }
            Self::EndsInside(what) => write!(f, "the file ends in the middle of {what}"),
            Self::Compression(error) => f.write_str(match error.kind() {
                io::ErrorKind::UnexpectedEof => "the compressed file ends early",
                io::ErrorKind::Unsupported => {
                    "the compressed file needs a dictionary, or a window of more than 128 MiB"
                }
                _ => "the compressed file is damaged",
            }),
            Self::RecordLength(length) => write!(f, "a record claims to have {length} octets: the file is damaged"),
            Self::Damaged(what) => write!(f, "{what}: the file is damaged"),
        }
    }
}

impl error::Error for FileError {
    /// Returns the cause of the problem: the text of this error says the problem itself.
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.problem.source()
    }
}

impl error::Error for Problem {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            // Its text is that of the problem.
            Self::Unreadable(error) => error.source(),
            Self::Compression(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::error::Error as _;

    use super::*;

    /// Returns the texts of an error and of all causes.
    fn chain(problem: Problem) -> Vec<String> {
        let error = FileError { file: "nfs.pcap".to_owned(), offset: 24, problem };
        let mut texts = vec![error.to_string()];
        let mut next = error.source();
        while let Some(cause) = next {
            texts.push(cause.to_string());
            next = cause.source();
        }
        texts
    }

    #[test]
    fn each_cause_is_said_once() {
        let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "permission denied");
        assert_eq!(chain(Problem::Unreadable(refused())), ["nfs.pcap: permission denied"]);
        let outer = io::Error::new(io::ErrorKind::InvalidData, FileError::new(8, Problem::Empty));
        assert_eq!(
            chain(Problem::Compression(outer)),
            ["nfs.pcap: at octet 24: the compressed file is damaged", "the file is empty"]
        );
        assert_eq!(chain(Problem::Empty), ["nfs.pcap: the file is empty"]);
    }
}
