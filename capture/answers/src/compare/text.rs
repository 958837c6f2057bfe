//! Two captures side by side, as text.

use std::{fmt, io};

use super::chance::Chance;
use super::fault::{FaultChange, FaultOutcome};
use super::operation::{ComparandObject, ComparedOperation, FaultsObject, Outcome};
use super::total::ComparedTotal;
use super::{ComparedRule, Comparison};
use crate::format::line::{DIM, FAULT, Line, NAME, PLAIN, REPLY, WARNING, wrapped};
use crate::format::number::{counted, grouped};
use crate::stats::Forms;

/// Columns of a line.
const WIDTH: usize = 120;
/// Columns of an operation's name.
const OPERATION: usize = 24;
/// Columns of the name of a fault.
const FAULT_NAME: usize = 30;
/// Before what else changed of an operation.
const INDENT: &str = "    ";

impl Comparison {
    /// Writes a table, in lines of at most 120 columns.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write_text(&self, out: &mut impl io::Write, colour: bool) -> io::Result<()> {
        self.total.write_text(out, colour)?;
        let mut line = Line::new(colour, WIDTH);
        line.column(DIM, "operation", OPERATION);
        line.push(DIM, "           RPCs             median, ms  change  chance                99 %, ms  chance");
        line.write(out)?;
        for operation in &self.operations {
            operation.line(out, colour)?;
            let mut changes = operation.changes();
            if operation.may_be_chance() {
                changes.insert(0, format!("may be chance, among {}", counted(self.tests as u64, "test")));
            }
            for text in wrapped(&changes.join("; "), WIDTH - INDENT.len()) {
                Line::new(colour, WIDTH).with(DIM, INDENT).with(PLAIN, &text).write(out)?;
            }
        }
        if self.left_out > 0 {
            let text = format!("{} RPCs of other operations left out", self.left_out);
            Line::new(colour, WIDTH).with(DIM, &text).write(out)?;
        }
        for finding in &self.findings {
            let style = if finding.is_new_error() { FAULT } else { PLAIN };
            let ComparedRule { rule, severity, before, after, .. } = finding;
            let text = format!("{rule} ({severity}): {before} before, {after} after");
            Line::new(colour, WIDTH).with(style, &text).write(out)?;
        }
        Ok(())
    }
}

impl ComparedTotal {
    /// Writes a line for each fault, whether there is any or not, and one for what is not known, if there is any.
    fn write_text(&self, out: &mut impl io::Write, colour: bool) -> io::Result<()> {
        let (before, after) = (&self.before, &self.after);
        let names = ["calls without a reply", "RPCs that failed", "RPCs with retransmissions"];
        let faults = names.into_iter().zip(self.changes.of_sides(&before.faults, &after.faults));
        let packets = [before, after].map(|side| (side.retransmitted_packets, side.packets));
        for (name, (sides, change)) in faults.chain([("packets retransmitted", (packets, FaultChange::UNKNOWN))]) {
            let [before, after] = sides.map(|(part, whole)| format!("{} of {}", grouped(part), grouped(whole)));
            let mut line = Line::new(colour, WIDTH);
            line.column(NAME, name, FAULT_NAME);
            line.print(PLAIN, format_args!("{before:>16} → {after:>16}"));
            if change != FaultChange::UNKNOWN {
                line.print(DIM, format_args!("  {}", change.significance.name()));
                let (style, verdict) = verdict(change.outcome);
                line.push(style, verdict);
                if change.outcome == FaultOutcome::Worse && !self.regression {
                    line.push(DIM, " (may be chance)");
                }
            }
            line.write(out)?;
        }
        for text in untold(&before.faults, &after.faults) {
            Line::new(colour, WIDTH).with(DIM, &text).write(out)?;
        }
        Ok(())
    }
}

/// RPCs of which something is not known.
fn untold(before: &FaultsObject, after: &FaultsObject) -> Vec<String> {
    let pair = |name: &str, of: fn(&FaultsObject) -> u64| {
        let (before, after) = (of(before), of(after));
        (before + after > 0).then(|| format!("{name} {} → {}", grouped(before), grouped(after)))
    };
    let waiting = pair("still waiting when the capture ended", |faults| faults.waiting);
    let latency = pair("latency not known", |faults| faults.latency_unknown);
    [waiting, latency].into_iter().flatten().collect()
}

const fn verdict(outcome: FaultOutcome) -> (anstyle::Style, &'static str) {
    match outcome {
        FaultOutcome::Worse => (FAULT, "  worse"),
        FaultOutcome::Better => (REPLY, "  better"),
        FaultOutcome::Same | FaultOutcome::Unknown => (PLAIN, ""),
    }
}

