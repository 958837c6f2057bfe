//! State shared by both directions of a connection: the version, and in version 2 the credits, the transport properties
//! and all messages that belong to no RPC.
//!
//! ```text
//!   client    Offering -> Offered --+-> version 2      the server answers in version 2
//!                                   +-> version 1      it refuses version 2
//!                                   +-> lost           the connection ends: version 1 on the next one
//!   server    Listening ------------+-> the version of the first message
//! ```
//!
//! A client's first message has transport properties: properties belong to no RPC, so a refusal affects none, and have
//! far less than 1024 octets. A driver that lets a client begin with version 2 makes no calls before the version is
//! [agreed](Negotiation::Agreed).
//!
//! The Requester and the Responder know nothing of all this. Sends go through [`Channel::send`], which counts each Send
//! and writes the credits; [`Channel::available`] is the number of further Sends permitted, for [`Requester::permit`]
//! and [`Responder::permit`]. Received messages go through [`Channel::received`], which returns the endpoint for each.
//! In version 1 none of these functions has an effect.
//!
//! Further duties of a driver:
//! - [`Channel::poll`] has messages of its own to send, before messages of the Requester and the Responder.
//! - `receives`, an argument of several functions, is the number of messages that this end can receive: the posted
//!   Receives, without the Receive that is kept for an asynchronous grant, and without [Receives that Calls still
//!   occupy](super::Responder::occupied).
//! - An end that makes and answers calls gives no Receive to a [`CallPart`](Arrival::CallPart) that has to wait for a
//!   slot.
//!
//! [`Requester::permit`]: super::Requester::permit
//! [`Responder::permit`]: super::Responder::permit

mod credits;
mod host_authentication;
mod versions;

pub use host_authentication::HostAuthentication;
pub use versions::Versions;

use heapless::Vec;

use credits::{CountedMessage, MessageCredits};
use host_authentication::HostMessage;
use versions::VersionRange;

use super::{PayloadFormats, SegmentLimits, Terms, Version};
use crate::error::{EncodeError, Role};
use crate::lists::{Chunks, ReadList, WriteList};
use crate::prefix::{Prefix, Procedure};
use crate::v1;
use crate::v2::family_a::{self, HeaderFlags};
use crate::v2::outline::Outline;
use crate::v2::{
    self, Continuation, ContinuationError, Credit, ErrorBodyV2, ErrorCode, ErrorReplyV2, Family, HeaderV2, MessageV2,
    Outcome, Part, Properties, Property, PropertyId, PropertySet, PropertyValue, ReactionV2, Unread, VersionRefusal,
    family_b,
};

/// Maximum number of errors that wait to be sent. The oldest is dropped if there are more: a peer with that many bad
/// messages has received other errors.
const ERRORS: usize = 4;

const NO_CHUNKS: Chunks<'static> = Chunks { reads: ReadList::new(&[]), writes: WriteList::EMPTY, reply: None };

/// Offset of `rdma_credit`, in every version.
const CREDIT: usize = 8;

/// Version, credits and properties of one end of a connection.
#[derive(Debug)]
pub struct Channel {
    versions: Versions,
    own: Properties<'static>,
    /// This end's host authentication message; empty for none.
    host: HostMessage,
    state: ChannelState,
    errors: Vec<PendingError, ERRORS>,
}

/// An error that waits to be sent.
#[derive(Clone, Copy, Debug)]
struct PendingError {
    /// First words of the message in error.
    request: Prefix,
    error: ErrorBodyV2,
}

#[derive(Debug)]
enum ChannelState {
    /// A client that has not sent its first message.
    Offering(Family),
    /// A client that waits for the answer to the first message.
    Offered(Link),
    /// A server that has received nothing.
    Listening,
    One,
    Two(Link),
    /// No version was agreed, and none will be.
    Over(Failure),
}

/// Reason for a failed negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// The connection was lost, and the next one begins with this version.
    Elsewhere(Version),
    /// The server speaks no version of this client.
    Impossible,
    /// The connection was lost, and this client has no other version to begin with.
    Lost,
}

