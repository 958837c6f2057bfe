//! The ground truth of the shipped captures: how many messages there are, and every octet that was read and written,
//! through every carrier and through every disturbance.

use std::collections::BTreeMap;

use rpcrdma_dissector::{Captured, ChunkName, Config, Half, Message, NotRebuilt, Rebuilt, Side, Sides};

use crate::common::{Found, dissect, rebuilt, sends, sha256};
use crate::transcode::{self, ENCAPSULATIONS, Erf, Mpa, Padding, Pcap, Pcapng, Record};

/// Contents of a capture, according to `testdata/captures/README.md`.
struct Truth {
    name: &'static str,
    messages: usize,
    long: usize,
    invalidating: usize,
    /// Of the octets read.
    read: Option<&'static str>,
    /// True if all of the file was written.
    written: bool,
}

const UP: &str = "e75e92f79076a32b899a459dd6979020260c86bc52a43df3cbef97d1d6807ac3";
const KRB5_READ: Option<&str> = Some("68702ff6ff8298c118bd3cdbe7d53fa384289146dd5463c8dd2f9da69924a371");

#[rustfmt::skip]
const TRUTH: [Truth; 11] = [
    Truth { name: "nfs3", messages: 112, long: 8, invalidating: 16, written: true,
            read: Some("3caba5a37192a5d5a8b9f13faffad23189002fa8ee72bd7e5d4d783cf55297f3") },
    Truth { name: "nfs3_ipv6", messages: 124, long: 8, invalidating: 22, written: true,
            read: Some("da81161c25b3ec83415a4f8223a39cafe4ff63a07d5a5ea3061e8d2634d278e4") },
    Truth { name: "nfs40", messages: 124, long: 10, invalidating: 25, written: true,
            read: Some("d6c95f62ef8780e15cb9a7ab6aa260fa8a97e2439291bd356a67e13b4ea76d43") },
    Truth { name: "nfs41", messages: 123, long: 15, invalidating: 26, written: true,
            read: Some("1dc685ad7679e782bdecea4a4f892e7e7e013747ed8453eaee77d9c30d49464b") },
    Truth { name: "nfs41_callback", messages: 48, long: 4, invalidating: 6, written: false, read: None },
    Truth { name: "nfs42_mtu9000", messages: 112, long: 12, invalidating: 13, written: true,
            read: Some("f5c659fd06ec78762cd4603180a37f0f780c0ba6afd25a8016cc25cbd9beecf9") },
    // 134 Sends of messages were captured, 10 of them in vain.
    Truth { name: "nfs41_lossy", messages: 112, long: 12, invalidating: 21, written: true,
            read: Some("f08a55d1f114b65cc2bf0198df73c74edffcbc2f9c68be2a17e150bf157c2a40") },
    Truth { name: "nfs41_krb5", messages: 110, long: 12, invalidating: 19, written: true, read: KRB5_READ },
    Truth { name: "nfs41_krb5i", messages: 99, long: 23, invalidating: 8, written: true, read: KRB5_READ },
    Truth { name: "iwarp_nfs41", messages: 114, long: 12, invalidating: 22, written: true,
            read: Some("1dc685ad7679e782bdecea4a4f892e7e7e013747ed8453eaee77d9c30d49464b") },
    // Another dissector passes over the RDMA_MSG of frames 212 and 891, which TCP retransmitted.
    Truth { name: "iwarp_nfs3_lossy", messages: 107, long: 9, invalidating: 13, written: true,
            read: Some("f08a55d1f114b65cc2bf0198df73c74edffcbc2f9c68be2a17e150bf157c2a40") },
];

impl Truth {
    fn is_iwarp(&self) -> bool {
        self.name.starts_with("iwarp")
    }

    fn hold(&self, found: &Found, context: &str) {
        let name = format!("{} {context}", self.name);
        let expected = BTreeMap::from([("RDMA_MSG", self.messages), ("RDMA_NOMSG", self.long)]);
        assert_eq!(found.counts(), expected, "{name}");
        let invalidating = found.messages.iter().filter(|message| message.invalidates.is_some()).count();
        assert_eq!(invalidating, self.invalidating, "{name}");
        assert!(found.messages.iter().all(|message| message.captured == Captured::Whole), "{name}");
        assert_eq!(found.transactions.len() * 2, self.messages + self.long, "{name}: a reply to every call");
        for transaction in &found.transactions {
            for half in [&transaction.call, &transaction.reply] {
                let half = half.as_ref().unwrap();
                assert!(half.message.is_ok(), "{name}: {transaction:?}");
            }
        }
        let read = self.read.map(|read| (true, read));
        let written = self.written.then_some((false, UP));
        for (is_read, digest) in read.into_iter().chain(written) {
            assert_eq!(sha256(&found.file_data(is_read)), digest, "{name} {is_read}");
        }
    }
}

