//! What each command does.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::thread;

use anstream::{AutoStream, ColorChoice};
use clap::CommandFactory;
use indicatif::ProgressBar;

use super::arguments::{
    Arguments, Check, Color, Command, Decode, Export, HeaderArguments, PendingArguments, SlowArguments, StatsArguments,
    Transactions,
};
use super::capture::Inputs;
use super::filters::Filters;
use super::interrupt::Interrupt;
use super::manual;
use super::notices::{Notices, counted};
use super::output::Output;
use super::reading::{Batch, Batches, ReadingStep};
use super::{DAMAGED, Failure, say};
use crate::check::{self, Checker, Found};
use crate::dissector::{Config, Dissector, Summary};
use crate::event::{Event, Terminated};
use crate::file::{Files, Time};
use crate::input::hexdump;
use crate::input::send::lone_message;
use crate::output::export::Exporter;
use crate::output::findings::{self, Findings};
use crate::output::pending::{self, Pending};
use crate::output::slow::{self, Slowest};
use crate::output::stats::Stats;
use crate::output::text::Lines;
use crate::output::{json, tree};
use crate::rpc::message::Message;
use crate::rpc::transaction::Transaction;

/// The most octets of text of a hex dump.
const DUMP_LIMIT: u64 = 16 << 20;

/// Does what the command line says, and returns the exit status.
pub(super) fn run(arguments: Arguments) -> Result<u8, Failure> {
    let Arguments { command, color, quiet } = arguments;
    match command {
        Command::Decode(command) => decode(&command, color, quiet),
        Command::Transactions(command) => transactions(&command, color, quiet),
        Command::Slow(command) => slow(&command, color, quiet),
        Command::Pending(command) => pending(&command, color, quiet),
        Command::Export(command) => export(&command, quiet),
        Command::Stats(command) => stats(&command, color, quiet),
        Command::Check(command) => check(&command, color, quiet),
        Command::Header(command) => header(&command, color, quiet),
        Command::Completions { shell } => {
            let mut command = Arguments::command();
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut command, "rpcrdma", &mut out);
            write(&out)
        }
        Command::Man { command } => {
            let mut out = Vec::new();
            manual::write(command.as_deref(), &mut out)?;
            write(&out)
        }
    }
}

fn write(octets: &[u8]) -> Result<u8, Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(octets)?;
    stdout.flush()?;
    Ok(0)
}

fn decode(arguments: &Decode, color: Color, quiet: bool) -> Result<u8, Failure> {
    let config = Config::for_messages();
    let mut text = HeadedLines::new(color);
    let show = Show { notices: !quiet, bar: !quiet && !io::stdout().is_terminal(), all: false, between: false };
    let filters = Filters::messages(&arguments.input, &arguments.messages);
    InputSource::new(filters)?.read(config, show, |event, out, known| match event {
        Event::Message(message) if arguments.json => json::message(out, message, known.files),
        Event::Message(message) => text.message(out, message, known, arguments.verbose),
        Event::Terminated(terminated) if arguments.json => json::terminated(out, terminated, known.files),
        Event::Terminated(terminated) => text.terminated(out, terminated, known),
        _ => Ok(()),
    })
}

fn transactions(arguments: &Transactions, color: Color, quiet: bool) -> Result<u8, Failure> {
    let mut text = HeadedLines::new(color);
    let show = Show { notices: !quiet, bar: !quiet && !io::stdout().is_terminal(), all: false, between: false };
    let filters = Filters::rpcs(&arguments.input, &arguments.rpcs);
    InputSource::new(filters)?.read(Config::default(), show, |event, out, known| match event {
        Event::Transaction(transaction) if arguments.json => json::transaction(out, transaction, known.files),
        Event::Transaction(transaction) => text.transaction(out, transaction, known),
        _ => Ok(()),
    })
}

fn slow(arguments: &SlowArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let colour = is_coloured(color);
    let mut slowest = Slowest::new(arguments.top as usize, arguments.rpcs.slower_than.unwrap_or(0));
    let show = Show { notices: !quiet, bar: !quiet, all: false, between: false };
    // Those that are not slow enough are counted here, apart from calls without a reply.
    let source = InputSource::new(Filters::rpcs(&arguments.input, &arguments.rpcs).of_any_latency())?;
    let Done { notices, summary, .. } = source.read_all(Config::default(), show, |event, _, known| match event {
        Event::Transaction(transaction) => slowest.take(transaction, |out| match arguments.json {
            true => json::transaction(out, transaction, known.files),
            false => slow::lines(out, transaction, known.files, colour),
        }),
        _ => Ok(()),
    })?;
    if slowest.unanswered() > 0 && !quiet {
        say(&format!(
            "{} without a reply left out: 'rpcrdma transactions' shows them",
            counted(slowest.unanswered(), "call")
        ));
    }
    if slowest.is_empty() {
        if slowest.answered() > 0 && !quiet {
            say(&format!("nothing selected: none of {} matches --slower-than", counted(slowest.answered(), "RPC")));
        }
        return Ok(notices.status(&summary).max(DAMAGED));
    }
    let mut out = Vec::new();
    if !arguments.json {
        slow::heading(&mut out, colour)?;
    }
    slowest.write(&mut out)?;
    write(&out)?;
    Ok(notices.status(&summary))
}

