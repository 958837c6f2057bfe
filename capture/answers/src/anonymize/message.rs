//! One message: the transport header, the RPC header, and the arguments or results.
//!
//! Each function returns as many octets as were passed in. Octets that a function does not understand become zero.

use rpcrdma::reader::{Reader, padding};
use rpcrdma::rpc::{Flavor, GssProcedure, GssService, MessageType, RpcCall};
use rpcrdma_dissector::nfs::{self, Callback, PieceKind, Procedure, Reduced, RpcBody, WalkError};
use rpcrdma_dissector::packets::{read_chunks, write_lengths};
use rpcrdma_dissector::{Captured, Header, Message, PayloadPlace, Security};

use super::key::Replacer;
use super::octets::keep;

/// Places of the fixed words of a header, after the XID.
const VERSION: usize = 4;
const CREDIT: usize = 8;
const PROCEDURE: usize = 12;

/// Facts about an RPC that its message does not show.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RpcContext {
    pub(super) procedure: Option<Procedure>,
    pub(super) is_callback: bool,
    /// `true` if only the program number shows that this is the callback program.
    pub(super) is_guessed: bool,
    pub(super) security: Option<Security>,
    /// `true` if all of the message was captured.
    pub(super) is_whole: bool,
}

/// Chunks of a message: the Positions and lengths of Read chunks, the lengths of Write chunks, and the length of the chunk with the
/// Payload stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ChunkLengths {
    pub(super) reads: Vec<(u64, u64)>,
    pub(super) writes: Vec<u64>,
    pub(super) payload: u64,
}

/// Octets to rewrite, before and after.
struct Rewrite<'a> {
    from: &'a [u8],
    to: Vec<u8>,
    reader: Reader<'a>,
}

/// The copy of a Send.
pub(super) fn send(message: &Message, replacer: &Replacer) -> Vec<u8> {
    let octets = message.octets.as_slice();
    let mut to = vec![0; octets.len()];
    // Nothing shows what the rest of a Send is without its beginning.
    if message.captured == Captured::Tail {
        return to;
    }
    let Ok(decoded) = message.decode() else {
        malformed(octets, &mut to);
        return to;
    };
    let place = decoded.header.place();
    let header = match decoded.header {
        Header::V1(_) => decoded.header_length,
        Header::V2(_) if place != PayloadPlace::Nowhere || message.error().is_some() => decoded.header_length,
        // Transport properties may be anything.
        Header::V2(_) => 16,
    };
    keep(octets, &mut to, 0..header);
    let is_alone = message.earlier.is_none() && message.padding.as_ref().is_some_and(Vec::is_empty);
    if place != PayloadPlace::Inline || !is_alone {
        // The beginning of a message in several Sends: its XID is that of the header.
        if message.earlier.is_none() && decoded.payload.starts_with(&message.xid().to_be_bytes()) {
            keep(octets, &mut to, decoded.header_length..decoded.header_length + 4);
        }
        return to;
    }
    let rpc = message.rpc.as_ref();
    let known = RpcContext {
        procedure: rpc.and_then(|rpc| rpc.procedure),
        is_callback: rpc.is_some_and(|rpc| rpc.callback.is_callback()),
        is_guessed: rpc.is_some_and(|rpc| rpc.callback == Callback::Guessed),
        security: rpc.and_then(|rpc| rpc.security),
        is_whole: message.captured == Captured::Whole,
    };
    let chunks = decoded.header.chunks().unwrap_or_default();
    let lengths = ChunkLengths { reads: read_chunks(&chunks), writes: write_lengths(&chunks), payload: 0 };
    let payload = self::rpc(message.xid(), decoded.payload, known, &lengths, replacer);
    to.iter_mut().skip(decoded.header_length).zip(payload).for_each(|(to, from)| *to = from);
    to
}

