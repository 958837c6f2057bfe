//! What may be said on the command line.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use rpcrdma_capture::check;

use super::moment::Moment;

const EXAMPLES: &str = "\
Examples:
  rpcrdma decode nfs.pcap                      every message, a line each
  rpcrdma decode -v --xid 0x5a7a4583 nfs.pcap  the headers of one RPC, field by field
  tcpdump -i eth0 -w - udp port 4791 | rpcrdma decode -
                                               messages as they arrive
  rpcrdma transactions --json nfs.pcap*        every RPC, for another program
  rpcrdma export nfs.pcap -o tcp.pcap          for a tool that knows NFS over TCP
  rpcrdma stats nfs.pcap                       what it holds, in numbers
  rpcrdma check nfs.pcap                       which rules its peers break
  rpcrdma check --known linux nfs.pcap         the same, but for what Linux is known for
  rpcrdma check --explain write-length         what a rule says, and why
  rpcrdma header 5a7a4583 00000001 00000080 00000000 ...

Exit status:
  0    nothing is wrong
  1    the input is damaged or incomplete, a filter selects nothing, or check finds an error
  2    the usage is wrong, or a file cannot be read
  130  ended by Ctrl-C or SIGTERM; what was found until then is shown";

const STYLES: Styles =
    Styles::styled().header(AnsiColor::Green.on_default().bold()).literal(AnsiColor::Cyan.on_default());

/// Shows what is in captures of RPC over RDMA (RFC 8166), NFS above all.
#[derive(Debug, Parser)]
#[command(name = "rpcrdma", version, after_help = EXAMPLES, styles = STYLES, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
    /// Colour the text
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(super) color: Color,
    /// Say nothing on standard error but errors
    #[arg(long, short, global = true)]
    pub(super) quiet: bool,
}

/// When text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands that have a manual page.
const COMMANDS: [&str; 8] = ["decode", "transactions", "export", "stats", "check", "header", "completions", "man"];

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Shows every RPC-over-RDMA message, a line each
    Decode(Decode),
    /// Shows every RPC, a line each: call, reply, and what was moved for it
    Transactions(Transactions),
    /// Writes the RPCs as RPC over TCP to a pcap file
    Export(Export),
    /// Shows connections, messages, chunks, credits, retransmissions and latencies in numbers
    ///
    /// With --since or --until the numbers are those of the frames between, as if the capture had begun and ended there.
    Stats(Stats),
    /// Judges messages and RDMA operations by the rules of RPC-over-RDMA, and shows what breaks them
    Check(Check),
    /// Shows one Send that is given as a hex dump, and what is wrong with it
    Header(Header),
    /// Writes what a shell needs to complete commands and options
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Writes the manual page of the program or of one command
    Man {
        /// The command
        #[arg(value_parser = PossibleValuesParser::new(COMMANDS), hide_possible_values = true)]
        command: Option<String>,
    },
}

/// What is read, and what of it is shown.
#[derive(Args, Debug)]
pub(super) struct Input {
    /// Captures (pcap, pcapng; gzip, zstd); - is standard input. Several are one capture, in the order of their first frames
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Only this connection; can be given several times
    #[arg(long, value_name = "N", value_parser = connection)]
    pub(super) connection: Vec<u32>,
    /// Only this rdma_xid (0x5a7a4583, or decimal); can be given several times
    #[arg(long, value_name = "X", value_parser = xid)]
    pub(super) xid: Vec<u32>,
    /// Nothing before this: seconds after the first frame (+12.5), a time of day (10:00, on the day of the first frame), a date
    /// and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). Without a zone it is UTC
    #[arg(long, value_name = "TIME")]
    pub(super) since: Option<Moment>,
    /// Nothing after this
    #[arg(long, value_name = "TIME")]
    pub(super) until: Option<Moment>,
    /// RPC-over-RDMA is spoken on this service port too; can be given several times
    #[arg(long, value_name = "P", value_parser = port)]
    pub(super) port: Vec<u16>,
    /// Check the ICRC and VCRC of every packet, count those that are wrong, and leave them out; also FPDUs of iWARP with a
    /// wrong CRC, which are always counted
    #[arg(long)]
    pub(super) verify_crc: bool,
    /// The wire format of version 2: a is that of drafts -00 to -02, b of -03 to -07. Without it each connection is read
    /// in the format of its first message that can be in one of them only
    #[arg(long, value_name = "FORMAT")]
    pub(super) v2_family: Option<Family>,
}

/// A wire format of version 2.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Family {
    A,
    B,
}

