//! Arguments of the operations of an RPC: file handles, names, offsets. The arguments are read from the rebuilt
//! messages on request, and not stored.

use rpcrdma::reader::Reader;
use rpcrdma::rpc::{AcceptStatus, Auth, ReplyBody, RpcCall, RpcReply};

use super::describe::protected;
use super::header::{PayloadPlace, read_chunks, write_lengths};
use super::message::Message;
use super::properties::{MessageDirection, Security, Status};
use super::transaction::{Half, Rebuilt, Transaction};
use crate::nfs::{
    self, ChannelLimits, CompoundOperation, DataItem, DirectoryEntry, FilehandleStep, Listing, Mark, MarkedItem,
    OperationCode, OperationTraits, Reduced, RpcBody, SequenceArguments, SequenceResults, ServerLimits, ServerOwner,
    SessionCreation, SessionLimits, StableHow, v4,
};

/// Arguments and status of a procedure, or of an operation of a COMPOUND, found in the rebuilt messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationArguments<'a> {
    /// The operation; `None` for a procedure that has no operations.
    pub operation: Option<OperationCode>,
    /// The name of the operation or procedure.
    pub name: &'static str,
    /// Properties of the operation or procedure.
    pub traits: OperationTraits,
    /// Final status (`nfsstat`), if there is one.
    pub status: Option<u32>,
    /// Handle of the file or directory that the operation is about. In NFSv4 this is the current filehandle, if the
    /// COMPOUND shows that; for RENAME, the saved one.
    pub handle: Option<&'a [u8]>,
    /// The name of a file in a directory: the file that is looked up, opened, created, removed or renamed.
    pub file_name: Option<&'a [u8]>,
    /// The name that RENAME gives to the file.
    pub new_file_name: Option<&'a [u8]>,
    /// The handle of the directory into which RENAME moves the file.
    pub new_handle: Option<&'a [u8]>,
    /// Attributes that GETATTR asks for: a counted `bitmap4`.
    pub attributes: Option<&'a [u8]>,
    /// Offset in the file.
    pub offset: Option<u64>,
    /// Octets that are to be read, written or committed.
    pub count: Option<u32>,
    /// Stability that WRITE asks for.
    pub stable: Option<StableHow>,
    /// Octets that the server wrote, in the results of WRITE.
    pub written: Option<u32>,
    /// Stability of the written data, in the results of WRITE.
    pub committed: Option<StableHow>,
    /// Fields of SEQUENCE or CB_SEQUENCE.
    pub sequence: Option<SequenceArguments>,
    /// Fields of the results of SEQUENCE or CB_SEQUENCE, if that succeeded.
    pub sequence_results: Option<SequenceResults>,
    /// Limits of the session in CREATE_SESSION.
    pub session: Option<SessionCreation>,
    /// `clientid4` of CREATE_SESSION, or in the results of EXCHANGE_ID.
    pub client: Option<u64>,
    /// Server in the results of EXCHANGE_ID.
    pub server_owner: Option<ServerOwner<'a>>,
    /// `stateid4` of the operation; the first, if there are several.
    pub stateid: Option<&'a [u8]>,
    /// The path that MNT asks for.
    pub path: Option<&'a [u8]>,
    /// Limits of the server in the results of GETATTR or FSINFO, in wire format.
    returned_limits: Option<ReturnedLimits<'a>>,
    /// Handle of the file that `file_name` names, or of the directory at `path`, if the reply shows the handle.
    pub named_handle: Option<&'a [u8]>,
    /// Entries of the directory in the results of READDIR and READDIRPLUS, in wire format.
    listing: Option<Listing<'a>>,
    /// Claim of OPEN, or range and type of LOCK, in wire format.
    variant: Option<&'a [u8]>,
    /// Results of COPY or OFFLOAD_STATUS, or arguments of CB_OFFLOAD.
    offload: Offload<'a>,
}

/// Parts of COPY, CB_OFFLOAD and OFFLOAD_STATUS in wire format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Offload<'a> {
    write_response: Option<&'a [u8]>,
    requirements: Option<&'a [u8]>,
    info: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
}