/// End of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// A connection of version 2.
#[derive(Debug)]
struct Link {
    family: Family,
    side: Side,
    credits: MessageCredits,
    /// Messages of the peer so far.
    peer: Continuation,
    properties: Properties<'static>,
    host: HostMessage,
    has_sent_properties: bool,
    /// The endpoint that has sent some parts of a continued message, but not the last.
    half_sent: Option<Role>,
    /// True if the peer's first message has properties, and more properties will follow.
    waits_for_properties: bool,
}

/// Terms of the two endpoints of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelTerms {
    /// Terms of the Requester: of calls that this end makes.
    pub calls: Terms,
    /// Terms of the Responder: of calls that this end answers.
    pub answers: Terms,
}

/// State of the negotiation of the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negotiation {
    /// The version is not known yet.
    Pending,
    /// The version is known, and will not change.
    Agreed(Version),
    /// Failed on this connection. On the next one to the same peer, begin with this version.
    Elsewhere(Version),
    /// The two ends have no version in common.
    Impossible,
    /// The connection was lost during the negotiation, and there is no other version to begin with.
    Lost,
}

/// A host authentication message that is too long to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAuthenticationTooLong;

impl core::fmt::Display for HostAuthenticationTooLong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a host authentication message has at most {} octets", HostAuthentication::MOST_OCTETS)
    }
}

impl core::error::Error for HostAuthenticationTooLong {}

/// Kind of a received message, and the endpoint to pass the message to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Arrival {
    /// A message of version 1: [`Direction::detect`](super::Direction::detect) returns the endpoint.
    Version1,
    /// The Requester.
    Reply,
    /// The Responder.
    Call,
    /// For the Responder: a part of a Call that began in an earlier Send. If the Call still waits for [a
    /// slot](super::Responder::has_place), so must this part; but not in a Receive, if this end makes calls as well.
    /// Only parts may come between the parts, not even the Replies with which the peer would free a slot (version two
    /// draft -01, "RDMA2_F_MORE Flag"; -07 section 6.3). If both ends used up each other's Receives like that, neither
    /// could continue.
    CallPart,
    /// For neither endpoint: the Receive can be posted again.
    Nothing,
    /// For neither endpoint: the peer has sent transport properties, so that [`Channel::terms`] and
    /// [`Channel::segment_limits`] may have changed.
    Properties,
    /// For neither endpoint, and no reply to the Call with this XID can come any more: the message was a part of the
    /// reply, out of order. Pass the XID to the Requester:
    /// [`requester::Input::Broken`](super::requester::Input::Broken).
    BrokenReply(u32),
    /// For neither endpoint, and the rest of a Call will not come: the peer has broken off the sequence of parts. Pass
    /// `xid` and `error` to the Responder, which answers the Call:
    /// [`responder::Input::Broken`](super::responder::Input::Broken).
    BrokenCall {
        /// XID of the Call.
        xid: u32,
        /// Answer to the Call.
        error: ErrorBodyV2,
    },
    /// The peer has sent more than was granted. The driver has to end the connection.
    Exceeded,
}

impl Channel {
    /// Creates the end that connects, and begins with the highest of `versions`. `own`: transport properties of this
    /// end.
    #[must_use]
    pub const fn client(versions: Versions, own: Properties<'static>) -> Self {
        let state = match versions.offered() {
            Version::One => ChannelState::One,
            Version::Two(family) => ChannelState::Offering(family),
        };
        Self { versions, own, host: HostMessage::NONE, state, errors: Vec::new() }
    }

    /// Creates the end that accepts, and uses the client's version, if that is one of `versions`.
    #[must_use]
    pub fn server(versions: Versions, own: Properties<'static>) -> Self {
        let state = if versions == Versions::ONE { ChannelState::One } else { ChannelState::Listening };
        Self { versions, own, host: HostMessage::NONE, state, errors: Vec::new() }
    }

