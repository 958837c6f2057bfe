//! From a capture file to RPC messages and transactions, in one pass.
#![forbid(unsafe_code)]

mod carrier;
pub mod check;
mod dissector;
mod event;
mod events;
mod file;
mod input;
pub mod link;
pub mod nfs;
pub mod output;
#[cfg(feature = "program")]
#[doc(hidden)]
pub mod program;
mod rpc;
mod session;

pub use carrier::connection::{Announced, Connection, Counts, Endpoint, Rejected, Shown};
pub use carrier::infiniband::crc::{CrcVerdict, verify_crc};
pub use carrier::iwarp::terminate::Terminate;
pub use carrier::operation::{Progress, Side, Sides, Stamp};
pub use check::{Checker, Found};
pub use dissector::{Config, Dissector, NFS_RDMA_PORT, Summary};
pub use event::{Event, Lost, MemoryUse, MemoryUseKind, Opened, Report, Terminated};
pub use events::Events;
pub use file::{Capture, FileError, Files, Frame, LinkType, Problem, Reader, Time};
pub use input::send::lone_message;
pub use link::{Address, Carrier};
pub use rpc::header::{AnyErrorBody, Decoded, Dialect, Header, PayloadPlace, Reaction};
pub use rpc::known::{Direction, Rpc, Security, Status, Walked};
pub use rpc::message::{Answered, Captured, Detail, Dropped, Earlier, Message, OtherCall};
pub use rpc::not_rebuilt::{ChunkName, NotRebuilt};
pub use rpc::phases::{NotTimed, Phase, Phases};
pub use rpc::ranges::Ranges;
pub use rpc::transaction::{Form, Half, Rebuilt, Transaction};
