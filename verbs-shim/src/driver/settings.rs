//! The settings of one end of a connection.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use rpcrdma::endpoint::channel::HostAuthentication;
use rpcrdma::endpoint::{Channel, Limits, Terms, Versions};
use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma::v2::{Properties, ReverseDirection};

use super::buffers::{BufferCounts, BufferSizes, Buffers};
use super::resources::{Provider, Resources};
use super::shared_receives::SharedReceives;
use crate::verbs::Depths;
use crate::verbs::Error;

/// Maximum number of calls in flight on a connection, in each direction.
pub const MAX_CALLS: u32 = 64;

/// Maximum number of Receives that the connections of a server share.
pub const MAX_SHARED_RECEIVES: u32 = 16_384;

/// Maximum number of RDMA Reads in flight on a connection.
pub(super) const READS: usize = 16;

/// The settings of one end of a connection: [`client`](Self::client), [`server`](Self::server), or others from a
/// [`SettingsBuilder`], which refuses invalid ones.
///
/// ```
/// use std::time::Duration;
///
/// use rpcrdma_verbs::Settings;
///
/// let settings = Settings::builder().requested_credits(64).timeout(Some(Duration::from_secs(5))).build()?;
/// assert_eq!((settings.requested_credits(), settings.granted_credits()), (64, 0));
///
/// let refused = Settings::builder().requested_credits(65).build().unwrap_err();
/// assert_eq!(refused.to_string(), "requested_credits: 65 is not within 0 to 64");
/// # Ok::<(), rpcrdma_verbs::SettingsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub(super) requested_credits: u32,
    pub(super) granted_credits: u32,
    send_size: u32,
    receive_size: u32,
    /// 0 to give each connection its own Receives.
    shared_receives: u32,
    pub(crate) remote_invalidation: bool,
    pub(crate) versions: Versions,
    pub(super) continued: u32,
    pub(super) limits: Limits,
    pub(super) reads_provided_replies: bool,
    pub(super) provides_replies: Option<Duration>,
    pub(super) delays: Delays,
    pub(crate) connect_timeout: Duration,
    pub(super) timeout: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) keep_alive: Option<Duration>,
    pub(super) returned: usize,
    /// No message if empty.
    pub(crate) host_authentication: Vec<u8>,
}

/// Artificial delays before this end moves data by RDMA: none without the feature `test-delays`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delays {
    /// Delay before each RDMA Read of a call.
    pub(super) read: Duration,
    /// Delay before the first RDMA Write of a reply.
    pub(super) write: Duration,
}

/// Terms of a connection at its beginning: of the calls that this end makes, and of the calls that this end answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionTerms {
    pub(crate) calls: Terms,
    pub(crate) answers: Terms,
}

impl Settings {
    /// Settings for an end that only makes calls.
    #[must_use]
    pub const fn client() -> Self {
        Self {
            requested_credits: 32,
            granted_credits: 0,
            send_size: 4096,
            receive_size: 4096,
            shared_receives: 0,
            remote_invalidation: true,
            versions: Versions::ONE,
            continued: 0,
            limits: Limits::new(),
            reads_provided_replies: false,
            provides_replies: None,
            delays: Delays { read: Duration::ZERO, write: Duration::ZERO },
            connect_timeout: Duration::from_secs(10),
            timeout: Some(Duration::from_secs(60)),
            grace: Duration::from_secs(60),
            keep_alive: None,
            returned: 0,
            host_authentication: Vec::new(),
        }
    }

    /// Settings for an end that only answers calls.
    #[must_use]
    pub const fn server() -> Self {
        let mut settings = Self::client();
        (settings.requested_credits, settings.granted_credits) = (0, 32);
        settings
    }

    /// A builder that starts from the settings of [`client`](Self::client).
    pub const fn builder() -> SettingsBuilder {
        Self::client().to_builder()
    }

    /// A builder that starts from these settings.
    pub const fn to_builder(self) -> SettingsBuilder {
        SettingsBuilder(self)
    }

    /// [`SettingsBuilder::requested_credits`].
    #[must_use]
    pub const fn requested_credits(&self) -> u32 {
        self.requested_credits
    }

    /// [`SettingsBuilder::granted_credits`].
    #[must_use]
    pub const fn granted_credits(&self) -> u32 {
        self.granted_credits
    }

    /// [`SettingsBuilder::versions`].
    #[must_use]
    pub const fn versions(&self) -> Versions {
        self.versions
    }

