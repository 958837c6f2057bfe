//! Properties of a peer after all messages of that peer (version two draft -07 section 5.2).

use super::{Property, PropertyId, PropertySet, PropertyValue, ReverseDirection};

/// Properties of a peer: the defaults, and all changes since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Properties<'a> {
    /// [`PropertyId::SBSIZ`], octets.
    pub maximum_send_size: u32,
    /// [`PropertyId::RBSIZ`], octets.
    pub receive_buffer_size: u32,
    /// [`PropertyId::RSSIZ`], octets.
    pub maximum_segment_size: u32,
    /// [`PropertyId::RCSIZ`].
    pub maximum_segment_count: u32,
    /// [`PropertyId::BRS`].
    pub reverse_direction: ReverseDirection,
    /// [`PropertyId::HOSTAUTH`], if there is one.
    pub host_authentication: Option<&'a [u8]>,
}

impl Default for Properties<'_> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl<'a> Properties<'a> {
    /// Properties of a peer that has sent none.
    pub const DEFAULT: Self = Self {
        maximum_send_size: 4096,
        receive_buffer_size: 4096,
        maximum_segment_size: 1_048_576,
        maximum_segment_count: 16,
        reverse_direction: ReverseDirection::NONE,
        host_authentication: None,
    };

    /// Returns the five properties that are numbers, in the form that is sent.
    #[must_use]
    pub const fn numbers(&self) -> [Property<'static>; 5] {
        const fn property(id: PropertyId, number: u32) -> Property<'static> {
            Property { id, value: PropertyValue::Uint32(number) }
        }
        [
            property(PropertyId::SBSIZ, self.maximum_send_size),
            property(PropertyId::RBSIZ, self.receive_buffer_size),
            property(PropertyId::RSSIZ, self.maximum_segment_size),
            property(PropertyId::RCSIZ, self.maximum_segment_count),
            property(PropertyId::BRS, self.reverse_direction.0),
        ]
    }

    /// Applies a set to the numbers alone, which outlive the message; see [`Self::with`].
    #[must_use]
    pub fn with_numbers(&self, set: &PropertySet<'_>) -> Properties<'static> {
        let all = Properties { host_authentication: None, ..*self }.with(set);
        Properties { host_authentication: None, ..all }
    }

    /// Returns the properties after the peer has sent `set`. Unknown properties change nothing; if a property occurs
    /// twice, the last one counts.
    #[must_use]
    pub fn with(mut self, set: &PropertySet<'a>) -> Self {
        let default = Self::default();
        for property in set.iter() {
            let number = |default| if let PropertyValue::Uint32(number) = property.value { number } else { default };
            match property.id {
                PropertyId::SBSIZ => self.maximum_send_size = number(default.maximum_send_size),
                PropertyId::RBSIZ => self.receive_buffer_size = number(default.receive_buffer_size),
                PropertyId::RSSIZ => self.maximum_segment_size = number(default.maximum_segment_size),
                PropertyId::RCSIZ => self.maximum_segment_count = number(default.maximum_segment_count),
                PropertyId::BRS => self.reverse_direction = ReverseDirection(number(default.reverse_direction.0)),
                PropertyId::HOSTAUTH => {
                    self.host_authentication =
                        if let PropertyValue::Opaque(message) = property.value { Some(message) } else { None };
                }
                _ => {}
            }
        }
        self
    }
}
