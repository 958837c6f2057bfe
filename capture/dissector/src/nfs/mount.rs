//! The MOUNT protocol: version 1 (RFC 1094 appendix A), version 2 (the same with PATHCONF, X/Open XNFS), version 3
//! (RFC 1813 section 5).
//!
//! Each version has separate names, because users see a name together with the version.

use super::grammar::Item::{Fixed, List, Marked, Opaque, Words};
use super::grammar::{Item, Results, Row, ok, plain, row};
use super::v2::FHANDLE;
use super::v3::NFS_FH3;
use super::walk::Mark;

/// `dirpath`, of a directory to mount.
const PATH: Item = Marked(Mark::Path, &Opaque);
/// `mountlist`: who mounts what.
const MOUNTLIST: Results = plain(&[List(&[Opaque, Opaque])]);
/// `exports`: a directory and the groups that may mount the directory.
const EXPORTS: Results = plain(&[List(&[Opaque, List(&[Opaque])])]);
/// `ppathcnf`: XDR makes a word of each of the ten numbers.
const PPATHCNF: Item = Fixed(40);

pub(super) const PROCEDURES_V1: &[Row] = &[
    row(0, "MOUNTv1 NULL", &[], plain(&[])),
    row(1, "MOUNTv1 MNT", &[PATH], ok(&[FHANDLE])),
    row(2, "MOUNTv1 DUMP", &[], MOUNTLIST),
    row(3, "MOUNTv1 UMNT", &[Opaque], plain(&[])),
    row(4, "MOUNTv1 UMNTALL", &[], plain(&[])),
    row(5, "MOUNTv1 EXPORT", &[], EXPORTS),
    row(6, "MOUNTv1 EXPORTALL", &[], EXPORTS),
];

pub(super) const PROCEDURES_V2: &[Row] = &[
    row(0, "MOUNTv2 NULL", &[], plain(&[])),
    row(1, "MOUNTv2 MNT", &[PATH], ok(&[FHANDLE])),
    row(2, "MOUNTv2 DUMP", &[], MOUNTLIST),
    row(3, "MOUNTv2 UMNT", &[Opaque], plain(&[])),
    row(4, "MOUNTv2 UMNTALL", &[], plain(&[])),
    row(5, "MOUNTv2 EXPORT", &[], EXPORTS),
    row(6, "MOUNTv2 EXPORTALL", &[], EXPORTS),
    row(7, "MOUNTv2 PATHCONF", &[Opaque], plain(&[PPATHCNF])),
];

pub(super) const PROCEDURES_V3: &[Row] = &[
    row(0, "MOUNTv3 NULL", &[], plain(&[])),
    row(1, "MOUNTv3 MNT", &[PATH], ok(&[NFS_FH3, Words])),
    row(2, "MOUNTv3 DUMP", &[], MOUNTLIST),
    row(3, "MOUNTv3 UMNT", &[Opaque], plain(&[])),
    row(4, "MOUNTv3 UMNTALL", &[], plain(&[])),
    row(5, "MOUNTv3 EXPORT", &[], EXPORTS),
];
