//! Writes XDR (RFC 4506) for COMPOUNDs. Their results are read by [`rpcrdma::Reader`].

/// Appends an opaque or string: count, octets, padding.
pub(super) fn put_opaque(octets: &mut Vec<u8>, opaque: &[u8]) {
    // Only names and file handles are sent here.
    put_u32(octets, opaque.len() as u32);
    octets.extend_from_slice(opaque);
    octets.resize(octets.len().next_multiple_of(4), 0);
}

/// Appends a word.
pub(super) fn put_u32(octets: &mut Vec<u8>, value: u32) {
    octets.extend_from_slice(&value.to_be_bytes());
}

/// Appends a hyper.
pub(super) fn put_u64(octets: &mut Vec<u8>, value: u64) {
    octets.extend_from_slice(&value.to_be_bytes());
}
