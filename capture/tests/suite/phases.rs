//! Phases of RPCs, measured against the times of the frames.

use rpcrdma_dissector::{Config, NotTimed, Phase, Phases, Transaction};

use crate::common::{Found, dissect};
use crate::transcode::{self, Pcap, Record};

/// Of the others, some calls are not timed, or nothing is called.
fn captures() -> impl Iterator<Item = &'static str> {
    let others = ["perftest", "same_xid", "withdrawn"];
    let roce = transcode::ROCE_CAPTURES.into_iter().filter(move |name| !others.contains(name));
    roce.chain(["iwarp_nfs3_lossy", "iwarp_nfs41"])
}

fn dissect_records(records: &[Record]) -> Found {
    dissect(&transcode::write_pcap(records, Pcap { nanoseconds: true, ..Pcap::default() }), Config::default())
}

/// Nanoseconds from the first frame of the call's Send to the last of the reply's.
fn between_frames(transaction: &Transaction) -> Option<u64> {
    let (began, reply) = (transaction.began?, transaction.reply.as_ref()?);
    reply.stamp.time.0.checked_sub(began.time.0)
}

#[test]
fn phases_add_up_to_the_time_between_frames() {
    // The replies in 209 and 888 were retransmitted 206 and 209 ms later, and acknowledged only after that.
    let unknown = [("iwarp_nfs3_lossy", 208), ("iwarp_nfs3_lossy", 887)];
    for name in captures() {
        let found = dissect_records(&transcode::capture(name));
        let answered = found.transactions.iter().filter(|transaction| transaction.reply.is_some());
        assert!(answered.clone().count() >= 2, "{name}");
        for transaction in answered {
            let call = transaction.call.as_ref().unwrap().stamp.frame;
            let Ok(phases) = transaction.phases else {
                assert!(unknown.contains(&(name, call)), "{name} {call}: {:?}", transaction.phases);
                continue;
            };
            // The reply to call 192 is in frame 199. TCP sent segments of an RDMA Write before it again, the last of them in
            // frame 204, with which the reply arrived: 9.031 ms.
            assert_eq!(Some(phases.total()), between_frames(transaction), "{name} {call}");
            assert!(call != 192 || name != "iwarp_nfs3_lossy" || phases.total() == 9_031_000);
            assert_eq!(transaction.latency(), Some(phases.total()), "{name} {call}");
        }
    }
}

/// The times are those that `tshark -T fields -e frame.number -e frame.time_epoch` shows, in microseconds of their second.
#[test]
fn phases_are_the_times_between_frames() {
    let microseconds = |phases: Phases| {
        let Phases { call, responder, rdma_read, rdma_write, reply, requester } = phases;
        [call, responder, rdma_read, rdma_write, reply, requester].map(|nanoseconds| nanoseconds as f64 / 1000.0)
    };
    for (name, xid, expected) in [
        // READ. Call 251, Writes 253 to 316, reply 317.
        ("nfs41", 0x4bd1_38ec, [0, (875_086 - 872_330) + (879_445 - 879_443), 0, 879_443 - 875_086, 0, 0]),
        // WRITE. Call 693, Read requests 695 to 698, last response 762, reply 763.
        ("nfs41", 0x53d1_38ec, [0, (109_847 - 107_963) + (116_653 - 113_460), 113_460 - 109_847, 0, 0, 0]),
        // A call in the packets 1182 to 1184, reply 1186.
        ("nfs41", 0x64d1_38ec, [585_668 - 585_524, 589_932 - 585_668, 0, 0, 0, 0]),
        // READ. Call 246, Writes 248 to 405, of which some came again two seconds later, reply 406.
        // The server sent the reply in frame 310 too, and the client refused that.
        ("nfs41_lossy", 0xc73d_34c3, [0, 630_503 - 628_041, 0, 2_941_432 - 630_503, 941_433 - 941_432, 0]),
        // READ. Call 569, Writes 571 to 633, reply 643.
        ("iwarp_nfs41", 0x13ff_d0df, [0, (886_665 - 878_220) + (897_305 - 890_946), 0, 890_946 - 886_665, 0, 0]),
        // WRITE. Call 650, Read request 651, last response 725, which TCP retransmitted, in the next second; reply 726.
        ("iwarp_nfs3_lossy", 0x27a9_837c, [0, (843_609 - 839_975) + (81_016 - 65_355), 1_065_355 - 843_609, 0, 0, 0]),
        // A call in the segments 1174 and 1175, reply 1177.
        ("iwarp_nfs3_lossy", 0x37a9_837c, [58_854 - 57_316, 63_254 - 58_854, 0, 0, 0, 0]),
    ] {
        let found = dissect_records(&transcode::capture(name));
        let phases = found.only_rpc(xid).phases.unwrap();
        assert_eq!(microseconds(phases), expected.map(f64::from), "{name} {xid:#x}");
    }
}

