//! A Payload stream and the data items moved apart from the stream (RFC 8166 section 3.4).
//!
//! ```text
//! unreduced   |  first range  | item | pad |  second range  | item |  third range  |
//! reduced     |  first range  |  second range  |  third range  |
//! ```
//!
//! An item is removed with the padding after the item; the padding is not transferred (section 3.4.5.2).

use core::iter::FusedIterator;
use core::ops::Range;
use core::slice;

use crate::segment::Segment;

/// A data item in an unreduced Payload stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Item {
    /// Octets from the start of the stream to the item, after the count of a variable-length item. A multiple of four.
    pub position: u32,
    /// Length in octets, without padding.
    pub length: u32,
}

impl Item {
    /// Returns the length of the item in the stream in octets, padding included.
    pub(super) fn padded_length(self) -> u64 {
        roundup(u64::from(self.length))
    }

    fn end_position(self) -> u64 {
        u64::from(self.position).saturating_add(self.padded_length())
    }

    /// Returns the range of the padding, if the item has padding.
    pub(super) fn padding(self) -> Option<Range<u32>> {
        let from = self.position.saturating_add(self.length);
        let to = u32::try_from(self.end_position()).ok()?;
        (from < to).then_some(from..to)
    }
}

/// Returns `length`, padded to a multiple of four.
pub(super) const fn roundup(length: u64) -> u64 {
    length.saturating_add(3) & !3
}

/// Returns the total length of `items` in the stream.
pub(super) fn total_length(items: &[Item]) -> u64 {
    items.iter().fold(0, |sum: u64, item| sum.saturating_add(item.padded_length()))
}

/// Returns true if a stream of `length` octets that begins with `head` can have these items.
pub(super) fn is_sound(head: &[u8], length: u32, items: &[Item]) -> bool {
    length.is_multiple_of(4) && length as usize >= head.len() && in_order(items, u64::from(length))
}

/// Returns true if the items lie in a stream of `length` octets, one after the other, at multiples of four.
pub(super) fn in_order(items: &[Item], length: u64) -> bool {
    let mut at = 4;
    for item in items {
        if !item.position.is_multiple_of(4) || u64::from(item.position) < at {
            return false;
        }
        at = item.end_position();
    }
    items.is_empty() || at <= length
}

/// Ranges of an unreduced Payload stream that remain when items are removed, in order.
#[derive(Clone, Debug)]
pub struct Ranges<'a> {
    items: slice::Iter<'a, Item>,
    at: u32,
    end: u32,
    /// Number of octets of the rest to leave out at the start, and the maximum number to return then.
    skip: u32,
    most: u32,
}

impl<'a> Ranges<'a> {
    /// Returns no range at all.
    pub(super) fn empty() -> Self {
        Self::new(&[], 0)
    }

    pub(super) fn new(items: &'a [Item], length: u32) -> Self {
        Self { items: items.iter(), at: 0, end: length, skip: 0, most: u32::MAX }
    }

    /// Returns at most `most` of the same octets, after the first `skip`.
    pub(super) fn window(self, skip: u32, most: u32) -> Self {
        Self { skip, most, ..self }
    }

    /// Returns the next range, in full.
    #[inline]
    fn next_whole(&mut self) -> Option<Range<u32>> {
        loop {
            let from = self.at;
            let to = match self.items.next() {
                Some(item) => {
                    self.at = u32::try_from(item.end_position()).unwrap_or(u32::MAX);
                    item.position
                }
                None if from < self.end => {
                    self.at = self.end;
                    self.end
                }
                None => return None,
            };
            // `next` passes over empty ranges too, and takes longer for it.
            if from < to {
                return Some(from..to);
            }
        }
    }
}

impl Iterator for Ranges<'_> {
    type Item = Range<u32>;

    #[inline]
    fn next(&mut self) -> Option<Range<u32>> {
        while self.most > 0 {
            let whole = self.next_whole()?;
            let length = whole.end.saturating_sub(whole.start);
            let skipped = length.min(self.skip);
            let taken = length.saturating_sub(skipped).min(self.most);
            self.skip = self.skip.saturating_sub(skipped);
            if taken > 0 {
                self.most = self.most.saturating_sub(taken);
                let from = whole.start.saturating_add(skipped);
                return Some(from..from.saturating_add(taken));
            }
        }
        None
    }
}

impl FusedIterator for Ranges<'_> {}

/// A part of a stream, and the segment in the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) at: u32,
    pub(super) remote: Segment,
}

impl Piece {
    /// Returns the first octets of the piece, at most `most`.
    pub(super) fn first(self, most: u32) -> Self {
        Self { remote: Segment { length: self.remote.length.min(most), ..self.remote }, ..self }
    }
}

