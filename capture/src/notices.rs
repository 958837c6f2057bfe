//! Notices to the user about an input, beside the answer.

use core::fmt::Display;
use std::collections::BTreeMap;

use rpcrdma_answers::format::date::time_range;
use rpcrdma_answers::format::number::{counted, duration, times};
use rpcrdma_answers::gaps::{Gap, Gaps, lost_events, trace_clocks};
use rpcrdma_answers::selection::{NamedRpc, SpanningRpcs, Window};
use rpcrdma_answers::stats::{REORDER, by_two_clocks, sorted_frames, twice};
use rpcrdma_answers::summary::{CaptureSummary, MissingDirectionObject, PlaceCount, UnreadFile};
use rpcrdma_dissector::{
    CapturePoint, CapturePointSource, ClockSteps, Event, FileError, Half, NotRebuilt, Report, Sides, Status, Summary,
    Time, Transaction, WitnessSummary,
};

use crate::failure::{DAMAGED, UNUSABLE};
use crate::interrupt::INTERRUPTED;

/// Options that select, and of which a notice says more.
pub(crate) const CONNECTION: &str = "--connection";
pub(crate) const SINCE: &str = "--since";
pub(crate) const UNTIL: &str = "--until";

/// Items that a command shows and that filters select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select {
    Messages,
    Rpcs,
    /// Everything that is known of both.
    Both,
}

/// Maximum number of kinds in the line about frames left alone.
const LISTED: usize = 10;
/// Maximum number of connections whose missing direction gets a separate line.
const DIRECTIONS: usize = 3;

/// A line about an input.
struct Notice {
    text: String,
    weight: Weight,
}

/// The effect of a notice on the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// Reason for exit status 1 or 130.
    Reason,
    /// None.
    Remark,
}

/// Counts what is noteworthy.
#[derive(Debug)]
pub(crate) struct Notices {
    select: Select,
    /// A file could not be read at all.
    pub(crate) unusable: bool,
    /// A file was damaged.
    pub(crate) damaged: bool,
    /// The files that could not be read to their end.
    pub(crate) unread: Vec<UnreadFile>,
    /// The user stopped reading before the end of the input.
    pub(crate) interrupted: bool,
    /// Files that begin before the end of the previous file.
    pub(crate) overlaps: u64,
    /// RPCs left out because the latency is unknown.
    pub(crate) untimed: u64,
    /// Parts of RPCs that might have been shown, if there had been memory until the RPCs ended.
    pub(crate) undecided: u64,
    /// Messages that the filters let pass.
    messages_selected: u64,
    /// RPCs that the filters let pass.
    rpcs_selected: u64,
    /// Indications of loss that the filters let pass.
    recoveries_selected: u64,
    /// RPCs in flight through all of the selected time.
    pub(crate) throughout: SpanningRpcs,
    /// The greatest number of a connection.
    connections: u32,
    rpcs: u64,
    rpcs_incomplete: u64,
    /// Gaps of the capture.
    gaps: Gaps,
    /// Copies that the capture holds of packets.
    copies: u64,
    packets: u64,
    other_connections: u64,
    other_packets: u64,
    rejected: u64,
    /// Connections captured at both ends, by the end at which their packets come first.
    both_ends: BTreeMap<Option<CapturePoint>, u64>,
    /// Connections by capture point, and by the evidence for that point.
    places: BTreeMap<(CapturePoint, CapturePointSource), u64>,
}

/// Text about connections whose packets come first at this end, or each at the sender.
fn times_of_both_ends(first: Option<CapturePoint>, connections: u64) -> String {
    let whose = match first {
        Some(CapturePoint::Client) => "latencies are those at the client",
        Some(_) => "latencies are those at the server, without the way to it and back",
        None => "latencies are from the call at the client to the reply at the server, without the way back",
    };
    format!("{} captured at both ends: {whose} (rpcrdma diagnose has both)", counted(connections, "connection"))
}

