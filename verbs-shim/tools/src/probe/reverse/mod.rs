//! Examines a responder as the requester of the reverse direction (RFC 8167): an NFS server recalls delegations by
//! Calls on the client's connection (RFC 8881 section 20.2).
//!
//! The client of a case has the read delegations of two files. When the first is recalled, the client judges the Call,
//! and sends the message of the case instead of the reply. Then the second is recalled, to see if the server calls
//! again. Another connection makes the server recall both, because the first connection may be over, and returns the
//! delegations in the end.

mod cases;
mod nfs41;

use std::thread;
use std::time::Instant;

use rpcrdma::rpc::{MessageType, RpcCall};
use rpcrdma_verbs::{Error, Verbs};

use super::case::{Case, Outcome, Piece, Verdict};
use super::judge::Faults;
use super::services;
use super::services::calls::{PAUSE, inline};
use super::session::{Session, octets, word};
use super::suite::Suite;
use crate::raw::Arrival;
use nfs41::Nfs41;

/// A case of the reverse direction.
pub(super) struct ReverseCase {
    /// The message answers the Call of the server.
    pub(super) case: Case,
    /// The client has asked for Calls.
    has_backchannel: bool,
}

/// Returns all cases that can be tried.
pub(super) fn reverse_cases(suite: &Suite) -> impl Iterator<Item = &'static ReverseCase> + Clone + use<> {
    let apply = services::apply(suite);
    cases::CASES.iter().filter(move |_| apply)
}

/// Reaction of a server.
pub(super) struct ServerReaction {
    pub(super) outcome: Option<Outcome>,
    /// True if the connection can still be used.
    pub(super) answers_on: bool,
}

/// The reaction of the server, or the reason why there is nothing to judge.
type Observed = Result<ServerReaction, &'static str>;

/// A recall, as the client answers one.
struct RecallCall {
    xid: u32,
    /// The right reply, from the second word on.
    reply: Vec<u8>,
}

/// Makes the server call on the first connection, answers, and observes the reaction.
pub(super) fn observe<'a, V: Verbs>(
    session: &mut Session<'a, V>,
    other: &mut Session<'a, V>,
    reversed: &ReverseCase,
    suite: &Suite,
    faults: &mut Faults,
) -> Result<Observed, Error> {
    let Some(names) = &suite.delegate else { return Ok(Err("--delegate is not given")) };
    let client = match Nfs41::new(session, reversed.has_backchannel)? {
        Ok(client) => client,
        Err(why) => return Ok(Err(why)),
    };
    let mut trial = Trial { session, other, suite, client, files: Vec::new() };
    let observed = match trial.prepare(names, reversed.has_backchannel)? {
        Ok(()) => trial.run(reversed, faults)?,
        Err(why) => Err(why),
    };
    if !trial.clean_up()? {
        faults.add_fault(Verdict::NotJudged, "a file is left");
    }
    Ok(observed)
}

/// A file that was created for a case.
struct File {
    name: String,
    /// The stateid of the delegation.
    delegation: Option<Vec<u8>>,
    is_gone: bool,
}

/// Files of which a case has delegations.
const FILES: usize = 2;
/// Maximum number of files created for that. Linux remembers the handles of files that were recalled in the last
/// minute, in a Bloom filter, and delegates no file that is in the filter, or only seems to be.
const MOST_FILES: usize = 6;

/// State of a running case.
struct Trial<'t, 'a, V: Verbs> {
    session: &'t mut Session<'a, V>,
    other: &'t mut Session<'a, V>,
    suite: &'t Suite,
    client: Nfs41,
    files: Vec<File>,
}

