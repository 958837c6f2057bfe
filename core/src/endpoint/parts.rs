//! Division of a Payload stream into the Sends of a continued message of version 2.

/// Octets of the Payload stream that go with each kind of header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    middle: u32,
    last: u32,
}

/// The next part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Portion {
    pub(super) length: u32,
    pub(super) is_last: bool,
}

/// The header of the next part is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EncodedPart {
    /// Length of the header in octets.
    pub(super) header_length: usize,
    pub(super) portion: Portion,
}

impl Parts {
    /// Plans Sends of at most `threshold` octets, with headers of these lengths: `last` for the last part, which has
    /// the chunks, and `middle` for all others. Returns `None` if not even a word fits after a header.
    pub(super) fn new(threshold: u32, middle: usize, last: usize) -> Option<Self> {
        let capacity = |header: usize| {
            let capacity = threshold.checked_sub(u32::try_from(header).ok()?)? & !3;
            (capacity > 0).then_some(capacity)
        };
        Some(Self { middle: capacity(middle)?, last: capacity(last)? })
    }

    /// Returns the next part when `left` octets are left, a multiple of four. The last is never empty.
    pub(super) fn next(self, left: u32) -> Portion {
        if left <= self.last {
            Portion { length: left, is_last: true }
        } else {
            Portion { length: self.middle.min(left.saturating_sub(4)), is_last: false }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn lengths(parts: Parts, mut left: u32) -> Vec<u32> {
        let mut lengths = Vec::new();
        loop {
            let Portion { length, is_last } = parts.next(left);
            assert!(length > 0 && length.is_multiple_of(4));
            lengths.push(length);
            left = left.checked_sub(length).unwrap();
            if is_last {
                assert_eq!(left, 0);
                return lengths;
            }
        }
    }

    #[test]
    fn each_send_is_full_but_the_last_which_has_something() {
        let parts = Parts::new(103, 20, 60).unwrap();
        assert_eq!(lengths(parts, 40), [40]);
        assert_eq!(lengths(parts, 44), [40, 4]);
        assert_eq!(lengths(parts, 80), [76, 4], "what is left would fit in a part that is not the last");
        assert_eq!(lengths(parts, 84), [80, 4]);
        assert_eq!(lengths(parts, 300), [80, 80, 80, 56, 4]);
        let parts = Parts::new(103, 20, 20).unwrap();
        assert_eq!(lengths(parts, 160), [80, 80]);
    }

    #[test]
    fn a_send_has_room_for_something() {
        for (threshold, middle, last) in [(63, 20, 60), (23, 20, 16), (10, 20, 20)] {
            assert_eq!(Parts::new(threshold, middle, last), None);
        }
        assert!(Parts::new(64, 20, 60).is_some());
    }
}
