//! The InfiniBand transport, over RoCE and InfiniBand: packets, connection management, and order.

mod again;
mod checksums;
pub(crate) mod crc;
mod flow;
mod held;
pub(crate) mod management;
pub(crate) mod ordering;
pub(crate) mod queue_pairs;
mod set_up;
mod stream;
pub mod transport;
mod waiting;
