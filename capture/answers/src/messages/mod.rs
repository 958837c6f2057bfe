//! Messages: one line each, field by field, and as records.

mod chunks;
mod error;
mod faults;
mod fields;
mod record;
mod terminate;
mod text;
pub mod tree;
mod v1;
mod v2;

pub use record::{HeaderObject, MessageObject};
pub use terminate::TerminateObject;
pub(crate) use text::text_columns;
