//! Ends of the program other than success.

use std::io;
use std::process::ExitCode;

pub(crate) use crate::spool::say;

/// The input was damaged or incomplete.
pub(crate) const DAMAGED: u8 = 1;
/// Wrong usage, or a file that cannot be read.
pub(crate) const UNUSABLE: u8 = 2;

/// Reason for ending the program early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// One clear line for the user.
    Said(String),
    /// The output could not be written.
    Output(io::Error),
    /// The reason was printed; this is the exit status.
    Ended(u8),
}

impl Failure {
    /// Ctrl-C and SIGTERM cannot be handled.
    pub(crate) fn of_signals(error: &io::Error) -> Self {
        Self::Said(format!("cannot handle signals: {error}"))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Says why the program ends.
pub(crate) fn fail(text: &str) -> ExitCode {
    say(text);
    ExitCode::from(UNUSABLE)
}
