//! Formatting of text: numbers, times, and lines for a screen.

pub(super) mod column;
pub mod date;
pub(super) mod line;
pub mod number;
pub mod screen;
pub mod time;
