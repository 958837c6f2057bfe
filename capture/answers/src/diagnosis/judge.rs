//! Causes from what was counted, with their evidence.

use core::cmp::Reverse;

use rpcrdma_dissector::{Address, CapturePoint, CongestionSigns, Summary};

use super::cause::{Cause, CauseOwner, DISTANT, PART, SEVERAL, SHARE, SLOW_SHARE, SMALL, USUAL_HEADER, WAITED};
use super::facts::{Broken, Facts, TwoClocks, WrongChecksums};
use super::judgement::{EndNames, Judgement, NAMED, added_up, is_part, longest, named};
use super::outlier::{self, OutlierOwner};
use super::recalls::RecallWaits;
use super::record::{CauseExample, DiagnosedCause, SeenAtBothEnds};
use super::sessions::{ReportedStates, owner_of_size, size_sentence};
use super::tally::{GreatestRpc, Tally};
use super::waits::{ResponderStep, Silence, Waits};
use crate::format::line::sentence;
use crate::format::number::{counted, duration, grouped, times};
use crate::small_map::SmallMap;
use crate::stats::text::{is_doubled, twice};

/// The last step of a responder that waits, and the step that did not follow.
fn after(step: ResponderStep, EndNames { calling, answering }: EndNames) -> String {
    match step {
        ResponderStep::Request => {
            format!("The {answering} asked for data by RDMA Read, and the {calling} did not send it.")
        }
        ResponderStep::Refusal => {
            format!("The {answering}'s adapter refused the call, and the {calling} did not retransmit it.")
        }
        ResponderStep::ProvidedReply => {
            format!("The {answering} provided a reply in Read chunks, and the {calling} did not read it.")
        }
    }
}

/// The name of an operation among failures.
fn kind(operation: &str) -> &str {
    if operation == "unknown" { "unreadable calls" } else { operation }
}

impl<'a> Judgement<'a> {
    /// The causes, ordered by weight: problems of the capture that put the rest in doubt, a broken rule that cost a call,
    /// connections that cannot be set up or end again and again, causes with a time ordered by time, and the others.
    pub(super) fn causes(&self) -> Vec<DiagnosedCause> {
        let connecting = [
            self.connection_refused(Cause::ServerNotListening),
            self.connection_refused(Cause::ConnectionRefused),
            self.connection_unanswered(),
        ]
        .into_iter()
        .flatten();
        let (dead, connecting): (Vec<_>, Vec<_>) = connecting.partition(|cause| self.is_without_connection(cause));
        if self.gaps.messages == 0 {
            let mut causes = [dead, connecting].concat();
            if causes.is_empty() {
                causes.push(self.nothing_found());
            }
            return causes;
        }
        let mut causes: Vec<DiagnosedCause> =
            [self.one_direction().or(self.capture_gaps()), self.cut(), self.two_clocks()]
                .into_iter()
                .flatten()
                .collect();
        let is_explained = !causes.is_empty();
        let is_fatal = self.silence.died.rpcs > 0;
        causes.extend(self.protocol().filter(|_| is_fatal));
        let others = [
            self.mirror_doubled(),
            self.responder_silent(),
            self.responder_unreachable(),
            self.requester_silent(),
            self.requester_unreachable(),
            self.wrong_checksum(),
            self.reply_refused(),
            self.retried(),
            self.loss(),
            self.receiver_not_ready(),
            self.distance(),
            self.delegation_recall(),
            self.server_grace(),
            self.refused_for_now(),
            self.copy_unfinished(),
            self.lock_held(),
            self.session_status(),
            self.slow(Cause::ServerSlow, CauseOwner::Server, &self.waits.responder),
            self.slow(Cause::ClientSlow, CauseOwner::Client, &self.waits.requester),
            self.slow_transfer(CauseOwner::Client, &self.waits.held_up.requester_paused),
            self.slow_transfer(CauseOwner::Server, &self.waits.held_up.responder_paused),
            self.congestion(),
            self.window(CauseOwner::Client, &self.waits.held_up.requester_closed),
            self.window(CauseOwner::Server, &self.waits.held_up.responder_closed),
            self.link_full(),
            self.credits(),
            self.slots(),
            self.small_sends(),
            self.errors(),
            self.protocol().filter(|_| !is_fatal),
            self.joined_late().filter(|_| !is_explained),
        ];
        let others = others.into_iter().chain(self.kernel_causes());
        let mut others: Vec<_> = others.flatten().chain(connecting).collect();
        self.add_outliers(&mut others);
        others.retain(|cause| !self.is_untimed() || cause.waiting_ns.is_none() && cause.cause != Cause::Loss.name());
        // The sort is stable: where nothing else decides, the order is that of the table.
        let by_time = |cause: &DiagnosedCause| Reverse(cause.waiting_ns.unwrap_or_default());
        causes.sort_by_key(by_time);
        others.sort_by_key(by_time);
        causes.extend(dead);
        causes.extend(self.connections_flap().filter(|flapping| !self.is_told_by_retries(flapping, &others)));
        causes.append(&mut others);
        causes
    }

