//! Time that an end takes to acknowledge, as seen where the packets were captured.
//!
//! The end next to the capture point seems to take only its own time; of an end beyond a network, a round trip comes on
//! top. So these times show where a capture was taken.

use super::operation::{Side, Sides};
use crate::file::Time;

/// Number of times kept for the median: the first ones.
const KEPT: usize = 32;
/// So many of either end are enough to tell.
const ENOUGH: u64 = 8;
/// Even the fastest of the far end takes so many nanoseconds longer than half of the near end's: more than clocks are wrong by.
const APART: u64 = 10_000;
/// The fastest of the far end takes at least so many times as long as the fastest of the near end.
const TIMES: u64 = 4;

/// No disorder of frames that were captured at the same time makes an acknowledgement so many nanoseconds early.
pub(super) const EARLY: u64 = 10_000;
/// Least number of late packets of the end with the later clock for each late packet of the other end.
const ONE_SIDED: u64 = 8;
/// Least number of acknowledgements before their packets that shows that the directions of a connection were captured by two clocks.
const TWO_CLOCKS: u64 = 8;
/// Least number of acknowledgements before their packets that makes two clocks likely.
const LIKELY: u64 = 2;

/// An acknowledgement of what the other end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    /// Place up to which the sender of the acknowledgement has received.
    pub place: u64,
    /// True if the packet carries nothing but the acknowledgement.
    pub is_bare: bool,
}

/// Acknowledgements of what an end sent, by the order in which the capture has both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcknowledgementOrder {
    /// Number of acknowledgements that were captured 10 µs or more before the packets that are acknowledged.
    pub before: u64,
    /// Number of acknowledgements that were captured after the packets that are acknowledged.
    pub after: u64,
}

/// Returns the end whose packets have the times of a later clock: the capture has most packets of that end, and at least `TWO_CLOCKS`, after
/// the acknowledgement of each, and the packets of the other end before. Frames in disorder make a few packets of both ends late.
pub(crate) fn late_clock(orders: &Sides<AcknowledgementOrder>) -> Option<Side> {
    likely_late_clock(orders).filter(|side| orders.get(*side).before >= TWO_CLOCKS)
}

/// Returns the same end if few acknowledgements have been captured yet.
pub(crate) fn likely_late_clock(orders: &Sides<AcknowledgementOrder>) -> Option<Side> {
    [Side::Active, Side::Passive].into_iter().find(|side| {
        let (order, other) = (orders.get(*side), orders.get(side.other()));
        order.before >= LIKELY && order.before > order.after && other.before.saturating_mul(ONE_SIDED) <= order.before
    })
}

/// Time that an end took to acknowledge the other end's data, if an acknowledgement was due at once. A busy end may
/// take longer than the network, but hardly ever each time: so the least of these times shows the distance of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acknowledgements {
    /// Number of measured acknowledgements.
    pub count: u64,
    /// The least time, in nanoseconds.
    pub least: u64,
    /// Median of the first 32 times, in nanoseconds.
    pub median: u64,
}

impl Acknowledgements {
    /// Returns true if these are of the end next to where packets were captured, and the others of an end beyond a
    /// network. If the two are not clearly apart, that is not known.
    pub(crate) const fn are_nearer_than(&self, other: &Self) -> bool {
        self.count >= ENOUGH
            && other.count >= ENOUGH
            && other.least >= self.median.saturating_add(APART)
            && other.least >= self.least.saturating_mul(TIMES)
    }
}

/// Measures how long the acknowledgements of what an end sends take.
#[derive(Debug, Default)]
pub(super) struct AwaitedAcknowledgements {
    /// Place of the data to be acknowledged, and the time of sending.
    awaited: Option<(u64, Time)>,
    /// Place after a segment that need not be acknowledged before another has come, and the time of sending.
    first_of_two: Option<(u64, Time)>,
    /// The first times, in nanoseconds and in ascending order.
    times: Vec<u32>,
    least: u64,
    count: u64,
    /// Number of acknowledgements that were captured before the acknowledged data.
    early: u64,
    /// Number of acknowledgements at once that were not due at once.
    prompt: u64,
    /// True if times were added since the median was taken.
    is_changed: bool,
}

