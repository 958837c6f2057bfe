//! One Send by itself, as people copy it from other tools.

pub(crate) mod hexdump;
pub(crate) mod send;