    /// Adds the servers, clients, users and files that are far slower than others: as evidence to a cause that names them, or else as a
    /// cause.
    fn add_outliers(&self, causes: &mut Vec<DiagnosedCause>) {
        for outlier in self.outliers.iter().take(outlier::NAMED) {
            if let Some(cause) = causes.iter_mut().find(|cause| outlier::is_named(outlier, cause)) {
                cause.evidence.push(outlier::compare_medians(outlier));
                continue;
            }
            let owner = OutlierOwner::new(outlier, self.waits);
            let evidence = outlier::list_evidence(outlier, self.outliers.len());
            let cause = self.cause(Cause::Outlier, owner.role, evidence, &outlier::show_command(outlier));
            let cause = DiagnosedCause { share: self.share(outlier.excess), ..cause };
            causes.push(outlier::attribute(outlier, owner, self.waits, cause));
        }
    }

    fn nothing_found(&self) -> DiagnosedCause {
        let Summary { frames, packets, segments, .. } = *self.summary;
        let mut held = vec![counted(frames, "frame")];
        let connections = counted(self.facts.other_connections, "RDMA connection");
        held.extend((packets > 0).then(|| counted(packets, "InfiniBand packet")));
        held.extend((segments > 0).then(|| counted(segments, "iWARP segment")));
        held.extend((self.facts.other_connections > 0).then(|| format!("{connections} without RPC-over-RDMA")));
        held.extend(self.summary.others.iter().map(|(other, count)| format!("{other} ({})", grouped(*count))));
        held.extend(self.summary.other_services.iter().map(|(name, count)| format!("{name} ({})", grouped(*count))));
        let evidence = vec![
            format!("The capture holds {}.", held.join(", ")),
            format!("Why: {}.", self.gaps.why_empty(self.summary, self.facts.other_connections)),
        ];
        self.cause(Cause::NothingFound, Some(CauseOwner::Capture), evidence, "stats")
    }

    fn one_direction(&self) -> Option<DiagnosedCause> {
        let hidden = self.gaps.hidden(NAMED);
        let mut evidence: Vec<String> = hidden.iter().map(|line| sentence(line)).collect();
        evidence.push("Mirror both directions of the port to the machine that captures.".to_owned());
        (!hidden.is_empty()).then(|| self.cause(Cause::OneDirection, Some(CauseOwner::Capture), evidence, "stats"))
    }

    /// Returns true if the capture lacks so many packets that this is a cause.
    pub(super) fn misses_packets(&self) -> bool {
        let missed = self.gaps.packets;
        is_part(missed, PART, self.facts.packets + missed)
    }

    fn capture_gaps(&self) -> Option<DiagnosedCause> {
        let (missed, files) = (self.gaps.packets, self.gaps.files);
        if !self.misses_packets() && files == 0 {
            return None;
        }
        let all = self.facts.packets + missed;
        let mut evidence = Vec::new();
        if missed > 0 {
            evidence.push(format!(
                "{} of {} of RPC-over-RDMA connections are missing from the capture: capture with a larger buffer \
                 (tcpdump -B), or less of each packet.",
                grouped(missed),
                counted(all, "packet")
            ));
        }
        if files > 0 {
            evidence.push(format!("{} could not be read to the end.", counted(files, "file")));
        }
        Some(self.cause(Cause::CaptureGaps, Some(CauseOwner::Capture), evidence, "stats"))
    }

    fn cut(&self) -> Option<DiagnosedCause> {
        let (hidden, messages) = (self.gaps.cut_headers, self.gaps.messages);
        if !is_part(hidden, PART, messages) {
            return None;
        }
        let advice = match self.gaps.longest_cut {
            0..USUAL_HEADER => "capture at least 256 bytes of each packet (tcpdump -s 256)",
            _ => "their headers are longer than usual, so capture whole packets (tcpdump -s 0)",
        };
        let evidence = format!(
            "{} {} cut, and {} of {} {} not show their RPC because of that: {advice}.",
            counted(self.summary.cut, "frame"),
            if self.summary.cut == 1 { "was" } else { "were" },
            grouped(hidden),
            counted(messages, "message"),
            if hidden == 1 { "does" } else { "do" },
        );
        Some(self.cause(Cause::Cut, Some(CauseOwner::Capture), vec![evidence], "stats"))
    }

    fn joined_late(&self) -> Option<DiagnosedCause> {
        let Waits { rpcs, without_call, joined_longest, .. } =
            *self.context.map_or(self.waits, |context| &context.waits);
        if self.facts.joined == 0 || !is_part(without_call, PART, rpcs) {
            return None;
        }
        let evidence = format!(
            "{} of {} have a reply and no call: the call was sent before the capture.{} Of these connections the inline \
             thresholds and the first credits are not known either. Start the capture before the mount to see them.",
            grouped(without_call),
            counted(rpcs, "RPC"),
            joined_longest.map(|longest| longest.sentence(without_call)).unwrap_or_default()
        );
        Some(self.cause(Cause::JoinedLate, Some(CauseOwner::Capture), vec![evidence], "stats"))
    }

