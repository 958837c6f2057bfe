//! One Send by itself, as people copy it from other tools.

#[cfg(feature = "program")]
pub(crate) mod hexdump;
pub(crate) mod send;
