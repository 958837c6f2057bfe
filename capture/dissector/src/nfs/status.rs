//! The names of the status codes with which the results of the NFS protocols begin.

use super::Procedure;

type Names = &'static [(u32, &'static str)];

/// The name of `status` in the results of `procedure`, which is of the callback program if `callback`; `None` if
/// unknown.
#[must_use]
pub fn name(procedure: &Procedure, callback: bool, status: u32) -> Option<&'static str> {
    let names = match (callback, procedure.program, procedure.version) {
        (true, ..) | (false, Procedure::NFS, 4) => NFS4,
        (false, Procedure::NFS, 3) | (false, Procedure::NFSACL, 3) => NFS3,
        (false, Procedure::NFS, 2) | (false, Procedure::NFSACL, 2) => NFS2,
        (false, Procedure::MOUNT, 3) => MOUNT3,
        _ => return None,
    };
    find(names, status)
}

/// The name of an `nfsstat4`, as the operations of a COMPOUND end with; `None` if unknown.
#[must_use]
pub fn nfs4_name(status: u32) -> Option<&'static str> {
    find(NFS4, status)
}

fn find(names: Names, status: u32) -> Option<&'static str> {
    let index = names.binary_search_by_key(&status, |(code, _)| *code).ok()?;
    names.get(index).map(|(_, name)| *name)
}

/// `stat` (RFC 1094 section 2.3.1).
const NFS2: Names = &[
    (0, "NFS_OK"),
    (1, "NFSERR_PERM"),
    (2, "NFSERR_NOENT"),
    (5, "NFSERR_IO"),
    (6, "NFSERR_NXIO"),
    (13, "NFSERR_ACCES"),
    (17, "NFSERR_EXIST"),
    (19, "NFSERR_NODEV"),
    (20, "NFSERR_NOTDIR"),
    (21, "NFSERR_ISDIR"),
    (27, "NFSERR_FBIG"),
    (28, "NFSERR_NOSPC"),
    (30, "NFSERR_ROFS"),
    (63, "NFSERR_NAMETOOLONG"),
    (66, "NFSERR_NOTEMPTY"),
    (69, "NFSERR_DQUOT"),
    (70, "NFSERR_STALE"),
    (99, "NFSERR_WFLUSH"),
];

/// `nfsstat3` (RFC 1813 section 2.6).
const NFS3: Names = &[
    (0, "NFS3_OK"),
    (1, "NFS3ERR_PERM"),
    (2, "NFS3ERR_NOENT"),
    (5, "NFS3ERR_IO"),
    (6, "NFS3ERR_NXIO"),
    (13, "NFS3ERR_ACCES"),
    (17, "NFS3ERR_EXIST"),
    (18, "NFS3ERR_XDEV"),
    (19, "NFS3ERR_NODEV"),
    (20, "NFS3ERR_NOTDIR"),
    (21, "NFS3ERR_ISDIR"),
    (22, "NFS3ERR_INVAL"),
    (27, "NFS3ERR_FBIG"),
    (28, "NFS3ERR_NOSPC"),
    (30, "NFS3ERR_ROFS"),
    (31, "NFS3ERR_MLINK"),
    (63, "NFS3ERR_NAMETOOLONG"),
    (66, "NFS3ERR_NOTEMPTY"),
    (69, "NFS3ERR_DQUOT"),
    (70, "NFS3ERR_STALE"),
    (71, "NFS3ERR_REMOTE"),
    (10_001, "NFS3ERR_BADHANDLE"),
    (10_002, "NFS3ERR_NOT_SYNC"),
    (10_003, "NFS3ERR_BAD_COOKIE"),
    (10_004, "NFS3ERR_NOTSUPP"),
    (10_005, "NFS3ERR_TOOSMALL"),
    (10_006, "NFS3ERR_SERVERFAULT"),
    (10_007, "NFS3ERR_BADTYPE"),
    (10_008, "NFS3ERR_JUKEBOX"),
];

/// `mountstat3` (RFC 1813 section 5.1.5).
const MOUNT3: Names = &[
    (0, "MNT3_OK"),
    (1, "MNT3ERR_PERM"),
    (2, "MNT3ERR_NOENT"),
    (5, "MNT3ERR_IO"),
    (13, "MNT3ERR_ACCES"),
    (20, "MNT3ERR_NOTDIR"),
    (22, "MNT3ERR_INVAL"),
    (63, "MNT3ERR_NAMETOOLONG"),
    (10_004, "MNT3ERR_NOTSUPP"),
    (10_006, "MNT3ERR_SERVERFAULT"),
];

