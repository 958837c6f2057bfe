//! The part of XDR (RFC 4506) that COMPOUNDs need.

use super::Error;

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

/// Reads results from their start.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets, length: octets.len() }
    }

    /// Returns its offset in octets from the start of the results.
    pub(super) const fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or(Error::Results(self.offset()))?;
        self.rest = rest;
        Ok(*array)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn opaque(&mut self) -> Result<&'a [u8], Error> {
        let at = self.offset();
        let length = self.u32()? as usize;
        let room = length.checked_next_multiple_of(4).ok_or(Error::Results(at))?;
        let (opaque, rest) = self.rest.split_at_checked(room).ok_or(Error::Results(at))?;
        self.rest = rest;
        opaque.get(..length).ok_or(Error::Results(at))
    }
}
