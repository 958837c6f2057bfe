//! Twins of the rows of `diagnosis.rs`: the same cause while sixteen calls are in flight on the connection, and replies come in another
//! order than calls. What happens is noted while the packets are made, and compared with what the diagnosis says.

use std::collections::{BTreeMap, BTreeSet};

use rpcrdma_answers::diagnosis::{DiagnosedCause, Diagnosis};

use crate::diagnosis::{causes, diagnose, rows, text};
use crate::synthetic::By::{self, Client};
use crate::synthetic::Packet;
use crate::synthetic::rpc::words;
use crate::synthetic::tcp::{self, CLIENT, Iwarp, SERVER};
use crate::transcode::Record;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Roce,
    Iwarp,
}

/// Calls in flight at a time on a connection, and what carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) calls: u64,
    pub(crate) carrier: Carrier,
}

/// One call at a time.
pub(crate) const ALONE: Load = Load { calls: 1, carrier: Carrier::Roce };
const CROWDS: [Load; 2] = [Load { calls: 16, carrier: Carrier::Roce }, Load { calls: 16, carrier: Carrier::Iwarp }];

/// Rows without a twin, each with its reason.
const WITHOUT_TWIN: [(&str, &str); 58] = [
    ("healthy: NFSv3", RECORDED_HEALTHY),
    ("healthy: NFSv3 over IPv6", RECORDED_HEALTHY),
    ("healthy: NFSv4.0", RECORDED_HEALTHY),
    ("healthy: NFSv4.1", RECORDED_HEALTHY),
    ("healthy: NFSv4.2, large packets", RECORDED_HEALTHY),
    ("healthy: krb5", RECORDED_HEALTHY),
    ("healthy: krb5i", RECORDED_HEALTHY),
    ("healthy: iWARP", RECORDED_HEALTHY),
    ("healthy: idle", "a mount without calls"),
    ("server ends connections", RETRIED),
    ("few slots", SESSIONS),
    ("few slots, iWARP", SESSIONS),
    ("no callback path, file system moved", SESSIONS),
    ("no callback path, file system moved, iWARP", SESSIONS),
    ("server ends connections, iWARP", RETRIED),
    ("one slow server", ONE_OF_MANY),
    ("one slow client", ONE_OF_MANY),
    ("refused until a delegation is returned", PROMISE),
    ("grace period", PROMISE),
    ("grace period, two clients", PROMISE),
    ("delayed", PROMISE),
    ("delayed, another file", PROMISE),
    ("COPY without an end", PROMISE),
    ("COPY without an end, back channel", PROMISE),
    ("locked", PROMISE),
    ("locked for long", PROMISE),
    ("no NFS", NO_CALL),
    ("no RDMA", NO_CALL),
    ("server down", NO_CALL),
    ("server refuses", NO_CALL),
    ("server not there", NO_CALL),
    ("another service", NO_CALL),
    ("another service, not there", NO_CALL),
    ("server down, iWARP", NO_CALL),
    ("server not there, iWARP", NO_CALL),
    ("two clocks", CLOCKS),
    ("two clocks, far apart", CLOCKS),
    ("two clocks, iWARP", CLOCKS),
    ("two clocks and loss", CLOCKS),
    ("hangs in the lab", "a recording of three hangs: 'stuck server', 'link down' and 'client gone' have twins"),
    ("loss, few", RECORDED_LOSS),
    ("loss, iWARP", RECORDED_LOSS),
    ("loss, NFSv3 over iWARP", RECORDED_LOSS),
    ("slow server", "a recording: 'slow server, one call' and 'slow server, most calls' have twins"),
    ("slow network", "a recording: 'distant server' has a twin"),
    ("slow network, iWARP", "a recording: 'distant server' has a twin"),
    ("client's data pauses", DATA),
    ("server's data pauses", DATA),
    ("congestion notifications", DATA),
    ("packets marked by a switch", DATA),
    ("client's window closed", DATA),
    ("server's window closed", DATA),
    ("full link, READ", DATA),
    ("full link, WRITE", DATA),
    ("one credit", "with one credit, one call is in flight"),
    ("bad server", ONE_MESSAGE),
    ("bad client", ONE_MESSAGE),
    ("withdrawn memory", ONE_MESSAGE),
];
const PROMISE: &str = "a wait of several RPCs, one after another; `promises.rs` has sixteen in flight";
const CLOCKS: &str = "`simulation/clocks.rs` has two clocks with 1 to 64 calls in flight";
const DATA: &str = "`slow_transfer.rs` has the row and its twin, each with its truth";
const RECORDED_HEALTHY: &str = "a recording: 'healthy: busy' has a twin";
const RECORDED_LOSS: &str = "a recording: 'loss' has a twin";
const SESSIONS: &str = "calls of two sessions are in flight at a time, over RoCE and iWARP";
const RETRIED: &str =
    "five calls are in flight when the connection ends; `tries` has more of these, over both carriers";
