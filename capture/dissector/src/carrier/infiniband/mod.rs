//! The InfiniBand transport, over RoCE and InfiniBand: packets, connection management, and order.

mod answers;
mod backlog;
mod checksums;
pub(crate) mod crc;
mod delivery;
mod flow;
mod loss_account;
pub(crate) mod management;
mod operation_sink;
pub(crate) mod ordering;
mod packet_duplicates;
pub(crate) mod queue_pairs;
mod reorder_buffer;
mod retransmission;
mod setup;
mod stream;
pub mod transport;
mod waiting;
