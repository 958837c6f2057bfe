//! The requests of one end that may still be answered, and how their answers are judged (RFC 8166 section 4.5).
//!
//! `answer` is the one rule that judges how a responder reacts to a bad request, by the last column of the rule that
//! the request broke. An answer names its request by XID alone, and a Send that breaks a rule may have the XID of a
//! call that waits. So everything that was sent under an XID is kept together: a reply is for the call, if one waits,
//! and an RDMA_ERROR that may refuse one Send or another is judged by neither.
//!
//! The same table counts credits: an XID takes one, until the first answer to it.

use std::collections::{BTreeMap, BTreeSet};

use rpcrdma::error::Reaction;
use rpcrdma::rules::{Finding, Rule, Severity};
use rpcrdma::v1::ErrorBody;

use crate::check::book::Book;
use crate::check::found::{About, Found};

/// The most XIDs of an end that wait: as many as the calls that the session keeps.
const WAITING: usize = 4096;
/// The most Sends under one XID that are told apart.
const SENDS: usize = 8;
/// The most Sends of an end that break a rule and may still be answered.
const FAULTY: usize = 64;
/// The most Sends of an end that may be requests or answers.
const UNCLEAR: usize = 64;

/// Not a rule about what may be sent, but about what a responder owes to a requester that breaks such a rule.
pub(super) static ANSWER: Rule = Rule {
    slug: "answer",
    severity: Severity::Error,
    section: "RFC 8166 4.5",
    summary: "a responder answers a request that it cannot read with ERR_CHUNK or ERR_VERS, or not at all, as section \
              4.5 says",
    reason: "A requester that gets no answer waits forever; one that gets an answer with an XID that cannot be \
             trusted ends the wrong call.",
    correct: "As described for the rule that the request breaks. For RDMA_MSGP, ERR_CHUNK is a SHOULD, and another \
              answer a warning. A responder that cannot answer ends the connection.",
    answer: None,
};

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
    /// A Send that breaks a rule that says how it is answered.
    Faulty(Faulty, Reaction),
}

/// What an answer is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answers {
    /// A call, and the rule that it breaks.
    Call(Option<Faulty>),
    /// A Send that breaks a rule that says how it is answered.
    Faulty(Faulty, Reaction),
    /// A call that was sent more than once; it may answer any copy.
    Copy,
    /// One of several Sends, some of which break rules.
    Unclear,
    /// Nothing.
    Nothing,
}

/// What was sent under one XID and is not answered yet.
#[derive(Debug, Default)]
struct Unanswered {
    sends: Vec<Request>,
    /// Those beyond them, which are only counted.
    beyond: u32,
    /// Whether a credit is taken. A call that is sent again takes no other one.
    holds_credit: bool,
    /// Whether a call under this XID was answered, or may have been.
    call_answered: bool,
    /// Sends whose chunk lists could be read.
    readable: u32,
}

/// The requests of one end that wait.
#[derive(Debug, Default)]
pub(super) struct Requests {
    waiting: BTreeMap<u32, Unanswered>,
    /// XIDs of Sends that may be calls or replies: nothing readable in them shows which.
    unclear: BTreeSet<u32>,
}

impl Request {
    /// A Send, and the rule that it breaks.
    pub(super) fn new(faulty: Option<Faulty>) -> Self {
        match faulty.and_then(|faulty| Some((faulty, faulty.rule.answer?))) {
            Some((faulty, due)) => Self::Faulty(faulty, due),
            None => Self::Call(faulty),
        }
    }

    /// Whether its receiver answers it.
    const fn is_answered(&self) -> bool {
        !matches!(self, Self::Faulty(_, Reaction::Discard))
    }
}

