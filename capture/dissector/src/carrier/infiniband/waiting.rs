//! Packets of a flow whose counterpart is not known yet.

use super::flow::Flow;
use super::transport::{PacketKind, Transport};
use crate::carrier::duplicates::PacketCapture;
use crate::link::Carrier;

/// The most packets that wait for a flow's counterpart.
const PACKETS: usize = 2048;
const OCTETS: usize = 4 << 20;

/// A flow whose counterpart is not known yet.
#[derive(Debug)]
pub(super) struct WaitingFlow {
    pub(super) flow: Flow,
    pub(super) carrier: Carrier,
    pub(super) packets: Vec<Kept>,
    pub(super) octets: usize,
}

/// A packet that waits.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) captured: PacketCapture,
    pub(super) octets: Box<[u8]>,
    pub(super) length: usize,
    /// Packet number, and how many numbers a request takes; 0 for an answer.
    pub(super) sequence: u32,
    pub(super) span: u32,
}

impl WaitingFlow {
    /// Memory used by the waiting packets, in octets.
    pub(super) const fn buffered_octets(&self) -> usize {
        self.octets + self.packets.len() * size_of::<Kept>()
    }

    /// Returns true if more waits than is allowed.
    pub(super) const fn is_full(&self) -> bool {
        self.packets.len() > PACKETS || self.octets > OCTETS
    }

    /// Returns true if the requests that wait here are the first of a connection that begins with this number.
    pub(super) fn begins_at(&self, sequence: u32) -> bool {
        let mut requests = self.packets.iter().filter(|kept| kept.span > 0);
        requests.all(|kept| is_within(kept.sequence, sequence, PACKETS as u32))
    }

    /// Returns true if a packet of `flow` answers a request that waits here, or is a request to which an answer waits
    /// here.
    pub(super) fn answers(&self, flow: &Flow, packet: &Kept) -> bool {
        self.flow.source == flow.destination
            && self.flow.destination == flow.source
            && self.packets.iter().any(|kept| match (kept.span, packet.span) {
                (0, span) => is_within(kept.sequence, packet.sequence, span),
                (span, 0) => is_within(packet.sequence, kept.sequence, span),
                _ => false,
            })
    }
}

/// Returns true if `answer` is one of the `span` numbers from `request` on.
pub(super) fn is_within(answer: u32, request: u32, span: u32) -> bool {
    (answer.wrapping_sub(request) & 0xff_ffff) < span
}

/// The most packet numbers of a request; 0 for an answer.
pub(super) fn span(transport: &Transport<'_>) -> u32 {
    match (transport.is_request(), transport.operation, transport.target) {
        (false, ..) => 0,
        // As many as the smallest path MTU would need.
        (true, PacketKind::ReadRequest, Some(target)) => target.length.div_ceil(256).max(1),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::operation::Stamp;
    use crate::link::{Address, PacketObservation};

    const CLIENT: Address = Address::V4([192, 0, 2, 1]);
    const SERVER: Address = Address::V4([192, 0, 2, 2]);

    const fn flow(source: Address, destination: Address) -> Flow {
        Flow { source, destination, queue_pair: 0x11 }
    }

    fn kept(sequence: u32, span: u32, length: usize) -> Kept {
        let (stamp, observation) = (Stamp::default(), PacketObservation::default());
        Kept { captured: PacketCapture { stamp, observation }, octets: vec![0; length].into(), length, sequence, span }
    }

    fn waiting(packets: Vec<Kept>) -> WaitingFlow {
        let octets = packets.iter().map(|kept| kept.octets.len()).sum();
        WaitingFlow { flow: flow(CLIENT, SERVER), carrier: Carrier::RoceV2, packets, octets }
    }

    #[test]
    fn answers_have_a_number_of_their_request_in_either_order() {
        for (first, last, sequence, is_answer) in
            [(100, 100, 100, true), (100, 103, 103, true), (100, 103, 104, false), (100, 103, 99, false)]
        {
            let (request, answer) = (|| kept(first, last - first + 1, 0), || kept(sequence, 0, 0));
            let towards = flow(SERVER, CLIENT);
            assert_eq!(waiting(vec![request()]).answers(&towards, &answer()), is_answer);
            assert_eq!(waiting(vec![answer()]).answers(&towards, &request()), is_answer);
        }
    }

    #[test]
    fn only_the_flow_between_the_same_ends_is_a_counterpart() {
        for (source, destination, is_counterpart) in
            [(SERVER, CLIENT, true), (CLIENT, CLIENT, false), (SERVER, SERVER, false), (CLIENT, SERVER, false)]
        {
            let requests = waiting(vec![kept(100, 1, 0)]);
            assert_eq!(requests.answers(&flow(source, destination), &kept(100, 0, 0)), is_counterpart);
        }
    }

    #[test]
    fn two_answers_or_two_requests_tell_nothing() {
        for span in [0, 1] {
            assert!(!waiting(vec![kept(100, span, 0)]).answers(&flow(SERVER, CLIENT), &kept(100, span, 0)));
        }
    }

    #[test]
    fn a_read_request_has_one_number_per_256_octets() {
        for (length, numbers) in [(0u32, 1), (256, 1), (257, 2), (4096, 16)] {
            let octets = [&[0x0c][..], &[0; 23], &length.to_be_bytes()].concat();
            assert_eq!(span(&Transport::decode(&octets, octets.len()).unwrap()), numbers);
        }
    }

    #[test]
    fn more_than_2048_packets_or_4_mebibytes_are_too_many() {
        for (packets, length, is_full) in
            [(PACKETS, 0, false), (PACKETS + 1, 0, true), (1, OCTETS, false), (1, OCTETS + 1, true)]
        {
            let waiting = waiting((0..packets).map(|_| kept(1, 1, length)).collect());
            assert_eq!(waiting.is_full(), is_full, "{packets} of {length}");
        }
    }

    #[test]
    fn the_memory_of_what_waits_is_that_of_its_packets() {
        assert_eq!(waiting(vec![]).buffered_octets(), 0);
        let one = waiting(vec![kept(1, 1, 100)]).buffered_octets();
        assert!(one > 100 + size_of::<Kept>() / 2);
        assert_eq!(waiting(vec![kept(1, 1, 100), kept(2, 1, 1100)]).buffered_octets(), 2 * one + 1000);
    }
}
