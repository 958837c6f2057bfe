//! Data of WRITEs and READs that comes slowly by RDMA, and who or what holds it up.

use rpcrdma_answers::diagnosis::DiagnosedCause;

use crate::diagnosis::{MILLISECOND, SECOND, Scene, causes, diagnose, text};
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::Packet;
use crate::synthetic::rpc::{
    Lists, MSG, WRITE3_POSITION, message, null, octets, read3, reply, words, write3, write3_reply,
};
use crate::synthetic::tcp::{self, CLIENT, Iwarp, SERVER};
use crate::transcode::{self, Record};

/// WRITEs or READs, and how their data comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfers {
    /// Sender of the data: the client, which answers RDMA Reads, or the server, which writes.
    pub(crate) by: By,
    /// Times that RPCs are in flight, and how many each time.
    pub(crate) rounds: u64,
    pub(crate) in_flight: u32,
    pub(crate) length: u32,
    /// Microseconds from a call (READ) or from the request for data (WRITE) to the first packet of data in the round.
    pub(crate) first: u64,
    /// Microseconds from a packet of data to the next, for 1,024 octets.
    pub(crate) each: u64,
    /// Microseconds for which the sender pauses in the middle of the data of each RPC.
    pub(crate) pause: u64,
    /// Sign of congestion in the middle of the data of each RPC.
    pub(crate) sign: Option<CongestionSign>,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CongestionSign {
    /// A congestion notification (CNP) to the sender of the data.
    Notification,
    /// The same to another queue pair.
    OtherNotification,
    /// A packet of data that a switch marked.
    Mark,
    /// A frame that pauses a priority, or lets it go on.
    Pause(u16),
}

impl Transfers {
    /// Twenty RPCs of 64 KiB one after the other, at 1 GB/s.
    pub(crate) const fn by(by: By) -> Self {
        Self { by, rounds: 20, in_flight: 1, length: 64 * 1024, first: 100, each: 1, pause: 0, sign: None }
    }

    /// The sender pauses for 50 ms in the middle of the data of each.
    pub(crate) const fn paused(self) -> Self {
        Self { pause: 50 * MILLISECOND, ..self }
    }

    /// The same with 16 RPCs in flight.
    pub(crate) const fn crowded(self) -> Self {
        Self { rounds: 2, in_flight: 16, ..self }
    }

    /// The sender pauses, and a sign of congestion comes.
    pub(crate) const fn congested(self, sign: CongestionSign) -> Self {
        Self { sign: Some(sign), ..self.paused() }
    }

    /// Sixteen RPCs share a link of 20 MB/s.
    pub(crate) const fn sharing(self) -> Self {
        Self { each: 50, rounds: 4, ..self.crowded() }
    }

    /// The capture, after half a second of healthy RPCs.
    pub(crate) fn records(self) -> Vec<Record> {
        let mut scene = Scene::healthy();
        self.add_to(&mut scene, SECOND);
        scene.records()
    }

    /// Adds the RPCs from a time on. Returns the time after the last.
    fn add_to(self, scene: &mut Scene, mut time: u64) -> u64 {
        for _ in 0..self.rounds {
            time = match self.by {
                Client => self.writes(scene, time),
                Server => self.reads(scene, time),
            } + MILLISECOND;
        }
        time
    }

    /// Adds the packets of data of one RPC. Returns the time after the last.
    fn data(self, scene: &mut Scene, from: u64, packets: &[Packet]) -> u64 {
        let mut time = from;
        for (index, packet) in packets.iter().enumerate() {
            let mut packet = packet.clone();
            if index == packets.len() / 2 {
                match self.sign {
                    Some(CongestionSign::Mark) => packet[1] |= 3,
                    Some(sign) => {
                        let packet = self.notification(scene, sign);
                        scene.at(time, &[packet]);
                    }
                    None => {}
                }
                time += self.pause;
            }
            scene.at(time, &[packet]);
            time += self.each;
        }
        time
    }

