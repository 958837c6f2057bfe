//! NFS version 2 (RFC 1094 section 2.2).

use super::grammar::Item::{Data, Fixed, LinkText, List, Marked, Opaque};
use super::grammar::{BOOL, COUNT, Item, NAME, Results, Row, WORD, ok, plain, procedures, row};
use super::operation::DelegationConflict;
use super::procedure::Procedure;
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

procedures!(
    PROCEDURES,
    (Procedure::NFS, 2, "NFSv2 "),
    row(0, NULL, &[], plain(&[])),
    row(1, GETATTR, &[FHANDLE], ATTRSTAT),
    row(2, SETATTR, &[FHANDLE, SATTR], ATTRSTAT).conflict(DelegationConflict::Attributes),
    row(3, ROOT, &[], plain(&[])),
    row(4, LOOKUP, &[DIROPARGS], DIROPRES),
    row(5, READLINK, &[FHANDLE], ok(&[LinkText])),
    // offset, count, totalcount
    row(6, READ, &[FHANDLE, OFFSET, COUNT, WORD], ok(&[FATTR, Data])).conflict(DelegationConflict::Data),
    row(7, WRITECACHE, &[], plain(&[])),
    // beginoffset, offset, totalcount
    row(8, WRITE, &[FHANDLE, WORD, OFFSET, WORD, Data], ATTRSTAT).conflict(DelegationConflict::Data),
    row(9, CREATE, &[DIROPARGS, SATTR], DIROPRES),
    row(10, REMOVE, &[DIROPARGS], STAT).conflict(DelegationConflict::Entry),
    row(11, RENAME, &[DIROPARGS, DIROPARGS], STAT).conflict(DelegationConflict::Entry),
    row(12, LINK, &[FHANDLE, DIROPARGS], STAT).conflict(DelegationConflict::Entry),
    row(13, SYMLINK, &[DIROPARGS, LinkText, SATTR], STAT),
    row(14, MKDIR, &[DIROPARGS, SATTR], DIROPRES),
    row(15, RMDIR, &[DIROPARGS], STAT),
    row(16, READDIR, &[FHANDLE, Fixed(8)], ok(&[List(&[WORD, Opaque, WORD]), BOOL])),
    row(17, STATFS, &[FHANDLE], ok(&[Fixed(20)])),
);
