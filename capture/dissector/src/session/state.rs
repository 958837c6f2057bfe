//! Per-connection state.

use std::collections::VecDeque;

use rpcrdma::v2::Family;

use super::arrivals::Arrivals;
use super::calls::Calls;
use super::clocks::{self, Clocks};
use super::coverage::Coverage;
use super::credits::Credits;
use super::data_flow::DataFlows;
use super::joined_wait::Joined;
use super::recovery::Recoveries;
use super::refusals::Refusals;
use super::sends::Sends;
use super::unmatched::UnmatchedItems;
use super::watch::Watch;
use crate::carrier::acknowledgement::{AcknowledgementOrder, Acknowledgements};
use crate::carrier::connection::{Connection, Counts};
use crate::carrier::handler::CongestionSign;
use crate::carrier::operation::{Origin, Side, Sides, Stamp};
use crate::event::{Event, Lost, Opened};
use crate::file::{SetBacks, Time};
use crate::link::{Address, Carrier};
use crate::rpc::activity::MessageTimes;
use crate::rpc::both_ends::BothEnds;
use crate::rpc::capture_point::CapturePoint;
use crate::rpc::credits::CreditTimes;
use crate::rpc::describe::Way;
use crate::rpc::phases::NotTimed;
use crate::rpc::steps::StepsWanted;
use crate::rpc::transaction::Transaction;

/// External state that a session needs.
pub(crate) struct Context<'a> {
    /// True if RPCs are put back together, not only messages.
    pub(crate) transactions: bool,
    /// True if more than messages and RPCs is reported.
    pub(crate) operations: bool,
    /// True if indications of loss are reported.
    pub(crate) recovery: bool,
    /// Selects the RPCs whose packets are logged one by one.
    pub(crate) steps: &'a StepsWanted,
    /// `true` to record which frames carried each message.
    pub(crate) placements: bool,
    /// The times at which the clock of the capture was set back.
    pub(crate) set_backs: &'a SetBacks,
    /// Frames of priority-based flow control that pause a port, so far.
    pub(crate) port_pauses: u32,
    /// The number of the last connection that was recognised.
    pub(crate) last_number: &'a mut u32,
    pub(crate) events: &'a mut VecDeque<Event>,
}

impl Context<'_> {
    /// Passes on a transaction that has ended.
    pub(super) fn ended(&mut self, transaction: Option<Transaction>) {
        transaction.map(Box::new).into_iter().for_each(|transaction| self.give(transaction));
    }

    /// Passes on a transaction. The time of the transaction is not known if the clock was set back meanwhile.
    pub(super) fn give(&mut self, mut transaction: Box<Transaction>) {
        let set_backs = self.set_backs;
        transaction.joined.take_if(|joined| set_backs.is_between(joined.since.frame, joined.until.frame));
        if let Some((began, reply)) = transaction.began.zip(transaction.reply.as_ref())
            && transaction.latency().is_some()
            && self.set_backs.is_between(began.frame, reply.stamp.frame)
        {
            transaction.phases = Err(NotTimed::ClockSetBack);
            transaction.recovery = Err(NotTimed::ClockSetBack);
        }
        self.events.push_back(Event::Transaction(transaction));
    }
}

/// A connection's state.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The connection's number, once the connection is known to carry RPC-over-RDMA.
    pub(crate) number: Option<u32>,
    /// The addresses of both ends, once the connection is known to carry RPC-over-RDMA.
    pub(crate) addresses: Option<Sides<Address>>,
    /// The end that is the client, once known.
    pub(super) client: Option<Side>,
    /// Announcements of the client about callbacks.
    pub(super) way: Way,
    /// The wire format of version 2 on this connection, once known.
    pub(crate) family: Option<Family>,
    /// True if version 2 was seen, but not the wire format of version 2.
    pub(super) undecided: bool,
    pub(super) sends: Sends,
    pub(super) calls: Calls,
    /// The calls and replies of each end that the other end has not acknowledged.
    pub(super) arrivals: Box<Sides<Arrivals>>,
    /// `true` if receivers keep what follows a gap, as TCP does.
    pub(super) keeps: bool,
    pub(super) coverage: Coverage,
    pub(super) unmatched: UnmatchedItems,
    /// RDMA Writes and Reads that aim at memory that no call in this capture advertised.
    pub(crate) unmatched_transfers: u64,
    pub(super) watch: Watch,
    pub(super) recoveries: Recoveries,
    pub(super) refusals: Refusals,
    pub(super) credits: Credits,
    /// Times of the connection's messages.
    pub(crate) activity: MessageTimes,
    pub(super) clocks: Clocks,
    /// Data that each end sends by RDMA.
    pub(super) data_flows: DataFlows,
    /// RPCs whose calls were sent before the capture; `None` if the setup of the connection was captured.
    pub(super) joined: Option<Box<Joined>>,
}

