//! A table of calls of constant size.

use core::array;

/// Identifies a call to the endpoint that issued the ID, as long as the call lasts. No later call has the same ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId {
    index: u16,
    generation: u32,
}

impl CallId {
    /// Returns a number below the endpoint's `CALLS`, for a table of the driver's own. No two calls have the same
    /// number at the same time; later ones may.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// Returns the ID as a number, for code in another language. Not the same as [`index`](Self::index).
    #[must_use]
    pub const fn to_number(self) -> u64 {
        (self.generation as u64) << 16 | self.index as u64
    }

    /// Creates the ID with this number. One that was never issued identifies no call.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        let [_, _, g0, g1, g2, g3, i0, i1] = number.to_be_bytes();
        Self { index: u16::from_be_bytes([i0, i1]), generation: u32::from_be_bytes([g0, g1, g2, g3]) }
    }
}

/// State of each call. The state of a call stays readable until the slot is used again.
#[derive(Debug)]
pub(super) struct Slots<T, const N: usize> {
    entries: [Entry<T>; N],
    /// Number of slots in use.
    count: usize,
}

#[derive(Debug, Default)]
struct Entry<T> {
    generation: u32,
    used: bool,
    value: T,
}

impl<T: Default, const N: usize> Slots<T, N> {
    pub(super) fn new() -> Self {
        Self { entries: array::from_fn(|_| Entry::default()), count: 0 }
    }

    /// Takes a free slot, which contains the state of the previous call.
    pub(super) fn take_slot(&mut self) -> Option<(CallId, &mut T)> {
        let (index, entry) = (0..u16::MAX).zip(&mut self.entries).find(|(_, entry)| !entry.used)?;
        entry.used = true;
        self.count = self.count.saturating_add(1);
        entry.generation = entry.generation.wrapping_add(1);
        Some((CallId { index, generation: entry.generation }, &mut entry.value))
    }

    /// Moves the entries to a table of `MORE`, if that is not less. IDs stay.
    pub(super) fn enlarge<const MORE: usize>(self) -> Slots<T, MORE> {
        let mut entries = self.entries.into_iter();
        Slots { entries: array::from_fn(|_| entries.next().unwrap_or_default()), count: self.count }
    }

    fn entry(&mut self, id: CallId) -> Option<&mut Entry<T>> {
        self.entries.get_mut(id.index()).filter(|entry| entry.used && entry.generation == id.generation)
    }

    pub(super) fn get(&mut self, id: CallId) -> Option<&mut T> {
        self.entry(id).map(|entry| &mut entry.value)
    }

    pub(super) fn peek(&self, id: CallId) -> Option<&T> {
        let entry = self.entries.get(id.index())?;
        (entry.used && entry.generation == id.generation).then_some(&entry.value)
    }

    /// Returns the number of slots in use.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Frees a slot.
    pub(super) fn free(&mut self, id: CallId) -> Option<&mut T> {
        self.entry(id)?.used = false;
        self.count = self.count.saturating_sub(1);
        self.entries.get_mut(id.index()).map(|entry| &mut entry.value)
    }

    /// Returns the slots in use. Iteration stops after the last: usually few are in use, and the first slots are taken
    /// first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (CallId, &T)> {
        let used = (0..u16::MAX).zip(&self.entries).filter(|(_, entry)| entry.used).take(self.count);
        used.map(|(index, entry)| (CallId { index, generation: entry.generation }, &entry.value))
    }

    pub(super) fn free_all(&mut self) {
        for entry in &mut self.entries {
            entry.used = false;
        }
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_the_generation_above_the_index() {
        let call = CallId { index: 0x0506, generation: 0x0102_0304 };
        assert_eq!(call.to_number(), 0x0102_0304_0506);
        assert_eq!(CallId::from_number(0x0102_0304_0506), call);
    }
}