    /// Sends this host authentication message with the transport properties of this end. An empty message is not sent.
    ///
    /// # Errors
    /// [`HostAuthenticationTooLong`] for more than [`HostAuthentication::MOST_OCTETS`]; then nothing is changed.
    pub fn authenticate(&mut self, message: &[u8]) -> Result<(), HostAuthenticationTooLong> {
        if message.len() > HostAuthentication::MOST_OCTETS {
            return Err(HostAuthenticationTooLong);
        }
        self.host.set(message);
        Ok(())
    }

    /// Returns the state of the negotiation.
    #[must_use]
    pub const fn negotiation(&self) -> Negotiation {
        match &self.state {
            ChannelState::Offering(_) | ChannelState::Offered(_) | ChannelState::Listening => Negotiation::Pending,
            ChannelState::One => Negotiation::Agreed(Version::One),
            ChannelState::Two(link) if link.waits_for_properties => Negotiation::Pending,
            ChannelState::Two(link) => Negotiation::Agreed(Version::Two(link.family)),
            ChannelState::Over(Failure::Elsewhere(version)) => Negotiation::Elsewhere(*version),
            ChannelState::Over(Failure::Impossible) => Negotiation::Impossible,
            ChannelState::Over(Failure::Lost) => Negotiation::Lost,
        }
    }

    /// Returns the terms of both endpoints of this end in version 2. `None` if the connection does not use version 2.
    /// `remote_invalidation`: true if this end takes part in remote invalidation.
    ///
    /// A server makes calls in the formats that the client supports in the reverse direction: none before the client
    /// has announced a format (version two draft -07 section 5.2.5). A client answers in the same formats.
    #[must_use]
    pub fn terms(&self, remote_invalidation: bool) -> Option<ChannelTerms> {
        let ChannelState::Two(link) = &self.state else { return None };
        let (own, peer, version) = (&self.own, &link.properties, Version::Two(link.family));
        let out = own.maximum_send_size.min(peer.receive_buffer_size);
        let back = own.receive_buffer_size.min(peer.maximum_send_size);
        let (calls, answers) = match link.side {
            Side::Client => (PayloadFormats::All, own.reverse_direction.into()),
            Side::Server => (peer.reverse_direction.into(), PayloadFormats::All),
        };
        let terms = Terms { remote_invalidation, version, ..Terms::default() };
        Some(ChannelTerms {
            calls: Terms { call_threshold: out, reply_threshold: back, formats: calls, ..terms },
            answers: Terms { call_threshold: back, reply_threshold: out, formats: answers, ..terms },
        })
    }