/// Lines about a second capture of the same packets.
fn witnessed(witness: &WitnessSummary) -> Vec<String> {
    let file = &witness.file;
    let packets = counted(witness.packets, "packet");
    let mut lines =
        vec![format!("{packets} also in {file}, captured at the server: latencies are those at the client")];
    let WitnessSummary {
        clock_ahead,
        clock_uncertainty,
        clock_drift,
        clock_drift_uncertainty,
        clock_steps,
        missed,
        ..
    } = *witness;
    if let Some((ahead, uncertainty)) = clock_ahead.zip(clock_uncertainty) {
        let is = if ahead < 0 { "behind" } else { "ahead" };
        let is_known = |drift: &i64| drift.unsigned_abs() > clock_drift_uncertainty.unwrap_or(u64::MAX);
        let drift = clock_drift.filter(is_known).map(|drift| {
            let is = if drift < 0 { "slower" } else { "faster" };
            format!(", and {} {is} per second", duration(drift.unsigned_abs()))
        });
        lines.push(format!(
            "the clock of {file} is {} {is} (± {}){}",
            duration(ahead.unsigned_abs()),
            duration(uncertainty),
            drift.unwrap_or_default()
        ));
    }
    if clock_steps > 0 {
        lines.push(format!("one of the two clocks was set {}", times(clock_steps)));
    }
    let [there, back] = witness.lost_copies;
    if there + back > 0 {
        let lost = counted(there + back, "packet");
        lines.push(format!(
            "{lost} lost between client and server: {there} on the way to the server, {back} on the way back"
        ));
    }
    if missed > 0 {
        lines.push(format!("{} missing from {file}", counted(missed, "packet")));
    }
    lines
}

impl Notices {
    /// Nothing yet, for a command that shows this.
    pub(crate) fn new(select: Select) -> Self {
        Self {
            select,
            unusable: false,
            damaged: false,
            unread: Vec::new(),
            interrupted: false,
            overlaps: 0,
            untimed: 0,
            undecided: 0,
            messages_selected: 0,
            rpcs_selected: 0,
            recoveries_selected: 0,
            throughout: SpanningRpcs::default(),
            connections: 0,
            rpcs: 0,
            rpcs_incomplete: 0,
            gaps: Gaps::default(),
            copies: 0,
            packets: 0,
            other_connections: 0,
            other_packets: 0,
            rejected: 0,
            both_ends: BTreeMap::new(),
            places: BTreeMap::new(),
        }
    }

    /// Takes note of an event that the filters let pass, in the selected window.
    pub(crate) fn selected(&mut self, event: &Event, window: Window) {
        match event {
            Event::Message(_) => self.messages_selected += 1,
            Event::Recovery(_) => self.recoveries_selected += 1,
            Event::Transaction(transaction) => {
                self.rpcs_selected += 1;
                self.throughout.add_rpc(&NamedRpc { transaction, file: None }, window);
            }
            _ => {}
        }
    }

    /// Takes note of an event.
    pub(crate) fn event(&mut self, event: &Event) {
        self.gaps.event(event);
        match event {
            Event::Message(message) => self.connections = self.connections.max(message.connection),
            Event::Transaction(transaction) => {
                self.rpcs += 1;
                self.rpcs_incomplete += u64::from(is_incomplete(transaction));
            }
            Event::Connection(report) => self.connection(report),
            Event::Rejected(_) => self.rejected += 1,
            // The others are shown among the messages, or say nothing about the capture.
            _ => {}
        }
    }

    /// Notes a file that could not be read to the end.
    pub(crate) fn unread(&mut self, error: &FileError) {
        self.damaged |= error.is_damage();
        self.unusable |= !error.is_damage();
        self.gaps.files += 1;
        self.unread.push(UnreadFile::new(error));
    }

    fn connection(&mut self, report: &Report) {
        let Sides { active, passive } = report.counts;
        if report.number.is_some() {
            self.copies += active.duplicates + passive.duplicates;
            let in_one_file = report.both_ends.as_ref().filter(|both| !both.has_two_files);
            let both_ends = in_one_file.map(|both| both.first_at());
            both_ends.into_iter().for_each(|first| *self.both_ends.entry(first).or_default() += 1);
            self.packets += active.packets + passive.packets;
            report.captured_at.iter().for_each(|place| *self.places.entry(*place).or_default() += 1);
        } else {
            self.other_connections += 1;
            self.other_packets += active.packets + passive.packets;
        }
    }

