//! The end of an RPC, and the end that owes the next step, if packets were lost after they were captured: hand-made
//! captures with known times, in microseconds.

use rpcrdma_dissector::{
    Config, CreditWaitUnknown, Delivery, Dissector, Event, Frame, LinkType, NotTimed, Owed, OwedUnknown, PacketRun,
    Reader, RecoveryKind, Side, Step, StepsWanted, Time, Transaction,
};

use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, NOMSG, call, message, null, octets, reply};
use crate::synthetic::trace::Trace;
use crate::synthetic::{Packet, Wire, v2};
use crate::transcode::{self, Pcap};

impl Trace {
    fn transactions(&self) -> Vec<Transaction> {
        of_packets(&self.packets)
    }

    fn only(&self) -> Transaction {
        let [transaction] = &self.transactions()[..] else { panic!("one RPC") };
        transaction.clone()
    }
}

fn config() -> Config {
    let mut config = Config::default();
    (config.recovery, config.steps) = (true, StepsWanted::All);
    config
}

fn of_packets(packets: &[(u64, Packet)]) -> Vec<Transaction> {
    let mut dissector = Dissector::new(config());
    for (number, (time, data)) in (1..).zip(packets) {
        let (time, length) = (Time(time * 1000), data.len() as u32);
        dissector.frame(&Frame { number, time, link: LinkType(101), data, length });
    }
    dissector.finish();
    transactions(&mut dissector)
}

fn transactions(dissector: &mut Dissector) -> Vec<Transaction> {
    core::iter::from_fn(|| dissector.event())
        .filter_map(|event| if let Event::Transaction(transaction) = event { Some(*transaction) } else { None })
        .collect()
}

fn of_capture(name: &str) -> Vec<Transaction> {
    let file = transcode::write_pcap(&transcode::capture(name), Pcap { nanoseconds: true, ..Pcap::default() });
    let (mut reader, mut dissector) = (Reader::new(file.as_slice()).unwrap(), Dissector::new(config()));
    while let Some(frame) = reader.next() {
        dissector.frame(&frame.unwrap());
    }
    dissector.finish();
    transactions(&mut dissector)
}

fn microseconds(transaction: &Transaction) -> Option<u64> {
    transaction.latency().map(|latency| latency / 1000)
}

fn owed(transaction: &Transaction) -> (Owed, Delivery) {
    let waiting = transaction.waiting.unwrap();
    assert!(transaction.reply.is_none() && transaction.status.is_none() && transaction.latency().is_none());
    (waiting.owed, waiting.delivery)
}

#[test]
fn a_reply_sent_once_needs_no_captured_acknowledgement() {
    let (trace, _) = Trace::exchange();
    assert_eq!(microseconds(&trace.only()), Some(100));
    let (mut trace, _) = Trace::exchange();
    assert_eq!(microseconds(&trace.acknowledge(210).only()), Some(100));
}

#[test]
fn a_refused_reply_ends_its_rpc_when_finally_accepted() {
    for refuse in [Wire::nak, Wire::not_ready] {
        let (mut trace, reply) = Trace::exchange();
        let number = trace.wire.server.next - 1;
        let nak = refuse(&mut trace.wire, Client, number);
        trace.at(210, &[nak]).at(500_200, &reply).acknowledge(500_210);
        let rpc = trace.only();
        assert_eq!(microseconds(&rpc), Some(500_100));
        assert_eq!(rpc.reply.as_ref().unwrap().stamp.frame, 8);
        let (phases, recovery) = (rpc.phases.unwrap(), rpc.recovery.as_ref().unwrap());
        assert_eq!((phases.responder, phases.reply, recovery.phases.reply), (100_000, 500_000_000, 500_000_000));
        assert_eq!((recovery.naks + recovery.rnr_naks, recovery.retransmitted_packets), (1, 1));
        // The sequence diagram has both copies, and the frames of the other signs.
        let mut frames: Vec<_> = rpc.steps.unwrap().packets.iter().map(|packet| packet.first.frame).collect();
        frames.dedup();
        assert_eq!(frames, [4, 5, 6, 7, 8]);
    }
}

