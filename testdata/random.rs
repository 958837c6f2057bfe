//! Random numbers for the tests of all packages, which include this file: the same on every machine. Published code cannot
//! include it, so the loopback's faults, the probe's messages, `compare` and an example have their own. The programs for
//! firmware have a generator of a few instructions, the same in Rust and C.

#![allow(dead_code, unreachable_pub, reason = "no test needs all of it, and some have it in a public module")]
#![allow(clippy::unwrap_used, reason = "a number below a limit has the limit's type")]

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the first number of a seed: every bit of the seed changes half the bits of the number.
pub const fn mixed(seed: u64) -> u64 {
    let number = seed.wrapping_add(STEP);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Random {
    pub const fn number(&mut self) -> u64 {
        let number = mixed(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    pub const fn word(&mut self) -> u32 {
        self.number() as u32
    }

    /// Returns a number from 0 up to, but not including, `limit`.
    pub fn below<N: TryFrom<u64, Error: std::fmt::Debug> + TryInto<u64, Error: std::fmt::Debug>>(
        &mut self,
        limit: N,
    ) -> N {
        N::try_from(self.number() % limit.try_into().unwrap()).unwrap()
    }

    /// Returns true once in `times` calls.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