fn pending(arguments: &PendingArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let colour = is_coloured(color);
    let mut pending = Pending::default();
    let show = Show { notices: !quiet, bar: !quiet, all: false, between: false };
    let source = InputSource::new(Filters::calls(&arguments.input, &arguments.messages))?;
    let Done { notices, summary, files } = source.read_all(Config::default(), show, |event, _, _| {
        if let Event::Transaction(transaction) = event {
            pending.take(transaction);
        }
        Ok(())
    })?;
    if pending.repeated() > 0 && !quiet {
        say(&format!("{} left out: sent again under the same XID", counted(pending.repeated(), "call")));
    }
    if pending.newer() > 0 {
        say(&format!("{} left out: only the oldest are kept", counted(pending.newer(), "call")));
    }
    let calls = pending.into_calls();
    if calls.is_empty() && !notices.selects_nothing() && !quiet {
        say("no call is without a reply");
    }
    let last = summary.last.unwrap_or_default();
    let mut out = Vec::new();
    if !arguments.json && !calls.is_empty() {
        pending::heading(&mut out, colour)?;
    }
    for call in &calls {
        match arguments.json {
            true => json::pending(&mut out, call, last, &files)?,
            false => pending::lines(&mut out, call, (last, &files), colour)?,
        }
    }
    write(&out)?;
    Ok(notices.status(&summary))
}

fn export(arguments: &Export, quiet: bool) -> Result<u8, Failure> {
    let path = &arguments.output;
    let to_stdout = path == Path::new("-");
    refuse_output(arguments, to_stdout)?;
    let source = InputSource::new(Filters::rpcs(&arguments.input, &arguments.rpcs))?;
    let named = |error: io::Error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Output(error),
        _ => Failure::Said(format!("{}: {error}", path.display())),
    };
    let write: Box<dyn Write> =
        if to_stdout { Box::new(io::stdout().lock()) } else { Box::new(File::create(path).map_err(named)?) };
    let mut exporter = Exporter::new(BufWriter::with_capacity(1 << 18, write)).map_err(named)?;
    let show = Show { notices: !quiet, bar: !quiet, all: false, between: false };
    let status = source.read(Config::default(), show, |event, _, _| match event {
        Event::Transaction(transaction) => exporter.transaction(transaction),
        _ => Ok(()),
    })?;
    let exported = exporter.finish().map_err(named)?;
    if !quiet || exported.left_out > 0 {
        say(&exported.to_string());
    }
    Ok(if exported.calls > 0 { status } else { status.max(DAMAGED) })
}

/// Refuses to write where that would destroy the input or be of no use.
fn refuse_output(arguments: &Export, to_stdout: bool) -> Result<(), Failure> {
    let path = &arguments.output;
    let refused = |reason: &str| Err(Failure::Said(format!("{}: {reason}", path.display())));
    if to_stdout && io::stdout().is_terminal() {
        return refused("a pcap file is not written to a terminal: name a file, or pipe it into a program");
    }
    if !to_stdout && arguments.input.files.iter().any(|file| is_same(file, path)) {
        return refused("is both input and output");
    }
    match path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase).as_deref() {
        Some("gz") => refused("export does not compress: use '-o - | gzip', or another name"),
        Some("zst") => refused("export does not compress: use '-o - | zstd', or another name"),
        Some("pcapng" | "ntar") => refused("export writes pcap, not pcapng: use another name"),
        _ => Ok(()),
    }
}

fn stats(arguments: &StatsArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let mut counts = Stats::default();
    let source = InputSource::new(Filters::all(&arguments.input))?;
    // The numbers themselves contain the warnings.
    let show = Show { notices: false, bar: !quiet, all: false, between: true };
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
        statistics.write_text(&mut out, is_coloured(color))?
    }
    write(&out)?;
    Ok(notices.status(&summary))
}

