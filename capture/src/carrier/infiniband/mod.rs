//! The InfiniBand transport, as RoCE and InfiniBand carry it: packets, connection management, and the order of things.

pub mod crc;
pub mod management;
pub mod ordering;
pub mod queue_pairs;
pub mod transport;
