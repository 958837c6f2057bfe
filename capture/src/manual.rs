//! Manual pages, generated from `--help`.

use std::io::{self, Write};

use clap::Command;
use clap_mangen::Man;

/// Columns of the widest help: a terminal of this width would break longer lines, and so would clap on a wider one.
const WIDTH: usize = 100;

/// Writes the manual page of `program`, or of the command `name`.
///
/// # Errors
/// Any error from writing to `out`; `NotFound` if there is no such command.
pub(crate) fn write(mut program: Command, name: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    program.build();
    let command = match name {
        None => &program,
        Some(name) => program.find_subcommand(name).ok_or(io::ErrorKind::NotFound)?,
    };
    let called = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let version = program.get_version().unwrap_or_default();
    writeln!(out, ".TH \"{}\" 1 \"\" \"rpcrdma {version}\"", escaped(called))?;
    writeln!(out, ".SH NAME\n{} \\- {}", escaped(called), escaped(&about(command)))?;
    let usage = command.clone().render_usage().to_string();
    verbatim(out, "SYNOPSIS", usage.trim_start_matches("Usage: ").lines().map(str::trim))?;
    Man::new(command.clone()).render_options_section(out)?;
    if command.has_subcommands() {
        writeln!(out, ".SH COMMANDS")?;
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let called = command.get_bin_name().unwrap_or_default();
            writeln!(out, ".TP\n\\fB{}\\fR\n{}", escaped(called), escaped(&about(command)))?;
        }
    }
    let rest = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let is_wide = |line: &str| line.chars().count() > WIDTH;
    debug_assert!(!rest.lines().any(is_wide), "{:?}", rest.lines().find(|line| is_wide(line)));
    for part in rest.split("\n\n") {
        let Some((title, lines)) = part.split_once(":\n") else { continue };
        verbatim(out, &title.to_uppercase(), lines.lines())?;
    }
    Ok(())
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// A section of verbatim lines, such as an example to copy.
fn verbatim<'a>(out: &mut impl Write, title: &str, lines: impl Iterator<Item = &'a str>) -> io::Result<()> {
    writeln!(out, ".SH {title}\n.nf")?;
    for line in lines {
        writeln!(out, "{}", escaped(line))?;
    }
    writeln!(out, ".fi")
}

/// Text for roff: backslashes, hyphens that have to stay hyphens, and anything that would begin a request are escaped.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}
