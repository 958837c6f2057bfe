//! All causes of a diagnosis, and the rules that find the causes.

/// A cause of waiting, or of a capture that does not show one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The capture holds no RPC-over-RDMA.
    NothingFound,
    /// The capture holds the packets of one end only.
    OneDirection,
    /// The capture lacks packets.
    CaptureGaps,
    /// The capture cut packets before the end of their messages.
    Cut,
    /// The capture began while calls waited.
    JoinedLate,
    /// The capture holds nearly every packet twice.
    MirrorDoubled,
    /// The two directions of connections were captured by two clocks.
    TwoClocks,
    /// The responder accepted a call, and then did nothing for the call.
    ServerSilent,
    /// Nothing acknowledges a call that was retransmitted several times.
    ServerUnreachable,
    /// The responder waits for the requester.
    ClientSilent,
    /// Nothing acknowledges a reply that was retransmitted several times.
    ClientUnreachable,
    /// Packets that an end retransmits in vain have a wrong checksum.
    WrongChecksum,
    /// The requester has no Receive posted for a reply.
    ReplyRefused,
    /// Connections ended before the reply, and clients made calls again.
    Retried,
    /// Connection requests are rejected, because nothing listens on the server's port.
    ServerNotListening,
    /// Connection requests are rejected for another reason.
    ConnectionRefused,
    /// Connection requests are not answered.
    ConnectUnanswered,
    /// An end ends connections again and again.
    Flapping,
    /// Lost packets were retransmitted.
    Loss,
    /// The receiver had no Receive posted.
    ReceiverNotReady,
    /// The way through the network takes long.
    Distance,
    /// A client is late to return a delegation that other calls wait for.
    DelegationRecall,
    /// The server is in a grace period, and refuses operations.
    ServerGrace,
    /// The server refuses operations for now, for no reason that the capture shows.
    RefusedForNow,
    /// The end of an asynchronous COPY does not come.
    CopyUnfinished,
    /// Locks are held by other owners.
    LockHeld,
    /// A server reports that state of a client, or the way of callbacks to the client, is lost.
    SessionStatus,
    /// The responder takes unusually long.
    ServerSlow,
    /// The requester takes unusually long to provide data, or to fetch a reply.
    ClientSlow,
    /// An adapter completes work requests with an error.
    CompletionError,
    /// Connections end while calls wait.
    ConnectionLost,
    /// RDMA Reads of a server take unusually long, and no packets show why.
    RdmaReadSlow,
    /// A client takes unusually long to register memory.
    Registration,
    /// Calls wait at a client before the transmission.
    ClientQueue,
    /// Calls wait for a thread of a server.
    ServerQueue,
    /// Replies come late, and nothing shows why.
    RepliesLate,
    /// The end that sends data by RDMA pauses.
    SlowTransfer,
    /// The network is congested.
    Congestion,
    /// A receiver's TCP window is closed.
    Window,
    /// RPCs share a link that is full.
    LinkFull,
    /// One of many servers, clients or files is far slower than the others.
    Outlier,
    /// Calls waited for credits.
    Credits,
    /// Calls waited for slots of their sessions.
    Slots,
    /// RPCs need chunks because of a small inline threshold.
    SmallSends,
    /// RPCs fail.
    Errors,
    /// An end breaks a rule of the protocol.
    Protocol,
}

/// The end that can remove a cause, or the network in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CauseOwner {
    /// The client of the mount.
    Client,
    /// The server of the mount.
    Server,
    /// The network between client and server.
    Network,
    /// The capture itself.
    Capture,
}

impl CauseOwner {
    /// Name of the owner.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Network => "network",
            Self::Capture => "capture",
        }
    }
}

/// A cause, and the rule that finds the cause.
#[derive(Debug)]
#[non_exhaustive]
pub struct CauseRule {
    /// The cause.
    pub cause: Cause,
    /// Name of the cause.
    pub name: &'static str,
    /// Heading above the evidence.
    pub title: &'static str,
    /// Condition for reporting the cause.
    pub condition: &'static str,
}

/// Causes of one RPC: a bit for each cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CauseSet(pub u64);

impl CauseSet {
    /// Adds a cause.
    pub const fn insert(&mut self, cause: Cause) {
        self.0 |= 1 << cause as u64;
    }

