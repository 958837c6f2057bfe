//! The InfiniBand transport, as RoCE and InfiniBand carry it: packets, connection management, and order.

pub mod crc;
mod flow;
mod held;
pub mod management;
pub mod ordering;
pub mod queue_pairs;
mod set_up;
mod stream;
pub mod transport;
mod waiting;