    /// The transport properties of a client in version 2.
    pub(crate) fn client_properties(&self) -> Properties<'static> {
        let Limits { segments, collected, .. } = self.limits;
        // Each level includes the one before.
        self.properties(match (self.granted_credits, segments, collected) {
            (0, ..) => ReverseDirection::NONE,
            (.., 0) => ReverseDirection::SIMPLE,
            (_, 0, _) => ReverseDirection::CONT,
            _ => ReverseDirection::GENL,
        })
    }

    /// The transport properties of a server in version 2. In the reverse direction, a server supports the replies to
    /// its own calls.
    pub(crate) fn server_properties(&self) -> Properties<'static> {
        self.properties(if self.requested_credits > 0 { ReverseDirection::GENL } else { ReverseDirection::NONE })
    }

    fn properties(&self, reverse_direction: ReverseDirection) -> Properties<'static> {
        Properties {
            maximum_send_size: self.send_size,
            receive_buffer_size: self.receive_size,
            reverse_direction,
            maximum_segment_count: u32::try_from(self.limits.segments).unwrap_or(u32::MAX),
            ..Properties::DEFAULT
        }
    }

    /// Makes a channel send the host authentication message, whose length was checked.
    pub(crate) fn authenticate(&self, channel: &mut Channel) {
        let _ = channel.authenticate(&self.host_authentication);
    }

    /// Number of buffers of a connection.
    ///
    /// Version 1 needs one of each for each call. In version 2, every message uses a credit, and in family A each
    /// message has to grant a credit that was not granted before, so half of the Receives are kept for that; one more
    /// is for an asynchronous grant. Additional Sends are for transport properties, grants and errors.
    const fn buffers(&self) -> BufferCounts {
        /// Minimum number of Receives of version 2: two that may be granted, and two that are kept.
        const FEWEST: usize = 4;
        const CONTROL: usize = 8;
        let calls = (self.requested_credits + self.granted_credits) as usize;
        if self.versions.bits() == Versions::ONE.bits() {
            return BufferCounts { receives: calls, further_receives: 0, sends: calls };
        }
        let receives = if calls * 2 < FEWEST { FEWEST + 1 } else { calls * 2 + 1 };
        let first = if calls < FEWEST + 1 { FEWEST + 1 } else { calls };
        BufferCounts { receives: first, further_receives: receives - first, sends: calls + CONTROL }
    }

    pub(crate) fn private_data<V: Provider>(&self, verbs: &V) -> PrivateData {
        let can = self.remote_invalidation && verbs.remote_invalidation();
        let flags = if can { Flags::REMOTE_INVALIDATION } else { Flags::empty() };
        PrivateData { flags, send_size: self.send_size, receive_size: self.receive_size }
    }

    /// Creates the Receives that all connections of a server share, if configured.
    pub(crate) fn shared_receives<V: Provider>(&self, verbs: &V) -> Result<Option<Arc<SharedReceives<V>>>, Error> {
        if self.shared_receives == 0 {
            return Ok(None);
        }
        let (count, size) = (self.shared_receives as usize, self.receive_size as usize);
        SharedReceives::new(verbs.clone(), count, size).map(|shared| Some(Arc::new(shared)))
    }

    /// Creates an unconnected queue pair with buffers. `shared`: Receives of all connections.
    pub(crate) fn prepare<V: Provider>(
        &self,
        verbs: &V,
        shared: Option<&Arc<SharedReceives<V>>>,
    ) -> Result<(Resources<V>, Buffers<V>), Error> {
        /// Number of RDMA Reads and Writes that can be posted in addition to the Sends.
        const TRANSFERS: usize = 64;
        let counts @ BufferCounts { receives, further_receives, sends } = self.buffers();
        let receive = receives + further_receives;
        let depths = Depths { send: sends + TRANSFERS, receive, reads: READS, ..Depths::default() };
        let (domain, queue_pair) = match shared {
            Some(shared) => (shared.domain(), verbs.sharing_queue_pair(shared.queue(), depths)?),
            None => {
                let domain = Arc::new(verbs.domain()?);
                let queue_pair = verbs.queue_pair(&domain, depths)?;
                (domain, queue_pair)
            }
        };
        let resources = Resources { verbs: verbs.clone(), domain, queue_pair, shared: shared.map(Arc::clone) };
        let sizes = BufferSizes { send: self.send_size as usize, receive: self.receive_size as usize };
        let buffers = Buffers::new(&resources, counts, sizes, depths.send)?;
        Ok((resources, buffers))
    }
}

