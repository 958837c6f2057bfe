//! Writing into a copy that begins as zeros.

use core::ops::Range;

use rpcrdma::private_data::PrivateData;

/// Copies octets that are not confidential.
pub(super) fn keep(from: &[u8], to: &mut [u8], octets: Range<usize>) {
    let end = octets.end.min(from.len());
    if let Some(from) = from.get(octets.start..end) {
        write_octets(to, octets.start, from);
    }
}

/// Writes octets, as far as there is room.
pub(super) fn write_octets(to: &mut [u8], at: usize, octets: &[u8]) {
    to.iter_mut().skip(at).zip(octets).for_each(|(to, from)| *to = *from);
}

/// Keeps private data that is RFC 8797's.
pub(super) fn keep_private_data(from: &[u8], to: &mut [u8], at: usize) {
    let is_known = from.get(at..).and_then(|rest| rest.get(..PrivateData::LEN));
    if is_known.is_some_and(|octets| PrivateData::find(octets).is_some()) {
        keep(from, to, at..at + PrivateData::LEN);
    }
}
