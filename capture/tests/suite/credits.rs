//! For how long requesters had no credit, measured against the times of calls and replies and the credits in the replies.

use rpcrdma_answers::stats::{IntervalStatistics, Intervals};
use rpcrdma_dissector::{
    Config, CreditLimit, CreditWaitUnknown, Dissector, Event, Frame, LinkType, Owed, Reader, Time, Transaction,
};

use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, null, reply, words};
use crate::synthetic::{Found, Packet, Wire};
use crate::transcode::{self, Pcap, Record};

fn file(records: &[Record]) -> Vec<u8> {
    transcode::write_pcap(records, Pcap { nanoseconds: true, ..Pcap::default() })
}

/// The frames of a capture of RoCEv2 over IPv4, with another `rdma_credit` in what 192.0.2.1 sends.
fn granting(name: &str, granted: u32) -> Vec<Record> {
    let mut records = transcode::capture(name);
    for Record { data, .. } in &mut records {
        if data[12..14] != [8, 0] || data[23] != 17 || data[36..38] != 4791_u16.to_be_bytes() || data[29] != 1 {
            continue;
        }
        // The first or only packet of a Send to a queue pair that is not that of connection management.
        let header = match data[42] {
            0x00 | 0x04 => 54,
            0x17 => 58,
            _ => continue,
        };
        if data[47..50] != [0, 0, 1] {
            data[header + 8..header + 12].copy_from_slice(&granted.to_be_bytes());
        }
    }
    records
}

fn dissect(file: &[u8]) -> Found {
    let (mut reader, mut dissector) = (Reader::new(file).unwrap(), Dissector::new(Config::default()));
    let mut found = Found::default();
    while let Some(frame) = reader.next() {
        dissector.frame(&frame.unwrap());
        found.take_events(&mut dissector);
    }
    found.finish(dissector)
}

/// The time at which a call began, and the times at which the call and its reply were complete.
struct Wait {
    began: u64,
    call: u64,
    reply: u64,
}

impl Wait {
    fn from_transaction(transaction: &Transaction) -> Self {
        let call = transaction.call.as_ref().unwrap().stamp.time.0;
        Self { began: transaction.began.unwrap().time.0, call, reply: transaction.reply.as_ref().unwrap().stamp.time.0 }
    }
}

/// Returns the intervals in which as many calls waited as there were credits. Before the first reply there is one.
fn stretches(waits: &[Wait], granted: usize) -> Vec<(u64, u64)> {
    let first = waits.iter().map(|wait| wait.reply).min().unwrap();
    let mut times: Vec<u64> = waits.iter().flat_map(|wait| [wait.call, wait.reply]).collect();
    times.sort_unstable();
    times.dedup();
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for pair in times.windows(2) {
        let calls = waits.iter().filter(|wait| (wait.call..wait.reply).contains(&pair[0])).count();
        if calls < if pair[0] < first { 1 } else { granted } {
            continue;
        }
        match stretches.last_mut() {
            Some((_, end)) if *end == pair[0] => *end = pair[1],
            _ => stretches.push((pair[0], pair[1])),
        }
    }
    stretches
}

/// Calls that were sent although there was no credit, in a stretch of time.
fn over(waits: &[Wait], (start, end): (u64, u64)) -> impl Iterator<Item = &Wait> {
    waits.iter().filter(move |wait| (start + 1..end).contains(&wait.call))
}

/// The wait of each call, as the times say. `None` if there was no credit: then a reply may have been missed.
fn expected(waits: &[Wait], granted: usize) -> Vec<Option<u64>> {
    let stretches = stretches(waits, granted);
    let wait = |wait: &Wait| {
        if stretches.iter().any(|(start, end)| (start + 1..*end).contains(&wait.call)) {
            return None;
        }
        let Some(before) = stretches.iter().rfind(|(_, end)| *end <= wait.call) else { return Some(0) };
        let is_next = waits.iter().all(|other| !(before.1..wait.call).contains(&other.call));
        let since = over(waits, *before).map(|over| over.began).max().unwrap_or(before.0);
        let length = before.1 - since;
        Some(if is_next && wait.began - before.1 < length { length } else { 0 })
    };
    waits.iter().map(wait).collect()
}