/// Builds [`Settings`]. [`build`](Self::build) refuses invalid ones, and names the setting.
#[derive(Clone, Debug)]
#[must_use]
pub struct SettingsBuilder(Settings);

impl SettingsBuilder {
    /// Maximum number of calls in flight that this end makes: the number of credits to request, and of Receives to
    /// post. At most [`MAX_CALLS`]; 0 for an end that makes no calls. Further calls wait for a free slot; a future
    /// waits only while being polled. A call in flight takes 2 kB; the table for all calls exists from the first call
    /// on.
    pub const fn requested_credits(mut self, calls: u32) -> Self {
        self.0.requested_credits = calls;
        self
    }

    /// Maximum number of calls in flight that this end answers: the number of credits to grant, and of Receives to
    /// post. At most [`MAX_CALLS`]. With 0, a client ignores all calls. The table takes 2.5 kB for each call, at first
    /// for at most eight; once more are in flight, for all.
    ///
    /// In version 2, a client announces if it answers calls, and in which formats ([`limits`](Self::limits)). If a
    /// server makes a call that the client has not announced, the call ends with [`CallRefusal::NotAnswered`].
    ///
    /// [`CallRefusal::NotAnswered`]: rpcrdma::endpoint::requester::CallRefusal::NotAnswered
    pub const fn granted_credits(mut self, calls: u32) -> Self {
        self.0.granted_credits = calls;
        self
    }

    /// Maximum number of octets sent inline: a multiple of 1024, at most 262,144 (RFC 8797 section 4.2).
    pub const fn send_size(mut self, octets: u32) -> Self {
        self.0.send_size = octets;
        self
    }

    /// Maximum number of octets received inline: a multiple of 1024, at most 262,144 (RFC 8797 section 4.2).
    pub const fn receive_size(mut self, octets: u32) -> Self {
        self.0.receive_size = octets;
        self
    }

    /// Number of Receives that all connections of a [`Server`](crate::Server) share: a shared receive queue. At most
    /// [`MAX_SHARED_RECEIVES`]. Default: 0, to give each connection its own Receives. Clients ignore this setting.
    ///
    /// An idle connection then has no receive buffers, and needs less than half of the memory. In return:
    /// - While the queue is empty, the Sends of all clients wait. The adapter refuses these Sends as "receiver not
    ///   ready", and the clients' adapters repeat them every 0.64 ms, without end
    ///   ([`Depths::receiver_not_ready`](crate::Depths)). So calls are late and not lost. Receives are used for a short
    ///   time, until their message is read, but a thread that is busy in [`Service::call`](crate::Service::call) reads
    ///   none. So choose the number of messages that may come at one moment, from all clients together: more than the
    ///   [`granted_credits`](Self::granted_credits) calls in flight of one client, and not below the number of clients that are active at
    ///   once.
    /// - A client that begins a message and never ends that message occupies a Receive until the connection ends:
    ///   [`Server::with_connections`](crate::Server::with_connections) and
    ///   [`Server::with_idle_limit`](crate::Server::with_idle_limit) limit both.
    /// - The completion queue of each connection has room for all of these Receives, because a client that ignores its
    ///   credits could fill all of them. That connection then ends, and the Receives return to the queue.
    /// - All connections are in one protection domain. So no memory can be exposed to a client, because other clients
    ///   could use that memory too (RFC 8166 section 8.1.1). IncomingCalls exposes none. The server's own
    ///   [`requested_credits`](Self::requested_credits) have to fit inline with their replies: others end with
    ///   [`CallError::NotRegistered`](crate::CallError::NotRegistered) and [`Error::SharedDomain`].
    ///   [`provides_replies`](Self::provides_replies) cannot be combined with shared Receives.
    /// - iWARP adapters cannot share Receives, and [`Server::bind`](crate::Server::bind) fails with
    ///   [`Error::NotShared`]: there, clients may write to the memory into which RDMA Reads bring data.
    pub const fn shared_receives(mut self, receives: u32) -> Self {
        self.0.shared_receives = receives;
        self
    }

    /// `true` to let the other side use Send with Invalidate (RFC 8797 section 4.1), if the adapter supports that.
    pub const fn remote_invalidation(mut self, allowed: bool) -> Self {
        self.0.remote_invalidation = allowed;
        self
    }

