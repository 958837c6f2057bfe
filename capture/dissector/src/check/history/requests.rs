//! The requests of one end that may still be answered, and how their answers are judged (RFC 8166 section 4.5; version
//! two draft -01, "Error Handling"; -07 section 7).
//!
//! `answer` is the one rule that judges how a responder reacts to a bad request, by the last column of the rule that
//! the request broke. An answer names a request by XID alone, and a Send that breaks a rule may have the XID of a
//! waiting call. So everything that was sent under an XID is kept together: a reply is for the call, if one waits, and
//! an RDMA_ERROR that may refuse one Send or another is judged by neither.
//!
//! The same table counts the credits of version 1: an XID takes one, until the first answer with that XID.
//!
//! Version 2 has errors that say what a responder lacks, whatever is wrong with a request, and leaves the rest of some
//! sequences without an answer. [`Response`] says which errors are judged, `messages_v2` which requests.

use std::collections::{BTreeMap, BTreeSet};

use rpcrdma::error;
use rpcrdma::rules::{Finding, Rule, Severity};
use rpcrdma::v1;
use rpcrdma::v2::{ErrorBodyV2, ErrorCode, Family, ReactionV2};

use crate::check::book::Book;
use crate::check::finding::{About, Found};
use crate::rpc::header::{AnyErrorBody, Reaction};

/// The most XIDs of an end that wait: as many as the calls that the session keeps.
const WAITING: usize = 4096;
/// The most Sends under one XID that are told apart.
const SENDS: usize = 8;
/// The most Sends of an end that break a rule and may still be answered.
const FAULTY: usize = 64;
/// The most Sends of an end that may be requests or answers.
const UNCLEAR: usize = 64;

/// This rule is about the responder's reaction to an invalid request.
pub(super) static ANSWER: Rule = Rule::new("answer", Severity::Error, "RFC 8166 4.5")
    .summary("a responder refuses a request that it cannot read with the error that is due, or drops it if none is")
    .reason("A requester that gets no answer waits forever; one that gets an answer with an XID that cannot be \
             trusted ends the wrong call.")
    .correct("As described for the rule that the request breaks. For RDMA_MSGP, ERR_CHUNK is a SHOULD, and another \
              answer a warning. A responder that cannot answer ends the connection. What the drafts of version 2 (-01 Error \
              Handling; -07 7) leave open is not judged: errors about anything but the form of a request; other numbers \
              in the wire format of -00 to -02; and the answer to what interrupts a sequence, to a part of a Payload \
              stream before the last, to 16 to 19 octets (-03 to -07), or to what breaks rules with different answers.");

/// A Send that breaks a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faulty {
    /// The rule.
    pub(super) rule: &'static Rule,
    pub(super) about: About,
    pub(super) octets: usize,
}

/// A Send that may be answered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request {
    /// A call that is carried out and replied to; one that breaks a rule may also be refused.
    Call(Option<Faulty>),
    /// A Send that breaks a rule with a prescribed answer.
    Faulty(Faulty, Reaction),
}

/// An answer, and the effect on the credits of version 1.
pub(super) struct TakenAnswer {
    pub(super) answers: Answers,
    /// True if the answer frees a credit.
    pub(super) frees_credit: bool,
}

/// Subject of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answers {
    /// A call, and the broken rule.
    Call(Option<Faulty>),
    /// A Send that breaks a rule with a prescribed answer.
    Faulty(Faulty, Reaction),
    /// A call that was sent more than once; the reply may be for any copy.
    Copy,
    /// One of several Sends, some of which break rules.
    Unclear,
    /// Nothing.
    Nothing,
}

/// Content of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Response {
    /// The call was carried out.
    Reply,
    /// An error of version 1.
    Refusal(v1::ErrorBody),
    /// An error of version 2.
    RefusalV2(Family, ErrorBodyV2),
}

/// Requests that were sent under one XID and are not answered yet.
#[derive(Debug, Default)]
struct Unanswered {
    sends: Vec<Request>,
    /// Further requests, which are only counted.
    beyond: u32,
    /// True if a credit is taken. A call that is retransmitted takes no other one.
    holds_credit: bool,
    /// True if a call under this XID was answered, or may have been.
    call_answered: bool,
    /// Sends whose chunk lists could be read.
    readable: u32,
}

/// The requests of one end that wait.
#[derive(Debug, Default)]
pub(super) struct Requests {
    waiting: BTreeMap<u32, Unanswered>,
    /// XIDs of Sends that may be calls or replies: nothing readable in such a Send shows which.
    unclear: BTreeSet<u32>,
}

impl Request {
    /// Makes a Send of version 1 with the broken rule.
    pub(super) fn new(faulty: Option<Faulty>) -> Self {
        match faulty.and_then(|faulty| Some((faulty, faulty.rule.answer?))) {
            Some((faulty, due)) => Self::Faulty(faulty, Reaction::V1(due)),
            None => Self::Call(faulty),
        }
    }

