//! `stats`: counts and latencies.

use clap::Args;

use crate::dissector::Config;
use crate::output::stats::Stats;
use crate::program::arguments::{Color, InputArguments};
use crate::program::failure::Failure;
use crate::program::filters::Filters;
use crate::program::output;
use crate::program::source::{Done, InputSource, Show};

const STATS_HELP: &str = "\
What each end of a connection sent:
  packets          InfiniBand packets, or TCP segments for iWARP
  retransmitted    packets that it sent again, and that the capture holds from before
  replaced         packets that it sent again, and that the capture does not hold from before
  early            packets captured before one with a lower number, and acknowledgements
                   captured before the packet that they acknowledge
  sequence_errors  negative acknowledgements (NAK): it missed a packet. For iWARP, holes that
                   it reported by duplicate acknowledgements
  not_ready        'receiver not ready' (RNR NAK): it had no Receive posted
  failed           operations that it refused for good
  missed           packets that it sent and the capture does not hold
  orphans          data packets of operations whose beginning the capture does not hold
The arrow → marks the end that requested the connection, ← the other.";

#[derive(Args, Debug)]
#[command(after_help = STATS_HELP)]
pub(super) struct StatsArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &StatsArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let mut counts = Stats::default();
    let mut source = InputSource::new(Filters::all(&arguments.input))?;
    // The numbers themselves contain the warnings.
    let show = Show { notices: false, between: true, ..Show::report(quiet) };
    let Done { notices, summary, .. } = source.read_all(Config::default(), show, |event, _, _| {
        counts.event(event);
        Ok(())
    })?;
    if notices.selects_nothing() && !quiet {
        source.say(&notices, &summary);
    }
    let statistics = counts.finish(&summary);
    let mut out = Vec::new();
    if arguments.json {
        statistics.write_json(&mut out)?
    } else {
        statistics.write_text(&mut out, output::is_coloured(color))?
    }
    output::write(&out)?;
    Ok(notices.status(&summary))
}
