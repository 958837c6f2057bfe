//! Inputs that neither endpoint accepts.

use core::fmt;

/// An input that the driver should not have given. Nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputError {
    /// Outputs have to be taken first.
    NotPolled,
    /// The input fits nothing: there is no such call or region, or not at this time.
    Unexpected,
    /// This handle belongs to another region or reply. The memory needs another handle.
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