#[test]
fn a_reply_behind_a_refused_write_counts_when_retransmitted() {
    let mut trace = Trace::new();
    let data = octets(1, 3000);
    let lists = Lists::reply(&[(7, 0, 4000)]);
    let call = trace.wire.send(Client, &message(MSG, 1, &lists, &null(1)));
    let first = trace.wire.server.next;
    let writes = trace.wire.write(Server, (7, 0), &data);
    let reply = trace.wire.send(Server, &message(NOMSG, 1, &Lists::reply(&[(7, 0, 3000)]), &[]));
    let nak = trace.wire.nak(Client, first + 1);
    trace.at(100, &call).accept(110).at(200, &writes).at(300, &reply);
    // The reply comes twice before the gap is filled: the first time it was on its way already.
    trace.at(310, &[nak]).at(320, &reply).at(1000, &writes[1..]).at(1010, &reply).acknowledge(1020);
    assert_eq!(microseconds(&trace.only()), Some(910));
}

#[test]
fn a_refused_reply_not_retransmitted_is_owed_by_the_responder() {
    let (mut trace, _) = Trace::exchange();
    let number = trace.wire.server.next - 1;
    let nak = trace.wire.nak(Client, number);
    trace.at(210, &[nak]);
    let rpc = trace.only();
    let (owed, delivery) = owed(&rpc);
    let Owed::ReplyAgain(refusal) = owed else { panic!("{owed:?}") };
    assert_eq!((refusal.kind, refusal.stamp.frame, delivery), (RecoveryKind::SequenceError, 7, Delivery::Accepted));
    assert_eq!(rpc.waiting.unwrap().responder.map(|last| (last.step, last.stamp.frame)), Some((Step::Reply, 6)));
}

#[test]
fn a_retransmitted_reply_without_acknowledgement_may_be_lost() {
    let (mut trace, reply) = Trace::exchange();
    for time in 1..5 {
        trace.at(200 + time * 500_000, &reply);
    }
    assert_eq!(owed(&trace.only()).0, Owed::ReplyArrival(5));
}

#[test]
fn after_only_a_time_out_the_rpc_end_is_unknown() {
    let (mut trace, reply) = Trace::exchange();
    trace.at(500_200, &reply).acknowledge(500_210);
    let rpc = trace.only();
    assert_eq!((microseconds(&rpc), rpc.phases), (None, Err(NotTimed::ArrivalUnknown)));
    assert!(rpc.reply.is_some() && rpc.status.is_some() && rpc.waiting.is_none());
}

#[test]
fn a_copy_after_the_acknowledgement_changes_nothing() {
    let (mut trace, reply) = Trace::exchange();
    trace.acknowledge(210).at(500_200, &reply);
    assert_eq!(microseconds(&trace.only()), Some(100));
}

/// The call takes three packets; the first is lost before the capture.
#[test]
fn a_call_begins_with_its_first_packet_even_if_refused() {
    for refused in [false, true] {
        let mut trace = Trace::new();
        let call = trace.wire.send(Client, &message(MSG, 1, &Lists::default(), &call(1, [400_000, 1, 7], &[7; 2500])));
        assert_eq!(call.len(), 3);
        let number = trace.wire.client.next - 3;
        let (reply, nak) = (trace.reply(1), trace.wire.nak(Server, number));
        trace.at(100, &call[1..]);
        if refused {
            trace.at(110, &[nak]);
        }
        trace.at(2_000_000, &call).accept(2_000_010).at(2_001_110, &reply).acknowledge(2_001_120);
        let rpc = trace.only();
        assert_eq!(microseconds(&rpc), Some(2_001_010), "refused: {refused}");
        let (phases, recovery) = (rpc.phases.unwrap(), rpc.recovery.as_ref().unwrap());
        assert_eq!(phases.total(), 2_001_010_000);
        assert_eq!(recovery.phases.call, phases.call);
        assert_eq!(rpc.began.unwrap().frame, 4);
        let steps = rpc.steps.unwrap();
        assert_eq!(steps.packets.first().unwrap().first.frame, 4, "refused: {refused}");
    }
}

