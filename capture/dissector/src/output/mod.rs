//! Writing what was found. Each answer is a folder or a file: what it counts in `mod.rs`, its record in `record.rs`, its text in
//! `text.rs`. What several share comes before them:
//!
//! - `format`: numbers, times, and lines for a screen; `record`: what all records share;
//! - `lines`, `called`, `operation_name`, [`file_names`], [`gaps`], `reason`, `unanswered`: what several answers say of a message, an RPC or a
//!   capture;
//! - [`selection`]: the part of a capture that an answer shows;
//! - the answers: [`messages`], [`transactions`], [`events`], [`stats`], [`findings`], [`top`], [`pending`], [`slow`],
//!   [`explain`], [`diagnosis`], [`compare`]; for other programs [`trace`] (Perfetto), [`export`] (RPC over TCP), [`annotate`]
//!   (Wireshark), [`anonymize`] (a capture to share) and [`report`] (HTML);
//! - [`summary`], the record that ends the output of each command; `record_types`, the names of all records; and from all records
//!   [`schema`], [`csv`] and `parquet`.
//!
//! Text is behind the feature `text`, records behind `json`, which brings `text`. Each answer that brings a package with it is
//! behind the feature of that name.

#[cfg(feature = "text")]
pub mod format;
#[cfg(feature = "json")]
mod record;

#[cfg(feature = "text")]
mod called;
#[cfg(feature = "text")]
pub mod file_names;
pub mod gaps;
#[cfg(feature = "text")]
pub mod lines;
mod operation_name;
pub(crate) mod reason;
mod unanswered;

pub use operation_name::OperationName;
#[cfg(feature = "json")]
pub use record::JsonRecord;
pub use unanswered::UnansweredWait;

#[cfg(all(feature = "export", feature = "text"))]
pub mod annotate;
#[cfg(feature = "anonymize")]
pub mod anonymize;
#[cfg(feature = "json")]
pub mod compare;
#[cfg(feature = "text")]
pub mod diagnosis;
#[cfg(feature = "text")]
pub mod events;
#[cfg(feature = "text")]
pub mod explain;
#[cfg(feature = "export")]
pub mod export;
#[cfg(feature = "text")]
pub mod findings;
#[cfg(feature = "text")]
pub mod messages;
#[cfg(feature = "text")]
pub mod pending;
#[cfg(feature = "report")]
pub mod report;
#[cfg(feature = "text")]
pub mod selection;
#[cfg(feature = "text")]
pub mod slow;
pub mod stats;
#[cfg(feature = "text")]
pub mod top;
#[cfg(feature = "json")]
pub mod trace;
#[cfg(feature = "text")]
pub mod transactions;

#[cfg(feature = "csv")]
pub mod csv;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(any(feature = "csv", feature = "parquet"))]
mod record_fields;
#[cfg(feature = "json")]
mod record_types;
#[cfg(feature = "schema")]
pub mod schema;
#[cfg(feature = "json")]
pub mod summary;
