//! Random messages: lists of every shape over registered memory, with one or two words changed, cut or appended. After
//! each, the responder has to answer a call of NULL.
//!
//! A message depends on a seed alone. Only handles and offsets come from the memory that is registered for the message;
//! a [`Recipe`] has their positions, and can be replayed.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma::v2::Family;
use rpcrdma_verbs::{Error, Verbs, Version};
use serde::{Deserialize, Serialize};

use super::case::Usage;
use super::prober::Prober;
use super::report::SCHEMA;
use super::session::{Session, octets};
use super::suite::{OutputFormat, ProbeError, Suite};

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The seed of the first message; each next one has the next number.
    pub seed: u64,
    /// Maximum number of messages.
    pub count: u32,
    /// Pause between two messages.
    pub pause: Duration,
    /// Maximum duration.
    pub time: Duration,
}

/// Results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fuzzed {
    /// Number of messages sent.
    pub sent: u32,
    /// Number of messages with an answer.
    pub answered: u32,
    /// Number of messages after which the connection was over.
    pub ended: u32,
    /// The message after which the responder stopped answering.
    pub fatal: Option<Recipe>,
}

/// The only line of JSON about random messages.
#[derive(Serialize)]
struct FuzzRecord {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: u32,
    responder: SocketAddr,
    sent: u32,
    answered: u32,
    disconnected: u32,
    fatal_seed: Option<u64>,
}

impl Fuzzed {
    /// Writes the results.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write(&self, form: OutputFormat, to: SocketAddr, out: &mut impl Write) -> io::Result<()> {
        let Self { sent, answered, ended: disconnected, ref fatal } = *self;
        let fatal_seed = fatal.as_ref().map(|recipe| recipe.seed);
        if form == OutputFormat::Json {
            let (kind, schema) = ("summary", SCHEMA);
            let record = FuzzRecord { kind, schema, responder: to, sent, answered, disconnected, fatal_seed };
            return writeln!(out, "{}", serde_json::to_string(&record)?);
        }
        writeln!(out, "{sent} messages: {answered} answered, {disconnected} ended the connection")?;
        match fatal_seed {
            Some(seed) => writeln!(out, "after the message of seed {seed} the server no longer answers"),
            None => writeln!(out, "the server still answers"),
        }
    }
}

/// A message, with the positions of memory segments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    schema: u32,
    /// The seed of the message.
    pub seed: u64,
    rpcrdma_version: String,
    /// The octets, with a handle and an offset of zeros for each memory segment.
    octets: Vec<u8>,
    memory: Vec<AdvertisedSegment>,
}

/// A segment that is filled in with memory of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AdvertisedSegment {
    /// Octets from the start of the message to the handle.
    at: usize,
    usage: Usage,
    length: u32,
}

/// Returns the XID of the message of a seed: consecutive messages have different ones.
const fn xid(seed: u64) -> u32 {
    (seed as u32).wrapping_mul(0x9e37_79b1) | 1
}

/// Maximum length of a message in octets: the inline threshold that needs no agreement (RFC 8166 section 3.3.3).
const MOST: usize = 1024;
/// Words at a boundary of a value's range.
const BOUNDARIES: [u32; 14] =
    [0, 1, 2, 3, 4, 7, 0xff, 0x100, 0xffff, 0x1000_0000, 0x7fff_ffff, 0x8000_0000, u32::MAX - 3, u32::MAX];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.word().checked_rem(limit).unwrap_or_default()
    }

    fn odd(&mut self) -> u32 {
        let index = self.below(BOUNDARIES.len() as u32 + 1) as usize;
        BOUNDARIES.get(index).copied().unwrap_or_else(|| self.word())
    }
}

impl Recipe {
    /// The message of a seed: the same on every machine.
    #[must_use]
    pub fn of_seed(seed: u64, suite: &Suite) -> Self {
        let version = suite.version;
        let message = Vec::new();
        let mut recipe =
            Self { schema: SCHEMA, seed, rpcrdma_version: version.to_string(), octets: message, memory: Vec::new() };
        let mut random = Random(seed);
        let is_long = random.below(5) == 0;
        recipe.begin_message(version, is_long);
        recipe.lists(&mut random, version, is_long);
        if !is_long {
            let Suite { program, program_version, .. } = *suite;
            let xid = xid(seed);
            recipe.words(&[xid, 0, 2, program, program_version, 0, 0, 0, 0, 0]);
        }
        recipe.spoil(&mut random);
        recipe
    }

    fn words(&mut self, words: &[u32]) {
        self.octets.extend(octets(words));
    }

    /// Appends the fixed words, and the words before the lists.
    fn begin_message(&mut self, version: Version, is_long: bool) {
        let xid = xid(self.seed);
        match version.family() {
            None => self.words(&[xid, 1, 32, u32::from(is_long)]),
            Some(Family::A) => self.words(&[xid, 2, 16 << 16 | 2, u32::from(is_long), 0, 0]),
            Some(Family::B) => self.words(&[xid, 2, 24, if is_long { 8 } else { 10 }, 0]),
        }
    }

