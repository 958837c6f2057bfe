//! In which formats the messages of a direction may go.

use crate::v2::ReverseDirection;

/// The Payload formats (version two draft -07 section 6.6) that the messages of RPCs may have. Each includes the one before.
///
/// Only the reverse direction of version 2 has limits: the Responder announces its Reverse-Direction Support (-01,
/// "Reverse-Direction Support"; -07 section 5.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PayloadFormats {
    /// None: there are no RPCs.
    None,
    /// One Send, without chunks.
    Simple,
    /// Several Sends, without chunks.
    Continued,
    /// All formats, with chunks.
    #[default]
    All,
}

/// A level that is not known promises nothing.
impl From<ReverseDirection> for PayloadFormats {
    fn from(level: ReverseDirection) -> Self {
        match level {
            ReverseDirection::SIMPLE => Self::Simple,
            ReverseDirection::CONT => Self::Continued,
            ReverseDirection::GENL => Self::All,
            _ => Self::None,
        }
    }
}
