//! Several RPCs in flight on one connection, one packet of which is lost: whose time it is until the others go on.

mod roce;

use rpcrdma_answers::diagnosis::Diagnosis;

use crate::diagnosis::diagnose;
use crate::synthetic::By;
use crate::synthetic::rpc::{
    Lists, MSG, Segment, WRITE3_POSITION, message, null, octets, reply, words, write3, write3_reply,
};
use crate::synthetic::tcp::{self, CLIENT, Iwarp, SERVER};
use crate::synthetic::trace::Trace;
use crate::transcode::{RAW_IP, Record};

/// Microseconds.
const MILLISECOND: u64 = 1000;
const SECOND: u64 = 1_000_000;
/// RPCs in flight.
const RPCS: u32 = 16;

/// Side of the capture on which a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    Before,
    Behind,
}

/// Content of the acknowledgements below a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Selective,
    Duplicates,
}

/// Packets of which the first is lost: what is in flight, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flight {
    Calls,
    Replies,
    /// Requests of RDMA Reads for the data of WRITEs, and their responses.
    Requests,
    Responses,
}

/// An iWARP connection with numbered messages.
struct Scene {
    trace: Iwarp,
    xid: u32,
    /// Sends of each end, and RDMA Reads.
    sends: [u32; 2],
    reads: u32,
}

impl Scene {
    /// Fifty RPCs, each of 0.2 ms.
    fn healthy() -> Self {
        let mut scene = Self { trace: Iwarp::default(), xid: 0, sends: [0; 2], reads: 0 };
        for number in 0..50 {
            let (time, xid) = (10 * MILLISECOND * (number + 1), scene.next_xid());
            let (call, answer) = (scene.call(xid), scene.reply(xid, &reply(xid, &[])));
            scene.trace.send(time, CLIENT, &call);
            scene.trace.send(time + 200, SERVER, &answer);
            scene.trace.acknowledge(time + 240, CLIENT, 0);
        }
        scene
    }

    fn next_xid(&mut self) -> u32 {
        self.xid += 1;
        self.xid
    }

    fn fpdu(&mut self, by: usize, data: &[u8]) -> Vec<u8> {
        self.sends[by] += 1;
        tcp::fpdu(self.sends[by], data)
    }

    fn call(&mut self, xid: u32) -> Vec<u8> {
        self.fpdu(CLIENT, &message(MSG, xid, &Lists::default(), &null(xid)))
    }

    fn reply(&mut self, xid: u32, payload: &[u8]) -> Vec<u8> {
        self.fpdu(SERVER, &message(MSG, xid, &Lists::default(), payload))
    }

    /// The call of a WRITE whose data is in the memory of this handle.
    fn write(&mut self, xid: u32) -> Vec<u8> {
        let data: Segment = (xid, 0, DATA);
        self.fpdu(CLIENT, &message(MSG, xid, &Lists::reads(&[(WRITE3_POSITION, data)]), &write3(xid, DATA)))
    }

    /// The request for its data.
    fn request(&mut self, xid: u32) -> Vec<u8> {
        self.reads += 1;
        let request = [words(&[SINK | xid, 0, 0, DATA, xid]), vec![0; 8]].concat();
        tcp::untagged((tcp::READ_REQUEST, true), (1, self.reads, 0), &request)
    }

    /// Segments of an end from this time on, ten microseconds apart, of which the first is lost. It comes 300 ms later, and meanwhile the
    /// other end reports what is missing for each of the others.
    fn lose_first(&mut self, time: u64, by: usize, segments: &[Vec<u8>], (lost, report): (Lost, Report)) -> u64 {
        let first = self.trace.next[by];
        for (index, octets) in segments.iter().enumerate() {
            let time = time + 10 * index as u64;
            self.trace.send(time, by, octets);
            if index == 0 {
                self.trace.packets.pop_if(|_| lost == Lost::Before);
                continue;
            }
            let missing = self.trace.next[by] - first;
            match report {
                Report::Duplicates => self.trace.acknowledge(time + 5, 1 - by, missing),
                Report::Selective => {
                    let arrived = first + segments[0].len() as u32;
                    self.trace.report(time + 5, 1 - by, missing, &[[arrived, self.trace.next[by]]]);
                }
            }
        }
        let (time, back) = (time + 300 * MILLISECOND, self.trace.next[by] - first);
        self.trace.segment(time, by, back, tcp::ACK, &segments[0]);
        self.trace.acknowledge(time + 5, 1 - by, 0);
        time
    }

    /// Segments of an end from this time on, ten microseconds apart, all of which are acknowledged.
    fn send(&mut self, time: u64, by: usize, segments: &[Vec<u8>]) -> u64 {
        (time..).step_by(10).zip(segments).for_each(|(time, octets)| self.trace.send(time, by, octets));
        let time = time + 10 * segments.len() as u64;
        self.trace.acknowledge(time, 1 - by, 0);
        time
    }

    fn records(self) -> Vec<Record> {
        records(self.trace.packets)
    }
}

/// The frames of packets with their times.
pub(crate) fn records(mut packets: Vec<(u64, Vec<u8>)>) -> Vec<Record> {
    packets.sort_by_key(|(time, _)| *time);
    let record = |(time, data): (u64, Vec<u8>)| Record {
        time_ns: 1_763_683_200_000_000_000 + time * 1000,
        link: RAW_IP,
        length: data.len() as u32,
        data,
    };
    packets.into_iter().map(record).collect()
}

/// Octets of a WRITE, and the bits that tell the server's handles from the client's.
const DATA: u32 = 8000;
const SINK: u32 = 0x9000;

