//! The captures in `testdata/captures/situations`, frame by frame. Their README.md says what happens in each.

use rpcrdma::v2::Family;

use super::mount::Carrier;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::nfs4;
use crate::synthetic::rpc::{Lists, MSG, NOMSG, WRITE3_POSITION, call, message, null, octets, reply, write3};
use crate::synthetic::tcp::{CLIENT, Iwarp, SERVER, fpdu, null_call};
use crate::synthetic::trace::Trace;
use crate::synthetic::{Packet, Wire, v2};
use crate::transcode::{self, ETHERNET, Mirror, MirrorKind, Record};
use crate::{file_names, promises, sessions};

/// Frames, one of the captures.
type Made = fn() -> Vec<Record>;

/// Each capture by its name.
pub(super) const ALL: [(&str, Made); 57] = [
    ("reply_refused", || refused(Wire::nak)),
    ("reply_not_ready", || refused(Wire::not_ready)),
    ("reply_behind_write_refused", reply_behind_write_refused),
    ("reply_refused_for_good", reply_refused_for_good),
    ("reply_unacknowledged", reply_unacknowledged),
    ("reply_timed_out", reply_timed_out),
    ("call_refused_first_packet", call_refused_first_packet),
    ("call_unacknowledged", || unanswered(|_, _, _| {})),
    ("call_refused", || unanswered(|trace, number, _| trace.refuse_call(number))),
    ("call_accepted", || unanswered(|trace, number, call| trace.accept_call(number, call))),
    ("call_wrong_icrc", || wrong_icrc(CLIENT_HOST)),
    ("reply_wrong_icrc", || wrong_icrc(SERVER_HOST)),
    ("call_refused_behind_gap", call_refused_behind_gap),
    ("read_unanswered", read_unanswered),
    ("data_not_read", data_not_read),
    ("reply_missed", reply_missed),
    ("iwarp_reply_missed", iwarp_reply_missed),
    ("reply_provided", || reply_provided(false)),
    ("reply_provided_and_read", || reply_provided(true)),
    ("recall_answered_late", recall_answered_late),
    ("write_after_reply", write_after_reply),
    ("write_unacknowledged", write_unacknowledged),
    ("clock_set_back", clock_set_back),
    ("clock_set_back_waiting", clock_set_back_waiting),
    ("v2_family_a_part_again", || Trace::part_again(Family::A, false).frames()),
    ("v2_family_b_part_again", || Trace::part_again(Family::B, false).frames()),
    ("v2_and_version_1", v2_and_version_1),
    ("silence_short", || silence(1_000)),
    ("silence_announced", || silence(548_000)),
    ("read_again_after_later_responses", read_again),
    ("doubled", || doubled(MirrorKind::Same)),
    ("doubled_tagged", || doubled(MirrorKind::Tagged)),
    ("doubled_routed", || doubled(MirrorKind::Routed)),
    ("replies_only", || direction(2)),
    ("calls_only", || direction(1)),
    ("no_rpc", no_rpc),
    ("iwarp_reply_refused", || iwarp_refused(&[20_000])),
    ("iwarp_reply_refused_three_times", || iwarp_refused(&[210, 211, 212, 213])),
    ("iwarp_reply_refused_for_good", iwarp_refused_for_good),
    ("iwarp_reply_unacknowledged", iwarp_unacknowledged),
    ("iwarp_reply_timed_out", iwarp_timed_out),
    ("iwarp_call_in_segments", iwarp_call_in_segments),
    ("calls_answered", || calls(|_| Fate::Answered)),
    ("calls_unanswered", || calls(|number| if number % 7 > 3 { Fate::Lost } else { Fate::Answered })),
    ("calls_failed", || calls(|_| Fate::Failed)),
    ("calls_sent_again", || calls(|_| Fate::Refused)),
    ("one_name_in_two_folders", file_names::one_name_in_two_folders),
    ("referral", file_names::referral),
    ("grace", || on_ethernet(&promises::in_grace())),
    ("server_restarted", || on_ethernet(&promises::restarted())),
    ("layouts_recalled", || on_ethernet(&promises::layouts_recalled())),
    ("copy_offloaded", || on_ethernet(&promises::copies_offloaded())),
    ("copy_unfinished", || on_ethernet(&promises::copy_unfinished(false))),
    ("tries", || super::tries(Carrier::Roce)),
    ("iwarp_tries", || super::tries(Carrier::Iwarp)),
    ("session_slots", || frames(&sessions::slots(Carrier::Roce).mount.packets())),
    ("session_status", || frames(&sessions::status(Carrier::Roce).packets())),
];