    /// Versions of RPC-over-RDMA that a client may use, or that a server accepts. Default: version 1 only.
    ///
    /// If version 2 is allowed, a client begins with the format of the latest draft. If version 1 is also allowed, the
    /// client falls back to version 1: on the same connection if the server refuses version 2, and on a new one if the
    /// server ends the connection, or does not answer within [`connect_timeout`](Self::connect_timeout). To spare the
    /// next connection that, remember the result of [`Connection::version`](crate::Connection::version).
    pub const fn versions(mut self, versions: Versions) -> Self {
        self.0.versions = versions;
        self
    }

    /// In version 2: maximum length of a call, with data items, that is continued in further Sends if one Send is too
    /// short, instead of being put in memory for the other side to read. The same limit applies to the reply. That
    /// saves registrations, but copies octets. Default: 0, for never. A reply that fits nowhere else is continued in
    /// any case.
    pub const fn continued(mut self, octets: u32) -> Self {
        self.0.continued = octets;
        self
    }

    /// The host authentication message sent with the transport properties of version 2: at most 512 octets, whose
    /// meaning both applications agree on. Default: empty, for no message.
    pub fn host_authentication(mut self, message: &[u8]) -> Self {
        self.0.host_authentication = message.to_vec();
        self
    }

    /// Limits on the size of calls of the other side. Calls in flight can make this end hold [`granted_credits`](Self::granted_credits)
    /// times that many octets, and the same again while the other side does not receive the replies.
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.0.limits = limits;
        self
    }

    /// `true` to read replies that are too long for a Send from memory of the other side, instead of having the server
    /// write to a Reply chunk (RFC 5666 section 3.5). RFC 8166 forbids this: use only with a server that is known to
    /// provide replies. Such a reply looks like a call, so this end cannot also be called.
    pub const fn reads_provided_replies(mut self, pulls: bool) -> Self {
        self.0.reads_provided_replies = pulls;
        self
    }

    /// Time during which a reply that fits nowhere is provided for the other side to read. `None` to refuse such
    /// replies. RFC 8166 forbids this: use only for clients that are known to read replies. Such a reply looks like a
    /// call, so this end cannot also make calls.
    pub const fn provides_replies(mut self, longest: Option<Duration>) -> Self {
        self.0.provides_replies = longest;
        self
    }

    /// Maximum time for setting up a connection.
    pub const fn connect_timeout(mut self, longest: Duration) -> Self {
        self.0.connect_timeout = longest;
        self
    }

    /// Time after which a call is given up. `None` for never. A reply may never come: an adapter does not notice that
    /// the other side is gone while nothing is being sent.
    pub const fn timeout(mut self, longest: Option<Duration>) -> Self {
        self.0.timeout = longest;
        self
    }

    /// Maximum time that a given-up call still waits for a reply. The other side does not know that nobody wants the
    /// reply, and may use the memory of the call, so the call keeps its buffers and its slot among the
    /// [`requested_credits`](Self::requested_credits) until the reply has come. After this time the connection ends, with all calls, because
    /// nothing else revokes the access to the memory; zero ends the connection at once. The server checks this time, or
    /// else the thread that serves futures.
    pub const fn grace(mut self, longest: Duration) -> Self {
        self.0.grace = longest;
        self
    }

    /// Keep-alive: time without any completion after which this end checks if the other side is still there, by an RDMA
    /// Write of no octets. A host that is switched off or cut off is found within three times this interval, and the
    /// connection ends with [`EndReason::Silent`](crate::EndReason::Silent) or [`EndReason::Failed`](crate::EndReason::Failed). The
    /// adapter of the other side answers even if the program hangs: only a [`timeout`](Self::timeout) finds that.
    /// Default: `None`, for no keep-alive. Each end may have another interval, and an idle connection wakes a thread
    /// once in each interval.
    pub const fn keep_alive(mut self, interval: Option<Duration>) -> Self {
        self.0.keep_alive = interval;
        self
    }

    /// Maximum number of given-up calls whose buffers are kept for
    /// [`Connection::take_given_up_call`](crate::Connection::take_given_up_call). If there are more, the buffers of the oldest ones are
    /// freed.
    pub const fn kept_given_up_calls(mut self, calls: usize) -> Self {
        self.0.returned = calls;
        self
    }

    /// Returns the settings.
    ///
    /// # Errors
    /// A [`SettingsError`] for the first invalid setting.
    pub fn build(self) -> Result<Settings, SettingsError> {
        let Self(settings) = self;
        within("requested_credits", settings.requested_credits, 0..=MAX_CALLS)?;
        within("granted_credits", settings.granted_credits, 0..=MAX_CALLS)?;
        within("shared_receives", settings.shared_receives, 0..=MAX_SHARED_RECEIVES)?;
        for (name, size) in [("send_size", settings.send_size), ("receive_size", settings.receive_size)] {
            within(name, size, PrivateData::SMALLEST_SIZE..=PrivateData::LARGEST_SIZE)?;
            if !size.is_multiple_of(UNIT) {
                return Err(SettingsError::NotAMultiple { name, value: size, of: UNIT });
            }
        }
        let most = HostAuthentication::MOST_OCTETS as u32;
        let length = u32::try_from(settings.host_authentication.len()).unwrap_or(u32::MAX);
        within("host_authentication", length, 0..=most)?;
        if settings.versions.is_empty() || !Versions::all().contains(settings.versions) {
            return Err(SettingsError::NoVersion);
        }
        if settings.keep_alive.is_some_and(|interval| interval.is_zero()) {
            return Err(SettingsError::NoInterval);
        }
        if settings.requested_credits == 0 && settings.granted_credits == 0 {
            return Err(SettingsError::NoCalls);
        }
        if settings.shared_receives > 0 && settings.provides_replies.is_some() {
            return Err(SettingsError::ExposesMemory { name: "provides_replies" });
        }
        if settings.requested_credits > 0 && settings.granted_credits > 0 {
            let one_way = [
                ("reads_provided_replies", settings.reads_provided_replies),
                ("provides_replies", settings.provides_replies.is_some()),
            ];
            if let Some((name, _)) = one_way.iter().find(|(_, is_set)| *is_set) {
                return Err(SettingsError::OneWayOnly { name });
            }
        }
        Ok(settings)
    }
}

