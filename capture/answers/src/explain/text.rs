//! An RPC in sections of text: a sequence diagram, where the time went, what was asked for, what is wrong, the messages.

use std::io;

use anstyle::Style;
use rpcrdma_dissector::{Files, OperationArguments, Phase, Recovered, Transaction};

use super::diagram::{Arrow, DiagramStep, DiagramStepKind, diagram_steps, notes};
use super::{ExplainedRpc, TryPlace};
use crate::called::{called_within, ended, nfs_status};
use crate::file_names::{FileNames, escaped, hash, server};
use crate::format::line::{CALL, CHUNK, DIM, FAULT, Line, NAME, PLAIN, REPLY, WARNING, severity_style, wrapped};
use crate::format::number::{Milliseconds, grouped};
use crate::messages::tree;
use crate::operation_text::{fields, hexadecimal};
use crate::pending::PendingCall;
use crate::slow::{divided, done, recovered};
use crate::tries::try_end;

/// The fewest columns that there is room in, and the most that are of use.
const WIDTHS: core::ops::RangeInclusive<usize> = 80..=120;
/// Columns of the milliseconds in a sequence diagram.
const MILLISECONDS: usize = 11;
/// Columns of the name of a phase.
const NAMES: usize = 12;

/// Writes an RPC in at most `width` columns, except for the fields of messages; `names` are those of files. Fewer than 80
/// columns count as 80, and more than 120 as 120.
///
/// # Errors
/// Any error from writing to `out`.
pub fn lines(
    out: &mut impl io::Write,
    rpc: &ExplainedRpc,
    files: &Files,
    names: &FileNames,
    width: usize,
    colour: bool,
) -> io::Result<()> {
    let width = width.clamp(*WIDTHS.start(), *WIDTHS.end());
    let mut sections = Sections { out, files, width, colour };
    sections.heading(&rpc.transaction)?;
    sections.one_of_tries(rpc)?;
    sections.diagram(rpc)?;
    sections.waiting(&rpc.transaction)?;
    sections.time(&rpc.transaction)?;
    sections.operations(&rpc.transaction, names)?;
    sections.findings(rpc)?;
    sections.messages(rpc)
}

/// Destination of the sections of an RPC.
struct Sections<'a, W> {
    out: &'a mut W,
    files: &'a Files,
    width: usize,
    colour: bool,
}