    /// Known capture points, which tell the phases of RPCs that contain time in the network.
    pub(crate) fn places(&self) -> Vec<String> {
        let line = |(&(place, known), &count): (&(CapturePoint, CapturePointSource), &u64)| match known {
            CapturePointSource::Given => place.to_string(),
            CapturePointSource::Inferred => {
                format!("{place} ({}, inferred from acknowledgements)", counted(count, "connection"))
            }
        };
        self.places.iter().map(line).collect()
    }

    /// The gravest gap of the capture; `None` if something absent from the capture was not sent.
    pub(crate) fn gap(&self) -> Option<Gap> {
        self.gaps.gravest()
    }

    /// The exit status.
    pub(crate) fn status(&self, summary: &Summary) -> u8 {
        let has_reason = self.list_notices(summary, false, &[]).iter().any(|notice| notice.weight == Weight::Reason);
        self.status_of(self.damaged || has_reason)
    }

    /// The exit status of a command that fails if this `is_wrong`, or if there is nothing to judge by.
    pub(crate) fn status_of(&self, is_wrong: bool) -> u8 {
        let is_one_sided = !self.gaps.directions.is_empty();
        if self.interrupted {
            INTERRUPTED
        } else if self.unusable {
            UNUSABLE
        } else if is_wrong || is_one_sided || self.selects_nothing() || self.holds_nothing() {
            DAMAGED
        } else {
            0
        }
    }

    /// Returns true if the capture has messages and the filters select none of what is shown.
    pub(crate) const fn selects_nothing(&self) -> bool {
        let passes = match self.select {
            Select::Messages => self.messages_selected + self.recoveries_selected > 0,
            // If there is no RPC to select, no filter is the reason.
            Select::Rpcs if self.rpcs > 0 => self.rpcs_selected > 0,
            Select::Rpcs => self.messages_selected > 0,
            Select::Both => self.messages_selected + self.rpcs_selected + self.recoveries_selected > 0,
        };
        self.gaps.messages > 0 && !passes
    }

    /// Returns true if the capture has no message.
    const fn holds_nothing(&self) -> bool {
        self.gaps.messages == 0
    }

    /// Adds what is noteworthy to what is said of a capture.
    ///
    /// The number of RPCs is known only `with_rpcs`.
    pub(crate) fn describe(&self, capture: &mut CaptureSummary, with_rpcs: bool) {
        let of_rpcs = |count| with_rpcs.then_some(count);
        (capture.messages, capture.messages_selected) = (self.gaps.messages, self.messages_selected);
        (capture.rpcs, capture.rpcs_selected) = (of_rpcs(self.rpcs), of_rpcs(self.rpcs_selected));
        let places = self.places.iter().map(|(&(place, known), &count)| PlaceCount::new(place, known, count));
        capture.captured_at = places.collect();
        let missing = &mut capture.missing;
        missing.directions = self.gaps.directions.iter().map(MissingDirectionObject::new).collect();
        missing.directions_left_out = self.gaps.directions_left_out;
        missing.incomplete_messages = self.gaps.incomplete;
        missing.not_rebuilt_rpcs = of_rpcs(self.rpcs_incomplete);
        missing.untimed_rpcs = self.untimed;
        missing.packets = self.gaps.packets;
        capture.damaged.files.clone_from(&self.unread);
        capture.damaged.overlapping_files = self.overlaps;
        let ignored = &mut capture.ignored;
        ignored.other_connections = self.other_connections;
        ignored.other_packets = self.other_packets;
        ignored.duplicate_packets = self.copies;
        ignored.rejected_connections = self.rejected;
    }

    /// The lines to say, in the order of their weight; `filters` are the options that select.
    pub(crate) fn lines(&self, summary: &Summary, verified: bool, filters: &[&str]) -> Vec<String> {
        self.list_notices(summary, verified, filters).into_iter().map(|notice| notice.text).collect()
    }

    /// Returns the lines that are reasons for the exit status.
    pub(crate) fn reasons(&self, summary: &Summary, verified: bool, filters: &[&str]) -> Vec<String> {
        let all = self.list_notices(summary, verified, filters).into_iter();
        all.filter(|notice| notice.weight == Weight::Reason).map(|notice| notice.text).collect()
    }

