//! What was found, as other programs and people read it.

pub mod export;
pub mod fields;
pub mod findings;
pub mod json;
mod reason;
pub mod stats;
mod style;
mod tcp;
pub mod text;
pub mod tree;