/// Unit of sizes (RFC 8797 section 4.2).
const UNIT: u32 = 1024;

fn within(name: &'static str, value: u32, range: RangeInclusive<u32>) -> Result<(), SettingsError> {
    if range.contains(&value) { Ok(()) } else { Err(SettingsError::OutOfRange { name, value, range }) }
}

/// An invalid setting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsError {
    /// A number is too small or too large.
    OutOfRange {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: u32,
        /// The valid values.
        range: RangeInclusive<u32>,
    },
    /// A size that private data cannot express.
    NotAMultiple {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: u32,
        /// The number has to be a multiple of this.
        of: u32,
    },
    /// `versions` is empty, or has an unknown one.
    NoVersion,
    /// `requested_credits` and `granted_credits` are both 0, so this end would do nothing.
    NoCalls,
    /// `keep_alive` is zero, so that this end would do nothing else.
    NoInterval,
    /// A setting that exposes memory to the other side, but `shared_receives` is above 0.
    ExposesMemory {
        /// The setting.
        name: &'static str,
    },
    /// A setting for connections on which only one end calls, but `requested_credits` and `granted_credits` are both above 0.
    OneWayOnly {
        /// The setting.
        name: &'static str,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { name, value, range } => {
                write!(f, "{name}: {value} is not within {} to {}", range.start(), range.end())
            }
            Self::NotAMultiple { name, value, of } => write!(f, "{name}: {value} is not a multiple of {of}"),
            Self::NoVersion => f.write_str("versions: at least one is required, and all must be known"),
            Self::NoCalls => {
                f.write_str("requested_credits, granted_credits: both are 0, so nothing can be called or answered")
            }
            Self::NoInterval => f.write_str("keep_alive: the interval is zero"),
            Self::ExposesMemory { name } => {
                write!(f, "{name}: exposes memory, which connections with shared_receives cannot")
            }
            Self::OneWayOnly { name } => write!(f, "{name}: needs requested_credits or granted_credits to be 0"),
        }
    }
}

impl std::error::Error for SettingsError {}

/// Artificial delays, so that a tool that measures calls can be compared with a known time.
#[cfg(feature = "test-delays")]
impl SettingsBuilder {
    /// Delay before each RDMA Read of a call that this end answers. The delay of the first Read starts at the arrival
    /// of the call, and each later one when the Read before was posted. Calls do not wait for each other. Default:
    /// zero.
    pub const fn delay_reads(mut self, delay: Duration) -> Self {
        self.0.delays.read = delay;
        self
    }

