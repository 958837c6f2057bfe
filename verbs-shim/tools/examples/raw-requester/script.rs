//! A script: memory to advertise, Sends, and what has to come back.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma_tools::raw::{RECEIVE, RawPeer};
use rpcrdma_verbs::{Access, Error, Verbs};

/// Maximum time that the server has for a message for which the script waits.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScriptStep {
    Register { name: String, length: usize, access: Access },
    Send(Vec<Part>),
    Receive,
    Withdraw(String),
    Wait(Duration),
    Ended,
}

/// A part of a Send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Octets(Vec<u8>),
    /// Handle, length and offset of the memory of this name.
    Segment(String),
}

/// Reads a script. A line that does not begin with the name of a step continues the previous Send.
pub(crate) fn parse(text: &str) -> Result<Vec<ScriptStep>, String> {
    let mut steps = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        let step = match words[..] {
            [] => continue,
            ["writable", name, length] => register(name, length, Access::LOCAL_WRITE | Access::REMOTE_WRITE),
            ["readable", name, length] => register(name, length, Access::REMOTE_READ),
            ["send", ref words @ ..] => parts(words).map(ScriptStep::Send),
            ["receive"] => Some(ScriptStep::Receive),
            ["withdraw", name] => Some(ScriptStep::Withdraw(name.to_owned())),
            ["wait", seconds] => wait(seconds),
            ["ended"] => Some(ScriptStep::Ended),
            ref words => match (steps.last_mut(), parts(words)) {
                (Some(ScriptStep::Send(send)), Some(more)) => {
                    send.extend(more);
                    continue;
                }
                _ => None,
            },
        };
        steps.push(step.ok_or_else(|| format!("not understood: {line}"))?);
    }
    Ok(steps)
}

fn register(name: &str, length: &str, access: Access) -> Option<ScriptStep> {
    Some(ScriptStep::Register { name: name.to_owned(), length: length.parse().ok()?, access })
}

fn wait(seconds: &str) -> Option<ScriptStep> {
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok().map(ScriptStep::Wait)
}

fn parts(words: &[&str]) -> Option<Vec<Part>> {
    words.iter().map(|word| part(word)).collect()
}

fn part(word: &str) -> Option<Part> {
    if let Some(name) = word.strip_prefix('@') {
        return Some(Part::Segment(name.to_owned()));
    }
    if let Some(text) = word.strip_prefix('\'') {
        return text.strip_suffix('\'').map(|text| Part::Octets(text.as_bytes().to_vec()));
    }
    let (pairs, rest) = word.as_bytes().as_chunks::<2>();
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let octet = |&[high, low]: &[u8; 2]| u8::try_from(digit(high)? << 4 | digit(low)?).ok();
    rest.is_empty().then(|| pairs.iter().map(octet).collect::<Option<_>>())?.map(Part::Octets)
}

/// Connects to the server, does what the script says, and reports what comes back. Closes the connection once all Sends
/// have arrived.
pub(crate) fn run<V: Verbs>(
    verbs: &V,
    to: SocketAddr,
    steps: &[ScriptStep],
    out: &mut impl Write,
) -> Result<(), String> {
    let mut requester = Requester::connect(verbs, to).map_err(|error| format!("no connection to {to}: {error}"))?;
    for step in steps {
        requester.run_step(step, out).map_err(|failed| format!("{step:?}: {failed}"))?;
    }
    requester.until("every Send has arrived", RawPeer::is_settled)?;
    requester.peer.disconnect().map_err(said)
}

fn said(error: impl Display) -> String {
    error.to_string()
}

struct Requester<'a, V: Verbs> {
    verbs: &'a V,
    peer: RawPeer<'a, V>,
    /// Advertised memory, by name.
    memory: BTreeMap<String, V::Region>,
}

impl<'a, V: Verbs> Requester<'a, V> {
    fn connect(verbs: &'a V, to: SocketAddr) -> Result<Self, Error> {
        let size = RECEIVE as u32;
        let announced = PrivateData { flags: Flags::empty(), send_size: size, receive_size: size };
        let peer = RawPeer::connect(verbs, to, &announced.to_octets(), PATIENCE)?;
        Ok(Self { verbs, peer, memory: BTreeMap::new() })
    }

    fn run_step(&mut self, step: &ScriptStep, out: &mut impl Write) -> Result<(), String> {
        match step {
            ScriptStep::Register { name, length, access } => {
                let region = self.peer.register(vec![0; *length], *access).map_err(said)?;
                self.memory.insert(name.clone(), region);
            }
            ScriptStep::Send(parts) => {
                let octets = self.put_together(parts)?;
                writeln!(out, "sent {}", shown(&octets)).map_err(said)?;
                self.peer.send(octets).map_err(said)?;
            }
            ScriptStep::Receive => {
                self.until("a Send has come", |peer| peer.has_arrived() || peer.is_over())?;
                let arrival = self.peer.take_arrival().ok_or("the connection has ended")?;
                writeln!(out, "came {}", shown(&arrival.octets)).map_err(said)?;
            }
            ScriptStep::Withdraw(name) => {
                let region = self.memory.remove(name).ok_or("no such memory")?;
                self.verbs.deregister(region).map_err(said)?;
            }
            ScriptStep::Wait(time) => {
                let end = Instant::now() + *time;
                while Instant::now() < end && !self.peer.is_over() {
                    self.peer.handle_completion(end).map_err(said)?;
                }
            }
            ScriptStep::Ended => self.until("the connection has ended", RawPeer::is_over)?,
        }
        Ok(())
    }

    fn put_together(&self, parts: &[Part]) -> Result<Vec<u8>, String> {
        let mut octets = Vec::new();
        for part in parts {
            match part {
                Part::Octets(more) => octets.extend(more),
                Part::Segment(name) => {
                    let region = self.memory.get(name).ok_or_else(|| format!("no memory {name}"))?;
                    let segment = self.verbs.segment(region);
                    octets.extend(segment.handle.to_be_bytes());
                    octets.extend(segment.length.to_be_bytes());
                    octets.extend(segment.offset.to_be_bytes());
                }
            }
        }
        Ok(octets)
    }

    fn until(&mut self, what: &str, so: impl Fn(&RawPeer<'a, V>) -> bool) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        while !so(&self.peer) {
            if Instant::now() >= end {
                return Err(format!("waited {} s in vain until {what}", PATIENCE.as_secs()));
            }
            self.peer.handle_completion(end).map_err(said)?;
        }
        Ok(())
    }
}

/// Words of four octets, in the form of a script.
fn shown(octets: &[u8]) -> String {
    let word = |word: &[u8]| word.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
    octets.chunks(4).map(word).collect::<Vec<_>>().join(" ")
}
