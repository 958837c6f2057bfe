//! Arguments of the operations of an RPC.

use std::borrow::Cow;

use rpcrdma_dissector::nfs::OperationCode;
use rpcrdma_dissector::{Address, OperationArguments};
use serde::Serialize;

use crate::file_names::{FileNames, hash, readable};
use crate::record::sessions::{ServerObject, SessionObject, WriteObject};
use crate::record::values::{Hex32, HexOctets};

/// Arguments of an operation, or of a procedure that has no operations. Operations that name nothing besides the
/// current filehandle are left out.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ArgumentsObject<'a> {
    /// The name of the operation or procedure.
    name: &'static str,
    /// The file or directory of the operation.
    handle: Option<HandleObject<'a>>,
    /// The name of a file in the arguments of the operation. Octets that are no UTF-8 are written as `\xff`.
    file_name: Option<Cow<'a, str>>,
    /// The name that RENAME gives to the file.
    new_file_name: Option<Cow<'a, str>>,
    /// Offset in the file, in octets.
    offset: Option<u64>,
    /// Octets to be read, written or committed.
    count: Option<u32>,
    /// `stateid4` of the operation, in hexadecimal digits; the first of several.
    stateid: Option<HexOctets<'a>>,
    /// Stability of a WRITE; null for other operations.
    write: Option<WriteObject>,
    /// The session of a CREATE_SESSION; null for other operations.
    session: Option<SessionObject>,
    /// The server in the results of an EXCHANGE_ID; null for other operations.
    server: Option<ServerObject<'a>>,
    /// The file that `file_name` names, if the reply shows the handle.
    named_handle: Option<HandleObject<'a>>,
    /// Results of COPY, end of a COPY in CB_OFFLOAD, or progress of a COPY in OFFLOAD_STATUS.
    offload: Option<OffloadObject<'a>>,
}

/// A COPY: results, end or progress (RFC 7862 sections 15.2, 16.1 and 15.9).
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OffloadObject<'a> {
    /// `cr_synchronous`: true if the COPY has ended with the reply. Null except for COPY.
    synchronous: Option<bool>,
    /// `cr_consecutive`: true if the octets were copied in order. Null except for COPY.
    consecutive: Option<bool>,
    /// `wr_callback_id`, the `stateid4` of the CB_OFFLOAD that reports the end; null if the COPY has ended.
    callback_stateid: Option<HexOctets<'a>>,
    /// Octets that were copied (`wr_count`, `coa_bytes_copied`, `osr_count`).
    copied_octets: u64,
    /// `wr_committed`: `UNSTABLE4`, `DATA_SYNC4` or `FILE_SYNC4`. Null if the COPY failed, and for OFFLOAD_STATUS.
    committed: Option<&'static str>,
    /// Status of the COPY (`nfsstat4`) in CB_OFFLOAD, and in OFFLOAD_STATUS if the COPY has ended.
    status: Option<u32>,
}

impl<'a> OffloadObject<'a> {
    fn new(arguments: &OperationArguments<'a>) -> Option<Self> {
        let none = Self {
            synchronous: None,
            consecutive: None,
            callback_stateid: None,
            copied_octets: 0,
            committed: None,
            status: None,
        };
        if let Some(copy) = arguments.copy() {
            return Some(Self {
                synchronous: Some(copy.is_synchronous),
                consecutive: Some(copy.is_consecutive),
                callback_stateid: copy.callback_stateid.map(HexOctets),
                copied_octets: copy.copied,
                committed: stable(copy.committed),
                ..none
            });
        }
        if let Some(end) = arguments.offloaded() {
            let committed = end.committed.and_then(stable);
            return Some(Self { copied_octets: end.copied, committed, status: Some(end.status), ..none });
        }
        let progress = arguments.offload_progress()?;
        Some(Self { copied_octets: progress.copied, status: progress.complete, ..none })
    }
}

/// The name of a `stable_how4` (RFC 8881 section 18.32.1).
const fn stable(how: u32) -> Option<&'static str> {
    match how {
        0 => Some("UNSTABLE4"),
        1 => Some("DATA_SYNC4"),
        2 => Some("FILE_SYNC4"),
        _ => None,
    }
}

impl<'a> ArgumentsObject<'a> {
    pub(crate) fn list_arguments(
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
            file_name: names.name(server, octets).map(readable),
            path: names.path(server, octets),
        };
        Self {
            name: arguments.name,
            handle: arguments.handle.map(handle),
            file_name: arguments.file_name.map(readable),
            new_file_name: arguments.new_file_name.map(readable),
            offset: arguments.offset,
            count: arguments.count,
            stateid: arguments.stateid.map(HexOctets),
            write: WriteObject::new(arguments),
            session: SessionObject::new(arguments),
            server: ServerObject::new(arguments),
            named_handle: arguments.named_handle.map(handle),
            offload: OffloadObject::new(arguments),
        }
    }
}

fn says_more(arguments: &OperationArguments<'_>) -> bool {
    let OperationArguments { operation, file_name, offset, count, stateid, session, server_owner, .. } = arguments;
    *operation == Some(OperationCode::PUTFH)
        || file_name.is_some()
        || offset.is_some()
        || count.is_some()
        || stateid.is_some()
        || session.is_some()
        || server_owner.is_some()
}

/// A filehandle.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct HandleObject<'a> {
    /// The CRC-32 of the handle, as Wireshark shows it (`nfs.fh.hash`).
    hash: Hex32,
    /// Octets of the handle in hexadecimal digits.
    octets: HexOctets<'a>,
    /// The name by which the file was looked up, opened, created or listed, if the capture shows that.
    file_name: Option<Cow<'a, str>>,
    /// The path, from the root of the server, or behind `…` from the first folder that has a name; null if no folder is known.
    path: Option<String>,
}
