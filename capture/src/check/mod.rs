//! Judges what two peers did by the rules of RPC-over-RDMA.
//!
//! A [`Checker`] takes the events of a dissector that was asked for [`Config::operations`](crate::dissector::Config), and
//! gives findings. The rules that one Send or the counts of a connection are judged by are in [`rpcrdma::rules`]; those here
//! need the RDMA operations, the connection's set-up or NFS. Each is a row of a table, or a constant beside the function that
//! judges by it:
//!
//! - `setup`: what the ends announced; `access`: RDMA operations; `exchange`: calls and replies with their data items;
//! - `history`: what is kept of a connection, and the rules that need it; messages of version 2.
//!
//! A rule that needs to know what the capture does not hold is not judged, and that is counted.
//!
//! ```
//! use rpcrdma_capture::{Capture, Checker, Config, Events};
//!
//! let capture = Capture::from_paths([concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/errors.pcap")]);
//! let mut events = Events::new(capture, Config { transactions: false, operations: true, ..Config::default() });
//! let mut checker = Checker::default();
//! for event in &mut events {
//!     checker.event(&event?);
//! }
//! let first = std::iter::from_fn(|| checker.finding()).find(|found| found.rule.slug == "list-flag").unwrap();
//! assert_eq!((first.stamp.frame, first.connection, first.offset), (110, 11, Some(16)));
//! # Ok::<(), rpcrdma_capture::FileError>(())
//! ```

mod access;
mod book;
mod catalogue;
mod checker;
mod empty_chunks;
mod exchange;
mod found;
mod history;
mod known;
pub mod send;
mod setup;
mod written;

pub use book::Count;
pub use catalogue::{find, rules};
pub use checker::Checker;
pub use found::{Blame, Found};
pub use known::{Deviation, Implementation, deviations};
