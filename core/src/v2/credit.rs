//! `rdma_credit` of version 2: two numbers in one word, or one (version two draft -01, "Flow Control"; -07 section 4.2.1).
//!
//! ```text
//!  0                 2                 4
//! +-----------------+-----------------+
//! | maximum         | granted         |   drafts -00 to -04
//! +-----------------+-----------------+
//! | limit                             |   drafts -06 and -07
//! +-----------------------------------+
//! ```
//!
//! So the word of family A is split. That of family B is split in drafts -03 and -04, not fully defined in -05, and a
//! limit on a running count of messages in -06 and -07, whose rule for the limit contradicts itself. Nothing in a
//! message shows which draft the sender follows, so a program that displays the word of family B prints both readings.

use core::fmt;

/// `rdma_credit` in wire format.
///
/// ```
/// use rpcrdma::v2::Credit;
///
/// let credit = Credit::new(32, 128);
/// assert_eq!(credit, Credit(0x0080_0020));
/// assert_eq!((credit.granted(), credit.maximum()), (32, 128));
/// assert_eq!(credit.limit(), 8_388_640);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Credit(pub u32);

impl Credit {
    /// Creates a grant of `granted` credits, by a sender that can have `maximum` outstanding.
    #[must_use]
    pub const fn new(granted: u16, maximum: u16) -> Self {
        Self((maximum as u32) << 16 | granted as u32)
    }

    /// Returns the number of messages that the sender newly permits the peer to send: the low half. 0 is not to be
    /// sent.
    #[must_use]
    pub const fn granted(self) -> u16 {
        let [_, _, high, low] = self.0.to_be_bytes();
        u16::from_be_bytes([high, low])
    }

    /// Returns the word as one number: messages that the peer may have sent on the connection (drafts -06 and -07).
    #[must_use]
    pub const fn limit(self) -> u32 {
        self.0
    }

    /// Returns the maximum number of messages that can be outstanding at the sender: the high half.
    #[must_use]
    pub const fn maximum(self) -> u16 {
        let [high, low, ..] = self.0.to_be_bytes();
        u16::from_be_bytes([high, low])
    }
}

/// The split; see [`Self::limit`] for the other reading.
impl fmt::Display for Credit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.granted(), self.maximum())
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn the_low_half_is_granted() {
        let credit = Credit(0xffff_0001);
        assert_eq!((credit.granted(), credit.maximum(), Credit::new(1, 0xffff)), (1, 0xffff, credit));
        assert_eq!(Credit(0x0001_fffe).to_string(), "65534/1");
    }
}
