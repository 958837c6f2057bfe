//! An operation before and after.

use rpcrdma_dissector::{Half, NotTimed, Owed, OwedUnknown, Time, Transaction, WaitEnd, Waiting};
use serde::Serialize;

use super::chance::{Chance, Limit};
use super::fault::{FaultChange, FaultCount, FaultOutcome};
use super::rank::Chances;
use super::series::Series;
use crate::stats::{Forms, Histogram, Latency, Moved};

/// The most calls of an operation that wait at the end of the capture whose age is looked at.
const WAITING: usize = 4096;

/// The RPCs of one operation in one capture.
#[derive(Clone, Debug, Default)]
pub(super) struct PerOperation {
    /// Counts of faults, without the calls that waited at the end of the capture.
    faults: Faults,
    /// Times of these calls.
    waiting: Vec<Time>,
    latency: Histogram,
    latencies: Series,
    moved: Moved,
    calls: Forms,
    replies: Forms,
}

impl PerOperation {
    pub(super) fn add_rpc(&mut self, transaction: &Transaction) {
        self.faults.rpcs += 1;
        self.take_answer(transaction);
        if let Some(status) = transaction.status {
            self.faults.failed.add_rpc(status.is_failure());
        }
        match &transaction.recovery {
            Ok(recovery) => self.faults.retransmitted.add_rpc(recovery.retransmitted_packets > 0),
            // Of several copies of the reply, nothing shows which one arrived.
            Err(NotTimed::ArrivalUnknown) => self.faults.retransmitted.add_rpc(true),
            Err(_) => {}
        }
        match transaction.latency() {
            Some(latency) => {
                self.latency.record(latency);
                self.latencies.record(latency);
            }
            None => self.faults.latency_unknown += u64::from(transaction.reply.is_some()),
        }
        self.moved.add_octets(transaction.read_octets, transaction.write_octets);
        for (half, forms) in [(&transaction.call, &mut self.calls), (&transaction.reply, &mut self.replies)] {
            if let Some(Half { form, message: Ok(_), .. }) = half {
                forms.count_form(*form);
            }
        }
    }

    /// RPCs of these latencies, with their failures.
    #[cfg(test)]
    pub(super) fn from_rpcs(rpcs: &[(u64, bool)]) -> Self {
        let mut operation = Self::default();
        operation.faults.rpcs = rpcs.len() as u64;
        for (latency, is_failed) in rpcs {
            operation.latency.record(*latency);
            operation.latencies.record(*latency);
            operation.faults.unanswered.add_rpc(false);
            operation.faults.failed.add_rpc(*is_failed);
        }
        operation
    }

    fn take_answer(&mut self, transaction: &Transaction) {
        let Some(call) = &transaction.call else { return };
        match transaction.waiting {
            _ if transaction.reply.is_some() => self.faults.unanswered.add_rpc(false),
            // The reply may be among the packets that are missing.
            Some(Waiting { owed: Owed::Unknown(reason), .. }) if !is_reply_missing(reason) => {}
            None => {}
            Some(Waiting { end: WaitEnd::Capture, .. }) if self.waiting.len() < WAITING => {
                self.waiting.push(call.stamp.time);
            }
            Some(_) => self.faults.unanswered.add_rpc(true),
        }
    }

    /// Faults of the operation, if the capture ended at `ended`. A call that had waited for at most `slowest`, the greatest
    /// latency of the operation, does not count as unanswered.
    fn faults(&self, ended: Time, slowest: Option<u64>) -> Faults {
        let mut faults = self.faults;
        for called in &self.waiting {
            if slowest.is_some_and(|slowest| ended.0.saturating_sub(called.0) <= slowest) {
                faults.waiting += 1;
            } else {
                faults.unanswered.add_rpc(true);
            }
        }
        faults
    }
}

/// Returns true if the reply is missing, and not only from the capture, although the next expected packet is unknown.
const fn is_reply_missing(reason: OwedUnknown) -> bool {
    matches!(
        reason,
        OwedUnknown::SharedMemory | OwedUnknown::SameXid | OwedUnknown::ConnectionOver | OwedUnknown::WriteArrival
    )
}

