//! Sessions of NFSv4.1: slots that calls wait for, status flags that a server sets, and servers with several addresses. The truth is noted
//! while the packets are made.

use std::collections::BTreeMap;

use rpcrdma_answers::diagnosis::Diagnosis;
use rpcrdma_answers::stats::{MountStatistics, Stats};
use rpcrdma_dissector::{Config, Dissector, Event, Frame, LinkType, SlotWaitUnknown, Summary, Time, Transaction};
use serde_json::{Value, json};

use crate::command::{run, stdout};
use crate::connections::frames;
use crate::diagnosis::{causes, diagnose, text};
use crate::situations::mount::{Carrier, Mount};
use crate::situations::path;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::Packet;
use crate::synthetic::nfs4::{self, SlotUse};

/// A session, and what happens to its slots.
struct Session {
    connection: usize,
    name: [u32; 4],
    /// Slots that the server granted, of so many that the client asked for.
    size: u32,
    asked: u32,
    /// Slots that the server wants to be used.
    target: u32,
    /// The last sequence number of each slot, and the call on it.
    slots: BTreeMap<u32, (u32, Option<u32>)>,
    full_since: Option<u64>,
    /// Time for which all slots were in use up to a reply, and the time of the reply.
    freed: Option<(u64, u64)>,
}

/// What happened: each call with the time that it waited for a slot.
pub(crate) struct Story {
    pub(crate) mount: Mount,
    waits: BTreeMap<u32, u64>,
    next_xid: u32,
}

impl Story {
    fn new(carrier: Carrier) -> Self {
        Self { mount: Mount::new(carrier), waits: BTreeMap::new(), next_xid: 1 }
    }

    fn xid(&mut self) -> u32 {
        self.next_xid += 1;
        self.next_xid
    }

    /// An RPC before any session, 20 microseconds long.
    fn alone(&mut self, connection: usize, time: u64, call: impl Fn(u32) -> Vec<u8>, reply: impl Fn(u32) -> Vec<u8>) {
        let xid = self.xid();
        self.mount.send_rpc(connection, Client, time, xid, &call(xid)).acknowledge(connection, Server, time + 5);
        self.mount.send_rpc(connection, Server, time + 20, xid, &reply(xid)).acknowledge(connection, Client, time + 25);
    }

    /// EXCHANGE_ID and CREATE_SESSION at this time.
    fn create(&mut self, connection: usize, time: u64, name: [u32; 4], [asked, size]: [u32; 2]) -> Session {
        let client = [name[0], name[1]];
        let exchanged = |xid| nfs4::exchange_id_reply(xid, client, 6, b"nfs.example", b"example");
        self.alone(connection, time, nfs4::exchange_id, exchanged);
        let created = |xid| nfs4::create_session_reply(xid, name, [size, 3]);
        self.alone(connection, time + 50, |xid| nfs4::create_session(xid, client, [asked, 7]), created);
        let (slots, full_since, freed) = (BTreeMap::new(), None, None);
        Session { connection, name, size, asked, target: size, slots, full_since, freed }
    }

    /// A call on a free slot, accepted.
    fn call(&mut self, session: &mut Session, time: u64, slot: u32) {
        let xid = self.xid();
        let (sequence, _) = session.slots.get(&slot).copied().unwrap_or_default();
        let waited = session.freed.take().filter(|(length, ended)| time - ended < *length);
        self.waits.insert(xid, waited.map_or(0, |(length, _)| length));
        session.slots.insert(slot, (sequence + 1, Some(xid)));
        if session.in_use() == session.size.min(session.target) {
            session.full_since = Some(time);
        }
        let call = session.slot(slot).call(xid);
        self.mount.send_rpc(session.connection, Client, time, xid, &call);
    }

    /// The reply on a slot, with these status flags.
    fn reply(&mut self, session: &mut Session, time: u64, slot: u32, flags: u32) {
        let used = session.slot(slot);
        let (sequence, call) = session.slots[&slot];
        let xid = call.unwrap();
        session.freed = session.full_since.take().map(|since| (time - since, time));
        session.slots.insert(slot, (sequence, None));
        let granted = [session.size - 1, session.target - 1, flags];
        self.mount.send_rpc(session.connection, Server, time, xid, &used.reply(xid, granted));
    }

    fn acknowledge(&mut self, session: &Session, time: u64) {
        self.mount.acknowledge(session.connection, Server, time).acknowledge(session.connection, Client, time + 1);
    }
}

impl Session {
    fn in_use(&self) -> u32 {
        self.slots.values().filter(|(_, call)| call.is_some()).count() as u32
    }