#[test]
fn the_next_step_is_owed_by_whoever_accepted_the_last() {
    let mut trace = Trace::new();
    let call = trace.call(1);
    let number = trace.wire.client.next - 1;
    trace.at(100, &call);
    assert_eq!(owed(&trace.only()), (Owed::Reply, Delivery::Unknown));
    // Retransmitted, and never acknowledged.
    trace.at(500_000, &call).at(1_000_000, &call);
    assert_eq!(owed(&trace.only()), (Owed::Acknowledgement(3), Delivery::Unacknowledged { times: 3 }));
    // Refused, and not retransmitted.
    let nak = trace.wire.not_ready(Server, number);
    trace.at(1_000_010, &[nak]);
    let (refused, _) = owed(&trace.only());
    assert!(matches!(refused, Owed::Call(refusal) if refusal.stamp.frame == 7));
    // Retransmitted and accepted, and nothing since.
    trace.at(1_100_000, &call).accept(1_100_010);
    assert_eq!(owed(&trace.only()), (Owed::Reply, Delivery::Accepted));
}

/// The second call, of one packet, follows one that the network lost before it was captured.
#[test]
fn its_sender_owes_a_call_refused_behind_a_gap() {
    for refuse in [Wire::nak, Wire::not_ready] {
        let mut trace = Trace::new();
        let (answered, reply) = (trace.call(1), trace.reply(1));
        trace.at(10, &answered).accept(11).at(12, &reply).acknowledge(13);
        let _lost = trace.call(2);
        let number = trace.wire.client.next - 1;
        let call = trace.call(3);
        let refusal = refuse(&mut trace.wire, Server, number);
        trace.at(100, &call).at(110, &[refusal]);
        let transactions = trace.transactions();
        let rpc = transactions.iter().find(|rpc| rpc.xid == 3).expect("the call was captured");
        let (owed, delivery) = owed(rpc);
        assert!(matches!(owed, Owed::Call(refusal) if refusal.stamp.frame == 9), "{owed:?}");
        assert_eq!(transactions.len(), 2, "of the call that was lost, nothing is known");
        assert!(matches!(delivery, Delivery::Refused(refusal) if refusal.stamp.frame == 9), "{delivery:?}");
    }
}

/// The clock of the machine that captures was set back by a second between call and reply.
#[test]
fn latency_across_a_clock_set_back_is_unknown() {
    let mut trace = Trace::new();
    let (call, reply) = (trace.call(1), trace.reply(1));
    trace.at(2_000_000, &call).accept(2_000_010);
    let packet = vec![0; 40];
    trace.at(1_000_020, core::slice::from_ref(&packet)).at(2_500_000, &reply).acknowledge(2_500_010);
    assert_eq!(trace.packets.len(), 8);
    let (call, reply) = (trace.call(2), trace.reply(2));
    trace.at(2_600_000, &call).accept(2_600_010).at(2_600_100, &reply).acknowledge(2_600_110);
    let transactions = trace.transactions();
    // Frames that follow close enough show that only one of them was late.
    assert_eq!(transactions.iter().map(microseconds).collect::<Vec<_>>(), [Some(500_000), Some(100)]);
    for number in 1..10 {
        trace.packets.insert(5 + number, (1_000_020 + number as u64, packet.clone()));
    }
    let transactions = trace.transactions();
    assert_eq!(transactions.iter().map(microseconds).collect::<Vec<_>>(), [None, Some(100)]);
    assert_eq!(transactions[0].phases, Err(NotTimed::ClockSetBack));
    assert!(transactions[0].recovery.is_err() && transactions[0].reply.is_some());
    let waits: Vec<_> = transactions.iter().map(|transaction| transaction.credit_wait).collect();
    assert_eq!(waits, [Ok(0), Err(CreditWaitUnknown::ClockSetBack)], "there was one credit before the first reply");
}

