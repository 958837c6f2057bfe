//! Octets in several pieces: what RDMA moved becomes part of a message without being copied once more.

use std::sync::OnceLock;

/// Octets in several pieces, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    /// None is empty.
    pieces: Vec<Vec<u8>>,
    length: usize,
    /// All of them in one, if somebody wanted that and there are several.
    joined: OnceLock<Vec<u8>>,
}

impl Pieces {
    /// Appends a piece.
    pub(crate) fn push(&mut self, piece: Vec<u8>) {
        if !piece.is_empty() {
            self.length += piece.len();
            self.pieces.push(piece);
            self.joined = OnceLock::new();
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

    /// All octets in one piece. If there are several pieces, they are copied when this is called first.
    pub(crate) fn octets(&self) -> &[u8] {
        match self.pieces.as_slice() {
            [] => &[],
            [piece] => piece,
            pieces => self.joined.get_or_init(|| pieces.concat()),
        }
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