    fn slot(&self, slot: u32) -> SlotUse {
        let highest = self.slots.iter().filter(|(_, (_, call))| call.is_some()).map(|(slot, _)| *slot).max();
        SlotUse { session: self.name, sequence: self.slots[&slot].0, slot, highest: highest.unwrap_or(slot) }
    }
}

/// Two clients with a session each, and the same slots in use: one has three slots of sixteen that it asked for, all in use in each of
/// twelve rounds, in each of which two more calls wait; the other has nine.
pub(crate) fn slots(carrier: Carrier) -> Story {
    let mut story = Story::new(carrier);
    story.mount.connect(0).connect(100);
    let mut small = story.create(1, 200, [4, 5, 6, 7], [16, 3]);
    let mut large = story.create(2, 300, [4, 9, 6, 8], [9, 9]);
    for round in 0..12 {
        let begin = 10_000 + round * 2_000;
        for slot in 0..3 {
            story.call(&mut small, begin + u64::from(slot), slot);
            story.call(&mut large, begin + 10 + u64::from(slot), slot);
        }
        story.acknowledge(&small, begin + 20);
        story.acknowledge(&large, begin + 22);
        let freed = (round % 3) as u32;
        story.reply(&mut small, begin + 500 + round, freed, 0);
        story.call(&mut small, begin + 503 + round, freed);
        story.acknowledge(&small, begin + 520);
        let next = (freed + 1) % 3;
        story.reply(&mut small, begin + 600, next, 0);
        story.call(&mut small, begin + 603, next);
        story.acknowledge(&small, begin + 620);
        for slot in 0..3 {
            story.reply(&mut small, begin + 900 + u64::from(slot), slot, 0);
            story.reply(&mut large, begin + 940 + u64::from(slot), slot, 0);
        }
        story.acknowledge(&small, begin + 950);
        story.acknowledge(&large, begin + 960);
    }
    story
}

const CB_PATH_DOWN: u32 = 1;
const LEASE_MOVED: u32 = 0x80;
const RESTART_RECLAIM_NEEDED: u32 = 0x100;
const BACKCHANNEL_FAULT: u32 = 0x400;

/// Two clients of a server, an RPC a second each. The server has no callback path to the first from second 3 to 8, and a fault in the
/// callback channel for the reply of second 5 alone; a file system of the second has moved since second 6.
pub(crate) fn status(carrier: Carrier) -> Mount {
    let mut story = Story::new(carrier);
    match carrier {
        Carrier::Roce => story.mount.connect_hosts(0, [1, 2]).connect_hosts(100, [3, 2]),
        Carrier::Iwarp => story.mount.connect(0).connect(100),
    };
    let mut first = story.create(1, 200, [4, 5, 6, 7], [16, 3]);
    let mut second = story.create(2, 300, [4, 9, 6, 8], [9, 9]);
    for second_number in 1..11 {
        let time = second_number * 1_000_000;
        let down = if (3..8).contains(&second_number) { CB_PATH_DOWN } else { 0 };
        let fault = if second_number == 5 { BACKCHANNEL_FAULT } else { 0 };
        let moved = if second_number >= 6 { LEASE_MOVED } else { 0 };
        for (session, flags) in [(&mut first, down | fault), (&mut second, moved)] {
            let begin = time + 100 * session.connection as u64;
            story.call(session, begin, 0);
            story.reply(session, begin + 40, 0, flags);
            story.acknowledge(session, begin + 50);
        }
    }
    story.mount
}

fn rpcs(packets: &[(u64, Packet)]) -> Vec<Transaction> {
    let transaction = |event| if let Event::Transaction(transaction) = event { Some(*transaction) } else { None };
    events(packets).into_iter().filter_map(transaction).collect()
}

fn events(packets: &[(u64, Packet)]) -> Vec<Event> {
    let mut dissector = Dissector::new(Config::default());
    for (number, (time, data)) in (1..).zip(packets) {
        let (time, length) = (Time(1_000_000_000 + time * 1000), data.len() as u32);
        dissector.frame(&Frame { number, time, link: LinkType(101), data, length });
    }
    dissector.finish();
    std::iter::from_fn(|| dissector.event()).collect()
}

fn mounts(packets: &[(u64, Packet)]) -> Vec<MountStatistics> {
    let mut stats = Stats::default();
    events(packets).iter().for_each(|event| stats.event(event));
    stats.finish(&Summary::default()).mounts
}

fn evidence<'a>(diagnosis: &'a Diagnosis, cause: &str) -> &'a [String] {
    &diagnosis.causes.iter().find(|known| known.cause == cause).unwrap().evidence
}