#[test]
fn many_waiting_messages_imply_no_acknowledgement() {
    let mut trace = Trace::new();
    for number in 0..600 {
        let call = trace.call(number);
        trace.at(1000 + u64::from(number), &call);
    }
    let unanswered = trace.transactions();
    assert_eq!(unanswered.len(), 600);
    assert!(unanswered.iter().all(|call| owed(call).1 == Delivery::Unknown));

    let mut trace = Trace::new();
    for number in 0..600 {
        let call = trace.call(number);
        trace.at(1000 + 4 * u64::from(number), &call).accept(1001 + 4 * u64::from(number));
        let reply = trace.reply(number);
        trace.at(1002 + 4 * u64::from(number), &reply);
    }
    let unacknowledged = trace.transactions();
    assert_eq!(unacknowledged.len(), 600);
    assert!(unacknowledged.iter().all(|rpc| !rpc.is_acknowledged && microseconds(rpc) == Some(2)));
}

#[test]
fn data_that_was_asked_for_is_owed_by_the_requester() {
    let mut trace = Trace::new();
    let lists = Lists::reads(&[(40, (9, 0, 1000))]);
    let call = trace.wire.send(Client, &message(MSG, 1, &lists, &null(1)));
    let request = trace.wire.read_request(Server, (9, 0), 1000);
    trace.at(100, &call).at(200, &[request]);
    assert_eq!(owed(&trace.only()), (Owed::ReadResponse(1000), Delivery::Accepted));
}

/// RDMA Writes before the reply, which the requester acknowledges in the end or not.
#[test]
fn unacknowledged_data_leaves_open_who_owes_the_reply() {
    for is_acknowledged in [false, true] {
        let mut trace = Trace::new();
        let lists = Lists::writes(&[&[(7, 0, 1000)]]);
        let call = trace.wire.send(Client, &message(MSG, 1, &lists, &null(1)));
        let writes = trace.wire.write(Server, (7, 0), &octets(1, 1000));
        trace.at(100, &call).accept(110).at(200, &writes);
        assert_eq!(owed(&trace.only()).0, Owed::Reply);
        trace.at(500_200, &writes);
        if is_acknowledged {
            trace.acknowledge(500_210);
        }
        let unknown = Owed::Unknown(OwedUnknown::WriteArrival);
        assert_eq!(owed(&trace.only()).0, if is_acknowledged { Owed::Reply } else { unknown });
        let end = trace.wire.disconnect(Server);
        trace.at(5_000_000, &[end]);
        assert_eq!(owed(&trace.only()).0, if is_acknowledged { Owed::Nothing } else { unknown });
    }
}

/// The end of a connection, by a responder that gives up, does not hide whether the reply arrived.
#[test]
fn a_disconnect_does_not_hide_a_sent_reply() {
    for refused in [false, true] {
        let (mut trace, reply) = Trace::exchange();
        let number = trace.wire.server.next - 1;
        let (nak, end) = (trace.wire.nak(Client, number), trace.wire.disconnect(Server));
        if refused {
            trace.at(210, &[nak]);
        } else {
            (1..4).for_each(|time| _ = trace.at(200 + time * 500_000, &reply));
        }
        trace.at(5_000_000, &[end]);
        let rpc = trace.only();
        let waiting = rpc.waiting.unwrap();
        assert_eq!((waiting.owed, waiting.delivery), (Owed::Nothing, Delivery::Accepted));
        match waiting.reply_delivery {
            Some(Delivery::Refused(refusal)) => assert_eq!((refused, refusal.stamp.frame), (true, 7)),
            Some(Delivery::Unacknowledged { times }) => assert_eq!((refused, times), (false, 4)),
            other => panic!("{other:?}"),
        }
    }
}

/// A reply in memory of the responder (draft-cel-nfsv4-reliable-reply).
#[test]
fn a_provided_reply_is_no_answer_until_read() {
    for is_read in [false, true] {
        let mut trace = Trace::new();
        let call = trace.call(1);
        let payload = reply(1, &[]);
        let lists = Lists::reads(&[(0, (5, 0, payload.len() as u32))]);
        let provided = trace.wire.send(Server, &message(NOMSG, 1, &lists, &[]));
        trace.at(100, &call).accept(110).at(200, &provided).acknowledge(210);
        if is_read {
            let read = trace.wire.read(Client, (5, 0), &payload);
            trace.at(300, &read);
            assert_eq!(microseconds(&trace.only()), Some(201));
        } else {
            assert_eq!(owed(&trace.only()), (Owed::ReadReply, Delivery::Accepted));
        }
    }
}