/// Sixteen RPCs in flight. The first packet of those that this is about is lost; each of the others waits for it, and then the other end
/// answers at once.
fn in_flight(flight: Flight, loss: (Lost, Report)) -> Vec<Record> {
    let mut scene = Scene::healthy();
    let xids: Vec<u32> = (0..RPCS).map(|_| scene.next_xid()).collect();
    let is_write = matches!(flight, Flight::Requests | Flight::Responses);
    let each = |make: &mut dyn FnMut(u32) -> Vec<u8>| xids.iter().map(|xid| make(*xid)).collect::<Vec<_>>();
    let calls = each(&mut |xid| if is_write { scene.write(xid) } else { scene.call(xid) });
    let replies = each(&mut |xid| scene.reply(xid, &if is_write { write3_reply(xid, DATA) } else { reply(xid, &[]) }));
    let requests = each(&mut |xid| scene.request(xid));
    let responses =
        each(&mut |xid| tcp::tagged((tcp::READ_RESPONSE, true), (SINK | xid, 0), &octets(xid as u8, DATA as usize)));
    let mut steps = vec![(Flight::Calls, CLIENT, calls)];
    if is_write {
        steps.extend([(Flight::Requests, SERVER, requests), (Flight::Responses, CLIENT, responses)]);
    }
    steps.push((Flight::Replies, SERVER, replies));
    let mut time = SECOND;
    for (step, by, segments) in steps {
        time = 50
            + if step == flight {
                scene.lose_first(time, by, &segments, loss)
            } else {
                scene.send(time, by, &segments)
            };
    }
    scene.records()
}

fn text(diagnosis: &Diagnosis) -> String {
    let mut text = Vec::new();
    diagnosis.write_text(&mut text, false).unwrap();
    String::from_utf8(text).unwrap()
}

/// TCP hands over nothing behind a gap: an end can do nothing for what it has not got.
#[test]
fn what_waits_behind_a_lost_segment_waits_for_the_network() {
    for flight in [Flight::Calls, Flight::Replies, Flight::Requests, Flight::Responses] {
        for lost in [Lost::Before, Lost::Behind] {
            for report in [Report::Selective, Report::Duplicates] {
                let diagnosis = diagnose(&in_flight(flight, (lost, report)));
                let shown = format!("{flight:?} {lost:?} {report:?}\n{}", text(&diagnosis));
                let [cause] = &diagnosis.causes[..] else { panic!("{shown}") };
                // Of a call that was lost before the capture, nothing shows when it was sent.
                let rpcs = RPCS as u64 - u64::from(flight == Flight::Calls && lost == Lost::Before);
                assert_eq!((cause.cause, cause.owner, cause.rpcs), ("loss", Some("network"), Some(rpcs)), "{shown}");
                // Each waits for 300 ms since it was sent, ten microseconds after the one before.
                let waited = cause.waiting_ns.unwrap();
                let expected = rpcs * 300_000_000;
                assert!((expected - 1_300_000..=expected).contains(&waited), "{waited}, not {expected} {shown}");
                assert!(
                    shown.contains(&format!("Retransmission delayed {rpcs} RPCs, the longest by 300 ms")),
                    "{shown}"
                );
                // The reports of the gap and the time-out are of one loss.
                assert!(shown.contains("   1 loss (1 NAK, 1 time-out); 1 packet was retransmitted."), "{shown}");
            }
        }
    }
}

/// RoCE: thirty times, a call overtakes another one, which the server reports as missing: before that comes, or after. Both are retransmitted.
fn overtaken(is_reported_first: bool) -> Vec<Record> {
    let mut trace = Trace::new();
    for xid in 1..=50 {
        let time = 10 * MILLISECOND * u64::from(xid);
        let (call, answer) = (trace.call(xid), trace.reply(xid));
        trace.at(time, &call).accept(time + 5).at(time + 200, &answer).acknowledge(time + 240);
    }
    for pair in 0..30 {
        let (time, xids) = (SECOND + 10 * MILLISECOND * u64::from(pair), [100 + 2 * pair, 101 + 2 * pair]);
        let missing = trace.wire.client.next;
        let calls = xids.map(|xid| trace.call(xid));
        let report = trace.wire.nak(By::Server, missing);
        let [late, reported] = if is_reported_first { [2, 1] } else { [1, 2] };
        trace.at(time, &calls[1]).at(time + late, &calls[0]).at(time + reported, &[report]);
        trace.at(time + 100, &calls[0]).at(time + 101, &calls[1]).accept(time + 105);
        let replies = xids.map(|xid| trace.reply(xid));
        trace.at(time + 200, &replies[0]).at(time + 201, &replies[1]).acknowledge(time + 240);
    }
    // Each Send asks for an acknowledgement: the first bit of the ninth octet behind IPv4 and UDP.
    trace.packets.iter_mut().filter(|(_, packet)| packet[28] == 4).for_each(|(_, packet)| packet[36] |= 0x80);
    records(trace.packets)
}

#[test]
fn packets_that_overtake_one_another_are_no_losses() {
    for is_reported_first in [false, true] {
        let diagnosis = diagnose(&overtaken(is_reported_first));
        let shown = text(&diagnosis);
        let [cause] = &diagnosis.causes[..] else { panic!("{shown}") };
        assert_eq!((cause.cause, cause.owner), ("loss", Some("network")), "{shown}");
        let evidence = cause.evidence.join("\n");
        for sentence in [
            "30 packets out of order or lost (30 NAKs); 60 packets were retransmitted.",
            "From 192.0.2.1 to 192.0.2.2: 60 packets retransmitted after 30 packets out of order or lost.",
        ] {
            assert!(evidence.contains(sentence), "{evidence}");
        }
    }
}