    /// Returns the transport properties of the peer. `None` until version 2 is agreed.
    #[must_use]
    pub const fn peer_properties(&self) -> Option<&Properties<'static>> {
        match &self.state {
            ChannelState::Two(link) => Some(&link.properties),
            _ => None,
        }
    }

    /// Returns the host authentication message of the peer, the last one if there were several. `None` until version 2
    /// is agreed. The application gives the message a meaning.
    #[must_use]
    pub fn peer_host_authentication(&self) -> Option<HostAuthentication<'_>> {
        match &self.state {
            ChannelState::Two(link) => Some(link.host.get()),
            _ => None,
        }
    }

    /// Returns the limits of version 2 for segments of this end's Calls, for [`Requester::limit_segments`]. `None` if
    /// the connection does not use version 2. No segment is larger than either end sends or receives, and no Call has
    /// more segments than the peer accepts.
    ///
    /// [`Requester::limit_segments`]: super::Requester::limit_segments
    #[must_use]
    pub fn segment_limits(&self) -> Option<SegmentLimits> {
        let peer = self.peer_properties()?;
        let octets = self.own.maximum_segment_size.min(peer.maximum_segment_size);
        Some(SegmentLimits { octets, count: peer.maximum_segment_count })
    }

    /// Records that the connection has ended, or timed out, before the version was known: a server of version 1 may
    /// drop messages of other versions.
    pub fn lost(&mut self) {
        if self.negotiation() == Negotiation::Pending {
            let VersionRange { low, high } = self.versions.range();
            let next = Outcome::Lost.next_version(low, high);
            self.state = ChannelState::Over(next.map_or(Failure::Lost, |_| Failure::Elsewhere(Version::One)));
        }
    }

    /// Returns the number of messages that the Requester and the Responder may send now.
    #[must_use]
    pub fn available(&self, receives: u32) -> u32 {
        match &self.state {
            ChannelState::One => u32::MAX,
            ChannelState::Two(link) => link.credits.available(receives),
            ChannelState::Offering(_) | ChannelState::Offered(_) | ChannelState::Listening | ChannelState::Over(_) => 0,
        }
    }

    /// Returns the number of Calls that may be sent now, on a connection whose ends both make calls. `owed`: Replies
    /// that this end still has to send. `awaited`: Replies that this end still expects.
    ///
    /// Version 1 counts the credits of either direction separately (RFC 8167 section 4). Version 2 has one account for
    /// all messages, so two ends could use up the account with Calls, and neither could send a Reply. Therefore a
    /// credit is kept for each owed Reply, and one as long as there are Calls in flight. Each Reply allows another
    /// message, so no end ever waits for a Reply while holding the last credit for that Reply.
    ///
    /// No message comes between the parts of a continued Reply, and a continued Call that was begun has all credits.
    #[must_use]
    pub fn available_for_calls(&self, receives: u32, owed: u32, awaited: u32) -> u32 {
        match &self.state {
            ChannelState::Two(Link { half_sent: Some(Role::Responder), .. }) => 0,
            ChannelState::Two(Link { half_sent: Some(Role::Requester), .. }) => self.available(receives),
            ChannelState::Two(link) => link.credits.available_for_calls(receives, owed, awaited),
            _ => self.available(receives),
        }
    }

    /// Returns the number of Replies that may be sent now, on a connection whose ends both make calls: none between the
    /// parts of a continued Call.
    #[must_use]
    pub fn available_for_replies(&self, receives: u32) -> u32 {
        match &self.state {
            ChannelState::Two(Link { half_sent: Some(Role::Requester), .. }) => 0,
            _ => self.available(receives),
        }
    }

    /// Counts a message of the Requester or the Responder that is about to be sent, and writes the credits into
    /// `header`. After an error that answers an incomplete Call, the remaining parts of that Call need not come.
    pub fn send(&mut self, receives: u32, header: &mut [u8]) {
        if let ChannelState::Offered(link) | ChannelState::Two(link) = &mut self.state {
            link.write_credit(receives, header);
            if let Ok(prefix) = Prefix::decode(header) {
                match prefix.procedure {
                    Procedure::RDMA_ERROR => link.peer.refused(prefix.xid),
                    _ => link.half_sent = half_sent(link.family, header),
                }
            }
        }
    }

    /// Returns true if [`Self::poll`] never has a message, because the connection uses version 1.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        matches!(self.state, ChannelState::One) && self.errors.is_empty()
    }

    /// Writes the next message of this end that belongs to no RPC to the start of `buffer`: transport properties, an
    /// error, a grant. Returns the length in octets; `None` if there is no message.
    ///
    /// # Errors
    /// An [`EncodeError`] if `buffer` is too small; with a larger one, the next call returns the same message.
    pub fn poll(&mut self, receives: u32, buffer: &mut [u8]) -> Result<Option<usize>, EncodeError> {
        if let ChannelState::Offering(family) = self.state {
            self.state = ChannelState::Offered(Link::client(family));
        }
        if let ChannelState::Offered(link) | ChannelState::Two(link) = &mut self.state
            && !link.has_sent_properties
            && link.credits.available(receives) > 0
        {
            let length = link.properties_message(&self.own, self.host.octets()).encode(buffer)?;
            link.has_sent_properties = true;
            link.write_credit(receives, buffer);
            return Ok(Some(length));
        }
        if let Some(&pending) = self.errors.first() {
            return self.send_error(receives, buffer, pending);
        }
        let ChannelState::Two(link) = &mut self.state else { return Ok(None) };
        // The next part of a long message grants as much, and completes its RPC; a grant could use its last credit.
        let goes_on = link.half_sent.is_some() && link.credits.available(receives) > 0;
        if goes_on || !link.credits.is_grant_due(receives) {
            return Ok(None);
        }
        let length = link.grant().encode(buffer)?;
        write_credit(link.credits.grant(receives), buffer);
        Ok(Some(length))
    }

    /// Sends the oldest error, if a message may be sent.
    fn send_error(
        &mut self,
        receives: u32,
        buffer: &mut [u8],
        PendingError { request, error }: PendingError,
    ) -> Result<Option<usize>, EncodeError> {
        let length = match &mut self.state {
            ChannelState::Two(link) if link.credits.available(receives) == 0 => return Ok(None),
            ChannelState::Two(link) => {
                let length = ErrorReplyV2::new(link.family, &request, Credit(0), error).encode(buffer)?;
                link.write_credit(receives, buffer);
                length
            }
            // The version is refused. Credits of version 1 are never 0; family B and version 1 have the same layout.
            _ => ErrorReplyV2::new(Family::B, &request, Credit(1), error).encode(buffer)?,
        };
        self.forget_error();
        Ok(Some(length))
    }

    /// Removes the oldest of the errors. `Vec::remove` could panic: only with optimisation for speed does the compiler
    /// prove the absence of a panic.
    fn forget_error(&mut self) {
        let most = self.errors.len().saturating_sub(1);
        for place in 0..most {
            if let Some([to, from]) = self.errors.get_mut(place..=place.saturating_add(1)) {
                *to = *from;
            }
        }
        self.errors.truncate(most);
    }

    /// Handles a received Send.
    pub fn received(&mut self, octets: &[u8]) -> Arrival {
        match &mut self.state {
            ChannelState::One => Arrival::Version1,
            ChannelState::Listening => self.receive_first(octets),
            ChannelState::Offered(_) => self.receive_answer(octets),
            ChannelState::Two(_) => self.receive_next(octets),
            ChannelState::Offering(_) | ChannelState::Over(_) => Arrival::Nothing,
        }
    }

    /// Handles a server's first message, which decides the version of the connection.
    fn receive_first(&mut self, octets: &[u8]) -> Arrival {
        let Ok(prefix) = Prefix::decode(octets) else { return Arrival::Nothing };
        let chosen = match prefix.version {
            v1::VERSION => self.versions.contains(Versions::ONE).then_some(Version::One),
            v2::VERSION => self.versions.format_of(octets).map(Version::Two),
            _ => None,
        };
        match chosen {
            Some(Version::One) => {
                self.state = ChannelState::One;
                Arrival::Version1
            }
            Some(Version::Two(family)) => {
                self.state = ChannelState::Two(Link::server(family));
                self.receive_next(octets)
            }
            None => {
                // An error is never answered, whatever version it has.
                if v1::ErrorReply::decode(octets).is_err() {
                    let VersionRange { low, high } = self.versions.range_without(prefix.version);
                    self.queue_error(prefix, ErrorBodyV2::Vers { low, high });
                }
                Arrival::Nothing
            }
        }
    }

    /// Handles the server's answer to the client's first message.
    fn receive_answer(&mut self, octets: &[u8]) -> Arrival {
        if let Some(refusal) = VersionRefusal::decode(octets) {
            let VersionRange { low, high } = self.versions.range();
            self.state = match Outcome::Refused(refusal).next_version(low, high) {
                Some(v1::VERSION) => ChannelState::One,
                _ => ChannelState::Over(Failure::Impossible),
            };
            return Arrival::Nothing;
        }
        if !Prefix::decode(octets).is_ok_and(|prefix| prefix.version == v2::VERSION) {
            return Arrival::Nothing;
        }
        if let ChannelState::Offered(link) = core::mem::replace(&mut self.state, ChannelState::Listening) {
            self.state = ChannelState::Two(link);
        }
        self.receive_next(octets)
    }

    /// Handles a message on a connection of version 2.
    fn receive_next(&mut self, octets: &[u8]) -> Arrival {
        let ChannelState::Two(link) = &mut self.state else { return Arrival::Nothing };
        let message = match MessageV2::decode(link.family, octets) {
            Ok(message) => message,
            Err(error) => {
                if link.credits.receive_unread().is_err() {
                    return Arrival::Exceeded;
                }
                if ErrorReplyV2::decode(link.family, octets).is_ok() {
                    return Arrival::Nothing;
                }
                let prefix = Prefix::decode(octets).ok();
                let role = link.role_for(octets);
                let reaction = match prefix {
                    Some(prefix) if prefix.version == v1::VERSION => link.mismatch(),
                    _ => ReactionV2::to(error, role),
                };
                let prefix = prefix.filter(|prefix| prefix.version == v2::VERSION);
                let answer = reaction.error(v2::VERSION, v2::VERSION);
                match (prefix, prefix.map(|_| link.peer.unread(link.family, octets)), answer) {
                    (Some(prefix), Some(Unread::Ends), Some(answer)) if role == Role::Responder => {
                        return Arrival::BrokenCall { xid: prefix.xid, error: answer };
                    }
                    (_, Some(Unread::Discard), _) => return Arrival::Nothing,
                    _ => {}
                }
                let arrival = self.answer_dropped(octets, reaction);
                // Otherwise the call that waits for it would wait for ever.
                let is_reply = role == Role::Requester && prefix.is_some();
                return if is_reply { Arrival::Reply } else { arrival };
            }
        };
        if link.credits.receive(message.header.credit(), CountedMessage::from_header(&message.header)).is_err() {
            return Arrival::Exceeded;
        }
        let waited = link.waits_for_properties;
        link.waits_for_properties = false;
        let open = link.peer.open_xid();
        match link.peer.accept(&message.header, message.payload.len()) {
            Err(error) => {
                let is_broken = open.is_some() && !link.peer.is_open();
                self.drop_out_of_order(octets, &message.header, error, is_broken)
            }
            Ok(Part::Discard) => Arrival::Nothing,
            Ok(Part::Payload { .. } | Part::Nothing) => match link.accept_message(&message, waited) {
                Arrival::Call if open == Some(message.header.xid()) => Arrival::CallPart,
                arrival => arrival,
            },
        }
    }

    /// Drops a message that is out of order. `is_broken`: true if that message has ended an open sequence.
    fn drop_out_of_order(
        &mut self,
        octets: &[u8],
        header: &HeaderV2<'_>,
        error: ContinuationError,
        is_broken: bool,
    ) -> Arrival {
        let is_reply = header.is_response() == Some(true);
        let reaction = error.reaction(if is_reply { Role::Requester } else { Role::Responder });
        match reaction.error(v2::VERSION, v2::VERSION) {
            Some(answer) if is_broken && !is_reply => return Arrival::BrokenCall { xid: header.xid(), error: answer },
            Some(_) => _ = self.answer_dropped(octets, reaction),
            None => {}
        }
        if is_reply && header.properties().is_none() { Arrival::BrokenReply(header.xid()) } else { Arrival::Nothing }
    }

    /// Answers a dropped message, if an answer is due. A connection of version 2 never changes its version.
    fn answer_dropped(&mut self, octets: &[u8], reaction: ReactionV2) -> Arrival {
        let error = reaction.error(v2::VERSION, v2::VERSION);
        if let (Ok(prefix), Some(error)) = (Prefix::decode(octets), error) {
            self.queue_error(prefix, error);
        }
        Arrival::Nothing
    }

    fn queue_error(&mut self, request: Prefix, error: ErrorBodyV2) {
        if self.errors.is_full() {
            self.forget_error();
        }
        let _ = self.errors.push(PendingError { request, error });
    }
}