/// The captures' README.md describes these losses: in connection 2, two replies were lost as they reached the client,
/// and only a time-out shows it; in connection 3, the client's NAK in frame 162 names a Write before the reply in frame
/// 161, which came again in frame 165.
#[test]
fn replies_that_were_lost_behind_the_capture_end_no_rpc() {
    let transactions = of_capture("lost");
    let of = |xid| transactions.iter().find(|transaction| transaction.xid == xid).unwrap();
    for xid in [0x27d2_1c36, 0x27d2_1c3a] {
        assert_eq!((of(xid).latency(), of(xid).phases), (None, Err(NotTimed::ArrivalUnknown)));
    }
    let refused = of(0x23a2_ccd4);
    assert_eq!((microseconds(refused), refused.reply.as_ref().unwrap().stamp.frame), (Some(38_206), 165));
    assert!(transactions.iter().all(|transaction| transaction.reply.is_some()));
}

#[test]
fn a_retransmitted_part_counts_for_its_rpc() {
    for family in v2::FAMILIES {
        for is_before in [true, false] {
            let transactions = Trace::part_again(family, is_before).transactions();
            let rpc = transactions.iter().find(|rpc| rpc.xid == 1).unwrap();
            assert_eq!(microseconds(rpc), Some(500_000), "{family:?}");
            let recovery = rpc.recovery.as_ref().unwrap();
            let resent = if is_before { 1 } else { 2 };
            assert_eq!((recovery.timeouts, recovery.retransmitted_packets), (1, resent), "{family:?} {is_before}");
            let steps = rpc.steps.as_ref().unwrap();
            let is_timeout = |packet: &&PacketRun| matches!(packet.recovery, Some(RecoveryKind::TimedOut { .. }));
            assert_eq!(steps.packets.iter().filter(is_timeout).count(), 1);
        }
    }
}

/// iWARP: segments of a TCP connection.
mod iwarp {
    use super::*;
    use crate::synthetic::tcp::{CLIENT, Iwarp, SERVER, fpdu, null_call};

    fn only(trace: &Iwarp) -> Transaction {
        let [transaction] = &of_packets(&trace.packets)[..] else { panic!("one RPC") };
        transaction.clone()
    }

    #[test]
    fn a_reply_ends_its_rpc_when_its_gap_is_filled() {
        // An acknowledgement that stays below the reply, 20 ms after it, or three at once that say the same, which is how TCP
        // refuses; and the reply again half a second later.
        for acknowledgements in [&[20_000][..], &[210, 211, 212, 213]] {
            let (mut trace, reply) = Iwarp::exchange();
            for time in acknowledgements {
                trace.acknowledge(*time, CLIENT, reply.len() as u32);
            }
            trace.again(500_200, SERVER, &reply);
            trace.acknowledge(500_210, CLIENT, 0);
            assert_eq!(microseconds(&only(&trace)), Some(500_100));
        }
    }

    #[test]
    fn after_only_a_time_out_the_rpc_end_is_unknown() {
        let (mut trace, reply) = Iwarp::exchange();
        trace.again(500_200, SERVER, &reply);
        trace.acknowledge(500_210, CLIENT, 0);
        let rpc = only(&trace);
        assert_eq!((rpc.latency(), rpc.phases), (None, Err(NotTimed::ArrivalUnknown)));
    }

    #[test]
    fn a_refused_reply_not_retransmitted_is_owed_by_the_responder() {
        let (mut trace, reply) = Iwarp::exchange();
        (210..214).for_each(|time| trace.acknowledge(time, CLIENT, reply.len() as u32));
        assert!(matches!(owed(&only(&trace)).0, Owed::ReplyAgain(_)));
    }

    #[test]
    fn a_retransmitted_reply_without_acknowledgement_may_be_lost() {
        let (mut trace, reply) = Iwarp::exchange();
        (1..5).for_each(|time| trace.again(200 + time * 500_000, SERVER, &reply));
        assert_eq!(owed(&only(&trace)).0, Owed::ReplyArrival(5));
    }