/// As if the server granted fewer credits. In all of these, the Linux client has no more than two calls waiting.
#[test]
fn calls_wait_while_all_credits_are_in_use() {
    for (name, granted, is_kept, least) in [
        ("nfs41_lossy", 1, false, 5_000_000_000),
        ("nfs41_lossy", 2, true, 1_000_000_000),
        ("nfs41_lossy", 3, true, 1),
        ("nfs3", 1, false, 100_000_000),
        ("nfs40", 32, true, 1),
    ] {
        let found = dissect(&file(&granting(name, granted)));
        let (mut total, mut broken) = (0, 0);
        for report in &found.reports {
            let of = |transaction: &&Transaction| Some(transaction.connection) == report.number;
            let transactions: Vec<&Transaction> = found.transactions.iter().filter(of).collect();
            let waits: Vec<Wait> = transactions.iter().map(|transaction| Wait::from_transaction(transaction)).collect();
            for (transaction, expected) in transactions.iter().zip(expected(&waits, granted as usize)) {
                broken += usize::from(expected.is_none());
                let expected = expected.ok_or(CreditWaitUnknown::Missed);
                assert_eq!(transaction.credit_wait, expected, "{name} {granted}: {:#x}", transaction.xid);
            }
            let (mut reached, mut unknown) = (0, 0);
            for (start, end) in stretches(&waits, granted as usize) {
                let since = over(&waits, (start, end)).map(|over| over.began).max().unwrap_or(start);
                (reached, unknown) = (reached + end - since, unknown + since - start);
            }
            let times = report.credit_times.active;
            assert_eq!((times.reached, times.unknown), (reached, unknown), "{name} {granted}");
            total += reached;
        }
        assert_eq!(broken == 0, is_kept, "{name} {granted}: {broken}");
        assert!(total >= least, "{name} {granted}: {total}");
    }
}

/// The sum over the intervals is that over the connections.
#[test]
fn intervals_count_the_same_time_at_the_limit() {
    for granted in [2, 3] {
        let octets = file(&granting("nfs41_lossy", granted));
        let (mut reader, mut dissector) = (Reader::new(octets.as_slice()).unwrap(), Dissector::new(Config::default()));
        let (mut intervals, mut sum, mut total) = (Intervals::new(100_000_000), 0, 0);
        let mut take = |interval: &IntervalStatistics| {
            sum += interval.calls.at_limit_ns;
            Ok(())
        };
        let mut give = |dissector: &mut Dissector| {
            while let Some(event) = dissector.event() {
                intervals.event(dissector.summary().first.unwrap(), &event, &mut take).unwrap();
                if let Event::Connection(report) = event {
                    total += report.credit_times.active.reached;
                }
            }
        };
        while let Some(frame) = reader.next() {
            dissector.frame(&frame.unwrap());
            give(&mut dissector);
        }
        dissector.finish();
        give(&mut dissector);
        intervals.finish(dissector.summary().last, &mut take).unwrap();
        assert_eq!(sum, total, "{granted} credits");
        assert!(total > 0, "one call before the first reply");
    }
}

/// A client that calls before the server has answered has to have a credit for it.
struct Trace {
    wire: Wire,
    packets: Vec<(u64, Packet)>,
    /// Of them, those of the setup.
    set_up: usize,
}

impl Trace {
    /// A connection with its setup, in the first ten microseconds.
    fn new() -> Self {
        let mut wire = Wire::default();
        let packets: Vec<_> = (0..).zip(wire.connect()).collect();
        let set_up = packets.len();
        Self { wire, packets, set_up }
    }

    fn call(&mut self, time: u64, xid: u32) {
        let octets = [words(&[xid, 1, 32, MSG]), Lists::default().encode(), null(xid)].concat();
        self.packets.extend(self.wire.send(Client, &octets).into_iter().map(|packet| (time, packet)));
        self.packets.push((time + 1, self.wire.ack_all(Server)));
    }

    /// A call of version 2, in the wire format of family B: RDMA2_CALL_INLINE.
    fn call_v2(&mut self, time: u64, xid: u32) {
        let octets = [words(&[xid, 2, 1_048_584, 10, 0, 0, 0, 0]), null(xid)].concat();
        self.packets.extend(self.wire.send(Client, &octets).into_iter().map(|packet| (time, packet)));
        self.packets.push((time + 1, self.wire.ack_all(Server)));
    }

