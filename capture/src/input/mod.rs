//! What is read that is no capture file: one Send, as a hex dump.

pub mod hexdump;
pub mod send;
