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
use rpcrdma_capture::check::{self, Checker, Found};
use rpcrdma_capture::dissector::{Config, Dissector, Summary};
use rpcrdma_capture::event::{Event, Terminated};
use rpcrdma_capture::file::Time;
use rpcrdma_capture::message::Message;
use rpcrdma_capture::output::export::Exporter;
use rpcrdma_capture::output::findings::{self, Findings};
use rpcrdma_capture::output::stats::Stats as Counts;
use rpcrdma_capture::output::text::Lines;
use rpcrdma_capture::output::{header, hexdump, json, tree};
use rpcrdma_capture::transaction::Transaction;

use super::arguments::{Arguments, Check, Color, Command, Decode, Export, Header, Input, Stats, Transactions};
use super::manual;
use super::notices::Notices;
use super::output::Output;
use super::reading::{Batch, Batches, Step};
use super::{DAMAGED, Failure, UNUSABLE, capture, say};

/// Octets of text that a hex dump may have.
const DUMP_LIMIT: u64 = 16 << 20;

/// Does what the command line says; gives the exit status.
pub(super) fn run(arguments: Arguments) -> Result<u8, Failure> {
    let Arguments { command, color, quiet } = arguments;
    match command {
        Command::Decode(command) => decode(&command, color, quiet),
        Command::Transactions(command) => transactions(&command, color, quiet),
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
    let config = Config { transactions: false, ..Config::default() };
    let mut text = Text::new(color);
    read(
        &arguments.input,
        config,
        Show { notices: !quiet, bar: !quiet && !io::stdout().is_terminal(), all: false },
        |event, out, first| match event {
            Event::Message(message) if arguments.json => json::message(out, message),
            Event::Message(message) => text.message(out, message, first, arguments.verbose),
            Event::Terminated(terminated) if arguments.json => json::terminated(out, terminated),
            Event::Terminated(terminated) => text.terminated(out, terminated, first),
            _ => Ok(()),
        },
    )
}

fn transactions(arguments: &Transactions, color: Color, quiet: bool) -> Result<u8, Failure> {
    let mut text = Text::new(color);
    let show = Show { notices: !quiet, bar: !quiet && !io::stdout().is_terminal(), all: false };
    read(&arguments.input, Config::default(), show, |event, out, first| {
        let Event::Transaction(transaction) = event else { return Ok(()) };
        if arguments.json { json::transaction(out, transaction) } else { text.transaction(out, transaction, first) }
    })
}

fn export(arguments: &Export, quiet: bool) -> Result<u8, Failure> {
    let path = &arguments.output;
    let to_stdout = path == Path::new("-");
    refuse_output(arguments, to_stdout)?;
    let named = |error: io::Error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Output(error),
        _ => Failure::Said(format!("{}: {error}", path.display())),
    };
    let write: Box<dyn Write> =
        if to_stdout { Box::new(io::stdout().lock()) } else { Box::new(File::create(path).map_err(named)?) };
    let mut exporter = Exporter::new(BufWriter::with_capacity(1 << 18, write)).map_err(named)?;
    let status =
        read(&arguments.input, Config::default(), Show { notices: !quiet, bar: !quiet, all: false }, |event, _, _| {
            match event {
                Event::Transaction(transaction) => exporter.transaction(transaction),
                _ => Ok(()),
            }
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
        return refused("a pcap file is nothing for a terminal: name a file, or pipe it into a program");
    }
    if !to_stdout && arguments.input.files.iter().any(|file| is_same(file, path)) {
        return refused("is read and written at once");
    }
    match path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase).as_deref() {
        Some("gz") => refused("a plain pcap file is written: use '-o - | gzip', or another name"),
        Some("zst") => refused("a plain pcap file is written: use '-o - | zstd', or another name"),
        Some("pcapng" | "ntar") => refused("a pcap file is written, not pcapng: use another name"),
        _ => Ok(()),
    }
}

