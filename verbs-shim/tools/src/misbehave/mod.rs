//! `rpcrdma-serve --misbehave`: the mirror image of the probe. Answers the calls of requesters, one reply with a chosen
//! defect after the other, and judges the reaction of each requester.
//!
//! The answered programs are NULL of any program, the [echo program](crate::echo), and NFSv3 of [a folder](crate::nfs);
//! in version 1, and without reading Read chunks. Each defect is used once: each waits for a call with a suitable
//! reply, such as a call with a Write chunk, and until then, calls are answered correctly. Afterwards nothing is
//! answered until the requester has reacted, or for some time. So a requester should make one call at a time: any other
//! message looks like the next call.
//!
//! Results that a requester passes to an application do not show here. If that would decide, the defect is not judged.
//!
//! The module runs over every provider:
//!
//! ```
//! use std::thread;
//! use std::time::Duration;
//!
//! use rpcrdma_tools::misbehave::{self, Misbehaviour};
//! use rpcrdma_verbs::loopback::Fabric;
//! use rpcrdma_verbs::{Call, Client, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fabric = Fabric::new();
//! let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
//! let address = "192.0.2.2:20049".parse()?;
//! let mut what = Misbehaviour::from_names("grant-huge")?;
//! what.silence = Duration::from_millis(200);
//! let listening = misbehave::Responder::listen(&there, address)?;
//! thread::scope(|scope| {
//!     let served = scope.spawn(move || listening.run(&what, &mut Vec::new()));
//!     let client = Client::connect(&here, address, &Settings::client()).unwrap();
//!     client.call(&mut Call::rpc(400_100, 1, 0)).unwrap().results().unwrap();
//!     // The next call is what the responder waits to see; there is nothing to do after it, so it is not answered.
//!     assert!(client.call(&mut Call::rpc(400_100, 1, 0)).is_err());
//!     let totals = served.join().unwrap().unwrap();
//!     assert_eq!((totals.conforms, totals.violates), (1, 0));
//! });
//! # Ok(())
//! # }
//! ```

mod clients;
mod defect;
mod observe;
mod reply;
mod spoil;

use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use std::{fmt, mem};

use rpcrdma_verbs::{Error, Operation, Remote, Verbs};

use crate::probe::{self, Examined, Judgement, OutputFormat, ProbeError, Totals, Verdict, word};
use clients::{Client, ClientId, Clients};
use defect::{DEFECTS, Defect, Reaction, ReplyFault};
use reply::BadReply;

/// Defects to use, and time limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Misbehaviour {
    defects: Vec<&'static Defect>,
    /// Time after which a requester without a reaction has none.
    pub silence: Duration,
    /// Time of the end, even if no call came for some of the defects.
    pub time: Duration,
    /// Form of the output.
    pub form: OutputFormat,
}

/// There is no defect of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDefect(String);

impl Misbehaviour {
    /// Selects these defects, with commas between the names, in that order; `all` selects each defect.
    ///
    /// # Errors
    /// [`UnknownDefect`].
    pub fn from_names(names: &str) -> Result<Self, UnknownDefect> {
        let find = |name: &str| DEFECTS.iter().find(|defect| defect.name == name);
        let defects = match names {
            "all" => DEFECTS.iter().collect(),
            _ => {
                let found = names.split(',').map(|name| find(name).ok_or_else(|| UnknownDefect(name.to_owned())));
                found.collect::<Result<_, _>>()?
            }
        };
        let (silence, time) = (Duration::from_secs(2), Duration::from_secs(600));
        Ok(Self { defects, silence, time, form: OutputFormat::Table })
    }
}

impl fmt::Display for UnknownDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = DEFECTS.iter().map(|defect| defect.name).collect();
        write!(f, "no defect {}: there are all, {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownDefect {}

/// A responder with defects.
pub struct Responder<'a, V: Verbs> {
    clients: Clients<'a, V>,
}

impl<V: Verbs> fmt::Debug for Responder<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").finish_non_exhaustive()
    }
}

impl<'a, V: Verbs> Responder<'a, V> {
    /// Begins to accept connections.
    ///
    /// # Errors
    /// Any error of [`Verbs::listen`].
    pub fn listen(verbs: &'a V, at: SocketAddr) -> Result<Self, Error> {
        Ok(Self { clients: Clients::listen(verbs, at)? })
    }

