//! Losses that a carrier indicates: the RPCs and arrivals that each concerns.

use super::arrivals::Retransmitted;
use super::call::Call;
use super::recovery::{RecoveredRpcs, WaitingIndication};
use super::state::{Context, Session};
use super::timeline::{FilledGap, InOrder};
use crate::carrier::operation::{Operation, OperationKind, OperationType, Origin, Places, Side};
use crate::carrier::recovery::{AgainFor, Backfill, Indication, RecoveryKind};
use crate::event::{Event, Recovered};
use crate::file::Time;
use crate::rpc::waiting::PacketRefusal;

impl Session {
    /// Takes an indication of loss. The packet before the indication of the same sender came at the time `after`, if
    /// the connection was joined.
    pub(super) fn recover(&mut self, operation: &Operation<'_>, after: Time, context: &mut Context<'_>) {
        self.data_flows.disturb();
        let Operation { from, stamp, places, kind, .. } = *operation;
        let (of, place, sign, operation, missing) = match kind {
            OperationKind::Indication { of, place, sign, operation, missing } => (of, place, sign, operation, missing),
            OperationKind::Backfill(backfill) => {
                return self.backfill(Origin { from, stamp }, places, backfill, context);
            }
            OperationKind::Missing => {
                let refusal = PacketRefusal { kind: RecoveryKind::SequenceError, stamp };
                self.arrivals.get_mut(from.other()).refuse(places.first, refusal);
                return self.recount_credits(from, stamp, context);
            }
            _ => return,
        };
        let is_of_use = sign != Indication::Discarded || context.steps.is_any();
        // Indications before the first message of a connection wait until that shows that it carries RPC-over-RDMA.
        let is_wanted = self.recoveries.is_wanted || (self.number.is_none() && context.recovery);
        if !is_wanted || !is_of_use {
            return;
        }
        let mut waiting = WaitingIndication {
            from,
            stamp,
            after,
            of,
            place,
            end: None,
            sign,
            operation,
            missing,
            times: None,
            again_for: AgainFor::Loss,
            refused: None,
            xid: None,
            requester: None,
        };
        if let Indication::Recovery(kind) = sign {
            waiting.again_for = self.recoveries.reason(of, place, kind);
            self.note_arrivals(&waiting, places, kind, context);
            waiting.end = (kind.is_retransmission() && self.keeps).then_some(places.end);
            let is_counted = kind.is_retransmission() && context.recovery;
            waiting.times = is_counted.then(|| self.recoveries.send_again(from, of, place));
            let is_not_ready = matches!(kind, RecoveryKind::NotReady { .. });
            waiting.refused = if is_not_ready {
                self.recoveries.refused_call(of, place, self.credits.usage(of), &self.calls)
            } else {
                None
            };
        }
        let Self { recoveries, calls, arrivals, joined, .. } = self;
        recoveries.add_indication(waiting, &mut RecoveredRpcs { calls, arrivals, joined });
        self.report(context);
    }

    /// Notes that everything that an end sent up to the end of these places is known. Indications that waited for this
    /// are assigned to the calls of the end.
    #[inline]
    pub(super) fn settle(&mut self, from: Side, places: Places, context: &mut Context<'_>) {
        if self.recoveries.settle(from, places) && self.number.is_some() {
            self.assign_waiting(context);
        }
    }

    /// Assigns the indications whose subject is known, and reports the assigned indications.
    pub(super) fn assign_waiting(&mut self, context: &mut Context<'_>) {
        let Self { recoveries, calls, arrivals, joined, .. } = self;
        recoveries.assign_known(&mut RecoveredRpcs { calls, arrivals, joined });
        self.report(context);
    }

    /// Settles the indications that still wait: their subject will not be known.
    pub(super) fn settle_all(&mut self, context: &mut Context<'_>) {
        if self.number.is_none() {
            return self.recoveries.clear();
        }
        let Self { recoveries, calls, arrivals, joined, .. } = self;
        recoveries.assign_all(&mut RecoveredRpcs { calls, arrivals, joined });
        self.report(context);
    }