    fn reply(&mut self, time: u64, xid: u32, granted: u32) {
        let octets = [words(&[xid, 1, granted, MSG]), Lists::default().encode(), reply(xid, &[])].concat();
        self.packets.extend(self.wire.send(Server, &octets).into_iter().map(|packet| (time, packet)));
    }

    /// With the packets from `first` on, and without the one at `missing`.
    fn found(&self, first: usize, missing: Option<u64>) -> Found {
        let mut dissector = Dissector::new(Config::default());
        let mut found = Found::default();
        let packets = self.packets.iter().skip(first).filter(|(time, _)| Some(*time) != missing);
        for (number, (time, data)) in (1..).zip(packets) {
            let length = data.len() as u32;
            let (time, link) = (Time(time * 1000), LinkType(101));
            dissector.frame(&Frame { number, time, link, data, length });
            found.take_events(&mut dissector);
        }
        found.finish(dissector)
    }
}

/// Three calls, with two credits, and a fourth: microseconds.
fn two_credits() -> Trace {
    let mut trace = Trace::new();
    trace.call(100, 1);
    trace.reply(150, 1, 2);
    trace.call(190, 2);
    trace.call(210, 3);
    trace.reply(1410, 2, 2);
    trace.call(1412, 4);
    trace.reply(1500, 3, 2);
    trace.reply(1600, 4, 2);
    // There has been a credit for longer than there had been none.
    trace.call(1700, 5);
    trace.reply(1800, 5, 2);
    trace
}

#[test]
fn a_call_waits_until_the_reply_that_frees_a_credit() {
    let found = two_credits().found(0, None);
    let waits = [1, 2, 3, 4, 5].map(|xid| found.only_rpc(xid).credit_wait);
    assert_eq!(waits, [Ok(0), Ok(50_000), Ok(0), Ok(1_200_000), Ok(0)]);
    let times = found.reports[0].credit_times.active;
    assert_eq!((times.reached, times.unknown), (50_000 + 1_200_000 + 88_000, 0));
    assert_eq!(found.reports[0].credit_times.passive.reached, 0);
}

/// In version 2 a credit is for one message, and nothing limits the calls of a client to one before the first reply.
#[test]
fn the_credit_wait_of_a_version_2_call_is_unknown() {
    let mut trace = Trace::new();
    trace.call_v2(100, 1);
    let reply_v2 = |xid| [words(&[xid, 2, 1_048_584, 13, 0]), reply(xid, &[])].concat();
    trace.packets.extend(trace.wire.send(Server, &reply_v2(1)).into_iter().map(|packet| (2_100, packet)));
    trace.call_v2(2_101, 2);
    trace.packets.extend(trace.wire.send(Server, &reply_v2(2)).into_iter().map(|packet| (2_200, packet)));
    let found = trace.found(0, None);
    assert_eq!([1, 2].map(|xid| found.only_rpc(xid).credit_wait), [Err(CreditWaitUnknown::Version2); 2]);
    let times = found.reports[0].credit_times.active;
    assert_eq!((times.reached, times.unknown), (0, 2_100_000));
}

#[test]
fn joined_late_credit_waits_are_unknown_until_all_are_used() {
    let trace = two_credits();
    // Without the setup.
    let found = trace.found(trace.set_up, None);
    let waits = [1, 2, 3, 4, 5].map(|xid| found.only_rpc(xid).credit_wait);
    let joined = Err(CreditWaitUnknown::JoinedLate);
    assert_eq!(waits, [joined, joined, joined, Ok(1_200_000), Ok(0)]);
    let times = found.reports[0].credit_times.active;
    assert_eq!((times.reached, times.unknown), (1_200_000 + 88_000, 210_000 - 100_000));
}