    /// The packet of a sign of congestion.
    fn notification(self, scene: &mut Scene, sign: CongestionSign) -> Packet {
        let receiver = if self.by == Client { Server } else { Client };
        let mut packet = scene.wires[0].packet(receiver, 0x81, 0, &[0; 16], &[]);
        match sign {
            // The queue pair is behind the headers of IPv4 and UDP.
            CongestionSign::OtherNotification => packet[28 + 7] ^= 0x40,
            CongestionSign::Pause(quanta) => {
                packet =
                    [&[0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 1, 1, 0, 1 << 3][..], &[0; 6]].concat();
                packet.extend(quanta.to_be_bytes());
                packet.resize(60, 0);
            }
            CongestionSign::Notification | CongestionSign::Mark => {}
        }
        packet
    }

    /// WRITEs whose data the server reads.
    fn writes(self, scene: &mut Scene, time: u64) -> u64 {
        let (data, length) = (octets(7, self.length as usize), self.length);
        let xids: Vec<u32> = (0..self.in_flight).map(|_| scene.next_xid()).collect();
        for (at, xid) in (time..).zip(&xids) {
            let lists = Lists::reads(&[(WRITE3_POSITION, (*xid, 0, length))]);
            let call = scene.send(0, Client, &message(MSG, *xid, &lists, &write3(*xid, length)));
            scene.at(at, &call);
        }
        scene.acknowledge(0, Server, time + 50);
        let mut answers = Vec::new();
        for (at, xid) in (time + 100..).zip(&xids) {
            let number = scene.wires[0].server.next;
            let request = scene.wires[0].read_request(Server, (*xid, 0), data.len());
            scene.at(at, &[request]);
            answers.push((*xid, number));
        }
        let mut time = time + 100 + self.first;
        for (xid, number) in answers {
            let responses = scene.wires[0].read_responses(Client, number, &data);
            time = self.data(scene, time, &responses);
            let answer = scene.send(0, Server, &message(MSG, xid, &Lists::default(), &write3_reply(xid, length)));
            scene.at(time + 20, &answer);
            scene.acknowledge(0, Client, time + 25);
        }
        time + 100
    }

    /// READs whose data the server writes.
    fn reads(self, scene: &mut Scene, time: u64) -> u64 {
        let (data, length) = (octets(7, self.length as usize), self.length);
        let list = |xid: u32| Lists::writes(&[&[(xid, 0, length)]]);
        let xids: Vec<u32> = (0..self.in_flight).map(|_| scene.next_xid()).collect();
        for (at, xid) in (time..).zip(&xids) {
            let call = scene.send(0, Client, &message(MSG, *xid, &list(*xid), &read3(*xid, length)));
            scene.at(at, &call);
        }
        scene.acknowledge(0, Server, time + 50);
        let mut time = time + self.first;
        for xid in xids {
            let written = scene.wires[0].write(Server, (xid, 0), &data);
            time = self.data(scene, time, &written);
            let results = reply(xid, &words(&[0, 0, length, 1, length]));
            let answer = scene.send(0, Server, &message(MSG, xid, &list(xid), &results));
            scene.at(time, &answer);
            scene.acknowledge(0, Client, time + 5);
            time += 1;
        }
        time + 100
    }
}

/// The only cause of a capture.
fn only_cause(frames: &[Record]) -> DiagnosedCause {
    let diagnosis = diagnose(frames);
    assert_eq!(diagnosis.causes.len(), 1, "{}", text(&diagnosis));
    diagnosis.causes.into_iter().next().unwrap()
}

/// The end whose adapter sends the data is named, with the time for which it paused.
#[test]
fn pauses_are_of_the_end_that_sends_the_data() {
    for (by, owner, address) in [(Client, "client", "192.0.2.10"), (Server, "server", "192.0.2.2")] {
        let one = Transfers::by(by).paused();
        for (transfers, rpcs, pauses) in [(one, 20, 20), (one.crowded(), 32, 2 * (1..=16).sum::<u64>())] {
            let cause = only_cause(&transfers.records());
            assert_eq!((cause.cause, cause.owner), ("slow-transfer", Some(owner)), "{transfers:?}");
            assert_eq!((cause.owner_address.as_deref(), cause.rpcs), (Some(address), Some(rpcs)), "{transfers:?}");
            let (paused, expected) = (cause.waiting_ns.unwrap(), pauses * 50_000_000);
            assert!((expected - expected / 100..=expected).contains(&paused), "{paused}, not {expected} {transfers:?}");
        }
    }
}