#[test]
fn calls_wait_while_all_slots_of_their_session_are_used() {
    for carrier in Carrier::ALL {
        let story = slots(carrier);
        let rpcs = rpcs(&story.mount.packets());
        let told: BTreeMap<_, _> =
            rpcs.iter().filter_map(|rpc| Some((rpc.xid, rpc.slot_wait?.unwrap() / 1000))).collect();
        assert_eq!(told, story.waits, "{carrier:?}");
        let waited: Vec<_> = told.values().filter(|wait| **wait > 0).copied().collect();
        assert_eq!(waited, (0..12).flat_map(|round| [498 + round, 97 - round]).collect::<Vec<_>>());
        let diagnosis = diagnose(&frames(&story.mount.packets()));
        let [first, second, ..] = evidence(&diagnosis, "slots") else { panic!("{diagnosis:?}") };
        let expected = "24 of 100 calls came when a reply freed a slot of their session: until then all were in use, for up to 509 µs.";
        assert_eq!(first, expected);
        let granted = "The session has 3 slots (frame ";
        assert!(
            second.starts_with(granted)
                && second.ends_with("): the client asked for 16, and the server granted fewer."),
            "{second}"
        );
        let slots = diagnosis.causes.iter().find(|cause| cause.cause == "slots").unwrap();
        assert_eq!((slots.owner, slots.rpcs), (Some("server"), Some(24)));
        assert!(!causes(&diagnosis).contains(&"credits"), "32 credits were granted");
    }
}

#[test]
fn the_server_lowers_the_slots_that_a_client_should_use() {
    let mut story = Story::new(Carrier::Roce);
    story.mount.connect(0);
    let mut session = story.create(1, 200, [4, 5, 6, 7], [11, 11]);
    story.call(&mut session, 1_000, 0);
    story.call(&mut session, 1_001, 1);
    session.target = 2;
    story.reply(&mut session, 1_100, 0, 0);
    story.reply(&mut session, 1_101, 1, 0);
    story.acknowledge(&session, 1_110);
    for round in 0..10 {
        let begin = 10_000 + round * 2_000;
        story.call(&mut session, begin, 0);
        story.call(&mut session, begin + 1, 1);
        story.acknowledge(&session, begin + 10);
        story.reply(&mut session, begin + 300, 1, 0);
        story.call(&mut session, begin + 302, 1);
        story.reply(&mut session, begin + 700, 0, 0);
        story.reply(&mut session, begin + 701, 1, 0);
        story.acknowledge(&session, begin + 710);
    }
    let packets = story.mount.packets();
    let told: BTreeMap<_, _> =
        rpcs(&packets).iter().filter_map(|rpc| Some((rpc.xid, rpc.slot_wait?.unwrap() / 1000))).collect();
    assert_eq!(told, story.waits);
    assert_eq!(told.values().filter(|wait| **wait == 299).count(), 10);
    let diagnosis = diagnose(&frames(&packets));
    let lowered = "Later the server wanted no more than 2 to be used.";
    assert!(evidence(&diagnosis, "slots")[1].ends_with(lowered), "{diagnosis:?}");
    assert_eq!(session.asked, 11);
}

/// Without CREATE_SESSION, the number of slots is not known.
#[test]
fn nothing_is_said_of_slots_if_the_capture_began_later() {
    let story = slots(Carrier::Roce);
    let late: Vec<_> = story.mount.packets().into_iter().filter(|(time, _)| *time >= 9_000).collect();
    let waits: Vec<_> = rpcs(&late).iter().map(|rpc| rpc.slot_wait).collect();
    assert_eq!(waits, [Some(Err(SlotWaitUnknown::SessionMissing)); 96]);
    assert!(!causes(&diagnose(&frames(&late))).contains(&"slots"));
    assert!(mounts(&late).iter().all(|mount| mount.session.is_none() && mount.server_owner.is_none()));
}

/// A capture that lacks a packet says less, and nothing that is false.
#[test]
fn a_missing_packet_makes_no_wait_for_a_slot() {
    for carrier in Carrier::ALL {
        let story = slots(carrier);
        let packets = story.mount.packets();
        for missing in 0..packets.len() {
            let mut seen = packets.clone();
            seen.remove(missing);
            for rpc in rpcs(&seen) {
                let Some(Ok(wait)) = rpc.slot_wait else { continue };
                assert!(wait == 0 || wait / 1000 == story.waits[&rpc.xid], "{carrier:?} {missing} {:#x}", rpc.xid);
            }
        }
    }
}

