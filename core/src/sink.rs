//! Sink of encoded octets, which counts or writes them.
//!
//! Each type describes the wire form once, in [`Emit::emit`], which yields both the length and the octets.

use crate::error::EncodeError;
use crate::reader::padding;

/// Receives octets in the order of the wire.
pub(crate) trait Sink {
    fn put_octets(&mut self, octets: &[u8]);

    /// Writes items that all have the same size, one after the other.
    fn put_arrays<const N: usize>(&mut self, items: impl ExactSizeIterator<Item = [u8; N]>);

    #[inline]
    fn word(&mut self, word: u32) {
        self.put_octets(&word.to_be_bytes());
    }

    /// Writes a count (RFC 4506 sections 4.10 and 4.13).
    #[inline]
    fn count(&mut self, count: usize) {
        self.word(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Writes variable-length opaque data: the count, the octets, zeros up to a multiple of four (RFC 4506 section 4.10).
    #[inline]
    fn opaque(&mut self, octets: &[u8]) {
        self.count(octets.len());
        self.put_octets(octets);
        for _ in 0..padding(octets.len()) {
            self.put_octets(&[0]);
        }
    }
}

/// Anything on the wire that can be written.
pub(crate) trait Emit {
    fn emit<S: Sink>(&self, sink: &mut S);
}

struct Count(usize);

impl Sink for Count {
    #[inline(always)]
    fn put_octets(&mut self, octets: &[u8]) {
        self.0 = self.0.saturating_add(octets.len());
    }

    #[inline(always)]
    fn put_arrays<const N: usize>(&mut self, items: impl ExactSizeIterator<Item = [u8; N]>) {
        self.0 = self.0.saturating_add(items.len().saturating_mul(N));
    }
}

/// A buffer whose length was computed before by [`Count`], with the same `emit`, and so is never too short.
struct Buffer<'b>(&'b mut [u8]);

impl<'b> Buffer<'b> {
    #[inline(always)]
    fn place(&mut self, length: usize) -> &'b mut [u8] {
        let (place, rest) = core::mem::take(&mut self.0).split_at_mut_checked(length).unwrap_or_default();
        self.0 = rest;
        place
    }
}

impl Sink for Buffer<'_> {
    #[inline(always)]
    fn put_octets(&mut self, octets: &[u8]) {
        let place = self.place(octets.len());
        if place.len() == octets.len() {
            place.copy_from_slice(octets);
        }
    }

    #[inline(always)]
    fn put_arrays<const N: usize>(&mut self, items: impl ExactSizeIterator<Item = [u8; N]>) {
        let (places, _) = self.place(items.len().saturating_mul(N)).as_chunks_mut::<N>();
        for (place, item) in places.iter_mut().zip(items) {
            *place = item;
        }
    }
}

/// Implements and documents the public methods that encode a type. A trait with these methods would have to be imported
/// by each caller.
macro_rules! encodable {
    ($(#[$attribute:meta])* $type:ty, $noun:literal) => {
        impl $type {
            #[doc = concat!("Returns the length of the ", $noun, " on the wire, in octets.")]
            $(#[$attribute])*
            #[must_use]
            pub fn encoded_len(&self) -> usize {
                $crate::sink::encoded_len(self)
            }

            #[doc = concat!("Writes the ", $noun, " at the start of `buffer` and returns its length.")]
            ///
            /// # Errors
            /// An [`EncodeError`](crate::EncodeError) if `buffer` is too short; `buffer` is then unchanged.
            $(#[$attribute])*
            pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, $crate::EncodeError> {
                $crate::sink::encode(self, buffer)
            }
        }
    };
}

pub(crate) use encodable;

/// Returns the length of `item` on the wire in octets.
#[inline(always)]
pub(crate) fn encoded_len(item: &impl Emit) -> usize {
    let mut count = Count(0);
    item.emit(&mut count);
    count.0
}

/// Writes `item` at the start of `buffer` and returns the length in octets. A buffer that is too small stays unchanged.
#[inline(always)]
pub(crate) fn encode(item: &impl Emit, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let needed = encoded_len(item);
    let available = buffer.len();
    let Some((place, _)) = buffer.split_at_mut_checked(needed) else {
        return Err(EncodeError { needed, missing: needed.saturating_sub(available) });
    };
    item.emit(&mut Buffer(place));
    Ok(needed)
}
