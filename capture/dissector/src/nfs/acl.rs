//! NFSACL versions 2 and 3, which no RFC defines: this is what interoperating implementations do (RFC 8267 section
//! 5.2).

use super::grammar::Item::{Array, Fixed, Marked, Structure};
use super::grammar::{BOOL, Item, Row, WORD, ok, ok_else, plain, row};
use super::v2::{FATTR, FHANDLE};
use super::v3::{NFS_FH3, POST_OP_ATTR};
use super::walk::Mark;

/// Access control list: the number of entries, and an array of the requested entries (type, id, permissions).
const ACL: Item = Structure(&[WORD, Array(&[Fixed(12)])]);
/// A mask of the lists that are meant, the access control list, and the one that new files get.
const SECATTR: Item = Structure(&[WORD, ACL, ACL]);
const RESULT: Item = Marked(Mark::Unlimited, &SECATTR);

pub(super) const PROCEDURES_V2: &[Row] = &[
    row(0, "NFSACLv2 NULL", &[], plain(&[])),
    row(1, "NFSACLv2 GETACL", &[FHANDLE, WORD], ok(&[FATTR, RESULT])),
    row(2, "NFSACLv2 SETACL", &[FHANDLE, SECATTR], ok(&[FATTR])),
    row(3, "NFSACLv2 GETATTR", &[FHANDLE], ok(&[FATTR])),
    row(4, "NFSACLv2 ACCESS", &[FHANDLE, WORD], ok(&[FATTR, WORD])),
    row(5, "NFSACLv2 GETXATTRDIR", &[FHANDLE, BOOL], ok(&[FHANDLE, FATTR])),
];

pub(super) const PROCEDURES_V3: &[Row] = &[
    row(0, "NFSACLv3 NULL", &[], plain(&[])),
    row(1, "NFSACLv3 GETACL", &[NFS_FH3, WORD], ok_else(&[POST_OP_ATTR, RESULT], &[POST_OP_ATTR])),
    row(2, "NFSACLv3 SETACL", &[NFS_FH3, SECATTR], ok_else(&[POST_OP_ATTR], &[POST_OP_ATTR])),
    row(3, "NFSACLv3 GETXATTRDIR", &[NFS_FH3, BOOL], ok(&[NFS_FH3, POST_OP_ATTR])),
];
