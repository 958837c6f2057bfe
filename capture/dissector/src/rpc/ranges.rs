//! Octets of a segment that were moved, captured or not.

use core::ops::Range;

/// Ranges of octets, in ascending order; none touches the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// The most ranges that are kept. Peers fill a segment from one end to the other, or in a few pieces.
    const MOST: usize = 64;

    /// Adds a range. If there would be too many, does nothing and returns false.
    #[must_use]
    pub(crate) fn add_range(&mut self, range: Range<u64>) -> bool {
        // Data nearly always continues where it stopped.
        if let Some(last) = self.0.last_mut()
            && last.end == range.start
        {
            last.end = range.end.max(last.end);
            return true;
        }
        if range.is_empty() {
            return true;
        }
        let first = self.0.partition_point(|known| known.end < range.start);
        let after = self.0.partition_point(|known| known.start <= range.end);
        let touched = self.0.get(first..after).unwrap_or_default();
        if touched.is_empty() && self.0.len() >= Self::MOST {
            return false;
        }
        let start = touched.first().map_or(range.start, |known| known.start.min(range.start));
        let end = touched.last().map_or(range.end, |known| known.end.max(range.end));
        self.0.splice(first..after, core::iter::once(start..end));
        true
    }

    /// The first octets of `within` that are in no range.
    #[must_use]
    pub fn gap(&self, within: Range<u64>) -> Option<Range<u64>> {
        let next = self.0.partition_point(|known| known.end <= within.start);
        let mut rest = self.0.get(next..).unwrap_or_default().iter();
        let mut start = within.start;
        let mut upcoming = rest.next();
        if let Some(known) = upcoming.filter(|known| known.start <= start) {
            start = known.end;
            upcoming = rest.next();
        }
        let end = upcoming.map_or(within.end, |known| known.start.min(within.end));
        (start < end).then_some(start..end)
    }

    /// The end of the last range: no octet from there on was moved.
    #[must_use]
    pub fn end_offset(&self) -> u64 {
        self.0.last().map_or(0, |last| last.end)
    }

    /// Memory used by the ranges, in octets.
    pub(crate) const fn memory_used(&self) -> usize {
        self.0.len() * size_of::<Range<u64>>()
    }
}

/// Returns the first octets of a chunk that were not moved, counted from the start of the chunk. `segments` has, for
/// each segment, the moved octets and the number of octets that should have been moved.
pub(crate) fn gap<'a>(segments: impl Iterator<Item = (&'a Ranges, u64)>) -> Option<Range<u64>> {
    let mut before = 0;
    let mut found: Option<Range<u64>> = None;
    for (moved, length) in segments {
        match (&mut found, moved.gap(0..length)) {
            (None, Some(gap)) => found = Some(before + gap.start..before + gap.end),
            // It continues in the next segment.
            (Some(found), Some(gap)) if found.end == before + gap.start => found.end = before + gap.end,
            (Some(_), _) => break,
            (None, None) => {}
        }
        before += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(length: u64) -> Ranges {
        let mut ranges = Ranges::default();
        assert!(ranges.add_range(0..length));
        ranges
    }

    /// Against a table of octets.
    #[test]
    fn ranges_hold_the_octets_that_were_added() {
        let mut seed = 1_u64;
        let mut next = |most| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        for _ in 0..500 {
            let (mut ranges, mut octets) = (Ranges::default(), [false; 64]);
            for _ in 0..next(12) {
                let start = next(64);
                let end = start + next(65 - start);
                assert!(ranges.add_range(start..end));
                (start..end).for_each(|at| octets[at as usize] = true);
                let (from, to) = (next(64), 64);
                let first = (from..to).find(|&at| !octets[at as usize]);
                let gap = first.map(|first| first..(first..to).find(|&at| octets[at as usize]).unwrap_or(to));
                assert_eq!(ranges.gap(from..to), gap, "{ranges:?} {from}");
                assert!(ranges.0.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
                assert_eq!(ranges.end_offset(), octets.iter().rposition(|&is| is).map_or(0, |last| last as u64 + 1));
            }
        }
    }

    #[test]
    fn only_so_many_ranges_are_kept() {
        let mut ranges = Ranges::default();
        assert!((0..Ranges::MOST as u64).all(|at| ranges.add_range(at * 4..at * 4 + 2)));
        assert!(!ranges.add_range(1000..1001));
        assert!(ranges.add_range(2..4), "it closes a gap");
        assert!(ranges.add_range(1000..1001));
        assert_eq!(ranges.memory_used(), Ranges::MOST * size_of::<Range<u64>>());
    }

    #[test]
    fn a_gap_goes_on_in_the_next_segment() {
        let (half, none, whole) = (first(4), Ranges::default(), first(8));
        assert_eq!(gap([(&whole, 8), (&whole, 8)].into_iter()), None);
        assert_eq!(gap([(&whole, 8), (&half, 8), (&none, 8), (&whole, 8), (&none, 8)].into_iter()), Some(12..24));
        assert_eq!(gap([(&half, 4), (&none, 0), (&none, 2)].into_iter()), Some(4..6));
        assert_eq!(gap([(&half, 8), (&whole, 8), (&none, 2)].into_iter()), Some(4..8));
    }
}
