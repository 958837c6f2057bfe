//! Copies a file from or to an NFSv4.0 server over an RDMA adapter, or lists a directory of it.
//!
//! ```sh
//! cargo run --release -p rpcrdma-verbs --features rdma --example nfs4-cp -- nfs://192.0.2.1/file /tmp/file
//! ```

mod nfs4;

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::time::Instant;

use rpcrdma_verbs::rdma::Device;

use self::nfs4::list::Entry;
use self::nfs4::{Error, Location, Nfs4, Options};

const HELP: &str = "\
nfs4-cp [--depth N] SOURCE TARGET
nfs4-cp --list nfs://HOST[:PORT]/DIRECTORY

Copies a file to or from an NFSv4.0 server over RPC-over-RDMA. One of SOURCE and TARGET is nfs://HOST[:PORT]/PATH
(the default port is 20049), the other a local file. An existing target is overwritten.

  --depth N  READs or WRITEs of up to 1 MiB in flight at once, 1 to 32; 4 by default
  --list     print the entries of a directory: size, name
  --help     print this help

Exit status: 0; 1 if it failed; 2 for wrong usage.
";

/// What is to be done.
enum Task {
    Help,
    List(Location),
    From(Location, String),
    To(String, Location),
}

fn main() -> ExitCode {
    let (task, options) = match arguments(std::env::args_os().skip(1)) {
        Ok(parsed) => parsed,
        Err(wrong) => {
            eprintln!("nfs4-cp: {wrong}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let done = match task {
        Task::Help => said(HELP),
        Task::List(location) => list(&location, &options),
        Task::From(location, target) => copy(|| from(&location, &target, &options)),
        Task::To(source, location) => copy(|| to(&source, &location, &options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("nfs4-cp: {failed}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(arguments: impl Iterator<Item = OsString>) -> Result<(Task, Options), String> {
    let known = |argument: OsString| argument.into_string().map_err(|other| format!("{}: not UTF-8", other.display()));
    let mut arguments = arguments.map(known).collect::<Result<Vec<_>, _>>()?.into_iter();
    let mut options = Options { user: user(), ..Options::default() };
    let (mut lists, mut places) = (false, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok((Task::Help, options)),
            "--list" => lists = true,
            "--depth" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                options.depth = number.filter(|number| (1..=32).contains(number)).ok_or("--depth: 1 to 32")?;
            }
            other if other.starts_with("--") => return Err(format!("{other}: no such option")),
            _ => places.push(argument),
        }
    }
    let locations: Vec<Option<Location>> =
        places.iter().map(|place| Location::parse(place).transpose()).collect::<Result<_, _>>()?;
    let task = match (lists, &places[..], &locations[..]) {
        (true, [_], [Some(directory)]) => Task::List(directory.clone()),
        (false, [_, target], [Some(source), None]) => Task::From(source.clone(), target.clone()),
        (false, [source, _], [None, Some(target)]) => Task::To(source.clone(), target.clone()),
        (true, ..) => return Err("--list takes one nfs://HOST/DIRECTORY".to_owned()),
        _ => return Err("one of SOURCE and TARGET is nfs://HOST/PATH, the other a local file".to_owned()),
    };
    Ok((task, options))
}

/// Who runs this: the owner of its process.
fn user() -> (u32, u32) {
    fs::metadata("/proc/self").map_or((0, 0), |process| (process.uid(), process.gid()))
}

fn connect(location: &Location, options: &Options) -> Result<Nfs4<Device>, String> {
    let address = location.address()?;
    let told = |error: Error| format!("{address}: {error}");
    let device = Device::towards(address).map_err(|error| told(Error::Connect(error)))?;
    Nfs4::connect(&device, address, options).map_err(told)
}

/// What failed, with what it was about.
fn of<E: Display>(subject: &str) -> impl Fn(E) -> String + use<E> {
    let subject = subject.to_owned();
    move |error| format!("{subject}: {error}")
}

fn from(location: &Location, target: &str, options: &Options) -> Result<u64, String> {
    let nfs = connect(location, options)?;
    let source = location.to_string();
    let file = nfs.look_up(&location.path).map_err(of(&source))?;
    let mut sink = File::create(target).map_err(of(target))?;
    nfs.read(&file, &mut sink).map_err(of(&format!("{source} to {target}")))
}

fn to(source: &str, location: &Location, options: &Options) -> Result<u64, String> {
    let mut file = File::open(source).map_err(of(source))?;
    let nfs = connect(location, options)?;
    nfs.write(&location.path, &mut file).map_err(of(&format!("{source} to {location}")))
}

/// Does it, and says how fast.
fn copy(copy: impl FnOnce() -> Result<u64, String>) -> Result<(), String> {
    let start = Instant::now();
    let octets = copy()?;
    let seconds = start.elapsed().as_secs_f64();
    said(&format!("{octets} octets in {seconds:.3} s, {:.1} MiB/s\n", octets as f64 / f64::from(1 << 20) / seconds))
}

fn list(location: &Location, options: &Options) -> Result<(), String> {
    let nfs = connect(location, options)?;
    let told = of(&location.to_string());
    let directory = nfs.look_up(&location.path).map_err(&told)?;
    let mut out = io::stdout().lock();
    let done = nfs.list(&directory, |Entry { name, attributes }| {
        let size = attributes.size.map_or_else(|| "?".to_owned(), |size| size.to_string());
        let slash = if attributes.kind == Some(2) { "/" } else { "" };
        // Whoever made the file has chosen its name.
        Ok(writeln!(out, "{size:>12} {}{slash}", name.escape_debug())?)
    });
    done.map(drop).map_err(told)
}

fn said(words: &str) -> Result<(), String> {
    io::stdout().write_all(words.as_bytes()).map_err(|error| error.to_string())
}
