//! Signs of loss: one line each, and as records.

#[cfg(feature = "json")]
pub(super) mod record;
mod text;

#[cfg(feature = "json")]
pub use record::write_json;