    fn list_notices(&self, summary: &Summary, verified: bool, filters: &[&str]) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut say = |count: u64, weight: Weight, text: String| {
            if count > 0 {
                notices.push(Notice { text, weight });
            }
        };
        self.gaps.hidden(DIRECTIONS).into_iter().for_each(|text| say(1, Weight::Reason, text));
        let interrupted = "interrupted: these are the results so far".to_owned();
        say(self.interrupted.into(), Weight::Reason, interrupted);
        if self.selects_nothing() {
            say(1, Weight::Reason, self.nothing_selected(summary, filters));
        }
        self.throughout.sentence().into_iter().for_each(|text| say(1, Weight::Remark, text));
        self.wrong(summary, verified, &mut say);
        self.missing(summary, &mut say);
        self.ignored(summary, &mut say);
        if self.holds_nothing() && !self.unusable {
            say(1, Weight::Reason, self.nothing(summary));
        }
        notices
    }

    /// Reports problems with checksums and the order of files.
    fn wrong(&self, summary: &Summary, verified: bool, say: &mut impl FnMut(u64, Weight, String)) {
        let (all, bad) = (summary.verified, bad(summary));
        let has_any = all > 0 || summary.segments == 0;
        let weight = if bad > 0 { Weight::Reason } else { Weight::Remark };
        let text = format!("{bad} of {} ignored: wrong checksum", counted(all, "packet"));
        say((verified && has_any || bad > 0).into(), weight, text);
        let overlaps = match self.overlaps {
            1 => "1 file starts".to_owned(),
            count => format!("{count} files start"),
        };
        say(
            self.overlaps,
            Weight::Remark,
            format!(
                "{overlaps} before the previous one ends, but files are read one after another: merge them first, for \
                 example with mergecap"
            ),
        );
        trace_clocks(summary).into_iter().for_each(|text| say(1, Weight::Remark, text));
        say(summary.clock.count, Weight::Remark, clock(summary.clock));
        say(self.gaps.two_clocks, Weight::Remark, by_two_clocks(self.gaps.two_clocks));
        sorted_frames(summary.clock.sorted).into_iter().for_each(|text| say(1, Weight::Remark, text));
        let ignored = if verified { ", ignored" } else { "" };
        let wrong = format!("{} with a wrong CRC{ignored}", counted(summary.bad_crc, "iWARP FPDU"));
        say(summary.bad_crc, Weight::Reason, wrong);
    }

    /// Reports data that the capture does not hold.
    fn missing(&self, summary: &Summary, say: &mut impl FnMut(u64, Weight, String)) {
        let incomplete = self.gaps.incomplete;
        let text = format!("{} incomplete in the capture", counted(incomplete, "message"));
        // A cut takes nothing away that was asked for if the message shows its RPC.
        let weight = if incomplete > self.gaps.cut { Weight::Reason } else { Weight::Remark };
        say(incomplete, weight, text);
        let rpcs = counted(self.rpcs_incomplete, "RPC");
        let text = format!("{rpcs} not rebuilt: the capture does not hold every octet");
        let is_cut = summary.cut > 0 && self.gaps.packets == 0 && self.gaps.cut_headers == 0;
        say(self.rpcs_incomplete, if is_cut { Weight::Remark } else { Weight::Reason }, text);
        let untimed = counted(self.untimed, "RPC");
        say(self.untimed, Weight::Remark, format!("{untimed} left out by --slower-than: latency not known"));
        let undecided = counted(self.undecided, "line");
        say(
            self.undecided,
            Weight::Remark,
            format!("{undecided} left out: too many waited for their RPCs to end, to be selected by them"),
        );
        let missed = counted(self.gaps.packets, "packet");
        let text = format!("{missed} of RPC-over-RDMA connections missing from the capture");
        say(self.gaps.packets, Weight::Reason, text);
        lost_events(summary).into_iter().for_each(|text| say(1, Weight::Reason, text));
        let cut = counted(summary.cut, "frame");
        say(summary.cut, Weight::Remark, format!("{cut} truncated by the capture (snaplen)"));
    }

    /// Reports data that was ignored.
    fn ignored(&self, summary: &Summary, say: &mut impl FnMut(u64, Weight, String)) {
        let mut say = |count, text| say(count, Weight::Remark, text);
        say(self.copies, format!("ignored: {}", twice(self.copies, self.packets)));
        if let Some(witness) = &summary.witness {
            witnessed(witness).into_iter().for_each(|text| say(1, text));
        }
        for (first, connections) in &self.both_ends {
            say(*connections, times_of_both_ends(*first, *connections));
        }
        let (packets, connections) = (self.other_packets, self.other_connections);
        let (packets_text, connections) = (counted(packets, "packet"), counted(connections, "connection"));
        say(packets, format!("ignored: {packets_text} on {connections} without RPC-over-RDMA"));
        say(summary.other_services.len() as u64, services(summary));
        let others = list(&summary.others);
        say(summary.others.len() as u64, format!("ignored: other frames: {others}"));
        let unreadable = counted(summary.unreadable, "InfiniBand packet");
        say(summary.unreadable, format!("ignored: {unreadable} truncated within the headers"));
    }

    /// Returns the filters that selected nothing, and the items that were there to select.
    fn nothing_selected(&self, summary: &Summary, filters: &[&str]) -> String {
        let filters_text = filters.join(" and ");
        let mut text = match (self.select, self.gaps.messages, self.rpcs) {
            (Select::Rpcs | Select::Both, _, rpcs @ 1..) => {
                format!("nothing selected: none of {} matches {filters_text}", counted(rpcs, "RPC"))
            }
            (_, count, _) => format!("nothing selected: none of {} matches {filters_text}", counted(count, "message")),
        };
        if filters.contains(&CONNECTION) {
            text.push_str(&format!("; connections are numbered 1 to {}", self.connections));
        }
        if let (Some(first), Some(last)) = (summary.first, summary.last)
            && (filters.contains(&SINCE) || filters.contains(&UNTIL))
        {
            let length = Time(last.0.saturating_sub(first.0));
            text.push_str(&format!(
                "; the capture runs from {} (+{length})",
                time_range(summary.time_base, first.0, last.0)
            ));
        }
        text
    }

    /// Returns possible reasons for a capture without messages, and advice.
    fn nothing(&self, summary: &Summary) -> String {
        let hint = self.gaps.why_empty(summary, self.other_connections);
        format!("no RPC-over-RDMA message found: {hint}")
    }
}

