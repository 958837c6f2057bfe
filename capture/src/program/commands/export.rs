//! `export`: the RPCs as RPC over TCP.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::dissector::Config;
use crate::event::Event;
use crate::output::export::Exporter;
use crate::program::arguments::{InputArguments, RpcArguments};
use crate::program::failure::{DAMAGED, Failure, say};
use crate::program::filters::Filters;
use crate::program::source::{InputSource, Show};

#[derive(Args, Debug)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    rpcs: RpcArguments,
    /// The pcap file to write; - is standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
}

pub(super) fn run(arguments: &ExportArguments, quiet: bool) -> Result<u8, Failure> {
    let path = &arguments.output;
    let to_stdout = path == Path::new("-");
    refuse_output(arguments, to_stdout)?;
    let source = InputSource::new(Filters::rpcs(&arguments.input, &arguments.rpcs))?;
    let named = |error: io::Error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Output(error),
        _ => Failure::Said(format!("{}: {error}", path.display())),
    };
    let write: Box<dyn Write> =
        if to_stdout { Box::new(io::stdout().lock()) } else { Box::new(File::create(path).map_err(named)?) };
    let mut exporter = Exporter::new(BufWriter::with_capacity(1 << 18, write)).map_err(named)?;
    let show = Show::report(quiet);
    let status = source.read(Config::default(), show, |event, _, _| match event {
        Event::Transaction(transaction) => exporter.transaction(transaction),
        _ => Ok(()),
    })?;
    let exported = exporter.finish().map_err(named)?;
    if !quiet || exported.left_out > 0 {
        say(&exported.to_string());
    }
    Ok(if exported.calls > 0 { status } else { status.max(DAMAGED) })
}

/// Refuses to write where that would destroy the input or be of no use.
fn refuse_output(arguments: &ExportArguments, to_stdout: bool) -> Result<(), Failure> {
    let path = &arguments.output;
    let refused = |reason: &str| Err(Failure::Said(format!("{}: {reason}", path.display())));
    if to_stdout && io::stdout().is_terminal() {
        return refused("a pcap file is not written to a terminal: name a file, or pipe it into a program");
    }
    if !to_stdout && arguments.input.files.iter().any(|file| is_same(file, path)) {
        return refused("is both input and output");
    }
    match path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase).as_deref() {
        Some("gz") => refused("export does not compress: use '-o - | gzip', or another name"),
        Some("zst") => refused("export does not compress: use '-o - | zstd', or another name"),
        Some("pcapng" | "ntar") => refused("export writes pcap, not pcapng: use another name"),
        _ => Ok(()),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other && one.is_file())
}