/// Counts of faults.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    pub(super) rpcs: u64,
    /// Calls, divided into answered and unanswered ones.
    unanswered: FaultCount,
    waiting: u64,
    failed: FaultCount,
    retransmitted: FaultCount,
    latency_unknown: u64,
}

impl Faults {
    /// Adds the faults of another operation.
    pub(super) const fn add_counts(&mut self, other: &Self) {
        self.rpcs += other.rpcs;
        self.unanswered.add_counts(other.unanswered);
        self.waiting += other.waiting;
        self.failed.add_counts(other.failed);
        self.retransmitted.add_counts(other.retransmitted);
        self.latency_unknown += other.latency_unknown;
    }
}

/// Failed RPCs, and RPCs whose outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct FaultsObject {
    /// Calls that got no reply.
    pub(super) unanswered: u64,
    /// Calls whose answer is known to have come or not. Excludes calls whose reply may be missing from the capture, and
    /// `waiting` calls.
    pub(super) answer_known: u64,
    /// Calls without a reply when the capture ended that had waited for no longer than the slowest RPC of the operation took.
    pub(super) waiting: u64,
    /// RPCs that failed.
    pub(super) failed: u64,
    /// RPCs whose status is known.
    pub(super) status_known: u64,
    /// RPCs with retransmitted packets.
    pub(super) retransmitted: u64,
    /// RPCs whose retransmissions are known.
    pub(super) recovery_known: u64,
    /// RPCs with a reply whose latency is not known. The percentiles do not include these RPCs.
    pub(super) latency_unknown: u64,
}

impl FaultsObject {
    /// Returns true if every call of which that is known was answered, and there is one.
    pub(super) const fn are_all_answered(&self) -> bool {
        self.unanswered == 0 && self.answer_known > 0
    }

    pub(super) const fn new(faults: &Faults) -> Self {
        let Faults { unanswered, waiting, failed, retransmitted, latency_unknown, .. } = *faults;
        Self {
            unanswered: unanswered.faulty,
            answer_known: unanswered.known,
            waiting,
            failed: failed.faulty,
            status_known: failed.known,
            retransmitted: retransmitted.faulty,
            recovery_known: retransmitted.known,
            latency_unknown,
        }
    }

    /// Count of RPCs with each fault, and of RPCs that are known to have or to lack the fault.
    const fn each(&self) -> [(u64, u64); 3] {
        let Self { unanswered, answer_known, failed, status_known, retransmitted, recovery_known, .. } = *self;
        [(unanswered, answer_known), (failed, status_known), (retransmitted, recovery_known)]
    }
}

/// Changes of the shares of RPCs with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct FaultChanges {
    /// Change of the calls without a reply.
    pub(super) unanswered: FaultChange,
    /// Change of the RPCs that failed.
    pub(super) failed: FaultChange,
    /// Change of the RPCs with retransmitted packets.
    pub(super) retransmitted: FaultChange,
}

impl FaultChanges {
    pub(super) const UNKNOWN: Self =
        Self { unanswered: FaultChange::UNKNOWN, failed: FaultChange::UNKNOWN, retransmitted: FaultChange::UNKNOWN };

    /// Compares each fault in the way of one operation, or of the total.
    pub(super) fn compare_each(
        compare: fn(FaultCount, FaultCount, f64) -> FaultChange,
        before: &Faults,
        after: &Faults,
        tolerance: f64,
    ) -> Self {
        let compare = |of: fn(&Faults) -> FaultCount| compare(of(before), of(after), tolerance);
        Self {
            unanswered: compare(|faults| faults.unanswered),
            failed: compare(|faults| faults.failed),
            retransmitted: compare(|faults| faults.retransmitted),
        }
    }

    /// Each fault on both sides, in the order of [`FaultsObject::each`], and the change of each.
    pub(super) fn of_sides(
        &self,
        before: &FaultsObject,
        after: &FaultsObject,
    ) -> impl Iterator<Item = ([(u64, u64); 2], FaultChange)> {
        let sides = before.each().into_iter().zip(after.each()).map(|(before, after)| [before, after]);
        sides.zip(self.each())
    }

    const fn each(&self) -> [FaultChange; 3] {
        [self.unanswered, self.failed, self.retransmitted]
    }

    pub(super) fn any(&self, outcome: FaultOutcome) -> bool {
        self.each().iter().any(|change| change.outcome == outcome)
    }