const ONE_OF_MANY: &str = "calls of many connections are in flight at the same time: `outliers.rs`";
const NO_CALL: &str = "a capture without calls";
const ONE_MESSAGE: &str =
    "a recording of messages that break rules, which are judged one by one: `check` has each rule with its twin";

/// Rows that InfiniBand alone can have, each with its reason.
const NOT_OVER_TCP: [(&str, &str); 9] = [
    ("wrong checksums", "a host drops a segment with a wrong checksum, and TCP has no ICRC"),
    ("wrong checksums for long", "a host drops a segment with a wrong checksum, and TCP has no ICRC"),
    ("no Receive for a reply", NO_REFUSAL),
    ("no Receive for a reply, server gave up", NO_REFUSAL),
    ("server stopped, and refuses", "TCP has no reason but that nothing listens"),
    ("no Receives", NO_REFUSAL),
    ("few Receives", NO_REFUSAL),
    ("four Receives for eight calls", NO_REFUSAL),
    ("Send too long", "an RNIC says that with Terminate, which `iwarp.rs` tests"),
];
const NO_REFUSAL: &str = "TCP has no RNR NAK";

/// Items in an order in which the oldest is not always first.
pub(crate) fn another_order<T: Clone>(items: &[T]) -> Vec<T> {
    (0..items.len()).map(|place| items[place * 5 % items.len()].clone()).collect()
}

/// The items in even places, and the others.
pub(crate) fn every_other<T>(items: Vec<T>) -> (Vec<T>, Vec<T>) {
    let (even, odd): (Vec<_>, Vec<_>) = items.into_iter().enumerate().partition(|(place, _)| place % 2 == 0);
    let items = |places: Vec<(usize, T)>| places.into_iter().map(|(_, item)| item).collect();
    (items(even), items(odd))
}

/// The first half of some items, and the others. Of one, the first half is empty.
pub(crate) fn halves<T>(mut items: Vec<T>) -> (Vec<T>, Vec<T>) {
    let rest = items.split_off(items.len() / 2);
    (items, rest)
}

/// A Read request of the server: the number of its first packet, or its sink.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRequest(pub(crate) u32);

/// An iWARP connection that gives its packets one by one.
pub(crate) struct Stream {
    trace: Iwarp,
    /// Last octet of the client's address.
    client: u8,
    /// The octet that an end waits for, if it lacks some that the other end sent.
    missing: [Option<u32>; 2],
    /// Sends of each end, and Read requests of the server.
    sends: [u32; 2],
    reads: u32,
}

impl Stream {
    /// A connection of which the ends announce this private data, and the packets of its setup.
    pub(crate) fn new(client: u8, private_data: [&[u8]; 2]) -> (Self, Vec<(u64, Packet)>) {
        let trace = Iwarp { packets: Vec::new(), next: [999, 4999], identification: 1 };
        let mut stream = Self { trace, client, missing: [None; 2], sends: [0; 2], reads: 0 };
        let packets = stream.set_up(private_data);
        (stream, packets)
    }

    /// The packets of the setup of another connection between the same ports, after this one.
    pub(crate) fn connect_again(&mut self, private_data: [&[u8]; 2]) -> Vec<(u64, Packet)> {
        self.trace.next.iter_mut().for_each(|next| *next += 70_000);
        (self.missing, self.sends, self.reads) = ([None; 2], [0; 2], 0);
        self.set_up(private_data)
    }