    fn mirror_doubled(&self) -> Option<DiagnosedCause> {
        let Facts { copies, packets, .. } = *self.facts;
        let evidence = vec![
            sentence(&twice(copies, packets)),
            "Duplicates are left out of everything else. Mirror each packet once, for example where it enters the switch."
                .to_owned(),
        ];
        (is_doubled(copies, packets) && self.both_ends().is_none())
            .then(|| self.cause(Cause::MirrorDoubled, Some(CauseOwner::Capture), evidence, "stats"))
    }

    /// Returns true if all connections were captured by two clocks, so that no time counts: before acknowledgements show that, the
    /// first RPCs seem to have a latency.
    pub(super) fn is_untimed(&self) -> bool {
        let Facts { two_clocks, connections, .. } = self.facts;
        two_clocks.connections > 0 && two_clocks.connections == *connections
    }

    fn two_clocks(&self) -> Option<DiagnosedCause> {
        let TwoClocks { connections, late_packets, ends } = &self.facts.two_clocks;
        let several = || "the ends with the later clock".to_owned();
        let end = ends.first().filter(|_| ends.len() == 1).map_or_else(several, ToString::to_string);
        let mut evidence = vec![
            format!(
                "{}: the capture holds {} of {end} after their acknowledgements, so the clock that gave the times of these packets is \
                 ahead of the other. Latencies, and which packets were lost or retransmitted, are not known.",
                if self.facts.connections == 1 {
                    "The only connection".to_owned()
                } else {
                    format!("{} of {}", grouped(*connections), counted(self.facts.connections, "connection"))
                },
                counted(*late_packets, "packet"),
            ),
            "Capture both directions with one clock, or correct one of the two files before they are merged: editcap -t -SECONDS IN OUT."
                .to_owned(),
        ];
        let unpaired = self.waits.without_call;
        if unpaired > 0 {
            evidence.insert(
                1,
                format!("{} may have the reply before the call, and count as two.", counted(unpaired, "RPC")),
            );
        }
        (*connections > 0).then(|| self.cause(Cause::TwoClocks, Some(CauseOwner::Capture), evidence, "stats"))
    }

    /// Calls that are not answered.
    fn unanswered(
        &self,
        cause: Cause,
        owner: Option<CauseOwner>,
        tally: &Tally,
        shown: String,
    ) -> Option<DiagnosedCause> {
        let GreatestRpc { amount, subject, .. } = tally.greatest_rpc.as_ref()?;
        // They wait on when the capture ends, and where its clock was set back they may have waited longer.
        let longest = if tally.rpcs == 1 { "" } else { ", the longest" };
        let calls = counted(tally.rpcs, "call");
        let waited = format!("{calls} waited{longest} for at least {}: {}.", duration(*amount), named(subject));
        let mut evidence = vec![waited, shown];
        evidence.extend(self.connection_ends(cause, tally));
        evidence.extend(self.moves([subject.client, subject.server]));
        if tally.reverse > 0 {
            let callbacks = counted(tally.reverse, "callback");
            evidence.push(format!("{callbacks} among them: the server calls, and the client has to answer."));
        }
        let cause = self.cause(cause, owner, evidence, "pending");
        Some(self.timed(cause, tally))
    }

    fn responder_silent(&self) -> Option<DiagnosedCause> {
        let Silence { responder_silent: tally, arrival_unknown, reply_refused, ends, .. } = self.silence;
        let EndNames { calling, answering } = EndNames::new(tally);
        let calls = if tally.rpcs == 1 { "call" } else { "calls" };
        let accepted = match ends.get(&Cause::ServerSilent).is_some() {
            false => format!("The {answering}'s adapter received the {calls}; the {answering} then sent nothing."),
            true => format!("The {answering}'s adapter received the {calls}; the {answering} did not answer."),
        };
        let evidence = match (*arrival_unknown, *reply_refused) {
            (0, 0) => accepted,
            (0, refused) if refused == tally.rpcs => {
                format!(
                    "The {answering} sent a reply, the {calling}'s adapter refused it, and it was not retransmitted."
                )
            }
            (unknown, 0) if unknown == tally.rpcs => format!(
                "The {calls} {}, and the capture does not show an arrival: the {answering} does not answer, or cannot be reached.",
                if unknown == 1 { "was sent once" } else { "were sent once" }
            ),
            (unknown, 0) => {
                format!("{accepted} For {} the capture does not show an arrival.", grouped(unknown))
            }
            (_, refused) => format!("{accepted} For {} a reply was refused, and not retransmitted.", grouped(refused)),
        };
        self.unanswered(Cause::ServerSilent, Some(CauseOwner::Server), tally, evidence)
    }