impl<V: Verbs> Trial<'_, '_, V> {
    /// Creates and opens files, until two are delegated.
    fn prepare(&mut self, names: &str, has_backchannel: bool) -> Result<Result<(), &'static str>, Error> {
        let until = Instant::now() + self.suite.patience;
        let most = if has_backchannel { MOST_FILES } else { FILES };
        for _ in 0..most {
            let name = format!("{names}.{:016x}", u64::from_be_bytes(nfs41::unique()));
            match self.client.delegated(self.session, &name, until)? {
                Ok(delegation) => self.files.push(File { name, delegation, is_gone: false }),
                Err(why) => return Ok(Err(why)),
            }
            if self.delegated() == FILES {
                break;
            }
        }
        self.files.sort_by_key(|file| file.delegation.is_none());
        Ok(if self.delegated() == FILES || !has_backchannel { Ok(()) } else { Err("no delegation is granted") })
    }

    /// Number of files that are delegated.
    fn delegated(&self) -> usize {
        self.files.iter().filter(|file| file.delegation.is_some()).count()
    }

    /// Tries to remove one of the files, which makes the server recall the delegation.
    fn recall(&mut self, file: usize) -> Result<(), Error> {
        let Some(file) = self.files.get_mut(file) else { return Ok(()) };
        file.is_gone = nfs41::remove(self.other, &file.name)?;
        Ok(())
    }

    fn run(&mut self, reversed: &ReverseCase, faults: &mut Faults) -> Result<Observed, Error> {
        let case = &reversed.case;
        self.recall(0)?;
        if reversed.has_backchannel {
            let Some(RecallCall { xid, reply }) = self.recalled(faults)? else {
                return Ok(Err("no backward Call came"));
            };
            self.session.reply = reply;
            for message in self.session.compose(case.send, xid)?.into_iter().filter(|message| !message.is_empty()) {
                self.session.send(message)?;
            }
            self.recall(1)?;
            return self.watch(xid, case.send.contains(&Piece::Null), faults).map(Ok);
        }
        self.watch(0, false, faults).map(Ok)
    }

    /// Returns the XID of a recall, and the right reply. Earlier calls of NULL are answered.
    fn recalled(&mut self, faults: &mut Faults) -> Result<Option<RecallCall>, Error> {
        let until = Instant::now() + 4 * self.suite.silence;
        while let Some(arrival) = self.session.next_until(until)? {
            // The server has nothing to answer, so any message should be a Call.
            faults.judge_call(&arrival);
            let Some((call, reply)) = answered(&arrival, faults) else { continue };
            if call.procedure != 0 {
                return Ok(Some(RecallCall { xid: call.xid, reply }));
            }
            // One credit, as before.
            let xid = call.xid;
            self.session.send([octets(&[xid, 1, 1, 0, 0, 0, 0, xid]), reply].concat())?;
        }
        Ok(None)
    }

    /// Observes the server's next action about the Call with this XID, or otherwise; returns true if the server still
    /// answers.
    fn watch(&mut self, xid: u32, is_called: bool, faults: &mut Faults) -> Result<ServerReaction, Error> {
        let until = Instant::now() + 4 * self.suite.silence;
        let mut came = Vec::new();
        while !came.iter().any(is_call)
            && let Some(arrival) = self.session.next_until(until)?
        {
            came.push(arrival);
        }
        let answers_on = self.session.answers(&mut came)?;
        came.iter().filter(|arrival| is_call(arrival)).for_each(|call| faults.judge_call(call));
        let mut outcomes: Vec<Outcome> = came.iter().map(|arrival| outcome(arrival, xid)).collect();
        if is_called {
            match outcomes.iter().position(|outcome| *outcome == Outcome::Reply) {
                Some(reply) => drop(outcomes.remove(reply)),
                None => faults.add_fault(Verdict::Violates, "NULL is not answered"),
            }
        }
        let is_call = |outcome: &Outcome| matches!(outcome, Outcome::NextCall | Outcome::Retry);
        // A message that is no Call should not come at all.
        let wrong = outcomes.iter().find(|outcome| !is_call(outcome)).copied();
        let outcome = wrong.or_else(|| outcomes.first().copied().filter(|_| !self.session.is_over()));
        Ok(ServerReaction { outcome, answers_on })
    }

    /// Returns the delegations, and removes the files. Returns true if the files are gone.
    fn clean_up(&mut self) -> Result<bool, Error> {
        let until = Instant::now() + self.suite.patience;
        for file in self.files.iter().filter(|file| !file.is_gone) {
            if let Some(stateid) = &file.delegation {
                self.client.give_back(self.other, &file.name, stateid)?;
            }
            while !nfs41::remove(self.other, &file.name)? {
                if Instant::now() >= until || self.other.is_over() {
                    return Ok(false);
                }
                thread::sleep(PAUSE);
            }
        }
        Ok(true)
    }
}

/// Returns true if a message is a Call. One that does not come in the Send is: only the Responder of a Long Call offers
/// memory.
fn is_call(arrival: &Arrival) -> bool {
    match word(&arrival.octets, 3) {
        Some(0) => inline(&arrival.octets).and_then(MessageType::peek).is_some_and(|(_, of)| of == MessageType::CALL),
        other => other == Some(1),
    }
}

/// Returns a Call and the right reply, from the second word on. `None` for a Call other than NULL and a recall.
fn answered<'a>(arrival: &'a Arrival, faults: &mut Faults) -> Option<(RpcCall<'a>, Vec<u8>)> {
    let (call, arguments) = RpcCall::decode(inline(&arrival.octets)?).ok()?;
    if !nfs41::is_asked_for(&call) {
        faults.add_fault(Verdict::Violates, "a Call of another program");
    }
    nfs41::reply_to(&call, arguments).map(|reply| (call, reply))
}

/// Returns the outcome of a message of the server while the Call with this XID is outstanding.
fn outcome(arrival: &Arrival, xid: u32) -> Outcome {
    let octets = &arrival.octets;
    match (word(octets, 3), word(octets, 4)) {
        (Some(4), Some(1)) => Outcome::ErrVers,
        (Some(4), Some(2)) => Outcome::ErrChunk,
        _ if is_call(arrival) => {
            if word(octets, 0) == Some(xid) {
                Outcome::Retry
            } else {
                Outcome::NextCall
            }
        }
        (Some(0), _) if word(octets, 0) == Some(xid) => Outcome::Reply,
        _ => Outcome::Other,
    }
}