    fn set_up(&mut self, private_data: [&[u8]; 2]) -> Vec<(u64, Packet)> {
        let trace = &mut self.trace;
        trace.segment(0, CLIENT, 0, tcp::SYN, &[]);
        trace.next[CLIENT] += 1;
        trace.segment(10, SERVER, 0, tcp::SYN | tcp::ACK, &[]);
        trace.next[SERVER] += 1;
        for (end, key) in [b"MPA ID Req Frame", b"MPA ID Rep Frame"].into_iter().enumerate() {
            let length = private_data[end].len() as u8;
            trace.send(20 + 10 * end as u64, end, &[&key[..], &[0, 1, 0, length], private_data[end]].concat());
        }
        let times: Vec<u64> = self.trace.packets.iter().map(|(time, _)| *time).collect();
        let mut packets: Vec<_> = times.into_iter().rev().map(|time| (time, self.last_packet())).collect();
        packets.reverse();
        packets
    }

    /// The last packet.
    fn last_packet(&mut self) -> Packet {
        let (_, mut packet) = self.trace.packets.pop().unwrap();
        let client = if packet[15] == 1 { 15 } else { 19 };
        packet[client] = self.client;
        if let Some(missing) = self.missing[if client == 15 { CLIENT } else { SERVER }] {
            packet[28..32].copy_from_slice(&missing.to_be_bytes());
        }
        packet
    }

    fn segment(&mut self, by: By, octets: &[u8]) -> Packet {
        self.trace.send(0, end_index(by), octets);
        self.last_packet()
    }

    pub(crate) fn send(&mut self, by: By, data: &[u8]) -> Packet {
        self.sends[end_index(by)] += 1;
        let number = self.sends[end_index(by)];
        self.segment(by, &tcp::fpdu(number, data))
    }

    pub(crate) fn write(&mut self, by: By, handle: u32, data: &[u8]) -> Packet {
        self.segment(by, &tcp::tagged((tcp::WRITE, true), (handle, 0), data))
    }

    pub(crate) fn read_request(&mut self, by: By, handle: u32, length: u32) -> (Packet, ReadRequest) {
        self.reads += 1;
        let sink = 0x9000_0000 | handle;
        let request = [words(&[sink, 0, 0, length, handle]), vec![0; 8]].concat();
        (self.segment(by, &tcp::untagged((tcp::READ_REQUEST, true), (1, self.reads, 0), &request)), ReadRequest(sink))
    }

    pub(crate) fn read_response(&mut self, by: By, request: ReadRequest, data: &[u8]) -> Packet {
        self.segment(by, &tcp::tagged((tcp::READ_RESPONSE, true), (request.0, 0), data))
    }

    /// An end acknowledges all but these packets of the other.
    pub(crate) fn acknowledge(&mut self, by: By, missing: &[Packet]) -> Packet {
        let octets: u32 = missing.iter().map(|packet| packet.len() as u32 - 40).sum();
        self.missing[end_index(by)] = (octets > 0).then(|| self.trace.next[1 - end_index(by)] - octets);
        self.trace.acknowledge(0, end_index(by), octets);
        self.last_packet()
    }

    pub(crate) fn reset(&mut self, by: By) -> Packet {
        self.trace.segment(0, end_index(by), 0, tcp::RST | tcp::ACK, &[]);
        self.last_packet()
    }

    /// A request for another connection.
    pub(crate) fn syn(&mut self) -> Packet {
        self.trace.next[CLIENT] += 70_000;
        self.trace.segment(0, CLIENT, 0, tcp::SYN, &[]);
        self.last_packet()
    }

    /// The answer to it of a host on which nothing listens.
    pub(crate) fn refusal(&mut self) -> Packet {
        self.trace.next[SERVER] = 0;
        self.trace.next[CLIENT] += 1;
        self.reset(By::Server)
    }
}

fn end_index(by: By) -> usize {
    if by == Client { CLIENT } else { SERVER }
}

/// Gives each TCP segment an identification of its own, and the acknowledgement that its sender had sent before, if that is higher.
pub(crate) fn finish_streams(packets: &mut [(u64, Packet)]) {
    const RST_OR_SYN: u8 = 0x06;
    let mut acknowledged: BTreeMap<[u8; 2], u32> = BTreeMap::new();
    let segments = packets.iter_mut().filter(|(_, packet)| packet.len() >= 40 && packet[9] == 6);
    for ((_, packet), identification) in segments.zip(1_u16..) {
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        if packet[33] & RST_OR_SYN == 0 {
            let latest = acknowledged.entry([packet[15], packet[19]]).or_default();
            *latest = u32::from_be_bytes(packet[28..32].try_into().unwrap()).max(*latest);
            packet[28..32].copy_from_slice(&latest.to_be_bytes());
        }
    }
}

