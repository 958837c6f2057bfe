//! A set of transport properties: `rpcrdma2_propset` (version two draft -07 section 5.1).
//!
//! ```text
//! count  which n data...  which n data...
//! ```

use core::fmt;
use core::iter::FusedIterator;
use core::slice;

use super::Property;
use crate::error::DecodeError;
use crate::reader::Reader;
use crate::sink::{Emit, Sink};

/// A set of properties: received, or built from the caller's own. In a received set every value has the type of the
/// property; a value of another type makes the whole message refused.
///
/// ```
/// use rpcrdma::v2::{Properties, Property, PropertyId, PropertySet, PropertyValue};
///
/// let own = [
///     Property { id: PropertyId::RBSIZ, value: PropertyValue::Uint32(8192) },
///     Property { id: PropertyId::SBSIZ, value: PropertyValue::Default },
/// ];
/// let set = PropertySet::from_properties(&own);
/// assert_eq!(set.iter().next(), Some(own[0]));
///
/// let properties = Properties::default().with(&set);
/// assert_eq!((properties.receive_buffer_size, properties.maximum_send_size), (8192, 4096));
/// ```
#[derive(Clone, Copy)]
pub struct PropertySet<'a> {
    form: PropertySetForm<'a>,
}

#[derive(Clone, Copy)]
enum PropertySetForm<'a> {
    /// A set that `walk` has walked: `octets` are `count` properties, and nothing else.
    Received {
        octets: &'a [u8],
        count: usize,
    },
    Properties(&'a [Property<'a>]),
}

impl<'a> PropertySet<'a> {
    /// The empty set.
    pub const EMPTY: Self = Self::from_properties(&[]);

    /// Creates a set of these properties.
    #[must_use]
    pub const fn from_properties(properties: &'a [Property<'a>]) -> Self {
        Self { form: PropertySetForm::Properties(properties) }
    }

    /// Reads the first `count` properties in `octets`, in wire format. `None` if there are fewer, or a value has the
    /// wrong type.
    #[must_use]
    pub fn from_octets(octets: &'a [u8], count: usize) -> Option<Self> {
        Self::walk(&mut Reader::new(octets), count).ok()
    }

    /// Returns the properties in wire format, for code in another language. `None` for a set built from properties.
    #[must_use]
    pub const fn octets(&self) -> Option<&'a [u8]> {
        match self.form {
            PropertySetForm::Received { octets, .. } => Some(octets),
            PropertySetForm::Properties(_) => None,
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let count = reader.u32().map_err(DecodeError::truncated)? as usize;
        Self::walk(reader, count)
    }

    fn walk(reader: &mut Reader<'a>, count: usize) -> Result<Self, DecodeError> {
        let before = reader.rest();
        // Each property takes octets of the input, or is an error: the loop ends with the input, whatever the count.
        for _ in 0..count {
            Property::decode(reader)?;
        }
        let length = before.len().saturating_sub(reader.rest().len());
        let octets = before.get(..length).unwrap_or_default();
        Ok(Self { form: PropertySetForm::Received { octets, count } })
    }

    /// Returns the number of properties.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.form {
            PropertySetForm::Received { count, .. } => count,
            PropertySetForm::Properties(properties) => properties.len(),
        }
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the properties in the order of the message, which has no meaning.
    #[must_use]
    pub fn iter(&self) -> PropertyIter<'a> {
        PropertyIter {
            rest: match self.form {
                PropertySetForm::Received { octets, count } => {
                    PropertySetRest::Received { reader: Reader::new(octets), count }
                }
                PropertySetForm::Properties(properties) => PropertySetRest::Properties(properties.iter()),
            },
        }
    }
}

impl PropertySet<'_> {
    /// The properties, each after a space.
    pub(in crate::v2) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|property| write!(f, " {property}"))
    }
}

