//! What may be said on the command line.

use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::moment::Moment;
use crate::check;
use crate::link::Address;

const EXAMPLES: &str = "\
Examples:
  rpcrdma decode nfs.pcap                      one line per message
  rpcrdma decode -v --xid 0x5a7a4583 nfs.pcap  the headers of one RPC, field by field
  tcpdump -i eth0 -w - udp port 4791 | rpcrdma decode -
                                               messages as they arrive
  rpcrdma transactions --json nfs.pcap*        one JSON object per RPC
  rpcrdma slow --top 3 nfs.pcap                the slowest RPCs, and where their time went
  rpcrdma pending nfs.pcap                     calls without a reply, and who owes what
  rpcrdma export nfs.pcap -o tcp.pcap          for Wireshark, as NFS over TCP
  rpcrdma stats nfs.pcap                       counts and latencies
  rpcrdma check nfs.pcap                       who breaks which rule
  rpcrdma check --known linux nfs.pcap         the same, accepting what Linux is known for
  rpcrdma check --explain write-length         what a rule demands, and why
  rpcrdma header 5a7a4583 00000001 00000080 00000000 ...

Exit status:
  0    nothing is wrong
  1    the input is damaged or incomplete, nothing is selected, or check finds an error
  2    wrong usage, or a file cannot be read
  130  ended by Ctrl-C or SIGTERM, after printing the results so far";

const STYLES: Styles =
    Styles::styled().header(AnsiColor::Green.on_default().bold()).literal(AnsiColor::Cyan.on_default());

/// Decode and check packet captures of RPC-over-RDMA (RFC 8166), such as NFS over RDMA.
#[derive(Debug, Parser)]
#[command(name = "rpcrdma", version, after_help = EXAMPLES, styles = STYLES, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(super) color: Color,
    /// Print nothing but errors on standard error
    #[arg(long, short, global = true)]
    pub(super) quiet: bool,
}

/// When text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// If the output is a terminal and NO_COLOR is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands that have a manual page.
const COMMANDS: [&str; 10] =
    ["decode", "transactions", "slow", "pending", "export", "stats", "check", "header", "completions", "man"];

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the messages, one line each
    Decode(Decode),
    /// Print the RPCs, one line each: call, reply, and the data that RDMA moved
    Transactions(Transactions),
    /// Print the slowest RPCs, and where their time went
    Slow(SlowArguments),
    /// Print the calls without a reply, the oldest first, and who owes what
    Pending(PendingArguments),
    /// Write the RPCs to a pcap file as RPC over TCP
    Export(Export),
    /// Count connections, messages, chunks, credits, retransmissions and latencies
    ///
    /// With --since or --until, only the frames in that time are counted, as if the capture started and ended there.
    Stats(StatsArguments),
    /// Report which rules of RPC-over-RDMA the messages and RDMA operations break
    Check(Check),
    /// Decode one Send from a hex dump, and report what is wrong with it
    Header(HeaderArguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program or of one command
    Man {
        /// The command
        #[arg(value_parser = PossibleValuesParser::new(COMMANDS), hide_possible_values = true)]
        command: Option<String>,
    },
}

/// What is read, and what of it is shown.
#[derive(Args, Debug)]
pub(super) struct InputArguments {
    /// Capture files (pcap or pcapng, plain, gzip or Zstandard); - is standard input. Several files are read as one
    /// capture, in the order of their first frames
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Show only this connection; may be repeated
    #[arg(long, value_name = "N", value_parser = connection)]
    pub(super) connection: Vec<u32>,
    /// Show only this rdma_xid (0x5a7a4583, or decimal); may be repeated
    #[arg(long, value_name = "X", value_parser = xid)]
    pub(super) xid: Vec<u32>,
    /// Show nothing before this time: seconds after the first frame (+12.5), a time of day on the day of the first
    /// frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it
    /// has a zone
    #[arg(long, value_name = "TIME")]
    pub(super) since: Option<Moment>,
    /// Show nothing after this time
    #[arg(long, value_name = "TIME")]
    pub(super) until: Option<Moment>,
    /// Also treat this port as RPC-over-RDMA, besides 20049; may be repeated
    #[arg(long, value_name = "P", value_parser = port)]
    pub(super) port: Vec<u16>,
    /// Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a
    /// wrong CRC are counted even without this)
    #[arg(long)]
    pub(super) verify_crc: bool,
    /// Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be
    /// in only one of them decides for its connection
    #[arg(long, value_name = "FORMAT")]
    pub(super) v2_family: Option<Family>,
}

