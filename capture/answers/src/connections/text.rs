//! Requests for connections, connections and moves of addresses as lines of text.

use std::io;

use rpcrdma_dissector::{AddressMoved, Carrier, CarrierTerms, Side, Stamp};

use super::life::{ConnectionLife, KnownConnection, LifeEnd, RequestAnswer};
use super::{ConnectionItem, ConnectionLives};
use crate::format::column::{Column, TextColumn, push};
use crate::format::line::{DIM, Line, PLAIN, WARNING, wrapped};
use crate::format::number::{self, counted, duration};
use crate::format::screen::Screen;
use crate::format::time::ShownTimes;
use crate::stats::{Inline, credits_of};

/// Columns of a line.
const WIDTH: usize = 120;
/// Columns before further lines about a connection.
const INDENT: usize = 18;

/// Form of the lines.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionForm {
    /// The screen.
    pub screen: Screen,
    /// Form of the times.
    pub times: ShownTimes,
    /// True to write the terms of each connection.
    pub has_terms: bool,
}

/// Content of the first line about a request or a connection.
struct LifeLine<'a> {
    life: &'a ConnectionLife,
    times: ShownTimes,
}

impl ConnectionLives {
    /// Writes a line for each request and connection in time order: frame, seconds, connection, the ends, how often it was asked for, RPCs, and
    /// what became of it. Further lines have more, and the terms of the connection if they are wanted.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write_text(&self, out: &mut impl io::Write, form: ConnectionForm) -> io::Result<()> {
        let columns = columns(&self.lives, form.times);
        let items = self.items();
        if items.is_empty() {
            return Ok(());
        }
        let width = form.screen.within(WIDTH);
        let mut heading = Line::new(form.screen.colour, width);
        heading.headings(&columns);
        heading.write(out)?;
        for item in items {
            match item {
                ConnectionItem::Life(life) => {
                    let mut line = Line::new(form.screen.colour, usize::MAX);
                    line.cells(&columns, &LifeLine { life, times: form.times });
                    line.write(out)?;
                    indented(out, form.screen, &details(life, form.times), false)?;
                    if form.has_terms
                        && let Some(known) = &life.known
                    {
                        indented(out, form.screen, &terms(life, known), false)?;
                    }
                }
                ConnectionItem::Move(moved) => {
                    let time = form.times.column(moved.stamp.time);
                    let mut line = Line::new(form.screen.colour, usize::MAX);
                    line.print(DIM, format_args!("{:>6} {time} ", moved.stamp.frame));
                    line.push(WARNING, &moved_to(moved));
                    line.write(out)?;
                }
            }
        }
        for pair in &self.flapping {
            indented(out, form.screen, &[pair.sentences().join(" ")], true)?;
        }
        Ok(())
    }
}

/// The columns of the first line about each of these requests and connections.
fn columns<'a>(lives: &[ConnectionLife], times: ShownTimes) -> [Column<LifeLine<'a>>; 7] {
    let ends = lives.iter().map(|life| pair(life).chars().count()).max().unwrap_or_default();
    let width = times.heading().chars().count();
    [
        Column::right("frame", &["frame"], 6, DIM, |row, _, text| push(text, Some(row.life.began.frame))),
        Column::right(times.heading().trim_start(), &["time_ns"], width, DIM, |row, _, text| {
            push(text, Some(row.times.column(row.life.began.time)));
        }),
        Column::right("C", &["connection"], 2, DIM, |row, _, text| push(text, row.life.number)),
        Column::left("client → server", &["client", "server", "port"], ends.max(15), PLAIN, |row, _, text| {
            text.push_str(&pair(row.life))
        }),
        Column::right("asked", &["asked_times"], 5, PLAIN, |row, _, text| {
            push(text, row.life.asked.map(|asked| asked.times))
        }),
        Column::right("RPCs", &["rpcs"], 6, PLAIN, |row, _, text| {
            push(text, row.life.number.map(|_| row.life.calls.all));
        }),
        Column::left("what became of it", &["answer", "rejection", "state", "end.by"], 0, PLAIN, |row, _, text| {
            text.push_str(&outcome(row.life))
        }),
    ]
}

pub(crate) fn text_columns() -> Vec<TextColumn> {
    TextColumn::list_columns(&columns(&[], ShownTimes::default()))
}

/// Client, server and port.
fn pair(life: &ConnectionLife) -> String {
    let port = life.port().map(|port| format!(" port {port}")).unwrap_or_default();
    format!("{} → {}{port}", life.client, life.server)
}

/// The move of an address, in words.
fn moved_to(moved: &AddressMoved) -> String {
    let AddressMoved { address, from, to, .. } = moved;
    format!("{address} moved to another MAC address: {to}, before {from}")
}

/// Nanoseconds between two moments, in words.
fn between(from: Stamp, to: Stamp) -> String {
    duration(to.time.0.saturating_sub(from.time.0))
}

/// The outcome of a request, or the state of a connection.
fn outcome(life: &ConnectionLife) -> String {
    match (life.answer, life.end) {
        (RequestAnswer::Rejected(_, kind), _) => format!("rejected: {kind}"),
        (RequestAnswer::Received, _) => {
            let how = if life.carrier == Some(Carrier::Iwarp) { "TCP" } else { "MRA" };
            format!("received by the server ({how}), not decided")
        }
        (RequestAnswer::None, LifeEnd::Never) => "no answer".to_owned(),
        (_, LifeEnd::EndedBy { by, how, .. }) => {
            let unanswered = match life.calls.unanswered {
                0 => String::new(),
                calls => format!(", {} without a reply", counted(calls, "call")),
            };
            format!("ended by the {} ({}){unanswered}", ConnectionLife::role(by), how.name())
        }
        (_, LifeEnd::NotCaptured) => "over, its end was not captured".to_owned(),
        _ => "open".to_owned(),
    }
}

