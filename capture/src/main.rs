//! The program `rpcrdma`: the command line around the libraries `rpcrdma-dissector` and `rpcrdma-answers`.
#![forbid(unsafe_code)]

mod arguments;
mod capture;
mod commands;
mod conclusion;
mod dataset;
mod deferred_items;
mod destination;
mod failure;
mod filters;
mod interrupt;
mod judge;
mod live;
mod manual;
mod notices;
mod output;
mod reading;
mod replacement;
mod source;
mod spool;
mod wireshark;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use commands::Arguments;
use failure::{Failure, UNUSABLE, fail};

/// The most octets of a line of an error that are printed.
const LINE: usize = 1000;

/// Runs the command, and returns the exit status.
fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = match Arguments::try_parse_from(&words).or_else(|error| without_command(words, error)) {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    match commands::run(arguments) {
        Ok(status) => ExitCode::from(status),
        // The reader of the output has seen enough, as `head` does.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Output(error)) => fail(&format!("cannot write the output: {error}")),
        Err(Failure::Said(text)) => fail(&text),
        Err(Failure::Ended(status)) => ExitCode::from(status),
    }
}

/// Reads words without a command as those of `diagnose`, if the place of the command has a file.
fn without_command(mut words: Vec<OsString>, error: clap::Error) -> Result<Arguments, clap::Error> {
    let Some(ContextValue::String(file)) = error.get(ContextKind::InvalidSubcommand) else { return Err(error) };
    let place = words.iter().skip(1).position(|word| word == OsStr::new(file));
    let Some(place) = place.filter(|_| file == "-" || Path::new(file).exists()) else { return Err(error) };
    words.insert(place + 1, "diagnose".into());
    Arguments::try_parse_from(words)
}

/// Prints help and version unchanged, and the first paragraph of an error in one line, with a suggestion.
fn usage(error: &clap::Error) -> ExitCode {
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if is_help || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _written = error.print();
        return ExitCode::from(if is_help { 0 } else { UNUSABLE });
    }
    if let Some(ContextValue::String(file)) = error.get(ContextKind::InvalidSubcommand)
        && file.contains(['.', '/'])
    {
        return fail(&format!("'{file}' is neither a file nor a command; try 'rpcrdma --help'"));
    }
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let (lines, too_long): (Vec<_>, Vec<_>) = lines.partition(|line| line.len() <= LINE);
    // Of all lists of values, only that of the rules is too long for a line.
    let where_to_look = if too_long.is_empty() { "try 'rpcrdma --help'" } else { "try 'rpcrdma check --list'" };
    let hint = suggestion(error).or_else(|| command_meant(error)).unwrap_or_else(|| where_to_look.to_owned());
    fail(&format!("{}; {hint}", lines.join(" ").trim_start_matches("error: ")))
}

/// Returns a suggestion of the name that was meant.
fn suggestion(error: &clap::Error) -> Option<String> {
    use ContextKind::{SuggestedArg, SuggestedSubcommand, SuggestedValue};
    let meant = [SuggestedSubcommand, SuggestedArg, SuggestedValue].into_iter().find_map(|kind| error.get(kind))?;
    let name = match meant {
        ContextValue::String(name) => name,
        ContextValue::Strings(names) => names.first()?,
        _ => return None,
    };
    Some(format!("did you mean '{name}'?"))
}

/// Returns a suggestion for a command after `help`: clap suggests only names that could be in that place without
/// `help`.
fn command_meant(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    suggestion(&Arguments::try_parse_from(["rpcrdma", name]).err()?)
}