    fn responder_unreachable(&self) -> Option<DiagnosedCause> {
        let tally = &self.silence.responder_unreachable;
        let evidence = format!(
            "Retransmitted{}, and never acknowledged: the {} is down, or packets are lost on the way there or back.",
            self.or_behind(Cause::ServerUnreachable),
            EndNames::new(tally).answering
        );
        self.unanswered(Cause::ServerUnreachable, Some(CauseOwner::Network), tally, evidence)
    }

    fn requester_silent(&self) -> Option<DiagnosedCause> {
        let tally = &self.silence.requester_silent;
        let (steps, ends) = (&self.silence.steps, EndNames::new(tally));
        let step = |(step, calls): (&ResponderStep, &u64)| match steps.len() {
            1 => after(*step, ends),
            _ => format!("{}: {}", counted(*calls, "call"), after(*step, ends)),
        };
        let steps: Vec<String> = steps.iter().map(step).collect();
        let evidence =
            format!("{} Or packets of the {} were lost before the capture point.", steps.join(" "), ends.calling);
        self.unanswered(Cause::ClientSilent, Some(CauseOwner::Client), tally, evidence)
    }

    fn requester_unreachable(&self) -> Option<DiagnosedCause> {
        let tally = &self.silence.requester_unreachable;
        let evidence = format!(
            "Their replies, or data of them, were retransmitted{}, and never acknowledged: the {} is down, or packets are \
             lost on the way there or back.",
            self.or_behind(Cause::ClientUnreachable),
            EndNames::new(tally).calling
        );
        self.unanswered(Cause::ClientUnreachable, Some(CauseOwner::Network), tally, evidence)
    }

