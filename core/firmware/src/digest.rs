//! The digest of what was done: 64 bits by which any two programs can see that both have done the same, in whatever
//! language, on whatever machine. This is its definition.
//!
//! The digest is FNV-1a with 64 bits. It takes *words*: four octets, the most significant first; *long words*: eight
//! octets; and *strings of octets*: their number as a word, then themselves. A number that `rpcrdma.h` gives to something,
//! such as `RPCRDMA_DO_SEND`, is the word for it here, and members of its structures that mean nothing are 0.
//!
//! Each line of output ends in a digest of its own. The first three go through all recorded Sends.
//!
//! **decode.** Of each Send:
//! 1. The format of version 2 that it shows: `RPCRDMA_FAMILY_A`, `RPCRDMA_FAMILY_B`, or 0.
//! 2. If it cannot be decoded in its version: 0, and what is wrong: kind, offset, and the error to answer with.
//!    If it can: 1, XID, credits, and the procedure or header type; in version 2 the flags, the handle to invalidate, and the
//!    remaining octets; then the error with two words, the chunks; in version 2 the Call chunk and the properties;
//!    and the length of the header and of what follows it.
//!    - A Read list: for each segment 1, Position, and the segment. Then 0.
//!    - A Write list: for each chunk 1, and the chunk. Then 0. The Reply chunk: 1 and the chunk, or 0.
//!    - A chunk: the number of its segments, and each. A segment: handle, length, and offset as a long word.
//!    - Properties: how many there are, and of each its number, kind, value as a number, and value as octets.
//! 3. If it was decoded, what follows the header as an RPC Call, and as an RPC Reply. Either is 0 with kind and offset of
//!    what is wrong; or 1 and the members of `rpcrdma_rpc_call` or `rpcrdma_rpc_reply` in their order. A credential or
//!    verifier is its flavor and its octets.
//!
//! **rules.** Each Send is judged as received by a Requester, then by a Responder, and as the Reply to the Send before it
//! if both are of one version and can be decoded. Each time, of each finding: its slug as octets, offset, severity, reaction
//! and answer; then the number of findings.
//!
//! **replies.** Of each Send that can be decoded, what comes of encoding: its header; if that has chunk lists, a Reply
//! without results, one with 4 octets in the first Write chunk, and one of 4 octets in the Reply chunk; then what follows the
//! header, if that is an RPC Call or an RPC Reply. Of others, what comes of encoding the error to answer with, if there is
//! one; supported are versions 1 and 2. Credits are 32, in version 2 0x00400020. What comes of it is 0 and the octets; 1 if
//! the Call has no such chunk; 2 if it is too small; 3 if there is another reason, such as
//! more than 4096 octets.
//!
//! **endpoints.** The calls of `connection.rs`, in each version. As it happens:
//! - Each output of either end: `rpcrdma_output`, member by member, with what its pointers point to. An array is the number of
//!   its items, and the items.
//! - Each Send that arrives, as octets, with its damage.
//! - Whether an endpoint accepts what it is told: 0 or 1.
//! - What becomes of a reply: `RPCRDMA_FORM_SHORT` and so on; 0 if it is not accepted.
//! - What becomes of a call: an `Outcome`, from 0.
//! - In version 2, whom a Send is for: `rpcrdma_arrival`, member by member.

use core::fmt;

/// A digest in the making.
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add_octets(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = (self.0 ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(crate) fn word(&mut self, word: u32) {
        self.add_octets(&word.to_be_bytes());
    }

    pub(crate) fn words(&mut self, words: &[u32]) {
        for word in words {
            self.word(*word);
        }
    }

    pub(crate) fn long(&mut self, word: u64) {
        self.add_octets(&word.to_be_bytes());
    }

    /// A length or an offset: nothing here is so large that it is cut.
    pub(crate) fn size(&mut self, size: usize) {
        self.word(size as u32);
    }

    pub(crate) fn octets(&mut self, octets: &[u8]) {
        self.size(octets.len());
        self.add_octets(octets);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "digest {:016x}", self.0)
    }
}
