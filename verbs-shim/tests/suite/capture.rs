//! The loopback's capture file, read by two dissectors: this project's, and tshark, which knows nothing of it.
//!
//! If tshark is not installed, the test that needs it says so and passes.

#[path = "../../../capture/tests/suite/synthetic/rpc.rs"]
#[allow(dead_code, unreachable_pub, reason = "it belongs to another package, and only a part is used")]
mod rpc;

use std::io::Write;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma_dissector::{Address, Recovered, Side};
use rpcrdma_verbs::loopback::{Adapter, Domain, Fabric, Fault, Faults, Injected, PathMtu, QueuePair, Region};
use rpcrdma_verbs::{Access, Depths, Local, Operation, Remote, Status, Verbs, Work};

use crate::dissected::{File, dissect};

const NOW: Duration = Duration::ZERO;
const ALL: Access = Access::all();
const ANNOUNCED: PrivateData = PrivateData { flags: Flags::REMOTE_INVALIDATION, send_size: 4096, receive_size: 8192 };

/// One side of a connection.
struct End {
    adapter: Adapter,
    domain: Domain,
    queue_pair: QueuePair,
}

impl End {
    fn new(adapter: Adapter, depths: Depths) -> Self {
        let domain = adapter.domain().unwrap();
        let queue_pair = adapter.queue_pair(&domain, depths).unwrap();
        Self { adapter, domain, queue_pair }
    }

    fn register(&self, octets: &[u8]) -> Region {
        self.adapter.register(&self.domain, octets.to_vec(), ALL).unwrap()
    }

    /// Handle, offset and length, as the helpers for RPCs take them.
    fn segment(&self, region: &Region) -> rpc::Segment {
        let segment = self.adapter.segment(region);
        (segment.handle, segment.offset, segment.length)
    }

    fn remote(&self, region: &Region) -> Remote {
        self.adapter.segment(region).into()
    }

    fn receive(&self, region: &Region) {
        let length = self.adapter.segment(region).length as usize;
        self.adapter.post_receive(&self.queue_pair, 0, Local::whole_region(region, length)).unwrap();
    }

    /// Posts work on the whole of a region, and returns how it ended.
    fn work(&self, operation: Operation, region: &Region) -> Status {
        let length = self.adapter.segment(region).length as usize;
        let work = Work::new(0, operation, Local::whole_region(region, length)).fenced();
        self.adapter.post(&self.queue_pair, work).unwrap();
        self.status()
    }

    fn status(&self) -> Status {
        self.adapter.completion(&self.queue_pair, NOW).unwrap().expect("a completion").status
    }

    /// Sends these octets to the other side.
    fn send(&self, to: &Self, octets: &[u8], invalidates: Option<u32>) {
        let inbox = to.register(&[0; 4096]);
        to.receive(&inbox);
        let operation = invalidates.map_or(Operation::Send, Operation::SendWithInvalidate);
        assert_eq!(self.work(operation, &self.register(octets)), Status::Success);
        assert_eq!(to.status(), Status::Success);
    }
}

fn address() -> SocketAddr {
    "192.0.2.2:20049".parse().unwrap()
}

/// A captured connection.
struct Lab {
    fabric: Fabric,
    file: File,
    client: End,
    server: End,
}

impl Lab {
    /// With the faults of the client's adapter, and those of the server's.
    fn with_faults(mtu: PathMtu, depths: Depths, [of_client, of_server]: [Faults; 2]) -> Self {
        let file = File::default();
        let fabric = Fabric::captured(file.clone(), mtu).unwrap();
        let client = fabric.adapter([192, 0, 2, 1].into()).unwrap().with_faults(of_client);
        let server = fabric.adapter([192, 0, 2, 2].into()).unwrap().with_faults(of_server);
        let (client, server) = (End::new(client, depths), End::new(server, Depths::default()));
        Self { fabric, file, client, server }
    }

    fn unconnected(mtu: PathMtu, depths: Depths, faults: Faults) -> Self {
        Self::with_faults(mtu, depths, [faults, Faults::none()])
    }

    fn new(mtu: PathMtu, depths: Depths, faults: Faults) -> Self {
        Self::unconnected(mtu, depths, faults).connected()
    }

