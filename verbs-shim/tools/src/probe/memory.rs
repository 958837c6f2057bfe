//! Memory that is advertised to the peer, between octets that must not change.

use rpcrdma::segment::Segment;
use rpcrdma_verbs::{Access, Error, Verbs};

use super::case::Usage;

/// Number of octets before and after the advertised memory.
const MARGIN: usize = 64;
/// Value of these octets, and of memory that the peer may write.
const FILL: u8 = 0xa5;

/// Memory of one segment.
pub(super) struct Area<V: Verbs> {
    region: V::Region,
    length: usize,
}

/// Content of withdrawn memory.
pub(super) struct Withdrawn {
    /// The advertised octets.
    pub(super) octets: Vec<u8>,
    /// True if octets before or after the memory were changed.
    pub(super) overrun: bool,
}

impl<V: Verbs> Area<V> {
    /// Returns the buffer to register so that these octets can be advertised.
    pub(super) fn around(octets: &[u8]) -> Vec<u8> {
        let margin = [FILL; MARGIN];
        [&margin, octets, &margin].concat()
    }

    /// Memory for the peer to write.
    pub(super) fn blank(length: usize) -> Vec<u8> {
        vec![FILL; length]
    }

    pub(super) const fn new(region: V::Region, length: usize) -> Self {
        Self { region, length }
    }

    /// Returns the segment for the peer.
    pub(super) fn segment(&self, verbs: &V) -> Segment {
        let whole = verbs.segment(&self.region);
        let length = u32::try_from(self.length).unwrap_or(u32::MAX);
        Segment { length, offset: whole.offset + MARGIN as u64, ..whole }
    }

    /// Withdraws it.
    pub(super) fn withdraw(self, verbs: &V) -> Result<Withdrawn, Error> {
        let all = verbs.deregister(self.region)?;
        let (before, rest) = all.split_at(MARGIN.min(all.len()));
        let (octets, behind) = rest.split_at(self.length.min(rest.len()));
        let overrun = before.iter().chain(behind).any(|octet| *octet != FILL);
        Ok(Withdrawn { octets: octets.to_vec(), overrun })
    }
}

/// Returns the rights that a use needs.
pub(super) fn access(usage: Usage) -> Access {
    match usage {
        Usage::Read => Access::REMOTE_READ,
        Usage::Write => Access::LOCAL_WRITE | Access::REMOTE_WRITE,
    }
}