/// Returns true if the capture does not hold all of an RPC. A server that refuses a call need not read the Read chunks.
fn is_incomplete(transaction: &Transaction) -> bool {
    let lacks = |half: &Option<Half>| {
        half.as_ref().is_some_and(|half| matches!(half.message, Err(NotRebuilt::Send | NotRebuilt::Chunk { .. })))
    };
    lacks(&transaction.reply) || (lacks(&transaction.call) && matches!(transaction.status, Some(Status::Success(_))))
}

/// The packets that no reliable connection carries, by their service.
fn services(summary: &Summary) -> String {
    format!("not followed: InfiniBand packets of other services: {}", list(&summary.other_services))
}

fn clock(steps: ClockSteps) -> String {
    let ClockSteps { count, first_frame, longest_ns, longest_frame, .. } = steps;
    let longest = Time(longest_ns);
    let steps = match count {
        1 => format!("the clock steps back by {longest} s in frame {first_frame}"),
        _ => format!(
            "the clock steps back {count} times, first in frame {first_frame}, most in frame {longest_frame}, by {longest} s"
        ),
    };
    format!("{steps}: times across that are wrong; {REORDER}")
}

/// Names and counts: all, or the most frequent.
fn list(counts: &[(impl Display, u64)]) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    if counts.len() > LISTED {
        counts.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
    }
    let (listed, rest) = counts.split_at(counts.len().min(LISTED));
    let mut listed: Vec<_> = listed.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    let left_out: u64 = rest.iter().map(|(_, count)| count).sum();
    listed.extend((left_out > 0).then(|| format!("others ({left_out})")));
    listed.join(", ")
}

fn bad(summary: &Summary) -> u64 {
    summary.bad_icrc.max(summary.bad_vcrc)
}
