//! The command line around the library.

mod arguments;
mod capture;
mod commands;
mod moment;
mod notices;
mod output;
mod reading;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use arguments::Arguments;

/// The input was damaged or incomplete.
const DAMAGED: u8 = 1;
/// Wrong usage, or a file that cannot be read.
const UNUSABLE: u8 = 2;

/// What ends the program early.
#[derive(Debug)]
enum Failure {
    /// One clear line for the user.
    Said(String),
    /// The output could not be written.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Runs the program; gives its exit status.
pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    match commands::run(arguments) {
        Ok(status) => ExitCode::from(status),
        // Whoever reads the output has seen enough, as `head` has.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Output(error)) => fail(&format!("the output cannot be written: {error}")),
        Err(Failure::Said(text)) => fail(&text),
    }
}

fn fail(text: &str) -> ExitCode {
    say(text);
    ExitCode::from(UNUSABLE)
}

/// Writes a line to standard error.
fn say(text: &str) {
    use std::io::Write as _;
    // Nobody is left to be told where this fails.
    let _written = writeln!(io::stderr(), "rpcrdma: {text}");
}

/// Help and version as they are; of an error the first paragraph, in one line.
fn usage(error: &clap::Error) -> ExitCode {
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if is_help || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _written = error.print();
        return ExitCode::from(if is_help { 0 } else { UNUSABLE });
    }
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    fail(&format!("{}; try 'rpcrdma --help'", line.trim_start_matches("error: ")))
}
