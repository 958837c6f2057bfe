//! Numbers that look random and are the same in each run.

/// Xorshift with 64 bits.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u32) -> Self {
        Self(u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The upper half: below 2^32, so it fits.
        (self.0 >> 32) as u32 % limit
    }

    /// Returns true once in `times`, on average.
    pub(crate) fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }
}