    /// Reports the assigned indications, in the order in which the indications were captured.
    fn report(&mut self, context: &mut Context<'_>) {
        let Self { recoveries, calls, arrivals, joined, .. } = self;
        let mut rpcs = RecoveredRpcs { calls, arrivals, joined };
        while let Some(sign) = recoveries.take_due(self.number.is_some(), &mut rpcs) {
            let Some((number, ends)) = self.number.zip(self.addresses).filter(|_| context.recovery) else { continue };
            let Indication::Recovery(kind) = sign.sign else { continue };
            if self.clocks.are_two() && !kind.is_refusal() {
                continue;
            }
            let WaitingIndication {
                from, stamp, of, place, end, operation, missing, times, again_for, refused, ..
            } = sign;
            context.events.push_back(Event::Recovery(Recovered {
                stamp,
                connection: number,
                from: *ends.get(from),
                to: *ends.get(from.other()),
                kind,
                place: (*ends.get(of), place),
                end,
                operation: operation.filter(|_| times.is_some()),
                times,
                again_for: times.map(|_| again_for),
                missing,
                refused,
                xid: sign.xid.flatten(),
                requester: sign.requester.map(|side| *ends.get(side)),
                client: self.client.map(|side| *ends.get(side)),
            }));
        }
    }

    /// Takes what an indication says of arrivals: which packets were refused, and which fill a gap.
    fn note_arrivals(
        &mut self,
        sign: &WaitingIndication,
        places: Places,
        kind: RecoveryKind,
        context: &mut Context<'_>,
    ) {
        let WaitingIndication { from, stamp, of, place, operation, again_for, .. } = *sign;
        let filled = FilledGap { stamp, again_for };
        let arrivals = self.arrivals.get_mut(of);
        if of == from && matches!(kind, RecoveryKind::TimedOut { .. }) {
            arrivals.time_out(places.first);
        } else if of == from && kind.is_retransmission() && !self.keeps {
            let is_replaced = kind == RecoveryKind::Replaced;
            if arrivals.again(places, stamp, Retransmitted { is_replaced, again_for }) {
                let timelines = self.calls.iter_mut().map(|call| &mut call.timeline);
                timelines.for_each(|timeline| timeline.fill(InOrder::SentBy(from), place, filled));
            }
            self.recount_credits(of.other(), stamp, context);
        } else if of != from && kind.is_refusal() {
            match self.keeps {
                true => arrivals.suspect(places),
                false => arrivals.refuse(place, PacketRefusal { kind, stamp }),
            }
            self.recount_credits(of.other(), stamp, context);
        }
        // RDMA Reads are completed in the order of their requests.
        let is_read = matches!(operation, Some(OperationType::ReadRequest | OperationType::ReadResponse));
        if is_read && kind.is_retransmission() && !self.keeps {
            let calls = self.calls.iter_mut().filter(|call| call.requester() != of);
            calls.for_each(|call| call.timeline.fill(InOrder::Responses, place, filled));
        }
    }

    /// Takes a TCP segment with octets that were captured before, or that others follow which were captured before.
    fn backfill(&mut self, origin: Origin, places: Places, backfill: Backfill, context: &mut Context<'_>) {
        let Origin { from, stamp } = origin;
        self.arrivals.get_mut(from).backfill(places, stamp, backfill);
        if !self.arrivals.get(from).is_acknowledged(places) {
            let filled = FilledGap { stamp, again_for: AgainFor::Loss };
            for Call { timeline, .. } in self.calls.iter_mut() {
                match backfill.is_filling_gap() {
                    true => timeline.fill(InOrder::SentBy(from), places.first, filled),
                    false if backfill.is_again => timeline.await_data(from, places.first, stamp),
                    false => {}
                }
            }
        }
        self.recount_credits(from.other(), stamp, context);
    }
}