    /// Connected, and either adapter follows a plan of faults.
    fn with_plans(plans: [Faults; 2]) -> Self {
        Self::with_faults(PathMtu::default(), Depths::default(), plans).connected()
    }

    fn connected(self) -> Self {
        let lab = self;
        let (client, server) = (&lab.client, &lab.server);
        let listener = server.adapter.listen(address(), 1).unwrap();
        client.adapter.connect(&client.queue_pair, address(), &ANNOUNCED.to_octets()).unwrap();
        let request = server.adapter.request(&listener, NOW).unwrap().unwrap();
        server.adapter.accept(request, &server.queue_pair, &ANNOUNCED.to_octets()).unwrap();
        client.adapter.connected(&client.queue_pair, NOW).unwrap().unwrap();
        lab
    }

    fn file(self) -> Vec<u8> {
        drop((self.client, self.server));
        let frames = self.fabric.end_capture().unwrap();
        let file = self.file.octets();
        assert_eq!(packets(&file).len() as u64, frames);
        file
    }
}

/// An NFSv3 READ and WRITE of this many octets, as a client and a server would do them: the file, and the Sends.
fn nfs(mtu: PathMtu, length: u32) -> (Vec<u8>, Vec<Vec<u8>>) {
    let lab = Lab::new(mtu, Depths::default(), Faults::none());
    let Lab { client, server, .. } = &lab;
    let data = server.register(&rpc::octets(1, length as usize));
    let sink = client.register(&vec![0; length as usize]);
    let offered = rpc::Lists::writes(&[&[client.segment(&sink)]]);
    let read = rpc::message(rpc::MSG, 1, &offered, &rpc::read3(1, length));
    client.send(server, &read, None);
    assert_eq!(server.work(Operation::Write(client.remote(&sink)), &data), Status::Success);
    let done = rpc::message(rpc::MSG, 1, &offered, &rpc::reply(1, &rpc::read3_results(length)));
    server.send(client, &done, Some(client.segment(&sink).0));

    let source = client.register(&rpc::octets(2, length as usize));
    let chunk = rpc::Lists::reads(&[(rpc::WRITE3_POSITION, client.segment(&source))]);
    let write = rpc::message(rpc::MSG, 2, &chunk, &rpc::write3(2, length));
    client.send(server, &write, None);
    assert_eq!(server.work(Operation::Read(client.remote(&source)), &data), Status::Success);
    let written = rpc::message(rpc::MSG, 2, &rpc::Lists::default(), &rpc::write3_reply(2, length));
    server.send(client, &written, None);
    client.adapter.disconnect(&client.queue_pair).unwrap();
    (lab.file(), vec![read, done, write, written])
}

/// A packet: last octet of the sender's address, opcode, whether it asks for an acknowledgement, number, extension and
/// data.
#[derive(Debug)]
struct Packet {
    from: u8,
    opcode: u8,
    asks: bool,
    number: u32,
    body: Vec<u8>,
}

/// The packets of a file, read by their layouts, without any code of the library.
fn packets(file: &[u8]) -> Vec<Packet> {
    let mut packets = Vec::new();
    let mut rest = &file[24..];
    let mut last = (0, 0);
    while !rest.is_empty() {
        let word = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().unwrap());
        assert!((word(0), word(4)) >= last, "times never go back");
        last = (word(0), word(4));
        let (frame, after) = rest[16..].split_at(word(8) as usize);
        rest = after;
        let number = u32::from_be_bytes(frame[50..54].try_into().unwrap()) & 0xff_ffff;
        let pad = usize::from(frame[43] >> 4 & 3);
        let body = frame[54..frame.len() - 4 - pad].to_vec();
        packets.push(Packet { from: frame[29], opcode: frame[42], asks: frame[50] & 0x80 != 0, number, body });
    }
    packets
}