/// Results of COPY (RFC 7862 section 15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyResults<'a> {
    /// `stateid4` of the CB_OFFLOAD that reports the end (`wr_callback_id`); `None` if the COPY has ended.
    pub callback_stateid: Option<&'a [u8]>,
    /// Octets that were copied (`wr_count`).
    pub copied: u64,
    /// `stable_how4` of the octets that were copied (`wr_committed`): 0 for UNSTABLE4, 1 for DATA_SYNC4, 2 for FILE_SYNC4.
    pub committed: u32,
    /// True if the octets were copied in order (`cr_consecutive`).
    pub is_consecutive: bool,
    /// True if the COPY has ended with the reply (`cr_synchronous`).
    pub is_synchronous: bool,
}

/// End of a COPY, as CB_OFFLOAD reports it (RFC 7862 section 16.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offloaded {
    /// Status of the COPY (`nfsstat4`).
    pub status: u32,
    /// Octets that were copied.
    pub copied: u64,
    /// `stable_how4` of these octets; `None` if the COPY failed.
    pub committed: Option<u32>,
}

/// Progress of a COPY, as OFFLOAD_STATUS reports it (RFC 7862 section 15.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OffloadProgress {
    /// Octets that were copied.
    pub copied: u64,
    /// Status of the COPY (`nfsstat4`), if the COPY has ended.
    pub complete: Option<u32>,
}

/// A `write_response4`.
struct WriteResponse<'a> {
    callback_stateid: Option<&'a [u8]>,
    copied: u64,
    committed: u32,
}

impl<'a> WriteResponse<'a> {
    fn read(octets: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(octets);
        let callback_stateid = match reader.u32().ok()? {
            0 => None,
            _ => Some(reader.read_octets(16).ok()?),
        };
        Some(Self { callback_stateid, copied: reader.u64().ok()?, committed: reader.u32().ok()? })
    }
}

