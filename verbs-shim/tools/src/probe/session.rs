//! A connection to the peer, for calls of NULL besides the messages of cases.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rpcrdma::v2::Family;
use rpcrdma_verbs::{Error, Verbs, Version};

use super::case::{Calls, Opening, Piece, Usage};
use super::memory::{Area, access};
use super::suite::Suite;
use crate::raw::{Arrival, RECEIVES, RawPeer};

/// Difference between the XIDs of consecutive calls.
const STEP: u32 = 0x101;
/// Credits requested in version 1 (RFC 8166 section 3.3.1).
const CREDITS: u32 = 32;

/// A connection.
pub(super) struct Session<'a, V: Verbs> {
    verbs: &'a V,
    suite: &'a Suite,
    version: Version,
    peer: RawPeer<'a, V>,
    xid: u32,
    /// `rdma_credit` of the last reply.
    granted: u32,
    /// Messages that came while another one was awaited.
    early: VecDeque<Arrival>,
    /// The RPC Reply to the last Call in the reverse direction, without the XID.
    pub(super) reply: Vec<u8>,
    pub(super) areas: Vec<Area<V>>,
}

impl<'a, V: Verbs> Session<'a, V> {
    /// Connects. No other connection may have the XIDs from `first_xid` on: a responder takes a message with the XID of
    /// a failed Call for that Call (RFC 8166 section 4.5.3).
    pub(super) fn open(
        verbs: &'a V,
        to: SocketAddr,
        suite: &'a Suite,
        first_xid: u32,
        private_data: &[u8],
        opening: Opening,
    ) -> Result<Self, Error> {
        let peer = RawPeer::connect(verbs, to, private_data, suite.patience)?;
        let version = suite.version;
        let (early, reply, areas) = Default::default();
        let mut session = Self { verbs, suite, version, peer, xid: first_xid, granted: 0, early, reply, areas };
        match opening {
            Opening::Usual => session.send_properties()?,
            Opening::Send(pieces) => session.begin_with(pieces)?,
            Opening::Nothing => {}
        }
        Ok(session)
    }

    /// Version 2 begins with the properties, here with none (version two -01 section "Connection Properties").
    fn send_properties(&mut self) -> Result<(), Error> {
        match self.version.family() {
            None => Ok(()),
            Some(Family::A) => self.begin_with(&[Piece::FixedOfNone(5), Piece::Words(&[0, 0])]),
            Some(Family::B) => self.begin_with(&[Piece::FixedOfNone(7), Piece::Words(&[0])]),
        }
    }

    fn begin_with(&mut self, pieces: &[Piece]) -> Result<(), Error> {
        for message in self.compose(pieces, 0)? {
            self.peer.send(message)?;
        }
        // The properties of the peer, or its error about the version.
        self.peer.next_arrival(Instant::now() + self.suite.patience)?;
        Ok(())
    }

    pub(super) fn private_data(&self) -> &[u8] {
        self.peer.answer()
    }

    pub(super) const fn is_over(&self) -> bool {
        self.peer.is_over()
    }

    /// Returns an XID that was not used on this connection.
    pub(super) const fn fresh_xid(&mut self) -> u32 {
        self.xid = self.xid.wrapping_add(STEP);
        self.xid
    }

    /// Returns `rdma_credit` of a message: in drafts -00 to -02 the granted and requested credits, in later drafts the
    /// total number of Sends that may be received.
    const fn credit(&self) -> u32 {
        match self.version.family() {
            None => CREDITS,
            Some(Family::A) => 16 << 16 | 4,
            Some(Family::B) => 24,
        }
    }

    /// The RPC Call of the NULL procedure (RFC 5531 section 9).
    pub(super) fn null(&self, xid: u32) -> Vec<u8> {
        let Suite { program, program_version, .. } = *self.suite;
        octets(&[xid, 0, 2, program, program_version, 0, 0, 0, 0, 0])
    }

