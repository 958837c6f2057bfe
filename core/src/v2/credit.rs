//! `rdma_credit` of version 2: two numbers in one word (version two draft -01, "Flow Control").
//!
//! ```text
//!  0                 2                 4
//! +-----------------+-----------------+
//! | maximum         | granted         |
//! +-----------------+-----------------+
//! ```
//!
//! Drafts -00 to -04 split the word so. Since -05 it is one number of 32 bits, a limit on a running count of messages; but
//! the rule for that number contradicts itself, so only the split can be followed. Both are the same word here: nothing is
//! lost, and [`Credit::0`] is what the later drafts read.

use core::fmt;

/// `rdma_credit`, as it is on the wire.
///
/// ```
/// use rpcrdma::v2::Credit;
///
/// let credit = Credit::new(32, 128);
/// assert_eq!(credit, Credit(0x0080_0020));
/// assert_eq!((credit.granted(), credit.maximum()), (32, 128));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Credit(pub u32);

impl Credit {
    /// A grant of `granted` credits, by a sender that can have `maximum` outstanding.
    #[must_use]
    pub const fn new(granted: u16, maximum: u16) -> Self {
        Self((maximum as u32) << 16 | granted as u32)
    }

    /// Messages the sender newly permits its peer to send: the low half. 0 is not to be sent.
    #[must_use]
    pub const fn granted(self) -> u16 {
        let [_, _, high, low] = self.0.to_be_bytes();
        u16::from_be_bytes([high, low])
    }

    /// Messages that can be outstanding at the sender at most: the high half.
    #[must_use]
    pub const fn maximum(self) -> u16 {
        let [high, low, ..] = self.0.to_be_bytes();
        u16::from_be_bytes([high, low])
    }
}

impl fmt::Display for Credit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.granted(), self.maximum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn the_low_half_is_granted() {
        let credit = Credit(0xffff_0001);
        assert_eq!((credit.granted(), credit.maximum(), Credit::new(1, 0xffff)), (1, 0xffff, credit));
        assert_eq!(Credit(0x0001_fffe).to_string(), "65534/1");
    }
}
