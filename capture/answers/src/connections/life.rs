//! One request for a connection, and the connection, if the server accepted.

use rpcrdma_dissector::{
    Address, Carrier, Connection, DisconnectionKind, MessageTimes, Rejected, RejectionKind, Report, RequestTimes,
    Shown, Side, Stamp, Terminate, UnansweredRequest, WaitEnd, service_port,
};

use super::faults::FaultRun;
use super::{CallCounts, OpenConnection};
use crate::selection::TimeSpan;
use crate::stats::ConnectionCredits;

/// Answer to a request for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestAnswer {
    /// The server accepted the connection.
    Accepted(Stamp),
    /// The server rejected the connection.
    Rejected(Stamp, RejectionKind),
    /// The server confirmed the receipt (MRA; for iWARP, by TCP), and did not decide.
    Received,
    /// There is no answer.
    None,
    /// The capture lacks the setup of the connection.
    NotCaptured,
}

impl RequestAnswer {
    /// Name of the answer.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted(_) => "accepted",
            Self::Rejected(..) => "rejected",
            Self::Received => "received",
            Self::None => "none",
            Self::NotCaptured => "not captured",
        }
    }

    /// Frame of the answer.
    #[must_use]
    pub const fn stamp(self) -> Option<Stamp> {
        match self {
            Self::Accepted(stamp) | Self::Rejected(stamp, _) => Some(stamp),
            Self::Received | Self::None | Self::NotCaptured => None,
        }
    }
}

/// End of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LifeEnd {
    /// There was no connection.
    Never,
    /// The connection is open when the capture ends.
    Open,
    /// An end ended the connection.
    EndedBy {
        /// The end.
        by: Side,
        /// Frame of the message that ended the connection.
        stamp: Stamp,
        /// Kind of the message.
        how: DisconnectionKind,
    },
    /// The connection was over before the end of the capture, which does not show the end of the connection.
    NotCaptured,
}

/// A request for a connection, and the connection if the server accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionLife {
    /// Number of the connection; `None` of a request without success.
    pub number: Option<u32>,
    /// End that asked for the connection.
    pub client: Address,
    /// End that was asked.
    pub server: Address,
    /// The requested service ID.
    pub service: Option<u64>,
    /// Carrier of the connection; `None` if only the rejection was captured.
    pub carrier: Option<Carrier>,
    /// The request, or else the first message.
    pub began: Stamp,
    /// Copies of the request, if that was captured.
    pub asked: Option<RequestTimes>,
    /// Answer to the request.
    pub answer: RequestAnswer,
    /// True if the request was rejected, and a later one that differs by its private data alone was accepted.
    pub is_private_data_refused: bool,
    /// Times of the messages.
    pub activity: MessageTimes,
    /// Calls of the connection.
    pub calls: CallCounts,
    /// Signs of loss after the last message.
    pub faults: Option<FaultRun>,
    /// Reason of the Terminate message that ended the connection (iWARP).
    pub terminate: Option<Terminate>,
    /// End of the connection.
    pub end: LifeEnd,
    /// Last moment of the request, the connection or the capture of it.
    pub(super) until: Option<Stamp>,
    pub(super) is_for_rpc: bool,
    /// True if the request had RFC 8797 private data.
    has_private_data: bool,
    pub(super) known: Option<Box<KnownConnection>>,
}

/// Known properties of a connection that was accepted.
#[derive(Clone, Debug)]
pub(super) struct KnownConnection {
    pub(super) connection: Connection,
    pub(super) credits: ConnectionCredits,
}

impl ConnectionLife {
    pub(super) fn of_rejected(rejected: &Rejected) -> Self {
        let Rejected { stamp, from, to, service, kind, asked, has_private_data, is_for_rpc, .. } = *rejected;
        let carrier = match kind {
            RejectionKind::Mpa | RejectionKind::Reset | RejectionKind::Closed => Some(Carrier::Iwarp),
            _ => None,
        };
        Self {
            carrier,
            asked,
            has_private_data,
            answer: RequestAnswer::Rejected(stamp, kind),
            until: Some(stamp),
            ..Self::of_request(to, from, service, asked.map_or(stamp, |asked| asked.first), is_for_rpc)
        }
    }

