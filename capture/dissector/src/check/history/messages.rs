//! Judges a message, by one thing after the other.

use rpcrdma::error::Role;
use rpcrdma::prefix::{Prefix, Procedure};
use rpcrdma::rpc::MessageType;
use rpcrdma::rules::{ERROR_FROM_REQUESTER, Sent};
use rpcrdma::{v1, v2};

use super::requests::{Answers, Response};
use super::state::History;
use crate::check::book::{Book, Group};
use crate::check::finding::About;
use crate::rpc::header::{AnyErrorBody, Dialect};
use crate::rpc::message::{Captured, Detail, Message};
use crate::rpc::properties::MessageDirection;

impl History {
    /// Judges a message.
    pub(crate) fn message(&mut self, message: &Message, book: &mut Book) {
        let about = About::message(message);
        self.proofs.prove_findings(message, book);
        let began = self.proofs.note_send(message);
        self.learn(message);
        match message.dialect {
            // In messages that were missed, the ends may have agreed on version 2.
            _ if self.version_1 && is_of_version_2(message) && !self.proofs.misses_nothing() => {
                return book.unknown_group(Group::Send);
            }
            _ if self.version_1 => {}
            Dialect::Version2(family) => return self.version_2(message, Some(family), began, about, book),
            Dialect::Version2Unknown => return self.version_2(message, None, began, about, book),
            Dialect::Version1 if self.version_2.answers_other_version(&message.octets) => {
                // The message that it answers was not for this connection; the rules of version 1 judge neither.
                if let Some(xid) = about.xid {
                    self.requests.of_end(message.sender.other()).answer(xid, Response::of_v1(None));
                }
                return book.unknown_group(Group::Send);
            }
            Dialect::Version1 if self.version_2.is_established() && is_of_version_1(message) => {
                return self.changed_version(message, about, book);
            }
            Dialect::Version1 => {
                if is_of_version_1(message) {
                    self.judge_set_up(message.connection, book);
                }
            }
        }
        self.length(message, about, book);
        if message.prefix().is_some() {
            self.readable(message, about, book);
        } else {
            self.stub(message, about, book);
        }
    }

    /// Judges a message of which there are not even four words, on the wire or in the capture.
    pub(super) fn stub(&mut self, message: &Message, about: About, book: &mut Book) {
        self.proofs.note_readable(message.sender, false);
        if message.captured != Captured::Whole {
            return book.unknown_group(Group::Send);
        }
        let sent = Sent::new(&message.octets, None);
        let faulty = self.send(message, &sent, about, book);
        if self.client == Some(message.sender) {
            self.request(message, &sent, faulty, about, book);
        } else if let Some(xid) = about.xid {
            self.requests.note_unclear(message.sender, xid, &mut self.proofs, book);
        }
    }

    /// Judges a message whose first four words are there.
    pub(super) fn readable(&mut self, message: &Message, about: About, book: &mut Book) {
        let detail = message.detail.as_deref();
        let role = self.role(message, detail, book);
        let mut sent = Sent::new(&message.octets, role);
        sent.length = message.length;
        // The session knows of an RDMA_DONE that ends a provided reply, even if it took that for a call.
        let is_done = sent.prefix.is_some_and(|prefix| prefix.procedure == Procedure::RDMA_DONE);
        sent.reliable_reply = self.provided.note_use(is_done && detail.is_some());
        let is_readable = sent.decoded.is_ok() || sent.error.is_some();
        // An end that has spoken version 2 does not change the version of the connection (version two draft -07 section 4.3).
        let changes_version = *self.version_2.speaks.get(message.sender);
        self.version_1 |= sent.decoded.is_ok() && is_of_version_1(message) && !changes_version;
        self.proofs.note_readable(message.sender, is_readable);
        let ends = matches!(message.captured, Captured::Whole | Captured::Cut);
        // A correct message of version 2 is an error here.
        let is_other = message.dialect != Dialect::Version1;
        let is_malformed = || (is_other || message.is_malformed().is_some()) && !self.proofs.is_suspect(message.sender);
        let mut faulty = None;
        if ends && (is_readable || is_malformed()) {
            faulty = self.send(message, &sent, about, book);
        } else {
            book.unknown_group(Group::Send);
        }
        let Some(role) = role else { return };
        let answers = match role {
            Role::Requester => Answers::Nothing,
            Role::Responder => self.answers(message, &sent, about, book),
        };
        if ends {
            let of_rpc = self.rpc(message, &sent, role, answers, about, book);
            faulty = faulty.or(of_rpc);
        }
        if role == Role::Requester {
            self.request(message, &sent, faulty, about, book);
        }
        self.provided.follow_reply(message, &sent, role, about, book);
    }

    /// Returns the role of the sender of a message (requester or responder), in the direction of the RPC.
    pub(super) fn role(&mut self, message: &Message, detail: Option<&Detail>, book: &mut Book) -> Option<Role> {
        match detail {
            // It may be either.
            _ if message.hides_direction() => None,
            Some(Detail { direction: MessageDirection::Call, .. }) => Some(Role::Requester),
            Some(detail) if !self.is_stray_error(message, detail) => Some(Role::Responder),
            // It may answer an unreadable call of the other direction (RFC 8167), or come from a requester.
            Some(_) if self.requests.of_end(message.sender.other()).take_unclear(message.xid()) => {
                // A refusal of version 2 answers the first message of the client.
                if !(is_refusal(message) && self.client == Some(message.sender.other())) {
                    book.unknown(&ERROR_FROM_REQUESTER);
                }
                None
            }
            _ if self.is_reverse_call(message) => Some(Role::Requester),
            _ => self.client.map(|client| if client == message.sender { Role::Requester } else { Role::Responder }),
        }
    }

    /// Returns true if a message is an RDMA_ERROR that answers nothing: then only the sender shows the direction.
    pub(super) fn is_stray_error(&self, message: &Message, detail: &Detail) -> bool {
        let answers = |xid| self.requests.has_waiting(message.sender.other(), xid);
        detail.answers.is_none()
            && message.error().is_some()
            && !message.prefix().is_some_and(|prefix| answers(prefix.xid))
    }
}

/// Returns true if the message shows that its sender uses version 1. An RDMA_ERROR does not show that: an error has the
/// version of the refused message, in any version of the sender.
pub(super) fn is_of_version_1(message: &Message) -> bool {
    let is_of_1 = |prefix: Prefix| prefix.version == v1::VERSION && prefix.procedure != Procedure::RDMA_ERROR;
    message.prefix().is_some_and(is_of_1)
}

/// Returns true if a message names version 2 and is no RDMA_ERROR of version 1.
fn is_of_version_2(message: &Message) -> bool {
    message.prefix().is_some_and(|prefix| prefix.version == v2::VERSION) && !is_refusal(message)
}

/// Returns true if a message refuses version 2, in the layout of version 1.
fn is_refusal(message: &Message) -> bool {
    let is_2 = message.prefix().is_some_and(|prefix| prefix.version == v2::VERSION);
    is_2 && matches!(message.error(), Some(AnyErrorBody::V1(v1::ErrorBody::Vers { .. })))
}

/// Returns true if a message of another version would be a call in version 1.
pub(super) fn calls_in_version_1(message: &Message) -> bool {
    let mut octets = message.octets.clone();
    if let Some(version) = octets.get_mut(4..8) {
        version.copy_from_slice(&v1::VERSION.to_be_bytes());
    }
    let Ok(decoded) = v1::Message::decode(&octets) else { return false };
    MessageType::peek(decoded.payload).is_some_and(|(_, kind)| kind == MessageType::CALL)
}
