//! The connections of requesters, and their messages.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::{Error, Verbs};

use crate::probe::USUAL;
use crate::raw::RawPeer;

/// Maximum number of connections. Further ones are rejected.
const MOST: usize = 16;
/// Time between two looks at the connections if there was nothing.
const PAUSE: Duration = Duration::from_micros(500);

/// Names a connection for as long as the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientId(u64);

/// A connection of a requester.
pub(super) struct Client<'a, V: Verbs> {
    pub(super) id: ClientId,
    pub(super) address: SocketAddr,
    pub(super) peer: RawPeer<'a, V>,
}

/// All connections.
pub(super) struct Clients<'a, V: Verbs> {
    verbs: &'a V,
    listener: V::Listener,
    next: u64,
    all: Vec<Client<'a, V>>,
}

impl<'a, V: Verbs> Clients<'a, V> {
    pub(super) fn listen(verbs: &'a V, at: SocketAddr) -> Result<Self, Error> {
        Ok(Self { verbs, listener: verbs.listen(at, MOST)?, next: 0, all: Vec::new() })
    }

    /// Receives at most one message of each connection, and drops connections that have ended: nothing can be answered
    /// there.
    pub(super) fn handle_completions(&mut self) -> Result<(), Error> {
        while let Some(request) = self.verbs.request(&self.listener, Duration::ZERO)? {
            self.accept(request)?;
        }
        let now = Instant::now();
        for client in &mut self.all {
            client.peer.handle_completion(now)?;
        }
        self.all.retain(|client| !client.peer.is_over());
        Ok(())
    }

    /// Receives messages until `found` finds something. Returns `None` after the timeout.
    pub(super) fn wait<T>(
        &mut self,
        until: Instant,
        mut found: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        loop {
            self.handle_completions()?;
            if let Some(found) = found(self) {
                return Ok(Some(found));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }

    fn accept(&mut self, request: V::Request) -> Result<(), Error> {
        if self.all.len() >= MOST {
            return self.verbs.reject(request, &[]);
        }
        let address = self.verbs.peer(&request);
        match RawPeer::accept(self.verbs, request, &USUAL) {
            Ok(peer) => {
                self.next += 1;
                self.all.push(Client { id: ClientId(self.next), address, peer });
                Ok(())
            }
            // The requester has given up.
            Err(Error::Disconnected) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns a connection. `None` if the connection has ended.
    pub(super) fn find(&mut self, id: ClientId) -> Option<&mut Client<'a, V>> {
        self.all.iter_mut().find(|client| client.id == id)
    }

    /// Returns the oldest connection with a message to take.
    pub(super) fn with_arrival(&mut self) -> Option<&mut Client<'a, V>> {
        self.all.iter_mut().find(|client| client.peer.has_arrived())
    }

    /// Returns the oldest such connection that is younger than another.
    pub(super) fn with_arrival_after(&mut self, id: ClientId) -> Option<&mut Client<'a, V>> {
        self.all.iter_mut().find(|client| client.id.0 > id.0 && client.peer.has_arrived())
    }
}