/// Returns the next piece when ranges are moved to or from segments, one after the other, and `moved` octets are done.
pub(super) fn piece(
    mut ranges: impl Iterator<Item = Range<u32>>,
    mut segments: impl Iterator<Item = Segment>,
    moved: u64,
) -> Option<Piece> {
    let (mut left, mut skip) = (moved, moved);
    let (at, local) = ranges.find_map(|range| {
        let length = range.end.saturating_sub(range.start);
        into(length, &mut left).map(|done| (range.start.saturating_add(done), length.saturating_sub(done)))
    })?;
    let remote = segments.find_map(|segment| {
        into(segment.length, &mut skip).map(|done| Segment {
            length: segment.length.saturating_sub(done).min(local),
            offset: segment.offset.wrapping_add(u64::from(done)),
            ..segment
        })
    })?;
    Some(Piece { at, remote })
}

/// Returns the position of the next octet in `length` octets. `None` if that position is after the end.
fn into(length: u32, skip: &mut u64) -> Option<u32> {
    match skip.checked_sub(u64::from(length)) {
        Some(rest) => {
            *skip = rest;
            None
        }
        None => u32::try_from(*skip).ok(),
    }
}

/// Creates the ranges of a whole stream at `position` with `length` octets: just one.
pub(super) fn whole(position: u32, length: u32) -> core::iter::Once<Range<u32>> {
    core::iter::once(position..position.saturating_add(length))
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    const ITEMS: [Item; 2] = [Item { position: 8, length: 5 }, Item { position: 20, length: 4 }];

    #[test]
    fn an_item_leaves_with_its_padding() {
        assert!(Ranges::new(&ITEMS, 32).eq([0..8, 16..20, 24..32]));
        assert!(Ranges::new(&ITEMS, 24).eq([0..8, 16..20]));
        assert!(Ranges::new(&[], 24).eq(core::iter::once(0..24)));
        assert!(Ranges::empty().next().is_none());
        assert_eq!(total_length(&ITEMS), 12);
        assert_eq!(ITEMS.map(Item::padding), [Some(13..16), None]);
    }

    #[test]
    fn a_window_has_octets_of_several_ranges() {
        // 0..8, 16..20, 24..32: 20 octets.
        let window = |skip, most| {
            let ranges = Ranges::new(&ITEMS, 32).window(skip, most);
            ranges.map(|range| (range.start, range.end)).collect::<Vec<_>>()
        };
        assert_eq!(window(0, 8), [(0, 8)]);
        assert_eq!(window(0, 10), [(0, 8), (16, 18)]);
        assert_eq!(window(4, 12), [(4, 8), (16, 20), (24, 28)]);
        assert_eq!(window(8, 4), [(16, 20)]);
        assert_eq!(window(9, 100), [(17, 20), (24, 32)]);
        assert_eq!(window(20, 4), []);
        assert_eq!(window(3, 0), []);
    }

    #[test]
    fn nothing_is_left_between_items_that_touch() {
        let items = [ITEMS[0], Item { position: 16, length: 4 }];
        assert!(in_order(&items, 20));
        assert!(Ranges::new(&items, 20).eq(core::iter::once(0..8)));
    }

    #[test]
    fn items_lie_in_the_stream_in_order() {
        assert!(in_order(&ITEMS, 24));
        assert!(!in_order(&ITEMS, 23));
        for (items, why) in [
            ([ITEMS[1], ITEMS[0]], "descending"),
            ([ITEMS[0], Item { position: 12, length: 4 }], "in the one before"),
            ([ITEMS[0], Item { position: 18, length: 4 }], "not aligned"),
            ([Item { position: 0, length: 4 }, ITEMS[1]], "where the XID is"),
        ] {
            assert!(!in_order(&items, 100), "{why}");
        }
    }

    #[test]
    fn ranges_and_segments_need_not_end_together() {
        let segments = [(1, 10), (2, 0), (3, 100)].map(|(handle, length)| Segment { handle, length, offset: 1000 });
        let (mut moved, mut pieces) = (0, Vec::new());
        while let Some(piece) = piece(Ranges::new(&ITEMS, 32), segments.into_iter(), moved) {
            moved += u64::from(piece.remote.length);
            pieces.push((piece.at, piece.remote.handle, piece.remote.offset, piece.remote.length));
        }
        assert_eq!(pieces, [(0, 1, 1000, 8), (16, 1, 1008, 2), (18, 3, 1000, 2), (24, 3, 1002, 8)]);
    }
}
