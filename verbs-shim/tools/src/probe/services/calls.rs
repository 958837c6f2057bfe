//! Calls of each operation in NFSv3 (RFC 1813) and in NFSv4.0 (RFC 7530). A file handle for NFSv3 is requested by
//! NFSv4, because MOUNT may be out of reach: the cases are tried if a server has the same handles in both.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use rpcrdma::v1::{Body, Message};
use rpcrdma_dissector::nfs::{Procedure, status};
use rpcrdma_verbs::{Error, Verbs};

use crate::probe::session::{Session, octets, opaque, word};
use crate::probe::suite::Suite;

/// A version of NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NfsVersion {
    Three,
    Four,
}

/// Operation to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NfsOperation {
    /// READ of this many octets from the beginning of the file.
    Read(u32),
    /// READLINK of the symbolic link.
    Readlink,
    /// READDIR of the root: the results must not be reduced.
    Readdir,
    /// WRITE of this many octets to the beginning of the scratch file, over zeros, and READ of the same octets. NFSv4
    /// only.
    Write(u32),
}

/// `NFS4ERR_DELAY`, and `NFS3ERR_JUKEBOX`.
pub(crate) const DELAY: u32 = 10_008;
/// `NFS4ERR_GRACE`.
pub(crate) const GRACE: u32 = 10_013;
/// Pause between two attempts.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Reason for a call without results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotMade {
    /// No inline and accepted reply came.
    NotAccepted,
    /// The reply has this status of NFS; the name, if known.
    Status(u32, Option<&'static str>),
}

impl fmt::Display for NotMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAccepted => f.write_str("no accepted reply"),
            Self::Status(_, Some(name)) => f.write_str(name),
            Self::Status(status, None) => write!(f, "status {status}"),
        }
    }
}

/// A procedure with arguments.
pub(crate) struct NfsCall {
    version: u32,
    procedure: u32,
    arguments: Vec<u8>,
}

use NfsOperation::{Read, Readdir, Readlink, Write};

impl NfsOperation {
    /// Returns the call of this operation. The inner error is the reason why there is none.
    pub(super) fn call<V: Verbs>(
        self,
        version: NfsVersion,
        session: &mut Session<'_, V>,
        suite: &Suite,
    ) -> Result<Result<NfsCall, String>, Error> {
        let name = match self {
            Read(_) => suite.file.as_deref().map(Some).ok_or("--file is not given"),
            Readlink => suite.link.as_deref().map(Some).ok_or("--link is not given"),
            Readdir => Ok(None),
            Write(_) => suite.scratch.as_deref().map(Some).ok_or("--scratch is not given"),
        };
        let name = match name {
            Ok(name) => name,
            Err(missing) => return Ok(Err(missing.to_owned())),
        };
        if version == NfsVersion::Four {
            let operations = if matches!(self, Write(_)) { 3 } else { 1 };
            return Ok(Ok(compound(name, operations, &self.of_compound())));
        }
        Ok(match handle(session, name)? {
            Ok(handle) => self.of_nfs3(&handle).ok_or_else(|| "NFSv3 has no such call here".to_owned()),
            Err(failed) => Err(format!("NFSv4 gives no handle: {failed}")),
        })
    }

    /// Returns the operation in a COMPOUND.
    fn of_compound(self) -> Vec<u8> {
        match self {
            // The anonymous stateid, the offset, the count.
            Read(length) => octets(&[25, 0, 0, 0, 0, 0, 0, length]),
            Readlink => octets(&[27]),
            // From the beginning, at most 512 octets, without attributes.
            Readdir => octets(&[26, 0, 0, 0, 0, 512, 512, 0]),
            Write(length) => {
                let data: Vec<u8> = (1..=255).cycle().take(length as usize).collect();
                [write(&vec![0; length as usize]), write(&data), Read(length).of_compound()].concat()
            }
        }
    }

    /// Returns the range of the data of WRITE in a call of this length.
    pub(super) fn data(self, call: usize) -> Option<Range<usize>> {
        let Write(length) = self else { return None };
        let end = call.checked_sub(Read(length).of_compound().len())?;
        let start = end.checked_sub(length.next_multiple_of(4) as usize)?;
        Some(start..end)
    }

    /// Returns the procedure of NFSv3, with a handle in XDR.
    fn of_nfs3(self, handle: &[u8]) -> Option<NfsCall> {
        let (procedure, more) = match self {
            Read(length) => (6, vec![0, 0, length]),
            Readlink => (5, vec![]),
            Readdir => (16, vec![0, 0, 0, 0, 512]),
            Write(_) => return None,
        };
        Some(NfsCall { version: 3, procedure, arguments: [handle, &octets(&more)].concat() })
    }
}

