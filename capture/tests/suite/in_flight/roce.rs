//! The same over RoCE, with each way in which adapters retransmit.

use rpcrdma_dissector::{Config, Owed, Transaction};

use super::{Lost, MILLISECOND, SECOND, records, text};
use crate::common::dissect;
use crate::diagnosis::diagnose;
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::Packet;
use crate::synthetic::rpc::{
    Lists, MSG, WRITE3_POSITION, message, null, octets, read3, read3_results, reply, words, write3, write3_reply,
};
use crate::synthetic::trace::Trace;
use crate::transcode::{self, Pcap, Record};

/// Octets that a READ or a WRITE moves: three packets.
const DATA: u32 = 3000;

/// Packets of which the first is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flight {
    Calls,
    Replies,
    /// Requests of RDMA Reads for the data of WRITEs, behind a reply, which is lost.
    RequestsBehindReply,
    /// Responses with the data of WRITEs.
    Responses,
    /// RDMA Writes with the data of READs, and their replies.
    Writes,
}

/// Reaction of the ends to the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// The receiver asks for the packet, and its sender goes back to it.
    Asked,
    /// Its sender goes back to the packet after a time-out.
    TimedOut,
    /// The receiver asks for the packet. Its sender does not learn that, and goes back to the packet after a time-out.
    AskedInVain,
    /// The receiver asks for the packet, and nothing else is retransmitted.
    Selective,
    /// The packet alone is retransmitted, after a time-out.
    SelectiveTimedOut,
    /// The receiver has no Receive for the packet. Its sender goes back to it when the timer has expired.
    NotReady,
}

impl Repair {
    /// Microseconds until packets are retransmitted.
    const fn pause(self) -> u64 {
        match self {
            Self::Asked | Self::Selective => 20 * MILLISECOND,
            Self::TimedOut | Self::AskedInVain | Self::SelectiveTimedOut | Self::NotReady => 300 * MILLISECOND,
        }
    }

    const fn is_selective(self) -> bool {
        matches!(self, Self::Selective | Self::SelectiveTimedOut)
    }
}

/// A case: how many RPCs are in flight, and what happens to them.
#[derive(Clone, Copy, Debug)]
struct Case {
    rpcs: u32,
    flight: Flight,
    lost: Lost,
    repair: Repair,
}

/// XID of the first RPC in flight.
const FIRST: u32 = 1000;

struct Scene {
    case: Case,
    trace: Trace,
    time: u64,
}

impl Scene {
    /// Fifty RPCs, each of 0.2 ms.
    fn healthy(case: Case) -> Self {
        let mut trace = Trace::new();
        for xid in 1..=50 {
            let time = 10 * MILLISECOND * u64::from(xid);
            let answer = words(&[xid, 1, 128, MSG, 0, 0, 0]);
            let answer = [answer, reply(xid, &[])].concat();
            let (call, answer) = (trace.call(xid), trace.wire.send(Server, &answer));
            trace.at(time, &call).accept(time + 5).at(time + 200, &answer).acknowledge(time + 240);
        }
        Self { case, trace, time: SECOND }
    }

    fn xids(&self) -> impl Iterator<Item = u32> + use<> {
        FIRST..FIRST + self.case.rpcs
    }

    /// Returns true for an RPC that moves no data.
    fn is_plain(&self, xid: u32) -> bool {
        match self.case.flight {
            Flight::Calls | Flight::Replies => true,
            Flight::RequestsBehindReply => xid == FIRST,
            Flight::Responses | Flight::Writes => false,
        }
    }

    /// A Send with as many credits as there may be calls.
    fn message(&mut self, by: By, xid: u32, lists: &Lists, payload: &[u8]) -> Vec<Packet> {
        let mut message = message(MSG, xid, lists, payload);
        message[8..12].copy_from_slice(&128u32.to_be_bytes());
        self.trace.wire.send(by, &message)
    }

