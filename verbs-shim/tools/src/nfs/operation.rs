//! Results and errors of an operation of NFSv4 (RFC 8881 section 15.1).

use rpcrdma_verbs::Stream;

use super::Failure;
use crate::xdr::{padding, push};

pub(super) const ACCESS_DENIED: Failure = 13;
pub(super) const EXISTS: Failure = 17;
pub(super) const NO_SPACE: Failure = 28;
pub(super) const NAME_TOO_LONG: Failure = 63;
pub(super) const STALE: Failure = 70;
pub(super) const BAD_HANDLE: Failure = 10_001;
pub(super) const BAD_COOKIE: Failure = 10_003;
pub(super) const NOT_SUPPORTED: Failure = 10_004;
pub(super) const DELAY: Failure = 10_008;
pub(super) const GRACE: Failure = 10_013;
pub(super) const RESOURCE: Failure = 10_018;
pub(super) const NO_FILE_HANDLE: Failure = 10_020;
pub(super) const MINOR_VERSION_MISMATCH: Failure = 10_021;
pub(super) const STALE_CLIENT: Failure = 10_022;
pub(super) const OLD_STATEID: Failure = 10_024;
pub(super) const BAD_STATEID: Failure = 10_025;
pub(super) const NOT_SAME: Failure = 10_027;
pub(super) const SYMBOLIC_LINK: Failure = 10_029;
pub(super) const ATTRIBUTE_NOT_SUPPORTED: Failure = 10_032;
pub(super) const NO_GRACE: Failure = 10_033;
pub(super) const BAD_XDR: Failure = 10_036;
pub(super) const BAD_CHARACTER: Failure = 10_040;
pub(super) const BAD_NAME: Failure = 10_041;
pub(super) const ILLEGAL: Failure = 10_044;
pub(super) const BAD_SESSION: Failure = 10_052;
pub(super) const BAD_SLOT: Failure = 10_053;
pub(super) const COMPLETE_ALREADY: Failure = 10_054;
pub(super) const SEQUENCE_MISORDERED: Failure = 10_063;
pub(super) const SEQUENCE_POSITION: Failure = 10_064;
pub(super) const CALL_TOO_LARGE: Failure = 10_065;
pub(super) const REPLY_TOO_LARGE: Failure = 10_066;
pub(super) const REPLY_TOO_LARGE_TO_KEEP: Failure = 10_067;
pub(super) const REPLY_NOT_KEPT: Failure = 10_068;
pub(super) const TOO_MANY_OPERATIONS: Failure = 10_070;
pub(super) const NOT_IN_SESSION: Failure = 10_071;
pub(super) const CLIENT_BUSY: Failure = 10_074;
pub(super) const BAD_HIGH_SLOT: Failure = 10_077;
pub(super) const NOT_ONLY_OPERATION: Failure = 10_081;

/// Results of an operation: the words before the data item, and the data item, which may be reduced.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) head: Stream,
    pub(super) item: Option<Vec<u8>>,
}

impl Answer {
    /// Returns the length of the results in octets.
    pub(super) fn len(&self) -> usize {
        self.head.len() + self.item.as_ref().map_or(0, |item| item.len().next_multiple_of(4))
    }
}

impl From<&[u32]> for Answer {
    fn from(words: &[u32]) -> Self {
        let mut results = Self::default();
        push(&mut results.head, words);
        results
    }
}

/// Results of a COMPOUND.
#[derive(Clone, Debug, Default)]
pub(super) struct CompoundReply {
    pub(super) status: Failure,
    pub(super) tag: Vec<u8>,
    pub(super) done: Vec<Done>,
}

/// An operation that was carried out, or failed.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) number: u32,
    pub(super) status: Failure,
    pub(super) answer: Answer,
}

impl CompoundReply {
    /// Length of an operation before the results, in octets: number and status.
    const OF_OPERATION: usize = 8;
    /// Length of the reply to an RPC without verifier, and of status and counts, in octets.
    const OF_REPLY: usize = 24 + 12;

    /// Returns the length of the reply in octets, with the header of RPC.
    pub(super) fn len(&self) -> usize {
        let done = self.done.iter().map(|done| Self::OF_OPERATION + done.answer.len());
        Self::OF_REPLY + self.tag.len().next_multiple_of(4) + done.sum::<usize>()
    }

    /// Appends the answer to results.
    pub(super) fn push(self, results: &mut Stream) {
        push(results, &[self.status, self.tag.len() as u32]);
        results.push(&self.tag);
        results.push(padding(self.tag.len()));
        push(results, &[self.done.len() as u32]);
        for Done { number, status, answer } in self.done {
            push(results, &[number, status]);
            results.push(answer.head.head());
            if let Some(item) = answer.item {
                results.push_item(item);
            }
        }
    }
}
