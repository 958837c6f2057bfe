//! Errors of a copy.

use std::time::Duration;
use std::{fmt, io};

use rpcrdma::reader::EndOfInput;
use rpcrdma::rpc::AuthSysError;
use rpcrdma_dissector::nfs::{Procedure, status};
use rpcrdma_verbs::{CallError, ReplyError, SettingsError};

/// Reason for a failed copy.
#[derive(Debug)]
pub(crate) enum Error {
    /// The connection was not set up.
    Connect(rpcrdma_verbs::Error),
    /// A call has no reply.
    Call(CallError),
    /// A call has no reply after this time.
    TimedOut(Duration),
    /// The RPC was not carried out.
    Reply(ReplyError),
    /// There is no such user.
    User(AuthSysError),
    /// The number of calls in flight is not possible.
    Settings(SettingsError),
    /// An operation failed.
    Status(Status),
    /// The results do not match the request, at this offset in octets.
    Results(usize),
    /// The file is of another kind.
    NotAFile(&'static str),
    /// The file ended early: the file became shorter during the copy.
    Short {
        /// Number of octets read.
        read: u64,
        /// Expected number of octets.
        of: u64,
    },
    /// The server reports that an operation was carried out, but there was no effect.
    NoProgress(&'static str),
    /// The server was restarted during the writes, and may have lost data that was not committed.
    Restarted,
    /// A local file could not be read or written.
    Local(io::Error),
    /// The copy failed, and the temporary file of this name could not be removed from the server.
    NotRemoved {
        /// Its name.
        name: String,
        /// The failure of the copy.
        error: Box<Error>,
    },
}

/// An operation that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    /// Its name.
    pub(crate) operation: &'static str,
    /// Its subject; may be empty.
    pub(crate) subject: String,
    /// `nfsstat4`.
    pub(crate) number: u32,
}

impl Status {
    /// The server has restarted, and the lease time is not over (RFC 7530 section 9.6.2).
    pub(crate) const GRACE: u32 = 10_013;
    /// There is no such file.
    pub(crate) const NO_ENTRY: u32 = 2;
    /// The server asks to try again later (RFC 7530 section 13.1.1.3).
    pub(crate) const DELAY: u32 = 10_008;

    /// Returns true if another attempt may succeed later.
    pub(crate) const fn passes(&self) -> bool {
        matches!(self.number, Self::GRACE | Self::DELAY)
    }

    /// Returns true if the server has used up the sequence number of the COMPOUND: the operation with the number was
    /// begun, and failed in a way that uses up the number (RFC 7530 section 9.1.7).
    pub(crate) fn takes_sequence(&self) -> bool {
        let begun = ["OPEN", "OPEN_CONFIRM", "CLOSE"].contains(&self.operation);
        // STALE_CLIENTID, STALE_STATEID, BAD_STATEID, BAD_SEQID, BADXDR, RESOURCE, NOFILEHANDLE, MOVED
        begun && !matches!(self.number, 10_022 | 10_023 | 10_025 | 10_026 | 10_036 | 10_018 | 10_020 | 10_019)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.operation)?;
        if !self.subject.is_empty() {
            write!(f, " {:?}", self.subject)?;
        }
        let compound = Procedure { program: Procedure::NFS, version: 4, procedure: 1 };
        match status::name(&compound, false, self.number) {
            Some(name) => write!(f, ": {name}"),
            None => write!(f, ": nfsstat4 {}", self.number),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "no connection: {error}"),
            Self::Call(error) => write!(f, "{error}"),
            Self::TimedOut(limit) => {
                write!(f, "no reply within {limit:?} (--timeout): the server or the network to it may be gone")
            }
            Self::Reply(error) => write!(f, "{error}"),
            Self::User(error) => write!(f, "{error}"),
            Self::Settings(error) => write!(f, "{error}"),
            Self::Status(status) => write!(f, "{status}"),
            Self::Results(at) => write!(f, "the results do not match the request, at octet {at}"),
            Self::NotAFile(kind) => write!(f, "it is not a file, but {kind}"),
            Self::Short { read, of } => write!(f, "the file ended after {read} of {of} octets"),
            Self::NoProgress(operation) => {
                write!(f, "{operation}: the server reports success, but did nothing")
            }
            Self::Restarted => f.write_str("the server was restarted meanwhile, and uncommitted data may be lost"),
            Self::Local(error) => write!(f, "{error}"),
            Self::NotRemoved { name, error } => {
                write!(f, "{error}; the temporary file {name:?} may remain in that directory of the server")
            }
        }
    }
}

impl Error {
    /// Advice for a user, if there is any.
    pub(crate) const fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Connect(error) => error.advice(),
            Self::Call(error) => error.advice(),
            Self::NotRemoved { error, .. } => error.advice(),
            _ => None,
        }
    }
}

impl std::error::Error for Error {
    /// The cause. A variant that shows the text of an inner error has the cause of that error.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(error) => Some(error),
            Self::NotRemoved { error, .. } => Some(error),
            Self::Call(error) => error.source(),
            Self::Reply(error) => error.source(),
            Self::Local(error) => error.source(),
            _ => None,
        }
    }
}

impl From<EndOfInput> for Error {
    fn from(end: EndOfInput) -> Self {
        Self::Results(end.offset)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Local(error)
    }
}
