//! Requests for connections, connections and moves of addresses as records.

use rpcrdma::private_data::Flags;
use rpcrdma_dissector::{AddressMoved, CarrierTerms, Files, Side, Stamp};
use serde::Serialize;

use super::life::{ConnectionLife, KnownConnection, LifeEnd, RequestAnswer};
use crate::record::values::EndObject;
use crate::stats::{CreditCounts, Inline};

/// A request for a connection that is to carry RPC-over-RDMA, and the connection if the server accepted.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionObject<'a> {
    /// The number of the connection, from 1; null for a request without success.
    connection: Option<u32>,
    /// The address of the end that asked for the connection; if the capture lacks the setup, of the end that was seen first.
    client: EndObject,
    /// The address of the end that was asked.
    server: EndObject,
    /// The requested port.
    port: Option<u16>,
    /// Carrier of the connection; null if the capture holds only the rejection.
    carrier: Option<&'static str>,
    /// The number of the first frame of the request; if the capture lacks the request, of the first frame that shows the connection.
    frame: u64,
    /// The file that holds the frame.
    file: Option<&'a str>,
    /// The number of the frame in its file, from 1.
    file_frame: Option<u64>,
    /// Time of the frame, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// Number of times that the request was sent; null if the capture lacks the request.
    asked_times: Option<u32>,
    /// The last frame of the request.
    last_asked: Option<MomentObject>,
    /// Answer to the request: `accepted`, `rejected`, `received` (MRA, or an acknowledgement of the MPA request by TCP, and no decision), `none`, or `not captured`.
    answer: &'static str,
    /// The frame of the answer.
    answered: Option<MomentObject>,
    /// Meaning of the rejection.
    rejection: Option<&'static str>,
    /// InfiniBand's reason code of the rejection; iWARP has none.
    rejection_reason: Option<u16>,
    /// True if the request was rejected, and a later one that differs by its private data alone was accepted.
    private_data_refused: bool,
    /// The frame that completed the setup: RTU of InfiniBand, or MPA reply of iWARP.
    established: Option<MomentObject>,
    /// Number of RPCs; null for a request without success.
    rpcs: Option<u64>,
    /// The first message.
    first_message: Option<MomentObject>,
    /// The last message.
    last_message: Option<MomentObject>,
    /// The longest time without a message while no call waited, in nanoseconds.
    longest_idle_ns: Option<u64>,
    /// The message before that time.
    idle_since: Option<MomentObject>,
    /// State of the connection: `open` when the capture ends, `ended` by an end, `over` in a way that was not captured, or `none` without one.
    state: &'static str,
    /// The end of the connection, if an end ended it.
    end: Option<LifeEndObject>,
    /// Calls that ended with the connection, without a reply.
    unanswered: u64,
    /// Terms of the connection; null for a request without success.
    terms: Option<TermsObject>,
}

/// A frame and its time.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MomentObject {
    /// The number of the frame, from 1.
    frame: u64,
    /// Time of the frame, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
}

impl MomentObject {
    const fn new(stamp: Stamp) -> Self {
        Self { frame: stamp.frame, time_ns: stamp.time.0 }
    }
}

/// End of a connection by one of its ends.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LifeEndObject {
    /// The address of the end that ended the connection.
    by: EndObject,
    /// The role of that end: `client` or `server`.
    role: &'static str,
    /// Message that ended the connection: `DREQ`, `Terminate`, `FIN` or `RST`.
    how: &'static str,
    /// Reason in the Terminate message (iWARP).
    reason: Option<String>,
    /// The frame of that message.
    frame: u64,
    /// Time of that frame, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// Nanoseconds since the last message.
    silence_ns: Option<u64>,
    /// Signs of loss after the last message, in words: refusals, time-outs.
    after: Option<String>,
}

/// Terms of a connection.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TermsObject {
    /// The inline thresholds, if the capture holds the setup (RFC 8797 section 4.2).
    inline: Option<Inline>,
    /// True if both ends said that memory may be invalidated remotely (RFC 8797 section 4.1).
    remote_invalidation: Option<bool>,
    /// Credits of calls from the client.
    credits: CreditCounts,
    /// Credits of calls from the server (RFC 8167 section 4.1).
    reverse_credits: CreditCounts,
    /// The most octets that a packet carries (InfiniBand).
    path_mtu: Option<u32>,
    /// Nanoseconds that both ends wait for an acknowledgement, at least (InfiniBand).
    ack_timeout_ns: Option<u64>,
    /// Terms of the client.
    client: EndTermsObject,
    /// Terms of the server.
    server: EndTermsObject,
}

/// Terms of an end, from the message that this end sent in connection setup.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct EndTermsObject {
    /// The largest Send of this end, in octets.
    send_size: Option<u32>,
    /// The largest Send that this end receives, in octets.
    receive_size: Option<u32>,
    /// True if memory of this end may be invalidated remotely.
    remote_invalidation: Option<bool>,
    /// RDMA Reads of the other end that this end answers at a time: responder resources of InfiniBand, IRD of MPA.
    responder_resources: Option<u16>,
    /// RDMA Reads that this end sends at a time: initiator depth of InfiniBand, ORD of MPA.
    initiator_depth: Option<u16>,
    /// Number of times that the other end is to retransmit a packet without an acknowledgement (InfiniBand).
    retries: Option<u8>,
    /// Number of times that the other end is to retransmit a packet after "receiver not ready"; 7 is without end (InfiniBand).
    not_ready_retries: Option<u8>,
    /// Revision of MPA (iWARP).
    mpa_revision: Option<u8>,
    /// True if this end wants MPA markers in received streams.
    mpa_markers: Option<bool>,
    /// True if this end wants MPA CRCs.
    mpa_crc: Option<bool>,
}

