//! What `rpcrdma-probe` does: it sends a responder whatever a requester can send, in order or not, and judges what the
//! responder makes of it.
//!
//! Each case has a connection of its own. First a call of NULL is made, which gives the requester its credits. Then the
//! message of the case is sent, with memory advertised where it needs some, and with octets around that memory that
//! nobody may change. What comes back, or that nothing does, is compared with what the specification asks for; replies
//! are also judged by the rules of [`rpcrdma::rules`]. At the end another call of NULL shows that the responder is
//! still there: on this connection, or, if the responder has ended it, on another one.
//!
//! It runs over every provider, including the loopback:
//!
//! ```
//! use std::thread;
//!
//! use rpcrdma_tools::echo::programs;
//! use rpcrdma_tools::probe::{self, Suite};
//! use rpcrdma_verbs::loopback::Fabric;
//! use rpcrdma_verbs::{Server, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fabric = Fabric::new();
//! let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
//! let address = "192.0.2.2:20049".parse()?;
//! let server = Server::bind(&there, address, Settings::server())?;
//! let stop = server.stopper();
//! let served = thread::spawn(move || server.serve(&programs()));
//!
//! let suite = Suite { only: Some("nomsg-empty".to_owned()), ..Suite::echo() };
//! let mut table = Vec::new();
//! let totals = probe::run(&here, address, &suite, &mut table)?;
//! assert_eq!((totals.conforms, totals.violates), (1, 0));
//!
//! stop.stop();
//! served.join().unwrap()?;
//! # Ok(())
//! # }
//! ```

mod case;
mod cases;
mod fuzz;
mod judge;
mod memory;
mod report;
mod services;
mod session;

use std::cell::Cell;
use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma_verbs::{Error, Verbs, Version};

pub use case::Verdict;
pub use fuzz::{Bounds, Fuzzed, Recipe, fuzz, replay};
pub use report::{Form, Judgement, Totals};

use crate::echo;
use case::{Case, Outcome, USUAL};
use judge::{Faults, Question};
use memory::Withdrawn;
use services::ServiceCase;
use session::Session;

/// What to try, and on whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The program whose NULL procedure is called.
    pub program: u32,
    /// Its version.
    pub program_version: u32,
    /// The version of RPC-over-RDMA.
    pub version: Version,
    /// How long a connection and a reply may take.
    pub patience: Duration,
    /// When nothing has come for so long, nothing will.
    pub silence: Duration,
    /// Only the cases with this name or of this rule.
    pub only: Option<String>,
    /// How the verdicts are printed.
    pub form: Form,
    /// The name of a file of 60 octets or more in the root of NFSv4, to read.
    pub file: Option<String>,
    /// The name of a symbolic link there.
    pub link: Option<String>,
}

impl Suite {
    /// All cases of version 1 on NULL of NFSv4.
    #[must_use]
    pub const fn nfs() -> Self {
        Self {
            program: 100_003,
            program_version: 4,
            version: Version::One,
            patience: Duration::from_secs(10),
            silence: Duration::from_millis(500),
            only: None,
            form: Form::Table,
            file: None,
            link: None,
        }
    }

    /// The same on NULL of the [echo program](echo).
    #[must_use]
    pub fn echo() -> Self {
        Self { program: echo::PROGRAM, program_version: echo::VERSION, ..Self::nfs() }
    }

    fn has(&self, case: &Case) -> bool {
        self.only.as_deref().is_none_or(|only| only == case.name || only == case.rule)
    }
}

/// Why nothing could be judged.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProbeError {
    /// The adapter or the connection failed, and not because of a case.
    Verbs(Error),
    /// The responder does not answer the NULL procedure that cases are made of.
    NoService,
    /// There is no such case.
    NoCase(String),
    /// A message to replay is of this version of RPC-over-RDMA, and another is to be probed.
    OtherVersion(String),
    /// A file has no message to replay.
    Recipe(String),
    /// A file could not be read or written, or the output.
    Output(io::Error),
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verbs(error) => error.fmt(f),
            Self::NoService => f.write_str("it does not answer a call of NULL: see --program and --rpcrdma-version"),
            Self::NoCase(name) => write!(f, "there is no case and no rule {name}"),
            Self::OtherVersion(version) => write!(f, "the message is one of version {version}: see --rpcrdma-version"),
            Self::Output(error) => error.fmt(f),
            Self::Recipe(error) => write!(f, "not a message that --fuzz has saved: {error}"),
        }
    }
}