fn pcap(records: &[Record]) -> Vec<u8> {
    transcode::write_pcap(records, Pcap::default())
}

fn dissect_records(records: &[Record]) -> Found {
    dissect(&pcap(records), Config::default())
}

#[test]
fn messages_and_data_are_those_of_the_truth() {
    for truth in &TRUTH {
        truth.hold(&dissect_records(&transcode::capture(truth.name)), "as it is");
    }
}

#[test]
fn retransmissions_are_counted_and_nothing_else() {
    let found = dissect_records(&transcode::capture("nfs41_lossy"));
    // Another dissector shows 122 RDMA_MSG and 12 RDMA_NOMSG, as it takes each retransmission for a message.
    assert_eq!(found.messages.iter().map(|message| message.retransmitted).sum::<u32>(), 10);
    assert_eq!(found.messages.len() + 10, 122 + 12);
    let [report] = &found.reports[..] else { panic!("one connection") };
    assert_eq!(report.counts.active.sequence_errors, 9, "the client's NAKs");
    // A capture at the client has no packets that the client lost. It sent responses twice that the server asked for
    // again.
    assert_eq!(report.counts.active.retransmitted, 48);
    assert_eq!((report.counts.active.missed, report.counts.passive.missed), (0, 0));
}

#[test]
fn traffic_that_is_not_rpc_over_rdma_is_left_alone() {
    let found = dissect_records(&transcode::capture("perftest"));
    assert!(found.messages.is_empty() && found.transactions.is_empty());
    assert!(!found.reports.is_empty() && found.reports.iter().all(|report| report.number.is_none()));
}

#[test]
fn requests_that_are_wrong_are_shown_with_what_is_wrong() {
    let found = dissect_records(&transcode::capture("errors"));
    assert_eq!(found.reports.iter().filter(|report| report.number.is_some()).count(), 27);
    // Another dissector shows 17 RDMA_MSG: it passes over those of frames 175 and 177, whose XID is not the RPC's, and that of
    // frame 258, which has no payload.
    let expected = [("RDMA_DONE", 1), ("RDMA_ERROR", 11), ("RDMA_MSG", 20), ("RDMA_MSGP", 1), ("RDMA_NOMSG", 2)];
    assert_eq!(found.counts(), BTreeMap::from(expected));
    let malformed: Vec<_> = found
        .messages
        .iter()
        .filter_map(|m| m.is_malformed().map(|error| (m.stamp.frame, error.kind.name(), error.offset)))
        .collect();
    let expected = [
        (31, "header_short", 24),
        (40, "header_short", 16),
        (49, "version", 4),
        (58, "version", 4),
        (67, "procedure", 12),
        (110, "list_flag", 16),
        (119, "list_flag", 20),
        (128, "list_truncated", 40),
        (137, "segment_count", 24),
    ];
    assert_eq!(malformed, expected);
    // Every RDMA_ERROR of the server's answers the request of its connection, whatever was wrong with it.
    let errors = found.messages.iter().filter(|m| m.error().is_some()).count();
    let answered = found.transactions.iter().filter(|t| t.call.is_some() && t.reply.is_some()).count();
    // On connection 17, the client refused the RDMA Write before the reply, so the reply did not arrive.
    assert_eq!((errors, answered), (13, 18));
}

fn reply(found: &Found, xid: u32) -> Result<&Rebuilt, &NotRebuilt> {
    found.only_rpc(xid).reply.as_ref().unwrap().message.as_ref()
}

/// The octets that a READ has returned.
fn read(found: &Found, xid: u32) -> Vec<u8> {
    let reply = reply(found, xid).unwrap();
    reply.data(&reply.items[0]).to_vec()
}