/// Limits of the server in the form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReturnedLimits<'a> {
    /// A `fattr4`.
    Attributes(&'a [u8]),
    /// The results of FSINFO.
    FileSystem(&'a [u8]),
}

impl Transaction {
    /// The credential of the call, if the call was rebuilt.
    #[must_use]
    pub fn credential(&self) -> Option<Auth<'_>> {
        RpcCall::decode(rebuilt(&self.call)?.reduced()).ok().map(|(call, _)| call.credential)
    }

    /// The minor version of a COMPOUND, if the capture shows that.
    #[must_use]
    pub fn minor_version(&self) -> Option<u32> {
        self.procedure.filter(|procedure| *procedure == v4::COMPOUND)?;
        let mut reader = Reader::new(self.readable_arguments(rebuilt(&self.call)?.reduced())?.octets);
        reader.opaque().ok()?;
        reader.u32().ok()
    }

    /// Returns the limits of the session that the call created, if any.
    #[must_use]
    pub fn created_session(&self) -> Option<SessionLimits> {
        let created = self.operations.iter().find(|operation| operation.code == OperationCode::CREATE_SESSION)?;
        created.status.filter(|status| *status == 0)?;
        let body = self.readable(RpcBody { octets: results(rebuilt(&self.reply)?.reduced())?, position: 0 })?;
        nfs::session_limits(self.procedure?, body.octets)
    }

    /// Returns the arguments: one for each of [`operations`](Self::operations), or one for a procedure that has none.
    /// Empty if the call was not rebuilt, if the arguments are encrypted, or if the program is unknown.
    #[must_use]
    pub fn arguments(&self) -> Vec<OperationArguments<'_>> {
        self.walk_arguments().unwrap_or_default()
    }

    /// Returns the results alone of the operations of a COMPOUND: of a call that was not rebuilt, only the reply shows the operations.
    pub(crate) fn results_alone(&self) -> Vec<OperationArguments<'_>> {
        self.walk_results().unwrap_or_default()
    }

    fn walk_results(&self) -> Option<Vec<OperationArguments<'_>>> {
        let reply = rebuilt(&self.reply)?;
        let body = self.readable(RpcBody { octets: results(reply.reduced())?, position: 0 })?;
        let (procedure, callback) = (self.procedure?, self.callback.is_callback());
        let (answers, returned) = nfs::marked_results(procedure, callback, body.octets, Reduced::Reply(&writes(reply)));
        Some(compound(&answers, &[], &answers, &returned, &[]))
    }

    fn walk_arguments(&self) -> Option<Vec<OperationArguments<'_>>> {
        let (procedure, callback) = (self.procedure?, self.callback.is_callback());
        let call = rebuilt(&self.call)?;
        let body = self.readable_arguments(call.reduced())?;
        let (operations, asked) = nfs::marked_arguments(procedure, callback, body, Reduced::Call(&reads(call)));
        let reply = rebuilt(&self.reply);
        let results = reply.and_then(|reply| {
            let body = self.readable(RpcBody { octets: results(reply.reduced())?, position: 0 })?;
            Some((body, writes(reply)))
        });
        let (answers, returned) = results
            .as_ref()
            .map(|(body, writes)| nfs::marked_results(procedure, callback, body.octets, Reduced::Reply(writes)))
            .unwrap_or_default();
        if operations.is_empty() {
            let mut arguments = OperationArguments::new(self.name?, asked.iter());
            arguments.traits = procedure.traits(callback);
            arguments.status = match self.status? {
                Status::Success(status) => status,
                _ => None,
            };
            let named = arguments.file_name.or(arguments.path);
            arguments.named_handle = named.and(first(returned.iter(), Mark::Handle));
            arguments.listing = first(returned.iter(), Mark::Entries).map(Listing::Version3);
            arguments.returned_limits = first(returned.iter(), Mark::FileSystem).map(ReturnedLimits::FileSystem);
            arguments.take_results(returned.iter());
            return Some(vec![arguments]);
        }
        let mut all = compound(&operations, &asked, &answers, &returned, &call.items);
        if let (Some(first), Some(code)) = (all.first_mut(), self.sequence_code()) {
            first.sequence = SequenceArguments::decode(code, body.octets);
            first.sequence_results = results.and_then(|(body, _)| SequenceResults::decode(code, body.octets));
        }
        Some(all)
    }

    /// The fields of SEQUENCE or CB_SEQUENCE, if the call begins with that.
    #[must_use]
    pub fn sequence(&self) -> Option<SequenceArguments> {
        let (code, call) = (self.sequence_code()?, rebuilt(&self.call)?);
        let decode = |octets| SequenceArguments::decode(code, self.readable_arguments(octets)?.octets);
        call.pieces().next().and_then(decode).or_else(|| decode(call.reduced()))
    }

    /// The fields of the results of SEQUENCE or CB_SEQUENCE, if that succeeded.
    #[must_use]
    pub fn sequence_results(&self) -> Option<SequenceResults> {
        let (code, reply) = (self.sequence_code()?, rebuilt(&self.reply)?);
        let decode = |octets| {
            SequenceResults::decode(code, self.readable(RpcBody { octets: results(octets)?, position: 0 })?.octets)
        };
        reply.pieces().next().and_then(decode).or_else(|| decode(reply.reduced()))
    }

    /// The first operation, if that is SEQUENCE or CB_SEQUENCE.
    fn sequence_code(&self) -> Option<OperationCode> {
        let first = self.operations.first()?.code;
        matches!(first, OperationCode::SEQUENCE | OperationCode::CB_SEQUENCE).then_some(first)
    }

    /// Returns the octets of the arguments in a call, unless encrypted.
    fn readable_arguments<'a>(&self, call: &'a [u8]) -> Option<RpcBody<'a>> {
        readable_arguments(self.security, call)
    }

    /// Returns the arguments or results in a body, unless encrypted.
    fn readable<'a>(&self, body: RpcBody<'a>) -> Option<RpcBody<'a>> {
        readable(self.security, body)
    }
}