    /// Returns the Sends for the pieces, with memory registered for the segments.
    pub(super) fn compose(&mut self, pieces: &[Piece], xid: u32) -> Result<Vec<Vec<u8>>, Error> {
        pieces.split(|piece| *piece == Piece::Next).map(|pieces| self.compose_one(pieces, xid)).collect()
    }

    fn compose_one(&mut self, pieces: &[Piece], xid: u32) -> Result<Vec<u8>, Error> {
        let mut message = Vec::new();
        let number = if self.version == Version::One { 1 } else { 2 };
        for piece in pieces {
            match *piece {
                Piece::Fixed(procedure) => message.extend(octets(&[xid, number, self.credit(), procedure])),
                Piece::FixedOfAnother(procedure) => message.extend(octets(&[!xid, number, self.credit(), procedure])),
                Piece::FixedOfNone(procedure) => message.extend(octets(&[0, number, self.credit(), procedure])),
                Piece::OfVersion(version) => message.extend(octets(&[xid, version, self.credit(), 0])),
                Piece::WithCredit(credit) => message.extend(octets(&[xid, number, credit, 0])),
                Piece::Words(words) => message.extend(octets(words)),
                Piece::Octets(more) => message.extend(more),
                Piece::Xid => message.extend(xid.to_be_bytes()),
                Piece::Null => message.extend(self.null(xid)),
                Piece::NullOfAnother => message.extend(self.null(!xid)),
                Piece::Reply => message.extend([&xid.to_be_bytes(), self.reply.as_slice()].concat()),
                Piece::ReplyOfAnother => message.extend([&(!xid).to_be_bytes(), self.reply.as_slice()].concat()),
                Piece::PartOfNull(part, of) => message.extend(part_of(&self.null(xid), part, of)),
                Piece::Segment(usage, length) => {
                    let buffer = Area::<V>::blank(length as usize);
                    message.extend(self.advertise(&buffer, usage)?);
                }
                Piece::NullIn(part, of) => {
                    let null = self.null(xid);
                    message.extend(self.advertise(part_of(&null, part, of), Usage::Read)?);
                }
                // A separator of messages, not part of one.
                Piece::Next => {}
            }
        }
        Ok(message)
    }

    /// Returns as many calls of NULL in version 1 as `calls` says. `None` if not all replies could be received.
    pub(super) fn nulls(&mut self, calls: Calls) -> Option<Vec<Vec<u8>>> {
        let count = match calls {
            Calls::AllCredits => self.granted.min(CREDITS),
            Calls::OneTooMany => self.granted.saturating_add(1),
        };
        // Another one follows, to check that the responder still answers.
        (u64::from(count) < RECEIVES).then(|| (0..count).map(|_| self.plain_null()).collect())
    }

    fn plain_null(&mut self) -> Vec<u8> {
        let xid = self.fresh_xid();
        let mut message = octets(&[xid, 1, CREDITS, 0, 0, 0, 0]);
        message.extend(self.null(xid));
        message
    }

    /// Registers memory with these octets. Returns the encoded segment.
    pub(super) fn advertise(&mut self, content: &[u8], usage: Usage) -> Result<Vec<u8>, Error> {
        let region = self.peer.register(Area::<V>::around(content), access(usage))?;
        let area = Area::new(region, content.len());
        let segment = area.segment(self.verbs);
        self.areas.push(area);
        let mut sent = octets(&[segment.handle, segment.length]);
        sent.extend(segment.offset.to_be_bytes());
        Ok(sent)
    }

    /// Sends a message. If the connection has ended, that shows later.
    pub(super) fn send(&mut self, message: Vec<u8>) -> Result<(), Error> {
        match self.peer.send(message) {
            Err(Error::Disconnected) => Ok(()),
            sent => sent,
        }
    }

    /// Returns the next message within this time, except messages that belong to no RPC.
    pub(super) fn next_arrival(&mut self, time: Duration) -> Result<Option<Arrival>, Error> {
        self.next_until(Instant::now() + time)
    }

