//! Connection requests that were rejected, or never answered.

use core::fmt;

use super::connection::RequestTimes;
use super::operation::Stamp;
use crate::link::{Address, Carrier};

/// A connection request that was rejected.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rejected {
    /// The frame of the rejection.
    pub stamp: Stamp,
    /// End that rejected the request.
    pub from: Address,
    /// End that asked for the connection.
    pub to: Address,
    /// The requested service ID.
    pub service: Option<u64>,
    /// Kind of rejection.
    pub kind: RejectionKind,
    /// Duplicates of the request, if that was seen.
    pub asked: Option<RequestTimes>,
    /// True if the request had RFC 8797 private data.
    pub has_private_data: bool,
    /// True if the connection was to carry RPC-over-RDMA: the port is one of [`Config::ports`](crate::Config::ports),
    /// or the request has RFC 8797 private data.
    pub is_for_rpc: bool,
}

impl Rejected {
    /// Makes a rejection of a connection that need not have been for RPC-over-RDMA.
    #[must_use]
    pub const fn new(stamp: Stamp, from: Address, to: Address, service: Option<u64>, kind: RejectionKind) -> Self {
        Self { stamp, from, to, service, kind, asked: None, has_private_data: false, is_for_rpc: false }
    }
}

/// A connection request to which the capture holds no answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UnansweredRequest {
    /// End that asked for the connection.
    pub from: Address,
    /// End that was asked.
    pub to: Address,
    /// The requested service ID.
    pub service: Option<u64>,
    /// Duplicates of the request.
    pub asked: RequestTimes,
    /// Carrier of the connection.
    pub carrier: Carrier,
    /// True if the other end confirmed the receipt of the request: MRA, or an acknowledgement of the MPA request.
    pub is_received: bool,
    /// True if the connection was to carry RPC-over-RDMA, as in [`Rejected::is_for_rpc`].
    pub is_for_rpc: bool,
}

/// Kind of rejection of a connection request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RejectionKind {
    /// REJ of InfiniBand's connection management, with this reason code.
    Management(u16),
    /// An MPA reply that rejects the connection (iWARP).
    Mpa,
    /// A TCP segment with RST in answer to the SYN.
    Reset,
    /// A TCP segment with FIN or RST in answer to the MPA request.
    Closed,
}

impl RejectionKind {
    /// InfiniBand's reason code; `None` for iWARP, which has none.
    #[must_use]
    pub const fn reason(self) -> Option<u16> {
        match self {
            Self::Management(reason) => Some(reason),
            Self::Mpa | Self::Reset | Self::Closed => None,
        }
    }

    /// Meaning of the rejection, without the code.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            // InfiniBand Architecture, volume 1, section 12.6.7.2.
            Self::Management(reason) => match reason {
                1 => "its adapter has no queue pair left",
                2 | 3 => "it has no resources left",
                4 => "it got no answer in time",
                5 => "it does not support the request",
                6 | 7 => "it does not know the connection",
                8 => "nothing listens on the port",
                9 => "it does not support the transport",
                10 => "it still knows an older connection of the queue pair",
                11 => "it does not know the reliable datagram channel",
                12..=23 | 32 | 33 => "the address or path is not valid",
                24 | 25 => "the request has to go to another port",
                26 => "the path MTU is not valid",
                27 => "it does not support so many RDMA Reads at a time",
                28 => "the program that listens there did not accept it",
                29 => "it does not support the number of RNR retries",
                30 => "the name of the connection is in use",
                31 => "it does not support the version of the request",
                _ => "the reason is not known",
            },
            Self::Mpa => "the program that listens there did not accept it",
            Self::Reset => "nothing listens on the port",
            Self::Closed => "it closed the TCP connection instead of an answer",
        }
    }

    /// Returns true if the rejection says that nothing listens on the port.
    pub const fn is_without_listener(self) -> bool {
        matches!(self, Self::Management(8) | Self::Reset)
    }
}

impl fmt::Display for RejectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Management(reason) => write!(f, "{} (REJ, reason {reason})", self.meaning()),
            Self::Mpa => write!(f, "{} (MPA reply)", self.meaning()),
            Self::Reset => write!(f, "{} (RST)", self.meaning()),
            Self::Closed => write!(f, "{} (FIN or RST after the MPA request)", self.meaning()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_is_said_in_words_with_its_code() {
        assert_eq!(RejectionKind::Management(8).to_string(), "nothing listens on the port (REJ, reason 8)");
        assert_eq!(RejectionKind::Management(99).to_string(), "the reason is not known (REJ, reason 99)");
        assert_eq!(RejectionKind::Reset.to_string(), "nothing listens on the port (RST)");
        let silent = (0..=40).filter(|reason| RejectionKind::Management(*reason).is_without_listener());
        assert_eq!(silent.collect::<Vec<_>>(), [8]);
    }
}