    /// Delay before the RDMA Writes of a reply, like [`delay_reads`](Self::delay_reads): from the service's answer
    /// until the first Write is posted. The other Writes follow without delay.
    pub const fn delay_writes(mut self, delay: Duration) -> Self {
        self.0.delays.write = delay;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_announces_the_calls_of_its_direction() {
        let client = |calls: u32, served: u32, limits: Limits| {
            let settings =
                Settings::builder().requested_credits(calls).granted_credits(served).limits(limits).build().unwrap();
            settings.client_properties().reverse_direction
        };
        let general = Limits::new();
        for (calls, served, limits, level) in [
            (1, 0, general, ReverseDirection::NONE),
            (1, 1, general, ReverseDirection::GENL),
            (0, 1, general, ReverseDirection::GENL),
            (1, 1, Limits::NO_CHUNKS, ReverseDirection::SIMPLE),
            (1, 1, Limits::NO_CHUNKS.with_collected(1), ReverseDirection::CONT),
            (1, 1, general.with_collected(0), ReverseDirection::SIMPLE),
            (1, 1, general.with_segments(1), ReverseDirection::GENL),
        ] {
            assert_eq!(client(calls, served, limits), level, "{calls} {served} {limits:?}");
        }
        for (calls, served, level) in
            [(0, 1, ReverseDirection::NONE), (1, 1, ReverseDirection::GENL), (1, 0, ReverseDirection::GENL)]
        {
            let settings =
                Settings::server().to_builder().requested_credits(calls).granted_credits(served).build().unwrap();
            assert_eq!(settings.server_properties().reverse_direction, level, "{calls} {served}");
        }
    }

    #[test]
    fn an_end_announces_the_sizes_of_its_messages() {
        let settings = Settings::builder().send_size(2048).receive_size(8192).build().unwrap();
        let Properties { maximum_send_size, receive_buffer_size, .. } = settings.client_properties();
        assert_eq!((maximum_send_size, receive_buffer_size), (2048, 8192));
    }

    /// Receives, further ones for version 2, and Sends. Version 2 needs two Receives for each call and one more, and five at least.
    #[test]
    fn buffers_follow_from_credits_and_versions() {
        for (calls, served, of_version_1, of_both) in
            [(1, 0, (1, 0, 1), (5, 0, 9)), (2, 2, (4, 0, 4), (5, 4, 12)), (3, 5, (8, 0, 8), (8, 9, 16))]
        {
            let builder = Settings::builder().requested_credits(calls).granted_credits(served);
            let [one, both] =
                [Versions::ONE, Versions::all()].map(|versions| builder.clone().versions(versions).build().unwrap());
            assert_eq!((one.requested_credits(), one.granted_credits()), (calls, served));
            let counts = |(receives, further_receives, sends)| BufferCounts { receives, further_receives, sends };
            assert_eq!(one.buffers(), counts(of_version_1), "{calls} {served}");
            assert_eq!(both.buffers(), counts(of_both), "{calls} {served}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_name_value_and_limit() {
        let client = || Settings::builder();
        let refused = [
            (client().requested_credits(65), "requested_credits: 65 is not within 0 to 64"),
            (client().granted_credits(100), "granted_credits: 100 is not within 0 to 64"),
            (client().send_size(1023), "send_size: 1023 is not within 1024 to 262144"),
            (client().receive_size(263_168), "receive_size: 263168 is not within 1024 to 262144"),
            (client().send_size(4097), "send_size: 4097 is not a multiple of 1024"),
            (client().host_authentication(&[0; 513]), "host_authentication: 513 is not within 0 to 512"),
            (client().shared_receives(16_385), "shared_receives: 16385 is not within 0 to 16384"),
            (
                client().shared_receives(1).provides_replies(Some(Duration::ZERO)),
                "provides_replies: exposes memory, which connections with shared_receives cannot",
            ),
            (
                client().requested_credits(0),
                "requested_credits, granted_credits: both are 0, so nothing can be called or answered",
            ),
            (client().keep_alive(Some(Duration::ZERO)), "keep_alive: the interval is zero"),
            (client().versions(Versions::empty()), "versions: at least one is required, and all must be known"),
            (
                client().granted_credits(1).reads_provided_replies(true),
                "reads_provided_replies: needs requested_credits or granted_credits to be 0",
            ),
            (
                client().granted_credits(1).provides_replies(Some(Duration::ZERO)),
                "provides_replies: needs requested_credits or granted_credits to be 0",
            ),
        ];
        for (builder, why) in refused {
            assert_eq!(builder.build().unwrap_err().to_string(), why);
        }
        let largest =
            client().requested_credits(64).granted_credits(64).send_size(1024).receive_size(262_144).build().unwrap();
        assert_eq!(largest.clone().to_builder().build(), Ok(largest));
        for usual in [Settings::client(), Settings::server()] {
            assert_eq!(usual.clone().to_builder().build(), Ok(usual), "the usual settings can be");
        }
    }
}