impl ComparedOperation {
    /// Returns the changes besides the latency: faults first, then the transport of the RPCs. A change in the number of
    /// RPCs is not counted.
    fn changes(&self) -> Vec<String> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return Vec::new() };
        let mut changes = self.changed_faults(&before.faults, &after.faults);
        changes.extend(untold(&before.faults, &after.faults));
        for (name, before, after) in
            [("calls", before.calls_sent, after.calls_sent), ("replies", before.replies_sent, after.replies_sent)]
        {
            if !before.is_in_proportion_to(after) {
                changes.push(format!("{name} {before} → {after}"));
            }
        }
        for (name, octets, octets_after) in [
            ("RDMA Read", before.rdma_read_octets, after.rdma_read_octets),
            ("RDMA Write", before.rdma_write_octets, after.rdma_write_octets),
        ] {
            let (octets, octets_after) =
                (Share { part: octets, whole: before.rpcs }, Share { part: octets_after, whole: after.rpcs });
            if is_changed(octets, octets_after) {
                let [mean, mean_after] =
                    [octets, octets_after].map(|octets| grouped(octets.part.checked_div(octets.whole).unwrap_or(0)));
                changes.push(format!("{name} {mean} → {mean_after} bytes per RPC"));
            }
        }
        changes
    }

    fn changed_faults(&self, before: &FaultsObject, after: &FaultsObject) -> Vec<String> {
        let names = ["no reply", "failed", "RPCs with retransmissions"];
        let faults = names.into_iter().zip(self.faults.of_sides(before, after));
        let share = |&(part, whole): &(u64, u64)| Share { part, whole };
        let changed = faults.filter(|(_, ([before, after], _))| is_changed(share(before), share(after)));
        let texts = changed.map(|(name, ([(before, _), (after, _)], change))| {
            format!("{name} {before} → {after} ({}){}", change.significance.name(), verdict(change.outcome).1)
        });
        texts.collect()
    }

    fn line(&self, out: &mut impl io::Write, colour: bool) -> io::Result<()> {
        let sides = [&self.before, &self.after];
        let rpcs = sides.map(|side| side.as_ref().map_or("-".to_owned(), |side| side.rpcs.to_string()));
        let milliseconds = |nanoseconds: u64| format!("{:.3}", nanoseconds as f64 / 1e6);
        let time = |of: fn(&ComparandObject) -> Option<u64>| {
            sides.map(|side| side.as_ref().and_then(of).map_or("-".to_owned(), milliseconds))
        };
        let (medians, p99s) = (time(|side| side.p50_ns), time(|side| side.p99_ns));
        let change = self.p50_change.map_or("-".to_owned(), |change| format!("{:+.0} %", change * 100.0));
        let (style, outcome) = match self.outcome {
            Outcome::Worse => (FAULT, "worse"),
            Outcome::Slower => (FAULT, "slower"),
            Outcome::Better => (REPLY, "better"),
            Outcome::Faster => (REPLY, "faster"),
            Outcome::Same => (PLAIN, ""),
            Outcome::Unknown => (DIM, ""),
            Outcome::Gone => (WARNING, "only before"),
            Outcome::New => (WARNING, "only after"),
        };
        let is_compared = !matches!(self.outcome, Outcome::Gone | Outcome::New);
        // The heading of the column says what `p` is.
        let chance = |chance: Chance| if is_compared { chance.name().trim_start_matches("p ") } else { "" };
        let mut line = Line::new(colour, WIDTH);
        line.column(NAME, &self.operation, OPERATION);
        let [before, after] = rpcs;
        line.print(PLAIN, format_args!("{before:>6} → {after:>6}  "));
        let [before, after] = medians;
        line.print(PLAIN, format_args!("{before:>9} → {after:>9}  "));
        line.print(style, format_args!("{change:>6}  "));
        line.print(DIM, format_args!("{:<7}  ", chance(self.significance)));
        let [before, after] = p99s;
        line.print(PLAIN, format_args!("{before:>9} → {after:>9}  "));
        let tail = chance(self.p99_significance);
        match (is_compared, outcome) {
            (true, "") => line.push(DIM, tail),
            (true, _) => line.print(DIM, format_args!("{tail:<7}  ")),
            (false, _) => {}
        }
        line.push(style, outcome);
        line.write(out)
    }
}

/// A part of a whole.
#[derive(Clone, Copy)]
struct Share {
    part: u64,
    whole: u64,
}

/// Returns true if the share differs before and after. A whole of nothing never differs.
fn is_changed(before: Share, after: Share) -> bool {
    u128::from(before.part) * u128::from(after.whole) != u128::from(after.part) * u128::from(before.whole)
}

impl Forms {
    const fn each(self) -> [(u64, &'static str); 4] {
        let Self { short, chunked, long, continued } = self;
        [(short, "short"), (chunked, "chunked"), (long, "long"), (continued, "continued")]
    }

    fn is_in_proportion_to(self, other: Self) -> bool {
        let sum = |forms: Self| forms.each().iter().map(|(many, _)| many).sum();
        let (whole, other_whole) = (sum(self), sum(other));
        let pairs = self.each().into_iter().zip(other.each());
        let is_changed = |part, other| is_changed(Share { part, whole }, Share { part: other, whole: other_whole });
        !pairs.into_iter().any(|((many, _), (other, _))| is_changed(many, other))
    }
}

impl fmt::Display for Forms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.each().into_iter().filter(|(many, _)| *many > 0);
        for (index, (many, form)) in there.enumerate() {
            write!(f, "{}{many} {form}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
