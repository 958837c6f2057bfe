//! Memory that the driver has registered.

/// Memory that the peer can access by RDMA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegisteredMemory {
    /// Handle of the memory (steering tag).
    pub handle: u32,
    /// Offset of the first octet.
    pub offset: u64,
}