/// The server waits 2 ms in connections 4 to 6, and 12 ms in 7 to 9: before each call, each RDMA Read, or the RDMA Writes. No
/// call is faster than its delay, but an emulated machine may be slow to wake up; so the fastest of ten are compared.
#[test]
fn delays_of_a_server_are_time_of_the_responder() {
    let found = dissect_records(&transcode::capture("delays"));
    for number in 1..=3 {
        for phase in Phase::ALL {
            let [without, short, long] =
                [number, number + 3, number + 6].map(|connection| best(&found, connection, phase));
            if phase == Phase::Responder {
                assert!((long - short - 10.0).abs() < 1.0, "{number}: {short} and {long} ms");
                assert!(short >= 2.0 && long >= 12.0, "{number}: {short} and {long} ms");
            } else {
                assert!((long - without).abs() < 1.0, "{number}, {}: {without} and {long} ms", phase.name());
            }
        }
    }
}

/// The least of a phase of the calls of a connection, in milliseconds.
fn best(found: &Found, connection: u32, phase: Phase) -> f64 {
    let of = found.transactions.iter().filter(|transaction| transaction.connection == connection);
    of.map(|transaction| transaction.phases.unwrap().phase_time(phase) as f64 / 1e6).fold(f64::INFINITY, f64::min)
}

/// An end holds the frames that it sends, for 2 ms in connections with odd numbers, and for 5 ms in those with even ones. What
/// waits for them is an RDMA Read of the server, if the client holds them, and the call, if the server does, twice where it
/// pulls: for the RDMA Read request and for the reply.
#[test]
fn delayed_frames_count_in_the_phase_that_waits() {
    for name in ["held", "iwarp_held"] {
        let found = dissect_records(&transcode::capture(name));
        for (number, waits, times) in [
            (1, None, 0.0),
            (3, Some(Phase::RdmaRead), 1.0),
            (5, None, 0.0),
            (7, Some(Phase::Responder), 1.0),
            (9, Some(Phase::Responder), 2.0),
            (11, Some(Phase::Responder), 1.0),
        ] {
            for phase in Phase::ALL {
                let [short, long] = [number, number + 1].map(|connection| best(&found, connection, phase));
                let held = if waits == Some(phase) { 3.0 * times } else { 0.0 };
                let context = format!("{name}, {number}, {}: {short} and {long} ms", phase.name());
                // The server's own time is what a machine takes to wake up.
                assert!((long - short - held).abs() < 1.0 || (phase == Phase::Responder && held == 0.0), "{context}");
                assert!(held == 0.0 || short >= 2.0 * times, "{context}");
            }
        }
    }
}

/// The numbers of the kernels for an RPC, in microseconds.
struct KernelTimes {
    /// From the call to the reply, at the client.
    round_trip: u64,
    /// From the request of the server's RDMA Reads to their completion.
    read: Option<u64>,
    /// Time of the server's upper layers.
    execute: u64,
}

/// The numbers of the kernels for `kernel_trace.pcap.gz`.
fn kernel_times() -> Vec<(u32, KernelTimes)> {
    let table = include_str!("phases/kernel_trace.txt");
    let row = |line: &str| {
        let [xid, _, round_trip, read, execute] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let xid = u32::from_str_radix(xid.trim_start_matches("0x"), 16).unwrap();
        let [round_trip, execute] = [round_trip, execute].map(|time| time.parse().unwrap());
        (xid, KernelTimes { round_trip, read: read.parse().ok(), execute })
    };
    table.lines().skip(1).map(row).collect()
}

/// The most microseconds from the arrival of a packet until these emulated machines notice it, which no phase contains.
const NOTICED: u64 = 30_000;

