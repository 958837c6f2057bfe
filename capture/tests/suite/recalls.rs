//! Calls that wait until a client returns a delegation: the client that is late is named, and no other.

use rpcrdma_answers::diagnosis::{DiagnosedCause, Diagnosis};

use crate::diagnosis::{MILLISECOND, SECOND, SENDS_OF_4096, Scene, causes, diagnose, text};
use crate::synthetic::By::{Client, Server};
use crate::synthetic::Packet;
use crate::synthetic::nfs4;
use crate::synthetic::rpc::{Lists, MSG, message};
use crate::twins::{ALONE, Load, another_order};

/// The client that holds the delegation, and the one that wants the file.
const HOLDER: usize = 0;
const OPENER: usize = 1;
const HOLDER_ADDRESS: &str = "192.0.2.10";

const FILE: &[u8] = b"file handle";
const OTHER: &[u8] = b"other handle";

/// Xids of the recall, which are the server's, and of the OPEN.
const RECALL: u32 = 0x9001;
const OPEN: u32 = 0x9101;

/// Two clients with half a second of healthy RPCs.
struct Mount(Scene);

impl Mount {
    fn new() -> Self {
        Self::with(ALONE)
    }

    fn with(load: Load) -> Self {
        let mut scene = Scene::with(load, 2, &SENDS_OF_4096);
        let count = 25 / load.calls.min(5);
        scene.rpcs(HOLDER, count, (10 * MILLISECOND, 10 * MILLISECOND), 200);
        scene.rpcs(OPENER, count, (15 * MILLISECOND, 10 * MILLISECOND), 200);
        Self(scene)
    }

    /// Xids of the OPENs: every other one of the calls in flight.
    fn opens(&self) -> Vec<u32> {
        (0..self.0.load.calls as u32).step_by(2).map(|number| OPEN + number).collect()
    }

    /// A message that its receiver acknowledges.
    fn send(&mut self, wire: usize, by: crate::synthetic::By, time: u64, (xid, payload): (u32, Vec<u8>)) -> &mut Self {
        let packets = self.packets(wire, by, (xid, payload));
        self.0.at(time, &packets);
        self.0.acknowledge(wire, if by == Client { Server } else { Client }, time + 5);
        self
    }

    fn packets(&mut self, wire: usize, by: crate::synthetic::By, (xid, payload): (u32, Vec<u8>)) -> Vec<Packet> {
        self.0.send(wire, by, &message(MSG, xid, &Lists::default(), &payload))
    }

    fn open(&mut self, time: u64) -> &mut Self {
        let mut others = Vec::new();
        for (xid, time) in self.opens().into_iter().zip((time..).step_by(20)) {
            self.0.log_call(OPENER, xid, time);
            self.0.truth.blame(xid, 0);
            self.send(OPENER, Client, time, (xid, nfs4::open(xid, b"a.txt")));
            if self.0.load.calls > 1 {
                others.push(self.0.call(OPENER, time + 10));
            }
        }
        self.0.truth.is_untimed = true;
        self.0.answers(OPENER, &another_order(&others), time + 400);
        self
    }

    fn opened(&mut self, time: u64) -> &mut Self {
        for (xid, time) in another_order(&self.opens()).into_iter().zip((time..).step_by(10)) {
            self.0.truth.answer(xid, time);
            self.send(OPENER, Server, time, (xid, nfs4::open_reply(xid, FILE)));
        }
        self
    }

    fn recall(&mut self, time: u64) -> &mut Self {
        self.send(HOLDER, Server, time, (RECALL, nfs4::recall(RECALL, FILE)))
    }

    fn recall_answered(&mut self, time: u64) -> &mut Self {
        self.send(HOLDER, Client, time, (RECALL, nfs4::recall_reply(RECALL)))
    }

    /// DELEGRETURN, which takes 200 microseconds.
    fn returned(&mut self, time: u64) -> &mut Self {
        self.send(HOLDER, Client, time, (0x9201, nfs4::delegreturn(0x9201, FILE)));
        self.send(HOLDER, Server, time + 200, (0x9201, nfs4::delegreturn_reply(0x9201)))
    }