    /// The FPDU of the call spans three segments, which are captured at 100, 1,000 and 2,000.
    #[test]
    fn a_call_begins_with_the_first_segment_of_its_fpdu() {
        let mut trace = Iwarp::default();
        let call = null_call();
        for (time, range) in [(100, 0..30), (1000, 30..60), (2000, 60..call.len())] {
            trace.send(time, CLIENT, &call[range]);
        }
        trace.send(3000, SERVER, &fpdu(1, &message(MSG, 1, &Lists::default(), &reply(1, &[]))));
        let rpc = only(&trace);
        assert_eq!((microseconds(&rpc), rpc.began.unwrap().frame), (Some(2900), 5));
        assert_eq!(rpc.phases.unwrap().call, 1_900_000);
        assert_eq!(rpc.requester, Side::Active);
    }
}

/// Replies of a server over iWARP, of which segments are lost, late or retransmitted.
mod iwarp_replies {
    use rpcrdma_dissector::Counts;

    use super::*;
    use crate::synthetic::tcp::{self, ACK, CLIENT, Iwarp, SERVER, SelectiveBlock, fpdu};

    /// A connection with calls that were sent at 100, and acknowledged.
    struct Replies {
        trace: Iwarp,
        /// Sequence number of the first reply, and octets of each.
        first: u32,
        replies: Vec<Vec<u8>>,
    }

    impl Replies {
        fn new(count: u32) -> Self {
            let mut trace = Iwarp::default();
            let messages = |encode: fn(u32) -> Vec<u8>| {
                (1..=count).map(move |xid| fpdu(xid, &message(MSG, xid, &Lists::default(), &encode(xid))))
            };
            trace.send(100, CLIENT, &messages(null).collect::<Vec<_>>().concat());
            trace.acknowledge(101, SERVER, 0);
            let (first, replies) = (trace.next[SERVER], messages(|xid| reply(xid, &[])).collect());
            Self { trace, first, replies }
        }

        /// The sequence number of the reply of this index.
        fn number(&self, index: usize) -> u32 {
            self.first + self.replies[..index].concat().len() as u32
        }

        /// The server sends replies in one segment, which is captured at this time.
        fn send(&mut self, time: u64, replies: std::ops::Range<usize>) -> &mut Self {
            let numbers = [self.number(replies.start), self.trace.next[CLIENT]];
            let octets = self.replies[replies].concat();
            self.packet(time, SERVER, numbers, &[], &octets)
        }

        /// A segment that the capture lacks takes an identification, too.
        fn lose(&mut self) -> &mut Self {
            self.trace.identification += 1;
            self
        }

        /// The client has the replies before this index, and those in these ranges.
        fn acknowledge(&mut self, time: u64, before: usize, ranges: &[[usize; 2]]) -> &mut Self {
            let numbers = [self.trace.next[CLIENT], self.number(before)];
            let blocks: Vec<SelectiveBlock> =
                ranges.iter().map(|range| range.map(|index| self.number(index))).collect();
            self.packet(time, CLIENT, numbers, &blocks, &[])
        }

        fn packet(
            &mut self,
            time: u64,
            from: usize,
            numbers: [u32; 2],
            blocks: &[SelectiveBlock],
            octets: &[u8],
        ) -> &mut Self {
            let packet = tcp::packet(from, self.trace.identification, (numbers, ACK), blocks, octets);
            self.trace.identification += 1;
            self.trace.packets.push((time, packet));
            self
        }

        /// The RPCs, and the counts of the server, as the packets were captured: in the order of their times.
        fn found(&self) -> (Vec<Transaction>, Counts) {
            let mut packets = self.trace.packets.clone();
            packets.sort_by_key(|(time, _)| *time);
            let mut dissector = Dissector::new(config());
            for (number, (time, data)) in (1..).zip(&packets) {
                let (time, length) = (Time(time * 1000), data.len() as u32);
                dissector.frame(&Frame { number, time, link: LinkType(101), data, length });
            }
            dissector.finish();
            let (mut transactions, mut counts) = (Vec::new(), Counts::default());
            while let Some(event) = dissector.event() {
                match event {
                    Event::Transaction(transaction) => transactions.push(*transaction),
                    Event::Connection(report) => counts = report.counts.passive,
                    _ => {}
                }
            }
            transactions.sort_by_key(|transaction| transaction.xid);
            (transactions, counts)
        }

