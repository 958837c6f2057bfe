//! Steps of both ends for an RPC, packet by packet, compared with tshark's dissection of the same frames.
//!
//! Where tshark is not installed, the tests that need it say so and pass.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use rpcrdma_dissector::{
    Config, Dissector, Event, PacketRun, Reader, Recovered, RecoveryKind, Side, Step, Steps, StepsWanted, Transaction,
};

use crate::transcode::{self, Pcap, Record};

/// RPCs with their steps, and the signs of loss.
#[derive(Default)]
struct Stepped {
    transactions: Vec<Transaction>,
    events: Vec<Recovered>,
}

impl Stepped {
    fn from_records(records: &[Record], steps: StepsWanted) -> Self {
        let file = transcode::write_pcap(records, Pcap { nanoseconds: true, ..Pcap::default() });
        let mut config = Config::default();
        (config.recovery, config.steps) = (true, steps);
        let mut reader = Reader::new(file.as_slice()).unwrap();
        let (mut dissector, mut stepped) = (Dissector::new(config), Self::default());
        while let Some(frame) = reader.next() {
            dissector.frame(&frame.unwrap());
            stepped.take_steps(&mut dissector);
        }
        dissector.finish();
        stepped.take_steps(&mut dissector);
        stepped
    }

    fn take_steps(&mut self, dissector: &mut Dissector) {
        while let Some(event) = dissector.event() {
            match event {
                Event::Transaction(transaction) => self.transactions.push(*transaction),
                Event::Recovery(recovered) => self.events.push(recovered),
                _ => {}
            }
        }
    }

    /// The packets of all RPCs.
    fn packets(&self) -> impl Iterator<Item = (&Transaction, &PacketRun)> {
        let with = |transaction| move |packet| (transaction, packet);
        self.transactions.iter().flat_map(move |transaction| steps(transaction).packets.iter().map(with(transaction)))
    }
}

fn steps(transaction: &Transaction) -> &Steps {
    transaction.steps.as_deref().unwrap()
}

/// Values of these fields of each frame, as tshark prints them; none if it is not installed.
fn tshark(name: &str, filter: &str, fields: &[&str]) -> Option<BTreeMap<u64, Vec<String>>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(transcode::path(name)).args(["-Y", filter, "-T", "fields", "-e", "frame.number"]);
    fields.iter().for_each(|field| _ = command.args(["-e", field]));
    let Ok(output) = command.output() else {
        println!("tshark is not installed: this test does nothing");
        return None;
    };
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(!lines.is_empty(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let frame = |line: &str| {
        let mut values = line.split('\t').map(str::to_owned);
        (values.next().unwrap().parse().unwrap(), values.collect())
    };
    Some(lines.lines().map(frame).collect())
}

/// Returns the operation of this opcode (InfiniBand Architecture, volume 1, table 38).
fn operation(opcode: u32) -> &'static str {
    match opcode {
        0..=5 | 22 | 23 => "Send",
        6..=11 => "RDMA Write",
        12 => "RDMA Read request",
        13..=16 => "RDMA Read response",
        17 => "acknowledgement",
        _ => "other",
    }
}

/// The same of a step.
fn operation_of(step: Option<Step>) -> &'static str {
    match step {
        Some(Step::Call | Step::Reply | Step::Done) => "Send",
        Some(step) => step.name(),
        None => "acknowledgement",
    }
}

fn is_cause(packet: &PacketRun) -> bool {
    packet.recovery.is_some_and(RecoveryKind::is_cause)
}