impl From<Family> for rpcrdma::v2::Family {
    fn from(family: Family) -> Self {
        match family {
            Family::A => Self::A,
            Family::B => Self::B,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct Decode {
    #[command(flatten)]
    pub(super) input: Input,
    /// Show the header of each message as a tree, with offsets
    #[arg(long, short, conflicts_with = "json")]
    pub(super) verbose: bool,
    /// A JSON object a line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Transactions {
    #[command(flatten)]
    pub(super) input: Input,
    /// A JSON object a line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Export {
    #[command(flatten)]
    pub(super) input: Input,
    /// The pcap file that is written; - is standard output
    #[arg(long, short, value_name = "OUT")]
    pub(super) output: PathBuf,
}

const STATS_HELP: &str = "\
What each end of a connection sent:
  packets          InfiniBand packets, or TCP segments of iWARP
  retransmitted    those that it had sent before
  early            those that came before one with a smaller number, and acknowledgements
                   that came before the packet they acknowledge
  sequence_errors  negative acknowledgements (NAK): it missed a packet
  not_ready        'receiver not ready' (RNR NAK): it had no Receive posted
  failed           operations that it refused for good
  missed           packets of it that the capture does not hold
  orphans          data packets whose operation began where the capture does not show it
An arrow → is the end that asked for the connection, ← the other.";

#[derive(Args, Debug)]
#[command(after_help = STATS_HELP)]
pub(super) struct Stats {
    #[command(flatten)]
    pub(super) input: Input,
    /// One JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Check {
    #[command(flatten)]
    pub(super) input: Input,
    /// Only this rule; can be given several times
    #[arg(long, value_name = "RULE", value_parser = RuleName, hide_possible_values = true)]
    pub(super) rule: Vec<&'static str>,
    /// Not this rule; can be given several times
    #[arg(long, value_name = "RULE", value_parser = RuleName, hide_possible_values = true)]
    pub(super) ignore: Vec<&'static str>,
    /// Do not count the deviations that an implementation is known for as errors, and do not show each; can be given several
    /// times
    #[arg(long, value_name = "WHOSE")]
    pub(super) known: Vec<Known>,
    /// Say what a rule demands, why it exists and what a correct peer does; read no file
    #[arg(long, value_name = "RULE", value_parser = RuleName, hide_possible_values = true, exclusive = true)]
    pub(super) explain: Option<&'static str>,
    /// List all rules; read no file
    #[arg(long, exclusive = true)]
    pub(super) list: bool,
    /// A JSON object a line: findings, then a summary
    #[arg(long)]
    pub(super) json: bool,
}

/// An implementation whose deviations are known.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Known {
    /// The NFS server of the Linux kernel
    Linux,
}

impl From<Known> for check::Implementation {
    fn from(known: Known) -> Self {
        match known {
            Known::Linux => Self::LinuxNfsd,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct Header {
    /// The dump: digits, octets, words, or what xxd, hexdump -C, od, tcpdump, tshark, gdb or the kernel print; - or
    /// nothing is standard input
    #[arg(value_name = "HEX", allow_hyphen_values = false)]
    pub(super) hex: Vec<String>,
    /// A JSON object with the fields of a message
    #[arg(long)]
    pub(super) json: bool,
    /// The wire format of version 2: a is that of drafts -00 to -02, b of -03 to -07
    #[arg(long, value_name = "FORMAT")]
    pub(super) v2_family: Option<Family>,
}

/// The name of a rule; shells complete it. The names are put together where one is read or completed, not at each start.
#[derive(Clone, Debug)]
struct RuleName;

impl RuleName {
    fn names() -> impl Iterator<Item = PossibleValue> {
        check::rules().map(|rule| PossibleValue::new(rule.slug).help(rule.summary))
    }
}

impl TypedValueParser for RuleName {
    type Value = &'static str;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let names = PossibleValuesParser::new(Self::names());
        let slug = names.try_map(|slug| check::find(&slug).map(|rule| rule.slug).ok_or("not a rule"));
        slug.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Self::names()))
    }
}

fn connection(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "not the number of a connection")
}

fn port(text: &str) -> Result<u16, &'static str> {
    text.parse().map_err(|_| "not a port, 0 to 65535")
}

fn xid(text: &str) -> Result<u32, &'static str> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "not a number of 32 bits: 0x5a7a4583, or decimal")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_description_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_manual_page() {
        let command = Arguments::command();
        let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, COMMANDS);
    }

    #[test]
    fn an_xid_is_hexadecimal_or_decimal() {
        assert_eq!(xid("0x5a7a4583"), Ok(0x5a7a_4583));
        assert_eq!(xid("1518028163"), Ok(0x5a7b_4583));
        assert!(xid("5a7a4583").is_err() && xid("0x100000000").is_err() && xid("").is_err());
    }
}