    /// Returns true if the receiver has to answer the Send.
    const fn is_answered(&self) -> bool {
        !matches!(self, Self::Faulty(_, due) if due.is_discard())
    }
}

impl Requests {
    /// Adds a request. Returns true if the request takes a credit: a Send that has to be dropped takes none, nor does a
    /// call that is retransmitted.
    pub(super) fn add_request(&mut self, xid: u32, request: Request, is_readable: bool, book: &mut Book) -> bool {
        if matches!(request, Request::Faulty(..)) && self.faulty().count() >= FAULTY {
            book.unknown(&ANSWER);
            return false;
        }
        let waiting = self.waiting.entry(xid).or_default();
        if waiting.sends.len() < SENDS {
            waiting.sends.push(request);
        } else {
            waiting.beyond = waiting.beyond.saturating_add(1);
        }
        waiting.readable = waiting.readable.saturating_add(u32::from(is_readable));
        let takes_credit = request.is_answered() && !waiting.holds_credit;
        if takes_credit {
            waiting.holds_credit = true;
        }
        takes_credit
    }

    /// Makes room for a request with this XID; returns true if another request is given up instead.
    pub(super) fn make_room(&mut self, xid: u32) -> bool {
        self.waiting.len() >= WAITING && !self.waiting.contains_key(&xid) && self.waiting.pop_first().is_some()
    }

    /// Returns the Sends that break a rule with a prescribed answer.
    fn faulty(&self) -> impl Iterator<Item = (Faulty, Reaction)> {
        self.waiting.values().flat_map(|waiting| &waiting.sends).filter_map(|send| match send {
            Request::Faulty(faulty, due) => Some((*faulty, *due)),
            Request::Call(_) => None,
        })
    }

    /// Returns true if something was sent under this XID that may be answered.
    pub(super) fn waits(&self, xid: u32) -> bool {
        self.waiting.contains_key(&xid)
    }

    /// Takes an answer.
    pub(super) fn answer(&mut self, xid: u32, said: Response) -> TakenAnswer {
        let Some(waiting) = self.waiting.get_mut(&xid) else {
            return TakenAnswer { answers: Answers::Nothing, frees_credit: false };
        };
        let answers = waiting.answer(said);
        let frees_credit = core::mem::take(&mut waiting.holds_credit);
        if waiting.sends.is_empty() && waiting.beyond == 0 {
            self.waiting.remove(&xid);
        }
        TakenAnswer { answers, frees_credit }
    }

    /// Adds a Send with this XID that may be a call or a reply.
    pub(super) fn add_unclear(&mut self, xid: u32) {
        if self.unclear.len() >= UNCLEAR {
            self.unclear.pop_first();
        }
        self.unclear.insert(xid);
    }

    /// Returns true if an answer may be for a Send that nothing shows to be a request.
    pub(super) fn take_unclear(&mut self, xid: u32) -> bool {
        self.unclear.remove(&xid)
    }

    /// The only request that an RDMA_ERROR with another XID can be for, if there is one; that request then counts as
    /// answered.
    pub(super) fn take_misnamed(&mut self, said: Response) -> Option<Faulty> {
        let all: Vec<Faulty> = self.faulty().filter(|(_, due)| said.is(*due)).map(|(faulty, _)| faulty).collect();
        let [faulty] = all[..] else { return None };
        self.answer(faulty.about.xid?, said);
        Some(faulty)
    }

    /// The answers that were due and did not come.
    pub(super) fn into_due(self) -> impl Iterator<Item = (Faulty, Reaction)> {
        let sends = self.waiting.into_values().flat_map(|waiting| waiting.sends);
        sends.filter_map(|send| match send {
            Request::Faulty(faulty, due) if !due.is_discard() => Some((faulty, due)),
            Request::Faulty(..) | Request::Call(_) => None,
        })
    }
}

impl Unanswered {
    /// Takes what an answer is for from what waits: a reply is for a call, if one waits; an RDMA_ERROR may refuse
    /// either.
    fn answer(&mut self, said: Response) -> Answers {
        let is_reply = matches!(said, Response::Reply);
        let is_due = |send: &Request| matches!(send, Request::Faulty(_, due) if said.is(*due));
        let call = self.sends.iter().position(|send| matches!(send, Request::Call(_)));
        let faulty = self.sends.iter().position(|send| matches!(send, Request::Faulty(..)));
        let due = self.sends.iter().position(is_due);
        match (call, faulty) {
            (Some(call), None) => self.take_send(call),
            (Some(call), Some(_)) if is_reply => {
                self.call_answered = true;
                self.take_send(call)
            }
            (Some(call), Some(_)) => {
                self.call_answered = true;
                self.take_send(due.unwrap_or(call));
                Answers::Unclear
            }
            // It may be the reply to the call, late or repeated.
            (None, Some(_)) if is_reply && self.call_answered => Answers::Unclear,
            (None, Some(faulty)) => self.take_send(due.unwrap_or(faulty)),
            // One of those that are only counted: without any, nothing would wait under this XID.
            (None, None) => {
                self.beyond = self.beyond.saturating_sub(1);
                Answers::Unclear
            }
        }
    }

