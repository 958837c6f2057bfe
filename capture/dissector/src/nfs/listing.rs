//! Entries of a directory in the results of READDIR and READDIRPLUS: names with the handles of files.
//!
//! ```text
//! NFSv3  fileid │ name │ cookie │ post_op_attr │ post_op_fh3    after each: does another follow?
//! NFSv4  cookie │ name │ fattr4, with FATTR4_FILEHANDLE
//! ```

use rpcrdma::reader::{EndOfInput, Reader};

use super::limits::{FILEHANDLE, read_attributes};

/// A name in a directory, with the handle of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryEntry<'a> {
    /// Name of the file.
    pub name: &'a [u8],
    /// Handle of the file.
    pub handle: &'a [u8],
}

/// Entries of a directory in wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing<'a> {
    /// `dirlistplus3` (RFC 1813 section 3.3.17).
    Version3(&'a [u8]),
    /// `dirlist4` (RFC 7530 section 16.24).
    Version4(&'a [u8]),
}

/// An entry, whether or not it has a handle.
struct AnyEntry<'a> {
    name: &'a [u8],
    handle: Option<&'a [u8]>,
}

impl<'a> Listing<'a> {
    /// Returns the entries that have a handle, up to the first one that cannot be read.
    pub(crate) fn entries(self) -> impl Iterator<Item = DirectoryEntry<'a>> {
        let (Self::Version3(octets) | Self::Version4(octets)) = self;
        let mut reader = Reader::new(octets);
        let next = move || match self {
            Self::Version3(_) => version_3(&mut reader).ok().flatten(),
            Self::Version4(_) => version_4(&mut reader).ok().flatten(),
        };
        let with_handle = |AnyEntry { name, handle }: AnyEntry<'a>| Some(DirectoryEntry { name, handle: handle? });
        core::iter::from_fn(next).filter_map(with_handle)
    }
}

/// Reads the next entry; `None` if none follows.
fn version_3<'a>(reader: &mut Reader<'a>) -> Result<Option<AnyEntry<'a>>, EndOfInput> {
    if reader.u32()? == 0 {
        return Ok(None);
    }
    reader.u64()?;
    let name = reader.opaque()?;
    reader.u64()?;
    if reader.u32()? != 0 {
        reader.read_octets(84)?;
    }
    let handle = if reader.u32()? == 0 { None } else { Some(reader.opaque()?) };
    Ok(Some(AnyEntry { name, handle }))
}

/// Reads the next entry; `None` if none follows.
fn version_4<'a>(reader: &mut Reader<'a>) -> Result<Option<AnyEntry<'a>>, EndOfInput> {
    if reader.u32()? == 0 {
        return Ok(None);
    }
    reader.u64()?;
    let name = reader.opaque()?;
    let mut handle = None;
    read_attributes(reader, |attribute, value| {
        if attribute == FILEHANDLE {
            handle = Some(value);
        }
    })?;
    Ok(Some(AnyEntry { name, handle }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn found(listing: Listing<'_>) -> Vec<DirectoryEntry<'_>> {
        listing.entries().collect()
    }

    /// One entry without attributes and handle, and one with both.
    #[test]
    fn handles_of_version_3_stand_behind_the_attributes() {
        let first = [1, 0, 7, 1, 0x6100_0000, 0, 1, 0, 0];
        let second = [&[1, 0, 8, 2, 0x6262_0000, 0, 2, 1][..], &[9; 21], &[1, 4, 0xfeed, 0]].concat();
        let octets = octets(&[&first[..], &second].concat());
        let entry = DirectoryEntry { name: b"bb", handle: &[0, 0, 0xfe, 0xed] };
        assert_eq!(found(Listing::Version3(&octets)), [entry]);
        for cut in 0..octets.len() - 4 {
            assert!(found(Listing::Version3(&octets[..cut])).is_empty(), "{cut}");
        }
    }

    /// Attributes as Linux asks for: type, change, size, fsid, rdattr_error, filehandle; and one of the next word.
    #[test]
    fn handles_of_version_4_are_among_the_attributes() {
        let bitmap = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 8 | 1 << 11 | 1 << 19;
        let values = [1, 0, 5, 0, 6, 0, 7, 0, 8, 0, 4, 0xfeed, 0o644];
        let entry = [&[1, 0, 3, 1, 0x6100_0000, 2, bitmap, 2, 4 * values.len() as u32][..], &values].concat();
        // An access control list may have any length.
        let unknown = [1, 0, 4, 1, 0x6200_0000, 1, 1 << 12 | 1 << 19, 12, 0, 4, 0xbeef];
        let octets = octets(&[&unknown[..], &entry, &[0]].concat());
        let entry = DirectoryEntry { name: b"a", handle: &[0, 0, 0xfe, 0xed] };
        assert_eq!(found(Listing::Version4(&octets)), [entry]);
    }
}