/// The packets that follow the pauses are missing from the capture.
#[test]
fn a_gap_in_the_capture_is_no_pause() {
    for by in [Client, Server] {
        for transfers in [Transfers::by(by).paused(), Transfers::by(by).paused().crowded()] {
            let mut frames = transfers.records();
            // Of the data, each packet after the pause that is not the last.
            let is_data = |record: &Record| record.length > 1000;
            let mut since = 0;
            frames.retain(|record| {
                let is_after = is_data(record) && record.time_ns.saturating_sub(since) > 40_000_000;
                since = if is_data(record) { record.time_ns } else { since };
                !is_after
            });
            let found = causes(&diagnose(&frames));
            assert!(!found.contains(&"slow-transfer"), "{transfers:?} {found:?}");
        }
    }
}

/// Whatever else a capture lacks, no cause is found that the whole capture has not.
#[test]
fn a_capture_that_lacks_packets_has_no_other_cause() {
    for by in [Client, Server] {
        for (frames, cause) in [
            (Transfers::by(by).paused().crowded().records(), "slow-transfer"),
            (Transfers::by(by).congested(CongestionSign::Mark).crowded().records(), "congestion"),
            (Transfers::by(by).sharing().records(), "link-full"),
            (IwarpTransfers::by(by, true).crowded().records(), "window"),
        ] {
            for per_mille in [2, 20, 200] {
                let diagnosis = diagnose(&transcode::dropping(&frames, 7, per_mille));
                let others =
                    diagnosis.causes.iter().filter(|found| found.owner != Some("capture") && found.cause != cause);
                assert_eq!(others.count(), 0, "{by:?} {per_mille}\n{}", text(&diagnosis));
            }
        }
    }
}

/// One pause is no cause, unless it is very long.
#[test]
fn one_short_pause_is_no_cause() {
    for by in [Client, Server] {
        let once = Transfers { rounds: 1, ..Transfers::by(by).paused() };
        assert_eq!(causes(&diagnose(&once.records())), [""; 0]);
        let long = Transfers { pause: 600 * MILLISECOND, ..once };
        assert_eq!(only_cause(&long.records()).cause, "slow-transfer");
    }
}

/// Data of a slow link comes evenly: no end is blamed for it if nothing else shares the link.
#[test]
fn a_steady_rate_is_no_pause() {
    for by in [Client, Server] {
        let slow = Transfers { each: 25, length: 1 << 20, ..Transfers::by(by) };
        let diagnosis = diagnose(&slow.records());
        assert_eq!(causes(&diagnosis), [""; 0], "{}", text(&diagnosis));
    }
}

/// An end that begins late is the one that was slow: nothing of the data was on its way.
#[test]
fn data_that_begins_late_is_no_pause() {
    for (by, expected) in [(Client, "client-slow"), (Server, "server-slow")] {
        for transfers in [Transfers::by(by), Transfers { rounds: 20, ..Transfers::by(by).crowded() }] {
            let late = Transfers { first: 50 * MILLISECOND, ..transfers };
            assert_eq!(only_cause(&late.records()).cause, expected, "{late:?}");
        }
    }
}