/// Nothing shows when a server had all data, or when it began with the reply, so its time has bounds: it is no shorter than what its
/// upper layers took, and no longer than what is left beside the RDMA Reads. Before the capture, 2.3 s passed for one call.
#[test]
fn phases_agree_with_the_traces_of_both_kernels() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/kernel_trace.pcap.gz");
    let found = dissect(&std::fs::read(path).unwrap(), Config::default());
    let times = kernel_times();
    assert_eq!(times.len(), 58);
    for (xid, KernelTimes { round_trip, read, execute }) in times {
        let phases = found.only_rpc(xid).phases.unwrap();
        let [pull, responder, latency] = [phases.rdma_read, phases.responder, phases.total()].map(|time| time / 1_000);
        let context = format!("{xid:#x}: {phases:?}, {round_trip}, {read:?}, {execute}");
        assert!(latency <= round_trip && responder + phases.rdma_write / 1_000 >= execute, "{context}");
        // Between two of its RDMA Reads, the adapter sends nothing for 29.5 ms.
        let between = if xid == 0xbe8c_23f1 { 29_469 } else { 0 };
        let (pull, responder) = (pull + between, responder - between);
        assert!(responder <= round_trip - read.unwrap_or(0) + NOTICED, "{context}");
        assert!(read.map_or(pull == 0, |read| (pull..=pull + NOTICED).contains(&read)), "{context}");
    }
}

/// The numbers of the kernels for an RPC in `kernel_trace_client.pcap.gz` and `kernel_trace_server.pcap.gz`, in microseconds. Each machine
/// captured and traced with one clock.
struct BothKernels {
    xid: u32,
    /// Frames were lost at the time.
    is_lossy: bool,
    round_trip: u64,
    /// From the completion of the server's Receive to the post of the reply.
    server: u64,
    read: Option<u64>,
    execute: u64,
}

fn both_kernels() -> Vec<BothKernels> {
    let table = include_str!("phases/kernel_trace_ends.txt");
    let row = |line: &str| {
        let [xid, _, lossy, round_trip, server, read, execute] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let [round_trip, server, execute] = [round_trip, server, execute].map(|time| time.parse().unwrap());
        let xid = u32::from_str_radix(xid.trim_start_matches("0x"), 16).unwrap();
        BothKernels { xid, is_lossy: lossy == "yes", round_trip, server, read: read.parse().ok(), execute }
    };
    table.lines().skip(1).map(row).collect()
}

/// Captured on one of the machines.
fn captured_by(end: &str) -> Found {
    let path = format!("{}/../testdata/captures/kernel_trace_{end}.pcap.gz", env!("CARGO_MANIFEST_DIR"));
    dissect(&std::fs::read(path).unwrap(), Config::default())
}

/// Microseconds by which a time may differ from the kernel's: 1 ms or 5 %.
fn margin(kernel: u64) -> u64 {
    (kernel / 20).max(1_000)
}

/// Without loss, 99 of 100 RPCs agree. What is left of RDMA Reads, at most 0.9 ms, is what soft RoCE takes to check and copy the last responses.
/// The clocks of these machines count instructions: with ones that follow a busy host, 58 to 82 % of the times of the server and 69 to 96 % of
/// the RDMA Reads agreed, because soft RoCE runs some milliseconds after a packet arrived, or after a reply was posted.
#[test]
fn phases_agree_with_traces_of_both_kernels() {
    let (client, server) = (captured_by("client"), captured_by("server"));
    let mut times: [(&str, Vec<[u64; 2]>); 3] = [("round trip", vec![]), ("server", vec![]), ("RDMA Reads", vec![])];
    for BothKernels { xid, round_trip, server: own, read, execute, .. } in
        both_kernels().into_iter().filter(|times| !times.is_lossy)
    {
        let latency = client.only_rpc(xid).latency().unwrap() / 1_000;
        let phases = server.only_rpc(xid).phases.unwrap();
        let [responder, pull, push] = [phases.responder, phases.rdma_read, phases.rdma_write].map(|time| time / 1_000);
        assert!(responder + push >= execute, "{xid:#x}: {phases:?}, {execute}");
        // It posts the reply with the RDMA Writes before it.
        times[0].1.push([latency, round_trip]);
        times[1].1.push([responder + pull, own]);
        times[2].1.extend(read.map(|read| [pull, read]));
    }
    for (name, times) in times {
        let agree = times.iter().filter(|[found, kernel]| found.abs_diff(*kernel) <= margin(*kernel)).count();
        println!("{name}: {agree} of {}", times.len());
        assert!(times.len() > 60 && agree * 100 >= times.len() * 99, "{name}: {agree} of {}", times.len());
    }
}