    fn call(&mut self, xid: u32) -> Vec<Packet> {
        let (lists, call) = match self.case.flight {
            _ if self.is_plain(xid) => (Lists::default(), null(xid)),
            Flight::Writes => (Lists::writes(&[&[(xid, 0, DATA)]]), read3(xid, DATA)),
            _ => (Lists::reads(&[(WRITE3_POSITION, (xid, 0, DATA))]), write3(xid, DATA)),
        };
        self.message(Client, xid, &lists, &call)
    }

    /// The reply, with the data of a READ before it.
    fn reply(&mut self, xid: u32) -> Vec<Packet> {
        if self.is_plain(xid) {
            return self.message(Server, xid, &Lists::default(), &reply(xid, &[]));
        }
        if self.case.flight != Flight::Writes {
            return self.message(Server, xid, &Lists::default(), &write3_reply(xid, DATA));
        }
        let mut packets = self.trace.wire.write(Server, (xid, 0), &octets(xid as u8, DATA as usize));
        let lists = Lists::writes(&[&[(xid, 0, DATA)]]);
        packets.extend(self.message(Server, xid, &lists, &reply(xid, &read3_results(DATA))));
        packets
    }

    /// Sends packets, groups of them ten microseconds apart, and acknowledges all.
    fn send(&mut self, by: By, groups: &[Vec<Packet>]) {
        for group in groups {
            self.trace.at(self.time, group);
            self.time += 10;
        }
        self.accept(by);
    }

    /// All that an end sent is acknowledged.
    fn accept(&mut self, by: By) {
        match by {
            Client => self.trace.accept(self.time),
            Server => self.trace.acknowledge(self.time),
        };
        self.time += 50;
    }

    /// Sends packets, of which the first, of this number, is lost.
    fn lose_first(&mut self, by: By, number: u32, groups: &[Vec<Packet>]) {
        let Case { lost, repair, .. } = self.case;
        let to = if by == Client { Server } else { Client };
        let began = self.time;
        for (index, group) in groups.iter().enumerate() {
            let is_missing = index == 0 && lost == Lost::Before;
            self.trace.at(self.time + u64::from(is_missing), &group[usize::from(is_missing)..]);
            self.time += 10;
            if index == 0 && repair == Repair::NotReady {
                let refusal = self.trace.wire.not_ready(to, number);
                self.trace.at(self.time - 4, &[refusal]);
            }
            if index == 1 && !matches!(repair, Repair::TimedOut | Repair::NotReady) {
                let refusal = self.trace.wire.nak(to, number);
                self.trace.at(self.time - 4, &[refusal]);
            }
        }
        self.time = began + repair.pause();
        if repair.is_selective() {
            self.trace.at(self.time, &groups[0][..1]);
            self.time += 10;
            return self.accept(by);
        }
        self.send(by, groups);
    }

    /// The data of WRITEs is asked for and sent. `is_lost` says that the first response is lost.
    fn pull(&mut self, xids: &[u32], first: u32, is_lost: bool) {
        let Case { lost, repair, .. } = self.case;
        let numbers: Vec<u32> = (first..).step_by(DATA.div_ceil(1024) as usize).take(xids.len()).collect();
        let mut responses: Vec<Vec<Packet>> = Vec::new();
        for (xid, number) in xids.iter().zip(&numbers) {
            let data = octets(*xid as u8, DATA as usize);
            responses.push(self.trace.wire.read_responses(Client, *number, &data));
        }
        let began = self.time;
        for (index, group) in responses.iter().enumerate() {
            let is_missing = is_lost && index == 0 && lost == Lost::Before;
            self.trace.at(self.time + u64::from(is_missing), &group[usize::from(is_missing)..]);
            self.time += 10;
        }
        if !is_lost {
            self.time += 50;
            return;
        }
        self.time = began + repair.pause();
        let again = if repair.is_selective() { 1 } else { xids.len() };
        for (xid, number) in xids.iter().zip(&numbers).take(again) {
            let request = self.trace.wire.read_request_again(Server, *number, (*xid, 0), DATA as usize);
            self.trace.at(self.time, &[request]);
            self.time += 1;
        }
        for group in responses.iter().take(again) {
            self.trace.at(self.time, group);
            self.time += 10;
        }
        self.time += 50;
    }

