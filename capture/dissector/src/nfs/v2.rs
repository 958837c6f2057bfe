//! NFS version 2 (RFC 1094 section 2.2).

use super::grammar::Item::{Data, Fixed, List, Marked, Opaque};
use super::grammar::{BOOL, COUNT, Item, NAME, Results, Row, WORD, ok, plain, row};
use super::walk::Mark;

/// `fhandle` (section 2.3.3).
pub(super) const FHANDLE: Item = Marked(Mark::Handle, &Fixed(32));
/// An offset of version 2.
const OFFSET: Item = Marked(Mark::Offset, &WORD);
/// `fattr` (section 2.3.5): 17 words.
pub(super) const FATTR: Item = Fixed(68);
/// `sattr` (section 2.3.6): 8 words.
const SATTR: Item = Fixed(32);
/// `diropargs` (section 2.3.10).
const DIROPARGS: Item = Item::Structure(&[FHANDLE, NAME]);
/// `attrstat` (section 2.3.9).
const ATTRSTAT: Results = ok(&[FATTR]);
/// `diropres` (section 2.3.11).
const DIROPRES: Results = ok(&[FHANDLE, FATTR]);
/// `stat` alone (section 2.3.1).
const STAT: Results = ok(&[]);

pub(super) const PROCEDURES: &[Row] = &[
    row(0, "NFSv2 NULL", &[], plain(&[])),
    row(1, "NFSv2 GETATTR", &[FHANDLE], ATTRSTAT),
    row(2, "NFSv2 SETATTR", &[FHANDLE, SATTR], ATTRSTAT),
    row(3, "NFSv2 ROOT", &[], plain(&[])),
    row(4, "NFSv2 LOOKUP", &[DIROPARGS], DIROPRES),
    row(5, "NFSv2 READLINK", &[FHANDLE], ok(&[Data])),
    // offset, count, totalcount
    row(6, "NFSv2 READ", &[FHANDLE, OFFSET, COUNT, WORD], ok(&[FATTR, Data])),
    row(7, "NFSv2 WRITECACHE", &[], plain(&[])),
    // beginoffset, offset, totalcount
    row(8, "NFSv2 WRITE", &[FHANDLE, WORD, OFFSET, WORD, Data], ATTRSTAT),
    row(9, "NFSv2 CREATE", &[DIROPARGS, SATTR], DIROPRES),
    row(10, "NFSv2 REMOVE", &[DIROPARGS], STAT),
    row(11, "NFSv2 RENAME", &[DIROPARGS, DIROPARGS], STAT),
    row(12, "NFSv2 LINK", &[FHANDLE, DIROPARGS], STAT),
    row(13, "NFSv2 SYMLINK", &[DIROPARGS, Data, SATTR], STAT),
    row(14, "NFSv2 MKDIR", &[DIROPARGS, SATTR], DIROPRES),
    row(15, "NFSv2 RMDIR", &[DIROPARGS], STAT),
    row(16, "NFSv2 READDIR", &[FHANDLE, Fixed(8)], ok(&[List(&[WORD, Opaque, WORD]), BOOL])),
    row(17, "NFSv2 STATFS", &[FHANDLE], ok(&[Fixed(20)])),
];