fn check(arguments: &Check, color: Color, quiet: bool) -> Result<u8, Failure> {
    if let Some(rule) = arguments.explain.and_then(check::find) {
        let mut out = Vec::new();
        findings::explain(&mut out, rule, is_coloured(color))?;
        return write(&out);
    }
    if arguments.list {
        let mut out = Vec::new();
        findings::list(&mut out, check::rules(), is_coloured(color))?;
        return write(&out);
    }
    if arguments.rule.iter().any(|slug| !arguments.wants_rule(slug))
        && !check::rules().any(|r| arguments.wants_rule(r.slug))
    {
        say("nothing selected: --rule and --ignore leave no rule");
        return Ok(DAMAGED);
    }
    let source = InputSource::new(Filters::all(&arguments.input))?;
    let mut checker = Checker::default();
    let findings = if arguments.json { Findings::json() } else { Findings::text(is_coloured(color)) };
    let mut findings = findings.excusing(arguments.known.iter().map(|known| (*known).into()).collect());
    let config = Config::for_checker();
    let show = Show { notices: !quiet, bar: !quiet && !io::stdout().is_terminal(), all: true, between: false };
    let Done { notices, summary, files } = source.read_all(config, show, |event, out, known| {
        checker.event(event);
        arguments.show(&mut checker, &mut findings, out, known)
    })?;
    let mut out = Vec::new();
    let known = Known { first: summary.first.unwrap_or_default(), files: &files };
    arguments.show(&mut checker, &mut findings, &mut out, known)?;
    findings.summary(&mut out, checker.counts().filter(|count| arguments.wants_rule(count.rule.slug)))?;
    write(&out)?;
    Ok(notices.status_of(notices.damaged || findings.errors() > 0))
}

/// A message may be malformed although its dump is right, so that is no reason for a status other than 0.
fn header(arguments: &HeaderArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let text = match arguments.hex.as_slice() {
        [] => dump_from_stdin(quiet)?,
        [dash] if dash == "-" => dump_from_stdin(quiet)?,
        words => words.join(" "),
    };
    let dump = hexdump::parse(&text).map_err(|error| Failure::Said(format!("hex dump: {error}")))?;
    if dump.reversed && !quiet {
        say("hex dump: the words are in little-endian order; their octets were swapped");
    }
    let message = lone_message(dump.octets, arguments.v2_family.map(Into::into));
    let mut out = Vec::new();
    if arguments.json {
        json::lone_message(&mut out, &message)?;
    } else {
        tree::write(&mut out, &message, is_coloured(color))?;
    }
    write(&out)
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

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other && one.is_file())
}

fn is_coloured(color: Color) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    }
}

/// What is printed besides the output.
#[derive(Clone, Copy)]
struct Show {
    notices: bool,
    bar: bool,
    /// Whether events that were not asked for are given too, because what was asked for follows from them.
    all: bool,
    /// Whether frames before `--since` and after `--until` are ignored.
    between: bool,
}

/// What is known about a capture so far.
#[derive(Clone, Copy)]
struct Known<'a> {
    /// Time of its first frame.
    first: Time,
    files: &'a Files,
}

/// A capture that was read.
struct Done {
    notices: Notices,
    summary: Summary,
    files: Files,
}

/// The input to read.
struct InputSource<'a> {
    filters: Filters<'a>,
    inputs: Inputs,
}

impl<'a> InputSource<'a> {
    /// Examines the input, as far as that takes no time.
    fn new(filters: Filters<'a>) -> Result<Self, Failure> {
        let inputs = Inputs::new(&filters.input.files)?;
        inputs.first().map_or(Ok(()), |first| filters.input.refuse_astray(first))?;
        Ok(Self { filters, inputs })
    }

