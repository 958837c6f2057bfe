//! `pending`: the calls without a reply.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Instant;

use clap::Args;
use rpcrdma_answers::format::number::counted;
use rpcrdma_answers::format::time::ShownTimes;
use rpcrdma_answers::pending::{self, Pending, PendingCall, PendingObject, PromiseObject};
use rpcrdma_dissector::values::duration;
use rpcrdma_dissector::{CaptureEnd, Config, Event, Files, Message, Side};

use super::separate::{Separable, SeparateForm};
use crate::arguments::{Color, InputArguments, TimeArguments};
use crate::conclusion::Conclusion;
use crate::failure::Failure;
use crate::filters::Filters;
use crate::notices::Select;
use crate::output;
use crate::source::{Given, InputSource, Show};
use crate::spool::write_record;

/// The most calls that are watched while a stream is read, more than wait at a time.
const WATCHED: usize = 65_536;

const PENDING_HELP: &str = "\
The end that owes the next step (for callbacks, client and server change places):
  the reply            the server; the text says if the call has arrived
  a credit             the server, with the reply: the waiting calls use all credits that were
                       granted, so the client can send no other call
  an acknowledgement   the server: the call was sent more than once and never acknowledged, so the
                       server cannot be reached, or its acknowledgements are lost
  the call once more   the client: the server refused the call (NAK, RNR NAK)
  RDMA Read responses  the client: the server asked for data that did not come
  the reply once more  the server: the client refused the reply
  its RDMA Read        the client: the server provides the reply in its memory
Below the calls, what an answered RPC left open and no later one has done:
  a retry              the client: the server refused the operation for now (DELAY, GRACE)
  CB_OFFLOAD           the server: it accepted a COPY, and reports the end by a callback
  DELEGRETURN          a client whose delegation was recalled; LAYOUTRETURN, for a layout
  a lock               whoever has it
The end is unknown if packets may be missing from the capture, because the reply may be one of
them; if the data that RDMA moved may be for another call; or if the server retransmitted RDMA
Writes and nothing acknowledged them. If the capture holds no packet of the server, it is unknown
whether a call was answered. The age is that at the last frame of the capture. Calls that wait do
not make the exit status 1.

Watching a stream:
While standard input or a pipe is read, a call that has waited for --older-than is printed at once,
by the clock of this machine. So is a call whose reply the server provides and the client has not
read for as long. What each end owes is printed when the input ends, or with Ctrl-C.";

#[derive(Args, Clone, Debug)]
#[command(after_help = PENDING_HELP)]
pub(super) struct PendingArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    time: TimeArguments,
    /// Print only calls that have waited this long (5s; also ns, us and ms); --slower-than does the same
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "slower_than")]
    older_than: Option<u64>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Calls that wait while the capture is being read.
struct Watched {
    /// Nanoseconds after which a call is printed.
    least: u64,
    /// The calls that were not printed yet, by connection, requester and XID.
    calls: BTreeMap<(u32, Side, u32), PendingCall>,
    /// Calls whose reply was sent, and is not known to have arrived or to have been read.
    replied: BTreeSet<(u32, Side, u32)>,
    /// The last message as the end of the capture, and the time of reading.
    last: (CaptureEnd, Instant),
}

impl Watched {
    fn new(least: u64) -> Self {
        Self { least, calls: BTreeMap::new(), replied: BTreeSet::new(), last: (CaptureEnd::default(), Instant::now()) }
    }

    /// Takes a call that begins to wait, or a message or an RPC that ends a wait.
    fn event(&mut self, event: &Event) {
        match event {
            Event::Message(message) => {
                self.last = (self.last.0.later(message.stamp), Instant::now());
                match PendingCall::of_message(message) {
                    Some(call) if self.calls.len() < WATCHED => {
                        self.calls.insert((call.connection, call.requester, call.xid), call);
                    }
                    _ => self.reply(message),
                }
            }
            // The reply was refused, or is retransmitted: its call waits on.
            Event::Recovery(recovered) => {
                let Some(xid) = recovered.xid else { return };
                for requester in [Side::Active, Side::Passive] {
                    let place = (recovered.connection, requester, xid);
                    self.replied.remove(&place);
                    self.calls.get_mut(&place).into_iter().for_each(PendingCall::withdraw);
                }
            }
            Event::ReplyRead(read) => {
                let place = (read.connection, read.requester, read.xid);
                if self.calls.contains_key(&place) {
                    self.replied.insert(place);
                }
            }
            // What became of its calls is said when the input ends.
            Event::Ended(ended) => self.calls.retain(|(connection, ..), _| *connection != ended.connection),
            Event::Transaction(transaction) => {
                let tries = transaction.tries.iter().flat_map(|tries| tries.earlier()).map(|one| one.connection);
                for connection in tries.chain([transaction.connection]) {
                    let ended = (connection, transaction.requester, transaction.xid);
                    self.calls.remove(&ended);
                    self.replied.remove(&ended);
                }
            }
            _ => {}
        }
    }

