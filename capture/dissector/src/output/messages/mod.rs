//! Messages: one line each, field by field, and as records.

#[cfg(feature = "json")]
mod chunks;
#[cfg(feature = "json")]
mod error;
#[cfg(feature = "json")]
mod faults;
mod fields;
#[cfg(feature = "json")]
mod record;
#[cfg(feature = "json")]
mod terminate;
mod text;
pub mod tree;
#[cfg(feature = "json")]
mod v1;
#[cfg(feature = "json")]
mod v2;

#[cfg(feature = "json")]
pub use record::{HeaderObject, MessageObject};
#[cfg(feature = "json")]
pub use terminate::TerminateObject;