impl AwaitedAcknowledgements {
    /// Something is sent that has to be acknowledged at once.
    #[inline]
    pub(super) const fn send(&mut self, place: u64, time: Time) {
        if self.awaited.is_none() {
            self.awaited = Some((place, time));
        }
    }

    /// Something is sent whose acknowledgement was captured before. Counts only if nothing else is awaited.
    pub(super) const fn send_late(&mut self) {
        self.early += self.awaited.is_none() as u64;
    }

    /// Returns the number of acknowledgements by the order of their capture.
    pub(super) const fn order(&self) -> AcknowledgementOrder {
        AcknowledgementOrder { before: self.early, after: self.count + self.prompt }
    }

    /// Something is sent that has to be acknowledged at once only if earlier data still waits for an acknowledgement: a
    /// TCP segment (RFC 9293 section 3.8.6.3).
    #[inline]
    pub(super) const fn send_segment(&mut self, end: u64, time: Time) {
        match self.first_of_two {
            None => self.first_of_two = Some((end, time)),
            Some(_) => self.send(end, time),
        }
    }

    /// Returns when the octets or packets to be acknowledged were sent, if any are.
    pub(super) fn since(&self) -> Option<Time> {
        self.awaited.map(|(_, sent)| sent)
    }

    /// Returns the same for an end that also retransmits the octets or packets from this place on: otherwise those were
    /// acknowledged, and the capture lacks the acknowledgement.
    pub(super) fn since_going_back_to(&self, place: u64) -> Option<Time> {
        self.awaited.filter(|(awaited, _)| *awaited >= place).map(|(_, sent)| sent)
    }

    /// Everything up to this place is acknowledged.
    #[inline]
    pub(super) fn acknowledge(&mut self, place: u64, time: Time) {
        let first_of_two = self.first_of_two.take_if(|(end, _)| *end <= place);
        let Some((_, sent)) = self.awaited.take_if(|(awaited, _)| *awaited <= place) else {
            // It was not due at once, so a clock that is late hides a part of its time, unless it took none.
            let is_prompt = first_of_two.is_some_and(|(_, sent)| time.0.saturating_sub(sent.0) < EARLY);
            self.prompt += u64::from(is_prompt);
            return;
        };
        let taken = time.0.saturating_sub(sent.0);
        self.least = if self.count == 0 { taken } else { self.least.min(taken) };
        if self.times.len() < KEPT {
            let taken = u32::try_from(taken).unwrap_or(u32::MAX);
            self.times.insert(self.times.partition_point(|before| *before < taken), taken);
            self.is_changed = true;
        }
        self.count += 1;
    }

    /// Something was retransmitted: the next acknowledgement may be of either copy.
    pub(super) const fn forget(&mut self) {
        self.awaited = None;
        self.first_of_two = None;
    }