#[test]
fn status_flags_last_from_first_reply_to_the_one_without() {
    let packets = status(Carrier::Roce).packets();
    let second = |time: u64| time / 1_000_000_000 - 1;
    let mounts = mounts(&packets);
    let [first, other] = &mounts[..] else { panic!("{mounts:?}") };
    let told = |mount: &MountStatistics| -> Vec<_> {
        let flags = mount.status_flags.iter();
        flags.map(|flag| (flag.flag, second(flag.since_ns), flag.cleared_ns.map(second), flag.replies)).collect()
    };
    assert_eq!(
        told(first),
        [("SEQ4_STATUS_CB_PATH_DOWN", 3, Some(8), 5), ("SEQ4_STATUS_BACKCHANNEL_FAULT", 5, Some(6), 1),]
    );
    assert_eq!(told(other), [("SEQ4_STATUS_LEASE_MOVED", 6, None, 5)]);
    assert!(first.status_flags.iter().all(|flag| flag.session_id == "00000004000000050000000600000007"));
    let diagnosis = diagnose(&frames(&packets));
    let evidence = evidence(&diagnosis, "session-status").join("\n");
    for sentence in [
        "192.0.2.2 said to 192.0.2.1 that it has no callback path to the client: SEQ4_STATUS_CB_PATH_DOWN, from 00:00:03 UTC (frame 40) to \
         00:00:08 UTC (frame 80), for 5.00 s, in 5 replies.",
        "192.0.2.2 says to 192.0.2.3 that it moved a file system and its lease to another server: SEQ4_STATUS_LEASE_MOVED, since \
         00:00:06 UTC (frame 68)",
        "in all 5 replies up to frame ",
    ] {
        assert!(evidence.contains(sentence), "{sentence}\n{evidence}");
    }
    assert!(!text(&diagnosis).contains("RESTART"), "nobody set that flag");
}

/// A restart is told at once, and a callback channel that is set up a moment later is not.
#[test]
fn a_short_fault_of_the_callback_channel_is_no_cause() {
    for (flags, expected) in [(CB_PATH_DOWN, false), (RESTART_RECLAIM_NEEDED, true)] {
        let mut story = Story::new(Carrier::Roce);
        story.mount.connect(0);
        let mut session = story.create(1, 200, [4, 5, 6, 7], [16, 3]);
        for (time, flags) in [(1_000, flags), (2_000, 0), (3_000, 0)] {
            story.call(&mut session, time, 0);
            story.reply(&mut session, time + 100, 0, flags);
            story.acknowledge(&session, time + 150);
        }
        let packets = story.mount.packets();
        assert_eq!(causes(&diagnose(&frames(&packets))).contains(&"session-status"), expected, "{flags}");
        assert_eq!(mounts(&packets)[0].status_flags.len(), 1);
    }
}

#[test]
fn two_addresses_of_one_server_are_joined_by_its_owner() {
    let mut story = Story::new(Carrier::Roce);
    story.mount.connect_hosts(0, [1, 2]).connect_hosts(100, [1, 4]).connect_hosts(150, [1, 5]);
    story.create(1, 200, [4, 5, 6, 7], [16, 3]);
    story.create(2, 400, [4, 9, 6, 8], [9, 8]);
    let other = |xid| nfs4::exchange_id_reply(xid, [8, 8], 6, b"nfs.example", b"other scope");
    story.alone(3, 600, nfs4::exchange_id, other);
    let packets = story.mount.packets();
    let mounts = mounts(&packets);
    let told: Vec<_> = mounts.iter().map(|mount| (mount.server.as_str(), mount.ends(), mount.connections)).collect();
    let expected = [
        ("192.0.2.2", "192.0.2.1 → 192.0.2.2, 192.0.2.4".to_owned(), 2),
        ("192.0.2.5", "192.0.2.1 → 192.0.2.5".to_owned(), 1),
    ];
    assert_eq!(told, expected);
    let told: Vec<_> = diagnose(&frames(&packets)).mounts.iter().map(|mount| mount.ends.clone()).collect();
    assert_eq!(told, expected.map(|(_, ends, _)| ends));
    let lines = mounts[0].lines().join("\n");
    assert!(lines.contains("server \"nfs.example\" of scope \"example\""), "{lines}");
    let session = mounts[0].session.clone().unwrap();
    assert_eq!((session.slots, session.slots_asked, session.callback_slots), (8, Some(9), 3));
    assert_eq!(session.client_id.as_deref(), Some("0000000400000009"));
}

