//! What the command lines of all programs have in common.

use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Styles};
use rpcrdma_verbs::Error;

/// Wrong usage, or nothing to work with.
pub const UNUSABLE: u8 = 2;

/// The colours of `--help`.
pub const STYLES: Styles =
    Styles::styled().header(AnsiColor::Green.on_default().bold()).literal(AnsiColor::Cyan.on_default());

/// Writes a line to standard error.
pub fn say(program: &str, text: impl Display) {
    // If this fails, there is nobody left to tell.
    let _written = writeln!(std::io::stderr(), "{program}: {text}");
}

/// Why something could not be done, and what to do about it.
pub fn explain(program: &str, what: impl Display, error: &Error) {
    say(program, format_args!("{what}: {error}"));
    if let Some(advice) = error.advice() {
        say(program, advice);
    }
}

/// Prints help and version as they are, and an error's first paragraph in one line.
pub fn usage(program: &str, error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _written = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    say(program, format_args!("{}; try '{program} --help'", line.trim_start_matches("error: ")));
    ExitCode::from(UNUSABLE)
}

/// The number of a program: decimal, hexadecimal with 0x, or a name.
///
/// # Errors
/// The forms in which a program may be given.
pub fn program(text: &str) -> Result<u32, String> {
    let number = match text {
        "nfs" => Some(100_003),
        "mount" => Some(100_005),
        "nfsacl" => Some(100_227),
        "echo" => Some(crate::echo::PROGRAM),
        _ => match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
    };
    number.ok_or_else(|| "a number, or nfs, mount, nfsacl, echo".to_owned())
}