/// Frames of Ethernet, in the order and at the times of the packets in them.
pub(super) fn frames(packets: &[(u64, Packet)]) -> Vec<Record> {
    packets.iter().map(|(time, packet)| frame(BEGIN + time * 1000, packet)).collect()
}

/// The frame of a packet.
fn frame(time_ns: u64, packet: &[u8]) -> Record {
    let mac = |host: u8| [2, 0, 0, 0, 0, host];
    let (source, destination) = (packet[15], packet[19]);
    let data = [&mac(destination)[..], &mac(source), &[8, 0], packet].concat();
    let length = data.len() as u32;
    Record { time_ns, link: ETHERNET, data, length }
}

/// The same packets on Ethernet.
fn on_ethernet(records: &[Record]) -> Vec<Record> {
    records.iter().map(|record| frame(record.time_ns, &record.data)).collect()
}

/// 2026-01-01 00:00:00 UTC, in nanoseconds.
const BEGIN: u64 = 1_767_225_600_000_000_000;

impl Trace {
    pub(crate) fn frames(&self) -> Vec<Record> {
        frames(&self.packets)
    }

    /// The server has no Receive for the third copy of the call.
    fn refuse_call(&mut self, number: u32) {
        let refusal = self.wire.not_ready(Server, number);
        self.at(1_000_110, &[refusal]);
    }

    /// The fourth copy is accepted.
    fn accept_call(&mut self, number: u32, call: &[Packet]) {
        self.refuse_call(number);
        self.at(1_100_100, call).accept(1_100_110);
    }
}

fn refused(refuse: fn(&mut Wire, crate::synthetic::By, u32) -> Packet) -> Vec<Record> {
    let (mut trace, reply) = Trace::exchange();
    let number = trace.wire.server.next - 1;
    let refusal = refuse(&mut trace.wire, Client, number);
    trace.at(210, &[refusal]).at(500_200, &reply).acknowledge(500_210).frames()
}

fn reply_behind_write_refused() -> Vec<Record> {
    let mut trace = Trace::new();
    let call = trace.wire.send(Client, &message(MSG, 1, &Lists::reply(&[(7, 0, 4000)]), &null(1)));
    let first = trace.wire.server.next;
    let writes = trace.wire.write(Server, (7, 0), &[reply(1, &[]), octets(1, 2976)].concat());
    let reply = trace.wire.send(Server, &message(NOMSG, 1, &Lists::reply(&[(7, 0, 3000)]), &[]));
    let nak = trace.wire.nak(Client, first + 1);
    trace.at(100, &call).accept(110).at(200, &writes).at(300, &reply).at(310, &[nak]);
    trace.at(1000, &writes[1..]).at(1010, &reply).acknowledge(1020).frames()
}

fn reply_refused_for_good() -> Vec<Record> {
    let (mut trace, _) = Trace::exchange();
    let number = trace.wire.server.next - 1;
    let nak = trace.wire.nak(Client, number);
    trace.at(210, &[nak]).frames()
}

fn reply_unacknowledged() -> Vec<Record> {
    let (mut trace, reply) = Trace::exchange();
    (1..5).for_each(|time| _ = trace.at(200 + time * 500_000, &reply));
    trace.frames()
}

fn reply_timed_out() -> Vec<Record> {
    let (mut trace, reply) = Trace::exchange();
    trace.at(500_200, &reply).acknowledge(500_210).frames()
}

fn call_refused_first_packet() -> Vec<Record> {
    let mut trace = Trace::from_wire(Wire { mtu: 256, ..Wire::default() });
    let call = trace.wire.send(Client, &message(MSG, 1, &Lists::default(), &call(1, [400_000, 1, 7], &[7; 600])));
    let number = trace.wire.client.next - 3;
    let (reply, nak) = (trace.reply(1), trace.wire.nak(Server, number));
    trace.at(100, &call[1..]).at(110, &[nak]).at(2_000_000, &call).accept(2_000_010);
    trace.at(2_001_110, &reply).acknowledge(2_001_120).frames()
}

/// A call that is sent three times, and what happens then.
fn unanswered(then: fn(&mut Trace, u32, &[Packet])) -> Vec<Record> {
    let mut trace = Trace::new();
    let call = trace.call(1);
    let number = trace.wire.client.next - 1;
    trace.at(100, &call).at(500_100, &call).at(1_000_100, &call);
    then(&mut trace, number, &call);
    trace.frames()
}

