//! Limits of a Responder for a peer that may be hostile (RFC 8166 section 8.1.4), and checks of a Call's chunks.

use core::cmp::Ordering;
use core::mem;

use heapless::Vec;

use super::stream::{Item, in_order, total_length};
use super::wire::{CallForm, CallLists, ReceivedCall};
use crate::lists::ReadList;
use crate::segment::Segment;
use crate::v2::{ErrorBodyV2, ErrorCode};

/// Limits on the size of a Call. A larger one is answered with `ERR_CHUNK` before any RDMA Read is posted.
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
    /// Octets of all continued Calls of a connection together that are not answered (version 2).
    pub collected: u32,
}

impl Limits {
    /// Creates limits of one chunk of each kind with 16 segments, which an NFS server has to accept (RFC 8267 section 6.4.2), and
    /// 1 MiB of data; and four such Calls that are continued.
    #[must_use]
    pub const fn new() -> Self {
        Self { read_chunks: 1, write_chunks: 1, segments: 64, octets: 0x11_0000, collected: 0x44_0000 }
    }

    /// No chunks at all and nothing continued, so only Calls within the inline threshold: enough for a reverse direction
    /// whose upper layer needs no more (RFC 8167 section 5.3).
    pub const NO_CHUNKS: Self = Self { read_chunks: 0, write_chunks: 0, segments: 0, octets: u32::MAX, collected: 0 };

    /// Sets the maximum numbers of Read chunks, not counting a Position Zero chunk, and of Write chunks in a Call.
    #[must_use]
    pub const fn with_chunks(self, read_chunks: usize, write_chunks: usize) -> Self {
        Self { read_chunks, write_chunks, ..self }
    }

    /// Sets the maximum number of segments in all chunks of a Call together.
    #[must_use]
    pub const fn with_segments(self, segments: usize) -> Self {
        Self { segments, ..self }
    }

    /// Sets the maximum length of a whole Call, in octets.
    #[must_use]
    pub const fn with_octets(self, octets: u32) -> Self {
        Self { octets, ..self }
    }

    /// Sets the maximum number of octets of continued Calls together; 0 for none.
    #[must_use]
    pub const fn with_collected(self, octets: u32) -> Self {
        Self { collected: octets, ..self }
    }
}

/// [`Limits::new`].
impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

/// Limits on the segments of an end's Calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLimits {
    /// Maximum length of a segment in octets.
    pub octets: u32,
    /// Maximum number of segments of a Call.
    pub count: u32,
}

/// Layout of a Call: the parts that are sent inline, and the parts that are read.
pub(super) struct Assembly<const CHUNKS: usize> {
    /// The Read chunks to insert.
    pub(super) items: Vec<Item, CHUNKS>,
    /// Octets of the whole.
    pub(super) length: u32,
}

/// Reason why a Call cannot be assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAssembled {
    /// The Call is answered with this error, in the terms of version 2.
    Error(ErrorBodyV2),
    /// The header is valid, and the Read chunks have no place in the Payload stream (RFC 8166 section 4.5.2).
    Misplaced,
}

impl From<ErrorBodyV2> for NotAssembled {
    fn from(error: ErrorBodyV2) -> Self {
        Self::Error(error)
    }
}

/// Read chunks of a Call.
struct SortedReadChunks<const CHUNKS: usize> {
    /// Length of the chunk that holds the Payload stream, in octets.
    stream: Option<u32>,
    /// Items in the other chunks.
    items: Vec<Item, CHUNKS>,
}