    /// Words for messages that TCP delivered behind retransmitted ones.
    fn or_behind(&self, cause: Cause) -> &'static str {
        match self.silence.behind_retransmitted.contains(cause) {
            true => ", or sent once behind retransmitted packets",
            false => "",
        }
    }

    fn wrong_checksum(&self) -> Option<DiagnosedCause> {
        let mut ends: SmallMap<Address, (u64, u64)> = SmallMap::default();
        for ((end, _), WrongChecksums { packets, first }) in self.silence.wrong_checksums.iter() {
            if let Some((all, earliest)) = ends.value_or(*end, usize::MAX, || (0, *first)) {
                (*all, *earliest) = (*all + packets, (*earliest).min(*first));
            }
        }
        let line = |(end, (packets, first)): (&Address, &(u64, u64))| match packets {
            1 => format!("The packet that {end} retransmitted in vain has a wrong ICRC (frame {first})."),
            _ => format!(
                "Each of the {} packets that {end} retransmitted in vain has a wrong ICRC, first in frame {first}.",
                grouped(*packets)
            ),
        };
        let mut evidence: Vec<String> = ends.iter().take(NAMED).map(line).collect();
        let (of, to) = match ends.only() {
            Some((end, _)) => (format!("The adapter of {end}"), "the other end"),
            _ => ("The adapters of these ends".to_owned(), "the other ends"),
        };
        evidence.push(format!(
            "An adapter drops such packets without an answer, so nothing arrives at {to}. {of} computes the checksum wrongly, or \
             something on the way to the capture changes packets."
        ));
        let owner = ends.only().map(|(end, _)| *end);
        let (tally, role) = (&self.silence.wrong_checksum, owner.and_then(|end| self.owner(end)));
        let cause = self.unanswered(Cause::WrongChecksum, role, tally, evidence.join(" "))?;
        Some(DiagnosedCause { owner_address: owner.map(|end| end.to_string()), ..cause })
    }

    fn reply_refused(&self) -> Option<DiagnosedCause> {
        let tally = &self.silence.reply_refused_for_lack;
        let end = tally.greatest_rpc.as_ref().map(|greatest| greatest.subject.requester());
        let naks = end.and_then(|end| self.facts.not_ready.get(&end));
        let naks =
            naks.map(|count| format!(" The adapter sent 'receiver not ready' (RNR NAK) {}.", times(count.times)));
        let evidence = format!(
            "The {calling}'s adapter had no receive buffer for the reply, and refused it.{} A {calling} has to post a receive buffer \
             (Receive) for each call before it sends the call.",
            naks.unwrap_or_default(),
            calling = EndNames::new(tally).calling
        );
        self.unanswered(Cause::ReplyRefused, Some(CauseOwner::Client), tally, evidence)
    }

    fn loss(&self) -> Option<DiagnosedCause> {
        let Waits { loss, affected, arrival_unknown, .. } = self.waits;
        let is_timed = is_part(loss.amount, SHARE, self.sum_waits());
        let untimed = arrival_unknown.rpcs + affected.rpcs;
        let unknown = &self.facts.joined_again;
        let is_enough =
            is_timed || is_part(untimed, PART, self.waits.rpcs) || is_part(unknown.packets, PART, self.facts.packets);
        if !self.stands_out(Cause::Loss, loss.rpcs + untimed, is_enough) {
            return None;
        }
        let mut evidence = Vec::new();
        evidence.extend([loss, affected].into_iter().find_map(|tally| longest("The longest delay", tally)));
        evidence.extend(self.delayed());
        if affected.rpcs > 0 {
            let too = match self.waits.affected_too {
                0 => String::new(),
                all if all == affected.rpcs => ", counted above too,".to_owned(),
                some => format!(", {} of them counted above too,", grouped(some)),
            };
            evidence.push(format!(
                "{} with retransmitted packets{too} waited another {} for client or server; retransmission may be part of that.",
                counted(affected.rpcs, "RPC"),
                duration(affected.amount)
            ));
        }
        if arrival_unknown.rpcs > 0 {
            evidence.push(format!(
                "{} {} not counted: a reply was retransmitted, and the capture does not show which transmission arrived.",
                counted(arrival_unknown.rpcs, "RPC"),
                if arrival_unknown.rpcs == 1 { "is" } else { "are" }
            ));
        }
        if unknown.packets > 0 && loss.rpcs == 0 {
            evidence.push(format!(
                "{} {} retransmitted for calls that the capture does not show: how long these were delayed is unknown.",
                counted(unknown.packets, "packet"),
                if unknown.packets == 1 { "was" } else { "were" }
            ));
        }
        evidence.extend(self.facts.losses.summary());
        evidence.extend(match self.context {
            None => self.facts.losses.sentences(NAMED),
            Some(_) => self.facts.losses.counts(NAMED),
        });
        evidence.extend(self.facts.places.is_empty().then(|| "The capture point is not known.".to_owned()));
        let Some(tally) = [loss, affected, arrival_unknown].into_iter().find(|tally| tally.rpcs > 0) else {
            let cause = self.cause(Cause::Loss, Some(CauseOwner::Network), evidence, "events");
            let examples = unknown.frames.iter().map(|frame| CauseExample { frame: *frame, waiting_ns: None });
            return Some(DiagnosedCause { since_ns: unknown.since, ..cause.shown_by(examples) });
        };
        let client = tally.client().filter(|_| self.waits.clients.len() > 1);
        let command = client.map_or("events".to_owned(), |client| format!("events --client {client}"));
        let cause = self.cause(Cause::Loss, Some(CauseOwner::Network), evidence, &command);
        let cause = if is_timed { self.timed(cause, loss) } else { self.tallied(cause, tally) };
        let (rpcs, disturbed_ns) = (Some(self.waits.lossy), (loss.rpcs > 0).then_some(self.waits.delayed().0));
        Some(DiagnosedCause { rpcs, disturbed_ns, ..cause })
    }

    /// Sentences about the time of recovery from loss: of one RPC, of all, and of the capture.
    fn delayed(&self) -> Option<String> {
        let loss = &self.waits.loss;
        let (longest, sum) = (duration(loss.greatest()?), duration(loss.amount));
        let rpcs = counted(loss.rpcs, "RPC");
        let or_more = if self.waits.at_least > 0 { " or more" } else { "" };
        if loss.rpcs == 1 {
            return Some(format!("Retransmission delayed {rpcs} by {longest}{or_more}."));
        }
        let all = format!("Retransmission delayed {rpcs}, the longest by {longest}{or_more}; {sum}");
        let (disturbed, is_least) = self.waits.delayed();
        let disturbed = duration(disturbed);
        let length = self.summary.first.zip(self.summary.last).map(|(first, last)| last.0.saturating_sub(first.0));
        let length = length.map(|length| format!(" of the {} of the capture", duration(length))).unwrap_or_default();
        Some(match (disturbed == sum, is_least) {
            (true, false) => format!("{all} in total, one after the other."),
            (_, true) => {
                format!("{all}{or_more} in total. For {disturbed}{length}, or longer, at least one was delayed.")
            }
            (false, false) => format!("{all} in total. For {disturbed}{length}, at least one was delayed."),
        })
    }

    fn receiver_not_ready(&self) -> Option<DiagnosedCause> {
        let tally = &self.waits.not_ready;
        if !self.stands_out(Cause::ReceiverNotReady, tally.rpcs, is_part(tally.amount, SHARE, self.sum_waits())) {
            return None;
        }
        let most = |facts: &'a Facts| {
            let ends = facts.not_ready.iter().filter(|(end, _)| self.is_end(**end));
            ends.max_by_key(|(_, not_ready)| not_ready.times)
        };
        // The refusal may be before the selected time.
        let (end, not_ready) = most(self.facts).or_else(|| most(&self.context?.facts))?;
        let mut evidence = vec![format!("{end} sent 'receiver not ready' (RNR NAK) {}.", times(not_ready.times))];
        evidence.push(not_ready.sentence());
        let behind = self.waits.behind_not_ready;
        evidence.extend((behind > 0).then(|| {
            let all = counted(tally.rpcs, "RPC");
            format!(
                "Of the {all} that waited, {} were behind a refused one: a receiver takes packets in order.",
                grouped(behind)
            )
        }));
        let cause = self.cause(Cause::ReceiverNotReady, self.owner(*end), evidence, "events");
        Some(DiagnosedCause { owner_address: Some(end.to_string()), ..self.timed(cause, tally) })
    }

    /// Returns true for an end of the RPCs.
    fn is_end(&self, end: Address) -> bool {
        self.waits.clients.contains(&end) || self.waits.servers.contains(&end)
    }

    /// The role of an end in the calls of the client.
    fn owner(&self, end: Address) -> Option<CauseOwner> {
        match (self.waits.clients.contains(&end), self.waits.servers.contains(&end)) {
            (true, false) => Some(CauseOwner::Client),
            (false, true) => Some(CauseOwner::Server),
            _ => None,
        }
    }

    /// The part of the network in what the requesters waited, if the capture holds the packets of both ends.
    fn between_both_ends(&self, both: SeenAtBothEnds) -> Option<DiagnosedCause> {
        let (between, all) = (self.facts.both_ends.between(), self.sum_waits());
        if between < DISTANT.saturating_mul(both.rpcs) || !is_part(between, SLOW_SHARE, all) {
            return None;
        }
        let evidence = vec![
            format!("Of {}, {}: the network took the rest.", counted(both.rpcs, "RPC"), both.medians()),
            self.facts.both_ends.files().to_owned(),
        ];
        let cause = self.cause(Cause::Distance, Some(CauseOwner::Network), evidence, "stats");
        let share = Some(between as f64 / all as f64);
        Some(DiagnosedCause { waiting_ns: Some(between), share, rpcs: Some(both.rpcs), ..cause })
    }

    fn distance(&self) -> Option<DiagnosedCause> {
        if let Some(both) = self.both_ends() {
            return self.between_both_ends(both);
        }
        let tally = &self.waits.distance;
        let is_enough = tally.rpcs >= SEVERAL && is_part(tally.amount, SLOW_SHARE, self.sum_waits());
        if !self.stands_out(Cause::Distance, tally.rpcs, is_enough) {
            return None;
        }
        let most = tally.greatest()?;
        let mut evidence = vec![format!(
            "{} of {} spent {} or more in the network: up to {}{}.",
            grouped(tally.rpcs),
            counted(self.waits.rpcs, "RPC"),
            duration(DISTANT),
            duration(most),
            added_up(tally)
        )];
        let line = |(end, round_trip): (&Address, &u64)| format!("{end} acknowledges in {}", duration(*round_trip));
        let ends: Vec<_> = self.waits.distant.iter().take(NAMED).map(line).collect();
        evidence.push(format!(
            "{}. An adapter does that at once: most of it is the network's round trip.",
            ends.join(", ")
        ));
        let cause = self.cause(Cause::Distance, Some(CauseOwner::Network), evidence, "stats");
        Some(self.timed(cause, tally))
    }

    fn delegation_recall(&self) -> Option<DiagnosedCause> {
        let RecallWaits { calls, callbacks, unanswered, .. } = &self.silence.recalled;
        let waiting = calls.amount.saturating_add(*callbacks);
        let is_enough = self.are_slow(calls, waiting) || *unanswered > 0;
        if !self.stands_out(Cause::DelegationRecall, calls.rpcs, is_enough) {
            return None;
        }
        let evidence = self.waited(calls, "until a client returned a delegation that the server had recalled")?;
        let command = if *unanswered > 0 { "pending".to_owned() } else { self.slowest_of(calls) };
        let cause =
            self.timed(self.cause(Cause::DelegationRecall, Some(CauseOwner::Client), evidence, &command), calls);
        Some(DiagnosedCause {
            owner_address: self.silence.recalled.holder().map(|holder| holder.to_string()),
            waiting_ns: Some(waiting),
            share: self.share(waiting),
            ..cause
        })
    }

    /// An end that is slow.
    fn slow(&self, cause: Cause, owner: CauseOwner, tally: &Tally) -> Option<DiagnosedCause> {
        if !self.stands_out(cause, tally.rpcs, self.are_slow(tally, tally.amount)) {
            return None;
        }
        let (place, end) = match owner {
            CauseOwner::Client => (CapturePoint::Client, EndNames::new(tally).calling),
            _ => (CapturePoint::Server, EndNames::new(tally).answering),
        };
        let mut evidence = self.waited(tally, &format!("20 ms or more for the {end}"))?;
        if self.waits.undivided > 0 && self.facts.places.get(&place) != Some(&self.facts.connections) {
            evidence
                .push("This includes the round trip in the network, so the network may be slow instead.".to_owned());
        }
        let cause = self.cause(cause, Some(owner), evidence, &self.slowest_of(tally));
        Some(self.timed(cause, tally))
    }

    /// An end that pauses while sending data by RDMA.
    fn slow_transfer(&self, owner: CauseOwner, tally: &Tally) -> Option<DiagnosedCause> {
        let sender = owner_in_words(owner, tally, "its sender");
        let why = match owner {
            CauseOwner::Client => format!(
                "Nothing in the capture shows why. The adapter of {sender} answers RDMA Reads without the processor: either this adapter is \
                 slow, or a switch stops its port (PFC), which the port's counters show."
            ),
            _ => format!(
                "Nothing in the capture shows why: {sender} is slow, or its adapter, or a switch stops its port (PFC), which the port's \
                 counters show."
            ),
        };
        let how = format!("{sender} paused in the middle of its data");
        self.held_up(Cause::SlowTransfer, owner, tally, &how, Some(why))
    }

    /// An end without capacity for data.
    fn window(&self, owner: CauseOwner, tally: &Tally) -> Option<DiagnosedCause> {
        let receiver = owner_in_words(owner, tally, "their receiver");
        let how = format!("{receiver} accepted no data (TCP window 0)");
        self.held_up(Cause::Window, owner, tally, &how, None)
    }

    fn congestion(&self) -> Option<DiagnosedCause> {
        let CongestionSigns { notifications, marks, pauses } = self.waits.held_up.congestion;
        let signs = [
            (notifications, "congestion notifications (CNP)"),
            (marks, "packets that a switch marked (CE)"),
            (pauses, "pauses of a port (PFC)"),
        ];
        let came: Vec<_> = signs.iter().filter(|(count, _)| *count > 0).map(|(_, name)| *name).collect();
        let how = format!("data came slowly, with {}", came.join(" and "));
        self.held_up(Cause::Congestion, CauseOwner::Network, &self.waits.held_up.congested, &how, None)
    }

    fn link_full(&self) -> Option<DiagnosedCause> {
        let how = "data of other RPCs came at the highest rate of their connection";
        let share =
            "Each gets a share of the link, or of the adapter that sends: more RPCs in flight move no more data.";
        let tally = &self.waits.held_up.link_full;
        self.held_up(Cause::LinkFull, CauseOwner::Network, tally, how, Some(share.to_owned()))
    }

    /// A cause for which data was held up, in words, with additional evidence.
    fn held_up(
        &self,
        cause: Cause,
        owner: CauseOwner,
        tally: &Tally,
        how: &str,
        more: Option<String>,
    ) -> Option<DiagnosedCause> {
        if !self.stands_out(cause, tally.rpcs, self.are_slow(tally, tally.amount)) {
            return None;
        }
        let mut evidence = self.waited(tally, &format!("20 ms or more while {how}"))?;
        evidence.extend(more);
        Some(self.timed(self.cause(cause, Some(owner), evidence, &self.slowest_of(tally)), tally))
    }

    fn credits(&self) -> Option<DiagnosedCause> {
        let tally = &self.waits.credits;
        let is_enough = tally.rpcs >= SEVERAL && is_part(tally.rpcs, WAITED, self.waits.rpcs);
        if !self.stands_out(Cause::Credits, tally.rpcs, is_enough) {
            return None;
        }
        let longest = tally.greatest()?;
        let mut evidence = vec![format!(
            "{} of {} were sent when a reply returned a credit: until then the {} had none, for up to {}.",
            grouped(tally.rpcs),
            counted(self.waits.rpcs, "call"),
            EndNames::new(tally).calling,
            duration(longest)
        )];
        evidence.extend(self.facts.credits.sentence());
        let cause = self.cause(Cause::Credits, self.facts.credits.owner(), evidence, "stats --interval 1s");
        Some(self.timed(cause, tally))
    }

    /// Calls that waited for slots of their sessions.
    fn slots(&self) -> Option<DiagnosedCause> {
        let tally = &self.waits.slots;
        let is_enough = tally.rpcs >= SEVERAL && is_part(tally.rpcs, WAITED, self.waits.rpcs);
        if !self.stands_out(Cause::Slots, tally.rpcs, is_enough) {
            return None;
        }
        let mut evidence = vec![format!(
            "{} of {} came when a reply freed a slot of their session: until then all were in use, for up to {}.",
            grouped(tally.rpcs),
            counted(self.waits.rpcs, "call"),
            duration(tally.greatest()?)
        )];
        let (facts, mounts) = match self.context {
            Some(context) => (&context.facts, &context.mounts[..]),
            None => (self.facts, self.mounts),
        };
        let session = facts.sessions.busiest(mounts);
        evidence.extend(session.map(size_sentence));
        let owner = session.map(owner_of_size);
        Some(self.timed(self.cause(Cause::Slots, owner, evidence, "stats"), tally))
    }

    /// States of clients that servers report in the status flags of SEQUENCE.
    fn session_status(&self) -> Option<DiagnosedCause> {
        let (mounts, selected) = match self.context {
            Some(context) => (&context.mounts[..], Some(&self.facts.sessions)),
            None => (self.mounts, None),
        };
        let states = ReportedStates::new(mounts, selected);
        if states.is_empty() {
            return None;
        }
        let owner = states.owner();
        let cause = DiagnosedCause {
            owner_address: owner.and_then(|_| states.server()),
            client: states.client(),
            server: states.server(),
            since_ns: states.since(),
            ..self.cause(Cause::SessionStatus, owner, states.evidence(NAMED), "stats")
        };
        let examples = states.frames().take(NAMED).map(|frame| CauseExample { frame, waiting_ns: None });
        Some(cause.shown_by(examples))
    }

    fn small_sends(&self) -> Option<DiagnosedCause> {
        let small = &self.facts.small;
        let is_enough = is_part(small.rpcs.fit, SMALL, small.rpcs.all);
        if !self.stands_out(Cause::SmallSends, small.rpcs.fit, is_enough) {
            return None;
        }
        let by = small.owner_address().map(|end| format!(", as {end} announced")).unwrap_or_default();
        let evidence = vec![
            format!(
                "Sends have at most {} bytes{by}. {} of {} with chunks would need none with 4,096.",
                grouped(u64::from(small.threshold?)),
                grouped(small.rpcs.fit),
                counted(small.rpcs.all, "RPC")
            ),
            "Each chunk costs a registration of memory and a round trip.".to_owned(),
        ];
        let cause = self.cause(Cause::SmallSends, small.owner(), evidence, "stats");
        Some(DiagnosedCause {
            owner_address: small.owner_address().map(|end| end.to_string()),
            client: self.only_of_several(&small.clients, &self.waits.clients),
            server: self.only_of_several(&small.servers, &self.waits.servers),
            ..cause
        })
    }

    fn errors(&self) -> Option<DiagnosedCause> {
        let failed = &self.facts.failed;
        let is_enough = failed.rpcs > 1 && is_part(failed.rpcs, PART, self.waits.rpcs);
        if !self.stands_out(Cause::Errors, failed.rpcs, is_enough) {
            return None;
        }
        let mut failures: Vec<_> = self.facts.failures.iter().collect();
        failures.sort_by_key(|(_, count)| Reverse(**count));
        let all = format!("{} of {} failed:", grouped(failed.rpcs), counted(self.waits.rpcs, "RPC"));
        let named = failures
            .iter()
            .take(NAMED)
            .map(|((operation, status), count)| format!("{} with {} {}", kind(operation), status.name, times(**count)));
        let mut list = named.collect::<Vec<_>>().join(", ");
        if failures.len() > NAMED {
            list.push_str(&format!(", and {} more", counted((failures.len() - NAMED) as u64, "kind")));
        }
        let evidence = vec![format!("{all} {list}.")];
        let cause = self.cause(Cause::Errors, Some(CauseOwner::Server), evidence, "top --by status");
        Some(self.tallied(cause, failed))
    }

    fn protocol(&self) -> Option<DiagnosedCause> {
        // Selected calls may have died of a rule that was broken before the selected time.
        let facts = self.context.filter(|_| self.silence.died.rpcs > 0).map_or(self.facts, |context| &context.facts);
        let mut broken: Vec<_> = facts.broken.iter().collect();
        let is_fatal = |broken: &Broken| facts.is_fatal(broken);
        broken.sort_by_key(|(_, broken)| (Reverse(is_fatal(broken)), Reverse(broken.count)));
        let refusals = facts.fatal_refusals();
        let gravest = broken.first().map(|(_, broken)| *broken);
        let line = |((rule, by), broken): &(&(&str, String), &Broken)| {
            format!("{rule}, by {by}, {}: {}.", times(broken.count), broken.message)
        };
        let mut evidence: Vec<String> = broken.iter().take(NAMED).map(line).collect();
        if broken.len() > NAMED {
            evidence.push(format!("{}.", counted((broken.len() - NAMED) as u64, "more broken rule")));
        }
        if let Some((frame, by)) = refusals.first() {
            evidence.push(format!(
                "{by} refused an operation of the other end for good, first in frame {frame}: an RDMA operation outside \
                 registered memory, or a Send for which no Receive is large enough."
            ));
        }
        let died = &self.silence.died;
        if died.rpcs > 0 {
            evidence.push(format!("{} got no reply, because the connection ended.", counted(died.rpcs, "call")));
        }
        let frames = gravest.map(|broken| broken.frames.clone());
        let frames = frames.or_else(|| refusals.first().map(|(frame, _)| vec![*frame]))?;
        let owner = gravest.and_then(|broken| broken.by).and_then(|end| self.owner(end));
        let cause = self.cause(Cause::Protocol, owner, evidence, "check");
        let cause = if died.rpcs > 0 { self.timed(cause, died) } else { cause };
        let owner_address = gravest.and_then(|broken| broken.by).map(|end| end.to_string());
        let cause = DiagnosedCause { owner_address, ..cause };
        let cause = cause.shown_by(frames.into_iter().map(|frame| CauseExample { frame, waiting_ns: None }));
        Some(cause)
    }
}

/// The address of the end that owns a cause, or other words where several ends are behind the cause.
fn owner_in_words(owner: CauseOwner, tally: &Tally, several: &str) -> String {
    let end = if owner == CauseOwner::Client { tally.requester() } else { tally.responder() };
    end.map_or_else(|| several.to_owned(), |end| end.to_string())
}