#[test]
fn a_capture_has_all_messages_and_breaks_no_rule() {
    let mtus = [PathMtu::Octets256, PathMtu::Octets512, PathMtu::Octets1024, PathMtu::Octets2048, PathMtu::Octets4096];
    for (mtu, length) in mtus.into_iter().zip([1, 1023, 4096, 4099, 100_000]) {
        let (file, sent) = nfs(mtu, length);
        let found = dissect(&file);
        assert_eq!(found.slugs(), [""; 0], "{mtu:?}");
        let messages: Vec<&[u8]> = found.messages.iter().map(|message| message.octets.as_slice()).collect();
        assert_eq!(messages, sent);
        let [read, write] = &found.transactions[..] else { panic!("{}", found.transactions.len()) };
        assert_eq!((read.write_octets, write.read_octets), (u64::from(length), u64::from(length)));
        let rebuilt =
            |half: &Option<rpcrdma_dissector::Half>| half.as_ref().unwrap().message.as_ref().unwrap().octets().to_vec();
        assert!(rebuilt(&read.reply) == rpc::read3_reply(1, &rpc::octets(1, length as usize)), "the data of READ");
        let written = rpc::padded(&rpc::octets(2, length as usize));
        assert!(rebuilt(&write.call) == [rpc::write3(2, length), written].concat(), "the data of WRITE");
        // Only the first reply invalidates a handle.
        let invalidates = found.messages.iter().map(|message| message.invalidates.is_some());
        assert_eq!(invalidates.collect::<Vec<_>>(), [false, true, false, false]);
    }
}

#[test]
fn a_capture_is_complete_with_private_data() {
    let (file, _) = nfs(PathMtu::default(), 5000);
    let found = dissect(&file);
    let [report] = &found.reports[..] else { panic!("{}", found.reports.len()) };
    let connection = &report.connection;
    assert_eq!((connection.port(), connection.setup_captured, connection.paired), (Some(20049), true, true));
    assert_eq!(connection.said(Side::Active), Some(ANNOUNCED));
    assert_eq!(connection.said(Side::Passive), Some(ANNOUNCED));
    assert_eq!(report.unmatched_transfers, 0);
    for counts in [report.counts.active, report.counts.passive] {
        let wrong =
            [counts.retransmitted, counts.early, counts.failed, counts.not_ready, counts.missed, counts.unmatched];
        assert!(counts.packets > 0 && wrong == [0; 6], "{counts:?}");
    }
}

#[test]
fn packets_are_numbered_and_acknowledged_as_a_queue_pair_does() {
    let lab = Lab::new(PathMtu::Octets256, Depths::default(), Faults::none());
    let Lab { client, server, .. } = &lab;
    let (memory, inbox) = (client.register(&[1; 600]), client.register(&[0; 600]));
    client.receive(&inbox);
    let post = |id, operation, region, length| {
        server.adapter.post(&server.queue_pair, Work::new(id, operation, Local::whole_region(region, length))).unwrap();
    };
    let data = server.register(&[2; 600]);
    post(1, Operation::Write(client.remote(&memory)), &data, 600);
    post(2, Operation::Read(client.remote(&memory)), &data, 300);
    post(3, Operation::Send, &data, 5);
    for _ in 0..3 {
        assert_eq!(server.status(), Status::Success);
    }
    let file = lab.file();
    let all = packets(&file);
    let first = all[3].number;
    let seen: Vec<(u8, u8, bool, u32, usize)> = all[3..]
        .iter()
        .map(|packet| {
            (packet.from, packet.opcode, packet.asks, packet.number.wrapping_sub(first) & 0xff_ffff, packet.body.len())
        })
        .collect();
    let expected = [
        (2, 0x06, false, 0, 16 + 256),
        (2, 0x07, false, 1, 256),
        (2, 0x08, true, 2, 88),
        (1, 0x11, false, 2, 4),
        // A Read takes two packet numbers, because its response has two packets; later packets do not wait for it.
        (2, 0x0c, true, 3, 16),
        (2, 0x04, true, 5, 5),
        (1, 0x0d, false, 3, 4 + 256),
        (1, 0x0f, false, 4, 4 + 44),
        (1, 0x11, false, 5, 4),
    ];
    assert_eq!(seen[..expected.len()], expected);
    // Requests that were answered so far, in each AETH.
    let answered: Vec<&[u8]> =
        all[3..].iter().filter(|packet| matches!(packet.opcode, 0x0d..=0x11)).map(|packet| &packet.body[..4]).collect();
    assert_eq!(answered, [[0x1f, 0, 0, 1], [0x1f, 0, 0, 2], [0x1f, 0, 0, 2], [0x1f, 0, 0, 3]]);
    // Setup says where both sides begin; the client chooses the server's first number.
    let request = &all[0].body[8..];
    assert_eq!((request[17], u32::from_be_bytes(request[68..72].try_into().unwrap()) >> 8), (0x10, first));
    assert_eq!(request[32..40], [0, 0, 0, 0, 1, 6, 0x4e, 0x51]);
    let kinds: Vec<u8> = all.iter().filter(|packet| packet.opcode == 0x64).map(|packet| packet.body[8 + 17]).collect();
    assert_eq!(kinds, [0x10, 0x13, 0x14, 0x15, 0x16], "REQ, REP, RTU, DREQ, DREP");
}

