//! One end of a connection by verbs alone, which sends any octets, and returns all received octets.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rpcrdma_verbs::{Access, Completion, Depths, Error, Kind, Local, Operation, Status, Verbs, Work};

/// Length of each receive buffer.
pub const RECEIVE: usize = 4096;
/// Number of receives, which is more than the credits that servers grant: Linux 6.1 grants 64, and Linux 7.2 grants 128.
pub const RECEIVES: u64 = 288;

/// A Send of the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its octets.
    pub octets: Vec<u8>,
    /// The handle that Send With Invalidate invalidated.
    pub invalidated: Option<u32>,
}

/// One end of a connection.
#[derive(Debug)]
pub struct RawPeer<'a, V: Verbs> {
    verbs: &'a V,
    queue_pair: V::QueuePair,
    /// Receive buffers, by the number of their receive.
    receives: Vec<V::Region>,
    /// Sends that have not completed, in order.
    sends: VecDeque<V::Region>,
    domain: V::Domain,
    /// Messages that were received and not taken.
    arrived: VecDeque<Arrival>,
    answer: Vec<u8>,
    is_over: bool,
    /// Status of the first failed work.
    failure: Option<Status>,
}

impl<'a, V: Verbs> RawPeer<'a, V> {
    /// Connects with this private data, with receives of [`RECEIVE`] octets.
    ///
    /// # Errors
    /// Any error of [`Verbs::connect`] and [`Verbs::connected`]; [`Error::Unreachable`] if no answer comes in time.
    pub fn connect(verbs: &'a V, to: SocketAddr, private_data: &[u8], patience: Duration) -> Result<Self, Error> {
        let peer = Self::ready(verbs)?;
        verbs.connect(&peer.queue_pair, to, private_data)?;
        let answer = verbs.connected(&peer.queue_pair, patience)?.ok_or(Error::Unreachable)?;
        Ok(Self { answer, ..peer })
    }

    /// Accepts a request with this private data, with receives of [`RECEIVE`] octets.
    ///
    /// # Errors
    /// Any error of [`Verbs::accept`].
    pub fn accept(verbs: &'a V, request: V::Request, private_data: &[u8]) -> Result<Self, Error> {
        let answer = verbs.private_data(&request).to_vec();
        let peer = Self::ready(verbs)?;
        verbs.accept(request, &peer.queue_pair, private_data)?;
        Ok(Self { answer, ..peer })
    }

    /// Creates an end with posted receives, not connected.
    fn ready(verbs: &'a V) -> Result<Self, Error> {
        let domain = verbs.domain()?;
        let depth = usize::try_from(RECEIVES).unwrap_or(usize::MAX);
        let queue_pair = verbs.queue_pair(&domain, Depths { send: depth, receive: depth, ..Depths::default() })?;
        let receives = (0..RECEIVES).map(|_| Ok(verbs.register(&domain, vec![0; RECEIVE], Access::LOCAL_WRITE)?));
        let receives = receives.collect::<Result<Vec<_>, Error>>()?;
        for (id, region) in (0..).zip(&receives) {
            verbs.post_receive(&queue_pair, id, Local::whole_region(region, RECEIVE))?;
        }
        let (sends, arrived, answer) = Default::default();
        Ok(Self { verbs, queue_pair, receives, sends, domain, arrived, answer, is_over: false, failure: None })
    }

    /// The private data of the other side.
    #[must_use]
    pub fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// Returns true if the connection has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Status of the first failed work.
    #[must_use]
    pub const fn failure(&self) -> Option<Status> {
        self.failure
    }

    /// Returns true if all Sends have completed, or will not.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.sends.is_empty() || self.is_over
    }

    /// Returns true if there is a message to take.
    #[must_use]
    pub fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// The next message, which stays to be taken.
    #[must_use]
    pub fn first(&self) -> Option<&Arrival> {
        self.arrived.front()
    }

    /// Takes the next message.
    pub fn take_arrival(&mut self) -> Option<Arrival> {
        self.arrived.pop_front()
    }

    /// Registers memory, to be advertised.
    ///
    /// # Errors
    /// Any error of [`Verbs::register`].
    pub fn register(&self, buffer: Vec<u8>, access: Access) -> Result<V::Region, Error> {
        Ok(self.verbs.register(&self.domain, buffer, access)?)
    }

    /// Posts a Send of these octets.
    ///
    /// # Errors
    /// Any error of [`Verbs::register`] and [`Verbs::post`].
    pub fn send(&mut self, octets: Vec<u8>) -> Result<(), Error> {
        self.post(Operation::Send, octets)
    }

    /// Posts a Send or an RDMA Write of these octets.
    ///
    /// # Errors
    /// Any error of [`Verbs::register`] and [`Verbs::post`].
    pub fn post(&mut self, operation: Operation, octets: Vec<u8>) -> Result<(), Error> {
        let length = octets.len();
        let region = self.register(octets, Access::empty())?;
        self.verbs.post(&self.queue_pair, Work::new(0, operation, Local::whole_region(&region, length)))?;
        self.sends.push_back(region);
        Ok(())
    }

    /// Handles a completion, waiting until this time at most.
    ///
    /// # Errors
    /// Any error of the verbs. The end of the connection is no error.
    pub fn handle_completion(&mut self, until: Instant) -> Result<(), Error> {
        match self.verbs.completion(&self.queue_pair, until.saturating_duration_since(Instant::now())) {
            Ok(Some(Completion { id, kind: Kind::Receive, status: Status::Success, length, invalidated })) => {
                let Some(region) = usize::try_from(id).ok().and_then(|id| self.receives.get(id)) else { return Ok(()) };
                let octets = self.verbs.read(region, |octets| octets.iter().take(length).copied().collect())?;
                self.arrived.push_back(Arrival { octets, invalidated });
                match self.verbs.post_receive(&self.queue_pair, id, Local::whole_region(region, RECEIVE)) {
                    Err(Error::Disconnected) => self.is_over = true,
                    posted => posted?,
                }
            }
            Ok(Some(Completion { status: Status::Success, .. })) => drop(self.sends.pop_front()),
            Ok(Some(failed)) => {
                self.failure = self.failure.or(Some(failed.status));
                self.is_over = true;
            }
            Err(Error::Disconnected) => self.is_over = true,
            Ok(None) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Waits for the next message of the other side. Returns `None` if there is none until then, or the connection
    /// ends.
    ///
    /// # Errors
    /// Any error of [`handle_completion`](Self::handle_completion).
    pub fn next_arrival(&mut self, until: Instant) -> Result<Option<Arrival>, Error> {
        while self.arrived.is_empty() && !self.is_over && Instant::now() < until {
            self.handle_completion(until)?;
        }
        Ok(self.take_arrival())
    }

    /// Ends the connection.
    ///
    /// # Errors
    /// Any error of [`Verbs::disconnect`].
    pub fn disconnect(&self) -> Result<(), Error> {
        self.verbs.disconnect(&self.queue_pair)
    }
}
