//! A diagnosis for people.

use std::io;

use super::record::{CauseExample, DiagnosedCause, Diagnosis, SelectedRpcs};
use crate::format::date::{moment_of_day, time_range};
use crate::format::line::{CALL, DIM, FAULT, Line, NAME, PLAIN, REPLY, wrapped};
use crate::format::number::{counted, duration, grouped};

/// Columns of a line.
const WIDTH: usize = 80;
/// Columns before the evidence of a cause.
const INDENT: usize = 3;

/// The most lines about promises.
const PROMISES: usize = 8;

/// The capture: name, frames and time.
fn head(diagnosis: &Diagnosis) -> String {
    let frames = counted(diagnosis.frames, "frame");
    let Some((first, last)) = diagnosis.first_ns.zip(diagnosis.last_ns) else {
        return format!("{}: {frames}", diagnosis.name);
    };
    let length = duration(last.saturating_sub(first));
    format!("{}: {frames}, {} ({length})", diagnosis.name, time_range(diagnosis.time_base, first, last))
}

/// The selection, and the RPCs in it.
fn selected(diagnosis: &Diagnosis) -> Option<String> {
    let SelectedRpcs { options, rpcs, all_rpcs, throughout, .. } = diagnosis.selection.as_ref()?;
    let throughout = throughout.as_ref().map(|text| format!("; {text}")).unwrap_or_default();
    Some(format!("selected ({options}): {} of {}{throughout}", grouped(*rpcs), counted(*all_rpcs, "RPC")))
}

/// The options of the mounts, if they have the same.
fn mounted(diagnosis: &Diagnosis) -> Option<String> {
    let (first, rest) = diagnosis.mounts.split_first()?;
    let is_same = rest.iter().all(|mount| mount.options == first.options);
    (is_same && !first.options.is_empty()).then(|| format!("mount: {}", first.options))
}

/// Promises above RPC of the mounts.
fn promised(diagnosis: &Diagnosis) -> impl Iterator<Item = String> {
    let is_alone = diagnosis.mounts.len() == 1;
    let lines = diagnosis.mounts.iter().flat_map(move |mount| {
        let ends = if is_alone { String::new() } else { format!("{}: ", mount.ends) };
        mount.promises.iter().map(move |line| format!("{ends}{line}"))
    });
    lines.take(PROMISES)
}

/// The selection, the ends, the options of the mount, the number of RPCs, and their latency.
fn ends(diagnosis: &Diagnosis) -> Vec<String> {
    let selected = selected(diagnosis);
    if diagnosis.connections == 0 {
        return selected.into_iter().collect();
    }
    let end = |one: &Option<String>, count: usize, name: &str| match one {
        Some(address) => format!("{name} {address}"),
        None => counted(count as u64, name),
    };
    let client = end(&diagnosis.client, diagnosis.clients, "client");
    let server = end(&diagnosis.server, diagnosis.servers, "server");
    let connections = counted(diagnosis.connections, "connection");
    let place = match &diagnosis.captured_at[..] {
        _ if diagnosis.both_ends.is_some() => ", captured at both ends".to_owned(),
        [] => String::new(),
        places => {
            let places =
                format!(", captured at the {}", places.join(" and the ")).replace("at the between", "between them");
            let known = diagnosis.captured_at_connections;
            let of = match known < diagnosis.connections {
                true => format!(" (known of {} of {connections})", grouped(known)),
                false => String::new(),
            };
            format!("{places}{of}")
        }
    };
    let mut text = format!("{}, ", counted(diagnosis.rpcs, "RPC"));
    match (diagnosis.without_reply, diagnosis.without_call) {
        (0, 0) => text.push_str("all answered"),
        (replies, 0) => text.push_str(&format!("{} without a reply", grouped(replies))),
        (replies, calls) => {
            text.push_str(&format!("{} without a reply, {} without a call", grouped(replies), grouped(calls)));
        }
    }
    if let Some(both) = diagnosis.both_ends {
        text.push_str(&format!("; {}", both.medians()));
    } else if let Some(latency) = diagnosis.latency {
        text.push_str(&match latency.percentiles() {
            Some(percentiles) => {
                let [median, most] = percentiles.map(duration);
                format!("; median {median}, 99th percentile {most}")
            }
            None if diagnosis.rpcs == 1 => format!("; it took {}", duration(latency.max_ns)),
            None => format!("; the only known latency is {}", duration(latency.max_ns)),
        });
    }
    let ends = format!("{client}, {server}, {connections}{place}");
    let end = |one: &Option<String>, name: &str| match one {
        Some(address) => format!("{name} {address}"),
        None => format!("{name}s"),
    };
    let parts = diagnosis.both_ends.and_then(|both| both.parts);
    let parts = parts
        .map(|parts| parts.sentences(&end(&diagnosis.client, "client"), &end(&diagnosis.server, "server")).join(" "));
    selected
        .into_iter()
        .chain([ends])
        .chain(mounted(diagnosis))
        .chain([text])
        .chain(parts)
        .chain(promised(diagnosis))
        .collect()
}