fn stats(arguments: &Stats, color: Color, quiet: bool) -> Result<u8, Failure> {
    let mut counts = Counts::default();
    // The numbers say themselves what is noteworthy.
    let show = Show { notices: false, bar: !quiet, all: false };
    let (notices, summary) = read_all(&arguments.input, Config::default(), show, |event, _, _| {
        counts.event(event);
        Ok(())
    })?;
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
    let mut checker = Checker::default();
    let mut findings = if arguments.json { Findings::json() } else { Findings::text(is_coloured(color)) };
    let config = Config { transactions: false, operations: true, ..Config::default() };
    let show = Show { notices: !quiet, bar: !quiet && !io::stdout().is_terminal(), all: true };
    let mut start = Time::default();
    let (notices, summary) = read_all(&arguments.input, config, show, |event, out, first| {
        start = first;
        checker.event(event);
        while let Some(found) = checker.finding() {
            if arguments.wants(&found, first) {
                findings.finding(out, &found)?;
            }
        }
        Ok(())
    })?;
    let mut out = Vec::new();
    while let Some(found) = checker.finding() {
        if arguments.wants(&found, start) {
            findings.finding(&mut out, &found)?;
        }
    }
    // Of a file that cannot be read nothing is known, not even that no rule is broken.
    if summary.frames > 0 || !notices.unusable {
        findings.summary(&mut out, checker.counts().filter(|count| arguments.wants_rule(count.rule.slug)))?;
    }
    write(&out)?;
    Ok(match (notices.unusable, notices.damaged || findings.errors() > 0) {
        (true, _) => UNUSABLE,
        (_, true) => DAMAGED,
        _ => 0,
    })
}