/// The first 60 octets of what `seq` writes.
fn numbers() -> Vec<u8> {
    let numbers: String = (1..=30).map(|number| format!("{number}\n")).collect();
    numbers.as_bytes()[..60].to_vec()
}

#[test]
fn only_chunks_that_linux_returns_right_are_rebuilt() {
    let found = dissect_records(&transcode::capture("reduced_reply"));
    assert_eq!(found.counts(), BTreeMap::from([("RDMA_MSG", 5), ("RDMA_NOMSG", 1)]));
    assert_eq!(read(&found, 2), numbers());
    for xid in [1, 3] {
        assert!(reply(&found, xid).is_err(), "{xid}");
    }
}

#[test]
fn what_was_reduced_under_integrity_is_rebuilt() {
    let found = dissect_records(&transcode::capture("krb5i_reduced"));
    assert_eq!(found.counts(), BTreeMap::from([("RDMA_MSG", 4)]));
    assert_eq!(read(&found, 2), numbers());
}

#[test]
fn every_call_to_a_server_that_waits_is_answered() {
    let found = dissect_records(&transcode::capture("delays"));
    assert_eq!(found.counts(), BTreeMap::from([("RDMA_MSG", 180)]));
    assert_eq!(found.transactions.len(), 90);
    for connection in 1..=9 {
        let calls = found.transactions.iter().filter(|transaction| transaction.connection == connection);
        let whole = calls.filter(|transaction| {
            [&transaction.call, &transaction.reply].iter().all(|half| half.as_ref().unwrap().message.is_ok())
        });
        assert_eq!(whole.count(), 10, "{connection}");
    }
}

#[test]
fn calls_with_withdrawn_memory_are_whole_if_captured() {
    let found = dissect_records(&transcode::capture("withdrawn"));
    assert_eq!(found.counts(), BTreeMap::from([("RDMA_MSG", 5)]));
    let rebuilt = |xid| found.only_rpc(xid).call.as_ref().unwrap().message.is_ok();
    assert_eq!([1, 2, 3].map(rebuilt), [true, false, true], "nobody has read the argument of 2");
    assert!(found.only_rpc(2).reply.is_none() && found.only_rpc(3).reply.is_some());
    let refused = NotRebuilt::Refused { chunk: ChunkName::Read(124), first: 0, length: 1000 };
    assert_eq!(found.only_rpc(2).call.as_ref().unwrap().message, Err(refused));
}

#[test]
fn good_calls_are_answered_whatever_stands_beside_them() {
    let found = dissect_records(&transcode::capture("same_xid"));
    let expected = [("RDMA_DONE", 66), ("RDMA_ERROR", 3), ("RDMA_MSG", 20), ("RDMA_NOMSG", 1)];
    assert_eq!(found.counts(), BTreeMap::from(expected));
    // Each good call, and the good reply to it.
    let frames = |half: &Option<Half>| half.as_ref().filter(|half| half.message.is_ok()).map(|half| half.stamp.frame);
    let rebuilt = found.transactions.iter().map(|transaction| (frames(&transaction.call), frames(&transaction.reply)));
    let rebuilt: BTreeMap<_, _> = rebuilt.filter_map(|(call, reply)| Some((call?, reply?))).collect();
    let replies = [(29, 32), (34, 38), (46, 50), (57, 61), (70, 72), (74, 78), (100, 102), (172, 234)];
    for (call, reply) in replies {
        assert_eq!(rebuilt.get(&call), Some(&reply));
    }
}

/// The frames of calls that were not answered, and of calls and their replies of which one could not be rebuilt.
fn not_rebuilt(found: &Found) -> Vec<(u64, Option<u64>)> {
    let is_whole = |half: &Option<Half>| half.as_ref().is_some_and(|half| half.message.is_ok());
    let bad = found.transactions.iter().filter(|one| !is_whole(&one.call) || !is_whole(&one.reply));
    let frame = |half: &Option<Half>| half.as_ref().map(|half| half.stamp.frame);
    let mut bad: Vec<_> = bad.map(|one| (frame(&one.call).unwrap(), frame(&one.reply))).collect();
    bad.sort_unstable();
    bad
}

