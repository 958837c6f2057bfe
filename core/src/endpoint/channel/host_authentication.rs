//! The host authentication message: opaque octets for the application (version two draft -01, "Transport
//! Properties"; -07 section 5.2).

use heapless::Vec;

use crate::v2::{PropertyId, PropertySet, PropertyValue};

/// A host authentication message of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAuthentication<'a> {
    /// The peer has sent no message, and is not authenticated.
    Absent,
    /// Its octets.
    Message(&'a [u8]),
    /// The peer has sent a message of this many octets, more than [`Self::MOST_OCTETS`]. The message is not kept.
    TooLong(usize),
}

impl HostAuthentication<'_> {
    /// Maximum length of a message that is sent, or kept, in octets. The message is sent with the other properties in a
    /// connection's first message, which has at most 1024 octets.
    pub const MOST_OCTETS: usize = 512;
}

/// The host authentication message received.
#[derive(Clone, Debug, Default)]
pub(super) struct HostMessage {
    octets: Vec<u8, { HostAuthentication::MOST_OCTETS }>,
    /// Length of a message that is too long.
    too_long: Option<usize>,
}

impl HostMessage {
    pub(super) const NONE: Self = Self { octets: Vec::new(), too_long: None };

    pub(super) fn set(&mut self, message: &[u8]) {
        self.octets.clear();
        let is_kept = self.octets.extend_from_slice(message).is_ok();
        self.too_long = if is_kept { None } else { Some(message.len()) };
    }

    /// Stores the last host authentication message of these properties. A property without a value stands for none.
    pub(super) fn apply_properties(&mut self, properties: &PropertySet<'_>) {
        for property in properties.iter().filter(|property| property.id == PropertyId::HOSTAUTH) {
            self.set(if let PropertyValue::Opaque(message) = property.value { message } else { &[] });
        }
    }

    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }

    pub(super) fn get(&self) -> HostAuthentication<'_> {
        match self.too_long {
            Some(length) => HostAuthentication::TooLong(length),
            None if self.octets.is_empty() => HostAuthentication::Absent,
            None => HostAuthentication::Message(&self.octets),
        }
    }
}
