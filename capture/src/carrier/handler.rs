//! Who takes what happens on connections.

use super::account::Account;
use super::connection::{Connection, Counts, Rejected};
use super::iwarp::terminate::Terminate;
use super::operation::{Operation, Side, Sides, Stamp};

/// What became of an operation that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was taken.
    Done,
    /// Nothing was done: it speaks of something unknown, that a packet still to come may explain.
    Early,
}

/// What takes the connections and their operations.
pub trait Handler {
    /// What is kept of a connection while it lasts.
    type Session;
    /// A connection begins.
    fn opened(&mut self, connection: &Connection) -> Self::Session;
    /// An end of a connection did something; `last` says that no packet still to come will explain it, so that it is not
    /// early.
    fn operation(
        &mut self,
        connection: &Connection,
        session: &mut Self::Session,
        operation: Operation<'_>,
        last: bool,
    ) -> Taken;
    /// What all connections together hold.
    fn account(&mut self) -> &mut Account;
    /// Octets of memory that a session holds.
    fn held(&self, session: &Self::Session) -> usize;
    /// A session is to let go about so many octets.
    fn let_go(&mut self, connection: &Connection, session: &mut Self::Session, excess: usize);
    /// A connection ended, or nothing more can be learnt of it.
    fn closed(&mut self, connection: &Connection, session: Self::Session, counts: &Sides<Counts>);
    /// A connection was refused.
    fn rejected(&mut self, rejected: Rejected);
    /// An end ended a connection, as the other broke the protocol.
    fn terminated(
        &mut self,
        connection: &Connection,
        session: &Self::Session,
        from: Side,
        terminated: (Stamp, Terminate),
    );
}
