//! The cases to try, the responder, and reasons why that may be impossible.

use std::time::Duration;
use std::{fmt, io};

use rpcrdma_verbs::{Error, Version};

use crate::echo;

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputFormat {
    /// A table.
    #[default]
    Table,
    /// JSON, one object per line.
    Json,
    /// Verdict, case, rule, expected and observed reaction, and the section, separated by tabs.
    Tabs,
}

impl OutputFormat {
    /// Returns the form for the options `--json` and `--tsv`.
    #[must_use]
    pub const fn from_options(json: bool, tsv: bool) -> Self {
        match (json, tsv) {
            (true, _) => Self::Json,
            (false, true) => Self::Tabs,
            (false, false) => Self::Table,
        }
    }
}

/// Settings of the cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The program whose NULL procedure is called.
    pub program: u32,
    /// Its version.
    pub program_version: u32,
    /// The version of RPC-over-RDMA.
    pub version: Version,
    /// Maximum time for a connection, and for a reply.
    pub patience: Duration,
    /// Time after which a missing answer counts as silence.
    pub silence: Duration,
    /// Names of the only cases to try, besides the cases of `rules`; all cases if both are empty.
    pub cases: Vec<String>,
    /// Rules of the only cases to try, besides `cases`.
    pub rules: Vec<String>,
    /// Form of the output.
    pub form: OutputFormat,
    /// The name of a file of 60 octets or more in the root of NFSv4, to read.
    pub file: Option<String>,
    /// The name of a symbolic link there.
    pub link: Option<String>,
    /// The name of a file there that may be overwritten.
    pub scratch: Option<String>,
    /// Beginning of the names of files that are created there, opened by NFSv4.1, and removed, so that the server calls
    /// back.
    pub delegate: Option<String>,
}

impl Suite {
    /// All cases of version 1 on NULL of NFSv4.
    #[must_use]
    pub const fn nfs() -> Self {
        Self {
            program: 100_003,
            program_version: 4,
            version: Version::One,
            patience: Duration::from_secs(10),
            silence: Duration::from_millis(500),
            cases: Vec::new(),
            rules: Vec::new(),
            form: OutputFormat::Table,
            file: None,
            link: None,
            scratch: None,
            delegate: None,
        }
    }

    /// All cases of version 1 on NULL of the [echo program](echo).
    #[must_use]
    pub fn echo() -> Self {
        Self { program: echo::PROGRAM, program_version: echo::VERSION, ..Self::nfs() }
    }
}

/// Reason why nothing could be judged.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProbeError {
    /// The adapter or the connection failed, not because of a case.
    Verbs(Error),
    /// The responder does not answer the NULL procedure that cases use.
    NoService,
    /// The suite has no case of this name; these are similar.
    NoCase(String, Vec<&'static str>),
    /// The suite has no case of this rule; these are similar.
    NoRule(String, Vec<&'static str>),
    /// The message to replay is of this version of RPC-over-RDMA, but another one is to be probed.
    OtherVersion(String),
    /// A file has no message to replay.
    Recipe(String),
    /// A file, or the output, could not be read or written.
    Output(io::Error),
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verbs(error) => error.fmt(f),
            Self::NoService => f.write_str("it does not answer a call of NULL: see --program and --rpcrdma-version"),
            Self::NoCase(name, near) => write!(f, "there is no case {name}{}", Meant(near)),
            Self::NoRule(name, near) => write!(f, "there is no case of a rule {name}{}", Meant(near)),
            Self::OtherVersion(version) => write!(f, "the message is one of version {version}: see --rpcrdma-version"),
            Self::Output(error) => error.fmt(f),
            Self::Recipe(error) => write!(f, "not a message that --fuzz has saved: {error}"),
        }
    }
}

/// Suggestions.
struct Meant<'a>(&'a [&'static str]);

impl fmt::Display for Meant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; did you mean {}?", self.0.join(" or ")) }
    }
}

impl std::error::Error for ProbeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Verbs(error) => Some(error),
            Self::Output(error) => Some(error),
            Self::NoService | Self::NoCase(..) | Self::NoRule(..) | Self::OtherVersion(_) | Self::Recipe(_) => None,
        }
    }
}

impl From<Error> for ProbeError {
    fn from(error: Error) -> Self {
        Self::Verbs(error)
    }
}

impl From<io::Error> for ProbeError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