    /// Returns true if a share grew by more than is tolerated, and the difference is within this limit.
    pub(super) fn any_worse(&self, limit: Limit) -> bool {
        self.each().into_iter().any(|change| change.is_worse(limit))
    }

    /// Tests that could find a difference: none of a fault that neither side has.
    pub(super) fn tests(&self, before: &FaultsObject, after: &FaultsObject) -> Vec<Chance> {
        let tests = self.of_sides(before, after).filter(|([(before, _), (after, _)], _)| before + after > 0);
        tests.map(|(_, change)| change.significance).collect()
    }
}

/// An operation before and after.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ComparedOperation {
    /// The procedure, or the operation that a COMPOUND is about, such as `NFSv4 READ`.
    pub(super) operation: String,
    /// Numbers in the first capture; null if that has none.
    pub(super) before: Option<ComparandObject>,
    /// Numbers in the second capture; null if the operation is not there.
    pub(super) after: Option<ComparandObject>,
    /// Changes of calls without a reply, failures and retransmissions.
    pub(super) faults: FaultChanges,
    /// The growth of the median, as a fraction of the median before.
    pub(super) p50_change: Option<f64>,
    /// Probability that a difference of the latencies as large as this is chance, by a rank test that takes into
    /// account the resemblance of each latency to the one before.
    #[serde(serialize_with = "super::as_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub(super) significance: Chance,
    /// The growth of the 99th percentile, as a fraction of the earlier value.
    pub(super) p99_change: Option<f64>,
    /// Probability that a difference of the slowest latencies as large as this is chance, by the same test of the
    /// slowest alone.
    #[serde(serialize_with = "super::as_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub(super) p99_significance: Chance,
    /// The outcome of all this.
    pub(super) outcome: Outcome,
    /// `true` if the operation is `worse` or `slower`, and the change is significant among all operations too (Holm's
    /// method).
    pub(super) regression: bool,
}

/// Outcome for an operation: the first of these that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    /// Only the first capture has the operation.
    Gone,
    /// Only the second capture has the operation.
    New,
    /// A larger share of the RPCs is unanswered, failed or needed retransmission.
    Worse,
    /// The median or the 99th percentile of the latency grew by more than is tolerated, and the difference is significant.
    Slower,
    /// A smaller share of the RPCs is unanswered, failed or needed retransmission.
    Better,
    /// The median or the 99th percentile fell by more than is tolerated, and the difference is significant.
    Faster,
    /// Not known: there are too few RPCs, or another share failed, so that the latencies are not comparable. If only
    /// the 99th percentile is not known, that percentile changed by more than is tolerated.
    Unknown,
    /// The differences may be chance, or are tolerated.
    Same,
}

/// The numbers of an operation in one capture.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ComparandObject {
    /// RPCs.
    pub(super) rpcs: u64,
    /// Faults of these RPCs.
    pub(super) faults: FaultsObject,
    /// Median latency in nanoseconds, to one in a hundred; null if no latency is known.
    pub(super) p50_ns: Option<u64>,
    /// 99th percentile of the latency in nanoseconds.
    pub(super) p99_ns: Option<u64>,
    /// Octets moved by RDMA Read.
    pub(super) rdma_read_octets: u64,
    /// Octets moved by RDMA Write.
    pub(super) rdma_write_octets: u64,
    /// Forms in which their calls were sent.
    pub(super) calls_sent: Forms,
    /// Forms in which their replies were sent.
    pub(super) replies_sent: Forms,
}

impl ComparandObject {
    fn new(operation: &PerOperation, faults: &Faults) -> Self {
        let latency = Latency::new(&operation.latency);
        Self {
            rpcs: faults.rpcs,
            faults: FaultsObject::new(faults),
            p50_ns: latency.map(|latency| latency.p50_ns),
            p99_ns: latency.map(|latency| latency.p99_ns),
            rdma_read_octets: operation.moved.read_octets,
            rdma_write_octets: operation.moved.write_octets,
            calls_sent: operation.calls,
            replies_sent: operation.replies,
        }
    }
}

/// An operation in one capture, and when that ended.
type Ended<'a> = (Option<&'a PerOperation>, Time);

