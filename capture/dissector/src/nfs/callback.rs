//! Callback program of NFS version 4 (RFC 7530 section 16.35 onwards, RFC 8881 section 20, RFC 7862 section 16).
//!
//! No item of the callback program is DDP-eligible (RFC 8267 section 6.5).

use super::grammar::Item::{Array, Marked, Number, Opaque, OperationResults, Operations, Structure, Union};
use super::grammar::{BOOL, HYPER, Item, OperationTable, Row, WORD, ok, ok_else, operations, plain, row};
use super::operation::CompoundRole::{Attributes, Leading};
use super::operation::OperationCode;
use super::v4::{
    BITMAP, COPIED, FATTR, FSID, NFS_FH, OPEN_DELEGATION, OWNER, SESSIONID, STATEID, STATUS, WRITE_RESPONSE,
};
use super::walk::Mark;

pub(super) const PROCEDURES: &[Row] = &[
    row(0, "NFSv4 CB_NULL", &[], plain(&[])),
    row(
        1,
        "NFSv4 CB_COMPOUND",
        // tag, minorversion, callback_ident, argarray; status, tag, resarray
        &[Opaque, Number, WORD, Operations(OPERATIONS)],
        ok_else(&[Opaque, OperationResults(OPERATIONS)], &[Opaque, OperationResults(OPERATIONS)]),
    ),
];

/// `notify4`.
const NOTIFY: Item = Structure(&[BITMAP, Opaque]);
/// `layoutrecall4`: a file, a file system, all.
const LAYOUTRECALL: Item = Union(&[(1, &[NFS_FH, HYPER, HYPER, STATEID]), (2, &[FSID]), (3, &[])], None);
/// `referring_call_list4`.
const REFERRING_CALL_LIST: Item = Structure(&[SESSIONID, Array(&[WORD, WORD])]);
/// `offload_info4`: what was written, or how much was copied before the error.
const OFFLOAD_INFO: Item = Marked(Mark::OffloadInfo, &Union(&[(0, &[WRITE_RESPONSE])], Some(&[COPIED])));

operations!(
    OPERATIONS,
    Callback,
    row(3, CB_GETATTR, &[NFS_FH, BITMAP], ok(&[FATTR])).role(Attributes),
    row(4, CB_RECALL, &[STATEID, BOOL, NFS_FH], STATUS),
    row(5, CB_LAYOUTRECALL, &[WORD, WORD, BOOL, LAYOUTRECALL], STATUS),
    row(6, CB_NOTIFY, &[STATEID, NFS_FH, Array(&[NOTIFY])], STATUS),
    row(7, CB_PUSH_DELEG, &[NFS_FH, OPEN_DELEGATION], STATUS),
    row(8, CB_RECALL_ANY, &[WORD, BITMAP], STATUS),
    row(9, CB_RECALLABLE_OBJ_AVAIL, &[WORD, BITMAP], STATUS),
    row(10, CB_RECALL_SLOT, &[WORD], STATUS),
    row(
        11,
        CB_SEQUENCE,
        &[SESSIONID, Number, Number, Number, Number, Array(&[REFERRING_CALL_LIST])],
        ok(&[SESSIONID, Number, Number, Number, Number]),
    )
    .role(Leading),
    row(12, CB_WANTS_CANCELLED, &[BOOL, BOOL], STATUS),
    row(13, CB_NOTIFY_LOCK, &[NFS_FH, OWNER], STATUS),
    row(14, CB_NOTIFY_DEVICEID, &[Array(&[NOTIFY])], STATUS),
    row(15, CB_OFFLOAD, &[NFS_FH, STATEID, OFFLOAD_INFO], STATUS),
    row(10044, CB_ILLEGAL, &[], STATUS),
);
