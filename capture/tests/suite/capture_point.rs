//! Place of a capture: given by the user, or derived from acknowledgements.

use rpcrdma_dissector::{
    CapturePoint, CapturePointSource, Config, Dissector, Frame, LinkType, Phase, Reader, Sides, Time,
};

use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, message, null, reply};
use crate::synthetic::{Found, Packet, Wire};
use crate::transcode;

/// Dissects the shipped capture of that name.
fn shipped(name: &str) -> Found {
    let octets = std::fs::read(transcode::path(name)).unwrap();
    let (mut reader, mut dissector) = (Reader::new(octets.as_slice()).unwrap(), Dissector::new(Config::default()));
    while let Some(frame) = reader.next() {
        dissector.frame(&frame.unwrap());
    }
    Found::default().finish(dissector)
}

type FoundPlace = Option<(CapturePoint, CapturePointSource)>;

fn found(packets: &[(u64, Packet)], config: Config) -> Found {
    let (mut dissector, mut found) = (Dissector::new(config), Found::default());
    for (number, (time, data)) in (1..).zip(packets) {
        let (time, length) = (Time(time * 1000), data.len() as u32);
        dissector.frame(&Frame { number, time, link: LinkType(101), data, length });
        found.take_events(&mut dissector);
    }
    found.finish(dissector)
}

/// Calls that are answered, with so many microseconds between a Send and its acknowledgement by the client, or by the server.
/// Every fourth one of either takes ten times as long.
fn calls(count: u32, by_client: u64, by_server: u64) -> Vec<(u64, Packet)> {
    let mut wire = Wire::default();
    let mut packets: Vec<_> = (0..).zip(wire.connect()).collect();
    for xid in 1..=count {
        let time = u64::from(xid) * 1_000_000;
        let slow = if xid.is_multiple_of(4) { 10 } else { 1 };
        for (from, to, takes, sent, at) in [
            (Client, Server, by_server, message(MSG, xid, &Lists::default(), &null(xid)), 0),
            (Server, Client, by_client, message(MSG, xid, &Lists::default(), &reply(xid, &[])), 500_000),
        ] {
            packets.extend(wire.send(from, &sent).into_iter().map(|packet| (time + at, asking(packet))));
            packets.push((time + at + takes * slow, wire.ack_all(to)));
        }
    }
    packets
}

/// A packet with the bit that asks for an acknowledgement (InfiniBand Architecture, volume 1, section 9.2): behind IPv4 and UDP, in
/// the ninth octet of the Base Transport Header.
pub(crate) fn asking(mut packet: Packet) -> Packet {
    packet[36] |= 0x80;
    packet
}

fn place(packets: &[(u64, Packet)]) -> FoundPlace {
    found(packets, Config::default()).reports[0].captured_at
}

#[test]
fn an_end_that_always_acknowledges_late_is_remote() {
    let inferred = |place| Some((place, CapturePointSource::Inferred));
    assert_eq!(place(&calls(12, 20, 400)), inferred(CapturePoint::Client));
    assert_eq!(place(&calls(12, 400, 20)), inferred(CapturePoint::Server));
    // Neither is clearly further away; there are too few; one of them was near once.
    assert_eq!(place(&calls(12, 400, 400)), None);
    assert_eq!(place(&calls(12, 200, 400)), None);
    assert_eq!(place(&calls(7, 20, 400)), None);
    let mut once = calls(12, 20, 400);
    let late = once.iter().rposition(|(time, _)| time % 1_000_000 == 400).unwrap();
    once[late].0 -= 380;
    assert_eq!(place(&once), None);
}

#[test]
fn what_the_user_says_is_not_inferred() {
    for given in [CapturePoint::Client, CapturePoint::Server, CapturePoint::Between] {
        let mut config = Config::default();
        config.captured_at = Some(given);
        let found = found(&calls(12, 20, 400), config);
        assert_eq!(found.reports[0].captured_at, Some((given, CapturePointSource::Given)));
        assert_eq!(found.reports[0].counts.active.acknowledgements.unwrap().median, 20_000);
    }
    assert_eq!(CapturePoint::Client.with_network(), [Phase::Responder]);
    assert_eq!(CapturePoint::Server.with_network(), [Phase::RdmaRead, Phase::Requester]);
}

/// Both ends of two runs of `testdata/lab/scenarios/network.sh`, in which the link held frames for up to 8 ms.
#[test]
fn captures_at_both_ends_show_their_capture_points() {
    for (name, expected) in [
        ("network_requester", CapturePoint::Client),
        ("network_responder", CapturePoint::Server),
        ("iwarp_network_requester", CapturePoint::Client),
        ("iwarp_network_responder", CapturePoint::Server),
    ] {
        let found = shipped(name);
        assert_eq!(found.reports[0].captured_at, Some((expected, CapturePointSource::Inferred)), "{name}");
        let Sides { active, passive } = found.reports[0].counts;
        let least = [active, passive].map(|counts| counts.acknowledgements.unwrap().least);
        assert!(least.into_iter().any(|least| least > 8_000_000), "{name}: {least:?}");
    }
}

/// The link of these machines is a socket on one computer: there is no network.
#[test]
fn without_a_network_the_place_is_not_known() {
    for name in transcode::ROCE_CAPTURES.into_iter().chain(["iwarp_nfs41", "iwarp_nfs3_lossy"]) {
        assert!(shipped(name).reports.iter().all(|report| report.captured_at.is_none()), "{name}");
    }
}
