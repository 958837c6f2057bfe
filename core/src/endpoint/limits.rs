//! What a Responder accepts from a peer that may be hostile (RFC 8166 section 8.1.4), and which Calls can be put
//! together.

use core::cmp::Ordering;
use core::mem;

use heapless::Vec;

use super::stream::{Item, in_order, taken};
use crate::lists::Chunks;
use crate::segment::Segment;

/// How large a Call may be. A larger one is answered with `ERR_CHUNK` before anything is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Read chunks in a Call, not counting a Position Zero chunk.
    pub read_chunks: usize,
    /// Write chunks in a Call.
    pub write_chunks: usize,
    /// Segments in all chunks of a Call together.
    pub segments: usize,
    /// Octets of a Call that was put together.
    pub octets: u32,
}

impl Limits {
    /// One chunk of each kind with 16 segments, which an NFS server has to accept (RFC 8267 section 6.4.2), and 1 MiB of
    /// data.
    #[must_use]
    pub const fn new() -> Self {
        Self { read_chunks: 1, write_chunks: 1, segments: 64, octets: 0x11_0000 }
    }

    /// No chunks at all, so only Calls within the inline threshold: enough for a reverse direction whose upper layer
    /// needs no more (RFC 8167 section 5.3).
    pub const NO_CHUNKS: Self = Self { read_chunks: 0, write_chunks: 0, segments: 0, octets: u32::MAX };

    /// The same limits with these numbers of Read chunks, not counting a Position Zero chunk, and Write chunks in a Call.
    #[must_use]
    pub const fn with_chunks(self, read_chunks: usize, write_chunks: usize) -> Self {
        Self { read_chunks, write_chunks, ..self }
    }

    /// The same limits with this number of segments in all chunks of a Call together.
    #[must_use]
    pub const fn with_segments(self, segments: usize) -> Self {
        Self { segments, ..self }
    }

    /// The same limits with this length of a whole Call, in octets.
    #[must_use]
    pub const fn with_octets(self, octets: u32) -> Self {
        Self { octets, ..self }
    }
}

/// [`Limits::new`].
impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

/// How a Call is put together.
pub(super) struct Assembly<const CHUNKS: usize> {
    /// The Read chunks to insert.
    pub(super) items: Vec<Item, CHUNKS>,
    /// Octets of the whole.
    pub(super) length: u32,
}

impl Limits {
    /// Judges the chunks of a Call that has `inline` octets of Payload stream after its header; `None` if the Call is
    /// to be answered with `ERR_CHUNK`.
    pub(super) fn assembly<const CHUNKS: usize>(
        &self,
        chunks: &Chunks<'_>,
        long: bool,
        inline: usize,
    ) -> Option<Assembly<CHUNKS>> {
        if !self.allow(chunks) {
            return None;
        }
        let (mut first, mut items) = (None, Vec::new());
        for chunk in chunks.reads.chunks() {
            let length = u32::try_from(chunk.segments.length()).ok()?;
            if chunk.position > 0 {
                insert(&mut items, Item { position: chunk.position, length })?;
            } else if first.replace(length).is_some() {
                return None;
            }
        }
        // A Call is in one place: the Send or a Position Zero chunk.
        let source = match (long, first) {
            (true, Some(length)) if inline == 0 && length > 0 => u64::from(length),
            (false, None) => inline as u64,
            _ => return None,
        };
        let length = source.saturating_add(taken(&items));
        let sound = items.len() <= self.read_chunks && length <= u64::from(self.octets) && in_order(&items, length);
        Some(Assembly { items, length: u32::try_from(length).ok().filter(|_| sound)? })
    }

    fn allow(&self, chunks: &Chunks<'_>) -> bool {
        let writes = || chunks.writes.iter().chain(chunks.reply);
        let count = writes().fold(chunks.reads.len(), |sum, chunk| sum.saturating_add(chunk.len()));
        chunks.writes.len() <= self.write_chunks
            && count <= self.segments
            && !chunks.reads.iter().any(|read| read.target.wraps())
            && !writes().any(|chunk| chunk.iter().any(Segment::wraps))
    }
}

/// Puts an item among those before it, by Position: RFC 8166 requires no order in a Read list. `None` if there is no
/// room, or one of this Position already.
fn insert<const CHUNKS: usize>(items: &mut Vec<Item, CHUNKS>, item: Item) -> Option<()> {
    items.push(item).ok()?;
    for end in (1..items.len()).rev() {
        if let Some([before, last]) = items.get_mut(end.saturating_sub(1)..=end) {
            match before.position.cmp(&last.position) {
                Ordering::Less => break,
                Ordering::Equal => return None,
                Ordering::Greater => mem::swap(before, last),
            }
        }
    }
    Some(())
}
