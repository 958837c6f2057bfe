//! `rpcrdma-ping`: calls one after the other, one line for each, and a summary.
//!
//! The module is separate from the program to run over every provider, including the loopback.

mod json;

use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::{CallError, Client, Provider};

use crate::echo::{CallFault, Caller, Carry};

/// Default port: the port of NFS over RDMA (RFC 8267 section 7).
pub const PORT: u16 = 20049;
/// Maximum number of calls: the time of each is kept for the summary.
pub const MAX_COUNT: u32 = 1_000_000;

/// Procedure to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// NULL of any program.
    Null {
        /// Its number.
        program: u32,
        /// Its version.
        version: u32,
    },
    /// The echo program.
    Echo {
        /// The way in which the data travels.
        carry: Carry,
        /// Length of the data in octets.
        length: u32,
    },
}

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Show {
    /// One line for each call, and the summary.
    #[default]
    Lines,
    /// Only the summary.
    Summary,
    /// Calls and summary as JSON, one object per line.
    Json,
}

/// Settings of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Procedure to call.
    pub what: What,
    /// Number of calls, at most [`MAX_COUNT`].
    pub count: u32,
    /// Time from the start of a call to the start of the next. Zero: each call follows the reply of the one before.
    pub interval: Duration,
    /// Form of the output.
    pub show: Show,
}

/// The outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of planned calls, or of calls made before a stop.
    pub planned: u32,
    /// Number of calls made.
    pub calls: u32,
    /// The duration of each call that was answered correctly, the shortest first.
    pub latencies: Vec<Duration>,
    /// Reason for the early end.
    pub ended: Option<CallError>,
    /// Advice for the user about the last call that failed, if there is any.
    pub advice: Option<&'static str>,
}

impl Summary {
    /// Returns true if every call was made and answered correctly.
    #[must_use]
    pub fn all_answered(&self) -> bool {
        self.calls == self.planned && self.latencies.len() == self.calls as usize
    }

    /// Returns the time within which this percentage of the calls were answered: 50 gives the median. `None` if none
    /// was answered.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<Duration> {
        let rank = (self.latencies.len() * percent).div_ceil(100).max(1);
        self.latencies.get(rank - 1).copied()
    }

    /// Percentage of calls that were not answered correctly, rounded up: 0 means none.
    fn lost(&self) -> u64 {
        let lost = u64::from(self.calls).saturating_sub(self.latencies.len() as u64);
        (lost * 100).div_ceil(u64::from(self.calls.max(1)))
    }

    fn write(&self, to: SocketAddr, show: Show, out: &mut impl Write) -> io::Result<()> {
        let (calls, replies) = (self.calls, self.latencies.len());
        if show == Show::Json {
            return json::summary(to, self, out);
        }
        let times = [("min", 0), ("median", 50), ("p99", 99), ("max", 100)];
        let times = times.map(|(name, percent)| (name, self.percentile(percent)));
        if let Some(ended) = &self.ended {
            let left = self.planned - calls;
            writeln!(out, "{ended}; {left} calls of {} were not made", self.planned)?;
        }
        writeln!(out, "--- {to} ---")?;
        writeln!(out, "{calls} calls, {replies} replies, {} % lost", self.lost())?;
        if replies > 0 {
            let times: Vec<_> = times.into_iter().flat_map(|(name, time)| Some((name, milliseconds(time?)))).collect();
            let times: Vec<_> = times.iter().map(|(name, time)| format!("{name} {time:.3}")).collect();
            writeln!(out, "{} ms", times.join("  "))?;
        }
        Ok(())
    }
}

/// Makes the calls, and prints each call and the summary. The failure of a call is printed; a failure that ends the run
/// is in the summary. After `stop`, no more calls are made.
///
/// # Errors
/// Any error from writing to `out`. [`io::ErrorKind::InvalidInput`] with a [`TooLong`](crate::echo::TooLong) inside if
/// this much data cannot be carried that way; then nothing was called.
pub fn run<V: Provider>(
    client: &Client<V>,
    to: SocketAddr,
    plan: &Plan,
    stop: &AtomicBool,
    out: &mut impl Write,
) -> io::Result<Summary> {
    let caller = match plan.what {
        What::Null { program, version } => Caller::null(program, version),
        What::Echo { carry, length } => Caller::echo(carry, length, &client.connection().terms())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?,
    };
    let planned = plan.count.min(MAX_COUNT);
    let summary = Summary { planned, latencies: Vec::with_capacity(planned as usize), ..Summary::default() };
    Run { client, to, plan, stop, caller, summary }.run(out)
}

struct Run<'a, V: Provider> {
    client: &'a Client<V>,
    to: SocketAddr,
    plan: &'a Plan,
    stop: &'a AtomicBool,
    caller: Caller,
    summary: Summary,
}

