//! The interface that takes what happens on connections.

use super::account::Account;
use super::acknowledgement::{Acknowledgement, AcknowledgementOrder, Acknowledgements};
use super::connection::{Connection, Counts};
use super::framed::FramedOctets;
use super::operation::{Operation, Origin, Side, Sides, Stamp};
use super::rejection::{Rejected, UnansweredRequest};
use super::terminate::Terminate;
use crate::file::Time;

/// Result of handing over an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The operation was taken.
    Done,
    /// Nothing was done: the operation refers to something unknown, which a later packet may explain.
    Early,
}

/// An indication of congestion for what an end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CongestionSign {
    /// The other end sent a congestion notification (CNP).
    Notification,
    /// A switch marked a packet: Congestion Experienced (RFC 3168).
    Mark,
}

/// Takes connections and their operations.
pub(crate) trait Handler {
    /// Per-connection state.
    type Session;
    /// A connection begins.
    fn opened(&mut self, connection: &Connection) -> Self::Session;
    /// An end of a connection did something; if `last`, no later packet explains the operation, which must not be
    /// returned as early.
    fn operation(
        &mut self,
        connection: &Connection,
        session: &mut Self::Session,
        operation: Operation<'_>,
        last: bool,
    ) -> Taken;
    /// Octets of a TCP stream were found to be a setup frame or an FPDU. The operations in the frame follow.
    fn framed(&mut self, connection: &Connection, from: Side, framed: FramedOctets<'_>);
    /// An end acknowledged what the other end sends.
    fn acknowledged(&mut self, session: &mut Self::Session, by: Origin, acknowledgement: Acknowledgement);
    /// A packet of an end was captured after the acknowledgement of the packet; `order` counts such packets, and the
    /// others.
    fn acknowledged_early(&mut self, session: &mut Self::Session, packet: Origin, order: AcknowledgementOrder);
    /// The time that an end takes to acknowledge is known better than before.
    fn measured(&mut self, session: &mut Self::Session, by: Side, times: Acknowledgements);
    /// An indication of congestion came for what an end sends.
    fn congested(&mut self, session: &mut Self::Session, sender: Side, sign: CongestionSign);
    /// The window that an end advertises became 0, or is no longer 0 (TCP).
    fn window(&mut self, session: &mut Self::Session, by: Side, time: Time, is_closed: bool);
    /// A packet of an end that was captured first at one time was captured again at another: a copy.
    fn seen_again(&mut self, session: &mut Self::Session, from: Side, first: Time, again: Time);
    /// The memory that all connections together hold.
    fn account(&mut self) -> &mut Account;
    /// Octets of memory held by a session.
    fn session_octets(&self, session: &Self::Session) -> usize;
    /// Makes a session release about this many octets.
    fn let_go(&mut self, connection: &Connection, session: &mut Self::Session, excess: usize);
    /// An end ended a connection. Packets may still be on their way.
    fn ended(&mut self, session: &Self::Session, stamp: Stamp);
    /// A connection ended, or nothing more about the connection will be captured.
    fn closed(&mut self, connection: &Connection, session: Self::Session, counts: &Sides<Counts>);
    /// A connection was refused.
    fn rejected(&mut self, rejected: Rejected);
    /// The capture holds no answer to a connection request.
    fn unanswered(&mut self, request: UnansweredRequest);
    /// An end terminated a connection because the other broke the protocol.
    fn terminated(&mut self, connection: &Connection, session: &Self::Session, by: Origin, terminate: Terminate);
}

/// Releases memory until no more is held than allowed, in at most so many steps. A step that releases nothing is the last: the flows that
/// hold the most keep their memory, and the others have no more to release.
#[inline]
pub(super) fn release_excess<H: Handler>(handler: &mut H, most: usize, mut release: impl FnMut(&mut H)) {
    for _ in 0..most {
        let before = handler.account().held;
        if !handler.account().is_exceeded() {
            return;
        }
        release(handler);
        if handler.account().held >= before {
            return;
        }
    }
}
