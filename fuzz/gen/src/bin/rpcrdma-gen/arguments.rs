//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use rpcrdma_gen::{Format, Role};

const EXAMPLES: &str = "\
Examples:
  rpcrdma-gen -o calls                         every named Call of version 1, a file each, with a record in JSON
  rpcrdma-gen --role reply --version 2b -o replies
                                               every named Reply of drafts -03 to -07 of version 2
  rpcrdma-gen --count 1000 --seed 7 -o calls   1000 random Calls: the same on every machine
  rpcrdma-gen --from nfs.pcap -o calls         the Calls of a capture, with every defect
  rpcrdma-gen --format header -o calls.h       one C header, for a test that is compiled in
  rpcrdma-gen --format capture -o calls.pcap   a RoCEv2 capture, with a connection around each

jq -r .rule calls/*.json | sort | uniq -c counts them by the rule they break.

Exit status: 0 if all was written; 2 if not, or for wrong usage.";

/// Write test messages of RPC-over-RDMA, valid and broken: for each, the broken rules, the place of the defect, and the
/// reactions due from a responder and a requester.
#[derive(Debug, Parser)]
#[command(name = "rpcrdma-gen", after_help = EXAMPLES, max_term_width = 100, disable_version_flag = true)]
pub(crate) struct Arguments {
    /// Write this many random messages, of which about a third is valid, instead of all that have a name
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u32>,
    /// Seed of the random choices
    #[arg(long, value_name = "S", default_value_t = 0, requires = "count")]
    pub(crate) seed: u64,
    /// call for messages to a responder, reply for messages to a requester
    #[arg(long, default_value = "call", value_parser = role)]
    pub(crate) role: RoleArgument,
    /// Version and wire format: 1; 2a for version 2 as in drafts -00 to -02, 2b as in -03 to -07
    #[arg(long, default_value = "1", value_parser = version)]
    pub(crate) version: VersionArgument,
    /// Put the defects into the valid messages of this capture, one of each shape. Such messages are valid by the rules
    /// of this project
    #[arg(long, value_name = "CAPTURE")]
    pub(crate) from: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Output::Files)]
    pub(crate) format: Output,
    /// The directory or the file
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: PathBuf,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// A directory: for each message a file of octets and a record in JSON
    Files,
    /// A directory of octets alone, each message once
    Corpus,
    /// A C header
    Header,
    /// A Rust module
    Module,
    /// A RoCEv2 capture. Queue pairs and times differ each time, the messages do not
    Capture,
    /// The same over iWARP. The file is the same each time
    Iwarp,
}

/// A role by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoleArgument(pub(crate) Role);

fn role(name: &str) -> Result<RoleArgument, String> {
    let role = Role::ALL.into_iter().find(|role| role.name() == name);
    role.map(RoleArgument).ok_or_else(|| "it is call or reply".to_owned())
}

/// A format by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VersionArgument(pub(crate) Format);

fn version(name: &str) -> Result<VersionArgument, String> {
    let format = Format::ALL.into_iter().find(|format| format.name() == name);
    format.map(VersionArgument).ok_or_else(|| "it is 1, 2a or 2b".to_owned())
}
