//! The commands: each file has the arguments and the work of one.

mod annotate;
mod anonymize;
mod check;
mod compare;
mod connections;
mod decode;
mod diagnose;
mod embedded;
mod events;
mod explain;
mod export;
mod headed_lines;
mod header;
mod pasteable;
mod pending;
mod report;
mod schema;
mod separate;
mod slow;
mod stats;
mod table;
mod top;
mod trace;
mod transactions;
mod view;

use clap::builder::PossibleValuesParser;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{CommandFactory, Parser, Subcommand};

use self::annotate::AnnotateArguments;
use self::anonymize::AnonymizeArguments;
use self::check::CheckArguments;
use self::compare::CompareArguments;
use self::connections::ConnectionsArguments;
use self::decode::DecodeArguments;
use self::diagnose::DiagnoseArguments;
use self::events::EventsArguments;
use self::explain::ExplainArguments;
use self::export::ExportArguments;
use self::header::HeaderArguments;
use self::pending::PendingArguments;
use self::report::ReportArguments;
use self::schema::SchemaArguments;
use self::separate::SeparateArguments;
use self::slow::SlowArguments;
use self::stats::StatsArguments;
use self::top::TopArguments;
use self::trace::TraceArguments;
use self::transactions::TransactionsArguments;
use self::view::ViewArguments;
use super::arguments::Color;
use super::failure::Failure;
use super::{manual, output};

const EXAMPLES: &str = "\
Examples:
  rpcrdma nfs.pcap                             what is wrong, in a dozen lines
  rpcrdma decode nfs.pcap                      one line per message
  rpcrdma decode -v --xid 0x5a7a4583 nfs.pcap  the headers of one RPC, field by field
  tcpdump -i eth0 -w - udp port 4791 | rpcrdma decode -
                                               messages as they arrive
  rpcrdma transactions --json nfs.pcap*        one JSON object per RPC
  rpcrdma slow --top 3 nfs.pcap                the slowest RPCs, and where their time went
  rpcrdma explain --xid 0x5a7a4583 nfs.pcap    one RPC, packet by packet
  rpcrdma pending nfs.pcap                     calls without a reply, and who owes what
  rpcrdma events nfs.pcap                      what was retransmitted, and for which RPC
  rpcrdma connections nfs.pcap                 who ended a connection, and who rejects new ones
  rpcrdma top --by client nfs.pcap             who takes the time; or which operation, which file
  rpcrdma export nfs.pcap -o tcp.pcap          for Wireshark, as NFS over TCP
  rpcrdma annotate nfs.pcap -o out.pcapng      for Wireshark, with comments
  rpcrdma trace nfs.pcap -o trace.json         the RPCs on a time line
  rpcrdma report nfs.pcap -o report.html       all of it on one page, for a ticket
  rpcrdma view nfs.pcap -o nfs.html            a page to explore it
  rpcrdma stats nfs.pcap                       counts and latencies
  rpcrdma compare before.pcap after.pcap       what became worse
  rpcrdma check nfs.pcap                       who breaks which rule
  rpcrdma check --known linux nfs.pcap         the same, accepting what Linux is known for
  rpcrdma check --explain write-length         what a rule demands, and why
  rpcrdma header 5a7a4583 00000001 00000080 00000000 ...

Exit status:
  0    nothing is wrong
  1    the capture is damaged or incomplete, or holds no RPC-over-RDMA; nothing is selected, or
       nothing can be shown; check finds an error, or compare a regression. Standard error says
       which, except with --quiet
  2    wrong usage, or a file cannot be read or written: an output file keeps its earlier content
  130  ended by Ctrl-C or SIGTERM, after printing the results so far. An output file is written only
       if a stream was read: partial results of a file would look complete";

/// Options of all commands come after the command's own options.
const LAST: usize = 100;

const STYLES: Styles =
    Styles::styled().header(AnsiColor::Green.on_default().bold()).literal(AnsiColor::Cyan.on_default());

/// Decode and check packet captures of RPC-over-RDMA (RFC 8166), such as NFS over RDMA.
#[derive(Debug, Parser)]
#[command(name = "rpcrdma", version, after_help = EXAMPLES, styles = STYLES, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", display_order = LAST)]
    color: Color,
    /// Print only errors to standard error
    #[arg(long, short, global = true, display_order = LAST)]
    quiet: bool,
}

/// The commands that have a manual page.
const COMMANDS: &[&str] = &[
    "diagnose",
    "decode",
    "transactions",
    "slow",
    "explain",
    "pending",
    "events",
    "connections",
    "top",
    "export",
    "annotate",
    "anonymize",
    "trace",
    "report",
    "view",
    "stats",
    "compare",
    "check",
    "header",
    "schema",
    "completions",
    "man",
];

