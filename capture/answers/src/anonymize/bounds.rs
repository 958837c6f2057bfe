//! Bounds on memory.

/// Maximum number of frames held until their content is known.
pub(super) const HELD_FRAMES: usize = 65_536;
/// Maximum octets of held frames, and of the remembered data of packets.
pub(super) const HELD_OCTETS: usize = 64 << 20;
/// The most connections, retransmitted packets and long messages that are remembered.
pub(super) const REMEMBERED: usize = 65_536;
