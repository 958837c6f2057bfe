//! Writing into a copy that begins as zeros.

use core::ops::Range;

/// Copies octets that are not confidential.
pub(super) fn keep(from: &[u8], to: &mut [u8], octets: Range<usize>) {
    let end = octets.end.min(from.len());
    if let Some(from) = from.get(octets.start..end) {
        put(to, octets.start, from);
    }
}

/// Writes octets, as far as there is room.
pub(super) fn put(to: &mut [u8], at: usize, octets: &[u8]) {
    to.iter_mut().skip(at).zip(octets).for_each(|(to, from)| *to = *from);
}