#[test]
fn nfsd_deviations_are_rebuilt_as_far_as_possible() {
    let found = dissect_records(&transcode::capture("nfsd_deviations"));
    // Another dissector shows 117 RDMA_MSG: it passes over those of frames 184 and 186, whose XID is not the RPC's, and that of
    // frame 169, which has no payload.
    let expected = [("RDMA_ERROR", 6), ("RDMA_MSG", 120), ("RDMA_NOMSG", 6)];
    assert_eq!(found.counts(), BTreeMap::from(expected));
    assert!(found.messages.is_sorted_by_key(|message| message.stamp.frame), "none is held up");
    let too_short = [(33, 35), (50, 52), (67, 69), (84, 86), (101, 103), (118, 120)];
    let chunks = [(201, 203), (282, 286), (307, 311), (330, 335), (386, 390), (415, 421)];
    let answered = too_short.into_iter().chain(chunks).map(|(call, reply)| (call, Some(reply)));
    let mut expected: Vec<_> = answered.chain([135, 152, 169].map(|call| (call, None))).collect();
    expected.sort_unstable();
    assert_eq!(not_rebuilt(&found), expected);
    // The same READ without chunks, by NFSv4 and NFSv3.
    for xid in [0x7b1b_0203, 0x7b1c_0203, 0x7b1f_0304, 0x7b20_0304] {
        assert_eq!(read(&found, xid), numbers(), "{xid:#x}");
    }
}

#[test]
fn recalls_of_nfsd_are_rebuilt_whatever_they_are_answered_with() {
    let found = dissect_records(&transcode::capture("nfsd_reverse"));
    assert_eq!(found.counts(), BTreeMap::from([("RDMA_ERROR", 1), ("RDMA_MSG", 63)]));
    // Of the four recalls, the first is answered; of the third, the answer is too short; the others come at the end of a case.
    let frame = |half: &Option<Half>| half.as_ref().map(|half| half.stamp.frame);
    let recalls = found.transactions.iter().filter(|one| one.requester == Side::Passive);
    let mut recalls: Vec<_> = recalls.map(|one| (frame(&one.call).unwrap(), frame(&one.reply))).collect();
    recalls.sort_unstable();
    assert_eq!(recalls, [(66, Some(70)), (74, None), (138, None), (173, None)]);
}

#[test]
fn replies_with_defects_are_rebuilt_if_their_payload_is_sound() {
    let found = dissect_records(&transcode::capture("client_deviations"));
    assert_eq!(found.counts(), BTreeMap::from([("RDMA_MSG", 23), ("RDMA_NOMSG", 1)]));
    // The call of 168 is made again in 177, on another connection.
    let unanswered = [44, 75, 106, 168].map(|call| (call, None));
    let mut expected = [unanswered.as_slice(), &[(137, Some(139))]].concat();
    expected.sort_unstable();
    assert_eq!((not_rebuilt(&found), found.transactions.len()), (expected, 13));
}

/// A capture of RoCEv2 in every other carrier.
fn carried(records: &[Record]) -> Vec<(String, Vec<u8>)> {
    let with_grh = transcode::to_infiniband(records, true);
    let without_grh = transcode::to_infiniband(records, false);
    let mut all = vec![
        ("RoCEv1".to_owned(), pcap(&transcode::to_roce_v1(records))),
        ("InfiniBand".to_owned(), pcap(&without_grh)),
        ("InfiniBand with GRH".to_owned(), pcap(&with_grh)),
        ("cooked RoCEv1".to_owned(), pcap(&transcode::to_cooked(&transcode::to_roce_v1(records)))),
        ("pcapng, big-endian".to_owned(), transcode::write_pcapng(&with_grh, Pcapng { big_endian: true })),
    ];
    for how in ENCAPSULATIONS {
        all.push((
            format!("{how:?}"),
            transcode::write_pcapng(&transcode::encapsulate(records, how), Pcapng::default()),
        ));
    }
    for erf in ERF {
        all.push((format!("{erf:?}, InfiniBand"), pcap(&transcode::to_erf(&without_grh, erf))));
    }
    all
}