impl Message {
    /// Returns the arguments of a call, or the results of a reply, as far as the Send itself has them: one for each operation, or one for a
    /// procedure that has no operations.
    #[must_use]
    pub fn arguments(&self) -> Vec<OperationArguments<'_>> {
        self.walk_arguments().unwrap_or_default()
    }

    /// The fields of SEQUENCE or CB_SEQUENCE in a call, if the Send begins with that.
    pub(crate) fn sequence(&self) -> Option<SequenceArguments> {
        let (rpc, decoded) = (self.rpc.as_ref()?, self.decode().ok()?);
        SequenceArguments::decode(
            rpc.operations.first()?.code,
            readable_arguments(rpc.security, decoded.payload)?.octets,
        )
    }

    /// The fields of the results of SEQUENCE or CB_SEQUENCE in a reply, if the Send begins with that.
    pub(crate) fn sequence_results(&self) -> Option<SequenceResults> {
        let (rpc, decoded) = (self.rpc.as_ref()?, self.decode().ok()?);
        let body = readable(rpc.security, RpcBody { octets: results(decoded.payload)?, position: 0 })?;
        SequenceResults::decode(rpc.operations.first()?.code, body.octets)
    }

    fn walk_arguments(&self) -> Option<Vec<OperationArguments<'_>>> {
        let (rpc, decoded) = (self.rpc.as_ref()?, self.decode().ok()?);
        let (procedure, callback) = (rpc.procedure?, rpc.callback.is_callback());
        let payload = decoded.payload;
        if decoded.header.place() != PayloadPlace::Inline || self.earlier.is_some() || has_padding(self) {
            return None;
        }
        let chunks = decoded.header.chunks().unwrap_or_default();
        if rpc.direction == MessageDirection::Call {
            let body = readable_arguments(rpc.security, payload)?;
            let reads = read_chunks(&chunks);
            let (operations, asked) = nfs::marked_arguments(procedure, callback, body, Reduced::Call(&reads));
            if operations.is_empty() {
                return Some(vec![OperationArguments::new(rpc.name?, asked.iter())]);
            }
            let walk = nfs::arguments(procedure, callback, body.octets, body.position, Reduced::Call(&reads));
            let mut all = compound(&operations, &asked, &[], &[], &walk.items);
            if let Some((first, operation)) = all.first_mut().zip(operations.first()) {
                first.sequence = SequenceArguments::decode(operation.code, body.octets);
            }
            return Some(all);
        }
        let body = readable(rpc.security, RpcBody { octets: results(payload)?, position: 0 })?;
        let writes = write_lengths(&chunks);
        let (operations, returned) = nfs::marked_results(procedure, callback, body.octets, Reduced::Reply(&writes));
        if operations.is_empty() {
            let mut results = OperationArguments { name: rpc.name?, ..OperationArguments::default() };
            results.take_results(returned.iter());
            return Some(vec![results]);
        }
        let mut all = compound(&operations, &[], &operations, &returned, &[]);
        if let Some((first, operation)) = all.first_mut().zip(operations.first()) {
            first.sequence_results = SequenceResults::decode(operation.code, body.octets);
        }
        Some(all)
    }
}

/// Returns true if the payload of a message has padding, or may have some.
fn has_padding(message: &Message) -> bool {
    message.padding.as_ref().is_none_or(|padding| !padding.is_empty())
}

/// Returns the octets of the arguments in a call, unless encrypted.
fn readable_arguments(security: Option<Security>, call: &[u8]) -> Option<RpcBody<'_>> {
    let (_, arguments) = RpcCall::decode(call).ok()?;
    readable(security, RpcBody { octets: arguments, position: call.len() - arguments.len() })
}

/// Returns the arguments or results in a body, unless encrypted.
fn readable(security: Option<Security>, body: RpcBody<'_>) -> Option<RpcBody<'_>> {
    match security {
        None | Some(Security::Authentication) => Some(body),
        Some(Security::Integrity) => Some(protected(body)),
        Some(Security::Privacy | Security::Control(_)) => None,
    }
}

fn rebuilt(half: &Option<Half>) -> Option<&Rebuilt> {
    half.as_ref()?.message.as_ref().ok()
}

/// The Read chunks of the data items of a call: Position and length.
fn reads(call: &Rebuilt) -> Vec<(u64, u64)> {
    let moved = call.items.iter().filter(|item| item.chunk.is_some());
    moved.map(|item| (item.at as u64, item.length.into())).collect()
}

/// Returns the lengths of the Write chunks of a reply that have data items, and 0 for other chunks before the last of
/// these.
fn writes(reply: &Rebuilt) -> Vec<u64> {
    let mut lengths = Vec::new();
    for item in &reply.items {
        if let Some(chunk) = item.chunk {
            lengths.resize(chunk, 0);
            lengths.push(item.length.into());
        }
    }
    lengths
}

/// The results of a reply that has any.
fn results(reply: &[u8]) -> Option<&[u8]> {
    let (header, results) = RpcReply::decode(reply).ok()?;
    matches!(header.body, ReplyBody::Accepted { status: AcceptStatus::SUCCESS, .. }).then_some(results)
}

fn first<'a, 'b: 'a>(mut items: impl Iterator<Item = &'a MarkedItem<'b>>, mark: Mark) -> Option<&'b [u8]> {
    items.find(|item| item.mark == mark).map(|item| item.octets)
}

/// The marked items of one operation.
fn select_items<'a, 'b>(
    items: &'a [MarkedItem<'b>],
    operation: usize,
) -> impl Iterator<Item = &'a MarkedItem<'b>> + Clone {
    items.iter().filter(move |item| item.operation == operation)
}

