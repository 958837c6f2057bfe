//! A client of NFSv4.0 (RFC 7530) for copying files and listing directories.
//!
//! READs receive their data in Write chunks and WRITEs send theirs in Read chunks, several at a time. READDIR results
//! come in a Reply chunk, and a path that is too long for a Send goes in a Position Zero chunk (RFC 8267).

mod compound;
mod error;
pub(crate) mod list;
mod location;
mod read;
mod write;
mod xdr;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma::rpc::AuthSys;
use rpcrdma_verbs::{Call, CallError, CallOutcome, Client, Provider, Settings, StartedCall, Version, Versions};

pub(crate) use self::compound::Attributes;
use self::compound::{Compound, GETATTR, GETFH};
pub(crate) use self::error::{Error, Status};
pub(crate) use self::location::Location;

/// The settings of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Maximum number of READs or WRITEs in flight; at least 1.
    pub(crate) depth: u32,
    /// User and group of the caller (RFC 5531 section 14).
    pub(crate) user: (u32, u32),
    /// Time during which a call is repeated if the server asks to try again later.
    pub(crate) patience: Duration,
    /// Time after which a call without a reply ends the copy. Also limits the connection setup, which has 10 s at most.
    pub(crate) timeout: Duration,
    /// Interval of checks that the server is still there, if any.
    pub(crate) keep_alive: Option<Duration>,
    /// Versions of RPC-over-RDMA to use.
    pub(crate) versions: Versions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            depth: 4,
            user: (0, 0),
            patience: Duration::from_secs(120),
            timeout: Duration::from_secs(60),
            keep_alive: None,
            versions: Versions::ONE,
        }
    }
}

/// A client of NFSv4.0.
pub(crate) struct Nfs4<V: Provider> {
    client: Client<V>,
    user: AuthSys<'static>,
    depth: usize,
    patience: Duration,
    timeout: Duration,
}

/// A file or directory on the server.
#[derive(Clone, Debug)]
pub(crate) struct ServerFile {
    handle: Vec<u8>,
    /// Its attributes.
    pub(crate) attributes: Attributes,
}

/// Maximum length of the data of one READ or WRITE.
const MOST_DATA: u64 = 1 << 20;
/// Maximum time for setting up a connection.
const LONGEST_SET_UP: Duration = Duration::from_secs(10);

impl<V: Provider> Nfs4<V> {
    pub(crate) fn connect(verbs: &V, address: SocketAddr, options: &Options) -> Result<Self, Error> {
        let depth = options.depth.clamp(1, Settings::client().requested_credits());
        let timeout = options.timeout;
        let builder = Settings::builder().requested_credits(depth).versions(options.versions);
        let builder = builder.timeout(Some(timeout)).connect_timeout(LONGEST_SET_UP.min(timeout));
        let settings = builder.keep_alive(options.keep_alive).build().map_err(Error::Settings)?;
        let client = Client::connect(verbs, address, &settings).map_err(Error::Connect)?;
        let user = AuthSys::new(b"nfs4-cp", options.user.0, options.user.1, &[]).map_err(Error::User)?;
        Ok(Self { client, user, depth: depth as usize, patience: options.patience, timeout })
    }

    /// The version of RPC-over-RDMA of the connection.
    pub(crate) fn version(&self) -> Option<Version> {
        self.client.connection().version()
    }

    /// Looks up a path, name by name.
    pub(crate) fn look_up(&self, path: &[String]) -> Result<ServerFile, Error> {
        let mut compound = Compound::walk(path);
        compound.add_operation(GETFH, "");
        compound.attributes(&[Attributes::OF_FILE]);
        let call = self.run(&compound)?;
        let mut results = compound.results(&call)?;
        let handle = results.results_of(GETFH)?.opaque()?.to_vec();
        let attributes = Attributes::decode(results.results_of(GETATTR)?)?;
        Ok(ServerFile { handle, attributes })
    }

    /// Makes a call without data, and waits for the reply, in which all operations have succeeded.
    fn run(&self, compound: &Compound) -> Result<Call, Error> {
        let flight = self.start(compound.clone(), self.call());
        self.land(flight)
    }

    /// Returns a call without operations.
    fn call(&self) -> Call {
        compound::call().with_credentials(&self.user)
    }

    /// Starts a call with the buffers of the previous call, if any.
    fn start(&self, compound: Compound, mut call: Call) -> Flight<V> {
        let message = call.message();
        message.clear();
        let data = message.buffer();
        self.start_with(compound, call, data)
    }

    fn start_with(&self, compound: Compound, mut call: Call, data: Vec<u8>) -> Flight<V> {
        call.message().clear();
        compound.append_arguments(call.message(), data);
        call.set_results_length(compound.results_length());
        Flight { compound, pending: self.client.start(call) }
    }

    /// Waits for the reply. If the server cannot answer now, the call is repeated, as a new one (RFC 7530 section
    /// 13.1.1.3).
    fn land(&self, flight: Flight<V>) -> Result<Call, Error> {
        let Flight { mut compound, mut pending } = flight;
        let mut patience = Patience::new(self.patience);
        loop {
            let ended = pending.wait();
            ended.reply().map(drop).map_err(|error| self.unanswered(error))?;
            let call = ended.into_call();
            match compound.results(&call) {
                Ok(_) => return Ok(call),
                // Its sequence number has been used.
                Err(Error::Status(status)) if !compound.has_sequence() && patience.is_left(&status) => {}
                Err(error) => return Err(error),
            }
            Flight { compound, pending } = self.start(compound, call);
        }
    }

    /// Names the limit of a call that timed out.
    fn unanswered(&self, error: CallError) -> Error {
        match error {
            CallError::TimedOut(_) => Error::TimedOut(self.timeout),
            error => Error::Call(error),
        }
    }

    /// Waits for everything in flight, whatever the outcome: the memory of a given-up call would be gone when the
    /// server accesses that memory. If a call had no reply, no other reply will come on this connection.
    fn abandon<T>(&self, done: &Result<T, Error>, flights: &mut VecDeque<Transfer<V>>) {
        if matches!(done, Err(Error::Call(_) | Error::TimedOut(_))) {
            self.client.connection().disconnect();
        }
        for transfer in flights.drain(..) {
            let _: CallOutcome = transfer.flight.pending.wait();
        }
    }
}

/// A call in flight.
struct Flight<V: Provider> {
    compound: Compound,
    pending: StartedCall<V>,
}

/// A READ or WRITE in flight.
struct Transfer<V: Provider> {
    flight: Flight<V>,
    offset: u64,
    count: u32,
}

/// Time left for a server that keeps asking to try again later.
struct Patience {
    until: Option<Instant>,
    pause: Duration,
}

impl Patience {
    fn new(longest: Duration) -> Self {
        Self { until: Instant::now().checked_add(longest), pause: Duration::from_millis(10) }
    }

    /// Returns true if there is time for a pause and another attempt.
    fn is_left(&mut self, status: &Status) -> bool {
        const LONGEST: Duration = Duration::from_secs(1);
        if !status.passes() || self.until.is_some_and(|until| until < Instant::now() + self.pause) {
            return false;
        }
        thread::sleep(self.pause);
        self.pause = LONGEST.min(self.pause * 2);
        true
    }
}