/// The same capture in every link layer and file format.
fn transcoded(records: &[Record]) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![
        ("VLAN".to_owned(), pcap(&transcode::with_vlan(records))),
        ("QinQ".to_owned(), pcap(&transcode::with_vlans(records))),
        ("Ethernet trailer".to_owned(), pcap(&transcode::with_trailer(records, 4))),
        ("cooked".to_owned(), pcap(&transcode::to_cooked(records))),
        ("cooked v2".to_owned(), pcap(&transcode::to_cooked_v2(records))),
        ("raw IP".to_owned(), pcap(&transcode::to_raw_ip(records))),
        ("nanoseconds".to_owned(), transcode::write_pcap(records, Pcap { nanoseconds: true, big_endian: true })),
        ("pcapng".to_owned(), transcode::write_pcapng(records, Pcapng { big_endian: false })),
        ("pcapng, big-endian".to_owned(), transcode::write_pcapng(records, Pcapng { big_endian: true })),
        ("Kuznetzov's pcap".to_owned(), transcode::write_kuznetzov(records, false)),
        ("Kuznetzov's pcap, big-endian".to_owned(), transcode::write_kuznetzov(records, true)),
        ("ERF".to_owned(), erf_file(records, erf(Padding::None, 0))),
        ("ERF, padded".to_owned(), erf_file(records, erf(Padding::Written, 2))),
        ("gzip".to_owned(), transcode::gzip(&pcap(records))),
        ("zstd".to_owned(), transcode::zstandard(&transcode::write_pcapng(records, Pcapng::default()))),
    ];
    for erf in ERF {
        all.push((format!("{erf:?}, Ethernet"), pcap(&transcode::to_erf(records, erf))));
    }
    all
}

/// ERF records without a capture file around them.
fn erf_file(records: &[Record], erf: Erf) -> Vec<u8> {
    transcode::to_erf(records, erf).into_iter().flat_map(|record| record.data).collect()
}

const fn erf(padding: Padding, extension_headers: usize) -> Erf {
    Erf { extension_headers, padding }
}

const ERF: [Erf; 6] = [
    erf(Padding::None, 0),
    erf(Padding::None, 2),
    erf(Padding::Counted, 0),
    erf(Padding::Counted, 2),
    erf(Padding::Written, 0),
    erf(Padding::Written, 2),
];

#[test]
fn every_carrier_link_and_file_format_gives_the_same() {
    for truth in &TRUTH {
        let records = transcode::capture(truth.name);
        let carried = if truth.is_iwarp() {
            vec![("IPv6".to_owned(), pcap(&transcode::over_ipv6(&records)))]
        } else {
            carried(&records)
        };
        for (context, file) in transcoded(&records).into_iter().chain(carried) {
            let found = dissect(&file, with_verify_crc());
            truth.hold(&found, &context);
        }
    }
}

/// All that a capture's disturbance may lose is whole messages; what is there is right to the octet.
fn nothing_is_wrong(before: &Found, after: &Found, context: &str) {
    let truth = rebuilt(before);
    for (name, message) in rebuilt(after) {
        let expected = truth.get(&name).unwrap_or_else(|| panic!("{context}: {name:?} was not there"));
        assert!(message.octets() == expected.octets(), "{context}: {name:?} differs");
    }
    let mut sent = sends(before);
    for send in sends(after) {
        let place = sent.binary_search(&send).unwrap_or_else(|_| panic!("{context}: a Send that was never sent"));
        sent.remove(place);
    }
}

#[test]
fn duplicates_and_disorder_change_nothing() {
    for truth in &TRUTH {
        let records = transcode::capture(truth.name);
        for seed in 1..=4 {
            let twice = transcode::duplicating(&records, seed, 200);
            truth.hold(&dissect_records(&twice), &format!("duplicated, seed {seed}"));
            if truth.name == "nfs41_lossy" {
                continue; // it has disorder of its own; see the next test
            }
            let disordered = transcode::reordering(&records, seed, 100, 5);
            truth.hold(&dissect_records(&disordered), &format!("disordered, seed {seed}"));
            let both = transcode::reordering(&twice, seed, 50, 3);
            truth.hold(&dissect_records(&both), &format!("duplicated and disordered, seed {seed}"));
        }
    }
}

#[test]
fn a_capture_that_missed_frames_gives_no_wrong_octet() {
    for truth in &TRUTH {
        let records = transcode::capture(truth.name);
        let before = dissect_records(&records);
        for seed in 1..=10 {
            for per_mille in [2, 20, 100, 400] {
                let after = dissect_records(&transcode::dropping(&records, seed, per_mille));
                let context = format!("{}, seed {seed}, {per_mille} of 1000 dropped", truth.name);
                nothing_is_wrong(&before, &after, &context);
            }
            let disordered = transcode::reordering(&transcode::dropping(&records, seed, 20), seed, 100, 4);
            nothing_is_wrong(&before, &dissect_records(&disordered), &format!("{} {seed}", truth.name));
        }
        // One frame in 500 is lost: most RPCs are still there.
        let after = dissect_records(&transcode::dropping(&records, 1, 2));
        assert!(rebuilt(&after).len() * 10 > rebuilt(&before).len() * 9, "{}", truth.name);
    }
}

