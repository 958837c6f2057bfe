//! The InfiniBand transport, over RoCE and InfiniBand: packets, connection management, and order.

mod checksums;
pub(crate) mod crc;
mod flow;
pub(crate) mod management;
pub(crate) mod ordering;
pub(crate) mod queue_pairs;
mod reorder_buffer;
mod retransmission;
mod setup;
mod stream;
pub mod transport;
mod waiting;