    /// Returns true if the set contains the cause.
    #[must_use]
    pub const fn contains(self, cause: Cause) -> bool {
        self.0 & 1 << cause as u64 != 0
    }
}

/// Causes of an RPC.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RpcCauses {
    /// Causes that count the RPC, including causes that will not be reported. For a call without a reply, only the end of the
    /// capture shows the cause: [`Diagnosis::late_causes`](super::Diagnosis::late_causes).
    pub counted: CauseSet,
    /// Causes that the RPC is the greatest instance of so far.
    pub greatest: Vec<Cause>,
}

impl RpcCauses {
    /// Adds a cause that the RPC counts for.
    pub(super) fn add_cause(&mut self, cause: Cause, is_greatest: bool) {
        self.counted.insert(cause);
        self.greatest.extend(is_greatest.then_some(cause));
    }
}

/// The least age of a call that counts as unanswered: 1 s.
pub(super) const UNANSWERED: u64 = 1_000_000_000;
/// The least time that counts as unusually long for an end: 20 ms, in which a disk can seek, and wait for another seek.
pub(super) const SLOW: u64 = 20_000_000;
/// The least round trip that counts as distant: 10 ms, in which light goes a thousand kilometres and back through a fibre.
pub(super) const DISTANT: u64 = 10_000_000;
/// Minimum time that counts even for a single RPC: 500 ms.
pub(super) const VERY_SLOW: u64 = 500_000_000;
/// The least number of RPCs of a slow end, or of calls without a credit, if none took very long. A mount begins and ends with
/// a few operations that servers have to write to a disk.
pub(super) const SEVERAL: u64 = 10;
/// Nanoseconds for an octet of data that a network moves without being slow: 100 MB/s.
pub(super) const PER_OCTET: u64 = 10;
/// The least part of all waiting time of a cause for which somebody waits, in percent.
pub(super) const SHARE: u64 = 5;
/// Minimum share of waiting time for slow ends, in percent, because every end needs some time.
pub(super) const SLOW_SHARE: u64 = 20;
/// The least part of the RPCs that waited for a credit, in percent.
pub(super) const WAITED: u64 = 20;
/// The least part of the RPCs that show what both ends saw, in percent.
pub(super) const MOST: u64 = 90;
/// The least part of RPCs or packets that counts, in percent.
pub(super) const PART: u64 = 1;
/// The least part of the RPCs with chunks that larger Sends would carry, in percent.
pub(super) const SMALL: u64 = 20;
/// The Sends that every implementation known here can have, in octets.
pub(super) const USUAL_SEND: u32 = 4096;

/// Octets of a Send that show the RPC, unless the Send has long lists of chunks. The first 256 octets of a packet hold
/// more, also of a packet within another.
pub(super) const USUAL_HEADER: usize = 128;

