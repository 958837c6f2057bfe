//! Times for which data by RDMA was held up, by cause.

use rpcrdma_dissector::{Address, CongestionSigns, SenderTimes};

use super::cause::{Cause, PER_OCTET, RpcCauses, SLOW};
use super::tally::{RpcSubject, Tally};

/// Times for which data by RDMA was held up.
#[derive(Clone, Debug, Default)]
pub(super) struct TransferWaits {
    /// Pauses of the requester in sending data, and of the responder.
    pub(super) requester_paused: Tally,
    pub(super) responder_paused: Tally,
    /// The window of the requester was closed, and that of the responder.
    pub(super) requester_closed: Tally,
    pub(super) responder_closed: Tally,
    /// Data came slowly, with signs of congestion.
    pub(super) congested: Tally,
    /// Signs of congestion that came meanwhile, counted for each RPC.
    pub(super) congestion: CongestionSigns,
    /// The link was full with data of other RPCs.
    pub(super) link_full: Tally,
}

/// Nanoseconds for which the data that an end sends was held up for an RPC. No time counts twice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DataWait {
    paused: u64,
    window: u64,
    congested: u64,
    full: u64,
    congestion: CongestionSigns,
}

impl DataWait {
    /// Divides the time for which an RPC may have waited for data; `octets` of the data belong to the RPC.
    pub(super) fn new(times: &SenderTimes, whole: u64, octets: u64) -> Self {
        let mut left = whole;
        let mut take = |time: u64| {
            let taken = time.min(left);
            left -= taken;
            taken
        };
        let window = take(times.window);
        let is_congested = times.congestion.is_any();
        let slow = take(if is_congested { times.slowed.max(times.paused) } else { times.paused });
        let (paused, congested) = if is_congested { (0, slow) } else { (slow, 0) };
        let full = take(times.full.saturating_sub(octets.saturating_mul(PER_OCTET)));
        Self { paused, window, congested, full, congestion: times.congestion }
    }

    /// Sum of these times.
    pub(super) const fn total(&self) -> u64 {
        self.paused + self.window + self.congested + self.full
    }
}

/// Waits of an RPC for data of both ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataWaits {
    /// Data of the requester, which the responder reads.
    pub(super) read: DataWait,
    /// Data that the responder writes.
    pub(super) written: DataWait,
    /// The two ends.
    pub(super) requester: Address,
    pub(super) responder: Address,
}

impl TransferWaits {
    /// Adds the waits of an RPC, and their causes to `causes`.
    pub(super) fn add_waits(&mut self, waits: &DataWaits, subject: impl Fn() -> RpcSubject, causes: &mut RpcCauses) {
        let DataWaits { read, written, requester, responder } = *waits;
        let congested = read.congested.saturating_add(written.congested);
        let full = read.full.saturating_add(written.full);
        if congested >= SLOW {
            self.congestion.add_counts(read.congestion);
            self.congestion.add_counts(written.congestion);
        }
        let is_read = |read: u64, written: u64| read >= written;
        let amounts = [
            (&mut self.requester_paused, read.paused, Cause::SlowTransfer, true, "paused"),
            (&mut self.responder_paused, written.paused, Cause::SlowTransfer, false, "paused"),
            (&mut self.responder_closed, read.window, Cause::Window, true, "waited for a TCP window"),
            (&mut self.requester_closed, written.window, Cause::Window, false, "waited for a TCP window"),
            (
                &mut self.congested,
                congested,
                Cause::Congestion,
                is_read(read.congested, written.congested),
                "slowed down",
            ),
            (&mut self.link_full, full, Cause::LinkFull, is_read(read.full, written.full), "shared the link"),
        ];
        for (tally, amount, cause, is_read, how) in amounts {
            if amount >= SLOW {
                let (from, to) = if is_read { (requester, responder) } else { (responder, requester) };
                causes
                    .add_cause(cause, tally.add_with(amount, &subject(), || format!("data from {from} to {to} {how}")));
            }
        }
    }
}