impl<'b> OperationArguments<'b> {
    /// Returns true if GETATTR asks for the attribute with this number.
    #[must_use]
    pub fn asks_for(&self, attribute: usize) -> bool {
        self.attributes.is_some_and(|bitmap| nfs::has_attribute(bitmap, attribute))
    }

    /// Returns the limits of the server that the results show: from GETATTR (NFSv4) or FSINFO (NFSv3).
    #[must_use]
    pub fn server_limits(&self) -> Option<ServerLimits> {
        let limits = match self.returned_limits? {
            ReturnedLimits::Attributes(fattr) => ServerLimits::of_attributes(fattr),
            ReturnedLimits::FileSystem(results) => ServerLimits::of_file_system(results),
        };
        (limits != ServerLimits::default()).then_some(limits)
    }

    /// Returns the entries of the directory that the results of READDIR and READDIRPLUS show with their handles.
    pub fn entries(&self) -> impl Iterator<Item = DirectoryEntry<'b>> {
        self.listing.into_iter().flat_map(Listing::entries)
    }

    /// Returns the results of a COPY that succeeded.
    #[must_use]
    pub fn copy(&self) -> Option<CopyResults<'b>> {
        let WriteResponse { callback_stateid, copied, committed } = WriteResponse::read(self.offload.write_response?)?;
        let mut requirements = Reader::new(self.offload.requirements?);
        let (is_consecutive, is_synchronous) = (requirements.u32().ok()? != 0, requirements.u32().ok()? != 0);
        Some(CopyResults { callback_stateid, copied, committed, is_consecutive, is_synchronous })
    }

    /// Returns the end of a COPY that CB_OFFLOAD reports.
    #[must_use]
    pub fn offloaded(&self) -> Option<Offloaded> {
        let mut reader = Reader::new(self.offload.info?);
        let status = reader.u32().ok()?;
        if status != 0 {
            return Some(Offloaded { status, copied: reader.u64().ok()?, committed: None });
        }
        let WriteResponse { copied, committed, .. } = WriteResponse::read(reader.rest())?;
        Some(Offloaded { status, copied, committed: Some(committed) })
    }

    /// Returns the progress of a COPY that OFFLOAD_STATUS reports.
    #[must_use]
    pub fn offload_progress(&self) -> Option<OffloadProgress> {
        let mut reader = Reader::new(self.offload.status?);
        let copied = reader.u64().ok()?;
        let complete = if reader.u32().ok()? == 0 { None } else { Some(reader.u32().ok()?) };
        Some(OffloadProgress { copied, complete })
    }

    /// Returns the part of the arguments that tells operations of one kind on one file apart: the claim of OPEN; type,
    /// reclaim, offset and length of LOCK.
    pub(crate) fn variant(&self) -> Option<&'b [u8]> {
        match self.operation? {
            OperationCode::OPEN => self.variant?.get(..4),
            _ => self.variant,
        }
    }

    /// Takes the items of the results that stand beside the arguments.
    fn take_results<'a>(&mut self, items: impl Iterator<Item = &'a MarkedItem<'b>> + Clone)
    where
        'b: 'a,
    {
        self.written = first(items.clone(), Mark::Written).and_then(word);
        self.committed = first(items.clone(), Mark::Stable).and_then(word).map(StableHow);
        self.server_owner = first(items.clone(), Mark::ServerOwner).and_then(ServerOwner::decode);
        self.client = self.client.or_else(|| first(items, Mark::Client).map(number));
    }

    fn new<'a>(name: &'static str, items: impl Iterator<Item = &'a MarkedItem<'b>>) -> Self
    where
        'b: 'a,
    {
        let mut arguments = Self { name, ..Self::default() };
        let mut second_handle = None;
        for &MarkedItem { mark, octets, .. } in items {
            let argument = match mark {
                Mark::Name if arguments.file_name.is_none() => &mut arguments.file_name,
                Mark::Name => &mut arguments.new_file_name,
                Mark::Handle if arguments.handle.is_none() => &mut arguments.handle,
                Mark::Handle => &mut second_handle,
                Mark::Attributes => &mut arguments.attributes,
                Mark::Stateid => &mut arguments.stateid,
                Mark::Path => &mut arguments.path,
                Mark::Variant => &mut arguments.variant,
                Mark::OffloadInfo => &mut arguments.offload.info,
                Mark::Offset => {
                    arguments.offset.get_or_insert_with(|| number(octets));
                    continue;
                }
                Mark::Count => {
                    arguments.count = arguments.count.or_else(|| number(octets).try_into().ok());
                    continue;
                }
                Mark::Stable => {
                    arguments.stable = word(octets).map(StableHow);
                    continue;
                }
                Mark::Client => {
                    arguments.client = Some(number(octets));
                    continue;
                }
                _ => continue,
            };
            argument.get_or_insert(octets);
        }
        arguments.new_handle = arguments.new_file_name.and(second_handle);
        arguments
    }
}

