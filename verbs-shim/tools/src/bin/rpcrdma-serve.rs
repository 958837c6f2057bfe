//! The program `rpcrdma-serve`: answers the echo program, and NULL of others, over RDMA.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;

use rpcrdma_tools::command_line::{self, KeepAlive, STYLES, UNUSABLE, explain, say, usage};
use rpcrdma_tools::delay::Delayed;
use rpcrdma_tools::echo;
use rpcrdma_tools::misbehave::{Misbehaviour, Responder};
use rpcrdma_tools::nfs::{self, Folder};
use rpcrdma_tools::probe::{OutputFormat, ProbeError};
use rpcrdma_verbs::rdma::{Device, raise_descriptor_limit};
use rpcrdma_verbs::{Connection, EndReason, Error, Request, Server, Service, Settings, Versions};

const NAME: &str = "rpcrdma-serve";

const EXAMPLES: &str = "\
Examples:
  rpcrdma-serve 0.0.0.0:20049                  the echo program, and NULL of NFSv3 and NFSv4
  rpcrdma-serve 192.0.2.1:20049 --program 100005 --version 3 --program 400100 --version 1
                                               the echo program, and NULL of these two
  rpcrdma-ping --program echo --carry write --size 65537 192.0.2.1
                                               calls it
  rpcrdma-serve 0.0.0.0:20049 --nfs            a folder in memory too
  mount -t nfs -o rdma,port=20049,vers=4.1 192.0.2.1:/ /mnt
                                               mounts it
  rpcrdma-probe --file file --link link --scratch scratch --delegate delegated 192.0.2.1
                                               judges its data and its callbacks
  rpcrdma-serve 0.0.0.0:20049 --delay 50ms     answers each call 50 ms later
  rpcrdma-serve 0.0.0.0:20049 --misbehave all  judges clients: one bad reply of each kind

Each delay is of known length, to check what measures calls. Each call waits for itself: calls
that come at the same time do not add up, and connections do not wait for each other.

With --misbehave, it also answers enough of NFSv3 to be mounted, speaks version 1 only, and ends
when each defect has been used. A client should make one call at a time. A bad reply can crash a
client: use one that nobody depends on.

It serves until it is killed, or its adapter is removed. Exit status: 2 if it cannot serve; with
--misbehave, 0 if the clients broke no rule, 1 if one did.";

