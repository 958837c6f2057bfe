//! Client: the end that connects.

use std::net::SocketAddr;

use crate::driver::resources::Provider;
use crate::driver::settings::Settings;
use crate::endpoint::connection::Connection;
use crate::endpoint::started_call::StartedCall;
use crate::message::call::{Call, CallError, Reply};
use crate::verbs::Error;

/// A client of RPC-over-RDMA: one connection for calls. Clones share the connection; dropping the last one ends the
/// connection.
///
/// While the client is not used, one thread, which serves all clients of the process, attends to the end of the
/// connection: [`Connection::ended`] says at once that the other side has ended the connection, or that the adapter was
/// removed.
///
/// ```
/// use std::thread;
///
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Call, Client, Request, Server, Settings};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fabric = Fabric::new();
/// let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
/// let address = "192.0.2.2:20049".parse()?;
///
/// // A server that answers each call with five octets, which may go into a Write chunk.
/// let server = Server::bind(&there, address, Settings::server())?;
/// let stop = server.stopper();
/// let served = thread::spawn(move || {
///     server.serve(&|mut request: Request<_>| {
///         let reply = request.accept();
///         reply.push(&5_u32.to_be_bytes());
///         reply.push_item(b"hello".to_vec());
///         let _ = request.answer();
///     })
/// });
///
/// // A call of procedure 1 of program 400100, version 1, with room for the octets apart from the other results.
/// let client = Client::connect(&here, address, &Settings::client())?;
/// let mut call = Call::rpc(400_100, 1, 1).with_results_length(4).with_result(vec![0; 100]);
/// let reply = client.call(&mut call)?;
/// assert_eq!((reply.results()?, reply.result(0)), (&5_u32.to_be_bytes()[..], &b"hello"[..]));
///
/// stop.stop();
/// served.join().unwrap()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client<V: Provider> {
    connection: Connection<V>,
}

impl<V: Provider> Client<V> {
    /// Connects. Resolving the address takes an adapter at most 8 seconds, the answer at most
    /// [`connect_timeout`](crate::SettingsBuilder::connect_timeout), and negotiating version 2, if that is allowed, as
    /// long again; falling back to version 1 on a new connection takes all of that once more.
    ///
    /// # Errors
    /// Any error of [`Verbs::connect`](crate::Verbs::connect) and [`Verbs::connected`](crate::Verbs::connected);
    /// [`Error::TimedOut`].
    pub fn connect(verbs: &V, address: SocketAddr, settings: &Settings) -> Result<Self, Error> {
        Ok(Self { connection: Connection::connect(verbs, address, settings)? })
    }

    /// Makes a call and waits for the reply: [`Connection::call`].
    ///
    /// # Errors
    /// A [`CallError`].
    pub fn call<'a>(&self, call: &'a mut Call) -> Result<Reply<'a>, CallError> {
        self.connection.call(call)
    }

    /// Starts a call whose reply is awaited later, or in an asynchronous function: [`Connection::start`].
    pub fn start(&self, call: Call) -> StartedCall<V> {
        self.connection.start(call)
    }

    /// An XID for a call whose header the application writes: [`Connection::xid`].
    #[must_use]
    pub fn xid(&self) -> u32 {
        self.connection.xid()
    }

    /// The connection, for less common needs.
    #[must_use]
    pub const fn connection(&self) -> &Connection<V> {
        &self.connection
    }
}

impl<V: Provider> Client<V> {
    /// Returns true if both use the same connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.connection.is_same(&other.connection)
    }
}

impl<V: Provider> Clone for Client<V> {
    fn clone(&self) -> Self {
        Self { connection: self.connection.clone() }
    }
}
