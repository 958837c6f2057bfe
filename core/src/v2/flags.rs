//! The word of flags that messages of [`family_a`](super::family_a) have.

use core::fmt;

bitflags::bitflags! {
    /// `rdma_flags`; flags without a meaning are kept as received, and are to be ignored.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct HeaderFlags: u32 {
        /// `RDMA2_F_RESPONSE`: the XID is one of the receiver's own Calls. Set in Replies and in every `RDMA2_ERROR`.
        const RESPONSE = 1;
        /// `RDMA2_F_MORE`: the payload goes on in the next message. For `RDMA2_MSG` and `RDMA2_CONNPROP` only.
        const MORE = 2;
        /// `RDMA2_F_TPMORE`: another `RDMA2_CONNPROP` follows (since draft -01). For `RDMA2_CONNPROP` only.
        const TPMORE = 4;
        const _ = !0;
    }
}

impl fmt::Display for HeaderFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(Self::RESPONSE, "RESPONSE"), (Self::MORE, "MORE"), (Self::TPMORE, "TPMORE")];
        let mut left = *self;
        for (flag, name) in names {
            if self.contains(flag) {
                left.remove(flag);
                f.write_str(name)?;
                if !left.is_empty() {
                    f.write_str(" ")?;
                }
            }
        }
        if left.is_empty() { Ok(()) } else { write!(f, "{:#x}", left.bits()) }
    }
}