impl ComparedOperation {
    /// Compares an operation in two captures; also returns the faults in each.
    pub(super) fn new(name: &str, sides: [Ended<'_>; 2], tolerance: f64) -> (Self, [Faults; 2]) {
        let latencies = sides.iter().filter_map(|(side, _)| Some(&(*side)?.latency));
        let slowest = latencies.filter(|latency| latency.count > 0).map(|latency| latency.max).max();
        let counted = sides.map(|(side, ended)| side.map(|side| side.faults(ended, slowest)).unwrap_or_default());
        let [before_faults, after_faults] = &counted;
        let [(before, _), (after, _)] = sides;
        let mut compared = Self {
            operation: name.to_owned(),
            before: before.map(|before| ComparandObject::new(before, before_faults)),
            after: after.map(|after| ComparandObject::new(after, after_faults)),
            faults: FaultChanges::UNKNOWN,
            p50_change: None,
            significance: Chance::TOO_FEW,
            p99_change: None,
            p99_significance: Chance::TOO_FEW,
            outcome: if before.is_some() { Outcome::Gone } else { Outcome::New },
            regression: false,
        };
        if let (Some(before), Some(after)) = (before, after) {
            let chances = Chances::new(&before.latencies, &after.latencies);
            (compared.significance, compared.p99_significance) = (chances.all, chances.tail);
            compared.faults = FaultChanges::compare_each(FaultChange::new, before_faults, after_faults, tolerance);
            compared.p50_change = compared.change(|side| side.p50_ns);
            compared.p99_change = compared.change(|side| side.p99_ns);
            compared.outcome = compared.outcome(tolerance);
        }
        (compared, counted)
    }

    /// Growth of a number, as a fraction of the earlier value.
    fn change(&self, of: fn(&ComparandObject) -> Option<u64>) -> Option<f64> {
        let value = |side: &Option<ComparandObject>| side.as_ref().and_then(of);
        let (before, after) = (value(&self.before)? as f64, value(&self.after)? as f64);
        (before > 0.0).then(|| (after - before) / before)
    }

    fn outcome(&self, tolerance: f64) -> Outcome {
        let latency = self.latency_outcome(tolerance);
        match latency {
            _ if self.faults.any(FaultOutcome::Worse) => Outcome::Worse,
            Outcome::Slower => Outcome::Slower,
            _ if self.faults.any(FaultOutcome::Better) => Outcome::Better,
            _ => latency,
        }
    }

    /// Outcome for the latency alone.
    fn latency_outcome(&self, tolerance: f64) -> Outcome {
        let is_untold = |(change, chance): Growth| {
            chance == Chance::TOO_FEW && change.is_none_or(|change| change.abs() > tolerance)
        };
        if !self.is_latency_comparable() {
            Outcome::Unknown
        } else if self.has_latency(|change| change > tolerance, Chance::is_significant) {
            Outcome::Slower
        } else if self.has_latency(|change| change < -tolerance, Chance::is_significant) {
            Outcome::Faster
        } else if self.significance == Chance::TOO_FEW || is_untold(self.tail()) {
            Outcome::Unknown
        } else {
            Outcome::Same
        }
    }

    /// Returns false if another share of the RPCs failed: a failure takes another time than success.
    fn is_latency_comparable(&self) -> bool {
        !matches!(self.faults.failed.outcome, FaultOutcome::Worse | FaultOutcome::Better) && self.p50_change.is_some()
    }

    /// Returns true if the median or the 99th percentile changed by so much, and the difference is so sure.
    fn has_latency(&self, is_beyond: impl Fn(f64) -> bool, is_sure: impl Fn(Chance) -> bool) -> bool {
        let is = |(change, chance): Growth| is_sure(chance) && change.is_some_and(&is_beyond);
        is((self.p50_change, self.significance)) || is(self.tail())
    }

    const fn tail(&self) -> Growth {
        (self.p99_change, self.p99_significance)
    }

    /// Tests of this operation that could find a difference. Tests with too few values do not count, because size does not depend on the difference.
    pub(super) fn tests(&self) -> impl Iterator<Item = Chance> {
        let sides = self.before.as_ref().zip(self.after.as_ref());
        let faults = sides.map(|(before, after)| self.faults.tests(&before.faults, &after.faults));
        let latencies = [self.significance, self.p99_significance];
        latencies.into_iter().chain(faults.into_iter().flatten()).filter(|chance| chance.is_known())
    }

    /// Decides if the operation is a regression among all operations, whose tests have this limit.
    pub(super) fn judge(&mut self, limit: Limit, tolerance: f64) {
        let is_slower = || self.has_latency(|change| change > tolerance, |chance| chance.is_within(limit));
        self.regression = self.faults.any_worse(limit) || self.is_latency_comparable() && is_slower();
    }

    /// Returns true if the operation is worse or slower by itself, but not among all operations.
    pub(super) const fn may_be_chance(&self) -> bool {
        matches!(self.outcome, Outcome::Worse | Outcome::Slower) && !self.regression
    }
}

/// Growth of a percentile, as a fraction of the earlier value, and the significance of the growth.
type Growth = (Option<f64>, Chance);

#[cfg(test)]
mod tests {
    use super::*;