/// Returns a COMPOUND of minor version 0 about this name in the root, or the root (RFC 7530 section 16.2).
fn compound(name: Option<&str>, count: u32, operations: &[u8]) -> NfsCall {
    let lookup = name.map_or(Vec::new(), |name| [octets(&[15]), opaque(name.as_bytes())].concat());
    let all = [octets(&[24]), lookup, operations.to_vec()].concat();
    NfsCall::compound(0, 1 + u32::from(name.is_some()) + count, &all)
}

/// WRITE with the anonymous stateid at offset 0, to stable storage, with padding.
fn write(data: &[u8]) -> Vec<u8> {
    [octets(&[38, 0, 0, 0, 0, 0, 0, 2]), opaque(data)].concat()
}

/// Returns the handle of this name in the root, or of the root, in XDR: with the length, and padded.
fn handle<V: Verbs>(session: &mut Session<'_, V>, name: Option<&str>) -> Result<Result<Vec<u8>, NotMade>, Error> {
    const GETFH: u32 = 10;
    let results = match compound(name, 1, &octets(&[GETFH])).make(session)? {
        Ok(results) => results,
        Err(failed) => return Ok(Err(failed)),
    };
    // After msg_type, the verifier and the status of the RPC: status, tag, number of results, then two words of each.
    let before = 5 + 3 + 2 * if name.is_some() { 3 } else { 2 };
    let length = word(&results, before).map_or(0, |length| 4 + length.next_multiple_of(4)) as usize;
    let handle = results.get(4 * before..).and_then(|rest| rest.get(..length)).map(<[u8]>::to_vec);
    Ok(handle.ok_or(NotMade::NotAccepted))
}

impl NfsCall {
    /// A COMPOUND of NFSv4 without a tag.
    pub(crate) fn compound(minor_version: u32, count: u32, operations: &[u8]) -> Self {
        let arguments = [&octets(&[0, minor_version, count]), operations].concat();
        Self { version: 4, procedure: 1, arguments }
    }

    /// The RPC Call, by the superuser (RFC 5531 section 9, AUTH_SYS).
    pub(super) fn message(&self, xid: u32) -> Vec<u8> {
        let mut call = octets(&[xid, 0, 2, 100_003, self.version, self.procedure, 1, 20, 0, 0, 0, 0, 0, 0, 0]);
        call.extend(&self.arguments);
        call
    }

    /// Makes the call without chunks. Returns an accepted reply with a good status, from the second word on.
    pub(crate) fn make<V: Verbs>(&self, session: &mut Session<'_, V>) -> Result<Result<Vec<u8>, NotMade>, Error> {
        let Some(reply) = self.reply(session)? else { return Ok(Err(NotMade::NotAccepted)) };
        let (version, procedure) = (self.version, self.procedure);
        let of_nfs = Procedure { program: Procedure::NFS, version, procedure };
        Ok(match word(&reply, 5) {
            Some(0) => Ok(reply),
            Some(failed) => Err(NotMade::Status(failed, status::name(&of_nfs, false, failed))),
            None => Err(NotMade::NotAccepted),
        })
    }

    /// Makes the call without chunks. Returns the reply, whatever the status of NFS is.
    pub(crate) fn reply<V: Verbs>(&self, session: &mut Session<'_, V>) -> Result<Option<Vec<u8>>, Error> {
        let xid = session.fresh_xid();
        let answer = session.call(xid, &self.message(xid))?;
        let stream = answer.as_ref().and_then(|answer| inline(&answer.octets));
        let accepted = stream.filter(|stream| stream.get(4..24) == Some(&octets(&[1, 0, 0, 0, 0])));
        Ok(accepted.and_then(|stream| stream.get(4..)).map(<[u8]>::to_vec))
    }
}

/// Returns the octets after the header of an `RDMA_MSG`.
pub(crate) fn inline(octets: &[u8]) -> Option<&[u8]> {
    let message = Message::decode(octets).ok()?;
    matches!(message.header.body, Body::Msg { .. }).then(|| octets.get(message.header_length..)).flatten()
}

/// Returns a reply from the second word on, without the parts that differ between two calls: in NFSv3 the time of the
/// last access, which is in the attributes at the beginning of each reply.
pub(super) fn lasting(version: NfsVersion, reply: &[u8]) -> Vec<u8> {
    /// Offset of the attributes, if there are any, and of that time in `fattr3`.
    const ATTRIBUTES: usize = 7;
    const ACCESS: usize = ATTRIBUTES + 15;
    let mut reply = reply.to_vec();
    if version == NfsVersion::Three
        && word(&reply, ATTRIBUTES - 1) == Some(1)
        && let Some(time) = reply.get_mut(4 * ACCESS..4 * (ACCESS + 2))
    {
        time.fill(0);
    }
    reply
}