/// The network is to blame, not the sender, if signs of congestion come; a sign for another connection, or that lets a port go on, is none.
#[test]
fn pauses_with_signs_of_congestion_are_of_the_network() {
    use CongestionSign::{Mark, Notification, OtherNotification, Pause};
    for by in [Client, Server] {
        for (sign, words) in [
            (Notification, Some("congestion notifications (CNP)")),
            (Mark, Some("packets that a switch marked (CE)")),
            (Pause(0xffff), Some("pauses of a port (PFC)")),
            (OtherNotification, None),
            (Pause(0), None),
        ] {
            let one = Transfers::by(by).congested(sign);
            for transfers in [one, one.crowded()] {
                let mut frames = transfers.records();
                let frames_of_ethernet = frames.iter_mut().filter(|frame| frame.data.starts_with(&[0x01, 0x80, 0xc2]));
                frames_of_ethernet.for_each(|frame| frame.link = 1);
                let cause = only_cause(&frames);
                let expected =
                    if words.is_some() { ("congestion", Some("network")) } else { ("slow-transfer", cause.owner) };
                assert_eq!((cause.cause, cause.owner), expected, "{transfers:?}");
                assert!(cause.evidence[0].contains(words.unwrap_or("paused")), "{:?}", cause.evidence);
            }
        }
    }
}

/// READs 70 times slower than before, as an adapter sends that congestion notifications slow down: no packet is far from the next.
#[test]
fn a_rate_that_notifications_bring_down_is_congestion() {
    for by in [Client, Server] {
        let fast = Transfers { length: 512 * 1024, ..Transfers::by(by) };
        let slow = Transfers { each: 70, sign: Some(CongestionSign::Notification), ..fast };
        let mut scene = Scene::healthy();
        let time = fast.add_to(&mut scene, SECOND);
        slow.add_to(&mut scene, time);
        let cause = only_cause(&scene.records());
        assert_eq!((cause.cause, cause.owner, cause.rpcs), ("congestion", Some("network"), Some(20)));
        let (slower, expected) = (cause.waiting_ns.unwrap(), 20 * 512 * 69_000);
        assert!((expected - expected / 50..=expected).contains(&slower), "{slower}, not {expected}");
    }
}

/// The end that sends as fast as the link allows is not slow.
#[test]
fn a_full_link_is_shared() {
    for by in [Client, Server] {
        let cause = only_cause(&Transfers::by(by).sharing().records());
        assert_eq!((cause.cause, cause.owner), ("link-full", Some("network")));
        // Of sixteen RPCs, those that waited 20 ms or more for the data of others.
        assert!(matches!(cause.rpcs, Some(32..=44)), "{:?}", cause.rpcs);
    }
}

/// A server that reads one file after the other from a slow disk, and sends each at the rate of the link, is the one that is slow.
#[test]
fn a_slow_disk_is_no_full_link() {
    let mut scene = Scene::healthy();
    let reads = Transfers { rounds: 4, ..Transfers::by(Server).crowded() };
    reads.add_to(&mut scene, SECOND);
    let mut frames = scene.records();
    // Each READ comes 5 ms after the one before.
    let mut late = 0;
    for record in &mut frames {
        let is_first = record.data.get(28).is_some_and(|opcode| *opcode == 0x06);
        late += if is_first { 5_000_000 } else { 0 };
        record.time_ns += late;
    }
    let cause = only_cause(&frames);
    assert_eq!((cause.cause, cause.owner), ("server-slow", Some("server")));
}

/// The same over iWARP, where the receiver may close its window during the pause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IwarpTransfers {
    pub(crate) by: By,
    pub(crate) rounds: u64,
    pub(crate) in_flight: u32,
    pub(crate) is_closed: bool,
}

impl IwarpTransfers {
    /// Twenty RPCs of 32 KiB one after the other, with a pause of 50 ms in the middle of the data of each.
    pub(crate) const fn by(by: By, is_closed: bool) -> Self {
        Self { by, rounds: 20, in_flight: 1, is_closed }
    }

    /// The same with 16 RPCs in flight.
    pub(crate) const fn crowded(self) -> Self {
        Self { rounds: 2, in_flight: 16, ..self }
    }