        /// Returns the end of each RPC.
        fn ends(&self) -> Vec<Option<u64>> {
            self.found().0.iter().map(|rpc| microseconds(rpc).map(|latency| latency + 100)).collect()
        }

        fn owed(&self) -> Vec<Owed> {
            self.found().0.iter().map(|rpc| rpc.waiting.map_or(Owed::Nothing, |waiting| waiting.owed)).collect()
        }
    }

    /// Reply 2 was on its way, and so was the acknowledgement that would have said so, when it was retransmitted behind reply 0.
    #[test]
    fn a_needless_retransmission_leaves_open_which_copy_arrived() {
        let mut replies = Replies::new(3);
        replies.send(200, 0..1).send(210, 1..2).acknowledge(290, 0, &[[1, 2]]);
        replies.send(291, 2..3).send(300, 0..1).send(301, 2..3).acknowledge(380, 3, &[]);
        assert_eq!(replies.ends(), [Some(300), Some(300), None]);
    }

    /// The receiver reports a second gap because reply 2 came late, as it did to where it was captured.
    #[test]
    fn a_reported_gap_of_a_late_segment_is_no_loss() {
        let mut replies = Replies::new(4);
        replies.send(200, 0..1).send(201, 1..2).send(212, 2..3).send(211, 3..4);
        replies.acknowledge(290, 0, &[[1, 2]]).acknowledge(300, 0, &[[1, 2], [3, 4]]);
        replies.send(300, 0..1).send(301, 2..3).acknowledge(380, 4, &[]);
        assert_eq!(replies.ends(), [Some(300), Some(300), None, None]);
    }

    /// Both are missing, as the blocks say: so the later one ends what is behind it.
    #[test]
    fn a_reply_behind_two_gaps_waits_for_the_second() {
        let mut replies = Replies::new(4);
        (0..4).for_each(|index| _ = replies.send(200 + index as u64, index..index + 1));
        replies.acknowledge(290, 0, &[[1, 2], [3, 4]]);
        replies.send(300, 0..1).send(301, 2..3).acknowledge(380, 4, &[]);
        assert_eq!(replies.ends(), [Some(300), Some(300), Some(301), Some(301)]);
    }

    /// The acknowledgement that comes with the first copy still lacks what the second copy brings.
    #[test]
    fn a_gap_reported_again_in_transit_is_not_refused() {
        let mut replies = Replies::new(4);
        (0..4).for_each(|index| _ = replies.send(200 + index as u64, index..index + 1));
        replies.acknowledge(290, 0, &[[1, 2], [3, 4]]);
        replies.send(300, 0..1).send(301, 2..3).acknowledge(340, 2, &[[3, 4]]);
        // The last was sent once, and what TCP has to deliver before it is not acknowledged.
        assert_eq!(replies.owed(), [Owed::Nothing, Owed::Nothing, Owed::ReplyArrival(2), Owed::ReplyArrival(1)]);
    }

    /// Missing octets may only be late: the third duplicate acknowledgement says that they are not (RFC 5681 section 3.2).
    #[test]
    fn a_reply_is_refused_with_the_third_duplicate_acknowledgement() {
        let mut replies = Replies::new(2);
        replies.acknowledge(150, 0, &[]).send(200, 0..1).send(201, 1..2);
        for time in [290, 291, 292] {
            let unknown = Owed::Unknown(OwedUnknown::GapReported);
            replies.acknowledge(time, 0, &[[1, 2]]);
            match time {
                292 => assert!(replies.owed().iter().all(|owed| matches!(owed, Owed::ReplyAgain(_)))),
                _ => assert_eq!(replies.owed(), [unknown, unknown], "{time}"),
            }
        }
    }

