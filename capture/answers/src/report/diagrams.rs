//! RPCs as sequence diagrams, in SVG: a line for each packet, or for several in a row that did the same. Drawn are the slowest, the
//! calls that have waited longest for their reply, and the slowest of each cause.

use std::sync::Arc;

use maud::{Markup, PreEscaped, html};
use rpcrdma_dissector::{Address, Files, OperationArguments, Transaction, WaitEnd};

use crate::called::called_within;
use crate::diagnosis::Cause;
use crate::explain::diagram::{Arrow, DiagramStep, DiagramStepKind, diagram_steps, notes};
use crate::file_names::{FileNames, client, server};
use crate::format::number::{Milliseconds, counted, duration, grouped};
use crate::operation_name::OperationName;
use crate::small_map::SmallMap;
use crate::top::TopBy;

/// The most of the slowest RPCs, and of the calls without a reply, that are drawn.
const DRAWN: usize = 10;
/// The most lines of a sequence diagram: so many of the first, and of the last.
const FIRST: usize = 24;
const LAST: usize = 12;
/// Columns for what an RPC calls.
const CALLED: usize = 60;

/// Right edges of the columns, and the positions of the connection's two ends.
const FRAMES: u32 = 112;
const AT: u32 = 190;
const SINCE: u32 = 268;
const REQUESTER: u32 = 284;
const RESPONDER: u32 = 716;
const WIDTH: u32 = 724;
/// The height of a line, and of the headings.
const ROW: u32 = 26;
const TOP: u32 = 22;

/// An RPC with a drawn sequence diagram, and the keys of the RPC in the tables.
#[derive(Debug)]
pub(super) struct Drawn {
    /// Name of the sequence diagram's element in the page.
    pub(super) id: String,
    /// Nanoseconds; `None` without a reply.
    latency: Option<u64>,
    /// Time and number of the first frame.
    began: (u64, u64),
    /// The last frame.
    last: u64,
    connection: u32,
    xid: u32,
    pub(super) operation: String,
    client: Address,
    server: Address,
    file: Option<String>,
    /// The element.
    pub(super) markup: String,
}

/// The RPCs that are drawn.
#[derive(Debug, Default)]
pub(super) struct Diagrams {
    /// The slowest RPCs, slowest first.
    slowest: Vec<Arc<Drawn>>,
    /// The calls that have waited longest, the oldest first.
    oldest: Vec<Arc<Drawn>>,
    /// The greatest instance of each cause.
    causes: SmallMap<Cause, Arc<Drawn>>,
}