#[test]
fn a_refusal_is_a_negative_acknowledgement() {
    let run = |work: &dyn Fn(&End, &End) -> Status, expected| {
        let lab = Lab::new(PathMtu::Octets256, Depths { receiver_not_ready: 1, ..Depths::default() }, Faults::none());
        assert_eq!(work(&lab.client, &lab.server), expected);
        let file = lab.file();
        let last = packets(&file).pop().unwrap();
        assert_eq!((last.from, last.opcode, &last.body[1..]), (2, 0x11, &[0, 0, 0][..]), "{expected}");
        (last.body[0], dissect(&file).reports.remove(0).counts.passive)
    };
    let nowhere = Remote { handle: 1, offset: 2 };
    let (code, counts) =
        run(&|client, _| client.work(Operation::Write(nowhere), &client.register(&[0; 600])), Status::RemoteAccess);
    assert_eq!((code, counts.failed, counts.refused.is_some()), (0x62, 1, true));
    let (code, counts) =
        run(&|client, _| client.work(Operation::Read(nowhere), &client.register(&[0; 600])), Status::RemoteAccess);
    assert_eq!((code, counts.failed, counts.refused.is_some()), (0x62, 1, true));
    let too_small = |client: &End, server: &End| {
        let inbox = server.register(&[0; 599]);
        server.receive(&inbox);
        client.work(Operation::Send, &client.register(&[0; 600]))
    };
    let (code, counts) = run(&too_small, Status::RemoteInvalidRequest);
    assert_eq!((code, counts.failed), (0x61, 1));
    let gone = |client: &End, server: &End| {
        server.receive(&server.register(&[0; 600]));
        client.work(Operation::Send, &client.register(&[0; 600]))
    };
    let (code, counts) = run(&gone, Status::RemoteOperation);
    assert_eq!((code, counts.failed), (0x63, 1));
}

#[test]
fn a_send_that_comes_too_early_is_sent_again() {
    let lab = Lab::new(PathMtu::Octets256, Depths::default(), Faults::none());
    let Lab { client, server, .. } = &lab;
    let call = rpc::message(rpc::MSG, 1, &rpc::Lists::default(), &rpc::read3(1, 400));
    let message = client.register(&call);
    let length = call.len();
    client
        .adapter
        .post(&client.queue_pair, Work::new(1, Operation::Send, Local::whole_region(&message, length)))
        .unwrap();
    assert_eq!(client.adapter.completion(&client.queue_pair, NOW), Ok(None));
    let inbox = server.register(&[0; 4096]);
    server.receive(&inbox);
    assert_eq!((client.status(), server.status()), (Status::Success, Status::Success));
    let file = lab.file();
    let found = dissect(&file);
    let counts = found.reports[0].counts;
    assert_eq!((counts.passive.not_ready, counts.active.retransmitted, counts.active.missed), (1, 1, 0));
    assert_eq!((found.messages.len(), found.messages[0].octets.as_slice()), (1, call.as_slice()));
}

/// The signs of loss in a capture: the last octet of the sender's address, and what it is.
fn signs(file: &[u8]) -> Vec<(u8, &'static str)> {
    let sign = |sign: &Recovered| match sign.from {
        Address::V4([.., host]) => (host, sign.kind.name()),
        other => panic!("{other}"),
    };
    dissect(file).recovered.iter().map(sign).collect()
}

