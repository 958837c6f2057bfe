//! Evidence of an answer about the requests before the answer.

use std::num::NonZeroU64;

use super::stream::{FAR, RequestStream, extend};
use super::transport::{PacketKind, Syndrome, Transport};
use crate::file::Time;

/// Time of an answer, and the count of packets until the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerMoment {
    pub(super) time: Time,
    pub(super) arrivals: u64,
}

impl RequestStream {
    /// Learns from an answer of the other end. Returns the number from which on the receiver discarded requests.
    pub(super) fn take_answer(&mut self, packet: &Transport<'_>, moment: AnswerMoment) -> Option<u64> {
        let AnswerMoment { time, arrivals } = moment;
        let number = extend(self.next, packet.sequence);
        if self.next.is_none() && packet.syndrome.is_some() {
            let number = NonZeroU64::new(number);
            self.answered = self.answered.min(number).or(number);
        }
        let arrived = match packet.syndrome {
            None if packet.operation == PacketKind::ReadResponse => number,
            None => return None,
            Some(Syndrome::Acknowledged | Syndrome::Failed(_)) => number,
            Some(Syndrome::SequenceError | Syndrome::NotReady { .. }) => number.saturating_sub(1),
        };
        self.answered_at = time;
        let next = self.next.filter(|next| arrived.abs_diff(*next) < FAR)?;
        if self.acknowledged < Some(arrived) {
            (self.acknowledged, self.progress) = (Some(arrived), time);
        }
        if packet.syndrome == Some(Syndrome::Acknowledged) && packet.operation == PacketKind::Acknowledge {
            self.awaited.acknowledge(arrived, time);
        }
        let is_refused = self.take_refusal(number, arrived, packet.syndrome, time);
        if arrived >= next {
            let known = self.arrived.filter(|(highest, _)| *highest >= next);
            if known.is_none() {
                self.lags_since = time;
            }
            let since = known.map_or(arrivals, |(_, since)| since);
            let highest = self.arrived.map_or(arrived, |(highest, _)| highest.max(arrived));
            self.arrived = Some((highest, since));
        }
        is_refused.then(|| number.max(next))
    }

    /// Notes what the receiver asks for again: from `number` on, while all up to `arrived` has come. Returns true if the
    /// answer is a refusal.
    fn take_refusal(&mut self, number: u64, arrived: u64, syndrome: Option<Syndrome>, time: Time) -> bool {
        let refused_until = match syndrome {
            Some(Syndrome::SequenceError) => Some(time),
            Some(Syndrome::NotReady { wait }) => Some(Time(time.0.saturating_add(wait))),
            _ => None,
        };
        if syndrome == Some(Syndrome::SequenceError) {
            self.report(number);
        }
        self.not_ready = match syndrome {
            Some(Syndrome::NotReady { .. }) => Some(number),
            _ => self.not_ready.filter(|from| *from > arrived),
        };
        self.asked = match refused_until {
            Some(until) => {
                self.is_asked_surely = self.missing(number, time).is_some();
                self.refused_until = until;
                Some(number)
            }
            None => self.asked.filter(|asked| *asked > arrived),
        };
        refused_until.is_some()
    }
}