/// Sentences about a request or a connection, below the first line.
fn details(life: &ConnectionLife, times: ShownTimes) -> Vec<String> {
    let mut details = vec![setting_up(life)];
    details.extend(use_of(life, times));
    details.extend(ending(life, times));
    details.into_iter().filter(|text| !text.is_empty()).collect()
}

/// The setup in words.
fn setting_up(life: &ConnectionLife) -> String {
    let repeated = life.asked.filter(|asked| asked.times > 1).map(|asked| {
        let count = number::times(asked.times.into());
        format!("asked {count} in {}, up to frame {}", between(asked.first, asked.last), asked.last.frame)
    });
    let answered = life.answer.stamp().zip(life.asked).map(|(answer, asked)| {
        let done = if matches!(life.answer, RequestAnswer::Rejected(..)) { "rejected" } else { "accepted" };
        match answer.time.0.saturating_sub(asked.last.time.0) {
            0 => format!("{done} at once (frame {})", answer.frame),
            _ => format!("{done} {} later (frame {})", between(asked.last, answer), answer.frame),
        }
    });
    let refused = life
        .is_private_data_refused
        .then(|| "private data refused: a later request without private data was accepted".to_owned());
    let established = life.established().map(|stamp| format!("established in frame {}", stamp.frame));
    let missing = (life.answer == RequestAnswer::NotCaptured).then(|| "setup not captured".to_owned());
    let parts: Vec<_> = [repeated, answered, refused, established, missing].into_iter().flatten().collect();
    parts.join("; ")
}

/// The messages in words.
fn use_of(life: &ConnectionLife, times: ShownTimes) -> Option<String> {
    let (first, last) = life.activity.first.zip(life.activity.last)?;
    let at = |stamp: Stamp| format!("{} (frame {})", times.column(stamp.time).to_string().trim(), stamp.frame);
    let idle = life
        .activity
        .longest_idle
        .map(|idle| format!("; idle for up to {} (since frame {})", duration(idle.length), idle.since.frame));
    Some(format!("first message at {}, last at {}{}", at(first), at(last), idle.unwrap_or_default()))
}

/// The end in words.
fn ending(life: &ConnectionLife, times: ShownTimes) -> Option<String> {
    let LifeEnd::EndedBy { by, stamp, how } = life.end else {
        // A connection ends where an end refuses an operation.
        return life.faults.map(|faults| format!("after the last message: {}", faults.words()));
    };
    let when = times.column(stamp.time).to_string();
    let silence = life.activity.last.map(|last| format!(", {} after the last message", between(last, stamp)));
    let after = life.faults.map(|faults| format!(", after {}", faults.words())).unwrap_or_default();
    let reason = life.terminate.map(|terminate| format!(" [{terminate}]")).unwrap_or_default();
    Some(format!(
        "{} ended it at {} ({} in frame {}{reason}){}{after}",
        life.address(by),
        when.trim(),
        how.name(),
        stamp.frame,
        silence.unwrap_or_default()
    ))
}

/// The terms of a connection in words.
fn terms(life: &ConnectionLife, known: &KnownConnection) -> Vec<String> {
    let KnownConnection { connection, credits } = known;
    let mut terms = Vec::new();
    if let Some(agreement) = connection.agreement() {
        let invalidation = if agreement.remote_invalidation { "agreed" } else { "not agreed" };
        terms.push(format!("{}; remote invalidation {invalidation}", Inline::from(agreement)));
    }
    terms.push(format!("credits {}", credits_of(&credits.forward, &credits.reverse)));
    let of_path = [
        connection.path_mtu.map(|mtu| format!("path MTU {mtu}")),
        connection.ack_timeout.map(|timeout| format!("acknowledgement time-out {}", duration(timeout))),
    ];
    let of_path: Vec<_> = of_path.into_iter().flatten().collect();
    terms.extend((!of_path.is_empty()).then(|| of_path.join(", ")));
    for side in [Side::Active, Side::Passive] {
        let of_end = end_terms(connection.terms.get(side));
        terms.extend((!of_end.is_empty()).then(|| format!("{}: {}", life.address(side), of_end.join(", "))));
    }
    terms
}

/// The terms of an end in words.
fn end_terms(terms: &CarrierTerms) -> Vec<String> {
    let CarrierTerms { responder_resources, initiator_depth, retries, not_ready_retries, mpa, .. } = *terms;
    let mpa = mpa.map(|mpa| {
        let (markers, crc) =
            (if mpa.markers { "markers" } else { "no markers" }, if mpa.crc { "CRC" } else { "no CRC" });
        format!("MPA revision {}, wants {markers} and {crc}", mpa.revision)
    });
    let parts = [
        responder_resources.map(|reads| format!("responder resources {reads}")),
        initiator_depth.map(|reads| format!("initiator depth {reads}")),
        retries.map(|retries| format!("{retries} retries")),
        not_ready_retries.map(|retries| match retries {
            7 => "RNR retries without end".to_owned(),
            _ => format!("{retries} RNR retries"),
        }),
        mpa,
    ];
    parts.into_iter().flatten().collect()
}

/// Writes lines below the first line of a connection.
fn indented(out: &mut impl io::Write, screen: Screen, texts: &[String], is_warning: bool) -> io::Result<()> {
    let (indent, style) = if is_warning { (0, WARNING) } else { (INDENT, DIM) };
    for text in texts {
        for part in wrapped(text, screen.within(WIDTH).saturating_sub(indent)) {
            Line::new(screen.colour, usize::MAX).with(PLAIN, &" ".repeat(indent)).with(style, &part).write(out)?;
        }
    }
    Ok(())
}
