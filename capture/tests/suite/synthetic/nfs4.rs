//! COMPOUNDs of NFSv4.1 and its callbacks (RFC 8881 sections 16 to 20), octet by octet.

use super::rpc::{call, padded, reply, words};

/// The transient program number of callbacks.
pub const CALLBACK_PROGRAM: u32 = 0x4000_0000;

const SESSION: [u32; 4] = [5, 6, 7, 8];
const STATEID: [u32; 4] = [1, 9, 9, 9];

fn opaque(octets: &[u8]) -> Vec<u8> {
    [words(&[octets.len() as u32]), padded(octets)].concat()
}

/// A COMPOUND of SEQUENCE and these operations.
fn compound(xid: u32, operations: &[Vec<u8>]) -> Vec<u8> {
    let count = operations.len() as u32 + 1;
    let sequence = [words(&[53]), words(&SESSION), words(&[1, 0, 0, 0])].concat();
    call(xid, [100_003, 4, 1], &[words(&[0, 1, count]), sequence, operations.concat()].concat())
}

/// The results of a COMPOUND of SEQUENCE and operations with these results.
fn compound_reply(xid: u32, results: &[Vec<u8>]) -> Vec<u8> {
    let count = results.len() as u32 + 1;
    let sequence = [words(&[53, 0]), words(&SESSION), words(&[1, 0, 0, 0, 0])].concat();
    reply(xid, &[words(&[0, 0, count]), sequence, results.concat()].concat())
}

fn putfh(handle: &[u8]) -> Vec<u8> {
    [words(&[22]), opaque(handle)].concat()
}

/// OPEN of a file in the folder with the handle `folder`, and GETFH.
pub fn open(xid: u32, name: &[u8]) -> Vec<u8> {
    // seqid, share_access, share_deny, owner, OPEN4_NOCREATE, CLAIM_NULL
    let open = [words(&[18, 0, 2, 0, 1, 1]), opaque(b"owner"), words(&[0, 0]), opaque(name)].concat();
    compound(xid, &[putfh(b"folder"), open, words(&[10])])
}

/// Its reply, with the handle of the file.
pub fn open_reply(xid: u32, handle: &[u8]) -> Vec<u8> {
    // stateid, change_info, rflags, attrset, OPEN_DELEGATE_NONE
    let open = [words(&[18, 0]), words(&STATEID), words(&[1, 0, 1, 0, 2, 0, 0, 0])].concat();
    compound_reply(xid, &[words(&[22, 0]), open, [words(&[10, 0]), opaque(handle)].concat()])
}

/// REMOVE, which shows no handle of the file.
pub fn remove(xid: u32, name: &[u8]) -> Vec<u8> {
    compound(xid, &[putfh(b"folder"), [words(&[28]), opaque(name)].concat()])
}

pub fn remove_reply(xid: u32) -> Vec<u8> {
    compound_reply(xid, &[words(&[22, 0]), words(&[28, 0, 1, 0, 1, 0, 2])])
}

/// GETATTR of a file, for no attribute.
pub fn getattr(xid: u32, handle: &[u8]) -> Vec<u8> {
    compound(xid, &[putfh(handle), words(&[9, 0])])
}

pub fn getattr_reply(xid: u32) -> Vec<u8> {
    compound_reply(xid, &[words(&[22, 0]), words(&[9, 0, 0, 0])])
}

/// WRITE of a few octets.
pub fn write(xid: u32, handle: &[u8]) -> Vec<u8> {
    let write = [words(&[38]), words(&STATEID), words(&[0, 0, 2]), opaque(b"data")].concat();
    compound(xid, &[putfh(handle), write])
}

pub fn write_reply(xid: u32) -> Vec<u8> {
    compound_reply(xid, &[words(&[22, 0]), words(&[38, 0, 4, 2, 9, 9])])
}

/// DELEGRETURN of a file.
pub fn delegreturn(xid: u32, handle: &[u8]) -> Vec<u8> {
    compound(xid, &[putfh(handle), [words(&[8]), words(&STATEID)].concat()])
}

pub fn delegreturn_reply(xid: u32) -> Vec<u8> {
    compound_reply(xid, &[words(&[22, 0]), words(&[8, 0])])
}