/// Each fault strikes a Send of an RPC, by either end. A connection that is lost takes what it carried with it, so nothing is
/// sent again, and what is only late was not lost.
#[test]
fn no_injected_fault_makes_anything_be_sent_again() {
    let late = Duration::from_millis(2);
    for (fault, expected) in [
        (Fault::LoseBefore, ([1, 0, 0, 0], NOW)),
        (Fault::LoseAfter, ([0, 1, 0, 0], NOW)),
        (Fault::Delay(late), ([0, 0, 1, 0], late)),
        (Fault::Complete(Status::RemoteAccess), ([0, 0, 0, 1], NOW)),
        (Fault::Complete(Status::Success), ([0, 0, 0, 0], NOW)),
    ] {
        for by_client in [true, false] {
            let plans =
                [by_client, !by_client].map(|struck| if struck { Faults::none().at(1, fault) } else { Faults::none() });
            let lab = Lab::with_plans(plans);
            let (from, to) = if by_client { (&lab.client, &lab.server) } else { (&lab.server, &lab.client) };
            let inbox = to.register(&[0; 4096]);
            to.receive(&inbox);
            let octets = rpc::message(rpc::MSG, 1, &rpc::Lists::default(), &rpc::read3(1, 400));
            let message = from.register(&octets);
            let send = Work::new(0, Operation::Send, Local::whole_region(&message, octets.len()));
            from.adapter.post(&from.queue_pair, send).unwrap();
            let ended = from.adapter.completion(&from.queue_pair, Duration::from_secs(5)).unwrap().unwrap();
            assert_eq!(
                ended.status == Status::Success,
                matches!(fault, Fault::Delay(_) | Fault::Complete(Status::Success))
            );
            let Injected { lost_before, lost_after, delayed, delay, completed, .. } = from.adapter.injected();
            assert_eq!(([lost_before, lost_after, delayed, completed], delay), expected, "{fault:?}");
            assert_eq!(to.adapter.injected(), Injected::default(), "{fault:?}");
            drop((inbox, message));
            assert_eq!(signs(&lab.file()), [], "{fault:?}");
        }
    }
}

#[test]
fn early_and_refused_messages_are_reported_at_both_ends() {
    for by_client in [true, false] {
        let hosts = if by_client { (1, 2) } else { (2, 1) };
        let lab = Lab::new(PathMtu::Octets256, Depths::default(), Faults::none());
        let (from, to) = if by_client { (&lab.client, &lab.server) } else { (&lab.server, &lab.client) };
        let call = rpc::message(rpc::MSG, 1, &rpc::Lists::default(), &rpc::read3(1, 100));
        let message = from.register(&call);
        let send = Work::new(1, Operation::Send, Local::whole_region(&message, call.len()));
        from.adapter.post(&from.queue_pair, send).unwrap();
        assert_eq!(from.adapter.completion(&from.queue_pair, NOW), Ok(None));
        let inbox = to.register(&[0; 4096]);
        to.receive(&inbox);
        assert_eq!((from.status(), to.status()), (Status::Success, Status::Success));
        let nowhere = Remote { handle: 1, offset: 2 };
        assert_eq!(from.work(Operation::Write(nowhere), &from.register(&[0; 600])), Status::RemoteAccess);
        drop((inbox, message));
        let expected = [(hosts.1, "RNR NAK"), (hosts.0, "retransmitted"), (hosts.1, "refused")];
        assert_eq!(signs(&lab.file()), expected);
    }
}

#[test]
fn a_rejection_is_in_the_capture_with_its_reason() {
    let lab = Lab::unconnected(PathMtu::default(), Depths::default(), Faults::none());
    let Lab { client, server, .. } = &lab;
    let listener = server.adapter.listen(address(), 1).unwrap();
    client.adapter.connect(&client.queue_pair, address(), &[]).unwrap();
    let request = server.adapter.request(&listener, NOW).unwrap().unwrap();
    server.adapter.reject(request, b"no").unwrap();
    let file = lab.file();
    let found = dissect(&file);
    assert_eq!((found.rejected.len(), found.rejected[0].kind.reason()), (1, Some(28)));
    assert_eq!(packets(&file)[1].body[8 + 108..][..3], *b"no\0");
}

