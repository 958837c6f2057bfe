//! What the operations of an RPC are asked to do.

use serde::{Serialize, Serializer};

use super::values::Hex32;
use crate::link::Address;
use crate::output::file_names::{FileNames, hash};
use crate::rpc::arguments::OperationArguments;

/// An operation, or a procedure that has none. Operations that name nothing besides the filehandle that is current anyway
/// are left out.
#[derive(Serialize)]
pub(super) struct ArgumentsObject<'a> {
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<HandleObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_file_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stateid: Option<HexOctets<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    named_handle: Option<HandleObject<'a>>,
}

impl<'a> ArgumentsObject<'a> {
    pub(super) fn all(
        arguments: &[OperationArguments<'a>],
        server: Address,
        names: &'a FileNames,
    ) -> Option<Vec<Self>> {
        let is_one = arguments.len() == 1;
        let told = arguments.iter().filter(|arguments| (is_one && arguments.handle.is_some()) || says_more(arguments));
        let all: Vec<Self> = told.map(|arguments| Self::new(arguments, server, names)).collect();
        (!all.is_empty()).then_some(all)
    }

    fn new(arguments: &OperationArguments<'a>, server: Address, names: &'a FileNames) -> Self {
        let handle = |octets| HandleObject {
            hash: Hex32(hash(octets)),
            octets: HexOctets(octets),
            name: names.name(server, octets),
        };
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        Self {
            operation: arguments.name,
            handle: arguments.handle.map(handle),
            file_name: arguments.file_name.map(text),
            new_file_name: arguments.new_file_name.map(text),
            offset: arguments.offset,
            count: arguments.count,
            stateid: arguments.stateid.map(HexOctets),
            named_handle: arguments.named_handle.map(handle),
        }
    }
}

fn says_more(arguments: &OperationArguments<'_>) -> bool {
    let OperationArguments { name, file_name, offset, count, stateid, .. } = arguments;
    *name == "PUTFH" || file_name.is_some() || offset.is_some() || count.is_some() || stateid.is_some()
}

/// A file handle.
#[derive(Serialize)]
struct HandleObject<'a> {
    hash: Hex32,
    octets: HexOctets<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

/// Octets as hexadecimal digits.
pub(in crate::output) struct HexOctets<'a>(pub(in crate::output) &'a [u8]);

impl Serialize for HexOctets<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let nibbles = self.0.iter().flat_map(|octet| [octet >> 4, octet & 15]);
        let text: String = nibbles.filter_map(|nibble| DIGITS.get(usize::from(nibble))).collect();
        serializer.serialize_str(&text)
    }
}