impl Limits {
    /// Judges the chunks of a Call.
    ///
    /// # Errors
    /// [`NotAssembled`]: the answer to the Call.
    #[inline(always)]
    pub(super) fn assembly<const CHUNKS: usize>(
        &self,
        call: &ReceivedCall<'_>,
    ) -> Result<Assembly<CHUNKS>, NotAssembled> {
        let inline = call.payload.len() as u64;
        let (items, source) = if call.lists.is_empty() {
            (Vec::new(), (call.form == CallForm::Inline).then_some(inline))
        } else {
            self.allow::<CHUNKS>(&call.lists)?;
            let SortedReadChunks { stream, items } = self.read_chunks(&call.lists)?;
            // A Call is in one place: the Send or a Position Zero chunk.
            let source = match (call.form, stream) {
                (CallForm::Long, Some(length)) if inline == 0 && length > 0 => Some(u64::from(length)),
                (CallForm::Inline, None) => Some(inline),
                _ => None,
            };
            (items, source)
        };
        let length = source.ok_or(MALFORMED)?.saturating_add(total_length(&items));
        if !items.iter().all(|item| item.position.is_multiple_of(4)) {
            return Err(MALFORMED.into());
        }
        if !in_order(&items, length) {
            return Err(NotAssembled::Misplaced);
        }
        match u32::try_from(length) {
            Ok(length) if length <= self.octets => Ok(Assembly { items, length }),
            // The drafts have no code for this.
            _ => Err(ErrorBodyV2::Void(ErrorCode::SYSTEM).into()),
        }
    }

    /// Sorts the Read chunks of a Call.
    fn read_chunks<const CHUNKS: usize>(&self, lists: &CallLists<'_>) -> Result<SortedReadChunks<CHUNKS>, ErrorBodyV2> {
        let mut sorted = SortedReadChunks { stream: None, items: Vec::new() };
        for chunk in lists.call.chunks().chain(lists.chunks.reads.chunks()) {
            let length = u32::try_from(chunk.segments.length()).map_err(|_| MALFORMED)?;
            if chunk.position == 0 {
                if sorted.stream.replace(length).is_some() {
                    return Err(MALFORMED);
                }
            } else if sorted.items.len() >= self.read_chunks.min(CHUNKS) {
                return Err(ErrorBodyV2::ReadChunks { max_chunks: count(self.read_chunks.min(CHUNKS)) });
            } else {
                insert(&mut sorted.items, Item { position: chunk.position, length }).ok_or(MALFORMED)?;
            }
        }
        Ok(sorted)
    }

    fn allow<const CHUNKS: usize>(&self, lists: &CallLists<'_>) -> Result<(), ErrorBodyV2> {
        let CallLists { chunks, call, .. } = lists;
        let reads = || call.iter().chain(chunks.reads.iter());
        let writes = || chunks.writes.iter().chain(chunks.reply);
        if reads().any(|read| read.target.wraps()) || writes().any(|chunk| chunk.iter().any(Segment::wraps)) {
            return Err(MALFORMED);
        }
        if chunks.writes.len() > self.write_chunks.min(CHUNKS) {
            return Err(ErrorBodyV2::WriteChunks { max_chunks: count(self.write_chunks.min(CHUNKS)) });
        }
        let segments = chunks.reads.len().saturating_add(call.len());
        if writes().fold(segments, |sum, chunk| sum.saturating_add(chunk.len())) > self.segments {
            return Err(self.too_many::<CHUNKS>(&chunks.reads));
        }
        Ok(())
    }

    /// Returns the answer to too many segments: fewer segments do not help if there are too many chunks.
    #[cold]
    fn too_many<const CHUNKS: usize>(&self, reads: &ReadList<'_>) -> ErrorBodyV2 {
        let most = self.read_chunks.min(CHUNKS);
        if reads.chunks().filter(|chunk| chunk.position > 0).nth(most).is_some() {
            ErrorBodyV2::ReadChunks { max_chunks: count(most) }
        } else {
            ErrorBodyV2::Segments { max_segments: count(self.segments) }
        }
    }
}

const MALFORMED: ErrorBodyV2 = ErrorBodyV2::Void(ErrorCode::BAD_XDR);

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Inserts an item by Position: RFC 8166 requires no order in a Read list. `None` if `items` is full, or has an item of
/// this Position.
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
