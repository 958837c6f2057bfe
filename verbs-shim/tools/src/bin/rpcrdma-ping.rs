//! The program `rpcrdma-ping`: calls a server of RPC over RDMA, and reports round-trip times.

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Parser;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use rpcrdma_tools::command_line::{self, KeepAlive, STYLES, UNUSABLE, explain, say, usage};
use rpcrdma_tools::echo::{self, Carry, TooLong};
use rpcrdma_tools::ping::{self, Plan, Show, Summary, What};
use rpcrdma_verbs::rdma::Device;
use rpcrdma_verbs::{Client, Error, Settings, Versions};

const NAME: &str = "rpcrdma-ping";
/// Not all calls were answered.
const LOST: u8 = 1;

const EXAMPLES: &str = "\
Examples:
  rpcrdma-ping nfs.example                     NULL of NFSv4, at port 20049
  rpcrdma-ping --version 3 192.0.2.1           NULL of NFSv3
  rpcrdma-ping -q -c 10000 -i 0 192.0.2.1      latency, as fast as the replies come
  rpcrdma-ping --program echo --carry read --size 1048576 192.0.2.1
                                               1 MiB per call by RDMA Read, to rpcrdma-serve
  rpcrdma-ping --rpcrdma-version auto 192.0.2.1
                                               version 2 if the server speaks it, else version 1

Ctrl-C ends it and prints the summary so far.

Exit status: 0 if every call was answered correctly; 1 if not, or if there was no
connection; 2 for wrong usage, or if there is no RDMA adapter.";

/// Call an RPC-over-RDMA (RFC 8166, or version 2) server, and measure response times.
#[derive(Debug, Parser)]
#[command(name = NAME, version, after_help = EXAMPLES, styles = STYLES, max_term_width = 100)]
#[command(disable_version_flag = true)]
struct Arguments {
    #[arg(
        value_name = "HOST[:PORT]",
        help = "Name or address, with or without a port: nfs.example, [2001:db8::1]:20049"
    )]
    server: String,
    /// Number of calls, at most 1000000
    #[arg(short, long, default_value_t = 5, value_name = "N", value_parser = count)]
    count: u32,
    /// Seconds between calls; with 0, call as soon as the reply has come
    #[arg(short, long, default_value = "1", value_name = "SECONDS", value_parser = seconds)]
    interval: Duration,
    /// Program to call: echo for the echo program of rpcrdma-serve; nfs, mount, nfsacl or a number for NULL of that
    /// program
    #[arg(long, default_value = "nfs", value_name = "PROGRAM", value_parser = command_line::program)]
    program: u32,
    /// Version of the program [default: 4 for nfs, 3 for mount and nfsacl, 1 for others]
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Way in which the echoed data travels: inline, read, write, position-zero or reply; or, with version 2, continued
    #[arg(long, value_name = "WAY")]
    carry: Option<Carry>,
    /// Octets to echo [default: 56]
    #[arg(short, long, value_name = "OCTETS")]
    size: Option<u32>,
    /// Wait this many seconds for the reply to a call, or for the answer to a request for a connection. Finding the way to
    /// the server may take 12 seconds more
    #[arg(short = 'W', long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    timeout: Duration,
    #[command(flatten)]
    keep_alive: KeepAlive,
    /// Busy-poll this long before sleeping: lower latency, but more processor time
    #[arg(long, default_value_t = 20, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u32).range(..=10_000_000))]
    spin: u32,
    /// Version of RPC-over-RDMA: 1; 2a or 2b for version 2 in the format of drafts -00 to -02 or -03 to -07; auto for 2b,
    /// or 1 if the server does not speak that
    #[arg(long, default_value = "1", value_name = "VERSION", value_parser = command_line::versions)]
    rpcrdma_version: Versions,
    /// Print only the summary
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print the version
    #[arg(short = 'V', action = clap::ArgAction::Version)]
    print_version: Option<bool>,
}

/// Default length of the echo in octets, as in `ping`.
const SIZE: u32 = 56;