    fn diagnose(self) -> Diagnosis {
        diagnose(&self.0.records())
    }
}

/// The client answers five seconds late and returns the delegation at once, or does not return it.
pub(crate) fn answered_late(load: Load, is_returned: bool) -> Scene {
    let mut mount = Mount::with(load);
    mount.open(SECOND).recall(SECOND + 1000).recall_answered(6 * SECOND + 1000);
    if is_returned {
        mount.returned(6 * SECOND + 2000);
    }
    mount.opened(6 * SECOND + 3000);
    mount.0
}

/// The client answers within a millisecond, and returns the delegation after five seconds.
pub(crate) fn returned_late(load: Load) -> Scene {
    let mut mount = Mount::with(load);
    mount.open(SECOND).recall(SECOND + 1000).recall_answered(SECOND + 2000);
    mount.returned(6 * SECOND).opened(6 * SECOND + 500);
    mount.0
}

/// Neither the recall nor the OPEN is answered.
pub(crate) fn never_answered(load: Load) -> Scene {
    let mut mount = Mount::with(load);
    mount.open(SECOND).recall(SECOND + 1000);
    mount.0.until(11 * SECOND);
    mount.0
}

/// The only cause, which is the recall, and of the client that holds the delegation.
#[track_caller]
fn recall_cause(diagnosis: &Diagnosis) -> &DiagnosedCause {
    let [cause] = &diagnosis.causes[..] else { panic!("{}", text(diagnosis)) };
    assert_eq!((cause.cause, cause.owner), ("delegation-recall", Some("client")), "{}", text(diagnosis));
    assert_eq!(cause.owner_address.as_deref(), Some(HOLDER_ADDRESS));
    cause
}

#[test]
fn a_client_that_answers_a_recall_late_is_named() {
    for is_returned in [true, false] {
        let diagnosis = diagnose(&answered_late(ALONE, is_returned).records());
        let cause = recall_cause(&diagnosis);
        let evidence = cause.evidence.join("\n");
        assert!(evidence.contains("client 192.0.2.10 took 5.00 s to answer CB_RECALL (frame 209)"), "{evidence}");
        assert!(evidence.contains("NFSv4 OPEN of a.txt in frame 207, which took 5.00 s"), "{evidence}");
        assert_eq!((cause.operation.as_deref(), cause.rpcs), (Some("NFSv4 OPEN"), Some(1)));
        assert!(!text(&diagnosis).contains("server was slow"), "{}", text(&diagnosis));
        // 5.003 s of OPEN, 5.000 s of CB_RECALL, 50 RPCs of 0.2 ms; of OPEN, 1 ms before the recall and 1 ms or 2 ms after it.
        let share = cause.share.unwrap();
        assert!((0.99..1.0).contains(&share), "{share}");
    }
}

#[test]
fn a_client_that_returns_a_delegation_late_is_named() {
    let diagnosis = diagnose(&returned_late(ALONE).records());
    let evidence = recall_cause(&diagnosis).evidence.join("\n");
    let words = "client 192.0.2.10 answered CB_RECALL (frame 209) and took 5.00 s to return the delegation (frame 213)";
    assert!(evidence.contains(words), "{evidence}");
}

#[test]
fn a_client_that_never_answers_a_recall_is_named() {
    let diagnosis = diagnose(&never_answered(ALONE).records());
    let cause = recall_cause(&diagnosis);
    let evidence = cause.evidence.join("\n");
    assert!(evidence.contains("client 192.0.2.10 has not answered CB_RECALL (frame 209) for 10.00 s"), "{evidence}");
    assert_eq!(cause.command, "rpcrdma pending FILE");
}