/// CB_SEQUENCE and CB_RECALL of a file.
pub fn recall(xid: u32, handle: &[u8]) -> Vec<u8> {
    callback(xid, &[words(&[4]), words(&STATEID), words(&[0]), opaque(handle)].concat())
}

pub fn recall_reply(xid: u32) -> Vec<u8> {
    callback_reply(xid, 4)
}

fn callback(xid: u32, operation: &[u8]) -> Vec<u8> {
    let sequence = [words(&[11]), words(&SESSION), words(&[1, 0, 0, 0, 0])].concat();
    call(xid, [CALLBACK_PROGRAM, 1, 1], &[&words(&[0, 1, 0, 2]), &*sequence, operation].concat())
}

/// The reply to a callback of one operation that succeeds.
fn callback_reply(xid: u32, operation: u32) -> Vec<u8> {
    let sequence = [words(&[11, 0]), words(&SESSION), words(&[1, 0, 0, 0])].concat();
    reply(xid, &[words(&[0, 0, 2]), sequence, words(&[operation, 0])].concat())
}

/// CB_LAYOUTRECALL of a file, and the reply.
pub fn layout_recall(xid: u32, handle: &[u8]) -> [Vec<u8>; 2] {
    let file = [words(&[1]), opaque(handle), words(&[0, 0, u32::MAX, u32::MAX]), words(&STATEID)].concat();
    [callback(xid, &[words(&[5, 1, 3, 1]), file].concat()), callback_reply(xid, 5)]
}

/// LAYOUTRETURN of a file, and the reply.
pub fn layout_return(xid: u32, handle: &[u8]) -> [Vec<u8>; 2] {
    let file = [words(&[51, 0, 1, 3, 1, 0, 0, u32::MAX, u32::MAX]), words(&STATEID), opaque(b"")].concat();
    [compound(xid, &[putfh(handle), file]), compound_reply(xid, &[words(&[22, 0]), words(&[51, 0, 0])])]
}

/// CB_NOTIFY_LOCK of a file, and the reply.
pub fn notify_lock(xid: u32, handle: &[u8]) -> [Vec<u8>; 2] {
    let notify = [words(&[13]), opaque(handle), words(&[0, 1]), opaque(b"owner")].concat();
    [callback(xid, &notify), callback_reply(xid, 13)]
}

/// SEQUENCE alone, and the reply with these status flags.
pub fn flagged(xid: u32, flags: u32) -> [Vec<u8>; 2] {
    let sequence = [words(&[53, 0]), words(&SESSION), words(&[1, 0, 0, 0, flags])].concat();
    [compound(xid, &[]), reply(xid, &[words(&[0, 0, 1]), sequence].concat())]
}

/// The reply to a COMPOUND of SEQUENCE, PUTFH and an operation that failed with this status.
pub fn failed_reply(xid: u32, operation: u32, status: u32) -> Vec<u8> {
    let sequence = [words(&[53, 0]), words(&SESSION), words(&[1, 0, 0, 0, 0])].concat();
    // LOCK with NFS4ERR_DENIED says who has the lock: offset, length, type, client and owner.
    let denied = if (operation, status) == (LOCK, DENIED) {
        [words(&[0, 0, 0, 0, 2, 0, 1]), opaque(b"other")].concat()
    } else {
        Vec::new()
    };
    let results = [words(&[22, 0]), words(&[operation, status]), denied].concat();
    reply(xid, &[words(&[status, 0, 3]), sequence, results].concat())
}

/// The reply to a COMPOUND whose first operation failed with this status.
pub fn failed_first(xid: u32, operation: u32, status: u32) -> Vec<u8> {
    reply(xid, &words(&[status, 0, 1, operation, status]))
}

pub const WRITE: u32 = 38;
pub const SEQUENCE: u32 = 53;
pub const CREATE_SESSION: u32 = 43;
pub const OPEN: u32 = 18;
pub const LOCK: u32 = 12;
pub const LAYOUTGET: u32 = 50;

pub const DELAY: u32 = 10_008;
pub const DENIED: u32 = 10_010;
pub const EXPIRED: u32 = 10_011;
pub const GRACE: u32 = 10_013;
pub const STALE_CLIENTID: u32 = 10_022;
pub const BADSESSION: u32 = 10_052;

