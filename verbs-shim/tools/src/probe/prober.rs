//! Sends the message of a case, and determines the outcome.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma_verbs::{Error, Verbs};

use super::case::{Calls, Case, Opening, Outcome, USUAL, Verdict};
use super::judge::{Faults, Question};
use super::memory::Withdrawn;
use super::report::Judgement;
use super::reverse::{self, ReverseCase, ServerReaction};
use super::services::{self, ServiceCase};
use super::session::{Session, word};
use super::suite::Suite;
use crate::raw::Arrival;

/// Kinds of cases.
#[derive(Clone, Copy)]
pub(super) enum Test<'a> {
    /// Its message.
    Message,
    /// A call whose results are compared with another call.
    Service(&'a ServiceCase),
    /// Such a call, with the word at this Position in a Read chunk.
    Position(&'a ServiceCase, usize),
    /// A Call of the responder, which is answered with the message.
    Reverse(&'a ReverseCase),
}

/// Examiner of a responder.
pub(super) struct Prober<'a, V: Verbs> {
    verbs: &'a V,
    to: SocketAddr,
    pub(super) suite: &'a Suite,
    /// The first XID of the last connection.
    xid: Cell<u32>,
}

impl<'a, V: Verbs> Prober<'a, V> {
    pub(super) const fn new(verbs: &'a V, to: SocketAddr, suite: &'a Suite) -> Self {
        Self { verbs, to, suite, xid: Cell::new(0x7b0b_0001) }
    }

    /// Opens a connection with the usual private data, in the usual way.
    pub(super) fn open(&self) -> Result<Session<'a, V>, Error> {
        self.open_with(&USUAL, Opening::Usual)
    }

    fn open_with(&self, private_data: &[u8], opening: Opening) -> Result<Session<'a, V>, Error> {
        /// Distance between the XIDs of two connections: more than the calls of a connection need.
        const BETWEEN_CONNECTIONS: u32 = 0x1_0000;
        let first_xid = self.xid.get().wrapping_add(BETWEEN_CONNECTIONS);
        self.xid.set(first_xid);
        Session::open(self.verbs, self.to, self.suite, first_xid, private_data, opening)
    }

    /// Returns true if the responder answers a call of NULL on a new connection.
    pub(super) fn is_alive(&self) -> Result<bool, Error> {
        self.open()?.answers(&mut Vec::new())
    }

    fn connect_and_ask(&self, case: &Case, test: Test<'_>, faults: &mut Faults) -> Result<Asked, Error> {
        match self.open_with(case.private_data, case.opening) {
            Ok(session) => self.ask(session, case, test, faults),
            Err(Error::Rejected(_) | Error::Refused | Error::Unreachable | Error::Disconnected) => {
                Ok(Asked::Answered(Observation { outcome: Outcome::Refusal, answers_on: false }))
            }
            Err(error) => Err(error),
        }
    }

    /// Tries a case at each Position. Returns the outcomes with their counts, and if the responder still answers.
    fn everywhere(&self, service: &ServiceCase, faults: &mut Faults) -> Result<CaseSummary, Error> {
        let mut counts = BTreeMap::new();
        for position in (4..).step_by(4) {
            match self.connect_and_ask(&service.case, Test::Position(service, position), faults)? {
                Asked::PastTheEnd => break,
                Asked::Not(why) => return Ok(CaseSummary::not_judged(why)),
                Asked::Answered(Observation { outcome, answers_on }) => {
                    *counts.entry(outcome.to_string()).or_insert(0) += 1;
                    if !answers_on && !self.is_alive().unwrap_or(false) {
                        let what = format!("{outcome} at Position {position}");
                        return Ok(CaseSummary { answers_on: false, ..CaseSummary::not_judged(what) });
                    }
                }
            }
        }
        let counts: Vec<String> =
            counts.into_iter().map(|(outcome, count): (_, u32)| format!("{count} {outcome}")).collect();
        Ok(CaseSummary::not_judged(counts.join(", ")))
    }

    pub(super) fn examine(&self, case: &Case, test: Test<'_>) -> Result<Judgement, Error> {
        let mut faults = Faults::default();
        let CaseSummary { what, verdict, answers_on } = match test {
            Test::Service(service) if service.everywhere => self.everywhere(service, &mut faults)?,
            test => match self.connect_and_ask(case, test, &mut faults)? {
                Asked::Answered(Observation { outcome, answers_on }) => {
                    CaseSummary { what: outcome.to_string(), verdict: case.verdict(outcome), answers_on }
                }
                Asked::Not(why) => CaseSummary::not_judged(why),
                Asked::PastTheEnd => CaseSummary::not_judged(String::new()),
            },
        };
        let alive_after = answers_on || self.is_alive().unwrap_or(false);
        if !alive_after {
            faults.add_fault(Verdict::Violates, "answers no more");
        }
        let observed = [what.as_str()].into_iter().chain(faults.names()).collect::<Vec<_>>().join("; ");
        let Case { name, about, .. } = *case;
        let (rule, section) = (about.rule, about.source());
        let verdict = faults.worst(verdict);
        Ok(Judgement { case: name, rule, section, expected: case.expected(), observed, verdict, alive_after })
    }

    /// Sends the message of the case. Returns the outcome.
    fn ask(
        &self,
        mut session: Session<'a, V>,
        case: &Case,
        test: Test<'_>,
        faults: &mut Faults,
    ) -> Result<Asked, Error> {
        if case.opening == Opening::Usual && !session.answers(&mut Vec::new())? {
            return Ok(Asked::Answered(Observation { outcome: nothing(&session), answers_on: false }));
        }
        let may_invalidate = invalidates(case.private_data) && invalidates(session.private_data());
        if may_invalidate && !self.verbs.remote_invalidation() {
            return Ok(Asked::not("this adapter's memory cannot be invalidated"));
        }
        if let Some(calls) = case.calls {
            let Some(messages) = session.nulls(calls) else {
                return Ok(Asked::not("more credits are granted than there are receives"));
            };
            let Observation { outcome, answers_on } = self.call_at_once(session, &messages, faults)?;
            // A responder that has answered the first before the last has come is not asked for too much.
            let depends = calls == Calls::OneTooMany && matches!(outcome, Outcome::Reply | Outcome::Disconnect);
            let outcome = if depends { Outcome::ReplyOrDisconnect } else { outcome };
            return Ok(Asked::Answered(Observation { outcome, answers_on }));
        }
        let (service, position) = match test {
            Test::Reverse(reversed) => return self.answer(session, reversed, faults),
            Test::Message => (None, None),
            Test::Service(service) => (Some(service), None),
            Test::Position(service, position) => (Some(service), Some(position)),
        };
        let plain = match service.map(|service| services::plain(&mut session, service, self.suite)).transpose()? {
            None => None,
            Some(Ok(plain)) => service.zip(Some(plain)),
            Some(Err(why)) => return Ok(Asked::Not(why)),
        };
        if let (Some((_, plain)), Some(position)) = (&plain, position)
            && position >= plain.length()
        {
            return Ok(Asked::PastTheEnd);
        }
        let xid = session.fresh_xid();
        let messages = match &plain {
            None => session.compose(case.send, xid)?,
            Some((service, plain)) => vec![services::compose(&mut session, service, xid, plain, position)?],
        };
        let message = messages.last().map_or(&[][..], Vec::as_slice);
        // Messages that belong to no RPC have another XID.
        let xid = word(message, 0).unwrap_or(xid);
        let tells_garbage = case.tells_garbage();
        let question = Question { version: case.version, xid, message, may_invalidate, tells_garbage };
        for message in &messages {
            session.send(message.clone())?;
        }
        // A required answer may take longer than the time that proves silence.
        let wait = if case.may_be_silent() { self.suite.silence } else { 4 * self.suite.silence };
        let mut came: Vec<_> = session.next_arrival(wait)?.into_iter().collect();
        let answers_on = session.answers(&mut came)?;
        let mut outcomes = came.iter().map(|answer| question.outcome(answer, faults)).collect::<Vec<_>>().into_iter();
        let outcome = outcomes.next().unwrap_or_else(|| nothing(&session));
        if outcomes.next().is_some() {
            faults.add_fault(Verdict::Violates, "answered twice");
        }
        let areas = self.withdraw(&mut session, faults)?;
        if let (Some((service, plain)), Verdict::Conforms, Some(reply)) = (&plain, case.verdict(outcome), came.first())
        {
            plain.compare(service, &reply.octets, &areas, faults);
        }
        // Results are compared even if the outcome is not judged: a difference is then no fault.
        if let (Some((service, plain)), Some(_), Outcome::Reply, Some(reply)) =
            (&plain, position, outcome, came.first())
        {
            let mut differences = Faults::default();
            plain.compare(service, &reply.octets, &areas, &mut differences);
            if differences.names().next().is_some() {
                return Ok(Asked::Answered(Observation { outcome: Outcome::OtherReply, answers_on }));
            }
        }
        Ok(Asked::Answered(Observation { outcome, answers_on }))
    }

    /// Answers a Call of the responder with the message of the case.
    fn answer(&self, mut session: Session<'a, V>, reversed: &ReverseCase, faults: &mut Faults) -> Result<Asked, Error> {
        let mut other = self.open()?;
        if !other.answers(&mut Vec::new())? {
            return Ok(Asked::not("a second connection is of no use"));
        }
        let observed = reverse::observe(&mut session, &mut other, reversed, self.suite, faults)?;
        self.withdraw(&mut session, faults)?;
        Ok(match observed {
            Ok(ServerReaction { outcome, answers_on }) => {
                Asked::Answered(Observation { outcome: outcome.unwrap_or_else(|| nothing(&session)), answers_on })
            }
            Err(why) => Asked::not(why),
        })
    }

    /// Makes these calls simultaneously. The outcome is a reply if each is answered with one.
    fn call_at_once(
        &self,
        mut session: Session<'a, V>,
        messages: &[Vec<u8>],
        faults: &mut Faults,
    ) -> Result<Observation, Error> {
        for message in messages {
            session.send(message.clone())?;
        }
        let mut came = Vec::new();
        while came.len() < messages.len()
            && let Some(arrival) = session.next_arrival(self.suite.patience)?
        {
            came.push(arrival);
        }
        let answers_on = session.answers(&mut came)?;
        let mut outcome = Outcome::Reply;
        for message in messages {
            let xid = word(message, 0).unwrap_or(0);
            let (version, may_invalidate, tells_garbage) = (self.suite.version, false, false);
            let question = Question { version, xid, message, may_invalidate, tells_garbage };
            let is_its = |arrival: &&Arrival| word(&arrival.octets, 0) == Some(xid);
            let answers: Vec<_> = came.iter().filter(is_its).collect();
            if answers.len() > 1 {
                faults.add_fault(Verdict::Violates, "answered twice");
            }
            let made = answers.first().map_or_else(|| nothing(&session), |answer| question.outcome(answer, faults));
            if outcome == Outcome::Reply {
                outcome = made;
            }
        }
        Ok(Observation { outcome, answers_on })
    }

    /// Withdraws all memory, and checks that the surrounding octets are unchanged.
    fn withdraw(&self, session: &mut Session<'a, V>, faults: &mut Faults) -> Result<Vec<Withdrawn>, Error> {
        let areas = std::mem::take(&mut session.areas).into_iter().map(|area| area.withdraw(self.verbs));
        let areas = areas.collect::<Result<Vec<_>, _>>()?;
        if areas.iter().any(|area| area.overrun) {
            faults.add_fault(Verdict::Violates, "rdma-write-bounds");
        }
        Ok(areas)
    }
}

/// Reaction of a responder to the message of a case.
struct Observation {
    outcome: Outcome,
    /// True if the connection can still be used.
    answers_on: bool,
}

/// Report of a case.
struct CaseSummary {
    what: String,
    verdict: Verdict,
    /// True if the connection can still be used.
    answers_on: bool,
}

impl CaseSummary {
    const fn not_judged(what: String) -> Self {
        Self { what, verdict: Verdict::NotJudged, answers_on: true }
    }
}

/// Outcome of sending the message of a case.
enum Asked {
    Answered(Observation),
    /// The message could not be sent, for this reason.
    Not(String),
    /// There is no such Position.
    PastTheEnd,
}

impl Asked {
    fn not(why: &str) -> Self {
        Self::Not(why.to_owned())
    }
}

/// Returns the outcome if there was no answer.
fn nothing<V: Verbs>(session: &Session<'_, V>) -> Outcome {
    if session.is_over() { Outcome::Disconnect } else { Outcome::Silence }
}

/// Returns true if private data announces support of remote invalidation.
fn invalidates(private_data: &[u8]) -> bool {
    PrivateData::find(private_data).is_some_and(|data| data.flags.contains(Flags::REMOTE_INVALIDATION))
}