/// In these captures, every Send, RDMA Write and RDMA Read is part of an RPC that has its reply, so every such packet is a
/// step of one RPC, whether it was sent once or again.
#[test]
fn roce_packet_steps_agree_with_tshark() {
    for name in ["nfs41_lossy", "delays", "nfs41", "nfs42_mtu9000"] {
        let fields = ["infiniband.bth.opcode", "ip.src", "infiniband.aeth.syndrome"];
        let Some(frames) = tshark(name, "infiniband.bth", &fields) else { return };
        let stepped = Stepped::from_records(&transcode::capture(name), StepsWanted::All);
        let mut seen = BTreeMap::new();
        for (transaction, packet) in stepped.packets().filter(|(_, packet)| !is_cause(packet)) {
            let values = &frames[&packet.first.frame];
            let opcode = values[0].parse().unwrap();
            assert_eq!(operation(opcode), operation_of(packet.step), "{name} {packet:?}");
            let by = if packet.from == transaction.requester { transaction.from } else { transaction.to };
            assert_eq!(values[1], by.to_string(), "{name} {packet:?}");
            assert_eq!(packet.packets, 1);
            assert_eq!(seen.insert(packet.first.frame, operation(opcode)), None, "{name} {packet:?}");
        }
        for (frame, values) in &frames {
            let of = operation(values[0].parse().unwrap());
            let is_nak = of == "acknowledgement" && values[2].parse::<u32>().is_ok_and(|syndrome| syndrome >> 5 == 3);
            if matches!(of, "other" | "acknowledgement") && !is_nak {
                continue;
            }
            assert!(seen.contains_key(frame), "{name}: no RPC has frame {frame}, {of}");
        }
        let acknowledged = seen.values().filter(|of| **of == "acknowledgement").count();
        assert!(acknowledged > 10, "{name}: {acknowledged}");
    }
}

/// Compares the steps of segments with the RDMAP opcodes that tshark finds in each; a segment may have several.
#[test]
fn iwarp_segment_steps_agree_with_tshark() {
    let name = "iwarp_nfs3_lossy";
    let Some(frames) = tshark(name, "tcp.port==20049", &["iwarp_rdma.opcode", "ip.src", "tcp.len"]) else { return };
    let stepped = Stepped::from_records(&transcode::capture(name), StepsWanted::All);
    let (mut counted, mut dissected) = (BTreeMap::<_, u64>::new(), 0);
    for (transaction, packet) in stepped.packets().filter(|(_, packet)| !is_cause(packet)) {
        let values = &frames[&packet.first.frame];
        let by = if packet.from == transaction.requester { transaction.from } else { transaction.to };
        assert_eq!(values[1], by.to_string(), "{packet:?}");
        let expected: &[&str] = match packet.step {
            Some(Step::Call | Step::Reply | Step::Done) => &["0x03", "0x04", "0x05", "0x06"],
            Some(Step::Write) => &["0x00"],
            Some(Step::ReadRequest) => &["0x01"],
            Some(Step::ReadResponse) => &["0x02"],
            Some(Step::Acknowledgement) | None => &[],
        };
        *counted.entry(packet.step.map(Step::name)).or_default() += 1;
        // An acknowledgement has no data. tshark does not dissect what came out of order, nor what was there before.
        let is_bare =
            packet.step == Some(Step::Acknowledgement) || packet.recovery == Some(RecoveryKind::SequenceError);
        assert_eq!(values[2] == "0", is_bare, "{packet:?}");
        let opcodes: Vec<_> = values[0].split(',').filter(|opcode| !opcode.is_empty()).collect();
        if !opcodes.is_empty() && !expected.is_empty() {
            dissected += 1;
            assert!(opcodes.iter().any(|opcode| expected.contains(opcode)), "{packet:?}: {opcodes:?}");
        }
    }
    assert!(dissected > 700, "{dissected}");
    assert!(counted.len() >= 5, "{counted:?}");
    // Segments with an RDMA Write or a Read Response are in the sequence diagram of an RPC.
    let of: BTreeSet<u64> = stepped.packets().map(|(_, packet)| packet.first.frame).collect();
    for (frame, values) in &frames {
        if values[0].split(',').any(|opcode| matches!(opcode, "0x00" | "0x01" | "0x02")) {
            assert!(of.contains(frame), "no RPC has frame {frame}: {values:?}");
        }
    }
}

