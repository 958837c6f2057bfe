//! RPCs: one line each, and as records.

#[cfg(feature = "json")]
mod arguments;
#[cfg(feature = "json")]
pub(super) mod record;
mod text;

#[cfg(feature = "parquet")]
pub(super) use record::with_transaction;
#[cfg(feature = "json")]
pub use record::write_json;
