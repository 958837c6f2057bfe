//! Parts of the command lines of all programs.

use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use clap::builder::styling::{AnsiColor, Styles};
use rpcrdma_verbs::{Error, Versions};

/// Wrong usage, or nothing to work with.
pub const UNUSABLE: u8 = 2;

/// The colours of `--help`.
pub const STYLES: Styles =
    Styles::styled().header(AnsiColor::Green.on_default().bold()).literal(AnsiColor::Cyan.on_default());

/// The option for keep-alive, the same in all programs.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepAlive {
    /// Check that the other side is still there when a connection was quiet for this time, such as 10s: a host that is
    /// switched off or cut off is found within three times this time, and the connection ends [default: never]
    #[arg(id = "keep_alive", long = "keep-alive", value_name = "TIME", value_parser = positive_duration)]
    pub interval: Option<Duration>,
}

/// Writes a line to standard error.
pub fn say(program: &str, text: impl Display) {
    // If this fails, nobody reads the messages.
    let _written = writeln!(std::io::stderr(), "{program}: {text}");
}

/// Reports an error, and advice for the user.
pub fn explain(program: &str, what: impl Display, error: &Error) {
    say(program, format_args!("{what}: {error}"));
    if let Some(advice) = error.advice() {
        say(program, advice);
    }
}

/// Prints help and version unchanged, and the first paragraph of an error in one line.
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

/// Parses the number of a program: decimal, hexadecimal with 0x, or a name.
///
/// # Errors
/// The valid forms of a program.
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

/// The default version of a program.
#[must_use]
pub const fn usual_version(program: u32) -> u32 {
    match program {
        100_003 => 4,
        100_005 | 100_227 => 3,
        _ => 1,
    }
}

/// Parses the versions of RPC-over-RDMA: `1`, `2a` or `2b` for one version, `auto` for all.
///
/// # Errors
/// The valid forms of a version.
pub fn versions(text: &str) -> Result<Versions, &'static str> {
    match text {
        "1" => Ok(Versions::ONE),
        "2a" => Ok(Versions::TWO_A),
        "2b" => Ok(Versions::TWO_B),
        "auto" => Ok(Versions::all()),
        _ => Err("1, 2a, 2b or auto"),
    }
}

/// Parses a [`duration`] above zero.
///
/// # Errors
/// The valid forms of a duration.
pub fn positive_duration(text: &str) -> Result<Duration, &'static str> {
    let duration = duration(text)?;
    if duration.is_zero() { Err("must be above 0") } else { Ok(duration) }
}

/// Parses a duration: a number with a unit.
///
/// # Errors
/// The valid forms of a duration.
pub fn duration(text: &str) -> Result<Duration, &'static str> {
    const WRONG: &str = "not a time such as 50ms or 1.5s";
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let seconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(WRONG),
    };
    let number: f64 = number.parse().map_err(|_| WRONG)?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_with_its_unit() {
        for (text, expected) in [
            ("50ms", Some(Duration::from_millis(50))),
            ("1.5s", Some(Duration::from_millis(1500))),
            ("7us", Some(Duration::from_micros(7))),
            ("3ns", Some(Duration::from_nanos(3))),
            ("0s", Some(Duration::ZERO)),
            ("50", None),
            ("ms", None),
            ("-1s", None),
            ("1 s", None),
            ("1m", None),
            ("NaNs", None),
            ("1e300s", None),
            ("", None),
        ] {
            assert_eq!(duration(text).ok(), expected, "{text}");
        }
    }
}