    pub(super) fn of_unanswered(request: &UnansweredRequest) -> Self {
        let UnansweredRequest { from, to, service, asked, carrier, is_received, is_for_rpc, .. } = *request;
        Self {
            carrier: Some(carrier),
            asked: Some(asked),
            answer: if is_received { RequestAnswer::Received } else { RequestAnswer::None },
            until: Some(asked.last),
            ..Self::of_request(from, to, service, asked.first, is_for_rpc)
        }
    }

    fn of_request(client: Address, server: Address, service: Option<u64>, began: Stamp, is_for_rpc: bool) -> Self {
        Self {
            number: None,
            client,
            server,
            service,
            carrier: None,
            began,
            asked: None,
            answer: RequestAnswer::None,
            is_private_data_refused: false,
            activity: MessageTimes::default(),
            calls: CallCounts::default(),
            faults: None,
            terminate: None,
            end: LifeEnd::Never,
            until: None,
            is_for_rpc,
            has_private_data: false,
            known: None,
        }
    }

    pub(super) fn of_connection(number: u32, report: &Report, open: OpenConnection) -> Self {
        let Report { connection, activity, end, .. } = report;
        let announced = connection.announced;
        let request = connection.asked.or(announced.active.map(|announced| RequestTimes::once(announced.stamp)));
        let answer = announced.passive.map(|announced| announced.stamp);
        let seen = [
            request.map(|request| request.first),
            answer,
            activity.first,
            connection.disconnected.map(|end| end.stamp),
        ];
        let began = seen.into_iter().flatten().min_by_key(|stamp| stamp.frame);
        let end = match *end {
            WaitEnd::Disconnected { by, stamp, how } => LifeEnd::EndedBy { by, stamp, how },
            WaitEnd::Capture => LifeEnd::Open,
            _ => LifeEnd::NotCaptured,
        };
        let until = match end {
            LifeEnd::EndedBy { stamp, .. } => Some(stamp),
            LifeEnd::NotCaptured => activity.last.or(answer),
            LifeEnd::Open | LifeEnd::Never => None,
        };
        let OpenConnection { calls, credits, faults, terminate } = open;
        let ends = connection.ends;
        Self {
            number: Some(number),
            carrier: Some(connection.carrier),
            asked: request,
            answer: answer.map_or(RequestAnswer::NotCaptured, RequestAnswer::Accepted),
            activity: *activity,
            calls,
            faults: faults.filter(|faults| activity.last.is_none_or(|last| faults.last.frame > last.frame)),
            terminate,
            end,
            until,
            has_private_data: matches!(
                announced.active.map(|announced| announced.private_data),
                Some(Shown::Present(_))
            ),
            known: Some(Box::new(KnownConnection { connection: connection.clone(), credits })),
            ..Self::of_request(
                ends.active.address,
                ends.passive.address,
                connection.service,
                began.unwrap_or_default(),
                true,
            )
        }
    }

    /// The requested port.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.service.and_then(service_port)
    }

    /// Frame that completed the setup, if captured.
    #[must_use]
    pub fn established(&self) -> Option<Stamp> {
        self.known.as_ref().and_then(|known| known.connection.established)
    }

    /// Address of an end.
    #[must_use]
    pub const fn address(&self, side: Side) -> Address {
        match side {
            Side::Active => self.client,
            Side::Passive => self.server,
        }
    }

    /// Role of an end: the client asked for the connection.
    pub(super) const fn role(side: Side) -> &'static str {
        match side {
            Side::Active => "client",
            Side::Passive => "server",
        }
    }

    /// Time from the request to the end.
    pub(super) fn span(&self) -> TimeSpan {
        TimeSpan { from: self.began.time, until: self.until.map(|until| until.time) }
    }
}

/// Marks rejected requests with private data if the next request of the same ends without private data was accepted.
pub(super) fn find_refused_private_data(lives: &mut [ConnectionLife]) {
    let accepted: Vec<(Address, Address, u64)> = lives
        .iter()
        .filter(|life| matches!(life.answer, RequestAnswer::Accepted(_)) && !life.has_private_data)
        .map(|life| (life.client, life.server, life.began.frame))
        .collect();
    for life in lives.iter_mut().filter(|life| life.has_private_data) {
        let is_consumer =
            matches!(life.answer, RequestAnswer::Rejected(_, RejectionKind::Management(28) | RejectionKind::Mpa));
        let is_next = |(client, server, frame): &(Address, Address, u64)| {
            (*client, *server) == (life.client, life.server) && *frame > life.began.frame
        };
        life.is_private_data_refused = is_consumer && accepted.iter().any(is_next);
    }
}