    pub(super) fn next_until(&mut self, until: Instant) -> Result<Option<Arrival>, Error> {
        if let Some(early) = self.early.pop_front() {
            return Ok(Some(early));
        }
        while let Some(arrival) = self.peer.next_arrival(until)? {
            if !is_apart(self.version, &arrival.octets) {
                return Ok(Some(arrival));
            }
        }
        Ok(None)
    }

    /// Returns true if the peer answers a call of NULL on this connection. Messages before the answer are added to
    /// `others`.
    pub(super) fn answers(&mut self, others: &mut Vec<Arrival>) -> Result<bool, Error> {
        if self.is_over() {
            return Ok(false);
        }
        let xid = self.fresh_xid();
        let fixed: &[Piece] = match self.version.family() {
            None => &[Piece::Fixed(0), Piece::Words(&[0, 0, 0]), Piece::Null],
            Some(Family::A) => &[Piece::Fixed(0), Piece::Words(&[0, 0, 0, 0, 0]), Piece::Null],
            Some(Family::B) => &[Piece::Fixed(10), Piece::Words(&[0, 0, 0, 0]), Piece::Null],
        };
        let message = self.compose_one(fixed, xid)?;
        self.send(message)?;
        let Some(answer) = self.answer_to(xid, others)? else { return Ok(false) };
        self.granted = word(&answer.octets, 2).unwrap_or(0);
        Ok(is_reply(self.version, &answer.octets))
    }

    /// Returns the RPC message that answers a call without chunks. Earlier messages stay in the queue.
    pub(super) fn call(&mut self, xid: u32, call: &[u8]) -> Result<Option<Arrival>, Error> {
        self.send([&octets(&[xid, 1, CREDITS, 0, 0, 0, 0]), call].concat())?;
        let mut others = Vec::new();
        let answer = self.answer_to(xid, &mut others)?;
        self.early.extend(others);
        Ok(answer)
    }

    /// Returns the message with this XID. Earlier messages are added to `others`.
    fn answer_to(&mut self, xid: u32, others: &mut Vec<Arrival>) -> Result<Option<Arrival>, Error> {
        let until = Instant::now() + self.suite.patience;
        while let Some(arrival) = self.next_until(until)? {
            if arrival.octets.starts_with(&xid.to_be_bytes()) {
                return Ok(Some(arrival));
            }
            others.push(arrival);
        }
        Ok(None)
    }
}

/// Returns one of this number of parts.
fn part_of(octets: &[u8], part: usize, of: usize) -> &[u8] {
    octets.chunks(octets.len().div_ceil(of.max(1)).max(1)).nth(part).unwrap_or_default()
}

/// Encodes words.
pub(crate) fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Encodes an XDR opaque: length, octets, padding.
pub(super) fn opaque(content: &[u8]) -> Vec<u8> {
    let mut opaque = octets(&[u32::try_from(content.len()).unwrap_or(u32::MAX)]);
    opaque.extend(content);
    opaque.resize(opaque.len().next_multiple_of(4), 0);
    opaque
}

/// Returns a word of a message.
pub(crate) fn word(message: &[u8], index: usize) -> Option<u32> {
    message.get(4 * index..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// Returns true if a message has the header of an RPC message, not of an error.
pub(super) fn is_reply(version: Version, message: &[u8]) -> bool {
    let procedure = word(message, 3);
    match version.family() {
        Some(Family::B) => matches!(procedure, Some(11 | 13)),
        _ => matches!(procedure, Some(0 | 1)),
    }
}

/// Returns true if a message of version 2 grants credits or has transport properties.
fn is_apart(version: Version, message: &[u8]) -> bool {
    let (xid, htype) = (word(message, 0), word(message, 3));
    match version.family() {
        None => false,
        Some(Family::A) => matches!((xid, htype), (Some(0), Some(1)) | (_, Some(5 | 6))),
        Some(Family::B) => matches!(htype, Some(5..=7)),
    }
}