    /// Returns the least time in nanoseconds, if any was measured.
    pub(super) fn least(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    /// Returns the measurements if their median has changed since the last call.
    #[inline]
    pub(super) fn take_changed(&mut self) -> Option<Acknowledgements> {
        if core::mem::take(&mut self.is_changed) { self.measured() } else { None }
    }

    /// Returns the measurements.
    pub(super) fn measured(&self) -> Option<Acknowledgements> {
        let median = *self.times.get(self.times.len().checked_sub(1)? / 2)?;
        Some(Acknowledgements { count: self.count, least: self.least, median: median.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(times: &[u64]) -> Acknowledgements {
        let mut awaited = AwaitedAcknowledgements::default();
        for (place, time) in (0..).zip(times) {
            awaited.send(place, Time(1000));
            awaited.acknowledge(place, Time(1000 + time));
        }
        awaited.measured().unwrap()
    }

    #[test]
    fn the_median_is_of_the_first_times_only() {
        let times: Vec<u64> = (0..100).map(|time| 100 - time).collect();
        assert_eq!(measured(&times), Acknowledgements { count: 100, least: 1, median: 84 });
        assert_eq!(measured(&[7, 3, 5]), Acknowledgements { count: 3, least: 3, median: 5 });
    }

    /// An end goes back to the first that was not acknowledged.
    #[test]
    fn an_end_that_goes_back_awaits_nothing_before_that_position() {
        let mut awaited = AwaitedAcknowledgements::default();
        awaited.send(5, Time(100));
        assert_eq!([4, 5, 6].map(|place| awaited.since_going_back_to(place)), [Some(Time(100)), Some(Time(100)), None]);
    }

    #[test]
    fn the_time_is_that_from_what_was_sent_first() {
        let mut awaited = AwaitedAcknowledgements::default();
        awaited.send(5, Time(100));
        awaited.send(6, Time(110));
        awaited.acknowledge(4, Time(120));
        awaited.acknowledge(6, Time(150));
        assert_eq!(awaited.measured(), Some(Acknowledgements { count: 1, least: 50, median: 50 }));
        // Sent again, so it may be the acknowledgement of either.
        awaited.send(7, Time(200));
        awaited.forget();
        awaited.acknowledge(7, Time(210));
        assert_eq!(awaited.measured().map(|measured| measured.count), Some(1));
    }

    #[test]
    fn a_segment_alone_may_be_acknowledged_late() {
        let mut awaited = AwaitedAcknowledgements::default();
        awaited.send_segment(100, Time(0));
        awaited.acknowledge(100, Time(40_000_000));
        assert_eq!((awaited.measured(), awaited.order().after), (None, 0));
        awaited.send_segment(200, Time(50_000_000));
        awaited.send_segment(300, Time(50_000_010));
        awaited.acknowledge(300, Time(50_000_040));
        assert_eq!(awaited.measured(), Some(Acknowledgements { count: 1, least: 30, median: 30 }));
        awaited.send_segment(400, Time(60_000_000));
        awaited.acknowledge(400, Time(60_000_010));
        assert_eq!((awaited.measured().map(|measured| measured.count), awaited.order().after), (Some(1), 2));
    }

    #[test]
    fn packets_usually_after_their_acknowledgements_show_a_late_clock() {
        let order = |before, after| AcknowledgementOrder { before, after };
        let clock = |active, passive| late_clock(&Sides { active, passive });
        assert_eq!(clock(order(8, 0), order(0, 100)), Some(Side::Active));
        assert_eq!(clock(order(1, 100), order(9, 8)), Some(Side::Passive));
        assert_eq!(clock(order(7, 0), order(0, 100)), None, "few");
        assert_eq!(clock(order(100, 100), order(0, 100)), None, "not usual");
        assert_eq!(clock(order(15, 0), order(2, 0)), None, "disorder");
    }

    #[test]
    fn only_a_clearly_further_end_makes_the_other_near() {
        let near = measured(&[1_000, 20_000, 5_000, 5_000, 5_000, 5_000, 5_000, 5_000]);
        let far = |least| measured(&[400_000, 400_000, 400_000, 400_000, 400_000, 400_000, 400_000, least]);
        assert!(near.are_nearer_than(&far(15_000)));
        assert!(!near.are_nearer_than(&far(14_999)), "once, it was as near");
        assert!(!far(15_000).are_nearer_than(&near));
        assert!(!near.are_nearer_than(&measured(&[400_000; 7])), "too few");
        let slow = measured(&[1_000_000; 8]);
        assert!(!slow.are_nearer_than(&measured(&[3_999_999; 8])), "not four times as far");
        assert!(slow.are_nearer_than(&measured(&[4_000_000; 8])));
    }
}