impl Link {
    const fn client(family: Family) -> Self {
        Self::new(family, Side::Client, MessageCredits::client(family))
    }

    const fn server(family: Family) -> Self {
        Self::new(family, Side::Server, MessageCredits::server(family))
    }

    const fn new(family: Family, side: Side, credits: MessageCredits) -> Self {
        Self {
            family,
            side,
            credits,
            peer: Continuation::new(),
            properties: Properties::DEFAULT,
            host: HostMessage::NONE,
            has_sent_properties: false,
            half_sent: None,
            waits_for_properties: false,
        }
    }

    fn write_credit(&mut self, receives: u32, header: &mut [u8]) {
        write_credit(self.credits.send(receives), header);
    }

    /// Handles a message that is in order.
    fn accept_message(&mut self, message: &MessageV2<'_>, waited: bool) -> Arrival {
        let header = &message.header;
        if let Some(properties) = header.properties() {
            self.properties = self.properties.with_numbers(&properties);
            self.host.apply_properties(&properties);
            self.waits_for_properties = is_more_to_come(header);
            return Arrival::Properties;
        }
        self.waits_for_properties = waited;
        if header.is_grant() {
            return Arrival::Nothing;
        }
        match header.is_response() {
            Some(true) => Arrival::Reply,
            Some(false) | None => Arrival::Call,
        }
    }

