//! Copies a file from or to an NFSv4.0 server over an RDMA adapter, or lists a directory.
//!
//! ```sh
//! nfs4-cp nfs://192.0.2.1/file /tmp/file
//! ```

mod destination;
mod nfs4;
mod progress;

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use rpcrdma_tools::command_line::{self, KeepAlive, STYLES, UNUSABLE, say, usage};
use rpcrdma_verbs::rdma::Device;
use rpcrdma_verbs::{Version, Versions};

use self::destination::Destination;
use self::nfs4::list::Entry;
use self::nfs4::{Error, Location, Nfs4, Options};
use self::progress::Watch;

const PROGRAM: &str = "nfs4-cp";
/// Exit status after SIGINT, as in shells.
const INTERRUPTED: u8 = 130;

/// The command line.
#[derive(Parser)]
#[command(
    name = "nfs4-cp",
    version,
    about = "Copies a file to or from an NFSv4.0 server over RPC-over-RDMA",
    long_about = "Copies a file to or from an NFSv4.0 server over RPC-over-RDMA.\n\nOne of SOURCE and TARGET is \
                  nfs://HOST[:PORT]/PATH (the default port is 20049), the other a local file. The data goes into \
                  a temporary file beside TARGET, .nfs4-cp- and 16 digits, which replaces TARGET when it is complete. If the \
                  copy fails, TARGET is as it was, and the temporary file is removed, unless a server that holds it no longer \
                  answers.\n\nNothing waits longer than --timeout \
                  for a reply, 12 s for the way to the server, and 10 s for its answer to each request for a connection. While the server asks to try again later, calls are \
                  repeated for up to 2 minutes. On a terminal, standard error shows the progress.",
    styles = STYLES,
    override_usage = "nfs4-cp [--depth N] [--timeout TIME] [--keep-alive TIME] SOURCE TARGET\n       nfs4-cp --list nfs://HOST[:PORT]/DIRECTORY",
    after_help = "\
Examples:
  nfs4-cp /tmp/file nfs://192.0.2.1/dir/file
  nfs4-cp nfs://192.0.2.1/dir/file /tmp/back
  nfs4-cp --list nfs://192.0.2.1/dir
  nfs4-cp --rpcrdma-version auto /tmp/file nfs://192.0.2.1/dir/file

Exit status: 0; 1 if it failed; 2 for wrong usage or without an adapter; 130\nafter Ctrl-C or SIGTERM; a second one ends it at once."
)]
struct Arguments {
    /// File to copy, or with --list the directory.
    source: OsString,
    /// Target of the copy.
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    target: Option<OsString>,
    /// READs or WRITEs of up to 1 MiB in flight at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32))]
    depth: u32,
    /// Time after which a call without a reply ends the copy, such as 500ms or 30s
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = command_line::positive_duration)]
    timeout: Duration,
    #[command(flatten)]
    keep_alive: KeepAlive,
    /// Version of RPC-over-RDMA: 1; 2a or 2b for version 2 in the format of drafts -00 to -02 or -03 to -07; auto for 2b,
    /// or 1 if the server refuses that
    #[arg(long, default_value = "1", value_name = "VERSION", value_parser = command_line::versions)]
    rpcrdma_version: Versions,
    /// Print the entries of a directory: size, name
    #[arg(long)]
    list: bool,
}

/// Task of the command line.
enum Task {
    List(Location),
    From(Location, String),
    To(String, Location),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(PROGRAM, &error),
    };
    let Arguments { depth, timeout, keep_alive, rpcrdma_version: versions, .. } = arguments;
    let options =
        Options { user: user(), depth, timeout, keep_alive: keep_alive.interval, versions, ..Options::default() };
    let done = match task(arguments) {
        Err(wrong) => {
            say(PROGRAM, format_args!("{wrong}; try '{PROGRAM} --help'"));
            return ExitCode::from(UNUSABLE);
        }
        Ok(Task::List(location)) => list(&location, &options),
        Ok(Task::From(location, target)) => copy(|| from(&location, &target, &options)),
        Ok(Task::To(source, location)) => copy(|| to(&source, &location, &options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            say(PROGRAM, failed.text);
            if let Some(advice) = failed.advice {
                say(PROGRAM, advice);
            }
            ExitCode::from(failed.status)
        }
    }
}

/// A failure to report, and the exit status.
struct Failed {
    text: String,
    advice: Option<&'static str>,
    status: u8,
}

impl From<String> for Failed {
    fn from(text: String) -> Self {
        Self { text, advice: None, status: 1 }
    }
}

