//! Causes about connections: ends of connections, and outcomes of requests for new ones.

use std::collections::BTreeSet;

use rpcrdma_dissector::{Address, AddressMoved};

use super::attempts::{RequestKey, RequestOutcomes, RequestRun};
use super::cause::{Cause, CauseOwner};
use super::judgement::{Judgement, NAMED};
use super::record::{CauseExample, DiagnosedCause};
use super::tally::{FRAMES, Tally};
use super::waits::ConnectionEnd;
use crate::connections::Flapping;
use crate::format::date::time_of_day;
use crate::format::number::{counted, duration, grouped, times};

/// A port in words.
fn to_port(key: &RequestKey) -> String {
    key.port().map(|port| format!(" to port {port}")).unwrap_or_default()
}

/// Time from the first to the last of several requests.
fn within(run: &RequestRun) -> String {
    if run.count > 1 { format!(" within {}", duration(run.length())) } else { String::new() }
}

impl Judgement<'_> {
    /// Sentences about the ends of the connections on which calls of a cause waited, and what followed.
    pub(super) fn connection_ends(&self, cause: Cause, tally: &Tally) -> Vec<String> {
        let Some(ends) = self.silence.ends.get(&cause) else { return Vec::new() };
        let ConnectionEnd { by, stamp, how, age, client, server } = ends.longest;
        let role = if by == server { "The server" } else { "The client" };
        let how = format!("{} in frame {}", how.name(), stamp.frame);
        let mut sentences = Vec::new();
        if ends.calls == 1 && tally.rpcs == 1 {
            sentences.push(format!("{role} {by} ended the connection {} after the call ({how}).", duration(age)));
        } else {
            sentences.push(format!(
                "{} ended with their connections. {role} {by} ended that of the longest {} after the call ({how}).",
                counted(ends.calls, "call"),
                duration(age)
            ));
        }
        let attempts = self.context.map_or(self.attempts, |context| &context.attempts);
        if let Some(next) = attempts.next_accepted(client, server, stamp) {
            let later = duration(next.time.0.saturating_sub(stamp.time.0));
            sentences.push(format!("The client connected again {later} later (frame {}).", next.frame));
            return sentences;
        }
        for requests in attempts.between(client, server) {
            let is_since = |run: &RequestRun| run.first.frame > stamp.frame;
            if let Some(run) = requests.rejected.filter(is_since) {
                let why = requests.kind().map(|kind| format!(": {}", kind.meaning())).unwrap_or_default();
                let requests = counted(run.count, "connection request");
                sentences.push(format!("Since then the server has rejected {requests}{why}."));
            }
            if let Some(run) = requests.unanswered.filter(is_since) {
                let requests = counted(run.count, "connection request");
                sentences.push(format!("Since then the client has sent {requests}, and got no answer."));
            }
        }
        sentences
    }

    /// Sentences about ends whose address moved to another adapter.
    pub(super) fn moves(&self, ends: [Address; 2]) -> Vec<String> {
        let facts = self.context.map_or(self.facts, |context| &context.facts);
        let of_ends = facts.moves.iter().filter(|moved| ends.contains(&moved.address));
        let sentence = |AddressMoved { stamp, address, from, to, .. }: &AddressMoved| {
            format!(
                "{address} moved to another MAC address at {}: {to}, before {from} (announced in frame {}).",
                time_of_day(stamp.time.0),
                stamp.frame
            )
        };
        of_ends.take(NAMED).map(sentence).collect()
    }

    /// Requests for connections that were rejected for the reasons of one cause.
    pub(super) fn connection_refused(&self, cause: Cause) -> Option<DiagnosedCause> {
        let refused = self.attempts.refused_because(cause);
        let mut evidence: Vec<String> =
            refused.iter().take(NAMED).flat_map(|(key, requests, run)| self.refusals(key, requests, run)).collect();
        evidence.extend(others(refused.len()));
        self.of_requests(cause, CauseOwner::Server, &refused, evidence)
    }

    fn refusals(&self, key: &RequestKey, requests: &RequestOutcomes, run: &RequestRun) -> Vec<String> {
        let RequestKey { client, server, .. } = key;
        let (asked, port, within) = (counted(run.count, "connection request"), to_port(key), within(run));
        let mut sentences = vec![format!("{server} rejected {asked} of {client}{port}{within}.")];
        sentences.extend(requests.kinds.iter().take(NAMED).map(|(kind, count)| match requests.kinds.len() {
            1 => format!("Why: {kind}."),
            _ => format!("Why, {}: {kind}.", times(*count)),
        }));
        let is_last = self.attempts.is_last(key, run);
        let listened = self.attempts.was_accepted(key, run.first);
        if is_last && listened && requests.is_without_listener() {
            sentences.push("Something listened there before: the service was stopped, or crashed.".to_owned());
        }
        if !is_last {
            sentences.push("A later request was accepted.".to_owned());
        }
        sentences
    }

    /// Requests for connections that were not answered.
    pub(super) fn connection_unanswered(&self) -> Option<DiagnosedCause> {
        let hides = |key: &RequestKey| {
            let mut directions = self.gaps.directions.iter();
            directions.any(|hidden| (hidden.captured, hidden.missing) == (key.client, key.server))
        };
        let mut ignored = self.attempts.ignored(self.summary.capture_end());
        // The capture may lack the answer to a single request.
        ignored.retain(|(key, _, run)| !hides(key) && (run.count > 1 || self.gaps.packets == 0));
        let is_received = ignored.iter().all(|(_, requests, _)| requests.is_received);
        let owner = if is_received { CauseOwner::Server } else { CauseOwner::Network };
        let mut evidence: Vec<String> =
            ignored.iter().take(NAMED).flat_map(|(key, requests, run)| self.silences(key, requests, run)).collect();
        evidence.extend(others(ignored.len()));
        self.of_requests(Cause::ConnectUnanswered, owner, &ignored, evidence)
    }

    fn silences(&self, key: &RequestKey, requests: &RequestOutcomes, run: &RequestRun) -> Vec<String> {
        let RequestKey { client, server, .. } = key;
        let (asked, port, within) = (counted(run.count, "connection request"), to_port(key), within(run));
        let until = if self.attempts.is_last(key, run) { ", up to the end of the capture" } else { "" };
        let mut sentences = vec![format!("{client} sent {server} {asked}{port}{within}, and got no answer{until}.")];
        sentences.push(match requests.is_received {
            true => {
                format!("{server} confirmed that it received a request (MRA, or TCP for iWARP), and has not decided.")
            }
            false => "The server is down, or packets are lost on the way there or back.".to_owned(),
        });
        if !self.attempts.is_heard(key) && !requests.is_received {
            sentences.push(format!("The capture holds nothing of {server}: it may also lack that direction."));
        }
        sentences.extend(self.moves([*client, *server]));
        sentences
    }

    /// A cause that falls on connection requests; `None` without any.
    fn of_requests(
        &self,
        cause: Cause,
        owner: CauseOwner,
        requests: &[(&RequestKey, &RequestOutcomes, RequestRun)],
        evidence: Vec<String>,
    ) -> Option<DiagnosedCause> {
        let (key, _, first) = requests.iter().min_by_key(|(_, _, run)| run.first.frame)?;
        let clients: BTreeSet<Address> = requests.iter().map(|(key, ..)| key.client).collect();
        let servers: BTreeSet<Address> = requests.iter().map(|(key, ..)| key.server).collect();
        let address = (servers.len() == 1 && owner == CauseOwner::Server).then(|| key.server.to_string());
        let frames = requests.iter().flat_map(|(.., run)| [run.first.frame, run.last.frame]);
        let mut frames: Vec<u64> = frames.take(2 * NAMED).collect();
        frames.sort_unstable();
        frames.dedup();
        let cause = self.cause(cause, Some(owner), evidence, "connections");
        let cause = DiagnosedCause {
            owner_address: address,
            client: self.only_of_several(&clients, &self.waits.clients),
            server: self.only_of_several(&servers, &self.waits.servers),
            since_ns: Some(first.first.time.0),
            ..cause
        };
        Some(cause.shown_by(frames.into_iter().map(|frame| CauseExample { frame, waiting_ns: None })))
    }

    /// Connections that end again and again.
    pub(super) fn connections_flap(&self) -> Option<DiagnosedCause> {
        // Of a selection, the whole capture has the pairs; the calls that died with a connection of a pair show that the selection has it.
        let all = self.context.map_or(self.flapping, |context| &context.flapping);
        let is_selected =
            |pair: &&Flapping| self.context.is_none() || self.facts.has_death_between(pair.first, pair.last);
        let pairs: Vec<&Flapping> = all.iter().filter(is_selected).collect();
        let unanswered = pairs.iter().map(|pair| pair.unanswered).sum();
        // Connections that end because an end breaks the protocol are evidence of that, for half of their calls at least.
        let died = self.silence.died.rpcs;
        let is_explained = match self.context {
            Some(context) => !context.causes.contains(Cause::Flapping),
            None => died > 0 && 2 * died >= unanswered,
        };
        let first = pairs.iter().min_by_key(|pair| pair.first.frame).filter(|_| !is_explained)?;
        let mut evidence: Vec<String> = pairs.iter().take(NAMED).flat_map(|pair| pair.sentences()).collect();
        evidence.extend(others(pairs.len()));
        let is_of_server = pairs.iter().all(|pair| pair.is_of_its_own());
        let clients: BTreeSet<Address> = pairs.iter().map(|pair| pair.client).collect();
        let servers: BTreeSet<Address> = pairs.iter().map(|pair| pair.server).collect();
        let owner = is_of_server.then_some(CauseOwner::Server);
        let cause = DiagnosedCause {
            owner_address: owner.filter(|_| servers.len() == 1).map(|_| first.server.to_string()),
            client: self.only_of_several(&clients, &self.waits.clients),
            server: self.only_of_several(&servers, &self.waits.servers),
            since_ns: Some(first.first.time.0),
            rpcs: Some(unanswered),
            ..self.cause(Cause::Flapping, owner, evidence, "connections")
        };
        let frames = pairs.iter().flat_map(|pair| &pair.frames).take(FRAMES);
        Some(cause.shown_by(frames.map(|frame| CauseExample { frame: *frame, waiting_ns: None })))
    }

    /// Returns true if connection requests of a cause went on to the end of the capture: nothing works any more.
    pub(super) fn is_without_connection(&self, cause: &DiagnosedCause) -> bool {
        let runs = match Cause::of_name(cause.cause) {
            Some(cause @ (Cause::ServerNotListening | Cause::ConnectionRefused)) => {
                self.attempts.refused_because(cause)
            }
            Some(Cause::ConnectUnanswered) => self.attempts.ignored(self.summary.capture_end()),
            _ => Vec::new(),
        };
        runs.iter().any(|(key, _, run)| self.attempts.is_last(key, run))
    }
}

/// Number of pairs of ends that are not named.
fn others(count: usize) -> Option<String> {
    let more = count.saturating_sub(NAMED) as u64;
    let pairs = if more == 1 { "pair of ends".to_owned() } else { format!("{} pairs of ends", grouped(more)) };
    (more > 0).then(|| format!("The same happened between {pairs} more."))
}
