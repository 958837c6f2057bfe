//! Transport properties (version two draft -01, "Transport Properties"; -07 section 5).
//!
//! ```text
//! count  which n data...  which n data...
//! ```
//!
//! `rdma_data` is opaque, with the XDR encoding of the value inside: four octets for the five numbers, a count and the
//! octets for the host authentication message. No octets at all stand for the default.

use core::fmt;
use core::iter::FusedIterator;
use core::slice;

use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::{EndOfInput, Reader, padding};
use crate::sink::{self, Emit, Sink};

/// `rdma_which`; every number can be held, whether it has a meaning or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyId(pub u32);

impl PropertyId {
    /// Maximum Send Size: the largest Send payload, octets. Default 4096.
    pub const SBSIZ: Self = Self(1);
    /// Receive Buffer Size: what each posted Receive has at least, octets. Default 4096.
    pub const RBSIZ: Self = Self(2);
    /// Maximum Segment Size: the largest segment sent or received, octets. Default 1048576.
    pub const RSSIZ: Self = Self(3);
    /// Maximum Segment Count: segments in one header of a Requester. Default 16.
    pub const RCSIZ: Self = Self(4);
    /// Reverse-Direction Support, a [`ReverseDirection`]. Default none.
    pub const BRS: Self = Self(5);
    /// Host Authentication Message: opaque octets. Without it the sender stays unauthenticated.
    pub const HOSTAUTH: Self = Self(6);

    /// The name the drafts have for it.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::SBSIZ => Some("RDMA2_PROPID_SBSIZ"),
            Self::RBSIZ => Some("RDMA2_PROPID_RBSIZ"),
            Self::RSSIZ => Some("RDMA2_PROPID_RSSIZ"),
            Self::RCSIZ => Some("RDMA2_PROPID_RCSIZ"),
            Self::BRS => Some("RDMA2_PROPID_BRS"),
            Self::HOSTAUTH => Some("RDMA2_PROPID_HOSTAUTH"),
            _ => None,
        }
    }
}

/// How far a peer takes part in the reverse direction: the value of [`PropertyId::BRS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReverseDirection(pub u32);

impl ReverseDirection {
    /// Not at all.
    pub const NONE: Self = Self(0);
    /// Messages of the Simple Format, without chunks.
    pub const SIMPLE: Self = Self(1);
    /// Messages of the Simple and of the Continued Format, without chunks. The XDR of -01 to -03 has 1 here, its text 2.
    pub const CONT: Self = Self(2);
    /// As in the forward direction.
    pub const GENL: Self = Self(3);

    /// The name the drafts have for it.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::NONE => Some("RDMA2_RVRSDIR_NONE"),
            Self::SIMPLE => Some("RDMA2_RVRSDIR_SIMPLE"),
            Self::CONT => Some("RDMA2_RVRSDIR_CONT"),
            Self::GENL => Some("RDMA2_RVRSDIR_GENL"),
            _ => None,
        }
    }
}

/// One property: which, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Property<'a> {
    /// `rdma_which`.
    pub id: PropertyId,
    /// What `rdma_data` holds.
    pub value: PropertyValue<'a>,
}

/// The value of a property. What does not go with the property's type is written as it is; a receiver refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyValue<'a> {
    /// No octets: the default of the property.
    Default,
    /// Of [`PropertyId::SBSIZ`] to [`PropertyId::BRS`].
    Uint32(u32),
    /// Of [`PropertyId::HOSTAUTH`]: the message, without its count and padding.
    Opaque(&'a [u8]),
    /// Of a property that is not known: all of `rdma_data`.
    Unknown(&'a [u8]),
}

impl<'a> Property<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = PropertyId(reader.u32().map_err(DecodeError::truncated)?);
        let wrong = DecodeError::new(DecodeErrorKind::PropertyValue, reader.offset());
        let data = reader.opaque().map_err(|_| wrong)?;
        Ok(Self { id, value: PropertyValue::decode(id, data).ok_or(wrong)? })
    }
}

