//! `anonymize`: a copy of the capture without confidential content.

use std::path::PathBuf;

use clap::Args;
use rpcrdma_answers::anonymize::{Anonymizer, Key, config};

use crate::arguments::InputArguments;
use crate::destination::Destination;
use crate::failure::{DAMAGED, Failure, say};
use crate::filters::Filters;
use crate::notices::Select;
use crate::source::{Given, InputSource, Show};

const ANONYMIZE_HELP: &str = "\
Replaced, the same value by the same each time
  addresses       IPv4, IPv6, GIDs: equal prefixes stay equal (Crypto-PAn); LIDs, MAC addresses,
                  GUIDs
  names           files, links, owners, principals, machines: text of the same length
  identifiers     handles, stateids, sessions, clients, users, groups, attributes
Overwritten with zeros
  data            files, reduced data items, RPCSEC_GSS tokens and checksums, private data
  whatever is not understood
Kept
  times, lengths, order, ports, queue pairs, sequence numbers, credits, chunk lists, XIDs, program
  and operation numbers, offsets and counts in files, status
Left out
  frames of no RPC-over-RDMA connection; comments and interface names of the files
ICRCs, VCRCs, CRCs of MPA, and checksums of IP, UDP and TCP are right in the copy if they were.
Lengths, times and sizes can identify people and files too: look at the copy before you publish it.
The copy holds Ethernet or InfiniBand frames. From other link types and encapsulations, only the
innermost packet is copied, as Ethernet without MAC addresses; outer addresses, sessions of mirrors
and ERF records are gone. Packets with IPv4 options or IPv6 extension headers are left out.

Examples:
  rpcrdma anonymize nfs.pcap -o shared.pcap
  rpcrdma anonymize nfs.pcap -o shared.pcapng.zst
  key=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \\n')
  rpcrdma anonymize client.pcap -o client-shared.pcap --key $key
  rpcrdma anonymize server.pcap -o server-shared.pcap --key $key";

#[derive(Args, Debug)]
#[command(after_help = ANONYMIZE_HELP)]
pub(super) struct AnonymizeArguments {
    #[command(flatten)]
    input: InputArguments,
    /// The file to write: pcapng if the name ends in .pcapng, otherwise pcap, and compressed if .gz or .zst follows; - is
    /// standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Key of 64 hexadecimal digits: the same key makes the same replacements in every capture. Keep the key
    /// secret: whoever has the key can restore addresses and guess names. By default, the key is random and not kept
    #[arg(long, value_name = "HEX", value_parser = key)]
    key: Option<Key>,
}

pub(super) fn run(arguments: &AnonymizeArguments, quiet: bool) -> Result<u8, Failure> {
    let AnonymizeArguments { input, output, key } = arguments;
    let filters = Filters::new(input, Select::Both);
    if !filters.names().is_empty() {
        let text = "anonymize writes all RPC-over-RDMA connections: leave out the options that select";
        return Err(Failure::Said(text.to_owned()));
    }
    let key = match key {
        Some(key) => key.clone(),
        None => Key::random()?,
    };
    let destination = Destination::new(output, &input.files)?;
    let mut source = InputSource::new(filters)?;
    let mut write = destination.create()?;
    let begun = match destination.is_pcapng() {
        true => Anonymizer::pcapng(&mut write, &key),
        false => Ok(Anonymizer::new(&mut write, &key)),
    };
    let mut anonymizer = begun.map_err(|error| destination.failed(error))?;
    let show = Show { all: true, frames: true, whole: destination.is_file(), ..Show::report(quiet) };
    let done = source.read_given(config(), show, |given, _, _| match given {
        Given::Frame(frame) => anonymizer.frame(&frame),
        Given::Event(event) => {
            anonymizer.event(event);
            Ok(())
        }
        Given::Late(_) | Given::Idle => Ok(()),
    });
    let done = done.map_err(|failure| destination.named(failure))?;
    let anonymized = anonymizer.finish().map_err(|error| destination.failed(error))?;
    write.finish().map_err(|error| destination.failed(error))?;
    if !quiet {
        say(&anonymized.to_string());
    }
    Ok(if anonymized.frames > 0 && anonymized.unknown == 0 { done.status() } else { done.status().max(DAMAGED) })
}

/// A key of 64 hexadecimal digits.
fn key(text: &str) -> Result<Key, &'static str> {
    const WRONG: &str = "a key is 64 hexadecimal digits";
    let digits = text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8));
    let digits: Vec<u8> = digits.collect::<Option<_>>().ok_or(WRONG)?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let octets: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    octets.try_into().ok().filter(|_| rest.is_empty()).map(Key::new).ok_or(WRONG)
}
