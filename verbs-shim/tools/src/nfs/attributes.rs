//! Attributes of NFSv4 (RFC 7530 section 5, RFC 8881 section 5): all that are required, and what Linux shows of a file.

use super::operation::{Answer, BAD_XDR};
use super::{Failure, Folder, INVALID, MAX_SCRATCH, Node};
use crate::xdr::word;

/// Time in seconds after which a client's state may be removed. Here the state stays as long as the client's
/// connections.
const LEASE: u32 = 90;
/// Words of a bitmap of known attributes.
const WORDS: usize = 3;

/// The known attributes, in ascending order.
const KNOWN: [u32; 31] = [
    SUPPORTED_ATTRS,
    TYPE,
    FH_EXPIRE_TYPE,
    CHANGE,
    SIZE,
    LINK_SUPPORT,
    SYMLINK_SUPPORT,
    NAMED_ATTR,
    FSID,
    UNIQUE_HANDLES,
    LEASE_TIME,
    RDATTR_ERROR,
    FILEHANDLE,
    FILEID,
    MAXFILESIZE,
    MAXLINK,
    MAXNAME,
    MAXREAD,
    MAXWRITE,
    MODE,
    NO_TRUNC,
    NUMLINKS,
    OWNER,
    OWNER_GROUP,
    RAWDEV,
    SPACE_USED,
    TIME_ACCESS,
    TIME_METADATA,
    TIME_MODIFY,
    MOUNTED_ON_FILEID,
    SUPPATTR_EXCLCREAT,
];
const SUPPORTED_ATTRS: u32 = 0;
const TYPE: u32 = 1;
const FH_EXPIRE_TYPE: u32 = 2;
const CHANGE: u32 = 3;
const SIZE: u32 = 4;
const LINK_SUPPORT: u32 = 5;
const SYMLINK_SUPPORT: u32 = 6;
const NAMED_ATTR: u32 = 7;
const FSID: u32 = 8;
const UNIQUE_HANDLES: u32 = 9;
const LEASE_TIME: u32 = 10;
const RDATTR_ERROR: u32 = 11;
const FILEHANDLE: u32 = 19;
const FILEID: u32 = 20;
const MAXFILESIZE: u32 = 27;
const MAXLINK: u32 = 28;
const MAXNAME: u32 = 29;
const MAXREAD: u32 = 30;
const MAXWRITE: u32 = 31;
const MODE: u32 = 33;
const NO_TRUNC: u32 = 34;
const NUMLINKS: u32 = 35;
const OWNER: u32 = 36;
const OWNER_GROUP: u32 = 37;
const RAWDEV: u32 = 41;
const SPACE_USED: u32 = 45;
const TIME_ACCESS: u32 = 47;
const TIME_ACCESS_SET: u32 = 48;
const TIME_METADATA: u32 = 52;
const TIME_MODIFY: u32 = 53;
const TIME_MODIFY_SET: u32 = 54;
const MOUNTED_ON_FILEID: u32 = 55;
const SUPPATTR_EXCLCREAT: u32 = 75;

/// A set of attributes: `bitmap4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bitmap([u32; WORDS]);

impl Bitmap {
    /// Takes a bitmap from the start of arguments. Words beyond the known attributes are ignored.
    pub(super) fn take_bitmap(arguments: &mut &[u8]) -> Result<Self, Failure> {
        let mut bitmap = Self([0; WORDS]);
        let count = word(arguments).ok_or(BAD_XDR)? as usize;
        // More words than octets are left end the loop.
        for index in 0..count {
            let given = word(arguments).ok_or(BAD_XDR)?;
            if let Some(word) = bitmap.0.get_mut(index) {
                *word = given;
            }
        }
        Ok(bitmap)
    }

    /// The same for attributes to be returned, among which are none that can only be set.
    pub(super) fn take_readable(arguments: &mut &[u8]) -> Result<Self, Failure> {
        let requested = Self::take_bitmap(arguments)?;
        let is_readable = ![TIME_ACCESS_SET, TIME_MODIFY_SET].iter().any(|number| requested.contains(*number));
        is_readable.then_some(requested).ok_or(INVALID)
    }

    fn from_numbers(numbers: impl IntoIterator<Item = u32>) -> Self {
        let mut bitmap = Self([0; WORDS]);
        for number in numbers {
            if let Some(word) = bitmap.0.get_mut(number as usize / 32) {
                *word |= 1 << (number % 32);
            }
        }
        bitmap
    }

    fn contains(self, number: u32) -> bool {
        self.0.get(number as usize / 32).is_some_and(|word| word & 1 << (number % 32) != 0)
    }