/// The last octets of the ends' addresses.
const CLIENT_HOST: u8 = 1;
const SERVER_HOST: u8 = 2;

/// A call or a reply that is sent five times. What its sender sends on the connection has a wrong ICRC, and its messages of the
/// setup and all packets of the other end have the right one.
fn wrong_icrc(by: u8) -> Vec<Record> {
    let mut trace = if by == CLIENT_HOST { Trace::new() } else { Trace::exchange().0 };
    let message = if by == CLIENT_HOST { trace.call(1) } else { vec![trace.packets.last().unwrap().1.clone()] };
    let first = if by == CLIENT_HOST { 0 } else { 1 };
    (first..5).for_each(|time| _ = trace.at(200 + time * 500_000, &message));
    trace.checksums(|packet, right| if is_of_connection(packet) && packet[15] == by { !right } else { right });
    trace.frames()
}

/// True unless the packet is a datagram, as those of the setup are.
fn is_of_connection(packet: &[u8]) -> bool {
    packet[28] != 0x64
}

fn call_refused_behind_gap() -> Vec<Record> {
    let mut trace = Trace::new();
    let (answered, reply) = (trace.call(8), trace.reply(8));
    trace.at(10, &answered).accept(11).at(12, &reply).acknowledge(13);
    let _lost = trace.call(9);
    let number = trace.wire.client.next - 1;
    let call = trace.call(1);
    let refusal = trace.wire.nak(Server, number);
    trace.at(100, &call).at(110, &[refusal]).frames()
}

fn read_unanswered() -> Vec<Record> {
    let mut trace = Trace::new();
    let call = trace.wire.send(Client, &message(MSG, 1, &Lists::reads(&[(40, (9, 0, 1000))]), &null(1)));
    let request = trace.wire.read_request(Server, (9, 0), 1000);
    trace.at(100, &call).at(200, &[request]).frames()
}

fn data_not_read() -> Vec<Record> {
    let mut trace = Trace::new();
    let (before, answer) = (trace.call(8), trace.reply(8));
    trace.at(10, &before).accept(11).at(12, &answer).acknowledge(13);
    let data = Lists::reads(&[(WRITE3_POSITION, (9, 0, 16_384))]);
    let call = trace.wire.send(Client, &message(MSG, 1, &data, &write3(1, 16_384)));
    trace.at(100, &call).accept(110);
    let (later, reply) = (trace.call(9), trace.reply(9));
    trace.at(1_000_000, &later).accept(1_000_010).at(1_000_100, &reply).acknowledge(1_000_110).frames()
}

/// The capture lacks the reply, and holds its acknowledgement.
fn reply_missed() -> Vec<Record> {
    let (mut trace, _) = Trace::exchange();
    trace.packets.pop();
    trace.acknowledge(210).frames()
}

fn iwarp_reply_missed() -> Vec<Record> {
    let (mut trace, _) = Iwarp::exchange();
    trace.packets.pop();
    trace.acknowledge(210, CLIENT, 0);
    frames(&trace.packets)
}

/// A reply in memory of the responder (draft-cel-nfsv4-reliable-reply).
fn reply_provided(is_read: bool) -> Vec<Record> {
    let mut trace = Trace::new();
    let (call, payload) = (trace.call(1), reply(1, &[]));
    let provided = message(NOMSG, 1, &Lists::reads(&[(0, (5, 0, payload.len() as u32))]), &[]);
    let provided = trace.wire.send(Server, &provided);
    trace.at(100, &call).accept(110).at(200, &provided).acknowledge(210);
    if is_read {
        let read = trace.wire.read(Client, (5, 0), &payload);
        trace.at(300, &read);
    }
    trace.frames()
}

/// OPEN waits for the client that holds a delegation, here the same one.
fn recall_answered_late() -> Vec<Record> {
    let (mut trace, none) = (Trace::new(), Lists::default());
    let (file, recall) = (b"file handle", 0x9001);
    let call = trace.wire.send(Client, &message(MSG, 1, &none, &nfs4::open(1, b"a.txt")));
    let callback = trace.wire.send(Server, &message(MSG, recall, &none, &nfs4::recall(recall, file)));
    trace.at(100, &call).accept(110).at(1100, &callback).acknowledge(1110);
    let answer = trace.wire.send(Client, &message(MSG, recall, &none, &nfs4::recall_reply(recall)));
    let reply = trace.wire.send(Server, &message(MSG, 1, &none, &nfs4::open_reply(1, file)));
    trace.at(5_001_100, &answer).accept(5_001_110).at(5_003_100, &reply).acknowledge(5_003_110).frames()
}