    /// Returns the endpoint of a message that cannot be decoded.
    fn role_for(&self, octets: &[u8]) -> Role {
        let is_reply = Outline::read(self.family, octets).is_some_and(|outline| outline.is_reply);
        if is_reply { Role::Requester } else { Role::Responder }
    }

    /// Returns the answer to version 1 on a connection of version 2.
    const fn mismatch(&self) -> ReactionV2 {
        ReactionV2::Answer(match self.family {
            // It has no code for this.
            Family::A => ErrorCode::VERS,
            Family::B => ErrorCode::VERS_MISMATCH,
        })
    }

    /// Returns the message with this end's properties.
    fn properties_message<'a>(&self, own: &Properties<'static>, host: &'a [u8]) -> Own<'a> {
        Own { family: self.family, properties: own.numbers(), host }
    }

    /// Returns an asynchronous grant.
    const fn grant(&self) -> HeaderV2<'static> {
        let (xid, credit) = (0, Credit(0));
        match self.family {
            Family::A => {
                // Draft -01 has no header type for it.
                let lists = v2::ChunkLists { inv_handle: 0, chunks: NO_CHUNKS };
                let body = family_a::Body::Nomsg(lists);
                HeaderV2::A(family_a::Header { xid, credit, flags: HeaderFlags::empty(), body })
            }
            Family::B => HeaderV2::B(family_b::Header { xid, credit, body: family_b::Body::Grant }),
        }
    }
}