impl<W: io::Write> Sections<'_, W> {
    fn line(&self) -> Line {
        Line::new(self.colour, self.width)
    }

    fn title(&mut self, title: &str) -> io::Result<()> {
        writeln!(self.out)?;
        self.styled(NAME, title)
    }

    fn styled(&mut self, style: Style, text: &str) -> io::Result<()> {
        self.line().with(style, text).write(self.out)
    }

    /// A text in lines that begin with spaces.
    fn paragraph(&mut self, style: Style, indent: usize, text: &str) -> io::Result<()> {
        for text in wrapped(text, self.width - indent) {
            self.styled(style, &format!("{:indent$}{text}", ""))?;
        }
        Ok(())
    }

    fn heading(&mut self, transaction: &Transaction) -> io::Result<()> {
        let Transaction { connection, xid, from, to, .. } = *transaction;
        let mut line = self.line();
        line.print(NAME, format_args!("{xid:#010x}  "));
        let notes = ended(transaction);
        let noted: usize = notes.iter().map(|(_, note)| note.chars().count() + 2).sum();
        let latency =
            transaction.latency().map(|latency| format!("  {} ms", Milliseconds(latency))).unwrap_or_default();
        let room = line.room().saturating_sub(noted + latency.chars().count());
        line.push_within(NAME, &called_within(room, transaction), room);
        line.push(PLAIN, &latency);
        line.notes(&notes);
        line.write(self.out)?;
        let (calling, answering) = (transaction.calling_end(), transaction.answering_end());
        self.styled(PLAIN, &format!("connection {connection}, {calling} {from}, {answering} {to}"))
    }

    /// The place of a try among the tries of the RPC, and what ended the try.
    fn one_of_tries(&mut self, rpc: &ExplainedRpc) -> io::Result<()> {
        let Some(TryPlace { number, count, .. }) = rpc.try_of else { return Ok(()) };
        let ended = try_end(&rpc.transaction);
        self.paragraph(WARNING, 0, &format!("try {number} of {count}: {ended}"))
    }

    fn waiting(&mut self, transaction: &Transaction) -> io::Result<()> {
        let Some(call) = PendingCall::from_transaction(transaction) else { return Ok(()) };
        self.title("Waiting")?;
        self.paragraph(WARNING, 2, &call.owed())?;
        self.paragraph(DIM, 2, &call.last_steps(self.files))
    }

    fn diagram(&mut self, rpc: &ExplainedRpc) -> io::Result<()> {
        let steps = diagram_steps(&rpc.transaction);
        if steps.is_empty() {
            return Ok(());
        }
        let widest = steps.iter().map(|step| step.frames().chars().count()).max().unwrap_or_default();
        let frames = widest.max("frames".len());
        let inner = self.width.saturating_sub(frames + 2 * MILLISECONDS + 4);
        writeln!(self.out)?;
        let mut line = self.line();
        line.print(DIM, format_args!("{:>frames$}{:>MILLISECONDS$}{:>MILLISECONDS$}  ", "frames", "ms", "+ms"));
        let (left, right) = (rpc.transaction.calling_end(), rpc.transaction.answering_end());
        line.print(DIM, format_args!("{left:<width$}{right}", width = (inner + 2).saturating_sub(right.len())));
        line.write(self.out)?;
        let latency = rpc.transaction.latency().unwrap_or(u64::MAX);
        let mut places = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let mut line = self.line();
            line.print(DIM, format_args!("{:>frames$}", step.frames()));
            line.print(PLAIN, format_args!("{:>MILLISECONDS$}", Milliseconds(step.at)));
            let since = if index == 0 { String::new() } else { Milliseconds(step.since).to_string() };
            // A tenth of the latency is where the time went.
            let style = if step.since >= latency / 10 && step.since > 0 { WARNING } else { DIM };
            line.print(style, format_args!("{since:>MILLISECONDS$}"));
            line.push(DIM, "  │");
            push_arrow(&mut line, step, inner);
            line.push(DIM, "│");
            line.write(self.out)?;
            places.extend(self.files.place(step.first.frame).filter(|_| index == 0 || index + 1 == steps.len()));
        }
        if !places.is_empty() {
            self.paragraph(DIM, 0, &format!("files of the first and last frame: {}", places.join(", ")))?;
        }
        for note in notes(&steps) {
            self.paragraph(DIM, 0, note)?;
        }
        self.after(rpc)
    }

    /// Writes the events after the end of the RPC.
    fn after(&mut self, rpc: &ExplainedRpc) -> io::Result<()> {
        for Recovered { stamp, from, kind, .. } in &rpc.after {
            let text = format!("after it was over: {} in frame {}, by {from}", kind.name(), stamp.frame);
            self.paragraph(WARNING, 0, &text)?;
        }
        Ok(())
    }

    fn time(&mut self, transaction: &Transaction) -> io::Result<()> {
        if transaction.reply.is_none() {
            return Ok(());
        }
        self.title("Time")?;
        let phases = match &transaction.phases {
            Ok(phases) => phases,
            Err(reason) => {
                let what = if transaction.latency().is_none() { "latency and phases" } else { "phases" };
                return self.paragraph(WARNING, 2, &format!("{what} unknown: {reason}"));
            }
        };
        let total = phases.total().max(1);
        let recovery = transaction.recovery.as_ref();
        for phase in Phase::ALL.into_iter().filter(|phase| phases.phase_time(*phase) > 0) {
            let time = phases.phase_time(phase);
            let mut line = self.line();
            line.print(
                PLAIN,
                format_args!("  {:<NAMES$}{:>10} ms", transaction.phase_title(phase), Milliseconds(time)),
            );
            line.print(DIM, format_args!("{:>6.1} %", time as f64 * 100.0 / total as f64));
            let lost = recovery.map(|recovery| recovery.phases.phase_time(phase)).unwrap_or_default();
            if lost > 0 {
                line.print(WARNING, format_args!("  {} ms of it recovery", Milliseconds(lost)));
            }
            line.write(self.out)?;
        }
        divided(transaction).iter().try_for_each(|text| self.paragraph(PLAIN, 2, text))?;
        match recovery.map(|recovery| (recovery, done(recovery))) {
            Ok((_, done)) if done.is_empty() => Ok(()),
            Ok((recovery, done)) => self.paragraph(WARNING, 2, &recovered(recovery, &done)),
            Err(reason) => self.paragraph(WARNING, 2, &format!("recovery unknown: {reason}")),
        }
    }

    fn operations(&mut self, transaction: &Transaction, names: &FileNames) -> io::Result<()> {
        let arguments = transaction.arguments();
        if arguments.is_empty() {
            return Ok(());
        }
        self.title(if transaction.operations.is_empty() { "Procedure" } else { "Operations" })?;
        let statuses: Vec<_> = arguments.iter().map(|argument| status(transaction, argument)).collect();
        let named = arguments.iter().map(|argument| argument.name.len() + 2).max().unwrap_or_default();
        let columns = statuses.iter().map(|(_, status)| status.chars().count()).max().unwrap_or_default();
        for (argument, (style, status)) in arguments.iter().zip(&statuses) {
            let words = words(argument, &|handle| names.shown(server(transaction), handle));
            let indent = named + columns + 4;
            let mut words = wrapped(&words, self.width - indent.min(self.width / 2)).into_iter();
            let mut line = self.line();
            line.column(PLAIN, &format!("  {}", argument.name), named + 2);
            line.column(*style, status, columns + 2);
            line.push(PLAIN, &words.next().unwrap_or_default());
            line.write(self.out)?;
            words.try_for_each(|rest| self.styled(PLAIN, &format!("{:indent$}{rest}", "")))?;
        }
        Ok(())
    }

    fn findings(&mut self, rpc: &ExplainedRpc) -> io::Result<()> {
        if rpc.findings.is_empty() {
            return Ok(());
        }
        self.title("Rules that it breaks")?;
        for found in &rpc.findings {
            let mut line = self.line();
            line.print(severity_style(found.severity), format_args!("  {} ", found.severity.name()));
            line.push(NAME, found.rule.slug);
            line.print(PLAIN, format_args!(", by {}, in frame {}", found.broken_by(), found.stamp.frame));
            line.write(self.out)?;
            self.paragraph(PLAIN, 4, &format!("{} ({})", found.message, found.rule.section))?;
        }
        Ok(())
    }

    fn messages(&mut self, rpc: &ExplainedRpc) -> io::Result<()> {
        for message in &rpc.messages {
            let name = message.type_name().unwrap_or("a message that cannot be read");
            self.title(&format!("{name} from {} in frame {}", message.from, message.stamp.frame))?;
            tree::write(self.out, message, self.colour)?;
        }
        Ok(())
    }
}