fn write_after_reply() -> Vec<Record> {
    let mut trace = Trace::new();
    let call = trace.wire.send(Client, &message(MSG, 1, &Lists::writes(&[&[(7, 0, 1000)]]), &null(1)));
    let reply = trace.wire.send(Server, &message(MSG, 1, &Lists::writes(&[&[(7, 0, 1000)]]), &reply(1, &[])));
    let writes = trace.wire.write(Server, (7, 0), &octets(1, 1000));
    trace.at(100, &call).accept(110).at(200, &reply).at(900, &writes).acknowledge(1000).frames()
}

fn write_unacknowledged() -> Vec<Record> {
    let mut trace = Trace::new();
    let call = trace.wire.send(Client, &message(MSG, 1, &Lists::writes(&[&[(7, 0, 1000)]]), &null(1)));
    let writes = trace.wire.write(Server, (7, 0), &octets(1, 1000));
    trace.at(100, &call).accept(110);
    (0..5).for_each(|time| _ = trace.at(200 + time * 500_000, &writes));
    trace.frames()
}

fn clock_set_back() -> Vec<Record> {
    let mut trace = set_back_after_call();
    let reply = trace.reply(1);
    trace.at(2_500_000, &reply).acknowledge(2_500_010).frames()
}

/// Other traffic is the last that is captured.
fn clock_set_back_waiting() -> Vec<Record> {
    set_back_after_call().at(4_000_020, &[datagram(1, 2, 0x64)]).frames()
}

/// Set back by a second after a call, for more than eight frames of other traffic.
fn set_back_after_call() -> Trace {
    let mut trace = Trace::new();
    let call = trace.call(1);
    trace.at(2_000_000, &call).accept(2_000_010);
    (0..10).for_each(|number| _ = trace.at(1_000_020 + number, &[datagram(1, 2, 0x64)]));
    trace
}

/// A packet of InfiniBand with a Q_Key, for a queue pair of no connection.
fn datagram(source: u8, destination: u8, opcode: u8) -> Packet {
    let mut wire = Wire::default();
    (wire.client.host, wire.server.host, wire.server.queue_pair) = (source, destination, 0x77);
    wire.packet(Client, opcode, 5, &[0x11, 0x11, 0, 0, 0, 0, 0, 9], &[7; 64])
}

/// Two RPCs of version 2, and one of version 1 after them (draft-ietf-nfsv4-rpcrdma-version-two-07 section 7.1.2).
fn v2_and_version_1() -> Vec<Record> {
    let mut trace = Trace::new();
    for (time, xid) in [(10, 8), (50, 9)] {
        let call = trace.wire.send(Client, &v2::call(Family::B, xid, 0, &Lists::default(), &null(xid)));
        let reply = trace.wire.send(Server, &v2::reply(Family::B, xid, &[], &reply(xid, &[])));
        trace.at(time, &call).accept(time + 5).at(time + 20, &reply).acknowledge(time + 25);
    }
    let (call, reply) = (trace.call(1), trace.reply(1));
    trace.at(100, &call).accept(110).at(200, &reply).acknowledge(210).frames()
}

/// A call that is retransmitted after this silence, where the client announced 536.9 ms.
fn silence(microseconds: u64) -> Vec<Record> {
    let mut trace = Trace::from_wire(Wire { ack_timeout: 17, ..Wire::default() });
    let (call, reply) = (trace.call(1), trace.reply(1));
    trace.at(1_000_100, &call).at(1_000_100 + microseconds, &call);
    trace.accept(1_600_000).at(2_000_100, &reply).acknowledge(2_000_110).frames()
}

/// The second of four responses was lost behind the capture.
fn read_again() -> Vec<Record> {
    let mut trace = Trace::from_wire(Wire { ack_timeout: 17, ..Wire::default() });
    let data = vec![7; 4000];
    let call = trace.wire.send(Client, &message(MSG, 1, &Lists::reads(&[(40, (0x77, 0x1000, 4000))]), &null(1)));
    let number = trace.wire.server.next;
    let read = trace.wire.read(Server, (0x77, 0x1000), &data);
    let again = trace.wire.read_request_again(Server, number + 1, (0x77, 0x1000 + 1024), 4000 - 1024);
    let responses = trace.wire.read_responses(Client, number + 1, &data[1024..]);
    let reply = trace.reply(1);
    trace.at(100, &call).accept(110).at(200, &read).at(3_200, &[again]).at(3_300, &responses);
    trace.at(4_000, &reply).acknowledge(4_010).frames()
}