/// Keeps the words that show why a header is malformed: the XID, and words that are small or all ones. Such words are
/// versions, procedures, flags and counts, and no part of a name.
fn malformed(octets: &[u8], to: &mut [u8]) {
    const LONGEST: usize = 64;
    let is_small = |at: usize| octets.get(at..at + 4).is_some_and(is_small);
    keep(octets, to, 0..4);
    if !is_small(VERSION) {
        return;
    }
    // The credits may be any number, but stand between two that are small.
    if is_small(PROCEDURE) {
        keep(octets, to, CREDIT..PROCEDURE);
    }
    let words = (VERSION..LONGEST).step_by(4);
    words.filter(|at| is_small(*at)).for_each(|at| keep(octets, to, at..at + 4));
}

/// Returns true if a word is less than 65,536, or all ones.
const fn is_small(word: &[u8]) -> bool {
    matches!(word, [0, 0, _, _] | [0xff, 0xff, 0xff, 0xff])
}

/// Copies an RPC message, as far as the message was captured. `xid` is the `rdma_xid` of the transport header.
pub(super) fn rpc(xid: u32, payload: &[u8], known: RpcContext, chunks: &ChunkLengths, replacer: &Replacer) -> Vec<u8> {
    let mut rewrite = Rewrite { from: payload, to: vec![0; payload.len()], reader: Reader::new(payload) };
    // Octets that are no RPC message may still begin with the XID.
    let is_message = matches!(payload.get(4..8), Some([0, 0, 0, 0 | 1]));
    if !is_message {
        if payload.starts_with(&xid.to_be_bytes()) {
            keep(payload, &mut rewrite.to, 0..4);
        }
        return rewrite.to;
    }
    // After the place where it ends, the octets stay zero.
    let _end = rewrite.message(known, chunks, replacer);
    rewrite.to
}