    /// Nothing in the capture asked for the segment, so it may just have come late.
    #[test]
    fn a_reply_behind_a_capture_gap_ends_when_filled() {
        let mut replies = Replies::new(2);
        replies.send(250, 0..1).send(210, 1..2).acknowledge(330, 2, &[]);
        assert_eq!(replies.ends(), [Some(250), Some(250)]);
    }

    /// No sender reacts within a microsecond to the report of the second gap. The first was reported long before.
    #[test]
    fn a_segment_sooner_than_its_sender_reacts_is_late() {
        let mut replies = Replies::new(4);
        replies.send(200, 0..1).send(201, 1..2).acknowledge(202, 0, &[[1, 2]]);
        replies.send(1_400, 3..4).acknowledge(1_401, 0, &[[1, 2], [3, 4]]).send(1_402, 2..3);
        replies.trace.packets.iter_mut().for_each(|(_, packet)| packet[4..6].fill(0));
        let (_, counts) = replies.found();
        assert_eq!((counts.retransmitted, counts.replaced), (0, 0));
    }

    /// The client is next to where packets are captured: its report of the gap comes at once, and the segment that was missing is
    /// late. With a later identification it was retransmitted.
    #[test]
    fn a_late_segment_after_its_gap_report_is_no_retransmission() {
        for is_late in [true, false] {
            let mut replies = Replies::new(3);
            replies.send(200, 0..1).acknowledge(201, 1, &[]);
            if is_late {
                replies.send(212, 1..2).send(210, 2..3);
            } else {
                replies.lose().send(210, 2..3).send(212, 1..2);
            }
            replies.acknowledge(211, 1, &[[2, 3]]).acknowledge(213, 3, &[]);
            let (_, counts) = replies.found();
            assert_eq!((counts.retransmitted, counts.replaced), (0, u64::from(!is_late)), "{is_late}");
            assert_eq!(replies.ends(), [Some(200), Some(212), Some(212)]);
        }
    }
}

/// Two replies are refused together, and retransmitted one after the other.
#[test]
fn each_retransmitted_reply_counts_for_its_own_rpc() {
    let mut trace = Trace::new();
    for (time, xid) in [(100, 1), (120, 2)] {
        let call = trace.call(xid);
        trace.at(time, &call).accept(time + 10);
    }
    let first = trace.wire.server.next;
    let replies = [1, 2].map(|xid| trace.reply(xid));
    let refusal = trace.wire.nak(Client, first);
    trace.at(200, &replies[0]).at(210, &replies[1]).at(220, &[refusal]);
    trace.at(500_200, &replies[0]).at(500_210, &replies[1]).acknowledge(500_220);
    let resent = |transaction: &Transaction| transaction.recovery.as_ref().unwrap().retransmitted_packets;
    assert_eq!(trace.transactions().iter().map(resent).collect::<Vec<_>>(), [1, 1]);
}

/// The last frame is the client's acknowledgement, and the one before that the reply.
#[test]
fn a_responder_that_provides_a_reply_has_sent_it() {
    let [transaction] = &of_capture("situations/reply_provided")[..] else { panic!("one RPC") };
    let last = transaction.waiting.unwrap().responder.unwrap();
    assert_eq!((last.step, last.stamp.frame), (Step::Reply, 6));
    let steps = transaction.steps.as_ref().unwrap().runs();
    let frames: Vec<_> = steps.iter().filter(|run| run.step == Some(Step::Reply)).map(|run| run.first.frame).collect();
    assert_eq!(frames, [6]);
}

/// The first of three packets has the XID.
#[test]
fn an_rpc_whose_call_lacks_a_packet_has_no_phases() {
    for missed in [1, 2] {
        let mut trace = Trace::from_wire(Wire { mtu: 256, ..Wire::default() });
        let mut call =
            trace.wire.send(Client, &message(MSG, 1, &Lists::default(), &call(1, [400_000, 1, 7], &[7; 600])));
        call.remove(missed);
        let reply = trace.reply(1);
        trace.at(100, &call).accept(110).at(200, &reply).acknowledge(210);
        assert_eq!(trace.only().phases, Err(NotTimed::Missed), "{missed}");
    }
}
