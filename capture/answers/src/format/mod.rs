//! Formatting of text: numbers, times, and lines for a screen.

pub mod date;
pub(super) mod line;
pub mod number;
pub mod screen;
pub mod time;
