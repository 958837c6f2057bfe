//! Client and server of an item, for comparison with a selection.

use rpcrdma_dissector::{Address, Connection, Message, MessageDirection, Recovered, Sides, Transaction};

/// The two ends of an item, with roles if known. The client is the end that calls, except for callbacks (RFC 8167).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends<T> {
    /// The client and the server.
    Known {
        /// The end that mounts.
        client: T,
        /// The end that serves.
        server: T,
    },
    /// Two ends of which the capture does not show which one is the client.
    Either([T; 2]),
}

impl<T> Ends<T> {
    /// Returns true if an end that may be the client meets one condition, and an end that may be the server the other.
    pub fn meet(&self, client: impl Fn(&T) -> bool, server: impl Fn(&T) -> bool) -> bool {
        match self {
            Self::Known { client: own_client, server: own_server } => client(own_client) && server(own_server),
            Self::Either(ends) => ends.iter().any(client) && ends.iter().any(server),
        }
    }
}

impl Ends<Address> {
    /// The ends of an RPC: the server calls back.
    const fn from_rpc(requester: Address, responder: Address, is_reverse: bool) -> Self {
        match is_reverse {
            false => Self::Known { client: requester, server: responder },
            true => Self::Known { client: responder, server: requester },
        }
    }

    /// The ends of a connection: the client requests the connection.
    pub(super) const fn of_connection(connection: &Connection) -> Self {
        let Sides { active, passive } = &connection.ends;
        match connection.setup_captured {
            true => Self::from_rpc(active.address, passive.address, false),
            false => Self::Either([active.address, passive.address]),
        }
    }

    /// A reply alone does not show the direction of the call, and neither does a call with an unknown procedure.
    pub(super) const fn of_transaction(transaction: &Transaction) -> Self {
        let Transaction { from, to, reverse, procedure, .. } = *transaction;
        if procedure.is_some() { Self::from_rpc(from, to, reverse) } else { Self::Either([from, to]) }
    }

    pub(super) fn of_message(message: &Message) -> Self {
        let Message { from, to, .. } = *message;
        match &message.rpc {
            None => Self::Either([from, to]),
            Some(rpc) if rpc.direction == MessageDirection::Call => Self::from_rpc(from, to, rpc.reverse),
            Some(rpc) => Self::from_rpc(to, from, rpc.reverse),
        }
    }

    pub(super) fn of_recovered(recovered: &Recovered) -> Self {
        let Recovered { from, to, client, .. } = *recovered;
        match client {
            Some(client) => Self::from_rpc(client, if client == from { to } else { from }, false),
            None => Self::Either([from, to]),
        }
    }
}