impl<'a> PropertyValue<'a> {
    fn decode(id: PropertyId, data: &'a [u8]) -> Option<Self> {
        match id {
            _ if data.is_empty() => Some(Self::Default),
            PropertyId::SBSIZ | PropertyId::RBSIZ | PropertyId::RSSIZ | PropertyId::RCSIZ | PropertyId::BRS => {
                Some(Self::Uint32(u32::from_be_bytes(data.try_into().ok()?)))
            }
            PropertyId::HOSTAUTH => {
                let mut reader = Reader::new(data);
                let message = reader.opaque().ok()?;
                reader.rest().is_empty().then_some(Self::Opaque(message))
            }
            _ => Some(Self::Unknown(data)),
        }
    }
}

impl Emit for Property<'_> {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.id.0);
        match self.value {
            PropertyValue::Default => sink.word(0),
            PropertyValue::Uint32(number) => {
                sink.word(4);
                sink.word(number);
            }
            PropertyValue::Opaque(message) => {
                sink.count(4_usize.saturating_add(message.len()).saturating_add(padding(message.len())));
                sink.opaque(message);
            }
            PropertyValue::Unknown(data) => sink.opaque(data),
        }
    }
}

impl fmt::Display for PropertyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "rdma_which {}", self.0),
        }
    }
}

impl fmt::Display for ReverseDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "reverse direction {}", self.0),
        }
    }
}

impl fmt::Display for Property<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.id, self.value) {
            (id, PropertyValue::Default) => write!(f, "{id} default"),
            (id @ PropertyId::BRS, PropertyValue::Uint32(number)) => write!(f, "{id} {}", ReverseDirection(number)),
            (id, PropertyValue::Uint32(number)) => write!(f, "{id} {number}"),
            (id, PropertyValue::Opaque(octets) | PropertyValue::Unknown(octets)) => {
                write!(f, "{id} {} octets", octets.len())
            }
        }
    }
}

/// A set of properties: as it was received, or made of the caller's own. In what was received every value is of its
/// property's type; one that is not makes the message refused as a whole.
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
    form: Form<'a>,
}

#[derive(Clone, Copy)]
enum Form<'a> {
    /// Made by `decode` only, which has walked it: `octets` are `count` properties, and nothing else.
    Received {
        octets: &'a [u8],
        count: usize,
    },
    Properties(&'a [Property<'a>]),
}

impl<'a> PropertySet<'a> {
    /// The empty set.
    pub const EMPTY: Self = Self::from_properties(&[]);

    /// A set of these properties.
    #[must_use]
    pub const fn from_properties(properties: &'a [Property<'a>]) -> Self {
        Self { form: Form::Properties(properties) }
    }

    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let count = reader.u32().map_err(DecodeError::truncated)? as usize;
        let before = reader.rest();
        // Each property takes octets of the input, or is an error: the loop ends with the input, whatever the count.
        for _ in 0..count {
            Property::decode(reader)?;
        }
        let length = before.len().saturating_sub(reader.rest().len());
        let octets = before.get(..length).unwrap_or_default();
        Ok(Self { form: Form::Received { octets, count } })
    }

    /// How many properties there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.form {
            Form::Received { count, .. } => count,
            Form::Properties(properties) => properties.len(),
        }
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The properties in the order they were sent, which has no meaning.
    #[must_use]
    pub fn iter(&self) -> PropertyIter<'a> {
        PropertyIter {
            rest: match self.form {
                Form::Received { octets, count } => Rest::Received { reader: Reader::new(octets), count },
                Form::Properties(properties) => Rest::Properties(properties.iter()),
            },
        }
    }
}

impl PropertySet<'_> {
    /// The properties, each after a space.
    pub(super) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|property| write!(f, " {property}"))
    }
}

impl Emit for PropertySet<'_> {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.count(self.len());
        match self.form {
            // As they came, padding and all.
            Form::Received { octets, .. } => sink.put(octets),
            Form::Properties(properties) => properties.iter().for_each(|property| property.emit(sink)),
        }
    }
}

impl Default for PropertySet<'_> {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Two sets are the same where they have the same properties in the same order, received or not.
impl PartialEq for PropertySet<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for PropertySet<'_> {}

/// Iterator over a [`PropertySet`].
#[derive(Clone, Debug)]
pub struct PropertyIter<'a> {
    rest: Rest<'a>,
}