#[derive(Debug, Subcommand)]
enum Command {
    /// Say why RPCs are slow or hung, which side is to blame, and what the capture cannot show
    ///
    /// `rpcrdma FILE` without a command does the same.
    Diagnose(SeparateArguments<DiagnoseArguments>),
    /// Print the messages, one line each
    Decode(SeparateArguments<DecodeArguments>),
    /// Print the RPCs, one line each: call, reply, and the data that RDMA moved
    Transactions(SeparateArguments<TransactionsArguments>),
    /// Print the slowest RPCs, and where the time of each went
    Slow(SeparateArguments<SlowArguments>),
    /// Print everything about one RPC: the packets between client and server, and where the time went
    Explain(ExplainArguments),
    /// Print the calls without a reply, the oldest first, and who owes what
    Pending(SeparateArguments<PendingArguments>),
    /// Print retransmissions and other indications of packet loss, one line each
    Events(SeparateArguments<EventsArguments>),
    /// Print the connections and the requests for them: when, how they were answered, who ended them, and how
    Connections(SeparateArguments<ConnectionsArguments>),
    /// Count RPCs, bytes and latencies by client, operation, file and the like
    Top(SeparateArguments<TopArguments>),
    /// Write the RPCs to a capture file as RPC over TCP
    Export(ExportArguments),
    /// Write the frames to a pcapng file, with comments on their content and on broken rules
    Annotate(AnnotateArguments),
    /// Write a copy of the capture without names, addresses and data, to share
    Anonymize(AnonymizeArguments),
    /// Write the RPCs as trace events, for Perfetto and speedscope
    Trace(TraceArguments),
    /// Write a report on a capture: one HTML file, for a ticket
    Report(ReportArguments),
    /// Write the page that explores captures: one HTML file, with the captures inside
    View(ViewArguments),
    /// Count connections, messages, chunks, credits, retransmissions and latencies
    ///
    /// --since and --until limit the messages and RPCs that are counted, but not the packets of connections.
    Stats(SeparateArguments<StatsArguments>),
    /// Compare two captures: what fails, is retransmitted or is slower now, and which rules are broken now
    Compare(CompareArguments),
    /// Report which rules of RPC-over-RDMA the messages and RDMA operations break
    Check(SeparateArguments<CheckArguments>),
    /// Decode one Send from a hex dump, and report the errors in the message
    Header(HeaderArguments),
    /// Print the JSON Schema of the records that --json prints
    Schema(SchemaArguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program or of one command
    Man {
        /// The command
        #[arg(value_parser = PossibleValuesParser::new(COMMANDS.iter().copied()), hide_possible_values = true)]
        command: Option<String>,
    },
}

/// Does what the command line says, and returns the exit status.
pub(super) fn run(arguments: Arguments) -> Result<u8, Failure> {
    let Arguments { command, color, quiet } = arguments;
    match command {
        Command::Diagnose(command) => command.run(quiet, |command| diagnose::run(command, color, quiet)),
        Command::Decode(command) => command.run(quiet, |command| decode::run(command, color, quiet)),
        Command::Transactions(command) => command.run(quiet, |command| transactions::run(command, color, quiet)),
        Command::Slow(command) => command.run(quiet, |command| slow::run(command, color, quiet)),
        Command::Explain(command) => explain::run(&command, color, quiet),
        Command::Pending(command) => command.run(quiet, |command| pending::run(command, color, quiet)),
        Command::Events(command) => command.run(quiet, |command| events::run(command, color, quiet)),
        Command::Connections(command) => command.run(quiet, |command| connections::run(command, color, quiet)),
        Command::Top(command) => command.run(quiet, |command| top::run(command, color, quiet)),
        Command::Export(command) => export::run(&command, quiet),
        Command::Annotate(command) => annotate::run(&command, quiet),
        Command::Anonymize(command) => anonymize::run(&command, quiet),
        Command::Trace(command) => trace::run(&command, quiet),
        Command::Report(command) => report::run(&command, quiet),
        Command::View(command) => view::run(&command, quiet),
        Command::Stats(command) => command.run(quiet, |command| stats::run(command, color, quiet)),
        Command::Compare(command) => compare::run(&command, color, quiet),
        Command::Check(command) => command.run(quiet, |command| check::run(command, color, quiet)),
        Command::Header(command) => header::run(&command, color, quiet),
        Command::Schema(command) => schema::run(&command),
        Command::Completions { shell } => {
            let mut command = Arguments::command();
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut command, "rpcrdma", &mut out);
            output::write(&out)
        }
        Command::Man { command } => {
            let mut out = Vec::new();
            manual::write(Arguments::command(), command.as_deref(), &mut out)?;
            output::write(&out)
        }
    }
}
