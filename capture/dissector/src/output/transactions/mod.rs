//! RPCs: one line each, and as records.

#[cfg(feature = "json")]
mod arguments;
#[cfg(feature = "json")]
mod record;
mod text;

#[cfg(feature = "json")]
pub use record::TransactionObject;
