//! A digest of whatever happens, in the order in which it happens.

use core::fmt::{self, Debug, Write};

/// FNV-1a with 64 bits: any two machines that do the same have the same one. It is no protection against anybody.
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn octets(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = (self.0 ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Every field of a value, as its `Debug` writes them.
    pub(crate) fn value(&mut self, value: &dyn Debug) {
        // Writing to a digest never fails.
        let _ = write!(self, "{value:?};");
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.octets(text.as_bytes());
        Ok(())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "digest {:016x}", self.0)
    }
}