    pub(crate) fn records(self) -> Vec<Record> {
        const LENGTH: u32 = 32 * 1024;
        const SINK: u32 = 0x9000;
        let mut trace = Iwarp::default();
        let (mut sends, mut reads, mut xid) = ([0; 2], 0, 0);
        let mut fpdu = |by: usize, message: Vec<u8>| {
            sends[by] += 1;
            tcp::fpdu(sends[by], &message)
        };
        trace.send(100, CLIENT, &fpdu(CLIENT, message(MSG, u32::MAX, &Lists::default(), &null(u32::MAX))));
        trace.send(200, SERVER, &fpdu(SERVER, message(MSG, u32::MAX, &Lists::default(), &reply(u32::MAX, &[]))));
        let data = octets(7, LENGTH as usize);
        let (sender, opcode) = if self.by == Client { (CLIENT, tcp::READ_RESPONSE) } else { (SERVER, tcp::WRITE) };
        let mut time = SECOND;
        for _ in 0..self.rounds {
            let xids: Vec<u32> = (0..self.in_flight).map(|number| xid + number + 1).collect();
            xid += self.in_flight;
            let list = |xid: u32| match self.by {
                Client => Lists::reads(&[(WRITE3_POSITION, (xid, 0, LENGTH))]),
                Server => Lists::writes(&[&[(xid, 0, LENGTH)]]),
            };
            for xid in &xids {
                let payload = if self.by == Client { write3(*xid, LENGTH) } else { read3(*xid, LENGTH) };
                let call = fpdu(CLIENT, message(MSG, *xid, &list(*xid), &payload));
                trace.send(time, CLIENT, &call);
                time += 1;
            }
            trace.acknowledge(time + 10, SERVER, 0);
            time += 100;
            for xid in xids.iter().filter(|_| self.by == Client) {
                reads += 1;
                let request = [words(&[SINK | xid, 0, 0, LENGTH, *xid]), vec![0; 8]].concat();
                trace.send(time, SERVER, &tcp::untagged((tcp::READ_REQUEST, true), (1, reads, 0), &request));
                time += 1;
            }
            time += 100;
            for xid in xids {
                let handle = if self.by == Client { SINK | xid } else { xid };
                for (index, part) in data.chunks(1024).enumerate() {
                    if index == 16 {
                        self.pause(&mut trace, &mut time, 1 - sender);
                    }
                    let (offset, is_last) = (1024 * index as u64, index == 31);
                    trace.send(time, sender, &tcp::tagged((opcode, is_last), (handle, offset), part));
                    time += 1;
                }
                let answer = match self.by {
                    Client => message(MSG, xid, &Lists::default(), &write3_reply(xid, LENGTH)),
                    Server => message(MSG, xid, &list(xid), &reply(xid, &words(&[0, 0, LENGTH, 1, LENGTH]))),
                };
                let answer = fpdu(SERVER, answer);
                trace.send(time, SERVER, &answer);
                trace.acknowledge(time + 5, CLIENT, 0);
                time += 10;
            }
            time += MILLISECOND;
        }
        crate::in_flight::records(trace.packets)
    }

    /// The pause, in which the receiver may have no room.
    fn pause(self, trace: &mut Iwarp, time: &mut u64, receiver: usize) {
        trace.acknowledge(*time, receiver, 0);
        if self.is_closed {
            // The window is in octets 14 and 15 of the header behind that of IPv4.
            trace.packets.last_mut().unwrap().1[34..36].fill(0);
        }
        *time += 50 * MILLISECOND;
        trace.acknowledge(*time - 1, receiver, 0);
    }
}

/// A closed window is of its receiver; without one, a pause is of the sender.
#[test]
fn a_closed_window_is_of_the_receiver() {
    for (by, [receiver, sender]) in [(Client, ["server", "client"]), (Server, ["client", "server"])] {
        for (is_closed, expected) in [(true, ("window", Some(receiver))), (false, ("slow-transfer", Some(sender)))] {
            let one = IwarpTransfers::by(by, is_closed);
            for (transfers, rpcs) in [(one, 20), (one.crowded(), 32)] {
                let cause = only_cause(&transfers.records());
                assert_eq!((cause.cause, cause.owner), expected, "{transfers:?}");
                assert_eq!(cause.rpcs, Some(rpcs), "{transfers:?}");
            }
        }
    }
}