/// The most microseconds that soft RoCE takes here from the arrival of the last response until it completes an RDMA Read.
const COMPLETED: u64 = 1_500;

/// Of what the server could do nothing about, such as the wait for frames that were lost, nothing is its own time.
#[test]
fn time_that_a_loss_took_is_not_the_servers() {
    let (server, mut recovered) = (captured_by("server"), 0);
    for BothKernels { xid, server: own, read, .. } in both_kernels().into_iter().filter(|times| times.is_lossy) {
        // The client repeated some calls on another connection.
        let mut found = server.transactions.iter().filter(|transaction| transaction.xid == xid);
        let (Some(found), None) = (found.next(), found.next()) else { continue };
        let (Ok(phases), Ok(recovery)) = (found.phases, &found.recovery) else { continue };
        let responder = (phases.responder - recovery.phases.responder) / 1_000;
        let own = own - read.unwrap_or(0);
        let most = own + margin(own).max(COMPLETED);
        assert!(responder <= most, "{xid:#x}: {responder}, not {own}: {phases:?} {recovery:?}");
        recovered += u64::from(recovery.phases.total() > 0);
    }
    assert!(recovered > 20, "{recovered}");
}

/// Of the WRITE in `nfs41` that is called in frame 693 and answered in 763.
const WRITE: u32 = 0x53d1_38ec;

#[test]
fn what_the_capture_misses_is_not_divided() {
    // The call, a Read request, a response, and the reply.
    for (frame, expected) in
        [(693, NotTimed::CallMissing), (696, NotTimed::Missed), (720, NotTimed::Missed), (763, NotTimed::ReplyMissing)]
    {
        let mut records = transcode::capture("nfs41");
        records.remove(frame - 1);
        let found = dissect_records(&records);
        assert_eq!(found.only_rpc(WRITE).phases, Err(expected), "without frame {frame}");
        let timed = found.transactions.iter().filter(|transaction| transaction.phases.is_ok()).count();
        assert!(timed > 60, "without frame {frame}: {timed}");
    }
}

#[test]
fn frames_that_are_cut_are_timed_as_whole_ones() {
    let whole = dissect_records(&transcode::capture("nfs41"));
    let cut = dissect_records(&transcode::cut(&transcode::capture("nfs41"), 128));
    let timed = |found: &Found| found.only_rpc(WRITE).phases;
    assert_eq!(timed(&whole), timed(&cut));
    assert!(timed(&cut).is_ok());
}

#[test]
fn times_that_go_backwards_are_no_phases() {
    let mut records = transcode::capture("nfs41");
    // From the RDMA Reads on, the clock is two milliseconds slow.
    records[694..].iter_mut().for_each(|record| record.time_ns -= 2_000_000);
    let found = dissect_records(&records);
    assert_eq!(found.only_rpc(WRITE).phases, Err(NotTimed::OutOfOrder));
    assert_eq!(found.only_rpc(WRITE).latency(), None);
    assert_eq!(found.transactions.iter().filter(|transaction| transaction.phases.is_err()).count(), 1);
}

#[test]
fn frames_out_of_order_leave_phases_that_add_up() {
    for name in ["nfs41", "nfs41_lossy", "iwarp_nfs41", "iwarp_nfs3_lossy"] {
        for seed in 0..4 {
            let found = dissect_records(&transcode::reordering(&transcode::capture(name), seed, 50, 4));
            for transaction in &found.transactions {
                let (Ok(phases), Some(between)) = (transaction.phases, between_frames(transaction)) else { continue };
                // Data that was moved may be captured after the reply.
                assert!((between..between + 300_000_000).contains(&phases.total()), "{name} {seed}: {:?}", phases);
            }
            let timed = found.transactions.iter().filter(|transaction| transaction.phases.is_ok()).count();
            assert!(timed * 3 > found.transactions.len() * 2, "{name} {seed}: {timed}");
        }
    }
}
