//! Judges what two peers did by the rules of RPC-over-RDMA.
//!
//! A [`Checker`] takes the events of a dissector with [`Config::operations`](crate::dissector::Config) set, and gives
//! findings. The rules for single Sends, and for credits and thresholds, are in [`rpcrdma::rules`]; those here need
//! RDMA operations, connection setup, or NFS. Each rule is a row of a table, or a constant next to the function that
//! judges:
//!
//! - `setup`: what the ends announced; `access`: RDMA operations; `exchange`: calls and replies with their data items;
//! - `history`: state of a connection, and the rules that need the state; messages of version 2.
//!
//! A rule that needs something the capture lacks is not judged, and that is counted.
//!
//! ```
//! use rpcrdma_dissector::{Capture, Checker, Config, Events};
//!
//! let capture = Capture::from_paths(["examples/nfs.pcap"]);
//! let mut events = Events::new(capture, Config::for_checker());
//! let mut checker = Checker::default();
//! for event in &mut events {
//!     checker.event(&event?);
//! }
//! let found = checker.finding().expect("the server breaks two rules");
//! assert_eq!((found.rule.slug, found.stamp.frame, found.connection), ("write-unwritten", 25, 1));
//! assert_eq!(found.accepted_deviation().map(|deviation| deviation.implementation.name()), Some("Linux nfsd"));
//! # Ok::<(), rpcrdma_dissector::FileError>(())
//! ```

mod access;
mod book;
mod catalogue;
mod checker;
mod deviations;
mod empty_chunks;
mod exchange;
mod finding;
mod history;
pub mod send;
mod setup;
mod written_chunks;

pub use book::Count;
pub use catalogue::{find, rules};
pub use checker::Checker;
pub use deviations::{Deviation, Implementation, deviations};
pub use finding::{Blame, Found};