    const SURE: Chance = Chance::of_probability(0.001);

    fn compared(median: Growth, tail: Growth, retransmitted: FaultOutcome) -> ComparedOperation {
        let change = |outcome| FaultChange { significance: SURE, outcome };
        ComparedOperation {
            operation: String::new(),
            before: None,
            after: None,
            faults: FaultChanges { retransmitted: change(retransmitted), ..FaultChanges::UNKNOWN },
            p50_change: median.0,
            significance: median.1,
            p99_change: tail.0,
            p99_significance: tail.1,
            outcome: Outcome::Unknown,
            regression: false,
        }
    }

    /// A quarter is tolerated.
    #[test]
    fn a_latency_may_change_by_exactly_the_tolerance() {
        use Outcome::{Faster, Same, Slower, Unknown};
        let (sure, chance, few) = (SURE, Chance::of_probability(0.5), Chance::TOO_FEW);
        for (median, tail, expected) in [
            ((Some(0.25), sure), (Some(0.0), sure), Same),
            ((Some(0.26), sure), (Some(0.0), sure), Slower),
            ((Some(0.26), chance), (Some(0.0), chance), Same),
            ((Some(-0.25), sure), (Some(0.0), sure), Same),
            ((Some(-0.26), sure), (Some(0.0), sure), Faster),
            ((Some(0.0), sure), (Some(0.26), sure), Slower),
            ((Some(0.0), sure), (Some(0.25), sure), Same),
            ((Some(0.0), sure), (Some(-0.26), sure), Faster),
            ((Some(-0.26), sure), (Some(0.26), sure), Slower),
            ((Some(0.0), few), (Some(0.0), few), Unknown),
            ((Some(0.0), sure), (Some(0.25), few), Same),
            ((Some(0.0), sure), (Some(-0.26), few), Unknown),
            ((None, sure), (Some(0.26), sure), Unknown),
        ] {
            let compared = compared(median, tail, FaultOutcome::Same);
            assert_eq!(compared.outcome(0.25), expected, "{median:?} {tail:?}");
        }
    }

    #[test]
    fn more_faults_outrank_latency_which_outranks_fewer_faults() {
        let faults = [FaultOutcome::Worse, FaultOutcome::Better, FaultOutcome::Same];
        for (growth, expected) in [
            (0.3, [Outcome::Worse, Outcome::Slower, Outcome::Slower]),
            (-0.3, [Outcome::Worse, Outcome::Better, Outcome::Faster]),
        ] {
            let growth = (Some(growth), SURE);
            let found = faults.map(|faults| compared(growth, growth, faults).outcome(0.1));
            assert_eq!(found, expected, "{growth:?}");
        }
    }

    #[test]
    fn a_percentile_of_nothing_has_no_growth() {
        let side = |p50: u64| {
            let object = ComparandObject::new(&PerOperation::default(), &Faults::default());
            Some(ComparandObject { p50_ns: Some(p50), ..object })
        };
        for (before, after, growth) in [(100, 150, Some(0.5)), (0, 100, None), (100, 0, Some(-1.0))] {
            let none = (None, Chance::TOO_FEW);
            let compared = ComparedOperation {
                before: side(before),
                after: side(after),
                ..compared(none, none, FaultOutcome::Same)
            };
            assert_eq!(compared.change(|side| side.p50_ns), growth, "{before} {after}");
        }
    }
}
