//! Input that people write: one Send by itself, as they copy it from other tools, and values of options.

pub(crate) mod calendar;
pub(crate) mod hexdump;
pub(crate) mod moment;
pub(crate) mod send;
pub mod values;