/// All causes; problems of the capture come first.
pub static CAUSES: [CauseRule; 46] = [
    CauseRule {
        cause: Cause::NothingFound,
        name: "nothing-found",
        title: "No RPC-over-RDMA found",
        condition: "the capture holds no message of RPC-over-RDMA",
    },
    CauseRule {
        cause: Cause::OneDirection,
        name: "one-direction",
        title: "Only one direction was captured",
        condition: "the capture holds packets of only one end of a connection",
    },
    CauseRule {
        cause: Cause::CaptureGaps,
        name: "capture-gaps",
        title: "The capture missed packets",
        condition: "the capture lacks 1 % or more of the packets of a connection of which it holds both directions, or a file could \
                    not be read to its end",
    },
    CauseRule {
        cause: Cause::Cut,
        name: "cut",
        title: "The capture cut packets",
        condition: "1 % or more of the messages do not show their RPC because frames were cut (snaplen)",
    },
    CauseRule {
        cause: Cause::JoinedLate,
        name: "joined-late",
        title: "The capture began late",
        condition: "1 % or more of the RPCs have a reply and no call, and the setup of a connection was not captured, if none \
                    of the causes above explains that",
    },
    CauseRule {
        cause: Cause::MirrorDoubled,
        name: "mirror-doubled",
        title: "Nearly every packet was captured twice",
        condition: "the capture holds copies of three quarters of the packets, or more",
    },
    CauseRule {
        cause: Cause::TwoClocks,
        name: "two-clocks",
        title: "The two directions were captured by two clocks",
        condition: "the capture holds packets of one end of a connection after their acknowledgements, by 10 µs or more: 8 or more, more \
                    than before, and at most an eighth as many of the other end",
    },
    CauseRule {
        cause: Cause::ServerSilent,
        name: "server-silent",
        title: "Calls arrived and are not answered",
        condition: "a call was accepted, or its arrival is unknown, and it waited until its connection ended, or at the \
                    end of the capture for 1 s, and for twice the longest time that a server took for a reply",
    },
    CauseRule {
        cause: Cause::ServerUnreachable,
        name: "server-unreachable",
        title: "Calls do not arrive",
        condition: "a call, or over TCP what came before it, was retransmitted, never acknowledged, and waited as long",
    },
    CauseRule {
        cause: Cause::ClientSilent,
        name: "client-silent",
        title: "The client stopped responding",
        condition: "the server waited as long: for data that it asked for, for a call that it refused, or for the client to read a \
                    reply",
    },
    CauseRule {
        cause: Cause::ClientUnreachable,
        name: "client-unreachable",
        title: "Replies do not arrive",
        condition: "a reply or its data, or over TCP what came before it, was retransmitted, never acknowledged, and its call \
                    waited as long",
    },
    CauseRule {
        cause: Cause::WrongChecksum,
        name: "wrong-checksum",
        title: "Packets have a wrong checksum",
        condition: "a call waited as long, all packets that an end retransmitted and that were never acknowledged have a wrong \
                    ICRC, and others show that the capture holds the checksums that were sent",
    },
    CauseRule {
        cause: Cause::ReplyRefused,
        name: "reply-refused",
        title: "Replies are refused: no receive buffer",
        condition: "the client's adapter refused a reply because no Receive was posted ('receiver not ready'), did not accept it \
                    later, and the call waited as long",
    },
    CauseRule {
        cause: Cause::Retried,
        name: "retried",
        title: "Connections ended before the reply, and calls were made again",
        condition: "1 % of the RPCs, and more than one, were made again on another connection, with the same XID and arguments, after the one \
                    before had ended or fallen silent, or the tries before the last took 5 % of the waiting time",
    },
    CauseRule {
        cause: Cause::ServerNotListening,
        name: "server-not-listening",
        title: "Nothing listens on the server's port",
        condition: "requests for RPC-over-RDMA connections were rejected because nothing listens on the port (REJ with reason 8, RST), \
                    for 1 s or without an accepted one after them",
    },
    CauseRule {
        cause: Cause::ConnectionRefused,
        name: "connection-refused",
        title: "Connection requests are rejected",
        condition: "requests for RPC-over-RDMA connections were rejected for other reasons, for 1 s or without an accepted one after \
                    them",
    },
    CauseRule {
        cause: Cause::ConnectUnanswered,
        name: "connect-unanswered",
        title: "Connection requests are not answered",
        condition: "requests for RPC-over-RDMA connections got no answer, for 1 s or without an accepted one after them, and the \
                    first was sent 1 s before the end of the capture",
    },
    CauseRule {
        cause: Cause::Flapping,
        name: "flapping",
        title: "Connections end again and again",
        condition: "an end ended 3 or more connections with the same other end, one after another, each with a call without a reply, or \
                    the server within 60 s after a message, and the client asked for another each time, unless a broken rule \
                    explains it, or half of the calls were made again (`retried`)",
    },
    CauseRule {
        cause: Cause::Loss,
        name: "loss",
        title: "Packets were lost and retransmitted",
        condition: "recovery from loss took 5 % of the waiting time, or for 1 % of the RPCs it is unknown what it took, or 1 % of the \
                    packets were retransmitted for calls that the capture does not show, on connections that were set up before it",
    },
    CauseRule {
        cause: Cause::ReceiverNotReady,
        name: "receiver-not-ready",
        title: "A receiver was not ready",
        condition: "waits after 'receiver not ready' (RNR NAK) took 5 % of the waiting time",
    },
    CauseRule {
        cause: Cause::Distance,
        name: "distance",
        title: "The network's round trip is long",
        condition: "the round trip to an end, as its adapter's acknowledgements measure it, took 10 ms or more of each of 10 RPCs, \
                    and these times are 20 % of the waiting time",
    },
    CauseRule {
        cause: Cause::DelegationRecall,
        name: "delegation-recall",
        title: "A client was late to return a delegation",
        condition: "the server recalled a delegation (CB_RECALL) while it held a call that conflicts with it, and answered the call after \
                    the client had answered the recall or returned the delegation, for which the client took as long as a slow \
                    server, not counting time in which it waited for the server; or the client never answered the recall; or the server \
                    refused an operation on the file until the client returned the delegation",
    },
    CauseRule {
        cause: Cause::ServerGrace,
        name: "server-grace",
        title: "A server was in its grace period",
        condition: "the server refused 10 operations with NFS4ERR_GRACE, or one for 500 ms, and the times from their first calls to their \
                    last are 5 % of the waiting time; or it refused one, 1 s before the end of the capture, that was not made again",
    },
    CauseRule {
        cause: Cause::RefusedForNow,
        name: "refused-for-now",
        title: "The server asked clients to try again later",
        condition: "the server refused operations as often or as long with NFS4ERR_DELAY, NFS3ERR_JUKEBOX, NFS4ERR_LAYOUTTRYLATER or \
                    NFS4ERR_RECALLCONFLICT, and the capture shows no delegation that was recalled for them",
    },
    CauseRule {
        cause: Cause::CopyUnfinished,
        name: "copy-unfinished",
        title: "An asynchronous COPY was not finished",
        condition: "the server accepted a COPY 10 s before the end of the capture, and longer before than twice the longest COPY took; the \
                    capture holds neither its CB_OFFLOAD nor another end, and lacks no packets of the two ends; or the client cancelled it after \
                    as long",
    },
    CauseRule {
        cause: Cause::LockHeld,
        name: "lock-held",
        title: "Locks were held by others",
        condition: "the server denied LOCKs that the client is willing to wait for as often or as long (NFS4ERR_DENIED)",
    },
    CauseRule {
        cause: Cause::SessionStatus,
        name: "session-status",
        title: "The server reports trouble with a client's state",
        condition: "a reply to SEQUENCE has a status flag about state of the client that is lost or moved, or about the callback path: the \
                    latter for 1 s or to the end of the capture",
    },
    CauseRule {
        cause: Cause::ServerSlow,
        name: "server-slow",
        title: "The server was slow",
        condition: "the server took 20 ms or more for each of 10 RPCs, or 500 ms for one, beyond the round trip, without a \
                    retransmitted packet, and these times are 20 % of the waiting time",
    },
    CauseRule {
        cause: Cause::ClientSlow,
        name: "client-slow",
        title: "The client was slow",
        condition: "the client took as long to begin to send data or to fetch a reply, and these times are 20 % of the waiting time",
    },
    CauseRule {
        cause: Cause::CompletionError,
        name: "completion-error",
        title: "An adapter reported errors",
        condition: "a kernel trace shows a work request that an adapter completed with an error, other than the flush of those that were \
                    left when a connection ended",
    },
    CauseRule {
        cause: Cause::ConnectionLost,
        name: "connection-lost",
        title: "Connections ended while calls waited",
        condition: "a trace of the client shows the end of a connection to a server from which calls waited for a reply",
    },
    CauseRule {
        cause: Cause::RdmaReadSlow,
        name: "rdma-read-slow",
        title: "RDMA Read slow: packets are lost or the client is slow",
        condition: "a trace of the server shows RDMA Reads that took as long beyond the time that 100 MB/s need, and these times are 20 % \
                    of the waiting time",
    },
    CauseRule {
        cause: Cause::Registration,
        name: "registration",
        title: "The client was slow to register memory",
        condition: "a trace of the client shows that the registration of memory took as long before a call was sent, and these times are \
                    20 % of the waiting time",
    },
    CauseRule {
        cause: Cause::ClientQueue,
        name: "client-queue",
        title: "Calls waited at the client",
        condition: "a trace of the client shows that calls waited as long before they were sent, beyond the registration of memory and the \
                    waits for credits and slots, and these times are 20 % of the waiting time",
    },
    CauseRule {
        cause: Cause::ServerQueue,
        name: "server-queue",
        title: "Calls waited for a thread of the server",
        condition: "a trace of the server shows that calls waited as long until a thread took them, and these times are 20 % of the waiting \
                    time",
    },
    CauseRule {
        cause: Cause::RepliesLate,
        name: "replies-late",
        title: "Replies came late",
        condition: "a trace of the client shows replies that came as long after their calls, beyond the time that a trace of the server has \
                    for them, no packets show why, and these times are 20 % of the waiting time",
    },
    CauseRule {
        cause: Cause::SlowTransfer,
        name: "slow-transfer",
        title: "The sender of data paused",
        condition: "the end that sends data by RDMA paused as long between two packets of data, beyond the time that 100 MB/s and the round \
                    trips to both ends need, and these times are 20 % of the waiting time",
    },
    CauseRule {
        cause: Cause::Congestion,
        name: "congestion",
        title: "The network was congested",
        condition: "data by RDMA took as long beyond the time that it needs at the highest rate of its connection, while congestion \
                    notifications (CNP), packets marked by a switch (CE) or pauses of a port (PFC) came, and these times are 20 % of the \
                    waiting time",
    },
    CauseRule {
        cause: Cause::Window,
        name: "window",
        title: "A receiver's TCP window was closed",
        condition: "the window that an end advertises was 0 as long while data for it or a reply was awaited (TCP), and these times are \
                    20 % of the waiting time",
    },
    CauseRule {
        cause: Cause::LinkFull,
        name: "link-full",
        title: "RPCs shared a full link",
        condition: "an end sent data of other RPCs as long at the highest rate of the connection, and these times are 20 % of the waiting \
                    time",
    },
    CauseRule {
        cause: Cause::Outlier,
        name: "outlier",
        title: "One of many is far slower",
        condition: "half of 20 or more RPCs of a server, client, user or file took 5 times as long as those of a typical one of 4 or more \
                    others, and 100 µs longer, for the same operations of similar size; the others lie far closer together, chance \
                    does that in at most 1 of 100 captures, and no cause with a time names it",
    },
    CauseRule {
        cause: Cause::Credits,
        name: "credits",
        title: "Calls waited for credits",
        condition: "10 calls waited for a credit, not counting the first wait of a connection, and they are 20 % of the RPCs",
    },
    CauseRule {
        cause: Cause::Slots,
        name: "slots",
        title: "Calls waited for slots of their session",
        condition: "10 calls waited for a slot longer than for a credit, in sessions that were created in the capture, and they are 20 % of \
                    the RPCs",
    },
    CauseRule {
        cause: Cause::SmallSends,
        name: "small-sends",
        title: "Sends are too small",
        condition: "the inline threshold of a connection is below 4,096 bytes, and Sends of that length would do without \
                    chunks for 20 % of the RPCs that have any",
    },
    CauseRule {
        cause: Cause::Errors,
        name: "errors",
        title: "RPCs failed",
        condition: "1 % of the RPCs failed, and more than one, except for files that are not there or are there already, and for \
                    what a server does not support; and except for NFS4ERR_MOVED, which names another server, and for operations that \
                    the client makes again (`server-grace`, `refused-for-now`)",
    },
    CauseRule {
        cause: Cause::Protocol,
        name: "protocol",
        title: "The protocol was violated",
        condition: "an end breaks a MUST of the specification, except for known deviations of implementations, or a \
                    connection ends because an end refuses an operation",
    },
];

impl Cause {
    /// The rule that finds the cause.
    #[must_use]
    pub fn rule(self) -> &'static CauseRule {
        // All causes are in the table, in their order; a test shows it.
        CAUSES.get(self as usize).unwrap_or(&CAUSES[0])
    }

    /// Name of the cause.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.rule().name
    }

    /// The cause of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        CAUSES.iter().find(|rule| rule.name == name).map(|rule| rule.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_in_the_table_at_its_place() {
        for (place, rule) in CAUSES.iter().enumerate() {
            assert_eq!((rule.cause as usize, rule.cause.name()), (place, rule.name));
            assert_eq!(Cause::of_name(rule.name), Some(rule.cause));
        }
        assert_eq!(Cause::of_name("red"), None);
    }

    #[test]
    fn a_set_has_the_causes_that_were_added() {
        let mut set = CauseSet::default();
        set.insert(Cause::Loss);
        set.insert(Cause::Protocol);
        let held: Vec<_> = CAUSES.iter().map(|rule| rule.cause).filter(|cause| set.contains(*cause)).collect();
        assert_eq!(held, [Cause::Loss, Cause::Protocol]);
    }
}