    fn take_send(&mut self, place: usize) -> Answers {
        match self.sends.remove(place) {
            // It is not known which of the two the reply is for, and whose chunks it returns.
            Request::Call(None) if self.readable > 1 => Answers::Copy,
            Request::Call(_) if self.readable > 1 => Answers::Unclear,
            Request::Call(faulty) => Answers::Call(faulty),
            Request::Faulty(faulty, due) => Answers::Faulty(faulty, due),
        }
    }
}

impl Response {
    /// Returns the content of a reply of version 1, or the error that is in place of one.
    pub(super) fn of_v1(error: Option<v1::ErrorBody>) -> Self {
        error.map_or(Self::Reply, Self::Refusal)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Reply => "a reply",
            Self::Refusal(error) => error.name(),
            Self::RefusalV2(_, error) => AnyErrorBody::V2(error).name(),
        }
    }

    /// Returns true if the response is the one that is due.
    fn is(self, due: Reaction) -> bool {
        match (self, due) {
            (Self::Refusal(v1::ErrorBody::Chunk), Reaction::V1(due)) => due == error::Reaction::ErrChunk,
            (Self::Refusal(v1::ErrorBody::Vers { .. }), Reaction::V1(due)) => due == error::Reaction::ErrVers,
            (Self::RefusalV2(_, error), Reaction::V2(due)) => due == ReactionV2::Answer(error.code()),
            _ => false,
        }
    }

    /// Returns true if the response may be right although another one is due. That a responder lacks something does not
    /// show in a capture, and an extension may add errors; draft -00 gave some of the numbers of -01 and -02 to other
    /// errors, in the same wire format; and a responder of version 1 refuses version 2.
    const fn may_be_right(self, due: Reaction) -> bool {
        match (self, due) {
            (Self::Reply, _) | (Self::Refusal(_), Reaction::V1(_)) => false,
            (Self::RefusalV2(Family::B, error), Reaction::V2(_)) => !is_of_form(error.code()),
            (Self::Refusal(_) | Self::RefusalV2(..), _) => true,
        }
    }
}

/// Returns true if an error of version 2 is about the form of a request.
const fn is_of_form(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::BAD_XDR | ErrorCode::BAD_PROPVAL | ErrorCode::INVAL_HTYPE | ErrorCode::INVAL_CONT)
}

/// Judges an answer by the request. The findings do not rest on the absence of a call with the XID.
pub(super) fn judge(answers: Answers, said: Response, about: About, at: usize, book: &mut Book) -> Option<Found> {
    let name = said.name();
    let say = |severity, message: core::fmt::Arguments<'_>| {
        let finding = Finding::new(&ANSWER, at, message).with_severity(severity);
        Some(Found::new(about, &finding, Some(at)))
    };
    match answers {
        Answers::Faulty(faulty, due) if due.is_discard() => {
            let (frame, slug, octets) = (faulty.about.stamp.frame, faulty.rule.slug, faulty.octets);
            let message =
                format_args!("{name} answers frame {frame} of {octets} octets ({slug}), which has to be dropped");
            say(severity(faulty.rule), message)
        }
        Answers::Faulty(_, due) if said.is(due) => None,
        Answers::Faulty(_, due) if said.may_be_right(due) => {
            book.unknown(&ANSWER);
            None
        }
        Answers::Faulty(faulty, due) => {
            let (frame, slug) = (faulty.about.stamp.frame, faulty.rule.slug);
            say(severity(faulty.rule), format_args!("{name} answers frame {frame} ({slug}); {due} should"))
        }
        // RFC 8166 section 4.5.2 asks for ERR_CHUNK, but section 4.2.1 has the XID of the RPC message ignored.
        Answers::Call(Some(faulty)) if faulty.rule.slug == "xid-mismatch" && matches!(said, Response::Reply) => {
            let frame = faulty.about.stamp.frame;
            let message = format_args!("a reply answers frame {frame} (xid-mismatch); other responders send ERR_CHUNK");
            say(Severity::Hazard, message)
        }
        Answers::Unclear => {
            book.unknown(&ANSWER);
            None
        }
        Answers::Call(_) | Answers::Copy | Answers::Nothing => None,
    }
}

/// Returns the severity of an answer that differs from the one in the rule.
pub(super) fn severity(rule: &Rule) -> Severity {
    // RFC 8166 section 4.6.1 says SHOULD.
    if rule.slug == "msgp-sent" { Severity::Warning } else { Severity::Error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_unclear_sends_are_remembered() {
        let mut requests = Requests::default();
        let xids = 0..10 * UNCLEAR as u32;
        xids.clone().for_each(|xid| requests.add_unclear(xid));
        assert!(requests.unclear.len() <= UNCLEAR);
        // One that is remembered is taken once.
        let last = xids.end - 1;
        assert!(requests.take_unclear(last) && !requests.take_unclear(last));
        let taken = xids.filter(|xid| requests.take_unclear(*xid));
        assert_eq!(taken.count(), UNCLEAR - 1);
    }
}
