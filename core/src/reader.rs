//! Keeps track of the position in the input. No other file does.
//!
//! XDR (RFC 4506) is made of big-endian words of four octets; everything that an RPC-over-RDMA peer sends is read
//! through [`Reader`], so every error has an offset.
//!
//! ```
//! use rpcrdma::reader::{EndOfInput, Reader};
//!
//! let mut reader = Reader::new(&[0, 0, 0, 7, 0, 0, 0, 2, b'o', b'k', 0, 0, 0xff]);
//! assert_eq!(reader.u32(), Ok(7));
//! assert_eq!(reader.opaque(), Ok(&b"ok"[..]));
//! assert_eq!(reader.u32(), Err(EndOfInput { offset: 12 }));
//! assert_eq!(reader.rest(), [0xff]);
//! ```

use core::fmt;

/// The input ended before the requested item: `offset` is the start of that item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOfInput {
    /// Octets from the start of the input to the start of the incomplete item.
    pub offset: usize,
}

impl fmt::Display for EndOfInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "octet {}: the input ends within the item that begins here", self.offset)
    }
}

impl core::error::Error for EndOfInput {}

/// A cursor over octets that were received.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    /// Creates a cursor at the start of `octets`.
    #[inline]
    #[must_use]
    pub const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets, length: octets.len() }
    }

    /// Octets read so far.
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> usize {
        // The rest is never longer than the whole.
        self.length.wrapping_sub(self.rest.len())
    }

    /// Returns the octets that were not read yet.
    #[inline]
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    const fn end_of_input(&self) -> EndOfInput {
        EndOfInput { offset: self.offset() }
    }

    /// Reads the next `N` octets.
    ///
    /// # Errors
    /// [`EndOfInput`] if fewer are left; then nothing is consumed.
    #[inline]
    pub const fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], EndOfInput> {
        match self.rest.split_first_chunk::<N>() {
            Some((array, rest)) => {
                self.rest = rest;
                Ok(array)
            }
            None => Err(self.end_of_input()),
        }
    }

    /// Reads an XDR unsigned integer (RFC 4506 section 4.2).
    ///
    /// # Errors
    /// [`EndOfInput`] if fewer than 4 octets are left.
    #[inline]
    pub const fn u32(&mut self) -> Result<u32, EndOfInput> {
        match self.array::<4>() {
            Ok(word) => Ok(u32::from_be_bytes(*word)),
            Err(end) => Err(end),
        }
    }

    /// Reads an XDR unsigned hyper integer (RFC 4506 section 4.5).
    ///
    /// # Errors
    /// [`EndOfInput`] if fewer than 8 octets are left.
    #[inline]
    pub const fn u64(&mut self) -> Result<u64, EndOfInput> {
        match self.array::<8>() {
            Ok(word) => Ok(u64::from_be_bytes(*word)),
            Err(end) => Err(end),
        }
    }

    /// Reads the next `length` octets, without padding.
    ///
    /// # Errors
    /// [`EndOfInput`] if fewer are left; then nothing is consumed.
    #[inline]
    pub const fn read_octets(&mut self, length: usize) -> Result<&'a [u8], EndOfInput> {
        match self.rest.split_at_checked(length) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.end_of_input()),
        }
    }

    /// Reads the next `count` items of `N` octets each.
    ///
    /// # Errors
    /// [`EndOfInput`] if the input has fewer items; then nothing is consumed.
    #[inline]
    pub const fn arrays<const N: usize>(&mut self, count: usize) -> Result<&'a [[u8; N]], EndOfInput> {
        let Some(length) = count.checked_mul(N) else { return Err(self.end_of_input()) };
        match self.read_octets(length) {
            Ok(taken) => Ok(taken.as_chunks::<N>().0),
            Err(end) => Err(end),
        }
    }

    /// Reads XDR fixed-length opaque data (RFC 4506 section 4.9): `length` octets and the padding to a multiple of
    /// four.
    ///
    /// # Errors
    /// [`EndOfInput`] if data or padding are not all there; then nothing is consumed.
    #[inline]
    pub const fn opaque_fixed(&mut self, length: usize) -> Result<&'a [u8], EndOfInput> {
        let before = *self;
        let Ok(data) = self.read_octets(length) else { return Err(before.end_of_input()) };
        if self.read_octets(padding(length)).is_err() {
            *self = before;
            return Err(before.end_of_input());
        }
        Ok(data)
    }

    /// Reads XDR variable-length opaque data (RFC 4506 section 4.10): a count, that many octets, and padding.
    ///
    /// # Errors
    /// [`EndOfInput`] if count, data or padding are not all there; then nothing is consumed.
    #[inline]
    pub const fn opaque(&mut self) -> Result<&'a [u8], EndOfInput> {
        let before = *self;
        let Ok(length) = self.u32() else { return Err(before.end_of_input()) };
        match self.opaque_fixed(length as usize) {
            Ok(data) => Ok(data),
            Err(end) => {
                *self = before;
                Err(end)
            }
        }
    }
}

/// Returns the number of zero octets after `length` octets of opaque data (RFC 4506 section 4.9): 0 to 3.
#[inline]
#[must_use]
pub const fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_takes_its_padding() {
        let mut reader = Reader::new(&[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 9]);
        assert_eq!(reader.opaque(), Ok(&[1, 2, 3, 4, 5][..]));
        assert_eq!(reader.offset(), 12);
        assert_eq!(reader.rest(), &[9]);
    }

    #[test]
    fn arrays_are_all_there_or_none() {
        let mut reader = Reader::new(&[1, 2, 3, 4, 5]);
        assert_eq!(reader.arrays::<2>(3), Err(EndOfInput { offset: 0 }));
        assert_eq!(reader.arrays::<2>(usize::MAX), Err(EndOfInput { offset: 0 }));
        assert_eq!(reader.arrays::<2>(2), Ok(&[[1, 2], [3, 4]][..]));
        assert_eq!(reader.rest(), &[5]);
    }

    #[test]
    fn what_is_not_whole_is_not_consumed() {
        for octets in [&[0, 0, 0][..], &[0, 0, 0, 4, 1, 2, 3], &[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0]] {
            let mut reader = Reader::new(octets);
            assert!(reader.opaque().is_err());
            assert_eq!(reader.offset(), 0);
            assert_eq!(reader.rest(), octets);
        }
    }

    #[test]
    fn an_error_names_the_item_that_is_cut() {
        let mut reader = Reader::new(&[0, 0, 0, 1, 0, 0, 0, 9, 1]);
        assert_eq!(reader.u32(), Ok(1));
        assert_eq!(reader.opaque(), Err(EndOfInput { offset: 8 }));
        assert_eq!(reader.offset(), 4);
    }
}