impl Session {
    /// Records that the connection carries RPC-over-RDMA.
    pub(crate) fn recognise(&mut self, connection: &Connection, context: &mut Context<'_>) {
        if self.number.is_none() {
            *context.last_number += 1;
            let number = *context.last_number;
            self.number = Some(number);
            self.calls.keeps_placements = context.placements;
            self.recoveries.is_wanted = context.transactions || context.recovery;
            self.data_flows.is_wanted = self.recoveries.is_wanted;
            self.keeps = connection.carrier == Carrier::Iwarp;
            if context.steps.is_any() || context.placements {
                self.sends.keep_parts();
            }
            let Sides { active, passive } = connection.ends;
            if connection.setup_captured && !self.watch.passed_over {
                self.credits.begin_connection();
            }
            self.addresses = Some(Sides { active: active.address, passive: passive.address });
            if context.operations {
                let whole = connection.setup_captured && !self.watch.passed_over;
                let opened = Opened { number, connection: connection.clone(), whole };
                context.events.push_back(Event::Opened(Box::new(opened)));
            }
            self.assign_waiting(context);
        }
    }

    /// Notes that the setup of the connection was not captured, and that `since` is the first frame.
    pub(crate) fn join(&mut self, since: Stamp) {
        self.joined = Some(Box::new(Joined::new(since)));
    }

    /// Notes that an end sent something.
    pub(crate) const fn speak(&mut self, end: Side) {
        self.coverage.speak(end);
    }

    /// Notes that the capture lacks what an end sent, or holds too little of a packet.
    pub(super) fn miss(&mut self, from: Side, stamp: Stamp, context: &mut Context<'_>) {
        self.data_flows.disturb();
        self.coverage.miss(from, self.calls.last());
        self.credits.miss(from, self.calls.last(), stamp.time);
        self.unmatched.count_item(from, stamp.frame);
        if let Some(connection) = self.number.filter(|_| context.operations) {
            context.events.push_back(Event::Lost(Lost { connection, from, stamp }));
        }
    }

    /// An indication of congestion came for what an end sends.
    pub(crate) fn congested(&mut self, sender: Side, sign: CongestionSign) {
        self.data_flows.congest(sender, sign);
    }

    /// The window for what an end sends became 0, or is no longer 0.
    pub(crate) fn set_window(&mut self, sender: Side, is_closed: bool, time: Time) {
        self.data_flows.set_window(sender, is_closed, time);
    }

    /// Takes the times that an end takes to acknowledge.
    pub(crate) fn measured(&mut self, by: Side, times: Acknowledgements) {
        self.data_flows.set_round_trip(self.clocks.measure(by, times));
    }

    /// Notes a packet of an end that was captured after being acknowledged. `order` counts such packets, and packets
    /// captured before their acknowledgements.
    pub(crate) fn acknowledged_early(&mut self, packet: Origin, order: AcknowledgementOrder) {
        self.clocks.note_early(packet, order);
    }

    /// Returns the place of the capture, if the acknowledgements show the place.
    pub(crate) fn infer_place(&self, counts: &Sides<Counts>) -> Option<CapturePoint> {
        clocks::infer_place(self.client.unwrap_or(Side::Active), counts)
    }

    /// A packet of an end was captured first at one time, and again at another.
    pub(crate) fn seen_again(&mut self, from: Side, first: Time, again: Time) {
        self.clocks.see_again(from, first, again);
    }

    /// Returns the RPCs of the client as both ends saw the RPCs, if the file holds the packets of both ends.
    pub(crate) fn both_ends(&self, counts: &Sides<Counts>) -> Option<BothEnds> {
        self.clocks.both_ends(self.client.unwrap_or(Side::Active), counts)
    }

    /// For how long each end had no credit for another call, up to the end of the connection or of the capture.
    pub(crate) fn credit_times(&mut self, until: Time) -> Sides<CreditTimes> {
        self.credits.finish(until)
    }

    /// Octets of memory taken by what waits.
    pub(crate) fn memory_used(&self) -> usize {
        let recoveries = self.recoveries.memory_used();
        let arrivals = self.arrivals.active.memory_used() + self.arrivals.passive.memory_used();
        self.calls.memory_used()
            + recoveries
            + arrivals
            + self.sends.memory_used()
            + self.clocks.memory_used()
            + self.joined.as_ref().map_or(0, |_| Joined::memory_used())
    }
}