#[test]
fn unexpected_requests_are_refused_as_invalid_service() {
    let lab = Lab::unconnected(PathMtu::default(), Depths::default(), Faults::none());
    assert!(lab.client.adapter.connect(&lab.client.queue_pair, address(), &[]).is_err());
    let found = dissect(&lab.file());
    let [rejected] = found.rejected[..] else { panic!("{}", found.rejected.len()) };
    assert_eq!((rejected.kind.reason(), rejected.service), (Some(8), Some(0x0106_4e51)));
}

#[test]
fn what_was_lost_on_purpose_is_not_there() {
    for (fault, packets_of_it) in [(Fault::LoseBefore, 0), (Fault::LoseAfter, 1)] {
        let lab = Lab::new(PathMtu::default(), Depths::default(), Faults::none().at(1, fault));
        let inbox = lab.server.register(&[0; 8]);
        lab.server.receive(&inbox);
        assert_eq!(lab.client.work(Operation::Send, &lab.client.register(&[7; 8])), Status::NoAnswer);
        assert_eq!(lab.client.adapter.injected().total(), 1);
        let after: Vec<u8> = packets(&lab.file())[3..].iter().map(|packet| packet.opcode).collect();
        assert_eq!(after, vec![0x04; packets_of_it], "no acknowledgement, and no one says goodbye");

        let lab = Lab::unconnected(PathMtu::default(), Depths::default(), Faults::none().at(0, fault));
        let _listener = lab.server.adapter.listen(address(), 1).unwrap();
        lab.client.adapter.connect(&lab.client.queue_pair, address(), &[]).unwrap();
        assert_eq!(lab.client.adapter.injected().total(), 1);
        assert_eq!(packets(&lab.file()).len(), packets_of_it, "the request, and no answer");
    }
}

#[test]
fn an_error_in_writing_is_told_at_the_end() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(octets.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(octets.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let fabric = Fabric::captured(Full(100), PathMtu::default()).unwrap();
    let adapter = fabric.adapter([192, 0, 2, 2].into()).unwrap();
    let _listener = adapter.listen(address(), 1).unwrap();
    let end = End::new(adapter, Depths::default());
    end.adapter.connect(&end.queue_pair, address(), &[]).unwrap();
    assert_eq!(fabric.end_capture().unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}

/// The lines tshark prints for a file; `None` without tshark. It takes two passes to give a reply the data of its Write
/// chunk: in one it calls the replies to NFSv3 READ malformed, those of other peers too.
fn tshark(name: &str, file: &[u8], arguments: &[&str]) -> Option<Vec<String>> {
    let path = std::env::temp_dir().join(format!("rpcrdma-verbs-{}-{name}.pcap", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new("tshark");
    let output = command.args(["-n", "-2", "-o", "ip.check_checksum:TRUE", "-r"]).arg(&path).args(arguments).output();
    _ = std::fs::remove_file(&path);
    let Ok(output) = output else {
        println!("tshark is not installed: this test does nothing");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn tshark_sees_set_up_and_messages_and_nothing_malformed() {
    for (mtu, length) in [(PathMtu::Octets256, 1023), (PathMtu::Octets4096, 20_000)] {
        let (file, _) = nfs(mtu, length);
        let wrong = "_ws.malformed || _ws.short || ip.checksum.status != 1 || !infiniband";
        let name = format!("{mtu:?}");
        let Some(lines) = tshark(&name, &file, &["-Y", wrong]) else { return };
        assert_eq!(lines, [""; 0]);
        let fields = ["rpc.msgtyp", "rpc.xid", "rpc.program", "rpc.procedure"].map(|field| ["-e", field]);
        let arguments = [&["-Y", "rpc", "-T", "fields"][..], fields.as_flattened()].concat();
        let rpcs = tshark(&name, &file, &arguments).unwrap();
        // A reply has a program only if its call was found, and a call has data only if its Read was.
        let expected = [
            "0\t0x00000001\t100003\t6",
            "1\t0x00000001\t100003\t6",
            "0\t0x00000002\t100003\t7",
            "1\t0x00000002\t100003\t7",
        ];
        assert_eq!(rpcs, expected);
        let fields = ["-T", "fields", "-e", "infiniband.mad.attributeid"];
        let kinds = tshark(&name, &file, &[&["-Y", "infiniband.mad"][..], &fields].concat()).unwrap();
        assert_eq!(kinds, ["0x0010", "0x0013", "0x0014", "0x0015", "0x0016"]);
    }
}