impl Rewrite<'_> {
    fn word(&mut self) -> Option<u32> {
        let at = self.reader.offset();
        let word = self.reader.u32().ok()?;
        keep(self.from, &mut self.to, at..at + 4);
        Some(word)
    }

    /// Replaces the next octets.
    fn value(&mut self, octets: usize, replacer: &Replacer) -> Option<()> {
        let at = self.reader.offset();
        let value = self.reader.read_octets(octets).ok()?;
        replacer.value(value, self.to.get_mut(at..at.checked_add(octets)?)?);
        Some(())
    }

    /// Leaves the next octets zero.
    fn skip(&mut self, octets: usize) -> Option<()> {
        self.reader.read_octets(octets).ok().map(drop)
    }

    fn message(&mut self, known: RpcContext, chunks: &ChunkLengths, replacer: &Replacer) -> Option<()> {
        let _xid = self.word()?;
        match MessageType(self.word()?) {
            MessageType::CALL => {
                if self.word()? != RpcCall::RPC_VERSION {
                    return None;
                }
                let procedure = Procedure { program: self.word()?, version: self.word()?, procedure: self.word()? };
                let security = self.credential(replacer)?;
                self.verifier()?;
                self.body(RpcContext { procedure: Some(procedure), security, ..known }, true, chunks, replacer)
            }
            MessageType::REPLY => self.reply(known, chunks, replacer),
            _ => None,
        }
    }

    fn reply(&mut self, known: RpcContext, chunks: &ChunkLengths, replacer: &Replacer) -> Option<()> {
        if self.word()? != 0 {
            // MSG_DENIED: RPC_MISMATCH and two versions, or AUTH_ERROR and why.
            let is_mismatch = self.word()? == 0;
            self.word()?;
            return is_mismatch.then(|| self.word()).flatten().map(drop);
        }
        let flavor = self.verifier()?;
        match self.word()? {
            0 => {}
            // PROG_MISMATCH: two versions.
            2 => return self.word().and_then(|_| self.word()).map(drop),
            _ => return None,
        }
        // RPCSEC_GSS may have changed the results in a way that the call would show.
        if flavor == Flavor::RPCSEC_GSS && known.security.is_none() {
            return None;
        }
        self.body(known, false, chunks, replacer)
    }

    /// Returns what RPCSEC_GSS does to the body.
    fn credential(&mut self, replacer: &Replacer) -> Option<Option<Security>> {
        let flavor = Flavor(self.word()?);
        let length = self.word()? as usize;
        let end = self.reader.offset().checked_add(length)?.checked_add(padding(length))?;
        // A credential that was cut is not understood.
        self.from.get(..end)?;
        let mut security = None;
        match flavor {
            Flavor::SYS => {
                self.auth_sys(end, replacer);
            }
            Flavor::RPCSEC_GSS => {
                let [_version, procedure, _sequence, service] =
                    [self.word()?, self.word()?, self.word()?, self.word()?];
                security = Some(Security::of_gss(GssProcedure(procedure), GssService(service)));
                let handle = self.word()? as usize;
                if self.reader.offset().checked_add(handle)? > end {
                    return None;
                }
                self.value(handle, replacer)?;
            }
            _ => {}
        }
        let rest = end.checked_sub(self.reader.offset())?;
        self.skip(rest)?;
        Some(security)
    }

    /// The stamp, the name of the machine, the user and the groups.
    fn auth_sys(&mut self, end: usize, replacer: &Replacer) -> Option<()> {
        let left = |rewrite: &Self| end.checked_sub(rewrite.reader.offset());
        left(self).filter(|left| *left >= 8)?;
        self.value(4, replacer)?;
        let name = self.word()? as usize;
        left(self).filter(|left| *left >= name.saturating_add(padding(name)).saturating_add(12))?;
        self.value(name, replacer)?;
        self.skip(padding(name))?;
        self.value(4, replacer)?;
        self.value(4, replacer)?;
        let groups = self.word()?;
        for _ in 0..groups {
            left(self).filter(|left| *left >= 4)?;
            self.value(4, replacer)?;
        }
        Some(())
    }

    /// Keeps the flavor and the length.
    fn verifier(&mut self) -> Option<Flavor> {
        let flavor = Flavor(self.word()?);
        let length = self.word()? as usize;
        self.skip(length.checked_add(padding(length))?)?;
        Some(flavor)
    }

    fn body(&mut self, known: RpcContext, is_call: bool, chunks: &ChunkLengths, replacer: &Replacer) -> Option<()> {
        match known.security {
            None | Some(Security::Authentication) => self.items(usize::MAX, known, is_call, chunks, replacer),
            Some(Security::Integrity) => {
                // databody_integ: its length, and the sequence number that the credential has too; then the checksum.
                let length = self.word()? as usize;
                let end = self.reader.offset().saturating_add(length);
                self.word()?;
                self.items(end, known, is_call, chunks, replacer);
                self.skip(end.checked_sub(self.reader.offset())?)?;
                self.word().map(drop)
            }
            Some(Security::Privacy) => self.word().map(drop),
            Some(Security::Control(_)) => None,
        }
    }

    /// The arguments or results from here, up to `end` at most.
    fn items(
        &mut self,
        end: usize,
        known: RpcContext,
        is_call: bool,
        chunks: &ChunkLengths,
        replacer: &Replacer,
    ) -> Option<()> {
        let start = self.reader.offset();
        let body = self.from.get(start..end.min(self.from.len()))?;
        let procedure = known.procedure?;
        let (pieces, walk) = match is_call {
            true => {
                let reduced = Reduced::Call(&chunks.reads);
                let body = RpcBody { octets: body, position: start };
                nfs::pieces_of_arguments(procedure, known.is_callback, body, reduced)?
            }
            false => nfs::pieces_of_results(procedure, known.is_callback, body, Reduced::Reply(&chunks.writes))?,
        };
        let is_sound = match walk.end {
            Ok(()) => true,
            Err(error) => error.reason == WalkError::ENDS_INSIDE && !known.is_whole,
        };
        // If the items do not fit the body, what is taken for its structure may be something else: data, if it is here although a
        // chunk was to hold it, or anything, if the program is guessed. So is the word that does not fit.
        let claimed = walk.items.iter().find(|item| item.chunk.is_some()).map_or(usize::MAX, |item| item.inline_at);
        let last = pieces.last().map_or(0, |piece| piece.octets.start);
        let doubtful = match (is_sound, known.is_guessed) {
            (true, _) => usize::MAX,
            (false, true) => 0,
            (false, false) => claimed.min(last),
        };
        for piece in pieces {
            let Some(from) = body.get(piece.octets.clone()) else { continue };
            let to = self.to.get_mut(start..).and_then(|to| to.get_mut(piece.octets.clone()));
            let Some(to) = to else { continue };
            if piece.kind == PieceKind::Structure && piece.octets.start >= doubtful && !from.chunks(4).all(is_small) {
                // It stays large, so that it fits no better; zeros at its end may be padding.
                let end = from.iter().rposition(|octet| *octet != 0).map_or(0, |last| last + 1);
                if let Some((from, to)) = from.get(..end).zip(to.get_mut(..end)) {
                    replacer.value(from, to);
                }
                break;
            }
            match piece.kind {
                PieceKind::Structure => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
                PieceKind::Stateid => {
                    if let (Some((number, name)), Some((to_number, to_name))) =
                        (from.split_at_checked(4), to.split_at_mut_checked(4))
                    {
                        to_number.iter_mut().zip(number).for_each(|(to, from)| *to = *from);
                        replacer.value(name, to_name);
                    }
                }
                PieceKind::Value | PieceKind::Text => replacer.value(from, to),
                PieceKind::Data => {}
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Key;
    use super::*;

    /// A call of NFSv4 COMPOUND with PUTFH and WRITE.
    fn write(operations: u32, data: &[u8]) -> Vec<u8> {
        let word = |number: u32| number.to_be_bytes();
        let header = [1, 0, 2, 100_003, 4, 1, 0, 0, 0, 0].map(word).concat();
        let operations =
            [&[0, 1, operations, 22, 4].map(word).concat()[..], b"fh01", &[38].map(word).concat(), &[7; 16]].concat();
        let offset = [0, 0x1234_5678, 2, data.len() as u32].map(word).concat();
        [&header[..], &operations, &offset, data].concat()
    }

    fn copy(payload: &[u8], reads: &[(u64, u64)]) -> Vec<u8> {
        let chunks = ChunkLengths { reads: reads.to_vec(), writes: Vec::new(), payload: 0 };
        let known = RpcContext { is_whole: true, ..RpcContext::default() };
        rpc(1, payload, known, &chunks, &Replacer::new(&Key::new([7; 32])))
    }

    #[test]
    fn structure_offsets_and_counts_stay_and_the_rest_does_not() {
        let call = write(2, b"confidential");
        let copied = copy(&call, &[]);
        let data = call.len() - 12;
        let (handle, stateid) = (60..64, 72..84);
        for (at, (original, copied)) in call.iter().zip(&copied).enumerate() {
            if at < data && !handle.contains(&at) && !stateid.contains(&at) {
                assert_eq!(original, copied, "octet {at}");
            }
        }
        assert!(call[handle.clone()] != copied[handle] && call[stateid.clone()] != copied[stateid]);
        assert_eq!(copied[data..], [0; 12]);
    }

    /// The header says that the data is in a chunk, so what stands in its place is read as the next operation.
    #[test]
    fn data_that_is_taken_for_structure_does_not_stay() {
        let call = write(3, b"confidential");
        let data = call.len() - 12;
        let copied = copy(&call, &[(data as u64, 12)]);
        assert_ne!(copied[data..data + 4], *b"conf");
        assert_eq!(copied[data + 4..], [0; 8]);
    }

    #[test]
    fn every_cut_gives_as_many_octets() {
        let call = write(2, b"confidential");
        for length in 0..call.len() {
            assert_eq!(copy(&call[..length], &[]).len(), length);
        }
    }
}
