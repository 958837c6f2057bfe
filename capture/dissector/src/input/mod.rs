//! Input that people write: a single Send copied from another tool, and values of options.

pub(crate) mod calendar;
pub(crate) mod hexdump;
pub(crate) mod moment;
pub(crate) mod send;
pub mod values;