/// Writes `rdma_credit`.
fn write_credit(Credit(credit): Credit, header: &mut [u8]) {
    if let Some(place) = header.get_mut(CREDIT..).and_then(|rest| rest.first_chunk_mut::<4>()) {
        *place = credit.to_be_bytes();
    }
}

/// Message with this end's transport properties.
struct Own<'a> {
    family: Family,
    properties: [Property<'static>; 5],
    host: &'a [u8],
}

impl Own<'_> {
    fn encode(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let host = Property { id: PropertyId::HOSTAUTH, value: PropertyValue::Opaque(self.host) };
        let mut properties: Vec<_, 6> = Vec::new();
        for property in self.properties.into_iter().chain((!self.host.is_empty()).then_some(host)) {
            let _ = properties.push(property);
        }
        let set = PropertySet::from_properties(&properties);
        let (xid, credit) = (0, Credit(0));
        let header = match self.family {
            Family::A => HeaderV2::A(family_a::Header {
                xid,
                credit,
                flags: HeaderFlags::empty(),
                body: family_a::Body::Connprop(set),
            }),
            Family::B => HeaderV2::B(family_b::Header { xid, credit, body: family_b::Body::ConnpropFinal(set) }),
        };
        header.encode(buffer)
    }
}

/// Returns the endpoint that will continue a message after this part, if any.
fn half_sent(family: Family, header: &[u8]) -> Option<Role> {
    let outline = Outline::read(family, header)?;
    let role = if outline.is_reply { Role::Responder } else { Role::Requester };
    outline.more.then_some(role)
}

/// Returns true if the sender of these properties will send more properties.
fn is_more_to_come(header: &HeaderV2<'_>) -> bool {
    match header {
        HeaderV2::A(header) => header.flags.intersects(HeaderFlags::MORE | HeaderFlags::TPMORE),
        HeaderV2::B(header) => matches!(header.body, family_b::Body::ConnpropMiddle(_)),
    }
}