impl Requests {
    /// Adds a request. True if it takes a credit: a Send that has to be dropped takes none, nor does a call that is
    /// sent again.
    pub(super) fn add(&mut self, xid: u32, request: Request, is_readable: bool, book: &mut Book) -> bool {
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

    /// Makes room for a request with this XID; true if another one is given up for it.
    pub(super) fn make_room(&mut self, xid: u32) -> bool {
        self.waiting.len() >= WAITING && !self.waiting.contains_key(&xid) && self.waiting.pop_first().is_some()
    }

    /// Sends that break a rule which says how they are answered.
    fn faulty(&self) -> impl Iterator<Item = (Faulty, Reaction)> {
        self.waiting.values().flat_map(|waiting| &waiting.sends).filter_map(|send| match send {
            Request::Faulty(faulty, due) => Some((*faulty, *due)),
            Request::Call(_) => None,
        })
    }

    /// Whether something was sent under this XID that may be answered.
    pub(super) fn waits(&self, xid: u32) -> bool {
        self.waiting.contains_key(&xid)
    }

    /// Takes an answer, with what it says if it is an error. Also returns whether it frees a credit.
    pub(super) fn answer(&mut self, xid: u32, error: Option<ErrorBody>) -> (Answers, bool) {
        let Some(waiting) = self.waiting.get_mut(&xid) else { return (Answers::Nothing, false) };
        let answers = waiting.answer(error.map(reaction));
        let frees_credit = core::mem::take(&mut waiting.holds_credit);
        if waiting.sends.is_empty() && waiting.beyond == 0 {
            self.waiting.remove(&xid);
        }
        (answers, frees_credit)
    }

    /// Adds a Send with this XID that may be a call or a reply.
    pub(super) fn add_unclear(&mut self, xid: u32) {
        if self.unclear.len() >= UNCLEAR {
            self.unclear.pop_first();
        }
        self.unclear.insert(xid);
    }

    /// Whether an answer may be for a Send that nothing shows to be a request.
    pub(super) fn take_unclear(&mut self, xid: u32) -> bool {
        self.unclear.remove(&xid)
    }

    /// The only request that an RDMA_ERROR with another XID can be for, if there is one; it then counts as answered.
    pub(super) fn take_misnamed(&mut self, error: ErrorBody) -> Option<Faulty> {
        let all: Vec<Faulty> =
            self.faulty().filter(|(_, due)| *due == reaction(error)).map(|(faulty, _)| faulty).collect();
        let [faulty] = all[..] else { return None };
        self.answer(faulty.about.xid?, Some(error));
        Some(faulty)
    }

    /// The answers that were due and did not come.
    pub(super) fn into_due(self) -> impl Iterator<Item = (Faulty, Reaction)> {
        let sends = self.waiting.into_values().flat_map(|waiting| waiting.sends);
        sends.filter_map(|send| match send {
            Request::Faulty(faulty, due @ (Reaction::ErrChunk | Reaction::ErrVers)) => Some((faulty, due)),
            Request::Faulty(_, Reaction::Discard) | Request::Call(_) => None,
        })
    }
}

impl Unanswered {
    /// Takes what an answer is for from what waits: a reply is for a call, if one waits; an RDMA_ERROR may refuse
    /// either.
    fn answer(&mut self, refusal: Option<Reaction>) -> Answers {
        let is_due = |send: &Request| matches!(send, Request::Faulty(_, due) if refusal == Some(*due));
        let call = self.sends.iter().position(|send| matches!(send, Request::Call(_)));
        let faulty = self.sends.iter().position(|send| matches!(send, Request::Faulty(..)));
        let due = self.sends.iter().position(is_due);
        match (call, faulty) {
            (Some(call), None) => self.take(call),
            (Some(call), Some(_)) if refusal.is_none() => {
                self.call_answered = true;
                self.take(call)
            }
            (Some(call), Some(_)) => {
                self.call_answered = true;
                self.take(due.unwrap_or(call));
                Answers::Unclear
            }
            // It may be the reply to the call, late or repeated.
            (None, Some(_)) if refusal.is_none() && self.call_answered => Answers::Unclear,
            (None, Some(faulty)) => self.take(due.unwrap_or(faulty)),
            (None, None) if self.beyond > 0 => {
                self.beyond -= 1;
                Answers::Unclear
            }
            (None, None) => Answers::Nothing,
        }
    }

    fn take(&mut self, place: usize) -> Answers {
        match self.sends.remove(place) {
            // It is not known which of the two the reply is for, and whose chunks it returns.
            Request::Call(None) if self.readable > 1 => Answers::Copy,
            Request::Call(_) if self.readable > 1 => Answers::Unclear,
            Request::Call(faulty) => Answers::Call(faulty),
            Request::Faulty(faulty, due) => Answers::Faulty(faulty, due),
        }
    }
}

/// How a responder refuses a request that it cannot read.
const fn reaction(error: ErrorBody) -> Reaction {
    match error {
        ErrorBody::Chunk => Reaction::ErrChunk,
        ErrorBody::Vers { .. } => Reaction::ErrVers,
    }
}

/// Judges an answer, which says `error` if it is one, by what it is for. Its findings rest on no call with its XID
/// being missing.
pub(super) fn judge(answers: Answers, error: Option<ErrorBody>, about: About, book: &mut Book) -> Option<Found> {
    let name = error.map_or("a reply", |error| error.name());
    let say = |severity, message: core::fmt::Arguments<'_>| {
        let finding = Finding { rule: &ANSWER, severity, offset: 12, message };
        Some(Found::new(about, &finding, Some(12)))
    };
    match answers {
        Answers::Faulty(faulty, Reaction::Discard) => {
            let (frame, slug, octets) = (faulty.about.stamp.frame, faulty.rule.slug, faulty.octets);
            let message =
                format_args!("{name} answers frame {frame} of {octets} octets ({slug}), which has to be dropped");
            say(severity(faulty.rule), message)
        }
        Answers::Faulty(faulty, due) if error.map(reaction) != Some(due) => {
            let (frame, slug) = (faulty.about.stamp.frame, faulty.rule.slug);
            say(severity(faulty.rule), format_args!("{name} answers frame {frame} ({slug}); {due} should"))
        }
        // RFC 8166 section 4.5.2 asks for ERR_CHUNK, but section 4.2.1 has the XID of the RPC message ignored.
        Answers::Call(Some(faulty)) if faulty.rule.slug == "xid-mismatch" && error.is_none() => {
            let frame = faulty.about.stamp.frame;
            let message = format_args!("a reply answers frame {frame} (xid-mismatch); other responders send ERR_CHUNK");
            say(Severity::Hazard, message)
        }
        Answers::Unclear => {
            book.unknown(&ANSWER);
            None
        }
        Answers::Faulty(..) | Answers::Call(_) | Answers::Copy | Answers::Nothing => None,
    }
}

/// How bad it is to answer otherwise than the rule says.
pub(super) fn severity(rule: &Rule) -> Severity {
    // RFC 8166 section 4.6.1 says SHOULD.
    if rule.slug == "msgp-sent" { Severity::Warning } else { Severity::Error }
}