#[test]
fn what_the_capture_misses_makes_no_wait() {
    // The call that used the last credit; the reply that gave one back.
    for missing in [210, 1410] {
        let found = two_credits().found(0, Some(missing));
        let wait = |xid| found.transactions.iter().find(|transaction| transaction.xid == xid).unwrap().credit_wait;
        let missed = Err(CreditWaitUnknown::Missed);
        assert_eq!([1, 2, 4].map(wait), [Ok(0), Ok(50_000), missed], "without {missing}");
        let times = found.reports[0].credit_times.active;
        assert!(times.unknown > 0 && times.reached < 1_200_000, "without {missing}: {times:?}");
    }
}

#[test]
fn a_silent_server_owes_a_credit_if_all_are_used() {
    for (granted, limit) in [(1, CreditLimit::Reached), (2, CreditLimit::Below)] {
        let mut trace = Trace::new();
        trace.call(100, 1);
        trace.reply(150, 1, granted);
        trace.call(200, 2);
        // Something else goes on for a while.
        trace.packets.push((5_200, vec![0; 40]));
        let found = trace.found(0, None);
        let waiting = found.only_rpc(2).waiting.unwrap();
        assert_eq!((waiting.owed, waiting.credits.limit), (Owed::Reply, limit));
        let times = found.reports[0].credit_times.active;
        let pending = if granted == 1 { 5_000_000 } else { 0 };
        assert_eq!((times.reached, times.unknown), (50_000 + pending, 0), "until the capture ends");
    }
}

/// Replies that were lost behind the capture, in microseconds. The first call is answered at 150, and its reply acknowledged.
mod lost {
    use super::*;

    fn granted(credits: u32) -> Trace {
        let mut trace = Trace::new();
        trace.call(100, 1);
        trace.reply(150, 1, credits);
        trace.acknowledge(151);
        trace
    }

    impl Trace {
        fn acknowledge(&mut self, time: u64) {
            self.packets.push((time, self.wire.ack_all(Client)));
        }

        /// The client refuses the last of `replies`, and what follows.
        fn refuse(&mut self, time: u64, replies: u32) {
            let number = self.wire.server.next - replies;
            let packet = self.wire.nak(Client, number);
            self.packets.push((time, packet));
        }

        /// The packet of this time is retransmitted.
        fn again(&mut self, time: u64, first: u64) {
            let (_, packet) = self.packets.iter().find(|(sent, _)| *sent == first).unwrap();
            self.packets.push((time, packet.clone()));
        }

        fn waits(&self, calls: u32) -> (Vec<Result<u64, CreditWaitUnknown>>, [u64; 2]) {
            let found = self.found(0, None);
            let times = found.reports[0].credit_times.active;
            ((1..=calls).map(|xid| found.only_rpc(xid).credit_wait).collect(), [times.reached, times.unknown])
        }
    }

    #[test]
    fn a_refused_reply_returns_its_credit_when_accepted() {
        let mut trace = granted(1);
        trace.call(200, 2);
        trace.reply(300, 2, 1);
        trace.refuse(310, 1);
        trace.again(500_300, 300);
        trace.acknowledge(500_310);
        trace.call(500_320, 3);
        // The third is under way for a microsecond.
        let times = [50_000 + 500_100_000 + 1_000, 0];
        assert_eq!(trace.waits(3), (vec![Ok(0), Ok(0), Ok(500_100_000)], times));
    }

    #[test]
    fn the_next_call_may_precede_the_acknowledgement() {
        let mut trace = granted(1);
        trace.call(200, 2);
        trace.reply(300, 2, 1);
        trace.refuse(310, 1);
        trace.again(500_300, 300);
        trace.call(500_305, 3);
        trace.acknowledge(500_310);
        assert_eq!(trace.waits(3).0, [Ok(0), Ok(0), Ok(500_100_000)]);
    }

    #[test]
    fn replies_that_were_refused_together_return_a_credit_each() {
        let mut trace = granted(2);
        trace.call(200, 2);
        trace.call(210, 3);
        trace.reply(300, 2, 2);
        trace.reply(301, 3, 2);
        trace.refuse(310, 2);
        trace.again(500_210, 300);
        trace.again(500_220, 301);
        trace.acknowledge(500_230);
        [(500_240, 4), (500_241, 5)].into_iter().for_each(|(time, xid)| trace.call(time, xid));
        // The fourth and the fifth are under way: the limit is reached again for a microsecond.
        let waits = vec![Ok(0), Ok(0), Ok(0), Ok(500_000_000), Ok(0)];
        assert_eq!(trace.waits(5), (waits, [50_000 + 500_000_000 + 1_000, 0]));
    }

