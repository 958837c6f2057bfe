//! Interface of an adapter.

mod adapter;
#[cfg(feature = "rdma")]
pub(crate) mod descriptors;
mod error;
pub(crate) mod identifiers;
pub(crate) mod waiter;

pub(crate) use adapter::is_part;
pub use adapter::{Access, Completion, Depths, Kind, Local, Operation, Remote, Status, Verbs, WatchState, Work};
pub use error::{Error, NotRegistered};
pub use waiter::Waiter;