/// The recall is lost, and arrives three seconds later.
#[test]
fn a_recall_is_owed_since_its_last_retransmission() {
    let mut mount = Mount::new();
    mount.open(SECOND);
    let recall = mount.packets(HOLDER, Server, (RECALL, nfs4::recall(RECALL, FILE)));
    mount.0.at(SECOND + 1000, &recall);
    mount.0.at(4 * SECOND, &recall);
    mount.0.acknowledge(HOLDER, Client, 4 * SECOND + 5);
    mount.0.until(11 * SECOND);
    let diagnosis = mount.diagnose();
    let evidence = recall_cause(&diagnosis).evidence.join("\n");
    assert!(evidence.contains("client 192.0.2.10 has not answered CB_RECALL (frame 209) for 7.00 s"), "{evidence}");
}

/// The same client on the same connection: OPEN for writing of a file that it has a delegation for reading of.
#[test]
fn a_client_may_wait_for_its_own_recall() {
    let mut mount = Mount::new();
    mount.send(HOLDER, Client, SECOND, (OPEN, nfs4::open(OPEN, b"a.txt")));
    mount.recall(SECOND + 1000).recall_answered(6 * SECOND + 1000);
    mount.send(HOLDER, Server, 6 * SECOND + 3000, (OPEN, nfs4::open_reply(OPEN, FILE)));
    recall_cause(&mount.diagnose());
}

/// REMOVE shows no handle of the file: the recall and the answers to it are in the wait, which is nearly all of it.
#[test]
fn a_call_without_file_handle_waits_for_enclosed_recalls() {
    for (reply, is_recall) in [(6 * SECOND + 3000, true), (16 * SECOND, false)] {
        let mut mount = Mount::new();
        mount.send(OPENER, Client, SECOND, (OPEN, nfs4::remove(OPEN, b"a.txt")));
        mount.recall(SECOND + 1000).recall_answered(6 * SECOND + 1000);
        mount.send(OPENER, Server, reply, (OPEN, nfs4::remove_reply(OPEN)));
        let diagnosis = mount.diagnose();
        let expected = if is_recall { "delegation-recall" } else { "server-slow" };
        assert_eq!(causes(&diagnosis), [expected], "{}", text(&diagnosis));
    }
}

/// Of twenty seconds, the client took five.
#[test]
fn time_after_the_return_is_the_servers() {
    let mut mount = Mount::new();
    mount.open(SECOND).recall(SECOND + 1000).recall_answered(6 * SECOND + 1000).returned(6 * SECOND + 2000);
    mount.opened(21 * SECOND);
    let diagnosis = mount.diagnose();
    assert_eq!(causes(&diagnosis), ["server-slow", "delegation-recall"], "{}", text(&diagnosis));
    let [server, client] = &diagnosis.causes[..] else { unreachable!() };
    let waiting = |cause: &DiagnosedCause| cause.waiting_ns.unwrap() / 1_000_000_000;
    // 5 s of OPEN, and of CB_RECALL.
    assert_eq!((waiting(server), waiting(client)), (14, 10));
    assert_eq!(server.owner_address.as_deref(), Some("192.0.2.2"));
    assert_eq!(client.owner_address.as_deref(), Some(HOLDER_ADDRESS));
}

/// Asserts that nothing is said of the client that holds the delegation.
#[track_caller]
fn assert_innocent(diagnosis: &Diagnosis) {
    let text = text(diagnosis);
    let is_of_holder = |cause: &DiagnosedCause| {
        cause.cause == "delegation-recall" || cause.owner_address.as_deref() == Some(HOLDER_ADDRESS)
    };
    assert!(!diagnosis.causes.is_empty() && !diagnosis.causes.iter().any(is_of_holder), "{text}");
}

/// The recall is lost for five seconds, and answered in a millisecond then.
#[test]
fn a_client_that_had_no_recall_is_not_late() {
    let mut mount = Mount::new();
    mount.open(SECOND);
    let recall = mount.packets(HOLDER, Server, (RECALL, nfs4::recall(RECALL, FILE)));
    mount.0.at(SECOND + 1000, &recall);
    mount.0.at(6 * SECOND, &recall);
    mount.0.acknowledge(HOLDER, Client, 6 * SECOND + 5);
    mount.recall_answered(6 * SECOND + 1000).returned(6 * SECOND + 2000).opened(6 * SECOND + 3000);
    assert_innocent(&mount.diagnose());
    // It is never acknowledged, and the OPEN is never answered.
    for times in [1, 4] {
        let mut mount = Mount::new();
        mount.open(SECOND);
        let recall = mount.packets(HOLDER, Server, (RECALL, nfs4::recall(RECALL, FILE)));
        (0..times).for_each(|time| mount.0.at(SECOND + 1000 + time * SECOND, &recall));
        mount.0.until(11 * SECOND);
        let diagnosis = mount.diagnose();
        assert!(!causes(&diagnosis).contains(&"delegation-recall"), "{}", text(&diagnosis));
    }
}