fn word(octets: &[u8]) -> Option<u32> {
    number(octets).try_into().ok()
}

fn number(octets: &[u8]) -> u64 {
    octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))
}

/// Filehandles that a COMPOUND shows (RFC 8881 section 16.2.3.1).
#[derive(Default)]
struct Filehandles<'a> {
    current: Option<&'a [u8]>,
    saved: Option<&'a [u8]>,
    /// Index of the operation that made another file current, by the file's name.
    named_by: Option<usize>,
}

/// Returns the operations of a COMPOUND, each with the filehandle that is current when the operation is carried out.
fn compound<'a>(
    operations: &[CompoundOperation],
    asked: &[MarkedItem<'a>],
    answers: &[CompoundOperation],
    returned: &[MarkedItem<'a>],
    items: &[DataItem],
) -> Vec<OperationArguments<'a>> {
    let mut filehandles = Filehandles::default();
    let mut all: Vec<OperationArguments<'a>> = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        let mut arguments = OperationArguments::new(operation.name, select_items(asked, index));
        (arguments.operation, arguments.traits) = (Some(operation.code), operation.code.traits());
        arguments.status = answers.get(index).and_then(|answer| answer.status);
        if operation.code == OperationCode::WRITE {
            let data = items.iter().find(|item| item.operation == index);
            arguments.count = data.map(|data| data.length);
        }
        arguments.returned_limits =
            first(select_items(returned, index), Mark::AttributeValues).map(ReturnedLimits::Attributes);
        arguments.listing = first(select_items(returned, index), Mark::Entries).map(Listing::Version4);
        if matches!(operation.code, OperationCode::COPY | OperationCode::OFFLOAD_STATUS) {
            let result = |mark| first(select_items(returned, index), mark);
            arguments.offload = Offload {
                write_response: result(Mark::WriteResponse),
                requirements: result(Mark::CopyRequirements),
                status: result(Mark::OffloadStatus),
                ..arguments.offload
            };
        }
        if matches!(operation.code, OperationCode::WRITE | OperationCode::EXCHANGE_ID) {
            arguments.take_results(select_items(returned, index));
        }
        if operation.code == OperationCode::CREATE_SESSION {
            let asked = ChannelLimits::both(select_items(asked, index));
            let created = SessionLimits::from_items(select_items(returned, index));
            arguments.session = Some(SessionCreation { asked, created });
        }
        let got = first(select_items(returned, index), Mark::Handle);
        if let Some((handle, named)) =
            got.zip(filehandles.named_by).filter(|_| arguments.traits.filehandle == FilehandleStep::Get)
        {
            all.get_mut(named).into_iter().for_each(|named| named.named_handle = Some(handle));
        }
        arguments.new_handle = arguments.new_file_name.and(filehandles.current);
        arguments.handle = filehandles.step(&arguments, got, index);
        all.push(arguments);
    }
    all
}

impl<'a> Filehandles<'a> {
    /// Takes the next operation, which returned the handle `got`. Returns the handle of the object that the operation
    /// is about.
    fn step(&mut self, arguments: &OperationArguments<'a>, got: Option<&'a [u8]>, index: usize) -> Option<&'a [u8]> {
        let before = self.current;
        match arguments.traits.filehandle {
            FilehandleStep::Put => *self = Self { current: arguments.handle, named_by: None, ..*self },
            FilehandleStep::Forget => *self = Self { current: None, named_by: None, ..*self },
            FilehandleStep::Name if arguments.file_name.is_some() => {
                *self = Self { current: None, named_by: Some(index), ..*self };
            }
            FilehandleStep::Get => self.current = got.or(self.current),
            FilehandleStep::Save => self.saved = self.current,
            FilehandleStep::Restore => *self = Self { current: self.saved, named_by: None, ..*self },
            FilehandleStep::UseSaved => return self.saved,
            FilehandleStep::Name | FilehandleStep::Keep => {}
        }
        match arguments.traits.filehandle {
            FilehandleStep::Put | FilehandleStep::Get | FilehandleStep::Restore => self.current,
            _ => arguments.handle.or(before),
        }
    }
}
