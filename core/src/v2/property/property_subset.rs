//! Some of the properties of a set: `rpcrdma2_propsubset` (version two draft -07 section 5.1).
//!
//! ```text
//! n  word word ...
//! ```

use crate::error::DecodeError;
use crate::reader::{EndOfInput, Reader};
use crate::sink::{Emit, Sink, encodable};

/// Some of the properties of a set, one bit for each. No message of the drafts has a subset; extensions may.
///
/// ```
/// use rpcrdma::v2::PropertySubset;
///
/// // Two words; the first has bits 0 and 31, the second bit 1.
/// let octets = [0, 0, 0, 2, 0x80, 0, 0, 1, 0, 0, 0, 2, 0xff];
/// let (subset, rest) = PropertySubset::decode(&octets)?;
/// assert!((0..99).filter(|index| subset.contains(*index)).eq([0, 31, 33]));
/// assert_eq!(rest, [0xff]);
/// # Ok::<(), rpcrdma::error::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PropertySubset<'a> {
    words: &'a [[u8; 4]],
}

impl<'a> PropertySubset<'a> {
    /// Creates a subset of these words, each big-endian.
    #[must_use]
    pub const fn new(words: &'a [[u8; 4]]) -> Self {
        Self { words }
    }

    /// Reads a subset and returns the subset and the octets that follow.
    ///
    /// # Errors
    /// [`DecodeErrorKind::HeaderTruncated`](crate::error::DecodeErrorKind::HeaderTruncated) if the words are
    /// incomplete.
    pub fn decode(octets: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(octets);
        let mut words = || -> Result<_, EndOfInput> {
            let count = reader.u32()?;
            reader.arrays(count as usize)
        };
        let words = words().map_err(DecodeError::truncated)?;
        Ok((Self { words }, reader.rest()))
    }

    /// Returns true if the subset has the property at `index`, from 0: bit `index` mod 32 of word `index` div 32.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.words.get(index / 32).is_some_and(|word| u32::from_be_bytes(*word) >> (index % 32) & 1 == 1)
    }
}

encodable! {
    PropertySubset<'_>, "subset"
}

impl Emit for PropertySubset<'_> {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.count(self.words.len());
        sink.put_arrays(self.words.iter().copied());
    }
}