    /// Answers calls until each defect was used, or the time is over; writes the judgements.
    ///
    /// # Errors
    /// A [`ProbeError`]. A requester that breaks a rule is no error.
    pub fn run(mut self, what: &Misbehaviour, out: &mut impl Write) -> Result<Totals, ProbeError> {
        let (mut totals, until) = (Totals::default(), Instant::now() + what.time);
        let mut left = what.defects.clone();
        probe::heading(what.form, out)?;
        while !left.is_empty() {
            let waiting = self.clients.wait(until, |clients| clients.with_arrival().map(|client| client.id))?;
            let Some(id) = waiting.filter(|_| Instant::now() < until) else { break };
            if let Some((judged, by)) = self.serve(id, &mut left, what.silence)? {
                totals.count(judged.verdict);
                probe::judgement(what.form, Examined::Requester(Some(by)), &judged, out)?;
                out.flush()?;
            }
        }
        for defect in mem::take(&mut left) {
            let judged = defect.judgement("no call that it fits".to_owned(), Verdict::NotJudged, false);
            totals.count(judged.verdict);
            probe::judgement(what.form, Examined::Requester(None), &judged, out)?;
        }
        probe::totals(what.form, Examined::Requester(None), "1".to_owned(), totals, out)?;
        Ok(totals)
    }

    /// Answers the next Send of a connection, with the first suitable defect.
    fn serve(
        &mut self,
        id: ClientId,
        left: &mut Vec<&'static Defect>,
        silence: Duration,
    ) -> Result<Option<(Judgement, SocketAddr)>, Error> {
        let Some(client) = self.clients.find(id) else { return Ok(None) };
        let Some(call) = client.peer.take_arrival().map(|arrival| arrival.octets) else { return Ok(None) };
        let Some(reply) = reply::answer(&call, client.peer.answer()) else { return Ok(None) };
        let spoiled = left.iter().enumerate().filter(|_| reply::is_call(&call)).find_map(|(turn, defect)| {
            let fits = spoil::fits(defect.fault, &call, client.peer.answer());
            fits.then(|| spoil::spoil(defect.fault, &reply)).flatten().map(|spoiled| (turn, spoiled))
        });
        let spoiled = spoiled.map(|(turn, spoiled)| (left.remove(turn), spoiled));
        let Some((defect, spoiled)) = spoiled else {
            send(client, Operation::Send, reply)?;
            return Ok(None);
        };
        let by = client.address;
        let reaction = self.misbehave(id, defect.fault, &call, BadReply { send: spoiled, ..reply }, silence)?;
        self.clients.handle_completions()?;
        let alive = matches!(reaction, Reaction::NextCall | Reaction::Retry | Reaction::Reconnect)
            || self.clients.with_arrival().is_some();
        let verdict = probe::meaning(defect.reactions, reaction);
        Ok(Some((defect.judgement(reaction.to_string(), verdict, alive), by)))
    }

    /// Sends a reply with a fault, or does something else that is one, and waits for a reaction.
    fn misbehave(
        &mut self,
        id: ClientId,
        fault: ReplyFault,
        call: &[u8],
        reply: BadReply,
        silence: Duration,
    ) -> Result<Reaction, Error> {
        let xid = word(call, 0).unwrap_or_default();
        if let Some(client) = self.clients.find(id) {
            match fault {
                ReplyFault::Silence => {}
                ReplyFault::Disconnect => client.peer.disconnect()?,
                ReplyFault::Duplicate => {
                    let second = reply.send.clone();
                    send(client, Operation::Send, reply)?;
                    send(client, Operation::Send, BadReply { writes: Vec::new(), header: 0, send: second })?;
                }
                _ => send(client, spoil::operation(fault, call), reply)?,
            }
        }
        let reaction = observe::reaction(&mut self.clients, id, xid, silence)?;
        match (fault, reaction, spoil::offered(call)) {
            // It has accepted the reply.
            (ReplyFault::LateWrite, Reaction::NextCall | Reaction::Silence, Some(segment)) => {
                observe::late_write(&mut self.clients, id, Remote::from(segment), silence)
            }
            _ => Ok(reaction),
        }
    }
}

/// Posts the RDMA Writes of a reply, then the reply. If the connection has ended, that shows later.
fn send<V: Verbs>(client: &mut Client<'_, V>, operation: Operation, reply: BadReply) -> Result<(), Error> {
    let writes = reply.writes.into_iter().map(|(to, octets)| (Operation::Write(to), octets));
    for (operation, octets) in writes.chain([(operation, reply.send)]) {
        match client.peer.post(operation, octets) {
            Err(Error::Disconnected) => return Ok(()),
            posted => posted?,
        }
    }
    Ok(())
}

impl Defect {
    fn judgement(&self, observed: String, verdict: Verdict, alive_after: bool) -> Judgement {
        let Self { name: case, about, reactions, .. } = *self;
        let (rule, section) = (about.rule, about.source());
        Judgement { case, rule, section, expected: probe::expected(reactions), observed, verdict, alive_after }
    }
}
