//! Per-connection state of the checker.

use rpcrdma::private_data::{Agreement, Flags};

use super::open_requests::OpenRequests;
use super::proof::Proofs;
use super::provided_replies::ProvidedReplies;
use super::version_2::Version2;
use crate::carrier::connection::{Announced, Connection};
use crate::carrier::operation::{Side, Sides};
use crate::check::book::Book;
use crate::check::setup;
use crate::event::Opened;
use crate::link::Address;
use crate::rpc::message::Message;
use crate::rpc::properties::MessageDirection;

/// Per-connection state.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) ends: Sides<Address>,
    /// Announcements of the ends, if the setup was seen but not judged yet.
    pub(super) announced: Option<Sides<Option<Announced>>>,
    pub(super) set_up: bool,
    /// The end that is the client, once known.
    pub(super) client: Option<Side>,
    pub(super) agreement: Option<Agreement>,
    /// The ends that announced remote invalidation.
    pub(super) invalidation: Option<Sides<bool>>,
    /// True if the client sent a message of version 1.
    pub(super) spoke: bool,
    /// True if a message of version 1 was read: the rules of version 1 then apply to all later messages.
    pub(super) version_1: bool,
    /// A message of version 1 came before anything was missed.
    begins_in_version_1: bool,
    pub(super) version_2: Version2,
    /// True once the missing agreement on remote invalidation was reported.
    pub(super) told: bool,
    /// True if a message of this end came into the middle of a sequence (version 2).
    pub(super) interrupted: Sides<bool>,
    pub(super) proofs: Proofs,
    pub(super) requests: OpenRequests,
    pub(super) provided: ProvidedReplies,
}

/// Returns the ends that announced remote invalidation (RFC 8797 section 4.1); `None` if the capture lacks the
/// announcement.
pub(super) fn invalidation(connection: &Connection) -> Option<Sides<bool>> {
    let said = |side| connection.said(side).map(|said| said.flags.contains(Flags::REMOTE_INVALIDATION));
    Some(Sides { active: said(Side::Active)?, passive: said(Side::Passive)? })
}

/// No announcement was captured, or none that could be judged.
const NONE: Sides<Option<Announced>> = Sides { active: None, passive: None };

impl History {
    pub(crate) fn new(opened: &Opened) -> Self {
        let Opened { connection, whole, .. } = opened;
        let Sides { active, passive } = connection.ends;
        Self {
            ends: Sides { active: active.address, passive: passive.address },
            announced: connection.setup_captured.then_some(connection.announced),
            set_up: connection.setup_captured,
            client: connection.setup_captured.then_some(Side::Active),
            agreement: connection.agreement(),
            invalidation: invalidation(connection),
            spoke: false,
            version_1: false,
            begins_in_version_1: false,
            version_2: Version2::new(*whole),
            told: false,
            interrupted: Sides::default(),
            proofs: Proofs::new(*whole),
            requests: OpenRequests::new(*whole),
            provided: ProvidedReplies::default(),
        }
    }

    /// Judges the setup when a message shows that the connection is of version 1: version 2 has transport properties instead of
    /// private data. Messages that were missed before may have been of version 2.
    pub(super) fn judge_set_up(&mut self, number: u32, book: &mut Book) {
        self.begins_in_version_1 |= self.proofs.misses_nothing();
        if self.begins_in_version_1
            && let Some(announced) = self.announced.take()
        {
            setup::judge(&announced, &self.ends, number, book);
        }
    }

    /// Judges a setup that was not judged by the end of the connection, unless that is of version 2. A connection without
    /// messages may be.
    pub(crate) fn end_set_up(&self, announced: &Sides<Option<Announced>>, number: u32, book: &mut Book) {
        if (self.announced.is_none() && self.set_up) || (self.version_2.spoken && !self.version_1) {
            return;
        }
        let has_messages = [Side::Active, Side::Passive].iter().any(|&side| self.proofs.last_send(side).frame > 0);
        let is_judged = self.begins_in_version_1 || has_messages && self.proofs.misses_nothing();
        setup::judge(if is_judged { announced } else { &NONE }, &self.ends, number, book);
    }

    /// Records that the capture lacks something that an end sent: calls, replies, or both.
    pub(crate) fn lost(&mut self, from: Side, book: &mut Book) {
        self.proofs.note_loss(from, book);
        *self.version_2.goes_on.get_mut(from) = true;
        self.requests.note_missed(from.other());
    }

    /// Records who is the client, and what the dissector gave up.
    pub(super) fn learn(&mut self, message: &Message) {
        if message.detail.as_ref().is_some_and(|detail| detail.forgotten) {
            self.proofs.note_forgotten_call();
        }
        let Some(rpc) = &message.rpc else { return };
        if rpc.direction == MessageDirection::Call && self.client.is_none() && rpc.name.is_some() {
            self.client = Some(if rpc.reverse { message.sender.other() } else { message.sender });
        }
        self.spoke |= self.client == Some(message.sender);
    }
}