/// While the client writes what it has to write before it returns the delegation, the server is slow.
#[test]
fn a_client_that_waits_for_the_server_is_not_late() {
    let mut mount = Mount::new();
    mount.open(SECOND).recall(SECOND + 1000).recall_answered(SECOND + 2000);
    mount.send(HOLDER, Client, SECOND + 3000, (0x9301, nfs4::write(0x9301, FILE)));
    mount.send(HOLDER, Server, 6 * SECOND, (0x9301, nfs4::write_reply(0x9301)));
    mount.returned(6 * SECOND + 1000).opened(6 * SECOND + 2000);
    assert_innocent(&mount.diagnose());
}

#[test]
fn a_recall_outside_the_call_is_not_its_cause() {
    // The recall was sent before the OPEN.
    let mut mount = Mount::new();
    mount.recall(SECOND).open(SECOND + 1000).recall_answered(SECOND + 2000).returned(SECOND + 3000);
    mount.opened(6 * SECOND);
    assert_innocent(&mount.diagnose());
    // The OPEN was answered before the recall.
    let mut mount = Mount::new();
    mount.open(SECOND).recall(2 * SECOND).opened(6 * SECOND).recall_answered(6 * SECOND + 1000);
    let diagnosis = mount.diagnose();
    assert!(!causes(&diagnosis).contains(&"delegation-recall"), "{}", text(&diagnosis));
}

#[test]
fn a_recall_of_another_file_is_no_cause() {
    let mut mount = Mount::new();
    mount.open(SECOND).recall(SECOND + 1000).recall_answered(6 * SECOND + 1000);
    mount.send(OPENER, Server, 6 * SECOND + 3000, (OPEN, nfs4::open_reply(OPEN, OTHER)));
    let diagnosis = mount.diagnose();
    assert_eq!(causes(&diagnosis), ["server-slow"], "{}", text(&diagnosis));
}

/// GETATTR waits for no recall, and the client's own wait is its answer to a callback.
#[test]
fn calls_without_a_conflict_wait_for_no_recall() {
    let mut mount = Mount::new();
    mount.send(OPENER, Client, SECOND, (OPEN, nfs4::getattr(OPEN, FILE)));
    mount.recall(SECOND + 1000).recall_answered(6 * SECOND + 1000);
    mount.send(OPENER, Server, 6 * SECOND + 3000, (OPEN, nfs4::getattr_reply(OPEN)));
    let diagnosis = mount.diagnose();
    assert_eq!(causes(&diagnosis), ["server-slow"], "{}", text(&diagnosis));
    // 5.003 s of the server, 5.000 s of the client.
    assert_eq!(diagnosis.causes[0].owner_address, None);
}

/// Of two OPENs, the second was sent after the recall.
#[test]
fn only_calls_older_than_a_recall_wait_for_it() {
    let mut mount = Mount::new();
    mount.open(SECOND).recall(SECOND + 1000);
    mount.send(OPENER, Client, SECOND + 2000, (0x9401, nfs4::open(0x9401, b"b.txt")));
    mount.recall_answered(6 * SECOND + 1000).opened(6 * SECOND + 3000);
    mount.send(OPENER, Server, 6 * SECOND + 4000, (0x9401, nfs4::open_reply(0x9401, OTHER)));
    let diagnosis = mount.diagnose();
    assert_eq!(causes(&diagnosis), ["delegation-recall", "server-slow"], "{}", text(&diagnosis));
    assert_eq!((diagnosis.causes[0].rpcs, diagnosis.causes[1].rpcs), (Some(1), Some(1)));
}
