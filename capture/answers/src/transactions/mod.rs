//! RPCs: one line each, and as records.

mod arguments;
mod record;
mod text;

pub use record::{PhasesObject, TransactionObject};
pub(crate) use text::text_columns;
