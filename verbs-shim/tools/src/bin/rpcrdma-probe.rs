//! The program `rpcrdma-probe`: judges a server of RPC over RDMA by the answers to good and bad messages.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, io};

use clap::Parser;

use rpcrdma_tools::command_line::{self, STYLES, UNUSABLE, explain, say, usage};
use rpcrdma_tools::ping;
use rpcrdma_tools::probe::{self, Bounds, OutputFormat, ProbeError, Recipe, Suite};
use rpcrdma_verbs::rdma::Device;
use rpcrdma_verbs::{Version, Versions};

const NAME: &str = "rpcrdma-probe";
/// The server breaks a rule.
const VIOLATES: u8 = 1;

const EXAMPLES: &str = "\
Examples:
  rpcrdma-probe nfs.example                    all cases of version 1 on NULL of NFSv4, at port 20049
  rpcrdma-probe --json 192.0.2.1               one JSON object per case, and a summary
  rpcrdma-probe --rule nomsg-empty 192.0.2.1   the cases of one rule
  rpcrdma-probe --case short-12,msgp 192.0.2.1
                                               these two cases
  rpcrdma-probe --program echo --rpcrdma-version 2b 192.0.2.1
                                               version 2 of rpcrdma-serve
  rpcrdma-probe --fuzz --seed 7 --count 5000 192.0.2.1
                                               random messages; a fatal one is saved as fatal-SEED.json
  rpcrdma-probe --replay fatal-4711.json 192.0.2.1
                                               sends it again
  rpcrdma-probe --file hosts --link to-hosts nfs.example
                                               also READ and READLINK of these, in the NFSv4 root

It connects to no host but this one. It can crash a server: do not probe one that others depend on.

Exit status: 0 if the server broke no rule, or survived the random messages; 1 if it did not;
2 for wrong usage, or if the server could not be probed.";

/// Send valid and malformed messages to an RPC-over-RDMA server, and judge the answers
#[derive(Debug, Parser)]
#[command(name = NAME, version, after_help = EXAMPLES, styles = STYLES, max_term_width = 100)]
#[command(disable_version_flag = true)]
struct Arguments {
    #[arg(
        value_name = "HOST[:PORT]",
        help = "Name or address, with or without a port: nfs.example, [2001:db8::1]:20049"
    )]
    server: String,
    /// Program whose NULL procedure to call: nfs, mount, nfsacl, echo or a number
    #[arg(long, default_value = "nfs", value_name = "PROGRAM", value_parser = command_line::program)]
    program: u32,
    /// Version of the program [default: 4 for nfs, 3 for mount and nfsacl, 1 for others]
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Version of RPC-over-RDMA: 1; 2a or 2b for version 2 in the format of drafts -00 to -02 or -03 to -07
    #[arg(long, default_value = "1", value_name = "VERSION", value_parser = one_version)]
    rpcrdma_version: Version,
    /// Run only these cases, with commas between them: names such as short-12, from CONFORMANCE.md
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    case: Vec<String>,
    /// Run only the cases of these rules, with commas between them: names such as header-short
    #[arg(long, value_name = "RULE,...", value_delimiter = ',')]
    rule: Vec<String>,
    /// A file in the root of the NFSv4 server, 60 octets or longer: READ it in several ways
    #[arg(long, value_name = "NAME")]
    file: Option<String>,
    /// A symbolic link in the root of the NFSv4 server: READLINK it in several ways
    #[arg(long, value_name = "NAME")]
    link: Option<String>,
    /// A file in the root of the NFSv4 server that may be overwritten: WRITE to it in several ways
    #[arg(long, value_name = "NAME")]
    scratch: Option<String>,
    /// Create files in the root of the NFSv4.1 server whose names begin like this, have the server recall the
    /// delegations, and remove the files: judge the server's calls in the reverse direction (RFC 8167)
    #[arg(long, value_name = "NAME")]
    delegate: Option<String>,
    /// Time after which a missing answer counts as silence
    #[arg(long, default_value = "500ms", value_name = "TIME", value_parser = command_line::duration)]
    silence: Duration,
    /// Give up on connecting, or on a NULL call, after this long
    #[arg(short = 'W', long, default_value = "10s", value_name = "TIME", value_parser = command_line::duration)]
    timeout: Duration,
    /// Send random messages, and check after each that the server still answers
    #[arg(long, conflicts_with_all = ["case", "rule", "file", "link", "scratch", "delegate", "tsv", "replay"])]
    fuzz: bool,
    /// Seed of the first random message; the next message has the next number
    #[arg(long, default_value_t = 0, value_name = "NUMBER", requires = "fuzz")]
    seed: u64,
    /// Number of random messages
    #[arg(long, default_value_t = 1000, value_name = "N", requires = "fuzz")]
    count: u32,
    /// Pause between two random messages
    #[arg(long, default_value = "10ms", value_name = "TIME", value_parser = command_line::duration, requires = "fuzz")]
    pause: Duration,
    /// End after this long, even if not all random messages were sent
    #[arg(long, default_value = "600s", value_name = "TIME", value_parser = command_line::duration, requires = "fuzz")]
    time: Duration,
    /// Send the message in this file, saved by --fuzz
    #[arg(long, value_name = "FILE", conflicts_with_all = ["case", "rule", "file", "link", "scratch", "delegate", "tsv"])]
    replay: Option<PathBuf>,
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "tsv")]
    json: bool,
    /// Print one line per case, separated by tabs: verdict, case, rule, expected, observed, section
    #[arg(long)]
    tsv: bool,
    /// Print the version
    #[arg(short = 'V', action = clap::ArgAction::Version)]
    print_version: Option<bool>,
}

