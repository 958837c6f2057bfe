//! What either end refuses to be told.

use core::fmt;

/// What the driver should not have said. Nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputError {
    /// Outputs have to be taken first.
    NotPolled,
    /// There is nothing for which this could be said: no such call or region, or not now.
    Unexpected,
    /// This handle is that of another region or reply. The memory is to be given another one.
    HandleInUse,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotPolled => "outputs are to be taken first",
            Self::Unexpected => "there is nothing for which this could be said",
            Self::HandleInUse => "the handle is that of other memory",
        })
    }
}

impl core::error::Error for InputError {}