impl std::error::Error for ProbeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Verbs(error) => Some(error),
            Self::Output(error) => Some(error),
            Self::NoService | Self::NoCase(_) | Self::OtherVersion(_) | Self::Recipe(_) => None,
        }
    }
}

impl From<Error> for ProbeError {
    fn from(error: Error) -> Self {
        Self::Verbs(error)
    }
}

impl From<io::Error> for ProbeError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Runs all cases of the suite, and writes the verdicts as they come.
///
/// # Errors
/// Those of [`ProbeError`]. That a responder does something wrong is none.
pub fn run<V: Verbs>(verbs: &V, to: SocketAddr, suite: &Suite, out: &mut impl Write) -> Result<Totals, ProbeError> {
    let cases: Vec<&Case> = cases::all(suite.version).filter(|case| suite.has(case)).collect();
    let services = services::CASES.iter().filter(|service| services::apply(suite) && suite.has(&service.case));
    let services: Vec<&ServiceCase> = services.collect();
    if let ([], [], Some(only)) = (cases.as_slice(), services.as_slice(), &suite.only) {
        return Err(ProbeError::NoCase(only.clone()));
    }
    let prober = Prober::new(verbs, to, suite);
    if !prober.is_alive()? {
        return Err(ProbeError::NoService);
    }
    let mut totals = Totals::default();
    report::heading(suite.form, out)?;
    let judged = cases.into_iter().map(|case| prober.examine(case, Test::Message));
    let judged =
        judged.chain(services.into_iter().map(|service| prober.examine(&service.case, Test::Service(service))));
    for judged in judged {
        let judged = judged?;
        totals.count(judged.verdict);
        report::judgement(suite.form, to, &judged, out)?;
        out.flush()?;
    }
    report::totals(suite.form, to, suite.version.to_string(), totals, out)?;
    Ok(totals)
}

/// What a case consists of.
#[derive(Clone, Copy)]
enum Test<'a> {
    /// Its message.
    Message,
    /// A call whose results are compared with those of another call.
    Service(&'a ServiceCase),
}

/// Who examines a responder.
struct Prober<'a, V: Verbs> {
    verbs: &'a V,
    to: SocketAddr,
    suite: &'a Suite,
    /// The first XID of the last connection.
    xid: Cell<u32>,
}

impl<'a, V: Verbs> Prober<'a, V> {
    const fn new(verbs: &'a V, to: SocketAddr, suite: &'a Suite) -> Self {
        Self { verbs, to, suite, xid: Cell::new(0x7b0b_0001) }
    }

