//! Numbers of work requests and Receives.

/// Number of a work request or a Receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkId {
    Receive(u32),
    Send(u32),
    /// An RDMA Read for the call with this number.
    Read(u32),
    /// An RDMA Write for the call with this number.
    Write(u32),
    /// An RDMA Read of the reply to this end's call with this number.
    ReadReply(u32),
    /// An RDMA Write of no octets.
    KeepAlive,
}

impl WorkId {
    pub(super) const fn to_id(self) -> u64 {
        match self {
            Self::Receive(number) => number as u64,
            Self::Send(number) => 1 << 32 | number as u64,
            Self::Read(number) => 2 << 32 | number as u64,
            Self::Write(number) => 3 << 32 | number as u64,
            Self::ReadReply(number) => 4 << 32 | number as u64,
            Self::KeepAlive => 5 << 32,
        }
    }

    pub(super) const fn from_id(id: u64) -> Self {
        let number = id as u32;
        match id >> 32 {
            0 => Self::Receive(number),
            1 => Self::Send(number),
            2 => Self::Read(number),
            3 => Self::Write(number),
            4 => Self::ReadReply(number),
            _ => Self::KeepAlive,
        }
    }
}
