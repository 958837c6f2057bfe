//! Reasons why an end terminated an iWARP connection; `iwarp/terminate.rs` decodes such reasons.

use core::fmt;

/// Reason why an end ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terminate {
    /// The layer that found the error: 0 RDMAP, 1 DDP, 2 MPA.
    pub layer: u8,
    /// Type of the error, in the numbers of the layer.
    pub error_type: u8,
    /// Code of the error, within the type.
    pub code: u8,
    /// Length of the faulty DDP segment in octets, if given.
    pub length: Option<u16>,
    /// The kind of that segment's message, if given.
    pub message: Option<&'static str>,
}

impl Terminate {
    /// The name of the layer; `None` for an unknown layer.
    #[must_use]
    pub const fn layer_name(&self) -> Option<&'static str> {
        match self.layer {
            0 => Some("RDMAP"),
            1 => Some("DDP"),
            2 => Some("MPA"),
            _ => None,
        }
    }

    /// The name of the type of error; `None` for an unknown type.
    #[must_use]
    pub const fn type_name(&self) -> Option<&'static str> {
        Some(match (self.layer, self.error_type) {
            (0 | 1, 0) => "local catastrophic error",
            (0, 1) => "remote protection error",
            (0, 2) => "remote operation error",
            (1, 1) => "tagged buffer error",
            (1, 2) => "untagged buffer error",
            (2, 0) => "MPA error",
            _ => return None,
        })
    }

    /// The name of the code; `None` for an unknown code.
    #[must_use]
    pub const fn code_name(&self) -> Option<&'static str> {
        Some(match (self.layer, self.error_type, self.code) {
            (0, 1, 0x00) | (1, 1, 0x00) => "invalid STag",
            (0, 1, 0x01) | (1, 1, 0x01) => "base or bounds violation",
            (0, 1, 0x02) => "access rights violation",
            (0, 1, 0x03) => "STag not associated with the RDMAP stream",
            (0, 1, 0x04) | (1, 1, 0x03) => "tagged offset wraps",
            (0, 1 | 2, 0x09) => "STag cannot be invalidated",
            (0, 1 | 2, 0xff) => "unspecified error",
            (0, 2, 0x05) => "invalid RDMAP version",
            (0, 2, 0x06) => "unexpected opcode",
            (0, 2, 0x07) => "catastrophic error of the RDMAP stream",
            (0, 2, 0x08) => "catastrophic error, global",
            (1, 1, 0x02) => "STag not associated with the DDP stream",
            (1, 1, 0x04) | (1, 2, 0x06) => "invalid DDP version",
            (1, 2, 0x01) => "invalid queue number",
            (1, 2, 0x02) => "invalid message sequence number: no buffer",
            (1, 2, 0x03) => "invalid message sequence number: out of range",
            (1, 2, 0x04) => "invalid message offset",
            (1, 2, 0x05) => "message too long for its buffer",
            (2, 0, 0x01) => "TCP connection closed or lost",
            (2, 0, 0x02) => "CRC wrong",
            (2, 0, 0x03) => "marker and ULPDU_Length do not match",
            (2, 0, 0x04) => "invalid MPA request or reply",
            (2, 0, 0x05) => "local catastrophic error",
            (2, 0, 0x06) => "insufficient IRD resources",
            (2, 0, 0x07) => "no matching RTR option",
            _ => return None,
        })
    }
}

impl fmt::Display for Terminate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layer_name() {
            Some(name) => f.write_str(name)?,
            None => write!(f, "layer {:#x}", self.layer)?,
        }
        match self.type_name() {
            Some("MPA error") => {}
            Some(name) => write!(f, ", {name}")?,
            None => write!(f, ", type {:#x}", self.error_type)?,
        }
        match self.code_name() {
            Some(name) => write!(f, ": {name}")?,
            // This type has no codes.
            None if self.type_name() == Some("local catastrophic error") => {}
            None => write!(f, ": code {:#04x}", self.code)?,
        }
        match (self.message, self.length) {
            (Some(message), Some(length)) => write!(f, ", in a segment of {length} octets ({message})"),
            (None, Some(length)) => write!(f, ", in a segment of {length} octets"),
            _ => Ok(()),
        }
    }
}
