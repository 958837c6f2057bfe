//! Octets in several pieces: what RDMA moved becomes part of a message without being copied once more.

use core::ops::Range;
use std::sync::OnceLock;

/// Octets in several pieces, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    /// None is empty.
    pieces: Vec<Vec<u8>>,
    length: usize,
    /// All pieces in one, if requested and there are several.
    joined: OnceLock<Vec<u8>>,
    /// The octets outside of chunks in one, if somebody wanted that.
    reduced: OnceLock<Vec<u8>>,
}

impl Pieces {
    /// Appends a piece.
    pub(crate) fn push(&mut self, piece: Vec<u8>) {
        if !piece.is_empty() {
            self.length += piece.len();
            self.pieces.push(piece);
            (self.joined, self.reduced) = Default::default();
        }
    }

    /// Appends the pieces of another.
    pub(crate) fn append(&mut self, other: Self) {
        other.pieces.into_iter().for_each(|piece| self.push(piece));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(Vec::as_slice)
    }

    /// Octets in all.
    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns all octets in one piece. The first call copies several pieces.
    pub(crate) fn octets(&self) -> &[u8] {
        match self.pieces.as_slice() {
            [] => &[],
            [piece] => piece,
            pieces => self.joined.get_or_init(|| pieces.concat()),
        }
    }

    /// Returns the octets outside of the given ranges, in one piece. The first call copies the octets, so every call
    /// must pass the same ranges, in order.
    pub(crate) fn reduced(&self, left_out: impl Iterator<Item = Range<usize>>) -> &[u8] {
        self.reduced.get_or_init(|| self.outside(left_out))
    }

    fn outside(&self, mut left_out: impl Iterator<Item = Range<usize>>) -> Vec<u8> {
        let mut octets = Vec::new();
        let mut next = left_out.next();
        let mut at = 0;
        for mut piece in self.iter() {
            while !piece.is_empty() {
                let Range { start, end } = next.clone().unwrap_or(usize::MAX..usize::MAX);
                let is_kept = at < start;
                let until = if is_kept { start } else { end };
                let (head, rest) = piece.split_at_checked(until.saturating_sub(at)).unwrap_or((piece, &[]));
                if is_kept {
                    octets.extend_from_slice(head);
                }
                at += head.len();
                piece = rest;
                if at >= end {
                    next = left_out.next();
                }
            }
        }
        octets
    }
}

impl From<Vec<u8>> for Pieces {
    fn from(octets: Vec<u8>) -> Self {
        let mut pieces = Self::default();
        pieces.push(octets);
        pieces
    }
}

impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        self.octets() == other.octets()
    }
}

impl Eq for Pieces {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_outside_of_ranges_do_not_depend_on_the_pieces() {
        for cut in 0..=10 {
            let mut pieces = Pieces::from((0..cut).collect::<Vec<u8>>());
            pieces.push((cut..10).collect());
            for (left_out, kept) in [
                (&[][..], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9][..]),
                (&[2..4, 4..5], &[0, 1, 5, 6, 7, 8, 9]),
                (&[0..1, 1..4, 9..10], &[4, 5, 6, 7, 8]),
                (&[3..3, 8..12, 20..24], &[0, 1, 2, 3, 4, 5, 6, 7]),
            ] {
                assert_eq!(pieces.outside(left_out.iter().cloned()), kept, "{cut} {left_out:?}");
            }
        }
    }

    #[test]
    fn pieces_are_equal_if_their_octets_are() {
        let mut pieces = Pieces::from(vec![1, 2]);
        assert_eq!((pieces.octets(), pieces.len()), (&[1, 2][..], 2));
        pieces.push(Vec::new());
        pieces.push(vec![3]);
        assert_eq!((pieces.octets(), pieces.len()), (&[1, 2, 3][..], 3));
        pieces.append(Pieces::from(vec![4]));
        assert_eq!(
            (pieces.octets(), pieces.len()),
            (&[1, 2, 3, 4][..], 4),
            "what was joined before is not used any more"
        );
        assert_eq!(pieces, Pieces::from(vec![1, 2, 3, 4]));
        assert_ne!(pieces, Pieces::from(vec![1, 2, 3]));
        assert!(Pieces::from(Vec::new()).is_empty() && !pieces.is_empty());
    }
}
