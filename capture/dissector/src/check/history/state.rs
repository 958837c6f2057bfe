//! Per-connection state of the checker.

use rpcrdma::private_data::{Agreement, Flags};
use rpcrdma::rules::Credits;

use super::pending::PendingFinding;
use super::pulled::Pulled;
use super::requests::Requests;
use super::version_2::Version2;
use crate::carrier::connection::{Announced, Connection};
use crate::carrier::operation::{Side, Sides, Stamp};
use crate::check::book::Book;
use crate::check::setup;
use crate::event::Opened;
use crate::link::Address;
use crate::rpc::message::Message;
use crate::rpc::properties::Direction;

/// Per-connection state.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) ends: Sides<Address>,
    /// Announcements of the ends, if the setup was seen but not judged yet.
    pub(super) announced: Option<Sides<Option<Announced>>>,
    pub(super) set_up: bool,
    /// True if the connection was captured from the start.
    pub(super) whole: bool,
    /// The end that is the client, once known.
    pub(super) client: Option<Side>,
    pub(super) agreement: Option<Agreement>,
    /// The ends that announced remote invalidation.
    pub(super) invalidation: Option<Sides<bool>>,
    /// By the end that calls.
    pub(super) credits: Sides<Credits>,
    /// `true` if the capture missed something that an end sent.
    pub(super) lost: Sides<bool>,
    /// `true` if nothing that the end sent could be read since then: the queue pair may serve another connection.
    pub(super) suspect: Sides<bool>,
    /// True if an end sent something that was not completely readable, so there may be unknown advertised memory.
    pub(super) unreadable: Sides<bool>,
    /// True if the dissector gave up a call that may still be answered.
    pub(super) forgotten: bool,
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
    /// By the end that asks.
    pub(super) requests: Sides<Requests>,
    /// The frame of the last Send of each end.
    pub(super) last: Sides<Stamp>,
    /// True if a Send was emitted after one that was captured later, so the order of the two ends is not known.
    pub(super) is_disordered: bool,
    /// True if replies come in responder-provided Read chunks.
    pub(super) reliable: bool,
    /// True if a requester has read such a reply, or said so: then both ends support such replies.
    pub(super) is_agreed: bool,
    pub(super) pulled: Vec<Pulled>,
    pub(super) pending: Vec<PendingFinding>,
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
        let credits = if *whole { Credits::new() } else { Credits::unknown() };
        let Sides { active, passive } = connection.ends;
        Self {
            ends: Sides { active: active.address, passive: passive.address },
            announced: connection.set_up.then_some(connection.announced),
            set_up: connection.set_up,
            whole: *whole,
            client: connection.set_up.then_some(Side::Active),
            agreement: connection.agreement(),
            invalidation: invalidation(connection),
            credits: Sides { active: credits, passive: credits },
            lost: Sides::default(),
            suspect: Sides::default(),
            unreadable: Sides::default(),
            forgotten: false,
            spoke: false,
            version_1: false,
            begins_in_version_1: false,
            version_2: Version2::new(*whole),
            told: false,
            interrupted: Sides::default(),
            requests: Sides::default(),
            last: Sides::default(),
            is_disordered: false,
            reliable: false,
            is_agreed: false,
            pulled: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Judges the setup when a message shows that the connection is of version 1: version 2 has transport properties instead of
    /// private data. Messages that were missed before may have been of version 2.
    pub(super) fn judge_set_up(&mut self, number: u32, book: &mut Book) {
        self.begins_in_version_1 |= self.misses_nothing();
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
        let has_messages = self.last.active.frame > 0 || self.last.passive.frame > 0;
        let is_judged = self.begins_in_version_1 || has_messages && self.misses_nothing();
        setup::judge(if is_judged { announced } else { &NONE }, &self.ends, number, book);
    }

    /// Returns true if nothing of the connection was missed, and the dissector has given nothing up.
    pub(super) fn is_whole(&self) -> bool {
        self.whole && self.misses_nothing() && !self.forgotten
    }

    /// Returns true if nothing of the connection was missed since the first captured packet.
    pub(super) fn misses_nothing(&self) -> bool {
        self.lost == Sides::default()
    }

    /// Records whether a message could be read.
    pub(super) const fn note_readable(&mut self, sender: Side, is_readable: bool) {
        if is_readable {
            *self.suspect.get_mut(sender) = false;
        } else {
            *self.unreadable.get_mut(sender) = true;
        }
    }

    /// Records who is the client, and what the dissector gave up.
    pub(super) fn learn(&mut self, message: &Message) {
        self.forgotten |= message.detail.as_ref().is_some_and(|detail| detail.forgotten);
        let Some(rpc) = &message.rpc else { return };
        if rpc.direction == Direction::Call && self.client.is_none() && rpc.name.is_some() {
            self.client = Some(if rpc.reverse { message.sender.other() } else { message.sender });
        }
        self.spoke |= self.client == Some(message.sender);
    }
}