    /// Takes a message other than a call. A responder-provided reply still has to be read.
    fn reply(&mut self, message: &Message) {
        let place = (message.connection, message.sender.other(), message.rdma_xid().unwrap_or_default());
        let Some(call) = self.calls.get_mut(&place) else { return };
        if message.provides_payload() {
            call.provide(message.stamp);
        } else {
            self.replied.insert(place);
        }
    }

    /// Takes the calls that have waited long enough by now, the oldest first, with that moment of the capture. A reply that has to be
    /// read has to have waited as long.
    fn overdue(&mut self) -> (CaptureEnd, Vec<PendingCall>) {
        let (last, read) = self.last;
        let now = last.after(read.elapsed());
        let mut overdue = Vec::new();
        self.calls.retain(|place, call| {
            let reply = call.waiting.responder.map_or(u64::MAX, |last| now.at_least_since(last.stamp));
            let is_due = call.least_age(now).min(reply) >= self.least && !self.replied.contains(place);
            if is_due {
                overdue.push(call.clone());
            }
            !is_due
        });
        overdue.sort();
        (now, overdue)
    }
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
    let (colour, times) = (output::is_coloured(color), arguments.time.shown());
    let mut pending = Pending::default();
    let show = Show::report(quiet);
    let mut source = InputSource::new(Filters::new(&arguments.input, Select::Rpcs).of_any_latency())?;
    let mut watched = arguments.older_than.filter(|_| source.is_live()).map(Watched::new);
    let mut is_headed = false;
    let show = Show { idle: watched.is_some(), all: watched.is_some(), ..show };
    let mut config = Config::default();
    config.recovery = watched.is_some();
    let done = source.read_given(config, show, |given, out, known| {
        if let Given::Event(event) | Given::Late(event) = given {
            if let Event::Transaction(transaction) = event
                && known.is_wanted
            {
                pending.add_rpc(transaction);
            }
            if let Event::Promise(promise) = event
                && known.is_wanted
            {
                pending.promise(promise);
            }
            watched.iter_mut().filter(|_| known.is_wanted).for_each(|watched| watched.event(event));
        }
        let Some((now, calls)) = watched.as_mut().map(Watched::overdue) else { return Ok(()) };
        if !calls.is_empty() && !arguments.json && !core::mem::replace(&mut is_headed, true) {
            pending::heading(out, colour)?;
        }
        for call in calls {
            let call = ShownCall { call: &call, end: now, files: known.files };
            call.print(out, arguments.json, colour, times.starting_at(known.first))?;
        }
        Ok(())
    })?;
    let mut conclusion = Conclusion::new("pending", arguments.json, quiet);
    conclusion.capture(&source, &done);
    let (repeated, newer) = (pending.repeated, pending.newer);
    (conclusion.left_out().repeated_calls, conclusion.left_out().newer_calls) = (repeated, newer);
    if let Some(note) = pending.repeated_note() {
        conclusion.say(note);
    }
    if newer > 0 {
        conclusion.say(format!("{} left out: only the oldest are kept", counted(newer, "call")));
    }
    let first = done.summary.first.unwrap_or_default();
    let (end, files) = (done.summary.capture_end(), &done.files);
    let mut promises = core::mem::take(&mut pending.promises);
    let mut calls = pending.into_calls();
    let waiting = calls.len() as u64;
    let least = arguments.older_than.or(arguments.input.slower_than).unwrap_or(0);
    calls.retain(|call| call.least_age(end) >= least);
    promises.retain(|promise| end.at_least_since(promise.began) >= least);
    if waiting == 0 && promises.is_empty() && !done.notices.selects_nothing() {
        let all_clear = match source.selects_all() {
            true => "no call is without a reply",
            false => "no selected call is without a reply",
        };
        conclusion.say_nothing(all_clear, "no call without a reply was captured", done.notices.gap());
    }
    if waiting > 0 && calls.is_empty() && promises.is_empty() {
        conclusion.say(format!("nothing selected: none of {} has waited that long", counted(waiting, "waiting call")));
    }
    let mut out = Vec::new();
    let has_lines = !calls.is_empty() || !promises.is_empty();
    if !arguments.json && has_lines && !is_headed {
        pending::heading(&mut out, colour)?;
    }
    for call in &calls {
        ShownCall { call, end, files }.print(&mut out, arguments.json, colour, times.starting_at(first))?;
    }
    for promise in &promises {
        match arguments.json {
            true => write_record(&PromiseObject::new(promise, end, files), &mut out)?,
            false => pending::promise_lines(&mut out, promise, end, files, colour, times.starting_at(first))?,
        }
    }
    output::write(&out)?;
    conclusion.end_output(done.status())
}

/// A call that waits at a moment of the capture.
struct ShownCall<'a> {
    call: &'a PendingCall,
    end: CaptureEnd,
    files: &'a Files,
}

impl ShownCall<'_> {
    /// Prints the call as a record or as text.
    fn print(&self, out: &mut impl io::Write, json: bool, colour: bool, times: ShownTimes) -> io::Result<()> {
        let Self { call, end, files } = *self;
        match json {
            true => write_record(&PendingObject::new(call, end, files), out),
            false => pending::lines(out, call, end, files, colour, times),
        }
    }
}
