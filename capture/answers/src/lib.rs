//! Answers to questions about captures of RPC-over-RDMA: the library of the program `rpcrdma` above `rpcrdma-dissector`.
//! The dissector produces events and writes nothing; the answers count, judge and write the events.
//!
//! Each answer is a folder or a file: the counts are in `mod.rs`, the record in `record.rs`, the text in `text.rs`. Modules
//! that several answers share come first:
//!
//! - `format`: numbers, times, and lines for a screen; `record`: what all records share;
//! - `lines`, `called`, `name_counts`, `operation_name`, `operation_text`, [`file_names`], [`gaps`], `tries`, `unanswered`, `user`: what several answers say of a message, an RPC or a
//!   capture;
//! - [`selection`]: the part of a capture that an answer shows;
//! - the answers: [`messages`], [`transactions`], [`events`], [`stats`], [`findings`], [`top`], [`pending`], [`slow`],
//!   [`explain`], [`connections`], [`diagnosis`], [`compare`], and `outliers`, which one of many is slow; for other programs [`trace`] (Perfetto), [`export`] (RPC over TCP), [`annotate`]
//!   (Wireshark), `anonymize` (a capture to share) and [`report`] (HTML);
//! - [`text_tables`], the tables that commands print and their columns; [`summary`], the record that ends the output of each command; `record_types`, the names of all records; and from all records
//!   [`schema`], [`csv`] and `parquet`.
//!
//! # Features
//! Text, records, CSV and the report are always there: every user of an answer needs one of these, and the packages for
//! this compile in seconds. Off by default:
//!
//! | feature | for | brings |
//! |---|---|---|
//! | `anonymize` | `anonymize`: captures without confidential content | aes, hmac, sha2, and the random numbers of a system |
//! | `parquet` | `parquet`: tables for data analysis; needs a C compiler | parquet, arrow |
#![forbid(unsafe_code)]

pub mod format;
mod record;

mod called;
pub mod file_names;
pub mod gaps;
pub mod lines;
mod name_counts;
mod operation_name;
mod operation_text;
mod promises;
mod small_map;
mod tries;
mod unanswered;
mod user;

pub use operation_name::OperationName;
pub use promises::{LongestPromise, OldestPromise, PromiseStatistics};
pub use record::JsonRecord;
// Types of the dissector are in signatures here.
pub use rpcrdma_dissector;
pub use unanswered::UnansweredWait;
pub use user::{RpcUser, UserNames};

pub mod annotate;
#[cfg(feature = "anonymize")]
pub mod anonymize;
pub mod compare;
pub mod connections;
pub mod diagnosis;
pub mod events;
pub mod explain;
pub mod export;
pub mod findings;
pub mod messages;
mod outliers;
pub mod pending;
pub mod report;
pub mod selection;
pub mod slow;
pub mod stats;
pub mod top;
pub mod trace;
pub mod transactions;

pub mod csv;
#[cfg(feature = "parquet")]
pub mod parquet;
mod record_fields;
mod record_types;
pub mod schema;
pub mod summary;
pub mod text_tables;
