//! Unpredictable numbers (RFC 8166 section 8.1.2): handles, offsets, packet sequence numbers.
//!
//! All come from the hash function of the standard library, keyed from the system's random source when a fabric is
//! created: without the key, the next value cannot be derived from the previous ones.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Use of a number; the same count gives different numbers for different uses.
#[derive(Clone, Copy, Hash)]
enum Use {
    Handle(u8),
    Offset,
    Name,
}

/// The source of a fabric's numbers.
#[derive(Debug, Default)]
pub(crate) struct Identifiers {
    key: RandomState,
    handles: AtomicU64,
    others: AtomicU64,
}

/// Rounds of the Feistel network that makes handles: four are generally enough to hide the input.
const ROUNDS: u8 = 4;

impl Identifiers {
    /// Returns a handle that was never used before. `None` when all 2^32 were used. Never returns 0, which means "none"
    /// in version 2 of the protocol (version two draft -01, `rdma_inv_handle`).
    pub(crate) fn handle(&self) -> Option<u32> {
        loop {
            let count = self.handles.fetch_add(1, Ordering::Relaxed);
            match self.permuted(u32::try_from(count).ok()?) {
                0 => {}
                handle => return Some(handle),
            }
        }
    }

    /// A Feistel network: each count leads to another handle, so none comes twice and no table of old ones is needed.
    fn permuted(&self, count: u32) -> u32 {
        let (mut left, mut right) = ((count >> 16) as u16, count as u16);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.key.hash_one((Use::Handle(round), right)) as u16);
        }
        u32::from(left) << 16 | u32::from(right)
    }

    /// Returns the offset of a region: less than 2^63, so that no region extends past the end of the address space.
    pub(crate) fn offset(&self) -> u64 {
        self.other(Use::Offset) >> 1
    }

    /// Returns any number: a first packet sequence number, a name for a connection.
    pub(crate) fn name(&self) -> u32 {
        self.other(Use::Name) as u32
    }

    fn other(&self, of: Use) -> u64 {
        self.key.hash_one((of, self.others.fetch_add(1, Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn handles_are_unique_and_unpredictable() {
        let identifiers = Identifiers::default();
        let handles: Vec<u32> = (0..100_000).map(|_| identifiers.handle().unwrap()).collect();
        assert_eq!(handles.iter().collect::<HashSet<_>>().len(), handles.len());
        let differences: HashSet<u32> = handles.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        assert!(differences.len() > 99_000, "{}", differences.len());
    }

    #[test]
    fn handles_end_when_all_were_given_out() {
        let identifiers = Identifiers::default();
        identifiers.handles.store(u64::from(u32::MAX) - 1, Ordering::Relaxed);
        assert!((0..4).filter_map(|_| identifiers.handle()).count() <= 2);
        assert_eq!(identifiers.handle(), None);
    }

    #[test]
    fn two_fabrics_have_other_numbers() {
        let (one, other) = (Identifiers::default(), Identifiers::default());
        assert_ne!([one.offset(), one.offset()], [other.offset(), other.offset()]);
        assert_ne!([one.handle(), one.handle()], [other.handle(), other.handle()]);
    }
}