/// WRITE with another stateid.
pub fn write_with(xid: u32, handle: &[u8], stateid: [u32; 4]) -> Vec<u8> {
    let write = [words(&[38]), words(&stateid), words(&[0, 0, 2]), opaque(b"data")].concat();
    compound(xid, &[putfh(handle), write])
}

/// LOCK of a file from an offset on, by a client that is willing to wait (WRITEW_LT).
pub fn lock(xid: u32, handle: &[u8], offset: u32) -> Vec<u8> {
    let lock = [words(&[LOCK, 4, 0, 0, offset, 0, 100, 0]), words(&STATEID), words(&[0])].concat();
    compound(xid, &[putfh(handle), lock])
}

pub fn lock_reply(xid: u32) -> Vec<u8> {
    compound_reply(xid, &[words(&[22, 0]), [words(&[LOCK, 0]), words(&STATEID)].concat()])
}

/// COPY of a file into another.
pub fn copy(xid: u32) -> Vec<u8> {
    let copy = [words(&[60]), words(&STATEID), words(&STATEID), words(&[0, 0, 0, 0, 0, 1 << 20, 1, 0, 0])].concat();
    compound(xid, &[putfh(b"source"), words(&[32]), putfh(b"destination"), copy])
}

/// Its reply: the COPY goes on, and CB_OFFLOAD will have this stateid.
pub fn copy_reply(xid: u32, stateid: [u32; 4]) -> Vec<u8> {
    // wr_callback_id, wr_count, wr_committed, wr_writeverf, cr_consecutive, cr_synchronous
    let copy = [words(&[60, 0, 1]), words(&stateid), words(&[0, 0, 0, 9, 9, 1, 0])].concat();
    compound_reply(xid, &[words(&[22, 0]), words(&[32, 0]), words(&[22, 0]), copy])
}

/// The reply to a COPY that is complete.
pub fn copy_done_reply(xid: u32) -> Vec<u8> {
    let copy = words(&[60, 0, 0, 0, 1 << 20, 2, 9, 9, 1, 1]);
    compound_reply(xid, &[words(&[22, 0]), words(&[32, 0]), words(&[22, 0]), copy])
}

/// CB_SEQUENCE and CB_OFFLOAD: all was copied.
pub fn offloaded(xid: u32, stateid: [u32; 4]) -> Vec<u8> {
    let sequence = [words(&[11]), words(&SESSION), words(&[1, 0, 0, 0, 0])].concat();
    let offload = [words(&[15]), opaque(b"destination"), words(&stateid), words(&[0, 0, 0, 1 << 20, 2, 9, 9])].concat();
    call(xid, [CALLBACK_PROGRAM, 1, 1], &[words(&[0, 1, 0, 2]), sequence, offload].concat())
}

pub fn offloaded_reply(xid: u32) -> Vec<u8> {
    let sequence = [words(&[11, 0]), words(&SESSION), words(&[1, 0, 0, 0])].concat();
    reply(xid, &[words(&[0, 0, 2]), sequence, words(&[15, 0])].concat())
}

/// OFFLOAD_CANCEL.
pub fn cancel(xid: u32, stateid: [u32; 4]) -> Vec<u8> {
    compound(xid, &[putfh(b"destination"), [words(&[66]), words(&stateid)].concat()])
}

pub fn cancel_reply(xid: u32) -> Vec<u8> {
    compound_reply(xid, &[words(&[22, 0]), words(&[66, 0])])
}

/// OFFLOAD_STATUS.
pub fn progress(xid: u32, stateid: [u32; 4]) -> Vec<u8> {
    compound(xid, &[putfh(b"destination"), [words(&[67]), words(&stateid)].concat()])
}

/// Its reply: so many octets were copied, and the COPY goes on or is complete.
pub fn progress_reply(xid: u32, octets: u32, is_complete: bool) -> Vec<u8> {
    let complete: &[u32] = if is_complete { &[1, 0] } else { &[0] };
    compound_reply(xid, &[words(&[22, 0]), [words(&[67, 0, 0, octets]), words(complete)].concat()])
}