/// RPCs as they happened, noted while the packets were made. Times are in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    rpcs: BTreeMap<u32, TrueRpc>,
    /// Ends of connections.
    pub(crate) ended: Vec<u64>,
    /// True if the time that the cause took is not noted.
    pub(crate) is_untimed: bool,
}

#[derive(Clone, Copy, Debug)]
struct TrueRpc {
    wire: usize,
    /// Place of the call among the packets that were made.
    packet: usize,
    called: u64,
    answered: Option<u64>,
    blamed: Option<Blame>,
}

/// Time of an RPC that the cause took.
#[derive(Clone, Copy, Debug)]
enum Blame {
    Microseconds(u64),
    /// From the call until nobody waits any more.
    Rest,
}

impl Truth {
    /// The call is the packet that will be made at this place.
    pub(crate) fn call(&mut self, wire: usize, xid: u32, called: u64, packet: usize) {
        self.rpcs.insert(xid, TrueRpc { wire, packet, called, answered: None, blamed: None });
    }

    pub(crate) fn answer(&mut self, xid: u32, time: u64) {
        if let Some(rpc) = self.rpcs.get_mut(&xid) {
            rpc.answered = Some(time);
        }
    }

    /// The cause took so many microseconds of an RPC.
    pub(crate) fn blame(&mut self, xid: u32, microseconds: u64) {
        self.rpcs.get_mut(&xid).unwrap().blamed = Some(Blame::Microseconds(microseconds));
    }

    /// The cause took the time from the call of an RPC to this one.
    pub(crate) fn blame_until(&mut self, xid: u32, time: u64) {
        self.blame(xid, time - self.rpcs[&xid].called);
    }

    /// Calls that are not answered because of the cause.
    pub(crate) fn blame_rest(&mut self, xids: &[u32]) {
        xids.iter().for_each(|xid| self.rpcs.get_mut(xid).unwrap().blamed = Some(Blame::Rest));
    }

    /// Content of a capture of the packets in this order, which ends at the time `last`.
    pub(crate) fn captured_content(&self, order: &[usize], last: u64) -> Known {
        let ended = |rpc: &TrueRpc| self.ended.iter().copied().find(|ended| *ended >= rpc.called);
        let until = |rpc: &TrueRpc| rpc.answered.or_else(|| ended(rpc)).unwrap_or(last);
        let mut known = Known { is_untimed: self.is_untimed, ..Known::default() };
        for rpc in self.rpcs.values() {
            let waited = until(rpc).checked_sub(rpc.called).unwrap_or_else(|| panic!("{rpc:?}"));
            known.waiting_ns += waited * 1000;
            let Some(blame) = rpc.blamed else { continue };
            known.blamed_ns += 1000 * if let Blame::Microseconds(time) = blame { time } else { waited };
            known.frames.extend(order.iter().position(|place| *place == rpc.packet).map(|place| place as u64 + 1));
        }
        let in_flight = |wire: usize, time: u64| {
            let rpcs = self.rpcs.values().filter(|rpc| rpc.wire == wire);
            rpcs.filter(|rpc| rpc.called <= time && time < until(rpc)).count()
        };
        known.in_flight = self.rpcs.values().map(|rpc| in_flight(rpc.wire, rpc.called)).max().unwrap_or_default();
        known
    }
}

/// The truth about a capture: RPCs that the cause fell on, by the frames of their calls, and times.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) frames: BTreeSet<u64>,
    blamed_ns: u64,
    /// Waiting time of all RPCs.
    waiting_ns: u64,
    is_untimed: bool,
    /// The most calls that waited at a time on a connection.
    in_flight: usize,
}

/// A capture, with its truth if it was noted.
pub(crate) struct Made {
    pub(crate) frames: Vec<Record>,
    pub(crate) known: Option<Known>,
}

impl From<Vec<Record>> for Made {
    fn from(frames: Vec<Record>) -> Self {
        Self { frames, known: None }
    }
}