    fn open(&self, private_data: &[u8]) -> Result<Session<'a, V>, Error> {
        /// Far enough from each other for all calls of a connection.
        const BETWEEN_CONNECTIONS: u32 = 0x1_0000;
        let first_xid = self.xid.get().wrapping_add(BETWEEN_CONNECTIONS);
        self.xid.set(first_xid);
        Session::open(self.verbs, self.to, self.suite, first_xid, private_data)
    }

    /// Whether the responder answers a call of NULL on a new connection.
    fn is_alive(&self) -> Result<bool, Error> {
        self.open(&USUAL)?.answers(&mut Vec::new())
    }

    fn examine(&self, case: &Case, test: Test<'_>) -> Result<Judgement, Error> {
        let mut faults = Faults::default();
        let asked = match self.open(case.private_data) {
            Ok(session) => self.ask(session, case, test, &mut faults)?,
            Err(Error::Rejected(_) | Error::Refused | Error::Unreachable | Error::Disconnected) => {
                Asked::Answered(Outcome::Refusal, false)
            }
            Err(error) => return Err(error),
        };
        let (what, verdict, answers_on) = match asked {
            Asked::Answered(outcome, answers_on) => (outcome.to_string(), case.verdict(outcome), answers_on),
            Asked::Not(why) => (why.to_owned(), Verdict::NotJudged, true),
        };
        let alive_after = answers_on || self.is_alive().unwrap_or(false);
        if !alive_after {
            faults.add(Verdict::Violates, "answers no more");
        }
        let observed = [what.as_str()].into_iter().chain(faults.names()).collect::<Vec<_>>().join("; ");
        let Case { name, rule, section, .. } = *case;
        let verdict = faults.worst(verdict);
        Ok(Judgement { case: name, rule, section, expected: case.expected(), observed, verdict, alive_after })
    }

    /// Sends the message of the case; returns what became of it.
    fn ask(
        &self,
        mut session: Session<'a, V>,
        case: &Case,
        test: Test<'_>,
        faults: &mut Faults,
    ) -> Result<Asked, Error> {
        if !session.answers(&mut Vec::new())? {
            return Ok(Asked::Answered(nothing(&session), false));
        }
        let may_invalidate = invalidates(case.private_data) && invalidates(session.private_data());
        if may_invalidate && !self.verbs.remote_invalidation() {
            return Ok(Asked::Not("this adapter's memory cannot be invalidated"));
        }
        let plain = match test {
            Test::Message => None,
            Test::Service(service) => match self.plain(&mut session, service)? {
                Ok(plain) => Some((service, plain)),
                Err(why) => return Ok(Asked::Not(why)),
            },
        };
        let xid = session.fresh_xid();
        let message = match &plain {
            None => session.compose(case.send, xid)?,
            Some((service, plain)) => Self::compose_service(&mut session, service, xid, &plain.arguments)?,
        };
        let question = Question { version: case.version, xid, message: &message, may_invalidate };
        session.send(message.clone())?;
        // Where something has to come, it may take longer than what shows that nothing does.
        let wait = if case.may_be_silent() { self.suite.silence } else { 4 * self.suite.silence };
        let mut came: Vec<_> = session.next(wait)?.into_iter().collect();
        let answers_on = session.answers(&mut came)?;
        let mut outcomes = came.iter().map(|answer| question.outcome(answer, faults)).collect::<Vec<_>>().into_iter();
        let outcome = outcomes.next().unwrap_or_else(|| nothing(&session));
        if outcomes.next().is_some() {
            faults.add(Verdict::Violates, "answered twice");
        }
        let areas = self.withdraw(&mut session, faults)?;
        if let (Some((service, plain)), Verdict::Conforms, Some(reply)) = (&plain, case.verdict(outcome), came.first())
        {
            plain.compare(service, &reply.octets, &areas, faults);
        }
        Ok(Asked::Answered(outcome, answers_on))
    }

    /// Withdraws all memory, and looks whether octets beside it were changed.
    fn withdraw(&self, session: &mut Session<'a, V>, faults: &mut Faults) -> Result<Vec<Withdrawn>, Error> {
        let areas = std::mem::take(&mut session.areas).into_iter().map(|area| area.withdraw(self.verbs));
        let areas = areas.collect::<Result<Vec<_>, _>>()?;
        if areas.iter().any(|area| area.overrun) {
            faults.add(Verdict::Violates, "rdma-write-bounds");
        }
        Ok(areas)
    }
}

/// What became of the message of a case.
enum Asked {
    /// This, and whether the connection is still of use.
    Answered(Outcome, bool),
    /// It could not be sent, for this reason.
    Not(&'static str),
}

/// What it means that nothing has come.
fn nothing<V: Verbs>(session: &Session<'_, V>) -> Outcome {
    if session.is_over() { Outcome::Disconnect } else { Outcome::Silence }
}

/// Whether private data announces support of remote invalidation.
fn invalidates(private_data: &[u8]) -> bool {
    PrivateData::find(private_data).is_some_and(|data| data.flags.contains(Flags::REMOTE_INVALIDATION))
}