/// `nfsstat4` (RFC 7530 section 13, RFC 8881 section 15, RFC 7862 section 11, RFC 8276 section 8.4).
const NFS4: Names = &[
    (0, "NFS4_OK"),
    (1, "NFS4ERR_PERM"),
    (2, "NFS4ERR_NOENT"),
    (5, "NFS4ERR_IO"),
    (6, "NFS4ERR_NXIO"),
    (13, "NFS4ERR_ACCESS"),
    (17, "NFS4ERR_EXIST"),
    (18, "NFS4ERR_XDEV"),
    (20, "NFS4ERR_NOTDIR"),
    (21, "NFS4ERR_ISDIR"),
    (22, "NFS4ERR_INVAL"),
    (27, "NFS4ERR_FBIG"),
    (28, "NFS4ERR_NOSPC"),
    (30, "NFS4ERR_ROFS"),
    (31, "NFS4ERR_MLINK"),
    (63, "NFS4ERR_NAMETOOLONG"),
    (66, "NFS4ERR_NOTEMPTY"),
    (69, "NFS4ERR_DQUOT"),
    (70, "NFS4ERR_STALE"),
    (10_001, "NFS4ERR_BADHANDLE"),
    (10_003, "NFS4ERR_BAD_COOKIE"),
    (10_004, "NFS4ERR_NOTSUPP"),
    (10_005, "NFS4ERR_TOOSMALL"),
    (10_006, "NFS4ERR_SERVERFAULT"),
    (10_007, "NFS4ERR_BADTYPE"),
    (10_008, "NFS4ERR_DELAY"),
    (10_009, "NFS4ERR_SAME"),
    (10_010, "NFS4ERR_DENIED"),
    (10_011, "NFS4ERR_EXPIRED"),
    (10_012, "NFS4ERR_LOCKED"),
    (10_013, "NFS4ERR_GRACE"),
    (10_014, "NFS4ERR_FHEXPIRED"),
    (10_015, "NFS4ERR_SHARE_DENIED"),
    (10_016, "NFS4ERR_WRONGSEC"),
    (10_017, "NFS4ERR_CLID_INUSE"),
    (10_018, "NFS4ERR_RESOURCE"),
    (10_019, "NFS4ERR_MOVED"),
    (10_020, "NFS4ERR_NOFILEHANDLE"),
    (10_021, "NFS4ERR_MINOR_VERS_MISMATCH"),
    (10_022, "NFS4ERR_STALE_CLIENTID"),
    (10_023, "NFS4ERR_STALE_STATEID"),
    (10_024, "NFS4ERR_OLD_STATEID"),
    (10_025, "NFS4ERR_BAD_STATEID"),
    (10_026, "NFS4ERR_BAD_SEQID"),
    (10_027, "NFS4ERR_NOT_SAME"),
    (10_028, "NFS4ERR_LOCK_RANGE"),
    (10_029, "NFS4ERR_SYMLINK"),
    (10_030, "NFS4ERR_RESTOREFH"),
    (10_031, "NFS4ERR_LEASE_MOVED"),
    (10_032, "NFS4ERR_ATTRNOTSUPP"),
    (10_033, "NFS4ERR_NO_GRACE"),
    (10_034, "NFS4ERR_RECLAIM_BAD"),
    (10_035, "NFS4ERR_RECLAIM_CONFLICT"),
    (10_036, "NFS4ERR_BADXDR"),
    (10_037, "NFS4ERR_LOCKS_HELD"),
    (10_038, "NFS4ERR_OPENMODE"),
    (10_039, "NFS4ERR_BADOWNER"),
    (10_040, "NFS4ERR_BADCHAR"),
    (10_041, "NFS4ERR_BADNAME"),
    (10_042, "NFS4ERR_BAD_RANGE"),
    (10_043, "NFS4ERR_LOCK_NOTSUPP"),
    (10_044, "NFS4ERR_OP_ILLEGAL"),
    (10_045, "NFS4ERR_DEADLOCK"),
    (10_046, "NFS4ERR_FILE_OPEN"),
    (10_047, "NFS4ERR_ADMIN_REVOKED"),
    (10_048, "NFS4ERR_CB_PATH_DOWN"),
    (10_049, "NFS4ERR_BADIOMODE"),
    (10_050, "NFS4ERR_BADLAYOUT"),
    (10_051, "NFS4ERR_BAD_SESSION_DIGEST"),
    (10_052, "NFS4ERR_BADSESSION"),
    (10_053, "NFS4ERR_BADSLOT"),
    (10_054, "NFS4ERR_COMPLETE_ALREADY"),
    (10_055, "NFS4ERR_CONN_NOT_BOUND_TO_SESSION"),
    (10_056, "NFS4ERR_DELEG_ALREADY_WANTED"),
    (10_057, "NFS4ERR_BACK_CHAN_BUSY"),
    (10_058, "NFS4ERR_LAYOUTTRYLATER"),
    (10_059, "NFS4ERR_LAYOUTUNAVAILABLE"),
    (10_060, "NFS4ERR_NOMATCHING_LAYOUT"),
    (10_061, "NFS4ERR_RECALLCONFLICT"),
    (10_062, "NFS4ERR_UNKNOWN_LAYOUTTYPE"),
    (10_063, "NFS4ERR_SEQ_MISORDERED"),
    (10_064, "NFS4ERR_SEQUENCE_POS"),
    (10_065, "NFS4ERR_REQ_TOO_BIG"),
    (10_066, "NFS4ERR_REP_TOO_BIG"),
    (10_067, "NFS4ERR_REP_TOO_BIG_TO_CACHE"),
    (10_068, "NFS4ERR_RETRY_UNCACHED_REP"),
    (10_069, "NFS4ERR_UNSAFE_COMPOUND"),
    (10_070, "NFS4ERR_TOO_MANY_OPS"),
    (10_071, "NFS4ERR_OP_NOT_IN_SESSION"),
    (10_072, "NFS4ERR_HASH_ALG_UNSUPP"),
    (10_074, "NFS4ERR_CLIENTID_BUSY"),
    (10_075, "NFS4ERR_PNFS_IO_HOLE"),
    (10_076, "NFS4ERR_SEQ_FALSE_RETRY"),
    (10_077, "NFS4ERR_BAD_HIGH_SLOT"),
    (10_078, "NFS4ERR_DEADSESSION"),
    (10_079, "NFS4ERR_ENCR_ALG_UNSUPP"),
    (10_080, "NFS4ERR_PNFS_NO_LAYOUT"),
    (10_081, "NFS4ERR_NOT_ONLY_OP"),
    (10_082, "NFS4ERR_WRONG_CRED"),
    (10_083, "NFS4ERR_WRONG_TYPE"),
    (10_084, "NFS4ERR_DIRDELEG_UNAVAIL"),
    (10_085, "NFS4ERR_REJECT_DELEG"),
    (10_086, "NFS4ERR_RETURNCONFLICT"),
    (10_087, "NFS4ERR_DELEG_REVOKED"),
    (10_088, "NFS4ERR_PARTNER_NOTSUPP"),
    (10_089, "NFS4ERR_PARTNER_NO_AUTH"),
    (10_090, "NFS4ERR_UNION_NOTSUPP"),
    (10_091, "NFS4ERR_OFFLOAD_DENIED"),
    (10_092, "NFS4ERR_WRONG_LFS"),
    (10_093, "NFS4ERR_BADLABEL"),
    (10_094, "NFS4ERR_OFFLOAD_NO_REQS"),
    (10_095, "NFS4ERR_NOXATTR"),
    (10_096, "NFS4ERR_XATTR2BIG"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_order() {
        for names in [NFS2, NFS3, MOUNT3, NFS4] {
            assert!(names.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }

    #[test]
    fn a_status_has_the_name_its_protocol_gives_it() {
        let procedure = |program, version| Procedure { program, version, procedure: 1 };
        assert_eq!(name(&procedure(Procedure::NFS, 4), false, 10_052), Some("NFS4ERR_BADSESSION"));
        assert_eq!(name(&procedure(Procedure::NFS, 3), false, 13), Some("NFS3ERR_ACCES"));
        assert_eq!(name(&procedure(Procedure::NFS, 2), false, 0), Some("NFS_OK"));
        assert_eq!(name(&procedure(Procedure::MOUNT, 3), false, 10_006), Some("MNT3ERR_SERVERFAULT"));
        assert_eq!(name(&procedure(0x4000_0000, 1), true, 10_024), Some("NFS4ERR_OLD_STATEID"));
        assert_eq!(name(&procedure(Procedure::NFS, 4), false, 10_073), None);
        assert_eq!(name(&procedure(1, 1), false, 0), None);
    }
}
