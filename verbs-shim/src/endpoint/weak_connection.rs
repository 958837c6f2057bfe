//! A connection that is remembered without being kept open.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::driver::resources::Provider;
use crate::driver::shared_connection::OwnedConnection;
use crate::endpoint::connection::Connection;

/// A [`Connection`] that is remembered without being kept open: for a service that calls clients back, and keeps
/// per-connection state only until the connection ends.
///
/// ```
/// use std::time::Duration;
///
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Client, Server, Settings};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let fabric = Fabric::new();
/// # let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
/// # let address = "192.0.2.2:20049".parse()?;
/// let server = Server::bind(&there, address, Settings::server())?;
/// let client = std::thread::spawn(move || Client::connect(&here, address, &Settings::client()));
/// let connection = server.accept(Duration::from_secs(1))?.expect("a client connects");
/// let remembered = connection.downgrade();
/// assert!(remembered.upgrade().is_some());
/// drop(connection);
/// assert!(remembered.upgrade().is_none());
/// # let _ = client.join();
/// # Ok(())
/// # }
/// ```
pub struct WeakConnection<V: Provider>(Weak<OwnedConnection<V>>);

impl<V: Provider> Connection<V> {
    /// Returns a reference to the same end that does not keep the connection open.
    #[must_use]
    pub fn downgrade(&self) -> WeakConnection<V> {
        WeakConnection(Arc::downgrade(&self.shared))
    }
}

impl<V: Provider> WeakConnection<V> {
    /// Returns the connection. `None` if nobody keeps the connection open. The connection may still have
    /// [ended](Connection::ended).
    #[must_use]
    pub fn upgrade(&self) -> Option<Connection<V>> {
        self.0.upgrade().map(Connection::from_shared)
    }
}

impl<V: Provider> Clone for WeakConnection<V> {
    fn clone(&self) -> Self {
        Self(Weak::clone(&self.0))
    }
}

impl<V: Provider> fmt::Debug for WeakConnection<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakConnection").field(&self.upgrade()).finish()
    }
}