impl Diagrams {
    /// Takes an RPC, and draws a sequence diagram if needed. `greatest`: causes whose greatest instance so far is this RPC.
    pub(super) fn draw_rpc(
        &mut self,
        transaction: &Transaction,
        arguments: &[OperationArguments<'_>],
        greatest: &[Cause],
        files: &Files,
        names: &FileNames,
    ) {
        let latency = transaction.latency();
        let began = transaction.began.map(|began| began.time.0);
        let slow = latency.map(|latency| self.slowest.partition_point(|drawn| drawn.latency >= Some(latency)));
        // A call that was retransmitted is waited for no longer.
        let waits = began.filter(|_| transaction.waiting.is_some_and(|waiting| waiting.end != WaitEnd::Repeated));
        let old = waits.map(|began| self.oldest.partition_point(|drawn| drawn.began.0 <= began));
        let (slow, old) = (slow.filter(|place| *place < DRAWN), old.filter(|place| *place < DRAWN));
        if slow.is_none() && old.is_none() && greatest.is_empty() {
            return;
        }
        let Some(drawn) = Drawn::new(transaction, files, || names.of_transaction(transaction, arguments)) else {
            return;
        };
        let drawn = Arc::new(drawn);
        for (list, place) in [(&mut self.slowest, slow), (&mut self.oldest, old)] {
            if let Some(place) = place {
                list.insert(place, Arc::clone(&drawn));
                list.truncate(DRAWN);
            }
        }
        for cause in greatest {
            if let Some(known) = self.causes.value_or(*cause, usize::MAX, || Arc::clone(&drawn)) {
                *known = Arc::clone(&drawn);
            }
        }
    }

    /// Returns the RPCs with a reply: the slowest first, and each once.
    fn answered(&self) -> Vec<&Drawn> {
        let mut drawn: Vec<&Drawn> = self.slowest.iter().chain(self.causes.values()).map(AsRef::as_ref).collect();
        drawn.retain(|drawn| drawn.latency.is_some());
        drawn.sort_unstable_by(|a, b| b.latency.cmp(&a.latency).then_with(|| a.id.cmp(&b.id)));
        drawn.dedup_by(|a, b| a.id == b.id);
        drawn
    }

    /// Sequence diagrams of RPCs with a reply.
    pub(super) fn of_answered(&self) -> Markup {
        html! { @for drawn in self.answered() { (PreEscaped(&drawn.markup)) } }
    }

    /// Sequence diagrams of calls without a reply.
    pub(super) fn of_unanswered(&self) -> Markup {
        html! { @for drawn in &self.oldest { (PreEscaped(&drawn.markup)) } }
    }

    /// The sequence diagram of the greatest instance of a cause of this name.
    pub(super) fn of_cause(&self, name: &str) -> Option<&Drawn> {
        self.causes.get(&Cause::of_name(name)?).map(AsRef::as_ref)
    }

    /// The sequence diagram of the slowest drawn RPC for which `is_meant` is true.
    pub(super) fn find(&self, is_meant: impl Fn(&Drawn) -> bool) -> Option<&Drawn> {
        let unanswered = self.oldest.iter().map(AsRef::as_ref);
        self.answered().into_iter().chain(unanswered).find(|drawn| is_meant(drawn))
    }
}

impl Drawn {
    /// Draws an RPC. A note names the omitted parts of a long RPC. `None` if the capture holds no packet of the RPC.
    pub(super) fn new(transaction: &Transaction, files: &Files, file: impl FnOnce() -> Option<String>) -> Option<Self> {
        let steps = diagram_steps(transaction);
        let (first, last) = (steps.first()?.first, steps.last()?.last);
        let (id, latency) = (id(transaction), transaction.latency());
        let place = files.place(first.frame).map(|place| format!(" ({place})")).unwrap_or_default();
        let label =
            format!("Sequence diagram of RPC {:#010x} on connection {}", transaction.xid, transaction.connection);
        let markup = html! {
            details.diagram open id=(id) {
                summary {
                    b { (latency.map_or("no reply:".to_owned(), duration)) } " " (called_within(CALLED, transaction)) ", "
                    (format!("{:#010x}", transaction.xid)) " on connection " (transaction.connection)
                    ", from frame " (grouped(first.frame)) (place)
                }
                // The keyboard reaches what is wider than the window.
                div.scroll tabindex="0" role="region" aria-label=(label) { (drawing(transaction, &steps, &id)) }
                @for note in notes(&steps) { p.note { (note) } }
            }
        };
        Some(Self {
            latency,
            began: (first.time.0, first.frame),
            last: last.frame,
            connection: transaction.connection,
            xid: transaction.xid,
            operation: OperationName::of_transaction(transaction).to_string(),
            client: client(transaction),
            server: server(transaction),
            file: file(),
            markup: markup.into_string(),
            id,
        })
    }

    /// Returns true if the RPC has this client, server or file, as named in a table.
    pub(super) fn is_about(&self, by: TopBy, key: &str) -> bool {
        match by {
            TopBy::Client => self.client.to_string() == key,
            TopBy::Server => self.server.to_string() == key,
            TopBy::Name => self.file.as_deref() == Some(key),
            _ => false,
        }
    }

