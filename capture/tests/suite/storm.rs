//! Four WRITEs in flight whose data is read again and again: their time is that of the RDMA Reads, and recovery.

use rpcrdma_answers::diagnosis::Diagnosis;
use rpcrdma_dissector::{Config, Phases, Transaction};

use crate::common::dissect;
use crate::diagnosis::{causes, diagnose};
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, WRITE3_POSITION, message, null, octets, reply, write3, write3_reply};
use crate::synthetic::{Packet, Wire};
use crate::transcode::{self, Pcap, RAW_IP, Record};

/// Microseconds.
const MILLISECOND: u64 = 1000;
/// The XIDs of the WRITEs.
const WRITES: [u32; 4] = [1001, 1002, 1003, 1004];
const LENGTH: u32 = 512 * 1024;
/// Times that the server asks for all of the data, and the pause before each time but the first.
const ROUNDS: u64 = 5;
const PAUSE: u64 = 30 * MILLISECOND;

/// A RoCE connection with frames at times in microseconds.
#[derive(Default)]
struct Scene {
    wire: Wire,
    frames: Vec<(u64, Packet)>,
    time: u64,
}

impl Scene {
    fn new() -> Self {
        let mut scene = Self::default();
        let connect = scene.wire.connect();
        scene.add_packets(connect);
        scene
    }

    fn add_packets(&mut self, packets: impl IntoIterator<Item = Packet>) {
        for packet in packets {
            self.time += 1;
            self.frames.push((self.time, packet));
        }
    }

    /// An RPC of 0.1 ms. Returns its call.
    fn null(&mut self, xid: u32) -> Vec<Packet> {
        let call = self.wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        self.add_packets(call.clone());
        let accepted = self.wire.ack_all(Server);
        self.add_packets([accepted]);
        self.time += 100;
        let answer = self.wire.send(Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[])));
        self.add_packets(answer);
        let accepted = self.wire.ack_all(Client);
        self.add_packets([accepted]);
        call
    }

    /// The WRITEs: the first response to each RDMA Read is lost behind the capture four times. Halfway, the client sends `old` again.
    fn writes(&mut self, old: Vec<Packet>) {
        for (handle, xid) in (1..).zip(WRITES) {
            let lists = Lists::reads(&[(WRITE3_POSITION, (handle, 0, LENGTH))]);
            let call = self.wire.send(Client, &message(MSG, xid, &lists, &write3(xid, LENGTH)));
            self.add_packets(call);
        }
        let accepted = self.wire.ack_all(Server);
        self.add_packets([accepted]);
        self.time += MILLISECOND;
        let data = octets(7, LENGTH as usize);
        let first = self.wire.server.next;
        let number = |handle: u32| first + (handle - 1) * LENGTH.div_ceil(1024);
        for handle in 1..=4 {
            let request = self.wire.read_request(Server, (handle, 0), data.len());
            self.add_packets([request]);
        }
        for round in 0..ROUNDS {
            if round > 0 {
                self.time += PAUSE;
                for handle in 1..=4 {
                    let request = self.wire.read_request_again(Server, number(handle), (handle, 0), data.len());
                    self.add_packets([request]);
                }
            }
            for handle in 1..=4 {
                let responses = self.wire.read_responses(Client, number(handle), &data);
                self.add_packets(responses);
            }
            if round == 2 {
                self.add_packets(old.clone());
            }
        }
        self.time += MILLISECOND;
        for xid in WRITES {
            let answer = self.wire.send(Server, &message(MSG, xid, &Lists::default(), &write3_reply(xid, LENGTH)));
            self.add_packets(answer);
        }
        let accepted = self.wire.ack_all(Client);
        self.add_packets([accepted]);
    }

    fn records(self) -> Vec<Record> {
        let record = |(time, data): (u64, Packet)| {
            let (time_ns, length) = (1_000_000_000_000 + time * 1000, data.len() as u32);
            Record { time_ns, link: RAW_IP, data, length }
        };
        self.frames.into_iter().map(record).collect()
    }
}

/// The diagnosis, and the WRITEs.
fn found(scene: Scene) -> (Diagnosis, Vec<Transaction>) {
    let records = scene.records();
    let mut config = Config::default();
    config.recovery = true;
    let file = transcode::write_pcap(&records, Pcap { nanoseconds: true, ..Pcap::default() });
    let transactions = dissect(&file, config).transactions;
    (diagnose(&records), transactions.into_iter().filter(|rpc| WRITES.contains(&rpc.xid)).collect())
}

/// Of 8,192 retransmitted packets, the server's time is what it took before and after the RDMA Reads.
fn assert_recovered(transactions: &[Transaction], unassigned: u64) {
    assert_eq!(transactions.len(), 4);
    for transaction in transactions {
        let recovery = transaction.recovery.as_ref().unwrap();
        let Phases { responder, rdma_read: pull, .. } = transaction.phases.unwrap();
        assert!(responder < 7_000_000 && pull > 120_000_000, "{:?}", transaction.phases);
        let pauses = (ROUNDS - 1) * PAUSE * 1000;
        assert!((pauses..=transaction.latency().unwrap()).contains(&recovery.phases.total()), "{recovery:?}");
        assert_eq!(recovery.retransmitted_packets, 4 * (u64::from(LENGTH) / 1024 + 1));
        assert_eq!(recovery.unassigned, unassigned);
    }
}

#[test]
fn thousands_of_retransmissions_are_no_server_wait() {
    let mut scene = Scene::new();
    scene.null(1);
    scene.writes(Vec::new());
    let (diagnosis, transactions) = found(scene);
    assert_recovered(&transactions, 0);
    assert_eq!(causes(&diagnosis), ["loss"]);
    let evidence = &diagnosis.causes[0].evidence;
    assert!(
        evidence
            .iter()
            .any(|line| line.starts_with("Retransmission delayed 4 RPCs, the longest by 128 ms; 513 ms in total.")),
        "{evidence:?}"
    );
}

/// The client sends the call of an RPC again that ended long before, which is not remembered any more.
#[test]
fn unmatched_retransmissions_leave_lower_bounds_of_recovery() {
    let mut scene = Scene::new();
    let old = (1..=150).map(|xid| scene.null(xid)).collect::<Vec<_>>().swap_remove(0);
    scene.writes(old);
    let (diagnosis, transactions) = found(scene);
    // That it came again, and that nothing shows why.
    assert_recovered(&transactions, 2);
    assert_eq!(causes(&diagnosis), ["loss"]);
    let evidence = &diagnosis.causes[0].evidence;
    assert!(
        evidence.iter().any(|line| line.starts_with("Retransmission delayed 4 RPCs, the longest by 128 ms or more; ")),
        "{evidence:?}"
    );
}