fn count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=ping::MAX_COUNT).contains(count));
    count.ok_or_else(|| format!("a number from 1 to {}", ping::MAX_COUNT))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|seconds| seconds.as_secs() < 1 << 30).ok_or_else(|| "a number of seconds, such as 0.2".to_owned())
}

impl Arguments {
    fn what(&self) -> Result<What, &'static str> {
        let Self { program, version, carry, size, .. } = *self;
        if program == echo::PROGRAM && version.is_none_or(|version| version == echo::VERSION) {
            let (carry, length) = (carry.unwrap_or(Carry::Inline), size.unwrap_or(SIZE));
            return Ok(What::Echo { carry, length });
        }
        if carry.is_some() || size.is_some() {
            return Err("--carry and --size are for --program echo: NULL has no data");
        }
        Ok(What::Null { program, version: version.unwrap_or(command_line::usual_version(program)) })
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(NAME, &error),
    };
    match run(&arguments) {
        Ok(summary) if summary.all_answered() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(LOST),
        Err(status) => ExitCode::from(status),
    }
}

fn run(arguments: &Arguments) -> Result<Summary, u8> {
    let unusable = |error: &dyn std::fmt::Display| {
        say(NAME, error);
        UNUSABLE
    };
    let what = arguments.what().map_err(|error| unusable(&error))?;
    let addresses = ping::addresses(&arguments.server)
        .map_err(|error| unusable(&format_args!("{}: no such host: {error}", arguments.server)))?;
    let show = match (arguments.json, arguments.quiet) {
        (true, _) => Show::Json,
        (false, true) => Show::Summary,
        (false, false) => Show::Lines,
    };
    let plan = Plan { what, count: arguments.count, interval: arguments.interval, show };
    let (client, to) = connect(arguments, &addresses)?;
    let stop = interrupted().map_err(|error| unusable(&format_args!("cannot handle signals: {error}")))?;
    let summary = ping::run(&client, to, &plan, &stop, &mut io::stdout().lock());
    let summary = summary.map_err(|error| match error.get_ref() {
        Some(inner) if inner.is::<TooLong>() => unusable(&error),
        _ if error.kind() == io::ErrorKind::BrokenPipe => LOST,
        _ => unusable(&format_args!("cannot write the output: {error}")),
    })?;
    if let Some(advice) = summary.advice {
        say(NAME, advice);
    }
    Ok(summary)
}

/// Returns a flag that Ctrl-C sets; then the summary is printed. Another Ctrl-C ends the program.
fn interrupted() -> io::Result<Arc<AtomicBool>> {
    const INTERRUPTED: i32 = 128 + SIGINT;
    let stop = Arc::new(AtomicBool::new(false));
    // In this order: at the first signal, there is nothing yet to end the program.
    flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&stop))?;
    flag::register(SIGINT, Arc::clone(&stop))?;
    Ok(stop)
}

/// Connects to the first address that accepts.
fn connect(arguments: &Arguments, addresses: &[SocketAddr]) -> Result<(Client<Device>, SocketAddr), u8> {
    let continued = if arguments.carry == Some(Carry::Continued) { u32::MAX } else { 0 };
    let builder = Settings::builder().requested_credits(1).versions(arguments.rpcrdma_version).continued(continued);
    let builder = builder.timeout(Some(arguments.timeout)).connect_timeout(arguments.timeout);
    let settings = builder.keep_alive(arguments.keep_alive.interval).build().map_err(|error| {
        say(NAME, error);
        UNUSABLE
    })?;
    let mut last = None;
    for &address in addresses {
        let spin = Duration::from_micros(u64::from(arguments.spin));
        let connected =
            Device::towards(address).and_then(|device| Client::connect(&device.with_spin(spin), address, &settings));
        match connected {
            Ok(client) => return Ok((client, address)),
            Err(error) => last = Some((address, error)),
        }
    }
    let Some((address, error)) = last else {
        say(NAME, format_args!("{}: no address", arguments.server));
        return Err(UNUSABLE);
    };
    explain(NAME, format_args!("no connection to {address}"), &error);
    Err(if error == Error::NoAdapter { UNUSABLE } else { LOST })
}
