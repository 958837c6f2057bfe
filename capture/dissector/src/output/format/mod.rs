//! Formatting of text: numbers, times, and lines for a screen.

#[cfg(any(feature = "parquet", feature = "text"))]
pub mod date;
#[cfg(feature = "text")]
pub(super) mod line;
#[cfg(feature = "text")]
pub mod number;
#[cfg(feature = "text")]
pub mod screen;
#[cfg(feature = "text")]
pub mod time;
