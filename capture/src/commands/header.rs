//! `header`: one Send from a hex dump.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use clap::Args;
use rpcrdma_answers::JsonRecord;
use rpcrdma_answers::messages::HeaderObject;
use rpcrdma_answers::messages::tree;
use rpcrdma_dissector::{HexDump, lone_message};

use super::pasteable::pasteable;
use crate::arguments::{Color, Family};
use crate::conclusion::Conclusion;
use crate::failure::{Failure, say};
use crate::output;

/// The most octets of text of a hex dump.
const DUMP_LIMIT: u64 = 16 << 20;

#[derive(Args, Debug)]
pub(super) struct HeaderArguments {
    /// The dump: digits, octets, words, or the output of xxd, hexdump -C, od, tcpdump, tshark, gdb or the kernel.
    /// Without it, or with -, read standard input
    #[arg(value_name = "HEX", allow_hyphen_values = false)]
    hex: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Wire format of version 2: a for drafts -00 to -02, b for -03 to -07
    #[arg(long, value_name = "FORMAT")]
    v2_family: Option<Family>,
}

/// A malformed message in a correct dump is no reason for an exit status other than 0.
pub(super) fn run(arguments: &HeaderArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let text = match arguments.hex.as_slice() {
        [] => dump_from_stdin(quiet)?,
        [dash] if dash == "-" => dump_from_stdin(quiet)?,
        words => words.join(" "),
    };
    let dump =
        HexDump::parse(&text).map_err(|error| Failure::Said(format!("hex dump: {error}{}", advice(arguments))))?;
    let mut conclusion = Conclusion::new("header", arguments.json, quiet);
    conclusion.octets_swapped(dump.reversed);
    if dump.reversed {
        conclusion.say("hex dump: the words are in little-endian order; their octets were swapped".to_owned());
    }
    let message = lone_message(dump.octets, arguments.v2_family.map(Into::into));
    let mut out = Vec::new();
    if arguments.json {
        HeaderObject::new(&message).write_json(&mut out)?;
    } else {
        tree::write(&mut out, &message, output::is_coloured(color))?;
    }
    output::write(&out)?;
    conclusion.end_output(0)
}

/// Returns how to read the file that the argument names, if the argument is no dump but a file.
fn advice(arguments: &HeaderArguments) -> String {
    match arguments.hex.as_slice() {
        [name] if Path::new(name).is_file() => {
            format!("; to read the dump in that file: rpcrdma header < {}", pasteable(&[name.into()]))
        }
        _ => String::new(),
    }
}

fn dump_from_stdin(quiet: bool) -> Result<String, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() && !quiet {
        say("reading a hex dump from standard input; end it with Ctrl-D");
    }
    let mut octets = Vec::new();
    let read = stdin.take(DUMP_LIMIT).read_to_end(&mut octets);
    read.map_err(|error| Failure::Said(format!("standard input: {error}")))?;
    // A dump may have any octets in its margin.
    Ok(String::from_utf8_lossy(&octets).into_owned())
}