impl Diagnosis {
    /// Writes the diagnosis in lines of at most 80 columns, apart from commands.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write_text(&self, out: &mut impl io::Write, colour: bool) -> io::Result<()> {
        let mut page = Page { out, colour };
        page.paragraph(0, NAME, &head(self))?;
        self.opening().iter().try_for_each(|text| page.paragraph(0, NAME, text))?;
        ends(self).iter().try_for_each(|text| page.paragraph(0, PLAIN, text))?;
        page.blank()?;
        if self.causes.is_empty() {
            page.paragraph(0, REPLY, &self.nothing_stands_out())?;
        }
        for (cause, number) in self.causes.iter().zip(1..) {
            if number > 1 {
                page.blank()?;
            }
            page.cause(cause, number)?;
        }
        if !self.limits.is_empty() {
            page.blank()?;
            page.paragraph(0, DIM, "What the capture cannot show:")?;
        }
        self.limits.iter().try_for_each(|text| page.paragraph(INDENT, DIM, text))
    }

    /// The opening, the capture, the ends and the RPCs: a sentence each.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        self.opening().into_iter().chain([head(self)]).chain(ends(self)).collect()
    }

    /// Words for a diagnosis without a cause.
    #[must_use]
    pub fn nothing_stands_out(&self) -> String {
        if let Some(selection) = &self.selection
            && selection.is_empty
        {
            return format!("No RPC matches {}: nothing is said about the capture.", selection.options);
        }
        if let Some(gap) = &self.gap {
            return format!("No cause was found, but {gap}.");
        }
        let part = if self.selection.is_some() { " in this selection" } else { "" };
        match self.latency.map(|latency| (latency.max_ns, latency.percentiles())) {
            Some((_, Some(percentiles))) => {
                let [median, most] = percentiles.map(duration);
                format!("Nothing stands out{part}: the median latency is {median}, the 99th percentile {most}.")
            }
            Some((only, None)) => format!("Nothing stands out{part}: the only known latency is {}.", duration(only)),
            None => "No cause was found, but the capture shows no latency.".to_owned(),
        }
    }
}

/// Lines of a diagnosis.
struct Page<'a, W> {
    out: &'a mut W,
    colour: bool,
}

impl<W: io::Write> Page<'_, W> {
    fn blank(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")
    }

    fn paragraph(&mut self, indent: usize, style: anstyle::Style, text: &str) -> io::Result<()> {
        for text in wrapped(text, WIDTH - indent) {
            Line::new(self.colour, usize::MAX).with(PLAIN, &" ".repeat(indent)).with(style, &text).write(self.out)?;
        }
        Ok(())
    }

    fn cause(&mut self, cause: &DiagnosedCause, number: usize) -> io::Result<()> {
        let (title, owner) = (format!("{number}. {}", cause.title), format!("({})", cause.weight()));
        let mut line = Line::new(self.colour, WIDTH);
        line.push(FAULT, &title);
        if owner.chars().count() < line.room() {
            line.print(PLAIN, format_args!(" {owner}"));
            line.write(self.out)?;
        } else {
            line.write(self.out)?;
            self.paragraph(INDENT, PLAIN, &owner)?;
        }
        if let Some(text) = cause.falls_on() {
            self.paragraph(INDENT, PLAIN, &text)?;
        }
        cause.evidence.iter().try_for_each(|text| self.paragraph(INDENT, PLAIN, text))?;
        if let Some(introduction) = cause.examples_are() {
            let frames: Vec<String> = cause.examples.iter().map(CauseExample::shown).collect();
            let since = cause.since().map(|since| format!("Since {since}. ")).unwrap_or_default();
            self.paragraph(INDENT, PLAIN, &format!("{since}{introduction}: {}", frames.join(", ")))?;
        }
        Line::new(self.colour, usize::MAX).with(DIM, "   $ ").with(CALL, &cause.command).write(self.out)
    }
}

impl DiagnosedCause {
    /// The owner and the share of the cause, in words.
    #[must_use]
    pub fn weight(&self) -> String {
        let owner = self.owner_in_words();
        match self.share {
            Some(share) => format!("{owner}: {} of the waiting time", percent(share)),
            None => owner,
        }
    }

    /// The owner, with the address if known.
    pub(super) fn owner_in_words(&self) -> String {
        match (self.owner, &self.owner_address) {
            (Some(owner), Some(address)) => format!("{owner} {address}"),
            (Some(owner), None) => format!("the {owner}"),
            (None, _) => "one of the ends".to_owned(),
        }
    }

    /// The operation, file, client and server with most of the cause, as a sentence.
    #[must_use]
    pub fn falls_on(&self) -> Option<String> {
        let called = match (&self.operation, &self.file) {
            (Some(operation), Some(file)) => Some(format!("{operation} of {file}")),
            (Some(operation), None) => Some(operation.clone()),
            (None, file) => file.as_ref().map(|file| format!("file {file}")),
        };
        let ends = [("client", &self.client), ("server", &self.server), ("user", &self.user)];
        let ends = ends.into_iter().filter_map(|(name, end)| end.as_ref().map(|end| format!("{name} {end}")));
        let parts: Vec<String> = called.into_iter().chain(ends).collect();
        (!parts.is_empty()).then(|| format!("Mostly {}.", parts.join(", ")))
    }

    /// Words before the [examples](Self::examples): their number if there are more, and their order. `None` without any.
    #[must_use]
    pub fn examples_are(&self) -> Option<String> {
        let shown = self.examples.len() as u64;
        let first = self.examples.first()?;
        let rpcs = self.rpcs.filter(|rpcs| *rpcs > shown).map(|rpcs| format!(", {shown} of {} RPCs", grouped(rpcs)));
        let order = if first.waiting_ns.is_some() && shown > 1 { ", longest wait first" } else { "" };
        Some(format!("Frames{}{order}", rpcs.unwrap_or_default()))
    }

    /// Time of day at which the cause began, as text; `None` if that is not known.
    #[must_use]
    pub fn since(&self) -> Option<String> {
        self.since_ns.map(|since| moment_of_day(self.time_base, since))
    }
}

impl CauseExample {
    /// The number of the frame, and the time if known.
    #[must_use]
    pub fn shown(&self) -> String {
        let time = self.waiting_ns.map(|time| format!(" ({})", duration(time))).unwrap_or_default();
        format!("{}{time}", self.frame)
    }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 1.0 { "less than 1 %".to_owned() } else { format!("{percent:.0} %") }
}