/// Answer RPC-over-RDMA (RFC 8166, or version 2) calls: the echo program, in each way that data can travel, and NULL of other
/// programs.
#[derive(Debug, Parser)]
#[command(name = NAME, version, after_help = EXAMPLES, styles = STYLES, max_term_width = 100)]
#[command(disable_version_flag = true)]
struct Arguments {
    #[arg(
        value_name = "ADDRESS:PORT",
        help = "Where to listen; 0.0.0.0 and [::] mean all addresses of the first RDMA adapter"
    )]
    address: SocketAddr,
    /// Answer NULL of this program: nfs, mount, nfsacl or a number; may be repeated, each with its --version [default:
    /// NFSv3 and NFSv4]
    #[arg(long, value_name = "PROGRAM", value_parser = command_line::program)]
    program: Vec<u32>,
    /// Version of the program
    #[arg(long, value_name = "N")]
    version: Vec<u32>,
    /// Serve a folder in memory, with the files `file` and `scratch` and the symbolic link `link`. Linux mounts the
    /// folder over NFSv3 and NFSv4.1, lists the entries and reads the files. NFSv4.0 is there for rpcrdma-probe only,
    /// and NFSv4.2 not at all: mounts of these are refused. Clients of NFSv4.1 can create up to 64 empty files, and are
    /// called back when a delegated file is removed
    #[arg(long, conflicts_with = "misbehave")]
    nfs: bool,
    /// Version of RPC-over-RDMA to accept: 1; 2a or 2b for version 2 in the format of drafts -00 to -02 or -03 to -07; auto
    /// for whatever the client begins with
    #[arg(long, default_value = "auto", value_name = "VERSION", value_parser = command_line::versions)]
    rpcrdma_version: Versions,
    /// End a connection that has not called for this many seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    idle: u32,
    #[command(flatten)]
    keep_alive: KeepAlive,
    /// Maximum number of connections; more are rejected. Each needs four descriptors: the soft limit (ulimit -n) is raised
    /// as far as the hard limit allows
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Credits of a client: the maximum number of calls in flight
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    credits: u32,
    /// Let all connections share this many receive buffers, instead of one for each credit: less memory for each idle connection. As
    /// many calls can come at once; more wait. Callbacks then have to fit inline. Not with iWARP
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    shared_receives: u32,
    /// Busy-poll this long before sleeping: lower latency, but more processor time
    #[arg(long, default_value_t = 20, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u32).range(..=10_000_000))]
    spin: u32,
    /// Carry out each call this much later, such as 50ms: from the end of the call, including RDMA Reads
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = command_line::duration)]
    delay: Duration,
    /// Post each RDMA Read of a call this much later: the first from when the call has come, the others each from the
    /// one before
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = command_line::duration)]
    delay_read: Duration,
    /// Post the RDMA Writes of a reply this much later, followed by the reply
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = command_line::duration)]
    delay_write: Duration,
    /// Put one of these defects into each suitable reply, and report the reaction of the client: names with commas
    /// between them, or all; see CONFORMANCE.md
    #[arg(long, value_name = "DEFECT,...", value_parser = Misbehaviour::from_names,
          conflicts_with_all = ["program", "version", "rpcrdma_version", "keep_alive", "connections", "credits", "shared_receives", "delay", "delay_read", "delay_write", "quiet"])]
    misbehave: Option<Misbehaviour>,
    /// With --misbehave: a client that does nothing for this long after a bad reply has ignored the reply
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = command_line::duration, requires = "misbehave")]
    silence: Duration,
    /// With --misbehave: end after this long, even if no call came that a defect fits
    #[arg(long, default_value = "600s", value_name = "TIME", value_parser = command_line::duration, requires = "misbehave")]
    time: Duration,
    /// With --misbehave: print one JSON object per line
    #[arg(long, conflicts_with = "tsv", requires = "misbehave")]
    json: bool,
    /// With --misbehave: print one line per defect, separated by tabs: verdict, defect, rule, expected, observed, section
    #[arg(long, requires = "misbehave")]
    tsv: bool,
    /// Do not report connections
    #[arg(short, long)]
    quiet: bool,
    /// Print the version
    #[arg(short = 'V', action = clap::ArgAction::Version)]
    print_version: Option<bool>,
}

/// The programs that are served by default.
const USUAL: [(u32, u32); 2] = [(100_003, 3), (100_003, 4)];

struct Serve {
    programs: Delayed<Device>,
    /// Address, adapter and programs, as a line.
    listening: String,
    quiet: bool,
}

impl Serve {
    fn say(&self, peer: SocketAddr, what: impl Display) {
        if !self.quiet {
            // If nobody reads this, the callers still need their answers.
            let _written = writeln!(io::stdout(), "{peer} {what}");
        }
    }
}

impl Service<Device> for Serve {
    fn call(&self, request: Request<Device>) {
        self.programs.call(request);
    }

    fn listening(&self) {
        let _written = writeln!(io::stdout(), "{}", self.listening);
    }

    fn connected(&self, connection: &Connection<Device>) {
        self.say(connection.peer(), "has connected");
    }

    fn agreed(&self, connection: &Connection<Device>) {
        let terms = connection.terms();
        // The terms of this end's own calls are the other way round.
        let (call, reply, version) = (terms.reply_threshold, terms.call_threshold, terms.version);
        self.say(
            connection.peer(),
            format_args!("speaks RPC-over-RDMA version {version}, inline up to {call} octets, {reply} back"),
        );
    }

    fn ended(&self, peer: SocketAddr, why: &EndReason) {
        self.say(peer, format_args!("is gone: {why}"));
    }

