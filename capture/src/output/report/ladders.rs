//! The slowest RPCs as ladders, in SVG: a line for each packet, or for several in a row that did the same.

use std::io;

use maud::{Markup, html};

use crate::file::Files;
use crate::output::ladder::{Arrow, Rung, RungKind, notes, rungs};
use crate::output::stats::text::{duration, grouped};
use crate::output::text::{called_within, milliseconds};
use crate::rpc::transaction::Transaction;

/// The most lines of a ladder: so many of the first, and of the last.
const FIRST: usize = 24;
const LAST: usize = 12;
/// Columns for what an RPC calls.
const CALLED: usize = 60;

/// Where the columns end, and the two ends of the connection are.
const FRAMES: u32 = 112;
const AT: u32 = 190;
const SINCE: u32 = 268;
const REQUESTER: u32 = 284;
const RESPONDER: u32 = 716;
const WIDTH: u32 = 724;
/// The height of a line, and of the headings.
const ROW: u32 = 26;
const TOP: u32 = 22;

/// Writes an RPC as a ladder. What is left out of a long one is said.
pub(super) fn ladder(out: &mut Vec<u8>, transaction: &Transaction, files: &Files) -> io::Result<()> {
    let rungs = rungs(transaction);
    let Some(first) = rungs.first() else { return Ok(()) };
    let latency = transaction.latency().unwrap_or_default();
    let name = called_within(CALLED, transaction);
    let place = files.place(first.first.frame).map(|place| format!(" ({place})")).unwrap_or_default();
    let markup = html! {
        details.ladder open {
            summary {
                b { (duration(latency)) } " " (name) ", " (format!("{:#010x}", transaction.xid))
                " on connection " (transaction.connection) ", from frame " (grouped(first.first.frame)) (place)
            }
            div.scroll { (drawing(transaction, &rungs)) }
            @for note in notes(&rungs) { p.note { (note) } }
        }
    };
    io::Write::write_all(out, markup.into_string().as_bytes())
}

fn drawing(transaction: &Transaction, rungs: &[Rung]) -> Markup {
    let Transaction { connection, xid, from, to, .. } = transaction;
    let frame = rungs.first().map_or(0, |rung| rung.first.frame);
    let id = format!("ladder-{connection}-{frame}");
    let left_out = rungs.len().saturating_sub(FIRST + LAST);
    let shown = rungs.iter().take(FIRST).map(Some);
    let gap = (left_out > 0).then_some(None);
    let last = rungs.iter().skip((FIRST + left_out).min(rungs.len())).map(Some);
    let lines: Vec<Option<&Rung>> = shown.chain(gap).chain(last).collect();
    let height = TOP + ROW * u32::try_from(lines.len()).unwrap_or_default() + 8;
    let latency = transaction.latency().unwrap_or(u64::MAX);
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height) role="img"
            aria-labelledby={ (id) "-title " (id) "-text" } {
            title id={ (id) "-title" } { "Ladder of the RPC " (format!("{xid:#010x}")) }
            desc id={ (id) "-text" } { (description(rungs)) }
            text.head x=(FRAMES) y="14" { "frames" }
            text.head x=(AT) y="14" { "ms" }
            text.head x=(SINCE) y="14" { "+ms" }
            text.left x=(REQUESTER) y="14" { "requester " (from) }
            text.head x=(RESPONDER) y="14" { "responder " (to) }
            path.life d=(format!("M{REQUESTER} {TOP}V{height}M{RESPONDER} {TOP}V{height}")) {}
            @for (index, line) in (0..).zip(&lines) {
                @let y = TOP + ROW * (index + 1) - 4;
                @match line {
                    Some(rung) => (line_of(rung, y, rung.since >= latency / 10 && index > 0)),
                    None => {
                        text.middle x=((REQUESTER + RESPONDER) / 2) y=(y - 6) {
                            "⋮ " (grouped(left_out as u64)) " more lines: rpcrdma explain --xid " (format!("{xid:#010x}")) " ⋮"
                        }
                    }
                }
            }
        }
    }
}

/// A line of a ladder above its arrow.
fn line_of(rung: &Rung, y: u32, is_long: bool) -> Markup {
    let kind = match rung.kind {
        RungKind::Message => "message",
        RungKind::Data => "data",
        RungKind::Acknowledgement | RungKind::LeftOut => "quiet",
        RungKind::Loss => "loss",
    };
    let text = y - 6;
    let label = rung.label.join(", ");
    let arrow = match rung.arrow {
        Arrow::Right => Some(format!("M{} {y}H{}m-7 -4l7 4l-7 4", REQUESTER + 2, RESPONDER - 2)),
        Arrow::Left => Some(format!("M{} {y}H{}m7 -4l-7 4l7 4", RESPONDER - 2, REQUESTER + 2)),
        Arrow::RequesterSilent | Arrow::ResponderSilent | Arrow::LeftOut => None,
    };
    html! {
        text x=(FRAMES) y=(text) { (rung.frames()) }
        text x=(AT) y=(text) { (milliseconds(rung.at)) }
        text.long[is_long] x=(SINCE) y=(text) { (milliseconds(rung.since)) }
        g class=(kind) {
            @match rung.arrow {
                Arrow::Right | Arrow::RequesterSilent => { text.left x=(REQUESTER + 10) y=(text) { (label) } }
                Arrow::Left | Arrow::ResponderSilent => { text x=(RESPONDER - 10) y=(text) { (label) } }
                Arrow::LeftOut => { text.middle x=((REQUESTER + RESPONDER) / 2) y=(text) { (label) } }
            }
            @if let Some(arrow) = arrow { path d=(arrow) {} }
        }
    }
}

/// What a ladder shows, for who does not see it: its ends, and the line before which most time passed.
fn description(rungs: &[Rung]) -> String {
    let lines = rungs.len();
    let longest = rungs.iter().max_by_key(|rung| rung.since);
    let longest = longest.map(|rung| {
        let label = rung.label.join(", ");
        format!(" The longest wait, {} ms, was before frame {}: {label}.", milliseconds(rung.since), rung.first.frame)
    });
    let ends = rungs.first().zip(rungs.last()).map(|(first, last)| {
        format!(
            " From {} in frame {} to {} in frame {}.",
            first.label.join(", "),
            first.first.frame,
            last.label.join(", "),
            last.last.frame
        )
    });
    format!("{lines} lines of packets.{}{}", ends.unwrap_or_default(), longest.unwrap_or_default())
}