    fn requests(&mut self, xids: &[u32]) -> Vec<Vec<Packet>> {
        let wire = &mut self.trace.wire;
        xids.iter().map(|xid| vec![wire.read_request(Server, (*xid, 0), DATA as usize)]).collect()
    }

    fn run(mut self) -> Vec<Record> {
        let xids: Vec<u32> = self.xids().collect();
        let flight = self.case.flight;
        let number = self.trace.wire.client.next;
        let calls: Vec<_> = xids.iter().map(|xid| self.call(*xid)).collect();
        if flight == Flight::Calls {
            self.lose_first(Client, number, &calls);
        } else {
            self.send(Client, &calls);
        }
        self.time += 100;
        let mut number = self.trace.wire.server.next;
        let mut unanswered = &xids[..];
        match flight {
            Flight::RequestsBehindReply => {
                let mut groups = vec![self.reply(xids[0])];
                let first = self.trace.wire.server.next;
                unanswered = &xids[1..];
                groups.extend(self.requests(unanswered));
                self.lose_first(Server, number, &groups);
                self.pull(unanswered, first, false);
            }
            Flight::Responses => {
                for request in self.requests(&xids) {
                    self.trace.at(self.time, &request);
                    self.time += 1;
                }
                self.time += 50;
                self.pull(&xids, number, true);
            }
            Flight::Calls | Flight::Replies | Flight::Writes => {}
        }
        number = self.trace.wire.server.next;
        let replies: Vec<_> = unanswered.iter().map(|xid| self.reply(*xid)).collect();
        if matches!(flight, Flight::Replies | Flight::Writes) {
            self.lose_first(Server, number, &replies);
        } else {
            self.send(Server, &replies);
        }
        records(self.trace.packets)
    }
}

/// Cases that can be: a refused packet was captured, and RDMA Reads take no Receive.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for rpcs in [16, 64] {
        for flight in [Flight::Calls, Flight::Replies, Flight::RequestsBehindReply, Flight::Responses, Flight::Writes] {
            for repair in [
                Repair::Asked,
                Repair::TimedOut,
                Repair::AskedInVain,
                Repair::Selective,
                Repair::SelectiveTimedOut,
                Repair::NotReady,
            ] {
                for lost in [Lost::Before, Lost::Behind] {
                    let is_send = !matches!(flight, Flight::Responses | Flight::Writes);
                    if repair != Repair::NotReady || is_send && lost == Lost::Behind {
                        cases.push(Case { rpcs, flight, lost, repair });
                    }
                }
            }
        }
    }
    cases
}

/// The RPCs in flight, with what recovery took of them.
fn in_flight(records: &[Record]) -> Vec<Transaction> {
    let mut config = Config::default();
    config.recovery = true;
    let file = transcode::write_pcap(records, Pcap { nanoseconds: true, ..Pcap::default() });
    let found = dissect(&file, config).transactions.into_iter();
    found.filter(|transaction| transaction.xid >= FIRST).collect()
}

/// Nanoseconds of an RPC that no recovery took, and the part of the responder's time among these.
fn unhindered(transaction: &Transaction) -> Option<[u64; 2]> {
    let (phases, recovery) = (transaction.phases.ok()?, transaction.recovery.as_ref().ok()?);
    let all = transaction.latency()? - recovery.phases.total();
    Some([all, phases.responder - recovery.phases.responder])
}

impl Case {
    /// Cause and owner of the wait.
    fn blamed(self) -> (&'static str, Option<&'static str>) {
        match (self.repair, self.flight) {
            (Repair::NotReady, Flight::Calls) => ("receiver-not-ready", Some("server")),
            (Repair::NotReady, _) => ("receiver-not-ready", Some("client")),
            _ => ("loss", Some("network")),
        }
    }

    /// Number of RPCs that are known to wait: of a call that was lost before the capture, nothing shows when it was sent.
    fn waiting(self) -> u64 {
        let is_hidden = self.flight == Flight::Calls && self.lost == Lost::Before;
        u64::from(self.rpcs) - u64::from(is_hidden)
    }