    fn failed(&self, peer: SocketAddr, why: &Error) {
        let advice = why.advice().map(|advice| format!("; {advice}")).unwrap_or_default();
        self.say(peer, format_args!("could not connect: {why}{advice}"));
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(NAME, &error),
    };
    if let Some(what) = &arguments.misbehave {
        return misbehave(&arguments, what);
    }
    let Arguments { program, version, .. } = &arguments;
    if program.len() != version.len() {
        say(NAME, "each --program needs its --version");
        return ExitCode::from(UNUSABLE);
    }
    let pairs: Vec<(u32, u32)> = program.iter().copied().zip(version.iter().copied()).collect();
    let others = if pairs.is_empty() { USUAL.to_vec() } else { pairs };
    let calls = if arguments.nfs { nfs::CALLS } else { 0 };
    let builder = Settings::server().to_builder().versions(arguments.rpcrdma_version).requested_credits(calls);
    let builder = builder.granted_credits(arguments.credits).shared_receives(arguments.shared_receives);
    let builder = builder.keep_alive(arguments.keep_alive.interval);
    let settings = match builder.delay_reads(arguments.delay_read).delay_writes(arguments.delay_write).build() {
        Ok(settings) => settings,
        Err(error) => {
            say(NAME, error);
            return ExitCode::from(UNUSABLE);
        }
    };
    if let Err(error) = serve(&arguments, settings, &others) {
        explain(NAME, format_args!("cannot serve at {}", arguments.address), &error);
    }
    ExitCode::from(UNUSABLE)
}

/// Serves. Returns only if that is impossible.
fn serve(arguments: &Arguments, settings: Settings, others: &[(u32, u32)]) -> Result<(), Error> {
    let (address, device) = (arguments.address, device(arguments.address)?);
    let device = device.with_spin(Duration::from_micros(u64::from(arguments.spin)));
    let idle = Duration::from_secs(u64::from(arguments.idle));
    let connections = usize::try_from(arguments.connections).unwrap_or(usize::MAX);
    let possible = raise_descriptor_limit(connections)?;
    if possible < connections {
        say(NAME, format_args!("the hard limit of descriptors is enough for {possible} connections (ulimit -Hn)"));
    }
    let server = Server::bind(&device, address, settings)?.with_idle_limit(idle).with_connections(connections);
    let null: Vec<String> = others.iter().map(|(program, version)| format!("{program} version {version}")).collect();
    let (name, null) = (device.name(), null.join(", "));
    let (program, version) = (echo::PROGRAM, echo::VERSION);
    let folder = if arguments.nfs { "; a folder over NFSv3, NFSv4.0 and NFSv4.1" } else { "" };
    let listening = format!(
        "listening at {address} of {name}: echo program {program:#x} version {version}; NULL of {null}{folder}"
    );
    let programs = others.iter().fold(echo::programs(), |all, other| all.with_program(other.0, other.1));
    let programs = if arguments.nfs { Arc::new(Folder::default()).serve(programs) } else { programs };
    server.serve(&Serve { programs: Delayed::new(programs, arguments.delay), listening, quiet: arguments.quiet })
}

/// The adapter with this address.
fn device(address: SocketAddr) -> Result<Device, Error> {
    if address.ip().is_unspecified() { Device::first() } else { Device::with_address(address.ip()) }
}

/// Judges clients by their reactions to bad replies.
fn misbehave(arguments: &Arguments, what: &Misbehaviour) -> ExitCode {
    let Arguments { address, silence, time, .. } = *arguments;
    let mut what = what.clone();
    (what.silence, what.time, what.form) = (silence, time, OutputFormat::from_options(arguments.json, arguments.tsv));
    let judged = device(address)
        .map_err(ProbeError::from)
        .and_then(|device| Responder::listen(&device, address)?.run(&what, &mut io::stdout().lock()));
    match judged {
        Ok(totals) => ExitCode::from(u8::from(totals.violates > 0)),
        Err(ProbeError::Verbs(error)) => {
            explain(NAME, format_args!("cannot serve at {address}"), &error);
            ExitCode::from(UNUSABLE)
        }
        Err(error) => {
            say(NAME, error);
            ExitCode::from(UNUSABLE)
        }
    }
}