/// The signs of loss of an RPC are the events with its XID, and each of them is one step.
#[test]
fn every_sign_of_loss_is_a_step() {
    for name in ["nfs41_lossy", "iwarp_nfs3_lossy"] {
        let stepped = Stepped::from_records(&transcode::capture(name), StepsWanted::All);
        let name_of = |kind: RecoveryKind| kind.name();
        let mut events: Vec<_> = stepped.events.iter().map(|event| (event.stamp.frame, name_of(event.kind))).collect();
        let mut found: Vec<_> =
            stepped.packets().filter_map(|(_, packet)| Some((packet.first.frame, name_of(packet.recovery?)))).collect();
        events.sort_unstable();
        found.sort_unstable();
        // A TCP segment may have parts of two RDMA operations.
        found.dedup();
        assert_eq!(found, events, "{name}");
        assert!(found.len() > 20, "{name}");
    }
}

/// Packets that the receiver threw away are those that were there, and were retransmitted with the same number.
#[test]
fn what_was_discarded_came_again() {
    let records = transcode::capture("nfs41_lossy");
    let stepped = Stepped::from_records(&records, StepsWanted::All);
    let sequence = |packet: &PacketRun| records[packet.first.frame as usize - 1].data[51..54].to_vec();
    let mut discarded = 0;
    for transaction in &stepped.transactions {
        let packets = &steps(transaction).packets;
        for (index, packet) in packets.iter().enumerate().filter(|(_, packet)| packet.is_discarded) {
            discarded += 1;
            let is_it = |later: &PacketRun| {
                let is_again = later.recovery.is_some_and(RecoveryKind::is_retransmission) && later.from == packet.from;
                is_again && sequence(later) == sequence(packet)
            };
            assert!(packets[index + 1..].iter().any(is_it), "{packet:?}");
            assert_eq!(packet.octets, 0, "{packet:?}");
        }
    }
    // Negative acknowledgements ask for what follows the packet that is missing again.
    assert!(discarded > 100, "{discarded}");
}

/// Octets are counted once, however often they were sent: what RDMA moved is what the RPC says.
#[test]
fn what_was_moved_is_in_the_steps_once() {
    for name in ["nfs41_lossy", "iwarp_nfs3_lossy", "nfs3", "delays", "nfs41_krb5i"] {
        let stepped = Stepped::from_records(&transcode::capture(name), StepsWanted::All);
        for transaction in &stepped.transactions {
            let octets = |step| {
                let of = steps(transaction).packets.iter().filter(|packet| packet.step == Some(step));
                of.map(|packet| packet.octets).sum::<u64>()
            };
            assert_eq!(octets(Step::ReadResponse), transaction.read_octets, "{name} {:#x}", transaction.xid);
            assert_eq!(octets(Step::Write), transaction.write_octets, "{name} {:#x}", transaction.xid);
            assert!(octets(Step::Call) >= 28 + 28, "{name} {:#x}", transaction.xid);
            let [call, reply] = [&transaction.call, &transaction.reply].map(|half| half.as_ref().unwrap().stamp);
            let last = |step| {
                let mut of =
                    steps(transaction).packets.iter().filter(|packet| packet.step == Some(step) && packet.octets > 0);
                of.next_back().unwrap().last
            };
            assert_eq!(last(Step::Call), call, "{name} {:#x}", transaction.xid);
            // It arrived with frame 204, which fills a gap before it.
            let is_late = (name, transaction.xid) == ("iwarp_nfs3_lossy", 0x1da9_837c);
            let arrived = if is_late { 204 } else { last(Step::Reply).frame };
            assert_eq!(arrived, reply.frame, "{name} {:#x}", transaction.xid);
        }
    }
}