impl Emit for PropertySet<'_> {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.count(self.len());
        match self.form {
            // As they were received, including the padding.
            PropertySetForm::Received { octets, .. } => sink.put_octets(octets),
            PropertySetForm::Properties(properties) => properties.iter().for_each(|property| property.emit(sink)),
        }
    }
}

impl Default for PropertySet<'_> {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Two sets with the same properties in the same order are equal, received or not.
impl PartialEq for PropertySet<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for PropertySet<'_> {}

/// Iterator over a [`PropertySet`].
#[derive(Clone, Debug)]
pub struct PropertyIter<'a> {
    rest: PropertySetRest<'a>,
}

#[derive(Clone, Debug)]
enum PropertySetRest<'a> {
    Received { reader: Reader<'a>, count: usize },
    Properties(slice::Iter<'a, Property<'a>>),
}

impl<'a> Iterator for PropertyIter<'a> {
    type Item = Property<'a>;

    fn next(&mut self) -> Option<Property<'a>> {
        match &mut self.rest {
            PropertySetRest::Received { reader, count } => {
                *count = count.checked_sub(1)?;
                // `PropertySet::decode` has read all of this before, so it does not fail.
                Property::decode(reader).ok()
            }
            PropertySetRest::Properties(properties) => properties.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = match &self.rest {
            PropertySetRest::Received { count, .. } => *count,
            PropertySetRest::Properties(properties) => properties.len(),
        };
        (count, Some(count))
    }
}

impl ExactSizeIterator for PropertyIter<'_> {}
impl FusedIterator for PropertyIter<'_> {}

impl<'a> IntoIterator for PropertySet<'a> {
    type Item = Property<'a>;
    type IntoIter = PropertyIter<'a>;

    fn into_iter(self) -> PropertyIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for PropertySet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::error::DecodeErrorKind;
    use crate::sink;
    use crate::v2::PropertyValue;

    fn decode(octets: &[u8]) -> Result<PropertySet<'_>, DecodeError> {
        PropertySet::decode(&mut Reader::new(octets))
    }

    #[test]
    fn a_value_is_of_its_type_or_refused() {
        let cases: [(u32, &[u8], bool); 10] = [
            (1, &[0, 0, 0x20, 0], true),
            (1, &[0, 0, 0x20], false),
            (5, &[0, 0, 0, 9], true),
            (5, &[0, 0, 0, 1, 0], false),
            (6, &[0, 0, 0, 0], true),
            (6, &[0, 0, 0, 1, 7, 0, 0, 0], true),
            (6, &[0, 0, 0, 1, 7], false),
            (6, &[0, 0, 0, 0, 0, 0, 0, 0], false),
            (6, &[0, 0], false),
            (7, &[0, 0], true),
        ];
        for (id, data, good) in cases {
            let mut octets = std::vec![0, 0, 0, 1];
            octets.extend(id.to_be_bytes());
            octets.extend((data.len() as u32).to_be_bytes());
            octets.extend(data);
            octets.resize(octets.len().next_multiple_of(4), 0);
            let found = decode(&octets);
            assert_eq!(found.is_ok(), good, "{id} {data:?}");
            if let Err(error) = found {
                assert_eq!((error.kind, error.offset), (DecodeErrorKind::PropertyValue, 8), "{id} {data:?}");
            }
        }
    }

    #[test]
    fn the_largest_count_ends_with_the_input() {
        let error = decode(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 0]).unwrap_err();
        assert_eq!((error.kind, error.offset), (DecodeErrorKind::HeaderTruncated, 12));
    }

    #[test]
    fn padding_is_kept_as_it_came() {
        let octets = [0, 0, 0, 1, 0, 0, 0, 77, 0, 0, 0, 1, 5, 1, 2, 3];
        let set = decode(&octets).unwrap();
        let mut again = [0xa5; 16];
        assert_eq!(sink::encode(&set, &mut again), Ok(16));
        assert_eq!(again, octets);
        let values: Vec<_> = set.iter().map(|property| property.value).collect();
        assert_eq!(values, [PropertyValue::Unknown(&[5])]);
    }
}