/// The owner of a cause; `None` if either end may be.
fn owner(cause: &str) -> Option<&'static str> {
    Some(match cause {
        "server-silent"
        | "server-slow"
        | "server-not-listening"
        | "connection-refused"
        | "receiver-not-ready"
        | "credits"
        | "slots"
        | "errors"
        | "server-grace"
        | "refused-for-now"
        | "copy-unfinished" => "server",
        "lock-held" => return None,
        "client-silent" | "client-slow" | "reply-refused" | "wrong-checksum" | "delegation-recall" => "client",
        "server-unreachable" | "client-unreachable" | "connect-unanswered" | "loss" | "distance" => "network",
        "protocol" | "small-sends" | "flapping" | "session-status" => return None,
        _ => "capture",
    })
}

/// Returns true if a time is within a hundredth of the truth.
fn is_near(time: u64, truth: u64) -> bool {
    time.abs_diff(truth) <= truth / 100
}

/// Mistakes in what is said of the RPCs of a cause.
fn mistakes(cause: &DiagnosedCause, diagnosis: &Diagnosis, known: &Known) -> Vec<String> {
    let mut wrong = Vec::new();
    let rpcs = known.frames.len() as u64;
    if cause.rpcs != Some(rpcs) {
        wrong.push(format!("{:?} RPCs, not {rpcs}", cause.rpcs));
    }
    let frames: BTreeSet<u64> = cause.frames.iter().copied().collect();
    if !frames.is_subset(&known.frames) || frames.len() != known.frames.len().min(8) {
        wrong.push(format!("frames {frames:?}, not of {:?}", known.frames));
    }
    let (Some(waited), false) = (cause.waiting_ns, known.is_untimed) else { return wrong };
    if !is_near(waited, known.blamed_ns) {
        wrong.push(format!("{waited} ns, not {}", known.blamed_ns));
    }
    if !is_near(diagnosis.waiting_ns, known.waiting_ns) {
        wrong.push(format!("{} ns of all RPCs, not {}", diagnosis.waiting_ns, known.waiting_ns));
    }
    let share = known.blamed_ns as f64 / known.waiting_ns as f64;
    if cause.share.is_none_or(|found| (found - share).abs() > 0.02) {
        wrong.push(format!("{:?} of the waiting time, not {share}", cause.share));
    }
    wrong
}

#[test]
fn each_row_has_its_truth_with_sixteen_calls_in_flight() {
    let mut wrong = Vec::new();
    for row in rows() {
        let is_in = |list: &[(&str, &str)]| list.iter().any(|(name, _)| *name == row.name);
        if is_in(&WITHOUT_TWIN) {
            continue;
        }
        let crowds = CROWDS.iter().filter(|load| load.carrier == Carrier::Roce || !is_in(&NOT_OVER_TCP));
        let alone = (row.made)(ALONE);
        for load in [ALONE].iter().chain(crowds) {
            let Made { frames, known } = (row.made)(*load);
            let mut said = Vec::new();
            // A row that does not heed the load has no twin.
            if *load != ALONE && (frames == alone.frames || known.as_ref().is_some_and(|known| known.in_flight < 16)) {
                said.push(format!("no twin: {:?} in flight", known.as_ref().map(|known| known.in_flight)));
            }
            let diagnosis = diagnose(&frames);
            if causes(&diagnosis) != row.causes {
                said.push(format!("not {:?}", row.causes));
            }
            for cause in &diagnosis.causes {
                if owner(cause.cause).is_some_and(|owner| cause.owner != Some(owner)) {
                    said.push(format!("{} of {:?}", cause.cause, cause.owner));
                }
            }
            let of_rpcs = diagnosis.causes.iter().find(|cause| {
                ![
                    "protocol",
                    "small-sends",
                    "credits",
                    "server-not-listening",
                    "connection-refused",
                    "connect-unanswered",
                    "flapping",
                ]
                .contains(&cause.cause)
            });
            if let (Some(cause), Some(known)) = (of_rpcs, &known) {
                said.extend(mistakes(cause, &diagnosis, known));
            }
            if !said.is_empty() {
                wrong.push(format!("{}, {load:?}: {}\n{}", row.name, said.join("; "), text(&diagnosis)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_exception_is_a_row() {
    let names: BTreeSet<_> = rows().into_iter().map(|row| row.name).collect();
    let exceptions = WITHOUT_TWIN.iter().chain(&NOT_OVER_TCP).map(|(name, _)| *name);
    let unknown: Vec<_> = exceptions.filter(|name| !names.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