    #[test]
    fn a_call_before_the_refusal_used_another_credit() {
        for (credits, wait) in [(8, 0), (2, 585_000)] {
            let mut trace = granted(credits);
            trace.call(190, 2);
            trace.reply(1410, 2, credits);
            trace.call(1415, 3);
            trace.refuse(1430, 1);
            trace.again(2000, 1410);
            trace.acknowledge(2005);
            trace.call(2010, 4);
            let (waits, [reached, unknown]) = trace.waits(4);
            assert_eq!(waits, [Ok(0), Ok(50_000), Ok(0), Ok(wait)], "{credits}");
            // At the end, the third and the fourth wait for one microsecond.
            let end = if credits == 2 { 1_000 } else { 0 };
            assert_eq!((reached, unknown), (50_000 + wait + end, 0), "{credits}");
        }
    }

    #[test]
    fn a_refusal_covers_the_replies_sent_before_it() {
        let mut trace = granted(2);
        trace.call(190, 2);
        trace.reply(1410, 2, 2);
        trace.call(1415, 3);
        trace.reply(1420, 3, 2);
        trace.refuse(1430, 2);
        trace.again(2000, 1410);
        trace.again(2001, 1420);
        trace.acknowledge(2005);
        trace.call(2010, 4);
        assert_eq!(trace.waits(4), (vec![Ok(0), Ok(50_000), Ok(0), Ok(585_000)], [50_000 + 585_000, 0]));
    }

    #[test]
    fn after_only_a_time_out_the_credit_return_is_unknown() {
        for (credits, expected, unknown) in [(1, Err(CreditWaitUnknown::ReplyArrival), 500_000_000), (8, Ok(0), 0)] {
            let mut trace = granted(credits);
            trace.call(200, 2);
            trace.reply(300, 2, credits);
            trace.again(500_300, 300);
            trace.acknowledge(500_310);
            trace.call(500_320, 3);
            let (waits, times) = trace.waits(3);
            assert_eq!(waits, [Ok(0), Ok(0), expected], "{credits}");
            // With one credit, there was none from the second call to its reply, and for the call at the end.
            let reached = if credits == 1 { 100_000 + 1_000 } else { 0 };
            assert_eq!(times, [50_000 + reached, unknown], "{credits}");
        }
    }

    /// With one credit, a call shows that the reply before it was accepted.
    #[test]
    fn a_call_between_two_copies_takes_the_only_credit() {
        let mut trace = granted(1);
        trace.call(200, 2);
        trace.reply(300, 2, 1);
        trace.call(400, 3);
        trace.again(500_300, 300);
        trace.acknowledge(500_310);
        trace.reply(500_400, 3, 1);
        trace.call(500_410, 4);
        let wait = 500_400_000 - 400_000;
        assert_eq!(trace.waits(4).0, [Ok(0), Ok(0), Err(CreditWaitUnknown::ReplyArrival), Ok(wait)]);
    }

    #[test]
    fn a_reply_that_never_came_again_returns_no_credit() {
        let mut trace = granted(1);
        trace.call(200, 2);
        trace.reply(300, 2, 1);
        trace.refuse(310, 1);
        trace.packets.push((5_200, vec![0; 40]));
        let found = trace.found(0, None);
        let credits = found.only_rpc(2).waiting.unwrap().credits;
        assert_eq!((credits.waiting, credits.limit), (1, CreditLimit::Reached));
        assert_eq!(found.reports[0].credit_times.active.reached, 50_000 + 5_000_000);
    }

    #[test]
    fn with_calls_given_up_in_between_nothing_is_said() {
        let mut trace = granted(1);
        trace.call(200, 2);
        trace.reply(300, 2, 1);
        trace.call(305, 3);
        trace.call(306, 3);
        trace.refuse(310, 1);
        trace.again(500_300, 300);
        trace.acknowledge(500_310);
        trace.call(500_320, 4);
        assert_eq!(trace.found(0, None).only_rpc(4).credit_wait, Err(CreditWaitUnknown::Missed));
    }
}