impl<V: Provider> Run<'_, V> {
    fn run(mut self, out: &mut impl Write) -> io::Result<Summary> {
        let terms = self.client.connection().terms();
        if self.plan.show == Show::Json {
            json::connection(self.to, &terms, out)?;
        } else {
            let (version, there, back) = (terms.version, terms.call_threshold, terms.reply_threshold);
            writeln!(
                out,
                "calling {} at {}, RPC-over-RDMA version {version}, inline up to {there} octets, {back} back",
                self.plan.what, self.to
            )?;
        }
        let mut before: Option<Instant> = None;
        for _ in 0..self.summary.planned {
            if self.is_stopped(before) {
                self.summary.planned = self.summary.calls;
                break;
            }
            let begun = Instant::now();
            // Without an interval, the next call is due at once, and needs no clock.
            before = (!self.plan.interval.is_zero()).then_some(begun);
            let outcome = self.caller.call(self.client);
            let took = begun.elapsed();
            self.summary.calls += 1;
            self.show(&outcome, took, out)?;
            if let Err(CallFault::Call(error)) = &outcome {
                self.summary.advice = error.advice();
            }
            match outcome {
                Ok(()) => self.summary.latencies.push(took),
                Err(CallFault::Call(error @ (CallError::Lost(..) | CallError::Refused(_)))) => {
                    self.summary.ended = Some(error);
                    break;
                }
                Err(_) => {}
            }
        }
        self.summary.latencies.sort_unstable();
        self.summary.write(self.to, self.plan.show, out)?;
        Ok(self.summary)
    }

    /// Waits until the next call is due, or has to fail because the connection has ended. Returns true after a stop.
    fn is_stopped(&self, before: Option<Instant>) -> bool {
        const LOOK_AGAIN: Duration = Duration::from_millis(50);
        while !self.stop.load(Ordering::Relaxed) {
            let left = before.map_or(Duration::ZERO, |before| self.plan.interval.saturating_sub(before.elapsed()));
            if left.is_zero() || self.client.connection().ended().is_some() {
                return false;
            }
            thread::sleep(left.min(LOOK_AGAIN));
        }
        true
    }

    fn show(&self, outcome: &Result<(), CallFault>, took: Duration, out: &mut impl Write) -> io::Result<()> {
        let (to, xid) = (self.to, self.caller.xid());
        let octets = match self.plan.what {
            What::Null { .. } => self.caller.last().reply().len(),
            What::Echo { length, .. } => length as usize,
        };
        match (self.plan.show, outcome) {
            (Show::Lines, Ok(())) => {
                let milliseconds = milliseconds(took);
                writeln!(out, "{octets} octets from {to}: xid={xid:#010x} time={milliseconds:>8.3} ms")
            }
            (Show::Json, outcome) => {
                let reply = outcome.as_ref().map(|()| json::CallReply { octets, took }).map_err(ToString::to_string);
                json::call(to, xid, reply, out)
            }
            // A reason for the early end is reported once.
            (_, Err(CallFault::Call(CallError::Lost(..) | CallError::Refused(_)))) | (Show::Summary, Ok(())) => Ok(()),
            (_, Err(fault)) => writeln!(out, "{to}: xid={xid:#010x} {fault}"),
        }
    }
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null { program, version } => write!(f, "NULL of program {program} version {version}"),
            Self::Echo { carry, length } => write!(f, "the echo program, {length} octets each, {carry},"),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the addresses of a server: a name or an address, with or without a port: `nfs.example`, `192.0.2.1:20049`,
/// `2001:db8::1`, `[2001:db8::1]:20049`.
///
/// # Errors
/// If there is no such name.
pub fn addresses(server: &str) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = server.parse() {
        return Ok(vec![address]);
    }
    let bare = server.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(server);
    if let Ok(address) = bare.parse() {
        return Ok(vec![SocketAddr::new(address, PORT)]);
    }
    if server.contains(':') {
        return Ok(server.to_socket_addrs()?.collect());
    }
    Ok((server, PORT).to_socket_addrs()?.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_time_of_a_call() {
        let milliseconds = |count: u64| (1..=count).map(Duration::from_millis).collect();
        let of = |count| Summary { latencies: milliseconds(count), ..Summary::default() };
        let at = |count, percent| of(count).percentile(percent).map(|time| time.as_millis());
        assert_eq!([0, 50, 99, 100].map(|percent| at(0, percent)), [None; 4]);
        assert_eq!([0, 50, 99, 100].map(|percent| at(1, percent)), [Some(1); 4]);
        assert_eq!([0, 50, 99, 100].map(|percent| at(20, percent)), [Some(1), Some(10), Some(20), Some(20)]);
        assert_eq!([0, 50, 99, 100].map(|percent| at(1000, percent)), [Some(1), Some(500), Some(990), Some(1000)]);
    }

    #[test]
    fn one_lost_call_in_many_is_not_none() {
        let summary = Summary { calls: 1000, latencies: vec![Duration::ZERO; 999], ..Summary::default() };
        assert_eq!(summary.lost(), 1);
    }

    #[test]
    fn a_server_is_named_in_each_usual_way() {
        let first =
            |server: &str| addresses(server).ok().and_then(|all| all.first().copied()).map(|all| all.to_string());
        for (server, address) in [
            ("192.0.2.1", "192.0.2.1:20049"),
            ("192.0.2.1:7", "192.0.2.1:7"),
            ("2001:db8::1", "[2001:db8::1]:20049"),
            ("[2001:db8::1]", "[2001:db8::1]:20049"),
            ("[2001:db8::1]:7", "[2001:db8::1]:7"),
        ] {
            assert_eq!(first(server).as_deref(), Some(address), "{server}");
        }
        assert!(addresses("192.0.2.1:70000").is_err());
        assert!(addresses("").is_err());
    }
}