/// The stretches of the phases follow each other, from the first packet of an RPC on, and their sums are the phases.
#[test]
fn stretches_add_up_to_the_phases() {
    for name in ["nfs41_lossy", "iwarp_nfs3_lossy", "nfs3", "delays", "nfs41_callback"] {
        let stepped = Stepped::from_records(&transcode::capture(name), StepsWanted::All);
        for transaction in &stepped.transactions {
            let stretches = steps(transaction).stretches.as_ref().unwrap();
            let Ok(phases) = transaction.phases else {
                assert!(name == "iwarp_nfs3_lossy" && [208, 887].contains(&transaction.began.unwrap().frame));
                continue;
            };
            let mut at = transaction.began.unwrap().time;
            for stretch in stretches {
                assert_eq!(stretch.from, at, "{name} {:#x}", transaction.xid);
                at = stretch.until;
            }
            assert_eq!(at.0 - transaction.began.unwrap().time.0, phases.total(), "{name} {:#x}", transaction.xid);
            for phase in rpcrdma_dissector::Phase::ALL {
                let of = stretches.iter().filter(|stretch| stretch.phase == phase);
                assert_eq!(
                    of.map(|stretch| stretch.until.0 - stretch.from.0).sum::<u64>(),
                    phases.phase_time(phase),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn steps_are_kept_of_the_rpcs_that_were_asked_for() {
    let records = transcode::capture("nfs41_lossy");
    let kept = |steps| {
        let stepped = Stepped::from_records(&records, steps);
        let with = stepped.transactions.iter().filter(|transaction| transaction.steps.is_some());
        (with.map(|transaction| transaction.xid).collect::<Vec<_>>(), stepped.transactions.len())
    };
    assert_eq!(kept(StepsWanted::None), (vec![], 62));
    assert_eq!(kept(StepsWanted::Xids(vec![0xc73d_34c3, 7])), (vec![0xc73d_34c3], 62));
    assert_eq!(kept(StepsWanted::All).0.len(), 62);
}

/// READ: call 246, reply 406, as `recovery.rs` and tshark have them.
#[test]
fn runs_are_what_the_frames_show() {
    let stepped = Stepped::from_records(&transcode::capture("nfs41_lossy"), StepsWanted::Xids(vec![0xc73d_34c3]));
    let transaction = stepped.transactions.iter().find(|transaction| transaction.xid == 0xc73d_34c3).unwrap();
    let runs = steps(transaction).runs();
    let shown: Vec<_> = runs.iter().map(|run| (run.first.frame, run.last.frame, run.packets, run.octets)).collect();
    assert_eq!(
        shown[..6],
        [
            (246, 246, 1, 228),
            (247, 247, 1, 0),
            (248, 270, 23, 23_552),
            (271, 291, 20, 0),
            (292, 292, 1, 0),
            (293, 309, 17, 0)
        ]
    );
    assert_eq!(runs[0].from, Side::Active);
    let timeout = runs.iter().position(is_cause).unwrap();
    assert_eq!((runs[timeout].first.frame, runs[timeout + 1].first.frame), (353, 353));
    assert_eq!(shown.last(), Some(&(406, 406, 1, 156)));
    assert_eq!(runs.iter().filter(|run| run.recovery == Some(RecoveryKind::SequenceError)).count(), 3);
}

/// Calls 8 to 15 are in flight at the same time; their replies are in frames 17 to 19 and 37 to 41.
#[test]
fn a_frame_is_explained_by_its_own_rpc() {
    let path = crate::situations::path("tries");
    let xids = |frame: &str| {
        let output = crate::command::run(&["explain", "--quiet", "--json", "--frame", frame, &path]);
        let lines = crate::command::stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap());
        let rpcs = lines.filter(|line: &serde_json::Value| line["type"] != "summary");
        rpcs.map(|rpc| rpc["transaction"]["rdma_xid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (frame, xid) in [("10", "0x00000003"), ("18", "0x00000002"), ("41", "0x00000008"), ("42", "0x00000009")] {
        assert_eq!(xids(frame), [xid], "{frame}");
    }
    // DREQ belongs to no RPC.
    assert_eq!(xids("21"), [""; 0]);
}
