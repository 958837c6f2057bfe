//! NFS version 3 (RFC 1813 section 3).

use super::grammar::Item::{Data, Fixed, LinkText, List, Marked, Number, Opaque, Optional, Structure, Union};
use super::grammar::{
    BOOL, COUNT, HYPER, Item, LISTING, NAME, OFFSET, Results, Row, STABLE, WORD, WRITTEN, ok, ok_else, plain,
    procedures, row,
};
use super::operation::DelegationConflict;
use super::procedure::Procedure;
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

/// `entryplus3` (section 3.3.17).
const ENTRIES: Item = List(&[HYPER, Opaque, HYPER, POST_OP_ATTR, POST_OP_FH3]);

procedures!(
    PROCEDURES,
    (Procedure::NFS, 3, "NFSv3 "),
    row(0, NULL, &[], plain(&[])),
    row(1, GETATTR, &[NFS_FH3], ok(&[Fixed(84)])),
    row(2, SETATTR, &[NFS_FH3, SATTR3, Optional(&[Fixed(8)])], WCC).conflict(DelegationConflict::Attributes),
    row(3, LOOKUP, &[DIROPARGS3], ok_else(&[NFS_FH3, POST_OP_ATTR, POST_OP_ATTR], &[POST_OP_ATTR])),
    row(4, ACCESS, &[NFS_FH3, Number], ok_else(&[POST_OP_ATTR, Number], &[POST_OP_ATTR])),
    row(5, READLINK, &[NFS_FH3], ok_else(&[POST_OP_ATTR, LinkText], &[POST_OP_ATTR])),
    row(6, READ, &[NFS_FH3, OFFSET, COUNT], ok_else(&[POST_OP_ATTR, Number, Number, Data], &[POST_OP_ATTR]))
        .conflict(DelegationConflict::Data),
    row(
        7,
        WRITE,
        &[NFS_FH3, OFFSET, COUNT, STABLE, Data],
        ok_else(&[WCC_DATA, WRITTEN, STABLE, Fixed(8)], &[WCC_DATA]),
    )
    .conflict(DelegationConflict::Data),
    row(8, CREATE, &[DIROPARGS3, CREATEHOW3], CREATED),
    row(9, MKDIR, &[DIROPARGS3, SATTR3], CREATED),
    row(10, SYMLINK, &[DIROPARGS3, SATTR3, LinkText], CREATED),
    row(11, MKNOD, &[DIROPARGS3, MKNODDATA3], CREATED),
    row(12, REMOVE, &[DIROPARGS3], WCC).conflict(DelegationConflict::Entry),
    row(13, RMDIR, &[DIROPARGS3], WCC),
    row(14, RENAME, &[DIROPARGS3, DIROPARGS3], ok_else(&[WCC_DATA, WCC_DATA], &[WCC_DATA, WCC_DATA]))
        .conflict(DelegationConflict::Entry),
    row(15, LINK, &[NFS_FH3, DIROPARGS3], ok_else(&[POST_OP_ATTR, WCC_DATA], &[POST_OP_ATTR, WCC_DATA]))
        .conflict(DelegationConflict::Entry),
    row(
        16,
        READDIR,
        &[NFS_FH3, HYPER, Fixed(8), LISTING],
        ok_else(&[POST_OP_ATTR, Fixed(8), List(&[HYPER, Opaque, HYPER]), BOOL], &[POST_OP_ATTR]),
    ),
    row(
        17,
        READDIRPLUS,
        &[NFS_FH3, HYPER, Fixed(8), Number, LISTING],
        ok_else(&[POST_OP_ATTR, Fixed(8), Marked(Mark::Entries, &ENTRIES), BOOL], &[POST_OP_ATTR],),
    ),
    row(18, FSSTAT, &[NFS_FH3], ok_else(&[POST_OP_ATTR, Fixed(52)], &[POST_OP_ATTR])),
    row(19, FSINFO, &[NFS_FH3], ok_else(&[POST_OP_ATTR, Marked(Mark::FileSystem, &Fixed(48))], &[POST_OP_ATTR]),),
    row(20, PATHCONF, &[NFS_FH3], ok_else(&[POST_OP_ATTR, Fixed(24)], &[POST_OP_ATTR])),
    row(21, COMMIT, &[NFS_FH3, OFFSET, COUNT], ok_else(&[WCC_DATA, Fixed(8)], &[WCC_DATA])),
);