    /// Number of RPCs whose replies may have arrived before they were retransmitted, with the acknowledgement lost instead.
    fn open(self) -> u64 {
        match self.flight {
            _ if self.repair != Repair::TimedOut || self.lost == Lost::Before => 0,
            Flight::Replies | Flight::Writes => u64::from(self.rpcs),
            Flight::RequestsBehindReply => 1,
            Flight::Calls | Flight::Responses => 0,
        }
    }

    /// Refuses what is said of the case, unless it is true.
    fn judge(self) -> Result<(), String> {
        let records = Scene::healthy(self).run();
        let diagnosis = diagnose(&records);
        let shown = text(&diagnosis);
        let causes = diagnosis.causes.iter().filter(|cause| cause.cause != "small-sends").collect::<Vec<_>>();
        let [cause] = causes[..] else { return Err(shown) };
        if (cause.cause, cause.owner) != self.blamed() || cause.rpcs != Some(self.waiting()) {
            return Err(shown);
        }
        if self.repair == Repair::NotReady && (shown.contains("lost") || shown.contains("time-out")) {
            return Err(shown);
        }
        if self.repair != Repair::NotReady && !shown.contains("   1 loss (") {
            return Err(shown);
        }
        // Each waits since its packet was sent, ten microseconds after the one before.
        let closed = self.waiting() - self.open();
        let each = cause.waiting_ns.and_then(|waiting| (waiting / 1000).checked_div(closed));
        let range = self.repair.pause() - MILLISECOND..=self.repair.pause() + 200;
        if closed > 0 && !each.is_some_and(|each| range.contains(&each)) {
            return Err(format!("{each:?} {shown}"));
        }
        let transactions = in_flight(&records);
        let times: Vec<_> = transactions.iter().filter_map(unhindered).collect();
        let most = times.iter().flatten().max();
        if (times.len() as u64) < closed || most.is_some_and(|most| *most > 3_000_000) {
            return Err(format!("{} known, {most:?} {shown}", times.len()));
        }
        Ok(())
    }
}

#[test]
fn messages_behind_a_lost_packet_wait_for_its_cause() {
    let wrong: Vec<_> = cases().into_iter().filter_map(|case| Some((case, case.judge().err()?))).collect();
    let list: Vec<_> = wrong.iter().map(|(case, why)| format!("{case:?}\n{why}")).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), list.join("\n"));
}

/// The capture ends before anything is retransmitted: whoever sent what was refused owes all that is behind it, not the other end.
#[test]
fn messages_behind_a_refused_packet_are_owed_by_its_sender() {
    for case in cases() {
        let Case { rpcs, flight, lost, repair } = case;
        let is_refused = matches!(repair, Repair::Asked | Repair::NotReady);
        if !is_refused || !matches!(flight, Flight::Calls | Flight::Replies) {
            continue;
        }
        let mut records = Scene::healthy(case).run();
        let end = 1_763_683_200_000_000_000 + (SECOND + 10 * MILLISECOND) * 1000;
        records.retain(|record| record.time_ns < end);
        let transactions = in_flight(&records);
        let owed = transactions.iter().filter_map(|transaction| Some(transaction.waiting.as_ref()?.owed));
        let is_right = |owed: &Owed| match flight {
            Flight::Calls => matches!(owed, Owed::Call(_)),
            _ => matches!(owed, Owed::ReplyAgain(_)),
        };
        // Where the capture lacks a packet, it may lack more.
        let is_open = |owed: &Owed| matches!(owed, Owed::Unknown(_)) && lost == Lost::Before;
        assert!(owed.clone().all(|owed| is_right(&owed) || is_open(&owed)), "{case:?} {:?}", owed.collect::<Vec<_>>());
        let least = if lost == Lost::Before { 1 } else { rpcs };
        assert!(owed.clone().filter(is_right).count() as u32 >= least, "{case:?} {:?}", owed.collect::<Vec<_>>());
    }
}