    /// Reads it and gives the wanted parts to `take`; then prints warnings. Returns the exit status.
    fn read(
        &self,
        config: Config,
        show: Show,
        take: impl FnMut(&Event, &mut Output, Known<'_>) -> io::Result<()>,
    ) -> Result<u8, Failure> {
        self.read_all(config, show, take).map(|Done { notices, summary, .. }| notices.status(&summary))
    }

    /// As [`read`](Self::read); returns the warnings, and counts of the frames.
    fn read_all(
        &self,
        config: Config,
        show: Show,
        take: impl FnMut(&Event, &mut Output, Known<'_>) -> io::Result<()>,
    ) -> Result<Done, Failure> {
        let Self { filters, inputs } = self;
        let input = filters.input;
        let mut config = Config { verify_crc: input.verify_crc, v2_family: input.v2_family.map(Into::into), ..config };
        config.ports.extend(&input.port);
        let interrupt = Interrupt::new().map_err(|error| Failure::Said(format!("cannot handle signals: {error}")))?;
        let (batches, found) = Batches::new();
        let (capture, bar) = inputs.open(&batches, &interrupt, show.bar);
        if inputs.reordered && show.notices {
            say(&inputs.order());
        }
        let mut shown = Showing { filters, show, notices: Notices::new(filters.select), files: Files::default() };
        let (result, (summary, outside)) = thread::scope(|scope| {
            let stop = interrupt.clone();
            let window = |first, time| !show.between || input.is_between(time, first);
            // It takes with it what it holds: the input has ended when nobody holds `batches` any more.
            let reader = scope.spawn(move || batches.fill(capture, Dissector::new(config), &stop, window));
            let result = shown.all(found, &bar, take);
            if result.is_err() {
                interrupt.stop();
            }
            (result, reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        result?;
        bar.finish_and_clear();
        let Showing { mut notices, files, .. } = shown;
        notices.interrupted = interrupt.is_signalled();
        notices.outside = outside;
        if show.notices {
            self.say(&notices, &summary);
        }
        Ok(Done { notices, summary, files })
    }

    fn say(&self, notices: &Notices, summary: &Summary) {
        notices.lines(summary, self.filters.input.verify_crc, &self.filters.names()).iter().for_each(|line| say(line));
    }
}

/// Prints what is found.
struct Showing<'a> {
    filters: &'a Filters<'a>,
    show: Show,
    notices: Notices,
    files: Files,
}

impl Showing<'_> {
    /// Prints what comes. When nothing is ready, everything printed so far becomes visible.
    fn all(
        &mut self,
        found: Receiver<Batch>,
        bar: &ProgressBar,
        mut take: impl FnMut(&Event, &mut Output, Known<'_>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut output = Output::new();
        let mut is_first = true;
        loop {
            let batch = match found.try_recv() {
                Ok(batch) => batch,
                Err(_) => {
                    output.flush()?;
                    let Ok(batch) = found.recv() else { return Ok(()) };
                    batch
                }
            };
            if is_first && batch.first != Time::default() {
                is_first = false;
                self.filters.input.refuse_astray(batch.first)?;
            }
            for step in batch.steps {
                match step {
                    ReadingStep::Found(event) => {
                        let wanted = self.filters.wants(&event, batch.first);
                        self.notices.event(&event, wanted);
                        self.notices.untimed += u64::from(self.filters.cannot_tell(&event, batch.first));
                        if self.show.all || wanted {
                            take(&event, &mut output, Known { first: batch.first, files: &self.files })?;
                            output.whole()?;
                        }
                    }
                    ReadingStep::Begun(files) => self.files = files,
                    ReadingStep::Overlaps => self.notices.overlaps += 1,
                    ReadingStep::Unread(error) => {
                        self.notices.damaged |= error.is_damage();
                        self.notices.unusable |= !error.is_damage();
                        bar.suspend(|| say(&error.to_string()));
                    }
                }
            }
        }
    }
}

impl Check {
    /// Prints what was found and is wanted.
    fn show(
        &self,
        checker: &mut Checker,
        findings: &mut Findings,
        out: &mut impl Write,
        known: Known<'_>,
    ) -> io::Result<()> {
        while let Some(found) = checker.finding() {
            if self.wants(&found, known.first) {
                findings.starts_at(known.first);
                findings.finding(out, &found, known.files)?;
            }
        }
        Ok(())
    }

    /// Whether a finding is one of those that were asked for.
    fn wants(&self, found: &Found, first: Time) -> bool {
        self.wants_rule(found.rule.slug) && self.input.wants_rpc(found.connection, found.xid, found.stamp.time, first)
    }

    fn wants_rule(&self, slug: &str) -> bool {
        (self.rule.is_empty() || self.rule.contains(&slug)) && !self.ignore.contains(&slug)
    }
}

/// Lines of text below a heading.
struct HeadedLines {
    colour: bool,
    lines: Option<Lines>,
}

impl HeadedLines {
    fn new(color: Color) -> Self {
        Self { colour: is_coloured(color), lines: None }
    }

    fn lines(&mut self, first: Time, heading: impl FnOnce(&mut Lines) -> io::Result<()>) -> io::Result<&mut Lines> {
        match &mut self.lines {
            Some(lines) => Ok(lines),
            none => {
                let lines = none.insert(Lines::new(self.colour, first));
                heading(lines)?;
                Ok(lines)
            }
        }
    }

    fn message(&mut self, out: &mut Output, message: &Message, known: Known<'_>, is_tree: bool) -> io::Result<()> {
        let colour = self.colour;
        let lines = self.lines(known.first, |lines| lines.message_heading(out, message, known.files))?;
        lines.message(out, message, known.files)?;
        if is_tree { tree::write(out, message, colour) } else { Ok(()) }
    }

    fn terminated(&mut self, out: &mut Output, terminated: &Terminated, known: Known<'_>) -> io::Result<()> {
        self.lines(known.first, |_| Ok(()))?.terminated(out, terminated, known.files)
    }

    fn transaction(&mut self, out: &mut Output, transaction: &Transaction, known: Known<'_>) -> io::Result<()> {
        let lines = self.lines(known.first, |lines| lines.transaction_heading(out, transaction, known.files))?;
        lines.transaction(out, transaction, known.files)
    }
}