    fn lists(&mut self, random: &mut Random, version: Version, is_long: bool) {
        for entry in 0..random.below(3) + u32::from(is_long) {
            let is_call = is_long && entry == 0;
            self.words(&[1, if is_call { 0 } else { 40 + 4 * entry }]);
            self.segment(random, Usage::Read);
            if is_call && version == Version::Two(Family::B) {
                self.words(&[0]);
            }
        }
        self.words(&[0]);
        for _ in 0..random.below(3) {
            self.words(&[1]);
            self.chunk(random);
        }
        let has_reply_chunk = random.below(3) == 0;
        self.words(&[0, u32::from(has_reply_chunk)]);
        if has_reply_chunk {
            self.chunk(random);
        }
    }

    fn chunk(&mut self, random: &mut Random) {
        let segments = random.below(5);
        self.words(&[segments]);
        (0..segments).for_each(|_| self.segment(random, Usage::Write));
    }

    fn segment(&mut self, random: &mut Random, usage: Usage) {
        let most = 4 << random.below(10);
        let length = 1 + random.below(most);
        self.memory.push(AdvertisedSegment { at: self.octets.len(), usage, length });
        self.words(&[0, length, 0, 0]);
    }

    /// Changes words, and truncates or extends the message.
    fn spoil(&mut self, random: &mut Random) {
        for _ in 0..random.below(3) {
            let at = 4 * random.below(self.octets.len() as u32 / 4) as usize;
            let odd = random.odd();
            if let Some(word) = self.octets.get_mut(at..at + 4) {
                word.copy_from_slice(&odd.to_be_bytes());
                // A segment whose handle or offset was changed is no longer that memory; with another length it still
                // is.
                self.memory.retain(|segment| !(segment.at..segment.at + 16).contains(&at) || at == segment.at + 4);
            }
        }
        match random.below(10) {
            0 => self.octets.truncate(random.below(self.octets.len() as u32) as usize),
            1 => self.octets.resize(self.octets.len() + random.below(64) as usize, 0xa5),
            _ => {}
        }
        self.octets.truncate(MOST);
        let end = self.octets.len();
        self.memory.retain(|segment| segment.at + 16 <= end);
    }

    /// Returns the message with memory of this connection.
    fn compose<V: Verbs>(&self, session: &mut Session<'_, V>) -> Result<Vec<u8>, Error> {
        let mut message = self.octets.clone();
        for &AdvertisedSegment { at, usage, length } in &self.memory {
            // Handle and offset are filled in; the length may be wrong on purpose.
            let segment = session.advertise(&vec![0xa5; length.min(1 << 20) as usize], usage)?;
            for range in [0..4, 8..16] {
                let to = message.get_mut(at.saturating_add(range.start)..at.saturating_add(range.end));
                if let (Some(to), Some(from)) = (to, segment.get(range)) {
                    to.copy_from_slice(from);
                }
            }
        }
        Ok(message)
    }
}

/// Sends random messages until one is fatal, or a limit is reached.
///
/// # Errors
/// A [`ProbeError`]. A responder that stops answering is no error.
pub fn fuzz<V: Verbs>(verbs: &V, to: SocketAddr, suite: &Suite, bounds: &Bounds) -> Result<Fuzzed, ProbeError> {
    let recipes = (0..u64::from(bounds.count)).map(|number| Recipe::of_seed(bounds.seed.wrapping_add(number), suite));
    send_all(verbs, to, suite, recipes, bounds)
}

/// Sends one message again.
///
/// # Errors
/// [`ProbeError::OtherVersion`] for a recipe of another version of RPC-over-RDMA, and the errors of [`fuzz`].
pub fn replay<V: Verbs>(verbs: &V, to: SocketAddr, suite: &Suite, recipe: &Recipe) -> Result<Fuzzed, ProbeError> {
    if recipe.rpcrdma_version != suite.version.to_string() {
        return Err(ProbeError::OtherVersion(recipe.rpcrdma_version.clone()));
    }
    let bounds = Bounds { seed: recipe.seed, count: 1, pause: Duration::ZERO, time: Duration::MAX };
    send_all(verbs, to, suite, [recipe.clone()].into_iter(), &bounds)
}

fn send_all<V: Verbs>(
    verbs: &V,
    to: SocketAddr,
    suite: &Suite,
    recipes: impl Iterator<Item = Recipe>,
    bounds: &Bounds,
) -> Result<Fuzzed, ProbeError> {
    let prober = Prober::new(verbs, to, suite);
    if !prober.is_alive()? {
        return Err(ProbeError::NoService);
    }
    let (mut fuzzed, started) = (Fuzzed::default(), Instant::now());
    for recipe in recipes.take_while(|_| started.elapsed() < bounds.time) {
        fuzzed.sent += 1;
        if !prober.survives(&recipe, &mut fuzzed)? {
            fuzzed.fatal = Some(recipe);
            break;
        }
        thread::sleep(bounds.pause);
    }
    Ok(fuzzed)
}

impl<V: Verbs> Prober<'_, V> {
    /// Sends a message. Returns true if the responder then answers a call, on this connection or on another.
    fn survives(&self, recipe: &Recipe, fuzzed: &mut Fuzzed) -> Result<bool, Error> {
        let Ok(mut session) = self.open() else { return Ok(false) };
        if !session.answers(&mut Vec::new())? {
            return Ok(false);
        }
        let message = recipe.compose(&mut session)?;
        session.send(message)?;
        let mut came: Vec<_> = session.next_arrival(self.suite.silence)?.into_iter().collect();
        let answers_on = session.answers(&mut came)?;
        fuzzed.answered += u32::from(!came.is_empty());
        fuzzed.ended += u32::from(session.is_over());
        Ok(answers_on || self.is_alive().unwrap_or(false))
    }
}
