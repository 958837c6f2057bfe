//! `pending`: the calls without a reply.

use clap::Args;

use super::separate::{Separable, SeparateForm};
use crate::dissector::Config;
use crate::event::Event;
use crate::output::json;
use crate::output::pending::{self, Pending};
use crate::program::arguments::{Color, InputArguments};
use crate::program::conclusion::Conclusion;
use crate::program::failure::Failure;
use crate::program::filters::Filters;
use crate::program::notices::{Select, counted};
use crate::program::output;
use crate::program::source::{InputSource, Show};

const PENDING_HELP: &str = "\
What is owed:
  the reply            by the responder. If it did nothing for the call, it may not have received it
  a credit             with the reply, if the calls that wait are as many as the credits that were
                       granted: until then, the requester can send no other call
  RDMA Read responses  by the requester: the responder asked for data that did not come
It is not known who owes what if packets may be missing from the capture, or what was moved may
be for another call. If the capture holds no packet of the responder, it is not known whether a
call was answered. The age is that at the last frame of the capture. Calls that wait do not make
the exit status 1. With --slower-than, only calls of that age or older are printed.";

#[derive(Args, Clone, Debug)]
#[command(after_help = PENDING_HELP)]
pub(super) struct PendingArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Separable for PendingArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::printed(self.json)
    }
}

pub(super) fn run(arguments: &PendingArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let colour = output::is_coloured(color);
    let mut pending = Pending::default();
    let show = Show::report(quiet);
    let mut source = InputSource::new(Filters::new(&arguments.input, Select::Rpcs).of_any_latency())?;
    let done = source.read_all(Config::default(), show, |event, _, _| {
        if let Event::Transaction(transaction) = event {
            pending.take(transaction);
        }
        Ok(())
    })?;
    let mut conclusion = Conclusion::new("pending", arguments.json, quiet);
    conclusion.capture(&source, &done);
    let (repeated, newer) = (pending.repeated(), pending.newer());
    (conclusion.left_out().repeated_calls, conclusion.left_out().newer_calls) = (repeated, newer);
    if repeated > 0 {
        conclusion.say(format!("{} left out: sent again under the same XID", counted(repeated, "call")));
    }
    if newer > 0 {
        conclusion.insist(format!("{} left out: only the oldest are kept", counted(newer, "call")));
    }
    let (last, files) = (done.summary.last.unwrap_or_default(), &done.files);
    let mut calls = pending.into_calls();
    let waiting = calls.len() as u64;
    let least = arguments.input.slower_than.unwrap_or(0);
    calls.retain(|call| call.age(last) >= least);
    if waiting == 0 && !done.notices.selects_nothing() {
        conclusion.say_nothing(
            "no call is without a reply",
            "no call without a reply was captured",
            done.notices.gap(),
        );
    }
    if waiting > 0 && calls.is_empty() {
        conclusion.say(format!("nothing selected: none of {} matches --slower-than", counted(waiting, "waiting call")));
    }
    let mut out = Vec::new();
    if !arguments.json && !calls.is_empty() {
        pending::heading(&mut out, colour)?;
    }
    for call in &calls {
        match arguments.json {
            true => json::pending(&mut out, call, last, files)?,
            false => pending::lines(&mut out, call, (last, files), colour)?,
        }
    }
    output::write(&out)?;
    conclusion.end(done.status())
}
