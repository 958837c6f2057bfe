//! The frames that carried the octets of an RPC message.

/// Octets of a message that one frame carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Number of the frame.
    pub(crate) frame: u64,
    /// The message that they belong to.
    pub(crate) part: PlacedPart,
    /// Offset of the first octet in the Send, or in the chunk.
    pub(crate) at: u64,
    /// Octets on the wire.
    pub(crate) length: u64,
}

/// A part of an RPC that holds a Payload stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlacedPart {
    /// A Send.
    Send,
    /// The Position Zero Read chunk of a call.
    Call,
    /// The Reply chunk.
    Reply,
}
