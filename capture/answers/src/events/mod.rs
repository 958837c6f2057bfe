//! Signs of loss: one line each, and as records.

mod record;
mod text;

pub use record::{LostBetweenObject, RecoveredObject};
pub use text::lost_between;
pub(crate) use text::text_columns;