/// Returns the index of the first frame after the setup of an iWARP connection.
fn behind_set_up(records: &[Record]) -> usize {
    1 + records.iter().position(|record| record.data.get(66..82) == Some(b"MPA ID Rep Frame")).unwrap()
}

#[test]
fn a_capture_begun_in_the_middle_gives_no_wrong_octet() {
    for truth in &TRUTH {
        let records = transcode::capture(truth.name);
        let before = dissect_records(&records);
        for first in (0..records.len()).step_by(records.len() / 37) {
            let after = dissect_records(&transcode::without_first(&records, first));
            nothing_is_wrong(&before, &after, &format!("{} without the first {first}", truth.name));
        }
        // Without connection setup, the two ends are found by their traffic, and all that follows is whole.
        let set_up = if truth.is_iwarp() {
            behind_set_up(&records)
        } else {
            records.iter().position(|record| record.data.get(42) == Some(&0x04)).unwrap_or(30)
        };
        let after = dissect_records(&transcode::without_first(&records, set_up));
        assert!(
            after.reports.iter().any(|report| report.number.is_some() && report.connection.paired),
            "{}",
            truth.name
        );
        let lost = rebuilt(&before).len() - rebuilt(&after).len();
        assert!(lost <= 2, "{}: {lost} messages lost", truth.name);
    }
}

#[test]
fn cut_frames_are_decoded_as_far_as_they_go() {
    for truth in &TRUTH {
        let records = transcode::capture(truth.name);
        let before = dissect_records(&records);
        let after = dissect_records(&transcode::cut(&records, 128));
        nothing_is_wrong(&before, &after, truth.name);
        // In frame 99 of iwarp_nfs3_lossy a Send follows another FPDU, behind where the frame is cut.
        let behind = |message: &Message| truth.name == "iwarp_nfs3_lossy" && message.stamp.frame == 99;
        let before = Found { messages: before.messages.into_iter().filter(|m| !behind(m)).collect(), ..before };
        assert_eq!(after.messages.len(), before.messages.len(), "{}", truth.name);
        let by_frame =
            |found: &Found| found.messages.iter().map(|message| (message.stamp.frame, message.clone())).collect();
        let (cut, whole): (BTreeMap<_, _>, BTreeMap<_, _>) = (by_frame(&after), by_frame(&before));
        for (cut, whole) in cut.values().zip(whole.values()) {
            assert_eq!((cut.stamp.frame, cut.length), (whole.stamp.frame, whole.length), "{}", truth.name);
            assert!(whole.octets.starts_with(&cut.octets), "{}", truth.name);
            assert!(cut.is_malformed().is_none(), "{}: what the capture cut is not the sender's fault", truth.name);
            let expected = if cut.octets.len() < cut.length { Captured::Cut } else { Captured::Whole };
            assert_eq!(cut.captured, expected, "{}", truth.name);
        }
        assert!(after.messages.iter().filter(|message| message.captured == Captured::Cut).count() > 40);
    }
}

fn iwarp() -> impl Iterator<Item = &'static Truth> {
    TRUTH.iter().filter(|truth| truth.is_iwarp())
}

/// Markers and CRCs in every combination, FPDUs in segments of their own and across segments.
fn mpas() -> Vec<Mpa> {
    let mut all = Vec::new();
    for markers in [[false, false], [true, false], [false, true], [true, true]] {
        for (crc, segment) in [(false, 9000), (true, 9000), (false, 517), (true, 517), (true, 1)] {
            if segment > 1 || markers == [true, true] {
                all.push(Mpa { markers, crc, old: crc, segment, wrong: None });
            }
        }
    }
    all
}

fn with_verify_crc() -> Config {
    let mut config = Config::default();
    config.verify_crc = true;
    config
}

fn verifying(records: &[Record]) -> Found {
    dissect(&pcap(records), with_verify_crc())
}

