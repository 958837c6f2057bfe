//! The captures that CONFORMANCE.md names show what the probe and `rpcrdma-serve --misbehave` found.

use std::collections::BTreeMap;

use rpcrdma::rules::Severity;
use rpcrdma::v1::ErrorBody;
use rpcrdma_dissector::check::Blame;
use rpcrdma_dissector::{
    Address, AnyErrorBody, Capture, Checker, Config, Event, Events, Found, Message, Report, Side, Status,
};

use crate::transcode;

const SERVER: Address = Address::V4([192, 0, 2, 1]);
const CLIENT: Address = Address::V4([192, 0, 2, 2]);

/// A case in which Linux deviates.
struct Deviation {
    severity: Severity,
    case: String,
    rule: String,
    /// Linux's reaction; further defects of it are left out.
    observed: String,
}

/// A capture that shows a case.
struct Evidence {
    case: String,
    capture: String,
    /// The frame that Linux has reacted to.
    sent: u64,
    /// The frame of Linux's reaction, unless it was silence.
    came: Option<u64>,
    /// The rule that is broken, if `rpcrdma check` can tell.
    rule: Option<String>,
}

fn lines(table: &str) -> Vec<Vec<String>> {
    let path = format!("{}/../testdata/lab/expected/{table}.tsv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn deviations(table: &str) -> Vec<Deviation> {
    let deviation = |line: Vec<String>| {
        let [verdict, case, rule, _, observed, _] = <[String; 6]>::try_from(line).unwrap();
        let severity = match verdict.as_str() {
            "violates" => Severity::Error,
            "hazard" => Severity::Hazard,
            _ => return None,
        };
        let observed = observed.split(';').next().unwrap().to_owned();
        Some(Deviation { severity, case, rule, observed })
    };
    lines(table).into_iter().filter_map(deviation).collect()
}

fn evidence(table: &str) -> Vec<Evidence> {
    let of_table = lines("evidence").into_iter().filter(|line| line[0] == table);
    let evidence = |line: Vec<String>| {
        let [_, case, capture, sent, came, rule] = <[String; 6]>::try_from(line).unwrap();
        let some = |text: &str| (text != "-").then(|| text.to_owned());
        let came = some(&came).map(|frame| frame.parse().unwrap());
        Evidence { case, capture, sent: sent.parse().unwrap(), came, rule: some(&rule) }
    };
    of_table.map(evidence).collect()
}

/// The events of a capture.
#[derive(Default)]
struct Shown {
    messages: BTreeMap<u64, Message>,
    connections: BTreeMap<u32, Report>,
    found: Vec<Found>,
}

impl Shown {
    fn from_capture(capture: &str) -> Self {
        let (mut shown, mut checker) = (Self::default(), Checker::default());
        for event in Events::new(Capture::from_paths([transcode::path(capture)]), Config::for_checker()) {
            let event = event.unwrap();
            checker.event(&event);
            match event {
                Event::Message(message) => shown.messages.extend([(message.stamp.frame, message)]),
                Event::Connection(report) => shown.connections.extend(report.number.map(|number| (number, *report))),
                _ => {}
            }
        }
        shown.found = std::iter::from_fn(|| checker.finding()).collect();
        shown
    }

    fn has(&self, frame: u64, severity: Severity, rule: &str) -> bool {
        self.found.iter().any(|found| (found.stamp.frame, found.severity, found.rule.slug) == (frame, severity, rule))
    }

    /// The frame by which the client ended a connection.
    fn left(&self, connection: u32) -> Option<u64> {
        let disconnected = self.connections[&connection].connection.disconnected;
        disconnected.filter(|ended| ended.by == Side::Active).map(|ended| ended.stamp.frame)
    }

    /// Returns true if a message of the server answers one of the client.
    fn answers(&self, answer: &Message, sent: &Message) -> bool {
        answer.from == SERVER
            && answer.connection == sent.connection
            && answer.stamp.frame > sent.stamp.frame
            && answer.rdma_xid() == sent.rdma_xid()
    }

    /// Returns true if the server reacted in this way.
    fn server_did(&self, what: &str, sent: &Message, came: Option<u64>) -> bool {
        let answer = came.map(|frame| &self.messages[&frame]);
        if answer.is_some_and(|answer| !self.answers(answer, sent)) {
            return false;
        }
        match (what, answer) {
            ("silence", None) => !self.messages.values().any(|message| self.answers(message, sent)),
            ("ERR_CHUNK", Some(answer)) => answer.error() == Some(AnyErrorBody::V1(ErrorBody::Chunk)),
            ("reply", Some(answer)) => is_reply(answer),
            // The client's adapter does not take it, so it is the last message.
            ("disconnect", Some(answer)) => {
                let later = self.messages.range(answer.stamp.frame + 1..);
                is_reply(answer) && later.filter(|(_, later)| later.connection == answer.connection).count() == 0
            }
            _ => false,
        }
    }

    /// Returns true if a call has one Write chunk, which is empty, the answer is not the specification's, and yet no rule
    /// accuses the server.
    fn shows_unnamed(&self, call: &Message, answer: &Message) -> bool {
        let by_server = |found: &Found| (found.from == SERVER) == (found.blame == Blame::Sender);
        let accused = self.found.iter().any(|found| found.connection == call.connection && by_server(found));
        let status = answer.rpc.as_ref().unwrap().status.unwrap();
        let is_done = matches!(status, Status::Success(None | Some(0)));
        let has_empty_chunk = || {
            let chunks = call.decode_v1().unwrap().header.chunks().unwrap();
            chunks.writes.iter().count() == 1 && chunks.writes.iter().all(|chunk| chunk.is_empty())
        };
        !accused && !is_done && has_empty_chunk()
    }

    /// Returns true if the client reacted to a message in this way.
    fn client_did(&self, what: &str, bad: &Message, came: u64) -> bool {
        // The call that the bad message answers, though its XID may be wrong.
        let mut before = self.messages.range(..bad.stamp.frame).rev().map(|(_, message)| message);
        let call = before.find(|message| message.connection == bad.connection).unwrap();
        let left = self.left(bad.connection).unwrap();
        let its = |message: &&Message| message.connection == bad.connection && message.stamp.frame > bad.stamp.frame;
        let is_last = !self.messages.values().any(|message| its(&message));
        call.from == CLIENT
            && is_last
            && left > bad.stamp.frame
            && match what {
                "disconnect" => came == left,
                "retry on a new connection" => {
                    let again = &self.messages[&came];
                    again.connection > bad.connection && again.octets == call.octets && came > left
                }
                _ => false,
            }
    }
}

fn is_reply(message: &Message) -> bool {
    message.error().is_none() && matches!(message.type_name(), Some("RDMA_MSG" | "RDMA_NOMSG"))
}

/// Each deviation of a table with its evidence, in order: none is left out.
fn shown(table: &str) -> Vec<(Deviation, Evidence)> {
    let (deviations, evidence) = (deviations(table), evidence(table));
    let names = |cases: &mut dyn Iterator<Item = &String>| cases.cloned().collect::<Vec<_>>();
    assert_eq!(names(&mut evidence.iter().map(|one| &one.case)), names(&mut deviations.iter().map(|one| &one.case)));
    deviations.into_iter().zip(evidence).collect()
}

#[test]
fn what_the_probe_found_in_linux_is_shown() {
    let all = shown("server-linux-6.1");
    assert!(all.len() >= 19);
    let (mut last, mut unnamed) = (("", 0), Vec::new());
    for (deviation, Evidence { case, capture, sent, came, rule }) in &all {
        let shown = Shown::from_capture(capture);
        let message = &shown.messages[sent];
        assert_eq!(message.from, CLIENT, "{case}");
        assert!(shown.server_did(&deviation.observed, message, *came), "{case}: {}", deviation.observed);
        // The probe tries one case after the other, each on a connection of its own.
        assert!(capture != last.0 || message.connection > last.1, "{case}");
        last = (capture, message.connection);
        let frame = came.unwrap_or(*sent);
        match rule {
            Some(rule) => assert!(shown.has(frame, deviation.severity, rule), "{case}: {rule}"),
            None => {
                assert!(shown.shows_unnamed(message, &shown.messages[&frame]), "{case}");
                unnamed.push(case.as_str());
            }
        }
    }
    assert_eq!(unnamed, ["read-write-chunk-empty"]);
}

#[test]
fn what_the_linux_client_does_about_bad_replies_is_shown() {
    let all = shown("client-linux-6.1");
    assert!(all.len() >= 7);
    let mut seen = Vec::new();
    for (deviation, Evidence { case, capture, sent, came, rule }) in &all {
        let shown = Shown::from_capture(capture);
        let bad = &shown.messages[sent];
        assert_eq!((bad.from, rule.as_ref()), (SERVER, Some(&deviation.rule)), "{case}");
        assert!(shown.has(*sent, Severity::Error, &deviation.rule), "{case}");
        assert!(shown.client_did(&deviation.observed, bad, came.unwrap()), "{case}: {}", deviation.observed);
        assert!(!seen.contains(&bad.connection), "{case}");
        seen.push(bad.connection);
    }
}
