//! Source of choices: a seed, or the octets of a fuzzer.

#[path = "../../../testdata/random.rs"]
mod numbers;

use numbers::Random;

/// A source of choices that are the same on every machine: nothing depends on the size of a pointer, on a clock, or on
/// the order of a hash table.
#[derive(Clone, Debug)]
pub struct Choices<'a>(Source<'a>);

#[derive(Clone, Debug)]
enum Source<'a> {
    Seed(Random),
    Octets(&'a [u8]),
}

impl<'a> Choices<'a> {
    /// Choices from a seed (SplitMix64).
    #[must_use]
    pub const fn of_seed(seed: u64) -> Self {
        Self(Source::Seed(Random(seed)))
    }

    /// Choices from the octets of a fuzzer; each one is 0 when the octets have run out.
    #[must_use]
    pub const fn of_octets(octets: &'a [u8]) -> Self {
        Self(Source::Octets(octets))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        match &mut self.0 {
            Source::Seed(random) => random.number(),
            Source::Octets(octets) => {
                let (first, rest) = octets.split_at(octets.len().min(8));
                *octets = rest;
                first.iter().rev().fold(0, |number, octet| number << 8 | u64::from(*octet))
            }
        }
    }

    /// Any word.
    pub fn word(&mut self) -> u32 {
        self.number() as u32
    }

    /// A number below `limit`; 0 if there is none.
    pub fn below(&mut self, limit: u32) -> u32 {
        self.word().checked_rem(limit).unwrap_or_default()
    }

    /// One of these.
    pub fn one_of<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        // No list here has more entries than a word can count.
        all.get(self.below(u32::try_from(all.len()).unwrap_or(u32::MAX)) as usize)
    }
}
