//! Limits of a server that a client asks for when mounting.

use rpcrdma::reader::{EndOfInput, Reader};

/// Limits of a server, as attributes of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Maximum length of a READ in octets.
    pub max_read: Option<u64>,
    /// Maximum length of a WRITE in octets.
    pub max_write: Option<u64>,
    /// Duration of leases in seconds (NFSv4).
    pub lease_seconds: Option<u32>,
}

// Numbers of attributes (RFC 8881 section 5.8).
const SUPPORTED: u32 = 0;
const LEASE_TIME: u32 = 10;
pub(super) const FILEHANDLE: u32 = 19;
const MAXREAD: u32 = 30;
const MAXWRITE: u32 = 31;

/// Octets of an attribute of fixed length; `None` for others, and for attributes behind FATTR4_MAXWRITE.
const fn length(attribute: u32) -> Option<usize> {
    match attribute {
        1 | 2 | 5..=7 | 9..=11 | 13..=18 | 25 | 26 | 28 | 29 => Some(4),
        3 | 4 | 20..=23 | 27 | 30 | 31 => Some(8),
        8 => Some(16),
        _ => None,
    }
}

/// Steps over a `fattr4`, and passes each attribute with the value to `take`, up to the first whose length is not known. Of an attribute
/// of variable length, the value is without the count.
pub(super) fn read_attributes<'a>(
    reader: &mut Reader<'a>,
    mut take: impl FnMut(u32, &'a [u8]),
) -> Result<(), EndOfInput> {
    let words = reader.u32()?;
    let bitmap = reader.read_octets((words as usize).saturating_mul(4))?;
    let mut values = Reader::new(reader.opaque()?);
    let first = bitmap.first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
    for attribute in (0..32).filter(|attribute| first & 1 << attribute != 0) {
        let value = match attribute {
            SUPPORTED => values.u32().and_then(|words| values.read_octets((words as usize).saturating_mul(4))),
            FILEHANDLE => values.opaque(),
            _ => match length(attribute) {
                Some(length) => values.read_octets(length),
                None => return Ok(()),
            },
        };
        let Ok(value) = value else { return Ok(()) };
        take(attribute, value);
    }
    Ok(())
}

/// Attributes that describe a file system and no file, in each word of a `bitmap4`: lease_time, maxfilesize, maxread, maxwrite;
/// time_delta, fs_layout_types; layout_blksize, clone_blksize, change_attr_type, xattr_support.
const OF_FILE_SYSTEM: [u32; 3] =
    [1 << LEASE_TIME | 1 << 27 | 1 << MAXREAD | 1 << MAXWRITE, 1 << 19 | 1 << 30, 1 << 1 | 1 << 13 | 1 << 15 | 1 << 18];

/// Returns true if a `fattr4` has nothing but attributes of a file system, which name nobody.
pub(super) fn are_limits_alone(fattr: &[u8]) -> bool {
    let mut reader = Reader::new(fattr);
    let Ok(words @ 1..=3) = reader.u32() else { return false };
    (0..words).zip(OF_FILE_SYSTEM).all(|(_, allowed)| reader.u32().is_ok_and(|word| word & !allowed == 0))
}

impl ServerLimits {
    /// Reads the limits in a `fattr4`. The limits stand behind all attributes with lower numbers, whose lengths have to be known.
    pub(crate) fn of_attributes(fattr: &[u8]) -> Self {
        let mut limits = Self::default();
        let _end = read_attributes(&mut Reader::new(fattr), |attribute, value| {
            let number = value.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
            match attribute {
                LEASE_TIME => limits.lease_seconds = u32::try_from(number).ok(),
                MAXREAD => limits.max_read = Some(number),
                MAXWRITE => limits.max_write = Some(number),
                _ => {}
            }
        });
        limits
    }

    /// Reads rtmax and wtmax in the results of FSINFO (RFC 1813 section 3.3.19).
    pub(crate) fn of_file_system(results: &[u8]) -> Self {
        let words = results.as_chunks::<4>().0;
        let word = |place: usize| words.get(place).map(|word| u64::from(u32::from_be_bytes(*word)));
        Self { max_read: word(0), max_write: word(3), lease_seconds: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `fattr4` with these attributes, whose values are these words.
    fn fattr(attributes: &[u32], values: &[u32]) -> Vec<u8> {
        let bitmap = attributes.iter().fold(0, |bitmap, attribute| bitmap | 1 << attribute);
        let words = [&[2, bitmap, 0, 4 * values.len() as u32][..], values].concat();
        words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect()
    }

    #[test]
    fn limits_stand_behind_the_attributes_with_lower_numbers() {
        // supported_attrs, type, fsid, lease_time, filehandle of 5 octets, maxread, maxwrite.
        let values = [2, 7, 7, 2, 1, 1, 1, 1, 90, 5, 0x0102_0304, 0x0500_0000, 0, 1 << 20, 0, 1 << 19];
        let octets = fattr(&[0, 1, 8, 10, 19, 30, 31], &values);
        let limits = ServerLimits::of_attributes(&octets);
        assert_eq!(limits, ServerLimits { max_read: Some(1 << 20), max_write: Some(1 << 19), lease_seconds: Some(90) });
        for cut in 0..octets.len() {
            let cut = ServerLimits::of_attributes(&octets[..cut]);
            assert!(cut.max_write.is_none(), "the last attribute is cut");
        }
    }

    #[test]
    fn limits_after_an_attribute_of_unknown_length_are_unknown() {
        // An access control list may have any length.
        let limits = ServerLimits::of_attributes(&fattr(&[10, 12, 30], &[90, 0, 0, 65_536]));
        assert_eq!(limits, ServerLimits { lease_seconds: Some(90), ..ServerLimits::default() });
    }

    #[test]
    fn attributes_of_files_and_their_owners_are_no_limits() {
        assert!(are_limits_alone(&fattr(&[10, 27, 30, 31], &[])));
        // Type of a file.
        assert!(!are_limits_alone(&fattr(&[1, 30], &[])) && !are_limits_alone(&[]));
        // Owner of a file: attribute 36.
        let owner = [2, 1 << 30, 1 << 4, 0].map(u32::to_be_bytes);
        assert!(!are_limits_alone(owner.as_flattened()));
    }

    #[test]
    fn fsinfo_has_the_limits_of_version_3() {
        let words = [1_u32 << 20, 1 << 19, 4096, 1 << 18, 1 << 17, 4096].map(u32::to_be_bytes);
        let limits = ServerLimits::of_file_system(words.as_flattened());
        assert_eq!((limits.max_read, limits.max_write), (Some(1 << 20), Some(1 << 18)));
    }
}