fn one_version(text: &str) -> Result<Version, &'static str> {
    match command_line::versions(text) {
        Ok(Versions::ONE) => Ok(Version::One),
        Ok(Versions::TWO_A) => Ok(Version::Two(rpcrdma::v2::Family::A)),
        Ok(Versions::TWO_B) => Ok(Version::Two(rpcrdma::v2::Family::B)),
        _ => Err("1, 2a or 2b"),
    }
}

impl Arguments {
    fn suite(&self) -> Suite {
        let program_version = command_line::usual_version(self.program);
        Suite {
            program: self.program,
            program_version: self.version.unwrap_or(program_version),
            version: self.rpcrdma_version,
            patience: self.timeout,
            silence: self.silence,
            cases: self.case.clone(),
            rules: self.rule.clone(),
            form: OutputFormat::from_options(self.json, self.tsv),
            file: self.file.clone(),
            link: self.link.clone(),
            scratch: self.scratch.clone(),
            delegate: self.delegate.clone(),
        }
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(NAME, &error),
    };
    run(&arguments).map_or(ExitCode::from(UNUSABLE), |fault| match fault {
        Fault::None => ExitCode::SUCCESS,
        Fault::Found => ExitCode::from(VIOLATES),
    })
}

/// Result of the examination.
enum Fault {
    None,
    Found,
}

impl Fault {
    const fn found_if(found: bool) -> Self {
        if found { Self::Found } else { Self::None }
    }
}

/// Probes the first of the addresses. Reports why if it cannot.
fn run(arguments: &Arguments) -> Result<Fault, ()> {
    let addresses = ping::addresses(&arguments.server)
        .map_err(|error| say(NAME, format_args!("{}: no such host: {error}", arguments.server)))?;
    let Some(&address) = addresses.first() else {
        say(NAME, format_args!("{}: no address", arguments.server));
        return Err(());
    };
    probed(arguments, address).map_err(|error| match error {
        ProbeError::Verbs(error) => explain(NAME, format_args!("cannot probe {address}"), &error),
        error => say(NAME, format_args!("{address}: {error}")),
    })
}

fn probed(arguments: &Arguments, address: SocketAddr) -> Result<Fault, ProbeError> {
    let (suite, out) = (arguments.suite(), &mut io::stdout().lock());
    let recipe = arguments.replay.as_deref().map(saved).transpose()?;
    let device = Device::towards(address)?;
    let fuzzed = match recipe {
        Some(recipe) => probe::replay(&device, address, &suite, &recipe)?,
        None if arguments.fuzz => {
            let Arguments { seed, count, pause, time, .. } = *arguments;
            probe::fuzz(&device, address, &suite, &Bounds { seed, count, pause, time })?
        }
        None => return Ok(Fault::found_if(probe::run(&device, address, &suite, out)?.violates > 0)),
    };
    fuzzed.write(suite.form, address, out)?;
    if let (Some(fatal), None) = (&fuzzed.fatal, &arguments.replay) {
        let name = format!("fatal-{}.json", fatal.seed);
        fs::write(&name, serde_json::to_string(fatal).map_err(io::Error::from)?)?;
        say(NAME, format_args!("the message is in {name}: see --replay"));
    }
    Ok(Fault::found_if(fuzzed.fatal.is_some()))
}

/// The message in a file.
fn saved(path: &Path) -> Result<Recipe, ProbeError> {
    serde_json::from_slice(&fs::read(path)?).map_err(|error| ProbeError::Recipe(error.to_string()))
}