/// A client with two addresses: the server gives both the same client ID.
#[test]
fn two_addresses_of_one_client_are_joined_by_its_id() {
    for (client, expected) in
        [([4, 5], "192.0.2.1, 192.0.2.3 → 192.0.2.2, 192.0.2.4"), ([4, 6], "192.0.2.1 → 192.0.2.2")]
    {
        let mut story = Story::new(Carrier::Roce);
        story.mount.connect_hosts(0, [1, 2]).connect_hosts(100, [3, 4]);
        story.create(1, 200, [4, 5, 6, 7], [16, 3]);
        let exchanged = |xid| nfs4::exchange_id_reply(xid, client, 6, b"nfs.example", b"example");
        story.alone(2, 400, nfs4::exchange_id, exchanged);
        let mounts = mounts(&story.mount.packets());
        assert_eq!(mounts[0].ends(), expected);
        assert_eq!(mounts[0].connections, mounts[0].server_addresses.len() as u64);
    }
}

/// The fields of SEQUENCE, CREATE_SESSION, EXCHANGE_ID and WRITE in JSON, and in `decode -v`.
#[test]
fn fields_of_sessions_and_writes_are_decoded() {
    let file = path("session_status");
    let output = run(&["transactions", "--json", &file]);
    let records: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let down = records.iter().find(|record| {
        record["sequence"]["status_flags"] == json!(["SEQ4_STATUS_CB_PATH_DOWN", "SEQ4_STATUS_BACKCHANNEL_FAULT"])
    });
    let expected = json!({
        "session_id": "00000004000000050000000600000007", "sequence_id": 5, "slot_id": 0, "highest_slot_id": 0,
        "cache_this": true, "reply_highest_slot_id": 2, "target_highest_slot_id": 2,
        "status_flags": ["SEQ4_STATUS_CB_PATH_DOWN", "SEQ4_STATUS_BACKCHANNEL_FAULT"],
    });
    assert_eq!(down.unwrap()["sequence"], expected);
    let created = records.iter().find_map(|record| record["arguments"][0]["session"].as_object());
    let session = json!({
        "client_id": "0x0000000400000005", "session_id": "00000004000000050000000600000007", "slots_asked": 16,
        "slots": 3, "callback_slots_asked": 7, "callback_slots": 3, "call_octets": 70_000, "reply_octets": 90_000,
    });
    assert_eq!(created, session.as_object());
    let server = records.iter().find_map(|record| record["arguments"][0]["server"].as_object()).unwrap();
    assert_eq!((&server["minor_id"], &server["major_id"]), (&json!(6), &json!("6e66732e6578616d706c65")));
    let output = run(&["decode", "-v", &file]);
    let tree = stdout(&output);
    for text in [
        "session 00000004000000050000000600000007, slot 0 (highest 0), sequence 5, reply to be cached",
        "slot 0 (highest 2, target 2), sequence 5, SEQ4_STATUS_CB_PATH_DOWN SEQ4_STATUS_BACKCHANNEL_FAULT",
        "asked for 16 slots, 7 of callbacks",
        "granted 3 slots, 3 of callbacks, calls of up to 70,000 octets, replies of up to 90,000",
        "server owner \"nfs.example\" (minor ID 6), scope \"example\"",
    ] {
        assert!(tree.contains(text), "{text}");
    }
}

/// `stable_how` of the call and `committed` of the reply differ, and so do the counts.
#[test]
fn a_write_shows_what_was_asked_and_what_was_committed() {
    for carrier in Carrier::ALL {
        let mut story = Story::new(carrier);
        story.mount.connect(0);
        let session = story.create(1, 200, [4, 5, 6, 7], [16, 3]);
        let used = SlotUse { session: session.name, sequence: 1, slot: 2, highest: 2 };
        let write = used.call_of(77, &[nfs4::putfh_operation(b"file"), nfs4::write_operation(0)]);
        let written = used.reply_of(77, [2, 2, 0], &[nfs4::putfh_results(), nfs4::write_results(5, 2)]);
        story.mount.send_rpc(1, Client, 1_000, 77, &write).acknowledge(1, Server, 1_010);
        story.mount.send_rpc(1, Server, 1_100, 77, &written).acknowledge(1, Client, 1_110);
        let rpcs = rpcs(&story.mount.packets());
        let rpc = rpcs.iter().find(|rpc| rpc.xid == 77).unwrap();
        let arguments = rpc.arguments();
        let write = arguments.iter().find(|one| one.name == "WRITE").unwrap();
        let names = (write.stable.unwrap().name(), write.committed.unwrap().name());
        assert_eq!(names, (Some("UNSTABLE4"), Some("FILE_SYNC4")));
        assert_eq!((write.count, write.written), (Some(8), Some(5)));
        assert_eq!(rpc.sequence().unwrap().slot_id, 2);
    }
}
