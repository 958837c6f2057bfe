//! Messages: one line each, field by field, and as records.

#[cfg(feature = "json")]
mod chunks;
#[cfg(feature = "json")]
mod error;
#[cfg(feature = "json")]
mod faults;
mod fields;
#[cfg(feature = "json")]
pub(super) mod record;
#[cfg(feature = "json")]
mod salvaged;
#[cfg(feature = "json")]
pub(super) mod terminate;
mod text;
pub mod tree;
#[cfg(feature = "json")]
mod v1;
#[cfg(feature = "json")]
mod v2;

#[cfg(feature = "parquet")]
pub(super) use record::with_message;
#[cfg(feature = "json")]
pub use record::{write_json, write_lone_json};
#[cfg(feature = "json")]
pub use terminate::write_terminate_json;