    /// The bitmap on the wire, without words of zeros at the end.
    fn words(self) -> Vec<u32> {
        let length = self.0.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        std::iter::once(length as u32).chain(self.0.into_iter().take(length)).collect()
    }
}

/// The requested attributes of a node that are known: `fattr4`.
pub(super) fn attributes(folder: &Folder, node: Node, requested: Bitmap) -> Vec<u32> {
    let given = || KNOWN.into_iter().filter(|number| requested.contains(*number));
    let values: Vec<u32> = given().flat_map(|number| value(folder, node, number)).collect();
    [Bitmap::from_numbers(given()).words(), vec![values.len() as u32 * 4], values].concat()
}

/// GETATTR (RFC 8881 section 18.7).
pub(super) fn get_attributes(folder: &Folder, node: Node, arguments: &mut &[u8]) -> Result<Answer, Failure> {
    Ok(attributes(folder, node, Bitmap::take_readable(arguments)?).as_slice().into())
}

/// The value of a known attribute.
fn value(folder: &Folder, node: Node, number: u32) -> Vec<u32> {
    let hyper = |value: u64| vec![(value >> 32) as u32, value as u32];
    /// User and group 0, as decimal strings (RFC 8881 section 5.9).
    const ROOT: [u32; 2] = [1, (b'0' as u32) << 24];
    match number {
        SUPPORTED_ATTRS => Bitmap::from_numbers(KNOWN).words(),
        TYPE => vec![node.kind()],
        // The last one: no attribute can be set by EXCLUSIVE4_1.
        FH_EXPIRE_TYPE | LINK_SUPPORT | NAMED_ATTR | RDATTR_ERROR | SUPPATTR_EXCLCREAT => vec![0],
        CHANGE => hyper(folder.changes_of(node)),
        SIZE | SPACE_USED => hyper(folder.size(node).into()),
        SYMLINK_SUPPORT | UNIQUE_HANDLES | NO_TRUNC | MAXLINK | NUMLINKS => vec![1],
        FSID => vec![0, 1, 0, 0],
        LEASE_TIME => vec![LEASE],
        FILEHANDLE => node.handle().to_vec(),
        FILEID | MOUNTED_ON_FILEID => hyper(node.number().into()),
        MAXFILESIZE => hyper(u32::MAX.into()),
        MAXNAME => vec![255],
        MAXREAD | MAXWRITE => hyper(MAX_SCRATCH as u64),
        MODE => vec![node.mode()],
        OWNER | OWNER_GROUP => ROOT.to_vec(),
        RAWDEV => vec![0, 0],
        // A second for each change.
        TIME_ACCESS | TIME_METADATA | TIME_MODIFY => [hyper(1 + folder.changes_of(node)), vec![0]].concat(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_in_ascending_order_with_their_bitmap_and_length() {
        let folder = Folder::new(*b"12345", "/a/path");
        let all = |numbers: &[u32]| attributes(&folder, Node::File, Bitmap::from_numbers(numbers.iter().copied()));
        assert_eq!(all(&[]), [0, 0]);
        // Type, size and owner; what is unknown (an ACL) is left out.
        let owner = u32::from_be_bytes(*b"0\0\0\0");
        assert_eq!(all(&[36, 4, 1, 12]), [2, 0x12, 0x10, 20, 1, 0, 5, 1, owner]);
        // The required attributes of RFC 8881 table 4, as words of the bitmap.
        assert_eq!(all(&[0])[..5], [1, 1, 16, 3, 0xf818_0fff]);
        assert_eq!(all(&[75]), [3, 0, 0, 0x800, 4, 0]);
        assert!(KNOWN.is_sorted());
    }

    #[test]
    fn every_known_attribute_has_a_value() {
        let folder = Folder::default();
        for number in KNOWN {
            assert!(!value(&folder, Node::Root, number).is_empty(), "{number}");
        }
    }

    #[test]
    fn a_bitmap_ends_where_its_words_end() {
        let take = |octets: &[u8]| Bitmap::take_bitmap(&mut &octets[..]);
        assert_eq!(take(&[0, 0, 0, 1, 0, 0, 0, 2]), Ok(Bitmap([2, 0, 0])));
        assert_eq!(take(&[0xff; 8]), Err(BAD_XDR));
        assert_eq!(take(&[0, 0, 0]), Err(BAD_XDR));
        let longer = [[0, 0, 0, 4].as_slice(), &[0; 12], &[0, 0, 0, 9]].concat();
        assert_eq!(take(&longer), Ok(Bitmap([0; 3])));
    }
}
