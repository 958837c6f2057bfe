//! NFS version 3 (RFC 1813 section 3).

use super::grammar::Item::{Data, Fixed, List, Marked, Number, Opaque, Optional, Structure, Union};
use super::grammar::{BOOL, COUNT, HYPER, Item, LISTING, NAME, OFFSET, Results, Row, WORD, ok, ok_else, plain, row};
use super::walk::Mark;

/// `nfs_fh3` (section 2.3.3).
pub(super) const NFS_FH3: Item = Marked(Mark::Handle, &Opaque);
/// `post_op_attr` (section 2.6): a `fattr3` has 84 octets.
pub(super) const POST_OP_ATTR: Item = Optional(&[Fixed(84)]);
/// `post_op_fh3` (section 2.6).
const POST_OP_FH3: Item = Optional(&[NFS_FH3]);
/// `wcc_data` (section 2.6): `pre_op_attr`, whose `wcc_attr` has 24 octets, and `post_op_attr`.
const WCC_DATA: Item = Structure(&[Optional(&[Fixed(24)]), POST_OP_ATTR]);
/// `set_atime`, `set_mtime` (section 2.6): only SET_TO_CLIENT_TIME has a time.
const SET_TIME: Item = Union(&[(0, &[]), (1, &[]), (2, &[Fixed(8)])], None);
/// `sattr3` (section 2.6): mode, uid, gid, size, atime, mtime.
const SATTR3: Item =
    Structure(&[Optional(&[WORD]), Optional(&[WORD]), Optional(&[WORD]), Optional(&[HYPER]), SET_TIME, SET_TIME]);
/// `diropargs3` (section 2.6).
const DIROPARGS3: Item = Structure(&[NFS_FH3, NAME]);
/// `createhow3` (section 3.3.8): UNCHECKED, GUARDED, EXCLUSIVE.
const CREATEHOW3: Item = Union(&[(0, &[SATTR3]), (1, &[SATTR3]), (2, &[Fixed(8)])], None);
/// `mknoddata3` (section 3.3.11): NF3BLK and NF3CHR have a device number, NF3SOCK and NF3FIFO attributes only.
const MKNODDATA3: Item =
    Union(&[(3, &[SATTR3, Fixed(8)]), (4, &[SATTR3, Fixed(8)]), (6, &[SATTR3]), (7, &[SATTR3])], Some(&[]));

/// The results of CREATE, MKDIR, SYMLINK and MKNOD.
const CREATED: Results = ok_else(&[POST_OP_FH3, POST_OP_ATTR, WCC_DATA], &[WCC_DATA]);
/// Procedures that return the weak cache consistency data of one object, whatever the status.
const WCC: Results = ok_else(&[WCC_DATA], &[WCC_DATA]);

pub(super) const PROCEDURES: &[Row] = &[
    row(0, "NFSv3 NULL", &[], plain(&[])),
    row(1, "NFSv3 GETATTR", &[NFS_FH3], ok(&[Fixed(84)])),
    row(2, "NFSv3 SETATTR", &[NFS_FH3, SATTR3, Optional(&[Fixed(8)])], WCC),
    row(3, "NFSv3 LOOKUP", &[DIROPARGS3], ok_else(&[NFS_FH3, POST_OP_ATTR, POST_OP_ATTR], &[POST_OP_ATTR])),
    row(4, "NFSv3 ACCESS", &[NFS_FH3, Number], ok_else(&[POST_OP_ATTR, Number], &[POST_OP_ATTR])),
    row(5, "NFSv3 READLINK", &[NFS_FH3], ok_else(&[POST_OP_ATTR, Data], &[POST_OP_ATTR])),
    row(6, "NFSv3 READ", &[NFS_FH3, OFFSET, COUNT], ok_else(&[POST_OP_ATTR, Number, Number, Data], &[POST_OP_ATTR])),
    row(7, "NFSv3 WRITE", &[NFS_FH3, OFFSET, COUNT, Number, Data], ok_else(&[WCC_DATA, Fixed(16)], &[WCC_DATA])),
    row(8, "NFSv3 CREATE", &[DIROPARGS3, CREATEHOW3], CREATED),
    row(9, "NFSv3 MKDIR", &[DIROPARGS3, SATTR3], CREATED),
    row(10, "NFSv3 SYMLINK", &[DIROPARGS3, SATTR3, Data], CREATED),
    row(11, "NFSv3 MKNOD", &[DIROPARGS3, MKNODDATA3], CREATED),
    row(12, "NFSv3 REMOVE", &[DIROPARGS3], WCC),
    row(13, "NFSv3 RMDIR", &[DIROPARGS3], WCC),
    row(14, "NFSv3 RENAME", &[DIROPARGS3, DIROPARGS3], ok_else(&[WCC_DATA, WCC_DATA], &[WCC_DATA, WCC_DATA])),
    row(15, "NFSv3 LINK", &[NFS_FH3, DIROPARGS3], ok_else(&[POST_OP_ATTR, WCC_DATA], &[POST_OP_ATTR, WCC_DATA])),
    row(
        16,
        "NFSv3 READDIR",
        &[NFS_FH3, HYPER, Fixed(8), LISTING],
        ok_else(&[POST_OP_ATTR, Fixed(8), List(&[HYPER, Opaque, HYPER]), BOOL], &[POST_OP_ATTR]),
    ),
    row(
        17,
        "NFSv3 READDIRPLUS",
        &[NFS_FH3, HYPER, Fixed(8), Number, LISTING],
        ok_else(
            &[POST_OP_ATTR, Fixed(8), List(&[HYPER, Opaque, HYPER, POST_OP_ATTR, POST_OP_FH3]), BOOL],
            &[POST_OP_ATTR],
        ),
    ),
    row(18, "NFSv3 FSSTAT", &[NFS_FH3], ok_else(&[POST_OP_ATTR, Fixed(52)], &[POST_OP_ATTR])),
    row(19, "NFSv3 FSINFO", &[NFS_FH3], ok_else(&[POST_OP_ATTR, Fixed(48)], &[POST_OP_ATTR])),
    row(20, "NFSv3 PATHCONF", &[NFS_FH3], ok_else(&[POST_OP_ATTR, Fixed(24)], &[POST_OP_ATTR])),
    row(21, "NFSv3 COMMIT", &[NFS_FH3, OFFSET, COUNT], ok_else(&[WCC_DATA, Fixed(8)], &[WCC_DATA])),
];
