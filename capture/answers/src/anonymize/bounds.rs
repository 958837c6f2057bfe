//! Bounds on memory.

/// The most frames that are held until it is known what is in them.
pub(super) const HELD_FRAMES: usize = 65_536;
/// The most octets of frames that are held until it is known what is in them, and of the data of packets that is remembered.
pub(super) const HELD_OCTETS: usize = 64 << 20;
/// The most connections, retransmitted packets and long messages that are remembered.
pub(super) const REMEMBERED: usize = 65_536;
