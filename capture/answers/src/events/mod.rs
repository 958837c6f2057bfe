//! Signs of loss: one line each, and as records.

mod record;
mod text;

pub use record::RecoveredObject;
pub(crate) use text::text_columns;