#[derive(Clone, Debug)]
enum Rest<'a> {
    Received { reader: Reader<'a>, count: usize },
    Properties(slice::Iter<'a, Property<'a>>),
}

impl<'a> Iterator for PropertyIter<'a> {
    type Item = Property<'a>;

    fn next(&mut self) -> Option<Property<'a>> {
        match &mut self.rest {
            Rest::Received { reader, count } => {
                *count = count.checked_sub(1)?;
                // `PropertySet::decode` has read all of this before, so it does not fail.
                Property::decode(reader).ok()
            }
            Rest::Properties(properties) => properties.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = match &self.rest {
            Rest::Received { count, .. } => *count,
            Rest::Properties(properties) => properties.len(),
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

/// What holds of a peer: the defaults, and what it has said since.
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
    /// [`PropertyId::HOSTAUTH`], where there is one.
    pub host_authentication: Option<&'a [u8]>,
}

impl Default for Properties<'_> {
    fn default() -> Self {
        Self {
            maximum_send_size: 4096,
            receive_buffer_size: 4096,
            maximum_segment_size: 1_048_576,
            maximum_segment_count: 16,
            reverse_direction: ReverseDirection::NONE,
            host_authentication: None,
        }
    }
}

impl<'a> Properties<'a> {
    /// The same after the peer has sent `set`. Unknown properties change nothing; of a property that is there twice the
    /// last one counts.
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

/// `rpcrdma2_propsubset`: some of the properties of a set, a bit for each. No message of the drafts has one; it is there
/// for extensions.
///
/// ```
/// use rpcrdma::v2::PropertySubset;
///
/// // Two words; the first has bits 0 and 31, the second bit 1.
/// let octets = [0, 0, 0, 2, 0x80, 0, 0, 1, 0, 0, 0, 2, 0xff];
/// let (subset, rest) = PropertySubset::decode(&octets)?;
/// assert!((0..99).filter(|index| subset.contains(*index)).eq([0, 31, 33]));
/// assert_eq!(rest, [0xff]);
/// # Ok::<(), rpcrdma::error::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PropertySubset<'a> {
    words: &'a [[u8; 4]],
}

impl<'a> PropertySubset<'a> {
    /// A subset of these words, each big-endian.
    #[must_use]
    pub const fn new(words: &'a [[u8; 4]]) -> Self {
        Self { words }
    }

    /// Reads a subset; gives it, and what follows.
    ///
    /// # Errors
    /// [`DecodeErrorKind::HeaderTruncated`] where its words are not all there.
    pub fn decode(octets: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(octets);
        let mut words = || -> Result<_, EndOfInput> {
            let count = reader.u32()?;
            reader.arrays(count as usize)
        };
        let words = words().map_err(DecodeError::truncated)?;
        Ok((Self { words }, reader.rest()))
    }

    /// Whether the property at `index`, from 0, is in it: bit `index` mod 32 of word `index` div 32.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.words.get(index / 32).is_some_and(|word| u32::from_be_bytes(*word) >> (index % 32) & 1 == 1)
    }

    /// Octets the subset has on the wire.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        sink::encoded_len(self)
    }

    /// Writes the subset at the start of `buffer`; gives its length.
    ///
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) where it does not fit; `buffer` is as before then.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, crate::error::EncodeError> {
        sink::encode(self, buffer)
    }
}

impl Emit for PropertySubset<'_> {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.count(self.words.len());
        sink.put_each(self.words.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

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
    fn a_count_of_all_there_can_be_ends_with_the_input() {
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

    #[test]
    fn a_property_shows_what_it_is() {
        for (id, value, text) in [
            (PropertyId::BRS, PropertyValue::Uint32(2), "RDMA2_PROPID_BRS RDMA2_RVRSDIR_CONT"),
            (PropertyId::BRS, PropertyValue::Uint32(4), "RDMA2_PROPID_BRS reverse direction 4"),
            (PropertyId::RCSIZ, PropertyValue::Default, "RDMA2_PROPID_RCSIZ default"),
            (PropertyId(9), PropertyValue::Unknown(&[1, 2]), "rdma_which 9 2 octets"),
        ] {
            assert_eq!(Property { id, value }.to_string(), text);
        }
    }
}