/// Each frame, and a copy of it two microseconds later.
fn doubled(kind: MirrorKind) -> Vec<Record> {
    let (mut trace, _) = Trace::exchange();
    let frames = trace.acknowledge(210).frames();
    let twice = transcode::doubling(&frames, Mirror { delay: 2000, kind }, |_| true);
    twice.into_iter().map(|(_, frame)| frame).collect()
}

/// Packets of one host in twenty RPCs.
fn direction(host: u8) -> Vec<Record> {
    let mut trace = Trace::new();
    for (time, xid) in (100..).step_by(100).zip(1..21) {
        let (call, reply) = (trace.call(xid), trace.reply(xid));
        trace.at(time, &call).accept(time + 10).at(time + 50, &reply).acknowledge(time + 60);
    }
    trace.packets.retain(|(_, packet)| packet[15] == host);
    trace.frames()
}

/// Unreliable connections (opcode 0x24), datagrams (0x64), reliable datagrams (0x44), and a notification of congestion (0x81).
fn no_rpc() -> Vec<Record> {
    let packets: Vec<_> = [0x24, 0x64, 0x44, 0x81].into_iter().map(|opcode| datagram(1, 2, opcode)).collect();
    frames(&(100..).zip(packets).collect::<Vec<_>>())
}

/// The client acknowledges less than the reply at these times.
fn iwarp_refused(acknowledgements: &[u64]) -> Vec<Record> {
    let (mut trace, reply) = Iwarp::exchange();
    acknowledgements.iter().for_each(|time| trace.acknowledge(*time, CLIENT, reply.len() as u32));
    trace.again(500_200, SERVER, &reply);
    trace.acknowledge(500_210, CLIENT, 0);
    frames(&trace.packets)
}

fn iwarp_refused_for_good() -> Vec<Record> {
    let (mut trace, reply) = Iwarp::exchange();
    (210..214).for_each(|time| trace.acknowledge(time, CLIENT, reply.len() as u32));
    frames(&trace.packets)
}

fn iwarp_unacknowledged() -> Vec<Record> {
    let (mut trace, reply) = Iwarp::exchange();
    (1..5).for_each(|time| trace.again(200 + time * 500_000, SERVER, &reply));
    frames(&trace.packets)
}

fn iwarp_timed_out() -> Vec<Record> {
    let (mut trace, reply) = Iwarp::exchange();
    trace.again(500_200, SERVER, &reply);
    trace.acknowledge(500_210, CLIENT, 0);
    frames(&trace.packets)
}

fn iwarp_call_in_segments() -> Vec<Record> {
    let mut trace = Iwarp::default();
    let call = null_call();
    for (time, range) in [(100, 0..30), (1000, 30..60), (2000, 60..call.len())] {
        trace.send(time, CLIENT, &call[range]);
    }
    trace.send(3000, SERVER, &fpdu(1, &message(MSG, 1, &Lists::default(), &reply(1, &[]))));
    trace.acknowledge(3010, CLIENT, 0);
    frames(&trace.packets)
}

/// The end of a call in a capture to compare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    Failed,
    /// Refused with an RNR NAK, retransmitted and answered.
    Refused,
    /// Accepted, and never answered.
    Lost,
}

/// 70 NULL calls, a millisecond apart, each answered after 50 microseconds or a little more.
fn calls(fate: fn(u32) -> Fate) -> Vec<Record> {
    let mut trace = Trace::new();
    for number in 0..70 {
        let (time, xid, fate) = (1000 * u64::from(number + 1), number + 1, fate(number));
        let call = trace.call(xid);
        if fate == Fate::Refused {
            let refused = trace.wire.client.next - 1;
            let refusal = trace.wire.not_ready(Server, refused);
            trace.at(time - 57, &call).at(time - 45, &[refusal]);
        }
        trace.at(time, &call).accept(time + 10);
        // RFC 5531 section 9: accepted, no verifier, and SYSTEM_ERR (5).
        let payload =
            if fate == Fate::Failed { [&reply(xid, &[])[..20], &[0, 0, 0, 5]].concat() } else { reply(xid, &[]) };
        if fate != Fate::Lost {
            let reply = trace.wire.send(Server, &message(MSG, xid, &Lists::default(), &payload));
            trace.at(time + 50 + u64::from(number * 7 % 11), &reply).acknowledge(time + 70);
        }
    }
    trace.frames()
}