    /// Returns true if the RPC has this XID on the connection, and was in flight in this frame.
    pub(super) fn is_rpc(&self, connection: u32, xid: u32, frame: u64) -> bool {
        (self.connection, self.xid) == (connection, xid) && (self.began.1..=self.last).contains(&frame)
    }
}

/// The name of the element of an RPC's sequence diagram.
pub(super) fn id(transaction: &Transaction) -> String {
    let reply = || transaction.reply.as_ref().map(|reply| reply.stamp);
    let frame = transaction.began.or_else(reply).map_or(0, |stamp| stamp.frame);
    format!("diagram-{}-{frame}", transaction.connection)
}

fn drawing(transaction: &Transaction, steps: &[DiagramStep], id: &str) -> Markup {
    let Transaction { xid, from, to, .. } = transaction;
    let left_out = steps.len().saturating_sub(FIRST + LAST);
    let shown = steps.iter().take(FIRST).map(Some);
    let gap = (left_out > 0).then_some(None);
    let last = steps.iter().skip((FIRST + left_out).min(steps.len())).map(Some);
    let lines: Vec<Option<&DiagramStep>> = shown.chain(gap).chain(last).collect();
    let height = TOP + ROW * u32::try_from(lines.len()).unwrap_or_default() + 8;
    let latency = transaction.latency().unwrap_or(u64::MAX);
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height) role="img"
            aria-labelledby={ (id) "-title " (id) "-text" } {
            title id={ (id) "-title" } { "Sequence diagram of the RPC " (format!("{xid:#010x}")) }
            desc id={ (id) "-text" } { (description(steps)) }
            text.head x=(FRAMES) y="14" { "frames" }
            text.head x=(AT) y="14" { "ms" }
            text.head x=(SINCE) y="14" { "+ms" }
            text.left x=(REQUESTER) y="14" { (transaction.calling_end()) " " (from) }
            text.head x=(RESPONDER) y="14" { (transaction.answering_end()) " " (to) }
            path.life d=(format!("M{REQUESTER} {TOP}V{height}M{RESPONDER} {TOP}V{height}")) {}
            @for (index, line) in (0..).zip(&lines) {
                @let y = TOP + ROW * (index + 1) - 4;
                @match line {
                    Some(step) => (line_of(step, y, step.since >= latency / 10 && index > 0)),
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

/// A line of a sequence diagram, with the label above the arrow.
fn line_of(step: &DiagramStep, y: u32, is_long: bool) -> Markup {
    let kind = match step.kind {
        DiagramStepKind::Message => "message",
        DiagramStepKind::Data => "data",
        DiagramStepKind::Acknowledgement | DiagramStepKind::LeftOut => "quiet",
        DiagramStepKind::Loss => "loss",
    };
    let text = y - 6;
    let label = step.label.join(", ");
    let arrow = match step.arrow {
        Arrow::Right => Some(format!("M{} {y}H{}m-7 -4l7 4l-7 4", REQUESTER + 2, RESPONDER - 2)),
        Arrow::Left => Some(format!("M{} {y}H{}m7 -4l-7 4l7 4", RESPONDER - 2, REQUESTER + 2)),
        Arrow::ClientSilent | Arrow::ServerSilent | Arrow::LeftOut => None,
    };
    html! {
        text x=(FRAMES) y=(text) { (step.frames()) }
        text x=(AT) y=(text) { (Milliseconds(step.at)) }
        text.long[is_long] x=(SINCE) y=(text) { (Milliseconds(step.since)) }
        g class=(kind) {
            @match step.arrow {
                Arrow::Right | Arrow::ClientSilent => { text.left x=(REQUESTER + 10) y=(text) { (label) } }
                Arrow::Left | Arrow::ServerSilent => { text x=(RESPONDER - 10) y=(text) { (label) } }
                Arrow::LeftOut => { text.middle x=((REQUESTER + RESPONDER) / 2) y=(text) { (label) } }
            }
            @if let Some(arrow) = arrow { path d=(arrow) {} }
        }
    }
}

/// Returns the text alternative of a sequence diagram: the two ends, and the line after the longest pause. A label is not part of a
/// sentence, because the label may be a sentence.
fn description(steps: &[DiagramStep]) -> String {
    let named = |frame: u64, step: &DiagramStep| format!("frame {frame}: {}.", step.label.join(", "));
    let mut text = format!("{} of packets.", counted(steps.len() as u64, "line"));
    if let Some(first) = steps.first() {
        text.push_str(&format!(" First, {}", named(first.first.frame, first)));
    }
    if let Some(last) = steps.get(1..).and_then(<[DiagramStep]>::last) {
        text.push_str(&format!(" Last, {}", named(last.last.frame, last)));
    }
    if let Some(longest) = steps.iter().skip(1).max_by_key(|step| step.since) {
        let wait = Milliseconds(longest.since);
        text.push_str(&format!(" The longest wait, {wait} ms, was before {}", named(longest.first.frame, longest)));
    }
    text
}

#[cfg(test)]
mod tests {
    use rpcrdma_dissector::{Stamp, Time};

    use super::*;

    fn step(frames: [u64; 2], since: u64, label: &[&str]) -> DiagramStep {
        let [first, last] = frames.map(|frame| Stamp { frame, time: Time(0) });
        let label = label.iter().map(|part| (*part).to_owned()).collect();
        DiagramStep { first, last, at: 0, since, arrow: Arrow::Right, kind: DiagramStepKind::Message, label }
    }

    #[test]
    fn every_diagram_is_described_in_sentences() {
        let unseen = step([140, 140], 0, &["cause not seen"]);
        assert_eq!(description(core::slice::from_ref(&unseen)), "1 line of packets. First, frame 140: cause not seen.");
        let call = step([141, 141], 2_000_000, &["Send: call, retransmitted", "84 bytes"]);
        let data = step([142, 150], 1_000, &["RDMA Write × 9", "8,192 bytes"]);
        assert_eq!(
            description(&[unseen, call, data]),
            "3 lines of packets. First, frame 140: cause not seen. Last, frame 150: RDMA Write × 9, 8,192 bytes. The longest wait, \
             2.000 ms, was before frame 141: Send: call, retransmitted, 84 bytes."
        );
    }
}
