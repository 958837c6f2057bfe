//! `annotate`: the frames with comments, for Wireshark.

use std::path::PathBuf;

use clap::Args;
use rpcrdma_answers::annotate::Annotator;
use rpcrdma_dissector::{Config, Event, StepsWanted};

use crate::arguments::InputArguments;
use crate::destination::Destination;
use crate::failure::{Failure, say};
use crate::filters::Filters;
use crate::judge::Judge;
use crate::notices::Select;
use crate::source::{Given, InputSource, Show};
use crate::wireshark::write_profile;

const ANNOTATE_HELP: &str = "\
Every frame is written as it is. The comments are on
  the last frame of each call     what is called, and the frame of its reply
  the last frame of each reply    the frame of its call, its latency, what RDMA moved, its status
  RDMA Reads and RDMA Writes      which of how many packets it is, and of which RPC
  indications of loss             retransmitted and how many times, NAK, RNR NAK, time-out
  the frame that shows a finding  the rule that is broken, who broke it, and how
In Wireshark, the display filter 'frame.comment' shows the frames that have one. Comments that the
files had before are not kept.
--profile writes a Wireshark profile with a column for the comments, colours for retransmitted
packets, replies of 100 ms and more, and broken rules, and buttons that filter by these. An existing
profile is kept as it is.

Examples:
  rpcrdma annotate nfs.pcap -o nfs.pcapng
  rpcrdma annotate nfs.pcap -o nfs.pcapng --profile ~/.config/wireshark/profiles
  wireshark -C rpcrdma nfs.pcapng";

#[derive(Args, Debug)]
#[command(after_help = ANNOTATE_HELP)]
pub(super) struct AnnotateArguments {
    #[command(flatten)]
    input: InputArguments,
    /// The pcapng file to write, compressed if the name ends in .gz or .zst; - is standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Write the Wireshark profile 'rpcrdma' to this folder of profiles
    #[arg(long, value_name = "FOLDER")]
    profile: Option<PathBuf>,
}

pub(super) fn run(arguments: &AnnotateArguments, quiet: bool) -> Result<u8, Failure> {
    let destination = Destination::new(&arguments.output, &arguments.input.files)?;
    destination.refuse_pcap()?;
    arguments.profile.iter().try_for_each(|profiles| write_profile(profiles))?;
    let filters = Filters::new(&arguments.input, Select::Both);
    let (mut source, mut judge) = (InputSource::new(filters.clone())?, Judge::new(filters.clone()));
    let mut write = destination.create()?;
    let mut annotator = Annotator::new(&mut write).map_err(|error| destination.failed(error))?;
    // RPCs, their packets, retransmissions, and what the checker judges by.
    let mut config = Config::default();
    config.joins_tries = false;
    (config.operations, config.recovery, config.steps) = (true, true, StepsWanted::All);
    let show = Show { all: true, frames: true, whole: destination.is_file(), ..Show::report(quiet) };
    let done = source.read_given(config, show, |given, _, known| {
        let (event, is_judged) = match given {
            Given::Frame(frame) => return annotator.frame(&frame),
            Given::Event(event) => (event, false),
            Given::Late(event) => (event, true),
            Given::Idle => return Ok(()),
        };
        match event {
            Event::Recovery(recovered) if known.is_wanted => annotator.recovered(recovered),
            Event::Transaction(transaction) if known.is_wanted => annotator.transaction(transaction),
            _ => {}
        }
        if is_judged {
            return Ok(());
        }
        judge.event(event, known, |found| {
            annotator.finding(found);
            Ok(())
        })
    });
    let done = done.map_err(|failure| destination.named(failure))?;
    judge.finish(done.summary.first.unwrap_or_default(), |found| {
        annotator.finding(found);
        Ok(())
    })?;
    judge.say_left_out(quiet);
    let annotated = annotator.finish().map_err(|error| destination.failed(error))?;
    write.finish().map_err(|error| destination.failed(error))?;
    if !quiet {
        say(&annotated.to_string());
    }
    Ok(done.status())
}