impl EndTermsObject {
    fn new(known: &KnownConnection, side: Side) -> Self {
        let connection = &known.connection;
        let said = connection.said(side);
        let CarrierTerms { responder_resources, initiator_depth, retries, not_ready_retries, mpa, .. } =
            *connection.terms.get(side);
        Self {
            send_size: said.map(|said| said.send_size),
            receive_size: said.map(|said| said.receive_size),
            remote_invalidation: said.map(|said| said.flags.contains(Flags::REMOTE_INVALIDATION)),
            responder_resources,
            initiator_depth,
            retries,
            not_ready_retries,
            mpa_revision: mpa.map(|mpa| mpa.revision),
            mpa_markers: mpa.map(|mpa| mpa.markers),
            mpa_crc: mpa.map(|mpa| mpa.crc),
        }
    }
}

impl TermsObject {
    fn new(known: &KnownConnection) -> Self {
        let KnownConnection { connection, credits } = known;
        let agreement = connection.agreement();
        Self {
            inline: agreement.map(Inline::from),
            remote_invalidation: agreement.map(|agreement| agreement.remote_invalidation),
            credits: credits.forward,
            reverse_credits: credits.reverse,
            path_mtu: connection.path_mtu,
            ack_timeout_ns: connection.ack_timeout,
            client: EndTermsObject::new(known, Side::Active),
            server: EndTermsObject::new(known, Side::Passive),
        }
    }
}

impl LifeEndObject {
    fn new(life: &ConnectionLife) -> Option<Self> {
        let LifeEnd::EndedBy { by, stamp, how } = life.end else { return None };
        Some(Self {
            by: EndObject(life.address(by)),
            role: ConnectionLife::role(by),
            how: how.name(),
            reason: life.terminate.map(|terminate| terminate.to_string()),
            frame: stamp.frame,
            time_ns: stamp.time.0,
            silence_ns: life.activity.last.map(|last| stamp.time.0.saturating_sub(last.time.0)),
            after: life.faults.map(|faults| faults.words()),
        })
    }
}

impl<'a> ConnectionObject<'a> {
    /// Returns the record of a request or a connection.
    #[must_use]
    pub fn new(life: &ConnectionLife, files: &'a Files) -> Self {
        let (file, file_frame) = files.locate(life.began.frame).unzip();
        let kind = if let RequestAnswer::Rejected(_, kind) = life.answer { Some(kind) } else { None };
        let idle = life.activity.longest_idle;
        let is_connection = life.number.is_some();
        Self {
            connection: life.number,
            client: EndObject(life.client),
            server: EndObject(life.server),
            port: life.port(),
            carrier: life.carrier.map(|carrier| carrier.name()),
            frame: life.began.frame,
            file,
            file_frame,
            time_ns: life.began.time.0,
            asked_times: life.asked.map(|asked| asked.times),
            last_asked: life.asked.map(|asked| MomentObject::new(asked.last)),
            answer: life.answer.name(),
            answered: life.answer.stamp().map(MomentObject::new),
            rejection: kind.map(|kind| kind.meaning()),
            rejection_reason: kind.and_then(|kind| kind.reason()),
            private_data_refused: life.is_private_data_refused,
            established: life.established().map(MomentObject::new),
            rpcs: is_connection.then_some(life.calls.all),
            first_message: life.activity.first.map(MomentObject::new),
            last_message: life.activity.last.map(MomentObject::new),
            longest_idle_ns: idle.map(|idle| idle.length),
            idle_since: idle.map(|idle| MomentObject::new(idle.since)),
            state: match life.end {
                LifeEnd::Never => "none",
                LifeEnd::Open => "open",
                LifeEnd::EndedBy { .. } => "ended",
                LifeEnd::NotCaptured => "over",
            },
            end: LifeEndObject::new(life),
            unanswered: life.calls.unanswered,
            terms: life.known.as_deref().map(TermsObject::new),
        }
    }
}

/// An IP address that moved to another MAC address, as a gratuitous ARP or a Neighbor Advertisement announces.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddressMoveObject<'a> {
    /// The number of the frame that announces it, from 1.
    frame: u64,
    /// The file that holds the frame.
    file: Option<&'a str>,
    /// The number of the frame in its file, from 1.
    file_frame: Option<u64>,
    /// Time of the frame, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// The IP address.
    address: EndObject,
    /// MAC address that sent with this IP address, or announced it, before.
    from_mac: String,
    /// MAC address that is announced.
    to_mac: String,
}

impl<'a> AddressMoveObject<'a> {
    /// Returns the record of a move.
    #[must_use]
    pub fn new(moved: &AddressMoved, files: &'a Files) -> Self {
        let (file, file_frame) = files.locate(moved.stamp.frame).unzip();
        Self {
            frame: moved.stamp.frame,
            file,
            file_frame,
            time_ns: moved.stamp.time.0,
            address: EndObject(moved.address),
            from_mac: moved.from.to_string(),
            to_mac: moved.to.to_string(),
        }
    }
}