/// Draws the arrow of a line from one end to the other, or a statement of one end.
fn push_arrow(line: &mut Line, step: &DiagramStep, inner: usize) {
    let style = match step.kind {
        DiagramStepKind::Message if step.arrow == Arrow::Right => CALL,
        DiagramStepKind::Message => REPLY,
        DiagramStepKind::Data => CHUNK,
        DiagramStepKind::Acknowledgement | DiagramStepKind::LeftOut => DIM,
        DiagramStepKind::Loss => WARNING,
    };
    let label = step.label_within(inner.saturating_sub(4));
    let rest = inner.saturating_sub(label.chars().count() + 3);
    let drawn = match step.arrow {
        Arrow::Right => format!(" {label} {}▶", "─".repeat(rest)),
        Arrow::Left => format!("◀{} {label} ", "─".repeat(rest)),
        Arrow::ClientSilent => format!(" {label:<width$}", width = inner.saturating_sub(1)),
        Arrow::ServerSilent => format!("{label:>width$} ", width = inner.saturating_sub(1)),
        Arrow::LeftOut => format!("{:^inner$}", format!("⋮ {label} ⋮")),
    };
    line.push_within(style, &drawn, inner);
}

/// Returns the outcome of an operation.
fn status(transaction: &Transaction, argument: &OperationArguments<'_>) -> (Style, String) {
    let (Some(code), Some(procedure)) = (argument.status, transaction.procedure) else { return (DIM, String::new()) };
    (if code == 0 { DIM } else { FAULT }, nfs_status(Some(procedure), transaction.callback, code))
}

/// The arguments of an operation, in words.
fn words(argument: &OperationArguments<'_>, name: &dyn Fn(&[u8]) -> Option<String>) -> String {
    let OperationArguments { handle, file_name, new_file_name, offset, count, stateid, .. } = *argument;
    let file = |handle: &[u8]| {
        let name = name(handle).map(|name| format!(" (\"{name}\")")).unwrap_or_default();
        format!("handle {:#010x}{name}", hash(handle))
    };
    let words = [
        file_name.map(|name| format!("\"{}\"", escaped(name))),
        new_file_name.map(|name| format!("to \"{}\"", escaped(name))),
        offset.map(|offset| format!("offset {}", grouped(offset))),
        count.map(|count| format!("count {}", grouped(u64::from(count)))),
        handle.map(file),
        stateid.map(|stateid| format!("stateid {}", hexadecimal(stateid))),
    ];
    words.into_iter().flatten().chain(fields(argument)).collect::<Vec<_>>().join(", ")
}