/// A message may be malformed and the dump of it be right, so that is no reason for another status than 0.
fn header(arguments: &Header, color: Color, quiet: bool) -> Result<u8, Failure> {
    let text = match arguments.hex.as_slice() {
        [] => dump_from_stdin(quiet)?,
        [dash] if dash == "-" => dump_from_stdin(quiet)?,
        words => words.join(" "),
    };
    let dump = hexdump::parse(&text).map_err(|error| Failure::Said(format!("hex dump: {error}")))?;
    if dump.reversed && !quiet {
        say("hex dump: the words are in the order of a little-endian host, and were turned round");
    }
    let message = header::message(dump.octets, arguments.v2_family.map(Into::into));
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
        say("waiting for a hex dump on standard input; Ctrl-D ends it");
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

/// What is shown beside the output.
#[derive(Clone, Copy)]
struct Show {
    notices: bool,
    bar: bool,
    /// Events that were not asked for are given too: what was asked for follows from them.
    all: bool,
}

/// Reads the input and gives what is wanted of it to `take`, with the time of the first frame; then says what is
/// noteworthy. Gives the exit status.
fn read(
    input: &Input,
    config: Config,
    show: Show,
    take: impl FnMut(&Event, &mut Output, Time) -> io::Result<()>,
) -> Result<u8, Failure> {
    read_all(input, config, show, take).map(|(notices, summary)| notices.status(&summary))
}

/// As [`read`]; gives what is noteworthy, and what the frames were.
fn read_all(
    input: &Input,
    config: Config,
    show: Show,
    take: impl FnMut(&Event, &mut Output, Time) -> io::Result<()>,
) -> Result<(Notices, Summary), Failure> {
    let v2_family = input.v2_family.map(Into::into);
    let mut config = Config { verify_crc: input.verify_crc, v2_family, ..config };
    config.ports.extend(&input.port);
    let (batches, found) = Batches::new();
    let (capture, bar) = capture::open(&input.files, &batches, show.bar)?;
    let mut notices = Notices::default();
    let (shown, summary) = thread::scope(|scope| {
        let reader = scope.spawn(move || batches.fill(capture, Dissector::new(config)));
        let shown = show_all(found, (input, show), &bar, &mut notices, take);
        (shown, reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    shown?;
    bar.finish_and_clear();
    if show.notices {
        notices.lines(&summary, input.verify_crc).iter().for_each(|line| say(line));
    }
    Ok((notices, summary))
}

/// Shows what comes. When nothing is ready, all that was shown so far becomes visible.
fn show_all(
    found: Receiver<Batch>,
    (input, show): (&Input, Show),
    bar: &ProgressBar,
    notices: &mut Notices,
    mut take: impl FnMut(&Event, &mut Output, Time) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut output = Output::new();
    loop {
        let batch = match found.try_recv() {
            Ok(batch) => batch,
            Err(_) => {
                output.flush()?;
                let Ok(batch) = found.recv() else { return Ok(()) };
                batch
            }
        };
        for step in &batch.steps {
            match step {
                Step::Found(event) => {
                    notices.event(event);
                    if show.all || input.wants(event, batch.first) {
                        take(event, &mut output, batch.first)?;
                        output.whole()?;
                    }
                }
                Step::Unread(error) => {
                    notices.damaged |= error.is_damage();
                    notices.unusable |= !error.is_damage();
                    bar.suspend(|| say(&error.to_string()));
                }
            }
        }
    }
}

impl Check {
    /// Whether a finding is one of those that were asked for.
    fn wants(&self, found: &Found, first: Time) -> bool {
        self.wants_rule(found.rule.slug) && self.input.wants_rpc(found.connection, found.xid, found.stamp.time, first)
    }

    fn wants_rule(&self, slug: &str) -> bool {
        (self.rule.is_empty() || self.rule.contains(&slug)) && !self.ignore.contains(&slug)
    }
}

impl Input {
    /// Whether an event is one of those that were asked for.
    fn wants(&self, event: &Event, first: Time) -> bool {
        match event {
            Event::Message(message) => {
                let xid = message.prefix().map(|prefix| prefix.xid);
                self.wants_rpc(message.connection, xid, message.stamp.time, first)
            }
            Event::Transaction(transaction) => {
                let Transaction { connection, xid, call, reply, .. } = transaction.as_ref();
                let time = call.as_ref().or(reply.as_ref()).map(|half| half.stamp.time).unwrap_or_default();
                self.wants_rpc(*connection, Some(*xid), time, first)
            }
            Event::Connection(report) => {
                self.connection.is_empty() || report.number.is_some_and(|number| self.connection.contains(&number))
            }
            Event::Rejected(_) => self.connection.is_empty(),
            Event::Opened(_) | Event::Lost(_) | Event::Memory(_) => true,
            Event::Terminated(terminated) => self.wants_rpc(terminated.connection, None, terminated.stamp.time, first),
        }
    }

    fn wants_rpc(&self, connection: u32, xid: Option<u32>, time: Time, first: Time) -> bool {
        (self.connection.is_empty() || self.connection.contains(&connection))
            && (self.xid.is_empty() || xid.is_some_and(|xid| self.xid.contains(&xid)))
            && self.since.is_none_or(|since| time >= since.at(first))
            && self.until.is_none_or(|until| time <= until.at(first))
    }
}

/// Lines of text, with a heading where somebody watches.
struct Text {
    colour: bool,
    lines: Option<Lines>,
}

impl Text {
    fn new(color: Color) -> Self {
        Self { colour: is_coloured(color), lines: None }
    }

    fn lines(&mut self, first: Time, heading: impl FnOnce(&Lines) -> io::Result<()>) -> io::Result<&mut Lines> {
        match &mut self.lines {
            Some(lines) => Ok(lines),
            none => {
                let lines = Lines::new(self.colour, first);
                if io::stdout().is_terminal() {
                    heading(&lines)?;
                }
                Ok(none.insert(lines))
            }
        }
    }

    fn message(&mut self, out: &mut Output, message: &Message, first: Time, is_tree: bool) -> io::Result<()> {
        let colour = self.colour;
        self.lines(first, |lines| lines.message_heading(out))?.message(out, message)?;
        if is_tree { tree::write(out, message, colour) } else { Ok(()) }
    }

    fn terminated(&mut self, out: &mut Output, terminated: &Terminated, first: Time) -> io::Result<()> {
        self.lines(first, |lines| lines.message_heading(out))?.terminated(out, terminated)
    }

    fn transaction(&mut self, out: &mut Output, transaction: &Transaction, first: Time) -> io::Result<()> {
        self.lines(first, |lines| lines.transaction_heading(out))?.transaction(out, transaction)
    }
}