/// Determines the task from source and target.
fn task(Arguments { source, target, .. }: Arguments) -> Result<Task, String> {
    let known = |place: OsString| place.into_string().map_err(|other| format!("{}: not UTF-8", other.display()));
    let (source, target) = (known(source)?, target.map(known).transpose()?);
    let location = Location::parse(&source).transpose()?;
    let Some(target) = target else {
        return location.map(Task::List).ok_or_else(|| "--list takes one nfs://HOST/DIRECTORY".to_owned());
    };
    match (location, Location::parse(&target).transpose()?) {
        (Some(source), None) => Ok(Task::From(source, target)),
        (None, Some(target)) => Ok(Task::To(source, target)),
        _ => Err("one of SOURCE and TARGET is nfs://HOST/PATH, the other a local file".to_owned()),
    }
}

/// User and group of this process.
fn user() -> (u32, u32) {
    fs::metadata("/proc/self").map_or((0, 0), |process| (process.uid(), process.gid()))
}

fn connect(location: &Location, options: &Options) -> Result<Nfs4<Device>, Failed> {
    let address = location.address()?;
    let told = of_server(address);
    let device = Device::towards(address).map_err(|error| {
        let status = if error == rpcrdma_verbs::Error::NoAdapter { UNUSABLE } else { 1 };
        Failed { status, ..told(Error::Connect(error)) }
    })?;
    Nfs4::connect(&device, address, options).map_err(told)
}

/// Adds the subject to an error that has to do with the server, and advice.
fn of_server<S: Display>(subject: S) -> impl Fn(Error) -> Failed + use<S> {
    let subject = subject.to_string();
    move |error| Failed { text: format!("{subject}: {error}"), advice: error.advice(), status: 1 }
}

/// Adds the subject to an error.
fn with_subject<E: Display>(subject: &str) -> impl Fn(E) -> String + use<E> {
    let subject = subject.to_owned();
    move |error| format!("{subject}: {error}")
}

fn from(location: &Location, target: &str, options: &Options) -> Result<Copied, Failed> {
    let nfs = connect(location, options)?;
    let file = nfs.look_up(&location.path).map_err(of_server(location))?;
    let destination = Destination::new(Path::new(target)).map_err(with_subject(target))?;
    let watch = Watch::new(file.attributes.size, options.timeout).map_err(with_subject(PROGRAM))?;
    let mut sink = watch.over(destination);
    let read = nfs.read(&file, &mut sink);
    let octets =
        read.map_err(of_server(format_args!("{location} to {target}"))).map_err(|error| stopped(error, &watch))?;
    sink.into_inner().complete().map_err(with_subject(target))?;
    Ok(Copied { octets, version: nfs.version() })
}

fn to(source: &str, location: &Location, options: &Options) -> Result<Copied, Failed> {
    let file = File::open(source).map_err(with_subject(source))?;
    let length = file.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len());
    let nfs = connect(location, options)?;
    let watch = Watch::new(length, options.timeout).map_err(with_subject(PROGRAM))?;
    let written = nfs.write(&location.path, &mut watch.over(file));
    let octets =
        written.map_err(of_server(format_args!("{source} to {location}"))).map_err(|error| stopped(error, &watch))?;
    Ok(Copied { octets, version: nfs.version() })
}

/// A copy that failed, or was stopped by a signal.
fn stopped(failed: Failed, watch: &Watch) -> Failed {
    Failed { status: if watch.is_interrupted() { INTERRUPTED } else { 1 }, ..failed }
}

/// Length of the copied data, and the version of RPC-over-RDMA.
struct Copied {
    octets: u64,
    version: Option<Version>,
}

/// Copies, and reports throughput and version.
fn copy(copy: impl FnOnce() -> Result<Copied, Failed>) -> Result<(), Failed> {
    let start = Instant::now();
    let Copied { octets, version } = copy()?;
    let seconds = start.elapsed().as_secs_f64();
    let speed = octets as f64 / f64::from(1 << 20) / seconds;
    let version = version.unwrap_or_default();
    said(&format!("{octets} octets in {seconds:.3} s, {speed:.1} MiB/s, RPC-over-RDMA version {version}\n"))?;
    Ok(())
}

fn list(location: &Location, options: &Options) -> Result<(), Failed> {
    let nfs = connect(location, options)?;
    let told = of_server(location);
    let directory = nfs.look_up(&location.path).map_err(&told)?;
    let mut out = io::stdout().lock();
    let done = nfs.list(&directory, |Entry { name, attributes }| {
        let size = attributes.size.map_or_else(|| "?".to_owned(), |size| size.to_string());
        let slash = if attributes.kind == Some(2) { "/" } else { "" };
        // The name may be chosen by an attacker.
        Ok(writeln!(out, "{size:>12} {}{slash}", name.escape_debug())?)
    });
    done.map(drop).map_err(told)
}

fn said(words: &str) -> Result<(), String> {
    io::stdout().write_all(words.as_bytes()).map_err(|error| error.to_string())
}