/// A call on a slot of a session.
#[derive(Clone, Copy, Debug)]
pub struct SlotUse {
    pub session: [u32; 4],
    pub sequence: u32,
    pub slot: u32,
    /// The highest slot in use.
    pub highest: u32,
}

/// The words of a reply to SEQUENCE after the slot: highest slot, target, status flags.
pub type Granted = [u32; 3];

impl SlotUse {
    /// A COMPOUND of SEQUENCE and PUTROOTFH on the slot.
    pub fn call(self, xid: u32) -> Vec<u8> {
        self.call_of(xid, &[words(&[24])])
    }

    /// A COMPOUND of SEQUENCE and these operations on the slot.
    pub fn call_of(self, xid: u32, operations: &[Vec<u8>]) -> Vec<u8> {
        let Self { session, sequence, slot, highest } = self;
        let count = operations.len() as u32 + 1;
        let start = [words(&[0, 1, count, 53]), words(&session), words(&[sequence, slot, highest, 1])].concat();
        call(xid, [100_003, 4, 1], &[start, operations.concat()].concat())
    }

    /// The reply to [`call`](Self::call).
    pub fn reply(self, xid: u32, granted: Granted) -> Vec<u8> {
        self.reply_of(xid, granted, &[words(&[24, 0])])
    }

    pub fn reply_of(self, xid: u32, granted: Granted, results: &[Vec<u8>]) -> Vec<u8> {
        let Self { session, sequence, slot, .. } = self;
        let count = results.len() as u32 + 1;
        let start = [words(&[0, 0, count, 53, 0]), words(&session), words(&[sequence, slot])].concat();
        reply(xid, &[start, words(&granted), results.concat()].concat())
    }
}

/// WRITE of eight octets at 4,096 with this `stable_how`.
pub fn write_operation(stable: u32) -> Vec<u8> {
    [words(&[38]), words(&STATEID), words(&[0, 4096, stable]), opaque(b"datadata")].concat()
}

/// The results of a WRITE: octets that were written, and `committed`.
pub fn write_results(count: u32, committed: u32) -> Vec<u8> {
    words(&[38, 0, count, committed, 9, 9])
}

pub fn putfh_operation(handle: &[u8]) -> Vec<u8> {
    putfh(handle)
}

pub fn putfh_results() -> Vec<u8> {
    words(&[22, 0])
}

fn alone(xid: u32, operation: &[u8]) -> Vec<u8> {
    call(xid, [100_003, 4, 1], &[&words(&[0, 1, 1]), operation].concat())
}

fn alone_reply(xid: u32, results: &[u8]) -> Vec<u8> {
    reply(xid, &[&words(&[0, 0, 1]), results].concat())
}

pub fn exchange_id(xid: u32) -> Vec<u8> {
    // verifier, owner, flags, SP4_NONE, no implementation ID
    alone(xid, &[words(&[42, 7, 7]), opaque(b"client owner"), words(&[0, 0, 0])].concat())
}

/// Its reply: client ID, minor ID, major ID, scope.
pub fn exchange_id_reply(xid: u32, client: [u32; 2], minor: u32, major: &[u8], scope: &[u8]) -> Vec<u8> {
    let start = [words(&[42, 0]), words(&client), words(&[1, 0, 0, 0, minor])].concat();
    alone_reply(xid, &[start, opaque(major), opaque(scope), words(&[0])].concat())
}

/// Two `channel_attrs4` with these numbers of slots.
fn channels([fore, back]: [u32; 2]) -> Vec<u8> {
    words(&[0, 70_000, 90_000, 4096, 16, fore, 0, 0, 5000, 6000, 0, 2, back, 0])
}

/// CREATE_SESSION that asks for so many slots of calls and of callbacks.
pub fn create_session(xid: u32, client: [u32; 2], slots: [u32; 2]) -> Vec<u8> {
    let start = [words(&[43]), words(&client), words(&[1, 3])].concat();
    alone(xid, &[start, channels(slots), words(&[CALLBACK_PROGRAM, 0])].concat())
}

pub fn create_session_reply(xid: u32, session: [u32; 4], slots: [u32; 2]) -> Vec<u8> {
    alone_reply(xid, &[words(&[43, 0]), words(&session), words(&[1, 3]), channels(slots)].concat())
}
