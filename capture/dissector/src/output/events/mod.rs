//! Signs of loss: one line each, and as records.

#[cfg(feature = "json")]
mod record;
mod text;

#[cfg(feature = "json")]
pub use record::RecoveredObject;