#[test]
fn markers_and_crcs_change_nothing() {
    for truth in iwarp() {
        let records = transcode::capture(truth.name);
        let is_lossy = truth.name != "iwarp_nfs41";
        // With octets one by one, more is lost at a time than is held.
        for mpa in mpas().into_iter().filter(|mpa| mpa.segment > 1 || !is_lossy) {
            let records = transcode::with_mpa(&records, mpa);
            let found = verifying(&records);
            truth.hold(&found, &format!("{mpa:?}"));
            let Sides { active, passive } = found.reports[0].counts;
            assert_eq!((active.unmatched, passive.unmatched, active.missed, passive.missed), (0, 0, 0, 0), "{mpa:?}");
            if mpa.segment > 1 && !is_lossy {
                let disturbed = transcode::reordering(&transcode::duplicating(&records, 1, 200), 2, 50, 3);
                truth.hold(&verifying(&disturbed), &format!("{mpa:?} disturbed"));
            }
        }
    }
}

#[test]
fn a_wrong_crc_is_counted_and_left_out_on_request() {
    let records = transcode::capture("iwarp_nfs41");
    let before = dissect_records(&records);
    for (markers, segment) in [([false, false], 9000), ([true, true], 517)] {
        // Of the server's FPDUs the first is a reply, the second an RDMA Write.
        for (wrong, lost) in [(0, 1), (1, 1)] {
            let mpa = Mpa { markers, crc: true, old: false, segment, wrong: Some(wrong) };
            let file = pcap(&transcode::with_mpa(&records, mpa));
            let found = dissect(&file, Config::default());
            assert_eq!((found.summary.bad_crc, rebuilt(&found).len()), (1, rebuilt(&before).len()), "{mpa:?}");
            let found = dissect(&file, with_verify_crc());
            assert_eq!((found.summary.bad_crc, rebuilt(&found).len()), (1, rebuilt(&before).len() - lost), "{mpa:?}");
            nothing_is_wrong(&before, &found, &format!("{mpa:?}"));
            // If no CRC is in force, the field means nothing.
            let file = pcap(&transcode::with_mpa(&records, Mpa { crc: false, ..mpa }));
            let found = dissect(&file, with_verify_crc());
            assert_eq!((found.summary.bad_crc, rebuilt(&found).len()), (0, rebuilt(&before).len()), "{mpa:?}");
        }
    }
}

#[test]
fn fpdus_with_markers_and_crcs_are_found_behind_gaps() {
    for truth in iwarp() {
        let records = transcode::capture(truth.name);
        let before = dissect_records(&records);
        for mpa in mpas().into_iter().filter(|mpa| mpa.segment > 1) {
            let records = transcode::with_mpa(&records, mpa);
            for (seed, per_mille) in [(1, 2), (2, 2), (3, 20), (4, 100), (5, 400)] {
                let after = dissect_records(&transcode::dropping(&records, seed, per_mille));
                let context = format!("{} {mpa:?}, seed {seed}, {per_mille} of 1000 dropped", truth.name);
                nothing_is_wrong(&before, &after, &context);
                let (all, left) = (rebuilt(&before).len(), rebuilt(&after).len());
                assert!(per_mille > 2 || left * 10 > all * 8, "{context}: {left} of {all} left");
            }
            for first in (0..records.len()).step_by(records.len() / 11) {
                let after = dissect_records(&transcode::without_first(&records, first));
                nothing_is_wrong(&before, &after, &format!("{} {mpa:?} without the first {first}", truth.name));
            }
            // Without the setup, where the markers are is found too.
            let after = dissect_records(&transcode::without_first(&records, behind_set_up(&records)));
            assert_eq!(rebuilt(&after).len(), rebuilt(&before).len(), "{} {mpa:?}", truth.name);
        }
    }
}

/// Records that come again and again push each other out of what is remembered of packets: always the same ones.
#[test]
fn a_capture_gives_the_same_answers_each_time() {
    let records = transcode::capture("nfs41_lossy");
    let repeated: Vec<_> = core::iter::repeat_n(records, 16).flatten().collect();
    let answers = || {
        let found = dissect_records(&repeated);
        (found.messages.len(), found.reports.iter().map(|report| report.counts).collect::<Vec<_>>())
    };
    let expected = answers();
    assert!((0..3).all(|_| answers() == expected));
}