/// Which messages are shown.
#[derive(Args, Debug)]
pub(super) struct MessageArguments {
    /// Show only what has this address as its client: the end that calls, except for callbacks. If the capture does not
    /// show which end that is, either may have it. May be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(super) client: Vec<Address>,
    /// Show only what has this address as its server; may be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(super) server: Vec<Address>,
    /// Show only this procedure, or COMPOUNDs with this operation (READ); may be repeated. A message that does not show
    /// what was called is left out
    #[arg(long, value_name = "NAME")]
    pub(super) op: Vec<String>,
    /// Show only what ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or
    /// RPC-over-RDMA (ERR_CHUNK), or SUCCESS; may be repeated
    #[arg(long, value_name = "STATUS")]
    pub(super) status: Vec<String>,
}

/// Which RPCs are shown.
#[derive(Args, Debug)]
pub(super) struct RpcArguments {
    #[command(flatten)]
    pub(super) messages: MessageArguments,
    /// Show only RPCs that took this time or longer (50ms; also ns, us and s)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) slower_than: Option<u64>,
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
    pub(super) input: InputArguments,
    #[command(flatten)]
    pub(super) messages: MessageArguments,
    /// Print each field of the header with its offset
    #[arg(long, short, conflicts_with = "json")]
    pub(super) verbose: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Transactions {
    #[command(flatten)]
    pub(super) input: InputArguments,
    #[command(flatten)]
    pub(super) rpcs: RpcArguments,
    /// Print one JSON object per line
    #[arg(long)]
    pub(super) json: bool,
}

const SLOW_HELP: &str = "\
The phases of an RPC, as seen where the packets were captured. They add up to its latency:
  call       the call's Send, from its first packet to its last
  responder  no packet of the RPC, and the next was due from the responder
  pull       RDMA Reads: data was on its way to the responder
  push       RDMA Writes, from the first to the last
  reply      the reply's Send, from its first packet to its last
  requester  the same, due from the requester: the reply is in Read chunks that it has to read
A packet that is sent again after it was captured ends no phase: the time that it takes to send a
call again counts as responder, not as call. Packets that were lost before they were captured, or
waited behind packets of other RPCs, make the phase before them longer.
Calls without a reply are left out.";

#[derive(Args, Debug)]
#[command(after_help = SLOW_HELP)]
pub(super) struct SlowArguments {
    #[command(flatten)]
    pub(super) input: InputArguments,
    #[command(flatten)]
    pub(super) rpcs: RpcArguments,
    /// Print so many RPCs at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) top: u32,
    /// Print one JSON object per line, as 'transactions --json' does
    #[arg(long)]
    pub(super) json: bool,
}

const PENDING_HELP: &str = "\
What is owed:
  the reply            by the responder. If it did nothing for the call, it may not have received it
  RDMA Read responses  by the requester: the responder asked for data that did not come
It is not known who owes what if packets may be missing from the capture, or what was moved may
be for another call. The age is that at the last frame of the capture. Calls that wait do not make
the exit status 1.";

#[derive(Args, Debug)]
#[command(after_help = PENDING_HELP)]
pub(super) struct PendingArguments {
    #[command(flatten)]
    pub(super) input: InputArguments,
    #[command(flatten)]
    pub(super) messages: MessageArguments,
    /// Print one JSON object per line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Export {
    #[command(flatten)]
    pub(super) input: InputArguments,
    #[command(flatten)]
    pub(super) rpcs: RpcArguments,
    /// The pcap file to write; - is standard output
    #[arg(long, short, value_name = "OUT")]
    pub(super) output: PathBuf,
}

const STATS_HELP: &str = "\
What each end of a connection sent:
  packets          InfiniBand packets, or TCP segments for iWARP
  retransmitted    packets that it had sent before
  early            packets captured before one with a lower number, and acknowledgements
                   captured before the packet that they acknowledge
  sequence_errors  negative acknowledgements (NAK): it missed a packet
  not_ready        'receiver not ready' (RNR NAK): it had no Receive posted
  failed           operations that it refused for good
  missed           packets that it sent and the capture does not hold
  orphans          data packets of operations whose beginning the capture does not hold
The arrow → marks the end that requested the connection, ← the other.";

#[derive(Args, Debug)]
#[command(after_help = STATS_HELP)]
pub(super) struct StatsArguments {
    #[command(flatten)]
    pub(super) input: InputArguments,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Check {
    #[command(flatten)]
    pub(super) input: InputArguments,
    /// Report only this rule; may be repeated
    #[arg(long, value_name = "RULE", value_parser = RuleName, hide_possible_values = true)]
    pub(super) rule: Vec<&'static str>,
    /// Do not report this rule; may be repeated
    #[arg(long, value_name = "RULE", value_parser = RuleName, hide_possible_values = true)]
    pub(super) ignore: Vec<&'static str>,
    /// Accept the deviations that this implementation is known for: count them in the summary, but do not list them,
    /// nor exit with 1 for them; may be repeated
    #[arg(long, value_name = "WHOSE")]
    pub(super) known: Vec<KnownSet>,
    /// Explain what a rule demands, why, and what a correct peer does; reads no file
    #[arg(long, value_name = "RULE", value_parser = RuleName, hide_possible_values = true, exclusive = true)]
    pub(super) explain: Option<&'static str>,
    /// List all rules; reads no file
    #[arg(long, exclusive = true)]
    pub(super) list: bool,
    /// Print one JSON object per line: findings, then a summary
    #[arg(long)]
    pub(super) json: bool,
}

/// An implementation whose deviations are known.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum KnownSet {
    /// The NFS server of the Linux kernel
    Linux,
}

impl From<KnownSet> for check::Implementation {
    fn from(known: KnownSet) -> Self {
        match known {
            KnownSet::Linux => Self::LinuxNfsd,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct HeaderArguments {
    /// The dump: digits, octets, words, or the output of xxd, hexdump -C, od, tcpdump, tshark, gdb or the kernel.
    /// Without it, or with -, read standard input
    #[arg(value_name = "HEX", allow_hyphen_values = false)]
    pub(super) hex: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Wire format of version 2: a for drafts -00 to -02, b for -03 to -07
    #[arg(long, value_name = "FORMAT")]
    pub(super) v2_family: Option<Family>,
}

/// The name of a rule; shells complete it. The names are put together where one is read or completed, not at each
/// start.
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

/// An IPv4 address, an IPv6 address or GID, or a LID.
fn address(text: &str) -> Result<Address, &'static str> {
    let lid = text.strip_prefix("LID ").and_then(|lid| lid.parse().ok());
    if let Some(lid) = lid {
        return Ok(Address::Lid(lid));
    }
    match text.parse() {
        Ok(IpAddr::V4(address)) => Ok(Address::V4(address.octets())),
        Ok(IpAddr::V6(address)) => Ok(Address::from_gid(address.octets())),
        Err(_) => Err("not an address: 192.0.2.1, 2001:db8::1 (or a GID), or 'LID 3'"),
    }
}

fn port(text: &str) -> Result<u16, &'static str> {
    text.parse().map_err(|_| "not a port, 0 to 65535")
}

/// Nanoseconds.
fn duration(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "not a time such as 50ms or 1.5s";
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit).ok_or(WRONG)?;
    let nanoseconds = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err(WRONG),
    };
    let number: f64 = number.parse().map_err(|_| WRONG)?;
    if number.is_finite() && number >= 0.0 { Ok((number * nanoseconds).round() as u64) } else { Err(WRONG) }
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
    use clap::CommandFactory;

    use super::*;

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
    fn a_duration_is_a_number_with_its_unit() {
        for (text, expected) in [
            ("50ms", Some(50_000_000)),
            ("1.5s", Some(1_500_000_000)),
            ("7us", Some(7000)),
            ("3ns", Some(3)),
            ("0s", Some(0)),
            ("50", None),
            ("ms", None),
            ("-1s", None),
            ("1e3s", None),
            ("1 h", None),
            ("infs", None),
            ("", None),
        ] {
            assert_eq!(duration(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn an_address_is_printed_as_it_is_read() {
        for text in ["192.0.2.1", "2001:db8::1", "fe80::1", "LID 3"] {
            assert_eq!(address(text).unwrap().to_string(), text);
        }
        assert_eq!(address("::ffff:192.0.2.1"), Ok(Address::V4([192, 0, 2, 1])));
        for text in ["", "192.0.2", "LID", "LID 65536", "host"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_xid_is_hexadecimal_or_decimal() {
        assert_eq!(xid("0x5a7a4583"), Ok(0x5a7a_4583));
        assert_eq!(xid("1518028163"), Ok(0x5a7b_4583));
        assert!(xid("5a7a4583").is_err() && xid("0x100000000").is_err() && xid("").is_err());
    }
}
